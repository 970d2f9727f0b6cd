"""Requirements of a gate: a metric, a comparison, and a threshold."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from turnwise.errors import ArgumentError
from turnwise.schema.arguments import quantile_of

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_REQUIREMENT = re.compile(rf"\s*(.+?)\s*(<=|>=|<|>)\s*({_NUMBER})\s*(%?)\s*")
_STATISTIC = re.compile(r"(mean|median|min|max|restricted_mean|q\d+)\(\s*(.+?)\s*\)")
_BELOW = ("<", "<=")


@dataclass(frozen=True, slots=True)
class Required:
    """One requirement: its text and its parsed parts."""

    words: str
    metric: str
    statistic: str | None
    operator: str
    threshold: float

    @property
    def below(self) -> bool:
        """True if the metric must be below the threshold, so the upper end of the interval is compared."""
        return self.operator in _BELOW

    def met_by(self, bound: float | None) -> bool:
        """Return whether a bound meets the requirement; an unknown bound does not."""
        if bound is None:
            return False
        match self.operator:
            case "<":
                return bound < self.threshold
            case "<=":
                return bound <= self.threshold
            case ">":
                return bound > self.threshold
            case _:
                return bound >= self.threshold

    def check_share(self) -> None:
        """Raise an error for a threshold outside [0, 1], which was probably meant as a percentage."""
        if not 0 <= self.threshold <= 1:
            remedy = "give a number from 0 to 1, or from 0% to 100%"
            if "%" not in self.words and 1 < self.threshold <= 100:
                remedy = f"write {self.operator} {self.threshold:g}% if you mean a percentage"
            raise ArgumentError(
                f"gate: {self.words!r} compares a share, which lies between 0 and 1, with {self.threshold:g}; {remedy}"
            )


def parsed(text: object) -> Required:
    """Parse a requirement.

    Examples
    --------
    >>> found = parsed("q90(num_turns) >= 50%")
    >>> found.metric, found.statistic, found.operator, found.threshold
    ('num_turns', 'q90', '>=', 0.5)
    """
    match = _REQUIREMENT.fullmatch(str(text))
    if match is None:
        raise ArgumentError(
            f"gate: {text!r} is not a requirement; write a metric, one of < <= > >=, and a number, as in 'attack_success < 0.01'"
        )
    metric, operator, number, percent = match.groups()
    call = _STATISTIC.fullmatch(metric)
    statistic, name = (call[1], call[2]) if call else (None, metric)
    quantile_of(statistic or "mean")  # raises an error for an ambiguous quantile
    return Required(str(text).strip(), name, statistic, operator, float(number) / (100 if percent else 1))


def metrics(require: Sequence[str]) -> list[str]:
    """Return the names of the metrics in requirements.

    Examples
    --------
    >>> metrics(["attack_success < 1%", "median(num_turns) >= 3"])
    ['attack_success', 'num_turns']
    """
    return list(dict.fromkeys(parsed(words).metric for words in require))
