"""An import inside a function has a reason: a circle, or a library that would otherwise be loaded too early."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import rollwise as rw

SOURCE = Path(rw.__file__).parent
FILES = {
    ".".join(("rollwise", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(SOURCE.rglob("*.py"))
}
Import = ast.Import | ast.ImportFrom


def is_typing(node: ast.AST) -> bool:
    """Whether what is below the node is read by type checkers alone."""
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imports(node: ast.AST, *, is_inside: bool, inside: bool = False) -> Iterator[Import]:
    """Yield the imports inside functions, or those outside of them."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt | ast.excepthandler | ast.match_case) or is_typing(child):
            continue  # expressions hold no imports
        if isinstance(child, Import) and inside == is_inside:
            yield child
        yield from imports(
            child, is_inside=is_inside, inside=inside or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        )


def loaded_by(statement: Import) -> set[str]:
    """The modules of rollwise that a statement loads, and the first names of other libraries."""
    if isinstance(statement, ast.Import):
        names = [alias.name for alias in statement.names]
    else:
        below = [f"{statement.module}.{alias.name}" for alias in statement.names]
        names = [statement.module or "", *(name for name in below if name in FILES)]
    found = set()
    for name in names:
        parts = name.split(".")
        if parts[0] == "rollwise":
            found |= {".".join(parts[:end]) for end in range(1, len(parts) + 1)} & FILES.keys()
        else:
            found.add(parts[0])
    return found


@cache
def tree(module: str) -> ast.Module:
    """The syntax of a module."""
    return ast.parse(FILES[module].read_text(encoding="utf-8"))


@cache
def loaded_at_once(module: str) -> frozenset[str]:
    """All that the statements at the top of a module load."""
    return frozenset(name for statement in imports(tree(module), is_inside=False) for name in loaded_by(statement))


@cache
def loads(module: str) -> frozenset[str]:
    """All that is loaded with a module of rollwise, by it and by what it loads."""
    found, new = {module}, {module}
    while new:
        new = {name for one in new if one in FILES for name in loaded_at_once(one)} - found
        found |= new
    return frozenset(found)


def is_lazy(statement: Import) -> bool:
    """Whether it takes a name from a package whose names load their modules when they are asked for."""
    package = FILES.get(getattr(statement, "module", None) or "")
    names = {f"{getattr(statement, 'module', '')}.{alias.name}" for alias in statement.names}
    return package is not None and "= lazy(" in package.read_text(encoding="utf-8") and not names <= FILES.keys()


def libraries(names: set[str] | frozenset[str]) -> set[str]:
    """The libraries among them that do not come with Python."""
    return {name for name in names if name.partition(".")[0] != "rollwise"} - sys.stdlib_module_names


def is_needed(module: str, statement: Import) -> bool:
    """Whether an import has to wait for the call: it closes a circle, or loads a library that the module does not load.

    What Python itself brings may be absent on another system, and is not asked about.
    """
    wanted = loaded_by(statement)
    if wanted <= sys.stdlib_module_names or is_lazy(statement):
        return True
    everything = wanted.union(*(loads(name) for name in wanted if name in FILES))
    is_circle = any(module in loads(name) for name in wanted if name in FILES)
    return is_circle or bool(libraries(everything) - loads(module))


@pytest.mark.integration
def test_no_import_waits_for_a_call_without_a_reason() -> None:
    """What costs nothing more is imported at the top of its file, where a reader looks for it."""
    needless = [
        f"{FILES[module].relative_to(SOURCE)}:{statement.lineno}: {ast.unparse(statement)}"
        for module in FILES
        for statement in imports(tree(module), is_inside=True)
        if not is_needed(module, statement)
    ]
    assert needless == [], "move these to the top of their files"
