"""Results of evaluators: text, numbers, lists and dicts, and their JSON."""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self, TypeAlias

import msgspec

from turnwise.errors import WriteError

JSONLike: TypeAlias = Any
Details: TypeAlias = list[dict[str, Any]]

_PORTION = 32  # entries of a list that are written at once: what is made of them stays in the processor's cache


class Results(dict[str, Any]):
    """Results as a dict of `summary` and `details`, whose details are made when they are first asked for.

    Examples
    --------
    >>> results = Results({"n_rollouts": 1}, lambda: [{"overall": {}}])
    >>> results["summary"], json.dumps(results)
    ({'n_rollouts': 1}, '{"summary": {"n_rollouts": 1}, "details": [{"overall": {}}]}')
    """

    def __init__(self, summary: dict[str, Any], details: Callable[[], Details]) -> None:
        super().__init__(summary=summary, details=details)  # who reads past the methods below finds what is no JSON
        self._details: Callable[[], Details] | None = details

    def _whole(self) -> Self:
        if self._details is not None:
            made, self._details = self._details(), None
            super().__setitem__("details", made)
        return self

    def __getitem__(self, name: str) -> Any:
        return dict.__getitem__(self if name == "summary" else self._whole(), name)

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a name."""
        return dict.get(self if name == "summary" else self._whole(), name, default)

    def __iter__(self) -> Iterator[str]:  # having this, `dict(results)` goes by the methods
        return super().__iter__()

    def items(self) -> Any:
        """The names and their values."""
        return dict.items(self._whole())

    def values(self) -> Any:
        """The values."""
        return dict.values(self._whole())

    def pop(self, *arguments: Any) -> Any:
        """The value of a name, which is taken out."""
        return dict.pop(self._whole(), *arguments)

    def popitem(self) -> tuple[str, Any]:
        """The last name and its value, which are taken out."""
        return dict.popitem(self._whole())

    def copy(self) -> dict[str, Any]:
        """A plain dict of the same."""
        return dict(self.items())

    def __or__(self, other: Any) -> Any:
        return self.copy() | other

    def __ror__(self, other: Any) -> Any:
        return other | self.copy()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Results):
            other._whole()  # one of its kind
        return dict.__eq__(self._whole(), other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __repr__(self) -> str:
        return dict.__repr__(self._whole())

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (self.copy(),)


def json_of(data: JSONLike, path: str | Path) -> Iterator[bytes]:
    """The data as JSON text in pieces, indented by four; a number that is none (NaN or infinite) is null.

    Raises
    ------
    WriteError
        Where something is no JSON; `path` is what was to be written.

    Examples
    --------
    >>> print(b"".join(json_of({"pct/attack_success_rate": float("nan"), "turns": []}, "metrics.json")).decode())
    {
        "pct/attack_success_rate": null,
        "turns": []
    }
    """
    if not isinstance(data, dict) or not data:
        yield _text(data, path)
        return
    before = b"{"
    for name, value in data.items():
        if isinstance(value, list) and len(value) > _PORTION:
            yield before + _text({name: []}, path)[1:-3]
            for begin in range(0, len(value), _PORTION):
                told = _text([value[begin : begin + _PORTION]], path)  # as deep as they stand in the whole
                yield (b"," if begin else b"") + told[len(b"[\n    [") : -len(b"\n    ]\n]")]
            yield b"\n    ]"
        else:
            yield before + _text({name: value}, path)[1:-2]
        before = b","
    yield b"\n}"


def _text(data: JSONLike, path: str | Path) -> bytes:
    try:
        return msgspec.json.format(msgspec.json.encode(data, enc_hook=plain_object), indent=4)
    except (TypeError, ValueError, OverflowError, RecursionError):
        pass  # keys that are no text, or half of a surrogate pair
    try:
        return json.dumps(_plain(data), indent=4, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise WriteError(
            f"{path}: the results cannot be written as JSON ({error}); make them of text, numbers, lists and dicts"
        ) from error


def plain_object(value: Any) -> Any:
    """A number or an array of NumPy or PyTorch as Python's own."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"there is a {type(value).__name__}")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else _plain(plain_object(value))
