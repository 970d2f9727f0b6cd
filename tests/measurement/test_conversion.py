"""`convert`: TURNS of any size into files of whole rollouts, and the manifest that vouches for them."""

import datetime as dt
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import unquote

import polars as pl
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rollwise as rw
from rollwise.errors import ArgumentError, ReadError, RollwiseError, SchemaError, WriteError
from rollwise.files.atomic import MANIFEST
from rollwise.files.manifests import check_content, check_whole, manifest_of
from rollwise.measurement import conversion
from rollwise.readers.sources.hive import NULL

TURNS, _ = rw.simulate(goals=10, attempts=3, turns=5, seed=4)
ORDERED = TURNS.sort("rollout_id", "turn")
KEY = ["rollout_id", "turn"]


def files(folder: str | Path) -> dict[str, bytes]:
    """Everything in a folder, by its name from there."""
    found = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def parts(folder: str | Path) -> list[pl.DataFrame]:
    """The files of a folder, in order of the manifest."""
    manifest = manifest_of(folder)
    assert manifest is not None
    return [pl.read_parquet(Path(folder, part.file), hive_partitioning=False) for part in manifest.files]


# ── what is written ───────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_files_hold_whole_rollouts_in_order(tmp_path: Path) -> None:
    """Put together as they stand, the files are the turns in order; no rollout stands in two."""
    out = rw.convert(TURNS.sample(fraction=1, shuffle=True, seed=1), tmp_path / "runs", rollouts_per_file=25)
    found = parts(out)
    assert pl.concat(found).equals(ORDERED)
    assert [part["rollout_id"].n_unique() for part in found] == [25, 25, 10]


@pytest.mark.integration
def test_row_groups_begin_with_a_rollout_and_carry_statistics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups are of about the size asked for, none begins within a rollout, and their least and greatest ids do not overlap."""
    monkeypatch.setattr(conversion, "ROW_GROUP", 20)
    (path,) = Path(rw.convert(TURNS, tmp_path / "runs")).glob("*.parquet")
    file = pq.ParquetFile(path)
    groups = [file.read_row_group(number)["rollout_id"].to_pylist() for number in range(file.num_row_groups)]
    assert len(groups) > 8
    assert all(15 < len(group) < 25 for group in groups[:-1])
    assert len({name for group in groups for name in group}) == sum(len(set(group)) for group in groups)
    for number, group in enumerate(groups):
        told = file.metadata.row_group(number).column(0)
        assert (told.path_in_schema, told.statistics.min, told.statistics.max) == ("rollout_id", group[0], group[-1])
        assert all(
            file.metadata.row_group(number).column(place).is_stats_set for place in (0, 1)
        )  # a column of nulls has none


@pytest.mark.integration
def test_row_groups_of_long_texts_are_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A group ends after so many bytes, too, whatever its rows; a rollout that is larger is a group of its own."""
    monkeypatch.setattr(conversion, "ROW_GROUP_BYTES", 50_000)
    long = TURNS.with_columns(prompt=pl.when(pl.col("turn") == 2).then(pl.lit("word " * 2000)).otherwise(pl.lit("Hi")))
    (path,) = Path(rw.convert(long, tmp_path / "runs")).glob("*.parquet")
    file = pq.ParquetFile(path)
    groups = [file.read_row_group(number) for number in range(file.num_row_groups)]
    texts = [sum(len(text) for text in group["prompt"].to_pylist()) for group in groups]
    assert 10_000 < max(texts) <= 70_000
    assert len(groups) >= sum(texts) // 70_000
    assert len({name for group in groups for name in set(group["rollout_id"].to_pylist())}) == sum(
        len(set(group["rollout_id"].to_pylist())) for group in groups
    )


@pytest.mark.integration
def test_the_manifest_says_what_there_is(tmp_path: Path) -> None:
    """Files, rows, rollouts, the first and the last of them, bytes, content: each counted anew, by other means."""
    out = rw.convert(TURNS, tmp_path / "runs", rollouts_per_file=50, partition_by="target")
    told = json.loads((tmp_path / "runs" / MANIFEST).read_text())
    assert told["rows"] == TURNS.height
    assert told["rollouts"] == TURNS["rollout_id"].n_unique()
    assert told["partition_by"] == ["target"]
    assert {entry["file"] for entry in told["files"]} == set(files(out)) - {MANIFEST}
    for entry in told["files"]:
        data = (tmp_path / "runs" / entry["file"]).read_bytes()
        ids = pq.ParquetFile(tmp_path / "runs" / entry["file"]).read(["rollout_id"])["rollout_id"].to_pylist()
        assert entry["bytes"] == len(data)
        assert entry["blake2b"] == hashlib.blake2b(data, digest_size=16).hexdigest()
        assert (entry["rows"], entry["rollouts"]) == (len(ids), len(set(ids)))
        assert (entry["first"], entry["last"]) == (min(ids), max(ids))


