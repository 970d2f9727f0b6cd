# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""`contrast`: paired by goal, every refusal in a sentence, nothing of zero width, and nothing else able to change a row."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests
from typer.testing import CliRunner

import rollwise as rw
from rollwise import schema
from rollwise.cli import app
from rollwise.errors import ArgumentError, SchemaError
from rollwise.stats.pairs import newcombe


def rollouts(**columns):
    """ROLLOUTS of these columns."""
    height = len(next(iter(columns.values())))
    ids = pl.Series([f"r{row:04}" for row in range(height)], dtype=pl.String)
    known = {
        name: pl.Series(name, values, schema.ROLLOUTS.dtypes.get(name), strict=False)
        for name, values in columns.items()
    }
    return pl.DataFrame({"rollout_id": ids, **known})


def crossed(arms, goals=None, **more):
    """Targets whose values are given in order of their goals."""
    names = goals or [f"g{number}" for number in range(len(next(iter(arms.values()))))]
    values = [value for arm in arms.values() for value in arm]
    flag = all(isinstance(value, bool) or value is None for value in values)
    return rollouts(
        target=[target for target, arm in arms.items() for _ in arm],
        goal=names * len(arms),
        **{"attack_success" if flag else "grade": values},
        **more,
    )


def only(frame):
    """The frame's one row."""
    assert frame.height == 1
    return frame.row(0, named=True)


BASE = [True] * 36 + [False] * 12 + [True] * 2
GROUP = [True] * 48 + [False] * 2
PAIR = crossed({"base": BASE, "new": GROUP})


# ── pairs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_pairs_by_hand():
    """Fifty goals, one rollout each: Newcombe's published interval, McNemar's mid-p, and the pairing report."""
    row = only(rw.contrast(PAIR, of="target", baseline="base"))
    assert (row["group"], row["baseline"], row["of"], row["metric"]) == ("new", "base", "target", "attack_success")
    assert (row["group_estimate"], row["baseline_estimate"]) == (0.96, 0.76)
    assert row["difference"] == pytest.approx(0.2)
    assert (row["low"], row["high"]) == pytest.approx(newcombe(36, 12, 2, 0))
    assert (row["n_pairs"], row["only_group"], row["only_baseline"], row["n_unequal"]) == (50, 0, 0, 0)
    assert row["method"] == "Newcombe score, paired; McNemar mid-p"
    assert row["p_adjusted"] == row["p_value"]
    assert row["adjust"] == "Holm over 1"
    assert row["seed"] is None


def test_the_pairing_report():
    """Two goals in both arms, one of them with more attempts in one; goals of one arm alone are counted and left out."""
    frame = rollouts(
        target=["a", "a", "a", "a", "b", "b", "b"],
        goal=["x", "x", "y", "only a", "x", "y", "only b"],
        grade=[1.0, 3.0, 5.0, 100.0, 1.0, 2.0, -100.0],
    )
    row = only(rw.contrast(frame, of="target", baseline="b"))
    assert row["difference"] == pytest.approx(((2 - 1) + (5 - 2)) / 2)
    assert (row["n_pairs"], row["only_group"], row["only_baseline"], row["n_unequal"]) == (2, 1, 1, 1)
    assert (row["n_group"], row["n_baseline"], row["n_clusters"]) == (4, 3, 2)
    assert "over the 2 goals of both" in row["estimand"]
    apart = only(rw.contrast(frame, of="target", baseline="b", paired=False))
    assert apart["difference"] == pytest.approx(109 / 4 + 97 / 3)
    assert apart["n_pairs"] == 2


@pytest.mark.integration
def test_one_common_goal_is_null():
    """One goal in common: of pairs no interval and no p-value, and the reason says so; by itself all of the data count."""
    frame = rollouts(
        target=["a"] * 9 + ["b"] * 9,
        goal=[f"a{i}" for i in range(8)] + ["x"] * 2 + [f"b{i}" for i in range(8)],
        grade=list(range(18)),
    )
    row = only(rw.contrast(frame, of="target", baseline="b", metrics="grade", paired=True))
    assert (row["n_pairs"], row["low"], row["p_value"], row["p_adjusted"]) == (1, None, None, None)
    assert row["reason"].startswith("one common goal")
    apart = only(rw.contrast(frame, of="target", baseline="b", metrics="grade"))
    assert apart["low"] < apart["difference"] < apart["high"]
    assert apart == only(rw.contrast(frame, of="target", baseline="b", metrics="grade", paired=False))


