"""TURNS -> DOCTOR: the analyses that this table allows, with their calls, and the reasons against the others."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, counted, listing
from rollwise.estimation.clusters import way_out_of_one
from rollwise.estimation.comparable import judges_of, other_judges
from rollwise.estimation.doctor_facts import USUAL_GROUPS, Facts, step_in
from rollwise.estimation.missingness import INAPPLICABLE, VALUE
from rollwise.estimation.plan import of_columns
from rollwise.estimation.unjudged import Unknown
from rollwise.measurement.measure import measure, require_turns
from rollwise.metrics.timing import SPENT, spent_to_success
from rollwise.schema.arguments import frame_of
from rollwise.schema.coercion import with_dtypes
from rollwise.schema.named import columns_named, values_named
from rollwise.stats.bootstrap import FEWEST_CLUSTERS

_STOPPED = "attempts stopped at the first success"
Finding = tuple[str, str | None, str | None, str | None]
"""Name of an analysis, the reason why it is invalid (or None), a caveat (or None), and its call."""


def doctor(turns: object) -> pl.DataFrame:
    """List the analyses: whether this table allows them, why not or with which caveat, and the Python call.

    Parameters
    ----------
    turns
        TURNS, including trees.

    Returns
    -------
    polars.DataFrame
        The columns of `schema.DOCTOR`, valid analyses first. `call` is executable Python in which `turns` is this table, `rw`
        is rollwise and `m` its metrics; null if the analysis is invalid. `reason` explains why an analysis is invalid, or
        gives the caveat of a valid one, if any.

    Raises
    ------
    SchemaError
        If the table is not TURNS.

    Examples
    --------
    >>> turns = pl.DataFrame(
    ...     {"rollout_id": ["a", "b"], "turn": [1, 1], "goal": ["g", "h"], "outcome": ["success", "failure"]}
    ... )
    >>> found = doctor(turns.cast({"outcome": schema.OUTCOMES}))
    >>> found.filter("valid")["call"][0]
    "rw.summarize(rw.measure(turns), metrics='attack_success')"
    >>> found.filter(analysis="attack success over tokens")["reason"].item()
    'no turn says how many tokens it took'
    """
    frame = frame_of(turns, "doctor")
    require_turns(frame, "doctor")
    frame = with_dtypes(frame, schema.TURNS, "doctor")
    return findings(Facts(frame))


def findings(table: Facts) -> pl.DataFrame:
    """Return DOCTOR of a table of turns whose facts are known."""
    # Each check yields the analyses of one kind, valid or not.
    rows = [
        {"analysis": name, "valid": flaw is None, "reason": flaw or note, "call": None if flaw else call}
        for check in _CHECKS
        for name, flaw, note, call in check(table)
    ]
    return pl.DataFrame(rows, schema=schema.DOCTOR.dtypes, orient="row").sort(
        "valid", descending=True, maintain_order=True
    )


_OF_A_SCORE = ", or say from which `score` on (seen: {:g} to {:g}) a turn succeeded: `rw.turns(turns, names={{'succeeded': '?'}})`"


def _of_rates(table: Facts) -> Iterator[Finding]:
    for metric, analysis, remedy in (
        (
            "attack_success",
            "attack success rate",
            "judge the turns with `rw.score(turns, judge, into='succeeded', at=0.5)`"
            + (_OF_A_SCORE.format(*table.ends_of("score")) if table.has_values("score") else ""),
        ),
        ("task_success", "task success rate", "fill the column `solved`"),
    ):
        row_statuses = table.statuses_of(metric)
        applicable, with_verdict = int((row_statuses != INAPPLICABLE).sum()), int((row_statuses == VALUE).sum())
        flaw = None
        # First reasons for the lack of any rate, then caveats of a rate.
        if not applicable:
            flaw = (
                "the table has no rollouts"
                if not row_statuses.size
                else f"no rollout has {'an attack' if metric[0] == 'a' else 'a task'}"
            )
        elif not with_verdict:
            flaw = f"none of {counted(applicable, 'rollout')} has a verdict; {remedy}"
            unused = table.unused(*(("succeeded", "outcome") if metric[0] == "a" else ("solved",)))
            if unused:
                flaw += f"; {unused}"
            elif metric[0] == "a" and table.flag:
                call = f'rw.turns(turns, names={{"succeeded": "{table.flag}"}})'
                flaw += f", or, if `{table.flag}` holds verdicts, say so: `{call}`"
        unit_column = "goal" if metric[0] == "a" else "task"
        unknown = Unknown.of(row_statuses[row_statuses != INAPPLICABLE], "bounds", timed=True)
        notes = [f"{unknown.note}: the interval covers both outcomes of each"] if unknown.note else []
        units = values_named(table.rollouts.filter(pl.Series(row_statuses == VALUE)), unit_column).drop_nulls()
        if with_verdict and not len(units):
            unused = table.unused(unit_column)
            notes.append(
                f"no {unit_column} is named, so every rollout counts as independent{f'; {unused}' if unused else ''}"
            )
        elif with_verdict > 1 and units.n_unique() == 1:
            way_out = way_out_of_one(table.data, np.flatnonzero(row_statuses == VALUE))
            notes.append(f"all of one {unit_column}: a rate, but no interval{f'; {way_out}' if way_out else ''}")
        others = applicable - unknown.partly - unknown.wholly - with_verdict
        if others > 0:
            notes.append(
                f"{others:,} of {counted(applicable, 'rollout')} ended in an error: "
                "`bound_low` and `bound_high` hold for every outcome of these"
            )
        call = f"rw.summarize({table.measured}, metrics={metric!r}{table.groups})"
        yield analysis, flaw, "; ".join(notes) or None, call


def _of_time(table: Facts) -> Iterator[Finding]:
    duration, observed = table.data.times("time_to_success")
    judged, turns = table.data.numbers("num_judged"), table.data.numbers("num_turns")
    # A duration of 0 means that no turn was judged.
    followed = duration > 0
    # Successes recorded for a whole rollout of several turns, whose turn is unknown.
    undated = int((observed & (judged == 0) & (turns > 1)).sum())
    flaw = note = None
    if not followed.any():
        flaw = "no rollout was followed: turns have no verdicts, and rollouts no outcome"
    elif undated and undated == int((observed & (turns > 1)).sum()):
        later = counted(undated, "later success")
        flaw = f"verdicts describe whole rollouts: the turn of {later} is unknown; judge the turns"
    elif duration.max() == 1:
        flaw = "every rollout was followed for one turn only"
    elif undated:
        note = (
            f"{counted(undated, 'success of unknown turn counts', 'successes of unknown turn count')} at the last one"
        )
    by, measured = table.groups, table.measured
    yield "attack success by turn", flaw, note, f"rw.curve({measured}{by})"
    yield "attack success by turn, whole curve at once", flaw, note, f"rw.curve({measured}{by}, band='simultaneous')"
    yield "survival by turn", flaw, note, f"rw.curve({measured}{by}, kind='survival')"
    yield "hazard by turn", flaw, note, f"rw.curve({measured}{by}, kind='hazard')"
    yield (
        "restricted mean and median turns to success",
        flaw,
        note,
        f"rw.summarize({measured}, metrics='time_to_success'{by})",
    )
    endings_flaw = flaw or (
        None if table.rollouts["ending"].null_count() < table.rollouts.height else "no rollout says why it ended"
    )
    yield "incidence of each ending", endings_flaw, note, f"rw.curve({measured}{by}, kind='incidence')"
    name = table.varying
    comparison_flaw = flaw or (
        None if name else f"nothing to compare: none of {listing(USUAL_GROUPS)} has several values"
    )
    if name and not flaw:
        arms = _arms(table.rollouts.filter(pl.Series(followed)), name)
        comparison_flaw = (
            _flaw_of_judges(table, name, arms[0]) if len(arms) > 1 else f"only one value of {name} was followed"
        )
        arguments = f"{measured}, of={name!r}, baseline={arms[0]!r}" if arms else ""
    else:
        arguments = ""
    yield "log-rank test and difference of mean turns", comparison_flaw, note, f"rw.comparisons.curve_test({arguments})"
    yield "difference of two curves", comparison_flaw, note, f"rw.comparisons.curve_difference({arguments})"


def _arms(rollouts: pl.DataFrame, name: str) -> list[str]:
    """Return the values of a column, first the ones that share most goals (or tasks) with others: a baseline needs pairs."""
    units = (
        rollouts.select(columns_named(name), unit=pl.coalesce(pl.col("goal", "task").cast(pl.String)))
        .drop_nulls(columns_named(name))
        .unique()
    )
    shared = units.with_columns(shared=pl.col("unit").is_not_null() & (pl.len().over("unit") > 1))
    return (
        shared.group_by(columns_named(name))
        .agg(pl.col("shared").sum())
        .sort("shared", *columns_named(name), descending=[True, False])[name]
        .to_list()
    )


def _flaw_of_judges(table: Facts, name: str, baseline: str) -> str | None:
    """Say by which column a value of the compared column had other judges than the baseline; None where none had."""
    rows = np.arange(table.rollouts.height)
    judges = judges_of(table.data, rows, values_named(table.rollouts, name).cast(pl.String))
    names = [other_judges(of_arm, judges[str(baseline)]) for of_arm in judges.values()]
    judge = next(filter(None, names), None)
    flaw = f"`{judge}` differs between values of `{name}`: judge all with the same judge, or pass force=True"
    return flaw if judge else None


def _of_contrasts(table: Facts) -> Iterator[Finding]:
    metric, name = table.metric, table.varying
    arms: list[str] = []
    if name:
        arms = _arms(table.rollouts.filter(pl.Series(table.statuses_of(metric) == VALUE)), name)
    flaw: str | None = f"nothing to compare: none of {listing(USUAL_GROUPS)} has several values with verdicts"
    call = None
    if name and len(arms) > 1:
        flaw = _flaw_of_judges(table, name, arms[0])
        call = f"rw.contrast({table.measured}, of={name!r}, baseline={arms[0]!r}, metrics={metric!r})"
    yield "difference of rates, paired by goal", flaw, None, call


def _of_spending(table: Facts) -> Iterator[Finding]:
    texts = {
        "target_call": "which call of the target it was",
        "tokens": "how many tokens it took",
        "cost_usd": "how many dollars it took",
        "seconds": "how many seconds it took",
    }
    columns = {"tokens": ("prompt_tokens", "response_tokens")}
    for axis in SPENT:
        flaw = None
        if not any(table.has_values(name) for name in columns.get(axis, (axis,))):
            flaw = f"no turn says {texts[axis]}"
        elif table.tree:
            flaw = "a path of a tree shares what it spent with others; `rw.rollout.paths(turns)` makes rollouts of the paths first"
        elif not (table.data.times("time_to_success")[0] > 0).any():
            flaw = "no rollout was followed for the attack's success"
        elif (
            measure(table.frame, spent_to_success(axis))[f"spent_to_success_{axis}"].null_count()
            == table.rollouts.height
        ):
            flaw = f"no rollout says for each of its turns {texts[axis]}"
        measured = f"rw.measure(turns, m.time_to_success(), m.spent_to_success({axis!r}))"
        yield f"attack success over {axis}", flaw, None, f"rw.curve({measured}{table.groups}, axis={axis!r})"


def _of_attempts(table: Facts) -> Iterator[Finding]:
    metric, repeats = table.metric, table.attempts(table.metric)
    _, judged = repeats.counts
    flaw = note = None
    if not judged.size or not judged.max():
        flaw = "no rollout has a verdict"
    elif judged.max() == 1:
        flaw = "no goal was attempted twice (attempts are rollouts with the same target, attack, goal and task)"
    evidence = repeats.stopping
    stops = evidence is not None and evidence.design == "stopped"
    if stops:
        note = f"{_STOPPED}: Kaplan-Meier over attempts replaces the combinatorial estimate"
    elif evidence is None or evidence.design == "undetermined":
        note = "it is not known whether attempts stopped at a success; pass stopped=True if they did"
    metric_option = "" if metric == "attack_success" else f", metric={metric!r}"
    call = f"rw.attempts({table.measured}{metric_option}{table.groups})"
    yield "success at least once in k attempts", flaw, note, call
    # After a success no further attempt was made, so nothing is known about a second one.
    refusal = f"{_STOPPED}, so none could succeed twice" if stops else None
    yield "success in all of k attempts", flaw or refusal, note, call
    units = repeats.unit.codes[0] if repeats.unit.codes else np.arange(judged.size)
    number_of_units = np.unique(units[judged > 0]).size
    few_flaw = (
        f"{counted(number_of_units, 'goal is', 'goals are')} too few to see how they differ; {FEWEST_CLUSTERS} are the least"
        if number_of_units < FEWEST_CLUSTERS
        else None
    )
    # Twice the observed attempts; from three times on, `forecast` warns.
    forecast_call = f"rw.forecast({table.measured}{metric_option}, k={2 * int(judged.max(initial=1))})"
    yield "forecast at more attempts", flaw or few_flaw, None, forecast_call
    score = table.score
    best_flaw = (
        flaw
        or (None if score else "no turn has a score")
        or ("name the score of a path yourself" if table.tree else None)
    )
    best_call = f"rw.attempts(rw.measure(turns, m.highest({score!r})), metric='highest_{score}')"
    yield "expected best score of k attempts", best_flaw, None, best_call
    yield (
        "what more goals or attempts would tell",
        _plan_flaw(table, flaw or (_STOPPED if stops else None)),
        None,
        (f"rw.plan({table.measured}{metric_option}, goals=(50, 100, 200), attempts=(1, 5))"),
    )


def _plan_flaw(table: Facts, flaw: str | None) -> str | None:
    if flaw:
        return f"{flaw}; give `rw.plan` rate= and icc= instead"
    try:
        _, icc, _ = of_columns(table.data, table.metric, "auto")
    except ArgumentError:
        icc = None
    return (
        None
        if icc is not None
        else "rate and icc cannot be estimated from this table; give `rw.plan` rate= and icc= instead"
    )


def _of_turns(table: Facts) -> Iterator[Finding]:
    score = table.score
    has_event = "succeeded" in table.frame.columns and bool(table.frame["succeeded"].cast(pl.Boolean).any())
    flaw = None
    if table.tree:
        flaw = (
            "nodes of a tree are not a sequence of turns; `rw.rollout.paths(turns)` makes rollouts of the paths first"
        )
    elif score is None:
        flaw = "no turn has a score"
    elif not has_event:
        flaw = "no turn is known to have succeeded, so turns cannot be aligned"
    yield "score before and after success", flaw, None, f"rw.trajectory(turns, column={score!r})"
    refusal_flaw = (
        None
        if table.has_values("refused")
        else "no turn is judged on refusal; `m.refused_by_rule()` goes by the wording"
    )
    measured = f"rw.measure({'rw.rollout.paths(turns)' if table.tree else 'turns'}, m.refusal_rate())"
    yield "refusal rate", refusal_flaw, None, f"rw.summarize({measured}, metrics='refusal_rate'{table.groups})"


def _of_release(table: Facts) -> Iterator[Finding]:
    flaw = None if (table.statuses_of(table.metric) == VALUE).any() else "no rollout has a verdict: nothing would pass"
    below = table.metric == "attack_success"
    require = "attack_success < 5%" if below else "task_success > 50%"
    unknown = ~np.isin(table.statuses_of(table.metric), (VALUE, INAPPLICABLE))
    note = (
        "rollouts without a verdict count neither for nor against: the gate may be undecided" if unknown.any() else None
    )
    yield "release gate", flaw, note, f"rw.gate({table.measured}, {require!r}{table.groups})"
    step = step_in(table.frame)
    step_flaw = (
        None
        if step
        else "no column of steps of training, such as `train_step` or `checkpoint`, whose numbers several rollouts share"
    )
    if step and table.tree:
        step_flaw = "steps of a tree: `rw.rollout.paths(turns)` makes rollouts of the paths first"
    metric, expression = table.metric, f"m.{table.metric}()"
    score = table.score
    if flaw and score:
        metric, expression = (
            ("total_reward", "m.total_reward()") if score == "reward" else (f"final_{score}", f"m.final({score!r})")
        )
    call = f"rw.training(rw.measure(turns, {expression}, keep={step!r}), metric={metric!r}, step={step!r})"
    score_flaw = "no rollout has a verdict, and no turn a reward or a score" if flaw and not score else None
    note_of_scores = (
        f"no rollout has a verdict: the {'rewards' if score == 'reward' else 'scores'} are followed" if flaw else None
    )
    yield "rates by step of training", score_flaw or step_flaw, note_of_scores, call


_CHECKS: tuple[Callable[[Facts], Iterator[Any]], ...] = (
    _of_rates,
    _of_contrasts,
    _of_time,
    _of_spending,
    _of_attempts,
    _of_turns,
    _of_release,
)
