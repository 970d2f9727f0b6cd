"""Words of texts as numbers, with plain Python as the oracle."""

import re
import string
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from turnwise import metrics as m
from turnwise.metrics import blanks
from turnwise.metrics import words as w
from turnwise.metrics.words import blocks, choices, squad


def squad_words(text: str) -> list[str]:
    """The words of SQuAD, as its script cuts them."""
    plain = "".join(character for character in text.lower() if character not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", plain).split()


# all of Unicode but surrogates and the categories in which \w of Python and \w of Unicode differ: marks (below),
# numbers and symbols such as ² and Ⓐ, connectors such as ‿, what only a newer Unicode knows, joiners, and İ, whose small
# letter has a mark; in all others they agree, and so does what is found beside them
UNICODE = st.characters(
    exclude_categories=("Cs", "Mn", "Mc", "Me", "Cn", "No", "So", "Pc"), exclude_characters="İ\u200c\u200d"
)
BLANK = st.sampled_from(blanks.BLANKS)
PIECES = st.sampled_from(
    [
        *["the", "The", "a", "AN", "cat", "don't", "eightlet", "ninelette", "sixteen-letters!", "x" * 16, "x" * 17],
        *["y" * 40, "ß", "ΟΔΟΣ", "é", "中文", "\x00", "\x7f", "a\x00", "\x01an", "_", "12", ".", " ", "  "],
        *["“", "”", "’", "—", "t", "h", "e", "n", "É"],
    ]
)
TEXTS = st.lists(st.one_of(PIECES, BLANK, UNICODE), max_size=12).map("".join)
PAIRS = st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=8)


def series(texts: list[str]) -> pl.Series:
    return pl.Series(texts, dtype=pl.String)


