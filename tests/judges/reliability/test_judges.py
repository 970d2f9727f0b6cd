"""`agreement`: verdicts and labels in, one row for each comparison and statistic out."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise import schema
from rollwise.errors import ArgumentError, RollwiseError, SchemaError
from rollwise.stats.agreement import ac1, alpha, kappa

RNG = np.random.default_rng(0)
SIZE = 120
TRUTH = RNG.random(SIZE) < 0.4


def said(wrong: float) -> list[bool]:
    """Verdicts that are wrong this often."""
    return list(TRUTH ^ (RNG.random(SIZE) < wrong))


UNITS = pl.DataFrame(
    {
        "rollout_id": [f"r{i // 4:02d}" for i in range(SIZE)],
        "turn": pl.Series([i % 4 + 1 for i in range(SIZE)], dtype=pl.Int32),
        "goal": [f"g{i // 8:02d}" for i in range(SIZE)],
    }
)
LABELS = UNITS.select("rollout_id", "turn", label=pl.Series(TRUTH))
VERDICTS = pl.concat(
    [
        UNITS.with_columns(judge=pl.lit(name), value=pl.Series(said(wrong)).cast(pl.Float64))
        for name, wrong in (("careful", 0.05), ("hasty", 0.25), ("odd", 0.4))
    ]
)


def one(frame: pl.DataFrame, statistic: str, **where: str) -> dict:
    """The one row of a statistic."""
    return frame.filter(statistic=statistic, **where).row(0, named=True)


def ratings(judge: str) -> np.ndarray:
    """Verdicts beside labels."""
    return np.column_stack([VERDICTS.filter(judge=judge)["value"].to_numpy(), TRUTH])


# ── what a row says ───────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_every_comparison_has_its_rows() -> None:
    """Three judges and labels: each with the labels, each pair, the panel; the frame conforms to its schema."""
    found = rw.judges.agreement(VERDICTS, LABELS, resamples=500)
    assert found.columns == list(schema.AGREEMENT.names)
    schema.check(found, schema.AGREEMENT)
    counts = dict(found.group_by("comparison").agg(pl.struct("judge", "other").n_unique()).iter_rows())
    assert counts == {"labels": 3, "judges": 3, "panel": 1}
    assert found.filter(comparison="panel")["statistic"].to_list() == ["agreement", "alpha", "ac1"]
    assert found["estimand"].null_count() == 0
    assert one(found, "kappa", comparison="labels", judge="hasty")["estimand"] == (
        "Cohen's kappa of judge 'hasty' with the labels, every verdict weighing the same; unit: goal"
    )


@pytest.mark.integration
def test_the_numbers_are_those_of_the_arrays() -> None:
    """Each coefficient is its function of the same ratings, clustered by goal; shares and counts are counted by hand."""
    found = rw.judges.agreement(VERDICTS, LABELS, resamples=500, level=0.9)
    goal = np.arange(SIZE) // 8
    for judge in ("careful", "hasty", "odd"):
        pair = ratings(judge)
        rows = {row["statistic"]: row for row in found.filter(comparison="labels", judge=judge).iter_rows(named=True)}
        for name, function in (("kappa", kappa), ("alpha", alpha), ("ac1", ac1)):
            expected = function(pair, (goal,), level=0.9, interval="t")
            assert rows[name]["estimate"] == pytest.approx(expected.estimate)
            assert rows[name]["std_error"] == pytest.approx(expected.std_error)
            assert rows[name]["n_clusters"] == 15
            assert rows[name]["resamples"] == 500
        true, yes = pair[:, 1] == 1, pair[:, 0] == 1
        assert rows["sensitivity"]["estimate"] == pytest.approx(yes[true].mean())
        assert rows["specificity"]["estimate"] == pytest.approx((~yes)[~true].mean())
        assert rows["agreement"]["estimate"] == pytest.approx((yes == true).mean())
        assert rows["prevalence"]["estimate"] == rows["kappa"]["prevalence"] == pytest.approx(true.mean())
        counted = [int(x.sum()) for x in (yes & true, yes & ~true, ~yes & true, ~yes & ~true)]
        assert [rows["kappa"][name] for name in ("both", "judge_only", "other_only", "neither")] == counted
        assert rows["sensitivity"]["method"] == "clustered Wilson"


@pytest.mark.integration
def test_panels_take_any_number_of_judges() -> None:
    """Without labels: alpha and AC1 of all three, and no labels anywhere."""
    found = rw.judges.agreement(VERDICTS, resamples=300)
    wide = np.column_stack([VERDICTS.filter(judge=name)["value"].to_numpy() for name in ("careful", "hasty", "odd")])
    panel = one(found, "alpha", comparison="panel")
    assert panel["estimate"] == pytest.approx(alpha(wide, (), interval="t").estimate)
    assert (panel["judge"], panel["other"], panel["both"]) == (None, None, None)
    assert "labels" not in found["comparison"].to_list()


@pytest.mark.integration
def test_nothing_else_in_the_frame_changes_a_row() -> None:
    """Row order, chunks, other judges and other groups leave a row as it is, draws included."""
    verdicts = VERDICTS.with_columns(
        half=pl.when(pl.col("rollout_id") < "r15").then(pl.lit("a")).otherwise(pl.lit("b"))
    )
    whole = rw.judges.agreement(verdicts, LABELS, by="half", resamples=300)
    shuffled = pl.concat(
        [
            verdicts.sample(fraction=1, shuffle=True, seed=1)[:100],
            verdicts.sample(fraction=1, shuffle=True, seed=1)[100:],
        ],
        rechunk=False,
    )
    assert rw.judges.agreement(shuffled, LABELS.reverse(), by="half", resamples=300).equals(whole)
    alone = rw.judges.agreement(
        verdicts.filter(half="a", judge="hasty"), LABELS.filter(pl.col("rollout_id") < "r15"), resamples=300
    )
    assert alone.equals(whole.filter(half="a", comparison="labels", judge="hasty").drop("half"))


def test_samples_measure_how_well_a_judge_repeats_itself() -> None:
    """Several judgments of the same turns: each counts against the labels, and a judge is compared with itself."""
    again = pl.concat(
        [
            UNITS.with_columns(
                judge=pl.lit("j"), sample=pl.lit(k, dtype=pl.Int32), value=pl.Series(said(0.2)).cast(pl.Float64)
            )
            for k in (1, 2, 3)
        ]
    )
    found = rw.judges.agreement(again, LABELS, resamples=300)
    assert found["comparison"].unique().sort().to_list() == ["labels", "samples"]
    assert one(found, "kappa", comparison="labels")["n"] == 3 * SIZE
    wide = np.column_stack([again.filter(sample=k)["value"].to_numpy() for k in (1, 2, 3)])
    assert one(found, "alpha", comparison="samples")["estimate"] == pytest.approx(
        alpha(wide, (), interval="t").estimate
    )
    mean = rw.judges.agreement(again, LABELS, samples="mean", at=0.5, resamples=300)
    assert one(mean, "kappa")["n"] == SIZE
    majority = np.column_stack([wide.mean(axis=1) >= 0.5, TRUTH]).astype(float)
    assert one(mean, "kappa")["estimate"] == pytest.approx(kappa(majority, (), interval="t").estimate)
    assert one(mean, "sensitivity")["estimate"] > one(found, "sensitivity")["estimate"]


def test_rubrics_are_a_scale() -> None:
    """Grades of 1 to 5 get weighted kappa and ordinal and interval alpha; with `at` they are positive or not."""
    grades = RNG.integers(1, 6, SIZE)
    verdicts = UNITS.with_columns(judge=pl.lit("j"), value=pl.Series(np.clip(grades + RNG.integers(-1, 2, SIZE), 1, 5)))
    labels = UNITS.select("rollout_id", "turn", label=pl.Series(grades))
    found = rw.judges.agreement(verdicts, labels, resamples=300)
    assert found["statistic"].to_list() == [
        *("agreement", "kappa", "kappa_linear", "kappa_quadratic"),
        *("alpha", "alpha_ordinal", "alpha_interval", "ac1"),
    ]
    assert (
        one(found, "kappa")["estimate"]
        < one(found, "kappa_linear")["estimate"]
        < one(found, "kappa_quadratic")["estimate"]
    )
    assert one(found, "kappa")["both"] is None
    cut = rw.judges.agreement(verdicts, labels, at=4, resamples=300)
    assert one(cut, "prevalence")["estimate"] == pytest.approx((grades >= 4).mean())


@pytest.mark.integration
def test_words_are_categories() -> None:
    """Verdicts in words are told apart; `at` names the word that is positive."""
    words = pl.Series(["unsafe" if yes else "safe" for yes in TRUTH])
    verdicts = UNITS.with_columns(judge=pl.lit("j"), value=pl.lit(1.0), label=words)
    labels = UNITS.select("rollout_id", "turn", label=words.reverse().cast(pl.Categorical))
    found = rw.judges.agreement(verdicts, labels, verdict="label", resamples=300)
    assert found["statistic"].to_list() == ["agreement", "kappa", "alpha", "ac1"]
    cut = rw.judges.agreement(verdicts, labels, verdict="label", at="unsafe", resamples=300)
    assert one(cut, "kappa")["estimate"] == pytest.approx(one(found, "kappa")["estimate"])
    assert one(cut, "prevalence")["estimate"] == pytest.approx(TRUTH.mean())


# ── abstentions, gaps, edges ──────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_an_abstention_is_missing_or_a_category() -> None:
    """Left out and counted, or a category that is wrong whatever the truth; NaN is an abstention too."""
    silent = VERDICTS.filter(judge="careful").with_columns(
        value=pl.when(pl.col("turn") == 1).then(None).when(pl.col("turn") == 2).then(float("nan")).otherwise("value")
    )
    missing = rw.judges.agreement(silent, LABELS, resamples=300)
    row = one(missing, "kappa")
    assert (row["n"], row["n_abstained"], row["n_single"]) == (60, 60, 60)
    assert "60 abstentions left out, which are seldom at random" in row["reason"]
    category = rw.judges.agreement(silent, LABELS, abstentions="category", resamples=300)
    assert (one(category, "kappa")["n"], one(category, "kappa")["n_abstained"]) == (SIZE, 60)
    assert one(category, "kappa")["reason"] is None
    assert "alpha_ordinal" not in category["statistic"].to_list()
    spoken = np.tile([False, False, True, True], SIZE // 4)
    right = (ratings("careful")[:, 0] == 1) & spoken
    assert one(category, "sensitivity")["estimate"] == pytest.approx(right[TRUTH].mean())
    assert one(category, "kappa")["estimate"] < one(missing, "kappa")["estimate"]


def test_a_unit_with_one_rating_is_counted_and_left_out() -> None:
    """Labels without verdicts and verdicts without labels stand in `n_single`."""
    found = one(rw.judges.agreement(VERDICTS.filter(judge="hasty")[:100], LABELS[10:], resamples=300), "kappa")
    assert (found["n"], found["n_single"]) == (90, 30)


def test_one_category_everywhere_is_null_with_a_reason() -> None:
    """A judge that never flags: what is beyond chance is undefined, sensitivity says that nothing was positive."""
    never = VERDICTS.with_columns(value=pl.lit(0.0)).filter(judge="odd")
    found = rw.judges.agreement(never, LABELS.with_columns(label=pl.lit(value=False)), resamples=300)
    for name in ("kappa", "alpha", "ac1"):
        row = one(found, name)
        assert (row["estimate"], row["low"], row["n"]) == (None, None, SIZE)
        assert "one category everywhere" in row["reason"]
    assert one(found, "sensitivity")["reason"] == "none is positive by the labels (or the other judge)"
    assert (one(found, "specificity")["estimate"], one(found, "specificity")["high"]) == (1.0, 1.0)
    assert 0.7 < one(found, "specificity")["low"] < 1


def test_empty_tables_give_an_empty_frame() -> None:
    """No verdicts at all: the columns are there."""
    found = rw.judges.agreement(VERDICTS.clear(), LABELS.clear())
    assert found.is_empty()
    assert found.columns == list(schema.AGREEMENT.names)
    none = rw.judges.agreement(VERDICTS, LABELS.clear(), statistics="kappa")
    assert none.filter(comparison="labels")["reason"].to_list() == ["no unit has two ratings"] * 3


@pytest.mark.integration
def test_rollouts_cluster_turns_where_no_goal_is_known() -> None:
    """Without a goal the rollout is the unit, never the verdict; None and pairs of columns are the caller's word."""
    plain = VERDICTS.drop("goal")
    assert one(rw.judges.agreement(plain, LABELS, resamples=300), "kappa", judge="odd")["n_clusters"] == 30
    assert (
        one(rw.judges.agreement(plain, LABELS, cluster=None, resamples=300), "kappa", judge="odd")["n_clusters"] == SIZE
    )
    crossed = rw.judges.agreement(
        VERDICTS.with_columns(task=pl.col("turn").cast(pl.String)), LABELS, cluster=("goal", "task")
    )
    row = one(crossed, "kappa", judge="odd")
    assert (row["n_clusters"], row["method"]) == (4, "two-way t")


