"""Store of answers that were paid for: one file for each configuration, to which every answer is appended at once.

The file is text. Its first line names the format and the configuration; every other line holds a key, what is stored under it,
and a checksum of both::

    ["6f1d0c5a0b1e2f3a", "@store", {"format": 2, "configuration": {"model": "a"}}]
    ["0c9be1f4a7d2c815", "@opened", {"process": 123, "host": "here", "since": "2026-01-31T12:00:00.000000+00:00"}]
    ["b1946ac92492d234", "0", {"answer": "No"}]

A line is written in one step, so it survives if the process is killed right afterwards; how soon it also survives a power failure
is the choice of the caller (`sync_every`). A line whose checksum differs is reported, is never read as an answer, and so is asked
again. The checksum depends on the first line too, so that a line of another store is never read as one of this. Of several lines
with one key, the last counts. One process at a time can write: it holds a lock on the file, which the operating system releases
when the process ends for any reason. Where several processes share the file, each holds the lock only while it adds lines, and
`claim` says which keys it may ask for. Reading takes no lock and no right to write.
"""

import json
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, Self

from rollwise.errors import ArgumentError, ReadError, RollwiseError, UnkeptError, WriteError, counted, listing
from rollwise.files.object_stores import address_of
from rollwise.jobs.machine import MACHINE, Machine

FORMAT = 2  # 1: written under an earlier name of the package, which payloads and configurations hold
STORE, OPENED, DAMAGED = "@store", "@opened", "@damaged"  # keys of the lines about the file itself


@dataclass(slots=True)
class Content:
    """Content of a file: the rows by key, as JSON, and what its other lines say."""

    configuration: Any = None  # decoded from JSON; None in an empty file
    rows: dict[str, bytes] = field(default_factory=dict)  # JSON text in bytes, by key
    opened: list[dict[str, Any]] = field(default_factory=list)  # process, host and time of each opening for writing
    damaged: list[int] = field(default_factory=list)  # lines whose checksum differs, if not reported before


