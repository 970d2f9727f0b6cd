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


@pytest.mark.integration
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
    assert f"]({TRIED}/raw/v1.2.3/docs/pages/assets/report.png)" in text
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


@pytest.mark.integration
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


# ── what a release publishes ──────────────────────────────────────────────────────────────────────────────────────────
def jobs_of(name: str) -> dict[str, Any]:
    """The jobs of a workflow of this repository."""
    jobs: dict[str, Any] = YAML(typ="safe").load((ROOT / ".github" / "workflows" / name).read_text())["jobs"]
    return jobs


def typed_in(folder: Path, line: str, **given: str) -> subprocess.CompletedProcess[str]:
    """What the step of a workflow does in a folder."""
    words = ["bash", "-e", "-c", line]
    return subprocess.run(words, cwd=folder, env=os.environ | given, capture_output=True, text=True, check=False)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A repository whose only file is `pyproject.toml`, and commands `pip` and `poe` that say what was typed."""
    shutil.copyfile(ROOT / "pyproject.toml", tmp_path / "pyproject.toml")
    for name in ("pip", "poe"):
        command = tmp_path / "bin" / name
        command.parent.mkdir(exist_ok=True)
        command.write_text(f'#!/bin/sh\necho {name} "$@"\n')
        command.chmod(0o755)
    return tmp_path


def with_address(folder: Path, address: str) -> None:
    """Write the address of the repository."""
    path = folder / "pyproject.toml"
    path.write_text(re.sub('^repository = ".*?"', f'repository = "{address}"', path.read_text(), flags=re.MULTILINE))


@pytest.mark.integration
@pytest.mark.parametrize("name", ["publish.yml", "site.yml"])
@pytest.mark.parametrize(("address", "is_set"), [("", False), ("TODO", False), (TRIED, True)])
def test_nothing_is_published_before_there_is_an_address(name: str, address: str, bare: Path, *, is_set: bool) -> None:
    """The first step that runs, typed in bash, stops the job in one line; the job that publishes needs that one."""
    jobs = jobs_of(name)
    steps = [step for step in jobs["build"]["steps"] if "run" in step]
    assert jobs["publish"]["needs"] == "build"
    assert not [step for step in jobs["publish"]["steps"] if "run" in step]
    with_address(bare, address)
    done = typed_in(bare, steps[0]["run"])
    assert (done.returncode == 0) is is_set
    assert len(done.stderr.splitlines()) == (0 if is_set else 1)
    assert is_set or "nothing is published: write the address" in done.stderr


@pytest.mark.integration
@pytest.mark.parametrize(
    ("tag", "fits"), [("v{}", True), ("{}", True), ("v{}.1", False), ("v9.9.9", False), ("", False), ("v.*", False)]
)
def test_only_the_version_of_the_package_is_published(tag: str, bare: Path, *, fits: bool) -> None:
    """A tag that says another version than `pyproject.toml` stops the job."""
    (step,) = [step for step in jobs_of("publish.yml")["build"]["steps"] if step.get("name") == "Version"]
    done = typed_in(bare, step["run"], TAG=tag.format(FACTS["version"]))
    assert (done.returncode == 0) is fits
    assert fits or "is not the version of pyproject.toml" in done.stderr


@pytest.mark.integration
def test_every_step_of_a_workflow_is_a_task_or_installs_extras_that_exist(bare: Path) -> None:
    """Typed in bash: all that runs in the workflows, but for the steps of the gate and those tried above."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    path = f"{bare / 'bin'}{os.pathsep}{os.environ['PATH']}"
    typed = []
    for name in ("checks.yml", "publish.yml", "site.yml"):
        for job in jobs_of(name).values():
            steps = [step for step in job["steps"] if "run" in step and step.get("name") not in {"Address", "Version"}]
            typed += [typed_in(bare, step["run"], PATH=path).stdout.split() for step in steps]
    assert len(typed) >= 10
    for command, *words in typed:
        if command == "poe":
            assert set(words) <= set(settings["tool"]["poe"]["tasks"])
        else:
            assert command == "pip"
            assert words[0] == "install"
            (extras,) = re.findall(r"^\.\[(.*)\]$", words[-1])
            assert set(extras.split(",")) <= set(settings["project"]["optional-dependencies"])
    assert {" ".join(words) for words in typed if words[0] == "poe"} >= {"poe release", "poe docs-build"}


