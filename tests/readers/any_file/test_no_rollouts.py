"""What stands among the rollouts of people's files and is none: settings, totals, labeled prompts, and rounds of one rollout."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import rollwise as rw
from rollwise.errors import ReadError

SIDES = [True, False, False, True]
TEXTS = [{"prompt": f"Please explain step {n}", "response": f"Here is step {n}", "jailbroken": side} for n, side in enumerate(SIDES)]  # fmt: skip # noqa: E501
OWN = [{"payload": f"Please explain step {n}", "bot_reply": f"Here is step {n}", "breached": side} for n, side in enumerate(SIDES)]  # fmt: skip # noqa: E501
CHATS = [{"messages": [{"role": "user", "content": f"Hi {n}"}, {"role": "assistant", "content": f"Step {n}"}], "jailbroken": side} for n, side in enumerate(SIDES)]  # fmt: skip # noqa: E501
SETTINGS = [
    {"config": {"model": "m", "temperature": 0.7}, "started": "2025-01-01T00:00:00"},
    {"_meta": True, "model": "m"},
    {"judge_model": "gpt-4o", "temperature": 0},
]
TOTALS = [
    {"total": 4, "successes": 2, "asr": 0.5},
    {"summary": {"n": 4, "asr": 0.5}},
    {"asr": 0.5},
    {"model": "m", "attack_success_rate": 0.5, "jailbroken": 2},
    {"n_breached": 2, "n": 4},
]


def lines(path: Path, records: Sequence[Any]) -> Path:
    """Write JSON lines."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def table(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """Write a CSV file."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [*rows[0]])
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(text.getvalue())
    return path


def verdicts(path: Path) -> list[bool | None]:
    """Return whether each rollout that is read of a file succeeded."""
    turns = rw.read(path).group_by("rollout_id", maintain_order=True).last()
    return [
        {"success": True, "failure": False}.get(outcome, succeeded)
        for outcome, succeeded in turns.select("outcome", "succeeded").rows()
    ]


@pytest.mark.parametrize("records", [TEXTS, OWN, CHATS], ids=["texts", "own", "chats"])
def test_settings_above_and_totals_below_are_no_rollouts(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    """One line above or below the rollouts is of the file: PROBLEMS names it, and no rollout is lost."""
    for number, other in enumerate(SETTINGS):
        assert verdicts(lines(tmp_path / f"s{number}.jsonl", [other, *records])) == SIDES
    for number, other in enumerate(TOTALS):
        assert verdicts(lines(tmp_path / f"t{number}.jsonl", [*records, other])) == SIDES
    path = lines(tmp_path / "both.jsonl", [SETTINGS[0], *records, TOTALS[0]])
    turns, problems = rw.read(path, errors="collect")
    assert turns["rollout_id"].n_unique() == len(SIDES)
    reason = "tells of the whole file, such as its settings or its totals: no rollout"
    assert problems.select("record", "reason").rows() == [("1", reason), ("6", reason)]


@pytest.mark.parametrize("word", ["TOTAL", "Average", "mean", "Sum", "Overall:"])
def test_a_last_row_of_totals_is_no_rollout(tmp_path: Path, word: str) -> None:
    """As spreadsheets have it; alone, and where several files are read as one."""
    for first, rows in (("prompt", TEXTS), ("payload", OWN)):
        verdict = [*rows[0]][-1]
        total = {**dict.fromkeys(rows[0], ""), first: word, verdict: 0.5}
        path = table(tmp_path / f"{first}.csv", [*rows, total])
        assert verdicts(path) == SIDES
        folder = tmp_path / f"of {first}"
        folder.mkdir()
        for name in ("a", "b"):
            table(folder / f"{name}.csv", [{**row, "seed": name} for row in [*rows, total]])
        assert verdicts(folder) == SIDES * 2


@pytest.mark.parametrize(
    "last",
    [
        {"prompt": "Please", "response": None, "jailbroken": None},
        {"error": "timeout", "model": "m"},
        {"id": 9, "tokens": 3},
        {"jailbroken": False},
        {"model": "m", "skipped": True},
    ],
)
def test_a_rollout_without_texts_counts(tmp_path: Path, last: dict[str, Any]) -> None:
    """One that crashed, or is only judged, stays in the denominator."""
    assert len(verdicts(lines(tmp_path / "a.jsonl", [*TEXTS, last]))) == len(TEXTS) + 1


LABELED = [
    {"text": "Tell me a story", "harmful": True},
    {"prompt": "Tell me a story", "is_unsafe": False, "category": "x"},
    {"query": "Tell me a story", "toxic": 1},
    {"goal": "Tell me a story", "category": "x", "unsafe": False},
    {"prompt": "Tell me a story", "jailbreak": True, "platform": "reddit"},
]


@pytest.mark.parametrize("record", LABELED, ids="-".join)
def test_labeled_prompts_are_no_rollouts(tmp_path: Path, record: dict[str, Any]) -> None:
    """Without an answer, a target or an attack, a label of harm is the prompt's."""
    label = next(name for name in record if isinstance(record[name], bool | int))
    records = [{**record, label: type(record[label])(n % 2)} for n in range(6)]
    texts = [{name: f"{value} {n}" if value == "Tell me a story" else value for name, value in one.items()} for n, one in enumerate(records)]  # fmt: skip # noqa: E501
    wrapped = tmp_path / "a.json"
    wrapped.write_text(json.dumps({"version": "1", "prompts": texts}))
    for path in (lines(tmp_path / "a.jsonl", texts), table(tmp_path / "a.csv", texts), wrapped):
        with pytest.raises(ReadError, match="holds prompts, not rollouts"):
            rw.read(path)


@pytest.mark.parametrize("name", ["iterations", "attempts", "queries", "log"])
def test_rounds_whose_verdict_is_that_of_what_holds_them_are_asked_about(tmp_path: Path, name: str) -> None:
    """Whether each is a rollout, or a turn of the one that is judged, only the user knows; either answer reads them."""
    rounds = [{"ask": f"Please do {n}", "reply": f"No, not {n}", "judge_score": n} for n in range(3)]
    path = tmp_path / "pair.json"
    for verdict in ("jailbroken", "success"):
        whole = {"goal": "g", "attacker_model": "a", verdict: True, name: rounds}
        path.write_text(json.dumps(whole))
        with pytest.raises(ReadError, match=rf"of what holds `{name}\[\*\]`.*names={{\"records\": \"\?\"}}"):
            rw.read(path)
        turns = rw.read(path, names={"records": ".", "of": "attack"} if verdict == "success" else {"records": "."})
        assert (turns["rollout_id"].n_unique(), turns.height) == (1, 3)
        assert turns["outcome"].to_list() == ["success"] * 3
        turns = rw.read(path, names={"records": f"{name}[*]"})
        assert (turns["rollout_id"].n_unique(), turns["outcome"].count()) == (3, 0)
