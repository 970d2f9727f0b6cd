"""Values by item -> what an evaluator gives; built-in evaluators compute columns, not items."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import polars as pl

from turnwise import schema
from turnwise.evaluation.frames import Tables, tables_of
from turnwise.evaluation.item_evaluator import average
from turnwise.evaluation.items import EvalInput, EvalOutput, EvalOutputItem
from turnwise.measurement.measure import measure

Evaluate = Callable[[EvalInput], EvalOutput]


def output(
    given: EvalInput, scores: Sequence[Any], reasoning: Iterable[Any], errors: Sequence[str | None] = ()
) -> EvalOutput:
    """The scores of the items, with their reasons."""
    told = errors or [None] * len(scores)
    items = [
        EvalOutputItem(id=item.id, score=score, reasoning=why, error=error)
        for item, score, why, error in zip(given.eval_input_items, scores, reasoning, told, strict=True)
    ]
    return EvalOutput.model_construct(average_score=average(items), eval_output_items=items)


def by_expression(expression: pl.Expr, reasons: Callable[[Tables], Iterable[Any]] | None = None) -> Evaluate:
    """An evaluator whose scores a metric of the turns gives."""

    def evaluate(given: EvalInput) -> EvalOutput:
        tables = tables_of(given)
        needed = {*schema.TURNS.key, *expression.meta.root_names()}  # the rest would be carried along for nothing
        lean = tables.turns.select(name for name in tables.turns.columns if name in needed)
        if "expected" in lean.columns:
            lean = lean.with_columns(tables.references)
        measured = measure(lean, expression.alias("score"))
        scores = tables.of_rollouts(measured.select("rollout_id", "score"))["score"].to_list()
        return output(given, scores, reasons(tables) if reasons else [None] * len(scores))

    return evaluate


def texts_of(tables: Tables) -> list[dict[str, Any]]:
    """Return question, expected answer and answer, as the seed's page repeats them."""
    return [
        {"question": item.question, "answer": item.answer, "generated_answer": item.generated} for item in tables.items
    ]
