"""What the site shows: the gallery, the notebooks with what they printed, and the report of README's data.

The gallery and the report are drawn when the site is built; the notebooks are shown as they are kept, and a test runs them.
"""

import base64
import contextlib
import json
import re
import runpy
from pathlib import Path
from typing import Any

import rollwise as rw

DOCS, ROOT = Path(__file__).parent, Path(__file__).parents[1]
INK, GROUND = "#dfe1e6", "#0b0c0f"  # letters and page of the site's dark scheme
DARK = dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK)
GROUNDS = dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), GROUND)
STYLES: dict[str, dict[str, str]] = {"light": {}, "dark": DARK | GROUNDS}  # settings of Matplotlib for each scheme
DATA = "data/jailbreakbench"
GALLERY = """\
---
hide: [toc]
---

# Gallery

Each picture leads to the page of its function. They are drawn from the same simulated rollouts, or from published ones:

??? "The lines before each of them"

{setup}
<div class="grid cards gallery" markdown>

{cards}
</div>
"""
BLANKS = re.compile(r"\s*\n\s*")


def indented(text: str, by: int = 4) -> str:
    """Return the text moved to the right, as what belongs to an item of a list is."""
    return "".join(f"{' ' * by}{line}" if line.strip() else line for line in text.splitlines(keepends=True))


def drawn(folder: Path) -> dict[str, tuple[str, str, str, str]]:
    """Draw the gallery into the folder: of each the title, the code, its function and the alternative text."""
    import matplotlib as mpl

    entries, names = runpy.run_path(str(DOCS / "gallery.py")), dict[str, Any]()
    exec(entries["SETUP"], names)  # noqa: S102  # the gallery is code
    shown = {}
    for title, (name, code) in entries["PLOTS"].items():
        for scheme, style in STYLES.items():
            with contextlib.chdir(ROOT), mpl.rc_context(style):
                exec(code, names)  # noqa: S102
                names["plot"].save(folder / f"{name}.{scheme}.svg", overwrite=True)
        (function,) = re.findall(r"rw\.plots\.(\w+)\(", code)
        shown[name] = (title, code, function, names["plot"].alt)
    return shown


def picture(name: str, alt: str, up: str = "") -> str:
    """Return both schemes of a picture of the gallery, of which the page shows one."""
    return " ".join(f"![{alt}]({up}{name}.{scheme}.svg#only-{scheme}){{ .plot loading=lazy }}" for scheme in STYLES)


def gallery(shown: dict[str, tuple[str, str, str, str]]) -> str:
    """Return the page of the gallery: a card for each picture, with its lines and a link to its function."""
    setup = indented(f"```python\n{runpy.run_path(str(DOCS / 'gallery.py'))['SETUP']}```\n")
    cards = []
    for name, (title, code, function, alt) in shown.items():
        page = f"plots/{function}.md"
        lines = indented(f"```python\n{code}```\n")
        heading = f"**{title}** · [`plots.{function}`]({page})"
        parts = [heading, f"[{picture(name, alt)}]({page})", f'??? "The lines"\n\n{lines}']
        first, *others = "\n\n".join(parts).splitlines(keepends=True)
        cards.append(f"-   {first}{indented(''.join(others))}")
    return GALLERY.format(setup=setup, cards="\n\n".join(cards))


def of_functions(shown: dict[str, tuple[str, str, str, str]], up: str, *, lines: bool) -> dict[str, list[str]]:
    """Return for each function of `plots` its pictures, with the lines that draw them or without."""
    found: dict[str, list[str]] = {}
    for name, (title, code, function, alt) in shown.items():
        text = picture(name, alt, up) + "\n"
        if lines:
            text += f'\n??? "{title}: the lines (after those of the gallery)"\n\n'
            text += indented(f"```python\n{code}```\n")
        found.setdefault(function, []).append(text)
    return found


def notebook(path: Path, folder: Path) -> str:
    """Return a notebook as a page: its texts, its code, and what was printed and drawn; pictures go into the folder."""
    parts, pictures = [], 0
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = {kind: "".join(text) for kind, text in output.get("data", {}).items()}
            if "image/png" in data:
                pictures += 1
                name = f"{path.stem}-{pictures}.png"
                (folder / name).write_bytes(base64.b64decode(data["image/png"]))
                alt = re.sub(r"^<Plot: |>$", "", data.get("text/plain", "figure")).strip("'")
                parts.append(f"![{alt}]({name}){{ .plot loading=lazy }}")
            elif '<div id="rw' in (table := data.get("text/html", "")):
                parts.append(f'<div class="table">{BLANKS.sub(" ", table)}</div>')
            elif text := data.get("text/plain", "".join(output.get("text", ""))):
                parts.append(f"```text\n{text.rstrip()}\n```")
    head = f"*This page is `notebooks/{path.name}` of the repository, with what it printed.*"
    title, *rest = parts[0].split("\n", 1)
    return "\n\n".join([title, head, *rest, *parts[1:]]) + "\n"


def report(folder: Path) -> str:
    """Write the report of README's data into the folder, and return its title."""
    turns = rw.read(ROOT / DATA)
    rw.report(turns, folder, by=["target", "attack"], overwrite=True)
    return str(json.loads((folder / "run.json").read_text(encoding="utf-8"))["title"])