@pytest.mark.integration
def test_the_same_rollouts_give_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In whatever order and pieces they came."""
    once = files(rw.convert(TURNS, tmp_path / "once", rollouts_per_file=25))
    monkeypatch.setattr(conversion, "BATCH", 7)
    shuffled = TURNS.sample(fraction=1, shuffle=True, seed=2)
    halves = pl.concat([shuffled[:100].lazy(), shuffled[100:].lazy()])
    assert files(rw.convert(halves, tmp_path / "halves", rollouts_per_file=25)) == once
    assert files(rw.convert(shuffled.to_arrow(), tmp_path / "arrow", rollouts_per_file=25)) == once


@pytest.mark.integration
def test_every_dtype_comes_back(tmp_path: Path) -> None:
    """Enums, categories, times, decimals, lists, structs, bytes: what is read is what was written."""
    moment = dt.datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=dt.UTC)
    frame = pl.DataFrame(
        {
            "rollout_id": ["a", "a", "b"],
            "turn": pl.Series([1, 2, 1], dtype=pl.Int32),
            "outcome": pl.Series(["success", "success", None], dtype=rw.schema.OUTCOMES),
            "tool_calls": pl.Series([[{"name": "mail", "arguments": "{}"}], [], None], dtype=rw.schema.TOOL_CALLS),
            "judge": pl.Series(["x", "y", None], dtype=pl.Categorical),
            "level": pl.Series(["low", None, "high"], dtype=pl.Enum(["low", "high"])),
            "when": [moment, None, moment],
            "took": [dt.timedelta(seconds=1), None, dt.timedelta(0)],
            "day": [moment.date(), None, moment.date()],
            "price": pl.Series(["1.10", "2.20", None]).cast(pl.Decimal(10, 2)),
            "data": [b"\0\xff", b"", None],
            "small": pl.Series([1, None, 3], dtype=pl.UInt8),
            "half": pl.Series([1.5, None, 3], dtype=pl.Float32),
            "nested": [{"a": [1, 2]}, {"a": None}, None],
            "nothing": [None, None, None],
        }
    )
    out = rw.convert(frame, tmp_path / "runs", rollouts_per_file=1)
    back = pl.concat(parts(out))
    assert back.schema == frame.schema
    assert back.equals(frame)


def test_nodes_of_a_tree_stay_as_they_stand(tmp_path: Path) -> None:
    """A tree is written from its root in the order that it has, which its depths would not keep."""
    tree = pl.DataFrame(
        {
            "rollout_id": ["t"] * 4,
            "turn": pl.Series([1, 2, 3, 2], dtype=pl.Int32),
            "node_id": ["r", "a", "b", "c"],
            "parent_id": [None, "r", "a", "r"],
        }
    )
    assert parts(rw.convert(tree, tmp_path / "runs"))[0].equals(tree)


@pytest.mark.integration
@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 6), st.sampled_from("xy")), min_size=1, max_size=25), st.integers(1, 9))
def test_whatever_the_lengths(
    tmp_path_factory: pytest.TempPathFactory, rollouts: list[tuple[int, str]], n: int
) -> None:
    """Every rollout once, in one file, of at most so many; files, and their folders, in order."""
    frame = pl.DataFrame(
        [
            {"rollout_id": f"{number:02}", "turn": turn, "kind": kind}
            for number, (length, kind) in enumerate(rollouts)
            for turn in range(1, length + 1)
        ],
        schema_overrides={"turn": pl.Int32},
    )
    shuffled = frame.sample(fraction=1, shuffle=True, seed=n)
    for by in ((), "kind"):
        out = rw.convert(shuffled, tmp_path_factory.mktemp("any") / "runs", rollouts_per_file=n, partition_by=by)
        found = parts(out)
        assert pl.concat(found).sort(KEY).equals(frame)
        assert max(part["rollout_id"].n_unique() for part in found) <= n
        assert sum(part["rollout_id"].n_unique() for part in found) == len(rollouts)
        assert all(part["kind"].n_unique() == 1 for part in found) or not by


# ── folders by fact ───────────────────────────────────────────────────────────────────────────────────────────────────
HOSTILE = ["a/b", "..", "=x", "ü %", "", "\\", None, "C:*?"]


@pytest.mark.integration
def test_folders_are_those_of_hive(tmp_path: Path) -> None:
    """Any value makes a folder, null has the folder of no value, and others read the same table."""
    frame = pl.DataFrame(
        {
            "rollout_id": [f"r{number}" for number in range(len(HOSTILE))],
            "turn": pl.Series([1] * len(HOSTILE), dtype=pl.Int32),
            "target": HOSTILE,
            "attempt": pl.Series([1, 2] * 4, dtype=pl.Int32),
        }
    )
    out = Path(rw.convert(frame, tmp_path / "runs", partition_by=["target", "attempt"]))
    folders = {path.name for path in out.iterdir() if path.is_dir()}
    assert {unquote(name.removeprefix("target=")) for name in folders} == {
        NULL if word is None else word for word in HOSTILE
    }
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
    assert rw.read(out).sort("rollout_id").select(frame.columns).equals(frame)
    polars = pl.scan_parquet(f"{out}/**/*.parquet", hive_partitioning=False).sort("rollout_id").collect()
    assert polars.equals(frame)
    arrow = pyarrow.dataset.dataset(out, format="parquet").to_table()  # passes over the manifest
    assert pl.DataFrame(arrow).sort("rollout_id").equals(frame)


@pytest.mark.integration
def test_folders_prune_what_is_read(tmp_path: Path) -> None:
    """By the names of the folders alone, a reader that knows Hive leaves the files of other targets alone."""
    out = Path(rw.convert(TURNS, tmp_path / "runs", partition_by="target"))
    for path in out.glob("target=guarded/*.parquet"):
        path.write_bytes(b"not to be read")
    hive = pl.scan_parquet(f"{out}/**/*.parquet", hive_partitioning=True)
    found = hive.filter(pl.col("target") == "base").select(KEY).sort(KEY).collect()
    assert found.equals(ORDERED.filter(pl.col("target") == "base").select(KEY))


# ── what is refused, and leaves nothing behind ────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("frame", "options", "sentence"),
    [
        (TURNS, {"partition_by": "planet"}, "partition_by names 'planet', which is not a column"),
        (TURNS, {"partition_by": "rollout_id"}, "partition_by names 'rollout_id'"),
        (TURNS, {"partition_by": "score"}, "'score' is Float64; folders have names of text"),
        (TURNS, {"partition_by": "response"}, "'response' varies within rollout 'simulation-4"),
        (TURNS.with_columns(long=pl.lit("x" * 300)), {"partition_by": "long"}, "too long for a folder"),
        (TURNS.with_columns(pl.lit("x").alias(".x")), {"partition_by": ".x"}, "'.x' would make hidden folders"),
        (TURNS, {"rollouts_per_file": 0}, "rollouts_per_file=0 is not a number of rollouts"),
        (TURNS.clear(), {}, "there are no rollouts in this table"),
        (TURNS.drop("turn"), {}, "column `turn` is missing"),
        (TURNS.with_columns(pl.lit(None, pl.String).alias("rollout_id")), {}, "`rollout_id` is null"),
        (pl.concat([TURNS, TURNS[:1]]), {}, r"is 1, 1, 2, 3, 4, 5, not 1\.\.6; number the turns"),
        (TURNS.filter(pl.col("turn") != 2), {}, r"is 1, 3, 4, 5, not 1\.\.4"),
        (
            TURNS.with_columns(thing=pl.Series([object()] * TURNS.height, dtype=pl.Object)),
            {},
            "column thing holds Python objects",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_converted_is_told_in_a_sentence(
    tmp_path: Path, frame: pl.DataFrame, options: dict[str, object], sentence: str
) -> None:
    """One of our own errors, and no folder, finished or not."""
    with pytest.raises(RollwiseError, match=sentence) as told:
        rw.convert(frame, tmp_path / "runs", **options)  # type: ignore[arg-type]
    assert isinstance(told.value, ArgumentError | SchemaError | WriteError)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.integration
def test_a_second_conversion_into_the_folder_is_refused(tmp_path: Path) -> None:
    """In one sentence, and what stands there is left as it is; allowed, it replaces it and leaves no file of the first."""
    out = rw.convert(TURNS, tmp_path / "runs", rollouts_per_file=25)
    (tmp_path / "runs" / "notes.txt").write_text("mine")
    before = files(out)
    with pytest.raises(
        WriteError, match=r"exists and is not empty; choose another folder with out=, or allow it with overwrite=True$"
    ):
        rw.convert(TURNS, out)
    assert files(out) == before
    fewer = TURNS.filter(pl.col("target") == "base")
    rw.convert(fewer, out, rollouts_per_file=50, overwrite=True)
    assert pl.concat(parts(out)).equals(fewer.sort(KEY))
    assert set(files(out)) == {"notes.txt", MANIFEST, "turns-00000.parquet"}
    assert files(out)["notes.txt"] == b"mine"
    manifest = manifest_of(out)
    assert manifest is not None
    check_whole(out, manifest)


@pytest.mark.integration
def test_folders_that_a_second_conversion_empties_are_no_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those that the first made; one in which anything else stands is left, and so are folders of others, empty or not.

    What is behind a link may be anybody's: it is left, and said.
    """
    by = ["target", "category"]
    out = Path(rw.convert(TURNS, tmp_path / "runs", partition_by=by))
    former = {path.parent for path in out.rglob("*.parquet")}
    assert len(former) > 3
    (out / "mine" / "empty").mkdir(parents=True)
    (out / "target=other").mkdir()
    gone, kept = (sorted(former)[place] for place in (0, -1))
    (kept / "notes.txt").write_text("mine")
    rw.convert(TURNS, out, overwrite=True)
    left = {path.relative_to(out).as_posix() for path in out.rglob("*")}
    assert left == {
        MANIFEST, "turns-00000.parquet", "mine", "mine/empty", "target=other",
        kept.parent.name, f"{kept.parent.name}/{kept.name}", f"{kept.parent.name}/{kept.name}/notes.txt",
    }  # fmt: skip
    assert not gone.exists()
    again = Path(rw.convert(TURNS, tmp_path / "linked", partition_by="target"))
    (tmp_path / "disk").mkdir()
    folder = again / "target=base"
    for path in folder.iterdir():
        path.rename(tmp_path / "disk" / path.name)
    folder.rmdir()
    folder.symlink_to(tmp_path / "disk")
    rw.convert(TURNS, again, overwrite=True)
    assert folder.is_symlink()
    assert len([*(tmp_path / "disk").iterdir()]) == 1
    assert "is behind a link and was left; remove it yourself" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["../mine.parquet", "{out}/../mine.parquet", "a/../../mine.parquet"])
