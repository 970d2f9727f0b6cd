"""Labels of verdicts, and the outcome that each means.

A word is read in one of three ways. Some words name the outcome: JAILBREAK, REFUSED, unsafe. Some answer the question that
the column asks: yes, no, true, 0. And some depend on who is speaking: in a red-team log, ``pass`` may mean that the attack got
through, or that the target passed the test. The last ones are never guessed: the error says what to type.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

import polars as pl

from rollwise.errors import ArgumentError, listing
from rollwise.readers.problems import LabelError, nulled
from rollwise.readers.roles.questions import Question
from rollwise.readers.roles.votes import as_texts, majority, votes_in
from rollwise.readers.roles.words import ANSWERS, ATTACKS, BLANK, REFUSALS, RESULTS, TASKS, TESTS, normal
from rollwise.schema import ENDINGS, FAILURE, OUTCOMES, SUCCESS, TURNS

Meanings = Mapping[str, Any]  # of a column: what each of its labels means, by normal label

OWN_OUTCOMES = {word: word for word in OUTCOMES.categories}
# Words that a column of TURNS understands when a user names a column for it.
MEANINGS: dict[str, Mapping[str, bool | str]] = {
    "succeeded": {**ANSWERS, **RESULTS, **ATTACKS},
    "outcome": {**ANSWERS, **RESULTS, **ATTACKS, **OWN_OUTCOMES},
    "refused": {**ANSWERS, **REFUSALS},
    "solved": {**ANSWERS, **RESULTS, **TESTS, **TASKS},
    "pruned": {**ANSWERS},
    "ending": {word: word for word in ENDINGS.categories},
}
LABELED = frozenset(MEANINGS)  # columns whose values may be labels of people
# Parts of names of columns whose "yes" means that the attack failed.
OPPOSITE = ("safe", "refus", "block", "defen", "harmless", "robust", "secure", "resist", "reject", "declin")
MOST_LABELS = 8  # that a message lists


def checked_values(values: object, name: str, verb: str) -> dict[str, bool | str | None]:
    """Check a map from labels to values of a column of TURNS, and return it with normal labels."""
    if name not in LABELED:
        raise ArgumentError(
            f"{verb}: `{name}` does not hold labels, so they cannot be mapped; these do: {', '.join(sorted(LABELED))}"
        )
    example = as_names({"succeeded": ("verdict", {"JAILBREAK": True, "REFUSED": False})})
    if not isinstance(values, Mapping) or not values:
        raise ArgumentError(f"{verb}: labels are mapped by a dict, not by {values!r}; write {example}")
    dtype = TURNS.dtypes[name]
    allowed = [True, False, None] if dtype == pl.Boolean else [None, *dtype.categories]  # type: ignore[union-attr]
    if name == "outcome":
        allowed += [True, False]
    result: dict[str, bool | str | None] = {}
    for label, value in values.items():
        # 1 == True: the type counts as well.
        if not any(value is choice or (isinstance(value, str) and value == choice) for choice in allowed):
            words = ", ".join(map(str, allowed))
            raise ArgumentError(
                f"{verb}: {name} cannot be {value!r}, which {label!r} is mapped to; choose from {words}"
            )
        side = (SUCCESS if value else FAILURE) if name == "outcome" and isinstance(value, bool) else value
        if result.setdefault(normal(label), side) != side:
            raise ArgumentError(
                f"{verb}: the label {label!r} of `{name}` is mapped twice, to different values; map it once"
            )
    return result


def meanings(name: str, column: str, values: Meanings | None = None) -> dict[str, Any]:
    """Return what each label of a user's column means in the column `name` of TURNS; a map of the user replaces the usual words."""
    words = dict(MEANINGS[name] if values is None else values)
    if values is None and name in {"succeeded", "outcome"} and column not in TURNS.names and asks_the_opposite(column):
        words = {word: side for word, side in words.items() if word in ATTACKS}
    if name == "outcome":
        words = {
            word: (SUCCESS if side else FAILURE) if isinstance(side, bool) else side for word, side in words.items()
        }
    return words


def asks_the_opposite(column: str) -> bool:
    """Return whether a column's name asks if the target held, rather than if the attack succeeded."""
    words = column.lower()
    return any(part in words for part in OPPOSITE) and not any(part in words for part in ("unsafe", "not_", "insecure"))


def may_change_values(names: Mapping[str, str], values: Mapping[str, Meanings]) -> bool:
    """Return whether naming columns may change more than their names, even where they have the dtypes of TURNS."""
    labeled = {name: column for name, column in names.items() if name in LABELED and name != column}
    return bool(values) or any(map(asks_the_opposite, labeled.values()))


def values_of(
    series: pl.Series,
    name: str,
    column: str,
    values: Meanings | None = None,
    ids: pl.Series | None = None,
) -> pl.Series:
    """Return a column of labels in the dtype of the column `name` of TURNS; null and blank stay null."""
    dtype = TURNS.dtypes[name]
    words = meanings(name, column, values)
    series = as_texts(series)
    if isinstance(series.dtype, pl.Categorical | pl.Enum) and series.dtype != dtype:
        series = series.cast(pl.String)
    is_plain = series.dtype == dtype and values is None and {"true", "false"} <= words.keys()
    if is_plain or series.dtype == pl.Null or (series.dtype == dtype and dtype != pl.Boolean):
        return series.cast(dtype).alias(series.name)
    if series.dtype.is_nested() or series.dtype in {pl.Object, pl.Binary}:
        raise LabelError(
            f"TURNS: column `{column}` holds no labels but {series.dtype}", "name a column of text, numbers or Booleans"
        )
    # Each distinct label is looked up once; a column of millions of rows has few of them.
    labels = series.unique(maintain_order=True).drop_nulls()
    unknown = unknown_labels(labels.to_list(), words)
    if unknown:
        rollout_id = None if ids is None else ids[int((series == unknown[0]).arg_max() or 0)]
        problem = refusal(unknown, name, column, labels.to_list(), is_mapped=values is not None, rollout_id=rollout_id)
        # A file's own column: its other rows are read. What the user named or mapped is to be named or mapped in full.
        if column != name or values is not None or not nulled(name, f"{problem.reason}: null there; {problem.remedy}"):
            raise problem
    sides = [side_of(label, words) for label in labels.to_list()]
    return series.replace_strict(labels, pl.Series(sides, dtype=dtype), default=None, return_dtype=dtype).alias(
        series.name
    )


