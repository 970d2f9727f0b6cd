"""Chat models: the protocol, and the functions and classes that users may give as one."""

import importlib.util
import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from time import perf_counter
from typing import Any, Protocol, TypeAlias, runtime_checkable

from rollwise.errors import ArgumentError, RollwiseError, to_install
from rollwise.jobs.calls import called, unwrapped
from rollwise.jobs.identity import identity

Messages: TypeAlias = list[dict[str, str]]


class CallError(RollwiseError):
    """A model that could not be called, or that gave no usable answer."""


class UnservedError(CallError):
    """A model that no request reaches, even when repeated: the name is not served, or not to this key."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer of a chat model, and its cost; None is unknown."""

    text: str
    prompt_tokens: int | None = None
    response_tokens: int | None = None
    finish_reason: str | None = None
    seconds: float | None = None
    refused: bool | None = None  # as reported by the model, or by a filter in front of it
    attempts: int = 1  # requests that this answer took
    cost_usd: float | None = None


@runtime_checkable
class ChatModel(Protocol):
    """Anything that answers a conversation: `Endpoint`, `LocalModel`, or your own class.

    Messages are dicts with ``role`` (system, user, assistant) and ``content``. The same seed requests the same answer, if the
    model supports it; None requests any answer. A model may have a `name`, and a `configuration`: a dict, as JSON without
    secrets, of everything that determines its answers; or a `version`, which its author changes with them. It may have a
    coroutine function ``check()`` that raises an `UnservedError` if no request can succeed; an evaluation with
    `validate_llm_endpoints` calls it before anything is paid for.
    """

    async def complete(self, messages: Messages, *, seed: int | None = None) -> Reply:
        """Return the answer to a conversation."""
        ...


Model: TypeAlias = ChatModel | Callable[[Messages], Any] | str


def check_installed(module: str, *, extra: str, of: str) -> None:
    """Raise an error if a module of an extra is not installed."""
    if importlib.util.find_spec(module) is None:
        raise ArgumentError(f"{of}: {module} is not installed; {to_install(extra)}")


@dataclass(frozen=True)
class _Function:
    """A function of the messages as a model; synchronous functions run in threads, so that they block no other call."""

    function: Callable[..., Any]

    @property
    def name(self) -> str:
        return str(getattr(unwrapped(self.function), "__name__", type(self.function).__name__))

    @property
    def configuration(self) -> Any:
        return identity(self.function)

    async def complete(self, messages: Messages, *, seed: int | None = None) -> Reply:
        started = perf_counter()
        answer = await called(self.function, [dict(message) for message in messages])
        if isinstance(answer, Reply):
            return answer
        if answer is None or isinstance(answer, str):
            return Reply(answer or "", seconds=perf_counter() - started)
        raise CallError(
            f"{self.name}: it returned a {type(answer).__name__}; return text, a Reply, or None for no answer"
        )


def model_of(who: str, model: Any, by_name: Callable[[str], ChatModel]) -> ChatModel:
    """Return the user's model as a chat model; `by_name` creates one from a text, and errors begin with `who`."""
    if isinstance(model, str):
        return by_name(model)
    # A class has the methods of its instances, so a class passed by mistake would pass the check of the protocol.
    if isinstance(model, ChatModel) and not isinstance(model, type):
        return model
    if callable(model) and not isinstance(model, type):
        return _Function(model)
    raise ArgumentError(
        f"{who} is {model!r:.80}; give an Endpoint, a LocalModel, a function of the messages, or a model's name"
    )


def count_of(number: Any) -> int | None:
    """Return a reported number of tokens; None if it is not a count, or larger than a 64-bit column holds."""
    is_finite = isinstance(number, Real) and math.isfinite(number)
    return int(number) if is_finite and 0 <= int(number) < 2**63 else None


def name_of(model: Any) -> str:
    """Return the name of a model."""
    return str(getattr(model, "name", None) or type(model).__name__)
