"""What functions of a user's own are: how to call them, sync or async, and how to name them across processes."""

import asyncio
import inspect
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import cache, partial
from hashlib import blake2b
from types import CodeType
from typing import Any

import polars as pl


async def called(function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """What a function gives, be it sync (then in a thread) or async."""
    if inspect.iscoroutinefunction(unwrapped(function)) or inspect.iscoroutinefunction(type(function).__call__):
        return await function(*given, **named)
    call = partial(copy_context().run, _finite, function, *given, **named)
    made = await asyncio.get_running_loop().run_in_executor(_threads(), call)
    return await made if inspect.isawaitable(made) else made


@cache
def _threads() -> ThreadPoolExecutor:
    """Threads for functions that wait for somebody: more than asyncio would have, which counts processors."""
    return ThreadPoolExecutor(max_workers=64, thread_name_prefix="turnwise-chat")


def _finite(function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """What a function gives; StopIteration, which no future can carry, so that its awaiter would wait for ever, as another."""
    try:
        return function(*given, **named)
    except StopIteration as error:
        raise RuntimeError("StopIteration: it has nothing more to give") from error


def takes(function: Callable[..., Any], name: str) -> bool:
    """Whether a function has a parameter of this name; one written in C may not say."""
    with suppress(TypeError, ValueError):
        return name in inspect.signature(function).parameters
    return False


def unwrapped(function: Any) -> Any:
    """The function within a partial."""
    while isinstance(function, partial):
        function = function.func
    return function


def identity(thing: Any) -> Any:
    """What a model, judge or metric says of itself; else its qualified name, the hash of its source, and what it was given."""
    if thing is None:
        return None
    if isinstance(thing, pl.Expr):
        return _digest(_serialized(thing))
    told = getattr(thing, "configuration", None)
    if told is not None:
        return told
    inner = unwrapped(thing)
    named = inner if hasattr(inner, "__qualname__") else type(inner)
    found = {"callable": f"{named.__module__}.{named.__qualname__}"}
    with suppress(OSError, TypeError):  # typed at a prompt, or written in C
        found["source"] = _digest(inspect.getsource(named).encode())
    code = getattr(inner, "__code__", None)
    if code is not None and ("source" not in found or "<lambda>" in found["callable"]):  # several may stand in one line
        found["code"] = _digest(repr(_compiled(code)).encode())
    if given := _given(thing, inner):
        found["given"] = re.sub(" at 0x[0-9a-fA-F]+", "", repr(given))  # an address is another in each process
    return found


def _compiled(code: CodeType) -> tuple[object, ...]:
    """What a compiled function does: the same in each process of one version of Python."""
    within = tuple(_compiled(each) if isinstance(each, CodeType) else each for each in code.co_consts)
    return code.co_code, code.co_names, code.co_varnames, within


def _given(thing: Any, inner: Any) -> list[object]:
    """What a partial was given, what a function has as defaults and in its closure, and what an object shows of itself."""
    given: list[object] = [(thing.args, sorted(thing.keywords.items()))] if isinstance(thing, partial) else []
    if inspect.isfunction(inner):
        closed = inspect.getclosurevars(inner).nonlocals.values()
        defaults = [*(inner.__defaults__ or ()), *(inner.__kwdefaults__ or {}).values()]
        given += [value for value in (*closed, *defaults) if isinstance(value, str | int | float)]
    elif "__repr__" in {name for kind in type(inner).__mro__[:-1] for name in vars(kind)}:
        given.append(inner)
    return given


def _serialized(expression: pl.Expr) -> bytes:
    try:
        return expression.meta.serialize()
    except (pl.exceptions.ComputeError, TypeError):  # a Python function within
        return str(expression).encode()


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=8).hexdigest()
