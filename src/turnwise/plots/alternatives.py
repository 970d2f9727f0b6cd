"""Alternative text: one sentence for readers who cannot see a figure, from the marks that it draws."""

from collections.abc import Callable, Iterable

import polars as pl

from turnwise import schema
from turnwise.errors import ArgumentError
from turnwise.plots import one_rollout
from turnwise.plots.distribution import MARKS as DISTRIBUTION
from turnwise.plots.reliability_diagram import MARKS as RELIABILITY
from turnwise.plots.timeline import MARKS as TIMELINE
from turnwise.plots.trace_tree import MARKS as TREE
from turnwise.plots.tradeoff_figure import SWEEP
from turnwise.plots.tradeoff_marks import MARKS as TRADEOFF
from turnwise.schema import labels

Teller = Callable[[pl.DataFrame], str]


def alt_text(marks: object) -> str:
    """The sentence for a figure: of its marks (`tradeoff_marks`, `timeline_marks`, ...) or of a frame with intervals.

    Parameters
    ----------
    marks
        What `distribution_marks`, `tradeoff_marks`, `tradeoff_figure_marks`, `reliability_marks`, `timeline_marks` or
        `trace_marks` gave; or SUMMARY, CONTRAST, CURVE, AGREEMENT and the other results that
        `turnwise.schema.labels.alt_text` knows.

    Raises
    ------
    ArgumentError
        Where it is none of these.

    Examples
    --------
    >>> from turnwise.plots import trace_marks
    >>> steps = pl.DataFrame({"rollout_id": "a", "step": [1, 2], "parent": [None, 1], "kind": ["model", "tool"]})
    >>> alt_text(trace_marks(steps))
    'A tree of 2 rows, 2 deep: 1 model, 1 tool.'
    """
    frame = labels.as_frame(marks, "alt_text")
    tellers: list[tuple[Iterable[str], Teller]] = [
        (DISTRIBUTION, _distribution),
        (TRADEOFF, _tradeoff),
        (SWEEP, _sweep),
        (RELIABILITY, _reliability),
        (TIMELINE, _timeline),
        (TREE, _tree),
    ]
    for columns, told in tellers:
        if set(columns) == set(frame.columns):
            return labels.sentence(told(frame)) if frame.height else "An empty figure."
    if labels.shape_of(frame) is None:
        names = ", ".join(shape.name for shape in (schema.SUMMARY, schema.CONTRAST, schema.CURVE, schema.AGREEMENT))
        raise ArgumentError(f"alt_text: these are neither marks of a figure nor a frame such as {names}")
    return labels.alt_text(frame)


def _distribution(marks: pl.DataFrame) -> str:
    groups = marks.unique("row", keep="first", maintain_order=True).sort("row")
    n, unknown = int(groups["n"].sum()), int(groups["n_unknown"].sum())
    what = labels.quantity(marks["metric"][0])
    left = f", {labels.count(unknown)} without a value" if unknown else ""
    known = marks.filter(pl.col("x").is_not_null())
    halves = {name: _median(known.filter(group=name)) for name in groups["group"] if name in set(known["group"])}
    told = [f"{labels.number(half)} ({name})" for name, half in halves.items()]
    least, greatest = known.select(pl.col("x").min(), last=pl.max_horizontal("x", "until").max()).row(0)
    reach = f"from {labels.number(least)} to {labels.number(greatest)}"
    medians = f"median {told[0]}" if len(told) == 1 else f"medians from {told[0]} to {told[-1]}, {len(told)} groups"
    return f"distribution of {what} over {labels.counted(n, 'rollout')}{left}, {reach}, {medians}"


def _median(part: pl.DataFrame) -> float:
    """The median that the marks of one group show: of a box its line, else where half is reached."""
    if (part["mark"] == "median").any():
        return float(part.filter(mark="median")["x"][0])
    reached = part["y"] if part["mark"][0] == "step" else part["y"].cum_sum()
    at = part.filter(reached >= 0.5 - 1e-12).row(0, named=True)
    return float(at["x"] if at["until"] is None else (at["x"] + at["until"]) / 2)


def _tradeoff(marks: pl.DataFrame) -> str:
    across, up = (labels.label(marks[side][0]) for side in ("x_metric", "y_metric"))
    front = marks.filter("pareto").sort("x")
    unbeaten = f"; no other group beats {_placed(front)}" if front.height else ""
    roles = dict(marks["role"].value_counts().rows())
    beside = f" with {labels.counted(roles['trial'], 'trial')}" if "trial" in roles else ""
    references = marks.filter(role="reference")
    beside += f", and for reference {_placed(references)}" if references.height else ""
    return f"{up} against {across}, {labels.counted(roles['group'], 'group')}{beside}{unbeaten}"


def _sweep(marks: pl.DataFrame) -> str:
    across, up = (labels.label(marks[side][0]) for side in ("x_metric", "y_metric"))
    points, references = marks.filter(role="group"), marks.filter(role="reference")
    values = points["at"].unique(maintain_order=True)
    curves = points["curve"].n_unique()
    groups = f", {labels.counted(curves, 'group')}" if curves > 1 else ""
    told = f"{across} and {up} over {labels.label(marks['of'][0])}, from {values[0]} to {values[-1]} in "
    told += f"{labels.counted(len(values), 'value')}{groups}, and one against the other"
    told += f"; for reference {_placed(references)}" if references.height else ""
    front = marks.filter("pareto")
    return told + (f"; no other point beats {_placed(front)}" if front.height else "")


def _placed(marks: pl.DataFrame) -> str:
    """The first groups, each with both estimates."""
    shown = [f"{row['group']} ({row['text']})" for row in marks.head(4).iter_rows(named=True)]
    return ", ".join(shown) + (f" and {marks.height - 4} more" if marks.height > 4 else "")


def _reliability(marks: pl.DataFrame) -> str:
    told = []
    for part in marks.partition_by("group", maintain_order=True):
        low, high = part.row(0, named=True), part.row(-1, named=True)
        told.append(
            f"{part['group'][0]}: where {labels.number(low['x'], rate=True)} sure {low['text']} right, "
            f"where {labels.number(high['x'], rate=True)} sure {high['text']} right"
        )
    more = f"; and {labels.counted(len(told) - 3, 'more group')}" if len(told) > 3 else ""
    return f"confidence against what was right, {'; '.join(told[:3])}{more}"


def _timeline(marks: pl.DataFrame) -> str:
    turns = marks.filter(mark="turn")
    if turns.is_empty():
        return f"timeline of {labels.counted(marks.height, 'step')}: {_counted(marks)}"
    won = turns.filter(state="success")
    first = f", first success in turn {won['turn'][0]}" if won.height else ""
    calls = marks.filter(mark="tool").height
    tools = f", {labels.counted(calls, 'call')} of tools" if calls else ""
    return f"timeline of {labels.counted(turns.height, 'turn')}: {_counted(turns)}{first}{tools}"


def _tree(marks: pl.DataFrame) -> str:
    return f"a tree of {labels.counted(marks.height, 'row')}, {max(marks['depth']) + 1} deep: {_counted(marks)}"


def _counted(marks: pl.DataFrame) -> str:
    """Count the entries of each state or kind."""
    counts = dict(marks["state"].value_counts().rows())
    order = [*(name for name in one_rollout.STATES if name in counts), *(name for name in sorted(counts))]
    return ", ".join(f"{counts[name]} {name}" for name in dict.fromkeys(order))
