# mypy: allow-untyped-defs
"""Rows without ids: every row is a rollout of its own, in one table and in several; what is equal is said, and never merged."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise.errors import SchemaError

ROWS = pl.DataFrame({"goal": ["g1", "g2"], "response": ["x", "y"], "jailbroken": [0, 1]})
WRITERS: dict[str, Any] = {
    "csv": pl.DataFrame.write_csv,
    "jsonl": pl.DataFrame.write_ndjson,
    "json": pl.DataFrame.write_json,
    "parquet": pl.DataFrame.write_parquet,
}


def written(folder: Path, **tables: pl.DataFrame) -> Path:
    """Write tables as CSV, under their names."""
    folder.mkdir(exist_ok=True)
    for name, frame in tables.items():
        frame.write_csv(folder / f"{name}.csv")
    return folder


def success(turns) -> tuple:
    """The number of rollouts, and the share of successes."""
    rollouts = rw.measure(turns, m.attack_success())
    return rollouts.height, rollouts["attack_success"].mean()


# ── ids ───────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_two_frames_stay_apart():
    assert success(pl.concat([rw.turns(ROWS), rw.turns(ROWS.with_columns(jailbroken=1))])) == (4, 0.75)


@pytest.mark.integration
@pytest.mark.parametrize("lazily", [False, True])
@pytest.mark.parametrize("by_id", [False, True])
def test_equal_frames_are_refused_and_the_advice_works(lazily, by_id):
    """Whether they are two runs or one table twice is not for rollwise to say."""
    turns = pl.concat([rw.turns(ROWS), rw.turns(ROWS.clone())])
    turns = turns.sort("rollout_id") if by_id else turns
    with pytest.raises(
        SchemaError, match=r"has turn 1 twice \(and 1 more row is such\).*keep rollouts of two tables apart"
    ):
        rw.measure(turns.lazy() if lazily else turns, m.attack_success()).lazy().collect()
    assert success(turns.unique(maintain_order=True)) == (2, 0.5)
    second = rw.turns(ROWS).with_columns(rollout_id="b/" + pl.col("rollout_id"))
    assert success(pl.concat([rw.turns(ROWS), second])) == (4, 0.5)


@pytest.mark.integration
def test_what_starts_from_turns_refuses_them_too(tmp_path):
    turns = pl.concat([rw.turns(ROWS), rw.turns(ROWS)])
    for call in (lambda: rw.report(turns, tmp_path / "r.html"), lambda: rw.doctor(turns), lambda: rw.turns(turns)):
        with pytest.raises(SchemaError, match=r"apart before `pl\.concat`"):
            call()


@pytest.mark.integration
@pytest.mark.parametrize("change", [{"goal": ["g2", "g1"]}, {"note": ["", ""]}, {"jailbroken": [1, 1]}])
def test_a_frame_with_another_cell_or_column_has_other_ids(change):
    other = ROWS.with_columns(pl.Series(name, values) for name, values in change.items())
    assert {*rw.turns(ROWS)["rollout_id"]}.isdisjoint(rw.turns(other)["rollout_id"])
    assert rw.turns(ROWS)["rollout_id"].to_list() == rw.turns(ROWS.lazy()).collect()["rollout_id"].to_list()


@pytest.mark.integration
@pytest.mark.parametrize("suffix", list(WRITERS))
def test_files_of_a_folder_stay_apart_and_are_runs(suffix, tmp_path):
    for name, verdicts in {"gpt": [0, 1], "llama": [1, 1]}.items():
        WRITERS[suffix](ROWS.with_columns(jailbroken=pl.Series(verdicts)), tmp_path / f"{name}.{suffix}")
    turns = rw.read(tmp_path)
    assert success(turns) == (4, 0.75)
    assert [run.partition("-")[0] for run in turns["run"]] == ["gpt", "gpt", "llama", "llama"]
    # Each is the same read by itself, and as the result of a scan.
    alone = pl.concat([rw.read(path) for path in sorted(tmp_path.iterdir())])
    assert alone.equals(turns)
    assert rw.scan(tmp_path).collect().equals(turns)


@pytest.mark.integration
def test_files_of_one_name_in_two_folders_stay_apart(tmp_path):
    written(tmp_path / "a", results=ROWS)
    written(tmp_path / "b", results=ROWS.with_columns(jailbroken=1))
    assert success(rw.read(tmp_path)) == (4, 0.75)
    assert rw.read(tmp_path)["run"].n_unique() == 2


@pytest.mark.integration
@pytest.mark.parametrize("num_files", [2, 3])
def test_equal_files_of_one_name_are_two_runs(num_files, tmp_path, capsys):
    """Tables of outcomes are soon the same: nothing says that the second is a copy, and it says so."""
    for place in range(num_files):
        written(tmp_path / f"model{place}", results=ROWS)
    turns = rw.read(tmp_path)
    assert success(turns) == (2 * num_files, 0.5)
    assert turns["run"].n_unique() == num_files
    assert "model0/results.csv" in capsys.readouterr().err


@pytest.mark.integration
def test_small_tables_are_read_together_as_each_by_itself(tmp_path, capsys):
    """One has a row twice, one states its run, one has blank lines, and one no rollouts."""
    tables = {f"f{place}": ROWS.with_columns(jailbroken=place % 2) for place in range(8)}
    tables |= {"twice": pl.concat([ROWS, ROWS[:1]]), "with_run": ROWS.with_columns(run=pl.lit("R"))}
    folder = written(tmp_path / "a", **tables)
    (folder / "f3.csv").write_text("goal,response,jailbroken\n\ng1,x,1\n\ng2,y,0\n")
    turns = rw.read(folder)
    assert "1 row repeats another row in every column, and none was left out" in capsys.readouterr().err
    alone = pl.concat([rw.read(path) for path in sorted(folder.iterdir())])
    assert alone.equals(turns)
    accounts = rw.readers.accounting(folder)
    assert accounts.select("records", "read").rows() == [(2, 2)] * 8 + [(3, 3), (2, 2)]


# ── runs ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_a_run_that_was_made_up_gives_way_to_the_user(tmp_path):
    path = written(tmp_path / "a", results=ROWS)
    for turns in (
        rw.read(path, run="last"),
        rw.read(path, run="last", columns="goal"),
        rw.scan(path, run="last").collect(),
        rw.read(path, run="last", cache=tmp_path / "cache"),
        rw.read(path, run="last", cache=tmp_path / "cache"),
    ):
        assert turns["run"].to_list() == ["last", "last"]
    both = pl.concat([rw.read(path, run="this"), rw.read(written(tmp_path / "b", r=ROWS[::-1]), run="last")])
    contrast = rw.contrast(rw.measure(both, m.attack_success()), of="run", baseline="last", metrics="attack_success")
    assert contrast.height == 1


@pytest.mark.integration
def test_the_run_of_a_chat_gives_way_and_a_run_that_is_stated_stays(tmp_path):
    (tmp_path / "chat.jsonl").write_text('{"messages": [{"role": "assistant", "content": "Hi"}]}\n')
    assert rw.read(tmp_path / "chat.jsonl", run="last")["run"].to_list() == ["last"]
    written(tmp_path, stated=ROWS.with_columns(run=pl.lit("mine-00000000")))
    assert rw.read(tmp_path / "stated.csv", run="last")["run"].to_list() == ["mine-00000000"] * 2


@pytest.mark.integration
def test_several_files_that_name_no_target_are_said(tmp_path, capsys):
    folder = written(tmp_path / "a", gpt=ROWS, llama=ROWS.with_columns(jailbroken=1))
    said = "2 files name no target, and `run` tells them apart"
    rw.read(folder)
    assert said in capsys.readouterr().err
    rw.read(folder, target="gpt")
    rw.read(folder / "gpt.csv")
    rw.read(written(tmp_path / "b", a=ROWS.with_columns(model=pl.lit("a")), b=ROWS.with_columns(model=pl.lit("b"))))
    assert said not in capsys.readouterr().err


# ── what is equal ─────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_equal_rows_count_and_are_said(tmp_path, capsys):
    rows = pl.concat([ROWS, ROWS, ROWS[:1]])
    folder = written(tmp_path / "a", results=rows)
    for call in (lambda: rw.turns(rows), lambda: rw.read(folder), lambda: rw.read(folder, errors="collect").frame):
        assert call().height == 5
        assert "3 rows repeat another row in every column, and none was left out" in capsys.readouterr().err
    rw.turns(ROWS)
    assert "repeat" not in capsys.readouterr().err
    # Under ids, without numbers: the same sentence of a conversation's turns.
    turns = rw.turns(pl.DataFrame({"rollout_id": ["a", "a", "b"], "response": "No"}))
    assert turns.height == 3
    assert "1 row repeats another row in every column" in capsys.readouterr().err


@pytest.mark.integration
@pytest.mark.parametrize(
    ("second", "is_said"),
    [
        (pl.concat([ROWS, ROWS.with_columns(goal=pl.lit("h"))]), True),  # an export that holds the older one
        (ROWS, True),  # a copy
        (ROWS[::-1], True),  # in another order
        (ROWS[:1], True),
        (ROWS.with_columns(jailbroken=1), False),
        (pl.concat([ROWS[:1], ROWS[:1]]), False),  # a row as often as it stands here
    ],
)
def test_a_file_whose_rows_are_all_in_another_is_said(second, is_said, tmp_path, capsys):
    folder = written(tmp_path / "a", monday=ROWS, tuesday=second)
    assert rw.read(folder)["rollout_id"].n_unique() == ROWS.height + second.height
    assert ("as well, and count twice" in capsys.readouterr().err) == is_said


@pytest.mark.integration
def test_a_corrected_copy_is_said(tmp_path, capsys):
    rows = pl.concat([ROWS.with_columns(note=place) for place in range(10)])
    verdicts = pl.Series("jailbroken", [1, *rows["jailbroken"][1:]])
    folder = written(tmp_path / "a", first=rows, second=rows.with_columns(verdicts))
    assert rw.read(folder).height == 40
    assert "19 of 20 rows of second.csv are in first.csv as well, and count twice" in capsys.readouterr().err


@pytest.mark.integration
@pytest.mark.parametrize("with_ids", [True, False])
def test_an_older_export_of_chats_is_said(with_ids, tmp_path, capsys):
    chats = [
        {**({"id": f"c{place}"} if with_ids else {}), "messages": [{"role": "assistant", "content": f"No {place}"}]}
        for place in range(5)
    ]
    for name, count in {"monday": 3, "tuesday": 5}.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(chat) + "\n" for chat in chats[:count]))
    assert rw.read(tmp_path).height == 8
    assert "all rows of monday.jsonl are in tuesday.jsonl as well, and count twice" in capsys.readouterr().err


@pytest.mark.integration
def test_one_answer_in_two_files_is_no_copy(tmp_path, capsys):
    for name in ("a", "b"):
        chat = {"id": name, "messages": [{"role": "assistant", "content": "No"}]}
        (tmp_path / f"{name}.json").write_text(json.dumps(chat))
    assert rw.read(tmp_path).height == 2
    assert capsys.readouterr().err == ""


def test_copies_of_many_files_are_said_in_one_line(tmp_path, capsys):
    written(tmp_path / "a", **{f"f{place}": ROWS.with_columns(note=place) for place in range(6)})
    written(tmp_path / "b", **{f"f{place} (copy)": ROWS.with_columns(note=place) for place in range(6)})
    assert rw.read(tmp_path).height == 24
    assert "all rows of 6 files are in others as well, and count twice (" in capsys.readouterr().err
