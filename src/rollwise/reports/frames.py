"""Frames of a report, computed by the public verbs: nothing on the page is computed elsewhere."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from rollwise import schema
from rollwise.choices import Unjudged
from rollwise.comparisons.profile import profile
from rollwise.errors import ArgumentError
from rollwise.estimation.attempts import attempts
from rollwise.estimation.contrast import contrast
from rollwise.estimation.curve import curve
from rollwise.estimation.doctor import findings
from rollwise.estimation.doctor_facts import Facts, step_in
from rollwise.estimation.summary import summarize
from rollwise.estimation.training import training
from rollwise.measurement.unused_verdicts import NOTE
from rollwise.reports.comparisons import UNITS, assessed, changes, contrasts, unit_in
from rollwise.reports.grouping import usual_groups, varying, with_detectors
from rollwise.reports.headline import Headline, headline
from rollwise.reports.rollouts import Rollouts, measured, numeric_columns
from rollwise.reports.same_goals import Shared, shared_goals
from rollwise.reports.scored import scored_in
from rollwise.reports.taxonomy import rates_by_taxonomy
from rollwise.schema.arguments import By, Cluster, check_by, check_one_value, names_of
from rollwise.schema.named import column_named, columns_named, values_named

SPENT = {"tokens_used": "tokens", "seconds_used": "seconds", "dollars_used": "cost_usd"}
"""Costs of rollouts, and the name of their totals."""
MOST_CELLS = 1000  # of category x attack
ATTEMPTS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100)  # numbers of attempts that are shown
MOST_TRAINED = 4  # most rewards that are shown over training
FEWEST_GOALS = 3  # of fewer, a share of goals says little
FEWEST_ATTEMPTS = 1.5  # attempts per goal on average: a few goals tried twice make no profile
_SHAPES = {
    "training": schema.TRAINING, "profile": schema.PROFILE, "contrasts": schema.CONTRAST, "success-by-turn": schema.CURVE,
    "changes": schema.CONTRAST, "attempts": schema.CURVE,
}  # fmt: skip
POOLED = "all"  # name of pooled groups in `summarize`


@dataclass(frozen=True, slots=True)
class Earlier:
    """The earlier rollouts that a report is compared with."""

    turns: pl.DataFrame
    rollouts: pl.DataFrame


@dataclass(frozen=True, slots=True)
class Frames(Rollouts):
    """All frames of a report; those without rows are left out of the page.

    `summary` lacks metrics that apply to no rollout; it has no time to success, and `curve` is empty, if `doctor` finds that the
    logs do not record the turn of a success. `scores` names its metrics of scores and rewards. `grid` is the SUMMARY of category
    x attack, if both vary, `hazards` that of the categories of published taxonomies. `contrasts` compares the values of each
    grouping column that share goals or tasks, and
    `changes` these rollouts with earlier ones (None without any). `reach` (CURVE over attempts) and `profiles` are empty unless
    goals were tried repeatedly. `trained` is TRAINING over the column `step`, if `doctor` finds training steps; of rewards, if
    there are no verdicts; `trend` that of the first and the last step alone, if no other column groups the rollouts. `costs` has
    the totals of each group, `doctor` is DOCTOR, `origins` has a row for each run. A rollout that is a tree has one row per path
    in `rollouts`.
    """

    unjudged: Unjudged
    summary: pl.DataFrame
    scores: tuple[str, ...]
    curve: pl.DataFrame
    grid: pl.DataFrame
    hazards: pl.DataFrame
    contrasts: pl.DataFrame
    earlier: Earlier | None
    changes: pl.DataFrame | None
    reach: pl.DataFrame
    profiles: pl.DataFrame
    step: str | None
    trained: pl.DataFrame
    trend: pl.DataFrame
    costs: pl.DataFrame
    doctor: pl.DataFrame
    origins: pl.DataFrame
    shared: dict[str, Shared]  # by metric, where groups did not meet the same goals
    headline: Headline | None
    refused: dict[str, str]  # by section, why a verb refused it

    @property
    def verbs(self) -> tuple[Callable[..., Any], ...]:
        """Return the verbs whose results the report shows."""
        changed = self.contrasts.height + (0 if self.changes is None else self.changes.height)
        results = (
            (summarize, self.summary.height),
            (curve, self.curve.height),
            (contrast, changed),
            (attempts, self.reach.height),
            (profile, self.profiles.height),
            (training, self.trained.height),
        )
        return tuple(verb for verb, rows in results if rows)

    @property
    def files(self) -> tuple[tuple[str, pl.DataFrame], ...]:
        """Return the frames that are written to the folder, by name."""
        always = (("turns", self.turns), ("rollouts", self.rollouts), ("curve", self.curve), ("doctor", self.doctor))
        optional = (
            ("contrast", self.contrasts),
            ("changes", pl.DataFrame() if self.changes is None else self.changes),
            ("attempts", self.reach),
            ("profile", self.profiles),
            ("training", self.trained),
            ("training_ends", self.trend),
            ("category_attack", self.grid),
            ("taxonomy", self.hazards),
            ("costs", self.costs),
            ("common_goals", self.common_goals),
            *(() if self.headline is None else self.headline.files.items()),
        )
        return (*always, *(pair for pair in optional if pair[1].height))

    @property
    def common_goals(self) -> pl.DataFrame:
        """Return the SUMMARY over the goals that all groups met, of the metrics whose groups did not meet the same."""
        parts = [shared.rows for shared in self.shared.values()]
        return pl.concat(parts) if parts else pl.DataFrame()

    @property
    def units(self) -> tuple[str, ...]:
        """Rates that the page shows, those with a verdict first: success of attacks only where one was tried or judged."""
        selected = [metric for metric in UNITS if metric != "attack_success" or is_attacked(self.rollouts)]
        return tuple(sorted(selected, key=lambda metric: self.rates(metric)["n"].sum() == 0))

    @property
    def is_rated(self) -> bool:
        """Return whether any rate has a verdict."""
        return any(self.rates(metric)["n"].sum() for metric in UNITS)

    @property
    def unused_verdicts(self) -> list[str]:
        """Return what the rollouts say of columns that may hold their verdicts."""
        return self.rollouts[NOTE].drop_nulls().unique().to_list() if NOTE in self.rollouts.columns else []

    def unit(self, metric: str) -> str:
        """Return what the attempts of a rate are at: goal or task."""
        return unit_in(metric, assessed(self.rollouts, metric))

    def means(self, metric: str) -> pl.DataFrame:
        """Return the SUMMARY of the mean of a score: groups with one, and the columns that tell them apart."""
        rows = self.summary.filter(pl.col("n") > 0, metric=metric, statistic="mean")
        return rows.drop(columns_named(name for name in self.by if name not in varying(rows, self.by)))

    def rates(self, metric: str) -> pl.DataFrame:
        """Return the SUMMARY of a rate: groups with a judged rollout, if any has one, and the columns that tell them apart."""
        rows = self.summary.filter(metric=metric)
        judged = rows.filter(pl.col("n") > 0)
        rows = judged if judged.height else rows
        return rows.drop(columns_named(name for name in self.by if name not in varying(rows, self.by)))


def frames(
    turns: pl.DataFrame,
    *,
    by: By,
    cluster: Cluster,
    level: float,
    seed: int,
    unjudged: Unjudged = "bounds",
    earlier: pl.DataFrame | None = None,
) -> Frames:
    """Compute the frames of a report from TURNS."""
    names = () if by == "auto" else names_of(by)
    for shape in (schema.SUMMARY, schema.CONTRAST, schema.CURVE):
        check_by(turns, names, shape, "report")
    for name in names:
        check_one_value(turns, name, "report")
    # Numeric columns of the user and training steps must survive the aggregation to rollouts.
    likely_step = step_in(turns)
    kept_columns = list(dict.fromkeys([*numeric_columns(turns, names), *([likely_step] if likely_step else [])]))
    rollouts = measured(turns, kept_columns, scored=True)
    allowed = findings(Facts(turns, rollouts))
    is_trained = bool(allowed.filter(pl.col("valid"), analysis="rates by step of training").height)
    step = likely_step if is_trained else None
    if by == "auto":
        rollouts = with_detectors(rollouts)
    groups = usual_groups(rollouts, runs=step is None) if by == "auto" else names
    common: dict[str, Any] = {"cluster": cluster, "level": level, "seed": seed}
    treated: dict[str, Any] = {**common, "unjudged": unjudged}
    refused: dict[str, str] = {}

    def of_section(name: str, verb: Callable[..., pl.DataFrame], *arguments: Any, **options: Any) -> pl.DataFrame:
        # What is invalid as such is refused by `summarize`; what these rollouts do not allow is said in its section.
        try:
            return verb(*arguments, **options)
        except ArgumentError as error:
            refused[name] = str(error)
            return schema.empty(_SHAPES.get(name, schema.SUMMARY))

    trained = trend = schema.empty(schema.TRAINING)
    if step is not None:
        trained = of_section("training", _trained, rollouts, list(UNITS), step, groups, treated)
        if trained.is_empty():  # logs of trainers have rewards without a verdict
            rewards = scored_in(turns, rollouts)[:MOST_TRAINED]
            trained = of_section("training", _trained, rollouts, rewards, step, groups, treated)
        followed = trained["metric"].unique(maintain_order=True).to_list()
        trend = of_section(
            "training", _trained, _at_ends(rollouts, trained, step, groups), followed, step, groups, treated
        )
    # The step is a grouping column only if requested.
    if likely_step is not None and likely_step not in groups:
        rollouts = rollouts.drop(columns_named(likely_step))
    # Without turn-by-turn verdicts the time of a success is unknown, although the rollout succeeded.
    timed = bool(allowed.filter(pl.col("valid"), analysis="attack success by turn").height)
    profiles = of_section("profile", _profiles, rollouts, groups, cluster, level, unjudged)
    summary = _applicable(summarize(rollouts, by=groups, **treated), timed=timed, attacked=is_attacked(rollouts))
    scores = scored_in(turns, rollouts)
    before = None
    if earlier is not None:
        before = Earlier(earlier, with_detectors(measured(earlier, numeric_columns(earlier, groups))))
    found = {name: shared_goals(rollouts, summary, name, groups, **treated) for name in (*UNITS, *scores)}
    shared = {name: goals for name, goals in found.items() if goals is not None}
    compared = of_section("contrasts", contrasts, rollouts, groups, step, **treated)
    return Frames(
        by=groups,
        unjudged=unjudged,
        turns=turns,
        rollouts=rollouts,
        summary=summary,
        scores=scores,
        curve=of_section("success-by-turn", _curve, rollouts, groups, cluster, level, timed=timed),
        grid=of_section("categories", _grid, rollouts, treated),
        hazards=of_section("taxonomy", rates_by_taxonomy, rollouts, **treated),
        contrasts=compared,
        earlier=before,
        changes=None
        if before is None
        else of_section("changes", changes, rollouts, before.rollouts, groups, **treated),
        reach=of_section("attempts", _reach, rollouts, profiles, groups, treated),
        profiles=profiles,
        step=step,
        trained=trained,
        trend=trend,
        costs=pl.DataFrame()
        if schema.is_tree(turns)
        else _costs(rollouts, groups),  # paths of a tree share their costs
        doctor=allowed,
        origins=_origins(rollouts),
        shared=shared,
        headline=headline(rollouts, summary, (*UNITS, *scores), groups, step, shared, compared, **treated),
        refused=refused,
    )


def is_attacked(rollouts: pl.DataFrame) -> bool:
    """Return whether any rollout has an attack, or a verdict on one."""
    attack, judged = pl.col("attack"), pl.col("attack_success").is_not_null() | (pl.col("num_judged") > 0)
    tried = (attack != schema.NO_ATTACK).fill_null(value=False) | (attack.is_null() & judged)
    return bool(rollouts.select(tried.any()).item())


def _trained(
    rollouts: pl.DataFrame, metrics: Sequence[str], step: str, by: tuple[str, ...], options: dict[str, Any]
) -> pl.DataFrame:
    """Compute TRAINING of each rate or reward that has values at several steps."""
    other_columns = tuple(name for name in by if name != step)
    parts = [
        training(assessed(rollouts, metric), metric=metric, step=step, by=other_columns, **options)
        for metric in metrics
        if values_named(assessed(rollouts, metric), step).drop_nulls().n_unique() > 1
    ]
    return pl.concat(parts) if parts else schema.empty(schema.TRAINING)


def _at_ends(rollouts: pl.DataFrame, trained: pl.DataFrame, step: str, by: tuple[str, ...]) -> pl.DataFrame:
    """Return the rollouts of the first and the last step; none where other columns group them."""
    if set(by) - {step}:
        return rollouts.clear()
    return rollouts.filter(column_named(step).cast(pl.Float64).is_in([trained["step"].min(), trained["step"].max()]))


def _applicable(summary: pl.DataFrame, *, timed: bool, attacked: bool) -> pl.DataFrame:
    """Drop groups to which a metric does not apply, metrics without any value, and times if turns of success are unknown.

    Success of attacks without any value says how many rollouts are unjudged; it is dropped where none was attacked and tasks were
    judged instead.
    """
    # A group with no rollout in any count is one to which the metric does not apply.
    possible = summary.select(pl.sum_horizontal("n", "n_error", "n_undetermined", "n_missing") > 0).to_series()
    counted = summary.select((pl.col("n").sum() > 0).over("metric")).to_series()
    is_expected = attacked or not summary.filter(counted, metric="task_success").height
    wanted = summary["metric"].is_in(["attack_success", "time_to_success"] if is_expected else [])
    is_timed = (summary["metric"] != "time_to_success") | timed
    return summary.filter(possible & is_timed & (wanted | counted))


def _curve(rollouts: pl.DataFrame, by: tuple[str, ...], cluster: Cluster, level: float, *, timed: bool) -> pl.DataFrame:
    frame = curve(rollouts.drop_nulls("time_to_success"), by=by, cluster=cluster, level=level)
    return frame if timed else frame.clear()


def _grid(rollouts: pl.DataFrame, options: dict[str, Any]) -> pl.DataFrame:
    """Summarize category x attack with pooled rows and columns."""
    cells = ("category", "attack")
    attacked_cells = rollouts.drop_nulls([*columns_named(cells), "attack_success"])
    attacked_cells = attacked_cells.filter(pl.col("attack") != schema.NO_ATTACK)
    sides = [attacked_cells[name].n_unique() for name in cells]
    if min(sides) < 2 or math.prod(sides) > MOST_CELLS:
        return schema.empty(schema.SUMMARY)
    # A value named like the pooled row would collide with it.
    pooled = not any((attacked_cells[name] == POOLED).any() for name in cells)
    attacked = rollouts.filter(pl.col("attack") != schema.NO_ATTACK).drop_nulls(columns_named(cells))
    return summarize(attacked, by=cells, metrics="attack_success", margins=pooled, **options)


def _profiles(
    rollouts: pl.DataFrame, by: tuple[str, ...], cluster: Cluster, level: float, unjudged: Unjudged
) -> pl.DataFrame:
    """Compute PROFILE of each rate whose goals (or tasks) were tried several times."""
    parts = []
    for metric in UNITS:
        rows = assessed(rollouts, metric)
        unit = unit_in(metric, rows)
        if not rows.height or cluster is None:
            continue
        # Profiles are over goals or tasks, whatever the clusters of the other results are.
        within = cluster if isinstance(cluster, str) and cluster != "auto" else unit
        frame = profile(rows, metric=metric, by=by, cluster=within, level=level, unjudged=unjudged)
        several = (pl.col("attempts").max() >= FEWEST_ATTEMPTS) & (pl.col("n").max() >= FEWEST_GOALS)
        parts.append(frame.filter(several.over(columns_named(by)) if by else several))
    return pl.concat(parts) if parts else schema.empty(schema.PROFILE)


def _reach(
    rollouts: pl.DataFrame, profiles: pl.DataFrame, by: tuple[str, ...], options: dict[str, Any]
) -> pl.DataFrame:
    """Compute success over attempts, in the groups that have a profile: those whose goals were tried several times."""
    parts = []
    for metric in profiles["metric"].unique(maintain_order=True):
        groups = profiles.filter(metric=metric)
        rows = assessed(rollouts, metric)
        if by:
            rows = rows.join(
                groups.select(columns_named(by)).unique(), on=columns_named(by), how="semi", nulls_equal=True
            )
        goals = rows.group_by(columns_named(dict.fromkeys((*by, "target", "attack", "goal", "task")))).len()
        numbers = [k for k in ATTEMPTS if k <= max(goals["len"], default=1)]
        if len(numbers) < 2:  # goals crossed with tasks are tried again, but not with the same task
            continue
        parts.append(attempts(rows, metric=metric, by=by, k=numbers, **options))
    return pl.concat(parts) if parts else schema.empty(schema.CURVE)


def _costs(rollouts: pl.DataFrame, by: tuple[str, ...]) -> pl.DataFrame:
    """Return the total cost of each group, and the number of rollouts in each sum."""
    counted = [name for name in SPENT if rollouts[name].null_count() < rollouts.height]
    if not counted:
        return pl.DataFrame()
    # The count beside each sum shows whether the cost of every rollout is known.
    sums = [
        total
        for name in counted
        for total in (
            pl.when(column_named(name).count() > 0).then(column_named(name).sum()).alias(SPENT[name]),
            column_named(name).count().alias(f"n_{SPENT[name]}"),
        )
    ]
    totals = [pl.len().alias("rollouts"), pl.col("attack_success").sum().alias("succeeded"), *sums]
    return rollouts.group_by(columns_named(by), maintain_order=True).agg(totals) if by else rollouts.select(totals)


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
