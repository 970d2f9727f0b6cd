"""`curve`: shares by turn that say what ended the others, against lifelines and the real logs of other tools."""

import numpy as np
import polars as pl
import pytest
from lifelines import KaplanMeierFitter

import rollwise as rw
from rollwise import metrics as m
from rollwise import schema
from rollwise.errors import ArgumentError, MetricError


def rollouts(watched: list[tuple[int, bool, str | None, int]], **columns) -> pl.DataFrame:
    """ROLLOUTS of (duration, observed, ending, num_turns)."""
    return pl.DataFrame(
        {
            "rollout_id": pl.Series([f"r{row:04}" for row in range(len(watched))], dtype=pl.String),
            "ending": pl.Series([ending for _, _, ending, _ in watched], dtype=schema.ENDINGS),
            "num_turns": pl.Series([turns for *_, turns in watched], dtype=pl.Int32),
            "time_to_success": pl.Series(
                [{"duration": duration, "observed": observed} for duration, observed, *_ in watched],
                dtype=schema.TIME_TO_EVENT,
            ),
            **columns,
        }
    )


SIX = rollouts(
    [
        (1, True, "success", 1),
        (2, True, "success", 2),
        (2, False, "gave_up", 2),  # competes
        (2, False, "gave_up", 3),  # watched to turn 2 of 3 only: censored
        (3, False, "budget", 3),
        (3, True, "success", 3),
    ]
)


def column(frame: pl.DataFrame, name: str) -> list:
    return frame[name].to_list()


def test_the_share_as_run_by_hand() -> None:
    """Aalen-Johansen on six rollouts: 1/6, then 5/6 x 1/5 more, then (5/6 x 3/5) x 1/2 more."""
    got = rw.curve(SIX)
    assert column(got, "at") == [0, 1, 2, 3]
    assert column(got, "estimate") == pytest.approx([0, 1 / 6, 1 / 3, 1 / 3 + 1 / 4])
    assert column(got, "at_risk") == [6, 6, 5, 2]
    assert column(got, "events") == [0, 1, 1, 1]
    assert column(got, "competing") == [0, 0, 1, 0]
    assert column(got, "censored") == [0, 0, 1, 1]


@pytest.mark.integration
def test_survival_is_kaplan_meier() -> None:
    """Where nothing competes, one minus the share is the Kaplan-Meier estimate of lifelines, to 1e-9."""
    rng = np.random.default_rng(2)
    frame = rollouts(
        [
            (int(t), bool(e), "gave_up", int(t))
            for t, e in zip(rng.integers(1, 9, 80), rng.random(80) < 0.5, strict=True)
        ]
    )
    got = rw.curve(frame, kind="survival")
    time = frame["time_to_success"].struct
    fitter = KaplanMeierFitter().fit(time.field("duration").to_numpy(), time.field("observed").to_numpy())
    assert column(got, "estimate") == pytest.approx(
        fitter.survival_function_at_times(column(got, "at")).to_list(), abs=1e-9
    )
    assert got["low"].drop_nulls().is_between(0, 1).all()
    assert (got["low"] <= got["estimate"]).drop_nulls().all()
    assert (got["estimate"] <= got["high"]).drop_nulls().all()


@pytest.mark.integration
def test_each_way_to_end_has_its_incidence() -> None:
    """The incidences of all ways to end add up to one minus the share still running."""
    got = rw.curve(SIX, kind="incidence")
    assert got["ending"].unique().sort().to_list() == ["gave_up", "success"]
    last = got.filter(pl.col("at") == 3)
    assert last["estimate"].sum() == pytest.approx(1 - 5 / 6 * 3 / 5 * 1 / 2)


def test_hazard_is_events_among_those_at_risk() -> None:
    """The hazard at a turn is its events over the rollouts at risk."""
    got = rw.curve(SIX, kind="hazard")
    assert column(got, "at") == [1, 2, 3]
    assert column(got, "estimate") == pytest.approx([1 / 6, 1 / 5, 1 / 2])


def test_success_competes_with_another_event() -> None:
    """For another event than success, a rollout that ended in success can no longer have it."""
    frame = SIX.rename({"time_to_success": "time_to_refusal"}).with_columns(
        time_to_refusal=pl.Series([{"duration": 1, "observed": False}] * 2 + [{"duration": 1, "observed": True}] * 4)
    )
    got = rw.curve(frame, metric="time_to_refusal")
    assert column(got, "competing") == [0, 1]
    assert column(got, "estimate") == pytest.approx([0, 4 / 6])


