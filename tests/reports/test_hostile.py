"""Transcripts are hostile: 1,300 payloads in every place a log can reach, and nothing runs, nothing is fetched."""

import html
import itertools
import json
import threading
import unicodedata
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise import schema
from rollwise.schema import labels

from reports.browser import Browser, needs_chromium  # type: ignore[import-not-found]  # isort: skip

PAYLOADS = [json.loads(line) for line in Path(__file__).with_name("payloads.jsonl").read_text().splitlines()]
PLACES = ("context", "prompt", "response", "observation", "error", "rollout_id", "goal", "task", "notes")
TITLE = "</title><script>window.pwned=1</script><b>\x1b[31m\u202etitle"

pytestmark = needs_chromium


class Server(ThreadingHTTPServer):
    """A server that remembers what it was asked for."""

    asked: list[str]


class Handler(SimpleHTTPRequestHandler):
    """Serves the report, quietly."""

    server: Server

    def send_head(self):
        """Note what is asked for."""
        self.server.asked.append(self.path)
        return super().send_head()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing on the screen."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server that payloads would call, which also serves the report."""
    folder = tmp_path_factory.mktemp("served")
    with Server(("127.0.0.1", 0), partial(Handler, directory=str(folder))) as made:
        made.asked = []
        made.folder = folder  # type: ignore[attr-defined]
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


@pytest.fixture(scope="module")
def hostile(server: Server) -> list[str]:
    """The payloads, calling that server."""
    found = [payload.replace("HOST", f"127.0.0.1:{server.server_port}") for payload in PAYLOADS]
    assert len(set(found)) == len(found) >= 200
    return found


@pytest.fixture(scope="module")
def page(server: Server, hostile: list[str]) -> Path:
    """A report with every payload in every place."""
    rows = []
    for number, payload in enumerate(hostile):
        group = {
            name: hostile[(number + shift) % 7 * 11] for name, shift in (("target", 0), ("attack", 3), ("category", 5))
        }
        facts = {"rollout_id": f"{payload}/{number}", "run": payload, "source": hostile[number % 3], **group}
        said = {name: payload for name in PLACES if name != "rollout_id"}
        calls = [{"name": payload, "arguments": json.dumps({payload: payload})}]
        same = {**facts, **said, "outcome": ("success", "failure")[number % 2], "tool_calls": calls}
        named = {"score_" + hostile[0]: 0.5, hostile[1]: payload}
        rows += [{**same, **named, "turn": turn, "succeeded": turn == 2 and number % 2 == 0} for turn in (1, 2)]
    frame = pl.DataFrame(
        rows, schema_overrides={"turn": pl.Int32, "outcome": schema.OUTCOMES, "tool_calls": schema.TOOL_CALLS}
    )
    problems = pl.DataFrame({
        "file": hostile, "record": hostile, "field": hostile, "reason": hostile,
    })  # fmt: skip
    out = server.folder / "report"  # type: ignore[attr-defined]
    return rw.report(rw.turns(frame), out, title=TITLE, problems=problems)


def escaped(text: str) -> str:
    """What the viewer shows of a text: what cannot be seen, as its escape."""
    made = []
    for one in text.replace("\r\n", "\n"):
        hidden = unicodedata.category(one) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"} and one not in "\n\t\u200d"
        made.append(one.encode("unicode_escape").decode().replace("\\t", "\t") if hidden else one)
        if hidden and made[-1] in {"\\r", "\\n"}:
            made[-1] = f"\\x{ord(one):02x}"
    return "".join(made)


HARMLESS = """
  const all = [...document.querySelectorAll("*")];
  return {
    pwned: window.pwned ?? null, title: document.title,
    handlers: all.flatMap(one => one.getAttributeNames().filter(name => name.startsWith("on"))),
    styled: all.filter(one => one.hasAttribute("style") && !["sizer", "rows", "tip"].includes(one.id)).length,
    links: [...document.querySelectorAll("[href]")].filter(
      one => !one.matches("figure image[href^='data:image/png;base64,']")).map(one => one.getAttribute("href")).filter(
      one => !/^(#|https:\\/\\/doi\\.org\\/|https:\\/\\/arxiv\\.org\\/|data:,$)/.test(one)),
    scripts: [...document.scripts].filter(one => !one.type).length,
    foreign: all.filter(one => ["IFRAME", "OBJECT", "EMBED", "FORM", "BASE", "VIDEO", "AUDIO", "SVG", "MATH", "B1"].includes(
      one.tagName.toUpperCase()) && one.id !== "tools" && !one.matches("figure > div > svg")).length,
  };
"""


