"""Write the pages of the reference from the code, and what the site shows: gallery, notebooks, a report.

    python docs/generate.py             before the site is built
    python docs/generate.py --copy      after it: copies each page as Markdown into the site
    python docs/generate.py --citation  writes `CITATION.cff`, for a release or a new address of the repository

`docs/build/`, which is not in version control, is a copy of `docs/pages/` with the pages of the reference (`reference.py`), the
gallery, the notebooks and a report (`exhibits.py`); in `docs/pages/` these pages only say where to look in a clone. Beside the
pages are `llms.txt`, an index of them for language models, and `llms-full.txt`, the text of all pages that people wrote
(https://llmstxt.org). `docs/site.toml` is `zensical.toml` with the addresses of the site and of the repository.
"""

import re
import runpy
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

import rollwise as rw

DOCS, ROOT = Path(__file__).parent, Path(__file__).parents[1]
BUILD, SITE = DOCS / "build", DOCS / "site"
ADDRESS, REFERENCE, EXHIBITS = (
    runpy.run_path(str(DOCS / f"{name}.py")) for name in ("address", "reference", "exhibits")
)
NOTEBOOK = re.compile(r"\(\.\./\.\./notebooks/(\w+)\.ipynb\)")  # a link in a clone
PICTURE = re.compile(r"^!\[.+\]\(assets/report\.png\)\{.*?\}", re.MULTILINE)  # which leads to the report itself
MADE = ("reference/", "notebooks/")  # pages that nobody wrote by hand


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
    pages_by_people = [BUILD / place for place in by_navigation() if not place.startswith(MADE)]
    return "\n\n".join(path.read_text(encoding="utf-8").strip() for path in [*pages_by_people, guide]) + "\n"


def with_functions(settings: str) -> str:
    """Return the settings of the site with the page of each function below that of its namespace."""
    for place, names in REFERENCE["functions"]().items():
        below = "".join(f', {{ "{name}" = "reference/{place}/{name}.md" }}' for name in names)
        page = f'"reference/{place}.md"'
        settings = settings.replace(f" = {page} }}", f" = [{page}{below}] }}") if below else settings
    return settings


def written_pages() -> dict[str, tuple[str, str]]:
    """Return title and text of each page that people wrote and of each notebook, by its place."""
    places = {place: title for place, title in by_navigation().items() if not place.startswith("reference/")}
    return {place: (title, (BUILD / place).read_text(encoding="utf-8")) for place, title in places.items()}


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
    (BUILD / "notebooks").mkdir(exist_ok=True)
    settings = (DOCS / "zensical.toml").read_text(encoding="utf-8")
    settings = ADDRESS["site_settings"](settings, ADDRESS["facts_of"](ROOT)["address"])
    (DOCS / "site.toml").write_text(with_functions(settings), encoding="utf-8")
    for page in BUILD.glob("*.md"):
        page.write_text(NOTEBOOK.sub(r"(notebooks/\1.md)", page.read_text(encoding="utf-8")), encoding="utf-8")
    start = BUILD / "index.md"
    start.write_text(PICTURE.sub(r"[\g<0>](report/report.html)", start.read_text(encoding="utf-8")), encoding="utf-8")
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        (BUILD / "notebooks" / f"{path.stem}.md").write_text(
            EXHIBITS["notebook"](path, BUILD / "notebooks"), encoding="utf-8"
        )
    EXHIBITS["report"](BUILD / "report")
    shown = EXHIBITS["drawn"](BUILD / "reference")
    texts = {"gallery": EXHIBITS["gallery"](shown)} | REFERENCE["pages"](shown, written_pages())
    for name, text in texts.items():
        page = BUILD / "reference" / f"{name}.md"
        page.parent.mkdir(exist_ok=True)
        page.write_text(text + "\n", encoding="utf-8")
    (BUILD / "llms.txt").write_text(index_for_models(), encoding="utf-8")
    (BUILD / "llms-full.txt").write_text(text_for_models(), encoding="utf-8")


if __name__ == "__main__":
    main()
