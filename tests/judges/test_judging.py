"""TURNS -> VERDICTS: who is asked what, how often, and what becomes of failures."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from signing import signed

import rollwise as rw
from rollwise import schema
from rollwise.errors import ArgumentError, ReadError, SchemaError, WriteError
from rollwise.jobs.store import read
from rollwise.judges import Verdict
from rollwise.judges.store import VerdictStore, key_of
from rollwise.judges.verdicts import judge_of, verdict_of, version_of


def table(*responses: str | None, **more: Any) -> pl.DataFrame:
    """One rollout."""
    turns = range(1, len(responses) + 1)
    return pl.DataFrame(
        {"rollout_id": ["a"] * len(responses), "turn": list(turns), "response": list(responses), **more},
        schema_overrides={"turn": pl.Int32, "response": pl.String},
    )


def rows_in(folder: Path) -> dict[str, bytes]:
    """What the one file of a store holds."""
    (path,) = folder.iterdir()
    return read(path).rows  # type: ignore[union-attr]


class Counting:
    """A judge that counts what it is asked: the length of the text."""

    configuration = "counting"

    def __init__(self, name: str = "Counting", columns: tuple[str, ...] = (), samples: int = 1) -> None:
        self.name, self.columns, self.samples, self.asked = name, columns, samples, list[Any]()

    async def verdict(self, texts: Mapping[str, str], *, sample: int = 1) -> Verdict:
        """The length."""
        self.asked.append((dict(texts), sample))
        await asyncio.sleep(0)
        return Verdict(float(len(texts["response"]) + sample - 1), reasoning="counted", cost_usd=0.5)


def test_a_row_for_each_turn_and_sample_in_the_order_of_turns() -> None:
    """VERDICTS conforms to its schema; keys, order and dtypes are those of the schema."""
    judge = Counting(samples=2)
    found = rw.judge(table("bb", None, "a"), judge, progress=False)
    assert found.select("turn", "sample", "value").rows() == [(1, 1, 2.0), (1, 2, 3.0), (3, 1, 1.0), (3, 2, 2.0)]
    assert dict(found.schema) == dict(schema.VERDICTS.dtypes)
    schema.check(found, schema.VERDICTS)
    assert found["cached"].to_list() == [False] * 4
    assert found["judge"].unique().to_list() == [version_of(judge)]


def test_each_distinct_text_is_asked_about_once() -> None:
    """What the judge reads decides what is distinct."""
    turns = table("a", "a", "b", "a", prompt=["p", "q", "p", "p"])
    alone, both = Counting(), Counting(columns=("prompt",))
    rw.judge(turns, alone, progress=False)
    rw.judge(turns, both, progress=False)
    assert [texts["response"] for texts, _ in alone.asked] == ["a", "b"]
    assert [(texts["response"], texts["prompt"]) for texts, _ in both.asked] == [("a", "p"), ("a", "q"), ("b", "p")]


@pytest.mark.integration
@pytest.mark.parametrize(
    "foreign",
    [lambda frame: frame, lambda frame: frame.lazy(), lambda frame: frame.to_arrow(), lambda frame: frame.to_pandas()],
)
def test_any_frame_will_do(foreign: Any) -> None:
    """Eager, lazy, Arrow, pandas."""
    assert rw.judge(foreign(table("ab")), len, progress=False)["value"].to_list() == [2.0]


def test_nothing_to_judge_is_no_row() -> None:
    """Empty tables, and tables without a text."""
    for turns in (table(), table(None, None), table("a").clear()):
        found = rw.judge(turns, Counting(), progress=False)
        assert found.height == 0
        assert dict(found.schema) == dict(schema.VERDICTS.dtypes)


def test_an_empty_answer_is_an_answer() -> None:
    """It was said, so it is judged."""
    assert rw.judge(table(""), len, progress=False)["value"].to_list() == [0.0]


def test_trees_are_judged_node_by_node() -> None:
    """The key of a verdict is the node's."""
    turns = pl.DataFrame(
        {
            "rollout_id": ["a", "a"],
            "turn": [1, 1],
            "node_id": ["x", "y"],
            "parent_id": [None, None],
            "response": ["a", "bb"],
        }
    )
    found = rw.judge(turns, len, progress=False)
    assert found.select("node_id", "value").rows() == [("x", 1.0), ("y", 2.0)]
    assert rw.judges.join_verdicts(turns, found)["score_len"].to_list() == [1.0, 2.0]


