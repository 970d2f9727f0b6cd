"""A file that was cut while it was written never replaces what a whole file says about the same rollouts."""

from pathlib import Path

import pytest

import rollwise as rw

GUARDED = Path(__file__).parents[2] / "data" / "rollouts" / "guarded.jsonl"


@pytest.mark.integration
@pytest.mark.parametrize("name", ["a.jsonl", "z.jsonl"], ids=["read first", "read last"])
def test_a_half_written_copy_does_not_shorten_a_rollout(tmp_path: Path, name: str) -> None:
    """Whichever file is read first, the rollout of the cut has all of its turns, and the shorter copy is a problem."""
    lines = GUARDED.read_text().splitlines(keepends=True)
    (tmp_path / "m.jsonl").write_text("".join(lines))
    # The cut is within a rollout of eight turns, in the middle of a line.
    ids = [line.split('"')[3] for line in lines]
    cut = next(place for place in range(200, len(ids)) if ids[place - 1] == ids[place] == ids[place + 1])
    (tmp_path / name).write_text("".join(lines[:cut]) + lines[cut][:40])
    turns, problems = rw.read(tmp_path, errors="collect")
    whole = rw.read(GUARDED)
    assert turns.height == whole.height
    assert turns.sort("rollout_id", "turn").equals(whole.sort("rollout_id", "turn"))
    (reason,) = problems.filter(record=ids[cut])["reason"]
    assert "perhaps half-written" in " ".join(problems["reason"])
    assert f"superseded by a version with more turns in {tmp_path / 'm.jsonl'}" in reason


@pytest.mark.integration
def test_copies_of_equal_length_keep_the_first(tmp_path: Path) -> None:
    """Two whole files with the same rollouts: the first one read is kept, and each rollout of the second is told."""
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text(GUARDED.read_text())
    turns, problems = rw.read(tmp_path, errors="collect")
    assert turns.height == rw.read(GUARDED).height
    assert problems.height == turns["rollout_id"].n_unique()
    assert all(file.endswith("b.jsonl") for file in problems["file"])
