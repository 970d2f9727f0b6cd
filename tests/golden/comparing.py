"""Cases of contrasts, curves, attempts, forecasts, plans, portfolios and how far judges are to be trusted."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from golden.stored import Cases, Result  # type: ignore[import-not-found]
from golden.tables import BASE, NAMES, TREES, rollouts_of, truth_of, turns_of  # type: ignore[import-not-found]

import rollwise as rw
from rollwise import metrics as m

FEW = 400
"""Resamples, where draws are needed."""

PAIRED_METHODS = ("newcombe", "bonett-price", "t", "bootstrap", "bca", "percentile", "basic", "studentized")

CONTRASTS: dict[str, dict[str, Any]] = {
    "all pairs": {"baseline": None},
    "unpaired": {"paired": False},
    "by category": {"by": "category"},
    "rollouts are independent": {"cluster": None},
    "unjudged dropped": {"unjudged": "drop", "metrics": "attack_success"},
    "two levels": {"level": [0.8, 0.99]},
    "improvement and median": {"statistics": ["improvement", "median", "q90"], "metrics": ["num_turns", "worst"]},
    "by": {"adjust": "by"},
    "bh": {"adjust": "bh"},
    "max-t": {"adjust": "max-t"},
    "not adjusted": {"adjust": None},
}

COMPARED = (*BASE, "three attacks", "targets and attacks", "single attempts", "benign", "many errors", "few goals")


def contrast(name: str, **options: Any) -> Callable[[], Result]:
    """A contrast of the targets of a table."""
    usual: dict[str, Any] = {"of": "target", "baseline": "base", "resamples": FEW, "seed": 2}
    return lambda: rw.contrast(rollouts_of(name), **(usual | options))


def contrast_cases() -> Cases:
    """Contrasts of tables with several targets, and every option on a few."""
    cases: Cases = {f"contrast/{name}": contrast(name) for name in COMPARED}
    for option, options in CONTRASTS.items():
        for name in ("three targets", "unjudged turns"):
            cases[f"contrast/{option}, {name}"] = contrast(name, **options)
    for method in PAIRED_METHODS:
        for name in ("plain", "single attempts"):
            cases[f"contrast/{method}, {name}"] = contrast(name, method=method, metrics=["attack_success", "worst"])
    cases["contrast/attacks"] = contrast("three attacks", of="attack", baseline="ask", by="target")
    cases["contrast/no such baseline"] = contrast("plain", baseline="bas")
    return cases


def curve_cases() -> Cases:
    """Curves of every table, of all kinds, axes and bands, and what compares them."""
    cases: Cases = {f"curve/{name}": lambda name=name: rw.curve(rollouts_of(name), by="target") for name in NAMES}
    for kind in ("success", "survival", "hazard", "incidence"):
        for name in ("many endings", "unjudged turns", "tasks"):
            cases[f"curve/{kind}, {name}"] = lambda kind=kind, name=name: rw.curve(
                rollouts_of(name), kind=kind, by="target", level=[0.8, 0.95]
            )
    for kind in ("success", "survival", "incidence"):
        cases[f"curve/simultaneous {kind}"] = lambda kind=kind: rw.curve(
            rollouts_of("many endings"), kind=kind, band="simultaneous", seed=4
        )
    for axis in ("target_call", "tokens", "seconds"):
        cases[f"curve/over {axis}"] = lambda axis=axis: rw.curve(
            rw.measure(turns_of("with text"), m.time_to_success(), m.spent_to_success(axis)), axis=axis
        )
    cases["curve/merged"] = lambda: rw.curve(rollouts_of("many endings"), by="target", merge=True)
    cases["curve/independent rollouts"] = lambda: rw.curve(rollouts_of("many endings"), cluster=None)
    cases["curve/nothing competes"] = lambda: rw.curve(rollouts_of("many endings"), competing=())
    cases["curve/of refusal"] = lambda: rw.curve(
        rw.measure(turns_of("many endings"), m.time_to_refusal()), metric="time_to_refusal", by="target"
    )
    for name in (*BASE, "single attempts", "few goals"):
        between = {"of": "target", "baseline": "base"}
        cases[f"curve/difference, {name}"] = lambda name=name, between=between: rw.comparisons.curve_difference(
            rollouts_of(name), **between
        )
        cases[f"curve/test, {name}"] = lambda name=name, between=between: rw.comparisons.curve_test(
            rollouts_of(name), **between
        )
    for name in (*BASE, "all equal", "always refused"):
        cases[f"curve/trajectory, {name}"] = lambda name=name: rw.trajectory(turns_of(name), by="target", after=1)
    cases["curve/trajectory by turn"] = lambda: rw.trajectory(
        turns_of("no stop"), event=pl.col("turn") == 1, before=0, after=4
    )
    return cases


def question_cases() -> Cases:
    """What several attempts reach, how many goals are needed, what attacks add, and what a table allows."""
    cases: Cases = {f"doctor/{name}": lambda name=name: rw.doctor(turns_of(name)) for name in NAMES}
    several = ("many attempts", "attempts stop", "attempts stop early", "one goal", "all success", "no success")
    for name in (*BASE, *several):
        cases[f"attempts/{name}"] = lambda name=name: rw.attempts(rollouts_of(name), by="target")
        cases[f"attempts/forecast, {name}"] = lambda name=name: rw.forecast(
            rollouts_of(name), k=[1, 5, 20, 100], by="target"
        )
    for stopped in (True, False):
        cases[f"attempts/stopped {stopped}"] = lambda stopped=stopped: rw.attempts(
            rollouts_of("attempts stop"), stopped=stopped, level=[0.8, 0.95]
        )
    cases["attempts/best of a number"] = lambda: rw.attempts(rollouts_of("many attempts"), metric="worst", k=[1, 2, 4])
    cases["attempts/of the task"] = lambda: rw.attempts(rollouts_of("tasks with attempts"), metric="task_success")
    cases["plan/goals"] = lambda: rw.plan(rate=0.2, icc=0.3, goals=[10, 50, 200], attempts=[1, 5])
    cases["plan/difference"] = lambda: rw.plan(rate=0.2, icc=0.1, difference=-0.1, attempts=[1, 4], power=0.9)
    cases["plan/below"] = lambda: rw.plan(below=0.01, icc=0.2, attempts=[1, 3], level=0.9)
    for name in BASE:
        base = pl.col("target") == "base"
        cases[f"plan/pilot, {name}"] = lambda name=name, base=base: rw.plan(
            rollouts_of(name).filter(base), goals=[20, 100], attempts=[1, 5], difference=0.05
        )
    for name in ("three attacks", "targets and attacks", "plain"):
        cases[f"portfolio/{name}"] = lambda name=name: rw.comparisons.portfolio(rollouts_of(name), by="target")
        cases[f"portfolio/targets, {name}"] = lambda name=name: rw.comparisons.portfolio(
            rollouts_of(name), members="target"
        )
    for name in ("three targets", "unequal attempts", "unjudged turns"):
        cases[f"rank/{name}"] = lambda name=name: rw.rank(rollouts_of(name), of="target", metric="attack_success")
    cases["rank/attacks, a number"] = lambda: rw.rank(
        rollouts_of("three attacks"), of="attack", by="target", metric="num_turns", better="lower"
    )
    for name in ("tasks", "tasks with attempts", "benign", "plain"):
        cases[f"portfolio/tradeoff, {name}"] = lambda name=name: rw.comparisons.tradeoff(rollouts_of(name), by="target")
    return cases


# ── judges ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def verdicts() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Verdicts of three judges on the turns of a table, some of them missing, and the truth about these turns."""
    chance = np.random.default_rng(5)
    units = turns_of("erring judge").select("rollout_id", "turn", "goal", "target", "true_succeeded").drop_nulls()
    truth = units["true_succeeded"].to_numpy()
    parts = []
    for judge, wrong in (("careful", 0.05), ("hasty", 0.25), ("odd", 0.45)):
        said = np.where(chance.random(truth.size) < wrong, ~truth, truth).astype(float)
        said[chance.random(truth.size) < 0.05] = np.nan
        parts.append(units.drop("true_succeeded").with_columns(judge=pl.lit(judge), value=pl.Series(said)))
    return pl.concat(parts), units.select("rollout_id", "turn", label="true_succeeded")


