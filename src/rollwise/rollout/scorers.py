"""Scorers: functions of many texts, each with one number or several named numbers for a text."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rollwise.errors import ArgumentError, SchemaError, counted
from rollwise.jobs.calls import complete

Scorer: TypeAlias = Callable[[Sequence[str]], Iterable[Any]] | object
FloatArray: TypeAlias = npt.NDArray[np.float64]
Scores: TypeAlias = dict[str, FloatArray]


def call_of(scorer: Any) -> Callable[[Sequence[str]], Any]:
    """Return the function to call for scores: the scorer, or its method `score` or `moderate`."""
    for candidate in (scorer, getattr(scorer, "score", None), getattr(scorer, "moderate", None)):
        if callable(candidate):
            call: Callable[[Sequence[str]], Any] = candidate
            return call
    raise ArgumentError(f"scores: a {type(scorer).__name__} is not a scorer; give a function of a list of texts")


def scores_of(name: str, scorer: Any, texts: list[Any], batch_size: int) -> Scores:
    """Return the scores of texts: under `name`, or, of a scorer that names its scores, under ``<name>_<score>``.

    A scorer returns a number for each text, a mapping for each text, or one mapping of lists; without a score, NaN.
    """
    call = call_of(scorer)
    scores: Scores = {}
    for begin in range(0, len(texts), batch_size):
        batch = texts[begin : begin + batch_size]
        for part, values in _named(_ready(call(batch)), len(batch), name).items():
            column = scores.setdefault(part, np.full(len(texts), np.nan))
            column[begin : begin + len(batch)] = values
    return scores


def parts(scores: Scores, sizes: npt.NDArray[np.int64]) -> Iterator[Scores]:
    """The scores of each graph."""
    end = 0
    for size in sizes.tolist():
        begin, end = end, end + size
        yield {name: column[begin:end] for name, column in scores.items()}


def _ready(result: Any) -> Any:
    """Return the scorer's result, awaited if it is asynchronous."""

    async def awaited() -> Any:
        return await result

    return complete(awaited()) if inspect.isawaitable(result) else result


def _named(result: Any, expected: int, name: str) -> Scores:
    """Return the scorer's results for a batch, under the name of the scorer or under the names that it gives them."""
    if isinstance(result, Mapping):
        return {f"{name}_{key}": _numbers(values, expected, f"{name}, {key},") for key, values in result.items()}
    rows = result if hasattr(result, "tolist") else list(result) if isinstance(result, Iterable) else result
    if not (isinstance(rows, list) and rows and all(isinstance(row, Mapping) for row in rows)):
        return {name: _numbers(rows, expected, name)}
    keys = dict.fromkeys(key for row in rows for key in row)
    return {f"{name}_{key}": _numbers([row.get(key) for row in rows], expected, f"{name}, {key},") for key in keys}


def _numbers(result: Any, expected: int, name: str) -> FloatArray:
    """Return the scorer's batch of results as numbers; NaN where it returned None."""
    try:
        values = np.array(result.tolist() if hasattr(result, "tolist") else list(result), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise SchemaError(f"scores: the scorer of {name} gives no list of numbers ({error})") from error
    if values.shape != (expected,):
        sizes = " x ".join(map(str, values.shape))
        numbers = "one number" if values.shape in ((), (1,)) else f"{sizes} numbers"
        raise SchemaError(
            f"scores: the scorer of {name} gave {numbers} for {counted(expected, 'text')}; "
            "it must give one for each, in order"
        )
    return values
