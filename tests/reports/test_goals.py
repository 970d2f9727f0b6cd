"""The viewer's list by goal, its title, the squares of a goal, and both views of a phone, as readers use them in a browser."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.schema import labels

from reports.browser import Browser, needs_chromium  # type: ignore[import-not-found]  # isort: skip

pytestmark = [needs_chromium, pytest.mark.integration]
PHONE = {"width": 390, "height": 844}
HEADS = """
  return [...document.querySelectorAll("#rows .goal")].map(one => [one.querySelector("b").textContent,
    one.querySelector("span").textContent, one.querySelector("progress")?.value ?? null]);
"""
VISIBLE = "return given[0].map(one => document.querySelector(one).checkVisibility())"


@pytest.fixture(scope="module")
def turns() -> pl.DataFrame:
    """Four goals of six attempts each on two targets, of which some crashed."""
    made: pl.DataFrame = rw.simulate(
        goals=4, attempts=3, turns=4, targets={"base": 0.3, "guarded": 0.2}, error=0.08, seed=9
    )[0]
    return made


@pytest.fixture(scope="module")
def page(turns: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Their report."""
    return rw.report(turns, tmp_path_factory.mktemp("goals") / "report", by="target", progress=False)


@pytest.fixture
def rollouts(turns: pl.DataFrame) -> pl.DataFrame:
    """A row for each rollout, in the order of the log."""
    return rw.measure(turns, rw.metrics.attack_success())


def expected(rollouts: pl.DataFrame) -> pl.DataFrame:
    """The goals in the order of the list, with successes of judged rollouts: by hand of the table."""
    numbers = (
        rollouts.with_row_index()
        .group_by("goal")
        .agg(
            first=pl.col("index").min(),
            yes=pl.col("attack_success").sum(),
            judged=pl.col("attack_success").count(),
            all=pl.len(),
        )
    )
    return numbers.with_columns(share=pl.col("yes") / pl.col("judged")).sort(
        "share", "first", descending=[True, False], nulls_last=True
    )


def settle(browser: Browser, script: str, *arguments: Any) -> None:
    """Do something in the page, and let it show what follows."""
    browser.run(f"{script}; await new Promise(go => setTimeout(go, 300))", *arguments)


def ordered(browser: Browser, order: str) -> None:
    """Choose an order of the list."""
    settle(
        browser,
        "const select = document.getElementById('order'); select.value = given[0]; select.dispatchEvent(new Event('change'))",
        order,
    )


def test_goals_stand_worst_first_with_k_of_n_and_a_bar(browser: Browser, page: Path, rollouts: pl.DataFrame) -> None:
    """Heads and rows are in the order of the table; another order has no heads, and the first order has them again."""
    browser.open(page, height=3000)
    settle(browser, "document.getElementById('panes').style.height = '2500px'; paint()")
    browser.until("return state.view !== null && state.shown[state.active] === state.open")
    goals = expected(rollouts)
    assert goals["share"].n_unique() > 2
    heads = browser.run(HEADS)
    assert [name for name, _, _ in heads] == goals["goal"].to_list()
    for (_, text, bar), row in zip(heads, goals.rows(named=True), strict=True):
        unknown = row["all"] - row["judged"]
        assert text == f"{row['yes']} of {row['judged']} broken" + (f", {unknown} not judged" if unknown else "")
        assert bar == pytest.approx(row["share"])
    order = [row for goal in goals["goal"] for row in rollouts.filter(goal=goal)["rollout_id"]]
    assert browser.run("return state.shown.map(one => state.index.ids[one])") == order
    assert (
        browser.run("""
      return [...document.querySelectorAll("#rows [role=group]")].map(one => one.querySelectorAll("[role=option]").length)
    """)
        == goals["all"].to_list()
    )
    ordered(browser, "turns")
    assert browser.run(HEADS) == []
    assert browser.run("return document.querySelectorAll('#rows .row').length") == rollouts.height
    ordered(browser, "goal")
    assert browser.run(HEADS) == heads
    # Of a verdict that is chosen, the heads still say how many of all.
    settle(browser, "location.hash = '#attack_success=yes'")
    assert browser.run(HEADS) == [head for head in heads if not head[1].startswith("0 of")]
    assert browser.told()[1] == []


