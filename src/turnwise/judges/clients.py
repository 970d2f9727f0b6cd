"""Chat models to ask: what one is, and what a user may give as one."""

import importlib.util
import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from time import perf_counter
from typing import Any, Protocol, TypeAlias, runtime_checkable

from turnwise.errors import ArgumentError, TurnwiseError
from turnwise.jobs.calls import called, unwrapped
from turnwise.judges.identities import identity

Messages: TypeAlias = list[dict[str, str]]


class CallError(TurnwiseError):
    """A model that could not be asked, or that gave no usable answer."""


class UnservedError(CallError):
    """A model that no request reaches, however often it is sent: nobody serves that name, or not to this key."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer of a chat model, and its cost; None is unknown."""

    text: str
    prompt_tokens: int | None = None
    response_tokens: int | None = None
    finish_reason: str | None = None
    seconds: float | None = None
    refused: bool | None = None  # the model, or a filter in front of it, says so itself
    attempts: int = 1  # requests that this answer took
    cost_usd: float | None = None


@runtime_checkable
class ChatModel(Protocol):
    """Whatever answers a conversation: `Endpoint`, `LocalModel`, or a class of your own.

    Messages are dicts with ``role`` (system, user, assistant) and ``content``. The same seed asks for the same answer, where
    the model can do that; None asks for any. A model may have a `name`, and a `configuration`: a dict, as JSON and without
    secrets, of what decides its answers. It may have a coroutine function ``check()``, which raises an `UnservedError` where
    asking is of no use; `validate_llm_endpoints` of an evaluation calls it before anything is paid for.
    """

    async def complete(self, messages: Messages, *, seed: int | None = None) -> Reply:
        """The answer to a conversation."""
        ...


Model: TypeAlias = ChatModel | Callable[[Messages], Any] | str


def check_installed(module: str, *, extra: str, of: str) -> None:
    """Refuse to go on without a module of an extra."""
    if importlib.util.find_spec(module) is None:
        raise ArgumentError(f"{of}: {module} is not installed; pip install 'turnwise[{extra}]'")


@dataclass(frozen=True)
class _Function:
    """A function of the messages as a model: sync ones run in threads, so that they hold nobody up."""

    function: Callable[..., Any]

    @property
    def name(self) -> str:
        return str(getattr(unwrapped(self.function), "__name__", type(self.function).__name__))

    @property
    def configuration(self) -> Any:
        return identity(self.function)

    async def complete(self, messages: Messages, *, seed: int | None = None) -> Reply:
        started = perf_counter()
        said = await called(self.function, [dict(message) for message in messages])
        if isinstance(said, Reply):
            return said
        if said is None or isinstance(said, str):
            return Reply(said or "", seconds=perf_counter() - started)
        raise CallError(f"{self.name}: it gave a {type(said).__name__}; return text, a Reply, or None for no answer")


def model_of(who: str, given: Any, by_name: Callable[[str], ChatModel]) -> ChatModel:
    """Return the user's model as a chat model; `by_name` makes one from a text, and `who` is named in errors."""
    if isinstance(given, str):
        return by_name(given)
    if isinstance(given, ChatModel) and not isinstance(given, type):
        return given
    if callable(given) and not isinstance(given, type):
        return _Function(given)
    raise ArgumentError(
        f"{who} is {given!r:.80}; give an Endpoint, a LocalModel, a function of the messages, or a model's name"
    )


def count_of(number: Any) -> int | None:
    """A number of tokens as somebody states it; None where it is none, or more than a table holds.

    Examples
    --------
    >>> count_of(3.0), count_of("3"), count_of(-1), count_of(10**30)
    (3, None, None, None)
    """
    known = isinstance(number, Real) and math.isfinite(number)
    return int(number) if known and 0 <= int(number) < 2**63 else None


def name_of(thing: Any) -> str:
    """Return the name of a model."""
    return str(getattr(thing, "name", None) or type(thing).__name__)
