"""SWE-bench: predictions with the reports that may lie beside them, reports alone, and what is left unjudged."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import rollwise as rw
from rollwise.errors import ReadError

FIXTURE = Path(__file__).parent / "swe_bench"
PREDICTIONS, REPORT = FIXTURE / "all_preds.jsonl", FIXTURE / "agent-a.night.json"
IDS = [f"org__bird-{number}" for number in range(1, 5)]
VERDICTS = [True, False, False, None]


def solved(path: Path) -> dict[str, bool | None]:
    """Return the verdict on each task."""
    turns = rw.read(path)
    assert turns["rollout_id"].n_unique() == turns.height
    return dict(turns.select("task", "solved").rows())


def instance(solved: object, **more: Any) -> dict[str, Any]:
    """Return what grading.py says of an instance, as in Kapozux/daemon-swebench-lite."""
    tests = {"FAIL_TO_PASS": {"success": ["t"], "failure": []}, "PASS_TO_PASS": {"success": [], "failure": []}}
    applied = {"patch_is_None": False, "patch_exists": True, "patch_successfully_applied": True}
    return {**applied, "resolved": solved, "tests_status": tests, **more}


def written(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


@pytest.mark.integration
@pytest.mark.parametrize("name", ["", PREDICTIONS.name, REPORT.name])
def test_a_report_judges_predictions(tmp_path, name, capsys):
    """What could not be tested is unjudged; an empty patch is no solution."""
    shutil.copy(REPORT, tmp_path)
    path = tmp_path / name if name == REPORT.name else FIXTURE / name
    assert solved(path) == dict(zip(IDS, VERDICTS, strict=True))
    assert rw.read(path)["target"].unique().to_list() == ["agent-a"]
    assert "not recognized" not in capsys.readouterr().err


@pytest.mark.integration
def test_predictions_by_id_are_read(tmp_path):
    """As mini-swe-agent writes preds.json."""
    rows = [json.loads(line) for line in PREDICTIONS.read_text().splitlines()]
    path = written(tmp_path / "preds.json", {row["instance_id"]: row for row in rows})
    assert solved(path) == dict.fromkeys(IDS)
    shutil.copy(REPORT, tmp_path)
    assert solved(tmp_path) == dict(zip(IDS, VERDICTS, strict=True))
    assert solved(written(tmp_path / "one" / "preds.json", rows[:1])) == {IDS[0]: None}
    assert rw.read(written(tmp_path / "lone" / "preds.json", rows[0]))["response"].to_list() == ["diff --git a/x b/x\n"]


@pytest.mark.integration
@pytest.mark.parametrize("place", ["results.json", "results/results.json"])
def test_old_results_list_what_is_resolved(tmp_path, place, capsys):
    """As the submissions of SWE-bench/experiments have them: what is not listed at all failed its tests."""
    shutil.copy(PREDICTIONS, tmp_path)
    old = {"no_generation": [IDS[2]], "no_logs": [IDS[3]], "resolved": [IDS[0]]}
    path = written(tmp_path / place, old)
    assert solved(tmp_path) == dict(zip(IDS, VERDICTS, strict=True))
    assert "not recognized" not in capsys.readouterr().err
    with pytest.raises(ReadError, match="holds verdicts on predictions of SWE-bench, not rollouts"):
        rw.read(path)
    with pytest.raises(ReadError, match="without its predictions"):
        rw.read(written(tmp_path.parent / f"{tmp_path.name}-alone" / "results.json", old))


def test_trajectories_of_other_tasks_change_nothing(tmp_path):
    """A folder of another agent may be beside the report: what it solved, the report does not name."""
    written(tmp_path / "runs" / "other__task-9" / "other__task-9.traj", {"trajectory": [], "info": {}})
    shutil.copy(REPORT, tmp_path / "runs")
    assert solved(tmp_path / "runs" / REPORT.name) == dict(zip(IDS, VERDICTS, strict=True))
    alone = written(tmp_path / "runs" / "results.json", {"no_generation": [], "no_logs": [], "resolved": [IDS[0]]})
    with pytest.raises(ReadError, match="without its predictions"):
        rw.read(alone)


@pytest.mark.parametrize("place", ["logs", "logs/run_evaluation/night/agent-a"])
def test_reports_of_instances_judge_predictions(tmp_path, place, capsys):
    reports = {IDS[0]: instance(True), IDS[1]: instance(False), IDS[2]: instance(None), IDS[3]: instance(False, infra_failure=True)}  # fmt: skip # noqa: E501
    for name, value in reports.items():
        written(tmp_path / place / name / "report.json", {name: value})
    said = dict(zip(IDS, [True, False, None, None], strict=True))
    assert solved(tmp_path) == said
    if "run_evaluation" in place:
        assert rw.read(tmp_path).select("run", "target").unique().rows() == [("night", "agent-a")]
    shutil.copy(PREDICTIONS, tmp_path)
    assert solved(tmp_path) == said
    assert "not recognized" not in capsys.readouterr().err


def test_reports_that_contradict_each_other_judge_nothing(tmp_path):
    shutil.copytree(FIXTURE, tmp_path, dirs_exist_ok=True)
    written(
        tmp_path / "agent-a.day.json", {"resolved_ids": [IDS[1]], "unresolved_ids": [IDS[0]], "error_ids": [IDS[2]]}
    )
    assert solved(PREDICTIONS) != solved(tmp_path / "all_preds.jsonl")
    assert solved(tmp_path / "all_preds.jsonl") == dict(zip(IDS, [None, None, False, None], strict=True))


def test_reports_of_other_models_are_not_used(tmp_path):
    shutil.copy(PREDICTIONS, tmp_path)
    for model in ("agent-b", "agent-c"):
        shutil.copy(REPORT, tmp_path / f"{model}.night.json")
    assert solved(tmp_path / "all_preds.jsonl") == dict.fromkeys(IDS)


TRAJECTORY = {
    "trajectory": [{"response": "r", "action": "a", "observation": "o", "thought": "t"}],
    "history": [],
    "info": {},
}


@pytest.mark.integration
@pytest.mark.parametrize("place", ["{}.traj", "{}/{}.traj"])
def test_predictions_beside_their_trajectories_count_once(tmp_path, place, capsys):
    """As SWE-agent writes them; the trajectories then have the verdicts."""
    for name in IDS:
        written(tmp_path / place.format(name, name), {**TRAJECTORY, "environment": name})
    shutil.copy(PREDICTIONS, tmp_path)
    assert solved(tmp_path) == dict.fromkeys(IDS)
    shutil.copy(REPORT, tmp_path)
    assert solved(tmp_path) == dict(zip(IDS, VERDICTS, strict=True))
    assert rw.read(tmp_path)["source"].unique().to_list() == ["swe_agent"]
    assert "not recognized" not in capsys.readouterr().err
    with pytest.raises(ReadError, match="or alone as format swe_bench"):
        rw.read(tmp_path / PREDICTIONS.name)
    assert rw.read(tmp_path / PREDICTIONS.name, format="swe_bench").height == 4


def test_predictions_of_which_some_have_trajectories_are_said(tmp_path):
    written(tmp_path / f"{IDS[0]}.traj", TRAJECTORY)
    shutil.copy(PREDICTIONS, tmp_path)
    turns, problems = rw.read(tmp_path, errors="collect")
    assert turns["task"].unique().to_list() == [IDS[0]]
    assert "of some of which trajectories are beside it" in problems["reason"].item()


@pytest.mark.thinned(2)
@pytest.mark.parametrize("line", ["3", "[]", '{"model_patch": "x"}'])
def test_a_broken_prediction_costs_itself(tmp_path, line):
    path = tmp_path / "all_preds.jsonl"
    path.write_text(f"{PREDICTIONS.read_text()}{line}\n")
    turns, problems = rw.read(path, errors="collect")
    assert (turns.height, problems.height) == (4, 1)
