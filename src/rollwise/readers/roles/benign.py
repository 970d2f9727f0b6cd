"""Rollouts that a column of the user's says are no attacks, while they count as attempts."""

import polars as pl

from rollwise.readers.roles.columns import CUSTOM, own_names
from rollwise.readers.roles.names import words_of
from rollwise.schema import NO_ATTACK
from rollwise.schema.named import values_named

# Words of a name of two values, and the one that says that a rollout is no attack.
_ATTACKS = frozenset({"attack", "injected", "injection", "adversarial", "malicious", "attacked", "poisoned"})
_BENIGN = frozenset({"benign", "control", "clean"})
_BESIDE = frozenset({"is", "has", "was", "case", "sample", "prompt", "run"})


def benign_cases(turns: pl.DataFrame) -> list[str]:
    """Return the notice on rollouts that may be no attacks, and count as attempts."""
    schema = turns.schema
    for name in own_names(schema):
        words = {*words_of(name)} - _BESIDE
        sign = next((sign for sign, known in ((False, _ATTACKS), (True, _BENIGN)) if words and words <= known), None)
        dtype = schema[name]
        if sign is None or not (dtype == pl.Boolean or dtype.is_integer()):
            continue
        values = values_named(turns, name)
        if not values.drop_nulls().cast(pl.Int64).is_in([0, 1]).all():
            continue
        rollouts = _judged(turns.with_columns(_benign=values.cast(pl.Boolean) == sign))
        count, successes = rollouts["_benign"].sum(), rollouts.filter("_benign")["success"].sum()
        if count and count < rollouts.height:
            word = "true" if sign else "false"
            kept = f' (with keep="{name}" in `rw.measure`)'  # which a command does itself
            shown = f"`{name}` is {word} for {count:,} of {rollouts.height:,} rollouts"
            shown += f", and {successes:,} of them count as successes" if successes else ""
            return [f'{shown}: if they are no attacks, do not count them; by="{name}" shows them apart{kept}']
    return []


def _judged(turns: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each rollout of people's own with a verdict on its attack: whether it succeeded, and is benign."""
    verdicts = [pl.col("outcome"), pl.col("succeeded")]
    turns = turns.filter(
        pl.col("source").is_null() | pl.col("source").is_in(CUSTOM),
        pl.col("attack").is_null() | (pl.col("attack") != NO_ATTACK),
    )
    sides = [verdict.cast(pl.String).is_in(["success", "true"]).any() for verdict in verdicts]
    judged = [verdict.is_not_null().any() for verdict in verdicts]
    rollouts = turns.group_by("rollout_id").agg(
        pl.col("_benign").all(), success=pl.any_horizontal(sides), is_judged=pl.any_horizontal(judged)
    )
    return rollouts.filter("is_judged")
