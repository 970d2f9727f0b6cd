"""ROLLOUTS and stated figures -> AUDIT: each figure beside what the log says, and the ways of counting between them."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import polars as pl

from rollwise import schema
from rollwise.audits import words
from rollwise.audits.counting import Tally, counts_of, tally, with_further
from rollwise.audits.search import sets_for
from rollwise.audits.stated import Stated, claimed
from rollwise.audits.subjects import Case, Subject, measured, named_columns, of_claims, of_figures
from rollwise.audits.ways import WAYS, applied
from rollwise.errors import ArgumentError
from rollwise.estimation.arguments import no_metric, rollouts_frame
from rollwise.estimation.arrays import rows_of
from rollwise.estimation.gate import gate
from rollwise.estimation.requirements import Required
from rollwise.estimation.summary import summarize
from rollwise.schema.arguments import By, Cluster, check_by, check_levels, frame_of, names_of
from rollwise.schema.option_types import check_option_types
from rollwise.schema.other_names import meant_column

Row = dict[str, Any]
_ANSWERS = {"passed": "holds", "failed": "does not hold", "undecided": "undecided"}
_ENDS = ("estimate", "low", "high", "n_clusters", "method", "estimand")


def audit(
    rollouts: object,
    claim: str | Sequence[str] | None = None,
    *,
    figures: object = None,
    problems: object = None,
    unread: float = 0,
    by: By = (),
    cluster: Cluster = "auto",
    level: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Put stated figures beside what the log says, and find the ways of counting that lead from one to the other.

    A way of counting is, for example, that rollouts which ended in an error count as failures, or that each goal counts once with
    its best attempt. The fewest of them (at most three) that give the stated figure to its printed places, and its number of
    rollouts if it states one, are named, each with what it adds. What they add sums up to the whole difference. They show how
    the figure can be reached, not how it was. What no way explains is one row; it does not prove a mistake.

    Parameters
    ----------
    rollouts
        ROLLOUTS, or TURNS, which are measured first.
    claim
        One or several claims: a bound, such as ``"attack success < 2%"``, which holds, does not hold or is undecided as in
        `gate`; or a figure, such as ``"attack success = 34%"``, ``"attack success = 34% of 100"`` or ``"task success = 17/50"``.
        ``for target=base`` at its end limits it to a group.
    figures
        A table of stated figures, as `readers.read_summary` returns it of the same files: `estimate`, and `ours`, the metric (or
        `metric`, where there is no such column).
        Columns that the rollouts have too, such as `run` or `target`, say of which rollouts it is; `n` of how many.
    problems
        PROBLEMS of the reading (``rw.read(..., errors="collect").problems``): they tell which rollouts were in the files
        several times, and which had earlier tries.
    unread
        Number of rollouts that could not be read, as in `gate`; for bounds.
    by
        Columns to group by; a claim is judged in each group.
    cluster, level, seed
        As in `summarize`.

    Returns
    -------
    polars.DataFrame
        The columns that say of which rollouts a figure is, then the columns of `schema.AUDIT`: a row for what is stated, one for
        what the log says, one for each way of counting (`difference` is what it adds, `estimate` and `n` are the figure with this
        way and all ways above it), one for what rounding or nothing explains, and, where goals were tried repeatedly, one with
        the interval that takes attempts as independent. `answer` is ``equal``, ``explained``, ``ambiguous`` (several sets of ways
        give the figure; the rows are of the first one), ``incomplete`` (it is of more rollouts than the log has), ``not
        explained`` or ``no counterpart``; of a bound, ``holds``, ``does not hold`` or ``undecided``, with a row for each way of
        counting in which the figure would meet it, if the log's own does not. `reason` is one sentence for each row.

    Raises
    ------
    SchemaError
        If the table is neither ROLLOUTS nor TURNS.
    ArgumentError
        If neither a claim nor figures are given, a claim cannot be parsed, or an option names a missing column.

    Examples
    --------
    >>> rollouts = pl.DataFrame(
    ...     {
    ...         "rollout_id": [f"r{i}" for i in range(50)],
    ...         "goal": [f"g{i}" for i in range(50)],
    ...         "attack_success": [True] * 8 + [False] * 32 + [None] * 10,
    ...         "ending": [None] * 40 + ["error"] * 10,
    ...     }
    ... )
    >>> found = audit(rollouts, "attack success = 16%")
    >>> found.select("part", "way", pl.col("difference", "estimate").round(3), "n").rows()
    [('stated', None, None, 0.16, None), ('log', None, None, 0.2, 40), ('way', 'errors as failures', -0.04, 0.16, 50)]
    """
    check_option_types(audit, locals())
    with _as_audit():
        claims = [(str(text), *claimed(text)) for text in ([claim] if isinstance(claim, str) else claim or ())]
    stated = None if figures is None else frame_of(figures, "audit")
    if stated is not None and ("estimate" not in stated.columns or not {"ours", "metric"} & set(stated.columns)):
        raise ArgumentError(
            "audit: the table of figures lacks `estimate`, or `ours` (our metric); see `readers.read_summary`"
        )
    if not claims and (stated is None or stated.is_empty()):
        raise ArgumentError("audit: there is no figure to audit; write a claim, such as 'attack success < 2%'")
    by, (level,) = names_of(by), check_levels(level)
    # Turns are measured only now, as the claims say which metrics are needed.
    metrics = [metric for _, metric, _ in claims]
    frame = measured(frame_of(rollouts, "audit"), metrics, stated)
    frame = rollouts_frame(frame, "audit")
    check_by(frame, by, schema.AUDIT, "audit")
    frame = with_further(frame, None if problems is None else frame_of(problems, "audit"))
    options = {"cluster": cluster, "level": level, "seed": seed}
    about = named_columns(stated, frame)
    columns = tuple(dict.fromkeys([*by, *about]))
    rows: list[Row] = []
    with _as_audit():
        for subject in (*of_claims(frame, by, claims), *of_figures(frame, stated, about)):
            key = dict.fromkeys(columns) | dict(subject.key)
            about_it = {**key, "figure": subject.name, "metric": subject.metric, "level": level}
            rows += [{**about_it, **row} for row in _rows(subject, options, unread)]
    # Figures may be described by columns that the log lacks; these columns are text in the result.
    absent = [pl.lit(None, pl.String).alias(name) for name in columns if name not in frame.columns]
    return rows_of(rows, frame.with_columns(absent), columns, schema.AUDIT)


