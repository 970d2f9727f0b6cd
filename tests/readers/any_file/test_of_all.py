"""What an object says around its records, and other records beside them: neither counts as theirs, nor passes in silence."""

import json
from pathlib import Path
from typing import Any

import pytest

import rollwise as rw
from rollwise.errors import ReadError


def written(path: Path, value: Any) -> Path:
    """Write JSON."""
    path.write_text(json.dumps(value))
    return path


def attempts(model: str, count: int = 9) -> list[dict[str, Any]]:
    """Return records with a verdict, a third of them successes."""
    return [{"prompt": f"p{n}", "response": f"{model} says {n} things", "jailbroken": n % 3 == 0} for n in range(count)]


@pytest.mark.parametrize("total", [{"score": 100}, {"reward": 0.5}, {"total_cost": 3.2}, {"duration_seconds": 12.5}])
def test_totals_around_records_are_no_amounts_of_each(tmp_path: Path, total: dict[str, float]) -> None:
    """A score, a reward, a cost and seconds of the whole file stay columns, and are not those of each record."""
    log = {"model": "m", "summary": {**total, "passed": 3}, "results": attempts("m")}
    turns = rw.read(written(tmp_path / "log.json", log))
    rollouts = rw.measure(turns, rw.metrics.attack_success())
    assert rollouts["attack_success"].sum() == 3
    amounts = turns.select("score", "reward", "cost_usd", "total_cost_usd", "total_seconds", "seconds")
    assert amounts.null_count().row(0) == (9,) * 6
    assert f"summary.{next(iter(total))}" in turns.columns


def test_records_of_one_kind_in_two_lists_are_asked_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of two lists with records of one kind none is left out in silence; the answer reads one of them."""
    log = written(
        tmp_path / "log.json", {"date": "d", "gpt_results": attempts("gpt"), "claude_results": attempts("c", 6)}
    )
    with pytest.raises(ReadError, match=r"`gpt_results\[\*\]` and `claude_results\[\*\]` hold records of one kind"):
        rw.read(log)
    assert rw.read(log, names={"records": "claude_results[*]"}).height == 6


def test_failures_listed_once_more_are_no_further_records(tmp_path: Path) -> None:
    """A list of some of the same records once more is no question: each rollout is counted once."""
    records = attempts("m")
    log = {"date": "d", "results": records, "failures": [each for each in records if each["jailbroken"]]}
    assert rw.read(written(tmp_path / "log.json", log)).height == 9


def test_two_labels_of_the_same_words_are_asked_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a detector says and what is true have the same words: which of them counts is not guessed."""
    records = [
        {
            "conversation_id": f"c{n}",
            "raw_output": f"I think that conversation {n} is one of them.",
            "label": ["jailbreak", "benign"][n % 2],
            "verdict": ["jailbreak", "benign"][n % 3 > 0],
        }
        for n in range(12)
    ]
    turns = rw.read(written(tmp_path / "log.json", records))
    assert turns.select("succeeded", "outcome").null_count().row(0) == (12, 12)
    assert "differ: which is the verdict?" in capsys.readouterr().err


def test_the_model_that_generates_is_no_answer(tmp_path: Path) -> None:
    """An object of totals whose model is called `generation_model` holds no rollout."""
    totals = {"generation_model": "llama3.1-8b", "attack_results": {"dd": {"n_jailbreak": 50, "vanilla": {"f1": 0.3}}}}
    with pytest.raises(ReadError, match="is not recognized"):
        rw.read(written(tmp_path / "log.json", totals))
