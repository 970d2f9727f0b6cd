"""Options of an evaluation that are not in its file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rollwise.errors import ArgumentError
from rollwise.evaluation.results_log import through_json
from rollwise.files.masking import for_message


@dataclass(kw_only=True)
class Options:
    """Options of a run that are not in its file.

    Attributes
    ----------
    dataset
        A data set instead of the file's.
    endpoint
        An HTTP address as the workflow, instead of the file's.
    endpoint_timeout
        Seconds that one answer of a service may take; by default the value in the file, or 300.
    override
        Entries to replace, by their dotted keys: a dict, or pairs. A text is parsed as YAML, so that "4" is a number, and
        "a: b" a block; a text in quotes, as `json.dumps` writes it, stays text. Any other value is used unchanged.
    reps
        Number of times to answer each item.
    skip_workflow
        Score the answers in the data set.
    skip_completed_entries
        Answer only the items that have no answer in the data set.
    result_json_path
        Path of the answer in the result of the workflow: ``$.choices[0].text``. It takes precedence over the file's.
    overwrite
        Whether results of another evaluation may be replaced.
    progress
        Whether to show a progress bar.
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
        """Return the entries to replace, as pairs."""
        pairs = self.override.items() if isinstance(self.override, Mapping) else self.override
        try:
            # Values go through JSON, so that what is stored with the results is what was used.
            return [(str(key), through_json(value)) for key, value in pairs]
        except (TypeError, ValueError) as error:
            example = '{"eval.general.max_concurrency": 4}'
            raise ArgumentError(
                f"override is {for_message(repr(self.override)):.80} ({error}); write {example}"
            ) from error


def check(options: Options) -> None:
    """Raise an error for options that contradict each other."""
    if options.reps < 1:
        raise ArgumentError(f"--reps is {options.reps}; give 1 or more")
    if options.endpoint_timeout is not None and not options.endpoint_timeout > 0:
        raise ArgumentError(f"--endpoint_timeout is {options.endpoint_timeout}; give seconds, more than 0")
    if options.skip_workflow and options.endpoint is not None:
        raise ArgumentError("--skip_workflow asks no workflow, --endpoint names one; give one of them")
    if options.reps > 1 and (options.skip_workflow or options.skip_completed_entries):
        raise ArgumentError(
            "--reps asks the workflow anew, --skip_workflow and --skip_completed_entries do not; give one of them"
        )
