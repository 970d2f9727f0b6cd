"""TURNS -> the report's frames, by the public verbs: nothing on the page is computed elsewhere."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl

from turnwise import schema
from turnwise.errors import ArgumentError, meant
from turnwise.estimation.contrast import contrast
from turnwise.estimation.curve import curve
from turnwise.estimation.doctor import doctor, scores_in
from turnwise.estimation.profile import profile
from turnwise.estimation.summary import summarize
from turnwise.estimation.training import training
from turnwise.measurement.measure import measure
from turnwise.measurement.trees import measure_paths
from turnwise.metrics import EFFORT, OUTCOME, TIMING, final, total
from turnwise.schema.arguments import By, Cluster, names_of

USUAL_GROUPS = ("source", "target", "attack")
UNITS = {"attack_success": "goal", "task_success": "task"}
"""The rates, and what is tried again."""
SPENT = {"tokens_used": "tokens", "seconds_used": "seconds", "dollars_used": "cost_usd"}
"""What rollouts cost, and what its total is called."""
MOST_RUNS = 30
MOST_CELLS = 1000  # of category x attack
MOST_ARMS = 200  # values of a column that are compared with one another
ALL_PAIRS = 4  # with more, each is compared with one baseline
BASELINES = ("base", "baseline", "original", "vanilla", "undefended", "no_defense", "none", "control")
MOST_SCORES = 4  # that are followed over training
FEWEST_ATTEMPTS = 1.5  # on average: a few goals tried twice make no profile
POOLED = "all"  # what `summarize` calls a margin


@dataclass(frozen=True, slots=True)
class Frames:
    """Everything a report is drawn from; a frame without rows is left out of it.

    `summary` leaves out metrics that apply to no rollout of any group; it has no time to success, and `curve` is empty, where
    `doctor` says that the logs do not tell when a success came; `grid` is the SUMMARY of category x attack, where both vary;
    `contrasts` compares the values of each grouping column wherever they share goals or tasks; `profiles` is empty unless
    some goal was tried twice; `trained` is TRAINING over the column `step`, where `doctor` finds steps, of rewards where there
    is no verdict; `costs` has totals
    for each group; `doctor` is DOCTOR; `origins` has a row for each run that was read. A rollout that is a tree stands in
    `rollouts` with one row for each path.
    """

    by: tuple[str, ...]
    turns: pl.DataFrame
    rollouts: pl.DataFrame
    summary: pl.DataFrame
    curve: pl.DataFrame
    grid: pl.DataFrame
    contrasts: pl.DataFrame
    profiles: pl.DataFrame
    step: str | None
    trained: pl.DataFrame
    costs: pl.DataFrame
    doctor: pl.DataFrame
    origins: pl.DataFrame

    @property
    def verbs(self) -> tuple[Callable[..., Any], ...]:
        """The verbs whose results the report shows."""
        made = (
            (summarize, self.summary),
            (curve, self.curve),
            (contrast, self.contrasts),
            (profile, self.profiles),
            (training, self.trained),
        )
        return tuple(verb for verb, frame in made if frame.height)

    @property
    def files(self) -> tuple[tuple[str, pl.DataFrame], ...]:
        """The frames that are written beside the page, by name."""
        always = (("turns", self.turns), ("rollouts", self.rollouts), ("curve", self.curve), ("doctor", self.doctor))
        made = (
            ("contrast", self.contrasts),
            ("profile", self.profiles),
            ("training", self.trained),
            ("category_attack", self.grid),
            ("costs", self.costs),
        )
        return (*always, *(pair for pair in made if pair[1].height))

    @property
    def tree(self) -> bool:
        """Return whether rollouts are trees, whose paths are measured."""
        return schema.is_tree(self.turns)

    @property
    def rollout_count(self) -> int:
        """Rollouts that were read, a tree counted once."""
        return int(self.turns["rollout_id"].n_unique())

    @property
    def turn_count(self) -> int:
        """Turns of all rollouts."""
        return int(self.turns["turn"].count())


def frames(turns: pl.DataFrame, *, by: By | None, cluster: Cluster, level: float, seed: int) -> Frames:
    """The report's frames for TURNS.

    Parameters
    ----------
    turns
        TURNS.
    by
        Columns to group by; None takes those of source, target and attack that vary, else the run.
    cluster, level, seed
        As in `summarize`.

    Raises
    ------
    ArgumentError
        Where a column to group by is not there.
    """
    names = () if by is None else names_of(by)
    for name in names:
        if name not in turns.columns:
            raise ArgumentError(f"report: there is no column {name!r} to group by; {meant(name, turns.columns)}")
    numeric = [
        name for name in names if schema.kind_of(turns.schema[name]) is not None and name not in schema.ROLLOUTS.names
    ]
    allowed = doctor(turns)
    step = _step(turns, allowed)
    trained, kept = schema.empty(schema.TRAINING), list(dict.fromkeys([*numeric, *([step] if step else [])]))
    if schema.is_tree(turns):
        rollouts = measure_paths(turns, *(metric.__name__ for metric in (*OUTCOME, *TIMING, *EFFORT)))
    else:
        rollouts = measure(turns, OUTCOME, TIMING, EFFORT, keep=kept)
    groups = _usual_groups(rollouts, runs=step is None) if by is None else names
    if step is not None:
        trained = _trained(rollouts, list(UNITS), step, groups, cluster, level, seed)
        if trained.is_empty():  # trainers dump rewards, which nobody has called a success
            scored = measure(turns, [_of_score(name) for name in scores_in(turns)[:MOST_SCORES]], keep=kept)
            metrics = [name for name in scored.columns if name not in rollouts.columns]
            trained = _trained(scored, metrics, step, groups, cluster, level, seed)
        rollouts = rollouts if step in groups else rollouts.drop(step)
    timed = bool(allowed.filter(pl.col("valid"), analysis="attack success by turn").height)
    return Frames(
        by=groups,
        turns=turns,
        rollouts=rollouts,
        summary=_applicable(summarize(rollouts, by=groups, cluster=cluster, level=level, seed=seed), timed=timed),
        curve=_curve(rollouts, groups, cluster, level, timed=timed),
        grid=_grid(rollouts, cluster, level),
        contrasts=_contrasts(rollouts, groups, cluster, level, seed, step),
        profiles=_profiles(rollouts, groups, cluster, level),
        step=step,
        trained=trained,
        costs=pl.DataFrame() if schema.is_tree(turns) else _costs(rollouts, groups),  # paths share what they spent
        doctor=allowed,
        origins=_origins(rollouts),
    )


def _usual_groups(rollouts: pl.DataFrame, *, runs: bool) -> tuple[str, ...]:
    varying = tuple(name for name in USUAL_GROUPS if rollouts[name].n_unique() > 1)
    return varying or (("run",) if runs and 1 < rollouts["run"].n_unique() <= MOST_RUNS else ())


def _step(turns: pl.DataFrame, allowed: pl.DataFrame) -> str | None:
    """The column of steps of training, as the doctor's call names it; None where it finds none."""
    calls = allowed.filter(pl.col("valid"), analysis="rates by step of training")["call"].to_list()
    return next((name for name in turns.columns if any(f"step={name!r})" in call for call in calls)), None)


