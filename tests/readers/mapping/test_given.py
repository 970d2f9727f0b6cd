"""`mapping=`: a file or data that say how records become turns, which file each of several reads, and what is refused."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

import rollwise as rw
from rollwise.errors import ArgumentError, ReadError

FIXTURES = Path(__file__).parents[1] / "fixtures"
ASKED: dict[str, Any] = {
    "facts": {"target": "model"},
    "prompt": "ask",
    "response": "reply",
    "verdicts": [{"of": "attack", "from": "verdict", "true": ["broken"], "false": ["held"], "null": ["unsure"]}],
}
YAML = """
# kept by rollwise map
facts: {target: model}
prompt: ask
response: reply
verdicts:
  - {of: attack, from: verdict, true: [broken], false: [held], null: [unsure]}
"""
RUNS = [
    {"model": "m", "ask": "Hi", "reply": "a", "verdict": "broken"},
    {"model": "m", "ask": "Ho", "reply": "b", "verdict": "held"},
    {"model": "n", "ask": "He", "reply": "c", "verdict": "unsure", "jailbroken": True},
]
READ = [("m", "a", "success"), ("m", "b", "failure"), ("n", "c", None)]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder with a file of three rollouts."""
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "a.json").write_text(json.dumps(RUNS))
    return folder


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["data", "list", "yml", "yaml", "json", "text of a path"])
def test_a_mapping_is_data_or_a_file_of_yaml_or_json(tmp_path, runs, kind):
    mapping: Any = {"data": ASKED, "list": [ASKED]}.get(kind)
    if mapping is None:
        mapping = tmp_path / f"mine.{'yml' if ' ' in kind else kind}"
        mapping.write_text(json.dumps(ASKED) if kind == "json" else YAML)
        mapping = str(mapping) if " " in kind else mapping
    assert rw.read(runs, mapping=mapping).select("target", "response", "outcome").rows() == READ
    assert rw.scan(runs, mapping=mapping).select("target", "response", "outcome").collect().rows() == READ
    assert rw.readers.read_rollouts(runs, mapping=mapping).select("target", "outcome").rows() == [
        (a, c) for a, _, c in READ
    ]
    assert rw.readers.accounting(runs, mapping=mapping)["rollouts"].to_list() == [3]


def test_nothing_is_guessed_beside_a_mapping(runs, capsys):
    turns = rw.read(runs, mapping=ASKED)
    assert turns.select("outcome", "succeeded").rows() == [("success", None), ("failure", None), (None, None)]
    assert turns["jailbroken"].to_list() == [None, None, True]
    assert capsys.readouterr().err == ""


def test_a_crash_is_no_failure_under_a_mapping_either(tmp_path, capsys):
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"reply": None, "hit": False, "problem": "timeout"}, {"reply": "No.", "hit": False}]))
    mapping = {"response": "reply", "error": "problem", "verdicts": [{"of": "attack", "from": "hit"}]}
    assert rw.read(path, mapping=mapping).select("outcome", "ending").rows() == [(None, "error"), ("failure", None)]
    assert "1 rollout crashed" in capsys.readouterr().err


@pytest.mark.integration
def test_the_first_mapping_that_fits_a_file_reads_it(runs):
    (runs / "b.json").write_text(json.dumps({"results": [{"text": "x", "verdict": True}]}))
    (runs / "c.csv").write_text("text,verdict\ny,false\n")
    (runs / "d.jsonl").write_text('{"note": 1}\n')
    others = {"response": "text", "verdicts": [{"of": "attack", "from": "verdict"}]}
    mapping = [ASKED, {"records": "results[*]", **others}, others]
    turns, problems = rw.read(runs, mapping=mapping, errors="collect")
    assert turns.select("response", "outcome").rows()[3:] == [("x", "success"), ("y", "failure")]
    assert problems.rows() == [
        (
            str(runs / "d.jsonl"),
            None,
            None,
            "does not fit the mapping: it has no field `ask`, and holds no records at `results[*]`, and no field `text`",
        )
    ]


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("b.json", '{"rows": []}', "has no field `ask`"),
        ("b.json", '[{"ask": "Hi", "verdict": "held"}]', "has no field `reply`"),
        ("b.json", '[{"ask": "Hi", "reply": "a"}]', "has no field `verdict`"),
        ("b.json", "[]", "holds no records"),
        ("b.json", "[3]", "holds no records"),
        ("b.csv", "ask,answer\nHi,a\n", "has no field `reply`"),
        ("b.jsonl", "", "is empty"),
        ("b.bin", b"\0\1\2", "is neither JSON nor a table"),
    ],
)
def test_a_file_that_no_mapping_fits_is_left_out_of_a_folder_and_refused_by_name(runs, name, content, said):
    path = runs / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    turns, problems = rw.read(runs, mapping=ASKED, errors="collect")
    assert turns.height == 3
    assert problems.rows() == [(str(path), None, None, f"does not fit the mapping: it {said}")]
    with pytest.raises(ReadError) as error:
        rw.read(path, mapping=ASKED)
    assert str(error.value) == f"{path}: does not fit the mapping: it {said}"


