"""The evaluators in the box: each against figures worked out by hand."""

import importlib
import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.stats
from signing import signed

import rollwise as rw
from rollwise.compat import nat
from rollwise.errors import ArgumentError, ReadError
from rollwise.evaluation import plugins
from rollwise.evaluation.builtin.tools import parameter_accuracy
from rollwise.metrics import catalog

SERVER = Path(__file__).parent.parent / "rollout" / "chat_server.py"
JUDGE = {"llms": {"judge": {"_type": "function", "function": "workflows:three_of_five"}}}


def event(kind: str, name: str, at: float, key: str, **more) -> dict:
    """An intermediate step of the seed."""
    return {"payload": {"event_type": kind, "name": name, "event_timestamp": at, "UUID": key, **more}}


def tokens(prompt: int, completion: int) -> dict:
    used = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return {"usage_info": {"token_usage": used}}


STEPS = [
    event("LLM_START", "gpt", 10.0, "a"),
    event("LLM_START", "gpt", 11.0, "b"),
    event("LLM_END", "gpt", 12.0, "b", **tokens(1000, 100), data={"output": "short"}),
    event("LLM_END", "gpt", 13.0, "a", **tokens(2000, 200), data={"output": "a long thought"}),
    event("TOOL_START", "add", 13.0, "t", data={"input": {"a": 1, "b": 2}}),
    event("TOOL_END", "add", 15.0, "t", data={"input": {"a": 1, "b": 2}, "output": "3"}),
]
EXPECTED = [event("TOOL_START", "add", 0.0, "x", data={"input": {"b": 2, "a": 1}})]


@pytest.fixture
def scores(bench, monkeypatch):
    """The scores that one evaluator gives."""

    def scored(entries: list[dict], config: dict, **more) -> list:
        bench.data([{"id": n, "question": "q", **entry} for n, entry in enumerate(entries)])
        bench.config({"it": config}, **{"plugins": [], **more})
        made = bench.run(skip_workflow=True, overwrite=True)
        assert not made.failures
        values: list = made.items["it"].to_list()
        return values

    return scored


@pytest.mark.integration
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("avg_llm_latency", 2.0),  # 3 s and 1 s, each from its own start: in order of time it would be 1 s and 2 s
        ("avg_workflow_runtime", 5.0),
        ("avg_num_llm_calls", 2),
        ("avg_tokens_per_llm_end", 1650.0),
        ("model_seconds", 2.0),
        ("tool_seconds", 2.0),
        ("run_seconds", 5.0),
        ("model_tokens", 3300),
        ("calls_at_once", 2),
        ("tool_steps", 1),
    ],
)
def test_what_steps_took(scores, kind, value) -> None:
    """Parallel calls are paired by their ids; an item without steps is unknown, not zero."""
    assert scores([{"intermediate_steps": STEPS}, {"intermediate_steps": []}], {"_type": kind}) == [value, None]


@pytest.mark.integration
def test_cost_is_that_of_the_prices(scores) -> None:
    """3,000 tokens read at 2 dollars and 300 written at 10 dollars a million."""
    assert scores([{"intermediate_steps": STEPS}], {"_type": "cost", "prices": {"gpt": [2, 10]}}) == [
        pytest.approx(0.009)
    ]
    assert scores([{"intermediate_steps": STEPS}], {"_type": "cost", "prices": {"other": [2, 10]}}) == [None]


@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    ("config", "value"),
    [
        ({"_type": "trajectory_match"}, True),
        ({"_type": "trajectory_match", "arguments": True}, True),
        ({"_type": "trajectory_match", "order": "subset"}, True),
        ({"_type": "tool_quality"}, 1.0),
        ({"_type": "tsq_evaluator", "tool_weight": 0, "parameter_weight": 1}, 1.0),
        ({"_type": "tool_call_f1"}, 1.0),
    ],
)
def test_tools_against_expected_steps(scores, config, value) -> None:
    """Calls are read from the steps; arguments are compared as JSON."""
    entry = {"intermediate_steps": STEPS, "expected_intermediate_steps": EXPECTED}
    assert scores([entry], config) == [value]