@pytest.mark.integration
def test_a_goal_known_of_one_turn_is_that_of_its_rollout() -> None:
    """Labels that name the goals of some turns: the other turns of the same rollouts are in the same clusters."""
    some = UNITS.filter(pl.col("turn") == 1).with_columns(label=pl.lit(value=True))
    found = rw.judges.agreement(VERDICTS.drop("goal"), some, resamples=300)
    assert one(found, "kappa", comparison="judges", judge="careful", other="odd")["n_clusters"] == 15


def test_shares_by_bootstrap_where_it_is_defined() -> None:
    """`method="bootstrap"`: BCa for shares, Wilson where every goal agrees."""
    found = rw.judges.agreement(VERDICTS, LABELS, method="bootstrap", resamples=2000)
    assert one(found, "specificity", comparison="labels", judge="hasty")["method"].startswith("cluster BCa bootstrap")
    never = VERDICTS.filter(judge="odd").with_columns(value=pl.lit(0.0))
    row = one(rw.judges.agreement(never, LABELS, method="bootstrap", resamples=300), "specificity")
    assert row["method"] == "clustered Wilson"
    assert "Wilson instead of the bootstrap" in row["reason"]


def test_a_statistic_that_does_not_fit_says_why() -> None:
    """Asked for by name, a statistic of pairs of a panel is null, with the reason."""
    found = rw.judges.agreement(VERDICTS, statistics=("sensitivity", "kappa_linear"))
    assert "alpha and ac1 take any number" in one(found, "sensitivity", comparison="panel")["reason"]
    assert "of a scale of three numbers or more" in one(found, "kappa_linear", comparison="judges")["reason"]