def _of_score(name: str) -> pl.Expr:
    """Combine the scores of a rollout: rewards are summed, of others the last counts."""
    return total("reward") if name == "reward" else final(name)


def _trained(
    rollouts: pl.DataFrame,
    metrics: list[str],
    step: str,
    by: tuple[str, ...],
    cluster: Cluster,
    level: float,
    seed: int,
) -> pl.DataFrame:
    """TRAINING of each rate or reward that is known."""
    rest = tuple(name for name in by if name != step)
    made = [
        training(assessed(rollouts, metric), metric=metric, step=step, by=rest, cluster=cluster, level=level, seed=seed)
        for metric in metrics
        if assessed(rollouts, metric)[step].drop_nulls().n_unique() > 1
    ]
    return pl.concat(made) if made else schema.empty(schema.TRAINING)


def _applicable(summary: pl.DataFrame, *, timed: bool) -> pl.DataFrame:
    """The summary without groups that a metric does not apply to, and without what no log of any group counts or times."""
    possible = summary.select(pl.sum_horizontal("n", "n_error", "n_undetermined", "n_missing") > 0).to_series()
    wanted = summary["metric"].is_in(["attack_success", "time_to_success"])
    counted = summary.select((pl.col("n").sum() > 0).over("metric")).to_series()
    told = (summary["metric"] != "time_to_success") | timed
    return summary.filter(possible & told & (wanted | counted))


def _curve(rollouts: pl.DataFrame, by: tuple[str, ...], cluster: Cluster, level: float, *, timed: bool) -> pl.DataFrame:
    found = curve(rollouts.drop_nulls("time_to_success"), by=by, cluster=cluster, level=level)
    return found if timed else found.clear()


def _grid(rollouts: pl.DataFrame, cluster: Cluster, level: float) -> pl.DataFrame:
    """SUMMARY of category x attack with its margins."""
    cells = ("category", "attack")
    told = rollouts.drop_nulls([*cells, "attack_success"])
    told = told.filter(pl.col("attack") != schema.NO_ATTACK)
    sides = [told[name].n_unique() for name in cells]
    if min(sides) < 2 or math.prod(sides) > MOST_CELLS:
        return schema.empty(schema.SUMMARY)
    pooled = not any((told[name] == POOLED).any() for name in cells)
    attacked = rollouts.filter(pl.col("attack") != schema.NO_ATTACK).drop_nulls(cells)
    return summarize(attacked, by=cells, metrics="attack_success", cluster=cluster, level=level, margins=pooled)


