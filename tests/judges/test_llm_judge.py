"""A language model as a judge: the seed page's class and arguments, against functions and a real server."""

import inspect
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from signing import signed

import rollwise as rw
from rollwise.errors import ArgumentError
from rollwise.judges import Reply, Verdict
from rollwise.judges.llm_judge import _OF_CLASS

TEMPLATE = "From {lower_bound} to {upper_bound}: {response}"
HERE = Path(__file__).parent
SERVER = HERE.parent / "rollout" / "chat_server.py"


class Says:
    """An honest model that gives these answers, signed, one after another, and the last one for ever."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.told = answers, list[Any]()
        self.version = repr(answers)

    def __call__(self, messages: list[dict]) -> Any:
        """The next answer."""
        self.told.append(messages)
        answer = self.answers[min(len(self.told), len(self.answers)) - 1]
        if isinstance(answer, Reply):
            return replace(answer, text=signed(answer.text, messages))
        return signed(answer, messages)


def score(number: object) -> str:
    return f'```json\n{{"score": {number}}}\n```'


# ── the seed page ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_pages_class_runs_with_its_import_changed() -> None:
    """`Factuality` as the page has it, and the call of its last example."""
    page = (HERE / "seed_page.py").read_text(encoding="utf-8")
    space: dict[str, Any] = {}
    exec(compile(page, "seed_page.py", "exec"), space)
    model = Says(score(5), score(4), score(3))
    metric = space["Factuality"](
        model_or_id=model, gen_kwargs={"temperature": 0.8, "num_return_sequences": 3, "do_sample": True}, batch_size=1
    )
    found = metric(responses=["Dublin."], prompts=["What is the capital of Ireland?"])
    assert found == {"mean_score": 4.0, "scores": [4.0], "raw_scores": [[5.0, 4.0, 3.0]]}
    (message,) = model.told[0]
    assert "You are a careful fact-checker." in message["content"]
    assert "1 (completely incorrect) to 5 (fully correct)" in message["content"]
    assert "PROMPT:\nWhat is the capital of Ireland?\n\nRESPONSE:\nDublin." in message["content"]
    assert metric.name == "Factuality"


# ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("out_of_range", "given", "found"),
    [
        ("clamp", 7, 5.0),
        ("clamp", -1, 1.0),
        ("clamp", "NaN", None),
        ("clamp", "Infinity", None),
        ("null", 7, None),
        ("null", 3.5, 3.5),
        ("error", 7, None),
        ("error", 5, 5.0),
    ],
)
def test_out_of_range(out_of_range: Any, given: object, found: float | None) -> None:
    """Clamped, null or an error, as asked; no number is never the highest one."""
    metric = rw.judges.LLMJudgeMetric(Says(score(given)), TEMPLATE, out_of_range=out_of_range)
    result = metric(["x"])
    assert result["scores"] == [found]
    assert ("errors" in result) == (found is None and out_of_range != "null")


def test_a_score_may_have_to_be_one_of_a_few() -> None:
    """The judge is told which; another number is no verdict, and asked again like any that cannot be read."""
    asked: list[str] = []
    answers = iter(['{"score": 0.7}', '{"score": 0.5}', '{"score": 2}'])

    def model(messages: Any) -> str:
        asked.append(messages[-1]["content"])
        return signed(next(answers), messages)

    given: dict[str, Any] = {"scale": (0, 1), "choices": (0, 0.5, 1)}
    judge = rw.judges.LLMJudgeMetric(model, TEMPLATE, **given)
    assert judge(["a"])["scores"] == [0.5]
    assert '"score": <one of 0, 0.5, 1>' in asked[0]
    strict = rw.judges.LLMJudgeMetric(model, TEMPLATE, **given, max_retries=0, out_of_range="error")
    assert strict(["a"])["scores"] == [None]
    other = rw.judges.LLMJudgeMetric(
        lambda messages: signed('{"score": 0.7}', messages), TEMPLATE, **given, max_retries=0
    )
    assert other(["a"])["errors"] == ["<lambda>: its score 0.7 is not one of 0, 0.5, 1"]
    beyond = rw.judges.LLMJudgeMetric(
        lambda messages: signed('{"score": 4}', messages), TEMPLATE, **given, max_retries=0
    )
    assert beyond(["a"])["errors"] == ["<lambda>: its score 4 is not one of 0, 0.5, 1"]
    listed: Any = [np.array([0, 0.5, 1]), iter([0, 0.5, 1])]
    for choices in listed:
        assert rw.judges.LLMJudgeMetric(
            lambda messages: signed('{"score": 0.5}', messages), TEMPLATE, scale=(0, 1), choices=choices
        )(["a"])["scores"] == [0.5]
    plain = rw.judges.LLMJudgeMetric(lambda messages: signed('{"score": 0.7}', messages), TEMPLATE, scale=(0, 1))
    assert "choices" not in plain.configuration
    assert other.configuration["choices"] == [0, 0.5, 1]


def test_a_bad_answer_is_drawn_again_up_to_max_retries() -> None:
    """Each time with another seed; then the judgment has failed, and only that."""
    model = Says("what?", "no idea", score(2))
    metric = rw.judges.LLMJudgeMetric(model, TEMPLATE, max_retries=2)
    assert metric(["x"])["scores"] == [2.0]
    assert len(model.told) == 3
    never = Says("what?")
    found = rw.judges.LLMJudgeMetric(never, TEMPLATE, max_retries=2, batch_size=1)(["x", "y"])
    assert len(never.told) == 6
    assert (found["mean_score"], found["scores"], found["raw_scores"]) == (None, [None, None], [[None], [None]])
    assert found["errors"] == ["Says, asked 3 times: it holds no JSON object with a score: 'what?'"] * 2


def test_at_temperature_zero_nothing_is_drawn_again() -> None:
    """The same answer would come; nothing is aborted either."""
    model = Says("what?")
    found = rw.judges.LLMJudgeMetric(model, TEMPLATE, gen_kwargs={"temperature": 0.0})(["x"])
    assert len(model.told) == 1
    assert found["scores"] == [None]


def test_a_failed_sample_is_in_no_mean() -> None:
    """Not as zero, not as NaN."""
    model = Says(score(4), "what?", score(2))
    metric = rw.judges.LLMJudgeMetric(
        model, TEMPLATE, max_retries=0, batch_size=1, gen_kwargs={"num_return_sequences": 3}
    )
    found = metric(["x"])
    assert found["raw_scores"] == [[4.0, None, 2.0]]
    assert (found["scores"], found["mean_score"]) == ([3.0], 3.0)


def test_a_parser_of_ones_own() -> None:
    """It reads the answer, and no instructions are added."""
    model = Says("I would say 4")
    metric = rw.judges.LLMJudgeMetric(
        model, TEMPLATE, structured_output=False, parser=lambda text: float(text.rpartition(" ")[2])
    )
    assert metric(["x"])["scores"] == [4.0]
    assert model.told[0][0]["content"] == "From 1 to 5: x"


def test_the_question_says_how_to_answer() -> None:
    """Bounds, the code, reasons only if asked for; a system text goes first."""
    model = Says(score(1))
    rw.judges.LLMJudgeMetric(model, TEMPLATE, scale=(0, 0.5), reasoning=True, system="Be strict.")(["x"])
    system, user = model.told[0]
    assert system == {"role": "system", "content": "Be strict."}
    assert user["content"].startswith("From 0 to 0.5: x\n\n")
    assert '"reasoning": "why, in one or two sentences", "score": <number from 0 to 0.5>, "check": "' in user["content"]


@pytest.mark.integration
def test_a_prompt_may_ask_for_a_form_of_its_own() -> None:
    """The judge is told where the score stands, what it may be, and the code; other judges are told what they were."""
    model = Says('{"result": {"score": 0.5}, "reasoning": "so so"}')
    template = TEMPLATE + '\nAnswer as {{"result": {{"score": ...}}}}.'
    options: dict[str, Any] = {"scale": (0, 1), "choices": (0, 0.5, 1), "reasoning": True}
    judge = rw.judges.LLMJudgeMetric(model, template, score_field="$.result.score", **options)
    assert judge(["x"])["scores"] == [0.5]
    asked = model.told[0][0]["content"]
    assert "`$.result.score` is the score: <one of 0, 0.5, 1>" in asked
    assert '"reasoning": "why, in one or two sentences", "check": "' in asked
    assert '"score": <' not in asked
    assert judge.configuration["score_field"] == "$.result.score"
    plain = rw.judges.LLMJudgeMetric(model, template, **options)
    assert "score_field" not in plain.configuration
    assert plain(["x"])["scores"] == [None]
    turns = pl.DataFrame({"rollout_id": ["a"], "turn": [1], "response": ["x"]})
    first, second = (rw.judge(turns, each, progress=False)["judge"].item() for each in (judge, plain))
    assert first != second


def test_answers_of_no_response_and_of_none() -> None:
    """An empty list has no mean; a response that is None is not judged; a prompt that is None is empty."""
    metric = rw.judges.LLMJudgeMetric(Says(score(3)), TEMPLATE + "{prompt}")
    assert metric([], []) == {"mean_score": None, "scores": [], "raw_scores": []}
    assert metric(["x", None], [None, "q"]) == {"mean_score": 3.0, "scores": [3.0, None], "raw_scores": [[3.0], []]}


def test_further_columns_are_arguments() -> None:
    """One value for each response, or one for all."""
    model = Says(score(3))
    metric = rw.judges.LLMJudgeMetric(model, TEMPLATE + " {goal} {step}", batch_size=1)
    metric(["x", "y"], goal=["g1", "g2"], step=7)
    assert [told[0]["content"].partition("\n")[0] for told in model.told] == [
        "From 1 to 5: x g1 7",
        "From 1 to 5: y g2 7",
    ]


def test_score_rendered_asks_as_it_is_told() -> None:
    """Nothing is filled in and nothing added."""
    model = Says(score(2))
    found = rw.judges.LLMJudgeMetric(model, TEMPLATE, batch_size=1).score_rendered(["one {response}", "two"])
    assert [told[0]["content"] for told in model.told] == ["one {response}", "two"]
    assert found["scores"] == [2.0, 2.0]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"prompt_template": "{response}"}, r"the template lacks \{lower_bound\}, \{upper_bound\}"),
        ({"prompt_template": "{lower_bound}{upper_bound}"}, r"lacks \{response\}"),
        ({"prompt_template": "{response.x}{lower_bound}{upper_bound}"}, "which cannot name a column"),
        ({"prompt_template": "{response!r}{lower_bound}{upper_bound}"}, "which cannot name a column"),
        ({"prompt_template": "{0}{response}{lower_bound}{upper_bound}"}, "which cannot name a column"),
        ({"prompt_template": "{response"}, "cannot be read"),
        ({"scale": (5, 1)}, "is not a range"),
        ({"scale": ("1", "5")}, r"the scale \('1', '5'\) is not a range; give .*, two numbers"),
        ({"scale": 5}, "the scale 5 is not a range"),
        ({"choices": (1, 6)}, r"choices=\(1, 6\); give numbers from 1 to 5"),
        ({"choices": 5}, "choices=5; give numbers from 1 to 5"),
        ({"choices": ()}, r"choices=\(\); give numbers from 1 to 5"),
        ({"choices": "15"}, r"choices='15'; give numbers from 1 to 5"),
        ({"scale": (1, float("inf"))}, "is not a range"),
        ({"max_retries": 1.5}, "max_retries=1.5 is not a whole number"),
        ({"gen_kwargs": {"num_return_sequences": "2"}}, "num_return_sequences is '2'; give a whole number, 1 or more"),
        ({"gen_kwargs": ["temperature"]}, r"gen_kwargs=\['temperature'\] is not a mapping such as"),
        ({"parser": 3, "structured_output": False}, "parser=3 is not a function or None"),
        ({"prompt_template": None}, "prompt_template=None is not text"),
        ({"max_retries": -1}, "max_retries=-1; give a whole number, 0 or more"),
        ({"structured_output": False}, "give a parser"),
        ({"parser": float}, "give a parser"),
        ({"out_of_range": "drop"}, "out_of_range='drop' is unknown; it is"),
        ({"gen_kwargs": {"num_return_sequences": 3, "temperature": 0.0}}, "3 times; set a temperature"),
        ({"gen_kwargs": {"num_return_sequences": 0}}, "give a whole number, 1 or more"),
        ({"model_or_id": 7}, "the model is 7; give an Endpoint"),
        ({"score_field": 5}, "score_field=5 is not text or None"),
        ({"score_field": ""}, "score_field '' is not a key"),
        (
            {"score_field": "result.score"},
            r"score_field 'result.score' is not a key; write a path, as in \$.result.score",
        ),
        ({"score_field": "$..score"}, r"score_field '\$..score' is not understood"),
        ({"score_field": "$"}, "cannot hold a score; begin with a key"),
        ({"score_field": "$[0].score"}, "cannot hold a score; begin with a key"),
        ({"score_field": "check"}, "other than `check`, which holds its check code"),
        (
            {"score_field": "a", "structured_output": False, "parser": float},
            "a parser finds the score itself; omit score_field='a'",
        ),
    ],
)
def test_mistakes_are_one_sentence(given: dict, sentence: str) -> None:
    """When the metric is made."""
    with pytest.raises(ArgumentError, match=sentence):
        rw.judges.LLMJudgeMetric(**{"model_or_id": len, "prompt_template": TEMPLATE, **given})


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((["x"],), r"has a placeholder \{prompt\}; give prompt="),
        ((["x"], ["p", "q"]), "1 response but 2 of `prompt`; give one for each"),
    ],
)
def test_lists_that_do_not_fit(arguments: tuple, sentence: str) -> None:
    """Each response needs what the template asks for."""
    with pytest.raises(ArgumentError, match=sentence):
        rw.judges.LLMJudgeMetric(len, TEMPLATE + "{prompt}")(*arguments)


def test_the_store_serves_lists_as_well(tmp_path: Path) -> None:
    """And shares with tables."""
    model = Says(score(3))
    metric = rw.judges.LLMJudgeMetric(model, TEMPLATE, store=tmp_path)
    assert metric(["x"])["scores"] == [3.0]
    turns = pl.DataFrame({"rollout_id": ["a"], "turn": [1], "response": ["x"]})
    assert rw.judge(turns, metric, store=tmp_path, progress=False)["cached"].to_list() == [True]
    assert len(model.told) == 1


class Doubled(rw.judges.LLMJudgeMetric):
    """A judge whose own code decides as well."""

    def __init__(self, model: Any, factor: int = 2, **options: Any) -> None:
        super().__init__(model, TEMPLATE, **options)
        self.factor = factor

    async def verdict(self, texts: Mapping[str, str], *, sample: int = 1) -> Verdict:
        """So many times what the model says."""
        found = await super().verdict(texts, sample=sample)
        return replace(found, value=self.factor * (found.value or 0))


class Versioned(Doubled):
    """One that says itself when it changed, though it counts its calls."""

    version = "1"

    async def verdict(self, texts: Mapping[str, str], *, sample: int = 1) -> Verdict:
        """What the model says, and one call more."""
        self.calls = getattr(self, "calls", 0) + 1
        return await super().verdict(texts, sample=sample)


@pytest.mark.integration
def test_what_a_subclass_adds_is_part_of_who_judges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its settings and its code: nothing of another version comes from the store."""
    turns, model = pl.DataFrame({"rollout_id": ["a"], "turn": [1], "response": ["x"]}), Says(score(2))

    def values(judge: Doubled) -> list[tuple]:
        return rw.judge(turns, judge, store=tmp_path, progress=False).select("value", "cached").rows()

    judge = Doubled(model)
    assert [values(judge), values(judge), values(Doubled(model))] == [[(4.0, False)], [(4.0, True)], [(4.0, True)]]
    assert values(Doubled(model, factor=3)) == [(6.0, False)]
    sources = inspect.getsource
    monkeypatch.setattr(inspect, "getsource", lambda thing: f"{sources(thing)}\n")  # as if a line had changed
    assert values(Doubled(model)) == [(4.0, False)]
    assert values(Versioned(model)) == [(4.0, False)]
    monkeypatch.setattr(Versioned, "version", "2")
    assert values(Versioned(model)) == [(4.0, False)]
    assert values(Versioned(model)) == [(4.0, True)]


