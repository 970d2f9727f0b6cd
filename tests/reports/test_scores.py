"""Reports of what has scores or tasks and no verdict on an attack: the number that a file has comes first."""

import re
import shlex
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import schema
from rollwise.cli import run
from rollwise.reports.ends import of_rates, of_scores
from rollwise.reports.figures import figures
from rollwise.reports.frames import Frames, frames
from rollwise.reports.header import omissions, usual_title
from rollwise.reports.methods import methods
from rollwise.reports.results import results
from rollwise.reports.title import title


def made(rows: list[dict[str, Any]] | pl.DataFrame, **options: Any) -> Frames:
    turns = rw.turns(rows if isinstance(rows, pl.DataFrame) else pl.DataFrame(rows, infer_schema_length=None))
    usual: dict[str, Any] = {"by": "auto", "cluster": "auto", "level": 0.95, "seed": 0}
    return frames(turns, **usual | options)


def scored(*values: float | None, **facts: Any) -> list[dict[str, Any]]:
    """Rows of one turn with these scores."""
    return [
        {"response": "x", "goal": f"g{place}", "target": "m", "score": value} | facts
        for place, value in enumerate(values)
    ]


def section(data: Frames, name: str, images: Any = None) -> Any:
    return next((one for one in results(data, images or {}, 0.95) if one.id == name and one.parts), None)


def texts(part_of: Any, kind: str) -> list[str]:
    return [part.text for part in part_of.parts if part.kind == kind]


@pytest.mark.integration
def test_scores_alone_have_their_mean_at_the_top_and_in_the_summary() -> None:
    """Of 1 to 10 the mean is 5.5, as in `summarize`; nothing is said of attacks."""
    data = made(scored(*range(1, 11)))
    row = data.summary.row(
        by_predicate=(pl.col("metric") == "final_score") & (pl.col("statistic") == "mean"), named=True
    )
    assert (row["estimate"], row["n"]) == (5.5, 10)
    expected = rw.summarize(rw.measure(data.turns, rw.metrics.final("score")), metrics="final_score", statistics="mean")
    assert (row["low"], row["high"]) == expected.select("low", "high").row(0)
    assert of_scores(data, "final_score").startswith("The mean score is 5.5 [")
    assert of_scores(data, "final_score").endswith("] over 10 scored rollouts.")
    assert title(data) == "The mean score is 5.5 over 10 rollouts; no rollout has a verdict"
    assert usual_title(data) == "Evaluation report: m"
    assert omissions(data, 0) == "Nothing was left out: everything was read and scored."
    assert [one.id for one in results(data, {}, 0.95) if one.parts] == ["scores"]
    (table,) = [part.table for part in section(data, "scores").parts if part.table]
    assert [str(cell) for cell in table.rows[0]][2:] == ["5.5", "1 – 10", "10", "10"]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("values", "seen"),
    [
        ((1, 5, 10), "1 to 10"), ((1, 2, 5), "1 to 5"), ((0.0, 0.25, 1.0), "0 to 1"), ((-1.5, 3, 8), "−1.5 to 8"),
        ((0, 50, 100), "0 to 100"), ((7, 7, 7), "7"),
    ],
)  # fmt: skip
def test_the_threshold_is_asked_on_the_scale_that_was_seen(values: tuple[float, ...], seen: str) -> None:
    """Never with a number that the page made up."""
    (note,) = texts(section(made(scored(*values)), "scores"), "note")
    assert note == (
        f"No rollout has a verdict. From which score on (seen: {seen}) did the attack succeed? "
        "--value 'succeeded:?' with your number in place of `?` makes a rate of it."
    )


def typed(*words: object) -> int:
    """Type a command, and return its exit code."""
    with pytest.raises(SystemExit) as leaving:
        run([str(word) for word in words])
    return int(leaving.value.code or 0)


@pytest.mark.integration
def test_the_printed_threshold_makes_a_rate_once_it_is_filled_in(tmp_path: Path) -> None:
    """The option of the page is typed with a number, and refused with the question mark."""
    path = tmp_path / "scores.jsonl"
    pl.DataFrame(scored(*range(1, 11))).write_ndjson(path)
    page = rw.report(rw.read(path), tmp_path / "first", progress=False).read_text(encoding="utf-8")
    option = re.search(r"--value &#39;succeeded:\?&#39;", page)
    assert option is not None
    words = shlex.split(option[0].replace("&#39;", "'"))
    assert typed("report", path, "--out", tmp_path / "second", *[word.replace("?", "8") for word in words]) == 0
    assert rw.read(tmp_path / "second" / "turns.parquet")["succeeded"].sum() == 3
    assert typed("report", path, "--out", tmp_path / "third", *words) == 2