def test_what_is_published_is_trusted_and_attested() -> None:
    """No secret is used, and only the job that publishes may say whose work it is."""
    text = (ROOT / ".github" / "workflows" / "publish.yml").read_text()
    jobs = jobs_of("publish.yml")
    assert "secrets." not in text
    assert "permissions" not in jobs["build"]
    assert jobs["publish"]["permissions"] == {"id-token": "write", "attestations": "write"}
    *_, attested, sent = jobs["publish"]["steps"]
    assert attested["uses"].startswith("actions/attest-build-provenance@")
    assert sent["uses"].startswith("pypa/gh-action-pypi-publish@")
    assert sent["with"] == {"attestations": True}


@pytest.mark.integration
@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*-*.yml")), ids=lambda path: path.stem
)
def test_a_form_for_an_issue_asks_for_what_shows_the_error(path: Path) -> None:
    """Its questions have ids and labels, and what it tells to type exists."""
    form = YAML(typ="safe").load(path.read_text())
    assert {"name", "description", "body"} <= set(form)
    assert all({"type", "id", "attributes"} <= set(part) and part["attributes"]["label"] for part in form["body"])
    asked = {part["id"] for part in form["body"]}
    assert {"lines", "said"} <= asked or {"call", "frame"} <= asked
    for words in re.findall(r"`rollwise ([^`]+)`", path.read_text()):
        shown = [sys.executable, "-m", "rollwise", *words.replace("FILE", str(ROOT / "data" / "rollouts")).split()]
        assert subprocess.run(shown, capture_output=True, check=False).returncode == 0


# ── the table of tools beside rollwise ────────────────────────────────────────────────────────────────────────────────
RESOLVER = """#!{python}
import sys
if "--version" in sys.argv:
    sys.exit(print("uv 9.9.9"))
asked = open(sys.argv[-1]).read().split("\\n")
said = {said!r}
for needed, answer in said.items():
    if set(needed.split(" & ")) <= set(asked):
        sys.exit(answer)
print("polars==2.1.0")
pinned = dict(each.split("==") for each in asked if "==" in each)
for name in {tools!r}:
    print(name + "==" + pinned.get(name, "1.0" if len(asked) > 1 else "2.0"))
"""


def table_by(folder: Path, said: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """What the script prints where a resolver takes 2.0 of a tool alone, 1.0 beside others, and answers this to some."""
    tools = list(runpy.run_path(str(ROOT / "docs" / "beside.py"))["TOOLS"])
    stub = folder / "uv"
    stub.write_text(RESOLVER.format(python=sys.executable, said=said, tools=tools))
    stub.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    words = [sys.executable, str(ROOT / "docs" / "beside.py")]
    return subprocess.run(words, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False)


@pytest.mark.integration
def test_the_table_says_what_the_resolver_says(tmp_path: Path) -> None:
    """Newest alone, whether that fits, else the version that does, and what fits with all others."""
    clash = "No solution found: because garak==2.0 depends on polars<1"
    done = table_by(tmp_path, {"garak==2.0": clash, "verifiers": "No solution found: no such package"})
    assert done.returncode == 0, done.stderr
    assert "| garak | 2.0 | no, but 1.0 | - |" in done.stdout  # verifiers stop the environment of all of them
    assert "| verifiers | not to be had on Python 3.12 | - | - |" in done.stdout
    assert "| Inspect AI | 2.0 | yes | - |" in done.stdout
    assert clash in done.stderr
    assert "| MLflow | 2.0 | yes | 1.0 |" in table_by(tmp_path, {}).stdout


@pytest.mark.integration
def test_a_resolver_without_an_answer_is_no_answer(tmp_path: Path) -> None:
    """An index that cannot be reached, a package that cannot be built: no table, and no "no"."""
    done = table_by(tmp_path, {"garak": "error: Failed to fetch"})
    assert (done.returncode, done.stdout) == (1, "")
    assert "the resolver gave no answer" in done.stderr


def test_the_page_has_every_tool_of_the_table() -> None:
    """With its date, and what no longer fits is said beside it."""
    page = (ROOT / "docs" / "pages" / "beside.md").read_text()
    rows = re.findall(r"^\| ([^|]+) \| (\d[^|]*) \| (yes|no[^|]*) \|", page, re.MULTILINE)
    assert [name for name, *_ in rows] == list(runpy.run_path(str(ROOT / "docs" / "beside.py"))["TOOLS"].values())
    assert re.search(r"^Asked on \d{4}-\d\d-\d\d of uv", page, re.MULTILINE)


# ── what is built ─────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
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
