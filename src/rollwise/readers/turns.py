"""Data in memory into TURNS: a table of turns, or chats, which are read as a file of chats would be."""

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, overload

import msgspec
import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, ReadError
from rollwise.readers.asking import Call, Name, asking
from rollwise.readers.chat_names import LISTS
from rollwise.readers.columns import arrange, json_column
from rollwise.readers.labels import as_names
from rollwise.readers.names import Names, checked_names
from rollwise.readers.naming import Naming
from rollwise.readers.native.tables import conformed, holds_chats, words
from rollwise.readers.problems import LEAVE, Problems
from rollwise.readers.read import turns_of
from rollwise.readers.scores import scored
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.frames import frame_of, plain
from rollwise.schema.labels import say
from rollwise.schema.option_types import check_option_types


@overload
def turns(  # type: ignore[overload-overlap]  # a LazyFrame is an object too, and stays lazy
    frame: pl.LazyFrame, *, names: Mapping[str, Any] | None = None
) -> pl.LazyFrame: ...
@overload
def turns(frame: object, *, names: Mapping[str, Any] | None = None) -> pl.DataFrame: ...
def turns(frame: object, *, names: Mapping[str, Any] | None = None) -> pl.DataFrame | pl.LazyFrame:
    """Convert data in memory into TURNS: renamed, cast, numbered, ordered and checked. All your columns are kept.

    Rows that are rollouts with a list of their turns or messages are read as a file of them, by the names and rules that
    `rollwise info components -t reader --name openai_chat` shows. All other rows are turns:

    - **Names.** `names` says which column is which. Without it, the only text column among ``probe, audit, utterance,
      challenge, input, question, user, human`` is the `prompt`, and the only one among ``output, completion, answer, reply,
      assistant`` the `response`; if there are two candidates, neither is. `attack` names the method. It is taken for the
      prompt only if no other column can be, and if its text changes within a rollout, as a method cannot; write
      ``names={"prompt": "attack"}`` for rollouts of one turn. Other columns whose meaning is beyond doubt are read as in
      `read`, which one line on stderr says; it also says which columns look useful and are not used.
    - **Verdicts** may be words, such as JAILBREAK and refused, yes and no; null and blank mean not judged. A map explains any
      others: ``names={"succeeded": ("verdict", {"ja": True, "nein": False})}``.
    - **Scores.** ``names={"score": "harm", "succeeded": 0.5}``: a turn with a score of at least .5 succeeded.
      A line on stderr says where all scores are on one side of it.
    - **Turns.** Without a turn column, the rows of a rollout are numbered in the order of a column of times (`ts`, `created_at`
      and the like) where that says another one, else in their order; a line on stderr says which. Numbers that start at 0 in
      most rollouts are raised by one. Gaps are an error.
    - **Ids.** Rows with an answer, and a goal or whatever is evaluated, but neither an id nor a number of the turn, are rollouts
      of one turn each, which a line on stderr says. Their ids are a checksum of the frame and the number of the row: other
      frames have other ids, and the same frame twice, put together with `pl.concat`, is refused by `measure`.
    - **Dtypes.** Integers may be ids; 0 and 1, or the words true and false, may be Booleans; `tool_calls` may be JSON text.
      Nothing else is converted, and an error names a value that does not fit. In records, an extra column of mixed types
      becomes JSON text.
    - **NaN** becomes null in every column, and is counted on stderr.

    Parameters
    ----------
    frame
        A Polars or pandas frame, a `pyarrow.Table`, anything with `__arrow_c_stream__`, or a list of dicts. A
        LazyFrame stays lazy if it fits without conversion (NaN is then not counted and rows are not sorted); otherwise
        it is collected and made lazy again.
    names
        Name in TURNS = your name, as in ``names={"rollout_id": "conv", "succeeded": "jailbroken"}``; as in `read`.

    Raises
    ------
    SchemaError
        Naming the column, the rollout and the remedy.
    ReadError
        For chats, naming the record, the field and the remedy.
    ArgumentError
        Where a column named here does not exist, or two columns would have one name (a column that is null in all rows, as
        in the result of `read`, is replaced).

    Examples
    --------
    >>> records = [
    ...     {"chat": 7, "user": "Hi", "reply": "Hello", "harm": 0.1},
    ...     {"chat": 7, "user": "Again", "reply": "No"},
    ... ]
    >>> turns(records, names={"rollout_id": "chat"}).select("rollout_id", "turn", "prompt", "response", "harm").rows()
    [('7', 1, 'Hi', 'Hello', 0.1), ('7', 2, 'Again', 'No', None)]
    >>> chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    >>> turns([{"rollout_id": "a", "messages": chat}]).select("rollout_id", "turn", "prompt", "response").rows()
    [('a', 1, 'Hi', 'Hello')]
    """
    check_option_types(turns, locals(), own=("names",))
    checked = checked_names(names, "turns")
    columns, values, at, of = checked.columns, checked.values, checked.at, checked.of
    if checked.of_files:
        raise ArgumentError(f"turns: {as_names(checked.of_files)} is said of files; give `rw.read` the file")
    if isinstance(frame, pl.LazyFrame):
        is_whole = at is not None or holds_chats(frame.collect_schema(), columns)
        return turns(frame.collect(), names=names).lazy() if is_whole else conformed(frame, columns, values, of)
    list_names = {columns.get(name, name) for name in LISTS}
    # Chats become a file in memory, which the reader of chats reads: JSON lines for records, Arrow for a frame.
    data = _records(list(frame) if isinstance(frame, Iterator) else frame, list_names)
    if isinstance(data, pl.DataFrame):
        data = _without_objects(data)
    if isinstance(data, Sequence) and _hold_chats(data, list_names, columns):
        return _read(Document(Path("the records"), _lines(data)), checked, names)
    table = _without_objects(frame_of(data, words(columns)))
    if not holds_chats(table.schema, columns):
        problems = Problems()
        with asking(problems, Call("turns", Name("frame"), {"names": names})):
            table, notices = scored(conformed(table, columns, values, of, problems), checked, "turns")
        for sentence in notices:
            say(sentence)
        return table
    # Without rows there is nothing to read, and the reader of chats would report an empty file.
    if not table.height:
        return arrange(schema.empty(schema.TURNS))
    file = io.BytesIO()
    table.write_ipc(file)
    return _read(Document(Path("the frame"), file.getvalue()), checked, names)


