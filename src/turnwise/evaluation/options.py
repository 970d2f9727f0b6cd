"""Options of an evaluation besides its file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from turnwise.errors import ArgumentError
from turnwise.evaluation.results_log import through_json


@dataclass(kw_only=True)
class Options:
    """Options of a run besides its file.

    Attributes
    ----------
    dataset
        Another data set than the file's.
    endpoint
        Another workflow than the file's: an HTTP address.
    endpoint_timeout
        Seconds that one answer of a service may take; without it 300, or what the file says.
    override
        Entries to replace, by their dotted keys: a dict, or pairs. A text is read as YAML, so that "4" is a number, and "a: b"
        a block; one in quotes, as `json.dumps` gives it, is text. Any other value is taken as it is.
    reps
        How often each item is answered.
    skip_workflow
        Score the answers that the data set holds.
    skip_completed_entries
        Answer only the items that the data set holds no answer of.
    result_json_path
        Where in what the workflow gives the answer stands: ``$.choices[0].text``. It outranks the file's.
    overwrite
        Whether results of another evaluation may be replaced.
    progress
        Whether to show how far it is.
    """

    dataset: Path | None = None
    endpoint: str | None = None
    endpoint_timeout: float | None = None
    override: Mapping[str, Any] | Sequence[tuple[str, Any]] = ()
    reps: int = 1
    skip_workflow: bool = False
    skip_completed_entries: bool = False
    result_json_path: str = "$"
    overwrite: bool = False
    progress: bool = True

    @property
    def overrides(self) -> list[tuple[str, Any]]:
        """The entries to replace, as pairs.

        Examples
        --------
        >>> Options(override={"eval.general.max_concurrency": 3}).overrides
        [('eval.general.max_concurrency', 3)]

        Raises
        ------
        ArgumentError
            Where they are anything else.
        """
        given = self.override.items() if isinstance(self.override, Mapping) else self.override
        try:
            return [(str(key), through_json(value)) for key, value in given]
        except (TypeError, ValueError) as error:
            example = '{"eval.general.max_concurrency": 4}'
            raise ArgumentError(f"override is {self.override!r:.80} ({error}); write {example}") from error


def check(asked: Options) -> None:
    """Refuse options that contradict each other.

    Raises
    ------
    ArgumentError
        With both of them, by their names on the command line.
    """
    if asked.reps < 1:
        raise ArgumentError(f"--reps is {asked.reps}; every item is answered at least once")
    if asked.endpoint_timeout is not None and not asked.endpoint_timeout > 0:
        raise ArgumentError(f"--endpoint_timeout is {asked.endpoint_timeout}; give seconds, more than 0")
    if asked.skip_workflow and asked.endpoint is not None:
        raise ArgumentError("--skip_workflow asks no workflow, --endpoint names one; give one of them")
    if asked.reps > 1 and (asked.skip_workflow or asked.skip_completed_entries):
        raise ArgumentError(
            "--reps asks the workflow anew, --skip_workflow and --skip_completed_entries do not; give one of them"
        )
