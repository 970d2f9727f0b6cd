"""`correct_curve`: the share by turn with the judge's errors taken out of each turn."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise import schema
from rollwise.errors import ArgumentError, SchemaError
from rollwise.stats.misclassification import accuracy
from rollwise.stats.misclassified_incidence import corrected_incidence


def judged(
    seed: int, hazards: dict[str, float], se: float = 0.85, sp: float = 0.95
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """TURNS as the judge sees them, and the truth about each of these turns; a rollout ends when the judge says so."""
    rng = np.random.default_rng(seed)
    rows = []
    for target, hazard in hazards.items():
        for rollout in range(300):
            for turn in range(1, 7):
                true = bool(rng.random() < hazard)
                said = bool(rng.random() < (se if true else 1 - sp))
                rows.append((f"{target}/{rollout:03d}", turn, target, f"g{rollout // 5:02d}", said, true))
                if said:
                    break
    names = ["rollout_id", "turn", "target", "goal", "succeeded", "label"]
    frame = pl.DataFrame(rows, schema=names, orient="row").with_columns(pl.col("turn").cast(pl.Int32))
    ending = pl.when(pl.col("succeeded").any().over("rollout_id")).then(pl.lit("success")).otherwise(pl.lit("budget"))
    return frame.drop("label").with_columns(ending=ending.cast(schema.ENDINGS)), frame


TURNS, TRUTH = judged(1, {"safe": 0.0, "weak": 0.1})
ROLLOUTS = rw.measure(TURNS, m.time_to_success())
EXTRA = pl.DataFrame(
    {"rollout_id": [f"x{i}" for i in range(60)], "turn": 1, "succeeded": [i % 20 > 2 for i in range(60)], "label": True}
)
LABELS = pl.concat([TRUTH.sample(500, seed=1).drop("target", "goal"), EXTRA], how="diagonal_relaxed")


@pytest.mark.integration
def test_a_safe_target_s_curve_stays_down() -> None:
    """The plain curve of a target that never breaks climbs to the floor 1 - Sp^t = .26; the corrected one holds 0 throughout."""
    plain = rw.curve(ROLLOUTS, by="target").filter(target="safe", at=6.0)
    found = rw.judges.correct_curve(ROLLOUTS, LABELS, by="target", pool=True)
    assert found.columns == ["target", *schema.CURVE.names]
    schema.check(found, schema.CURVE)
    safe = found.filter(pl.col("at") > 0, target="safe")
    floor = safe["false_alarm_floor"][-1]
    assert plain["low"].item() > 0.15
    assert plain["low"].item() < floor < plain["high"].item() + 0.03
    assert (safe["low"] == 0).all()
    assert safe["estimate"][-1] < 0.3 * plain["estimate"].item()
    weak = found.filter(target="weak")
    true = 1 - 0.9 ** weak["at"].to_numpy()
    assert np.all((weak["low"].to_numpy()[1:] <= true[1:]) & (true[1:] <= weak["high"].to_numpy()[1:]))
    assert "pooled over groups" in weak["reason"][-1]
    assert weak["method"][-1] == "clustered Aalen-Johansen, Wilson; Rogan-Gladen by position, MOVER"


@pytest.mark.integration
def test_the_rows_are_the_estimator_s() -> None:
    """By the labels joined turn by turn, clustered by goal where it is known and by rollout elsewhere."""
    found = rw.judges.correct_curve(ROLLOUTS, LABELS, level=0.9)
    ordered = ROLLOUTS.sort("rollout_id")
    gold = LABELS.join(ordered.select("rollout_id", "goal"), on="rollout_id", how="left").sort("rollout_id")
    own = (
        gold.select(pl.coalesce("goal", "?" + pl.col("rollout_id")).rank("dense").cast(pl.Int64)).to_series().to_numpy()
        - 1
    )
    right, wrong = accuracy(
        gold["succeeded"].cast(float).to_numpy(), gold["label"].cast(float).to_numpy(), (own,), level=0.9
    )
    time = ordered["time_to_success"].struct
    goal = ordered["goal"].rank("dense").cast(pl.Int64).to_numpy() - 1
    expected = corrected_incidence(
        time.field("duration").to_numpy(),
        time.field("observed").cast(pl.Int64).to_numpy(),
        (goal,),
        sensitivity=right,
        specificity=wrong,
        level=0.9,
    )
    for name in ("estimate", "low", "high"):
        assert found[name].to_list()[1:] == pytest.approx(getattr(expected.curve, name)[1:].tolist())
    assert found["false_alarm_floor"].to_list() == pytest.approx(expected.false_alarm_floor.tolist())
    assert f"specificity {wrong.estimate:.3f} of {wrong.n} labels" in found["estimand"][0]
    assert "60 of 560 labels are on other rollouts" in found["reason"][-1]
    assert "60 of 560 labels have no goal" in found["reason"][-1]


def test_survival_is_the_other_side() -> None:
    """The share not broken is one minus the share broken where nothing competes, ends swapped, and so is the floor."""
    broken, whole = (rw.judges.correct_curve(ROLLOUTS, LABELS, kind=kind) for kind in ("success", "survival"))
    assert (1 - whole["estimate"]).to_list() == pytest.approx(broken["estimate"].to_list())
    assert (1 - whole["low"][1:]).to_list() == pytest.approx(broken["high"][1:].to_list())
    assert (1 - whole["false_alarm_floor"]).to_list() == pytest.approx(broken["false_alarm_floor"].to_list())


@pytest.mark.integration
def test_groups_need_labels_of_their_own() -> None:
    """A group whose labels lack a class has no curve and says why; labels from elsewhere alone are refused."""
    found = rw.judges.correct_curve(ROLLOUTS, LABELS, by="target")
    assert found.filter(target="weak")["estimate"].null_count() == 0
    safe = found.filter(target="safe")
    assert safe["estimate"].null_count() == safe.height
    assert "no label is a success, so the sensitivity is unknown" in safe["reason"][-1]
    with pytest.raises(ArgumentError, match="no group has labels of its own"):
        rw.judges.correct_curve(ROLLOUTS, EXTRA, by="target")


def test_whole_rollout_verdicts_and_unwatched_rollouts_are_said() -> None:
    """Errors by turn do not apply to a judge of whole rollouts; a rollout without a time is counted in the estimand."""
    frame = ROLLOUTS.with_columns(
        num_judged=pl.lit(0, dtype=pl.Int32),
        time_to_success=pl.when(pl.col("rollout_id") != "safe/000").then("time_to_success"),
    )
    found = rw.judges.correct_curve(frame, LABELS)
    assert "successes were judged of whole rollouts" in found["reason"][-1]
    assert "1 without a time" in found["estimand"][-1]


def test_nothing_watched() -> None:
    """Without rollouts there is one row, null, at 0."""
    found = rw.judges.correct_curve(ROLLOUTS.clear(), LABELS)
    assert found.height == 1
    assert found["estimate"].to_list() == [None]


@pytest.mark.integration
def test_the_curve_can_be_drawn() -> None:
    """A corrected curve is a CURVE: the plot takes it as it takes any other."""
    (ax,) = rw.plots.curve(rw.judges.correct_curve(ROLLOUTS, LABELS, by="target", pool=True)).axes
    assert len(ax.lines) >= 2


@pytest.mark.parametrize(
    ("labels", "options", "says"),
    [
        (LABELS.drop("succeeded"), {}, "no column 'succeeded' with the judge's verdict"),
        (LABELS.rename({"label": "human"}), {}, "the labels have no column `label`"),
        (pl.concat([LABELS, LABELS[:1]]), {}, "has two labels"),
        (LABELS, {"metric": "num_turns"}, "'num_turns' is Int32, not a time to an event"),
        (LABELS, {"competing": ("gaveup",)}, "competing='gaveup' is not an ending; it is one of budget"),
        (LABELS, {"kind": "hazard"}, "kind='hazard' is unknown"),
        (LABELS, {"by": "family"}, "no column 'family'"),
    ],
)
def test_bad_input_is_one_sentence(labels: pl.DataFrame, options: dict[str, Any], says: str) -> None:
    """A wrong table or option names itself and the remedy."""
    with pytest.raises((SchemaError, ArgumentError), match=says) as raised:
        rw.judges.correct_curve(ROLLOUTS, labels, **options)
    assert "\n" not in str(raised.value)