def test_null_goals_never_pair():
    """A rollout without a goal is its own cluster in both arms: nothing is common."""
    frame = crossed({"a": [True] * 6, "b": [False] * 6}).with_columns(goal=pl.lit(None, dtype=pl.String))
    row = only(rw.contrast(frame, of="target", baseline="b"))
    assert row["n_pairs"] == 0
    assert row["method"].startswith("Newcombe score; ")
    assert row["reason"] == "no goal or task is named, so every rollout counts as independent"
    forced = only(rw.contrast(frame, of="target", baseline="b", paired=True))
    assert (forced["low"], forced["reason"]) == (None, "no common goal")


def test_without_clusters_nothing_pairs():
    """cluster=None: rollouts are independent, the report is null, and paired=True is refused."""
    row = only(rw.contrast(PAIR, of="target", baseline="base", cluster=None))
    assert (row["n_pairs"], row["method"]) == (None, "Newcombe score; label permutation")
    with pytest.raises(ArgumentError, match="needs something that pairs"):
        rw.contrast(PAIR, of="target", baseline="base", cluster=None, paired=True)


@pytest.mark.integration
def test_unequal_arms_and_missing_arms():
    """A group of the frame without the baseline has its row: null, with a reason."""
    frame = PAIR.with_columns(category=pl.when(pl.col("target") == "new").then(pl.lit("x")).otherwise(pl.lit("y")))
    made = rw.contrast(frame, of="target", baseline="base", by="category")
    assert made["difference"].to_list() == [None, None]
    assert made["reason"].to_list() == ["no value in one of the arms"] * 2


@pytest.mark.integration
def test_all_pairs_without_a_baseline():
    """Three targets, no baseline: three comparisons, each with the one before it in order."""
    frame = crossed({name: list(np.random.default_rng(n).normal(n, 1, 12)) for n, name in enumerate("abc")})
    made = rw.contrast(frame, of="target")
    assert made.select("baseline", "group").rows() == [("a", "b"), ("a", "c"), ("b", "c")]
    assert made["difference"][1] == pytest.approx(made["difference"][0] + made["difference"][2])


# ── draws ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize(
    ("dtype", "values"),
    [(pl.Int64, [2, 10, 100]), (pl.Enum(["small", "medium", "large"]), ["small", "medium", "large"])],
)
def test_arms_have_the_order_of_their_values(dtype, values):
    """Numbers by size and Enums by rank, as `summarize` groups them: step 10 less step 2, not the other way round."""
    frame = rollouts(goal=["a", "b"] * 3, grade=[1.0, 2.0, 3.0, 5.0, 9.0, 8.0]).with_columns(
        step=pl.Series(np.repeat(values, 2).tolist(), dtype=dtype)
    )
    pairs = rw.contrast(frame, of="step")["baseline", "group"].rows()
    first, second, third = map(str, values)
    assert pairs == [(first, second), (first, third), (second, third)]
    times = pl.struct(duration=pl.lit(2, pl.Int32), observed=pl.lit(value=True))
    tests = rw.comparisons.curve_test(frame.with_columns(time_to_success=times), of="step", baseline=values[0])
    assert tests["group"].to_list() == [second, second, third, third]


