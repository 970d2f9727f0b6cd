"""No public function lets an error of Polars, NumPy or Python through, whatever the frame and the options.

`odd_calls.py` draws the calls; by hand, `python tests/odd_calls.py 0 20000` runs many.
"""

import inspect
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import odd_calls
import polars as pl
import pytest
from simulations import repeated

import rollwise as rw
from rollwise import metrics as m
from rollwise.errors import ArgumentError, MetricError, RollwiseError, SchemaError


@pytest.mark.integration
@pytest.mark.parametrize("first", range(0, 600, 100))
def test_a_hundred_odd_calls(first: int, tmp_path: Path) -> None:
    problems = odd_calls.problems(range(first, first + 100), tmp_path)
    assert not problems, "\n".join(problems)


@pytest.mark.slow
def test_twenty_thousand_odd_calls(tmp_path: Path) -> None:
    problems = odd_calls.problems(range(10_000, 10_000 + repeated(20_000)), tmp_path)
    assert not problems, "\n".join(problems)


@pytest.mark.integration
def test_every_function_gives_results_too(tmp_path: Path) -> None:
    """Odd calls prove something only if the same functions succeed on the frames that they are for."""
    without = set()
    for name in set(odd_calls.functions()) - odd_calls.NO_RESULT:
        calls = (odd_calls.call_of(seed, tmp_path, only=name, plain=True) for seed in range(100))
        if not any(odd_calls.problem_of(call) == (None, "result") for call in calls):
            without.add(name)
    assert not without


def test_functions_are_found_by_introspection() -> None:
    names = odd_calls.functions()
    assert {"summarize", "plots.forest", "plots.marks.forest", "tables.text", "metrics.total", "judges.correct"} <= set(
        names
    )
    assert set(odd_calls.ELSEWHERE).isdisjoint(names)
    assert len(names) > 130


@pytest.mark.integration
def test_every_verb_checks_the_kinds_of_its_options() -> None:
    """An option with a kind of its own refuses an object that is of none, by name."""
    unchecked = []
    for name, function in odd_calls.functions().items():
        source = inspect.getsource(function)
        options = [
            parameter
            for parameter in inspect.signature(function).parameters.values()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not isinstance(parameter.annotation, str)
        ]
        if any(option.annotation is not object for option in options) and "check_option_types(" not in source:
            unchecked.append(name)
    assert not unchecked, f"begin {', '.join(unchecked)} with check_option_types(<its name>, locals())"


# ── cases that once were raw errors ───────────────────────────────────────────────────────────────────────────────────


def rollouts(**columns: Any) -> pl.DataFrame:
    """Eight rollouts of two targets, one of them without a value, with some columns replaced."""
    frame = pl.DataFrame(
        {
            "rollout_id": list("abcdefgh"),
            "target": ["base", "guarded"] * 4,
            "goal": list("wwxxyyzz"),
            "attempt": [1] * 8,
            "train_step": [1, 1, 2, 2] * 2,
            "num_turns": [2] * 8,
            "attack_success": [True, False, None, False, True, False, True, False],
            "time_to_success": [{"duration": 2, "observed": row % 2 == 0} for row in range(8)],
        }
    )
    return frame.with_columns(**columns)


VERBS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "summarize": rw.summarize,
    "attempts": rw.attempts,
    "contrast": lambda frame: rw.contrast(frame, of="target", baseline="base"),
    "curve": rw.curve,
    "profile": rw.comparisons.profile,
    "forecast": lambda frame: rw.forecast(frame, k=5),
    "training": rw.training,
    "portfolio": lambda frame: rw.comparisons.portfolio(frame, members="target"),
    "gate": lambda frame: rw.gate(frame, "attack_success < 0.5"),
}


@pytest.mark.integration
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("attack", [1, 1.5, pl.date(2026, 1, 1), True, None], ids=str)
def test_an_attack_may_be_any_single_value(verb: str, attack: Any) -> None:
    named = VERBS[verb](rollouts(attack=pl.lit("1")))
    assert (
        VERBS[verb](rollouts(attack=attack if isinstance(attack, pl.Expr) else pl.lit(attack))).height == named.height
    )


