"""Figure of panels of curves: its grid, its key, and the caption below."""

from collections.abc import Callable, Sequence
from functools import partial

import polars as pl

from rollwise.plots import curve_labels, curve_panel, layout, lettering, theme
from rollwise.plots.curve_marks import COMBINATION, NUMBERS, OF_GOALS, clusters_needed
from rollwise.plots.curve_panel import Wording
from rollwise.plots.figures import Plot
from rollwise.plots.theme import Axes
from rollwise.schema import labels

_GRAY = 16  # up to so many panels show the other groups in gray
_ENDS = 3  # curves at either end that keep their colors where very many are in one panel
_ROOM = 0.32  # share of a panel that names at the ends of curves may take
_NAMED, _SMALL = 230.0, 105.0  # least width in points of a panel whose curves are named at their ends, and of any other
_LOW = 40.0  # height in points below which panels are narrow rather than low
_BOUNDS = "between bound_low and bound_high"  # columns, which no reader of a figure sees


def lay_out(
    marks: pl.DataFrame,
    page: layout.Page,
    *,
    alt: str,
    words: Callable[[pl.DataFrame], Wording] = curve_panel.wording,
    at_risk: bool | None = None,
    key: bool = False,
    also: Callable[[Axes, pl.DataFrame], None] | None = None,
    description: str = "",
) -> Plot:
    """Draw the marks of curves into the Axes of the user, or into a new figure with a grid of panels."""
    panels = marks.partition_by("panel", maintain_order=True)
    if len(set(map(_quantity, panels))) > 1:
        page.hold([" ".join(map(str, _quantity(part))) for part in panels], "choose metric= and kind=")
    page.hold([str(part["title"][0]) for part in panels], "filter the frame to one of them", "groups")
    curves = max(part["group"].n_unique() for part in panels)
    gray = marks.clear()
    if len(panels) == 1:
        panels[0], gray = told_apart(marks)
        description = " ".join(filter(None, [description, of_gray(gray)]))
    behind = 1 < len(panels) <= _GRAY and curves == 1 and not key
    if behind and len(set(map(_quantity, panels))) == 1 and description:
        description = f"{description} Gray: the other groups."

    paint = partial(_paint, panels=panels, marks=marks, words=words, curves=curves)
    return layout.lay(
        partial(paint, at_risk=at_risk, key=key, also=also, behind=behind, gray=gray),
        page,
        alt=alt,
        natural=_natural(len(panels), curves),
        description=description,
        named=[*pl.concat(panels)["group"], *marks["title"].drop_nulls()],
    )


def _quantity(panel: pl.DataFrame) -> tuple[object, ...]:
    """Return the metric, kind and axis of a panel."""
    return panel.select(COMBINATION).row(0)


def _grid(panels: int) -> int:
    """Return the number of columns of the grid of panels."""
    return next(
        columns for most, columns in ((1, 1), (2, 2), (3, 3), (4, 2), (9, 3), (16, 4), (10**9, 5)) if panels <= most
    )


def _natural(panels: int, curves: int) -> float:
    """Return the width in inches of a new figure."""
    wide = 4.4 if curves > 1 else 3.6 if panels == 2 else 2.9
    return 7.2 if panels == 1 else wide * _grid(panels) + 0.35


