"""A table with steps of training: their own section and figure, groups in the order of their numbers."""

from pathlib import Path

import polars as pl
import pytest
from reports.browser import Browser, needs_chromium  # type: ignore[import-not-found]

import rollwise as rw
from rollwise import metrics as m
from rollwise import plots
from rollwise.reports.claims import claims
from rollwise.reports.ends import of_rates
from rollwise.reports.figures import figures
from rollwise.reports.frames import Frames, frames
from rollwise.reports.results import results
from rollwise.reports.title import title

RATES = {1000: 0.9, 50: 0.2, 200: 0.5}  # neither in the order of their numbers nor of their text


def _turns() -> pl.DataFrame:
    rows = [
        (f"{step}-{goal}-{attempt}", f"run {step}", step, f"g{goal}", goal < 10 * rate)
        for step, rate in RATES.items()
        for goal in range(10)
        for attempt in range(2)
    ]
    told = pl.DataFrame(rows, schema=["rollout_id", "run", "train_step", "goal", "succeeded"], orient="row")
    return told.with_columns(turn=1, target=pl.lit("policy"))


@pytest.fixture(scope="module", params=[None, "train_step"])
def found(request: pytest.FixtureRequest) -> Frames:
    return frames(_turns(), by=request.param, cluster="auto", level=0.95, seed=0)


@pytest.mark.integration
def test_the_steps_have_a_figure_and_a_section(found: Frames, tmp_path: Path) -> None:
    """By default rollouts of all runs are pooled, and the course of training is drawn; grouped by step it is too."""
    assert found.by in {(), ("train_step",)}
    expected = rw.training(rw.measure(_turns(), keep="train_step"))
    assert found.trained.equals(expected)
    drawn = figures(found, tmp_path / "figures")
    assert "90 %" in drawn["training_attack_success"].wide.split(">", 1)[0]  # its label
    (section,) = [one for one in results(found, drawn, 0.95) if one.id == "training"]
    table = next(part.table for part in section.parts if part.table)
    assert [row[0] for row in table.rows] == ["50", "200", "1000"]
    assert [row[1].split(" %")[0] for row in table.rows] == ["20", "50", "90"]
    assert "train_step" not in found.summary["metric"].to_list()


@pytest.mark.integration
def test_steps_as_groups_stand_in_their_own_order_and_are_called_so(tmp_path: Path) -> None:
    """Rows of the figure and of the table, and the sentence above them."""
    found = frames(_turns(), by="train_step", cluster="auto", level=0.95, seed=0)
    assert found.contrasts.is_empty()  # the changes stand with the steps
    (ax,) = plots.forest(found.summary, metric="attack_success").axes
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "train step 50",
        "train step 200",
        "train step 1000",
    ]
    rate = results(found, {}, 0.95)[0]
    assert "most often for train step 1000: 90 %" in of_rates(found, "attack_success")
    table = next(part.table for part in rate.parts if part.table)
    assert [row[0] for row in table.rows] == ["50", "200", "1000"]
    assert table.columns[0].name == "train step"


@pytest.mark.integration
def test_panels_of_many_steps_are_in_their_order() -> None:
    """Five curves, a panel each."""
    told = {"metric": "time_to_success", "kind": "success", "axis": "turn", "level": 0.95, "at": 1.0, "at_risk": 20}
    steps = {300: 0.3, 50: 0.9, 100: 0.1, 1000: 0.5, 5: 0.2}
    rows = [told | {"train_step": step, "estimate": rate, "low": rate, "high": rate} for step, rate in steps.items()]
    axes = plots.curve(pl.DataFrame(rows)).axes
    assert [ax.get_title(loc="left") for ax in axes] == [f"train step {step}" for step in sorted(steps)]


