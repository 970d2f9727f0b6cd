"""How many rollouts to label, and which: by hand, by the intervals that such labels lead to, and what cannot be reached."""

import math

import numpy as np
import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ArgumentError


def judged(flagged: int = 100, others: int = 300) -> pl.DataFrame:
    """ROLLOUTS without goals."""
    verdicts = [True] * flagged + [False] * others
    return pl.DataFrame({"rollout_id": [f"r{i}" for i in range(len(verdicts))], "attack_success": verdicts})


@pytest.mark.integration
def test_the_width_is_that_of_the_formula() -> None:
    """By hand: the variance is W²p(1-p)/n of both verdicts, and (.8-.05)²R(1-R)/N of the judge's rate; the interval adds some.

    With 22 and 37 labels: .25²·.16/22 + .75²·.0475/37 + .5625·.1875/400 = .00144, so 2 · 1.96 · .0380 = .149.
    """
    plan = rw.judges.plan_labels(judged(), width=0.16, flagged_right=0.8, others_wrong=0.05)
    first, second = plan["labels"].to_list()
    error = math.sqrt(0.0625 * 0.16 / first + 0.5625 * 0.0475 / second + 0.5625 * 0.1875 / 400)
    assert (first, second) == (22, 37)
    assert 2 * 1.96 * error == pytest.approx(0.149, abs=0.001)
    assert 2 * 1.96 * error < plan["width"][0] <= 0.16
    # The ratio is that of W √(p (1 - p)): .25 · .4 to .75 · .218.
    assert first / second == pytest.approx(0.25 * 0.4 / (0.75 * math.sqrt(0.0475)), abs=0.03)


@pytest.mark.integration
def test_narrower_intervals_need_more_labels() -> None:
    """And never more than there are rollouts."""
    totals = [
        rw.judges.plan_labels(judged(), width=width, flagged_right=0.8, others_wrong=0.05)["labels"].sum()
        for width in (0.3, 0.2, 0.15, 0.12)
    ]
    assert totals == sorted(totals)
    assert len(set(totals)) == 4


def test_what_labels_cannot_reach_is_said() -> None:
    """A rate over 400 rollouts is uncertain itself: all are labeled, and the reason says what is left."""
    plan = rw.judges.plan_labels(judged(), width=0.02, flagged_right=0.8, others_wrong=0.05)
    assert plan["labels"].to_list() == plan["rollouts"].to_list() == [100, 300]
    assert plan["width"][0] > 0.02
    assert "labels of all rollouts leave an interval 0.08" in plan["reason"][0]


def test_a_few_labels_say_what_to_expect() -> None:
    """By hand: 7 of 8 flagged and 0 of 8 others are true: 8 of 10 and 1 of 10."""
    rollouts = judged()
    labels = pl.concat([rollouts[:8], rollouts[100:108]]).select(
        "rollout_id", label=pl.Series([True] * 7 + [False] * 9)
    )
    plan = rw.judges.plan_labels(rollouts, width=0.16, labels=labels)
    assert plan["expected"].to_list() == [0.8, 0.1]
    said = rw.judges.plan_labels(rollouts, width=0.16, flagged_right=0.8, others_wrong=0.1)
    assert plan.equals(said)


@pytest.mark.integration
def test_unjudged_and_benign_rollouts_are_not_counted() -> None:
    """A label on them corrects nothing."""
    rollouts = judged().with_columns(
        attack_success=pl.when(pl.int_range(400) >= 10).then("attack_success"),
        ending=pl.lit("limit"),
    )
    plan = rw.judges.plan_labels(rollouts, width=0.16, flagged_right=0.8, others_wrong=0.05)
    assert plan["rollouts"].to_list() == [90, 300]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"width": 0}, "width=0 is no width of a rate's interval"),
        ({"width": 0.1, "flagged_right": 0.8}, "others_wrong is not known; label a few rollouts"),
        ({"width": 0.1, "flagged_right": 1.2, "others_wrong": 0.1}, "flagged_right=1.2 is no share"),
        ({"width": 0.1, "metric": "nope"}, r"there is no Boolean metric 'nope' \(available: attack_success\)"),
    ],
)
def test_bad_options_are_refused(options, words) -> None:
    """In one sentence."""
    with pytest.raises(ArgumentError, match=words):
        rw.judges.plan_labels(judged(), **options)


def test_one_verdict_throughout_has_no_strata() -> None:
    """A random sample is all that there is."""
    with pytest.raises(ArgumentError, match="the judge gave one verdict to all rollouts; label a random sample"):
        rw.judges.plan_labels(judged(0, 50), width=0.1, flagged_right=0.8, others_wrong=0.05)


@pytest.mark.slow
def test_such_labels_give_that_width_and_cover() -> None:
    """500 worlds of 100 goals tried four times: the interval is as wide as planned within a tenth, and holds the truth."""
    random = np.random.default_rng(1)
    held, widths, plan = [], [], None
    for _ in range(500):
        chance = np.repeat(random.beta(1, 3, 100), 4)
        truth = random.random(400) < chance
        flags = np.where(truth, random.random(400) < 0.9, random.random(400) < 0.07)
        rollouts = pl.DataFrame({
            "rollout_id": [f"r{i}" for i in range(400)], "goal": np.repeat(np.arange(100), 4).astype(str), "attack_success": flags,
        })  # fmt: skip
        if plan is None:  # of the first world, for all
            plan = rw.judges.plan_labels(rollouts, width=0.14, flagged_right=0.81, others_wrong=0.034)
        chosen = [
            random.permutation(np.flatnonzero(flags == verdict))[:many]
            for verdict, many in zip((True, False), plan["labels"], strict=True)
        ]
        labeled = np.concatenate(chosen)
        labels = pl.DataFrame({"rollout_id": [f"r{i}" for i in labeled], "label": truth[labeled]})
        row = rw.judges.correct(rollouts, labels).row(0, named=True)
        widths.append(row["high"] - row["low"])
        held.append(row["low"] <= chance.mean() <= row["high"])
    assert np.mean(widths) == pytest.approx(0.14, rel=0.1)
    assert np.mean(held) >= 0.94
