"""Statistics of a metric, listed once: what verbs accept, and the words for them in estimands, titles and help texts.

A new statistic is an entry of `STATISTICS` and its computation in `estimation/estimates.py`; `tests/estimation/test_statistics.py`
tries each of the list in `summarize`, `gate`, figures, tables and the command line.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from rollwise.errors import ArgumentError, either


class Statistic(NamedTuple):
    """Words for a statistic, in an estimand and before a metric in a title, and which verbs estimate it."""

    words: str
    title: str
    summarized: bool = True
    compared: bool = False
    over_goals: bool = False  # resists outliers, and is drawn over goals


STATISTICS = {
    "mean": Statistic("mean", "mean", compared=True),
    "median": Statistic("median", "median", compared=True),
    "min": Statistic("min", "min"),
    "max": Statistic("max", "max"),
    "std": Statistic("standard deviation", "standard deviation of"),
    "restricted_mean": Statistic("restricted mean", "restricted mean", compared=True),
    "iqm": Statistic("interquartile mean", "interquartile mean of", over_goals=True),
    "optimality_gap": Statistic("optimality gap", "optimality gap of", over_goals=True),
    "goal_mean": Statistic("mean over goals", "mean over goals of", over_goals=True),
    "goal_median": Statistic("median over goals", "median over goals of", over_goals=True),
    "improvement": Statistic("improvement", "improvement", summarized=False, compared=True),
}
"""Statistics by their names; quantiles such as ``"q90"`` are estimated and compared as well."""

SUMMARIZED = tuple(name for name, statistic in STATISTICS.items() if statistic.summarized)
COMPARED = tuple(name for name, statistic in STATISTICS.items() if statistic.compared)
DEFAULT_STATISTICS = {
    "proportion": ("mean",),
    "number": ("mean", "median", "min", "max"),
    "time": ("restricted_mean", "median"),
}
"""What `summarize` estimates of a metric of each kind; the first is what other verbs take."""
OVER_GOALS = tuple(name for name, statistic in STATISTICS.items() if statistic.over_goals)
PATTERN = "|".join((*sorted(SUMMARIZED, key=len, reverse=True), r"optimality_gap_-?\d+(?:\.\d+)?", r"q\d+"))
"""A name of a statistic that `summarize` estimates, as a regular expression."""
A_QUANTILE = "a quantile such as q90"


def first_of(statistics: Collection[str]) -> str | None:
    """Return the statistic that a verb takes where a frame has several: the mean, or the restricted mean of a time."""
    return next((names[0] for names in DEFAULT_STATISTICS.values() if names[0] in statistics), None)


def check_statistics(statistics: Iterable[str], names: tuple[str, ...], verb: str) -> None:
    """Raise an error for a statistic that is neither one of those known nor a quantile."""
    for statistic in statistics:
        if statistic not in names and quantile_of(statistic) is None:
            raise ArgumentError(f"{verb}: statistic {statistic!r} is unknown; it is {either((*names, A_QUANTILE))}")


def quantile_of(statistic: str) -> float | None:
    """Return the quantile that a statistic's name denotes, or None for other statistics.

    The two or more digits after q are decimals: ``"q05"`` is .05, ``"q975"`` is .975.

    Raises
    ------
    ArgumentError
        If the digits are ambiguous: ``"q5"``, ``"q100"``.

    Examples
    --------
    >>> quantile_of("median"), quantile_of("q90"), quantile_of("q05"), quantile_of("q975"), quantile_of("mean")
    (0.5, 0.9, 0.05, 0.975, None)
    """
    if statistic == "median":
        return 0.5
    digits = statistic.removeprefix("q")
    # No q in front, or more than digits behind it: a statistic of another kind, such as "mean".
    if statistic == digits or not (digits.isascii() and digits.isdecimal()):
        return None
    if not int(digits):
        raise ArgumentError(
            f"statistic {statistic!r} is not a quantile; use min for the smallest value, or q05 for the 5 % quantile"
        )
    # q5 might mean 5 % or 50 %, and q100 everything: names have at least two digits and no zeros at the end.
    if len(digits) == 1:
        raise ArgumentError(
            f"statistic {statistic!r} is ambiguous; "
            f"use q0{digits} for the {digits} % quantile, or q{digits}0 for the {digits}0 % quantile"
        )
    if len(digits) > 2 and digits.endswith("0"):
        short = f"{digits.rstrip('0'):0<2}"
        words = statistic_in_words(f"q{short}")
        raise ArgumentError(
            f"statistic {statistic!r} is ambiguous; use q{short} for the {words}, or max for the largest value"
        )
    return float(f"0.{digits}")


def statistic_in_words(statistic: str) -> str:
    """Return the words for a statistic in an estimand.

    Examples
    --------
    >>> [statistic_in_words(name) for name in ("q05", "q975", "median", "restricted_mean")]
    ['5 % quantile', '97.5 % quantile', 'median', 'restricted mean']
    """
    about = STATISTICS.get(statistic)
    return about.words if about else f"{100 * (quantile_of(statistic) or 0):g} % quantile"
