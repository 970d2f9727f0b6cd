"""The transcripts to read first, the records that were not read, and the facts of a rollout."""

from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl
import pytest

import rollwise as rw
from rollwise.reports.frames import Frames, frames
from rollwise.reports.parts import Card
from rollwise.reports.reading import origins
from rollwise.reports.worst import EXCERPT, worst

from reports.browser import Browser, needs_chromium  # type: ignore[import-not-found]  # isort: skip


def made(turns: pl.DataFrame, **options: Any) -> Frames:
    usual: dict[str, Any] = {"by": "auto", "cluster": "auto", "level": 0.95, "seed": 0}
    return frames(turns, **usual | options)


def cards(data: Frames, ids: list[str] | None = None) -> list[Card]:
    parts = worst(data, data.turns["rollout_id"].unique().to_list() if ids is None else ids)
    return [card for part in parts if part.kind == "cards" for card in part.lines]


def conversations(*rollouts: tuple[str, str, int, int | None]) -> pl.DataFrame:
    """TURNS: target, goal, number of turns, and the turn that succeeded."""
    rows = [
        {"rollout_id": f"{target}/{goal}/{place}", "target": target, "goal": goal, "turn": turn}
        | {"prompt": f"ask {turn}", "response": f"answer {turn} <b>", "succeeded": turn == success}
        for place, (target, goal, turns, success) in enumerate(rollouts)
        for turn in range(1, turns + 1)
    ]  # fmt: skip
    return rw.turns(pl.DataFrame(rows))


WEAK = [("weak", f"g{k}", 5, k + 2 if k < 3 else None) for k in range(12)]
STRONG = [("strong", f"g{k}", 5, 4 if k == 7 else None) for k in range(12)]
TINY = [("tiny", "g1", 1, 1)]


@pytest.mark.integration
def test_one_success_of_each_group_and_small_groups_last() -> None:
    """The quickest of the group with the higher rate, then of the other large one, then of the tiny group whose rate is 100 %."""
    first, second, third = cards(made(conversations(*WEAK, *STRONG, *TINY)))
    assert [card.group for card in (first, second, third)] == ["weak", "strong", "tiny"]
    assert (first.where, second.where) == ("turn 2 of 5", "turn 4 of 5")
    assert dict(first.lines) == {"goal": "g0", "prompt": "ask 2", "answer": "answer 2 <b>"}
    assert unquote(first.link.href) == "#rollout=weak/g0/0&turn=2"


@pytest.mark.integration
@pytest.mark.parametrize("unit", ["goal", "task"])
def test_a_prompt_that_is_the_goal_is_shown_once(unit: str) -> None:
    """As where a table has prompts alone, or the goal itself was asked."""
    turns = conversations(*((target, goal, 1, 1) for target, goal, *_ in [*WEAK, *STRONG]))
    asked = turns.with_columns(**{"goal": pl.lit(None, pl.String), "prompt": pl.col("goal"), unit: pl.col("goal")})
    assert dict(cards(made(asked))[0].lines) == {unit: "g0", "answer": "answer 1 <b>"}


@pytest.mark.integration
def test_one_group_gives_three_goals() -> None:
    """Not three attempts at the same goal, and only transcripts that the page has."""
    data = made(conversations(*WEAK, ("weak", "g0", 3, 1)))
    assert [dict(card.lines)["goal"] for card in cards(data)] == ["g0", "g1", "g2"]
    assert cards(data)[0].where == "turn 1 of 3"
    without = [name for name in data.turns["rollout_id"].unique() if not name.startswith("weak/g0")]
    assert [dict(card.lines)["goal"] for card in cards(data, without)] == ["g1", "g2"]


def sentence(*rollouts: tuple[str, str, int, int | None]) -> str:
    """What stands above the excerpts."""
    data = made(conversations(*rollouts))
    return worst(data, data.turns["rollout_id"].unique().to_list())[0].text


@pytest.mark.integration
def test_the_order_of_the_excerpts_is_said_as_it_is() -> None:
    """Also where a group has several of the three, or where there is one group."""
    start = "Three transcripts that broke the target"
    both = [("strong", f"g{k}", 5, 4 if k == 7 else None) for k in range(12)]
    ordered = f"{start}: the quickest success of a group, groups of high rates first and small groups last"
    assert sentence(*WEAK, *both) == f"{ordered}; then the next ones of the same groups."
    assert sentence(*WEAK, *both, ("tiny", "g1", 1, 1)) == f"{ordered}."
    assert sentence(*WEAK) == f"{start}, the quickest success first."


def test_a_group_is_small_by_what_was_judged_of_it() -> None:
    """As in the figures: of thirteen rollouts at as many goals five were judged; of twenty at two goals all were."""
    unknown = conversations(*[("open", f"g{k}", 1, 1) for k in range(13)]).with_columns(
        succeeded=pl.when(pl.col("goal").is_in(["g0", "g1", "g2", "g3", "g4"])).then("succeeded")
    )
    few_goals = conversations(*[("two goals", f"g{k % 2}", 1, 1) for k in range(20)])
    turns = pl.concat([unknown, few_goals, conversations(*WEAK)], how="diagonal_relaxed")
    assert next(card.group for card in cards(made(turns))) == "weak"


