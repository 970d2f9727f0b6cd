"""The files at some paths, with those in folders: each once, in order."""

import glob
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import polars as pl

from rollwise.errors import ArgumentError, ReadError
from rollwise.files.atomic import MANIFEST
from rollwise.files.manifests import Manifest, check_whole, levels, manifest_of
from rollwise.files.object_stores import Options, address_of
from rollwise.readers.problems import LEAVE, BrokenError, Problems
from rollwise.readers.sources import hive
from rollwise.readers.sources.beside import JOURNALS
from rollwise.readers.sources.binary import is_parquet
from rollwise.readers.sources.compression import Budget
from rollwise.readers.sources.copies import spelled
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.members import is_archive, members_of
from rollwise.readers.sources.tables import as_table
from rollwise.readers.sources.yaml_files import SUFFIXES, as_json

SQLITE_FILES = (*JOURNALS, "-shm")  # suffixes of all files that SQLite keeps beside a database
TURNS = "turns.parquet"
DATA_SET_FILES = {"dataset_info.json", "state.json"}  # metadata of a Hugging Face data set, beside its Arrow files
# Hidden files that are logs: of DeepEval, and of aider and its benchmark.
HIDDEN = {".latest_test_run.json", ".aider.results.json", ".aider.chat.history.md"}
SPLIT_FILES = {"dataset_dict.json"}  # the same, in the folder above the splits
PARQUET_METADATA = {"_metadata", "_common_metadata", "_SUCCESS"}  # written by Spark, Dask and Arrow
SPARK_FOLDERS = {"_temporary", "_delta_log", "_spark_metadata"}  # hold no rows of the table
_ABOUT = {"", ".md", ".txt", ".rst", ".py", ".png"}  # suffixes of files that are no logs, beside those of a run
_SPECIAL = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
ROLLWISE_FILES = ("config_metadata.json", "metrics.json")  # written by rollwise beside TURNS

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def documents(paths: list[Path], problems: Problems, *, rollouts: bool = False) -> Iterator[tuple[Document, bool]]:
    """Iterate over the files, each with whether it was named itself, rather than found in a folder.

    With `rollouts`, only the turns are read of a folder that rollwise wrote: its other files repeat the same rollouts.
    """
    # Links and repeated paths lead to a file only once.
    files: dict[tuple[int, int], tuple[Path, bool]] = {}  # by device and inode: a file may have several paths
    for path in paths:
        try:
            inside, by_name = _files(path, problems, rollouts=rollouts)
        except OSError as error:
            raise ReadError(f"{path}: cannot be reached ({error.strerror}); check its permissions") from error
        for file, status in inside:
            files.setdefault((status.st_dev, status.st_ino), (file, by_name))
    budget = Budget()
    facts = _path_facts([file for file, _ in files.values()], problems)
    is_yaml = {file.suffix.lower() for file, _ in files.values()} <= {*SUFFIXES, *_ABOUT}  # else YAML holds settings
    for file, by_name in files.values():
        if file in facts:
            document = Document(file, path_facts=facts[file], budget=budget)
            yield from _opened(document, problems, by_name=by_name, is_yaml=by_name or is_yaml, rollouts=rollouts)


def _opened(
    document: Document, problems: Problems, *, by_name: bool, is_yaml: bool, rollouts: bool
) -> Iterator[tuple[Document, bool]]:
    """Iterate over a file; an archive is treated like a folder of the files in it."""
    members = [document]
    if is_archive(document):
        members = []
        with problems.record(document.name, otherwise=lambda: problems.record_counts.of(document.name)):
            members = _logs_among(members_of(document, problems), rollouts=rollouts)
        by_name = by_name and len(members) == 1
        is_yaml = by_name or {member.suffix for member in members} <= {*SUFFIXES, *_ABOUT}
    for member in members:
        problems.record_counts.of(member.name)  # a file that cannot be read is accounted for as well
        opened = None
        with problems.record(member.name):
            opened = as_table(as_json(member) if is_yaml else member, problems)
        if opened is not None:
            yield opened, by_name


def _logs_among(members: list[Document], *, rollouts: bool) -> list[Document]:
    """Return the files of an archive that may be logs, as `_walk` does for a folder."""
    folders: dict[Path, list[str]] = {}
    for member in members:
        folders.setdefault(member.path.parent, []).append(member.path.name)
    inside = {parent: [path.name for path in folders if path.parent == parent] for parent in folders}
    logs = {
        parent / name
        for parent, files in folders.items()
        for name in _names_of_logs(inside[parent], files, rollouts=rollouts)
    }
    return [member for member in members if member.path in logs]


