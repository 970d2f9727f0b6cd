"""The page on which people label by hand, in a real browser: blind, by keys, kept, saved, and deaf to hostile logs."""

import json
import re
import shlex
import time
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import rollwise as rw
from rollwise.cli import app
from rollwise.errors import ArgumentError, SchemaError, WriteError

from reports.browser import Browser, needs_chromium  # type: ignore[import-not-found]  # isort: skip

PAYLOADS = [json.loads(line) for line in Path(__file__).with_name("payloads.jsonl").read_text().splitlines()]
LEFT = "\ue012"  # the arrow, as WebDriver has it
SECRETS = ("zz-target", "zz-attack", "zz-reason")


def turns(many: int = 12) -> pl.DataFrame:
    """Rollouts of two turns, half of them successes; what must not be on the page begins with zz."""
    rows = [
        {
            "rollout_id": f"r{number:02}", "turn": turn, "goal": f"goal {number}", "target": SECRETS[0], "attack": SECRETS[1],
            "prompt": f"ask {number}.{turn}", "response": f"answer {number}.{turn}", "succeeded": turn == 2 and number % 2 == 0,
            "zz_reason": SECRETS[2], "score": 0.123456,
        }
        for number in range(many) for turn in (1, 2)
    ]  # fmt: skip
    return rw.turns(pl.DataFrame(rows))


def begun(browser: Browser, page: Path, name: str = "ann", **view: int) -> None:
    """Open the page and say who labels."""
    browser.open(page, wait=False, **view)
    browser.until("return !document.getElementById('begin').hidden")
    browser.run("document.getElementById('name').select()")
    browser.press(*name, "\n")
    browser.until("return document.querySelector('#rollout h2') !== null && !document.getElementById('work').hidden")


def at(browser: Browser, number: int) -> None:
    """Wait for a rollout by its number on the page."""
    browser.until(f"return document.querySelector('#rollout h2').textContent === 'Rollout {number}'")


def downloaded(browser: Browser, folder: Path) -> Path:
    """Press the button and return the file that was saved."""
    before = set(folder.iterdir())
    browser.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    browser.run("document.getElementById('save').click()")
    for _ in range(300):
        new = [file for file in set(folder.iterdir()) - before if file.suffix == ".jsonl"]
        if new:
            return new[0]
        time.sleep(0.05)
    raise AssertionError("nothing was saved")


@needs_chromium  # type: ignore[untyped-decorator]
@pytest.mark.integration
def test_labels_are_given_by_keys_kept_and_saved(browser: Browser, tmp_path: Path) -> None:
    """Yes, no, unsure and a note; after the tab is closed they are there again; the file is what `correct` takes."""
    page = rw.judges.label_page(turns(), tmp_path / "labels.html", n=6)
    begun(browser, page)
    for place, key in enumerate("ynu", start=1):
        at(browser, place)
        browser.press(key)
    at(browser, 4)
    browser.press("w", *"odd: y n", "\n", "y")
    at(browser, 5)
    begun(browser, page)  # the tab was left in between, and opens at the first rollout without a label
    at(browser, 5)
    assert browser.run("return document.getElementById('place').textContent") == "Rollout 5 of 6 · 4 labeled"
    file = downloaded(browser, tmp_path)
    assert file.name == "labels-ann.jsonl"
    verdicts = rw.judges.read_verdicts(file)
    assert verdicts.select("judge", "value", "label", "reasoning").rows() == [
        ("ann", 1.0, "yes", None), ("ann", 0.0, "no", None), ("ann", None, "unsure", None), ("ann", 1.0, "yes", "odd: y n"),
    ]  # fmt: skip
    assert verdicts["probability"].to_list() == [0.5] * 4
    labels = rw.judges.consensus(verdicts)
    corrected = rw.judges.correct(rw.measure(turns()), labels, probability="probability")
    assert corrected["n"].item() == 12
    assert rw.judges.agreement(verdicts.select("rollout_id", "judge", "value"), labels)["n"].to_list()[0] == 3
    report = rw.report(turns(), tmp_path / "report", labels=file, progress=False).parent
    overall = rw.judges.correct(rw.measure(turns()), labels, by="target", probability="probability")
    assert pl.read_parquet(report / "corrected.parquet")["estimate"].to_list() == overall["estimate"].to_list()
    assert browser.told()[1] == []


