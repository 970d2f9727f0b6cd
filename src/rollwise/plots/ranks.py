"""Ranks of groups: one row per group, a point with the ranks that it can have."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from rollwise import schema
from rollwise.plots import factors, interval_rows, layout, theme
from rollwise.plots.figures import Plot, drawing
from rollwise.plots.theme import Axes, Size
from rollwise.schema import labels
from rollwise.schema.labels.ranking import ranking
from rollwise.schema.named import columns_named
from rollwise.schema.option_types import check_option_types

MARKS = interval_rows.MARKS | {
    "panel_name": pl.String,
    "metric": pl.String,
    "value": pl.String,  # "5.0 % [0.9, 23.6]": what is ranked
    "best": pl.String,  # the chance of being best
}


@drawing
def ranks(
    frame: object,
    *,
    metric: str | None = None,
    level: float | None = None,
    size: Size | None = None,
    ax: "Axes | None" = None,
    colors: Mapping[str, str] | None = None,
    title: str | None = None,
    caption: bool | None = None,
) -> Plot:
    """Draw RANKS: one row per group, the best on top, with the ranks that it can have.

    All intervals of a panel hold together. Beside them are the values that are ranked, and the chance of being best. A dashed
    line without a point is a group whose rank is not known, because groups met different goals.

    Parameters
    ----------
    frame
        RANKS, from `rw.rank`.
    metric, level
        Which rows to draw; by default all, one panel for each ranking.
    size, ax, colors, title, caption
        As in `forest`.

    Raises
    ------
    ArgumentError
        If nothing is left to draw, or several panels do not fit into one `ax`.

    Examples
    --------
    >>> facts = {"metric": "attack_success", "of": "target", "group": ["a", "b"], "level": 0.95, "n": 20}
    >>> facts |= {"p_best": [0.9, 0.1]}
    >>> values = {"estimate": [0.1, 0.4], "low": [0.0, 0.2], "high": [0.3, 0.6], "tier": [1, 1]}
    >>> (ax,) = ranks(pl.DataFrame(facts | values | {"rank": [1, 2], "rank_low": [1, 1], "rank_high": [2, 2]})).axes
    >>> ax.get_xlabel(), [label.get_text() for label in ax.get_yticklabels()]
    ('rank by attack success, 1 is best', ['a', 'b'])
    """
    check_option_types(ranks, locals())
    marks = ranks_marks(frame, metric=metric, level=level, colors=colors)
    rows = labels.finished(frame, schema.RANKS, "ranks", metric=metric, level=level)
    panels = []
    for part in marks.partition_by("panel", maintain_order=True):
        name, of = part.select("panel_name", "metric").row(0)
        columns = [("text", "ranks")]
        if marks["panel"].n_unique() == 1:
            columns += [("value", interval_rows.heading(rows, labels.quantity(of))), ("best", "P(best)")]
        quantity = f"rank by {labels.label(of)}, 1 is best"
        panels.append(interval_rows.Panel(f"{name}: {quantity}" if name else quantity, "rank", columns))
    return interval_rows.draw(
        marks,
        panels,
        layout.Page("ranks", ax, size, title, caption),
        description=labels.caption(rows),
        alt=_alternative(rows, marks),
        choose="metric= and level=, or one group",
    )


def ranks_marks(
    frame: object, *, metric: str | None = None, level: float | None = None, colors: Mapping[str, str] | None = None
) -> pl.DataFrame:
    """Return the marks of `ranks`: one row per panel and group.

    Examples
    --------
    >>> facts = {"metric": "attack_success", "of": "target", "group": ["a", "b"], "level": 0.95, "n": 20}
    >>> facts |= {"p_best": [0.9, 0.1]}
    >>> values = {"estimate": [0.1, 0.4], "low": [0.0, 0.2], "high": [0.3, 0.6], "tier": [1, 1]}
    >>> frame = pl.DataFrame(facts | values | {"rank": [1, 2], "rank_low": [1, 1], "rank_high": [2, 2]})
    >>> ranks_marks(frame).select("row", "group", "text", "value", "best").rows()
    [(0, 'a', '1 to 2', '10 % [0, 30]', '90.0 %'), (1, 'b', '1 to 2', '40 % [20, 60]', '10.0 %')]
    """
    check_option_types(ranks_marks, locals(), "ranks")
    rows = labels.finished(frame, schema.RANKS, "ranks", metric=metric, level=level)
    by = labels.grouping(rows)
    families = rows.select(columns_named([*by, "metric", "level"])).rows()
    panels = {family: place for place, family in enumerate(dict.fromkeys(families))}
    rates = {name: labels.is_rate(name, rows) for name in rows["metric"].unique()}
    groups = list(map(labels.plain, rows["group"]))
    places = interval_rows.places(groups, {}, sort=False)
    looks = theme.row_looks(groups, colors)
    keys = factors.keys_of_compared(rows, by)
    marks = [
        interval_rows.mark(
            row | {"estimate": row["rank"], "low": row["rank_low"], "high": row["rank_high"]}, look, row["level"]
        )
        | _details(row, rate=rates[row["metric"]])
        | {
            "panel": panels[family],
            "row": places[group],
            "group": group,
            "panel_name": labels.group_name(row, by) if by else None,
            "key": key,
        }
        for family, group, key, look, row in zip(families, groups, keys, looks, rows.iter_rows(named=True), strict=True)
    ]
    return interval_rows.in_order(marks, MARKS)


def _details(row: Mapping[str, Any], *, rate: bool) -> dict[str, Any]:
    low, high = row["rank_low"], row["rank_high"]
    chance = row["p_best"]
    return {
        "metric": row["metric"],
        "text": f"{low}" if low == high else f"{low} to {high}",
        "value": labels.interval_text(row, rate=rate),
        "best": labels.NOTHING if chance is None else labels.number(chance, rate=True),
    }


def _alternative(rows: pl.DataFrame, marks: pl.DataFrame) -> str:
    """Describe the figure in words: the ranks of all groups, and which cannot be told apart."""
    parts = []
    for part in marks.partition_by("panel", maintain_order=True):
        name, of = part.select("panel_name", "metric").row(0)
        listed = ", ".join(f"{group} {text}" for group, text in part.select("group", "text").rows())
        parts.append(f"{f'{name}: ranks' if name else 'Ranks'} by {labels.label(of)}, 1 is best: {listed}.")
    return " ".join([*parts, ranking(rows)])
