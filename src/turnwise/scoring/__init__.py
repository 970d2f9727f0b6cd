"""Scoring: judges and metrics of what was said, turn by turn. TURNS -> VERDICTS -> TURNS."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnwise.scoring.endpoint import Endpoint
    from turnwise.scoring.local_model import LocalModel

_ROOMS = {
    "Endpoint": "endpoint",
    "LocalModel": "local_model",
}

__all__ = [
    "Endpoint",
    "LocalModel",
]


def __getattr__(name: str) -> Any:
    """Names are imported on first use: who computes a metric loads no client."""
    if name in _ROOMS:
        return getattr(importlib.import_module(f"{__name__}.{_ROOMS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return list(__all__)