@pytest.mark.integration
def test_nothing_else_in_the_frame_changes_a_row():
    """Row order, other groups, other goals and other metrics leave a comparison's numbers alone; another seed does not."""
    rng = np.random.default_rng(0)
    frame = crossed({name: list(rng.normal(0, 1, 40)) for name in "abc"})
    options = {"of": "target", "baseline": "a", "adjust": None, "method": "bootstrap", "resamples": 500}
    whole = rw.contrast(frame, **options).filter(group="b")
    alone = rw.contrast(frame.filter(pl.col("target") != "c").reverse(), **options)
    assert whole.equals(alone)
    renamed = frame.with_columns(
        goal=pl.when(pl.col("target") == "c").then(pl.lit("z") + pl.col("goal")).otherwise("goal")
    )
    assert rw.contrast(renamed, **options).filter(group="b").equals(whole)
    other = rw.contrast(frame, seed=1, **options).filter(group="b")
    assert not other["low"].equals(whole["low"])
    assert rw.contrast(frame, seed=1, **options).filter(group="b").equals(other)


@pytest.mark.integration
def test_the_same_seed_gives_the_same_intervals():
    """Rliable ignores its random state (`test_rliable_ignores_its_seed`); here a seed means the same numbers, always."""
    frame = crossed({name: list(np.random.default_rng(n).gamma(2, 1, 30)) for n, name in enumerate("ab")})
    for options in ({}, {"paired": False, "method": "bootstrap"}, {"statistics": ["median", "improvement"]}):
        first, again = (rw.contrast(frame, of="target", baseline="a", seed=5, **options) for _ in range(2))
        assert first.equals(again)


@pytest.mark.integration
@pytest.mark.parametrize("common", [30, 20, 10, 0])
def test_exchanged_arms_give_the_same_interval_of_quantiles(common):
    """Whichever arm is the baseline, and however many goals both have: the same ends with the other sign, and the same p."""
    rng = np.random.default_rng(common)
    frame = rollouts(
        target=["a"] * 30 + ["b"] * 30,
        goal=[f"g{number}" for start in (0, 30 - common) for number in range(start, start + 30)],
        grade=rng.gamma(2, 1, 60).tolist(),
    )
    options = {"of": "target", "metrics": "grade", "statistics": "median", "paired": False}
    one, other = (rw.contrast(frame, baseline=name, **options).row(0, named=True) for name in "ab")
    assert (one["low"], one["high"]) == pytest.approx((-other["high"], -other["low"]))
    assert one["p_value"] == pytest.approx(other["p_value"])
    assert one["low"] < one["high"]


# ── families ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_the_family_is_the_frame():
    """Holm, BH and BY over every p-value of the frame, as statsmodels has them; undefined ones leave and are listed."""
    rng = np.random.default_rng(1)
    arms = {name: list(rng.normal(0.3 * n, 1, 24)) for n, name in enumerate("abcd")}
    frame = crossed(arms, category=(["x"] * 12 + ["y"] * 11 + ["lonely"]) * 4)
    raw = rw.contrast(frame, of="target", baseline="a", by="category", adjust=None)
    assert raw["p_adjusted"].null_count() == raw.height
    known = raw["p_value"].drop_nulls().to_numpy()
    assert (raw.height, known.size) == (9, 6)
    for adjust, theirs in (("holm", "holm"), ("bh", "fdr_bh"), ("by", "fdr_by")):
        made = rw.contrast(frame, of="target", baseline="a", by="category", adjust=adjust)
        expected = multipletests(known, method=theirs)[1]
        assert made["p_adjusted"].drop_nulls().to_numpy() == pytest.approx(expected)
        assert made["p_value"].equals(raw["p_value"])
        assert made.filter(category="lonely")["p_adjusted"].null_count() == 3
        assert made["adjust"].drop_nulls().unique().item().endswith("over 6")


