"""Two chat models and a judge: against functions, against a real server with every fault, against a model made here."""

import asyncio
import gc
import importlib.util
import json
import subprocess
import sys
import threading
import time
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tiny_llama import TEMPLATE, save_tiny_llama  # type: ignore[import-not-found]

from rollwise.errors import ArgumentError, to_install
from rollwise.judges import ChatModel, Endpoint, LocalModel, Reply
from rollwise.judges.clients import CallError
from rollwise.rollout import ChatSampler, Rollout, RolloutError, Sampler, flatten
from rollwise.rollout.chat import GIVE_UP_WORD

HI = [{"role": "user", "content": "hi"}]


class Says:
    """A model that gives these answers, one after another, and the last one for ever; what it was told is in `told`."""

    def __init__(self, *answers: object) -> None:
        self.answers, self.told = answers, []  # type: ignore[var-annotated]

    def __call__(self, messages: list[dict]) -> object:
        """The next answer."""
        self.told.append(messages)
        return self.answers[min(len(self.told), len(self.answers)) - 1]


class Gives:
    """A judge that gives these verdicts, one after another."""

    def __init__(self, *verdicts: object) -> None:
        self.verdicts = iter(verdicts)

    def __call__(self, *_: str) -> object:
        """The next verdict."""
        return next(self.verdicts)


def agrees(prompt: str, response: str) -> bool:
    return bool(prompt) and response == "yes"


# ── the conversation ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_attacker_and_target_take_turns_and_see_their_own_side() -> None:
    """The attacker sees goal and conversation, the target its system text and the conversation, each in its own place."""
    attacker, target = Says("p1", "p2"), Says("r1", "r2")
    sampler = ChatSampler(attacker, target, turns=2, system="Be kind.", attacker_prompt="{goal} {turn}/{turns} {x}")
    rollout = sampler.rollout("win {turn}")
    assert attacker.told[1] == [
        {"role": "system", "content": "win {turn} 2/2 {x}"},
        {"role": "user", "content": sampler.opening},
        {"role": "assistant", "content": "p1"},
        {"role": "user", "content": "r1"},
    ]
    assert target.told[1] == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "p1"},
        {"role": "assistant", "content": "r1"},
        {"role": "user", "content": "p2"},
    ]
    assert [(turn.prompt, turn.response) for turn in rollout.turns] == [("p1", "r1"), ("p2", "r2")]
    assert (rollout.goal, rollout.ending, rollout.outcome, rollout.queries) == ("win {turn}", "budget", None, 2)
    assert flatten(rollout)["context"].to_list() == ["Be kind.", None]


def test_the_default_prompt_tells_goal_budget_and_how_to_give_up() -> None:
    """Without an attacker_prompt of one's own the attacker knows its goal, its turns and the words that end it."""
    attacker = Says("p")
    ChatSampler(attacker, Says("r"), turns=3).rollout("the goal")
    told = attacker.told[0][0]["content"]
    assert "the goal" in told
    assert "3 turns" in told
    assert GIVE_UP_WORD in told


@pytest.mark.parametrize(
    ("attacker", "target", "ending", "outcome", "turns"),
    [
        (("p",), ("no", "yes", "no"), "success", "success", 2),
        (("p",), ("no",), "budget", "failure", 4),
        (("p", "p", ""), ("no",), "gave_up", "failure", 2),
        (("p", None), ("no",), "gave_up", "failure", 1),
        (("p", " [GIVE UP]\n"), ("no",), "gave_up", "failure", 1),
        (("p", Reply("I won't.", refused=True)), ("no",), "gave_up", "failure", 1),
        (("p",), ("no", ""), "target_ended", "failure", 2),
        (("p",), ("no", None), "target_ended", "failure", 2),
        (("p",), ("no", Reply("", finish_reason="content_filter", refused=True)), "target_ended", "failure", 2),
    ],
)
def test_endings(attacker: tuple, target: tuple, ending: str, outcome: str, turns: int) -> None:
    """A rollout ends with success, when the attacker or the target has no more to say, or with its budget."""
    rollout = ChatSampler(Says(*attacker), Says(*target), agrees, turns=4).rollout("g")
    assert (rollout.ending, rollout.outcome, len(rollout.turns)) == (ending, outcome, turns)


def test_an_attack_that_says_nothing_is_one_empty_turn() -> None:
    """Giving up at once is turn 1 with neither prompt nor response: a failure in the denominator, judged or not."""
    rollout = ChatSampler(Says(""), Says("no")).rollout("g")
    assert [(turn.prompt, turn.response, turn.succeeded) for turn in rollout.turns] == [(None, None, False)]
    assert (rollout.ending, rollout.outcome, rollout.queries) == ("gave_up", "failure", 0)


