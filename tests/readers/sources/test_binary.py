"""Chats and turns in a column of lists, as Parquet and Arrow hold them: the same as their rows in lines of JSON."""

import datetime as dt
import gzip
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from rollwise import read, scan, turns
from rollwise.cli import run
from rollwise.errors import ReadError
from rollwise.readers import Document
from rollwise.readers.native import files as native_files
from rollwise.readers.sources import binary as binary_files
from rollwise.schema import TREE_COLUMNS, TURNS
from tests.readers.both_ways import agree, one_by_one, written

BINARY = {"parquet": "write_parquet", "arrow": "write_ipc"}
CHATS: list[dict[str, Any]] = [
    {
        "id": place,
        "model": "parrot" if place % 2 else "owl",
        "goal": f"g{place % 3}",
        "messages": [
            *([{"role": "system", "content": "Be kind."}] if place % 4 == 0 else []),
            *({"role": role, "content": f'{role} {place} ö😀\n"{{}}"'} for role in ("user", "assistant") * (place % 3 + 1)),
        ],
        "score": place / 2,
    }
    for place in range(1200)  # more than are written together
]  # fmt: skip
ROLLOUTS: list[dict[str, Any]] = [
    {
        "rollout_id": str(place),
        "target": "parrot",
        "reward": 1.0,
        "turns": [{"prompt": f"p{turn}", "response": f"r{turn}", "reward": turn / 4} for turn in range(place % 4)],
    }
    for place in range(9)
]


def binary(folder: Path, records: list[dict[str, Any]], kind: str) -> Path:
    path = folder / f"log.{kind}"
    getattr(pl.DataFrame(records, infer_schema_length=None), BINARY[kind])(path)
    return path


def without_run(frame: pl.DataFrame) -> pl.DataFrame:
    """Without the checksum of the file in names."""
    return frame.with_columns(pl.col("run", "rollout_id").str.replace(r"^(openai_chat|native)-\w{8}", "file"))


@pytest.mark.integration
@pytest.mark.parametrize("kind", BINARY)
@pytest.mark.parametrize("records", [CHATS, ROLLOUTS], ids=["chats", "rollouts"])
def test_rows_are_read_as_lines(tmp_path, kind, records):
    lines = without_run(read(written(tmp_path / "log.jsonl", records)))
    path = binary(tmp_path, records, kind)
    assert_frame_equal(without_run(read(path)), lines)
    assert_frame_equal(without_run(scan(path).collect()), lines)
    some = read(path, columns=["response", "reward"])
    assert_frame_equal(some.drop("rollout_id"), lines.select("turn", "response", "reward"))


@pytest.mark.integration
@pytest.mark.parametrize("kind", BINARY)
def test_packed_and_in_groups_of_rows(tmp_path, kind):
    """As it lies there, or packed by gzip; of Parquet also where its rows are in many groups."""
    frame = pl.DataFrame(CHATS, infer_schema_length=None)
    lines = without_run(read(written(tmp_path / "log.jsonl", CHATS)))
    path = tmp_path / f"[a]*.{kind}"  # no pattern
    frame.write_parquet(path, row_group_size=7) if kind == "parquet" else frame.write_ipc(path)
    assert_frame_equal(without_run(read(path)), lines)
    packed = tmp_path / f"b.{kind}.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert_frame_equal(without_run(read(packed)), lines)


@pytest.mark.parametrize("kind", BINARY)
def test_other_words_for_turns(tmp_path, kind):
    """As of lines of JSON: any usual name of the list and of what is in it."""
    records = [{"chat_id": "a", "conversation": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}]}]
    found = read(binary(tmp_path, records, kind))
    assert found.select("source", "turn", "prompt", "response").rows() == [("openai_chat", 1, "Hi", "Hello")]
    assert found["rollout_id"][0].endswith("/a")