def test_a_success_of_unknown_turn_is_said() -> None:
    """A log that judges only the whole rollout gives no turn; the success counts at the last, and the row says so."""
    frame = SIX.with_columns(num_judged=pl.lit(0, dtype=pl.Int32))
    assert "2 successes of unknown time counted at the last turn" in rw.curve(frame)["reason"][-1]
    assert "unknown time" not in (rw.curve(SIX.with_columns(num_judged="num_turns"))["reason"][-1] or "")


@pytest.mark.integration
def test_goals_are_the_unit() -> None:
    """Alike attempts at one goal widen the interval; goals stand in the row."""
    goal = pl.Series([f"g{i // 4}" for i in range(40)])
    frame = rollouts([(1, i // 4 < 5, "budget", 1) for i in range(40)], goal=goal)
    clustered, free = rw.curve(frame), rw.curve(frame, cluster=None)
    assert column(clustered, "n_clusters") == [10, 10]
    assert clustered["high"][1] - clustered["low"][1] > free["high"][1] - free["low"][1]
    assert "unit: goal" in clustered["estimand"][1]


@pytest.mark.integration
def test_rollouts_without_a_time_are_counted_in_the_estimand() -> None:
    """What was not watched is left out and said; a group without any time keeps a row."""
    frame = pl.concat(
        [SIX, SIX.with_columns(pl.lit("x").alias("rollout_id"), time_to_success=None)[:1]], how="diagonal_relaxed"
    )
    assert "1 without a time" in rw.curve(frame)["estimand"][0]
    empty = rw.curve(frame.filter(pl.col("rollout_id") == "x"))
    assert (empty.height, empty["estimate"][0], empty["at_risk"][0]) == (1, None, 0)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"metric": "time_to_sucess"}, "times to an event here: time_to_success"),
        ({"metric": "num_turns"}, "'num_turns' is Int32, not a time"),
        ({"kind": "hazzard"}, "kind='hazzard' is unknown"),
        ({"axis": "words"}, "axis='words' is unknown"),
        (
            {"axis": "tokens"},
            r"measure it: `rw.measure\(turns, m.time_to_success\(\), m.spent_to_success\('tokens'\)\)`",
        ),
        ({"band": "wide"}, "band='wide' is unknown"),
        ({"band": "simultaneous", "kind": "hazard"}, "a hazard has no simultaneous band"),
        ({"competing": ["gave-up"]}, "'gave-up' is not an ending"),
        ({"by": "target"}, "no column 'target'"),
    ],
)
def test_an_option_that_makes_no_sense_is_one_sentence(options: dict, says: str) -> None:
    """A wrong option names itself and what there is instead."""
    with pytest.raises(ArgumentError, match=says):
        rw.curve(SIX, **options)


@pytest.mark.integration
def test_the_result_is_a_curve() -> None:
    """The result conforms to its schema, groups first, in every kind and at several levels."""
    frame = SIX.with_columns(target=pl.Series(list("aaabbb")))
    for kind in ("success", "survival", "hazard", "incidence"):
        got = rw.curve(frame, by="target", kind=kind, level=(0.5, 0.9))
        assert got.columns == ["target", *schema.CURVE.names]
        schema.check(got, schema.CURVE)


# ── what it took ──────────────────────────────────────────────────────────────────────────────────────────────────────
SPENT = pl.DataFrame(
    {
        "rollout_id": ["a", "a", "b", "b", "b", "c", "d", "d"],
        "turn": pl.Series([1, 2, 1, 2, 3, 1, 1, 2], dtype=pl.Int32),
        "succeeded": [False, True, False, False, False, True, False, False],
        "prompt_tokens": [10, 20, 5, 5, 90, 40, 1, 1],
        "response_tokens": [5, 5, 5, None, 10, 10, 1, 1],
        "cost_usd": [0.25, 0.5, 0.5, 0.25, 0.25, 1.5, 0.0, None],
        "ending": pl.Series(["success"] * 2 + ["budget"] * 3 + ["success"] + ["budget"] * 2, dtype=schema.ENDINGS),
    }
)


