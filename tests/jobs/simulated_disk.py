"""The simulated machine of `simulation.py`: one folder of files, of which a power failure leaves what was synced.

Before each operation, the world decides what else happens (`World.step`).
"""

# ruff: noqa: ARG002, D102  # methods do what those of `Machine` say

import random
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from rollwise.jobs.machine import Machine

FOLDER = Path("/simulated/store")
SECTOR = 32  # bytes that a disk writes as one


class Killed(BaseException):
    """The process is gone: nothing that it would still do reaches the disk."""


@dataclass(slots=True)
class File:
    """A file: what programs see, what survives a power failure, and whether its name does."""

    content: bytearray = field(default_factory=bytearray)
    synced: bytes = b""
    is_named: bool = False
    owner: tuple[int, int] | None = None  # the opening that holds the lock: its process and its handle

    def surviving(self, rng: random.Random) -> bytearray:
        """Return what a power failure leaves: of what was not synced any size, and any sectors as zeros."""
        content, synced = bytes(self.content), self.synced
        if not content.startswith(synced):  # it was truncated since, which may be undone
            content, synced = rng.choice((content, synced)), b""
        left = bytearray(content[: rng.randint(len(synced), len(content))])
        if rng.random() < 0.5:
            for start in range(len(synced), len(left), SECTOR):
                if rng.random() < 0.3:
                    left[start : start + SECTOR] = bytes(len(left[start : start + SECTOR]))
        return left


class Disk(Machine):
    """The machine as one process (`owner`) sees it; without one (None), only to look."""

    def __init__(self, world: Any, owner: Any) -> None:
        self.world, self.owner = world, owner
        self.handles: dict[int, File] = {}
        self.next_handle = 3

    def step(self, operation: str) -> None:
        if self.owner is not None:
            self.world.step(self.owner, operation)

    def make_folder(self, path: Path) -> None:
        self.step("make folder")
        self.world.is_folder = True

    def open(self, path: Path) -> int:
        self.step(f"open {path.suffix}")
        if not self.world.is_folder:
            raise FileNotFoundError(2, "No such file or directory")
        self.next_handle += 1
        self.handles[self.next_handle] = self.world.files.setdefault(path, File())
        return self.next_handle

    def close(self, file: int) -> None:
        opened = self.handles.pop(file, None)  # the system has closed those of a killed process
        if opened is not None and opened.owner == (id(self), file):
            opened.owner = None

    def lock(self, file: int, *, wait: bool) -> bool:
        self.step("lock, waiting" if wait else "lock")
        if self.world.mutant == "no lock":
            return True
        opened, mark = self.handles[file], (id(self), file)
        if opened.owner not in {None, mark}:
            check(not wait, "a process waits for itself")
            return False
        opened.owner = mark
        return True

    def unlock(self, file: int) -> None:
        if file in self.handles and self.handles[file].owner == (id(self), file):
            self.handles[file].owner = None

    def size(self, file: int) -> int:
        return len(self.handles[file].content)

    def read(self, path: Path) -> bytes:
        self.step("read")
        if path not in self.world.files:
            raise FileNotFoundError(2, "No such file or directory")
        return bytes(self.world.files[path].content)

    def last_byte(self, file: int, size: int) -> bytes:
        if self.world.mutant == "no line break":
            return b"\n"
        return bytes(self.handles[file].content[size - 1 : size])

    def write(self, file: int, content: bytes) -> int:
        self.step("write")
        rng, opened = self.world.rng, self.handles[file]
        if not self.world.is_calm and rng.random() < self.world.full_rate:
            part = rng.randrange(len(content))
            if not part:
                raise OSError(28, "No space left on device")
            content = content[:part]
        # A process that is killed in the middle has written a part.
        first = rng.randint(0, len(content))
        opened.content += content[:first]
        self.step("write on")
        opened.content += content[first:]
        return len(content)

    def truncate(self, file: int, size: int) -> None:
        self.step("truncate")
        del self.handles[file].content[size:]

    def sync(self, file: int) -> None:
        self.step("sync")
        if self.world.mutant != "no sync":
            self.handles[file].synced = bytes(self.handles[file].content)

    def sync_folder(self, path: Path) -> None:
        self.step(f"sync folder {path.name}")
        if self.world.mutant == "no sync of the folder":
            return
        if path.name == FOLDER.name:
            for file in self.world.files.values():
                file.is_named = True
        else:
            self.world.is_folder_named = self.world.is_folder

    def names(self, folder: Path) -> list[str]:
        self.step("list")
        return [] if self.world.mutant == "no claim" else [path.name for path in self.world.files]

    def remove(self, path: Path) -> None:
        self.step("remove")
        self.world.files.pop(path, None)

    def process(self) -> tuple[int, str]:
        return 1, "host"

    def seconds(self) -> float:
        return float(self.world.time)

    def now(self) -> datetime:
        date: datetime = self.world.date
        return date


def check(is_true: bool, sentence: str) -> None:
    """Raise AssertionError; a plain `assert` would not count within `raise` of the code under test."""
    if not is_true:
        raise AssertionError(sentence)
