"""A row with a column for each attempt is no prompt: the refusal says how each attempt becomes a row."""

from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ReadError

FACTS = {"model": ["a", "b"] * 3, "attack": ["x"] * 6, "goal": [f"How to do {i // 2}" for i in range(6)]}


@pytest.mark.integration
@pytest.mark.parametrize(
    ("first", "second", "values"),
    [
        ("try_1", "try_2", (0, 1)),
        ("Attempt 1", "Attempt 2", ("safe", "unsafe")),
        ("run1", "run2", (True, False)),
        ("seed_0", "seed_1", (0, 1)),
        ("Trial #1", "Trial #2", ("no", "yes")),
    ],
)
def test_attempts_beside_each_other_become_rows(
    first: str, second: str, values: tuple[object, object], tmp_path: Path
) -> None:
    """It was sent to `read_prompts`, which knows no verdicts; what the refusal says to type works once the `?` is filled in."""
    frame = pl.DataFrame(FACTS | {first: [*values] * 3, second: [values[1]] * 6})
    frame.write_csv(tmp_path / "wide.csv")
    with pytest.raises(ReadError) as told:
        rw.read(tmp_path / "wide.csv")
    said = str(told.value)
    assert (
        f"wide.csv: holds 2 attempts in a row (`{first}`, `{second}`): make a row of each, and name their verdict"
        in said
    )
    call = said.split("`")[-2].replace('"?"', '"succeeded"')
    turns = eval(call, {"rw": rw, "frame": frame})
    assert turns.height == 12
    assert turns["attempt"].unique().sort().to_list() == ([0, 1] if first.endswith("0") else [1, 2])
    rates = rw.summarize(rw.measure(turns, rw.metrics.attack_success()), metrics="attack_success")
    assert rates.select("n", "n_missing").row(0) == (12, 0)


@pytest.mark.parametrize("columns", [{"try_1": [0, 1] * 3}, {"tag_1": list("abcdef"), "tag_2": list("ghijkl")}, {}])
def test_goals_alone_are_prompts(columns: dict[str, list[object]], tmp_path: Path) -> None:
    """One column of numbers, or labels of other names, are no attempts beside each other."""
    pl.DataFrame(FACTS | columns).drop("model", "attack").write_csv(tmp_path / "prompts.csv")
    with pytest.raises(ReadError) as told:
        rw.read(tmp_path / "prompts.csv")
    assert "attempts in a row" not in str(told.value)
