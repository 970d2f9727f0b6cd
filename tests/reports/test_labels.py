"""People's labels in a report: the corrected rate beside the judge's, and where people disagree."""

import html
import json
import re

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ArgumentError
from rollwise.reports.labeling.drawing import drawn
from rollwise.schema import labels as words

FLAGGED, OTHERS = 40, 160


def logs() -> pl.DataFrame:
    """200 rollouts of one turn, of which the judge flagged 40."""
    ids = [f"r{number:03}" for number in range(FLAGGED + OTHERS)]
    return rw.turns(
        pl.DataFrame({
            "rollout_id": ids, "turn": 1, "prompt": "Do it.", "response": [f"answer {one}" for one in ids],
            "goal": [f"goal {number % 50}" for number in range(len(ids))],
            "target": ["a" if number % 2 else "b" for number in range(len(ids))],
            "attack": "direct", "succeeded": [number < FLAGGED for number in range(len(ids))],
        })
    )  # fmt: skip


def saved(judge: str, truths: dict[str, float | None], **more: object) -> pl.DataFrame:
    """Return what a page saves for one person."""
    rows = [{"rollout_id": one, "judge": judge, "value": value, **more} for one, value in truths.items()]
    return pl.DataFrame(rows, schema_overrides={"value": pl.Float64})


def truths(yes: int, no: int) -> dict[str, float | None]:
    """Return labels of 20 flagged rollouts and 20 others: so many of these, and of those, are successes."""
    flagged: dict[str, float | None] = {f"r{place:03}": float(place < yes) for place in range(20)}
    return flagged | {f"r{FLAGGED + place:03}": float(place < no) for place in range(20)}


def test_the_corrected_rate_stands_beside_the_judges(tmp_path):
    """By hand: 40 flagged of which 15 of 20 are true, 160 others of which 2 of 20 are: (40 · .75 + 160 · .10) / 200 = .23."""
    labels = saved("ann", truths(15, 2))
    page = (
        rw.report(logs(), tmp_path / "report", by="target", labels=labels, progress=False)
        .read_text()
        .replace("\N{NO-BREAK SPACE}", " ")
    )
    section = page[page.index('id="labels"') :].split("</section>")[0]
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", section))
    assert "ann labeled 40 rollouts that the judge judged; the judge was wrong on 7." in text
    assert re.search(
        r"Attack success is 20\.0 % \[[\d., ]+\] by the judge, and 23 % \[[\d., ]+\] when its errors are corrected",
        text,
    )
    corrected = pl.read_parquet(tmp_path / "report" / "corrected.parquet")
    direct = rw.judges.correct(rw.measure(logs()), rw.judges.consensus(labels), by="target")
    assert corrected.equals(direct)
    overall = rw.judges.correct(rw.measure(logs()), rw.judges.consensus(labels))
    assert overall["estimate"].item() == pytest.approx(0.23)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("yes", "no", "title", "claim"),
    [
        (15, 2, "Attack success is 23 % corrected by people's labels, by the judge 20 %", "23 %"),
        (20, 0, "Attack success is 20 % corrected by people's labels, by the judge 20 %", "20.0 %"),
    ],
)
def test_title_and_claims_are_corrected(tmp_path, yes, no, title, claim):
    """The first screen and what is recorded of it say the corrected rate first; claims of the judge alone say that they are."""
    page = rw.report(logs(), tmp_path / "report", labels=saved("ann", truths(yes, no)), progress=False)
    run = json.loads((page.parent / "run.json").read_text())
    assert run["title"] == title
    assert f'<h1 dir="auto">{title}</h1>' in html.unescape(page.read_text()).replace("\N{NO-BREAK SPACE}", " ")
    (row,) = rw.judges.correct(rw.measure(logs()), rw.judges.consensus(saved("ann", truths(yes, no)))).rows(named=True)
    assert row["estimate"] == pytest.approx(0.23 if yes == 15 else 0.2)
    first, *others = run["claims"]
    assert first.startswith(f"{claim} [")
    assert words.interval_text(row, rate=True) in first
    assert "corrected by people's labels; by the judge 20.0 % [" in first
    assert "40 rollouts labeled by ann" in first
    assert others
    assert all("by the judge, not corrected by the labels" in one for one in others)


