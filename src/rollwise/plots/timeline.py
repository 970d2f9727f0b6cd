"""Timeline of one rollout: the state, score, tool calls and duration of its turns, or its steps."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import polars as pl

from rollwise.errors import ArgumentError, listing
from rollwise.plots import alternatives, layout, lettering, one_rollout, tags, theme, ticking
from rollwise.plots.figures import Plot, drawing
from rollwise.plots.theme import Axes, Size
from rollwise.schema import labels
from rollwise.schema.option_types import check_option_types

Axis = Literal["turn", "seconds", "step"]
MARKS = {
    "lane": pl.Int32,  # from 0 at the top
    "lane_name": pl.String,
    "mark": pl.String,  # turn, score, tool, tokens, step (with an end), event (without)
    "at": pl.Float64,
    "until": pl.Float64,
    "value": pl.Float64,  # a score or a number of tokens
    "turn": pl.Int32,
    "key": pl.String,  # JSON of the rollout and the turn
    "state": pl.String,  # of a turn: success, refused, failed, ...; of a step: its kind
    "text": pl.String,
    "color": pl.String,
    "marker": pl.String,
}
_OTHERS = "others"
_UP = 0.36  # half the height of a block, in lanes
_MARKED = 11.0  # least width in points, with what is beside the axis, of a block with a marker


@drawing
def timeline(
    frame: object,
    *,
    rollout_id: str | None = None,
    axis: Axis | None = None,
    most: int = 10,
    size: Size | None = None,
    ax: "Axes | None" = None,
    title: str | None = None,
    caption: bool | None = None,
) -> Plot:
    """Draw the timeline of one rollout, from its TURNS or its STEPS.

    From TURNS: a block for each turn in the color of its state; below, its score, response tokens and tool calls, one lane
    per tool. From STEPS: a bar from the start to the end of each call of a model or tool, and lines where turns begin.

    Parameters
    ----------
    frame
        TURNS, from `rw.read`, or STEPS, from `rw.readers.steps`.
    rollout_id
        The id of the rollout; not needed if the frame has only one.
    axis
        ``"seconds"``, if known for every turn or step; otherwise ``"turn"``, or ``"step"`` for STEPS. By default seconds if
        known.
    most
        How many tools or kinds of steps have their own lane; the others share one.
    size, ax, caption
        As in `forest`.
    title
        Title above the figure; by default the id of the rollout.

    Raises
    ------
    ArgumentError
        If the rollout is missing, there are several and no id is given, or seconds are requested but unknown.

    Examples
    --------
    >>> turns = pl.DataFrame({"rollout_id": "a", "turn": [1, 2], "succeeded": [False, True], "score": [0.1, 0.9]})
    >>> (ax,) = timeline(turns).axes
    >>> [label.get_text() for label in ax.get_yticklabels()], ax.get_xlabel()
    (['turns', 'score'], 'turn')
    """
    check_option_types(timeline, locals())
    # One lane per score, tool and kind of step, from top to bottom.
    marks = timeline_marks(frame, rollout_id=rollout_id, axis=axis, most=most)
    rows, steps = one_rollout.chosen(frame, rollout_id, "timeline")
    measured = _axis(rows, axis, steps=steps)
    lanes = marks.unique("lane", keep="first", maintain_order=True).sort("lane")
    outcome = one_rollout.outcome(rows)

    def paint(sheet: layout.Sheet) -> None:
        (ax,) = sheet.panels(1, columns=1, high=theme.em(max(26.0 * lanes.height, 60.0)))
        seen = theme.visible(marks, ax)
        theme.dress(ax, grid="x")
        _limits(sheet, ax, seen, lanes, measured)
        ticking.thousands(ax, "x")
        for part in seen.partition_by("lane", maintain_order=True):
            _paint(ax, part, _MARKED / sheet.width)
        if steps:
            _turns(sheet, ax, seen)
        elif (seen["state"] == "turn").any():
            _beside(ax, 0.0, outcome or "")
        ax.set_xlabel("seconds since the first step" if measured == "seconds" and steps else measured)
        ax.xaxis.label.set(fontsize=theme.normal())
        states = seen.filter(pl.col("mark").is_in(["turn", "step", "event"])).unique("state", maintain_order=True)
        if states.height > 1 or not steps:
            one_rollout.key(sheet, states)
        if measured != "seconds":
            ticking.whole_numbers(ax)

    return layout.lay(
        paint,
        layout.Page("timeline", ax, size, title or labels.plain(rows["rollout_id"][0]), caption),
        alt=alternatives.timeline(marks, outcome),
        description=_caption(rows, marks),
        named=marks["lane_name"],
        letters=marks["text"].drop_nulls(),
    )


def timeline_marks(
    frame: object, *, rollout_id: str | None = None, axis: Axis | None = None, most: int = 10
) -> pl.DataFrame:
    """Return the marks of `timeline`: one row per turn, score, call and number of tokens, or per step.

    Examples
    --------
    >>> turns = pl.DataFrame({"rollout_id": "a", "turn": [1, 2], "succeeded": [False, True]})
    >>> timeline_marks(turns).select("mark", "at", "until", "state").rows()
    [('turn', 0.5, 1.5, 'failed'), ('turn', 1.5, 2.5, 'success')]
    """
    check_option_types(timeline_marks, locals(), "timeline")
    rows, steps = one_rollout.chosen(frame, rollout_id, "timeline")
    measured = _axis(rows, axis, steps=steps)
    marks = _of_steps(rows, measured, most) if steps else _of_turns(rows, measured, most)
    names = list(dict.fromkeys(mark["lane_name"] for mark in marks))
    places = {name: place for place, name in enumerate(sorted(names, key=lambda name: name == _OTHERS))}
    return pl.DataFrame([mark | {"lane": places[mark["lane_name"]]} for mark in marks], schema=MARKS, orient="row")


# ── marks ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _axis(rows: pl.DataFrame, axis: Axis | None, *, steps: bool) -> str:
    """Return the quantity of the x axis: as given, else seconds if known for all."""
    counted = "step" if steps else "turn"
    if axis is not None and axis not in {"seconds", counted}:
        raise ArgumentError(f"timeline: axis={axis!r} is not one of {listing(['seconds', counted])}")
    time = "start" if steps else "seconds"
    has_time = time in rows.columns and rows[time].count() == rows.height and (rows[time] >= 0).all()
    has_time = has_time and float(rows["start" if steps else "seconds"].max() or 0.0) > 0  # type: ignore[arg-type]
    if axis == "seconds" and not has_time:
        raise ArgumentError(f"timeline: axis='seconds', but `{time}` is not known for every {counted}; leave axis out")
    return "seconds" if has_time and axis != counted else counted


def _of_turns(rows: pl.DataFrame, measured: str, most: int) -> list[dict[str, Any]]:
    marks: list[dict[str, Any]] = []
    scores, tools, tokens = [], [], []
    end = 0.0
    used = [name for turn in rows.iter_rows(named=True) for name, _ in one_rollout.calls(turn)]
    judged = one_rollout.outcome(rows) is not None
    keys = labels.group_keys(rows, ["rollout_id", "turn"])
    # The first tools have their own lanes, the others share the last one.
    own_lanes = _own_lanes(used, most)
    for place, turn in enumerate(rows.iter_rows(named=True), 1):
        start = end if measured == "seconds" else place - 0.5
        end = start + (turn["seconds"] if measured == "seconds" else 1.0)
        state = one_rollout.state(turn, judged=judged)
        look = one_rollout.STATES[state]
        about = {"at": start, "until": end, "turn": turn["turn"], "key": keys[place - 1]}
        about |= {"state": state, "color": look.color}
        text = turn.get("response") or turn.get("prompt") or ""
        marks.append(
            about | {"lane_name": "turns", "mark": "turn", "marker": look.marker, "text": one_rollout.snippet(text)}
        )
        # Scores and calls are points in the middle of their turn.
        middle = about | {"at": (start + end) / 2, "until": None, "color": theme.ONE_COLOR, "marker": "o"}
        score = turn.get("score") if turn.get("score") is not None else turn.get("reward")
        if score is not None:
            name = "score" if turn.get("score") is not None else "reward"
            scores.append(middle | {"lane_name": name, "mark": "score", "value": score, "text": f"{score:g}"})
        for name, arguments in one_rollout.calls(turn):
            lane = one_rollout.snippet(name, 40) if name in own_lanes else _OTHERS
            what = one_rollout.snippet(f"{name} {arguments}")
            tools.append(middle | {"lane_name": lane, "mark": "tool", "marker": "D", "color": "#009E73", "text": what})
        if turn.get("response_tokens") is not None:
            counted = turn["response_tokens"]
            bar = about | {"color": theme.PALETTE[4], "value": counted, "text": labels.count(counted)}
            tokens.append(bar | {"lane_name": "response tokens", "mark": "tokens"})
    tools.sort(key=lambda mark: mark["lane_name"] == _OTHERS)
    return [*marks, *scores, *tokens, *tools]


def _of_steps(rows: pl.DataFrame, measured: str, most: int) -> list[dict[str, Any]]:
    lanes = [_lane(step) for step in rows.iter_rows(named=True)]
    own_lanes = _own_lanes(lanes, most)
    look = theme.looks(labels.plain(step.get("kind") or "step") for step in rows.iter_rows(named=True))
    marks, keys = [], labels.group_keys(rows, [name for name in ("rollout_id", "turn") if name in rows.columns])
    for place, (lane, step) in enumerate(zip(lanes, rows.iter_rows(named=True), strict=True), 1):
        start, end = (step["start"], step.get("end")) if measured == "seconds" else (place - 0.5, place + 0.5)
        kind = labels.plain(step.get("kind") or "step")
        text = step.get("output") or step.get("input") or ""
        about: dict[str, Any] = {
            "lane_name": lane if lane in own_lanes else _OTHERS,
            "mark": "event" if end is None else "step",
        }
        about |= {"at": start, "until": end, "turn": step.get("turn"), "key": keys[place - 1], "state": kind}
        about |= {"text": one_rollout.snippet(text), "value": step.get("tokens")}
        marks.append(about | {"color": look[kind].color, "marker": look[kind].marker})
    return marks


def _own_lanes(names: Sequence[str], most: int) -> set[str]:
    """Return the names that have their own lane: the first ones."""
    different = list(dict.fromkeys(names))
    return set(different if len(different) <= most else different[: max(most - 1, 0)])


def _lane(step: dict[str, Any]) -> str:
    kind, name = (labels.plain(step[key]) if step.get(key) else "" for key in ("kind", "name"))
    return one_rollout.snippet(name or kind or "step", 40)


# ── paint ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _limits(sheet: layout.Sheet, ax: Axes, marks: pl.DataFrame, lanes: pl.DataFrame, measured: str) -> None:
    least, greatest = marks.select(pl.col("at").min(), last=pl.max_horizontal("at", "until").max()).row(0)
    margin = 0.02 * (greatest - least) or 0.5
    ax.set_xlim(least - (margin if measured == "seconds" else 0.0), greatest + margin)
    ax.set_ylim(lanes.height - 0.4, -0.6)
    names = lettering.filled_all(lanes["lane_name"].to_list(), max(0.3 * sheet.width, theme.em(60)), lines=2)
    ax.set_yticks(lanes["lane"].to_list(), labels=names)
    lettering.literal(ax.get_yticklabels())
    ax.tick_params(axis="y", length=0, labelsize=theme.small())
    ax.spines["left"].set_visible(False)


def _paint(ax: Axes, part: pl.DataFrame, marked: float) -> None:
    if part["mark"][0] == "score":
        _scores(ax, part)
        return
    most = max([1.0, *part["value"].drop_nulls()])
    # Very short blocks keep a visible width; only wide ones have borders and markers.
    thin = ax.get_xlim()[1] - ax.get_xlim()[0]
    for mark in part.iter_rows(named=True):
        group = mark["lane_name"] if mark["turn"] is None else f"turn {mark['turn']}"
        with tags.tagged(ax, mark["key"], group, ": ".join(filter(None, [mark["state"], mark["text"]]))):
            _block(ax, mark, most, thin, marked)


def _block(ax: Axes, mark: Mapping[str, Any], most: float, thin: float, marked: float) -> None:
    """Draw a turn, a step, a call or a number of tokens; blocks wider than the share `marked` of the axis have markers."""
    if mark["until"] is None:
        style: dict[str, Any] = {"color": mark["color"], "marker": mark["marker"], "markersize": 5.5, "alpha": 0.85}
        ax.plot([mark["at"]], [mark["lane"]], linestyle="none", markeredgewidth=0.3, zorder=3, clip_on=False, **style)
        return
    wide = max(mark["until"] - mark["at"], 0.003 * thin)
    high = 2 * _UP * (mark["value"] / most if mark["mark"] == "tokens" else 1.0)
    bottom = mark["lane"] + _UP - high if mark["mark"] == "tokens" else mark["lane"] - _UP
    look: dict[str, Any] = {"edgecolor": ax.get_facecolor(), "linewidth": 0.6 if wide > 0.01 * thin else 0.0}
    ax.bar(mark["at"], high, width=wide, bottom=bottom, align="edge", color=mark["color"], zorder=2.5, **look)
    if mark["mark"] == "turn" and wide > marked * thin and mark["state"] not in one_rollout.PLAIN:
        white = "white" if theme.contrast(mark["color"], "white") >= 3 else "black"
        ax.plot([mark["at"] + wide / 2], [mark["lane"]], marker=mark["marker"], markersize=6, color=white, zorder=4)


def _scores(ax: Axes, part: pl.DataFrame) -> None:
    """Draw the scores as a line within their lane, from 0 (or the least) at its bottom to 1 (or the greatest) at its top."""
    lane = part["lane"][0]
    least, greatest = min([0.0, *part["value"]]), max([1.0, *part["value"]])
    up = [lane + _UP - 2 * _UP * (value - least) / (greatest - least) for value in part["value"]]
    for edge in (lane - _UP, lane + _UP):
        ax.axhline(edge, color=theme.shade(ax, theme.GUIDE), linewidth=0.6, zorder=1)
    size = 4.0 if part.height <= 60 else 0.0
    ax.plot(part["at"].to_list(), up, color=part["color"][0], linewidth=1.2, marker="o", markersize=size, zorder=3)
    for edge, value in ((lane - _UP, greatest), (lane + _UP, least)):
        _beside(ax, edge, f"{value:g}")


def _beside(ax: Axes, lane: float, words: str) -> None:
    """Write a few words to the right of a lane."""
    lettering.write(ax, words, (1, lane), ("axes fraction", "data"), by=(3, 0), va="center")


def _turns(sheet: layout.Sheet, ax: Axes, marks: pl.DataFrame) -> None:
    """Draw a line where each turn begins, with its number above the Axes if there is space."""
    begun = marks.drop_nulls("turn").group_by("turn", maintain_order=True).agg(pl.col("at").min()).sort("turn")
    (x_min, x_max), last = ax.get_xlim(), float("-inf")
    for turn, at in begun.iter_rows():
        ax.axvline(at, color=theme.shade(ax, theme.GRAY), linewidth=0.7, zorder=1)
        words = "turn 1" if last == float("-inf") and turn == 1 else f"{turn}"
        if at > last:
            lettering.write(ax, words, (at, 1), ("data", "axes fraction"), by=(0, 3))
            last = at + (lettering.text_width(words) + 6) / (0.75 * sheet.width) * (x_max - x_min)


def _caption(rows: pl.DataFrame, marks: pl.DataFrame) -> str:
    sentences = [labels.sentence(one_rollout.facts(rows))] if one_rollout.facts(rows) else []
    successes = marks.filter(mark="turn", state="success")
    if successes.height:
        sentences.append(f"First success in turn {successes['turn'][0]}.")
    if _OTHERS in marks["lane_name"].to_list():
        sentences.append("Others: tools or steps without their own lane.")
    return " ".join(sentences) or f"{labels.counted(marks['turn'].n_unique(), 'turn')}."
