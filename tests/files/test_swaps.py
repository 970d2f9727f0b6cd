"""A folder is replaced as one: killed between any two steps, the old or the new is there, and nothing of the user's is lost."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PureWindowsPath
from typing import Any

import pytest

from rollwise.errors import WriteError
from rollwise.files.atomic import check_folder, whole, whole_folder
from rollwise.files.swaps import inside

OLD, NEW, USER = ("a.txt", "b.txt", "figures/c.svg"), ("b.txt", "figures/d.svg", "e.txt"), ("notes/mine.md", "my.txt")

# One process forks a child for each step: its hook sees every rename, link, removal and opening of Python, and kills at the n-th.
KILLER = """
import ctypes, json, os, signal, sys
from pathlib import Path
from rollwise.files.atomic import check_folder, whole_folder

place, inside, first = Path(sys.argv[1]), sys.argv[2] == "inside", sys.argv[3] == "first"
OLD, NEW, USER = json.loads(sys.argv[4])
WATCHED = {"os.rename", "os.link", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "open", "ctypes.dlsym", "shutil.rmtree"}

def fill(out, names, text):
    with whole_folder(out, overwrite=True, earlier=lambda folder: set(OLD) | set(NEW)) as draft:
        for name in names:
            (draft / name).parent.mkdir(exist_ok=True)
            (draft / name).write_text(text)

def content(out):
    names = [name for name in (*OLD, *NEW) if (out / name).exists()]
    return sorted({name: (out / name).read_text() for name in names}.items())

def run(number):
    out = place / str(number) / "report"
    out.mkdir(parents=True)
    if not first:
        fill(out, OLD, "old")
        for name in USER:
            (out / name).parent.mkdir(exist_ok=True)
            (out / name).write_text("mine")
    before = content(out)
    child = os.fork()
    if not child:
        if inside:
            os.chdir(out)
        steps = [0]
        def hook(event, arguments):
            if event in WATCHED:
                steps[0] += 1
                if steps[0] == number:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(hook)
        fill(out, NEW, "new")
        os._exit(0)
    killed = os.waitpid(child, 0)[1] != 0
    seen = content(out)
    if inside:  # the next command repairs
        check_folder(out, overwrite=True)
    return killed, {"before": before, "seen": seen, "then": content(out),
                    "user": first or all((out / name).read_text() == "mine" for name in USER)}, out

for number in range(1, 1000):
    killed, record, out = run(number)
    fill(out, NEW, "new")
    left = [str(path.relative_to(place)) for path in (place / str(number)).rglob("*.[np][ea]*") if path.name[0] == "."]
    print(json.dumps({**record, "left": left, "last": content(out)}))
    if not killed:
        break
"""


@pytest.mark.integration
@pytest.mark.parametrize("earlier", ["first", "again"])
@pytest.mark.parametrize("where", ["beside", "inside"])
def test_killed_before_any_step_the_old_or_the_new_is_there(tmp_path: Path, where: str, earlier: str) -> None:
    """Beside the folder at every moment; inside it (it is the working folder) once the next command has looked at it."""
    names = json.dumps([OLD, NEW, USER])
    command = [sys.executable, "-c", KILLER, str(tmp_path), where, earlier, names]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    new = sorted([name, "new"] for name in NEW)
    assert len(records) > 12
    assert records[-1]["seen"] == new
    for record in records:
        assert record["then"] in (record["before"], new)
        assert where == "inside" or record["seen"] == record["then"]
        assert record["user"]
        assert record["left"] == []
        assert record["last"] == new
    assert {json.dumps(record["then"]) for record in records} == {json.dumps(records[0]["before"]), json.dumps(new)}


def filled(out: Path, names: tuple[str, ...], earlier: tuple[str, ...] = ()) -> None:
    with whole_folder(out, overwrite=True, earlier=lambda _: set(earlier)) as draft:
        for name in names:
            (draft / name).parent.mkdir(exist_ok=True)
            (draft / name).write_text(name)


def files(folder: Path) -> list[str]:
    # `rglob` fails, before Python 3.13, where another thread removes a folder meanwhile.
    paths = (Path(where, name) for where, folders, names in os.walk(folder) for name in (*folders, *names))
    return sorted(path.relative_to(folder).as_posix() for path in paths if path.is_symlink() or not path.is_dir())


@pytest.mark.parametrize("where", ["beside", "inside"])
def test_files_of_the_earlier_run_go_and_others_stay(
    tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user's own stay with their content, permissions, links and empty folders; the earlier run's all go."""
    out = tmp_path / "out"
    filled(out, OLD)
    private = out / "private"
    private.mkdir(mode=0o700)
    (private / "mine.txt").write_text("mine")
    (private / "mine.txt").chmod(0o600)
    (out / "latest").symlink_to("private")
    (out / "empty").mkdir()
    out.chmod(0o750)
    if where == "inside":
        monkeypatch.chdir(out)
    filled(out, NEW, OLD)
    assert files(out) == sorted([*NEW, "latest", "private/mine.txt"])
    assert (out / "b.txt").read_text() == "b.txt"
    assert (private / "mine.txt").read_text() == "mine"
    modes = [path.stat().st_mode & 0o777 for path in (private / "mine.txt", private, out)]
    assert modes == [0o600, 0o700, 0o750]
    assert (out / "latest").is_symlink()
    assert (out / "empty").is_dir()
    assert files(tmp_path) == [f"out/{name}" for name in files(out)]


