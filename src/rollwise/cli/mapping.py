"""The command that shows how files are read, before any result is made of them."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rollwise.cli.answers import document
from rollwise.cli.app import LOOK, app
from rollwise.cli.inputs import LogInput
from rollwise.cli.options import Columns, Logs, Of, Overwrite, Values, in_options, optional
from rollwise.cli.tables import say, tell
from rollwise.files.atomic import check_file

if TYPE_CHECKING:
    from rollwise.readers.proposing import Proposal


@app.command("map", rich_help_panel=LOOK)
def map_files(
    paths: Logs,
    write: Annotated[Path | None, optional("File of YAML to keep the mapping in, for --mapping.", "--write")] = None,
    column: Columns = None,
    value: Values = None,
    of: Of = None,
    format: Annotated[  # noqa: A002  # the name of the option
        Literal["text", "json"],
        typer.Option("--format", help="text, or json: a sentence to quote (answer), and a row for each column."),
    ] = "text",
    overwrite: Overwrite = False,
) -> None:
    """Show how files of any kind are read: their rollouts, what each column is taken for and why, and what only you know.

    Logs of known tools need no mapping. For other files, --write keeps the mapping, to be edited and read with --mapping.

    Example: rollwise map results.json --write my_runs.yml
    """
    from rollwise.readers.proposing import propose

    if write is not None:
        check_file(write, overwrite=overwrite)
    names = LogInput(paths, column=column, value=value, of=of).names
    proposal = propose(paths, names=names)
    if write is not None:
        proposal.write(write, overwrite=overwrite)
    if format == "json":
        tell(document(_answer(proposal), proposal.columns), data=True)
        return
    tell(in_options(proposal.text(_line(paths, column, value, of, proposal))))
    if write is not None:
        command = shlex.join(["rollwise", "report", *map(str, paths), "--mapping", str(write)])
        first = "write what you know in place of each `?` in it, then" if proposal.questions else "read with it"
        say(f"wrote {write}; {first}: {command}")


def _answer(proposal: "Proposal") -> str:
    """Return a sentence on what would be read."""
    from rollwise.schema.labels import counted

    read = f"Read as {counted(proposal.rollouts, 'rollout')} and {counted(proposal.turns, 'turn')}"
    won = "" if proposal.successes is None else f", {counted(proposal.successes, 'success', 'successes')}"
    and_open = (
        f"; {counted(len(proposal.questions), 'question is', 'questions are')} open" if proposal.questions else ""
    )
    return f"{read}{won}{and_open}."


def _line(paths: list[Path], column: Any, value: Any, of: Any, proposal: "Proposal") -> str:
    """Return the line that makes a report with the questions answered; empty where nothing is asked."""
    from rollwise.cli.asking import lines

    naming = [
        word
        for option, words in (("--column", column), ("--value", value))
        for text in words or ()
        for word in (option, text)
    ]
    words = ["report", *map(str, paths), *naming, *(["--of", of] if of else [])]
    return next((line for line in lines(words, proposal.questions) if line.startswith("try: ")), "")