@pytest.mark.thinned(4)
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("column", "value", "meaning"),
    [
        ("rollout_id", pl.concat_list("rollout_id"), "text"),
        ("attack", pl.concat_list("goal"), "text"),
        ("goal", pl.col("goal").cast(pl.Binary), "text"),
        ("goal", pl.duration(days=1), "text"),
        ("goal", pl.struct("goal"), "text"),
        ("num_turns", pl.col("goal").cast(pl.Categorical), "a whole number"),
        ("num_turns", pl.struct("goal"), "a whole number"),
        ("num_turns", pl.lit(2.5), "a whole number"),
        ("outcome", pl.duration(days=1), "text"),
        ("outcome", pl.struct("goal"), "text"),
        ("outcome", pl.col("goal").cast(pl.Binary), "text"),
        ("solved", pl.col("goal"), "True or False"),
    ],
    ids=str,
)
def test_a_column_that_cannot_be_what_it_is_called_is_one_sentence(
    verb: str, column: str, value: pl.Expr, meaning: str
) -> None:
    with pytest.raises(SchemaError, match=f"^{verb}: column `{column}` is .*, but should be {meaning};") as caught:
        VERBS[verb](rollouts(**{column: value}))
    assert "\n" not in str(caught.value)


def test_lists_are_no_cluster() -> None:
    with pytest.raises(ArgumentError, match="`goal` is a column of lists"):
        rw.summarize(rollouts(goal=pl.concat_list("goal")))