@pytest.mark.integration
@pytest.mark.parametrize(
    "name",
    [
        "value",
        "label",
        "reasoning",
        "error",
        "seconds",
        "prompt_tokens",
        "cost_usd",
        "sample",
        "cached",
        "row",
        "judge",
    ],
)
def test_a_judge_may_read_a_column_called_like_a_field_of_verdicts(name: str, tmp_path: Path) -> None:
    """What it reads and what it says are never taken for each other, in the table or in the store."""
    judge = Counting(columns=(name,))
    for store in (None, tmp_path, tmp_path):
        found = rw.judge(table("a", "bb", **{name: [7, None]}), judge, store=store, progress=False)
        assert found["value"].to_list() == [1.0, 2.0]
        assert found["reasoning"].to_list() == ["counted"] * 2
    assert [texts[name] for texts, _ in judge.asked] == ["7", ""] * 2
    metric = rw.judges.LLMJudgeMetric(
        lambda messages: signed('{"score": 3}', messages), f"{{{name}}} {{response}} {{lower_bound}}{{upper_bound}}"
    )
    assert metric(["a"], **{name: "x"})["scores"] == [3.0]


def test_lists_and_structs_are_read_as_json() -> None:
    """Calls of tools among them, beside an answer and in its place."""
    calls = [{"name": "f", "arguments": '{"x": 1}'}]
    turns, judge = table("a", "b", tool_calls=[calls, None]), Counting(columns=("tool_calls",))
    rw.judge(turns, judge, progress=False)
    assert [texts["tool_calls"] for texts, _ in judge.asked] == [json.dumps(calls, separators=(",", ":")), ""]
    assert rw.judge(turns, judge, column="tool_calls", progress=False)["turn"].to_list() == [1]


def test_a_column_named_twice_or_like_the_text_is_read_once() -> None:
    """A judge of one's own may say that it reads the response."""
    judge = Counting(columns=("prompt", "response", "prompt"))
    rw.judge(table("a", prompt=["p"]), judge, progress=False)
    assert judge.asked == [({"response": "a", "prompt": "p"}, 1)]


# ── judges ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def first(text: str) -> int:
    return len(text)


async def asynchronous(response: str) -> float:
    await asyncio.sleep(0)
    return float(len(response))


class Lengths:
    """An object that is called."""

    def __call__(self, response: str, *, prompt: str) -> dict:
        """Its length."""
        return {"score": len(response), "label": prompt, "reasoning": "why"}


@pytest.mark.parametrize("judge", [first, asynchronous, len, Lengths(), lambda prompt, response: len(response)])
def test_functions_of_every_kind_are_judges(judge: Any) -> None:
    """By the name `response`, or else the first parameter; other parameters are columns."""
    assert rw.judge(table("abc", prompt=["p"]), judge, progress=False)["value"].to_list() == [3.0]


def exact(*, outputs: str, reference_outputs: str, **_: Any) -> dict:
    """As openevals writes them."""
    return {"key": "exact_match", "score": outputs == reference_outputs, "comment": f"{outputs}?"}


def asked_for(inputs: str, outputs: str, reference_outputs: str = "none") -> dict:
    """As LangSmith's guide writes them."""
    return {"score": inputs == "p" and outputs == "abc", "comment": reference_outputs}


@pytest.mark.parametrize(("judge", "reasoning"), [(exact, "abc?"), (asked_for, "none")])
def test_functions_of_langsmith_are_judges(judge: Any, reasoning: str) -> None:
    """What they call outputs is what is judged, inputs the prompt, and reference_outputs what was expected."""
    told = rw.judge(table("abc", prompt=["p"], expected=["abc"]), judge, progress=False)
    assert told.select("value", "reasoning", "error").row(0) == (1.0, reasoning, None)
    with pytest.raises(ArgumentError, match="exact reads expected, which this table lacks"):
        rw.judge(table("abc"), exact, progress=False)


