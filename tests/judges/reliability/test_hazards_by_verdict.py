"""`correct_curve` with labels that were chosen by the judge's verdict: each speaks for the turns with its verdict."""

from typing import Any, Literal

import numpy as np
import polars as pl
import pytest
from simulations import repeated

import rollwise as rw
from rollwise import schema
from rollwise.stats.misclassification import Share
from rollwise.stats.misclassified_incidence import errors_by_verdict

GOALS, ATTEMPTS, TURNS = 60, 5, 6


def world(seed: int, hazard: float, se: float, sp: float, icc: float = 0.0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """ROLLOUTS that end at the judge's first flag, and a row for each of their turns with verdict and truth."""
    rng, n = np.random.default_rng(seed), GOALS * ATTEMPTS
    chance = np.full(n, hazard)
    if icc:
        size = (1 - icc) / icc
        chance = np.repeat(rng.beta(hazard * size, (1 - hazard) * size, GOALS), ATTEMPTS)
    true = rng.random((n, TURNS)) < chance[:, None]
    said = np.where(true, rng.random((n, TURNS)) < se, rng.random((n, TURNS)) < 1 - sp)
    flagged = said.any(axis=1)
    end = np.where(flagged, said.argmax(axis=1) + 1, TURNS)
    rollouts = pl.DataFrame(
        {
            "rollout_id": np.arange(n).astype(str),
            "goal": np.repeat(np.arange(GOALS), ATTEMPTS).astype(str),
            "ending": pl.Series(np.where(flagged, "success", "budget"), dtype=schema.ENDINGS),
            "num_turns": end,
            "time_to_success": pl.DataFrame({"duration": end.astype(np.int32), "observed": flagged}).to_struct(),
        }
    )
    rollout, turn = np.nonzero(np.arange(TURNS) < end[:, None])
    columns: dict[str, Any] = {"rollout_id": rollout.astype(str), "turn": turn + 1}
    return rollouts, pl.DataFrame(columns | {"succeeded": said[rollout, turn], "label": true[rollout, turn]})


def half(turns: pl.DataFrame, number: int, seed: int) -> pl.DataFrame:
    """So many labels, half of them on flagged turns."""
    sides = [turns.filter(succeeded=said).sample(number // 2, seed=seed) for said in (True, False)]
    return pl.concat(sides)


def last(rollouts: pl.DataFrame, labels: pl.DataFrame, **options: Any) -> dict[str, Any]:
    """The last row of the corrected curve."""
    return rw.judges.correct_curve(rollouts, labels, **options).row(-1, named=True)


ROLLOUTS, TURNS_JUDGED = world(1, 0.1, 0.85, 0.95)
CHOSEN = half(TURNS_JUDGED, 120, 2)
TRUE = 1 - 0.9**TURNS


@pytest.mark.integration
def test_labels_chosen_by_the_verdict_are_right() -> None:
    """Half of 120 labels on flagged turns: the truth is within; sensitivity and specificity counted among them give nonsense."""
    row = last(ROLLOUTS, CHOSEN)
    assert row["low"] < TRUE < row["high"]
    assert row["high"] - row["low"] < 0.45
    assert row["method"].endswith("by verdict and position, MOVER")
    assert "from 120 labels by verdict, chosen at random or by the verdict" in row["estimand"]
    assert row["reason"] is None
    classical = last(ROLLOUTS, CHOSEN, method="rogan-gladen")
    assert classical["estimate"] is None or classical["estimate"] < 0.2


@pytest.mark.integration
def test_the_accuracies_follow_from_the_shares() -> None:
    """R = flagged of all turns; Se = R·P / (R·P + (1-R)·Q), counted by hand, which is what the estimand says."""
    flagged = TURNS_JUDGED["succeeded"].to_numpy().mean()
    often, seldom = (CHOSEN.filter(succeeded=said)["label"].to_numpy().mean() for said in (True, False))
    se = flagged * often / (flagged * often + (1 - flagged) * seldom)
    sp = (1 - flagged) * (1 - seldom) / ((1 - flagged) * (1 - seldom) + flagged * (1 - often))
    assert f"sensitivity {se:.3f}, specificity {sp:.3f}, from 120 labels" in last(ROLLOUTS, CHOSEN)["estimand"]
    assert sp == pytest.approx(0.95, abs=0.02)
    assert last(ROLLOUTS, CHOSEN)["false_alarm_floor"] == pytest.approx(1 - sp**TURNS)


def test_without_an_unflagged_success_the_sensitivity_is_still_uncertain() -> None:
    """0 of 50 others are true: Se is 1, and as low as .16/(.16 + .8·.0713) = .737 where Q is at its upper end of .0713."""
    often, seldom = (Share(estimate=p, size=50, n=50, n_clusters=50, design_effect=1.0) for p in (0.8, 0.0))
    right, wrong, sources = errors_by_verdict(0.2, often, seldom)
    assert (right.estimate, wrong.estimate) == pytest.approx((1.0, 0.8 / 0.84))
    (_, of_others) = sources
    assert [end[0] for end in of_others] == pytest.approx([1.0, 0.16 / (0.16 + 0.8 * 3.8414588 / 53.8414588)])


@pytest.mark.integration
def test_labels_at_random_agree_with_rogan_gladen() -> None:
    """A random fifth of the turns: both corrections are near each other, and by verdict is the default."""
    labels = TURNS_JUDGED.sample(fraction=0.2, seed=3)
    own, classical = (last(ROLLOUTS, labels, method=method)["estimate"] for method in ("by-verdict", "rogan-gladen"))
    assert own == pytest.approx(classical, abs=0.08)
    assert last(ROLLOUTS, labels)["estimate"] == own


@pytest.mark.parametrize("said", [True, False])
def test_labels_of_one_verdict_correct_nothing(said: bool) -> None:
    """They show no sensitivity, or no specificity: null with a reason, whatever the method."""
    labels = TURNS_JUDGED.filter(succeeded=said).sample(30, seed=1)
    methods: tuple[Literal["auto", "by-verdict"], ...] = ("auto", "by-verdict")
    for method in methods:
        row = last(ROLLOUTS, labels, method=method)
        assert row["estimate"] is None
        assert row["reason"]


@pytest.mark.integration
def test_other_rollouts_and_later_turns() -> None:
    """Any label elsewhere makes it Rogan-Gladen, which is said; labels on turns after the first flag are left out, and counted."""
    elsewhere = CHOSEN.with_columns(rollout_id=pl.concat_str(pl.lit("x"), pl.col("rollout_id")))
    row = last(ROLLOUTS, pl.concat([CHOSEN, elsewhere[:1]]))
    assert "1 of 121 labels is on other rollouts: this holds if the judge errs there as here" in row["reason"]
    assert row["method"].endswith("Rogan-Gladen by position, MOVER")
    broken = ROLLOUTS.filter(pl.col("time_to_success").struct.field("observed"))["rollout_id"][:3]
    after = pl.DataFrame({"rollout_id": broken, "turn": [99] * 3, "succeeded": [True] * 3, "label": [False] * 3})
    late = last(ROLLOUTS, pl.concat([CHOSEN, after.with_columns(pl.col("turn").cast(CHOSEN.schema["turn"]))]))
    assert late["reason"] == "3 labels are on turns after the first flag and left out"
    assert late["estimate"] == last(ROLLOUTS, CHOSEN)["estimate"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("hazard", "se", "sp", "icc"),
    [(0.1, 0.85, 0.95, 0.0), (0.05, 0.9, 0.9, 0.0), (0.03, 0.9, 0.97, 0.0), (0.1, 0.85, 0.95, 0.1)],
)
def test_curves_cover(hazard: float, se: float, sp: float, icc: float) -> None:
    """100 labels, half of them on flagged turns: at least .94 of nominal .95 at every turn, and no bias beyond .03."""
    repetitions = repeated(300)
    size = (1 - icc) / icc if icc else np.inf
    steps = [(1 - hazard) if not icc else ((1 - hazard) * size + turn) / (size + turn) for turn in range(TURNS)]
    truth = 1 - np.cumprod(steps)
    hits, points = np.zeros(TURNS), np.zeros(TURNS)
    for seed in range(repetitions):
        rollouts, turns = world(seed, hazard, se, sp, icc)
        found = rw.judges.correct_curve(rollouts, half(turns, 100, seed)).filter(pl.col("at") > 0)
        low, high, point = (found[name].to_numpy().astype(float) for name in ("low", "high", "estimate"))
        hits += (low <= truth) & (truth <= high)
        points += point / repetitions
    assert hits.min() / repetitions >= 0.94 - 2 * np.sqrt(0.94 * 0.06 / repetitions)
    assert points == pytest.approx(truth, abs=0.03)
