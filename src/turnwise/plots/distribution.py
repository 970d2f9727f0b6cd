"""How the values of a metric spread over rollouts: how many are at most x, boxes with points, or counts."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

import polars as pl

from turnwise import labels, schema
from turnwise.arguments import By, check_by, frame_of, names_of, require_rollouts
from turnwise.errors import ArgumentError, listing
from turnwise.plots import curve_panel, theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Kind = Literal["ecdf", "box", "histogram"]
MARKS = {
    "row": pl.Int32,  # of the group, from 0, the greatest median first
    "group": pl.String,
    "mark": pl.String,  # step, point, bar, or of a box: whisker_low, q1, median, q3, whisker_high
    "x": pl.Float64,
    "until": pl.Float64,  # where a bar ends
    "y": pl.Float64,  # share of known values that are at most x; or lie in a bar; a point's place within its row
    "n": pl.Int64,  # rollouts whose value is known
    "n_unknown": pl.Int64,  # others, which are not drawn
    "color": pl.String,
    "marker": pl.String,
}
_MOST_POINTS = 400  # of a group; more hide one another
_GOLDEN = 0.618033988749895  # multiples of it spread evenly
_BINS = 30
_FEW = 6  # groups whose names have room among the curves
_LINES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))


def distribution(
    rollouts: object,
    *,
    metric: str,
    by: By = (),
    kind: Kind = "ecdf",
    log: bool | None = None,
    ax: "Axes | None" = None,
    colors: Mapping[str, str] | None = None,
    caption: bool = True,
) -> "Axes":
    """The distribution of a metric over ROLLOUTS, by group; rollouts without a value are counted, never drawn.

    Parameters
    ----------
    rollouts
        ROLLOUTS, from `tw.measure`.
    metric
        A column of numbers.
    by
        Columns to group by; a null is a group of its own.
    kind
        ``"ecdf"``: the share of rollouts whose value is at most x, which needs no choice of bins; ``"box"``: median, quartiles
        and whiskers (to the last value within 1.5 times the distance of the quartiles), with the values as points;
        ``"histogram"``: the share of rollouts in bins of equal width, the same for all groups.
    log
        A logarithmic axis; by default where all values are above 0 and the greatest is a hundred times the least.
    ax
        Where to draw; by default a new figure.
    colors
        Colors by group name; by default a color-blind safe one for each.
    caption
        Say under the figure what is drawn, and how many rollouts have no value.

    Returns
    -------
    The Axes.

    Raises
    ------
    SchemaError, ArgumentError
        Where the table is no ROLLOUTS, the metric is not there, is no number, or has no value in any rollout.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> rollouts = pl.DataFrame({"rollout_id": list("abcd"), "num_turns": [1, 3, 3, None]})
    >>> ax = distribution(rollouts, metric="num_turns")
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('turns', 'share of rollouts at or below')
    >>> matplotlib.pyplot.close(ax.figure)
    """
    marks = distribution_marks(rollouts, metric=metric, by=by, kind=kind, colors=colors)
    known = marks.filter(pl.col("x").is_not_null())
    values = known["x"].to_list()
    logarithmic = log if log is not None else kind != "histogram" and min(values) > 0 and curve_panel.wide_range(values)
    if logarithmic and min(values) <= 0:
        raise ArgumentError(f"distribution: log=True, but {metric!r} has values at or below 0; leave log out")
    groups = marks.unique("row", keep="first", maintain_order=True).sort("row")
    with theme.fonts_for(marks["group"]):
        own = ax is None
        if ax is None:
            few = 4.0 + (0.11 * groups.height + 0.2 if groups.height > _FEW else 0.0)
            height = few if kind == "ecdf" else 1.1 + (0.5 if kind == "box" else 0.6) * groups.height
            ax = theme.canvas(1, 1, (7.2, max(height, 2.2)))[1][0]
        theme.dress(ax, grid="y" if kind == "ecdf" else "x")
        if logarithmic:
            ax.set_xscale("log")
        {"ecdf": _steps, "box": _boxes, "histogram": _bars}[kind](ax, known, groups)
        _ticks(ax, [value + 0.5 for value in values] if kind == "histogram" else values)
        ax.set_xlabel(labels.quantity(metric), fontsize=theme.NORMAL, parse_math=False)
        if caption:
            said = _caption(marks, groups, kind)
            theme.caption_under(ax.figure, said) if own else theme.caption_below(ax, said, below=40)  # type: ignore[arg-type]
    return ax


def distribution_marks(
    rollouts: object, *, metric: str, by: By = (), kind: Kind = "ecdf", colors: Mapping[str, str] | None = None
) -> pl.DataFrame:
    """What `distribution` draws, as a frame: one row per group and step, point, part of a box, or bar.

    A group without any known value has one row, whose `x` is null.

    Examples
    --------
    >>> rollouts = pl.DataFrame({"rollout_id": list("abcd"), "num_turns": [1, 3, 3, None]})
    >>> distribution_marks(rollouts, metric="num_turns").select("mark", "x", "y", "n", "n_unknown").rows()
    [('step', 1.0, 0.3333333333333333, 3, 1), ('step', 3.0, 1.0, 3, 1)]
    """
    frame = frame_of(rollouts, "distribution")
    require_rollouts(frame, "distribution")
    by = names_of(by)
    check_by(frame, by, schema.SUMMARY, "distribution")
    if kind not in get_args(Kind):
        raise ArgumentError(f"distribution: kind={kind!r} is none of {listing(get_args(Kind))}")
    if metric not in frame.columns:
        raise ArgumentError(f"distribution: there is no column {metric!r}; there is {listing(frame.columns, most=30)}")
    what = schema.kind_of(frame.schema[metric])
    if what != "number":
        instead = {
            "proportion": "`plots.forest` shows a rate",
            "time": "`plots.success_curve` shows a time to an event",
        }
        raise ArgumentError(
            f"distribution: {metric!r} is {frame.schema[metric]}, and only numbers are spread out; "
            + instead.get(str(what), "name a metric")
        )
    value = pl.col(metric).cast(pl.Float64)
    frame = frame.select(*by, pl.when(value.is_finite()).then(value).alias("\0x"))
    frame = frame.with_columns(pl.Series("\0group", labels.group_names(frame, by), dtype=pl.String))
    if frame["\0x"].count() == 0:
        raise ArgumentError(f"distribution: {metric!r} has no known value in {labels.counted(frame.height, 'rollout')}")
    parts = {str(key[0]): part["\0x"] for key, part in frame.group_by("\0group", maintain_order=True)}
    ordered = sorted(parts, key=lambda name: -(parts[name].median() or 0.0) if parts[name].count() else float("inf"))  # type: ignore[operator]
    look = theme.looks(parts, colors)
    edges = _edges(frame["\0x"].drop_nulls())
    rows: list[dict[str, Any]] = []
    for place, name in enumerate(ordered):
        values = parts[name].drop_nulls().sort()
        about = {"row": place, "group": name, "n": len(values), "n_unknown": len(parts[name]) - len(values)}
        about |= {"color": look[name].color, "marker": look[name].marker}
        found = _ecdf(values) if kind == "ecdf" else _box(values) if kind == "box" else _counts(values, edges)
        rows += [about | mark for mark in found or [{"mark": None}]]
    return pl.DataFrame(rows, schema=MARKS, orient="row")


# ── marks ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _ecdf(values: pl.Series) -> list[dict[str, Any]]:
    found = values.rename("x").value_counts().sort("x")
    reached = found["count"].cum_sum() / max(len(values), 1)
    return [{"mark": "step", "x": x, "y": y} for x, y in zip(found["x"], reached, strict=True)]


def _box(values: pl.Series) -> list[dict[str, Any]]:
    if values.is_empty():
        return []
    q1, median, q3 = (float(values.quantile(at, "linear") or 0.0) for at in (0.25, 0.5, 0.75))
    reach = 1.5 * (q3 - q1)
    within = values.filter((values >= q1 - reach) & (values <= q3 + reach))
    ends = (min(float(within.min() or 0.0), q1), max(float(within.max() or 0.0), q3))  # type: ignore[arg-type]
    box = {"whisker_low": ends[0], "q1": q1, "median": median, "q3": q3, "whisker_high": ends[1]}
    shown = values
    if len(values) > _MOST_POINTS:  # evenly spaced among the ordered values, both ends included
        places = [round(k * (len(values) - 1) / (_MOST_POINTS - 1)) for k in range(_MOST_POINTS)]
        shown = values.gather(places)
    points = [{"mark": "point", "x": x, "y": (k * _GOLDEN) % 1.0 - 0.5} for k, x in enumerate(shown, 1)]
    return [*({"mark": name, "x": x} for name, x in box.items()), *points]


def _edges(values: pl.Series) -> list[float]:
    """The ends of the bins: a bin for each whole number where these are few, else as Freedman and Diaconis (1981) say."""
    import numpy as np

    least, greatest = float(values.min()), float(values.max())  # type: ignore[arg-type]
    if greatest - least <= _BINS and (values == values.round()).all():
        return [least - 0.5 + place for place in range(int(greatest - least) + 2)]
    found = np.histogram_bin_edges(values.to_numpy(), bins="fd")
    if not 2 <= len(found) <= _BINS + 1:
        found = np.histogram_bin_edges(values.to_numpy(), bins=_BINS)
    return [float(edge) for edge in found]


def _counts(values: pl.Series, edges: list[float]) -> list[dict[str, Any]]:
    import numpy as np

    counted, _ = np.histogram(values.to_numpy(), bins=edges)
    ends = zip(counted.tolist(), edges[:-1], edges[1:], strict=True)
    return [{"mark": "bar", "x": left, "until": right, "y": many / len(values)} for many, left, right in ends if many]


# ── paint ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _named(group: Mapping[str, Any]) -> str:
    unknown = f", {labels.count(group['n_unknown'])} unknown" if group["n_unknown"] else ""
    return f"{labels.shorten(group['group'], 44)} (n = {labels.count(group['n'])}{unknown})"


def _ticks(ax: "Axes", values: list[float]) -> None:
    """Numbers as people write them, whole ones where all values are."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    if ax.get_xscale() == "log":
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}"))
    elif all(value.is_integer() for value in values):
        ax.xaxis.set_major_locator(MaxNLocator(nbins=9, integer=True))
    if ax.get_xscale() != "log":
        theme.thousands(ax, "x")


