"""Log of results by item, written at once, so that a killed run continues where it was.

A log is known by the content of what was asked (which evaluator or workflow, with which options and code), an entry by the content
of its item. So a changed option, template or item is asked anew, and all else is not. An entry is one line of JSON, handed to the
operating system before the next item begins; it outlives the process, however that ends.
"""

from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import msgspec

from turnwise.errors import UnkeptError, WriteError
from turnwise.evaluation.items import EvalInputItem

FORMAT = 1  # part of every name: logs written another way are others
_CONTENT = ("input_obj", "expected_output_obj", "output_obj", "trajectory", "expected_trajectory", "full_dataset_entry")


class ResultsLog:
    """Results of earlier items; a context manager.

    Parameters
    ----------
    folder
        Where logs are kept; made if it is not there.
    name
        What the log is of, for people.
    asked
        All that decides on the results, as JSON.

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

    def __init__(self, folder: str | Path, name: str, asked: Any) -> None:
        digest = blake2b(_bytes([FORMAT, asked]), digest_size=8).hexdigest()
        self.path = Path(folder) / f"{name}-{digest}.jsonl"
        self.kept: dict[str, Any] = {}
        self.reused = 0  # how often what was kept was wanted
        self._file: BinaryIO | None = None

    def __enter__(self) -> Self:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            whole = self.path.read_bytes() if self.path.exists() else b""
            self._file = self.path.open("ab", buffering=0)
            if whole and not whole.endswith(b"\n"):  # the line that a killed process did not finish is no entry
                self._file.write(b"\n")
        except OSError as error:
            raise self._refused(error) from error
        for line in whole.split(b"\n"):
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
            Where the value is nothing that JSON can hold.
        UnkeptError
            Where the file takes no more.
        """
        line = _bytes([key, value]) + b"\n"
        try:
            while line and self._file is not None:  # a disk that is nearly full takes a part, and refuses the rest
                line = line[self._file.write(line) :]
        except OSError as error:
            raise UnkeptError(
                f"{self.path} takes no more ({error.strerror or error}), so nothing further is asked; make room and run again, "
                "which goes on from what was kept"
            ) from error

    @staticmethod
    def key(item: EvalInputItem) -> str:
        """An item by its id and its content."""
        content = [str(item.id), *(getattr(item, name) for name in _CONTENT)]
        return blake2b(_bytes(content), digest_size=12).hexdigest()

    def _refused(self, error: OSError) -> WriteError:
        return WriteError(f"{self.path} cannot be written ({error.strerror or error}); choose another output_dir")


def plain(value: Any) -> Any:
    """Convert values without a JSON form: NumPy numbers and arrays, pydantic models, paths, sets.

    Raises
    ------
    TypeError
        Where there is no such thing.
    """
    if hasattr(value, "model_dump"):
        return value.model_dump()
    if hasattr(value, "tolist"):  # of NumPy: numbers and arrays
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"a {type(value).__module__}.{type(value).__qualname__} is nothing that JSON can hold; give text, "
                    "numbers, lists or dicts")  # fmt: skip


def through_json(value: Any) -> Any:
    """Return a value as it is read back from a file after writing it.

    Examples
    --------
    >>> through_json({"at": Path("here"), "times": (1.0, float("nan"))})
    {'at': 'here', 'times': [1.0, None]}
    """
    return msgspec.json.decode(_bytes(value))


def _bytes(value: Any) -> bytes:
    return msgspec.json.encode(value, enc_hook=plain)