@pytest.mark.parametrize(
    ("said", "value", "label", "error"),
    [
        (True, 1.0, None, None),
        (np.float64(0.5), 0.5, None, None),
        (np.array(2), 2.0, None, None),
        ("unsafe", None, "unsafe", None),
        (None, None, None, None),
        ({"score": 1, "label": "x"}, 1.0, "x", None),
        ({"value": 0.25}, 0.25, None, None),
        ({}, None, None, None),
        ({"score": "bad"}, None, "bad", None),
        (
            {"scores": "high"},
            None,
            None,
            "the judge returned a dict of scores; it needs `score`, `value`, `label` or `error`, or numbers by name",
        ),
        ({"score": 1, "comment": "c"}, 1.0, None, None),
        ({"score": 0, "error": "no JSON"}, 0, None, "no JSON"),
        (float("nan"), None, None, "the judge returned nan, which is not a finite number"),
        (float("inf"), None, None, "the judge returned inf, which is not a finite number"),
        ([1], None, None, "the judge returned a list; return a number, a word or a dict"),
        (10**400, None, None, "the judge returned a int; return a number, a word or a dict"),
    ],
)
def test_what_functions_say(said: Any, value: float | None, label: str | None, error: str | None) -> None:
    """Each kind of answer as a verdict."""
    found = verdict_of(said)
    assert (found.value, found.label, found.error) == (value, label, error)


def test_failures_are_null_and_stop_nothing() -> None:
    """Exceptions of every kind, verdicts that are no number, half a surrogate pair: a row each, with the error."""

    def judge(response: str) -> Any:
        if response == "raise":
            raise KeyError("what\ud800")
        if response == "stop":
            raise StopIteration
        return Verdict(float("nan"), reasoning="\udfff") if response == "nan" else 1

    found = rw.judge(table("raise", "stop", "nan", "ok"), judge, progress=False)
    assert found["value"].to_list() == [None, None, None, 1.0]
    assert found["error"][0] == r"KeyError: 'what\ud800'"
    assert found["error"][1].startswith("RuntimeError: StopIteration")
    assert found["error"][2] == "the judge returned nan, which is not a finite number"
    assert found["error"][3] is None
    assert found["reasoning"][2] == "?"


ODD: list[tuple[Any, float | None, str | None]] = [
    (None, None, None),
    (2, 2.0, None),
    ({"score": 1, "label": True, "reasoning": ["why"]}, 1.0, None),
    (Verdict("high"), None, "the judge returned 'high', which is not a finite number"),  # type: ignore[arg-type]
    (Verdict(10**400), None, "which is not a finite number"),
    (Verdict(Decimal("1.5"), label=5), 1.5, None),  # type: ignore[arg-type]
    (Verdict(np.float32(0.5), reasoning={"a": 1}), 0.5, None),  # type: ignore[arg-type]
    (Verdict(1, prompt_tokens=10**30, response_tokens=1.0, seconds="x", cost_usd=float("nan")), 1.0, None),  # type: ignore[arg-type]
    (Verdict(0.0, error=ValueError("no JSON")), None, "no JSON"),  # type: ignore[arg-type]
]


@pytest.mark.integration
@pytest.mark.parametrize(("said", "value", "error"), ODD)
def test_whatever_a_judge_gives_stops_nothing_and_harms_no_store(
    said: Any, value: float | None, error: str | None, tmp_path: Path
) -> None:
    """Of a class or a function: it is a verdict, or a failed one, and can be kept and found again."""

    class Odd(Counting):
        async def verdict(self, texts: Mapping[str, str], **_: int) -> Any:
            return said if texts["response"] == "odd" else Verdict(3.0)

    def function(response: str) -> Any:
        return said if response == "odd" else 3.0

    function.version = "1"  # type: ignore[attr-defined]  # it closes over an object
    judge: Any
    for judge in (Odd(), function):
        for _ in range(2):
            found = rw.judge(table("odd", "plain"), judge, store=tmp_path, progress=False)
            assert found["value"].to_list() == [value, 3.0]
            assert (found["error"][0] is None) == (error is None)
            assert (error or "") in (found["error"][0] or "")
            assert dict(found.schema) == dict(schema.VERDICTS.dtypes)
        assert found["cached"].to_list() == [error is None, True]


@pytest.mark.integration
def test_a_judgment_that_takes_too_long_has_failed() -> None:
    """The others go on."""

    async def judge(response: str) -> int:
        await asyncio.sleep(30 if response == "slow" else 0)
        return 1

    found = rw.judge(table("slow", "fast"), judge, timeout=0.2, progress=False)
    assert found["value"].to_list() == [None, 1.0]
    assert found["error"][0] == "TimeoutError: no result within the timeout of 0.2 s"


