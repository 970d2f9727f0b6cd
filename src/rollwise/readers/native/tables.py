"""A table of your own as TURNS: renamed, cast, numbered, sorted and checked."""

from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeVar, overload

import polars as pl
import polars.selectors as cs

from rollwise import schema
from rollwise.errors import ArgumentError, SchemaError, listing
from rollwise.readers.casting import cast, guessed, with_strange_results
from rollwise.readers.chat_names import LIST, LISTS, PROMPTS, RESPONSES
from rollwise.readers.chats.layouts import words_of
from rollwise.readers.chats.thinking import without_thoughts
from rollwise.readers.columns import arrange, json_column
from rollwise.readers.crashes import crashed
from rollwise.readers.labels import (
    LABELED,
    MOST_LABELS,
    Meanings,
    are_scores,
    as_names,
    may_change_values,
    scale,
    values_of,
)
from rollwise.readers.likely_columns import (
    MOST_EXAMPLES,
    are_rollouts,
    columns_in_words,
    repeated_rewards,
    repeated_verdicts,
)
from rollwise.readers.native.identity import frame_name, numbered
from rollwise.readers.native.lazily import conform_lazily, must_be_collected
from rollwise.readers.native.odd_rollouts import placed, with_ids, without_odd
from rollwise.readers.native.own_columns import Part, concerns, understood
from rollwise.readers.native.same_prompts import with_units
from rollwise.readers.native.turn_order import in_order, numbered_turns, with_time
from rollwise.readers.problems import Problems
from rollwise.readers.roles.columns import STATING, is_complete, is_constant, is_text
from rollwise.readers.roles.names import role_of
from rollwise.readers.roles.words import BLANK, normal, word
from rollwise.readers.sources.frames import WORDS
from rollwise.readers.table import TurnsBuilder
from rollwise.schema import TURNS
from rollwise.schema.frame_checks import check_values, facts_change
from rollwise.schema.named import column_named, values_named

TEXTS = WORDS | {*PROMPTS, *RESPONSES}  # text columns, in which other values become text
_OF_LISTS = (
    "each row of the table holds a list of turns (`{}`): write the rows as JSON lines, as "
    '`frame.write_ndjson("chats.jsonl")` does (decode the list first if it is text), and read that with `rw.read`'
)

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)
Names = Mapping[str, str]


@overload
def conformed(
    frame: pl.LazyFrame,
    names: Names = ...,
    values: Mapping[str, Meanings] = ...,
    of: str | None = ...,
    problems: Problems | None = ...,
) -> pl.LazyFrame: ...
@overload
def conformed(
    frame: pl.DataFrame,
    names: Names = ...,
    values: Mapping[str, Meanings] = ...,
    of: str | None = ...,
    problems: Problems | None = ...,
) -> pl.DataFrame: ...
def conformed(
    frame: pl.DataFrame | pl.LazyFrame,
    names: Names = MappingProxyType({}),
    values: Mapping[str, Meanings] = MappingProxyType({}),
    of: str | None = None,
    problems: Problems | None = None,
) -> pl.DataFrame | pl.LazyFrame:
    """Return the frame as TURNS, lazy if it was; `names` maps names of TURNS to yours, and `values` has the maps of labels.

    `of` is whose success a column is that does not say so: "attack" or "task".

    What became null or was read under another name is said on stderr.
    """
    is_lazy = isinstance(frame, pl.LazyFrame)
    if isinstance(frame, pl.LazyFrame):
        has_ids = names.get("rollout_id", "rollout_id") in frame.collect_schema()
        renamed = _renamed(frame, names) if has_ids else frame
        is_plain = has_ids and not may_change_values(names, values) and fits(renamed.collect_schema())
        if is_plain and not must_be_collected(renamed, names):
            return conform_lazily(renamed)
        frame = frame.collect()
    problems = Problems() if problems is None else problems
    named = names.get("response", "response") in frame.columns
    has_answers = named or any(name in RESPONSES or role_of(name) == "response" for name in frame.columns)
    is_written = is_complete(frame.columns)
    turns = conform(frame, names, "the frame", problems, values, is_complete=is_written)
    [turns] = understood([Part(turns, "native", frozenset(), has_answers, is_written)], problems, names, of)
    turns = schema.check(arrange(turns), TURNS)
    if not is_written:
        turns = with_units(turns, names, problems)
        problems.suggest(repeated_rewards(turns))
        problems.questions += repeated_verdicts(turns, names.get("succeeded", "succeeded"), values.get("succeeded"))
    problems.announce()
    return turns.lazy() if is_lazy else turns


