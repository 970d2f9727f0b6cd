"""Store of verdicts in a folder, by the content of what was judged, so that no judgement is paid for twice.

Each judge has its own subfolder, named by a digest of its configuration and of the columns that it reads. A different template,
model or parameter has a different subfolder, so their verdicts are never mixed. A new verdict is appended at once to the log of
its process (JSON lines), so it is not lost if the process is killed; the log is synced to the disk a few times a second. At the
end of a run the log becomes an Arrow file, which is much faster to read. Any number of processes may share a folder. A line left
unfinished by a crash or a full disk is ignored.
"""

import os
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, fields
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import msgspec
import polars as pl
import pyarrow as pa

from turnwise.errors import ArgumentError, ReadError, WriteError
from turnwise.files.atomic import whole
from turnwise.files.object_stores import address_of
from turnwise.judges.identities import opaque_part
from turnwise.judges.verdicts import TEXT, Judge, Verdict
from turnwise.schema import VERDICTS

FORMAT = 1  # part of every key, so verdicts in a different format are never mixed in
OUTCOME = {field.name: VERDICTS.dtypes[field.name] for field in fields(Verdict)}
_lines = msgspec.json.Decoder(
    msgspec.defstruct(
        "Line", [("texts", list[str]), ("sample", int), *((field.name, field.type) for field in fields(Verdict))]
    )
)


def place_of(name: str) -> str:
    """Return the column name for the texts of a name, never equal to a field of a verdict.

    Examples
    --------
    >>> place_of("error")
    '{error}'
    """
    return f"{{{name}}}"


