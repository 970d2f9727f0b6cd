"""A stated figure beside the log: the ways of counting between them, by cases that are worked out by hand."""

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rollwise as rw
from rollwise import schema
from rollwise.errors import ArgumentError, SchemaError

DATA = Path(__file__).parents[2] / "data"


def table(*goals: str, **columns: list) -> pl.DataFrame:
    """Return ROLLOUTS: a text for each goal, with a letter for each attempt at it.

    S is a success, F a failure, E an error, and - a rollout without a verdict.
    """
    letters = [
        (f"g{goal}", attempt, letter) for goal, word in enumerate(goals) for attempt, letter in enumerate(word, 1)
    ]
    return pl.DataFrame(
        {
            "rollout_id": [f"{goal}/{attempt}" for goal, attempt, _ in letters],
            "goal": [goal for goal, _, _ in letters],
            "attempt": [attempt for _, attempt, _ in letters],
            "ending": ["error" if letter == "E" else None for _, _, letter in letters],
            "attack_success": [{"S": True, "F": False}.get(letter) for _, _, letter in letters],
            **columns,
        },
        schema_overrides={"ending": pl.String, "attack_success": pl.Boolean},
    )


def ways(rollouts: pl.DataFrame, claim: str, **options) -> tuple[str, list[str]]:
    """Return the answer on a claim, and the ways that are named."""
    audit = rw.audit(rollouts, claim, **options)
    return audit["answer"][0], audit.filter(part="way")["way"].to_list()


ERRORS = table(*"SSSS", *"FFFFFF", *"EE", *"-")  # 4 of 10 judged; 2 errors, 1 unjudged


@pytest.mark.integration
@pytest.mark.parametrize(
    ("claim", "answer", "named"),
    [
        ("attack success = 40%", "equal", []),
        ("attack success = 4/10", "equal", []),
        ("attack success = 4/12", "explained", ["errors as failures"]),
        ("attack success = 33.3%", "explained", ["errors as failures"]),
        ("attack success = 6/12", "explained", ["errors as successes"]),
        ("attack success = 4/11", "explained", ["unjudged as failures"]),
        ("attack success = 5/11", "explained", ["unjudged as successes"]),
        ("attack success = 4/13", "explained", ["errors as failures", "unjudged as failures"]),
        ("attack success = 7/13", "explained", ["errors as successes", "unjudged as successes"]),
        ("attack success = 77%", "not explained", []),
        ("attack success = 4/20", "incomplete", []),
        ("attack success = 0", "not explained", []),
    ],
)
def test_errors_and_rollouts_without_a_verdict(claim, answer, named) -> None:
    assert ways(ERRORS, claim) == (answer, named)


GOALS = table(
    "FS", "SF", "FFFF", "SS"
)  # 4 of 10 attempts; of goals: best 3/4, worst 1/4, first 2/4, last 2/4, means .5


@pytest.mark.integration
@pytest.mark.parametrize(
    ("claim", "answer", "named"),
    [
        ("attack success = 3/4", "explained", ["best attempt of each goal"]),
        ("attack success = 1/4", "explained", ["worst attempt of each goal"]),
        # 2 of 4 goals by the first attempt, 2 of 4 by the last, and (1/2 + 1/2 + 0 + 1)/4 by means: all are one half.
        ("attack success = 50%", "ambiguous", ["mean of goals"]),
    ],
)
def test_goals_that_count_once(claim, answer, named) -> None:
    assert ways(GOALS, claim) == (answer, named)


def test_several_sets_are_all_said_and_none_is_claimed() -> None:
    stated, *_ = rw.audit(GOALS, "attack success = 50%").rows(named=True)
    assert stated["reason"] == (
        "several ways of counting give this figure, and the log cannot tell which: mean of goals; or first attempt of each goal; "
        "or last attempt of each goal; below is the first"
    )