@pytest.mark.integration
def test_trees_are_judged_by_node() -> None:
    """Where `node_id` tells units apart and `turn` is null, nodes are the units."""
    nodes = UNITS.select("rollout_id", node_id=pl.col("turn").cast(pl.String), turn=pl.lit(None, dtype=pl.Int32))
    verdicts = nodes.with_columns(judge=pl.lit("j"), value=pl.Series(said(0.1)).cast(pl.Int8))
    found = rw.judges.agreement(verdicts, nodes.with_columns(label=pl.Series(TRUTH)), resamples=300)
    assert one(found, "kappa")["n"] == SIZE


@pytest.mark.parametrize(
    ("verdicts", "labels", "options", "says"),
    [
        (VERDICTS.drop("judge"), LABELS, {}, "the verdicts have no column `judge`"),
        (VERDICTS, LABELS.rename({"label": "human"}), {}, "the labels have no column `label`"),
        (VERDICTS, LABELS, {"verdict": "harm"}, "no column `harm`"),
        (pl.concat([VERDICTS, VERDICTS[:1]]), LABELS, {}, "'r00', turn 1, judge 'careful', sample 1 has two verdicts"),
        (VERDICTS, pl.concat([LABELS, LABELS[:1]]), {}, "'r00', turn 1 has two labels"),
        (
            VERDICTS,
            LABELS.drop("turn").unique("rollout_id"),
            {},
            "the verdicts are on rollout_id, turn, the labels on rollout_id",
        ),
        (VERDICTS.with_columns(value=pl.lit(3)), LABELS, {}, "labels are 0 or 1, but verdicts range from 3 to 3"),
        (VERDICTS, LABELS.with_columns(label=pl.lit("yes")), {}, "compare words with words"),
        (VERDICTS, LABELS, {"at": "unsafe"}, "at='unsafe' is not one of the verdicts"),
        (VERDICTS, LABELS.with_columns(turn=pl.lit("one")), {}, "column `turn` is String in the labels"),
        (VERDICTS, LABELS, {"by": "target"}, "no column 'target'"),
        (VERDICTS, LABELS, {"by": "judge"}, "has the name of a result column"),
        (VERDICTS, LABELS, {"cluster": "family"}, r"no such column; available: rollout_id, turn \(cluster"),
        (VERDICTS, LABELS, {"at": float("nan")}, "agreement: at=nan is not a number, text or None"),
        (VERDICTS, LABELS, {"at": [0.2, 0.5]}, r"agreement: at=\[0.2, 0.5\] is not a number, text or None"),
        (
            VERDICTS.with_columns(value=pl.concat_list("value")),
            LABELS,
            {},
            r"`value` is List\(Float64\); compare numbers",
        ),
        (VERDICTS.with_columns(value=pl.date(2026, 1, 1)), LABELS, {}, "`value` is Date; compare numbers"),
        (VERDICTS, LABELS, {"statistics": "cappa"}, "statistic='cappa' is unknown"),
        (VERDICTS, LABELS, {"abstentions": "safe"}, "abstentions='safe' is unknown"),
        (VERDICTS, LABELS, {"resamples": 10}, "too few"),
        (VERDICTS, [1, 2], {}, "a list is not a frame"),
    ],
)
def test_bad_input_is_one_sentence(verdicts, labels, options, says: str) -> None:
    """A wrong table or option names itself and the remedy."""
    with pytest.raises((SchemaError, ArgumentError), match=says) as raised:
        rw.judges.agreement(verdicts, labels, **options)
    assert isinstance(raised.value, RollwiseError)
    assert "\n" not in str(raised.value)


