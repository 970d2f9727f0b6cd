"""Runs that crashed: an error without an answer is neither a success nor a failure of the attack."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rollwise as rw
from rollwise import metrics as m

ASK = {"role": "user", "content": "Hi"}
CAUSES = [
    ({"error": "timeout"}, "timeout"), ({"error": {"code": 429}}, '{"code":429}'),
    ({"exception": "boom"}, "boom"), ({"exception": {"type": "X"}}, '{"type":"X"}'), ({"timeout": True}, "timeout"),
    ({"timed_out": "yes"}, "timeout"), ({"status": "error"}, "status: error"), ({"status": "FAILED"}, "status: FAILED"),
    ({"status": "timeout"}, "status: timeout"), ({"Error": "x"}, "x"),
]  # fmt: skip
NO_CAUSES = [
    {"error": None},
    {"error": ""},
    {"error": False},
    {"error": "none"},
    {"timeout": 30},
    {"status": "completed"},
]


def lines(folder: Path, *records: dict[str, Any]) -> Path:
    """Write records as JSON lines."""
    path = folder / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    return path


def of_record(cause: dict[str, Any], answer: str | None = None) -> dict[str, Any]:
    """Return a record with the error beside its messages, and a verdict that says no."""
    return {"messages": [ASK, {"role": "assistant", "content": answer}], "goal": "g", "succeeded": False, **cause}


def of_message(cause: dict[str, Any], answer: str | None = None) -> dict[str, Any]:
    """Return a record whose answer has the error and the verdict."""
    return {"messages": [ASK, {"role": "assistant", "content": answer, "succeeded": False, **cause}], "goal": "g"}


def of_row(cause: dict[str, Any], answer: str | None = None) -> dict[str, Any]:
    """Return a row of a table of turns with the error and the verdict."""
    return {"rollout_id": "a", "goal": "g", "prompt": "Hi", "response": answer, "succeeded": False, **cause}


def of_nested(cause: dict[str, Any], answer: str | None = None) -> dict[str, Any]:
    """Return a record of turns with the error and the verdict beside them."""
    return {
        "rollout_id": "a",
        "goal": "g",
        "turns": [{"prompt": "Hi", "response": answer}],
        "succeeded": False,
        **cause,
    }


SHAPES = [of_record, of_message, of_row, of_nested]


@pytest.mark.integration
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("cause", "text"), CAUSES, ids=str)
@pytest.mark.parametrize("answer", [None, "", "  "])
def test_an_error_without_an_answer_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], shape: Any, cause: dict[str, Any], text: str, answer: str | None
) -> None:
    """At the record, at the message, in a column: the verdict gives way, the ending and the text say why."""
    turns = rw.read(lines(tmp_path, shape(cause, answer)))
    columns = ("ending", "outcome", "succeeded", "error")
    assert turns.select(columns).row(0) == ("error", None, None, text)
    sentence = "1 rollout crashed, with a verdict or reward that says no: counted as errors, not as failures"
    assert sentence in capsys.readouterr().err
    rollouts = rw.measure(turns, m.attack_success())
    assert rollouts["attack_success"].to_list() == [None]
    assert rw.readers.read_rollouts(tmp_path / "log.jsonl").select("ending", "outcome").row(0) == ("error", None)
    assert rw.read(tmp_path / "log.jsonl", columns=columns).select(columns).row(0) == turns.select(columns).row(0)


@pytest.mark.thinned(6)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("cause", NO_CAUSES, ids=str)
def test_what_reports_no_error_leaves_the_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], shape: Any, cause: dict[str, Any]
) -> None:
    """An empty answer alone is an answer; a number of seconds is a limit."""
    turns = rw.read(lines(tmp_path, shape(cause, "")))
    assert turns["ending"].to_list() == [None]
    assert rw.measure(turns, m.attack_success())["attack_success"].to_list() == [False]
    assert "error" not in capsys.readouterr().err


@pytest.mark.integration
@pytest.mark.parametrize("shape", SHAPES)
def test_an_error_beside_an_answer_is_only_noted(tmp_path: Path, shape: Any) -> None:
    """The verdict stands, and the text of the error is in its column."""
    turns = rw.read(lines(tmp_path, shape({"error": "late"}, "Hello")))
    assert turns.select("ending", "error").row(0) == (None, "late")
    assert rw.measure(turns, m.attack_success())["attack_success"].to_list() == [False]


@pytest.mark.thinned(4)
@pytest.mark.parametrize("shape", SHAPES)
def test_an_error_without_words_is_one_too(tmp_path: Path, shape: Any) -> None:
    """Some tools write only that there was one."""
    turns = rw.read(lines(tmp_path, shape({"error": True})))
    assert turns.select("ending", "outcome", "succeeded").row(0) == ("error", None, None)
    assert turns["error"].count() == 1


@pytest.mark.integration
def test_ten_timeouts_are_ten_errors(tmp_path: Path) -> None:
    """The rate is not 0 % of 10: it has no run to be of."""
    records = [of_record({"error": "timeout"}) | {"goal": f"g{i}"} for i in range(10)]
    rollouts = rw.measure(rw.read(lines(tmp_path, *records)), m.attack_success())
    summary = rw.summarize(rollouts, metrics="attack_success")
    assert summary.select("n", "n_error", "estimate").row(0) == (0, 10, None)


@pytest.mark.integration
def test_a_rollout_crashes_with_its_last_turn() -> None:
    """A turn that failed and was repeated has no verdict; the rollout did not end with it. A success stays one."""
    columns = ("rollout_id", "prompt", "response", "succeeded", "error")
    rows = [
        ("repeated", "p", None, False, "x"), ("repeated", "p", "No", False, None),
        ("ended", "p", "No", False, None), ("ended", "p", None, False, "x"),
        ("won", "p", "Sure", True, None), ("won", "p", None, None, "x"),
    ]  # fmt: skip
    turns = rw.turns(pl.DataFrame(rows, schema=columns, orient="row"))
    assert turns["succeeded"].to_list() == [None, False, False, None, True, None]
    assert turns["ending"].to_list() == [None, None, *["error"] * 4]
    assert rw.measure(turns, m.attack_success())["attack_success"].to_list() == [None, None, True]


def test_a_call_of_a_tool_is_an_answer() -> None:
    """Even without text."""
    row = of_row({"error": "x"}) | {"tool_calls": [{"name": "f", "arguments": "{}"}]}
    assert rw.turns([row]).select("ending", "succeeded").row(0) == (None, False)


def test_without_a_column_of_answers_none_is_missing() -> None:
    """A table that left the texts out says nothing about them."""
    row = {name: value for name, value in of_row({"error": "x"}).items() if name != "response"}
    assert rw.turns([row]).select("ending", "succeeded").row(0) == (None, False)


def test_an_ending_that_is_stated_stays() -> None:
    """It is the log's own word; the verdict of a turn without an answer is unknown all the same."""
    turns = rw.turns([of_row({"error": "x"}) | {"ending": "budget", "outcome": "failure"}])
    assert turns.select("ending", "outcome", "succeeded").row(0) == ("budget", None, None)


