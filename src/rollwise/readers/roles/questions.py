"""What is known and what is asked of the columns of people's own files."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Role(NamedTuple):
    """A column of the user's that is read as a column of TURNS."""

    column: str  # its name in the frame
    name: str  # the column of TURNS
    why: str  # what it rests on, in words
    labels: Mapping[str, Any] | None = None  # of verdicts: the label in the file -> True, False or None


class Question(NamedTuple):
    """What only the user knows of a column, with the short form that answers it.

    `names` is as `names=` takes it, with "?" where only the user knows: `{"of": "?"}` (whose verdict: `options`),
    `{"succeeded": ("label", {"refusal": False, "partial": "?"})}`, `{"succeeded": "?"}` (which column: `options`).
    """

    column: str
    sentence: str
    names: Mapping[str, Any]
    options: tuple[str, ...] = ()  # what `?` may be
