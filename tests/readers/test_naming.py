"""Files whose columns are called otherwise: read as though they had our names, and never half so."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rollwise as rw
from rollwise.errors import ArgumentError, ReadError, SchemaError

ROWS: list[dict[str, Any]] = [
    {"conversation": "7", "step": 1, "model": "gpt", "prompt": "Hi", "answer": "Hello", "jailbroken": False, "rate": 0.5},
    {"conversation": "7", "step": 2, "model": "gpt", "prompt": "Bomb?", "answer": "Sure", "jailbroken": True, "rate": 1.0},
    {"conversation": "8", "step": 1, "model": "gpt", "prompt": "Hi", "answer": "No", "jailbroken": None, "rate": None},
]  # fmt: skip
NAMES = {"rollout_id": "conversation", "turn": "step", "target": "model", "succeeded": "jailbroken"}
SUFFIXES = (".csv", ".tsv", ".json", ".jsonl", ".parquet", ".arrow")


def written(folder: Path, suffix: str, rows: list[dict], stem: str = "mine") -> Path:
    """The rows as a file of that kind."""
    path = folder / f"{stem}{suffix}"
    frame = pl.DataFrame(rows)
    if suffix in {".csv", ".tsv"}:
        frame.write_csv(path, separator="," if suffix == ".csv" else "\t")
    elif suffix == ".json":
        path.write_text(json.dumps(rows))
    elif suffix == ".jsonl":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    elif suffix == ".parquet":
        frame.write_parquet(path)
    else:
        frame.write_ipc(path)
    return path


@pytest.mark.integration
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_table_is_read_as_though_it_had_our_names(tmp_path: Path, suffix: str) -> None:
    """It is what `turns` makes of the same frame with the same names, now and lazily."""
    path = written(tmp_path, suffix, ROWS)
    wanted = rw.turns(pl.DataFrame(ROWS), names=NAMES).with_columns(source=pl.lit("native"))
    found = rw.read(path, names=NAMES)
    assert_frame_equal(found, wanted, check_column_order=False)
    assert_frame_equal(rw.scan(path, names=NAMES).collect(), wanted, check_column_order=False)
    ours = {theirs: ours for ours, theirs in NAMES.items()}
    same = written(tmp_path, suffix, [{ours.get(name, name): row[name] for name in row} for row in ROWS], "ours")
    assert_frame_equal(found, rw.read(same), check_column_order=False)


@pytest.mark.thinned(40)
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("text", ["perhaps", "jailbrokn", "2"])
def test_text_that_is_no_verdict_is_refused_as_under_our_name(tmp_path: Path, suffix: str, text: str) -> None:
    """What does not fit is named with the column of the file, the rollout and the value: it never becomes null."""
    path = written(tmp_path, suffix, [{**row, "jailbroken": text} for row in ROWS])
    with pytest.raises(
        ReadError, match=r"column `jailbroken` \(our `succeeded`\) of rollout '7' is .*, not true or false"
    ):
        rw.read(path, names=NAMES)


@pytest.mark.integration
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    "words",
    [("False", "True"), ("false", "TRUE"), ("0", "1"), ("no", "Yes"), ("REFUSED", "JAILBREAK"), ("safe", " Unsafe ")],
)
def test_text_that_is_a_verdict_is_one(tmp_path: Path, suffix: str, words: tuple[str, str]) -> None:
    """The words that our own column may hold."""
    path = written(tmp_path, suffix, [{**row, "jailbroken": words[row["step"] - 1]} for row in ROWS])
    assert rw.read(path, names=NAMES)["succeeded"].to_list() == [False, True, False]


def test_a_column_of_ours_that_is_null_throughout_gives_way(tmp_path: Path) -> None:
    """A table that `write` left has all columns of ours: what is not known hides nothing."""
    own = rw.turns([{"rollout_id": "a", "prompt": "Hi", "wish": "b1"}])
    for suffix in ("parquet", "csv", "jsonl"):
        path = rw.write(own, tmp_path / f"turns.{suffix}")
        for found in (rw.read(path, names={"goal": "wish"}), rw.scan(path, names={"goal": "wish"}).collect()):
            assert found["goal"].to_list() == ["b1"]
            assert "wish" not in found.columns
            assert found.columns.count("goal") == 1


def test_parquet_that_fits_is_not_loaded(tmp_path: Path) -> None:
    """Only names change, so a scan stays one: its plan reads the column under the name it has in the file."""
    path = tmp_path / "turns.parquet"
    rw.turns([{"rollout_id": "a", "prompt": "Hi", "wish": "b1"}]).drop("goal").write_parquet(path)
    assert "PARQUET SCAN" in rw.scan(path, names={"goal": "wish"}).explain().upper()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_column_of_ours_that_is_known_is_not_hidden(tmp_path: Path, suffix: str) -> None:
    """The file says both: it is for its owner to say which."""
    path = written(tmp_path, suffix, [{**row, "target": "other"} for row in ROWS])
    for reading in (rw.read, rw.scan):
        with pytest.raises(ReadError, match="has a column `target` already, which `model` would hide"):
            reading(path, names=NAMES)


@pytest.mark.integration
def test_names_may_change_places(tmp_path: Path) -> None:
    """Theirs may be a name of ours."""
    path = written(tmp_path, ".csv", [{"rollout_id": "a", "prompt": "Hello", "response": "Hi"}])
    found = rw.read(path, names={"prompt": "response", "response": "prompt"})
    assert found.select("prompt", "response").row(0) == ("Hi", "Hello")
    records = tmp_path / "a.jsonl"
    records.write_text('{"rollout_id": "a", "prompt": "Hello", "response": "Hi"}\n')
    assert_frame_equal(rw.read(records, names={"prompt": "response", "response": "prompt"}), found)


@pytest.mark.integration
def test_folders_may_hold_the_column(tmp_path: Path) -> None:
    """A column that Parquet files leave to their folders is one."""
    (tmp_path / "behavior=b1").mkdir()
    pl.DataFrame({"rollout_id": ["a"], "prompt": ["Hi"]}).write_parquet(tmp_path / "behavior=b1" / "part-0.parquet")
    for found in (
        rw.read(tmp_path, names={"goal": "behavior"}),
        rw.scan(tmp_path, names={"goal": "behavior"}).collect(),
    ):
        assert found["goal"].to_list() == ["b1"]
        assert "behavior" not in found.columns


# ── records with turns or chats ───────────────────────────────────────────────────────────────────────────────────────
CHAT = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]


def lines(folder: Path, *records: dict, name: str = "mine.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def test_chats_are_named_and_state_facts(tmp_path: Path) -> None:
    """A chat's id and facts, the list itself and the words in it may be called anything."""
    said = [{"who": "user", "words": "Hi"}, {"who": "assistant", "words": "Hello"}]
    records = [{"conv": name, "log": said, "behavior": "g", "try": 2, "verdict": "success"} for name in ("a", "b")]
    names = {
        "rollout_id": "conv", "messages": "log", "role": "who", "content": "words", "goal": "behavior", "attempt": "try",
        "outcome": "verdict",
    }  # fmt: skip
    wanted = [(name, "g", 2, "success", "Hi", "Hello") for name in ("a", "b")]
    facts = ("rollout_id", "goal", "attempt", "outcome", "prompt", "response")
    for path in (lines(tmp_path, *records), tmp_path / "mine.json", tmp_path / "mine.parquet"):
        if path.suffix == ".json":
            path.write_text(json.dumps(records))
        elif path.suffix == ".parquet":
            pl.DataFrame(records).write_parquet(path)
        assert rw.read(path, names=names).select(facts).rows() == wanted
        assert rw.scan(path, names=names).select(facts).collect().rows() == wanted