@pytest.mark.integration
def test_max_t_uses_the_correlation_and_widens_the_intervals():
    """Five copies of one comparison cost next to nothing by max-T and five times by Holm; the intervals are simultaneous."""
    rng = np.random.default_rng(2)
    base = rng.normal(0, 1, 40)
    moved = base + rng.normal(0.45, 1, 40)
    frame = crossed({"a": list(base), **{f"b{n}": list(moved + n * 1e-9) for n in range(5)}})
    holm, joint = (rw.contrast(frame, of="target", baseline="a", adjust=adjust) for adjust in ("holm", "max-t"))
    assert joint["p_adjusted"].max() < 2 * joint["p_value"].max()
    assert holm["p_adjusted"].min() > 4 * holm["p_value"].max()
    assert joint["method"].str.starts_with("simultaneous t (max-T), paired").all()
    apart = crossed({"a": list(base), **{f"b{n}": list(base + rng.normal(0.4, 1, 40)) for n in range(5)}})
    wide, plain = (rw.contrast(apart, of="target", baseline="a", adjust=adjust) for adjust in ("max-t", None))
    assert ((wide["high"] - wide["low"]) > (plain["high"] - plain["low"])).all()
    unpaired = rw.contrast(apart, of="target", baseline="a", adjust="max-t", paired=False)
    assert unpaired["p_adjusted"].null_count() == 5
    assert unpaired["reason"].str.contains("max-T is for paired means").all()


# ── what is unknown ───────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_unjudged_turns_widen_the_interval_and_the_p_value():
    """The interval holds whatever they are, the p-value is the largest, and the estimate lies between; dropped, the row says so."""
    turns = {"num_turns": [4] * 40, "num_judged": [4] * 18 + [2] * 2 + [4] * 20}
    values = [True] * 6 + [False] * 12 + [None] * 2
    frame = crossed({"a": values, "b": [False] * 20}, outcome=[None] * 40, **turns)
    row = only(rw.contrast(frame, of="target", baseline="b", metrics="attack_success"))
    assert row["reason"].startswith("2 of 40 rollouts have unjudged turns and no success: the estimate leaves them out")
    extremes = []
    for fill in (True, False):
        known = frame.with_columns(pl.col("attack_success").fill_null(fill), num_judged=4)
        settled = only(rw.contrast(known, of="target", baseline="b", metrics="attack_success"))
        assert row["low"] <= settled["low"]
        assert row["high"] >= settled["high"]
        extremes.append(settled)
    assert row["p_value"] == max(settled["p_value"] for settled in extremes)
    assert extremes[1]["difference"] < row["difference"] < extremes[0]["difference"]
    assert row["difference"] == pytest.approx(row["group_estimate"] - row["baseline_estimate"])
    joint = only(rw.contrast(frame, of="target", baseline="b", metrics="attack_success", adjust="max-t"))
    assert (joint["p_adjusted"], joint["low"]) == (None, row["low"])
    assert "max-T needs the verdicts of all turns, or unjudged='drop'" in joint["reason"]
    dropped = only(rw.contrast(frame, of="target", baseline="b", metrics="attack_success", unjudged="drop"))
    assert dropped["difference"] == pytest.approx(6 / 18)
    assert "2 of 40 rollouts have unjudged turns and no success: they are left out" in dropped["reason"]


def test_a_difference_that_unjudged_turns_could_turn_around_has_a_p_value_of_one():
    """Two goals in favor of a, eight unjudged in a: with all as failures b is ahead, so some outcome has no difference."""
    frame = crossed(
        {"a": [True] * 6 + [None] * 8 + [False] * 6, "b": [False] * 6 + [True] * 8 + [False] * 6},
        outcome=[None] * 40, num_turns=[4] * 40, num_judged=[4] * 6 + [2] * 8 + [4] * 26,
    )  # fmt: skip
    row = only(rw.contrast(frame, of="target", baseline="b", metrics="attack_success"))
    assert row["low"] < 0 < row["high"]
    assert row["p_value"] == 1


def test_other_unknowns_are_counted():
    """Rollouts without a value are in no count of the arms and stand in the estimand; left out, they leave their goals alone."""
    frame = crossed({"a": [True, None, False, True], "b": [False, True, None, False]})
    row = only(rw.contrast(frame, of="target", baseline="b"))
    assert (row["n_pairs"], row["n_group"], row["n_baseline"]) == (4, 3, 3)
    assert row["estimand"].endswith("without a value: 1 and 1 rollouts")
    dropped = only(rw.contrast(frame, of="target", baseline="b", unjudged="drop"))
    assert (dropped["n_pairs"], dropped["n_group"], dropped["n_baseline"]) == (2, 3, 3)


