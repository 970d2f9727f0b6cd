"""The files at some paths: each once, in order, those in folders as well."""

import glob
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import polars as pl

from turnwise.errors import ArgumentError, ReadError
from turnwise.files.atomic import MANIFEST
from turnwise.files.manifests import Manifest, check_whole, manifest_of
from turnwise.files.object_stores import Options, address_of
from turnwise.readers.problems import BrokenError, Problems
from turnwise.readers.sources import hive
from turnwise.readers.sources.binary import is_parquet
from turnwise.readers.sources.documents import Document

JOURNALS = ("-wal", "-journal")  # what SQLite keeps beside a file that it writes to, after the file's name
KEPT_BESIDE = (*JOURNALS, "-shm")  # likewise, and no log
TURNS = "turns.parquet"
OF_DATA_SETS = {"dataset_info.json", "state.json"}  # what Hugging Face keeps of a data set beside its Arrow files
OF_PARTITIONS = {"_metadata", "_common_metadata", "_SUCCESS"}  # what Spark, Dask and Arrow keep beside files of Parquet
OF_SPARK = {"_temporary", "_delta_log", "_spark_metadata"}  # folders that are never a table's own
OF_SPLITS = {"dataset_dict.json"}  # likewise, above the folders of several
BESIDE = ("config_metadata.json", "metrics.json")  # what an evaluation, or an evaluator, writes beside its turns

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def documents(paths: list[Path], problems: Problems, *, rollouts: bool = False) -> Iterator[tuple[Document, bool]]:
    """Each file once, in order, and whether it was named itself rather than found in a folder.

    With `rollouts`, a folder that turnwise wrote is its turns: all else that stands there says the same rollouts again.

    Raises
    ------
    ReadError
        Where a path does not exist, a folder is empty, or one is not what the manifest in it says.
    """
    found: dict[tuple[int, int], tuple[Path, bool]] = {}
    for path in paths:
        try:
            inside, by_name = _files(path, problems, rollouts=rollouts)
            places = [(file, file.stat()) for file in inside]
        except OSError as error:
            raise ReadError(f"{path}: cannot be reached ({error.strerror}); check its permissions") from error
        for file, status in places:
            found.setdefault((status.st_dev, status.st_ino), (file, by_name))
    said = _said([file for file, _ in found.values()], problems)
    for file, by_name in found.values():
        if file in said:
            yield Document(file, said=said[file]), by_name


def _said(files: list[Path], problems: Problems) -> dict[Path, pl.DataFrame]:
    """Return the folder facts of each file; contradicting folders are problems."""
    known: dict[Path, dict[str, str | None]] = {}
    for file in files:
        with problems.record(str(file)):
            known[file] = hive.folders(file) if "=" in str(file.absolute()) and is_parquet(file) else {}
    return dict(zip(known, hive.typed(list(known.values())), strict=True))


def listed(paths: Paths, verb: str) -> list[Path]:
    """Return the paths that a verb was given; a pattern such as ``runs/**/*.eval`` becomes the files that match, in order.

    Raises
    ------
    ArgumentError
        If it is not a path, or no path is given.

    Examples
    --------
    >>> listed("runs", "read")
    [...Path('runs')]
    """
    try:
        given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
        found = [fitting for path in given for fitting in _fitting(Path(path).expanduser())]
    except (TypeError, RuntimeError) as error:
        shown = repr(paths) if "\n" not in repr(paths) else f"a {type(paths).__name__}"
        frame = "; a frame of your own becomes one of turns by `tw.turns(frame)`" if hasattr(paths, "columns") else ""
        raise ArgumentError(f"{verb}: {shown} is not a path; name a file, a folder or a list of them{frame}") from error
    if not found:
        raise ArgumentError(f"{verb}: no path given; name a file or a folder")
    return found


def _fitting(path: Path) -> list[Path]:
    """The path, or what it fits where it is a pattern: nothing is called so, nor does it lie in an object store."""
    pattern = str(path)
    with suppress(OSError, ValueError):
        if glob.has_magic(pattern) and address_of(path) is None and not path.exists():
            found = glob.glob(pattern, recursive=True)  # noqa: PTH207  # which a shell's stars fit: nothing hidden
            return [Path(path_name) for path_name in sorted(found)] or [path]
    return [path]


