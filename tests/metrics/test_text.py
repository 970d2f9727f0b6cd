"""Answers as text."""

from itertools import islice

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollwise import metrics as m
from rollwise.errors import ArgumentError, MetricError
from rollwise.metrics.text import WHITE_SPACE, WORD

PAGE = ["I love exploring new places.", "I love exploring new places.", "Traveling is my passion."]


def distinct_n(responses: list[str], n: int) -> float | None:
    """What AISteer360's page computes, with None where it says 0.0 for want of n-grams."""
    total = 0
    unique: set[tuple[str, ...]] = set()
    for response in responses:
        tokens = response.lower().split()
        grams = list(zip(*(islice(tokens, i, None) for i in range(n)), strict=False))
        total += len(grams)
        unique.update(grams)
    return len(unique) / total if total else None


def answers(responses: list[str | None]) -> pl.DataFrame:
    return pl.DataFrame({"response": responses}, schema={"response": pl.String})


@pytest.mark.parametrize(("n", "expected"), [(1, 9 / 14), (2, 7 / 11), (3, 5 / 8), (5, 1 / 2), (6, None)])
def test_the_example_of_the_page(n: int, expected: float | None) -> None:
    """The page's three responses give its values; where there is no n-gram, null and not zero."""
    assert answers([*PAGE]).select(m.distinct_n(n)).item() == expected
    assert answers([PAGE[0], None, *PAGE[1:]]).select(m.distinct_n(n)).item() == expected


WORDS = st.text(alphabet="aAbBİßΣσ.,!é \t\n\r\x1c\x1f\x85\xa0\u2003\u3000\u200b", max_size=25)


@pytest.mark.integration
@given(st.lists(WORDS, max_size=4), st.integers(1, 4))
def test_any_text_is_cut_as_python_cuts_it(responses: list[str], n: int) -> None:
    """Lower case and white space are Python's, whatever the script; no n-gram crosses from answer to answer."""
    assert answers([*responses]).select(m.distinct_n(n)).item() == distinct_n(responses, n)


@pytest.mark.integration
@given(st.lists(WORDS, min_size=1, max_size=4))
def test_lengths_are_pythons(responses: list[str]) -> None:
    """Words as `str.split` counts them, characters as `len` does."""
    found = answers([*responses, None]).select(m.response_length(), m.response_length("characters")).row(0)
    count = len(responses)
    assert found == pytest.approx((sum(len(r.split()) for r in responses) / count, sum(map(len, responses)) / count))


@pytest.mark.integration
def test_white_space_is_pythons() -> None:
    """Every character at which `str.split` splits is in the list, and no word has one of them."""
    every = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    assert set(WHITE_SPACE) == set(filter(str.isspace, every))
    characters = pl.Series(every)
    assert characters.filter(~characters.str.contains(WORD)).to_list() == sorted(WHITE_SPACE)


@pytest.mark.integration
def test_like_words_make_different_n_grams() -> None:
    """Pairs of words that differ in few letters, in their order, in what follows: each is counted."""
    stems = [f"{a}{b}{more}" for a in "abcd" for b in "abcd" for more in ("", "letters", "letters" * 3)]
    words = [stem + end for stem in stems for end in ("", ".", "0", "00", "01", "10")]
    answers = [f"{a} {b}" for a in words for b in words]
    frame = pl.DataFrame({"response": [*answers, *answers, "aa bb c"]})
    pairs = len(words) ** 2 + 1  # "bb c" is new, "aa bb" is not
    assert frame.select(m.distinct_n(2)).item() == pairs / (2 * len(words) ** 2 + 2)


def test_one_value_a_rollout_in_every_engine() -> None:
    """The same value in memory, streaming and beside the rows."""
    frame = pl.DataFrame(
        {"id": [i // 3 for i in range(60)], "response": [PAGE[i % 3] if i % 7 else None for i in range(60)]}
    )
    expressions = [m.distinct_n(1), m.distinct_n(3), m.response_length()]
    query = frame.lazy().group_by("id").agg(expressions)
    grouped = query.collect().sort("id")
    assert grouped.equals(query.collect(engine="streaming").sort("id"))
    beside = frame.select("id", *(e.over("id") for e in expressions)).unique().sort("id")
    assert grouped.equals(beside)


def test_another_column_stands_in_the_name() -> None:
    """The diversity of prompts is another metric than that of answers."""
    frame = pl.DataFrame({"prompt": ["a b a"], "response": ["a b"]})
    found = frame.select(m.distinct_n(1), m.distinct_n(1, "prompt"), m.distinct_n(2, "prompt"))
    assert found.row(0, named=True) == {"distinct_1": 1.0, "distinct_1_prompt": 2 / 3, "distinct_2_prompt": 1.0}


def test_what_makes_no_sense_is_refused() -> None:
    """No words, more than there is memory for, or an unknown unit."""
    for n in (0, 101, 2**31):
        with pytest.raises(MetricError, match=f"n={n}; an n-gram has 1 to 100 words"):
            m.distinct_n(n)
    with pytest.raises(MetricError, match=r"`turn` is Int64; name a column of texts"):
        pl.DataFrame({"turn": [1, 2]}).select(m.distinct_n(2, "turn"))
    with pytest.raises(ArgumentError, match="unit='pages' is unknown"):
        m.response_length("pages")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("distinct_2", m.distinct_n),
        ("distinct_12", m.distinct_n),
        ("distinct_1_prompt", m.distinct_n),
        ("response_length_words", m.response_length),
        ("response_length_characters", m.response_length),
    ],
)
def test_known_by_name(name: str, function: object) -> None:
    """The catalog gives each of them by its output name."""
    known = m.catalog.about(name)
    assert known is not None
    assert known.doc == function.__doc__
    assert m.catalog.expression(name).meta.output_name() == name


@pytest.mark.parametrize("name", ["distinct_0", "distinct_x", "distinct", "response_length_pages", "distinct_tools"])
def test_what_looks_alike_is_not_known(name: str) -> None:
    """Another column whose name begins alike is none of these metrics; the sentence says which one looks like it."""
    meant = "distinct_<n>" if name.startswith("distinct") else "response_length_words"
    with pytest.raises(MetricError, match=f"no metric is called '{name}'; did you mean `{meant}`"):
        m.catalog.expression(name)


def test_reading_every_word_is_in_no_default_set() -> None:
    """`ALL` holds nothing that reads every word."""
    assert not set(m.TEXT) & set(m.ALL)
