"""What stands among the rollouts of people's files and is none: settings, totals, labeled prompts, and rounds of one rollout."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
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


@pytest.mark.thinned(2)
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


@pytest.mark.thinned(6)
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


@pytest.mark.thinned(2)
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


@pytest.mark.integration
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


@pytest.mark.integration
@pytest.mark.parametrize("name", ["iterations", "attempts", "queries", "log"])
def test_rounds_whose_verdict_is_that_of_what_holds_them_are_asked_about(tmp_path: Path, name: str) -> None:
    """Whether each is a rollout, or a turn of the one that is judged, only the user knows; either answer reads them."""
    rounds = [{"ask": f"Please do {n}", "reply": f"No, not {n}", "judge_score": n} for n in range(3)]
    path = tmp_path / "pair.json"
    for verdict in ("jailbroken", "success"):
        whole = {"goal": "g", "attacker_model": "a", verdict: True, name: rounds}
        path.write_text(json.dumps(whole))
        with pytest.raises(
            ReadError,
            match=rf"`\.`, each record of the file, has the verdict, and holds `{name}\[\*\]`.*names={{\"records\": \"\?\"}}",
        ):
            rw.read(path)
        turns = rw.read(path, names={"records": ".", "of": "attack"} if verdict == "success" else {"records": "."})
        assert (turns["rollout_id"].n_unique(), turns.height) == (1, 3)
        assert turns["outcome"].to_list() == ["success"] * 3
        turns = rw.read(path, names={"records": f"{name}[*]"})
        assert (turns["rollout_id"].n_unique(), turns["outcome"].count()) == (3, 0)


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    "names",
    [
        ("successful", "failed"),
        ("jailbreaks", "refusals"),
        ("safe", "unsafe"),
        ("failed_attacks", "successful_attacks"),
    ],
)
def test_lists_whose_names_are_verdicts_are_both_read_and_asked_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], names: tuple[str, str]
) -> None:
    """Beside facts of the file, neither list is read as all of the rollouts, and no side is guessed."""
    texts = [{name: value for name, value in record.items() if name != "breached"} for record in OWN]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"model": "m", names[0]: texts[:3], names[1]: texts[3:]}))
    turns = rw.read(path)
    assert (turns.height, turns["outcome"].count(), turns["solved"].count()) == (len(texts), 0, 0)
    assert "`outcome_list`" in capsys.readouterr().err
    path.write_text(json.dumps({"model": "m", names[0]: OWN, names[1]: [{"model": "m", "seconds": 3}] * 2}))
    assert verdicts(path) == SIDES


@pytest.mark.integration
@pytest.mark.parametrize("name", ["session", "thread", "dialogue", "conversation", "chat"])
def test_rows_of_messages_are_one_conversation_of_each_id(tmp_path: Path, name: str) -> None:
    """Whatever the id of the conversation is called."""
    rows = [
        {
            name: f"s{n}",
            "role": role,
            "content": f"{role} says {n}",
            "jailbroken": side if role == "assistant" else None,
        }
        for n, side in enumerate(SIDES)
        for role in ("user", "assistant")
    ]
    assert verdicts(table(tmp_path / "a.csv", rows)) == SIDES
    assert verdicts(lines(tmp_path / "a.jsonl", rows)) == SIDES


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["texts", "ids"])
def test_a_file_that_judges_the_rollouts_of_another_is_told_of(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Answers and their judgments in two files count twice, and a notice says so; equal numbers of rows say nothing."""
    answers = [{"id": f"q{n}", "prompt": f"Please do {n}", "response": f"Here is {n}"} for n in range(4)]
    judged = [{"id": f"q{n}", "attack": "dan", "jailbroken": side} for n, side in enumerate(SIDES)]
    if kind == "texts":
        judged = [{**answer, **one} for answer, one in zip(answers, judged, strict=True)]
    lines(tmp_path / "answers.jsonl", answers)
    lines(tmp_path / "judged.jsonl", judged)
    turns = rw.read(tmp_path)
    if kind == "ids":  # they are not read beside the answers, and stderr names their file
        assert turns.height == len(SIDES)
        assert "judged.jsonl" in capsys.readouterr().err
        assert verdicts(tmp_path / "judged.jsonl") == SIDES
        return
    assert (
        "answers.jsonl has texts of judged.jsonl, and both count: join them, or leave one out"
        in capsys.readouterr().err
    )
    lines(tmp_path / "answers.jsonl", [{**one, "id": n} for n, one in enumerate(answers)])
    lines(tmp_path / "judged.jsonl", [{"goal": f"g{n}", "jailbroken": side, "id": n} for n, side in enumerate(SIDES)])
    rw.read(tmp_path)
    assert "both count" not in capsys.readouterr().err


