"""All groups are estimated at once: each has the result that it has alone."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rollwise as rw


def table(seed: int, groups: int = 7, rollouts: int = 260) -> pl.DataFrame:
    """Groups of unequal size with crossed, nested, single and unknown goals and tasks, nulls, errors, and unjudged turns."""
    rng = np.random.default_rng(seed)
    group = np.sort(rng.choice(groups, rollouts, p=rng.dirichlet(np.ones(groups))))
    turns = rng.integers(1, 9, rollouts)
    judged = np.where(rng.random(rollouts) < 0.15, np.maximum(turns - 2, 0), turns)
    success = rng.random(rollouts) < 0.1 + 0.1 * group
    unknown = (judged < turns) & ~success
    return pl.DataFrame(
        {
            "rollout_id": [f"r{i:04d}" for i in range(rollouts)],
            "target": [f"t{i}" for i in group],
            "goal": [None if rng.random() < 0.03 else f"g{rng.integers(2 + 5 * i)}" for i in group],
            "task": ["s" if i % 2 else f"s{rng.integers(4)}" for i in group],
            "ending": rng.choice(["budget", "success", "error"], rollouts, p=[0.5, 0.45, 0.05]),
            "outcome": [None if u else "success" if s else "failure" for u, s in zip(unknown, success, strict=True)],
            "num_turns": turns,
            "num_judged": judged,
            "attack_success": [None if u else bool(s) for u, s in zip(unknown, success, strict=True)],
            "grade": np.where(rng.random(rollouts) < 0.05, np.nan, rng.gamma(1.0, 2.0, rollouts)),
            "fraction": np.where(group == 3, 1.0, rng.integers(0, 2, rollouts)).astype(float),
        }
    ).with_columns(
        time_to_success=pl.struct(duration=pl.Series(np.maximum(judged, 1)), observed=pl.Series(success & ~unknown))
    )


OPTIONS: list[dict[str, Any]] = [
    {},
    {"weighting": "goal"},
    {"weighting": "turn", "cluster": "goal"},
    {"cluster": None},
    {"cluster": ("goal", "task")},
    {"method": "t", "statistics": ["mean", "std", "q90"]},
    {"method": "percentile", "cluster": "goal", "statistics": ["mean", "median"]},
    {"method": "bootstrap", "cluster": ("goal", "task")},
    {"method": "studentized", "cluster": "task"},
    {"method": "exact"},
    {"unjudged": "censor", "level": [0.8, 0.95]},
]


@pytest.mark.integration
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_group_is_not_changed_by_others(options: dict[str, Any]) -> None:
    """Texts and counts are equal, and so are numbers, but for the last digits of replicates from one matrix product."""
    rollouts = table(1)
    every = rw.summarize(rollouts, by="target", resamples=2000, **options)
    alone = [rw.summarize(part, by="target", resamples=2000, **options) for part in rollouts.partition_by("target")]
    assert_frame_equal(every, pl.concat(alone), rel_tol=1e-12, abs_tol=1e-13)
    drawn = "bootstrap" if "method" not in options or options["method"] in {"percentile", "bootstrap"} else "no draws"
    exact = pl.col("method").str.contains(drawn).fill_null(value=False).not_()
    assert every.filter(exact).equals(pl.concat(alone).filter(exact))


@pytest.mark.integration
def test_no_group_and_an_empty_group() -> None:
    """Without rollouts there is no group; without values there is a row that says so."""
    rollouts = table(2)
    assert rw.summarize(rollouts.clear(), by="target", metrics="grade").is_empty()
    (row,) = rw.summarize(rollouts.clear(), metrics="attack_success").rows(named=True)
    assert (row["estimate"], row["n"], row["reason"]) == (None, 0, "no values")
    nulls = rollouts.with_columns(grade=pl.when(pl.col("target") == "t2").then(None).otherwise("grade"))
    means = rw.summarize(nulls, by="target", metrics="grade", statistics="mean")
    row = means.row(by_predicate=pl.col("target") == "t2", named=True)
    assert (row["estimate"], row["low"], row["n"], row["reason"]) == (None, None, 0, "no values")