@pytest.mark.integration
@pytest.mark.parametrize("synchronous", [False, True])
def test_never_more_at_once_than_allowed(synchronous: bool) -> None:
    """And as many, where there are as many."""
    under_way, most, lock = 0, 0, threading.Lock()

    def count(change: int) -> None:
        nonlocal under_way, most
        with lock:
            under_way += change
            most = max(most, under_way)

    def plain(response: str) -> int:
        count(1)
        time.sleep(0.01)
        count(-1)
        return 1

    async def coroutine(response: str) -> int:
        count(1)
        await asyncio.sleep(0.01)
        count(-1)
        return 1

    rw.judge(table(*map(str, range(40))), plain if synchronous else coroutine, max_concurrency=7, progress=False)
    assert most == 7


def test_it_works_where_a_loop_is_running() -> None:
    """As in a notebook."""

    async def cell() -> pl.DataFrame:
        return rw.judge(table("abc"), asynchronous, progress=False)

    assert asyncio.run(cell())["value"].to_list() == [3.0]


def test_a_judge_may_read_the_whole_conversation() -> None:
    """All turns up to this one, and any column as text."""
    turns = table("r1", "r2", prompt=["p1", "p2"], context=["be kind", None], train_step=[7, 7])
    judge = Counting(columns=("conversation", "train_step"))
    rw.judge(turns, judge, progress=False)
    told = [texts["conversation"] for texts, _ in judge.asked]
    first = [("system", "be kind"), ("user", "p1"), ("assistant", "r1")]
    assert [(message["role"], message["content"]) for message in json.loads(told[0])] == first
    second = [*first, ("user", "p2"), ("assistant", "r2")]
    assert [(message["role"], message["content"]) for message in json.loads(told[1])] == second
    assert told[0].splitlines()[1:3] == [
        '{"role": "system", "content": "be kind"},',
        '{"role": "user", "content": "p1"},',
    ]
    assert judge.asked[0][0]["train_step"] == "7"


def test_the_whole_conversation_may_be_what_is_judged() -> None:
    """By a function of a text as well; nothing is judged where there is no answer."""
    turns = table("r1", None, "r2", prompt=["p1", "p2", "p3"])
    told = rw.judge(turns, lambda text: text.count('"role": "user"'), column="conversation", progress=False)
    assert told.select("turn", "value").rows() == [(1, 1.0), (3, 3.0)]


@pytest.mark.parametrize(
    ("turns", "judge", "options", "sentence"),
    [
        (
            table("a"),
            lambda response, goal: 1,
            {},
            "judge reads goal, which this table lacks; available: response, rollout_id, turn",
        ),
        (table("a"), len, {"column": "answer"}, "len reads answer, which this table lacks"),
        (table("a"), 7, {}, "7 is not a judge; give an LLMJudgeMetric"),
        (table("a"), rw.judges.Factuality, {}, "is not a judge; give an LLMJudgeMetric"),
        (table("a"), len, {"max_concurrency": 0}, "at least one judgment must run at once"),
        (table("a"), len, {"max_concurrency": 1.5}, "max_concurrency=1.5 is not a whole number"),
        (table("a"), len, {"timeout": 0}, "timeout=0; give seconds, more than 0"),
        (table("a"), len, {"timeout": float("nan")}, "timeout=nan is not a number or None"),
        (table("a"), len, {"store": "s3://bucket/verdicts"}, "is an address; a store is a folder on this machine"),
        (table("a").with_columns(response=pl.lit(b"\xff")), len, {}, "len reads response, which is Binary, not text"),
        (pl.concat([table("a"), table("b")]), len, {}, "two turns are rollout_id 'a', turn 1; drop one"),
        (table("a").rename({"turn": "t"}), len, {}, "the columns `rollout_id` and `turn` must be there"),
        (7, len, {}, "a int is not a frame"),
    ],
)
def test_mistakes_are_one_sentence(turns: Any, judge: Any, options: dict, sentence: str) -> None:
    """Before anything is asked."""
    with pytest.raises((ArgumentError, SchemaError), match=sentence):
        rw.judge(turns, judge, progress=False, **options)