def test_what_chats_do_not_have_is_named_as_before(tmp_path: Path) -> None:
    """Without an id the rollouts of a file have the names that they have without `names`."""
    path = lines(tmp_path, {"messages": CHAT, "behavior": "g"}, {"messages": CHAT, "behavior": "h"})
    assert rw.read(path, names={"goal": "behavior"})["rollout_id"].to_list() == rw.read(path)["rollout_id"].to_list()


def test_turns_in_records_are_named(tmp_path: Path) -> None:
    """Of turns in a list the fields are theirs, of the rollout those beside it."""
    turns = [{"q": "Hi", "a": "Hello", "broken": False}, {"q": "?", "a": "Sure", "broken": True}]
    path = lines(tmp_path, {"conv": 7, "model": "gpt", "exchange": turns})
    names = {
        "rollout_id": "conv",
        "target": "model",
        "turns": "exchange",
        "prompt": "q",
        "response": "a",
        "succeeded": "broken",
    }
    found = rw.read(path, names=names).select("rollout_id", "target", "turn", "prompt", "response", "succeeded").rows()
    assert found == [("7", "gpt", 1, "Hi", "Hello", False), ("7", "gpt", 2, "?", "Sure", True)]


def test_a_verdict_on_the_whole_is_the_outcome(tmp_path: Path) -> None:
    """It is on the rollout, not on one of its turns; another fact of the record cannot become one of turns."""
    path = lines(tmp_path, {"messages": CHAT, "bad": True}, {"messages": CHAT, "bad": None})
    found = rw.read(path, names={"succeeded": "bad"})
    assert found.select("outcome", "succeeded").rows() == [("success", None), (None, None)]
    with pytest.raises(ArgumentError, match=r"`bad` is a field of whole rollouts, and `refused` is a column of turns"):
        rw.read(path, names={"refused": "bad"})