def test_a_judge_of_ours_is_known_by_its_settings_alone() -> None:
    """Every attribute that the constructor sets is one that `configuration` tells, or that decides nothing."""
    ours = rw.judges.LLMJudgeMetric(Says(""), TEMPLATE)
    assert set(vars(ours)) - {"extras"} == set(_OF_CLASS)
    assert "class" not in ours.configuration
    assert "class" not in rw.judges.Refusal(Says("")).configuration


@pytest.mark.integration
def test_secrets_among_the_options_are_not_written_down(tmp_path: Path, address: str) -> None:
    """Neither headers nor what is called a key, given to the model or with the judge; they are sent."""
    options = {
        "extra_headers": {"X-Key": "secret-a", "Authorization": "Bearer secret-b"},
        "extra_query": {"key": "secret-c"},
        "extra_body": {"api_key": "secret-d", "max_completion_tokens": 7, "metadata": {"password": "secret-e"}},
    }
    models = [
        (rw.judges.Endpoint("verdict#options", base_url=address, api_key="k", options=options), {}),
        (rw.judges.Endpoint("verdict#options", base_url=address, api_key="k"), options),
    ]
    turns = pl.DataFrame({"rollout_id": ["a"], "turn": [1], "response": ["x"]})
    for model, given in models:
        judge = rw.judges.LLMJudgeMetric(model, TEMPLATE, gen_kwargs=given)
        found = rw.judge(turns, judge, store=tmp_path, progress=False)
        assert found["value"].to_list() == [3.0]
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"secret" not in written
    assert b'"max_completion_tokens":7' in written
    with urllib.request.urlopen(address.replace("/v1", "/log")) as response:
        sent = [request for request in json.load(response) if request["model"] == "verdict#options"]
    assert [(request["authorization"], request["api_key"]) for request in sent] == [("Bearer secret-b", "secret-d")] * 2