def test_the_same_name_in_two_versions_is_two_judges() -> None:
    """By their sources, what they enclose, and the versions that they declare."""

    def made(at: int) -> Any:
        return lambda response: len(response) > at

    def declared(version: str) -> Any:
        judge = partial(first)
        judge.version = version  # type: ignore[attr-defined]
        return judge

    def other(response: str) -> int:
        return 1

    judges = [made(1), made(2), other, declared("1"), declared("2")]
    assert len({version_of(judge_of(judge)) for judge in judges}) == 5
    assert version_of(judge_of(made(1))) == version_of(judge_of(made(1)))


@pytest.mark.integration
def test_an_interrupt_ends_it_and_keeps_what_was_paid_for(tmp_path: Path) -> None:
    """Ctrl-C, in plain code and where a loop is running."""
    script = tmp_path / "interrupted.py"
    script.write_text(
        "import asyncio, os, signal, sys\nimport polars as pl\nimport rollwise as rw\n"
        "async def judge(response):\n"
        "    if response == '50':\n        os.kill(os.getpid(), signal.SIGINT)\n"
        "    await asyncio.sleep(0.01)\n    return 1.0\n"
        "turns = pl.DataFrame({'rollout_id': 'a', 'turn': range(1, 101), 'response': list(map(str, range(100)))})\n"
        "def ask():\n    rw.judge(turns, judge, store=sys.argv[1], max_concurrency=4, progress=False)\n"
        "async def cell():\n    ask()\n"
        "try:\n    ask() if sys.argv[2] == 'plain' else asyncio.new_event_loop().run_until_complete(cell())\n"
        "except KeyboardInterrupt:\n    print('interrupted')\n"
    )
    for where in ("plain", "loop"):
        store = tmp_path / where
        command = [sys.executable, str(script), str(store), where]
        told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert told.stdout == "interrupted\n", told.stderr
        assert 40 <= len(rows_in(store)) <= 54


# ── the store ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_what_is_known_is_never_asked_again_and_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Zero calls the second time, whatever the ids and the order; the verdicts are the same to the last field."""
    judge = Counting(columns=("prompt",), samples=2)
    turns = table("a", "bb", "ccc", prompt=["p", "p", None])
    before = rw.judge(turns, judge, store=tmp_path)
    assert len(judge.asked) == 6
    again = rw.judge(turns.reverse(), judge, store=tmp_path)
    assert len(judge.asked) == 6
    assert "Counting: 0 judgments asked for, 6 verdicts from the store" in capsys.readouterr().err
    assert again["cached"].all()
    assert again.sort("turn", "sample").drop("cached").equals(before.drop("cached"))
    rw.judge(table("a", "new", prompt=["p", "p"]), judge, store=tmp_path)
    assert [(texts["response"], sample) for texts, sample in judge.asked[6:]] == [("new", 1), ("new", 2)]


@pytest.mark.integration
def test_other_judges_templates_and_parameters_have_other_verdicts(tmp_path: Path) -> None:
    """Nothing of one is ever taken for the other's."""
    asked = []

    def model(messages: list[dict]) -> str:
        asked.append(messages)
        return signed('{"score": 3}', messages)

    model.version = "1"  # type: ignore[attr-defined]  # it closes over a list
    template = "{response}{lower_bound}{upper_bound}"
    judges = [
        rw.judges.LLMJudgeMetric(model, template),
        rw.judges.LLMJudgeMetric(model, f"Rate: {template}"),
        rw.judges.LLMJudgeMetric(model, template, scale=(0, 1)),
        rw.judges.LLMJudgeMetric(model, template, gen_kwargs={"temperature": 0.5}),
        rw.judges.LLMJudgeMetric(model, template, system="Be strict."),
        rw.judges.LLMJudgeMetric(model, template, reasoning=True),
        rw.judges.LLMJudgeMetric(partial(model), template),
        rw.judges.Refusal(model),
    ]
    turns = table("a", prompt=["p"])
    versions = set()
    for number, judge in enumerate(judges, 1):
        for _ in range(2):
            versions |= set(rw.judge(turns, judge, store=tmp_path, progress=False)["judge"])
        assert len(asked) == number
    assert len(versions) == len(judges)
    assert len(list(tmp_path.iterdir())) == len(judges)
    about = [read(path).configuration for path in tmp_path.iterdir()]  # type: ignore[union-attr]
    assert {each["judge"] for each in about} == {"LLMJudgeMetric", "Refusal"}