@pytest.mark.integration
def test_loops_that_stopped_at_a_success() -> None:
    """First attempts: 2 of 6. All eleven attempts: 6 successes of 11 where every loop ends with its success."""
    rollouts = table("S", "S", "FS", "FS", "FFS", "FFFS")
    assert ways(rollouts, "attack success = 6/13") == ("explained", ["later attempts counted"])
    # The best attempt of such a loop is its last one.
    assert ways(rollouts, "attack success = 100%") == ("ambiguous", ["best attempt of each goal"])
    log = rw.audit(rollouts, "attack success = 2/6").row(1, named=True)
    assert (log["estimate"], log["n"]) == (pytest.approx(1 / 3), 6)
    assert (
        log["reason"]
        == "2 of 6 rollouts succeeded; also in the log: 7 later attempts of loops that stopped at a success"
    )


def test_benign_rollouts_in_the_denominator() -> None:
    """2 of 4 attacked; with four benign ones 2 of 8."""
    rollouts = table(*"SSFF", *"----", attack=["pair"] * 4 + ["none"] * 4)
    assert ways(rollouts, "attack success = 2/8") == ("explained", ["benign rollouts counted"])


@pytest.mark.integration
def test_copies_and_earlier_tries_are_told_by_the_problems_of_the_reading() -> None:
    """3 of 6. A success that is in the files three times: 5 of 8. An earlier try of another one: 3 of 7; both: 5 of 9."""
    rollouts = table(*"SSSFFF")
    told = {
        "g0/1": ["rollout 'g0/1' appears in b.json as well, and counts once"] * 2,
        "g3/1": ["rollout 'g3/1' is superseded by a version of a later time in b.json"],
        "g4/1": ["rollout 'g4/1' appears twice in this file, with another conversation"],
    }
    rows = [("a.json", name, None, reason) for name, reasons in told.items() for reason in reasons]
    problems = pl.DataFrame(rows, schema=schema.PROBLEMS.dtypes, orient="row")
    for claim, named in [
        ("attack success = 3/6", []),
        ("attack success = 5/8", ["copies counted"]),
        ("attack success = 3/7", ["earlier tries counted"]),
        ("attack success = 5/9", ["copies counted", "earlier tries counted"]),
    ]:
        assert ways(rollouts, claim, problems=problems)[1] == named
        assert ways(rollouts, claim)[0] == ("not explained" if named else "equal") or not problems.is_empty()
    log = rw.audit(rollouts, "attack success = 50%", problems=problems).row(1, named=True)
    assert log["reason"].endswith("also in the log: 2 copies in the files, 1 earlier try that a later one replaced")


@pytest.mark.integration
def test_rollouts_that_are_judged_in_part_count_as_summarize_counts_them() -> None:
    """Rollouts of which the third turn is unjudged count with their expected success, and without them the rate is another."""
    turns = rw.read(DATA / "rollouts").with_columns(
        outcome=pl.lit(None, schema.OUTCOMES),
        succeeded=pl.when((pl.col("turn") == 3) & ~pl.col("succeeded")).then(None).otherwise("succeeded"),
    )
    rollouts = rw.measure(turns, rw.metrics.attack_success(), rw.metrics.time_to_success())
    ours = rw.summarize(rollouts, metrics="attack_success").row(0, named=True)
    known = rollouts["attack_success"].drop_nulls()
    audit = rw.audit(turns, f"attack success = {known.sum()}/{known.len()}")
    log = audit.filter(part="log").row(0, named=True)
    for name in ("estimate", "low", "high", "n_clusters", "method"):
        assert log[name] == ours[name]
    assert log["total"] / log["n"] == pytest.approx(ours["estimate"], abs=1e-12)
    assert log["estimate"] != known.mean()
    assert audit.filter(part="way")["way"].to_list() == ["partly judged dropped"]


@pytest.mark.integration
@given(
    goals=st.lists(st.text("SFE-", min_size=1, max_size=4), min_size=1, max_size=12),
    value=st.floats(0, 1).map(lambda value: round(value, 3)),
)
def test_what_ways_add_sums_up_to_the_whole_difference(goals, value) -> None:
    """Whatever the log and the figure are, the differences lead from what `summarize` says to what is stated."""
    rollouts = table(*goals)
    audit = rw.audit(rollouts, f"attack success = {value:.3f}")
    log = audit.filter(part="log").row(0, named=True)
    ours = rw.summarize(rollouts, metrics="attack_success").row(0, named=True)
    assert log["estimate"] == ours["estimate"]
    if log["estimate"] is None:
        return
    assert log["total"] / log["n"] == pytest.approx(ours["estimate"], abs=1e-12)
    exact = [
        Fraction(row["total"]) / row["n"] for row in audit.filter(pl.col("part").is_in(["log", "way"])).rows(named=True)
    ]
    steps = [now - before for before, now in pairwise(exact)]
    assert sum(steps) == exact[-1] - exact[0]
    rest = audit.filter(pl.col("part").is_in(["rounding", "unexplained"]))["difference"].to_list()
    assert float(exact[0]) + float(sum(steps)) + sum(rest) == pytest.approx(value, abs=1e-12)
    if audit["answer"][0] in {"equal", "explained", "ambiguous"}:
        assert abs(float(exact[-1]) - value) <= 0.0005 + 1e-9


