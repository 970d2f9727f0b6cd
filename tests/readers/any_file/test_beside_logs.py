"""Files of no known format beside logs: nothing is counted twice, and what is left out is said."""

import json
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw

GARAK = Path(__file__).parents[1] / "fixtures" / "garak" / "report.jsonl"
RESULTS = {"run": "a", "total": 2, "results": [{"id": "r1", "jailbroken": True}, {"id": "r2", "jailbroken": False}]}
TEXTS = {"results": [{"prompt": "Do it, please.", "response": "I will not.", "jailbroken": False}] * 2}


@pytest.mark.integration
@pytest.mark.parametrize("beside", [RESULTS, TEXTS])
def test_beside_logs_of_a_tool_only_a_named_file_is_read(tmp_path, beside):
    (tmp_path / "report.jsonl").write_bytes(GARAK.read_bytes())
    (tmp_path / "export.json").write_text(json.dumps(beside))
    turns, problems = rw.read(tmp_path, errors="collect")
    assert set(turns["source"]) == {"garak"}
    said = problems.filter(pl.col("file").str.ends_with("export.json"))["reason"].item()
    assert said.startswith("is of no known format, and may hold the rollouts of the logs of garak beside it once more")
    both = rw.read([tmp_path / "report.jsonl", tmp_path / "export.json"])
    assert both.height == turns.height + 2


@pytest.mark.integration
@pytest.mark.parametrize(("beside", "is_read"), [(RESULTS, False), (TEXTS, True)])
def test_beside_logs_of_ones_own_results_without_texts_are_left_out(tmp_path, beside, is_read):
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    (tmp_path / "chats.jsonl").write_text(json.dumps({"messages": chat}))
    (tmp_path / "export.json").write_text(json.dumps(beside))
    turns, problems = rw.read(tmp_path, errors="collect")
    assert turns["rollout_id"].n_unique() == (3 if is_read else 1)
    assert problems["reason"].str.contains("results but no responses").to_list() == ([] if is_read else [True])


@pytest.mark.parametrize(
    "settings", [{"model": "m", "success": True, "total": 3}, {"run_id": "7", "skip_completed": False, "passed": 3}]
)
def test_settings_and_totals_are_no_rollout(tmp_path, settings):
    (tmp_path / "results.json").write_text(json.dumps(TEXTS))
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    turns, problems = rw.read(tmp_path, errors="collect")
    assert turns["rollout_id"].n_unique() == 2
    assert problems["reason"].to_list() == ["is not recognized"]