LABELS = pl.DataFrame({"rollout_id": list("abcdefgh"), "label": [True, False] * 4})
SUMMARY = pl.DataFrame({"target": ["a"], "metric": "worst", "statistic": "mean", "level": 0.95, "n": 20}).with_columns(
    estimate=1e308, low=-1.7e308, high=1.7e308
)
TURNS = pl.DataFrame({"rollout_id": ["a"], "turn": [1]}, schema_overrides={"turn": pl.Int32})
PAIRS = pl.Series([[1, 2]], dtype=pl.Array(pl.Int64, 2))
SWEEP = SUMMARY.with_columns(step=1, estimate=0.5, low=0.4, high=0.6)
CASES: dict[str, tuple[Callable[[], Any], str]] = {
    "levels": (
        lambda: rw.gate(rollouts(), "attack_success <= 0.5", level=[0.5, 0.95]),  # type: ignore[arg-type]
        "gate: level=[0.5, 0.95] is not a number",
    ),
    "level of no width": (
        lambda: rw.summarize(rollouts(), level=1e-300),
        "level=1e-300 is not a valid nominal coverage",
    ),
    "by the metric": (
        lambda: rw.judges.correct(rollouts(), LABELS, by="attack_success"),
        "correct: by=['attack_success'] names the metric, the truth or the id",
    ),
    "band": (lambda: rw.curve(rollouts(), band={}), "curve: band={} is not 'pointwise' or 'simultaneous'"),  # type: ignore[arg-type]
    "kind": (
        lambda: rw.curve(rollouts(), kind=[None]),  # type: ignore[arg-type]
        "curve: kind=[None] is unknown; it is 'success', 'survival', 'hazard' or 'incidence'",
    ),
    "by a struct": (
        lambda: rw.training(rollouts(), by="time_to_success"),
        "training: `time_to_success` is Struct({'duration': Int64, 'observed': Boolean}), which cannot group rows",
    ),
    "draws": (
        lambda: rw.rollout.sweep({"a": [1, 2]}, strategy="random", n=[1, 2]),  # type: ignore[arg-type]
        "sweep: n=[1, 2] is not a whole number or None",
    ),
    "summary without text": (
        lambda: rw.plots.forest(SUMMARY.with_columns(n=pl.lit("x"))),
        "forest: column `n` is String",
    ),
    "objects": (
        lambda: rw.summarize(rollouts().with_columns(pl.Series("mine", [object()] * 8, dtype=pl.Object))),
        "summarize: column mine holds Python objects",
    ),
    "a lazy frame with a wrong query": (
        lambda: rw.summarize(rollouts().lazy().select("nothing")),
        "summarize: this lazy frame cannot be collected",
    ),
    "a column as the cluster": (
        lambda: rw.judges.correct_curve(rollouts(), LABELS, cluster=pl.Series([1])),  # type: ignore[arg-type]
        "correct_curve: cluster=a Series is not text, a list of texts or None",
    ),
    "numbers as the cluster": (
        lambda: rw.summarize(rollouts(), cluster=(1, 2)),  # type: ignore[arg-type]
        "summarize: cluster=(1, 2) is not text, a list of texts or None",
    ),
    "ids that are arrays, before a judge is asked": (
        lambda: rw.judge(TURNS.with_columns(rollout_id=PAIRS, response=pl.lit("x")), lambda response: 1 / 0),
        "judge: column `rollout_id` is Array(Int64, shape=(2,)), but should be text",
    ),
    "attempts that are arrays": (
        lambda: rw.doctor(TURNS.with_columns(attempt=PAIRS)),
        "doctor: column `attempt` is Array(Int64, shape=(2,)), but should be a whole number",
    ),
    "a source that is a list": (
        lambda: rw.readers.unused_columns(TURNS.with_columns(source=pl.lit([]))),
        "unused_columns: column `source` is List(Null), but should be text",
    ),
    "metrics of different levels": (
        lambda: rw.plots.marks.sweep_pareto(
            pl.concat([SWEEP, SWEEP.with_columns(metric=pl.lit("b"), level=0.9)]), choice="step"
        ),
        "sweep_pareto: the two metrics have no statistic and level in common; choose with statistic= and level=",
    ),
    "ids of the turns that are decimals": (
        lambda: rw.judges.join_labels(TURNS.with_columns(rollout_id=pl.lit(1).cast(pl.Decimal(10, 2))), LABELS),
        "join_labels: column `rollout_id` is Decimal(precision=10, scale=2) in the turns and String in the labels; cast one",
    ),
    "a metric that is a list": (
        lambda: rw.comparisons.best(SUMMARY.with_columns(metric=pl.lit([])), metric="worst"),
        "best: column `metric` is List(Null), but should be text",
    ),
    "objects beside turns": (
        lambda: rw.readers.unused_columns(TURNS.with_columns(pl.Series("mine", [object()], dtype=pl.Object))),
        "unused_columns: column mine holds Python objects",
    ),
    "changes of tags": (
        lambda: rw.changes(rollouts(tag=pl.lit(["x"])), of="tag", group="x", baseline="y", metric="attack_success"),
        "changes: `tag` is a column of lists, so a rollout has several values",
    ),
    "verdicts without a value on a scale": (
        lambda: rw.judges.join_verdicts(
            TURNS, pl.DataFrame({"rollout_id": "a", "turn": 1, "judge": "harm"}), scale=(0, 3)
        ),
        "join_verdicts: the verdicts lack the column `value`",
    ),
    "metrics that are numbers": (
        lambda: rw.comparisons.best(SUMMARY.with_columns(metric=pl.lit(7), statistic=pl.lit(1)), metric="worst"),
        "best: there is no metric 'worst' in this frame; available: 7",
    ),
    "more replicates than memory": (
        lambda: rw.summarize(rollouts(), resamples=10**18),
        "is more than 1,000,000; more change no digit",
    ),
    "unread rollouts beyond all numbers": (
        lambda: rw.gate(rollouts(), "attack_success < 0.5", unread=10**18),
        "is not a number of rollouts; give a whole number from 0",
    ),
    "a NUL character in a name": (
        lambda: rw.convert(TURNS.with_columns(pl.lit(1).alias("a\0")), "converted"),
        "convert: the name of column 'a\\x00' holds a NUL character, which Arrow does not take; rename it",
    ),
    "a name of a cache that no disk takes": (
        lambda: rw.read("data", cache="a" * 300),
        "cannot be a folder (File name too long); name another",
    ),
    "more simulated rollouts than fit anywhere": (
        lambda: rw.simulate(tasks=10**18),
        "and at most 10,000,000,000 are made; take fewer goals, tasks or attempts",
    ),
    "a condition that is a number": (
        lambda: rw.comparisons.best(SUMMARY, metric="worst", where=pl.lit(1)),
        "best: where= cannot be evaluated: ",
    ),
    "a condition on a column that is not there": (
        lambda: rw.comparisons.best(SUMMARY, metric="worst", where=pl.col("count") > 1),
        "best: where= cannot be evaluated: ",
    ),
    "a chosen step that no axis reaches": (
        lambda: rw.plots.sweep(SWEEP, choice="step", chosen=1e308),
        "sweep: chosen=1e+308 is not a value of 'step'",
    ),
    "half a surrogate pair": (lambda: rw.summarize(rollouts(), by="\ud800"), "summarize: by='\\ud800' is not text"),
}


