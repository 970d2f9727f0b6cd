"""Files of one run without ids that were written, copied and resumed: which records of them are the same.

Tools that append results to a file and go on after a crash leave an earlier copy of it beside the whole one. Where all that a
file says is in another one, record for record, but for records that crashed, it is such a copy.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rollwise.readers.records import json_text
from rollwise.readers.repeats import Row, is_empty
from rollwise.readers.versions import Version

APART = frozenset(
    {"rollout_id", "run", "attempt"}
)  # which follow from the content of the file, and from the order in it

Rollout = tuple[Version, Sequence[Row]]


def resumed(files: Mapping[str, Sequence[Rollout]]) -> Iterator[tuple[Version, Version]]:
    """Yield the rollouts of the largest files, each with one of an earlier copy of its file.

    Parameters
    ----------
    files
        The rollouts of each file, which have no ids of their own.
    """
    by_size = sorted(files.values(), key=len, reverse=True)
    copies: set[int] = set()
    for place, smaller in enumerate(by_size):
        for other in range(len(by_size)):
            if other not in {place, *copies} and (pairs := _pairs(by_size[other], smaller)):
                copies.add(place)
                yield from pairs
                break


def _pairs(whole: Sequence[Rollout], part: Sequence[Rollout]) -> list[tuple[Version, Version]]:
    """Return the rollouts of a whole file, each with that of its copy; none where the other is no copy of it."""
    alike: dict[str | None, list[Rollout]] = defaultdict(list)
    for rollout in whole[::-1]:
        alike[_said(rollout)].append(rollout)
    pairs, crashed = [], []
    for version, rows in part:
        if others := alike[_said((version, rows))]:
            pairs.append((others.pop()[0], version))
        elif is_empty(rows):
            crashed.append((version, rows))
        else:
            return []
    if not pairs:
        return []
    tried_again: dict[Any, list[Version]] = defaultdict(list)
    for others in alike.values():
        for version, rows in others:
            tried_again[rows[0].get("task")].append(version)
    for version, rows in crashed:
        if versions := tried_again[rows[0].get("task")]:
            pairs.append((versions.pop(), version))
    return pairs


def _said(rollout: Rollout) -> str | None:
    """Return all that a rollout says, as one text."""
    return json_text([{name: value for name, value in row.items() if name not in APART} for row in rollout[1]])
