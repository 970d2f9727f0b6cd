"""Answers against references, with scikit-learn, SQuAD's rules in plain Python and the pages' own figures as oracles."""

import math
import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import rollwise as rw
from rollwise import metrics as m
from rollwise.errors import MetricError
from rollwise.metrics.answers import shared_items
from rollwise.metrics.text import WHITE_SPACE

Function = Callable[..., pl.Expr]

# the two pairs of the sample output on NeMo Agent Toolkit's page
WHAT = "LangSmith is a platform for LLM application development, monitoring, and testing"
HOW = (
    "To prototype with LangSmith, you can use its tracing feature to quickly understand how the model is performing and "
    "debug where it is failing. LangSmith provides clear visibility and debugging information at each step of an LLM "
    "sequence, making it easier to identify and root-cause issues."
)
MORE = (
    ". It supports various workflows throughout the application development lifecycle, including automations, threads, "
    "annotating traces, adding runs to a dataset, prototyping, and debugging."
)
FURTHER = (
    " Additionally, LangSmith supports automations, threads, and annotating traces, which can be helpful for processing "
    "traces at production scale, tracking the performance of multi-turn applications, and refining and improving the "
    "application's performance."
)
PAGE = [(WHAT, WHAT + MORE, 0.56), (HOW, HOW + FURTHER, 0.78)]


# ── SQuAD's rules, as its script writes them ──────────────────────────────────────────────────────────────────────────
def words(text: str) -> list[str]:
    plain = "".join(character for character in text.lower() if character not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", plain).split()


def squad_f1(ours: str, theirs: str) -> float:
    a, b = words(ours), words(theirs)
    shared = sum((Counter(a) & Counter(b)).values())
    if not a or not b:
        return float(a == b)
    return 2 * shared / (len(a) + len(b)) if shared else 0.0


def squad_jaccard(ours: str, theirs: str) -> float:
    a, b = set(words(ours)), set(words(theirs))
    return len(a & b) / len(a | b) if a | b else 1.0


def edits(ours: str, theirs: str) -> float:
    """Levenshtein's distance by its recursion, row by row."""
    row = list(range(len(theirs) + 1))
    for i, left in enumerate(ours, 1):
        before, row[0] = row[0], i
        for j, right in enumerate(theirs, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (left != right))
    longest = max(len(ours), len(theirs))
    return 1 - row[-1] / longest if longest else 1.0


def short_cosine(ours: str, theirs: str) -> float:
    """Cosine of words that white space separates, those of both texts with weight 1, others with 1 + ln 1.5."""
    first, second = (
        Counter(word.strip(".,;:!?()[]\"'") or word for word in text.lower().split()) for text in (ours, theirs)
    )
    if not first and not second:
        return 1.0
    rare = 1 + math.log(1.5)

    def length(counts: Counter[str], other: Counter[str]) -> float:
        return math.hypot(*(n * (1 if word in other else rare) for word, n in counts.items()))

    both = length(first, second) * length(second, first)
    return sum(n * second[word] for word, n in first.items()) / both if both else 0.0


def tfidf(ours: str, theirs: str) -> float:
    text = pytest.importorskip("sklearn.feature_extraction.text", reason="scikit-learn, the oracle, is not installed")
    try:
        rows = text.TfidfVectorizer().fit_transform([theirs, ours]).toarray()
    except ValueError:  # no word of two letters in either
        return short_cosine(ours, theirs)
    return float(rows[0] @ rows[1])


def compare(function: Function, pairs: Sequence[tuple[str | None, str | None]]) -> list[Any]:
    frame = pl.DataFrame(pairs, schema={"response": pl.String, "expected": pl.String}, orient="row")
    return frame.select(function("response", "expected")).to_series().to_list()


@pytest.mark.parametrize(("answer", "generated", "score"), PAGE)
def test_the_similarities_of_nemos_page(answer: str, generated: str, score: float) -> None:
    """The cosine of each pair is the page's .56 or .78, and scikit-learn's to the last digits."""
    (found,) = compare(m.tfidf_cosine, [(generated, answer)])
    assert round(found, 2) == score
    assert found == pytest.approx(tfidf(generated, answer), abs=1e-12)
    assert round(found, 6) == {0.56: 0.556573, 0.78: 0.776670}[score]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("answer", "reference", "score"),
    [(text, text, 1.0) for text in ("A", "7", "0.1", "I", "是", "é", "N/A", "C++", "B.", "-", "🎉", "a b c", "")]
    + [
        ("b", "B.", 1.0),
        ("(C)", "C", 1.0),
        ("A", "B", 0.0),
        ("0.1", "1.0", 0.0),
        ("C++", "C", 0.0),
        ("-1", "1", 0.0),
        ("7", "", 0.0),
        ("7", "seven", 0.0),  # one text has a word of two letters: scikit-learn's value
        ("a b", "a c", 1 / (1 + (1 + math.log(1.5)) ** 2)),  # one shared word of weight 1, one rare word on each side
    ],
)
def test_short_answers_have_a_similarity(answer: str, reference: str, score: float) -> None:
    """Nine of twelve answers equal to their reference had none, so that a multiple-choice set was averaged over three."""
    assert compare(m.tfidf_cosine, [(answer, reference)]) == [pytest.approx(score)]