def holds_chats(columns: Mapping[str, Any], names: Mapping[str, str]) -> bool:
    """Return whether rows with these columns, under these names, are messages, or rollouts with a list of turns in each."""
    column_of = {source: column for column, source in names.items()}
    return _no_turns({column_of.get(name, name): dtype for name, dtype in columns.items()}, "rollout_id") is not None


def conform(
    frame: pl.DataFrame,
    names: Names,
    where: str,
    problems: Problems,
    values: Mapping[str, Meanings] = MappingProxyType({}),
    *,
    named: Names = MappingProxyType({}),  # before
    is_complete: bool = False,  # rollwise wrote the table: nothing is guessed
    of_file: bool = False,  # a rollout whose rows do not fit together is a problem, and costs itself
) -> pl.DataFrame:
    """Return the frame as TURNS."""
    frame = frame if is_complete else _with_texts(frame, {*names, *named}, {*names.values()}, problems)
    frame = _renamed(_identified(frame, names, problems, where), names)
    frame = frame.with_columns(
        values_of(frame[name], name, names[name], values.get(name), frame["rollout_id"])
        for name in names
        if name in LABELED
    )
    if (reason := _no_turns(frame.schema, names.get("rollout_id", "rollout_id")) or _spelled_out(frame)) is not None:
        raise SchemaError(f"TURNS: {reason}")
    frame = _without_nan(frame, where, problems)
    if of_file:
        frame = with_ids(frame, where, problems)
    elif frame["rollout_id"].null_count():
        row = int(frame["rollout_id"].is_null().arg_max() or 0)
        advice = "give every row an id, or `frame.drop_nulls('rollout_id')`"
        raise SchemaError(f"TURNS: column `rollout_id` is null in row {row}; {advice}")
    frame = frame.with_columns(cast(frame["rollout_id"], pl.String, frame["rollout_id"]))
    frame, time = with_time(frame, {**named, **names})
    frame, odd = placed(frame) if of_file else (frame, {})
    frame = frame if "tool_results" in names else with_strange_results(frame)
    ids, dtypes = frame["rollout_id"], TURNS.dtypes
    # A column that has its dtype stays: one that is null throughout takes no memory until it is touched.
    frame = frame.with_columns(
        values_of(frame[name], name, name, ids=ids)
        if name in LABELED
        else cast(frame[name], dtypes[name], ids)
        if name in dtypes
        else json_column(frame[name])
        for name, dtype in frame.schema.items()
        if dtype != dtypes.get(name, dtype) or dtype == pl.Object
    )
    frame = _without_nan(frame, where, problems)  # again: text may hold NaN, which is a number only now
    frame = numbered_turns(frame, problems, where, time)
    is_ordered = schema.in_order(frame)
    if not is_ordered:
        frame = in_order(frame)
        is_ordered = schema.in_order(frame)
    is_odd = bool(odd) or not is_ordered or facts_change(frame)
    if of_file and is_odd:
        frame = without_odd(frame, where, problems, odd)
    frame = arrange(frame)
    if not is_complete:
        frame, sentences = without_thoughts(frame, frame.columns)
        problems.read_as(sentences)
    return schema.check(frame, TURNS) if is_odd else check_values(frame, TURNS)


def _unread_words(frame: pl.DataFrame) -> Iterator[tuple[str, pl.Series, str]]:
    """Iterate over the verdicts that records state in our names and in words that we do not know.

    Yields the column of TURNS, the ids of the rollouts where it is null for that reason, and the predicate of a sentence.
    """
    for name in ("outcome", "solved", "ending"):
        column = f"{name}_source"
        if column not in frame.columns or not is_text(frame.schema[column]):
            continue
        is_blank = values_named(frame, column).str.strip_chars(' "').str.to_lowercase().is_in(BLANK)
        unread = frame.filter(values_named(frame, column).is_not_null() & ~is_blank)
        if name in frame.columns:
            unread = unread.filter(values_named(unread, name).is_null())
        if name != "ending":  # words of verdicts that are known are read, or asked about, once all files are
            labels = unread[column].unique().drop_nulls()
            understood_labels = [label for label in labels if word(str(label).strip('"')).side is not None]
            unread = unread.filter(~values_named(unread, column).is_in(understood_labels))
        if unread.height:
            words = listing(_labels_in(unread[column]), most=MOST_LABELS)
            reason = f"holds words that are not understood ({words}): null there, and kept as `{column}`"
            yield name, unread["rollout_id"].unique(maintain_order=True), reason


