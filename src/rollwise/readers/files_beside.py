"""Files beside logs: results, verdicts and listings without rollouts, and copies of rollouts in other files."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rollwise.errors import PAIR, counted

TWO_RUNS = "if these are separate runs, add a `run` or `target` field to each"
OWN_IDS = "if these are separate runs, give each rollout an id of its own"
# Notices on rollouts that were read twice, by the decision of `rollwise.readers.repeats`.
KINDS = {
    "repeats": ("rollout is", "rollouts are", "in a second file or record and read once", "{} repeats {}", TWO_RUNS),
    "superseded": ("rollout is", "rollouts are", "superseded by later versions, which count", "{} by {}", ""),
    "another": (
        "rollout has",
        "rollouts have",
        "the id of another conversation and cannot be counted",
        "{} of {}",
        OWN_IDS,
    ),
}


class FilesBeside:
    """The files of one reading that may accompany logs, until it is known which logs were read."""

    def __init__(self) -> None:
        self.formats: dict[str, str] = {}  # of the logs that each file accompanies
        self._with_verdicts: set[str] = set()
        self.verdicts: list[str] = []  # companion files with verdicts the logs lack
        self.counts: dict[str, Counter[tuple[str, str]]] = {kind: Counter() for kind in KINDS}  # by both files
        self.decided: Counter[str] = Counter()  # number of fields decided by time, by file
        self.num_unknown = 0  # verdicts that are unknown because two records contradict each other
        self.told: dict[tuple[str, str | None, str | None, str], None] = {}  # rows of PROBLEMS that lose nothing

    def add(self, file: str, format_name: str, *, has_verdicts: bool = False) -> None:
        """Add a file, with the format of the logs that it accompanies."""
        self.formats[file] = format_name
        if has_verdicts:
            self._with_verdicts.add(file)

    def settled(self, logs: Iterable[tuple[Path, str | None]]) -> Iterator[tuple[str, str]]:
        """Yield each file with logs of its format in its folder, below or above, given folder and format of all logs."""
        folders: dict[str | None, set[Path]] = {}
        readable: dict[str | None, set[Path]] = {}
        for folder, format_name in logs:
            folders.setdefault(format_name, set()).update((folder, *folder.parents))
            readable.setdefault(format_name, set()).add(folder)
        for file, format_name in self.formats.items():
            around = {*Path(file).parents}
            if Path(file).parent in folders.get(format_name, ()) or around & readable.get(format_name, set()):
                if file in self._with_verdicts:
                    self.verdicts.append(file)
                yield file, format_name
        self.formats.clear()

    def sentences(self) -> Iterator[str]:
        """Yield notices, one sentence for each kind."""
        for kind, (singular, plural, what, between, hint) in KINDS.items():
            if counts := self.counts[kind]:
                places = [f"{between.format(file, owner)} ({count})" for (file, owner), count in counts.items()]
                yield f"{counted(counts.total(), singular, plural)} {what}: {'; '.join(filter(None, (some(places), hint)))}"
        if self.decided:
            places = [f"{file} ({count})" for file, count in self.decided.items()]
            hint = f'errors="collect" tells which{PAIR}'
            yield f"{counted(self.decided.total(), 'field')} decided by times: {some(places)} ({hint})"
        if self.num_unknown:
            yield f"{counted(self.num_unknown, 'verdict')} unknown, since two records of one rollout contradict each other"
        if self.verdicts:
            files = counted(len(self.verdicts), "file of verdicts", "files of verdicts")
            yield f"{files} beside the logs not read: {some(self.verdicts)}; `rw.judges.read_verdicts` reads them"

    def memory(self) -> list[Any]:
        """Return what the sentences say as JSON values, for a cache."""
        counts = [[kind, *files, count] for kind in KINDS for files, count in self.counts[kind].items()]
        return [self.verdicts, counts, self.num_unknown, list(self.told), list(self.decided.items())]

    def recall(self, memory: list[Any]) -> None:
        """Add what a cache says."""
        verdicts, counts, num_unknown, warned, decided = memory
        for kind, file, owner, count in counts:
            self.counts[kind][file, owner] += count
        self.verdicts += verdicts
        self.num_unknown += num_unknown
        self.decided.update(dict(decided))
        self.told.update(dict.fromkeys(map(tuple, warned)))


def some(names: list[str], most: int = 2) -> str:
    """List the first names, and count the others."""
    first = ", ".join(names[:most])
    return first if len(names) <= most else f"{first} and {len(names) - most} more"
