"""TURNS -> which analyses are valid on this table, which are not and why, and the call for each."""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from turnwise import schema
from turnwise.errors import counted, listing
from turnwise.estimation.arrays import Sheet
from turnwise.estimation.missingness import HALF_JUDGED, INAPPLICABLE, VALUE, headings
from turnwise.estimation.trials import Attempts
from turnwise.measurement.measure import measure, require_turns
from turnwise.measurement.trees import measure_paths
from turnwise.metrics.timing import SPENT
from turnwise.schema.arguments import frame_of
from turnwise.stats.estimate import IntArray
from turnwise.stats.mean import FEWEST_CLUSTERS
from turnwise.stats.sizes import intraclass_correlation

USUAL_GROUPS = ("target", "attack", "category", "source", "run")
MOST_GROUPS = 30
Finding = tuple[str, str | None, str | None, str | None]
"""An analysis, what blocks it, what to know of it, and its call."""


def doctor(turns: object) -> pl.DataFrame:
    """DOCTOR: each analysis, whether it is valid on this table, why not or what to know, and the call that does it.

    Parameters
    ----------
    turns
        TURNS, trees included.

    Returns
    -------
    polars.DataFrame
        The columns of `schema.DOCTOR`, valid analyses first. `call` is Python that runs as it stands where `turns` is this table,
        `tw` is turnwise and `m` its metrics; null where the analysis is blocked. `reason` says what blocks it, and of a valid
        one what to keep in mind, if anything.

    Raises
    ------
    SchemaError
        Where the table is no TURNS.

    Examples
    --------
    >>> turns = pl.DataFrame(
    ...     {"rollout_id": ["a", "b"], "turn": [1, 1], "goal": ["g", "h"], "outcome": ["success", "failure"]}
    ... )
    >>> found = doctor(turns.cast({"outcome": schema.OUTCOMES}))
    >>> found.filter("valid")["call"][0]
    "tw.summarize(tw.measure(turns), metrics='attack_success')"
    >>> found.filter(analysis="attack success over tokens")["reason"].item()
    'no turn says how many tokens it took'
    """
    frame = frame_of(turns, "doctor")
    require_turns(frame, "doctor")
    table = _Table(frame)
    found = [finding for check in _CHECKS for finding in check(table)]
    rows = [
        {"analysis": name, "valid": flaw is None, "reason": flaw or note, "call": None if flaw else call}
        for name, flaw, note, call in found
    ]
    return pl.DataFrame(rows, schema=schema.DOCTOR.dtypes, orient="row").sort(
        "valid", descending=True, maintain_order=True
    )


def scores_in(turns: pl.DataFrame) -> list[str]:
    """Columns of rewards and scores with values.

    Examples
    --------
    >>> scores_in(pl.DataFrame({"reward": [1.0], "score_exact": [None], "score_style": [0.5]}))
    ['reward', 'score_style']
    """
    named = [name for name in turns.columns if name in {"score", "reward"} or name.startswith("score_")]
    return [name for name in named if turns.schema[name].is_numeric() and turns[name].null_count() < turns.height]


class _Table:
    """The table with what the checks look at, each found once."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame
        self.tree = schema.is_tree(frame)
        self.measured = "tw.trees.measure_paths(turns)" if self.tree else "tw.measure(turns)"
        self.sheet = Sheet(measure_paths(frame) if self.tree else measure(frame))
        self.rollouts = self.sheet.frame  # in the order of what is found in the sheet

    def known(self, name: str) -> bool:
        """Return whether a column of turns has any value."""
        return name in self.frame.columns and self.frame[name].null_count() < self.frame.height

    @cached_property
    def groups(self) -> str:
        """The option that groups by the first usual column that varies, as it stands in a call."""
        name = self.varying
        return f", by={name!r}" if name else ""

    @cached_property
    def varying(self) -> str | None:
        """The first usual column with a few values."""
        for name in USUAL_GROUPS:
            if 1 < self.rollouts[name].drop_nulls().n_unique() <= MOST_GROUPS:
                return name
        return None

    def found(self, metric: str) -> IntArray:
        """The heading of each rollout for a metric."""
        return headings(self.sheet, metric).astype(np.int64)

    def attempts(self, metric: str) -> Attempts:
        """All rollouts that the metric applies to, as attempts."""
        return Attempts.of(self.sheet, np.flatnonzero(self.found(metric) != INAPPLICABLE), metric, "auto")

    @cached_property
    def metric(self) -> str:
        """Name the metric of attempts: the attack's success, or the task's where no attack was judged."""
        return next(
            (name for name in ("attack_success", "task_success") if (self.found(name) == VALUE).any()), "attack_success"
        )

    @cached_property
    def flag(self) -> str | None:
        """The first Boolean column of the user's own, which may hold verdicts."""
        flags = [name for name, dtype in self.frame.schema.items() if dtype == pl.Boolean]
        return next((name for name in flags if name not in schema.TURNS.names and self.known(name)), None)

    @cached_property
    def scores(self) -> list[str]:
        """Columns of scores with values."""
        return scores_in(self.frame)


