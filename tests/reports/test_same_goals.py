"""What a report says of groups that did not meet the same goals: its first sentence, its tables and their order."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.reports.calls import call
from rollwise.reports.claims import claims
from rollwise.reports.ends import of_rates, of_scores
from rollwise.reports.figures import figures
from rollwise.reports.frames import Frames, frames
from rollwise.reports.results import results
from rollwise.reports.title import title

OPTIONS: dict[str, Any] = {"cluster": "auto", "level": 0.95, "seed": 0}


def tried(arms: dict[str, dict[str, bool | float | None]]) -> pl.DataFrame:
    """TURNS of one turn: for each target the goals that it met, and what came of them."""
    rows = [
        (
            f"{target}/{goal}",
            target,
            goal,
            won if isinstance(won, bool | None) else None,
            None if isinstance(won, bool) else won,
        )
        for target, goals in arms.items()
        for goal, won in goals.items()
    ]
    types = {
        "rollout_id": pl.String,
        "target": pl.String,
        "goal": pl.String,
        "succeeded": pl.Boolean,
        "score": pl.Float64,
    }
    return pl.DataFrame(rows, schema=types, orient="row").with_columns(turn=1, source=pl.lit(None, dtype=pl.String))


def goals(first: int, last: int, broken: int = 0) -> dict[str, bool | float | None]:
    """Goals with these numbers, of which the first ones were broken."""
    return {f"g{number:03}": number < first + broken for number in range(first, last)}


def found_in(turns: pl.DataFrame, by: str | tuple[str, ...] = "target") -> Frames:
    """The frames of a report."""
    return frames(turns, by=by, **OPTIONS)


def section(found: Frames, name: str) -> tuple[list[str], list[list[str]]]:
    """The texts of a section, and the first cells of its table."""
    (one,) = (part for part in results(found, {}, 0.95) if part.id == name)
    texts = [part.text for part in one.parts if part.kind in {"method", "note"}]
    cells = [
        [str(cell.text if hasattr(cell, "text") else cell) for cell in row]
        for part in one.parts
        if part.table
        for row in part.table.rows
    ]
    return texts, cells


REVERSED = {"A": goals(0, 50, 5), "B": goals(0, 50) | goals(50, 100, 50)}


@pytest.mark.integration
def test_the_first_sentence_never_says_the_opposite_of_the_comparison() -> None:
    """A broken on 5 of 50 goals, B on none of these and on 50 harder ones: over the 50 of both A is broken more often."""
    found = found_in(tried(REVERSED))
    assert of_rates(found, "attack_success") == (
        "Over the 50 of 100 goals that both groups met, attacks succeeded most often for A: 10.0 % [4.3, 21.4], "
        "and least often for B: 0.0 % [0.0, 7.1] (50 rollouts each)."
    )
    assert found.contrasts["difference"].item() == pytest.approx(-0.1)


def test_without_a_difference_on_common_goals_none_is_claimed() -> None:
    """Neither was broken on the 50 goals of both: 50 % against 0 % is a difference of the goals."""
    found = found_in(tried({"A": goals(0, 50), "B": goals(0, 50) | goals(50, 100, 50)}))
    assert of_rates(found, "attack_success") == (
        "Over the 50 of 100 goals that both groups met, attacks succeeded in 0.0 % of rollouts "
        "(50 rollouts each), which their intervals do not tell apart."
    )


@pytest.mark.integration
def test_the_same_goals_are_ordered_as_before() -> None:
    """Both met all 100 goals."""
    found = found_in(tried({"A": goals(0, 100), "B": goals(0, 100, 50)}))
    assert found.shared == {}
    assert of_rates(found, "attack_success") == (
        "Attacks succeeded most often for B: 50.0 % [40.4, 59.6], and least often for A: 0.0 % [0.0, 3.7] (100 rollouts each)."
    )


def test_the_title_is_over_the_goals_of_all_groups_where_these_cannot_be_compared() -> None:
    """Two attacks on one target each have no difference: the title says what the first sentence says, over the same goals."""
    turns = tried(REVERSED).with_columns(attack=pl.col("target").replace({"A": "ask", "B": "beg"}))
    assert title(found_in(turns, by=("attack", "target"))) == (
        "Over the 50 of 100 goals that all met, attacks reach 10 % for ask · A, 0 % for beg · B"
    )
    apart = tried({"A": goals(0, 50), "B": goals(50, 100, 50)})
    crossed = apart.with_columns(attack=pl.col("target").replace({"A": "ask", "B": "beg"}))
    assert title(found_in(crossed, by=("attack", "target"))) == (
        "Attacks reach 0 to 100 % in 2 groups that did not meet the same goals"
    )


NO_ORDER = (
    "Attacks succeeded in {} to 100.0 % of rollouts in 2 groups ({} rollouts each), which did not meet the same goals "
    "(all met {}), so that this does not say which is higher."
)
SIBLINGS: dict[str, Any] = {
    "no goal in both": ({"A": goals(0, 50), "B": goals(50, 100, 50)}, "0 of 100 goals"),
    "two goals in both": ({"A": goals(0, 50), "B": goals(48, 98, 50)}, "2 of 98 goals"),
    "A is unjudged on the hard ones": (
        {"A": goals(0, 2) | dict.fromkeys(goals(2, 50)) | goals(50, 60), "B": goals(0, 50, 50)},
        "50 of 60 goals",
    ),
    "goals renamed": ({"A": goals(0, 50), "B": {f"{goal} ": True for goal in goals(0, 50)}}, "0 of 100 goals"),
}


@pytest.mark.integration
@pytest.mark.parametrize("kind", SIBLINGS)
def test_too_few_common_goals_leave_groups_without_an_order(kind: str) -> None:
    """Disjoint, hardly shared, hardly judged, renamed: the range of the rates, and that it does not say which is higher."""
    arms, words = SIBLINGS[kind]
    least, sizes = ("0 %", "12–50") if kind == "A is unjudged on the hard ones" else ("0.0 %", "50")
    assert of_rates(found_in(tried(arms)), "attack_success") == NO_ORDER.format(least, sizes, words)


@pytest.mark.integration
def test_goals_without_a_name_were_met_by_nobody_else() -> None:
    """Half of B's goals are nameless: only the named ones are compared."""
    turns = tried({"A": goals(0, 50, 5), "B": goals(0, 50) | goals(50, 100, 50)})
    nameless = turns.with_columns(goal=pl.when(pl.col("goal") < "g050").then("goal"))
    assert of_rates(found_in(nameless), "attack_success").startswith(
        "Over the 50 of 100 goals that both groups met, attacks succeeded most often for A"
    )
    assert found_in(turns.with_columns(goal=pl.lit(None, dtype=pl.String))).shared == {}


