"""The cache: what was read once is found again, and only that."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rollwise import read, scan
from rollwise.errors import ArgumentError, ReadError, WriteError
from rollwise.readers import read as reading

FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.fixture
def logs(tmp_path) -> Path:
    folder = tmp_path / "logs"
    for name in ("tau_bench", "garak", "claude_code", "pyrit"):
        shutil.copytree(FIXTURES / name, folder / name)
    (folder / "notes.txt").write_text("nothing")
    return Path(folder)


@pytest.fixture
def unread(monkeypatch):
    """No log may be read any more."""

    def refuse(*_: object) -> None:
        raise AssertionError("a log was read")

    def forbid() -> None:
        monkeypatch.setattr(reading, "turns_of", refuse)

    return forbid


@pytest.mark.integration
def test_the_second_reading_is_a_scan(logs, tmp_path, unread, capsys):
    first, problems = read(logs, errors="collect", cache=tmp_path / "cache")
    assert first.equals(read(logs, errors="collect")[0])
    capsys.readouterr()  # what is said where problems are collected, too
    plain = read(logs, cache=tmp_path / "cache")
    said = capsys.readouterr().err
    unread()
    again, problems_again = read(logs, errors="collect", cache=tmp_path / "cache")
    assert again.equals(first)
    assert again.schema == first.schema
    assert problems_again.equals(problems)
    capsys.readouterr()
    lazy = scan(logs, cache=tmp_path / "cache")
    assert "Parquet SCAN" in lazy.explain()
    assert lazy.collect().equals(first)
    assert read(logs, cache=tmp_path / "cache").equals(plain)
    assert capsys.readouterr().err == said * 2  # what is left out is said again


@pytest.mark.integration
def test_facts_fill_what_the_cache_leaves_null(logs, tmp_path, unread):
    read(logs, cache=tmp_path)
    unread()
    frame = read(logs, cache=tmp_path, target="gpt")
    assert frame.filter(source="tau_bench")["target"].unique().to_list() == ["gpt"]
    assert "parrot-1" in set(frame["target"])


@pytest.mark.integration
@pytest.mark.parametrize("change", ["content", "another", "gone", "format", "path"])
def test_what_changed_is_read_anew(logs, tmp_path, change):
    before = read(logs, cache=tmp_path / "cache")
    options: dict[str, Any] = {}
    match change:
        case "content":
            file = logs / "tau_bench" / "single.json"
            file.write_text(file.read_text().replace('"trial": 0', '"trial": 4').replace('"reward": 1', '"reward": 0'))
        case "another":
            shutil.copytree(FIXTURES / "mint", logs / "mint")
        case "gone":
            shutil.rmtree(logs / "pyrit")
        case "format":
            options = {"format": "garak"}
        case "path":
            logs = logs / "tau_bench"
    after = read(logs, cache=tmp_path / "cache", **options)
    assert not after.equals(before)
    assert after.equals(read(logs, **options))


@pytest.mark.integration
def test_a_cache_among_the_logs_is_none_of_them(logs):
    first = read(logs, cache=logs)
    assert read(logs, cache=logs).equals(first)
    assert read(logs).equals(first)
    assert len([path for path in logs.iterdir() if path.name.startswith(".rollwise-")]) == 2


@pytest.mark.integration
def test_half_a_cache_is_read_anew(logs, tmp_path):
    first = read(logs, cache=tmp_path / "cache")
    for file in (tmp_path / "cache").iterdir():
        file.write_bytes(file.read_bytes()[:20])
    assert read(logs, cache=tmp_path / "cache").equals(first)
    assert read(logs, cache=tmp_path / "cache").equals(first)


@pytest.mark.integration
def test_what_was_collected_does_not_hide_an_error(logs, tmp_path):
    (logs / "half.json").write_text('{"task_id": 1, "reward": 1, "traj": [')
    read(logs, errors="collect", cache=tmp_path / "cache")
    for _ in range(2):
        with pytest.raises(ReadError, match=r"half\.json"):
            read(logs, cache=tmp_path / "cache")


def test_a_cache_that_cannot_be_one(logs, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(ArgumentError, match="is a file; name a folder"):
        read(logs, cache=file)
    with pytest.raises(WriteError, match="cannot be written"):
        read(logs, cache=file / "below")


def test_a_folder_where_nothing_can_be_read_is_not_kept(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(ReadError):
        read(tmp_path, cache=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


@pytest.mark.integration
def test_the_cache_is_faster_than_the_logs(shared, tmp_path):
    frame = read(shared / "mint", cache=tmp_path)
    lazy = scan(shared / "mint", cache=tmp_path).select(pl.col("turn").count())
    assert lazy.collect().item() == frame["turn"].count() == 4639


@pytest.mark.integration
def test_a_flipped_byte_is_read_again(logs: Path, tmp_path: Path) -> None:
    """Wherever it is, in the turns or in the problems: the checksum shows it before anything is used."""
    folder = tmp_path / "cache"
    first, problems = read(logs, errors="collect", cache=folder)
    chance = random.Random(9)
    for path in sorted(folder.iterdir()):
        whole = path.read_bytes()
        for place in [0, 4, len(whole) - 1, len(whole) - 6, *(chance.randrange(len(whole)) for _ in range(12))]:
            damaged = bytearray(whole)
            damaged[place] ^= 1 << chance.randrange(8)
            path.write_bytes(damaged)
            again, problems_again = read(logs, errors="collect", cache=folder)
            assert again.equals(first)
            assert problems_again.equals(problems)
            assert path.read_bytes() == whole, "the cache is not mended"


def test_the_cached_turns_of_another_reading_are_not_used(logs: Path, tmp_path: Path) -> None:
    """A sound Parquet file of other turns under the name of the cache, and problems without a checksum as of old."""
    folder = tmp_path / "cache"
    first = read(logs, errors="collect", cache=folder)[0]
    parquet, memory = next(folder.glob("*.parquet")), next(folder.glob("*.json"))
    first.with_columns(pl.lit(value=True).alias("succeeded")).write_parquet(parquet)
    assert read(logs, errors="collect", cache=folder)[0].equals(first)
    memory.write_text(json.dumps(json.loads(memory.read_text())["problems"]))
    assert read(logs, errors="collect", cache=folder)[0].equals(first)


@pytest.mark.integration
def test_a_cache_that_is_a_link_is_not_written_through(tmp_path):
    """The cache may be among the logs, and whoever made these can know its name."""
    (tmp_path / "log.csv").write_text("rollout_id,prompt\na,Hi\n")
    read(tmp_path / "log.csv", cache=tmp_path / "cache")
    (tmp_path / "mine.txt").write_text("mine")
    for path in (tmp_path / "cache").iterdir():
        path.unlink()
        path.symlink_to(tmp_path / "mine.txt")
    assert read(tmp_path / "log.csv", cache=tmp_path / "cache").height == 1
    assert (tmp_path / "mine.txt").read_text() == "mine"
