"""The door: dispatch by content, one table from any mix, and every way a reading can fail."""

import gzip
import importlib
import json
import os
import pkgutil
import shutil
import sys
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import read, scan, schema, turns
from rollwise.errors import ArgumentError, ReadError
from rollwise.readers import Document, Format, formats
from rollwise.readers.registry import FORMATS
from rollwise.schema import TURNS

FIXTURES = Path(__file__).parent / "fixtures"
NAMES = [kind.name for kind in FORMATS]


@cache
def fixture(name: str) -> pl.DataFrame:
    """The turns of a format's fixture, which are read once for all tests."""
    return read(FIXTURES / name)


# what each fixture has, beyond the id: a reader that stops filling one of these has lost it
FILLED = {
    # `solved` is false only where an answer never came, and gives way to the error.
    "native": "target attack goal task category attempt expected ending outcome queries total_tokens total_seconds "
    "total_cost_usd context prompt response observation tool_calls reward score succeeded refused prompt_tokens "
    "response_tokens seconds cost_usd error",
    "jailbreakbench": "run target attack goal category attempt ending outcome queries total_tokens prompt response "
    "succeeded prompt_tokens response_tokens",
    "agentdojo": "run target attack goal task attempt ending outcome solved total_tokens total_seconds context prompt "
    "response tool_calls error",
    "tau_bench": "run attack task attempt ending solved context prompt response observation tool_calls reward error",
    "intercode": "run attack task attempt expected ending solved prompt response observation reward",
    "inspect": "run target attack task attempt expected ending solved total_tokens total_seconds total_cost_usd context "
    "prompt response observation tool_calls error",
    "mint": "run attack task attempt expected ending solved total_tokens prompt response observation error",
    "garak": "run target attack goal attempt outcome context prompt response score succeeded",
    "astra": "run outcome context prompt response reward score succeeded",
    "garak_hitlog": "run target attack goal attempt outcome context prompt response score succeeded",
    "harmbench": "run target goal attempt outcome prompt response succeeded",
    "quesma": "run target attack goal category attempt ending outcome context prompt response score seconds",
    "swe_agent": "run attack task attempt ending queries total_tokens total_cost_usd context prompt response observation "
    "tool_calls",
    "openhands": "run target attack task attempt ending solved total_tokens total_cost_usd context prompt response observation "
    "tool_calls prompt_tokens response_tokens error",
    "atif": "run target attack attempt total_tokens total_cost_usd context prompt response observation tool_calls "
    "prompt_tokens response_tokens cost_usd",
    "atof": "run target attack attempt prompt response observation tool_calls",
    "nat": "run attack task attempt expected queries total_tokens total_seconds prompt response tool_calls",
    "deepteam": "run target attack goal category attempt ending outcome total_seconds prompt response score error",
    "pairs": "run target attack task prompt response",
    "terminal_bench": "run attack task attempt ending solved total_tokens total_seconds prompt prompt_tokens response_tokens",
    "bfcl": "run attack task category total_tokens total_seconds prompt response tool_calls error",
    "deepeval": "run target attack task expected solved total_seconds total_cost_usd prompt response tool_calls",
    "swe_bench": "run target attack task response",
    "ragas": "run attack expected prompt response",
    "mhj": "run attack task context prompt response",
    "openai_evals": "run target attack task category expected solved context prompt response",
    "evalplus": "run target attack task attempt solved response",
    "xstest": "run target attack goal task category outcome prompt response succeeded refused",
    "rjudge": "run attack task category outcome prompt response",
    "injecagent": "run target attack goal task category outcome prompt response observation succeeded",
    "gcg": "run target attack goal outcome queries prompt succeeded",
    "autodan": "run target attack goal outcome queries total_seconds prompt response succeeded",
    "aider_benchmark": "run target attack task solved queries total_seconds total_cost_usd prompt_tokens response_tokens",
    "aider": "run target attack prompt response",
    "mt_bench": "run target attack task score",
    "hh_rlhf": "run task attempt context prompt response",
    "sharegpt": "run target attack task attempt context prompt response observation tool_calls",
    "openai_chat": "run target attack goal task category attempt expected context prompt response observation tool_calls",
    "openai_output": "run target task attempt ending total_tokens context prompt response tool_calls prompt_tokens "
    "response_tokens error",
    "anthropic_output": "run target goal task attempt ending total_tokens context prompt response tool_calls prompt_tokens "
    "response_tokens error",
    "gemini_output": "run target task attempt ending total_tokens context prompt response tool_calls prompt_tokens "
    "response_tokens error",
    "phoenix": "run target attempt ending total_tokens total_seconds total_cost_usd context prompt response tool_calls "
    "prompt_tokens response_tokens seconds cost_usd error",
    "opentelemetry": "run target attempt ending total_tokens total_seconds context prompt response tool_calls prompt_tokens "
    "response_tokens seconds error",
    "langfuse": "run target attempt ending total_tokens total_seconds total_cost_usd context prompt response tool_calls "
    "prompt_tokens response_tokens seconds cost_usd error",
    "langsmith": "run target task attempt ending total_tokens total_seconds total_cost_usd context prompt response tool_calls "
    "prompt_tokens response_tokens seconds cost_usd error",
    "claude_code": "run target attack attempt total_tokens total_seconds prompt response observation tool_calls "
    "prompt_tokens response_tokens error node_id parent_id target_call",
    "codex": "run target attack attempt total_tokens total_seconds context prompt response observation tool_calls "
    "prompt_tokens response_tokens error node_id parent_id pruned target_call",
    "tau2": "run target attack task attempt ending solved total_seconds total_cost_usd prompt response observation "
    "tool_calls reward prompt_tokens response_tokens seconds cost_usd",
    "pyrit": "run target attack goal category attempt ending outcome total_seconds context prompt response score "
    "succeeded refused error node_id parent_id pruned target_call",
    "promptfoo": "run target attack goal task category attempt ending outcome solved queries total_tokens total_seconds "
    "total_cost_usd context prompt response score succeeded error",
    "every_eval_ever": "run target attack task category attempt expected ending outcome solved total_tokens context prompt "
    "response observation tool_calls prompt_tokens response_tokens error",
    "inspect_scout": "run target attack task attempt ending solved total_tokens total_seconds context prompt response "
    "tool_calls error",
    "petri": "run target attack goal category attempt context prompt response observation tool_calls node_id parent_id pruned "
    "target_call",
    "docent": "run target attack task attempt solved context prompt response tool_calls",
    "mlflow": "run target attempt expected ending total_tokens total_seconds prompt response tool_calls prompt_tokens "
    "response_tokens seconds error",
    "session_traces": "run target attack attempt context prompt response observation tool_calls",
    "pi": "run target attack attempt ending total_tokens total_cost_usd prompt response observation tool_calls prompt_tokens "
    "response_tokens cost_usd error node_id parent_id target_call",
    "lm_eval": "run attack task category attempt expected solved prompt response",
    "verifiers": "run target attack task attempt expected ending total_seconds context prompt response observation "
    "tool_calls reward prompt_tokens response_tokens seconds error node_id parent_id target_call",
    "verl": "run attack task attempt expected prompt response reward",
    "skyrl": "run attack task category attempt ending prompt response reward",
    "trl": "run attack task attempt context prompt response reward",
    "art": "run attack task attempt context prompt response observation tool_calls reward",
    "aisteer": "run attack task attempt expected prompt response",
    "best_of_n": "run attack goal attempt ending outcome prompt score succeeded",
}


