"""Mappings written as plain data, such as YAML, for files that no format knows."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rollwise.errors import ArgumentError, meant
from rollwise.readers.mapping.cells import ATTACK, ROLLOUT, TASK, items_of
from rollwise.readers.mapping.ids import verdict_by_ids
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Record, path_of, top_name
from rollwise.readers.mapping.reshaping import ROUNDS, SAMPLE, TARGET, OwnFiles
from rollwise.readers.mapping.shapes import shapes_of
from rollwise.readers.mapping.types import OF_COLUMNS
from rollwise.readers.mapping.values import Rule, value_of
from rollwise.readers.problems import BrokenError
from rollwise.readers.records import parse, spare
from rollwise.schema import ROLLOUTS, TURNS

NUMBERS = {  # words for numbers of a whole rollout, and the columns that they fill
    "dollars": "total_cost_usd",
    "seconds": "total_seconds",
    "tokens": "total_tokens",
    "queries": "queries",
}
OF_TURNS = (
    "context", "prompt", "response", "observation", "tool_calls", "succeeded", "score", "reward", "refused",
    "error",
)  # fmt: skip
STRUCTURE = (
    "records", "header", "where", "rows", "targets", "samples", "rounds", "pair", "run", "rollout", "facts", "turns",
    "role", "content",
)  # fmt: skip
"""Keys that say where the rollouts are and what they are made of, in the order in which a mapping is written."""
KEYS = (
    *STRUCTURE,
    *OF_TURNS,
    "verdicts",
    "scores",
    "numbers",
    "columns",
    "left_out",
    "made",
)
OF_A_TURN = frozenset(TURNS.names) - {*ROLLOUTS.facts, "rollout_id", "turn", "run", "source"}
OPEN = "?"  # where a proposal cannot know, and the user is to say
MADE_FIELDS = ("by", "rollouts", "successes")
SPEAKERS = ("role", "content")
_WORDS = {True: "true", False: "false", None: "null"}  # keys that YAML reads as values


def mapping_of(data: Mapping[str, Any]) -> RecordMapping:
    """Return the mapping that plain data describe.

    ============= ==============================================================================================
    key           what it says
    ============= ==============================================================================================
    `records`     where the records are, as in ``results[*]`` or ``{*}`` (the values of an object); by default each
                  line, row of a table, item of a list, or file is one; with ``"@file"`` all lines of a file are one
    `header`      true where the first line says something of all others: ``^name`` is a field of it
    `where`       values that a record must have
    `rows`        ``{by: [conversation]}``: rows with the same values are one record, whose list of them is `rows`;
                  ``with: round`` takes only rows that have this field; the fields of all other rows belong to the
                  record; ``turn: number`` orders and numbers them
    `targets`     ``{gpt: {response: gpt_answer}, llama: {response: llama_answer}}``: a record is one of each target,
                  with these fields under the short names; `target` is the name of the target
    `samples`     ``{response: answers, hit: hits}``: lists of one length; a record is one of each place in them, with the
                  items there under the short names; `sample` numbers them
    `rounds`      ``{prompt: [user_1, user_2], response: [reply_1, reply_2]}``: columns of a turn each, in order; what a
                  shorter conversation leaves empty at its end is no turn
    `pair`        ``{response: [first, second], of: 2}``: the second answer is evaluated, and the other one a column
    `run`         the rule for the run; by default a hash of the file's content
    `rollout`     the rules for the id of a rollout within its run; by default the place of the record
    `facts`       rules for columns of TURNS that describe the rollout
    `turns`       where the messages or turns of a record are; by default the record is one turn
    `role`        what messages call the speaker, and `content` the text, if they have names of their own
    `prompt`, ... rules for columns of a turn: `context`, `response`, `observation`, `tool_calls`, `succeeded`, `score`, ...
    `verdicts`    rules with ``of: attack``, the outcome of the rollout (`succeeded` is that of a turn), or ``of: task``;
                  ``{of: task, ids: "report.json:resolved", by: id}`` looks for an id in a list of a file in the same
                  folder, and `not_ids` in that of the others
    `scores`      ``{each: metrics[*], name: name, from: score}``: a column ``score_<name>`` for each item of a list
    `numbers`     rules for `dollars`, `seconds`, `tokens` and `queries` of the rollout
    `columns`     rules for columns of your own, or for further columns of TURNS
    `left_out`    fields that become no columns
    `made`        what was read when the mapping was made: ``{rollouts: 40, successes: 10}``; other figures are said
    ============= ==============================================================================================

    A record or a turn that is no object, such as a value of ``{*}`` or a list of messages, has one field, `value`. A list of
    turns or messages may be JSON text in a cell.
    """
    _check(data)
    records, rows = data.get("records", "."), _object(data, "rows")
    if records == "@file":
        records, rows = ".", {"by": ["@file"], **rows}
    facts = {name: _rule(rule, name) for name, rule in _object(data, "facts").items()}
    for name, rule in _object(data, "numbers").items():
        if name not in NUMBERS:
            raise ArgumentError(f"mapping: numbers: unknown name {name!r}; {meant(str(name), NUMBERS)}")
        facts[NUMBERS[name]] = _rule(rule, NUMBERS[name])
    columns = {str(name): _rule(rule, str(name)) for name, rule in _object(data, "columns").items()}
    facts = {name: columns.pop(name) for name in list(columns) if name in ROLLOUTS.facts and name != "run"} | facts
    columns |= {name: facts.pop(name) for name in list(facts) if name not in TURNS.dtypes}
    left_out = [_text(name, "left_out") for name in _list(data, "left_out")]
    if "scores" in data:
        columns["score_*"] = _scores(_object(data, "scores"))
        left_out.append(str(path_of(data["scores"]["each"]).steps[0]))
    turn = {name: _rule(data[name], name) for name in OF_TURNS if name in data}
    if "rounds" in data and "turns" in data:
        raise ArgumentError("mapping: `rounds` are the turns, and so are `turns`: leave one out")
    turns = ROUNDS if "rounds" in data else _text(data["turns"], "turns") if "turns" in data else None
    if turns is None:  # the record is one turn
        turn = {name: columns.pop(name) for name in list(columns) if name in OF_A_TURN} | turn
    columns = {spare(name): rule for name, rule in columns.items()}
    # A field within an object of a row is of that row, as its other fields are.
    of_rows = [name for name, rule in columns.items() if data.get("turns") == "rows" and _is_within(rule)]
    turn_columns = {name: columns.pop(name) for name in of_rows}
    rollout = [_rule(rule) for rule in _list(data, "rollout", ["@key" if rows else "@place"])]
    if not rollout:
        raise ArgumentError("mapping: rollout: names no field that tells rollouts apart; leave it out")
    verdicts = [_verdict(rule) for rule in _list(data, "verdicts")]
    run = [_rule(data["run"])] if "run" in data else []
    where = _object(data, "where")
    all_rules = [*run, *rollout, *facts.values(), *columns.values(), *verdicts]
    shapes = shapes_of(data, rows, [path for rule in all_rules for path in _paths(rule)], where)
    own_names = {name for names in shapes.names for name in names}
    turn = {**{name: name for name in OF_TURNS if name in own_names}, **turn, **shapes.turn}
    if SAMPLE in own_names:
        facts = {"attempt": SAMPLE, **facts}
        rollout = [*rollout, SAMPLE]
    if TARGET in own_names:
        facts = {TARGET: TARGET, **facts}
        rollout = rollout if TARGET in rollout or not shapes.splits else [*rollout, TARGET]
    return RecordMapping(
        doc="",
        records=_text(records, "records"),
        where={} if rows else where,
        run=run[0] if run else None,
        rollout=rollout,
        facts=facts,
        turns=turns,
        turn=turn,
        verdicts=verdicts,
        columns=columns,
        turn_columns=turn_columns,
        used=left_out,
        own=OwnFiles(
            shapes.functions, _text_fields(facts | turn, shapes.names), *(data.get(name) for name in SPEAKERS)
        ),
    )


def _is_within(rule: Any) -> bool:
    """Return whether a rule is the path of a field within an object of the record itself."""
    is_path = isinstance(rule, str) and not rule.startswith(("^", "@", "rows")) and "[" not in rule
    return is_path and len(path_of(rule).steps) > 1


def _check(data: object) -> None:
    """Raise an error for data that are no mapping, have unknown keys, or leave something to be said."""
    if not isinstance(data, Mapping):
        raise ArgumentError(f"mapping: expected keys and values, got {type(data).__name__}")
    for key in data:
        if key not in KEYS:
            raise ArgumentError(f"mapping: {key!r} is not a key; {meant(str(key), KEYS, most=len(KEYS))}")
    for key, value in data.items():
        open_place = _open_places(value, key)
        if open_place is not None and open_place.endswith(f".{OPEN}"):
            place = open_place.removesuffix(f".{OPEN}")
            raise ArgumentError(
                f'mapping: `{place}` has words under `?`: put each of them under "true", "false" or "null"'
            )
        if open_place is not None:
            raise ArgumentError(f"mapping: `{open_place}` is `?`: write there what only you know, or leave it out")
    for name in SPEAKERS:
        _text(data.get(name, name), name)
    if "role" in data and (several := next((name for name in OF_TURNS if name in data), None)):
        raise ArgumentError(
            f"mapping: `role` says that turns are messages, and `{several}` that they are not: leave one out"
        )
    if "made" in data:
        made_of(data)


def _open_places(value: object, place: str) -> str | None:
    """Return the place within a value where a question is left; None without one. The words of verdicts may be any."""
    if value == OPEN:
        return place
    inner: Iterable[tuple[object, object]] = ()
    if isinstance(value, Mapping):
        if OPEN in value:
            return f"{place}.{OPEN}"
        inner = ((key, item) for key, item in value.items() if item == OPEN or key not in {*_WORDS, *_WORDS.values()})
    elif isinstance(value, list | tuple):
        inner = enumerate(value)
    return next((place_asked for key, item in inner if (place_asked := _open_places(item, f"{place}.{key}"))), None)


def made_of(data: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return the rollouts and successes that were read when the mapping was made; None where it does not say."""
    reshaping = _object(data, "made")
    for key, value in reshaping.items():
        if key not in MADE_FIELDS:
            raise ArgumentError(f"mapping: made: unknown name {key!r}; {meant(str(key), MADE_FIELDS)}")
        if key == "by" and value not in {"file", "user"}:
            raise ArgumentError(f"mapping: made: by: expected file or user, got {value!r}")
        if key != "by" and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
            raise ArgumentError(f"mapping: made: {key}: expected a whole number, got {value!r}")
    return reshaping.get("rollouts"), reshaping.get("successes")