def _labels_in(series: pl.Series) -> tuple[str, ...]:
    """Return the labels of a column, each in one spelling, without blank ones."""
    spellings = {normal(label): str(label).strip('"') for label in series.unique().drop_nulls().sort(descending=True)}
    return tuple(spellings[label] for label in sorted(spellings) if label not in BLANK)


def parts_of(table: TurnsBuilder) -> list[Part]:
    """Return the turns of a table, with what is known of each part; words that are not understood become problems."""
    frames, added = table.parts()
    parts = [Part(frame, table.source, *traits) for frame, traits in zip(frames, table.traits(), strict=True)]
    if added is None:
        return parts
    frame, of_records = added
    if table.is_given:  # the user said what each column is
        frame, contradictions = crashed(arrange(frame), of_records)
        table.problems.crashed(contradictions)
    elif table.source in STATING:
        for name, ids, reason in _unread_words(frame):
            for file in table.origins.files_of(ids).unique(maintain_order=True):
                table.problems.warned(file, None, name, reason)
    frame, readings = without_thoughts(frame, of_records)
    if readings:
        table.problems.read_as(readings)
    return [*parts, Part(frame, table.source, of_records, is_written=table.is_given)]


def fits(columns: pl.Schema) -> bool:
    """Return whether a lazy frame has the columns of TURNS already, and need not be collected."""
    dtypes = TURNS.dtypes
    named = all(name in columns for name in TURNS.required) and not _aliases(columns, lambda _: False)
    # Whether `attack` is a method or a prompt depends on its values: see `_aliases`.
    doubtful = "attack" in columns and "prompt" not in columns
    typed = all(dtype == dtypes.get(name, dtype) for name, dtype in columns.items())
    has_others = any(role_of(name) in {"prompt", "response"} for name in columns if name not in dtypes)
    is_plain = not doubtful and not concerns(columns) and not has_others
    return named and is_plain and typed and _no_turns(columns, "rollout_id") is None


def words(names: Mapping[str, str]) -> frozenset[str]:
    """Return the names of text columns, yours included."""
    return TEXTS | {source for column, source in names.items() if column in WORDS}


def _with_texts(
    frame: pl.DataFrame, named: Collection[str], reserved: Collection[str], problems: Problems
) -> pl.DataFrame:
    """Return the frame with the only text whose name says so as the prompt or response, where no usual name is there."""
    texts = [name for name, dtype in frame.schema.items() if is_text(dtype) and name not in reserved]
    for name, usual in (("prompt", PROMPTS), ("response", RESPONSES)):
        candidates = [text for text in texts if text not in TURNS.names and role_of(text) == name]
        if name in {*named, *frame.columns} or {*usual} & {*frame.columns} or len(candidates) != 1:
            continue
        # One that is the same in all turns is of the whole rollout.
        values = values_named(frame, candidates[0])
        ids = frame["rollout_id"] if "rollout_id" in frame.columns else None
        if ids is not None and ids.is_duplicated().any() and is_constant(ids, values):
            continue
        frame = frame.rename({candidates[0]: name})
        problems.read_as([f"`{candidates[0]}` as `{name}`"])
    return _with_counts(frame, {*named, *reserved}, problems)


def _with_counts(frame: pl.DataFrame, named: Collection[str], problems: Problems) -> pl.DataFrame:
    """Return the frame with numbers of refusals under a name that says so: whether the target refused is yes or no."""
    if frame.schema.get("refused", pl.Boolean) == pl.Boolean or "refused" in named or "num_refused" in frame.columns:
        return frame
    values = values_named(frame, "refused")
    if not (labels := values.unique().drop_nulls().to_list()) or not are_scores(labels):
        return frame
    problems.read_as([f"`refused` ({scale(labels)}) as `num_refused`, as it is a number and not yes or no"])
    return frame.drop("refused").with_columns(num_refused=guessed(values) if is_text(values.dtype) else values)


def _identified(frame: pl.DataFrame, names: Names, problems: Problems, where: str) -> pl.DataFrame:
    """Return the frame with an id for each row, if its rows are rollouts and have none."""
    if names.get("rollout_id", "rollout_id") in frame.columns:
        return frame
    column_of = {source: column for column, source in names.items()}
    if not are_rollouts({column_of.get(name, name): values for name, values in _examples(frame).items()}):
        return frame
    return numbered(frame, problems, frame_name(frame), where)


