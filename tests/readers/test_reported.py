"""What producers report, beside what we make of the same logs: the same where it is the same, and a list of where not."""

import json
import math
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise import read, schema
from rollwise.errors import ArgumentError, ReadError
from rollwise.readers import read_summary
from rollwise.readers.summaries import ABOUT

FIXTURES = Path(__file__).parent / "fixtures"

# runs of which a producer's figure is not ours, and why
NO_SAMPLES = "the log holds results and no samples"
A_PART = "the log holds a part of the samples that the results are of"
ONE_POINT = "theirs is 0 where nothing varies, ours is null: nothing is known of it"
ANOTHER_JUDGE = "by an older judge than `jailbroken`"
MADE_UP = "a toy file of the producer's own tests"
EMPTY_COUNTED = "theirs counts a rollout without turns as 0, ours not at all"
INSPECT_RATES = {
    "mAfeKsLqDAoArcBLPnx4jc-hhFRFjyT3X2b479az7uSva": A_PART,  # docent: 15 of 790
    "...-...": A_PART,  # log_tool_call_error.json: 1 of 4, without a score
    "SnKtvCqGnnegLQ7qSBFDzy": NO_SAMPLES,
    "o6Sd6xm3yv7pcqhmX2MJn9-5EAmX6wjMFqea6WY7XHzZp": NO_SAMPLES,
}
INSPECT_ERRORS = {
    "dSijfAQA6UNeUEY7LxqAXy": ONE_POINT,
    "ZB2vu5GNujYaBdPSReCeop": ONE_POINT,
    "f9WtbTGsrMUNXppXPbR9sq": ONE_POINT,
    "Dj4Li7NchTfQSiX7eKXLLN": ONE_POINT,
    "BpiPFmbVcMCRUAXv8ovCTx-9eTnG3tV8jGRYoTPMH54Ee": ONE_POINT,
    "eJCDmwYjFJJeJpJZfovPsz-eP76sDSGXBLXKc45qUhWuo": ONE_POINT,
    "gsM63GyMBKgA3p4sHAMAfG": ONE_POINT,
}
JAILBREAKBENCH = {"PAIR-llama-2-7b-chat-hf", "PAIR-vicuna-13b-v1.5"}  # of the folder test-artifact
SAME_COUNT = {  # where the older judge happens to count as many
    *("JailbreakChat-gpt-3.5-turbo-1106", "JailbreakChat-gpt-4-0125-preview", "JailbreakChat-llama-2-7b-chat-hf"),
}
GARAK = {"a1b2c3d4-e5f6-7890-abcd-ef1234567890": A_PART}  # 37 of 50 passed; four attempts are in the file


def joined(theirs: pl.DataFrame, turns: pl.DataFrame, metric: pl.Expr, by: list[str]) -> pl.DataFrame:
    """Their figures of the metric, with ours of the same groups beside them."""
    name = metric.meta.output_name()
    ours = rw.summarize(rw.measure(turns, metric), by=by, metrics=name, cluster="task", method="t")
    figures = theirs.filter(pl.col("ours") == name)
    return figures.join(ours.select(*by, "estimate", "std_error", "n"), on=by, how="left", suffix="_ours")


def near(ours: float | None, theirs: float | None) -> bool:
    return ours is not None and theirs is not None and math.isclose(ours, theirs, abs_tol=1e-9)


# ── the same, and where not ───────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture(scope="module")
def inspect(shared) -> pl.DataFrame:
    turns, _ = read(shared / "inspect", errors="collect")
    theirs, _ = read_summary(shared / "inspect", errors="collect")
    return joined(theirs, turns, m.task_success(), ["run"])


@pytest.mark.integration
def test_inspect_accuracies_are_ours_but_for_four_runs(inspect):
    apart = {row["run"] for row in inspect.iter_rows(named=True) if not near(row["estimate_ours"], row["estimate"])}
    assert apart == set(INSPECT_RATES)
    assert inspect["run"].n_unique() == 21


