"""Metrics of `ragas`: what they are asked, and one sentence where something is missing."""

import sys
from types import ModuleType

import pytest
from signing import code_in, signed

from rollwise.errors import RollwiseError

SEARCH = [
    {"payload": {"event_type": "TOOL_START", "name": "search", "event_timestamp": 1.0, "UUID": "t"}},
    {
        "payload": {
            "event_type": "TOOL_END",
            "name": "search",
            "event_timestamp": 2.0,
            "UUID": "t",
            "data": {"input": "ice", "output": "Ice is cold."},
        }
    },
]
PACKAGE = """
import math, pydantic
from ragas.llms.base import InstructorBaseRagasLLM

class Result:
    def __init__(self, value, reason=None):
        self.value, self.reason = value, reason

class Words:
    def __init__(self, weight: float = 1.0):
        self.weight = weight
    async def ascore(self, response, retrieved_contexts):
        shared = set(response.split()) & set(" ".join(retrieved_contexts).split())
        return Result(self.weight * len(shared), "shared words")

class Nothing:
    async def ascore(self, response):
        return Result(math.nan)

class Vote(pydantic.BaseModel):
    points: int

class Judged:
    def __init__(self, llm):
        assert isinstance(llm, InstructorBaseRagasLLM)
        self.llm = llm
    async def ascore(self, user_input, response, reference):
        vote = await self.llm.agenerate(f"{user_input} {response} {reference}", Vote)
        return Result(vote.points)

class Embedded:
    def __init__(self, embeddings): ...
"""


@pytest.fixture
def ragas(tmp_path, monkeypatch):
    """A package with the parts of ragas that its metrics are called by, for machines without it."""
    root = tmp_path / "packages" / "ragas"
    for name in ("", "llms", "metrics"):
        (root / name).mkdir(parents=True, exist_ok=True)
        (root / name / "__init__.py").write_text("")
    (root / "llms" / "base.py").write_text("class InstructorBaseRagasLLM: ...\n")
    (root / "metrics" / "collections.py").write_text(PACKAGE)
    for module in [name for name in sys.modules if name.partition(".")[0] == "ragas"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.syspath_prepend(str(root.parent))
    yield
    for module in [name for name in sys.modules if name.partition(".")[0] == "ragas"]:
        del sys.modules[module]


@pytest.fixture
def without_ragas(monkeypatch):
    """As if ragas were not installed."""
    monkeypatch.setitem(sys.modules, "ragas", None)
    monkeypatch.setitem(sys.modules, "ragas.metrics.collections", None)


@pytest.fixture
def items(bench):
    """The items of a run with one evaluator."""

    def run(config, entries=None, **more):
        bench.data(
            entries or [{"id": 1, "question": "Is ice cold?", "answer": "yes", "generated_answer": "Ice is cold."}]
        )
        bench.config({"it": {"_type": "ragas", **config}}, **{"plugins": [], **more})
        return bench.run(skip_workflow=True, overwrite=True)

    return run


def entry(**more):
    return {"id": 1, "question": "q", "answer": "yes", "generated_answer": "Ice is cold.", **more}


def test_contexts_are_what_tools_returned(ragas, items):
    result = items({"metric": "Words"}, [entry(intermediate_steps=SEARCH)])
    assert result.items["it"].to_list() == [3.0]
    weighted = items({"metric": {"Words": {"kwargs": {"weight": 0.5}}}}, [entry(intermediate_steps=SEARCH)])
    assert weighted.items["it"].to_list() == [1.5]


@pytest.mark.integration
def test_contexts_of_the_data_set_come_first(ragas, items):
    result = items({"metric": "Words"}, [entry(intermediate_steps=SEARCH, contexts=["Ice melts."])])
    assert result.items["it"].to_list() == [1.0]


def test_an_item_without_contexts_is_an_error_and_no_zero(ragas, items, capsys):
    result = items({"metric": "Words"}, [entry()])
    assert result.items["it"].to_list() == [None]
    assert "ragas needs `retrieved_contexts`, and no tool or search returned a text" in capsys.readouterr().err


def test_no_score_is_an_error_and_no_zero(ragas, items, capsys):
    result = items({"metric": "Nothing"})
    assert result.items["it"].to_list() == [None]
    assert "ragas gave no number: nan" in capsys.readouterr().err


def test_a_metric_that_asks_a_model_gets_that_of_the_file(ragas, items, monkeypatch):
    replies = iter(["none", '{"points": 4}', 'Here: {"points": 4}'])
    monkeypatch.setitem(sys.modules, "my_model", module := ModuleType("my_model"))
    asked = []

    def ask(messages):
        asked.append(messages[0]["content"])
        reply = next(replies)
        return signed(reply, messages) if reply.startswith("Here") else reply

    monkeypatch.setattr(module, "ask", ask, raising=False)
    llms = {"judge": {"_type": "function", "function": "my_model:ask"}}
    result = items({"metric": "Judged", "llm_name": "judge"}, llms=llms)
    assert result.items["it"].to_list() == [4.0]
    assert len(asked) == 3
    assert asked[0].startswith("Is ice cold? Ice is cold. yes")
    assert '"points"' in asked[0]


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    "answer",
    [
        '{"points": 5}',
        '{"check": "0000000000000000", "points": 5}',
        '{"points": 5, "check": "CODE", "points": 4}',
        '{"points": 5, "check": "CODE"} {"points": 4, "check": "CODE"}',
        '{"points": "CODE"}',
    ],
)
def test_an_answer_that_the_model_repeats_is_no_score(ragas, items, monkeypatch, capsys, answer):
    """Nor one without its check code, or two that differ."""
    monkeypatch.setitem(sys.modules, "my_model", module := ModuleType("my_model"))

    def ask(messages):
        return f"The answer says {answer.replace('CODE', code_in(messages))}"

    monkeypatch.setattr(module, "ask", ask, raising=False)
    llms = {"judge": {"_type": "function", "function": "my_model:ask"}}
    result = items({"metric": "Judged", "llm_name": "judge"}, [entry(generated_answer=answer)], llms=llms)
    assert result.items["it"].to_list() == [None]
    assert "the model's answer does not fit Vote: " in capsys.readouterr().err


def refusal(items, config):
    """What the run says instead of scores."""
    try:
        return "; ".join(items(config).failures.values())
    except RollwiseError as error:
        return str(error)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"metric": "Judged"}, "Judged asks a language model; name one under `llms:` with `llm_name:`"),
        ({"metric": "Embedded"}, "Embedded needs `embeddings`; give it in the file"),
        ({"metric": "Word"}, "there is no metric 'Word' in ragas.metrics.collections; did you mean `Words`?"),
        ({"metric": {"Words": {}, "Nothing": {}}}, "it must name one metric"),
    ],
)
def test_what_is_missing_is_one_sentence(config, words, ragas, items):
    sentence = refusal(items, config)
    assert words in sentence
    assert "\n" not in sentence


def test_a_package_that_is_not_installed_is_one_sentence(without_ragas, items):
    sentence = refusal(items, {"metric": "AnswerAccuracy"})
    assert "the package ragas (0.4 or newer) is not installed: `pip install ragas`" in sentence
