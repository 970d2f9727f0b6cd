"""What a report leaves out of a section is said there."""

import re
from importlib import import_module
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise.reports.assets import unbroken
from rollwise.reports.comparisons import MOST_ARMS
from rollwise.reports.figures import figures
from rollwise.reports.findings import attempts_found
from rollwise.reports.frames import Frames, frames
from rollwise.reports.parts import Grid
from rollwise.reports.rates import reasons
from rollwise.reports.results import results


def _notes(found: Frames, section: str) -> list[str]:
    return [
        part.text for one in results(found, {}, 0.95) if one.id == section for part in one.parts if part.kind == "note"
    ]


def _effort(found: Frames, quantity: str) -> list[Grid]:
    """The tables of what a quantity took."""
    parts = [part for one in results(found, {}, 0.95) if one.id == "effort" for part in one.parts]
    return [part.table for part in parts if part.table and quantity in part.text]


def _frames(tried: dict[str, list[tuple[str, int]]]) -> Frames:
    """Of each target the goals that it tried, and how often."""
    rows = [
        (f"{target}/{goal}/{attempt}", target, goal, (place + attempt) % 2 == 0)
        for target, goals in tried.items()
        for place, (goal, times) in enumerate(goals)
        for attempt in range(times)
    ]
    turns = pl.DataFrame(rows, schema=["rollout_id", "target", "goal", "succeeded"], orient="row")
    return frames(turns.with_columns(turn=1), by="target", cluster="auto", level=0.95, seed=0)


@pytest.mark.integration
def test_many_targets_are_compared_with_one_baseline_and_that_is_said() -> None:
    """Sixteen targets have their section."""
    found = _frames({f"model-{place:02}": [(f"g{goal}", 2) for goal in range(6)] for place in range(16)})
    assert found.contrasts.height == 15
    assert _notes(found, "contrasts") == ["16 targets: compared with one baseline only, model-00."]
    assert _notes(found, "attempts") == []


@pytest.mark.integration
def test_a_group_with_goals_of_its_own_is_named() -> None:
    """The one with the most rollouts is named, the others are counted; their goals were tried once."""
    same = [(f"g{goal}", 2) for goal in range(6)]
    alone = {name: [(f"{name}{goal}", 1) for goal in range(many)] for name, many in (("x", 3), ("y", 9), ("z", 4))}
    found = _frames({"a": same, "b": same} | alone)
    assert _notes(found, "contrasts") == [
        "5 targets: compared with one baseline only, a. Not compared: y and 2 others (no goal in common)."
    ]
    assert _notes(found, "attempts") == [
        "Not shown: y and 2 others (fewer than 3 goals, or hardly any tried more than once)."
    ]


@pytest.mark.integration
def test_nothing_in_common_is_said_too() -> None:
    """Where nothing can be compared the section says so instead of being left out."""
    found = _frames({name: [(f"{name}{goal}", 2) for goal in range(4)] for name in ("a", "b")})
    assert not found.contrasts.height
    assert _notes(found, "contrasts") == ["Not compared: a and 1 other (no goal in common)."]


def test_a_group_that_shares_goals_but_not_with_the_baseline() -> None:
    """A chain: each shares goals with its neighbor alone."""
    found = _frames(
        {name: [(f"g{goal}", 1) for goal in range(place, place + 2)] for place, name in enumerate("abcdef")}
    )
    (note,) = _notes(found, "contrasts")
    assert note.endswith("Not compared: c and 3 others (no goal in common with a).")


