"""What loads what: the face costs nothing, and every name on it is there."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import rollwise as rw
from rollwise import compat

ROOT = Path(__file__).parents[1]
HEAVY = (
    "matplotlib",
    "scipy.stats",
    "pydantic",
    "pandas",
    "great_tables",
    "polars",
    "numpy",
    "scipy",
    "pyarrow",
    "lifelines",
)


def loaded(code: str) -> set[str]:
    """The modules loaded once the code has run in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print('\\n'.join(sys.modules))"],
        check=True,
        capture_output=True,
        text=True,
    )
    return set(done.stdout.split())


@pytest.mark.integration
def test_importing_the_package_loads_nothing_heavy() -> None:
    """`import rollwise` loads neither Polars nor NumPy, SciPy, matplotlib, pydantic or pandas."""
    assert not loaded("import rollwise").intersection(HEAVY)


@pytest.mark.integration
def test_help_loads_nothing_heavy() -> None:
    """`rollwise report --help` loads nothing heavy either, beyond what typer itself loads where it is installed."""
    words = "\ntry:\n    app(['report', '--help'], standalone_mode=False)\nexcept SystemExit: pass"
    empty = "import typer\napp = typer.Typer()\n@app.callback()\ndef main(): pass\n@app.command()\ndef report(): pass"
    ours = loaded(f"from rollwise.cli import app{words}")
    assert not (ours - loaded(empty + words)).intersection(HEAVY)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("words", "given", "expected"),
    [
        (["eval"], None, "dirty_decay_ms:0,"),
        (["summarize"], None, "dirty_decay_ms:100,"),
        (["eval"], "of Polars", "dirty_decay_ms:0,"),  # as what a notebook starts is given
        (["eval"], "dirty_decay_ms:7", "dirty_decay_ms:7"),
    ],
)
def test_memory_goes_back_as_soon_as_the_command_wants(words: list[str], given: str | None, expected: str) -> None:
    """Polars' allocator is told so by the command line, unless somebody chose a setting: one that Polars left is nobody's."""
    environment = {name: value for name, value in os.environ.items() if name != "_RJEM_MALLOC_CONF"}
    if given == "of Polars":
        environment |= {"_RJEM_MALLOC_CONF": after("import polars", environment)}
    elif given is not None:
        environment |= {"_RJEM_MALLOC_CONF": given}
    code = f"import sys\nfrom rollwise.__main__ import main\nsys.argv[1:] = {[*words, '--help']}\n"
    assert after(f"{code}try:\n    main()\nexcept SystemExit: pass", environment).startswith(expected)


def after(code: str, environment: dict[str, str]) -> str:
    """The setting of the allocator once the code has run in a fresh process."""
    tell = "\nimport os, sys; print(os.environ['_RJEM_MALLOC_CONF'], file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code + tell], check=True, capture_output=True, text=True, env=environment
    )
    return done.stderr.strip()


@pytest.mark.integration
def test_summarizing_loads_neither_scipy_stats_nor_matplotlib() -> None:
    """Numbers need neither the plotting library nor `scipy.stats`."""
    found = loaded(
        "import rollwise as rw\nt, _ = rw.simulate(goals=4, attempts=2, turns=3)\nr = rw.measure(t)\nrw.summarize(r)\nrw.curve(r)"
    )
    assert not found.intersection({"matplotlib", "scipy.stats", "pydantic", "pandas", "great_tables"})


@pytest.mark.integration
def test_what_needs_no_distribution_loads_no_scipy(tmp_path: Path) -> None:
    """Reading, checking and curves of many goals: their intervals are of the normal law and of t with many df."""
    turns = tmp_path / "turns.parquet"
    rw.write(rw.simulate(goals=1500, attempts=1, turns=3)[0], turns)
    code = f"import rollwise as rw\nt = rw.read({str(turns)!r})\nrw.doctor(t)\nr = rw.measure(t)\nrw.curve(r)\n"
    found = loaded(code)
    assert "rollwise.stats.incidence" in found
    assert "scipy.special" not in found
    assert "scipy.special" in loaded(f"{code}rw.summarize(r, method='exact')")


PLUGIN = """
import sys

from rollwise import BaseEvaluator, EvalOutputItem, EvaluatorBaseConfig, EvaluatorInfo, register_evaluator


class LoadedConfig(EvaluatorBaseConfig, name="loaded"):
    pass


class Loaded(BaseEvaluator):
    async def evaluate_item(self, item):
        return EvalOutputItem(id=item.id, score=1.0, reasoning=sorted(sys.modules))


@register_evaluator(config_type=LoadedConfig)
async def loaded(config, builder):
    yield EvaluatorInfo(config=config, evaluate_fn=Loaded().evaluate, description="what is loaded")
"""


