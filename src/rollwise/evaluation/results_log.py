"""Log of results by item, written at once, so that a killed run continues where it stopped.

A log is identified by the content of the request (the evaluator or workflow, with its options and code), an entry by the content of
its item. So after a change of an option, template or item, only the results that depend on it are computed again.
"""

import secrets
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, Self

import msgspec

from rollwise.evaluation.atif import AtifEvalSample
from rollwise.evaluation.items import EvalInputItem
from rollwise.jobs.identity import reason, unidentified_part
from rollwise.jobs.store import Store
from rollwise.schema.labels import say

_CONTENT = ("input_obj", "expected_output_obj", "output_obj", "trajectory", "expected_trajectory", "full_dataset_entry")
_CONTENT_ATIF = ("expected_output_obj", "output_obj", "trajectory", "metadata")


class ResultsLog(Store):
    """Results of earlier items, and of this run; a context manager."""

    def __init__(self, folder: str | Path, name: str, content: Any) -> None:
        if (part := unidentified_part(content)) is not None:
            say(f"{name}: a later run cannot reuse its results, as {reason(part)}")
            content = [content, secrets.token_hex(8)]
        # Options of a workflow may be secret, so the file has their digest. It survives the end of the process, not a power cut.
        digest = blake2b(_bytes(content), digest_size=16).hexdigest()
        super().__init__(folder, name, _bytes(digest), sync_every=None, option="output_dir")
        self.reused = 0  # how many entries of earlier runs were used
        self._earlier: dict[str, bytes] = {}

    def __enter__(self) -> Self:
        super().__enter__()
        self._earlier = self.read()
        return self

    def earlier(self, key: str) -> Any:
        """Return the entry of an earlier run; None without one."""
        return msgspec.json.decode(self._earlier[key]) if key in self._earlier else None

    def keep(self, entries: Mapping[str, Any]) -> None:
        """Append entries by key."""
        self.put({key: _bytes(value) for key, value in entries.items()})

    @staticmethod
    def key(item: EvalInputItem | AtifEvalSample) -> str:
        """Return the key of an item: a hash of its id and content."""
        names = _CONTENT if isinstance(item, EvalInputItem) else _CONTENT_ATIF
        content = [str(item.id), *(getattr(item, name) for name in names)]
        return blake2b(_bytes(content), digest_size=12).hexdigest()


def plain(value: Any) -> Any:
    """Convert values without a JSON form: NumPy numbers and arrays, pydantic models, paths, sets."""
    if hasattr(value, "model_dump"):
        return value.model_dump()
    if hasattr(value, "tolist"):  # NumPy numbers and arrays
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"a {type(value).__module__}.{type(value).__qualname__} cannot be written as JSON; use text, "
                    "numbers, lists or dicts")  # fmt: skip


def through_json(value: Any) -> Any:
    """Return a value as it would be after writing it to a JSON file and reading it back."""
    return msgspec.json.decode(_bytes(value))


def _bytes(value: Any) -> bytes:
    return msgspec.json.encode(value, enc_hook=plain, order="deterministic")
