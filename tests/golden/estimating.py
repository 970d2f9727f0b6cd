"""Cases of what is measured and estimated: every table as it is, and a few tables with every option."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from golden.stored import Cases, Result  # type: ignore[import-not-found]
from golden.tables import BASE, NAMES, TREES, rollouts_of, trained, truth_of, turns_of  # type: ignore[import-not-found]

import rollwise as rw
from rollwise import metrics as m

FEW = 400
"""Resamples, where draws are needed."""

METHODS = (
    *("wilson", "exact", "jeffreys", "agresti-coull", "t", "normal", "bootstrap", "bca"),
    *("percentile", "basic", "studentized"),
)

SUMMARIES: dict[str, dict[str, Any]] = {
    "two columns": {"by": ["target", "category"]},
    "all statistics": {"statistics": ["mean", "median", "std", "min", "max", "q05", "q90", "restricted_mean"]},
    "three levels": {"level": [0.5, 0.9, 0.99]},
    "goals weigh the same": {"weighting": "goal"},
    "turns weigh the same": {"weighting": "turn"},
    "rollouts are independent": {"cluster": None},
    "goals are independent": {"cluster": "goal"},
    "categories are independent": {"cluster": "category"},
    "goals and tasks": {"cluster": ("goal", "task")},
    "unjudged dropped": {"unjudged": "drop", "metrics": "attack_success"},
    "unjudged censored": {"unjudged": "censor", "metrics": "attack_success"},
    "strata": {"strata": "category", "method": "percentile"},
    "margins": {"by": ["target", "category"], "margins": True, "metrics": "attack_success"},
    "merged": {"by": "target", "merge": True},
}
CLAIMS = {
    "bounds": ["attack success < 40%", "worst at least 0.1"],
    "figures": ["attack success = 25%", "attack success = 3/8", "attack success = 77.77%"],
}
"""Claims that are audited, by name of the case."""


def summary(name: str, **options: Any) -> Callable[[], Result]:
    """A summary of a table."""
    return lambda: rw.summarize(rollouts_of(name), **({"resamples": FEW, "seed": 3} | options))


def measured(name: str) -> pl.DataFrame:
    """Every metric of rollouts, of trees those of their paths."""
    turns = rw.rollout.paths(turns_of(name)) if name in TREES else turns_of(name)
    reached = m.success_within(2)
    worst, last, mean, total = m.highest("score"), m.final("score"), m.average("score"), m.total("score")
    return rw.measure(turns, *m.ALL, reached, worst=worst, last=last, mean=mean, total=total)


def measure_cases() -> Cases:
    """Measures of every table, of the paths of trees, and what a simulation holds to be true."""
    cases: Cases = {f"measure/{name}": lambda name=name: measured(name) for name in NAMES}
    for name in TREES:
        cases[f"measure/paths of {name}"] = lambda name=name: rw.measure(rw.rollout.paths(turns_of(name)))
    cases["measure/paths written out"] = lambda: rw.rollout.paths(turns_of("deep tree"))
    cases["measure/first turn with a high score"] = lambda: rw.measure(
        turns_of("many endings"), m.first_turn(pl.col("score") > 0.4, name="first"), m.time_to(pl.col("score") > 0.4)
    )
    cases["measure/lazy"] = lambda: rw.measure(turns_of("plain").lazy(), m.attack_success(), m.num_turns()).collect()
    cases["measure/training"] = trained
    for name in ("plain", "tasks", "tree", "erring judge", "attempts stop", "hazard by turn"):
        cases[f"measure/truth of {name}"] = lambda name=name: truth_of(name)
    return cases


def summary_cases() -> Cases:
    """Summaries of every table, and of a few tables with every option."""
    cases: Cases = {f"summarize/{name}": summary(name, by="target") for name in NAMES}
    for option, options in SUMMARIES.items():
        for name in ("plain", "unjudged turns", "tasks"):
            cases[f"summarize/{option}, {name}"] = summary(name, **options)
    for method in METHODS:
        for name in ("plain", "unequal attempts"):
            metrics = ["attack_success", "num_turns", "worst"]
            cases[f"summarize/{method}, {name}"] = summary(name, method=method, metrics=metrics)
    for method in ("auto", "bootstrap"):
        cases[f"summarize/medians by {method}"] = summary(
            "many endings", method=method, metrics=["num_turns", "worst"], statistics=["median", "q90"], by="target"
        )
    return cases


def correlation(turns: np.ndarray, worst: np.ndarray) -> float:
    """A statistic of one's own."""
    return float(np.corrcoef(turns, worst)[0, 1])


