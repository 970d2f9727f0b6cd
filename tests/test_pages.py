"""The documentation's pages: their code runs and prints what they show, and their site is built without a warning."""

import importlib.util
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from pages import PAGES, ROOT, pages, run

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("page", [path.relative_to(PAGES).as_posix() for path in pages()])
def test_the_code_prints_what_the_page_shows(page: str) -> None:
    """`python tests/pages.py --accept` writes what the code prints into the page."""
    path = PAGES / page
    assert run(path) == path.read_text(encoding="utf-8")


def test_the_reference_names_every_public_function(tmp_path: Path) -> None:
    """Each name of `turnwise.__all__` and of its namespaces has an entry on a page of the reference."""
    import turnwise as tw

    text = "\n".join(runpy.run_path(str(ROOT / "docs" / "generate.py"))["pages"]().values())
    missing = [name for name in tw.__all__ if callable(getattr(tw, name)) and f"::: turnwise.{name}\n" not in text]
    assert not missing


@pytest.mark.skipif(importlib.util.find_spec("zensical") is None, reason="zensical is not installed (extra docs)")
def test_the_site_is_built_strictly() -> None:
    """No broken link, no unknown name."""
    subprocess.run([sys.executable, "docs/generate.py"], check=True, cwd=ROOT)
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "-f", "docs/zensical.toml"],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    # For language models: an index, whose links all lead to a page as Markdown, and the text of the written pages.
    subprocess.run([sys.executable, "docs/generate.py", "--copy"], check=True, cwd=ROOT)
    site = ROOT / "docs" / "site"
    links = re.findall(r"\]\(([^)]+)\)", (site / "llms.txt").read_text(encoding="utf-8"))
    assert len(links) > 30
    assert all((site / link).is_file() for link in links)
    assert "turnwise contrast LOGS" in (site / "llms-full.txt").read_text(encoding="utf-8")