@needs_chromium  # type: ignore[untyped-decorator]
@pytest.mark.integration
def test_a_label_can_be_changed_and_another_person_begins_anew(browser: Browser, tmp_path: Path) -> None:
    """What the first person said is not shown to the second, and comes back with the first one's name."""
    page = rw.judges.label_page(turns(), tmp_path / "labels.html", n=4)
    begun(browser, page)
    browser.press("y")
    at(browser, 2)
    browser.press(LEFT)
    at(browser, 1)
    pressed = "return [...document.querySelectorAll('[aria-pressed=true]')].map(one => one.dataset.label)"
    assert browser.run(pressed) == ["yes"]
    browser.press("n")
    at(browser, 2)
    begun(browser, page, "bob")
    at(browser, 1)
    assert browser.run(pressed) == []
    begun(browser, page, "ann")
    at(browser, 2)
    browser.press(LEFT)
    at(browser, 1)
    assert browser.run(pressed) == ["no"]


@needs_chromium  # type: ignore[untyped-decorator]
@pytest.mark.integration
@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits_a_phone_and_a_desk(browser: Browser, tmp_path: Path, width: int) -> None:
    """Nothing is wider than the window, and the buttons are in sight however long the transcript is."""
    long = turns(4).with_columns(response=pl.lit("word " * 5000 + "x" * 3000))
    page = rw.judges.label_page(long, tmp_path / "labels.html")
    begun(browser, page, width=width)
    assert browser.run("return document.documentElement.scrollWidth") <= width
    seen = browser.run(
        "const box = document.getElementById('answer').getBoundingClientRect(); return [box.top, box.bottom]"
    )
    assert 0 < seen[0] < seen[1] <= 900


@needs_chromium  # type: ignore[untyped-decorator]
@pytest.mark.integration
def test_hostile_logs_do_nothing(browser: Browser, tmp_path: Path) -> None:
    """A thousand payloads as id, goal, prompt, answer, tool call and question: each is text, and nothing runs or is fetched."""
    hostile = [f"{payload}{'' if copy == 0 else copy}" for copy in range(4) for payload in PAYLOADS]
    assert len(hostile) >= 1000
    calls = [[{"name": one, "arguments": json.dumps({one: one})}] for one in hostile]
    frame = pl.DataFrame(
        {
            "rollout_id": [f"{one}/{number}" for number, one in enumerate(hostile)], "turn": 1, "goal": hostile,
            "task": hostile, "prompt": hostile, "response": hostile, "observation": hostile, "tool_calls": calls,
            "succeeded": [number % 2 == 0 for number in range(len(hostile))],
        },
        schema_overrides={"turn": pl.Int32, "tool_calls": rw.schema.TOOL_CALLS},
    )  # fmt: skip
    page = rw.judges.label_page(rw.turns(frame), tmp_path / "labels.html", n=len(hostile), question=hostile[0])
    begun(browser, page, "</script><b>ann")
    shown = browser.run("""
      let many = 0;
      for (let place = 0; place < work.index.ids.length; place++) { await show(place); answer("yes"); many++; }
      const all = [...document.querySelectorAll("*")];
      return {many, pwned: window.pwned ?? null, lines: lines().trim().split("\\n").length,
        handlers: all.flatMap(one => one.getAttributeNames().filter(name => name.startsWith("on"))).length,
        foreign: all.filter(one => ["IFRAME", "OBJECT", "EMBED", "BASE", "IMG", "SVG", "MATH", "VIDEO"].includes(
          one.tagName.toUpperCase())).length};
    """)
    assert shown == {"many": len(hostile), "pwned": None, "lines": len(hostile), "handlers": 0, "foreign": 0}
    asked, complaints = browser.told()
    assert [one for one in asked if not one.startswith("data:")] == [page.as_uri()]
    assert complaints == []
    verdicts = rw.judges.read_verdicts(downloaded(browser, tmp_path))
    assert set(verdicts["rollout_id"]) == set(frame["rollout_id"])


@pytest.mark.integration
def test_the_page_holds_no_verdict_and_no_name(tmp_path: Path) -> None:
    """What the judge said is not in the file at all, not even packed."""
    import base64
    import zlib

    text = rw.judges.label_page(turns(), tmp_path / "labels.html").read_text()
    packed = re.findall(r'<script type="application/octet-stream" id="[^"]*">([^<]*)</script>', text)
    whole = text + "".join(zlib.decompress(base64.b64decode(one), -15).decode() for one in packed)
    assert "answer 3.2" in whole
    assert not [word for word in (*SECRETS, "0.123456") if word in whole]
    assert not [word for word in ("succeeded", "outcome") if word in whole.replace(text, "")]  # the scripts name both


