"""Figures that answer in a real browser: pointer, keys, finger; tables that sort; files and calls that a reader takes along."""

import csv
import io
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import polars as pl
import pytest

import rollwise as rw

from reports.browser import Browser, needs_chromium  # type: ignore[import-not-found]  # isort: skip

pytestmark = needs_chromium
# Names that a spreadsheet would run, that HTML would read, and that an address would split.
ODD = ["=1+1", "a & b=c", '<b>"x"</b>', "é%20+#"]
WAIT = "const wait = (time) => new Promise((go) => setTimeout(go, time));"
MARKS = "const marks = [...document.querySelectorAll('#attack-success .desk .mark[tabindex]')];"
SEEN = """
  return {tip: document.getElementById("tip").hidden ? null : document.getElementById("tip").innerText.split("\\n"),
    rows: [...document.querySelectorAll("tr.on")].map(row => [...row.cells].slice(0, 2).map(one => one.textContent)),
    on: [...new Set([...document.querySelectorAll(".mark.on")].filter(one => one.checkVisibility()).map(one => one.dataset.to))],
    opacity: [...document.querySelectorAll("#attack-success .desk .mark:not(.on)")].map(one => getComputedStyle(one).opacity)};
"""
IN_ORDER_OF_THE_LOG = """
  const select = document.getElementById("order");
  select.value = "log"; select.dispatchEvent(new Event("change"));
"""


@pytest.fixture(scope="module")
def turns() -> pl.DataFrame:
    """Four targets with odd names, two attacks, ten goals."""
    targets = {name: 0.1 + place / 10 for place, name in enumerate(ODD)}
    made: pl.DataFrame = rw.simulate(targets=targets, attacks=["p", "q"], goals=10, attempts=2, turns=4, seed=2)[0]
    return made