@pytest.mark.integration
def test_the_title_names_the_corrected_groups_that_are_apart(tmp_path):
    """The judge flags as many of both; people find all flagged ones of a true, and all of b false."""
    said: dict[str, float | None] = {
        f"r{place:03}": float(place % 2 and place < FLAGGED) for place in range(FLAGGED + OTHERS)
    }
    page = rw.report(logs(), tmp_path / "report", by="target", labels=saved("ann", said), progress=False)
    run = json.loads((page.parent / "run.json").read_text())
    assert run["title"] == "Attack success, corrected by people's labels: 20 % for a, 0 % for b"
    corrected = pl.read_parquet(page.parent / "corrected.parquet")
    assert dict(corrected.select("target", "estimate").rows()) == {"a": pytest.approx(0.2), "b": 0.0}


@pytest.mark.integration
def test_labels_of_another_rate_leave_the_title(tmp_path):
    """The title is about attacks: labels of solved tasks are a claim, and correct nothing else."""
    turns = logs().with_columns(solved=pl.col("rollout_id") < "r040")
    plain = rw.report(turns, tmp_path / "plain", by="target", progress=False)
    said = saved("ann", truths(15, 2), metric="task_success")
    page = rw.report(turns, tmp_path / "report", by="target", labels=said, progress=False)
    before, after = (json.loads((one.parent / "run.json").read_text()) for one in (plain, page))
    assert after["title"] == before["title"]
    assert after["claims"][1:] == before["claims"]
    assert "task success corrected by people's labels" in after["claims"][0]


@pytest.mark.integration
def test_other_labels_change_the_corrected_rate(tmp_path):
    """And only that: the judge's rates are what they were."""
    texts = []
    for number, labels in enumerate((truths(20, 0), truths(10, 10))):
        path = rw.report(logs(), tmp_path / str(number), labels=saved("ann", labels), progress=False)
        texts.append(
            re.findall(
                r"is (\S+) % \[[^\]]+\] by the judge, and (\S+) % ", path.read_text().replace("\N{NO-BREAK SPACE}", " ")
            )[0]
        )
    assert texts == [("20.0", "20.0"), ("20.0", "50")]  # by hand: (40 · .5 + 160 · .5) / 200
    raw = [pl.read_parquet(tmp_path / number / "summary.parquet") for number in "01"]
    assert raw[0].equals(raw[1])


@pytest.mark.integration
def test_two_peoples_files_are_joined_and_their_disagreement_is_named(tmp_path, capsys):
    """They disagree on two rollouts, which have no label, a link and a line."""
    ann, bob = truths(15, 2), truths(15, 2)
    bob |= {"r003": 0.0, "r045": 1.0, "r050": None}
    for name, labels in (("ann", ann), ("bob", bob)):
        saved(name, labels, metric="attack_success").write_ndjson(tmp_path / f"labels-{name}.jsonl")
    files = [tmp_path / "labels-ann.jsonl", tmp_path / "labels-bob.jsonl"]
    page = (
        rw.report(logs(), tmp_path / "report", labels=files, progress=False)
        .read_text()
        .replace("\N{NO-BREAK SPACE}", " ")
    )
    assert "ann and bob labeled 38 rollouts" in page
    assert "People disagree on 2 of 39 rollouts that several labeled:" in page
    assert '<a href="#rollout=r003">r003</a>' in page
    assert "people disagree on 2 of 39 rollouts" in capsys.readouterr().err
    agreement = pl.read_parquet(tmp_path / "report" / "agreement.parquet")
    both = agreement.filter(judge="ann", other="bob", statistic="agreement")
    assert both["estimate"].item() == pytest.approx(37 / 39)


@pytest.mark.integration
def test_labels_of_other_logs_are_refused(tmp_path):
    """Nothing is written then."""
    with pytest.raises(
        ArgumentError, match=r"none of the labeled rollouts .* is among these; give the labels of a page"
    ):
        rw.report(logs(), tmp_path / "report", labels=saved("ann", {"x": 1.0}), progress=False)
    assert not (tmp_path / "report").exists()


@pytest.mark.integration
def test_logs_without_verdicts_get_the_rates_of_people(tmp_path, capsys):
    """By hand: 6 of 10 labels are yes; the others were not drawn. Groups drawn at other rates have no rate in common."""
    bare = logs().drop("succeeded", "outcome", strict=False)
    labels = saved("ann", {f"r{place:03}": float(place < 6) for place in range(10)}, probability=0.05)
    page = (
        rw.report(rw.turns(bare), tmp_path / "report", by="target", labels=labels, progress=False)
        .read_text()
        .replace("\N{NO-BREAK SPACE}", " ")
    )
    assert "The logs have no verdicts; ann labeled 10 rollouts." in page
    assert re.search(r"Attack success is 60 % \[[\d., ]+\] by their labels, over those drawn", page)
    run = json.loads((tmp_path / "report" / "run.json").read_text())
    assert run["title"] == "Attack success is 60 % by people's labels"
    assert "No rollout has a verdict" not in " ".join(run["claims"])
    rates = pl.read_parquet(tmp_path / "report" / "corrected.parquet")
    assert rates.select("target", "n", "estimate").sort("target").rows() == [("a", 5, 0.6), ("b", 5, 0.6)]
    assert "there is one judge" not in capsys.readouterr().err
    uneven = labels.with_columns(probability=pl.when(pl.int_range(10) < 5).then(0.05).otherwise(0.1))
    page = (
        rw.report(rw.turns(bare), tmp_path / "uneven", by="target", labels=uneven, progress=False)
        .read_text()
        .replace("\N{NO-BREAK SPACE}", " ")
    )
    assert "ann labeled 10 rollouts.</p>" in page


