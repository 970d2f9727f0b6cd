"""Earlier copies of result files whose records have no ids.

A tool that appends to its results and is resumed after a crash may leave a copy of the unfinished file. A file is such a copy
if another file has all of its records, except for records that crashed.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rollwise.readers.records import json_text
from rollwise.readers.repeats import Row, is_empty
from rollwise.readers.versions import Version

OF_FILE = frozenset({"rollout_id", "run", "attempt"})  # which depend on the file and on the order in it

Rollout = tuple[Version, Sequence[Row]]


def resumed(files: Mapping[str, Sequence[Rollout]]) -> Iterator[tuple[Version, Version]]:
    """Yield pairs: a rollout of a whole file, and the same rollout in an earlier copy of that file."""
    by_size = sorted(files.values(), key=len, reverse=True)
    copies: set[int] = set()
    for place, smaller in enumerate(by_size):
        for candidate in range(len(by_size)):
            if candidate not in {place, *copies} and (pairs := _pairs(by_size[candidate], smaller)):
                copies.add(place)
                yield from pairs
                break


def _pairs(rollouts: Sequence[Rollout], part: Sequence[Rollout]) -> list[tuple[Version, Version]]:
    """Return the pairs of a file and its copy; an empty list if the second is not a copy of the first."""
    by_content: dict[str | None, list[Rollout]] = defaultdict(list)
    for rollout in rollouts[::-1]:
        by_content[_texts(rollout)].append(rollout)
    pairs, crashed = [], []
    for version, rows in part:
        if others := by_content[_texts((version, rows))]:
            pairs.append((others.pop()[0], version))
        elif is_empty(rows):
            crashed.append((version, rows))
        else:
            return []
    if not pairs:
        return []
    tried_again: dict[Any, list[Version]] = defaultdict(list)
    for others in by_content.values():
        for version, rows in others:
            tried_again[rows[0].get("task")].append(version)
    for version, rows in crashed:
        if versions := tried_again[rows[0].get("task")]:
            pairs.append((versions.pop(), version))
    return pairs


def _texts(rollout: Rollout) -> str | None:
    """Return the content of a rollout as one text."""
    return json_text([{name: value for name, value in row.items() if name not in OF_FILE} for row in rollout[1]])