def mean_ratio(turns: np.ndarray, worst: np.ndarray, axis: int = -1) -> Any:
    """A statistic of one's own for many draws at once."""
    return worst.mean(axis=axis) / turns.mean(axis=axis)


def aggregate_cases() -> Cases:
    """Robust means, profiles, bootstraps of one's own, training, gates and choices."""
    cases: Cases = {}
    for name in BASE:
        frame = lambda name=name: rollouts_of(name)  # noqa: E731  # computed when the case is
        cases[f"aggregate/iqm, {name}"] = lambda frame=frame: rw.summarize(
            frame(),
            metrics=["attack_success", "worst"],
            statistics=["iqm", "optimality_gap"],
            by="target",
            resamples=FEW,
        )
        cases[f"aggregate/profile, {name}"] = lambda frame=frame: rw.comparisons.profile(frame(), by="target")
        cases[f"aggregate/bootstrap, {name}"] = lambda frame=frame: rw.summarize(
            frame(),
            statistics={"correlation": correlation},
            metrics=["num_turns", "worst"],
            resamples=FEW,
            seed=1,
        )
        cases[f"aggregate/gate, {name}"] = lambda frame=frame: rw.gate(
            frame(), ["attack_success < 0.5", "attack_success < 5%", "median(num_turns) >= 2"], by="target"
        )
        cases[f"aggregate/gate without unknown, {name}"] = lambda frame=frame: rw.gate(
            frame(), "attack_success <= 0.3", unjudged="drop"
        )
    plain = lambda: rollouts_of("plain")  # noqa: E731  # computed when the case is
    attempts: dict[str, Any] = {"metrics": "worst", "resamples": FEW}
    cases["aggregate/iqm of attempts"] = lambda: rw.summarize(
        plain(), statistics=["iqm", "optimality_gap"], method="within-goals", **attempts
    )
    cases["aggregate/iqm over goals"] = lambda: rw.summarize(
        plain(), weighting="goal", statistics=["iqm", "optimality_gap", "goal_mean", "goal_median"], **attempts
    )
    cases["aggregate/profile of a number"] = lambda: rw.comparisons.profile(
        plain(), metric="worst", band="simultaneous"
    )
    cases["aggregate/profile at thresholds"] = lambda: rw.comparisons.profile(
        plain(), at=[0.1, 0.5, 0.9], level=[0.8, 0.95]
    )
    for interval in ("percentile", "basic", "bca"):
        cases[f"aggregate/bootstrap {interval}"] = lambda interval=interval: rw.summarize(
            plain(),
            statistics={"mean_ratio": mean_ratio},
            metrics=["num_turns", "worst"],
            by="target",
            method=interval,
            resamples=FEW,
        )
    cases["aggregate/bootstrap vectorized"] = lambda: rw.summarize(
        plain(), statistics={"mean_ratio": mean_ratio}, metrics=["num_turns", "worst"], cluster=None, resamples=FEW
    )
    cases["aggregate/gate against a baseline"] = lambda: rw.gate(
        plain().filter(target="guarded"),
        ["attack_success <= baseline + 2%", "num_turns >= baseline - 1 for target=guarded"],
        baseline=plain().filter(target="base"),
        against_self=3,
    )
    cases["aggregate/gate of a summary"] = lambda: rw.gate(rw.summarize(plain(), by="target"), "attack_success < 0.4")
    for name, claims in CLAIMS.items():
        cases[f"aggregate/audit, {name}"] = lambda claims=claims: rw.audit(plain(), claims, by="target")
    for metric in ("attack_success", "worst"):
        cases[f"aggregate/training of {metric}"] = lambda metric=metric: rw.training(trained(), metric=metric)
    cases["aggregate/training by category"] = lambda: rw.training(trained(), by="category", level=[0.8, 0.95])
    cases["aggregate/best"] = lambda: rw.comparisons.best(
        rw.summarize(rollouts_of("three targets"), by=["target", "category"]), metric="attack_success", by="category"
    )
    cases["aggregate/changes"] = lambda: rw.changes(
        plain(), of="target", group="guarded", baseline="base", metric="attack_success"
    )
    cases["aggregate/pareto"] = lambda: rw.comparisons.pareto(
        rollouts_of("three targets")
        .group_by("target", "goal", maintain_order=True)
        .agg(pl.mean("attack_success", "num_turns", "worst")),
        {"attack_success": "lower", "num_turns": "higher"},
        by="target",
    )
    cases["aggregate/sweep"] = lambda: rw.rollout.sweep({"a": [1, 2, 3], "b": {"c": ["x", "y"], "d": 0.5}})
    cases["aggregate/random sweep"] = lambda: rw.rollout.sweep(
        {"a": list(range(20)), "b": list("xyz")}, strategy="random", n=8, seed=2
    )
    return cases
