"""Results of evaluators: text, numbers, lists and dicts, and their JSON."""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self, TypeAlias

import msgspec

from rollwise.errors import WriteError

JSONLike: TypeAlias = Any
Details: TypeAlias = list[dict[str, Any]]


class Results(dict[str, Any]):
    """Results as a dict of `summary` and `details`, whose details are computed on first use."""

    def __init__(self, summary: dict[str, Any], details: Callable[[], Details]) -> None:
        super().__init__(summary=summary, details=details)  # code that bypasses the methods below gets the function
        self._details: Callable[[], Details] | None = details

    def _with_details(self) -> Self:
        if self._details is not None:
            details, self._details = self._details(), None
            super().__setitem__("details", details)
        return self

    def __getitem__(self, name: str) -> Any:
        return dict.__getitem__(self if name == "summary" else self._with_details(), name)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a name."""
        return dict.get(self if name == "summary" else self._with_details(), name, default)

    def __iter__(self) -> Iterator[str]:  # having this, `dict(results)` goes by the methods
        return super().__iter__()

    def items(self) -> Any:
        """Return the names and their values."""
        return dict.items(self._with_details())

    def values(self) -> Any:
        """Return the values."""
        return dict.values(self._with_details())

    def pop(self, *arguments: Any) -> Any:
        """Remove a name and return its value."""
        return dict.pop(self._with_details(), *arguments)

    def popitem(self) -> tuple[str, Any]:
        """Remove the last name and return it with its value."""
        return dict.popitem(self._with_details())

    def copy(self) -> dict[str, Any]:
        """Return a plain dict of the same content."""
        return dict(self.items())

    def __or__(self, other: Any) -> Any:
        return self.copy() | other

    def __ror__(self, other: Any) -> Any:
        return other | self.copy()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Results):
            other._with_details()  # its details must be computed too
        return dict.__eq__(self._with_details(), other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __repr__(self) -> str:
        return dict.__repr__(self._with_details())

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (self.copy(),)


def json_of(data: JSONLike, path: str | Path) -> bytes:
    """Return the data as JSON text, indented by four; NaN and infinite numbers become null."""
    try:
        return msgspec.json.format(msgspec.json.encode(data, enc_hook=plain_object), indent=4)
    except (TypeError, ValueError, OverflowError, RecursionError):
        pass  # keys that are not text, or half of a surrogate pair
    # The slower writer of the standard library handles these, after non-finite numbers are replaced.
    try:
        return json.dumps(_plain(data), indent=4, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise WriteError(
            f"{path}: the results cannot be written as JSON ({error}); make them of text, numbers, lists and dicts"
        ) from error


def plain_object(value: Any) -> Any:
    """Return a number or an array of NumPy or PyTorch as Python numbers or lists."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"there is a {type(value).__name__}")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else _plain(plain_object(value))
