"""Nothing vanishes in silence: records in are rollouts out or rows of PROBLEMS, whatever one value is changed into."""

import json
from pathlib import Path
from typing import Any

import pytest
from readers.mutants import FIXTURES, LOGS, findings  # type: ignore[import-not-found]  # needs the path of tests
from simulations import repeated

from rollwise.readers.read import read

FORMATS = sorted({log.relative_to(FIXTURES).parts[0] for log in LOGS})


@pytest.mark.integration
@pytest.mark.parametrize("name", FORMATS)
def test_mutants_of_every_format(name, tmp_path):
    seen = list(findings(70, 0, tmp_path, [name]))
    assert len(seen) > 20
    assert [f"{mutant}: {reason}" for mutant, reason in seen if reason is not None] == []


@pytest.mark.slow
def test_forty_thousand_mutants(tmp_path):
    count, wrong = 0, []
    for mutant, reason in findings(repeated(40_000), 0, tmp_path, []):
        count += 1
        if reason is not None:
            wrong.append(f"{mutant}: {reason}")
    assert wrong == []
    assert count == repeated(40_000)


# ── roles ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
CHATS = {  # logs with messages, and the list of them
    "tau_bench/single.json": ("traj",),
    "agentdojo/messages.json": ("messages",),
    "mint/results.jsonl": (0, "state", "history"),
    "deepteam/assessment.json": ("test_cases", 1, "turns"),
    "inspect/log.json": ("samples", 0, "messages"),
    "tau2/text/simulations/sim-7.json": ("messages",),
    "pyrit/export.json": (),
    "quesma/session.json": ("attempts", 0, "turns"),
}


def changed(log: str, path: tuple[str | int, ...], role: str) -> str:
    """The log with another role in the last answer of a chat."""
    source = FIXTURES / log
    is_lines = source.suffix == ".jsonl"
    text = source.read_text()
    value: Any = [json.loads(line) for line in text.splitlines()] if is_lines else json.loads(text)
    chat = value
    for part in path:
        chat = chat[part]
    answer = [message for message in chat if message["role"] in {"assistant", "target"}][-1]
    answer["role"] = role if role.strip().lower() != "assistant" else role.replace("assistant", answer["role"])
    return "".join(json.dumps(line) + "\n" for line in value) if is_lines else json.dumps(value)


@pytest.mark.parametrize("role", ["assistant ", "Assistant", "ASSISTANT", "narrator"])
@pytest.mark.parametrize("log", list(CHATS))
def test_a_role_is_understood_or_named(log, role, tmp_path):
    path = tmp_path / Path(log).name
    path.write_text((FIXTURES / log).read_text())
    before = read(path, errors="collect")[0]
    path.write_text(changed(log, CHATS[log], role))
    turns, problems = read(path, errors="collect")
    if role == "narrator":
        assert problems["reason"].str.contains("'narrator' is not a known speaker").any()
        assert "narrator" in problems.filter(field="role")["reason"][0]
    else:
        assert turns["turn"].count() == before["turn"].count()
        assert turns["response"].to_list() == before["response"].to_list()


def test_a_speaker_that_is_not_known_is_named_once(tmp_path):
    chat = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "Ann", "content": "!"},
    ]
    lines = [json.dumps({"id": number, "messages": chat}) for number in range(5)]
    (tmp_path / "chats.jsonl").write_text("\n".join(lines))
    turns, problems = read(tmp_path, errors="collect")
    assert turns["observation"].to_list() == ["!"] * 5
    assert problems.height == 1
    assert read(tmp_path).height == 5  # a doubt stops nothing


# ── kinds of entries ──────────────────────────────────────────────────────────────────────────────────────────────────
KINDS = {  # of a log: field, word that is read, what is written otherwise
    "garak/report.jsonl": ('"entry_type": "attempt"', '"entry_type": "{}"', "attempt"),
    "atof/openai.jsonl": ('"category": "llm"', '"category": "{}"', "llm"),
    "codex/rolled_back.jsonl": ('"type":"response_item"', '"type":"{}"', "response_item"),
    "claude_code/session.jsonl": ('"type": "assistant"', '"type": "{}"', "assistant"),
    "langsmith/runs.jsonl": ('"run_type": "llm"', '"run_type": "{}"', "llm"),
    "langfuse/traces.json": ('"type": "GENERATION"', '"type": "{}"', "GENERATION"),
    "phoenix/spans.json": ('"span_kind": "LLM"', '"span_kind": "{}"', "LLM"),
    "anthropic_output/batch_results.jsonl": ('"type": "succeeded"', '"type": "{}"', "succeeded"),
}


@pytest.mark.parametrize("log", list(KINDS))
def test_a_kind_of_entry_is_understood_or_named(log, tmp_path):
    old, new, word = KINDS[log]
    source = (FIXTURES / log).read_text()
    at = source.rindex(old)
    path = tmp_path / Path(log).name
    path.write_text(source)
    before, problems_before = read(path, errors="collect")
    for other in (f"{word} ", word.title(), word.swapcase()):
        path.write_text(source[:at] + new.format(other) + source[at + len(old) :])
        turns, problems = read(path, errors="collect")
        assert turns["response"].to_list() == before["response"].to_list(), other
        assert problems.height == problems_before.height
    path.write_text(source[:at] + new.format(f"{word}2") + source[at + len(old) :])
    _, problems = read(path, errors="collect")
    assert problems["reason"].str.contains(f"'{word}2' is not a known kind of entry").any()


def test_test_cases_of_harmbench_in_an_object_or_missing(tmp_path):
    case = {"test_case": "Write spam", "generation": "No.", "label": 0}
    path = tmp_path / "parrot.json"
    path.write_text(json.dumps({"spam": [case, case], "theft": {"0": case, "1": case}, "fraud": {}, "arson": []}))
    turns, problems = read(path, errors="collect")
    assert turns["goal"].value_counts().sort("goal").rows() == [("spam", 2), ("theft", 2)]
    assert problems.select("field", "reason").rows() == [
        ("fraud", "holds no test case"),
        ("arson", "holds no test case"),
    ]


def test_an_answer_beside_an_error_is_named(tmp_path):
    body = {"object": "chat.completion", "choices": [{"message": {"role": "assistant", "content": "Hi"}}]}
    lines = [
        {"custom_id": n, "error": error, "response": {"status_code": 200, "body": body}}
        for n, error in enumerate([None, "slow"])
    ]
    (tmp_path / "batch.jsonl").write_text("\n".join(map(json.dumps, lines)))
    turns, problems = read(tmp_path, errors="collect")
    assert turns["error"].to_list() == [None, "slow"]
    assert problems.select("field", "reason").rows() == [("error", "is beside an answer, which is left out")]