def _text_fields(rules: Mapping[str, Rule], names: Sequence[Mapping[str, Sequence[str]]]) -> frozenset[str]:
    """Return the fields of a record that are text, as they fill columns of text; `names` are fields under short names."""
    paths = [rule for name, rule in rules.items() if isinstance(rule, str) and OF_COLUMNS[name] == str | None]
    under = [path for short in paths for fields in names for path in fields.get(short, ())]
    return frozenset(name for path in [*paths, *under] if (name := top_name(path)) is not None)


def _paths(rule: Rule) -> list[str]:
    """Return the paths of a rule that begin in the record."""
    listed = (
        {name: item for name, item in rule.items() if name not in {"of", "unknown"}}
        if isinstance(rule, Mapping)
        else rule
    )
    return [path for path in value_of(listed).paths if top_name(path) is not None]


def _object(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = data.get(key, {})
    if not isinstance(value, Mapping):
        raise ArgumentError(f"mapping: {key}: expected names and values, got {type(value).__name__}")
    return value


def _list(data: Mapping[str, Any], key: str, default: Sequence[Any] = ()) -> list[Any]:
    value = data.get(key, default)
    if isinstance(value, str | Mapping):
        return [value]
    if not isinstance(value, list | tuple):
        raise ArgumentError(f"mapping: {key}: expected a list, got {type(value).__name__}")
    return list(value)


def _text(value: object, key: str) -> str:
    if not isinstance(value, str):
        raise ArgumentError(f"mapping: {key}: expected the path of a field, got {value!r}")
    if value != ".":
        path_of(value)  # raises if it is not valid
    return value


def _rule(rule: Any, column: str | None = None) -> Rule:
    """Return a checked rule, of a column of TURNS if one is named; data cannot contain functions."""
    plain: Any = {_WORDS.get(name, name): item for name, item in rule.items()} if isinstance(rule, Mapping) else rule
    if not isinstance(plain, str | Mapping | list | tuple) or (isinstance(plain, Mapping) and "by" in plain):
        raise ArgumentError(f"mapping: {rule!r} is not a rule: expected a path, a list of paths, or an object")
    if not plain or (isinstance(plain, Mapping) and plain.get("from") == []):
        raise ArgumentError(f"mapping: {rule!r} is not a rule: it names no field")
    value_of(plain)  # raises if it is not valid
    if isinstance(plain, Mapping) and {*plain} == {"value"} and column in TURNS.dtypes:
        try:
            parse(plain["value"], OF_COLUMNS[str(column)])
        except BrokenError as error:
            raise ArgumentError(
                f"mapping: {column}: the constant {plain['value']!r} does not fit: {error.reason}"
            ) from error
    checked: Rule = plain
    return checked


def _verdict(rule: Any) -> Mapping[str, Any]:
    of = rule.get("of") if isinstance(rule, Mapping) else None
    if of not in {ATTACK, TASK}:
        raise ArgumentError(f"mapping: verdicts: {rule!r} needs `of`, which is attack or task")
    statements = {name: item for name, item in rule.items() if name not in {"of", "unknown"}}
    plain = verdict_by_ids(statements) if "ids" in statements else _rule(statements)
    # Which of several turns succeeded is not known: the outcome is that of the rollout.
    unknown = {"unknown": rule["unknown"]} if "unknown" in rule else {}
    return {"of": ROLLOUT if of == ATTACK else of, **unknown, **dict(plain)}  # type: ignore[arg-type]


def _scores(rule: Mapping[str, Any]) -> Rule:
    """Return the rule for a score by name, of each item of a list."""
    items, name, source = (rule.get(key) for key in ("each", "name", "from"))
    if not all(isinstance(path, str) and path_of(path) for path in (items, name, source)):
        raise ArgumentError(f"mapping: scores: {dict(rule)!r} needs paths for `each`, `name` and `from`")

    def scores(record: Record) -> dict[str, Any]:
        inner = items_of(record, str(items))
        return {str(item[str(name)]): item[str(source)] for item in inner if item[str(name)] is not None}

    return {"by": scores, "in_file": f"`{items}`"}