@pytest.mark.parametrize("case", CASES)
def test_once_raw_now_one_sentence(case: str) -> None:
    call, words = CASES[case]
    with pytest.raises(RollwiseError, match=re.escape(words)) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    "size",
    [10**30, 10**400, 10**5000, -(2**64), Fraction(10**400, 3)],
    ids=["1e30", "1e400", "1e5000", "-2e64", "fraction"],
)
def test_no_verb_takes_a_number_that_no_column_can_hold(size: Any) -> None:
    """Each option of every public function that takes a number, alone and in a list, is refused by one sentence."""
    raw = []
    for name, function in odd_calls.functions().items():
        parameters = inspect.signature(function).parameters.values()
        required = [
            parameter
            for parameter in parameters
            if parameter.default is parameter.empty and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        ]
        for option in parameters:
            if option.kind is option.KEYWORD_ONLY and {int, float} & set(
                get_args(option.annotation) or [option.annotation]
            ):
                others = {
                    other.name: "target"
                    for other in parameters
                    if other.kind is other.KEYWORD_ONLY and other.default is other.empty
                }
                for value in (size, [1, size]):
                    try:
                        function(*([rollouts()] * len(required)), **(others | {option.name: value}))
                    except RollwiseError as error:
                        raw += [f"{name}: {option.name}: {error}"] if "\n" in str(error) else []
                    except Exception as error:  # noqa: BLE001  # this is what is looked for
                        raw.append(f"{name}: {option.name}: {error!r:.200}")
    assert raw == []


def test_two_metrics_of_one_name_are_refused_without_their_expressions() -> None:
    with pytest.raises(MetricError) as caught:
        rw.measure(TURNS, m.attack_success(), m.attack_success())
    assert str(caught.value) == (
        "measure: two metrics are called 'attack_success'; leave one out, or name one of them: `.alias('attack_success_2')`"
    )


def test_ids_may_be_numbers_where_verdicts_are_joined() -> None:
    verdicts = pl.DataFrame({"rollout_id": ["7"], "turn": [1], "judge": "harm", "value": [0.5]})
    turns = TURNS.with_columns(rollout_id=pl.lit(7))
    assert rw.judges.join_verdicts(turns, verdicts)["score_harm"].to_list() == [0.5]


def test_rollouts_without_turns_are_counted_where_turns_are_the_weights() -> None:
    found = rw.summarize(rollouts(num_turns=pl.Series([2, 0] * 4)), metrics="attack_success", weighting="turn")
    counts = found.select("n", "n_error", "n_undetermined", "n_missing", "n_inapplicable").row(0)
    assert counts == (3, 0, 1, 0, 4)


def test_rows_named_twice_by_a_column_are_named_once() -> None:
    named = rw.plots.marks.forest(SUMMARY.with_columns(estimate=0.5), by=["target", "target"])
    assert named["group"].to_list() == ["a"]


def test_verdicts_may_lack_the_name_of_their_judge() -> None:
    verdicts = pl.DataFrame({"rollout_id": ["a"], "turn": [1], "judge": [None], "value": [0.5]})
    assert rw.judges.join_verdicts(TURNS, verdicts, into="harm")["harm"].to_list() == [0.5]
    with pytest.raises(ArgumentError, match=r"there is no verdict of 'a'; there are verdicts of \(none\)"):
        rw.judges.join_verdicts(TURNS, verdicts, judge="a")


def test_the_best_of_values_that_are_too_far_apart_to_be_subtracted() -> None:
    huge = pl.when(pl.col("rollout_id").is_in(["a", "d", "e", "h"])).then(1e308).otherwise(-1e308)
    frame = rollouts(worst=huge, target=pl.lit("base"))
    found = rw.attempts(frame, metric="worst", k=2)
    assert found["estimate"].to_list() == [None]
    assert found["reason"].to_list() == ["values beyond 1e+150 cannot be squared and added: divide them first"]


