"""The first screen of a report: a title from the data and claims with their numbers, which nothing on the page contradicts."""

from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import schema
from rollwise.reports.claims import Claim, claims
from rollwise.reports.findings import differences_found, effort_found
from rollwise.reports.frames import Frames, frames
from rollwise.reports.title import title


def made(turns: pl.DataFrame, **options: Any) -> Frames:
    usual: dict[str, Any] = {"by": "auto", "cluster": "auto", "level": 0.95, "seed": 0}
    return frames(turns, **usual | options)


def crossed(cells: dict[tuple[str, str], int], goals: int = 20, **facts: Any) -> pl.DataFrame:
    """TURNS of one turn: for each target and attack, how many of the goals (the first ones) were broken."""
    rows = [
        {"rollout_id": f"{target}/{attack}/{goal}", "target": target, "attack": attack, "goal": f"g{goal}", "turn": 1}
        | {"succeeded": goal < broken} | facts
        for (target, attack), broken in cells.items()
        for goal in range(goals)
    ]  # fmt: skip
    return rw.turns(pl.DataFrame(rows))


def by_kind(data: Frames) -> dict[str, Claim]:
    found = claims(data)
    assert len({claim.kind for claim in found}) == len(found)
    return {claim.kind: claim for claim in found}


CELLS = {
    ("high", "x"): 18, ("high", "y"): 14, ("middle", "x"): 6, ("middle", "y"): 4, ("low", "x"): 0, ("low", "y"): 0,
}  # fmt: skip


def test_two_factors_have_ranges_in_the_title_and_three_claims() -> None:
    """high: 18/20 and 14/20; middle: 6/20 and 4/20; low never. Pooled 80, 25 and 0 %, so that 55 is the widest step."""
    data = made(crossed(CELLS))
    assert title(data) == "Attacks reach 70 to 90 % on high, 0 % on low"
    found = by_kind(data)
    assert set(found) == {"worst", "difference", "best"}
    worst, difference, best = (found[kind] for kind in ("worst", "difference", "best"))
    assert worst.value.startswith("90 % [")
    assert str(worst).startswith(f"{worst.value}: highest of 6 groups: high · x (18 of 20 rollouts")
    assert difference.value.startswith("55 points [")
    assert "high above middle, the next target; attacks pooled (paired by 20 goals; adjusted p" in str(difference)
    # Wilson's upper end of 0 of 20 is z²/(20 + z²) = 3.8415/23.8415 = 16.1 %.
    # The bound is that of a group by itself: of ten equal groups the lowest upper end is too low in a tenth of reports.
    chosen = "a bound for one group alone, chosen by its value"
    assert str(best) == f"0 of 20, twice: low (x, y) (each at most 16.1 % with 95 % confidence; {chosen})"
    links = [piece.href for piece in best.text if not isinstance(piece, str)]
    assert links == ["#target=low&attack=x", "#target=low&attack=y"]
    assert [piece.href for piece in worst.text if not isinstance(piece, str)] == [
        "#target=high&attack=x&attack_success=yes"
    ]


@pytest.mark.integration
def test_the_numbers_of_the_claims_are_those_of_the_verbs() -> None:
    """Rates as in `summarize`, the difference as in `contrast`, the ranks as in `rank`."""
    data = made(crossed(CELLS))
    rollouts = rw.measure(data.turns, rw.metrics.attack_success())
    head = data.headline
    assert head is not None
    assert head.rates.equals(rw.summarize(rollouts, by="target", metrics="attack_success", statistics="mean"))
    contrast = rw.contrast(rollouts, of="target", metrics="attack_success", cluster="goal")
    columns = ["group", "baseline", "difference", "low", "high", "p_adjusted"]
    assert head.differences.select(columns).equals(contrast.select(columns))
    grouped = rollouts.with_columns(cell=pl.format("{} · {}", "target", "attack"))
    ranks = rw.rank(grouped, of="cell", metric="attack_success")
    names = ["group", "rank_low", "rank_high", "estimate"]
    assert head.ranks.select(names).equals(ranks.select(names))
    # Rank 1 is the best of 6, so that the worst has 6 and what `rank` leaves open.
    (low, high) = ranks.filter(group="high · x").select("rank_low", "rank_high").row(0)
    said = f"rank {7 - high} to {7 - low} from the highest" in str(claims(data)[0])
    assert said == ((low, high) != (6, 6))


