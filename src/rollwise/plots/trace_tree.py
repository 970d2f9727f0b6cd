"""Tree of one rollout: nested steps, or the branches of a tree search."""

import io
import shutil
from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from typing import Any

import polars as pl

from rollwise.plots import alternatives, layout, lettering, one_rollout, theme
from rollwise.plots.figures import Plot, drawing
from rollwise.plots.theme import Axes, Size
from rollwise.schema import labels
from rollwise.schema.option_types import check_option_types

MARKS = {
    "row": pl.Int32,  # from 0 at the top: parents before children, children in order
    "depth": pl.Int32,  # from 0 at a root
    "node": pl.String,
    "parent": pl.String,  # null at a root
    "parent_row": pl.Int32,
    "name": pl.String,  # name of the model or tool, or number and state of the turn
    "text": pl.String,  # beginning of the text
    "note": pl.String,  # seconds, tokens
    "state": pl.String,  # of a turn: success, refused, failed, ...; of a step: its kind
    "start": pl.Float64,  # of a step, in seconds from the first start
    "end": pl.Float64,
    "color": pl.String,
    "marker": pl.String,
}
_MOST = 60  # most rows of a figure
_MOST_LINES = 1_000  # most lines of a text
_ROW, _LOW_ROW = 17.3, 12.0  # height of a row in points, and of one in a figure of a given height
_INDENT = 14.0  # indentation of a child in points
_BARS, _TIMED = 0.4, 330.0  # share of the width for bars of times, in a figure of at least so many points
_SNIPPET = 40.0  # least width in points of the beginning of a text
_WIDTH = 100  # width in characters without a terminal


@drawing
def trace_tree(
    frame: object,
    *,
    rollout_id: str | None = None,
    most: int = _MOST,
    size: Size | None = None,
    ax: "Axes | None" = None,
    title: str | None = None,
    caption: bool | None = None,
) -> Plot:
    """Draw the tree of one rollout: one row per node, indented below its parent.

    From STEPS: nested calls, with a bar from start to end of each if their times are known and the figure is wide enough. From
    TURNS of a tree search (`node_id`, `parent_id`): its branches, including pruned ones. From other TURNS: each turn with its
    tool calls.

    Parameters
    ----------
    frame
        STEPS, from `rw.readers.steps`, or TURNS, from `rw.read` or `rw.rollout.flatten(..., branches="all")`.
    rollout_id
        Which rollout; not needed where there is one.
    most
        How many rows to draw; the caption counts the rest.
    size, ax, caption
        As in `forest`.
    title
        Title above the figure; by default the id of the rollout.

    Raises
    ------
    ArgumentError
        If the rollout is missing, or there are several and no id is given.

    Examples
    --------
    >>> steps = pl.DataFrame({"rollout_id": "a", "step": [1, 2], "parent": [None, 1], "kind": ["model", "tool"]})
    >>> (ax,) = trace_tree(steps).axes
    >>> [text.get_text() for text in ax.texts]
    ['model', 'tool']
    """
    check_option_types(trace_tree, locals())
    marks = trace_marks(frame, rollout_id=rollout_id)
    rows, _ = one_rollout.chosen(frame, rollout_id, "trace_tree")

    def paint(sheet: layout.Sheet) -> Callable[[], None]:
        fit = most if sheet.is_free else min(most, int(sheet.height() / theme.em(_LOW_ROW)))
        shown = marks.head(max(fit, 1))
        sheet.description = sheet.description and _caption(rows, marks, shown)
        timed = sheet.width >= theme.em(_TIMED) and shown["end"].count() > 1
        high = _ROW * shown.height + (14.0 if timed else 0.0)
        (ax,) = sheet.panels(1, columns=1, high=theme.em(max(high, 40.0)))
        seen = theme.visible(shown, ax)
        ax.set(xlim=(0, 1), ylim=(seen.height + (0.4 if timed else -0.4), -0.6))
        ax.set_axis_off()
        states = seen.unique("state", maintain_order=True)
        if states.height > 1:
            one_rollout.key(sheet, states)

        def finish() -> None:
            across = theme.size_in_points(ax)[0]
            # Deep trees have a smaller indentation.
            indent = min(theme.em(_INDENT), 0.4 * across / max([1, *seen["depth"]]))
            for mark in seen.iter_rows(named=True):
                _paint(ax, mark, indent / across, across * (1 - _BARS) if timed else across, across)
            if timed:
                _bars(ax, seen)

        return finish

    return layout.lay(
        paint,
        layout.Page("trace_tree", ax, size, title or labels.plain(rows["rollout_id"][0]), caption),
        alt=alternatives.trace_tree(marks),
        description=_caption(rows, marks, marks),
        letters=[*marks["name"].head(most), *marks["text"].head(most).drop_nulls()],
    )


