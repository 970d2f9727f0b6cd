"""A proposed mapping as data, complete with the roles of columns, and as YAML whose comments say what each line rests on."""

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rollwise.readers.mapping.written import STRUCTURE
from rollwise.readers.proposal.parts import NAMED, SURE, Part
from rollwise.readers.roles.columns import name_in_file
from rollwise.readers.roles.questions import Question, Role
from rollwise.schema import TURNS
from rollwise.schema.labels import plain

NUMBERS = {
    "total_cost_usd": "dollars",
    "total_seconds": "seconds",
    "total_tokens": "tokens",
    "queries": "queries",
}  # columns of TURNS that a mapping calls by a word
VERDICTS = {"succeeded": "attack", "outcome": "attack", "solved": "task"}
OF_A_TURN = frozenset(
    {"context", "prompt", "response", "observation", "tool_calls", "score", "reward", "refused", "error", "succeeded"}
)
YES_NO: Mapping[Any, bool] = {True: True, False: False}
SIDES = {True: "true", False: "false", None: "null"}
_RESERVED = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n", "~", "nan", "inf"})
_STEP = re.compile(r'[^.\[\]{}"@^\s][^.\[\]{}"\s]*')
_WIDTH = 96  # of a line with its comment
Comments = Mapping[tuple[Any, ...], str]


def completed(part: Part, structure: Mapping[str, Any], roles: Sequence[Role], questions: Sequence[Question]) -> None:
    """Put the mapping of a part together: its structure, with the roles of columns and `?` for what is asked."""
    draft = _Mapping(structure)
    key = next((key for key in ("records", "rows", "turns") if key in structure), None)
    if key is not None and part.why:
        draft.comments[(key,)] = part.why[0]
    for role in roles:
        draft.add(role)
    for entry in part.columns:
        if entry.why == NAMED and entry.sure == SURE:
            draft.add_own(entry.column)
    for question in questions:
        draft.ask(question)
    counts = {"rollouts": part.rollouts, "successes": part.successes}
    part.data = draft.finished({name: count for name, count in counts.items() if count is not None})
    part.comments = draft.comments


class _Mapping:
    """A mapping that is being put together, and what its lines rest on."""

    def __init__(self, structure: Mapping[str, Any]) -> None:
        self._data = {name: dict(rule) if isinstance(rule, Mapping) else rule for name, rule in structure.items()}
        self._columns: dict[str, Any] = self._data.pop("columns", {})
        self._verdicts: list[dict[str, Any]] = list(self._data.pop("verdicts", ()))
        self._filled: set[str] = set()
        # A rule of a turn would say that the list holds turns.
        self._has_messages = "turns" in structure and not OF_A_TURN & structure.keys()
        self.comments: dict[tuple[Any, ...], str] = {}

    def add(self, role: Role) -> None:
        """Add a column that is read as one of TURNS."""
        path = self._path(role.column)
        if path is None:
            return
        self._filled.add(role.name)
        of_turns = role.name == "succeeded" and "turns" in self._data
        if role.name in VERDICTS and not of_turns:
            self._judge({"of": VERDICTS[role.name], "from": path, **_sides(role.labels or YES_NO)}, role.why)
            return
        rule: Any = path
        if role.labels is not None:
            rule = {"from": path, **_sides(role.labels)}
        elif role.why == "thousandths":
            rule = {"from": path, "per": 1000}
        if role.name in OF_A_TURN and self._has_messages:
            self._columns[role.column] = rule
        elif role.name in OF_A_TURN:
            self._data[role.name] = rule
            self.comments[(role.name,)] = role.why
        else:
            block, name = ("numbers", NUMBERS[role.name]) if role.name in NUMBERS else ("facts", role.name)
            self._data.setdefault(block, {})[name] = rule
            self.comments[block, name] = role.why

    def add_own(self, name: str) -> None:
        """Add a column that a file has under the name of TURNS."""
        if name in OF_A_TURN - {"succeeded"} and not self._has_messages:
            self._data.setdefault(name, self._path(name))
        elif name in TURNS.names and name not in self._filled:
            self._columns.setdefault(name, name)

    def ask(self, question: Question) -> None:
        """Add what is asked, with `?` for what only the user knows."""
        for name, value in question.names.items():
            column, labels = value if isinstance(value, tuple) else (value, {})
            if name == "of":
                self._judge(
                    {"of": "?", "from": self._path(question.column) or "?", **_sides(YES_NO)}, question.sentence
                )
            elif name in VERDICTS:
                source = "?" if column == "?" else self._path(column) or "?"
                rule = {"of": VERDICTS[name], "from": source, **_sides(labels)}
                is_open = "?" in {source, *rule}  # else all of it is to be confirmed
                self._judge(rule if is_open else rule | {"of": "?"}, question.sentence)
            elif (key := {"rollout_id": "rollout"}.get(name, name)) in {
                "response",
                "prompt",
                "records",
                "turns",
                "rollout",
            }:
                self._data[key] = column
                self.comments[(key,)] = question.sentence

    def finished(self, figures: Mapping[str, int]) -> dict[str, Any]:
        """Return the mapping as data, its keys in the order of the grammar."""
        data = self._data | {"made": {"by": "file", **figures}}
        data |= {"verdicts": self._verdicts} if self._verdicts else {}
        data |= {"columns": self._columns} if self._columns else {}
        return {name: data[name] for name in sorted(data, key=_place)}

    def _judge(self, rule: dict[str, Any], why: str) -> None:
        self.comments["verdicts", len(self._verdicts)] = why
        self._verdicts.append(rule)

    def _path(self, column: str) -> str | None:
        name = name_in_file(column)
        return self._columns.pop(column, None) or self._columns.pop(name, None) or step_of(name)