@pytest.mark.integration
def test_a_rank_that_is_sure_is_not_said_and_one_that_is_open_is() -> None:
    """40 of 40 against 2 of 40 is the highest; 21 against 20 may be the second."""
    sure = claims(made(crossed({("a", "x"): 40, ("b", "x"): 2}, goals=40)))[0]
    assert "highest of 2 groups: a" in str(sure)
    assert "rank" not in str(sure)
    close = claims(made(crossed({("a", "x"): 21, ("b", "x"): 20}, goals=40)))[0]
    assert "rank 1 to 2 from the highest with 95 % confidence" in str(close)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ({("a", "x"): 10, ("b", "x"): 9}, "No difference between 2 targets is shown: attacks reach 45 to 50 %"),
        ({("a", "x"): 10, ("b", "x"): 10}, "No difference between 2 targets is shown: attacks reach 50 %"),
        ({("a", "x"): 0, ("b", "x"): 0}, "No attack succeeded in 40 rollouts"),
        ({("a", "x"): 7}, "Attacks succeeded in 7 of 20 rollouts (35 %)"),
        ({("a", "x"): 18, ("b", "x"): 18, ("c", "x"): 2}, "Attacks reach 90 % on a and b, 10 % on c"),
        ({("a", "x"): 16, ("a", "y"): 2}, "Attacks reach 80 % with x, 10 % with y"),
    ],
)
def test_the_title_says_what_the_data_say(cells: dict[tuple[str, str], int], words: str) -> None:
    """No difference, all equal, nothing broken, one group, ties at the end, attacks alone."""
    assert title(made(crossed(cells))) == words


@pytest.mark.integration
def test_nothing_broken_has_no_highest_group_but_a_bound_for_each() -> None:
    """Three targets never broken at 20 goals each."""
    found = by_kind(made(crossed({("a", "x"): 0, ("b", "x"): 0, ("c", "x"): 0})))
    assert "worst" not in found
    assert str(found["best"]) == "0 of 20, three times: a, b, c (each at most 16.1 % with 95 % confidence)"


def test_groups_that_tie_with_other_numbers_of_rollouts_have_all_of_them_said() -> None:
    """10 of 20 beside 20 of 40, two attempts at each goal: both 50 %, and neither number is that of each."""
    rows = crossed({("a", "x"): 10, ("b", "x"): 10})
    again = rows.filter(target="b").with_columns(rollout_id=pl.col("rollout_id") + "/2")
    worst = by_kind(made(pl.concat([rows, again]), by="target"))["worst"]
    assert "10 of 20 rollouts and 20 of 40 rollouts at 20 goals; intervals within [" in str(worst)
    tie = [
        {"response": "x", "goal": f"g{k}", "target": target, "score": score}
        for target, attempts, score in (("high", 1, 8.0), ("low", 2, 2.0), ("least", 1, 2.0))
        for k in list(range(12)) * attempts
    ]
    lowest = by_kind(made(rw.turns(pl.DataFrame(tie)), by="target"))["lowest"]
    assert {*lowest.detail.split(";")[0].split(" and ")} == {"12 rollouts", "24 rollouts at 12 goals"}


@pytest.mark.integration
def test_no_difference_is_said_without_a_number_in_front() -> None:
    """The largest that was found follows, with its interval."""
    claim = by_kind(made(crossed({("a", "x"): 10, ("b", "x"): 9})))["difference"]
    assert claim.value == "No difference shown"
    assert "the largest is a above b, 5 points [" in str(claim)


@pytest.mark.integration
def test_equal_differences_are_counted() -> None:
    """Goals of 18, 10 and 2: two steps of 8 goals of 20, 40 points each."""
    cells = {("a", "x"): 36, ("b", "x"): 20, ("c", "x"): 4}
    claim = by_kind(made(crossed(cells, goals=40)))["difference"]
    assert claim.value.endswith(", twice")
    assert claim.value.startswith("40 points [") or claim.value.startswith("40.0 points [")
    assert "a above b; b above c" in str(claim)


