"""Text of the answers: length and repetition.

Words are the parts of `str.split`: cut at white space, with their punctuation.
"""

from typing import Literal

import polars as pl

from rollwise.errors import MetricError
from rollwise.metrics.metric import AMOUNT, SHARE, metric
from rollwise.schema.named import column_named
from rollwise.schema.option_types import check_option_types

WHITE_SPACE = "".join(filter(str.isspace, map(chr, range(0x3001))))
"""The characters at which `str.split` splits: Unicode's white space and the four separators of ASCII."""

WORD = f"[^{WHITE_SPACE}]+"
"""Pattern of a word."""


@metric(sets=("TEXT",), names=("response_length_<unit>",), values=AMOUNT)
def response_length(unit: Literal["words", "characters"] = "words") -> pl.Expr:
    """Mean length of the rollout's answers in words or characters (Float64); null without answers.

    Examples
    --------
    >>> turns = pl.DataFrame({"response": ["No, sorry.", None, "Sure, here it is."]})
    >>> turns.select(response_length(), response_length("characters")).row(0)
    (3.0, 13.5)
    """
    check_option_types(response_length, locals())
    text = pl.col("response").str
    length = text.count_matches(WORD) if unit == "words" else text.len_chars()
    return length.mean().alias(f"response_length_{unit}")


MOST_WORDS = 100  # of an n-gram: each of them is a column while n-grams are counted


@metric(values=SHARE, sets=("TEXT",), names=("distinct_<n>", "distinct_<n>_<column>"))
def distinct_n(n: int = 2, column: str = "response") -> pl.Expr:
    r"""Distinct n-grams over all n-grams in the rollout's answers (Float64); null without n-grams.

    Words are lower-cased and split at white space, with their punctuation; n-grams do not extend over several answers. The
    value falls with the length of the text: compare only rollouts of similar length. It reads every word, which takes longer
    than all metrics of outcomes together, so it is not in a default set.

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
    check_option_types(distinct_n, locals())
    if not 1 <= n <= MOST_WORDS:
        raise MetricError(f"distinct_n: n={n}; an n-gram has 1 to {MOST_WORDS} words")

    def diversity(rollouts: pl.Series) -> pl.Series:
        if rollouts.dtype not in {pl.List(pl.String), pl.List(pl.Null)}:
            raise MetricError(f"distinct_n: `{column}` is {rollouts.explode().dtype}; name a column of texts")
        return _distinct_share(rollouts.cast(pl.List(pl.String)), n)

    name = f"distinct_{n}" if column == "response" else f"distinct_{n}_{column}"
    # One call with a list of texts for each rollout: as an expression, the n-grams would be made twice: to count
    # all of them, and to count the distinct ones.
    return (
        column_named(column).implode().map_batches(diversity, return_dtype=pl.Float64, is_elementwise=True).alias(name)
    )


def _distinct_share(rollouts: pl.Series, n: int) -> pl.Series:
    """Return distinct n-grams over all n-grams of each list of texts; null without n-grams."""
    rows = rollouts.to_frame("text").lazy().with_row_index("rollout")
    words = (
        rows.explode("text", empty_as_null=False, keep_nulls=False)
        .with_row_index("answer")
        .with_columns(word=pl.col("text").str.to_lowercase().str.extract_all(WORD))
        .explode("word", empty_as_null=False, keep_nulls=False)
    )
    # An n-gram begins at each word whose (n - 1)th successor is a word of the same answer.
    within = pl.col("answer") == pl.col("answer").shift(1 - n)
    gram = pl.concat_str([pl.col("word").shift(-after) for after in range(n)], separator=" ")
    shares = (
        words.select("rollout", gram=pl.when(within).then(gram))
        .drop_nulls()
        .group_by("rollout")
        .agg(share=pl.col("gram").n_unique() / pl.len())
    )
    return rows.select("rollout").join(shares, on="rollout", how="left", maintain_order="left").collect()["share"]
