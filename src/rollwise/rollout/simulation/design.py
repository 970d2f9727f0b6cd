"""Design of a simulation: checked parameters, the hazard of every goal, and the streams of random numbers."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import product
from math import inf, nan, sqrt
from numbers import Integral, Real
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rollwise.errors import ArgumentError, counted
from rollwise.schema import NO_ATTACK

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Hazard = float | Sequence[float]
Names = str | Sequence[str]
Named = TypeVar("Named", bound=Collection[str])
PLAIN_HAZARD = 0.1


MOST_ROLLOUTS = 10_000_000_000
"""No machine holds as many; numbers beyond all arrays are refused before any is made."""


@dataclass(frozen=True, slots=True)
class Group:
    """Rollouts that have target, attack and category in common; benign ones have no category."""

    target: str
    attack: str
    category: str | None

    @property
    def benign(self) -> bool:
        """Return whether these rollouts are not attacked."""
        return self.attack == NO_ATTACK


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """The parameters of `simulate`, checked and in one form each; by default there is nothing but attacks and verdicts."""

    targets: Mapping[str, tuple[float, ...]]  # hazard of each turn
    attacks: Mapping[str, float]  # odds
    categories: Mapping[str, float]  # odds
    goals: Mapping[str, int]  # of each category
    attempts: tuple[int, int]
    turns: int
    icc: float
    tasks: int = 0
    icc_task: float = 0.0
    give_up: float
    target_ends: float
    error: float
    stop_on_success: bool
    attempts_stop_on_success: bool = False
    judge: tuple[float, float] | None = None
    unjudged: float = 0.0
    refusal: float = 1.0
    benign: int = 0
    utility: float = 0.0
    branches: int = 1
    text: bool = True
    seed: int

    def __post_init__(self) -> None:
        """Raise an error for parameters that contradict each other."""
        if NO_ATTACK in self.attacks:
            raise ArgumentError(
                f"simulate: attack {NO_ATTACK!r} means a benign rollout; request benign rollouts with `benign=`"
            )
        if self.icc_task and not self.tasks:
            raise ArgumentError(f"simulate: icc_task={self.icc_task} needs tasks; add `tasks=`, or leave it 0")
        if self.icc and self.icc_task and sqrt(self.icc) + sqrt(self.icc_task) >= 1:
            raise ArgumentError(
                f"simulate: icc={self.icc} and icc_task={self.icc_task} cannot hold together; "
                "make their square roots add up to less than 1"
            )
        per_target = sum(self.goals.values()) * max(self.tasks, 1) * self.attempts[1] * len(self.attacks) + self.benign
        if (rollouts := per_target * len(self.targets)) > MOST_ROLLOUTS:
            raise ArgumentError(
                f"simulate: these are up to {rollouts:,} rollouts, and at most {MOST_ROLLOUTS:,} are made; take fewer goals, "
                "tasks or attempts"
            )

    def groups(self) -> Iterator[Group]:
        """Yield the groups target by target and attack by attack, then the benign rollouts of the target."""
        for target in self.targets:
            for attack, category in product(self.attacks, self.categories):
                yield Group(target, attack, category)
            if self.benign:
                yield Group(target, NO_ATTACK, None)

    def draw(self, group: Group, purpose: str) -> np.random.Generator:
        """Return the random generator for one purpose in one group."""
        return stream(self.seed, group.target, group.attack, group.category, purpose)

    def goals_of(self, group: Group) -> int:
        """Return the number of goals of the group."""
        return 0 if group.category is None else self.goals[group.category]

    def hazards(self, group: Group) -> FloatArray:
        """Return the mean hazard of each turn in one group: the target's own, with its odds multiplied."""
        assert group.category is not None
        odds = self.attacks[group.attack] * self.categories[group.category]
        hazard = np.array(self.targets[group.target])
        # Odds of 0 and a hazard of 1 would give 0/0: there the hazard is 0.
        return np.divide(hazard * odds, 1 - hazard + hazard * odds, out=np.zeros(self.turns), where=hazard * odds > 0)

    @property
    def mixture(self) -> tuple[float, float]:
        """Return the weight of the goal's effect relative to the task's, and the ICC that each effect has alone.

        The hazard is w times the goal's level plus 1 - w times the task's. Both levels have the ICC c, so that the goal
        contributes w² c = icc and the task (1 - w)² c = icc_task: hence w and c below.
        """
        if not (self.icc and self.icc_task):
            return (0.0 if self.icc_task else 1.0), max(self.icc, self.icc_task)
        total = sqrt(self.icc) + sqrt(self.icc_task)
        return sqrt(self.icc) / total, total**2