@pytest.mark.integration
def test_a_difference_of_goals_says_so_where_the_rates_differ_by_another_number() -> None:
    """Goals tried unequally: 10 of 27 against 4 of 19 rollouts are 16 points, over goals 38; as often, nothing is said."""
    tries = {("a", "g0"): (9, 9), ("b", "g0"): (4, 1)} | {
        (target, f"g{k}"): (1, 0) for target in "ab" for k in range(1, 4)
    }
    tries |= {("a", "g3"): (1, 1), ("a", "g2"): (16, 0), ("b", "g2"): (13, 3)}
    rows = [
        {
            "rollout_id": f"{target}/{goal}/{k}",
            "target": target,
            "attack": "x",
            "goal": goal,
            "turn": 1,
            "succeeded": k < broken,
        }
        for (target, goal), (tried, broken) in tries.items()
        for k in range(tried)
    ]
    assert "paired by 4 goals, each weighing the same" in str(by_kind(made(rw.turns(pl.DataFrame(rows))))["difference"])
    assert "each weighing the same" not in str(by_kind(made(crossed({("a", "x"): 15, ("b", "x"): 4})))["difference"])


@pytest.mark.integration
def test_a_largest_number_that_others_have_too_is_said_to_be_shared() -> None:
    """Two of three targets are 10 goals above the third, and took as many tokens."""
    cells = {("a", "x"): 15, ("b", "x"): 15, ("c", "x"): 5}
    turns = crossed(cells).with_columns(
        prompt_tokens=pl.when(pl.col("target") == "c").then(5).otherwise(90), response_tokens=pl.lit(10)
    )
    data = made(turns)
    assert "the largest, as large as 1 other:" in differences_found(data)
    used = effort_found(data, data.summary.filter(metric="tokens_used"))
    assert used.startswith("mean tokens used per rollout: most for a, b, 100 each, and least for c, 15 (")
    assert "as large as" not in differences_found(made(crossed({("a", "x"): 15, ("b", "x"): 9, ("c", "x"): 0})))


@pytest.mark.integration
def test_a_named_baseline_is_what_others_are_compared_with() -> None:
    """`vanilla` is a well-known name: 2 of 20 against 18 of 20."""
    claim = by_kind(made(crossed({("vanilla", "x"): 2, ("tuned", "x"): 18})))["difference"]
    assert "tuned above vanilla, the baseline" in str(claim)


@pytest.mark.integration
def test_a_factor_is_pooled_only_over_what_all_its_values_met() -> None:
    """Attack y, which always succeeds, was tried on one target alone: it does not count in the comparison of targets."""
    data = made(crossed({("a", "x"): 4, ("a", "y"): 20, ("b", "x"): 16}))
    head = data.headline
    assert head is not None
    assert dict(head.rates.select("target", "estimate").iter_rows()) == pytest.approx({"a": 0.2, "b": 0.8})
    assert title(data) == "Over the 20 of 40 goals (at each attack) that all met, attacks reach 80 % on b, 20 % on a"
    assert "b above a" in str(by_kind(data)["difference"])


def test_an_opposite_cell_is_named() -> None:
    """Over both attacks a is broken more often (30 of 40 against 14), with y less often."""
    cells = {("a", "x"): 28, ("a", "y"): 2, ("b", "x"): 0, ("b", "y"): 14}
    claim = by_kind(made(crossed(cells, goals=30)))["difference"]
    assert "the other way at y" in str(claim)


def test_a_claim_never_says_the_opposite_of_the_paired_table() -> None:
    """A was tried again at its hard goals: its raw rate is higher, at the same goals B is broken more often."""
    rows = [
        {"rollout_id": f"{target}/{goal}/{k}", "target": target, "goal": f"g{goal}", "turn": 1, "succeeded": won}
        for target in "AB"
        for goal in range(30)
        for won in [goal < 10 if target == "A" else goal < 20]
        for k in range(20 if target == "A" and goal < 10 else 1)
    ]
    data = made(rw.turns(pl.DataFrame(rows)))
    rates = dict(data.rates("attack_success").select("target", "estimate").iter_rows())
    assert rates["A"] > rates["B"]
    assert data.contrasts.select((pl.col("difference") > 0).all()).item()  # B minus A
    assert title(data).startswith("No difference between 2 targets is shown")
    worst = by_kind(data)["worst"]
    assert "paired by goal, B is higher" in str(worst)


