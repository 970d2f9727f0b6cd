"""What verbs are given: 0 and 1 where a Boolean is meant, text where a metric is, and options of every kind."""

import re
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rollwise as rw
from rollwise import metrics as m
from rollwise.choices import Method
from rollwise.errors import ArgumentError, MetricError
from rollwise.stats.statistics import quantile_of

N = 600
TRUTH = pl.DataFrame(
    {
        "rollout_id": [f"r{i:03}" for i in range(N)],
        "goal": [f"g{i // 3:03}" for i in range(N)],
        "target": ["a", "b", "c"] * (N // 3),
        "train_step": [i % 2 for i in range(N)],
        "attack_success": [i % 150 == 0 for i in range(N)],
    }
)
AS_NUMBERS = {
    "integer": pl.col("attack_success").cast(pl.Int64),
    "small": pl.col("attack_success").cast(pl.UInt8),
    "float": pl.col("attack_success").cast(pl.Float64),
}
VERBS = {
    "summarize": lambda frame: rw.summarize(frame, by="target", metrics="attack_success"),
    "summarize all": lambda frame: rw.summarize(frame.drop("train_step")),
    "merge": lambda frame: rw.summarize(frame.lazy(), by="target", metrics="attack_success", merge=True),
    "contrast": lambda frame: rw.contrast(frame, of="target", baseline="a", metrics="attack_success"),
    "attempts": lambda frame: rw.attempts(frame, k=2),
    "forecast": lambda frame: rw.forecast(frame, k=5),
    "training": rw.training,
    "plan": lambda frame: rw.plan(frame, difference=0.05),
    "gate": lambda frame: rw.gate(frame, "attack_success < 5%", by="target"),
    "changes": lambda frame: rw.changes(frame, of="target", group="b", baseline="a", metric="attack_success"),
}


@pytest.mark.parametrize("path", ["runs/", Path("runs")])
@pytest.mark.parametrize("verb", [rw.summarize, rw.measure, rw.doctor])
def test_a_path_is_to_be_read_first(verb: Callable[[Any], Any], path: str | Path) -> None:
    """What lies there may be logs or a frame, and no records: the sentence names what reads either."""
    with pytest.raises(ArgumentError, match=rf"a path is not a frame; .*`rw.read\('{re.escape(str(path))}'\)`"):
        verb(path)


@pytest.mark.integration
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("written", AS_NUMBERS)
def test_zero_and_one_are_false_and_true(verb: str, written: str) -> None:
    """R and Excel write Booleans as 0 and 1: every verb makes of them what it makes of the Booleans."""
    numbers = TRUTH.with_columns(AS_NUMBERS[written])
    assert_frame_equal(VERBS[verb](numbers), VERBS[verb](TRUTH))


def test_none_of_them_is_a_share_too() -> None:
    """All 0 is no number without variation: Wilson's interval of 0 of 600."""
    none = TRUTH.with_columns(attack_success=pl.lit(0))
    row = rw.summarize(none, metrics="attack_success", cluster=None).row(0, named=True)
    assert (row["method"], row["high"]) == ("Wilson", pytest.approx(0.006362, abs=1e-6))
    missing = none.with_columns(attack_success=pl.Series([0.0] * (N - 1) + [float("nan")]))
    assert rw.summarize(missing, metrics="attack_success").select("n", "n_undetermined").row(0) == (N - 1, 1)


@pytest.mark.integration
def test_other_numbers_stay_numbers() -> None:
    """A graded score under the name of a success, and 0 and 1 under a name that is nobody's, are what they are."""
    graded = TRUTH.with_columns(attack_success=pl.col("attack_success") * 0.5, harm=pl.lit(1))
    kinds = rw.summarize(graded, metrics=["attack_success", "harm"], statistics=["mean"])["bound_low"]
    assert kinds.null_count() == 2


@pytest.mark.integration
def test_a_csv_of_numbers_is_gated(tmp_path) -> None:
    """From a file as from memory."""
    path = tmp_path / "r.csv"
    TRUTH.with_columns(AS_NUMBERS["integer"]).write_csv(path)
    from rollwise.readers.results.measured import read_measured

    read = read_measured(path)
    assert_frame_equal(rw.gate(read, "attack_success < 5%"), rw.gate(TRUTH, "attack_success < 5%"))


def test_text_is_no_metric_and_the_sentence_says_so() -> None:
    """The words of a column that was meant, and how to make a Boolean of them."""
    words = TRUTH.with_columns(attack_success=pl.when("attack_success").then(pl.lit("yes")).otherwise(pl.lit("no")))
    for verb in (
        lambda: rw.gate(words, "attack_success < 5%"),
        lambda: rw.summarize(words, metrics="attack_success"),
        lambda: rw.contrast(words, of="target", baseline="a", metrics="attack_success"),
        lambda: rw.attempts(words),
        lambda: rw.training(words),
    ):
        with pytest.raises(ArgumentError, match=r"`attack_success` is text \('no', 'yes'\).*== 'yes'"):
            verb()


# ── quantiles ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.thinned(40)
@pytest.mark.parametrize(
    ("name", "q"),
    [("q01", 0.01), ("q05", 0.05), ("q25", 0.25), ("q50", 0.5), ("q90", 0.9), ("q975", 0.975), ("q999", 0.999)],
)
def test_a_quantile_is_read_from_its_digits(name: str, q: float) -> None:
    """As many digits as there are after the decimal point, and the estimand says which per cent: NumPy's own quantile."""
    frame = pl.DataFrame({"rollout_id": [f"r{i}" for i in range(2001)], "x": [float(i) for i in range(2001)]})
    row = rw.summarize(frame, metrics="x", statistics=name).row(0, named=True)
    assert row["estimate"] == pytest.approx(2000 * q, abs=1)
    assert row["estimand"].startswith(f"{100 * q:g} % quantile of x")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("q5", "use q05 for the 5 % quantile, or q50 for the 50 % quantile"),
        ("q1", "use q01 for the 1 % quantile, or q10 for the 10 % quantile"),
        ("q100", "use q10 for the 10 % quantile, or max for the largest value"),
        ("q0", "use min for the smallest value"),
        ("q00", "use min for the smallest value"),
    ],
)
def test_a_quantile_that_reads_two_ways_is_refused(name: str, said: str) -> None:
    """In every verb that takes one, with the word for either."""
    with pytest.raises(ArgumentError, match=said):
        quantile_of(name)
    for verb in (
        lambda: rw.summarize(TRUTH, metrics="train_step", statistics=["mean", name]),
        lambda: rw.contrast(TRUTH, of="target", baseline="a", metrics="train_step", statistics=name),
        lambda: rw.gate(TRUTH, f"{name}(train_step) >= 0"),
    ):
        with pytest.raises(ArgumentError, match=said):
            verb()


