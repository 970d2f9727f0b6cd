"""`correct`: rates with the judge's errors taken out, group by group."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats as scipy_stats
from simulations import repeated

import rollwise as rw
from rollwise import schema
from rollwise.errors import ArgumentError, SchemaError
from rollwise.judges.reliability.rates import Method
from rollwise.stats.by_verdict import by_verdict
from rollwise.stats.intervals import agresti_coull
from rollwise.stats.misclassification import accuracy, corrected_share, share


def world(
    seed: int, goals: int = 40, size: int = 5, rate: float = 0.2, se: float = 0.85, sp: float = 0.93
) -> pl.DataFrame:
    """ROLLOUTS whose truth is known, as a judge sees them; two targets, the second broken twice as often."""
    rng = np.random.default_rng(seed)
    n = goals * size
    parts = []
    for name, times in (("base", 1.0), ("weak", 2.0)):
        chance = np.clip(rng.beta(rate * 4, (1 - rate) * 4, goals) * times, 0, 1)
        truth = rng.random(n) < np.repeat(chance, size)
        judged = np.where(truth, rng.random(n) < se, rng.random(n) < 1 - sp)
        parts.append(
            pl.DataFrame(
                {
                    "rollout_id": [f"{name}/{i:04d}" for i in range(n)],
                    "target": name,
                    "goal": [f"g{i // size:02d}" for i in range(n)],
                    "attack_success": judged,
                    "truth": truth,
                }
            )
        )
    return pl.concat(parts)


WORLD = world(1)
ROLLOUTS = WORLD.drop("truth")
LABELS = WORLD.sample(120, seed=2).select("rollout_id", label="truth")


def rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    return frame.rows(named=True)


# ── what a row says ───────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_row_is_the_estimator_s() -> None:
    """Rogan-Gladen, by goal, with the labels joined to the verdicts by rollout: the same numbers as on arrays."""
    found = rw.judges.correct(ROLLOUTS, LABELS, method="rogan-gladen")
    schema.check(found, schema.SUMMARY)
    (row,) = rows(found)
    ordered = ROLLOUTS.sort("rollout_id")
    joined = LABELS.join(ordered, on="rollout_id").sort("rollout_id")
    goal, own = (frame["goal"].rank("dense").cast(pl.Int64).to_numpy() - 1 for frame in (ordered, joined))
    right, wrong = accuracy(
        joined["attack_success"].cast(float).to_numpy(), joined["label"].cast(float).to_numpy(), (own,)
    )
    expected = corrected_share(share(ordered["attack_success"].cast(float).to_numpy(), (goal,)), right, wrong)
    assert (row["estimate"], row["low"], row["high"]) == pytest.approx((expected.estimate, expected.low, expected.high))
    assert (row["metric"], row["statistic"], row["n"], row["n_clusters"]) == ("attack_success", "mean", 400, 40)
    assert row["method"] == "clustered Rogan-Gladen, Lang-Reiczigel"
    assert f"sensitivity {right.estimate:.3f} of {right.n} labels" in row["estimand"]
    assert row["reason"] is None
    assert row["low"] < WORLD["truth"].mean() < row["high"]


def test_labels_speak_for_their_verdict() -> None:
    """The labels of these very rollouts, and the rest of the verdicts: the same numbers as on arrays."""
    (row,) = rows(rw.judges.correct(ROLLOUTS, LABELS, level=0.9))
    ordered = ROLLOUTS.join(LABELS, on="rollout_id", how="left").sort("rollout_id")
    goal = ordered["goal"].rank("dense").cast(pl.Int64).to_numpy() - 1
    marked = ordered["label"].cast(float).fill_null(float("nan")).to_numpy()
    expected = by_verdict(ordered["attack_success"].cast(float).to_numpy(), marked, (goal,), level=0.9)
    assert (row["estimate"], row["low"], row["high"]) == pytest.approx((expected.estimate, expected.low, expected.high))
    flagged = ordered.filter("attack_success")
    known = flagged["label"].drop_nulls().len()
    assert f"labels on {known} of {flagged.height} flagged rollouts and {120 - known} of" in row["estimand"]
    assert row["estimand"].endswith("other rollouts, chosen at random or by the verdict")
    assert (row["method"], row["reason"]) == ("clustered by verdict", None)


@pytest.mark.integration
def test_the_method_follows_from_the_labels() -> None:
    """Labels of the table, however chosen: by verdict, which is narrower; elsewhere or pooled: Rogan-Gladen."""
    (row,) = rows(rw.judges.correct(ROLLOUTS, LABELS))
    own, classical = (
        rows(rw.judges.correct(ROLLOUTS, LABELS, method=method))[0] for method in ("by-verdict", "rogan-gladen")
    )
    assert row == own
    assert row["high"] - row["low"] < 0.8 * (classical["high"] - classical["low"])
    pooled = rw.judges.correct(ROLLOUTS, LABELS, by="target", pool=True)
    assert set(pooled["method"]) == {"clustered Rogan-Gladen, Lang-Reiczigel"}


FLAGGED, OTHERS = WORLD.filter("attack_success"), WORLD.filter(~pl.col("attack_success"))


@pytest.mark.integration
@pytest.mark.parametrize(("flagged", "others"), [(40, 40), (40, 10), (80, 20), (10, 60), (60, 20)])
def test_labels_chosen_by_the_verdict_are_right(flagged: int, others: int) -> None:
    """Half of the labels flagged, or most, or few: the interval holds the truth, and Rogan-Gladen says what ruins it."""
    picked = [side.sample(many, seed=4) for side, many in ((FLAGGED, flagged), (OTHERS, others))]
    labels = pl.concat(picked).select("rollout_id", label="truth")
    (row,) = rows(rw.judges.correct(ROLLOUTS, labels))
    truth = WORLD["truth"].to_numpy().mean()
    rates = [side["truth"].to_numpy().mean() for side in picked]
    expected = (FLAGGED.height * rates[0] + OTHERS.height * rates[1]) / WORLD.height
    assert row["estimate"] == pytest.approx(expected)
    assert row["low"] < truth < row["high"]
    assert row["reason"] is None
    (classical,) = rows(rw.judges.correct(ROLLOUTS, labels, method="rogan-gladen"))
    of_all = f"{WORLD['attack_success'].to_numpy().mean():.0%}"
    if abs(flagged / (flagged + others) - FLAGGED.height / WORLD.height) > 0.2:
        assert (
            f"flagged {flagged / (flagged + others):.0%} of the labeled rollouts and {of_all} of all"
            in classical["reason"]
        )
        assert "only if the labels were chosen by their truth, not by the verdict" in classical["reason"]


def test_labels_with_known_probabilities() -> None:
    """Goals with odd numbers were labeled four times as often: the probabilities take that out, and are checked."""
    odd = WORLD["goal"].str.slice(1).cast(pl.Int64).to_numpy() % 2 == 1
    chances = np.where(odd, 0.48, 0.12)
    labels = (
        WORLD.with_columns(chance=chances)
        .filter(pl.Series(np.random.default_rng(3).random(WORLD.height) < chances))
        .select("rollout_id", "chance", label="truth")
    )
    (row,) = rows(rw.judges.correct(ROLLOUTS, labels, probability="chance"))
    joined = labels.join(ROLLOUTS, on="rollout_id").with_columns(weight=1 / pl.col("chance"))
    rates = [
        float(np.average(side["label"].to_numpy(), weights=side["weight"].to_numpy()))
        for side in (joined.filter("attack_success"), joined.filter(~pl.col("attack_success")))
    ]
    assert row["estimate"] == pytest.approx((FLAGGED.height * rates[0] + OTHERS.height * rates[1]) / WORLD.height)
    assert row["estimand"].endswith("chosen with the probabilities given")
    for wrong, says in ((0.0, "'chance' is 0 for a labeled rollout"), (1.5, "is 1.5"), (None, "is nan")):
        with pytest.raises(ArgumentError, match=says):
            rw.judges.correct(ROLLOUTS, labels.with_columns(chance=pl.lit(wrong, pl.Float64)), probability="chance")
    with pytest.raises(ArgumentError, match="no column of numbers 'p', named by probability="):
        rw.judges.correct(ROLLOUTS, labels, probability="p")
    with pytest.raises(ArgumentError, match="leave out method='rogan-gladen'"):
        rw.judges.correct(ROLLOUTS, labels, probability="chance", method="rogan-gladen")
    with pytest.raises(ArgumentError, match="leave out pool=True"):
        rw.judges.correct(ROLLOUTS, labels, probability="chance", pool=True, by="target")


def test_only_flagged_rollouts_labeled_leave_the_others_open() -> None:
    """No label beside them says what the judge missed: no estimate, and an interval up to all of it."""
    labels = FLAGGED.sample(40, seed=1).select("rollout_id", label="truth")
    (row,) = rows(rw.judges.correct(ROLLOUTS, labels))
    assert row["estimate"] is None
    assert row["low"] < WORLD["truth"].to_numpy().mean() < row["high"]
    assert row["high"] > OTHERS.height / WORLD.height
    assert row["reason"].startswith("no rollout that the judge did not flag has a label")


@pytest.mark.integration
def test_few_perfect_labels_leave_doubt() -> None:
    """12 of 12 labels agree with the judge: the interval is still wider than that of the verdicts alone."""
    rollouts = judged(12, 60).with_columns(goal=pl.format("g{}", pl.int_range(60)))
    labels = rollouts.gather_every(5).select("rollout_id", label="attack_success")
    (corrected,), (plain,) = rows(rw.judges.correct(rollouts, labels)), rows(rw.summarize(rollouts))
    assert corrected["method"] == "by verdict"
    assert corrected["estimate"] == pytest.approx(plain["estimate"], abs=0.05)
    assert corrected["high"] - corrected["low"] > 1.3 * (plain["high"] - plain["low"])


@pytest.mark.integration
def test_each_group_has_labels_of_its_own() -> None:
    """By target: no other group changes a row, unless accuracies are pooled, which the row then says."""
    for method in ("rogan-gladen", "by-verdict"):
        found = rw.judges.correct(ROLLOUTS, LABELS, by="target", method=method)
        for name in ("base", "weak"):
            alone = rw.judges.correct(
                ROLLOUTS.filter(target=name), LABELS.filter(pl.col("rollout_id").str.starts_with(name)), method=method
            )
            assert alone.equals(found.filter(target=name).drop("target"))
    pooled = rw.judges.correct(ROLLOUTS, LABELS, by="target", pool=True)
    assert all("a gap between groups is valid only if the judge errs equally" in row["reason"] for row in rows(pooled))
    assert pooled["estimand"].str.extract("(sensitivity.*)").n_unique() == 1


@pytest.mark.integration
def test_a_judge_who_errs_differently_by_group_needs_labels_of_each() -> None:
    """Sp .95 for one target and .75 for the other, same truth: pooled labels invent a gap, the groups' own do not."""
    plain, noisy = (world(seed, goals=300, sp=sp).filter(target="base") for seed, sp in ((3, 0.95), (4, 0.75)))
    both = pl.concat([plain, noisy.with_columns(target=pl.lit("noisy"), rollout_id="noisy/" + pl.col("rollout_id"))])
    labels = both.sample(1500, seed=5).select("rollout_id", label="truth")
    own = rw.judges.correct(both, labels, by="target")["estimate"]
    pooled = rw.judges.correct(both, labels, by="target", pool=True)["estimate"]
    assert abs(own[1] - own[0]) < 0.06
    assert pooled[1] - pooled[0] > 0.15


