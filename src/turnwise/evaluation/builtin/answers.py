"""Answers against references: similarity, exact match, classification, instructions."""

from collections.abc import AsyncIterator
from typing import Any, Literal

import polars as pl
from pydantic import Field

from turnwise.evaluation.builtin.columns import by_expression, output, texts_of
from turnwise.evaluation.frames import Tables, tables_of
from turnwise.evaluation.items import EvalInput, EvalOutput
from turnwise.evaluation.plugins import EvalBuilder, EvaluatorBaseConfig, EvaluatorInfo, register_evaluator
from turnwise.metrics import jaccard_similarity, levenshtein_similarity, tfidf_cosine

_SIMILARITIES = {"cosine": tfidf_cosine, "jaccard": jaccard_similarity, "levenshtein": levenshtein_similarity}


class SimilarityConfig(EvaluatorBaseConfig, name="similarity"):
    """Likeness of answer and reference: cosine of TF-IDF fitted on the pair, as on the seed's page, jaccard or levenshtein."""

    similarity_type: Literal["cosine", "jaccard", "levenshtein"] = Field("cosine", description="which likeness")
    digits: int | None = Field(None, ge=0, description="digits to round to; the page rounds to 2")


@register_evaluator(config_type=SimilarityConfig)
async def similarity(config: SimilarityConfig, builder: EvalBuilder) -> AsyncIterator[EvaluatorInfo]:
    """Likeness of answer and reference."""
    expression = _SIMILARITIES[config.similarity_type]()
    if config.digits is not None:
        expression = expression.round(config.digits)

    def reasons(tables: Tables) -> list[dict[str, Any]]:
        return [{**texts, "similarity_type": config.similarity_type} for texts in texts_of(tables)]

    yield EvaluatorInfo(config, by_expression(expression, reasons), f"{config.similarity_type} similarity", (0, 1))


class ClassificationConfig(EvaluatorBaseConfig, name="classification_accuracy"):
    """Match of the answer with the expected label, ignoring case and surrounding blanks."""

    labels: list[str] = Field([], description="the labels there are; an answer that is none of them is an error")


@register_evaluator(config_type=ClassificationConfig)
async def classification(config: ClassificationConfig, builder: EvalBuilder) -> AsyncIterator[EvaluatorInfo]:
    """Return whether the answer is the expected label."""
    known = {label.strip().casefold() for label in config.labels}

    def evaluate(given: EvalInput) -> EvalOutput:
        tables = tables_of(given)
        scores: list[bool | None] = []
        errors: list[str | None] = []
        reasons: list[Any] = []
        for label, wanted in zip(tables.turns["response"], tables.references.to_list(), strict=True):
            strange = known and label is not None and label.strip().casefold() not in known
            errors.append(f"{label!r:.60} is none of the labels" if strange else None)
            right = [] if wanted is None else [wanted] if isinstance(wanted, str) else wanted
            right = [each.strip().casefold() for each in right if each is not None]
            unknown = strange or label is None or not right
            scores.append(None if unknown else label.strip().casefold() in right)
            reasons.append({"label": label, "expected": wanted})
        return output(given, scores, reasons, errors)

    yield EvaluatorInfo(config, evaluate, "Classification accuracy")


class InstructionConfig(EvaluatorBaseConfig, name="instruction_following"):
    """Compliance of the answer with all IFEval instructions in the item's `instruction_id_list` and `kwargs`."""

    loose: bool = Field(False, description="leave out first and last line, and asterisks, where that helps")


@register_evaluator(config_type=InstructionConfig)
async def instructions(config: InstructionConfig, builder: EvalBuilder) -> AsyncIterator[EvaluatorInfo]:
    """Return whether the answer keeps to all instructions."""

    def evaluate(given: EvalInput) -> EvalOutput:
        from turnwise.judges import StrictInstruction

        tables, way = tables_of(given), "loose" if config.loose else "strict"
        asked = [
            {
                "response": text,
                "instruction_id_list": item.entry.get("instruction_id_list"),
                "kwargs": item.entry.get("kwargs"),
            }
            for text, item in zip(tables.turns["response"], tables.items, strict=True)
        ]
        told = StrictInstruction().by_instruction(asked)
        all_kept = told.group_by("response_number", maintain_order=True).agg(
            kept=pl.col(way).all(ignore_nulls=False), each=pl.struct("instruction", pl.col(way).alias("kept"))
        )
        return output(given, all_kept["kept"].to_list(), all_kept["each"].to_list())

    yield EvaluatorInfo(config, evaluate, "Instruction following")