@pytest.mark.integration
@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl", "arrow"])
def test_every_kind_of_table_says_the_same(tmp_path: Path, suffix: str) -> None:
    """Also where all answers are null, and when it is written and read again."""
    frame = pl.DataFrame(
        [of_row({"error": "x"}) | {"rollout_id": name} for name in "ab"], schema_overrides={"response": pl.String}
    )
    path = tmp_path / f"mine.{suffix}"
    if suffix == "csv":
        frame.write_csv(path)
    elif suffix == "parquet":
        frame.write_parquet(path)
    elif suffix == "jsonl":
        frame.write_ndjson(path)
    else:
        frame.write_ipc(path)
    turns = rw.read(path)
    assert turns.select("ending", "succeeded", "error").rows() == [("error", None, "x")] * 2
    assert_frame_equal(rw.scan(path).collect(), turns)
    again = rw.write(turns, tmp_path / f"again.{suffix}" if suffix != "arrow" else tmp_path / "again.parquet")
    assert_frame_equal(rw.read(again), turns)


ANSWERED = [{"role": "assistant", "content": "a"}]


def of_verifiers(reward: float, error: Any) -> dict[str, Any]:
    """Return a line of results of verifiers, which writes 0 for the reward and the metrics of a crash."""
    record = {"example_id": 1, "task": "t", "prompt": [ASK], "completion": ANSWERED, "answer": "x"}
    return {**record, "reward": reward, "error": error, "metrics": {"exact": reward, "num_turns": 1.0}}