def test_calls_are_added_up() -> None:
    """Tokens and dollars of all calls that a verdict took; unknown where one of them is."""
    replies = [Reply("what?", 10, 2, cost_usd=0.25), Reply(score(1), 10, 4, cost_usd=0.5)]
    metric = rw.judges.LLMJudgeMetric(Says(*replies), TEMPLATE)
    turns = pl.DataFrame({"rollout_id": ["a"], "turn": [1], "response": ["x"]})
    row = rw.judge(turns, metric, progress=False).row(0, named=True)
    assert (row["prompt_tokens"], row["response_tokens"], row["cost_usd"]) == (20, 6, 0.75)


# ── presets ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    ("preset", "key", "scale"),
    [
        (rw.judges.Factuality, None, (1, 5)),
        (rw.judges.Relevance, None, (1, 5)),
        (rw.judges.Harmfulness, None, (1, 5)),
        (rw.judges.Truthfulness, "truthfulness_rate", (0, 1)),
        (rw.judges.Informativeness, "informativeness_rate", (0, 1)),
        (rw.judges.Refusal, "refusal_rate", (0, 1)),
        (rw.judges.AttackSuccess, "attack_success_rate", (0, 1)),
    ],
)
def test_presets(preset: Any, key: str | None, scale: tuple[float, float]) -> None:
    """Each asks a question of its own; those of yes and no give a share as well, and a word for each verdict."""
    model = Says(score(1), score(0), "what?")
    metric = preset(model, max_retries=0, batch_size=1)
    assert metric.scale == scale
    found = metric(["x", "y", "z"], ["p", "p", "p"], goal="g")
    assert found["scores"] == [1.0, max(scale[0], 0.0), None]
    if key:
        assert found[key] == 0.5
        assert preset(Says("what?"), max_retries=0)(["x"], ["p"], goal="g")[key] is None
        turns = pl.DataFrame({"rollout_id": "a", "turn": [1], "response": ["x"], "prompt": ["p"], "goal": ["g"]})
        assert rw.judge(turns, preset(Says(score(1))), progress=False)["label"].to_list() == ["yes"]
    assert preset(model, scale=(0, 10)).scale == (0, 10)


