"""A group has one color in all figures of a report."""

import inspect
from pathlib import Path

import polars as pl
import pytest

from rollwise import plots
from rollwise.reports.figures import figures
from rollwise.reports.frames import frames


@pytest.mark.integration
@pytest.mark.parametrize("alone", [0, 9])
def test_colors_follow_the_group(alone: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three targets that share goals keep their colors, also where nine others fill the table of rates.

    The baseline is not among the rows of the comparison, so by its own names alone that figure would begin anew.
    """
    rows = [
        (f"{target}/{goal}/{attempt}", target, goal, (place + attempt) % (2 + len(target) % 2) == 0)
        for target in ["base", "guarded", "tuned", *(f"alone {k}" for k in range(alone))]
        for place, goal in enumerate([f"{target if target.startswith('alone') else 'g'}{k}" for k in range(6)])
        for attempt in range(1 if target.startswith("alone") else 2)
    ]
    turns = pl.DataFrame(rows, schema=["rollout_id", "target", "goal", "succeeded"], orient="row").with_columns(turn=1)
    found = frames(turns, by="target", cluster="auto", level=0.95, seed=0)
    seen: dict[str, set[str]] = {}

    def watch(name: str, marks: object) -> None:
        real = getattr(plots, name)

        def draw(frame: pl.DataFrame, **options: object) -> object:
            made = marks(frame, colors=options.get("colors"))  # type: ignore[operator]
            if made["group"].n_unique() <= 7:
                for group, color in made.select("group", "color").unique().rows():
                    seen.setdefault(group, set()).add(color)
            return real(frame, **options)

        monkeypatch.setattr(plots, name, draw)

    watch("contrast", inspect.unwrap(plots.contrast).__globals__["contrast_marks"])
    watch("attempts", inspect.unwrap(plots.attempts).__globals__["attempts_marks"])
    figures(found, tmp_path / "figures")
    assert {"base", "guarded", "tuned"} <= set(seen)
    assert {len(colors) for colors in seen.values()} == {1}
    assert len(set.union(*seen.values())) == len(seen)
