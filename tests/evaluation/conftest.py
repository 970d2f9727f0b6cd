"""Evaluations in a folder of their own: a data set, a file, a run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

import rollwise as rw

HERE = Path(__file__).parent


class Bench:
    """A folder with a data set and a configuration file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "eval.yml"
        self.out = folder / "out"

    def data(self, entries, name: str = "data.json") -> Path:
        """Write the data set."""
        path = self.folder / name
        path.write_text(json.dumps(entries), encoding="utf-8")
        return path

    def config(self, evaluators: dict, *, dataset: dict | None = None, general: dict | None = None, **more) -> Path:
        """Write the file."""
        found = {
            "plugins": [str(HERE / "workflows.py")],
            **more,
            "eval": {
                "general": {
                    "output_dir": str(self.out),
                    "dataset": {"file_path": str(self.folder / "data.json"), **(dataset or {})},
                    **(general or {}),
                },
                "evaluators": evaluators,
            },
        }
        with self.file.open("w", encoding="utf-8") as file:
            YAML(typ="safe", pure=True).dump(found, file)
        return self.file

    def run(self, **given):
        """Evaluate in this process."""
        return rw.evaluate(self.file, progress=False, **given)

    def command(self, *words: str, **more) -> subprocess.CompletedProcess:
        """The command line in a process of its own."""
        return subprocess.run(
            [sys.executable, "-m", "rollwise", "eval", "--config_file", str(self.file), *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])},
            **more,
        )

    def read(self, name: str):
        """A JSON file of the results."""
        return json.loads((self.out / name).read_text(encoding="utf-8"))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture(scope="session")
def bench_in() -> type[Bench]:
    """For folders that several tests share."""
    return Bench


@pytest.fixture
def items() -> list[dict]:
    """Six questions with answers: ids 1 to 6."""
    return [
        {"id": n, "question": f"What is {n}?", "answer": f"it is {n}", "generated_answer": f"it is {n if n % 2 else 0}"}
        for n in range(1, 7)
    ]


@pytest.fixture(autouse=True)
def no_plugins(monkeypatch):
    """Plug-ins of one test are not those of the next."""
    from rollwise.evaluation import plugins

    monkeypatch.setattr(plugins, "_PLUGINS", {})
    monkeypatch.setattr(plugins, "_INSTALLED", {})
    monkeypatch.setattr(plugins, "_CLASHES", {})
    plugins.load_installed.cache_clear()
    monkeypatch.syspath_prepend(str(HERE))
    yield
    plugins.load_installed.cache_clear()
    for name in list(sys.modules):
        if name.startswith(("rollwise_plugins_", "nat_simple_web_query", "workflows", "somebody", "making")):
            del sys.modules[name]
