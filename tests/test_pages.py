"""The documentation's pages: their code runs and prints what they show, and their site is built without a warning."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from pages import BLOCK, PAGES, ROOT, pages, run
from ruamel.yaml import YAML

SETTINGS = re.compile(r"^```(yaml|toml)\n(.*?)^```$", re.DOTALL | re.MULTILINE)

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("page", [path.relative_to(PAGES).as_posix() for path in pages()])
def test_the_code_prints_what_the_page_shows(page: str) -> None:
    """`python tests/pages.py --accept` writes what the code prints into the page."""
    path = PAGES / page
    assert run(path) == path.read_text(encoding="utf-8")


def settings() -> list[tuple[str, str, str]]:
    """The YAML and TOML blocks of the pages: page, language and text."""
    found = [(page, block) for page in pages() for block in SETTINGS.findall(page.read_text(encoding="utf-8"))]
    return [(page.name, language, text) for page, (language, text) in found]


def test_every_block_is_run_or_printed() -> None:
    """A block of a page is code that runs, what code prints, or settings, which the next test uses."""
    languages = {
        word for page in pages() for word in re.findall(r"^```(\w+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert languages <= {"python", "bash", "text", "yaml", "toml"}
    assert len(settings()) >= 4


@pytest.mark.parametrize(("page", "language", "text"), settings(), ids=lambda value: str(value).split("\n")[0])
def test_settings_work_as_the_page_says(page: str, language: str, text: str, tmp_path: Path, monkeypatch) -> None:
    """Requirements gate logs, the steps of a workflow run in its order, and an entry point adds a format."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    shutil.copytree(ROOT / "data" / "rollouts", "runs")
    if language == "toml":
        blocks = [match.group(2) for match in BLOCK.finditer((PAGES / "how-to" / page).read_text(encoding="utf-8"))]
        _install_package(next(code for code in blocks if "FORMAT =" in code), text)
        result = '{"case": "insult", "trial": 0, "ask": "Hi", "reply": "Hello", "verdict": "held"}'
        log = f'{{"run_name": "night", "model": "parrot", "results": [{result}]}}'
        Path("log.json").write_text(log, encoding="utf-8")
        places = f"site{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        assert _bash("rollwise read log.json --out turns.csv", PYTHONPATH=places) == 0
        assert "toy" in Path("turns.csv").read_text(encoding="utf-8")
        return
    content = YAML(typ="safe").load(text)
    if "require" in content:
        Path("gate.yml").write_text(text, encoding="utf-8")
        assert (
            _bash("rollwise gate runs --file gate.yml") == 1
        )  # these logs fail; 2 would be a file that is not understood
    elif "sampler" in content:
        Path("rollout.yml").write_text(text, encoding="utf-8")
        from rollwise.rollout.config import evaluator_of, load, rule_of

        config = load("rollout.yml")
        assert (len(evaluator_of(config).seeds), rule_of(config.until) is not None) == (
            config.seeds,
            "until" in content,
        )
    elif "jobs" in content:
        shutil.copy(ROOT / "docs" / "examples" / "gate.yml", "gate.yml")
        Path("evaluate.sh").write_text("#!/bin/sh\ntest -d $1\n", encoding="utf-8")
        Path("evaluate.sh").chmod(0o755)
        named = {step["name"]: step["run"] for step in content["jobs"]["gate"]["steps"] if "name" in step}
        steps = {name: step for name, step in named.items() if name != "Install"}  # which tests/test_release.py types
        codes = [_bash(step, GITHUB_STEP_SUMMARY="summary.md") for step in steps.values()]
        assert dict(zip(steps, codes, strict=True)) == {"Evaluate": 0, "Gate": 3, "Summary": 0}
        assert Path("summary.md").read_text(encoding="utf-8").startswith("**undecided**")
    else:
        job = content["gate"]
        called = YAML(typ="safe").load(
            (ROOT / job["uses"].removeprefix("OWNER/rollwise/").partition("@")[0]).read_text()
        )
        inputs = called["on"]["workflow_call"]["inputs"]
        required = {name for name, entry in inputs.items() if entry.get("required")}
        assert required <= set(job["with"]) <= set(inputs)


def _bash(command: str, **variables: str) -> int:
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command], check=False, env=os.environ | variables
    ).returncode


def _install_package(code: str, table: str) -> None:
    """A package of one module with these entry points, as `pip install --target site` leaves it."""
    metadata = Path("site", "toy_logs-1.0.dist-info")
    metadata.mkdir(parents=True)
    Path("site", "toy_logs.py").write_text(code, encoding="utf-8")
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-logs\nVersion: 1.0\n", encoding="utf-8")
    ((group, points),) = tomllib.loads(table)["project"]["entry-points"].items()
    lines = [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")


@pytest.mark.skipif(importlib.util.find_spec("zensical") is None, reason="zensical is not installed (extra docs)")
def test_the_site_is_built_strictly() -> None:
    """No broken link, no unknown name."""
    subprocess.run([sys.executable, "docs/generate.py"], check=True, cwd=ROOT)
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "-f", "docs/site.toml"],
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
    assert "rollwise contrast LOGS" in (site / "llms-full.txt").read_text(encoding="utf-8")
    # The report of README's data is there, its picture leads to it and says its title; so are pictures, lines and notebooks.
    title = json.loads((site / "report" / "run.json").read_text(encoding="utf-8"))["title"]
    home = (site / "index.md").read_text(encoding="utf-8")
    assert "](report/report.html)" in home
    for page in (ROOT / "README.md", site / "index.md"):
        (alt,) = re.findall(r"!\[First screen of a report: (.+?)\]\(", page.read_text(encoding="utf-8"))
        assert alt.lower() == title.lower()
    forest = (site / "reference" / "plots" / "forest.html").read_text(encoding="utf-8")
    assert "../forest.light.svg" in forest
    assert "Real jailbreak rates: the lines" in forest
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        assert (site / "notebooks" / f"{path.stem}.html").is_file()
