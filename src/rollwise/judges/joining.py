"""VERDICTS -> TURNS: a judge's verdicts as a column of the turns that it judged."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from rollwise.errors import ArgumentError, SchemaError, counted, listing
from rollwise.judges.judgments import judge
from rollwise.judges.verdicts import TEXT, AnyJudge, bounds_of, judge_of, version_of
from rollwise.readers.names import told_apart
from rollwise.schema import ERROR, FAILURE, GAVE_UP, SUCCESS, TURNS, VERDICTS, check, is_tree
from rollwise.schema.arguments import frame_of, one_number
from rollwise.schema.coercion import in_schema, with_keys
from rollwise.schema.labels import say
from rollwise.schema.named import columns_named
from rollwise.schema.option_types import check_option_types

AT = 0.5  # a verdict of this value or more is True
_VALUE = "__value"
_NORMALIZED = "_normalized"  # suffix of the column that holds a score rescaled to 0 to 1
UNSIGNED = "_unsigned"  # suffix of the column that counts the verdicts that were accepted without a check code
SUCCEEDED = "succeeded"
_YES_OR_NO = (SUCCEEDED, "refused")
_FACTS = ("task", "attempt", "attack", "target")  # identify a rollout where two files of one run have ids of their own


def join_verdicts(
    turns: object,
    verdicts: object,
    *,
    into: str | None = None,
    at: float | None = None,
    judge: str | None = None,
    scale: tuple[float, float] | None = None,
) -> pl.DataFrame:
    """TURNS with the verdicts of one judge in a column: the mean over samples, null where the judge gave no verdict.

    The columns ``succeeded`` and ``refused`` become True or False. A new verdict on success outranks the producer's: `outcome`
    then follows from the verdicts (success if one is True, failure if every answer is judged False, otherwise null; an error
    stays an error), and `outcome_source` keeps its previous values. If verdicts were accepted without a check code, a column
    ``<into>_unsigned`` has their number in each turn, which a report adds up.

    Parameters
    ----------
    turns
        TURNS, of rollouts or of trees.
    verdicts
        VERDICTS of these turns, from `rw.judge`, or of these rollouts, from `rw.judges.read_verdicts`. A verdict of a whole
        rollout (no `turn`) is joined to its only turn. If no id is known, as in the two files of NeMo Agent Toolkit for one
        run, rollouts are matched by `task`, `attempt`, `attack` and `target`, as far as both tables have these columns.
    into
        Name of the column; by default ``score_<judge>``. An existing column is an error, except numbers and Booleans of TURNS.
    at
        The smallest value that counts as True; by default 0.5, of values from 0 to 1. If given for any other column, that
        becomes True or False too.
    judge
        Name of the judge to join, if the table has several, with or without the part after ``@``.
    scale
        The judge's lowest and highest score. If given, a column ``<into>_normalized`` holds the position of the score on the
        scale, from 0 (lowest) to 1 (highest), null where the score is null.

    Raises
    ------
    ArgumentError
        If the verdicts are of several judges or versions and `judge` does not choose one, `into` exists already, or a verdict
        is outside `scale`.
    SchemaError
        If verdicts are of turns that are not in this table, of a rollout of several turns as a whole, or fit several rollouts.

    Examples
    --------
    >>> turns = pl.DataFrame({"rollout_id": ["a", "a"], "turn": [1, 2], "response": ["No.", "Sure."]})
    >>> verdicts = pl.DataFrame({"rollout_id": "a", "turn": 2, "judge": "harm", "sample": [1, 2], "value": [1.0, 0.5]})
    >>> join_verdicts(turns, verdicts)["score_harm"].to_list()
    [None, 0.75]
    >>> join_verdicts(turns, verdicts, scale=(0, 3))["score_harm_normalized"].to_list()
    [None, 0.25]
    """
    check_option_types(join_verdicts, locals(), own=("at", "scale"))
    frame, rows = frame_of(turns, "join_verdicts"), frame_of(verdicts, "join_verdicts")
    frame = with_keys(frame, "join_verdicts")
    rows = _of_one(check(in_schema(rows, VERDICTS, "join_verdicts"), VERDICTS), judge)
    name = into or f"score_{_word(rows['judge'][0] if rows.height else judge or 'judge')}"
    _check_place(name, frame, is_normalized=scale is not None)
    if at is not None:
        at = one_number(at, "join_verdicts: at")
    # Trees have several nodes per turn, so their verdicts are matched by node.
    keys = ["rollout_id", "node_id" if is_tree(frame) else "turn"]
    rows = _with_ids(rows, frame)
    if keys[1] == "turn":
        rows = _with_turns(rows, frame)
    for name_of_frame, table in (("turns", frame), ("verdicts", rows)):
        needed = keys if table is frame else [*keys, "value"]
        if missing := [key for key in needed if key not in table.columns]:
            raise SchemaError(
                f"join_verdicts: the {name_of_frame} lack the column `{missing[0]}` (available: {listing(table.columns)})"
            )
    bounds = None if scale is None else _bounds(scale, rows["value"])
    signed = pl.col("signed") if "signed" in rows.columns else pl.lit(None, pl.Boolean)
    unsigned = (~signed & pl.col("value").is_not_null()).sum().cast(pl.Int64)
    means = rows.group_by(columns_named(keys)).agg(pl.col("value").mean().alias(_VALUE), unsigned.alias(UNSIGNED))
    means = means.cast({keys[1]: frame.schema[keys[1]]})
    _check_turns(means, frame, keys)
    of_turns = frame.select(columns_named(keys)).join(
        means, on=columns_named(keys), how="left", maintain_order="left", nulls_equal=True
    )
    value, further = of_turns[_VALUE].alias(name), list[pl.Series]()
    if of_turns[UNSIGNED].sum():
        further.append(of_turns[UNSIGNED].fill_null(0).alias(f"{name}{UNSIGNED}"))
    if bounds is not None:
        low, high = bounds
        place = ((value - low) / (high - low)).clip(0, 1)  # rounding may put a mean slightly outside the scale
        further.append(place.alias(f"{name}{_NORMALIZED}"))
    # The threshold applies to the mean over samples, so that 0.5 is a majority (a tie counts as True).
    if at is not None or name in _YES_OR_NO:
        scores, value = value, value >= _limit(at, name, scale or (value.min(), value.max()), "join_verdicts")
        if at is not None and (sentence := told_apart(scores, value, at)):
            say(f"{name}: {sentence}")
    frame = frame.drop(f"{name}{UNSIGNED}", strict=False)  # of verdicts that these replace
    scored = frame.with_columns(value.cast(TURNS.dtypes.get(name, value.dtype)), *further)
    return _settled(scored) if name == SUCCEEDED else scored


def score(
    turns: object,
    judge: AnyJudge,
    *,
    column: str = TEXT,
    into: str | None = None,
    at: float | None = None,
    store: str | Path | None = None,
    max_concurrency: int = 16,
    timeout: float | None = None,
    progress: bool = True,
    normalized: bool = False,
) -> pl.DataFrame:
    """Add a judge's verdict on each answer to TURNS as a column: `rw.judge`, then `rw.judges.join_verdicts`.

    Parameters
    ----------
    turns, judge, column, store, max_concurrency, timeout, progress
        As in `rw.judge`.
    into, at
        As in `rw.judges.join_verdicts`. A judge that gives several scores by name fills a column ``<into>_<name>`` with each.
    normalized
        Whether to add ``<into>_normalized``, the score from 0 to 1 on the judge's own `scale`, null where the score is null.

    Raises
    ------
    ArgumentError
        If a judge without a scale is to be normalized, and as in `rw.judge` and `rw.judges.join_verdicts`.

    Examples
    --------
    >>> turns = pl.DataFrame({"rollout_id": ["a", "a"], "turn": [1, 2], "response": ["No.", "Sure."]})
    >>> scored = score(turns, lambda response: response == "Sure.", into="succeeded", progress=False)
    >>> scored.select("turn", "succeeded", "outcome").rows()
    [(1, False, 'success'), (2, True, 'success')]
    """
    check_option_types(score, locals(), own=("at",))
    frame, who = frame_of(turns, "score"), judge_of(judge)
    # Mistakes in the arguments of `join_verdicts` are reported now, before any call that costs money.
    scale = getattr(who, "scale", None) if normalized else None
    if normalized and scale is None:
        raise ArgumentError(
            f"score: the judge {who.name} has no scale to normalize by; join its verdicts with "
            "`rw.judges.join_verdicts(turns, verdicts, scale=(lowest, highest))`"
        )
    if scale is not None:
        bounds_of(scale, f"score: {who.name}")
    # Before any call that costs money.
    _check_place(into or f"score_{_word(who.name)}", frame, is_normalized=normalized)
    if at is not None:
        one_number(at, "score: at")
    elif into in _YES_OR_NO:
        _limit(at, into, getattr(who, "scale", None) or (), "score")
    verdicts = _judge(
        frame,
        who,
        column=column,
        store=store,
        max_concurrency=max_concurrency,
        timeout=timeout,
        progress=progress,
    )
    _say_unread(who.name, verdicts)
    judges = verdicts["judge"].unique(maintain_order=True).to_list()
    if set(judges) <= {version_of(who)}:
        return join_verdicts(frame, verdicts, into=into, at=at, scale=scale)
    for version in judges:  # several scores: of the judges `<judge>_<name>@<digest>`
        name = version.rpartition("@")[0].removeprefix(f"{who.name}_")
        place = f"{into or f'score_{_word(who.name)}'}_{_word(name)}"
        frame = join_verdicts(frame, verdicts, into=place, at=at, judge=version, scale=scale)
    return frame


def _say_unread(name: str, verdicts: pl.DataFrame) -> None:
    """Say how many judgments without an error are words, of which a score keeps nothing, or nothing at all."""
    silent = verdicts.filter(pl.col("value").is_null() & pl.col("error").is_null())
    total = counted(verdicts.height, "judgment")
    if words := silent["label"].drop_nulls().unique().to_list():
        number = silent.height - silent["label"].null_count()
        are = "is no number, and null" if number == 1 else "are no numbers, and null"
        say(
            f"{name}: {number:,} of {total} {are} ({listing(map(repr, words), most=3)}): return True, False or a number, "
            "or read the `label` of `rw.judge(turns, judge)`"
        )
    if number := silent["label"].null_count():
        say(f"{name}: {number:,} of {total} gave no verdict, and {'is' if number == 1 else 'are'} null")


_judge = judge  # `score` and `join_verdicts` have a parameter of that name


def _bounds(scale: tuple[float, float], values: pl.Series) -> tuple[float, float]:
    """Return the ends of a scale, after checking that all these values are on it."""
    low, high = bounds_of(scale, "join_verdicts")
    outside = values.filter((values < low) | (values > high))
    if len(outside):
        raise ArgumentError(
            f"join_verdicts: a verdict of {outside[0]:g} is outside the scale ({low:g}, {high:g}); give the judge's scale"
        )
    return low, high


def _limit(at: float | None, name: str, scale: Sequence[Any], verb: str) -> float:
    """Return the smallest score that counts as True; a scale beyond 0 to 1 needs one that the user gave."""
    if at is None and any(end is not None and not 0 <= end <= 1 for end in scale):
        low, high = scale
        raise ArgumentError(
            f"{verb}: `{name}` is true or false, and scores go from {low:g} to {high:g}: give at=, the smallest that is true"
        )
    return AT if at is None else at


def _of_one(verdicts: pl.DataFrame, judge: str | None) -> pl.DataFrame:
    """Return the verdicts of one version of one judge; one without a name is called "(none)", as in `agreement`."""
    verdicts = verdicts.with_columns(pl.col("judge").fill_null("(none)"))
    judges = verdicts["judge"].unique(maintain_order=True).to_list()
    matches = [name for name in judges if judge is None or judge in {name, name.partition("@")[0]}]
    if len(matches) > 1:
        raise ArgumentError(
            f"join_verdicts: there are verdicts of {listing(matches)}, which cannot be one column; "
            "choose one with judge=, and join the others into other columns"
        )
    if not matches and judges:
        raise ArgumentError(f"join_verdicts: there is no verdict of {judge!r}; there are verdicts of {listing(judges)}")
    return verdicts.filter(pl.col("judge").is_in(matches))


def _check_place(name: str, frame: pl.DataFrame, *, is_normalized: bool) -> None:
    """Raise an error for columns that cannot hold a verdict, or that hold something else."""
    dtype = TURNS.dtypes.get(name, pl.Float64)
    if name in TURNS.key or not (dtype == pl.Boolean or dtype.is_numeric()):
        raise ArgumentError(f"join_verdicts: {name!r} cannot hold a verdict; name another column with into")
    for column in (name, f"{name}{_NORMALIZED}") if is_normalized else (name,):
        if column in frame.columns and column not in TURNS.names:
            raise ArgumentError(
                f"join_verdicts: there is a column {column!r} already; name another with into, or drop that one"
            )


def _with_ids(verdicts: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the verdicts under the ids of the table; if no id is in both, rollouts are matched by their facts."""
    # Verdicts by another tool have ids of their own: its task, attempt, attack and target then identify the rollout.
    facts = [name for name in _FACTS if name in verdicts.columns and name in frame.columns]
    if "task" not in facts or not verdicts.height or verdicts["rollout_id"].is_in(frame["rollout_id"].implode()).any():
        return verdicts
    rollouts = frame.select("rollout_id", *columns_named(facts)).unique()
    ids = verdicts.select(columns_named(facts)).unique().cast({name: frame.schema[name] for name in facts})
    ids = ids.join(rollouts, on=columns_named(facts), nulls_equal=True)
    several = ids.filter(pl.struct(columns_named(facts)).is_duplicated()).sort(columns_named(facts))
    if several.height:
        raise SchemaError(
            f"join_verdicts: the verdict on task {several['task'][0]!r} fits several rollouts ({listing(several['rollout_id'])}); "
            "join it to the rollouts of one run"
        )
    say(f"join_verdicts: no rollout has the id of a verdict, so they are joined by {' and '.join(facts)}")
    by_fact = verdicts.cast({name: frame.schema[name] for name in facts})
    by_fact = by_fact.join(
        ids, on=columns_named(facts), how="left", maintain_order="left", nulls_equal=True, suffix="_of_table"
    )
    rollout_id = pl.coalesce("rollout_id_of_table", "rollout_id")
    return by_fact.with_columns(rollout_id=rollout_id).drop("rollout_id_of_table")


