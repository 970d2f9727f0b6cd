"""Commands that list components. Components are imported inside, so that `--help` starts at once."""

import inspect
import re
import shutil
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import rollwise
from rollwise import judges as scoring
from rollwise.cli.answers import FileFormat, document
from rollwise.cli.app import LEARN, Command, Group, app
from rollwise.cli.options import optional
from rollwise.cli.tables import say, tell
from rollwise.errors import ArgumentError, counted, meant

_OPTIONS = "Options:\n"
_LONGEST = 60  # characters of a default
_AS_IT_IS = re.compile(r"^(\s|==|--|>>>|- |\|)", re.MULTILINE)  # a part of a description, other than a paragraph
_CUSTOM = {  # how to use your own
    "scorer": "`rw.score(turns, ...)` takes what judges by a model, and any function of a text as your own; the others are "
    "called with lists of responses, as is a subclass of `ResponseMetric` of your own",
    "sampler": "your own: `use: package.module:name` under `sampler:` in the file of `rollwise rollout`, and the same object "
    "in `FrameEvaluator(...)`: a class with `rollout(seed)` or `eval_rollout(seed)`, or a function of a seed",
}

info = typer.Typer(
    cls=Group,
    help="List available readers, metrics, evaluators, scorers and samplers; print the guide for coding agents.",
    no_args_is_help=True,
)
app.add_typer(info, name="info", rich_help_panel=LEARN)


@info.callback()
def about() -> None:
    """List readers, metrics, evaluators, scorers and samplers; print the guide for coding agents."""


@info.command(cls=Command)
def components(
    kind: Annotated[
        Literal["reader", "metric", "evaluator", "scorer", "sampler"], optional("Kind of component.", "--type", "-t")
    ],
    name: Annotated[str | None, optional("Component to describe in full.", "--name")] = None,
    plugin: Annotated[
        list[str] | None, optional("Plug-in to load first: a module, or a .py file; repeat.", "--plugin")
    ] = None,
    format: FileFormat = "text",  # noqa: A002  # the name of the option
) -> None:
    """List components, one per line, or describe one of them.

    Example: rollwise info components -t metric --name attack_success
    """
    listing = {"reader": _readers, "metric": _metrics, "scorer": _scorers, "sampler": _samplers}
    descriptions = _evaluators(plugin or []) if kind == "evaluator" else listing[kind]()
    if name is not None and name not in descriptions:
        raise ArgumentError(f"unknown {kind} {name!r}; {meant(name, descriptions)}")
    if format == "json":
        import polars as pl

        chosen = sorted(descriptions) if name is None else [name]
        rows = pl.DataFrame({"name": chosen, "description": [descriptions[title] for title in chosen]})
        tell(document(f"There {'is' if len(chosen) == 1 else 'are'} {counted(len(chosen), kind)}.", rows), data=True)
    elif name is None:
        width = max(map(len, descriptions))
        for component, description in sorted(descriptions.items()):
            summary, _, details = description.partition("\n")
            tell(f"{component:<{width}}  {summary}")
            if kind not in {"reader", "metric"}:
                for line in details.partition(_OPTIONS)[2].splitlines():
                    tell(f"{'':<{width}}  {line}")
        if kind in _CUSTOM:
            say(_CUSTOM[kind])
    else:
        tell(_folded(f"{name}: {descriptions[name]}"))


@info.command(cls=Command)
def skill() -> None:
    """Print the guide for coding agents: which command answers which question, and how to quote its numbers.

    Example: rollwise info skill > SKILL.md
    """
    path = Path(rollwise.__file__).parent / ".agents" / "skills" / "rollwise" / "SKILL.md"
    tell(path.read_text(encoding="utf-8").rstrip())


def _folded(text: str) -> str:
    """Return a description whose paragraphs fit the terminal, where there is one; tables and examples stay as they are."""
    if not sys.stdout.isatty():
        return text
    width = shutil.get_terminal_size().columns
    return "\n\n".join(part if _AS_IT_IS.search(part) else textwrap.fill(part, width) for part in text.split("\n\n"))


def _readers() -> dict[str, str]:
    from rollwise.readers.registry import formats

    return {form.name: f"{form.about}\n\n{inspect.cleandoc(form.read.__doc__ or '')}" for form in formats()}


def _metrics() -> dict[str, str]:
    from rollwise.metrics import catalog

    return {about.name: inspect.cleandoc(about.doc) for about in catalog.everything()}


def _evaluators(places: list[str]) -> dict[str, str]:
    from rollwise.evaluation import plugins

    plugins.load(places, Path.cwd())
    return plugins.listed()


def _scorers() -> dict[str, str]:
    named = {name: getattr(scoring, name) for name in scoring.__all__}
    kinds = {
        name: kind
        for name, kind in named.items()
        if isinstance(kind, type) and issubclass(kind, scoring.ResponseMetric) and not inspect.isabstract(kind)
    }
    return _of_classes(kinds)


def _samplers() -> dict[str, str]:
    from rollwise.rollout.config import SAMPLERS

    return _of_classes(SAMPLERS)


def _of_classes(kinds: Mapping[str, type]) -> dict[str, str]:
    """Return the description of each class and the options of its constructor with their defaults."""
    names = {kind: name for name, kind in kinds.items()}
    descriptions = {}
    for name, kind in kinds.items():
        parameters = inspect.signature(kind).parameters.values()
        lines = [
            _option(option, _about(kind, option.name))
            for option in parameters
            if option.kind not in {option.VAR_POSITIONAL, option.VAR_KEYWORD}
        ]
        # `**options` of a class go to the next listed class that it inherits from.
        parent = next((names[base] for base in kind.__mro__[1:] if base in names), None)
        if parent is not None and any(option.kind is option.VAR_KEYWORD for option in parameters):
            lines.append(f"  and all other options of {parent}")
        options = "\n".join(["", "", _OPTIONS.strip(), *lines]) if lines else ""
        descriptions[name] = f"{inspect.getdoc(kind)}{options}"
    return descriptions


def _option(option: inspect.Parameter, doc: str) -> str:
    """Describe an option in one line: its name, its default, and what it is."""
    default: Any = option.default
    about = f": {doc}" if doc else ""
    if default is option.empty:
        return f"  {option.name}, required{about}"
    text = default.__name__ if inspect.isfunction(default) else repr(default)
    return f"  {option.name} = {textwrap.shorten(text, _LONGEST, placeholder='...')}{about}"


def _about(kind: type, option: str) -> str:
    """Return the first sentence on a parameter in the docstring of the class, or of a class that it inherits from."""
    for base in kind.__mro__:
        section = inspect.cleandoc(vars(base).get("__doc__") or "").partition("Parameters\n----------\n")[2]
        section = re.split(r"^\w+\n-+$", section, maxsplit=1, flags=re.MULTILINE)[0]
        for names, text in re.findall(r"^(\S.*)\n((?:    .*(?:\n|\Z))+)", section, flags=re.MULTILINE):
            if option in names.split(", "):
                return re.split(r"(?<=[^.])\.(?:\s|$)", " ".join(text.split()), maxsplit=1)[0]
    return ""