@pytest.mark.integration
def test_success_is_charged_at_what_it_had_taken() -> None:
    """Successes after 40 and 50 tokens; one watch ended at 115 and one at 4, before either: 1/3, then 2/3 of those left."""
    found = rw.measure(SPENT, m.time_to_success(), m.spent_to_success("tokens"), m.spent_to_success("cost_usd"))
    assert [time["duration"] for time in found["spent_to_success_tokens"]] == [40, 115, 50, 4]
    got = rw.curve(found, axis="tokens")
    assert column(got, "at") == [0, 4, 40, 50]
    assert column(got, "at_risk") == [4, 4, 3, 2]
    assert column(got, "estimate") == pytest.approx([0, 0, 1 / 3, 2 / 3])
    assert column(got, "axis")[0] == "tokens"
    assert "by tokens x" in column(got, "estimand")[0]
    fitter = KaplanMeierFitter().fit([40, 115, 50, 4], [1, 0, 1, 0])
    assert column(got, "estimate") == pytest.approx((1 - fitter.survival_function_at_times([0, 4, 40, 50])).to_list())
    # what a later turn would have cost is not charged, and an unknown cost leaves the rollout out
    assert found["spent_to_success_cost_usd"].to_list()[0] == {"duration": 0.75, "observed": True}
    assert found["spent_to_success_cost_usd"].to_list()[3] is None
    assert "1 without a time" in column(rw.curve(found, axis="cost_usd"), "estimand")[0]


@pytest.mark.integration
def test_success_at_the_moment_not_the_sample_total() -> None:
    """Trap T7: scores_by_limit_df of inspect_viz charges the sample's total, and alters the frame it was given."""
    longer = SPENT.with_columns(outcome=pl.lit(None, dtype=schema.OUTCOMES)).filter(pl.col("rollout_id") == "a")
    more = pl.concat(
        [longer, longer[-1:].with_columns(turn=pl.lit(3, dtype=pl.Int32), prompt_tokens=pl.lit(10_000, dtype=pl.Int64))]
    )
    found = rw.measure(more, m.time_to_success(), m.spent_to_success("tokens"))
    kept = found.clone()
    assert column(rw.curve(found, axis="tokens"), "at") == [0, 40]
    assert found.equals(kept)


def test_an_amount_is_no_time_in_turns() -> None:
    """A summary of all metrics leaves amounts alone; backtracking is counted in calls of the target."""
    found = rw.measure(
        SPENT.with_columns(target_call=pl.col("turn") * 2), m.time_to_success(), m.spent_to_success("target_call")
    )
    assert rw.summarize(found)["metric"].unique().sort().to_list() == ["num_turns", "time_to_success"]
    assert column(rw.curve(found, axis="target_call"), "at") == [0, 2, 4]
    with pytest.raises(MetricError, match="axis='euro' is unknown"):
        m.spent_to_success("euro")


@pytest.mark.integration
def test_a_free_success_is_at_nothing() -> None:
    """A success that cost nothing stands at 0, once."""
    free = SPENT.with_columns(cost_usd=pl.when(pl.col("rollout_id") == "a").then(0.0).otherwise(1.0))
    got = rw.curve(rw.measure(free, m.time_to_success(), m.spent_to_success("cost_usd")), axis="cost_usd")
    assert column(got, "at") == [0, 1]
    assert column(got, "estimate")[0] == 0.25


# ── the whole curve at once ───────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_a_simultaneous_band_holds_the_pointwise_one() -> None:
    """The band is as wide or wider everywhere, the same for the same seed, and says what it is."""
    turns, _ = rw.simulate(goals=30, attempts=4, turns=6, seed=3)
    found = rw.measure(turns)
    point, band = rw.curve(found), rw.curve(found, band="simultaneous")
    assert (band["low"] <= point["low"]).drop_nulls().all()
    assert (band["high"] >= point["high"]).drop_nulls().all()
    assert band["high"][-1] > point["high"][-1]
    assert band["method"][0].endswith("simultaneous (sup-t)")
    assert band.equals(rw.curve(found, band="simultaneous"))
    assert band["level"].unique().to_list() == [0.95]


# ── two curves ────────────────────────────────────────────────────────────────────────────────────────────────────────
def two_targets() -> pl.DataFrame:
    turns, _ = rw.simulate(targets={"base": 0.12, "guarded": 0.04}, goals=25, attempts=4, turns=6, seed=5)
    return rw.measure(turns)


