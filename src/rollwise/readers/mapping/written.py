"""Mappings written as plain data, such as YAML, for files that no format knows."""

from collections.abc import Mapping
from typing import Any

from rollwise.errors import ArgumentError, meant
from rollwise.readers.mapping.cells import items_of
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Record, path_of
from rollwise.readers.mapping.values import Rule, value_of
from rollwise.schema import TURNS

NUMBERS = {  # words for numbers of a whole rollout, and the columns that they fill
    "dollars": "total_cost_usd",
    "seconds": "total_seconds",
    "tokens": "total_tokens",
    "queries": "queries",
}
OF_TURNS = (
    "context",
    "prompt",
    "response",
    "observation",
    "tool_calls",
    "succeeded",
    "score",
    "reward",
    "refused",
    "error",
)
KEYS = (
    "records",
    "where",
    "run",
    "rollout",
    "facts",
    "turns",
    *OF_TURNS,
    "verdicts",
    "scores",
    "numbers",
    "columns",
    "left_out",
)
_WORDS = {True: "true", False: "false", None: "null"}  # keys that YAML reads as values


def mapping_of(data: Mapping[str, Any]) -> RecordMapping:
    """Return the mapping that plain data describe.

    ============= ==============================================================================================
    key           what it says
    ============= ==============================================================================================
    `records`     where the records are, as in ``results[*]``; by default each line, item of a list, or file is one
    `where`       values that a record must have
    `run`         the rule for the run; by default a hash of the file's content
    `rollout`     the rules for the id of a rollout within its run; by default the place of the record
    `facts`       rules for columns of TURNS that describe the rollout
    `turns`       where the messages or turns of a record are; by default the record is one turn
    `prompt`, ... rules for columns of a turn: `context`, `response`, `observation`, `tool_calls`, `score`, `reward`
    `verdicts`    rules with ``of: attack`` or ``of: task``
    `scores`      ``{each: metrics[*], name: name, from: score}``: a column ``score_<name>`` for each item of a list
    `numbers`     rules for `dollars`, `seconds`, `tokens` and `queries` of the rollout
    `columns`     rules for columns of your own
    `left_out`    fields that become no columns
    ============= ==============================================================================================

    Raises
    ------
    ArgumentError
        Naming the unknown key, or the value that is not a rule.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rollwise.readers import Document, Problems, TurnsBuilder
    >>> mapping = mapping_of(
    ...     {
    ...         "records": "results[*]",
    ...         "facts": {"target": "^model", "goal": "behavior", "judge": {"value": "gpt-5.5"}},
    ...         "turns": "rounds",
    ...         "prompt": "ask",
    ...         "response": "reply",
    ...         "verdicts": [{"of": "attack", "from": "verdict", "true": ["VULNERABLE"], "false": ["SAFE"]}],
    ...         "numbers": {"seconds": {"from": "ms", "per": 1000}},
    ...     }
    ... )
    >>> log = b'''{"model": "parrot", "results": [{"behavior": "spam", "verdict": "SAFE", "ms": 1500,
    ... "rounds": [{"ask": "Hi", "reply": "Hello"}, {"ask": "Spam", "reply": "No."}]}]}'''
    >>> table = TurnsBuilder("mine", Problems(), {})
    >>> mapping(Document(Path("runs.json"), log), table)
    >>> table.frame().select("target", "turn", "response", "outcome", "total_seconds", "judge").rows()
    [('parrot', 1, 'Hello', 'failure', 1.5, 'gpt-5.5'), ('parrot', 2, 'No.', 'failure', 1.5, 'gpt-5.5')]
    """
    if not isinstance(data, Mapping):
        raise ArgumentError(f"mapping: expected keys and values, got {type(data).__name__}")
    for key in data:
        if key not in KEYS:
            raise ArgumentError(f"mapping: {key!r} is not a key; {meant(str(key), KEYS, most=len(KEYS))}")
    facts = {name: _rule(rule) for name, rule in _object(data, "facts").items()}
    numbers = _object(data, "numbers")
    for name, rule in numbers.items():
        if name not in NUMBERS:
            raise ArgumentError(f"mapping: numbers: unknown name {name!r}; {meant(str(name), NUMBERS)}")
        facts[NUMBERS[name]] = _rule(rule)
    columns = {name: _rule(rule) for name, rule in _object(data, "columns").items()}
    columns |= {name: facts.pop(name) for name in list(facts) if name not in TURNS.dtypes}
    left_out = list(data.get("left_out", ()))
    if "scores" in data:
        columns["score_*"] = _scores(_object(data, "scores"))
        left_out.append(path_of(data["scores"]["each"]).steps[0])
    rollout = data.get("rollout", [_place])
    return RecordMapping(
        doc="",
        records=data.get("records", "."),
        where=_object(data, "where"),
        run=_rule(data["run"]) if "run" in data else None,
        rollout=[
            rule if rule is _place else _rule(rule) for rule in ([rollout] if isinstance(rollout, str) else rollout)
        ],
        facts=facts,
        turns=data.get("turns"),
        turn={name: _rule(data[name]) for name in OF_TURNS if name in data},
        verdicts=[_verdict(rule) for rule in data.get("verdicts", ())],
        columns=columns,
        used=left_out,
    )


def _place(record: Record) -> Any:
    """name or place of the record"""  # noqa: D400, D403  # a part of a table
    return record.name


def _object(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = data.get(key, {})
    if not isinstance(value, Mapping):
        raise ArgumentError(f"mapping: {key}: expected names and values, got {type(value).__name__}")
    return value


def _rule(rule: Any) -> Rule:
    """Return a checked rule; data cannot contain functions."""
    plain: Any = {_WORDS.get(name, name): item for name, item in rule.items()} if isinstance(rule, Mapping) else rule
    if not isinstance(plain, str | Mapping | list | tuple) or (isinstance(plain, Mapping) and "by" in plain):
        raise ArgumentError(f"mapping: {rule!r} is not a rule: expected a path, a list of paths, or an object")
    value_of(plain)  # raises where it is none
    checked: Rule = plain
    return checked


def _verdict(rule: Any) -> Mapping[str, Any]:
    of = rule.get("of") if isinstance(rule, Mapping) else None
    if of not in {"attack", "task"}:
        raise ArgumentError(f"mapping: verdicts: {rule!r} needs `of`, which is attack or task")
    rest = _rule({name: item for name, item in rule.items() if name not in {"of", "unknown"}})
    return {**{name: rule[name] for name in ("of", "unknown") if name in rule}, **dict(rest)}  # type: ignore[arg-type]


def _scores(rule: Mapping[str, Any]) -> Rule:
    """Return the rule for a score by name, of each item of a list."""
    each, name, source = (rule.get(key) for key in ("each", "name", "from"))
    if not all(isinstance(path, str) and path_of(path) for path in (each, name, source)):
        raise ArgumentError(f"mapping: scores: {dict(rule)!r} needs paths for `each`, `name` and `from`")

    def scores(record: Record) -> dict[str, Any]:
        inner = items_of(record, str(each))
        return {str(item[str(name)]): item[str(source)] for item in inner if item[str(name)] is not None}

    return {"by": scores, "in_file": f"`{each}`"}
