"""When is enough known to stop rolling out?

A rule looks at one observation for each goal, in the order in which the goals were drawn, and stops at the first moment at
which its confidence sequence (`rollwise.stats.sequential`) says enough. The interval that it stops with covers the truth
although the data chose the moment; a fixed-n interval does not. What a rule must never follow is the order in which
rollouts *finish*: successful ones finish sooner.

Observations must be independent. Several attempts at one goal are one observation, and so are related goals, such as one
request in five wordings: taken one by one, families of five (intraclass correlation .5) are outside at one of 10,000 looks
in half of all streams at a nominal .95. `family_means` makes one observation of each family.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rollwise.errors import ArgumentError, counted
from rollwise.schema.arguments import shown
from rollwise.schema.labels import bracket, level_text, number
from rollwise.stats.estimate import FloatArray
from rollwise.stats.sequential import (
    Bounds,
    Side,
    beta_binomial_sequence,
    empirical_bernstein_sequence,
    running_intersection,
)

Observation: TypeAlias = bool | float | None

_NEEDS = "a Boolean or a score within 0 and 1"
_FAILURE, _SUCCESS = 0.0, 1.0  # the bounds of a share and of a score


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Decision of a rule after some observations.

    Attributes
    ----------
    metric
        What was observed.
    stopped_at
        Number of goals after which enough was known; None until then.
    n, n_unknown
        Number of goals observed, up to `stopped_at`, and number of these without a value.
    estimate
        Mean of the known values among them. Stopping biases it towards the side that stops, but not the interval.
    low, high
        Intersection of all intervals so far, with unknown values counted as 0 for `low` and as 1 for `high`. If the mean is
        outside, the stream has drifted: its order is not random, and no rule stops there.
    level
        Probability that the interval holds the truth at every moment.
    method
        Method of the interval.
    """

    metric: str
    stopped_at: int | None = None
    n: int = 0
    n_unknown: int = 0
    estimate: float | None = None
    low: float = 0.0
    high: float = 1.0
    level: float
    method: str

    def __str__(self) -> str:
        """Return the decision in one line."""
        estimate = number(self.estimate, self.low, self.high, rate=True)
        ends = bracket(self.low, self.high, value=self.estimate, rate=True)
        end = f"{'not ' if self.stopped_at is None else ''}enough after {counted(self.n, 'goal')}"
        return f"{self.metric} {estimate} {ends}, {level_text(self.level)} {self.method}; {end}"


@dataclass(frozen=True, slots=True)
class Rule(ABC):
    """Base of `Precision`, `Below` and `Above`.

    Attributes
    ----------
    metric
        Name of a Boolean metric, or of a score within 0 and 1.
    level
        Probability that the interval holds the truth at every moment.
    """

    side: ClassVar[Side]

    metric: str
    level: float = field(default=0.95, kw_only=True)

    def __post_init__(self) -> None:
        metric: object = self.metric
        if not isinstance(metric, str) or not metric:
            raise ArgumentError(
                f"{type(self).__name__}: metric={shown(metric)}; give the name of a metric, such as 'attack_success'"
            )
        if not (is_number(self.level) and 0 < self.level < 1):
            raise ArgumentError(
                f"{type(self).__name__}: level={shown(self.level)}; give a number between 0 and 1, such as 0.95"
            )

    @abstractmethod
    def enough(self, ends: Bounds) -> NDArray[np.bool_]:
        """Mark the intervals at which enough is known."""

    def decide(self, observations: Iterable[Observation]) -> Decision:
        """Return the decision after these observations, one per goal in the order drawn.

        Parameters
        ----------
        observations
            True or False for a share, numbers from 0 to 1 for a score, None if the rollout failed or was not judged: it
            counts as the bound that delays stopping. All observations must be of one kind.

        Raises
        ------
        ArgumentError
            If shares and scores are mixed, or a score is outside 0 and 1.

        Examples
        --------
        >>> rule = Below("attack_success", 0.01)
        >>> rule.decide([False] * 1000).stopped_at, rule.decide([False, None] + [False] * 998).stopped_at
        (377, 663)
        """
        return self.watch().add(observations)

    def watch(self) -> "Watch":
        """Return the rule as an object that takes observations one after another."""
        return Watch(self)