def of_trace(reward: float, error: Any) -> dict[str, Any]:
    """Return a trace of verifiers."""
    nodes = [{"message": ASK}, {"parent": 0, "sampled": True, "message": ANSWERED[0]}]
    errors = [] if error is None else [{"type": "SandboxError", "message": str(error)}]
    return {
        "id": f"t{reward}",
        "task": {"key": "k"},
        "nodes": nodes,
        "rewards": {"exact": reward},
        "errors": errors,
        "ok": not errors,
    }


def of_tau_bench(reward: float, error: Any) -> dict[str, Any]:
    """Return a simulation of tau-bench, whose runner catches errors and writes the reward 0."""
    return {
        "task_id": 7,
        "trial": int(reward),
        "reward": reward,
        "info": {"error": error} if error else {},
        "traj": [ASK, *ANSWERED],
    }


def of_skyrl(reward: float, error: Any) -> dict[str, Any]:
    """Return a sample of SkyRL."""
    return {
        "input_prompt": "Hi",
        "output_response": "a",
        "score": [0, reward],
        "stop_reason": "error" if error else "stop",
    }


@pytest.mark.integration
@pytest.mark.parametrize("make", [of_verifiers, of_trace, of_tau_bench, of_skyrl])
@pytest.mark.parametrize("error", ["SandboxError", {"error": "SandboxError"}], ids=["text", "object"])
def test_the_reward_that_a_framework_writes_for_a_crash_is_unknown(tmp_path, capsys, make, error):
    records = [make(1.0, None), make(0.0, error)]
    path = lines(tmp_path, *records)
    if make is of_tau_bench:
        path = tmp_path / "list.json"
        (tmp_path / "log.jsonl").unlink()
        path.write_text(json.dumps(records))
    frame = rw.read(path)
    assert frame.select("reward", "ending").rows() in (
        [(1.0, "finished"), (None, "error")],
        [(1.0, None), (None, "error")],
        [(1.0, "budget"), (None, "error")],
    )
    assert "1 rollout crashed, with a verdict or reward that says no" in capsys.readouterr().err
    summary = rw.summarize(
        rw.measure(frame, m.average("reward")), metrics="average_reward", statistics="mean", cluster=None
    )
    assert summary.select("n", "n_error", "estimate").row(0) == (1, 1, 1.0)
    if make is of_verifiers:  # a count that is no reward stays
        assert frame.select("metric_exact", "metric_num_turns").rows() == [(1.0, 1.0), (None, 1.0)]
    if make is of_tau_bench:
        assert frame["solved"].to_list() == [True, None]


def test_a_reward_that_was_earned_before_an_error_stays(tmp_path, capsys):
    """No framework writes a part of the reward for a crash: somebody judged."""
    frame = rw.read(lines(tmp_path, of_verifiers(0.5, "SandboxError")))
    assert frame.select("reward", "ending").rows() == [(0.5, "error")]
    assert "crashed" not in capsys.readouterr().err


@pytest.mark.integration
@pytest.mark.parametrize(
    ("reason", "reward"),
    [
        ("infrastructure_error", None),
        ("unexpected_error", None),
        ("user_error", None),
        ("agent_error", 0.0),  # the agent's own doing, which tau2 counts as a failure
        ("too_many_errors", 0.0),
        ("max_steps", 0.0),
    ],
)
def test_an_error_that_is_not_the_agents_has_no_reward_in_tau2(tmp_path, reason, reward):
    simulation = {"id": "s", "task_id": "7", "trial": 0, "termination_reason": reason, "reward_info": {"reward": 0.0}}
    about = {"agent_info": {"llm": "parrot"}, "environment_info": {"domain_name": "retail"}}
    log = {"info": about, "tasks": [], "simulations": [{**simulation, "messages": [ASK, *ANSWERED]}]}
    (tmp_path / "results.json").write_text(json.dumps(log))
    frame = rw.read(tmp_path / "results.json")
    assert frame.select("reward", "solved").rows() == [(reward, None if reward is None else False)]


