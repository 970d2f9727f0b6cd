"""Options of commands are those of the verbs behind them: their names, defaults and choices."""

import inspect
import types
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin

import pytest
from typer.main import get_command

import rollwise as rw
from rollwise import report
from rollwise.cli import app

VERBS: dict[str, Any] = {
    "attempts": rw.attempts,
    "contrast": rw.contrast,
    "convert": rw.convert,
    "curve": rw.curve,
    "gate": rw.gate,
    "plan": rw.plan,
    "report": report,
    "simulate": rw.simulate,
    "summarize": rw.summarize,
}
CALLED = {"metrics": "metric", "statistics": "statistic", "targets": "target", "attacks": "attack"}
READING = {"log_format", "mapping", "errors", "fact", "column", "value", "of"}
KEEPING = {"where"}
WRITING = {"out", "format", "overwrite", "spreadsheet"}
# What a command has besides its verb: how a table is printed, what is asked of a gate's answer, another form of output.
OWN = {
    "summarize": {"across", "title", "label", "best"},
    **{name: {"title", "label"} for name in ("contrast", "rank", "curve", "attempts")},
    "gate": {"require", "file", "expect", "undecided"},
    "convert": {"to", "organization", "collection", "metric", "by", "lower_is_better", "higher_is_better"},
    "simulate": {"truth"},
}
WORDS = {True: "yes", False: "no", None: "none"}


@cache
def group() -> Any:
    """All commands, as Typer has them."""
    return get_command(app)


def options_of(command: str) -> dict[str, Any]:
    """The options of a command, as Typer has them, without those of reading and writing."""
    return {one.name: one for one in group().commands[command].params if one.name != "help"}


def choices_of(hint: Any) -> list[Any]:
    """The choices of an annotation, with None where it may be left out."""
    parts = get_args(hint) if get_origin(hint) in {Union, types.UnionType} else (hint,)
    choices = [choice for part in parts if get_origin(part) is Literal for choice in get_args(part)]
    choices += [True, False] if choices and bool in parts else []
    return choices + ([None] if choices and type(None) in parts else [])


@pytest.mark.integration
@pytest.mark.parametrize("command", VERBS)
def test_options_are_those_of_the_verb(command: str) -> None:
    """Each option is a parameter with the same default and the same choices, or one that commands have alone."""
    parameters = {CALLED.get(name, name): one for name, one in inspect.signature(VERBS[command]).parameters.items()}
    options = options_of(command)
    reading, own = READING if "log_format" in options else set(), OWN.get(command, set())
    alone = {name for name in options if name not in parameters} - reading - KEEPING - WRITING - own - {"paths"}
    assert not alone
    for name in (set(options) & set(parameters)) - WRITING - (reading - {"of"}):
        option, parameter = options[name], parameters[name]
        if option.default not in {None, ()} and parameter.default is not inspect.Parameter.empty:
            default = (
                WORDS.get(parameter.default, parameter.default)
                if choices_of(parameter.annotation)
                else parameter.default
            )
            assert option.default == default, name
        choices = choices_of(option.type_descriptor.annotation)
        if choices and choices_of(parameter.annotation):
            assert choices == [WORDS.get(one, one) for one in choices_of(parameter.annotation)], name


def test_every_command_that_reads_logs_has_the_options_of_reading() -> None:
    """None is forgotten; --of of `contrast` is the column that it compares."""
    for name in set(group().commands) - {"map", "rollout", "eval", "simulate", "info"}:
        assert set(options_of(name)) >= READING, name


def test_every_command_that_takes_a_table_has_where() -> None:
    """Those that read logs alone, and turns, have it not: rollouts would be cut."""
    taking = {name for name in group().commands if name != "info" and "where" in options_of(name)}
    assert taking == {"measure", "summarize", "contrast", "rank", "curve", "attempts", "audit", "gate", "plan"}


def test_every_output_has_a_short_name() -> None:
    """`-o` where there is `--out`."""
    outs = {
        name: options_of(name)["out"].opts for name in set(group().commands) - {"info"} if "out" in options_of(name)
    }
    assert outs
    assert all(opts == ["--out", "-o"] for opts in outs.values()), outs
