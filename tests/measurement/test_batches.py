"""TURNS in batches: rollouts stay whole, whatever the size, the order and the options of the query."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.io.plugins import register_io_source
from polars.testing import assert_frame_equal

import rollwise as rw
from rollwise import metrics as m
from rollwise.errors import ReadError, SchemaError
from rollwise.measurement import batches
from rollwise.measurement.batches import in_order, whole_rollouts

TURNS, _ = rw.simulate(goals=20, attempts=3, seed=2)
ORDERED = TURNS.sort("rollout_id", "turn")
SOME = (m.attack_success, m.time_to_success, m.success_within(2), m.final("score"))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of a few rows."""
    monkeypatch.setattr(batches, "MOST_ROWS", 20)
    monkeypatch.setattr(batches, "_CHUNK", 7)


@pytest.mark.integration
@pytest.mark.usefixtures("small")
def test_batches_measure_as_a_whole() -> None:
    """The same rollouts, in the same order, from batches as from the whole."""
    whole = rw.measure(ORDERED, *SOME)
    got = rw.measure(ORDERED.lazy(), *SOME).collect(engine="streaming")
    assert_frame_equal(got, whole.select(got.columns))


@pytest.mark.integration
@pytest.mark.usefixtures("small")
def test_turns_out_of_order_are_measured_at_once() -> None:
    """A rollout whose turns stand apart is not cut in two."""
    shuffled = ORDERED.sample(fraction=1, shuffle=True, seed=1)
    assert not in_order(shuffled.lazy())
    got = rw.measure(shuffled.lazy(), *SOME).collect().sort("rollout_id")
    assert_frame_equal(got, rw.measure(ORDERED, *SOME).select(got.columns))


@pytest.mark.integration
@pytest.mark.usefixtures("small")
def test_queries_on_top_reach_the_batches() -> None:
    """Columns, filters and heads of a measured table are those of the whole."""
    whole, lazy = rw.measure(ORDERED, *SOME), rw.measure(ORDERED.lazy(), *SOME)
    assert lazy.select("attack_success").collect().equals(whole.select("attack_success"))
    some = pl.col("num_turns") > 3
    assert lazy.filter(some).select("rollout_id").collect().equals(whole.filter(some).select("rollout_id"))
    assert lazy.head(30).select("rollout_id").collect().equals(whole.head(30).select("rollout_id"))
    assert lazy.tail(3).select("rollout_id").collect().equals(whole.tail(3).select("rollout_id"))
    assert lazy.select(pl.len()).collect().item() == whole.height
    ordinary = whole.group_by("target").agg(pl.col("attack_success").mean()).sort("target")
    assert lazy.group_by("target").agg(pl.col("attack_success").mean()).sort("target").collect().equals(ordinary)


def test_only_the_columns_that_a_metric_reads_are_read() -> None:
    """What is scanned is what the metrics ask for, the facts and the key of a row, never the texts."""
    read: list[str] = []

    def noted(frame: pl.DataFrame) -> pl.DataFrame:
        read.extend(frame.columns)
        return frame

    def source(columns: list[str] | None, *_: object) -> Iterator[pl.DataFrame]:
        yield noted(ORDERED.select(columns or ORDERED.columns))

    scanned = register_io_source(source, schema=ORDERED.schema)
    measured = rw.measure(scanned, m.attack_success, m.final("score"), keep=["prompt_tokens"])
    measured.select("rollout_id", "attack_success").collect()
    assert set(read) == {"rollout_id", "turn", *m.attack_success().meta.root_names()}


@pytest.mark.integration
def test_a_function_that_fails_without_turns_is_not_asked_without() -> None:
    """A user's function over a rollout's scores need not know of empty columns."""

    def place(scores: pl.Series) -> float:
        return float(scores.fill_null(0).to_numpy().argmax())  # raises where there are none

    worst = pl.col("score").map_batches(place, return_dtype=pl.Float64, returns_scalar=True)
    lazy = rw.measure(ORDERED.lazy(), worst_at=worst).collect()
    assert lazy["worst_at"].equals(rw.measure(ORDERED, worst_at=worst)["worst_at"])
    assert lazy["worst_at"].max() > 0  # type: ignore[operator]


