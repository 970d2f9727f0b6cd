"""What functions and objects depend on: no two are taken for one, and one is the same in every process."""

# ruff: noqa: D101, D102

import itertools
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest

import turnwise as tw
from turnwise.errors import ArgumentError
from turnwise.judges.clients import Reply
from turnwise.judges.identities import identity

MODEL = "small"
SETTINGS: dict = {"temperature": [0.0, 0.5]}


class Client:
    def chat(self, model: str) -> str:
        return json.dumps({"score": int(model == "small")})


client = Client()


def shaped(text: str) -> str:
    return f"{MODEL}: {text}"


def ask(messages: list) -> str:
    return client.chat(MODEL)


def asks_within(messages: list) -> list:
    def within(text: str) -> str:
        return shaped(text)

    return [within(each) for each in messages]


def asks_with(messages: list) -> Any:
    return SETTINGS["temperature"]


class Bot:
    def __init__(self, model: str, more: Any = None) -> None:
        self.model, self.more, self.calls = model, more, 0
        self.asked: list = []

    def reply(self, messages: list) -> str:
        self.asked.append(messages)
        self.calls += 1
        return client.chat(self.model)


class Answering:
    """A chat model that says nothing of itself."""

    def __init__(self, n: int) -> None:
        self.n = n

    async def complete(self, messages: list, *, seed: int | None = None) -> Reply:  # noqa: ARG002  # the protocol
        return Reply(f'{{"score": {self.n}}}')


@dataclass
class Shown:
    model: str
    hidden: Any = field(default=None, repr=False)


def closing(value: Any) -> Any:
    return lambda messages: value


def key(thing: Any) -> bytes:
    return msgspec.json.encode(identity(thing), enc_hook=repr, order="deterministic")


@pytest.mark.parametrize(
    ("function", "name", "value"),
    [
        (ask, "MODEL", "large"),
        (asks_within, "MODEL", "large"),
        (asks_with, "SETTINGS", {"temperature": [0.0, 0.6]}),
        (asks_within, "shaped", str),
        (Bot("small").reply, "client", None),
    ],
)
def test_a_global_is_part_of_who_asks(monkeypatch, function, name, value) -> None:
    """Plain values, settings within dicts, functions that are called, and what these look up."""
    before = key(function)
    assert key(function) == before
    monkeypatch.setattr(sys.modules[__name__], name, value)
    assert key(function) != before


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Bot("small").reply, Bot("large").reply),
        (Bot("small"), Bot("large")),
        (Bot("a", {"k": [1]}).reply, Bot("a", {"k": [2]}).reply),
        (Bot("a", Bot("b")), Bot("a", Bot("c"))),
        (Answering(1), Answering(5)),
        (Shown("a"), Shown("b")),
        (closing({"model": "small"}), closing({"model": "large"})),
        (closing([1, 2]), closing([2, 1])),
        (closing((1, {2})), closing((1, {3}))),
        (closing(1), closing(True)),
        (closing(float("nan")), closing(None)),
        (closing(2**70), closing(2**70 + 1)),
        (closing(b"a"), closing(b"b")),
        (closing(Bot("a")), closing(Bot("b"))),
        (closing(np.arange(5000)), closing(np.arange(5000) % 4999)),
        (closing(pl.DataFrame({"a": range(5000)})), closing(pl.DataFrame({"a": range(5000)}).reverse())),
        (closing(pl.col("a") + 1), closing(pl.col("a") + 2)),
        (closing(re.compile("a")), closing(re.compile("a", re.IGNORECASE))),
        (partial(ask, [1]), partial(ask, [2])),
        (partial(Bot("a").reply), partial(Bot("b").reply)),
        (Bot, Answering),
        (lambda messages, n=1: n, lambda messages, n=2: n),
    ],
)
def test_what_differs_has_another_identity(one, other) -> None:
    """In what it closes over, was given, holds, or is."""
    assert key(one) != key(other)
    assert key(one) == key(one)


def test_what_only_counts_and_collects_is_left_out() -> None:
    """Else nobody would be known again after the first call."""
    bot, asked, kept = Bot("small"), [], {}

    def collecting(messages: list) -> str:
        asked.append(messages)
        kept[len(asked)] = messages
        return ""

    before = key(bot), key(bot.reply), key(collecting)
    bot.reply([])
    collecting([])
    assert (key(bot), key(bot.reply), key(collecting)) == before


def test_it_ends_in_cycles() -> None:
    """Lists, objects and functions that lead back to themselves."""
    circle: list = []
    circle.append(circle)
    bot = Bot("a")
    bot.more = bot

    def again() -> Any:
        return again, circle

    assert key(closing(circle)) != key(closing([]))
    assert key(bot) == key(bot)
    assert key(again) == key(again)