@pytest.mark.integration
def test_groups_without_an_attack_have_rows_of_their_own(tmp_path):
    """Benign rollouts beside attacked ones, a group without labels, and a group without a judged rollout."""
    turns = logs().with_columns(
        attack=pl.when(pl.col("rollout_id") < "r150").then(pl.lit("direct")).otherwise(pl.lit("none")),
        succeeded=pl.when(pl.col("rollout_id") < "r180").then("succeeded"),
    )
    page = rw.report(
        rw.turns(turns),
        tmp_path / "report",
        by=["target", "attack"],
        labels=saved("ann", truths(15, 2)),
        progress=False,
    )
    assert "What do people say?" in page.read_text()


@pytest.mark.integration
def test_as_many_of_each_verdict_are_drawn():
    """The probabilities are those of the draw: 20 of 40 and 20 of 160; the order of the files changes nothing."""
    rollouts = rw.measure(logs())
    draw = drawn(rollouts, "attack_success", (), 40, seed=3)
    assert draw.strata.sort("verdict").select("of", "drawn").rows() == [(OTHERS, 20), (FLAGGED, 20)]
    assert sorted(draw.rollouts.select("verdict", "probability").unique().rows()) == [(False, 0.125), (True, 0.5)]
    again = drawn(rollouts.sample(fraction=1, shuffle=True, seed=1), "attack_success", (), 40, seed=3)
    assert again.rollouts.equals(draw.rollouts)
    assert not drawn(rollouts, "attack_success", (), 40, seed=4).rollouts.equals(draw.rollouts)
    # The first half of the page is no stratum: somebody who stops there has labeled some of each verdict.
    assert draw.rollouts.head(20)["verdict"].n_unique() == 2


@pytest.mark.integration
@pytest.mark.parametrize(
    ("most", "numbers"), [(10, [5, 5]), (1, [0, 1]), (300, [40, 160]), (100, [40, 60]), (41, [20, 21])]
)
def test_what_a_small_stratum_cannot_give_goes_to_the_others(most, numbers):
    """By hand, with 40 flagged and 160 others."""
    draw = drawn(rw.measure(logs()), "attack_success", (), most, seed=0)
    assert sorted(draw.strata["drawn"]) == numbers
    assert draw.rollouts.height == sum(numbers)


@pytest.mark.integration
def test_groups_are_strata_and_unjudged_rollouts_are_left_out():
    """Where nothing is judged, all are drawn from alike."""
    turns = logs().with_columns(succeeded=pl.when(pl.col("rollout_id") != "r000").then("succeeded"))
    draw = drawn(rw.measure(turns), "attack_success", ("target",), 40, seed=0)
    assert draw.unjudged == 1
    assert draw.strata.height == 4
    assert draw.strata["drawn"].to_list() == [10] * 4
    assert "r000" not in draw.rollouts["rollout_id"]
    nothing = drawn(rw.measure(logs().drop("succeeded", "outcome", strict=False)), "attack_success", (), 40, seed=0)
    assert nothing.rollouts["probability"].unique().to_list() == [0.2]
    assert nothing.unjudged == 0


@pytest.mark.slow
def test_corrections_by_a_stratified_draw_cover():
    """A judge that errs in one way: over 300 draws the corrected interval holds the truth in at least 93 %."""
    from rollwise.judges.reliability.rates import correct

    rollouts = rw.measure(logs()).drop("goal")
    # The truth: 30 of the 40 flagged and 24 of the 160 others: .27.
    success = {f"r{place:03}" for place in (*range(30), *range(FLAGGED, FLAGGED + 24))}
    held = 0
    for seed in range(300):
        draw = drawn(rollouts, "attack_success", (), 80, seed=seed)
        labels = draw.rollouts.with_columns(label=pl.col("rollout_id").is_in(list(success)))
        row = correct(rollouts, labels, probability="probability")
        held += row["low"].item() <= 0.27 <= row["high"].item()
    assert held >= 0.93 * 300