def test_without_stopping_a_success_is_the_outcome_and_not_the_ending() -> None:
    """With stop_on_success=False the rollout goes on."""
    rollout = ChatSampler(Says("p"), Says("yes", "no"), agrees, turns=3, stop_on_success=False).rollout("g")
    assert (rollout.ending, rollout.outcome, len(rollout.turns)) == ("budget", "success", 3)


@pytest.mark.parametrize(
    ("verdict", "reward", "succeeded"),
    [
        (True, 1.0, True),
        (False, 0.0, False),
        (0.7, 0.7, True),
        (0.5, 0.5, True),
        (0.49, 0.49, False),
        (0, 0.0, False),
        (None, None, None),
        (float("nan"), None, None),
    ],
)
def test_a_verdict_is_the_reward(verdict: object, reward: float | None, succeeded: bool | None) -> None:
    """What the judge says is the reward; from 0.5 up it is a success; None and NaN are no verdict."""
    turn = ChatSampler(Says("p"), Says("r"), Gives(verdict), turns=1).rollout("g").turns[0]
    assert (turn.reward, turn.succeeded) == (reward, succeeded)


def test_the_least_success_can_be_moved() -> None:
    """A judge from 1 to 5 succeeds from 4 on with at=4."""
    sampler = ChatSampler(Says("p"), Says("r"), Gives(3.5), turns=1, at=4)
    assert sampler.rollout("g").turns[0].succeeded is False


def test_an_unjudged_turn_leaves_the_outcome_open() -> None:
    """A rollout with an unjudged turn and no success before it has no outcome: it is not called a failure."""
    rollout = ChatSampler(Says("p"), Says("r"), Gives(False, None, False), turns=3).rollout("g")
    assert (rollout.ending, rollout.outcome) == ("budget", None)


def test_a_judge_that_asks_for_the_goal_gets_it() -> None:
    """A judge with a parameter `goal` is told it; an async one is awaited."""

    async def judge(prompt: str, response: str, *, goal: str) -> bool:
        await asyncio.sleep(0)
        return (prompt, response, goal) == ("p", "r", "the goal")

    assert ChatSampler(Says("p"), Says("r"), judge).rollout("the goal").outcome == "success"


class Parrot:
    """A model of one's own."""

    name = "parrot"
    configuration = {"repeats": True}  # noqa: RUF012 (as a user would write it)

    async def complete(self, messages, *, seed=None) -> Reply:
        """What was said last, and the seed."""
        return Reply(f"{messages[-1]['content']}|{seed}", 2, 3, "stop", 0.25)


async def coroutine(messages: list[dict]) -> str:
    await asyncio.sleep(0)
    return "async" if messages else ""


class Callable:
    """An object that is called, asynchronously."""

    async def __call__(self, messages: list[dict]) -> Reply:
        """A reply."""
        return Reply("called", prompt_tokens=len(messages))


@pytest.mark.parametrize(
    ("model", "name", "said"),
    [
        (Parrot(), "parrot", "p|None"),
        (coroutine, "coroutine", "async"),
        (Callable(), "Callable", "called"),
        (partial(lambda suffix, messages: messages[-1]["content"] + suffix, "!"), "<lambda>", "p!"),
        (lambda messages: coroutine(messages), "<lambda>", "async"),  # noqa: PLW0108 (a sync function of an awaitable)
    ],
    ids=["class", "coroutine", "object", "partial", "awaitable"],
)
def test_anything_that_answers_is_a_model(model: object, name: str, said: str) -> None:
    """A ChatModel, a coroutine function, an object with a call, a partial or a plain function can be the target."""
    rollout = ChatSampler(Says("p"), model, turns=1).rollout("g")  # type: ignore[arg-type]
    assert (rollout.target, rollout.turns[0].response) == (name, said)


def test_a_reply_tells_what_it_took() -> None:
    """Tokens and seconds of a turn are the target's; the total counts the attacker's too, and is unknown if any is."""
    rollout = ChatSampler(Parrot(), Parrot(), turns=2, attack="repeat", name="bird").rollout("g")
    assert [(turn.prompt_tokens, turn.response_tokens, turn.seconds) for turn in rollout.turns] == [(2, 3, 0.25)] * 2
    assert (rollout.total_tokens, rollout.attack, rollout.target) == (20, "repeat", "bird")
    assert rollout.total_seconds is not None
    assert ChatSampler(Says("p"), Parrot(), turns=2).rollout("g").total_tokens is None


@pytest.mark.integration
def test_functions_that_wait_do_not_hold_each_other_up() -> None:
    """Sync functions run in threads: four rollouts that block at the same time take the time of about one."""
    together = threading.Barrier(4, timeout=10)

    def target(messages: list[dict]) -> str:
        together.wait()
        return "r" if messages else ""

    async def four() -> list[Rollout]:
        sampler = ChatSampler(coroutine, target, turns=1)
        return await asyncio.gather(*(sampler.eval_rollout(f"g{at}") for at in range(4)))

    assert [rollout.goal for rollout in asyncio.run(four())] == ["g0", "g1", "g2", "g3"]