def _steps(ax: "Axes", known: pl.DataFrame, groups: pl.DataFrame) -> None:
    least, greatest = float(known["x"].min()), float(known["x"].max())  # type: ignore[arg-type]
    logarithmic = ax.get_xscale() == "log"
    room = 0.04 * (greatest - least) or abs(greatest) * 0.1 or 1.0
    ends = (least / 1.15, greatest * 1.15) if logarithmic else (least - room, greatest + room)
    order = sorted(groups["group"])
    for group in groups.iter_rows(named=True):
        part = known.filter(row=group["row"])
        xs, ys = [ends[0], *part["x"], ends[1]], [0.0, *part["y"], 1.0]
        if not part.is_empty():
            style = _LINES[order.index(group["group"]) // theme.MAX_COLORS % len(_LINES)]
            ax.plot(
                xs,
                ys,
                drawstyle="steps-post",
                color=group["color"],
                linewidth=1.8,
                linestyle=style,
                label=_named(group),
            )
        else:
            ax.plot([], [], color=group["color"], linewidth=1.8, label=_named(group))
    ax.set_xlim(*ends)
    ax.set_ylim(-0.02, 1.02)
    theme.percent(ax, "y")
    ax.set_ylabel("share of rollouts at or below", fontsize=theme.NORMAL)
    below: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (-0.02, -0.15), "ncols": 2, "columnspacing": 1.0}
    shown = ax.legend(fontsize=theme.SMALL, frameon=False, **(below if groups.height > _FEW else {"loc": "best"}))
    for words in shown.get_texts():
        words.set_parse_math(False)