@pytest.mark.integration
@pytest.mark.parametrize("unknown", [None, float("nan")])
@pytest.mark.parametrize(
    "options", [{}, {"paired": False, "method": "bootstrap"}, {"statistics": ["median", "improvement"]}]
)
def test_one_unknown_score_costs_one_rollout(unknown, options):
    """One NaN among rliable's scores makes all of its aggregates and intervals NaN; here one rollout of an arm is missing."""
    arms = {name: list(np.random.default_rng(n).gamma(2, 1, 30)) for n, name in enumerate("ab")}
    whole = rw.contrast(crossed(arms), of="target", baseline="a", metrics="grade", **options)
    arms["b"][7] = unknown
    made = rw.contrast(crossed(arms), of="target", baseline="a", metrics="grade", **options)
    for row, before in zip(made.rows(named=True), whole.rows(named=True), strict=True):
        assert (row["n_group"], row["n_baseline"], before["n_group"]) == (29, 30, 30)
        assert row["estimand"].endswith("without a value: 1 and 0 rollouts")
        assert np.isfinite([row[name] for name in ("difference", "low", "high", "p_value")]).all()
        assert row["low"] < row["difference"] < row["high"]


def test_different_judges_are_not_compared():
    """A difference of judges looks like a difference of targets: refused by name, unless forced."""
    frame = PAIR.with_columns(judge=pl.when(pl.col("target") == "new").then(pl.lit("v2")).otherwise(pl.lit("v1")))
    with pytest.raises(ArgumentError, match=r"`judge` is v2 for 'new' but v1 for 'base'.*force=True"):
        rw.contrast(frame, of="target", baseline="base")
    assert rw.contrast(frame, of="target", baseline="base", force=True).height == 1
    assert rw.contrast(frame.with_columns(judge=pl.lit("v1")), of="target", baseline="base").height == 1


# ── statistics ────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_every_statistic():
    """Mean, median, quantile, improvement and restricted mean, each with its own interval; the wrong one says why not."""
    turns, _ = rw.simulate(targets={"base": 0.2, "guarded": 0.05}, seed=3)
    frame = rw.measure(turns, rw.metrics.attack_success(), rw.metrics.time_to_success())
    frame = frame.with_columns(grade=pl.Series(np.random.default_rng(0).normal(size=frame.height)))
    made = rw.contrast(
        frame, of="target", baseline="base", metrics="grade", statistics=["mean", "median", "q90", "improvement"]
    )
    for row in made.rows(named=True):
        assert row["low"] < row["difference"] < row["high"]
        assert 0 < row["p_value"] <= 1
    assert made.filter(statistic="improvement")["difference"].item() == pytest.approx(0.5, abs=0.1)
    times = only(rw.contrast(frame, of="target", baseline="base", metrics="time_to_success"))
    assert (times["statistic"], times["difference"] > 0, times["p_value"] < 0.05) == ("restricted_mean", True, True)
    wrong = rw.contrast(
        frame, of="target", baseline="base", metrics=["grade", "time_to_success"], statistics="restricted_mean"
    )
    assert wrong.filter(metric="grade")["reason"].item() == "restricted_mean: this metric is not a time"


def test_crossed_goals_and_tasks():
    """A metric over goals and tasks is compared by its cells, with the smaller way's degrees of freedom."""
    rng = np.random.default_rng(4)
    cells = [(f"g{goal}", f"t{task}") for goal in range(6) for task in range(5)]
    frame = rollouts(
        target=["a"] * 30 + ["b"] * 30,
        goal=[goal for goal, _ in cells] * 2,
        task=[task for _, task in cells] * 2,
        grade=list(rng.normal(size=60)),
    )
    row = only(rw.contrast(frame, of="target", baseline="b"))
    assert (row["n_pairs"], row["n_clusters"], row["method"]) == (30, 5, "paired two-way t; t test")
    drawn = only(rw.contrast(frame, of="target", baseline="b", method="bootstrap"))
    assert drawn["method"].startswith("paired two-way percentile bootstrap")


