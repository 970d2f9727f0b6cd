"""The top of a report: one sentence that a boss may quote, what was left out, and how the run was configured."""

from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import schema
from rollwise.reports.ends import of_rates
from rollwise.reports.frames import Frames, frames
from rollwise.reports.header import configuration, omissions, usual_title
from rollwise.reports.rates import rates
from rollwise.reports.reading import origins


def judged(*groups: tuple[str, int, int, int], **facts: Any) -> pl.DataFrame:
    """TURNS of one turn each: target, goals, attempts at each, and how many of the attempts at each goal succeed."""
    rows = [
        {"rollout_id": f"{target}/{goal}/{k}", "target": target, "goal": f"g{goal}", "attempt": k + 1, "turn": 1}
        | {"succeeded": k < successes} | facts
        for target, goals, attempts, successes in groups
        for goal in range(goals)
        for k in range(attempts)
    ]  # fmt: skip
    return rw.turns(pl.DataFrame(rows))


def made(turns: pl.DataFrame, **options: Any) -> Frames:
    usual: dict[str, Any] = {"by": "auto", "cluster": "auto", "level": 0.95, "seed": 0}
    return frames(turns, **usual | options)


@pytest.mark.integration
def test_extremes_of_a_few_rollouts_are_not_named() -> None:
    """A group of one rollout and one of a single goal have the extreme rates, and neither is named."""
    data = made(judged(("lucky", 1, 1, 1), ("one goal", 1, 20, 0), ("weak", 10, 4, 3), ("strong", 10, 4, 0)))
    line = of_rates(data, "attack_success")
    assert "most often for weak: 75 %" in line
    assert "least often for strong: 0 %" in line
    assert "lucky" not in line
    assert "one goal" not in line
    assert "(40 rollouts each; 2 groups with fewer than 10 judged rollouts or 3 goals not named)" in line
    assert line.count(".") == line.rstrip(".").count(".") + 1


@pytest.mark.integration
def test_groups_that_are_all_too_small_are_said_to_be() -> None:
    """No name and no rate, but the reason."""
    line = of_rates(made(judged(("a", 2, 2, 1), ("b", 2, 2, 0))), "attack_success")
    assert (
        line
        == "Attacks succeeded in groups that are too small to name (fewer than 10 judged rollouts or 3 goals in each)."
    )


@pytest.mark.integration
def test_groups_that_cannot_be_told_apart_are_not_ranked() -> None:
    """Rates of 50 and 75 % at four goals each have wide intervals."""
    line = of_rates(made(judged(("a", 4, 4, 3), ("b", 4, 4, 2))), "attack_success")
    assert line == (
        "Attacks succeeded in 50 % to 75 % of rollouts in 2 groups (16 rollouts each), which their intervals do not tell apart."
    )


@pytest.mark.integration
def test_groups_whose_paired_difference_stands_are_ordered() -> None:
    """Each of ten goals succeeds once more for a than for b: their intervals, wide by the goals, say nothing of it."""
    succeeded = {(target, goal): 3 * (goal < 5) + (target == "a") for target in "ab" for goal in range(10)}
    rows = [
        {"rollout_id": f"{target}/{goal}/{k}", "target": target, "goal": f"g{goal}", "attempt": k + 1, "turn": 1}
        | {"succeeded": k < number}
        for (target, goal), number in succeeded.items()
        for k in range(4)
    ]
    data = made(rw.turns(pl.DataFrame(rows)))
    above, below = data.rates("attack_success").sort("estimate").rows(named=True)[::-1]
    assert above["estimate"] < below["high"]
    line = of_rates(data, "attack_success")
    assert line.startswith("Attacks succeeded most often for a: 62 % [")
    assert ", and least often for b: 38 % [" in line


@pytest.mark.integration
def test_a_single_group_has_its_rate_and_its_size() -> None:
    """Without groups the sentence has the rate of all; a small one says so."""
    assert "of 40 judged rollouts." in of_rates(made(judged(("a", 10, 4, 1))), "attack_success")
    assert of_rates(made(judged(("a", 1, 1, 1))), "attack_success").endswith(
        "of 1 judged rollout, from fewer than 10 judged rollouts or 3 goals."
    )


