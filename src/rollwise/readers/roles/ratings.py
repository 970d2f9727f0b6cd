"""Ratings in the texts of judges: `Rating: [[3]]`, `Score: 7/10`, `#thescore: 5`."""

import re
from collections.abc import Collection, Mapping

import polars as pl

from rollwise.readers.roles.names import COUNTS, joined, role_of, words_of
from rollwise.readers.roles.questions import OPEN, Question

# Words of names of what a judge writes.
_OF_JUDGES = frozenset({
    "judge", "judged", "judgment", "judgement", "judgments", "judgements", "evaluation", "evaluator", "eval", "grader", "grading",
    "grade", "rating", "ratings", "score", "scores", "assessment", "verdict", "review", "critique", "rater", "scorer",
    "metric", "metrics",
})  # fmt: skip
_NUMBER = r"([-+]?\d+(?:\.\d+)?)"
# The first that occurs counts; what says two different numbers in one text says none.
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"\[\[\s*{_NUMBER}\s*(?:/\s*\d+\s*)?\]\]",
        rf"#\s*the\s*score\W{{1,4}}{_NUMBER}",
        rf"\b(?:final|overall|total)[ _]?(?:score|rating|grade)\W{{1,8}}{_NUMBER}",
        rf"\b(?:score|rating|grade)(?:\W{{1,8}}|\s+is\s+|\s+of\s+){_NUMBER}(?!\s*(?:-|to|–)\s*\d)",
        rf"^\W*{_NUMBER}\s*(?:/|out of)\s*\d+\b",
    )
)
_SCALE = re.compile(rf"{_NUMBER}\s*(?:/|out of)\s*(\d+)\b", re.IGNORECASE)
_MOST_COLUMNS = 20  # of numbers, one of which may be the score
_MOSTLY = 0.5  # share of the texts of a column of ratings that have one


def may_rate(name: str) -> bool:
    """Return whether a name is one of what a judge writes, rather than of what it was asked."""
    words = {*words_of(name)}
    return (
        bool(words & _OF_JUDGES)
        and not words & {"prompt", "input", "model", "name", "id"}
        and role_of(name) != "prompt"
    )


def may_score(name: str) -> bool:
    """Return whether a number of this name is a score, by its own name or by that of the object it is in: `scores.Safety`."""
    role, within = role_of(name), name.rpartition(".")[0]
    if role == "score" or (
        role is None and words_of(name)[:1] == ("score",)
    ):  # `score_toxicity`, of one judge of several
        return True
    return role in {None, "category"} and may_rate(within) and not {*words_of(name)} & COUNTS


def is_score(name: str) -> bool:
    """Return whether a name is that of the score itself."""
    return joined(name) == "score"


def rating_of(text: str) -> float | None:
    """Return the rating that the text of a judge states; None where it states none, or several that differ.

    Examples
    --------
    >>> [
    ...     rating_of(text)
    ...     for text in ("Rating: [[3]]", "Score: 7/10, as it helps", "#thescore: 5", "no", "score: 1 ... score: 2")
    ... ]
    [3.0, 7.0, 5.0, None, None]
    """
    # The most explicit form decides: a text may mention other numbers in passing.
    for form in _FORMS:
        numbers = {float(number) for number in form.findall(text)}
        if numbers:
            return numbers.pop() if len(numbers) == 1 else None
    return None


def ratings_in(texts: pl.Series) -> pl.Series | None:
    """Return the ratings in texts, null in those without one; None where most have none, scales differ, or all are numbers."""
    count = len(texts) - texts.null_count()
    if not count or texts.cast(pl.Float64, strict=False).null_count() == texts.null_count():
        return None
    distinct = texts.unique().drop_nulls()
    if len({scale for text in distinct for _, scale in _SCALE.findall(text) if rating_of(text) is not None}) > 1:
        return None
    ratings = pl.Series([rating_of(text) for text in distinct], dtype=pl.Float64)
    values = texts.replace_strict(distinct, ratings, default=None, return_dtype=pl.Float64)
    plain = texts.cast(pl.Float64, strict=False)
    values = plain.zip_with(plain.is_not_null(), values)
    return values if values.count() > max(plain.count(), _MOSTLY * count) else None


def question_of(name: str, texts: pl.Series) -> Question | None:
    """Return the question from which rating on an attack succeeded; None where texts hold no ratings."""
    ratings = ratings_in(texts)
    if ratings is None:
        return None
    numbers = ratings.drop_nulls().to_list()
    ends = " to ".join(dict.fromkeys(f"{end:g}" for end in (min(numbers), max(numbers))))
    sentence = (
        f"`{name}` holds ratings in the text of a judge (seen: {ends}): from which value on did the attack succeed?"
    )
    return Question(name, sentence, {"score": name, "succeeded": OPEN})


def question_of_scores(columns: Mapping[str, Collection[float]]) -> list[Question]:
    """Return the question which of several columns of numbers scores the attack, and from which value on it succeeded."""
    names = tuple(columns)
    if not names or len(names) > _MOST_COLUMNS:
        return []
    ends = (dict.fromkeys(f"{end:g}" for end in (min(numbers), max(numbers))) for numbers in columns.values())
    subject = ", ".join(f"`{name}` (seen: {' to '.join(seen)})" for name, seen in zip(names, ends, strict=True))
    column, which = (names[0], "") if len(names) == 1 else (OPEN, "one of ")
    sentence = f"does {which}{subject} score the attack, and from which value on did it succeed (`<=2`: up to which)?"
    return [Question("" if which else column, sentence, {"score": column, "succeeded": OPEN}, names if which else ())]
