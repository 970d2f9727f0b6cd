"""Rates are grouped by what the users of a tool know, chosen from the logs."""

from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import schema
from rollwise.reports.frames import Frames, frames
from rollwise.reports.grouping import at_both_ends, explanation, naming, usual_groups
from rollwise.reports.rates import bounds, rates
from rollwise.reports.results import results


def table(source: str, *facts: dict[str, Any]) -> pl.DataFrame:
    """TURNS of a source: two rollouts for each set of facts."""
    rows = [
        {
            "source": source,
            "rollout_id": f"{source}/{place}/{k}",
            "turn": 1,
            "goal": f"g{k}",
            "succeeded": k == 1,
            **fact,
        }
        for place, fact in enumerate(facts)
        for k in range(2)
    ]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    # What a reader made has all columns of TURNS; names such as `task_name` are read as ours in tables of people's own.
    missing = (
        pl.lit(None, dtype).alias(name) for name, dtype in schema.TURNS.dtypes.items() if name not in frame.columns
    )
    return rw.turns(frame.with_columns(*missing))


BENIGN = {"attack": "none", "solved": True, "succeeded": None}
INSPECT = table(
    "inspect", *(BENIGN | {"task_name": task, "target": name} for task in ("ctf", "mmlu") for name in ("gpt", "claude"))
)
GARAK = table(
    "garak", *({"attack": probe, "detector": f"d.{probe}", "target": "llama"} for probe in ("dan.A", "dan.B"))
)
PLUGINS = [
    {"category": plugin, "attack": strategy, "target": "bot"}
    for plugin in ("pii", "bola")
    for strategy in ("basic", "goat")
]
PROMPTFOO = table("promptfoo", *PLUGINS)
AGENTDOJO = table(
    "agentdojo", *({"suite_name": suite, "target": "gpt", "attack": "direct"} for suite in ("slack", "bank"))
)
OTHER = table("other", {"target": "a", "task_name": "x"}, {"target": "b", "task_name": "y"})


@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    ("turns", "groups"),
    [
        (INSPECT, ("task_name", "target")),
        (GARAK, ("attack", "detector")),
        (PROMPTFOO, ("category", "attack")),
        (AGENTDOJO, ("suite_name",)),
        (OTHER, ("target",)),
        (pl.concat([INSPECT, GARAK], how="diagonal_relaxed"), ("task_name", "target", "attack", "detector")),
        (pl.concat([table("a", {"target": "x"}), table("b", {"target": "x"})]), ("source",)),
    ],
)
def test_groups_are_those_of_the_tool(turns: pl.DataFrame, groups: tuple[str, ...]) -> None:
    """As far as they vary; the source only where two would be pooled."""
    assert usual_groups(rw.measure(turns), runs=True) == groups


def test_the_choice_is_said_in_one_line_in_the_tools_words() -> None:
    """Also that it was requested."""
    rollouts = rw.measure(PROMPTFOO)
    assert explanation(rollouts, ("category", "attack"), chosen=False) == (
        "category (promptfoo's plugin), attack (promptfoo's strategy); chosen from the logs, --by changes it"
    )
    assert explanation(rollouts, ("attack",), chosen=True) == "attack (promptfoo's strategy); as requested"


def test_a_probe_is_one_group_whether_its_attempts_were_judged_or_not() -> None:
    """Attempts without a verdict have no detector in the log; they count as unjudged in the group of their probe."""
    unjudged = pl.int_range(pl.len()) == 0
    turns = GARAK.with_columns(
        detector=pl.when(~unjudged).then("detector"), succeeded=pl.when(~unjudged).then("succeeded")
    )
    rows = frames(turns, by="auto", cluster="auto", level=0.95, seed=0).rates("attack_success")
    assert rows.select("attack", "detector", "n", "n_undetermined").rows() == [
        ("dan.A", "d.dan.A", 1, 1),
        ("dan.B", "d.dan.B", 2, 0),
    ]


@pytest.mark.integration
def test_a_section_shows_only_the_columns_that_tell_its_groups_apart() -> None:
    """Attacks of garak have no task name and evaluations of Inspect no probe; neither table has empty columns."""
    both = pl.concat([INSPECT, GARAK], how="diagonal_relaxed")
    sections = rates(frames(both, by="auto", cluster="auto", level=0.95, seed=0), {}, 0.95)
    words = {
        section.id: [
            column.name for part in section.parts if part.table for column in part.table.columns if column.word
        ]
        for section in sections
    }
    assert words == {"attack-success": ["attack", "detector"], "task-success": ["task name", "target"]}


def tried(rows: list[dict[str, Any]], name: str) -> Frames:
    """The frames of a report whose tasks have this name."""
    return frames(rw.turns(pl.DataFrame(rows).rename({"task": name})), by="auto", cluster="auto", level=0.95, seed=0)


@pytest.mark.integration
def test_attacks_at_tasks_without_goals_are_compared_and_repeated_by_task() -> None:
    """Where nobody named a goal, the page pairs and profiles by task, as the intervals are, and says so."""
    rows = [
        {"response": "x", "task": f"t{k % 6}", "target": target, "attack": "pair", "succeeded": (k + shift) % 5 > 1}
        for shift, target in enumerate("ab")
        for k in range(24)
    ]
    named = {name: tried(rows, name) for name in ("task", "goal")}
    for frame in ("contrasts", "profiles", "reach"):
        ours, oracle = (getattr(named[name], frame) for name in ("task", "goal"))
        assert ours.height == oracle.height > 0
        numbers = [name for name, dtype in ours.schema.items() if dtype.is_numeric()]
        assert ours.select(numbers).equals(oracle.select(numbers))
    heads = [
        head.name
        for one in results(named["task"], {}, 0.95)
        for part in one.parts
        if part.table
        for head in part.table.columns
    ]
    assert "tasks in both" in heads
    assert not any("goal" in head for head in heads)


def test_a_detector_that_the_probe_implies_names_no_group() -> None:
    """It does where a probe has several detectors."""
    probes = pl.DataFrame({"attack": ["dan.Dan_11_0", "test.Test"], "detector": ["dan.DAN", "always.Pass"]})
    assert naming(probes, ["attack", "detector"]) == ("attack",)
    assert naming(pl.concat([probes, probes[::-1].with_columns(probes["attack"])]), ["attack", "detector"]) == (
        "attack",
        "detector",
    )


def test_of_many_groups_both_ends_are_shown() -> None:
    """Those with the highest and the lowest last estimate, in their order."""
    frame = pl.DataFrame({"target": ["a", "b", "c"], "estimate": [0.2, 0.9, 0.4]})
    assert at_both_ends(frame, ["target"], 2).rows() == [("a", 0.2), ("b", 0.9)]
    assert at_both_ends(frame, ["target"], 3).equals(frame)


def test_bounds_are_a_range_of_rates() -> None:
    """A dash where a group has none."""
    assert bounds({"bound_low": 0.25, "bound_high": 0.5}) == "25 – 50 %"
    assert bounds({"bound_low": None, "bound_high": None}) == "–"