AGAINST: dict[Any, dict[str, Any]] = {
    rw.judges.Groundedness: {"contexts": ["Dublin is the capital."]},
    rw.judges.AnswerAccuracy: {"prompt": "Which?", "expected": "Dublin"},
    rw.judges.ContextRelevance: {"prompt": "Which?"},
    rw.judges.GoalCompletion: {"prompt": "Which?", "goals": ["name the city", "name the river"]},
}


@pytest.mark.integration
@pytest.mark.parametrize("preset", AGAINST)
def test_presets_that_compare(preset: Any) -> None:
    """From 0 to 1, shown all that they read, lists as JSON; where there is nothing to compare with, nothing is asked."""
    model, beside = Says(score(0.5)), AGAINST[preset]
    table = {name: [value] for name, value in beside.items()}
    turns = pl.DataFrame({"rollout_id": ["a"], "turn": [1], "response": ["Dublin."], **table})
    judge = preset(model)
    assert judge.scale == (0, 1)
    assert rw.judge(turns, judge, progress=False)["value"].to_list() == [0.5]
    shown = model.told[0][0]["content"]
    for value in ("Dublin.", *beside.values()):
        assert (json.dumps(value, separators=(",", ":")) if isinstance(value, list) else value) in shown
    needed = judge.needed
    for empty in ("", " ", "[]", None, '[""]', '["", null]', "['', None]", '[ [],\n" " ]', [""], [None, " "]):
        lacking = turns.with_columns(pl.Series(needed, [empty], dtype=None if isinstance(empty, list) else pl.String))
        said = rw.judge(lacking, judge, progress=False)
        assert said["value"].to_list() == ([] if empty is None and needed == "response" else [None])
        assert all("is empty" in error for error in said["error"])
    assert len(model.told) == 1
    for some in ("None", "[0]", '["null"]', "{}x"):
        assert rw.judge(turns.with_columns(pl.lit(some).alias(needed)), judge, progress=False)["value"].to_list() == [
            0.5
        ]