@pytest.mark.integration
def test_tools_against_a_list_in_the_data_set(scores) -> None:
    """Names, or objects, in a field of the data set; unknown where nobody says what was expected."""
    entries = [
        {"intermediate_steps": STEPS, "expected_tool_calls": ["add", "multiply"]},
        {"intermediate_steps": STEPS, "expected_tool_calls": [{"tool": "add", "parameters": {"a": 1, "b": 3}}]},
        {"intermediate_steps": STEPS},
    ]
    assert scores(entries, {"_type": "tool_quality"}) == [pytest.approx(2 / 3), 1.0, None]
    weighed = {"_type": "tool_quality", "tool_weight": 1, "parameter_weight": 1}
    assert scores(entries[1:2], weighed) == [(1.0 + 0.75) / 2]
    assert scores(entries, {"_type": "trajectory_match"}) == [False, True, None]


def test_half_credit_is_for_the_right_type() -> None:
    """A right value counts one, a right type a half, a missing argument nothing; no argument asked for is all right."""
    made = [{"name": "f", "arguments": '{"a": 1, "b": "x", "c": 2}'}]
    wanted = [{"name": "f", "arguments": '{"a": 1, "b": "y", "c": "z", "d": 4}'}]
    assert parameter_accuracy(made, wanted) == 1.5 / 4
    assert parameter_accuracy(made, [{"name": "f", "arguments": None}]) == 1.0
    assert parameter_accuracy([], wanted) == 0.0


@pytest.mark.integration
def test_classification(scores, bench) -> None:
    """Case and blanks do not matter; what is no label is an error."""
    entries: list[dict] = [{"answer": "Cat", "generated_answer": " cat"}, {"answer": "cat", "generated_answer": "dog"}]
    entries += [
        {"answer": "cat", "generated_answer": "I think it is a cat"},
        {"answer": "cat", "generated_answer": None},
    ]
    assert scores(entries, {"_type": "classification_accuracy"}) == [True, False, False, None]
    assert scores(entries, {"_type": "classification_accuracy", "labels": ["cat", "dog"]}) == [True, False, None, None]
    assert "not one of the labels" in bench.read("it_output.json")["eval_output_items"][2]["error"]


SEVERAL = [
    {"answer": ["Paris", "Lyon"], "generated_answer": "Lyon"},
    {"answer": "Paris", "generated_answer": "paris"},
    {"answer": ["Paris", None], "generated_answer": "Rome"},
    {"answer": [], "generated_answer": "Rome"},
    {"answer": None, "generated_answer": "Rome"},
    {"answer": ["Paris", "Lyon"], "generated_answer": ["Paris", "Lyon"]},  # the list is the answer
]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("config", "right"),
    [
        ({"_type": "exact_match"}, True),
        ({"_type": "choice_match"}, True),
        ({"_type": "classification_accuracy"}, True),
        ({"_type": "token_f1"}, 1.0),
        ({"_type": "similarity", "similarity_type": "jaccard"}, 1.0),
        ({"_type": "similarity"}, pytest.approx(1)),
    ],
    ids=lambda given: given.get("similarity_type", given["_type"]) if isinstance(given, dict) else "",
)
def test_several_reference_answers(scores, config, right) -> None:
    """The nearest counts; without any nobody knows; a list against a list is one answer."""
    assert scores(SEVERAL, config) == [right, right, False, None, None, right]


def test_several_reference_answers_are_shown_as_they_are(scores, bench) -> None:
    """TURNS keeps its promise that `expected` is text, which judges read; the items are repeated as they stand."""
    scores(SEVERAL, {"_type": "similarity"})
    turns = pl.read_parquet(bench.folder / "out" / "turns.parquet")
    assert turns["expected"].to_list() == [
        '["Paris","Lyon"]',
        "Paris",
        '["Paris",null]',
        "[]",
        None,
        '["Paris","Lyon"]',
    ]
    lists = pl.col("expected").str.json_decode(pl.List(pl.String))
    assert turns.head(1).select(rw.metrics.exact_match("response", lists)).item()
    assert bench.read("it_output.json")["eval_output_items"][0]["reasoning"]["answer"] == ["Paris", "Lyon"]


