"""Sentences about the column that may hold the verdict, for rollouts without one."""

from collections.abc import Mapping

import polars as pl

from rollwise.readers.labels import as_names
from rollwise.readers.likely_columns import unused_columns, verdicts_by_value
from rollwise.readers.problems import WORDING
from rollwise.readers.roles.gathered import GATHERED
from rollwise.schema import labels
from rollwise.schema.named import column_named

NOTE = "unused_verdict"
"""Column of ROLLOUTS with a sentence on the columns that may hold the verdict; only in tables that have such rollouts."""
VERDICT = "the verdict"
RATES = ("attack_success", "task_success")
_VERDICTS = ("succeeded", "outcome", "solved")
_MOST, _LENGTH = 2, 60  # columns that are named, and letters of a name or of its values


def noted(rollouts: pl.DataFrame, turns: pl.DataFrame) -> pl.DataFrame:
    """Add the note to rollouts of which no rate is known, where a column of the user's looks like their verdict."""
    measured = [name for name in RATES if name in rollouts.columns]
    is_unknown = (
        pl.all_horizontal(column_named(name).is_null() for name in measured) if measured else pl.lit(value=False)
    )
    if NOTE in rollouts.columns or not rollouts.select(is_unknown.any()).item():
        return rollouts
    candidates = unused_columns(turns).filter(pl.col("meaning").is_in(_VERDICTS))
    # One number in an object within or around all records is a total of the records, such as `summary.passed`.
    is_total = pl.col("column").str.contains(".", literal=True) & pl.col("examples").str.contains(r"^\d+$")
    candidates = candidates.filter(~is_total)
    if candidates.is_empty() and rollouts.select(is_unknown.all()).item():
        candidates = verdicts_by_value(turns)
    if candidates.is_empty():
        return rollouts
    sentences = [_sentence(row) for row in candidates.head(_MOST).iter_rows(named=True)]
    more = [f"{candidates.height - _MOST} more may, too"] if candidates.height > _MOST else []
    note = WORDING.get()("; ".join([*sentences, *more]))
    return rollouts.with_columns(pl.when(is_unknown).then(pl.lit(note)).alias(NOTE))


def _sentence(unused: Mapping[str, str]) -> str:
    """Return what a row of UNUSED says, with the argument that answers it."""
    column, examples = (labels.shorten(labels.plain(unused[name]), _LENGTH) for name in ("column", "examples"))
    # What a command asked while reading knew all names of the file, also those of columns that have another name here.
    asked = {question.column: as_names(question.names) for question in GATHERED.get() or ()}
    names = asked.get(unused["column"], unused["names"])
    whose = " of the attack or of the task" if names == as_names({"of": "?"}) else ""
    if unused["meaning"] == "score" and column == "score":
        return f"from which `score` on (seen: {examples}) did the attack succeed? {names}"
    noun = "a score of the attack" if unused["meaning"] == "score" else f"{VERDICT}{whose}"
    return f"column `{column}` ({examples}) may be {noun}: {names}"
