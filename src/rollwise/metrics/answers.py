"""Agreement of an answer with the expected one: exact, or by degrees of similarity.

Each function works in two ways. With the names of two columns it compares them row by row,
``turns.with_columns(token_f1("response", "expected"))``. Without, it is a metric: the rollout's last answer against its
fact `expected`. There may be several references, as columns or as a column of lists of texts; the best of them counts. A
text that is null is unknown, and so is its comparison; an empty answer is an answer. References that are null are
ignored, unless all are. TURNS store a list as JSON text: ``pl.col("expected").str.json_decode(pl.List(pl.String))``
decodes it.

Words are defined as in SQuAD: lower case, without ASCII punctuation and without the articles *a*, *an*, *the*, cut at
white space. For scripts without white space, `levenshtein_similarity` compares characters.
"""

import math
from collections.abc import Callable, Sequence

import polars as pl

from rollwise.errors import ArgumentError, MetricError
from rollwise.metrics.effort import final
from rollwise.metrics.metric import SHARE, metric
from rollwise.metrics.text import WHITE_SPACE, WORD
from rollwise.schema.named import column_named
from rollwise.schema.option_types import check_option_types

Text = str | pl.Expr
Texts = Text | Sequence[Text]

_TEXTS = {pl.String, pl.Null}
_PUNCTUATION, _ARTICLE = r"[!-/:-@\[-`{-~]", r"\b(?:a|an|the)\b"
_AROUND = ".,;:!?()[]\"'"  # a letter or number of an answer: `B.`, `(7)`
_AT_ONCE = 4000  # pairs whose words are counted together, which bounds the memory


def text_of(text: Text | None) -> pl.Expr:
    """Return the column or expression; for None, the rollout's last answer."""
    if text is None:
        return final("response")
    return column_named(text) if isinstance(text, str) else text


def _compared(
    response: Text | None,
    expected: Texts | None,
    compare: Callable[[pl.DataFrame], pl.Series],
    name: str,
    dtype: type[pl.DataType] = pl.Float64,
) -> pl.Expr:
    """Apply a function of the columns `actual` and `expected` to the answer and its nearest reference."""
    if expected is None:
        references = [pl.col("expected").first() if response is None else pl.col("expected")]
    elif isinstance(expected, str | pl.Expr):
        references = [text_of(expected)]
    else:
        references = [text_of(text) for text in expected]
    if not references:
        raise ArgumentError(f"{name}: expected is empty; name at least one column of references")
    answer = text_of(response)

    def of_texts(pairs: pl.DataFrame) -> pl.Series:
        answers, references = pairs.schema["actual"], pairs.schema["expected"]
        several = isinstance(references, pl.List | pl.Array)
        if answers not in _TEXTS:
            raise pl.exceptions.SchemaError(f"{name}: the answers are {answers}; make them texts")
        if not several and references not in _TEXTS:
            raise pl.exceptions.SchemaError(
                f"{name}: the references are {references}; make them texts or lists of texts"
            )
        # With several references, the nearest one counts.
        if several:
            return _nearest(pairs, compare, name)
        return compare(pairs if answers == references == pl.String else pairs.cast(pl.String))

    values = [pairwise(answer, reference, of_texts, dtype) for reference in references]
    return (values[0] if len(values) == 1 else pl.max_horizontal(values)).alias(name)


def _nearest(pairs: pl.DataFrame, compare: Callable[[pl.DataFrame], pl.Series], name: str) -> pl.Series:
    """Return the highest value of an answer over the texts in its list of references; null if all of them are null."""
    rows = pairs.with_row_index("row")
    exploded = rows.explode("expected", empty_as_null=False, keep_nulls=False).drop_nulls("expected")
    if exploded.height and exploded.schema["expected"] != pl.String:
        raise MetricError(f"{name}: the references are {pairs.schema['expected']}; make them texts or lists of texts")
    values = compare(exploded.select("actual", pl.col("expected").cast(pl.String)))
    best = exploded.select("row", value=values).group_by("row").agg(pl.col("value").max())
    return rows.select("row").join(best, on="row", how="left", maintain_order="left")["value"]


def pairwise(
    actual: pl.Expr, expected: pl.Expr, compare: Callable[[pl.DataFrame], pl.Series], dtype: type[pl.DataType]
) -> pl.Expr:
    """Return a function of the columns `actual` and `expected` as an expression; null where either is null."""

    def of_pairs(pairs: pl.Series) -> pl.Series:
        frame = pairs.struct.unnest()
        # The comparison sees complete pairs only; its values are put back into their rows.
        if not any(column.null_count() for column in frame):
            return compare(frame).cast(dtype)
        complete = frame.select(pl.all_horizontal(pl.all().is_not_null())).to_series()
        values = pl.Series([None], dtype=dtype).new_from_index(0, len(frame))
        return values.scatter(complete.arg_true(), compare(frame.filter(complete)).cast(dtype))

    return pl.struct(actual=actual, expected=expected).map_batches(of_pairs, return_dtype=dtype, is_elementwise=True)