@pytest.mark.integration
def test_rewards_are_followed_where_nobody_called_them_a_success(tmp_path: Path) -> None:
    """Dumps of trainers hold a reward, or a score of each reward function, and no verdict: the page shows their course."""
    rows = [(f"{s}-{g}-{n}", s, f"t{g}", float(g + s > 3 + n), g / 7) for s in (1, 2) for g in range(6) for n in (0, 1)]
    dumped = pl.DataFrame(rows, schema=["rollout_id", "step", "task", "score_exact", "score_style"], orient="row")
    turns = rw.turns(dumped.with_columns(attack=pl.lit("none"), response=pl.lit("4")))
    found = frames(turns, by="auto", cluster="auto", level=0.95, seed=0)
    expected = rw.training(
        rw.measure(turns, m.final("score_exact"), keep="step"), metric="final_score_exact", step="step"
    )
    assert found.trained.filter(metric="final_score_exact").equals(expected)
    assert found.trained["metric"].unique().sort().to_list() == ["final_score_exact", "final_score_style"]
    drawn = figures(found, tmp_path / "figures")
    assert not {"attack_success", "task_success"} & drawn.keys()  # nothing to draw; the table counts what is missing
    (section,) = [one for one in results(found, drawn, 0.95) if one.id == "training"]
    assert sum(part.kind == "figure" for part in section.parts) == 2
    table = next(part.table for part in section.parts if part.table)
    assert [head.name for head in table.columns][:3] == ["step", "mean [95 %]", "change"]
    assert [row[1].split()[0] for row in table.rows] == ["0.42", "0.58"]  # 5 and 7 of 12


def rewarded(rise: float) -> pl.DataFrame:
    """Rewards of 12 tasks at three steps, in rollouts of two attempts, that rise by so much from one step to the next."""
    rows = [
        (
            f"{step}/{task}/{attempt}",
            f"t{task}",
            attempt + 1,
            step,
            0.3 + rise * place + (task * 5 + attempt * 3 + step) % 7 / 20,
        )
        for place, step in enumerate((10, 20, 30))
        for task in range(12)
        for attempt in range(2)
    ]
    names = ["rollout_id", "task", "attempt", "train_step", "reward"]
    return pl.DataFrame(rows, schema=names, orient="row").with_columns(turn=1, target=pl.lit("policy"))


@pytest.mark.integration
@pytest.mark.parametrize(("rise", "by"), [(0.1, "auto"), (0.1, "train_step"), (0.0, "auto")])
def test_the_first_screen_says_where_training_went(rise: float, by: str) -> None:
    """The mean over all steps answers nothing: the title has both ends, a claim their paired difference, as `training` has it."""
    turns = rw.turns(rewarded(rise))
    data = frames(turns, by=by, cluster="auto", level=0.95, seed=0)
    ends = rw.measure(turns, m.total_reward(), keep="train_step").filter(pl.col("train_step") != 20)
    before, now = rw.training(ends, metric="total_reward", step="train_step").rows(named=True)
    (claim,) = (claim for claim in claims(data) if claim.kind == "difference")
    assert f"{before['estimate']:.3f} [" in claim.detail
    assert "paired by 12 tasks" in claim.detail
    assert data.trend["estimate"].to_list() == [before["estimate"], now["estimate"]]
    if rise:
        assert title(data).startswith("The mean reward went from 0.4")
        assert str(claim).startswith(f"{now['difference']:.3f} [")
        assert "step 30 above step 10, the first" in str(claim)
    else:
        assert title(data).startswith("No change from step 10 to step 30 is shown: the mean reward is 0.4")
        assert str(claim).startswith("No change shown: between step 10 and step 30, the first and the last: ")


@needs_chromium  # type: ignore[untyped-decorator]
@pytest.mark.integration
def test_the_list_says_at_which_step_an_attempt_was_made(browser: Browser, tmp_path: Path) -> None:
    """Attempts of several steps at one task would look alike; and what a row has no room for is left out piece by piece."""
    rw.report(
        rw.turns(rewarded(0.1).with_columns(prompt_tokens=123_456, cost_usd=0.123)), tmp_path / "page", progress=False
    )
    browser.open(tmp_path / "page" / "report.html")
    rows = browser.run("return [...document.querySelectorAll('.row b')].slice(0, 3).map((one) => one.textContent)")
    assert rows == [
        "train step 10 · attempt 1 of 2",
        "train step 10 · attempt 2 of 2",
        "train step 20 · attempt 1 of 2",
    ]
    assert browser.run("return [...document.querySelectorAll('#filters select')].map((one) => one.dataset.column)") == [
        "train_step"
    ]
    shown = browser.run(
        "const row = document.querySelector('.row .became'), box = row.getBoundingClientRect();"
        "const boxes = [...row.children].map((one) => one.getBoundingClientRect());"
        "return boxes.map((one) => [one.right <= box.right + 1, one.top < box.bottom])"
    )
    assert all(fits for fits, _ in shown)
    assert [visible for _, visible in shown] == [True, True, False, False]