def test_a_contrast_says_which_quantile() -> None:
    """Its estimand too."""
    frame = TRUTH.with_columns(x=pl.int_range(pl.len()))
    said = rw.contrast(frame, of="target", baseline="a", metrics="x", statistics="q05")["estimand"]
    assert said.str.starts_with("5 % quantile of x").all()


# ── strata ────────────────────────────────────────────────────────────────────────────────────────────────────────────
CROSSED = pl.DataFrame(
    {
        "rollout_id": [f"{g:02}-{t}" for g in range(20) for t in range(6)],
        "goal": [f"g{g:02}" for g in range(20) for _ in range(6)],
        "task": [f"t{t}" for _ in range(20) for t in range(6)],
        "attack": ["crescendo"] * 120,
        "category": [f"c{g % 4}" for g in range(20) for _ in range(6)],
        "attack_success": [(g * 7 + t * 3) % 5 < g % 4 for g in range(20) for t in range(6)],
        "harm": [float((g * 7 + t * 3) % 11) for g in range(20) for t in range(6)],
    }
)


def test_strata_that_are_not_there_are_refused() -> None:
    """Whatever the clusters, and before anything is read."""
    for cluster in ("auto", "goal", None):
        for merge in (False, True):
            with pytest.raises(ArgumentError, match=r"there is no column 'categry' for strata; .*category"):
                rw.summarize(CROSSED, metrics="attack_success", cluster=cluster, strata="categry", merge=merge)