def _of_rates(table: _Table) -> Iterator[Finding]:
    for metric, words, cure in (
        (
            "attack_success",
            "attack success rate",
            "judge the turns with `tw.score(turns, judge, into='succeeded', at=0.5)`",
        ),
        ("task_success", "task success rate", "fill the column `solved`"),
    ):
        found = table.found(metric)
        applicable, known = int((found != INAPPLICABLE).sum()), int((found == VALUE).sum())
        flaw = None
        if not applicable:
            flaw = (
                "the table has no rollouts"
                if not found.size
                else f"no rollout has {'an attack' if metric[0] == 'a' else 'a task'}"
            )
        elif not known:
            flaw = f"none of {counted(applicable, 'rollout')} has a verdict; {cure}"
            if metric[0] == "a" and table.flag:
                flaw += f", or, if `{table.flag}` holds verdicts, say so: `tw.turns(turns, succeeded={table.flag!r})`"
        half, units = int((found == HALF_JUDGED).sum()), "goal" if metric[0] == "a" else "task"
        leave = counted(half, "half-judged rollout leaves", "half-judged rollouts leave")
        notes = [f"{leave} the rate open: it gets bounds, no point"] if half else []
        named = table.rollouts.filter(pl.Series(found == VALUE))[units].drop_nulls()
        if known and not len(named):
            notes.append(f"no {units} is named, so every rollout counts as independent")
        elif known > 1 and named.n_unique() == 1:
            notes.append(f"all of one {units}: a rate, but no interval")
        without = applicable - half - known
        if without > 0:
            notes.append(
                f"{without:,} of {counted(applicable, 'rollout')} {'has' if without == 1 else 'have'} no verdict: "
                "see bound_low and bound_high"
            )
        call = f"tw.summarize({table.measured}, metrics={metric!r}{table.groups})"
        yield words, flaw, "; ".join(notes) or None, call


def _of_time(table: _Table) -> Iterator[Finding]:
    duration, observed = table.sheet.times("time_to_success")
    judged, turns = table.sheet.numbers("num_judged"), table.sheet.numbers("num_turns")
    watched = duration > 0
    unplaced = int((observed & (judged == 0) & (turns > 1)).sum())
    flaw = note = None
    if not watched.any():
        flaw = "no rollout was watched: turns have no verdicts, and rollouts no outcome"
    elif unplaced and unplaced == int((observed & (turns > 1)).sum()):
        later = counted(unplaced, "later success")
        flaw = f"verdicts are of whole rollouts: none of {later} says when it came; judge the turns"
    elif duration.max() == 1:
        flaw = "every rollout was watched for one turn only"
    elif unplaced:
        note = (
            f"{counted(unplaced, 'success of unknown turn counts', 'successes of unknown turn count')} at the last one"
        )
    by, made = table.groups, table.measured
    yield "attack success by turn", flaw, note, f"tw.curve({made}{by})"
    yield "attack success by turn, whole curve at once", flaw, note, f"tw.curve({made}{by}, band='simultaneous')"
    yield "survival by turn", flaw, note, f"tw.curve({made}{by}, kind='survival')"
    yield "hazard by turn", flaw, note, f"tw.curve({made}{by}, kind='hazard')"
    yield (
        "restricted mean and median turns to success",
        flaw,
        note,
        f"tw.summarize({made}, metrics='time_to_success'{by})",
    )
    endings = flaw or (
        None if table.rollouts["ending"].null_count() < table.rollouts.height else "no rollout says why it ended"
    )
    yield "incidence of each ending", endings, note, f"tw.curve({made}{by}, kind='incidence')"
    name = table.varying
    apart = flaw or (None if name else f"nothing to compare: none of {listing(USUAL_GROUPS)} has several values")
    if name and not flaw:
        arms = _arms(table.rollouts.filter(pl.Series(watched)), name)
        apart = None if len(arms) > 1 else f"only one value of {name} was watched"
        compared = f"{made}, of={name!r}, baseline={arms[0]!r}" if arms else ""
    else:
        compared = ""
    yield "log-rank test and difference of mean turns", apart, note, f"tw.curve_test({compared})"
    yield "difference of two curves", apart, note, f"tw.curve_difference({compared})"