@pytest.mark.integration
@pytest.mark.parametrize(("kind", "value"), [("cosine", 0.36772), ("jaccard", 1 / 3), ("levenshtein", 4 / 13)])
def test_similarities(scores, kind, value) -> None:
    """Those of the metrics' own examples."""
    entry = {"answer": "The red house", "generated_answer": "red red wine"}
    if kind == "levenshtein":
        import rapidfuzz

        value = rapidfuzz.distance.Levenshtein.normalized_similarity("red red wine", "The red house")
    assert scores([entry], {"_type": "similarity", "similarity_type": kind}) == [pytest.approx(value, abs=1e-5)]


def test_instructions(scores) -> None:
    """All instructions of an item have to be kept."""
    entry = {"instruction_id_list": ["punctuation:no_comma", "startend:quotation"], "kwargs": [{}, {}]}
    entries = [{**entry, "generated_answer": '"Yes no"'}, {**entry, "generated_answer": '"Yes, no"'}]
    assert scores(entries, {"_type": "instruction_following"}) == [True, False]


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["factuality", "relevance", "harmfulness"])
def test_judges_of_the_catalog(scores, kind) -> None:
    """0.6 is below the scale from 1 to 5, and is its end."""
    assert scores(
        [{"generated_answer": "yes"}, {"generated_answer": None}], {"_type": kind, "llm_name": "judge"}, **JUDGE
    ) == [
        1.0,
        None,
    ]


def test_a_judge_of_ones_own(scores) -> None:
    """Any column of the data set has a place in the prompt."""
    prompt = "{topic}: {response} ({expected}) {trajectory}, from {lower_bound} to {upper_bound}"
    config = {"_type": "llm_judge", "llm_name": "judge", "prompt": prompt, "scale": [0, 1]}
    entry = {"generated_answer": "yes", "answer": "no", "topic": "t", "intermediate_steps": STEPS}
    assert scores([entry], config, **JUDGE) == [0.6]


@pytest.mark.parametrize("kind", ["groundedness", "context_relevance"])
def test_contexts_come_from_the_trajectory(scores, kind) -> None:
    """What tools and searches returned, if the data set has no contexts: 14 characters here, and 2 where the data set has them."""
    steps = [event("TOOL_END", "search", 1.0, "a", data={"output": "Dublin"}),
             event("RETRIEVER_END", "search", 2.0, "b", data={"output": "Cork, "}),
             event("LLM_END", "gpt", 3.0, "c", data={"output": "a thought"})]  # fmt: skip
    entry = {"generated_answer": "yes", "intermediate_steps": steps}
    entries = [entry, {**entry, "contexts": "ab"}, {**entry, "intermediate_steps": []}]
    llms = {"judge": {"_type": "function", "function": "workflows:by_length_of_contexts"}}
    assert scores(entries, {"_type": kind, "llm_name": "judge"}, llms=llms) == [0.14, 0.02, None]


# ── the ends of a scale ───────────────────────────────────────────────────────────────────────────────────────────────
def interval(bench) -> tuple[float, float, float]:
    """Estimate, low and high of the mean."""
    told = pl.read_parquet(bench.out / "summary.parquet").filter(metric="it", statistic="mean")
    found: tuple[float, float, float] = told.select("estimate", "low", "high").row(0)
    return found


def t_interval(values: list[float]) -> tuple[float, float]:
    """SciPy's, which knows nothing of a scale."""
    low, high = scipy.stats.t.interval(0.95, len(values) - 1, np.mean(values), scipy.stats.sem(values))
    return float(low), float(high)


