"""Trees of turns: an attack that tries several prompts at once, each of which continues separately."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, counted
from rollwise.rollout.simulation.course import hazards, planned
from rollwise.rollout.simulation.design import BoolArray, Design, FloatArray, Group, IntArray, beta_nodes
from rollwise.rollout.simulation.truth import COLUMNS
from rollwise.schema.named import columns_named

MOST_NODES = 20_000_000


def check(design: Design) -> None:
    """Raise an error for options without a meaning in a tree, where only success ends a branch."""
    ended = [name for name in ("give_up", "target_ends", "error", "benign") if getattr(design, name)]
    ended += ["unjudged_share"] if design.unjudged else []
    ended += ["judge"] if design.judge else []
    ended += ["tasks"] if design.tasks else []
    if ended:
        raise ArgumentError(
            f"simulate: branches={design.branches} grows trees, which have no {', '.join(ended)}; set them to 0 or None"
        )
    nodes = sum(design.branches**turn for turn in range(1, design.turns + 1))
    rollouts = sum(design.goals.values()) * design.attempts[1] * len(design.targets) * len(design.attacks)
    if nodes * rollouts > MOST_NODES:
        raise ArgumentError(
            f"simulate: {counted(design.branches, 'branch')} over {counted(design.turns, 'turn')} "
            f"make up to {nodes * rollouts:,} nodes; take fewer branches, turns or goals"
        )


def trees(design: Design) -> pl.DataFrame:
    """Return all rollouts as TURNS with one row per node, group by group; nodes are numbered level by level."""
    return pl.concat([_group(design, group) for group in design.groups()], rechunk=True)


def _group(design: Design, group: Group) -> pl.DataFrame:
    goal, task, attempt = planned(design, group)
    hazard = hazards(design, group, goal, task)
    levels = list(_levels(design, group, hazard))
    tree, parent, won = (np.concatenate(parts) for parts in zip(*((t, p, w) for t, p, w in levels), strict=True))
    depth = np.repeat(np.arange(1, len(levels) + 1), [level[0].size for level in levels])
    # The nodes come level by level over all trees: sort them by tree, and number them within each tree.
    order = np.lexsort((np.arange(tree.size), tree))
    number = np.empty(tree.size, dtype=np.int64)
    first = np.searchsorted(tree[order], np.arange(goal.size))
    number[order] = np.arange(tree.size) - first[tree[order]] + 1
    above = np.where(parent >= 0, number[parent], 0)[order]  # 0: a root, null in the table
    run = f"simulation-{design.seed}"
    broken = np.bincount(tree, weights=won, minlength=goal.size) > 0
    facts = pl.DataFrame(
        {
            "run": [run] * goal.size,
            "target": [group.target] * goal.size,
            "attack": [group.attack] * goal.size,
            "goal": [f"{group.category}-{number + 1:03d}" for number in goal],
            "category": [group.category] * goal.size,
            "attempt": pl.Series(attempt, dtype=pl.Int32),
            "outcome": pl.Series(np.where(broken, schema.SUCCESS, schema.FAILURE), dtype=schema.OUTCOMES),
            "ending": pl.Series(np.where(broken, schema.SUCCESS, schema.BUDGET), dtype=schema.ENDINGS),
        }
    ).with_columns(
        source=pl.lit("simulation"),
        rollout_id=pl.concat_str("run", "target", "attack", "goal", "attempt", separator="/"),
    )
    turns = facts.select(pl.all().gather(tree[order])).with_columns(
        turn=pl.Series(depth[order], dtype=pl.Int32),
        succeeded=pl.Series(won[order]),
        score=pl.Series(np.where(won[order], 0.75, 0.25)),
        node_id=pl.Series(number[order]).cast(pl.String),
        parent_id=pl.Series(above).replace(0, None).cast(pl.String),
        pruned=pl.lit(value=False),
        target_call=pl.Series(number[order], dtype=pl.Int32),
    )
    return turns.select(columns_named(name for name in schema.TURNS.names if name in turns.columns))


def _levels(design: Design, group: Group, hazard: FloatArray) -> Iterator[tuple[IntArray, IntArray, BoolArray]]:
    """Yield tree, row number of the parent (-1: none) and success of each node, one level at a time."""
    draw = design.draw(group, "success")
    tree, start = np.repeat(np.arange(hazard.shape[0]), design.branches), 0
    above = np.full(tree.size, -1)
    for turn in range(design.turns):
        won = draw.random(tree.size) < hazard[tree, turn]
        yield tree, above, won
        open_nodes = np.flatnonzero(~won)  # a success ends its branch
        above = np.repeat(open_nodes + start, design.branches)
        start += tree.size
        tree = np.repeat(tree[open_nodes], design.branches)


def truth(design: Design) -> pl.DataFrame:
    """Return the exact share of trees with a success within so many turns: 1 - E Π (1 - h(t))^(branches^t)."""
    rows: list[tuple[object, ...]] = []
    for target, attack in product(design.targets, design.attacks):
        parts = {category: _within(design, Group(target, attack, category)) for category in design.categories}
        goals = np.array(list(design.goals.values()))
        pooled = np.average(np.stack(list(parts.values())), axis=0, weights=goals)
        for category, shares in ((None, pooled), *parts.items()):
            about = (target, attack, category)
            rows.append((*about, "attack_success", "mean", None, None, shares[-1]))
            rows += [(*about, f"success_within_{k}", "mean", None, k, share) for k, share in enumerate(shares, 1)]
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def _within(design: Design, group: Group) -> FloatArray:
    mean = design.hazards(group)
    peak = float(mean.max())
    level, weight = beta_nodes(400, peak, design.icc)
    hazard = np.multiply.outer(level, mean / peak if peak else mean)
    # log(1 - h) is summed instead of multiplying, as a level has up to branches^turns nodes; log(0) is -inf, exp gives 0.
    nodes = float(design.branches) ** np.arange(1, design.turns + 1)
    with np.errstate(divide="ignore"):
        unbroken = np.exp(np.cumsum(nodes * np.log1p(-np.minimum(hazard, 1.0)), axis=1))
    return 1 - weight @ unbroken
