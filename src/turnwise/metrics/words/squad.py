"""Which words of SQuAD have two texts in common?

Whether texts have the same words in the same order is told by their bytes. Words that they share are looked for by the
numbers that stand for them: of two words in a text that have more than eight bytes, or two in other texts, one is taken
for the other by a chance of 2⁻⁶⁴. Their factors are drawn each time, so that nobody can write a text with such words.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from turnwise.metrics.blanks import OTHER_BLANKS
from turnwise.metrics.words.blocks import (
    BLANKS,
    DELETE,
    DIGIT,
    LOWER,
    OTHER,
    SPACE,
    Block,
    Bytes,
    Flags,
    Numbers,
    Places,
    between_spaces,
    beyond_bytes,
    block_of,
    in_blocks,
    lower,
)
from turnwise.metrics.words.numbers import LIMB, LONG, folded, limb, numbers, readable

_PUNCTUATION, _ARTICLE = r"[!-/:-@\[-`{-~]", r"\b(?:a|an|the)\b"
_BESIDE, _BETWEEN = r"[^\x00-\x7f]", f"{_PUNCTUATION}*"
_AN_ARTICLE = f"(?:a(?:{_BETWEEN}n)?|t{_BETWEEN}h{_BETWEEN}e)"
_ODD = (  # an article beside what is no ASCII may be a word of its own, as in quotation marks
    f"(?i:{_BESIDE}{_BETWEEN}{_AN_ARTICLE}(?:[^a-z0-9]|$)|(?:^|[^a-z0-9]){_AN_ARTICLE}{_BETWEEN}{_BESIDE})|{OTHER}"
)
_ARTICLES = [int.from_bytes(word.ljust(LIMB, b"\xff"), "little") for word in (b"a", b"an", b"the")]


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of some texts.

    Attributes
    ----------
    text
        The bytes they stand in.
    starts, sizes
        Where each begins, and how many bytes it has.
    number
        The number that stands for it.
    text_of
        Which text it stands in; that of a word that does not count is the number of texts.
    """

    text: Bytes
    starts: Places
    sizes: Places
    number: Numbers
    text_of: Places

    def chosen(self, which: Places) -> "_Words":
        return _Words(self.text, self.starts[which], self.sizes[which], self.number[which], self.text_of[which])


def _plain(texts: pl.Series) -> Block:
    """The texts, what bytes do not tell written as SQuAD compares it."""
    block = block_of(texts)
    odd = beyond_bytes(texts, block, _ODD)
    control = _controls(block.text)
    if control.size:
        odd = np.union1d(odd, np.searchsorted(block.begins, control, side="right") - 1)
    if odd.size == 0:
        return block
    plain = texts.gather(odd).str.to_lowercase().str.replace_all(_PUNCTUATION, "")
    plain = plain.str.replace_all(f"[{OTHER_BLANKS}]", " ").str.replace_all(_ARTICLE, " ")
    return block_of(texts.scatter(odd, plain))


def _controls(text: Bytes) -> Places:
    """Where control characters stand that are no blanks: an article beside one is a word of its own."""
    control = np.flatnonzero((text < SPACE) | (text == DELETE))
    return control[~BLANKS[text[control]]]


def _cut(block: Block, factors: Numbers) -> _Words:
    """The words of some texts, in lower case and without ASCII punctuation; articles do not count."""
    low = lower(block.text)
    stays = (low - LOWER < 26) | (low - DIGIT < 10) | (low <= SPACE) | (low >= DELETE)
    begins = block.begins - np.searchsorted(np.flatnonzero(~stays), block.begins)
    low = low[stays]
    starts, sizes = between_spaces(low)
    words = np.diff(np.searchsorted(starts, begins))  # of each text, where none follows a second blank
    text_of = np.repeat(np.arange(len(words)), words)
    if not sizes.all():
        some = np.flatnonzero(sizes)
        starts, sizes, text_of = starts[some], sizes[some], text_of[some]
    text = readable(low)
    number = numbers(text, starts, sizes, factors)
    article = (number == _ARTICLES[0]) | (number == _ARTICLES[1]) | (number == _ARTICLES[2])
    np.putmask(text_of, article, len(words))
    return _Words(text, starts, sizes, number, text_of)