@pytest.mark.integration
def test_no_text_is_written_down(tmp_path: Path) -> None:
    """A global, an attribute or what is closed over may be a key: its hash tells it apart as well."""

    class Silent:
        def __repr__(self) -> str:
            raise ValueError("no")

    for secret in ("sk-one", {"key": ["sk-one"]}, Shown("sk-one"), Bot("sk-one"), Silent(), b"sk-one"):
        scores(Bot("small", secret).reply, tmp_path)
        scores(lambda _, secret=secret: f'{{"score": {secret is None:d}}}', tmp_path)
    assert len(list(tmp_path.iterdir())) == 12
    assert not [path for path in tmp_path.iterdir() if "sk-one" in path.read_text()]


@pytest.mark.integration
def test_what_is_deep_or_large_is_told_in_short() -> None:
    """Ten thousand lists within each other, a hundred thousand entries: each still differs by what it holds."""
    deep: list = []
    for _ in range(10_000):
        deep = [deep]
    assert key(closing(deep)) == key(closing(deep))
    large, other = ({number: str(number) for number in range(100_000)} for _ in range(2))
    other[99_999] = "other"
    assert key(closing(large)) != key(closing(other))
    assert len(key(closing(large))) < 2000


@pytest.mark.integration
def test_it_is_the_same_in_every_process(tmp_path: Path) -> None:
    """No address, and no order of a set."""
    (tmp_path / "asking.py").write_text(
        "import json, sys, threading, msgspec\n"
        "from turnwise.judges.identities import identity\n"
        "WORDS = {'a', 'b', 'c', 'd'}\nLOCK = threading.Lock()\n"
        "class Bot:\n    words = ['x']\n    def __init__(self): self.words = {'x', 'y', 'z'}; self.client = object\n"
        "    def reply(self, m): return LOCK, m in {'e', 'f', 'g', 'h'}, WORDS\n"
        "def one(m, k=len): return Bot, LOCK, [w for w in WORDS if w in {'i', 'j', 'k'}]\n"
        "for thing in (Bot().reply, one, lambda m: (m in {'l', 'm', 'n'}, one), Bot):\n"
        "    print(msgspec.json.encode(identity(thing), enc_hook=repr, order='deterministic').decode())\n"
    )
    said = {
        subprocess.run(
            [sys.executable, str(tmp_path / "asking.py")],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
        ).stdout
        for seed in range(3)
    }
    assert len(said) == 1
    assert " at 0x" not in said.pop()


TURNS = pl.DataFrame({"rollout_id": ["r"], "turn": [1], "response": ["a"], "prompt": ["p"]})


def scores(model: Any, store: Path) -> list:
    return tw.judge(TURNS, tw.judges.Refusal(model), store=store, progress=False)["value"].to_list()


@pytest.mark.integration
def test_the_store_never_mixes_two_models(tmp_path: Path, monkeypatch, capsys) -> None:
    """Another model behind the same function, method or class is asked; the same is not."""
    assert scores(ask, tmp_path) == [1.0]
    monkeypatch.setattr(sys.modules[__name__], "MODEL", "large")
    assert scores(ask, tmp_path) == [0.0]
    assert scores(Bot("small").reply, tmp_path) == [1.0]
    assert scores(Bot("large").reply, tmp_path) == [0.0]
    assert scores(Answering(1), tmp_path) == [1.0]
    assert scores(Answering(0), tmp_path) == [0.0]
    capsys.readouterr()
    again = Bot("large")
    assert scores(again.reply, tmp_path) == [0.0]
    assert again.calls == 0
    assert len(list(tmp_path.iterdir())) == 6


@pytest.mark.integration
def test_what_shows_nothing_of_itself_has_no_store(tmp_path: Path) -> None:
    """One sentence, as for samplers; a configuration is enough, and so is no store."""
    hidden = Bot("small", itertools.count())
    with pytest.raises(
        ArgumentError, match=r"Refusal: store must know .* `Bot.more` is a .*object.*; give its owner an"
    ):
        scores(Bot("small", object()).reply, tmp_path)
    assert not list(tmp_path.iterdir())
    assert scores(hidden.reply, tmp_path) == [1.0]  # a count shows itself
    bare = Bot("small", object())
    assert tw.judge(TURNS, tw.judges.Refusal(bare.reply), progress=False)["value"].to_list() == [1.0]
    bare.configuration = {"model": "small"}  # type: ignore[attr-defined]
    assert scores(bare.reply, tmp_path) == [1.0]
