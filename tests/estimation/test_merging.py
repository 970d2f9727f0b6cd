"""States: the same numbers from rollouts that were counted and put together, however they were divided."""

import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rollwise as rw
from rollwise import metrics as m
from rollwise.errors import ArgumentError, SchemaError
from rollwise.estimation import merging as states
from rollwise.estimation.curve import curve_to_merge
from rollwise.estimation.merging import blocks, merged, state_of, to_merge

TURNS, _ = rw.simulate(goals=40, attempts=5, seed=4)
SOME = (m.attack_success, m.success_within(2), m.time_to_success, m.final("score"), m.num_turns)
ROLLOUTS = rw.measure(TURNS, *SOME).with_columns(
    pl.when(pl.int_range(pl.len()) % 11 != 0).then("goal").alias("goal"),
    pl.when(pl.int_range(pl.len()) % 7 != 0).then("target").alias("target"),
)
WAYS: list[dict[str, Any]] = [
    {},
    {"by": ["target", "attack"]},
    {"by": "target", "statistics": ["median", "q90", "min", "max"]},
    {"by": "target", "method": "bootstrap", "resamples": 200},
    {"by": "target", "method": "bootstrap", "resamples": 200, "cluster": "goal"},
    {"by": "attack", "weighting": "goal"},
    {"by": "attack", "weighting": "turn"},
    {"by": "target", "unjudged": "censor"},
    {"by": "target", "unjudged": "drop", "level": [0.5, 0.9]},
    {"by": ["attack", "category"], "margins": True},
    {"by": "target", "cluster": ("goal", "attack")},
    {"by": "target", "metrics": ["num_turns"]},
    {"by": "target", "metrics": ["time_to_success"]},
]
TEXT = ROLLOUTS.with_columns(pl.col("attack", "category", "target", "goal").fill_null("(none)"))


@pytest.mark.integration
@pytest.mark.parametrize("options", WAYS, ids=str)
def test_merged_rows_are_the_ordinary_ones(options: dict[str, Any]) -> None:
    """Counted and kept, every row, count, method and estimand is what `summarize` finds on the rollouts themselves."""
    there = TEXT if options.get("margins") else ROLLOUTS.with_columns(pl.col("goal").fill_null("none"))
    assert_frame_equal(rw.summarize(there, **options, merge=True), rw.summarize(there, **options), rel_tol=1e-9)


@pytest.mark.integration
def test_only_draws_over_nameless_units_differ() -> None:
    """Where rollouts of no goal are units by themselves, their draws differ, for their ids are forgotten; nothing else does."""
    # Whether the drawn upper end or that of log t is the higher one may depend on the draws.
    drawn_or_not = pl.col("method").str.replace("; upper end by log t", "", literal=True)
    found, ordinary = (
        rw.summarize(ROLLOUTS, by="target", merge=merge).with_columns(drawn_or_not) for merge in (True, False)
    )
    drawn = ordinary["resamples"].is_not_null()
    assert drawn.any()
    ends = ("low", "high", "std_error")
    assert_frame_equal(found.drop(ends), ordinary.drop(ends), rel_tol=1e-9)
    assert_frame_equal(found.filter(~drawn), ordinary.filter(~drawn), rel_tol=1e-9)
    assert_frame_equal(found.filter(drawn), ordinary.filter(drawn), rel_tol=0.05)


@pytest.mark.integration
@pytest.mark.parametrize("options", WAYS, ids=str)
def test_any_division_gives_the_same_bits(options: dict[str, Any]) -> None:
    """On one, seven and a hundred partitions in any order the rows are equal to the last bit."""
    there = (TEXT if options.get("margins") else ROLLOUTS).sort("rollout_id")
    whole = rw.summarize(there, **options, merge=True)
    wanted = {name: value for name, value in options.items() if name in {"by", "metrics", "cluster", "unjudged"}}
    counted, kept = to_merge(there.schema, **wanted)
    for parts in (1, 7, 100):
        edges = np.linspace(0, there.height, parts + 1).astype(int)
        made = [state_of(there[low:high], counted, kept) for low, high in itertools.pairwise(edges)]
        np.random.default_rng(parts).shuffle(made)
        assert rw.summarize(merged(made), **options).equals(whole)


