"""Links from a group, in a table or a figure, to its transcripts, and the rates that the viewer tells of these."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from rollwise import schema
from rollwise.reports.comparisons import UNITS
from rollwise.reports.frames import Frames
from rollwise.reports.parts import address, viewed
from rollwise.schema import labels
from rollwise.schema.named import column_named, columns_named

MOST_RATES = 2000  # in a page


def rates_of_groups(data: Frames) -> list[dict[str, Any]]:
    """Return the rate of each group as the viewer tells it: what is chosen, successes of judged rollouts, and the interval."""
    if data.tree:
        return []  # its rates are of paths, and the viewer counts trees
    head = data.headline
    pooled = (
        []
        if head is None or head.factor is None or head.common or not head.is_rate or not head.rates.height
        else [([head.factor], head.rates)]
    )
    found = []
    for names, rows in [(list(data.by), data.summary.filter(pl.col("metric").is_in(list(UNITS)))), *pooled]:
        known = rows.filter(pl.col("n") > 0, pl.col("estimate").is_not_null())
        words = (
            known.select(column_named(name).cast(pl.String) for name in names).rows() if names else [()] * known.height
        )
        found += [
            {
                "metric": row["metric"], "of": dict(zip(names, values, strict=True)),
                "yes": round(row["estimate"] * row["n"]), "judged": row["n"],
                "words": labels.label(row["metric"]), "text": labels.interval_text(row, rate=True),
            }
            for values, row in zip(words, known.rows(named=True), strict=True)
        ]  # fmt: skip
    return found[:MOST_RATES]


class Groups:
    """The groups of a report, by what a table or a figure says of them.

    Both leave out the columns that are the same in all rows; the address has them, as other rollouts may have other values.
    """

    def __init__(self, data: Frames) -> None:
        self._by = data.by
        self._known = data.summary.filter(pl.col("n") > 0)
        self._of_metric: dict[str, list[dict[str, Any]]] = {}

    def address(self, metric: str | None, key: Mapping[str, Any]) -> str:
        """Return the address of the rollouts of a group."""
        left_out = [name for name in self._by if name not in key]
        if not key or not left_out:
            return address(key)
        named = {name: viewed(value) for name, value in key.items() if name in self._by}
        rows = [row for row in self._groups(metric) if all(viewed(row[name]) == text for name, text in named.items())]
        same = {name: rows[0][name] for name in left_out if rows and len({viewed(row[name]) for row in rows}) == 1}
        return address({**key, **same})

    def of_rows(self, rows: pl.DataFrame, by: Sequence[str], of: str | None = None) -> list[str]:
        """Return the addresses of the rows of a frame; `of` is the column whose values the rows compare."""
        names = [name for name in by if name in rows.columns]
        return [
            self.address(
                row["metric"],
                {name: row[name] for name in names if row[name] != schema.POOLED} | ({of: row["group"]} if of else {}),
            )
            for row in rows.rows(named=True)
        ]

    def _groups(self, metric: str | None) -> list[dict[str, Any]]:
        if (metric or "") not in self._of_metric:
            rows = self._known if metric is None else self._known.filter(metric=metric)
            self._of_metric[metric or ""] = rows.select(columns_named(self._by)).unique(maintain_order=True).to_dicts()
        return self._of_metric[metric or ""]
