"""Words of several raters -> one vocabulary: verdicts that mean the same are the same word, or the comparison is refused."""

from collections.abc import Mapping
from itertools import combinations
from typing import NamedTuple

import polars as pl

from rollwise.errors import ArgumentError
from rollwise.readers.labels import asks_the_opposite
from rollwise.readers.roles.words import normal, word
from rollwise.schema.labels import say

LABELS = "the labels"
_OPEN = frozenset({"answer", "either"})  # of words that say yes or no, and not to what
_MOST_WORDS = 8  # that a message lists


class _Rater(NamedTuple):
    name: str
    words: frozenset[str]  # as written

    def families(self) -> set[str]:
        """Return what the words are about: an attack, a task or a test; empty for words such as `true`."""
        return {word(text).whose for text in self.words if word(text).side is not None} - _OPEN

    def tells_sides_apart_alone(self) -> bool:
        """Return whether no two words say the same: who writes both `blocked` and `refused` means two things."""
        sided = {normal(text): word(text).side for text in self.words if word(text).side is not None}
        return len(sided) == len(set(sided.values()))


def one_vocabulary(verdicts: pl.DataFrame, column: str, labels: pl.Series | None) -> dict[str, str | None]:
    """Return for each word that judges (and labels) write the word that it counts as, None for one that says nothing.

    Words are compared without case, and those with a known meaning by what they mean, as `rw.read` reads them: ``true`` of one
    judge is ``unsafe`` of another. Raters whose words have nothing in common are refused.
    """
    raters = [
        _Rater(str(judge), frozenset(part[column].cast(pl.String).unique().drop_nulls()))
        for (judge,), part in verdicts.select("judge", column).group_by("judge", maintain_order=True)
    ]
    if labels is not None:
        raters.append(_Rater(LABELS, frozenset(labels.cast(pl.String).unique().drop_nulls())))
    raters = [rater for rater in raters if any(word(text).whose != "blank" for text in rater.words)]
    words = sorted(set().union(*(rater.words for rater in raters)))
    by_meaning = _mean_the_same(raters)
    is_verdict = by_meaning and all(word(text).side is not None or word(text).whose == "blank" for text in words)
    keys = {
        text: (word(text).side if by_meaning and word(text).side is not None else normal(text))
        for text in words
        if not (is_verdict and word(text).whose == "blank")
    }
    _refuse_strangers(raters, keys, column)
    chosen: dict[bool | str | None, str] = {}
    for text in sorted(keys, key=lambda text: (word(text).whose in _OPEN, text.lower(), text.swapcase())):
        chosen.setdefault(keys[text], text)
    result = {text: chosen[keys[text]] if text in keys else None for text in words}
    _say(result)
    return result


def _mean_the_same(raters: list[_Rater]) -> bool:
    """Return whether words can be compared by their meaning: all are about one thing, and no rater tells synonyms apart."""
    families = [rater.families() for rater in raters]
    about = set().union(*families)
    if len(about) > 1 or not all(rater.tells_sides_apart_alone() for rater in raters):
        return False
    if "test" in about:  # who passed, the attack or the target, only words of a test know
        return all(families)
    # `true` of a judge that asks whether the answer is safe is not `unsafe`.
    return not about or not any(
        asks_the_opposite(rater.name) for rater, family in zip(raters, families, strict=True) if not family
    )


def _refuse_strangers(raters: list[_Rater], keys: Mapping[str, bool | str | None], column: str) -> None:
    """Raise an error if the words of two raters are not linked, directly or by other raters' words."""
    linked: list[set[bool | str | None]] = []
    of_raters = []
    for rater in raters:
        # Sides are one vocabulary; doubt and silence are in every one.
        used = {
            isinstance(keys[text], bool) or keys[text] for text in rater.words if text in keys and _is_telling(text)
        }
        of_raters.append(used)
        if used:
            touching = [group for group in linked if group & used]
            linked = [group for group in linked if not group & used] + [used.union(*touching)]
    if len(linked) < 2:
        return
    first, second = next(
        (first_rater, second_rater)
        for (first_rater, used), (second_rater, used_too) in combinations(zip(raters, of_raters, strict=True), 2)
        if used and used_too and not used & used_too
    )
    means = ", ".join(f'"{text}": "?"' for text in sorted(second.words)[:_MOST_WORDS])
    whose = "labels" if second.name == LABELS else "verdicts"
    raise ArgumentError(
        f"agreement: {_who(first)} and {_who(second)} have no word in common; say which word of the first each of the second is, "
        f'as in {whose}.with_columns(pl.col("{column}").replace({{{means}}}))'
    )


def _is_telling(text: str) -> bool:
    return word(text).whose not in {"doubt", "blank"}


def _who(rater: _Rater) -> str:
    listed = ", ".join(f"`{text}`" for text in sorted(rater.words)[:_MOST_WORDS])
    return f"{rater.name if rater.name == LABELS else f'judge {rater.name!r}'} ({listed})"


def _say(result: Mapping[str, str | None]) -> None:
    """Say which words count as one."""
    groups: dict[str | None, list[str]] = {}
    for text, counts_as in result.items():
        groups.setdefault(counts_as, []).append(text)
    readings = [
        f"{', '.join(f'`{text}`' for text in texts)} {'as no verdict' if counts_as is None else 'as one'}"
        for counts_as, texts in groups.items()
        if len(texts) > 1 or counts_as is None
    ]
    if readings:
        say(f"agreement: read {'; '.join(readings)}")