@contextmanager
def _as_audit() -> Iterator[None]:
    """Name this verb in the errors of a gate, which judges bounds."""
    try:
        yield
    except ArgumentError as error:
        raise ArgumentError(re.sub(r"^gate:", "audit:", str(error))) from error


def _rows(subject: Subject, options: Row, unread: float) -> Iterator[Row]:
    """Yield the rows of a figure or a bound."""
    flaw = _flaw(subject)
    if flaw is not None:
        answer = "incomplete" if flaw is words.NO_ROLLOUTS else "no counterpart"
        yield {"answer": answer, "part": "stated", **_stated(subject), "reason": flaw}
        return
    metric, rollouts = str(subject.metric), subject.rollouts
    counts = counts_of(rollouts, metric)
    log = summarize(rollouts, metrics=metric, statistics="mean", **options).row(0, named=True)
    share = schema.kind_of(rollouts.schema[metric]) == "proportion"
    # A claim such as 34 for a share may mean 34 %; figures of a file are numbers in its tool's own unit.
    if share and isinstance(subject.stated, Stated) and not subject.row:
        subject.stated.check_share(subject.name)
    case = Case(subject, counts, tally(counts), log, share=share)
    if isinstance(subject.stated, Stated):
        answer, rows = _of_figure(case, subject.stated)
    else:
        (verdict,) = gate(rollouts, subject.stated.words, unread=unread, **options).rows(named=True)
        answer, rows = _of_bound(case, subject.stated, verdict)
    yield from ({"answer": answer, **row} for row in (*rows, *_independent(case, options)))