@pytest.mark.integration
def test_an_evaluation_by_a_plug_in_loads_only_what_it_needs(tmp_path) -> None:
    """`rollwise eval` loads no client, figure or compressor; and NumPy and SciPy only when items have made room for them."""
    (tmp_path / "loaded_plugin.py").write_text(PLUGIN)
    (tmp_path / "data.json").write_text(
        json.dumps([{"id": n, "question": "q", "generated_answer": "a"} for n in range(3)])
    )
    general = {"output_dir": str(tmp_path / "out"), "dataset": {"file_path": str(tmp_path / "data.json")}}
    asked = {"plugins": ["loaded_plugin"], "eval": {"general": general, "evaluators": {"e": {"_type": "loaded"}}}}
    (tmp_path / "eval.yml").write_text(json.dumps(asked))
    words = ["eval", "--config_file", str(tmp_path / "eval.yml"), "--skip_workflow"]
    found = loaded(f"from rollwise.cli import app\napp({words!r}, standalone_mode=False)")
    assert not found.intersection(
        {
            *("pyarrow", "pandas", "scipy.stats", "matplotlib", "great_tables", "jinja2", "threadpoolctl"),
            *(
                "openai",
                "aiolimiter",
                "httpx",
                "tenacity",
                "rapidfuzz",
                "backports.zstd",
                "compression.zstd",
                "fastexcel",
                "obstore",
                "ray",
            ),
        }
    )
    scored = json.loads((tmp_path / "out" / "e_output.json").read_text())["eval_output_items"]
    assert {"numpy", "scipy.special"} <= found  # for the summary, after the scores
    assert all(not {"numpy", "scipy"}.intersection(item["reasoning"]) for item in scored)


INSTALLED_AS = {"backports": "backports.zstd", "ruamel": "ruamel.yaml", "sklearn": "scikit-learn"}
ASKED = {"import_module", "find_spec"}  # what imports by a name, or asks whether it could


def imported(folder: Path) -> set[str]:
    """The packages beside Python's own and ours that files of a folder import, under the names they are installed by."""
    modules: set[str] = set()
    for file in folder.rglob("*.py"):
        if file.parent == ROOT / "tests" / "producers":
            continue  # each runs in an environment of its own, where its tool is installed
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.Import):
                modules |= {name.name for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules.add(node.module)
            elif isinstance(node, ast.Call) and getattr(node.func, "attr", None) in ASKED:
                modules |= {
                    one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)
                }
    there = [ROOT / "tests", *(ROOT / "tests").rglob("*.py")]
    ours = {"rollwise", *(name for file in there for name in (file.stem, file.parent.name))}
    standard = {*sys.stdlib_module_names, "compression"}  # the last since 3.14
    top = {name.partition(".")[0] for name in modules} - standard - ours
    return {INSTALLED_AS.get(name, name.replace("_", "-")) for name in top}


def listed(*requirements: str) -> set[str]:
    """The names of requirements."""
    return {re.split(r"[^\w.-]", one, maxsplit=1)[0].replace("_", "-") for one in requirements}


@pytest.mark.integration
@pytest.mark.skipif(
    not (ROOT / "pyproject.toml").is_file(), reason="pyproject.toml, which lists the packages, is not here"
)
def test_the_packages_that_are_listed_are_the_ones_that_are_imported() -> None:
    """None is there only because another brings it along, which it may cease to do; and none is asked for in vain."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    of_tests = [*extras.pop("dev"), *extras.pop("docs")]  # tools among them are run, not imported
    extras.pop("notebook")
    extras.pop("release")
    used = listed(*project["dependencies"], *(one for extra in extras.values() for one in extra))
    assert imported(ROOT / "src") == used
    # ragas needs an environment of its own, as its versions exclude ours; its tests skip without it.
    assert imported(ROOT / "tests") - {"ragas"} <= used | listed(*of_tests)


@pytest.mark.parametrize("name", rw.__all__)
def test_every_name_of_the_face_is_there(name: str) -> None:
    """Each name can be had and is documented."""
    assert getattr(rw, name).__doc__
    assert name in dir(rw)


@pytest.mark.parametrize("part", [rw.metrics, rw.plots, rw.tables])
def test_what_is_completed_is_what_is_meant_for_users(part: ModuleType) -> None:
    """Pressing the tab key shows no rooms within."""
    assert sorted(dir(part)) == sorted(part.__all__)
    assert [name for name in dir(part) if isinstance(getattr(part, name), ModuleType)] in ([], ["catalog"], ["marks"])


def test_a_name_that_is_not_there_says_what_is() -> None:
    """A misspelt name is an AttributeError that names what was meant, or lists the names there are where none is near."""
    with pytest.raises(AttributeError, match=r"did you mean `summarize`\?$"):
        rw.summarise  # noqa: B018  # the access is the test
    with pytest.raises(AttributeError, match=r"available: .*write$"):
        rw.xyzzy  # noqa: B018


def test_a_name_of_a_namespace_is_suggested_with_it() -> None:
    """As `rw.agreement`, which lives in `rw.judges`."""
    with pytest.raises(AttributeError, match=r"did you mean `rw.judges.agreement`\?$"):
        rw.agreement  # noqa: B018  # the access is the test


@pytest.mark.parametrize("space", [rw.judges, rw.rollout, rw.readers, compat.astra, compat.nat, compat.aisteer])
def test_every_name_of_a_namespace_is_there(space: ModuleType) -> None:
    """Each name of a namespace can be had and is documented."""
    assert space.__all__
    assert all(getattr(space, name).__doc__ for name in space.__all__)


def test_classes_of_other_projects_are_imported_from_the_top_or_from_compat() -> None:
    """The seed pages' import lines work with `rollwise` and with `rollwise.compat`; the top level does not list them."""
    from rollwise import BaseEvaluator, Evaluator, LLMJudgeMetric

    assert (Evaluator, BaseEvaluator, LLMJudgeMetric) == (
        compat.astra.Evaluator,
        compat.nat.BaseEvaluator,
        compat.aisteer.LLMJudgeMetric,
    )
    assert not {"Evaluator", "BaseEvaluator", "LLMJudgeMetric"} & {*dir(rw), *rw.__all__}
