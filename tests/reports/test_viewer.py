"""The transcript viewer as its readers use it: list, filters, search, keys, addresses."""

from pathlib import Path
from urllib.parse import quote, unquote

import polars as pl
import pytest

import rollwise as rw

from reports.browser import Browser, needs_chromium  # type: ignore[import-not-found]  # isort: skip

pytestmark = needs_chromium
FOCUSED = """
  const one = document.activeElement;
  return one.id || one.closest('section.turn')?.querySelector('h4').textContent.split(' · ')[0];
"""
IN_ORDER_OF_THE_LOG = """
  const select = document.getElementById("order");
  select.value = "log"; select.dispatchEvent(new Event("change"));
"""


@pytest.fixture(scope="module")
def turns() -> pl.DataFrame:
    """Eighty rollouts of two targets and two attacks; one says what no other says."""
    made, _ = rw.simulate(attacks=["persuade", "encode"], goals=10, attempts=2, turns=6, seed=3)
    last = made["rollout_id"].unique(maintain_order=True)[-1]
    rare = pl.when((pl.col("rollout_id") == last) & (pl.col("turn") == 1)).then(pl.lit("a Rare (word) here"))
    return made.with_columns(response=rare.otherwise("response"))


@pytest.fixture(scope="module")
def page(turns: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Their report."""
    return rw.report(turns, tmp_path_factory.mktemp("viewer") / "report")


@pytest.fixture
def rollouts(turns: pl.DataFrame) -> pl.DataFrame:
    """A row for each, in the order of the list, with the number of its first success."""
    return turns.group_by("rollout_id", maintain_order=True).agg(
        pl.col("target", "attack", "outcome").first(), turns=pl.len(), first=pl.col("succeeded").arg_true().first() + 1
    )


def opened(browser: Browser, rollout_id: str) -> None:
    """Wait until that rollout is shown."""
    browser.until(f"return document.querySelector('#rollout .rollout-id')?.textContent === {rollout_id!r}")


@pytest.mark.integration
def test_keys_walk_through_rollouts_and_turns(browser: Browser, page: Path, rollouts: pl.DataFrame) -> None:
    """Rollouts by j and k, turns by n and p, the first success by s; letters typed into the search stay letters."""
    ids = rollouts["rollout_id"].to_list()
    browser.open(page)
    # The transcript that the page says to read first is open, and the address is as it was.
    opened(
        browser,
        unquote(browser.run("return document.querySelector('#transcripts a').hash.split('=')[1].split('&')[0]")),
    )
    assert browser.run("return location.hash") == ""
    browser.run(IN_ORDER_OF_THE_LOG)
    browser.run("move(0); await show(state.shown[0]); document.body.tabIndex = -1; document.body.focus()")
    browser.press("j", "j")
    opened(browser, ids[2])
    browser.press("k")
    opened(browser, ids[1])
    browser.press("n")
    assert browser.run(FOCUSED) == "Turn 1"
    browser.press("n")
    assert browser.run(FOCUSED) == ("Turn 2" if rollouts["turns"][1] > 1 else "Turn 1")
    browser.press("p")
    assert browser.run(FOCUSED) == "Turn 1"
    place = rollouts.with_row_index().filter(pl.col("first") > 1)["index"][0]
    browser.run("move(given[0]); await show(given[0])", place)
    browser.press("s")
    assert browser.run(FOCUSED) == f"Turn {rollouts['first'][place]}"
    assert "attack succeeded" in browser.run("return document.activeElement.textContent")
    browser.press("/")
    assert browser.run(FOCUSED) == "find"
    browser.press("j", "s", "k")
    assert browser.run("return document.getElementById('find').value") == "jsk"
    browser.press("\ue00c")
    assert browser.run(FOCUSED) == "list"
    browser.press("?")
    assert browser.run("return document.getElementById('help').open") is True
    browser.press("\ue00c")
    assert browser.run("return document.getElementById('help').open") is False
    assert browser.told()[1] == []


@pytest.mark.integration
def test_the_list_is_walked_by_arrows_and_told_to_screen_readers(
    browser: Browser, page: Path, rollouts: pl.DataFrame
) -> None:
    """Arrows, Home, End move; Enter opens; the active option is named, and only what can be seen exists."""
    browser.open(page)
    browser.run(IN_ORDER_OF_THE_LOG)
    browser.run("document.getElementById('list').focus()")
    browser.press("\ue011", "\ue015", "\ue013")
    active = (
        "const one = document.getElementById(document.getElementById('list').getAttribute('aria-activedescendant'));"
    )
    seen = browser.run(f"{active} return [one.getAttribute('aria-posinset'), one.getAttribute('aria-setsize')]")
    assert seen == ["1", str(rollouts.height)]
    browser.press("\ue010")
    assert browser.run(f"{active} return one.getAttribute('aria-posinset')") == str(rollouts.height)
    browser.press("\ue007")
    opened(browser, rollouts["rollout_id"][-1])
    assert browser.run("return document.querySelectorAll('#rows > *').length") < 30
    browser.press("\ue011")
    assert browser.run(FOCUSED) in {"list", "rollout"}


@pytest.mark.integration
def test_filters_and_links_of_the_tables_choose_rollouts(browser: Browser, page: Path, rollouts: pl.DataFrame) -> None:
    """A choice in a list, and a number in a table of rates, show just those rollouts."""
    browser.open(page)
    browser.run(IN_ORDER_OF_THE_LOG)
    count = "return [state.shown.length, document.getElementById('count').textContent]"
    browser.run("""
      const select = document.querySelector('#filters [data-column=target]');
      select.value = [...select.options].find(one => one.textContent === 'target: base').value;
      select.dispatchEvent(new Event('change'));
    """)
    base = rollouts.filter(target="base").height
    assert browser.run(count) == [base, f"{base} of {rollouts.height} rollouts"]
    links = browser.run(
        "return [...document.querySelectorAll('#attack-success td a')].map(one => one.getAttribute('href'))"
    )
    assert len(links) == 4
    for target, attack in rollouts.select("target", "attack").unique().rows():
        link = f"#target={target}&attack={attack}&attack_success=yes"
        assert link in links
        browser.run("location.hash = given[0]; await new Promise(go => setTimeout(go, 50))", link)
        assert (
            browser.run("return state.shown.length")
            == rollouts.filter(target=target, attack=attack, outcome="success").height
        )
        chosen = browser.run(
            "return [...document.querySelectorAll('#filters select')].map(one => one.selectedOptions[0].textContent)"
        )
        assert f"target: {target}" in chosen
        # The first of them is open, not what was read before, and the address still says what was asked for.
        matching = rollouts.filter(target=target, attack=attack, outcome="success")
        opened(browser, matching["rollout_id"][0])
        browser.run("await new Promise(go => setTimeout(go, 400))")
        assert browser.run("return location.hash") == link


@pytest.mark.integration
def test_an_address_opens_a_rollout_at_a_turn(browser: Browser, page: Path, rollouts: pl.DataFrame) -> None:
    """A link to a rollout is in the address when it is read, opens it again, and says when there is none."""
    long = rollouts.filter(pl.col("turns") > 2)["rollout_id"][-1]
    browser.open(f"{page.as_uri()}#rollout={quote(long, safe='')}&turn=3")
    opened(browser, long)
    assert browser.run(FOCUSED) == "Turn 3"
    browser.run("await show(1); await new Promise(go => setTimeout(go, 500))")
    assert browser.run("return location.hash") == f"#rollout={quote(rollouts['rollout_id'][1], safe='')}"
    browser.run("location.hash = '#rollout=none'; await new Promise(go => setTimeout(go, 100))")
    assert "No rollout on this page has this ID: none" in browser.run(
        "return document.getElementById('rollout').textContent"
    )
    assert browser.told()[1] == []


@pytest.mark.integration
def test_search_finds_names_at_once_and_words_as_one_types(
    browser: Browser, page: Path, rollouts: pl.DataFrame
) -> None:
    """Typing looks at ids, goals and tasks, and soon at what was said: letters of either case, signs as they are."""
    browser.open(page)
    browser.run("document.getElementById('find').focus()")
    browser.press(*rollouts["rollout_id"][5])
    assert browser.run("return state.shown.length") >= 1
    browser.run("clear(); document.getElementById('find').focus()")
    browser.press(*"rare (WORD")
    # Nobody presses Enter. At the end the progress is gone, and the only match is open at its hit.
    browser.until("return state.words === 'rare (WORD' && state.searched === state.searching")
    opened(browser, rollouts["rollout_id"][-1])
    assert browser.run("return state.shown.map(one => state.index.ids[one])") == [rollouts["rollout_id"][-1]]
    assert browser.run("return document.getElementById('search').checkVisibility()") is False
    assert browser.run("return document.getElementById('count').textContent") == f"1 of {rollouts.height} rollouts"
    assert browser.run("return [...document.querySelectorAll('#rollout mark.now')].map(one => one.textContent)") == [
        "Rare (word"
    ]
    assert browser.run("return document.getElementById('clear').textContent") == "Clear filters (1)"
    browser.run("document.getElementById('clear').click()")
    assert browser.run("return [state.shown.length, document.getElementById('find').value]") == [rollouts.height, ""]
    assert browser.run("return document.getElementById('clear').checkVisibility()") is False
    # A search that is still running tells how far it is, and can be stopped.
    browser.run("""
      inflate = (was => async id => { await new Promise(go => setTimeout(go, 400)); return was(id); })(inflate);
      document.getElementById("find").value = "rare"; document.getElementById("find").dispatchEvent(new Event("input"));
      await new Promise(go => setTimeout(go, 500));
    """)
    assert browser.run("return document.getElementById('search').checkVisibility()") is True
    browser.run("document.getElementById('stop').click(); await new Promise(go => setTimeout(go, 500))")
    assert browser.run("return document.getElementById('search').checkVisibility()") is False
    assert browser.run("return state.hits.size") == 0


@pytest.mark.integration
def test_on_a_phone_every_filter_can_be_read(browser: Browser, page: Path) -> None:
    """What a filter and the order say of themselves is not cut."""
    browser.open(page, width=390, height=844)
    cut = browser.run("""
      return [...document.querySelectorAll("#tools select")].filter(one => {
        const alone = one.cloneNode();
        alone.append(new Option(one.selectedOptions[0].text));
        alone.style.flex = "none";
        one.after(alone);
        const needed = alone.offsetWidth;
        alone.remove();
        return needed > one.offsetWidth;
      }).map(one => one.selectedOptions[0].text);
    """)
    assert cut == []