@pytest.mark.integration
def test_a_file_that_cannot_be_decoded_is_named_as_without_a_mapping(runs):
    (runs / "b.json").write_text('[{"ask": "Hi"')
    _, problems = rw.read(runs, mapping=ASKED, errors="collect")
    assert [(Path(file).name, reason.split("(")[0]) for file, _, _, reason in problems.rows()] == [
        ("b.json", "is not valid JSON ")
    ]


def test_a_field_that_only_late_records_have_is_there(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(json.dumps(each) for each in [*([{"ask": "x"}] * 100), *RUNS]))
    assert rw.read(path, mapping=ASKED)["outcome"].count() == 2


def test_a_mapping_wins_over_a_recognized_format_and_says_so(capsys):
    path = FIXTURES / "verl"
    without = rw.read(path)
    assert without["source"].unique().to_list() == ["verl"]
    turns = rw.read(path, mapping={"prompt": "input", "response": "output", "score": "score"})
    assert turns["source"].unique().to_list() == ["mapping"]
    assert turns.height == without.height
    assert "read logs of verl as the mapping says" in capsys.readouterr().err


@pytest.mark.parametrize("verb", [rw.read, rw.scan, rw.readers.read_rollouts, rw.readers.accounting])
@pytest.mark.parametrize("other", [{"format": "verl"}, {"names": {"response": "reply"}}])
def test_a_mapping_goes_without_format_and_names(runs, verb, other):
    with pytest.raises(ArgumentError) as error:
        verb(runs, mapping=ASKED, **other)
    name = next(iter(other))
    assert str(error.value).endswith(f"mapping= says all of the files that {name}= would: leave {name}= out")


def test_the_mapping_itself_among_the_logs_is_no_problem(runs):
    (runs / "mine.yml").write_text(YAML)
    turns, problems = rw.read(runs, mapping=runs / "mine.yml", errors="collect")
    assert turns.height == 3
    assert problems.rows() == []


def test_a_cache_is_of_one_content_of_a_mapping(tmp_path, runs):
    mapping = tmp_path / "mine.yml"
    mapping.write_text(YAML)
    first = rw.read(runs, mapping=mapping, cache=tmp_path / "cache")
    assert rw.read(runs, mapping=mapping, cache=tmp_path / "cache").equals(first)
    mapping.write_text(YAML.replace("true: [broken]", "true: [held]").replace("false: [held]", "false: [broken]"))
    assert rw.read(runs, mapping=mapping, cache=tmp_path / "cache")["outcome"].to_list() == ["failure", "success", None]
    assert len([*(tmp_path / "cache").glob("*.parquet")]) == 2


def test_equal_files_in_two_folders_are_two_runs(tmp_path, capsys):
    for folder in "ab":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "r.json").write_text('[{"id": 1, "reply": "x"}]')
    turns = rw.read(tmp_path, mapping={"response": "reply", "rollout": "id"})
    assert turns["rollout_id"].str.contains(r"^r( \(2\))?-[0-9a-f]{8}/1$").all()
    assert turns["rollout_id"].n_unique() == 2


# ── what was read when it was made ────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"by": "user", "rollouts": 3, "successes": 1}, None),
        ({"rollouts": 3}, None),
        ({}, None),
        (
            {"rollouts": 40, "successes": 10},
            "was made of 40 rollouts and 10 successes, and these files hold 3 rollouts and 1 success",
        ),
        (
            {"by": "file", "rollouts": 3, "successes": 2},
            "was made of 3 rollouts and 2 successes, and these files hold 3 rollouts",
        ),
        ({"successes": 0}, "was made of 0 successes, and these files hold 3 rollouts"),
    ],
)
def test_other_figures_than_when_it_was_made_are_one_notice(runs, capsys, made, said):
    rw.read(runs, mapping=ASKED | {"made": made})
    told = capsys.readouterr().err
    assert (said in told and told.count("\n") == 1) if said else told == ""


