"""Files in shapes of their own: rows of one rollout, columns of several targets, pairs, headers, values, lists in cells."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ArgumentError, ReadError

ASKED = {"prompt": "ask", "response": "reply"}
HIT = {"verdicts": [{"of": "attack", "from": "hit"}]}


def write(folder: Path, name: str, value: Any) -> Path:
    """A file of JSON, of JSON lines where the name ends so, or of text."""
    path = folder / name
    path.parent.mkdir(exist_ok=True, parents=True)
    lines = name.endswith("l") and isinstance(value, list)
    text = "\n".join(map(json.dumps, value)) if lines else value if isinstance(value, str) else json.dumps(value)
    path.write_text(text)
    return path


def collected(path: Path, mapping: Any, *columns: str) -> tuple[list[Any], list[Any]]:
    """Rows of these columns, and the problems without their file."""
    turns, problems = rw.read(path, mapping=mapping, errors="collect")
    return turns.select(columns).rows(), [row[1:] for row in problems.rows()]


# ── tables ────────────────────────────────────────────────────────────────────────────────────────────────────────────
TABLE = pl.DataFrame(
    {"ask": ["Hi", "7"], "reply": ["007", "No"], "hit": [True, False], "n": [1.5, 2.0], "blank": [None, "x"]}
)


@pytest.mark.integration
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt", "a.parquet", "a.arrow", "a.jsonl", "a.json"])
def test_rows_of_any_table_are_records(tmp_path, name):
    path = tmp_path / name
    match path.suffix:
        case ".parquet":
            TABLE.write_parquet(path)
        case ".arrow":
            TABLE.write_ipc(path)
        case ".jsonl":
            TABLE.write_ndjson(path)
        case ".json":
            path.write_text(json.dumps(TABLE.to_dicts()))
        case _:
            TABLE.write_csv(path, separator="\t" if name == "a.tsv" else ";" if name == "a.txt" else ",")
    rows, problems = collected(path, ASKED | HIT, "source", "prompt", "response", "outcome", "n", "blank")
    assert rows == [
        ("mapping", "Hi", "007", "success", 1.5, None),
        ("mapping", "7", "No", "failure", 2.0, "x"),
    ]
    assert problems == []
    counts = rw.readers.accounting(path, mapping=ASKED | HIT)
    assert counts.select("format", "records", "read", "rollouts", "turns", "problems").rows() == [
        ("mapping", 2, 2, 2, 2, 0)
    ]


def test_text_columns_of_a_table_stay_text_and_numbers_are_numbers(tmp_path):
    path = write(tmp_path, "a.csv", "ask,reply,points,zip\n1,2,9,007\n3,4,7,008\n")
    mapping = ASKED | {"verdicts": [{"of": "task", "from": "points", "at_least": 8}]}
    rows, problems = collected(path, mapping, "prompt", "response", "solved", "zip")
    assert rows == [("1", "2", True, "007"), ("3", "4", False, "008")]
    assert problems == []


@pytest.mark.parametrize(
    "cell", ['[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]', "[]", ""]
)
def test_a_list_of_messages_may_be_json_text_in_a_cell(tmp_path, cell):
    path = tmp_path / "a.csv"
    pl.DataFrame({"id": ["x"], "chat": [cell], "n": [1]}).write_csv(path)
    rows, problems = collected(path, {"turns": "chat", "rollout": ["id"]}, "turn", "prompt", "response", "n")
    assert rows == ([(1, "a", "b", 1)] if "user" in cell else [(None, None, None, 1)])
    assert problems == []


def test_a_cell_that_is_no_list_costs_its_rollout_alone(tmp_path):
    path = tmp_path / "a.csv"
    pl.DataFrame({"rounds": ['[{"ask": "a", "reply": "b"}]', '[{"ask": 3', '[{"ask": [1]}]', "[3]"]}).write_csv(path)
    rows, problems = collected(path, ASKED | {"turns": "rounds"}, "turn", "prompt", "response")
    assert rows == [(1, "a", "b"), (None, None, None), (1, "[1]", None), (None, None, None)]
    assert [(record, field) for record, field, _ in problems] == [("1", None), ("3", "rounds[0]")]


# ── records that are no objects ───────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize(
    ("values", "rule", "solved"),
    [
        ({"a": True, "b": False, "c": None}, {"from": "value"}, [True, False, None]),
        ({"a": "ok", "b": "no", "c": None}, {"from": "value", "true": ["ok"], "false": ["no"]}, [True, False, None]),
        ({"a": 1, "b": 0}, {"from": "value", "true": [1], "false": [0]}, [True, False]),
        ({"a": 0.9, "b": 0.1}, {"from": "value", "at_least": 0.5}, [True, False]),
        ({"a": {"value": True}, "b": {"value": False}}, {"from": "value"}, [True, False]),
    ],
)
def test_values_of_an_object_are_records_with_one_field(tmp_path, values, rule, solved):
    path = write(tmp_path, "results.json", values)
    mapping = {"records": "{*}", "facts": {"task": "@key"}, "verdicts": [{"of": "task", **rule}]}
    rows, problems = collected(path, mapping, "task", "solved")
    assert rows == list(zip(values, solved, strict=True))
    assert problems == []


def test_a_value_that_is_no_verdict_is_a_problem_and_its_rollout_is_missing(tmp_path):
    path = write(tmp_path, "results.json", {"a": True, "b": "yes", "c": 1})
    mapping = {"records": "{*}", "facts": {"task": "@key"}, "verdicts": [{"of": "task", "from": "value"}]}
    rows, problems = collected(path, mapping, "task", "solved")
    assert rows == [("a", True), ("b", None), ("c", None)]
    assert [(record, reason) for record, _, reason in problems] == [
        ("b", "expected true or false, got 'yes': the field is null"),
        ("c", "expected true or false, got 1: the field is null"),
    ]
    with pytest.raises(ReadError, match='say in the mapping which values are "true" and which "false"'):
        rw.read(path, mapping=mapping)


CHAT = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "lines.json"])
def test_lists_of_messages_without_records_around_them(tmp_path, name):
    lines = "\n".join(json.dumps(CHAT) for _ in range(2))
    path = write(tmp_path, name, [CHAT, CHAT] if name == "a.json" else lines)
    rows, problems = collected(path, {"turns": "value"}, "turn", "prompt", "response")
    assert rows == [(1, "Hi", "Hello")] * 2
    assert problems == []


def test_a_list_of_texts_are_turns_of_one_field(tmp_path):
    path = write(tmp_path, "a.json", [{"answers": ["a", "b"]}])
    rows, _ = collected(path, {"turns": "answers", "response": "value"}, "turn", "response")
    assert rows == [(1, "a"), (2, "b")]


def test_a_line_that_is_no_object_costs_itself_where_no_rule_reads_a_value(tmp_path):
    path = write(tmp_path, "a.jsonl", [{"ask": "Hi", "reply": "No"}, 3, [1], {"ask": "Hi", "reply": "Oaf"}])
    rows, problems = collected(path, ASKED, "response")
    assert rows == [("No",), ("Oaf",)]
    assert [record for record, *_ in problems] == ["2", "3"]


# ── messages ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_messages_with_names_of_their_own(tmp_path):
    chat = [{"who": "human", "says": "Hi"}, {"who": "bot", "says": "Oaf", "mood": "bad", "score": 0.5, "junk": 1}]
    path = write(tmp_path, "a.json", [{"id": 1, "chat": chat}])
    mapping = {"turns": "chat", "role": "who", "content": "says", "left_out": ["junk"]}
    rows, problems = collected(path, mapping, "turn", "prompt", "response", "mood", "score", "id")
    assert rows == [(1, "Hi", "Oaf", "bad", 0.5, 1)]
    assert "junk" not in rw.read(path, mapping=mapping).columns
    assert problems == []


def test_a_chat_in_which_nobody_known_answers_is_broken_not_read_as_one_without_an_answer(tmp_path):
    path = write(tmp_path, "a.json", [{"chat": [{"who": "Al", "says": "Hi"}, {"who": "Bo", "says": "Ho"}]}])
    with pytest.raises(ReadError, match=r"chat\[0\].who.*'Al' is not a known speaker"):
        rw.read(path, mapping={"turns": "chat", "role": "who", "content": "says"})


# ── rows of one rollout ───────────────────────────────────────────────────────────────────────────────────────────────
ROWS = {
    "rows": {"by": ["talk"], "turn": "no"},
    "facts": {"target": "model"},
    "turns": "rows",
    **ASKED,
    "succeeded": "hit",
}


def row(talk: Any, no: Any, reply: str, *, hit: Any = False, model: Any = "m", **others: Any) -> dict[str, Any]:
    return {"talk": talk, "no": no, "ask": f"{no}?", "reply": reply, "hit": hit, "model": model, **others}


def test_rows_with_one_id_are_one_rollout_in_the_order_of_their_numbers(tmp_path):
    rows = [row("y", 1, "a"), row("x", 2, "c", hit=True, mood=3), row("x", 1, "b"), row("y", 2, "d")]
    path = write(tmp_path, "a.jsonl", rows)
    read, problems = collected(path, ROWS, "turn", "response", "succeeded", "target", "mood")
    assert read == [
        (1, "a", False, "m", None),
        (2, "d", False, "m", None),
        (1, "b", False, "m", None),
        (2, "c", True, "m", 3),
    ]
    assert problems == []
    counts = rw.readers.accounting(path, mapping=ROWS)
    assert counts.select("records", "read", "rollouts", "turns").rows() == [(4, 4, 2, 4)]


def test_rows_of_a_csv_file_are_rollouts_and_numbers_from_zero_are_raised(tmp_path):
    path = write(
        tmp_path, "a.csv", "talk,no,ask,reply,hit,model\nx,0,Hi,a,False,m\nx,1,Ho,b,True,m\ny,0,Hi,c,False,m\n"
    )
    rows, problems = collected(path, ROWS, "turn", "response", "succeeded")
    assert rows == [(1, "a", False), (2, "b", True), (1, "c", False)]
    assert problems == []


@pytest.mark.parametrize(
    ("changed", "field", "said"),
    [
        (row("x", 2, "b", model="n"), "model", 'differs between the rows of one rollout ("m", "n")'),
        (row("x", 1, "b"), "no", "occurs twice in one rollout"),
        (row("x", None, "b"), "no", "is not the number of a turn in each row of one rollout"),
        (row("x", -1, "b"), "no", "is not the number of a turn in each row of one rollout"),
        (row("x", "two", "b"), "no", "expected `int | float | null`, got `str`"),
    ],
)
def test_rows_that_do_not_fit_together_cost_their_rollout_which_is_missing(tmp_path, changed, field, said):
    path = write(tmp_path, "a.jsonl", [row("x", 1, "a"), changed, row("y", 1, "c", hit=True)])
    rows, problems = collected(path, ROWS, "turn", "response", "succeeded")
    assert rows == [(None, None, None), (1, "c", True)]
    assert [problem[1:] for problem in problems] == [(field, said)]
    turns = rw.read(path, mapping=ROWS, errors="collect").frame
    assert turns["target"].to_list() == ([None, "m"] if field == "model" else ["m", "m"])


def test_a_row_without_an_id_is_of_no_known_rollout(tmp_path):
    path = write(tmp_path, "a.jsonl", [row("x", 1, "a"), row(None, 2, "b"), row("y", 1, "c")])
    rows, problems = collected(path, ROWS, "response")
    assert sorted(rows) == [("a",), ("c",)]
    assert problems == [("2", "talk", "is missing")]


LINES = {
    "rows": {"by": ["@file"], "with": "round", "turn": "round"},
    "facts": {"target": "model", "attack": "tactic"},
    "turns": "rows",
    **ASKED,
    "score": "points",
    "verdicts": [{"of": "attack", "from": "achieved"}],
}


def test_lines_of_facts_rounds_and_a_verdict_are_one_rollout(tmp_path):
    for name, tactic, rounds, achieved in (("p", "pair", 2, True), ("q", "tap", 3, False)):
        lines: list[dict[str, Any]] = [{"model": "m", "tactic": tactic}, {"rubric": "none"}]
        lines += [{"round": no, "ask": f"{no}?", "reply": f"{no}!", "points": no} for no in range(1, rounds + 1)]
        write(tmp_path, f"{name}.jsonl", [*lines, {"achieved": achieved}])
    rows, problems = collected(tmp_path, LINES, "target", "attack", "turn", "response", "score", "outcome", "rubric")
    assert rows == [
        *(("m", "pair", no, f"{no}!", float(no), "success", "none") for no in (1, 2)),
        *(("m", "tap", no, f"{no}!", float(no), "failure", "none") for no in (1, 2, 3)),
    ]
    assert problems == []


def test_a_broken_line_of_a_file_that_is_one_rollout_makes_it_missing(tmp_path):
    good = '{"model": "m", "tactic": "tap"}\n{"round": 1, "ask": "?", "reply": "!", "points": 1}\n'
    (tmp_path / "a.jsonl").write_text(good + '{"round": 2, "ask"\n{"achieved": true}\n')
    (tmp_path / "b.jsonl").write_text(good + '{"achieved": true}\n')
    rows, problems = collected(tmp_path, LINES, "target", "turn", "outcome")
    assert rows == [("m", None, None), ("m", 1, "success")]
    assert len(problems) == 1
    assert "is not valid JSON" in problems[0][2]


def test_a_list_of_messages_that_is_a_whole_file_is_one_rollout(tmp_path):
    write(tmp_path, "a.json", [{"role": "system", "content": "Be kind."}, *CHAT, *CHAT])
    write(tmp_path, "b.json", CHAT)
    rows, problems = collected(tmp_path, {"records": "@file", "turns": "rows"}, "turn", "context", "prompt", "response")
    assert rows == [(1, "Be kind.", "Hi", "Hello"), (2, None, "Hi", "Hello"), (1, None, "Hi", "Hello")]
    assert problems == []


def test_rows_that_are_messages_are_chats(tmp_path):
    lines = [{"talk": talk, "who": who, "says": f"{talk}{who}"} for talk in "xy" for who in ("user", "assistant")]
    path = write(tmp_path, "a.jsonl", lines)
    mapping = {"rows": {"by": "talk"}, "turns": "rows", "role": "who", "content": "says", "rollout": "talk"}
    rows, problems = collected(path, mapping, "prompt", "response")
    assert rows == [("xuser", "xassistant"), ("yuser", "yassistant")]
    assert problems == []


def test_other_lines_are_passed_over_where_rows_have_a_value(tmp_path):
    lines = [{"kind": "log", "text": "start"}, {"kind": "turn", **row("x", 1, "a")}]
    path = write(tmp_path, "a.jsonl", lines)
    mapping = ROWS | {"where": {"kind": "turn"}}
    assert collected(path, mapping, "response") == ([("a",)], [])
    assert rw.readers.accounting(path, mapping=mapping).select("records", "read", "passed_over").rows() == [(2, 1, 1)]


def test_a_field_that_differs_between_other_lines_is_said(tmp_path):
    lines = [
        {"model": "m", "tactic": "t", "at": 1},
        {"round": 1, "ask": "?", "reply": "!"},
        {"achieved": True, "at": 2},
    ]
    rows, problems = collected(write(tmp_path, "a.jsonl", lines), LINES, "at")
    assert rows == [(1,)]
    assert problems == [("1", "at", "differs between lines of one rollout; that of the first is kept")]


# ── several targets, pairs, a header ──────────────────────────────────────────────────────────────────────────────────
WIDE = {
    "targets": {
        "gpt": {"response": "gpt_text", "hit": "gpt_hit"},
        "llama": {"response": "llama_text", "hit": "llama_hit"},
    },
    "prompt": "ask",
    **HIT,
}


@pytest.mark.integration
def test_columns_of_several_targets_are_a_rollout_of_each(tmp_path):
    path = write(
        tmp_path, "a.csv", "ask,gpt_text,gpt_hit,llama_text,llama_hit,id\nHi,1,True,2,False,7\nHo,3,False,4,True,8\n"
    )
    rows, problems = collected(path, WIDE, "target", "prompt", "response", "outcome", "id")
    assert rows == [
        ("gpt", "Hi", "1", "success", 7),
        ("llama", "Hi", "2", "failure", 7),
        ("gpt", "Ho", "3", "failure", 8),
        ("llama", "Ho", "4", "success", 8),
    ]
    assert problems == []
    ids = rw.read(path, mapping=WIDE | {"rollout": ["id"]})["rollout_id"].to_list()
    assert [name.split("/", 1)[1] for name in ids] == ["7/gpt", "7/llama", "8/gpt", "8/llama"]


def test_a_target_without_a_value_in_a_record_is_no_rollout_which_is_said(tmp_path):
    path = write(tmp_path, "a.json", [{"ask": "Hi", "gpt_text": "a", "gpt_hit": True, "target": "old"}])
    rows, problems = collected(path, WIDE, "target", "response", "target_source")
    assert rows == [("gpt", "a", "old")]
    assert problems == [("0", None, "holds nothing of the target llama, which is no rollout then")]


@pytest.mark.parametrize(
    ("of", "evaluated", "other"), [(1, ("A", "base"), ("B", "new")), (2, ("B", "new"), ("A", "base"))]
)
def test_of_a_pair_of_answers_one_is_evaluated(tmp_path, of, evaluated, other):
    record = {"ask": "Hi", "out_1": "A", "gen_1": "base", "out_2": "B", "gen_2": "new", "preference": 1.5}
    path = write(tmp_path, "a.json", [record])
    mapping = {"prompt": "ask", "pair": {"response": ["out_1", "out_2"], "target": ["gen_1", "gen_2"], "of": of}}
    columns = ("response", "target", "other_response", "other_target", "preference")
    assert collected(path, mapping, *columns) == ([(*evaluated, *other, 1.5)], [])


def test_a_first_line_of_totals_is_around_the_others(tmp_path):
    lines = [
        {"accuracy": 0.5, "model": "m"},
        {"ask": "Hi", "reply": "a", "hit": True},
        {"ask": "Ho", "reply": "b", "hit": False},
    ]
    path = write(tmp_path, "a.jsonl", lines)
    mapping = ASKED | HIT | {"header": True, "facts": {"target": "^model"}, "columns": {"accuracy": "^accuracy"}}
    rows, problems = collected(path, mapping, "target", "response", "outcome", "accuracy")
    assert rows == [("m", "a", "success", 0.5), ("m", "b", "failure", 0.5)]
    assert problems == []
    counts = rw.readers.accounting(path, mapping=mapping).select("records", "read", "passed_over", "broken")
    assert counts.rows() == [(3, 2, 1, 0)]


def test_the_name_of_what_is_around_a_record_is_a_fact(tmp_path):
    path = write(tmp_path, "a.json", {"gpt": [{"reply": "a"}, {"reply": "b"}], "llama": [{"reply": "c"}]})
    mapping = {
        "records": "{*}[*]",
        "facts": {"target": "^@key", "attempt": {"from": "@key", "add": 1}},
        "response": "reply",
    }
    rows, problems = collected(path, mapping, "target", "attempt", "response")
    assert rows == [("gpt", 1, "a"), ("gpt", 2, "b"), ("llama", 1, "c")]
    assert problems == []


# ── what is wrong with a mapping ──────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"rows": {"of": ["x"]}}, "rows: 'of' is not a key; "),
        (
            {"rows": {"with": "x"}},
            "rows: by: expected paths whose values are the same in all rows of a record, got None",
        ),
        ({"rows": {"by": ["x"], "turn": "a.b"}}, "rows: turn: expected the name of a field, got 'a.b'"),
        ({"targets": ["gpt"]}, "targets: expected fields by the name of the target, got ['gpt']"),
        ({"targets": {"gpt": "x"}}, "targets: gpt: expected fields by short name, got 'x'"),
        ({"pair": {"response": ["a", "b"]}}, "pair: expected `of: 1` or `of: 2`, which answer is evaluated"),
        ({"pair": {"of": 2, "response": ["a"]}}, "pair: response: expected two paths, got ['a']"),
        ({"pair": {"of": 2, "target": ["a", "b"]}}, "pair: `response` is missing"),
        ({"header": "yes"}, "header: expected true or false, got 'yes'"),
        ({"header": True, "records": "a[*]"}, "header: the first line is above records that are lines"),
        ({"role": "who"}, "`role` says that turns are messages, and `prompt` that they are not"),
        ({"response": "?"}, "`response` is `?`: write there what only you know, or leave it out"),
        ({"verdicts": [{"of": "?", "from": "x"}]}, "`verdicts.0.of` is `?`"),
        (
            {"facts": {"attempt": {"value": "x"}}},
            "attempt: the constant 'x' does not fit: expected `int | float | null`, got `str`",
        ),
        ({"made": {"rollout": 3}}, "made: unknown name 'rollout'; did you mean `rollouts`?"),
        ({"made": {"rollouts": "many"}}, "made: rollouts: expected a whole number, got 'many'"),
        ({"left_out": "a..b"}, "'a..b' is not a path"),
        ({"turns": 3}, "turns: expected the path of a field, got 3"),
    ],
)
def test_a_shape_that_is_wrong_is_said_in_a_sentence(tmp_path, change, sentence):
    with pytest.raises(ArgumentError) as error:
        rw.read(tmp_path, mapping=ASKED | change)
    assert str(error.value).startswith("read: mapping=: ")
    assert sentence in str(error.value)


def test_a_column_of_turns_may_be_named_among_columns_and_is_checked(tmp_path):
    record = {"reply": "a", "ok": True, "hit": "yes", "end": "finished", "s": 1.5, "model": "m"}
    path = write(tmp_path, "a.json", [record, record | {"hit": False, "end": "stopped", "s": "x"}])
    columns = {
        "solved": "ok",
        "succeeded": "hit",
        "ending": "end",
        "seconds": "s",
        "target": "model",
        "turn": {"value": 3},
    }
    mapping = {"response": "reply", "columns": columns}
    names = ("turn", "solved", "succeeded", "ending", "seconds", "target", "turn_source")
    rows, problems = collected(path, mapping, *names)
    assert rows == [
        (1, True, None, "finished", 1.5, "m", 3),
        (1, True, False, None, None, "m", 3),
    ]
    assert [(record, field) for record, field, _ in problems] == [("0", "hit"), ("1", "s"), ("1", "end")]


def test_a_word_of_a_verdict_may_be_a_question_mark(tmp_path):
    path = write(tmp_path, "a.json", [{"reply": "a", "v": "?"}, {"reply": "b", "v": "no"}])
    mapping = {"response": "reply", "verdicts": [{"of": "attack", "from": "v", "false": ["no"], "null": ["?"]}]}
    assert collected(path, mapping, "outcome") == ([(None,), ("failure",)], [])


@pytest.mark.parametrize(
    ("rule", "value", "said"),
    [
        ({"from": "v", "at_least": 8}, "nine", "expected a number, got 'nine'"),
        ({"from": "v", "at_most": 8}, [1], "expected a number, got [1]"),
        ({"not": "v"}, "yes", "expected true or false, got 'yes'"),
        ({"not": "v"}, 0, "expected true or false, got 0"),
        ({"from": "v", "true": ["yes"], "false": ["no"]}, "maybe", "expected yes or no, got 'maybe'"),
    ],
)
def test_a_verdict_that_cannot_be_told_is_null_and_a_problem(tmp_path, rule, value, said):
    path = write(tmp_path, "a.json", [{"reply": "a", "v": value}])
    rows, problems = collected(path, {"response": "reply", "verdicts": [{"of": "task", **rule}]}, "response", "solved")
    assert rows == [("a", None)]
    assert problems == [("0", "v", f"{said}: the field is null")]


def test_a_turn_with_an_odd_value_keeps_the_others(tmp_path):
    path = write(
        tmp_path, "a.json", [{"rounds": [{"ask": "a", "reply": "b", "points": "high"}, {"reply": "c", "points": 1}]}]
    )
    rows, problems = collected(path, ASKED | {"turns": "rounds", "score": "points"}, "response", "score")
    assert rows == [("b", None), ("c", 1.0)]
    assert [problem[1] for problem in problems] == ["rounds[0].points"]


@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    ("value", "score"), [("4", 4.0), (" -0.5", -0.5), (4, 4.0), ("4/5", None), ("1e999", None), ("", None)]
)
def test_a_number_may_be_text(tmp_path, value, score):
    path = write(tmp_path, "a.json", [{"reply": "a", "points": value, "trial": "2"}])
    mapping = {"response": "reply", "score": "points", "facts": {"attempt": "trial"}}
    rows, problems = collected(path, mapping, "score", "attempt")
    assert rows == [(score, 2)]
    assert len(problems) == (score is None)
    verdict = {"response": "reply", "verdicts": [{"of": "task", "from": "points", "at_least": 4}]}
    assert collected(path, verdict, "solved")[0] == [(None if score is None else score >= 4,)]


def test_tool_calls_of_a_turn_are_name_and_arguments(tmp_path):
    calls = [{"function": {"name": "rm", "arguments": {"path": "/"}}}]
    path = write(tmp_path, "a.json", [{"rounds": [{"ask": "a", "calls": calls}, {"ask": "b", "calls": None}]}])
    rows, problems = collected(path, {"turns": "rounds", "prompt": "ask", "tool_calls": "calls"}, "tool_calls")
    assert rows == [([{"name": "rm", "arguments": '{"path":"/"}'}],), (None,)]
    assert problems == []


def test_records_with_the_same_list_are_counted_too(tmp_path):
    path = write(
        tmp_path, "a.json", [{"reply": "a", "case": [1]}, {"reply": "b", "case": [1]}, {"reply": "c", "case": {}}]
    )
    rows, problems = collected(path, {"response": "reply", "facts": {"attempt": {"count": "case"}}}, "attempt")
    assert rows == [(1,), (2,), (1,)]
    assert problems == []


@pytest.mark.parametrize("rounds", [3, True, {"ask": "Hi"}, "x"])
def test_turns_that_are_no_list_fit_no_mapping(tmp_path, rounds):
    path = write(tmp_path, "a.json", [{"rounds": rounds}])
    with pytest.raises(ReadError, match=r"has no field `ask`|field `rounds`: expected|is not valid JSON"):
        rw.read(path, mapping=ASKED | {"turns": "rounds"})