def test_no_manifest_reaches_out_of_its_folder(tmp_path: Path, name: str) -> None:
    """Whoever wrote it: what lies beside the folder is neither read nor removed."""
    out = Path(rw.convert(TURNS, tmp_path / "runs"))
    mine = tmp_path / "mine.parquet"
    mine.write_bytes((out / "turns-00000.parquet").read_bytes())
    told = json.loads((out / MANIFEST).read_text())
    told["files"].append({**told["files"][0], "file": name.format(out=out)})
    (out / MANIFEST).write_text(json.dumps(told))
    with pytest.raises(
        ReadError, match=r"_manifest.json: is not a manifest of `rollwise convert` \(it names .*mine.parquet"
    ):
        rw.convert(TURNS, out, overwrite=True)
    assert mine.exists()


@pytest.mark.integration
def test_what_fails_half_way_leaves_what_was_there(tmp_path: Path) -> None:
    """The last batch cannot be read: neither a new folder nor one that stands is touched, and no draft is left."""
    out = rw.convert(TURNS, tmp_path / "old", rollouts_per_file=25)
    before = files(out)
    read = []

    def broken(frame: pl.DataFrame) -> pl.DataFrame:
        read.append(frame.height)
        if len(read) > 1:  # the first reading plans the files
            raise KeyboardInterrupt
        return frame

    for place, overwrite in (("new", False), ("old", True)):
        read.clear()
        lazy = TURNS.lazy().map_batches(broken, schema=TURNS.schema, streamable=True)
        with pytest.raises((KeyboardInterrupt, pl.exceptions.PolarsError)):
            rw.convert(lazy, tmp_path / place, overwrite=overwrite)
        assert len(read) > 1
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert files(out) == before