@metric(better="higher", concerns="task", sets=("ANSWERS",))
def exact_match(response: Text | None = None, expected: Texts | None = None) -> pl.Expr:
    """Return whether answer and reference are equal except for case, punctuation, articles and blanks (Boolean): SQuAD's EM.

    References
    ----------
    Rajpurkar, Zhang, Lopyrev, Liang (2016), SQuAD: 100,000+ questions for machine comprehension of text,
    https://doi.org/10.18653/v1/D16-1264

    Examples
    --------
    >>> turns = pl.DataFrame({"turn": [1, 2], "response": ["Let me see.", "The Eiffel Tower!"]})
    >>> turns.with_columns(expected=pl.lit("eiffel tower")).select(exact_match()).item()
    True
    """
    check_option_types(exact_match, locals())

    def of(pairs: pl.DataFrame) -> pl.Series:
        return pairs.select(_words("actual") == _words("expected")).to_series()

    return _compared(response, expected, of, "exact_match", pl.Boolean)


@metric(better="higher", concerns="task", values=SHARE, sets=("ANSWERS",))
def token_f1(response: Text | None = None, expected: Texts | None = None) -> pl.Expr:
    """Twice the words that answer and reference share over the words of both (Float64 in [0, 1]): SQuAD's F1.

    A word counts as often as it occurs. Two texts without words are equal (1); with one such text it is 0.

    References
    ----------
    Rajpurkar, Zhang, Lopyrev, Liang (2016), SQuAD: 100,000+ questions for machine comprehension of text,
    https://doi.org/10.18653/v1/D16-1264

    Examples
    --------
    >>> turns = pl.DataFrame({"response": ["The capital is Paris.", "paris", None], "expected": "Paris"})
    >>> turns.select(token_f1("response", "expected")).to_series().round(3).to_list()
    [0.5, 1.0, None]
    """
    check_option_types(token_f1, locals())

    def of(pairs: pl.DataFrame) -> pl.Series:
        return shared_share(pairs.select(_words("actual"), _words("expected")))

    return _compared(response, expected, of, "token_f1")


@metric(better="higher", concerns="task", values=SHARE, sets=("ANSWERS",))
def jaccard_similarity(response: Text | None = None, expected: Texts | None = None) -> pl.Expr:
    """Distinct words in both answer and reference over the distinct words in either (Float64 in [0, 1]).

    Two texts without words are equal (1).

    Examples
    --------
    >>> turns = pl.DataFrame({"response": ["red, red wine"], "expected": ["The red house"]})
    >>> turns.select(jaccard_similarity("response", "expected")).item()
    0.3333333333333333
    """
    check_option_types(jaccard_similarity, locals())

    def of(pairs: pl.DataFrame) -> pl.Series:
        # Sets of words: intersection over union.
        words = pairs.select(_words("actual"), _words("expected"))
        actual = pl.col("actual").list
        shared, either = actual.set_intersection("expected").list.len(), actual.set_union("expected").list.len()
        return words.select(_share(shared, either)).to_series()

    return _compared(response, expected, of, "jaccard_similarity")


@metric(better="higher", concerns="task", values=SHARE, sets=("ANSWERS",))
def tfidf_cosine(response: Text | None = None, expected: Texts | None = None) -> pl.Expr:
    """Cosine of the TF-IDF vectors of answer and reference, fitted on this pair alone (Float64 in [0, 1]).

    The vectors equal scikit-learn's `TfidfVectorizer` with its defaults, so the value is the similarity on NeMo
    Agent Toolkit's page before it is rounded to two digits: lower case, words of two or more letters or digits, raw
    counts, an inverse document frequency of ln(3 / (1 + texts with the word)) + 1, unit length. 0 if one of them has no such
    word. If neither has one, as of the answers ``A``, ``7``, ``0.1`` and ``C++`` (scikit-learn raises an error), words are what
    white space separates, without punctuation around it; two empty texts are equal (1).

    Examples
    --------
    >>> turns = pl.DataFrame({"response": ["red red wine"], "expected": ["The red house"]})
    >>> round(turns.select(tfidf_cosine("response", "expected")).item(), 6)
    0.36772
    """
    check_option_types(tfidf_cosine, locals())
    rare = 1 + math.log(3 / 2)  # weight of a word in one of the two texts; a word in both has weight 1

    def length(side: str, opposite: str) -> pl.Expr:
        return (column_named(side) * pl.when(column_named(opposite) == 0).then(rare).otherwise(1.0)).pow(2).sum()

    def of(pairs: pl.DataFrame) -> pl.Series:
        # The unit length of both vectors is the division by the product of their lengths.
        product = (pl.col("actual") * pl.col("expected")).sum()
        both = (length("actual", "expected") * length("expected", "actual")).sqrt()
        terms = pairs.select(pl.all().str.to_lowercase().str.extract_all(r"[\p{L}\p{N}_]{2,}"))
        neither = terms.select(pl.all_horizontal(pl.all().list.len() == 0)).to_series()
        short = pairs.select(_short_words("actual"), _short_words("expected"))
        terms = terms.select(
            pl.when(neither).then(short[name]).otherwise(name).alias(name) for name in ("actual", "expected")
        )
        return _by_words(terms, pl.when(both > 0).then(product / both).otherwise(0.0)).fill_null(1.0)

    return _compared(response, expected, of, "tfidf_cosine")