def test_facts_of_chats_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    """Without `names` they would be `outcome_source`; who names a column wants it to count."""
    path = lines(tmp_path, {"messages": CHAT, "verdict": "success"}, {"messages": CHAT, "verdict": "won"})
    with pytest.raises(ReadError, match=r"column `verdict` \(our `outcome`\) is 'won', not one of error, failure"):
        rw.read(path, names={"outcome": "verdict"})


@pytest.mark.integration
def test_true_and_false_are_a_verdict_on_the_whole(tmp_path: Path) -> None:
    """Who names a Boolean for `outcome` means success and failure, in whatever file it stands."""
    rows = [
        {"rollout_id": name, "turn": 1, "response": "x", "jb": jb}
        for name, jb in [("a", True), ("b", False), ("c", None)]
    ]
    frame = pl.DataFrame(rows)
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_csv(tmp_path / "t.csv")
    frame.write_ipc(tmp_path / "t.arrow")
    frame.write_ndjson(tmp_path / "t.jsonl")
    chats = [{"id": row["rollout_id"], "messages": CHAT, "jb": row["jb"]} for row in rows]
    texts = [chat | {"jb": None if chat["jb"] is None else str(chat["jb"])} for chat in chats]
    for path in (
        lines(tmp_path, *chats),
        lines(tmp_path, *texts, name="texts.jsonl"),
        *(tmp_path / f"t.{kind}" for kind in ("parquet", "csv", "arrow", "jsonl")),
    ):
        for found in (rw.read(path, names={"outcome": "jb"}), rw.scan(path, names={"outcome": "jb"}).collect()):
            assert found["outcome"].to_list() == ["success", "failure", None], path


@pytest.mark.parametrize(("value", "wanted"), [(True, True), (1, True), ("False", False), ("YES", True)])
def test_verdicts_on_messages_are_as_in_tables(tmp_path: Path, value: object, wanted: bool) -> None:
    """What a column of verdicts may hold, the field of a message may."""
    path = lines(tmp_path, {"messages": [CHAT[0], {**CHAT[1], "jailbroken": value}]})
    assert rw.read(path, names={"succeeded": "jailbroken"})["succeeded"].to_list() == [wanted]


def test_a_verdict_on_a_message_that_is_none_is_refused(tmp_path: Path) -> None:
    """It never becomes null."""
    path = lines(tmp_path, {"messages": [CHAT[0], {**CHAT[1], "jailbroken": "perhaps"}]})
    with pytest.raises(ReadError, match=r"column `jailbroken` \(our `succeeded`\) is 'perhaps', not true or false"):
        rw.read(path, names={"succeeded": "jailbroken"})


