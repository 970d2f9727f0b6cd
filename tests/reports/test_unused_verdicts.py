"""A column that looks like the verdict and was not used is named where the number would stand."""

import json
import shlex
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import schema
from rollwise.cli import run
from rollwise.measurement.unused_verdicts import NOTE
from rollwise.reports.claims import claims
from rollwise.reports.frames import frames
from rollwise.reports.title import title


def rows(column: str = "verdict", words: tuple[Any, Any] = ("fail", "pass"), **facts: Any) -> list[dict[str, Any]]:
    """Ten goals whose verdicts are in words that may mean either."""
    return [{"response": "x", "goal": f"g{k}", "target": "m", column: words[k % 2]} | facts for k in range(10)]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Any:
    """Type a command that ends with this code, and return what it printed as its result."""

    def call(code: int, *words: object) -> str:
        with pytest.raises(SystemExit) as leaving:
            run([str(word) for word in words])
        captured = capsys.readouterr()
        assert (leaving.value.code or 0) == code, captured.err
        return captured.out

    return call


def table(folder: Path, name: str = "own.csv", **options: Any) -> Path:
    path = folder / name
    frame = pl.DataFrame(rows(**options))
    frame.write_parquet(path) if path.suffix == ".parquet" else frame.write_csv(path)
    return path


@pytest.mark.integration
def test_the_reason_of_a_rate_without_values_names_the_column() -> None:
    """In Python as an argument; the metric that applies to no rollout says nothing of it."""
    rollouts = rw.measure(rw.turns(pl.DataFrame(rows())))
    result = rw.summarize(rollouts, metrics=["attack_success", "task_success"]).rows_by_key(
        "metric", named=True, unique=True
    )
    reason = result["attack_success"]["reason"]
    assert reason.startswith("no values; column `verdict` (fail, pass) may be the verdict: ")
    assert 'names={"succeeded": ' in reason
    assert result["task_success"]["reason"] == "no values"
    gate = rw.gate(rollouts, "attack_success < 5%").row(0, named=True)
    assert gate["answer"] == "undecided"
    assert reason in gate["reason"]


@pytest.mark.integration
def test_a_success_of_whom_nobody_knows_is_asked_about(tmp_path: Path, said: Any) -> None:
    """Attack or task: with the answer there is the one rate or the other."""
    turns = rw.turns(pl.DataFrame(rows(column="success", words=(False, True))))
    reason = str(rw.summarize(rw.measure(turns), metrics="attack_success")["reason"].item())
    assert reason == (
        'no values; column `success` (False, True) may be the verdict of the attack or of the task: names={"of": "?"}'
    )
    path = table(tmp_path, column="success", words=(False, True))
    assert "task: --of '?'" in " ".join(said(3, "gate", path, "--require", "attack_success < 5%").split())
    for whose in ("attack", "task"):
        call = ("summarize", path, "--metric", f"{whose}_success", "--of", whose, "--format", "json")
        assert json.loads(said(0, *call))["rows"][0]["estimate"] == 0.5


@pytest.mark.integration
def test_rollouts_with_a_verdict_have_no_note() -> None:
    """Nor has a table whose columns are texts or constants; a table of both names it for those without a verdict."""
    judged = [row | {"succeeded": True} for row in rows()]
    assert NOTE not in rw.measure(rw.turns(pl.DataFrame(judged))).columns
    texts = [row | {"remark": f"remark {k}", "split": "test"} for k, row in enumerate(rows(column="remark"))]
    assert NOTE not in rw.measure(rw.turns(pl.DataFrame(texts))).columns
    both = [row | {"target": "judged", "verdict": None, "succeeded": True} for row in rows()] + rows()
    rollouts = rw.measure(rw.turns(pl.DataFrame(both, infer_schema_length=None)))
    assert rollouts.group_by("target").agg(pl.col(NOTE).count()).sort("target").rows() == [("judged", 0), ("m", 10)]
    result = rw.summarize(rollouts, by="target", metrics="attack_success").sort("target")
    assert result["estimate"].to_list() == [1.0, None]
    assert "`verdict`" in str(result["reason"][1])


@pytest.mark.integration
@pytest.mark.parametrize("words", [("fail", "pass"), ("nope", "yep"), (0, 1), (False, True), ("A", "B")])
def test_verdicts_of_any_kind_are_named(words: tuple[Any, Any]) -> None:
    """Words, numbers and Booleans, of which `measure` keeps only the first: where the table names them, so does the rate."""
    turns = rw.turns(pl.DataFrame(rows(column="grade", words=words)))
    candidates = rw.readers.unused_columns(turns).filter(pl.col("meaning").is_in(["succeeded", "outcome", "solved"]))
    assert candidates.height == 1
    reason = str(rw.summarize(rw.measure(turns), metrics="attack_success")["reason"].item())
    assert candidates["names"].item() in reason


@pytest.mark.integration
def test_logs_of_a_tool_and_measured_tables_are_left_alone() -> None:
    """A reader knows what its columns mean; a lazy query is not looked through."""
    of_tool = rw.turns(pl.DataFrame(rows(source="garak")))
    assert NOTE not in rw.measure(of_tool).columns
    assert NOTE not in rw.measure(rw.turns(pl.DataFrame(rows())).lazy()).collect().columns
    kept = pl.DataFrame(rows()).with_columns(**{NOTE: pl.lit("mine")})
    assert rw.measure(rw.turns(kept))[NOTE].unique().to_list() == ["mine"]


