"""Print or write the result of a command, and parse its options."""

import errno
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rollwise.choices import Best
from rollwise.cli.app import OUTPUT
from rollwise.cli.options import Format, Out, Overwrite, Spreadsheet, choice, optional
from rollwise.errors import ArgumentError, WriteError, either
from rollwise.files.masking import for_message

if TYPE_CHECKING:
    import polars as pl


DOCUMENTS = ("markdown", "latex", "html")
PRINTED = ("table", *DOCUMENTS)  # formats for readers; the others are for programs


@dataclass(frozen=True)
class Output:
    """Destination and form of the table of a command; whether it can be written is known before the work starts."""

    out: Out = None
    format: Format = "table"
    overwrite: Overwrite = False
    spreadsheet: Spreadsheet = False

    def check(self) -> None:
        """Check that the output can be written."""
        ready(self.out, overwrite=self.overwrite, spreadsheet=self.spreadsheet, format=self.format)

    def settings(self) -> dict[str, Any]:
        """Return what the author says of the table: nothing."""
        return {}

    def emit(self, frame: "pl.DataFrame", *, crossed: tuple[str, str] | None = None, answer: str | None = None) -> None:
        """Write the frame, or print it. A table of two `crossed` columns has their values as rows and columns.

        As JSON, `answer` is the sentence about the rows; by default it is made from the result.
        """
        from rollwise.cli.answers import answer_of, document, tell_files

        if self.out is not None:
            from rollwise.files.writers import write

            file = write(frame, self.out, overwrite=self.overwrite, spreadsheet=self.spreadsheet)
            tell_files((answer or answer_of(frame)) if self.format == "json" else "", [file], self.format)
        elif self.format in PRINTED:
            from rollwise import tables

            settings = self.settings()
            named = partial(tables.pivot, rows=crossed[0], columns=crossed[1]) if crossed else tables.table
            table = named(frame, **settings)
            if self.format != "table":
                tell(getattr(table, self.format), data=True)
            elif has_color(sys.stdout):
                from rollwise.tables.terminal import terminal_text

                typer.echo(terminal_text(table.grid, None, color=True))  # its cells are plain already
            else:
                tell(table)
        elif self.format == "csv":
            from rollwise.files.writers import defused, flat, formulas_in_words

            cells = flat(frame)
            if self.spreadsheet:
                cells, changed = defused(cells)
                say(formulas_in_words(changed))
            tell(cells.write_csv(), data=True, nl=False)
        elif self.format == "json":
            tell(document(answer or answer_of(frame), frame), data=True)
        else:
            tell(frame.write_ndjson(), data=True, nl=False)


@dataclass(frozen=True)
class Document(Output):
    """An output that may be a document for a paper or a page, with a heading of the author."""

    title: Annotated[
        str | None, optional("Heading of the table in Markdown, HTML and LaTeX.", "--title", panel=OUTPUT)
    ] = None
    label: Annotated[
        str | None, optional("What LaTeX refers to the table by, as in tab:rates.", "--label", panel=OUTPUT)
    ] = None

    def check(self) -> None:
        """Check that the output can be written, and that it has what was asked for."""
        super().check()
        for option, value in self.settings().items():
            forms = DOCUMENTS if option != "label" else ("latex",)
            if value is not None and (self.out is not None or self.format not in forms):
                where = "where the command prints" if self.out is not None else f"with --format {either(forms)}"
                raise ArgumentError(f"--{option} is for documents: give it {where}")

    def settings(self) -> dict[str, Any]:
        """Return what the author says of the table."""
        return {"title": self.title, "label": self.label}


@dataclass(frozen=True)
class SummaryDocument(Document):
    """A document whose best estimates may be bold."""

    best: Annotated[Best | None, choice("best", "Estimate of each metric in bold in documents", Best, OUTPUT)] = None

    def settings(self) -> dict[str, Any]:
        """Return what the author says of the table."""
        return super().settings() | {"best": self.best}


