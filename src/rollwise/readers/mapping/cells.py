"""The values of one record in the table, and what is kept of a broken record."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from rollwise.errors import ArgumentError, listing
from rollwise.readers.chats.reading import OF_MESSAGES, chat_columns
from rollwise.readers.chats.speakers import ANSWERS, speaker
from rollwise.readers.chats.turns import answered, messages_of, split_by_column
from rollwise.readers.common import is_verdict
from rollwise.readers.json_texts import list_in_cell
from rollwise.readers.mapping.paths import ITEMS, Record, top_name
from rollwise.readers.mapping.reshaping import ROWS, OwnFiles
from rollwise.readers.mapping.types import OF_COLUMNS, Tree, checked, tree_of, type_of
from rollwise.readers.mapping.values import Read, Value, as_number, value_of
from rollwise.readers.problems import IS_NULL, BrokenError, gave_way, nulled, strictly
from rollwise.readers.records import parse, spare, whole_number, worded
from rollwise.readers.table import Identity, TurnRow, by_column
from rollwise.readers.tool_calls import calls
from rollwise.schema import TURNS

if TYPE_CHECKING:
    from rollwise.readers.mapping.mapping import RecordMapping

Columns = dict[str, Sequence[Any]]  # of turns, `turn` among them
Turns = list[TurnRow] | Columns | tuple[list[TurnRow], Mapping[str, Sequence[Any]] | None]
Verdicts = list[tuple[str, Any, str | None]]  # of what, the verdict, and the outcome where there is none
ATTACK, ROLLOUT, TASK = "attack", "rollout", "task"  # what a verdict may be of
VALUE = "value"  # the field of a record other than an object
COLUMNS_OF = {ATTACK: ("succeeded", "outcome"), ROLLOUT: ("outcome",), TASK: ("solved",)}
REWARDS = frozenset({"reward", "score"})  # columns of the last turn that are 0 where a framework wrote them for a crash
OF_BROKEN = ("target", "attack", "goal", "task", "category", "attempt")  # facts that a broken record keeps
_OF_TURNS = ("facts", "turn", "last")  # rules of columns of TURNS
_LISTS = (*_OF_TURNS, "columns", "turn_columns")  # attributes with rules by column
_TEXTS = frozenset(name for name, dtype in TURNS.dtypes.items() if dtype == pl.String)
_NUMBERS = frozenset(name for name, dtype in TURNS.dtypes.items() if dtype in {pl.Int32, pl.Int64})
_FLOATS = frozenset(name for name, dtype in TURNS.dtypes.items() if dtype == pl.Float64)


@dataclass(frozen=True)
class Rules:
    """The rules of a mapping as values, the types of the fields that they read, and the names of these fields."""

    run: Value | None
    rollout: list[Value]
    facts: dict[str, Value]
    turn: dict[str, Value]
    last: dict[str, Value]
    cells: dict[str, dict[str, Read]]  # the same three by name, in the dtypes of their columns
    columns: dict[str, Value]
    turn_columns: dict[str, Value]
    verdicts: list[tuple[str, Value, str | None]]
    signs: list[Value]
    ids: list[tuple[str, Any]]  # fields of the id with their types
    tree: Tree
    type: Any
    outer: Tree  # types of the fields around a record
    names: frozenset[str]
    empty: list[Any]
    used: frozenset[str]
    is_own: bool
    inner: Tree  # types of the fields of a turn, where a record has a list of them
    inner_type: Any
    inner_names: frozenset[str]


def rules_of(mapping: "RecordMapping") -> Rules:
    """Return the rules of a mapping as values."""
    lists = {name: {column: value_of(rule) for column, rule in getattr(mapping, name).items()} for name in _LISTS}
    for column in (*lists["facts"], *lists["turn"], *lists["last"]):
        if column not in TURNS.dtypes:
            raise ArgumentError(f"mapping: {column!r} is not a column of TURNS; give it in `columns`")
    verdicts = []
    for rule in mapping.verdicts:
        statements = {name: item for name, item in rule.items() if name not in {"of", "unknown"}}
        value = value_of(statements)
        # Readers of tools map the words of verdicts themselves; in a user's file any word may occur.
        value = value if mapping.own is None else value._replace(of=_as_verdict(value))
        verdicts.append((rule["of"], value, rule.get("unknown")))
    is_one_turn = mapping.turns is None
    rule_lists = [lists["facts"], lists["last"], lists["turn"] if is_one_turn else {}]
    # In files of no tool's format ids may be numbers, and numbers text: `_cell` looks at each.
    kinds = OF_COLUMNS if mapping.own is None else OF_COLUMNS | dict.fromkeys(_TEXTS | _NUMBERS | _FLOATS, Any)
    types = {rule.field: kinds[name] for rules in rule_lists for name, rule in rules.items() if rule.field is not None}
    types |= mapping.fields
    # An object that is read as one value has one type; paths into it would give its fields a second one.
    types = {path: kind for path, kind in types.items() if not any(path.startswith(f"{top}.") for top in types)}
    tree, outer = tree_of(types), tree_of({path[1:]: kind for path, kind in types.items() if path.startswith("^")})
    every = [rule for rules in (*rule_lists, lists["columns"]) for rule in rules.values()]
    run = None if mapping.run is None else value_of(mapping.run)
    rollout, signs = [value_of(rule) for rule in mapping.rollout], [value_of(rule) for rule in mapping.signs]
    every += [*([] if run is None else [run]), *rollout, *(rule for _, rule, _ in verdicts)]
    turns = [mapping.turns] if isinstance(mapping.turns, str) else []
    paths = [*mapping.fields, *turns, *(path for rule in every for path in rule.paths)]
    top_names = frozenset(name for path in paths if (name := top_name(path)) is not None)
    inner_rules = {} if is_one_turn else lists["turn"]
    inner_paths = [path for rule in inner_rules.values() for path in rule.paths]
    inner = tree_of({rule.field: kinds[name] for name, rule in inner_rules.items() if rule.field is not None})
    inner_known = frozenset(name for path in inner_paths if (name := top_name(path)) is not None).union(mapping.used)
    return Rules(
        run,
        rollout,
        **lists,
        cells={
            name: {column: _cell(column, rule, is_own=mapping.own is not None) for column, rule in lists[name].items()}
            for name in _OF_TURNS
        },
        verdicts=verdicts,
        signs=signs,
        ids=[(rule.field, types[rule.field]) for rule in rollout if rule.field in types],
        tree=tree,
        type=type_of(tree),
        outer=outer,
        names=top_names.union(mapping.used),
        empty=list(mapping.empty),
        used=frozenset(mapping.used),
        is_own=mapping.own is not None,
        inner=inner,
        inner_type=type_of(inner),
        inner_names=inner_known.union(
            top_names if mapping.turns == ROWS else ()
        ),  # rows have the fields of their record
    )


class Needed(NamedTuple):
    """Fields of which a record has at least one, if a mapping is of its file; perhaps in the items of a list."""

    fields: tuple[str, ...]
    turns: str | None = None

    @property
    def listed(self) -> str:
        """Return the fields for a sentence."""
        return " or ".join(self.fields)

    def is_in(self, record: Record) -> bool:
        """Return whether a record has one of them."""
        if self.turns is None:
            return any(name in record.value for name in self.fields)
        items = record[self.turns]
        if isinstance(items, str):  # a list in a cell is looked at when it is read
            return True
        inner = items if isinstance(items, list) else []
        return any(name in item for item in inner if isinstance(item, dict) for name in self.fields)


def needed(mapping: "RecordMapping", rules: Rules) -> list[Needed]:
    """Return the fields that a file of a mapping has: the fields of its texts and verdicts."""
    turns = mapping.turns if isinstance(mapping.turns, str) else None
    values = [rules.turn[name] for name in ("prompt", "response", "succeeded") if name in rules.turn]
    of_turns = [Needed(names, turns) for rule in values if (names := _top_names(rule)) and VALUE not in names]
    of_records = [Needed(names) for _, rule, _ in rules.verdicts if (names := _top_names(rule))]
    return [*([] if turns is None else [Needed((top_name(turns) or turns,))]), *of_turns, *of_records]


def _top_names(rule: Value) -> tuple[str, ...]:
    return tuple(name for path in rule.paths if (name := top_name(path)) is not None)


def _cell(name: str, rule: Value, *, is_own: bool = False) -> Read:
    """Return what reads a column of TURNS from a record, in the dtype of the column; `is_own` in files of no tool's format."""
    read, field = rule.of, rule.paths[0] if rule.paths else name
    # Calls have a form of their own in each API, which `calls` brings into one.
    if name == "tool_calls" and rule.field is not None:
        return lambda record: calls(parse(read(record) or [], list[Any], field), field)
    if is_own and rule.paths and name in _NUMBERS | _FLOATS:
        read = partial(_typed, partial(_number, rule.of), OF_COLUMNS[name], field)
    elif rule.paths and rule.field is None and name not in _TEXTS:  # what it chooses from has no type of its own
        read = partial(_typed, rule.of, OF_COLUMNS[name], field)
    if name in _NUMBERS:
        return lambda record: whole_number(read(record), field)
    if rule.paths and isinstance(dtype := TURNS.dtypes[name], pl.Enum):
        return partial(_one_of, read, [*dtype.categories], field)
    if name in _TEXTS:  # most texts are one already
        return lambda record: value if type(value := read(record)) is str else worded(value)
    return read