# ── real logs ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_a_rule_against_people_on_refusals(shared: Path) -> None:
    """PyRIT's 148 labeled exchanges: the refusal rule finds 43 of 94 and takes none of 54, kappa .381 [.310, .450]."""
    frame = pl.read_csv(shared / "pyrit" / "refusal_scorer_eval.csv").rename(
        {"": "rollout_id", "user_message": "goal", "assistant_message": "response", "score_value": "label"}
    )
    verdicts = frame.select("rollout_id", "goal", judge=pl.lit("rule"), value=m.refused_by_rule())
    found = rw.judges.agreement(verdicts, frame.select("rollout_id", "label"))
    row = one(found, "kappa")
    assert [row[name] for name in ("both", "judge_only", "other_only", "neither")] == [43, 0, 51, 54]
    assert row["prevalence"] == pytest.approx(94 / 148)
    observed, chance = 97 / 148, (43 * 94 + 105 * 54) / 148**2
    assert row["estimate"] == pytest.approx((observed - chance) / (1 - chance))
    assert (row["low"], row["high"]) == pytest.approx((0.310, 0.450), abs=0.01)
    assert one(found, "sensitivity")["estimate"] == pytest.approx(43 / 94)
    assert one(found, "specificity")["estimate"] == 1.0
    assert one(found, "specificity")["low"] == pytest.approx(0.934, abs=1e-3)


