"""The application that commands belong to, and its exit codes."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import partial, wraps
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from rollwise import __version__

Function = TypeVar("Function", bound=Callable[..., Any])

DONE, FAILED, BAD_INPUT, UNDECIDED, INTERRUPTED = 0, 1, 2, 3, 130


METHOD, OUTPUT, READING = "Method", "Output", "Reading of files"
"""Panels of options in a help text, below the most used options."""

LOOK, ESTIMATE, RUN, LEARN = "Read and look", "Estimate and decide", "Run", "Learn"
"""Panels of commands."""

_TYPES = {"str": "text", "int": "number", "float": "number"}


def _in_plain_words(parameters: list[Any]) -> list[Any]:
    """Name the type of each option in plain words; a flag has none."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.display_type_rich = _no_type
        elif parameter.metavar is None:
            parameter.display_type_rich = partial(_type_in_words, parameter)
    return parameters


def _no_type(ctx: Any) -> None:
    """Return an empty text beside a flag."""


def _type_in_words(parameter: Any, ctx: Any) -> str:
    name = parameter.display_type(ctx).strip("<>").removeprefix("list[").removesuffix("]").lower()
    return f"<{_TYPES.get(name, name)}>"


class Command(TyperCommand):
    """A command that never writes over its own input."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options as the help shows them."""
        return _in_plain_words(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        """Check where the command writes, and run it."""
        if ctx.params.get("overwrite"):  # without it, no file is overwritten
            from rollwise.cli.overwriting import refuse_own_inputs

            refuse_own_inputs(ctx.params)
        return super().invoke(ctx)


class Group(TyperGroup):
    """Commands in panels."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options as the help shows them."""
        return _in_plain_words(super().get_params(ctx))


def _flat(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command whose groups of options, parameters annotated with a dataclass, are options of their own.

    An option that the command has itself is not taken from a group.
    """
    signature = inspect.signature(function).parameters
    groups: dict[str, Any] = {
        name: parameter.annotation for name, parameter in signature.items() if is_dataclass(parameter.annotation)
    }
    parts = {
        name: [field for field in fields(group) if field.init and field.name not in signature]
        for name, group in groups.items()
    }
    parameters = [
        option
        for name, parameter in signature.items()
        for option in (map(_parameter, parts[name]) if name in groups else [parameter.replace(kind=_NAMED)])
    ]
    of_groups = {field.name for part in parts.values() for field in part}
    # What must be given comes first, then the command's own options, and last the options of its groups.
    parameters.sort(
        key=lambda option: (option.default is not inspect.Parameter.empty) * (1 + (option.name in of_groups))
    )

    @wraps(function)
    def command(**options: Any) -> Any:
        groups_filled = {
            name: groups[name](**{field.name: options.pop(field.name) for field in part})
            for name, part in parts.items()
        }
        return function(**options, **groups_filled)

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what Typer reads
    command.__annotations__ = {option.name: option.annotation for option in parameters}
    return command


_NAMED = inspect.Parameter.KEYWORD_ONLY


def _parameter(field: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if field.default is MISSING else field.default
    return inspect.Parameter(field.name, _NAMED, default=default, annotation=field.type)


class _App(typer.Typer):
    """Commands that are `Command`s, and may take their options in groups."""

    def command(
        self,
        name: str | None = None,
        *,
        cls: type[TyperCommand] | None = Command,
        rich_help_panel: str | None = LOOK,
        **options: Any,
    ) -> Callable[[Function], Function]:
        """Register a function as a command of a panel, and return it as it is."""
        register = super().command(name, cls=cls, rich_help_panel=rich_help_panel, **options)

        def registered(function: Function) -> Function:
            register(_flat(function))
            return function

        return registered


app = _App(
    name="rollwise",
    cls=Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"rollwise {__version__}")
        raise typer.Exit


@app.callback()
def rollwise(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Analyze red-team and evaluation rollouts: read logs, compute metrics, estimate with intervals, report."""
