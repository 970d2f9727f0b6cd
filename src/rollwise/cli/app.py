"""The application that commands belong to, and its exit codes."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand

from rollwise import __version__

Function = TypeVar("Function", bound=Callable[..., Any])

DONE, FAILED, BAD_INPUT, UNDECIDED, INTERRUPTED = 0, 1, 2, 3, 130


class Command(TyperCommand):
    """A command that never writes over its own input."""

    def invoke(self, ctx: Any) -> Any:
        """Check where the command writes, and run it."""
        if ctx.params.get("overwrite"):  # without it, no file is overwritten
            from rollwise.cli.overwriting import refuse_own_inputs

            refuse_own_inputs(ctx.params)
        return super().invoke(ctx)


class _App(typer.Typer):
    """Commands that are `Command`s."""

    def command(
        self, name: str | None = None, *, cls: type[TyperCommand] | None = Command, **options: Any
    ) -> Callable[[Function], Function]:
        """Register a function as a command."""
        return super().command(name, cls=cls, **options)


app = _App(
    name="rollwise",
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
