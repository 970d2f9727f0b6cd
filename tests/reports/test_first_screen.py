"""The first screen of a report in a browser: title, claims and figure without scrolling, and findings before methods."""

import re
from pathlib import Path

import pytest

import rollwise as rw

from reports.browser import Browser, needs_chromium  # type: ignore[import-not-found]  # isort: skip

ROOT = Path(__file__).parents[2]
pytestmark = needs_chromium


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """README's report."""
    turns = rw.read(ROOT / "data" / "jailbreakbench")
    return rw.report(turns, tmp_path_factory.mktemp("first") / "report", by=["target", "attack"])


@pytest.mark.integration
def test_the_first_screen_answers(browser: Browser, page: Path) -> None:
    """Highest, difference and best, each with its number, and the whole picture on the first 1280 x 900; its buttons are below."""
    browser.open(page, width=1280, height=900)
    heading, claims, bottom = browser.run("""
      return [document.querySelector("h1").textContent.replace(/\\s+/g, " "),
        [...document.querySelectorAll(".claims li")].map(one => one.innerText.replace(/\\s+/g, " ")),
        document.querySelector("figure svg").getBoundingClientRect().bottom];
    """)
    assert heading == "Attacks reach 69 to 90 % on vicuna-13b-v1.5, 0 to 3 % on llama-2-7b-chat-hf"
    assert [claim.partition("]")[0].partition(",")[0] for claim in claims] == [
        "90.0 % [82.6", "40.3 points [34.7", "0 of 100",
    ]  # fmt: skip
    assert "four times" in claims[2]
    assert "each at most 3.7 % with 95 % confidence" in claims[2]
    assert bottom <= 900


@pytest.mark.integration
def test_a_name_in_a_claim_opens_its_transcripts(browser: Browser, page: Path) -> None:
    """The 90 broken ones of the worst group, the first of them open."""
    browser.open(page)
    browser.run("document.querySelector('.claims .worst a').click(); await new Promise(go => setTimeout(go, 50))")
    browser.until("return state.shown.length === 90 && state.open === state.shown[0] && state.view !== null")
    told = browser.run(
        "return [word('target', state.open), word('attack', state.open), word('attack_success', state.open)]"
    )
    assert told == ["vicuna-13b-v1.5", "JailbreakChat", "yes"]


@pytest.mark.integration
@pytest.mark.parametrize(("width", "beside"), [(390, False), (1000, False), (1100, True), (1920, True)])
def test_contents_stand_beside_a_wide_page_and_stay(browser: Browser, page: Path, width: int, beside: bool) -> None:
    """From 1100 pixels on they are at the left and do not scroll away; below they are one line."""
    browser.open(page, width=width)
    left, height, top = browser.run("""
      const nav = document.querySelector("nav"), main = document.querySelector("main");
      const isLeft = nav.getBoundingClientRect().right <= main.getBoundingClientRect().left + 1;
      const height = nav.getBoundingClientRect().height;
      scrollTo({ top: 2000, behavior: "instant" });
      return [isLeft, height, nav.getBoundingClientRect().top];
    """)
    assert left is beside
    assert (top == 0) is beside
    assert beside or height < 60


@pytest.mark.integration
def test_sections_begin_with_what_was_found(page: Path) -> None:
    """Then the figure, if there is one, then the method; those on transcripts, files and methods have none."""
    html = page.read_text(encoding="utf-8")
    sections = re.findall(r'<section id="([^"]*)">\n<h2>.*?</h2>\n(.*?)</section>', html, re.DOTALL)
    assert len(sections) >= 6
    for name, content in sections:
        order = re.findall(r'<(?:p class="(finding|method)"|(figure) )', content)
        kinds = [one or other for one, other in order]
        if name not in {"transcripts", "read", "methods"}:
            assert kinds[0] == "finding", name
            assert "method" not in kinds or kinds.index("method") > kinds.index("finding")
            assert "figure" not in kinds or "method" not in kinds or kinds.index("figure") < kinds.index("method")


@pytest.mark.integration
def test_paper_shows_what_is_folded(browser: Browser, page: Path) -> None:
    """All details are open while it is printed, and folded again after."""
    browser.open(page)
    counts = browser.run("""
      const open = () => document.querySelectorAll("details[open]").length, seen = [open()];
      dispatchEvent(new Event("beforeprint")); seen.push(document.querySelectorAll("details:not([open])").length);
      dispatchEvent(new Event("afterprint")); seen.push(open());
      return seen;
    """)
    assert counts == [0, 0, 0]