def test_every_format_is_tried_here():
    assert set(FILLED) == set(NAMES), "add to FILLED the columns that the fixture of the format fills"


@pytest.mark.integration
@pytest.mark.parametrize("kind", FORMATS, ids=NAMES)
def test_every_format_has_a_fixture_that_it_recognizes_and_reads(kind: Format):
    documents = [Document(path) for path in sorted((FIXTURES / kind.name).rglob("*")) if path.is_file()]
    assert any(kind.sniff(document) for document in documents), f"add a log to {FIXTURES / kind.name}"
    assert fixture(kind.name)["turn"].count() > 0


@pytest.mark.integration
@pytest.mark.parametrize("kind", FORMATS, ids=NAMES)
def test_a_reader_keeps_the_promises_of_turns(kind: Format):
    frame = fixture(kind.name)
    schema.check(frame, TURNS)
    ours = [name for name in TURNS.names if name not in schema.TREE_COLUMNS]
    assert frame.columns[: len(ours)] == ours
    assert all(frame.schema[name] == TURNS.dtypes[name] for name in ours)
    assert (frame["source"] == kind.name).all()
    assert frame["rollout_id"].rle().len() == frame["rollout_id"].n_unique(), "rollouts are in one piece"
    linear = frame.filter(pl.col("node_id").is_null()) if "node_id" in frame.columns else frame
    assert all(part["turn"].is_sorted() for part in linear.partition_by("rollout_id"))


@pytest.mark.integration
@pytest.mark.parametrize("kind", FORMATS, ids=NAMES)
def test_a_reader_fills_what_the_log_has(kind: Format):
    frame = fixture(kind.name)
    empty = [name for name in FILLED[kind.name].split() if frame[name].null_count() == frame.height]
    assert empty == []