def gold(times: int) -> pl.DataFrame:
    """Labels of other rollouts, so many times 9 of 10 successes and 19 of 20 failures judged right."""
    cells = {(True, True): 9, (False, True): 1, (True, False): 1, (False, False): 19}
    pairs = [pair for pair, many in cells.items() for _ in range(many * times)]
    made = pl.DataFrame(pairs, schema=["attack_success", "label"], orient="row")
    return made.with_columns(rollout_id=pl.format("gold/{}", pl.int_range(pl.len())))


def judged(successes: int, n: int) -> pl.DataFrame:
    """ROLLOUTS of which so many were judged broken."""
    return pl.DataFrame(
        {"rollout_id": [f"r{i}" for i in range(n)], "attack_success": [i < successes for i in range(n)]}
    )


def drawn_and_corrected(successes: int, n: int, se: float, sp: float) -> tuple[float, float] | None:
    """Garak's: none below 30 outputs, a percentile bootstrap of single outputs corrected as if Se and Sp were known, none flat."""
    if n < 30:
        return None
    ends = scipy_stats.binom.ppf([0.025, 0.975], n, successes / n) / n
    low, high = np.clip((ends + sp - 1) / (se + sp - 1), 0, 1)
    return (float(low), float(high)) if low < high else None


@pytest.mark.thinned(40)
@pytest.mark.parametrize(("successes", "n"), [(0, 20), (0, 12), (5, 12), (12, 12), (0, 40), (40, 40)])
def test_few_rollouts_and_none_broken_have_an_interval(successes: int, n: int) -> None:
    """Garak shows no interval below 30 outputs, nor where all or none are hits, for its own is a point there: ours has width."""
    assert drawn_and_corrected(successes, n, 0.9, 0.95) is None
    (row,) = rows(rw.judges.correct(judged(successes, n), gold(3)))
    assert row["estimate"] == pytest.approx(min(1.0, max(0.0, (successes / n - 0.05) / 0.85)))
    assert 0 <= row["low"] <= row["estimate"] <= row["high"] <= 1
    assert row["high"] - row["low"] > 1 / n
    assert (row["n"], row["method"]) == (n, "Rogan-Gladen, Lang-Reiczigel")


