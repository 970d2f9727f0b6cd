"""Every metric is what the catalog says."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable
from typing import Literal, get_args

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise import schema
from rollwise.errors import MetricError
from rollwise.metrics.metric import ABOUT, FORMS, Form, Set

PARAMETERS: dict[Callable[..., pl.Expr], tuple[object, ...]] = {
    m.success_within: (3,),
    m.distinct_n: (2,),
    m.spent_to_success: ("tokens",),
    m.total: ("reward",),
    m.average: ("reward",),
    m.highest: ("reward",),
    m.final: ("reward",),
    m.ever: (pl.col("score") > 0.5,),
    m.first_turn: (pl.col("score") > 0.5,),
    m.instruction_followed: ("punctuation:no_comma",),
    m.time_to: (pl.col("score") > 0.5,),
}
METRICS: tuple[Callable[..., pl.Expr], ...] = (*m.ALL, *m.ANSWERS, m.response_length, *PARAMETERS)
EVERY = [(function, function(*PARAMETERS.get(function, ()))) for function in METRICS]
OWN = {function: about for function, about in ABOUT.items() if function.__module__.startswith("rollwise.metrics.")}
VALUES = {"k": "3", "n": "2", "at": "0.25", "column": "score", "axis": "tokens", "unit": "words"}
IDS = [function.__name__ for function, _ in EVERY]


def table(**values: list[object]) -> pl.DataFrame:
    height = len(next(iter(values.values())))
    whole = {
        name: pl.Series(name, values.get(name, [None] * height), dtype) for name, dtype in schema.TURNS.dtypes.items()
    }
    return pl.DataFrame(whole)


@pytest.mark.parametrize(("function", "expression"), EVERY, ids=IDS)
def test_is_documented_and_found_by_its_output_name(function: Callable[..., pl.Expr], expression: pl.Expr) -> None:
    """Every metric has a docstring with an example and is found by its output name."""
    about = m.catalog.about(expression.meta.output_name())
    assert about is ABOUT[function]
    assert ">>>" in about.doc


@pytest.mark.parametrize(("function", "expression"), EVERY, ids=IDS)
def test_needs_only_columns_of_turns(function: Callable[..., pl.Expr], expression: pl.Expr) -> None:
    """A metric of the catalog reads no column that TURNS does not have."""
    assert set(expression.meta.root_names()) <= set(schema.TURNS.names)


@pytest.mark.integration
@pytest.mark.parametrize(("function", "expression"), EVERY, ids=IDS)
def test_unknown_stays_unknown(function: Callable[..., pl.Expr], expression: pl.Expr) -> None:
    """A rollout of which nothing is known but its turns has no metric other than their number."""
    value = table(rollout_id=["a", "a"], turn=[1, 2]).select(expression).item()
    assert value == (2 if function is m.num_turns else None)


@pytest.mark.integration
@pytest.mark.parametrize(("function", "expression"), EVERY, ids=IDS)
def test_reduces_to_one_value_in_every_engine(function: Callable[..., pl.Expr], expression: pl.Expr) -> None:
    """One value per rollout, the same in memory and streaming."""
    frame = table(
        rollout_id=["a", "a", "b"],
        turn=[1, 2, 1],
        score=[0.2, 0.9, None],
        succeeded=[False, True, None],
        reward=[1, 0, 2],
    )
    query = frame.lazy().group_by("rollout_id", maintain_order=True).agg(expression)
    assert query.collect().equals(query.collect(engine="streaming"))
    assert query.collect().height == 2


@pytest.mark.parametrize(
    "name",
    [
        "attack_success",
        "success_within_7",
        "total_reward",
        "num_turns",
        "final_prompt_tokens",
        "refusal_rate",
        "distinct_2",
    ],
)
def test_expression_by_name(name: str) -> None:
    """An output name gives the expression of that name."""
    assert m.catalog.expression(name).meta.output_name() == name


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("attack_sucess", "did you mean `attack_success`"),
        ("success_within_x", "did you mean `success_within_<k>`"),
        ("success_within_0", "did you mean `success_within_<k>`"),
        ("total_", "did you mean `total_<column>`"),
        ("asr", "did you mean `attack_success`"),
        ("ASR", "did you mean `attack_success`"),
        ("", "available: adversarial_toxicity_rate, attack_success,"),
    ],
)
def test_a_misspelt_metric_is_refused_with_what_was_meant(name: str, meant: str) -> None:
    """A name that no metric has is an error that says which was meant, else lists those there are."""
    with pytest.raises(MetricError, match=meant):
        m.catalog.expression(name)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("attack_sucess", "attack_success"), ("asr", "attack_success"), ("max", "highest"), ("asr_at_k", "rw.attempts")],
)
def test_a_wrong_name_is_corrected(name: str, meant: str) -> None:
    """As on top of the package, and for other words of the field."""
    with pytest.raises(AttributeError, match=f"'rollwise.metrics' has no attribute '{name}'; did you mean `{meant}`"):
        getattr(m, name)


def test_other_words_lead_to_metrics() -> None:
    """Each answer is a metric that its name determines, and no metric's own name leads elsewhere."""
    for word, name in m.catalog.SYNONYMS.items():
        assert m.catalog.expression(name).meta.output_name() == name
        assert not hasattr(m, word)


@pytest.mark.integration
@pytest.mark.parametrize("function", OWN, ids=lambda function: function.__name__)
def test_a_registered_metric_is_exported(function: Callable[..., pl.Expr]) -> None:
    """Editors and type checkers read the explicit imports of the package, so a metric without one fails here."""
    assert function.__name__ in m.__all__, (
        f"import {function.__name__} in src/rollwise/metrics/__init__.py and list it in __all__"
    )
    assert getattr(m, function.__name__) is function


