"""JSON that `--format json` prints: `answer`, a sentence to quote, and the `rows` behind it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rollwise.cli.app import OUTPUT
from rollwise.cli.tables import tell

if TYPE_CHECKING:
    import polars as pl

FileFormat = Annotated[
    Literal["text", "json"],
    typer.Option(
        "--format",
        help="Printed output: text, or json: a sentence to quote (answer), and the rows.",
        rich_help_panel=OUTPUT,
    ),
]


def document(answer: str, rows: "pl.DataFrame") -> str:
    """Return a JSON document of one sentence and the rows behind it."""
    return f'{{"answer": {json.dumps(answer, ensure_ascii=False)}, "rows": {rows.write_json()}}}'


def answer_of(result: "pl.DataFrame") -> str:
    """Describe a result in words: the estimates with their intervals, or the verdict of a gate.

    Of more than two groups it names the smallest and the largest estimate.
    """
    import polars as pl

    from rollwise import schema
    from rollwise.schema import labels
    from rollwise.stats.clusters import NO_VALUES

    if labels.shape_of(result) is schema.GATE:
        from rollwise.estimation.gate_words import verdict

        return f"{verdict(result)}."
    if result.is_empty():
        return "The result has no rows."
    answer = f"{labels.alt_text(result, panel='result')} {labels.caption(result)}"
    if "reason" not in result.columns:
        return answer
    if "n_pairs" in result.columns:
        return " ".join([answer, *_other_goals(result["reason"].drop_nulls().to_list())])
    if "n" not in result.columns:
        return answer
    # A rate without a value comes with its reason, which may name the column that holds the verdict.
    reasons = result.filter(pl.col("n") == 0)["reason"].drop_nulls().unique(maintain_order=True)
    return " ".join([answer, *(labels.sentence(reason) for reason in reasons if reason != NO_VALUES)])


def _other_goals(reasons: Sequence[str]) -> list[str]:
    """Return over which goals groups are compared, where they did not meet the same; once."""
    from rollwise.estimation.comparable import OTHER_GOALS
    from rollwise.schema import labels

    parts = [part for reason in reasons for part in reason.split("; ") if part.startswith(OTHER_GOALS)]
    others = len(set(parts)) - 1
    more = f" ({labels.counted(others, 'more comparison')} over other goals)" if others > 0 else ""
    return [labels.sentence(f"{parts[0]}{more}")] if parts else []


def tell_files(answer: str, files: Sequence[str | Path], format: str) -> None:  # noqa: A002  # the name of the option
    """Print the paths of the files that a command wrote, as JSON with a sentence if that is the format."""
    if format == "json":
        import polars as pl

        tell(document(answer, pl.DataFrame({"file": [str(file) for file in files]})), data=True)
    else:
        for file in files:
            tell(file, data=True)