def test_a_folder_that_may_not_be_written_is_named(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The path and the reason."""
    (tmp_path / "closed").mkdir(mode=0o555)
    request.getfixturevalue("nobody")
    with pytest.raises(WriteError, match=r"runs cannot be written .* choose a folder that you may write to"):
        rw.convert(TURNS, tmp_path / "closed" / "runs")


# ── the manifest ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_folder_that_is_not_what_its_manifest_says_is_refused(tmp_path: Path) -> None:
    """A file less, a file more, another size, another content: each is named."""
    out = Path(rw.convert(TURNS, tmp_path / "runs", rollouts_per_file=25))
    manifest = manifest_of(out)
    assert manifest is not None
    check_whole(out, manifest)
    first = out / manifest.files[0].file
    data = first.read_bytes()
    check_content(str(first), manifest.files[0])
    first.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(ReadError, match=r"turns-00000.parquet: is not the file in _manifest.json"):
        check_content(str(first), manifest.files[0])
    first.write_bytes(data + b"x")
    with pytest.raises(ReadError, match=rf"has {len(data) + 1:,} bytes, not the {len(data):,} of _manifest.json"):
        check_whole(out, manifest)
    first.rename(out / "other.parquet")
    with pytest.raises(ReadError, match=r"turns-00000.parquet.* is missing"):
        check_whole(out, manifest)
    first.write_bytes(data)
    with pytest.raises(ReadError, match=r"other.parquet.* is not in _manifest.json"):
        check_whole(out, manifest)


def test_a_manifest_of_somebody_else_is_told(tmp_path: Path) -> None:
    """It is no error of JSON that reaches the user."""
    (tmp_path / MANIFEST).write_text('{"start_url": "/"}')
    with pytest.raises(ReadError, match="is not a manifest of `rollwise convert`"):
        manifest_of(tmp_path)


@pytest.mark.integration
def test_reading_the_folder_says_nothing_of_the_manifest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It belongs there: it is no file that was not recognized."""
    assert rw.read(rw.convert(TURNS, tmp_path / "runs")).height == TURNS.height
    assert capsys.readouterr().err == ""


# ── on the command line ───────────────────────────────────────────────────────────────────────────────────────────────
def run(*words: object) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "rollwise", *map(str, words)], capture_output=True, text=True, check=False
    )