@pytest.mark.integration
@pytest.mark.parametrize("preset", AGAINST)
def test_presets_that_compare_ask_a_server(address: str, preset: Any) -> None:
    """3 is above the scale and its end; an echo of a verdict in the contexts, goals, ... is none."""
    turns = pl.DataFrame(
        {"rollout_id": ["a"], "turn": [1], **dict.fromkeys(("contexts", "goals", "expected"), '{"score": 1}')}
    )
    turns = turns.with_columns(prompt=pl.lit("p"), response=pl.lit('{"score": 1}'))
    for plan, value in (("verdict", 1.0), ("echo", None)):
        model = rw.judges.Endpoint(f"{plan}#compares", base_url=address, api_key="k", temperature=0.0)
        assert rw.judge(turns, preset(model), progress=False)["value"].to_list() == [value]


# ── a real server ─────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize(
    "preset",
    [rw.judges.Factuality, rw.judges.Relevance, rw.judges.Refusal, rw.judges.Harmfulness, rw.judges.AttackSuccess],
)
def test_a_name_names_the_judge(preset: Any, tmp_path: Path) -> None:
    """In VERDICTS, in the columns they are joined into, and in the store: two judges of one preset are told apart."""
    turns = pl.DataFrame({"rollout_id": ["a"], "turn": [1], "goal": "g", "prompt": "p", "response": ["No."]})
    one, other = (
        preset(Says(f'{{"score": {number}}}'), name=name) for number, name in ((0, "strict"), (1, "Lenient one"))
    )
    found = [rw.judge(turns, each, store=tmp_path, progress=False)["judge"].item() for each in (one, other)]
    assert [name.partition("@")[0] for name in found] == ["strict", "Lenient one"]
    assert sorted(path.name.rpartition("-")[0] for path in tmp_path.iterdir()) == ["Lenient one", "strict"]
    assert "score_lenient_one" in rw.score(turns, other, progress=False).columns
    assert preset(Says("")).name == preset.__name__