class Store:
    """Rows of one configuration; as a context manager, the right to add to them."""

    def __init__(
        self,
        folder: str | Path,
        name: str,  # first part of the file name; a digest of the configuration is the second
        # All that the rows depend on, as JSON text without line breaks. Never secrets: it is in the file.
        configuration: bytes,
        *,
        # Seconds between two syncs to the disk. 0 syncs before each `put` returns, so that rows survive a power failure; None
        # never does, so that they survive only the end of the process.
        sync_every: float | None = 0.0,
        # Whether several writers may add rows at once, all of which say so and `claim` keys; else a second one is refused.
        shared: bool = False,
        option: str = "store",  # the caller's option that names the folder, for the sentences of errors
        machine: Machine = MACHINE,
    ) -> None:
        self._option, self._sync_every, self._shared, self._machine = option, sync_every, shared, machine
        if (address := address_of(folder)) is not None:
            raise ArgumentError(f"{option}={address!r} is an address; a store is a folder on this machine")
        self._header = _line(STORE, b'{"format":%d,"configuration":%b}' % (FORMAT, configuration))
        # Any name is possible, and the length of a file name is limited.
        prefix = re.sub(r"[^\w .-]", "_", name).lstrip(".").encode()[:150].decode(errors="ignore")
        self.path = Path(folder) / f"{prefix}-{blake2b(configuration, digest_size=16).hexdigest()}.jsonl"
        self._salt = self._header[2:18]
        self._open, self._file, self._synced = ExitStack(), -1, 0.0

    def read(self) -> dict[str, bytes]:
        """Return the rows, as JSON text in bytes by key; needs neither the lock nor the right to write."""
        content = read(self.path, machine=self._machine, header=self._header)
        return {} if content is None else content.rows

    def __enter__(self) -> Self:
        with ExitStack() as opening:
            with self._reporting(WriteError, ""):
                self._machine.make_folder(self.path.parent)
                self._file = self._machine.open(self.path)
                opening.callback(self._machine.close, self._file)  # which releases the lock
                is_locked = self._machine.lock(self._file, wait=self._shared)
            if not is_locked:
                raise WriteError(
                    f"{self.path} is in use by {self._owner()}; wait for it, or name another folder with {self._option}"
                )
            with self._reporting(UnkeptError, _AGAIN):
                self._begin()
                if self._shared:
                    self._machine.unlock(self._file)
            self._open = opening.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        with self._open, self._reporting(UnkeptError, _AGAIN):
            self._sync(is_due=True)

    @contextmanager
    def claim(self, keys: Iterable[str]) -> Iterator[list[str]]:
        """Reserve keys of a shared store, and return the ones that this process is to ask for.

        They are neither stored nor reserved by another process; until the block ends or the process does, others leave them
        alone. A process that needs the other keys reads the store again later, and then claims what is still missing. It
        must hold no claim while it waits, so that two processes never wait for each other.
        """
        # The file that lists the keys is locked by its process; one without a lock was left behind by a killed process.
        place = self.path.parent / f".{self.path.name}.{secrets.token_hex(4)}.part"
        with ExitStack() as claimed:
            with self._reporting(WriteError, ""), self._locked():
                reserved = {*self.read(), *self._claims()}
                free = [key for key in keys if key not in reserved]
                if free:
                    file = self._machine.open(place)
                    claimed.callback(self._machine.remove, place)
                    claimed.callback(self._machine.close, file)  # first: Windows removes no file that is open
                    self._machine.lock(file, wait=True)
                    self._write(file, "\n".join(free).encode())
            yield free

    def _claims(self) -> set[str]:
        """Return the keys that other processes have reserved; remove what killed ones left behind."""
        prefix, keys = f".{self.path.name}.", set[str]()
        for name in self._machine.names(self.path.parent):
            if name.startswith(prefix) and name.endswith(".part"):
                place = self.path.parent / name
                file = self._machine.open(place)
                try:
                    is_left_behind = self._machine.lock(file, wait=False)
                    if not is_left_behind:
                        with suppress(FileNotFoundError):
                            keys.update(self._machine.read(place).decode().split("\n"))
                finally:
                    self._machine.close(file)
                if is_left_behind:
                    self._machine.remove(place)
        return keys

    def _owner(self) -> str:
        """Return who writes to the file, in words."""
        content = read(self.path, machine=self._machine, header=self._header)
        if content is None or not content.opened:
            return "another process"
        last = content.opened[-1]
        since = datetime.fromisoformat(last["since"])
        return f"process {last['process']} on {last['host']} since {since:%Y-%m-%d %H:%M:%S} UTC"

    def _begin(self) -> None:
        """Check the file; write the first line of a new one, which lines are damaged, and who writes from now on."""
        text = self._machine.read(self.path)
        if _is_part(text, self._header):  # new, or killed while it wrote the first line
            self._machine.truncate(self._file, 0)
            self._add(self._header)
            self._sync(is_due=True)
            if self._sync_every is not None:
                self._machine.sync_folder(self.path.parent)
                self._machine.sync_folder(self.path.parent.parent)  # the folder may be new too
        # A process that was killed while it wrote a line left no line break, and the next line adds it.
        elif damaged := _content(text if text.endswith(b"\n") else text + b"\n", self.path).damaged:
            self._report(damaged)
        since = self._machine.now().isoformat(timespec="microseconds")
        process, host = self._machine.process()
        opened = {"process": process, "host": host, "since": since}
        self._add(_line(OPENED, json.dumps(opened).encode(), self._salt))

    def _report(self, damaged: list[int]) -> None:
        from rollwise.schema.labels import say

        lines = counted(len(damaged), "line is", "lines are")
        say(f"{self.path}: {lines} damaged (line {listing(damaged)}); those entries will be requested again")
        self._add(_line(DAMAGED, json.dumps(damaged).encode(), self._salt))

    def put(self, rows: Mapping[str, bytes]) -> None:
        """Add rows: JSON text in bytes, without line breaks, by key; a key is text without quotes and does not begin with @."""
        # Where the disk is full, the rows that fit are in the file, and the others are an UnkeptError.
        lines = b"".join(_line(key, payload, self._salt) for key, payload in rows.items())
        with self._reporting(UnkeptError, _AGAIN):
            with self._locked() if self._shared else nullcontext():
                self._add(lines)
            self._sync()

    def _add(self, lines: bytes) -> None:
        """Append lines, as many as fit on the disk."""
        size = self._machine.size(self._file)
        # A last line without a line break, as a killed process leaves it, would be joined with this line.
        if size and self._machine.last_byte(self._file, size) != b"\n":
            lines = b"\n" + lines
        try:
            self._write(self._file, lines)
        except OSError:
            # Only this process may write now, so all bytes beyond `size` are its own.
            with suppress(OSError):
                written = self._machine.size(self._file) - size
                self._machine.truncate(self._file, size + lines[:written].rfind(b"\n") + 1)
            raise

    def _write(self, file: int, content: bytes) -> None:
        """Append content to a file; a disk that is nearly full may accept only a part at a time."""
        while content:
            content = content[self._machine.write(file, content) :]

    def _sync(self, *, is_due: bool = False) -> None:
        """Sync the file to the disk, where that is due."""
        now = self._machine.seconds()
        if self._sync_every is not None and (is_due or now - self._synced >= self._sync_every):
            self._machine.sync(self._file)
            self._synced = now

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock on a file that several processes share."""
        self._machine.lock(self._file, wait=True)
        try:
            yield
        finally:
            self._machine.unlock(self._file)

    @contextmanager
    def _reporting(self, kind: type[RollwiseError], consequence: str) -> Iterator[None]:
        """Report an error of the operating system as one sentence."""
        try:
            yield
        except OSError as error:
            raise kind(
                f"{self.path} cannot be written ({error.strerror}){consequence or ';'} name another folder with {self._option}"
            ) from error


_AGAIN = ", so nothing further is asked; free disk space and run again, which continues from what is stored, or"  # and then: name


def read(path: Path, *, machine: Machine = MACHINE, header: bytes = b"") -> Content | None:
    """Return the content of a file, or None if it does not exist or its process was killed before it wrote the first line.

    `header` is the first line, where it is known.
    """
    try:
        text = machine.read(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ReadError(f"{path} cannot be read ({error.strerror})") from error
    # Another process may be writing the last line right now, so only whole lines count.
    lines = text[: text.rfind(b"\n") + 1]
    if _is_part(text, header) or (not lines and _is_part(text[:2], b'["') and _is_part(text[20:29], b'"@store",')):
        return None
    return _content(lines, path)


def _content(text: bytes, path: Path) -> Content:
    header, *lines = text.split(b"\n")
    content, salt = Content(_configuration(header, path)), header[2:18]
    reported: set[int] = set()  # numbers of damaged lines that were reported before
    for number, line in enumerate(lines, 2):
        if line[2:18] != _checksum(line[20:-1], salt):
            if line and line != header:  # after the last line break there is nothing; copies of one store may be joined
                content.damaged.append(number)
            continue
        name, _, payload = line[21:-1].partition(b'",')
        key = name.decode()
        if key[:1] != "@":
            content.rows[key] = payload
        elif key == OPENED:
            content.opened.append(json.loads(payload))
        elif key == DAMAGED:
            reported.update(json.loads(payload))
    content.damaged = [number for number in content.damaged if number not in reported]
    return content


def _configuration(header: bytes, path: Path) -> Any:
    """Return the configuration in the first line."""
    format_number = None
    with suppress(ValueError, TypeError, LookupError):
        checksum, key, about = json.loads(header)
        if key == STORE:
            format_number = about["format"]
            if format_number == FORMAT and checksum.encode() == _checksum(header[20:-1]):
                return about["configuration"]
    if isinstance(format_number, int) and format_number != FORMAT:
        age, remedy = ("a newer", "update rollwise, or move") if format_number > FORMAT else ("an earlier", "move")
        raise ReadError(
            f"{path} was written by {age} version (format {format_number}, and this one reads {FORMAT}); {remedy} the file "
            "elsewhere"
        )
    raise ReadError(f"{path} is not a store of rollwise, or its first line is damaged; move it elsewhere")


def _is_part(text: bytes, line: bytes) -> bool:
    """Return whether a text is the beginning of a line, with zeros where a power failure kept it from the disk."""
    return len(text) <= len(line) and all(byte in {0, expected} for byte, expected in zip(text, line, strict=False))


def _line(key: str, payload: bytes, salt: bytes = b"") -> bytes:
    body = b'"%b",%b' % (key.encode(), payload)
    return b'["%b",%b]\n' % (_checksum(body, salt), body)


def _checksum(body: bytes, salt: bytes = b"") -> bytes:
    return blake2b(body, digest_size=8, key=salt).hexdigest().encode()