@pytest.mark.integration
def test_the_table_of_rates_is_not_in_the_order_of_such_rates() -> None:
    """By name, with a note; of the same goals, the highest first and no note."""
    texts, cells = section(found_in(tried(REVERSED)), "attack-success")
    assert [row[0] for row in cells] == ["A", "B"]
    assert texts[-1] == (
        "The groups did not meet the same goals (all met 50 of 100 goals): these values do not order them."
    )
    texts, cells = section(found_in(tried({"A": goals(0, 100), "B": goals(0, 100, 50)})), "attack-success")
    assert [row[0] for row in cells] == ["B", "A"]
    assert not any("same goals" in text for text in texts)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("arms", "order", "end"),
    [
        (REVERSED, ["A", "B"], "metrics='attack_success'), sort=False)"),
        (
            REVERSED | {"0": goals(0, 5)},
            ["A", "B", "0"],
            "metrics='attack_success').sort(pl.col('n') < 10, maintain_order=True), sort=False)",
        ),
        ({"A": goals(0, 100), "B": goals(0, 100, 50)}, ["B", "A"], "metrics='attack_success'))"),
    ],
)
def test_the_figure_of_rates_is_in_the_order_of_their_table(
    tmp_path: Path, arms: dict[str, dict[str, bool | float | None]], order: list[str], end: str
) -> None:
    """From the top, a group of few rollouts last; the call that makes the figure keeps the order."""
    drawn = figures(found_in(tried(arms)), tmp_path / "figures", **OPTIONS)["attack_success"]
    for picture in (drawn.wide, drawn.narrow):
        heights = {name: float(y) for y, name in re.findall(r'<text[^>]* y="([\d.]+)"[^>]*>([AB0])</text>', picture)}
        assert sorted(heights, key=lambda name: heights[name]) == order
    assert drawn.call.endswith(end)
    assert drawn.csv.startswith("target,")


