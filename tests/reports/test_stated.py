"""Where logs state figures about themselves, the page says whether their rollouts agree."""

import json
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise.cli import run

ARTIFACT = Path(__file__).parents[2] / "data/jailbreakbench/PAIR/black_box/vicuna-13b-v1.5.json"
HEADING = "Do the figures that the logs state agree with them?"


def page_of(log: Path, out: Path) -> str:
    with pytest.raises(SystemExit) as leaving:
        run(["report", str(log), "--out", str(out)])
    assert not leaving.value.code
    return (out / "report.html").read_text(encoding="utf-8")


def test_a_figure_that_is_equal_and_one_that_leaves_verdicts_out(tmp_path) -> None:
    """69 of 100; then 13 successes without a verdict, which the artifact counts as failures: 56 of 100 where we say 56 of 87."""
    page = page_of(ARTIFACT, tmp_path / "equal")
    assert HEADING in page
    assert "attack_success_rate: equal; the log gives the same figure." in page
    log = json.loads(ARTIFACT.read_text(encoding="utf-8"))
    for record in [record for record in log["jailbreaks"] if record["jailbroken"]][:13]:
        record["jailbroken"] = None
    log["parameters"]["attack_success_rate"] = 0.56
    (tmp_path / "log.json").write_text(json.dumps(log))
    page = page_of(tmp_path / "log.json", tmp_path / "apart")
    assert "unjudged as failures (−8.4 points)" in page  # 56/100 - 56/87


@pytest.mark.integration
def test_logs_that_state_none_have_no_such_section(tmp_path) -> None:
    assert HEADING not in page_of(Path(__file__).parents[2] / "data/rollouts", tmp_path / "own")


@pytest.mark.integration
def test_figures_of_ones_own_and_a_table_of_many(tmp_path) -> None:
    turns, _ = rw.simulate(targets={"base": 0.1, "guarded": 0.02}, goals=5, seed=1)
    published = pl.DataFrame({"target": ["base"] * 150, "ours": ["attack_success"] * 150, "estimate": [0.999] * 150})
    page = rw.report(turns, tmp_path / "report", figures=published).read_text(encoding="utf-8")
    assert "150 figures: not explained (150)." in page
    assert "50 more figures not shown." in page