@pytest.mark.integration
def test_means_are_by_group_and_groups_apart_are_named(tmp_path: Path) -> None:
    """Each group has its mean and its figures; where the intervals tell groups apart, both ends are named."""
    rows = scored(*[1, 2, 3] * 5, target="low") + scored(*[7, 8, 9] * 5, target="high")
    data = made(rows)
    assert of_scores(data, "final_score").startswith("The mean score is highest for high: 8.00 [")
    assert ", and lowest for low: 2.00 [" in of_scores(data, "final_score")
    assert title(data) == "The mean score is 8 for high, 2 for low; no rollout has a verdict"
    drawn = figures(data, tmp_path / "figures")
    assert {"mean_final_score", "spread_final_score"} == drawn.keys()
    assert "high" in drawn["spread_final_score"].wide.split(">", 1)[0]  # its label
    alike = made(scored(*[1, 5, 9] * 5, target="a") + scored(*[1, 5, 9] * 5, target="b"))
    assert (
        "The mean score is 5.0 in 2 groups (15 rollouts each), which their intervals do not tell apart."
        in of_scores(alike, "final_score")
    )
    few = made(scored(1, 2, target="a") + scored(8, 9, target="b"))
    assert "groups that are too small to name" in of_scores(few, "final_score")


@pytest.mark.integration
def test_several_scores_each_have_a_part_and_the_question_names_the_column() -> None:
    """Rewards are added up over turns and are asked nothing; a score of one judge alone is named for the option."""
    rows = [
        {"response": "x", "goal": f"g{k}", "score_harm": float(k), "score_style": k / 10, "reward": k}
        for k in range(10)
    ]
    data = made(rows)
    assert set(data.scores) == {"total_reward", "final_score_harm", "final_score_style"}
    part = section(data, "scores")
    assert "All 10 rollouts have a harm score. Its values go from 0 to 9." in texts(part, "method")
    (note,) = texts(part, "note")
    assert "--column score=score_harm --value 'succeeded:?'" in note
    rewards = made([{"response": "x", "goal": f"g{k}", "reward": k} for k in range(10)])
    assert not texts(section(rewards, "scores"), "note")
    assert of_scores(rewards, "total_reward").startswith("The mean reward is 4.5 [")


@pytest.mark.integration
def test_a_rollout_without_a_score_is_counted() -> None:
    """A null is no zero."""
    data = made(scored(1, 2, None, 4, 5))
    assert omissions(data, 0) == "Left out of the means: 1 rollout without a score."
    assert omissions(data, 2) == "Left out of the means: 2 records or files not read, 1 rollout without a score."
    assert texts(section(data, "scores"), "method") == ["4 of 5 rollouts have a score. Its values go from 1 to 5."]


@pytest.mark.integration
def test_scores_of_turns_are_those_of_the_last_turn() -> None:
    """And the page says so."""
    rows = [
        {"rollout_id": f"r{k}", "turn": turn, "response": "x", "score": float(k + turn)}
        for k in range(4)
        for turn in (1, 2)
    ]
    data = made(rows)
    (text,) = texts(section(data, "scores"), "method")
    assert text == "All 4 rollouts have a score in the last turn. Its values go from 2 to 5."


@pytest.mark.integration
def test_scores_beside_verdicts_come_after_the_rates_and_ask_nothing() -> None:
    """A score that only repeats the verdict as 0 and 1 is not shown a second time."""
    rows = [row | {"succeeded": row["score"] > 5, "attack": "pair"} for row in scored(*range(1, 11))]
    data = made(rows)
    ids = [one.id for one in results(data, {}, 0.95) if one.parts]
    assert ids.index("attack-success") < ids.index("scores")
    assert not texts(section(data, "scores"), "note")
    assert of_rates(data, "attack_success").startswith("Attacks succeeded in ")
    twice = made([row | {"score": float(row["succeeded"])} for row in rows])
    assert twice.scores == ()
    assert section(twice, "scores") is None


def tasks(**facts: Any) -> list[dict[str, Any]]:
    return [{"response": "x", "task": f"t{k % 6}", "target": "m", "solved": k % 4 > 0} | facts for k in range(24)]


@pytest.mark.integration
@pytest.mark.parametrize("facts", [{}, {"attack": "none"}, {"goal": "one"}, {"attack": None, "score": 3.0}])
def test_a_file_of_tasks_has_a_report_of_tasks(facts: dict[str, Any]) -> None:
    """Neither title nor section nor count is about attacks where none was tried or judged; a goal is no attack."""
    data = made(tasks(**facts))
    assert usual_title(data) == "Evaluation report: m"
    assert section(data, "attack-success") is None
    assert results(data, {}, 0.95)[0].id == "task-success"
    assert omissions(data, 0) == "Nothing was left out: everything was read and judged."
    assert "attack_success" not in data.summary["metric"].to_list()
    assert "attack" not in title(data).lower()


def test_an_attack_that_nobody_judged_is_still_an_attack() -> None:
    """The section says that no result is known; tasks that were judged come before it."""
    unjudged = made(scored(*[None] * 10, attack="pair"))
    assert usual_title(unjudged) == "Red-team report: m"
    assert section(unjudged, "attack-success") is not None
    assert omissions(unjudged, 0) == "Left out of the rates: 10 rollouts unjudged."
    both = made(tasks(attack="injection"))
    assert [one.id for one in results(both, {}, 0.95)][:2] == ["task-success", "attack-success"]
    assert "24 rollouts unjudged (for attack success)" in omissions(both, 0)