def _with_turns(verdicts: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the verdicts of whole rollouts as verdicts of their only turns."""
    if "turn" not in verdicts.columns or not verdicts["turn"].null_count():
        return verdicts
    turns = frame.group_by("rollout_id").agg(only=pl.col("turn").first(), num=pl.len())
    placed = verdicts.join(turns, on="rollout_id", how="left", maintain_order="left")
    several = placed.filter(pl.col("turn").is_null() & (pl.col("num") > 1)).sort("rollout_id")
    if several.height:
        raise SchemaError(
            f"join_verdicts: the verdict on rollout {several['rollout_id'][0]!r} is of the whole rollout, which has "
            f"{several['num'][0]:,} turns; join it to each of them with `rw.judges.join_labels(turns, verdicts)`"
        )
    turn = pl.coalesce("turn", pl.col("only").cast(verdicts.schema["turn"]))
    return placed.with_columns(turn=turn).drop("only", "num")


def _check_turns(verdicts: pl.DataFrame, frame: pl.DataFrame, keys: list[str]) -> None:
    """Raise an error for verdicts on turns of another table, which a join would silently lose."""
    unmatched = verdicts.select(columns_named(keys)).join(frame, on=columns_named(keys), how="anti", nulls_equal=True)
    if unmatched.height:
        rollout, turn = unmatched.sort(columns_named(keys)).row(0)
        raise SchemaError(
            f"join_verdicts: {counted(unmatched.height, 'verdict is', 'verdicts are')} of turns that are not in this table, "
            f"the first of {keys[1].replace('_id', '')} {turn} of rollout {rollout!r}; join them to the table that was judged"
        )


def _settled(turns: pl.DataFrame) -> pl.DataFrame:
    """Return TURNS whose `outcome` follows from `succeeded`."""
    missing = (
        pl.lit(None, TURNS.dtypes[name]).alias(name) for name in ("outcome", "ending") if name not in turns.columns
    )
    frame = turns.with_columns(missing).cast({name: TURNS.dtypes[name] for name in ("outcome", "ending")})
    if (
        turns.get_column("outcome", default=pl.Series([None])).null_count() < turns.height
        and "outcome_source" not in turns.columns
    ):
        frame = frame.with_columns(outcome_source=pl.col("outcome").cast(pl.String))
    # Kleene logic: null if no answer succeeded and at least one is unjudged, so that the rollout stays undecided.
    any_succeeded = pl.col(SUCCEEDED).any(ignore_nulls=False).over("rollout_id")
    failed = (pl.col("outcome") == ERROR).fill_null(value=False) | (pl.col("ending") == ERROR).fill_null(value=False)
    # An attacker who gave up before any answer has failed, although there is nothing to judge.
    silent = (pl.col("ending") == GAVE_UP) & pl.col(TEXT).is_null().all().over("rollout_id")
    settled = (
        pl.when(any_succeeded)
        .then(pl.lit(SUCCESS))
        .when(failed)
        .then(pl.lit(ERROR))
        .when(~any_succeeded | silent)
        .then(pl.lit(FAILURE))
    )
    return frame.with_columns(outcome=settled.cast(TURNS.dtypes["outcome"]))


def _word(judge: str) -> str:
    """Return a judge's name in the form of a column name: ``MyJudge@1a2b`` becomes ``my_judge``."""
    bare = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", judge.partition("@")[0])
    return re.sub(r"\W+", "_", bare).strip("_").lower()