@pytest.mark.integration
def test_inspect_standard_errors_are_ours_but_where_nothing_varies(inspect):
    apart = {row["run"] for row in inspect.iter_rows(named=True) if not near(row["std_error_ours"], row["std_error"])}
    assert apart - set(INSPECT_RATES) == set(INSPECT_ERRORS)
    zero = inspect.filter(pl.col("run").is_in(list(INSPECT_ERRORS)))
    assert zero["std_error"].unique().to_list() == [0.0]


@pytest.mark.integration
def test_inspect_counts_epochs_as_we_do(inspect):
    same = inspect.filter(~pl.col("run").is_in(list(INSPECT_RATES)))
    assert same["n"].equals(same["n_ours"].cast(pl.Int64), check_names=False)
    assert inspect.filter(n=50)["n_clusters"].to_list() == [10, 10]


@pytest.fixture(scope="module")
def jailbreaks(shared) -> tuple[pl.DataFrame, pl.DataFrame]:
    folders = [shared / "jailbreakbench", shared / "llm_adaptive_attacks"]
    theirs, _ = read_summary(folders, errors="collect")
    return theirs, read(folders, errors="collect")[0]


@pytest.mark.integration
def test_rates_of_artifacts_are_ours_but_for_the_toy_files(jailbreaks):
    theirs, turns = jailbreaks
    figures = joined(theirs, turns, m.attack_success(), ["run"])
    assert figures.height == 22
    apart = [row for row in figures.iter_rows(named=True) if not near(row["estimate_ours"], row["estimate"])]
    assert {row["run"].rpartition("-")[0] for row in apart} <= JAILBREAKBENCH
    assert all("test-artifact" in row["file"] and row["n"] == 1 for row in apart)
    assert (figures["n"] == figures["n_ours"]).all()


@pytest.mark.integration
def test_the_number_of_jailbreaks_is_another_judges(jailbreaks):
    theirs, turns = jailbreaks
    counts = theirs.filter(metric="total_number_of_jailbreaks")
    assert counts["ours"].null_count() == counts.height
    assert counts["statistic"].unique().to_list() == ["sum"]
    assert counts["reason"].str.contains("another judge").all()
    ours = turns.group_by("run").agg(hits=(pl.col("outcome") == "success").sum())
    both = counts.filter(~pl.col("file").str.contains("test-artifact|llm_adaptive")).join(ours, on="run")
    same = both.filter(pl.col("estimate") == pl.col("hits"))["run"].str.replace(r"-[0-9a-f]{8}$", "")
    assert set(same) == SAME_COUNT
    assert both.filter(target="vicuna-13b-v1.5", attack="PAIR").select("estimate", "hits").row(0) == (82, 69)


@pytest.mark.integration
def test_rates_of_garak_are_ours_but_where_attempts_are_not_in_the_file(shared):
    turns, _ = read(shared / "garak", errors="collect")
    theirs, _ = read_summary(shared / "garak", errors="collect")
    figures = joined(theirs, turns, m.attack_success(), ["run", "attack"])
    assert figures.height == 7
    apart = {row["run"] for row in figures.iter_rows(named=True) if not near(row["estimate_ours"], row["estimate"])}
    assert apart == set(GARAK)
    row = figures.filter(run=next(iter(GARAK))).row(0, named=True)
    assert (row["estimate"], row["n"], row["n_ours"]) == (0.26, 50, 4)
    assert (row["level"], row["low"], row["high"], row["method"]) == (0.95, 0.14, 0.38, "reported by garak bootstrap")