def _without_objects(table: pl.DataFrame) -> pl.DataFrame:
    """Return the table with columns of Python objects as JSON text, which Polars can sort, compare and write."""
    return table.with_columns(json_column(table[name]) for name, dtype in table.schema.items() if dtype == pl.Object)


def _records(data: Any, list_names: AbstractSet[str]) -> Any:
    """Convert a frame of pandas with a column of lists into records, as its values may be of several dtypes."""
    if type(data).__module__.partition(".")[0] != "pandas":
        return data
    objects = [name for name in list_names & {*getattr(data, "columns", ())} if data[name].dtype == object]
    if not any(_is_list(_first(data[name].dropna())) for name in objects):
        return data
    table = data.reset_index() if any(data.index.names) else data
    return table.astype(object).where(table.notna(), None).to_dict("records")


def _hold_chats(records: Sequence[Any], list_names: AbstractSet[str], names: Mapping[str, str]) -> bool:
    """Return whether records are rollouts with a list of messages or turns, rather than turns with such a list."""
    # Column names come from the first record, as in a table.
    first = records[0] if records and isinstance(records[0], Mapping) else {}
    mappings = [record for record in records if isinstance(record, Mapping)]
    lists = {name for name in list_names & first.keys() if _is_list(_first(record.get(name) for record in mappings))}
    columns = {name: pl.List(pl.Struct({})) if name in lists else None for name in first}
    return bool(lists) and holds_chats(columns, names)


def _first(values: Iterable[Any]) -> Any:
    """Return the first value that is neither null nor empty."""
    return next(
        (value for value in values if value is not None and not (hasattr(value, "__len__") and not len(value))), None
    )


def _is_list(value: Any) -> bool:
    """Return whether this is a list or an array of objects."""
    items = value.tolist() if hasattr(value, "tolist") else value
    return isinstance(items, list | tuple) and bool(items) and all(isinstance(item, Mapping) for item in items)


def _lines(records: Sequence[Any]) -> bytes:
    """Write the records as JSON lines, which need not have the same types in each record."""
    try:
        return b"\n".join(msgspec.json.encode(plain(record), enc_hook=str) for record in records)
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(
            f"turns: the records cannot be written as JSON ({error}); give them plain values"
        ) from error


def _read(document: Document, names: Names, user_names: Mapping[str, Any] | None) -> pl.DataFrame:
    problems = Problems()
    naming = Naming(names, problems, "turns")
    with asking(problems, Call("turns", Name("frame"), {"names": user_names})):
        try:
            frame = turns_of([(document, True)], [document.path], None, problems, naming)
        except ReadError as error:
            restated = ReadError(str(error).removesuffix(f": {LEAVE}"))  # `turns` has no such argument
            restated.questions = error.questions
            raise restated from error
        problems.announce()
    return frame
