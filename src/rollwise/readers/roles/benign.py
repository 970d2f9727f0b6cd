"""Rollouts that a column of the user's says are no attacks: their verdicts say nothing of an attack, and are set apart."""

from collections.abc import Collection, Iterator
from collections.abc import Set as AbstractSet

import polars as pl

from rollwise.errors import counted
from rollwise.readers.roles.columns import CUSTOM, is_text, name_in_file, own_names
from rollwise.readers.roles.names import words_of
from rollwise.readers.roles.words import normal
from rollwise.schema import NO_ATTACK, SUCCESS, TURNS
from rollwise.schema.named import column_named, values_named

BENIGN_VERDICT = "benign_verdict"  # the column with the verdicts of rollouts that are no attacks
# Words of a name of two values, and the value that says that a rollout is benign.
_ATTACKS = frozenset({"attack", "injected", "injection", "malicious", "attacked"})
_BENIGN = frozenset({"benign", "control"})
# Names that say it of other things as well: a plain harmful prompt is not adversarial, and yet an attempt.
_MAYBE_ATTACKS, _MAYBE_BENIGN = frozenset({"adversarial", "poisoned"}), frozenset({"clean"})
_FILLERS = frozenset({"is", "has", "was", "case", "sample", "prompt", "run"})
# Words of the names of columns in which the word `benign` is one of a few kinds of prompts.
_KINDS = frozenset(
    {"type", "kind", "class", "category", "label", "prompt", "case", "sample", "attack", "split", "condition", "is"}
)
_NONE = frozenset({"benign", "no_attack", "none_benign", "benign_control"})
_MAYBE_NONE = frozenset({"helpful", "harmless", "safe", "clean", "normal", "innocuous"})  # of prompts, or of answers
_FEW = 50  # kinds of prompts


def set_apart(frame: pl.DataFrame, doubtful: Collection[str]) -> tuple[pl.DataFrame, list[str]]:
    """Return turns in which rollouts that are no attacks say so, with their verdicts in a column of their own, and the notice.

    A column that is asked about, as it may be a verdict, says nothing. A rollout of which some turn is of an attack is one.
    """
    stated = [
        (name, _of_rollouts(frame, of_turns), of_turns, words) for name, of_turns, words in _statements(frame, doubtful)
    ]
    stated = [marks for marks in stated if marks[1].any() and not (marks[1] | marks[2].is_null()).all()]
    marks_of_attacks = [marks for marks in stated if not _repeats_verdicts(frame, marks[1])] or stated
    if any((marks[1] != marks_of_attacks[0][1]).any() for marks in marks_of_attacks[1:]):
        names = "` and `".join(name_in_file(name) for name, *_ in marks_of_attacks)
        return frame, [f"`{names}` differ in which rollouts are attacks: all count as such"]
    for name, benign, _, words in marks_of_attacks[:1]:
        verdicts = _verdicts(frame).set(~benign, None)
        rollouts = pl.DataFrame({"id": frame["rollout_id"], "benign": benign, "yes": verdicts}).group_by("id")
        counts = rollouts.agg(pl.col("benign").all(), pl.col("yes").any())
        count, successes = int(counts["benign"].sum()), int(counts["yes"].sum() or 0)
        attack = frame["attack"] if "attack" in frame.columns else pl.repeat(None, frame.height, eager=True)
        columns = [attack.cast(pl.String).set(benign, NO_ATTACK).alias("attack")]
        columns += [
            frame[verdict].set(benign, None) for verdict in ("succeeded", "outcome") if verdict in frame.columns
        ]
        frame = frame.with_columns(columns)
        sentence = (
            f"`{name_in_file(name)}` is {words} for {count:,} of {counts.height:,} rollouts, which are no attacks then"
        )
        if verdicts.count():
            frame = frame.with_columns(verdicts.alias(BENIGN_VERDICT))
            number = counted(successes, "success", "successes")
            sentence += f": their verdicts ({number}) do not count, and are kept as `{BENIGN_VERDICT}`"
        return frame, [sentence]
    return frame, []


def _repeats_verdicts(frame: pl.DataFrame, benign: pl.Series) -> bool:
    """Return whether attacks are exactly the successes: then a column may say what came of them, and not which there are."""
    return bool((_verdicts(frame).fill_null(value=False) == ~benign).all())