# marks (category M) stay out: Python's \w ends a word before one, Unicode's does not
TEXTS = st.text(alphabet="aabnthe THE.,'“”-_éÉßΣσς0²中文 \t\n\x1c\x1f\x85\xa0\u2003\x00🎉", max_size=20)
PHRASES = st.lists(st.sampled_from(["the", "a", "cat", "Cat", "dog,", "an", "“the", "x", ""]), max_size=12).map(
    " ".join
)
ANY = st.one_of(TEXTS, PHRASES)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("function", "oracle"),
    [
        (m.exact_match, lambda a, b: words(a) == words(b)),
        (m.token_f1, squad_f1),
        (m.jaccard_similarity, squad_jaccard),
        (m.levenshtein_similarity, edits),
        (m.tfidf_cosine, tfidf),
        (m.choice_match, lambda a, b: a.strip().upper() == b.strip().upper()),
    ],
    ids=["exact", "f1", "jaccard", "levenshtein", "tfidf", "choice"],
)
@given(st.lists(st.tuples(ANY, ANY), min_size=1, max_size=8))
@example([("“the”", "“ ”"), ("a\x00", "\x00"), ("the the a", ""), ("x x x y", "y x x z")])
def test_any_two_texts_compare_as_the_oracle_says(
    function: Function, oracle: Callable[[str, str], Any], pairs: list[tuple[str, str]]
) -> None:
    """Any script, blank, quote and control character: the oracle's value to the last digits, and null where a text is null."""
    found = compare(function, [*pairs, (None, "x"), ("x", None), (None, None)])
    assert found[-3:] == [None, None, None]
    for value, (ours, theirs) in zip(found[:-3], pairs, strict=True):
        assert value == (expected if (expected := oracle(ours, theirs)) is None else pytest.approx(expected, abs=1e-12))


@pytest.mark.integration
@given(st.lists(st.tuples(ANY, ANY), min_size=1, max_size=6))
def test_likeness_is_a_share_both_ways(pairs: list[tuple[str | None, str | None]]) -> None:
    """Every similarity lies in [0, 1], is the same both ways, and is 1 of a text with itself."""
    for function in (m.token_f1, m.jaccard_similarity, m.tfidf_cosine, m.levenshtein_similarity):
        there = compare(function, pairs)
        back = compare(function, [(b, a) for a, b in pairs])
        own = compare(function, [(a, a) for a, _ in pairs])
        assert there == pytest.approx(back, abs=1e-12)
        assert all(value is None or -1e-12 <= value <= 1 + 1e-12 for value in there)
        assert all(value is None or value == pytest.approx(1) for value in own)


@pytest.mark.integration
@given(st.lists(st.tuples(*[st.lists(st.sampled_from("abc"), max_size=6)] * 2), min_size=1, max_size=9))
def test_items_are_shared_as_often_as_they_stand(pairs: list[tuple[list[str], list[str]]]) -> None:
    """The size of the intersection of two multisets, whatever stands twice in either."""
    frame = pl.DataFrame(pairs, schema=dict.fromkeys(("actual", "expected"), pl.List(pl.String)), orient="row")
    assert shared_items(frame).to_list() == [sum((Counter(a) & Counter(b)).values()) for a, b in pairs]