def _place(name: str) -> int:
    """Return the place of a key of a mapping, as the grammar lists them."""
    last = ("verdicts", "scores", "numbers", "columns", "left_out", "made")
    return (
        STRUCTURE.index(name)
        if name in STRUCTURE
        else len(STRUCTURE) + 1 + last.index(name)
        if name in last
        else len(STRUCTURE)
    )


def _sides(labels: Mapping[Any, Any]) -> dict[str, list[Any]]:
    """Return the lists of the words of a verdict: true, false, null, and `?` for words to ask about."""
    sides: dict[str, list[Any]] = {}
    for label, side in labels.items():
        sides.setdefault(SIDES.get(side, "?"), []).append(label)
    return {name: sides[name] for name in ("true", "false", "null", "?") if name in sides}


def step_of(name: str) -> str | None:
    """Return the path of a field of the record; None where no path can name it."""
    if _STEP.fullmatch(name):
        return name
    return None if not name or '"' in name else f'"{name}"'


def yaml_of(parts: Sequence[Part]) -> str:
    """Return the mappings of parts as YAML: one, or a list of several."""
    blocks = []
    for part in parts:
        first, *others = part.files
        about = f"# What rollwise proposes for {plain(first)}" + (f" and {len(others)} more" if others else "")
        lines = list(_block(part.data or {}, (), part.comments))
        if len(parts) > 1:
            lines = [f"{'- ' if not number else '  '}{line}" for number, line in enumerate(lines)]
        blocks.append("\n".join([about, *lines]))
    return "\n".join(blocks) + "\n"


def _block(data: Mapping[str, Any], place: tuple[Any, ...], comments: Comments) -> Iterator[str]:
    """Iterate over the lines of an object."""
    for key, value in data.items():
        here = (*place, key)
        why = comments.get(here)
        if isinstance(value, Mapping) and value and not place:
            yield from _commented(f"{scalar(key)}:", why)
            yield from (f"  {line}" for line in _block(value, here, comments))
        elif isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
            yield from _commented(f"{scalar(key)}:", why)
            for number, item in enumerate(value):
                yield from (f"  {line}" for line in _commented(f"- {_flow(item)}", comments.get((*here, number))))
        else:
            yield from _commented(f"{scalar(key)}: {_flow(value)}", why)


def _commented(line: str, why: str | None) -> Iterator[str]:
    """Iterate over a line with its comment: after it where both fit, else above it."""
    comment = f"# {plain(why)}" if why else ""
    if len(line) + 2 + len(comment) <= _WIDTH:
        yield f"{line}  {comment}".rstrip()
        return
    yield from textwrap.wrap(comment, _WIDTH, subsequent_indent="# ", break_long_words=False, break_on_hyphens=False)
    yield line


def _flow(value: Any) -> str:
    """Return a value on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(key)}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return scalar(value)


def scalar(value: Any) -> str:
    """Return text, a number, a Boolean or null as YAML, in quotes where it would be read as something else."""
    if not isinstance(value, str):
        return json.dumps(value)
    is_plain = re.fullmatch(r"[A-Za-z_^][A-Za-z0-9_.^-]*", value) and value.lower() not in _RESERVED
    if is_plain:
        return value
    quoted = json.dumps(value, ensure_ascii=False)
    return "".join(char if _is_printable(char) else f"\\u{ord(char):04x}" for char in quoted)


def _is_printable(char: str) -> bool:
    """Return whether YAML takes a character as it is."""
    code = ord(char)
    return 0x20 <= code < 0x7F or (
        code >= 0xA0 and code not in {0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF} and not 0xD800 <= code < 0xE000
    )
