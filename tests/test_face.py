"""The face: few verbs and namespaces on top, each on one page of the reference; nothing public changes unnoticed."""

import re
import runpy
from pathlib import Path
from types import ModuleType

import pytest

import rollwise as rw

ROOT = Path(__file__).parents[1]
NAMESPACES = {name for name in rw.__all__ if isinstance(getattr(rw, name), ModuleType)}
VERBS = set(rw.__all__) - NAMESPACES


def test_the_face_is_small() -> None:
    """At most 26 verbs and ten namespaces: what few need lives in the namespace that its question names."""
    assert len(VERBS) <= 26
    assert len(NAMESPACES) <= 10


@pytest.mark.integration
def test_every_function_has_a_page_of_the_reference() -> None:
    """A page for each function, to which the page of its namespace leads; classes stand on the page of the namespace."""
    reference = runpy.run_path(str(ROOT / "docs" / "reference.py"))
    pages, namespaces = reference["pages"](), reference["namespaces"]()
    listed = re.findall(r"^::: rollwise\.(\S+)$", "\n".join(pages.values()), re.MULTILINE)
    assert sorted(name for name in listed if "." not in name) == sorted(VERBS)
    assert len(listed) == len(set(listed))
    for place, names in reference["functions"]().items():
        assert [name for name in names if f"]({place}/{name}.md)" not in namespaces[place]] == []
        assert [
            name for name in names if f"# {reference['full_name'](place, name)}\n" not in pages[f"{place}/{name}"]
        ] == []
    written = {path.stem for path in (ROOT / "docs" / "pages" / "reference").glob("*.md")}
    assert set(namespaces) >= NAMESPACES
    assert {*namespaces, *reference["TABLES"], "gallery"} == written


@pytest.mark.integration
def test_a_signature_is_wrapped_and_says_what_is_near() -> None:
    """One parameter a line where one line is too narrow; functions that name each other, and pages that call one, stand below."""
    reference = runpy.run_path(str(ROOT / "docs" / "reference.py"))
    written = {"how-to/try.md": ("Try it", "`rw.curve(rollouts)`"), "how-to/other.md": ("Other", "`m.curve(x)`")}
    page = reference["pages"](None, written)["rollwise/curve"]
    assert "rw.curve(\n    rollouts,\n    *,\n" in page
    assert "- [`plots.curve`](../plots/curve.md): " in page  # of the same name
    assert "- [Try it](../../how-to/try.md)" in page
    assert "Other" not in page
    assert "rw.measure(turns, *metrics, keep=None, **named)\n" in reference["pages"]()["rollwise/measure"]