def test_nothing_that_succeeded_is_said() -> None:
    """No link, and the sentence."""
    (part,) = worst(made(conversations(*[("safe", "g", 2, None)] * 3)), ["safe/g/0"])
    assert part.text == "No attack succeeded, so there is no transcript to show first."


@pytest.mark.integration
def test_results_without_texts_have_nothing_to_read(tmp_path: Path) -> None:
    """Their list stays, under another question."""
    rows = [{"target": "m", "goal": f"g{place}", "succeeded": place < 3} for place in range(9)]
    page = rw.report(rw.turns(rows), tmp_path / "bare").read_text()
    assert "What became of each rollout?" in page
    assert "The logs have no texts: a transcript is the result of its rollout alone. All 9 transcripts" in page
    assert "Which transcripts should you read first?" not in page
    # Without a verdict none is to be read first.
    scored = conversations(*WEAK).drop("succeeded").with_columns(score=pl.lit(0.5))
    assert "What do the transcripts say?" in rw.report(scored, tmp_path / "scored").read_text()
    with_texts = rw.report(conversations(*WEAK), tmp_path / "full").read_text()
    assert "Which transcripts should you read first?" in with_texts


def test_an_evaluation_shows_tasks_that_failed() -> None:
    """Where there is no attack."""
    same = {"turn": 1, "attack": "none", "response": "42"}
    rows = [same | {"rollout_id": f"r{k}", "task": f"t{k}", "solved": k > 1} for k in range(5)]
    found = cards(made(rw.turns(pl.DataFrame(rows))))
    assert [dict(card.lines)["task"] for card in found] == ["t0", "t1"]  # called what it is


@pytest.mark.integration
def test_long_texts_are_cut() -> None:
    """An excerpt of a megabyte is a sentence or two."""
    turns = conversations(*WEAK).with_columns(response=pl.lit("word " * 200_000))
    assert max(len(text) for card in cards(made(turns)) for _, text in card.lines) <= EXCERPT


@pytest.mark.integration
def test_records_that_could_not_be_read_for_one_reason_are_one_row() -> None:
    """Files without their common folder, the first records, and the reason in its own words."""
    problems = pl.DataFrame(
        [(f"/logs/run/{name}.jsonl", str(k), None, f"line {k} holds no output") for name in "ab" for k in range(5)],
        schema=rw.schema.PROBLEMS.dtypes,
        orient="row",
    )
    sentence, _, unread = origins(made(conversations(*WEAK)), problems).parts
    assert sentence.text == "12 rollouts of 1 run were read; 10 records or files could not be."
    assert unread.table is not None
    assert [column.name for column in unread.table.columns] == ["where", "reason"]
    assert unread.table.caption == "in /logs/run"
    assert unread.table.rows == [
        ["a.jsonl, record 0, 1 and 3 more", "line 0 holds no output"],
        ["b.jsonl, record 0, 1 and 3 more", "line 0 holds no output"],
    ]


@needs_chromium  # type: ignore[untyped-decorator]
@pytest.mark.integration
def test_a_card_opens_its_turn_with_what_was_said_first(browser: Browser, tmp_path: Path) -> None:
    """The facts are folded, in the head of the transcript; the table of what was not read is not cut off at either width."""
    turns = conversations(*WEAK, *STRONG).with_columns(**{f"fact_{k}": pl.lit("x") for k in range(20)})
    long = "no reason is too long to be read in full " * 5
    problems = pl.DataFrame(
        [(f"/logs/{'deep/' * 12}{name}.jsonl", "r" * 60, "field", long) for name in "ab"],
        schema=rw.schema.PROBLEMS.dtypes,
        orient="row",
    )
    page = rw.report(turns, tmp_path / "report", problems=problems)
    for width in (1280, 390):
        browser.open(page, width=width)
        browser.run("document.querySelector('.cards a').click(); await new Promise(go => setTimeout(go, 400))")
        seen = browser.run("""
          const rollout = document.getElementById("rollout"), details = rollout.querySelector("details");
          const kinds = [...rollout.children].map(one => one.className.split(" ")[0] || one.tagName);
          return [kinds.slice(0, 4), details.open, details.querySelectorAll("dt").length, document.activeElement.textContent];
        """)
        assert seen[0] == ["H3", "chips", "soft", "DETAILS"]
        assert seen[1] is False
        assert seen[2] >= 20
        assert seen[3].startswith("Turn 2")
        wide = "[...document.querySelectorAll('.wide')].filter(one => one.scrollWidth > one.clientWidth + 1)"
        cut = f"return {wide}.map(one => [one.scrollWidth, one.clientWidth, one.textContent.slice(0, 60)])"
        assert browser.run(cut) == []