@pytest.mark.integration
def test_tasks_are_best_where_most_are_solved() -> None:
    """Of tasks the lowest group is the worst, and the best news is a lower end: 20 of 20, at least 83.9 %."""
    turns = crossed({("good", "none"): 20, ("bad", "none"): 6})
    turns = turns.with_columns(task=pl.col("goal"), solved=pl.col("succeeded"), goal=None, succeeded=None)
    found = by_kind(made(rw.turns(turns)))
    assert "lowest of 2 groups: bad (6 of 20 rollouts" in str(found["worst"])
    chosen = "a bound for one group alone, chosen by its value"
    assert str(found["best"]) == f"20 of 20: good (at least 83.9 % with 95 % confidence; {chosen})"


@pytest.mark.integration
@pytest.mark.parametrize(("unjudged", "crashed", "said"), [(0, 0, False), (2, 0, False), (3, 0, True), (0, 3, True)])
def test_more_than_a_tenth_without_a_verdict_is_said_aloud(unjudged: int, crashed: int, said: bool) -> None:
    """Of 20 rollouts two are a tenth, three are more."""
    place = pl.int_range(pl.len())
    turns = crossed({("a", "x"): 10}).with_columns(
        succeeded=pl.when(place >= unjudged).then("succeeded"),
        ending=pl.when(place < crashed).then(pl.lit("error", schema.ENDINGS)),
    )
    turns = turns.with_columns(succeeded=pl.when(place >= crashed).then("succeeded"))
    found = by_kind(made(turns))
    assert ("open" in found) == said
    if said:
        words = "3 ended in error" if crashed else "3 without a verdict"
        assert str(found["open"]).startswith(f"3 of 20 rollouts unknown: {words}")


@pytest.mark.integration
def test_nothing_judged_says_what_to_do() -> None:
    """And no claim is made."""
    data = made(rw.turns(pl.DataFrame([{"response": "x", "goal": f"g{k}", "target": "m"} for k in range(10)])))
    assert title(data) == "No rollout has a verdict"
    (claim,) = claims(data)
    assert claim.kind == "ask"
    assert "rollwise map FILE" in str(claim)


@pytest.mark.integration
def test_scores_have_claims_where_nothing_is_judged() -> None:
    """Means of 8.5 and 2 at 21 goals; the threshold that would make a rate is asked."""
    rows = [
        {
            "response": "x",
            "goal": f"g{k}",
            "target": target,
            "score": float(base + k % 3 - 1 + (k % 2 if base > 4 else 0)),
        }
        for target, base in (("high", 8), ("low", 2))
        for k in range(21)
    ]
    found = by_kind(made(rw.turns(pl.DataFrame(rows))))
    assert "highest of 2 groups: high (21 rollouts; an interval for this group alone, chosen by its value)" in str(
        found["highest"]
    )
    assert "lowest of 2 groups: low (21 rollouts)" in str(found["lowest"])
    assert "--value 'succeeded:?'" in str(found["ask"])


def test_branches_of_a_tree_are_paths() -> None:
    """40 goals with trees of 27 paths each are no 1,080 rollouts."""
    turns, _ = rw.simulate(goals=10, attempts=1, branches=3, turns=2, give_up=0, target_ends=0, error=0)
    data = made(turns)
    assert data.rollouts.height > data.rollout_count
    text = " ".join([title(data), *map(str, claims(data))])
    assert "paths" in text
    assert " rollouts" not in text


@pytest.mark.integration
def test_a_name_from_right_to_left_keeps_its_number() -> None:
    """The name is isolated, so that 90 % [..] is not turned."""
    data = made(crossed({("نموذج", "x"): 18, ("b", "x"): 2}))
    assert "\u2068نموذج\u2069" in title(data)
    assert "\u2068نموذج\u2069" in str(claims(data)[0])