def test_figures_of_several_mappings_and_of_tasks_are_added(tmp_path, capsys):
    (tmp_path / "a.json").write_text('[{"a": "x", "ok": true}]')
    (tmp_path / "b.json").write_text('[{"b": "x", "ok": true}, {"b": "y", "ok": false}]')
    made = {"made": {"rollouts": 1, "successes": 1}}
    several = [{"response": name, "verdicts": [{"of": "task", "from": "ok"}], **made} for name in "ab"]
    rw.read(tmp_path, mapping=several)
    assert "made of 2 rollouts and 2 successes, and these files hold 3 rollouts and 2 succ" in capsys.readouterr().err


# ── verdicts in lists of ids ──────────────────────────────────────────────────────────────────────────────────────────
SOLVED = {"of": "task", "ids": "report.v1.json:done.resolved", "not_ids": "report.v1.json:failed", "by": "id"}


@pytest.fixture
def patches(tmp_path: Path) -> Path:
    """A folder with predictions, and the report on them."""
    (tmp_path / "preds.jsonl").write_text("\n".join(json.dumps({"id": name, "patch": "diff"}) for name in "abc"))
    (tmp_path / "report.v1.json").write_text(json.dumps({"done": {"resolved": ["a"]}, "failed": ["b"]}))
    return tmp_path


def by_ids(**changes: Any) -> dict[str, Any]:
    return {"response": "patch", "facts": {"task": "id"}, "verdicts": [SOLVED | changes]}


def test_ids_in_a_file_beside_are_verdicts_and_the_file_is_no_problem(patches):
    turns, problems = rw.read(patches, mapping=by_ids(), errors="collect")
    assert turns.select("task", "solved").rows() == [("a", True), ("b", False), ("c", None)]
    assert problems.rows() == []
    one_list = {"response": "patch", "verdicts": [{"of": "task", "ids": "report.v1.json:done.resolved", "by": "id"}]}
    assert rw.read(patches, mapping=one_list)["solved"].to_list() == [True, False, False]


def test_numbers_are_ids_as_well(tmp_path):
    (tmp_path / "preds.json").write_text('[{"id": 1, "patch": "x"}, {"id": 2, "patch": "y"}]')
    (tmp_path / "report.v1.json").write_text('{"done": {"resolved": [1]}, "failed": ["2"]}')
    assert rw.read(tmp_path / "preds.json", mapping=by_ids())["solved"].to_list() == [True, False]


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (None, "the file report.v1.json with the ids of verdicts is not beside it, or too large"),
        ('{"done": {}, "failed": []}', "the file report.v1.json holds no list of ids at `done.resolved`"),
        (
            '{"done": {"resolved": "a"}, "failed": []}',
            "the file report.v1.json holds no list of ids at `done.resolved`",
        ),
    ],
)
def test_a_report_that_cannot_be_read_makes_its_rollouts_missing(patches, report, said):
    if report is None:
        (patches / "report.v1.json").unlink()
    else:
        (patches / "report.v1.json").write_text(report)
    turns, problems = rw.read(patches, mapping=by_ids(), errors="collect")
    assert turns.select("task", "turn", "solved").rows() == [(name, None, None) for name in "abc"]
    assert {reason for *_, reason in problems.rows()} == {said}


def test_an_id_in_both_lists_is_no_verdict(patches):
    (patches / "report.v1.json").write_text('{"done": {"resolved": ["a"]}, "failed": ["a", "b"]}')
    turns, problems = rw.read(patches, mapping=by_ids(), errors="collect")
    assert turns["solved"].to_list() == [None, False, None]
    assert [row[2:] for row in problems.rows()] == [("id", "is in both lists of ids: 'a': the field is null")]


@pytest.mark.parametrize(
    "file", ["../report.json", "/etc/hostname", "sub/report.json", "..", "a\\b.json", "C:report.json"]
)
def test_a_report_in_another_folder_is_refused(patches, file):
    with pytest.raises(ArgumentError, match="is not the name of a file in the folder of the records"):
        rw.read(patches, mapping=by_ids(ids=f"{file}:x"))


