"""Roles and kinds of entries that are written otherwise are understood; those that nobody knows are named."""

import json
from pathlib import Path

import pytest
from readers.mutants import FIXTURES, loaded, written  # type: ignore[import-not-found]  # needs the path of tests

import rollwise as rw

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
    value = loaded(source)
    chat = value
    for part in path:
        chat = chat[part]
    answer = [message for message in chat if message["role"] in {"assistant", "target"}][-1]
    answer["role"] = role if role.strip().lower() != "assistant" else role.replace("assistant", answer["role"])
    return written(source, value)


@pytest.mark.integration
@pytest.mark.parametrize("role", ["assistant ", "Assistant", "ASSISTANT", "narrator"])
@pytest.mark.parametrize("log", list(CHATS))
def test_a_role_is_understood_or_named(log, role, tmp_path):
    path = tmp_path / Path(log).name
    path.write_text((FIXTURES / log).read_text())
    before = rw.read(path, errors="collect")[0]
    path.write_text(changed(log, CHATS[log], role))
    turns, problems = rw.read(path, errors="collect")
    if role == "narrator":
        assert problems["reason"].str.contains("'narrator' is not a known speaker").any()
        assert "narrator" in problems.filter(field="role")["reason"][0]
    else:
        assert turns["turn"].count() == before["turn"].count()
        assert turns["response"].to_list() == before["response"].to_list()


@pytest.mark.integration
def test_a_speaker_that_is_not_known_is_named_once(tmp_path):
    chat = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "Ann", "content": "!"},
    ]
    lines = [json.dumps({"id": number, "messages": chat}) for number in range(5)]
    (tmp_path / "chats.jsonl").write_text("\n".join(lines))
    turns, problems = rw.read(tmp_path, errors="collect")
    assert turns["observation"].to_list() == ["!"] * 5
    assert problems.height == 1
    assert rw.read(tmp_path).height == 5  # a doubt stops nothing


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


@pytest.mark.thinned(3)
@pytest.mark.parametrize("log", list(KINDS))
def test_a_kind_of_entry_is_understood_or_named(log, tmp_path):
    old, new, word = KINDS[log]
    source = (FIXTURES / log).read_text()
    at = source.rindex(old)
    path = tmp_path / Path(log).name
    path.write_text(source)
    before, problems_before = rw.read(path, errors="collect")
    for other in (f"{word} ", word.title(), word.swapcase()):
        path.write_text(source[:at] + new.format(other) + source[at + len(old) :])
        turns, problems = rw.read(path, errors="collect")
        assert turns["response"].to_list() == before["response"].to_list(), other
        assert problems.height == problems_before.height
    path.write_text(source[:at] + new.format(f"{word}2") + source[at + len(old) :])
    _, problems = rw.read(path, errors="collect")
    assert problems["reason"].str.contains(f"'{word}2' is not a known kind of entry").any()