def _arms(rollouts: pl.DataFrame, name: str) -> list[str]:
    """The values of a column, those that share the most goals (or tasks) with others first: a baseline is to be paired with."""
    units = rollouts.select(name, unit=pl.coalesce("goal", "task")).drop_nulls(name).unique()
    shared = units.with_columns(shared=pl.col("unit").is_not_null() & (pl.len().over("unit") > 1))
    return (
        shared.group_by(name).agg(pl.col("shared").sum()).sort("shared", name, descending=[True, False])[name].to_list()
    )


def _of_contrasts(table: _Table) -> Iterator[Finding]:
    metric, name = table.metric, table.varying
    arms: list[str] = []
    if name:
        arms = _arms(table.rollouts.filter(pl.Series(table.found(metric) == VALUE)), name)
    flaw = (
        None
        if len(arms) > 1
        else f"nothing to compare: none of {listing(USUAL_GROUPS)} has several values with verdicts"
    )
    call = (
        f"tw.contrast({table.measured}, of={name!r}, baseline={arms[0]!r}, metrics={metric!r})"
        if len(arms) > 1
        else None
    )
    yield "difference of rates, paired by goal", flaw, None, call


def _of_spending(table: _Table) -> Iterator[Finding]:
    words = {
        "target_call": "its call",
        "tokens": "how many tokens",
        "cost_usd": "how many dollars",
        "seconds": "how many seconds",
    }
    columns = {"tokens": ("prompt_tokens", "response_tokens")}
    for axis in SPENT:
        flaw = None
        if not any(table.known(name) for name in columns.get(axis, (axis,))):
            flaw = (
                f"no turn says {words[axis]} it took"
                if axis != "target_call"
                else "no turn says which call of the target it was"
            )
        elif table.tree:
            flaw = "a path of a tree shares what it spent with others; `tw.trees.paths(turns)` makes rollouts of the paths first"
        elif not (table.sheet.times("time_to_success")[0] > 0).any():
            flaw = "no rollout was watched for the attack's success"
        measured = f"tw.measure(turns, m.time_to_success(), m.spent_to_success({axis!r}))"
        yield f"attack success over {axis}", flaw, None, f"tw.curve({measured}{table.groups}, axis={axis!r})"


def _of_attempts(table: _Table) -> Iterator[Finding]:
    metric, tried = table.metric, table.attempts(table.metric)
    _, made = tried.counts()
    flaw = note = None
    if not made.size or not made.max():
        flaw = "no rollout has a verdict"
    elif made.max() == 1:
        flaw = "no goal was attempted twice (rollouts alike in target, attack, goal and task are attempts)"
    seen = tried.stopping
    stops = seen is not None and seen.design == "stopped"
    if stops:
        note = "attempts stopped at the first success: Kaplan-Meier over attempts takes the place of the combinatorial estimate"
    elif seen is None or seen.design == "undetermined":
        note = "whether attempts stopped at a success cannot be told; pass stopped=True if they did"
    chosen = "" if metric == "attack_success" else f", metric={metric!r}"
    call = f"tw.attempts({table.measured}{chosen}{table.groups})"
    yield "success at least once in k attempts", flaw, note, call
    refused = "attempts stopped at the first success, so none could succeed twice" if stops else None
    yield "success in all of k attempts", flaw or refused, note, call
    units = len(np.unique(tried.unit.codes[0][made > 0])) if tried.unit.codes and made.size else int((made > 0).sum())
    few = (
        f"{counted(units, 'goal is', 'goals are')} too few to see how they differ; {FEWEST_CLUSTERS} are the least"
        if units < FEWEST_CLUSTERS
        else None
    )
    half = "half-judged rollouts: judge them first" if (table.found(metric) == HALF_JUDGED).any() else None
    far = f"tw.forecast({table.measured}{chosen}, k={10 * int(made.max(initial=1))})"
    yield "forecast at more attempts", flaw or few or half, None, far
    score = next(iter(table.scores), None)
    best = (
        flaw
        or (None if score else "no turn has a score")
        or ("name the score of a path yourself" if table.tree else None)
    )
    highest = f"tw.attempts(tw.measure(turns, m.highest({score!r})), metric='highest_{score}')"
    yield "expected best score of k attempts", best, None, highest
    yield (
        "what more goals or attempts would tell",
        _plan_flaw(tried, flaw),
        None,
        (f"tw.plan({table.measured}{chosen}, goals=(50, 100, 200), attempts=(1, 5))"),
    )


