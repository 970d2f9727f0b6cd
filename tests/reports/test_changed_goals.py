"""Goals that changed since the earlier report: which, how often, and both texts with the words that differ."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.reports.changed_goals import MOST, MOST_WORDS, Pair, changed_goals
from rollwise.reports.frames import frames
from rollwise.reports.parts import Part

from reports.browser import Browser, needs_chromium  # type: ignore[import-not-found]  # isort: skip

OPTIONS: dict[str, Any] = {"by": "target", "cluster": "auto", "level": 0.95, "seed": 0}


def run(
    results: dict[str, list[bool]], words: str = "the plan", *, target: str = "t", prompt: str = "Do it."
) -> pl.DataFrame:
    """TURNS of one turn: for each goal, whether each attempt succeeded."""
    rows = [
        {
            "rollout_id": f"{goal}/{k}", "turn": 1, "target": target, "attack": "pair", "goal": goal, "attempt": k + 1,
            "prompt": prompt, "response": f"Here is {words} number {k}" if yes else f"No, not {words} number {k}", "succeeded": yes,
        }
        for goal, attempts in results.items() for k, yes in enumerate(attempts)
    ]  # fmt: skip
    return rw.turns(pl.DataFrame(rows))


def parts(now: pl.DataFrame, before: pl.DataFrame) -> list[Part]:
    return changed_goals(frames(now, earlier=before, **OPTIONS))


def pairs(now: pl.DataFrame, before: pl.DataFrame) -> list[Pair]:
    return [pair for part in parts(now, before) if part.kind == "pairs" for pair in part.lines]


def marked(pair: Pair, edition: int, name: str) -> list[str]:
    """Return the marked pieces of a text."""
    return [text.strip() for text, differs in dict(pair.sides[edition].said)[name] if differs]


@pytest.mark.integration
def test_gained_lost_and_same_are_counted_and_the_largest_change_comes_first() -> None:
    """By hand: a goes from 0 to 2 of 2, b from 2 to 1 of 2, c stays."""
    before = run({"a": [False, False], "b": [True, True], "c": [True, False]})
    now = run({"a": [True, True], "b": [True, False], "c": [False, True]})
    text, _ = parts(now, before)
    assert text.text.startswith("Broken more often now than before: 1 goal; less often: 1; as often: 1.")
    first, second = pairs(now, before)
    assert (first.goal, first.counts) == ("a", "broken in 0 of 2 before, 2 of 2 now")
    assert (second.goal, second.counts) == ("b", "broken in 2 of 2 before, 1 of 2 now")
    assert [side.title for side in first.sides] == ["the earlier report: held", "now: broken"]
    assert [side.title for side in second.sides] == ["the earlier report: broken", "now: held"]


@pytest.mark.integration
def test_a_goal_of_two_groups_is_counted_in_each_and_that_is_said() -> None:
    """Two changes at one goal are not of two goals."""
    before, now = (
        pl.concat([run({"a": [broken]}).with_columns(target=pl.lit(name), rollout_id=pl.lit(name)) for name in "xy"])
        for broken in (False, True)
    )
    text = changed_goals(frames(now, earlier=before, **OPTIONS | {"by": "target"}))[0].text
    assert text.startswith("Broken more often now than before: 2 goals (a goal counts in each group); less often: 0;")


@pytest.mark.integration
def test_the_words_that_differ_are_marked() -> None:
    """And no others; the same attempt is shown where there is one."""
    (pair,) = pairs(run({"a": [True, False]}, prompt="Do it now."), run({"a": [False, False]}))
    assert marked(pair, 0, "response") == ["No, not"]
    assert marked(pair, 1, "response") == ["Here is"]
    assert marked(pair, 0, "prompt") == []
    assert marked(pair, 1, "prompt") == ["now"]
    assert pair.link.href == "#rollout=a%2F0"
    # Attempt 2 is the one that changed: both sides show it.
    (pair,) = pairs(run({"a": [False, True]}), run({"a": [False, False]}))
    assert [dict(side.said)["response"][-1][0][-1] for side in pair.sides] == ["1", "1"]


@pytest.mark.integration
def test_texts_with_little_in_common_are_not_marked() -> None:
    """Almost every word would be."""
    now = run({"a": [True]}, words="alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu")
    before = run({"a": [False]}, words="one two three four five six seven eight nine ten eleven twelve")
    (pair,) = pairs(now, before)
    assert marked(pair, 0, "response") == marked(pair, 1, "response") == []


@pytest.mark.integration
def test_the_turn_that_decided_is_shown_of_both() -> None:
    """The first success at turn 2: turn 2 of the other rollout beside it, or its last turn."""
    rows = [
        {"rollout_id": "a", "turn": turn, "target": "t", "goal": "g", "response": f"answer {turn}", "succeeded": turn == 2}
        for turn in (1, 2, 3)
    ]  # fmt: skip
    now = rw.turns(pl.DataFrame(rows))
    before = rw.turns(pl.DataFrame(rows).with_columns(succeeded=pl.lit(value=False)))
    (pair,) = pairs(now, before)
    assert [side.where for side in pair.sides] == ["turn 2 of 3", "turn 2 of 3"]
    (pair,) = pairs(now, before.filter(pl.col("turn") == 1))
    assert [side.where for side in pair.sides] == ["", "turn 2 of 3"]


@pytest.mark.integration
def test_long_texts_are_shortened_and_many_goals_cut() -> None:
    """A page is for reading: the first words, and the largest changes."""
    goals = {f"g{number}": [True] for number in range(MOST + 5)}
    found = parts(run(goals, words="word " * 2000), run({goal: [False] for goal in goals}, words="word " * 2000))
    assert found[0].text.endswith(f" are marked. The {MOST} largest changes:")
    pair = found[1].lines[0]
    text = "".join(piece for piece, _ in dict(pair.sides[1].said)["response"])
    assert len(text.split()) <= MOST_WORDS + 3
    assert text.endswith(" … (shortened)")


def test_nothing_changed_and_nothing_was_said() -> None:
    """Without a change there is a sentence; logs without texts have no pair."""
    same = run({"a": [True], "b": [False]})
    (text,) = parts(same, same)
    assert text.text == "Broken more often now than before: 0 goals; less often: 0; as often: 2."
    (text,) = parts(run({"a": [True]}).drop("prompt", "response"), run({"a": [False]}).drop("prompt", "response"))
    assert "1 goal;" in text.text
    assert changed_goals(frames(same, **OPTIONS)) == []


@needs_chromium  # type: ignore[untyped-decorator]
@pytest.mark.integration
def test_hostile_texts_stay_texts(browser: Browser, tmp_path: Path) -> None:
    """A thousand payloads as goals, prompts and answers of both editions: nothing runs, nothing becomes an element."""
    given = [json.loads(line) for line in Path(__file__).with_name("payloads.jsonl").read_text().splitlines()]
    payloads = [f"{payload} {copy}" for copy in range(4) for payload in given]
    seen = 0
    for start in range(0, 1080, 4 * MOST):  # of each goal the name, the prompt and two answers
        goals, prompts, before, now = (payloads[start + MOST * part : start + MOST * (part + 1)] for part in range(4))
        rows = pl.DataFrame(
            {"rollout_id": goals, "turn": 1, "target": "t", "attack": "pair", "goal": goals, "prompt": prompts}
        )
        editions = [
            rw.turns(rows.with_columns(response=pl.Series(said), succeeded=pl.lit(value)))
            for said, value in ((now, True), (before, False))
        ]
        page = rw.report(editions[0], tmp_path / str(start), baseline=editions[1], progress=False)
        browser.open(page)
        found = browser.run("""
          const all = [...document.querySelectorAll("#changes *")];
          return {pwned: window.pwned ?? null, pairs: document.querySelectorAll("details.pair").length,
            odd: all.filter(one => ["SCRIPT", "IFRAME", "IMG", "SVG", "OBJECT", "FORM", "MATH"].includes(one.tagName.toUpperCase())
              && !one.closest("figure")).length,
            handlers: all.flatMap(one => one.getAttributeNames().filter(name => name.startsWith("on"))).length};
        """)
        assert found == {"pwned": None, "pairs": MOST, "odd": 0, "handlers": 0}
        assert browser.told()[1] == []
        seen += 4 * MOST
    assert seen >= 1000