def stream(*key: object) -> np.random.Generator:
    """Return the random generator of one key; no other key changes its draws."""
    digest = blake2b(repr(key).encode(), digest_size=16).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little")))


def beta_quantile(at: FloatArray, mean: float, icc: float) -> FloatArray:
    """Return quantiles of the Beta distribution with this mean and the variance mean (1 - mean) icc."""
    if icc == 0 or mean in {0.0, 1.0}:
        return np.full(at.shape, mean)
    from scipy.special import betaincinv

    size = 1 / icc - 1
    return np.asarray(betaincinv(mean * size, (1 - mean) * size, at), dtype=np.float64)


@lru_cache(maxsize=256)
def beta_nodes(n: int, mean: float, icc: float) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights that integrate polynomials of degree below 2n over that Beta distribution exactly.

    Gauss-Jacobi quadrature on [0, 1] by the eigenvalues of its three-term recurrence (Golub and Welsch 1969,
    https://doi.org/10.1090/S0025-5718-69-99647-1), weights adding up to 1.
    """
    if icc == 0 or mean in {0.0, 1.0}:
        return np.array([mean]), np.ones(1)
    # Parameters of the Beta distribution; the recurrence coefficients below belong to its orthogonal polynomials.
    a, b = mean * (1 / icc - 1), (1 - mean) * (1 / icc - 1)
    k = np.arange(1, n, dtype=np.float64)
    twice = 2 * k + a + b - 2
    diagonal = np.concatenate([[mean], 0.5 + (a - b) * (a + b - 2) / (2 * twice * (twice + 2))])
    square = k * (k + a - 1) * (k + b - 1) / (twice**2 * (twice + 1))
    square[1:] *= (k[1:] + a + b - 2) / (twice[1:] - 1)  # at k = 1 this factor is 1, and 0/0 where a + b = 1
    off_diagonal = np.sqrt(square)
    node, vector = np.linalg.eigh(np.diag(diagonal) + np.diag(off_diagonal, 1) + np.diag(off_diagonal, -1))
    # Eigenvalues are the nodes; the squared first components of the eigenvectors are the weights.
    return np.clip(node, 0, 1), vector[0] ** 2


def odds_by_name(option: str, names: Names | Mapping[str, float]) -> Mapping[str, float]:
    """Return names with their multipliers; 1 if only names are given."""
    multipliers = names if isinstance(names, Mapping) else dict.fromkeys(_distinct(option, names), 1.0)
    return {
        _name(option, name): _odds(f"{option}[{name!r}]", odds) for name, odds in _some(option, multipliers).items()
    }


def hazards_by_name(
    targets: Names | Mapping[str, Hazard], hazard: Hazard | None, *, turns: int
) -> Mapping[str, tuple[float, ...]]:
    """Return names of targets with the hazard of each turn: their own, or the common one if only names are given."""
    if isinstance(targets, Mapping):
        if hazard is not None:
            raise ArgumentError("simulate: hazard is for targets without their own; give targets as names, or omit it")
        hazards = _some("targets", targets)
    else:
        hazards = dict.fromkeys(
            _some("targets", _distinct("targets", targets)), PLAIN_HAZARD if hazard is None else hazard
        )
    return {
        _name("targets", name): _by_turn("hazard" if hazard is not None else f"targets[{name!r}]", values, turns)
        for name, values in hazards.items()
    }


def goals_by_category(goals: object, categories: Mapping[str, float]) -> Mapping[str, int]:
    """Return the number of goals of each category, as equal as possible."""
    number = count("goals", goals, least=1)
    if number < len(categories):
        raise ArgumentError(
            f"simulate: goals is {number} for {counted(len(categories), 'category')}; give each at least one"
        )
    share, remainder = divmod(number, len(categories))
    return {category: share + (place < remainder) for place, category in enumerate(categories)}


def _distinct(option: str, values: Names) -> Sequence[str]:
    names = (values,) if isinstance(values, str) else tuple(values)
    if len(set(names)) < len(names):
        raise ArgumentError(f"simulate: {option} has a name twice; give each name once")
    return names


def _some(option: str, values: Named) -> Named:
    if not values:
        raise ArgumentError(f"simulate: {option} is empty; give at least one name")
    return values


def _name(option: str, name: object) -> str:
    if not isinstance(name, str) or not name or ("/" in name and option != "targets"):
        raise ArgumentError(f"simulate: {name!r} in {option} cannot be a name; give a text without '/'")
    return name


def _odds(option: str, value: object) -> float:
    number = _number(value)
    if not 0 <= number < inf:
        raise ArgumentError(f"simulate: {option} is {value!r}; give a multiplier of the odds, 0 or more")
    return number


def _number(value: object) -> float:
    """Convert to a float; NaN, which is in no range, for anything else."""
    return float(value) if isinstance(value, Real) else nan


def probability(option: str, value: object) -> float:
    """Return a probability after checking that it is in [0, 1]."""
    number = _number(value)
    if not 0 <= number <= 1:
        raise ArgumentError(f"simulate: {option} is {value!r}; give a probability in [0, 1]")
    return number


def correlation(option: str, value: object) -> float:
    """Return a correlation after checking that it is in [0, 1): at 1 a goal would always or never break."""
    number = _number(value)
    if not 0 <= number < 1:
        raise ArgumentError(f"simulate: {option} is {value!r}; give a correlation of at least 0 and below 1")
    return number


def count(option: str, value: object, *, least: int) -> int:
    """Return a whole number after checking that it is not below the least."""
    if not isinstance(value, Integral) or int(value) < least:
        raise ArgumentError(f"simulate: {option} is {value!r}; give a whole number of at least {least}")
    return int(value)


def attempts_range(attempts: int | tuple[int, int]) -> tuple[int, int]:
    """Return the smallest and the largest number of attempts at a goal."""
    pair = tuple(attempts) if isinstance(attempts, Sequence) else (attempts, attempts)
    if len(pair) != 2:
        raise ArgumentError(f"simulate: attempts is {attempts!r}; give one number, or (fewest, most)")
    low, high = (count("attempts", number, least=1) for number in pair)
    if low > high:
        raise ArgumentError(f"simulate: attempts is {attempts!r}; give (fewest, most) in this order")
    return low, high


def _by_turn(option: str, hazard: Hazard, turns: int) -> tuple[float, ...]:
    if not isinstance(hazard, Sequence | np.ndarray):
        return (probability(option, hazard),) * turns
    if len(hazard) != turns:
        raise ArgumentError(
            f"simulate: {option} has {counted(len(hazard), 'value')} for {counted(turns, 'turn')}; "
            "give one number for all, or one for each"
        )
    return tuple(probability(f"{option}[{at}]", value) for at, value in enumerate(hazard))


def judge_rates(rates: object) -> tuple[float, float] | None:
    """Return sensitivity and specificity after checking them."""
    if rates is None:
        return None
    if not isinstance(rates, Sequence) or len(rates) != 2:
        raise ArgumentError(f"simulate: judge is {rates!r}; give (sensitivity, specificity), or None if it never errs")
    return probability("judge's sensitivity", rates[0]), probability("judge's specificity", rates[1])
