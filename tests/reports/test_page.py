"""The report's page in a real browser: it stands without network, fits a phone, can be read in light, in dark and on paper."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise.cli import run

from reports.browser import Browser, needs_chromium  # type: ignore[import-not-found]  # isort: skip

ROOT = Path(__file__).parents[2]
CONTRAST = Path(__file__).with_name("contrast.js").read_text()
MEASURES = Path(__file__).with_name("measures.js").read_text()

pytestmark = needs_chromium


@pytest.fixture(scope="module", params=["simulated", "jailbreakbench", "agentdojo_drift", "intercode", "example"])
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reports on simulated, example and real rollouts."""
    if request.param == "simulated":
        turns, _ = rw.simulate(
            attacks=["persuade", "encode"], goals=10, attempts=2, turns=5, benign=3, tasks=2, unjudged_share=0.1, seed=4
        )
    elif request.param == "example":
        turns = rw.read(ROOT / "data" / "rollouts")
    else:
        turns, _ = rw.read(request.getfixturevalue("shared") / request.param, errors="collect")
    return rw.report(turns, tmp_path_factory.mktemp("report") / "report")


@pytest.mark.integration
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_the_page_renders_fits_and_asks_for_nothing(browser: Browser, page: Path, width: int, dark: bool) -> None:
    """At both widths and in both themes: figures with words, readable letters, no error, no request, nothing that sticks out."""
    browser.open(page, width=width, dark=dark)
    browser.run(
        "if (state.shown.length) await show(state.shown[0]); document.querySelectorAll('details').forEach(one => one.open = true)"
    )
    seen = browser.run(MEASURES)
    assert len(seen["sections"]) >= 6
    assert {"transcripts", "read", "methods"} <= set(seen["sections"])
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


@pytest.mark.integration
def test_the_switch_goes_the_other_way(browser: Browser, page: Path) -> None:
    """The button turns a light page dark, figures too, and back."""
    browser.open(page)
    look = "return [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector('figure svg')).filter]"
    light = browser.run(look)
    browser.run("document.getElementById('theme').click()")
    assert browser.run(look) == ["rgb(13, 17, 23)", "invert(1) hue-rotate(180deg)"]
    assert browser.run(CONTRAST)["faint"] == []
    browser.run("document.getElementById('theme').click()")
    assert browser.run(look) == light == ["rgb(255, 255, 255)", "none"]


@pytest.mark.integration
@pytest.mark.parametrize("dark", [False, True])
def test_figures_have_the_colors_of_the_page(browser: Browser, page: Path, dark: bool) -> None:
    """The ground of a figure is that of the page, and its letters stand out: white on a dark page, black on a light one."""
    import base64
    import io

    from matplotlib.image import imread

    browser.open(page, dark=dark)
    left, top, width, height = browser.run("""
      const box = document.querySelector("figure svg").getBoundingClientRect();
      return [box.left + scrollX, box.top + scrollY, box.width, box.height];
    """)
    clip = {"x": left, "y": top, "width": width, "height": height, "scale": 1}
    shot = base64.b64decode(browser.cdp("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"])
    pixels = (imread(io.BytesIO(shot))[..., :3] * 255).round()
    assert pixels[2, 2].tolist() == ([13, 17, 23] if dark else [255, 255, 255])
    shades = pixels.mean(axis=2)
    assert (shades.max() > 220) if dark else (shades.min() < 35)


@pytest.mark.integration
@pytest.mark.parametrize("dark", [False, True])
def test_on_a_phone_a_figure_is_drawn_for_it_and_whole(browser: Browser, page: Path, dark) -> None:
    """Nothing to slide sideways: another picture, as wide as the phone, its letters of a size to read."""
    look = """
      return [...document.querySelectorAll("figure svg")].filter(one => one.checkVisibility()).map(one => [
        Boolean(one.closest(".phone")), one.getBoundingClientRect().width, one.viewBox.baseVal.width * 4 / 3,
        one.closest("figure").scrollWidth - one.closest("figure").clientWidth]);
    """
    browser.open(page, width=400, dark=dark)
    on_a_phone = browser.run(look)
    assert on_a_phone
    for is_for_phones, width, natural, beyond in on_a_phone:
        assert (is_for_phones, beyond) == (True, 0)
        assert 0.9 * natural <= width <= 400
    browser.open(page, width=1280, dark=dark)
    assert {is_for_phones for is_for_phones, *_ in browser.run(look)} == {False}


@pytest.mark.integration
@pytest.mark.parametrize("width", [400, 720, 820, 1100, 1400])
def test_wide_tables_keep_within_the_window(browser: Browser, page: Path, width: int) -> None:
    """All tables open: the page itself never slides sideways."""
    browser.open(page, width=width)
    across, window = browser.run("""
      document.querySelectorAll("details").forEach(one => { one.open = true; });
      return [document.documentElement.scrollWidth, document.documentElement.clientWidth];
    """)
    assert across == window