@pytest.fixture(scope="module")
def page(turns: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Their report."""
    return rw.report(turns, tmp_path_factory.mktemp("answers") / "report")


def of_group(turns: pl.DataFrame, target: str, attack: str) -> list[str]:
    """The rollouts of a group in their order."""
    return turns.filter(target=target, attack=attack)["rollout_id"].unique(maintain_order=True).to_list()


@pytest.mark.integration
def test_a_pointer_shows_the_numbers_and_the_row(browser: Browser, page: Path) -> None:
    """Over each mark: its numbers, the row of its group alone, and the other marks pale; beside all marks: nothing."""
    browser.open(page)
    # The transcript to read first opens after the page has loaded.
    browser.run(f"{WAIT} while (!document.querySelector('.rollout-id')) await wait(20); await wait(200)")
    summary = pl.read_parquet(page.parent / "summary.parquet").filter(metric="attack_success")
    rates = {(row["target"], row["attack"]): f"{100 * row['estimate']:.0f}" for row in summary.rows(named=True)}
    places = browser.run(f"""{MARKS}
      document.querySelector("#attack-success figure").scrollIntoView({{behavior: "instant"}});
      return marks.map(one => {{ const box = one.getBoundingClientRect();
        return [(box.left + box.right) / 2, (box.top + box.bottom) / 2, one.dataset.to]; }});
    """)
    assert len(places) == 8
    for x, y, to in places:
        browser.cdp("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        browser.run(f"{WAIT} await wait(250)")
        seen = browser.run(SEEN)
        target, attack = (unquote(part.split("=")[1]) for part in to[1:].split("&"))
        assert seen["rows"] == [[target, attack]]
        assert seen["on"] == [to]
        assert seen["tip"][0].startswith(f"{target} · {attack}: {rates[target, attack]}")
        assert any(line.startswith("of judged: ") for line in seen["tip"])
        assert len(seen["opacity"]) == 2 * 7  # an interval and its point
        assert {float(one) for one in seen["opacity"]} == {0.2}
    browser.cdp("Input.dispatchMouseEvent", type="mouseMoved", x=5, y=5)
    seen = browser.run(SEEN)
    assert (seen["tip"], seen["rows"], seen["on"]) == (None, [], [])
    assert browser.told()[1] == []


@pytest.mark.integration
def test_keys_walk_over_marks_and_enter_opens_their_rollouts(browser: Browser, page: Path, turns: pl.DataFrame) -> None:
    """One stop of Tab for a figure, arrows within; Escape hides the numbers; Enter opens the first rollout of this group alone."""
    browser.open(page)
    browser.run(IN_ORDER_OF_THE_LOG)
    stops = browser.run(
        "return [...document.querySelectorAll('#attack-success .desk .mark[tabindex]')].map(one => one.tabIndex)"
    )
    assert sorted(stops) == [-1] * 7 + [0]
    browser.run(f"{MARKS} marks.find(one => one.tabIndex === 0).focus()")
    for place in range(8):
        to = browser.run("return document.activeElement.dataset.to")
        assert browser.run(SEEN)["on"] == [to]
        browser.press("\ue00c")
        assert browser.run(SEEN)["tip"] is None
        assert browser.run("return document.activeElement.dataset.to") == to
        browser.press("\ue007")
        target, attack = (unquote(part.split("=")[1]) for part in to[1:].split("&"))
        wanted = of_group(turns, target, attack)
        browser.until(f"return state.index.ids[state.open] === {wanted[0]!r}")
        assert browser.run("return state.shown.map(one => state.index.ids[one])") == wanted
        browser.run(f"{MARKS} marks.find(one => one.dataset.to === given[0]).focus()", to)
        browser.press("\ue015" if place % 2 else "\ue014")
    browser.press("\ue011")
    assert browser.run(f"{MARKS} return marks.indexOf(document.activeElement)") == 0
    browser.press("\ue010")
    assert browser.run(f"{MARKS} return marks.indexOf(document.activeElement)") == 7
    assert browser.told()[1] == []


@pytest.mark.integration
def test_a_click_opens_again_what_was_left(browser: Browser, page: Path, turns: pl.DataFrame) -> None:
    """The same mark twice, with another rollout read between; a finger shows the numbers first and opens with the second touch."""
    browser.open(page)
    browser.run(IN_ORDER_OF_THE_LOG)
    click = f"""{MARKS} {WAIT}
      const one = marks[2]; one.scrollIntoView({{block: "center", behavior: "instant"}});
      await wait(100);
      const box = one.getBoundingClientRect();
      one.dispatchEvent(new PointerEvent("click", {{bubbles: true, pointerType: given[0],
        clientX: (box.left + box.right) / 2, clientY: (box.top + box.bottom) / 2}}));
      await wait(100);
      return [one.dataset.to, state.index.ids[state.open], document.getElementById("tip").hidden];
    """
    before = browser.run("return state.index.ids[state.open]")
    to, opened, is_hidden = browser.run(click, "touch")
    assert (opened, is_hidden) == (before, False)
    target, attack = (unquote(part.split("=")[1]) for part in to[1:].split("&"))
    first = of_group(turns, target, attack)[0]
    assert browser.run(click, "touch")[1:] == [first, True]
    browser.run("clear(); await show(state.shown.at(-1))")
    assert browser.run(click, "mouse")[1:] == [first, True]


@pytest.mark.integration
def test_every_figure_links_to_rollouts_there_are(browser: Browser, page: Path, turns: pl.DataFrame) -> None:
    """Wide and narrow, all marks: the viewer finds rollouts, all with the values that the address names."""
    browser.open(page)
    found = browser.run("""
      const all = [...new Set([...document.querySelectorAll(".mark")].map(one => one.dataset.to))], seen = [];
      for (const to of all.filter(one => one && one !== "#")) {
        location.hash = to; await new Promise(go => setTimeout(go, 60));
        seen.push([to, state.shown.map(one => state.index.ids[one])]);
      }
      return seen;
    """)
    facts = turns.group_by("rollout_id").first()
    assert len(found) > 8
    for to, ids in found:
        wanted = {unquote(part.split("=")[0]): unquote(part.split("=")[1]) for part in to[1:].split("&")}
        assert set(ids) == set(facts.filter(**wanted)["rollout_id"]), to
        assert ids


@pytest.mark.integration
def test_tables_sort_by_numbers_and_by_words(browser: Browser, page: Path) -> None:
    """Falling, rising, and the order of the report again; a number by its size and not by its letters; the head says how."""
    browser.open(page)
    sort = """
      const table = document.querySelector("#attack-success table"), head = table.tHead.rows[0].cells[given[0]];
      if (given[1]) head.querySelector("button").click();
      return [head.getAttribute("aria-sort"), [...table.tBodies[0].rows].map(row => row.cells[given[0]].textContent)];
    """
    for column, first in ((0, "ascending"), (2, "descending"), (3, "descending")):
        before = browser.run(sort, column, False)
        assert before[0] is None
        once, twice, again = (browser.run(sort, column, True) for _ in range(3))
        assert once[0] == first
        assert {once[0], twice[0]} == {"ascending", "descending"}
        assert again == before
        assert sorted(once[1]) == sorted(before[1])
        if column:
            numbers = [float(text.split()[0].replace(",", "")) for text in once[1]]
            assert numbers == sorted(numbers, reverse=True)
            assert [float(text.split()[0]) for text in twice[1]] == sorted(numbers)
        else:
            assert once[1] == twice[1][::-1] or len(set(once[1])) < len(once[1])
    browser.run("document.querySelector('#attack-success th button').focus()")
    browser.press("\ue007")
    assert browser.run(sort, 0, False)[0] == "ascending"


@pytest.mark.integration
def test_what_is_unknown_comes_last_in_both_directions(browser: Browser, page: Path) -> None:
    """Dashes are no zeros; a minus is a minus; thousands have commas."""
    browser.open(page)
    order = browser.run("""
      const cells = ["–", "1,200", "−3 [−5, 1]", "0.0 %", "– / 4", "< 0.001", "-0.5", "–"];
      const table = document.querySelector("#attack-success table"), rows = [...table.tBodies[0].rows];
      cells.forEach((text, place) => { rows[place].cells[2].textContent = text; });
      const read = () => { table.tHead.rows[0].cells[2].querySelector("button").click();
        return [...table.tBodies[0].rows].map(row => row.cells[2].textContent); };
      return [read(), read()];
    """)
    falling = ["1,200", "< 0.001", "0.0 %", "-0.5", "−3 [−5, 1]"]
    assert order == [[*falling, "–", "– / 4", "–"], [*falling[::-1], "–", "– / 4", "–"]]


@pytest.mark.integration
def test_files_are_made_of_what_the_page_holds(browser: Browser, page: Path) -> None:
    """SVG is an image of its own without links, PNG has three times its size, CSV the numbers of the frame, defused; no request."""
    browser.open(page)
    browser.told()
    files = browser.run(f"""{WAIT}
      const made = {{}}, names = new Map(), create = URL.createObjectURL.bind(URL);
      const files = [];
      URL.createObjectURL = (blob) => {{ files.push(blob); return create(blob); }};
      HTMLAnchorElement.prototype.click = function () {{ names.set(this.download, files.at(-1)); }};
      for (const button of document.querySelectorAll("#attack-success .take button")) {{
        if (button.textContent.length === 3) {{ button.click(); await wait(400); }}
      }}
      for (const [name, blob] of names) made[name] = [blob.type, [...new Uint8Array(await blob.arrayBuffer())]];
      return made;
    """)
    assert set(files) == {"attack_success.svg", "attack_success.png", "attack_success.csv"}
    svg = ET.fromstring(bytes(files["attack_success.svg"][1]))
    assert svg.tag == "{http://www.w3.org/2000/svg}svg"
    assert not [node for node in svg.iter() if node.get("tabindex") or node.get("data-to") or node.get("class")]
    png = bytes(files["attack_success.png"][1])
    assert png.startswith(b"\x89PNG")
    width = int.from_bytes(png[16:20])
    assert abs(width - 3 * float(svg.get("viewBox", "").split()[2]) * 4 / 3) < 6
    text = bytes(files["attack_success.csv"][1]).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    summary = pl.read_parquet(page.parent / "summary.parquet").filter(metric="attack_success")
    assert {(row["target"].removeprefix("'"), float(row["estimate"])) for row in rows} == set(
        summary.select("target", "estimate").rows()
    )
    assert {row["target"] for row in rows if row["target"].startswith(("'", "="))} == {"'=1+1"}
    asked, complaints = browser.told()
    assert [one for one in asked if not one.startswith(("data:", "blob:"))] == []
    assert complaints == []


@pytest.mark.integration
def test_the_call_is_copied_or_can_be(browser: Browser, page: Path) -> None:
    """Where the browser lets a page copy, and where it does not: the call stands there and is selected."""
    for allowed in (True, False):
        browser.open(page)
        copied, call, said, chosen = browser.run(
            f"""{WAIT}
            let copied = null;
            navigator.clipboard.writeText = async (text) => {{ if (!given[0]) throw new Error("no"); copied = text; }};
            const figure = document.querySelector("#attack-success figure");
            [...figure.querySelectorAll("button")].at(-1).click();
            await wait(100);
            return [copied, figure.querySelector("pre").textContent, figure.querySelector("[role=status]").textContent,
              getSelection().toString()];
            """,
            allowed,
        )
        summary = "rw.summarize(rw.measure(turns), by=['target', 'attack'], metrics='attack_success')"
        assert call == f"rw.plots.forest({summary})"
        if allowed:
            assert copied == call
            assert said == "Copied; turns is turns.parquet in the folder of this report."
        else:
            assert chosen == call
            assert said == "This browser does not let the page copy; the call is selected."


@pytest.mark.integration
def test_on_a_phone_a_difference_says_which_group_it_is_against(browser: Browser, page: Path) -> None:
    """The heads of a table are not seen there, and two names alone have no order."""
    browser.open(page, width=390)
    said = browser.run("""
      return [...document.querySelectorAll("td[data-head='against']")].map(one => getComputedStyle(one, "::before").content);
    """)
    assert set(said) == {'"against "'}


@pytest.mark.integration
def test_paper_has_no_buttons_and_all_details(browser: Browser, page: Path) -> None:
    """Before printing every folded table opens; buttons and numbers beside a pointer are not printed."""
    browser.open(page)
    seen = browser.run("""
      dispatchEvent(new Event("beforeprint"));
      return [...document.querySelectorAll("details")].every(one => one.open);
    """)
    assert seen is True
    browser.cdp("Emulation.setEmulatedMedia", media="print")
    printed = "return [...document.querySelectorAll('.take, #tip, .phone svg')].some(one => one.checkVisibility())"
    assert browser.run(printed) is False
    # A head with a control in it is not repeated where a table goes on upon the next page.
    controls = """
      return [...document.querySelectorAll("main th button")].map(one => getComputedStyle(one).display);
    """
    assert set(browser.run(controls)) == {"contents"}


@pytest.mark.integration
def test_an_address_of_a_value_that_the_page_lacks_shows_no_rollout(browser: Browser, page: Path) -> None:
    """As of a group none of whose transcripts fit into the page: all rollouts would be strangers."""
    browser.open(page)
    browser.run(f"{WAIT} location.hash = '#target=nobody&attack=p'; await wait(400)")
    assert browser.run("return document.getElementById('count').textContent").startswith("0 of 160 ")
    assert "No rollout is like this" in browser.run("return document.getElementById('rollout').textContent")
