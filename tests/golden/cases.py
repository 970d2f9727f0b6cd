"""All cases: a name, `group/what is computed`, and the function that computes its result.

Only public names of the package are used, so that the cases go on where modules are moved.
"""

from collections.abc import Callable
from typing import Any

from golden.commands import command_cases  # type: ignore[import-not-found]
from golden.comparing import contrast_cases, curve_cases, judge_cases, question_cases  # type: ignore[import-not-found]
from golden.estimating import aggregate_cases, measure_cases, summary_cases  # type: ignore[import-not-found]
from golden.reading import fixture_cases, real_log_cases  # type: ignore[import-not-found]
from golden.stored import Cases, entry, or_refusal  # type: ignore[import-not-found]
from golden.texts import text_cases  # type: ignore[import-not-found]

PARTS: tuple[Callable[[], Cases], ...] = (
    fixture_cases,
    real_log_cases,
    measure_cases,
    summary_cases,
    aggregate_cases,
    contrast_cases,
    curve_cases,
    question_cases,
    judge_cases,
    text_cases,
    command_cases,
)


def all_cases() -> Cases:
    """Every case by its name."""
    cases: Cases = {}
    for part in PARTS:
        new = part()
        if twice := cases.keys() & new.keys():
            raise ValueError(f"two cases have one name: {sorted(twice)}")
        cases |= new
    return cases


CASES = all_cases()


def computed(name: str) -> dict[str, Any]:
    """The result of a case as it would be stored; where the package refuses, the error."""
    result: dict[str, Any] = entry(name, or_refusal(CASES[name])())
    return result