def harmless(browser: Browser, server: Server, title: str = TITLE, scripts: int = 18) -> None:
    """Nothing of a payload has become an element, a handler, a link or a request, and nothing ran."""
    seen = browser.run(HARMLESS)
    assert seen.pop("title") == labels.plain(title)
    assert seen == {"pwned": None, "handlers": [], "styled": 0, "links": [], "scripts": scripts, "foreign": 0}
    assert not [path for path in server.asked if "hit" in path]


@pytest.mark.integration
def test_nothing_runs_and_nothing_is_fetched(browser: Browser, server: Server, page: Path, hostile: list[str]) -> None:
    """Every payload stands in the page and every transcript is opened, as text, exactly; from disk and from a server."""
    for address in (page.as_uri(), f"http://127.0.0.1:{server.server_port}/report/report.html"):
        server.asked.clear()
        browser.open(address)
        harmless(browser, server)
        shown = browser.run("""
          const found = [];
          for (let one = 0; one < state.index.ids.length; one++) {
            reading.raw = false;
            await show(one); // Markdown first: what it makes must be as harmless
            if (document.querySelector("#rollout :is(a:not(.id a), img, iframe, script, svg, style, form, object)")) throw one;
            reading.raw = true;
            await show(one);
            for (const more of document.querySelectorAll("#rollout .fold button")) more.click();
            const text = name => [...document.querySelectorAll(`#rollout .said.${name}`)].map(
              said => [...said.querySelectorAll(".text")].map(one => one.textContent).join("|"));
            const each = query => [...document.querySelectorAll(`#rollout ${query}`)].map(one => one.textContent);
            found.push({id: each(".rollout-id")[0], goal: each("h3")[0], prompt: text("prompt"), response: text("response"),
              observation: each(".result > .text"), error: text("error"), context: text("context"), calls: each(".call-name"),
              facts: Object.fromEntries([...document.querySelectorAll("#rollout dt")].map(
                one => [one.textContent, one.nextElementSibling.textContent]))});
          }
          return found;
        """)
        assert len(shown) == len(hostile)
        for number, (payload, seen) in enumerate(zip(hostile, shown, strict=True)):
            told = escaped(payload)
            assert seen["id"] == f"{told}/{number}"
            assert seen["goal"] == told
            for name in ("prompt", "response", "observation", "error", "context"):
                assert seen[name] == [told, told], (name, payload)
            assert seen["facts"]["goal"] == told
            assert seen["facts"]["run"] == told
            assert seen["calls"] == [escaped(f"{payload} {json.dumps({payload: payload})}")] * 2
        harmless(browser, server)
        asked, complaints = browser.told()
        assert [one for one in asked if not one.startswith("data:")] == [address]
        assert complaints == []


@pytest.mark.integration
def test_the_static_page_shows_them_too(browser: Browser, server: Server, page: Path, hostile: list[str]) -> None:
    """Groups, files and reasons of problems stand on the page as text, each with its hidden characters shown."""
    browser.open(page)
    cells = set(browser.run("return [...document.querySelectorAll('td')].map(one => one.textContent)"))
    for payload in hostile:
        assert labels.plain(payload) in cells, payload
    harmless(browser, server)


@pytest.mark.integration
def test_search_filters_and_addresses_take_them(
    browser: Browser, server: Server, page: Path, hostile: list[str]
) -> None:
    """A payload typed, searched in all texts, chosen in a list or given in the address finds its rollouts and does nothing else."""
    browser.open(page)
    found = browser.run(
        """
        const many = [];
        for (const payload of given[0]) {
          state.words = payload; state.hits = null;
          await searchTexts();
          many.push(state.shown.length);
          if (state.shown.length) await show(state.shown[0]);
        }
        clear();
        for (const select of document.querySelectorAll("#filters select"))
          for (const option of select.options) { select.value = option.value; select.dispatchEvent(new Event("change")); }
        return many;
        """,
        hostile[::9],
    )
    assert min(found) >= 1
    harmless(browser, server)
    for payload in (hostile[0], hostile[70], "\x00", "%"):
        browser.run(
            "location.hash = '#rollout=' + encodeURIComponent(given[0]); await new Promise(go => setTimeout(go, 50));",
            payload,
        )
        browser.run(
            "location.hash = '#target=' + encodeURIComponent(given[0]); await new Promise(go => setTimeout(go, 50));",
            payload,
        )
    browser.run(
        "location.hash = '#rollout=' + encodeURIComponent(given[0]); await new Promise(go => setTimeout(go, 300));",
        f"{hostile[70]}/70",
    )
    assert (
        browser.run("return document.querySelector('#rollout .rollout-id').textContent") == f"{escaped(hostile[70])}/70"
    )
    harmless(browser, server)