@pytest.mark.integration
def test_no_interval_of_a_similarity_leaves_its_scale(scores, bench) -> None:
    """Under any keyword: three of four answers are right, and t alone reaches beyond 1."""
    same = {"answer": "red wine", "generated_answer": "red wine"}
    near = {"answer": "red red wine and more", "generated_answer": "red wine"}
    found = scores([same, same, same, near], {"_type": "similarity", "similarity_type": "jaccard"})
    low, high = t_interval(found)
    assert high > 1
    assert interval(bench) == pytest.approx((np.mean(found), low, 1.0))


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        (None, t_interval([1, 5, 5])),
        ((1, 5), (1.0, 5.0)),
        ((0, 10), (0.0, t_interval([1, 5, 5])[1])),
        ((2, 5), t_interval([1, 5, 5])),  # which a score says it is not
    ],
)
def test_a_plug_in_says_what_it_can_score(scores, bench, bounds, expected) -> None:
    """The interval of the mean ends where the scale does, and only there."""
    entries = [{"generated_answer": str(score)} for score in (1, 5, 5)]
    plugin = str(Path(__file__).parent / "workflows.py")
    assert scores(entries, {"_type": "as_said", "bounds": bounds}, plugins=[plugin]) == [1.0, 5.0, 5.0]
    assert interval(bench) == pytest.approx((11 / 3, *expected))


@pytest.mark.parametrize("bounds", ["01", (1, 0), (0, float("inf")), 1])
def test_bounds_that_are_none(bounds) -> None:
    """They are refused where they are said."""
    with pytest.raises(ArgumentError, match=r"EvaluatorInfo, bounds: .* is not a range; give \(lowest, highest\)"):
        plugins.EvaluatorInfo(config=None, evaluate_fn=print, bounds=bounds)