@pytest.mark.integration
@pytest.mark.parametrize("form", [form for form in FORMS if form.function in OWN], ids=lambda form: form.text)
def test_a_registered_metric_is_found_by_each_form_of_its_name(form: Form) -> None:
    """Every form of a name leads to its description and, unless its end is open, to an expression of that name."""
    name = re.sub(r"<(\w+)>", lambda match: VALUES[match[1]], form.text.replace("...", "any_end"))
    assert m.catalog.about(name) is ABOUT[form.function]
    assert m.catalog.about(form.function.__name__) is ABOUT[form.function]
    if form.is_open:
        with pytest.raises(MetricError, match="no metric is called"):
            m.catalog.expression(name)
    else:
        assert str(m.catalog.expression(name)) == str(form.function(**form.arguments(name) or {}))


def test_a_name_that_may_be_a_column_is_told_its_metrics() -> None:
    """The names in the sentence are metrics; a near name, or one that cannot be a column, has the usual advice."""
    with pytest.raises(
        MetricError, match="of a column there are `highest_harm`, `average_harm` and `final_harm`; available"
    ):
        m.catalog.expression("harm")
    for name in ("highest_harm", "average_harm", "final_harm"):
        assert m.catalog.expression(name).meta.output_name() == name
    with pytest.raises(MetricError, match=r"no metric is called 'num_turn'; did you mean `num_turns`"):
        m.catalog.expression("num_turn")
    with pytest.raises(MetricError, match="no metric is called '%'; available"):
        m.catalog.expression("%")


def test_every_module_with_metrics_is_in_the_catalog() -> None:
    """A new family is imported by the catalog, which would not know its metrics otherwise."""
    families = {family.__name__ for family in m.catalog.FAMILIES}
    modules = [f"{m.__name__}.{module.name}" for module in pkgutil.iter_modules(m.__path__)]
    registering = {name for name in modules if "@metric(" in inspect.getsource(importlib.import_module(name))}
    assert registering - {"rollwise.metrics.metric"} == families
    assert {function.__module__ for function in OWN} == families


def test_sets_are_what_the_decorator_says() -> None:
    """Each set is exported and holds the metrics that name it, in order of definition."""
    for name in get_args(Set):
        members = [function for function, about in OWN.items() if name in about.sets]
        assert members
        assert [function for function in getattr(m, name) if function in members] == members


@pytest.mark.usefixtures("own_metrics")
def test_a_metric_of_your_own_needs_the_decorator_alone() -> None:
    """It is described and found by its name, with parameters as their annotations say."""

    @m.metric(better="lower", names=("late_<side>_after_<k>",))
    def late(side: Literal["prompt", "response"], k: int) -> pl.Expr:
        """Whether a text comes late."""
        return (pl.col(side).count() > k).alias(f"late_{side}_after_{k}")

    assert m.catalog.about("late_prompt_after_2") is ABOUT[late]
    assert m.catalog.expression("late_prompt_after_2").meta.output_name() == "late_prompt_after_2"
    with pytest.raises(MetricError, match="did you mean `late_response_after_<k>`"):
        m.catalog.expression("late_response_after_0")


@pytest.mark.usefixtures("own_metrics")
@pytest.mark.parametrize("name", get_args(Set))
def test_a_metric_of_your_own_joins_its_sets(name: Set) -> None:
    """It is in the set from now on, last and once, even if the cell of the notebook that defines it runs again."""
    before = getattr(m, name)
    for _ in range(2):

        @m.metric(sets=(name,))
        def joined() -> pl.Expr:
            return pl.len()

    assert getattr(m, name) == (*before, joined)
    assert (joined in m.ALL) is (name in {"OUTCOME", "TIMING", "EFFORT", "CONDUCT"})
    assert m.catalog.about("joined") is ABOUT[joined]
    if name == "CONDUCT":
        turns = pl.DataFrame({"rollout_id": ["a", "a"], "turn": [1, 2]})
        assert rw.measure(turns, m.CONDUCT)["joined"].to_list() == [2]
    if name == "OUTCOME":  # a set that `measure` takes by default
        assert rw.measure(pl.DataFrame({"rollout_id": ["a"], "turn": [1]}))["joined"].to_list() == [1]


def test_a_set_that_there_is_not_is_refused() -> None:
    """A typo in the name of a set would leave the metric out of all."""
    with pytest.raises(
        MetricError,
        match="metric lost: there is no set COSTS; sets are ANSWERS, AST, CONDUCT, EFFORT, EVENTS, OUTCOME, ",
    ):

        @m.metric(sets=("COSTS",))  # type: ignore[arg-type]  # what is tested
        def lost() -> pl.Expr:
            return pl.len()


@pytest.mark.usefixtures("own_metrics")
def test_a_metric_is_named_after_its_function() -> None:
    """Unless it names itself; the name of a column that it reads is not a name."""

    @m.metric(better="lower")
    def worst_of_all(score: str = "score") -> pl.Expr:
        return pl.col(score).max()

    @m.metric()
    def how_many() -> pl.Expr:
        return pl.len()

    @m.metric()
    def named() -> pl.Expr:
        return pl.col("score").max().alias("score")

    turns = pl.DataFrame({"rollout_id": ["a", "a", "b"], "turn": [1, 2, 1], "score": [0.5, 0.75, None]})
    rollouts = rw.measure(turns, worst_of_all, how_many(), named)
    assert rollouts.select("worst_of_all", "how_many", "score").rows() == [(0.75, 2, 0.75), (None, 1, None)]
    assert m.catalog.about("worst_of_all") is ABOUT[worst_of_all]
    assert rw.measure(turns, m.catalog.expression("worst_of_all")).columns[-1] == "worst_of_all"
    assert inspect.signature(worst_of_all).parameters["score"].default == "score"