def side_of(label: object, words: Mapping[str, Any]) -> Any:
    """Return what a label means; of several votes, what more than half of them mean."""
    votes = votes_in(label)
    if votes is None or normal(label) in words:
        return words.get(normal(label))
    return majority(votes, lambda vote: words.get(normal(vote)))


def unknown_labels(labels: Iterable[object], words: Mapping[str, Any]) -> list[object]:
    """Return the labels without a meaning; blank ones mean that nothing was judged, unless they are mapped."""
    labeled = words.keys() | BLANK
    unknown: dict[object, None] = {}
    for label in labels:
        if label is not None and normal(label) not in labeled:
            votes = votes_in(label)
            parts = [label] if votes is None else [vote for vote in votes if vote is not None]
            unknown |= dict.fromkeys(part for part in parts if normal(part) not in labeled)
    return [*unknown]


def refusal(
    unknown: Sequence[object],
    name: str,
    column: str,
    labels: Iterable[object],
    *,
    is_mapped: bool,
    rollout_id: str | None = None,
) -> LabelError:
    """Return the error for labels that are not understood, with the line that maps them."""
    first, *others = unknown
    where = f"column `{column}`" if column == name else f"column `{column}` (our `{name}`)"
    where += "" if rollout_id is None else f" of rollout {rollout_id!r}"
    also = f" (and {', '.join(map(_quoted, others[:MOST_LABELS]))})" if others else ""
    dtype = TURNS.dtypes[name]
    if is_mapped:
        reason = f", which the map of `{name}` leaves out"
    elif name in {"succeeded", "outcome"} and all(normal(label) in {*ANSWERS, *RESULTS, *TESTS} for label in unknown):
        reason = f", which {'do' if others else 'does'} not say whether the attack succeeded"
    else:
        reason = f", not {f'one of {listing(dtype.categories)}' if isinstance(dtype, pl.Enum) else 'true or false'}"
    sides = [label for label in labels if normal(label) not in BLANK]  # a score is the meaning of all of them
    if name == "succeeded" and not is_mapped and are_scores(sides):
        return LabelError(
            f"TURNS: {where} is {_quoted(first)}{also}{reason}",
            f"read it as a score: from which value on (seen: {scale(labels)}) did the attack succeed? "
            + as_names({"score": column, "succeeded": "?"}),
            Question(
                column,
                f"`{column}` (seen: {scale(labels)}): from which value on did the attack succeed?",
                {"score": column, "succeeded": "?"},
            ),
        )
    return LabelError(
        f"TURNS: {where} is {_quoted(first)}{also}{reason}",
        f"say what each label means (true, false or null), as in {example_map(name, column, labels)}",
        Question(
            column,
            f"`{column}`: what does {' or '.join(map(_quoted, unknown[:MOST_LABELS]))} say of the column `{name}`?",
            {name: (column, example_values(name, column, labels))},
            ("true", "false", "null"),
        ),
    )


def are_scores(labels: Sequence[object]) -> bool:
    """Return whether labels are scores: numbers (text in CSV) that are not all whole, or that are many."""
    try:
        numbers = [float(str(label)) for label in labels]
    except ValueError:
        return False
    return all(map(isfinite, numbers)) and (len(numbers) > 3 or not all(number.is_integer() for number in numbers))


def scale(labels: Iterable[object]) -> str:
    """Return the least and the greatest number among labels, as in ``1 to 10``."""
    numbers = [float(str(label)) for label in labels if normal(label) not in BLANK]
    return " to ".join(dict.fromkeys(f"{end:g}" for end in (min(numbers), max(numbers))))


def example_map(name: str, column: str, labels: Iterable[object]) -> str:
    """Return the argument that maps all of these labels, as an example."""
    return as_names({name: (column, example_values(name, column, labels))})


def example_values(name: str, column: str, labels: Iterable[object]) -> dict[str, Any]:
    """Return a map of all of these labels, "?" for those whose meaning only the user knows."""
    labels = [label for label in labels if normal(label) not in BLANK]
    sides: dict[str, Any] = dict(MEANINGS[name])
    if name in {"succeeded", "outcome"}:
        sides |= {word: not side for word, side in ANSWERS.items() if asks_the_opposite(column)}
    examples = sorted({_in_words(label) for label in labels})[:MOST_LABELS]
    values = {label: sides.get(normal(label), "?") for label in examples}
    if TURNS.dtypes[name] == pl.Boolean:
        return values
    return {label: (SUCCESS if side else FAILURE) if isinstance(side, bool) else side for label, side in values.items()}


def _quoted(label: object) -> str:
    return repr(label if isinstance(label, int | float) else _in_words(label))


def _in_words(label: object) -> str:
    text = normal(label) if isinstance(label, bool | float) else str(label)
    return text if len(text) <= 40 else f"{text[:37]}..."


def as_names(names: Mapping[str, Any]) -> str:
    """Return the argument `names=` as a user types it in Python."""
    return f"names={_written(names)}"


def _written(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_written(name)}: {_written(item)}" for name, item in value.items()) + "}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_written, value))})"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
