"""What a verb refuses takes one section of a report, which says why: other judges, and options that these rollouts do not allow."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ArgumentError
from rollwise.reports.claims import claims
from rollwise.reports.frames import Frames, frames
from rollwise.reports.results import results
from rollwise.reports.title import title

Arm = tuple[str, str, str | None, int]  # target, attack, judge and how many of 20 goals were broken


def judged(*arms: Arm) -> pl.DataFrame:
    """TURNS of one turn: the same 20 goals for each target and attack."""
    rows = [
        {"rollout_id": f"{target}/{attack}/{goal}", "turn": 1, "target": target, "attack": attack, "goal": f"g{goal}"}
        | {"judge": judge, "succeeded": goal < broken, "prompt": "p", "response": "r"}
        for target, attack, judge, broken in arms
        for goal in range(20)
    ]
    return rw.turns(pl.DataFrame(rows, schema_overrides={"judge": pl.String}))


def found_in(turns: pl.DataFrame, **more: Any) -> Frames:
    """The frames of a report."""
    options: dict[str, Any] = {"by": "auto", "cluster": "auto", "level": 0.95, "seed": 0} | more
    return frames(turns, **options)


def notes(found: Frames, section: str) -> list[str]:
    """The notes of a section, also those in a list."""
    parts = [part for one in results(found, {}, 0.95) if one.id == section for part in one.parts]
    return [
        text
        for part in parts
        for text in ([part.text] if part.kind == "note" else part.lines if part.kind == "list" else [])
    ]


ALL_APART = (
    "Not compared across judges: `judge` x: a; `judge` y: b. A difference of judges would look like one of targets."
)


def test_two_judges_make_a_page_without_an_order(tmp_path: Path) -> None:
    """Title, claims and section say the range, who judged whom, and nothing on which is higher."""
    turns = judged(("a", "p", "x", 18), ("b", "p", "y", 2))
    found = found_in(turns)
    assert title(found) == "Attacks reach 10 to 90 % in 2 groups, which did not have the same judge"
    (claim,) = claims(found)
    assert claim.value == "10 % to 90 %"
    assert claim.detail == "`judge` x: a; `judge` y: b, so that this does not say which is higher"
    assert found.contrasts.is_empty()
    assert found.headline is not None
    assert found.headline.differences.is_empty()
    assert notes(found, "contrasts") == [ALL_APART]
    page = rw.report(turns, tmp_path / "report", progress=False).read_text()
    assert ALL_APART in page
    assert "highest of" not in page


@pytest.mark.integration
def test_the_same_judge_is_compared_beside_another() -> None:
    """The p-value is that of the comparison alone: pairs of other judges are no part of its family."""
    turns = judged(("a", "p", "x", 18), ("b", "p", "x", 2), ("c", "p", "y", 10))
    found = found_in(turns)
    alone = rw.contrast(rw.measure(turns.filter(pl.col("target") != "c")), of="target", metrics="attack_success")
    columns = ["group", "baseline", "difference", "low", "high", "p_adjusted", "adjust", "n_pairs"]
    assert found.contrasts.select(columns).rows() == alone.select(columns).rows()
    assert notes(found, "contrasts") == [
        "Not compared across judges: `judge` x: a, b; `judge` y: c. A difference of judges would look like one of targets."
    ]
    assert title(found) == "Attacks reach 90 % on a, 10 % on b"


@pytest.mark.integration
def test_judges_of_attacks_are_told_apart_within_each() -> None:
    """Targets are compared within an attack, whose judge they share; attacks are not."""
    found = found_in(
        judged(*((target, attack, judge, 9) for target in "ab" for attack, judge in (("p", "x"), ("q", "y"))))
    )
    assert found.contrasts["of"].unique().to_list() == ["target"]
    assert found.contrasts["n_pairs"].to_list() == [20, 20]
    (note,) = notes(found, "contrasts")
    assert note.endswith("would look like one of attacks.")


@pytest.mark.integration
@pytest.mark.parametrize(
    ("judges", "compared"), [(("x", None), 1), (("x", None, "y"), 0), ((None, None), 1), (("x", "x"), 1)]
)
def test_a_judge_without_a_name_is_the_only_one_or_unknown(judges: tuple[str | None, ...], compared: int) -> None:
    """Where two are named, it is not known which of them an unnamed one is."""
    found = found_in(judged(*((name, "p", judge, 9) for name, judge in zip("abc", judges, strict=False))))
    assert found.contrasts.height == compared
    assert bool(notes(found, "contrasts")) is not bool(compared)


@pytest.mark.integration
@pytest.mark.parametrize("judge", ["x", "y", None])
def test_a_change_of_the_judge_since_the_earlier_report_is_said(judge: str | None) -> None:
    """It is compared, as that was asked for; the claim and the section say that the judges differ."""
    found = found_in(judged(("a", "p", "x", 18)), earlier=judged(("a", "p", judge, 2)))
    words = "ot the same judges (`judge` x: now; `judge` y: the earlier report)"
    assert [words in note for note in notes(found, "changes")] == ([True] if judge == "y" else [])
    assert any(words in claim.detail for claim in claims(found)) is (judge == "y")


@pytest.mark.integration
def test_a_verb_that_refuses_takes_its_section_alone(tmp_path: Path) -> None:
    """Attempts at a goal that are said to be independent have no rates over attempts; all else is there."""
    turns = rw.simulate(goals=12, attempts=3, turns=3, seed=1)[0].with_columns(run=pl.col("rollout_id").str.tail(1))
    found = found_in(turns, cluster="run")
    (note,) = notes(found, "attempts")
    assert note.startswith("Not computed: attempts: cluster='run' varies between attempts at the same goal")
    assert found.summary.height
    assert (
        note.removeprefix("Not computed: ")[:60].replace("'", "&#39;")
        in rw.report(turns, tmp_path / "report", cluster="run", progress=False).read_text()
    )


def test_an_earlier_report_without_the_cluster_is_not_compared() -> None:
    """The section says which column is missing, and not that nothing is in both."""
    now = judged(("a", "p", "x", 18), ("b", "p", "x", 2)).with_columns(lot=pl.col("goal").str.tail(1))
    (note,) = notes(found_in(now, earlier=now.drop("lot"), cluster="lot"), "changes")
    assert note.startswith("Not computed: cluster='lot': there is no such column")
    changed = found_in(now, earlier=now, cluster="lot").changes
    assert changed is not None
    assert changed["n_clusters"].to_list() == [10, 10]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("column", "said"),
    [("group", "the name of a result column"), ("tags", "a column of lists"), ("nothing", "no column")],
)
def test_what_is_invalid_as_such_is_refused_in_one_sentence(column: str, said: str) -> None:
    """A column that cannot group makes no report."""
    turns = judged(("a", "p", "x", 18)).with_columns(
        pl.col("target").alias("group"), tags=pl.concat_list("target", "goal")
    )
    with pytest.raises(ArgumentError, match=f"^report: .*{said}"):
        found_in(turns, by=column)
    with pytest.raises(ArgumentError, match=r"^cluster='nothing': there is no such column"):
        found_in(turns, cluster="nothing")


@pytest.mark.integration
@pytest.mark.parametrize("judges", [("x", "y"), ("x", "x"), ("x", None), (None, None)])
def test_the_analyses_that_are_offered_can_be_run(judges: tuple[str | None, str | None]) -> None:
    """The call of a comparison across judges would be refused: the list says so, and what is left to do."""
    turns = judged(*((name, "p", judge, 9) for name, judge in zip("ab", judges, strict=True)))
    offered = rw.doctor(turns)
    for call in offered.filter("valid")["call"]:
        eval(call, {"rw": rw, "m": rw.metrics, "turns": turns})
    (row,) = offered.filter(analysis="difference of rates, paired by goal").rows(named=True)
    assert row["valid"] is (judges != ("x", "y"))
    assert row["valid"] or row["reason"].startswith(
        "`judge` differs between values of `target`: judge all with the same"
    )
