"""Run the code of the documentation's pages, and compare what it prints with the page.

    python tests/pages.py            say which pages print something else than they show
    python tests/pages.py --accept   write what they print into the pages

The blocks of a page run in order and share their names. A `text` block directly after a `python` or `bash` block shows what
that block prints.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "pages"
BLOCK = re.compile(r"^```(python|bash)\n(.*?)^```\n(\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)


def pages() -> list[Path]:
    """Return the pages written by hand."""
    return sorted(path for path in PAGES.rglob("*.md") if path.parent.name != "reference")


def run(page: Path) -> str:
    """Return the page with what its code prints now."""
    names: dict[str, object] = {"__name__": "__main__"}

    def fresh(match: re.Match[str]) -> str:
        language, code, shown = match.group(1), match.group(2), match.group(3)
        printed = _python(code, names) if language == "python" else _bash(code)
        block = f"```{language}\n{code}```\n"
        return f"{block}\n```text\n{printed.rstrip()}\n```\n" if shown else block

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("data").symlink_to(ROOT / "data")
        Path("logs").symlink_to(ROOT / "tests" / "readers" / "produced")  # logs that other tools wrote
        return BLOCK.sub(fresh, page.read_text(encoding="utf-8"))


def _python(code: str, names: dict[str, object]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "page", "exec"), names)  # the page is the test
    return printed.getvalue()


def _bash(code: str) -> str:
    if code.startswith(("pip install", "python3 -m venv")):
        return ""  # README's first block, which CI runs, installs the package
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"PATH": path},
    )
    return done.stdout


def main() -> int:
    """Compare all pages, or accept what they print; the exit code is 1 where one differs."""
    accept, changed = "--accept" in sys.argv, 0
    for page in pages():
        text = run(page)
        if text != page.read_text(encoding="utf-8"):
            changed += 1
            print(f"{page.relative_to(ROOT)} {'is rewritten' if accept else 'prints something else than it shows'}")  # noqa: T201
            if accept:
                page.write_text(text, encoding="utf-8")
    return int(bool(changed) and not accept)


if __name__ == "__main__":
    sys.exit(main())
