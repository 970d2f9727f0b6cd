"""Faces of packages: public names, listed once as imports for type checkers, and imported on first use."""

import ast
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def lazy(
    package: str, *, namespaces: Sequence[str] = (), synonyms: Mapping[str, str] | None = None
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` of a package, from the imports under `if TYPE_CHECKING:` in its file.

    Names of a second such block can be had, but are not listed: code of other projects imports them from here. The error for a
    name that is not there says what is near it, what other word it is (`synonyms`), and which of the `namespaces` has it.
    """
    listed, *hidden = _imports(package)
    names = sorted(listed)
    places = {name: place for block in (listed, *hidden) for name, place in block.items()}

    def get(name: str) -> Any:
        """Import a name on first use, so that the package loads at once."""
        if name not in places:
            # Names that begin with _ are asked for by programs that look at modules, not by a user who slipped.
            advice = "" if name.startswith("_") else f"; {near(name)}"
            raise AttributeError(f"module {package!r} has no attribute {name!r}{advice}")
        module, original = places[name]
        if module == package:  # `from rollwise import judges`
            value: Any = importlib.import_module(f"{package}.{original}")
        else:
            value = getattr(__import__(module, fromlist=[original]), original)  # a module within another one, too
        setattr(sys.modules[package], name, value)  # found at once the next time
        return value

    def near(name: str) -> str:
        from rollwise.errors import meant

        for space in namespaces:
            if name in importlib.import_module(f"{package}.{space}").__all__:
                return f"did you mean `rw.{space}.{name}`?"
        return meant(name, names, most=len(names), synonyms=synonyms)

    return names, get, lambda: list(names)


def _imports(package: str) -> list[dict[str, tuple[str, str]]]:
    """Return the names of each block of imports for type checkers, with their modules and their names there."""
    loader: Any = getattr(sys.modules[package].__spec__, "loader", None)  # of a folder or of a zip
    blocks = [
        node.body
        for node in ast.parse(loader.get_source(package)).body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    ]
    return [
        {alias.asname or alias.name: (line.module or "", alias.name) for line in block for alias in line.names}
        for block in ([line for line in block if isinstance(line, ast.ImportFrom)] for block in blocks)
    ]