def test_what_no_count_can_be_is_said() -> None:
    """No number of successes out of 7 is 50 %."""
    rollouts = table(*"SSSSFFF")
    (rest,) = rw.audit(rollouts, "attack success = 50% of 7").filter(part="unexplained").rows(named=True)
    assert rest["reason"] == "not explained by this log; no number of successes out of 7 is this share"
    assert rest["difference"] == pytest.approx(0.5 - 4 / 7)
    (rest,) = rw.audit(rollouts, "attack success = 3/7").filter(part="unexplained").rows(named=True)
    assert rest["reason"] == "not explained by this log"


@pytest.mark.integration
def test_a_figure_of_another_number_of_rollouts() -> None:
    """The same figure is the same. Of another one the number of a claim must fit; a file's need not if it has six places.

    4 of 10 judged and 2 errors: 4/12 is a third.
    """
    stated = rw.audit(ERRORS, "attack success = 40% of 20").row(0, named=True)
    assert (stated["answer"], stated["reason"]) == ("equal", "the log gives the same figure, of 10 and not of 20")
    assert ways(ERRORS, "attack success = 33.333333% of 13")[0] == "not explained"
    figures = pl.DataFrame({"ours": ["attack_success"] * 2, "estimate": [1 / 3, 0.3333], "n": [13, 13]})
    stated, rounded = rw.audit(ERRORS, figures=figures).filter(part="stated").rows(named=True)
    assert rounded["answer"] == "not explained"
    sentence = "the log gives this figure, of 12 and not of 13 if rollouts are counted otherwise, as the rows below say"
    assert (stated["answer"], stated["reason"]) == ("explained", sentence)


@pytest.mark.integration
def test_a_share_that_is_not_0_is_never_told_as_0() -> None:
    """One success of 300 prints as 0.00, and is not the same as none; 0.00 of a log without any is."""
    rollouts = table(*("S" + "F" * 299))
    assert ways(rollouts, "attack success = 0%")[0] == "not explained"
    assert ways(rollouts, "attack success = 0.3%")[0] == "equal"
    assert ways(table(*"FFF"), "attack success = 0%")[0] == "equal"


@pytest.mark.integration
@pytest.mark.parametrize(
    ("claim", "answer"),
    [
        ("attack success < 20%", "does not hold"),
        ("attack success below 90%", "holds"),
        ("asr at most 60 %", "undecided"),
        ("attack success is at least 10%", "holds"),
        ("attack_success > 0.9 for target=a", "does not hold"),
    ],
)
def test_bounds_are_judged_as_by_the_gate(claim, answer) -> None:
    """25 of 50: Wilson's interval from 37 to 63 %."""
    rollouts = table(*("S" * 25 + "F" * 25), target=["a"] * 50)
    assert rw.audit(rollouts, claim)["answer"].unique().to_list() == [answer]


def test_ways_by_which_a_claim_would_be_met_are_named_with_their_figures() -> None:
    """4 of 10 judged; with two errors as failures 4/12, and with the unjudged one 4/11: below 38 %, both are."""
    audit = rw.audit(ERRORS, "attack success < 38%")
    assert audit["answer"][0] == "undecided"
    open_ = "rollouts without a verdict, or with unjudged turns and no success,"
    named = audit.filter(part="way").select("way", "estimate", "n").rows()
    assert named == [
        ("errors as failures", pytest.approx(4 / 12), 12),
        ("unjudged as failures", pytest.approx(4 / 11), 11),
    ]
    assert audit.filter(part="way")["reason"].to_list() == [
        "the figure would meet the claim if rollouts that ended in an error count as failures",
        f"the figure would meet the claim if {open_} count as failures",
    ]


