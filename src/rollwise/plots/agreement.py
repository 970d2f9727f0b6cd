"""Agreement of judges with labels, with each other and with themselves: each statistic with its interval."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from rollwise import schema
from rollwise.plots import drawn, interval_rows, layout, theme
from rollwise.plots.figures import Plot, drawing
from rollwise.plots.theme import Axes, Size
from rollwise.schema import labels
from rollwise.schema.named import values_named
from rollwise.schema.option_types import check_option_types

MARKS = interval_rows.MARKS | {
    "statistic": pl.String,
    "rate": pl.Boolean,  # a percentage; otherwise a coefficient: 0 is chance, 1 full agreement
    "comparison": pl.String,
    "judge": pl.String,
    "n": pl.String,
    "clusters": pl.String,
    "unit": pl.String,
}


@drawing
def agreement(
    frame: object,
    *,
    statistic: str | Sequence[str] | None = None,
    comparison: str | None = None,
    level: float | None = None,
    sort: bool = True,
    size: Size | None = None,
    ax: "Axes | None" = None,
    colors: Mapping[str, str] | None = None,
    title: str | None = None,
    caption: bool | None = None,
) -> Plot:
    """Draw forest plots of an AGREEMENT: one row per comparison of judges, one panel per statistic.

    Shares (raw agreement, sensitivity, specificity) are percentages on an axis from 0. Coefficients have a line at 0, agreement
    by chance; 1 is full agreement.

    Parameters
    ----------
    frame
        AGREEMENT, from `rw.judges.agreement`.
    statistic, comparison, level
        Which rows to draw; by default all. `statistic` may be several, in the order of their panels.
    sort
        Greatest estimate on top; otherwise the order of the frame.
    size, ax, title, caption
        As in `forest`.
    colors
        Colors by judge; by default a color-blind safe one for each.

    Raises
    ------
    ArgumentError
        If nothing is left to draw, a comparison occurs twice, or several panels do not fit into one `ax`.

    Examples
    --------
    >>> rows = {"comparison": "labels", "judge": ["rule", "model"], "statistic": "kappa", "level": 0.95, "n": 90}
    >>> (ax,) = agreement(pl.DataFrame(rows | {"estimate": [0.4, 0.8], "low": [0.2, 0.7], "high": [0.6, 0.9]})).axes
    >>> ax.get_xlabel(), [label.get_text() for label in ax.get_yticklabels()]
    ("Cohen's kappa", ['model with the labels', 'rule with the labels'])
    """
    check_option_types(agreement, locals())
    marks = agreement_marks(frame, statistic=statistic, comparison=comparison, level=level, sort=sort, colors=colors)
    single = marks["panel"].n_unique() == 1
    panels = []
    for part in marks.partition_by("panel", maintain_order=True):
        name, rate = part.select("statistic", "rate").row(0)
        # A single panel has space for all columns of numbers, several panels only for n.
        columns = [("text", interval_rows.heading(marks)), ("n", "n"), ("clusters", marks["unit"][0])]
        panel = interval_rows.Panel(labels.coefficient(name), "rate", columns if single else columns[1:2])
        panels.append(panel if rate else interval_rows.Panel(panel.quantity, "number", panel.columns, guide=0.0))
    rows = drawn.rows_of(frame, schema.AGREEMENT, "agreement", marks, ["statistic", "comparison", "level"])
    return interval_rows.draw(
        marks,
        panels,
        layout.Page("agreement", ax, size, title, caption),
        description=_caption(rows, marks),
        alt=labels.alt_text(rows, shape=schema.AGREEMENT),
        choose="statistic=",
    )


def agreement_marks(
    frame: object,
    *,
    statistic: str | Sequence[str] | None = None,
    comparison: str | None = None,
    level: float | None = None,
    sort: bool = True,
    colors: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """Return the marks of `agreement`: one row per panel, comparison and level.

    Examples
    --------
    >>> rows = {"comparison": "labels", "judge": ["rule", "model"], "statistic": "kappa", "level": 0.95, "n": 90}
    >>> marks = agreement_marks(pl.DataFrame(rows | {"estimate": [0.4, 0.8], "low": [0.2, 0.7], "high": [0.6, 0.9]}))
    >>> marks.select("group", "text", "n").rows()
    [('model with the labels', '0.80 [0.70, 0.90]', '90'), ('rule with the labels', '0.40 [0.20, 0.60]', '90')]
    """
    check_option_types(agreement_marks, locals(), "agreement")
    table = labels.finished(frame, schema.AGREEMENT, "agreement", comparison=comparison, level=level)
    # Choose the rows. The order of `statistic=` is that of the panels.
    statistics = (
        [statistic] if isinstance(statistic, str) else list(statistic or table["statistic"].unique(maintain_order=True))
    )
    table = pl.concat([labels.choose(table, "agreement", statistic=name) for name in dict.fromkeys(statistics)])
    by = labels.grouping(table)
    drawn.check_once(
        table,
        [*by, *schema.AGREEMENT.key, "level"],
        "agreement",
        lambda row: f"{row['statistic']} of {labels.compared(row)!r}",
    )
    rows = table.to_dicts()
    names = [f"{labels.group_name(row, by)} · {labels.compared(row)}" if by else labels.compared(row) for row in rows]
    # Rows are sorted by the first statistic, and have the same order in all panels.
    values = {
        name: row["estimate"]
        for name, row in zip(names, rows, strict=True)
        if row["statistic"] == rows[0]["statistic"] and row["estimate"] is not None
    }
    places = interval_rows.places(names, values, sort=sort)
    judges = [labels.plain(row["judge"]) if row["judge"] is not None else "all judges" for row in rows]
    # Colors belong to judges, so that a judge has the same color in each of its comparisons.
    looks = theme.row_looks(judges, colors)
    widest, unit = table["level"].max(), labels.cluster_heading(table)
    panels = {name: place for place, name in enumerate(dict.fromkeys(statistics))}
    keys = labels.group_keys(
        table.with_columns(pl.col("judge").fill_null(schema.POOLED)), [*dict.fromkeys([*by, "judge"])]
    )
    marks = [
        interval_rows.mark(row, look, widest)
        | _details(row)
        | {"panel": panels[row["statistic"]], "row": places[name], "group": name, "judge": judge, "unit": unit}
        | {"key": key}
        for name, judge, key, look, row in zip(names, judges, keys, looks, rows, strict=True)
    ]
    return interval_rows.in_order(marks, MARKS)


def _details(row: Mapping[str, Any]) -> dict[str, Any]:
    rate = labels.is_share(row["statistic"])
    return {
        "statistic": row["statistic"],
        "rate": rate,
        "comparison": row["comparison"],
        "text": labels.interval_text(row, rate=rate),
        "n": labels.count(row["n"]),
        "clusters": labels.count(row["n_clusters"]),
    }


def _caption(table: pl.DataFrame, marks: pl.DataFrame) -> str:
    """Describe the intervals, the meaning of 0, and the number of verdicts without a counterpart."""
    sentences = [labels.caption(table)]
    if not marks["rate"].all():
        sentences.append("0: agreement by chance; 1: full agreement.")
    # Verdicts that could not be compared are part of the result: they are counted, not dropped silently.
    exclusions = [("n_single", "verdict or label", "a counterpart"), ("n_abstained", "judgment", "a verdict")]
    excluded = [
        f"{labels.counted(values_named(table, name).drop_nulls(), noun)} without {missing}"
        for name, noun, missing in exclusions
        if table[name].sum()
    ]
    if excluded:
        sentences.append(f"Excluded: {' and '.join(excluded)}.")
    return " ".join(sentences)
