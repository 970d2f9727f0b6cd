"""Cases of reading: every fixture of the readers, and real logs of other tools where they are at hand."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
from golden.stored import REAL_LOGS, REPOSITORY, SHARED, Cases, Result  # type: ignore[import-not-found]

import rollwise as rw
from rollwise.compat import nat

FIXTURES = REPOSITORY / "tests" / "readers" / "fixtures"
TOGETHER = ("art", "best_of_n", "garak", "native", "pyrit", "swe_agent", "tau2", "trl")
"""Folders of fixtures that are also read as a whole."""

NO_LOGS = ("LICENSES", "agentdojo_drift", "tau2_bench")
"""Folders of the shared data without logs, or whose logs are not read folder by folder."""


def read(paths: Any) -> Callable[[], Result]:
    """The turns and the problems of some files."""

    def case() -> Result:
        turns, problems = rw.read(paths, errors="collect")
        return {"turns": turns, "problems": problems}

    return case


def step_case(path: Path) -> Callable[[], Result]:
    """The steps of a log that keeps them, what they took, and their events."""

    def case() -> Result:
        steps = rw.readers.steps(path)
        return {"steps": steps, "measured": rw.metrics.measure_steps(steps), "events": nat.events(steps)}

    return case


def fixture_cases() -> Cases:
    """Every fixture by itself, some folders, and what other verbs read from them."""
    cases = {
        f"read/{path.relative_to(FIXTURES).as_posix()}": read(path)
        for path in sorted(FIXTURES.rglob("*"))
        if path.is_file() and not any(part.startswith((".", "__")) for part in path.parts)
    }
    cases |= {f"read/{folder}, all": read(FIXTURES / folder) for folder in TOGETHER}
    logs = REPOSITORY / "data" / "rollouts"
    cases["read/data of the repository"] = lambda: {"turns": rw.read(logs)}
    cases["read/columns that are wanted"] = lambda: rw.read(logs, columns=["target", "goal", "succeeded"])
    cases["read/facts and names"] = lambda: rw.read(FIXTURES / "native" / "toy.csv", run="a run")
    cases["read/rollouts of inspect"] = lambda: rw.readers.read_rollouts(FIXTURES / "inspect" / "log.json")
    cases["read/summary of inspect"] = lambda: rw.readers.read_summary(FIXTURES / "inspect" / "log.json")
    cases["read/summary of jailbreakbench"] = lambda: rw.readers.read_summary(FIXTURES / "jailbreakbench" / "toy.json")
    cases["read/steps of nat"] = step_case(FIXTURES / "nat" / "workflow_output.json")
    cases["read/steps of atif"] = step_case(FIXTURES / "atif" / "trajectory.json")
    return cases


def real_log_cases() -> Cases:
    """Folders of real logs: the files in each together, which takes less than a second; none where they are absent."""
    if not SHARED.is_dir():
        return {}
    folders = sorted({path.parent for path in SHARED.rglob("*") if path.is_file()} - {SHARED})
    cases = {}
    for folder in folders:
        inside = folder.relative_to(SHARED)
        if inside.parts[0] not in NO_LOGS:
            files = sorted(path for path in folder.iterdir() if path.is_file())
            cases[f"{REAL_LOGS}/{inside.as_posix()}"] = read(files)
    cases[f"{REAL_LOGS}/tau2_bench"] = read(SHARED / "tau2_bench")
    for suite in sorted((SHARED / "agentdojo_drift" / "runs").glob("*/*")):
        cases[f"{REAL_LOGS}/agentdojo_drift/{suite.name}"] = read(suite)
    cases[f"{REAL_LOGS}/summary of inspect"] = lambda: rw.readers.read_summary(SHARED / "inspect" / "log-sets")
    cases[f"{REAL_LOGS}/summary of garak"] = lambda: rw.readers.read_summary(SHARED / "garak", errors="collect")[0]
    cases[f"{REAL_LOGS}/verdicts of hibayes"] = lambda: rw.judges.read_verdicts(SHARED / "hibayes_judge_csv")
    cases[f"{REAL_LOGS}/verdicts of pyrit"] = lambda: rw.judges.read_verdicts(SHARED / "pyrit")
    cases[f"{REAL_LOGS}/prompts of astra"] = lambda: rw.rollout.read_prompts(SHARED / "astra_rl_prompts")
    cases[f"{REAL_LOGS}/steps of atif"] = step_case(SHARED / "atif" / "nat" / "exmp02_atif.json")
    cases[f"{REAL_LOGS}/rates of jailbreakbench"] = lambda: rates(["jailbreakbench"], by=["target", "attack"])
    cases[f"{REAL_LOGS}/rates of agentdojo"] = lambda: rates(["agentdojo_drift"], by="attack")
    cases[f"{REAL_LOGS}/attempts of tau_bench"] = lambda: rw.attempts(
        rw.measure(rw.read(SHARED / "tau_bench" / "gpt-4o-airline.json")), metric="task_success"
    )
    return cases


def rates(folders: list[str], by: Any) -> pl.DataFrame:
    """The summary of real logs."""
    turns, _ = rw.read([SHARED / folder for folder in folders], errors="collect")
    return rw.summarize(rw.measure(turns), by=by, resamples=500)
