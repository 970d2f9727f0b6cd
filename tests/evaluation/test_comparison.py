"""Two evaluations against each other: paired by item, with what changed."""

import json
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise.cli import run
from rollwise.errors import ArgumentError, ReadError
from rollwise.evaluation.comparison import changed, paired_runs, scores_in


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture
def runs(folder: Path, bench_in, items):
    """Two evaluations of six items: right in 1, 3, 5, then in 1, 2, 3, 5. The first test runs them, and all read them."""
    folders = [folder / "before", folder / "after"]
    if folders[1].exists():
        return folders
    bench = bench_in(folder)
    for name, better in (("before", False), ("after", True)):
        items[1]["generated_answer"] = "it is 2" if better else "no"
        bench.data(items)
        general = {"output_dir": str(bench.folder / name), "workflow_alias": name}
        bench.config({"match": {"_type": "exact_match"}, "f1": {"_type": "token_f1"}}, general=general)
        bench.run(skip_workflow=True)
    return folders


@pytest.mark.integration
def test_changed_items_are_named(runs) -> None:
    """Item 2 went from wrong to right."""
    found = changed(*runs).filter(metric="match")
    assert found.rows() == [("2", 1, "match", 0.0, 1.0, 1.0)]
    assert changed(runs[0], runs[0]).is_empty()


@pytest.mark.integration
def test_runs_are_paired_by_item(runs) -> None:
    """A difference of one item in six, and all six are pairs."""
    rollouts = paired_runs(*runs)
    rw.schema.check(rollouts, rw.schema.ROLLOUTS)
    assert set(scores_in(rollouts)) == {"match", "f1"}
    row = rw.contrast(rollouts, of="run", baseline="before", metrics="match").row(0, named=True)
    assert row["difference"] == pytest.approx(1 / 6)
    assert (row["group"], row["baseline"], row["n_pairs"]) == ("after", "before", 6)
    assert row["low"] < 1 / 6 < row["high"]


@pytest.mark.integration
def test_each_run_is_read_once(runs, monkeypatch, capsys) -> None:
    """Whatever is asked of its items: which are scores, what changed, and the contrast."""
    read: list[str] = []
    real = pl.read_parquet

    def noted(path: Path) -> pl.DataFrame:
        read.append(path.parent.name)
        return real(path)

    monkeypatch.setattr(pl, "read_parquet", noted)
    with pytest.raises(SystemExit):
        run(["contrast", *map(str, runs), "--format", "json"])
    assert read == ["before", "after"]
    assert "match of item 2, attempt 1: 0 -> 1" in capsys.readouterr().err


def test_runs_of_one_name_are_called_by_their_folders(bench, items, capsys) -> None:
    """Without an alias both are called `eval`, and what people have typed tells them apart; scores have few digits."""
    for name in ("last", "this"):
        items[1]["generated_answer"] = "it is 2" if name == "this" else "it is not so sure"
        bench.data(items)
        bench.config({"f1": {"_type": "token_f1"}}, general={"output_dir": str(bench.folder / name)})
        bench.run(skip_workflow=True)
    folders = [str(bench.folder / name) for name in ("last", "this")]
    with pytest.raises(SystemExit):
        run(["contrast", *folders, "--format", "json"])
    told = capsys.readouterr()
    assert [(row["group"], row["baseline"]) for row in json.loads(told.out)["rows"]] == [("this", "last")]
    assert all(len(line.split(" -> ")[-1]) <= 6 for line in told.err.splitlines() if " -> " in line)
    assert set(paired_runs(folders[0], folders[0])["run"]) == {"last (1)", "last (2)"}
    again = [pl.read_parquet(f"{folder}/items.parquet") for folder in folders]
    assert set(paired_runs(*again)["run"]) == {"eval (1)", "eval (2)"}


@pytest.mark.integration
def test_items_are_grouped_and_gated_by_their_scores(runs, capsys) -> None:
    """`items.parquet` is a table of rollouts to every command, though it holds prompts and answers."""
    items = str(runs[0] / "items.parquet")
    for words, expected in (
        (
            ["summarize", items, "--metric", "match", "--by", "task"],
            rw.summarize(pl.read_parquet(items), metrics="match", by="task"),
        ),
        (["gate", items, "--require", "match > 10%"], rw.gate(pl.read_parquet(items), "match > 10%")),
    ):
        with pytest.raises(SystemExit):
            run([*words, "--format", "json"])
        assert json.loads(capsys.readouterr().out)["rows"] == json.loads(expected.write_json())


