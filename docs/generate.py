"""Write the pages of the reference from the code: columns, formats, commands, and one page per namespace.

    python docs/generate.py             before the site is built
    python docs/generate.py --copy      after it: copies each page as Markdown into the site
    python docs/generate.py --citation  writes `CITATION.cff`, for a release or a new address of the repository

`docs/build/`, which is not in version control, is a copy of `docs/pages/` with the pages of the reference written from the code;
in `docs/pages/reference/` they only say where to look in a clone. Beside the pages are `llms.txt`, an index of them for language
models, and `llms-full.txt`, the text of all pages that people wrote (https://llmstxt.org). `docs/site.toml` is `zensical.toml` with
the addresses of the site and of the repository.
"""

import contextlib
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from inspect import cleandoc, isclass, isfunction
from pathlib import Path
from types import ModuleType
from typing import Any

import rollwise as rw
from rollwise.readers.registry import FORMATS
from rollwise.schema import Schema

DOCS, ROOT = Path(__file__).parent, Path(__file__).parents[1]
BUILD, SITE = DOCS / "build", DOCS / "site"
PAGES = BUILD / "reference"
ADDRESS = runpy.run_path(str(DOCS / "address.py"))
PICTURE = re.compile(
    r"^!\[(.+)\]\(\.\./\.\./data/jailbreak_rates\.svg\)$", re.MULTILINE
)  # which the gallery draws for both schemes
INK, GROUND = "#dfe1e6", "#0b0c0f"  # letters and page of the site's dark scheme
DARK = dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK)
GROUNDS = dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), GROUND)
STYLES: dict[str, dict[str, str]] = {"light": {}, "dark": DARK | GROUNDS}  # settings of Matplotlib for each scheme
PRODUCED = ROOT / "tests" / "readers" / "produced"  # logs of tools, with the tools' own figures
NAMESPACES = tuple(name for name in rw.__all__ if isinstance(getattr(rw, name), ModuleType))
IMPORTED = ("compat.aisteer", "compat.astra", "compat.nat", "testing")  # imported by their own names
COMPARED = """\
Each of these tools was installed in the version named here and wrote logs with mock models: several targets and goals,
repeats, errors, limits, tools. The figures of the table had to equal those of the tool's own summary or API, on the date named.
`poe producers` repeats this with the versions of the day.
"""


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

    import rollwise.cli  # noqa: F401  # registers the commands
    from rollwise.cli.app import app

    parts = ["# Command line\n\n`rollwise COMMAND --help` prints the same.\n"]
    group = get_command(app)
    paths = [[]]
    for name, command in sorted(group.commands.items()):
        paths += [[name, inner] for inner in command.commands] if hasattr(command, "commands") else [[name]]
    environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    for path in paths:
        done = subprocess.run(
            [sys.executable, "-m", "rollwise", *path, "--help"],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        parts += [f"## rollwise {' '.join(path)}".rstrip(), "", "```text", done.stdout.strip(), "```", ""]
    return "\n".join(parts)


def namespace(name: str, module: ModuleType) -> str:
    """Return the page of a namespace: each public name with its docstring."""
    names = getattr(module, "__all__", None) or [item for item in vars(module) if item.endswith("Error")]
    # Constants are described where they are used: schemas on the page of columns, sets of metrics in their family.
    public = [item for item in names if isfunction(getattr(module, item)) or isclass(getattr(module, item))]
    title = "rollwise" if module is rw else f"rollwise.{name}"
    summary = (module.__doc__ or "").strip().split("\n\n")[0]
    return "\n".join([f"# {title}\n", summary, "", *(f"::: {title}.{item}\n" for item in public)])


def gallery(folder: Path) -> str:
    """Draw every plot of the gallery into the folder, and return its page."""
    import matplotlib as mpl

    entries = runpy.run_path(str(DOCS / "gallery.py"))
    setup, names = entries["SETUP"], {}
    exec(setup, names)  # noqa: S102  # the gallery is code
    parts = [f"# Gallery\n\nEvery picture is drawn by the lines below it, after these:\n\n```python\n{setup}```\n"]
    for title, (name, code) in entries["PLOTS"].items():
        for scheme, style in STYLES.items():
            with contextlib.chdir(ROOT), mpl.rc_context(style):
                exec(code, names)  # noqa: S102
                plot: Any = names["plot"]
                plot.save(folder / f"{name}.{scheme}.svg", overwrite=True)
        pictures = " ".join(f"![{plot.alt}]({name}.{scheme}.svg#only-{scheme}){{ .plot }}" for scheme in STYLES)
        parts.append(f"## {title}\n\n{pictures}\n\n```python\n{code}```\n")
    return "\n".join(parts)


TABLES = {"columns": columns, "formats": formats, "commands": commands}


def namespaces() -> dict[str, str]:
    """Return the text of the page of `rollwise` and of each namespace, by its name."""
    modules = {name: import_module(f"rollwise.{name}") for name in (*NAMESPACES, *IMPORTED)}
    return {name: namespace(name, module) for name, module in {"rollwise": rw, **modules}.items()}


def pages() -> dict[str, str]:
    """Return the text of each page, by its name."""
    return {name: table() for name, table in TABLES.items()} | namespaces()


def by_navigation() -> dict[str, str]:
    """Return the title of each page, by its path, in the order of the navigation."""
    navigation = tomllib.loads((DOCS / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
    titles: dict[str, str] = {}

    def collect(entries: list[dict[str, Any]]) -> None:
        for entry in entries:
            for title, place in entry.items():
                if isinstance(place, str):
                    titles[place] = title
                else:
                    collect(place)

    collect(navigation)
    return titles


def index_for_models() -> str:
    """Return `llms.txt`: what the package is, and a link to each page with its first sentence."""
    lines = ["# rollwise", ""]
    for place, title in by_navigation().items():
        paragraphs = re.split(r"\n\s*\n", (BUILD / place).read_text(encoding="utf-8"))
        texts = [" ".join(text.split()) for text in paragraphs if re.match(r"[A-Z*]|`(?!``)", text.strip())]
        sentence = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", re.split(r"(?<=[.?!])\s", texts[0])[0] if texts else title)
        lines += [f"> {sentence.strip('*')}", ""] if place == "index.md" else [f"- [{title}]({place}): {sentence}"]
    return "\n".join([*lines, "", "The text of all pages that people wrote: [llms-full.txt](llms-full.txt)", ""])


def text_for_models() -> str:
    """Return `llms-full.txt`: the pages that people wrote, one after the other, and the guide for coding agents."""
    guide = Path(rw.__file__).parent / ".agents" / "skills" / "rollwise" / "SKILL.md"
    pages_by_people = [BUILD / place for place in by_navigation() if not place.startswith("reference/")]
    return "\n\n".join(path.read_text(encoding="utf-8").strip() for path in [*pages_by_people, guide]) + "\n"


def main() -> None:
    """Write all pages, copy them into the site, or write the citation."""
    if "--citation" in sys.argv[1:]:
        (ROOT / "CITATION.cff").write_text(ADDRESS["citation"](ROOT), encoding="utf-8")
        return
    if "--copy" in sys.argv[1:]:
        for page in sorted(BUILD.rglob("*.md")):
            shutil.copyfile(page, SITE / page.relative_to(BUILD))
        return
    shutil.rmtree(BUILD, ignore_errors=True)
    shutil.copytree(DOCS / "pages", BUILD)
    settings = (DOCS / "zensical.toml").read_text(encoding="utf-8")
    settings = ADDRESS["site_settings"](settings, ADDRESS["facts_of"](ROOT)["address"])
    (DOCS / "site.toml").write_text(settings, encoding="utf-8")
    start = BUILD / "index.md"
    both = " ".join(rf"![\1](reference/rates.{scheme}.svg#only-{scheme}){{ .plot }}" for scheme in STYLES)
    start.write_text(PICTURE.sub(both, start.read_text(encoding="utf-8")), encoding="utf-8")
    for name, text in (pages() | {"gallery": gallery(PAGES)}).items():
        (PAGES / f"{name}.md").write_text(text + "\n", encoding="utf-8")
    (BUILD / "llms.txt").write_text(index_for_models(), encoding="utf-8")
    (BUILD / "llms-full.txt").write_text(text_for_models(), encoding="utf-8")


if __name__ == "__main__":
    main()