@pytest.mark.integration
def test_the_command_writes_refuses_and_overwrites(tmp_path: Path) -> None:
    """The folder on stdout, how much there is on stderr; a second time it is refused with exit code 2, in one sentence."""
    logs = Path(__file__).parents[2] / "data" / "rollouts"
    words = ("convert", logs, "--out", tmp_path / "big", "--rollouts-per-file", 50, "--partition-by", "target")
    done = run(*words)
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'big'}\n")
    assert "wrote 240 rollouts, 1,301 turns, 6 files" in done.stderr
    again = run(*words)
    assert (again.returncode, again.stdout) == (2, "")
    assert len(again.stderr.strip().splitlines()) == 1
    assert "exists and is not empty; choose another folder with --out, or allow it with --overwrite" in again.stderr
    assert run(*words, "--overwrite").returncode == 0


def test_what_reads_a_folder_holds_it_to_its_manifest(tmp_path: Path) -> None:
    """A file that is gone, empty or added is no smaller table: `read` and `scan` name it, and collecting keeps the rest."""
    out = Path(rw.convert(TURNS, tmp_path / "deep" / "runs", rollouts_per_file=25))
    second = out / "turns-00001.parquet"
    data = second.read_bytes()
    for change, sentence in (
        (second.unlink, "turns-00001.parquet of _manifest.json is missing"),
        (lambda: second.write_bytes(b""), "turns-00001.parquet: has 0 bytes, not the"),
        (
            lambda: (second.write_bytes(data), (out / "copy.parquet").write_bytes(data)),
            "copy.parquet is not in",
        ),
    ):
        change()
        for path in (out, tmp_path):
            for verb in (rw.read, rw.scan):
                with pytest.raises(ReadError, match=sentence):
                    verb(path)
            _, problems = rw.read(path, errors="collect")
            assert sentence in problems[0, "reason"]
    (out / "copy.parquet").unlink()
    assert rw.read(tmp_path).height == TURNS.height
    (out / MANIFEST).write_text('{"of": "another tool"}')
    second.unlink()
    assert rw.read(out).height < TURNS.height


