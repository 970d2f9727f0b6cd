"""Verdicts kept in a folder, by the content of what was judged: what was paid for once is never asked again.

Each judge has a folder of its own within, named by a digest of its configuration and of what it reads: another template, model
or parameter is another folder, so no two are ever mixed. A verdict is appended to the log of its process (JSON lines) the
moment it is there, and so outlives the process, however that ends; the log is forced to the disk a few times a second. At the
end of a run its log becomes an Arrow file, which is found much faster. Any number of processes may share a folder. A line that
a crash or a full disk left unfinished is no verdict, and costs no other.
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

FORMAT = 1  # part of every key: verdicts written another way are others
OUTCOME = {each.name: VERDICTS.dtypes[each.name] for each in fields(Verdict)}
_lines = msgspec.json.Decoder(
    msgspec.defstruct(
        "Line", [("texts", list[str]), ("sample", int), *((each.name, each.type) for each in fields(Verdict))]
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
    """Verdicts of one judge so far, and the log of new ones; a context manager.

    Parameters
    ----------
    folder
        Where verdicts are kept; made if it is not there.
    judge
        Whose.

    Raises
    ------
    ArgumentError
        Where something that the judge depends on shows nothing of itself: two judges would be taken for one. Where the folder is
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
                "which shows nothing of itself; give its owner an attribute `configuration`, a dict of its settings without secrets"
            )
        if (address := address_of(folder)) is not None:
            raise ArgumentError(f"{judge.name}: store={address!r} is an address; a store is a folder on this machine")
        self._columns = tuple(dict.fromkeys((TEXT, *judge.columns)))
        about = {"format": FORMAT, "judge": judge.name, "configuration": judge.configuration, "columns": self._columns}
        self._about = msgspec.json.encode(about, enc_hook=repr, order="deterministic")
        plain = re.sub(r"[^\w .-]", "_", judge.name).lstrip(".").encode()[:200].decode(errors="ignore")
        self.path = Path(folder) / f"{plain}-{blake2b(self._about, digest_size=16).hexdigest()}"
        self._name = secrets.token_hex(8)
        self._log: BinaryIO | None = None

    def __enter__(self) -> Self:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if not (self.path / "judge.json").exists():
                with whole(self.path / "judge.json", overwrite=True) as draft:
                    draft.write_bytes(msgspec.json.format(self._about, indent=2))
        except OSError as error:
            raise self._refused(error) from error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._log is None:
            return
        with self._log:
            self.sync()
        with suppress(WriteError, OSError):  # the log has it all: where there is no room for an Arrow file, it stays
            self._shelve(Path(self._log.name))

    def _shelve(self, log: Path) -> None:
        """Make an Arrow file of a log."""
        if (frame := self._opened(log)).height:
            with whole(log.with_suffix(".arrow")) as draft:
                frame.write_ipc(draft, compression="uncompressed")
                with draft.open("rb+") as file:
                    os.fsync(file.fileno())  # before the log goes
        log.unlink()

    def ready(self) -> None:
        """Open the log: what cannot be written shows before anything is paid for."""
        try:
            self._log = (self.path / f"{self._name}.jsonl").open("xb", buffering=0)
        except OSError as error:
            raise self._refused(error) from error

    def keep(self, texts: Mapping[str, str], sample: int, verdict: Verdict) -> None:
        """Append a verdict to the log; a process that is killed the moment after has not lost it."""
        line = msgspec.json.encode(
            {"texts": [texts[name] for name in self._columns], "sample": sample, **asdict(verdict)}
        )
        if self._log is None:
            self.ready()
        assert self._log is not None
        line += b"\n"
        try:
            while line:  # a disk that is nearly full takes a part, and refuses the rest
                line = line[self._log.write(line) :]
        except OSError as error:
            raise self._refused(error) from error

    def sync(self) -> None:
        """Force what was kept to the disk."""
        if self._log is None:
            return
        try:
            os.fsync(self._log.fileno())
        except OSError as error:
            raise self._refused(error) from error

    def verdicts(self) -> pl.DataFrame:
        """The verdicts: the texts judged (`place_of` their names), the sample, and the fields of `Verdict`; the first of each.

        What another process writes meanwhile may be there or not.
        """
        parts = []
        for log in sorted(self.path.glob("*.jsonl")):
            try:
                parts.append(self._opened(log))
            except FileNotFoundError:  # another process has just ended: it is an Arrow file now
                continue
        parts += [self._mapped(path) for path in sorted(self.path.glob("*.arrow"))]
        if len(parts) == 1:
            return parts[0]
        keys = [*map(place_of, self._columns), "sample"]
        return pl.concat([pl.DataFrame(schema=self._schema()), *parts]).unique(keys, keep="first", maintain_order=True)

    def _opened(self, log: Path) -> pl.DataFrame:
        """Read a log, except for unfinished lines."""
        lines = []
        for text in log.read_bytes().split(b"\n")[:-1]:
            with suppress(msgspec.DecodeError, UnicodeDecodeError):
                line: Any = _lines.decode(text)
                if len(line.texts) == len(self._columns):
                    lines.append(line)
        texts = {place_of(name): [line.texts[at] for line in lines] for at, name in enumerate(self._columns)}
        told = {name: [getattr(line, name) for line in lines] for name in ("sample", *OUTCOME)}
        return pl.DataFrame(texts | told, schema=self._schema())

    def _mapped(self, path: Path) -> pl.DataFrame:
        """A frame that stays where it is on the disk, but for what is looked at."""
        schema, flaw = self._schema(), "its columns are others"
        try:
            with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as opened:
                frame = pl.DataFrame(opened.read_all())
        except (OSError, pa.ArrowException) as error:
            flaw = " ".join(str(error).split())
        else:
            if frame.dtypes == list(schema.values()):
                frame.columns = list(schema)
                return frame
        raise ReadError(f"{path} holds no verdicts ({flaw}); move it elsewhere, and what it held is asked again")

    def _schema(self) -> dict[str, Any]:
        texts = dict.fromkeys(map(place_of, self._columns), pl.String)
        return {**texts, "sample": VERDICTS.dtypes["sample"], **OUTCOME}

    def _refused(self, error: OSError) -> WriteError:
        return WriteError(f"{self.path} cannot be written ({error.strerror or error}); name another folder with store")
