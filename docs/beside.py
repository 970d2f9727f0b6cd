"""Which versions of other tools fit into one environment with rollwise, asked of the resolver: the table of `pages/beside.md`.

    python docs/beside.py           print the table
    python docs/beside.py --write   put it, with today's date, into the page

It needs `uv` (`pip install uv`) and a package index; nothing is installed. What rollwise requires is read from
`pyproject.toml`.
"""

import datetime as dt
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

DOCS = Path(__file__).parent
PAGE = DOCS / "pages" / "beside.md"
PYTHON = "3.12"
TOOLS = {
    "inspect-ai": "Inspect AI",
    "inspect-scout": "Inspect Scout",
    "garak": "garak",
    "pyrit": "PyRIT",
    "deepteam": "DeepTeam",
    "nvidia-nat": "NeMo Agent Toolkit",
    "verifiers": "verifiers",
    "mlflow": "MLflow",
    "lm-eval": "lm-evaluation-harness",
    "arize-phoenix": "Phoenix",
    "langfuse": "Langfuse",
    "evalstats": "evalstats",
    "agentdojo": "AgentDojo",
    "crfm-helm": "HELM",
}
TABLE = re.compile(r"(?<=<!-- table -->\n).*?(?=<!-- end -->)", re.DOTALL)


def own_requirements() -> list[str]:
    """Return what rollwise needs."""
    settings = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))
    return list(settings["project"]["dependencies"])


def typed(*words: str) -> subprocess.CompletedProcess[str]:
    """Run uv, which is on the path, or which `pip install uv` put beside this Python."""
    command = shutil.which("uv") or shutil.which("uv", path=Path(sys.executable).parent)
    if command is None:
        sys.exit("beside.py: uv is not installed; type pip install uv")
    return subprocess.run([command, *words], capture_output=True, text=True, check=False)


def resolved(requirements: list[str]) -> dict[str, str] | str:
    """Return the version of each package that the resolver takes, or why there are none."""
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder) / "asked.in"
        asked.write_text("\n".join(requirements), encoding="utf-8")
        options = ("--quiet", "--no-annotate", "--no-header", "--python-version", PYTHON)
        done = typed("pip", "compile", *options, str(asked))
    told = " ".join(done.stderr.split())
    if done.returncode and "No solution found" not in told:  # no answer is not a no
        sys.exit(f"beside.py: the resolver gave no answer about {', '.join(requirements)}: {told}")
    if done.returncode:
        return told
    return dict(re.findall(r"^([\w.-]+)==([^\s;]+)", done.stdout, re.MULTILINE))


def row(package: str, together: dict[str, str] | str) -> str:
    """Return the row of one tool: its newest version alone, whether that fits beside rollwise, and what fits with all others."""
    alone = resolved([package])
    if isinstance(alone, str):
        return f"| {TOOLS[package]} | not to be had on Python {PYTHON} | - | - |"
    newest = alone[package]
    beside = resolved([*own_requirements(), f"{package}=={newest}"])
    if isinstance(beside, str):
        older = resolved([*own_requirements(), package])
        fits = "no" if isinstance(older, str) else f"no, but {older[package]}"
        print(f"{package}: {beside}", file=sys.stderr)
    else:
        fits = "yes"
    return f"| {TOOLS[package]} | {newest} | {fits} | {'-' if isinstance(together, str) else together[package]} |"


def table() -> str:
    """Return the table of all tools, with what was asked and when."""
    together = resolved([*own_requirements(), *TOOLS])
    if isinstance(together, str):
        print(f"all: {together}", file=sys.stderr)
    rows = [row(package, together) for package in TOOLS]
    version = typed("--version").stdout.split()[1]
    asked = f"Asked on {dt.datetime.now(dt.UTC).date()} of uv {version}, for Python {PYTHON}."
    head = "| tool | newest | fits beside rollwise | all of these at once |\n|---|---|---|---|"
    return "\n".join(["", asked, "", head, *rows, "", ""])


if __name__ == "__main__":
    text = table()
    print(text)
    if "--write" in sys.argv[1:]:
        PAGE.write_text(TABLE.sub(lambda _: text, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