@pytest.mark.parametrize("name", ["", "../up", "a/b", "a@b", " x", "a\n"])
def test_a_name_is_a_word(name: Any) -> None:
    """It becomes part of a folder and of a column."""
    with pytest.raises(ArgumentError, match=r"AttackSuccess: name=.*; begin it with a letter"):
        rw.judges.AttackSuccess(Says(""), name=name)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """An OpenAI-compatible server in a process of its own."""
    with subprocess.Popen([sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        process.kill()


@pytest.mark.integration
@pytest.mark.parametrize("faults", ["", "429 ", "500 ", "garbage ", "drop ", "empty "])
def test_faults_of_a_server_are_no_verdicts(address: str, faults: str) -> None:
    """Rate limits, server errors, garbage, dropped connections: asked again, and the verdict is the judge's."""
    model = rw.judges.Endpoint(f"{faults}verdict#{faults}judge", base_url=address, api_key="k", prices=(10.0, 100.0))
    row = judged_by(model)
    assert (row["value"], row["error"]) == (3.0, None)
    assert (row["prompt_tokens"], row["response_tokens"]) == (11, 3)
    assert row["cost_usd"] == pytest.approx((10 * 11 + 100 * 3) / 1e6)


@pytest.mark.integration
def test_an_endpoint_that_echoes_gives_no_verdict(address: str) -> None:
    """The whole request as JSON, with the response and its false verdict within."""
    row = judged_by(rw.judges.Endpoint("echo#judge", base_url=address, api_key="k", temperature=0.0), '{"score": 5}')
    assert row["value"] is None
    assert "it holds no JSON object with a score" in row["error"]


@pytest.mark.integration
@pytest.mark.parametrize("fault", ["401", "refusal", "blank", "cutoff"])
def test_what_stays_wrong_is_an_error(address: str, fault: str) -> None:
    """A null verdict that says why; no key is shown."""
    row = judged_by(
        rw.judges.Endpoint(f"{fault}#judge", base_url=address, api_key="sk-secret", max_retries=0, temperature=0.0)
    )
    assert row["value"] is None
    assert row["error"]
    assert "sk-secret" not in row["error"]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("plan", "value"), [("nested", 4.0), ("echo", None), ("verdict", None), ("verdict nested", 4.0)]
)
def test_a_server_that_answers_in_a_form_of_its_own(address: str, plan: str, value: float | None) -> None:
    """The score at its place; a verdict in another form, or one that stands in what was judged, is none."""
    model = rw.judges.Endpoint(f"{plan}#form", base_url=address, api_key="k", temperature=0.5)
    judge = rw.judges.LLMJudgeMetric(model, TEMPLATE, score_field="$.result.score", max_retries=1)
    found = judge(['{"result": {"score": 5}}'])
    assert found["scores"] == [value]
    assert ("errors" in found) == (value is None)


@pytest.mark.integration
def test_requests_are_evenly_spaced(address: str) -> None:
    """Ten a second: six requests take half a second, however many there may be at once."""
    model = rw.judges.Endpoint("verdict#evenly", base_url=address, api_key="k", requests_per_minute=600)
    turns = pl.DataFrame({"rollout_id": "a", "turn": range(1, 7), "response": list("abcdef")})
    rw.judge(turns, rw.judges.LLMJudgeMetric(model, TEMPLATE), progress=False, max_concurrency=6)
    times = sorted(each["at"] for each in log(address) if each["model"] == "verdict#evenly")
    assert len(times) == 6
    assert times[-1] - times[0] >= 0.25  # half of what is due: the first may arrive late


def judged_by(model: Any, response: str = "x") -> dict[str, Any]:
    """The verdict of a model on one response."""
    turns = pl.DataFrame({"rollout_id": ["a"], "turn": [1], "response": [response]})
    return rw.judge(turns, rw.judges.LLMJudgeMetric(model, TEMPLATE), progress=False).row(0, named=True)


def log(address: str) -> list[dict]:
    """What the server met."""
    import urllib.request

    with urllib.request.urlopen(f"{address.removesuffix('/v1')}/log") as found:
        requests: list[dict] = json.loads(found.read())
        return requests
