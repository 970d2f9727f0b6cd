"""A rollout that cannot be read still counts, as missing; an odd field costs itself alone."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from readers.mutants import FIXTURES, loaded, written  # type: ignore[import-not-found]  # needs the path of tests

from rollwise import read
from rollwise.errors import ReadError
from rollwise.readers.registry import FORMATS

FACTS = ["run", "target", "attack", "goal", "task", "category", "attempt"]


def at(value: Any, *path: str | int) -> Any:
    """The part of a value at this path."""
    for part in path:
        value = value[part]
    return value


def sets(*path: str | int, to: Any) -> Callable[[Any], None]:
    """A change of one value of a log."""

    def change(log: Any) -> None:
        at(log, *path[:-1])[path[-1]] = to

    return change


def both(name: str, change: Callable[[Any], None], folder: Path) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """What is read of a log before and after a change, and the problems after it."""
    source = FIXTURES / name
    path = folder / name
    path.parent.mkdir(parents=True)
    path.write_text(source.read_text())
    before, usual = read(path, errors="collect")
    log = loaded(source)
    change(log)
    path.write_text(written(source, log))
    with pytest.raises(ReadError):
        read(path)
    after, problems = read(path, errors="collect")
    return before, after, problems.join(usual, on=problems.columns, how="anti", nulls_equal=True)


BROKEN = {  # of each format: a log, a change that leaves no conversation, and the place of the rollout
    "promptfoo": ("promptfoo/results.json", sets("results", "results", 0, "namedScores", to=3), 0),
    "a red team of promptfoo": ("promptfoo/red_team.json", sets("results", "results", 0, "namedScores", to=3), 0),
    "lm_eval": (
        "lm_eval/samples_sums_2025-01-01T00-00-00.000000.jsonl",
        sets(0, "metrics", to="exact_match"),
        0,
    ),
    "a trace of verifiers": ("verifiers/traces.jsonl", sets(0, "nodes", to="gone"), 0),
    "a result of verifiers": ("verifiers/results.jsonl", sets(0, "completion", to=[3]), 0),
    "skyrl": ("skyrl/math.jsonl", sets(0, "output_response", to=["4"]), 0),
    "verl": ("verl/10.jsonl", sets(0, "output", to=["4"]), 0),
    "openhands": ("openhands/output.jsonl", sets(1, "history", to="gone"), 1),
    "an event of openhands": ("openhands/sdk.jsonl", sets(0, "history", 3, to=3), 0),
    "a finding of quesma": ("quesma/export.json", sets("findings", 0, "prompt", to=3), 0),
    "an attempt of quesma": ("quesma/session.json", sets("attempts", 0, "turns", to="gone"), 0),
    "deepteam": ("deepteam/assessment.json", sets("test_cases", 0, "turns", to="gone"), 0),
    "garak": ("garak/report.jsonl", sets(3, "conversations", 0, to=[{}]), 0),
    "a hit of garak": ("garak_hitlog/toy.hitlog.jsonl", sets(2, "prompt", "turns", 0, to="gone"), 1),
    "tau2": ("tau2/run/results.json", sets("simulations", 0, "messages", 0, to=3), 0),
    "a simulation of tau2 in its own file": ("tau2/text/simulations/sim-7.json", sets("messages", 0, to=3), 0),
    "agentdojo": ("agentdojo/conversations.json", sets("conversations", 1, "role", to=3), 0),
}


EARLIER = {
    "aider", "aider_benchmark", "aisteer", "anthropic_output", "art", "astra", "atif", "atof", "autodan",
    "best_of_n", "bfcl", "claude_code", "codex", "deepeval", "docent", "evalplus", "every_eval_ever", "gcg",
    "gemini_output", "harmbench", "hh_rlhf", "injecagent", "inspect", "inspect_scout", "intercode",
    "jailbreakbench", "langfuse", "langsmith", "mhj", "mint", "mlflow", "mt_bench", "nat", "native",
    "openai_chat", "openai_evals", "openai_output", "opentelemetry", "pairs", "petri", "phoenix", "pi", "pyrit",
    "ragas", "rjudge", "session_traces", "sharegpt", "swe_agent", "swe_bench", "tau_bench", "terminal_bench",
    "trl", "xstest",
}  # fmt: skip
"""Formats that were here before this list, whose records are broken in tests of their own and in `test_mutants.py`."""


def test_every_new_format_is_broken_here():
    """A format that joins the registry joins `BROKEN`: its broken rollout counts as missing, and is not left out."""
    there = {log.partition("/")[0] for log, _, _ in BROKEN.values()} | EARLIER
    new = sorted({form.name for form in FORMATS} - there)
    assert not new, (
        f"add a log of {', '.join(new)} to BROKEN, with a change that leaves no conversation of one of its rollouts"
    )


@pytest.mark.thinned(2)
@pytest.mark.parametrize("name", list(BROKEN))
def test_a_rollout_that_cannot_be_read_is_missing_and_not_absent(name, tmp_path):
    log, change, place = BROKEN[name]
    before, after, problems = both(log, change, tmp_path)
    assert problems.height == 1
    # The hash of the content is part of the name of some runs.
    ids = [frame["rollout_id"].unique(maintain_order=True).to_list() for frame in (before, after)]
    assert len(ids[0]) == len(ids[1])
    broken = after.filter(pl.col("rollout_id") == next(one for one in ids[1] if _ends_alike(one, ids[0][place])))
    assert broken.select("turn", "outcome", "solved", "reward", "score").rows() == [(None,) * 5]
    facts = before.filter(rollout_id=ids[0][place]).select(FACTS[1:]).row(0)
    assert broken.select(FACTS[1:]).row(0) == facts
    others = [
        frame.filter(pl.col("rollout_id") != one)
        for frame, one in ((before, ids[0][place]), (after, broken["rollout_id"][0]))
    ]
    assert (
        others[1]
        .select("response", "reward", "outcome", "attempt")
        .equals(others[0].select("response", "reward", "outcome", "attempt"))
    )


def _ends_alike(one: str, other: str) -> bool:
    return one.partition("/")[2] == other.partition("/")[2]


ODD = {  # a log, the place of an odd field, what is there, and the column that is null
    "promptfoo": ("promptfoo/results.json", ("results", "results", 0, "latencyMs"), "slow", "total_seconds"),
    "the usage of promptfoo": (
        "promptfoo/repeats.json",
        ("results", "results", 3, "response", "tokenUsage"),
        [1],
        "total_tokens",
    ),
    "tau2": ("tau2/run/results.json", ("simulations", 0, "reward_info", "reward"), "high", "reward"),
    "harmbench": ("harmbench/results.json", ("spam_mail", 1, "label"), "yes", "outcome"),
    "a hit of garak": ("garak_hitlog/toy.hitlog.jsonl", (0, "score"), "high", "score"),
    "a trace of verifiers": ("verifiers/traces.jsonl", (0, "calls", 0, "usage", "prompt_tokens"), 1.5, "prompt_tokens"),
    "a result of verifiers": ("verifiers/results.jsonl", (0, "reward"), "high", "reward"),
    "verl": ("verl/10.jsonl", (0, "score"), "high", "reward"),
    "best_of_n": ("best_of_n/7/direct_search_steps.jsonl", (0, "search_steps", 0, "asr"), "zzz", "outcome"),
    "quesma": ("quesma/export.json", ("findings", 0, "confidence"), "high", "score"),
    "deepteam": ("deepteam/assessment.json", ("test_cases", 0, "score"), "high", "score"),
    "garak": ("garak/report.jsonl", (3, "detector_results", "garak.detectors.judge.ModelAsJudge", 0, 0), "x", "score"),
    "agentdojo": ("agentdojo/conversations.json", ("duration",), "long", "total_seconds"),
    "tau_bench": ("tau_bench/single.json", ("reward",), "high", "reward"),
    "mint": ("mint/results.jsonl", (0, "state", "token_counter"), [40], "total_tokens"),
    "atif": ("atif/trajectory.json", ("final_metrics",), [15], "total_tokens"),
    "cost of atif": ("atif/trajectory.json", ("final_metrics", "total_cost_usd"), "ten", "total_cost_usd"),
    "swe_agent": ("swe_agent/toy__repo-1.traj", ("info",), "submitted", "ending"),
    "usage of openhands": (
        "openhands/sdk.jsonl",
        (0, "metrics", "accumulated_token_usage", "prompt_tokens"),
        "many",
        "total_tokens",
    ),
    "cost of openhands": ("openhands/pairs.jsonl", (0, "metrics", "accumulated_cost"), "0.25", "total_cost_usd"),
    "a verdict of openhands": ("openhands/resolver.jsonl", (0, "success"), "yes", "solved"),
    "cost of swe_agent": ("swe_agent/toy__repo-1.traj", ("info", "model_stats"), "0.25", "total_cost_usd"),
}


@pytest.mark.integration
@pytest.mark.parametrize("name", list(ODD))
def test_an_odd_field_costs_itself_alone(name, tmp_path):
    log, path, value, column = ODD[name]
    before, after, problems = both(log, sets(*path, to=value), tmp_path)
    assert problems.height == 1
    assert problems["reason"][0].endswith(": the field is null")
    kept = ["turn", "prompt", "response", "goal", "task", "attempt", "attack"]
    assert after.select(kept).equals(before.select(kept))
    changed = before[column].ne_missing(after[column])
    assert after.filter(changed)[column].null_count() == changed.sum() > 0
    assert after.filter(changed)["rollout_id"].n_unique() == 1


def test_what_is_no_text_is_read_as_text(tmp_path):
    """A null would mean no error, or no attack: a text that says what is there means neither."""
    _, after, problems = both(
        "promptfoo/results.json", sets("results", "results", 0, "error", to={"code": 429}), tmp_path
    )
    assert problems.select("field", "reason").row(0) == (
        "error",
        "expected `str | null`, got `object`: it is read as text",
    )
    assert after.height > 1


def test_a_candidate_without_a_number_leaves_the_others_of_its_step(tmp_path):
    log = "best_of_n/7/direct_search_steps.jsonl"
    before, after, problems = both(log, sets(0, "search_steps", 1, "k", to="zzz"), tmp_path)
    assert after["attempt"].to_list() == [1, 3, 4]
    assert problems.select("record", "field").rows() == [("1.search_steps[1]", "search_steps[1].k")]
    assert before.height == 4


def test_a_broken_link_costs_the_trace(tmp_path):
    """Without its parent a node would seem to begin a conversation of its own."""
    _, after, problems = both("verifiers/traces.jsonl", sets(0, "nodes", 1, "parent", to="zzz"), tmp_path)
    assert problems["field"].to_list() == ["nodes[1].parent"]
    assert after.filter(pl.col("turn").is_null())["reward"].to_list() == [None]


def test_a_record_with_too_many_odd_fields_is_not_one_of_its_format(tmp_path):
    lines = [
        {"input": "2 + 2?", "output": "4", "score": 1.0, "step": 1},
        {"input": 3, "output": 4, "score": "x", "step": 1},
    ]
    (tmp_path / "1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    turns, problems = read(tmp_path, errors="collect")
    assert turns.height == 1
    assert problems.height == 1


def test_a_score_that_is_no_number_leaves_the_document_open(tmp_path):
    name = "lm_eval/samples_sums_2025-01-01T00-00-00.000000.jsonl"
    log = loaded(FIXTURES / name)
    for line in log:
        line["exact_match"] = "yes"
    path = tmp_path / Path(name).name
    path.write_text(written(FIXTURES / name, log))
    turns, problems = read(path, errors="collect")
    assert turns["solved"][0] is None
    assert problems.select("field", "reason").row(0) == ("exact_match", "'yes' is not a number: `solved` is null")
