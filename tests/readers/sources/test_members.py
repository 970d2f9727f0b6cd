"""Zip and tar archives of logs: each member is a file of the reading, and nothing else of an archive is trusted."""

import gzip
import io
import json
import lzma
import os
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import read
from rollwise.cli import run
from rollwise.errors import ReadError

FIXTURES = Path(__file__).parents[1] / "fixtures"
CSV = b"rollout_id,prompt,response,succeeded\na,Hi,No,false\n"
OWN = {"model": "x", "results": [{"attack_prompt": f"Do {n}", "victim_response": f"No {n}"} for n in range(3)]}
COLUMNS = ["prompt", "response"]


def parquet() -> bytes:
    file = io.BytesIO()
    pl.DataFrame({"rollout_id": ["p"], "prompt": ["Q"], "response": ["[{" * 200]}).write_parquet(file)
    return file.getvalue()


def arrow() -> bytes:
    file = io.BytesIO()
    pl.DataFrame({"rollout_id": ["h"], "prompt": ["Q"], "response": ["A"]}).write_ipc_stream(file)
    return file.getvalue()


FILES: dict[str, bytes] = {
    "runs/own.json": json.dumps(OWN).encode(),
    "runs/mine.csv": CSV,
    "deep/er/b.csv.gz": gzip.compress(CSV.replace(b"a,Hi", b"b,Hi")),
    "c.csv": "rollout_id,prompt,response,succeeded\nc,Größe,Nö,true\n".encode("cp1252"),
    "table.parquet": parquet(),
    "__MACOSX/runs/._own.json": b"\0\5\x16\7",
    ".DS_Store": b"\0\0",
}


