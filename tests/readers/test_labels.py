"""Verdicts in the words of people: which side they mean, where that is in doubt, and how the user says it."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise.cli import run
from rollwise.cli.inputs import labels_of
from rollwise.cli.options import in_options
from rollwise.errors import ArgumentError, ReadError, SchemaError

CHAT = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
SUFFIXES = (".csv", ".jsonl", ".json", ".parquet", ".arrow")


def table(folder: Path, suffix: str, column: str, labels: list[Any]) -> Path:
    """Write a table with a turn in each row, and a label for each."""
    rows = [{"rollout_id": f"r{i}", "prompt": "p", "response": "x", column: label} for i, label in enumerate(labels)]
    path = folder / f"mine{suffix}"
    frame = pl.DataFrame(rows, infer_schema_length=None)
    if suffix == ".csv":
        frame.write_csv(path)
    elif suffix == ".parquet":
        frame.write_parquet(path)
    elif suffix == ".arrow":
        frame.write_ipc(path)
    else:
        lines = [json.dumps(row, ensure_ascii=False) for row in rows]
        path.write_text("\n".join(lines) if suffix == ".jsonl" else f"[{','.join(lines)}]", encoding="utf-8")
    return path


def chats(folder: Path, key: str, values: list[Any], *, on_message: bool = False) -> Path:
    """Write records with a chat and a verdict, on the record or on its answer."""
    records = [
        {"messages": [CHAT[0], CHAT[1] | {key: value}]} if on_message else {"messages": CHAT, key: value}
        for value in values
    ]
    path = folder / f"{key}.jsonl"
    path.write_text("\n".join(json.dumps(record, ensure_ascii=False) for record in records), encoding="utf-8")
    return path


PAIRS = [
    ("JAILBREAK", "REFUSED"), ("jailbroken", "refused"), ("Unsafe", "SAFE"), ("harmful", "harmless"), ("yes", "No"),
    ("TRUE", "false"), ("1", "0"), ("success", "Failure"), (1, 0), (1.0, 0.0), (True, False), ("Jailbroken", "not jailbroken"),
]  # fmt: skip


@pytest.mark.integration
@pytest.mark.parametrize("pair", PAIRS, ids=str)
@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_usual_words_are_verdicts(tmp_path: Path, suffix: str, pair: tuple[Any, Any]) -> None:
    """In any case, with nulls and blanks between them; the same from a file, lazily and from a frame."""
    blank = [None, ""] if isinstance(pair[0], str) else [None, None]
    path = table(tmp_path, suffix, "grade", [*pair, *blank])
    names = {"succeeded": "grade"}
    for turns in (rw.read(path, names=names), rw.scan(path, names=names).collect()):
        assert turns["succeeded"].to_list() == [True, False, None, None]
    if suffix == ".parquet":
        frame = pl.read_parquet(path)
        for data in (frame, frame.lazy(), frame.to_pandas(), frame.to_dicts()):
            assert rw.turns(data, names=names).lazy().collect()["succeeded"].to_list() == [True, False, None, None]


@pytest.mark.integration
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("labels", [["ja", "nein"], ["越狱", "拒绝"], ["Oui !", "Non, rien"]], ids=str)
def test_words_of_any_language_are_mapped(tmp_path: Path, suffix: str, labels: list[str]) -> None:
    """Without the map they are refused, all at once, with the line to type."""
    path = table(tmp_path, suffix, "urteil", [*labels, None])
    with pytest.raises(ReadError) as refused:
        rw.read(path, names={"succeeded": "urteil"})
    assert all(label in str(refused.value) for label in labels)
    assert 'names={"succeeded": ("urteil", {' in str(refused.value)
    names = {"succeeded": ("urteil", {labels[0]: True, labels[1]: False})}
    for turns in (rw.read(path, names=names), rw.scan(path, names=names).collect()):
        assert turns["succeeded"].to_list() == [True, False, None]


@pytest.mark.integration
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_doubtful_words_are_asked_for(tmp_path: Path, suffix: str) -> None:
    """To pass may be the target's success, or the attack's: the line in the message decides it."""
    path = table(tmp_path, suffix, "verdict", ["pass", "fail"])
    with pytest.raises(ReadError, match="which do not say whether the attack succeeded") as refused:
        rw.read(path, names={"succeeded": "verdict"})
    names = eval(str(refused.value).partition("as in names=")[2].partition("; try")[0])
    assert names == {"succeeded": ("verdict", {"fail": "?", "pass": "?"})}
    names = {"succeeded": ("verdict", {"fail": True, "pass": False})}
    assert rw.read(path, names=names)["succeeded"].to_list() == [False, True]


def test_a_question_that_asks_the_opposite_is_asked_back(tmp_path: Path) -> None:
    """A column of safe answers named for `succeeded` would turn every rate around; words that name their side do not."""
    path = table(tmp_path, ".parquet", "is_safe", [True, False])
    for reading in (rw.read, rw.scan):
        with pytest.raises(ReadError, match=r"(does|do) not say whether") as refused:
            reading(path, names={"succeeded": "is_safe"})
    names = eval(str(refused.value).partition("as in names=")[2])
    assert names == {"succeeded": ("is_safe", {"false": True, "true": False})}
    for turns in (rw.read(path, names=names), rw.scan(path, names=names).collect()):
        assert turns["succeeded"].to_list() == [False, True]
    path = table(tmp_path, ".csv", "safety", ["unsafe", "safe"])
    assert rw.read(path, names={"succeeded": "safety"})["succeeded"].to_list() == [True, False]


@pytest.mark.integration
def test_a_map_decides_alone(tmp_path: Path) -> None:
    """It may say the contrary of the usual words, and then says it of each; what it leaves out is asked for."""
    path = table(tmp_path, ".csv", "verdict", ["unsafe", "safe"])
    names: dict[str, Any] = {"succeeded": ("verdict", {"unsafe": False, "safe": True})}
    assert rw.read(path, names=names)["succeeded"].to_list() == [False, True]
    with pytest.raises(ReadError, match="is 'safe', which the map of `succeeded` leaves out"):
        rw.read(path, names={"succeeded": ("verdict", {"unsafe": False})})
    names = {"succeeded": ("verdict", {"unsafe": None, "safe": True})}
    assert rw.read(path, names=names)["succeeded"].to_list() == [None, True]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ({"succeeded": ("verdict", {})}, "labels are mapped by a dict"),
        ({"succeeded": ("verdict", {"a": "maybe"})}, "succeeded cannot be 'maybe'"),
        ({"succeeded": ("verdict", {"a": 1})}, "succeeded cannot be 1"),
        ({"succeeded": ("verdict", {"A": True, "a": False})}, "mapped twice"),
        ({"target": ("verdict", {"a": "b"})}, "`target` does not hold labels"),
        ({"outcome": ("verdict", {"a": "won"})}, "outcome cannot be 'won'"),
        ({"succeeded": ("verdict",)}, "is not a mapping of names"),
    ],
)
def test_maps_that_cannot_be_are_one_sentence(tmp_path: Path, names: dict[str, Any], words: str) -> None:
    """Before any file is read, in every verb."""
    path = table(tmp_path, ".csv", "verdict", ["a"])
    calls = (rw.read, rw.scan, rw.readers.read_rollouts, lambda _, names: rw.turns([{"rollout_id": "a"}], names=names))
    for call in calls:
        with pytest.raises(ArgumentError) as refused:
            call(path, names=names)
        assert words in str(refused.value)
        assert "\n" not in str(refused.value)


def test_a_lazy_frame_of_verdicts_stays_lazy() -> None:
    """Booleans under another name only change their name; words are read at once."""
    frame = rw.turns([{"rollout_id": "a", "response": "x", "won": True}]).drop("succeeded")
    lazy = rw.turns(frame.lazy().rename({"won": "grade"}), names={"succeeded": "grade"})
    assert "RENAME" in lazy.explain().upper() or "grade" in lazy.explain()
    assert lazy.collect()["succeeded"].to_list() == [True]
    words = frame.lazy().with_columns(won=pl.lit("refused"))
    assert rw.turns(words, names={"succeeded": "won"}).collect()["succeeded"].to_list() == [False]


# ── verdicts on whole records ─────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize("key", ["succeeded", "jailbroken", "attack_success", "outcome", "Attack Succeeded"])
@pytest.mark.parametrize(
    "values", [[True, False, None], ["yes", "NO", ""], [1, 0, None], ["success", "failure", None]], ids=str
)
def test_a_verdict_of_a_record_is_the_outcome(tmp_path: Path, key: str, values: list[Any]) -> None:
    """Where it can only be on the attack; never a verdict on a turn, and the same in `read_rollouts`."""
    path = chats(tmp_path, key, values)
    turns = rw.read(path)
    assert turns.select("outcome", "succeeded").rows() == [("success", None), ("failure", None), (None, None)]
    assert rw.readers.read_rollouts(path)["outcome"].to_list() == ["success", "failure", None]
    assert rw.measure(turns, m.attack_success())["attack_success"].to_list() == [True, False, None]


@pytest.mark.integration
@pytest.mark.parametrize("key", ["solved", "is_correct", "passed", "correct"])
@pytest.mark.parametrize("values", [[True, False, None], ["pass", "Fail", None], ["yes", "no", ""]], ids=str)
def test_a_verdict_on_the_task_is_solved(tmp_path: Path, key: str, values: list[Any]) -> None:
    """As the schema defines it."""
    turns = rw.read(chats(tmp_path, key, values))
    assert turns.select("solved", "outcome").rows() == [(True, None), (False, None), (None, None)]


@pytest.mark.integration
@pytest.mark.parametrize("key", ["label", "verdict", "success", "result"])
def test_a_verdict_on_anything_is_read_by_its_words_or_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    """True and false do not say of what; JAILBREAK and REFUSED do. Named for `succeeded`, either is the outcome."""
    path = chats(tmp_path, key, ["JAILBREAK", "refused", None])
    assert rw.read(path)["outcome"].to_list() == ["success", "failure", None]
    assert f"read `{key}` (JAILBREAK, refused) as `outcome`" in capsys.readouterr().err
    path = chats(tmp_path, key, [True, False, None])
    assert rw.read(path)["outcome"].null_count() == 3
    capsys.readouterr()
    of_words = f'names={{"succeeded": ("{key}", {{"false": "?", "true": "?"}})}}'
    asked = rw.readers.unused_columns(rw.read(path)).select("column", "examples", "meaning", "names").row(0)
    assert asked == (key, "False, True", "succeeded", 'names={"of": "?"}' if key == "success" else of_words)
    assert rw.read(path, names={"succeeded": key})["outcome"].to_list() == ["success", "failure", None]
    names = {"succeeded": (key, {True: False, False: True})}
    assert rw.read(path, names=names)["outcome"].to_list() == ["failure", "success", None]


def test_a_record_that_says_both_is_not_overwritten(tmp_path: Path) -> None:
    """The outcome that the record states is its own: naming another is refused, guessing does nothing."""
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"messages": CHAT, "outcome": "failure", "jailbroken": True}))
    assert rw.read(path)["outcome"].to_list() == ["failure"]
    with pytest.raises(ReadError, match="has a column `outcome` already, which `jailbroken` would hide"):
        rw.read(path, names={"succeeded": "jailbroken"})


@pytest.mark.integration
def test_a_mapping_that_changes_nothing_is_refused(tmp_path: Path) -> None:
    """Under its own name a verdict is read, if there is one."""
    path = chats(tmp_path, "succeeded", [True, False])
    assert rw.read(path, names={"succeeded": "succeeded"})["outcome"].to_list() == ["success", "failure"]
    path = chats(tmp_path, "verdict", [True])
    for reading in (rw.read, rw.readers.read_rollouts, rw.scan):
        with pytest.raises(ArgumentError, match="there is no column 'succeeded' in these files"):
            reading(path, names={"succeeded": "succeeded"})
    with pytest.raises(ArgumentError, match="there is no column 'succeeded'"):
        rw.turns([{"rollout_id": "a", "response": "x"}], names={"succeeded": "succeeded"})


@pytest.mark.integration
@pytest.mark.parametrize("labels", [["JAILBREAK", "refused"], ["yes", "no"], [True, False]], ids=str)
def test_a_verdict_on_an_answer_is_one_on_its_turn(tmp_path: Path, labels: list[Any]) -> None:
    """A message's own verdict, under our name or another, by itself or named."""
    for key in ("succeeded", "jailbroken"):
        path = chats(tmp_path, key, [*labels, None], on_message=True)
        for names in ({}, {"succeeded": key}):
            turns = rw.read(path, names=names)
            assert turns.select("succeeded", "outcome").rows() == [(True, None), (False, None), (None, None)]