@pytest.mark.parametrize("page", ["attack", "probe"])
def test_astra_counts_rollouts_without_turns(page):
    path = FIXTURES / "astra" / f"{page}.json"
    turns = read(path)
    theirs = read_summary(path)
    assert theirs["run"].unique().to_list() == turns["run"].unique().to_list()
    assert theirs["metric"][-1].partition("/")[0] == "pct_rollouts_with_target_toxicity"
    sides = ("adversarial_toxicity", "target_toxicity")
    measured = rw.measure(
        turns,
        *(pl.col(name).mean().alias(f"average_{name}") for name in ("reward", *sides)),
        *(m.ever(pl.col(name) >= 0.5, name=f"ever_{name}") for name in sides),
    )
    for row in theirs.iter_rows(named=True):
        ours = measured[row["ours"]].cast(pl.Float64)
        assert (ours.null_count(), row["n"]) == (1, 4), EMPTY_COUNTED
        assert ours.fill_null(0).mean() == pytest.approx(row["estimate"])
        assert not near(ours.mean(), row["estimate"])


def test_the_leaderboards_intervals_are_quantiles_of_its_draws(shared):
    folder = shared / "arena_hard"
    board = read_summary(folder / "bootstrap_stats_arena_hard.jsonl")
    assert board.height == 28
    draws = pl.read_ndjson(folder / "bootstrap_stats_arena_hard.jsonl")
    for row in board.iter_rows(named=True):
        results = draws.filter(model=row["target"])["results"].explode()
        assert results.quantile(0.025, "linear") == pytest.approx(row["low"])
        assert results.quantile(0.975, "linear") == pytest.approx(row["high"])
    table = read_summary(folder / "leaderboard_20240731.csv")
    first = table.row(0, named=True)
    assert (first["target"], first["estimate"], first["low"], first["high"]) == (
        "gpt-4-turbo-2024-04-09",
        82.63,
        80.75,
        84.6,
    )


def test_an_average_of_items_and_counts_of_findings(shared):
    (average,) = read_summary(shared / "nat_eval_docs").iter_rows(named=True)
    assert (average["estimate"], average["n"]) == (pytest.approx(2 / 3), 3)
    findings, problems = read_summary(shared / "quesma_gpt_oss", errors="collect")
    assert findings.height == 8
    assert findings.filter(run="export_20250813_102234").select("estimate", "n").row(0) == (25 / 36, 36)
    assert problems["reason"].unique().to_list() == ["reports no figures"]


def test_human_normalized_scores_of_atari(shared):
    games = read_summary(shared / "atari" / "DIAMOND.json").group_by("task").agg(pl.col("estimate").mean())
    people = read_summary(shared / "atari" / "rliable_atari100k_random_human.json")
    scale = people.pivot("task", index="target", values="estimate").rename({"target": "task"})
    scores = games.join(scale, on="task").select(
        (pl.col("estimate") - pl.col("random")) / (pl.col("human") - pl.col("random"))
    )
    assert scores.to_series().len() == 26
    assert scores.to_series().mean() == pytest.approx(1.459, abs=5e-4)
    assert scores.to_series().median() == pytest.approx(0.373, abs=5e-4)


# ── the frame ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize(
    "name", ["inspect", "jailbreakbench", "llm_adaptive_attacks", "garak", "arena_hard", "atari", "quesma_gpt_oss"]
)
def test_it_is_a_summary(shared, name):
    frame, problems = read_summary(shared / name, errors="collect")
    schema.check(frame, schema.SUMMARY)
    schema.check(problems, schema.PROBLEMS)
    assert tuple(frame.columns[: len(ABOUT)]) == ABOUT
    assert frame.columns[len(ABOUT) :] == list(schema.SUMMARY.names)
    assert frame["method"].str.starts_with("reported by ").all()


def test_the_figures_of_the_fixtures():
    inspect = read_summary(FIXTURES / "inspect")
    assert inspect.select(
        "run", "target", "task", "metric", "ours", "estimate", "std_error", "n", "n_clusters"
    ).rows() == [
        ("E1", "parrot-1", "sums", "match/accuracy", "task_success", 0.875, 0.125, 3, 2),
        ("E1", "parrot-1", "sums", "style/mean", None, 0.5, None, 3, None),
    ]
    garak = read_summary(FIXTURES / "garak")
    assert garak.select("run", "attack", "metric", "ours", "estimate", "low", "n", "n_undetermined").rows() == [
        ("G1", "toy.Greeting", "judge.ModelAsJudge", "attack_success", pytest.approx(2 / 3), 0.2, 3, 1),
        ("G1", "toy.Greeting", "judge.Refusal", None, 0.5, None, 2, 0),
    ]


