"""A report compared with an earlier one, paired by goal; and success over attempts."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import RollwiseError
from rollwise.reports.differences import since_earlier
from rollwise.reports.frames import frames
from rollwise.reports.repeats import repeats

OPTIONS: dict[str, Any] = {"by": "auto", "cluster": "auto", "level": 0.95, "seed": 0}


def judged(rate: int, *, target: str = "gpt", goals: str = "g", attempts: int = 5) -> pl.DataFrame:
    """TURNS of two attacks at ten goals, of which so many of the attempts at each succeed."""
    rows = [
        {"rollout_id": f"{attack}/{goal}/{k}", "target": target, "attack": attack, "goal": f"{goals}{goal}", "attempt": k + 1}
        | {"turn": 1, "succeeded": k < rate + (goal % 2), "response": "x"}
        for attack in ("pair", "tap")
        for goal in range(10)
        for k in range(attempts)
    ]  # fmt: skip
    return rw.turns(pl.DataFrame(rows))


def test_changes_are_paired_by_goal_in_each_group() -> None:
    """As `contrast` of the two editions of a group gives them."""
    now, before = judged(3), judged(1)
    data = frames(now, earlier=before, **OPTIONS)
    assert data.changes is not None
    assert data.changes.select("attack", "difference", "n_pairs").rows() == [
        ("pair", pytest.approx(0.4), 10),
        ("tap", pytest.approx(0.4), 10),
    ]
    editions = []
    for name, turns in (("now", now), ("before", before)):
        own_id = pl.format("{}{}", pl.lit(name), "rollout_id").alias("rollout_id")
        editions.append(rw.measure(turns).with_columns(own_id, pl.lit(name).alias("edition")))
    both = pl.concat(editions)
    expected = rw.contrast(both, of="edition", baseline="before", by="attack", metrics="attack_success", cluster="goal")
    assert data.changes.select("low", "high", "p_adjusted").equals(expected.select("low", "high", "p_adjusted"))
    text = since_earlier(data, {}, 0.95, 0).parts[0].text
    assert text.startswith("Of 2 rates, 2 rose and 0 fell by more than chance explains")


@pytest.mark.integration
def test_a_model_with_a_new_name_is_compared_with_the_old_one() -> None:
    """Both have several targets, and none in common: attacks are compared."""
    now = pl.concat([judged(3, target="gpt-6"), judged(3, target="claude-6").with_columns(pl.col("rollout_id") + "c")])
    before = pl.concat(
        [judged(1, target="gpt-5"), judged(1, target="claude-5").with_columns(pl.col("rollout_id") + "c")]
    )
    data = frames(now, earlier=before, **OPTIONS)
    assert data.by == ("target", "attack")
    assert data.changes is not None
    assert data.changes["attack"].to_list() == ["pair", "tap"]
    assert "target" not in data.changes.columns


@pytest.mark.integration
def test_nothing_in_common_is_said() -> None:
    """Other goals cannot be paired; without an earlier report there is no section."""
    data = frames(judged(3), earlier=judged(1, goals="other"), **OPTIONS)
    (part,) = since_earlier(data, {}, 0.95, 2).parts
    assert part.text == (
        "Nothing can be compared: no goal or task is judged both here and in the earlier report. "
        "2 records of the earlier logs could not be read."
    )
    assert since_earlier(frames(judged(3), **OPTIONS), {}, 0.95, 0).parts == []


@pytest.mark.integration
def test_the_earlier_report_is_a_folder_logs_or_turns(tmp_path: Path) -> None:
    """All three give the same page section; a folder without logs is refused before anything is written."""
    before = judged(1)
    rw.report(before, tmp_path / "old")
    logs = rw.write(before, tmp_path / "logs.parquet")
    changes = []
    for place, baseline in enumerate((tmp_path / "old", logs, before)):
        page = rw.report(judged(3), tmp_path / f"new {place}", baseline=baseline)
        assert '<section id="changes"' in page.read_text()
        changes.append(pl.read_parquet(page.parent / "changes.parquet"))
    assert changes[0].equals(changes[1])
    assert changes[0].equals(changes[2])
    (tmp_path / "empty").mkdir()
    with pytest.raises(RollwiseError, match="empty"):
        rw.report(judged(3), tmp_path / "refused", baseline=tmp_path / "empty")
    assert not (tmp_path / "refused").exists()


@pytest.mark.integration
def test_attempts_are_those_of_the_verb() -> None:
    """ASR@k and pass^k of the groups whose goals were tried several times; the table shows the first and the last k."""
    data = frames(judged(1), **OPTIONS)
    expected = rw.attempts(rw.measure(judged(1)), by="attack", k=(1, 2, 3, 4, 5))
    assert data.reach.select(expected.columns).equals(expected)
    section = repeats(data, {}, 0.95)
    table = next(part.table for part in section.parts if part.table)
    assert [column.name for column in table.columns][1:] == [
        "share of goals",
        *(f"k = {k} [95 %]" for k in range(1, 6)),
    ]
    assert [row[:2] for row in table.rows] == [
        [attack, kind] for attack in ("pair", "tap") for kind in ("ASR@k", "pass^k")
    ]


@pytest.mark.integration
def test_goals_crossed_with_tasks_have_no_attempts() -> None:
    """Each goal is tried with each task once: there is no k to draw, only the spread over goals."""
    rows = [
        {"rollout_id": f"{goal}/{task}", "turn": 1, "attack": "inject", "goal": f"g{goal}", "task": f"t{task}"}
        | {"succeeded": goal > task}
        for goal in range(6)
        for task in range(5)
    ]  # fmt: skip
    data = frames(rw.turns(pl.DataFrame(rows)), **OPTIONS)
    assert data.reach.is_empty()
    found, spread, text = repeats(data, {}, 0.95).parts
    assert found.text.startswith("Succeeded at least once: ")
    assert "ASR@k" not in text.text
    assert spread.table is not None


@pytest.mark.integration
def test_single_attempts_and_single_goals_have_no_section() -> None:
    """Nothing was repeated, or over too few goals to be a share."""
    assert repeats(frames(judged(1, attempts=1), **OPTIONS), {}, 0.95).parts == []
    one = judged(1).filter(pl.col("goal") == "g0")
    assert repeats(frames(one, **OPTIONS), {}, 0.95).parts == []