@pytest.mark.integration
def test_a_row_that_is_a_turn_stays_one(tmp_path):
    """A chat beside the turn is a column of its own, as before."""
    row = {"rollout_id": "a", "turn": 1, "prompt": "Hi", "response": "Yo", "messages": CHATS[1]["messages"]}
    pl.DataFrame([row, {**row, "turn": 2}]).write_parquet(tmp_path / "log.parquet")
    found = read(tmp_path / "log.parquet")
    assert found["response"].to_list() == ["Yo", "Yo"]
    assert found["messages"][0].to_list() == CHATS[1]["messages"]
    turn = {"rollout_id": "a", "turn": 1, "prompt": "Hi", "response": "Yo", "turns": ROLLOUTS[3]["turns"]}
    pl.DataFrame([turn, {**turn, "turn": 2}]).write_parquet(tmp_path / "log.parquet")
    assert read(tmp_path / "log.parquet")["response"].to_list() == ["Yo", "Yo"]


def test_what_json_has_no_word_for(tmp_path):
    """Times become text; bytes are refused by name, before anything is read."""
    frame = pl.DataFrame(CHATS[:3]).with_columns(
        when=pl.lit(dt.datetime(2026, 1, 2, tzinfo=dt.UTC)), bad=pl.lit(float("nan"))
    )
    frame.write_parquet(tmp_path / "log.parquet")
    found = read(tmp_path / "log.parquet")
    assert found["when"][0] == "2026-01-02T00:00:00+00:00"
    assert found["bad"].null_count() == found.height
    frame.with_columns(image=pl.lit(b"\xff")).write_parquet(tmp_path / "log.parquet")
    with pytest.raises(ReadError, match=r'field `image`: holds bytes, which are not text; .*drop\("image"\)'):
        read(tmp_path / "log.parquet")
    nested = frame.with_columns(images=pl.concat_list(pl.struct(bytes=pl.lit(b"\xff"))))
    nested.write_parquet(tmp_path / "log.parquet")
    with pytest.raises(ReadError, match="field `images`: holds bytes"):
        read(tmp_path / "log.parquet")


def test_lists_under_other_names_are_found(tmp_path):
    pl.DataFrame({"id": [1], "log": [CHATS[1]["messages"]]}).write_parquet(tmp_path / "log.parquet")
    pl.DataFrame({"id": [1], "messages": [CHATS[1]["messages"]]}).write_parquet(tmp_path / "chats.parquet")
    found, usual = (
        read(tmp_path / name).select("turn", "prompt", "response") for name in ("log.parquet", "chats.parquet")
    )
    assert found.rows() == usual.rows()
    pl.DataFrame({"id": [1], "messages": [["Hi", "Hello"]]}).write_parquet(tmp_path / "log.parquet")
    with pytest.raises(ReadError, match="holds `messages` without names of the speakers"):
        read(tmp_path / "log.parquet")


@pytest.mark.integration
def test_a_folder_of_both_and_the_command_line(tmp_path, capsys):
    """A data set as it comes from a hub: parts in Parquet; and a log beside them."""
    (tmp_path / "data").mkdir()
    for part in range(2):
        binary(tmp_path, [{**row, "id": f"{part}-{row['id']}"} for row in CHATS[:5]], "parquet").rename(
            tmp_path / "data" / f"train-0000{part}-of-00002.parquet"
        )
    written(tmp_path / "data" / "more.jsonl", CHATS[:2])
    assert read(tmp_path / "data")["rollout_id"].n_unique() == 12
    with pytest.raises(SystemExit) as left:
        run(["convert", str(tmp_path / "data"), "--out", str(tmp_path / "turns")])
    assert not left.value.code, capsys.readouterr().err
    assert_frame_equal(
        read(tmp_path / "turns").sort("rollout_id", "turn"), read(tmp_path / "data").sort("rollout_id", "turn")
    )


TEXT = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
MESSAGES = st.lists(st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "tool"]), "content": TEXT}))