@pytest.mark.integration
@pytest.mark.parametrize(("successes", "n"), [(0, 20), (5, 12), (8, 20), (40, 100)])
def test_uncertain_labels_widen_the_interval(successes: int, n: int) -> None:
    """Garak takes Se and Sp for exact, whatever they rest on: 30 labels leave more open than 300, and 300 more than 30,000.

    Of 30,000 the interval is that of a judge known exactly: Agresti and Coull's ends, corrected.
    """
    found = [rows(rw.judges.correct(judged(successes, n), gold(times)))[0] for times in (1, 10, 1000)]
    assert len({row["estimate"] for row in found}) == 1
    few, more, known = (row["high"] - row["low"] for row in found)
    assert few > more > known
    assert few > 1.06 * known
    ends = (np.array(agresti_coull(successes, n)) + 0.95 - 1) / (0.9 + 0.95 - 1)
    assert (found[2]["low"], found[2]["high"]) == pytest.approx(np.clip(ends, 0, 1), abs=2e-3)
    if exact := drawn_and_corrected(successes, n, 0.9, 0.95):
        assert few > 1.2 * (exact[1] - exact[0])


def test_labels_from_elsewhere_carry_a_warning() -> None:
    """Labels on other rollouts need the verdict beside them, are clustered by what they have, and transport is said."""
    gold = (
        world(9)
        .sample(150, seed=1)
        .select("goal", "attack_success", rollout_id="gold/" + pl.col("rollout_id"), label="truth")
    )
    (row,) = rows(rw.judges.correct(ROLLOUTS, gold))
    assert row["estimate"] is not None
    assert "150 of 150 labels are on other rollouts: this holds if the judge errs there as here" in row["reason"]
    (plain,) = rows(rw.judges.correct(ROLLOUTS, gold.drop("goal")))
    assert "150 of 150 labels have no goal and are clustered by rollout alone" in plain["reason"]
    (none,) = rows(rw.judges.correct(ROLLOUTS, gold, method="by-verdict"))
    assert none["estimate"] is None
    assert none["reason"] == "no rollout has both a label and a verdict; 150 labels are on other rollouts and left out"
    with pytest.raises(ArgumentError, match="no 'target', so no group has labels of its own"):
        rw.judges.correct(ROLLOUTS, gold, by="target")
    assert rw.judges.correct(ROLLOUTS, gold, by="target", pool=True)["estimate"].null_count() == 0


