"""Files of TURNS: Parquet, Arrow, CSV, JSON and JSON lines with the column names of TURNS."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Any

import polars as pl

from rollwise.errors import is_interrupt, listing
from rollwise.readers.casting import guessed, with_points
from rollwise.readers.chat_names import PROMPTS, RESPONSES, SIGNS
from rollwise.readers.chats.layouts import layouts
from rollwise.readers.chats.message_rows import message_rows, read_message_rows
from rollwise.readers.columns import ADDED, Columns, without_nulls
from rollwise.readers.json_texts import surface_if_any
from rollwise.readers.native.flat import from_flat
from rollwise.readers.native.identity import numbered, run_of
from rollwise.readers.native.nested import from_nested, nested_layout
from rollwise.readers.native.tables import conform
from rollwise.readers.of_files import rows_of_rollouts
from rollwise.readers.problems import BrokenError, Problems
from rollwise.readers.roles.columns import is_complete
from rollwise.readers.roles.names import role_of, verdict_claim
from rollwise.readers.sources.binary import null_columns, rows_in, table_in
from rollwise.readers.sources.comments import facts_in
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.encodings import misspelled
from rollwise.readers.sources.frames import from_columns
from rollwise.readers.sources.hive import literals
from rollwise.readers.sources.shapes import NAMED, Shapes
from rollwise.readers.sources.uneven import even_rows, note_short_rows
from rollwise.readers.table import Traits, TurnsBuilder
from rollwise.readers.traces.exchanges import logged
from rollwise.schema import TURNS
from rollwise.schema.coercion import joined_times
from rollwise.schema.named import values_named

MANY_ROWS = 1 << 19  # rows: with fewer, finding the null columns takes longer than reading them
VERDICTS = frozenset({"succeeded", "outcome", "solved", "refused", "score", "reward"})
HAPPENED = frozenset({"prompt", "response", "observation", "tool_calls", "attack", *PROMPTS, *RESPONSES}) | VERDICTS
OF_A_TURN = {"turn", "response"}  # a row with one of these is a turn, even if it also holds a list of turns


def _is_table(document: Document) -> bool:
    """Return whether the file is a table with `rollout_id` and something that happened: a turn, a prompt, a response."""
    names = document.inner if document.kind == "json" and document.keys == {"turns"} else document.keys
    if "rollout_id" not in names or logged(document):
        return False
    candidates = list(layouts(document))
    if any(layout.role is None for layout in candidates) or message_rows(document) is not None:
        return True
    return bool(names & SIGNS) and (not candidates or _are_turns(document))


SHAPES = Shapes({"rollout_id"}, {"turns"}, kinds=NAMED, check=_is_table)


def _are_turns(document: Document) -> bool:
    """Return whether records with a chat are turns nevertheless: with a number, prompt and response, or several per rollout."""
    if "response" not in document.keys or document.keys & {"turn", "prompt"}:
        return bool(document.keys & OF_A_TURN)
    ids = [repr(surface_if_any(record["rollout_id"])) for record in document.beginning if "rollout_id" in record]
    return len(set(ids)) < len(ids)


def sniff_nested(document: Document) -> bool:
    """Return whether the file holds rollouts, with or without an id, with a list of turns that have a prompt or a response."""
    return nested_layout(document) is not None


def misfit(document: Document) -> str | None:
    """Say why a file cannot be read as a table of turns, although the user says that it is one; None where it can."""
    names = document.keys
    columns = listing([f"`{name}`" for name in names])
    is_alone = document.kind == "json" and isinstance(document.top, dict)
    if is_alone and names != {"turns"} and not (names & (HAPPENED - VERDICTS) or nested_layout(document)):
        return f"is one JSON object ({columns}), not a list of records"
    if not OF_A_TURN & names and any(layout.role is not None for layout in layouts(document)):
        return "holds a list of messages in each record"
    if {"rollout_id", "turns", "turn"} & names or message_rows(document) is not None or any(layouts(document)):
        return None
    if not names & HAPPENED and not any(map(verdict_claim, names)):
        return f"has no prompt, response or verdict under a name that is known: its columns are {columns}"
    return None


def read_native(document: Document, table: TurnsBuilder) -> None:
    r"""Read a table with the column names of TURNS: Parquet, Arrow, CSV, JSON lines or JSON.

    JSON is a list of records, ``{"turns": [...]}``, or a table in one object, as pandas writes it (`DataFrame.to_json` in any
    of its layouts but ``values``), MLflow (`log_table`) and Weights & Biases (``.table.json``). An object may also hold its
    records by name, ``{"b1": {"response": ...}, ...}``: a name that is not the number of the row is in the column `key`.

    ============================ ======================================================================
    in the file                  in the table
    ============================ ======================================================================
    a column named as in TURNS   the same
    the names that `turns` knows `prompt`, `response`
    any other column             the same, as an extra
    ============================ ======================================================================

    In JSON, a record may also be a rollout that holds its `turns`, a list of such records without the id; in Parquet and
    Arrow a row with such a column of lists. Its other fields are repeated in each of its turns, except under a name that a
    turn has:

    ============================ ======================================================================
    in the file                  in the table
    ============================ ======================================================================
    `turns` (or messages,        the turns; if these are messages with a speaker, the file is one of chats:
    conversation, dialogue,      see `openai_chat`
    dialog, chat, transcript,
    exchanges)
    `rollout_id`                 the same
    `id`, hash of the content    run and `id` are the `rollout_id`, and the hash the `run`, if these are missing
    `conversation_id` (or        used if `id` is missing, followed by the number of the record if it occurs
    dialogue_id, dialog_id,      twice; it stays a column as well. Without any id, the number is the id: of the
    chat_id, session_id, uuid)   line, from 1, or in a list, from 0
    `context`                    that of the first turn, where the turns have none
    `reward`                     that of the last turn, where the turns have none
    `cost_usd`, `seconds`,       `total_cost_usd`, `total_seconds`, `total_tokens` (the sum of both)
    `prompt_tokens` and
    `response_tokens`
    any other name that a turn   ``rollout_<name>``: a total is not the reward of a turn
    has
    ============================ ======================================================================

    Rows or flat records with neither an id nor a number of the turn are rollouts of one turn each, if they have an answer and
    what is evaluated (a goal, an attack, a target, a verdict or a score), or no answer but what was attacked and whether that
    succeeded. The hash of the content and the number of the row are their `rollout_id`.

    If the rows are messages (role and content, speaker and text, ...) instead of prompts and responses, the rows of
    one `rollout_id`, in the order of their `turn`, are its chat, which is split into turns as in `openai_chat`: `turn` is the
    number of the answer. `attempt` is 1 and `run` the hash of the content, unless the file states them.

    `source` is ``native`` unless the file states it; no other fact is filled in. In CSV, an empty field is null and ``""``
    an empty text; an extra column becomes whole numbers, numbers or Booleans if all of its text is; ``x_duration`` and
    ``x_observed`` become the struct ``x`` again. Numbers may have decimal commas where fields are separated by semicolons.

    `succeeded`, `outcome`, `refused` and `solved` may be words, such as JAILBREAK and refused. In tables that rollwise did not
    write, columns whose meaning is beyond doubt, such as `jailbroken`, are these: see `rollwise.readers.roles`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rollwise.readers.problems import Problems
    >>> table = TurnsBuilder("native", Problems(), {})
    >>> read_native(Document(Path("mine.csv"), b"rollout_id,user,reply,harm\na,Hi,,0.5\na,Again,No,1\n"), table)
    >>> table.frames()[0].select("rollout_id", "turn", "prompt", "response", "harm").rows()
    [('a', 1, 'Hi', None, 0.5), ('a', 2, 'Again', 'No', 1.0)]
    """
    rows = message_rows(document)
    if rows is not None:
        read_message_rows(document, table, rows, _rows(document, {rows.role or "", rows.text or ""}))
        return
    layout = None if document.binary and OF_A_TURN & document.keys else nested_layout(document)
    of_records: AbstractSet[str] = frozenset()
    if layout is not None:
        frame, of_records = from_nested(document, table, layout)
    elif document.binary:
        frame = from_binary(document)
    else:
        frame = from_csv(document) if document.kind == "table" else from_flat(document, table)
    if frame.is_empty():
        return
    if document.binary or document.kind == "table":  # rows without an id, and of odd rollouts, are left out below
        table.holds(document.name, frame.height + document.num_uneven)
    if "rollout_id" not in frame.columns:
        if document.kind == "table":
            frame = rows_of_rollouts(frame, document.name, table.problems)
        run = run_of(document, table.knows)
        frame = numbered(frame, table.problems, run, document.name)
        frame = frame if "run" in frame.columns else frame.with_columns(run=pl.lit(run))
    turns = rows_as_turns(frame, document, table.problems, table.source)
    traits = traits_of(document, frame, of_records, is_nested=layout is not None)
    table.take(document.name, turns, are_rows=layout is None, traits=traits)


def rows_as_turns(frame: pl.DataFrame, document: Document, problems: Problems, source: str) -> pl.DataFrame:
    """Return the rows of a file, or of several with the names of this one, as TURNS."""
    turns = conform(
        frame, {}, document.name, problems, named=document.named, is_complete=is_complete(document.keys), of_file=True
    )
    return turns.with_columns(pl.col("source").fill_null(source))


def traits_of(
    document: Document, frame: pl.DataFrame, of_records: AbstractSet[str] = frozenset(), *, is_nested: bool = False
) -> Traits:
    """Return what is known of the rows of a file, or of several with the names of this one."""
    has_answers = is_nested or any(
        name in {"response", *RESPONSES} or role_of(name) == "response" for name in frame.columns
    )
    has_answers |= bool(document.keys & {"response", *RESPONSES})
    return Traits(frozenset(of_records), has_answers, is_complete(document.keys))


def _rows(document: Document, words: set[str]) -> Iterator[tuple[int, Any]]:
    """Return the rows of a file with their numbers; in CSV, `words` are further text columns."""
    if document.kind != "table":
        return document.records()
    text_columns = {name for name, dtype in TURNS.dtypes.items() if dtype == pl.String}
    return enumerate(from_csv(document, text_columns | words).iter_rows(named=True))


def from_binary(document: Document) -> pl.DataFrame:
    """Return the table in a Parquet or Arrow file, with the columns that its folders state."""
    columns = None
    if document.kind == "parquet" and rows_in(document.source) >= MANY_ROWS:
        # `without_nulls` would drop them; not reading them at all saves time and memory.
        unused = null_columns(document.source) & ADDED
        columns = [name for name in document.columns if name not in unused]
    frame = table_in(document.rows_source, document.kind, columns=columns)
    return without_nulls(frame.with_columns(literals(document.folder_facts)))


def from_csv(document: Document, texts: AbstractSet[str] = frozenset(TURNS.names)) -> pl.DataFrame:
    """Return the table in a CSV file; columns other than `texts` get the dtype that all of their text has."""
    try:
        frame = pl.read_csv(document.source, glob=False, separator=document.separator, infer_schema=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from error
        if reason := misspelled(document.data):
            raise BrokenError(reason) from error
        frame, document.num_uneven = even_rows(document.data, document.separator)
    frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))  # blank lines
    if frame.height and cut_short(frame, document):
        raise BrokenError("ends in the middle of a row, perhaps half-written", record=frame.height)
    note_short_rows(frame, document.data, document.separator)
    facts = {name: value for name, value in facts_in(document.comments).items() if name not in frame.columns}
    return csv_frame(frame, texts, document.separator).with_columns(
        **{name: pl.lit(text) for name, text in facts.items()}
    )


def csv_frame(
    frame: pl.DataFrame, texts: AbstractSet[str] = frozenset(TURNS.names), separator: str = ","
) -> pl.DataFrame:
    """Return a table of text with the dtypes that its columns have in truth; `texts` stay text."""
    if separator == ";":  # as spreadsheets write where a number has a decimal comma
        numbers = [name for name in frame.columns if TURNS.dtypes.get(name, pl.Float64) == pl.Float64]
        frame = frame.with_columns(
            with_points(values_named(frame, name)).alias(name) for name in numbers if frame.schema[name] == pl.String
        )
    columns = [name for name, dtype in frame.schema.items() if dtype == pl.String and name not in texts]
    return joined_times(frame.with_columns(guessed(values_named(frame, name)).alias(name) for name in columns))


def cut_short(frame: pl.DataFrame, document: Document) -> bool:
    """Return whether the last row has fewer fields than the others: Polars fills them with nulls."""
    last = frame.row(-1)
    nulls = next((back for back, value in enumerate(reversed(last)) if value is not None), len(last))
    # Fields that are empty in the file leave their separators at its end.
    return bool(nulls) and not document.data.rstrip(b"\r\n").endswith(document.separator.encode() * nulls)


def plain_frame(document: Document) -> pl.DataFrame:
    """Read the table in a file, with the dtypes of its values."""
    match document.kind:
        case "parquet" | "arrow":
            return from_binary(document)
        case "table":
            return from_csv(document)
    # JSON: a record is a row.
    columns = Columns()
    for number, record in document.records():
        if isinstance(record, BrokenError):
            raise record
        if not isinstance(record, dict):
            raise BrokenError(f"expected a record, got {type(record).__name__}", record=number)
        columns.append(record)
    return from_columns(columns, frozenset())
