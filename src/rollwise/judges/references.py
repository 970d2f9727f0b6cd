"""Metrics that compare each response with a reference: exact match, word F1, similarity."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import polars as pl

from rollwise.errors import MetricError, listing
from rollwise.judges.response_metric import ResponseMetric, require_same_length, texts_of
from rollwise.metrics.answers import (
    exact_match,
    jaccard_similarity,
    levenshtein_similarity,
    tfidf_cosine,
    token_f1,
)
from rollwise.schema.option_types import check_option_types


class ShortAnswerMatch(ResponseMetric):
    """Mean exact match and mean word F1 against one or several references, by SQuAD's rules: `exact_match`, `f1`.

    Each response is compared with its nearest reference, separately for each score.

    Parameters
    ----------
    missing
        How to count a missing response (None): as an ``"empty"`` answer, as in AISteer360 (correct if the reference is
        empty too, wrong otherwise), or as ``"unknown"``, excluded from both means.

    References
    ----------
    Rajpurkar, Zhang, Lopyrev, Liang (2016), SQuAD: 100,000+ questions for machine comprehension of text,
    https://doi.org/10.18653/v1/D16-1264

    Examples
    --------
    >>> answers = ["The capital of France is Paris.", "paris", None]
    >>> scores = ShortAnswerMatch()(answers, references=["Paris", ["Lyon", "Paris"], ""])
    >>> {name: round(score, 4) for name, score in scores.items()}
    {'exact_match': 0.6667, 'f1': 0.7778}
    """

    def __init__(self, missing: Literal["empty", "unknown"] = "empty") -> None:
        super().__init__()
        check_option_types(ShortAnswerMatch.__init__, locals(), "ShortAnswerMatch")
        self.missing = missing

    def compute(
        self,
        responses: Sequence[str | None],
        prompts: Sequence[str] | None = None,
        references: Sequence[str | Sequence[str]] | None = None,
        reference_answers: Sequence[str | Sequence[str]] | None = None,
        **kwargs: Any,
    ) -> dict[str, float | None]:
        """Return both means, in [0, 1]; None without any response that is known."""
        golds: Sequence[Any] | None = references if references is not None else reference_answers
        if golds is None:
            raise MetricError(
                "ShortAnswerMatch: there are no references to compare with; give `references`, one per response"
            )
        require_same_length(self, responses, references=golds)
        # The expression takes a list of references for each response, so a single text becomes a list.
        several = [
            [gold] if isinstance(gold, str) else list(gold) if isinstance(gold, Iterable) else [] for gold in golds
        ]
        for row, texts in enumerate(several):
            if not texts or not all(isinstance(text, str) for text in texts):
                raise MetricError(f"ShortAnswerMatch: response {row} has no reference; give a text or a list of texts")
        answer = pl.col("response") if self.missing == "unknown" else pl.col("response").fill_null("")
        pairs = pl.DataFrame(
            {"response": texts_of(self, responses), "expected": several},
            schema={"response": pl.String, "expected": pl.List(pl.String)},
        )
        exact, f1 = exact_match(answer, "expected"), token_f1(answer, "expected")
        return pairs.select(exact.mean(), f1.mean().alias("f1")).row(0, named=True)


SIMILARITIES: dict[str, Callable[..., pl.Expr]] = {
    "cosine": tfidf_cosine,
    "jaccard": jaccard_similarity,
    "levenshtein": levenshtein_similarity,
}


class Similarity(ResponseMetric):
    """Similarity of each response to its reference, and the mean: `mean_similarity`, `similarities`.

    Parameters
    ----------
    similarity_type
        ``"cosine"`` (TF-IDF fitted on the pair, as in NeMo Agent Toolkit's example), ``"jaccard"`` (distinct
        words) or ``"levenshtein"`` (characters).
    digits
        Digits to round each similarity to (2 in NeMo Agent Toolkit's example); None does not round.

    Examples
    --------
    >>> Similarity("levenshtein")(["kitten", None], references=["sitting", "x"])
    {'mean_similarity': 0.5714285714285714, 'similarities': [0.5714285714285714, None]}
    """

    def __init__(self, similarity_type: str = "cosine", *, digits: int | None = None) -> None:
        super().__init__()
        if similarity_type not in SIMILARITIES:
            raise MetricError(f"Similarity: there is no type {similarity_type!r}; available: {listing(SIMILARITIES)}")
        self.similarity_type = similarity_type
        self.digits = digits

    def compute(
        self,
        responses: Sequence[str | None],
        prompts: Sequence[str] | None = None,
        references: Sequence[str | Sequence[str | None] | None] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Return the similarities, in [0, 1], and their mean; a list of references counts by its nearest one.

        A similarity is missing (None) if the response or the reference is, or if neither text has a word for the cosine; the
        mean excludes these. Without any similarity, it is missing too.
        """
        if references is None:
            raise MetricError(
                "Similarity: there are no references to compare with; give `references`, one per response"
            )
        require_same_length(self, responses, references=references)
        # A column holds texts or lists of texts: one response with several references makes lists of all.
        plain = all(reference is None or isinstance(reference, str) for reference in references)
        expected = references if plain else [[text] if isinstance(text, str) else text for text in references]
        pairs = pl.DataFrame(
            {"response": texts_of(self, responses), "expected": list(expected)},
            schema={"response": pl.String, "expected": pl.String if plain else pl.List(pl.String)},
        )
        similarities = pairs.select(SIMILARITIES[self.similarity_type]("response", "expected")).to_series()
        if self.digits is not None:
            similarities = similarities.round(self.digits)
        return {"mean_similarity": similarities.mean(), "similarities": similarities.to_list()}