@pytest.mark.integration
def test_every_rollout_is_counted() -> None:
    """Unknown verdicts stand beside the rate and in its bounds; half-judged rollouts widen the interval."""
    frame = ROLLOUTS.with_columns(
        attack_success=pl.when(pl.int_range(pl.len()) % 10 == 0).then(None).otherwise("attack_success"),
        ending=pl.when(pl.int_range(pl.len()) % 20 == 0).then(pl.lit("error")),
    )
    found: list[tuple[Method, float]] = [("rogan-gladen", 1e-6), ("by-verdict", 0.0)]
    for method, few in found:
        (row,) = rows(rw.judges.correct(frame, LABELS, method=method))
        assert (row["n"], row["n_error"], row["n_undetermined"], row["n_missing"]) == (360, 20, 20, 0)
        # Labels on rollouts without a verdict count only at the bounds, so these may both be on one side of the estimate.
        assert row["bound_low"] + few <= row["estimate"] <= row["bound_high"] - few
    half = frame.with_columns(
        outcome=pl.lit(None, dtype=schema.OUTCOMES),
        num_turns=pl.lit(4, dtype=pl.Int32),
        num_judged=pl.when(pl.col("attack_success").is_null() & pl.col("ending").is_null())
        .then(2)
        .otherwise(4)
        .cast(pl.Int32),
    )
    for method in ("rogan-gladen", "by-verdict"):
        (row,) = rows(rw.judges.correct(half, LABELS, method=method))
        assert row["low"] < row["estimate"] < row["high"]
        assert (row["n"], row["n_undetermined"], row["design_effect"]) == (360, 20, None)
        # The rows do not say when attacks succeeded, so the estimate is that of the known verdicts.
        known = rows(rw.judges.correct(half, LABELS, method=method, unjudged="drop"))[0]
        # The correction by verdict also uses the labels on rollouts with unjudged turns.
        assert row["estimate"] == pytest.approx(known["estimate"], abs=1e-9 if method == "rogan-gladen" else 0.01)
        assert row["high"] - row["low"] > known["high"] - known["low"]
        assert "20 of 400 rollouts have unjudged turns and no success" in row["reason"]
        assert row["low"] < row["bound_low"] < row["bound_high"] < row["high"]
        assert row["method"].endswith("at the bounds")


