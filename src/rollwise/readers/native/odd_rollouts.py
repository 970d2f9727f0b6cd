"""Rollouts whose rows in a table do not fit together: each is a problem and counts as missing; the rest of the file is read."""

import polars as pl

from rollwise.readers.casting import PLACES, converted, shown
from rollwise.readers.problems import LEAVE, BrokenError, Problems
from rollwise.schema import TURNS, is_tree
from rollwise.schema.frame_checks import ONE_VALUE, odd_turns, varying_facts
from rollwise.schema.named import values_named

_NUMBER = f"number the turns of each rollout from 1 without gaps, or leave it out: {LEAVE}"
_VERDICTS = frozenset({"outcome", "solved", "ending"})  # facts that an odd rollout loses
_REPEATED = "a row repeats another one in every column, and counts once"

Odd = dict[str, BrokenError]  # the problem of each odd rollout


def with_ids(frame: pl.DataFrame, where: str, problems: Problems) -> pl.DataFrame:
    """Return the rows of a file that have an id; each of the others is a problem."""
    is_missing = frame["rollout_id"].is_null()
    for row in is_missing.arg_true():
        problems.broken(where, BrokenError("is missing", record=row, field="rollout_id"))
    return frame.filter(~is_missing) if is_missing.any() else frame


def placed(frame: pl.DataFrame) -> tuple[pl.DataFrame, Odd]:
    """Return the frame with `turn` and other places in their dtypes, null where a value does not fit, and the odd rollouts."""
    odd: Odd = {}
    for name in sorted((PLACES - {"rollout_id"}) & {*frame.columns}):
        series = frame[name]
        if series.dtype == TURNS.dtypes[name]:
            continue
        result, what = converted(series, TURNS.dtypes[name])
        for row in (series.is_not_null() & result.is_null()).arg_true():
            reason = f"is {shown(series[row])}, not {what}"
            odd.setdefault(frame["rollout_id"][row], BrokenError(reason, field=name))
        frame = frame.with_columns(result.alias(name))
    return frame, odd


def without_odd(frame: pl.DataFrame, where: str, problems: Problems, odd: Odd) -> pl.DataFrame:
    """Return the frame with one row, without a turn, for each odd rollout, which is also a problem.

    A row that repeats another one in every column, its turn included, is dropped, and PROBLEMS says so.
    """
    frame = _once(frame, where, problems)
    sound = frame.filter(~pl.col("rollout_id").is_in([*odd])) if odd else frame
    odd |= _odd_nodes(sound) if is_tree(sound) else _odd_numbers(sound)
    for rollout_id, column, reason in varying_facts(sound).rows():
        odd.setdefault(rollout_id, BrokenError(reason, field=column, remedy=f"{ONE_VALUE}, or leave it out: {LEAVE}"))
    if not odd:
        return frame
    for rollout_id, error in odd.items():
        problems.broken(where, BrokenError(error.reason, record=rollout_id, field=error.field, remedy=error.remedy))
    return _as_missing(frame, [*odd])


def _once(frame: pl.DataFrame, where: str, problems: Problems) -> pl.DataFrame:
    """Return the frame without rows that repeat another one with its turn in every column."""
    key = frame["node_id"] if is_tree(frame) else frame["turn"]
    keys = pl.DataFrame({"id": frame["rollout_id"], "key": key}).is_duplicated() & key.is_not_null()
    if not keys.any():
        return frame
    is_repeat = keys & ~frame.hash_rows().is_first_distinct()
    repeats = frame.filter(is_repeat)["rollout_id"]
    for rollout_id in repeats.unique(maintain_order=True):
        problems.dropped(where, _REPEATED, rollout_id)
    problems.record_counts.of(where).num_passed_over += repeats.len() - repeats.n_unique()
    return frame.filter(~is_repeat)


def _odd_numbers(frame: pl.DataFrame) -> Odd:
    return {
        rollout_id: BrokenError(reason, field="turn", remedy=_NUMBER)
        for rollout_id, reason, _ in odd_turns(frame).rows()
    }


def _odd_nodes(frame: pl.DataFrame) -> Odd:
    """Return the rollouts in which two rows have the same node."""
    key = pl.coalesce("node_id", pl.col("turn").cast(pl.String))
    twice = frame.select("rollout_id", node=key).filter(pl.struct("rollout_id", "node").is_duplicated())
    firsts = twice.unique("rollout_id", keep="first", maintain_order=True)
    return {
        rollout_id: BrokenError(f"{node!r} is the id of two nodes", field="node_id")
        for rollout_id, node in firsts.rows()
    }


def _as_missing(frame: pl.DataFrame, ids: list[str]) -> pl.DataFrame:
    """Return the frame with one row for each of these rollouts, which keeps its id and constant facts, but no verdict."""
    is_odd = frame["rollout_id"].is_in(ids)
    facts = [name for name in TURNS.facts if name in frame.columns and name not in _VERDICTS]
    of_odd = frame.filter(is_odd)
    varying = {(rollout_id, name) for name in facts for rollout_id in _varying(of_odd, name)}
    frame = frame.filter(~is_odd | frame["rollout_id"].is_first_distinct())
    is_odd = frame["rollout_id"].is_in(ids)
    nulls = {
        name: is_odd & frame["rollout_id"].is_in([rollout_id for rollout_id, fact in varying if fact == name])
        if name in facts
        else is_odd
        for name in frame.columns
        if name != "rollout_id"
    }
    return frame.with_columns(
        values_named(frame, name).zip_with(~is_null, pl.Series([None], dtype=frame.schema[name])).alias(name)
        for name, is_null in nulls.items()
        if is_null.any()
    )


def _varying(frame: pl.DataFrame, name: str) -> list[str]:
    values = frame.select("rollout_id", value=values_named(frame, name)).group_by("rollout_id")
    return values.agg(pl.col("value").n_unique()).filter(pl.col("value") > 1)["rollout_id"].to_list()