@pytest.mark.integration
def test_nothing_known_is_said_to_be_unjudged() -> None:
    """Answers alone: no rate, no section of rates, and the rollouts are counted as unjudged."""
    data = made([{"response": "x", "goal": f"g{k}", "target": "m"} for k in range(10)])
    assert title(data) == "No rollout has a verdict"
    assert omissions(data, 0) == "Left out of the rates: 10 rollouts unjudged."
    assert section(data, "attack-success") is None
    row = data.summary.row(by_predicate=pl.col("metric") == "attack_success", named=True)
    assert (row["n"], row["n_undetermined"]) == (0, 10)


@pytest.mark.integration
def test_a_page_of_scores_is_whole(tmp_path: Path) -> None:
    """Its paragraph of methods speaks of scores, its figures are files, and a column of the user's keeps its name."""
    rows = scored(*[1, 4, 9] * 6, target="a") + scored(*[2, 4, 9] * 6, target="b")
    page = rw.report(
        rw.turns(pl.DataFrame(rows).with_columns(final_score=pl.lit("mine"))), tmp_path / "own", progress=False
    )
    assert pl.read_parquet(page.parent / "rollouts.parquet")["final_score"].unique().to_list() == ["mine"]
    page = rw.report(rw.turns(pl.DataFrame(rows)), tmp_path / "report", progress=False)
    text = page.read_text(encoding="utf-8")
    assert "Final score: " in text
    assert "Attack success: " not in text
    assert {file.name for file in (page.parent / "figures").iterdir()} == {
        "mean_final_score.svg",
        "spread_final_score.svg",
    }
    summary = pl.read_parquet(page.parent / "summary.parquet")
    assert set(summary.columns) == {"target", *schema.SUMMARY.names}
    assert summary.filter(metric="final_score")["statistic"].unique().sort().to_list() == [
        "max",
        "mean",
        "median",
        "min",
    ]


@pytest.mark.integration
def test_a_report_of_tasks_speaks_of_tasks(tmp_path: Path) -> None:
    """Sections, sentences and table names: no attack, no goal, no ASR; the transcripts name the task."""
    page = rw.report(rw.turns(pl.DataFrame(tasks(target="a") + tasks(target="b"))), tmp_path / "report", progress=False)
    seen = page.read_text(encoding="utf-8").partition("<main>")[2].partition('id="methods"')[0]
    words = re.sub(r"<[^>]+>", " ", re.sub(r"<(script|picture).*?</\1>", "", seen, flags=re.DOTALL))
    assert "Were the tasks solved?" in words
    assert "pass@k is the share of tasks that succeed at least once in k attempts" in words
    assert "pass@k and pass^k in numbers" in words
    assert not re.search(
        r"ASR|attack|goals? ", words.replace("goals (or tasks)", "").partition("All 48 transcripts")[0]
    )


@pytest.mark.integration
def test_a_score_of_one_value_is_a_sentence_and_no_figure(tmp_path: Path) -> None:
    """Bars of one value say nothing; a group without the score does not take the median of one that has it."""
    rows = scored(*range(12)) + scored(*[None] * 6, target="b") + scored(1.0, 1.0, target="b", attack="z")
    extra = [{"score_audit": 0.0 if row["target"] == "m" else None} for row in rows]
    data = made([{**row, **more, "attack": row.get("attack", "p")} for row, more in zip(rows, extra, strict=True)])
    assert data.scores == ("final_score", "final_score_audit")
    assert sorted(name for name in figures(data, tmp_path / "figures") if "audit" in name) == []
    part_of = section(data, "scores")
    assert "The audit score is 0 in all 12 scored rollouts." in texts(part_of, "finding")
    assert texts(part_of, "method")[1] == "12 of 20 rollouts have an audit score. It is the same in all."
    assert "Its values go from 0 to 11." in texts(part_of, "method")[0]
    # One value is the same as no other.
    alone = made([{**row, "score_audit": 0.0 if place == 0 else None} for place, row in enumerate(rows)])
    assert texts(section(alone, "scores"), "method")[1] == "1 of 20 rollouts has an audit score."
    for table in (part.table for part in part_of.parts if part.table):
        assert not any("– – –" in str(cell) for row in table.rows for cell in row)


@pytest.mark.integration
def test_statistics_of_one_score_are_one_sentence() -> None:
    """A paragraph for a paper names a score once, and every estimand stays in its table."""
    parts = methods(made(scored(1, 2, 3)), 0.95).parts
    assert parts[0].text.count("final_score,") == 1
    assert "Final score: mean, median, min and max of final_score, every rollout" in parts[0].text
    assert parts[1].table is not None
    rows = [row for row in parts[1].table.rows if row[0] == "final score"]
    assert [row[1].split(" ")[0] for row in rows] == ["mean", "median", "min", "max"]
