"""Rollouts with the same prompt try the same thing, where a table of people's own says nothing else of what was tried."""

from collections.abc import Collection, Iterable

import polars as pl

from rollwise.errors import counted
from rollwise.readers.native.identity import NATIVE
from rollwise.readers.native.own_columns import Part
from rollwise.readers.problems import Problems
from rollwise.readers.roles.columns import CUSTOM
from rollwise.schema import NO_ATTACK
from rollwise.schema.named import columns_named

UNITS = frozenset({"goal", "task"})
DECIDING = UNITS | {"prompt", "attack", "outcome", "succeeded"}  # columns of TURNS that decide on a unit
_FEWEST = 5  # prompts that begin conversations of several turns: fewer may be greetings


def are_open(parts: Iterable[Part]) -> bool:
    """Return whether all parts are of people's own, and rollwise wrote none of them: it would have written the units."""
    return all(part.source in CUSTOM and not (part.is_written and part.source == NATIVE) for part in parts)


def with_units(turns: pl.DataFrame, named: Collection[str], problems: Problems) -> pl.DataFrame:
    """Return turns whose rollouts with the same first prompt have it as their goal, or as their task, where none has either.

    Intervals then know that these rollouts are not independent, and comparisons pair them. In a table of several models or
    attempts most prompts repeat; where most do not, nothing is added.
    """
    if not turns.height or UNITS & {*named} or any(turns[name].count() for name in UNITS):
        return turns
    firsts = repeated_prompts(turns)
    if firsts is None:
        return turns
    is_attacked = turns["succeeded"].count() or turns["outcome"].count() or (turns["attack"] != NO_ATTACK).any()
    unit = "goal" if is_attacked else "task"
    counts = f"{counted(firsts['prompt'].drop_nulls().n_unique(), unit)} in {counted(firsts.height, 'rollout')}"
    problems.read_as([f"rollouts with the same prompt as one `{unit}` ({counts})"])
    if firsts.height == turns.height:
        return turns.with_columns(firsts["prompt"].alias(unit))
    renamed = firsts.select("rollout_id", pl.col("prompt").alias(unit))
    joint = turns.drop(unit).join(renamed, on="rollout_id", how="left", maintain_order="left")
    return joint.select(columns_named(turns.columns))


def repeated_prompts(turns: pl.DataFrame) -> pl.DataFrame | None:
    """Return each rollout with its first prompt, null if blank; None where most rollouts share theirs with no other."""
    firsts = turns.select("rollout_id", "prompt").unique("rollout_id", keep="first", maintain_order=True)
    firsts = firsts.with_columns(prompt=firsts["prompt"].set(firsts["prompt"].str.strip_chars() == "", None))
    prompts = firsts["prompt"].drop_nulls()
    number, repeated = prompts.n_unique(), int(prompts.is_duplicated().sum())
    are_single, all_repeat = firsts.height == turns.height, repeated == prompts.len() and number >= _FEWEST
    return firsts if number > 1 and 2 * repeated >= firsts.height and (are_single or all_repeat) else None