@pytest.mark.integration
@pytest.mark.parametrize("kind", FORMATS, ids=NAMES)
def test_a_reader_says_how_it_maps_and_how_the_producer_judges(kind: Format):
    doc = kind.read.__doc__ or ""
    assert "in the file" in doc
    assert "in the table" in doc
    judged = {
        word
        for word in ("every_turn", "stops_on_success", "whole_rollout")
        if f"judges `{word}`" in doc.replace("the `", "`")
    }
    assert judged or kind.name == "native"
    assert kind.about
    assert all(suffix.startswith(".") for suffix in kind.suffixes)


@pytest.mark.integration
@pytest.mark.parametrize("kind", [kind for kind in FORMATS if kind.name != "native"], ids=lambda kind: kind.name)
def test_the_file_of_a_reader_begins_with_its_format(kind: Format):
    doc = sys.modules[kind.read.__module__].__doc__ or ""
    labels = [line.split(":", 1)[0] for line in doc.splitlines() if line.startswith("- ")]
    assert labels == ["- File", "- Format", "- Checked on", "- Lost"], (
        f"begin {kind.read.__module__} with the lines File, Format (with its address), Checked on and Lost"
    )
    assert "https://" in doc, f"give {kind.read.__module__} the address of its format"


def test_the_file_of_every_reader_is_registered():
    """A file with SHAPES that no format uses would never read a log."""
    registered = {kind.read.__module__ for kind in FORMATS}
    modules = [name for _, name, _ in pkgutil.walk_packages(formats.__path__, f"{formats.__name__}.")]
    unregistered = [
        name for name in modules if "SHAPES" in vars(importlib.import_module(name)) and name not in registered
    ]
    assert not unregistered, f"add Format(...) of {', '.join(unregistered)} to src/rollwise/readers/registry.py"


@pytest.mark.integration
@pytest.mark.parametrize("path", sorted(path for path in FIXTURES.rglob("*") if path.is_file()), ids=lambda p: p.name)
def test_exactly_one_format_knows_a_file(path: Path):
    assert [kind.name for kind in FORMATS if kind.sniff(Document(path))] == [path.relative_to(FIXTURES).parts[0]]


@pytest.mark.integration
@pytest.mark.parametrize("kind", FORMATS, ids=NAMES)
def test_a_forced_format_reads_the_same(kind: Format):
    assert read(FIXTURES / kind.name, format=kind.name).equals(fixture(kind.name))


@pytest.mark.integration
def test_a_mixed_folder_is_one_table():
    frame = read(FIXTURES)
    schema.check(frame, TURNS)
    assert set(frame["source"]) == set(NAMES)
    parts = [fixture(name) for name in NAMES]
    assert frame.height == sum(part.height for part in parts)
    assert frame["rollout_id"].n_unique() == sum(part["rollout_id"].n_unique() for part in parts)


@pytest.mark.integration
def test_ids_do_not_depend_on_how_the_path_is_given(monkeypatch):
    folder = FIXTURES / "tau_bench"
    by_folder = read(folder)
    by_files = read([folder / "list.json", str(folder / "single.json")])
    monkeypatch.chdir(folder)
    relative = read(["list.json", "./single.json"])
    assert by_folder.equals(by_files)
    assert by_folder.equals(relative)


@pytest.mark.integration
def test_a_file_reached_twice_is_read_once(tmp_path):
    file = FIXTURES / "native" / "toy.csv"
    (tmp_path / "link.csv").symlink_to(file)
    assert read([file, FIXTURES / "native", tmp_path]).equals(read([file, FIXTURES / "native"]))


def test_hidden_files_are_left_out_and_links_in_a_circle_end(tmp_path):
    (tmp_path / ".secret.csv").write_text("rollout_id,prompt\nx,y\n")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "a.csv").write_text("rollout_id,prompt\nx,y\n")
    (tmp_path / "seen.csv").write_text("rollout_id,prompt\na,b\n")
    (tmp_path / "again").symlink_to(tmp_path)
    assert read(tmp_path)["rollout_id"].to_list() == ["a"]


@pytest.mark.integration
def test_facts_fill_what_the_log_leaves_null_and_nothing_else():
    frame = read([FIXTURES / "native" / "toy.csv", FIXTURES / "native" / "toy.jsonl"], target="gpt", attempt=3)
    assert dict(frame.select("rollout_id", "target").unique().iter_rows()) == {
        "r1": "parrot",
        "r2": "parrot",
        "j1": "gpt",
    }
    assert frame.filter(rollout_id="j1")["attempt"].to_list() == [3, 3]


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"model": "gpt"}, "not a fact of a rollout; facts are"),
        ({"succeeded": "won"}, r"name a column of yours afterwards: `rw.turns\(turns, names=\{'succeeded': 'won'\}\)`"),
        ({"prompt": "x"}, "not a fact"),
        ({"outcome": "succes"}, "error, failure, success, undetermined"),
        ({"attempt": "two"}, "Int32"),
        ({"attempt": 2**40}, "Int32"),
    ],
)
def test_facts_that_make_no_sense_are_refused(facts, says):
    with pytest.raises(ArgumentError, match=says):
        read(FIXTURES, **facts)