def test_a_link_to_a_report_in_another_folder_is_not_followed(patches):
    (patches.parent / "secret.json").write_text('{"done": {"resolved": ["c"]}, "failed": []}')
    (patches / "report.v1.json").unlink()
    (patches / "report.v1.json").symlink_to(patches.parent / "secret.json")
    turns, _ = rw.read(patches / "preds.jsonl", mapping=by_ids(), errors="collect")
    assert turns["solved"].to_list() == [None] * 3


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (
            {"of": "task", "ids": "report.json", "by": "id"},
            "ids: expected a file and a path, as in report.json:resolved_ids",
        ),
        ({"of": "task", "ids": "report.json:x"}, "`ids` needs `by`, the field with the id of a record, got None"),
        ({"of": "task", "ids": "report.json:x", "by": "id", "from": "y"}, "'from' is not a key beside `ids`"),
        ({"of": "task", "ids": ["a"], "by": "id"}, "ids: expected a file and a path"),
    ],
)
def test_a_wrong_rule_of_ids_is_said_in_a_sentence(patches, rule, said):
    with pytest.raises(ArgumentError) as error:
        rw.read(patches, mapping={"response": "patch", "verdicts": [rule]})
    assert said in str(error.value)


# ── files that are no mapping ─────────────────────────────────────────────────────────────────────────────────────────
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{place}: &a{place} [{', '.join([f'*a{place - 1}'] * 10)}]\n" for place in range(1, 10)
)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("m.yml", "response: reply\nrespnse: x\n", "'respnse' is not a key; did you mean `response`?"),
        ("m.yml", "response: '?'\n", "`response` is `?`: write there what only you know, or leave it out"),
        ("m.yml", "response: reply\nresponse: answer\n", "is not valid YAML"),
        ("m.yml", "rollout: @key\n", "paths with signs, such as '{*}' and '@key', are in quotes"),
        ("m.yml", "response: !!python/object/apply:os.system [ls]\n", "is not valid YAML"),
        ("m.yml", "response: !ruby/object:X {}\n", "is not valid YAML"),
        ("m.yml", "facts: &f\n  target: *f\n", "an entry contains itself, or is nested too deeply"),
        ("m.yml", BOMB, "an entry contains itself, or is nested too deeply"),
        ("m.yml", "facts: " + "[" * 500 + "]" * 500, "an entry contains itself, or is nested too deeply"),
        ("m.yml", "# " + "x" * (1 << 20), "is larger than 1048576 bytes, too large for a configuration"),
        ("m.yml", "response: 're\0ply'\n", "is not valid YAML"),
        ("m.yml", b"response: \xff\n", "is not UTF-8 (byte 10)"),
        ("m.yml", "", "expected keys and values, or a list of such mappings, got NoneType"),
        ("m.yml", "reply", "expected keys and values, or a list of such mappings, got str"),
        ("m.yml", "[]", "expected keys and values, or a list of such mappings, got list"),
        ("m.yml", "- response: reply\n- 3\n", "expected keys and values, got int"),
        ("m.yml", "3: reply\n", "3 is not a key"),
        ("m.json", '{"response": "reply"', "is not valid JSON"),
        ("m.json", '{"response": "a", "response": "b"}', "has the key 'response' twice; leave one out"),
        ("m.json", "[" * 100_000, "is not valid JSON"),
        ("m.json", '{"facts": ' + '{"a": ' * 400 + "1" + "}" * 401, "is not a rule"),
    ],
)
def test_a_file_that_is_no_mapping_is_refused_in_one_sentence(tmp_path, runs, name, content, said):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises((ReadError, ArgumentError)) as error:
        rw.read(runs, mapping=path)
    assert str(error.value).startswith(str(path))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe"])
def test_what_is_no_file_is_no_mapping(tmp_path, runs, kind):
    path = tmp_path / "m.yml"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    with pytest.raises(ReadError, match=r"No such file|not a file but a pipe, a device or a folder"):
        rw.read(runs, mapping=path)


@pytest.mark.parametrize(
    "mapping",
    [
        3,
        [],
        "",
        [3],
        {"facts": 3},
        {"response": None},
        {1: 2},
        {"response": {"from": []}},
        {"rollout": []},
        {"prompt": []},
        b"x",
    ],
)
def test_what_is_no_mapping_is_refused_in_one_sentence(runs, mapping):
    with pytest.raises((ArgumentError, ReadError)) as error:
        rw.read(runs, mapping=mapping)
    assert "\n" not in str(error.value)


def test_data_that_hold_themselves_are_refused(runs):
    data: dict[str, Any] = {"response": "reply", "facts": {}}
    data["facts"]["goal"] = data
    with pytest.raises(ArgumentError, match="is nested too deeply, or holds itself"):
        rw.read(runs, mapping=data)