def agreement(*, labels: bool = True, **options: Any) -> Callable[[], Result]:
    """How far the judges agree."""

    def case() -> Result:
        said, truth = verdicts()
        return rw.judges.agreement(said, truth if labels else None, **({"resamples": FEW, "seed": 1} | options))

    return case


def rollout_labels() -> pl.DataFrame:
    """The truth about every third rollout of the erring judge."""
    really = pl.col("true_succeeded").any().alias("label")
    truth = turns_of("erring judge").group_by("rollout_id", maintain_order=True).agg(really)
    labels: pl.DataFrame = truth.gather_every(3)
    return labels


def turn_labels() -> pl.DataFrame:
    """The truth about every second turn of the erring judge."""
    judged = turns_of("erring judge").select("rollout_id", "turn", "succeeded", label="true_succeeded")
    labels: pl.DataFrame = judged.drop_nulls().gather_every(2)
    return labels


def judge_cases() -> Cases:
    """Agreement of judges, and rates and curves without their errors."""
    cases: Cases = {
        "judges/agreement": agreement(),
        "judges/agreement without labels": agreement(labels=False),
        "judges/agreement by target": agreement(by="target", statistics=["kappa", "sensitivity", "specificity"]),
        "judges/agreement by the bootstrap": agreement(method="bootstrap", level=[0.8, 0.95]),
        "judges/abstentions are a category": agreement(
            abstentions="category", statistics=["agreement", "kappa", "alpha"]
        ),
        "judges/independent verdicts": agreement(cluster=None, statistics=["agreement", "ac1", "prevalence"]),
        "judges/truth": lambda: truth_of("erring judge"),
    }
    erring = lambda: rollouts_of("erring judge")  # noqa: E731  # computed when the case is
    for method in ("rogan-gladen", "by-verdict"):
        for by in (None, "target"):
            cases[f"judges/correct, {method}, by {by}"] = lambda method=method, by=by: rw.judges.correct(
                erring(), rollout_labels(), method=method, by=by
            )
    cases["judges/correct, pooled"] = lambda: rw.judges.correct(erring(), rollout_labels(), by="target", pool=True)
    for kind in ("success", "survival"):
        cases[f"judges/curve corrected, {kind}"] = lambda kind=kind: rw.judges.correct_curve(
            erring(), turn_labels(), kind=kind, by="target"
        )
    cases["judges/curve corrected, pooled"] = lambda: rw.judges.correct_curve(
        erring(), turn_labels(), by="target", pool=True, level=[0.8, 0.95]
    )
    cases["judges/labels joined"] = lambda: dict(
        zip(
            ("turns", "joined"),
            rw.judges.join_labels(turns_of("erring judge"), turn_labels().drop("succeeded")),
            strict=True,
        )
    )
    for name in TREES:
        cases[f"judges/rates of paths, {name}"] = lambda name=name: rw.summarize(
            rollouts_of(name), cluster="tree", resamples=FEW
        )
    return cases