def test_the_trials_of_a_benchmark_of_aisteer(tmp_path):
    """Each trial's numbers by pipeline and configuration; the mean and spread over trials are AISteer360's own, .432 and .027."""
    trials = [
        {"trial_id": at, "params": {}, "evaluations": {"MCQAAccuracy": {"trial_mean": rate, "each": [1.0], "why": "x"}}}
        for at, rate in enumerate([0.40, 0.46, 0.42, 0.42, 0.46])
    ]
    steered = {"trial_id": 0, "params": {"PASTA": {"alpha": 5}}, "evaluations": {"MCQAAccuracy": {"trial_mean": None}}}
    (tmp_path / "scores.json").write_text(json.dumps({"baseline": trials, "pasta": [steered]}))
    summary = read_summary(tmp_path / "scores.json")
    told = summary.select("pipeline", "config_id", "trial_id", "params", "metric", "estimate")
    assert told.row(0) == ("baseline", "99914b93", 0, None, "MCQAAccuracy/trial_mean", 0.4)
    assert told.row(5) == ("pasta", "64c918cb", 0, '{"PASTA":{"alpha":5}}', "MCQAAccuracy/trial_mean", None)
    assert summary.height == 6
    over = summary.filter(pipeline="baseline")["estimate"]
    assert over.mean() == pytest.approx(0.432)
    assert over.std() == pytest.approx(0.0268328, abs=1e-7)
    whole = read_summary(FIXTURES / "aisteer" / "profiles.json")
    assert whole.select("run", "pipeline", "metric", "estimate", "n").rows() == [
        (read(FIXTURES / "aisteer")["run"][0], "baseline", "MCQAAccuracy/trial_mean", 0.5, 2)
    ]
    with pytest.raises(
        ReadError, match=r"scores.json: holds results, not rollouts: open it with `rw.readers.read_summary`"
    ):
        read(tmp_path / "scores.json")
    (tmp_path / "scores.json").write_text(json.dumps({"a": [{"trial_id": 0, "evaluations": 7}]}))
    with pytest.raises(ReadError, match=r"record a\[0\]: field `evaluations`"):
        read_summary(tmp_path / "scores.json")


@pytest.mark.integration
def test_accuracy_counts_a_partial_answer_which_is_neither_solved_nor_not():
    rollouts = rw.measure(read(FIXTURES / "inspect"), m.task_success())
    (ours,) = rw.summarize(rollouts, metrics="task_success").iter_rows(named=True)
    assert (ours["estimate"], ours["n"]) == (1.0, 2)


def test_the_packed_and_the_plain_log_report_the_same(tmp_path, pack):
    log = json.loads((FIXTURES / "inspect" / "log.json").read_text())
    (tmp_path / "log.eval").write_bytes(pack(log, 93))
    one, other = read_summary(tmp_path), read_summary(FIXTURES / "inspect")
    assert one.drop("file").equals(other.drop("file"))


def test_results_of_early_2024(tmp_path):
    spec = {"task": "t", "model": "parrot", "run_id": "r", "task_id": "i"}
    results = {"scorer": {"name": "match"}, "metrics": {"accuracy": {"value": 1}, "bootstrap_stderr": {"value": 0.1}}}
    (tmp_path / "a.json").write_text(json.dumps({"status": "success", "eval": spec, "results": results}))
    assert read_summary(tmp_path).select("run", "metric", "estimate", "std_error").rows() == [
        ("r-i", "match/accuracy", 1.0, 0.1)
    ]