@pytest.mark.integration
def test_a_damaged_file_among_many_is_named(tmp_path: Path) -> None:
    """By each command that reads a folder a part at a time: one line, and nothing is written."""
    out = Path(rw.convert(TURNS, tmp_path / "runs", rollouts_per_file=25))
    file = out / "turns-00001.parquet"
    where = pq.ParquetFile(file).metadata.row_group(0).column(TURNS.columns.index("target"))
    data = bytearray(file.read_bytes())
    begin = where.dictionary_page_offset or where.data_page_offset
    data[begin : begin + 40] = b"\xff" * 40
    file.write_bytes(data)
    for words in (("measure", out), ("summarize", out), ("convert", out, "--out", tmp_path / "again")):
        done = run(*map(str, words))
        assert (done.returncode, done.stdout) == (2, "")
        assert len(done.stderr.strip().splitlines()) == 1
        assert "turns-00001.parquet: is not a complete Parquet file" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def many(tmp_path: Path, rollouts: int, length: int = 20) -> Path:
    """A Parquet file of so many rollouts in an order of its own, with texts of 400 characters."""
    path = tmp_path / f"{rollouts}.parquet"
    (
        pl.LazyFrame({"number": pl.int_range(rollouts, eager=True).shuffle(seed=1)})
        .select(
            rollout_id=pl.format("r{}", "number"),
            turn=pl.lit(list(range(1, length + 1)), pl.List(pl.Int32)),
            goal=pl.format("g{}", pl.col("number") % 50),
        )
        .explode("turn")
        .with_columns(
            response=pl.concat_str(
                [pl.format("{}{}", "rollout_id", pl.col("turn") * k).hash(k).cast(pl.String) for k in range(20)]
            )
        )
        .sink_parquet(path, row_group_size=5_000)
    )
    return path


@pytest.mark.integration
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_there_is_no_folder(tmp_path: Path, how: signal.Signals) -> None:
    """Ctrl-C while files are written: no folder, no draft, a word on stderr. After kill -9 a hidden draft is left, no folder."""
    log = many(tmp_path, 6_000)
    place = tmp_path / "place"
    place.mkdir()
    command = [
        sys.executable,
        "-m",
        "rollwise",
        "convert",
        str(log),
        "--out",
        str(place / "runs"),
        "--rollouts-per-file",
        "100",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        for _ in range(1200):
            if any(place.glob(".runs.*.part/turns-*.parquet")) or running.poll() is not None:
                break
            time.sleep(0.05)
        assert running.poll() is None
        running.send_signal(how)
        _, said = running.communicate(timeout=60)
    assert running.returncode != 0
    assert not (place / "runs").exists()
    left = list(place.iterdir())
    if how == signal.SIGINT:
        assert left == []
        assert said.splitlines()[-1] == "rollwise: interrupted; no partially written files remain"
        # what a panic of Polars quotes is no traceback of ours
        assert not any(line.startswith("Traceback") for line in said.splitlines())
    else:
        assert [path.name.startswith(".runs.") for path in left] == [True]
        assert rw.convert(TURNS, place / "runs")  # and is in nobody's way


@pytest.mark.slow
def test_memory_does_not_grow_with_the_input(tmp_path: Path) -> None:
    """Four times the turns in files of the same size need less than a fifth more."""
    code = (
        "import sys, rollwise as rw\n"
        "rw.convert(rw.scan(sys.argv[1]), sys.argv[2], rollouts_per_file=1_000)\n"
        "status = open('/proc/self/status')\n"  # of this process alone; getrusage counts what started it too
        "print(next(line.split()[1] for line in status if line.startswith('VmHWM')))"
    )
    peak = {}
    for rollouts in (10_000, 40_000):
        log = many(tmp_path, rollouts)
        command = [sys.executable, "-c", code, str(log), str(tmp_path / f"out-{rollouts}")]
        environment = {**os.environ, "POLARS_MAX_THREADS": "2"}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        peak[rollouts] = int(done.stdout) >> 10
    assert peak[40_000] < 1.2 * peak[10_000]


def test_a_column_makes_folders_once(tmp_path: Path) -> None:
    """Twice is refused by its name; Polars' own words blamed the files that are read."""
    with pytest.raises(
        ArgumentError, match=r"partition_by=\['target', 'target'\] repeats a column; name each column once"
    ):
        rw.convert(TURNS, tmp_path / "runs", partition_by=["target", "target"])
    assert not (tmp_path / "runs").exists()