def test_rows_are_where_the_scroll_bar_says(browser: Browser, page: Path, rollouts: pl.DataFrame) -> None:
    """The last row ends where the list does, wherever one scrolls what is seen is there, and keys keep the row in view."""
    browser.open(page, height=500)
    for share in (0, 0.3, 0.7, 1):
        settle(
            browser,
            "const list = at('list'); list.scrollTop = given[0] * (list.scrollHeight - list.clientHeight)",
            share,
        )
        gaps = browser.run("""
          const list = at("list").getBoundingClientRect();
          const seen = [...document.querySelectorAll("#rows .row, #rows .goal")]
            .map(one => one.getBoundingClientRect());
          return [Math.min(...seen.map(one => one.top)) <= list.top + 1,
            Math.max(...seen.map(one => one.bottom)) >= list.bottom - 2,
            ...seen.slice(1).map((one, place) => Math.abs(one.top - seen[place].bottom) < 1)];
        """)
        assert all(gaps), (share, gaps)
    browser.run("at('list').focus()")
    browser.press("\ue010")
    inside = "const row = at(`row-${state.active}`).getBoundingClientRect(), list = at('list').getBoundingClientRect();"
    assert browser.run(f"{inside} return [state.active, row.bottom <= list.bottom + 1]") == [rollouts.height - 1, True]
    browser.press("\ue011")
    # The head of its goal comes into view with the first row.
    assert browser.run(f"{inside} return [state.active, list.top <= row.top, at('list').scrollTop]") == [0, True, 0]


def test_a_rollout_that_is_opened_from_afar_stands_at_the_top_of_the_list(
    browser: Browser, page: Path, rollouts: pl.DataFrame
) -> None:
    """Below the head of its goal: at the bottom it would be out of sight where the list is taller than what is seen of it."""
    browser.open(page, height=500)
    goal = expected(rollouts)["goal"][2]
    place = browser.run("return state.shown.findIndex(one => word('goal', one) === given[0])", goal)
    settle(browser, "await openRollout(state.shown[0])")
    settle(browser, "await openRollout(state.shown[given[0]])", place)
    ends = "const list = at('list').getBoundingClientRect(), row = at(`row-${state.active}`).getBoundingClientRect();"
    assert browser.run(f"{ends} return Math.round(row.top - list.top)") == 52
    # The next one, by a key, moves nothing.
    browser.run("document.body.tabIndex = -1; document.body.focus()")
    before = browser.run("return at('list').scrollTop")
    browser.press("j")
    browser.run("await new Promise(go => setTimeout(go, 200))")
    assert browser.run("return [at('list').scrollTop, state.active]") == [before, place + 1]


def test_the_title_is_the_filter_in_words(browser: Browser, page: Path, rollouts: pl.DataFrame) -> None:
    """A count of the table is followed: its rate and interval are those of the table; a search and an empty choice are said."""
    told = "return [at('filter-title'), at('filter-words')].map(one => one.checkVisibility() ? one.textContent : null)"
    browser.open(page)
    assert browser.run(told) == [None, None]
    summary = rw.summarize(rollouts, by="target", metrics="attack_success")
    links = browser.run(
        "return [...document.querySelectorAll('#attack-success td a')].map(one => [one.textContent, one.hash])"
    )
    assert len(links) == summary.height == 2
    for row in summary.rows(named=True):
        yes = round(row["estimate"] * row["n"])
        (link,) = [address for _, address in links if f"target={row['target']}&" in address]
        settle(browser, "location.hash = given[0]", link)
        words = f"target {row['target']} · attack success: {labels.interval_text(row, rate=True)}"
        assert browser.run(told) == [f"Why these {yes} of {row['n']} attempts succeeded", words]
        settle(browser, "location.hash = given[0]", link.replace("=yes", "=no"))
        assert browser.run(told)[0] == f"Why these {row['n'] - yes} of {row['n']} attempts held"
    settle(browser, "location.hash = '#target=base'")
    assert browser.run(told) == [f"{rollouts.filter(target='base').height} rollouts", "target base"]
    goal = rollouts["goal"][0]
    part = rollouts.filter(goal=goal, target="base")
    settle(browser, f"location.hash = '#goal={goal}&target=base&attack_success=yes'")
    yes, judged = part["attack_success"].sum(), part["attack_success"].count()
    # No row of the report has this goal alone: the numbers are counted, without an interval.
    assert browser.run(told)[1] in {f"goal {goal} · target base", f"target base · goal {goal}"}
    assert browser.run(told)[0].replace("this ", "").replace("these ", "") == (
        f"Why {yes} of {judged} attempts succeeded" if yes else f"None of {judged} attempts succeeded"
    )
    settle(browser, "clear(); at('find').value = 'no such word'; at('find').dispatchEvent(new Event('input'))")
    assert browser.run(told) == ["0 rollouts", "says “no such word”"]


