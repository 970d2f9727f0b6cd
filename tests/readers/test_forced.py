# mypy: allow-untyped-defs
"""A format that the user forces and the file has not is refused in one sentence, with what the file is."""

import json
from pathlib import Path

import pytest

import rollwise as rw
from rollwise.cli import run
from rollwise.errors import ReadError

FIXTURES = Path(__file__).parent / "fixtures"
GARAK, PROMPTFOO = FIXTURES / "garak" / "report.jsonl", FIXTURES / "promptfoo" / "results.json"


@pytest.mark.parametrize(
    ("path", "forced", "other"),
    [
        (GARAK, "tau2", "garak"),
        (GARAK, "native", "garak"),
        (GARAK, "openai_chat", "garak"),
        (PROMPTFOO, "garak", "promptfoo"),
        (PROMPTFOO, "inspect", "promptfoo"),
        (PROMPTFOO, "native", "promptfoo"),
    ],
)
@pytest.mark.parametrize("errors", ["raise", "collect"])
def test_a_log_of_another_tool_is_refused(path, forced, other, errors):
    with pytest.raises(
        ReadError, match=f"does not fit format='{forced}': it is recognized as {other} .*leave format= out"
    ):
        rw.read(path, format=forced, errors=errors)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.json", {"results": [{"response": "No."}] * 924, "score": 0.5}, r"one JSON object \(`results`, `score`\)"),
        ("a.json", {"task_0": True, "task_1": False}, "one JSON object"),
        ("a.json", {"tests": {"a": 1}, "goal": ["g", "h"]}, "one JSON object"),
        ("a.csv", "sepal,petal\n5.1,1.4\n", "has no prompt, response or verdict .* `petal`, `sepal`"),
        (
            "a.jsonl",
            '{"accuracy": 0.5, "total": 3}\n{"accuracy": 0.4, "total": 5}\n',
            "has no prompt, response or verdict",
        ),
        ("a.jsonl", {"messages": [{"role": "assistant", "content": "Hi"}]}, "recognized as openai_chat"),
    ],
)
def test_what_holds_no_rows_of_turns_is_no_table(name, content, reason, tmp_path):
    """Before, it became one rollout without a verdict."""
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(ReadError, match=f"does not fit format='native': it .*{reason}"):
        rw.read(path, format="native")


@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    ("name", "content", "rollouts"),
    [
        ("a.csv", "prompt,response\nHi,Hello\nMore,No\n", 2),  # no verdict: not recognized, but told to be rollouts
        ("a.csv", "instance_id,passed\na,1\nb,0\n", 2),
        (
            "a.jsonl",
            '{"prompt": "Hi", "completion": "No", "reward": 1.0}\n' * 3,
            3,
        ),  # recognized as a dump of a trainer
        ("a.json", '[{"question": "Hi", "answer": "No"}]', 1),
        ("a.json", '{"prompt": "Hi", "response": "No", "jailbroken": false}', 1),
    ],
)
def test_rows_are_rollouts_where_the_user_says_so(name, content, rollouts, tmp_path):
    path = tmp_path / name
    path.write_text(content)
    assert rw.read(path, format="native")["rollout_id"].n_unique() == rollouts


def test_a_reader_that_was_forced_says_what_is_missing(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"simulations": 3}')
    with pytest.raises(ReadError, match=r"a\.json: is not recognized as tau2: .*leave format= out"):
        rw.read(path, format="tau2")
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ReadError, match="does not fit format='tau2': it is a table"):
        rw.read(tmp_path / "a.csv", format="tau2")


def test_in_a_folder_the_files_of_the_format_are_read_and_the_others_listed(tmp_path):
    (tmp_path / "report.jsonl").write_bytes(GARAK.read_bytes())
    (tmp_path / "results.json").write_bytes(PROMPTFOO.read_bytes())
    turns, problems = rw.read(tmp_path, format="garak", errors="collect")
    assert turns["source"].unique().to_list() == ["garak"]
    assert problems.filter(reason="is not recognized as garak").height == 1


def test_the_command_line_says_it_too(capsys):
    with pytest.raises(SystemExit) as leaving:
        run(["summarize", str(GARAK), "--log-format", "tau2"])
    assert leaving.value.code == 2
    assert "does not fit --log-format tau2: it is recognized as garak (reports of garak): leave --log-format out" in (
        capsys.readouterr().err
    )