@pytest.mark.integration
def test_categories_have_goals_of_their_own() -> None:
    """By category the goals differ by what a category is; by target within categories they must be the same."""
    turns = tried({"A": goals(0, 60, 5), "B": goals(0, 60, 60)}).with_columns(
        category=pl.when(pl.col("goal") < "g030").then(pl.lit("easy")).otherwise(pl.lit("hard"))
    )
    assert found_in(turns, "category").shared == {}
    assert found_in(turns, ("category", "target")).shared == {}
    fewer = turns.filter((pl.col("target") == "A") | (pl.col("goal") < "g040"))
    shared = found_in(fewer, ("category", "target")).shared["attack_success"]
    assert (shared.common, shared.met, shared.rows["n"].to_list()) == (40, 60, [30, 30, 10, 10])


@pytest.mark.integration
def test_a_small_group_does_not_decide_what_is_common() -> None:
    """A third target met 5 goals of its own: it is not named, and the two large ones met the same goals."""
    found = found_in(tried({"A": goals(0, 100), "B": goals(0, 100, 50), "C": goals(200, 205)}))
    assert found.shared == {}
    assert of_rates(found, "attack_success").startswith("Attacks succeeded most often for B")


def test_scores_over_other_goals_are_not_ordered_either() -> None:
    """B's mean of all goals is higher, over the 50 goals of both it is lower."""
    of_a: dict[str, bool | float | None] = {f"g{number:03}": 4.0 + number % 3 for number in range(50)}
    of_b: dict[str, bool | float | None] = {
        f"g{number:03}": (1.0 if number < 50 else 9.0) + number % 2 for number in range(100)
    }
    found = found_in(tried({"A": of_a, "B": of_b}))
    assert of_scores(found, "final_score").startswith(
        "Over the 50 of 100 goals that both groups met, the mean score is highest for A: 4.98"
    )
    texts, cells = section(found, "scores")
    assert [row[0] for row in cells] == ["A", "B"]
    assert texts[0].endswith("(all met 50 of 100 goals): these values do not order them.")


@pytest.mark.integration
def test_a_difference_that_unjudged_rollouts_could_undo_does_not_stand() -> None:
    """A was broken on the ten goals on which B is judged, too, and B on half of them: the ten others of B may all be broken."""
    turns = tried({"A": goals(0, 20, 10), "B": goals(0, 10, 5) | dict.fromkeys(goals(10, 20))})
    found = found_in(turns)
    own = rw.contrast(rw.measure(turns), of="target", metrics="attack_success", cluster="goal").row(0, named=True)
    row = found.contrasts.row(0, named=True)
    assert {name: row[name] for name in ("difference", "low", "high", "p_value", "n_pairs")} == {
        name: own[name] for name in ("difference", "low", "high", "p_value", "n_pairs")
    }
    assert row["p_value"] == 1
    assert title(found) == "No difference between 2 targets is shown: attacks reach 50 %"
    assert "No difference shown" in " ".join(map(str, claims(found)))
    assert found.shared == {}  # both met the 20 goals


@pytest.mark.integration
def test_few_goals_in_common_are_those_that_are_compared() -> None:
    """Ten of 30: over these B is broken more often, over all of each less often; the page says the first, everywhere."""
    turns = tried({"A": goals(0, 20, 12), "B": goals(10, 30, 4)})
    found = found_in(turns)
    assert found.contrasts["difference"].item() == pytest.approx(0.2)
    assert found.contrasts["n_pairs"].item() == 10
    assert title(found).startswith("No difference between 2 targets is shown: over the 10 of 30 goals that all met")
    (difference,) = (claim for claim in claims(found) if claim.kind == "difference")
    assert "the largest is B above A, 20 points" in str(difference)
    words = call("contrast_attack_success_target", found, found.contrasts.drop("target"))
    assert "paired=True" in words
    drawn = eval(words.replace("rw.plots.contrast", "", 1), {"rw": rw, "turns": turns})
    assert drawn["difference"].item() == pytest.approx(0.2)


@pytest.mark.integration
def test_a_bound_that_bounds_nothing_is_no_claim() -> None:
    """All attacks succeeded: 'at most 100 %' is no news."""
    found = found_in(tried({"A": goals(0, 20, 20), "B": goals(0, 20, 20)}))
    assert [claim.kind for claim in claims(found)] == ["worst", "difference"]
