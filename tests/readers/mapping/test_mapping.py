"""A mapping as a reader: rollouts, turns and columns of a file, what is broken, and what is counted."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rollwise.errors import ArgumentError, ReadError
from rollwise.readers import BrokenError, Document, Problems, RecordMapping, TurnRow, TurnsBuilder
from rollwise.readers.mapping.written import mapping_of

GUESS: dict[str, Any] = {
    "doc": "Read each record as a rollout of one turn.\n\n{fields}",
    "rollout": ["id"],
    "facts": {"target": "model", "attempt": {"from": "trial", "add": 1}},
    "turn": {"prompt": "ask", "response": "reply"},
    "fields": {"id": str, "reply": str},
    "verdicts": [{"of": "attack", "from": "verdict", "true": ["broken"], "false": ["held"]}],
}


def read(
    mapping: RecordMapping, value: Any, *, collect: bool = True, name: str = "log.json"
) -> tuple[pl.DataFrame, list[Any]]:
    """What a mapping reads of a file: the frame without empty columns, and the problems."""
    data = b"\n".join(json.dumps(line).encode() for line in value) if name.endswith("l") else json.dumps(value).encode()
    problems = Problems(collect=collect)
    table = TurnsBuilder("toy", problems, {})
    mapping(Document(Path(name), data), table)
    frame = table.frame()
    account = problems.record_counts.of(name)
    assert account.num_passed_over + len(account.broken) <= len(account.names) + account.num_passed_over
    return frame[[column.name for column in frame if column.null_count() < len(column)]], problems.rows


def test_each_record_is_a_rollout_of_one_turn_and_other_fields_are_columns():
    rows = [
        {
            "id": "a",
            "model": "m",
            "trial": 0,
            "ask": "Hi",
            "reply": "Oaf",
            "verdict": "broken",
            "mood": [1],
            "score": 3,
        },
        {"id": "b", "model": "m", "ask": "Hi", "reply": "No", "verdict": "held"},
    ]
    for name, value in (("log.jsonl", rows), ("log.json", rows)):
        frame, problems = read(RecordMapping(**GUESS), value, name=name)
        assert problems == []
        columns = ("attempt", "prompt", "response", "succeeded", "outcome", "mood", "score_source")
        assert frame.select(columns).rows() == [
            (1, "Hi", "Oaf", True, "success", "[1]", 3),
            (None, "Hi", "No", False, "failure", None, None),
        ]


@pytest.mark.parametrize(
    ("records", "value"),
    [
        ("results[*]", {"model": "m", "results": [{"id": "a", "reply": "x"}, {"id": "b", "reply": "y"}]}),
        (
            "data.results[*]",
            {"data": {"model": "m", "results": [{"id": "a", "reply": "x"}, {"id": "b", "reply": "y"}]}},
        ),
        ("results{*}", {"model": "m", "results": {"p": {"id": "a", "reply": "x"}, "q": {"id": "b", "reply": "y"}}}),
        ("groups[*].items[*]", {"groups": [{"model": "m", "items": [{"id": i, "reply": r}]} for i, r in ("ax", "by")]}),
    ],
)
def test_records_are_found_at_a_path_and_a_caret_reaches_what_is_around_them(records, value):
    mapping = RecordMapping(**GUESS | {"records": records, "facts": {"target": "^model"}, "verdicts": []})
    frame, problems = read(mapping, value)
    assert frame.select("target", "response").rows() == [("m", "x"), ("m", "y")]
    assert problems == []
    assert frame["rollout_id"].n_unique() == 2


def test_a_line_without_the_list_costs_itself_and_a_file_without_it_is_refused():
    mapping = RecordMapping(**GUESS | {"records": "results[*]", "verdicts": []})
    lines = [
        {"results": [{"id": "a", "reply": "x"}]},
        {"results": 3},
        {"other": 1},
        {"results": [{"id": "b", "reply": "y"}]},
    ]
    frame, problems = read(mapping, lines, name="log.jsonl")
    assert frame["response"].to_list() == ["x", "y"]
    assert [(row[1], row[2], row[3]) for row in problems] == [
        ("2", "results", "expected `array`, got `int`"),
        ("3", None, "object missing required field `results`"),
    ]
    with pytest.raises(BrokenError, match="object missing required field `results`"):
        read(mapping, {"result": []})


@pytest.mark.parametrize(
    ("lines", "held"),
    [
        ([{"results": [{"id": "a", "reply": "x"}, {"id": 3}, 4]}, {"results": [{"id": "b", "reply": "y"}]}], 4),
        ([{"results": [3]}, {"results": [4, 5]}], 3),
        ([{"results": 3}, {"results": [{"id": "a", "reply": "x"}]}, 3], 3),
        ([{"results": []}, {"results": [{"id": "a", "reply": "x"}]}], 2),  # an empty one is told
    ],
)
def test_records_within_lines_are_what_a_file_holds(lines, held):
    problems = Problems(collect=True)
    mapping = RecordMapping(**GUESS | {"records": "results[*]"})
    document = Document(Path("log.jsonl"), b"\n".join(json.dumps(line).encode() for line in lines))
    table = TurnsBuilder("toy", problems, {})
    mapping(document, table)
    account = problems.record_counts.of("log.jsonl")
    assert account.num_records == held
    assert held - len(account.broken) - account.num_passed_over == table.frame()["rollout_id"].count()


def test_fields_around_a_record_have_types_too():
    mapping = RecordMapping(
        **GUESS
        | {"records": "results[*]", "run": "^study", "facts": {"target": "^model"}, "verdicts": []}
        | {"fields": {"id": str, "reply": str, "^study": str}}
    )
    inner = [{"id": "a", "reply": "x"}, {"id": "b", "reply": "y"}]
    lines = [{"study": "s", "model": 3, "results": inner}, {"study": 3, "results": inner}, {"results": inner}]
    frame, problems = read(mapping, lines, name="log.jsonl")
    assert frame.select("rollout_id", "target", "response").rows() == [("s/a", "3", "x"), ("s/b", "3", "y")]
    # What is around several records is said once.
    assert [(row[1], row[2], row[3]) for row in problems] == [
        ("1", "model", "expected `str | null`, got `int`: it is read as text"),
        ("2", "study", "expected `str`, got `int`"),
        ("3", None, "object missing required field `study`"),
    ]
    with pytest.raises(BrokenError, match="expected `str`, got `int`"):
        read(mapping, lines[1])


def test_a_broken_record_with_a_verdict_is_a_missing_rollout_and_one_without_is_a_problem_alone():
    rows = [
        {"id": "a", "model": "m", "trial": 2, "reply": 3, "verdict": "held"},
        {"id": "b", "reply": None, "verdict": "no word"},
        {"reply": "x", "verdict": "held"},
        5,
        {"id": "c", "reply": "Yes", "verdict": "broken"},
    ]
    frame, problems = read(RecordMapping(**GUESS), rows)
    assert frame.select("rollout_id", "turn", "target", "attempt", "outcome").rows() == [
        (frame["rollout_id"][0], None, "m", 3, None),
        (frame["rollout_id"][1], 1, None, None, "success"),
    ]
    assert frame["rollout_id"][0].endswith("/a")
    assert [(row[1], row[2], row[3]) for row in problems] == [
        ("0", "reply", "expected `str`, got `int`"),
        ("1", "reply", "expected `str`, got `null`"),
        ("2", None, "object missing required field `id`"),
        ("3", None, "expected `object`, got `int`"),
    ]
    with pytest.raises(ReadError, match=r"log.json: record 0: field `reply`: expected `str`, got `int`"):
        read(RecordMapping(**GUESS), rows, collect=False)


def test_a_field_that_does_not_fit_its_column_is_null_and_a_problem():
    rows = [{"id": "a", "model": 7, "trial": "x", "ask": ["y"], "reply": "z", "verdict": None}]
    frame, problems = read(RecordMapping(**GUESS), rows)
    assert frame.select("target", "prompt").rows() == [("7", '["y"]')]
    assert "attempt" not in frame.columns
    assert {(row[2], row[3]) for row in problems} == {
        ("model", "expected `str | null`, got `int`: it is read as text"),
        ("trial", "expected `int | float | null`, got `str`: the field is null"),
        ("ask", "expected `str | null`, got `array`: it is read as text"),
    }
    for field in ("model", "trial", "ask"):
        with pytest.raises(ReadError, match=f"field `{field}`"):
            read(RecordMapping(**GUESS), [{"id": "a", "reply": "z", field: rows[0][field]}], collect=False)


def test_nested_fields_have_types_and_an_object_that_is_none_is_a_problem():
    mapping = RecordMapping(
        **GUESS | {"facts": {"target": "info.model"}, "last": {"reward": "info.reward"}, "verdicts": []}
    )
    rows = [
        {"id": i, "reply": "x", "info": info} for i, info in enumerate_names({"reward": 1}, {"reward": "y"}, [1], None)
    ]
    frame, problems = read(mapping, rows)
    assert frame["reward"].to_list() == [1.0, None, None, None]
    assert [(row[1], row[2]) for row in problems] == [("1", "info.reward"), ("2", "info")]


def enumerate_names(*values: Any) -> list[tuple[str, Any]]:
    return [(f"r{place}", value) for place, value in enumerate(values)]


def test_turns_are_messages_or_items_of_a_list():
    chat = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "Bye"},
    ]
    frame, _ = read(RecordMapping(doc="", rollout=["@key"], turns="chat"), [{"chat": chat}, {"chat": None}])
    assert frame.select("turn", "prompt", "response", "observation").rows() == [
        (1, "Hi", "Hello", "Bye"),
        (None, None, None, None),
    ]
    rounds = RecordMapping(
        doc="", rollout=["@key"], turns="rounds", turn={"prompt": "ask", "response": "reply"}, turn_columns={"ms": "ms"}
    )
    items = [{"ask": "Hi", "reply": "Hello", "ms": 5}, {"ask": "Bye", "reply": None}]
    frame, problems = read(rounds, [{"rounds": items}, {"rounds": []}])
    assert frame.select("turn", "prompt", "response", "ms").rows() == [
        (1, "Hi", "Hello", 5),
        (2, "Bye", None, None),
        (None, None, None, None),
    ]
    _, problems = read(rounds, [{"rounds": {"ask": "Hi"}}, {"rounds": [{}, "Hi"]}])
    assert [(row[2], row[3]) for row in problems] == [
        ("rounds", "expected `array`, got `object`"),
        ("rounds[1]", "expected `object`, got `str`"),
    ]


def test_what_belongs_to_the_last_turn_is_there_and_a_verdict_of_the_task_is_solved():
    turns = [TurnRow(1, response="a"), TurnRow(2, response="b")]
    mapping = RecordMapping(
        doc="",
        rollout=["@key"],
        turns=lambda record: list(turns),
        last={"reward": "reward", "error": "error"},
        verdicts=[{"of": "task", "from": "reward", "is": 1}, {"of": "attack", "not": "held"}],
        signs=["held"],
    )
    frame, _ = read(mapping, [{"reward": 1.0, "held": False}])
    assert frame.select("reward", "succeeded", "solved", "outcome").rows() == [
        (None, None, True, "success"),
        (1.0, True, True, "success"),
    ]


def test_an_error_that_a_function_of_the_turns_states_stays_beside_a_verdict():
    mapping = RecordMapping(
        doc="",
        rollout=["@key"],
        turns=lambda record: [TurnRow(1, response="a", error="cut off")],
        verdicts=[{"of": "attack", "from": "hit", "is": 1}],
    )
    frame, _ = read(mapping, [{"hit": 1}])
    assert frame.select("error", "succeeded").rows() == [("cut off", True)]


def test_records_of_other_kinds_are_passed_over_and_counted():
    mapping = RecordMapping(**GUESS | {"where": {"kind": "result"}, "fields": {}, "verdicts": []})
    rows = [{"kind": "header", "version": 2}, {"kind": "result", "id": "a", "reply": "x"}]
    problems = Problems(collect=True)
    table = TurnsBuilder("toy", problems, {})
    mapping(Document(Path("log.json"), json.dumps(rows).encode()), table)
    assert table.frame()["response"].to_list() == ["x"]
    assert problems.record_counts.of("log.json").num_passed_over == 1


def test_the_table_of_fields_and_columns_is_printed_from_the_rules():
    mapping = RecordMapping(
        **GUESS | {"run": "^run", "columns": {"judge": {"value": "gpt", "note": "always this one"}}}
    )
    doc = mapping.__doc__ or ""
    assert "in the file" in doc
    lines = {" ".join(line.split()) for line in doc.splitlines()}
    assert {
        "`^run` `run`",
        "run, `id` `rollout_id`",
        "`model` `target`",
        "`trial` `attempt`: from 1",
        "`reply` `response`",
        "`verdict` `succeeded`, `outcome`: broken is true; held is false",
        "(always) `judge`: always this one",
    } <= lines


@pytest.mark.parametrize("name", ["facts", "turn", "last"])
def test_a_column_that_turns_does_not_have_is_refused(name):
    with pytest.raises(ArgumentError, match="'judge' is not a column of TURNS; give it in `columns`"):
        RecordMapping(**GUESS | {name: {"judge": "judge"}})


WRITTEN: dict[str, Any] = {
    "records": "results[*]",
    "facts": {"target": "^model", "goal": "behavior", "judge": {"value": "gpt-5.5"}},
    "prompt": "ask",
    "response": "reply",
    "verdicts": [
        {"of": "attack", "from": "judgment", True: ["VULNERABLE"], False: ["SAFE"], None: ["UNKNOWN"]},
        {"of": "task", "from": "points", "at_least": 8},
    ],
    "scores": {"each": "metrics[*]", "name": "name", "from": "value"},
    "numbers": {"dollars": "costUsd", "seconds": {"from": "wallMs", "per": 1000}},
    "left_out": ["timestamp"],
}


def test_a_written_mapping_reads_what_it_says():
    value = {
        "model": "parrot",
        "results": [
            {
                "behavior": "spam",
                "ask": "Hi",
                "reply": "No",
                "judgment": "SAFE",
                "points": 9,
                "metrics": [{"name": "harm", "value": 0.1}, {"name": "tone", "value": 2}],
                "costUsd": 0.5,
                "wallMs": 1500,
                "timestamp": "now",
                "notes": "kept",
            },
            {"behavior": "spam", "reply": "Oaf", "judgment": "UNKNOWN", "points": None, "metrics": None},
            {"behavior": "spam", "reply": "Oaf", "judgment": "VULNERABLE"},
        ],
    }
    frame, problems = read(mapping_of(WRITTEN), value)
    columns = (
        "target",
        "judge",
        "outcome",
        "solved",
        "score_harm",
        "score_tone",
        "total_cost_usd",
        "total_seconds",
        "notes",
    )
    assert frame.select(columns).rows() == [
        ("parrot", "gpt-5.5", "failure", True, 0.1, 2, 0.5, 1.5, "kept"),
        ("parrot", "gpt-5.5", None, None, None, None, None, None, None),
        ("parrot", "gpt-5.5", "success", None, None, None, None, None, None),
    ]
    assert "timestamp" not in frame.columns
    assert problems == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"record": "x[*]"}, "mapping: 'record' is not a key; did you mean `records`?"),
        ({"facts": ["target"]}, "mapping: facts: expected names and values, got list"),
        ({"numbers": {"euros": "x"}}, "mapping: numbers: unknown name 'euros'"),
        ({"verdicts": [{"from": "x", "is": 1}]}, "needs `of`, which is attack or task"),
        ({"verdicts": ["x"]}, "needs `of`, which is attack or task"),
        ({"prompt": {"by": print}}, "is not a rule"),
        ({"prompt": 3}, "mapping: 3 is not a rule"),
        (
            {"prompt": {"boolean": "x"}},
            "it has one of value, not, count, hash, or `from` with at most one of words, add",
        ),
        ({"scores": {"each": "x"}}, "needs paths for `each`, `name` and `from`"),
        ({"rollout": ["a..b"]}, "mapping: 'a..b' is not a path"),
    ],
)
def test_a_written_mapping_that_is_wrong_is_said_in_a_sentence(change, sentence):
    with pytest.raises(ArgumentError) as error:
        mapping_of(WRITTEN | change)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("data", [None, 3, [], "records"])
def test_a_written_mapping_is_an_object(data):
    with pytest.raises(ArgumentError, match="mapping: expected keys and values"):
        mapping_of(data)


def test_a_crash_makes_what_the_framework_wrote_unknown_and_is_counted_once_for_each_rollout(capsys):
    mapping = RecordMapping(
        doc="",
        rollout=["id"],
        turn={"prompt": "ask", "response": "reply"},
        last={"reward": "reward", "score": "score", "error": "error"},
        crashed=lambda record: record["error"] is not None,
        verdicts=[
            {"of": "task", "from": "solved"},
            {"of": "rollout", "from": "safe", "true": [False], "false": [True], "unknown": "undetermined"},
        ],
        fields={"id": str, "reply": str},
    )
    no = {"ask": "Hi", "reply": "No", "reward": 0.0, "score": 0.5, "solved": False, "safe": True}
    rows = [{"id": "a", **no}, {"id": "b", **no, "error": "timeout"}, {"id": "c", **no, "reward": 1.0, "error": "late"}]
    problems = Problems(collect=True)
    table = TurnsBuilder("toy", problems, {})
    mapping(Document(Path("log.json"), json.dumps(rows).encode()), table)
    assert table.frame().select("reward", "score", "solved", "outcome", "succeeded").rows() == [
        (0.0, 0.5, False, "failure", None),
        (None, 0.5, None, "undetermined", None),
        (1.0, 0.5, None, "undetermined", None),
    ]
    problems.announce()
    assert capsys.readouterr().err.startswith("rollwise: 2 rollouts crashed")