def test_what_is_the_same_in_all_rows_is_said_once(browser: Browser, page: Path) -> None:
    """The attack of all, and the target where it is chosen by no filter but the same in all; rows have what differs."""
    browser.open(page)
    names = "return [at('common').textContent, document.querySelector('#rows .row b').textContent]"
    common, row = browser.run(names)
    assert common.startswith("all: attack ")
    assert "target" not in common
    assert row.startswith(("base · ", "guarded · "))
    settle(browser, "location.hash = '#target=base'")
    common, row = browser.run(names)
    assert common.startswith("all: attack ")
    assert row.startswith("attempt ")


def test_squares_of_a_goal_open_its_attempts(browser: Browser, page: Path, rollouts: pl.DataFrame) -> None:
    """One for each attempt at the goal, of the color and the word of its verdict; a click opens it, and the list follows."""
    browser.open(page)
    goal = rollouts["goal"][5]
    same = rollouts.with_row_index().filter(goal=goal)
    settle(browser, "await show(given[0])", int(same["index"][0]))
    words = {True: "broken", False: "held", None: None}
    squares = browser.run(
        "return [...document.querySelectorAll('#rollout .square')].map(one => [one.title, one.className])"
    )
    assert len(squares) == same.height == 6
    for (title, kind), row in zip(squares, same.rows(named=True), strict=True):
        word = words[row["attack_success"]] or ("ended in error" if row["ending"] == "error" else "not judged")
        assert title.endswith(word)
        assert (
            kind.split()[1] == {"broken": "bad", "held": "good", "ended in error": "wrong", "not judged": "open"}[word]
        )
    assert (
        browser.run("return [...document.querySelectorAll('.square')].findIndex(one => one.ariaCurrent === 'true')")
        == 0
    )
    settle(browser, "document.querySelectorAll('.square')[4].click()")
    assert browser.run("return [state.open, state.shown[state.active]]") == [int(same["index"][4])] * 2
    assert (
        browser.run("return [...document.querySelectorAll('.square')].findIndex(one => one.ariaCurrent === 'true')")
        == 4
    )


def test_rows_that_were_read_lose_weight(browser: Browser, page: Path) -> None:
    """Each that was opened, and no other; how many of those in the list is said."""
    browser.open(page)
    browser.until("return state.view !== null")
    settle(browser, "await show(state.shown[0]); await show(state.shown[1]); move(0)")
    weights = browser.run("""
      return [...document.querySelectorAll("#rows .row b")].slice(0, 3).map(one => getComputedStyle(one).fontWeight);
    """)
    assert weights == ["400", "400", "600"]
    many = browser.run("return state.read.size")
    assert browser.run("return at('read-count').textContent") == f"{many} read"
    settle(browser, "location.hash = '#target=nobody'")
    assert browser.run("return at('read-count').textContent") == ""


