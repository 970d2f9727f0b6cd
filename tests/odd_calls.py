"""Calls of every public function with odd frames and odd options, drawn from a seed.

`functions()` finds the functions by introspection, so that a new one cannot be forgotten. `call_of(seed)` draws one call, and
`problem_of(call)` runs it and says what is wrong with it, if anything: an error that is not turnwise's own, an error of several
lines, or a result that cannot be right. By hand, `python tests/odd_calls.py FIRST COUNT` runs many of them.
"""

import collections
import datetime as dt
import decimal
import inspect
import random
import sys
import tempfile
import time
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import polars as pl

import turnwise as tw
from turnwise import metrics as m
from turnwise.errors import TurnwiseError

ELSEWHERE = {
    "distributed.measure": "starts a cluster of Ray",
    "distributed.summarize": "starts a cluster of Ray",
    "evaluate": "runs what a configuration file names",
    "rollout.run": "runs the user's function",
    "metrics.metric": "a decorator: its options are checked where the module is imported",
    "tables.show": "prints; it is `tables.table`",
    "readers.leftovers": "a part for authors of readers, who pass a struct of msgspec",
    "readers.parse": "a part for authors of readers, who pass a struct of msgspec",
    "schema.empty": "takes a schema, which only turnwise makes",
    "schema.in_order": "takes TURNS that were checked",
    "schema.is_tree": "takes TURNS that were checked",
    "readers.split": "a part for authors of readers, who pass messages",
}
"""Functions that are not called here, and why."""


NO_RESULT = {
    *("judges.read_verdicts", "readers.read_summary", "rollout.read_prompts", "rollout.stored_runs", "steps"),
    "trees.flatten",
}
"""Functions that are only refused here: they read files, or graphs of objects, that are not made."""

NO_KINDS = {"judge", "judges.judge", "metrics.composite"}
"""Functions that check their options in another way."""


def functions() -> dict[str, Callable[..., Any]]:
    """Every public function: those of `turnwise`, and those of its namespaces."""
    found = dict(_public(tw, ""))
    return {name: function for name, function in found.items() if name not in ELSEWHERE}


