"""Odd frames for `odd_calls.py`: a natural frame of every kind, and what may be changed in it."""

import datetime as dt
import decimal
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import rollwise as rw
from rollwise import metrics as m


@cache
def frames() -> dict[str, pl.DataFrame]:
    """A small frame of every kind, made by rollwise itself."""
    turns, _ = rw.simulate(
        targets={"base": 0.3, "guarded": 0.1}, attacks=["ask", "plead"], goals=8, attempts=3, turns=3, seed=1
    )
    score = pl.int_range(pl.len()) % 7 / 7
    turns = turns.with_columns(
        score=score, train_step=pl.col("attempt") * 10, seconds=score + 1, response_tokens=pl.lit(9, dtype=pl.Int64)
    )
    spent = [m.spent_to_success(axis) for axis in ("tokens", "seconds")]
    metrics = (m.attack_success(), m.time_to_success(), m.num_turns(), m.refusal_rate(), m.ever_refused(), *spent)
    rollouts = rw.measure(turns, *metrics, worst=pl.col("score").max(), keep="train_step")
    rollouts = rollouts.with_columns(task_success=pl.col("worst") > 0.3, confidence=pl.col("worst"))
    verdicts = turns.select("rollout_id", "turn", judge=pl.lit("a"), value=(pl.col("score") > 0.4).cast(pl.Float64))
    other = verdicts.with_columns(judge=pl.lit("b"), value=1 - pl.col("value") * (pl.col("turn") % 2))
    labels = verdicts.select("rollout_id", "turn", label=pl.col("value") > 0).with_columns(turns["succeeded"])
    fast: dict[str, Any] = {"resamples": 100}
    few: dict[str, Any] = {"metrics": ["attack_success", "worst", "task_success"], "statistics": ["mean", "q90"]}
    summary = rw.summarize(rollouts, by=["target", "attack"], **few, **fast)
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
    tree, _ = rw.simulate(goals=2, attempts=1, turns=3, branches=2, give_up=0, target_ends=0, error=0, seed=1)
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
        "contrast": rw.contrast(rollouts, of="target", baseline="base", by="attack", **fast),
        "curve": rw.curve(rollouts, by="target"),
        "incidence": rw.curve(rollouts, by="target", kind="incidence"),
        "attempts": rw.attempts(rollouts, by="target", k=[1, 2]),
        "forecast": rw.forecast(rollouts, by="target", k=[5, 20]),
        "rank": rw.rank(rollouts, of="target", metric="attack_success", **fast),
        "profile": rw.comparisons.profile(rollouts, by="target"),
        "training": rw.training(rollouts, by="target"),
        "trajectory": rw.trajectory(turns, by="target"),
        "agreement": rw.judges.agreement(pl.concat([verdicts, other]), **fast),
        "binned": rw.summarize(binned, by=["target", "bin"], metrics=["confidence", "attack_success"], **fast),
        "sweep": rw.summarize(rollouts, by=["train_step", "target"], metrics=["attack_success", "task_success"]),
        "gate": rw.gate(rollouts, "attack_success < 0.5"),
        "plan": rw.plan(rollouts, goals=[10, 20]),
        "portfolio": rw.comparisons.portfolio(rollouts),
        "tradeoff": rw.comparisons.tradeoff(rollouts, by="target"),
        "doctor": rw.doctor(turns),
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
    "plots.ranks": "rank",
    "plots.reliability": "binned",
    "plots.sweep": "sweep",
    "plots.sweep_pareto": "sweep",
    "plots.timeline": "turns",
    "plots.trace_text": "turns",
    "plots.trace_tree": "tree",
    "plots.training": "training",
    "plots.trajectory": "trajectory",
    "comparisons.pareto": "pareto",
    "comparisons.best": "summary",
    "plots.forest": "summary",
    "plots.heat_map": "summary",
    "plots.pareto": "summary",
    "plots.distribution": "rollouts",
    "gate": "rollouts",
    "turns": "turns",
    "rollout.flatten": "tree",
    "rollout.paths": "tree",
    "plan": "rollouts",
    "judges.correct": "rollouts",
    "schema.check": "turns",
    "schema.is_tree": "tree",
}
"""The frame that a function is meant for, where the name of its first argument does not say so."""


def natural_frame(name: str, parameter: str, rng: random.Random) -> pl.DataFrame:
    if parameter == "labels":
        return frames()["rollout_labels" if name in {"judges.correct", "judges.plan_labels"} else "labels"]
    if parameter == "verdicts":
        return frames()["verdicts"]
    kind = NATURAL.get(name.replace("plots.marks.", "plots.")) or (parameter if parameter in frames() else "")
    if name.startswith("tables.") or name == "write":
        kind = rng.choice(list(frames()))
    if name == "tables.pivot":
        kind = "summary"
    return frames()[kind or rng.choice(list(frames()))]


NAMES = ["*", "^$", "^.*$", "^t.*$", "", "group", "a\nb", "x" * 5000]
"""Names of columns that Polars, a result or a line might take for something else."""


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


def _mutate(frame: pl.DataFrame, rng: random.Random) -> pl.DataFrame:  # noqa: PLR0911  # one line for each change
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
            return frame.rename({column: rng.choice([*NAMES, "\0", "estimate", "metric"])}) if frame.columns else frame
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


def with_odd_name(
    arguments: tuple[Any, ...], options: dict[str, Any], rng: random.Random
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call with a column of an odd name in each frame: one that an option names, any one, or a further one."""
    name = rng.choice(NAMES)
    given = [item for value in options.values() for item in (value if isinstance(value, list | tuple) else [value])]
    values = [*arguments, *options.values()]
    columns = [column for value in values if isinstance(value, pl.DataFrame) for column in value.columns]
    named = [item for item in given if isinstance(item, str) and item in columns]
    old = rng.choice([*named, *named, *named, None, *columns[:1]])

    def changed(value: Any) -> Any:
        if isinstance(value, pl.DataFrame) and name not in value.columns and value.columns:
            return value.rename({old: name}) if old in value.columns else value.with_columns(value[:, 0].alias(name))
        if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
            return type(value)(name if item == old else item for item in value)
        return name if isinstance(value, str) and value == old else value

    return tuple(map(changed, arguments)), {option: changed(value) for option, value in options.items()}