def test_failures_are_not_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are asked again the next time."""
    answers: Any = iter([ValueError("down"), 1.0])

    def judge(response: str) -> float:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return float(answer)

    judge.version = "1"  # type: ignore[attr-defined]  # it closes over an iterator

    assert rw.judge(table("a"), judge, store=tmp_path)["error"].to_list() == ["ValueError: down"]
    assert "judge: 1 of 1 judgment failed and are null, the first one: ValueError: down" in capsys.readouterr().err
    assert rw.judge(table("a"), judge, store=tmp_path)["value"].to_list() == [1.0]


def test_many_processes_may_share_a_store(tmp_path: Path) -> None:
    """Two writers at once, neither of which spoils a line of the other; a third one reads."""
    judge = judge_of(len)
    texts = [str(number) for number in range(200)]
    with VerdictStore(tmp_path, judge) as one, VerdictStore(tmp_path, judge) as other:

        def write(store: VerdictStore, mine: list[str]) -> None:
            for text in mine:
                store.keep({key_of([text], 1): Verdict(float(text), reasoning="r" * 5000)})

        threads = [
            threading.Thread(target=write, args=(store, mine))
            for store, mine in ((one, texts[:100]), (other, texts[100:]))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(one.read()) == 200
    found = VerdictStore(tmp_path, judge).verdicts(key_of([text], 1) for text in texts)
    assert [verdict.value for verdict in found.values()] == [float(number) for number in range(200)]


SHARED = """
import asyncio, sys
import polars as pl
import rollwise as rw

async def judge(response):
    await asyncio.sleep(0.005)
    return float(response)

turns = pl.DataFrame({"rollout_id": "a", "turn": range(1, 101), "response": list(map(str, range(*map(int, sys.argv[2:4]))))})
print(rw.judge(turns, judge, store=sys.argv[1], max_concurrency=4)["value"].sum())
"""


@pytest.mark.integration
def test_processes_that_judge_at_once_get_all_verdicts_of_each_other_later(tmp_path: Path) -> None:
    """Neither is refused or harmed, and what either of them paid for is there for a third."""
    script = tmp_path / "shared.py"
    script.write_text(SHARED)
    command = [sys.executable, str(script), str(tmp_path / "store")]
    processes = [
        subprocess.Popen([*command, *bounds], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for bounds in (("0", "100"), ("100", "200"))
    ]
    told = [process.communicate(timeout=60) for process in processes]
    assert [float(out) for out, _ in told] == [float(sum(range(100))), float(sum(range(100, 200)))], told
    third = subprocess.run([*command, "50", "150"], capture_output=True, text=True, check=True, timeout=60)
    assert float(third.stdout) == sum(range(50, 150))
    assert "0 judgments asked for, 100 verdicts from the store" in third.stderr


PAID = """
import asyncio, sys, time
from pathlib import Path
import polars as pl
import rollwise as rw

async def judge(response):
    await asyncio.sleep(float(sys.argv[4]))
    with open(sys.argv[2], "a") as paid:
        paid.write(response + "\\n")
    if int(response) % 10 == int(sys.argv[3]):
        raise ValueError("down")
    return float(response)

judge.version = "1"
with open("ready", "a") as ready:
    ready.write("x")
while not Path("go").exists():
    time.sleep(0.005)
