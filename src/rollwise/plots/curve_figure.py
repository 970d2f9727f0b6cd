"""Figure of panels of curves: its grid, its key, and the caption below."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from rollwise.errors import ArgumentError, listing
from rollwise.plots import curve_labels, curve_panel, legends, lettering, theme, ticking
from rollwise.plots.curve_marks import COMBINATION, NUMBERS, OF_GOALS, clusters_needed
from rollwise.plots.curve_panel import Wording
from rollwise.plots.figures import Plot
from rollwise.schema import labels
from rollwise.schema.named import column_named

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEAST = 95.0  # height in points that curves keep; an optional table or caption is left out to keep it
_GRAY = 16  # up to so many panels show the other groups in gray
Also = Callable[["Axes", pl.DataFrame], None]


def lay_out(
    marks: pl.DataFrame,
    *,
    verb: str,
    alt: str,
    ax: "Axes | None" = None,
    words: Callable[[pl.DataFrame], Wording] = curve_panel.wording,
    at_risk: bool | None = None,
    key: bool = False,
    also: Also | None = None,
    title: str | None = None,
    description: str = "",
    caption: bool | None = None,  # like `at_risk`, by default if `ax` stays high enough
) -> Plot:
    """Draw the marks of curves into `ax`, or into a new figure with a grid of panels."""
    panels = marks.partition_by("panel", maintain_order=True)
    with lettering.fonts_for([*marks["group"], *marks["title"].drop_nulls()]):
        if ax is None:
            description = "" if caption is False else description
            table = at_risk is not False
            axes = _figure(
                panels, marks, words=words, at_risk=table, key=key, also=also, title=title, description=description
            )
            return Plot(axes, alt)
        if len(panels) > 1:
            raise ArgumentError(_several_panels(panels, verb))
        # Axes of the user: reserve the space beside them, then decide what fits below.
        theme.make_room(ax)
        # Too many curves for names at their ends are named in a key, which takes height from the curves.
        crowded = key or curve_labels.crowded(marks)
        named = curve_labels.entries(ax, marks, narrow=not legends.wide(ax)) if crowded else []
        table, description = _fitting(ax, panels[0], description, named, at_risk=at_risk, caption=caption)
        panel = curve_panel.draw(ax, panels[0], marks, words(marks), at_risk=table, named=not key, title=title)
        if also is not None:
            also(ax, panels[0])
        if key:
            legends.key_outside(ax, named)
        # The caption is wrapped twice: now to reserve its height, and after layout to its final width.
        under = lettering.caption_below(ax, description, below=panel.below + 4) if description else None
        curve_panel.finish(panel)
        if under is not None:
            lettering.rewrap(ax, under, description)
        ticking.keep_neighbors_apart(ax)
    return Plot([ax], alt)


def _several_panels(panels: Sequence[pl.DataFrame], verb: str) -> str:
    """Describe why one Axes is not enough: several metrics and kinds, or several groups."""
    combinations = [" ".join(part.select(COMBINATION).row(0)) for part in panels]
    if len(set(combinations)) > 1:
        return f"{verb}: one ax cannot hold {len(panels)} panels ({listing(combinations)}); choose metric= and kind="
    groups = listing(str(part["title"][0]) for part in panels)
    return f"{verb}: one ax cannot hold {len(panels)} groups ({groups}); filter the frame to one of them"


def _fitting(
    ax: "Axes",
    part: pl.DataFrame,
    description: str,
    named: Sequence[Any],
    *,
    at_risk: bool | None,
    caption: bool | None,
) -> tuple[bool, str]:
    """Decide on the table and the caption: unless requested or refused, they are drawn if the Axes stay high enough."""
    across, up = theme.size_in_points(ax)
    up -= legends.key_height(ax, named) if named else 0.0
    # The table has priority over the caption.
    height_left = up - curve_labels.height_of(part["series"].n_unique(), compact=False)
    at_risk = height_left >= _LEAST if at_risk is None else at_risk
    height_left = (height_left if at_risk else up) - lettering.caption_height(description, across)
    return at_risk, description if caption or (caption is None and height_left >= _LEAST) else ""


def _grid(panels: int) -> int:
    """Return the number of columns of the grid of panels."""
    return next(
        columns for most, columns in ((1, 1), (2, 2), (3, 3), (4, 2), (9, 3), (16, 4), (10**9, 5)) if panels <= most
    )


def _figure(
    panels: list[pl.DataFrame],
    marks: pl.DataFrame,
    *,
    words: Callable[[pl.DataFrame], Wording],
    at_risk: bool,
    key: bool,
    also: Also | None,
    title: str | None,
    description: str,
) -> list["Axes"]:
    """Draw a new figure with a grid of panels of equal size."""
    # The size of a panel depends on what is beside and below its curves.
    columns, single = _grid(len(panels)), len(panels) == 1
    rows = -(-len(panels) // columns)
    curves = max(part["group"].n_unique() for part in panels)
    named = curves > 1 and not key
    table = curve_labels.height_of(curves, compact=not single) / 72 if at_risk else 0.0
    few = len(panels) <= 2  # two panels may be larger
    wide, high = (7.2, 4.0) if single else (4.4, 3.1) if named else (3.6, 2.9) if few else (2.9, 2.4)
    if named and not single:  # long names widen the figure and do not narrow the curves
        wide += curve_labels.beyond_short(marks["group"].unique(maintain_order=True).to_list(), table=at_risk) / 72
    margin = 0.0 if single else 0.35
    figure, axes = theme.canvas(rows, columns, (wide * columns + margin, (high + table) * rows + margin))
    # Draw all panels; sizes of Axes are final only after that.
    combinations = [part.select(COMBINATION).row(0) for part in panels]
    drawn_panels = []
    for place, (ax, part) in enumerate(zip(axes, panels, strict=False)):
        axis_marks = marks.filter(
            column_named(name).eq_missing(value) for name, value in zip(COMBINATION, combinations[place], strict=True)
        )
        # The other groups in gray give a reference for a single curve.
        gray = not single and len(panels) <= _GRAY and part["group"].n_unique() == 1 and not key
        panel = curve_panel.draw(
            ax,
            part,
            axis_marks,
            words(axis_marks),
            behind=axis_marks.filter(pl.col("panel") != place) if gray else None,
            at_risk=at_risk,
            compact=not single,
            named=not key,
            first_column=place % columns == 0 or combinations[place] != combinations[place - 1],
            bottom=place + columns >= len(panels),
            title=title if single else part["title"][0],
            characters=int((wide * 72 - (125 if named else 15)) / 5.8),
        )
        if also is not None:
            also(ax, part)
        drawn_panels.append(panel)
    for unused in axes[len(panels) :]:
        unused.set_visible(False)
    if key:
        # The key is the same for all panels.
        legends.key_above(figure, curve_labels.entries(axes[0], marks))
    if not single:
        lettering.title_above(axes, title, new_figure=True)
    if description:
        behind = not single and len(panels) <= _GRAY and curves == 1 and len(set(combinations)) == 1 and not key
        lettering.caption_under(figure, f"{description} Gray: the other groups." if behind else description)
    for panel in drawn_panels:
        # Panels with names at curves have different widths, which only the layout knows.
        measured = single or named  # the width of names is known only after layout
        curve_panel.finish(panel, size=None if measured else (wide * 72 - 15, high * 72 - 45))
    return axes[: len(panels)]


def overlaid(marks: pl.DataFrame) -> bool:
    """Return whether some panel has several curves."""
    return marks.group_by("panel").agg(pl.col("series").n_unique())["series"].max() != 1


def caption(frame: pl.DataFrame, marks: pl.DataFrame, min_at_risk: int, *, most: int = 2) -> str:
    """Describe the intervals of a CURVE, each unusual mark, and a limited number of reasons."""
    steps, points = marks.filter(pl.col("style") == "step"), marks.filter(pl.col("style").is_in(["point", "line"]))
    sentences = [labels.caption(frame)]
    if (steps["censored"] > 0).any():
        sentences.append("Small ticks: censored rollouts.")
    if not steps["solid"].all():
        sentences.append(f"Dashed: {too_few(min_at_risk)}.")
    if not points["solid"].all():
        of_points = points["kind"].is_in([*OF_GOALS, *NUMBERS]).all()
        sentences.append(
            f"Hollow: n below {min_at_risk}." if of_points else f"Hollow: fewer than {min_at_risk} at risk."
        )
    return " ".join([*sentences, *withheld(points), *reasons(frame, most)])


def too_few(min_at_risk: int) -> str:
    """Say where a curve is drawn as uncertain."""
    return f"fewer than {min_at_risk} rollouts or {clusters_needed(min_at_risk)} clusters at risk"


def withheld(points: pl.DataFrame) -> list[str]:
    """Explain points without an estimate, of which only the interval is drawn."""
    bare = pl.col("estimate").is_null() & pl.any_horizontal(pl.col("low", "high").is_not_null())
    return ["Bar without a point: no estimate, only its interval."] if points.select(bare.any()).item() else []


def reasons(frame: pl.DataFrame, most: int = 2) -> list[str]:
    """Return the most frequent reasons of a frame, one sentence each."""
    merged = labels.merge_reasons(frame, options=False)
    found = merged.group_by("reason", maintain_order=True).len().drop_nulls()
    # A row may have several reasons; those that always come together are one sentence.
    rows_of_part: dict[str, list[int]] = {}
    for row, reason in enumerate(found["reason"].to_list()):
        for part in reason.split("; "):
            rows_of_part.setdefault(part, []).append(row)
    parts_of_rows: dict[tuple[int, ...], list[str]] = {}
    for part, rows in rows_of_part.items():
        parts_of_rows.setdefault(tuple(dict.fromkeys(rows)), []).append(part)
    counts = {"; ".join(parts): int(found["len"][list(rows)].sum()) for rows, parts in parts_of_rows.items()}
    sentences = []
    for reason, number in sorted(counts.items(), key=lambda count: -count[1])[:most]:
        some = f" ({number} of {labels.counted(frame.height, 'point')})" if number < frame.height else ""
        sentences.append(labels.sentence(f"{labels.shorten(labels.plain(reason), 160)}{some}"))
    return sentences