def test_options_that_make_no_sense_are_refused():
    with pytest.raises(
        ArgumentError,
        match=", ".join(sorted(NAMES)),
    ):
        read(FIXTURES, format="nonsense")
    with pytest.raises(ArgumentError, match="errors='ignore' is unknown; it is"):
        read(FIXTURES, errors="ignore")  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match="no path"):
        read([])


def test_a_named_file_of_no_known_format_is_an_error(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("hello")
    with pytest.raises(ReadError, match=r"a\.txt: is not recognized; format= reads it as the log of a tool$"):
        read(file)
    (tmp_path / "b.jsonl").write_text("")
    with pytest.raises(ReadError, match="is empty"):
        read(tmp_path / "b.jsonl", errors="collect")


@pytest.mark.integration
def test_files_of_no_known_format_in_a_folder_are_listed(tmp_path, capsys):
    # Without its crash, about which there is a sentence.
    (tmp_path / "toy.csv").write_text((FIXTURES / "native" / "toy.csv").read_text().replace(",timeout,", ",,"))
    for name in ("a.txt", "b.csv", "c.json"):
        (tmp_path / name).write_text("{}" if name == "c.json" else "x,y\n1,2\n")
    frame = read(tmp_path)
    assert frame.height == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"rollwise: 3 files not recognized: {tmp_path}/c.json, {tmp_path}/a.txt and 1 more\n"
    _, problems = read(tmp_path, errors="collect")
    schema.check(problems, schema.PROBLEMS)
    assert [Path(file).name for file in problems["file"]] == ["c.json", "a.txt", "b.csv"]
    assert capsys.readouterr().err == ""


def test_a_folder_where_nothing_can_be_read_is_an_error(tmp_path):
    with pytest.raises(ReadError, match="empty"):
        read(tmp_path)
    (tmp_path / "a.txt").write_text("hello")
    with pytest.raises(ReadError, match=r"nothing could be read \(1 problem; first, .*a\.txt: is not recognized\)"):
        read(tmp_path)
    with pytest.raises(ReadError, match="nothing could be read"):
        read(tmp_path, errors="collect")


def test_a_missing_path_is_an_error(tmp_path):
    with pytest.raises(ReadError, match=r"nope: no such file or folder; check the path"):
        read(tmp_path / "nope")


@pytest.mark.integration
def test_a_pattern_is_the_files_that_it_fits(tmp_path, monkeypatch):
    """As a shell has it: in order, without what is hidden, `**` for folders of folders; each file once."""
    row = "rollout_id,prompt,response\n{name},Hi,Hello\n"
    for name in ("b/2.csv", "a/1.csv", "a/deep/3.csv", "a/.4.csv", "a/5.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(row.format(name=name))
    monkeypatch.chdir(tmp_path)
    assert read("*/*.csv")["rollout_id"].to_list() == ["a/1.csv", "b/2.csv"]
    assert read(tmp_path / "**" / "*.csv")["rollout_id"].to_list() == ["a/1.csv", "a/deep/3.csv", "b/2.csv"]
    assert scan(["a/[13].csv", "a"], format="native").collect()["rollout_id"].to_list() == [
        "a/1.csv",
        "a/5.txt",
        "a/deep/3.csv",
    ]
    assert rw.readers.read_rollouts("b/?.csv")["rollout_id"].to_list() == ["b/2.csv"]
    for verb in (read, scan, rw.readers.read_rollouts):
        with pytest.raises(ReadError, match=r"c/\*\.csv: nothing fits this pattern; check the path \(seen from "):
            verb("c/*.csv")


def test_a_frame_is_no_path():
    """It is not shown whole, and who gave it is told what takes frames."""
    frame: Any = pl.DataFrame({"rollout_id": ["a", "b"]})
    with pytest.raises(ArgumentError, match=r"^read: a DataFrame is not a path; .* is given to `rw\.turns\(frame\)`$"):
        read(frame)


@pytest.mark.integration
@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.csv", "a.json"])
def test_brackets_and_stars_in_a_path_are_no_pattern(tmp_path, name):
    folder = tmp_path / "run[1]*"
    folder.mkdir()
    frame = turns([{"rollout_id": "a", "prompt": "p"}])
    writers: dict[str, Any] = {
        ".parquet": frame.write_parquet,
        ".arrow": frame.write_ipc,
        ".csv": frame.drop("tool_calls", "tool_results").write_csv,
        ".json": frame.write_json,
    }
    writers[Path(name).suffix](folder / name)
    assert read(folder)["rollout_id"].to_list() == ["a"]
    assert scan(folder / name).collect()["rollout_id"].to_list() == ["a"]


def test_paths_may_come_from_a_generator(tmp_path):
    assert read(path for path in [FIXTURES / "native"]).height == 11
    assert scan(path for path in [FIXTURES / "native"]).collect().height == 11
    with pytest.raises(ArgumentError, match="is not a path"):
        read(3)  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match="is not a path"):
        read([3])  # type: ignore[list-item]
    with pytest.raises(ReadError, match="cannot be reached"):
        read(tmp_path / ("x" * 5000))


def test_a_pipe_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ReadError, match="neither a file nor a folder"):
        read(tmp_path / "pipe")