@pytest.mark.integration
def test_rows_that_are_messages_are_named(tmp_path: Path) -> None:
    """A table with a message in each row, its conversation under another name."""
    rows = [
        {"chat": "a", "who": role, "said": text, "won": "success"}
        for role, text in (("user", "Hi"), ("assistant", "Yes"))
    ]
    names = {"rollout_id": "chat", "role": "who", "content": "said", "outcome": "won"}
    for suffix in SUFFIXES:
        found = rw.read(written(tmp_path, suffix, rows), names=names)
        assert found.select("rollout_id", "prompt", "response", "outcome").rows() == [("a", "Hi", "Yes", "success")]
        path = written(tmp_path, suffix, [{**row, "won": "often"} for row in rows])
        with pytest.raises((ReadError, SchemaError), match=r"won.*often"):
            rw.read(path, names=names)


def test_broken_lines_are_told_as_ever(tmp_path: Path) -> None:
    """A line that is no JSON keeps its number, and NaN is counted."""
    path = tmp_path / "mine.jsonl"
    path.write_text(
        '{"conv": "a", "prompt": "Hi", "grade": NaN}\n\n{"conv": "b", "pro\n{"conv": "c", "prompt": "Hi"}\n'
    )
    found, problems = rw.read(path, names={"rollout_id": "conv"}, errors="collect")
    assert found["rollout_id"].to_list() == ["a", "c"]
    assert [row[1] for row in problems.rows()] == ["3", None]
    assert "became null" in problems["reason"][1]


# ── several files, and those of tools ─────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_files_that_lack_a_column_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Their rollouts are read as without the name; which files these are is said."""
    mine, other = written(tmp_path, ".csv", ROWS), tmp_path / "other.jsonl"
    other.write_text('{"rollout_id": "x", "turn": 1, "prompt": "Hi", "answer": "No"}\n')
    found = rw.read([mine, other], names=NAMES)
    assert found["rollout_id"].to_list() == ["7", "7", "8", "x"]
    assert found["succeeded"].to_list() == [False, True, None, None]
    told = capsys.readouterr().err
    assert f"no column `jailbroken`, named for `succeeded`, in 1 file: {other}" in told
    _, problems = rw.read([mine, other], names=NAMES, errors="collect")
    row = problems.row(by_predicate=pl.col("field") == "jailbroken")
    assert row == (
        str(other),
        None,
        "jailbroken",
        "there is no such column; `succeeded` is as it would be without that name",
    )
    assert capsys.readouterr().err == ""


@pytest.mark.integration
def test_a_folder_of_both_reads_each_under_its_names(tmp_path: Path) -> None:
    """Kinds of files may be mixed, and what is no log is listed as ever."""
    for suffix in SUFFIXES:
        (tmp_path / suffix[1:]).mkdir()
        written(tmp_path / suffix[1:], suffix, [{**row, "conversation": suffix + row["conversation"]} for row in ROWS])
    (tmp_path / "notes.txt").write_text("none")
    found, problems = rw.read(tmp_path, names=NAMES, errors="collect")
    assert found["rollout_id"].n_unique() == 2 * len(SUFFIXES)
    assert problems["reason"].to_list() == ["is not recognized"]


def test_columns_that_a_tools_logs_become_are_renamed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What `read` gives of a tool's log is what the names are of; what the tool says itself is not hidden."""
    log = tmp_path / "10.jsonl"
    log.write_text(
        '{"input": "2 + 2?", "output": "4", "gts": "4", "score": 1.0, "step": 10, "acc": true, "topic": "sums"}\n'
    )
    found = rw.read(log, names={"solved": "acc", "category": "topic"})
    assert found.select("source", "solved", "category").row(0) == ("verl", True, "sums")
    assert not {"acc", "topic"} & {*found.columns}
    with pytest.raises(ArgumentError, match="would hide what logs of verl say of `expected`"):
        rw.read(log, names={"expected": "topic"})
    with pytest.raises(
        SchemaError, match=r"column `topic` \(our `solved`\) of rollout .* is 'sums', not true or false"
    ):
        rw.read(log, names={"solved": "topic"})
    with pytest.raises(ArgumentError, match="logs of tools state `turn` themselves"):
        rw.read(log, names={"turn": "step"})
    mine = written(tmp_path, ".csv", ROWS)
    assert rw.read([log, mine], names=NAMES).filter(source="verl")["step"].to_list() == [10]
    assert f"no column `jailbroken`, named for `succeeded`, in 1 file: {log}" in capsys.readouterr().err