@dataclass(frozen=True, slots=True)
class Precision(Rule):
    """Stop when the metric is known to plus or minus `half_width`: the interval is at most twice as wide.

    Examples
    --------
    >>> decision = Precision("attack_success", half_width=0.05).decide(goal % 5 == 0 for goal in range(1000))
    >>> decision.stopped_at, round(decision.low, 3), round(decision.high, 3)
    (825, 0.154, 0.254)
    """

    side: ClassVar[Side] = "both"

    half_width: float

    def __post_init__(self) -> None:
        Rule.__post_init__(self)
        if not (is_number(self.half_width) and 0 < self.half_width < 0.5):
            raise ArgumentError(
                f"Precision: half_width={shown(self.half_width)}; give a number between 0 and 0.5, such as 0.03"
            )

    def enough(self, ends: Bounds) -> NDArray[np.bool_]:
        """Mark the observations at which the interval is narrow enough."""
        return ends[1] - ends[0] <= 2 * self.half_width


@dataclass(frozen=True, slots=True)
class _Threshold(Rule):
    threshold: float

    def __post_init__(self) -> None:
        Rule.__post_init__(self)
        if not (is_number(self.threshold) and 0 < self.threshold < 1):
            raise ArgumentError(
                f"{type(self).__name__}: threshold={shown(self.threshold)}; give a number between 0 and 1, such as 0.01 for "
                "one per cent"
            )


@dataclass(frozen=True, slots=True)
class Below(_Threshold):
    """Stop when the metric is known to be below `threshold`, such as the limit for a release.

    The bound is one-sided: if the metric is not below, this ever stops with a probability of at most 1 - level.

    Examples
    --------
    >>> Below("attack_success", 0.01).decide([False] * 300).stopped_at is None
    True
    """

    side: ClassVar[Side] = "high"

    def enough(self, ends: Bounds) -> NDArray[np.bool_]:
        """Mark the observations at which the upper end is below."""
        return ends[1] < self.threshold


@dataclass(frozen=True, slots=True)
class Above(_Threshold):
    """Stop when the metric is known to be above `threshold`, with a one-sided bound as in `Below`.

    Examples
    --------
    >>> Above("attack_success", 0.5).decide([True] * 100).stopped_at
    6
    """

    side: ClassVar[Side] = "low"

    def enough(self, ends: Bounds) -> NDArray[np.bool_]:
        """Mark the observations at which the lower end is above."""
        return ends[0] > self.threshold


@dataclass(frozen=True, slots=True)
class Endless(Rule):
    """Never stop, to get only the running interval."""

    side: ClassVar[Side] = "both"

    def enough(self, ends: Bounds) -> NDArray[np.bool_]:
        """Mark no observation."""
        return np.zeros(ends[0].shape, dtype=np.bool_)