def test_permission_denied_says_what_to_do(tmp_path, monkeypatch):
    file = tmp_path / "a.json"
    shutil.copy(FIXTURES / "native" / "toy.json", file)
    shutil.copy(FIXTURES / "native" / "toy.csv", tmp_path)
    opened = Path.open

    def refuse(self, *arguments, **options):
        if self.name == "a.json":
            raise PermissionError(13, "Permission denied")
        return opened(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(
        ReadError, match=r'a\.json: may not be read \(permission denied\): `chmod u\+r` it; errors="collect" reads'
    ):
        read(file)
    frame, problems = read(tmp_path, errors="collect")
    assert frame.height == 3
    assert problems["reason"].to_list() == ["may not be read (permission denied): `chmod u+r` it"]


@pytest.mark.thinned(8)
@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("half.json", b'{"parameters": {"method": "x"}, "jailbreaks": [{"ind', "not valid JSON .*half-written"),
        ("empty.json", b"", "is empty, not JSON"),
        ("words.json", b"hello", "not valid JSON"),
        ("html.json", b"<html></html>", "not valid JSON"),
        ("deep.json", b"[" * 200_000, "nested too deeply"),
        ("deep2.json", b'{"rollout_id": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", "nested too deeply"),
        ("bytes.json", b'[{"rollout_id": "a", "prompt": "\xff"}]', "not UTF-8"),
        ("lfs.json", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
        ("digits.json", b'{"rollout_id": "a", "turn": ' + b"9" * 5000 + b"}", "number that cannot be read"),
        ("half.parquet", b"PAR1" + b"x" * 40, "not a complete Parquet file"),
        ("half.arrow", b"ARROW1\0\0" + b"x" * 40, "not a complete Arrow file"),
        ("half.csv.gz", gzip.compress(b"rollout_id,prompt\na,b\n", mtime=0)[:-9], "not a complete gzip file"),
        ("half.csv", b'rollout_id,prompt\na,"b', "not a complete table"),
        ("other.csv", "rollout_id,prompt\na,Да\n".encode("cp1251"), r"is not UTF-8 \(byte 20\): save it as UTF-8"),
        ("short.csv", b"rollout_id,turn,prompt\na,1,x\nb,1", "ends in the middle of a row"),
        ("wide.csv", b"rollout_id,prompt\na,b,c,d\n", "not a complete table"),
    ],
)
def test_a_broken_file_is_an_error_or_a_row(tmp_path, name, content, says):
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(ReadError, match=rf'(?s){name}.*{says}.*errors="collect"'):
        read(file)
    shutil.copy(FIXTURES / "native" / "toy.csv", tmp_path)
    with pytest.raises(ReadError, match=name):
        read(tmp_path)
    frame, problems = read(tmp_path, errors="collect")
    assert frame.height == 3
    assert Path(problems["file"].item()).name == name


def test_a_table_that_is_not_utf_8_is_named_as_such_whatever_its_columns(tmp_path):
    """As Excel saves "CSV" where people write Cyrillic: that comes before advice on names of columns."""
    file = tmp_path / "excel.csv"
    file.write_bytes("Модель,Ответ\na,b\n".encode("cp1251"))
    with pytest.raises(ReadError, match=r"excel\.csv: is not UTF-8 \(byte 0\): save it as UTF-8$"):
        read(file)


def test_a_json_file_of_lines_and_a_lines_file_of_one(tmp_path):
    lines = (FIXTURES / "native" / "toy.jsonl").read_bytes()
    (tmp_path / "a.json").write_bytes(lines)
    assert read(tmp_path / "a.json").height == 2
    (tmp_path / "b.jsonl").write_bytes(lines.splitlines()[0])
    assert read(tmp_path / "b.jsonl").height == 1


def test_a_lines_file_cut_in_its_last_line(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_bytes((FIXTURES / "native" / "toy.jsonl").read_bytes() + b'{"rollout_id": "j2", "pro')
    with pytest.raises(ReadError, match="record 3: is not valid JSON"):
        read(file)
    frame, problems = read(file, errors="collect")
    assert frame.height == 2
    assert problems["record"].to_list() == ["3"]


@pytest.mark.parametrize(
    ("name", "content", "verb"),
    [
        ("labels.csv", "score,grader,LLM\n1,a,b\n", "read_verdicts"),
        ("pairs.csv", "LLM_1,LLM_2,grader,first_is_chosen\na,b,c,1\n", "read_verdicts"),
        ("refusals.csv", ",user_message,assistant_message,score_value\n0,a,b,TRUE\n", "read_verdicts"),
        ("output.json", '{"average_score": 1, "eval_output_items": []}', "read_verdicts"),
        ("verdicts.csv", "rollout_id,turn,judge,value\na,1,j,0.5\n", "read_verdicts"),
        ("summary.csv", "metric,statistic,level,estimate\nx,mean,0.95,1\n", "read_summary"),
        ("games.json", '{"Alien": [1, 2.5], "Pong": [3]}', "read_summary"),
        ("board.jsonl", '{"model": "a", "score": 1, "lower": 0, "upper": 2, "results": []}\n' * 2, "read_summary"),
        ("prompts.csv", "goal,target\na,b\n", "read_prompts"),
        ("prompts.json", '["a", "b"]', "read_prompts"),
        (
            "evaluation_results.jsonl",
            '{"uid": "a_1_x", "scenario_id": "a", "item_id": 1, "score": 1.0}\n',
            "read_verdicts",
        ),
        (
            "red_teaming_summary.json",
            '{"overall_score": 1, "attack_success_rate": 1, "per_scenario_summary": {}}',
            "summary",
        ),
        ("aggregated_results.jsonl", '{"eval/all/avg_score": 0.5, "eval/all/pass_at_1": 0.5}\n', "read_summary"),
        ("finding.json", '{"finding_id": "f", "prompts": ["Hi"], "observed_behavior": "x"}', "read_prompts"),
        ("rollouts.csv", "rollout_id,outcome,num_turns\na,success,3\n", "Polars"),
    ],
)
def test_what_holds_no_rollouts_is_refused_by_name(tmp_path, name, content, verb):
    (tmp_path / name).write_text(content)
    with pytest.raises(ReadError, match=rf"holds .*, not rollouts: open it with .*{verb}"):
        read(tmp_path / name)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "verb"),
    [
        ("hibayes_judge_csv/q1.csv", "read_verdicts"),
        ("hibayes_judge_csv/q2.csv", "read_verdicts"),
        ("hibayes_judge_csv/q5.csv", "read_verdicts"),
        ("pyrit/refusal_scorer_eval.csv", "read_verdicts"),
        ("nat_eval_docs/evaluate_L1101.json", "read_verdicts"),
        ("arena_hard/leaderboard_20240731.csv", "read_summary"),
        ("arena_hard/bootstrap_stats_arena_hard.jsonl", "read_summary"),
        ("atari/DIAMOND.json", "read_summary"),
        ("atari/dreamerv2_baselines.json", "read_summary"),
        ("atari/rliable_atari100k_random_human.json", "read_summary"),
        ("astra_rl_prompts/adv_bench_prompts.csv", "read_prompts"),
        ("astra_rl_prompts/task_prompts.json", "read_prompts"),
        ("quesma_gpt_oss/findings/finding_discrimination.json", "read_prompts"),
        ("quesma_gpt_oss/findings/deception_example_001.json", "read_prompts"),
        ("tau2_bench/results.json", "rw.read"),
        ("MANIFEST.tsv", "not recognized"),
        ("README.md", "not recognized"),
        ("jailbreakbench/PAIR/attack-info.json", "holds the models of an attack, not rollouts"),
    ],
)
def test_real_files_without_rollouts(shared, name, verb):
    with pytest.raises(ReadError, match=verb):
        read(shared / name)


