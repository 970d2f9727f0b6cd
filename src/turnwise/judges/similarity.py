"""Similarity of a response to its reference."""

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from turnwise.errors import MetricError, listing
from turnwise.judges.response_metric import ResponseMetric, require_same_length, texts_of
from turnwise.metrics.answers import jaccard_similarity, levenshtein_similarity, tfidf_cosine

SIMILARITIES: dict[str, Callable[..., pl.Expr]] = {
    "cosine": tfidf_cosine,
    "jaccard": jaccard_similarity,
    "levenshtein": levenshtein_similarity,
}


class Similarity(ResponseMetric):
    """Likeness of each response to its reference, and the mean: `mean_similarity`, `similarities`.

    Parameters
    ----------
    similarity_type
        ``"cosine"`` (TF-IDF fitted on the pair, the similarity of NeMo Agent Toolkit's page), ``"jaccard"`` (distinct
        words) or ``"levenshtein"`` (characters).
    digits
        Digits to round each similarity to, as that page does with 2; None for none.

    Examples
    --------
    >>> Similarity("levenshtein")(["kitten", None], references=["sitting", "x"])
    {'mean_similarity': 0.5714285714285714, 'similarities': [0.5714285714285714, None]}
    """

    def __init__(self, similarity_type: str = "cosine", *, digits: int | None = None) -> None:
        super().__init__()
        if similarity_type not in SIMILARITIES:
            raise MetricError(f"Similarity: there is no type {similarity_type!r}; there is {listing(SIMILARITIES)}")
        self.similarity_type = similarity_type
        self.digits = digits

    def compute(
        self,
        responses: Sequence[str | None],
        prompts: Sequence[str] | None = None,
        references: Sequence[str | Sequence[str | None] | None] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """The similarities, in [0, 1], and their mean; of a list of references the nearest counts.

        A similarity is None where response or reference is, or where the cosine has no word to go by; the mean is over
        the others, and None where there is none.
        """
        if references is None:
            raise MetricError("Similarity: there is nothing to compare with; give `references`, one per response")
        require_same_length(self, responses, references=references)
        plain = all(each is None or isinstance(each, str) for each in references)
        expected = references if plain else [[each] if isinstance(each, str) else each for each in references]
        pairs = pl.DataFrame(
            {"response": texts_of(self, responses), "expected": list(expected)},
            schema={"response": pl.String, "expected": pl.String if plain else pl.List(pl.String)},
        )
        found = pairs.select(SIMILARITIES[self.similarity_type]("response", "expected")).to_series()
        if self.digits is not None:
            found = found.round(self.digits)
        return {"mean_similarity": found.mean(), "similarities": found.to_list()}