def _number(read: Read, record: Record) -> Any:
    return as_number(read(record))


def _typed(read: Read, kind: Any, field: str, record: Record) -> Any:
    return parse(read(record), kind, f"{record.within}.{field}" if record.within else field)


def _one_of(read: Read, words: Sequence[str], field: str, record: Record) -> Any:
    """Return a word of a column that has no others."""
    value = read(record)
    if value is None or value in words:
        return value
    reason = f"expected one of {listing(words)}, got {value!r}"
    if nulled(field, f"{reason}: {IS_NULL}"):
        return None
    raise BrokenError(reason, field=field)


def _as_verdict(rule: Value) -> Read:
    """Return what reads a verdict that is true, false or null; any other value is a problem, never a guess."""

    def verdict(record: Record) -> Any:
        value = rule.of(record)
        if value is None or isinstance(value, bool):
            return value
        reason = f"expected true or false, got {value!r}"
        field = rule.paths[0] if rule.paths else None
        if nulled(field, f"{reason}: {IS_NULL}"):
            return None
        raise BrokenError(reason, field=field, remedy='say in the mapping which values are "true" and which "false"')

    return verdict


def names_of(record: Record, rules: Rules) -> tuple[str, str]:
    """Return the names of the run and of the rollout of a record."""
    run = record.around.run if rules.run is None else worded(rules.run.of(record)) or record.around.run
    parts = [part for rule in rules.rollout if (part := rule.of(record)) is not None]
    # Parts of an id may be missing, such as an epoch, but not all of them: records would be one rollout.
    if not parts and rules.rollout:
        raise BrokenError("is missing", field=next((rule.paths[0] for rule in rules.rollout if rule.paths), None))
    return run, "/".join([run, *[part if type(part) is str else worded(part) or "" for part in parts]])


