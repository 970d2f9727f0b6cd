"""What one verb passes on to another keeps what the table says: the order of its rows, and the groups asked for."""

import polars as pl
import pytest

import rollwise as rw


def against_ids() -> pl.DataFrame:
    """Loops that stop at a success, in the order of the table and against that of the ids; no column numbers the attempts.

    30 goals fall at the first attempt and 10 at the fifth: .75 of the first attempts succeed.
    """
    sizes = [1 if goal < 30 else 5 for goal in range(40)]
    rows = [(f"g{goal:02}", attempt == size - 1) for goal, size in enumerate(sizes) for attempt in range(size)]
    ids = [f"r{9999 - number:04}" for number in range(len(rows))]
    goals, successes = zip(*rows, strict=True)
    return pl.DataFrame({"rollout_id": ids, "target": "a", "goal": goals, "attack_success": successes})


@pytest.mark.integration
def test_a_gate_takes_the_order_of_the_table() -> None:
    """The rate of first attempts, as `summarize` has it: 30 of 40. By the order of ids it would be .5 of 80, and pass."""
    frame = against_ids()
    rate = rw.summarize(frame, by="target", metrics="attack_success", statistics="mean").row(0, named=True)
    assert (rate["estimate"], rate["n"]) == (0.75, 40)
    for requirement in ("attack_success < 0.70 for target=a", "attack_success < 0.70"):
        gate = rw.gate(frame, requirement, by="target").row(0, named=True)
        assert (gate["answer"], gate["estimate"], gate["n"]) == ("undecided", 0.75, 40)
        assert gate["pass_bound"] > 0.85


@pytest.mark.integration
def test_a_gate_against_a_baseline_takes_it_too() -> None:
    """Twice the same run: no difference, over the first attempts."""
    frame = against_ids()
    gate = rw.gate(frame, "attack_success <= baseline + 50%", baseline=frame).row(0, named=True)
    assert (gate["estimate"], gate["n"]) == (0.0, 40)


@pytest.mark.integration
def test_ranks_take_the_order_of_the_table() -> None:
    """Two targets, of which the second never falls: the rate of the first is that of its first attempts."""
    frame = against_ids()
    other = frame.unique("goal", keep="first", maintain_order=True).with_columns(
        rollout_id="s" + pl.col("rollout_id"), target=pl.lit("b"), attack_success=False
    )
    ranks = rw.rank(pl.concat([frame, other]), of="target", metric="attack_success").sort("group")
    assert ranks.select("estimate", "n").row(0) == (0.75, 40)


def two_defenses() -> pl.DataFrame:
    """Without a defense, loops stop at the first success; behind the filter, each of 30 goals has 5 attempts."""
    rows = []
    for goal in range(30):
        falls_at = goal % 5
        rows += [("none", goal, attempt, attempt == falls_at) for attempt in range(falls_at + 1)]
        rows += [("filter", goal, attempt, (goal * 7 + attempt * 3) % 10 < 3 + goal % 2) for attempt in range(5)]
    defenses, goals, attempts, successes = zip(*rows, strict=True)
    return pl.DataFrame(
        {
            "rollout_id": [f"r{number:04}" for number in range(len(rows))],
            "target": "a",
            "defense": defenses,
            "goal": [f"g{goal:02}" for goal in goals],
            "attempt": attempts,
            "attack_success": successes,
        }
    )


@pytest.mark.integration
def test_a_correction_looks_for_loops_in_the_groups_asked_for() -> None:
    """Labels equal to the verdicts correct nothing: all 150 rollouts behind the filter count, as in `summarize`."""
    frame = two_defenses()
    labels = frame.select("rollout_id", "defense", "attack_success", true=pl.col("attack_success"))
    rate = rw.summarize(frame, by="defense", metrics="attack_success", statistics="mean").filter(defense="filter")
    true = rw.judges.correct(frame, labels, truth="true", metric="attack_success", by="defense").filter(
        defense="filter"
    )
    assert (rate["n"].item(), true["n"].item()) == (150, 150)
    assert true["estimate"].item() == pytest.approx(rate["estimate"].item(), abs=0.02)


@pytest.mark.integration
def test_the_chance_of_being_best_is_of_the_rollouts_of_the_estimate() -> None:
    """It is near that of a bootstrap over all attempts behind the filter and the first ones without it."""
    ranks = rw.rank(two_defenses(), of="defense", metric="attack_success").sort("group")
    assert ranks["n"].to_list() == [150, 30]
    lower = ranks.sort("estimate")["group"][0]
    assert ranks.filter(group=lower)["p_best"].item() > 0.9


def test_a_pattern_is_no_metric() -> None:
    """What it reads is not known, so a rollout without a verdict would count as a failure: False for the first of these."""
    turns = rw.turns(
        pl.DataFrame({"rollout_id": ["a", "b"], "turn": 1, "response": ["x", "y"], "succeeded": [None, True]})
    )
    assert rw.measure(turns, x=pl.col("succeeded").any())["x"].to_list() == [None, True]
    for pattern in (pl.col("^succee.*$").any(), pl.selectors.by_name("succeeded").any()):
        with pytest.raises(rw.errors.MetricError, match="x= chooses columns by a pattern or a selector"):
            rw.measure(turns, x=pattern)


@pytest.mark.usefixtures("own_metrics")
def test_metrics_that_a_function_makes_stay_registered() -> None:
    """Each has a name of its own; to define one again replaces it."""
    from rollwise.metrics import catalog, metric

    def made(number: int) -> object:
        @metric(names=(f"made_{number}",), better="lower")
        def made_metric() -> pl.Expr:
            """The worst score, so many times."""
            return pl.col("score").max() * number

        return made_metric

    made(1)
    made(2)
    assert catalog.about("made_1") is not None
    assert catalog.about("made_2") is not None
