"""Responses against references: the classes say what the expressions say."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollwise import metrics as m
from rollwise.errors import ArgumentError, MetricError
from rollwise.judges import ShortAnswerMatch, Similarity
from rollwise.judges.references import SIMILARITIES

ANSWERS = ["The capital of France is Paris.", "paris", None]
REFERENCES: list[Any] = ["Paris", ["Lyon", "Paris"], ""]
TEXTS = st.none() | st.text(alphabet="ab the,É“", max_size=10)


def rounded(scores: dict[str, Any]) -> dict[str, Any]:
    return {name: None if score is None else round(score, 4) for name, score in scores.items()}


def test_short_answers_as_aisteer360_scores_them() -> None:
    """Its checked figures, None being an empty answer; and with None left out."""
    assert rounded(ShortAnswerMatch()(ANSWERS, references=REFERENCES)) == {"exact_match": 0.6667, "f1": 0.7778}
    assert rounded(ShortAnswerMatch()(ANSWERS, reference_answers=REFERENCES)) == {"exact_match": 0.6667, "f1": 0.7778}
    assert rounded(ShortAnswerMatch("unknown")(ANSWERS, references=REFERENCES)) == {"exact_match": 0.5, "f1": 0.6667}


def test_short_answers_of_nothing_are_unknown() -> None:
    """No response, or none that is known, is no share of anything."""
    nothing = {"exact_match": None, "f1": None}
    assert ShortAnswerMatch()([], references=[]) == nothing
    assert ShortAnswerMatch("unknown")([None], references=["a"]) == nothing
    assert ShortAnswerMatch()([None], references=["b"]) == {"exact_match": 0.0, "f1": 0.0}
    assert ShortAnswerMatch()([""], references=["the"]) == {"exact_match": 1.0, "f1": 1.0}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "give `references`"),
        ({"references": ["a"]}, "2 responses but 1 of `references`"),
        ({"references": ["a", []]}, "response 1 has no reference"),
        ({"references": [["a", None], "b"]}, "response 0 has no reference"),
        ({"references": ["a", None]}, "response 1 has no reference; give a text or a list of texts"),
        ({"references": [4, "b"]}, "response 0 has no reference; give a text or a list of texts"),
        ({"references": [["a"], [4]]}, "response 1 has no reference; give a text or a list of texts"),
        ({"references": "ab"}, "`references` is one text, 'ab'; give a list"),
    ],
)
def test_references_that_are_lacking_are_refused(options: dict[str, Any], words: str) -> None:
    """One sentence that says which."""
    with pytest.raises(MetricError, match=words):
        ShortAnswerMatch()(["a", "b"], **options)


def test_an_unknown_way_with_none_is_refused() -> None:
    """It is empty or unknown."""
    with pytest.raises(ArgumentError, match="missing='zero' is unknown; it is"):
        ShortAnswerMatch("zero")  # type: ignore[arg-type]


@pytest.mark.integration
@given(st.lists(st.tuples(TEXTS, TEXTS.filter(lambda text: text is not None)), min_size=1, max_size=6))
def test_the_class_and_the_expressions_agree_on_short_answers(pairs: list[tuple[str | None, str]]) -> None:
    """Means of the column are the numbers of the class."""
    frame = pl.DataFrame(pairs, schema={"response": pl.String, "expected": pl.String}, orient="row")
    means = frame.select(
        m.exact_match("response", "expected").cast(pl.Float64).mean(), f1=m.token_f1("response", "expected").mean()
    ).row(0, named=True)
    found = ShortAnswerMatch("unknown")([pair[0] for pair in pairs], references=[pair[1] for pair in pairs])
    assert found == {name: value if value is None else pytest.approx(value) for name, value in means.items()}


@pytest.mark.integration
@pytest.mark.parametrize("kind", SIMILARITIES)
@given(pairs=st.lists(st.tuples(TEXTS, TEXTS), max_size=6))
def test_the_class_and_the_expressions_agree_on_similarity(
    kind: str, pairs: list[tuple[str | None, str | None]]
) -> None:
    """The list is the column, its mean the mean of what is known."""
    frame = pl.DataFrame(pairs, schema={"response": pl.String, "expected": pl.String}, orient="row")
    column = frame.select(SIMILARITIES[kind]("response", "expected").alias("x"))["x"]
    found = Similarity(kind)([pair[0] for pair in pairs], references=[pair[1] for pair in pairs])
    assert found["similarities"] == column.to_list()
    assert found["mean_similarity"] == column.mean()


def test_similarity_rounds_when_asked() -> None:
    """Two digits, as NeMo Agent Toolkit's page does."""
    found = Similarity(digits=2)(["red red wine", "", "?"], references=["The red house", "two words", "!"])
    assert found == {"mean_similarity": pytest.approx(0.37 / 3), "similarities": [0.37, 0.0, 0.0]}


def test_of_several_references_the_nearest_is_the_similarity() -> None:
    """Lists beside texts; what is none of both hides no other, and a list of nothing leaves it unknown."""
    found = Similarity("levenshtein")(["ab"] * 5, references=["ax", ["xx", "ab"], (None, "ax"), [], None])
    assert found == {"mean_similarity": pytest.approx(2 / 3), "similarities": [0.5, 1.0, 0.5, None, None]}


def test_similarity_needs_a_kind_and_references() -> None:
    """One sentence each."""
    with pytest.raises(MetricError, match="no type 'euclid'; available: cosine, jaccard, levenshtein"):
        Similarity("euclid")
    with pytest.raises(MetricError, match="give `references`"):
        Similarity()(["a"])
    with pytest.raises(MetricError, match="1 response but 2 of `references`"):
        Similarity()(["a"], references=["a", "b"])
