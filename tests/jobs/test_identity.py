"""Whether two functions are the same for a store: by what they declare, else by source, defaults and fixed values."""

# ruff: noqa: D101, D102

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest
from signing import signed

import rollwise as rw
from rollwise.errors import ArgumentError
from rollwise.jobs.identity import identity, unidentified_part

MODEL = "small"


def ask(messages: list) -> str:
    return signed(json.dumps({"score": int(MODEL == "small")}), messages)


class Bot:
    """A model of a user's own, which declares nothing."""

    def __init__(self, model: str = "small") -> None:
        self.model = model

    def reply(self, messages: list) -> str:
        return signed('{"score": 1}', messages)


class Declared(Bot):
    @property
    def configuration(self) -> dict[str, str]:
        return {"model": self.model}


class Versioned(Bot):
    def __init__(self, version: str) -> None:
        super().__init__()
        self.version = version


@dataclass(frozen=True)
class Pair:
    one: int


def closing(value: Any) -> Any:
    return lambda messages: value


def declared(version: Any, function: Any = ask) -> Any:
    """The function with a version of its own."""
    copy = partial(function)
    copy.version = version  # type: ignore[attr-defined]
    return copy


def key(thing: Any) -> bytes:
    return msgspec.json.encode(identity(thing), order="deterministic")


def plus(number: int, *, more: int = 1) -> int:
    return number + more


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ask, plus),
        (closing(1), closing(2)),
        (closing(1), closing(True)),
        (closing(1), closing(1.0)),
        (closing("1"), closing(1)),
        (closing("1"), closing(b"1")),
        (closing((1, ("a", None))), closing((1, ("b", None)))),
        (closing(float("nan")), closing(None)),
        (closing(2**70), closing(2**70 + 1)),
        (closing(ask), closing(plus)),
        (closing(Declared("a")), closing(Declared("b"))),
        (closing(Declared("a").reply), closing(Declared("b").reply)),
        (Declared("a").reply, Declared("b").reply),
        (Versioned("1"), Versioned("2")),
        (Versioned("1").reply, Versioned("2").reply),
        (declared("1"), declared("2")),
        (declared(1), declared(2)),
        (partial(plus, 1), partial(plus, 2)),
        (partial(plus, more=1), partial(plus, more=2)),
        (pl.col("a") + 1, pl.col("a") + 2),
        (Bot, Declared),
        (len, print),
        (str.lower, str.upper),
    ],
)
def test_what_differs_has_another_identity(one: Any, other: Any) -> None:
    """In its source, its defaults, what it closes over, was given, or declares; each is the same as itself, and complete."""
    assert key(one) != key(other)
    assert key(one) == key(one)
    assert unidentified_part(identity(one)) is None


def test_a_default_is_part_of_a_function() -> None:
    """Also where the source is the same."""

    def make(default: int) -> Any:
        def add(number: int, more: int = default) -> int:
            return number + more

        return add

    assert key(make(1)) != key(make(2))
    assert key(make(1)) == key(make(1))


@pytest.mark.parametrize(
    ("thing", "place", "kind"),
    [
        (closing([]), "value", "builtins.list"),
        (closing({"model": "small"}), "value", "builtins.dict"),
        (closing((1, {2})), "value", "builtins.set"),
        (closing(Bot()), "value", "test_identity.Bot"),
        (closing(Pair(1)), "value", "test_identity.Pair"),
        (closing(np.arange(3)), "value", "numpy.ndarray"),
        (closing(re.compile("a")), "value", "re.Pattern"),
        (partial(ask, [1]), "argument 1", "builtins.list"),
        (partial(ask, messages=[1]), "messages", "builtins.list"),
        (Bot(), "Bot", "test_identity.Bot"),
        (Bot().reply, "Bot", "test_identity.Bot"),
        ([].append, "list", "builtins.list"),
        (eval("lambda messages: 1"), "<lambda>", "builtins.function"),  # typed at a prompt
    ],
)
def test_what_can_change_or_hides_something_has_none(thing: Any, place: str, kind: str) -> None:
    """It is not guessed: the place and the type are named."""
    part = unidentified_part(identity(thing))
    assert part is not None
    assert (part["unidentified"], part["type"].endswith(kind)) == (place, True)


def test_lambdas_that_share_a_line_have_none() -> None:
    """Their source is that of the line, so they could not be told apart; a version tells them apart."""
    one, other = (lambda messages: 1), (lambda messages: 2)
    assert unidentified_part(identity(one)) is not None
    assert key(declared("1", one)) != key(declared("2", other))
    alone = lambda messages: 1  # noqa: E731
    assert unidentified_part(identity(alone)) is None


