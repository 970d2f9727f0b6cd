"""Each of twenty-two faults that are planted in real logs is named, and what the ways add sums up to the difference exactly."""

import json
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from audits import planted
from audits.planted import Planted

import rollwise as rw

pytestmark = pytest.mark.integration


def audited(path: Path, claim: str | None = None) -> pl.DataFrame:
    """Return the audit of logs by the figure in them, or by a claim."""
    turns, problems = rw.read(path, errors="collect")
    figures = (
        None if claim else rw.readers.read_summary(path, errors="collect").frame.filter(pl.col("ours").is_not_null())
    )
    return rw.audit(turns, claim, figures=figures, problems=problems)


def check(audit: pl.DataFrame, fault: Planted) -> None:
    """The ways are named, and from our figure each adds its part up to the stated one, exactly."""
    assert audit["answer"].unique().to_list() == ["explained"], audit["reason"].to_list()
    assert tuple(audit.filter(part="way")["way"]) == fault.ways
    steps = audit.filter(pl.col("part").is_in(["log", "way"]))
    exact = [Fraction(total).limit_denominator(100_000) / n for total, n in steps.select("total", "n").rows()]
    assert exact[-1] == fault.figure
    added = [now - before for before, now in pairwise(exact)]
    assert sum(added) == fault.figure - exact[0]
    assert audit.filter(part="way")["difference"].to_list() == pytest.approx([float(step) for step in added], abs=1e-15)
    rest = sum(audit.filter(part="rounding")["difference"].to_list())
    assert float(exact[0]) + float(sum(added)) + rest == pytest.approx(
        audit.filter(part="stated")["estimate"].item(), abs=1e-15
    )


@pytest.mark.parametrize("fault", planted.OF_ARTIFACT)
def test_faults_in_an_artifact(fault, shared, tmp_path) -> None:
    log = planted.artifact(shared)
    wrong = fault(log)
    log["parameters"]["attack_success_rate"] = float(wrong.figure)
    (tmp_path / "log.json").write_text(json.dumps(log))
    check(audited(tmp_path), wrong)


@pytest.mark.parametrize("fault", planted.OF_INSPECT)
def test_faults_in_an_inspect_log(fault, shared, tmp_path) -> None:
    log = planted.inspect_log(shared)
    wrong = fault(log)
    (score,) = log["results"]["scores"]
    score["metrics"]["accuracy"]["value"] = float(wrong.figure)
    log["results"]["completed_samples"] = len(log["samples"])
    (tmp_path / "log.json").write_text(json.dumps(log))
    check(audited(tmp_path), wrong)


@pytest.mark.parametrize("fault", planted.OF_TRIALS)
def test_faults_in_trials(fault, shared, tmp_path) -> None:
    log = planted.trials(shared)
    wrong = fault(log)
    (tmp_path / "log.json").write_text(json.dumps(log))
    sum_, n = wrong.figure * wrong.n, wrong.n
    check(audited(tmp_path, f"task success = {sum_}/{n}"), wrong)


def test_benign_rollouts_in_the_denominator(shared) -> None:
    folder = shared / "agentdojo_drift"
    files = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((folder / "runs").rglob("*.json"))]
    wrong = planted.benign_in_the_denominator(files)
    check(audited(folder, f"attack success = {wrong.figure * wrong.n}/{wrong.n}"), wrong)


@pytest.mark.parametrize(
    ("fault", "most"), [(planted.errors_and_unscored_fail, 6), (planted.errors_fail_and_best_epoch, 8)]
)
def test_few_wrong_figures_are_explained_by_chance(fault, most, shared, tmp_path) -> None:
    """Of all 51 figures that 50 samples can have, as the page of this question says."""
    log = planted.inspect_log(shared)
    fault(log)
    (tmp_path / "log.json").write_text(json.dumps(log))
    figures = pl.DataFrame({"ours": ["task_success"] * 51, "estimate": [k / 50 for k in range(51)], "n": [50] * 51})
    audit = rw.audit(rw.read(tmp_path), figures=figures).filter(part="stated")
    assert audit["answer"].is_in(["explained", "ambiguous"]).sum() == most
