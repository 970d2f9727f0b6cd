"""Is the answer the expected one, and if not, how near is it?

Each function serves twice. Given the names of two columns it compares them row by row,
``turns.with_columns(token_f1("response", "expected"))``. Given none it is a metric: the rollout's last answer against
its fact `expected`. There may be several references, as columns or as a column of lists of texts; the best of them
counts. A text that is null is unknown, and so is what is compared with it; an answer that is there and empty is an
answer. A reference that is null hides no other, and without any reference the value is null. TURNS keep a list as JSON
text: ``pl.col("expected").str.json_decode(pl.List(pl.String))`` makes one of it again.

Words are those of SQuAD: lower case, without ASCII punctuation and without the articles *a*, *an*, *the*, cut at white
space. Where a script writes no white space, `levenshtein_similarity` compares characters.
"""

import math
from collections.abc import Callable, Sequence

import polars as pl

from turnwise.errors import MetricError
from turnwise.metrics.effort import final
from turnwise.metrics.metric import metric
from turnwise.metrics.text import WHITE_SPACE, WORD

Text = str | pl.Expr
Texts = Text | Sequence[Text]

_TEXTS = {pl.String, pl.Null}
_PUNCTUATION, _ARTICLE = r"[!-/:-@\[-`{-~]", r"\b(?:a|an|the)\b"
_AT_ONCE = 4000  # pairs whose words are counted in one go: larger tables of words fall out of the processor's cache


def text_of(given: Text | None) -> pl.Expr:
    """The column or expression that was given; where none was, the rollout's last answer."""
    if given is None:
        return final("response")
    return pl.col(given) if isinstance(given, str) else given


def _compared(
    response: Text | None,
    expected: Texts | None,
    compare: Callable[[pl.DataFrame], pl.Series],
    name: str,
    dtype: type[pl.DataType] = pl.Float64,
) -> pl.Expr:
    """Apply a function of the columns `ours` and `theirs` to the answer and its nearest reference."""
    if expected is None:
        references = [pl.col("expected").first() if response is None else pl.col("expected")]
    elif isinstance(expected, str | pl.Expr):
        references = [text_of(expected)]
    else:
        references = [text_of(each) for each in expected]
    answer = text_of(response)

    def of_texts(pairs: pl.DataFrame) -> pl.Series:
        answers, references = pairs.schema["ours"], pairs.schema["theirs"]
        several = isinstance(references, pl.List | pl.Array)
        if answers not in _TEXTS:
            raise pl.exceptions.SchemaError(f"{name}: the answers are {answers}; make them texts")
        if not several and references not in _TEXTS:
            raise pl.exceptions.SchemaError(
                f"{name}: the references are {references}; make them texts or lists of texts"
            )
        if several:
            return _nearest(pairs, compare, name)
        return compare(pairs if answers == references == pl.String else pairs.cast(pl.String))

    found = [pairwise(answer, reference, of_texts, dtype) for reference in references]
    return (found[0] if len(found) == 1 else pl.max_horizontal(found)).alias(name)


def _nearest(pairs: pl.DataFrame, compare: Callable[[pl.DataFrame], pl.Series], name: str) -> pl.Series:
    """The highest of what is found for an answer and each text in its list of references; null where none is known."""
    rows = pairs.with_row_index("row")
    known = rows.explode("theirs", empty_as_null=False, keep_nulls=False).drop_nulls("theirs")
    if known.height and known.schema["theirs"] != pl.String:
        raise MetricError(f"{name}: the references are {pairs.schema['theirs']}; make them texts or lists of texts")
    found = compare(known.select("ours", pl.col("theirs").cast(pl.String)))
    best = known.select("row", value=found).group_by("row").agg(pl.col("value").max())
    return rows.select("row").join(best, on="row", how="left", maintain_order="left")["value"]


def pairwise(
    ours: pl.Expr, theirs: pl.Expr, compare: Callable[[pl.DataFrame], pl.Series], dtype: type[pl.DataType]
) -> pl.Expr:
    """A function of the columns `ours` and `theirs` as an expression; null where either is."""

    def of_pairs(pairs: pl.Series) -> pl.Series:
        frame = pairs.struct.unnest()
        if not any(column.null_count() for column in frame):
            return compare(frame).cast(dtype)
        known = frame.select(pl.all_horizontal(pl.all().is_not_null())).to_series()
        values = pl.Series([None], dtype=dtype).new_from_index(0, len(frame))
        return values.scatter(known.arg_true(), compare(frame.filter(known)).cast(dtype))

    return pl.struct(ours=ours, theirs=theirs).map_batches(of_pairs, return_dtype=dtype, is_elementwise=True)