def test_rollout_works_inside_a_running_loop() -> None:
    """In a notebook a loop runs already: `rollout` still gives a rollout, and `eval_rollout` can be awaited."""

    async def notebook() -> list[str | None]:
        sampler = ChatSampler(coroutine, coroutine, turns=1)
        return [sampler.rollout("g").turns[0].response, (await sampler.eval_rollout("g")).turns[0].response]

    assert asyncio.run(notebook()) == ["async", "async"]


def test_half_a_surrogate_pair_is_replaced() -> None:
    """Text that cannot be written is made text that can, before anybody else is told it."""
    target = Says("r")
    rollout = ChatSampler(Says("a \ud83d b"), target, turns=1).rollout("g")
    assert rollout.turns[0].prompt == target.told[0][0]["content"] == "a ? b"


# ── seeds ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_numbers_go_round_the_goals_and_seed_every_call() -> None:
    """Seed i is attempt i // n + 1 at goal i % n; each call has its own seed, the same each time, 0 included."""
    sampler = ChatSampler(Parrot(), Parrot(), turns=2, goals=["a", "b"])
    made = [sampler.rollout(seed) for seed in range(4)]
    assert [(one.goal, one.attempt) for one in made] == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]
    texts = [text for one in made for turn in one.turns for text in (turn.prompt, turn.response)]
    seeds = [str(text).split("|")[-1] for text in texts]
    assert len(set(seeds)) == len(seeds) == 16
    assert all(0 <= int(seed) < 2**31 for seed in seeds)
    assert sampler.rollout(0).turns == made[0].turns == sampler.rollout(("a", 1)).turns == sampler.rollout([0, 1]).turns
    assert ChatSampler(Parrot(), Parrot(), turns=2, goals=["a", "b"], seed=1).rollout(0).turns != made[0].turns


def test_a_text_is_a_goal_without_a_seed() -> None:
    """Rolling the same text out again is another attempt, so its calls have no seed; None draws one of the goals."""
    sampler = ChatSampler(Parrot(), Parrot(), turns=1, goals=["a"])
    assert sampler.rollout("a").turns[0].prompt == f"{sampler.opening}|None"
    assert (sampler.rollout().goal, sampler.rollout("a").attempt) == ("a", None)


@pytest.mark.parametrize(
    ("goals", "seed", "hint"),
    [
        ((), 0, "with goals= a number"),
        ((), None, "with goals= a number"),
        ((), "", "a goal's text"),
        ((), (0, 1), "with goals= a number"),
        (("a",), -1, "a number from 0"),
        (("a",), True, "a number from 0"),
        (("a",), 1.5, "a number from 0"),
        (("a",), ("a", 0), "(goal, attempt)"),
    ],
)
def test_what_stands_for_no_goal_is_refused(goals: tuple, seed: object, hint: str) -> None:
    """A seed that names no goal is refused in a sentence, before anybody is asked."""
    with pytest.raises(ArgumentError, match="ChatSampler: the seed is") as caught:
        ChatSampler(Says("p"), Says("r"), goals=goals).rollout(seed)
    assert hint in str(caught.value)


# ── refusals and errors ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"turns": 0}, "turns is 0"),
        ({"turns": 2.5}, "turns is 2.5"),
        ({"attacker_prompt": "win"}, "must contain {goal}"),
        ({"judge": 0.5}, "the judge is 0.5"),
        ({"goals": [1]}, "a goal is not a text"),
        ({"attacker": 3}, "the attacker is 3"),
        ({"target": Parrot}, "the target is <class"),
    ],
)
def test_options_that_make_no_sense_are_refused_at_once(options: dict, hint: str) -> None:
    """Each refusal is one sentence that names the option."""
    with pytest.raises(ArgumentError) as caught:
        ChatSampler(**{"attacker": Says("p"), "target": Says("r"), **options})
    assert hint in str(caught.value)


def test_goals_may_be_one_text() -> None:
    """One goal as a text is one goal, not its letters."""
    assert ChatSampler(Says("p"), Says("r"), goals="win", turns=1).rollout(3).attempt == 4


def fails(*given: object, **named: object) -> str:
    raise KeyError("broken")