def test_a_link_to_a_folder_stays_a_link(tmp_path: Path) -> None:
    """The folder that it points to is replaced."""
    filled(tmp_path / "monday", OLD)
    (tmp_path / "latest").symlink_to("monday")
    filled(tmp_path / "latest", NEW, OLD)
    assert (tmp_path / "latest").is_symlink()
    assert files(tmp_path / "monday") == sorted(NEW)


def test_a_list_of_names_never_leads_out_of_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with unfinished moves may come from anywhere, such as an archive: they are not ours to complete."""
    out, mine = tmp_path / "out", tmp_path / "mine.txt"
    mine.write_text("mine")
    moving = out / ".out.0a1b2c3d.next"
    moving.mkdir(parents=True)
    (moving / ".stale.json").write_text(json.dumps(["../mine.txt", str(mine)]))
    (moving / "a.txt").write_text("a")
    (out / ".draft.next").write_text("a file of the user's own")
    monkeypatch.chdir(out)
    check_folder(out, overwrite=True)
    assert mine.read_text() == "mine"
    assert files(out) == [".draft.next", ".out.0a1b2c3d.next/.stale.json", ".out.0a1b2c3d.next/a.txt"]


def test_drafts_of_killed_processes_are_removed_and_those_of_others_are_not(tmp_path: Path) -> None:
    """A lock tells them apart; only drafts of the same name are looked at."""
    for name in (".out.0a1b2c3d.part", ".other.0a1b2c3d.part", ".out.x.part"):
        (tmp_path / name).mkdir()
    (tmp_path / ".t.csv.0a1b2c3d.part").write_text("half")
    os.mkfifo(tmp_path / ".t.csv.1a1b2c3d.part")
    with whole_folder(tmp_path / "out") as living, whole(tmp_path / "t.csv") as draft:
        (living / "a.txt").write_text("a")
        draft.write_text("a")
        filled(tmp_path / "out", ("b.txt",))
        with whole(tmp_path / "t.csv", overwrite=True) as second:
            second.write_text("b")
        assert living.exists()
        assert (tmp_path / "t.csv").read_text() == "b"
        (tmp_path / "out" / "b.txt").unlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".other.0a1b2c3d.part", ".out.x.part", "out", "t.csv"]
    assert (tmp_path / "t.csv").read_text() == "a"


@pytest.mark.integration
@pytest.mark.parametrize("where", ["beside", "inside"])
def test_many_that_replace_one_folder_at_once_never_mix(
    tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each leaves a whole result, so the last one is whole."""
    out = tmp_path / "out"
    filled(out, OLD)
    (out / "mine.txt").write_text("mine")
    if where == "inside":
        monkeypatch.chdir(out)

    def earlier(folder: Path) -> set[str]:
        return {name for name in files(folder) if name.startswith(("a", "b", "figures/", "w"))}

    def write(number: int) -> None:
        for _ in range(5):
            with whole_folder(out, overwrite=True, earlier=earlier) as draft:
                for name in ("b.txt", f"w{number}.txt", "e.txt"):
                    (draft / name).write_text(str(number))

    with ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            list(pool.map(write, range(4)))  # also raises what a thread raised
            written = (out / "b.txt").read_text()
            assert files(out) == sorted(["b.txt", "e.txt", f"w{written}.txt", "mine.txt"])
            assert (out / "e.txt").read_text() == written