@pytest.mark.integration
def test_the_command_prints_what_is_typed_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """The line that it prints, with a name for NAME, makes the report with corrected rates."""
    monkeypatch.chdir(tmp_path)
    turns().write_parquet("turns.parquet")
    told = CliRunner().invoke(app, ["label", "turns.parquet", "--by", "target", "-n", "8"])
    assert told.exit_code == 0, told.output
    assert "8 rollouts to label: 4 of 6 that the judge flagged, 4 of 6 that it did not" in told.stderr
    line = next(line for line in told.stderr.splitlines() if "rollwise report" in line)
    words = shlex.split(line.removeprefix("rollwise: ").replace("NAME", "ann"))
    ids = turns()["rollout_id"].unique().sort()
    pl.DataFrame({"rollout_id": ids[:8], "judge": "ann", "value": [1.0, 0.0] * 4}).write_ndjson("labels-ann.jsonl")
    made = CliRunner().invoke(app, words[1:])
    assert made.exit_code == 0, made.output
    assert "What do people say?" in Path("report/report.html").read_text()
    assert (tmp_path / "report" / "corrected.parquet").exists()


def test_the_printed_line_reads_the_logs_as_they_were_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names, labels and facts of the first command are in the second."""
    monkeypatch.chdir(tmp_path)
    rows = ["item,said,grade,arm x"] + [
        f"goal {number},text {number},{'bad' if number % 2 else 'ok'},a b" for number in range(6)
    ]
    Path("my results.csv").write_text("\n".join(rows))
    names = ("goal=item", "response=said", "succeeded=grade")
    options = [word for name in names for word in ("--column", name)]
    options += ["--value", "succeeded:bad=true", "--value", "succeeded:ok=false"]
    options += ["--fact", "target=gpt 4"]
    told = CliRunner().invoke(app, ["label", "my results.csv", *options, "--by", "arm x"])
    assert told.exit_code == 0, told.output
    line = next(line for line in told.stderr.splitlines() if "rollwise report" in line)
    words = shlex.split(line.removeprefix("rollwise: ").replace("NAME", "ann"))
    assert [words.count(option) for option in options] == [options.count(option) for option in options]
    ids = rw.read(
        "my results.csv", names={"goal": "item", "response": "said", "succeeded": ("grade", {"bad": True, "ok": False})}
    )
    saved = ids.select("rollout_id", judge=pl.lit("ann"), value=pl.Series([1.0, 0.0] * 3))
    saved.write_ndjson("labels-ann.jsonl")
    made = CliRunner().invoke(app, words[1:])
    assert made.exit_code == 0, made.output
    assert "ann labeled 6 rollouts" in Path("report/report.html").read_text()


@pytest.mark.integration
def test_the_task_is_labeled_where_only_it_is_judged(tmp_path: Path) -> None:
    """Unless another metric is named."""
    tasks = turns().drop("succeeded", "outcome", strict=False).with_columns(solved=pl.col("rollout_id") < "r06")
    page = rw.judges.label_page(rw.turns(tasks), tmp_path / "labels.html").read_text()
    assert "Did the target do its task?" in page
    refused = rw.judges.label_page(
        turns().with_columns(refused=pl.lit(value=False)), tmp_path / "other.html", metric="ever_refused"
    )
    assert "Did the target refuse in any turn?" in refused.read_text()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"n": 0}, ArgumentError, "n=0; draw at least one rollout"),
        ({"metric": "num_turns"}, ArgumentError, "'num_turns' is not a metric that is yes or no"),
        ({"by": "nope"}, ArgumentError, "there is no column 'nope' to group by"),
        ({"out": "labels.txt"}, ArgumentError, "labels.txt is to be a page; name it labels.html"),
    ],
)
def test_bad_options_are_refused(tmp_path, monkeypatch, options, error, words) -> None:
    """In one sentence, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=words):
        rw.judges.label_page(turns(), **options)
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_labeled_is_refused(tmp_path: Path) -> None:
    """Logs without texts, trees, an existing file."""
    bare = turns().drop("prompt", "response")
    with pytest.raises(ArgumentError, match="no prompts and no responses: there is nothing to read"):
        rw.judges.label_page(bare, tmp_path / "labels.html")
    nodes = pl.DataFrame(
        {"rollout_id": "a", "turn": [1, 2], "node_id": ["x", "y"], "parent_id": [None, "x"], "response": "r"}
    )
    with pytest.raises(
        SchemaError, match=r"trees; people label paths: rw.judges.label_page\(rw.rollout.paths\(turns\)\)"
    ):
        rw.judges.label_page(rw.turns(nodes), tmp_path / "labels.html")
    assert rw.judges.label_page(rw.rollout.paths(rw.turns(nodes)), tmp_path / "labels.html").exists()
    with pytest.raises(WriteError, match="exists"):
        rw.judges.label_page(turns(), tmp_path / "labels.html")
