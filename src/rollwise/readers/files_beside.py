"""Files beside logs: results, verdicts and listings, which hold no rollouts, and copies, with the rollouts of another file."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rollwise.errors import counted

TWO_RUNS = "if these are separate runs, add a `run` or `target` field to each"


class FilesBeside:
    """The files of one reading that may accompany logs, until it is known which logs were read.

    Examples
    --------
    >>> files = FilesBeside()
    >>> files.add("runs/results.json", "lm_eval")
    >>> files.add("runs/a_output.json", "nat", has_verdicts=True)
    >>> list(files.settled([(Path("runs"), "lm_eval")])), files.verdicts
    ([('runs/results.json', 'lm_eval')], [])
    """

    def __init__(self) -> None:
        self._formats: dict[str, str] = {}
        self._with_verdicts: set[str] = set()
        self.verdicts: list[str] = []  # companion files with verdicts the logs lack
        self.repeated: Counter[tuple[str, str]] = Counter()  # rollouts that an earlier file had, by both files

    def add(self, file: str, format_name: str, *, has_verdicts: bool = False) -> None:
        """Add a file, with the format of the logs that it accompanies."""
        self._formats[file] = format_name
        if has_verdicts:
            self._with_verdicts.add(file)

    def settled(self, logs: Iterable[tuple[Path, str | None]]) -> Iterator[tuple[str, str]]:
        """Yield each file with logs of its format in its folder or below, given folder and format of all logs."""
        folders: dict[str | None, set[Path]] = {}
        for folder, format_name in logs:
            folders.setdefault(format_name, set()).update((folder, *folder.parents))
        for file, format_name in self._formats.items():
            if Path(file).parent in folders.get(format_name, ()):
                if file in self._with_verdicts:
                    self.verdicts.append(file)
                yield file, format_name
        self._formats.clear()

    def sentences(self) -> Iterator[str]:
        """Yield what a user should know of these files, a sentence for each kind."""
        if self.repeated:
            copies = [f"{file} repeats {owner} ({count})" for (file, owner), count in self.repeated.items()]
            rollouts = counted(self.repeated.total(), "rollout is", "rollouts are")
            yield f"{rollouts} in a second file and read once: {some(copies)}; {TWO_RUNS}"
        if self.verdicts:
            files = counted(len(self.verdicts), "file of verdicts", "files of verdicts")
            yield f"{files} beside the logs not read: {some(self.verdicts)}; `rw.judges.read_verdicts` reads them"

    def memory(self) -> list[Any]:
        """Return what the sentences say as JSON values, for a cache."""
        return [self.verdicts, [[*files, count] for files, count in self.repeated.items()]]

    def recall(self, memory: list[Any]) -> None:
        """Add what a cache says."""
        verdicts, repeated = memory
        self.repeated.update({(file, owner): count for file, owner, count in repeated})
        self.verdicts += verdicts


def some(names: list[str], most: int = 2) -> str:
    """List the first names, and count the others.

    Examples
    --------
    >>> some(["a", "b", "c"])
    'a, b and 1 more'
    """
    first = ", ".join(names[:most])
    return first if len(names) <= most else f"{first} and {len(names) - most} more"
