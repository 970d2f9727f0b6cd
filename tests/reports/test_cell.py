"""The viewer in the output of a notebook's cell: a frame without an origin, in which nothing of a transcript runs."""

import html
from pathlib import Path
from urllib.parse import quote

import polars as pl
import pytest

import rollwise as rw
from rollwise import schema

from reports.browser import Browser, needs_chromium  # type: ignore[import-not-found]  # isort: skip
from reports.test_hostile import PLACES, Server, hostile, server  # type: ignore[import-not-found]  # isort: skip

__all__ = ["hostile", "server"]  # fixtures

pytestmark = [needs_chromium, pytest.mark.integration]

PARENT = """<!doctype html><meta charset="utf-8">{policy}<title>Notebook</title><body><h1>In [1]</h1><div id="output">{output}</div>
<script>document.cookie = "token=secret";
window.told = []; addEventListener("message", (event) => told.push(event.data));</script>"""
VSCODE = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src https: http: data:; "
    "child-src https: data:"
)
"""What the page around a cell allows in VS Code (backLayerWebView.ts): a frame inherits it, and has its own beside it."""


def parent(path: Path, viewer: object, policy: str = "") -> Path:
    """A page as a notebook makes it, with the output of a cell in it."""
    meta = f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">' if policy else ""
    path.write_text(PARENT.format(policy=meta, output=viewer._repr_html_()), encoding="utf-8")  # type: ignore[attr-defined]
    return path


def enter(browser: Browser, address: str) -> None:
    """Open the page, go into its frame, and wait until the list is there."""
    browser.open(address, wait=False)
    browser.driver.switch_to.frame(0)
    browser.until("return document.readyState === 'complete' && !document.getElementById('viewer').hidden")


@pytest.fixture
def hostile_turns(hostile: list[str]) -> pl.DataFrame:
    """A rollout for each payload, which stands in every place that a log can reach."""
    rows = []
    for number, payload in enumerate(hostile):
        said = {name: payload for name in PLACES if name != "rollout_id"}
        calls = [{"name": payload, "arguments": payload}]
        facts = {
            "rollout_id": f"{payload}/{number}",
            "run": payload,
            "target": hostile[number % 7],
            "outcome": "success",
        }
        rows += [{**facts, **said, "tool_calls": calls, "turn": turn, hostile[0]: payload} for turn in (1, 2)]
    frame = pl.DataFrame(
        rows, schema_overrides={"turn": pl.Int32, "outcome": schema.OUTCOMES, "tool_calls": schema.TOOL_CALLS}
    )
    return rw.turns(frame)


def test_nothing_runs_and_nothing_reaches_the_notebook(
    browser: Browser,
    server: Server,
    hostile: list[str],
    hostile_turns: pl.DataFrame,
) -> None:
    """Every payload is opened and searched for in the frame; the notebook around it is as it was, and nothing was asked for."""
    parent(server.folder / "notebook.html", rw.show(hostile_turns))
    address = f"http://127.0.0.1:{server.server_port}/notebook.html"
    server.asked.clear()
    enter(browser, address)
    seen = browser.run(
        """
        const said = [];
        for (let one = 0; one < state.index.ids.length; one++) {
          await show(one);
          said.push(document.getElementById("rollout").textContent.length);
        }
        const reached = (reach) => { try { reach(); return true; } catch { return false; } };
        return {
          said: Math.min(...said), many: said.length, pwned: window.pwned ?? null, origin: window.origin,
          reached: [() => parent.document, () => top.document, () => localStorage, () => document.cookie].map(reached),
          foreign: document.querySelectorAll("iframe, object, embed, base, video, audio, script[src], img").length,
          handlers: [...document.querySelectorAll("*")].filter(
            one => one.getAttributeNames().some(name => name.startsWith("on"))).length,
        };
        """
    )
    assert seen.pop("said") > 0
    assert seen == {
        "many": len(hostile), "pwned": None, "origin": "null", "reached": [False] * 4, "foreign": 0, "handlers": 0,
    }  # fmt: skip
    browser.driver.switch_to.default_content()
    around = "[document.title, document.cookie, window.pwned ?? null, told, location.href, document.links.length]"
    assert browser.run(f"return {around}") == ["Notebook", "token=secret", None, [], address, 0]
    asked, complaints = browser.told()
    assert {one for one in asked if not one.startswith(("data:", "about:"))} <= {
        address,
        address.replace("notebook.html", "favicon.ico"),
    }
    assert not [path for path in server.asked if "hit" in path]
    assert not [line for line in complaints if "favicon" not in line]


