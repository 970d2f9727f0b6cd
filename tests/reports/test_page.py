"""The report's page in a real browser: it stands without network, fits a phone, can be read in light, in dark and on paper."""

from pathlib import Path

import polars as pl
import pytest

import turnwise as tw

from reports.browser import Browser, needs_chromium  # type: ignore[import-not-found]  # isort: skip

ROOT = Path(__file__).parents[2]
CONTRAST = """
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = color => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].map((one, place) => place < 3 ? one : one / 255);
  };
  const luminance = rgb => rgb.slice(0, 3).map(one => one / 255).map(
    one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4).reduce((sum, one, place) => sum + one * [0.2126, 0.7152, 0.0722][place], 0);
  const ground = node => {
    for (let one = node; one; one = one.parentElement) {
      const color = rgba(getComputedStyle(one).backgroundColor);
      if (color[3] === 1) return color;
    }
    return rgba(getComputedStyle(document.documentElement).colorScheme.includes("dark") ? "#000" : "#fff");
  };
  const faint = [];
  let many = 0;
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some(one => one.nodeType === 3 && one.data.trim());
    if (!own || !node.checkVisibility() || node.closest("script, noscript, :disabled")) continue;
    many++;
    const style = getComputedStyle(node), [light, dark] = [luminance(rgba(style.color)), luminance(ground(node))].sort((a, b) => b - a);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    if ((light + 0.05) / (dark + 0.05) < (large ? 3 : 4.5)) faint.push([node.tagName, node.className, node.textContent.slice(0, 30), (light + 0.05) / (dark + 0.05)]);
  }
  return {faint, many};
"""
MEASURES = """
  const images = [...document.images];
  const ids = [...document.querySelectorAll("[id]")].map(one => one.id);
  return {
    overflow: document.scrollingElement.scrollWidth - window.innerWidth,
    sections: [...document.querySelectorAll("main > section")].map(one => one.id),
    shown: images.filter(one => one.checkVisibility()).length,
    unnamed: images.filter(one => !one.alt.trim()).length,
    unloaded: images.filter(one => one.checkVisibility() && !(one.complete && one.naturalWidth > 50)).length,
    twice: ids.filter((one, place) => ids.indexOf(one) !== place),
    unlabeled: [...document.querySelectorAll("button, input, select, a")].filter(
      one => !(one.textContent.trim() || one.getAttribute("aria-label"))).length,
    levels: [...document.querySelectorAll("h1, h2, h3, h4")].filter(one => one.checkVisibility()).map(one => Number(one.tagName[1])),
    unscrollable: [...document.querySelectorAll("main *")].filter(one => one.scrollWidth > one.clientWidth + 1
      && ["auto", "scroll"].includes(getComputedStyle(one).overflowX) && one.checkVisibility() && one.tabIndex < 0).map(one => one.className || one.id),
    language: document.documentElement.lang, ink: getComputedStyle(document.body).color, page: getComputedStyle(document.body).backgroundColor,
  };
"""

pytestmark = needs_chromium


