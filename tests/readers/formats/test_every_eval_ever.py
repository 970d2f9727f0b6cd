"""Every Eval Ever: records of the producer's own converter, records written by hand to the schema, and a round trip."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise import read
from rollwise.errors import ArgumentError, ReadError, WriteError
from rollwise.judges import read_verdicts
from rollwise.readers import read_summary

FIXTURES = Path(__file__).parents[1] / "fixtures" / "every_eval_ever"
ATTACKS = FIXTURES / "attacks_samples.jsonl"
CONVERTED = (
    Path(__file__).parents[1] / "produced" / "every_eval_ever"
)  # by its converter 0.3.0, of a log of Inspect 0.3.2xx
VERDICTS = ["outcome", "ending", "solved", "succeeded", "refused", "score", "reward", "error"]


def first_turns(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.unique("rollout_id", keep="first", maintain_order=True)


def written(turns: pl.DataFrame, out: Path, *metrics, **options) -> Path:
    metrics = metrics or (rw.metrics.attack_success(),)
    rollouts = rw.measure(turns, *metrics)
    names = [metric.meta.output_name() for metric in metrics]
    summary = rw.summarize(rollouts, by=options.pop("by", "target"), metrics=names, level=options.pop("level", 0.95))
    defaults = {"organization": "Acme", "collection": "toy", "retrieved": 1_750_000_000}
    return rw.tables.write_every_eval_ever(summary, rollouts, turns, out, **{**defaults, **options})


# ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_records_of_the_converter_are_read_as_they_are():
    lines = [json.loads(line) for path in CONVERTED.glob("*.jsonl") for line in path.read_text().splitlines()]
    frame, problems = read(CONVERTED, errors="collect")
    rollouts = first_turns(frame)
    assert rollouts["score_sums"].to_list() == [line["evaluation"]["score"] for line in lines]
    assert rollouts["solved"].to_list() == [line["evaluation"]["is_correct"] for line in lines]
    assert rollouts["attempt"].to_list() == [int(line["metadata"]["epoch"]) for line in lines] == [1, 1, 2, 2]
    assert rollouts["task"].to_list() == [f"sums/{line['sample_id']}" for line in lines]
    answers = sum(
        message["role"] == "assistant" for line in lines for message in line["messages"] or [{"role": "assistant"}]
    )
    assert frame.height == answers == 5
    assert problems.height == 0  # the results beside the samples are their companion


def test_figures_of_the_converter_are_read_as_they_are():
    results = next(json.loads(path.read_text()) for path in CONVERTED.glob("*.json"))["evaluation_results"]
    frame = read_summary(CONVERTED, errors="collect")[0]
    assert frame["estimate"].to_list() == [result["score_details"]["score"] for result in results] == [0.25, 0.5]
    errors = [result["score_details"]["uncertainty"].get("standard_error") for result in results]
    assert frame["std_error"].to_list() == [error and error["value"] for error in errors]
    assert frame["n"].to_list() == [4, 4]


def test_results_about_one_sample_are_one_rollout():
    frame = read(ATTACKS)
    rollouts = first_turns(frame)
    assert rollouts.select("task", "outcome", "solved", "ending", "attack").rows() == [
        ("jail.v1/lock-1", "failure", True, None, None),
        ("jail.v1/lock-2", "success", True, None, None),
        ("jail.v1/lock-3", None, None, "error", None),
        ("jail.v1/lock-4", None, None, None, None),
    ]
    assert rollouts["score_jail.helpful"].to_list() == [0.4, 0.9, None, None]
    chat = frame.filter(task="jail.v1/lock-2")
    assert chat["context"].to_list() == ["Be kind.", None, None]
    assert chat["prompt"].to_list() == ["Help me.", "Pick a lock ☃.", "a page"]
    assert chat["response"].to_list() == ["With what?", None, "Use a pick."]
    assert chat["tool_calls"][1].to_list() == [{"name": "search", "arguments": '{"q":"locks"}'}]
    assert (chat["observation"][-1], chat["reasoning"][0], chat["total_tokens"][0]) == ("Thanks", "They are vague.", 39)
    assert frame.filter(task="jail.v1/lock-3").select("turn", "error").row(0) == (None, "timeout after 60 s")


def test_an_unknown_level_is_no_score(tmp_path):
    """Without the file beside it, -1 is a number, which is neither a success nor a failure."""
    assert first_turns(read(ATTACKS))["score_jail.attack_success_rate"].to_list() == [0, 1, None, -1]
    shutil.copy(ATTACKS, tmp_path / "u_samples.jsonl")
    result = {"evaluation_result_id": "jail.attack_success_rate", "metric_config": {"has_unknown_level": True}}
    (tmp_path / "u.json").write_text(json.dumps({"evaluation_results": [result]}))
    frame = read(tmp_path / "u_samples.jsonl")
    assert first_turns(frame)["score_jail.attack_success_rate"].to_list() == [0, 1, None, None]


def test_the_file_beside_the_samples_says_what_a_result_is(tmp_path):
    record = json.loads(ATTACKS.read_text().splitlines()[0]) | {"evaluation_result_id": "r1"}
    (tmp_path / "u_samples.jsonl").write_text(json.dumps(record))
    assert read(tmp_path).select("outcome", "solved").row(0) == (None, True)
    result = {"evaluation_result_id": "r1", "metric_config": {"metric_name": "Attack success rate"}}
    (tmp_path / "u.json").write_text(json.dumps({"evaluation_results": [result]}))
    assert read(tmp_path / "u_samples.jsonl").select("outcome", "solved").row(0) == ("failure", None)


def test_verdicts_alone():
    verdicts = read_verdicts(ATTACKS)
    assert verdicts["value"].to_list() == [0, 0.4, 1, 0.9, 0, -1]  # by rollout
    assert set(verdicts["judge"]) == {"jail.attack_success_rate", "jail.helpful"}
    assert set(verdicts["rollout_id"]) == set(read(ATTACKS)["rollout_id"])


def test_a_second_verdict_of_one_result_with_the_same_epoch_is_named(tmp_path):
    record = json.loads(ATTACKS.read_text().splitlines()[0]) | {"metadata": {"epoch": "2"}}
    path = tmp_path / "a_samples.jsonl"
    path.write_text(f"{json.dumps(record)}\n{json.dumps(record)}\n")
    with pytest.raises(
        ReadError, match=r"record 2: field `evaluation`: is a second verdict of 'jail.attack_success_rate'"
    ):
        read(path)


@pytest.mark.parametrize("text", ["3", "{", '{"rollout_id": 3}', '{"rollout_id": "a", "turns": []}'])
def test_broken_metadata_of_our_own_is_one_sentence(tmp_path, text):
    record = json.loads(ATTACKS.read_text().splitlines()[0]) | {"metadata": {"rollwise": text}}
    path = tmp_path / "a_samples.jsonl"
    path.write_text(json.dumps(record))
    with pytest.raises(ReadError, match=r"metadata\.rollwise"):
        read(path)


def test_what_an_earlier_version_kept_is_refused_and_not_half_read(tmp_path):
    """Under the name that the package had then; metadata of others that look like JSON are theirs."""
    turns, _ = rw.simulate(targets="acme/x", goals=2, attempts=1, turns=2)
    folder = written(turns, tmp_path / "out")
    for path in folder.rglob("*.json*"):
        path.write_text(path.read_text().replace('"rollwise":', '"oldname":'))
    with pytest.raises(
        ReadError, match=r"`metadata\.oldname`: is what an earlier version kept .*; write the file again"
    ):
        read(folder)
    with pytest.raises(ReadError, match=r"`score_details\.details\.oldname`: is what an earlier version kept"):
        read_summary(folder)
    record = json.loads(ATTACKS.read_text().splitlines()[0]) | {"metadata": {"settings": '{"level": 3}'}}
    path = tmp_path / "a_samples.jsonl"
    path.write_text(json.dumps(record))
    assert read(path).height


# ── writing ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_a_round_trip_loses_no_verdict(tmp_path):
    turns, _ = rw.simulate(targets={"acme/base": 0.3, "guarded": 0.05}, goals=6, seed=2)
    # Verdicts that are not all known: partially judged rollouts, and some without any.
    turns = turns.with_columns(succeeded=pl.when(pl.int_range(pl.len()) % 7 == 3).then(None).otherwise("succeeded"))
    folder = written(turns, tmp_path / "out", rw.metrics.attack_success(), by=["target", "attack"])
    back = read(folder, errors="collect")[0]
    columns = [name for name in turns.columns if name != "source"]
    keys = ["rollout_id", "turn"]
    assert back.select(columns).sort(keys).equals(turns.select(columns).sort(keys))
    assert set(back["logged_by"]) == {"simulation"}
    metric = rw.metrics.attack_success()
    outcomes = [
        rw.measure(frame, metric).select("rollout_id", "attack_success").sort("rollout_id") for frame in (turns, back)
    ]
    assert outcomes[0].equals(outcomes[1])
    assert 0 < outcomes[0]["attack_success"].null_count() < outcomes[0].height


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    "name", ["agentdojo", "inspect", "claude_code", "openai_chat", "promptfoo", "tau2", "garak", "deepteam"]
)
def test_a_round_trip_of_other_logs_keeps_every_turn(tmp_path, name):
    turns = read(FIXTURES.parent / name, target="acme/x")
    turns = (rw.rollout.paths(turns) if "node_id" in turns.columns else turns).with_columns(target=pl.lit("acme/x"))
    # What reads `error` is known of crashed rollouts too, so each rollout has a record.
    answers = (pl.col("turn").count() + 0 * pl.col("error").count()).alias("answers")
    folder = written(turns, tmp_path / "out", answers, lower_is_better=["answers"])
    back = read(folder, errors="collect")[0]
    columns = [name for name, dtype in turns.schema.items() if name in rw.schema.TURNS.names and name != "source"]
    keys = ["rollout_id", "turn"]
    assert back.select(columns).sort(keys).equals(turns.select(columns).sort(keys))


@pytest.mark.integration
def test_results_come_back_with_their_intervals(tmp_path):
    turns, _ = rw.simulate(targets={"acme/base": 0.3, "guarded": 0.05}, goals=6, seed=2)
    summary = rw.summarize(rw.measure(turns, rw.metrics.attack_success()), by="target", metrics="attack_success")
    back = read_summary(written(turns, tmp_path / "out"), errors="collect")[0]
    names = [name for name in summary.columns if name != "target"]
    assert back.select(names).equals(summary.select(names))
    assert back["target"].to_list() == ["acme/base", "guarded"]
    path = next(tmp_path.glob("out/data/toy/acme/base/*.json"))
    result = json.loads(path.read_text())["evaluation_results"][0]
    row = summary.row(0, named=True)
    interval = {"lower": row["low"], "upper": row["high"], "confidence_level": 0.95, "method": row["method"]}
    assert result["score_details"]["uncertainty"]["confidence_interval"] == interval
    assert result["metric_config"]["lower_is_better"] is True


@pytest.mark.integration
def test_an_unknown_verdict_is_the_unknown_level_and_never_a_failure(tmp_path):
    rows = [("a", True), ("b", False), ("c", None)]
    turns = rw.turns(
        [{"rollout_id": name, "turn": 1, "goal": name, "target": "x", "succeeded": value} for name, value in rows]
    )
    folder = written(turns, tmp_path / "out")
    samples = [json.loads(line) for path in folder.rglob("*.jsonl") for line in path.read_text().splitlines()]
    assert [sample["evaluation"]["score"] for sample in samples] == [1, 0, -1]
    assert [sample["evaluation"]["is_correct"] for sample in samples] == [False, True, False]
    result = json.loads(next(folder.rglob("*.json")).read_text())["evaluation_results"][0]
    assert result["metric_config"]["has_unknown_level"] is True
    assert read_verdicts(folder, errors="collect")[0]["value"].to_list() == [1, 0, None]


@pytest.mark.integration
def test_the_same_call_writes_the_same_files(tmp_path):
    turns, _ = rw.simulate(targets={"acme/base": 0.3}, goals=3, seed=2)
    names = [sorted(path.name for path in written(turns, tmp_path / out).rglob("*.json*")) for out in "ab"]
    assert names[0] == names[1]
    with pytest.raises(WriteError, match="overwrite"):
        written(turns, tmp_path / "a")


def test_what_cannot_be_written_is_one_sentence(tmp_path):
    turns, _ = rw.simulate(targets={"base": 0.3, "other": 0.1}, goals=3, seed=2)
    out = tmp_path / "out"
    with pytest.raises(ArgumentError, match="one interval; summarize at one level"):
        written(turns, out, level=(0.8, 0.95))
    with pytest.raises(ArgumentError, match=r"name 'refusal_rate' in lower_is_better= or higher_is_better="):
        written(turns, out, rw.metrics.refusal_rate())
    with pytest.raises(ArgumentError, match=r'summarize by="target"'):
        written(turns, out, by="attack")
    with pytest.raises(ArgumentError, match="no target has a name"):
        written(turns.with_columns(target=pl.lit(None, pl.String)), out)
    assert not out.exists()


@pytest.mark.integration
def test_rollouts_that_no_result_counts_are_told(tmp_path, capsys):
    rows = [
        {"rollout_id": name, "turn": 1, "goal": name, "target": target, "succeeded": True}
        for name, target in ("ax", "bx", "cy")
    ]
    turns = rw.turns(rows)
    rollouts = rw.measure(turns, rw.metrics.attack_success())
    summary = rw.summarize(rollouts, by="target", metrics="attack_success").filter(target="x")
    rw.tables.write_every_eval_ever(summary, rollouts, turns, tmp_path / "out", organization="Acme", collection="toy")
    assert "1 rollout without a value in any mean of the summary not written" in capsys.readouterr().err
    assert set(read(tmp_path / "out", errors="collect")[0]["rollout_id"]) == {"a", "b"}
