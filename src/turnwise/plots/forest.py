"""Groups of rollouts, one below another: each a point with its interval."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from turnwise import labels, schema
from turnwise.errors import ArgumentError, listing
from turnwise.plots import theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKS = {
    "panel": pl.Int32,  # which Axes, from 0
    "metric": pl.String,
    "statistic": pl.String,
    "rate": pl.Boolean,  # shown in per cent, from 0
    "row": pl.Int32,  # from 0 at the top
    "group": pl.String,
    "level": pl.Float64,
    "line": pl.String,  # "twig", the widest interval, or "trunk", a narrower one
    "shape": pl.String,  # interval, one-sided, point (no interval), range (no estimate), empty
    "estimate": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "box_low": pl.Float64,  # of a range: where the estimate itself must lie
    "box_high": pl.Float64,
    "text": pl.String,  # estimate and interval in words
    "count": pl.String,  # "8/144", or n
    "clusters": pl.String,
    "unit": pl.String,  # what the clusters are: "goals"
    "note": pl.String,  # "no interval" or "no estimate"
    "reason": pl.String,  # of that, or of another method than asked for
    "color": pl.String,
    "marker": pl.String,
}
_HALF = 0.34  # half the height of a hatched box, in rows
_MOST_REASONS, _REASON = 4, 160  # footnotes, and characters in one


def forest(
    summary: object,
    *,
    metric: str | None = None,
    statistic: str | None = None,
    level: float | None = None,
    by: str | Sequence[str] | None = None,
    sort: bool = True,
    ax: "Axes | None" = None,
    colors: Mapping[str, str] | None = None,
    caption: bool = True,
) -> Any:
    """A forest plot of a SUMMARY: one row per group, a point with its interval, and the numbers beside it.

    Rates stand on an axis in per cent that starts at 0. With two levels in the frame the narrower interval is a thick
    trunk on a thin twig. A hollow point has no interval; an arrow marks an interval without that end; a hatched box
    stands where the estimate is withheld (half-judged rollouts) and spans what it could be.

    Parameters
    ----------
    summary
        SUMMARY, from `tw.summarize`.
    metric, statistic, level
        Which rows to draw; by default all, one panel for each metric and statistic.
    by
        The columns that name a row; by default every column that SUMMARY does not know.
    sort
        Greatest estimate on top; otherwise the order of the frame.
    ax
        Where to draw; by default a new figure.
    colors
        Colors by group name, or by the first column of `by`; by default a color-blind safe one for each.
    caption
        Say under the figure how the intervals were made, and why one is missing.

    Returns
    -------
    The Axes, or an array of them where there are several panels.

    Raises
    ------
    ArgumentError
        Where nothing is left to draw, a group stands twice, or several panels do not fit into one `ax`.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> rows = {"target": ["a", "b"], "metric": "attack_success", "statistic": "mean", "level": 0.95, "n": 20}
    >>> summary = pl.DataFrame(rows | {"estimate": [0.0, 0.4], "low": [0.0, 0.22], "high": [0.16, 0.61]})
    >>> ax = forest(summary)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['b', 'a']
    >>> matplotlib.pyplot.close(ax.figure)
    """
    marks = forest_marks(summary, metric=metric, statistic=statistic, level=level, by=by, sort=sort, colors=colors)
    panels = marks.partition_by("panel", maintain_order=True)
    reasons = _reasons(marks) if caption else {}
    with theme.fonts_for(marks["group"]):
        if ax is not None:
            if len(panels) > 1:
                what = listing(f"{part['metric'][0]} {part['statistic'][0]}" for part in panels)
                raise ArgumentError(
                    f"forest: one ax cannot hold {len(panels)} panels ({what}); choose metric= and statistic="
                )
            _draw(ax, panels[0], marks, reasons)
            if caption:
                theme.caption_below(ax, _caption(summary, marks, reasons), below=40)
            return ax
        figure, axes = _figure(marks, len(panels))
        for place, (panel, part) in enumerate(zip(axes, panels, strict=False)):
            _draw(panel, part, marks, reasons, names=place % _columns(len(panels)) == 0)
        for spare in axes[len(panels) :]:
            spare.set_visible(False)
        if caption:
            theme.caption_under(figure, _caption(summary, marks, reasons))
    return theme.array_of(axes[: len(panels)])


def forest_marks(
    summary: object,
    *,
    metric: str | None = None,
    statistic: str | None = None,
    level: float | None = None,
    by: str | Sequence[str] | None = None,
    sort: bool = True,
    colors: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """What `forest` draws, as a frame: one row per panel, group and level.

    Examples
    --------
    >>> rows = {"target": ["a", "b"], "metric": "attack_success", "statistic": "mean", "level": 0.95, "n": 20}
    >>> summary = pl.DataFrame(rows | {"estimate": [0.0, 0.4], "low": [0.0, 0.22], "high": [0.16, 0.61]})
    >>> forest_marks(summary).select("row", "group", "text", "count").rows()
    [(0, 'b', '40 % [22, 61]', '8/20'), (1, 'a', '0.0 % [0.0, 16.0]', '0/20')]
    """
    frame = labels.finished(summary, schema.SUMMARY, "forest")
    for column, value in (("metric", metric), ("statistic", statistic), ("level", level)):
        frame = labels.choose(frame, column, value, "forest")
    columns = _by(frame, by)
    twice = frame.select(*columns, "metric", "statistic", "level").is_duplicated()
    if twice.any():
        row = frame.filter(twice).row(0, named=True)
        raise ArgumentError(
            f"forest: group {labels.group_name(row, columns)!r} stands twice for {row['metric']}; "
            "name the columns that tell its rows apart with by="
        )
    names = labels.group_names(frame, columns)
    places = _places(frame, names, sort=sort)
    panels = {pair: place for place, pair in enumerate(dict.fromkeys(frame.select("metric", "statistic").rows()))}
    rates = {name: labels.is_rate(name, frame) for name in frame["metric"].unique()}
    look = theme.row_looks(names, labels.group_names(frame, columns[:1]), colors)
    widest, unit = frame["level"].max(), labels.cluster_unit(frame)
    marks = [
        _mark(row, rate=rates[row["metric"]])
        | {
            "panel": panels[row["metric"], row["statistic"]],
            "row": places[name],
            "group": name,
            "unit": unit,
            "line": "twig" if row["level"] == widest else "trunk",
            "color": one.color,
            "marker": one.marker,
        }
        for name, one, row in zip(names, look, frame.iter_rows(named=True), strict=True)
    ]
    return pl.DataFrame(marks, schema=MARKS, orient="row").sort(
        "panel", "row", "level", descending=[False, False, True]
    )


# ── marks ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _by(frame: pl.DataFrame, by: str | Sequence[str] | None) -> list[str]:
    columns = labels.grouping(frame) if by is None else [by] if isinstance(by, str) else list(by)
    for name in columns:
        if name not in frame.columns:
            raise ArgumentError(
                f"forest: there is no column {name!r} to name rows by; there is {listing(labels.grouping(frame))}"
            )
    return columns


def _places(frame: pl.DataFrame, names: list[str], *, sort: bool) -> dict[str, int]:
    """The row of each group, the same in every panel: by the first panel's estimates, else the middle of the interval."""
    groups = list(dict.fromkeys(names))
    if sort:
        first = frame.row(0, named=True)
        values: dict[str, float] = {}
        rows = sorted(zip(names, frame.iter_rows(named=True), strict=True), key=lambda pair: -(pair[1]["level"] or 0.0))
        for name, row in rows:
            value = _value(row)
            if (row["metric"], row["statistic"]) == (first["metric"], first["statistic"]) and value is not None:
                values.setdefault(name, value)
        groups.sort(key=lambda name: -values.get(name, float("-inf")))
    return {name: place for place, name in enumerate(groups)}