@pytest.mark.integration
def test_more_pairs_than_are_counted_at_once() -> None:
    """The rows of a long table stay in order."""
    pairs = [(f"x x {row} y y", f"y y x x {row % 3}") for row in range(9001)]
    assert compare(m.token_f1, pairs) == pytest.approx([squad_f1(*pair) for pair in pairs])


def test_unicode_is_compared_by_characters_not_bytes() -> None:
    """Letters of several bytes count once; a mark belongs to its letter, so á written with one is no article."""
    assert compare(m.levenshtein_similarity, [("naïve 🎉", "naive 🎉"), ("日本語", "日本人")]) == [1 - 1 / 7, 1 - 1 / 3]
    assert compare(m.exact_match, [("a\u0301", ""), ("ÉCOLE", "école")]) == [False, True]


TURNS = pl.DataFrame(
    {
        "rollout_id": ["a", "a", "b", "c", "c"],
        "turn": pl.Series([2, 1, 1, 1, 2], dtype=pl.Int32),
        "response": ["The Tower", "no", None, "tower", None],
        "expected": ["tower", "tower", "tower", None, None],
    }
)


@pytest.mark.integration
@pytest.mark.parametrize("function", m.ANSWERS, ids=lambda function: function.__name__)
def test_a_rollout_is_its_last_answer(function: Function) -> None:
    """Whatever the order of rows and in every engine: the last turn decides, and an unknown answer or reference is null."""
    name = function.__name__
    measured = rw.measure(TURNS, function())[name].to_list()
    query = TURNS.lazy().group_by("rollout_id", maintain_order=True).agg(function())
    assert measured == query.collect()[name].to_list() == query.collect(engine="streaming")[name].to_list()
    assert measured == [compare(function, [("The Tower", "tower")])[0], None, None]
    beside = TURNS.with_columns(function().over("rollout_id"))[name].to_list()
    assert beside == [measured[0], measured[0], None, None, None]


def test_turns_can_be_compared_and_then_reduced() -> None:
    """Given columns it is an expression over turns, and the best turn is one more word."""
    best = rw.measure(TURNS, best=m.token_f1("response", "expected").max())
    assert best["best"].to_list() == [1.0, None, None]


def test_the_best_of_several_references_counts() -> None:
    """Of several columns the nearest; one that is null does not hide another."""
    frame = pl.DataFrame({"response": ["Paris"] * 2, "one": ["Lyon", None], "two": ["paris.", "Paris, France"]})
    found = frame.select(m.exact_match("response", ["one", "two"]), m.token_f1("response", ["one", pl.col("two")]))
    assert found.rows() == [(True, 1.0), (False, pytest.approx(2 / 3))]


@pytest.mark.integration
@pytest.mark.parametrize("function", m.ANSWERS, ids=lambda function: function.__name__)
@given(st.lists(st.tuples(ANY | st.none(), st.none() | st.lists(ANY | st.none(), max_size=3)), max_size=6))
@example(
    [("Paris", ["Lyon", "Paris"]), ("Paris", []), ("Paris", [None]), ("Paris", None), (None, ["Paris"]), ("", [""])]
)
@example([("Paris", [None, "Lyon"])])
def test_the_best_in_a_list_of_references_counts(
    function: Function, rows: list[tuple[str | None, list[str | None] | None]]
) -> None:
    """The highest of what each text of the list gives by itself; null where the list is, is empty, or knows none."""
    frame = pl.DataFrame(rows, schema={"response": pl.String, "expected": pl.List(pl.String)}, orient="row")
    found = frame.select(function("response", "expected")).to_series()
    alone = [
        [one for one in compare(function, [(ours, each) for each in theirs or []]) if one is not None]
        for ours, theirs in rows
    ]
    for value, each in zip(
        found, alone, strict=True
    ):  # sums over words differ in the last digit by the texts beside them
        assert value == (pytest.approx(max(each), abs=1e-12) if each else None)
    assert found.dtype == frame.select(function("response", "response")).to_series().dtype


