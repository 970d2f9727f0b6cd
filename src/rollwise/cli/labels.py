"""The command that writes a page on which a person labels rollouts. Verbs are imported inside, so that `--help` starts at once."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from rollwise.cli.answers import FileFormat, tell_files
from rollwise.cli.app import LOOK, OUTPUT, app
from rollwise.cli.inputs import LogInput, read_logs
from rollwise.cli.options import By, Overwrite, Seed, in_options, optional
from rollwise.cli.tables import say
from rollwise.files.atomic import check_file


@app.command(rich_help_panel=LOOK)
def label(
    logs: LogInput,
    out: Annotated[Path, typer.Option("--out", "-o", help="Page to write.", rich_help_panel=OUTPUT)] = Path(
        "labels.html"
    ),
    n: Annotated[int, typer.Option("-n", help="Rollouts to draw, at most; as many with each verdict.")] = 100,
    metric: Annotated[
        str | None, optional("Metric that is yes or no; default: success of the attack, or of the task.", "--metric")
    ] = None,
    by: By = None,
    question: Annotated[
        str | None, optional("Asked of each rollout; default: as the metric says.", "--question")
    ] = None,
    seed: Seed = 0,
    format: FileFormat = "text",  # noqa: A002  # the name of the option
    overwrite: Overwrite = False,
) -> None:
    """Write one HTML page on which a person labels rollouts without seeing what the judge said.

    Example: rollwise label runs --by target -n 100
    """
    from rollwise.readers.problems import in_words_of
    from rollwise.reports.labeling import label_page

    check_file(out, overwrite=overwrite)  # before the work
    turns, _ = read_logs(logs)
    with in_words_of(in_options):
        page = label_page(
            turns, out, n=n, metric=metric, by=by or (), question=question, seed=seed, overwrite=overwrite
        )
    groups = "".join(f" --by {shlex.quote(name)}" for name in by or ())
    say(f"open {page} in a browser, label, and save the labels as labels-NAME.jsonl; then:")
    say(f"rollwise report {_typed(logs)}{groups} --labels labels-NAME.jsonl")
    tell_files("Wrote a page of rollouts to label.", [page], format)


def _typed(logs: LogInput) -> str:
    """Return the paths and the reading options as they are typed for another command."""
    single = {"--log-format": logs.log_format, "--mapping": logs.mapping, "--of": logs.of}
    several = {"--fact": logs.fact, "--column": logs.column, "--value": logs.value}
    words = [str(path) for path in logs.paths]
    words += [word for name, value in single.items() if value is not None for word in (name, str(value))]
    words += [word for name, values in several.items() for value in values or () for word in (name, value)]
    return shlex.join(words)