# ── edges ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_a_judge_no_better_than_chance_is_refused() -> None:
    """The row is null and says that nothing can be corrected; by verdict the labels still speak."""
    upside_down = ROLLOUTS.with_columns(~pl.col("attack_success"))
    (row,) = rows(rw.judges.correct(upside_down, LABELS, method="rogan-gladen"))
    assert (row["estimate"], row["low"]) == (None, None)
    assert "say no more than chance" in row["reason"]
    (row,) = rows(rw.judges.correct(upside_down, LABELS, method="by-verdict"))
    (right,) = rows(rw.judges.correct(ROLLOUTS, LABELS, method="by-verdict"))
    assert (row["estimate"], row["low"], row["high"]) == pytest.approx((right["estimate"], right["low"], right["high"]))


def test_labels_of_one_class() -> None:
    """Only failures labeled: by whom they were chosen is asked, since nothing in the table tells it; a random sample stands."""
    failures = LABELS.filter(~pl.col("label"))
    (row,) = rows(rw.judges.correct(ROLLOUTS, failures))
    assert (row["estimate"], row["low"], row["high"]) == (None, None, None)
    flagged = failures.join(ROLLOUTS, on="rollout_id")["attack_success"].to_numpy().mean()
    assert row["reason"] == (
        f"no label is a success, and the judge flagged {flagged:.0%} of the labeled rollouts and "
        f"{WORLD['attack_success'].to_numpy().mean():.0%} of all: if the labels were chosen by the verdict, set "
        "method='by-verdict'; if by their truth, method='rogan-gladen'"
    )
    (bounds,) = rows(rw.judges.correct(ROLLOUTS, failures, method="rogan-gladen"))
    assert (bounds["estimate"], bounds["high"]) == (None, 1.0)
    assert bounds["low"] > 0
    assert "no label is a success" in bounds["reason"]
    (asked,) = rows(rw.judges.correct(ROLLOUTS, failures, method="by-verdict"))
    assert asked["reason"] == "no label is a success: this holds unless the labels were chosen by their truth"
    # A safe target: at random, all labels are failures.
    safe = ROLLOUTS.with_columns(attack_success=pl.int_range(pl.len()) % 20 == 0)
    labels = safe.sample(100, seed=1).select("rollout_id", label=pl.lit(value=False))
    (row,) = rows(rw.judges.correct(safe, labels))
    assert (row["estimate"], row["low"], row["reason"]) == (0.0, 0.0, asked["reason"])