def test_globals_are_not_looked_at_and_a_version_says_that_they_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a function calls or reads elsewhere is its author's to declare."""
    before = key(ask), key(declared("small"))
    monkeypatch.setattr(sys.modules[__name__], "MODEL", "large")
    assert key(ask) == before[0]
    assert key(declared("large")) != before[1]


def test_functions_that_lead_to_themselves_end() -> None:
    """One that calls itself has an identity; two that close over each other have none."""

    def again(number: int) -> int:
        return again(number - 1) if number else 0

    def even(number: int) -> bool:
        return number == 0 or odd(number - 1)

    def odd(number: int) -> bool:
        return number != 0 and even(number - 1)

    assert unidentified_part(identity(again)) is None
    assert unidentified_part(identity(even)) is not None


@pytest.mark.integration
def test_it_is_the_same_in_every_process(tmp_path: Path) -> None:
    """No address, and no order of a set."""
    (tmp_path / "asking.py").write_text(
        "import sys\nfrom functools import partial\nimport msgspec\nfrom rollwise.jobs.identity import identity\n"
        "class Bot:\n    configuration = {'model': 'a'}\n    def reply(self, messages): return {'x', 'y', 'z'}\n"
        "def one(messages, k=len, *, n=(1, 'a')): return {'a', 'b', 'c'}\n"
        "def closing(value): return lambda messages: value\n"
        "for thing in (Bot().reply, Bot, one, closing(one), partial(one, 'x')):\n"
        "    print(msgspec.json.encode(identity(thing), order='deterministic').decode())\n"
    )
    said = {
        subprocess.run(
            [sys.executable, str(tmp_path / "asking.py")],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
        ).stdout
        for seed in range(2)
    }
    assert len(said) == 1
    assert " at 0x" not in said.pop()


# ── with a store ──────────────────────────────────────────────────────────────────────────────────────────────────────
TURNS = pl.DataFrame({"rollout_id": ["r"], "turn": [1], "response": ["a"], "prompt": ["p"]})


def scores(model: Any, store: Path) -> list:
    return rw.judge(TURNS, rw.judges.Refusal(model), store=store, progress=False).select("value", "cached").rows()


def test_the_store_never_mixes_two_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version of the same function is asked; the same is not."""
    assert scores(declared("small"), tmp_path) == [(1.0, False)]
    monkeypatch.setattr(sys.modules[__name__], "MODEL", "large")
    assert scores(declared("large"), tmp_path) == [(0.0, False)]
    assert scores(declared("small"), tmp_path) == [(1.0, True)]
    assert scores(declared("large"), tmp_path) == [(0.0, True)]
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.integration
def test_what_has_no_identity_has_no_store(tmp_path: Path) -> None:
    """One sentence says what to declare, before anything is paid for; a version is enough, and so is no store."""
    sentence = (
        r"Refusal: store must know what the verdicts depend on, and `Bot` \(.*Bot\) cannot be compared between runs; give "
        "the function or object that uses it an attribute `version`"
    )
    with pytest.raises(ArgumentError, match=sentence):
        scores(Bot().reply, tmp_path / "store")
    assert not list(tmp_path.iterdir())
    assert scores(Versioned("1").reply, tmp_path) == [(1.0, False)]
    assert scores(Declared("a").reply, tmp_path) == [(1.0, False)]
    assert rw.judge(TURNS, rw.judges.Refusal(Bot().reply), progress=False)["value"].to_list() == [1.0]


def test_rolling_out_asks_for_a_version_too(tmp_path: Path) -> None:
    """A key with a part that has no identity is refused before the first rollout."""
    with pytest.raises(ArgumentError, match="run: store must know what the rollouts depend on, and `Bot`"):
        rw.rollout.run(lambda seed: 1 / 0, [1], store=tmp_path / "store", key=identity(Bot()), progress=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.integration
def test_no_text_is_written_down(tmp_path: Path) -> None:
    """What is closed over or given may be an API key: its hash tells it apart as well."""
    for value in ("sk-one", ("sk-one", 1), b"sk-one"):
        scores(partial(lambda messages, secret: signed('{"score": 1}', messages), secret=value), tmp_path)
        scores(closing_model(value), tmp_path)
    assert len(list(tmp_path.iterdir())) == 6
    assert not [path for path in tmp_path.iterdir() if b"sk-one" in path.read_bytes()]


def closing_model(value: Any) -> Any:
    def reply(messages: list) -> str:
        return signed('{"score": 1}', messages) if value else ""

    return reply