def _path_facts(files: list[Path], problems: Problems) -> dict[Path, pl.DataFrame | None]:
    """Return the facts in the folder names of each Parquet file; a file whose folders contradict each other is a problem."""
    facts: dict[Path, pl.DataFrame | None] = {}
    texts: dict[Path, dict[str, str | None]] = {}
    here = str(Path.cwd())
    for file in files:
        with problems.record(spelled(str(file))):
            if "=" in f"{here}{file}" and is_parquet(file):
                texts[file] = hive.folders(file)
            facts[file] = None
    # Together: the values of all files decide on the dtype of a column.
    typed = hive.typed(list(texts.values())) if texts else []
    return facts | dict(zip(texts, typed, strict=True))


def listed(paths: Paths, verb: str) -> list[Path]:
    """Return the paths that a function was given; a pattern such as ``runs/**/*.eval`` becomes the sorted files it matches."""
    if (data := _data(paths)) is not None:
        raise ArgumentError(f"{verb}: {data[0]} is not a path; {data[1]}")
    try:
        # A text is a path, and not an iterable of characters.
        given_paths = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
        expanded = [match for path in given_paths for match in _matches(Path(path).expanduser())]
    except (TypeError, RuntimeError) as error:
        value = repr(paths) if "\n" not in repr(paths) else f"a {type(paths).__name__}"
        raise ArgumentError(f"{verb}: {value} is not a path; name a file, a folder or a list of them") from error
    if not expanded:
        raise ArgumentError(f"{verb}: no path given; name a file or a folder")
    return expanded


def _data(argument: object) -> tuple[str, str] | None:
    """Return what is called what was given in place of a path, if it is data in memory, and what to do with it."""
    if hasattr(argument, "read"):
        return "an open file", "give its path"
    if isinstance(argument, str):
        is_json = re.match(r'\s*(\{\s*"|\[\s*\{)', argument) is not None
        return ("a text of JSON", "records are given to `rw.turns(json.loads(text))`, as a list") if is_json else None
    if hasattr(type(argument), "columns"):
        return f"a {type(argument).__name__}", "a frame of your own is given to `rw.turns(frame)`"
    if isinstance(argument, Mapping):
        return "a dict", "a record of your own is given to `rw.turns([record])`"
    is_list = isinstance(argument, list | tuple) and any(isinstance(item, Mapping) for item in argument)
    return ("a list of dicts", "records of your own are given to `rw.turns(records)`") if is_list else None


def addresses(paths: Sequence[Path]) -> list[str]:
    """Return the paths that are addresses in an object store."""
    return [address for path in paths if (address := address_of(path)) is not None]


def _matches(path: Path) -> list[Path]:
    """Return the path itself, or its matches if it is a pattern: not the name of a file, nor an address in an object store."""
    pattern = str(path)
    try:
        if glob.has_magic(pattern) and address_of(path) is None and not path.exists():
            matches = glob.glob(pattern, recursive=True)  # noqa: PTH207  # without hidden files, as in a shell
            return [Path(match) for match in sorted(matches)] or [path]
    except RecursionError as error:
        raise ArgumentError(f"{pattern}: the folders are too deep for a pattern; name the folder itself") from error
    except (OSError, ValueError):
        pass
    return [path]