def test_graders_without_common_items_have_no_agreement(shared: Path) -> None:
    """HiBayES's grades name no item: nothing is paired by position, and every row says that no unit has two ratings."""
    grades = pl.read_csv(shared / "hibayes_judge_csv" / "q2.csv").with_row_index("rollout_id")
    found = rw.judges.agreement(grades.select("rollout_id", judge="grader", value="score"))
    assert found["estimate"].null_count() == found.height
    assert set(found["reason"]) == {"no unit has two ratings"}
    assert found.filter(comparison="panel")["n_single"].unique().to_list() == [530]


@pytest.mark.integration
def test_two_detectors_of_one_log(shared: Path) -> None:
    """Garak's ModelAsJudge flags 28 of 138 answers, as its file counts; with the refusal detector it agrees no more than chance."""
    turns = rw.read(shared / "garak" / "trustyai_garak_earlystop_run.jsonl", errors="collect")[0]
    judges = ["score_judge.ModelAsJudge", "score_judge.Refusal"]
    verdicts = turns.unpivot(index=["rollout_id", "turn", "goal"], on=judges, variable_name="judge").drop_nulls("value")
    row = one(rw.judges.agreement(verdicts, at=0.5), "kappa")
    assert [row[name] for name in ("both", "judge_only", "other_only", "neither")] == [18, 10, 54, 56]
    chance = (28 * 72 + 110 * 66) / 138**2
    assert row["estimate"] == pytest.approx((74 / 138 - chance) / (1 - chance))
    assert row["low"] < 0 < row["high"]
    assert row["method"] == "cluster t"