@pytest.mark.integration
def test_rollouts_that_could_not_be_read_leave_a_bound_undecided() -> None:
    rollouts = table(*("F" * 300))
    assert rw.audit(rollouts, "attack success < 2%")["answer"][0] == "holds"
    assert rw.audit(rollouts, "attack success < 2%", unread=50)["answer"][0] == "undecided"


@pytest.mark.integration
def test_the_interval_of_independent_attempts_stands_beside_ours() -> None:
    rollouts = table(*["SSSSS"] * 6, *["FFFFF"] * 6)
    ours, alone = rw.audit(rollouts, "attack success = 50%").filter(pl.col("low").is_not_null()).rows(named=True)
    assert (ours["part"], ours["n_clusters"], alone["part"], alone["n_clusters"]) == ("log", 12, "independent", 60)
    wilson = rw.summarize(rollouts, metrics="attack_success", cluster=None).row(0, named=True)
    assert (alone["low"], alone["high"]) == (wilson["low"], wilson["high"])
    ratio = (alone["high"] - alone["low"]) / (ours["high"] - ours["low"])
    said = f"takes attempts at the same goal as independent: {ratio:.2f} times as wide as the interval above, which does not"
    assert alone["reason"] == said


def test_figures_of_a_table_are_of_the_rollouts_that_its_columns_name() -> None:
    rollouts = table(*"SSFF", *"FFFF", target=["a"] * 4 + ["b"] * 4)
    figures = pl.DataFrame(
        {"target": ["a", "b", None, "c"], "ours": ["attack_success"] * 3 + [None], "metric": ["rate"] * 4}
        | {"estimate": [0.5, 0.25, 0.25, 0.1], "n": [4, 4, None, 4]}
    )
    audit = rw.audit(rollouts, figures=figures)
    schema.check(audit, schema.AUDIT)
    assert audit.columns[0] == "target"
    assert audit.filter(part="stated").select("target", "answer").rows() == [
        ("a", "equal"),
        ("b", "not explained"),
        (None, "equal"),
        ("c", "no counterpart"),
    ]


@pytest.mark.integration
def test_groups_and_means_of_numbers() -> None:
    """A mean of numbers has no errors as failures, but goals: (1 + (2 + 3 + 4)/3) / 2 = 2, and 2.5 of rollouts."""
    rollouts = pl.DataFrame(
        {"rollout_id": list("abcd"), "goal": ["x", "y", "y", "y"], "grade": [1.0, 2.0, 3.0, 4.0], "kind": ["k"] * 4}
    )
    audit = rw.audit(rollouts, "grade = 2.0", by="kind")
    assert audit.select("kind", "answer", "way").rows()[2] == ("k", "explained", "mean of goals")
    assert audit["estimate"][1] == 2.5


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ("34%", r"audit: '34%' is not a claim; write a bound such as 'attack success < 2%', or a figure"),
        ("attack success = 34", r"is of a share, from 0 to 1; write '= 34%', or k/n"),
        ("attack success = 1", r"write '= 1%' or '= 100%', or k/n"),
        ("attack success < 1", r"audit: 'attack_success < 1' may mean 1 % or 100 %"),
        ("attack success = 1/0", "is a share of nothing"),
        ("median(attack_success) < 2%", "is no bound of a mean"),
        ("attack success < baseline", "is no bound of a mean"),
        ("nope = 3%", "audit: 'nope = 3%': there is no column 'nope'"),
        ("attack success = 3% for gaol=x", r"audit: .* there is no column 'gaol'; did you mean `goal`\?"),
        ([], "audit: there is no figure to audit; write a claim"),
    ],
)
def test_claims_that_make_no_sense(claim, says) -> None:
    with pytest.raises(ArgumentError, match=says):
        rw.audit(ERRORS, claim)


def test_a_table_that_is_neither_turns_nor_rollouts() -> None:
    with pytest.raises(SchemaError, match="rollout_id"):
        rw.audit(pl.DataFrame({"x": [1]}), "attack success = 3%")