def test_the_command_contrasts_two_runs(runs, capsys) -> None:
    """`rollwise contrast RUN_A RUN_B`: paired difference and interval on stdout, changed items on stderr."""
    with pytest.raises(SystemExit) as leaving:
        run(["contrast", *map(str, runs), "--format", "json"])
    told = capsys.readouterr()
    assert not leaving.value.code
    rows = {row["metric"]: row for row in json.loads(told.out)["rows"]}
    assert rows["match"]["difference"] == pytest.approx(1 / 6)
    assert "match of item 2, attempt 1: 0 -> 1" in told.err
    with pytest.raises(SystemExit) as leaving:
        run(["contrast", str(runs[0])])
    assert leaving.value.code == 2
    assert "two output folders of `rollwise eval`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--log-format", "inspect"], "--log-format is for"),
        (["--errors", "collect"], "--errors is for"),
        (["--fact", "target=x"], "--fact is for"),
        (["--fact", "target=x", "--errors", "collect"], "--errors, --fact is for"),
        (["--format", "yaml"], "--format"),
        (["--baseline", "afterwards"], "--baseline afterwards is not a value of `run`; available: after, before"),
    ],
)
def test_what_two_runs_cannot_heed_is_refused(runs, options: list[str], named: str, capsys) -> None:
    """Options of logs say so in one sentence, as two evaluations are no logs; nothing is ignored."""
    with pytest.raises(SystemExit) as leaving:
        run(["contrast", *map(str, runs), *options])
    told = capsys.readouterr()
    assert (leaving.value.code, told.out) == (2, "")
    assert named in told.err
    assert "Traceback" not in told.err


@pytest.mark.thinned(3)
@pytest.mark.parametrize("shown", ["table", "csv", "json", "jsonl"])
def test_two_runs_are_printed_in_every_format(runs, shown: str, capsys) -> None:
    """And against the run that is named, not only against the first."""
    with pytest.raises(SystemExit) as leaving:
        run(["contrast", *map(str, runs), "--format", shown, "--metric", "match", "--baseline", "after"])
    told = capsys.readouterr().out
    assert not leaving.value.code
    assert told.startswith({"json": '{"answer"', "jsonl": "{", "csv": "metric,"}.get(shown, ""))
    if shown == "json":
        assert [(row["group"], row["baseline"]) for row in json.loads(told)["rows"]] == [("before", "after")]
        assert json.loads(told)["rows"][0]["difference"] == pytest.approx(-1 / 6)


def test_what_the_data_set_says_is_no_score(bench, items, capsys) -> None:
    """A number in the data set is the same in both runs, and a score that one run lacks did not change; both are told apart."""
    bench.data([{**item, "difficulty": item["id"]} for item in items])
    for name, evaluators in (("before", {"match": {"_type": "exact_match"}}), ("after", {"f1": {"_type": "token_f1"}})):
        both = {"near": {"_type": "similarity"}, **evaluators}
        bench.config(both, general={"output_dir": str(bench.folder / name), "workflow_alias": name})
        bench.run(skip_workflow=True)
    folders = [str(bench.folder / name) for name in ("before", "after")]
    assert changed(*folders).is_empty()
    capsys.readouterr()
    with pytest.raises(SystemExit) as leaving:
        run(["contrast", *folders, "--format", "json"])
    told = capsys.readouterr()
    assert not leaving.value.code
    assert [row["metric"] for row in json.loads(told.out)["rows"]] == ["near"]
    assert told.err.splitlines() == [
        "rollwise: only one of the runs has f1, match; left out",
        "rollwise: 0 scores differ",
    ]
    assert "difficulty" in paired_runs(*folders).columns  # to group by
    frames = [pl.read_parquet(f"{folder}/items.parquet").drop("near") for folder in folders]
    for frame, folder in zip(frames, folders, strict=True):
        frame.write_parquet(f"{folder}/items.parquet")
    with pytest.raises(ArgumentError, match="no score in common: one has match, the other f1"):
        paired_runs(*folders)


def test_runs_of_different_data_are_refused(runs, folder: Path) -> None:
    """No item in common, no score in common, no run at all."""
    items = pl.read_parquet(runs[0] / "items.parquet")
    with pytest.raises(ArgumentError, match="no item in common"):
        paired_runs(items, items.with_columns(task=pl.format("{}x", "task")))
    with pytest.raises(ArgumentError, match="no score in common"):
        paired_runs(items.drop("f1"), items.drop("match"))
    with pytest.raises(ReadError, match="holds no evaluation"):
        paired_runs(folder, items)


def test_items_of_one_run_alone_are_changed_items(runs) -> None:
    """What is not known in one of the runs is null there."""
    items = pl.read_parquet(runs[0] / "items.parquet")
    found = changed(items, items.filter(pl.col("task") != "6")).filter(metric="match")
    assert found.rows() == [("6", 1, "match", 0.0, None, None)]


def test_repeats_give_pass_at_k(bench, items) -> None:
    """Of an item answered right in one of two attempts: pass@1 is a half, pass@2 is 1, pass^2 is 0."""
    pytest.importorskip("rollwise.estimation.attempts", reason="rw.attempts is not there yet")
    bench.data([{"id": 1, "question": "q", "answer": "1"}])
    log = bench.folder / "log"
    workflow = {"_type": "function", "function": "workflows:count", "kwargs": {"log": str(log)}}
    bench.config({"match": {"_type": "choice_match"}}, workflow=workflow, general={"max_concurrency": 1})
    bench.run(reps=2)
    found = pl.read_parquet(bench.out / "attempts.parquet")
    told = {(kind, at): value for kind, at, value in found.select("kind", "at", "estimate").iter_rows()}
    assert told == {("pass@k", 1.0): 0.5, ("pass@k", 2.0): 1.0, ("pass^k", 1.0): 0.5, ("pass^k", 2.0): 0.0}
    assert found["metric"].unique().to_list() == ["match"]
    assert not found.filter(pl.col("estimand").str.contains("goal|broken|attack")).height
    assert found["estimand"][1].startswith("share of tasks")