def test_several_reducers_and_scores_that_are_missing(tmp_path):
    scores = [
        {"name": "s", "reducer": reducer, "unscored_samples": 1, "metrics": {"mean": {"value": 1}, "std": {"value": 2}}}
        for reducer in ("mean", "max")
    ]
    log = {"status": "success", "eval": {"task": "t", "model": "p", "eval_id": "E"}}
    (tmp_path / "a.json").write_text(json.dumps({**log, "results": {"completed_samples": 9, "scores": scores}}))
    frame = read_summary(tmp_path)
    schema.check(frame, schema.SUMMARY)
    assert frame["metric"].to_list() == ["s/mean/mean", "s/mean/std", "s/max/mean", "s/max/std"]
    assert frame["n"].null_count() == 4, "how many epochs had a score is not said"


def test_an_interval_that_does_not_hold_its_rate_says_so(tmp_path):
    line = {"entry_type": "eval", "probe": "p", "detector": "d", "passed": 90, "total": 100, "confidence": 0.95}
    told = {**line, "confidence_lower": 0.84, "confidence_upper": 0.95}
    (tmp_path / "a.jsonl").write_text(
        json.dumps(told) + "\n" + json.dumps({**line, "probe": "q", "total": 0, "passed": 0})
    )
    frame = read_summary(tmp_path)
    assert frame["estimate"].to_list() == [0.1, None]
    assert frame["reason"].to_list() == [
        "the interval does not contain the rate; it may be the interval of the passes",
        None,
    ]


@pytest.mark.integration
@pytest.mark.parametrize("suffix", ["csv", "json", "parquet"])
def test_our_own_files_come_back(tmp_path, suffix):
    turns, _ = rw.simulate(targets={"base": 0.1, "guarded": 0.02}, seed=1)
    summary = rw.summarize(rw.measure(turns, m.attack_success()), by="target")
    rw.write(summary, tmp_path / f"summary.{suffix}")
    back = read_summary(tmp_path)
    assert back.select(summary.columns).equals(summary)
    assert back.columns[: len(ABOUT)] == list(ABOUT)


@pytest.mark.integration
def test_ours_and_theirs_in_one_frame(tmp_path):
    rw.write(
        rw.summarize(rw.measure(read(FIXTURES / "jailbreakbench"), m.attack_success()), by="run"), tmp_path / "s.csv"
    )
    frame = read_summary([tmp_path, FIXTURES / "jailbreakbench"])
    rates = frame.filter(pl.col("metric").is_in(["attack_success", "attack_success_rate"]))
    assert rates["run"].n_unique() == 1
    assert dict(rates.select("method", "estimate").rows())["reported by jailbreakbench"] == 0.5
    assert rates["estimate"].to_list() == [pytest.approx(1 / 3), 0.5], "the toy file states another rate than it holds"


# ── what is broken ────────────────────────────────────────────────────────────────────────────────────────────────────
def test_what_reports_nothing_is_refused_by_name_and_listed_in_a_folder(tmp_path, capsys):
    with pytest.raises(ReadError, match=r"reports no figures; `rw\.read` reads rollouts"):
        read_summary(FIXTURES / "tau_bench" / "list.json")
    with pytest.raises(ReadError, match=r"reports no figures \(2 problems\)"):
        read_summary(FIXTURES / "tau_bench", errors="collect")
    frame = read_summary([FIXTURES / "tau_bench", FIXTURES / "inspect"])
    assert frame.height == 2
    assert "2 files not recognized" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.json", '{"status": "success", "eval": {"task": 3, "model": "m"}}', "field `eval.task`"),
        ("a.json", '{"status": "x", "eval": {"task": "t", "model": "m"}, "results": {"scores": [{}]}}', "scores"),
        ("a.csv", "metric,estimate\nx,high\n", "is not a SUMMARY table"),
        ("a.jsonl", '{"entry_type": "eval"}\n{"entry_type": "eval"}', "record 1: .*missing required field"),
        ("a.json", '{"average_score": "high", "eval_output_items": []}', "field `average_score`"),
        ("a.eval", "PK\x03\x04 and no more", "not a complete zip archive"),
    ],
)
def test_what_is_broken_is_named(tmp_path, name, content, says):
    (tmp_path / name).write_text(content)
    with pytest.raises(ReadError, match=says):
        read_summary(tmp_path)


