"""Design of a simulation: checked parameters, the hazard of every goal, and the streams of random numbers."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import product
from math import inf, nan, sqrt
from numbers import Integral, Real
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from turnwise.errors import ArgumentError, counted
from turnwise.schema import NO_ATTACK

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Hazard = float | Sequence[float]
Names = str | Sequence[str]
Named = TypeVar("Named", bound=Collection[str])
PLAIN_HAZARD = 0.1


@dataclass(frozen=True, slots=True)
class Group:
    """Rollouts that have target, attack and category in common; benign ones have no category."""

    target: str
    attack: str
    category: str | None

    @property
    def benign(self) -> bool:
        """Return whether nobody attacks here."""
        return self.attack == NO_ATTACK


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """The parameters of `simulate`, checked and in one form each."""

    targets: Mapping[str, tuple[float, ...]]  # hazard of each turn
    attacks: Mapping[str, float]  # odds
    categories: Mapping[str, float]  # odds
    goals: Mapping[str, int]  # of each category
    attempts: tuple[int, int]
    turns: int
    icc: float
    tasks: int
    icc_task: float
    give_up: float
    target_ends: float
    error: float
    stop_on_success: bool
    attempts_stop_on_success: bool
    judge: tuple[float, float] | None
    unjudged: float
    refusal: float
    benign: int
    utility: float
    branches: int
    text: bool
    seed: int

    def __post_init__(self) -> None:
        """Refuse what makes no sense together."""
        if NO_ATTACK in self.attacks:
            raise ArgumentError(f"simulate: attack {NO_ATTACK!r} means a benign rollout; ask for those with `benign=`")
        if self.icc_task and not self.tasks:
            raise ArgumentError(f"simulate: icc_task={self.icc_task} needs tasks; add `tasks=`, or leave it 0")
        if self.icc and self.icc_task and sqrt(self.icc) + sqrt(self.icc_task) >= 1:
            raise ArgumentError(
                f"simulate: icc={self.icc} and icc_task={self.icc_task} cannot hold together; "
                "make their square roots add up to less than 1"
            )

    def groups(self) -> Iterator[Group]:
        """Target by target, attack by attack, then the benign rollouts of the target."""
        for target in self.targets:
            for attack, category in product(self.attacks, self.categories):
                yield Group(target, attack, category)
            if self.benign:
                yield Group(target, NO_ATTACK, None)

    def draw(self, group: Group, purpose: str) -> np.random.Generator:
        """The stream of one purpose in one group."""
        return stream(self.seed, group.target, group.attack, group.category, purpose)

    def goals_of(self, group: Group) -> int:
        """Return the number of goals of the group."""
        return 0 if group.category is None else self.goals[group.category]

    def hazards(self, group: Group) -> FloatArray:
        """Mean hazard of each turn in one group: the target's own, with its odds multiplied."""
        assert group.category is not None
        odds = self.attacks[group.attack] * self.categories[group.category]
        own = np.array(self.targets[group.target])
        return np.divide(own * odds, 1 - own + own * odds, out=np.zeros(self.turns), where=own * odds > 0)

    @property
    def mixture(self) -> tuple[float, float]:
        """Weight of the goal's effect against the task's, and the ICC of either effect alone."""
        if not (self.icc and self.icc_task):
            return (0.0 if self.icc_task else 1.0), max(self.icc, self.icc_task)
        whole = sqrt(self.icc) + sqrt(self.icc_task)
        return sqrt(self.icc) / whole, whole**2


def stream(*key: object) -> np.random.Generator:
    """The generator of one purpose in one group: no other key can change what it draws."""
    digest = blake2b(repr(key).encode(), digest_size=16).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little")))


def beta_quantile(at: FloatArray, mean: float, icc: float) -> FloatArray:
    """Quantiles of the Beta distribution with this mean and variance mean (1 - mean) icc."""
    if icc == 0 or mean in {0.0, 1.0}:
        return np.full(at.shape, mean)
    from scipy.special import betaincinv

    size = 1 / icc - 1
    return np.asarray(betaincinv(mean * size, (1 - mean) * size, at), dtype=np.float64)


