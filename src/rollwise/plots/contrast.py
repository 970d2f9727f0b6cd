"""Groups compared with a baseline: each difference with its interval, number of pairs and p-value."""

from collections.abc import Mapping
from statistics import fmean
from typing import Any

import polars as pl

from rollwise import schema
from rollwise.plots import drawn, factors, interval_rows, layout, theme
from rollwise.plots.figures import Plot, drawing
from rollwise.plots.theme import Axes, Size
from rollwise.schema import labels
from rollwise.schema.option_types import check_option_types

MARKS = interval_rows.MARKS | {
    "metric": pl.String,
    "statistic": pl.String,
    "scale": pl.String,  # points (percentage points), rate (a probability), or number
    "guide": pl.Float64,  # the value that means no difference
    "quantity": pl.String,
    "baseline": pl.String,
    "pairs": pl.String,  # "96/104": paired units of all units; "40 : 38": rollouts of an unpaired comparison
    "p": pl.String,  # adjusted if there is an adjustment
}


@drawing
def contrast(
    frame: object,
    *,
    metric: str | None = None,
    statistic: str | None = None,
    level: float | None = None,
    sort: bool = True,
    size: Size | None = None,
    ax: "Axes | None" = None,
    colors: Mapping[str, str] | None = None,
    title: str | None = None,
    caption: bool | None = None,
) -> Plot:
    """Draw a forest plot of a CONTRAST: one row per comparison, with its difference, its interval and its numbers.

    Differences of rates are in percentage points. A line marks no difference: 0, or 50 % if the statistic is a probability. The
    columns give the number of pairs among all units (of unpaired comparisons, the rollouts of both groups) and the p-value,
    adjusted if it was.

    Parameters
    ----------
    frame
        CONTRAST, from `rw.contrast`.
    metric, statistic, level
        Which rows to draw; by default all, one panel for each metric and statistic.
    sort
        Greatest difference on top; otherwise the order of the frame.
    size, ax, title, caption
        As in `forest`.
    colors
        Colors by the group compared; by default a color-blind safe one for each.

    Raises
    ------
    ArgumentError
        If nothing is left to draw, a comparison occurs twice, or several panels do not fit into one `ax`.

    Examples
    --------
    >>> rows = {"metric": "attack_success", "statistic": "mean", "of": "target", "baseline": "base", "level": 0.95}
    >>> ends = {"difference": [-0.1, 0.2], "low": [-0.2, 0.1], "high": [0.0, 0.3]}
    >>> (ax,) = contrast(pl.DataFrame({"group": ["a", "b"]} | rows | ends)).axes
    >>> ax.get_xlabel(), [label.get_text() for label in ax.get_yticklabels()]
    ('difference in attack success from base, in points', ['b', 'a'])
    """
    check_option_types(contrast, locals())
    marks = contrast_marks(frame, metric=metric, statistic=statistic, level=level, sort=sort, colors=colors)
    # A single panel has space for all columns of numbers, several panels only for the p-value.
    rows = drawn.rows_of(frame, schema.CONTRAST, "contrast", marks, ["metric", "statistic", "level"])
    single = marks["panel"].n_unique() == 1
    panels = []
    for part in marks.partition_by("panel", maintain_order=True):
        quantity, scale, guide = part.select("quantity", "scale", "guide").row(0)
        columns = [("p", "p, adjusted" if rows["adjust"].count() else "p")]
        if single:
            heading = interval_rows.heading(marks, "points" if scale == "points" else "difference")
            columns = [("text", heading), ("pairs", _pairs_heading(part)), *columns]
        panels.append(interval_rows.Panel(quantity, scale, columns, guide))
    return interval_rows.draw(
        marks,
        panels,
        layout.Page("contrast", ax, size, title, caption),
        description=_caption(rows, marks),
        alt=labels.alt_text(rows),
    )


