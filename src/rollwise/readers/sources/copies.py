"""Files of an object store, copied into a folder of this machine while they are read; who reads them sees their addresses.

Formats read bits of a file, and files beside it, so that only Parquet of turns is read where it lies (`remote.py`).
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from tempfile import TemporaryDirectory

from rollwise.errors import ReadError, RollwiseError
from rollwise.files.object_stores import Options, address_of, downloaded
from rollwise.readers.problems import LEAVE, BrokenError, Problems
from rollwise.readers.sources.beside import JOURNALS
from rollwise.readers.sources.objects import objects_at

FOLDER: ContextVar[str | None] = ContextVar("folder", default=None)  # that holds the copies


def spelled(text: str) -> str:
    """Return a text in which the paths of copies are the addresses that they were copied from."""
    folder = FOLDER.get()
    if folder is None or folder not in text:
        return text
    first, *others = text.split(f"{folder}/")
    return first + "".join(part.replace("/", "://", 1) for part in others)


@contextmanager
def copied(
    places: Sequence[Path], problems: Problems, options: Options | None = None, companions: Collection[str] = ()
) -> Iterator[list[Path]]:
    """Return paths of this machine for all places: what is in an object store is copied for this block.

    An object that cannot be copied is a problem. A single object comes with its journals and the `companions` next to it.
    """
    if all(address_of(place) is None for place in places):
        yield list(places)
        return
    with TemporaryDirectory(prefix="rollwise-") as folder:
        token = FOLDER.set(folder)
        try:
            yield [path for place in places for path in _copies(place, Path(folder), problems, options, companions)]
        except RollwiseError as error:
            error.args = tuple(spelled(str(argument)) for argument in error.args)
            raise
        finally:
            FOLDER.reset(token)


def _copies(
    place: Path, folder: Path, problems: Problems, options: Options | None, companions: Collection[str]
) -> list[Path]:
    """Copy what an address means, and return the files and folders that it then is, as for a path of this machine."""
    address = address_of(place)
    if address is None:
        return [place]
    objects = objects_at(address, options)
    target = folder / objects.folder.replace("://", "/")
    failed = downloaded(objects.folder, objects.names, target, options)
    if objects.is_object:
        if failed:
            raise ReadError(f"{address}: cannot be read ({failed[objects.names[0]]})")
        name = objects.names[0]
        others = {*(f"{name}{end}" for end in JOURNALS), *companions} - {name}
        downloaded(objects.folder, sorted(others), target, options)  # most are not there
        return [target / name]
    if len(failed) == len(objects.names):
        name, reason = next(iter(failed.items()))
        raise ReadError(f"{objects.folder}/{name}: cannot be read ({reason})")
    for name, reason in failed.items():
        problems.broken(f"{objects.folder}/{name}", BrokenError(f"cannot be read ({reason})", remedy=LEAVE))
    return [target / name for name in objects.fitting] or [target]