@pytest.mark.integration
def test_the_policy_stops_what_would_get_through(browser: Browser, server: Server, page: Path, tmp_path: Path) -> None:
    """Were a payload to become markup, the policy would still not let it run or fetch."""
    text = page.read_text()
    assert "unsafe" not in text[: text.index("<style>")]
    hit = f"http://127.0.0.1:{server.server_port}/hit"
    through = (
        f"<script>window.pwned=1</script><script src={hit}></script><img src=x onerror=window.pwned=1><img src={hit}>"
        f"<iframe src={hit}></iframe><link rel=stylesheet href={hit}><object data={hit}></object><video src={hit}></video>"
    )
    broken = tmp_path / "broken.html"
    broken.write_text(text.replace("<main>", f"<main>{through}<p id=styled style='color: red'>"))
    server.asked.clear()
    browser.open(broken)
    _, complaints = browser.told()
    assert browser.run("return window.pwned ?? null") is None
    assert browser.run("return getComputedStyle(document.getElementById('styled')).color") != "rgb(255, 0, 0)"
    assert len([line for line in complaints if "Content Security Policy" in line]) >= 9
    assert not server.asked


BREAKOUTS = (
    "",
    '">',
    "'>",
    "</script>",
    "</title></svg>",
    "--></style>",
    "]]></textarea>",
    "**`",
    "| a |\n|---|\n| ",
    "```\n",
)
VECTORS = (
    "<script>window.pwned=1</script>",
    "<img src=//HOST/hit onerror=window.pwned=1>",
    "<svg onload=window.pwned=1>",
    "<svg><title><script>window.pwned=1</script></title></svg>",
    "<svg><a href='javascript:window.pwned=1'><text>x</text></a></svg>",
    "<svg><animate onbegin=window.pwned=1 attributeName=x dur=1s></svg>",
    "<svg><use href='//HOST/hit#x'/></svg>",
    "<svg><foreignObject><iframe src='//HOST/hit'></iframe></foreignObject></svg>",
    "<iframe srcdoc='<script>parent.pwned=1</script>'>",
    "<a href='javascript:window.pwned=1' autofocus onfocus=window.pwned=1>x</a>",
    "<style>@import '//HOST/hit';</style>",
    "<link rel=stylesheet href='//HOST/hit'>",
    "<meta http-equiv=refresh content='0;url=//HOST/hit'>",
    "<base href='//HOST/hit/'>",
    "<details open ontoggle=window.pwned=1>",
    "<progress value=1 onfocus=window.pwned=1 tabindex=0 autofocus>",
    "![x](//HOST/hit)",
    "[x](javascript:window.pwned=1)",
    "<option selected onclick=window.pwned=1>",
    "{{ ''.constructor('window.pwned=1')() }}",
)
DRESSES: tuple[Callable[[str], str], ...] = (
    str,
    str.swapcase,
    lambda text: f"&#60;{html.escape(text)}",
    lambda text: f"{text[:1]}\x00{text[1:]}",
    lambda text: f"\u202e{text}\u2066",
)


@pytest.fixture(scope="module")
def kinds(server: Server) -> list[str]:
    """A thousand payloads: each way out of a text, with each thing to do there, in each dress."""
    host = f"127.0.0.1:{server.server_port}"
    made = [
        dress(out + vector.replace("HOST", host))
        for out, vector, dress in itertools.product(BREAKOUTS, VECTORS, DRESSES)
    ]
    assert len(set(made)) == 1000
    return made


