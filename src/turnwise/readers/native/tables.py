"""Your own table into TURNS: named, cast, numbered, in order and checked."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar, overload

import polars as pl

from turnwise import schema
from turnwise.errors import ArgumentError, SchemaError, listing
from turnwise.readers.chats.layouts import LIST, LISTS, PROMPTS, RESPONSES, words_of
from turnwise.readers.columns import arrange, arrangement, json_column
from turnwise.readers.native.casting import cast
from turnwise.readers.problems import Problems
from turnwise.readers.sources.frames import WORDS
from turnwise.schema import TURNS
from turnwise.schema.promises import check_in_order

TEXTS = WORDS | {*PROMPTS, *RESPONSES}  # columns of words: text stays as it is beside other things
_ORDER = "__turnwise_order"
_OF_LISTS = (
    "the table holds a list of turns in each row (`{}`): write its rows as JSON lines, as "
    '`frame.write_ndjson("chats.jsonl")` does (decode the list first where it is text), and `tw.read` that'
)

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)


@overload
def conformed(frame: pl.LazyFrame, names: Mapping[str, str] = ...) -> pl.LazyFrame: ...
@overload
def conformed(frame: pl.DataFrame, names: Mapping[str, str] = ...) -> pl.DataFrame: ...
def conformed(
    frame: pl.DataFrame | pl.LazyFrame, names: Mapping[str, str] = MappingProxyType({})
) -> pl.DataFrame | pl.LazyFrame:
    """The frame as TURNS, lazy if it was; `names` maps our names to theirs. What became null is counted on stderr.

    Examples
    --------
    >>> conformed(pl.DataFrame({"chat": ["a", "a"], "reply": ["Hello", "No"]}), {"rollout_id": "chat"})[
    ...     "turn"
    ... ].to_list()
    [1, 2]
    """
    lazy = isinstance(frame, pl.LazyFrame)
    if isinstance(frame, pl.LazyFrame):
        renamed = _renamed(frame, names)
        if fits(renamed.collect_schema()):
            return conform_lazily(renamed)
        frame = frame.collect()
    problems = Problems()
    made = conform(frame, names, "the frame", problems)
    problems.announce()
    return made.lazy() if lazy else made


def holds_chats(columns: Mapping[str, Any], names: Mapping[str, str]) -> bool:
    """Whether rows with these columns, called so, are no turns but messages, or rollouts with a list of what was said in each.

    Examples
    --------
    >>> said = pl.List(pl.Struct({"role": pl.String, "content": pl.String}))
    >>> holds_chats({"messages": said}, {}), holds_chats({"messages": said, "reply": pl.String}, {"response": "reply"})
    (True, False)
    """
    ours = {theirs: name for name, theirs in names.items()}
    return _no_turns({ours.get(name, name): dtype for name, dtype in columns.items()}, "rollout_id") is not None


def conform(frame: pl.DataFrame, names: Mapping[str, str], where: str, problems: Problems) -> pl.DataFrame:
    """The frame as TURNS; `names` maps our names to theirs, `where` names it for what is noted in `problems`."""
    frame = _renamed(frame, names)
    if (reason := _no_turns(frame.schema, names.get("rollout_id", "rollout_id")) or _spelled_out(frame)) is not None:
        raise SchemaError(f"TURNS: {reason}")
    frame = _without_nan(frame, where, problems)
    if frame["rollout_id"].null_count():
        row = int(frame["rollout_id"].is_null().arg_max() or 0)
        raise SchemaError(
            f"TURNS: column `rollout_id` is null in row {row}; give every row an id, or `frame.drop_nulls('rollout_id')`"
        )
    frame = frame.with_columns(cast(frame["rollout_id"], pl.String, frame["rollout_id"]))
    ids, dtypes = frame["rollout_id"], TURNS.dtypes
    frame = frame.with_columns(
        cast(frame[name], dtypes[name], ids) if name in dtypes else json_column(frame[name])
        for name, dtype in frame.schema.items()
        if name in dtypes or dtype == pl.Object
    )
    frame = _without_nan(frame, where, problems)  # of text, NaN is known only now
    frame = _numbered(frame)
    if schema.in_order(frame):
        return check_in_order(arrange(frame))
    return schema.check(arrange(_in_order(frame)), TURNS)


def fits(found: pl.Schema) -> bool:
    """Return whether columns are those of TURNS as they stand, so that a lazy frame of them need not be collected."""
    dtypes = TURNS.dtypes
    named = all(name in found for name in TURNS.required) and not _aliases(found, lambda _: False)
    doubtful = "attack" in found and "prompt" not in found
    typed = all(dtype == dtypes.get(name, dtype) for name, dtype in found.items())
    return named and not doubtful and typed and _no_turns(found, "rollout_id") is None


def conform_lazily(lazy: pl.LazyFrame) -> pl.LazyFrame:
    """A lazy frame that `fits`, with every column of TURNS and NaN as null."""
    found = lazy.collect_schema()
    clean = lazy.with_columns(pl.col(name).fill_nan(None) for name, dtype in found.items() if dtype.is_float())
    return clean.select(arrangement(found.names()))


def words(names: Mapping[str, str]) -> frozenset[str]:
    """Their columns that are columns of TURNS."""
    return TEXTS | {theirs for ours, theirs in names.items() if ours in WORDS}


def _renamed(frame: Frame, names: Mapping[str, str]) -> Frame:
    found = frame.collect_schema()
    wanted = {ours: theirs for ours, theirs in names.items() if theirs != ours}
    for ours, theirs in wanted.items():
        if theirs not in found:
            raise ArgumentError(f"turns: there is no column {theirs!r} for {ours}; there is {listing(found, most=30)}")
        if ours in found and ours not in wanted.values() and _known(frame, ours):
            raise ArgumentError(
                f"turns: {ours}={theirs!r} would hide the column {ours!r}; "
                f'rename that first: `frame.rename({{"{ours}": "{ours}_source"}})`'
            )
    apart = set(wanted) | set(wanted.values())
    kept = [pl.col(name) for name in found if name not in apart]
    frame = frame.select(*kept, *(pl.col(theirs).alias(ours) for ours, theirs in wanted.items()))
    if "rollout_id" not in frame.collect_schema():
        raise SchemaError(
            f"TURNS: there is no column `rollout_id` (there is {listing(found, most=30)}); "
            'say which of yours it is: `tw.turns(frame, rollout_id="...")`'
        )
    return frame.rename(_aliases(frame.collect_schema(), lambda name: _varies(frame, name)))


def _known(frame: pl.DataFrame | pl.LazyFrame, name: str) -> bool:
    """Return whether the column holds anything: `read` gives every column of ours, and what is null throughout hides nothing."""
    return bool(frame.lazy().select(pl.col(name).is_not_null().any()).collect().item())


def _aliases(found: Mapping[str, Any], varies: Callable[[str], bool]) -> dict[str, str]:
    """Return the columns that are the prompt and the response, where that is beyond doubt."""
    words = {
        name for name, dtype in found.items() if dtype in {pl.String, pl.Categorical} or isinstance(dtype, pl.Enum)
    }
    renames = {}
    for ours, theirs in (("prompt", PROMPTS), ("response", RESPONSES)):
        candidates = [name for name in theirs if name in words]
        if ours not in found and len(candidates) == 1:
            renames[candidates[0]] = ours
        elif ours == "prompt" and ours not in found and not candidates and "attack" in words and varies("attack"):
            renames["attack"] = ours
    return renames


def _no_turns(found: Mapping[str, Any], rollout_id: str) -> str | None:
    """Describe rows that are not turns: messages, or rollouts with a list of their turns."""
    if {"prompt", "response"} & found.keys():
        return None
    words = words_of(frozenset(found))
    if words is not None:
        chats = f'frame.group_by("{rollout_id}", maintain_order=True).agg(messages=pl.struct{words})'
        return (
            "the table holds a message in each row: put those of one rollout into one record, "
            f'`{chats}.write_ndjson("chats.jsonl")`, and `tw.read` that'
        )
    name = next((name for name in LISTS if isinstance(found.get(name), LIST)), None)
    return None if name is None or "turn" in found else _OF_LISTS.format(name)


def _spelled_out(frame: pl.DataFrame) -> str | None:
    """Decode lists of objects that became JSON text because the objects differ."""
    if {"turn", "prompt", "response"} & {*frame.columns}:
        return None
    texts = (name for name in LISTS if frame.schema.get(name) == pl.String)
    name = next((name for name in texts if (frame[name].drop_nulls().head(1).str.starts_with("[{")).any()), None)
    return None if name is None else _OF_LISTS.format(name)


def _varies(frame: pl.DataFrame | pl.LazyFrame, name: str) -> bool:
    counted = frame.lazy().group_by("rollout_id").agg(pl.col(name).n_unique()).select(pl.col(name).max()).collect()
    return int(counted.item() or 0) > 1


def _without_nan(frame: pl.DataFrame, where: str, problems: Problems) -> pl.DataFrame:
    found = {name: int(frame[name].is_nan().sum()) for name, dtype in frame.schema.items() if dtype.is_float()}
    for name, count in found.items():
        problems.nulled(where, count, field=name)
    odd = [name for name, count in found.items() if count]
    return frame.with_columns(pl.col(odd).fill_nan(None)) if odd else frame


def _numbered(frame: pl.DataFrame) -> pl.DataFrame:
    turn = pl.col("turn")
    if "turn" not in frame.columns:
        if schema.is_tree(frame):
            raise SchemaError(
                "TURNS: a tree needs a column `turn`, the depth of each node; `tw.trees.flatten(graphs)` gives it"
            )
        return frame.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("rollout_id").alias("turn"))
    if not (frame["turn"] == 0).any():
        return frame
    starts = frame.lazy().group_by("rollout_id").agg(turn.min()).select(turn.drop_nulls()).collect()["turn"]
    return frame.with_columns(turn + 1) if starts.len() and (starts == 0).all() else frame


def _in_order(frame: pl.DataFrame) -> pl.DataFrame:
    """Rollouts as they first appear, each in one piece, and its turns in order (nodes of a tree as they stand)."""
    frame = frame.with_row_index(_ORDER).with_columns(pl.col(_ORDER).min().over("rollout_id"))
    by = [_ORDER] if schema.is_tree(frame) else [_ORDER, "turn"]
    return frame.sort(by, maintain_order=True).drop(_ORDER)
