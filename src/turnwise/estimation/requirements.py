"""Requirements of a release: a metric, a bound, and the end of an interval that must meet it."""

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
    """One requirement: the words it was written in, and what they say."""

    words: str
    metric: str
    statistic: str | None
    operator: str
    threshold: float

    @property
    def below(self) -> bool:
        """Return whether it holds a metric down, so that the upper end counts."""
        return self.operator in _BELOW

    def met_by(self, bound: float | None) -> bool:
        """Return whether a bound keeps it; one that is not known does not."""
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
        """Refuse a bound that no share can miss, or none can meet: it was meant per cent."""
        if not 0 <= self.threshold <= 1:
            remedy = "give a number from 0 to 1, or from 0% to 100%"
            if "%" not in self.words and 1 < self.threshold <= 100:
                remedy = f"write {self.operator} {self.threshold:g}% if per cent is meant"
            raise ArgumentError(
                f"gate: {self.words!r} holds a share, which lies between 0 and 1, against {self.threshold:g}; {remedy}"
            )


def parsed(text: object) -> Required:
    """A requirement as it is written.

    Examples
    --------
    >>> found = parsed("q90(num_turns) >= 50%")
    >>> found.metric, found.statistic, found.operator, found.threshold
    ('num_turns', 'q90', '>=', 0.5)
    """
    match = _REQUIREMENT.fullmatch(str(text))
    if match is None:
        raise ArgumentError(
            f"gate: {text!r} is no requirement; write a metric, one of < <= > >=, and a number, as in 'attack_success < 0.01'"
        )
    metric, operator, number, percent = match.groups()
    call = _STATISTIC.fullmatch(metric)
    statistic, name = (call[1], call[2]) if call else (None, metric)
    quantile_of(statistic or "mean")  # a quantile that can be read in two ways is refused here
    return Required(str(text).strip(), name, statistic, operator, float(number) / (100 if percent else 1))


def metrics(require: Sequence[str]) -> list[str]:
    """The metrics that requirements name.

    Examples
    --------
    >>> metrics(["attack_success < 1%", "median(num_turns) >= 3"])
    ['attack_success', 'num_turns']
    """
    return list(dict.fromkeys(parsed(words).metric for words in require))