@pytest.mark.integration
def test_too_many_to_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit that is met is named."""
    monkeypatch.setattr(import_module("rollwise.reports.comparisons"), "MOST_ARMS", 3)
    found = _frames({name: [("g", 1), ("h", 1)] for name in "abcd"})
    assert _notes(found, "contrasts") == [
        f"Not compared: a and 3 others (more than {MOST_ARMS} are not compared here)."
    ]


@pytest.mark.integration
def test_one_group_is_not_compared_with_itself() -> None:
    """A single target has nothing to be left out of."""
    assert _notes(_frames({"a": [("g", 2)]}), "contrasts") == []


@pytest.mark.integration
def test_what_cannot_be_negative_has_no_interval_below_nothing() -> None:
    """Three goals, one with a thousand times the tokens: the interval begins at 0, in the frame and on the page."""
    rows = [(f"{goal}{k}", goal, 10 if goal != "c" else 10_000, False) for goal in "abc" for k in range(3)]
    turns = pl.DataFrame(rows, schema=["rollout_id", "goal", "response_tokens", "succeeded"], orient="row")
    found = frames(turns.with_columns(turn=1), by="auto", cluster="auto", level=0.95, seed=0)
    assert found.summary.filter(metric="tokens_used", statistic="mean")["low"].item() == 0
    (tokens,) = _effort(found, "Tokens used")
    assert "[0, " in tokens.rows[0][1]


def test_a_median_that_too_few_reached_shows_that_it_is_not_known() -> None:
    """The table of turns to success has a dash before what is known of the median, as the terminal has."""
    turns = rw.read(Path(__file__).parents[2] / "data" / "rollouts")
    found = frames(turns, by=("target", "attack"), cluster="auto", level=0.95, seed=0)
    row = found.summary.filter(metric="time_to_success", statistic="median", target="base", attack="persuade")
    assert row["estimate"].item() is None
    assert row["low"].item() is not None
    (times,) = _effort(found, "Turns to success in numbers")
    (cells,) = [cells for cells in times.rows if cells[:2] == ["base", "persuade"]]
    assert "– [6.0, –]" in cells


def test_too_few_in_common_is_the_finding() -> None:
    """A difference at one goal is drawn; what is said of it is why chance cannot be told."""
    found = _frames({"a": [(f"g{goal}", 2) for goal in range(6)], "b": [("g0", 1)]})
    assert found.contrasts["p_value"].to_list() == [None]
    (section,) = (one for one in results(found, {}, 0.95) if one.id == "contrasts")
    assert section.parts[0].kind == "finding"
    assert section.parts[0].text == "No difference can be told from chance: the groups have 1 goal in common."


def test_more_attempts_are_compared_over_the_same_goals() -> None:
    """Easy goals were tried once, and hard ones three times: what a second and third attempt add is told of these alone."""
    rows = [(f"easy{place}", 1) for place in range(20)] + [(f"hard{place}", 3) for place in range(10)]
    turns = rw.turns(
        pl.DataFrame(
            [
                {"rollout_id": f"{goal}/{attempt}", "target": "a", "attack": "p", "goal": goal}
                | {"succeeded": goal[:4] == "hard" and attempt == 1 and goal < "hard5", "prompt": "p", "response": "r"}
                for goal, times in rows
                for attempt in range(times)
            ]
        )
    )
    found = attempts_found(frames(turns, by="auto", cluster="auto", level=0.95, seed=0), "attack_success")
    assert re.match(r"3 attempts instead of 2 raise the share of goals that succeed: from .* to .* \(10 goals\)", found)


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("one cluster: use cluster='uuid'", "one goal: use cluster='uuid'"),
        ("3 clusters (cluster=None)", "3 goals (cluster=None)"),
        ("clusters='x' of a cluster", "clusters='x' of a goal"),
        ("clustered by cluster_id", "clustered by cluster_id"),
    ],
)
def test_an_option_keeps_its_name_where_clusters_are_called_what_they_are(reason: str, words: str) -> None:
    """A printed option is typed as it is."""
    rows = pl.DataFrame({"n": [3], "reason": [reason], "estimand": ["mean of x; unit: goal"]})
    assert reasons(rows) == [f"{words[0].upper()}{words[1:]} (1 group)."]


@pytest.mark.integration
def test_a_group_whose_values_are_unknown_is_none_without_rollouts(tmp_path: Path) -> None:
    """Of two targets and two attacks one pair states no tokens, and in another every rollout crashed."""
    turns, _ = rw.simulate(targets={"a": 0.3, "b": 0.1}, attacks=["p", "q"], goals=12, turns=2, seed=1, error=0)
    pair = (pl.col("target") == "a") & (pl.col("attack") == "q")
    unstated = [pl.when(~pair).then(name).alias(name) for name in ("total_tokens", "prompt_tokens", "response_tokens")]
    data = frames(turns.with_columns(unstated), by="auto", cluster="auto", level=0.95, seed=0)
    drawn = figures(data, tmp_path / "figures")
    assert "no rollouts" not in drawn["effort"].wide
    assert "no estimate" in drawn["effort"].wide
    assert ".filter(" not in drawn["effort"].call
    crashed = pl.when(pair).then(pl.lit("error")).otherwise("ending").alias("ending")
    verdict = [pl.when(~pair).then(name).alias(name) for name in ("succeeded", "outcome")]
    data = frames(turns.with_columns(crashed, *verdict), by="auto", cluster="auto", level=0.95, seed=0)
    drawn = figures(data, tmp_path / "others")
    assert "no rollouts" not in drawn["attack_success"].wide
    assert "no estimate" in drawn["attack_success"].wide


def test_a_line_ends_within_no_option() -> None:
    """An option that a page prints is in one piece, and is escaped as all text is."""
    assert str(unbroken("höchste von 4: ")) == "höchste von 4: "
    assert "\u200b" not in unbroken(" a\u200bb --level\u200b c ")
    assert str(unbroken("took US$ 94.8, all")) == "took US$\u00a094.8, all"
    text = unbroken("use --value 'succeeded:?' <b> 4 %")
    assert str(text) == 'use <span class="typed">--value &#39;succeeded:?&#39;</span> &lt;b&gt; 4\u00a0%'
