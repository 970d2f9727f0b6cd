"""Log of results by item, written at once, so that a killed run continues where it stopped.

A log is identified by the content of the request (the evaluator or workflow, with its options and code), an entry by the content of
its item. So after a change of an option, template or item, only the results that depend on it are computed again. An entry is one
line of JSON, passed to the operating system before the next item begins; it is not lost if the process is killed.
"""

from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import msgspec

from turnwise.errors import UnkeptError, WriteError
from turnwise.evaluation.items import EvalInputItem

FORMAT = 1  # part of every file name, so logs in a different format are never read
_CONTENT = ("input_obj", "expected_output_obj", "output_obj", "trajectory", "expected_trajectory", "full_dataset_entry")


class ResultsLog:
    """Results of earlier items; a context manager.

    Parameters
    ----------
    folder
        The folder of the logs; created if missing.
    name
        The name of the evaluator or workflow, as part of the file name.
    content
        Everything that the results depend on, as JSON.

    Raises
    ------
    WriteError
        Where the folder cannot be written to.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with ResultsLog(folder, "length", {}) as log:
    ...     log.keep("item-1", {"score": 4})
    >>> with ResultsLog(folder, "length", {}) as log:
    ...     log.kept
    {'item-1': {'score': 4}}
    """

    def __init__(self, folder: str | Path, name: str, content: Any) -> None:
        digest = blake2b(_bytes([FORMAT, content]), digest_size=8).hexdigest()
        self.path = Path(folder) / f"{name}-{digest}.jsonl"
        self.kept: dict[str, Any] = {}
        self.reused = 0  # how many entries of earlier runs were used
        self._file: BinaryIO | None = None

    def __enter__(self) -> Self:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            stored = self.path.read_bytes() if self.path.exists() else b""
            self._file = self.path.open("ab", buffering=0)
            # A killed process may leave an unfinished line; the break keeps it from spoiling the first new entry.
            if stored and not stored.endswith(b"\n"):
                self._file.write(b"\n")
        except OSError as error:
            raise self._write_error(error) from error
        # Of several entries with one key, the last counts; lines that are not complete JSON are skipped.
        for line in stored.split(b"\n"):
            try:
                key, value = msgspec.json.decode(line)
            except (msgspec.DecodeError, ValueError, TypeError):
                continue
            self.kept[key] = value
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._file is not None:
            self._file.close()

    def keep(self, key: str, value: Any) -> None:
        """Append an entry.

        Raises
        ------
        TypeError
            Where the value cannot be written as JSON.
        UnkeptError
            Where the file cannot be written, such as on a full disk.
        """
        line = _bytes([key, value]) + b"\n"
        try:
            # Unbuffered, so the operating system has the line at once. A disk that is nearly full may accept only a part of it.
            while line and self._file is not None:
                line = line[self._file.write(line) :]
        except OSError as error:
            raise UnkeptError(
                f"{self.path} cannot be written ({error.strerror or error}), so nothing further is asked; free disk space and run "
                "again, which continues from the logged results"
            ) from error

    @staticmethod
    def key(item: EvalInputItem) -> str:
        """Return the key of an item: a hash of its id and content."""
        content = [str(item.id), *(getattr(item, name) for name in _CONTENT)]
        return blake2b(_bytes(content), digest_size=12).hexdigest()

    def _write_error(self, error: OSError) -> WriteError:
        return WriteError(f"{self.path} cannot be written ({error.strerror or error}); choose another output_dir")


def plain(value: Any) -> Any:
    """Convert values without a JSON form: NumPy numbers and arrays, pydantic models, paths, sets.

    Raises
    ------
    TypeError
        Where a value has no JSON form.
    """
    if hasattr(value, "model_dump"):
        return value.model_dump()
    if hasattr(value, "tolist"):  # NumPy numbers and arrays
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"a {type(value).__module__}.{type(value).__qualname__} cannot be written as JSON; use text, "
                    "numbers, lists or dicts")  # fmt: skip


def through_json(value: Any) -> Any:
    """Return a value as it would be after writing it to a JSON file and reading it back.

    Examples
    --------
    >>> through_json({"at": Path("here"), "times": (1.0, float("nan"))})
    {'at': 'here', 'times': [1.0, None]}
    """
    return msgspec.json.decode(_bytes(value))


def _bytes(value: Any) -> bytes:
    return msgspec.json.encode(value, enc_hook=plain)