@pytest.mark.integration
def test_a_rollout_found_twice_is_reported(tmp_path):
    first, second = tmp_path / "1.csv", tmp_path / "2.jsonl"
    first.write_text("rollout_id,prompt\na,one\nb,one\n")
    second.write_text('{"rollout_id": "a", "prompt": "two"}\n{"rollout_id": "c", "prompt": "two"}\n')
    with pytest.raises(ReadError, match=r"2\.jsonl: record a: rollout 'a' appears in .*1\.csv as well.*keep the first"):
        read(tmp_path)
    frame, problems = read(tmp_path, errors="collect")
    assert frame.select("rollout_id", "prompt").rows() == [("a", "one"), ("b", "one"), ("c", "two")]
    assert problems.select("record").rows() == [("a",)]


@pytest.mark.integration
def test_a_copy_of_a_log_is_the_same_rollouts(tmp_path):
    for name in ("a.json", "b.json"):
        shutil.copy(FIXTURES / "jailbreakbench" / "toy.json", tmp_path / name)
    frame, problems = read(tmp_path, errors="collect")
    assert (frame.height, problems.height) == (3, 3)
    assert problems["reason"].str.contains(r"appears in .*a\.json as well, and counts once").all()
    assert read(tmp_path).equals(frame)


@pytest.mark.integration
def test_extras_that_disagree_become_json_text(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"rollout_id": "a", "prompt": "p", "index": 1, "n": 1, "l": [1], "z": null}\n')
    (tmp_path / "b.jsonl").write_text('{"rollout_id": "b", "prompt": "p", "index": "1", "n": 2.5, "l": 3, "z": 4}\n')
    frame = read(tmp_path)
    assert frame["index"].to_list() == ["1", '"1"']
    assert frame["l"].to_list() == ["[1]", "3"]
    assert frame["n"].to_list() == [1.0, 2.5]
    assert frame["z"].to_list() == [None, 4]


