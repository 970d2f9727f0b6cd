"""VERDICTS -> TURNS: what a judge said, as a column of the turns that it judged."""

import re
from pathlib import Path
from typing import Any

import polars as pl

from turnwise.arguments import frame_of, one_number
from turnwise.errors import ArgumentError, SchemaError, counted, listing
from turnwise.schema import ERROR, FAILURE, GAVE_UP, SUCCESS, TURNS, VERDICTS, check, is_tree
from turnwise.scoring.judging import judge
from turnwise.scoring.verdicts import TEXT, AnyJudge

AT = 0.5
_VALUE = "__value"
SUCCEEDED = "succeeded"
_YES_OR_NO = (SUCCEEDED, "refused")


def join_verdicts(
    turns: object, verdicts: object, *, into: str | None = None, at: float | None = None, judge: str | None = None
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

    Raises
    ------
    ArgumentError
        Where the verdicts are of several judges or versions and `judge` does not say whose, or `into` is taken.
    SchemaError
        Where verdicts are of turns that are not in this table.

    Examples
    --------
    >>> turns = pl.DataFrame({"rollout_id": ["a", "a"], "turn": [1, 2], "response": ["No.", "Sure."]})
    >>> verdicts = pl.DataFrame({"rollout_id": "a", "turn": 2, "judge": "harm", "sample": [1, 2], "value": [1.0, 0.5]})
    >>> join_verdicts(turns, verdicts)["score_harm"].to_list()
    [None, 0.75]
    """
    frame, said = frame_of(turns, "join_verdicts"), frame_of(verdicts, "join_verdicts")
    dtypes: dict[Any, Any] = {
        name: VERDICTS.dtypes[name] for name in ("turn", "sample", "value") if name in said.columns
    }
    said = _of_one(check(said.cast(dtypes), VERDICTS), judge)
    name = into or f"score_{_word(said['judge'][0] if said.height else judge or 'judge')}"
    dtype = TURNS.dtypes.get(name, pl.Float64)
    if name in TURNS.key or not (dtype == pl.Boolean or dtype.is_numeric()):
        raise ArgumentError(f"join_verdicts: {name!r} is no place for a verdict; name another column with into")
    if at is not None:
        at = one_number(at, "join_verdicts: at")
    if name in frame.columns and name not in TURNS.names:
        raise ArgumentError(
            f"join_verdicts: there is a column {name!r} already; name another with into, or drop that one"
        )
    keys = ["rollout_id", "node_id" if is_tree(frame) else "turn"]
    told = said.group_by(keys).agg(pl.col("value").mean().alias(_VALUE)).cast({keys[1]: frame.schema[keys[1]]})
    _check_known(told, frame, keys)
    value = frame.select(keys).join(told, on=keys, how="left", maintain_order="left")[_VALUE].alias(name)
    if at is not None or name in _YES_OR_NO:
        value = value >= (AT if at is None else at)
    scored = frame.with_columns(value.cast(TURNS.dtypes.get(name, value.dtype)))
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
) -> pl.DataFrame:
    """TURNS with a judge's verdict on each answer in a column: `tw.judge`, then `tw.join_verdicts`.

    Parameters
    ----------
    turns, judge, column, store, max_concurrency, timeout, progress
        As for `tw.judge`.
    into, at
        As for `tw.join_verdicts`.

    Examples
    --------
    >>> turns = pl.DataFrame({"rollout_id": ["a", "a"], "turn": [1, 2], "response": ["No.", "Sure."]})
    >>> scored = score(turns, lambda response: response == "Sure.", into="succeeded", progress=False)
    >>> scored.select("turn", "succeeded", "outcome").rows()
    [(1, False, 'success'), (2, True, 'success')]
    """
    frame = frame_of(turns, "score")
    verdicts = _judge(
        frame,
        judge,
        column=column,
        store=store,
        max_concurrency=max_concurrency,
        timeout=timeout,
        progress=progress,
    )
    return join_verdicts(frame, verdicts, into=into, at=at)


_judge = judge


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