def test_since_an_earlier_report_the_largest_change_is_the_difference() -> None:
    """A fell from 18 to 2 of 20 goals, b stayed at 10: -80 points, one of two changes stands."""
    before, now = crossed({("a", "x"): 18, ("b", "x"): 10}), crossed({("a", "x"): 2, ("b", "x"): 10})
    claim = by_kind(made(now, earlier=before))["difference"]
    assert claim.value.startswith("−80 points [")
    assert "a below the earlier report, the largest change (1 of 2 changes stands)" in str(claim)
    same = by_kind(made(now, earlier=now))["difference"]
    assert same.value == "No change shown"


@pytest.mark.integration
def test_neighbors_among_many_values_are_compared_and_adjusted_for_all_pairs() -> None:
    """Of 14 targets with 20, .., 14 and 4, .., 10 successes of 20, the gap of 4 is the largest between neighbors; 91 pairs."""
    cells = {(f"m{number:02}", "x"): 20 - number - (3 if number > 6 else 0) for number in range(14)}
    data = made(crossed(cells))
    found = by_kind(data)
    assert "highest of 14 groups: m00" in str(found["worst"])
    assert "rank" not in str(found["worst"])
    assert data.headline is not None
    assert data.headline.differences.height == 14 * 13 // 2
    assert found["difference"].value == "No difference shown"
    assert "between neighbors of 14 targets in the order of their rates; the largest is m06 above m07" in str(
        found["difference"]
    )
    sure = by_kind(made(crossed({name: 20 if name < ("m05", "x") else 0 for name in cells})))["difference"]
    assert sure.value.startswith("100 points")
    assert "m04 above m05, the next target" in str(sure)


@pytest.mark.integration
@pytest.mark.parametrize(("targets", "most"), [(33, 100_000), (14, 279)])
def test_differences_that_are_not_tested_are_said(monkeypatch: pytest.MonkeyPatch, targets: int, most: int) -> None:
    """Of 528 pairs a p-value of .0001, as of 10,000 random signs, is .053 when adjusted; of many rollouts 12 are the most."""
    monkeypatch.setattr("rollwise.reports.headline.MOST_ROLLOUTS", most)
    turns = crossed({(f"m{number:02}", "x"): 20 if number < 16 else 0 for number in range(targets)})
    data = made(turns)
    assert data.headline is not None
    assert data.headline.differences.is_empty()
    assert str(by_kind(data)["difference"]) == (
        f"{targets} targets: too many to compare each with the next; below, each is compared with m00"
    )
    assert "difference" not in by_kind(made(turns.with_columns(goal=pl.lit(None, pl.String))))  # nothing to pair by


@pytest.mark.parametrize(("values", "words"), [
    (14, "No difference between 14 targets is shown: attacks reach 70 to 100 %"),
    (33, "Attacks reach 70 to 100 % in 33 groups, whose paired difference may be chance"),
])  # fmt: skip
def test_the_title_of_many_values_keeps_to_their_comparison(values: int, words: str) -> None:
    """20 of 20 against 14 of 20, in all pairs or with the first value only, is .03 times the pairs: no title orders them."""
    cells = {(f"m{number:02}", "x"): 14 for number in range(values - 1)} | {(f"m{values - 1}", "x"): 20}
    data = made(crossed(cells))
    row = data.contrasts.filter(group=f"m{values - 1}", baseline="m00").row(0, named=True)
    assert row["p_adjusted"] > 0.05
    assert title(data) == words


@pytest.mark.integration
@pytest.mark.parametrize("seed", range(6))
def test_nothing_claimed_is_denied_by_the_comparisons(seed: int) -> None:
    """For random cells: a title that orders two targets, and a difference, have a comparison that stands in that direction."""
    import random

    draw = random.Random(seed)
    cells = {(target, attack): draw.randint(0, 20) for target in "abc" for attack in "xy"}
    data = made(crossed(cells))
    head = data.headline
    assert head is not None
    words = title(data)
    pooled = {target: sum(cells[target, attack] for attack in "xy") for target in "abc"}
    first, last = max(pooled, key=lambda one: pooled[one]), min(pooled, key=lambda one: pooled[one])
    if f"% on {first}, " in words and words.endswith(f"on {last}"):
        row = next(row for row in head.differences.rows(named=True) if {row["group"], row["baseline"]} == {first, last})
        assert row["p_adjusted"] <= 0.05
        assert (row["difference"] > 0) == (row["group"] == first)
    else:
        assert words.startswith("No difference between 3 targets is shown") or "and" in words
