"""AISteer360's profiles as one row per trial: the figures of its own `flatten_profiles` and `summarize_by_config`."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import rollwise as rw
from rollwise.compat.aisteer import flatten_profiles
from rollwise.errors import ArgumentError, ReadError


def trial(number: int, accuracy: Any, params: dict[str, Any] | None = None, **evaluations: Any) -> dict[str, Any]:
    """A run as `Benchmark.run()` returns it."""
    return {
        "trial_id": number,
        "generations": [],
        "params": params or {},
        "evaluations": {"Accuracy": {"mean": accuracy, "each": [1.0, 0.0]}, **evaluations},
    }


def steered(alpha: float, **more: Any) -> dict[str, Any]:
    return {"PASTA": {"alpha": alpha, "layers": [8, 9], **more}}


PROFILES = {
    "baseline": [trial(0, 0.8), trial(1, 0.7)],
    "alpha_sweep": [
        trial(0, 0.6, steered(5.0)),
        trial(1, 0.65, steered(5.0)),
        trial(0, 0.7, steered(10.0)),
        trial(1, float("nan"), steered(10.0)),
        trial(2, 0.76, steered(10.0)),
    ],
    "fixed": [trial(0, 0.9)],
}


def test_the_summary_is_that_of_summarize_by_config() -> None:
    """The figures are the output of AISteer360 0.3.0's functions for these profiles; NaN was counted as a trial there."""
    frame = flatten_profiles(PROFILES, {"accuracy": ("Accuracy", "mean")})
    summary = rw.summarize(frame, by=["pipeline", "config_id"], statistics=["mean", "std"])
    assert summary["metric"].unique().to_list() == ["accuracy"]
    assert summary.select("pipeline", "config_id", "statistic", "n", "n_missing", "estimate").rows() == [
        ("alpha_sweep", "abef1b2a", "mean", 2, 0, pytest.approx(0.625)),
        ("alpha_sweep", "abef1b2a", "std", 2, 0, pytest.approx(0.0353553391)),
        ("alpha_sweep", "dea1d254", "mean", 2, 1, pytest.approx(0.73)),
        ("alpha_sweep", "dea1d254", "std", 2, 1, pytest.approx(0.0424264069)),
        ("baseline", "baseline", "mean", 2, 0, pytest.approx(0.75)),
        ("baseline", "baseline", "std", 2, 0, pytest.approx(0.0707106781)),
        ("fixed", "baseline", "mean", 1, 0, pytest.approx(0.9)),
        ("fixed", "baseline", "std", 1, 0, None),
    ]
    intervals = summary.filter(statistic="mean").select("low", "high")
    # t with one degree of freedom over two trials.
    assert intervals.row(2) == pytest.approx((0.75 - 12.7062047 * 0.05, 0.75 + 12.7062047 * 0.05))
    assert intervals.row(3) == (None, None)


def test_every_figure_is_a_column_and_trials_are_not() -> None:
    """Numbers, True and False of the whole trial; not lists of single answers, nor words."""
    result = {"passed": np.True_, "steps": np.int64(7), "why": "x"}
    frame = flatten_profiles({"a": [trial(0, 0.5, Judge=result, Speed=2.5)], "b": [trial(3, None)]})
    assert frame.schema == {
        "rollout_id": pl.String,
        "pipeline": pl.String,
        "config_id": pl.String,
        "trial_id": pl.Int64,
        "params": pl.String,
        "Accuracy/mean": pl.Float64,
        "Judge/passed": pl.Boolean,
        "Judge/steps": pl.Float64,
        "Speed/value": pl.Float64,
    }
    assert frame.drop("rollout_id").rows() == [
        ("a", "baseline", 0, None, 0.5, True, 7.0, 2.5),
        ("b", "baseline", 3, None, None, None, None, None),
    ]
    assert "trial_id" not in rw.summarize(frame)["metric"].to_list()


def test_parameters_that_are_functions_have_a_stable_id() -> None:
    """As AISteer360 hashes them: by qualified name."""
    assert flatten_profiles({"a": [trial(0, 0.5, steered(5.0, scorer=len))]})["config_id"].to_list() == ["ea667875"]


def test_a_file_is_read(tmp_path: Path) -> None:
    """`scores.json` has runs without their answers; the file is as good as what `run()` returned."""
    path = tmp_path / "scores.json"
    whole = {pipeline: [{**run, "generations": None} for run in runs] for pipeline, runs in PROFILES.items()}
    slim = {
        pipeline: [{name: value for name, value in run.items() if name != "generations"} for run in runs]
        for pipeline, runs in whole.items()
    }
    path.write_text(json.dumps(slim))
    assert flatten_profiles(path).equals(flatten_profiles(PROFILES))
    assert flatten_profiles(str(path), {"accuracy": ("Accuracy", "mean")})["accuracy"].null_count() == 1
    assert flatten_profiles({}).height == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "scores.json: "),
        ('{"a": [{"trial_id": 0, "evaluations": 7}]}', r"scores.json: record a\[0\]: field `evaluations`"),
        ("[1]", "scores.json: "),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: str, message: str) -> None:
    """In one sentence that names the file."""
    path = tmp_path / "scores.json"
    path.write_text(content)
    with pytest.raises(ReadError, match=message) as error:
        flatten_profiles(path)
    assert "\n" not in str(error.value)
    with pytest.raises(ReadError, match=r"no_such\.json"):
        flatten_profiles(tmp_path / "no_such.json")


def test_a_metric_must_be_there_and_a_number() -> None:
    """The names that exist are suggested."""
    with pytest.raises(ArgumentError, match=r"acc=\('Acuracy', 'mean'\) is in no run; .*Accuracy/mean"):
        flatten_profiles(PROFILES, {"acc": ("Acuracy", "mean")})
    with pytest.raises(ArgumentError, match=r"each=\('Accuracy', 'each'\) is \[1.0, 0.0\] in a run, not a number"):
        flatten_profiles(PROFILES, {"each": ("Accuracy", "each")})
