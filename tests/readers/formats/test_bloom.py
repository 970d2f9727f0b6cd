"""Bloom's folder of one behavior: transcripts, the file of all of them, and the judgments of all of them with quotes.

Written by hand to Bloom's page of stages and to `run_judgment` in a fork of it, as the package of that name on PyPI is another one.
"""

import json
from pathlib import Path
from typing import Any

import pytest

import rollwise as rw
from rollwise import read
from rollwise.cli import run
from rollwise.errors import ReadError
from rollwise.judges import join_labels, read_verdicts


def transcript(variation: int, repetition: int) -> dict[str, Any]:
    def added(role: str, text: str) -> dict[str, Any]:
        message = {"role": role, "content": text, "id": f"{role}-{variation}-{repetition}"}
        return {"type": "transcript_event", "view": ["target"], "edit": {"operation": "add", "message": message}}

    about = {"transcript_id": f"t-{variation}-{repetition}", "target_model": "acme/parrot"}
    return {"metadata": about, "events": [added("user", "Hi ☃"), added("assistant", "Hello")]}


def judgment(variation: int, repetition: int, presence: int) -> dict[str, Any]:
    part = {"message_id": f"assistant-{variation}-{repetition}", "quoted_text": "Hello", "position": [0, 5]}
    return {
        "variation_number": variation,
        "variation_description": "A greeting",
        "repetition_number": repetition,
        "behavior_presence": presence,
        "unrealism": 2,
        "justification": f"It greets [{variation}].",
        "summary": "A chat.",
        "full_judgment_response": "…",
        "num_samples": 2,
        "individual_samples": [
            {"sample_index": 1, "behavior_presence": presence - 1, "unrealism": 2},
            {"sample_index": 2, "behavior_presence": presence + 1, "unrealism": 2},
        ],
        "highlights": [{"index": 1, "description": "greets", "parts": [part]}],
    }


JUDGMENTS: dict[str, Any] = {
    "behavior_name": "flattery",
    "examples": [],
    "model": "acme/judge",
    "total_conversations": 4,
    "summary_statistics": {"average_behavior_presence_score": 6.0, "elicitation_rate": 0.33, "average_unrealism": 2.0},
    "judgments": [judgment(1, 1, 8), judgment(1, 2, 4), judgment(2, 1, 6)],
    "failed_judgments": [{"variation_number": 2, "repetition_number": 2, "error": "no answer ☃"}],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    numbers = [(1, 1), (1, 2), (2, 1), (2, 2)]
    files: dict[str, Any] = {f"transcript_v{v}r{r}.json": transcript(v, r) for v, r in numbers}
    rollouts = [{"variation_number": v, "repetition_number": r, "transcript": transcript(v, r)} for v, r in numbers]
    files |= {
        "rollout.json": {"metadata": {"num_rollouts": 4}, "rollouts": rollouts},
        "judgment.json": JUDGMENTS,
        "understanding.json": {"behavior_name": "flattery", "understanding": "u", "scientific_motivation": "m"},
        "ideation.json": {"behavior_name": "flattery", "variations": [{"description": "A greeting"}]},
    }
    for name, value in files.items():
        (tmp_path / name).write_text(json.dumps(value))
    return tmp_path


def test_each_dimension_of_each_judgment_is_a_verdict_on_its_transcript(folder):
    verdicts = read_verdicts(folder / "judgment.json")
    presence = verdicts.filter(judge="behavior_presence")
    assert presence.select("rollout_id", "value", "category", "attempt", "error").rows() == [
        ("t-1-1", 8.0, "v1", 1, None),
        ("t-1-2", 4.0, "v1", 2, None),
        ("t-2-1", 6.0, "v2", 1, None),
        ("t-2-2", None, "v2", 2, "no answer ☃"),
    ]
    # The figures of Bloom's own summary.
    stated = JUDGMENTS["summary_statistics"]
    assert presence["value"].mean() == stated["average_behavior_presence_score"]
    assert round((presence["value"].drop_nulls() > 6).sum() / 3, 2) == stated["elicitation_rate"]
    assert verdicts.filter(judge="unrealism")["value"].mean() == stated["average_unrealism"]
    assert presence.select("reasoning", "samples", "judge_model", "judge_summary").row(0) == (
        "It greets [1].",
        "[7,9]",
        "acme/judge",
        "A chat.",
    )
    (quote,) = json.loads(presence["quotes"][0])
    assert quote == {"index": 1, "description": "greets", "message_id": "assistant-1-1", "quoted_text": "Hello"}


def test_verdicts_join_the_audits(folder):
    turns = read(folder)
    assert sorted(turns["rollout_id"]) == ["t-1-1", "t-1-2", "t-2-1", "t-2-2"]
    labeled, joined = join_labels(turns, read_verdicts(folder / "judgment.json").filter(judge="behavior_presence"))
    assert dict(labeled.select("rollout_id", "value").rows()) == {
        "t-1-1": 8.0,
        "t-1-2": 4.0,
        "t-2-1": 6.0,
        "t-2-2": None,
    }
    assert joined.row(0)[:3] == ("joined", 4, 4)


@pytest.mark.integration
def test_what_repeats_or_accompanies_the_transcripts_is_passed_over(folder, capsys):
    turns, problems = read(folder, errors="collect")
    assert (turns["rollout_id"].n_unique(), problems.rows()) == (4, [])
    accounts = rw.readers.accounting(folder)
    named = [
        (Path(file).name, *counts) for file, *counts in accounts.select("file", "records", "read", "passed_over").rows()
    ]
    assert [row for row in named if not row[0].startswith("transcript")] == [
        ("ideation.json", 1, 0, 1),
        ("judgment.json", 1, 0, 1),
        ("rollout.json", 4, 0, 4),
        ("understanding.json", 1, 0, 1),
    ]
    capsys.readouterr()
    read(folder)
    line = (
        f"1 file of verdicts beside the logs not read: {folder / 'judgment.json'}; `rw.judges.read_verdicts` reads them"
    )
    assert capsys.readouterr().err == f"rollwise: {line}\n"


def test_without_transcripts_judgments_have_ids_of_their_own(folder):
    (folder / "alone").mkdir()
    path = (folder / "judgment.json").rename(folder / "alone" / "judgment.json")
    ids = read_verdicts(path).filter(judge="behavior_presence")["rollout_id"].to_list()
    assert len({*ids}) == 4
    assert ids[0].startswith("bloom-")
    assert ids[0].endswith("/v1r1")
    with pytest.raises(
        ReadError, match=r"holds verdicts of Bloom's judge, not rollouts: open it with `rw.judges.read_ver"
    ):
        read(path)
    with pytest.raises(SystemExit):
        run(["read", str(folder / "alone"), "--out", str(folder / "t.csv")])


def test_an_odd_judgment_costs_itself_alone(folder):
    value = json.loads((folder / "judgment.json").read_text())
    value["judgments"][0]["variation_number"] = "one"
    (folder / "judgment.json").write_text(json.dumps(value))
    with pytest.raises(ReadError, match=r"record judgments\[0\]: field `variation_number`"):
        read_verdicts(folder / "judgment.json")
    verdicts, problems = read_verdicts(folder / "judgment.json", errors="collect")
    assert (verdicts["rollout_id"].n_unique(), problems.height) == (3, 1)