def _boxes(ax: "Axes", known: pl.DataFrame, groups: pl.DataFrame) -> None:
    from matplotlib.patches import Rectangle

    for group in groups.iter_rows(named=True):
        part, row, color = known.filter(row=group["row"]), group["row"], group["color"]
        if part.is_empty():
            continue
        points = part.filter(mark="point")
        box = dict(part.filter(pl.col("mark") != "point").select("mark", "x").rows())
        ax.plot(
            points["x"].to_list(),
            [row + 0.22 + 0.2 * y for y in points["y"]],
            linestyle="none",
            marker="o",
            markersize=3.2,
            color=color,
            markeredgewidth=0,
            alpha=0.5,
            zorder=2.5,
        )
        for inner, outer in (("q1", "whisker_low"), ("q3", "whisker_high")):
            ax.plot([box[inner], box[outer]], [row - 0.14] * 2, color=color, linewidth=1.4, zorder=3)
        ax.add_patch(
            Rectangle(
                (box["q1"], row - 0.28),
                box["q3"] - box["q1"],
                0.28,
                facecolor=ax.get_facecolor(),
                edgecolor=color,
                linewidth=1.4,
                zorder=3,
            )
        )
        ax.plot([box["median"]] * 2, [row - 0.28, row], color=color, linewidth=3, solid_capstyle="butt", zorder=4)
    _name_rows(ax, groups)
    ends = known["x"].to_list()
    if ax.get_xscale() == "log":
        ax.set_xlim(min(ends) / 1.25, max(ends) * 1.25)
    else:
        ax.set_xlim(*theme.number_ends(ends))
    ax.set_ylim(groups.height - 0.4, -0.6)


