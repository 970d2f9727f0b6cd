"""An output folder that came from elsewhere: nothing is written or removed outside of it, whatever it holds."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import rollwise as rw
from rollwise.errors import WriteError
from rollwise.files import swaps
from rollwise.files.atomic import check_folder, refuse_links, removed, whole, whole_folder
from rollwise.readers.sources.copies import FOLDER, spelled
from rollwise.readers.sources.objects import _fitting

TURNS, _ = rw.simulate(goals=2, attempts=1, turns=2, text=False)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder of somebody's files, and an output folder with a link to it."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "important.txt").write_text("month")
    (tmp_path / "elsewhere" / "part-0.parquet").write_text("month")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "sub").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "out" / "note.txt").write_text("mine")
    return tmp_path


def content(folder: Path) -> dict[str, str]:
    """The files of a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes().decode(errors="replace")
        for path in folder.rglob("*")
        if path.is_file()
    }


def planted(out: Path, stale: Any, **files: str) -> Path:
    """A folder of unfinished moves, as an archive would bring it."""
    moving = out / ".out.0123abcd.next"
    moving.mkdir()
    (moving / ".stale.json").write_text(json.dumps(stale))
    for name, text in files.items():
        path = moving / name.replace("__", "/")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return moving


def marked(out: Path, names: list[str], **files: str) -> Path:
    """The same with the right mark, as if its numbers had been guessed."""
    moving = planted(out, {}, **files)
    (moving / ".stale.json").write_text(json.dumps({"mark": swaps._mark(moving, out), "names": names}))
    return moving


STALE: dict[str, Any] = {
    "names": ["sub/important.txt", "note.txt"],
    "a mark of zeros": {"mark": [0, 0, 0, 0], "names": ["note.txt"]},
    "no mark": {"names": ["note.txt"]},
    "a mark that is no list": {"mark": True, "names": ["note.txt"]},
    "nothing": None,
}


@pytest.mark.parametrize("kind", STALE)
@pytest.mark.parametrize("overwrite", [False, True])
def test_moves_that_were_not_begun_here_are_not_completed(place: Path, kind: str, overwrite: bool) -> None:
    """Neither before a refusal nor with the permission to overwrite."""
    out = place / "out"
    planted(out, STALE[kind], sub__authorized_keys="planted", note="planted")
    before = content(place / "elsewhere")
    if overwrite:
        check_folder(out, overwrite=True)
    else:
        with pytest.raises(WriteError, match="exists and is not empty"):
            check_folder(out, overwrite=False)
    assert content(place / "elsewhere") == before
    assert (out / "note.txt").read_text() == "mine"
    assert not (out / "note").exists()


def test_a_copy_of_an_interrupted_folder_is_not_completed(tmp_path: Path) -> None:
    """The mark is of the folder on this disk; in the folder itself the moves are completed."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "old.txt").write_text("old")
    marked(out, ["old.txt"], new="new")
    shutil.copytree(out, tmp_path / "copy")
    check_folder(tmp_path / "copy", overwrite=True)
    assert (tmp_path / "copy" / "old.txt").exists()
    check_folder(out, overwrite=True)
    assert content(out) == {"new": "new"}


def test_with_the_right_mark_nothing_goes_through_a_link_either(place: Path) -> None:
    """A file behind a link stays; a new one goes into a folder that takes the place of the link."""
    out, before = place / "out", content(place / "elsewhere")
    marked(
        out, ["sub/important.txt", "note.txt", "../elsewhere/important.txt"], sub__keys="planted", sub__important="x"
    )
    check_folder(out, overwrite=True)
    assert content(place / "elsewhere") == before
    assert content(out) == {"sub/keys": "planted", "sub/important": "x"}


@pytest.mark.thinned(2)
@pytest.mark.parametrize("is_inside", [False, True])
def test_a_record_that_names_a_file_behind_a_link_removes_nothing(
    place: Path, is_inside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`run.json` of a report, from beside the folder and from within, where files are moved one by one."""
    out, before = place / "out", content(place / "elsewhere")
    files = [{"path": "sub/important.txt"}, {"path": "sub/part-0.parquet"}, {"path": "../elsewhere/important.txt"}]
    (out / "run.json").write_text(json.dumps({"rollwise": "0.1.0", "files": files}))
    if is_inside:
        monkeypatch.chdir(out)
    rw.report(TURNS, "." if is_inside else out, overwrite=True, progress=False)
    assert content(place / "elsewhere") == before
    assert (out / "report.html").is_file()
    assert (out / "note.txt").read_text() == "mine"