def test_the_first_rollout_is_open(browser: Browser, tmp_path: Path) -> None:
    """Whoever asks for transcripts begins to read; in a page of its own, too, unless its address names another one."""
    turns, _ = rw.simulate(goals=3, attempts=2, turns=2, seed=1)
    enter(browser, parent(tmp_path / "notebook.html", rw.show(turns)).as_uri())
    browser.until("return document.querySelector('#rollout h4') !== null")
    assert browser.run("return [state.open, document.activeElement.tagName]") == [
        0,
        "BODY",
    ]  # the keys stay with the notebook
    browser.driver.switch_to.default_content()
    page = rw.show(turns).save(tmp_path / "transcripts.html")
    last = turns["rollout_id"].unique(maintain_order=True)[-1]
    browser.open(f"{page.as_uri()}#rollout={quote(last, safe='')}")
    browser.until("return document.querySelector('#rollout h4') !== null")
    assert browser.run("return state.index.ids[state.open]") == last


def test_a_cell_that_opens_later_has_what_is_open_in_sight(browser: Browser, tmp_path: Path) -> None:
    """A frame that a notebook hides, or makes narrow, while it loads: its list is at the open rollout once it has a size."""
    turns, _ = rw.simulate(
        branches=3,
        turns=3,
        goals=12,
        attempts=2,
        targets={"a": 0.3, "b": 0.1},
        seed=2,
        give_up=0,
        target_ends=0,
        error=0,
    )
    page = parent(tmp_path / "notebook.html", rw.show(turns))
    for style in ("display: none", "width: 0; overflow: hidden"):
        browser.open(page, wait=False)
        browser.run(
            "document.getElementById('output').style = given[0]; document.querySelector('iframe').srcdoc += ' '", style
        )
        browser.driver.switch_to.frame(0)
        browser.until("return document.readyState === 'complete' && document.querySelector('#rollout h4') !== null")
        browser.driver.switch_to.default_content()
        browser.run("document.getElementById('output').style = ''; await new Promise(go => setTimeout(go, 500))")
        browser.driver.switch_to.frame(0)
        place, seen = browser.run("""
          const list = document.getElementById("list").getBoundingClientRect();
          const box = document.querySelector("#rows [aria-selected=true]")?.getBoundingClientRect();
          return [state.active, Boolean(box && box.top >= list.top && box.bottom <= list.bottom)];
        """)
        assert place > 10
        assert seen, style
        browser.driver.switch_to.default_content()


def test_a_link_stays_in_the_frame(browser: Browser, tmp_path: Path) -> None:
    """A frame with a text for its page has the address of the notebook as its base: no link of the viewer may load that."""
    turns, _ = rw.simulate(goals=3, attempts=2, turns=2, seed=1)
    for policy in ("", VSCODE):
        enter(browser, parent(tmp_path / "notebook.html", rw.show(turns), policy).as_uri())
        before = browser.run("await show(0); return [location.href, state.index.ids.length]")
        assert before == ["about:srcdoc", 12]
        browser.run(
            """
            for (const link of document.querySelectorAll("#rollout a[href^='#'], #rollout button")) link.click();
            for (const key of ["j", "k", "n", "p", "s", "t", "Escape"])
              document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
            await new Promise(go => setTimeout(go, 500));
            """
        )
        after = browser.run("return [location.href.startsWith('about:srcdoc'), state.index.ids.length]")
        assert after == [True, 12]
        browser.driver.switch_to.default_content()
        assert browser.told()[1] == []


def test_ten_thousand_rollouts_open_at_once(browser: Browser, tmp_path: Path) -> None:
    """The list is there in seconds, and a rollout at the end of it opens in a moment."""
    turns, _ = rw.simulate(
        goals=500, attempts=5, turns=3, targets={"a": 0.1, "b": 0.1}, attacks=("persuade", "encode"), seed=1
    )
    viewer = rw.show(turns)
    assert viewer.title == "10,000 rollouts"
    enter(browser, parent(tmp_path / "notebook.html", viewer).as_uri())
    rows, listed, opened = browser.run(
        """
        const began = performance.now();
        await show(state.index.ids.length - 1);
        return [state.index.ids.length, performance.getEntriesByName("list")[0].startTime, performance.now() - began];
        """
    )
    assert rows == 10_000
    assert listed < 10_000
    assert opened < 5_000
    assert browser.run("return document.querySelectorAll('.row').length") < 50  # only what can be seen exists