@pytest.mark.parametrize("metric", ["attack_success", "harm"])
def test_strata_have_no_interval_over_two_ways(metric: str) -> None:
    """The unstratified interval is not what was asked for: none, and why."""
    row = rw.summarize(CROSSED, metrics=metric, statistics="mean", strata="category").row(0, named=True)
    assert (row["low"], row["high"], row["method"]) == (None, None, None)
    assert row["estimate"] == pytest.approx(CROSSED[metric].mean())
    assert row["reason"] == "no interval within strata over two crossed ways: name one cluster, or leave strata out"


KNOW_NO_STRATA = [("attack_success", method) for method in ("t", "bca", "studentized")] + [
    ("harm", method) for method in ("t", "bca", "studentized", "wilson", "exact", "jeffreys", "agresti-coull")
]


@pytest.mark.thinned(12)
@pytest.mark.parametrize(("metric", "method"), KNOW_NO_STRATA)
def test_strata_do_not_override_a_method(metric: str, method: str) -> None:
    """Who names a method that knows no strata gets no other in its place."""
    options: dict[str, Any] = {
        "metrics": metric,
        "statistics": "mean",
        "cluster": "goal",
        "strata": "category",
        "method": method,
    }
    row = rw.summarize(CROSSED, **options).row(0, named=True)
    assert (row["low"], row["high"], row["method"]) == (None, None, None)
    assert row["reason"] == f"no {method} interval within strata: ask for percentile or basic"


@pytest.mark.thinned(6)
@pytest.mark.parametrize("method", ["auto", "wilson", "exact", "jeffreys", "agresti-coull"])
def test_strata_of_a_share(method: Method) -> None:
    """Categories of which every goal succeeds or fails together leave goals nothing to vary by: the interval is narrower."""
    options: dict[str, Any] = {"metrics": "attack_success", "cluster": "goal", "method": method}
    plain = rw.summarize(CROSSED, **options).row(0, named=True)
    within = rw.summarize(CROSSED, strata="category", **options).row(0, named=True)
    assert within["estimate"] == plain["estimate"]
    assert plain["low"] < within["low"] < within["high"] < plain["high"]
    assert within["method"] == f"{plain['method']} within strata"
    named = rw.summarize(CROSSED.with_columns(all="category"), strata="category", by="all", margins=True, **options)
    assert named.filter(all="all").select("low", "high").row(0) == (within["low"], within["high"])
    lone = named.filter(all="c1").row(0, named=True)
    assert lone["method"] == within["method"]


@pytest.mark.thinned(40)
@pytest.mark.parametrize("method", ["auto", "bootstrap", "percentile", "basic"])
def test_strata_of_a_mean_and_of_nothing_else(method: Method) -> None:
    """Clusters are drawn within strata for the mean; the median's interval would leave them out, so that it has none."""
    options: dict[str, Any] = {
        "metrics": "harm",
        "statistics": ["mean", "median", "max"],
        "cluster": "goal",
        "resamples": 500,
    }
    mean, median, most = rw.summarize(CROSSED, strata="category", method=method, **options).rows(named=True)
    assert "bootstrap within strata" in mean["method"]
    assert (median["estimate"], median["low"], median["method"]) == (5.0, None, None)
    assert median["reason"] == "no interval of a median within strata: only means have one"
    assert (most["estimate"], most["low"]) == (10.0, None)
    assert "strata" not in most["reason"]