@pytest.mark.integration
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chats=st.lists(MESSAGES, min_size=1, max_size=5), kind=st.sampled_from(sorted(BINARY)))
def test_any_chats_are_read_as_their_lines(tmp_path_factory, chats, kind):
    """Also chats of nobody, texts of anything, nulls: the same table, or the same problems."""
    records = [{"id": place, "messages": chat} for place, chat in enumerate(chats)]
    records.append({"id": len(chats), "messages": [{"role": "assistant", "content": "Hello"}]})
    folder = tmp_path_factory.mktemp("both")
    lines, problems = read(written(folder / "log.jsonl", records), errors="collect")
    found, theirs = read(binary(folder, records, kind), errors="collect")
    assert_frame_equal(without_run(found), without_run(lines))
    assert theirs.drop("file").equals(problems.drop("file"))
    assert json.loads(json.dumps(found["rollout_id"].to_list())) == found["rollout_id"].to_list()


@pytest.mark.parametrize("kind", BINARY)
def test_a_file_cut_short_is_a_problem(tmp_path, kind):
    path = binary(tmp_path, CHATS[:50], kind)
    path.write_bytes(path.read_bytes()[:-40])
    binary(tmp_path, ROLLOUTS, "parquet" if kind == "arrow" else "arrow")
    frame, problems = read(tmp_path, errors="collect")
    assert frame["rollout_id"].n_unique() == len(ROLLOUTS)
    assert problems["reason"].str.contains("is not a complete").to_list() == [True]


# ── a table of turns ──────────────────────────────────────────────────────────────────────────────────────────────────
def turns_with_nulls() -> pl.DataFrame:
    """Turns of two rollouts with columns that are null: ours, of nested types too, those of trees, and others."""
    frame = pl.DataFrame({"rollout_id": ["a", "a", "b"], "turn": [1, 2, None], "prompt": ["Hi", None, None]})
    extra = [
        pl.lit(None, pl.Float64).alias("mood"),
        pl.lit(None, pl.String).alias("note"),
        pl.Series("n", [1, None, None]),
    ]
    return turns(frame).with_columns(extra)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("rows", [3, 0])
