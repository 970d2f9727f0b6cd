"""Columns of people's own files: the roles that are known, and the questions about the others."""

from collections.abc import Mapping
from typing import Any, NamedTuple

OPEN = "?"  # the mark in a printed line for what only the user knows
OPEN_NUMBER = ">=?"  # the same for the score from which on an attack succeeded


class Role(NamedTuple):
    """A column of the user's that is read as a column of TURNS."""

    column: str  # its name in the frame
    name: str  # the column of TURNS
    why: str  # what it rests on, in words
    labels: Mapping[str, Any] | None = None  # of verdicts: the label in the file -> True, False or None


class Question(NamedTuple):
    """A question about a column that only the user can answer, with the short form that answers it.

    `names` is as `names=` takes it, with "?" where only the user knows: `{"of": "?"}` (whose verdict: `options`),
    `{"succeeded": ("label", {"refusal": False, "partial": "?"})}`, `{"succeeded": "?"}` (which column: `options`).
    """

    column: str
    sentence: str
    names: Mapping[str, Any]
    options: tuple[str, ...] = ()  # what `?` may be
