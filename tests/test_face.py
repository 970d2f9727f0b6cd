"""The face: few verbs and namespaces on top, each on one page of the reference; nothing public changes unnoticed."""

import re
import runpy
from pathlib import Path
from types import ModuleType

import rollwise as rw

ROOT = Path(__file__).parents[1]
NAMESPACES = {name for name in rw.__all__ if isinstance(getattr(rw, name), ModuleType)}
VERBS = set(rw.__all__) - NAMESPACES


def test_the_face_is_small() -> None:
    """At most 26 verbs and ten namespaces: what few need lives in the namespace that its question names."""
    assert len(VERBS) <= 26
    assert len(NAMESPACES) <= 10


def test_every_name_of_the_face_is_on_one_page_of_the_reference() -> None:
    """A verb on the page of `rollwise`, a function of a namespace on the page of the namespace, and on no other."""
    generating = runpy.run_path(str(ROOT / "docs" / "generate.py"))
    pages = generating["namespaces"]()
    listed = re.findall(r"^::: rollwise\.(\S+)$", "\n".join(pages.values()), re.MULTILINE)
    assert sorted(name for name in listed if "." not in name) == sorted(VERBS)
    assert len(listed) == len(set(listed))
    written = {path.stem for path in (ROOT / "docs" / "pages" / "reference").glob("*.md")}
    assert set(pages) >= NAMESPACES
    assert {*pages, *generating["TABLES"], "gallery"} == written
