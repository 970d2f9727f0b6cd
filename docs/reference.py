"""The pages of the reference, written from the code: columns, formats, commands, one page per namespace and one per function."""

import io
import json
import os
import re
import runpy
import sys
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from importlib import import_module
from inspect import Parameter, cleandoc, isclass, isfunction, signature
from pathlib import Path
from types import FunctionType, ModuleType
from unittest.mock import patch

import rollwise as rw
from rollwise.readers.registry import FORMATS
from rollwise.schema import Schema

DOCS, ROOT = Path(__file__).parent, Path(__file__).parents[1]
PRODUCED = ROOT / "tests" / "readers" / "produced"  # logs of tools, with the tools' own figures
NAMESPACES = tuple(name for name in rw.__all__ if isinstance(getattr(rw, name), ModuleType))
IMPORTED = ("compat.aisteer", "compat.astra", "compat.nat", "testing")  # imported by their own names
COMPARED = """\
Each of these tools was installed in the version named here and wrote logs with mock models: several targets and goals,
repeats, errors, limits, tools. The figures of the table had to equal those of the tool's own summary or API, on the date named.
`poe producers` repeats this with the versions of the day.
"""
EXHIBITS = runpy.run_path(str(DOCS / "exhibits.py"))
Shown = dict[str, tuple[str, str, str, str]]  # pictures of the gallery: title, code, function, alternative text
WIDTH = 76  # letters of a signature on one line


def columns() -> str:
    """Return the page of every column of every frame."""
    schemas = {name: schema for name in rw.schema.__all__ if isinstance(schema := getattr(rw.schema, name), Schema)}
    parts = [
        "# Columns\n\nEvery frame is a plain Polars frame. These are its columns; columns of your own are kept beside them.\n"
    ]
    for name, schema in schemas.items():
        key = ", ".join(f"`{column}`" for column in schema.key)
        parts.append(f"## {name}\n\nOne row is {schema.row}. Rows are identified by {key}.\n")
        rows = [f"| `{column.name}` | {_dtype(column.dtype)} | {_cell(column.about)} |" for column in schema.columns]
        parts.append("\n".join(["| column | dtype | meaning |", "|---|---|---|", *rows, ""]))
    return "\n".join(parts)


def _dtype(dtype: object) -> str:
    """Return a dtype in one short phrase: of an Enum its categories, of a nested one its outer kind."""
    text = str(dtype)
    if (categories := getattr(dtype, "categories", None)) is not None:
        return "Enum: " + ", ".join(f"`{category}`" for category in categories)
    return f"`{text}`" if len(text) <= 40 else f"`{text.partition('(')[0]}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def formats() -> str:
    """Return the page of every format that is read, with what is kept and what is lost."""
    introduction = (
        "# Formats\n\nFormats are recognized by content. `rollwise read LOGS --log-format NAME` names one; "
        "an installed package can add others ([how](../how-to/write-a-reader.md)).\n"
    )
    parts = [
        introduction,
        "| name | what it is | files |\n|---|---|---|",
        *(f"| [`{form.name}`](#{form.name}) | {_cell(form.about)} | {', '.join(form.suffixes)} |" for form in FORMATS),
        "",
        "## Compared with the tools\n",
        COMPARED,
        "| tool | version | date | format | figures, all equal | kept | lost |\n|---|---|---|---|---|---|---|",
        *(_comparison(path) for path in sorted(PRODUCED.glob("*/figures.json"))),
        "",
    ]
    for form in FORMATS:
        module = sys.modules[form.read.__module__].__doc__ or ""
        summary = module if ".formats." in form.read.__module__ else ""
        parts += [f"## {form.name}\n", summary, "", "```text", _plain(form.read.__doc__ or ""), "```", ""]
    return "\n".join(parts)


def _comparison(path: Path) -> str:
    """Return the row of one tool: what was compared, and what its logs have and the table has not."""
    facts = json.loads(path.read_text(encoding="utf-8"))
    names = [name for group in facts["figures"] for name in group if name != "where"]
    plain = [re.sub(r"^(sum|count) of score_.*", "scores of each scorer", name) for name in names]
    kept = ", ".join(dict.fromkeys(re.sub("^mean verdict in .*", "verdicts of evaluators", name) for name in plain))
    form = f"[`{facts['format']}`](#{facts['format']})"
    cells = (facts["tool"], facts["version"], facts["date"], form, len(names), kept, "; ".join(facts["lost"]))
    return f"| {' | '.join(_cell(str(cell)) for cell in cells)} |"