@metric(better="higher", concerns="task", values=SHARE, sets=("ANSWERS",))
def levenshtein_similarity(response: Text | None = None, expected: Texts | None = None) -> pl.Expr:
    """One minus the edits from answer to reference over the length of the longer (Float64 in [0, 1]).

    An edit inserts, deletes or replaces one character (a Unicode code point, as `len` counts them). Case, punctuation
    and blanks count. Two empty texts are equal (1).

    References
    ----------
    Levenshtein (1966), Binary codes capable of correcting deletions, insertions, and reversals. The distance is
    rapidfuzz's: https://doi.org/10.5281/zenodo.5584996

    Examples
    --------
    >>> turns = pl.DataFrame({"response": ["kitten", "naïve"], "expected": ["sitting", "naive"]})
    >>> turns.select(levenshtein_similarity("response", "expected")).to_series().round(4).to_list()
    [0.5714, 0.8]
    """
    check_option_types(levenshtein_similarity, locals())

    def of(pairs: pl.DataFrame) -> pl.Series:
        from rapidfuzz.distance.Levenshtein import normalized_similarity

        similarities = map(normalized_similarity, pairs["actual"].to_list(), pairs["expected"].to_list())
        return pl.Series(list(similarities), dtype=pl.Float64)

    return _compared(response, expected, of, "levenshtein_similarity")


@metric(better="higher", concerns="task", sets=("ANSWERS",))
def choice_match(response: Text | None = None, expected: Texts | None = None) -> pl.Expr:
    """Return whether answer and choice are equal except for case and surrounding blanks (Boolean): `" b "` is `"B"`.

    Examples
    --------
    >>> turns = pl.DataFrame({"response": ["a", "b ", None], "expected": ["A", "C", "A"]})
    >>> turns.select(choice_match("response", "expected")).to_series().to_list()
    [True, False, None]
    """
    check_option_types(choice_match, locals())

    def of(pairs: pl.DataFrame) -> pl.Series:
        choices = pairs.select(pl.all().str.strip_chars(WHITE_SPACE).str.to_uppercase())
        return choices["actual"] == choices["expected"]

    return _compared(response, expected, of, "choice_match", pl.Boolean)


def _words(column: str) -> pl.Expr:
    """Return the words of each text as SQuAD defines them (List(String))."""
    # Punctuation goes before articles, as in SQuAD's script: "a." is an article.
    plain = column_named(column).str.to_lowercase().str.replace_all(_PUNCTUATION, "")
    return plain.str.replace_all(_ARTICLE, " ").str.extract_all(WORD)


def _short_words(column: str) -> pl.Expr:
    """Return what white space separates in each text, without punctuation around it, unless it is nothing else (List(String))."""
    bare = pl.element().str.strip_chars(_AROUND)
    word = pl.when(bare == "").then(pl.element()).otherwise(bare)
    return column_named(column).str.to_lowercase().str.extract_all(WORD).list.eval(word)


def _share(part: pl.Expr, size: pl.Expr) -> pl.Expr:
    """Return the share of a part in a size; 1 for a size of 0."""
    return pl.when(size == 0).then(1.0).otherwise(part / size)


def shared_share(pairs: pl.DataFrame) -> pl.Series:
    """Return twice the shared items of the lists `actual` and `expected` over both lengths; 1 for two empty lists."""
    lengths = pairs.select(pl.col("actual").list.len() + pl.col("expected").list.len()).to_series()
    return pl.select(_share(2 * pl.lit(shared_items(pairs)), pl.lit(lengths))).to_series()


def shared_items(pairs: pl.DataFrame) -> pl.Series:
    """Count the items that the lists `actual` and `expected` share, with repetition (UInt32)."""
    return _by_words(pairs, pl.min_horizontal("actual", "expected").sum()).fill_null(0.0).cast(pl.UInt32)


def _by_words(pairs: pl.DataFrame, value: pl.Expr) -> pl.Series:
    """Reduce the words of each pair to a value; `actual` and `expected` are their counts. Null for a pair without words."""
    values_by_part = [pl.Series(dtype=pl.Float64)]
    # One table of words with their counts on both sides, for some thousand pairs at a time.
    for start in range(0, len(pairs), _AT_ONCE):
        part = pairs.slice(start, _AT_ONCE).with_row_index("pair")
        sides = (
            part.lazy()
            .select(
                "pair",
                column_named(side).alias("word"),
                actual=pl.lit(side == "actual"),
                expected=pl.lit(side == "expected"),
            )
            .explode("word", empty_as_null=False, keep_nulls=False)
            for side in ("actual", "expected")
        )
        counted = pl.concat(sides).group_by("pair", "word").agg(pl.col("actual", "expected").sum().cast(pl.Float64))
        values = (
            part.lazy()
            .select("pair")
            .join(counted.group_by("pair").agg(value.alias("value")), on="pair", how="left", maintain_order="left")
        )
        values_by_part.append(values.collect()["value"].cast(pl.Float64))
    return pl.concat(values_by_part)
