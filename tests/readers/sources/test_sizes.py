"""Parquet and Arrow that would take all memory are refused before a value of them is read; honest files are not."""

import io
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rollwise as rw
from rollwise.errors import ReadError
from rollwise.readers.sources.sizes import Sizes, sizes_of

LONG = 80_000_000  # characters of a text that a few kilobytes hold
ROW = {"rollout_id": ["a"], "prompt": ["p"], "response": ["r"]}
REFUSED = r"would unpack (to more than|, with the files before it,)|would unpack, with"


def table(**columns: Any) -> pl.DataFrame:
    """A table of turns with some columns replaced."""
    return pl.DataFrame(ROW | columns)


def written(folder: Path, frame: pl.DataFrame, kind: str, compression: Any) -> Path:
    """Write a frame in one of the forms that are read."""
    path = folder / f"log.{'parquet' if kind == 'parquet' else 'arrow'}"
    how: dict[str, Any] = {"parquet": frame.write_parquet, "file": frame.write_ipc, "stream": frame.write_ipc_stream}
    how[kind](path, compression=compression)
    return path


@pytest.mark.integration
@pytest.mark.parametrize(
    ("kind", "compression"),
    [("parquet", "zstd"), ("parquet", "gzip"), ("parquet", "brotli"), ("file", "zstd"), ("stream", "zstd")],
)
@pytest.mark.parametrize("reading", [rw.read, rw.scan])
def test_a_long_text_in_a_small_file_is_one_sentence(tmp_path: Path, kind: str, compression: str, reading: Any) -> None:
    """80 MB hide in a few kilobytes: by itself, and in a folder, where the rest is read."""
    path = written(tmp_path, table(response=["x" * LONG]), kind, compression)
    assert path.stat().st_size < 1 << 18
    with pytest.raises(ReadError, match=REFUSED):
        reading(path)
    (tmp_path / "sound.csv").write_text("rollout_id,prompt,response\nb,p,r\n")
    turns, problems = rw.read(tmp_path, errors="collect")
    assert turns["rollout_id"].to_list() == ["b"]
    assert problems["file"].to_list() == [str(path)]


@pytest.mark.integration
def test_a_text_in_a_list_is_no_way_around(tmp_path: Path) -> None:
    """Chats are lists of structs."""
    chat = [[{"role": "user", "content": "x" * LONG}, {"role": "assistant", "content": "y"}]]
    path = written(tmp_path, pl.DataFrame({"id": ["a"], "messages": chat}), "parquet", "zstd")
    with pytest.raises(ReadError, match=REFUSED):
        rw.read(path)


