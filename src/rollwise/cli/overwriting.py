"""No command writes over its own input."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rollwise.errors import ReadError, WriteError

OUTPUTS = ("out", "truth", "write")  # parameters of commands that are written
LOGS = ("paths", "baseline", "labels")  # parameters that are read: logs and tables
SETTINGS = ("config_file", "dataset", "file")  # single files that are read


def refuse_own_inputs(parameters: Mapping[str, Any]) -> None:
    """Check that what a command writes is not what it reads.

    A folder of logs may hold results of an earlier run, which are no logs: these may be written over.
    """
    for output in _paths(parameters, OUTPUTS):
        if not os.path.lexists(output):
            continue
        for source in _paths(parameters, (*LOGS, *SETTINGS)):
            is_log = source not in _paths(parameters, SETTINGS)
            is_same = source.exists() and output.exists() and output.samefile(source)
            if is_same or (is_log and _overlap(output, source)):
                raise WriteError(
                    f"{output} is read by this command ({source}), and is not overwritten; name another place with --out"
                )


def _paths(parameters: Mapping[str, Any], names: Iterable[str]) -> list[Path]:
    """Return the paths among some parameters; a pattern is the files that it matches."""
    from rollwise.readers.sources.paths import listed

    values = [parameters.get(name) for name in names]
    paths = [path for value in values if value for path in (value if isinstance(value, list | tuple) else [value])]
    return listed(paths, "read") if paths else []


def _overlap(output: Path, source: Path) -> bool:
    """Return whether the output is a folder that holds the source, or holds logs itself and is in the source."""
    place, origin = Path(os.path.realpath(output)), Path(os.path.realpath(source))
    if place in origin.parents:
        return True
    if origin not in place.parents:
        return False
    is_hidden = any(part.startswith(".") for part in place.relative_to(origin).parts)
    return not is_hidden and _holds_logs(output)


def _holds_logs(path: Path) -> bool:
    """Return whether a file, or a file in a folder, is recognized as a log; one that cannot be read may be one."""
    from rollwise.readers.problems import BrokenError, Problems
    from rollwise.readers.registry import is_known
    from rollwise.readers.sources.paths import documents

    try:
        return any(is_known(document) for document, _ in documents([path], Problems(collect=True)))
    except (BrokenError, OSError):
        return True
    except ReadError:  # an empty folder, or a pipe
        return False