# ── mistakes ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize(
    ("names", "told"),
    [
        ({"suceeded": "jailbroken"}, "'suceeded' is not a column of TURNS; did you mean `succeeded`?"),
        ({"jailbroken": "succeeded"}, 'the name of TURNS comes first: names={"succeeded": "jailbroken"}'),
        ({"succeeded": "jailbrocken"}, "there is no column 'jailbrocken' in these files; did you mean `jailbroken`?"),
        (
            {"succeeded": "jailbroken", "solved": "jailbroken"},
            "`jailbroken` is named for both `succeeded` and `solved`",
        ),
        ({"prompt": 3}, "is not a mapping of names"),
        (["succeeded"], "is not a mapping of names"),
    ],
)
def test_names_that_cannot_be_are_one_sentence(tmp_path: Path, names: Any, told: str) -> None:
    """What, where, and what was probably meant."""
    path = written(tmp_path, ".csv", ROWS)
    given = {"rollout_id": "conversation", **names} if isinstance(names, dict) else names
    for reading in (rw.read, rw.scan):
        with pytest.raises(ArgumentError) as refused:
            reading(path, names=given)
        assert told in str(refused.value)
        assert str(refused.value).startswith(f"{reading.__name__}: ")


@pytest.mark.thinned(3)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_is_known_by_no_other_column_names_the_one_it_lacks(tmp_path: Path, suffix: str) -> None:
    """Not that its format is unknown."""
    path = written(tmp_path, suffix, ROWS)
    for reading in (rw.read, rw.scan):
        with pytest.raises(ArgumentError, match=r"no column 'conversatoin' in .*mine.*; did you mean `conversation`\?"):
            reading(path, names={"rollout_id": "conversatoin"})


@pytest.mark.integration
def test_a_table_that_nobody_knows_is_told_which_column_to_name(tmp_path: Path) -> None:
    """First what a rollout is, then what was said in it: each sentence leads to the next option."""
    for suffix in (".csv", ".parquet"):
        path = written(tmp_path, suffix, [{"nr": 1, "ask": "Hi", "said": "Hello"}])
        with pytest.raises(ReadError, match=r"its fields are .*`nr` \(1\).*name its answer \(`response`\)"):
            rw.read(path)
        with pytest.raises(ReadError, match=r"`ask` \(Hi\).*name its answer \(`response`\)"):
            rw.read(path, names={"rollout_id": "nr"})
        found = rw.read(path, names={"rollout_id": "nr", "response": "said"})
        assert found.select("rollout_id", "response", "ask").rows() == [("1", "Hello", "Hi")]


@pytest.mark.integration
def test_a_cache_knows_the_names(tmp_path: Path) -> None:
    """Another name is another reading."""
    path = written(tmp_path, ".csv", [{"rollout_id": "a", "prompt": "Hi", "x": "1", "y": "2"}])
    for name, wanted in (("x", "1"), ("y", "2"), ("x", "1")):
        assert rw.read(path, names={"goal": name}, cache=tmp_path / "kept")["goal"].to_list() == [wanted]
    other = written(tmp_path, ".csv", [{"rollout_id": "b", "prompt": "Hi"}], "other")
    for _ in range(2):
        _, problems = rw.read([path, other], names={"goal": "x"}, cache=tmp_path / "kept", errors="collect")
        assert problems["field"].to_list() == ["x"]


def test_columns_wanted_are_ours(tmp_path: Path) -> None:
    """`columns` and `names` together: decoded no further than what is wanted, under our names."""
    path = written(tmp_path, ".jsonl", ROWS)
    found = rw.read(path, names=NAMES, columns=["succeeded"])
    assert found.columns == ["rollout_id", "turn", "succeeded"]
    assert found["succeeded"].to_list() == [False, True, None]
