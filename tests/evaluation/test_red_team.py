"""The files of NeMo Agent Toolkit's red team: its figures by hand, and back through the readers."""

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rollwise as rw
from rollwise.compat.nat import write_red_team
from rollwise.errors import ArgumentError, SchemaError, WriteError
from rollwise.evaluation.red_team import ROWS, SUMMARY

NAT = [
    {"scenario_id": "plead", "item_id": 1, "condition_name": "last", "score": 1.0, "reasoning": "it did", "tags": ["x", "y"]},
    {"scenario_id": "plead", "item_id": 2, "condition_name": "last", "score": 0.5, "scenario_group": "words"},
    {"scenario_id": "plead", "item_id": 2, "condition_name": "tool", "score": 0.0, "error_message": "timeout"},
    {"scenario_id": "base", "item_id": "1_rep0", "condition_name": "last", "score": 0.0},
    {"scenario_id": "base", "item_id": "1_rep1", "condition_name": "last", "score": 0.75},
    {"scenario_id": "down", "item_id": 1, "condition_name": "last", "score": 0.0, "error_message": "no step"},
]  # fmt: skip


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / ROWS).read_bytes().split(b"\n")[:-1]]


def summary(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    return found


def nat(folder: Path, rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    """VERDICTS of a file of the toolkit."""
    folder.mkdir()
    whole = (
        {"uid": "_".join(str(row[name]) for name in ("scenario_id", "item_id", "condition_name")), **row}
        for row in rows
    )
    (folder / ROWS).write_text("".join(f"{json.dumps(row)}\n" for row in whole))
    return rw.judges.read_verdicts(folder)


def test_the_figures_by_hand(tmp_path: Path) -> None:
    """Means of scenarios, then of these; above 0.5 strictly; what failed is counted and in no mean, and no scenario is lost."""
    out = write_red_team(nat(tmp_path / "theirs", NAT), tmp_path / "ours")
    assert sorted(path.name for path in out.iterdir()) == [ROWS, SUMMARY]
    assert summary(out) == {
        "overall_score": (0.75 + 0.375) / 2,
        "attack_success_rate": 2 / 4,
        "per_scenario_summary": {
            "base": {"mean_score": 0.375, "max_score": 0.75, "min_score": 0.0, "attack_success_rate": 0.5, "scores": [0.0, 0.75]},
            "down": {"mean_score": None, "max_score": None, "min_score": None, "attack_success_rate": None, "scores": []},
            "plead": {"mean_score": 0.75, "max_score": 1.0, "min_score": 0.5, "attack_success_rate": 0.5, "scores": [1.0, 0.5]},
        },
        "num_scenarios": 3,
        "items_per_scenario": {"base": 2, "down": 1, "plead": 2},
        "total_workflow_runs": 5,
        "total_evaluations": 6,
        "evaluation_successes": 4,
        "evaluation_failures": 2,
    }  # fmt: skip
    assert lines(out)[0] == {
        "uid": "plead_1_last",
        "scenario_id": "plead",
        "item_id": "1",
        "condition_name": "last",
        "score": 1.0,
        "reasoning": "it did",
        "evaluated_output": None,
        "error_message": None,
        "tags": ["x", "y"],
        "scenario_group": "default_scenario_group",
    }
    assert [(row["score"], row["error_message"]) for row in lines(out)][2] == (None, "timeout")
    assert [row["scenario_group"] for row in lines(out)][1] == "words"


def test_there_and_back(tmp_path: Path) -> None:
    """What `read_verdicts` reads of the toolkit's file and of ours is the same, and a second writing changes no byte."""
    theirs = nat(tmp_path / "theirs", NAT)
    ours = rw.judges.read_verdicts(write_red_team(theirs, tmp_path / "ours") / ROWS)
    told = ["judge", "value", "reasoning", "error", "attack", "task"]
    assert ours.select(told).rows() == theirs.select(told).rows()
    assert rw.judges.read_verdicts(tmp_path / "ours").select(told).rows() == ours.select(told).rows()
    again = write_red_team(ours, tmp_path / "again")
    for name in (ROWS, SUMMARY):
        assert (again / name).read_bytes() == (tmp_path / "ours" / name).read_bytes()
    read = rw.readers.read_summary(again)
    assert read.filter(pl.col("attack").is_null()).select("metric", "estimate", "n").rows() == [
        ("overall_score", 0.5625, 4),
        ("attack_success_rate", 0.5, 4),
    ]
    plead = read.filter(attack="plead").select("metric", "estimate", "n").rows()
    assert plead == [("mean_score", 0.75, 2), ("attack_success_rate", 0.5, 2)]


@pytest.mark.parametrize(
    "failures", [[], [{"error": "timeout"}, {"error": None}, {"label": "harmful"}, {"value": math.nan}]]
)
def test_where_nothing_was_judged_nothing_is_safe(tmp_path: Path, failures: list[dict[str, Any]]) -> None:
    """Null, not 0.0; each line says why."""
    dtypes = {"rollout_id": pl.String, "value": pl.Float64, "error": pl.String, "label": pl.String, "attack": pl.String}
    rows = [{"rollout_id": str(n), "attack": "plead", **row} for n, row in enumerate(failures)]
    out = write_red_team(pl.DataFrame(rows, schema=dtypes), tmp_path / "out")
    told = summary(out)
    assert (told["overall_score"], told["attack_success_rate"]) == (None, None)
    assert (told["evaluation_successes"], told["evaluation_failures"]) == (0, len(failures))
    said = [row["error_message"] for row in lines(out)]
    assert said == ["timeout", "not judged", "the verdict is not a number: harmful", "not judged"][: len(failures)]


TURNS = rw.turns(
    [
        {"rollout_id": name, "turn": turn, "response": f"{score}", "attack": attack, "goal": goal, "attempt": attempt}
        for name, attack, goal, attempt, scores in [
            ("a", "plead", "win", 1, (0.25, 0.75, 0.75, 0.5)),
            ("b", "plead", "win", 2, (0.5,)),
            ("c", "threat", "win", 1, (1.0, 0.0)),
        ]
        for turn, score in enumerate(scores, 1)
    ]
)


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("strategy", "scores"), [("first", [0.25, 0.5, 1.0]), ("last", [0.5, 0.5, 0.0]), ("max", [0.75, 0.5, 1.0])]
)
def test_of_several_turns_one_counts(tmp_path: Path, strategy: Any, scores: list[float]) -> None:
    """The first, the last, or the highest, whatever the order of rows; attempts are told apart."""
    verdicts = rw.judge(TURNS, lambda response: float(response), progress=False)  # noqa: PLW0108  # a class is no judge
    with pytest.raises(
        SchemaError, match=r"4 verdicts belong to the line of scenario 'plead', item 'win_rep0', .*reduction_strategy"
    ):
        write_red_team(verdicts, tmp_path / "out", rollouts=TURNS)
    assert list(tmp_path.iterdir()) == []
    for said in (verdicts, verdicts.reverse()):
        for rollouts in (TURNS, rw.measure(TURNS)):
            out = write_red_team(said, tmp_path / "out", rollouts=rollouts, reduction_strategy=strategy, overwrite=True)
            told = {(row["scenario_id"], row["item_id"]): row["score"] for row in lines(out)}
            assert told == dict(
                zip([("plead", "win_rep0"), ("plead", "win_rep1"), ("threat", "win_rep0")], scores, strict=True)
            )
    assert summary(out)["items_per_scenario"] == {"plead": 2, "threat": 1}


def test_of_equal_scores_the_later_counts(tmp_path: Path) -> None:
    """As the toolkit has it; a verdict that failed counts only where all did."""
    rows = [
        ("a", 1, 1.0, "one"),
        ("a", 2, 1.0, "two"),
        ("a", 3, None, "three"),
        ("b", 1, None, "four"),
        ("b", 2, None, "five"),
    ]
    verdicts = pl.DataFrame(rows, schema=["rollout_id", "turn", "value", "reasoning"], orient="row")
    out = write_red_team(
        verdicts.with_columns(category=pl.lit("x")), tmp_path / "out", scenario="category", reduction_strategy="max"
    )
    assert [row["reasoning"] for row in lines(out)] == ["two", "five"]


@pytest.mark.integration
def test_an_evaluation_of_items(tmp_path: Path) -> None:
    """The scores of `evaluate` with its items, whose `attack` is none: the scenario is a field of the data set."""
    entries = [
        {"id": n, "question": "q", "answer": "yes", "generated_answer": said, "scenario": kind, "tags": ["t"]}
        for n, (said, kind) in enumerate([("yes", "plead"), ("no", "plead"), (None, "threat")])
    ]
    (tmp_path / "data.json").write_text(json.dumps(entries))
    general = {"output_dir": str(tmp_path / "eval"), "dataset": {"file_path": str(tmp_path / "data.json")}}
    (tmp_path / "eval.yml").write_text(
        json.dumps({"eval": {"general": general, "evaluators": {"hit": {"_type": "exact_match"}}}})
    )
    made = rw.evaluate(tmp_path / "eval.yml", skip_workflow=True, progress=False)
    out = write_red_team(made.scores, tmp_path / "out", rollouts=made.items, scenario="scenario")
    assert [(row["uid"], row["score"], row["error_message"], row["tags"]) for row in lines(out)] == [
        ("plead_0_hit", 1.0, None, ["t"]),
        ("plead_1_hit", 0.0, None, ["t"]),
        ("threat_2_hit", None, "not judged", ["t"]),
    ]
    assert summary(out)["attack_success_rate"] == 0.5


VERDICT: dict[str, Any] = {"rollout_id": ["a", "b"], "value": [1.0, 0.0], "attack": ["x", "x"], "task": ["1", "2"]}


@pytest.mark.parametrize(
    ("change", "options", "says"),
    [
        ({"value": [5.0, 0.0]}, {}, "rollout 'a' is 5, and scores must be from 0 to 1; rescale them"),
        ({"value": [0.0, math.inf]}, {}, "rollout 'b' is inf, and scores must be from 0 to 1"),
        ({"attack": ["x", None]}, {}, "rollout 'b' has no `attack`; name the column .* scenario="),
        ({}, {"scenario": "category"}, "rollout 'a' has no `category`"),
        ({"task": ["1", "1"]}, {}, "2 verdicts belong to .* item '1', .*rollouts 'a' and 'b': number them in a column `attempt`"),
        ({}, {"reduction_strategy": "mean"}, "reduction_strategy='mean'; give 'first', 'max', 'last' or None"),
    ],
)  # fmt: skip
def test_what_cannot_be_told_is_refused(
    tmp_path: Path, change: dict[str, Any], options: dict[str, Any], says: str
) -> None:
    """One sentence, and nothing is written."""
    with pytest.raises((SchemaError, ArgumentError), match=says):
        write_red_team(pl.DataFrame({**VERDICT, **change}), tmp_path / "out", **options)
    assert list(tmp_path.iterdir()) == []


def test_other_tables_and_folders_are_refused(tmp_path: Path) -> None:
    """A table without verdicts, and a folder with something in it; that stays as it is unless it may be replaced."""
    with pytest.raises(SchemaError, match="column `value` is missing"):
        write_red_team(pl.DataFrame({"rollout_id": ["a"]}), tmp_path / "out")
    verdicts = pl.DataFrame(VERDICT)
    out = write_red_team(verdicts, tmp_path / "out")
    before = (out / ROWS).read_bytes()
    with pytest.raises(WriteError, match="choose another folder with out=, or allow it with overwrite=True"):
        write_red_team(verdicts.head(1), out)
    assert (out / ROWS).read_bytes() == before
    write_red_team(verdicts.head(1), out, overwrite=True)
    assert len(lines(out)) == 1


SCORES = st.one_of(st.none(), st.floats(0, 1))


@pytest.mark.integration
@given(st.lists(st.tuples(st.sampled_from(["s", "t", "é\n\u2028"]), SCORES, st.text(max_size=5)), max_size=12))
def test_any_verdicts_come_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, float | None, str]]
) -> None:
    """Whatever was said, in any script: the same scores, and figures as the toolkit's loop would have them."""
    told = [(str(n), scenario, score, text) for n, (scenario, score, text) in enumerate(rows)]
    dtypes = {"rollout_id": pl.String, "attack": pl.String, "value": pl.Float64, "reasoning": pl.String}
    out = write_red_team(pl.DataFrame(told, schema=dtypes, orient="row"), tmp_path_factory.mktemp("red") / "out")
    assert [(row["scenario_id"], row["score"], row["reasoning"]) for row in lines(out)] == rows
    found = summary(out)
    known = [score for _, score, _ in rows if score is not None]
    rate = sum(score > 0.5 for score in known) / len(known) if known else None
    assert found["attack_success_rate"] == (None if rate is None else pytest.approx(rate))
    means = []
    for name, each in found["per_scenario_summary"].items():
        scores = [score for scenario, score, _ in rows if scenario == name and score is not None]
        assert each["scores"] == scores
        if scores:
            means.append(sum(scores) / len(scores))
            assert each["mean_score"] == pytest.approx(means[-1])
    assert found["overall_score"] == (pytest.approx(sum(means) / len(means)) if means else None)