def _plain(doc: str) -> str:
    """Return a docstring without its examples and indentation."""
    return re.split(r"\n\s*Examples\n", cleandoc(doc))[0].strip()


def commands() -> str:
    """Return the page of every command: what `--help` prints."""
    from typer.main import get_command

    from rollwise.cli import app, run

    group = get_command(app)
    paths: list[list[str]] = [[]]
    for name, command in sorted(group.commands.items()):
        paths += [[name, inner] for inner in command.commands] if hasattr(command, "commands") else [[name]]
    parts = ["# Command line\n\n`rollwise COMMAND --help` prints the same.\n"]
    with patch.dict(os.environ, {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}):
        for path in paths:
            with redirect_stdout(io.StringIO()) as screen, suppress(SystemExit):
                run([*path, "--help"])
            parts += [f"## rollwise {' '.join(path)}".rstrip(), "", "```text", screen.getvalue().strip(), "```", ""]
    return "\n".join(parts)


TABLES = {"columns": columns, "formats": formats, "commands": commands}


def modules() -> dict[str, ModuleType]:
    """Return `rollwise` and each of its namespaces, by the name of its page."""
    return {"rollwise": rw} | {name: import_module(f"rollwise.{name}") for name in (*NAMESPACES, *IMPORTED)}


def full_name(place: str, name: str) -> str:
    """Return the name of a function as it is imported: `rollwise.plots.forest`."""
    return f"rollwise.{name}" if place == "rollwise" else f"rollwise.{place}.{name}"


def public(module: ModuleType, kind: Callable[[object], bool]) -> dict[str, object]:
    """Return the functions, or the classes, that a module makes public."""
    # Constants are described where they are used: schemas on the page of columns, sets of metrics in their family.
    names = getattr(module, "__all__", None) or [item for item in vars(module) if item.endswith("Error")]
    return {name: getattr(module, name) for name in names if kind(getattr(module, name))}


def functions() -> dict[str, dict[str, FunctionType]]:
    """Return the public functions of each namespace; one of two namespaces belongs to the first."""
    return {place: public(module, isfunction) for place, module in modules().items()}  # type: ignore[misc]


def first_sentence(documented: object) -> str:
    """Return the first paragraph of a docstring on one line."""
    return " ".join(cleandoc(documented.__doc__ or "").split("\n\n")[0].split())


def namespace(place: str, pictures: dict[str, str]) -> str:
    """Return the page of a namespace: a line or a picture for each function, and its classes with their docstrings."""
    module = modules()[place]
    parts = [f"# {'rollwise' if place == 'rollwise' else f'rollwise.{place}'}\n"]
    parts.append((module.__doc__ or "").strip().split("\n\n")[0] + "\n")
    shown = public(module, isfunction)
    if drawn := {name: pictures[name] for name in shown if place == "plots" and name in pictures}:
        parts.append('<div class="grid cards" markdown>\n')
        parts += [f"-   [`{name}`]({place}/{name}.md)\n\n    {picture}\n" for name, picture in drawn.items()]
        parts.append("</div>\n")
    if shown:
        parts += [*(f"- [`{name}`]({place}/{name}.md): {first_sentence(item)}" for name, item in shown.items()), ""]
    parts += [f"::: {full_name(place, name)}\n" for name in public(module, isclass)]
    return "\n".join(parts)


def wrapped(function: FunctionType, name: str) -> str:
    """Return a call with the defaults, a parameter on each line where one line is too narrow."""
    asked = signature(function)
    bare = [parameter.replace(annotation=Parameter.empty) for parameter in asked.parameters.values()]
    text = f"{name}{asked.replace(parameters=bare, return_annotation=asked.empty)}".replace("'", '"')
    if len(text) <= WIDTH:
        return text
    lines, starred = [], False
    for parameter in bare:
        if parameter.kind is Parameter.VAR_POSITIONAL:
            starred = True
        elif parameter.kind is Parameter.KEYWORD_ONLY and not starred:
            lines, starred = [*lines, "*"], True
        lines.append(str(parameter).replace("'", '"'))
    return "\n".join([f"{name}(", *(f"    {line}," for line in lines), ")"])