@pytest.mark.integration
def test_files_that_break_after_the_scan_are_told(tmp_path: Path) -> None:
    """A damaged page, a file replaced, a file gone, in order or not: one of our own sentences, and no rollouts."""
    middle = len(ORDERED) // 2
    for name, rows in (("a", ORDERED), ("b", ORDERED.reverse())):
        for change in ("damaged", "replaced", "gone"):
            folder = tmp_path / name / change
            folder.mkdir(parents=True)
            rows[:middle].write_parquet(folder / "0.parquet")
            rows[middle:].write_parquet(folder / "1.parquet")
            measured = rw.measure(pl.scan_parquet(folder / "*.parquet"), *SOME)
            file = folder / "1.parquet"
            if change == "damaged":
                where = pq.ParquetFile(file).metadata.row_group(0).column(ORDERED.columns.index("score"))
                data = bytearray(file.read_bytes())
                data[where.data_page_offset : where.data_page_offset + 40] = b"\xff" * 40
                file.write_bytes(data)
            elif change == "replaced":
                rows[middle:].with_columns(score=pl.lit("high")).write_parquet(file)
            else:
                file.unlink()
            for verb in (pl.LazyFrame.collect, rw.summarize):
                with pytest.raises(ReadError, match=r"turns cannot be read \(.*\); where they are files, `rw.read"):
                    verb(measured)


@pytest.mark.integration
def test_no_turns_no_rollouts() -> None:
    """An empty table has the columns of a full one."""
    got = rw.measure(TURNS.clear().lazy(), *SOME)
    assert got.collect().equals(rw.measure(TURNS.lazy(), *SOME).collect().clear())


def test_ids_without_order() -> None:
    """A null id, equal ids, falling ids."""
    assert in_order(pl.LazyFrame({"rollout_id": ["a", "a"]}))
    assert in_order(pl.LazyFrame({"rollout_id": []}, schema={"rollout_id": pl.String}))
    assert not in_order(pl.LazyFrame({"rollout_id": ["a", None]}))
    assert not in_order(pl.LazyFrame({"rollout_id": ["b", "a"]}))


@pytest.mark.integration
@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 9), max_size=40), st.integers(1, 12), st.integers(1, 5))
def test_batches_are_the_rows_cut_between_rollouts(lengths: list[int], most: int, chunk: int) -> None:
    """All rows, once, in order; no id stands in two batches; a rollout longer than a batch stays whole."""
    ids = [number for number, length in enumerate(lengths) for _ in range(length)]
    rows = pl.DataFrame({"rollout_id": ids}, schema={"rollout_id": pl.Int64}).with_row_index("row")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "MOST_ROWS", most)
        patch.setattr(batches, "_CHUNK", chunk)
        found = list(whole_rollouts(rows.lazy()))
    assert pl.concat(found).equals(rows)
    seen = [set(batch["rollout_id"]) for batch in found]
    assert sum(map(len, seen)) == len(set(ids))


def test_a_turn_twice_is_refused_in_any_order() -> None:
    """Also where the rows of a rollout stand apart, and the table is measured at once."""
    apart = pl.LazyFrame({"rollout_id": ["b", "a", "b"], "turn": [1, 1, 2], "succeeded": [False, True, None]})
    assert rw.measure(apart, m.num_turns()).collect().select("rollout_id", "num_turns").rows() == [("b", 2), ("a", 1)]
    with pytest.raises(SchemaError, match=r"measure: rollout 'b' has turn 1 twice"):
        rw.measure(apart.with_columns(turn=1), m.num_turns()).collect()
