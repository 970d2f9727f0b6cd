# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""The report of 10,000 rollouts against one of 100: its size, and how long a reader waits for it in Chromium.

Both pages are opened alternately and used alike; figures are medians of milliseconds until the browser has painted what was
asked for. What a search of all texts takes in all grows with the texts, so of it the first answer is timed, and the whole printed.
"""

import random
import statistics
import sys

import polars as pl
import pytest

import rollwise as rw

from reports.browser import browsing, needs_chromium  # type: ignore[import-not-found]  # isort: skip

pytestmark = [pytest.mark.benchmark, needs_chromium]

MOST_BYTES, MOST_TIMES, ROUNDS = 25_000_000, 3, 9
LOADED = "all bytes loaded"  # which nobody waits for: the list and the first chunks are there long before
PAINTED = "await new Promise(go => requestAnimationFrame(() => setTimeout(go)));"
WAITS = {
    "open one": "await show(state.shown[Math.floor(state.shown.length * given[0])]);",
    "open another": "await show(state.shown[Math.floor(state.shown.length * (1 - given[0]))]);",
    "filter": "document.querySelector('#filters [data-column=attack_success]').value = '0';"
    "document.querySelector('#filters [data-column=attack_success]').dispatchEvent(new Event('change'));",
    "search ids, goals, tasks": "at('find').value = 'goal'; at('find').dispatchEvent(new Event('input'));",
    "next": "step(1); await new Promise(go => { const wait = () => "
    "state.view.id === state.index.ids[state.open] ? go() : setTimeout(wait); wait(); });",
    "first success": "await show(state.index.first.findIndex(one => one !== null)); goTo(state.view.success);",
}
FIRST_HIT = """
  clear(); at('find').value = given[0]; state.words = given[0];
  const start = performance.now(), whole = searchTexts();
  while (!state.hits.size) await new Promise(go => setTimeout(go));
  const first = performance.now() - start;
  await whole;
  return [first, performance.now() - start, state.hits.size];
"""


def talk(turns, seed):
    """Turns with prose of a few thousand characters in each rollout: words that compress as English does."""
    rng = random.Random(seed)
    syllables = [one + two for one in "bcdfghlmnprstvw" for two in ("a", "e", "i", "o", "u", "an", "er", "in", "on")]
    words = ["".join(rng.choices(syllables, k=rng.choice((1, 2, 2, 3, 3, 4)))) for _ in range(6000)]
    often = [1 / (place + 2) for place in range(len(words))]
    said = rng.choices(words, often, k=400_000)

    def text(least, most):
        start, many = rng.randrange(len(said) - most), rng.randrange(least, most)
        return " ".join(said[start : start + many])

    return turns.with_columns(
        prompt=pl.Series([text(10, 50) for _ in range(turns.height)]),
        response=pl.Series([text(20, 90) for _ in range(turns.height)]),
    )


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The two reports."""
    made = {}
    for many, goals in ((100, 5), (10_000, 500)):
        turns, _ = rw.simulate(
            attacks=["persuade", "encode"], targets={"base": 0.1}, goals=goals, attempts=10, turns=8, seed=3
        )
        assert turns["rollout_id"].n_unique() == many
        made[many] = rw.report(talk(turns, many), tmp_path_factory.mktemp(f"report{many}") / "report")
    return made


def used(browser, page, shift):
    """Milliseconds of each wait on a freshly loaded page."""
    browser.open(page)
    browser.until("return performance.getEntriesByName('first-contentful-paint').length > 0")
    taken = {
        "first paint": browser.run("return performance.getEntriesByName('first-contentful-paint')[0].startTime"),
        LOADED: browser.run("return performance.getEntriesByType('navigation')[0].loadEventStart"),
        "list": browser.run("return performance.getEntriesByName('list')[0].startTime"),
    }
    for name, script in WAITS.items():
        timed = f"const start = performance.now(); {script} {PAINTED} return performance.now() - start;"
        taken[name] = browser.run(timed, 0.3 + shift)
    return taken


def test_ten_thousand_rollouts_are_as_quick_as_a_hundred(pages, tmp_path):
    """Under 25 MB; no wait of a reader is more than three times that on the small page."""
    sizes = {many: page.stat().st_size for many, page in pages.items()}
    waits = {many: [] for many in pages}
    with browsing(tmp_path) as browser:
        for turn in range(ROUNDS):
            for many, page in pages.items():
                waits[many].append(used(browser, page, turn / 50))
        found = {}
        for many, page in pages.items():
            browser.open(page)
            found[many] = browser.run(FIRST_HIT, "a")
    small, large = (
        {name: statistics.median(one[name] for one in waits[many]) for name in waits[many][0]} for many in pages
    )
    sys.stdout.write(f"\n{sizes[100] / 1e6:.1f} MB of 100 rollouts, {sizes[10_000] / 1e6:.1f} MB of 10,000\n")
    for name, wait in large.items():
        sys.stdout.write(f"{name:<26} {small[name]:7.1f} ms {wait:7.1f} ms  {wait / small[name]:.1f}x\n")
    for many, (first, whole, hits) in found.items():
        sys.stdout.write(
            f"search of all texts, {many:,}: first answer {first:.0f} ms, whole {whole:.0f} ms, {hits:,} hits\n"
        )
    assert sizes[10_000] < MOST_BYTES
    assert all(wait <= MOST_TIMES * small[name] for name, wait in large.items() if name != LOADED)