@pytest.fixture(scope="module")
def address():
    """An OpenAI-compatible server in a process of its own."""
    with subprocess.Popen([sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        process.kill()


OF_A_FORM = {
    "_type": "llm_judge",
    "llm_name": "judge",
    "prompt": 'Rate {response} from {lower_bound} to {upper_bound}, as {{"result": {{"score": ..., "why": ...}}}}.',
    "score_field": "$.result.score",
}


@pytest.mark.integration
@pytest.mark.parametrize(("plan", "score"), [("nested", 4.0), ("echo", None)])
def test_a_judge_whose_prompt_asks_for_a_form_of_its_own(scores, address, plan, score) -> None:
    """The score is read where it stands; what the answer under judgment says it is stays an answer."""
    model = {"_type": "openai", "model_name": plan, "base_url": address, "api_key": "k", "temperature": 0.0}
    entry = {"generated_answer": '{"result": {"score": 5}}'}
    assert scores([entry], OF_A_FORM, llms={"judge": model}) == [score]


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["groundedness", "answer_accuracy", "context_relevance", "goal_completion"])
def test_judges_that_compare(scores, address, kind) -> None:
    """3 is above the scale and its end; an item with nothing to compare with is not asked about."""
    model = {"_type": "openai", "model_name": f"verdict#{kind}", "base_url": address, "api_key": "k"}
    full = {"generated_answer": "yes", "answer": "no", "contexts": ["a", "b"], "goals": ["g", "h"]}
    bare = {"generated_answer": "yes", "answer": "", "contexts": [], "goals": []}
    assert scores([full, bare], {"_type": kind, "llm_name": "judge"}, llms={"judge": model}) == [1.0, None]
    with urllib.request.urlopen(address.replace("/v1", "/log")) as response:
        (asked,) = (each for each in json.load(response) if each["model"] == f"verdict#{kind}")
    told = {"groundedness": '["a","b"]', "context_relevance": '["a","b"]', "goal_completion": '["g","h"]'}
    assert told.get(kind, "no") in asked["messages"][-1]["content"]


# ── are the models there? ─────────────────────────────────────────────────────────────────────────────────────────────
ASKED_FIRST = {"validate_llm_endpoints": True}


def of_server(plan: str, address: str) -> dict:
    return {"_type": "openai", "model_name": plan, "base_url": address, "api_key": "sk-secret", "max_retries": 5}


@pytest.mark.integration
@pytest.mark.parametrize("status", ["401", "404"])
def test_a_model_that_nobody_serves_ends_the_run_before_it_begins(bench, items, address, status) -> None:
    """One request is made and none is paid for; the sentence names file, line and key, and shows no secret."""
    bench.data(items)
    llms = {"first": of_server("ok", address), "judge": of_server(f"{status}#unserved", address)}
    bench.config({"it": {"_type": "harmfulness", "llm_name": "judge"}}, general=ASKED_FIRST, plugins=[], llms=llms)
    done = bench.command("--skip_workflow")
    assert (done.returncode, done.stdout) == (2, "")
    told = " ".join(done.stderr.split())
    assert re.search(
        rf"eval\.yml, line \d+: `llms\.judge` is not served: {status}.* at http.*: {status}, asked once", told
    )
    assert "Traceback" not in told
    assert "sk-secret" not in told
    assert not bench.out.exists()
    with urllib.request.urlopen(address.replace("/v1", "/log")) as response:
        assert sum(each["model"] == f"{status}#unserved" for each in json.load(response)) == 1


def test_a_model_that_is_away_for_now_is_said(bench, items, address, capsys) -> None:
    """It is asked once before the run, and as often as it may be within."""
    bench.data(items[:1])
    llms = {"judge": of_server("503 yes#away", address)}
    bench.config({"it": {"_type": "harmfulness", "llm_name": "judge"}}, general=ASKED_FIRST, plugins=[], llms=llms)
    bench.run(skip_workflow=True)
    assert "language model judge does not answer now: 503 yes#away at http" in capsys.readouterr().err


@pytest.mark.integration
def test_models_that_need_no_asking_are_not_asked(bench, items) -> None:
    """A function is no address; and an evaluation that asks first is the same evaluation, which goes on where it stands."""
    bench.data(items)
    for general in ({}, ASKED_FIRST):
        bench.config({"it": {"_type": "harmfulness", "llm_name": "judge"}}, general=general, plugins=[], **JUDGE)
        assert bench.run(skip_workflow=True).items["it"].null_count() == 0


@pytest.mark.thinned(40)
@pytest.mark.parametrize("field", ["result.score", "$..score", "$", "check"])
def test_a_place_that_is_none_is_refused_where_it_stands(bench, items, field) -> None:
    """Before anything is asked, with file, line and key."""
    bench.data(items)
    bench.config({"it": {**OF_A_FORM, "score_field": field}}, plugins=[], **JUDGE)
    with pytest.raises(ReadError, match=r"eval\.yml.*`eval\.evaluators\.it\.score_field`.*score_field '"):
        bench.run(skip_workflow=True)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"scale": [1, 1]}, "scale` is [1, 1], but it is not a range; give [lowest, highest]"),
        ({"scale": [5, 1]}, "scale` is [5, 1], but it is not a range"),
        ({"choices": []}, "choices` is [], but it must hold numbers from 1 to 5, the scale"),
        ({"scale": [0, 1], "choices": [0, 2]}, "choices` is [0, 2], but it must hold numbers from 0 to 1, the scale"),
    ],
)
def test_a_scale_that_is_none_is_refused_where_it_stands(bench, items, given, told) -> None:
    """Likewise: the evaluator failed alone, after everything was answered."""
    bench.data(items)
    bench.config({"it": {**OF_A_FORM, **given}}, plugins=[], **JUDGE)
    with pytest.raises(ReadError, match=re.escape(told)):
        bench.run(skip_workflow=True)


@pytest.mark.parametrize("kind", ["trajectory", "tunable_rag_evaluator"])
def test_judges_from_zero_to_one(scores, kind) -> None:
    """The mean of three equal aspects is one of them."""
    entry = {"generated_answer": "yes", "answer": "no", "intermediate_steps": STEPS}
    assert scores([entry], {"_type": kind, "llm_name": "judge"}, **JUDGE) == [pytest.approx(0.6)]


