"""Arguments and options that several commands share, with their help texts."""

import ast
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer

from rollwise.choices import Errors, Unjudged
from rollwise.cli.app import METHOD, OUTPUT, READING, app
from rollwise.errors import PAIR, MetricError, either

Logs = Annotated[
    list[Path], typer.Argument(help="Log files or folders, in any mix of supported formats.", show_default=False)
]
Table = Annotated[
    list[Path],
    typer.Argument(help="Rollout tables (.parquet, .csv, ...), or logs to read and measure first.", show_default=False),
]


def optional(text: str, *names: str, panel: str | None = None, metavar: str | None = None) -> Any:
    """Return an option without a default, of which the help shows none."""
    return typer.Option(*names, help=text, show_default=False, rich_help_panel=panel, metavar=metavar)


def choice(name: str, text: str, choices: object, panel: str | None = METHOD) -> Any:
    """Return an option whose help ends with its choices, too many for a narrow column."""
    about = f"{text}: {either(get_args(choices))}."
    return typer.Option(f"--{name}", metavar="<name>", help=about, rich_help_panel=panel)


By = Annotated[list[str] | None, optional("Column to group by; repeat for several.", "--by")]


def metric_names(incomplete: str) -> list[tuple[str, str]]:
    """Return metrics that match the prefix and need no argument, with descriptions, for shell completion."""
    from rollwise.metrics import catalog

    matches = []
    for about in catalog.everything():
        if about.name.startswith(incomplete):
            with suppress(MetricError):
                catalog.expression(about.name)
                matches.append((about.name, about.doc.strip().partition("\n")[0]))
    return matches


def _once(names: list[str] | None) -> list[str] | None:
    """Remove repeated names: a repeat would add a row and count twice in a family of p-values."""
    return names and list(dict.fromkeys(names))


Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        callback=_once,
        help="Metric by name, such as success_within_3; repeat for several.",
        show_default=False,
        autocompletion=metric_names,
    ),
]
ClusterBy = Annotated[
    list[str] | None,
    optional(
        "Column whose equal values mean correlated rollouts; two crossed, or none. Default: goal or task.",
        "--cluster",
        panel=METHOD,
    ),
]


def _coverage(level: float) -> float:
    """Validate the confidence level before any log is read."""
    if not 0 < level < 1:
        raise typer.BadParameter(f"{level:g} is not a valid level; give a number between 0 and 1, such as 0.95")
    return level


