"""Samplers: a sampler turns a seed into a graph of turns."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Generic, TypeVar

from rollwise.errors import ArgumentError, RollwiseError
from rollwise.rollout.graph import Graph, Node
from rollwise.rollout.seeds import whole_number
from rollwise.schema import ERROR, FAILURE, SUCCESS

StateT = TypeVar("StateT")
ActionT = TypeVar("ActionT")


class RolloutError(RollwiseError):
    """A rollout that could not be finished; its `graph` holds the turns up to then, if there are any."""

    def __init__(self, message: str, graph: Graph[Any, Any] | None = None) -> None:
        super().__init__(message)
        self.graph = graph


@dataclass
class Turn(Node[str | None, str | None]):
    """A node with further columns of TURNS; None is unknown.

    `seconds` and the tokens belong to the target's call. The prompt's tokens include the conversation so far.
    """

    succeeded: bool | None = None
    refused: bool | None = None
    prompt_tokens: int | None = None
    response_tokens: int | None = None
    seconds: float | None = None


@dataclass
class Rollout(Graph[str | None, str | None]):
    """A graph with the facts of its rollout, by their names in TURNS; None is unknown."""

    target: str | None = None
    attack: str | None = None
    goal: str | None = None
    attempt: int | None = None
    ending: str | None = None
    outcome: str | None = None
    queries: int | None = None
    total_tokens: int | None = None
    total_seconds: float | None = None

    @property
    def turns(self) -> list[Turn]:
        """Return the turns, each the first child of the previous one."""
        turns: list[Turn] = []
        children: Sequence[Any] = self.children
        while children:
            turns.append(children[0])
            children = children[0].children
        return turns

    def follow(self, turns: Sequence[Turn]) -> None:
        """Set these turns as the turns of the rollout."""
        self.children = list(turns[:1])
        for turn, following in pairwise(turns):
            turn.children = [following]


def outcome(turns: Sequence[Turn], *, crashed: bool) -> str | None:
    """Return the outcome of an attack from the verdicts on its turns; None if an unjudged turn could have decided it.

    A success after an unjudged turn may not have been the first, so its time is unknown and the outcome stays None.
    """
    # The first turn that is a success or unjudged decides.
    for turn in turns:
        if turn.succeeded is None:
            return ERROR if crashed and not any(turn.succeeded for turn in turns) else None
        if turn.succeeded:
            return SUCCESS
    return ERROR if crashed else FAILURE


class Sampler(ABC, Generic[StateT, ActionT]):
    """The base class of samplers, which make a rollout from a seed.

    Either method may be a coroutine function: rollwise awaits awaitable results. Any object with both methods is an
    instance of any class, and can be used as a sampler.

    Parameters
    ----------
    system
        Anything that the subclass rolls out, stored as `self.system`. A subclass need not call this constructor.

    Examples
    --------
    >>> class Echo(Sampler[str, str]):
    ...     def rollout(self, seed=None):
    ...         return Graph("", [Node("", f"Say {seed}", f"{seed}", 0.0, [])])
    >>> Echo().eval_rollout(0).children[0].response
    '0'
    >>> Echo().eval_rollout("zero")
    Traceback (most recent call last):
    ...
    rollwise.errors.ArgumentError: Echo: the seed 'zero' is a str and Echo has no eval_rollout of its own, so seeds are whole
    numbers or None; give it one that takes a str
    """

    def __init__(self, system: Any = None) -> None:
        self.system = system

    @abstractmethod
    def rollout(self, seed: int | None = None) -> Graph[StateT, ActionT] | Awaitable[Graph[StateT, ActionT]]:
        """Return one rollout. The same seed, including 0, should give the same graph; None means any seed."""

    def eval_rollout(self, seed: Any = None) -> Graph[StateT, ActionT] | Awaitable[Graph[StateT, ActionT]]:
        """Return one rollout for an evaluation; a subclass may accept any seed, the default only whole numbers and None.

        Raises
        ------
        ArgumentError
            If the seed is neither a whole number nor None.
        """
        if seed is None or (number := whole_number(seed)) is not None:
            return self.rollout(None if seed is None else number)
        name, kind = type(self).__name__, type(seed).__name__
        raise ArgumentError(
            f"{name}: the seed {seed!r:.80} is a {kind} and {name} has no eval_rollout of its own, "
            f"so seeds are whole numbers or None; give it one that takes a {kind}"
        )

    @classmethod
    def __subclasshook__(cls, subclass: type) -> Any:
        """Return whether a class has both methods."""
        has_both = all(callable(getattr(subclass, name, None)) for name in ("rollout", "eval_rollout"))
        return True if cls is Sampler and has_both else NotImplemented


def rollout_of(sampler: Any) -> Callable[[Any], Any]:
    """Return the function that makes a graph from a seed."""
    for candidate in (getattr(sampler, "eval_rollout", None), getattr(sampler, "rollout", None), sampler):
        if callable(candidate):
            rollout: Callable[[Any], Any] = candidate
            return rollout
    raise ArgumentError(
        f"evaluate: a {type(sampler).__name__} is not a sampler; give an object with `eval_rollout(seed)` or `rollout(seed)`, "
        "or a function of a seed"
    )


def configuration_of(sampler: Any) -> dict[str, Any]:
    """Return the settings that identify a sampler in a store."""
    configuration = getattr(sampler, "configuration", None)
    if configuration is None:
        raise ArgumentError(
            "evaluate: store must know what the rollouts depend on; give the sampler an attribute `configuration`, "
            "a dict of its settings without secrets"
        )
    kind = sampler if callable(sampler) and hasattr(sampler, "__qualname__") else type(sampler)
    return {"sampler": f"{kind.__module__}.{kind.__qualname__}", "configuration": configuration}