def as_object(record: Record, rules: Rules) -> None:
    """Put a record that is not an object into the field `value`, where a rule reads that field."""
    if not isinstance(record.value, dict | BrokenError) and VALUE in rules.names:
        record.value = record.raw = {VALUE: record.value}


def turns_of(
    record: Record, turns: str | Callable[[Record], Turns] | None, rules: Rules, own_files: OwnFiles | None = None
) -> tuple[Columns, Mapping[str, Sequence[Any]] | None]:
    """Return the turns of a record by column, and further columns of these turns."""
    cells = rules.cells["turn"]
    if own_files is not None and turns is not None and not callable(turns):
        return _own_turns(record, turns, rules, own_files)
    if turns is None:
        return {"turn": [1], **{name: [read(record)] for name, read in cells.items()}}, None
    if callable(turns):
        built = turns(record)
        rows, columns = built if isinstance(built, tuple) else (built, None)
        return rows if isinstance(rows, dict) else by_column(rows), columns
    if not cells:
        return split_by_column(messages_of(record[turns], turns), turns), None
    inner = items_of(record, turns)
    if not inner:
        return {"turn": [None]}, {}
    values = [[read(item) for read in cells.values()] for item in inner]
    columns = {name: [rule.of(item) for item in inner] for name, rule in rules.turn_columns.items()}
    return {"turn": range(1, len(inner) + 1), **dict(zip(cells, zip(*values, strict=True), strict=True))}, columns


def _own_turns(
    record: Record, path: str, rules: Rules, own_files: OwnFiles
) -> tuple[Columns, Mapping[str, Sequence[Any]] | None]:
    """Return the turns or messages at a path in a file of no tool's format; all of their further fields are columns."""
    field, value, cells = path.removesuffix(ITEMS), record[path], rules.cells["turn"]
    if isinstance(value, str) and value.lstrip()[:1] in {"[", "{"}:
        value = list_in_cell(value)
    are_numbered = {*cells} == {"turn"} and isinstance(value, list) and any("role" in item for item in value[:1])
    # Of messages, an answer that is named is the last one, beside the list.
    answer = cells["response"](record) if "response" in cells and isinstance(value, list) else None
    are_messages = isinstance(answer, str) and all(isinstance(item, dict) and "role" in item for item in value)
    if own_files.role is not None or not cells or are_numbered or are_messages:
        names = {
            name: usual
            for name, usual in ((own_files.role, "role"), (own_files.content, "content"))
            if name is not None
        }
        chat = parse(value or [], list[dict[str, Any]], field)
        chat = [{names.get(name, name): item for name, item in message.items()} for message in chat]
        if isinstance(answer, str) and chat and speaker(str(chat[-1].get("role"))) not in ANSWERS:
            chat.append({"role": "assistant", "content": answer})
        messages = answered(messages_of(chat, field), field, own_files.role or "role")
        return chat_columns(chat, messages, field, OF_MESSAGES | {*rules.used})
    items = parse(value or [], list[Any], field)
    items = [{VALUE: item} if VALUE in rules.inner_names and not isinstance(item, dict) else item for item in items]
    inner = [checked(item, rules.inner_type, rules.inner, f"{field}[{place}]") for place, item in enumerate(items)]
    if not inner:
        return {"turn": [None]}, {}
    turns = [
        Record(item, place, record.around, outer=record, within=f"{field}[{place}]") for place, item in enumerate(inner)
    ]
    columns = {name: [read(turn) for turn in turns] for name, read in cells.items()}
    others = dict.fromkeys(name for item in inner for name in item if name not in rules.inner_names)
    extras = {spare(name): [item.get(name) for item in inner] for name in others}
    extras |= {name: [rule.of(turn) for turn in turns] for name, rule in rules.turn_columns.items()}
    return {"turn": range(1, len(inner) + 1), **columns}, extras


