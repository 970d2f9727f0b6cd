"""Parts of a proposal, one for files that are alike: their figures, each column with what it is taken for, and the mapping."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import polars as pl

from rollwise.errors import counted
from rollwise.readers.roles.columns import name_in_file
from rollwise.readers.roles.questions import Question, Role
from rollwise.schema import SUCCESS, TURNS
from rollwise.schema.named import column_named, values_named

SURE, LIKELY, ASKED, UNUSED = "sure", "likely", "asked", ""
IN_WORDS = {
    "succeeded": "success of the attack",
    "outcome": "success of the attack",
    "solved": "success of the task",
    "total_cost_usd": "cost in US dollars",
    "cost_usd": "cost in US dollars",
    "total_seconds": "seconds",
}
NAMED, STRUCTURE = "named so", "structure"  # what most of it rests on
VERDICTS = ("succeeded", "outcome", "solved")
_GENERATED = {"source", "run", "rollout_id", "turn", "attempt"}  # columns that reading fills by itself
_EXAMPLES = 2


class ColumnRow(NamedTuple):
    """A column of a file, and what it is taken for."""

    column: str
    examples: tuple[str, ...]
    taken_for: str
    sure: str  # "sure", "likely", "asked" or "", where it is kept as it is
    why: str


@dataclass
class Part:
    """Files that are alike, and how they are read.

    `format` is that of a known tool, or empty; `records` where the records are; `data` the mapping, None where none is needed
    or nothing is read, which `refusal` then says.
    """

    files: Sequence[str]
    format: str = ""
    about: str = ""
    rollouts: int = 0
    turns: int = 0
    successes: int | None = None
    judged: int = 0
    records: str = ""
    refusal: str | None = None
    columns: list[ColumnRow] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    verdicts: list[str] = field(default_factory=list)
    why: list[str] = field(default_factory=list)
    data: dict[str, Any] | None = None
    comments: dict[tuple[Any, ...], str] = field(default_factory=dict)

    def count(self, turns: pl.DataFrame) -> None:
        """Take the figures of what was read."""
        self.rollouts, self.turns = turns["rollout_id"].n_unique(), turns["turn"].count()
        for names in (("outcome", "succeeded"), ("solved",)):
            won, judged = _successes(turns, names)
            if judged:
                self.successes, self.judged = won, judged
                return


def _successes(turns: pl.DataFrame, names: Sequence[str]) -> tuple[int, int]:
    """Return the numbers of rollouts that succeeded by these columns, and that were judged."""
    present = [name for name in names if name in turns.columns]
    sides = [column_named(name) == SUCCESS if name == "outcome" else column_named(name) for name in present]
    rollouts = turns.group_by("rollout_id").agg(
        won=pl.any_horizontal(side.any() for side in sides),
        known=pl.any_horizontal(side.is_not_null().any() for side in sides),
    )
    return int(rollouts["won"].sum() or 0), int(rollouts["known"].sum() or 0)


def verdicts_in_words(roles: Iterable[Role], part: Part) -> list[str]:
    """Return a sentence for each column of verdicts: what it says, in how many rollouts, and what that rests on."""
    sentences = []
    for role in roles:
        if role.labels is not None and role.name in VERDICTS:
            labels = " or ".join(_text(label) for label, side in role.labels.items() if side is True)
            why = "" if role.why == NAMED else f"; {role.why}"
            sentences.append(
                f"{_won(role.name)} where `{name_in_file(role.column)}` is {labels or '(never)'}{_share(part)}{why}"
            )
    for entry in part.columns if not sentences else ():
        name = next((name for name in VERDICTS if IN_WORDS[name] == entry.taken_for), None)
        if name is not None:
            sentences.append(f"`{entry.column}` says whether {_won(name)}{_share(part)}")
    return sentences


def _won(name: str) -> str:
    return "the task was solved" if name == "solved" else "the attack succeeded"


def _share(part: Part) -> str:
    return "" if part.successes is None else f": in {part.successes} of {part.judged}"


def columns_of(
    turns: pl.DataFrame | None,
    data: Mapping[str, Any],
    examples: Mapping[str, Sequence[Any]],
    roles: Sequence[Role],
    questions: Sequence[Question],
) -> list[ColumnRow]:
    """Return the columns of files with what each is taken for: the used ones first, then the kept ones."""
    rows: dict[str, ColumnRow] = {}
    paths = {name: path for name, path in (data.get("columns") or {}).items() if isinstance(path, str)}

    def add(column: str, taken_for: str, sure: str, why: str, source: str | None) -> None:
        values = examples.get(column.strip('"^')) or _values(turns, source)
        rows.setdefault(column, ColumnRow(column, _examples_of(values), taken_for, sure, why))

    for path, name in _structural(data):
        add(path, IN_WORDS.get(name, name), SURE, STRUCTURE, {"content": "response"}.get(name, name))
    for role in roles:
        name, sure = name_in_file(role.column), LIKELY if role.labels is None else SURE
        add(paths.get(role.column, name), IN_WORDS.get(role.name, role.name), sure, role.why, role.name)
    for question in questions:
        for column in _questions_of(question, [*examples, *paths, *(() if turns is None else turns.columns)]):
            add(paths.get(column, column), "? (asked below)", ASKED, question.sentence, column)
    for name in () if turns is None else _extra_columns(turns, {entry.taken_for for entry in rows.values()}):
        if not data or name in examples:
            add(name, IN_WORDS.get(name, name), SURE, NAMED, name)
    extras = [name_in_file(name) for name in (turns.columns if turns is not None else ()) if name not in TURNS.names]
    used = {column.strip('"^') for column in rows} | {role.column for role in roles}
    for name in dict.fromkeys([*examples, *extras]):
        if name not in used:
            add(paths.get(name, name), "", UNUSED, "", name)
    entries = sorted(rows.values(), key=lambda entry: not entry.taken_for)
    return entries if turns is None else _with_unit(entries, turns, examples)


def _with_unit(entries: list[ColumnRow], turns: pl.DataFrame, examples: Collection[str]) -> list[ColumnRow]:
    """Return the rows where the prompt is also the goal or the task, of rollouts that share it, and no column is."""
    taken = {entry.taken_for for entry in entries if entry.column in examples or entry.column != entry.taken_for}
    for unit in ("goal", "task"):
        if unit not in taken and turns[unit].count() and turns[unit][0] == turns["prompt"][0]:
            both = [
                entry._replace(taken_for=f"prompt, {unit}") if entry.taken_for == "prompt" else entry
                for entry in entries
            ]
            return [entry for entry in both if entry.column != unit]
    return entries


def _extra_columns(turns: pl.DataFrame, listed: set[str]) -> Iterator[str]:
    """Iterate over the columns of TURNS that a file has under these names."""
    for name in turns.columns:
        if (
            name in TURNS.names
            and name not in _GENERATED
            and not {name, IN_WORDS.get(name, name)} & listed
            and turns[name].count()
        ):
            yield name


def _questions_of(question: Question, columns: Sequence[str]) -> list[str]:
    """Return the columns that a question is about."""
    options = () if "of" in question.names else question.options  # there, they are no columns
    return [name for name in dict.fromkeys([question.column, *options]) if name in columns]


def _structural(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Iterate over the paths that the structure of a file uses, each with what it is taken for."""
    for key in (
        "rollout",
        "turns",
        "context",
        "prompt",
        "response",
        "observation",
        "tool_calls",
        "score",
        "role",
        "content",
    ):
        paths = data.get(key)
        for path in [paths] if isinstance(paths, str) else paths if isinstance(paths, list) else ():
            if isinstance(path, str) and path not in {"@key", "rows", "value", *(data.get("rounds") or ())}:
                yield path, {"rollout": "rollout_id"}.get(key, key)
    yield from ((path, name) for name, path in (data.get("columns") or {}).items() if name in VERDICTS)
    rows = data.get("rows") or {}
    yield from ((path, "rollout_id") for path in rows.get("by", ()) if not path.startswith("@"))
    yield from ((path, "turn") for path in [rows.get("turn")] if path)
    yield from ((path, name) for name, path in (data.get("facts") or {}).items() if isinstance(path, str))
    for name, columns in (data.get("rounds") or {}).items():
        yield from ((path, f"{name} of turn {number}") for number, path in enumerate(columns, 1))
    for target, fields in (data.get("targets") or {}).items():
        yield from ((path, f"{name} of {target}") for name, path in fields.items())
    scores = data.get("scores") or {}
    if "each" in scores:
        yield scores["each"], "named scores"
    for verdict in data.get("verdicts") or ():
        if "ids" in verdict:
            yield verdict["ids"], IN_WORDS["solved" if verdict.get("of") == "task" else "succeeded"]


def _values(turns: pl.DataFrame | None, name: str | None) -> list[Any]:
    """Return the first different values of a column that was read."""
    names = () if turns is None or name is None or name in _GENERATED else (name, f"{name}_source")
    for column in names:
        if turns is not None and column in turns.columns and turns[column].count():
            return values_named(turns, column).drop_nulls().head(1000).to_list()
    return []


def _text(value: object) -> str:
    """Return a value in the spelling of a file."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _examples_of(values: Iterable[Any]) -> tuple[str, ...]:
    """Return the first different values as text on one line."""
    texts = dict.fromkeys(" ".join(_text(value).split()) for value in values if value is not None)
    return tuple(list(texts)[:_EXAMPLES])


def figures(part: Part) -> str:
    """Return the numbers of rollouts and turns that were read."""
    return f"{counted(part.rollouts, 'rollout')}, {counted(part.turns, 'turn')}"