def zipped(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("runs/", b"")
        for name, data in files.items():
            archive.writestr(name, data)
    return file.getvalue()


def tarred(files: dict[str, Any], mode: str = "w") -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in files.items():
            about = data if isinstance(data, tarfile.TarInfo) else tarfile.TarInfo(name)
            about.size = len(data) if isinstance(data, bytes) else 0
            archive.addfile(about, io.BytesIO(data) if isinstance(data, bytes) else None)
    return file.getvalue()


ARCHIVES = {
    "logs.zip": zipped(FILES),
    "stored.zip": zipped(FILES, zipfile.ZIP_STORED),
    "logs.tar": tarred(FILES),
    "logs.tar.gz": tarred(FILES, "w:gz"),
    "logs.tgz": tarred(FILES, "w:gz"),
    "logs.tar.bz2": tarred(FILES, "w:bz2"),
    "logs.tar.xz": tarred(FILES, "w:xz"),
    "no_suffix": zipped(FILES),
    "of_a_folder.tar": tarred(
        {f"./{name}": data for name, data in FILES.items()}
    ),  # as `tar -cf logs.tar .` names them
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, data in FILES.items():
        (tmp_path / "plain" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "plain" / name).write_bytes(data)
    return tmp_path


@pytest.mark.integration
@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_is_read_as_its_folder(folder, name, capsys):
    """Ids come from the files, so that they are the same in both."""
    (folder / name).write_bytes(ARCHIVES[name])
    columns = ["rollout_id", "turn", *COLUMNS, "succeeded"]
    expected = read(folder / "plain").select(columns).sort("rollout_id")
    assert expected.height == 7
    capsys.readouterr()
    assert read(folder / name).select(columns).sort("rollout_id").equals(expected)
    assert f"1 file read as Windows-1252: {folder / name / 'c.csv'}\n" in capsys.readouterr().err
    accounts = rw.readers.accounting(folder / name)
    assert sorted(accounts["file"]) == sorted(
        str(folder / name / file) for file in FILES if not file.startswith((".", "__"))
    )


@pytest.mark.integration
@pytest.mark.parametrize("name", ["logs.zip", "logs.tar.gz"])
def test_archives_in_a_folder_in_a_cache_and_in_the_command(folder, name, capsys):
    path = folder / "logs" / name
    path.parent.mkdir()
    path.write_bytes(ARCHIVES[name])
    first = read(path.parent, cache=folder / "cache")
    assert read(path.parent, cache=folder / "cache").equals(first)
    assert rw.scan(path.parent).collect().height == first.height == 7
    path.write_bytes(zipped({"mine.csv": CSV}))
    assert read(path.parent, cache=folder / "cache")["rollout_id"].to_list() == ["a"]
    with pytest.raises(SystemExit, match="0"):
        run(["summarize", str(path), "--metric", "attack_success"])
    assert "0 %" in capsys.readouterr().out


@pytest.mark.integration
def test_logs_of_tools_are_read_in_an_archive_too(tmp_path):
    """Also an `.eval` archive in it; an archive of that kind stays one log, whatever its name."""
    logs = [tmp_path / "log.eval", *sorted(FIXTURES.glob("verl/*.jsonl"))[:1]]
    whole = json.loads(next(FIXTURES.glob("inspect/*.json")).read_bytes())
    samples = {f"samples/{each['id']}_epoch_{each['epoch']}.json": each for each in whole.pop("samples")}
    parts = {"header.json": whole, **samples}
    logs[0].write_bytes(zipped({name: json.dumps(part).encode() for name, part in parts.items()}))
    (tmp_path / "all.zip").write_bytes(zipped({path.name: path.read_bytes() for path in logs}))
    expected = [read(path) for path in logs]
    frame = read(tmp_path / "all.zip")
    assert {*frame["source"]} == {"inspect", "verl"}
    assert frame.height == sum(each.height for each in expected)
    (tmp_path / "log.zip").write_bytes(logs[0].read_bytes())
    assert read(tmp_path / "log.zip")["source"].unique().to_list() == ["inspect"]


def test_what_belongs_to_a_data_set_is_passed_over_as_in_a_folder(tmp_path):
    """Metadata of Hugging Face, and what rollwise writes beside its turns."""
    data_set = {"d/dataset_info.json": b"{}", "d/state.json": b"{}", "d/x.arrow": arrow()}
    ours = {"r/turns.parquet": parquet(), "r/metrics.json": b"{}", "r/config_metadata.json": b"{}"}
    (tmp_path / "a.zip").write_bytes(zipped(data_set | ours))
    frame, problems = read(tmp_path / "a.zip", errors="collect")
    assert sorted(frame["rollout_id"]) == ["h", "p"]
    assert problems.is_empty()


@pytest.mark.integration
def test_one_file_in_an_archive_is_refused_or_asked_about_as_that_file(tmp_path):
    (tmp_path / "a.zip").write_bytes(zipped({"notes.txt": b"nothing"}))
    with pytest.raises(ReadError, match=r"a\.zip/notes\.txt: is not recognized"):
        read(tmp_path / "a.zip")
    (tmp_path / "b.zip").write_bytes(zipped({"reply.csv": b"rollout_id,frage,antwort\na,Was?,Das\n"}))
    frame = read(tmp_path / "b.zip", names={"prompt": "frage", "response": "antwort"})
    assert frame.select(COLUMNS).rows() == [("Was?", "Das")]
    assert rw.propose(tmp_path / "b.zip").rollouts == 1 or "frage" in str(rw.propose(tmp_path / "b.zip"))


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    about = tarfile.TarInfo(name)
    about.type, about.linkname = kind, target
    return about


def zip_link() -> bytes:
    about = zipfile.ZipInfo("b.csv")
    about.create_system, about.external_attr = 3, 0o120777 << 16
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("mine.csv", CSV)
        archive.writestr(about, "/etc/passwd")
    return file.getvalue()


def with_journal() -> dict[str, bytes]:
    return {"mine.csv": CSV, "x.db": b"SQLite format 3\0", "x.db-wal": b"pages"}


GOOD: dict[str, Any] = {"mine.csv": CSV}
HOSTILE: dict[str, tuple[str, bytes, str]] = {
    "above": ("a.zip", zipped(GOOD | {"../b.csv": CSV}), "has a name that leads out of the archive"),
    "absolute": ("a.zip", zipped(GOOD | {"/etc/b.csv": CSV}), "has a name that leads out of the archive"),
    "a drive": ("a.zip", zipped(GOOD | {"C:\\b.csv": CSV}), "has a name that leads out of the archive"),
    "above, on Windows": ("a.zip", zipped(GOOD | {"x\\..\\..\\b.csv": CSV}), "has a name that leads out"),
    "in a tar": ("a.tar", tarred(GOOD | {"x/../../b.csv": CSV}), "has a name that leads out of the archive"),
    "two lines": ("a.zip", zipped(GOOD | {"b\nc.csv": CSV}), "has a name with control characters"),
    "a link": ("a.tar", tarred(GOOD | {"l": link("b.csv", "/etc/passwd")}), "is a link, which is not followed"),
    "a hard link": ("a.tar", tarred(GOOD | {"l": link("b.csv", "mine.csv", tarfile.LNKTYPE)}), "is a link, which"),
    "a link in a zip": ("a.zip", zip_link(), "is a link, which is not followed"),
    "a device": ("a.tar", tarred(GOOD | {"l": link("b.csv", "", tarfile.CHRTYPE)}), "is no file"),
    "a cut tar": ("a.tar", tarred(GOOD | {"b.csv": CSV * 99})[:2600], "is cut, perhaps half-written"),
    "damage": (
        "a.zip",
        zipped(GOOD | {"b.csv": CSV * 9}, 0).replace(CSV * 9, CSV[:-2] + b"!\n" + CSV * 8),
        "is damaged",
    ),
    "a journal": ("a.zip", zipped(with_journal()), "has a journal beside it"),
}


@pytest.mark.parametrize(("name", "data", "says"), HOSTILE.values(), ids=HOSTILE)
def test_a_member_that_is_not_read_is_named_and_the_others_are_read(tmp_path, name, data, says):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ReadError, match=says) as told:
        read(tmp_path / name)
    assert f"{name}" in str(told.value)
    frame, problems = read(tmp_path / name, errors="collect")
    assert frame["rollout_id"].to_list() == ["a"]
    assert problems["reason"].str.contains(says.partition(" .*")[0]).sum() == 1
    assert os.listdir(tmp_path) == [name]  # noqa: PTH208


def test_an_archive_in_an_archive_is_not_opened(tmp_path):
    inner = {"mine.csv": CSV, "b.zip": zipped({"b.csv": CSV}), "b.tar.gz": tarred({"b.csv": CSV}, "w:gz")}
    (tmp_path / "a.zip").write_bytes(zipped(inner))
    frame, problems = read(tmp_path / "a.zip", errors="collect")
    assert frame["rollout_id"].to_list() == ["a"]
    assert sorted(problems["reason"]) == ["is a tar archive: unpack it first", "is a zip archive: unpack it first"]


def test_of_two_members_of_one_name_the_later_is_read(tmp_path):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("mine.csv", CSV.replace(b"a,Hi", b"old,Hi"))
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("mine.csv", CSV)
    (tmp_path / "a.zip").write_bytes(file.getvalue())
    frame, problems = read(tmp_path / "a.zip", errors="collect")
    assert frame["rollout_id"].to_list() == ["a"]
    assert problems.select("record", "reason").rows() == [
        ("mine.csv", "occurs again later in the archive, and that one is read")
    ]


BROKEN = {
    "cut.zip": (lambda: ARCHIVES["logs.zip"][:-40], "is not a complete zip archive"),
    "cut.tar": (
        lambda: ARCHIVES["logs.tar"][: ARCHIVES["logs.tar"].rindex(CSV[:9])],
        "is cut|is not a complete tar archive",
    ),
    "cut.tar.gz": (lambda: ARCHIVES["logs.tar.gz"][:-40], "is not a complete gzip file"),
    "empty.tar.gz": (lambda: tarred({"x": link("x", "", tarfile.DIRTYPE)}, "w:gz"), "is an archive without files"),
    "a.csv.xz": (lambda: lzma.compress(ARCHIVES["logs.zip"]), "is a zip archive: unpack it first"),
    "bomb.zip": (lambda: zipped(GOOD | {"b.csv": CSV + b"\n" * 10**8}), "would unpack .* zip bomb"),
    "end.tar": (lambda: tarred(GOOD)[:1024], "is not a complete tar archive"),
}


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_archive_is_one_sentence(tmp_path, name):
    data, says = BROKEN[name]
    (tmp_path / name).write_bytes(data())
    with pytest.raises(ReadError, match=says):
        read(tmp_path / name)
    (tmp_path / "mine.csv").write_bytes(CSV)
    frame, problems = read(tmp_path, errors="collect")
    assert "a" in frame["rollout_id"].to_list()
    assert problems["reason"].str.contains(says).any()


def test_all_members_together_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("rollwise.readers.sources.compression.SMALL_TOGETHER", 10**6)
    monkeypatch.setattr("rollwise.readers.sources.compression.MOST_TIMES", 2)
    files = {f"{n}.csv": CSV + b"\n" * 400_000 for n in range(4)}
    (tmp_path / "a.zip").write_bytes(zipped(files))
    with pytest.raises(ReadError, match="would unpack, with the files before it, to more than"):
        read(tmp_path / "a.zip")