@drawing
def trace_text(
    frame: object, *, rollout_id: str | None = None, most: int = _MOST_LINES, width: int | None = None
) -> str:
    r"""Return the tree as text for a terminal, with control characters escaped.

    Parameters
    ----------
    frame, rollout_id, most
        As in `trace_tree`.
    width
        Width in characters; by default that of the terminal.

    Examples
    --------
    >>> steps = pl.DataFrame(
    ...     {"rollout_id": "a", "step": [1, 2, 3], "parent": [None, 1, 1], "kind": ["model", "tool", "tool"]}
    ... )
    >>> steps = steps.with_columns(output=pl.Series([None, "found\x1b[2J", "done"]), tokens=pl.Series([12, None, None]))
    >>> print(trace_text(steps, width=40))
    a
    └── model  12 tokens
        ├── tool: found\x1b[2J
        └── tool: done
    """
    check_option_types(trace_text, locals())
    from rich.console import Console
    from rich.text import Text
    from rich.tree import Tree

    marks = trace_marks(frame, rollout_id=rollout_id)
    rows, _ = one_rollout.chosen(frame, rollout_id, "trace_tree")
    if width is None:
        width = shutil.get_terminal_size((_WIDTH, 40)).columns
    root = Tree(Text(labels.plain(rows["rollout_id"][0])))
    # Marks have parents before children, so the parent branch exists.
    branches: dict[int, Tree] = {}
    for mark in marks.head(min(most, marks.height)).iter_rows(named=True):
        words = one_rollout.snippet(_words(mark), max(width - 4 * (mark["depth"] + 1), 12))
        branch = root if mark["parent_row"] is None else branches[mark["parent_row"]]
        branches[mark["row"]] = branch.add(Text(words, no_wrap=True, overflow="ellipsis"))
    if marks.height > most:
        root.add(Text(f"… {labels.count(marks.height - most)} more"))
    sink = io.StringIO()
    deepest = max(marks["depth"])
    console = Console(
        file=sink, width=max(width, 4 * deepest + 20), color_system=None, force_jupyter=False, _environ={}
    )
    console.print(root)
    return "\n".join(line.rstrip() for line in sink.getvalue().splitlines())


