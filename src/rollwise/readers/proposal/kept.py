"""A proposed mapping as data, complete with the roles of columns, and as YAML whose comments say what each line rests on."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rollwise.readers.proposal.parts import Part, in_file
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
    {"context", "prompt", "response", "observation", "tool_calls", "score", "reward", "refused", "error"}
)
YES_NO: Mapping[Any, bool] = {True: True, False: False}
SIDES = {True: "true", False: "false", None: "null"}
ORDER = ("records", "header", "where", "rows", "targets", "pair", "run", "rollout", "facts", "turns", "role", "content")
_RESERVED = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n", "~", "nan", "inf"})
_STEP = re.compile(r'[^.\[\]{}"@^\s][^.\[\]{}"\s]*')
Comments = Mapping[tuple[Any, ...], str]


def completed(part: Part, structure: Mapping[str, Any], roles: Sequence[Role], questions: Sequence[Question]) -> None:
    """Put the mapping of a part together: its structure, with the roles of columns and `?` for what is asked."""
    data = {name: dict(value) if isinstance(value, Mapping) else value for name, value in structure.items()}
    columns: dict[str, Any] = data.pop("columns", {})
    comments: dict[tuple[Any, ...], str] = {}
    for key in ("records", "rows", "turns"):
        if key in data and part.why:
            comments[(key,)] = part.why[0]
            break
    verdicts: list[dict[str, Any]] = list(data.pop("verdicts", ()))
    for role in roles:
        path = columns.pop(role.column, None) or step_of(in_file(role.column))
        if path is None:
            continue
        if role.name in VERDICTS:
            comments["verdicts", len(verdicts)] = role.why
            verdicts.append({"of": VERDICTS[role.name], "from": path, **_sides(role.labels or YES_NO)})
            continue
        place, rule = _placed(role, path, has_turns="turns" in data)
        comments[place] = role.why
        if len(place) == 1:
            data[place[0]] = rule
        else:
            data.setdefault(place[0], {})[place[1]] = rule
    for question in questions:
        verdicts += _asked(question, columns, data, comments, len(verdicts))
    if verdicts:
        data["verdicts"] = verdicts
    if columns:
        data["columns"] = columns
    data["made"] = {"by": "file", "rollouts": part.rollouts} | (
        {} if part.successes is None else {"successes": part.successes}
    )
    part.data = {name: data[name] for name in sorted(data, key=_place)}
    part.comments = {place: why for place, why in comments.items() if why}


def _place(name: str) -> int:
    """Return the place of a key of a mapping, as the grammar lists them."""
    last = ("verdicts", "scores", "numbers", "columns", "left_out", "made")
    return ORDER.index(name) if name in ORDER else len(ORDER) + 1 + last.index(name) if name in last else len(ORDER)


def _placed(role: Role, path: str, *, has_turns: bool) -> tuple[tuple[str, ...], Any]:
    """Return where a mapping states a column of TURNS, and the rule for it."""
    if role.name in NUMBERS:
        return ("numbers", NUMBERS[role.name]), {"from": path, "per": 1000} if role.why == "thousandths" else path
    if role.name in OF_A_TURN:
        return (role.name,), {"from": path, **_sides(role.labels)} if role.labels is not None else path
    return ("columns" if has_turns and role.name not in TURNS.names else "facts", role.name), path


def _sides(labels: Mapping[Any, Any]) -> dict[str, list[Any]]:
    """Return the lists of the words of a verdict: true, false, null, and `?` for those that are asked."""
    sides: dict[str, list[Any]] = {}
    for label, side in labels.items():
        sides.setdefault(SIDES.get(side, "?"), []).append(label)
    return {name: sides[name] for name in ("true", "false", "null", "?") if name in sides}


def _asked(
    question: Question, columns: dict[str, Any], data: dict[str, Any], comments: dict[tuple[Any, ...], str], number: int
) -> Iterator[dict[str, Any]]:
    """Put a question into a mapping; iterate over the verdicts that it is about."""
    for name, value in question.names.items():
        column, labels = value if isinstance(value, tuple) else (value, None)
        if name in {"of", *VERDICTS}:
            source = question.column if column == "?" or name == "of" else column
            path = columns.pop(source, None) or step_of(in_file(str(source))) or "?"
            comments["verdicts", number] = question.sentence
            of = "?" if name == "of" else VERDICTS[name]
            yield {"of": of, "from": "?" if column == "?" and name != "of" else path, **_sides(labels or {})}
        elif name in {"response", "prompt", "records", "turns"}:
            comments[(name,)] = question.sentence
            data[name] = column


def step_of(name: str) -> str | None:
    """Return the path of a field of the record; None where no path can name it.

    Examples
    --------
    >>> step_of("model"), step_of("my model"), step_of('"')
    ('model', '"my model"', None)
    """
    if _STEP.fullmatch(name):
        return name
    return None if not name or '"' in name else f'"{name}"'


def yaml_of(parts: Sequence[Part]) -> str:
    r"""Return the mappings of parts as YAML: one, or a list of several.

    Examples
    --------
    >>> part = Part(
    ...     ["a.json"],
    ...     data={"records": "results[*]", "facts": {"target": "^model"}},
    ...     comments={("records",): "a verdict"},
    ... )
    >>> print(yaml_of([part]))
    # What rollwise proposes for a.json
    records: "results[*]"  # a verdict
    facts:
      target: ^model
    <BLANKLINE>
    """
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
        if isinstance(value, Mapping) and value and not place:
            yield f"{scalar(key)}:{_comment(comments.get(here))}"
            yield from (f"  {line}" for line in _block(value, here, comments))
        elif isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
            yield f"{scalar(key)}:{_comment(comments.get(here))}"
            for number, item in enumerate(value):
                yield f"  - {_flow(item)}{_comment(comments.get((*here, number)))}"
        else:
            yield f"{scalar(key)}: {_flow(value)}{_comment(comments.get(here))}"


def _comment(why: str | None) -> str:
    return f"  # {plain(why)}" if why else ""


def _flow(value: Any) -> str:
    """Return a value on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(key)}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return scalar(value)


def scalar(value: Any) -> str:
    r"""Return text, a number, a Boolean or null as YAML, in quotes where it would be read as something else.

    Examples
    --------
    >>> [scalar(value) for value in ("^model", "results[*]", "true", True, None, "1e3", "a: b", "?", "\x85")]
    ['^model', '"results[*]"', '"true"', 'true', 'null', '"1e3"', '"a: b"', '"?"', '"\\u0085"']
    """
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