def items_of(record: Record, path: str) -> list[Record]:
    """Return the items of the list at a path as records; null is an empty list."""
    items = parse(record[path] or [], list[dict[str, Any]], path.removesuffix(ITEMS))
    return [Record(item, place, record.around, outer=record) for place, item in enumerate(items)]


def complete(turns: Columns, last: Mapping[str, Any]) -> None:
    """Put columns into the last turn; without an answer, only the error. A null reward or score does not replace the turn's."""
    numbers = turns["turn"]
    # A rollout without turns has one row whose turn is null: it has an outcome, and no answer to score.
    has_answer, nulls = numbers[-1] is not None, [None] * len(numbers)
    for name, value in last.items():
        if name == "error" or (has_answer and (value is not None or name not in REWARDS)):
            turns[name] = [*turns.get(name, nulls)[:-1], value]


def without_defaults(last: dict[str, Any], verdicts: Verdicts) -> tuple[dict[str, Any], Verdicts]:
    """Return rewards and verdicts of a rollout that crashed, null where its framework wrote 0 or false; a notice counts it."""
    values = [*(last.get(name) for name in REWARDS), *(verdict for _, verdict, _ in verdicts)]
    # Only 0 and false may be defaults of the framework; a positive verdict was really given.
    if all(value is None or value for value in values):
        return last, verdicts
    gave_way()
    last = {name: (value or None) if name in REWARDS else value for name, value in last.items()}
    return last, [(of, verdict or None, unknown) for of, verdict, unknown in verdicts]


def own_columns(record: Record, rules: Rules) -> dict[str, Any]:
    """Return the columns of a record that are not in TURNS: declared ones, and fields that no rule reads."""
    columns: dict[str, Any] = {}
    for name, rule in rules.columns.items():
        if name.endswith("*"):
            columns |= {f"{name[:-1]}{inner}": item for inner, item in (rule.of(record) or {}).items()}
        else:
            columns[name] = rule.of(record)
    for name, value in record.value.items():
        if name not in rules.names:
            # `spare` keeps a user's field apart from a column of TURNS with its name.
            columns[spare(name)] = None if value in rules.empty else value
    return columns


def identity_of(record: Record, rules: Rules) -> Identity | None:
    """Return id and facts of a broken record; None if it has no id or no verdict, and so may not be a rollout.

    In files of no tool's format each object at the path of the records is one.
    """
    # A broken record counts as a missing rollout only if it was one: it has an id, and in logs of tools a verdict.
    verdicts = [_tried(rule, record) for rule in (*(rule for _, rule, _ in rules.verdicts), *rules.signs)]
    numbers = (item for value in verdicts for item in (value if isinstance(value, list) else [value]))
    if not isinstance(record.value, dict) or not (rules.is_own or any(map(is_verdict, numbers))):
        return None
    with suppress(Exception), strictly():
        for field, kind in rules.ids:
            if not isinstance(record[field], int):  # a whole number is a name, whatever its bounds
                parse(record[field], kind, field)
        run, rollout_id = names_of(record, rules)
        facts = {name: _tried(rules.facts[name], record) for name in OF_BROKEN if name in rules.facts}
        return rollout_id, {"run": run, **{name: _fitting(name, value) for name, value in facts.items()}}
    return None


def _tried(rule: Value, record: Record) -> Any:
    with suppress(Exception), strictly():
        return rule.of(record)
    return None


def _fitting(name: str, value: Any) -> Any:
    """Return a value that fits a column of text or whole numbers from 1, or else null."""
    is_text = name in _TEXTS
    # Python's True is an int: without the next line it would be attempt 1.
    fits = isinstance(value, (str, int)) if is_text else isinstance(value, int) and value > 0
    fits = fits and not isinstance(value, bool)
    return (str(value) if is_text else value) if fits else None