turns = pl.DataFrame({"rollout_id": "a", "turn": range(1, 121), "response": list(map(str, range(120)))})
verdicts = rw.judge(turns, judge, store=sys.argv[1], max_concurrency=8)
print(verdicts["value"].to_list())
"""


@pytest.mark.integration
def test_processes_that_judge_the_same_at_once_pay_once(tmp_path: Path) -> None:
    """Each text is asked by one of them; what one cannot answer, another asks; killed ones hold nothing up."""
    script, paid = tmp_path / "judging.py", tmp_path / "paid"
    script.write_text(PAID)
    command = [sys.executable, str(script), str(tmp_path / "store"), str(paid)]
    ready, go = tmp_path / "ready", tmp_path / "go"
    go.touch()
    killed = subprocess.Popen([*command, "-1", "0.1"], stderr=subprocess.DEVNULL, cwd=tmp_path)
    while not paid.exists():
        assert killed.poll() is None
        time.sleep(0.005)
    killed.kill()
    killed.wait()
    go.unlink()
    processes = [
        subprocess.Popen(
            [*command, fails, seconds], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
        )
        # The first takes longest, so that the others wait for what it has claimed.
        for fails, seconds in (("-1", "0.4"), ("3", "0.1"), ("-1", "0.1"))
    ]
    while len(ready.read_text()) < 4:
        time.sleep(0.005)
    go.touch()
    told = [process.communicate(timeout=120) for process in processes]
    values = [json.loads(text.replace("None", "null")) for text, _ in told]
    assert any("judge: waiting for " in said and "of another process" in said for _, said in told)
    assert values[0] == values[2] == [float(number) for number in range(120)]
    assert [value for value in values[1] if value is not None] == [
        float(number) for number, value in enumerate(values[1]) if value is not None
    ]
    asked = paid.read_text().splitlines()
    assert set(asked) == set(map(str, range(120)))
    # Twice: what was under way at the kill, or what the second one could not answer; three times: what was both.
    twice = [text for text in set(asked) if asked.count(text) > 1]
    assert all(asked.count(text) <= (3 if int(text) % 10 == 3 else 2) for text in twice)
    assert len([text for text in twice if int(text) % 10 != 3]) <= 8
    assert [path.suffix for path in (tmp_path / "store").iterdir()] == [".jsonl"]


@pytest.mark.thinned(40)
@pytest.mark.parametrize(
    "torn", [b"[", b'["0123456789abcdef","key",{"value":1', b"\n\n", b"\xff\x00\n", b"[1]\n", b"\0" * 9]
)
def test_what_a_crash_leaves_in_a_file_costs_no_other_verdict(torn: bytes, tmp_path: Path) -> None:
    """Half a line, lines run together, zeros: the store goes on, and asks what is not there."""
    judge = Counting()
    rw.judge(table("kept"), judge, store=tmp_path, progress=False)
    (path,) = tmp_path.iterdir()
    with path.open("ab") as file:
        file.write(torn)
    for cached in (False, True):
        found = rw.judge(table("kept", "b"), judge, store=tmp_path, progress=False)
        assert found["cached"].to_list() == [True, cached]
        assert found["value"].to_list() == [4.0, 1.0]


def test_a_damaged_verdict_is_named_and_asked_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A verdict in which a bit flipped is never taken for another verdict."""
    judge = Counting()
    before = rw.judge(table("a", "bb"), judge, store=tmp_path, progress=False)
    (path,) = tmp_path.iterdir()
    text = path.read_bytes()
    path.write_bytes(text.replace(b'"value":2.0', b'"value":3.0'))
    found = rw.judge(table("a", "bb"), judge, store=tmp_path, progress=False)
    assert found["value"].to_list() == before["value"].to_list()
    assert [texts["response"] for texts, _ in judge.asked] == ["a", "bb", "bb"]
    assert f"{path.name}: 1 line is damaged (line 5)" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"no verdicts", b"no\nverdicts\n", b"ARROW1\0\0"])
def test_a_broken_file_in_a_store_is_one_sentence(content: bytes, tmp_path: Path) -> None:
    """It is named, and nothing is asked again before somebody has looked at it."""
    judge = Counting()
    rw.judge(table("a"), judge, store=tmp_path, progress=False)
    (path,) = tmp_path.iterdir()
    path.write_bytes(content)
    with pytest.raises(ReadError, match=rf"{path.name} is not a store of rollwise.*; move it elsewhere"):
        rw.judge(table("a"), judge, store=tmp_path, progress=False)
    assert len(judge.asked) == 1


@pytest.mark.integration
@pytest.mark.parametrize("name", ["meta/llama", "../outside", "/tmp/x", ".hidden", "n\0l", "ü" * 300])
def test_any_name_of_a_judge_is_a_file_within_the_store(name: str, tmp_path: Path) -> None:
    """Also of a class of one's own, whose names are not looked at."""
    judge = Counting(name)
    for _ in range(2):
        rw.judge(table("a"), judge, store=tmp_path / "store", progress=False)
    assert len(judge.asked) == 1
    (file,) = (tmp_path / "store").iterdir()
    assert file.is_file()
    assert [entry.name for entry in tmp_path.iterdir()] == ["store"]