def trace_marks(frame: object, *, rollout_id: str | None = None) -> pl.DataFrame:
    """Return the marks of `trace_tree`: one row per node, parents before their children.

    Examples
    --------
    >>> nodes = {"rollout_id": "a", "turn": [1, 2, 2], "node_id": ["x", "y", "z"], "parent_id": [None, "x", "x"]}
    >>> trace_marks(pl.DataFrame(nodes)).select("row", "depth", "node", "parent_row").rows()
    [(0, 0, 'x', None), (1, 1, 'y', 0), (2, 1, 'z', 0)]
    """
    check_option_types(trace_marks, locals(), "trace_tree")
    rows, steps = one_rollout.chosen(frame, rollout_id, "trace_tree")
    nodes = list(_steps(rows) if steps else _turns(rows))
    node_of_id = {node["node"]: node for node in nodes}
    children: dict[str | None, list[dict[str, Any]]] = {}
    # Nodes without a known parent are roots.
    for node in nodes:
        lost = node["parent"] not in node_of_id or node["parent"] == node["node"]
        children.setdefault(None if lost else node["parent"], []).append(node)
    marks: list[dict[str, Any]] = []
    placed: dict[str, int] = {}

    def grow(first: list[dict[str, Any]]) -> None:
        # A stack instead of recursion: trees of logs may be deeper than the recursion limit.
        waiting: list[tuple[dict[str, Any], int, int | None]] = [(node, 0, None) for node in reversed(first)]
        while waiting:
            node, depth, parent_row = waiting.pop()
            if node["node"] in placed:
                continue
            placed[node["node"]] = len(marks)
            marks.append(node | {"row": len(marks), "depth": depth, "parent_row": parent_row})
            below = children.get(node["node"], [])
            waiting += [(child, depth + 1, placed[node["node"]]) for child in reversed(below)]

    grow(children.get(None, []))
    for node in nodes:  # a cycle of parents is not reachable from a root
        if node["node"] not in placed:
            grow([node])
    return pl.DataFrame(marks, schema=MARKS, orient="row")


# ── marks ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _steps(rows: pl.DataFrame) -> Iterator[dict[str, Any]]:
    kinds = [labels.plain(kind) if kind else "step" for kind in _column(rows, "kind")]
    look = theme.looks(kinds)
    began = min((at for at in _column(rows, "start") if at is not None and isfinite(at)), default=0.0)
    for kind, step in zip(kinds, rows.iter_rows(named=True), strict=True):
        start, end = (at if at is not None and isfinite(at) else None for at in (step.get("start"), step.get("end")))
        notes = [_seconds(end - start)] if start is not None and end is not None else []
        notes += [labels.counted(step["tokens"], "token")] if step.get("tokens") is not None else []
        text = step.get("output") or step.get("input")
        yield {
            "node": str(step["step"]),
            "parent": None if step.get("parent") is None else str(step["parent"]),
            "name": one_rollout.snippet(step.get("name") or kind, 40),
            "text": None if text is None else one_rollout.snippet(text, 160),
            "note": ", ".join(notes),
            "start": None if start is None or end is None else start - began,
            "end": None if start is None or end is None else max(end - began, start - began),
            "state": kind,
            "color": look[kind].color,
            "marker": look[kind].marker,
        }


def _turns(rows: pl.DataFrame) -> Iterator[dict[str, Any]]:
    tree = any(node is not None for node in _column(rows, "node_id"))
    judged = one_rollout.outcome(rows) is not None
    for place, turn in enumerate(rows.iter_rows(named=True), 1):
        state = one_rollout.state(turn, judged=judged)
        look = one_rollout.STATES[state]
        node = str(turn["node_id"]) if tree and turn.get("node_id") is not None else f"turn {place}"
        text = (turn.get("prompt") or turn.get("response")) if tree else (turn.get("response") or turn.get("prompt"))
        notes = [_seconds(turn["seconds"])] if turn.get("seconds") is not None else []
        tokens = turn.get("response_tokens")
        notes += [labels.counted(tokens, "token")] if tokens is not None else []
        notes += [f"score {turn['score']:g}"] if turn.get("score") is not None else []
        number = "no prompt" if turn["turn"] is None else f"turn {turn['turn']}"
        about = {"state": state, "color": look.color, "marker": look.marker.replace(".", "o")}
        yield about | {
            "node": node,
            "parent": None if not tree or turn.get("parent_id") is None else str(turn["parent_id"]),
            "name": number if state == "turn" else f"{number}, {state}",
            "text": one_rollout.snippet(text, 160) if text else None,
            "note": ", ".join(notes),
        }
        for call, (name, arguments) in enumerate(one_rollout.calls(turn) if not tree else (), 1):
            yield {
                "node": f"{node} call {call}",
                "parent": node,
                "name": one_rollout.snippet(name, 40),
                "text": one_rollout.snippet(arguments, 160) if arguments else None,
                "note": "",
                "state": "tool",
                "color": "#009E73",
                "marker": "D",
            }


