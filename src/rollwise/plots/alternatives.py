"""Alternative texts: one sentence for readers who cannot see a figure, from the marks that it draws.

Figures of result frames (SUMMARY, CURVE, ...) take theirs from `rollwise.schema.labels.alt_text`.
"""

import polars as pl

from rollwise.plots import one_rollout
from rollwise.schema import labels

_MOST_NAMED = 4  # groups named in a sentence


def distribution(marks: pl.DataFrame) -> str:
    """Describe a distribution: how many rollouts, from where to where, and the medians of the first and last group."""
    groups = marks.unique("row", keep="first", maintain_order=True).sort("row")
    n, unknown = int(groups["n"].sum()), int(groups["n_unknown"].sum())
    without = f", {labels.count(unknown)} without a value" if unknown else ""
    placed = marks.filter(pl.col("x").is_not_null())
    names = [name for name in groups["group"] if name in set(placed["group"])]
    medians = [f"{labels.number(_median(placed.filter(group=name)))} ({name})" for name in names]
    least, greatest = placed.select(pl.col("x").min(), last=pl.max_horizontal("x", "until").max()).row(0)
    reach = f"from {labels.number(least)} to {labels.number(greatest)}"
    several = f"medians from {medians[0]} to {medians[-1]}, {len(medians)} groups"
    middle = f"median {medians[0]}" if len(medians) == 1 else several
    quantity = labels.quantity(marks["metric"][0])
    rollouts = labels.counted(n, "rollout")
    return labels.sentence(f"distribution of {quantity} over {rollouts}{without}, {reach}, {middle}")


def _median(part: pl.DataFrame) -> float:
    """Return the median that the marks of one group show: of a box its line, else where half is reached."""
    if (part["mark"] == "median").any():
        return float(part.filter(mark="median")["x"][0])
    share = part["y"] if part["mark"][0] == "step" else part["y"].cum_sum()
    at = part.filter(share >= 0.5 - 1e-12).row(0, named=True)  # sums of shares may miss a half by a rounding error
    return float(at["x"] if at["until"] is None else (at["x"] + at["until"]) / 2)


def pareto(marks: pl.DataFrame) -> str:
    """Describe a trade-off: its metrics, its groups, and those on the front."""
    across, up = (labels.label(marks[side][0]) for side in ("x_metric", "y_metric"))
    roles = dict(marks["role"].value_counts().rows())
    trials = f" with {labels.counted(roles['trial'], 'trial')}" if "trial" in roles else ""
    references = marks.filter(role="reference")
    compared = f", and for reference {_named(references)}" if references.height else ""
    groups = labels.counted(roles["group"], "group")
    front = marks.filter("pareto").sort("x", maintain_order=True)
    best = f"; no other group beats {_named(front)}" if front.height else ""
    return labels.sentence(f"{up} against {across}, {groups}{trials}{compared}{best}")


def sweep_pareto(marks: pl.DataFrame) -> str:
    """Describe two metrics over a choice: the values of the choice, its groups, references and front."""
    across, up = (labels.label(marks[side][0]) for side in ("x_metric", "y_metric"))
    points, references = marks.filter(role="group"), marks.filter(role="reference")
    values = points["at"].unique(maintain_order=True)
    curves = points["curve"].n_unique()
    groups = f", {labels.counted(curves, 'group')}" if curves > 1 else ""
    reach = f"from {values[0]} to {values[-1]} in {labels.counted(len(values), 'value')}"
    choice = labels.label(marks["choice"][0])
    compared = f"; for reference {_named(references)}" if references.height else ""
    front = marks.filter("pareto")
    best = f"; no other point beats {_named(front)}" if front.height else ""
    return labels.sentence(
        f"{across} and {up} over {choice}, {reach}{groups}, and one against the other{compared}{best}"
    )


def _named(marks: pl.DataFrame) -> str:
    """Return the first groups, each with both estimates."""
    names = [f"{row['group']} ({row['text']})" for row in marks.head(_MOST_NAMED).iter_rows(named=True)]
    return ", ".join(names) + (f" and {marks.height - _MOST_NAMED} more" if marks.height > _MOST_NAMED else "")


def reliability(marks: pl.DataFrame) -> str:
    """Describe a reliability diagram: how often the least and the most confident answers of each group were right."""
    groups = []
    for part in marks.partition_by("group", maintain_order=True):
        low, high = part.row(0, named=True), part.row(-1, named=True)
        groups.append(
            f"{part['group'][0]}: where {labels.number(low['x'], rate=True)} sure {low['text']} right, "
            f"where {labels.number(high['x'], rate=True)} sure {high['text']} right"
        )
    more = f"; and {labels.counted(len(groups) - 3, 'more group')}" if len(groups) > 3 else ""
    return labels.sentence(f"confidence against what was right, {'; '.join(groups[:3])}{more}")


def timeline(marks: pl.DataFrame, outcome: str | None = None) -> str:
    """Describe the timeline of a rollout: its turns or steps by state, and the first success."""
    turns = marks.filter(mark="turn")
    if turns.is_empty():
        return labels.sentence(f"timeline of {labels.counted(marks.height, 'step')}: {_states(marks)}")
    successes = turns.filter(state="success")
    first = f", first success in turn {successes['turn'][0]}" if successes.height else ""
    calls = marks.filter(mark="tool").height
    tools = f", {labels.counted(calls, 'call')} of tools" if calls else ""
    told = turns.filter(pl.col("state") != "turn")
    states = f": {_states(told)}" if told.height else ""
    judged = f"; outcome: {outcome}" if outcome and (turns["state"] == "turn").any() else ""
    return labels.sentence(f"timeline of {labels.counted(turns.height, 'turn')}{states}{first}{tools}{judged}")


def trace_tree(marks: pl.DataFrame) -> str:
    """Describe the tree of a rollout: its size and depth, and its rows by state or kind."""
    rows = labels.counted(marks.height, "row")
    return labels.sentence(f"a tree of {rows}, {max(marks['depth']) + 1} deep: {_states(marks)}")


def _states(marks: pl.DataFrame) -> str:
    """Count the rows of each state or kind, in the order of states, then by name."""
    counts = dict(marks["state"].value_counts().rows())
    order = dict.fromkeys([*(name for name in one_rollout.STATES if name in counts), *sorted(counts)])
    return ", ".join(f"{counts[name]} {name}" for name in order)