@metric(better="higher", concerns="task", sets=("ANSWERS",))
def exact_match(response: Text | None = None, expected: Texts | None = None) -> pl.Expr:
    """Return whether the answer is the expected one but for case, punctuation, articles and blanks (Boolean): SQuAD's EM.

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

    def of(pairs: pl.DataFrame) -> pl.Series:
        return pairs.select(_words("ours") == _words("theirs")).to_series()

    return _compared(response, expected, of, "exact_match", pl.Boolean)


@metric(better="higher", concerns="task", share=True, sets=("ANSWERS",))
def token_f1(response: Text | None = None, expected: Texts | None = None) -> pl.Expr:
    """Twice the words that answer and reference share over the words of both (Float64 in [0, 1]): SQuAD's F1.

    A word counts as often as it stands. Two texts without words are equal (1); with one such text it is 0.

    References
    ----------
    Rajpurkar, Zhang, Lopyrev, Liang (2016), SQuAD: 100,000+ questions for machine comprehension of text,
    https://doi.org/10.18653/v1/D16-1264

    Examples
    --------
    >>> turns = pl.DataFrame(
    ...     {"response": ["The capital of France is Paris.", "paris", None], "expected": ["Paris"] * 3}
    ... )
    >>> turns.select(token_f1("response", "expected")).to_series().round(3).to_list()
    [0.333, 1.0, None]
    """

    def of(pairs: pl.DataFrame) -> pl.Series:
        return shared_share(pairs.select(_words("ours"), _words("theirs")))

    return _compared(response, expected, of, "token_f1")


@metric(better="higher", concerns="task", share=True, sets=("ANSWERS",))
def jaccard_similarity(response: Text | None = None, expected: Texts | None = None) -> pl.Expr:
    """Distinct words that answer and reference share over the distinct words of either (Float64 in [0, 1]).

    Two texts without words are equal (1).

    Examples
    --------
    >>> turns = pl.DataFrame({"response": ["red, red wine"], "expected": ["The red house"]})
    >>> turns.select(jaccard_similarity("response", "expected")).item()
    0.3333333333333333
    """

    def of(pairs: pl.DataFrame) -> pl.Series:
        words = pairs.select(_words("ours"), _words("theirs"))
        ours = pl.col("ours").list
        shared, either = ours.set_intersection("theirs").list.len(), ours.set_union("theirs").list.len()
        return words.select(_share(shared, either)).to_series()

    return _compared(response, expected, of, "jaccard_similarity")


@metric(better="higher", concerns="task", share=True, sets=("ANSWERS",))
def tfidf_cosine(response: Text | None = None, expected: Texts | None = None) -> pl.Expr:
    """Cosine of the TF-IDF vectors of answer and reference, fitted on this pair alone (Float64 in [0, 1]).

    It is what scikit-learn's `TfidfVectorizer` makes of the two texts with its defaults, and so the similarity of NeMo
    Agent Toolkit's page before its rounding to two digits: lower case, words of two or more letters or digits, raw
    counts, an inverse document frequency of ln(3 / (1 + texts with the word)) + 1, unit length. Null where neither
    text has such a word (scikit-learn raises an error); 0 where one has none.

    Examples
    --------
    >>> turns = pl.DataFrame({"response": ["red red wine"], "expected": ["The red house"]})
    >>> round(turns.select(tfidf_cosine("response", "expected")).item(), 6)
    0.36772
    """
    rare = 1 + math.log(3 / 2)  # the weight of a word in one text of the two; of one in both it is 1

    def length(own: str, other: str) -> pl.Expr:
        return (pl.col(own) * pl.when(pl.col(other) == 0).then(rare).otherwise(1.0)).pow(2).sum()

    def of(pairs: pl.DataFrame) -> pl.Series:
        product = (pl.col("ours") * pl.col("theirs")).sum()
        both = (length("ours", "theirs") * length("theirs", "ours")).sqrt()
        terms = pairs.select(pl.all().str.to_lowercase().str.extract_all(r"[\p{L}\p{N}_]{2,}"))
        return _by_words(terms, pl.when(both > 0).then(product / both).otherwise(0.0))

    return _compared(response, expected, of, "tfidf_cosine")


@metric(better="higher", concerns="task", share=True, sets=("ANSWERS",))
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

    def of(pairs: pl.DataFrame) -> pl.Series:
        from rapidfuzz.distance.Levenshtein import normalized_similarity

        alike = map(normalized_similarity, pairs["ours"].to_list(), pairs["theirs"].to_list())
        return pl.Series(list(alike), dtype=pl.Float64)

    return _compared(response, expected, of, "levenshtein_similarity")


@metric(better="higher", concerns="task", sets=("ANSWERS",))
def choice_match(response: Text | None = None, expected: Texts | None = None) -> pl.Expr:
    """Return whether the answer is the expected choice but for case and blanks around it (Boolean): `" b "` is `"B"`.

    Examples
    --------
    >>> turns = pl.DataFrame({"response": ["a", "b ", None], "expected": ["A", "C", "A"]})
    >>> turns.select(choice_match("response", "expected")).to_series().to_list()
    [True, False, None]
    """

    def of(pairs: pl.DataFrame) -> pl.Series:
        choices = pairs.select(pl.all().str.strip_chars(WHITE_SPACE).str.to_uppercase())
        return choices["ours"] == choices["theirs"]

    return _compared(response, expected, of, "choice_match", pl.Boolean)


def _words(column: str) -> pl.Expr:
    """The words of SQuAD in each text (List(String))."""
    plain = pl.col(column).str.to_lowercase().str.replace_all(_PUNCTUATION, "")
    return plain.str.replace_all(_ARTICLE, " ").str.extract_all(WORD)


def _share(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    """A part of the whole; 1 of nothing."""
    return pl.when(whole == 0).then(1.0).otherwise(part / whole)


def shared_share(pairs: pl.DataFrame) -> pl.Series:
    """Twice what the lists `ours` and `theirs` share over the lengths of both; 1 for two empty ones."""
    lengths = pairs.select(pl.col("ours").list.len() + pl.col("theirs").list.len()).to_series()
    return pl.select(_share(2 * pl.lit(shared_items(pairs)), pl.lit(lengths))).to_series()


def shared_items(pairs: pl.DataFrame) -> pl.Series:
    """Count the items that the lists `ours` and `theirs` share, with repetition.

    Where one of them has no item twice, that is the size of their intersection as sets; only the other pairs need
    their items counted.
    """
    ours, theirs = pl.col("ours").list, pl.col("theirs").list
    shared, again = pairs.select(
        shared=ours.set_intersection("theirs").list.len(),
        again=(ours.n_unique() < ours.len()) & (theirs.n_unique() < theirs.len()),
    )
    if not again.any():
        return shared
    return shared.scatter(
        again.arg_true(), _by_words(pairs.filter(again), pl.min_horizontal("ours", "theirs").sum()).cast(shared.dtype)
    )


def _by_words(pairs: pl.DataFrame, value: pl.Expr) -> pl.Series:
    """A value of the words of each pair, of which `ours` and `theirs` say how often they stand; null for a pair without words."""
    found = [pl.Series(dtype=pl.Float64)]
    for start in range(0, len(pairs), _AT_ONCE):
        part = pairs.slice(start, _AT_ONCE).with_row_index("pair")
        sides = (
            part.lazy()
            .select("pair", pl.col(side).alias("word"), ours=pl.lit(side == "ours"), theirs=pl.lit(side == "theirs"))
            .explode("word", empty_as_null=False, keep_nulls=False)
            for side in ("ours", "theirs")
        )
        counted = pl.concat(sides).group_by("pair", "word").agg(pl.col("ours", "theirs").sum().cast(pl.Float64))
        values = (
            part.lazy()
            .select("pair")
            .join(counted.group_by("pair").agg(value.alias("value")), on="pair", how="left", maintain_order="left")
        )
        found.append(values.collect()["value"].cast(pl.Float64))
    return pl.concat(found)
