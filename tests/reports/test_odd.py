"""Logs that are huge, empty, half known or unlike any other: the report is made, says so, and its viewer opens all of it."""

import datetime as dt
import inspect
import json
import os
import re
import subprocess
import sys
import termios
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import RollwiseError
from rollwise.reports import STEPS
from rollwise.reports.frames import frames
from rollwise.reports.methods import methods
from rollwise.reports.references import references
from rollwise.reports.viewer import GIANT, transcripts

from reports.browser import needs_chromium  # type: ignore[import-not-found]  # isort: skip

WORD = "wörd 😀 "  # two bytes, four bytes, and a pair of surrogates in JavaScript
SCRIPT = '{"a": "</script><script>window.pwned=1</script>", "b": "<!--<script>"}'


def simulated(**options: Any) -> pl.DataFrame:
    """A few rollouts."""
    return rw.simulate(**{"goals": 6, "attempts": 2, "turns": 3, "seed": 1} | options)[0]


def table(*rows: dict[str, Any]) -> pl.DataFrame:
    """TURNS of such rows."""
    return rw.turns(pl.DataFrame(rows, infer_schema_length=None))


CASES: dict[str, Callable[[], pl.DataFrame]] = {
    "a million characters": lambda: table(
        {"rollout_id": "a", "turn": 1, "prompt": WORD * 140_000, "response": "x" * 1_000_000, "outcome": "failure"},
        {"rollout_id": "b", "turn": 1, "prompt": "<b>" * 330_000, "response": "\x1b\u202e" * 500_000, "outcome": "success"},
    ),
    "two thousand turns": lambda: table(
        *(
            {"rollout_id": name, "turn": turn, "prompt": f"p{turn}", "response": WORD, "succeeded": name == "a" and turn == 1990}
            for name in "ab"
            for turn in range(1, 2001)
        )
    ),
    "images and attachments": lambda: table(
        {"rollout_id": "a", "turn": 1, "prompt": "data:image/png;base64," + "iVBORw0KGgo" * 9000, "response": "ok",
         "image": b"\x89PNG\r\n\x1a\n\xff\xfe", "attachments": [{"type": "image", "data": "iVBOR" * 999}], "outcome": "failure"}
    ),
    "kinds of columns": lambda: table(
        {"rollout_id": "a", "turn": 1, "response": SCRIPT, "when": dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
         "took": dt.timedelta(seconds=3), "bytes": b"\xff\x00", "large": 2**60 + 1, "endless": float("-inf"),
         "nested": {"a": [1, None], "b": {"c": None}}, "nothing": None, "outcome": "success"}
    ),
    "nothing but nulls": lambda: table(
        *({"rollout_id": name, "turn": 1, "prompt": None, "response": None, "goal": None} for name in "abcd")
    ),
    "no turns at all": lambda: rw.turns(
        pl.DataFrame(
            {"rollout_id": ["a", "b"], "turn": [None, None], "outcome": ["error", None], "ending": ["error", None]},
            schema_overrides={"turn": pl.Int32},
        )
    ),
    "no judge": lambda: simulated().drop("succeeded", "outcome", "score"),
    "no time": lambda: simulated().drop("succeeded"),
    "a single group": lambda: simulated(targets={"base": 0.3}, attacks=["x"]),
    "a single answer": lambda: table({"rollout_id": "a", "turn": 1, "response": "x"}),
    "an empty table": lambda: simulated().clear(),
}  # fmt: skip


def made(turns: pl.DataFrame, **options: Any) -> Any:
    """What the report is drawn from."""
    return frames(turns, **{"by": None, "cluster": "auto", "level": 0.95, "seed": 0} | options)


@pytest.mark.integration
@needs_chromium
@pytest.mark.parametrize("name", CASES)
def test_the_viewer_opens_all_of_it(browser, tmp_path, name):
    """Every rollout is in the list and opens in good time, with each of its turns and all of its text; nothing runs."""
    turns = CASES[name]()
    page = rw.report(turns, tmp_path / "report")
    browser.open(page, wait=False)
    browser.until("return document.readyState === 'complete'")
    ids = turns["rollout_id"].unique(maintain_order=True).to_list()
    if not ids:
        assert "No rollout was read." in page.read_text()
        assert browser.run("return document.getElementById('transcripts')") is None
    else:
        browser.until("return !document.getElementById('viewer').hidden")
        seen = browser.run("""
          const found = [];
          reading.raw = true; // as in the log, sign by sign
          for (let one = 0; one < state.index.ids.length; one++) {
            const start = performance.now();
            await show(one);
            const taken = performance.now() - start;
            state.view.box.upTo(state.view.ordered.length - 1);
            for (const more of document.querySelectorAll("#rollout .text button")) more.click();
            const text = [...document.querySelectorAll("#rollout .said.response .text")].map(one => one.textContent).join("");
            found.push({id: state.index.ids[one], turns: state.view.box.turns.length, taken, text});
          }
          return found;
        """)
        assert [one["id"] for one in seen] == ids
        assert [one["turns"] for one in seen] == turns.group_by("rollout_id", maintain_order=True).len()[
            "len"
        ].to_list()
        said = turns.group_by("rollout_id", maintain_order=True).agg(pl.col("response").fill_null("").str.join(""))[
            "response"
        ]
        assert [one["text"].replace("\\x1b\\u202e", "\x1b\u202e") for one in seen] == said.to_list()
        assert max(one["taken"] for one in seen) < 5000
    assert browser.run("return window.pwned ?? null") is None
    assert browser.run("return document.scrollingElement.scrollWidth - window.innerWidth") <= 0
    asked, complaints = browser.told()
    assert [one for one in asked if not one.startswith("data:")] == [page.as_uri()]
    assert complaints == []