def _column(rows: pl.DataFrame, name: str) -> list[Any]:
    return rows[name].to_list() if name in rows.columns else [None] * rows.height


def _seconds(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds < 1000 else f"{labels.count(seconds)} s"


def _words(mark: Mapping[str, Any]) -> str:
    text = f": {mark['text']}" if mark["text"] else ""
    return f"{mark['name']}{'  ' + mark['note'] if mark['note'] else ''}{text}"


# ── paint ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _paint(ax: Axes, mark: Mapping[str, Any], indent: float, left: float, across: float) -> None:
    """Draw a node, its line to its parent, and as much of its text as fits into the `left` points of the width."""
    x, y = (mark["depth"] + 0.5) * indent, mark["row"]
    if mark["parent_row"] is not None:
        before = (mark["depth"] - 0.5) * indent
        ax.plot([before, before, x], [mark["parent_row"], y, y], color=theme.shade(ax, 0.35), linewidth=0.8, zorder=1)
    hollow = mark["state"] in one_rollout.PLAIN
    look: dict[str, Any] = {"marker": mark["marker"], "markersize": theme.marker_size(mark["marker"])}
    look |= {"color": mark["color"], "markerfacecolor": ax.get_facecolor() if hollow else mark["color"]}
    ax.plot([x], [y], linestyle="none", zorder=3, clip_on=False, **look)
    words = _fitted(mark, lettering.unhinted(left - across * x - 24))
    lettering.write(ax, words, (x, y), "data", by=(9, 0), va="center", color=None)


def _fitted(mark: Mapping[str, Any], width: float) -> str:
    """Return the words of a node that fit into so many points: numbers whole or not at all, and the beginning of the text."""
    note = mark["note"]
    while note and lettering.text_width(_words({**mark, "note": note, "text": None})) > width:
        note = note.rpartition(", ")[0]
    least = _words({**mark, "note": note, "text": "…" if mark["text"] else None})
    without = note != mark["note"] or lettering.text_width(least) + theme.em(_SNIPPET) > width
    words = _words({**mark, "note": note, "text": None if note and without else mark["text"]})
    words = words.replace("  ", lettering.GAP)
    # Shorten by the ratio of widths, at least by one character, until the text fits.
    while len(words) > 4 and (wide := lettering.text_width(words)) > width:
        words = f"{words[: max(min(len(words) - 2, int(len(words) * width / wide)), 3)].rstrip()}…"
    return words


def _bars(ax: Axes, seen: pl.DataFrame) -> None:
    """Draw a bar from start to end of each step, as a waterfall, above an axis of seconds."""
    timed = seen.drop_nulls(["start", "end"])
    total = max(float(timed["end"].max()), 1e-9)  # type: ignore[arg-type]
    begin, muted = 1 - _BARS, theme.shade(ax, theme.MUTED)
    scale = _BARS / total
    for row, start, end, color in timed.select("row", "start", "end", "color").iter_rows():
        ax.barh(row, max((end - start) * scale, 0.003), left=begin + start * scale, height=0.5, color=color, zorder=2)
    foot = seen.height - 0.3
    ax.plot([begin, 1.0], [foot, foot], color=muted, linewidth=0.8)
    for at, words, side in ((begin, "0 s", "left"), (1.0, _seconds(total), "right")):
        ax.text(at, foot + 0.1, words, ha=side, va="top", fontsize=theme.small(), color=muted)


def _caption(rows: pl.DataFrame, marks: pl.DataFrame, visible_marks: pl.DataFrame) -> str:
    sentences = [labels.sentence(one_rollout.facts(rows))] if one_rollout.facts(rows) else []
    if visible_marks.height < marks.height:
        hidden = marks.height - visible_marks.height
        rows_text = labels.counted(marks.height, "row")
        sentences.append(f"{labels.count(hidden)} of {rows_text} {'is' if hidden == 1 else 'are'} not shown.")
    return " ".join(sentences) or f"{labels.counted(marks.height, 'row')}."