def _renamed(frame: Frame, names: Mapping[str, str]) -> Frame:
    columns = frame.collect_schema()
    for column, source in names.items():
        if column in TURNS.names and source not in columns:
            raise ArgumentError(
                f"turns: {as_names({column: source})}: there is no column {source!r}; available: {listing(columns, most=30)}"
            )
    renames = {column: source for column, source in names.items() if source != column and source in columns}
    for column, source in renames.items():
        if column in columns and column not in renames.values() and _has_values(frame, column):
            raise ArgumentError(
                f"turns: {as_names({column: source})} would hide the column {column!r}; "
                f'rename that first: `frame.rename({{"{column}": "{column}_source"}})`'
            )
    affected = set(renames) | set(renames.values())
    unchanged = [column_named(name) for name in columns if name not in affected]
    frame = frame.select(*unchanged, *(column_named(source).alias(column) for column, source in renames.items()))
    if "rollout_id" not in frame.collect_schema():
        raise SchemaError(f"TURNS: there is no column `rollout_id`: {columns_in_words(_examples(frame))}")
    return frame.rename(_aliases(frame.collect_schema(), lambda name: _varies(frame, name)))


def _examples(frame: pl.DataFrame | pl.LazyFrame) -> dict[str, list[object]]:
    """Return some values of each column, for a message."""
    rows = frame.lazy().head(MOST_EXAMPLES).collect()
    return {name: values_named(rows, name).drop_nulls().unique(maintain_order=True).to_list() for name in rows.columns}


def _has_values(frame: pl.DataFrame | pl.LazyFrame, name: str) -> bool:
    """Return whether the column has a value: `read` adds all columns of TURNS, and a column of nulls can be replaced."""
    return bool(frame.lazy().select(column_named(name).is_not_null().any()).collect().item())


def _aliases(columns: Mapping[str, Any], varies: Callable[[str], bool]) -> dict[str, str]:
    """Return the columns that must be the prompt and the response."""
    words = {
        name for name, dtype in columns.items() if dtype in {pl.String, pl.Categorical} or isinstance(dtype, pl.Enum)
    }
    renames = {}
    for column, usual_names in (("prompt", PROMPTS), ("response", RESPONSES)):
        candidates = [name for name in usual_names if name in words]
        if column in columns:
            continue
        if len(candidates) == 1:
            renames[candidates[0]] = column
        # The method of an attack is the same in all turns of a rollout; a text that changes is what was said.
        elif column == "prompt" and not candidates and "attack" in words and varies("attack"):
            renames["attack"] = column
    return renames


def _no_turns(columns: Mapping[str, Any], rollout_id: str) -> str | None:
    """Describe rows that are not turns: messages, or rollouts with a list of their turns."""
    if {"prompt", "response"} & columns.keys():
        return None
    words = words_of(frozenset(columns))
    if words is not None:
        chats = f'frame.group_by("{rollout_id}", maintain_order=True).agg(messages=pl.struct{words})'
        return (
            "each row of the table is a message: put those of one rollout into one record, "
            f'`{chats}.write_ndjson("chats.jsonl")`, and read that with `rw.read`'
        )
    name = next((name for name in LISTS if isinstance(columns.get(name), LIST)), None)
    return None if name is None or "turn" in columns else _OF_LISTS.format(name)


def _spelled_out(frame: pl.DataFrame) -> str | None:
    """Describe rows whose list of turns is JSON text, as lists of unlike objects become in a frame."""
    if {"turn", "prompt", "response"} & {*frame.columns}:
        return None
    texts = (name for name in LISTS if frame.schema.get(name) == pl.String)
    name = next(
        (name for name in texts if (values_named(frame, name).drop_nulls().head(1).str.starts_with("[{")).any()), None
    )
    return None if name is None else _OF_LISTS.format(name)


def _varies(frame: pl.DataFrame | pl.LazyFrame, name: str) -> bool:
    most = (
        frame.lazy()
        .group_by("rollout_id")
        .agg(column_named(name).n_unique())
        .select(column_named(name).max())
        .collect()
    )
    return int(most.item() or 0) > 1


def _without_nan(frame: pl.DataFrame, where: str, problems: Problems) -> pl.DataFrame:
    counts = {column.name: int(column.item()) for column in frame.select(cs.float().is_nan().sum())}
    for name, count in counts.items():
        problems.nulled(where, count, field=name)
    with_nan = [name for name, count in counts.items() if count]
    return frame.with_columns(column_named(name).fill_nan(None) for name in with_nan)