def function_page(place: str, name: str, function: FunctionType, pictures: list[str], beside: list[str]) -> str:
    """Return the page of one function: a picture, its signature, its docstring, more pictures, and what to see also."""
    full = full_name(place, name)
    called = "rw." + full.removeprefix("rollwise.") if full.count(".") == 1 or place in NAMESPACES else full
    parts = [f"# {full}\n", *pictures[:1], f"```python\n{wrapped(function, called)}\n```\n", f"::: {full}"]
    parts += ["    options:", "      show_root_heading: false", "      heading_level: 2\n"]
    if pictures[1:]:
        parts += ["## More pictures\n", *pictures[1:]]
    if beside:
        parts += ["## See also\n", *(f"- {line}" for line in beside), ""]
    return "\n".join(parts)


def mentioned(text: str, place: str, known: dict[str, dict[str, FunctionType]]) -> set[tuple[str, str]]:
    """Return the functions that a docstring names in backticks: those of its own namespace first, then the verbs."""
    found = set()
    for word in re.findall(r"`(?:rw\.|rollwise\.)?([a-z_.]+)(?:\([^`]*\))?`", text):
        home, _, name = word.rpartition(".")
        places = (home,) if home else (place, "rollwise")
        found |= {(next((each for each in places if name in known.get(each, {})), ""), name)}
    return {pair for pair in found if pair[0]}


def related(written: dict[str, tuple[str, str]]) -> dict[tuple[str, str], list[str]]:
    """Return what to see beside each function: functions that name each other, those of the same name, and written pages.

    The pages are given by their place, each with its title and its text.
    """
    known = functions()
    every = {(place, name): function for place, names in known.items() for name, function in names.items()}
    linked: dict[tuple[str, str], set[tuple[str, str]]] = {pair: set() for pair in every}
    for (place, name), function in every.items():
        text = cleandoc(function.__doc__ or "")
        own = set(signature(function).parameters)
        for other in mentioned(text, place, known):
            if other[1] not in own and other != (place, name):
                linked[place, name].add(other)
                linked[other].add((place, name))
        same = [(each, name) for each in ("rollwise", "plots", "comparisons", "judges") if each != place]
        linked[place, name] |= {
            pair for pair in same if pair in every and place in {"rollwise", "plots", "comparisons", "judges"}
        }
    return {pair: [*_functions(pair[0], others), *_pages(pair, written)] for pair, others in linked.items()}


def _functions(place: str, others: set[tuple[str, str]]) -> list[str]:
    """Return a line for each function, those of the own namespace first, at most twelve."""
    ordered = sorted(others, key=lambda pair: (pair[0] != place, pair[0] != "rollwise", pair))[:12]
    known = functions()
    lines = []
    for home, name in ordered:
        label = name if home == "rollwise" else f"{home}.{name}"
        lines.append(f"[`{label}`](../{home}/{name}.md): {first_sentence(known[home][name])}")
    return lines


def _pages(pair: tuple[str, str], written: dict[str, tuple[str, str]]) -> list[str]:
    """Return a line for each written page on which the function is called."""
    place, name = pair
    prefix = {"rollwise": r"\brw", "metrics": r"\bm"}.get(place, rf"\b{re.escape(place)}")
    command = rf"|\brollwise {name} " if place == "rollwise" else ""
    called = re.compile(rf"{prefix}\.{name}\({command}")
    return [f"[{title}](../../{page})" for page, (title, text) in written.items() if called.search(text)]


def namespaces(shown: Shown | None = None) -> dict[str, str]:
    """Return the text of the page of `rollwise` and of each namespace, by its name."""
    pictures = {name: drawn[0] for name, drawn in EXHIBITS["of_functions"](shown or {}, "", lines=False).items()}
    return {place: namespace(place, pictures) for place in modules()}


def pages(shown: Shown | None = None, written: dict[str, tuple[str, str]] | None = None) -> dict[str, str]:
    """Return the text of each page, by its place without an ending, with the pictures of the gallery and the written pages."""
    pictures, beside = EXHIBITS["of_functions"](shown or {}, "../", lines=True), related(written or {})
    each = {}
    for place, names in functions().items():
        for name, function in names.items():
            drawn = pictures.get(name, []) if place == "plots" else []
            each[f"{place}/{name}"] = function_page(place, name, function, drawn, beside[place, name])
    return {name: table() for name, table in TABLES.items()} | namespaces(shown) | each