# ── numbers, levels and columns of every kind ─────────────────────────────────────────────────────────────────────────
UNTYPED: Any = rw  # whose arguments may be of types that they should not be


@pytest.mark.integration
def test_numbers_of_numpy_are_numbers() -> None:
    """Whole numbers and levels may come from NumPy, one or several, and make the same rows."""
    assert_frame_equal(UNTYPED.attempts(TRUTH, k=np.int64(2)), UNTYPED.attempts(TRUTH, k=2))
    assert_frame_equal(UNTYPED.attempts(TRUTH, k=np.arange(1, 3)), UNTYPED.attempts(TRUTH, k=(1, 2)))
    assert_frame_equal(UNTYPED.forecast(TRUTH, k=np.int32(9)), UNTYPED.forecast(TRUTH, k=9))
    assert_frame_equal(UNTYPED.plan(rate=0.1, goals=np.int64(50)), UNTYPED.plan(rate=0.1, goals=50))
    assert_frame_equal(
        UNTYPED.summarize(TRUTH, level=np.array([0.5, 0.95], dtype=np.float32)),
        UNTYPED.summarize(TRUTH, level=(0.5, 0.95)),
    )
    assert_frame_equal(
        UNTYPED.comparisons.profile(TRUTH, at=np.float32(0.25)), UNTYPED.comparisons.profile(TRUTH, at=[0.25])
    )
    assert UNTYPED.metrics.success_within(np.int64(3)).meta.output_name() == "success_within_3"


TURNS = pl.DataFrame({"rollout_id": ["a", "a"], "turn": [1, 2], "score": [0.1, 0.9], "succeeded": [False, True]})
NO_NUMBERS: dict[str, Any] = {
    "k=2.5": [lambda: UNTYPED.attempts(TRUTH, k=2.5), lambda: UNTYPED.forecast(TRUTH, k=2.5)],
    "k=2.0": [lambda: UNTYPED.attempts(TRUTH, k=[1, 2.0]), lambda: UNTYPED.forecast(TRUTH, k=[1, 2.0])],
    "k=True": [lambda: UNTYPED.attempts(TRUTH, k=True), lambda: UNTYPED.forecast(TRUTH, k=True)],
    "k='3'": [lambda: UNTYPED.attempts(TRUTH, k="3"), lambda: UNTYPED.forecast(TRUTH, k="3")],
    "k=[]": [lambda: UNTYPED.attempts(TRUTH, k=[]), lambda: UNTYPED.forecast(TRUTH, k=[])],
    "goals=2.5": [lambda: UNTYPED.plan(rate=0.1, goals=2.5)],
    "below='1%'": [lambda: UNTYPED.plan(below="1%")],
    "icc='x'": [lambda: UNTYPED.plan(rate=0.1, goals=50, icc="x")],
    "rate=[0.1, 0.2]": [lambda: UNTYPED.plan(rate=[0.1, 0.2], goals=50)],
    "resamples=1000.0": [
        lambda: UNTYPED.summarize(TRUTH, resamples=1e3, method="bootstrap"),
        lambda: UNTYPED.contrast(TRUTH, of="target", baseline="a", resamples=1e3),
        lambda: UNTYPED.summarize(TRUTH, statistics={"mean": np.mean}, metrics="train_step", resamples=1e3),
    ],
    "before=1.5": [lambda: UNTYPED.trajectory(TURNS, before=1.5)],
    "after=-1": [lambda: UNTYPED.trajectory(TURNS, after=-1)],
    "at='abc'": [lambda: UNTYPED.comparisons.profile(TRUTH, at="abc")],
    "at=nan": [lambda: UNTYPED.comparisons.profile(TRUTH, at=[float("nan")])],
    "at=inf": [lambda: UNTYPED.comparisons.profile(TRUTH, at=np.array([0.5, np.inf]))],
}