@pytest.mark.integration
def test_nan_becomes_null_and_is_counted(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("rollout_id,prompt,score\na,p,NaN\nb,q,0.5\n")
    (tmp_path / "b.json").write_text('[{"rollout_id": "c", "prompt": "p", "score": NaN, "reward": -Infinity}]')
    turns([{"rollout_id": "d", "prompt": "p"}]).with_columns(harm=float("nan")).write_parquet(tmp_path / "c.parquet")
    frame = read(tmp_path)
    schema.check(frame, TURNS)
    assert frame["score"].to_list() == [None, 0.5, None, None]
    assert frame["harm"].null_count() == 4
    assert capsys.readouterr().err.startswith("rollwise: 4 NaN became null: ")
    _, problems = read(tmp_path, errors="collect")
    assert problems["field"].to_list() == ["score", None, "harm"]
    assert problems["reason"].str.contains("became null").all()


def test_half_a_surrogate_pair_is_read(tmp_path):
    text = json.dumps([{"rollout_id": "a", "prompt": "cut \ud83d", "response": "\ud83d\ude00"}])
    (tmp_path / "a.json").write_text(text)
    assert read(tmp_path).select("prompt", "response").row(0) == ("cut \\ud83d", "\U0001f600")


@pytest.mark.integration
def test_a_byte_order_mark_is_no_obstacle(tmp_path):
    for name in ("toy.csv", "toy.json"):
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + (FIXTURES / "native" / name).read_bytes())
    assert read(tmp_path).height == 5


@pytest.mark.integration
@pytest.mark.parametrize("name", ["a.parquet", "b.parquet", "*", "files"])
def test_parquet_is_scanned_and_not_loaded(tmp_path, name):
    one, two = turns([{"rollout_id": "a", "prompt": "p", "harm": 0.5}]), turns([{"rollout_id": "b", "prompt": "q"}])
    one.write_parquet(tmp_path / "a.parquet")
    two.write_parquet(tmp_path / "b.parquet")
    paths = {"*": tmp_path, "files": [tmp_path / "a.parquet", tmp_path / "b.parquet"]}.get(name, tmp_path / name)
    lazy = scan(paths, target="gpt")
    assert "SCAN" in lazy.explain()
    assert lazy.collect().equals(read(paths, target="gpt"))


def test_parquet_beside_a_manifest_is_scanned(tmp_path, capsys):
    turns([{"rollout_id": "a", "prompt": "p"}]).write_parquet(tmp_path / "a.parquet")
    (tmp_path / "manifest.json").write_text("{}")
    assert "SCAN" in scan(tmp_path).explain()
    assert "1 file not recognized" in capsys.readouterr().err


@pytest.mark.integration
def test_what_cannot_be_scanned_is_read(tmp_path):
    turns([{"rollout_id": "a", "prompt": "p", "index": 1}]).write_parquet(tmp_path / "a.parquet")
    turns([{"rollout_id": "b", "prompt": "p", "index": "1"}]).write_parquet(tmp_path / "b.parquet")
    assert scan(tmp_path).collect().equals(read(tmp_path))
    assert scan(FIXTURES).collect().equals(read(FIXTURES))
    pl.DataFrame({"rollout_id": [1], "attack": ["x"]}).write_parquet(tmp_path / "a.parquet")
    assert scan(tmp_path / "a.parquet").collect()["rollout_id"].to_list() == ["1"]


def test_scan_fills_facts_and_turns_nan_into_null(tmp_path):
    turns([{"rollout_id": "a", "prompt": "p"}]).with_columns(harm=float("nan")).write_parquet(tmp_path / "a.parquet")
    frame = scan(tmp_path, run="r").collect()
    assert frame.select("run", "harm").row(0) == ("r", None)