def ready(*files: Path | None, overwrite: bool, spreadsheet: bool = False, format: str = "csv") -> None:  # noqa: A002
    """Check that the output can be written, before the work starts."""
    places = [file for file in files if file is not None]
    if spreadsheet and not places and format != "csv":
        raise ArgumentError("--spreadsheet is for CSV: add --format csv, or --out FILE.csv")
    if not places:
        return
    from rollwise.files.writers import check_place

    for place in places:
        check_place(place, overwrite=overwrite, spreadsheet=spreadsheet)
    if len({place.absolute() for place in places}) < len(places):
        raise ArgumentError(f"{places[0]} would be written twice; name two files")


def crossed_of(by: list[str] | None, across: str | None, output: Output) -> tuple[str, str] | None:
    """Return the columns of `--by` and `--across`, the rows and the columns of a table."""
    if across is None:
        return None
    if output.out is not None or output.format not in PRINTED:
        raise ArgumentError(
            "--across arranges a printed table; leave it out to write rows, or print with --format table, markdown, latex or html"
        )
    rows = [name for name in by or () if name != across]
    if len(rows) != 1:
        raise ArgumentError(
            f"--across {across} needs one other column for the rows; give it with --by, as in --by target"
        )
    return rows[0], across


def cluster_of(names: list[str] | None) -> Any:
    """Return the value of `--cluster` in the form that the verbs take."""
    if not names:
        return "auto"
    if len(names) == 1:
        return None if names[0] == "none" else names[0]
    return tuple(names)


def pairs_of(words: list[str] | None, option: str, example: str) -> dict[str, str]:
    """Parse an option of the form NAME=VALUE."""
    pairs: dict[str, str] = {}
    for word in words or ():
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            form = "NAME=VALUE" if "=" in example else "KEY VALUE"
            text = for_message(word)  # without the secrets in it
            raise ArgumentError(f"{option} {text!r} is not of the form {form}; write it as {option} {example}")
        if name in pairs and "=" in example:
            raise ArgumentError(f"{option} says {name} twice ({pairs[name]}, {value}); say it once")
        pairs[name] = value
    return pairs


def numbers_of(words: list[str] | None, option: str, example: str) -> dict[str, float]:
    """Parse an option of the form NAME=VALUE whose values are numbers."""
    pairs = pairs_of(words, option, example)
    numbers = {}
    for name, value in pairs.items():
        try:
            numbers[name] = float(value)
        except ValueError as error:
            raise ArgumentError(
                f"{option} {name}: {value!r} is not a number; write it as {option} {example}"
            ) from error
    return numbers


def has_color(stream: Any) -> bool:
    """Return whether what a stream shows may have colors: a terminal that is not told to go without."""
    return bool(stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb")


def painted(words: str, answer: str, stream: Any) -> str:
    """Return words in the color of an answer, where the stream has colors."""
    color = {"passed": "green", "yes": "green", "failed": "red", "undecided": "yellow"}.get(answer)
    strong = True if answer in {"failed", "undecided"} else None
    return typer.style(words, fg=color, bold=strong) if color and has_color(stream) else words


def tell(text: object, *, data: bool = False, nl: bool = True, before: str = "") -> None:
    """Print on stdout. Text of a log is escaped for a terminal; data for another program are printed unchanged.

    Words of our own, `before` the text, may be painted.

    If the reader of a pipe stops reading, the rest is discarded: the command still writes its files, and its exit code is the
    same.
    """
    from rollwise.schema import labels

    # Escapes would change data for a program, but protect a terminal.
    exact = data and not sys.stdout.isatty()
    try:
        typer.echo(f"{before}{text if exact else labels.plain_lines(text)}", nl=nl)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        if sys.platform == "win32" and error.errno == errno.EINVAL:  # the error of Windows for a pipe without a reader
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return
        raise WriteError(f"stdout cannot be written ({error.strerror}); free space there") from error


def say(sentence: str, answer: str = "") -> None:
    """Print a message on stderr, in the color of an answer if it has one."""
    from rollwise.schema import labels

    if answer and has_color(sys.stderr):
        with suppress(OSError):
            sys.stderr.write(f"rollwise: {painted(labels.plain_lines(sentence), answer, sys.stderr)}\n")
    else:
        labels.say(sentence)