@pytest.mark.parametrize(
    ("broken", "hint"),
    [
        ({"attacker": fails}, "ChatSampler: the attacker failed in turn 1 of 'g': KeyError: 'broken'"),
        ({"target": fails}, "ChatSampler: the target failed in turn 1 of 'g': KeyError: 'broken'"),
        ({"judge": fails}, "ChatSampler: the judge failed in turn 1 of 'g': KeyError: 'broken'"),
        ({"judge": Gives("yes")}, "the judge failed in turn 1 of 'g': ValueError: could not convert"),
        ({"judge": Gives()}, "the judge failed in turn 1 of 'g': RuntimeError: StopIteration: it has nothing more"),
        (
            {"target": Says(7)},
            "the target failed in turn 1 of 'g': Says: it returned a int; return text, a Reply, or None",
        ),
    ],
    ids=["attacker", "target", "judge", "verdict", "nothing more", "type"],
)
def test_a_failure_says_who_when_and_what(broken: dict, hint: str) -> None:
    """Whoever fails, the error names the role, the turn, the goal and the reason."""
    with pytest.raises(RolloutError) as caught:
        ChatSampler(**{"attacker": Says("p"), "target": Says("r"), **broken}).rollout("g")
    assert hint in str(caught.value)


def test_a_failure_keeps_the_turns_before_it() -> None:
    """The error's graph holds what was said: with the judge's failure, the answer that it was to judge."""
    sampler = ChatSampler(Says("p1", "p2"), Says("r1", "r2"), Gives(False), goals=["g" * 200])
    with pytest.raises(RolloutError, match=r"^ChatSampler: the judge failed in turn 2 of attempt 3 at 'ggg") as caught:
        sampler.rollout(2)
    graph = caught.value.graph
    assert isinstance(graph, Rollout)
    assert [(turn.response, turn.succeeded) for turn in graph.turns] == [("r1", False), ("r2", None)]
    assert (graph.ending, graph.outcome, graph.queries) == ("error", "error", 2)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(("module", "extra"), [("openai", "judge"), ("transformers", "local"), ("torch", "local")])
def test_a_missing_extra_names_the_command(monkeypatch: pytest.MonkeyPatch, module: str, extra: str) -> None:
    """Where a package is not installed, making the model fails with the line that installs it."""
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == module else found("json"))
    with pytest.raises(ArgumentError, match=rf"{module} is not installed; pip install .*'{module}>=[\d.]+'") as caught:
        Endpoint("m") if module == "openai" else LocalModel("m")
    assert str(caught.value).endswith(to_install(extra))


@dataclass
class Shown:
    """A model that declares a version."""

    number: int

    @property
    def version(self) -> int:
        """What it depends on."""
        return self.number

    async def complete(self, messages, *, seed=None) -> Reply:
        """The number."""
        return Reply(f"{self.number} {len(messages)} {seed}")

    def method(self, messages) -> str:
        """The number, too."""
        return f"{self.number} {len(messages)}"


def closed(number: int):
    return lambda _: str(number)


# ── configuration ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_configuration_tells_samplers_apart() -> None:
    """It is JSON; models and judges say who they are, by their own `configuration` or by name and source."""
    base: dict = {"attacker": Parrot(), "target": coroutine, "judge": agrees}
    plain = ChatSampler(**base).configuration
    assert json.loads(json.dumps(plain)) == plain == ChatSampler(**base).configuration
    assert plain["attacker"] == {"repeats": True}
    assert plain["target"]["name"].endswith(".coroutine")
    changes: list[dict] = [
        {"turns": 3},
        {"system": "x"},
        {"goals": ["a"]},
        {"attacker_prompt": "{goal}"},
        {"stop_on_success": False},
        {"at": 0.9},
        {"seed": 1},
        {"attack": "x"},
        {"name": "x"},
        {"judge": None},
        {"judge": partial(agrees, "p")},
        {"judge": partial(agrees, "q")},
        {"target": lambda _: "a"},
        {"target": lambda _: "b"},
        {"target": Callable()},
        {"target": Shown(1)},
        {"target": Shown(2)},
        {"target": closed(1)},
        {"target": closed(2)},
        {"target": Shown(1).method},
        {"target": Shown(2).method},
        {"target": print},
    ]
    found = [plain, *(ChatSampler(**{**base, **change}).configuration for change in changes)]
    assert len({json.dumps(one) for one in found}) == len(found)
    assert " at 0x" not in json.dumps([found, ChatSampler(**{**base, "judge": Gives().__call__}).configuration])


