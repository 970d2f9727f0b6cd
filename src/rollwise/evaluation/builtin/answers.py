"""Answers against references: similarity, exact match, classification, instructions."""

from collections.abc import AsyncIterator
from typing import Any, Literal

import polars as pl
from pydantic import Field

from rollwise.evaluation.builtin.columns import by_expression, output, texts_of
from rollwise.evaluation.frames import Tables, tables_of
from rollwise.evaluation.items import EvalInput, EvalOutput
from rollwise.evaluation.plugins import EvalBuilder, EvaluatorBaseConfig, EvaluatorInfo, register_evaluator
from rollwise.metrics import jaccard_similarity, levenshtein_similarity, tfidf_cosine
from rollwise.schema.named import column_named

_SIMILARITIES = {"cosine": tfidf_cosine, "jaccard": jaccard_similarity, "levenshtein": levenshtein_similarity}


class SimilarityConfig(EvaluatorBaseConfig, name="similarity"):
    """Similarity of answer and reference: cosine of TF-IDF fitted on the pair, jaccard or levenshtein."""

    similarity_type: Literal["cosine", "jaccard", "levenshtein"] = Field("cosine", description="which similarity")
    digits: int | None = Field(None, ge=0, description="digits to round to; NeMo Agent Toolkit's example rounds to 2")


@register_evaluator(config_type=SimilarityConfig)
async def similarity(config: SimilarityConfig, builder: EvalBuilder) -> AsyncIterator[EvaluatorInfo]:
    """Similarity of answer and reference."""
    expression = _SIMILARITIES[config.similarity_type]()
    if config.digits is not None:
        expression = expression.round(config.digits)

    def reasons(tables: Tables) -> list[dict[str, Any]]:
        return [{**texts, "similarity_type": config.similarity_type} for texts in texts_of(tables)]

    yield EvaluatorInfo(config, by_expression(expression, reasons), f"{config.similarity_type} similarity", (0, 1))


class ClassificationConfig(EvaluatorBaseConfig, name="classification_accuracy"):
    """Match of the answer with the expected label, ignoring case and surrounding blanks."""

    labels: list[str] = Field([], description="the possible labels; any other answer is an error")


@register_evaluator(config_type=ClassificationConfig)
async def classification(config: ClassificationConfig, builder: EvalBuilder) -> AsyncIterator[EvaluatorInfo]:
    """Match of the answer with the expected label."""
    labels = {label.strip().casefold() for label in config.labels}

    def evaluate(eval_input: EvalInput) -> EvalOutput:
        tables = tables_of(eval_input)
        scores: list[bool | None] = []
        errors: list[str | None] = []
        reasons: list[Any] = []
        for label, expected in zip(tables.turns["response"], tables.references.to_list(), strict=True):
            # An answer outside the possible labels is an error of the workflow, not a wrong answer.
            is_unlisted = labels and label is not None and label.strip().casefold() not in labels
            errors.append(f"{label!r:.60} is not one of the labels" if is_unlisted else None)
            references = [expected] if expected is None or isinstance(expected, str) else expected
            accepted = [text.strip().casefold() for text in references if text is not None]
            is_unknown = is_unlisted or label is None or not accepted
            scores.append(None if is_unknown else label.strip().casefold() in accepted)
            reasons.append({"label": label, "expected": expected})
        return output(eval_input, scores, reasons, errors)

    yield EvaluatorInfo(config, evaluate, "Classification accuracy")


class InstructionConfig(EvaluatorBaseConfig, name="instruction_following"):
    """Compliance of the answer with all IFEval instructions in the item's `instruction_id_list` and `kwargs`."""

    loose: bool = Field(False, description="ignore the first or last line, and asterisks, if the answer then complies")


@register_evaluator(config_type=InstructionConfig)
async def instructions(config: InstructionConfig, builder: EvalBuilder) -> AsyncIterator[EvaluatorInfo]:
    """Compliance of the answer with all instructions."""

    def evaluate(eval_input: EvalInput) -> EvalOutput:
        from rollwise.judges import StrictInstruction

        tables, column = tables_of(eval_input), "loose" if config.loose else "strict"
        responses = [
            {
                "response": text,
                "instruction_id_list": item.entry.get("instruction_id_list"),
                "kwargs": item.entry.get("kwargs"),
            }
            for text, item in zip(tables.turns["response"], tables.items, strict=True)
        ]
        results = StrictInstruction().by_instruction(responses)
        by_item = results.group_by("response_number", maintain_order=True).agg(
            score=column_named(column).all(ignore_nulls=False),
            reasons=pl.struct("instruction", column_named(column).alias("kept")),
        )
        return output(eval_input, by_item["score"].to_list(), by_item["reasons"].to_list())

    yield EvaluatorInfo(config, evaluate, "Instruction following")