@pytest.mark.integration
def test_the_table_of_files_stands_beside_the_contents(browser: Browser, tmp_path: Path) -> None:
    """Of ten columns, of which one has long names: no column is cut off at the width of a usual screen."""
    for number in range(4):
        log = (
            tmp_path
            / "logs"
            / f"scorer_of_a_long_name/2025-02-11T15-18-0{number}_popularity_mj7khqpMM4GBCfVQozKgzB.jsonl"
        )
        log.parent.mkdir(parents=True, exist_ok=True)
        rows = [{"rollout_id": f"{number}/{k}", "turn": 1, "goal": f"g{k}", "succeeded": k == 0} for k in range(1100)]
        log.write_text("".join(json.dumps(row | {"target": "t", "response": "x"}) + "\n" for row in rows))
    with pytest.raises(SystemExit) as ended:
        run(["report", str(tmp_path / "logs"), "--out", str(tmp_path / "report")])
    assert ended.value.code == 0
    browser.open(tmp_path / "report/report.html")
    tables = browser.run("""
      document.querySelectorAll("details").forEach(one => { one.open = true; });
      return [...document.querySelectorAll(".wide")]
        .map(one => [one.querySelectorAll("th").length, one.scrollWidth - one.clientWidth]);
    """)
    assert max(columns for columns, _ in tables) == 10
    assert {beyond for _, beyond in tables} == {0}
    # Nor does a line of a head end before a unit.
    heads = browser.run("return [...document.querySelectorAll('th')].map(one => one.textContent)")
    assert {one[one.index("[") :] for one in heads if "[" in one} == {"[95\N{NO-BREAK SPACE}%]"}


@pytest.mark.integration
def test_paper_is_white_and_says_what_it_lacks(browser: Browser, page: Path) -> None:
    """Printed from a dark page: white, light figures, no viewer but a sentence in its place, and no page cut to nothing."""
    import base64

    browser.open(page, dark=True)
    browser.run("document.getElementById('theme').click(); document.getElementById('theme').click()")
    browser.cdp("Emulation.setEmulatedMedia", media="print")
    seen = browser.run("""
      const visible = query => [...document.querySelectorAll(query)].some(one => one.checkVisibility());
      return [getComputedStyle(document.body).backgroundColor, visible("figure svg"),
        getComputedStyle(document.querySelector("figure svg")).filter, visible("#viewer"),
        visible("#transcripts .printed"), visible("nav"), visible("#theme")];
    """)
    assert seen == ["rgb(255, 255, 255)", True, "none", False, True, False, False]
    assert browser.run(CONTRAST)["faint"] == []
    printed = base64.b64decode(browser.cdp("Page.printToPDF", printBackground=True)["data"])
    assert printed.startswith(b"%PDF")
    assert len(printed) > 20_000


@pytest.mark.integration
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


@pytest.mark.integration
def test_every_number_of_the_page_can_be_traced(page: Path) -> None:
    """The frames of the sections stand beside the page."""
    folder = page.parent
    sections = page.read_text()
    assert not (folder / "contrast.parquet").exists() or '<section id="contrasts"' in sections
    assert not (folder / "attempts.parquet").exists() or '<section id="attempts"' in sections
    for section, name in (
        ("attempts", "profile"),
        ("categories", "category_attack"),
        ("methods", "doctor"),
    ):
        assert (f'<section id="{section}"' in sections) == (folder / f"{name}.parquet").exists()
    valid = pl.read_parquet(folder / "doctor.parquet")
    assert rw.schema.check(valid, rw.schema.DOCTOR).height > 10


@pytest.mark.integration
def test_a_printed_page_has_no_text_beyond_its_edge(browser: Browser, page: Path) -> None:
    """On paper nothing can be scrolled: what is wider would be cut, or all of the page would be shrunk."""
    browser.open(page, width=718)
    browser.cdp("Emulation.setEmulatedMedia", media="print")
    browser.run("document.querySelectorAll('details').forEach(one => one.open = true)")
    beyond = browser.run("""
      return [...document.querySelectorAll("table, svg, pre, p")]
        .filter(one => one.checkVisibility() && one.getBoundingClientRect().right > 719).map(one => one.outerHTML.slice(0, 200))
    """)
    assert beyond == []


@pytest.mark.integration
def test_a_number_and_its_unit_stay_in_one_line(browser: Browser, page: Path) -> None:
    """At every width, in the title, the claims and the findings."""
    browser.open(page)
    texts = browser.run("return [...document.querySelectorAll('h1, .claims, .finding')].map(one => one.innerText)")
    assert any("\N{NO-BREAK SPACE}%" in text for text in texts)
    assert not any(re.search(r"\d %", text) for text in texts)
