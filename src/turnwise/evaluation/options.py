"""How an evaluation is run, beside its file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from turnwise.errors import ArgumentError


@dataclass(kw_only=True)
class Options:
    """How to run, beside the file.

    Attributes
    ----------
    dataset
        Another data set than the file's.
    endpoint
        Another workflow than the file's: an HTTP address.
    override
        Entries to replace, as (dotted key, text).
    reps
        How often each item is answered.
    skip_workflow
        Score the answers that the data set holds.
    skip_completed_entries
        Answer only the items that the data set holds no answer of.
    result_json_path
        Where in an endpoint's answer the answer stands.
    overwrite
        Whether results of another evaluation may be replaced.
    progress
        Whether to show how far it is.
    """

    dataset: Path | None = None
    endpoint: str | None = None
    override: Sequence[tuple[str, str]] = ()
    reps: int = 1
    skip_workflow: bool = False
    skip_completed_entries: bool = False
    result_json_path: str = "$"
    overwrite: bool = False
    progress: bool = True


def check(asked: Options) -> None:
    """Refuse options that contradict each other.

    Raises
    ------
    ArgumentError
        With both of them, by their names on the command line.
    """
    if asked.reps < 1:
        raise ArgumentError(f"--reps is {asked.reps}; every item is answered at least once")
    if asked.skip_workflow and asked.endpoint is not None:
        raise ArgumentError("--skip_workflow asks no workflow, --endpoint names one; give one of them")
    if asked.reps > 1 and (asked.skip_workflow or asked.skip_completed_entries):
        raise ArgumentError(
            "--reps asks the workflow anew, --skip_workflow and --skip_completed_entries do not; give one of them"
        )