@pytest.mark.integration
@pytest.mark.parametrize("verdict", [{"reward": 0}, {"score": 0.0}, {"solved": False}])
def test_a_table_whose_only_verdict_is_a_number_has_none_for_a_crash(tmp_path, capsys, verdict):
    row = {"rollout_id": "a", "goal": "g", "prompt": "Hi", "response": None, "error": "timeout", **verdict}
    judged = {name: type(value)(1) for name, value in verdict.items()}
    frame = rw.read(lines(tmp_path, row, {**row, "rollout_id": "b", "response": "a", "error": None, **judged}))
    (name,) = verdict
    assert frame[name].to_list() == [None, 1]
    assert "1 rollout crashed" in capsys.readouterr().err


CALLS = [
    "ERROR: 503 Service Unavailable",
    "[API Error] rate limit exceeded",
    "Error: HTTPSConnectionPool(host=x): Max retries exceeded",
    "Exception: CUDA out of memory",
]


@pytest.mark.thinned(2)
@pytest.mark.parametrize("verdict", [{"jailbroken": True}, {"jailbroken": False}, {"outcome": "success"}])
def test_an_error_of_a_call_in_place_of_an_answer_is_no_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verdict: dict[str, Any]
) -> None:
    """Whatever a judge said of the text of the error; the answers of the model stay, also those that speak of errors."""
    answers = [*CALLS, "Error: I cannot do that for you", "Error handling on a server is done so: use try."]
    rows = [{"prompt": f"please do {n}", "response": answer, **verdict} for n, answer in enumerate(answers)]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    turns = rw.read(path)
    assert "the answers of 4 turns are errors of the call" in capsys.readouterr().err
    assert turns["error"].to_list() == [*CALLS, None, None]
    assert turns["response"].null_count() == 4
    rollouts = rw.measure(turns, m.attack_success())
    assert rollouts["attack_success"].to_list() == [None] * 4 + [next(iter(verdict.values())) in {True, "success"}] * 2


@pytest.mark.parametrize("name", ["score_harm", "is_unsafe", "scores.harm"])
def test_what_a_judge_said_of_an_error_is_no_score_of_ones_own(tmp_path: Path, name: str) -> None:
    """The scores of answers stay, as does a column that says something else."""
    rows = [
        {"prompt": f"please do {n}", "response": text, "jailbroken": False, "tokens": 7, name: float(n % 2)}
        for n, text in enumerate([*CALLS, "Sure.", "No."])
    ]
    path = tmp_path / "a.csv"
    pl.DataFrame(rows).write_csv(path)
    turns = rw.read(path)
    own = turns.select(pl.selectors.starts_with(name.partition(".")[0])).to_series()
    assert [None if value is None else float(value) for value in own] == [None] * 4 + [0, 1]
    rollouts = rw.measure(turns, m.attack_success(), keep=own.name)
    assert rw.summarize(rollouts, metrics=own.name, statistics="mean", resamples=100)["estimate"].to_list() == [0.5]


@pytest.mark.integration
@pytest.mark.parametrize("column", ["response", "model_output"])
def test_what_looks_like_an_error_of_a_call_is_an_answer_if_the_user_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], column: str
) -> None:
    """By the name of their column: the answers of an agent may speak of servers."""
    rows = [{"prompt": f"please do {n}", column: text, "jailbroken": n < 3} for n, text in enumerate([*CALLS, "Sure."])]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    assert rw.read(path)["error"].count() == 4
    assert "(if they are answers, name their column as `response`)" in capsys.readouterr().err
    turns = rw.read(path, names={"response": column})
    assert "errors of the call" not in capsys.readouterr().err
    assert turns["response"].to_list() == [*CALLS, "Sure."]
    assert turns["succeeded"].to_list() == [True] * 3 + [False] * 2