@pytest.mark.integration
@needs_chromium
def test_values_that_scripts_would_spoil_are_kept(browser, tmp_path):
    """Large integers, infinity, bytes, times and nested values stand in the transcript as they were."""
    browser.open(rw.report(CASES["kinds of columns"](), tmp_path / "report"))
    browser.run("await show(0); document.querySelector('#rollout details').open = true")
    text = browser.run("return document.getElementById('rollout').innerText")
    for value in (
        "1152921504606846977",
        "-inf",
        "2024-01-01T00:00:00",
        "PT3S",
        '{"a":[1,null],"b":{"c":null}}',
        SCRIPT,
    ):
        assert value in text
    assert browser.run("return document.scripts.length - document.querySelectorAll('script[type]').length") == 18


@pytest.mark.integration
@needs_chromium
def test_a_character_is_not_cut_in_half(browser, tmp_path):
    """A long text is shown to its 20,000th unit, which may be the middle of a character."""
    frame = table({"rollout_id": "a", "turn": 1, "response": "x" + "😀" * 20_000, "outcome": "failure"})
    browser.open(rw.report(frame, tmp_path / "report"))
    browser.run("await show(0)")
    shown = browser.run("return document.querySelector('.said.response .text').firstChild.textContent")
    assert shown == "x" + "😀" * 9999


@pytest.mark.integration
@needs_chromium
def test_what_was_searched_for_is_seen_deep_in_a_text(browser, tmp_path):
    """A word three quarters into a long text is found, marked and scrolled to."""
    text = "hay " * 30_000 + "needle" + " hay" * 10_000
    browser.open(
        rw.report(table({"rollout_id": "a", "turn": 1, "response": text, "outcome": "failure"}), tmp_path / "report")
    )
    browser.run("state.words = 'NEEDLE'; await searchTexts(); await show(state.shown[0]);")
    seen = browser.run("""
      await new Promise(go => setTimeout(go, 300));
      const hit = document.querySelector("#rollout mark"), box = hit.getBoundingClientRect();
      const pane = document.getElementById("rollout").getBoundingClientRect();
      return [hit.textContent, box.top >= pane.top && box.bottom <= pane.bottom];
    """)
    assert seen == ["needle", True]


@pytest.mark.integration
def test_many_groups_are_still_a_page(tmp_path: Path) -> None:
    """Five hundred groups: figures and tables of both ends, which they say, and no heat map of five hundred rows."""
    turns = simulated(goals=250, attempts=1, attacks=["x", "y"]).with_columns(
        target=pl.col("goal") + "_target", category=pl.col("goal")
    )
    page = rw.report(turns, tmp_path / "report")
    text = page.read_text()
    assert page.stat().st_size < 4_000_000
    assert "The figure shows 40 of 500 groups, half of them the lowest and half the highest." in text
    note = "The table shows 100 of 500 groups, half of them the lowest and half the highest. All are in"
    for file in ("summary.parquet", "curve.parquet"):
        assert f'{note} <a href="{file}">{file}</a>' in text
        assert pl.read_parquet(page.parent / file).select("target", "attack").n_unique() == 500
    assert "The figure shows 10 of 500 groups" in text
    assert "A figure would have too many cells; see the table." in text
    assert not (page.parent / "figures" / "heat_map.svg").exists()
    tables = [table.count("<tr") - 1 for table in text.split("<table")[1:]]
    assert max(tables) <= 1000
    rates = pl.read_parquet(page.parent / "summary.parquet").filter(metric="attack_success").sort("estimate")
    addresses = [
        f'href="#target={quote(target, safe="")}&amp;attack={attack}'  # rows and marks of other tables and figures are no links
        for target, attack in rates.select("target", "attack").rows()
    ]
    shown = [address in text for address in addresses]
    assert sum(shown) == 100
    assert all(shown[-50:]) or rates["estimate"][-51] == rates["estimate"][-50]
    scores = {"mean_final_score.svg", "spread_final_score.svg"}  # the scores of all groups together
    assert {"attack_success.svg", "curve.svg", "effort.svg", *scores} == {
        path.name for path in (page.parent / "figures").iterdir()
    }


