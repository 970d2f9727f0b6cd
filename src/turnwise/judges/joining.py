"""VERDICTS -> TURNS: what a judge said, as a column of the turns that it judged."""

import re
from pathlib import Path
from typing import Any

import polars as pl

from turnwise.errors import ArgumentError, SchemaError, counted, listing
from turnwise.judges.judgments import judge
from turnwise.judges.verdicts import TEXT, AnyJudge, bounds_of, judge_of
from turnwise.schema import ERROR, FAILURE, GAVE_UP, SUCCESS, TURNS, VERDICTS, check, is_tree
from turnwise.schema.arguments import frame_of, one_number

AT = 0.5
_VALUE = "__value"
_NORMALIZED = "_normalized"  # behind the name of a score: the same from 0 to 1
SUCCEEDED = "succeeded"
_YES_OR_NO = (SUCCEEDED, "refused")


def join_verdicts(
    turns: object,
    verdicts: object,
    *,
    into: str | None = None,
    at: float | None = None,
    judge: str | None = None,
    scale: tuple[float, float] | None = None,
) -> pl.DataFrame:
    """TURNS with what one judge said in a column: the mean over samples, null where the judge gave no verdict.

    Into ``succeeded`` or ``refused`` it goes as True or False. A new verdict on success outranks the producer's: `outcome` is
    then what the verdicts settle (success with one True, failure when every answer is judged False, else null; an error stays
    one), and what it was before is `outcome_source`.

    Parameters
    ----------
    turns
        TURNS, of rollouts or of trees.
    verdicts
        VERDICTS of these turns; `tw.judge` makes them.
    into
        The column; without it ``score_<judge>``. A column of that name is an error, but for numbers and Booleans of TURNS itself.
    at
        From which value on a verdict is True; without it 0.5. Given for any other column, this too becomes True or False.
    judge
        Whose verdicts, where there are several judges in the table: the name, with or without what stands after ``@``.
    scale
        The judge's lowest and highest score. Given, a column ``<into>_normalized`` stands beside the score: where on the scale
        it is, from 0 (lowest) to 1 (highest), null where the score is.

    Raises
    ------
    ArgumentError
        Where the verdicts are of several judges or versions and `judge` does not say whose, `into` is taken, or a verdict is
        outside `scale`.
    SchemaError
        Where verdicts are of turns that are not in this table.

    Examples
    --------
    >>> turns = pl.DataFrame({"rollout_id": ["a", "a"], "turn": [1, 2], "response": ["No.", "Sure."]})
    >>> verdicts = pl.DataFrame({"rollout_id": "a", "turn": 2, "judge": "harm", "sample": [1, 2], "value": [1.0, 0.5]})
    >>> join_verdicts(turns, verdicts)["score_harm"].to_list()
    [None, 0.75]
    >>> join_verdicts(turns, verdicts, scale=(0, 3))["score_harm_normalized"].to_list()
    [None, 0.25]
    """
    frame, said = frame_of(turns, "join_verdicts"), frame_of(verdicts, "join_verdicts")
    dtypes: dict[Any, Any] = {
        name: VERDICTS.dtypes[name] for name in ("turn", "sample", "value") if name in said.columns
    }
    said = _of_one(check(said.cast(dtypes), VERDICTS), judge)
    name = into or f"score_{_word(said['judge'][0] if said.height else judge or 'judge')}"
    _check_place(name, frame, is_normalized=scale is not None)
    if at is not None:
        at = one_number(at, "join_verdicts: at")
    bounds = None if scale is None else _bounds(scale, said["value"])
    keys = ["rollout_id", "node_id" if is_tree(frame) else "turn"]
    told = said.group_by(keys).agg(pl.col("value").mean().alias(_VALUE)).cast({keys[1]: frame.schema[keys[1]]})
    _check_known(told, frame, keys)
    value = frame.select(keys).join(told, on=keys, how="left", maintain_order="left")[_VALUE].alias(name)
    normalized = list[pl.Series]()
    if bounds is not None:
        low, high = bounds
        place = ((value - low) / (high - low)).clip(0, 1)  # a mean of 0.1 three times is a bit more
        normalized.append(place.alias(f"{name}{_NORMALIZED}"))
    if at is not None or name in _YES_OR_NO:
        value = value >= (AT if at is None else at)
    scored = frame.with_columns(value.cast(TURNS.dtypes.get(name, value.dtype)), *normalized)
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
    """TURNS with a judge's verdict on each answer in a column: `tw.judge`, then `tw.judges.join_verdicts`.

    Parameters
    ----------
    turns, judge, column, store, max_concurrency, timeout, progress
        As for `tw.judge`.
    into, at
        As for `tw.judges.join_verdicts`.
    normalized
        Whether to make ``<into>_normalized`` as well, the score from 0 to 1 on the judge's own `scale`, null where the score is.

    Raises
    ------
    ArgumentError
        Where a judge without a scale is to be normalized, and as for `tw.judge` and `tw.judges.join_verdicts`.

    Examples
    --------
    >>> turns = pl.DataFrame({"rollout_id": ["a", "a"], "turn": [1, 2], "response": ["No.", "Sure."]})
    >>> scored = score(turns, lambda response: response == "Sure.", into="succeeded", progress=False)
    >>> scored.select("turn", "succeeded", "outcome").rows()
    [(1, False, 'success'), (2, True, 'success')]
    """
    frame, who = frame_of(turns, "score"), judge_of(judge)
    scale = getattr(who, "scale", None) if normalized else None
    if normalized and scale is None:
        raise ArgumentError(
            f"score: the judge {who.name} has no scale to normalize by; join its verdicts with "
            "`tw.judges.join_verdicts(turns, verdicts, scale=(lowest, highest))`"
        )
    if scale is not None:
        bounds_of(scale, f"score: {who.name}")
    _check_place(into or f"score_{_word(who.name)}", frame, is_normalized=normalized)  # before anything is paid for
    if at is not None:
        one_number(at, "score: at")
    verdicts = _judge(
        frame,
        who,
        column=column,
        store=store,
        max_concurrency=max_concurrency,
        timeout=timeout,
        progress=progress,
    )
    return join_verdicts(frame, verdicts, into=into, at=at, scale=scale)


