"""What judging costs: beside the time the judge itself takes, and where every verdict is known already."""

import asyncio
import gc
import json
import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from signing import signed

import rollwise as rw
from rollwise.judges import Verdict
from rollwise.judges.store import VerdictStore, key_of

TURNS = 100_000
WORDS = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliet")
TEMPLATE = "Rate this from {lower_bound} to {upper_bound}.\n\nPROMPT:\n{prompt}\n\nRESPONSE:\n{response}\n\nYour score?"

pytestmark = pytest.mark.benchmark


def turns(rows: int) -> pl.DataFrame:
    """Answers of about 190 characters, no two alike."""
    rng = np.random.default_rng(0)
    texts = [" ".join(WORDS[word] for word in words) for words in rng.integers(0, len(WORDS), (2000, 28)).tolist()]
    return pl.DataFrame(
        {
            "rollout_id": [f"run/{row // 10}" for row in range(rows)],
            "turn": [row % 10 + 1 for row in range(rows)],
            "prompt": [texts[row * 7 % 2000] for row in range(rows)],
            "response": [f"{texts[row % 2000]} {row}" for row in range(rows)],
        },
        schema_overrides={"turn": pl.Int32},
    )


def seconds(work: Callable[[], Any]) -> float:
    """How long it takes."""
    gc.collect()
    start = time.perf_counter()
    found = work()
    taken = time.perf_counter() - start
    del found
    return taken


def report(what: str, *told: str) -> None:
    """One line for each figure."""
    print(f"\n{what}: {'; '.join(told)}")  # noqa: T201


@pytest.mark.parametrize("stored", [False, True], ids=["without store", "with store"])
def test_the_judge_is_kept_busy(tmp_path: Path, stored: bool) -> None:
    """10,000 distinct judgments, 64 at a time, by a model that takes 20 ms: against what 64 such calls at once would take."""
    table, ideal = turns(10_000), 10_000 / 64 * 0.020

    async def model(messages: list[dict[str, str]]) -> str:
        await asyncio.sleep(0.020)
        return signed('```json\n{"score": 3}\n```', messages)

    judge = rw.judges.LLMJudgeMetric(model, TEMPLATE)

    def work(at: int) -> Any:
        return rw.judge(table, judge, max_concurrency=64, store=tmp_path / str(at) if stored else None)

    taken = [seconds(partial(work, at)) for at in range(3)]
    share = ideal / sorted(taken)[1]
    report("10,000 judgments, 64 x 20 ms", f"{share:.3f} of ideal", f"{min(taken):.2f} s")
    assert share >= 0.85


class Page:
    """The loop of the seed's class over cached answers: render, look up, find the fence, parse, clamp, average."""

    fence = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)

    def __init__(self, answers: dict[str, str]) -> None:
        self.answers = answers

    def parse(self, text: str) -> float:
        """A score in an answer."""
        match = self.fence.search(text)
        parsed = json.loads(match.group(1).strip() if match else text.strip())
        return max(1.0, min(5.0, float(parsed["score"])))

    def compute(self, responses: list[str], prompts: list[str]) -> dict[str, Any]:
        """As the class has it."""
        rendered = []
        for at in range(len(responses)):
            fields = {"response": responses[at], "lower_bound": 1, "upper_bound": 5, "prompt": prompts[at]}
            rendered.append(TEMPLATE.format(**fields))
        raw = [[self.parse(self.answers[prompt])] for prompt in rendered]
        scores = [sum(each) / len(each) for each in raw]
        return {"mean_score": sum(scores) / len(scores), "scores": scores, "raw_scores": raw}


def test_what_is_known_costs_little(tmp_path: Path) -> None:
    """A second pass over 100,000 stored verdicts: a tenth of 64 calls of 20 ms at once, and at most thrice the seed's loop.

    The loop looks up cached answers in a dict; the store reads a file and compares the checksum of each verdict.
    """
    table = turns(TURNS)
    judge = rw.judges.LLMJudgeMetric(lambda messages: "", TEMPLATE)
    with VerdictStore(tmp_path, judge) as store:
        for texts in table.select("prompt", "response").iter_rows():
            store.keep({key_of(texts, 1): Verdict(len(texts[1]) % 5 + 1.0)})
    answers = {
        TEMPLATE.format(response=response, prompt=prompt, lower_bound=1, upper_bound=5): (
            f'```json\n{{"score": {len(response) % 5 + 1}}}\n```'
        )
        for prompt, response in table.select("prompt", "response").iter_rows()
    }
    page = Page(answers)
    responses, prompts = table["response"].to_list(), table["prompt"].to_list()
    verdicts = rw.judge(table, judge, store=tmp_path, progress=False)
    assert verdicts["value"].to_list() == page.compute(responses, prompts)["scores"]
    assert verdicts["cached"].all()
    rounds = [
        (
            seconds(lambda: rw.judge(table, judge, store=tmp_path, progress=False)),
            seconds(lambda: page.compute(responses, prompts)),
        )
        for _ in range(7)
    ]
    ratio = sorted(theirs / ours for ours, theirs in rounds)[3]
    ours, theirs = (sorted(each)[3] for each in zip(*rounds, strict=True))
    report(f"{TURNS} known verdicts", f"{1e3 * ours:.0f} ms", f"the loop {1e3 * theirs:.0f} ms ({ratio:.1f}x)")
    assert ratio >= 1 / 3
    assert ours <= TURNS / 64 * 0.020 / 10
