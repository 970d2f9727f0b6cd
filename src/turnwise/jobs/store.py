"""Store of answers that were paid for: one file for each configuration, to which every answer is appended at once.

The file is text. Its first line names the format and the configuration; every other line holds a key, what is stored under it,
and a checksum of both::

    ["6f1d0c5a0b1e2f3a", "@store", {"format": 1, "configuration": {"model": "a"}}]
    ["0c9be1f4a7d2c815", "@opened", {"process": 123, "host": "here", "since": "2026-01-31T12:00:00.000000+00:00"}]
    ["b1946ac92492d234", "0", {"answer": "No"}]

A line is written in one step, so it survives if the process is killed right afterwards; how soon it also survives a power failure
is the choice of the caller (`sync_every`). A line whose checksum differs is reported, is never read as an answer, and so is asked
again. Of several lines with one key, the last counts. One process at a time can write, unless all of them share the file: it holds
a lock on the file, which the operating system releases when the process ends for any reason. Reading takes no lock and no right to
write.
"""

import fcntl
import json
import os
import platform
import re
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, Self

from turnwise.errors import ArgumentError, ReadError, UnkeptError, WriteError, counted, listing
from turnwise.files.object_stores import address_of

FORMAT = 1
STORE, OPENED, DAMAGED = "@store", "@opened", "@damaged"  # keys of the lines about the file itself


@dataclass(slots=True)
class Content:
    """Content of a file: the rows by key, as JSON, and what its other lines say.

    Attributes
    ----------
    configuration
        The configuration, decoded from JSON; None in an empty file.
    rows
        What is stored, as JSON text in bytes, by key.
    opened
        Process, host and time of each opening for writing, the first one first.
    damaged
        Numbers of the lines whose checksum differs and that were not reported before.
    """

    configuration: Any = None
    rows: dict[str, bytes] = field(default_factory=dict)
    opened: list[dict[str, Any]] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)