def _value(row: Mapping[str, Any]) -> float | None:
    if row["estimate"] is not None:
        return float(row["estimate"])
    known = [end for end in (row["low"], row["high"]) if end is not None]
    return sum(end / len(known) for end in known) if known else None


def _mark(row: Mapping[str, Any], *, rate: bool) -> dict[str, Any]:
    estimate, low, high = row["estimate"], row["low"], row["high"]
    ends = (low is not None) + (high is not None)
    shape = ("point", "one-sided", "interval")[ends] if estimate is not None else "range" if ends else "empty"
    box = [row["bound_low"], row["bound_high"]]
    if shape != "range" or None in box:
        box = [low, high] if shape == "range" and ends == 2 else [None, None]
    return {
        "metric": row["metric"],
        "statistic": row["statistic"],
        "rate": rate,
        "level": row["level"],
        "shape": shape,
        "estimate": estimate,
        "low": low,
        "high": high,
        "box_low": box[0],
        "box_high": box[1],
        "text": labels.interval_text(row, rate=rate),
        "count": labels.share_text(row, rate=rate),
        "clusters": labels.count(row["n_clusters"]),
        "note": {"point": "no interval", "empty": "no estimate"}.get(shape),
        "reason": labels.plain(row["reason"]) if row["reason"] else None,
    }


# ── paint ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _columns(panels: int) -> int:
    return min(panels, 3 if panels != 4 else 2)