@pytest.mark.integration
def test_what_was_left_out_is_counted_under_one_word() -> None:
    """Records that were not read, crashed rollouts and unjudged ones; nothing is said to be nothing."""
    turns = judged(("a", 6, 2, 1))
    assert omissions(made(turns), 0) == "Nothing was left out: everything was read and judged."
    place = pl.int_range(pl.len())
    turns = turns.with_columns(
        succeeded=pl.when(place > 2).then("succeeded"),
        ending=pl.when(place == 1).then(pl.lit("error", schema.ENDINGS)),
    )
    assert omissions(made(turns), 4) == (
        "Left out of the rates: 4 records or files not read, 1 rollout ended in error, 2 rollouts unjudged."
    )
    (section,) = rates(made(turns), {}, 0.95)
    table = next(part.table for part in section.parts if part.table)
    heads = [column.name for column in table.columns]
    assert {"ended in error", "unjudged"} < set(heads)
    assert [table.rows[0][heads.index(name)] for name in ("ended in error", "unjudged")] == ["1", "2"]


@pytest.mark.integration
def test_unjudged_turns_leave_a_sentence_with_the_remedy_and_the_option_reaches_the_estimate() -> None:
    """The rates of the page are those of `summarize` with the same choice."""
    turns, _ = rw.simulate(goals=8, attempts=2, turns=4, unjudged_share=0.2, seed=2)
    rollouts = rw.measure(turns)
    for choice in ("bounds", "censor", "drop"):
        data = made(turns, unjudged=choice)
        expected = rw.summarize(rollouts, by=data.by, unjudged=choice, metrics="attack_success")
        assert data.rates("attack_success").select(expected.columns).equals(expected)
        notes = [part.text for section in rates(data, {}, 0.95) for part in section.parts if part.kind == "note"]
        assert choice != "bounds" or any("--unjudged censor" in note or 'unjudged="censor"' in note for note in notes)


@pytest.mark.integration
def test_a_reason_is_said_once_however_many_groups_have_it() -> None:
    """Four groups with other numbers of partially judged rollouts are one note."""
    turns, _ = rw.simulate(attacks=["x", "y"], goals=8, attempts=3, turns=4, unjudged_share=0.1, seed=3)
    data = made(turns)
    assert data.rates("attack_success")["reason"].drop_nulls().n_unique() > 1
    (note,) = [part.text for section in rates(data, {}, 0.95) for part in section.parts if part.kind == "note"]
    assert "(4 groups)" in note


@pytest.mark.integration
def test_the_configuration_names_what_was_run() -> None:
    """Inputs, format, targets, attacks, judges and options, long lists cut with a count."""
    turns = judged(*((f"model {k}", 2, 1, 1) for k in range(6)), attack="pair", judge="HarmBench", score_rule=0.5)
    facts = dict(configuration(made(turns), ["logs", "more"], chosen=False, level=0.9, seed=7, unjudged="drop"))
    assert facts["inputs"].startswith("logs, more")
    assert facts["targets"] == "model 0, model 1, model 2, model 3 and 2 more"
    assert facts["attacks"] == "pair"
    assert facts["judges"] == "HarmBench, rule"
    assert facts["rates by"] == "target; chosen from the logs, --by changes it"
    assert facts["analysis"] == f"rollwise {rw.__version__}; 90 % intervals; seed 7; unjudged turns: drop"


@pytest.mark.integration
def test_a_report_has_a_title_of_its_own() -> None:
    """It names the targets, or counts them."""
    assert usual_title(made(judged(("gpt", 2, 1, 1)))) == "Red-team report: gpt"
    assert usual_title(made(judged(("a", 2, 1, 1), ("b", 2, 1, 1), ("c", 2, 1, 1)))) == "Red-team report"
    benign = judged(("gpt", 2, 1, 1)).with_columns(attack=pl.lit("none"), goal=pl.lit(None, pl.String))
    assert usual_title(made(benign)) == "Evaluation report: gpt"


def test_the_page_names_unused_columns() -> None:
    """A column that may be the verdict is listed with what to write; with it there is no such table."""
    rows = [
        {"rollout_id": f"r{i:02}", "turn": 1, "response": "no", "verdict": ("pass", "fail")[i % 2]} for i in range(20)
    ]
    nothing = schema.empty(schema.PROBLEMS)
    parts = [
        part for part in origins(made(rw.turns(pl.DataFrame(rows))), nothing).parts if "Unused columns" in part.text
    ]
    table = parts[0].table
    assert table is not None
    (row,) = rw.readers.unused_columns(rw.turns(pl.DataFrame(rows))).rows(named=True)
    assert [str(cell) for cell in table.rows[0]] == ["verdict", "fail, pass", "succeeded", row["names"]]
    labels = {"fail": False, "pass": True}
    named = made(rw.turns(pl.DataFrame(rows), names={"succeeded": ("verdict", labels)}))
    assert not [part for part in origins(named, nothing).parts if "Unused columns" in part.text]