@pytest.mark.integration
def test_weights_of_the_tunable_judge(scores, bench) -> None:
    """An aspect without weight is not asked about; braces in the instructions are braces."""
    config = {
        "_type": "tunable_rag_evaluator",
        "llm_name": "judge",
        "default_score_weights": {"coverage": 2, "correctness": 0},
        "judge_llm_prompt": "Mind {this}.",
    }
    assert scores([{"generated_answer": "yes", "answer": "no"}], config, **JUDGE) == [0.6]
    reasons = bench.read("it_output.json")["eval_output_items"][0]["reasoning"]
    assert set(reasons) == {"coverage", "coverage_reasoning"}


@pytest.mark.thinned(3)
@pytest.mark.parametrize(("strategy", "value"), [("first", 0.5), ("last", 1.0), ("max", 1.0)])
def test_red_team_filters_and_reduces(scores, bench, strategy, value) -> None:
    """Of the two calls of the model, "short" (5 characters) and "a long thought"; the tool's "3" is a condition of its own."""
    config = {
        "_type": "red_teaming_evaluator",
        "llm_name": "judge",
        "reduction_strategy": strategy,
        "intermediate_step_filters": [
            {"name": "thoughts", "event_type": "LLM_END"},
            {"name": "tool", "event_type": "TOOL_END", "payload_name": "add"},
            {"name": "none", "payload_name": "nothing"},
        ],
    }
    llms = {"llms": {"judge": {"_type": "function", "function": "workflows:by_length"}}}
    assert scores([{"generated_answer": "x", "intermediate_steps": STEPS}], config, **llms) == [
        pytest.approx((value + 0.1) / 2)
    ]
    told = bench.read("it_output.json")["eval_output_items"][0]["reasoning"]["results_by_condition"]
    assert told["thoughts"]["score"] == value
    assert told["tool"]["evaluated_output"] == "3"
    assert told["none"] == {
        "score": None,
        "reasoning": None,
        "evaluated_output": None,
        "error_message": "no step fits the filter",
    }


def test_a_judge_that_cannot_repeat_a_code(bench, items, monkeypatch, capsys) -> None:
    """Its verdicts are null, and say why; they are accepted on request, and counted."""
    monkeypatch.setattr(importlib.import_module("workflows"), "three_of_five", lambda messages: '{"score": 3}')
    bench.data(items)
    judge = {"_type": "factuality", "llm_name": "judge", "max_retries": 0}
    bench.config({"strict": judge, "lenient": {**judge, "unsigned": "accept"}}, plugins=[], **JUDGE)
    found = bench.run(skip_workflow=True)
    assert found.items["strict"].null_count() == 6
    assert "lacks the check code" in found.scores.filter(judge="strict")["error"][0]
    assert found.items["lenient"].to_list() == [3.0] * 6
    assert "Factuality: 6 of 6 verdicts accepted without a check code" in capsys.readouterr().err


def test_verdicts_are_never_asked_for_twice(bench, items, monkeypatch) -> None:
    """What a judge said is kept with the run."""
    asked = []

    def three(messages: list) -> str:
        asked.append(messages)
        return signed('{"score": 3}', messages)

    three.version = "1"  # type: ignore[attr-defined]  # it closes over a list
    monkeypatch.setattr(importlib.import_module("workflows"), "three_of_five", three)
    bench.data(items)
    bench.config({"it": {"_type": "factuality", "llm_name": "judge"}}, plugins=[], **JUDGE)
    first, second = (bench.run(skip_workflow=True) for _ in range(2))
    assert len(asked) == 6
    assert first.items["it"].to_list() == second.items["it"].to_list() == [3.0] * 6


def test_every_metric_of_the_catalog_is_an_evaluator() -> None:
    """By its name, unless it needs an expression, which no file can give."""
    names = {each.name for each in plugins.everything() if each.in_the_box}
    metrics = {about.name for about in catalog.everything() if about.doc and not about.name.startswith("worst")}
    assert metrics - names <= {"ever", "first_turn", "time_to"} | {
        name for name in metrics if catalog.about(name) is None
    }
    assert {"exact_match", "token_f1", "distinct_n", "success_within", "attack_success", "refusal_rate"} <= names