def passed_over(name: str) -> bool:
    """Return whether Spark and Hadoop pass over a file or folder of this name beside Parquet: what is hidden, or not finished.

    Examples
    --------
    >>> [
    ...     passed_over(name)
    ...     for name in ("_temporary", ".a.parquet.crc", "a.parquet._COPYING_", "_split=test", "a.parquet")
    ... ]
    [True, True, True, False, False]
    """
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith("._COPYING_")


def journal_of(path: Path) -> Path | None:
    """The journal beside a SQLite file, of what was written last or is to be undone; null if there is none, or nothing in it.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "memory.db"
    >>> _ = path.with_name("memory.db-wal").write_bytes(b"pages")
    >>> journal_of(path).name, journal_of(path.with_name("other.db"))
    ('memory.db-wal', None)
    """
    journals = (path.with_name(f"{path.name}{ending}") for ending in JOURNALS)
    try:
        return next((journal for journal in journals if journal.is_file() and journal.stat().st_size), None)
    except OSError:
        return None  # who reads the file will say what is wrong with the folder


def _files(path: Path, problems: Problems, *, rollouts: bool) -> tuple[list[Path], bool]:
    """The files at a path, and whether it is one itself."""
    if path.is_dir():
        inside = list(_walk(path, problems, rollouts=rollouts))
        if not inside and any(path.iterdir()):
            raise ReadError(
                f"{path}: the folder holds nothing but what is hidden or not finished; name one that holds logs"
            )
        if not inside:
            raise ReadError(f"{path}: the folder is empty; name one that holds logs")
        return inside, False
    if path.is_file():
        return [path], True
    if path.exists():
        raise ReadError(f"{path}: is neither a file nor a folder; copy it to a file first")
    what = "nothing fits this pattern" if glob.has_magic(str(path)) else "no such file or folder"
    raise ReadError(f"{path}: {what}; check the path (seen from {Path.cwd()})")


def held(folder: str, problems: Problems, options: Options | None = None) -> Manifest | None:
    """The manifest of a folder of `turnwise convert`, to which it is held: it is told where it is not what that says."""
    manifest = None
    with suppress(ReadError):  # another tool's file of that name vouches for nothing
        manifest = manifest_of(folder, options)
    try:
        if manifest is not None:
            check_whole(folder, manifest, options)
    except ReadError as error:
        if not problems.collect:
            raise
        problems.unread(folder, str(error))
    return manifest


def _walk(folder: Path, problems: Problems, *, rollouts: bool) -> Iterator[Path]:
    def refused(error: OSError) -> None:
        problems.broken(str(error.filename), BrokenError(f"cannot be listed ({error.strerror})"))

    met: set[tuple[int, int]] = set()
    for where, folders, files in os.walk(folder, onerror=refused, followlinks=True):
        status = Path(where).stat()
        if (key := (status.st_dev, status.st_ino)) in met:
            folders.clear()  # a link back up
            continue
        met.add(key)
        of_table = any(name.endswith(".parquet") for name in files) or any("=" in name for name in folders)
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and name not in OF_SPARK and not (of_table and passed_over(name))
        )
        if rollouts and MANIFEST in files:
            held(where, problems)
        is_ours = rollouts and TURNS in files and any(name in files for name in BESIDE)
        passed = (
            OF_DATA_SETS if any(name.endswith(".arrow") for name in files) else OF_SPLITS if folders else set[str]()
        )
        for name in [TURNS] if is_ours else sorted({*files} - passed - OF_PARTITIONS):
            path = Path(where, name)
            if name.endswith(KEPT_BESIDE) and name.rpartition("-")[0] in files:
                continue  # read with its file, or not at all
            if name.startswith(".") or name == MANIFEST or not path.is_file():
                continue
            if of_table and (passed_over(name) or name.endswith(".crc")):
                continue  # which holds no row that counts
            if of_table and name.endswith(".part"):
                problems.unread(str(path), "was not finished by who wrote it")
                continue
            yield path