@pytest.fixture
def openai(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client is there, and the environment says nothing about it."""
    pytest.importorskip("openai", reason="openai is not installed (extra judge)")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.mark.usefixtures("openai")
def test_secrets_are_not_told() -> None:
    """Neither repr nor configuration has the key, the address's user, password and query, or the values of headers."""
    model = Endpoint(
        "m",
        base_url="https://user:pass-word@host:8000/v1/?token=hidden",
        api_key="sk-secret",
        temperature=0.0,
        options={"top_p": 0.9, "extra_headers": {"X-Key": "hidden"}, "extra_query": {"key": "hidden"}},
    )
    assert repr(model) == "Endpoint('m', base_url='https://host:8000/v1', temperature=0.0)"
    sampler = ChatSampler(model, model)
    told = json.dumps(sampler.configuration) + repr(model) + str(model)
    for secret in ("secret", "pass-word", "hidden", "user:"):
        assert secret not in told
    assert sampler.configuration["target"]["options"] == {
        "top_p": 0.9,
        "extra_headers": ["X-Key"],
        "extra_query": ["key"],
    }
    assert sampler.name == "m"
    assert Endpoint("m", api_key="k").configuration["base_url"] == "https://api.openai.com/v1"


@pytest.mark.usefixtures("openai")
@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"model": ""}, "model is empty"),
        ({"timeout": 0}, "timeout is 0"),
        ({"max_retries": -1}, "max_retries is -1"),
        ({}, "no API key; pass api_key=, set OPENAI_API_KEY, or pass base_url="),
        ({"timeout": "long"}, "timeout is 'long'; give seconds"),
        ({"max_retries": 1.5}, "max_retries is 1.5; give a whole number"),
        ({"prices": 5}, "prices is 5; give dollars for a million tokens read"),
        ({"prices": (1.0, -1.0)}, "prices is "),
        ({"options": [1]}, r"options is \[1\]; give a dict"),
        ({"options": {"stream": True}}, "options has 'stream'; answers are read at once"),
        ({"options": {"n": 3}}, "options has 'n'; one answer is read; .*num_return_sequences"),
        ({"options": {"messages": []}}, "options has 'messages'"),
        ({"base_url": "localhost:8000/v1"}, "base_url is 'localhost:8000/v1', not a web address"),
        ({"base_url": "http://me:pass@host:99999/v1"}, "base_url is 'host:99999/v1', not a web address"),
        ({"base_url": "http://[::1"}, "not a web address; give one such as 'http://localhost:8000/v1'"),
    ],
)
def test_an_endpoint_that_cannot_be_asked_is_refused_at_once(options: dict, hint: str) -> None:
    """What could never work fails when it is made, not after an hour."""
    with pytest.raises(ArgumentError, match=hint):
        Endpoint(**{"model": "m", **options})


