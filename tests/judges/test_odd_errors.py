"""Judges whose errors are odd: no message, an end, an exit, Ctrl-C."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import type_and_message

TURNS = pl.DataFrame({"rollout_id": [f"r{n}" for n in range(40)], "turn": 1, "response": [f"a{n}" for n in range(40)]})


class Mute(Exception):  # noqa: N818
    """An error that says nothing."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class Gone(rw.errors.RollwiseError):
    """One of rollwise's family, with nothing to say either."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class Recursing(Exception):  # noqa: N818
    """One that goes on for ever."""

    def __str__(self) -> str:
        return str(self)


ODD = {
    "Mute": Mute,
    "Gone": Gone,
    "Recursing": Recursing,
    "GeneratorExit": GeneratorExit,
    "SystemExit": SystemExit,
    "StopIteration": StopIteration,
    "StopAsyncIteration": StopAsyncIteration,
}


def plain(error: type[BaseException]) -> Callable[[str], int]:
    """A function that raises it for every tenth answer."""

    def judge(response: str) -> int:
        if response.endswith("0"):
            raise error
        return 1

    return judge


def asynchronous(error: type[BaseException]) -> Callable[[str], Any]:
    """A coroutine function."""

    async def judge(response: str) -> int:
        return plain(error)(response)

    return judge


def of_class(error: type[BaseException]) -> Any:
    """A judge of a class."""

    class Own:
        name, configuration, columns, samples = "own", 1, (), 1

        async def verdict(self, texts: dict[str, str], *, sample: int = 1) -> rw.judges.Verdict:  # noqa: ARG002
            return rw.judges.Verdict(plain(error)(texts["response"]))

    return Own()


def of_model(error: type[BaseException]) -> Any:
    """A model of a judge."""

    def model(messages: list[dict[str, str]]) -> str:
        plain(error)(messages[-1]["content"].split("END")[0])
        return '{"score": 1}'

    template = "{response}END {lower_bound} {upper_bound}"
    return rw.judges.LLMJudgeMetric(model, template, unsigned="accept", max_retries=0)


def of_parser(error: type[BaseException]) -> Any:
    """A parser of a judge."""
    template = "{response} {lower_bound} {upper_bound}"
    return rw.judges.LLMJudgeMetric(
        lambda messages: "10",
        template,
        structured_output=False,
        parser=plain(error),
        max_retries=0,
    )


@pytest.mark.thinned(6)
@pytest.mark.parametrize("kind", [plain, asynchronous, of_class, of_model])
@pytest.mark.parametrize("error", ODD)
@pytest.mark.parametrize("workers", [1, 4])
def test_an_odd_error_is_that_of_its_verdict(error: str, kind: Callable[..., Any], workers: int) -> None:
    """The other answers are judged, and what was paid for is returned."""
    verdicts = rw.judge(TURNS, kind(ODD[error]), progress=False, max_concurrency=workers)
    failed = verdicts.filter(pl.col("error").is_not_null())
    assert failed["rollout_id"].to_list() == ["r0", "r10", "r20", "r30"]
    assert all(error in said for said in failed["error"])
    assert verdicts["value"].sum() == 36


def test_an_error_of_a_parser_may_be_mute() -> None:
    """As that of a function."""
    said = rw.judge(TURNS, of_parser(Mute), progress=False)["error"]
    assert set(said) == {"<lambda>: Mute; it said '10'"}
    assert type_and_message(Mute()) == "Mute"


SCRIPT = """
import polars as pl, rollwise as rw
turns = pl.DataFrame({{"rollout_id": [str(n) for n in range(9)], "turn": 1, "response": [str(n) for n in range(9)]}})
def sync(response):
    if response == "5":
        raise KeyboardInterrupt
    return 1
async def coroutine(response):
    return sync(response)
def model(messages):
    sync(messages[-1]["content"][0])
    return '{{"score": 1}}'
sync.version = coroutine.version = model.version = 1
judge = rw.judges.LLMJudgeMetric(model, "{{response}} {{lower_bound}} {{upper_bound}}", unsigned="accept")
try:
    rw.judge(turns, {judge}, progress=False, max_concurrency={workers}, timeout={timeout}, store={store!r})
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.integration
@pytest.mark.parametrize("judge", ["sync", "coroutine", "judge"])
@pytest.mark.parametrize(("workers", "timeout"), [(1, None), (4, None), (4, 5)])
def test_an_interrupt_within_a_judge_stops_and_says_nothing(
    judge: str, workers: int, timeout: int | None, tmp_path: Any
) -> None:
    """It is raised in the caller's thread, without words about tasks or a traceback."""
    script = SCRIPT.format(judge=judge, workers=workers, timeout=timeout, store=str(tmp_path / "store"))
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert (ended.returncode, ended.stdout.split(), ended.stderr) == (0, ["interrupted"], "")