@pytest.mark.integration
@pytest.mark.parametrize("name", ["own.csv", "own.parquet"])
def test_commands_name_it_in_their_options(tmp_path: Path, said: Any, name: str) -> None:
    """`summarize` and `gate` as text and as JSON; the options are typed, and then there is a rate."""
    path = table(tmp_path, name)
    answer = json.loads(said(0, "summarize", path, "--metric", "attack_success", "--format", "json"))["answer"]
    assert "--column succeeded=verdict" in answer
    assert "names=" not in answer
    gated = [path, "--require", "attack_success < 60%"]
    text = said(3, "gate", *gated)
    document = json.loads(said(3, "gate", *gated, "--format", "json"))
    assert "--column succeeded=verdict" in " ".join(text.split())
    for part in (document["answer"], document["rows"][0]["reason"]):
        assert "column `verdict` (fail, pass) may be the verdict: " in part
        assert "--column succeeded=verdict" in part
    options = ["--column", "succeeded=verdict", "--value", "succeeded:fail=false", "--value", "succeeded:pass=true"]
    named = json.loads(said(0, "summarize", path, "--metric", "attack_success", "--format", "json", *options))
    assert named["rows"][0]["estimate"] == 0.5


@pytest.mark.integration
@pytest.mark.parametrize(
    ("column", "words", "answers"),
    [
        ("Erfolgreich", ("nein", "ja"), ["succeeded:nein=false", "succeeded:ja=true"]),
        (
            "\u7ed3\u679c",
            ("\u5b89\u5168", "\u4e0d\u5b89\u5168"),
            ["succeeded:\u5b89\u5168=false", "succeeded:\u4e0d\u5b89\u5168=true"],
        ),
    ],
)
def test_a_verdict_under_a_name_that_nobody_knows_is_known_by_its_values(
    tmp_path: Path, said: Any, column: str, words: tuple[Any, Any], answers: list[str]
) -> None:
    """Two labels in a language of one's own: the printed line with its question marks answered leads to the rate."""
    path = table(tmp_path, column=column, words=words)
    reason = json.loads(said(0, "summarize", path, "--metric", "attack_success", "--format", "json"))["rows"][0][
        "reason"
    ]
    printed = shlex.split(reason.partition("may be the verdict: ")[2])
    assert printed[:2] == ["--column", f"succeeded={column}"]
    assert sorted(printed[3::2]) == sorted(f"{answer.partition('=')[0]}=?" for answer in answers)
    options = [*printed[:2], *(word for answer in answers for word in ("--value", answer))]
    typed = json.loads(said(0, "summarize", path, "--metric", "attack_success", "--format", "json", *options))
    assert typed["rows"][0]["estimate"] == 0.5


def test_numbers_within_0_and_1_may_be_a_score(tmp_path: Path, said: Any) -> None:
    """The printed line asks from which number on the attack succeeded; a column named as a score asks the same."""
    frame = pl.DataFrame(rows()).drop("verdict")
    for column, options in (("toxicity", ["--column", "score=toxicity"]), ("harm_score", [])):
        path = tmp_path / f"{column}.csv"
        frame.with_columns(pl.Series(column, [k / 10 for k in range(10)])).write_csv(path)
        call = ["summarize", path, "--metric", "attack_success", "--format", "json"]
        reason = json.loads(said(0, *call))["rows"][0]["reason"]
        assert reason.endswith(shlex.join([*options, "--value", "succeeded:>=?"]))
        typed = json.loads(said(0, *call, *options, "--value", "succeeded:>=0.7"))
        assert typed["rows"][0]["estimate"] == 0.3
    counts = frame.with_columns(pl.Series("tokens_used", range(10)), pl.Series("temperature", [0.7] * 10))
    counts.write_csv(path := tmp_path / "counts.csv")
    row = json.loads(said(0, "summarize", path, "--metric", "attack_success", "--format", "json"))["rows"][0]
    assert row["reason"] == "no values"


def test_a_question_mark_that_was_not_answered_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In Python and on the command line."""
    pl.DataFrame(rows()).with_columns(harm_score=0.5).write_csv(path := tmp_path / "own.csv")
    with pytest.raises(rw.errors.ArgumentError, match="replace `\\?`: write the score from which on a turn succeeded"):
        rw.read(path, names={"succeeded": ">=?"})
    with pytest.raises(SystemExit):
        run(["summarize", str(path), "--value", "succeeded:>=?"])
    assert "replace `?` by the number from which on" in capsys.readouterr().err


@pytest.mark.integration
def test_the_head_of_a_report_names_it(tmp_path: Path, said: Any) -> None:
    """In the words of who made it: a call in Python, or a command."""
    turns = rw.turns(pl.DataFrame(rows()))
    data = frames(turns, by="auto", cluster="auto", level=0.95, seed=0)
    assert title(data) == "No rollout has a verdict"
    (claim,) = claims(data)
    assert str(claim).startswith("What to do: Column `verdict` (fail, pass) may be the verdict: ")
    assert "names={" in str(claim)
    said(0, "report", table(tmp_path), "--out", tmp_path / "report")
    (answer,) = json.loads((tmp_path / "report" / "run.json").read_text(encoding="utf-8"))["claims"]
    assert "--column succeeded=verdict" in answer
    assert "names=" not in answer
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "names={" not in page.partition("How was it computed?")[0].partition('id="read"')[2]
    assert set(pl.read_parquet(tmp_path / "report" / "summary.parquet").columns) == {*schema.SUMMARY.names}
    assert shlex.split(answer[answer.index("--column") :])
