"""Stated figures: of a producer, or a claim in words, which is a figure or a bound."""

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from rollwise.audits.counting import Tally, plain_name
from rollwise.errors import ArgumentError
from rollwise.estimation.requirements import NamedGroup, Required, named_group, parsed
from rollwise.metrics.catalog import SYNONYMS

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_FIGURE = re.compile(
    rf"\s*(?P<metric>[^\d<>=][^<>=]*?)\s*(?:==?|\bis\b|\bof\b)\s*(?:(?P<count>\d+)\s*/\s*(?P<all>\d+)|"
    rf"(?P<number>{_NUMBER})\s*(?P<percent>%)?)(?:\s+of\s+(?P<n>\d[\d,]*))?(?:\s+for\s+(?P<group>.+?))?\s*"
)
_WORDS = (
    (r"(?:is\s+)?(?:at most|up to|no more than)", "<="),
    (r"(?:is\s+)?(?:at least|no less than)", ">="),
    (r"(?:is\s+)?(?:below|under|less than)", "<"),
    (r"(?:is\s+)?(?:above|over|more than)", ">"),
)
_BOUND = re.compile(r"\s*(?P<metric>[^<>=]+?)\s*(?P<rest>[<>].*)", re.DOTALL)
_FEWEST_PLACES = 2  # of a number in a file, whose last zeros are not written
_NOISE = 1e-9


@dataclass(frozen=True, slots=True)
class Stated:
    """A figure as it is stated: the number, to how many decimal places, and of how many rollouts."""

    value: float
    places: int
    n: int | None = None
    group: NamedGroup = ()
    of_file: bool = False

    def is_met_by(self, tally: Tally, *, with_n: bool = True) -> bool:
        """Return whether a way of counting gives this figure to its printed places, and its number of rollouts.

        A figure of 0 or 1 must be met exactly, because no rate that is not 0 or 1 is stated as 0 or 1.
        """
        mean = tally.mean
        if mean is None or (with_n and self.n is not None and self.n not in {tally.n, tally.rollouts}):
            return False
        exact = self.value in {0.0, 1.0}
        return abs(mean - self.value) <= (_NOISE if exact else max(0.5 * 10.0**-self.places, 0.0) + _NOISE)

    def check_share(self, text: str) -> None:
        """Raise an error for a claim of a share that a share cannot have, or that may be a percentage."""
        if 0 <= self.value <= 1 and not (self.value == 1 and self.places == 0):
            return
        both = "'= 1%' or '= 100%'" if self.value == 1 else f"'= {self.value:g}%'"
        raise ArgumentError(f"audit: {text!r} is of a share, from 0 to 1; write {both}, or k/n")

    @property
    def is_possible(self) -> bool:
        """Return whether some number of successes out of `n` gives this share to its printed places.

        References
        ----------
        Brown & Heathers (2017), The GRIM test. Social Psychological and Personality Science 8,
        doi:10.1177/1948550616673876.
        """
        if not self.n:
            return True
        return any(self.is_met_by(Tally(count, self.n, self.n)) for count in {*_near(self.value * self.n)})


def _near(number: float) -> range:
    return range(max(0, int(number) - 1), int(number) + 3)


def stated_in_file(value: float, n: int | None) -> Stated:
    """Return a figure that a file states, with as many places as the file writes, and two at the least."""
    exponent = Decimal(repr(value)).as_tuple().exponent
    return Stated(value, max(_FEWEST_PLACES, -exponent if isinstance(exponent, int) else 0), n, of_file=True)


def claimed(text: object) -> tuple[str, Required | Stated]:
    """Parse a claim: the metric, and a bound (``attack success < 2%``) or a figure (``attack success = 34% of 100``)."""
    words = str(text).strip()
    for pattern, sign in _WORDS:
        words = re.sub(rf"\b{pattern}\b", sign, words)
    if bound := _BOUND.fullmatch(words):
        metric = _metric(bound["metric"])
        required = parsed(f"{metric} {bound['rest']}")
        if required.relative or required.statistic not in {None, "mean"}:
            raise ArgumentError(
                f"audit: {str(text)!r} is no bound of a mean; write one such as 'attack success < 2%', or ask `rw.gate`"
            )
        return required.metric, required
    match = _FIGURE.fullmatch(words)
    if match is None:
        raise ArgumentError(
            f"audit: {str(text)!r} is not a claim; write a bound such as 'attack success < 2%', or a figure such as "
            "'attack success = 34%' or 'attack success = 17/50'"
        )
    group = () if match["group"] is None else named_group(match["group"], words)
    if match["all"]:
        if int(match["all"]) == 0:
            raise ArgumentError(f"audit: {str(text)!r} is a share of nothing; write how many rollouts there were")
        share = Fraction(int(match["count"]), int(match["all"]))
        return _metric(match["metric"]), Stated(float(share), 12, int(match["all"]), group)
    number = Decimal(match["number"])
    exponent = number.as_tuple().exponent
    places = (-exponent if isinstance(exponent, int) else 0) + (2 if match["percent"] else 0)
    value = float(number / 100 if match["percent"] else number)
    n = None if match["n"] is None else int(match["n"].replace(",", ""))
    return _metric(match["metric"]), Stated(value, max(places, 0), n, group)


def _metric(words: str) -> str:
    name = plain_name(words)
    return SYNONYMS.get(name.lower(), name)