@pytest.mark.integration
def test_nothing_to_correct() -> None:
    """No rollouts, no labels: null with the reason, never 0."""
    for frame, labels in ((ROLLOUTS.clear(), LABELS), (ROLLOUTS, LABELS.clear())):
        for method in ("rogan-gladen", "by-verdict"):
            (row,) = rows(rw.judges.correct(frame, labels, method=method))
            assert (row["estimate"], row["low"], row["high"]) == (None, None, None)
            assert row["reason"]


@pytest.mark.integration
def test_levels_clusters_and_foreign_tables() -> None:
    """Several levels, no clusters, a numeric truth, Arrow in: as in the other verbs."""
    found = rw.judges.correct(
        ROLLOUTS.to_arrow(),
        LABELS.with_columns(pl.col("label").cast(pl.Int64)).lazy(),
        level=(0.5, 0.95),
        cluster=None,
        method="rogan-gladen",
    )
    narrow, wide = rows(found)
    assert wide["low"] < narrow["low"] < narrow["high"] < wide["high"]
    assert narrow["method"] == "Rogan-Gladen, Lang-Reiczigel"
    assert narrow["n_clusters"] == 400


OF_TURNS = pl.concat([LABELS.with_columns(turn=turn, label=pl.col("label") & (turn == 2)) for turn in (1, 2)])
"""Two turns of each rollout: what is true of one is no more true of the whole than one verdict is the rollout's."""


@pytest.mark.parametrize(
    ("labels", "options", "says"),
    [
        (LABELS.rename({"label": "human"}), {}, "the labels have no column `label`"),
        (pl.concat([LABELS, LABELS[:1]]), {}, "has two labels"),
        (OF_TURNS, {}, "has two labels; keep one, or correct by turns: `rw.judges.correct_curve`"),
        (OF_TURNS, {"method": "by-verdict"}, "has two labels"),
        (LABELS.with_columns(label=pl.lit("yes")), {}, "`label` of the labels is String; make it Boolean"),
        (LABELS.with_columns(label=pl.lit(3)), {}, "ranges from 3 to 3, not 0 or 1"),
        (LABELS.with_columns(target=pl.lit([1, 2])), {"by": "target"}, "column `target` is List"),
        (LABELS, {"metric": "harm"}, "no Boolean metric 'harm'"),
        (LABELS, {"method": "ppi"}, "method='ppi' is unknown"),
        (LABELS, {"by": "family"}, "no column 'family'"),
        (LABELS, {"level": 95}, "not a valid nominal coverage"),
        (LABELS, {"cluster": "family"}, "no such column"),
    ],
)
def test_bad_input_is_one_sentence(labels: pl.DataFrame, options: dict[str, Any], says: str) -> None:
    """A wrong table or option names itself and the remedy."""
    with pytest.raises((SchemaError, ArgumentError), match=says) as raised:
        rw.judges.correct(ROLLOUTS, labels, **options)
    assert "\n" not in str(raised.value)


# ── coverage ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
@pytest.mark.parametrize("method", ["rogan-gladen", "by-verdict", "auto"])
def test_clustered_frames_cover(method: Any) -> None:
    """40 goals of 5, ICC .2, labels on a random fifth of the same rollouts: at least .93 of nominal .95; the judged rate has less.

    Both estimators meet the truth of the goals' population, .2.
    """
    hits, judged, repetitions = 0, 0, repeated(400)
    for seed in range(repetitions):
        frame = world(100 + seed, sp=0.9).filter(target="base")
        labels = frame.sample(60, seed=seed).select("rollout_id", label="truth")
        (row,) = rows(rw.judges.correct(frame.drop("truth"), labels, method=method))
        hits += row["low"] is not None and row["low"] <= 0.2 <= row["high"]
        (plain,) = rows(rw.summarize(frame.drop("truth"), metrics="attack_success"))
        judged += plain["low"] <= 0.2 <= plain["high"]
    assert hits / repetitions >= 0.93 - 2 * np.sqrt(0.93 * 0.07 / repetitions)
    assert judged < hits
