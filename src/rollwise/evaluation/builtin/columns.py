"""Functions that turn a metric of turns or of steps into an evaluator; built-in evaluators compute columns, not single items."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import polars as pl

from rollwise import schema
from rollwise.evaluation.frames import Tables, tables_of
from rollwise.evaluation.item_evaluator import average
from rollwise.evaluation.items import EvalInput, EvalOutput, EvalOutputItem
from rollwise.measurement.measure import measure
from rollwise.metrics.step_activity import measure_steps
from rollwise.schema.named import columns_named

IS_CONTEXT = pl.col("kind").is_in(["tool", "retriever"]) & (pl.col("output").str.len_chars() > 0)
"""Steps whose outputs are contexts of the answer."""
Evaluate = Callable[[EvalInput], EvalOutput]


def output(
    eval_input: EvalInput, scores: Sequence[Any], reasoning: Iterable[Any], errors: Sequence[str | None] = ()
) -> EvalOutput:
    """Return the scores of the items, with their reasons."""
    errors = errors or [None] * len(scores)
    items = [
        EvalOutputItem(id=item.id, score=score, reasoning=reason, error=error)
        for item, score, reason, error in zip(eval_input.eval_input_items, scores, reasoning, errors, strict=True)
    ]
    return EvalOutput.model_construct(average_score=average(items), eval_output_items=items)


def by_expression(expression: pl.Expr, reasons: Callable[[Tables], Iterable[Any]] | None = None) -> Evaluate:
    """Return an evaluator whose scores are a metric of the turns."""

    def evaluate(eval_input: EvalInput) -> EvalOutput:
        tables = tables_of(eval_input)
        # Only the columns that the metric reads: data sets may have wide ones, which the engine would carry along.
        needed = {*schema.TURNS.key, *expression.meta.root_names()}
        turns = tables.turns.select(columns_named(name for name in tables.turns.columns if name in needed))
        if "expected" in turns.columns:
            turns = turns.with_columns(tables.references)
        measured = measure(turns, expression.alias("score"))
        scores = tables.of_rollouts(measured.select("rollout_id", "score"))["score"].to_list()
        return output(eval_input, scores, reasons(tables) if reasons else [None] * len(scores))

    return evaluate


def by_steps(expression: pl.Expr, prices: dict[str, tuple[float, float]] | None = None) -> Evaluate:
    """Return an evaluator whose scores are a metric of the steps; null for an item without steps."""

    def evaluate(eval_input: EvalInput) -> EvalOutput:
        tables = tables_of(eval_input)
        measured = measure_steps(tables.steps, expression.alias("score"), prices=prices)
        scores = tables.of_rollouts(measured)["score"].to_list()
        counts = tables.of_rollouts(tables.steps.group_by("rollout_id").len())["len"].to_list()
        return output(eval_input, scores, ({"steps": count or 0} for count in counts))

    return evaluate


def texts_of(tables: Tables) -> list[dict[str, Any]]:
    """Return question, expected answer and generated answer of each item, as NeMo Agent Toolkit's evaluators report them."""
    return [
        {"question": item.question, "answer": item.answer, "generated_answer": item.generated} for item in tables.items
    ]
