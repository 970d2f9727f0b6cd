"""Dead addresses: an address where nothing answers stops a run at once, instead of failing on every item after its retries."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from rollwise.errors import RollwiseError, UnreachableError
from rollwise.files.configuration import ConfigFile
from rollwise.jobs.calls import complete

PATIENCE = 5.0  # seconds: an address that is slower is left to the client and its own timeout


def refusal(url: str) -> str | None:
    """Return why nothing can be reached at a web address; None if it can, is slow, or is reached through a proxy."""
    parts = urlsplit(url)
    try:
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:  # a port that is not a number
        return None
    proxies = getproxies()
    if (parts.scheme in proxies or "all" in proxies) and not proxy_bypass(host):
        return None
    try:
        with socket.create_connection((host, port), timeout=PATIENCE):
            return None
    except TimeoutError:
        return None
    except (OSError, UnicodeError) as error:
        # The address as a whole may hold a key.
        return f"{parts.scheme}://{host}:{port} ({getattr(error, 'strerror', None) or 'not a host name'})"


async def check_reachable(url: str, who: str) -> None:
    """Raise UnreachableError if nothing answers at an address."""
    if (reason := await asyncio.to_thread(refusal, url)) is not None:
        raise UnreachableError(
            f"{who}: nothing answers at {reason}; start that service, or correct the address; a later run keeps what was answered"
        )


def guarded(answer: Callable[[Any], Awaitable[Any]], url: str, who: str) -> Callable[[Any], Awaitable[Any]]:
    """Return a function that asks only while the address can be reached: checked before the first question and after errors."""
    was_reached = False

    async def ask(question: Any) -> Any:
        nonlocal was_reached
        if not was_reached:
            await check_reachable(url, who)
            was_reached = True
        try:
            return await answer(question)
        except RollwiseError:
            raise
        except Exception:
            await check_reachable(url, who)
            raise

    return ask


def check_judges(document: ConfigFile, llms: Mapping[str, Mapping[str, Any]], names: set[str], verdicts: Path) -> None:
    """Raise an error for a language model of an evaluator whose address is dead, before the workflow answers anything."""
    if verdicts.exists():  # perhaps no model is asked
        return
    for name, entry in llms.items():
        url = entry.get("base_url")
        if name in names and isinstance(url, str) and url.startswith(("http://", "https://")):
            try:
                complete(check_reachable(url, "it"))
            except UnreachableError as error:
                raise document.error(
                    ("llms", name, "base_url"), f"cannot be reached: {str(error).removeprefix('it: ')}"
                ) from error