CURVES: list[dict[str, Any]] = [
    {},
    {"by": "target"},
    {"by": ["target", "attack"], "kind": "survival"},
    {"by": "target", "kind": "hazard", "cluster": ("goal", "attack")},
    {"by": "target", "kind": "incidence", "level": [0.5, 0.9]},
    {"by": "target", "band": "simultaneous", "cluster": "goal"},
    {"by": "target", "axis": "tokens"},
]
SPENT = rw.measure(TURNS, m.time_to_success, m.spent_to_success("tokens")).with_columns(
    pl.col("goal").fill_null("none")
)


@pytest.mark.integration
@pytest.mark.parametrize("options", CURVES, ids=str)
def test_merged_curves_are_the_ordinary_ones_however_divided(options: dict[str, Any]) -> None:
    """Every position of every curve, from the whole and from eleven parts."""
    found = rw.curve(SPENT, **options, merge=True)
    assert_frame_equal(found, rw.curve(SPENT, **options), rel_tol=1e-9)
    assert rw.curve(SPENT.lazy(), **options, merge=True).equals(found)
    wanted = {name: value for name, value in options.items() if name in {"by", "axis", "cluster"}}
    ordered = SPENT.sort("rollout_id")
    edges = np.linspace(0, ordered.height, 12).astype(int)
    columns = curve_to_merge(ordered.schema, **wanted)
    made = [state_of(ordered[low:high], *columns) for low, high in itertools.pairwise(edges)]
    assert rw.curve(merged(made[::-1]), **options).equals(found)


@pytest.mark.integration
def test_lazy_rollouts_are_read_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lazy, in batches of a few rows, in order or not: the same bits as eager."""
    monkeypatch.setattr(states, "ROWS_AT_A_TIME", 8)
    eager = rw.summarize(ROLLOUTS, by="target", merge=True)
    assert rw.summarize(ROLLOUTS.lazy(), by="target", merge=True).equals(eager)
    shuffled = ROLLOUTS.sample(fraction=1, shuffle=True, seed=1)
    assert rw.summarize(shuffled.lazy(), by="target", merge=True).equals(eager)
    measured = rw.measure(TURNS.lazy(), *SOME)
    assert rw.summarize(measured, by="target", merge=True).equals(
        rw.summarize(rw.measure(TURNS, *SOME), by="target", merge=True)
    )


def test_groups_are_whole_in_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks hold about as many rows as they may, each group in one of them, all in order."""
    monkeypatch.setattr(states, "ROWS_AT_A_TIME", 50)
    state = state_of(ROLLOUTS, *to_merge(ROLLOUTS.schema, by=["target", "attack"]))
    found = [part for block in blocks(state, ["target", "attack"]) for part in block[:1]]
    groups = [part.select("target", "attack").unique().rows() for part in found]
    assert len(groups) > 1
    assert len(set(itertools.chain(*groups))) == sum(map(len, groups))
    assert sum(part.height for part in found) == ROLLOUTS.height