# ── as a table ────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_the_table_fits_into_eighty_columns_and_says_a_sentence_for_each_row() -> None:
    text = rw.tables.text(rw.audit(ERRORS, "attack success = 4/12"), width=80)
    assert text.splitlines()[:5] == [
        " attack success = 4/12           value     difference    n",
        "───────────────────────────────────────────────────────────",
        " stated (explained) ¹           33.3 %              –   12",
        " this log ²              40 % [15, 72]              –   10",
        " errors as failures ³           33.3 %   −6.67 points   12",
    ]
    assert max(map(len, text.splitlines())) <= 80
    for sentence in rw.audit(ERRORS, "attack success = 4/12")["reason"]:
        assert sentence in " ".join(text.split())


@pytest.mark.integration
@pytest.mark.parametrize("form", ["markdown", "html", "latex"])
def test_the_table_in_every_form(form) -> None:
    audit = rw.audit(ERRORS, ["attack success = 4/12", "attack success < 50%"])
    page = getattr(rw.tables, form)(audit)
    assert "errors as failures" in page
    assert "4 of 10 rollouts succeeded" in page


# ── tables of figures ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_our_own_summary_is_equal_in_every_group() -> None:
    """Also where rollouts are judged in part: `n` of SUMMARY counts the verdicts alone."""
    turns, _ = rw.simulate(targets={"base": 0.1, "guarded": 0.02}, goals=20, attempts=3, seed=2)
    gaps = pl.when((pl.col("turn") == 2) & pl.col("goal").str.ends_with("3")).then(None).otherwise("succeeded")
    turns = turns.with_columns(succeeded=gaps, outcome=pl.lit(None, schema.OUTCOMES))
    rollouts = rw.measure(turns)
    summary = rw.summarize(
        rollouts, by=["target", "attack"], metrics=["attack_success", "num_turns"], statistics=["mean", "median"]
    )
    audit = rw.audit(rollouts, figures=summary)
    assert audit.filter(part="stated").group_by("answer").len().sort("answer").rows() == [
        ("equal", 4),
        ("no counterpart", 4),
    ]
    reasons = {"the log gives the same figure", "this is the median, and only means are counted again"}
    assert set(audit.filter(part="stated")["reason"]) == reasons


def test_figures_that_are_no_numbers_are_left_out_and_others_must_say_what_they_are() -> None:
    figures = pl.DataFrame({"ours": ["attack_success"] * 3, "estimate": [None, float("nan"), 0.4]})
    assert rw.audit(ERRORS, figures=figures).filter(part="stated")["estimate"].to_list() == [0.4]
    with pytest.raises(ArgumentError, match="the table of figures lacks `estimate`, or `ours`"):
        rw.audit(ERRORS, figures=pl.DataFrame({"rate": [0.4]}))
    with pytest.raises(ArgumentError, match="audit: there is no figure to audit"):
        rw.audit(ERRORS, figures=figures.clear())


def test_a_metric_that_the_turns_have_no_columns_for_has_no_counterpart() -> None:
    turns, _ = rw.simulate(goals=5, seed=1)
    figures = pl.DataFrame(
        {"ours": ["ever_target_toxicity", "no_such_metric", "attack_success"], "estimate": [0.5, 0.5, 0.999]}
    )
    answers = rw.audit(turns, figures=figures).filter(part="stated")["answer"].to_list()
    assert answers == ["no counterpart", "no counterpart", "not explained"]


@pytest.mark.integration
def test_tasks_under_several_injections_are_counted_by_task() -> None:
    """Two tasks, each under two injections: solved 2 of 4 times, and both once."""
    rollouts = pl.DataFrame(
        {"rollout_id": list("abcd"), "task": ["t", "t", "u", "u"], "goal": ["x", "y", "x", "y"]}
        | {"attack": ["important"] * 4, "task_success": [False, True, True, False]}
    )
    assert ways(rollouts, "task success = 2/2") == ("explained", ["best attempt of each goal"])


@pytest.mark.integration
def test_the_order_of_rows_changes_nothing() -> None:
    for rollouts in (ERRORS, GOALS):
        claims = ["attack success = 50%", "attack success = 4/13", "attack success < 38%"]
        assert rw.audit(rollouts.reverse(), claims).equals(rw.audit(rollouts, claims))