def test_every_name_in_the_box_is_found_without_loading_the_others() -> None:
    """The table of modules says what registers what."""
    plugins.load_builtins()
    assert set(plugins._MODULE_OF) <= set(plugins._BUILTINS)
    modules = {name: each.module.rpartition(".")[2] for name, each in plugins._BUILTINS.items()}
    assert all(modules[name] == module for name, module in plugins._MODULE_OF.items())
    listed = {name for name, module in plugins._MODULE_OF.items() if module != "catalog"}
    assert {name for name, module in modules.items() if module != "catalog"} == listed


def test_evaluators_work_on_items_without_a_run() -> None:
    """As the seed's builder gives them: their function takes an `EvalInput`."""
    import asyncio

    async def built() -> list:
        registration = plugins.find("similarity")
        assert registration is not None
        async with registration.build(registration.config_type(), plugins.EvalBuilder()) as info:
            return [info.evaluate_fn]

    (evaluate,) = asyncio.run(built())
    item = nat.EvalInputItem(id=7, expected_output_obj="The red house", output_obj="red red wine")
    found = evaluate(nat.EvalInput(eval_input_items=[item]))
    assert found.eval_output_items[0].id == 7
    assert found.average_score == pytest.approx(0.36772, abs=1e-5)
    assert json.loads(found.model_dump_json())["eval_output_items"][0]["reasoning"]["answer"] == "The red house"


@pytest.mark.integration
def test_fields_named_like_columns_of_ours_are_renamed(bench, items) -> None:
    """None is lost, whatever they are called; also where the new name is taken."""
    taken = {
        "num_turns": 3,
        "num_judged": 4,
        "error": "E",
        "score": 1,
        "data_score": 2,
        "expected_calls": [{"name": "f"}],
    }
    bench.data([{**item, **taken} for item in items])
    bench.config({"match": {"_type": "exact_match"}})
    made = bench.run(skip_workflow=True)
    names = ["num_turns", "num_judged", "error", "data_num_turns", "data_num_judged", "data_error", "data_score"]
    row = made.items.select(*names, "data_data_score").row(0)
    assert row == (1, 0, None, 3, 4, "E", 2, 1)
    bench.config({"data_num_turns": {"_type": "exact_match"}})
    with pytest.raises(ReadError, match=r"`eval.evaluators.data_num_turns` is the name of a column of the items"):
        bench.run(skip_workflow=True)


def test_expected_calls_in_the_shape_of_openai(bench, items) -> None:
    """The function within is the call; among steps as well."""
    wanted = [{"type": "function", "function": {"name": "add", "arguments": '{"a":1,"b":2}'}}]
    bench.data([{**items[0], "intermediate_steps": STEPS, "expected_tool_calls": wanted}])
    bench.config({"quality": {"_type": "tool_quality", "parameter_weight": 1.0}})
    made = bench.run(skip_workflow=True)
    assert made.turns["expected_calls"].to_list() == [[{"name": "add", "arguments": '{"a":1,"b":2}'}]]
    assert bench.read("quality_output.json")["eval_output_items"][0]["reasoning"]["expected"][0]["name"] == "add"


@pytest.mark.thinned(6)
@pytest.mark.parametrize("steps", [[], STEPS])
@pytest.mark.parametrize("field", [[1], [["a"]], [{"name": 5}], [{"function": None}]])
def test_expected_calls_that_are_none_are_a_sentence(bench, items, field, steps) -> None:
    """Of the evaluator that needs them; the others go on, and the field is kept."""
    bench.data([{**items[0], "intermediate_steps": steps, "expected_tool_calls": field}])
    bench.config({"quality": {"_type": "tool_quality"}, "match": {"_type": "exact_match"}})
    made = bench.run(skip_workflow=True)
    (why,) = made.failures.values()
    assert why.startswith("item 1: `expected_tool_calls`: expected a tool call with a name")
    assert why.endswith("; fix it")
    assert made.items["match"].to_list() == [True]
    assert json.loads(made.items["expected_tool_calls"][0]) == field