@pytest.mark.integration
@pytest.mark.parametrize("function", m.ANSWERS, ids=lambda function: function.__name__)
def test_a_rollout_may_have_several_references(function: Function) -> None:
    """As the fact of a rollout, as a literal, as an array, beside another column, and in every engine."""
    turns = TURNS.with_columns(expected=pl.when(pl.col("expected").is_not_null()).then(pl.lit(["no", "tower"])))
    name = function.__name__
    plain = rw.measure(TURNS, function())[name].to_list()
    assert rw.measure(turns, function())[name].to_list() == plain
    query = turns.lazy().group_by("rollout_id", maintain_order=True).agg(function())
    assert query.collect(engine="streaming")[name].to_list() == plain
    arrays = turns.with_columns(pl.col("expected").cast(pl.Array(pl.String, 2)))
    assert rw.measure(arrays, function())[name].to_list() == plain
    said = pl.DataFrame({"response": ["no", "maybe"], "other": ["yes", "maybe"]})
    same, other = compare(function, [("no", "no"), ("maybe", "yes")])
    assert said.select(function("response", pl.lit(["yes", "no"]))).to_series()[0] == same
    both = function("response", [pl.lit(["yes", "no"]), "other"])
    assert said.select(both).to_series().to_list() == [same, pytest.approx(same)]
    assert said.select(function("response", pl.lit(["yes"]))).to_series()[1] == other


# all of Unicode but surrogates and the categories in which \w of Python and \w of Unicode differ: marks,
# numbers and symbols such as ² and Ⓐ, connectors such as ‿, what only a newer Unicode knows, joiners, and İ, whose small
# letter has a mark; in all others they agree, and so does the boundary of an article beside them
UNICODE = st.characters(
    exclude_categories=("Cs", "Mn", "Mc", "Me", "Cn", "No", "So", "Pc"), exclude_characters="İ\u200c\u200d"
)
PIECES = st.sampled_from(
    [
        *["the", "The", "a", "AN", "cat", "don't", "eightlet", "sixteen-letters!", "x" * 16, "x" * 17, "y" * 40],
        *["ß", "ΟΔΟΣ", "é", "中文", "\x00", "\x7f", "a\x00", "\x01an", "_", "12", ".", " ", "  "],
        *["“", "”", "’", "—", "t", "h", "e", "n", "É"],
    ]
)
ANY_TEXT = st.lists(st.one_of(PIECES, st.sampled_from(WHITE_SPACE), UNICODE), max_size=12).map("".join)
CHOICES = st.text(alphabet="aAbBzZ[`{@(c)-M \r\x1c\x1f\t\n\x00\x08\x7f\xa0\u3000ßſıéÉ🎉", max_size=6)


@pytest.mark.integration
@given(st.lists(st.tuples(ANY_TEXT, ANY_TEXT), min_size=1, max_size=8))
@example([("a\x00", "\x00 a"), ("x\x00", "x"), ("eightlet" + "x" * 9, "eightlet" + "x" * 8), ("", "  ")])
def test_texts_of_any_script_have_the_words_of_python(pairs: list[tuple[str, str]]) -> None:
    """Words are cut and compared as SQuAD's script does it, whatever the letters, quotation marks and white space."""
    assert compare(m.exact_match, pairs) == [words(a) == words(b) for a, b in pairs]
    assert compare(m.token_f1, pairs) == pytest.approx([squad_f1(a, b) for a, b in pairs], abs=1e-15)
    assert compare(m.jaccard_similarity, pairs) == [squad_jaccard(a, b) for a, b in pairs]


@pytest.mark.thinned(8)
@pytest.mark.parametrize("left", ["“", "x—", "é", "—'", "中", ""])
@pytest.mark.parametrize("right", ["”", "—x", "é", "'—", "文", ""])
@pytest.mark.parametrize("article", ["the", "A", "an", "t.h-e", "th", "ana"])
def test_an_article_beside_another_script(left: str, right: str, article: str) -> None:
    """It does not count where a quotation mark or a dash ends it, and does where a letter goes on."""
    texts = [
        f"{before}{left}{article}{right}{after}" for before in ("", "b ", "b.", "b") for after in ("", " b", ".b", "b")
    ]
    plain = [" ".join(words(text)) for text in texts]
    assert compare(m.exact_match, list(zip(texts, plain, strict=True))) == [words(p) == p.split() for p in plain]


