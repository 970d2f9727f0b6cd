"""Rollouts that a column of the user's says are no attacks: their verdicts say nothing of an attack, and are set apart."""

from collections.abc import Collection, Iterator

import polars as pl

from rollwise.errors import counted
from rollwise.readers.roles.columns import CUSTOM, Table, is_text, name_in_file, own_names
from rollwise.readers.roles.names import words_of
from rollwise.readers.roles.words import normal
from rollwise.schema import NO_ATTACK, SUCCESS, TURNS
from rollwise.schema.named import values_named

APART = "benign_verdict"  # the column with the verdicts of rollouts that are no attacks
# Words of a name of two values, and the one that says that a rollout is no attack.
_ATTACKS = frozenset({"attack", "injected", "injection", "malicious", "attacked"})
_BENIGN = frozenset({"benign", "control"})
# Names that say it of other things as well: a plain harmful prompt is no adversarial one, and yet an attempt.
_MAYBE_ATTACKS, _MAYBE_BENIGN = frozenset({"adversarial", "poisoned"}), frozenset({"clean"})
_BESIDE = frozenset({"is", "has", "was", "case", "sample", "prompt", "run"})
# Words of the names of columns in which the word `benign` is one of a few kinds of prompts.
_KINDS = frozenset(
    {"type", "kind", "class", "category", "label", "prompt", "case", "sample", "attack", "split", "condition", "is"}
)
_NONE = frozenset({"benign", "no_attack", "none_benign", "benign_control"})
_FEW = 50  # kinds of prompts


def set_apart(frame: pl.DataFrame, table: Table, asked: Collection[str]) -> tuple[pl.DataFrame, list[str]]:
    """Return turns in which rollouts that are no attacks say so, with their verdicts in a column of their own, and the notice.

    A column that is asked about, as it may be a verdict, says nothing; nor does any where the user names the attack.
    """
    if "attack" in table.named:
        return frame, []
    for name, benign, words in _benign_turns(frame, table, asked):
        apart = _verdicts(frame).set(~benign, None)
        rollouts = pl.DataFrame({"id": frame["rollout_id"], "benign": benign, "yes": apart}).group_by("id")
        counts = rollouts.agg(pl.col("benign").all(), pl.col("yes").any())
        count, successes = int(counts["benign"].sum()), int(counts["yes"].sum() or 0)
        attack = frame["attack"] if "attack" in frame.columns else pl.repeat(None, frame.height, eager=True)
        columns = [attack.cast(pl.String).set(benign, NO_ATTACK).alias("attack")]
        columns += [
            frame[verdict].set(benign, None) for verdict in ("succeeded", "outcome") if verdict in frame.columns
        ]
        frame = frame.with_columns(columns)
        said = (
            f"`{name_in_file(name)}` is {words} for {count:,} of {counts.height:,} rollouts, which are no attacks then"
        )
        if apart.count():
            frame = frame.with_columns(apart.alias(APART))
            said += f": their verdicts ({counted(successes, 'success', 'successes')}) do not count, and are kept as `{APART}`"
        return frame, [said]
    return frame, []


def _benign_turns(frame: pl.DataFrame, table: Table, asked: Collection[str]) -> Iterator[tuple[str, pl.Series, str]]:
    """Iterate over the columns that say of some turns, and not of all, that they are of no attack: name, which, and the word."""
    for name in frame.columns:
        if (name in TURNS.names and name not in {"attack", "category"}) or {name, name_in_file(name)} & {*asked}:
            continue
        values, sign = values_named(frame, name), _sign(name)
        if sign is not None and _are_two(values):
            benign = (values.cast(pl.Int64) == int(sign)).fill_null(value=False)
            words = "true" if sign else "false"
        elif is_text(values.dtype) and {*words_of(name_in_file(name))} <= _KINDS and values.n_unique() <= _FEW:
            kinds = {value: normal(value) in _NONE for value in values.unique().drop_nulls().to_list()}
            words = ", ".join(sorted(str(value) for value, is_none in kinds.items() if is_none))
            benign = values.cast(pl.String).is_in([str(value) for value, is_none in kinds.items() if is_none])
            benign = benign.fill_null(value=False)
            if words and _varies_within_prompts(frame, benign):
                continue
        else:
            continue
        if benign.any() and not (benign | values.is_null()).all():
            yield name, benign, words


def _sign(name: str) -> bool | None:
    """Return which of two values of a column says that a rollout is no attack, by its name; None where it says nothing."""
    words = {*words_of(name_in_file(name))} - _BESIDE
    return next((sign for sign, known in ((False, _ATTACKS), (True, _BENIGN)) if words and words <= known), None)


def _are_two(values: pl.Series) -> bool:
    """Return whether values are Booleans, or numbers that are 0 or 1."""
    if not (values.dtype == pl.Boolean or values.dtype.is_integer()):
        return False
    return bool(values.drop_nulls().cast(pl.Int64).is_in([0, 1]).all())


def _varies_within_prompts(frame: pl.DataFrame, benign: pl.Series) -> bool:
    """Return whether the same prompt is benign and not: then a column is of the answer."""
    if "prompt" not in frame.columns:
        return False
    pairs = pl.DataFrame({"prompt": frame["prompt"], "benign": benign}).drop_nulls().unique()
    return pairs["prompt"].n_unique() < pairs.height


def _verdicts(frame: pl.DataFrame) -> pl.Series:
    """Return the verdicts on the attack of turns, whichever column has them."""
    succeeded = frame["succeeded"] if "succeeded" in frame.columns else pl.repeat(None, frame.height, eager=True)
    outcome = frame["outcome"] if "outcome" in frame.columns else pl.repeat(None, frame.height, eager=True)
    sides = outcome.cast(TURNS.dtypes["outcome"]) == SUCCESS
    return pl.select(pl.coalesce(succeeded.cast(pl.Boolean), sides)).to_series()


def benign_cases(turns: pl.DataFrame) -> list[str]:
    """Return the notice on rollouts that may be no attacks, and count as attempts."""
    schema = turns.schema
    for name in own_names(schema):
        words = {*words_of(name)} - _BESIDE
        known = ((False, _ATTACKS | _MAYBE_ATTACKS), (True, _BENIGN | _MAYBE_BENIGN))
        sign = next((sign for sign, bag in known if words and words <= bag), None)
        if sign is None or not _are_two(values_named(turns, name)):
            continue
        rollouts = _judged(turns.with_columns(_benign=values_named(turns, name).cast(pl.Boolean) == sign))
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
