"""Several votes on one answer in one field, such as `[1, 0, 1]`: what more than half of them say counts.

A tie says nothing, and neither do votes of which too many are absent.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import polars as pl

from rollwise.readers.roles.names import words_of
from rollwise.readers.roles.words import word

# Words of names of fields with votes.
_NAMES = frozenset(
    {
        "vote", "votes", "voters", "verdicts", "judgments", "judgements", "judges", "judge", "annotators", "annotations",
        "raters", "decisions",
    }
)  # fmt: skip
_VOTE = r"""(?:[-+]?\d+(?:\.\d+)?|[Tt]rue|[Ff]alse|null|None|nan|NaN|"[^"\\]{0,40}"|'[^'\\]{0,40}')"""
_LIST = re.compile(rf"\s*[\[(]\s*{_VOTE}(?:\s*,\s*{_VOTE})+\s*[\])]\s*")
_ABSENT = frozenset({"null", "None", "nan", "NaN"})
RULE = "of which the majority counts, and a tie is not judged"


def votes_in(value: object) -> list[Any] | None:
    """Return the votes that a list, or the text of one, holds, null for an absent one; None for anything else."""
    if isinstance(value, str):
        texts = re.findall(_VOTE, value) if _LIST.fullmatch(value) else []
        return [None if text in _ABSENT else text.strip("\"'") for text in texts] or None
    if not isinstance(value, list | tuple) or len(value) < 2 or any(isinstance(vote, list | dict) for vote in value):
        return None
    return [*value]


def as_texts(values: pl.Series) -> pl.Series:
    """Return a column of votes as texts such as `[1,0,1]`; any other column as it is."""
    if not isinstance(values.dtype, pl.List) or values.dtype.inner.is_nested():
        return values
    lists = values.to_list()
    if any(votes is not None and votes_in(votes) is None for votes in lists):
        return values
    texts = [None if votes is None else json.dumps(votes, separators=(",", ":"), default=str) for votes in lists]
    return pl.Series(values.name, texts, pl.String)


def majority(votes: Iterable[Any], meaning: Callable[[Any], Hashable]) -> Any:
    """Return what more than half of votes mean, absent ones among them; None where none does.

    Examples
    --------
    >>> [majority(votes, bool) for votes in ([1, 0, 1], [1, 0])], majority([1, None, None], lambda vote: vote)
    ([True, None], None)
    """
    sides = [meaning(vote) for vote in votes]
    counts = Counter(side for side in sides if side is not None)
    return next((side for side, count in counts.items() if 2 * count > len(sides)), None)


def may_vote(name: str) -> bool:
    """Return whether a field of this name may hold votes."""
    return bool({*words_of(name)} & _NAMES)


def are_votes(name: str, values: Iterable[object]) -> bool:
    """Return whether a field of this name has lists of votes: of yes and no, or of words for both sides."""
    lists = [votes_in(value) for value in values]
    if not may_vote(name) or not lists or None in lists:
        return False
    meanings = [word(vote) for votes in lists for vote in votes or () if vote is not None]
    return {meaning.side for meaning in meanings} - {None} == {True, False} and "?" not in {
        meaning.whose for meaning in meanings
    }