FULL = """
import resource, signal, sys
import polars as pl
import rollwise as rw

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
sys.dont_write_bytecode = True  # else the limit cuts it, and the module is broken ever after
turns = pl.DataFrame({"rollout_id": "a", "turn": range(1, 41), "response": [str(number) for number in range(40)]})
asked = 0

def judge(response):
    global asked
    asked += 1
    return {"score": int(response), "reasoning": "r" * 10_000}

if sys.argv[2] == "full":
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
try:
    print(rw.judge(turns, judge, store=sys.argv[1], max_concurrency=2, progress=False)["value"].sum(), asked)
except rw.errors.RollwiseError as error:
    print(type(error).__name__, asked, error)
"""


@pytest.mark.integration
def test_a_full_disk_loses_nothing_that_is_on_it(tmp_path: Path) -> None:
    """A line that only fits in part is an error, in one sentence; what stands before it is never asked again."""
    (tmp_path / "full.py").write_text(FULL)

    def run(disk: str) -> str:
        command = [sys.executable, str(tmp_path / "full.py"), str(tmp_path / "store"), disk]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout

    kind, asked, sentence = run("full").split(" ", 2)
    assert kind == "UnkeptError"
    assert "cannot be written (File too large), so nothing further is asked; free disk space and run again" in sentence
    assert "or name another folder with store" in sentence
    assert 9 <= int(asked) <= 12
    assert run("roomy").split() == [str(float(sum(range(40)))), "31"]
    assert run("roomy").split()[1] == "0"


def test_a_folder_that_cannot_be_written_is_told_before_anything_is_paid_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is in it is found all the same."""
    judge = Counting()
    rw.judge(table("a"), judge, store=tmp_path, progress=False)
    opened = os.open

    def read_only(path: Any, flags: int, *more: Any, **options: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(30, "Read-only file system")
        return opened(path, flags, *more, **options)

    monkeypatch.setattr(os, "open", read_only)
    assert rw.judge(table("a"), judge, store=tmp_path, progress=False)["cached"].all()
    with pytest.raises(WriteError, match=r"cannot be written \(Read-only file system\); name another folder"):
        rw.judge(table("a", "b"), judge, store=tmp_path, progress=False)
    assert len(judge.asked) == 1


def test_a_store_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    """The folder is named."""
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match=r"cannot be written .* name another folder with store"):
        rw.judge(table("a"), len, store=tmp_path / "file", progress=False)


KILLED = """
import asyncio, sys
import polars as pl
import rollwise as rw

async def judge(response):
    await asyncio.sleep(0.002)
    with open(sys.argv[2], "a") as paid:
        paid.write(response + "\\n")
    return float(response)

turns = pl.DataFrame({"rollout_id": "a", "turn": range(1, 401), "response": [str(number) for number in range(400)]})
found = rw.judge(turns, judge, store=sys.argv[1], max_concurrency=8, progress=False)
print(found["value"].to_list() == [float(number) for number in range(400)], found["cached"].sum())
"""


@pytest.mark.integration
def test_a_killed_process_loses_no_verdict_that_was_paid_for(tmp_path: Path) -> None:
    """Killed ten times at random moments: what was answered is never asked again, but for the answers under way."""
    script, paid = tmp_path / "judging.py", tmp_path / "paid"
    script.write_text(KILLED)
    paid.write_text("")
    command = [sys.executable, str(script), str(tmp_path / "store"), str(paid)]
    rng = np.random.default_rng(0)
    kills = 0
    for _ in range(10):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        before = len(paid.read_text().splitlines())
        wanted = before + int(rng.integers(5, 60))
        while process.poll() is None and len(paid.read_text().splitlines()) < wanted:
            time.sleep(0.001)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.communicate()
    told, _ = subprocess.Popen(command, stdout=subprocess.PIPE, text=True).communicate()
    assert told.startswith("True")
    asked = paid.read_text().splitlines()
    assert set(asked) == set(map(str, range(400)))
    assert kills == 10
    assert len(asked) - len(set(asked)) <= kills * 8


def test_verdicts_go_to_arrow_and_back() -> None:
    """Nothing in them is an object."""
    found = rw.judge(table("a"), len, progress=False)
    assert pl.DataFrame(pa.table(found)).equals(found)
