"""Metrics of one's own are as honest as those of the package: what is not known is never a no, a zero or a success."""

from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m

SUCCEEDED, SCORE, COST = pl.col("succeeded"), pl.col("score"), pl.col("cost_usd")


def turns() -> pl.DataFrame:
    """Sixteen rollouts of a turn: four ended in an error, three without a verdict, nine were judged: one success."""
    judged = [False] * 8 + [True]
    return pl.DataFrame(
        {
            "rollout_id": [f"r{number:02}" for number in range(16)],
            "turn": 1,
            "goal": [f"g{number}" for number in range(16)],
            "ending": ["error"] * 4 + ["budget"] * 12,
            "response": ["No."] * 15 + ["Sure."],
            "succeeded": [None] * 7 + judged,
            "refused": [None] * 7 + [not value for value in judged],
            "score": [None] * 7 + [float(value) for value in judged],
            "reward": [None] * 7 + [float(value) for value in judged],
            "cost_usd": [None] * 7 + [0.5] * 9,
            "verdict": [None] * 7 + ["unsafe" if value else "safe" for value in judged],
            "harm": [None] * 7 + [5 if value else 1 for value in judged],
            "leaked": [None] * 7 + judged,
        }
    )


@pytest.mark.integration
@pytest.mark.parametrize(
    "mine",
    [
        SUCCEEDED.any(),
        SUCCEEDED.max().fill_null(value=False),
        (SCORE > 0.5).any(),
        ~pl.col("refused").all(),
        pl.col("reward").sum() > 0,
        (pl.col("verdict") == "unsafe").any(),
        pl.col("harm").sum() >= 4,
        pl.col("leaked").any() & (pl.col("turn").max() < 9),
        pl.struct(SUCCEEDED, SCORE).first().struct.field("succeeded").eq_missing(other=True),
    ],
    ids=str,
)
def test_what_has_no_verdict_is_unknown(mine: pl.Expr) -> None:
    """In all of these, nulls alone are False: the metric of the package and one's own agree on each rollout all the same."""
    for frame in (turns(), turns().lazy()):
        rollouts = rw.measure(frame, m.attack_success(), mine=mine).lazy().collect()
        assert rollouts["mine"].to_list() == rollouts["attack_success"].to_list()
    found = rw.summarize(rollouts, metrics=["attack_success", "mine"], statistics="mean")
    of_package, own = found.select("n", "n_error", "estimate").rows()
    assert of_package == own == (9, 4, pytest.approx(1 / 9))  # one of nine; 1 of 16 is .06


@pytest.mark.integration
@pytest.mark.parametrize(
    ("mine", "known"),
    [
        (pl.col("response").str.contains("Sure").any(), 12),  # words need no verdict, but a rollout without an error
        (pl.col("turn").max() > 0, 12),
        (COST.sum(), 9),
        (pl.coalesce(pl.col("total_cost_usd").first(), COST.sum()), 9),  # one of two columns of costs is enough
        (SUCCEEDED.any() & (pl.col("ending").first() != "error"), 16),
        (SUCCEEDED.any() | (pl.col("outcome") == "success").any(), 16),
        (pl.col("error").is_null().all() & SUCCEEDED.any(), 16),
        (pl.len(), 16),  # reads nothing
    ],
    ids=str,
)
def test_who_reads_how_it_ended_decides(mine: pl.Expr, known: int) -> None:
    """An expression that reads `error`, `ending` or `outcome` is taken as it stands; any other is unknown after an error."""
    assert rw.measure(turns(), mine=mine)["mine"].count() == known


def test_an_outcome_of_error_is_an_error() -> None:
    """The error of a judge is one, too: the rollout is no no."""
    judged = turns().with_columns(ending=None, outcome=pl.when(pl.col("rollout_id") == "r09").then(pl.lit("error")))
    mine = rw.measure(judged, mine=SUCCEEDED.any())
    assert mine.filter(pl.col("mine").is_null())["rollout_id"].to_list() == [
        f"r{n:02}" for n in (0, 1, 2, 3, 4, 5, 6, 9)
    ]


