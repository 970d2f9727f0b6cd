"""Rollouts that a column says are no attacks: decided for whole rollouts, whatever other columns a table has."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.readers.native import batches
from rollwise.schema import TURNS


def mixed(turns_of_attack: int) -> pl.DataFrame:
    """Return six rollouts of two turns; only the last turns of r0 have an injection, r4 and r5 have none, r3 says nothing."""
    return pl.DataFrame(
        [
            {
                "rollout_id": f"r{k}",
                "turn": turn,
                "prompt": f"p{k} {turn}",
                "response": "x",
                "injected": k < 4 and not (k == 0 and turn <= 2 - turns_of_attack),
                "succeeded": k in {0, 5} and turn == 1,
            }
            for k in range(6)
            for turn in (1, 2)
        ]
    ).with_columns(injected=pl.when(pl.col("rollout_id") != "r3").then("injected"))


@pytest.mark.integration
@pytest.mark.parametrize("of_attack", [0, 1, 2])
@pytest.mark.parametrize("is_file", [True, False])
def test_a_rollout_with_a_turn_of_an_attack_is_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], of_attack: int, is_file: bool
) -> None:
    """Its success counts, of whichever turn it is; one that says nothing is no benign one."""
    frame = mixed(of_attack)
    path = tmp_path / "log.csv"
    frame.write_csv(path)
    turns = rw.read(path) if is_file else rw.turns(frame)
    count, successes = (3, 2) if of_attack == 0 else (2, 1)
    sentence = (
        f"`injected` is false for {count} of 6 rollouts, which are no attacks then: their verdicts ({successes} success"
    )
    assert sentence in capsys.readouterr().err
    rollouts = rw.measure(turns, rw.metrics.attack_success())
    assert rollouts["attack"].to_list() == ["none" if of_attack == 0 else None, *[None] * 3, "none", "none"]
    judged = rollouts.filter(pl.col("attack").is_null())
    assert (judged["attack_success"].sum(), judged["attack_success"].count()) == (2 - successes, 6 - count)


@pytest.mark.integration
@pytest.mark.parametrize("further", [{}, {"passed_x": "yes"}], ids=["alone", "beside a verdict"])
@pytest.mark.parametrize("name", ["category", "prompt_type", "attack", "kind"])
@pytest.mark.parametrize("way", ["frame", "lazy", "csv", "jsonl", "parquet", "files", "scan", "scan files"])
def test_benign_rollouts_are_set_apart_whatever_else_a_table_has(
    tmp_path: Path, name: str, further: dict[str, Any], way: str
) -> None:
    """Of twenty five are benign, two of them with a verdict that says yes: 5 of 15 with any further column, not 7 of 20."""
    rows = [
        {"rollout_id": f"r{k}", "turn": 1, "prompt": f"p{k}", "response": "x", "succeeded": k < 5 or k > 17}
        | {name: "benign" if k >= 15 else "fraud"}
        | further
        for k in range(20)
    ]
    frame = pl.DataFrame(rows).cast({name: TURNS.dtypes[name] for name in ("turn", "succeeded")})
    if way in {"frame", "lazy"}:
        turns = rw.turns(frame if way == "frame" else frame.lazy()).lazy().collect()
    elif way in {"csv", "jsonl"}:
        path = tmp_path / f"log.{way}"
        path.write_bytes((frame.write_csv() if way == "csv" else frame.write_ndjson()).encode())
        turns = rw.read(path)
    else:
        for number, part in enumerate(frame.iter_slices(5 if "files" in way else 20)):
            part.write_parquet(tmp_path / f"log{number}.parquet")
        turns = rw.scan(tmp_path).collect() if "scan" in way else rw.read(tmp_path)
    assert (turns["succeeded"].sum(), turns["succeeded"].count()) == (5, 15)
    assert (turns["attack"] == "none").sum() == 5
    assert turns["benign_verdict"].sum() == 2


def test_the_files_of_a_folder_are_benign_together(tmp_path: Path) -> None:
    """That all rollouts of one file are benign says something where those of another file are attacks."""
    for word, verdict in (("benign", "true"), ("fraud", "false")):
        (tmp_path / f"{word}.csv").write_text(
            f"rollout_id,turn,prompt,response,category,succeeded\n{word},1,p {word},r,{word},{verdict}\n"
        )
    turns = rw.read(tmp_path)
    assert turns.sort("rollout_id").select("attack", "succeeded").rows() == [("none", None), (None, False)]


def test_a_lazy_frame_without_benign_rollouts_stays_lazy() -> None:
    """Only the column that may say so is read: the prompts cannot be."""
    columns = {"rollout_id": ["a"], "turn": [1], "prompt": ["p"], "goal": ["g"], "category": ["fraud"]}

    def unread(_: pl.Series) -> pl.Series:
        raise AssertionError

    prompts = pl.col("prompt").map_batches(unread, return_dtype=pl.String)
    lazy = pl.LazyFrame(columns).with_columns(prompts, pl.col("turn").cast(TURNS.dtypes["turn"]))
    assert rw.turns(lazy).select("category").collect().item() == "fraud"


@pytest.mark.integration
def test_small_files_without_fractions_are_read_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing column of fractions was an error that read each by itself."""
    for k in range(4):
        row = {"rollout_id": [f"r{k}"], "turn": [1], "prompt": ["p"], "response": ["x"]}
        pl.DataFrame(row).cast({"turn": TURNS.dtypes["turn"]}).write_parquet(tmp_path / f"{k}.parquet")
    together: list[Any] = []
    original = batches.Batches._together

    def recorded(*options: Any) -> Any:
        together.append(original(*options))
        return together[-1]

    monkeypatch.setattr(batches.Batches, "_together", recorded)
    assert rw.read(tmp_path).height == 4
    assert together == [True]


@pytest.mark.integration
def test_rollouts_that_say_nothing_are_not_named_as_benign(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of three judged rollouts one may be no attack; of one nothing is known."""
    path = tmp_path / "log.csv"
    path.write_text("rollout_id,response,succeeded,is_adversarial\na,x,true,true\nb,x,true,\nc,x,false,false\n")
    rw.read(path)
    assert "`is_adversarial` is false for 1 of 3 rollouts: if" in capsys.readouterr().err


@pytest.mark.integration
@pytest.mark.parametrize(("name", "word"), [("category", "helpful"), ("type", "safe"), ("case_kind", "harmless")])
def test_prompts_that_ask_for_no_harm_are_said_to_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, word: str
) -> None:
    kinds = [word, "harmful"] * 6
    path = tmp_path / "log.jsonl"
    rows = [
        {"prompt": f"p{n}", "response": "Sure.", name: kind, "jailbroken": kind == word or n == 1}
        for n, kind in enumerate(kinds)
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    rw.read(path)
    said = f"`{name}` is {word} for 6 of 12 rollouts, and 6 of them count as successes: if they are no attacks"
    assert said in capsys.readouterr().err