def test_nan_is_no_figure(tmp_path):
    spec = '"eval": {"task": "t", "model": "m", "eval_id": "E"}'
    metrics = '{"accuracy": {"value": NaN}, "stderr": {"value": NaN}}'
    scores = f'[{{"name": "s", "metrics": {metrics}}}]'
    (tmp_path / "a.json").write_text(f'{{"status": "success", {spec}, "results": {{"scores": {scores}}}}}')
    frame, problems = read_summary(tmp_path, errors="collect")
    assert frame.select("estimate", "std_error").row(0) == (None, None)
    assert problems["reason"].str.starts_with("2 NaN").to_list() == [True]


def test_options_that_make_no_sense_are_refused():
    with pytest.raises(ArgumentError, match="read_summary: no path given"):
        read_summary([])
    with pytest.raises(ArgumentError, match="errors='ignore' is unknown; it is"):
        read_summary(FIXTURES, errors="ignore")  # type: ignore[call-overload]


# ── harnesses ─────────────────────────────────────────────────────────────────────────────────────────────────────────
HARNESS = {  # by the schema of lm_eval 0.4.13 (lm_eval/result_schema.py)
    "results": {
        "mmlu": {
            "name": "mmlu",
            "alias": "mmlu",
            "acc,none": 0.5,
            "acc_stderr,none": 0.1,
            "sample_count": {"acc,none": 8},
        },
        "mmlu_law": {"alias": " - law", "sample_len": 5, "acc,none": 0.75, "acc_stderr,none": 0.25},
        "gsm8k": {
            "alias": "gsm8k",
            "exact_match,strict-match": 0.25,
            "exact_match_stderr,strict-match": "N/A",
            "exact_match,flexible-extract": 0.5,
            "exact_match_stderr,flexible-extract": 0.2,
        },
        "wikitext": {"alias": "wikitext", "word_perplexity,none": 12.5, "word_perplexity_stderr,none": "N/A"},
    },
    "groups": {"mmlu": {"alias": "mmlu", "acc,none": 0.5}},
    "group_subtasks": {"mmlu": ["mmlu_law"], "gsm8k": [], "wikitext": []},
    "configs": {"gsm8k": {"task": "gsm8k"}},
    "versions": {"mmlu": 2, "mmlu_law": 1.0, "gsm8k": 3.0, "wikitext": "Yaml"},
    "n-shot": {"gsm8k": 5, "mmlu_law": 0},
    "n-samples": {"gsm8k": {"original": 1319, "effective": 4}, "mmlu": {"effective": None}},
    "config": {"model": "hf", "model_args": {"pretrained": "org/parrot", "dtype": "auto"}},
}


def told(tmp_path: Path, value: object) -> pl.DataFrame:
    path = tmp_path / "results_2026-01-01T00-00-00.json"
    path.write_text(json.dumps(value))
    return read_summary(path)


def test_results_of_the_harness(tmp_path) -> None:
    """A figure for each metric and filter of each task and group; what is our success of a task is said to be."""
    found = told(tmp_path, HARNESS)
    assert found.select("target", "task", "metric", "ours", "estimate", "std_error", "n", "n_shot").rows() == [
        ("org/parrot", "mmlu", "acc", None, 0.5, 0.1, None, None),
        ("org/parrot", "mmlu_law", "acc", "task_success", 0.75, 0.25, 5, 0),
        ("org/parrot", "gsm8k", "exact_match/strict-match", "task_success", 0.25, None, 4, 5),
        ("org/parrot", "gsm8k", "exact_match/flexible-extract", None, 0.5, 0.2, 4, 5),
        ("org/parrot", "wikitext", "word_perplexity", None, 12.5, None, None, None),
    ]
    assert found["method"].unique().to_list() == ["reported by lm_eval"]