def _bars(ax: "Axes", known: pl.DataFrame, groups: pl.DataFrame) -> None:
    highest = float(known["y"].max())  # type: ignore[arg-type]
    for group in groups.iter_rows(named=True):
        part = known.filter(row=group["row"])
        left, right, many = (part[name].to_list() for name in ("x", "until", "y"))
        base = group["row"] + 0.42
        ax.bar(
            left,
            [-0.8 * one / highest for one in many],
            width=[end - start for start, end in zip(left, right, strict=True)],
            bottom=base,
            align="edge",
            color=group["color"],
            edgecolor=ax.get_facecolor(),
            linewidth=0.7,
            zorder=2.5,
        )
        ax.axhline(base, color=theme.shade(ax, theme.GRAY), linewidth=0.8, zorder=3)
    _name_rows(ax, groups)
    ax.set_xlim(*theme.number_ends([*known["x"], *known["until"]]))
    ax.set_ylim(groups.height - 0.5, -0.5)


def _name_rows(ax: "Axes", groups: pl.DataFrame) -> None:
    ax.set_yticks(groups["row"].to_list())
    told = [
        f"{theme.wrapped(group['group'], 30)}\n{_named(group | {'group': ''}).strip(' ()')}"
        for group in groups.iter_rows(named=True)
    ]
    ax.set_yticklabels(told, fontsize=theme.SMALL)
    theme.literal(ax.get_yticklabels())
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)


def _caption(marks: pl.DataFrame, groups: pl.DataFrame, kind: Kind) -> str:
    n, unknown = int(groups["n"].sum()), int(groups["n_unknown"].sum())
    known = f"n = {labels.count(n)} rollouts with a known value"
    said = [f"{known}; {labels.count(unknown)} without, not drawn." if unknown else f"{known}: all of them."]
    if kind == "box":
        said.append("Box: quartiles and median; whiskers: last value within 1.5 times the box.")
        if (groups["n"] > _MOST_POINTS).any():
            said.append(f"Points: {_MOST_POINTS} of each larger group, evenly spaced by rank.")
    if kind == "histogram":
        said.append(f"Bars: share of the group's known values, on one scale; the tallest is {_tallest(marks)}.")
    return " ".join(said)


def _tallest(marks: pl.DataFrame) -> str:
    return labels.number(marks["y"].max(), rate=True)  # type: ignore[arg-type]