@pytest.mark.integration
@pytest.mark.parametrize("text", ["Sure, here is how", "Here is a step by step guide to number"])
def test_the_answer_that_an_attack_aims_at_is_no_target(tmp_path: Path, text: str) -> None:
    """As suffixes are searched for it; the model is told by another column, or not at all."""
    records = [{"goal": f"g{n}", "target": f"{text} {n}", **record} for n, record in enumerate(TEXTS)]
    for extra, target in (({}, [None]), ({"model": "llama 3"}, ["llama 3"])):
        for path in (lines(tmp_path / "a.jsonl", [{**one, **extra} for one in records]), table(tmp_path / "a.csv", [{**one, **extra} for one in records])):  # fmt: skip # noqa: E501
            turns = rw.read(path)
            assert turns["target"].to_list() == target * len(SIDES)
            assert turns["target_text"].to_list() == [record["target"] for record in records]
    names = ["meta-llama/Llama 3 8B Instruct", "GPT-4o (strict system prompt, v2)"]
    records = [{"target": names[n % 2], **record} for n, record in enumerate(TEXTS)]
    assert rw.read(lines(tmp_path / "b.jsonl", records))["target"].to_list() == names * 2


def test_several_answers_side_by_side_are_refused(tmp_path: Path) -> None:
    """One of them alone would be a part of the rollouts."""
    for form in ("response_{}", "output{}", "completion {}"):
        rows = [
            {"prompt": f"Please do {n}", **{form.format(k): f"Here is {n} in {k} words" for k in (1, 2, 3)}}
            for n in range(4)
        ]
        with pytest.raises(ReadError, match="several answers to each prompt side by side"):
            rw.read(table(tmp_path / "a.csv", rows))


# ── the line that is printed never changes which the rollouts are ─────────────────────────────────────────────────────
def _said(n: int) -> list[dict[str, str]]:
    return [{"role": "user", "content": f"Hi {n}"}, {"role": "assistant", "content": f"Step {n}"}] * 2


SHAPES: dict[str, list[Any]] = {
    "chats": [{"data": [{"id": n, "messages": _said(n), "unsafe": side} for n, side in enumerate(SIDES)]}],
    "messages": [
        {"data": [{"id": n, "dialog": [{**one, "unsafe": side} for one in _said(n)]} for n, side in enumerate(SIDES)]}
    ],
    "turns": [
        {
            "data": [
                {"goal": "g", "turns": [{"user": f"{n}", "assistant": f"{n}", "unsafe": side}] * 2}
                for n, side in enumerate(SIDES)
            ]
        }
    ],
    "files": [{"goal": f"g{n}", "history": _said(n), "unsafe": side} for n, side in enumerate(SIDES)],
    "named": [{f"b{n}": {"prompt": f"p{n}", "response": f"r{n}", "unsafe": side} for n, side in enumerate(SIDES)}],
    "deep": [{"a": {"b": [{"prompt": f"p{n}", "response": f"r{n}", "unsafe": side} for n, side in enumerate(SIDES)]}}],
}


@pytest.mark.thinned(2)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_verdict_that_is_answered_leaves_the_rollouts_as_they_are(tmp_path: Path, shape: str) -> None:
    """A named verdict is no sign of which the rollouts are, and a verdict of a whole conversation becomes its outcome."""
    for n, value in enumerate(SHAPES[shape]):
        (tmp_path / f"{n}.json").write_text(json.dumps(value))
    turns = rw.read(tmp_path)
    assert turns["rollout_id"].n_unique() == len(SIDES)
    assert turns["outcome"].count() == turns["succeeded"].count() == 0
    labels = rw.read(tmp_path, names={"succeeded": ("unsafe", {"true": True, "false": False})})
    assert labels.select("rollout_id", "turn", "prompt", "response").equals(
        turns.select("rollout_id", "turn", "prompt", "response")
    )
    last = labels.group_by("rollout_id", maintain_order=True).last()
    sides = [
        outcome == "success" if outcome else succeeded
        for outcome, succeeded in last.select("outcome", "succeeded").rows()
    ]
    assert sides == SIDES


@pytest.mark.thinned(4)
@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "arrow"])
def test_a_table_without_rows_is_one_sentence(tmp_path: Path, suffix: str) -> None:
    """Whatever its columns are called: those of the user's own, and those that are known."""
    for columns in (["q", "a"], ["id", "prompt", "response"]):
        path = tmp_path / f"none.{suffix}"
        frame = pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
        if suffix == "parquet":
            frame.write_parquet(path)
        elif suffix == "arrow":
            frame.write_ipc(path)
        else:
            frame.write_csv(path, separator="," if suffix == "csv" else "\t")
        for names in (None, {"response": columns[-1]}):
            with pytest.raises(ReadError, match="has no records: check that it was written whole"):
                rw.read(path, names=names)
