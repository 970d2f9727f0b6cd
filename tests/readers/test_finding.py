"""What is in a folder of logs and cannot be read costs itself alone, and is named."""

import gzip
import itertools
import json
import os
import socket
import stat
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ArgumentError, ReadError
from rollwise.readers import Problems
from rollwise.readers.by_format import tables_of
from rollwise.readers.names import checked_names
from rollwise.readers.naming import Naming
from rollwise.readers.sources.paths import documents

CHAT = json.dumps({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]})


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder with one log."""
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "a.jsonl").write_text(f"{CHAT}\n")
    return folder


def problems_of(folder: Path, num_rollouts: int = 1) -> list[tuple[str, str]]:
    turns, problems = rw.read(folder, errors="collect")
    assert turns.height == num_rollouts
    return [(Path(file).name, reason) for file, reason in problems.select("file", "reason").iter_rows()]


@pytest.mark.parametrize("name", ["lost.jsonl", "runs"])
def test_a_link_that_leads_nowhere_is_a_lost_log(logs: Path, name: str) -> None:
    """On a disk that is not mounted, it would be missing from every rate."""
    (logs / name).symlink_to("/no such disk/log.jsonl")
    reason = "is a link to /no such disk/log.jsonl, which is not there: mount its disk, or remove the link"
    assert problems_of(logs) == [(name, reason)]
    with pytest.raises(ReadError, match=f'{name}: {reason}; errors="collect" reads the rest'):
        rw.read(logs)
    with pytest.raises(ReadError, match=reason):
        rw.read(logs / name)


def test_a_link_to_itself_is_named(logs: Path) -> None:
    (logs / "loop.jsonl").symlink_to(logs / "loop.jsonl")
    assert [name for name, _ in problems_of(logs)] == ["loop.jsonl"]


def test_links_to_other_logs_are_read_and_hidden_files_are_no_problem(logs: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.jsonl").write_text(f"{CHAT}\n{CHAT}\n")
    (logs / "b.jsonl").symlink_to(tmp_path / "elsewhere.jsonl")
    (logs / "c.jsonl").symlink_to(logs / "a.jsonl")
    (logs / ".DS_Store").write_bytes(b"\0\0\0\1Bud1")
    (logs / ".lost").symlink_to("/nowhere")
    assert problems_of(logs, 3) == []


def test_pipes_and_sockets_are_named_and_not_opened(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(logs / "p.jsonl")
    with socket.socket(socket.AF_UNIX) as endpoint:
        endpoint.bind(str(logs / "s"))
        assert problems_of(logs) == [("p.jsonl", "is a pipe, not a file"), ("s", "is a socket, not a file")]
        assert rw.read(logs).height == 1  # no log is lost
        assert f"2 files not recognized: {logs}/p.jsonl, {logs}/s" in capsys.readouterr().err


@pytest.mark.skipif(os.getuid() != 0, reason="only root makes devices")
def test_a_device_is_named(logs: Path) -> None:
    try:
        os.mknod(logs / "zero.jsonl", stat.S_IFCHR | 0o600, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("this container makes no devices")
    assert problems_of(logs) == [("zero.jsonl", "is a device, not a file")]


def test_a_folder_of_nothing_but_a_lost_link_says_so(tmp_path: Path) -> None:
    (tmp_path / "lost.jsonl").symlink_to("/nowhere")
    with pytest.raises(
        ReadError, match=r"nothing could be read \(1 problem; first, .*lost\.jsonl: is a link to /nowhere"
    ):
        rw.read(tmp_path, errors="collect")


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        (0o600, "may not be entered (permission denied): `chmod u+x` it"),
        (0o000, "cannot be listed (Permission denied)"),
    ],
)
def test_a_folder_that_cannot_be_entered_costs_itself_alone(logs: Path, mode: int, reason: str) -> None:
    closed = logs / "closed"
    closed.mkdir()
    (closed / "b.jsonl").write_text(CHAT)
    for path in (logs, *logs.parents):
        if path.stat().st_uid == os.getuid() and path != Path("/"):
            path.chmod(path.stat().st_mode | 0o055)
    if os.getuid() == 0:
        os.chown(closed, 65534, -1)
        os.seteuid(65534)
    closed.chmod(mode)
    try:
        assert problems_of(logs) == [("closed", reason)]
        with pytest.raises(ReadError, match=r"closed: .*; errors=\"collect\" reads the rest"):
            rw.read(logs)
    finally:
        closed.chmod(0o700)
        os.seteuid(os.getuid())


def test_a_file_that_is_deleted_after_its_folder_was_listed_costs_itself_alone(logs: Path) -> None:
    (logs / "b.jsonl").write_text(CHAT)
    (logs / "c.jsonl").write_text(f"{CHAT}\n{CHAT}\n")
    for collect in (True, False):
        problems = Problems(collect=collect)
        found = documents([logs], problems)
        files = itertools.chain([next(found)], found)  # listed, and only the first is opened
        (logs / "b.jsonl").unlink()
        reason = "is no longer there: it was moved or deleted after its folder was listed"
        if collect:
            tables = tables_of(files, [logs], None, problems, Naming(checked_names(None), problems))
            assert sum(table.height for table in tables) == 3
            assert problems.frame().rows() == [(str(logs / "b.jsonl"), None, None, reason)]
        else:
            with pytest.raises(ReadError, match=f'b.jsonl: {reason}; errors="collect" reads the rest'):
                tables_of(files, [logs], None, problems, Naming(checked_names(None), problems))
        (logs / "b.jsonl").write_text(CHAT)


def test_a_file_that_is_deleted_between_listing_and_status_costs_itself_alone(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (logs / "b.jsonl").write_text(CHAT)
    status = Path.stat

    def delete_first(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if path.name == "b.jsonl":
            path.unlink(missing_ok=True)
        return status(path, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", delete_first)
    assert problems_of(logs) == [("b.jsonl", "is no longer there: it was moved or deleted after its folder was listed")]


def test_a_file_that_cannot_be_read_does_not_keep_others_out_of_a_cache(logs: Path, tmp_path: Path) -> None:
    (logs / "lost.jsonl").symlink_to("/nowhere")
    for _ in range(2):
        turns, problems = rw.read(logs, errors="collect", cache=tmp_path / "cache")
        assert (turns.height, problems.height) == (1, 1)


@pytest.mark.integration
def test_names_that_are_not_utf_8_are_spelled_out(logs: Path) -> None:
    whole, broken = (os.fsencode(logs) + name for name in (b"/ok\xff.jsonl", b"/bad\xff.jsonl"))
    for name, text in ((whole, f"{CHAT}\n{CHAT}\n"), (broken, "{bad")):
        with open(name, "w", encoding="utf-8") as file:  # noqa: PTH123  # the name is bytes
            file.write(text)
    turns, problems = rw.read(logs, errors="collect")
    assert turns.height == 3
    assert problems["file"].to_list() == [f"{logs}/bad\\udcff.jsonl"]
    accounts = rw.readers.accounting(logs)
    assert accounts.select("file", "rollouts").rows() == [
        (f"{logs}/a.jsonl", 1),
        (f"{logs}/bad\\udcff.jsonl", 0),
        (f"{logs}/ok\\udcff.jsonl", 2),
    ]
    link = Path(os.fsdecode(broken))
    link.unlink()
    link.symlink_to(os.fsdecode(b"/nowhere\xff"))
    assert problems_of(logs, 3)[0][0] == "bad\\udcff.jsonl"


def test_a_file_that_begins_with_blank_lines_is_read(logs: Path) -> None:
    blank = "\n" * 70_000
    (logs / "a.jsonl").write_text(f"{blank}{CHAT}\n")
    (logs / "b.json").write_text(f"{blank}[{CHAT}, {CHAT}]")
    (logs / "c.csv").write_text(f"{blank}rollout_id,prompt,response\nx,Hi,No\n")
    assert problems_of(logs, 4) == []
    (logs / "d.jsonl").write_text(blank)
    assert problems_of(logs, 4) == [("d.jsonl", "is empty")]


@pytest.mark.integration
@pytest.mark.parametrize("blank", [b"\n", b" " * 70_000, b"\r\n" * 200_000, b"\xef\xbb\xbf \n", b"\t\n" * 131_072])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_blank_beginnings_of_any_length_are_skipped_packed_or_not(logs: Path, blank: bytes, pack: Any) -> None:
    """As many as a block of the file holds, or more; also after a byte-order mark, and in a compressed file."""
    suffix = "" if pack is bytes else ".gz"
    (logs / f"b.json{suffix}").write_bytes(pack(blank + f"[{CHAT}]".encode()))
    lines = blank.replace(b" ", b"\n").replace(b"\t", b"")
    (logs / f"c.csv{suffix}").write_bytes(pack(lines + b"rollout_id,prompt,response\nx,Hi,No\n"))
    assert problems_of(logs, 3) == []


@pytest.mark.integration
@pytest.mark.parametrize("errors", ["raise", "collect"])
def test_a_log_below_a_thousand_folders_is_read(tmp_path: Path, errors: Any) -> None:
    """`os.walk` of Python 3.11 fails there; a pattern is one sentence, as Python's own matching of patterns fails."""
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1200):  # one by one, as a path is limited to 4,096 bytes, and a name may be long
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    file = os.open("a.csv", os.O_WRONLY | os.O_CREAT, dir_fd=here)
    os.write(file, b"rollout_id,goal,prompt,response,succeeded\na,g,p,r,true\n")
    os.close(file)
    os.close(here)
    made = rw.read(tmp_path, errors=errors)
    turns = made if isinstance(made, pl.DataFrame) else made.frame
    assert turns["rollout_id"].to_list() == ["a"]
    try:
        assert rw.read(f"{tmp_path}/**/*.csv").equals(turns)
    except ArgumentError as error:
        assert "the folders are too deep for a pattern; name the folder itself" in str(error)  # noqa: PT017
    subprocess.run(["rm", "-r", str(tmp_path / "d")], check=True)  # which pytest could not