def _public(module: Any, prefix: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in module.__all__:
        value = getattr(module, name)
        if isinstance(value, types.ModuleType):
            # Import lines of other projects, and the catalog, are not verbs.
            if name not in {"compat", "catalog"} and hasattr(value, "__all__"):
                yield from _public(value, f"{prefix}{name}.")
        elif inspect.isfunction(value):
            yield f"{prefix}{name}", value


# ── natural frames ────────────────────────────────────────────────────────────────────────────────────────────────────


@cache
def frames() -> dict[str, pl.DataFrame]:
    """A small frame of every kind, made by turnwise itself."""
    turns, _ = tw.simulate(
        targets={"base": 0.3, "guarded": 0.1}, attacks=["ask", "plead"], goals=8, attempts=3, turns=3, seed=1
    )
    score = pl.int_range(pl.len()) % 7 / 7
    turns = turns.with_columns(
        score=score, train_step=pl.col("attempt") * 10, seconds=score + 1, response_tokens=pl.lit(9, dtype=pl.Int64)
    )
    spent = [m.spent_to_success(axis) for axis in ("tokens", "seconds")]
    metrics = (m.attack_success(), m.time_to_success(), m.num_turns(), m.refusal_rate(), m.ever_refused(), *spent)
    rollouts = tw.measure(turns, *metrics, worst=pl.col("score").max(), keep="train_step")
    rollouts = rollouts.with_columns(task_success=pl.col("worst") > 0.3, confidence=pl.col("worst"))
    verdicts = turns.select("rollout_id", "turn", judge=pl.lit("a"), value=(pl.col("score") > 0.4).cast(pl.Float64))
    other = verdicts.with_columns(judge=pl.lit("b"), value=1 - pl.col("value") * (pl.col("turn") % 2))
    labels = verdicts.select("rollout_id", "turn", label=pl.col("value") > 0).with_columns(turns["succeeded"])
    fast = {"resamples": 100}
    few = {"metrics": ["attack_success", "worst", "task_success"], "statistics": ["mean", "q90"]}
    summary = tw.summarize(rollouts, by=["target", "attack"], **few, **fast)
    steps = pl.DataFrame(
        {
            "rollout_id": ["a", "a", "b"],
            "step": [1, 2, 1],
            "turn": [1, 1, 1],
            "kind": ["model", "tool", "model"],
            "name": ["m", "t", "m"],
            "start": [0.0, 1.0, 0.0],
            "end": [1.0, 2.0, 1.0],
            "tokens": [5, None, 7],
        }
    )
    tree, _ = tw.simulate(goals=2, attempts=1, turns=3, branches=2, give_up=0, target_ends=0, error=0, seed=1)
    binned = rollouts.with_columns(bin=(pl.col("confidence") * 4).floor() / 4)
    return {
        "turns": turns,
        "tree": tree,
        "rollouts": rollouts,
        "verdicts": pl.concat([verdicts, other]),
        "labels": labels,
        "rollout_labels": rollouts.select("rollout_id", label="attack_success"),
        "steps": steps,
        "summary": summary,
        "contrast": tw.contrast(rollouts, of="target", baseline="base", by="attack", **fast),
        "curve": tw.curve(rollouts, by="target"),
        "incidence": tw.curve(rollouts, by="target", kind="incidence"),
        "attempts": tw.attempts(rollouts, by="target", k=[1, 2]),
        "forecast": tw.forecast(rollouts, by="target", k=[5, 20], **fast),
        "profile": tw.profile(rollouts, by="target"),
        "training": tw.training(rollouts, by="target"),
        "trajectory": tw.trajectory(turns, by="target"),
        "agreement": tw.judges.agreement(pl.concat([verdicts, other]), **fast),
        "binned": tw.summarize(binned, by=["target", "bin"], metrics=["confidence", "attack_success"], **fast),
        "sweep": tw.summarize(rollouts, by=["train_step", "target"], metrics=["attack_success", "task_success"]),
        "gate": tw.gate(rollouts, "attack_success < 0.5"),
        "plan": tw.plan(rollouts, goals=[10, 20]),
        "portfolio": tw.portfolio(rollouts),
        "tradeoff": tw.tradeoff(rollouts, by="target"),
        "doctor": tw.doctor(turns),
        "best": summary,
        "pareto": rollouts.group_by("target", "goal", maintain_order=True).agg(pl.mean("attack_success", "worst")),
    }


NATURAL = {
    "plots.agreement": "agreement",
    "plots.attempts": "attempts",
    "plots.contrast": "contrast",
    "plots.curve": "curve",
    "plots.incidence": "incidence",
    "plots.profile": "profile",
    "plots.reliability": "binned",
    "plots.sweep": "sweep",
    "plots.sweep_pareto": "sweep",
    "plots.timeline": "turns",
    "plots.trace_text": "turns",
    "plots.trace_tree": "tree",
    "plots.training": "training",
    "plots.trajectory": "trajectory",
    "pareto": "pareto",
    "best": "summary",
    "plots.forest": "summary",
    "plots.heat_map": "summary",
    "plots.pareto": "summary",
    "plots.distribution": "rollouts",
    "gate": "rollouts",
    "turns": "turns",
    "trees.flatten": "tree",
    "trees.paths": "tree",
    "trees.measure_paths": "tree",
    "plan": "rollouts",
    "judges.correct": "rollouts",
    "schema.check": "turns",
    "schema.is_tree": "tree",
}
"""The frame that a function is meant for, where the name of its first argument does not say so."""


def _natural_frame(name: str, parameter: str, rng: random.Random) -> pl.DataFrame:
    if parameter == "labels":
        return frames()["rollout_labels" if name == "judges.correct" else "labels"]
    if parameter == "verdicts":
        return frames()["verdicts"]
    kind = NATURAL.get(name.replace("plots.marks.", "plots.")) or (parameter if parameter in frames() else "")
    if name.startswith("tables.") or name == "write":
        kind = rng.choice(list(frames()))
    if name == "tables.pivot":
        kind = "summary"
    return frames()[kind or rng.choice(list(frames()))]


# ── odd values and frames ─────────────────────────────────────────────────────────────────────────────────────────────

ODD: list[Any] = [
    *(None, True, False, 0, 1, 2, -1, 1.5, 0.5, 10**30, float("nan"), float("inf"), 1e-300, 1e308),
    *("", "x", "\ud800", "\0", "a" * 3000, "\ufffe", "target", "attack_success", b"x", "=1+1"),
    *([], [[]], [None], ["target", "target"], [0.5, 0.95], [1, 2], (), ("goal", "task"), ("a", 1), {}, {"a": 1}, {"x"}),
    *(range(3), np.array([1, 2]), np.array(0.9), np.float32(0.9), np.int64(3), decimal.Decimal("0.9"), object(), len),
    *(dt.date(2026, 1, 1), dt.timedelta(1), pl.col("x"), pl.lit(1), pl.Series("s", [1]), pl.DataFrame(), Path("x")),
]


def _odd_series(name: str, size: int, rng: random.Random) -> pl.Series:
    """A column of an odd dtype or with odd values."""
    words = [
        rng.choice(["a", "b", "", "none", "\0", "\ufffe", "x" * 3000, "=1+1", "$x_1$", "<b>"]) for _ in range(size)
    ]
    numbers = [rng.choice([0, 1, 2, 3, None]) for _ in range(size)]
    times = [
        {
            "duration": rng.choice([0, -5, 1, 2, 3, 100_000, 2**31 - 1, None]),
            "observed": rng.choice([True, False, None]),
        }
        for _ in range(size)
    ]
    makers: list[Callable[[], pl.Series]] = [
        lambda: pl.Series(name, words),
        lambda: pl.Series(name, words, dtype=pl.Categorical),
        lambda: pl.Series(name, words, dtype=pl.Enum(sorted(set(words)))),
        lambda: pl.Series(name, [word.encode() + b"\xff" for word in words], dtype=pl.Binary),
        lambda: pl.Series(name, [word[:3].split("x") for word in words], dtype=pl.List(pl.String)),
        lambda: pl.Series(name, [[1, None]] * size, dtype=pl.List(pl.Int64)),
        lambda: pl.Series(name, [[]] * size, dtype=pl.List(pl.Null)),
        lambda: pl.Series(name, [[1.0, 2.0]] * size, dtype=pl.Array(pl.Float64, 2)),
        lambda: pl.Series(name, [{"a": number} for number in numbers], dtype=pl.Struct({"a": pl.Int64})),
        lambda: pl.Series(name, times, dtype=pl.Struct({"duration": pl.Int64, "observed": pl.Boolean})),
        lambda: pl.Series(
            name,
            [{**t, "duration": rng.choice([1, 2**64 - 1])} for t in times],
            dtype=pl.Struct({"duration": pl.UInt64, "observed": pl.Boolean}),
        ),
        lambda: pl.Series(
            name,
            [{"duration": 1.5, "observed": rng.choice([True, False])}] * size,
            dtype=pl.Struct({"duration": pl.Float64, "observed": pl.Boolean}),
        ),
        lambda: pl.Series(
            name,
            [{"duration": "1", "observed": "x"}] * size,
            dtype=pl.Struct({"duration": pl.String, "observed": pl.String}),
        ),
        lambda: pl.Series(name, numbers, dtype=pl.Int8),
        lambda: pl.Series(name, numbers, dtype=pl.UInt8),
        lambda: pl.Series(name, [rng.choice([0, 2**64 - 1]) for _ in numbers], dtype=pl.UInt64),
        lambda: pl.Series(name, [rng.choice([0, 2**127 - 1]) for _ in numbers], dtype=pl.Int128),
        lambda: pl.Series(name, [rng.choice([-(2**63), 2**63 - 1, 0]) for _ in numbers], dtype=pl.Int64),
        lambda: pl.Series(name, numbers, dtype=pl.Float32),
        lambda: pl.Series(name, [rng.choice([0.0, 0.5, float("nan"), None]) for _ in numbers], dtype=pl.Float64),
        lambda: pl.Series(name, [rng.choice([0.0, float("inf"), -float("inf")]) for _ in numbers], dtype=pl.Float64),
        lambda: pl.Series(name, [rng.choice([0.0, 1e308, -1e308, 5e-324]) for _ in numbers], dtype=pl.Float64),
        lambda: pl.Series(
            name, [None if number is None else decimal.Decimal(number) for number in numbers], dtype=pl.Decimal(10, 2)
        ),
        lambda: pl.Series(name, [rng.choice([True, False, None]) for _ in numbers], dtype=pl.Boolean),
        lambda: pl.Series(name, [dt.date(2026, 1, 1 + (number or 0)) for number in numbers]),
        lambda: pl.Series(name, [dt.datetime(2026, 1, 1, number or 0) for number in numbers]),  # noqa: DTZ001
        lambda: pl.Series(name, [dt.timedelta(number or 0) for number in numbers]),
        lambda: pl.Series(name, [dt.time(number or 0) for number in numbers]),
        lambda: pl.Series(name, [None] * size, dtype=pl.Null),
        lambda: pl.Series(name, [object() for _ in numbers], dtype=pl.Object),
    ]
    return rng.choice(makers)()


def _mutate(frame: pl.DataFrame, rng: random.Random) -> Any:
    """The frame with one thing changed."""
    column = rng.choice(frame.columns) if frame.columns else "x"
    size = frame.height
    match rng.randrange(14):
        case 0 | 1 | 2 | 3 | 4:
            return frame.with_columns(_odd_series(column, size, rng))
        case 5:
            return frame.drop(column, strict=False)
        case 6:
            return (
                frame.with_columns(
                    pl.when(pl.int_range(pl.len()) % rng.choice([2, 3]) == 0).then(pl.col(column)).alias(column)
                )
                if size and frame.columns
                else frame
            )
        case 7:
            return frame.clear()
        case 8:
            return frame.head(rng.choice([1, 1, 2, 3]))
        case 9:
            return pl.concat([frame, frame.head(2)]) if frame.columns else frame
        case 10:
            return (
                frame.rename({column: rng.choice(["", "\0", "estimate", "x" * 3000, "metric"])})
                if frame.columns
                else frame
            )
        case 11:
            return frame.reverse()
        case 12:
            return frame.with_columns(
                _odd_series(rng.choice(["extra", "category", "outcome", "task", "num_judged", "score_x"]), size, rng)
            )
        case _:
            return frame.with_columns(
                _odd_series(
                    rng.choice(
                        [
                            name
                            for name in ("attack", "goal", "outcome", "num_turns", "rollout_id", "target", "ending")
                            if name in frame.columns
                        ]
                        or [column]
                    ),
                    size,
                    rng,
                )
            )


def odd_frame(frame: pl.DataFrame, rng: random.Random) -> Any:
    """The frame, or one with up to three things changed, or the same in another library."""
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        try:
            frame = _mutate(frame, rng)
        except pl.exceptions.PolarsError:  # such as two columns of one name
            continue
    if rng.random() < 0.04:
        return frame.lazy()
    if rng.random() < 0.02:
        return rng.choice(ODD)
    return frame


# ── natural options ───────────────────────────────────────────────────────────────────────────────────────────────────

_COLUMNS = ["target", "attack", "goal", "category", "train_step"]
_METRICS = ["attack_success", "num_turns", "worst", "time_to_success", "refusal_rate"]
_CHOICES: dict[str, list[Any]] = {
    "by": [(), (), "target", "attack", ["target", "attack"], "category", "train_step", "extra"],
    "cluster": ["auto", "auto", None, "goal", "category", ("goal", "category"), "attempt"],
    "metric": _METRICS,
    "metrics": [None, *_METRICS, ["attack_success", "worst"]],
    "statistic": [None, "mean", "median", "q90"],
    "statistics": [None, "mean", ["mean", "median"], "std", "q05", "restricted_mean", "iqm"],
    "of": ["target", "target", "target", "attack"],
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
    "unit": ["goal", "goal", "category"],
    "at": [None, 0.5, [0.1, 0.5]],
    "competing": [("gave_up",), (), ("gave_up", "target_ended", "finished")],
    "better": [None, "higher", {"attack_success": "lower", "worst": "higher"}],
    "step": ["train_step", "attempt"],
    "columns": ["num_turns", ["num_turns", "worst"], "target"],
    "rows": ["target", "attack"],
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
    "schema": [tw.schema.TURNS, tw.schema.ROLLOUTS],
    "dtype": [pl.Int64(), pl.Boolean()],
    "name": [None, "mine"],
    "title_of": [None],
    "rollout_id": [None],
}
_SPECIAL: dict[tuple[str, str], list[Any]] = {
    ("best", "metric"): ["attack_success", "task_success"],
    ("best", "better"): [None, "higher"],
    ("changes", "of"): ["target"],
    ("changes", "baseline"): ["base"],
    ("changes", "metric"): ["attack_success", "task_success"],
    ("curve_difference", "of"): ["target"],
    ("curve_difference", "baseline"): ["base"],
    ("curve_test", "of"): ["target"],
    ("curve_test", "baseline"): ["base"],
    ("judges.join_verdicts", "judge"): ["a"],
    ("plan", "metric"): ["attack_success"],
    ("plan", "goals"): [20, [10, 20]],
    ("plots.pareto", "x"): ["attack_success"],
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
_NEEDED = {("plan", "goals"), ("judges.join_verdicts", "judge"), ("plots.pareto", "x"), ("plots.pareto", "y")} | {
    ("tables.pivot", "metric"),
    ("plots.marks.pareto", "x"),
    ("plots.marks.pareto", "y"),
    *((f"plots.{name}", "rollout_id") for name in ("timeline", "trace_tree", "trace_text")),
    *((f"plots.marks.{name}", "rollout_id") for name in ("timeline", "trace_tree")),
}
_FRAMES = {"rollouts", "frame", "summary", "turns", "steps", "verdicts", "labels", "pilot", "graphs"}
_SLOW = {"report": 0.1, "simulate": 0.4, "convert": 0.4}
_FEW = ("metrics.", "schema.", "readers.")


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the name of the function, its arguments, and the seed that drew it."""

    seed: int
    name: str
    arguments: tuple[Any, ...]
    options: dict[str, Any]


def _statistic(*columns: Any, axis: int = -1) -> Any:
    return np.asarray(columns[0], dtype=float).mean(axis=axis)


def _judge(response: str | None) -> float:
    return float(len(response or "") % 2)


def _value(name: str, parameter: inspect.Parameter, rng: random.Random, folder: Path) -> Any:
    """A natural value of an option."""
    if parameter.name == "out":
        return folder / f"out{rng.randrange(10**9)}"
    if parameter.name == "path":
        return folder / f"file{rng.randrange(10**9)}.{rng.choice(['csv', 'csv', 'json', 'parquet'])}"
    if parameter.name in {"paths", "folder", "inputs"}:
        return () if parameter.name == "inputs" else str(_log(folder))
    if parameter.name == "statistic" and name == "bootstrap":
        return _statistic
    if parameter.name == "judge" and name != "judges.join_verdicts":
        return _judge if name != "simulate" else None
    if parameter.name in {"forecast", "trials", "references", "problems", "baseline"} and name in {
        "plots.attempts",
        "plots.pareto",
        "report",
        "gate",
    }:
        return None
    if parameter.name == "by" and name.startswith("plots.") and "distribution" not in name:
        return None
    if parameter.name == "better" and name == "pareto":
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
    if parameter.name == "metric" and name.startswith(("curve", "judges.correct_curve")):
        return "time_to_success"
    if (
        name in {"plots.sweep", "plots.sweep_pareto", "plots.marks.sweep", "plots.marks.sweep_pareto"}
        and parameter.name == "of"
    ):
        return "train_step"
    if name == "pareto" and parameter.name == "by":
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


def call_of(seed: int, folder: Path, *, only: str | None = None, plain: bool = False) -> Call:
    """Draw one call."""
    rng = random.Random(seed)
    every = functions()
    weights = [_SLOW.get(name, 0.15 if name.startswith(_FEW) else 1.0) for name in every]
    name = only or rng.choices(list(every), weights)[0]
    arguments: list[Any] = []
    options: dict[str, Any] = {}
    odd = 0.0 if plain else rng.choice([0.0, 0.0, 0.1, 0.3])  # of the options of this call
    default = rng.choice([0.6, 0.8, 1.0])  # of the options that have one
    for parameter in inspect.signature(every[name]).parameters.values():
        required = parameter.default is inspect.Parameter.empty
        drawn = name.startswith(("plots.", "tables.")) and name != "plots.palette"
        is_frame = name != "simulate" and (
            (required and drawn and not arguments)
            or (parameter.name in _FRAMES and not drawn and (required or parameter.name in {"labels", "pilot"}))
        )
        value: Any
        if is_frame:
            value = odd_frame(
                _natural_frame(name, "rollouts" if parameter.name == "pilot" else parameter.name, rng), rng
            )
        elif parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            arguments += _several(name, rng)
            continue
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        elif rng.random() < odd and parameter.name not in {"out", "path", "ax", "store", "paths"}:
            value = rng.choice(ODD)
        elif (
            parameter.default is not inspect.Parameter.empty
            and (name, parameter.name) not in _NEEDED
            and rng.random() < default
            and parameter.name not in {"resamples", "progress"}
        ):
            continue
        else:
            value = _value(name, parameter, rng, folder)
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY or parameter.default is not inspect.Parameter.empty:
            options[parameter.name] = value
        else:
            arguments.append(value)
    return Call(seed, name, tuple(arguments), options)


def _several(name: str, rng: random.Random) -> list[Any]:
    if name == "sweep":
        spaces = [{"a": [1, 2]}, [{"a": 1}, {"a": 2}], {"a": []}, {"": [None]}]
        return [rng.choice(spaces if rng.random() < 0.7 else ODD)]
    if name == "measure_steps":
        return [m.model_calls()]
    if name == "trees.measure_paths":
        return [rng.choice(["attack_success", "num_turns", rng.choice(ODD)])]
    some = [
        m.attack_success(),
        m.time_to_success(),
        m.num_turns,
        m.TIMING,
        pl.col("score").max().alias("a"),
        rng.choice(ODD),
    ]
    return rng.sample(some, rng.randrange(1, 4))


# ── judging a call ────────────────────────────────────────────────────────────────────────────────────────────────────


def problem_of(call: Call) -> tuple[str | None, str]:
    """Run a call; return what is wrong with it, if anything, and how it ended: result or refused."""
    import matplotlib.pyplot as plt

    mpl.use("Agg")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = functions()[call.name](*call.arguments, **call.options)
            flaw = _flaw(call, result)
    except TurnwiseError as error:
        return (f"{type(error).__name__} of several lines: {error}" if "\n" in str(error) else None), "refused"
    except (Exception, pl.exceptions.PolarsError) as error:  # noqa: BLE001  # this is what is looked for
        where = traceback.extract_tb(error.__traceback__)
        ours = [place for place in where if "/turnwise/" in place.filename] or where
        at = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}"
        return f"{type(error).__name__} at {at}: {str(error)[:200]}", "raw"
    finally:
        plt.close("all")
    return flaw, "result"


def _flaw(call: Call, result: Any) -> str | None:
    """Return what is wrong with a result."""
    if isinstance(result, pl.LazyFrame):
        result = result.collect()
    if isinstance(result, tw.plots.Plot):
        if call.seed % 7 == 0:
            ET.fromstring(result.svg())  # our own
        return None
    if isinstance(result, tw.tables.Table):
        if call.seed % 7 == 0:
            str(result), result.html, result.markdown, result.latex
        return None
    if not isinstance(result, pl.DataFrame) or call.name.startswith(
        ("plots.", "turns", "best", "pareto", "read", "scan")
    ):
        return None
    columns = set(result.columns)
    numbers = [name for name in ("estimate", "difference", "low", "high", "std_error", "p_value") if name in columns]
    for name in numbers:
        if result.schema[name].is_float() and result[name].is_nan().any():
            return f"NaN in {name}"
    center = next((name for name in ("estimate", "difference") if name in columns), None)
    if center and {"low", "high"} <= columns:
        gap = 1e-9 * (1 + result[center].abs())
        outside = (result["low"] > result[center] + gap) | (result["high"] < result[center] - gap)
        if outside.any():
            return f"outside its interval: {result.filter(outside).select(center, 'low', 'high').row(0)}"
        if (result["low"] > result["high"]).any():
            return "low above high"
    counts = ["n", "n_error", "n_undetermined", "n_missing", "n_inapplicable"]
    if (
        call.name == "summarize"
        and set(counts) <= columns
        and result.height
        and not call.options.get("by")
        and not call.options.get("margins")
    ):
        frame = call.arguments[0]
        height = (
            frame.lazy().select(pl.len()).collect().item() if isinstance(frame, pl.DataFrame | pl.LazyFrame) else None
        )
        if height is not None and (result.select(pl.sum_horizontal(counts)).to_series() != height).any():
            return "counts do not add up to the rollouts"
    return None


def problems(seeds: range, folder: Path) -> list[str]:
    """Run the calls of these seeds; return what is wrong, with the seed and the name."""
    found = []
    for seed in seeds:
        call = call_of(seed, folder)
        problem, _ = problem_of(call)
        if problem:
            found.append(f"seed {seed}: {call.name}: {problem}")
    return found


def main(first: int, count: int, only: str | None = None) -> int:
    """Run `count` calls from seed `first`; print what is wrong, and return how many were."""
    problems: collections.Counter[str] = collections.Counter()
    ends: collections.Counter[tuple[str, str]] = collections.Counter()
    example: dict[str, int] = {}
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            start = time.perf_counter()
            call = call_of(seed, Path(folder), only=only)
            problem, end = problem_of(call)
            ends[call.name, end] += 1
            seconds = time.perf_counter() - start
            if seconds > 5:
                problem = problem or f"{seconds:.0f} seconds"
            if problem:
                key = f"{call.name} | {problem}"
                problems[key] += 1
                example.setdefault(key, seed)
    for key, number in problems.most_common():
        print(f"{number:5} (seed {example[key]}) {key}")
    names = sorted({name for name, _ in ends})
    for name in names:
        print(f"{name}: " + ", ".join(f"{ends[name, end]} {end}" for end in ("result", "refused", "raw")))
    print(
        f"{count} calls in {time.perf_counter() - began:.0f} s; {sum(problems.values())} problems; results {sum(n for (_, end), n in ends.items() if end == 'result')}"
    )
    return sum(problems.values())


if __name__ == "__main__":
    sys.exit(bool(main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])))
