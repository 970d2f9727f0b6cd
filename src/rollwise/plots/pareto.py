"""Trade-off of two metrics: one point per group, and the Pareto front."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import polars as pl

from rollwise.comparisons.selection import Better
from rollwise.errors import ArgumentError
from rollwise.plots import alternatives, layout, theme
from rollwise.plots import pareto_strokes as strokes
from rollwise.plots.figures import Plot, drawing
from rollwise.plots.pareto_marks import chosen, directions, pareto_marks, require_known, single_out
from rollwise.plots.theme import Axes, Size
from rollwise.schema.labels import caption as interval_sentences
from rollwise.schema.labels import counted, label, shorten
from rollwise.schema.option_types import check_option_types

Labels = Literal["all", "frontier"]
_NAMED = 12  # at most so many groups are named beside their points


@drawing
def pareto(
    summary: object,
    *,
    x: str | None = None,
    y: str | None = None,
    statistic: str | None = None,
    level: float | None = None,
    better: Mapping[str, Better] | None = None,
    front: bool = True,
    trials: object = None,
    references: object = None,
    labels: Labels | None = None,
    size: Size | None = None,
    ax: "Axes | None" = None,
    colors: Mapping[str, str] | None = None,
    title: str | None = None,
    caption: bool | None = None,
) -> Plot:
    """Draw two metrics of a SUMMARY against each other: a point per group with both intervals, and the Pareto front.

    The front joins the groups that no other group beats (`rw.comparisons.pareto`): none is at least as good in both metrics
    and better in one. It is computed from estimates; where intervals overlap, another sample may have another front.

    Parameters
    ----------
    summary
        SUMMARY of two metrics, from `rw.summarize`.
    x, y
        Which metric goes across and which goes up; by default the two metrics of the SUMMARY, in order.
    statistic, level
        Which rows to draw; by default means, or the only statistic, at the greatest level.
    better
        ``"higher"`` or ``"lower"`` for each metric; by default as in the catalog of metrics. It is written on the axes.
    front
        Whether to draw the Pareto front, for which it must be known which way is better.
    trials
        SUMMARY of the same groups by one more column, such as ``by=["target", "run"]``: each row is a small dot in the color of
        its group, without an interval. Rows of other groups are not drawn.
    references
        SUMMARY of other systems for comparison: gray, named, and not part of the front.
    labels
        Which groups are named beside their points: ``"all"``, or those on the ``"frontier"``; by default all, or a key
        if there is not enough space. Of more than twelve groups only those on the front have names, colors and intervals.
        References are always named.
    size, ax, title, caption
        As in `forest`.
    colors
        Colors by the name of a group or reference; by default a color-blind safe one for each group.

    Raises
    ------
    ArgumentError
        If the SUMMARY does not have two metrics, a group occurs twice, nothing can be drawn, it is unknown which way is better, or
        trials or references do not match the SUMMARY.

    Examples
    --------
    >>> rows = {"target": ["a", "b"] * 2, "metric": ["attack_success"] * 2 + ["task_success"] * 2, "statistic": "mean"}
    >>> ends = {"estimate": [0.1, 0.4, 0.5, 0.9], "low": [0.0, 0.3, 0.4, 0.8], "high": [0.2, 0.5, 0.6, 1.0]}
    >>> (ax,) = pareto(pl.DataFrame(rows | {"level": 0.95, "n": 50} | ends)).axes
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('attack success (lower is better)', 'task success (higher is better)')
    """
    check_option_types(pareto, locals())
    if labels == "frontier" and not front:
        raise ArgumentError("pareto: labels='frontier' names the groups on the front, and front=False leaves it out")
    frame = chosen(summary, x, y, statistic, level)
    compared: dict[str, Any] = {"trials": trials, "references": references, "colors": colors}
    marks = pareto_marks(summary, x=x, y=y, statistic=statistic, level=level, better=better, front=front, **compared)
    require_known(marks, "pareto")
    metrics = {side: marks[f"{side}_metric"][0] for side in ("x", "y")}
    ways = directions(metrics, better) if front else dict(better or {})
    trial_columns = [] if trials is None else single_out(trials, frame)
    together = marks.filter(role="group", shape="point").group_by("x", "y", maintain_order=True).agg("group")
    together = together.filter(pl.col("group").list.len() > 1)
    hidden = [f"At one point: {listed(names)}." for names in together["group"].to_list()[:2]]
    description = " ".join([interval_sentences(frame), *sentences(marks, trial_columns, front=front), *hidden])
    is_group, is_named = pl.col("role") == "group", pl.col("pareto") | (pl.col("role") == "reference")
    groups = marks.filter(is_group)
    # Of very many groups the front alone has colors.
    gray = labels != "all" and trials is None and marks["pareto"].any() and theme.look_alike(groups)
    if gray:
        front_marks = theme.recolored(groups.filter("pareto"))
        painted = pl.concat([front_marks, marks.filter(~(pl.col("pareto") & is_group))])
        description += f" Gray, without intervals: {counted(groups.filter(~pl.col('pareto')).height, 'other group')}."

    def paint(sheet: layout.Sheet) -> Callable[[], None]:
        (ax,) = sheet.panels(1, columns=1, high=min(theme.em(230.0), 0.7 * sheet.width))
        placed = strokes.in_ink(strokes.paled(painted, is_named, ax) if gray else marks, ax)
        steps = strokes.scene(ax, placed, frame, ways, front=front)
        points = placed.filter(pl.col("role") != "trial")
        drawn, on_front = points.height, points.filter(is_named)
        points = on_front if gray else points
        # Without `labels=`: name all points if there is space, else use a key.
        if labels is not None:
            named = points if labels == "all" else on_front
        elif points.height <= _NAMED and strokes.have_room(sheet, points["group"]):
            named = points
        else:
            named = points.clear()
            sheet.entries = strokes.entries(ax, points)
        if sheet.description and 0 < named.height < drawn:
            sheet.description += " Named: the groups on the front."
        # Names come last, as they avoid everything drawn before.
        return lambda: strokes.name(ax, placed, named["group"].to_list(), steps)

    return layout.lay(
        paint,
        layout.Page("pareto", ax, size, title, caption),
        alt=alternatives.pareto(marks),
        natural=6.4,
        description=description,
        named=marks.filter(is_named)["group"] if gray else marks["group"],
    )


def sentences(marks: pl.DataFrame, trial_columns: list[str], *, front: bool) -> list[str]:
    """Explain each unusual mark, and list groups that are not drawn; `trial_columns` distinguish the trials of a group."""
    notes = []
    if front and marks["pareto"].any():
        notes.append("Dashed: the Pareto front of the estimates.")
    if (marks["shape"] == "range").any():
        notes.append("Dashed cross without a point: no estimate, only its interval.")
    trials = marks.filter(role="trial")
    if trials.height:
        unplaced = trials.filter(shape="missing").height
        without = f" ({unplaced} of {counted(trials.height, 'dot')} not drawn: not known in both)" if unplaced else ""
        notes.append(f"Small dots: each single {' and '.join(map(label, trial_columns))}{without}.")
    references = marks.filter(pl.col("role") == "reference", pl.col("shape") != "missing")["group"].to_list()
    if references:
        notes.append(f"For reference{', not in the front' if front else ''}: {listed(references)}.")
    missing = marks.filter(pl.col("role") != "trial", pl.col("shape") == "missing")["group"].to_list()
    if missing:
        notes.append(f"Not known in both, so not drawn: {listed(missing)}.")
    return notes


def listed(names: list[str]) -> str:
    """Return the first names, and how many more there are."""
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return ", ".join(shorten(name, 40) for name in names[:4]) + more