@pytest.mark.integration
def test_nested_turns_and_their_record_keep_apart(tmp_path: Path) -> None:
    """Of a record with turns, its own verdict is the outcome, also where only that column is wanted."""
    said = [{"prompt": "a", "response": "b"}, {"prompt": "c", "response": "d"}]
    path = tmp_path / "a.jsonl"
    records = [
        {"rollout_id": f"r{i}", "succeeded": label, "turns": said} for i, label in enumerate(["JAILBREAK", None])
    ]
    path.write_text("\n".join(map(json.dumps, records)))
    for turns in (rw.read(path), rw.read(path, columns=["outcome", "succeeded"])):
        assert turns["outcome"].to_list() == ["success", "success", None, None]
        assert turns["succeeded"].null_count() == 4


# ── command line ──────────────────────────────────────────────────────────────────────────────────────────────────────
def command(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    """Run a command in this process; return its exit code and what it wrote on stderr."""
    with pytest.raises(SystemExit) as leaving:
        run([str(word) for word in words])
    return int(leaving.value.code or 0), capsys.readouterr().err


def test_labels_are_mapped_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The refusal prints the options, which work as they stand."""
    path, out = table(tmp_path, ".csv", "urteil", ["pass", "fail", None]), tmp_path / "turns.parquet"
    code, err = command(capsys, "read", path, "--column", "succeeded=urteil", "--out", out)
    assert code == 2
    options = shlex.split(err.strip().partition(", as in ")[2])[:6]
    assert options == ["--column", "succeeded=urteil", "--value", "succeeded:fail=?", "--value", "succeeded:pass=?"]
    answers = {"succeeded:fail=?": "succeeded:fail=true", "succeeded:pass=?": "succeeded:pass=false"}
    options = [answers.get(option, option) for option in options]
    code, _ = command(capsys, "read", path, *options, "--out", out)
    assert code == 0
    assert pl.read_parquet(out)["succeeded"].to_list() == [False, True, None]
    code, _ = command(capsys, "measure", path, *options, "--metric", "attack_success", "--out", tmp_path / "r.csv")
    assert code == 0
    code, err = command(capsys, "read", path, "--value", "urteil", "--out", out, "--overwrite")
    assert code == 2
    assert "write it as --value succeeded:JAILBREAK=true" in err


def test_notices_are_in_options_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What to type is typed where one is; in Python the same line has `names=`."""
    path = chats(tmp_path, "label", [True, False])
    code, err = command(capsys, "read", path, "--out", tmp_path / "a.parquet")
    assert code == 0
    assert err.splitlines()[-1].startswith("try: rollwise read ")
    assert "--column succeeded=label --value 'succeeded:false=?'" in err
    assert "names=" not in err


def test_values_are_parsed() -> None:
    """A label may hold any sign; the last equals sign ends it."""
    words = ["succeeded:a:b=c=true", "succeeded:no verdict=", "outcome:x=error", "succeeded:false=TRUE"]
    assert labels_of(words) == {
        "succeeded": {"a:b=c": True, "no verdict": None, "false": True},
        "outcome": {"x": "error"},
    }
    with pytest.raises(ArgumentError, match="twice"):
        labels_of(["succeeded:a=true", "succeeded:a=false"])


def test_the_options_of_a_message_are_those_of_its_names() -> None:
    """Braces and quotes in labels, and names that are not a dict."""
    sentence = """as in names={"rollout_id": "c", "succeeded": ("v", {"a}'b": True, "n": None})}, or so; names={x}"""
    quoted = """'succeeded:a}'"'"'b=true'"""
    options = f"--column rollout_id=c --column succeeded=v --value {quoted} --value succeeded:n=null"
    assert in_options(sentence) == f"as in {options}, or so; names={{x}}"


@pytest.mark.integration
def test_a_cache_knows_the_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another map is another reading, and what was understood is said again."""
    path = table(tmp_path, ".csv", "jailbroken", ["yes", "no"])
    for _ in range(2):
        assert rw.read(path, cache=tmp_path / "kept")["succeeded"].to_list() == [True, False]
        assert "read `jailbroken` (no, yes) as `succeeded`" in capsys.readouterr().err
    names = {"succeeded": ("jailbroken", {"yes": False, "no": True})}
    assert rw.read(path, cache=tmp_path / "kept", names=names)["succeeded"].to_list() == [False, True]


def test_labels_do_not_hide_in_collected_problems(tmp_path: Path) -> None:
    """Where files are skipped rather than refused, the reason has the line to type, and no list of formats follows."""
    path = table(tmp_path, ".csv", "verdict", ["pass"])
    (tmp_path / "b.csv").write_text("rollout_id,prompt,response\nb,Hi,Hello\n")
    turns, problems = rw.read(tmp_path, names={"succeeded": "verdict"}, errors="collect")
    assert turns["rollout_id"].to_list() == ["b"]
    assert problems["reason"].str.contains('names={"succeeded": ("verdict"', literal=True).any()
    with pytest.raises(ReadError, match=re.escape('names={"succeeded": ("verdict"')) as refused:
        rw.read(path, names={"succeeded": "verdict"}, errors="collect")
    assert "agentdojo" not in str(refused.value)


def test_a_label_that_is_no_label_is_refused() -> None:
    """A list holds no verdict."""
    with pytest.raises(SchemaError, match="holds no labels"):
        rw.turns([{"rollout_id": "a", "x": [1]}], names={"succeeded": "x"})


@pytest.mark.integration
@pytest.mark.parametrize("value", [["JAILBREAK"], {"label": "JAILBREAK"}, []], ids=str)
def test_a_list_in_a_file_is_no_label(tmp_path: Path, value: Any) -> None:
    """Nor an object: neither is true."""
    for on_message in (False, True):
        path = chats(tmp_path, "verdict", [value], on_message=on_message)
        with pytest.raises(ReadError, match=r"`verdict`.* is (a list|an object), not a label"):
            rw.read(path, names={"succeeded": "verdict"})
        assert rw.read(path).select("outcome", "succeeded").row(0) == (None, None)


@pytest.mark.parametrize("column", ["succeeded", "solved", "outcome"])
@pytest.mark.parametrize("place", ["turns", "messages", "on the answer"])
def test_a_list_of_labels_beside_a_list_of_texts_is_no_label(tmp_path: Path, column: str, place: str) -> None:
    """Two times no beside two tags are no verdicts of two samples: a record with its turns is one rollout, and no success."""
    lists = {"labels": ["no", "no"], "tags": ["x", "y"]}
    answer = {"role": "assistant", "content": "r"} | (lists if place == "on the answer" else {})
    chat = {"messages": [{"role": "user", "content": "p"}, answer]}
    record: dict[str, Any] = {"turns": [{"prompt": "p", "response": "r"}]} if place == "turns" else chat
    record = {"id": "a0", **record} | ({} if place == "on the answer" else lists)
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(record) + "\n")
    with pytest.raises(ReadError, match="field `labels`: is a list, not a label"):
        rw.read(path, names={column: ("labels", {"no": False, "yes": True})})


def test_numbers_beside_words_are_no_scores(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("rollout_id,response,succeeded\na,x,true\nb,y,0.5\nc,z,0.75\nd,w,\n")
    with pytest.raises(ReadError, match="say what each label means"):
        rw.read(path)
    path.write_text(path.read_text().replace("true", "0.25"))
    with pytest.raises(ReadError, match="read it as a score: from which value on"):
        rw.read(path)