@pytest.mark.parametrize(
    ("more", "target"),
    [
        ({"model_name": "said"}, "said"),
        ({"config": {"model": "hf", "model_args": "dtype=auto,pretrained=org/parrot"}}, "org/parrot"),
        ({"config": {"model": "openai-chat", "model_args": "model=gpt,base_url=http://a/b?c=d"}}, "gpt"),
        ({"config": {"model": "dummy", "model_args": ""}}, "dummy"),
        ({"config": {}, "configs": {}}, None),
        ({"config": "hf", "n-shot": None, "group_subtasks": []}, None),  # which say more of the figures, or nothing
    ],
)
def test_the_target_of_the_harness(tmp_path, more, target) -> None:
    """By its name, or by what it was told to load."""
    assert set(told(tmp_path, {**HARNESS, **more})["target"]) == {target}


def test_results_of_the_harness_before_filters(tmp_path) -> None:
    """Version 0.3 had neither filters nor counts."""
    old = {
        "results": {"piqa": {"samples": 9, "acc": 0.8, "acc_stderr": 0.01, "acc_norm": 0.7, "acc_norm_stderr": 0.02}},
        "versions": {"piqa": 0},
        "config": {"model": "gpt2", "model_args": "", "num_fewshot": 0},
    }
    found = told(tmp_path, old).select("target", "metric", "ours", "estimate", "std_error", "n")
    assert found.rows() == [("gpt2", "acc", "task_success", 0.8, 0.01, 9), ("gpt2", "acc_norm", None, 0.7, 0.02, 9)]


@pytest.mark.parametrize("general", [{"model_name": "parrot"}, {"model_config": {"model_name": "parrot"}}])
def test_results_of_lighteval(tmp_path, general) -> None:
    """As the Open LLM Leaderboard has them, and as they are today."""
    scores = {"harness|gsm8k|5": {"acc": 0.25, "acc_stderr": 0.125}, "all": {"acc": 0.25, "acc_stderr": 0.125}}
    found = told(tmp_path, {"config_general": general, "results": scores, "versions": {"all": 0}, "config_tasks": {}})
    assert found.select("source", "target", "task", "metric", "ours", "estimate", "std_error").rows() == [
        ("lighteval", "parrot", "harness|gsm8k|5", "acc", None, 0.25, 0.125),
        ("lighteval", "parrot", "all", "acc", None, 0.25, 0.125),
    ]


@pytest.mark.integration
def test_what_the_harness_says_of_samples_is_what_we_find_in_them(tmp_path) -> None:
    """Beside the samples of one run: its accuracy is the share of documents that are `solved`."""
    samples = [
        {"doc_id": place, "target": "a", "arguments": [["q", {}]], "resps": [[said]], "filtered_resps": [said]}
        | {"filter": "strict", "metrics": ["exact_match"], "exact_match": float(said == "a")}
        for place, said in enumerate("abaa")
    ]
    (tmp_path / "samples_sums_2026-01-01T00-00-00.json").write_text(json.dumps(samples))
    results = {"sums": {"exact_match,strict": 0.75, "exact_match_stderr,strict": 0.25}}
    run = {"results": results, "versions": {"sums": 1}, "configs": {}, "n-samples": {"sums": {"effective": 4}}}
    (tmp_path / "results_2026-01-01T00-00-00.json").write_text(json.dumps(run))
    turns, problems = read(tmp_path, errors="collect")
    assert problems.height == 0  # the results are a companion of the samples
    ours = rw.summarize(
        rw.measure(turns, m.task_success()), by="category", metrics="task_success", cluster=None, method="t"
    )
    theirs = read_summary(tmp_path, errors="collect")[0].filter(ours="task_success")
    assert ours.select("category", "estimate", "n").rows() == theirs.select("task", "estimate", "n").rows()
    assert ours["std_error"].item() == pytest.approx(theirs["std_error"].item())


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"results": [1]}, "results"),
        ({"results": {"a": 1}}, "record a: expected"),
        ({"n-samples": {"gsm8k": {"effective": "many"}}}, "n-samples"),
    ],
)
def test_results_of_the_harness_that_are_none(tmp_path, value, place) -> None:
    """One sentence with the place."""
    with pytest.raises(ReadError, match=place):
        told(tmp_path, {**HARNESS, **value})
