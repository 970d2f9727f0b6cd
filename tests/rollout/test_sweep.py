"""Sweeps: which configurations there are, in which order, under which ids, and what a mistake is told."""

import itertools
import re

import numpy as np
import polars as pl
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import rollwise as rw
from rollwise.errors import ArgumentError
from rollwise.readers.formats.aisteer import config_id


def rows(*spaces, **options) -> list[tuple]:
    """The configurations without their ids."""
    return rw.rollout.sweep(*spaces, **options).drop("configuration").rows()


@pytest.mark.integration
@given(
    st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True), min_size=1, max_size=4),
    st.integers(0, 9),
)
def test_a_grid_is_the_product_and_a_draw_a_part_of_it(values: list[list[int]], seed: int) -> None:
    """In the order of `itertools.product`; all of them drawn are all of them, and a draw of fewer has none twice."""
    space = {f"p{place}": each for place, each in enumerate(values)}
    product = list(itertools.product(*values))
    assert rows(space) == product
    assert rows(*({name: each} for name, each in space.items())) == product
    drawn = rows(space, strategy="random", n=len(product), seed=seed)
    assert sorted(drawn) == sorted(product)
    some = rows(space, strategy="random", n=1 + len(product) // 2, seed=seed)
    assert len({*some}) == len(some)
    assert {*some} <= {*product}
    assert rw.rollout.sweep(space)["configuration"].n_unique() == len(product)


def test_lists_functions_and_names_within_names_are_combined() -> None:
    """Those of a list change together, a function sees what stands before it and may leave a branch out."""
    models: list[dict] = [{"llm": {"name": "klein"}}, {"llm": {"name": "größer ½ 越狱", "top_p": 0.9}}]
    asked = rw.rollout.sweep(
        models,
        {"depth": [1, 2]},
        {"width": lambda so_far: [4] if so_far["llm.name"] == "klein" else [so_far["depth"], 8]},
        lambda so_far: [{"seed": 7}] if so_far["width"] != 2 else [],
    )
    assert asked.columns == ["configuration", "llm.name", "depth", "width", "seed", "llm.top_p"]
    assert asked.select("llm.name", "llm.top_p", "depth", "width").rows() == [
        ("klein", None, 1, 4),
        ("klein", None, 2, 4),
        ("größer ½ 越狱", 0.9, 1, 1),
        ("größer ½ 越狱", 0.9, 1, 8),
        ("größer ½ 越狱", 0.9, 2, 8),
    ]
    assert rows({"llm": {"temperature": [0, 1], "top_p": 0.5}}) == [(0, 0.5), (1, 0.5)]
    assert rows(lambda _: {"a": [1, 2], "b": lambda so_far: so_far["a"] + 1}) == [(1, 2), (2, 3)]
    assert rows({"a": 1, "llm": lambda so_far: {"top": [so_far["a"], 2], "seed": {"of": [7]}}}) == [
        (1, 1, 7),
        (1, 2, 7),
    ]


def test_values_keep_their_kind() -> None:
    """Lists are values within lists, whole numbers among others are numbers, arrays are lists; None is left as it is."""
    asked = rw.rollout.sweep({"weights": [[0.2, 0.8], [0, 1]], "rate": np.array([1, 0.5]), "mode": ["on", None]})
    assert asked.schema["weights"] == pl.List(pl.Float64)
    assert asked.schema["rate"] == pl.Float64
    assert asked.drop("configuration").row(1) == ([0.2, 0.8], 1.0, None)
    assert rows({"a": pl.Series([True, False]), "b": range(2)}) == [(True, 0), (True, 1), (False, 0), (False, 1)]
    assert rows({"a": [1, 1.0, 1, 2]}) == [(1,), (2,)]
    assert rows({"a": 1, "b": "text"}) == [(1, "text")]


@pytest.mark.parametrize("spaces", [(), ({},), ([{}],), ({"a": [None]},)], ids=["nothing", "mapping", "list", "None"])
def test_nothing_to_choose_is_one_configuration(spaces: tuple) -> None:
    """The baseline, by the id that AISteer360 gives it."""
    assert rw.rollout.sweep(*spaces).rows() == [("99914b93",)]


def test_an_id_is_that_of_the_producer_whatever_else_is_swept() -> None:
    """Eight digits of the MD5 of the parameters as AISteer360 nests them; neither order nor other configurations change it."""
    params = {"CAA": {"multiplier": 1.5, "layer": 9}}
    (one,) = rw.rollout.sweep([params])["configuration"]
    assert one == config_id(params)
    many = rw.rollout.sweep({"CAA": {"layer": [8, 9], "multiplier": [1, 1.5]}})
    assert many.filter(pl.col("CAA.layer") == 9, pl.col("CAA.multiplier") == 1.5)["configuration"].item() == one


@pytest.mark.integration
def test_ids_that_would_be_the_same_are_longer() -> None:
    """Of 100,000 configurations one pair or so shares eight digits (birthdays in 2^32): the ids still tell all apart."""
    ids = rw.rollout.sweep({"a": range(100_000)})["configuration"]
    assert ids.n_unique() == 100_000
    assert ids.str.len_chars().unique().item() == 16


@pytest.mark.integration
def test_draws_are_those_of_their_seed() -> None:
    """The same seed draws the same, of grids, of grids too large to be held, and of distributions; another seed other ones."""
    spaces: list[dict] = [
        {"a": range(40), "b": list("xyz")},
        {f"p{place}": range(10) for place in range(9)},
        {"rate": scipy.stats.loguniform(1e-5, 1e-2), "width": lambda _: scipy.stats.randint(1, 5)},
    ]
    for space in spaces:
        first, again, other = (rw.rollout.sweep(space, strategy="random", n=20, seed=seed) for seed in (1, 1, 2))
        assert first.equals(again)
        assert not first.equals(other)
        assert first["configuration"].n_unique() == 20
    assert first["rate"].is_between(1e-5, 1e-2).all()


@pytest.mark.integration
def test_every_configuration_is_as_likely() -> None:
    """One of 6, drawn 1200 times: chi-squared with 5 degrees of freedom, far from its 99.99 % quantile."""
    space = {"a": [1, 2, 3], "b": [0, 1]}
    counts = pl.DataFrame([rows(space, strategy="random", n=1, seed=seed)[0] for seed in range(1200)], orient="row")
    observed = counts.group_by(pl.all()).len()["len"].to_numpy()
    assert len(observed) == 6
    assert ((observed - 200) ** 2 / 200).sum() < scipy.stats.chi2(5).ppf(0.9999)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("spaces", "options", "told"),
    [
        (({"a": []},), {}, "`a` has no values; give at least one, or leave it out"),
        (([],), {}, "an empty list has no configurations"),
        ((lambda _: [],), {}, "the functions leave no configuration"),
        (("abc",), {}, "'abc' is not a space; give a mapping of names to lists, or a list of dicts"),
        (([1],), {}, "[1] is not a space"),
        ((pl.DataFrame({"rollout_id": ["a"]}),), {}, "sweep: a DataFrame is not a space; give a mapping"),
        (({"a": {1, 2}},), {}, "`a` is a set, whose order may change; give a list"),
        (({"a": (x for x in "ab")},), {}, "`a` is a generator, whose order may change; give a list"),
        (({"a": [1, "auto"]},), {}, "`a` has values of several kinds, such as 1; give one kind"),
        (({"a": [1, True]},), {}, "`a` has values of several kinds"),
        (({"a": [object]},), {}, "`a` has a value <class 'object'>; values are texts, finite numbers"),
        (({"a": ["\ud83d"]},), {}, "`a` has a value '\\ud83d'"),
        (({"a": [10**400, 0.5]},), {}, "`a` has values of several kinds"),
        (({"a": [2**53 + 1, 0.5]},), {}, "`a` has values of several kinds, such as 9007199254740993"),
        (({"a": range(2**64)},), {}, "`a` has more values than can be counted; give fewer"),
        (({"\ud83d": [1]},), {}, "'\\ud83d' is not the name of a parameter"),
        (({"a": [1]},), {"strategy": ["grid"]}, "strategy=['grid'] is unknown; it is 'grid' or 'random'"),
        (({"a": [float("nan")]},), {}, "`a` has a value nan"),
        (({1: [1]},), {}, "1 is not the name of a parameter"),
        (({"configuration": [1]},), {}, "'configuration' is not the name of a parameter; give a text other than"),
        (({"a": [1]}, {"a": [2]}), {}, "`a` is chosen twice"),
        (({"a": [1], "a.b": [2]},), {}, "`a.b` is inside `a`, which has a value itself"),
        (({"a.b": [1], "a": [2]},), {}, "`a` has a value, and parameters within"),
        (({"a": scipy.stats.norm()},), {}, "`a` is a distribution, which a grid cannot list"),
        (({f"p{place}": range(10) for place in range(6)},), {}, "the grid has more than 100,000 configurations"),
        (({"a": [1]},), {"strategy": "bayes"}, "strategy='bayes' is unknown; it is"),
        (({"a": [1]},), {"strategy": "random"}, "strategy='random' needs n"),
        (({"a": [1]},), {"n": 3}, "n=3 is for strategy='random'"),
        (({"a": [1]},), {"strategy": "random", "n": 2.5}, "n=2.5 is not a whole number or None"),
        (({"a": [1]},), {"strategy": "random", "n": 1, "seed": "x"}, "seed='x' is not a whole number"),
        (({"a": [1]},), {"strategy": "random", "n": 2}, "n=2 of 1 configuration; ask for no more"),
        (({"a": scipy.stats.randint(0, 3)},), {"strategy": "random", "n": 9}, "gave no more than 3; ask for fewer"),
    ],
)  # fmt: skip
def test_mistakes_are_told_in_a_sentence(spaces: tuple, options: dict, told: str) -> None:
    """Which parameter, what is wrong with it, and what to do."""
    with pytest.raises(ArgumentError, match=re.escape(told)):
        rw.rollout.sweep(*spaces, **options)
