"""Natural options for `odd_calls.py`: values that a function is likely to take, by the name of its option."""

import inspect
import random
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import numpy as np
import polars as pl
from odd_frames import NATURAL, ODD, frames

import rollwise as rw

_COLUMNS = ["target", "attack", "goal", "category", "train_step"]
_METRICS = ["attack_success", "num_turns", "worst", "time_to_success", "refusal_rate"]
_CHOICES: dict[str, list[Any]] = {
    "by": [(), (), "target", "attack", ["target", "attack"], "category", "train_step", "extra"],
    "cluster": ["auto", "auto", None, "goal", "category", ("goal", "category"), "attempt"],
    "metric": _METRICS,
    "metrics": [None, *_METRICS, ["attack_success", "worst"]],
    "statistic": [None, "mean", "median", "q90"],
    "statistics": [None, "mean", ["mean", "median"], "std", "q05", "restricted_mean", "iqm", {"spread": np.ptp}],
    "of": ["target", "target", "target", "attack"],
    "members": ["attack", "attack", "target"],
    "choice": ["target", "target", "target", "attack"],
    "verdict": ["value", "value", "label"],
    "group": ["guarded"],
    "baseline": ["base", "base", "base", "ask", None],
    "level": [0.95, 0.5, [0.5, 0.95], 1e-300, 1 - 1e-16],
    "resamples": [100, 150],
    "seed": [0, 7, -1],
    "k": [1, 2, [1, 2, 3], 10, 1000],
    "strata": [None, None, "category"],
    "require": [
        "attack_success < 0.5",
        ["attack_success <= 10%", "median(num_turns) > 1"],
        "worst < 1 for target=base",
    ],
    "expect": [(), "target=base"],
    "at": [None, 0.5, [0.1, 0.5]],
    "competing": [("gave_up",), (), ("gave_up", "target_ended", "finished")],
    "better": [None, "higher", {"attack_success": "lower", "worst": "higher"}],
    "step": ["train_step", "attempt"],
    "columns": ["num_turns", ["num_turns", "worst"], "target"],
    "rows": ["target", "attack"],
    "selection": [None, pl.DataFrame({"target": ["base"]}), pl.DataFrame({"extra": [1, None]}), "no id"],
    "column": ["score", "response"],
    "condition": [pl.col("score") > 0.4],
    "where": [None, pl.col("n") > 3],
    "title": [None, "A title"],
    "colors": [None, {"base": "red"}],
    "x": [None, "attack_success"],
    "y": [None, "task_success", "worst"],
    "truth": ["label"],
    "stated": ["confidence"],
    "actual": [None, "attack_success"],
    "bins": ["bin", 4, 10],
    "rate": [0.1, None],
    "icc": [0.2, None],
    "below": [None, 0.3],
    "difference": [None, 0.1],
    "goals": [None, 20, [10, 20], 3],
    "attempts": [1, 2, [1, 3]],
    "turns": [2, 3],
    "keep": [None, "train_step"],
    "partition_by": [(), "target"],
    "draws": ["goals", "attempts"],
    "unread": [0, 0.1],
    "against_self": [0, 0, 2],
    "into": [None, "harm"],
    "on": [None, "rollout_id"],
    "instruction": ["length_constraints:number_words"],
    "confidence": ["confidence"],
    "correct": ["succeeded"],
    "axis": [None, "turn", "tokens"],
    "n": [None, 2],
    "most": [3, 10],
    "width": [None, 60],
    "weights": [{"attack_success": 1.0}],
    "prices": [None, {"m": (1.0, 2.0)}],
    "text": [True, False, "a text"],
    "progress": [False],
    "max_concurrency": [2],
    "timeout": [None],
    "store": [None],
    "ax": [None],
    "caption": [True],
    "storage_options": [None],
    "overwrite": [True],
    "force": [True, False],
    "address": [None],
    "chosen": [None, 10],
    "names": [None, ["base", "guarded"]],
    "format": [None],
    "errors": ["raise", "collect"],
    "cache": [None],
    "targets": [{"base": 0.1}, ["a", "b"], "a"],
    "better_of": [None],
    "schema": [rw.schema.TURNS, rw.schema.ROLLOUTS],
    "dtype": [pl.Int64(), pl.Boolean()],
    "name": [None, "mine"],
    "title_of": [None],
    "rollout_id": [None],
}
_SPECIAL: dict[tuple[str, str], list[Any]] = {
    ("comparisons.best", "metric"): ["attack_success", "task_success"],
    ("comparisons.best", "better"): [None, "higher"],
    ("audit", "claim"): ["attack success < 90%", ["attack success = 12.5%", "task success = 3/8"]],
    ("judges.plan_labels", "width"): [0.2, 0.9],
    ("changes", "of"): ["target"],
    ("changes", "cluster"): ["auto", "goal", "category"],
    ("changes", "baseline"): ["base"],
    ("changes", "metric"): ["attack_success", "task_success"],
    ("comparisons.curve_difference", "of"): ["target"],
    ("comparisons.curve_difference", "baseline"): ["base"],
    ("comparisons.curve_test", "of"): ["target"],
    ("comparisons.curve_test", "baseline"): ["base"],
    ("judges.join_verdicts", "judge"): ["a"],
    ("plan", "metric"): ["attack_success"],
    ("plan", "goals"): [20, [10, 20]],
    ("plots.pareto", "x"): ["attack_success"],
    ("plots.profile", "cluster"): ["auto", "goal", "category"],
    ("comparisons.portfolio", "cluster"): ["auto", "goal", "category"],
    ("plots.pareto", "y"): ["task_success"],
    ("plots.pareto", "better"): [None, {"attack_success": "lower", "task_success": "higher"}],
    ("plots.sweep_pareto", "x"): ["attack_success"],
    ("plots.sweep_pareto", "y"): ["task_success"],
    ("plots.pareto", "labels"): [None, "all"],
    ("plots.heat_map", "rows"): ["target"],
    ("plots.heat_map", "columns"): ["attack"],
    ("tables.pivot", "rows"): ["target"],
    ("tables.pivot", "columns"): ["attack"],
    ("tables.pivot", "metric"): ["attack_success"],
    ("tables.pivot", "statistic"): ["mean"],
    ("judges.detect_language", "text"): ["a text", "ein Text"],
}
NEEDED = {
    ("plan", "goals"),
    ("audit", "claim"),
    ("judges.label_page", "out"),
    ("judges.join_verdicts", "judge"),
    ("plots.pareto", "x"),
    ("plots.pareto", "y"),
    ("tables.pivot", "metric"),
    ("plots.marks.pareto", "x"),
    ("plots.marks.pareto", "y"),
    *((f"plots.{name}", "rollout_id") for name in ("timeline", "trace_tree", "trace_text")),
    *((f"plots.marks.{name}", "rollout_id") for name in ("timeline", "trace_tree")),
}
FRAMES = {"rollouts", "frame", "summary", "turns", "steps", "verdicts", "labels", "graphs"}