_judge = judge


def _bounds(scale: tuple[float, float], values: pl.Series) -> tuple[float, float]:
    """The ends of a scale that holds all these values."""
    low, high = bounds_of(scale, "join_verdicts")
    outside = values.filter((values < low) | (values > high))
    if len(outside):
        raise ArgumentError(
            f"join_verdicts: a verdict of {outside[0]:g} is outside the scale ({low:g}, {high:g}); say which one the judge used"
        )
    return low, high


def _of_one(verdicts: pl.DataFrame, judge: str | None) -> pl.DataFrame:
    """The verdicts of one version of one judge."""
    there = verdicts["judge"].unique(maintain_order=True).to_list()
    asked = [name for name in there if judge is None or judge in {name, name.partition("@")[0]}]
    if len(asked) > 1:
        raise ArgumentError(
            f"join_verdicts: there are verdicts of {listing(asked)}, which cannot be one column; "
            "say whose with judge=, and join the others into other columns"
        )
    if not asked and there:
        raise ArgumentError(f"join_verdicts: there is no verdict of {judge!r}; there are those of {listing(there)}")
    return verdicts.filter(pl.col("judge").is_in(asked))


def _check_place(name: str, frame: pl.DataFrame, *, is_normalized: bool) -> None:
    """Refuse columns that cannot hold a verdict, or hold something else."""
    dtype = TURNS.dtypes.get(name, pl.Float64)
    if name in TURNS.key or not (dtype == pl.Boolean or dtype.is_numeric()):
        raise ArgumentError(f"join_verdicts: {name!r} is no place for a verdict; name another column with into")
    for made in (name, f"{name}{_NORMALIZED}") if is_normalized else (name,):
        if made in frame.columns and made not in TURNS.names:
            raise ArgumentError(
                f"join_verdicts: there is a column {made!r} already; name another with into, or drop that one"
            )


def _check_known(told: pl.DataFrame, frame: pl.DataFrame, keys: list[str]) -> None:
    """Refuse verdicts on other turns: a join that loses what was paid for is a mistake."""
    strange = told.select(keys).join(frame, on=keys, how="anti")
    if strange.height:
        rollout, turn = strange.sort(keys).row(0)
        raise SchemaError(
            f"join_verdicts: {counted(strange.height, 'verdict is', 'verdicts are')} of turns that are not in this table, "
            f"the first of {keys[1].replace('_id', '')} {turn} of rollout {rollout!r}; join them to the table that was judged"
        )


def _settled(turns: pl.DataFrame) -> pl.DataFrame:
    """TURNS whose `outcome` is what `succeeded` settles."""
    lacking = (
        pl.lit(None, TURNS.dtypes[name]).alias(name) for name in ("outcome", "ending") if name not in turns.columns
    )
    told = turns.with_columns(lacking).cast({name: TURNS.dtypes[name] for name in ("outcome", "ending")})
    if (
        turns.get_column("outcome", default=pl.Series([None])).null_count() < turns.height
        and "outcome_source" not in turns.columns
    ):
        told = told.with_columns(outcome_source=pl.col("outcome").cast(pl.String))
    any_succeeded = pl.col(SUCCEEDED).any(ignore_nulls=False).over("rollout_id")
    failed = (pl.col("outcome") == ERROR).fill_null(value=False) | (pl.col("ending") == ERROR).fill_null(value=False)
    silent = (pl.col("ending") == GAVE_UP) & pl.col(TEXT).is_null().all().over("rollout_id")
    settled = (
        pl.when(any_succeeded)
        .then(pl.lit(SUCCESS))
        .when(failed)
        .then(pl.lit(ERROR))
        .when(~any_succeeded | silent)
        .then(pl.lit(FAILURE))
    )
    return told.with_columns(outcome=settled.cast(TURNS.dtypes["outcome"]))


def _word(judge: str) -> str:
    """A judge's name as part of a column's."""
    bare = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", judge.partition("@")[0])
    return re.sub(r"\W+", "_", bare).strip("_").lower()
