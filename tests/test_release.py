"""What is published leads somewhere, installs this package and no other, and says one address everywhere."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]
ADDRESS = runpy.run_path(str(ROOT / "docs" / "address.py"))
FACTS = ADDRESS["facts_of"](ROOT)
TRIED = "https://github.com/owner/rollwise"
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [*ROOT.glob("*.md"), *(ROOT / "data").glob("*.md"), *(ROOT / "docs" / "pages").rglob("*.md")]
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def links(text: str) -> list[str]:
    """Where the links and pictures of a page lead, but for those within the page."""
    return [place for place in re.findall(r"\]\(([^)\s]+)", FENCE.sub("", text)) if not place.startswith("#")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_file_in_a_clone(page: Path) -> None:
    """Also those to the reference, whose pages say in a clone where to look."""
    places = [place.partition("#")[0] for place in links(page.read_text(encoding="utf-8")) if "://" not in place]
    assert [place for place in places if not (page.parent / place).is_file()] == []
    assert [place for place in places if (page.parent / place).resolve().is_relative_to(ROOT / "docs" / "build")] == []


def test_from_a_package_index_every_link_is_an_address() -> None:
    """Links show a file, pictures are the file; what is code stays as it is."""
    text = ADDRESS["absolute"](README, TRIED, "1.2.3")
    assert len(links(text)) == len(links(README)) > 15
    assert [place for place in links(text) if not place.startswith("https://")] == []
    assert f"]({TRIED}/raw/v1.2.3/data/jailbreak_rates.svg)" in text
    assert f"]({TRIED}/blob/v1.2.3/docs/pages/how-to/plan-an-evaluation.md)" in text
    assert FENCE.findall(text) == FENCE.findall(README)
    assert ADDRESS["absolute"](README, "", "1.2.3") == README


def test_all_addresses_follow_from_one() -> None:
    """Of the package, the site and the citation; where there is none, nothing is made up."""
    named = ADDRESS["urls"](TRIED, "1.2.3")
    assert named["Homepage"] == TRIED
    assert named["Documentation"] == "https://owner.github.io/rollwise/"
    assert ADDRESS["urls"]("", "1.2.3") == {}
    assert "Documentation" not in ADDRESS["urls"]("https://code.example.org/owner/rollwise", "1.2.3")
    settings = (ROOT / "docs" / "zensical.toml").read_text(encoding="utf-8")
    project = tomllib.loads(ADDRESS["site_settings"](settings, TRIED))["project"]
    assert (project["repo_url"], project["site_url"]) == (TRIED, named["Documentation"])
    assert ADDRESS["site_settings"](settings, "") == settings
    assert not {"repo_url", "site_url"} & set(tomllib.loads(settings)["project"])


def test_the_citation_has_version_date_and_address(tmp_path: Path) -> None:
    """It is what `docs/generate.py --citation` writes; a date only once the changelog has one."""
    assert (ROOT / "CITATION.cff").read_text(encoding="utf-8") == ADDRESS["citation"](ROOT)
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(
        re.sub('^repository = ".*?"', f'repository = "{TRIED}"', pyproject, flags=re.MULTILINE)
    )
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n## {FACTS['version']} (2030-01-31)\n")
    cited = YAML(typ="safe").load(ADDRESS["citation"](tmp_path))
    assert (cited["version"], cited["repository-code"]) == (FACTS["version"], TRIED)
    assert str(cited["date-released"]) == "2030-01-31"


def test_nothing_installs_by_name_from_an_index() -> None:
    """The name may be anybody's there until the first release: pages, workflows and messages name a place, or packages."""
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    own = Path(__file__).name
    texts = {
        name: (ROOT / name).read_text(encoding="utf-8", errors="replace") for name in files if Path(name).name != own
    }
    by_name = re.compile(r"pip install(?: -\S+)* ['\"`]?(?:package: )?rollwise\b")
    assert [name for name, text in texts.items() if by_name.search(text)] == []
    assert not re.search(r"(?m)^\s+default: rollwise$", texts[".github/workflows/gate.yml"])


# ── the steps of the workflows ────────────────────────────────────────────────────────────────────────────────────────
WORKFLOWS = ("docs/examples/gate-workflow.yml", ".github/workflows/gate.yml")


def steps_of(place: str) -> dict[str, dict[str, Any]]:
    """The steps of the gate by name."""
    job = YAML(typ="safe").load((ROOT / place).read_text(encoding="utf-8"))["jobs"]["gate"]
    return {step["name"]: step for step in job["steps"] if "name" in step}


@pytest.mark.integration
@pytest.mark.parametrize("place", WORKFLOWS)
def test_the_steps_of_a_workflow_install_this_package_and_gate_with_it(place: str, tmp_path: Path) -> None:
    """Typed in bash in a new environment, where `pip` is told what to install; told nothing, it installs nothing."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    binaries = tmp_path / "venv" / "bin"
    desk = tmp_path / "desk"
    shutil.copytree(ROOT / "data" / "rollouts", desk / "runs")
    shutil.copyfile(ROOT / "docs" / "examples" / "gate.yml", desk / "gate.yml")
    steps = steps_of(place)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ROLLWISE", "PYTHON"))}
    environment |= {"PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path), "FILE": "gate.yml"}

    def typed(step: str, **given: str) -> subprocess.CompletedProcess[str]:
        line = ["bash", "-e", "-c", steps[step]["run"]]
        return subprocess.run(line, cwd=desk, env=environment | given, capture_output=True, text=True, check=False)

    assert typed("Install", ROLLWISE="", PACKAGE="").returncode != 0
    done = typed("Install", ROLLWISE=str(ROOT), PACKAGE=str(ROOT))
    assert done.returncode == 0, done.stderr
    (found,) = (tmp_path / "venv").glob("lib/*/site-packages/rollwise-*.dist-info/direct_url.json")
    assert json.loads(found.read_text())["url"] == ROOT.as_uri()
    gated = typed("Gate")
    assert gated.returncode in {0, 1, 3}, gated.stderr
    assert "attack_success" in (desk / "gate.md").read_text()
    summary = desk / "summary.md"
    assert typed("Summary", GITHUB_STEP_SUMMARY=str(summary)).returncode == 0
    assert summary.read_text() == (desk / "gate.md").read_text()


# ── what is built ─────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("words", "said"),
    [(["--upload"], "nothing is built for upload"), (["--uplaod"], "is not understood"), (["a", "b"], "is not understood")],
)  # fmt: skip
def test_nothing_is_built_for_upload_without_an_address(words: list[str], said: str) -> None:
    """One sentence, exit code 2."""
    if FACTS["address"] and words == ["--upload"]:
        pytest.skip("the repository has an address, with which a release is built")
    done = subprocess.run(["bash", ROOT / ".ci" / "release-check", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