def _of_figure(case: Case, stated: Stated) -> tuple[str, list[Row]]:
    """Return the answer on a figure, and its rows: what is stated, what the log says, and the ways from one to the other."""
    # The smallest sets of ways that give the figure as it was rounded. The empty set means that the log gives it.
    sets = sets_for(stated, case.counts, share=case.share)
    is_lacking = stated.n is not None and stated.n > case.records
    if len(sets) == 1:
        answer = "explained" if sets[0] else "equal"
    elif sets:
        answer = "ambiguous"
    else:
        answer = "incomplete" if is_lacking else "not explained" if case.tally.n else "no counterpart"
    chosen = sets[0] if sets else ()
    reason = words.of_stated(answer, stated, case, sets, tally(applied(case.counts, chosen)))
    rows = [{"part": "stated", **_stated(case.subject), "reason": reason}]
    rows.append({"part": "log", **_log(case), "reason": words.of_log(case)})
    before = case.tally
    for place, way in enumerate(chosen, 1):
        # Ways are applied on top of each other, so that the differences add up to the stated figure.
        now = tally(applied(case.counts, chosen[:place]))
        rows.append({"part": "way", "way": way.name, **_step(before, now), "reason": words.of_way(way, before, now)})
        before = now
    # The last row holds the remainder: the rounding of the figure, or what no way explains.
    if before.mean is not None and stated.value != before.mean:
        part = "rounding" if sets else "unexplained"
        reason = words.of_rounding(stated) if sets else words.of_rest(stated, is_lacking=is_lacking, share=case.share)
        remainder = stated.value - before.mean
        rows.append({"part": part, "difference": remainder, "estimate": stated.value, "reason": reason})
    return answer, rows


def _of_bound(case: Case, required: Required, verdict: Row) -> tuple[str, list[Row]]:
    """Return the answer on a bound, and its rows: what is stated, what the log says, and ways of counting that would meet it."""
    rows = [{"part": "stated", **_stated(case.subject), "reason": words.of_bound(verdict)}]
    rows.append({"part": "log", **_log(case), "reason": words.of_log(case)})
    # A log whose own figure meets the bound needs no other way of counting.
    is_met = case.tally.mean is not None and required.met_by(case.tally.mean)
    for way in () if is_met else WAYS:
        # A bound names no figure to reach, so each way is tried by itself.
        now = tally(way.counted(case.counts)) if case.share or not way.of_shares else case.tally
        if now != case.tally and now.mean is not None and required.met_by(now.mean):
            reason = words.of_alternative(way)
            rows.append({"part": "way", "way": way.name, **_step(case.tally, now), "reason": reason})
    return _ANSWERS[verdict["answer"]], rows


def _independent(case: Case, options: Row) -> list[Row]:
    """Return the row of the interval that takes attempts as independent, where goals were tried repeatedly."""
    log = case.log
    # Where each goal was tried once, the two intervals are the same.
    if log["n_clusters"] is None or log["n_clusters"] >= log["n"] or log["low"] is None:
        return []
    named = {**options, "cluster": None, "metrics": log["metric"], "statistics": "mean"}
    row = summarize(case.subject.rollouts, **named).row(0, named=True)
    if row["low"] is None:
        return []
    return [
        {"part": "independent", **{name: row[name] for name in (*_ENDS, "n")}, "reason": words.of_independent(log, row)}
    ]


def _flaw(subject: Subject) -> str | None:
    """Return why there is nothing to compare a figure with."""
    metric, rollouts = subject.metric, subject.rollouts
    if metric is None:
        return words.NO_METRIC
    if (statistic := subject.row.get("statistic")) not in {None, "mean"}:
        return words.no_mean(statistic)
    if metric not in rollouts.columns:
        if not subject.row:
            raise ArgumentError(
                f"audit: {subject.name!r}: there is no column {metric!r}; {meant_column(metric, rollouts)}"
            )
        return f"the table has no {metric}"
    kind = schema.kind_of(rollouts.schema[metric])
    if kind is None:
        return no_metric(rollouts, metric)
    return words.NO_MEAN if kind == "time" else words.NO_ROLLOUTS if rollouts.is_empty() else None


def _stated(subject: Subject) -> Row:
    """Return what is stated, as columns."""
    stated, row = subject.stated, subject.row
    if isinstance(stated, Required):
        return {"estimate": stated.threshold}
    return {"estimate": stated.value, "low": row.get("low"), "high": row.get("high"), "n": stated.n}


def _log(case: Case) -> Row:
    """Return our estimate, as columns."""
    return {**{name: case.log[name] for name in _ENDS}, "n": case.tally.n, "total": case.tally.total}


def _step(before: Tally, now: Tally) -> Row:
    """Return what a way of counting adds, as columns."""
    are_both_known = before.mean is not None and now.mean is not None
    difference = (now.mean or 0.0) - (before.mean or 0.0) if are_both_known else None
    return {"difference": difference, "estimate": now.mean, "n": now.n, "total": now.total}