def is_number(value: object) -> bool:
    """Return whether a value is one number, and neither True nor False."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def family_means(observations: Iterable[Observation], families: Iterable[object]) -> list[float | None]:
    """Return one observation for each family of related goals: the mean of its goals, in the order of first appearance.

    A family with an unknown goal is unknown, which delays stopping.
    """
    values, names = list(observations), list(families)
    if len(values) != len(names):
        raise ArgumentError(
            f"family_means: {counted(len(values), 'observation')} but {counted(len(names), 'family', 'families')}; "
            "give one family for each observation"
        )
    goals: dict[object, list[float]] = {}
    for value, name in zip(values, names, strict=True):
        goals.setdefault(name, []).append(math.nan if value is None else float(value))
    means = {name: sum(successes) / len(successes) for name, successes in goals.items()}
    return [None if math.isnan(mean) else mean for mean in means.values()]


class Watch:
    """A rule applied to observations in the order drawn, a few at a time, with the decision so far.

    How the observations are divided into portions does not matter.
    """

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._values: list[float] = []  # NaN for an unknown value
        self._share: bool | None = None
        self._looked_at = 0
        # So far, with unknown values as one or the other.
        self._ends = {_FAILURE: (0.0, 1.0), _SUCCESS: (0.0, 1.0)}
        self._decision = Decision(metric=rule.metric, level=rule.level, method="none")

    def add(self, observations: Iterable[Observation]) -> Decision:
        """Return the decision after these observations too; a decision to stop is final."""
        self._values += [self._number(value) for value in observations]
        if self._decision.stopped_at is None and len(self._values) > self._looked_at:
            self._decision = self._decided()
        return self._decision

    def _decided(self) -> Decision:
        values, start = np.array(self._values), self._looked_at
        if self._share is None:  # no known value yet, so even the kind of the metric is unknown
            return replace(self._decision, n=values.size, n_unknown=values.size)
        # From here on, only the observations since the last call are new; arrays of intervals begin there.
        self._looked_at = values.size
        low, high, steady = self._running(values, _FAILURE, start)
        if np.isnan(values).any():
            # Unknown values count as failures for the lower end, and as successes for the upper end.
            _, high, steady_with_successes = self._running(values, _SUCCESS, start)
            steady &= steady_with_successes
        else:
            self._ends[_SUCCESS] = self._ends[_FAILURE]
        # The first new observation after which the rule is satisfied ends the stream; later ones do not count.
        settled = np.flatnonzero(self._rule.enough((low, high)) & steady)
        last = int(settled[0]) if settled.size else low.size - 1
        observed = values[: start + last + 1]
        missing = int(np.isnan(observed).sum())
        return Decision(
            metric=self._rule.metric,
            stopped_at=observed.size if settled.size else None,
            n=observed.size,
            n_unknown=missing,
            estimate=float(np.nanmean(observed)) if missing < observed.size else None,
            low=float(low[last]),
            high=float(high[last]),
            level=self._rule.level,
            method=self._method(),
        )

    def _running(
        self, values: FloatArray, unknown: float, start: int
    ) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
        """Return the intersection of all intervals after each new observation, and whether the mean is inside."""
        stream = np.where(np.isnan(values), unknown, values)
        n = np.arange(1, stream.size + 1)[start:]
        total = np.cumsum(stream)[start:]
        side, level = self._rule.side, self._rule.level
        if not self._share:
            low, high = (end[start:] for end in empirical_bernstein_sequence(stream, level=level, side=side))
        else:
            low, high = beta_binomial_sequence(total, n, level=level, side=side)
        previous = self._ends[unknown]
        # The intersection so far goes in front, so that portions give the same result as the whole stream.
        low, high = running_intersection(np.append(previous[0], low), np.append(previous[1], high))
        self._ends[unknown] = float(low[-1]), float(high[-1])
        low, high, mean = low[1:], high[1:], total / n
        return low, high, (low <= mean) & (mean <= high)

    def _method(self) -> str:
        family = "beta-binomial" if self._share else "empirical-Bernstein"
        return f"{'' if self._rule.side == 'both' else 'one-sided '}{family} confidence sequence"

    def _number(self, value: Any) -> float:
        share = isinstance(value, bool | np.bool_)
        if value is not None and not share and not isinstance(value, Real):
            raise ArgumentError(
                f"until: `{self._rule.metric}` is of type {type(value).__name__}; a rule needs {_NEEDS}"
            )
        if value is None or math.isnan(value):
            return math.nan
        if self._share is None:
            self._share = share
        if share is not self._share:
            raise ArgumentError(f"until: `{self._rule.metric}` is now a Boolean and now a number; observe one of them")
        if not 0 <= value <= 1:
            raise ArgumentError(f"until: `{self._rule.metric}` is {value:g}; a rule needs {_NEEDS}, so rescale it")
        return float(value)