class VerdictStore:
    """Stored verdicts of one judge, and the log of new ones; a context manager.

    Parameters
    ----------
    folder
        The folder of the verdicts; created if missing.
    judge
        The judge that gives the verdicts.

    Raises
    ------
    ArgumentError
        Where something that the judge depends on is opaque, so that two different judges could look equal; or where the folder is
        not on this machine.
    WriteError
        Where the folder cannot be written to.
    ReadError
        Where a file in it cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from turnwise.judges.verdicts import judge_of
    >>> folder, judge = tempfile.mkdtemp(), judge_of(len)
    >>> with VerdictStore(folder, judge) as store:
    ...     store.keep({"response": "Hi"}, 1, Verdict(2.0))
    >>> with VerdictStore(folder, judge) as store:
    ...     store.verdicts().select("{response}", "sample", "value").rows()
    [('Hi', 1, 2.0)]
    """

    def __init__(self, folder: str | Path, judge: Judge) -> None:
        if (hidden := opaque_part(judge.configuration)) is not None:
            raise ArgumentError(
                f"{judge.name}: store must know what the verdicts depend on, and `{hidden['untold']}` is a {hidden['type']}, "
                "whose settings cannot be read; give its owner an attribute `configuration`, a dict of its settings without secrets"
            )
        if (address := address_of(folder)) is not None:
            raise ArgumentError(f"{judge.name}: store={address!r} is an address; a store is a folder on this machine")
        self._columns = tuple(dict.fromkeys((TEXT, *judge.columns)))
        content = {
            "format": FORMAT,
            "judge": judge.name,
            "configuration": judge.configuration,
            "columns": self._columns,
        }
        self._content = msgspec.json.encode(content, enc_hook=repr, order="deterministic")
        file_name = re.sub(r"[^\w .-]", "_", judge.name).lstrip(".").encode()[:200].decode(errors="ignore")
        self.path = Path(folder) / f"{file_name}-{blake2b(self._content, digest_size=16).hexdigest()}"
        self._name = secrets.token_hex(8)
        self._log: BinaryIO | None = None

    def __enter__(self) -> Self:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if not (self.path / "judge.json").exists():
                with whole(self.path / "judge.json", overwrite=True) as draft:
                    draft.write_bytes(msgspec.json.format(self._content, indent=2))
        except OSError as error:
            raise self._write_error(error) from error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._log is None:
            return
        with self._log:
            self.sync()
        with suppress(WriteError, OSError):  # without space for an Arrow file the log stays, which holds everything
            self._to_arrow(Path(self._log.name))

    def _to_arrow(self, log: Path) -> None:
        """Convert a log to an Arrow file."""
        if (frame := self._from_log(log)).height:
            with whole(log.with_suffix(".arrow")) as draft:
                frame.write_ipc(draft, compression="uncompressed")
                with draft.open("rb+") as file:
                    os.fsync(file.fileno())  # before the log is deleted
        log.unlink()

    def ready(self) -> None:
        """Open the log, so that a folder that is not writable is noticed before any call is paid for."""
        try:
            self._log = (self.path / f"{self._name}.jsonl").open("xb", buffering=0)
        except OSError as error:
            raise self._write_error(error) from error

    def keep(self, texts: Mapping[str, str], sample: int, verdict: Verdict) -> None:
        """Append a verdict to the log; it survives if the process is killed right afterwards."""
        line = msgspec.json.encode(
            {"texts": [texts[name] for name in self._columns], "sample": sample, **asdict(verdict)}
        )
        if self._log is None:
            self.ready()
        assert self._log is not None
        line += b"\n"
        try:
            # Unbuffered, so the operating system has the line at once. A disk that is nearly full may accept only a part of it.
            while line:
                line = line[self._log.write(line) :]
        except OSError as error:
            raise self._write_error(error) from error

    def sync(self) -> None:
        """Sync the log to the disk, so that it survives a power failure."""
        if self._log is None:
            return
        try:
            os.fsync(self._log.fileno())
        except OSError as error:
            raise self._write_error(error) from error

    def verdicts(self) -> pl.DataFrame:
        """Return the verdicts: the judged texts (columns named by `place_of`), the sample, and the fields of `Verdict`.

        Of several verdicts with the same key, the first counts. Verdicts that another process writes meanwhile may be missing.
        """
        parts = []
        # Logs before Arrow files: a log that is converted in between is then found as an Arrow file, or twice, but never missed.
        for log in sorted(self.path.glob("*.jsonl")):
            try:
                parts.append(self._from_log(log))
            except FileNotFoundError:  # another process has just converted it to an Arrow file
                continue
        parts += [self._from_arrow(path) for path in sorted(self.path.glob("*.arrow"))]
        if len(parts) == 1:
            return parts[0]
        keys = [*map(place_of, self._columns), "sample"]
        return pl.concat([pl.DataFrame(schema=self._schema()), *parts]).unique(keys, keep="first", maintain_order=True)

    def _from_log(self, log: Path) -> pl.DataFrame:
        """Read the complete lines of a log."""
        lines = []
        # The text after the last line break is empty, or a line that is still being written.
        for text in log.read_bytes().split(b"\n")[:-1]:
            with suppress(msgspec.DecodeError, UnicodeDecodeError):
                line: Any = _lines.decode(text)
                if len(line.texts) == len(self._columns):
                    lines.append(line)
        texts = {place_of(name): [line.texts[index] for line in lines] for index, name in enumerate(self._columns)}
        values = {name: [getattr(line, name) for line in lines] for name in ("sample", *OUTCOME)}
        return pl.DataFrame(texts | values, schema=self._schema())

    def _from_arrow(self, path: Path) -> pl.DataFrame:
        """Return a frame mapped from the disk into memory; only the parts that are used are read."""
        schema, flaw = self._schema(), "its columns differ"
        try:
            with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as opened:
                frame = pl.DataFrame(opened.read_all())
        except (OSError, pa.ArrowException) as error:
            flaw = " ".join(str(error).split())
        else:
            if frame.dtypes == list(schema.values()):
                # Types decide, and names are set from here: a file may have been written with different column names.
                frame.columns = list(schema)
                return frame
        raise ReadError(
            f"{path} holds no verdicts ({flaw}); move it elsewhere, and its verdicts will be requested again"
        )

    def _schema(self) -> dict[str, Any]:
        texts = dict.fromkeys(map(place_of, self._columns), pl.String)
        return {**texts, "sample": VERDICTS.dtypes["sample"], **OUTCOME}

    def _write_error(self, error: OSError) -> WriteError:
        return WriteError(f"{self.path} cannot be written ({error.strerror or error}); name another folder with store")