def may_have_benign(frame: pl.DataFrame) -> bool:
    """Return whether a column says of some turns that they are not attacks; turns of other files may be."""
    return next(_statements(frame, ()), None) is not None


def may_say(column: str, dtype: pl.DataType) -> bool:
    """Return whether a column may say which rollouts are no attacks, by its name and dtype."""
    if column in TURNS.names:
        return column in {"attack", "category"}
    name = name_in_file(column)
    if is_text(dtype):
        return bool(words := {*words_of(name)}) and words <= _KINDS
    return (dtype == pl.Boolean or dtype.is_integer()) and _sign(name, _ATTACKS, _BENIGN) is not None


def _statements(frame: pl.DataFrame, doubtful: Collection[str]) -> Iterator[tuple[str, pl.Series, str]]:
    """Iterate over the columns that say of some turns that they are of no attack: name, what they say of each, and the word."""
    for name, dtype in frame.schema.items():
        if not may_say(name, dtype) or {name, name_in_file(name)} & {*doubtful}:
            continue
        values, sign = values_named(frame, name), _sign(name_in_file(name), _ATTACKS, _BENIGN)
        if not values.count():
            continue
        if _are_two(values):
            benign = values.cast(pl.Int64) == int(bool(sign))
            words = "true" if sign else "false"
        elif is_text(dtype) and values.n_unique() <= _FEW:
            kinds = [value for value in values.unique().drop_nulls().to_list() if normal(value) in _NONE]
            words = ", ".join(sorted(map(str, kinds)))
            benign = values.cast(pl.String).is_in([str(value) for value in kinds])
            if words and _varies_within_prompts(frame, benign.fill_null(value=False)):
                continue
        else:
            continue
        if benign.any():
            yield name, benign, words


def _of_rollouts(frame: pl.DataFrame, benign: pl.Series) -> pl.Series:
    """Return for each turn whether its rollout is of no attack: it says so, and says nothing else, on any of its turns."""
    turns = pl.DataFrame({"id": frame["rollout_id"], "benign": benign})
    return turns.select(_all_say("benign").over("id")).to_series()


def _all_say(name: str) -> pl.Expr:
    """Return whether all turns that say yes or no say yes, and some do: unknown is neither."""
    return column_named(name).all() & column_named(name).any()


def _sign(name: str, attacks: AbstractSet[str], benign: AbstractSet[str]) -> bool | None:
    """Return which of two values of a column says that a rollout is no attack, by its name; None where it says nothing."""
    words = {*words_of(name)} - _FILLERS
    signs = ((False, attacks), (True, benign))
    return next((sign for sign, names in signs if words and words <= names), None)


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
    for name in (*own_names(schema), *(["category"] if "category" in schema else [])):
        values = values_named(turns, name)
        benign, word = _may_be_benign(name_in_file(name), values)
        if benign is None:
            continue
        rollouts = _judged(turns.with_columns(_benign=benign))
        count, successes = rollouts["_benign"].sum(), rollouts.filter("_benign")["success"].sum()
        if count and count < rollouts.height:
            with_keep = f' (with keep="{name}" in `rw.measure`)'  # which a command does itself
            sentence = f"`{name}` is {word} for {count:,} of {rollouts.height:,} rollouts"
            sentence += f", and {successes:,} of them count as successes" if successes else ""
            return [f'{sentence}: if they are no attacks, do not count them; by="{name}" shows them apart{with_keep}']
    return []


def _may_be_benign(name: str, values: pl.Series) -> tuple[pl.Series | None, str]:
    """Return for each turn whether a column may say that it is of no attack, and the word for it; None where it says nothing."""
    sign = _sign(name, _ATTACKS | _MAYBE_ATTACKS, _BENIGN | _MAYBE_BENIGN)
    if sign is not None and _are_two(values):
        return values.cast(pl.Boolean) == sign, "true" if sign else "false"
    if not is_text(values.dtype) or not {*words_of(name)} <= _KINDS or not 1 < values.n_unique() <= _FEW:
        return None, ""
    kinds = [str(value) for value in values.unique().drop_nulls() if normal(value) in _MAYBE_NONE]
    return (values.cast(pl.String).is_in(kinds), ", ".join(sorted(kinds))) if kinds else (None, "")


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
        _all_say("_benign"), success=pl.any_horizontal(sides), is_judged=pl.any_horizontal(judged)
    )
    return rollouts.filter("is_judged")