@pytest.mark.integration
def test_an_agreement_may_have_a_column_called_metric() -> None:
    row = {"comparison": "labels", "judge": "rule", "statistic": "kappa", "level": 0.95, "n": 90, "metric": 3}
    frame = pl.DataFrame(row | {"estimate": 0.4, "low": 0.2, "high": 0.6})
    assert "kappa" in rw.plots.agreement(frame).alt


@pytest.mark.integration
def test_a_forest_of_values_near_the_limit_of_floats_is_drawn() -> None:
    assert rw.plots.forest(SUMMARY.with_columns(estimate=0.5)).svg()
    with pytest.raises(ArgumentError):
        rw.plots.forest(SUMMARY.clear())


@pytest.mark.parametrize("paired", [True, False])
def test_huge_values_are_not_called_infinite(paired: bool) -> None:
    frame = rollouts(worst=pl.when(pl.col("attack_success")).then(1e308).otherwise(-1e308))
    found = rw.contrast(frame, of="target", baseline="base", metrics="worst", paired=paired)
    assert found["reason"].to_list() == ["values beyond 1e+150 cannot be squared and added: divide them first"]


def test_attempts_at_nothing_are_drawn() -> None:
    frame = rw.attempts(rollouts(), k=[1, 2])
    at = pl.Series([float("nan"), 0.0] * frame.height, dtype=pl.Float64).head(frame.height)
    assert rw.plots.attempts(frame.with_columns(at=at)).svg()


@pytest.mark.integration
def test_a_tree_may_have_any_number_of_rows() -> None:
    tree, _ = rw.simulate(goals=2, turns=3, branches=2, give_up=0, target_ends=0, error=0, seed=1)
    one: dict[str, Any] = {"rollout_id": tree["rollout_id"][0]}
    assert rw.plots.trace_text(tree, most=10**18, **one) == rw.plots.trace_text(tree, most=1000, **one)
    assert rw.plots.trace_tree(tree, most=10**18, **one).svg() == rw.plots.trace_tree(tree, most=1000, **one).svg()


def test_attempts_beyond_all_memory_are_only_more_than_there_are() -> None:
    """Of goals with unequal numbers of attempts, whose shares are followed attempt by attempt."""
    frame = rollouts(attack_success=pl.Series([True, False] * 4), target=pl.lit("base")).head(7)
    last = rw.attempts(frame, k=[1, 10**9], stopped=False).filter(pl.col("at") == 10**9)
    assert last["estimate"].to_list() == [None, None]
    assert last["reason"][0] == "no goal has 1,000,000,000 attempts; the most is 2"


@pytest.mark.integration
def test_a_column_without_any_value_is_diagnosed() -> None:
    row = rw.doctor(TURNS.with_columns(succeeded=None, score=0.5)).filter(analysis="score before and after success")
    assert row["reason"].to_list() == ["no turn is known to have succeeded, so turns cannot be aligned"]


@pytest.mark.integration
def test_steps_may_be_any_number() -> None:
    """As floats in the result, also where an integer has no float of its own."""
    frame = rollouts(train_step=pl.lit(2**64 - 1, pl.UInt64))
    assert rw.training(frame)["step"].to_list() == [2.0**64]


def test_a_rate_too_small_to_be_excluded_has_no_number_of_goals() -> None:
    row = rw.plan(rate=1e-300, icc=0.0, below=1e-150).filter(question="goals for none")
    assert (row["goals"].to_list(), row["reason"].to_list()) == ([None], ["more than ten million goals"])


def test_there_are_no_paths_in_no_turns() -> None:
    assert rw.rollout.paths(TURNS.clear()).is_empty()


def test_pareto_leaves_a_row_with_nan_out() -> None:
    frame = pl.DataFrame({"a": [1.0, float("nan")], "b": [1.0, 0.0]})
    assert rw.comparisons.pareto(frame, {"a": "lower", "b": "lower"})["pareto"].to_list() == [True, None]