@pytest.mark.parametrize("said", NO_NUMBERS)
def test_what_is_no_number_is_refused_in_one_sentence(said: str) -> None:
    """The option and its value, never a traceback of another library."""
    for verb in NO_NUMBERS[said]:
        with pytest.raises(ArgumentError) as told:
            verb()
        assert f"{said} is" in str(told.value)


@pytest.mark.parametrize(
    ("level", "said"),
    [("0.95", "'0.95'"), (None, "None"), ([], "[]"), (True, "True"), ([0.5, 95], "95"), (float("nan"), "nan")],
)
def test_what_is_no_level_is_refused(level, said: str) -> None:
    """By every verb alike, with the value."""
    for verb in (
        lambda: rw.summarize(TRUTH, level=level),
        lambda: rw.contrast(TRUTH, of="target", baseline="a", level=level),
        lambda: rw.attempts(TRUTH, level=level),
        lambda: rw.gate(TRUTH, "attack_success < 1%", level=level),
    ):
        with pytest.raises(ArgumentError) as told:
            verb()
        assert f"level={said} is not a valid nominal coverage" in str(told.value)


@pytest.mark.integration
def test_no_groups_may_be_none() -> None:
    """`by=None` is nothing to group by."""
    frame = TRUTH.with_columns(time_to_success=pl.struct(duration=pl.lit(1), observed="attack_success"))
    for verb in (
        lambda by: rw.summarize(frame, by=by, metrics="attack_success"),
        lambda by: rw.contrast(frame, of="target", baseline="a", by=by, metrics="attack_success"),
        lambda by: rw.curve(frame, by=by),
        lambda by: rw.attempts(frame, by=by),
        lambda by: rw.comparisons.profile(frame, by=by),
        lambda by: rw.gate(frame, "attack_success < 1%", by=by),
        lambda by: rw.training(frame, by=by),
    ):
        assert_frame_equal(verb(None), verb(()))


def test_a_bootstrap_of_nothing_and_changes_of_groups_within_themselves() -> None:
    """No column, and a unit that is a group too, are told."""
    with pytest.raises(ArgumentError, match=r"summarize: functions need metrics="):
        rw.summarize(TRUTH, statistics={"mean": np.mean}, metrics=[])
    with pytest.raises(ArgumentError, match="cluster='goal' is also in by"):
        rw.changes(TRUTH, of="target", group="b", baseline="a", metric="attack_success", cluster="goal", by="goal")


@pytest.mark.parametrize("k", [0, -1, 2.5, True, "3", None])
def test_success_within_no_number_of_turns(k) -> None:
    """As the command line refuses success_within_0."""
    with pytest.raises(MetricError, match="; give a whole number of turns, from 1"):
        m.success_within(k)


# ── a baseline ────────────────────────────────────────────────────────────────────────────────────────────────────────
ARMS = TRUTH.with_columns(
    defended=pl.int_range(N) % 2 == 0,
    temperature=(pl.int_range(N) % 2).cast(pl.Float64),
    train_step=pl.int_range(N) % 2,
    time_to_success=pl.struct(duration=pl.lit(1), observed="attack_success"),
)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("of", "baseline", "word"),
    [
        ("defended", False, "false"), ("defended", "false", "false"), ("defended", "False", "false"),
        ("defended", np.False_, "false"),
        ("temperature", 0, "0.0"), ("temperature", 1.0, "1.0"), ("temperature", "0", "0.0"), ("train_step", 1.0, "1"),
        ("train_step", "1", "1"), ("target", "a", "a"),
    ],
)  # fmt: skip
def test_a_baseline_is_a_value_of_its_column(of: str, baseline: Any, word: str) -> None:
    """Whatever the column holds, its own value names it, and so does its text, in every verb that compares."""
    frame = ARMS.filter(pl.col("target") != "c") if of == "target" else ARMS
    other = next(value for value in frame[of].cast(pl.String).unique().to_list() if value != word)
    for verb in (
        lambda: UNTYPED.contrast(frame, of=of, baseline=baseline, metrics="attack_success"),
        lambda: UNTYPED.comparisons.curve_test(frame, of=of, baseline=baseline),
        lambda: UNTYPED.comparisons.curve_difference(frame, of=of, baseline=baseline),
    ):
        assert set(verb().select("group", "baseline").unique().rows()) == {(other, word)}
    own = UNTYPED.changes(frame, of=of, group=other, baseline=baseline, metric="attack_success")
    assert_frame_equal(own, rw.changes(frame, of=of, group=other, baseline=word, metric="attack_success"))


