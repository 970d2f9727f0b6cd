"""Profiles of AISteer360's benchmarks: one row per trial, which `summarize` takes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from rollwise.errors import ArgumentError, meant
from rollwise.readers.formats.aisteer import Run, config_id
from rollwise.readers.problems import Problems
from rollwise.readers.records import json_text, parse
from rollwise.readers.sources.documents import Document

KEYS = {
    "rollout_id": pl.String,
    "pipeline": pl.String,
    "config_id": pl.String,
    "trial_id": pl.Int64,
    "params": pl.String,
}
BASELINE = "baseline"  # the id of a configuration without parameters in AISteer360's own `flatten_profiles`

Profiles = Mapping[str, Sequence[Mapping[str, Any]]]


def flatten_profiles(
    profiles: Profiles | str | Path, metric_accessors: Mapping[str, tuple[str, str]] | None = None
) -> pl.DataFrame:
    """Return one row per trial of a benchmark, with the figures of the whole trial as columns.

    `rw.summarize` of it, by pipeline and configuration, has the mean and the standard deviation over trials that AISteer360's
    `summarize_by_config` gives (but the deviation of a single trial is null, not 0), and intervals. Scores of single answers
    are in ``rw.read("profiles.json")``.

    Parameters
    ----------
    profiles
        The result of `Benchmark.run()`, or the path of a file that has it: ``profiles.json`` or ``scores.json``.
    metric_accessors
        Columns by name, each a metric and a key of its result: ``{"accuracy": ("MCQAAccuracy", "trial_mean")}``. By default
        every number, True and False becomes a column ``<metric>/<key>``.

    Returns
    -------
    polars.DataFrame
        `rollout_id` (text), `pipeline` (text), `config_id` (text: eight digits of a hash of the parameters, or ``baseline``
        without any), `trial_id` (integer), `params` (JSON text, or null), and the figures: Boolean, or Float64. A figure that a
        trial lacks, and NaN, is null.

    Raises
    ------
    ReadError
        If the file, or a run, is not as AISteer360 writes it.
    ArgumentError
        If no run has a metric that `metric_accessors` names, or its value is not a number.

    Examples
    --------
    >>> import rollwise as rw
    >>> def trial(number, accuracy, params):
    ...     return {"trial_id": number, "params": params, "evaluations": {"Accuracy": {"mean": accuracy}}}
    >>> steered = {"PASTA": {"alpha": 5.0}}
    >>> profiles = {"baseline": [trial(0, 0.8, {}), trial(1, 0.7, {})]}
    >>> profiles["pasta"] = [trial(0, 0.85, steered), trial(1, 0.95, steered)]
    >>> frame = flatten_profiles(profiles)
    >>> frame.select("pipeline", "config_id", "trial_id", "Accuracy/mean").row(0)
    ('baseline', 'baseline', 0, 0.8)
    >>> summary = rw.summarize(frame, by=["pipeline", "config_id"], statistics=["mean", "std"])
    >>> summary.select("pipeline", "statistic", "n", pl.col("estimate").round(3)).rows()
    [('baseline', 'mean', 2, 0.75), ('baseline', 'std', 2, 0.071), ('pasta', 'mean', 2, 0.9), ('pasta', 'std', 2, 0.071)]
    """
    name, problems = "profiles", Problems()
    content: Any = profiles
    if isinstance(profiles, str | Path):
        name = str(profiles)
        with problems.record(name):
            content = Document(Path(profiles)).value
    keys: list[dict[str, Any]] = []
    figures: list[dict[tuple[str, str], Any]] = []
    with problems.record(name):
        for pipeline, runs in parse(content, dict[str, list[Any]]).items():
            for number, value in enumerate(runs):
                with problems.record(name, f"{pipeline}[{number}]"):
                    run = parse(value, Run)
                    keys.append(
                        {
                            "rollout_id": f"{pipeline}/{number}",
                            "pipeline": pipeline,
                            "config_id": config_id(run.params) if run.params else BASELINE,
                            "trial_id": run.trial_id,
                            "params": json_text(run.params or None),
                        }
                    )
                    figures.append(_figures(run))
    return pl.DataFrame(keys, schema=KEYS).with_columns(_columns(figures, metric_accessors))


def _figures(run: Run) -> dict[tuple[str, str], Any]:
    """Return the values of a run that belong to the whole trial, by metric and key."""
    return {
        (metric, key): value.item() if getattr(value, "ndim", None) == 0 else value
        for metric, result in (run.evaluations or {}).items()
        for key, value in (result if isinstance(result, Mapping) else {"value": result}).items()
    }


def _columns(
    figures: list[dict[tuple[str, str], Any]], accessors: Mapping[str, tuple[str, str]] | None
) -> list[pl.Series]:
    """Return a column for each accessor; by default for each figure that is a number, True, False or null."""
    places = list(dict.fromkeys(place for run in figures for place in run))
    if accessors is None:
        # A text or a list in any run makes a figure no number.
        numeric = [place for place in places if all(_is_figure(run.get(place)) for run in figures)]
        accessors = {f"{metric}/{key}": (metric, key) for metric, key in numeric}
    columns = []
    for name, accessor in accessors.items():
        metric, key = accessor
        place = (metric, key)
        if figures and place not in places:
            available = [f"{metric}/{key}" for metric, key in places]
            raise ArgumentError(
                f"flatten_profiles: {name}={accessor!r} is in no run; {meant(f'{metric}/{key}', available)}"
            )
        values = [run.get(place) for run in figures]
        odd = next((value for value in values if not _is_figure(value)), None)
        if odd is not None:
            raise ArgumentError(f"flatten_profiles: {name}={accessor!r} is {odd!r:.60} in a run, not a number")
        # True and False are numbers in Python: a column of both kinds holds numbers.
        is_boolean = any(isinstance(value, bool) for value in values) and all(
            isinstance(value, bool | None) for value in values
        )
        column = pl.Series(name, values, dtype=pl.Boolean if is_boolean else pl.Float64, strict=False)
        columns.append(column if is_boolean else column.fill_nan(None))
    return columns


def _is_figure(value: object) -> bool:
    return value is None or isinstance(value, int | float)
