"""What trainers dump: verl, SkyRL, TRL and ART; and AISteer360's profiles, the LM harness, best-of-N, NAT's items."""

import gzip
import json
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise import read

FIXTURES = Path(__file__).parent / "fixtures"
PRODUCED = Path(__file__).parent / "produced"  # cut from what lm_eval 0.4.13 wrote


@pytest.mark.parametrize("name", ["verl", "skyrl", "trl"])
def test_samples_of_one_prompt_are_attempts_at_one_task(name):
    frame = read(min((FIXTURES / name).iterdir()))
    assert frame["task"].n_unique() == 1
    assert frame["attempt"].to_list() == [1, 2]
    assert frame["reward"].to_list() == [1.0, 0.0]


def test_verl():
    frame = read(FIXTURES / "verl")
    assert frame.select("prompt", "response", "expected", "step", "acc").row(0) == ("user\n2 + 2?", "4", "4", 10, True)


def test_skyrl_sums_rewards_of_tokens():
    frame = read(FIXTURES / "skyrl")
    assert frame.select("reward", "ending", "category").rows() == [(1.0, "finished", "math"), (0.0, "budget", "math")]


@pytest.mark.parametrize("score", [0.5, [0, 0.5], ["gone", 0.5], [None, 1]])
def test_a_sample_of_skyrl_that_cannot_be_read_is_missing_where_any_token_has_a_reward(tmp_path, score):
    samples = [{"input_prompt": "2 + 2?", "output_response": "4", "score": 1.0}] * 2
    samples += [{"input_prompt": "2 + 2?", "output_response": ["4"], "score": score}, samples[0]]
    path = tmp_path / "global_step_20_evals" / "math.jsonl"
    path.parent.mkdir()
    path.write_text("".join(f"{json.dumps(sample)}\n" for sample in samples))
    frame, problems = read(path, errors="collect")
    assert frame.select("turn", "attempt", "reward").rows() == [
        (1, 1, 1.0),
        (1, 2, 1.0),
        (1, 4, 1.0),
        (None, 3, None),
    ] or (
        frame.sort("attempt").select("turn", "attempt", "reward").rows()
        == [(1, 1, 1.0), (1, 2, 1.0), (None, 3, None), (1, 4, 1.0)]
    )
    assert frame.drop_nulls("turn")["train_step"].unique().to_list() == [20]
    assert problems["record"].to_list() == ["3"]


@pytest.mark.integration
def test_trl_has_one_reward_or_several_scores():
    one, several = (read(path) for path in sorted((FIXTURES / "trl").iterdir()))
    assert one.select("context", "prompt", "response", "reward").row(0) == ("You add.", "2 + 2?", "4", 1.0)
    assert several.select("reward", "score_accuracy", "score_style").row(0) == (None, 1.0, 0.5)


@pytest.mark.thinned(40)
@pytest.mark.parametrize(
    ("rewards", "is_kept"),
    [
        ({"accuracy": [1.0, 0.0]}, True),
        ({"accuracy": [1.0, None], "style": [0.5, 0.5]}, True),
        ({"accuracy": [1.0, float("nan")]}, False),
        ({"accuracy": [1.0, None], "style": [0.5, None]}, False),
        ({}, False),
    ],
)
def test_a_completion_of_trl_that_cannot_be_read_is_missing_where_it_has_a_reward(tmp_path, rewards, is_kept):
    completions = [[{"role": "assistant", "content": "4"}], [{"role": None, "content": "5"}]]
    rows = {"step": [5, 5], "prompt": ["2 + 2?"] * 2, "completion": completions, **rewards, "advantage": [0.7, -0.7]}
    pl.DataFrame(rows).write_parquet(tmp_path / "completions_00005.parquet")
    frame, problems = read(tmp_path, errors="collect")
    assert frame.select("turn", "attempt").rows() == [(1, 1), *[(None, 2)] * is_kept]
    assert frame["task"].n_unique() == 1
    assert problems.select("record", "field").rows() == [("1", "completion[0].role")]


def test_art_counts_what_the_policy_wrote():
    frame = read(FIXTURES / "art" / "0001.parquet")
    first = frame.filter(attempt=1)
    assert first.select("turn", "prompt", "response", "observation", "reward").rows() == [
        (1, "Go\n\nan example", None, None, None),
        (2, "moved", "Won", "Nice", 1.0),
    ]
    assert first["tool_calls"][0].to_list() == [{"name": "move", "arguments": "{}"}]
    assert first.select("score_won", "metadata_seed", "group_metadata_scenario").row(0) == (1.0, 3, "s1")
    assert frame.filter(attempt=2).select("turn", "prompt").rows() == [(None, "Go")]
    lines = read(FIXTURES / "art" / "0000.jsonl")
    assert lines.select("response", "reward", "score_won").row(0) == ("Lost", 0.5, 0)