@pytest.mark.usefixtures("openai")
@pytest.mark.parametrize("key", ["sk-secret\n", "sk-sécret", "sk-secret\r\nX: y", b"sk-secret"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(key: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a file ends in a line break; given, or in the environment."""
    for given in ({"api_key": key}, {}):
        if not given and isinstance(key, str):
            monkeypatch.setenv("OPENAI_API_KEY", key)
        with pytest.raises(ArgumentError, match=r"API key") as caught:
            Endpoint("m", **given)
        assert "cret" not in str(caught.value)


@pytest.mark.usefixtures("openai")
def test_a_name_is_a_model_at_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text in a model's place is the endpoint of that name, whose key is the environment's."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    sampler = ChatSampler("gpt-a", "gpt-b")
    assert (sampler.attacker, sampler.attack, sampler.name) == (Endpoint("gpt-a"), "gpt-a", "gpt-b")
    assert isinstance(sampler.attacker, ChatModel)
    assert isinstance(sampler, Sampler)


# ── a real server ─────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Server:
    """The server's process, as its clients see it."""

    url: str

    def model(self, plan: str, **options: Any) -> Endpoint:
        """A model whose requests meet this plan; the hash makes its count its own."""
        name = f"{plan}#{time.perf_counter_ns()}"
        return Endpoint(
            name, base_url=self.url, **{"api_key": "sk-secret", "timeout": 30.0, "max_retries": 2, **options}
        )

    def log(self, model: Endpoint) -> list[dict]:
        """The requests that it made."""
        with urllib.request.urlopen(self.url.replace("/v1", "/log")) as response:
            return [request for request in json.load(response) if request["model"] == model.model]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A process of its own on the loopback interface, gone afterwards."""
    pytest.importorskip("openai", reason="openai is not installed (extra judge)")
    script = Path(__file__).with_name("chat_server.py")
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Server(f"http://127.0.0.1:{int(process.stdout.readline())}/v1")
        finally:
            process.terminate()
            process.wait(timeout=10)


FAULTS: dict[str, dict] = {
    "ok": {},
    "429/1.2 ok": {},
    "429": {},
    "429/600 ok": {},
    "500 ok": {},
    "503": {},
    "hang ok": {"timeout": 3.0},
    "hang": {"timeout": 1.0, "max_retries": 1},
    "drip ok": {"timeout": 3.0},
    "drip": {"timeout": 1.0, "max_retries": 1},
    "drop ok": {},
    "drop": {"max_retries": 0},
    "cut ok": {},
    "garbage ok": {},
    "garbage": {},
    "garbage 500 ok": {},
    "garbage 500": {},
    "page": {"max_retries": 0},
    "array": {"max_retries": 0},
    "empty ok": {},
    "empty": {"max_retries": 0},
    "sorry": {"max_retries": 0},
    "number": {"max_retries": 0},
    "401": {},
    "404": {},
    "cutoff": {},
    "null": {},
    "parts": {},
    "refusal": {},
    "blocked": {},
    "400/filter": {},
    "400": {},
    "uncounted": {},
    "countless": {},
    "unicode": {},
    "surrogate": {},
    "huge": {},
}


@pytest.fixture(scope="module")
def met(server: Server) -> dict[str, tuple[Reply | CallError, float, int]]:
    """What comes of each plan, the seconds it takes, and the requests that the server saw; all asked at once."""

    async def ask(model: Endpoint) -> tuple[Reply | CallError, float, int]:
        began = time.perf_counter()
        try:
            found: Reply | CallError = await model.complete(HI, seed=0)
        except CallError as error:
            found = error
        return found, time.perf_counter() - began, 0

    async def all_at_once() -> dict:
        models = {plan: server.model(plan, **options) for plan, options in FAULTS.items()}
        found = await asyncio.gather(*map(ask, models.values()))
        return {
            plan: (*one[:2], len(server.log(model))) for (plan, model), one in zip(models.items(), found, strict=True)
        }

    return asyncio.run(all_at_once())


@pytest.mark.integration
@pytest.mark.parametrize("plan", [plan for plan in FAULTS if plan.endswith(" ok") and "600" not in plan])
def test_a_passing_fault_costs_nothing_but_time(plan: str, met: dict) -> None:
    """Rate limits, server errors, time-outs, dropped and cut connections and broken answers are asked again."""
    reply, _, requests = met[plan]
    assert isinstance(reply, Reply)
    assert (reply.text, reply.prompt_tokens, reply.response_tokens, reply.finish_reason) == ("heard: hi", 11, 3, "stop")
    assert reply.attempts == requests == len(plan.split())


@pytest.mark.integration
def test_retry_after_is_waited_for(met: dict) -> None:
    """After 429 with Retry-After: 1.2 the next request comes 1.2 seconds later, not after the client's own half second."""
    reply, seconds, _ = met["429/1.2 ok"]
    assert 1.2 <= reply.seconds <= seconds < 60
    _, seconds, requests = met["429/600 ok"]
    assert (seconds < 60, requests) == (True, 1)  # ten minutes are not waited for


@pytest.mark.integration
@pytest.mark.parametrize(
    ("plan", "said", "requests"),
    [
        ("429", "429, asked 3 times: no, ***", 3),
        ("503", "503, asked 3 times: no", 3),
        ("hang", "no answer within 1 s, asked 2 times", 2),
        ("drip", "no answer within 1 s, asked 2 times", 2),
        ("drop", "no connection, asked once: Server disconnected", 1),
        ("garbage", 'no usable answer, asked 3 times: it is not a chat completion: \'{"choices": [{', 3),
        ("garbage 500", "500, asked 3 times: no", 3),
        ("page", "no usable answer, asked once: it is not a chat completion: '<html>please log in", 1),
        ("array", "it is not a chat completion: '[]'", 1),
        ("empty", "it is not a chat completion", 1),
        ("sorry", "upstream is away", 1),
        ("number", "its content is not text", 1),
        ("401", "401, asked once: no, ***", 1),
        ("404", "404, asked once: no", 1),
        ("400", "400, asked once: no", 1),
        ("cutoff", "it used up its tokens before the answer began; raise max_tokens", 1),
    ],
)
def test_a_fault_that_stays_is_one_sentence(plan: str, said: str, requests: int, met: dict) -> None:
    """The error names model and address, how often it was asked and what came back, and never the key."""
    error, _, seen = met[plan]
    assert isinstance(error, CallError)
    assert str(error).startswith(f"{plan}#")
    assert " at http://127.0.0.1:" in str(error)
    assert said in str(error)
    assert "secret" not in str(error)
    assert "\n" not in str(error)
    assert seen == requests


@pytest.mark.integration
def test_answers_are_taken_as_they_are(met: dict) -> None:
    """No content, parts, refusals, filters, unknown usage, any text of any length: all are answers."""
    assert met["null"][0].text == ""
    assert met["parts"][0].text == "one two"
    assert (met["refusal"][0].text, met["refusal"][0].refused) == ("I won't.", True)
    for plan in ("blocked", "400/filter"):
        assert (met[plan][0].text, met[plan][0].refused, met[plan][0].finish_reason) == ("", True, "content_filter")
    for plan in ("uncounted", "countless"):
        assert (met[plan][0].prompt_tokens, met[plan][0].response_tokens) == (None, None)
    assert met["unicode"][0].text == "Grüße, 世界 🦜\u200b \x00 end"
    assert len(met["huge"][0].text) == 4_000_000


@pytest.mark.integration
@pytest.mark.parametrize("plan", ["headers", "repeat"])
def test_what_a_server_repeats_of_a_request_is_hidden(plan: str, server: Server) -> None:
    """Key, user and password in any form that is sent, headers and query; also where the answer is cut in the middle of it."""
    secret_options = {"extra_headers": {"X-Key": "hidden-too"}, "extra_query": {"key": "hidden as well"}}
    model = server.model(plan, max_retries=0, options=secret_options)
    address = server.url.replace("//", "//me:pass%20word@") + "/?from=hid%2Fden"
    for one in (model, replace(model, base_url=address)):
        broken = replace(one, options={"extra_headers": {"X-Key": "hidden-too\n"}})
        with pytest.raises(CallError, match=r"Illegal header value b'\*\*\*") as caught:
            asyncio.run(broken.complete(HI))
        with pytest.raises(CallError) as caught:
            asyncio.run(one.complete(HI))
        told = str(caught.value)
        assert "***" in told
        for secret in ("sk-sec", "hid", "pass", "word", b64encode(b"me:pass word").decode()[:6]):
            assert secret not in told


@pytest.mark.integration
def test_the_request_is_what_was_asked_for(server: Server) -> None:
    """Temperature, tokens, seed 0, unknown options and the key are sent; what is not given is not."""
    full = server.model("echo", temperature=0.0, max_tokens=5, options={"top_k": 3, "top_p": 0.5})
    asked = json.loads(asyncio.run(full.complete(HI, seed=0)).text)
    assert asked == {
        "model": full.model,
        "messages": HI,
        "temperature": 0.0,
        "max_tokens": 5,
        "seed": 0,
        "top_k": 3,
        "top_p": 0.5,
    }
    assert server.log(full)[0]["authorization"] == "Bearer sk-secret"
    bare = server.model("echo", seeded=False)
    assert json.loads(asyncio.run(bare.complete(HI, seed=0)).text).keys() == {"model", "messages"}


@pytest.mark.integration
def test_a_rollout_over_http(server: Server) -> None:
    """Attacker and target over the wire, a judge that is a third model, faults on the way: one rollout with its costs."""
    attacker, target = server.model("ok 500 ok"), server.model("no garbage no yes")
    judge_model = server.model("no no yes")

    async def judge(prompt: str, response: str) -> bool:
        return (await judge_model.complete([{"role": "user", "content": f"Does {response} agree?"}])).text == "yes"

    rollout = ChatSampler(attacker, target, judge, system="Be kind.", goals=["agree"]).rollout(0)
    assert (rollout.ending, rollout.outcome, rollout.queries, rollout.attempt) == ("success", "success", 3, 1)
    assert rollout.total_tokens == 3 * 2 * 14
    assert [turn.response for turn in rollout.turns] == ["no", "no", "yes"]
    assert rollout.turns[1].prompt == "heard: no"
    seeds = [request["seed"] for model in (attacker, target) for request in server.log(model)]
    assert len(seeds) == 4 + 4
    assert len(set(seeds)) == 6  # a request that is sent again is the same request
    frame = flatten(rollout)
    assert frame["response"].to_list() == ["no", "no", "yes"]


@pytest.mark.integration
def test_an_attacker_may_give_up_over_http(server: Server) -> None:
    """The words that end an attack count in any case and with any space around them."""
    rollout = ChatSampler(server.model("ok quit"), server.model("no"), agrees).rollout("g")
    assert (rollout.ending, len(rollout.turns)) == ("gave_up", 1)


@pytest.mark.integration
def test_a_rollout_that_cannot_go_on_says_where(server: Server) -> None:
    """A server that stays down in turn 2 raises with the model, its address, the turn and the first turn's graph."""
    target = server.model("no 500", max_retries=0)
    with pytest.raises(
        RolloutError, match=r"the target failed in turn 2 of 'g': no 500#\d+ at http.*: 500, asked"
    ) as caught:
        ChatSampler(server.model("ok"), target).rollout("g")
    assert caught.value.graph is not None
    assert len(caught.value.graph.children) == 1


@pytest.mark.integration
def test_many_rollouts_at_once_and_loop_after_loop(server: Server) -> None:
    """One sampler serves many rollouts at a time, in one event loop after another, and leaves no connection open."""
    sampler = ChatSampler(server.model("ok"), server.model("no"), agrees, turns=3)

    async def many() -> list[Rollout]:
        return await asyncio.gather(*(sampler.eval_rollout(f"goal {at}") for at in range(20)))

    for _ in range(2):
        assert [rollout.ending for rollout in asyncio.run(many())] == ["budget"] * 20
    assert sampler.rollout("alone").ending == "budget"
    gc.collect()  # a socket left open would warn here, and a warning fails the test


@pytest.mark.integration
def test_a_cancelled_rollout_lets_go(server: Server) -> None:
    """Cancelling (a stopping rule that has seen enough) is not an error of the model, and the next call works."""
    target = server.model("hang ok", timeout=30.0)

    async def stopped() -> Reply:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(ChatSampler(server.model("ok"), target).eval_rollout("g"), timeout=0.5)
        return await target.complete(HI)

    assert asyncio.run(stopped()).text == "heard: hi"


# ── a model made here ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Llama."""
    made: Path = save_tiny_llama(tmp_path_factory.mktemp("model") / "tiny-llama")
    return made


def ask(model: LocalModel, seed: int | None = None, messages: list[dict] = HI) -> Reply:
    return asyncio.run(model.complete(messages, seed=seed))


def test_a_local_model_answers(folder: Path) -> None:
    """It counts its tokens, says why it ended, and greedy answers repeat; its name is its folder's."""
    model = LocalModel(folder, max_tokens=8, temperature=0)
    reply = ask(model)
    assert (reply.response_tokens, reply.finish_reason) == (8, "length")
    assert reply.prompt_tokens is not None
    assert reply.prompt_tokens > 3
    assert reply.seconds is not None
    assert "<assistant>" not in reply.text
    assert ask(model).text == reply.text == ask(LocalModel(str(folder), max_tokens=8, temperature=0), seed=5).text
    assert model.name == "tiny-llama"
    assert json.loads(json.dumps(model.configuration))["temperature"] == 0


def test_local_seeds_repeat_and_none_is_drawn_afresh(folder: Path) -> None:
    """A seed, 0 included, repeats its answer; others and None differ; PyTorch's own random numbers are as before."""
    torch = pytest.importorskip("torch")
    model = LocalModel(folder, max_tokens=16, temperature=1.0)
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    texts = [ask(model, seed).text for seed in (0, 0, 1, None, None)]
    assert texts[0] == texts[1]
    assert len(set(texts)) == 4
    assert torch.equal(torch.random.get_rng_state(), before)


def test_two_local_models_talk(folder: Path) -> None:
    """Attacker and target run here, several rollouts at a time, and a numbered seed repeats its rollout."""
    attacker, target = (LocalModel(folder, max_tokens=6, temperature=t) for t in (1.0, 0.7))
    sampler = ChatSampler(attacker, target, Gives(*[0.0] * 20), turns=2, goals=["a", "b"], attacker_prompt="{goal}")

    async def three() -> list[Rollout]:
        return await asyncio.gather(*(sampler.eval_rollout(seed) for seed in (0, 1, 2)))

    made = asyncio.run(three())
    said = [[(turn.prompt, turn.response) for turn in one.turns] for one in made]
    assert len({str(one) for one in said}) == 3
    assert [(turn.prompt, turn.response) for turn in sampler.rollout(0).turns] == said[0]
    assert all(one.total_tokens and one.ending in {"budget", "gave_up", "target_ended"} for one in made)


def test_local_troubles_are_sentences(folder: Path, tmp_path: Path) -> None:
    """A folder that holds no model, no template, a conversation too long or of the wrong form: one sentence each."""
    (tmp_path / "nothing").mkdir()
    with pytest.raises(CallError, match=r"^nothing: it cannot be loaded: "):
        ask(LocalModel(tmp_path / "nothing"))
    with pytest.raises(
        CallError, match=r"the conversation has \d+ tokens, which with max_tokens=590 is more than the 600"
    ):
        ask(LocalModel(folder, max_tokens=590), messages=[{"role": "user", "content": "sea " * 50}])
    with pytest.raises(CallError, match="its chat template refuses the conversation: no tools"):
        ask(LocalModel(folder), messages=[{"role": "tool", "content": "x"}])
    bare = tmp_path / "bare"
    bare.mkdir()
    for file in folder.iterdir():
        if file.name not in {"chat_template.jinja", "tokenizer_config.json"}:
            (bare / file.name).write_bytes(file.read_bytes())
    told = json.loads((folder / "tokenizer_config.json").read_text())
    told.pop("chat_template", None)
    (bare / "tokenizer_config.json").write_text(json.dumps(told))
    with pytest.raises(CallError, match="its tokenizer has no chat template; pass template="):
        ask(LocalModel(bare))
    assert ask(LocalModel(bare, template=TEMPLATE, max_tokens=2)).response_tokens
    with pytest.raises(ArgumentError, match="max_tokens is 0"):
        LocalModel(folder, max_tokens=0)