def _plan_flaw(tried: Attempts, flaw: str | None) -> str | None:
    known = ~np.isnan(tried.values)
    if flaw:
        return f"{flaw}; give `tw.plan` rate= and icc= instead"
    rate = tried.values[known].mean()
    codes = tried.unit.codes[0][tried.goals.codes] if tried.unit.codes else None
    if not 0 < rate < 1 or codes is None or intraclass_correlation(tried.values[known], codes[known]) is None:
        return "rate and icc cannot be told from this table; give `tw.plan` rate= and icc= instead"
    return None


def _of_turns(table: _Table) -> Iterator[Finding]:
    score = next(iter(table.scores), None)
    happened = "succeeded" in table.frame.columns and bool(table.frame["succeeded"].any())
    flaw = None
    if table.tree:
        flaw = "nodes of a tree are no course of turns; `tw.trees.paths(turns)` makes rollouts of the paths first"
    elif score is None:
        flaw = "no turn has a score"
    elif not happened:
        flaw = "no turn is known to have succeeded, so there is nothing to align at"
    yield "score before and after success", flaw, None, f"tw.trajectory(turns, column={score!r})"
    refused = (
        None if table.known("refused") else "no turn is judged on refusal; `m.refused_by_rule()` goes by the wording"
    )
    measured = "tw.trees.measure_paths(turns, 'refusal_rate')" if table.tree else "tw.measure(turns, m.refusal_rate())"
    yield "refusal rate", refused, None, f"tw.summarize({measured}, metrics='refusal_rate'{table.groups})"


def _of_release(table: _Table) -> Iterator[Finding]:
    flaw = None if (table.found(table.metric) == VALUE).any() else "no rollout has a verdict: nothing would pass"
    below = table.metric == "attack_success"
    require = "attack_success < 5%" if below else "task_success > 50%"
    unknown = ~np.isin(table.found(table.metric), (VALUE, INAPPLICABLE))
    note = "rollouts without a whole verdict count against what is required" if unknown.any() else None
    yield "release gate", flaw, note, f"tw.gate({table.measured}, {require!r}{table.groups})"
    step = next((name for name in table.frame.columns if "step" in name.lower() and _is_step(table.frame, name)), None)
    lost = None if step else "no numeric column of steps that is constant within rollouts and varies between them"
    if step and table.tree:
        lost = "steps of a tree: `tw.trees.paths(turns)` makes rollouts of the paths first"
    metric, chosen = table.metric, f"m.{table.metric}()"
    score = next(iter(table.scores), None)
    if flaw and score:
        metric, chosen = (
            ("total_reward", "m.total_reward()") if score == "reward" else (f"final_{score}", f"m.final({score!r})")
        )
    call = f"tw.training(tw.measure(turns, {chosen}, keep={step!r}), metric={metric!r}, step={step!r})"
    blind = "no rollout has a verdict, and no turn a reward or a score" if flaw and not score else None
    followed = (
        f"no rollout has a verdict: the {'rewards' if score == 'reward' else 'scores'} are followed" if flaw else None
    )
    yield "rates by step of training", blind or lost, followed, call


def _is_step(frame: pl.DataFrame, name: str) -> bool:
    if not frame.schema[name].is_numeric() or name in schema.TURNS.names or frame[name].drop_nulls().n_unique() < 2:
        return False
    return bool(frame.group_by("rollout_id").agg(pl.col(name).n_unique() == 1)[name].all())


_CHECKS: tuple[Callable[[_Table], Iterator[Any]], ...] = (
    _of_rates,
    _of_contrasts,
    _of_time,
    _of_spending,
    _of_attempts,
    _of_turns,
    _of_release,
)
