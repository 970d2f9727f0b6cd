"""Tables of one's own: names, numbers, dtypes, and files that come back as they were written."""

import datetime as dt
import json
import math
import os
import string
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rollwise as rw
from rollwise import read, schema, turns
from rollwise.errors import ArgumentError, ReadError, SchemaError
from rollwise.schema import TURNS

FIXTURES = Path(__file__).parent / "fixtures" / "native"
RECORDS = [
    {"rollout_id": "a", "turn": 1, "prompt": "Hi", "response": "Hello", "succeeded": False, "harm": 0.1},
    {"rollout_id": "a", "turn": 2, "prompt": "Say it", "response": None, "succeeded": True, "harm": 0.9},
    {"rollout_id": "b", "turn": 1, "prompt": "Hi", "response": "Bye", "succeeded": None, "harm": None},
]


class Stream:
    """What DuckDB and others hand over: an object with an Arrow stream and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    "make",
    [
        pl.DataFrame,
        lambda records: pl.DataFrame(records).lazy().collect(),
        pd.DataFrame,
        lambda records: pd.DataFrame(records).set_index(["rollout_id", "turn"]),
        pa.Table.from_pylist,
        lambda records: Stream(pa.Table.from_pylist(records)),
        list,
        iter,
        lambda records: {name: [record[name] for record in records] for name in records[0]},
    ],
    ids=["polars", "collected", "pandas", "pandas index", "pyarrow", "stream", "list", "iterator", "dict of lists"],
)
def test_any_table_gives_the_same_turns(make):
    frame = turns(make(RECORDS))
    schema.check(frame, TURNS)
    assert frame.select(*RECORDS[0]).to_dicts() == RECORDS
    assert frame.equals(turns(RECORDS))


def test_every_column_of_turns_is_there_and_then_the_others():
    frame = turns(RECORDS)
    assert frame.columns == [*(name for name in TURNS.names if name not in schema.TREE_COLUMNS), "harm"]
    assert "pruned" in turns([{**record, "node_id": str(i)} for i, record in enumerate(RECORDS)]).columns


def test_a_lazy_frame_stays_lazy_where_it_fits():
    frame = turns(RECORDS)
    fits = turns(frame.rename({"response": "text"}).lazy(), names={"response": "text"})
    assert isinstance(fits, pl.LazyFrame)
    assert fits.collect().equals(frame)
    bent = turns(pl.DataFrame(RECORDS).lazy())
    assert isinstance(bent, pl.LazyFrame)
    assert bent.collect().equals(frame)


@pytest.mark.integration
@pytest.mark.parametrize("word", ["probe", "audit", "utterance", "challenge", "input", "question", "user", "human"])
@pytest.mark.parametrize("reply", ["output", "completion", "answer", "reply", "assistant"])
def test_words_of_others(word, reply):
    frame = turns([{"rollout_id": "a", word: "Hi", reply: "Hello", "attack": "PAIR"}])
    assert frame.select("prompt", "response", "attack").row(0) == ("Hi", "Hello", "PAIR")
    assert word not in frame.columns


def test_two_words_for_one_thing_stay_what_they_are():
    frame = turns([{"rollout_id": "a", "question": "Why?", "input": "Hi", "answer": "42", "output": "Hello"}])
    assert frame.select("prompt", "response", "question", "input", "answer", "output").row(0) == (
        None,
        None,
        "Why?",
        "Hi",
        "42",
        "Hello",
    )


def test_a_column_of_ours_outranks_a_word_of_others():
    frame = turns([{"rollout_id": "a", "prompt": "Hi", "input": "system", "response": "x", "answer": "ref"}])
    assert frame.select("prompt", "input", "response", "answer").row(0) == ("Hi", "system", "x", "ref")


def test_a_word_that_holds_no_text_is_no_prompt():
    frame = turns([{"rollout_id": "a", "input": 512, "output": 3}])
    assert frame.select("prompt", "input", "response", "output").row(0) == (None, 512, None, 3)


@pytest.mark.parametrize(
    ("records", "prompts", "attacks"),
    [
        ([("a", "Hi"), ("a", "Say it")], ["Hi", "Say it"], [None, None]),
        ([("a", "PAIR"), ("a", "PAIR")], [None, None], ["PAIR", "PAIR"]),
        ([("a", "Hi"), ("b", "Ho")], [None, None], ["Hi", "Ho"]),
    ],
)
def test_attack_is_the_prompt_only_where_a_method_cannot_be(records, prompts, attacks):
    frame = turns([{"rollout_id": name, "attack": text, "response": "x"} for name, text in records])
    assert frame["prompt"].to_list() == prompts
    assert frame["attack"].to_list() == attacks


def test_attack_can_be_named_the_prompt():
    frame = turns([{"rollout_id": "a", "attack": "Hi"}], names={"prompt": "attack"})
    assert frame.select("prompt", "attack").row(0) == ("Hi", None)


def test_an_attack_that_varies_beside_a_prompt_is_an_error():
    with pytest.raises(SchemaError, match="`attack` is a fact of the rollout but varies"):
        turns([{"rollout_id": "a", "attack": x, "prompt": "p"} for x in "xy"])


def test_names_given_by_hand():
    records = [
        {"conv": 7, "step": 0, "u": "Hi", "a": "Ho", "model": "m"},
        {"conv": 7, "step": 1, "u": "x", "a": "y", "model": "m"},
    ]
    names = {"rollout_id": "conv", "turn": "step", "prompt": "u", "response": "a", "target": "model"}
    frame = turns(records, names=names)
    assert frame.select("rollout_id", "turn", "prompt", "response", "target").rows() == [
        ("7", 1, "Hi", "Ho", "m"),
        ("7", 2, "x", "y", "m"),
    ]
    assert set(frame.columns) <= set(TURNS.names)
    with pytest.raises(ArgumentError, match="`a` is named for both `response` and `observation`"):
        turns(records, names=names | {"observation": "a"})


def test_two_columns_may_change_places():
    frame = turns(
        [{"rollout_id": "a", "prompt": "answer", "response": "question"}],
        names={"prompt": "response", "response": "prompt"},
    )
    assert frame.select("prompt", "response").row(0) == ("question", "answer")


@pytest.mark.integration
def test_what_was_read_is_named_afterwards(tmp_path):
    (tmp_path / "mine.csv").write_text("rollout_id,prompt,response,bad,served\na,Hi,Sure,true,m\nb,Hi,No,false,m\n")
    was_read = read(tmp_path)  # which gave it every column of ours, null throughout
    named = turns(was_read, names={"succeeded": "bad", "target": "served"})
    assert named.select("succeeded", "target").rows() == [(True, "m"), (False, "m")]
    assert turns(was_read.lazy(), names={"succeeded": "bad"}).collect()["succeeded"].to_list() == [True, False]
    with pytest.raises(ArgumentError, match="would hide the column 'response'"):
        turns(was_read.with_columns(other=pl.lit("x")), names={"response": "other"})


def test_names_that_cannot_be():
    with pytest.raises(ArgumentError, match="no column 'reply'; available: harm, prompt"):
        turns(RECORDS, names={"response": "reply"})
    with pytest.raises(
        ArgumentError, match=r'would hide the column \'response\'; rename that first: `frame.rename\(\{"res'
    ):
        turns(RECORDS, names={"response": "prompt"})
    with pytest.raises(
        SchemaError, match=r'no column `rollout_id`: its columns are `x` \(1\); .*names=\{"rollout_id": "..."\}'
    ):
        turns([{"x": 1}])
    for wrong in ("runs.csv", Path("runs.csv"), 3, None, np.array(3)):
        with pytest.raises(ArgumentError, match="is not a table"):
            turns(wrong)
    with pytest.raises(ArgumentError, match="record 1 is a int, not a dict"):
        turns([{"rollout_id": "a"}, 3])
    with pytest.raises(SchemaError, match="cannot be read"):
        turns(pa.table([[1], [2]], names=["a", "a"]))
    with pytest.raises(SchemaError, match="two columns have one name"):
        turns(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_turns_are_numbered_in_their_order():
    frame = turns([{"rollout_id": name, "prompt": str(i)} for i, name in enumerate("abab")])
    assert frame.select("rollout_id", "turn", "prompt").rows() == [
        ("a", 1, "0"),
        ("a", 2, "2"),
        ("b", 1, "1"),
        ("b", 2, "3"),
    ]


@pytest.mark.parametrize(
    ("given_turns", "ours"),
    [
        ([("a", 0), ("a", 1), ("b", 0)], [1, 2, 1]),
        ([("a", 2), ("a", 1), ("b", 1)], [1, 2, 1]),
        ([("a", "0"), ("a", "1")], [1, 2]),
        ([("a", 1.0), ("a", 2.0)], [1, 2]),
        ([("a", None), ("b", 0)], [None, 1]),
    ],
)
def test_numbers_of_turns(given_turns, ours):
    frame = turns([{"rollout_id": name, "turn": turn} for name, turn in given_turns])
    assert frame["turn"].to_list() == ours


@pytest.mark.parametrize(
    "given_turns",
    [
        [("a", 0), ("a", 1), ("b", 1)],
        [("a", 1), ("a", 3)],
        [("a", 1), ("a", 1)],
        [("a", 0), ("a", 2)],
        [("a", 5)],
        [("a", None), ("a", 1)],
    ],
)
def test_gaps_in_turns_are_an_error(given_turns):
    with pytest.raises(SchemaError, match=r"column `turn` of rollout 'a' is .*number the turns from 1"):
        turns([{"rollout_id": name, "turn": turn} for name, turn in given_turns])


def test_a_tree_needs_the_depth_of_its_nodes():
    nodes = [
        {"rollout_id": "a", "node_id": n, "parent_id": p, "prompt": n} for n, p in (("1", None), ("2", "1"), ("3", "1"))
    ]
    with pytest.raises(SchemaError, match=r"a tree needs a column `turn`.*rw\.rollout\.flatten"):
        turns(nodes)
    frame = turns([{**node, "turn": depth} for node, depth in zip(nodes, (1, 2, 2), strict=True)])
    assert frame["node_id"].to_list() == ["1", "2", "3"]


def test_facts_must_be_facts():
    with pytest.raises(SchemaError, match="`goal` is a fact of the rollout but varies in rollout 'a'"):
        turns([{"rollout_id": "a", "goal": goal} for goal in "xy"])


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "values", "ours"),
    [
        ("succeeded", [1, 0, None], [True, False, None]),
        ("succeeded", [1.0, 0.0, None], [True, False, None]),
        ("refused", ["true", "False", "1"], [True, False, True]),
        ("task", [1, 2, None], ["1", "2", None]),
        ("task", [1.0, None, 2.0], ["1", None, "2"]),
        ("task", [1.5, None, 2.0], ["1.5", None, "2.0"]),
        ("task", ["x", 3, None], ["x", "3", None]),
        ("task", [["a", "b"], [], None], ['["a","b"]', "[]", None]),
        ("category", [{"a": 1}, "x", 2], ['{"a":1}', "x", "2"]),
        ("attempt", ["1", "2.0", 3.0], [1, 2, 3]),
        ("queries", [2**40, None, 3.0], [2**40, None, 3]),
        ("score", ["0.5", "1", None], [0.5, 1.0, None]),
        ("score", [True, False, None], [1.0, 0.0, None]),
        ("outcome", ["success", None, "undetermined"], ["success", None, "undetermined"]),
        ("outcome", [True, False, None], ["success", "failure", None]),
        ("succeeded", ["yes", "No", ""], [True, False, None]),
        ("expected", [dt.date(2026, 1, 2), None, None], ["2026-01-02", None, None]),
        (
            "tool_calls",
            ['[{"name": "f", "arguments": "{}"}]', None, "[]"],
            [[{"name": "f", "arguments": "{}"}], None, []],
        ),
        (
            "tool_calls",
            [[{"function": "f", "args": {"x": 1}}], [{"function": {"name": "g", "arguments": {"y": "z"}}}], None],
            [[{"name": "f", "arguments": '{"x":1}'}], [{"name": "g", "arguments": '{"y":"z"}'}], None],
        ),
    ],
)
def test_what_is_cast(name, values, ours):
    frame = turns([{"rollout_id": str(i), name: value} for i, value in enumerate(values)])
    assert frame.schema[name] == TURNS.dtypes[name]
    assert frame[name].to_list() == ours


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("outcome", "succes", "'succes', not one of error, failure, success, undetermined"),
        ("outcome", 2, "2, not one of error, failure"),
        ("ending", "done", "not one of budget, error, finished, gave_up, success, target_ended"),
        ("succeeded", "maybe", "'maybe', not true or false"),
        ("succeeded", "pass", "'pass', which does not say whether the attack succeeded"),
        ("succeeded", 2, "2, not true or false"),
        ("succeeded", 0.5, "not true or false"),
        ("attempt", 1.5, "1.5, not a whole number"),
        ("attempt", 2**40, "not a whole number below 2147483648"),
        ("attempt", "first", "'first', not a whole number"),
        ("attempt", True, "not a whole number"),
        ("turn", "one", "not a whole number"),
        ("score", "high", "'high', not a number"),
        ("score", [0.5], "not a number"),
        ("tool_calls", "send()", "not a list of tool calls"),
        ("tool_calls", [{"x": 1}], "not a list of tool calls"),
    ],
)
def test_what_does_not_fit_is_named(name, value, says):
    with pytest.raises(SchemaError) as caught:
        turns([{"rollout_id": "a"}, {"rollout_id": "b", name: value}])
    assert f"TURNS: column `{name}` of rollout 'b' is " in str(caught.value)
    assert says in str(caught.value)
    remedy = "; correct or rename the column"
    if value == 0.5:
        remedy = '(seen: 0.5) did the attack succeed? names={"score": "succeeded", "succeeded": "?"}'
    elif name in {"succeeded", "outcome", "ending"}:
        remedy = f'as in names={{"{name}": ("{name}", '
    assert remedy in str(caught.value)


def test_a_score_becomes_a_verdict_as_its_error_says():
    table = pl.DataFrame({"rollout_id": ["a", "b"], "succeeded": [0.9, 0.1]})
    with pytest.raises(SchemaError, match="not true or false") as caught:
        turns(table)
    assert "from which value on (seen: 0.1 to 0.9) did the attack succeed?" in str(caught.value)
    names = eval(str(caught.value).partition("names=")[2])
    # The threshold is the user's: what is printed is refused until it is there.
    with pytest.raises((SchemaError, ArgumentError)):
        turns(table, names=names)
    assert turns(table, names=names | {"succeeded": 0.5})["succeeded"].to_list() == [True, False]


@pytest.mark.parametrize("ids", [[1, 2], [1.0, 2.0], ["1", "2"], [1, "2"]])
def test_ids_become_text(ids):
    assert turns([{"rollout_id": x} for x in ids])["rollout_id"].to_list() == ["1", "2"]
    assert turns(pd.DataFrame({"rollout_id": ids}))["rollout_id"].to_list() == ["1", "2"]


def test_a_null_id_is_an_error():
    with pytest.raises(SchemaError, match="`rollout_id` is null in row 1"):
        turns([{"rollout_id": "a"}, {"rollout_id": None}])


def test_nan_is_null_and_counted(capsys):
    frame = turns([{"rollout_id": "a", "score": math.nan, "harm": math.nan}, {"rollout_id": "b", "score": 1.0}])
    assert frame.select("score", "harm").rows() == [(None, None), (1.0, None)]
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "rollwise: 2 NaN became null: the frame `score` (1), the frame `harm` (1)\n"


def test_pandas_words_for_nothing():
    data = pd.DataFrame(
        {"rollout_id": ["a", "b"], "prompt": ["x", float("nan")], "attempt": [1, float("nan")], "n": [None, pd.NA]}
    )
    frame = turns(data)
    assert frame.select("prompt", "attempt", "n").rows() == [("x", 1, None), (None, None, None)]


def test_extras_keep_their_dtypes_and_mixed_ones_become_json_text():
    values: dict[str, list[Any]] = {
        "number": [1, 2],
        "either": [1, 2.5],
        "mixed": [1, "1"],
        "lists": [[1], []],
        "ragged": [[1], ["a"]],
        "widened": [[1], [2.5]],
        "struct": [{"a": 1}, {"a": None}],
        "objects": [{"a": 1}, {"b": 1}],
        "huge": [2**80, 1],
        "when": [dt.datetime(2026, 1, 1), None],  # noqa: DTZ001 - a log without a time zone
        "flag": [True, None],
        "flagged": [True, 1],
    }
    records = [{"rollout_id": str(i), **{name: both[i] for name, both in values.items()}} for i in range(2)]
    frame = turns(records)
    found: dict[str, Any] = {name: (frame.schema[name], frame[name].to_list()) for name in values}
    assert found["number"] == (pl.Int64, [1, 2])
    assert found["either"] == (pl.Float64, [1.0, 2.5])
    assert found["mixed"] == (pl.String, ["1", '"1"'])
    assert found["lists"] == (pl.List(pl.Int64), [[1], []])
    assert found["ragged"] == (pl.String, ["[1]", '["a"]'])
    assert found["widened"] == (pl.List(pl.Float64), [[1.0], [2.5]])
    assert found["struct"] == (pl.Struct({"a": pl.Int64}), [{"a": 1}, {"a": None}])
    assert found["objects"] == (pl.String, ['{"a":1}', '{"b":1}'])
    assert found["huge"] == (pl.String, [str(2**80), "1"])
    assert found["when"][0] == pl.Datetime("us")
    assert found["flag"] == (pl.Boolean, [True, None])
    assert found["flagged"] == (pl.String, ["true", "1"])


def test_objects_of_python_become_text():
    class Thing:
        def __str__(self) -> str:
            return "thing"

    frame = turns([{"rollout_id": "a", "x": Thing(), "y": {1: {2}}, "z": "cut \ud83d"}])
    assert frame.select("x", "z").row(0) == ('"thing"', "cut \\ud83d")


@pytest.mark.integration
def test_files_of_every_kind_hold_the_same(tmp_path):
    frame = turns(RECORDS).with_columns(source=pl.lit("toy"))
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ipc(tmp_path / "a.arrow")
    frame.write_json(tmp_path / "a.json")
    frame.write_ndjson(tmp_path / "a.jsonl")
    frame.drop("tool_calls", "tool_results").write_csv(tmp_path / "a.csv")
    frame.drop("tool_calls", "tool_results").write_csv(tmp_path / "a.tsv", separator="\t")
    frame.drop("tool_calls", "tool_results").write_csv(tmp_path / "b.csv", separator=";")
    (tmp_path / "b.json").write_text(json.dumps({"turns": RECORDS}))
    (tmp_path / "c.json").write_text("\n".join(json.dumps(record) for record in RECORDS))
    for path in sorted(tmp_path.iterdir()):
        found = read(path)
        assert found.drop("source").equals(frame.drop("source")), path.name


@pytest.mark.integration
def test_gzip_of_any_text(tmp_path):
    import gzip

    for name in ("toy.csv", "toy.json", "toy.jsonl"):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress((FIXTURES / name).read_bytes()))
        assert read(tmp_path / f"{name}.gz").equals(read(FIXTURES / name))


@pytest.mark.integration
def test_the_csv_fixture_keeps_null_and_empty_apart():
    frame = read(FIXTURES / "toy.csv")
    assert frame["note"].to_list() == ["007", "", "b"]
    assert frame["context"].to_list() == ["Be polite", None, None]
    assert frame["prompt"].to_list() == ["Hello", "Say\nit", "2+2?"]
    assert frame["tool_calls"].to_list() == [[{"name": "look", "arguments": "{}"}], None, None]
    assert frame["harm"].to_list() == [0.25, 0.5, None]


@pytest.mark.integration
def test_a_time_to_an_event_is_one_column_again(tmp_path):
    times = pl.Series("t", [{"duration": 2, "observed": True}, None], dtype=schema.TIME_TO_EVENT)
    frame = turns([{"rollout_id": "a"}, {"rollout_id": "b"}]).with_columns(times)
    flat = (
        frame.drop("tool_calls", "tool_results")
        .with_columns(times.struct.rename_fields(["t_duration", "t_observed"]))
        .unnest("t")
    )
    flat.write_csv(tmp_path / "a.csv")
    assert read(tmp_path / "a.csv")["t"].to_list() == [{"duration": 2, "observed": True}, None]
    assert read(tmp_path / "a.csv").schema["t"] == schema.TIME_TO_EVENT


@pytest.mark.integration
@pytest.mark.parametrize(
    ("texts", "dtype"),
    [
        (["1", "2", ""], pl.Int64),
        (["1", "2.5", "1e-3"], pl.Float64),
        (["true", "", "false"], pl.Boolean),
        (["True", "False", "True"], pl.Boolean),
        (["007", "1", "2"], pl.String),
        (["1", "x", ""], pl.String),
        (["99999999999999999999", "1", ""], pl.String),
        (["", "", ""], pl.String),
    ],
)
def test_extras_of_a_csv_are_what_all_of_them_say(tmp_path, texts, dtype):
    rows = "".join(f"{i},p,{text}\n" for i, text in enumerate(texts))
    (tmp_path / "a.csv").write_text(f"rollout_id,prompt,x\n{rows}")
    assert read(tmp_path / "a.csv").schema["x"] == dtype


def test_a_bad_value_in_a_file_is_named(tmp_path):
    (tmp_path / "a.csv").write_text("rollout_id,outcome\na,succes\n")
    with pytest.raises(
        ReadError, match=r"a\.csv: TURNS: column `outcome` of rollout 'a' is 'succes', not one of error"
    ):
        read(tmp_path / "a.csv")


def test_records_without_an_id_are_named(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"rollout_id": "a", "prompt": "p"}\n{"prompt": "q"}\n[1]\n\n')
    with pytest.raises(ReadError, match="record 2: field `rollout_id`: is missing"):
        read(tmp_path / "a.jsonl")
    frame, problems = read(tmp_path / "a.jsonl", errors="collect")
    assert frame.height == 1
    assert problems.select("record", "field").rows() == [("2", "rollout_id"), ("3", None)]


# ── properties ───────────────────────────────────────────────────────────────────────────────────────────────────────

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
FINITE = st.floats(allow_nan=False, allow_infinity=False, width=64)
COUNTS = st.integers(0, 2**62)


@st.composite
def tables(draw):
    """A table of turns with extras of every plain dtype."""
    rows = []
    for number in range(draw(st.integers(1, 4))):
        goal, solved = draw(st.none() | TEXT), draw(st.none() | st.booleans())
        outcome = draw(st.none() | st.sampled_from(["success", "failure", "undetermined", "error"]))
        for turn in range(draw(st.integers(1, 3))):
            row = {
                "rollout_id": f"r{number}",
                "turn": turn + 1,
                "goal": goal,
                "solved": solved,
                "outcome": outcome,
                "prompt": draw(st.none() | TEXT),
                "response": draw(st.none() | TEXT),
                "score": draw(st.none() | FINITE),
                "succeeded": draw(st.none() | st.booleans()),
                "prompt_tokens": draw(st.none() | COUNTS),
                "words": draw(st.none() | st.text(string.ascii_letters, min_size=1).map(lambda text: "w" + text)),
                "share": draw(FINITE),
                "flag": draw(st.none() | st.booleans()),
            }
            rows.append(row)
    return turns(rows).with_columns(source=pl.lit("toy"))


@pytest.mark.integration
@settings(max_examples=25, deadline=None)
@given(tables())
@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".json", ".jsonl"])
def test_what_is_written_is_read(tmp_path_factory, suffix, table):
    path = tmp_path_factory.mktemp("round") / f"turns{suffix}"
    writers = {".parquet": "write_parquet", ".arrow": "write_ipc", ".json": "write_json", ".jsonl": "write_ndjson"}
    getattr(table, writers[suffix])(path)
    found = read(path)
    assert found.columns == table.columns
    typed = found.with_columns(
        found[name].cast(dtype) for name, dtype in table.schema.items() if found[name].null_count() == found.height
    )
    assert typed.equals(table)


@pytest.mark.integration
@settings(max_examples=25, deadline=None)
@given(tables())
def test_what_is_written_as_csv_is_read(tmp_path_factory, table):
    path = tmp_path_factory.mktemp("round") / "turns.csv"
    table.drop("tool_calls", "tool_results").write_csv(path)
    found = read(path)
    nothing = [name for name in found.columns if found[name].null_count() == found.height]
    assert found.drop(nothing).equals(table.drop(nothing))
    assert all(table[name].null_count() == table.height for name in nothing)


@pytest.mark.integration
@settings(max_examples=120, deadline=None)
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(
                ["rollout_id", "turn", "prompt", "score", "succeeded", "outcome", "tool_calls", "x", "attack"]
            ),
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.binary(max_size=2),
                lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
                max_leaves=4,
            ),
        ),
        max_size=4,
    )
)
def test_any_records_give_turns_or_a_sentence(records):
    try:
        frame = turns(records)
    except (SchemaError, ArgumentError) as refusal:
        said = str(refusal)
    else:
        said = ""
        schema.check(frame, TURNS)
    assert "\n" not in said


@pytest.mark.integration
@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_the_order_of_rows_is_no_matter_where_turns_are_numbered(lengths, random):
    rows = [(str(i), turn) for i, length in enumerate(lengths) for turn in range(1, length + 1)]
    if not rows:
        return
    shuffled = random.sample(rows, len(rows))
    frame = turns([{"rollout_id": name, "turn": turn} for name, turn in shuffled])
    assert sorted(frame.select("rollout_id", "turn").rows()) == sorted(rows)
    assert frame["rollout_id"].unique(maintain_order=True).to_list() == list(
        dict.fromkeys(name for name, _ in shuffled)
    )


@pytest.mark.thinned(4)
@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".arrow", ".jsonl"])
def test_a_name_that_is_not_utf_8_is_read(tmp_path: Path, suffix: str) -> None:
    """Polars takes none: such a file is handed to it by its bytes."""
    plain, odd = tmp_path / f"plain{suffix}", tmp_path / (os.fsdecode(b"caf\xe9") + suffix)
    rw.write(pl.DataFrame({"rollout_id": ["a", "b"], "turn": [1, 1], "response": ["Hi", "No"]}), plain)
    expected = rw.read(plain)
    plain.rename(odd)
    assert_frame_equal(rw.read(odd), expected)
    assert_frame_equal(rw.scan(odd).collect(), expected, check_column_order=False)