def _paint(
    sheet: layout.Sheet,
    *,
    panels: list[pl.DataFrame],
    marks: pl.DataFrame,
    words: Callable[[pl.DataFrame], Wording],
    curves: int,
    at_risk: bool | None,
    key: bool,
    also: Callable[[Axes, pl.DataFrame], None] | None,
    behind: bool,
    gray: pl.DataFrame,
) -> Callable[[], object]:
    """Draw a grid of panels of equal size, or the only one with more curves in gray."""
    single, alike = len(panels) == 1, len(set(map(_quantity, panels))) == 1
    columns = most = min(_grid(len(panels)), max(int(sheet.width / theme.em(_SMALL)), 1))
    # Names that do not fit whole at the ends of their curves, in one column if necessary, are in a key.
    room = 0.0
    small = curves > 1 and sheet.narrow and len(panels) > 2  # in two columns, without space for names and numbers
    directly, key = not key, key or small
    if curves > 1 and not key:
        direct = min(columns, max(int(sheet.width / theme.em(_NAMED)), 1))
        room = _ROOM * sheet.width / direct
        low = sheet.widened(len(panels), direct, direct + 1, theme.em(_LOW)) > direct
        key = low or not curve_labels.fit_at_ends(pl.concat(panels), room)
        columns, room = (columns, 0.0) if key else (direct, room)
    if not alike or (key and curves > 1 and not sheet.narrow):  # each quantity has its own label
        columns = min(columns, max(int(sheet.width / theme.em(1.5 * _SMALL)), 1))
    columns = columns if room else sheet.widened(len(panels), columns, most, theme.em(_LOW))
    # Long titles would leave narrow panels no width: one below another, they have it.
    titles = [part["title"][0] or "" for part in panels]
    is_cut = any("…" in title for title in _titled(titles, sheet.width, columns, alike=alike))
    columns = 1 if sheet.narrow and sheet.is_free and is_cut else columns
    panels = sheet.held(list(zip(titles, panels, strict=True)), columns)
    combinations = list(map(_quantity, panels))
    titles = _titled([part["title"][0] or "" for part in panels], sheet.width, columns, alike=alike)
    behind |= bool(sheet.left_out) and curves == 1 and not key
    high = 225.0 if single else 170.0 if curves > 1 else 160.0 if len(panels) == 2 else 125.0
    axes = sheet.panels(len(panels), columns=columns, high=max(min(theme.em(high), 0.66 * sheet.width / columns), 90.0))
    rows = -(-len(panels) // columns)
    marks_of_axes = marks.partition_by(COMBINATION, maintain_order=True, as_dict=True)
    finishes = []
    for place, (ax, part) in enumerate(zip(axes, panels, strict=True)):
        quantity, below = combinations[place], combinations[min(place + columns, len(panels) - 1)]
        axis_marks = marks_of_axes[quantity]
        finish = curve_panel.draw(
            ax,
            part,
            axis_marks,
            words(axis_marks),
            # The other groups in gray give a reference for a single curve.
            behind=axis_marks.filter(pl.col("panel") != part["panel"][0]) if behind else gray,
            at_risk=(sheet.has_room if at_risk is None else at_risk) and not (small and directly),
            compact=not single,
            room=room,
            high=sheet.high,
            first_column=place % columns == 0 or quantity != combinations[place - 1],
            # The axis has its label in the last row, or where another quantity follows below.
            bottom=place // columns == rows - 1 or below != quantity,
            title="" if single else titles[place],
            across=sheet.across() - theme.em(16),
        )
        if also is not None:
            also(ax, part)
        finishes.append(finish)
    if key:  # the same for all panels
        sheet.entries = curve_labels.entries(axes[0], pl.concat(panels))
    return lambda: [finish() for finish in finishes]


def told_apart(marks: pl.DataFrame, loud: Sequence[str] | pl.Series = ()) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split the curves of a panel into those in colors, of very many the `loud` ones or both ends, and those in gray."""
    curves = marks.filter(pl.col("style") != "reference")
    names = curves.sort("series")["group"].unique(maintain_order=True).to_list()
    if not theme.look_alike(curves):
        return marks, marks.clear()
    in_color = pl.col("group").is_in(list(loud) or [*names[:_ENDS], *names[-_ENDS:]])
    references = marks.filter(style="reference")
    return pl.concat([theme.recolored(curves.filter(in_color)), references]), curves.filter(~in_color)


def of_gray(gray: pl.DataFrame) -> str:
    """Say how many curves are gray."""
    return f"Gray: {labels.counted(gray['group'].n_unique(), 'other group')}." if gray.height else ""


def _titled(titles: Sequence[str], width: float, columns: int, *, alike: bool) -> list[str]:
    """Return the titles of panels in at most three lines; only the first of a row has labels beside it where they are `alike`."""
    beside = theme.em(66)
    across = width / columns - theme.em(16)
    inside = (width - beside) / columns - theme.em(8) if alike else max(across - beside, 0.6 * across)
    return [lettering.balanced(title, inside, size=theme.normal(), lines=3) for title in titles]


def overlaid(marks: pl.DataFrame) -> bool:
    """Return whether some panel has several curves."""
    return marks.group_by("panel").agg(pl.col("series").n_unique())["series"].max() != 1


def caption(frame: pl.DataFrame, marks: pl.DataFrame, min_at_risk: int, *, most: int = 2) -> str:
    """Describe the intervals of a CURVE, each unusual mark, and a limited number of reasons."""
    steps, points = marks.filter(pl.col("style") == "step"), marks.filter(pl.col("style").is_in(["point", "line"]))
    sentences = [labels.caption(frame)]
    valued = steps.drop_nulls("estimate")
    if (valued["censored"] > 0).any():
        sentences.append("Small ticks: censored rollouts.")
    if not valued["solid"].all():
        sentences.append(f"Dashed: {too_few(min_at_risk)}.")
    if not points.drop_nulls("estimate")["solid"].all():
        of_points = points["kind"].is_in([*OF_GOALS, *NUMBERS]).all()
        sentences.append(
            f"Hollow: n below {min_at_risk}." if of_points else f"Hollow: fewer than {min_at_risk} at risk."
        )
    if (points["style"] == "line").any() and (points["kind"] == "hazard").any():
        sentences.append(f"Each curve ends where fewer than {min_at_risk} rollouts are at risk.")
    hatched = steps["bound_low"].count() > 0
    return " ".join([*sentences, *withheld(points), *reasons(frame, most, hatched=hatched)])


def too_few(min_at_risk: int) -> str:
    """Say where a curve is drawn as uncertain."""
    return f"fewer than {min_at_risk} rollouts or {clusters_needed(min_at_risk)} clusters at risk"


def withheld(points: pl.DataFrame) -> list[str]:
    """Explain points without an estimate, of which only the interval is drawn."""
    bare = pl.col("estimate").is_null() & pl.any_horizontal(pl.col("low", "high").is_not_null())
    return ["Bar without a point: no estimate, only its interval."] if points.select(bare.any()).item() else []


def reasons(frame: pl.DataFrame, most: int = 2, *, hatched: bool = False) -> list[str]:
    """Return the most frequent reasons of a frame, one sentence each; what is `hatched` is not named by its columns."""
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
        drawn = labels.plain(reason).replace(
            _BOUNDS, "in the hatched band" if hatched else "between the bounds of the table"
        )
        sentences.append(labels.reason_sentence(drawn, some))
    return sentences