def _figure(marks: pl.DataFrame, panels: int) -> tuple[Any, list["Axes"]]:
    columns = _columns(panels)
    rows = -(-panels // columns)
    lines = sum(1 if len(name) <= _width(panels) else 1.5 for name in marks["group"].unique())
    height = rows * (max(0.3 * lines, 0.5) + 0.75) + 0.55
    longest = max(min(len(name), _width(panels)) for name in marks["group"])
    room = max(longest - 16, 0) * 0.07
    return theme.canvas(rows, columns, (room + (7.2 if columns == 1 else 2.2 + 2.9 * columns), height))


def _width(panels: int) -> int:
    """Characters in one line of a row's name."""
    return 34 if panels == 1 else 24


def _draw(
    ax: "Axes", part: pl.DataFrame, marks: pl.DataFrame, reasons: Mapping[str, str], *, names: bool = True
) -> None:
    rate, first = part["rate"][0], part.row(0, named=True)
    theme.dress(ax, grid="x")
    left, right = _ends(part)
    ax.set_xlim(left, right)
    if rate:
        theme.percent(ax, "x")
    else:
        theme.thousands(ax, "x")
    for row in part.iter_rows(named=True):
        _paint(ax, row, (left, right), reasons)
    ax.set_xlabel(labels.quantity(first["metric"], first["statistic"]), fontsize=theme.NORMAL, parse_math=False)
    _rows(ax, marks, names=names)
    single = marks["panel"].n_unique() == 1
    columns = [("text", _interval_heading(marks)), ("count", "k/n" if rate else "n"), ("clusters", marks["unit"][0])]
    _numbers(ax, part, columns if single else columns[1:2], reasons)


def _ends(part: pl.DataFrame) -> tuple[float, float]:
    """The ends of the axis, with room for the arrow of an interval that has no end."""
    values = part.select("estimate", "low", "high").unpivot()["value"].drop_nulls().to_list()
    if part["rate"][0] and all(0 <= value <= 1 for value in values):
        return 0.0, theme.rate_end(values)
    left, right = theme.number_ends(values)
    open_ended = part.filter(pl.col("shape").is_in(["one-sided", "range"]))
    room = 0.15 * (right - left)
    return (
        left - room if open_ended["low"].null_count() else left,
        right + room if open_ended["high"].null_count() else right,
    )


def _reasons(marks: pl.DataFrame) -> dict[str, str]:
    """The footnote of each reason, as many as there is room for."""
    told = marks["reason"].drop_nulls().unique(maintain_order=True).to_list()
    return {reason: labels.superscript(place) for place, reason in enumerate(told[:_MOST_REASONS], 1)}


def _interval_heading(marks: pl.DataFrame) -> str:
    levels = marks["level"].drop_nulls()
    return f"estimate [{labels.level_text(float(levels.max()))}]" if len(levels) else "estimate"  # type: ignore[arg-type]


def _rows(ax: "Axes", marks: pl.DataFrame, *, names: bool) -> None:
    """A guide and a name for each row."""
    groups = marks.select("row", "group").unique(maintain_order=True).sort("row")
    ax.set_ylim(groups.height - 0.4, -0.6)
    ax.set_yticks(groups["row"].to_list())
    width = _width(marks["panel"].n_unique())
    ax.set_yticklabels([theme.wrapped(name, width) if names else "" for name in groups["group"]], fontsize=theme.NORMAL)
    theme.literal(ax.get_yticklabels())
    ax.tick_params(axis="y", length=0, pad=8)  # a point at 0 keeps off the name
    if groups.height > 18:
        ax.tick_params(axis="x", labeltop=True)
    ax.spines["left"].set_visible(False)
    for row in groups["row"]:
        ax.axhline(row, color=theme.shade(ax, theme.GUIDE), linewidth=0.5, zorder=0.5)


def _paint(ax: "Axes", row: Mapping[str, Any], ends: tuple[float, float], reasons: Mapping[str, str]) -> None:
    color, y, thick = row["color"], row["row"], row["line"] == "trunk"
    low, high = (end if end is not None else edge for end, edge in zip((row["low"], row["high"]), ends, strict=True))
    if row["shape"] == "range":
        ax.plot([low, high], [y, y], color=color, linewidth=1.4, linestyle=(0, (2, 1.5)), zorder=2.5)
        if row["line"] == "twig" and row["box_low"] is not None:
            _hatched(ax, row)
    if row["shape"] in {"interval", "one-sided"}:
        ax.plot([low, high], [y, y], color=color, linewidth=4.2 if thick else 1.5, solid_capstyle="butt", zorder=3)
    if row["shape"] in {"interval", "one-sided", "range"} and not thick:
        for end, edge, arrow in ((row["low"], ends[0], "<"), (row["high"], ends[1], ">")):
            ax.plot(
                [edge if end is None else end],
                [y],
                color=color,
                marker=arrow if end is None else "|",
                markersize=6 if end is None else 7,
                markeredgewidth=1.4,
                clip_on=False,
                zorder=3,
            )
    if row["estimate"] is not None and not thick:
        _point(ax, row)
    if row["note"] is not None and not thick:
        _note(ax, row, ends, reasons)


def _point(ax: "Axes", row: Mapping[str, Any]) -> None:
    hollow = row["shape"] == "point"
    ax.plot(
        [row["estimate"]],
        [row["row"]],
        color=row["color"],
        marker=row["marker"],
        markersize=theme.MARKER_SIZES[row["marker"]],
        markerfacecolor=ax.get_facecolor() if hollow else row["color"],
        markeredgecolor=row["color"] if hollow else ax.get_facecolor(),
        markeredgewidth=1.4 if hollow else 0.5,
        clip_on=False,
        zorder=4,
    )


def _hatched(ax: "Axes", row: Mapping[str, Any]) -> None:
    from matplotlib.patches import Rectangle

    box = Rectangle(
        (row["box_low"], row["row"] - _HALF),
        row["box_high"] - row["box_low"],
        2 * _HALF,
        facecolor=ax.get_facecolor(),
        edgecolor=row["color"],
        hatch="////",
        linewidth=0.8,
        zorder=2,
    )
    ax.add_patch(box)


def _note(ax: "Axes", row: Mapping[str, Any], ends: tuple[float, float], reasons: Mapping[str, str]) -> None:
    """That there is no interval, beside the hollow point, on the side with more room."""
    left, right = ends
    at = left if row["estimate"] is None else row["estimate"]
    to_the_right = at / 2 - left / 2 <= right / 2 - at / 2
    ax.annotate(
        f"{row['note']} {reasons.get(row['reason'], '')}".rstrip(),
        (at, row["row"]),
        xytext=((4 if row["estimate"] is None else 9) * (1 if to_the_right else -1), 0),
        textcoords="offset points",
        ha="left" if to_the_right else "right",
        va="center",
        fontsize=theme.SMALL,
        color=theme.shade(ax, theme.MUTED),
        style="italic",
        zorder=5,
        bbox={"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 1.0},
    )


def _numbers(ax: "Axes", part: pl.DataFrame, columns: Sequence[tuple[str, str]], reasons: Mapping[str, str]) -> None:
    """Columns of numbers to the right of the Axes, each as wide as its widest entry."""
    rows = part.filter(pl.col("line") == "twig").unique("row", keep="first", maintain_order=True)
    edge = 12.0
    for name, heading in columns:
        if name == "clusters" and (rows[name] == labels.NOTHING).all():
            continue
        edge += max(theme.text_width(text) for text in [heading, *rows[name]]) + 2
        place: dict[str, Any] = {
            "textcoords": "offset points",
            "ha": "right",
            "fontsize": theme.SMALL,
            "annotation_clip": False,
        }
        ax.annotate(
            heading,
            (1, 1),
            xycoords="axes fraction",
            xytext=(edge, 4),
            va="bottom",
            color=theme.shade(ax, theme.MUTED),
            **place,
        )
        for row in rows.iter_rows(named=True):
            across = ("axes fraction", "data")
            ax.annotate(row[name], (1, row["row"]), xycoords=across, xytext=(edge, 0), va="center", **place)
            if name == columns[0][0] and row["note"] is None and row["reason"] in reasons:
                raised = place | {"ha": "left", "color": theme.shade(ax, theme.MUTED)}
                ax.annotate(
                    reasons[row["reason"]],
                    (1, row["row"]),
                    xycoords=across,
                    xytext=(edge + 1, 0),
                    va="center",
                    **raised,
                )
        edge += 12


def _caption(summary: object, marks: pl.DataFrame, reasons: Mapping[str, str]) -> str:
    """How the intervals were made, and what each unusual mark means."""
    frame = labels.finished(summary, schema.SUMMARY, "forest")
    drawn = marks.select("metric", "statistic", "level").unique()
    said = [labels.caption(frame.join(drawn, on=["metric", "statistic", "level"], how="semi", nulls_equal=True))]
    shapes = set(marks["shape"])
    if marks["level"].n_unique() > 1:
        said.append("The thinnest line is the widest interval.")
    if "point" in shapes:
        said.append("Hollow: no interval.")
    if "one-sided" in shapes or marks.filter(pl.col("shape") == "range", pl.col("box_low").is_null()).height:
        said.append("Arrow: the interval has no end on that side.")
    if "range" in shapes:
        said.append("Dashed: an interval without an estimate.")
    if marks["box_low"].null_count() < marks.height:
        said.append("Hatched: the estimate is withheld, it lies within the box.")
    said += [f"{raised} {labels.sentence(labels.shorten(reason, _REASON))}" for reason, raised in reasons.items()]
    if len(reasons) < marks["reason"].drop_nulls().n_unique():
        said.append("Further reasons: column `reason`.")
    return " ".join(said)