UnjudgedOption = Annotated[
    Unjudged,
    typer.Option(
        "--unjudged",
        metavar="<name>",
        help="Rollouts without a verdict, in whole or in part. bounds: the interval covers both outcomes; censor: it assumes "
        "that turns are unjudged at random; drop: leave them out; sample: those without any verdict were not drawn for judging.",
        rich_help_panel=METHOD,
    ),
]
Level = Annotated[
    float,
    typer.Option("--level", callback=_coverage, help="Confidence level of the intervals.", rich_help_panel=METHOD),
]
Seed = Annotated[int, typer.Option("--seed", help="Random seed.", rich_help_panel=METHOD)]
Out = Annotated[
    Path | None, optional("Output file; the suffix selects the format. Default: print.", "--out", "-o", panel=OUTPUT)
]
Printed = Literal["table", "markdown", "latex", "html", "csv", "json", "jsonl"]
Format = Annotated[
    Printed,
    choice("format", "Format of the printed output", Printed, OUTPUT),
]
LogFormat = Annotated[
    str | None, optional("Read the logs as this format instead of recognizing them.", "--log-format", panel=READING)
]
MappingFile = Annotated[
    Path | None,
    optional(
        "Read files of your own as this file (YAML or JSON) says; not with --log-format.", "--mapping", panel=READING
    ),
]
ErrorsOption = Annotated[
    Errors,
    typer.Option(
        "--errors", help="Unreadable records: raise = stop, collect = skip and list them.", rich_help_panel=READING
    ),
]
Facts = Annotated[
    list[str] | None, optional("Set a missing field for all rollouts, such as target=gpt-4o.", "--fact", panel=READING)
]
Columns = Annotated[
    list[str] | None, optional("Rename a column, ROLLWISE_NAME=YOUR_NAME; repeat.", "--column", panel=READING)
]
Values = Annotated[
    list[str] | None,
    optional(
        (
            "Explain a label, as in succeeded:JAILBREAK=true; or say from which score on a turn succeeded, succeeded:7, or up "
            "to which, 'succeeded:<=2'; or who is the target of a dialogue, role:Teacher=assistant. Repeat."
        ),
        "--value",
        panel=READING,
    ),
]
Of = Annotated[
    str | None,
    optional(
        "Whose success a column is, where a file does not say: attack or task.",
        "--of",
        panel=READING,
        metavar="attack|task",
    ),
]
Where = Annotated[
    list[str] | None,
    optional(
        (
            "Keep only rollouts with this value, or with != < <= > >=. Repeat: values of one column are alternatives, "
            "conditions on several columns must all hold."
        ),
        "--where",
        metavar="<column=value>",
    ),
]
Spreadsheet = Annotated[
    bool,
    typer.Option(
        "--spreadsheet",
        help="In CSV, put an apostrophe before text that a spreadsheet would run as a formula, and say where.",
        rich_help_panel=OUTPUT,
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Overwrite existing output.", rich_help_panel=OUTPUT)]

_FLAGS = {"overwrite", "force", "spreadsheet"}
_NAMES = (
    "adjust|against_self|attempts|axis|band|baseline|below|by|cluster|correlation|difference|errors|force|format|goals|"
    "higher_is_better|icc|k|keep|kind|level|lower_is_better|mapping|method|metrics?|names|of|out|overwrite|paired|power|rate|seed|"
    "spreadsheet|statistics?|stopped|unjudged|weighting"
)
_CALLED = {
    "against_self": "against-self",
    "format": "log-format",
    "higher_is_better": "higher-is-better",
    "lower_is_better": "lower-is-better",
    "metrics": "metric",
    "names": "column or --value",
    "statistics": "statistic",
}
_WORDS = {"True": "yes", "False": "no", "None": "none"}
# What only Python needs: to unpack a pair, to keep a column, to join two tables, and options of an object store.
_OF_PYTHON = re.compile(
    rf"{re.escape(PAIR)}| \(with keep=\"[^\"]*\" in `rw\.measure`\)|, as in `rw\.read\([^`]*`, and join the tables by `pl\.concat`"
    r"| or `storage_options`|, or `frame\.with_columns\(\.\.\.\)` it into what it should be"
)
# A function of Python alone, and a verb that is a command as well.
_FUNCTION = re.compile(r"`rw\.([a-z_.]+)(\([^`]*\))?`")
_READ_PROMPTS = re.compile(r"open it with `rw\.rollout\.read_prompts`")
_ANSWERED = "if answers or verdicts are in it, name their column (--column response=NAME or --column succeeded=NAME)"
_NAMED = re.compile(r"names=(?=\{)")
# An argument with a value in quotes, with a bare value, or with nothing, as in "choose with out="; never a part of a path.
_ARGUMENT = re.compile(rf"""(?<![\w/.])({_NAMES})=(?:(["'])(.*?)\2|(-?\w+(?:\.\w+)?)(?![\w/(\[])|(?=[\s,;]|$))""")


def in_options(sentence: str) -> str:
    """Rewrite the Python arguments in an error message as command-line options."""

    def option(match: re.Match[str]) -> str:
        name, value = match[1], match[3] or match[4] or ""
        text = "" if name in _FLAGS or not value else _WORDS.get(value, shlex.quote(value))
        return f"--{_CALLED.get(name, name)} {text}".rstrip()

    words = _FUNCTION.sub(_in_commands, _READ_PROMPTS.sub(_ANSWERED, _OF_PYTHON.sub("", sentence)))
    return _ARGUMENT.sub(option, _names_in_options(words)).replace(
        "allow it with overwrite", "allow it with --overwrite"
    )


def _in_commands(function: re.Match[str]) -> str:
    """Return the command that a function of Python is, or say that it is one of Python."""
    name, arguments = function[1], function[2]
    commands = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    return f"`rollwise {name}`" if name in commands and arguments is None else f"{function[0]} in Python"


def _names_in_options(sentence: str) -> str:
    """Rewrite each `names={...}` in a sentence as options; one that cannot be read stays as it is."""
    parts, start = [], 0
    for match in _NAMED.finditer(sentence):
        literal = _literal(sentence, match.end())
        if match.start() >= start and literal is not None:
            names, end = literal
            options = " ".join(f"{option} {shlex.quote(value)}" for option, value in name_in_options(names))
            parts += [sentence[start : match.start()], options]
            start = end
    return "".join([*parts, sentence[start:]])


def _literal(sentence: str, start: int) -> tuple[dict[str, Any], int] | None:
    """Return the dict that begins there, and where it ends; None where it is not one."""
    # Braces within texts make it longer, so the first end that can be read is its end.
    for end in (place + 1 for place in range(start, len(sentence)) if sentence[place] == "}"):
        with suppress(ValueError, SyntaxError):
            value = ast.literal_eval(sentence[start:end])
            return (value, end) if isinstance(value, dict) else None
    return None


def name_in_options(names: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Iterate over the options, each with its value, that say the same as `names=`."""
    for name, column in names.items():
        if name == "of":
            yield "--of", str(column)
        elif isinstance(column, int | float):
            yield "--value", f"{name}:{column:g}"
        elif name == "succeeded" and column == "?" and "score" in names:
            yield "--value", f"{name}:?"
        elif name == "succeeded" and isinstance(column, str) and column.startswith(("<", ">")):
            yield "--value", f"{name}:{column}"
        else:
            source, values = column if isinstance(column, tuple) else (column, {})
            if source != name or not values:
                yield "--column", f"{name}={source}"
            for label, value in values.items():
                meaning = {True: "true", False: "false", None: "null"}.get(value, value)
                yield "--value", f"{name}:{label}={meaning}"
