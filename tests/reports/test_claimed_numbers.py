"""Every number of the first screen is in a file of the folder: twenty logs, real and simulated."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.reports.claims import claims
from rollwise.reports.frames import frames
from rollwise.reports.title import title, value_in_title
from rollwise.schema import labels

ROOT = Path(__file__).parents[2]
REAL = (
    "agentdojo_drift", "atif", "deepteam", "garak", "inspect", "intercode", "jailbreakbench", "llm_adaptive_attacks", "mint",
    "quesma_gpt_oss", "swe_agent", "tau2_bench", "tau_bench",
)  # fmt: skip
SIMULATED: dict[str, dict[str, Any]] = {
    "one group": {"targets": {"base": 0.3}, "attacks": ["a"]},
    "two targets": {"targets": {"base": 0.3, "guarded": 0.1}, "attacks": ["a"], "goals": 20},
    "three by two": {"targets": {"x": 0.5, "y": 0.2, "z": 0.05}, "attacks": ["a", "b"], "goals": 20},
    "unjudged": {"targets": {"x": 0.5, "y": 0.2}, "unjudged_share": 0.3, "goals": 20},
    "crashed": {"targets": {"x": 0.5, "y": 0.2}, "error": 0.2, "goals": 20},
    "branches": {"branches": 2, "turns": 2, "goals": 10, "attempts": 2, "give_up": 0, "target_ends": 0, "error": 0},
    "never broken": {"targets": {"x": 1e-9, "y": 1e-9}, "goals": 20},
}  # fmt: skip
OWN = {"rollouts": ROOT / "data" / "rollouts", "README's": ROOT / "data" / "jailbreakbench"}


def logs() -> Iterator[Any]:
    for name in REAL:
        yield pytest.param(lambda shared, name=name: rw.read(shared / name, errors="collect")[0], id=name)
    for name, folder in OWN.items():
        yield pytest.param(lambda _, folder=folder: rw.read(folder), id=name)
    for name, options in SIMULATED.items():
        yield pytest.param(lambda _, options=options: rw.simulate(seed=3, **options)[0], id=name)


def rows(files: dict[str, pl.DataFrame], *names: str) -> Iterator[dict[str, Any]]:
    for name in names:
        yield from files.get(name, pl.DataFrame()).rows(named=True)


def told(files: dict[str, pl.DataFrame]) -> dict[str, set[str]]:
    """What the files of a folder hold, as a page would write it."""
    found: dict[str, set[str]] = {name: set() for name in (*PATTERNS, "title")}
    for row in rows(files, "summary", "headline", "common_goals"):
        rate = labels.is_rate(row["metric"], row)
        found["interval"].add(labels.interval_text(row, rate=rate))
        ends = labels.bracket(row["low"], row["high"], value=row["estimate"], rate=rate)
        found["bound"].update(re.findall(r"[\d.]+", ends))
        if row["estimate"] is not None and row["statistic"] == "mean":
            found["title"].add(value_in_title(row["estimate"], rate=rate))
            found["count"].add(f"{labels.count(row['estimate'] * row['n'])} of {labels.count(row['n'])}")
    for row in rows(files, "headline_contrast", "contrast", "changes"):
        low, high = (None if row[end] is None else -row[end] for end in ("high", "low"))
        turned = row | {"difference": -row["difference"], "low": low, "high": high}
        found["difference"] |= {labels.difference_text(one, "points") for one in (row, turned)}
        found["p"].add(labels.p_text(row["p_adjusted"]))
    for row in rows(files, "rank"):
        first, last, groups = row["rank_low"], row["rank_high"], files["rank"].height
        found["rank"] |= {f"{first} to {last}", f"{groups + 1 - last} to {groups + 1 - first}"}
    return found


PATTERNS = {
    "difference": r"−?[\d.,]+ points \[[^]]*\]",
    "interval": r"[\d.,]+ % \[[^]]*\]",
    "count": r"([\d,]+ of [\d,]+)(?: rollouts| paths|:|, (?:twice|\w+ times))",
    "bound": r"at (?:most|least) ([\d.]+) %",
    "p": r"adjusted p (?:= )?(< [\d.]+|[\d.]+)",
    "rank": r"rank (\d+ to \d+)",
}


@pytest.mark.integration
@pytest.mark.parametrize("log", [*logs()])
def test_each_number_of_the_first_screen_is_in_a_file(request: pytest.FixtureRequest, log: Callable[..., Any]) -> None:
    """Rates with intervals, differences, p-values, counts, bounds and the numbers of the title."""
    shared = request.getfixturevalue("shared") if request.node.callspec.id in REAL else None
    data = frames(log(shared), by="auto", cluster="auto", level=0.95, seed=0)
    written = told(dict(data.files) | {"summary": data.summary})
    names = sorted({str(value) for name in data.by for value in data.rollouts[name].unique()}, key=len, reverse=True)
    found = claims(data)
    assert found
    texts = [title(data), *(str(claim) for claim in found if claim.kind not in {"ask", "open"})]
    for name in names:
        texts = [text.replace(labels.plain(name), "NAME") for text in texts]
    for text in texts[1:]:
        for kind, pattern in PATTERNS.items():
            assert {*re.findall(pattern, text)} <= written[kind], text
    for ends in re.findall(r"(?:([\d.]+) to )?([\d.]+) %(?!\))", texts[0]):
        assert {*ends} - {""} <= written["title"], texts[0]