@pytest.mark.parametrize(
    ("of", "baseline"), [("train_step", 0.5), ("temperature", 7), ("defended", "no"), ("defended", 2), ("target", 1)]
)
def test_a_baseline_that_is_not_there_is_refused(of: str, baseline: Any) -> None:
    """Nothing is rounded to a value that there is."""
    for verb in (
        lambda: UNTYPED.contrast(ARMS, of=of, baseline=baseline, metrics="attack_success"),
        lambda: UNTYPED.comparisons.curve_test(ARMS, of=of, baseline=baseline),
    ):
        with pytest.raises(ArgumentError, match=f"baseline={baseline!r} is not a value of"):
            verb()


@pytest.mark.parametrize(
    ("verb", "given", "said"),
    [
        ("summarize", {"by": [None]}, "summarize: by=[None] is not text, a list of texts or None"),
        ("summarize", {"metrics": 5}, "summarize: metrics=5 is not text, a list of texts or None"),
        (
            "summarize",
            {"metrics": [m.attack_success()]},
            "an expression was given instead of a column name; compute it first",
        ),
        (
            "summarize",
            {"statistics": [None]},
            "summarize: statistics=[None] is not text, a list of texts, None or a mapping",
        ),
        ("summarize", {"cluster": True}, "summarize: cluster=True is not text, a list of texts or None"),
        ("attempts", {"cluster": True}, "attempts: cluster=True is not text, a list of texts or None"),
        ("summarize", {"strata": 5}, "summarize: strata=5 is not text or None"),
        ("contrast", {"of": 5}, "contrast: of=5 is not text"),
        ("comparisons.profile", {"metric": None}, "profile: metric=None is not text"),
        ("comparisons.portfolio", {"members": "target", "cluster": 5}, "portfolio: cluster=5 is not text"),
        ("summarize", {"seed": "x"}, "summarize: seed='x' is not a whole number"),
        ("summarize", {"seed": 10**30}, "is too large a number"),
        ("summarize", {"resamples": 1.5}, "resamples=1.5 is not a whole number"),
        (
            "summarize",
            {"resamples": 10**9},
            "summarize: resamples=1000000000 is more than 1,000,000; more change no digit: use",
        ),
        ("gate", {"require": 5}, "gate: require=5 is not text or a list of texts"),
    ],
)
def test_what_is_no_name_and_no_seed_is_refused_in_one_sentence(verb: str, given: dict[str, Any], said: str) -> None:
    """Python's own complaint of an int that cannot be iterated names neither the option nor what to do."""
    with pytest.raises(ArgumentError, match=re.escape(said)) as refused:
        attrgetter(verb)(rw)(TRUTH, **given)
    assert "\n" not in str(refused.value)


@pytest.mark.integration
def test_a_number_of_the_turns_comes_along_where_asked_for() -> None:
    """Who groups by a number that `measure` was not told to keep is told how it is kept, and so it is."""
    turns = rw.turns([{"rollout_id": f"r{n}", "turn": 1, "succeeded": n % 3 == 0, "depth": n % 2} for n in range(12)])
    with pytest.raises(
        ArgumentError, match=re.escape("`rw.measure(turns, ..., keep=['depth'])` carries a column along")
    ):
        rw.summarize(rw.measure(turns), by="depth")
    assert rw.summarize(rw.measure(turns, keep=["depth"]), by="depth")["depth"].unique().sort().to_list() == [0, 1]
