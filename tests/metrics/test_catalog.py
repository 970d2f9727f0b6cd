"""Every metric is what the catalog says."""

from collections.abc import Callable

import polars as pl
import pytest

from turnwise import metrics as m
from turnwise import schema
from turnwise.errors import MetricError
from turnwise.metrics.metric import ABOUT

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
EVERY = [
    (function, function(*PARAMETERS.get(function, ()))) for function in (*m.ALL, *m.ANSWERS, *m.catalog.WITH_PARAMETERS)
]
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


@pytest.mark.parametrize(("function", "expression"), EVERY, ids=IDS)
def test_unknown_stays_unknown(function: Callable[..., pl.Expr], expression: pl.Expr) -> None:
    """A rollout of which nothing is known but its turns has no metric other than their number."""
    value = table(rollout_id=["a", "a"], turn=[1, 2]).select(expression).item()
    assert value == (2 if function is m.num_turns else None)


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
        ("", "there is adversarial_toxicity_rate, attack_success,"),
    ],
)
def test_a_misspelt_metric_is_refused_with_what_was_meant(name: str, meant: str) -> None:
    """A name that no metric has is an error that says which was meant, else lists those there are."""
    with pytest.raises(MetricError, match=meant):
        m.catalog.expression(name)