def contrast_marks(
    frame: object,
    *,
    metric: str | None = None,
    statistic: str | None = None,
    level: float | None = None,
    sort: bool = True,
    colors: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """Return the marks of `contrast`: one row per panel, comparison and level.

    Examples
    --------
    >>> rows = {"metric": "attack_success", "statistic": "mean", "of": "target", "baseline": "base", "level": 0.95}
    >>> ends = {"difference": [-0.1, 0.2], "low": [-0.2, 0.1], "high": [0.0, 0.3], "n_pairs": 40, "only_group": [0, 2]}
    >>> marks = contrast_marks(pl.DataFrame({"group": ["a", "b"]} | rows | ends | {"p_value": [0.06, 1e-5]}))
    >>> marks.select("group", "text", "pairs", "p").rows()
    [('b', '20 [10, 30]', '40/42', '< 0.001'), ('a', '−10 [−20, 0]', '40/40', '0.060')]
    """
    check_option_types(contrast_marks, locals(), "contrast")
    frame = labels.finished(frame, schema.CONTRAST, "contrast", metric=metric, statistic=statistic, level=level)
    by = labels.grouping(frame)
    drawn.check_once(
        frame,
        [*by, *schema.CONTRAST.key],
        "contrast",
        lambda row: f"{row['group']!r} against {row['baseline']!r}",
        "filter the frame to one row for each comparison",
    )
    # With several baselines the name of a row includes its baseline.
    single_baseline, single_of = (frame[name].n_unique() == 1 for name in ("baseline", "of"))
    names = [
        label if single_baseline else f"{label} − {labels.plain(baseline)}"
        for label, baseline in zip(labels.group_names(frame, [*by, "group"]), frame["baseline"], strict=True)
    ]
    first = frame.row(0, named=True)
    # Of two factors, such as attacks and compared targets, one has the rows. With several baselines each comparison has its own.
    color = factors.colored(frame, [*by, "group"], None, "contrast") if single_baseline and single_of else None
    lanes = factors.lanes(frame, [*by, "group"], color, sort=sort) if color else [{"name": name} for name in names]
    # Rows are sorted by the first metric, and have the same order in all panels.
    differences = frame.select("metric", "statistic", "difference").rows()
    values: dict[str, list[float]] = {}
    for lane, (row_metric, row_statistic, value) in zip(lanes, differences, strict=True):
        if (row_metric, row_statistic) == (first["metric"], first["statistic"]) and value is not None:
            values.setdefault(lane["name"], []).append(value)
    means = {name: fmean(known) for name, known in values.items()}
    places = interval_rows.places([lane["name"] for lane in lanes], means, sort=sort)
    panels = {pair: place for place, pair in enumerate(dict.fromkeys(frame.select("metric", "statistic", "of").rows()))}
    # The color of a group is the same in comparisons with different baselines.
    groups = labels.group_names(frame, [color or "group"])
    # Baselines have no row, but keep their colors for figures in which they are drawn, as long as colors are of groups.
    baselines = frame["baseline"].unique() if (color or "group") == "group" else ()
    looks = theme.row_looks(groups, colors, others=map(labels.plain, baselines))
    widest = frame["level"].max()
    keys = factors.keys_of_compared(frame, by)
    marks = [
        interval_rows.mark(row, look, widest, value="difference")
        | _details(row, baseline=row["baseline"] if single_baseline else None)
        | {"panel": panels[row["metric"], row["statistic"], row["of"]], "row": places[lane["name"]], "group": name}
        | lane
        | {"key": key}
        for name, key, lane, look, row in zip(names, keys, lanes, looks, frame.iter_rows(named=True), strict=True)
    ]
    return interval_rows.in_order([*marks, *factors.without_rollouts(marks, "not compared")], MARKS)


# ── marks ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _details(row: Mapping[str, Any], *, baseline: str | None) -> dict[str, Any]:
    scale = labels.contrast_scale(row["metric"], row["statistic"])
    quantity = labels.contrast_quantity(row["metric"], row["statistic"], baseline)
    text = labels.difference_text(row, scale)
    return {
        "metric": row["metric"],
        "statistic": row["statistic"],
        "scale": scale,
        "guide": 0.5 if scale == "rate" else 0.0,
        "quantity": f"{quantity}, in points" if scale == "points" else quantity,
        "baseline": labels.plain(row["baseline"]),
        "text": text.replace(" points", "") if scale == "points" else text,  # the axis names the unit
        "pairs": _pairs(row),
        "p": labels.p_text(row["p_value"] if row["p_adjusted"] is None else row["p_adjusted"]),
    }


def _pairs(row: Mapping[str, Any]) -> str:
    """Return the number of units in both groups of those in either; without any pair, the rollouts of each group."""
    if row["n_pairs"]:
        units = row["n_pairs"] + (row["only_group"] or 0) + (row["only_baseline"] or 0)
        return f"{labels.count(row['n_pairs'])}/{labels.count(units)}"
    if row["n_group"] is None and row["n_baseline"] is None:
        return labels.NOTHING
    return f"{labels.count(row['n_group'])} : {labels.count(row['n_baseline'])}"


def _pairs_heading(part: pl.DataFrame) -> str:
    kinds = {" : " in pairs for pairs in part["pairs"]}
    return {(True,): "rollouts", (False,): "paired"}.get(tuple(kinds), "paired, or rollouts")  # type: ignore[arg-type]


# ── caption ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _caption(frame: pl.DataFrame, marks: pl.DataFrame) -> str:
    """Describe the intervals, the adjustment of p-values, and the pairs."""
    sentences = [labels.caption(frame)]
    adjusted = frame["adjust"].drop_nulls().unique(maintain_order=True).to_list()
    if adjusted:
        how = " and ".join(labels.plain(how) for how in adjusted[:2])
        sentences.append(f"p adjusted: {how} {'comparison' if how.endswith(' over 1') else 'comparisons'}.")
    if marks["pairs"].str.contains("/").any():
        sentences.append(f"Paired: {labels.cluster_unit(frame)} in both groups / in either.")
    return " ".join(sentences)