def test_partly_judged_is_up_to_the_expression() -> None:
    """Where one turn has a verdict, `any(ignore_nulls=False)` is unknown and `any()` is not."""
    frame = pl.DataFrame({"rollout_id": ["a", "a"], "turn": [1, 2], "succeeded": [False, None]})
    rollouts = rw.measure(frame, kleene=SUCCEEDED.any(ignore_nulls=False), known=SUCCEEDED.any())
    assert rollouts.select("kleene", "known").row(0) == (None, False)


def test_metrics_of_the_package_stay_under_any_name() -> None:
    """A cost of a run that ended in an error is a cost, under another name as well; registering does not change its kind."""
    frame = turns().with_columns(cost_usd=0.5, solved=True)
    asked: dict[str, Any] = {"named": m.dollars_used(), "function": m.task_success}
    rollouts = rw.measure(frame, m.dollars_used().alias("again"), **asked)
    assert [rollouts[name].count() for name in ("again", "named", "function")] == [16, 16, 16]
    assert type(m.dollars_used() + 1) is pl.Expr  # made of one, it is one's own


def test_a_composite_may_lack_a_part() -> None:
    """`missing="reweight"` asks for what is there: a part without a verdict is left out, as it says."""
    frame = turns().with_columns(reward=None, ending=None)
    value = m.composite({"a": 1, "b": 1}, missing="reweight", a=SCORE.mean(), b=pl.col("reward").mean())
    assert rw.measure(frame, mine=value)["mine"].to_list() == [None] * 7 + [0.0] * 8 + [1.0]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("mine", "found"),
    [
        (m.ever(SUCCEEDED), [True, None, False]),
        (m.ever(SUCCEEDED, name="broken").alias("again"), [True, None, False]),
        (m.ever(SCORE > 0.5), [True, None, False]),
        (m.ever(pl.col("response") == "Sure."), [True, None, False]),
        (m.ever_refused(), [True, None, True]),
        (m.ever(pl.col("turn") > 1), [None, None, True]),
        (m.ever(pl.col("error") == "429"), [True, True, None]),  # it says itself what an error means
        (m.ever(SUCCEEDED & pl.col("error").is_null()), [False, False, False]),
    ],
    ids=str,
)
@pytest.mark.parametrize("of", ["ending", "outcome"])
def test_what_held_in_no_turn_before_an_error_is_unknown(mine: pl.Expr, found: list[bool | None], of: str) -> None:
    """A later turn might have been the one: only a rollout that went to its end says no, as with the attack's success."""
    frame = pl.DataFrame(
        {
            "rollout_id": ["a", "b", "c", "c"],
            "turn": [1, 1, 1, 2],
            "goal": ["g", "g", "g", "g"],
            of: ["error", "error", None, None],
            "error": ["429", "429", None, None],
            "response": ["Sure.", "No.", "No.", "No."],
            "succeeded": [True, False, False, False],
            "score": [1.0, 0.0, 0.0, 0.0],
            "refused": [True, False, True, True],
        }
    )
    for table in (frame, frame.lazy()):
        measured = rw.measure(table, m.attack_success(), mine=mine).lazy().collect()
        assert measured["mine"].to_list() == found
        # An error after a success of its own is an error to the log's outcome, and a success to the verdict.
        assert measured["attack_success"].to_list()[1:] == [None, False]


def test_an_error_without_a_refusal_is_counted_as_an_error() -> None:
    """Two of three rollouts say something: one of two, not one of three."""
    frame = pl.DataFrame(
        {"rollout_id": ["a", "b", "c"], "turn": 1, "goal": ["g", "h", "i"], "refused": [True, False, False]}
    )
    errors = frame.with_columns(ending=pl.Series(["budget", "error", "budget"]), succeeded=False)
    row = rw.summarize(rw.measure(errors, m.ever_refused()), metrics="ever_refused").row(0, named=True)
    assert (row["n"], row["n_error"], row["estimate"]) == (2, 1, 0.5)