def passed_over(name: str) -> bool:
    """Return whether Spark and Hadoop ignore a file or folder of this name beside Parquet: it is hidden or unfinished."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith("._COPYING_")


def _files(path: Path, problems: Problems, *, rollouts: bool) -> tuple[list[tuple[Path, os.stat_result]], bool]:
    """Return the files at a path with their status, and whether the path is itself a file."""
    if path.is_dir():
        num_problems = len(problems.rows)
        inside = list(_walk(path, problems, rollouts=rollouts))
        if not inside and len(problems.rows) == num_problems:
            if any(path.iterdir()):
                example = next((f" (such as {entry})" for entry in sorted(path.iterdir()) if entry.is_file()), "")
                reason = f"holds only hidden or unfinished files{example}; name one that holds logs"
                raise ReadError(f"{path}: the folder {reason}")
            raise ReadError(f"{path}: the folder is empty; name one that holds logs")
        return inside, False
    if path.is_file():
        return [(path, path.stat())], True
    if path.exists():
        raise ReadError(f"{path}: is neither a file nor a folder; copy it to a file first")
    if path.is_symlink():
        raise ReadError(f"{path}: {_nowhere(path)}")
    reason = "nothing fits this pattern" if glob.has_magic(str(path)) else "no such file or folder"
    raise ReadError(f"{path}: {reason}; check the path (seen from {Path.cwd()})")


def checked_manifest(folder: str, problems: Problems, options: Options | None = None) -> Manifest | None:
    """Return the manifest of a folder of `rollwise convert`, if it has one; a folder that differs from it is a problem."""
    manifest = None
    with suppress(ReadError):  # a file of that name by another tool
        manifest = manifest_of(folder, options)
    try:
        if manifest is not None:
            check_whole(folder, manifest, options)
    except ReadError as error:
        if not problems.collect:
            raise
        problems.dropped(spelled(folder), spelled(str(error)))
    return manifest


def _walk(folder: Path, problems: Problems, *, rollouts: bool) -> Iterator[tuple[Path, os.stat_result]]:
    """Iterate over the files in a folder and its subfolders that may be logs, with their status."""

    def report(error: OSError) -> None:
        problems.broken(str(error.filename), BrokenError(f"cannot be listed ({error.strerror})", remedy=LEAVE))

    visited: set[tuple[int, int]] = set()
    for where, folders, files in levels(folder, report, links=True):
        inode = _entered(where, problems)
        if inode is None or inode in visited:  # a link back to a folder above
            folders.clear()
            continue
        visited.add(inode)
        is_table = any(name.endswith(".parquet") for name in files) or any("=" in name for name in folders)
        # In place: the walk goes on with what is left in this list.
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and name not in SPARK_FOLDERS and not (is_table and passed_over(name))
        )
        if rollouts and MANIFEST in files:
            checked_manifest(where, problems)
        for name in _names_of_logs(folders, files, rollouts=rollouts):
            path = Path(where, name)
            if is_table and (passed_over(name) or name.endswith(".crc")):
                continue  # beside Parquet also a checksum or an unfinished file
            if is_table and name.endswith(".part"):
                problems.dropped(spelled(str(path)), "was not finished by its writer")
                continue
            file_status = None
            with problems.record(spelled(str(path))):
                file_status = _status(path, problems)
            if file_status is not None:
                yield path, file_status


def _entered(folder: str, problems: Problems) -> tuple[int, int] | None:
    """Return device and inode of a folder; None for one that may be listed and not entered, which is a problem."""
    inode = None
    with problems.record(folder):
        try:
            status = os.stat(f"{folder}/.")  # noqa: PTH116  # a path has no dot at its end, for which a folder is entered
        except PermissionError as error:
            raise BrokenError("may not be entered (permission denied): `chmod u+x` it", remedy=LEAVE) from error
        inode = status.st_dev, status.st_ino
    return inode  # noqa: RET504  # the block above may end early


def _status(path: Path, problems: Problems) -> os.stat_result | None:
    """Return the status of a file in a folder; None for what is not a file, such as a pipe, which is a problem."""
    try:
        status = path.stat()
    except OSError as error:
        if path.is_symlink() and not isinstance(error, PermissionError):
            raise BrokenError(_nowhere(path), remedy=LEAVE) from error
        raise
    if stat.S_ISREG(status.st_mode):
        return status
    problems.dropped(spelled(str(path)), f"is {_SPECIAL.get(stat.S_IFMT(status.st_mode), 'a device')}, not a file")
    return None


def _nowhere(link: Path) -> str:
    return f"is a link to {link.readlink()}, which is not there: mount its disk, or remove the link"


def _names_of_logs(folders: list[str], files: list[str], *, rollouts: bool) -> list[str]:
    """Return the files of a folder without metadata, hidden files that are no logs, and what belongs to another file."""
    if rollouts and TURNS in files and any(name in files for name in ROLLWISE_FILES):
        return [TURNS]
    metadata = {MANIFEST, *PARQUET_METADATA}
    if any(name.endswith(".arrow") for name in files):
        metadata |= DATA_SET_FILES
    elif folders:
        metadata |= SPLIT_FILES
    # Files of SQLite are read with their database.
    of_databases = {name for name in files if name.endswith(SQLITE_FILES) and name.rpartition("-")[0] in files}
    return sorted(name for name in {*files} - metadata - of_databases if not name.startswith(".") or name in HIDDEN)