def test_marks_belong_to_their_letters() -> None:
    """A letter with a mark is no article, and one word with it."""
    assert compare(m.exact_match, [("a\u0301", ""), ("İ", "i\u0307")]) == [False, True]
    assert compare(m.jaccard_similarity, [("İ the İthe", "i\u0307 İ")]) == [0.5]


@pytest.mark.integration
@given(st.lists(st.tuples(CHOICES, CHOICES), min_size=1, max_size=40))
@example(
    [
        ("a\x00", "a"),
        ("\x00", ""),
        (" ", ""),
        ("a b", "a"),
        ("aaaa", "aaaa "),
        ("aaaaa", "aaaab"),
        ("bcd\x00e", "bcd e"),
    ]
)
def test_choices_are_alike_as_python_says(pairs: list[tuple[str, str]]) -> None:
    """Capitals and the white space around a choice are Python's."""
    changes: list[Callable[[str], str]] = [
        str.upper,
        str.swapcase,
        lambda text: f" {text}\t",
        lambda text: f"\u3000{text}\x1c",
    ]
    pairs = [*pairs, *((ours, change(ours)) for ours, _ in pairs for change in changes)]
    assert compare(m.choice_match, pairs) == [a.strip().upper() == b.strip().upper() for a, b in pairs]


@pytest.mark.integration
def test_every_engine_gives_the_values_of_single_rows() -> None:
    """In memory, streaming, in parts and within a group-by."""
    texts = ["Ünï the Cat\x00 a", "a dog's life", "\u2003the end\x1c", "an Ox " * 20] * 500
    frame = pl.DataFrame(
        {"response": texts, "expected": texts[1:] + texts[:1], "g": [i % 7 for i in range(len(texts))]}
    )
    expressions = [function("response", "expected") for function in m.ANSWERS]
    whole = frame.select(expressions)
    assert whole.equals(frame.lazy().select(expressions).collect(engine="streaming"))
    assert whole.head(4).equals(frame.head(4).select(expressions))
    assert whole.slice(4, 4).equals(whole.head(4))
    assert frame.group_by("g", maintain_order=True).agg(e.mean() for e in expressions).height == 7


def test_a_list_of_what_is_no_text_is_refused() -> None:
    """One sentence, that says what the references are; lists with nothing in them need no type."""
    frame = pl.DataFrame({"response": ["4"], "expected": [[4]]})
    with pytest.raises(MetricError, match=r"exact_match: the references are List\(Int64\); make them texts"):
        frame.select(m.exact_match("response", "expected"))
    assert frame.select(m.exact_match("response", pl.lit([], pl.List(pl.Null)))).item() is None


@pytest.mark.parametrize(
    "function", [m.exact_match, m.token_f1, m.levenshtein_similarity, m.tfidf_cosine, m.choice_match]
)
def test_what_is_no_text_is_refused(function: Callable[..., pl.Expr]) -> None:
    """One sentence, that says which side it is and of which kind; a column of nothing but nulls needs no type."""
    frame = pl.DataFrame({"text": ["4"], "number": [4], "kind": pl.Series(["4"], dtype=pl.Categorical), "null": [None]})
    with pytest.raises(
        pl.exceptions.SchemaError, match=r": the references are Int64; make them texts or lists of texts"
    ):
        frame.select(function("text", "number"))
    with pytest.raises(pl.exceptions.SchemaError, match=r": the answers are Categorical; make them texts"):
        frame.select(function("kind", "text"))
    assert frame.select(function("text", "null")).item() is frame.select(function("null", "text")).item() is None


@pytest.mark.integration
def test_no_rows_give_no_values() -> None:
    """An empty table, and one without rollouts."""
    for function in m.ANSWERS:
        assert compare(function, []) == []
        assert rw.measure(TURNS.clear(), function()).height == 0


def test_an_answer_is_no_default() -> None:
    """Metrics that read every word stand in no default set."""
    assert not set(m.ANSWERS) & set(m.ALL)