@pytest.mark.integration
def test_a_difference_curve_is_the_difference_of_the_curves() -> None:
    """Each point is the group's share less the baseline's; goals in both arms are pairs."""
    found = two_targets()
    got = rw.comparisons.curve_difference(found, of="target", baseline="base")
    own = {name: rw.curve(found.filter(target=name))["estimate"] for name in ("base", "guarded")}
    assert column(got, "estimate") == pytest.approx(
        [g - b for g, b in zip(own["guarded"], own["base"], strict=True)][1:]
    )
    assert column(got, "n_clusters")[0] == 25
    assert got["group"].unique().to_list() == ["guarded"]
    schema.check(got, schema.CURVE)
    assert got.select((pl.col("low") < pl.col("estimate")) & (pl.col("estimate") < pl.col("high"))).to_series().all()


@pytest.mark.integration
def test_log_rank_and_restricted_means() -> None:
    """One row each: the test agrees with the restricted means on which is later; both count pairs."""
    found = two_targets()
    test, mean = rw.comparisons.curve_test(found, of="target", baseline="base").rows(named=True)
    assert (test["statistic"], mean["statistic"]) == ("log_rank", "restricted_mean")
    assert test["difference"] < 0 < mean["difference"]
    assert max(test["p_value"], mean["p_value"]) < 0.05
    assert (test["n_pairs"], test["only_group"], test["low"]) == (25, 0, None)
    own = {
        name: rw.summarize(found.filter(target=name), metrics="time_to_success", statistics="restricted_mean")[
            "estimate"
        ][0]
        for name in ("base", "guarded")
    }
    assert mean["difference"] == pytest.approx(own["guarded"] - own["base"])
    schema.check(rw.comparisons.curve_test(found, of="target", baseline="base"), schema.CONTRAST)


def test_a_baseline_that_is_not_there() -> None:
    """What to compare with must be a value of the column."""
    with pytest.raises(ArgumentError, match="baseline='bas' is not a value of 'target'; available: base, guarded"):
        rw.comparisons.curve_test(two_targets(), of="target", baseline="bas")
    with pytest.raises(ArgumentError, match="of='tagret' is not a column"):
        rw.comparisons.curve_difference(two_targets(), of="tagret", baseline="base")


# ── where the definitions bite, on real logs ──────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize(
    ("model", "share"), [("vicuna-13b-v1.5", 0.69), ("gpt-4-0125-preview", 0.34), ("gpt-3.5-turbo-1106", 0.71)]
)
def test_an_attack_that_produced_nothing_stays_at_risk(shared, model: str, share: float) -> None:
    """JailbreakBench PAIR: rollouts without a response are in the denominator at turn 1 (0.841, 0.531, 0.816 otherwise)."""
    turns = rw.read(shared / "jailbreakbench" / "PAIR" / "black_box" / f"{model}.json")
    got = rw.curve(rw.measure(turns, m.time_to_success))
    assert column(got, "estimate") == pytest.approx([0, share])


@pytest.mark.integration
def test_a_conversation_that_ended_competes(shared) -> None:
    """AgentDojo banking: 8 of 144 as run (not Kaplan-Meier's 0.0925, nor 0 for want of verdicts by turn)."""
    turns = rw.read(shared / "agentdojo_drift").filter(
        pl.col("task").str.starts_with("banking"), pl.col("attack") != "none"
    )
    found = rw.measure(turns, m.attack_success, m.time_to_success)
    assert rw.curve(found)["estimate"][-1] == pytest.approx(8 / 144)
    assert rw.curve(found, kind="survival")["estimate"][-1] == pytest.approx(1 - 0.0925, abs=5e-5)


@pytest.mark.integration
def test_a_rollout_that_stopped_early_competes(shared) -> None:
    """InterCode CTF: 37 of 93 as run (Kaplan-Meier would say 0.438)."""
    (path,) = (shared / "intercode").rglob("*ctf*gpt-4*.json")
    solved = rw.read(path).with_columns(succeeded=pl.col("reward") == 1)
    solved = solved.with_columns(
        outcome=pl.when(pl.col("solved")).then(pl.lit("success")).otherwise(pl.lit("failure")).cast(schema.OUTCOMES)
    )
    found = rw.measure(solved, m.time_to_success)
    at_ten = pl.col("at") == 10
    assert rw.curve(found).filter(at_ten)["estimate"].item() == pytest.approx(37 / 93)
    assert 1 - rw.curve(found, kind="survival").filter(at_ten)["estimate"].item() == pytest.approx(0.438, abs=5e-4)
