"""Totals in a file that the verdicts of its records reproduce, or contradict: `asr`, `success_rate`, `successful_attacks`."""

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from rollwise.readers.roles.columns import Column, Table
from rollwise.readers.roles.names import verdict_claim, words_of
from rollwise.schema.named import columns_named

_SUCCESSES = frozenset(
    {"success", "successes", "successful", "succeeded", "jailbroken", "solved", "passed", "breached"}
)
_OF_OTHERS = frozenset(
    {"turns", "steps", "tokens", "cost", "seconds", "time", "duration", "latency", "score", "queries"}
)
_RATES = frozenset({"rate", "pct", "percent", "share"})


class Statement(NamedTuple):
    """A total of the file, compared with a reading of its verdicts."""

    name: str  # of the total
    agrees: bool
    of_attacks: bool


def statement_of_totals(table: Table, verdict: Column, verdicts: pl.Series) -> Statement | None:
    """Return the total around the records that agrees with verdicts, or contradicts them; None without such a total.

    Records with the same facts of their enclosing object belong together. A total that disagrees outweighs one that agrees;
    one with a word that another column has and this one lacks is of that one, as `asr_tier1` is of `hijacked_tier1`.
    """
    others = [
        {*total.words}
        for total in table.of_records
        if total.name != verdict.name and verdict_claim(total.own) is not None
    ]
    elsewhere = {word for words in others for word in words - verdict.words} - _SUCCESSES - _RATES
    totals = [total for total in _totals(table) if not {*words_of(total.own.rpartition(".")[2])} & elsewhere]
    statements = [statement for column in totals if (statement := _statement(table, column, verdicts)) is not None]
    return next((statement for statement in statements if not statement.agrees), statements[0] if statements else None)


def _totals(table: Table) -> Iterator[Column]:
    for column in table.columns:
        if column.name in table.enclosing and column.dtype.is_numeric():
            words = {*words_of(column.own.rpartition(".")[2])}  # an object around it may be called anything
            if ("asr" in words or words & _SUCCESSES) and not words & _OF_OTHERS:
                yield column


def _statement(table: Table, column: Column, verdicts: pl.Series) -> Statement | None:
    # Objects of two files are never one, even if all of their facts are equal.
    keys = [name for name in table.frame.columns if name in table.enclosing or name == "run"]
    key = table.frame.select(columns_named(keys)).hash_rows()
    rows = pl.DataFrame({"key": key, "total": column.values.cast(pl.Float64), "verdict": verdicts})
    rows = (
        rows.with_columns(id=table.frame["rollout_id"])
        .group_by("key", "id")
        .agg(pl.col("total").first(), pl.col("verdict").max())
    )
    groups = (
        rows.drop_nulls("total")
        .group_by("key")
        .agg(pl.col("total").first(), n=pl.col("verdict").count(), k=pl.col("verdict").sum())
    )
    groups = groups.filter(pl.col("n") > 0)
    if groups.is_empty():
        return None
    total, rate = pl.col("total"), pl.col("k") / pl.col("n")
    if "asr" in column.words or column.words & _RATES:
        agrees = ((total - rate).abs() < 0.006) | ((total - 100 * rate).abs() < 0.6)
    else:
        agrees = total == pl.col("k")
    is_of_attacks = bool(column.words & {"asr", "attack", "attacks", "jailbroken", "breached"})
    return Statement(column.own, bool(groups.select(agrees.all()).item()), is_of_attacks)
