"""Each statistic of the one list works in every verb, figure, table and command that takes a statistic."""

import polars as pl
import pytest
from typer.testing import CliRunner

import rollwise as rw
from rollwise import metrics as m
from rollwise.cli import app
from rollwise.schema import labels
from rollwise.stats.statistics import COMPARED, STATISTICS, SUMMARIZED

QUANTILES = ("q90", "q05")


@pytest.fixture(scope="module")
def rollouts() -> pl.DataFrame:
    """Twenty goals, four attempts at each, for two targets."""
    turns, _ = rw.simulate(targets={"base": 0.2, "guarded": 0.1}, goals=20, attempts=4, seed=1)
    return rw.measure(turns, m.attack_success(), m.time_to_success(), m.num_turns())


def metric_of(statistic: str) -> str:
    """A metric that has this statistic: a number, or a time for the restricted mean."""
    return "time_to_success" if statistic == "restricted_mean" else "num_turns"


@pytest.mark.integration
@pytest.mark.parametrize("statistic", [*SUMMARIZED, *QUANTILES])
def test_what_is_summarized_is_gated_drawn_and_tabulated(rollouts: pl.DataFrame, statistic: str) -> None:
    """The estimate is there, the gate parses it from rollouts and from the summary, and figure, table and estimand name it."""
    metric = metric_of(statistic)
    summary = rw.summarize(rollouts, by="target", metrics=metric, statistics=statistic)
    estimates = summary["estimate"].to_list()
    assert None not in estimates
    required = f"{statistic}({metric}) < {max(estimates) + 100}"
    for table in (rollouts, summary):
        gated = rw.gate(table, required, by="target" if table is rollouts else ())
        assert gated["statistic"].to_list() == [statistic] * 2
        assert gated["estimate"].to_list() == estimates
    words = STATISTICS[statistic].words if statistic in STATISTICS else f"{int(statistic[1:])} % quantile"
    assert all(text.startswith(f"{words} of ") and metric in text for text in summary["estimand"])
    assert rw.plots.marks.forest(summary).sort("group")["estimate"].to_list() == estimates
    title = STATISTICS[statistic].title if statistic in STATISTICS else statistic
    assert title in rw.plots.forest(summary).alt.lower()
    shown = rw.tables.text(rw.summarize(rollouts, metrics=metric, statistics=[statistic]))
    assert title in shown or statistic.replace("_", " ") in shown


@pytest.mark.thinned(2)
@pytest.mark.parametrize("statistic", [*COMPARED, *QUANTILES])
def test_what_is_compared_is_drawn_and_tabulated(rollouts: pl.DataFrame, statistic: str) -> None:
    """The difference is there, and figure and table show it."""
    differences = rw.contrast(rollouts, of="target", metrics=metric_of(statistic), statistics=statistic)
    assert differences["difference"].null_count() == 0
    assert rw.plots.marks.contrast(differences).height == 1
    assert rw.tables.text(differences)


@pytest.mark.integration
def test_the_command_line_and_the_schema_name_all() -> None:
    """Help texts, the column's meaning and the errors list every statistic."""
    for command, names in (("summarize", SUMMARIZED), ("contrast", COMPARED)):
        text = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "1000"}).output
        assert all(name in text for name in names)
    (meaning,) = (column.about for column in rw.schema.SUMMARY.columns if column.name == "statistic")
    assert all(name in meaning for name in SUMMARIZED)
    assert labels.quantity("num_turns", "std") == "standard deviation of turns"


@pytest.mark.parametrize("unknown", ["variance", "mode", "iqr", "improvement"])
def test_an_unknown_statistic_is_told_the_others(rollouts: pl.DataFrame, unknown: str) -> None:
    """Nothing is guessed: a requirement or an argument with another statistic lists those there are."""
    over_goals = "iqm, optimality_gap, goal_mean, goal_median"
    everything = f"mean, median, min, max, std, restricted_mean, {over_goals}( or|,) a quantile such as q90"
    with pytest.raises(rw.errors.ArgumentError, match=rf"names no metric .*; a statistic is {everything}$"):
        rw.gate(rollouts, f"{unknown}(num_turns) < 5")
    with pytest.raises(
        rw.errors.ArgumentError,
        match=rf"statistic {unknown!r} is unknown; it is {everything} or a function of your own",
    ):
        rw.summarize(rollouts, statistics=unknown)