@pytest.mark.integration
def test_a_terminal_says_what_is_being_done(tmp_path: Path) -> None:
    """The bar names each step, in order."""
    simulated(goals=3).write_parquet(tmp_path / "turns.parquet")
    call = f"import rollwise as rw; rw.report(rw.read({str(tmp_path)!r}), {str(tmp_path / 'report')!r}, progress=True)"
    terminal, of_process = os.openpty()
    termios.tcsetwinsize(of_process, (24, 100))
    with subprocess.Popen([sys.executable, "-c", call], stderr=of_process) as process:
        os.close(of_process)
        text = b""
        with suppress(OSError):  # which a terminal raises that is closed at the other end
            while block := os.read(terminal, 1 << 16):
                text += block
    os.close(terminal)
    assert process.returncode == 0
    places = [text.find(f"report: {step}".encode()) for step in STEPS]
    assert places == sorted(places)
    assert min(places) >= 0


@pytest.mark.integration
@pytest.mark.parametrize("by", ["goal", "task", ["goal", "target"], "rollout_id", "outcome", "attempt"])
def test_any_fact_can_group(tmp_path: Path, by: str | Sequence[str]) -> None:
    """Also the unit itself, a number, an Enum and the rollout."""
    turns = simulated(benign=2, tasks=2)
    page = rw.report(turns, tmp_path / "report", by=by)
    first = [by] if isinstance(by, str) else list(by)
    assert pl.read_parquet(page.parent / "summary.parquet").columns[: len(first)] == first


@pytest.mark.integration
def test_a_page_takes_as_many_transcripts_as_fit() -> None:
    """Of what is too much: something of every group and result, no giant, within the bytes; and the page says how many."""
    import random

    letters = random.Random(1)
    turns = simulated(goals=20, attempts=5, attacks=["x", "y"])
    noise = [bytes(letters.choices(range(33, 127), k=400)).decode() for _ in range(turns.height)]
    turns = turns.with_columns(response=pl.Series(noise))
    giant = turns["rollout_id"][0]
    turns = turns.with_columns(
        prompt=pl.when(pl.col("rollout_id") == giant).then(pl.lit("giant " * 50_000)).otherwise("prompt")
    )
    found = made(turns)
    all_of_it = transcripts(found)
    assert all_of_it.shown == all_of_it.rollouts == found.rollouts.height
    few = transcripts(found, most=100_000)
    assert 0 < few.shown < few.rollouts
    tight = transcripts(found, most_bytes=60_000)
    assert 0 < tight.shown < few.rollouts
    assert sum(map(len, tight.chunks)) <= 60_000
    for kept in (few, tight):
        index = unpacked(kept.index)
        assert giant not in index["ids"]
        assert len(index["ids"]) == kept.shown
        shown = found.rollouts.filter(pl.col("rollout_id").is_in(index["ids"]))
        groups = [*found.by, "attack_success"]
        assert shown.select(groups).n_unique() == found.rollouts.select(groups).n_unique()
    assert turns.filter(pl.col("rollout_id") == giant)["prompt"].str.len_chars().sum() > 100_000 // GIANT
    assert transcripts(found, most=0).shown == 0


def unpacked(text: str) -> Any:
    """What the viewer reads of a piece."""
    import base64
    import zlib

    return json.loads(zlib.decompress(base64.b64decode(text), -15))


@pytest.mark.integration
def test_long_goals_do_not_fill_the_index() -> None:
    """A goal of a hundred thousand characters is cut in the list, and whole in its transcript."""
    goals = [f"{number}" + "g" * 100_000 for number in range(20)]
    found = made(
        table(*({"rollout_id": str(n), "turn": 1, "goal": goal, "outcome": "failure"} for n, goal in enumerate(goals)))
    )
    packed = transcripts(found)
    column = next(one for one in unpacked(packed.index)["columns"] if one["name"] == "goal")
    assert max(map(len, column["words"])) == 300
    assert [goal for chunk in packed.chunks for goal in unpacked(chunk)["facts"]["goal"]] == goals