@pytest.mark.integration
def test_the_folders_together(shared):
    folders = ["jailbreakbench", "llm_adaptive_attacks", "agentdojo_drift", "tau_bench", "intercode"]
    frame, problems = read([shared / folder for folder in folders], errors="collect")
    schema.check(frame, TURNS)
    counted = frame.group_by("source").agg(pl.col("rollout_id").n_unique(), pl.col("turn").count()).sort("source")
    assert counted.rows() == [
        ("agentdojo", 446, 2089),
        ("intercode", 3530, 10456 + 112),
        ("jailbreakbench", 1203 + 319, 1203 + 319),
        ("tau_bench", 201, 2474),
    ]
    assert problems.height == 0  # the lists of models beside the artifacts of JailbreakBench are companions


@pytest.mark.integration
def test_the_folders_of_three_more_tools_together(shared):
    frame, problems = read([shared / folder for folder in ("inspect", "mint", "garak")], errors="collect")
    schema.check(frame, TURNS)
    counted = frame.group_by("source").agg(pl.col("rollout_id").n_unique(), pl.col("turn").count()).sort("source")
    assert counted.rows() == [("garak", 160, 160), ("inspect", 570, 710), ("mint", 1230, 4639)]
    reasons = ["holds no output", "rw.readers.read_summary", "appears in"]
    assert [problems["reason"].str.contains(reason).sum() for reason in reasons] == [8, 3, 1]
    assert problems.height == 12


@pytest.mark.integration
def test_the_folders_of_eight_more_tools_together(shared):
    folders = (
        "quesma_gpt_oss",
        "swe_agent",
        "atif",
        "deepteam",
        "hh_rlhf",
        "fastchat",
        "claude_code_jsonl",
        "tau2_bench",
    )
    frame, problems = read([shared / folder for folder in folders], errors="collect")
    schema.check(frame, TURNS)
    counted = frame.group_by("source").agg(pl.col("rollout_id").n_unique(), pl.col("turn").count()).sort("source")
    assert counted.rows() == [
        ("atif", 7, 15),
        ("claude_code", 13, 15),
        ("deepteam", 2, 2),
        ("hh_rlhf", 2 * 1196, 5859),
        ("quesma", 46 + 1 + 3, 58 + 2 + 3),
        ("sharegpt", 500 + 30, 1000 + 60),
        ("swe_agent", 14, 135),
        ("tau2", 1, 10),
    ]
    # Streams of events beside the ATIF file of their run and the header beside the simulations are passed over.
    assert problems["reason"].str.contains("rw.rollout.read_prompts").sum() == problems.height == 2


@pytest.mark.integration
def test_everything_together_is_read_or_named(shared):
    frame, problems = read(shared, errors="collect")
    schema.check(frame, TURNS)
    files = {str(path) for path in shared.rglob("*") if path.is_file()}
    assert set(problems["file"]) <= files


@pytest.mark.integration
@pytest.mark.parametrize("shape", ["lines", "list", "turns", "chats", "tool"])
def test_texts_that_differ_only_in_half_a_surrogate_pair_stay_two(tmp_path: Path, shape: str) -> None:
    """Two goals, ids or answers, in a log or in rows of one's own: both became `a?`, so that two goals were one."""
    names = ("a\ud800", "a\ud801")
    rows = [{"rollout_id": name, "goal": name, "prompt": name, "response": name} for name in names]
    chat = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
    made: dict[str, Any] = {
        "lines": "\n".join(map(json.dumps, rows)),
        "list": json.dumps(rows),
        "turns": "\n".join(json.dumps({**row, "turns": [{"prompt": "p", "response": "r"}]}) for row in rows),
        "chats": "\n".join(json.dumps({"id": row["goal"], "goal": row["goal"], "messages": chat}) for row in rows),
        "tool": json.dumps({
            "parameters": {"method": "PAIR", "model": "m", "attack_type": "black_box"},
            "jailbreaks": [
                {"index": index, "goal": name, "prompt": name, "response": "r", "jailbroken": True}
                for index, name in enumerate(names)
            ],
        }),
    }  # fmt: skip
    path = tmp_path / ("log.json" if shape in {"list", "tool"} else "log.jsonl")
    path.write_text(made[shape])
    turns = read(path)
    assert sorted(turns["goal"]) == [r"a\ud800", r"a\ud801"]
    assert turns["rollout_id"].n_unique() == 2
    if shape == "lines":
        assert sorted(rw.turns(rows)["goal"]) == sorted(turns["response"]) == [r"a\ud800", r"a\ud801"]