def assessed(rollouts: pl.DataFrame, metric: str) -> pl.DataFrame:
    """The rollouts of which the metric is known, for that of attacks only those that were attacked."""
    told = rollouts.drop_nulls(metric)
    if metric == "attack_success":
        told = told.filter((pl.col("attack") == schema.NO_ATTACK).not_().fill_null(value=True))
    return told


def _contrasts(
    rollouts: pl.DataFrame, by: tuple[str, ...], cluster: Cluster, level: float, seed: int, step: str | None
) -> pl.DataFrame:
    """CONTRAST of the values of each grouping column, within the others, where both arms tried the same goals or tasks.

    Steps of training have their changes in TRAINING.
    """
    found = []
    for metric, unit in UNITS.items():
        told = assessed(rollouts, metric)
        for of in (name for name in by if name not in {unit, step}):
            rest = tuple(name for name in by if name != of)
            for arms in _families(told.select(pl.col(of).cast(pl.String), unit).drop_nulls(), of, unit):
                named = next((arm for word in BASELINES for arm in arms if arm.lower() == word), None)
                made = contrast(
                    told.filter(pl.col(of).cast(pl.String).is_in(arms)), of=of, by=rest, metrics=metric,
                    cluster=unit if cluster == "auto" else cluster, level=level, seed=seed,
                    baseline=named or (None if len(arms) <= ALL_PAIRS else arms[0]),
                )  # fmt: skip
                made = made.with_columns(pl.lit(None, rollouts.schema[of]).alias(of))
                found.append(made.filter(pl.col("n_pairs") > 0).select(*by, *schema.CONTRAST.names))
    return pl.concat(found) if found else schema.empty(schema.CONTRAST)


def _families(pairs: pl.DataFrame, of: str, unit: str) -> list[list[str]]:
    """Values of a column that share goals or tasks with one another, family by family."""
    families: list[tuple[list[str], set[str]]] = []
    for arm, units in pairs.group_by(of).agg(pl.col(unit).unique()).sort(of).iter_rows():
        near = [family for family in families if family[1].intersection(units)]
        families = [family for family in families if family not in near]
        families.append(
            ([name for family in near for name in family[0]] + [arm], set(units).union(*(one[1] for one in near)))
        )
    return [arms for arms, _ in families if 1 < len(arms) <= MOST_ARMS]


def _profiles(rollouts: pl.DataFrame, by: tuple[str, ...], cluster: Cluster, level: float) -> pl.DataFrame:
    """PROFILE of each rate whose goals (or tasks) were tried several times."""
    found = []
    for metric, unit in UNITS.items():
        known = rollouts.drop_nulls(metric)
        if not known.height or cluster is None:
            continue
        within = cluster if isinstance(cluster, str) and cluster != "auto" else unit
        made = profile(known, metric=metric, by=by, cluster=within, level=level)
        several = pl.col("attempts").max() >= FEWEST_ATTEMPTS
        found.append(made.filter(several.over(by) if by else several))
    return pl.concat(found) if found else schema.empty(schema.PROFILE)


def _costs(rollouts: pl.DataFrame, by: tuple[str, ...]) -> pl.DataFrame:
    """Return the total cost of each group, and the number of rollouts in each sum."""
    counted = [name for name in SPENT if rollouts[name].null_count() < rollouts.height]
    if not counted:
        return pl.DataFrame()
    sums = [
        total
        for name in counted
        for total in (
            pl.when(pl.col(name).count() > 0).then(pl.col(name).sum()).alias(SPENT[name]),
            pl.col(name).count().alias(f"n_{SPENT[name]}"),
        )
    ]
    made = [pl.len().alias("rollouts"), pl.col("attack_success").sum().alias("succeeded"), *sums]
    return rollouts.group_by(by, maintain_order=True).agg(made) if by else rollouts.select(made)


def _origins(rollouts: pl.DataFrame) -> pl.DataFrame:
    return (
        rollouts.group_by("source", "run", maintain_order=True)
        .agg(
            rollouts=pl.len(),
            turns=pl.col("num_turns").sum(),
            goals=pl.col("goal").drop_nulls().n_unique(),
            tasks=pl.col("task").drop_nulls().n_unique(),
            succeeded=(pl.col("outcome") == schema.SUCCESS).sum(),
            failed=(pl.col("outcome") == schema.FAILURE).sum(),
            undetermined=(pl.col("outcome") == schema.UNDETERMINED).sum(),
            errors=((pl.col("outcome") == schema.ERROR) | (pl.col("ending") == schema.ERROR))
            .fill_null(value=False)
            .sum(),
        )
        .sort("source", "run", nulls_last=True)
    )
