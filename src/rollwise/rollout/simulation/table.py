"""Courses of simulated rollouts -> TURNS."""

import numpy as np
import polars as pl

from rollwise.rollout.simulation import words
from rollwise.rollout.simulation.course import Course, attacked, benign
from rollwise.rollout.simulation.design import BoolArray, Design, FloatArray, Group, IntArray
from rollwise.schema import ENDINGS, OUTCOMES, TURNS
from rollwise.schema.named import columns_but, columns_named

CRASH = "simulated crash: the target did not answer"
DOLLARS_PER_TOKEN = 3e-6, 15e-6  # read, written


def table(design: Design) -> pl.DataFrame:
    """Return all rollouts as TURNS, group by group."""
    turns = pl.concat([_group(design, group) for group in design.groups()], rechunk=True)
    columns = [name for name in TURNS.names if name in turns.columns]
    return turns.select(*columns_named(columns), columns_but(columns))


def _group(design: Design, group: Group) -> pl.DataFrame:
    course = benign(design, group) if group.benign else attacked(design, group)
    # Position of each rollout's first turn, and the rollout of each turn.
    first = np.cumsum(course.length) - course.length
    rollout = np.repeat(np.arange(first.size), course.length)
    refused = _refused(design, group, course)
    effort = _effort(design, group, course, refused)
    facts = _facts(design, group, course, {name: np.add.reduceat(values, first) for name, values in effort.items()})
    turns = pl.DataFrame(
        {
            "turn": (np.arange(1, rollout.size + 1) - first[rollout]).astype(np.int32),
            "score": _scores(design, group, course),
            "succeeded": course.succeeded,
            "refused": refused,
            **effort,
            "true_succeeded": course.true_succeeded,
        }
    )
    if design.text:
        about = facts["task" if group.benign else "goal"].gather(rollout)
        turns = turns.with_columns(
            context=pl.when(turn=1).then(pl.lit(words.CONTEXT)),
            prompt=words.prompts(about, design.draw(group, "prompt")),
            response=words.responses(refused, course.true_succeeded, design.draw(group, "response")),
        )
    # Null where a verdict, an answer or an attack is missing.
    crashed, judged = pl.Series(course.crashed), pl.Series(course.judged)
    return pl.concat([facts.select(pl.all().gather(rollout)), turns], how="horizontal").with_columns(
        pl.when(judged).then(pl.col("score", "succeeded")),
        pl.when(~crashed).then(pl.col("^(refused|response|response_tokens)$")),
        pl.when(pl.lit(not group.benign) & ~crashed).then("true_succeeded"),
        error=pl.when(crashed).then(pl.lit(CRASH)),
    )


def _facts(design: Design, group: Group, course: Course, totals: dict[str, IntArray | FloatArray]) -> pl.DataFrame:
    """Return one row of facts per rollout."""
    run = f"simulation-{design.seed}"
    goals = pl.Series([f"{group.category}-{number:03d}" for number in range(1, design.goals_of(group) + 1)])
    tasks = pl.Series(
        [f"task-{number:03d}" for number in range(1, (design.tasks or design.benign) + 1)], dtype=pl.String
    )
    return pl.select(
        source=pl.lit("simulation"),
        run=pl.lit(run),
        target=pl.lit(group.target),
        attack=pl.lit(group.attack),
        goal=_named(goals, course.goal),
        task=_named(tasks, course.task),
        category=pl.lit(group.category, dtype=pl.String),
        attempt=pl.Series(course.attempt, dtype=pl.Int32),
        ending=_named(pl.Series(ENDINGS.categories, dtype=ENDINGS), course.ending),
        outcome=_named(pl.Series(OUTCOMES.categories, dtype=OUTCOMES), course.outcome),
        solved=_named(pl.Series([False, True]), course.solved),
        queries=pl.Series(course.length),
        total_tokens=pl.Series(totals["prompt_tokens"] + totals["response_tokens"]),
        total_seconds=pl.Series(totals["seconds"]),
        total_cost_usd=pl.Series(totals["cost_usd"]),
    ).with_columns(
        rollout_id=pl.concat_str("run", "target", "attack", "goal", "task", "attempt", separator="/", ignore_nulls=True)
    )


def _named(names: pl.Series, code: IntArray) -> pl.Series:
    """Return the name of each code; null for a negative one."""
    return names.gather(pl.Series(code).set(pl.Series(code < 0), None))


def _refused(design: Design, group: Group, course: Course) -> BoolArray:
    if group.benign:
        return np.zeros(course.crashed.shape, dtype=bool)
    uniform = design.draw(group, "refused").random(course.crashed.size)
    return np.asarray(~course.true_succeeded & (uniform < design.refusal))


def _effort(design: Design, group: Group, course: Course, refused: BoolArray) -> dict[str, IntArray | FloatArray]:
    """Return tokens, seconds and dollars of each turn: skewed, small if the target refused, no response if it crashed."""
    noise = design.draw(group, "effort").standard_normal((2, refused.size))
    prompt_tokens = np.ceil(60 * np.exp(0.4 * noise[0])).astype(np.int64)
    response_tokens = np.ceil(np.where(refused, 25, 180) * np.exp(0.5 * noise[1])).astype(np.int64)
    response_tokens[course.crashed] = 0
    return {
        "prompt_tokens": prompt_tokens,
        "response_tokens": response_tokens,
        "seconds": np.round(0.4 + 0.02 * response_tokens * np.exp(0.1 * noise[0]), 3),
        "cost_usd": np.round(prompt_tokens * DOLLARS_PER_TOKEN[0] + response_tokens * DOLLARS_PER_TOKEN[1], 8),
    }


def _scores(design: Design, group: Group, course: Course) -> FloatArray:
    """Return scores in [0, 1), multiples of 0.001, at least 0.5 exactly if the verdict is a success."""
    thousandths = design.draw(group, "score").integers(500, size=course.succeeded.size)
    return np.asarray((thousandths + 500 * course.succeeded) / 1000)