class Store:
    """Rows of one configuration; as a context manager, the right to add to them.

    Parameters
    ----------
    folder
        The folder of the file; created if missing.
    name
        The first part of the file name; the second is a digest of the configuration.
    configuration
        Everything that the rows depend on, as JSON text in bytes without line breaks. Never secrets.
    sync_every
        Seconds between two syncs to the disk: 0 syncs before each `put` returns, so that rows survive a power failure; None never
        does, so that they survive only the end of the process.
    shared
        Whether several writers may add rows at once, all of which say so; else a second one is refused.
    option
        The option of the caller that names the folder, for the sentences of errors.

    Attributes
    ----------
    path
        The file.

    Raises
    ------
    ArgumentError
        Where `folder` is an address in an object store.
    WriteError
        From ``with``, where the folder cannot be written to, or another process has the file open for writing.
    ReadError
        From ``with`` and `read`, where the file is not a store, or was written by a newer turnwise.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with Store(folder, "answers", b'{"model":"a"}') as store:
    ...     store.put({"0": b'"No"', "1": b'["Yes",0.5]'})
    >>> Store(folder, "answers", b'{"model":"a"}').read()
    {'0': b'"No"', '1': b'["Yes",0.5]'}
    >>> Store(folder, "answers", b'{"model":"b"}').read()
    {}
    """

    def __init__(
        self,
        folder: str | Path,
        name: str,
        configuration: bytes,
        *,
        sync_every: float | None = 0.0,
        shared: bool = False,
        option: str = "store",
    ) -> None:
        self._option, self._sync_every, self._shared = option, sync_every, shared
        if (address := address_of(folder)) is not None:
            raise ArgumentError(f"{option}={address!r} is an address; a store is a folder on this machine")
        self._header = _line(STORE, b'{"format":%d,"configuration":%b}' % (FORMAT, configuration))
        # Any name is possible, and the length of a file name is limited.
        prefix = re.sub(r"[^\w .-]", "_", name).lstrip(".").encode()[:150].decode(errors="ignore")
        self.path = Path(folder) / f"{prefix}-{blake2b(configuration, digest_size=16).hexdigest()}.jsonl"
        self._open, self._file = ExitStack(), -1
        self._synced = time.monotonic()

    def read(self) -> dict[str, bytes]:
        """Return the rows, as JSON text in bytes by key; needs neither the lock nor the right to write."""
        return {} if (content := read(self.path)) is None else content.rows

    def __enter__(self) -> Self:
        with ExitStack() as opening:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
                opening.callback(os.close, self._file)  # which releases the lock
                is_alone = self._lock()
            except OSError as error:
                raise WriteError(
                    f"{self.path} cannot be written ({error.strerror}); name another folder with {self._option}"
                ) from error
            self._begin(is_alone=is_alone)
            if self._shared:
                fcntl.flock(self._file, fcntl.LOCK_SH)
            self._open = opening.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        with self._open:
            self._append(b"", is_last=True)

    def _lock(self) -> bool:
        """Lock the file, and return whether nobody else writes to it."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if self._shared:
                fcntl.flock(self._file, fcntl.LOCK_SH)  # waits while another writer begins
                return False
            content = read(self.path)
            owner = "another process"
            if content is not None and content.opened:
                last = content.opened[-1]
                since = datetime.fromisoformat(last["since"])
                owner = f"process {last['process']} on {last['host']} since {since:%Y-%m-%d %H:%M:%S} UTC"
            raise WriteError(
                f"{self.path} is in use by {owner}; wait for it, or name another folder with {self._option}"
            ) from error
        return True

    def _begin(self, *, is_alone: bool) -> None:
        """Check the file; write the first line of a new one, which lines are damaged, and who writes from now on."""
        text = self.path.read_bytes()
        if is_alone and self._header.startswith(text):  # new, or its process was killed while it wrote the first line
            os.truncate(self._file, 0)
            self._append(self._header)
            self._sync_folder()
        else:
            # A process that was killed while it wrote a line left no line break; the next line must be whole.
            line_break = b"\n" if is_alone and not text.endswith(b"\n") else b""
            damaged = _content(_whole_lines(text + line_break), self.path).damaged
            self._append(line_break)
            if damaged:
                self._report(damaged)
        since = datetime.now(UTC).isoformat(timespec="microseconds")
        opened = {"process": os.getpid(), "host": platform.node(), "since": since}
        self._append(_line(OPENED, json.dumps(opened).encode()))

    def _sync_folder(self) -> None:
        """Sync the name of a new file to the disk."""
        if self._sync_every is not None:
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def _report(self, damaged: list[int]) -> None:
        from turnwise.schema.labels import say

        lines = counted(len(damaged), "line is", "lines are")
        say(f"{self.path}: {lines} damaged (line {listing(damaged)}); what stood there is asked again")
        self._append(_line(DAMAGED, json.dumps(damaged).encode()))

    def put(self, rows: Mapping[str, bytes]) -> None:
        """Add rows: JSON text in bytes, without line breaks, by key; a key is text without quotes and does not begin with @.

        Raises
        ------
        UnkeptError
            Where they cannot be written, such as on a full disk; those that fit are in the file.
        """
        self._append(b"".join(_line(key, payload) for key, payload in rows.items()))

    def _append(self, lines: bytes, *, is_last: bool = False) -> None:
        size, rest = os.fstat(self._file).st_size, lines
        try:
            # A disk that is nearly full may accept only a part.
            while rest:
                rest = rest[os.write(self._file, rest) :]
            now = time.monotonic()
            if self._sync_every is not None and (is_last or now - self._synced >= self._sync_every):
                os.fsync(self._file)
                self._synced = now
        except OSError as error:
            written = lines[: len(lines) - len(rest)]
            if os.fstat(self._file).st_size == size + len(written):  # nobody else has added a line meanwhile
                with suppress(OSError):
                    os.truncate(self._file, size + written.rfind(b"\n") + 1)
            raise UnkeptError(
                f"{self.path} cannot be written ({error.strerror}), so nothing further is asked; free disk space and run "
                f"again, which continues from what is stored, or name another folder with {self._option}"
            ) from error


def read(path: Path) -> Content | None:
    """Return the content of a file; None where there is none, or it is empty because its process was killed before it wrote.

    Raises
    ------
    ReadError
        Where it cannot be read, is not a store, or was written by a newer turnwise.
    """
    try:
        text = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ReadError(f"{path} cannot be read ({error.strerror})") from error
    # Another process may be writing the last line right now, so only whole lines count.
    lines = _whole_lines(text)
    if not lines and b'["'.startswith(text[:2]) and b'"@store",'.startswith(text[20:29]):  # a part of the first line
        return None
    return _content(lines, path)


def _content(text: bytes, path: Path) -> Content:
    header, *lines = text.split(b"\n")
    content = Content(_configuration(header, path))
    seen: set[int] = set()  # numbers of damaged lines that were reported before
    for number, line in enumerate(lines, 2):
        if line[2:18] != _checksum(line[20:-1]):
            if line:  # after the last line break there is nothing
                content.damaged.append(number)
            continue
        name, _, payload = line[21:-1].partition(b'",')
        key = name.decode()
        if key[:1] != "@":
            content.rows[key] = payload
        elif key == OPENED:
            content.opened.append(json.loads(payload))
        elif key == DAMAGED:
            seen.update(json.loads(payload))
    content.damaged = [number for number in content.damaged if number not in seen]
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
    if isinstance(format_number, int) and format_number > FORMAT:
        raise ReadError(
            f"{path} was written by a newer turnwise (format {format_number}, and this one reads {FORMAT}); update turnwise, "
            "or move the file elsewhere"
        )
    raise ReadError(f"{path} is not a store of turnwise, or its first line is damaged; move it elsewhere")


def _whole_lines(text: bytes) -> bytes:
    return text[: text.rfind(b"\n") + 1]


def _line(key: str, payload: bytes) -> bytes:
    body = b'"%b",%b' % (key.encode(), payload)
    return b'["%b",%b]\n' % (_checksum(body), body)


def _checksum(body: bytes) -> bytes:
    return blake2b(body, digest_size=8).hexdigest().encode()