def test_a_file_in_the_place_of_a_new_subfolder_is_one_sentence(tmp_path: Path) -> None:
    """The user's file stays, and so does the earlier result."""
    out = tmp_path / "out"
    filled(out, ("b.txt",))
    (out / "figures").write_text("mine")
    with pytest.raises(WriteError, match=r"cannot be written \(.*figures is a file\)"):
        filled(out, NEW)
    assert files(out) == ["b.txt", "figures"]
    (out / "e.txt").mkdir()
    with pytest.raises(WriteError, match=r"cannot be written \(.*e.txt is a folder\)"):
        filled(out, ("e.txt",))


def test_without_an_exchange_files_are_moved_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as on a network disk: no file of the user's is moved, linked or gone."""
    out = tmp_path / "out"
    filled(out, OLD)
    (out / "mine.txt").write_text("mine")
    number = (out / "mine.txt").stat().st_ino
    monkeypatch.setattr("rollwise.files.swaps._exchanged", lambda *_: False)
    filled(out, NEW, OLD)
    assert files(out) == sorted([*NEW, "mine.txt"])
    assert ((out / "mine.txt").stat().st_ino, (out / "mine.txt").stat().st_nlink) == (number, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_without_locks_files_are_written_and_no_draft_is_taken_for_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows has no `fcntl`."""
    monkeypatch.setitem(sys.modules, "fcntl", None)
    (tmp_path / ".out.0a1b2c3d.part").mkdir()
    filled(tmp_path / "out", OLD)
    filled(tmp_path / "out", NEW, OLD)
    with whole(tmp_path / "t.csv") as draft:
        draft.write_text("a")
    assert files(tmp_path) == sorted(["t.csv", *(f"out/{name}" for name in NEW)])
    assert (tmp_path / ".out.0a1b2c3d.part").exists()


def test_what_replaces_something_is_on_the_disk_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a power failure could leave neither the old nor the new."""
    out, table = tmp_path / "out", tmp_path / "t.csv"
    filled(out, OLD)
    table.write_text("old")
    real, synced = os.fsync, list[tuple[int, str]]()

    def fsync(handle: int) -> None:
        synced.append((os.fstat(handle).st_ino, table.read_text() + (out / "b.txt").read_text()))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    with whole(table, overwrite=True) as draft:
        draft.write_text("new")
    with whole_folder(out, overwrite=True) as folder:
        (folder / "b.txt").write_text("new")
    assert synced == [(table.stat().st_ino, "oldb.txt"), ((out / "b.txt").stat().st_ino, "newb.txt")]


@pytest.mark.parametrize(
    "name",
    [
        "C:\\a.txt",
        "C:a.txt",
        "\\a.txt",
        "\\\\host\\share\\a.txt",
        "..\\a.txt",
        "b\\..\\..\\a.txt",
        "/a.txt",
        "../a.txt",
    ],
)
def test_on_windows_no_name_in_a_list_leads_out_of_the_folder(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A drive, a host or a backslash is as good a way out as a slash."""
    monkeypatch.setattr("rollwise.files.swaps.PurePath", PureWindowsPath)
    assert inside([name, "figures/b.svg"]) == {"figures/b.svg"}


def test_a_file_that_another_program_has_open_is_said_to_be_where_the_system_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Windows does; the file is as it was, and no draft stays."""

    def refused(*_: object) -> None:
        error: Any = PermissionError(13, "The process cannot access the file")
        error.winerror = 32
        raise error

    file = tmp_path / "a.txt"
    file.write_text("old")
    monkeypatch.setattr("os.replace", refused)
    with (
        pytest.raises(WriteError, match="or close it where another program has it open"),
        whole(file, overwrite=True) as draft,
    ):
        draft.write_text("new")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.txt", "old")]
