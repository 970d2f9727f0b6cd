"""ROLLOUTS or SUMMARY -> GATE: passed, failed or undecided for each requirement and group."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import polars as pl

from rollwise import schema
from rollwise.choices import Family, Goals, Looks, Undecided
from rollwise.errors import ArgumentError, SchemaError, listing
from rollwise.estimation import gate_baseline
from rollwise.estimation.arguments import no_metric, rollouts_frame
from rollwise.estimation.arrays import Columns, rows_of
from rollwise.estimation.gate_answers import Evidence, gate_row, row_without_data
from rollwise.estimation.gate_bounds import UNBOUNDED, ends_of_rollouts, number_unknown
from rollwise.estimation.gate_family import together_level, with_family_answers
from rollwise.estimation.gate_halves import with_splits
from rollwise.estimation.gate_looks import check_share_of_rollouts, ends_at_every_look, row_at_every_look
from rollwise.estimation.gate_summary import Options, gates_of_summary, missing_groups
from rollwise.estimation.means import are_shares
from rollwise.estimation.missingness import of_those_drawn, statuses
from rollwise.estimation.requirements import Required, group_in_words, named_group, parsed, rows_in
from rollwise.estimation.summary import summarize
from rollwise.schema.arguments import By, Cluster, check_by, check_levels, frame_of, names_of, whole_numbers
from rollwise.schema.option_types import check_option_types
from rollwise.stats.statistics import DEFAULT_STATISTICS


def gate(
    rollouts: object,
    require: str | Sequence[str],
    *,
    baseline: object = None,
    goals: Goals = "same",
    by: By = (),
    cluster: Cluster = "auto",
    level: float = 0.95,
    unjudged: Undecided = "bounds",
    unread: float = 0,
    expect: str | Sequence[str] = (),
    seed: int = 0,
    against_self: int = 0,
    looks: Looks = "one",
    family: Family = "each",
) -> pl.DataFrame:
    """Check requirements such as ``"attack_success < 1%"`` against the interval of each group: passed, failed or undecided.

    ``"attack_success < 1%"`` is *passed* if the whole interval is below .01, *failed* if none of it is, and *undecided* if the
    interval contains .01: then `reason` says what decides, and `n_more` how many more goals would with 80 % power if the true
    value is the estimate (at a rate of 0, how many more goals without a success). Missing information never helps to pass,
    nor to fail: every rollout without a verdict (in error, undetermined, partially judged or missing) counts as a success at
    the upper end and as a failure at the lower end. Without data or without an interval the answer is undecided.

    Parameters
    ----------
    rollouts
        ROLLOUTS, which are summarized first, or a SUMMARY of them.
    require
        One or several of ``metric < number`` with ``<``, ``<=``, ``>`` or ``>=``. The number may be a percentage; the metric
        may be an argument of a statistic, as in ``median(num_turns) >= 3``. The default statistic is the mean, or the
        restricted mean of a time. ``attack_success <= baseline + 2%`` compares with the `baseline`: not more than 2 points
        above it. ``ever_refused < 5% for attack=none`` is about one group only, such as a negative control.
    baseline
        ROLLOUTS of an earlier run, for requirements that name it: `contrast` pairs both runs by goal.
    goals
        Of runs that did not meet the same goals: ``"same"`` leaves such a requirement undecided, ``"common"`` compares them over
        the goals of both, ``"all"`` over all of their goals. `n` counts the rollouts that were compared.
    by
        Columns to group by: every group must pass. A SUMMARY keeps its groups.
    cluster, level, seed
        As in `summarize`. The bounds are the ends of a two-sided interval: at level .95 the probability of passing wrongly is
        .025, and so is that of failing wrongly.
    unjudged
        ``"bounds"``: a share must pass (or fail) whatever the verdicts of rollouts without one turn out to be, and the
        rollouts with a verdict must do so by themselves. Other statistics have no such bounds and are undecided. ``"drop"``
        leaves these rollouts out. ``"sample"``: rollouts without any verdict were not drawn for judging, and the answer is of
        those drawn; all others without a verdict as with ``"bounds"``.
    unread
        Number of rollouts that are not in the table because their records could not be read (see `problems` of
        ``rw.read(..., errors="collect")``). They count as rollouts without a verdict in every group; ``math.inf`` if
        their number is unknown.
    expect
        Groups that must be there, such as ``"target=base"``, by columns of `by`: one without any rollout fails.
    against_self
        Number of random splits of the attempts at each goal into halves: `n_differ` counts the splits whose halves have
        different answers. If it is large, the evaluation is too small for this requirement. Halves differ more than two whole
        runs would: each has half of the attempts, and what one half has too much of, the other lacks.
    looks
        ``"one"``: the number of goals was fixed before, and the gate is asked once. ``"many"``: it may be asked again whenever
        goals were added, and the probability of ever passing wrongly is still .025 (a confidence sequence over goals, each of
        which weighs the same; for shares only). It needs about twice as many goals. Goals that are related to each other
        need ``cluster=`` with what they have in common.
    family
        ``"each"``: every answer may fail wrongly with the probability of .025, and the reason of a failed one says how many of
        them do. ``"all"``: all answers together fail wrongly with this probability at most (Bonferroni). Passing needs no
        adjustment, because all of them must pass.

    Returns
    -------
    polars.DataFrame
        `by`, then the columns of `schema.GATE`; never empty. `pass_bound` is the end of the interval that must meet the
        requirement to pass, and `fail_bound` the opposite end, which must miss it to fail. For a share, `pass_bound` is the
        largest upper end over the observed and every smaller number of successes (`stats.release`), because a clustered
        interval is wider without any success than with one, and one more success must never help to pass; `fail_bound` is the
        smallest lower end in the same way. From a SUMMARY only two of these are known, zero and the observed number, and the
        design effect of rollouts without a verdict is assumed to equal that of the others. `estimate, low, high`
        come from `summarize`, or from `contrast` for the difference from the baseline.

    Raises
    ------
    ArgumentError
        If a requirement cannot be parsed, names a metric, statistic or level that does not exist, or a baseline that is not
        given.
    SchemaError
        If the table is neither ROLLOUTS nor SUMMARY; optional columns of SUMMARY may be missing.

    Examples
    --------
    >>> rows = {"rollout_id": [f"r{i}" for i in range(500)], "goal": [f"g{i % 250}" for i in range(500)]}
    >>> rollouts = pl.DataFrame({**rows, "attack_success": [False] * 500})
    >>> gate(rollouts, ["attack_success < 2%", "attack_success < 1%", "attack_success > 5%"]).select(
    ...     "answer", pl.col("pass_bound", "fail_bound").round(4), "n_more"
    ... )
    shape: (3, 4)
    ┌───────────┬────────────┬────────────┬────────┐
    │ answer    ┆ pass_bound ┆ fail_bound ┆ n_more │
    │ ---       ┆ ---        ┆ ---        ┆ ---    │
    │ str       ┆ f64        ┆ f64        ┆ i64    │
    ╞═══════════╪════════════╪════════════╪════════╡
    │ passed    ┆ 0.0153     ┆ 0.0        ┆ null   │
    │ undecided ┆ 0.0153     ┆ 0.0        ┆ 133    │
    │ failed    ┆ 0.0        ┆ 0.0153     ┆ null   │
    └───────────┴────────────┴────────────┴────────┘
    """
    check_option_types(gate, locals())
    table = frame_of(rollouts, "gate")
    # Repeated requirements and groups are the same rows.
    required = list(dict.fromkeys(parsed(words) for words in _texts(require)))
    if not required:
        raise ArgumentError("gate: no requirement is given; write one such as 'attack_success < 0.01'")
    (level,) = check_levels(level)
    groups = tuple(dict.fromkeys(named_group(str(text), "expect") for text in _texts(expect)))
    options = Options(names_of(by), cluster, level, seed, unjudged, unread, groups, looks, goals)
    _check_options(options, required, baseline, against_self)
    if {"difference", "baseline"} & set(table.columns) and "rollout_id" not in table.columns:
        raise SchemaError(
            "gate: this is a CONTRAST, which describes differences between groups; pass the rollouts or their SUMMARY "
            "(`rw.summarize`), which describe each group"
        )
    # A SUMMARY saved by another version may lack optional columns; they count as null.
    if set(schema.SUMMARY.required) <= set(table.columns):
        missing = [name for name in schema.SUMMARY.names if name not in table.columns]
        table = table.with_columns(pl.lit(None, dtype=schema.SUMMARY.dtypes[name]).alias(name) for name in missing)
        of_goals = against_self or looks == "many" or family == "all" or unjudged == "sample"
        if of_goals or any(requirement.relative for requirement in required):
            raise ArgumentError(
                "gate: baseline=, against_self=, looks='many', family='all' and unjudged='sample' need the rollouts of each "
                "goal, and this is a SUMMARY; pass the rollouts"
            )
        return with_family_answers(gates_of_summary(table, required, options))
    table = rollouts_frame(table, "gate")
    check_by(table, options.by, schema.GATE, "gate")
    earlier = None if baseline is None else rollouts_frame(baseline, "gate")

    def gates_of(table: pl.DataFrame, options: Options) -> pl.DataFrame:
        gates = _of_rollouts(table, earlier, required, options)
        if family == "each":
            return with_family_answers(gates)
        stricter = replace(options, level=together_level(gates, level))
        return with_family_answers(gates, _of_rollouts(table, earlier, required, stricter))

    gates = gates_of(table, options)
    if not against_self:
        return gates

    def gate_of_half(half: pl.DataFrame) -> pl.DataFrame:
        return gates_of(half, replace(options, unread=0, expect=()))

    return with_splits(gates, table, options.by, against_self, seed, gate_of_half)


def _texts(argument: object) -> list[object]:
    return list(argument) if isinstance(argument, Iterable) and not isinstance(argument, str) else [argument]


def _check_options(options: Options, required: Sequence[Required], baseline: object, against_self: object) -> None:
    unread: Any = options.unread
    if not (isinstance(unread, Integral) and 0 <= int(unread) <= 2**53) and unread != math.inf:
        raise ArgumentError(
            f"gate: unread={unread!r} is not a number of rollouts; give a whole number from 0, or math.inf"
        )
    whole_numbers(against_self, "gate: against_self", "splits", least=0)
    gate_baseline.check_baseline(required, baseline)


def _of_rollouts(
    table: pl.DataFrame, earlier: pl.DataFrame | None, required: Sequence[Required], options: Options
) -> pl.DataFrame:
    both = None if earlier is None else gate_baseline.with_baseline(table, earlier, required, options.by)
    everything = Columns(table, options.by)
    keys = [key for key, _ in everything.groups(options.by)]
    if both is not None:  # a group that only the baseline has must not pass by its absence
        keys = [key for key, _ in Columns(both).groups(options.by)]
    rows = []
    for requirement in required:
        rows += _of_requirement(everything, both, requirement, keys, options)
    return rows_of(rows, table, options.by, schema.GATE)


def _of_requirement(
    everything: Columns, both: pl.DataFrame | None, required: Required, keys: list[dict[str, Any]], options: Options
) -> list[dict[str, Any]]:
    """Return a row for each group, and for each expected group that is missing."""
    kind = everything.kinds.get(required.metric)
    if kind is None:
        _refuse_metric(everything, required)
    statistic = required.statistic or DEFAULT_STATISTICS[str(kind)][0]
    share = kind == "proportion" and statistic == "mean"
    if kind != "time" and are_shares(required.metric, kind, everything.numbers(required.metric)):
        required.check_share()
    elif required.relative and "%" in required.words:
        raise ArgumentError(
            f"gate: {required.words!r}: a margin in per cent is in points of a share, and {required.metric} is not a share; "
            "write a number"
        )
    if options.looks == "many":
        check_share_of_rollouts(required, share=share)
    other_goals: dict[str, str] = {}
    if required.relative and both is not None:
        here = rows_in(both, required.group, required.words)
        both, other_goals = gate_baseline.with_same_goals(here, required.metric, options.by, options.goals)
    evidence = _evidence(everything, both, other_goals, required, statistic, options, share=share)
    absent = "no rollouts of this group in this run" if keys else "no data: the table has no rollouts"
    if required.group:
        absent = f"no rollouts of {group_in_words(required.group)}"
    result = []
    for key in keys:
        text = gate_baseline.key_text(key)
        if text in evidence:
            result.append(gate_row(required, evidence[text], options.by))
            continue
        reason = other_goals.get(text, absent)
        result.append(row_without_data(required, key, statistic, options.level, options.unjudged, reason))
    result += missing_groups(everything.frame, required, statistic, options.by, options)
    nothing = dict.fromkeys(options.by)
    return result or [row_without_data(required, nothing, statistic, options.level, options.unjudged, absent)]


def _refuse_metric(data: Columns, required: Required) -> None:
    if data.has(required.metric):
        raise ArgumentError(f"gate: {required.words!r}: {no_metric(data.frame, required.metric)}")
    measured = [name for name, kind in data.kinds.items() if kind and name not in schema.ROLLOUTS.names]
    raise ArgumentError(
        f"gate: {required.words!r} names no metric of this table; available: {listing(measured)} (`rw.measure` makes more)"
        f"{required.about_statistics}"
    )


def _evidence(
    everything: Columns,
    both: pl.DataFrame | None,
    other_goals: dict[str, str],
    required: Required,
    statistic: str,
    options: Options,
    *,
    share: bool,
) -> dict[str, Evidence]:
    """Return what is known of the requirement in each group that has rollouts, by the text of its key."""
    data = everything
    if required.group or other_goals:
        this_run = everything.frame if both is None or not other_goals else gate_baseline.of_this_run(both)
        data = Columns(rows_in(this_run, required.group, required.words), options.by)
    shared: dict[str, Any] = {
        "by": options.by,
        "cluster": options.cluster,
        "level": options.level,
        "seed": options.seed,
    }
    rows = _estimates(data.frame, required.metric, statistic, options.unjudged, shared)
    if required.relative and both is not None:
        compared = gate_baseline.differences(
            both, required, statistic, **shared, unjudged=options.unjudged, unread=options.unread, goals=options.goals
        )
    every = statuses(data, required.metric)
    marks = of_those_drawn(every, options.unjudged)
    result = {}
    for (key, group), row in zip(data.groups(options.by), rows, strict=True):
        text, undrawn = gate_baseline.key_text(key), int((marks[group] != every[group]).sum())
        estimate = row
        if required.relative:
            estimate, judged_only, together = compared.get(text, (gate_baseline.NO_DIFFERENCE, UNBOUNDED, UNBOUNDED))
            # The counts are of this run's rollouts, and the rest is about the difference.
            counts = {name: row[name] for name in ("n", "n_error", "n_undetermined", "n_missing")}
            estimate = {**row, **estimate, **counts, "estimate": estimate["difference"]}
        elif options.looks == "many":
            arguments = (data, required, group, marks, options.cluster)
            judged_only, together = ends_at_every_look(*arguments, options.level, options.unread)
            estimate = row_at_every_look(*arguments, row, judged_only)
            estimate["reason"] = row["reason"] if undrawn else None
        elif share:
            judged_only, together = ends_of_rollouts(
                data, required.metric, group, marks, options.cluster, options.level, options.unread
            )
        else:
            judged_only = together = row["low"], row["high"]
            if number_unknown(row) > undrawn or options.unread:
                together = UNBOUNDED
        result[text] = Evidence(
            estimate,
            judged_only,
            together,
            share and not required.relative,
            options.unjudged,
            options.unread,
            options.looks,
            other_goals.get(text),
            undecided=options.goals == "same" and text in other_goals,
            undrawn=undrawn,
        )
    return result


def _estimates(
    frame: pl.DataFrame, metric: str, statistic: str, unjudged: Undecided, shared: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return the rows of SUMMARY, with the design effect of the rollouts with a verdict if the interval is at the bounds."""
    named: dict[str, Any] = {"metrics": metric, "statistics": statistic, **shared}
    rows = summarize(frame, unjudged=unjudged, **named).rows(named=True)
    if any((row["method"] or "").endswith("at the bounds") for row in rows):
        effects = summarize(frame, unjudged="drop", **named)["design_effect"]
        rows = [row | {"design_effect": effect} for row, effect in zip(rows, effects, strict=True)]
    return rows