def test_a_manifest_that_names_a_file_behind_a_link_removes_nothing(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is said to be left."""
    out, before = place / "turns", content(place / "elsewhere")
    rw.convert(TURNS, out)
    (out / "sub").symlink_to(place / "elsewhere")
    manifest = json.loads((out / "_manifest.json").read_text())
    manifest["files"].append({**manifest["files"][0], "file": "sub/part-0.parquet"})
    (out / "_manifest.json").write_text(json.dumps(manifest))
    rw.convert(TURNS, out, overwrite=True)
    assert content(place / "elsewhere") == before
    assert "sub/part-0.parquet of the earlier conversion is behind a link and was left" in capsys.readouterr().err


LINKS = {
    "a link": "sub/important.txt",
    "a link in a folder": "inner/sub/important.txt",
    "a link to a link": "again/important.txt",
    "a link in a circle": "circle/circle/important.txt",
    "a link to the folder itself": "self/sub/important.txt",
}


@pytest.mark.parametrize("kind", LINKS)
def test_no_part_of_a_name_may_be_a_link(place: Path, kind: str) -> None:
    """Wherever it stands, and wherever it leads."""
    out = place / "out"
    (out / "inner").mkdir()
    (out / "inner" / "sub").symlink_to(place / "elsewhere")
    (out / "again").symlink_to("sub")
    (out / "circle").symlink_to("circle")
    (out / "self").symlink_to(".")
    before = content(place / "elsewhere")
    removed(out, [LINKS[kind], "note.txt"])
    assert content(place / "elsewhere") == before
    assert not (out / "note.txt").exists()


def test_a_link_itself_is_removed_and_not_what_it_leads_to(place: Path) -> None:
    """As `rm` does."""
    removed(place / "out", ["sub"])
    assert not (place / "out" / "sub").is_symlink()
    assert (place / "elsewhere" / "important.txt").exists()


def test_a_file_of_ours_is_not_written_through_a_link(place: Path) -> None:
    """The link is replaced; one that the user names is followed, as the file is then what they mean."""
    link = place / "out" / "facts.json"
    link.symlink_to(place / "elsewhere" / "important.txt")
    with whole(link, overwrite=True, follow=False) as draft:
        draft.write_text("facts")
    assert (place / "elsewhere" / "important.txt").read_text() == "month"
    assert link.read_text() == "facts"
    for folder in (place / "out" / "sub", place / "out"):
        (place / "out" / "inner").mkdir(exist_ok=True)
        with pytest.raises(
            WriteError, match=r"is a link, and nothing is written through it; remove it, or choose another"
        ):
            refuse_links(folder)


@pytest.mark.integration
def test_the_command_that_refuses_has_done_nothing(place: Path) -> None:
    """As typed: exit code 2, and every file as it was."""
    rw.write(TURNS, place / "log.parquet")
    planted(place / "out", ["sub/important.txt", "note.txt"], sub__authorized_keys="planted")
    before = content(place)
    for command in ("report", "convert"):
        words = [sys.executable, "-m", "rollwise", command, str(place / "log.parquet"), "--out", str(place / "out")]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert "exists and is not empty" in done.stderr
    assert content(place) == before


# ── what a user saves meanwhile ───────────────────────────────────────────────────────────────────────────────────────
def saved(path: Path, text: str) -> None:
    """Save a file as editors, notebooks and git do: another one, renamed."""
    draft = path.with_name(f"{path.name}~")
    draft.write_text(text)
    draft.replace(path)


@pytest.mark.parametrize("kind", ["renamed", "in place", "removed", "new"])
def test_what_is_saved_between_the_links_and_the_exchange_counts(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last text of a user's file, however it was saved."""
    out = tmp_path / "out"
    (out / "notes").mkdir(parents=True)
    mine = out / "notes" / "mine.txt"
    mine.write_text("before")
    exchange = swaps._exchanged

    def saving(draft: Path, folder: Path) -> bool:
        if kind == "renamed":
            saved(mine, "last")
        elif kind == "in place":
            mine.write_text("last")
        elif kind == "removed":
            mine.unlink()
        else:
            saved(out / "notes" / "more.txt", "last")
        return exchange(draft, folder)

    monkeypatch.setattr(swaps, "_exchanged", saving)
    with whole_folder(out, overwrite=True) as draft:
        (draft / "new.txt").write_text("new")
    expected = {"renamed": {"notes/mine.txt": "last"}, "in place": {"notes/mine.txt": "last"}, "removed": {}}
    mine_and_more = {"notes/mine.txt": "before", "notes/more.txt": "last"}
    assert content(out) == {"new.txt": "new", **expected.get(kind, mine_and_more)}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.integration
def test_an_editor_that_saves_all_the_time_loses_nothing(tmp_path: Path) -> None:
    """While a folder with many files is replaced again and again."""
    out = tmp_path / "out"
    out.mkdir()
    for number in range(3000):
        (out / f"{number}.txt").write_text("x")
    mine, stop, count = out / "mine.txt", threading.Event(), [0]
    saved(mine, "0")

    def edit() -> None:
        while not stop.is_set():
            try:
                saved(mine, str(count[0] + 1))
                count[0] += 1
            except FileNotFoundError:  # the folder was exchanged between the draft and its renaming
                time.sleep(0.001)
            time.sleep(0.002)

    editor = threading.Thread(target=edit)
    editor.start()
    for number in range(8):
        with whole_folder(out, overwrite=True) as draft:
            (draft / "new.txt").write_text(str(number))
    stop.set()
    editor.join()
    assert count[0] > 20
    assert int(mine.read_text()) >= count[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give folders away")
def test_folders_keep_their_owner_mode_and_attributes(tmp_path: Path) -> None:
    """Also subfolders, and those in which files of ours are new."""
    out = tmp_path / "out"
    (out / "figures").mkdir(parents=True)
    (out / "mine").mkdir()
    (out / "mine" / "f.txt").write_text("mine")
    for folder in (out, out / "figures", out / "mine"):
        os.chown(folder, 1234, 2345)
        folder.chmod(0o750)
    attributed = hasattr(os, "setxattr")
    try:
        os.setxattr(out / "mine", "user.note", b"mine")
    except OSError:
        attributed = False  # not on this file system
    with whole_folder(out, overwrite=True) as draft:
        (draft / "figures").mkdir()
        (draft / "figures" / "a.svg").write_text("a")
    for folder in (out, out / "figures", out / "mine"):
        found = folder.stat()
        assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (1234, 2345, 0o750)
    if attributed:
        assert os.getxattr(out / "mine", "user.note") == b"mine"


def test_a_folder_that_may_not_be_given_away_is_filled_file_by_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stays the same folder, of the same owner."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    inode = out.stat().st_ino

    def refused(*_: object) -> None:
        raise PermissionError(1, "not permitted")

    monkeypatch.setattr(swaps, "_take_over", refused)
    with whole_folder(out, overwrite=True) as draft:
        (draft / "new.txt").write_text("new")
    assert content(out) == {"mine.txt": "mine", "new.txt": "new"}
    assert out.stat().st_ino == inode


def test_a_tilde_before_no_user_is_part_of_the_name(tmp_path, monkeypatch):
    """As in a shell: only names of users are replaced."""
    monkeypatch.chdir(tmp_path)
    rw.write(rw.simulate(goals=2, seed=1)[0], "~no-such-user.csv")
    assert (tmp_path / "~no-such-user.csv").is_file()


@pytest.mark.parametrize(
    ("pattern", "place"),
    [
        ("**/*.parquet", "k=1/a.parquet"),
        ("*/*.parquet", "k=1/a.parquet"),
        ("*", "k=1"),
        ("**", "k=1"),
        ("k=?/**", "k=1"),
        ("*.parquet", None),
        ("a*", None),
    ],
)
def test_patterns_of_object_stores_match_folder_by_folder(pattern, place):
    """Two stars are any number of folders, one star never crosses one; the first folder that fits is taken whole."""
    assert _fitting(["k=1", "a.parquet"], pattern.split("/")) == place


def test_paths_of_copies_are_said_as_addresses():
    """Other paths stay."""
    token = FOLDER.set("/tmp/rollwise-1")
    assert spelled("/tmp/rollwise-1/s3/bucket/a.json: is empty") == "s3://bucket/a.json: is empty"
    assert spelled("runs/a.json") == "runs/a.json"
    FOLDER.reset(token)
