"""Files that a tool writes beside its logs, and that hold no rollouts: results, verdicts, listings."""

from collections.abc import Iterable, Iterator
from pathlib import Path


class Companions:
    """The files of one reading that may accompany logs, until it is known which logs were read.

    Examples
    --------
    >>> companions = Companions()
    >>> companions.add("runs/results.json", "lm_eval")
    >>> companions.add("runs/a_output.json", "nat", has_verdicts=True)
    >>> list(companions.settled([(Path("runs"), "lm_eval")])), companions.verdicts
    ([('runs/results.json', 'lm_eval')], [])
    """

    def __init__(self) -> None:
        self._formats: dict[str, str] = {}
        self._with_verdicts: set[str] = set()
        self.verdicts: list[str] = []  # companions with verdicts, which the logs have not

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