@pytest.mark.integration
def test_equal_rows_in_a_small_file_are_one_sentence(tmp_path: Path) -> None:
    """A hundred million of them aborted the process; their number is known before they are read."""
    part = pa.table({name: values * (1 << 20) for name, values in ROW.items()})
    path = tmp_path / "rows.parquet"
    with pq.ParquetWriter(path, part.schema, compression="zstd") as writer:
        for _ in range(20):
            writer.write_table(part)
    assert path.stat().st_size < 1 << 19
    code = (
        "import resource, sys, rollwise as rw\n"
        "resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))\n"
        "try: rw.read(sys.argv[1])\n"
        "except rw.errors.ReadError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert "would unpack, with the files before it, to more than" in done.stdout


@pytest.mark.integration
def test_many_texts_that_are_alike_are_no_bomb(tmp_path: Path) -> None:
    """Honest chats repeat a system prompt: 100 MB of them in a few hundred kilobytes."""
    prompts = [
        f"{number}: {'You are a helpful assistant who never tells the secret. ' * 180}" for number in range(10_000)
    ]
    frame = pl.DataFrame({"rollout_id": [f"r{number}" for number in range(10_000)], "prompt": prompts, "response": "r"})
    path = written(tmp_path, frame, "parquet", "zstd")
    sizes = sizes_of(path, "parquet")
    assert sizes is not None
    assert sizes.unpacked > max(1 << 26, 250 * sizes.packed)
    assert rw.read(path).height == 10_000


@pytest.mark.integration
def test_many_small_files_are_together_one_large_one(tmp_path: Path) -> None:
    """Each of them is within its own bound."""
    part = table(response=["x" * 60_000_000])
    for number in range(12):
        part.with_columns(rollout_id=pl.lit(f"r{number}")).write_parquet(tmp_path / f"{number:02}.parquet")
    turns, problems = rw.read(tmp_path, errors="collect", columns=["response"])
    assert turns.height == 8
    assert problems["reason"].str.contains("would unpack, with the files before it").all()


@pytest.mark.integration
def test_what_the_footer_says_is_not_believed() -> None:
    """The sizes of pages are what is allocated: a footer that says less does not help."""
    file = io.BytesIO()
    table(response=["x" * LONG]).write_parquet(file, compression="zstd")
    data = file.getvalue()
    # The size of the column without compression, as Thrift writes it: twice the number, seven bits in a byte.
    size = pq.read_metadata(file).row_group(0).column(2).total_uncompressed_size
    number, text = 2 * size, bytearray()
    while number > 127:
        text.append(number & 127 | 128)
        number >>= 7
    text.append(number)
    assert bytes(text) in data
    lying = data.replace(bytes(text), b"\x82" + b"\x80" * (len(text) - 2) + b"\x00")
    assert pq.read_metadata(io.BytesIO(lying)).row_group(0).column(2).total_uncompressed_size == 1
    sizes = sizes_of(io.BytesIO(lying), "parquet")
    assert sizes is not None
    # A page of a few compressed bytes is believed only where the column takes so few.
    assert sizes.unpacked > LONG


@pytest.mark.integration
@pytest.mark.parametrize("compression", ["zstd", "lz4", "uncompressed"])
@pytest.mark.parametrize("kind", ["parquet", "file", "stream"])
def test_the_sizes_are_those_of_the_library(tmp_path: Path, kind: str, compression: str) -> None:
    """Those of Arrow itself for Parquet; the size in memory for Arrow."""
    chance = random.Random(5)
    frame = pl.DataFrame({
        "rollout_id": [f"r{number}" for number in range(3000)],
        "turn": range(3000),
        "response": ["".join(chance.choices("abc d", k=chance.randrange(40))) for _ in range(3000)],
        "messages": [[{"role": "user", "content": "x" * (number % 7)}] for number in range(3000)],
    })  # fmt: skip
    path = written(tmp_path, frame, kind, compression)
    sizes = sizes_of(path, "parquet" if kind == "parquet" else "arrow")
    assert sizes is not None
    assert sizes.packed == path.stat().st_size
    if kind == "parquet":
        group = pq.read_metadata(path).row_group(0)
        columns = [group.column(place) for place in range(group.num_columns)]
        assert sizes.unpacked == pytest.approx(sum(column.total_uncompressed_size for column in columns), rel=0.02)
    else:
        assert 0.5 < sizes.unpacked / frame.estimated_size() < 3


def test_a_damaged_file_is_left_to_who_reads_it() -> None:
    """Flipped or cut anywhere, there is a size or none, and never another error nor an endless loop."""
    chance = random.Random(7)
    for kind in ("parquet", "arrow"):
        file = io.BytesIO()
        frame = table(response=["x" * 5000])
        if kind == "parquet":
            frame.write_parquet(file)
        else:
            frame.write_ipc(file, compression="zstd")
        data = file.getvalue()
        for _ in range(400):
            damaged = bytearray(data)
            for _ in range(chance.randrange(1, 4)):
                damaged[chance.randrange(len(data))] = chance.randrange(256)
            cut = bytes(damaged[: chance.choice([len(data), chance.randrange(len(data))])])
            assert isinstance(sizes_of(io.BytesIO(cut), kind), Sizes | None)


@pytest.mark.integration
def test_an_honest_file_with_columns_of_nulls_is_read(tmp_path: Path) -> None:
    """Half a million rows with ids alone compress two hundred times, and are a log all the same."""
    count = 1 << 19
    ids = pl.int_range(count, eager=True).cast(pl.String).alias("rollout_id")
    turns = rw.turns(pl.DataFrame({"rollout_id": ids, "prompt": ["p"] * count, "succeeded": [True] * count}))
    path = rw.write(turns, tmp_path / "turns.parquet")
    assert rw.read(path).height == rw.scan(path).select(pl.len()).collect().item() == count