@pytest.mark.integration
def test_a_curve_that_would_mislead_is_left_out(tmp_path: Path) -> None:
    """Where verdicts are of whole rollouts, no curve says when successes came, and the page says why."""
    turns = simulated(goals=10).with_columns(succeeded=pl.lit(None, pl.Boolean))
    page = rw.report(turns, tmp_path / "report")
    text = page.read_text()
    assert '<section id="success-by-turn"' not in text
    assert "turns to success" not in text.split('<section id="methods"')[0]
    assert "the turn of" in text.split('<section id="methods"')[1]
    assert "is unknown; judge the turns" in text
    assert pl.read_parquet(page.parent / "curve.parquet").is_empty()
    assert "time_to_success" not in pl.read_parquet(page.parent / "summary.parquet")["metric"]


def test_broken_letters_are_refused_or_shown(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 are a problem that names the file; half of a character, as JSON can hold it, is no crash."""
    rows = [{"rollout_id": "a", "turn": 1, "response": "fine", "outcome": "success"}]
    (tmp_path / "good.jsonl").write_text(json.dumps(rows[0]))
    (tmp_path / "bytes.jsonl").write_bytes(
        b'{"rollout_id": "b", "turn": 1, "response": "\xff\xfe\x80", "outcome": "failure"}'
    )
    (tmp_path / "half.jsonl").write_text(
        '{"rollout_id": "c", "turn": 1, "response": "\\ud800</script>", "outcome": "failure"}'
    )
    turns, problems = rw.read(tmp_path, errors="collect")
    assert "a" in turns["rollout_id"].to_list()
    assert problems.height + turns["rollout_id"].n_unique() == 3
    assert problems["file"].str.contains("bytes.jsonl").any()
    page = rw.report(
        turns, tmp_path / "report", problems=problems, title="half \ud800 of a letter", inputs=["no\udcff.jsonl"]
    )
    text = page.read_text(encoding="utf-8")
    assert "<h1" in text
    assert r"half \ud800 of a letter" in text
    with pytest.raises(RollwiseError):
        rw.read(tmp_path / "bytes.jsonl")


@pytest.mark.integration
def test_only_a_tree_is_made_of_nodes() -> None:
    """One tree among rollouts changes how itself is told, and a column that somebody calls `tree` changes nothing."""
    plain = table(*({"rollout_id": name, "turn": 1, "outcome": "failure", "cost_usd": 0.1} for name in "ab"))
    nodes = {"rollout_id": "c", "turn": [1, 2, 2], "node_id": ["x", "y", "z"], "parent_id": [None, "x", "x"]}
    mixed = pl.concat([plain, rw.turns(pl.DataFrame(nodes))], how="diagonal_relaxed")
    index = unpacked(transcripts(found := frames(mixed, by="auto", cluster="auto", level=0.95, seed=0)).index)
    assert dict(zip(index["ids"], index["trees"], strict=True)) == {"a": False, "b": False, "c": True}
    assert (found.rollout_count, found.turn_count, found.rollouts.height, found.costs.height) == (3, 5, 4, 0)
    own = frames(plain.with_columns(tree=pl.lit("oak")), by="auto", cluster="auto", level=0.95, seed=0)
    told = {each["name"]: each["words"] for each in unpacked(transcripts(own).index)["columns"]}
    assert (told["attack_success"], own.costs.height) == (["no"], 1)


@pytest.mark.integration
def test_groups_of_different_units_are_one_sentence_of_the_methods() -> None:
    """What only the unit tells apart is said once in the paragraph for a paper, and stands once in the table below it."""
    rows = [
        {"rollout_id": f"{source}{n}", "source": source, "outcome": "success" if n == 1 else "failure", **unit}
        for n in range(12)
        for source, unit in (
            ("a", {"goal": f"g{n % 4}"}),
            ("b", {"goal": f"g{n % 4}", "task": f"t{n // 4}"}),
            ("c", {"goal": f"g{n % 4}" if n else None}),
        )
    ]
    found = frames(
        rw.turns(pl.DataFrame(rows, infer_schema_length=None)), by="source", cluster="auto", level=0.95, seed=0
    )
    told, table, *_ = methods(found, 0.95).parts
    assert told.text.count("Attack success: ") == 1
    assert "; unit: goal or goal x task (each unknown one is its own cluster). " in told.text
    assert table.table is not None
    assert [row[0] for row in table.table.rows].count("attack success") == 1


def test_every_paper_that_a_verb_names_can_be_cited() -> None:
    """What stands under References in a docstring comes out as authors, title and place, with nothing between commas."""
    public = [getattr(space, name) for space in (rw, rw.judges, rw.rollout) for name in space.__all__]
    verbs = [verb for verb in public if inspect.isfunction(verb)]
    papers = references(*verbs)
    assert len(papers) > 20
    assert [paper.text for paper in papers if re.search(r"[,:.] *[,:.] |\(\d+\), *[,.]|, for ", paper.text)] == []
    assert [paper.text for paper in papers if not (paper.title or paper.where or paper.address)] == []