@pytest.fixture(scope="module", params=["simulated", "jailbreakbench", "agentdojo_drift", "intercode", "example"])
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reports on simulated, example and real rollouts."""
    if request.param == "simulated":
        turns, _ = tw.simulate(
            attacks=["persuade", "encode"], goals=10, attempts=2, turns=5, benign=3, tasks=2, unjudged=0.1, seed=4
        )
    elif request.param == "example":
        turns = tw.read(ROOT / "data" / "rollouts")
    else:
        turns, _ = tw.read(request.getfixturevalue("shared") / request.param, errors="collect")
    return tw.report(turns, tmp_path_factory.mktemp("report") / "report")


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_the_page_renders_fits_and_asks_for_nothing(browser: Browser, page: Path, width: int, dark: bool) -> None:
    """At both widths and in both themes: figures with words, readable letters, no error, no request, nothing that sticks out."""
    browser.open(page, width=width, dark=dark)
    browser.run("if (state.shown.length) await show(state.shown[0]); document.querySelectorAll('details').forEach(one => one.open = true)")
    seen = browser.run(MEASURES)
    assert len(seen["sections"]) >= 6
    assert {"transcripts", "read", "doctor", "methods", "accounts"} <= set(seen["sections"])
    assert seen["shown"] >= 1
    for nothing in ("unnamed", "unloaded", "twice", "unlabeled", "unscrollable"):
        assert not seen[nothing], nothing
    assert seen["overflow"] <= 0
    assert seen["levels"][0] == 1
    assert all(after - before <= 1 for before, after in zip(seen["levels"], seen["levels"][1:], strict=False))
    assert seen["language"] == "en"
    assert (seen["page"] == "rgb(255, 255, 255)") != dark
    contrast = browser.run(CONTRAST)
    assert contrast["many"] > 100
    assert contrast["faint"] == []
    asked, complaints = browser.told()
    assert [one for one in asked if not one.startswith("data:")] == [page.as_uri()]
    assert complaints == []


def test_the_switch_goes_the_other_way(browser: Browser, page: Path) -> None:
    """The button turns a light page dark, figures too, and back."""
    browser.open(page)
    look = "return [getComputedStyle(document.body).backgroundColor, document.querySelector('img.dark').checkVisibility()]"
    light = browser.run(look)
    browser.run("document.getElementById('theme').click()")
    assert browser.run(look) == ["rgb(13, 17, 23)", True]
    assert browser.run(CONTRAST)["faint"] == []
    browser.run("document.getElementById('theme').click()")
    assert browser.run(look) == light == ["rgb(255, 255, 255)", False]


def test_paper_is_white_and_says_what_it_lacks(browser: Browser, page: Path) -> None:
    """Printed from a dark page: white, light figures, no viewer but a sentence in its place, and no page cut to nothing."""
    import base64

    browser.open(page, dark=True)
    browser.run("document.getElementById('theme').click(); document.getElementById('theme').click()")
    browser.cdp("Emulation.setEmulatedMedia", media="print")
    seen = browser.run("""
      const visible = query => [...document.querySelectorAll(query)].some(one => one.checkVisibility());
      return [getComputedStyle(document.body).backgroundColor, visible("img.light"), visible("img.dark"), visible("#viewer"),
        visible("#transcripts .printed"), visible("nav"), visible("#theme")];
    """)
    assert seen == ["rgb(255, 255, 255)", True, False, False, True, False, False]
    assert browser.run(CONTRAST)["faint"] == []
    printed = base64.b64decode(browser.cdp("Page.printToPDF", printBackground=True)["data"])
    assert printed.startswith(b"%PDF")
    assert len(printed) > 20_000


def test_without_scripts_the_page_is_complete(browser: Browser, page: Path) -> None:
    """No script runs: every section and figure stands there, and the viewer's place says what to do."""
    browser.open(page)
    scripted = browser.run(MEASURES)
    browser.cdp("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(page, wait=False)
        there = browser.cdp("DOM.getDocument", depth=-1)["root"]
        html = browser.cdp("DOM.getOuterHTML", nodeId=there["nodeId"])["outerHTML"]
    finally:
        browser.cdp("Emulation.setScriptExecutionDisabled", value=False)
    assert all(f'<section id="{name}"' in html for name in scripted["sections"])
    assert "Transcripts need JavaScript" in html
    assert '<div id="viewer" hidden' in html
    assert '<button type="button" id="theme" hidden' in html


def test_every_number_of_the_page_can_be_traced(page: Path) -> None:
    """The frames of the sections stand beside the page."""
    folder = page.parent
    sections = page.read_text()
    for section, name in (("contrasts", "contrast"), ("profile", "profile"), ("categories", "category_attack"), ("doctor", "doctor")):
        assert (f'<section id="{section}"' in sections) == (folder / f"{name}.parquet").exists()
    valid = pl.read_parquet(folder / "doctor.parquet")
    assert tw.schema.check(valid, tw.schema.DOCTOR).height > 10