def test_a_phone_has_the_list_or_what_is_read(browser: Browser, page: Path) -> None:
    """A row opens the second view, whose bar leads on, back and to compare; its strip stays on top; a count opens the list."""
    browser.open(page, **PHONE)
    views = ["#list", "#rollout", "#foot", "#tools"]
    assert browser.run(VISIBLE, views) == [True, False, False, True]
    # The list begins at what is open, so its third row may be any.
    place = browser.run("return Number(document.querySelectorAll('#rows .row')[2].id.split('-')[1])")
    settle(browser, "document.querySelectorAll('#rows .row')[2].click()")
    assert browser.run(VISIBLE, views) == [False, True, True, False]
    number = browser.run("return state.shown.length")
    assert browser.run("return at('to-list').textContent") == f"List · {place + 1} of {number}"
    bottom, right = browser.run(
        "const box = at('foot').getBoundingClientRect(); return [innerHeight - box.bottom, box.right]"
    )
    assert abs(bottom) <= 1
    assert right <= 390
    buttons = browser.run("return [...at('foot').children].map(one => one.getBoundingClientRect().height)")
    assert min(buttons) >= 40
    settle(browser, "at('next').click()")
    assert browser.run(f"return state.open === state.shown[{place + 1}]") is True
    settle(browser, "at('previous').click()")
    assert browser.run(f"return state.open === state.shown[{place}]") is True
    long = "state.index.rows.indexOf(Math.max(...state.index.rows))"
    settle(browser, f"await show({long}); at('rollout').scrollTop = 10000")
    top, strip, scrolled = browser.run("""
      const tops = ["#rollout", ".cells"].map(one => document.querySelector(one).getBoundingClientRect().top);
      return [...tops, at("rollout").scrollTop];
    """)
    assert scrolled > 0
    assert abs(strip - top) <= 2
    # A jump to a turn leaves its heading below the strip.
    settle(browser, "document.querySelectorAll('.cell')[1].click()")
    heading, under = browser.run("""
      const heading = document.querySelectorAll("#rollout section.turn h4")[1].getBoundingClientRect();
      return [heading.top, document.querySelector(".cells").getBoundingClientRect().bottom];
    """)
    assert heading >= under - 1
    settle(browser, "at('to-compare').click()")
    assert browser.run("return state.beside !== null") is True
    settle(browser, "at('to-compare').click()")
    assert browser.run("return state.beside") is None
    settle(browser, "at('to-list').click()")
    assert browser.run(VISIBLE, views) == [True, False, False, True]
    link = browser.run("return document.querySelector('#attack-success td a').hash")
    settle(browser, "location.hash = given[0]", link)
    assert browser.run(VISIBLE, views) == [True, False, False, True]
    settle(browser, "location.hash = `#rollout=${encodeURIComponent(state.index.ids[0])}`")
    assert browser.run(VISIBLE, views) == [False, True, True, False]
    assert browser.run("return document.documentElement.scrollWidth") <= 390
    assert browser.told()[1] == []


def test_rows_below_a_goal_say_what_differs_there(browser: Browser, tmp_path: Path) -> None:
    """What all attempts at each goal share is left to its head, and the attempt can be read beside any name."""
    rows = [
        {"rollout_id": f"{goal}/{target}/{attempt}", "turn": 1, "goal": goal, "attack": f"of {goal}", "target": target}
        | {"attempt": attempt, "succeeded": attempt == 1, "response": "r"}
        for goal in ("g", "h")
        for target in ("a model with a name " * 4, "b")
        for attempt in (1, 2)
    ]
    turns = rw.turns(pl.DataFrame(rows, schema_overrides={"turn": pl.Int32, "attempt": pl.Int32}))
    browser.open(rw.report(turns, tmp_path / "report", progress=False), width=390)
    heads = browser.run("return [...document.querySelectorAll('#rows .row b')].map(one => one.textContent)")
    assert {head.split(" · ")[-1] for head in heads} == {"attempt 1 of 2", "attempt 2 of 2"}
    assert not any("of g" in head or "of h" in head for head in heads)
    assert browser.run("""
      return [...document.querySelectorAll("#rows .attempt")].every(one => one.scrollWidth <= one.clientWidth
        && one.getBoundingClientRect().right <= one.closest(".row").getBoundingClientRect().right)
    """)