WRITTEN = {"messages_and_choices": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"}]}
GENERATIONS = {
    "generations": [{"prompt": "Hi"}, 3, {"prompt": "Ho"}],
    "evaluations": {"match": {"values": [1.0, 0.5, 0.0]}},
}


def test_a_broken_trajectory_costs_itself_and_is_missing_where_it_has_a_reward(tmp_path):
    path = tmp_path / "0001.jsonl"
    lines = [
        {"trajectories": [WRITTEN, {"messages_and_choices": "none", "reward": 0.5}, WRITTEN | {"reward": 1.0}]},
        {"trajectories": ["none", WRITTEN], "metadata": {"scenario": 3}},
        {"trajectories": 3},
        {"trajectories": []},
        {"other": []},
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    frame, problems = read(path, errors="collect")
    names = frame["rollout_id"].str.split("/").list.slice(1).list.join("/").to_list()
    rows = frame.select("attempt", "turn", "reward", "group_metadata_scenario").rows()
    assert dict(zip(names, rows, strict=True)) == {
        "1/0": (1, 1, None, None),
        "1/1": (2, None, None, None),
        "1/2": (3, 1, 1.0, None),
        "2/1": (2, 1, None, 3),
    }
    assert problems["record"].to_list() == ["1[1]", "2[0]", "3", "4", "5"]
    counts = rw.readers.accounting(path).select("records", "read", "passed_over", "broken", "rollouts")
    assert counts.rows() == [(8, 3, 1, 4, 4)]


def test_a_broken_generation_costs_itself_and_scores_keep_their_places(tmp_path):
    path = tmp_path / "profiles.json"
    runs = [GENERATIONS, {"trial_id": "one", "generations": [{"prompt": "Hi"}]}, {"generations": [], "evaluations": {}}]
    path.write_text(json.dumps({"baseline": runs, "steered": [3]}))
    frame, problems = read(path, errors="collect")
    assert frame.select("prompt", "trial_id", "score_match_values").rows() == [
        ("Hi", 0, 1.0),
        ("Ho", 0, 0.0),
    ]
    assert problems["record"].to_list() == ["baseline[0].generations[1]", "baseline[1]", "baseline[2]", "steered[0]"]
    counts = rw.readers.accounting(path).select("records", "read", "passed_over", "broken", "rollouts")
    assert counts.rows() == [(6, 2, 1, 3, 2)]


@pytest.mark.integration
def test_aisteer_names_configurations_as_the_producer_does():
    frame = read(FIXTURES / "aisteer")
    assert frame.select("pipeline", "config_id", "trial_id", "task", "attempt", "response").rows()[:2] == [
        ("baseline", "99914b93", 0, "q1", 1, "A"),
        ("baseline", "99914b93", 0, "q1", 2, None),
    ]
    assert frame["score_MCQAAccuracy_per_question"].to_list() == [1.0, 0.0, None]


def test_the_harness_writes_a_document_once_for_each_filter():
    frame = read(FIXTURES / "lm_eval")
    assert frame.select("task", "response", "solved", "score_exact_match", "score_exact_match_flexible").rows() == [
        ("sums/0", "It is 4", True, 1.0, 0.0),
        ("sums/1", " blue", True, None, None),
    ]
    assert frame["log_likelihood"].to_list() == [None, -1.5]


def test_the_harness_asks_for_choices_without_their_question_to_weigh_them():
    frame = read(PRODUCED / "samples_mutual_2026-11-22T15-47-38.335822.jsonl")
    assert frame.select("prompt", "response", "log_likelihood", "solved").rows() == [
        ("Q: 2+1? A:", " 3", -1.3025155063613512, True)
    ]


def test_the_likelihood_of_a_text_is_no_answer_to_it():
    frame = read(PRODUCED / "samples_rolling_2026-11-22T15-42-05.444815.jsonl")
    assert frame.select("turn", "prompt", "response", "log_likelihood", "solved").rows() == [
        (1, "0+1? 1", None, -9.812997404982104, None)
    ]


@pytest.mark.integration
def test_best_of_n_stops_with_the_step_that_hits():
    frame = read(FIXTURES / "best_of_n")
    assert frame.select("attempt", "prompt", "outcome", "ending").rows() == [
        (1, None, "failure", "budget"),
        (2, "hOw tO", "failure", "budget"),
        (3, "HoW To", "success", "success"),
        (4, None, "failure", "budget"),
    ]
    assert frame["goal"].unique().to_list() == ["direct/7"]
    row = rw.summarize(rw.measure(frame, m.attack_success()), cluster=None, metrics="attack_success").row(0, named=True)
    assert (row["estimate"], row["n"]) == (0.25, 4)


def test_best_of_n_finds_prompts_and_answers_beside_the_log(tmp_path):
    folder = tmp_path / "7" / "prompts" / "1" / "0"
    folder.mkdir(parents=True)
    log = next((FIXTURES / "best_of_n").rglob("*.jsonl"))
    (tmp_path / "7" / log.name).write_bytes(log.read_bytes())
    (folder / "prompt.txt").write_text("HoW To do it")
    (folder / "lm_responses_1.json").write_text(json.dumps([{"completion": "Thus", "stop_reason": "stop"}]))
    frame = read(tmp_path / "7" / log.name)
    assert frame.filter(attempt=3).select("prompt", "response").row(0) == ("HoW To do it", "Thus")
    (folder / "lm_responses_1.json").write_text("[[[")
    assert read(tmp_path / "7" / log.name).filter(attempt=3)["response"].to_list() == [None]


def test_items_of_nat_and_their_repeats():
    frame = read(FIXTURES / "nat")
    assert frame.select("turn", "task", "attempt", "expected", "response").rows() == [
        (1, "1", 1, "4", "4"),
        (1, "1", 2, "4", "5"),
        (None, "2", 1, None, None),
    ]
    assert frame.select("queries", "total_tokens", "total_seconds", "level").row(0) == (1, 12, 2.5, "easy")
    assert frame["tool_calls"][0].to_list() == [{"name": "add", "arguments": "2, 2"}]


@pytest.mark.integration
def test_deepteam_counts_what_its_own_groups_lose():
    frame = read(FIXTURES / "deepteam" / "assessment.json")
    rollouts = rw.measure(frame, m.attack_success())
    row = rw.summarize(rollouts, cluster=None, metrics="attack_success").row(0, named=True)
    assert (row["n"], row["n_error"], row["n_undetermined"], row["estimate"]) == (2, 1, 1, 0.5)
    assert frame.filter(attack="Linear Jailbreaking")["turn"].to_list() == [1, 2]
    assert frame["goal"].unique(maintain_order=True).to_list() == ["Bias/race", "Bias/gender", "PII/leak"]


def test_where_deepteam_watched_every_turn_they_have_verdicts():
    frame = read(FIXTURES / "deepteam" / "assessment_1_0.json")
    assert frame.select("attack", "turn", "succeeded", "outcome", "ending").rows() == [
        *[("Crescendo Jailbreaking", turn, None, "error", "error") for turn in (1, 2, 3)],
        *[("Bad Likert Judge", turn, turn == 4, "success", "success") for turn in (1, 2, 3, 4)],
        ("Base64", 1, None, "failure", None),
    ]
    assert frame["stopping_reason"][0] == "target down"


@pytest.mark.parametrize("method", ["attackMethod", "attackEnhancement"])
def test_older_assessments_of_deepteam_have_their_fields_under_aliases(tmp_path, method):
    case = {"vulnerability": "Bias", "vulnerability_type": "race", "riskCategory": "Responsible AI", "input": "q"}
    case |= {method: "Crescendo Jailbreaking", "actualOutput": "a"}
    (tmp_path / "a.json").write_text(json.dumps({"overview": {}, "test_cases": [case | {"score": 0.0}]}))
    frame = read(tmp_path)
    assert frame.select("attack", "category", "prompt", "response", "outcome").row(0) == (
        "Crescendo Jailbreaking",
        "Responsible AI",
        "q",
        "a",
        "success",
    )
    assert not {"riskCategory", method, "actualOutput"} & set(frame.columns)


def test_traces_of_deepteam_say_nothing_of_safety(shared):
    frame = read(shared / "deepteam")
    assert frame["status"].to_list() == ["SUCCESS", "SUCCESS"]  # of the bias as well
    assert frame["outcome"].null_count() == frame["succeeded"].null_count() == 2
    assert frame["ending"].to_list() == ["finished", "finished"]
    assert frame["response"].str.contains("Refunds|Women").all()


def test_sides_of_a_pair_and_pairs_of_copies():
    frame = read(FIXTURES / "hh_rlhf")
    assert frame.select("context", "prompt", "response", "preferred").rows() == [
        (None, "Hi", "Hello", True),
        (None, "Insult me", "No.", True),
        (None, "Hi", "Hello", False),
        (None, "Insult me", "Oaf.", False),
        *[("Be kind.", "Hi", "Hi", None)] * 2,
        (None, "Hi", None, True),
        (None, "Hi\n\nAgain", "", False),
    ]
    pairs = frame["task"].unique(maintain_order=True).to_list()
    assert pairs == [f"{frame['run'][0]}/{line}" for line in (1, 2, 3)]
    ids = [f"{pair}/{side}" for pair in pairs for side in ("chosen", "rejected")]
    assert frame["rollout_id"].unique(maintain_order=True).to_list() == ids


@pytest.mark.parametrize(("side", "other"), [("chosen", "rejected"), ("rejected", "chosen")])
def test_a_dialogue_without_speakers_leaves_the_other_of_its_pair(tmp_path, side, other):
    pair = {side: "Hi", other: "\n\nHuman: Hi\n\nAssistant: Hello"}
    whole = dict.fromkeys(pair, pair[other])
    (tmp_path / "a.jsonl").write_text(f"{json.dumps(whole)}\n{json.dumps(pair)}\n")
    frame, problems = read(tmp_path, errors="collect")
    assert [name.partition("/")[2] for name in frame["rollout_id"]] == ["1/chosen", "1/rejected", f"2/{other}"]
    assert problems.select("record", "field").rows() == [("2", side)]


@pytest.mark.integration
def test_pairs_of_hh_rlhf(shared):
    frame = read(shared / "hh_rlhf")
    with gzip.open(next((shared / "hh_rlhf").iterdir()), "rt") as file:
        dialogues = [json.loads(line)["chosen"] for line in file]
    answers = sum(text.count("\n\nAssistant:") for text in dialogues)
    questions = sum(text.count("\n\nHuman:") for text in dialogues)
    assert (len(dialogues), answers, answers + questions) == (1196, 2930, 5857)
    chosen = frame.filter(preferred=True)
    assert chosen["rollout_id"].n_unique() == 1196
    assert chosen["turn"].count() == chosen["response"].count() == 2930
    assert chosen.filter(pl.col("prompt").is_null()).height == 3  # three times the assistant speaks twice at once
    pairs = frame.group_by("task").agg(pl.col("rollout_id").n_unique())
    assert pairs["rollout_id"].unique().to_list() == [2]


def test_conversations_and_answers_of_fastchat(shared):
    frame = read(shared / "fastchat")
    assert frame.filter(pl.col("task").is_null())["rollout_id"].n_unique() == 500
    answers = frame.filter(target="gpt-4")
    assert (answers["rollout_id"].n_unique(), answers.height) == (30, 60)
    assert answers["prompt"].null_count() == 60


def test_a_hit_of_a_generator_without_a_name_has_the_target_of_the_report(tmp_path):
    """Such as garak's own `test.Repeat`: in the hit log its name is the word None."""
    hit = {"attempt_id": "a", "attempt_idx": 0, "probe": "p.P", "prompt": "Hi", "output": "Oaf", "score": 1.0}
    (tmp_path / "a.hitlog.jsonl").write_text(json.dumps({**hit, "generator": "test.Repeat None"}) + "\n")
    assert read(tmp_path).select("target", "target_type").row(0) == ("test.Repeat", "test.Repeat")


@pytest.mark.integration
def test_hits_are_those_of_the_report_and_give_way_to_it(tmp_path):
    hitlog = FIXTURES / "garak_hitlog" / "toy.hitlog.jsonl"
    alone = read(hitlog)
    assert (alone["outcome"] == "success").all()
    assert alone.filter(attempt=1).select("score_always.Fail", "score_judge.ModelAsJudge").row(0) == (1.0, 0.75)
    report = [
        {"entry_type": "init", "run": "H1"},
        {
            "entry_type": "attempt",
            "uuid": "a",
            "seq": 0,
            "status": 2,
            "probe_classname": "toy.Greeting",
            "prompt": "Say hi",
            "outputs": ["Hi", "Ho"],
            "detector_results": {"always.Fail": [1.0, 0.0]},
        },
    ]
    (tmp_path / "x.report.jsonl").write_text("".join(json.dumps(line) + "\n" for line in report))
    (tmp_path / "x.hitlog.jsonl").write_bytes(hitlog.read_bytes())
    frame, problems = read(tmp_path, errors="collect")
    both = frame.filter(pl.col("rollout_id").str.starts_with("H1/a/"))
    assert both.select("rollout_id", "source", "outcome").rows() == [
        ("H1/a/0/toy.Greeting/0", "garak", "success"),
        ("H1/a/0/toy.Greeting/1", "garak", "failure"),
    ]
    assert frame["rollout_id"].n_unique() == 3
    assert problems.height == 0
    assert read(tmp_path).equals(frame)  # no error: that they repeat is their nature


@pytest.mark.integration
def test_openai_records_state_facts():
    frame = read(FIXTURES / "openai_chat")
    assert frame.select("attack", "goal", "target", "task", "expected", "split").rows() == [
        ("PAIR", "insult", "parrot-1", None, None, "test"),
        (None, None, "parrot-2", "sums/1", "2", None),
        (None, None, None, None, None, None),
    ]
    assert frame["reasoning"].to_list() == ["Rude?", None, None]
    assert frame["turn"].to_list() == [1, 1, None]


# ── the step of the training, where only the producer's layout says it ────────────────────────────────────────────────
SKYRL = (
    '{"input_prompt": "2 + 2?", "output_response": "4", "score": 1.0, "stop_reason": "stop", "data_source": "math"}\n'
)
RESULT = (
    '{"prompt": [{"role": "user", "content": "2 + 2?"}], '
    '"completion": [{"role": "assistant", "content": "4"}], "reward": 1.0}\n'
)
TRACE = (
    '{"id": "t1", "task": {"key": "k"}, "nodes": [{"message": {"role": "user", "content": "Hi"}}, {"parent": 0, "sampled": true, '
    '"message": {"role": "assistant", "content": "Yo"}}]}\n'
)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("place", "line", "step"),
    [
        ("dumped_evals/global_step_100_evals/math.jsonl", SKYRL, 100),  # SkyRL's trainer
        ("global_step_0_evals/math.jsonl", SKYRL, 0),
        ("rollouts/step_7/train_rollouts.jsonl", RESULT, 7),  # prime-rl's orchestrator
        ("rollouts/step_7/eval_rollouts.jsonl", TRACE, 7),
        ("step_7/train_rollouts.jsonl", TRACE, 7),
        ("dumped_evals/eval_only/math.jsonl", SKYRL, None),
        ("global_step_100/math.jsonl", SKYRL, None),  # a checkpoint's folder, in which nobody dumps
        ("step_7/results.jsonl", RESULT, None),
        ("step_7/rollouts/results.jsonl", RESULT, None),
        ("rollouts/step_7/train_rollouts.jsonl", RESULT.replace('"reward"', '"step": 3, "reward"'), None),
        ("rollouts/step_7/train_rollouts.jsonl", RESULT.replace('"reward"', '"train_step": 3, "reward"'), 3),
        ("rollouts/step_7/train_rollouts.jsonl", TRACE.replace('"task"', '"run": {"id": "r", "step": 3}, "task"'), 3),
        ("global_step_100_evals/math.jsonl", SKYRL.replace('"score"', '"train_step": 3, "score"'), 3),
        ("global_step_100_evals/math.jsonl", SKYRL.replace('"score"', '"global_step": 3, "score"'), None),
    ],
)
def test_the_step_is_that_of_the_layout_or_what_a_record_states(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, line: str, step: int | None
) -> None:
    """Where the producer's own layout names it, by whatever path the file is reached; never where a record says it itself."""
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    path.write_text(line)
    monkeypatch.chdir(path.parent)
    for reached in (path, tmp_path, path.name):
        frame = read(reached)
        assert (frame["train_step"].to_list() if "train_step" in frame.columns else [None]) == [step]


@pytest.mark.integration
def test_steps_of_dumps_are_compared(tmp_path: Path) -> None:
    """What `training` needs of such dumps is there without a word."""
    for step in (10, 20):
        path = tmp_path / "rollouts" / f"step_{step}" / "eval_rollouts.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text(RESULT.replace('"reward"', f'"example_id": {step}, "reward"'))
    rollouts = rw.measure(read(tmp_path), keep="train_step")
    assert rollouts.select("task", "train_step").sort("train_step").rows() == [("10", 10), ("20", 20)]