@pytest.mark.integration
@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from("vwxyz"), st.sampled_from([True, False, None])), max_size=30
    ),
    st.sampled_from(["auto", True, False]),
)
def test_properties(drawn, paired):
    """Never zero width, never p = 0, a sentence in every row, and the pairing report adds up."""
    frame = rollouts(
        target=["a", "b", *[row[0] for row in drawn]],
        goal=["v", "w", *[row[1] for row in drawn]],
        attack_success=pl.Series([True, False, *[row[2] for row in drawn]], dtype=pl.Boolean).to_list(),
    )
    row = only(rw.contrast(frame, of="target", baseline="a", paired=paired, resamples=200))
    assert (row["low"] is None) == (row["high"] is None)
    if row["low"] is None:
        assert row["reason"]
    else:
        assert row["low"] < row["high"]
    assert row["p_value"] is None or 0 < row["p_value"] <= 1
    assert row["estimand"]
    known = [set(frame.filter(pl.col("target") == arm).drop_nulls("attack_success")["goal"]) for arm in "ba"]
    arms = [set(frame.filter(pl.col("target") == arm)["goal"]) for arm in "ba"] if all(known) else known
    assert (row["n_pairs"], row["only_group"], row["only_baseline"]) == (
        len(arms[0] & arms[1]),
        len(arms[0] - arms[1]),
        len(arms[1] - arms[0]),
    )


# ── bad usage, and the command ────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"of": "nobody"}, "there is no column 'nobody'"),
        ({"of": "target", "baseline": "gpt"}, "baseline='gpt' is not a value of `target`; available: base, new"),
        ({"of": "target", "by": "target"}, "both compared and grouped by"),
        ({"of": "target", "metrics": "harm"}, "contrast: there is no metric 'harm'"),
        ({"of": "target", "adjust": "bonferroni"}, "adjust='bonferroni' is unknown"),
        ({"of": "target", "method": "wald"}, "method='wald' is unknown"),
        ({"of": "target", "statistics": "mode"}, "statistic 'mode' is unknown"),
        ({"of": "target", "resamples": 10}, "too few"),
        ({"of": "rollout_id", "cluster": ("a", "b", "c"), "baseline": "r0000"}, "at most two"),
    ],
)
def test_bad_usage(options, words):
    """Each in one sentence that names what is there."""
    with pytest.raises(ArgumentError, match=words):
        rw.contrast(PAIR, **options)


def test_one_value_is_no_comparison():
    """A column with one value has nothing to compare; turns are no rollouts."""
    with pytest.raises(ArgumentError, match="a comparison needs two"):
        rw.contrast(PAIR.filter(target="new"), of="target")
    with pytest.raises(SchemaError, match="looks like a table of turns"):
        rw.contrast(pl.concat([PAIR, PAIR]), of="target")
    turns = rw.turns([{"target": "a", "response": "x"}, {"target": "b", "response": "y"}])
    with pytest.raises(
        ArgumentError, match=r"no metric 'attack_success' .* a table of turns: run `rw.measure\(turns\)`"
    ):
        rw.contrast(turns, of="target", metrics="attack_success")
    with pytest.raises(ArgumentError, match=r"no metric 'scroe' .* did you mean `score`"):
        rw.contrast(turns, of="target", metrics="scroe")


def test_the_frame_keeps_its_schema():
    """Columns and dtypes are CONTRAST's, several levels are several rows, and any Arrow table will do."""
    made = rw.contrast(PAIR.to_arrow(), of="target", baseline="base", level=(0.5, 0.95))
    assert rw.schema.check(made, schema.CONTRAST).columns == list(schema.CONTRAST.names)
    assert made["low"][0] > made["low"][1]


