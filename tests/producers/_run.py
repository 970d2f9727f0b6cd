"""Install a tool in its current version, let it write logs, and compare the table that we read with the tool's own figures.

A script of a tool has

- `PACKAGES`, what to install, and `VERSION`, the package whose version counts. Where the tool is no Python package, the
  functions `install(environment)` and `version(environment)` take their place;
- `PYTHON`, the oldest version of Python that it runs on, where that is newer than ours;
- `LOST`, sentences: what the logs have and the table has not; `FORMAT`, the name of our format where it is not the tool's;
- `produce(folder)`, which runs inside the tool's own environment, writes logs into `folder` and returns the tool's own
  figures, as `_figures.py` explains.
"""

import argparse
import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve().parent
ENVIRONMENT = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "DO_NOT_TRACK": "1"}


def tools() -> list[str]:
    """Return the names of all scripts."""
    return sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_"))


def script(tool: str) -> ModuleType:
    """Import the script of a tool."""
    return importlib.import_module(f"producers.{tool}")


def main(arguments: list[str]) -> int:
    """Run the tools that are named, or all, and return the exit code: 1 where a figure differs or a tool does not run."""
    parser = argparse.ArgumentParser(prog="python tests/producers", description=__doc__)
    parser.add_argument("tools", nargs="*", metavar="TOOL", help=f"any of {', '.join(tools())}; all if none is named")
    cache = Path(tempfile.gettempdir()) / "rollwise-producers"
    parser.add_argument("--cache", type=Path, default=cache, help="folder of the environments, one per tool")
    parser.add_argument("--keep", action="store_true", help="store the logs and figures as fixtures of the tests")
    parser.add_argument("--discard", action="store_true", help="remove each environment when its tool is done")
    parser.add_argument("--produce", type=Path, help=argparse.SUPPRESS)  # inside the environment of the tool
    options = parser.parse_args(arguments)
    if options.produce is not None:
        theirs = script(options.tools[0]).produce(options.produce / "logs")
        (options.produce / "theirs.json").write_text(json.dumps(theirs, ensure_ascii=False), encoding="utf-8")
        return 0
    if unknown := set(options.tools) - set(tools()):
        parser.error(f"no script {', '.join(sorted(unknown))}; there are {', '.join(tools())}")
    return max([_run(tool, options.cache.resolve(), options) for tool in options.tools or tools()])


def _run(tool: str, cache: Path, options: argparse.Namespace) -> int:
    """Run one tool, print its table, and return 1 where a figure differs or the tool does not run."""
    from producers._figures import comparison

    from rollwise.errors import ReadError

    start = time.monotonic()
    module = script(tool)
    environment = cache / tool
    folder = Path(tempfile.mkdtemp(prefix=f"{tool}-"))
    # One tool that does not install, run or read leaves the others to be tried.
    try:
        _install(module, environment)
        (folder / "logs").mkdir()
        _produce(tool, module, environment, folder)
        theirs = json.loads((folder / "theirs.json").read_text(encoding="utf-8"))
        rows = comparison(folder / "logs", theirs)
    except subprocess.CalledProcessError as error:
        output = f"{error.stdout or ''}{error.stderr or ''}".strip().splitlines()
        sys.stdout.write("\n".join([f"{tool}: {error.cmd[:4]} failed", *output[-25:], ""]))
        return 1
    except (OSError, subprocess.TimeoutExpired, ReadError) as error:
        sys.stdout.write(f"{tool}: {error}\n")
        return 1
    version = _version(module, environment)
    wrong = sum(not row.equal for row in rows)
    sys.stdout.write("\n".join(str(row) for row in rows if not (row.equal and row.where)) + "\n")
    verdict = "all equal" if not wrong else f"{wrong} DIFFER"
    seconds = time.monotonic() - start
    sys.stdout.write(
        f"{tool} {version}: {len(rows)} figures, {verdict}; logs in {folder / 'logs'} ({seconds:.0f} s)\n\n"
    )
    if options.keep and not wrong:
        from producers._keep import keep

        facts = {"tool": tool, "version": version, "format": getattr(module, "FORMAT", tool)}
        facts |= {"lost": list(module.LOST), "figures": theirs}
        folders = {folder: "work", environment: "environment", HERE: "producers", Path(tempfile.gettempdir()): "temp"}
        keep(folder / "logs", facts, folders)
    if options.discard:
        shutil.rmtree(environment)
    return int(wrong > 0)


def _install(module: ModuleType, environment: Path) -> None:
    """Make the environment and install the tool, unless an earlier run has done so."""
    done = environment / ".installed"
    if done.exists():
        return
    shutil.rmtree(environment, ignore_errors=True)
    environment.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([_interpreter(getattr(module, "PYTHON", (3, 11))), "-m", "venv", environment], check=True)
    if hasattr(module, "install"):
        module.install(environment)
    else:
        pip = [str(_python(environment)), "-m", "pip", "install", "--quiet", *module.PACKAGES]
        subprocess.run(pip, check=True, capture_output=True, text=True)
    done.touch()


def _interpreter(oldest: tuple[int, int]) -> str:
    """Return this Python, or one on the path that is new enough."""
    if sys.version_info >= oldest:
        return sys.executable
    names = [f"python{oldest[0]}.{minor}" for minor in range(oldest[1], oldest[1] + 4)]
    if (path := next(filter(None, map(shutil.which, names)), None)) is None:
        message = f"needs Python {oldest[0]}.{oldest[1]} or newer: none of {', '.join(names)} is on the path"
        raise OSError(message)
    return path


def _produce(tool: str, module: ModuleType, environment: Path, folder: Path) -> None:
    """Run the script's `produce` with the Python of the tool's environment, away from the user's own settings."""
    command: list[str | Path] = [_python(environment), "-P", HERE / "__main__.py", tool, "--produce", folder]
    home = folder / "user"
    home.mkdir()
    variables = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    variables.pop("PYTHONPATH", None)
    variables |= ENVIRONMENT | {"HOME": str(home), "XDG_CACHE_HOME": str(home), "PRODUCER": str(environment)}
    variables["PATH"] = os.pathsep.join([str(_python(environment).parent), variables.get("PATH", os.defpath)])
    run = subprocess.run(command, check=False, capture_output=True, text=True, env=variables, cwd=folder, timeout=900)
    (folder / "output.txt").write_text(run.stdout + run.stderr, encoding="utf-8")
    run.check_returncode()


def _python(environment: Path) -> Path:
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _version(module: ModuleType, environment: Path) -> str:
    if hasattr(module, "version"):
        return str(module.version(environment))
    code = f"from importlib.metadata import version; print(version({module.VERSION!r}))"
    run = subprocess.run([_python(environment), "-c", code], check=True, capture_output=True, text=True)
    return run.stdout.strip()