@pytest.mark.integration
@pytest.mark.parametrize("by", ["category", ["category", "target"], ["target", "nothing"]])
@pytest.mark.parametrize("known", [0, 30], ids=["all null", "null in the first batches"])
def test_groups_of_nulls(by: str | list[str], known: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A column to group by of text that is null throughout, or in a whole batch, is one group as ever."""
    monkeypatch.setattr(states, "ROWS_AT_A_TIME", 8)
    ordered = ROLLOUTS.sort("rollout_id")
    names = pl.when(pl.int_range(pl.len()) >= pl.len() - known).then(pl.lit("c"))
    frame = ordered.with_columns(category=names, nothing=None, worst=pl.int_range(pl.len()).cast(pl.Float64))
    assert frame["category"].dtype == pl.String
    for metrics in ("worst", "attack_success", ["worst", "attack_success"]):
        eager = rw.summarize(frame, by=by, metrics=metrics, method="t")  # draws over rollouts differ by design
        assert_frame_equal(rw.summarize(frame.lazy(), by=by, metrics=metrics, method="t", merge=True), eager)


@pytest.mark.parametrize("lazy", [False, True])
def test_a_rollout_that_stands_twice_is_refused(lazy: bool) -> None:
    """The same id twice is named, within a table and between parts."""
    twice = pl.concat([ROLLOUTS, ROLLOUTS[:1]])
    with pytest.raises(SchemaError, match="occurs twice"):
        rw.summarize(twice.lazy() if lazy else twice, merge=True)
    part = state_of(ROLLOUTS, ["attack_success"], [])
    with pytest.raises(SchemaError, match="their ids overlap"):
        merged([part, part])
    ordered = ROLLOUTS.sort("rollout_id")
    with pytest.raises(SchemaError, match="occurs twice"):
        merged([state_of(ordered[:5], ["attack_success"], []), state_of(ordered[4:], ["attack_success"], [])])


@pytest.mark.parametrize("lazy", [False, True])
def test_a_rollout_without_an_id_is_refused(lazy: bool) -> None:
    """Nulls come first in order, where they would pass for a part that is empty."""
    nobody = ROLLOUTS.with_columns(pl.when(pl.int_range(pl.len()) > 0).then("rollout_id").alias("rollout_id"))
    for verb in (rw.summarize, rw.curve):
        with pytest.raises(SchemaError, match="`rollout_id` is null"):
            verb(nobody.lazy() if lazy else nobody, merge=True)


def test_parts_whose_ids_are_mixed_are_refused() -> None:
    """Where one part reaches into another the sentence names the command that mends it."""
    ordered = ROLLOUTS.sort("rollout_id")
    parts = [state_of(ordered[part::2], ["attack_success"], []) for part in (0, 1)]
    with pytest.raises(SchemaError, match="rollwise convert"):
        merged(parts)


def test_an_empty_table_has_the_ordinary_rows() -> None:
    """No rollouts: the same rows of nothing, alone and beside parts that hold some."""
    none = ROLLOUTS.clear()
    assert rw.summarize(none, merge=True).equals(rw.summarize(none))
    assert rw.summarize(none.lazy(), by="target", merge=True).equals(rw.summarize(none, by="target"))
    wanted = to_merge(ROLLOUTS.schema)
    both = merged([state_of(none, *wanted), state_of(ROLLOUTS, *wanted)])
    assert rw.summarize(both).equals(rw.summarize(ROLLOUTS, merge=True))


def test_mistakes_are_found_before_anything_is_read() -> None:
    """A wrong option is refused although the rollouts could not be read at all."""

    def unreadable(frame: pl.DataFrame) -> pl.DataFrame:
        raise AssertionError("read")

    lazy = ROLLOUTS.lazy().map_batches(unreadable, schema=ROLLOUTS.schema)
    with pytest.raises(ArgumentError, match="weighting"):
        rw.summarize(lazy, weighting="planet", merge=True)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="no column"):
        rw.summarize(lazy, by="planet", merge=True)


@pytest.mark.integration
@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["x", "y", None]), st.sampled_from(["g", "h", None]), st.sampled_from([True, False, None])
        ),
        min_size=1,
        max_size=40,
    ),
    st.lists(st.integers(0, 40), max_size=5),
)
def test_every_division_of_every_table(rows: list[tuple[Any, ...]], cuts: list[int]) -> None:
    """Whatever stands in the columns and wherever it is cut, the rows are those of the whole."""
    table = pl.DataFrame(
        rows, {"target": pl.String, "goal": pl.String, "attack_success": pl.Boolean}, orient="row"
    ).with_row_index("rollout_id")
    edges = sorted({0, table.height, *(cut for cut in cuts if cut < table.height)})
    parts = [state_of(table[low:high], *to_merge(table.schema, by="target")) for low, high in itertools.pairwise(edges)]
    assert_frame_equal(rw.summarize(merged(parts), by="target"), rw.summarize(table, by="target"), rel_tol=1e-12)


@pytest.mark.integration
def test_numbers_make_groups() -> None:
    """Groups by whole numbers, which a state keeps in fewer bytes than it counts them in, are those of the ordinary way."""
    numbered = ROLLOUTS.with_columns(pl.col("attempt").cast(pl.Int32), pl.col("goal").fill_null("none"))
    found, ordinary = (rw.summarize(numbered, by=["attempt", "target"], merge=merge) for merge in (True, False))
    assert_frame_equal(found, ordinary, rel_tol=1e-9)
