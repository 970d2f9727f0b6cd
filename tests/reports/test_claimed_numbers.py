"""Every number of the first screen and of the first sentence of each section is in a file of the folder: twenty logs and more."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.reports.claims import claims
from rollwise.reports.frames import Frames, frames
from rollwise.reports.results import results
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
    "scores alone": {"targets": {"x": 0.5, "y": 0.2}, "attacks": ["a", "b"], "goals": 20, "attempts": 2},
}  # fmt: skip
OWN = {"rollouts": ROOT / "data" / "rollouts", "README's": ROOT / "data" / "jailbreakbench"}


def logs() -> Iterator[Any]:
    for name in REAL:
        yield pytest.param(name, id=name)
    for name, folder in OWN.items():
        yield pytest.param(lambda folder=folder: rw.read(folder), id=name)
    for name, options in SIMULATED.items():
        yield pytest.param(lambda name=name, options=options: simulated(name, **options), id=name)
    yield pytest.param(rewards, id="rewards of a training")


def simulated(name: str, **options: Any) -> pl.DataFrame:
    turns: pl.DataFrame = rw.simulate(seed=3, **options)[0]
    if name != "scores alone":
        return turns
    bare = turns.drop("succeeded", "refused", "true_succeeded", strict=False)
    return bare.with_columns(pl.lit(None, turns.schema["outcome"]).alias("outcome"))


def rewards() -> pl.DataFrame:
    """Four attempts at fifteen tasks in each of five steps; the reward rises by step and task."""
    numbers = [(step, task, attempt) for step in range(5) for task in range(15) for attempt in range(4)]
    frame = pl.DataFrame({
        "rollout_id": [f"{step}/{task}/{attempt}" for step, task, attempt in numbers], "turn": 1,
        "step": [step for step, _, _ in numbers], "task": [f"task {task}" for _, task, _ in numbers],
        "attempt": [attempt + 1 for _, _, attempt in numbers], "response": "an answer",
        "reward": [((7 * task + 13 * attempt) % 10 + 2 * step) / 20 for step, task, attempt in numbers],
    })  # fmt: skip
    return rw.turns(frame)


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


@pytest.fixture(scope="module", params=[*logs()])
def data(request: pytest.FixtureRequest) -> Frames:
    """The frames of the report of a log."""
    shared = request.getfixturevalue("shared") if request.param in REAL else None
    turns = rw.read(shared / request.param, errors="collect")[0] if shared else request.param()
    return frames(turns, by="auto", cluster="auto", level=0.95, seed=0)


def without_names(data: Frames, texts: list[str]) -> list[str]:
    """Texts without the values of the grouping columns, which may have numbers in them."""
    names = {str(value) for name in (*data.by, "category", "attack") for value in data.rollouts[name].unique()}
    names |= {
        str(value) for name in ("taxonomy", "hazard") if data.hazards.height for value in data.hazards[name].unique()
    }
    for name in sorted(names, key=len, reverse=True):
        texts = [re.sub(rf"(?<!\w){re.escape(labels.plain(name))}(?!\w)", "NAME", text) for text in texts]
    return texts


@pytest.mark.integration
def test_each_number_of_the_first_screen_is_in_a_file(data: Frames) -> None:
    """Rates with intervals, differences, p-values, counts, bounds and the numbers of the title."""
    written = told(dict(data.files) | {"summary": data.summary})
    found = claims(data)
    assert found
    texts = [title(data), *(str(claim) for claim in found if claim.kind not in {"ask", "open"})]
    texts = without_names(data, texts)
    for text in texts[1:]:
        for kind, pattern in PATTERNS.items():
            assert {*re.findall(pattern, text)} <= written[kind], text
    for ends in re.findall(r"(?:([\d.]+) to )?([\d.]+) %(?!\))", texts[0]):
        assert {*ends} - {""} <= written["title"], texts[0]


def told_of_sections(data: Frames) -> dict[str, set[str]]:
    """What the frames of the sections hold, as a finding would write it: numbers with intervals, differences, what they rest on."""
    files = dict(data.files) | {"summary": data.summary}
    found = told(files)
    held: dict[str, set[str]] = {"interval": set(), "difference": found["difference"], "p": found["p"], "size": set()}
    for row in rows(
        files,
        "summary",
        "headline",
        "common_goals",
        "curve",
        "attempts",
        "profile",
        "training",
        "category_attack",
        "taxonomy",
    ):
        for rate in (True, False):
            held["interval"].add(labels.interval_text(row, rate=rate))
        held["size"] |= {labels.count(row.get(name)) for name in ("n", "at_risk", "n_clusters")}
    for row in rows(files, "contrast", "changes"):
        held["size"].add(labels.count(row["n_pairs"]))
    return held


SENTENCES = {
    "interval": r"[\u2212-]?[\d.,]*\d(?: %)? \[[^]]*\](?! points)",
    "difference": r"[\u2212-]?[\d.,]*\d points \[[^]]*\]",
    "p": r" p (?:= )?((?:< )?\d\.\d+)",
    "size": r"\(([\d,]+)(?:–([\d,]+))? (?:rollouts?|paths?|goals?|tasks?)(?: each)?(?:\)|;)|paired by ([\d,]+)",
}


@pytest.mark.integration
def test_each_number_that_a_section_begins_with_is_in_a_file(data: Frames) -> None:
    """Every section with a result begins with its finding; numbers with intervals, p-values and sizes are those of the frames."""
    sections = [section for section in results(data, {}, 0.95) if section.parts]
    assert sections
    held = told_of_sections(data)
    for section in sections:
        assert section.parts[0].kind == "finding", section.heading
        texts = without_names(data, [part.text for part in section.parts if part.kind == "finding"])
        for text in texts:
            for kind, pattern in SENTENCES.items():
                numbers = {
                    number
                    for found in re.findall(pattern, text)
                    for number in ([found] if isinstance(found, str) else found)
                }
                assert numbers - {""} <= held[kind], (section.heading, kind, text)
    # What a finding of rates or differences says is of the form of a claim: a number, its interval, and what it rests on.
    for section in sections:
        if section.id == "contrasts" and data.contrasts["p_value"].count():
            text = section.parts[0].text
            assert re.search(SENTENCES["difference"], text) or data.contrasts["low"].null_count(), text
            assert "paired by" in text, text
