"""Text of the answers: length, sentences, repetition.

Words are what `str.split` gives: whatever stands between white space, punctuation kept.
"""

from typing import Literal

import polars as pl

from turnwise.errors import MetricError
from turnwise.metrics.blanks import BLANK
from turnwise.metrics.metric import metric

_LONG = 1000  # values of a list, on average


@metric(share=True)
def distinct_n(n: int = 2, column: str = "response") -> pl.Expr:
    r"""Distinct n-grams over all n-grams in the rollout's answers (Float64); null where there is no n-gram.

    Words are lower-cased and split at white space, punctuation kept; no n-gram reaches from one answer into the next.
    The longer the text, the lower the value: compare rollouts of like length only. It reads every word, which costs more
    than all metrics of outcomes together, so it stands in no default set. N-grams are compared by 64 bits that are made
    of them: among a million different ones two are taken for one with a chance of 3e-8.

    References
    ----------
    Li, Galley, Brockett, Gao, Dolan (2016), A diversity-promoting objective function for neural conversation models,
    https://doi.org/10.18653/v1/N16-1014

    Examples
    --------
    >>> answers = ["I love exploring new places.", "I love exploring new places.", "Traveling is my passion."]
    >>> round(pl.DataFrame({"response": answers}).select(distinct_n(1)).item(), 6)
    0.642857
    """
    if n < 1:
        raise MetricError(f"distinct_n: an n-gram has at least one word, not n={n}")

    def found(rollouts: pl.Series) -> pl.Series:
        from turnwise.metrics.words import grams

        if rollouts.dtype not in {pl.List(pl.String), pl.List(pl.Null)}:
            raise MetricError(f"distinct_n: `{column}` is {rollouts.explode().dtype}; name a column of texts")
        every = grams(rollouts.cast(pl.List(pl.String)), n)
        return _distinct(every) / every.list.len().replace(0, None)

    name = f"distinct_{n}" if column == "response" else f"distinct_{n}_{column}"
    # one call with a list of texts for each rollout: Polars would make two, for all n-grams and for the distinct ones
    return pl.col(column).implode().map_batches(found, return_dtype=pl.Float64, is_elementwise=True).alias(name)


def _distinct(lists: pl.Series) -> pl.Series:
    """Count the different values of each list: on long lists, making them takes a third of the time of counting them."""
    long = lists.list.len().sum() > _LONG * lists.len()
    return lists.list.unique().list.len() if long else lists.list.n_unique()


@metric()
def response_length(unit: Literal["words", "characters"] = "words") -> pl.Expr:
    """Mean length of the rollout's answers in words or characters (Float64); null where there is no answer.

    Examples
    --------
    >>> turns = pl.DataFrame({"response": ["No, sorry.", None, "Sure, here it is."]})
    >>> turns.select(response_length(), response_length("characters")).row(0)
    (3.0, 13.5)
    """
    if unit not in {"words", "characters"}:
        raise MetricError(f"response_length: there is no unit {unit!r}; it is 'words' or 'characters'")
    text = pl.col("response").str
    length = text.count_matches(f"[^{BLANK}]+") if unit == "words" else text.len_chars()
    return length.mean().alias(f"response_length_{unit}")


TEXT = (response_length, distinct_n)