def _factors() -> Numbers:
    """Two odd numbers that nobody knows before."""
    return np.random.default_rng().integers(2**63, size=2, dtype=np.uint64) * np.uint64(2) + np.uint64(1)


def same_words(ours: pl.Series, theirs: pl.Series) -> pl.Series:
    """Whether two texts have the same words of SQuAD in the same order (Boolean); no text may be null."""
    factors = _factors()

    def of(*sides: Block) -> Flags:
        own, other = (_cut(side, factors) for side in sides)
        total = len(sides[0].begins) - 1
        alike = np.equal(*(np.bincount(words.text_of, minlength=total + 1) for words in (own, other)))
        alike[total] = False  # words that do not count
        own, other = (words.chosen(np.flatnonzero(alike[words.text_of])) for words in (own, other))
        alike[own.text_of[_differ(own, other)]] = False
        found: Flags = alike[:total]
        return found

    return pl.Series(np.concatenate(in_blocks(of, _plain, ours, theirs)), dtype=pl.Boolean)


def _differ(own: _Words, other: _Words) -> Flags:
    """Which words are not the same, byte for byte."""
    differs: Flags = (own.number != other.number) | (own.sizes != other.sizes)
    more, at = np.flatnonzero(~differs & (own.sizes > LIMB)), 0
    for place in more[own.sizes[more] > LONG].tolist():
        left, right = (words.text[words.starts[place] :][: words.sizes[place]] for words in (own, other))
        differs[place] = not np.array_equal(left, right)
    more = more[own.sizes[more] <= LONG]
    while more.size:
        mine, theirs = (limb(words.text, words.starts[more] + at, words.sizes[more] - at) for words in (own, other))
        differs[more[mine != theirs]] = True
        at += LIMB
        more = more[own.sizes[more] > at]
    return differs


def shared_words(ours: pl.Series, theirs: pl.Series, *, distinct: bool = False) -> pl.DataFrame:
    """The words of SQuAD that two texts share and all that they have (columns `shared` and `all`); no text may be null.

    A word counts as often as it stands, in `shared` as often as in both; with ``distinct=True`` once.
    """
    factors = _factors()

    def of(*sides: Block) -> Places:
        own, other = (_cut(side, factors) for side in sides)
        total = len(sides[0].begins) - 1
        text_of = np.concatenate([own.text_of, other.text_of])
        number = np.concatenate([own.number, other.number])
        like = _first_alike(folded(number, text_of.view(np.uint64), factors))
        counts = [np.bincount(side, minlength=len(like)) for side in np.split(like, [len(own.number)])]
        shared, every = np.minimum(*counts), np.add(*counts)
        if distinct:
            shared, every = shared > 0, every > 0
        shared, every = (np.bincount(text_of, weights=times, minlength=total + 1) for times in (shared, every))
        return np.stack([shared[:total], every[:total]])

    shared, every = np.concatenate(in_blocks(of, _plain, ours, theirs), axis=1)
    return pl.DataFrame({"shared": shared, "all": every})


def _first_alike(items: Numbers) -> Places:
    """For each number the place of one that is the same, one and the same for all that are.

    All write their place into a table, at the slot that a product chooses. Who then finds there another than its like
    tries again with another factor.
    """
    bits = max(len(items), 2).bit_length()
    table = np.empty(1 << bits, dtype=np.int64)
    found = table[:0]
    rest = np.arange(len(items))
    left = items
    while rest.size:
        slot = ((left * _factors()[0]) >> np.uint64(64 - bits)).view(np.int64)
        table[slot] = rest
        mark = table[slot]
        if rest.size == len(items):
            found = mark
        else:
            found[rest] = mark
        differs = np.flatnonzero(items[mark] != left)
        rest, left = rest[differs], left[differs]
    return found
