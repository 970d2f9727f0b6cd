"""Logs in an object store, against a real S3 server, a process of this machine."""

import io
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rollwise as rw
from rollwise import metrics as m
from rollwise.distributed import partitions
from rollwise.errors import ArgumentError, ReadError, WriteError
from rollwise.files.atomic import MANIFEST
from rollwise.files.manifests import check_content, check_whole, manifest_of
from rollwise.measurement import conversion

pytestmark = pytest.mark.integration  # a real server

TURNS, _ = rw.simulate(goals=10, attempts=3, turns=5, seed=4)
KEY = ["rollout_id", "turn"]


def test_what_is_converted_there_is_read_there(store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same turns, by read, by scan and by Polars itself; the manifest vouches for every object."""
    address, options, lying = store
    assert rw.convert(TURNS, address, rollouts_per_file=25, storage_options=options) == address
    ordered = TURNS.sort(KEY)
    assert sorted(lying()) == ["runs/_manifest.json", *(f"runs/turns-0000{n}.parquet" for n in range(3))]
    back = rw.read(address, storage_options=options)
    assert back.sort(KEY).select(TURNS.columns).equals(ordered)
    lazy = rw.scan(address, storage_options=options)
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.sort(KEY).select(TURNS.columns).collect().equals(ordered)
    assert rw.read(f"{address}/*.parquet", storage_options=options).height == TURNS.height
    assert rw.read(f"{address}/turns-00000.parquet", storage_options=options)["rollout_id"].n_unique() == 25
    polars = pl.scan_parquet(f"{address}/**/*.parquet", storage_options=options).collect()
    assert polars.sort(KEY).equals(ordered)
    manifest = manifest_of(address, options)
    assert manifest is not None
    assert (manifest.rows, manifest.rollouts) == (TURNS.height, 60)
    check_whole(address, manifest, options)
    for part in manifest.files:
        check_content(f"{address}/{part.file}", part, options)


def test_the_bytes_are_those_of_a_folder(store, tmp_path: Path) -> None:
    """An object store changes nothing of what is written, folders by fact included."""
    address, options, lying = store
    rw.convert(TURNS, address, partition_by="target", storage_options=options)
    rw.convert(TURNS, tmp_path / "runs", partition_by="target")
    here = {
        path.relative_to(tmp_path).as_posix(): path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()
    }
    assert lying() == here
    assert manifest_of(address, options) == manifest_of(tmp_path / "runs")


def test_what_the_environment_says_is_enough(store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials and endpoint as every other tool takes them; the command line has no others."""
    address, options, _ = store
    environment = {name.upper(): value for name, value in options.items()}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    command = [sys.executable, "-m", "rollwise"]
    logs = Path(__file__).parents[2] / "data" / "rollouts"
    words = [*command, "convert", str(logs), "--out", address]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=os.environ)
    assert (done.returncode, done.stdout) == (0, f"{address}\n"), done.stderr
    again = subprocess.run(words, capture_output=True, text=True, check=False, env=os.environ)
    assert again.returncode == 2
    assert again.stderr.strip().splitlines() == [
        f"rollwise: {address} exists and is not empty; choose another folder with --out, or allow it with --overwrite"
    ]
    summary = subprocess.run(
        [*command, "summarize", address, "--metric", "attack_success", "--format", "csv"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ,
    )
    assert summary.returncode == 0, summary.stderr
    ours = rw.summarize(rw.measure(rw.read(logs), m.attack_success), metrics="attack_success")
    assert pl.read_csv(io.StringIO(summary.stdout))["estimate"].to_list() == ours["estimate"].to_list()


def test_a_second_conversion_is_refused_or_replaces_the_first(store) -> None:
    """Nothing is overwritten unsaid; allowed, no object of the first is left, and what is not ours is left alone."""
    address, options, lying = store
    rw.convert(TURNS, address, rollouts_per_file=10, storage_options=options)
    rw.write(TURNS.head(1), f"{address}/notes.csv", storage_options=options)
    before = lying()
    with pytest.raises(WriteError, match="exists and is not empty"):
        rw.convert(TURNS, address, storage_options=options)
    assert lying() == before
    rw.convert(TURNS.filter(pl.col("target") == "base"), address, storage_options=options, overwrite=True)
    assert sorted(lying()) == ["runs/_manifest.json", "runs/notes.csv", "runs/turns-00000.parquet"]
    assert rw.read(address, storage_options=options)["target"].unique().to_list() == ["base"]


def test_an_upload_that_fails_leaves_no_manifest(store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half-way through its objects the store refuses: what lacks a manifest is unfinished, a former one included."""
    import obstore.store

    address, options, lying = store
    rw.convert(TURNS, address, rollouts_per_file=10, storage_options=options)
    assert f"runs/{MANIFEST}" in lying()
    put, sent = obstore.store.S3Store.put, []

    def breaking(self: object, name: str, *args: object, **kwargs: object) -> object:
        sent.append(name)
        if len(sent) == 3:
            raise OSError("the line is dead")
        return put(self, name, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(obstore.store.S3Store, "put", breaking)
    with pytest.raises(WriteError, match="the line is dead"):
        rw.convert(TURNS, address, rollouts_per_file=20, storage_options=options, overwrite=True)
    assert f"runs/{MANIFEST}" not in lying()
    assert MANIFEST not in sent


def test_nothing_is_sent_before_all_is_there(store) -> None:
    """A table that turns out to be wrong in its last file leaves the store as it was."""
    address, options, lying = store
    last = TURNS["rollout_id"].max()
    wrong = TURNS.filter((pl.col("rollout_id") != last) | (pl.col("turn") != 1))
    wrong = pl.concat([wrong, TURNS.filter(pl.col("rollout_id") == last)[:1].with_columns(turn=pl.lit(9, pl.Int32))])
    with pytest.raises(Exception, match="number the turns"):
        rw.convert(wrong, address, rollouts_per_file=10, storage_options=options)
    assert lying() == {}


def test_frames_are_written_whole(store) -> None:
    """By suffix, never over another unless allowed."""
    address, options, lying = store
    summary = rw.summarize(rw.measure(TURNS, m.attack_success), by="target")
    place = f"{address}/summary.parquet"
    assert rw.write(summary, place, storage_options=options) == place
    assert pl.read_parquet(place, storage_options=options).equals(summary)
    with pytest.raises(WriteError, match=r"exists and is not overwritten"):
        rw.write(summary, place, storage_options=options)
    rw.write(summary[:1], place, storage_options=options, overwrite=True)
    assert pl.read_parquet(place, storage_options=options).height == 1
    assert list(lying()) == ["runs/summary.parquet"]


def test_what_is_not_there_is_told_in_a_sentence(store) -> None:
    """No bucket, no objects: what, where, and what to do."""
    address, options, _ = store
    with pytest.raises(ReadError, match=r"s3://.*/runs: no such object or folder; check the address"):
        rw.read(address, storage_options=options)
    with pytest.raises(ReadError, match=r"s3://no-such-bucket/x cannot be read .The specified bucket does not exist."):
        rw.read("s3://no-such-bucket/x", storage_options=options)
    with pytest.raises(WriteError, match=r"s3://no-such-bucket/x cannot be written"):
        rw.convert(TURNS, "s3://no-such-bucket/x", storage_options=options)


def test_a_folder_there_is_held_to_its_manifest(store) -> None:
    """As one of this machine is: what is gone, cut or added is named by `read` and `scan`, and collecting keeps the rest."""
    import obstore.store

    address, options, _ = store
    rw.convert(TURNS, f"{address}/deep", rollouts_per_file=25, storage_options=options)
    config = {name: value for name, value in options.items() if name != "aws_allow_http"}
    place = obstore.store.S3Store.from_url(f"{address}/deep", config=config, client_options={"allow_http": True})  # type: ignore[arg-type]
    second = "turns-00001.parquet"
    data = bytes(place.get(second).bytes())
    for change, sentence in (
        (lambda: place.delete(second), "turns-00001.parquet of _manifest.json is missing"),
        (
            lambda: place.put(second, data + b"x"),
            f"turns-00001.parquet: has {len(data) + 1:,} bytes, not the {len(data):,}",
        ),
        (lambda: (place.put(second, data), place.put("copy.parquet", data)), "copy.parquet is not in"),
    ):
        change()
        for path in (address, f"{address}/deep", f"{address}/deep/"):
            for verb in (rw.read, rw.scan):
                with pytest.raises(ReadError, match=sentence):
                    verb(path, storage_options=options)
    _, problems = rw.read(f"{address}/deep/turns-00000.parquet", storage_options=options, errors="collect")
    assert problems.is_empty()
    place.delete("copy.parquet")
    assert rw.read(address, storage_options=options).height == TURNS.height
    place.delete(second)
    found, problems = rw.read(address, storage_options=options, errors="collect")
    assert found["rollout_id"].n_unique() == 35
    assert f"{second} of _manifest.json is missing" in problems[0, "reason"]
    place.put(MANIFEST, b'{"of": "another tool"}')
    assert rw.read(address, storage_options=options)["rollout_id"].n_unique() == 35


def test_columns_in_names_of_folders_are_facts_there_too(store, tmp_path: Path) -> None:
    """As on this machine: a data set of Polars, by its folder, a folder in it, a pattern and a file; odd names as well."""
    address, options, lying = store
    frame = pl.concat([TURNS.with_columns(split=pl.lit(word)) for word in ("a/b", "two words", None)])
    frame = frame.with_columns(pl.concat_str("rollout_id", pl.col("split").fill_null("none")).alias("rollout_id"))
    for place, needed in ((f"{tmp_path}/base/", None), (f"{address}/base/", options)):
        way = pl.PartitionBy(place, key=["target", "split", "attempt"], include_key=False)
        frame.lazy().sink_parquet(way, mkdir=True, storage_options=needed)
    assert any("split=a%2Fb" in name for name in lying())
    ours = rw.read(tmp_path / "base").sort(KEY)
    assert set(ours["split"]) == {"a/b", "two words", None}

    def check(place: str, here: pl.DataFrame) -> None:
        assert_frame_equal(rw.read(place, storage_options=options).sort(KEY), here.sort(KEY))
        assert_frame_equal(rw.scan(place, storage_options=options).collect().sort(KEY), here.sort(KEY))

    check(f"{address}/base", ours)
    base = ours.filter(pl.col("target") == "base")
    check(f"{address}/base/target=base", base)
    check(f"{address}/base/target=base/**/*.parquet", base)
    check(f"{address}/*/target=b*/split=*/*/*.parquet", base)
    name = next(name for name in lying() if "target=base/split=two%20words/attempt=2" in name)
    check(f"{address}/{name.removeprefix('runs/')}", base.filter(split="two words", attempt=2))


def test_what_stands_in_file_and_folder_there_must_agree(store) -> None:
    """The file's where they do, the folder's where it is null; else it is told. Plain files lie among the others."""
    address, options, _ = store

    def put(frame: pl.DataFrame, name: str) -> None:
        rw.write(frame, f"{address}/{name}", storage_options=options)

    some = rw.turns([{"rollout_id": f"r{number}", "response": "yes"} for number in range(4)])
    put(some[:1], "plain.parquet")
    put(some[1:2], "target=x/attempt=1/a.parquet")
    put(some[2:3].with_columns(target=pl.lit("y")), "target=y/a.parquet")
    for lazy in (rw.read(address, storage_options=options).lazy(), rw.scan(address, storage_options=options)):
        found = lazy.sort(KEY).collect()
        assert found.select("rollout_id", "target", "attempt").rows() == [
            ("r0", None, None),
            ("r1", "x", 1),
            ("r2", "y", None),
        ]
    put(some[3:].with_columns(target=pl.lit("y")), "target=z/b.parquet")
    for verb in (rw.read, rw.scan):
        with pytest.raises(
            ReadError, match=r"target=z/b.parquet: field `target`: says 'y', and its folder 'z'; correct"
        ):
            verb(address, storage_options=options)
    found, problems = rw.read(address, storage_options=options, errors="collect")
    assert (found.height, problems[0, "field"]) == (3, "target")


def test_partitions_are_measured_where_they_lie(store) -> None:
    """What a worker of the distributed run does with objects, and what it refuses."""
    address, options, _ = store
    rw.convert(TURNS, address, rollouts_per_file=25, storage_options=options)
    metrics = {"attack_success": m.attack_success(), "average_score": m.average("score")}
    items, work = partitions.prepare(address, metrics, None, hashed=True, options=options)
    assert [item.path for item in items] == [f"{address}/turns-0000{number}.parquet" for number in range(3)]
    results = {number: work(item) for number, item in enumerate(items)}
    frames = {number: result for number, result in results.items() if isinstance(result, pl.DataFrame)}
    found = partitions.combined(items, frames)
    assert found.equals(rw.measure(TURNS, *metrics.values()).sort("rollout_id").select(found.columns))
    rw.write(TURNS, items[1].path, storage_options=options, overwrite=True)
    refused = work(items[1])
    assert isinstance(refused, ReadError)
    assert "is not the file in _manifest.json" in str(refused)


def test_what_is_no_parquet_is_not_passed_over(store) -> None:
    """Without a manifest nothing says that other logs are not meant: as in a folder, they are named; markers are no logs."""
    import obstore.store

    address, options, _ = store
    rw.write(TURNS, f"{address}/one.parquet", storage_options=options)
    config = {name: value for name, value in options.items() if name != "aws_allow_http"}
    place = obstore.store.S3Store.from_url(address, config=config, client_options={"allow_http": True})  # type: ignore[arg-type]
    place.put("_SUCCESS", b"")
    assert [item.path for item in partitions.items_of(address, options)] == [f"{address}/one.parquet"]
    place.put("deep/more.jsonl", b"{}")
    with pytest.raises(
        ReadError, match=r"runs: holds other files than Parquet, which would be left out .deep/more.jsonl"
    ):
        partitions.items_of(address, options)


def test_what_a_dead_job_left_is_no_log(store) -> None:
    """Half-written copies of rollouts are passed over in a bucket as in a folder."""
    address, options, _ = store
    rw.write(TURNS, f"{address}/one.parquet", storage_options=options)
    rw.write(TURNS.head(3), f"{address}/_temporary/0/attempt_1/part-0.parquet", storage_options=options)
    assert rw.read(address, storage_options=options).height == TURNS.height
    assert rw.scan(address, storage_options=options).collect().height == TURNS.height


def test_columns_in_a_bucket_may_have_other_names(store) -> None:
    """What is read where it lies is read under our names, or told which column there is not."""
    address, options, _ = store
    rw.write(TURNS.rename({"goal": "behavior"}), f"{address}/one.parquet", storage_options=options)
    for found in (
        rw.read(address, names={"goal": "behavior"}, storage_options=options),
        rw.scan(address, names={"goal": "behavior"}, storage_options=options).collect(),
    ):
        assert found["goal"].to_list() == TURNS["goal"].to_list()
        assert "behavior" not in found.columns
    with pytest.raises(ArgumentError, match="did you mean `behavior`"):
        rw.read(address, names={"goal": "behaviour"}, storage_options=options)


def test_without_the_extra_it_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence with the command."""
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(ArgumentError, match=r"obstore is not installed; pip install 'obstore>=0\.12'$"):
        conversion.convert(TURNS, "s3://bucket/runs")