@pytest.fixture(scope="module")
def pages(server: Server, kinds: list[str]) -> dict[str, Path]:
    """A report and a page of transcripts with these as texts, ids, goals, names of columns and values, and labels of people."""
    columns = {kinds[place]: kinds[-place:] + kinds[:-place] for place in range(1, 40, 4)}
    frame = pl.DataFrame({
        "rollout_id": [f"{number}/{payload}" for number, payload in enumerate(kinds)], "turn": 1,
        "goal": [kinds[number // 2 * 2] for number in range(1000)], "task": kinds, "prompt": kinds, "response": kinds,
        "reasoning": kinds, "reason": kinds, "error": kinds,
        "tool_calls": [[{"name": one, "arguments": json.dumps({one: one})}] for one in kinds],
        "target": [kinds[number % 7 * 17] for number in range(1000)], "attack": [kinds[number % 3 * 31] for number in range(1000)],
        "succeeded": [number % 3 > 0 for number in range(1000)], "judge": kinds[77], **columns,
    }, schema_overrides={"turn": pl.Int32, "tool_calls": schema.TOOL_CALLS})  # fmt: skip
    turns = rw.turns(frame)
    people = pl.DataFrame(
        [
            {
                "rollout_id": f"{number}/{kinds[number]}",
                "judge": kinds[side],
                "value": float(number % 2),
                "note": kinds[number],
            }
            for number, side in itertools.product(range(200), (0, 501))
        ]
    )
    folder = server.folder  # type: ignore[attr-defined]
    out = rw.report(turns, folder / "kinds", by=["target", "attack"], labels=people, title=TITLE, progress=False)
    return {"report": out, "show": rw.show(turns).save(folder / "show.html")}


FOREIGN = """
  if (document.querySelector("#viewer :is(a:not(.id a), img, iframe, script, svg, style, object)")) throw "foreign";
"""
READ_ALL = f"""
  const found = [];
  for (const raw of [false, true]) {{
    reading.raw = raw;
    for (const id of given[0]) {{
      await show(state.index.ids.indexOf(id));
      {FOREIGN}
      if (raw) found.push([...document.querySelectorAll("#rollout .said.prompt .text")].map(text => text.textContent).join("|"));
    }}
  }}
  return found;
"""
CHOOSE_ALL = f"""
  const heads = new Set(), list = at("list");
  for (list.scrollTop = 0; ; list.scrollTop += list.clientHeight) {{
    paint();
    for (const head of document.querySelectorAll("#rows .goal b")) heads.add(head.textContent);
    if (list.scrollTop + list.clientHeight >= list.scrollHeight - 1) break;
  }}
  for (const square of [...document.querySelectorAll(".square")]) square.click();
  for (const select of document.querySelectorAll("#filters select")) {{
    for (const option of [...select.options].slice(0, 4)) {{
      select.value = option.value;
      select.dispatchEvent(new Event("change"));
    }}
  }}
  {FOREIGN}
  clear();
  for (const mark of document.querySelectorAll("figure .mark")) {{
    mark.dispatchEvent(new PointerEvent("pointermove", {{bubbles: true}}));
    mark.dispatchEvent(new FocusEvent("focusin", {{bubbles: true}}));
  }}
  return [...heads];
"""


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "title", "scripts"), [("report", TITLE, 18), ("show", "1,000 rollouts", 17)], ids=["report", "show"]
)
def test_a_thousand_of_all_kinds_do_nothing(
    browser: Browser, server: Server, pages: dict[str, Path], kinds: list[str], name: str, title: str, scripts: int
) -> None:
    """Heads of goals, rows, titles of filters, squares, transcripts as Markdown and raw, and the marks of figures, hovered."""
    browser.open(pages[name])
    server.asked.clear()
    harmless(browser, server, title, scripts)
    ids = [f"{number}/{payload}" for number, payload in enumerate(kinds)]
    texts = [text for start in range(0, 1000, 50) for text in browser.run(READ_ALL, ids[start : start + 50])]
    assert texts == [escaped(one) for one in kinds]
    assert set(browser.run(CHOOSE_ALL)) == {escaped(one) for one in kinds[::2]}
    harmless(browser, server, title, scripts)
    asked, complaints = browser.told()
    assert [one for one in asked if not one.startswith("data:")] == [pages[name].as_uri()]
    assert complaints == []