@pytest.mark.parametrize("tree", [False, True])
@pytest.mark.parametrize("packed", [False, True])
def test_null_columns_are_left_out_and_added_again(tmp_path, monkeypatch, rows, tree, packed):
    """Of a large file, where the footer tells: the same table, whatever else is in it."""
    frame = turns_with_nulls()
    if tree:
        frame = frame.with_columns(pl.lit(None, TURNS.dtypes[name]).alias(name) for name in TREE_COLUMNS)
    path = tmp_path / "log.parquet"
    frame.write_parquet(path, row_group_size=2)
    mine = {"rollout_id": ["c"], "turn": [1]}
    turns(pl.DataFrame(mine)).write_parquet(tmp_path / "other.parquet")
    if not rows:
        frame.clear().write_parquet(path)
    if packed:
        (tmp_path / "log.parquet.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    whole = read(tmp_path)
    monkeypatch.setattr(native_files, "MANY_ROWS", 0)
    asked: list[list[str]] = []

    def table_in(source: Any, kind: str, columns: list[str]) -> pl.DataFrame:
        asked.append(columns)
        return binary_files.table_in(source, kind, columns=columns)

    monkeypatch.setattr(native_files, "table_in", table_in)
    assert_frame_equal(read(tmp_path), whole)
    if rows:
        ours = ["rollout_id", "turn", "prompt", "tool_calls", "tool_results"]  # and what nobody knows how to add again
        assert set(asked[0]) == {*ours, "mood", "note", "n", *(TREE_COLUMNS if tree else ())}


@pytest.mark.integration
def test_a_large_file_with_null_columns_takes_little_memory(tmp_path):
    """Two million turns of which little is known: a third of what all columns would take."""
    many = 2_000_000
    frame = pl.DataFrame({"rollout_id": np.arange(many) // 10, "reward": np.random.default_rng(0).random(many)})
    turns(frame).write_parquet(tmp_path / "log.parquet")
    code = (
        "import sys, rollwise as rw\nfrom pathlib import Path\n"
        "def peak(): return int(next(line for line in Path('/proc/self/status').read_text().splitlines()"
        " if line.startswith('VmHWM')).split()[1]) // 1024\n"
        "before = peak()\nframe = rw.read(sys.argv[1])\nprint(frame.height, peak() - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "log.parquet")], capture_output=True, text=True, check=True
    )
    height, grown = map(int, done.stdout.split())
    assert height == many
    assert grown < 400


def odd_columns() -> dict[str, pl.Series]:
    """A column of each dtype that JSON has a word for, flat and within lists and structs."""
    moment = dt.datetime(2026, 1, 2, 3, 4, 5, 6)  # noqa: DTZ001  # the one with a zone follows
    flat = {
        "text": pl.Series(["a", None]),
        "category": pl.Series(["a", None], dtype=pl.Categorical),
        "enum": pl.Series(["a", None], dtype=pl.Enum(["a", "b"])),
        "zone": pl.Series([moment, None], dtype=pl.Datetime("us", "Europe/Berlin")),
        "date": pl.Series([moment.date(), None]),
        "time": pl.Series([moment.time(), None]),
        "decimal": pl.Series(["1.10", None]).cast(pl.Decimal(10, 2)),
        "great": pl.Series([2**64 - 1, None], dtype=pl.UInt64),
        "greatest": pl.Series([2**100, None], dtype=pl.Int128),
        "half": pl.Series([0.5, float("nan")], dtype=pl.Float32),
        "flag": pl.Series([True, None]),
        "nothing": pl.Series([None, None]),
        "array": pl.Series([[1, 2], None], dtype=pl.Array(pl.Int32, 2)),
    }
    flat |= {unit: pl.Series([moment, None], dtype=pl.Datetime(unit)) for unit in ("ms", "us", "ns")}
    flat |= {f"took {unit}": pl.Series([5, None]).cast(pl.Duration(unit)) for unit in ("ms", "us", "ns")}
    lists = [series.to_frame("x").select(pl.concat_list(pl.struct("x")))["x"] for series in flat.values()]
    return flat | {f"{name} within": series for name, series in zip(flat, lists, strict=True)}


def lines_in(file: io.BytesIO, columns: dict[str, pl.DataType]) -> bytes:
    """The rows of a Parquet file as lines of JSON."""
    return b"".join(map(binary_files.lines_of_rows, binary_files.batches_in(file, "parquet", columns)))


@pytest.mark.thinned(4)
@pytest.mark.parametrize("name", odd_columns())
def test_rows_of_large_files_are_the_same_lines(monkeypatch, name):
    """What Arrow decodes piece by piece, and what Polars decodes at once: to the last byte, empty files too."""
    for frame in (odd_columns()[name].to_frame(name), odd_columns()[name].to_frame(name).clear()):
        file = io.BytesIO()
        frame.write_parquet(file)
        columns = binary_files.columns_in(file, "parquet")
        once = lines_in(file, columns)
        with monkeypatch.context() as patch:
            patch.setattr(binary_files, "LARGE", 0)
            patch.setattr(binary_files, "BATCH", 1)
            assert lines_in(file, columns) == once
            assert binary_files.first_in(file, "parquet", columns, 1).equals(frame.head(1))


@pytest.mark.integration
def test_a_large_file_is_opened_once_for_its_columns_and_once_for_its_rows(tmp_path, monkeypatch):
    """Its footer may be long; rows of a look at the beginning are not decoded for another look at their dtypes."""
    document = Document(binary(tmp_path, CHATS, "parquet"))
    monkeypatch.setattr(binary_files, "LARGE", 0)
    opened: list[str] = []

    def noted(name: str, real: Any) -> Any:
        def call(*given: Any, **more: Any) -> Any:
            opened.append(name)
            return real(*given, **more)

        return call

    for module, name in ((pq, "ParquetFile"), (pl, "read_parquet_schema"), (pl, "scan_parquet")):
        monkeypatch.setattr(module, name, noted(name, getattr(module, name)))
    assert sum(1 for _ in document.lines()) == len(CHATS)
    assert opened == ["read_parquet_schema", "ParquetFile"]


@pytest.mark.slow
def test_a_column_of_chats_is_not_held_twice(tmp_path):
    """Of 200,000 chats in one group of rows: at most twice the table that comes of it, and the file."""
    answer = "the quick brown fox jumps over the lazy dog and tells nobody of it " * 6
    speakers = ("user", "assistant") * 2
    chats = [[{"role": who, "content": f"{chat} {answer}"} for who in speakers] for chat in range(200_000)]
    path = tmp_path / "chats.parquet"
    pl.DataFrame({"messages": chats}).write_parquet(path, row_group_size=len(chats) + 1)
    code = (
        "import sys, polars, rollwise as rw\nfrom pathlib import Path\nfrom rollwise.readers import read\n"
        "def peak(): return int(next(line for line in Path('/proc/self/status').read_text().splitlines()"
        " if line.startswith('VmHWM')).split()[1]) << 10\n"
        "before = peak()\nframe = rw.read(sys.argv[1])\nprint(frame.height, frame.estimated_size(), peak() - before)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    height, size, grown = map(int, done.stdout.split())
    assert height == 2 * len(chats)
    assert grown < 2 * size + path.stat().st_size


# ── streams ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.thinned(3)
@pytest.mark.parametrize("records", [CHATS, ROLLOUTS, [{"rollout_id": "a", "prompt": "Hi", "response": "Hello"}]])
def test_a_stream_of_arrow_is_read_as_a_file_of_it(tmp_path, records):
    """As `save_to_disk` of Hugging Face's datasets leaves it, in batches."""
    frame = pl.DataFrame(records, infer_schema_length=None)
    frame.write_ipc(tmp_path / "file.arrow")
    for name, writer in (("polars", frame.write_ipc_stream), ("pyarrow", lambda path: stream(path, frame))):
        writer(tmp_path / f"{name}.arrow")
        read_back = without_run(read(tmp_path / f"{name}.arrow"))
        assert read_back.equals(without_run(read(tmp_path / "file.arrow")))


def stream(path: Path, frame: pl.DataFrame) -> None:
    table = frame.to_arrow()
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)


def test_half_a_stream_is_no_whole_file(tmp_path):
    path = tmp_path / "half.arrow"
    pl.DataFrame(CHATS, infer_schema_length=None).write_ipc_stream(path)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ReadError, match="is not a complete Arrow file"):
        read(path)


@pytest.mark.integration
def test_what_a_stream_is_asked_is_obeyed(tmp_path):
    path = tmp_path / "a.arrow"
    pl.DataFrame({"session_id": ["a", "a"], "prompt": ["Hi", "And?"], "response": ["Hello", "No"]}).write_ipc_stream(
        path
    )
    with pytest.raises(ReadError, match="is a row a rollout, or a turn of one") as told:
        read(path)
    (question,) = told.value.questions
    rollouts = [read(path, names={"rollout_id": answer})["rollout_id"].n_unique() for answer in question.options]
    assert rollouts == [2, 1]


@pytest.mark.integration
def test_what_hugging_face_keeps_beside_a_data_set_is_no_log(tmp_path):
    """As `save_to_disk` of a `DatasetDict` leaves it: a folder for each split, with files that say what is in it."""
    for split in ("train", "test"):
        (tmp_path / split).mkdir()
        rows = pl.DataFrame(CHATS[: len(split)])
        rows.write_ipc_stream(tmp_path / split / "data-00000-of-00001.arrow")
        (tmp_path / split / "dataset_info.json").write_text('{"citation": "", "features": {}, "description": ""}')
        (tmp_path / split / "state.json").write_text('{"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}')
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    frame, problems = read(tmp_path, errors="collect")
    assert problems.is_empty()
    assert frame["rollout_id"].n_unique() == len("train") + len("test")
    (tmp_path / "train" / "data-00000-of-00001.arrow").unlink()
    told = read(tmp_path, errors="collect")[1]
    assert sorted(Path(file).name for file in told["file"]) == ["dataset_info.json", "state.json"], "without a data set"


SPOKEN = st.sampled_from(["user", "assistant", "system", "tool", "human", "gpt", "developer", "User", "Ann"])
CHAT = st.lists(st.tuples(SPOKEN, st.sampled_from(["Hi", "", 'ö😀\n"{}"', "x" * 40, "attachment://1"])), max_size=7)


def spoiled(rows: list[dict[str, Any]], odd: str | None, role: str, text: str) -> None:
    """Put something in the last row that is not there in others, or is missing."""
    last = rows[-1]["messages"]
    if odd == "chat":
        rows[-1]["messages"] = None
    elif odd == "message" and last:
        last[0] = None
    elif odd in {"text", "role"} and last:
        last[0] = last[0] | {text if odd == "text" else role: None}
    elif odd == "more":
        for row in rows:
            row["messages"] = [message | {"name": "Ann" if row is rows[-1] else None} for message in row["messages"]]
    elif odd == "nulls beside":
        rows[-1] |= {"model": None, "note": None, "id": None}


@pytest.mark.integration
@given(
    chats=st.lists(CHAT, min_size=2, max_size=14),
    usual=st.floats(0, 1),
    words=st.sampled_from(
        [
            ("messages", "role", "content"),
            ("messages", "speaker", "text"),
            ("messages", "from", "value"),
            ("conversations", "from", "value"),
            ("conversations", "role", "content"),
        ]
    ),
    system=st.sampled_from([None, None, None, "", "Be kind."]),
    odd=st.sampled_from([None, None, "text", "role", "message", "chat", "more", "nulls beside"]),
)
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@example(
    chats=[[("user", "Hi"), ("assistant", "No")]] * 4,
    usual=1,
    words=("messages", "role", "content"),
    system=None,
    odd=None,
)
def test_chats_in_columns_are_the_same_together_and_one_by_one(tmp_path_factory, chats, usual, words, system, odd):
    """Whoever speaks and whatever is missing: the same turns, problems and sentences, to the last cell."""
    called, role, text = words
    plain = [("user", "Hi"), ("assistant", "Hello"), ("user", "Sure?"), ("assistant", "Yes")]
    rows: list[dict[str, Any]] = [
        {"id": place, "model": "parrot", "note": {"k": place}, "score": place / 2, "goal": f"g{place % 3}"}
        | {"messages": [{role: who, text: said} for who, said in (plain if place / len(chats) < usual else chat)]}
        for place, chat in enumerate(chats)
    ]
    spoiled(rows, odd, role, text)
    inner = {role: pl.String, text: pl.String} | ({"name": pl.String} if odd == "more" else {})
    frame = pl.DataFrame(rows, schema_overrides={"messages": pl.List(pl.Struct(inner))}).rename({"messages": called})
    if system is not None:
        frame = frame.with_columns(system=pl.when(pl.int_range(pl.len()) % 3 == 1).then(pl.lit(system)))
    folder = tmp_path_factory.mktemp("columns")
    for kind, write in BINARY.items():
        path = folder / f"log.{kind}"
        getattr(frame, write)(path)
        for errors in ("raise", "collect"):
            agree(path, 600, [lambda patch: None, one_by_one], errors=errors)


def test_a_file_that_is_gone_is_not_parquet(tmp_path: Path) -> None:
    """Reading it says what is wrong, not the look at its first bytes."""
    assert not binary_files.is_parquet(tmp_path / "gone.parquet")