def beta_nodes(n: int, mean: float, icc: float) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights that integrate any polynomial of degree below 2n over the same Beta distribution exactly.

    Gauss-Jacobi quadrature on [0, 1] by the eigenvalues of its three-term recurrence (Golub and Welsch 1969,
    https://doi.org/10.1090/S0025-5718-69-99647-1), weights adding up to 1.

    Examples
    --------
    >>> node, weight = beta_nodes(2, mean=0.25, icc=0.2)  # Beta(1, 3)
    >>> round(float(weight @ (1 - node) ** 3), 12)  # B(1, 6) / B(1, 3)
    0.5
    """
    if icc == 0 or mean in {0.0, 1.0}:
        return np.array([mean]), np.ones(1)
    a, b = mean * (1 / icc - 1), (1 - mean) * (1 / icc - 1)
    k = np.arange(1, n, dtype=np.float64)
    twice = 2 * k + a + b - 2
    diagonal = np.concatenate([[mean], 0.5 + (a - b) * (a + b - 2) / (2 * twice * (twice + 2))])
    square = k * (k + a - 1) * (k + b - 1) / (twice**2 * (twice + 1))
    square[1:] *= (k[1:] + a + b - 2) / (twice[1:] - 1)  # at k = 1 this factor is 1, and 0/0 where a + b = 1
    beside = np.sqrt(square)
    node, vector = np.linalg.eigh(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))
    return np.clip(node, 0, 1), vector[0] ** 2


def odds_by_name(option: str, given: Names | Mapping[str, float]) -> Mapping[str, float]:
    """Names with their multipliers; 1 where only names are given."""
    found = given if isinstance(given, Mapping) else dict.fromkeys(_distinct(option, given), 1.0)
    return {_name(option, name): _odds(f"{option}[{name!r}]", odds) for name, odds in _some(option, found).items()}


def hazards_by_name(
    given: Names | Mapping[str, Hazard], hazard: Hazard | None, *, turns: int
) -> Mapping[str, tuple[float, ...]]:
    """Names of targets with the hazard of each turn: their own, or the common one where only names are given."""
    if isinstance(given, Mapping):
        if hazard is not None:
            raise ArgumentError(
                "simulate: hazard is for targets without their own; give targets as names, or leave it out"
            )
        own = _some("targets", given)
    else:
        own = dict.fromkeys(_some("targets", _distinct("targets", given)), PLAIN_HAZARD if hazard is None else hazard)
    return {
        _name("targets", name): _by_turn("hazard" if hazard is not None else f"targets[{name!r}]", one, turns)
        for name, one in own.items()
    }


def goals_by_category(goals: object, categories: Mapping[str, float]) -> Mapping[str, int]:
    """So many goals, dealt to the categories in turn."""
    number = count("goals", goals, least=1)
    if number < len(categories):
        raise ArgumentError(
            f"simulate: goals is {number} for {counted(len(categories), 'category')}; give each at least one"
        )
    each, more = divmod(number, len(categories))
    return {category: each + (place < more) for place, category in enumerate(categories)}


def _distinct(option: str, given: Names) -> Sequence[str]:
    names = (given,) if isinstance(given, str) else tuple(given)
    if len(set(names)) < len(names):
        raise ArgumentError(f"simulate: {option} names one of them twice; give each name once")
    return names


def _some(option: str, given: Named) -> Named:
    if not given:
        raise ArgumentError(f"simulate: {option} is empty; give at least one name")
    return given


def _name(option: str, given: object) -> str:
    if not isinstance(given, str) or not given or ("/" in given and option != "targets"):
        raise ArgumentError(f"simulate: {given!r} in {option} cannot be a name; give a text without '/'")
    return given


def _odds(option: str, given: object) -> float:
    number = _number(given)
    if not 0 <= number < inf:
        raise ArgumentError(f"simulate: {option} is {given!r}; give a multiplier of the odds, 0 or more")
    return number


def _number(given: object) -> float:
    """Convert to a float; NaN, which is in no range, for anything else."""
    return float(given) if isinstance(given, Real) else nan


def probability(option: str, given: object) -> float:
    """A number in [0, 1]."""
    number = _number(given)
    if not 0 <= number <= 1:
        raise ArgumentError(f"simulate: {option} is {given!r}; give a probability in [0, 1]")
    return number


def correlation(option: str, given: object) -> float:
    """A number in [0, 1): at 1 a goal would always or never break."""
    number = _number(given)
    if not 0 <= number < 1:
        raise ArgumentError(f"simulate: {option} is {given!r}; give a correlation of at least 0 and below 1")
    return number


def count(option: str, given: object, *, least: int) -> int:
    """A whole number not below the least."""
    if not isinstance(given, Integral) or int(given) < least:
        raise ArgumentError(f"simulate: {option} is {given!r}; give a whole number of at least {least}")
    return int(given)


def attempts_range(given: int | tuple[int, int]) -> tuple[int, int]:
    """The fewest and the most attempts of a goal."""
    pair = tuple(given) if isinstance(given, Sequence) else (given, given)
    if len(pair) != 2:
        raise ArgumentError(f"simulate: attempts is {given!r}; give one number, or (fewest, most)")
    low, high = (count("attempts", one, least=1) for one in pair)
    if low > high:
        raise ArgumentError(f"simulate: attempts is {given!r}; give (fewest, most) in this order")
    return low, high


def _by_turn(option: str, given: Hazard, turns: int) -> tuple[float, ...]:
    if not isinstance(given, Sequence | np.ndarray):
        return (probability(option, given),) * turns
    if len(given) != turns:
        raise ArgumentError(
            f"simulate: {option} has {counted(len(given), 'value')} for {counted(turns, 'turn')}; "
            "give one number for all, or one for each"
        )
    return tuple(probability(f"{option}[{at}]", one) for at, one in enumerate(given))


def judge_rates(given: object) -> tuple[float, float] | None:
    """Sensitivity and specificity."""
    if given is None:
        return None
    if not isinstance(given, Sequence) or len(given) != 2:
        raise ArgumentError(f"simulate: judge is {given!r}; give (sensitivity, specificity), or None if it never errs")
    return probability("judge's sensitivity", given[0]), probability("judge's specificity", given[1])