def test_the_command(tmp_path):
    """`rollwise contrast` on a table of rollouts: the frame that Python gives."""
    PAIR.write_parquet(tmp_path / "rollouts.parquet")
    out = tmp_path / "contrast.parquet"
    words = ["contrast", str(tmp_path / "rollouts.parquet"), "--of", "target", "--baseline", "base", "--out", str(out)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert pl.read_parquet(out).equals(rw.contrast(PAIR, of="target", baseline="base"))
    table = CliRunner().invoke(app, words[:-2])
    assert "20 points" in table.output
    assert "n = 50 pairs in 50 goals" in table.output


@pytest.mark.integration
def test_an_infinite_value_makes_nothing_significant():
    """One log-probability of -inf leaves its own row without a number, and the family without it."""
    rng = np.random.default_rng(1)
    frame = crossed({"base": rng.normal(size=40).tolist(), "new": rng.normal(size=40).tolist()})
    frame = frame.rename({"grade": "noise"}).with_columns(logp=pl.Series(rng.normal(size=80) + [0.0] * 80))
    broken = frame.with_columns(logp=pl.when(pl.int_range(pl.len()) == 5).then(float("-inf")).otherwise("logp"))
    asked = {"of": "target", "baseline": "base", "metrics": ["noise", "logp"], "adjust": "max-t"}
    (noise, logp), (alone,) = (
        rw.contrast(broken, **asked).rows(named=True),
        rw.contrast(frame, **{**asked, "metrics": "noise"}).rows(named=True),
    )
    assert noise["p_adjusted"] == alone["p_adjusted"] > 0.2
    assert [logp[name] for name in ("difference", "low", "high", "p_value", "p_adjusted")] == [None] * 5
    assert "1 value is infinite" in logp["reason"]
    unpaired = rw.contrast(broken, of="target", baseline="base", metrics="logp", paired=False).row(0, named=True)
    assert (unpaired["difference"], unpaired["p_value"], unpaired["reason"]) == (None, None, "1 value is infinite")


def test_simultaneous_intervals_of_shares_stay_within_their_range():
    """Three goals of four differ: the difference is no more than 1, whatever max-T's critical value."""
    frame = crossed({"a": [False] * 4, "b": [True, True, True, False]})
    row = rw.contrast(frame, of="target", baseline="a", metrics="attack_success", adjust="max-t").row(0, named=True)
    assert (row["difference"], row["high"]) == (0.75, 1.0)
    assert row["low"] >= -1


@pytest.mark.integration
@pytest.mark.parametrize(("paired", "method"), [("auto", "auto"), ("auto", "t"), ("auto", "basic"), (False, "t")])
def test_intervals_of_shares_stay_within_their_range(paired, method):
    """Seven goals of eight are broken by one arm alone, three times of three: the difference is no more than 1."""
    goals = [f"g{number}" for number in range(8) for _ in range(3)]
    broken = [True] * 21 + [False] * 3
    frame = crossed({"a": [not one for one in broken], "b": broken}, goals)
    for baseline, side in (("a", 1), ("b", -1)):
        row = only(rw.contrast(frame, of="target", baseline=baseline, paired=paired, method=method))
        assert row["difference"] == side * 0.75
        assert -1 <= row["low"] < row["difference"] < row["high"] <= 1
    assert row["low"] == -1


@pytest.mark.parametrize(
    ("statistic", "arms", "paired"),
    [("median", (2, 2), False), ("median", (9, 30), False), ("q90", (20, 20), False), ("q90", (12, 12), True)],
)
def test_quantiles_of_few_have_no_interval_and_no_p(statistic, arms, paired):
    """Two against two gave p = .0002, where no relabeling is below 1/3: what is not observed is not drawn."""
    values = np.random.default_rng(0).normal(size=sum(arms))
    frame = rollouts(target=["a"] * arms[0] + ["b"] * arms[1], grade=values.tolist())
    if paired:
        frame = frame.with_columns(goal=pl.Series([f"g{n}" for n in range(arms[0])] * 2))
    row = rw.contrast(frame, of="target", baseline="a", metrics="grade", statistics=statistic).row(0, named=True)
    assert row["difference"] is not None
    assert (row["low"], row["high"], row["p_value"]) == (None, None, None)
    assert "too few" in row["reason"]