def _judge(response: str | None) -> float:
    return float(len(response or "") % 2)


def value_of(  # noqa: C901, PLR0911, PLR0912  # one line for each kind of option
    name: str, parameter: inspect.Parameter, rng: random.Random, folder: Path
) -> Any:
    """A natural value of an option."""
    if parameter.name == "out":
        return folder / f"out{rng.randrange(10**9)}{'.html' if name == 'judges.label_page' else ''}"
    if parameter.name == "path":
        return folder / f"file{rng.randrange(10**9)}.{rng.choice(['csv', 'csv', 'json', 'parquet'])}"
    if parameter.name in {"paths", "folder", "inputs"}:
        return () if parameter.name == "inputs" else str(_log(folder))
    if parameter.name == "judge" and name != "judges.join_verdicts":
        return _judge if name != "simulate" else None
    of_files = {"forecast", "trials", "references", "problems", "baseline", "figures", "labels"}
    if parameter.name in of_files and name in {"plots.attempts", "report", "gate", "audit"}:
        return None
    if name == "plots.pareto" and parameter.name in of_files - {"labels"}:
        return None
    if parameter.name == "by" and name.startswith("plots.") and "distribution" not in name:
        return None
    if parameter.name == "better" and name == "comparisons.pareto":
        return _CHOICES["better"][2]
    if name.startswith("metrics.") and parameter.name == "at":
        return 0.5
    special = _SPECIAL.get((name.replace("marks.", ""), parameter.name))
    if special is not None:
        return rng.choice(special)
    if parameter.name == "rollout_id":
        return frames()[NATURAL[name.replace("marks.", "")]]["rollout_id"][0]
    if name.startswith("plots.") and parameter.name in {"metric", "statistic", "level", "kind", "axis"}:
        return None if parameter.default is None else "worst"
    if parameter.name == "metric" and name.startswith(("curve", "comparisons.curve", "judges.correct_curve")):
        return "time_to_success"
    if (
        name in {"plots.sweep", "plots.sweep_pareto", "plots.marks.sweep", "plots.marks.sweep_pareto"}
        and parameter.name == "of"
    ):
        return "train_step"
    if name == "comparisons.pareto" and parameter.name == "by":
        return rng.choice([(), "target", "goal"])
    hint = parameter.annotation
    for choice in (hint, *get_args(hint)):
        if get_origin(choice) is Literal:
            return rng.choice(get_args(choice))
    if hint is bool:
        return rng.random() < 0.3
    if parameter.name in _CHOICES and (parameter.default is inspect.Parameter.empty or rng.random() < 0.6):
        return rng.choice(_CHOICES[parameter.name])
    return rng.choice(ODD) if parameter.default is inspect.Parameter.empty else parameter.default


@cache
def _log(folder: Path) -> Path:
    path = folder / "log.parquet"
    frames()["turns"].write_parquet(path)
    return path