@pytest.mark.integration
@pytest.mark.parametrize("block", [1, 64, 1 << 18])
@given(PAIRS)
@example([("a\x00", "\x00 a"), ("x\x00", "x"), ("eightlet" + "x" * 9, "eightlet" + "x" * 8), ("", "  ")])
def test_any_two_texts(block: int, pairs: list[tuple[str, str]]) -> None:
    """Whatever the script and however the rows are divided, words are the same where Python's are."""
    ours, theirs = (series(list(side)) for side in zip(*pairs, strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK", block)
        same = w.same_words(ours, theirs).to_list()
        often, once = w.shared_words(ours, theirs), w.shared_words(ours, theirs, distinct=True)
    cut = [(squad_words(a), squad_words(b)) for a, b in pairs]
    assert same == [a == b for a, b in cut]
    assert often.rows() == [(sum((Counter(a) & Counter(b)).values()), len(a) + len(b)) for a, b in cut]
    assert once.rows() == [(len({*a} & {*b}), len({*a} | {*b})) for a, b in cut]


@pytest.mark.parametrize("left", ["“", "x—", "é", "—'", "中", ""])
@pytest.mark.parametrize("right", ["”", "—x", "é", "'—", "文", ""])
@pytest.mark.parametrize("article", ["the", "A", "an", "t.h-e", "th", "ana"])
def test_an_article_beside_another_script(left: str, right: str, article: str) -> None:
    """It does not count where a quotation mark or a dash ends it, and does where a letter goes on."""
    texts = [
        f"{before}{left}{article}{right}{after}" for before in ("", "b ", "b.", "b") for after in ("", " b", ".b", "b")
    ]
    found = [w.shared_words(series([text]), series([text]))["shared"].item() for text in texts]
    assert found == [len(squad_words(text)) for text in texts]


def test_bytes_tell_all_but_what_is_looked_for() -> None:
    """Every character beyond ASCII that has a small letter, and every blank, is one of those that Polars rewrites."""
    every = series([chr(c) for c in range(0x80, 0x110000) if not 0xD800 <= c < 0xE000])
    rewritten = (every != every.str.to_lowercase()) | every.is_in(list(blanks.BLANKS))
    assert rewritten.sum() > 1400
    assert every.filter(rewritten & ~every.str.contains(blocks.OTHER)).to_list() == []


@pytest.mark.integration
@pytest.mark.parametrize("block", [1, 64, 1 << 18])
@given(st.lists(st.one_of(st.none(), TEXTS), max_size=8))
def test_words_are_counted_as_the_pattern_counts_them(block: int, texts: list[str | None]) -> None:
    """As many as Polars finds, and where there is no mark as Python finds; null where there is no text."""
    column = pl.Series(texts, dtype=pl.String)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK", block)
        found = w.word_count(column)
    assert found.equals(column.str.count_matches(r"\w+"), null_equal=True)
    assert found.to_list() == [None if text is None else len(re.findall(r"\w+", text)) for text in texts]


LONG = st.sampled_from([letter * count + end for letter in "xé" for count in (8, 120, 128, 300) for end in ("", ".")])


@pytest.mark.integration
@pytest.mark.parametrize("block", [1, 64, 1 << 18])
@given(st.lists(st.one_of(st.none(), TEXTS, st.lists(LONG, max_size=4).map(" ".join)), max_size=8), st.integers(1, 4))
@example(["ninelette ninelett.", "ninelett. ninelette", "", None, " a", "a "], 2)
def test_n_grams_of_any_texts(block: int, texts: list[str | None], n: int) -> None:
    """As many as Python finds in each text, and two the same where Python's are, however the rows are divided."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK", block)
        found = w.grams(pl.Series([[text] for text in texts], dtype=pl.List(pl.String)), n).to_list()
    assert found == w.grams(pl.Series([[text] for text in texts], dtype=pl.List(pl.String)), n).to_list()
    together = w.grams(pl.Series([texts, None, [], texts[:1]], dtype=pl.List(pl.String)), n).to_list()
    assert together == [[gram for row in found for gram in row], [], [], [gram for row in found[:1] for gram in row]]
    words = [(text or "").lower().split() for text in texts]
    expected = [list(zip(*(row[start:] for start in range(n)), strict=False)) for row in words]
    assert [len(row) for row in found] == [len(row) for row in expected]
    pairs = {*zip((one for row in found for one in row), (one for row in expected for one in row), strict=True)}
    assert len(pairs) == len({number for number, _ in pairs}) == len({gram for _, gram in pairs})


@pytest.mark.integration
def test_n_grams_of_like_words_are_told_apart() -> None:
    """Millions of pairs of words that differ in few letters, in their order, in what follows: each has its own number."""
    stems = [
        f"{a}{b}{c}{more}" for a in "abcd" for b in "abcd" for c in "abcd" for more in ("", "letters", "letters" * 3)
    ]
    words = [stem + end for stem in stems for end in ("", ".", ",", "!", "0", "00", "01", "10")]
    pairs = pl.Series(words).to_frame("a").join(pl.Series(words).to_frame("b"), how="cross")
    numbers = w.grams(pairs.select(pl.concat_str("a", "b", separator=" ").implode()).to_series(), 2).explode()
    assert len(numbers) == len(words) ** 2 == 2_359_296
    assert numbers.n_unique() == len(numbers)


@pytest.mark.parametrize(
    ("one", "other"), [("x" * 12, "x" * 13), ("eightlet-nine", "eightlet-mine"), ("x" * 300, "y" + "x" * 299)]
)
def test_same_words_are_so_byte_for_byte(monkeypatch: pytest.MonkeyPatch, one: str, other: str) -> None:
    """Were two words to get the same number, they would be told apart."""
    monkeypatch.setattr(squad, "numbers", lambda text, starts, *_: starts.astype("uint64") * 0 + 7)
    assert w.same_words(series([one, f"{one} {one}", one]), series([other, f"{one} {other}", one])).to_list() == [
        False,
        False,
        True,
    ]


CHOICES = st.text(alphabet="aAbBzZ[`{@(c)-M \r\x1c\x1f\t\n\x00\x08\x7f\xa0\u3000ßſıéÉ🎉", max_size=6)


@pytest.mark.integration
@given(
    st.lists(st.tuples(CHOICES, CHOICES, st.integers(0, 5)), min_size=1, max_size=40), st.integers(0, 3), st.booleans()
)
@example(
    [("a\x00", "a", 0), ("\x00", "", 0), (" ", "", 0), ("a b", "a", 0), ("aaaa", "aaaa ", 0), ("aaaaa", "aaaab", 0)],
    0,
    False,
)
@example([("-mAMA", "", 5), ("---a", "", 5), ("{aaa", "c", 0), ("bcd\x00e", "bcd e", 0)], 0, True)
def test_choices_are_alike_as_python_says(rows: list[tuple[str, str, int]], start: int, long: bool) -> None:
    """However short they are, in a part of a column, and beside a text so long that few are read in one go."""
    ours = [one for one, _, _ in rows]
    turns: list[Callable[[str], str]] = [
        str,
        str.upper,
        str.swapcase,
        lambda text: f" {text}\t",
        lambda text: f"\u3000{text.lower()}\x1c",
        lambda text: f"\r{text}",
    ]
    theirs = [turns[turn](one) if other < "b" else other for one, other, turn in rows]
    tail = ["x" * 3000] if long else []
    left, right = (pl.Series([*texts, *tail], dtype=pl.String)[min(start, len(rows) - 1) :] for texts in (ours, theirs))
    expected = [a.strip().upper() == b.strip().upper() for a, b in zip(left, right, strict=True)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choices, "_CACHED", 500)
        assert w.same_choice(left, right).to_list() == expected


@pytest.mark.parametrize("beyond", ["", "é", "İ", "\x00", "abc"])
def test_every_letter_is_its_own_choice(beyond: str) -> None:
    """All texts of ASCII of up to two characters, in another order, alone and beside one that no letter is."""
    letters = ["", *map(chr, range(1, 128)), *(a + b for a in map(chr, range(1, 128)) for b in "aA \n\x1cz.")]
    ours = [*letters, beyond, beyond]
    for theirs in (ours[::-1], [text.swapcase() for text in ours], [*ours[1:], ours[0]]):
        expected = [a.strip().upper() == b.strip().upper() for a, b in zip(ours, theirs, strict=True)]
        assert any(expected)
        assert w.same_choice(pl.Series(ours), pl.Series(theirs)).to_list() == expected


def test_choices_of_nobody() -> None:
    """A column without rows."""
    assert w.same_choice(*[pl.Series([], dtype=pl.String)] * 2).to_list() == []


def test_marks_belong_to_their_letters() -> None:
    """A letter with a mark is no article, and one word with it."""
    assert w.same_words(series(["a\u0301"]), series([""])).to_list() == [False]
    assert w.word_count(series(["cafe\u0301s", "नमस्ते", "İthe"])).to_list() == [1, 1, 1]
    assert w.shared_words(series(["İ the İthe"]), series(["i\u0307 İ"])).rows() == [(1, 4)]


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 5), max_size=60))
def test_items_are_numbered_by_their_likes(items: list[int]) -> None:
    """Two have the same number where they are the same, and only there."""
    numbers = squad._first_alike(pl.Series(items, dtype=pl.UInt64).to_numpy()).tolist()
    assert len(set(numbers)) == len(set(items))
    assert [items[number] for number in numbers] == items


def test_blanks_are_those_of_python() -> None:
    """Every character that `str.split` splits at stands in the list, and the pattern matches just these."""
    every = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    assert set(blanks.BLANKS) == set(filter(str.isspace, every))
    assert series(every).filter(series(every).str.contains(f"^[{blanks.BLANK}]$")).to_list() == sorted(blanks.BLANKS)


@pytest.mark.integration
def test_many_expressions_over_many_blocks_at_once() -> None:
    """Threads within the threads of Polars do not wait for each other; every engine gives the values of single rows."""
    texts = ["Ünï the Cat\x00 a", "a dog's life", "\u2003the end\x1c", "an Ox " * 20] * 20_000
    frame = pl.DataFrame(
        {"response": texts, "expected": texts[1:] + texts[:1], "g": [i % 7 for i in range(len(texts))]}
    )
    expressions = [
        m.exact_match("response", "expected"),
        m.token_f1("response", "expected"),
        m.jaccard_similarity("response", "expected"),
        m.choice_match("response", "expected"),
        m.instruction_followed("length_constraints:number_words", "response", num_words=3, relation="at least"),
    ]
    whole = frame.select(expressions)
    assert whole.equals(frame.lazy().select(expressions).collect(engine="streaming"))
    assert whole.head(4).equals(frame.head(4).select(expressions))
    assert whole.slice(4, 4).equals(whole.head(4))
    means = frame.group_by("g", maintain_order=True).agg(e.mean() for e in expressions)
    assert means.height == 7
    query = frame.lazy().group_by("g").agg(m.distinct_n(2)).sort("g")
    diverse = query.collect()
    assert diverse.equals(query.collect(engine="streaming"))
    said = [text.lower().split() for text in frame.filter(pl.col("g") == 3)["response"]]
    pairs = [pair for words in said for pair in pairwise(words)]
    assert diverse.row(3) == (3, len(set(pairs)) / len(pairs))
