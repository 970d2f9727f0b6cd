"""The application that commands belong to, and its exit codes."""

from typing import Annotated

import typer

from turnwise import __version__

DONE, FAILED, BAD_INPUT, UNDECIDED, INTERRUPTED = 0, 1, 2, 3, 130

app = typer.Typer(
    name="turnwise",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"turnwise {__version__}")
        raise typer.Exit


@app.callback()
def turnwise(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Analyze red-team and evaluation rollouts: read logs, compute metrics, estimate with intervals, report."""
