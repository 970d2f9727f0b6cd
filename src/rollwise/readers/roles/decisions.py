"""Decisions on the columns of people's own, and the table with them as columns of TURNS."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import polars as pl

from rollwise.readers.roles.choices import verdicts
from rollwise.readers.roles.columns import Table, name_in_file
from rollwise.readers.roles.facts import OF_ROLLOUT, cast, facts
from rollwise.readers.roles.names import words_of
from rollwise.readers.roles.questions import Question, Role
from rollwise.readers.roles.words import BLANK, normal
from rollwise.schema import FAILURE, OUTCOMES, SUCCESS, TURNS
from rollwise.schema.named import columns_named, values_named


class Decisions(NamedTuple):
    """Columns that are used, questions, and columns that may be facts and are not used, as several differ."""

    roles: list[Role]
    questions: list[Question]
    unread: list[Role]


def decided(table: Table) -> Decisions:
    """Return the decisions on the columns of people's own in a table."""
    if not table.columns or not table.frame.height:
        return Decisions([], [], [])
    read, questions = verdicts(table)
    in_use = {role.column for role in read} | {question.column for question in questions}
    fact_roles, unread = facts(table)
    return Decisions(
        [*(role for role in fact_roles if role.column not in in_use), *read],
        questions,
        [role for role in unread if role.column not in in_use],
    )


def applied(table: Table, roles: Sequence[Role]) -> pl.DataFrame:
    """Return the turns with columns of the user's as columns of TURNS, where these are null."""
    frame = table.frame
    for role in roles:
        values = values_named(frame, role.column)
        if role.why == OF_ROLLOUT:
            frame = _rewarded(frame, role.column)
            continue
        frame = frame.drop(columns_named(role.column))
        if role.labels is None:
            frame = _filled(frame, role.name, cast(values, role))
            continue
        sides = _sides(values, role)
        of_rollouts = table.of_rollouts.get(role.column)
        if role.name != "outcome" or of_rollouts is None:
            frame = _filled(frame, role.name, sides)
            continue
        frame = _filled(frame, "outcome", _outcomes(sides).set(~of_rollouts, None))
        if (of_turns := sides.set(of_rollouts, None)).count():
            frame = _filled(frame, "succeeded", of_turns)
    return _with_tokens_of_records(table, _with_all_tokens(frame, {role.name for role in roles}))


def _rewarded(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return turns with the reward of each rollout on its last one, unless its turns have rewards: then the column stays."""
    if "reward" not in frame.columns:
        frame = frame.with_columns(reward=pl.lit(None, TURNS.dtypes["reward"]))
    rewards = values_named(frame, column).cast(TURNS.dtypes["reward"])
    stated = frame.select(pl.col("reward").is_not_null().any().over("rollout_id")).to_series()
    frame = _filled(frame, "reward", rewards.set(stated | ~frame["rollout_id"].is_last_distinct(), None))
    return frame if (stated & rewards.is_not_null()).any() else frame.drop(columns_named(column))


def _with_all_tokens(frame: pl.DataFrame, names: Collection[str]) -> pl.DataFrame:
    """Return turns whose tokens of prompts and responses were stated of whole rollouts, with the total of both."""
    if not {"prompt_tokens", "response_tokens"} <= {*names} or "total_tokens" in names:
        return frame
    total = (frame["prompt_tokens"] + frame["response_tokens"]).cast(TURNS.dtypes["total_tokens"])
    return _filled(frame, "total_tokens", total)


def _with_tokens_of_records(table: Table, frame: pl.DataFrame) -> pl.DataFrame:
    """Return turns with the total of the tokens of prompts and of responses that records state of their whole rollout."""
    of_records = {
        frozenset(words_of(name_in_file(name))) - {"tokens"}: name for name in table.of_rollouts if "tokens" in name
    }
    sent, received = (
        next((of_records[frozenset({word})] for word in words if frozenset({word}) in of_records), None)
        for words in (("prompt", "input"), ("response", "completion", "output"))
    )
    if table.is_single or sent is None or received is None:
        return frame
    amounts = [values_named(table.frame, name) for name in (sent, received)]
    if not all(amount.dtype.is_integer() for amount in amounts):
        return frame
    return _filled(frame, "total_tokens", (amounts[0] + amounts[1]).cast(TURNS.dtypes["total_tokens"]))


def _sides(values: pl.Series, role: Role) -> pl.Series:
    """Return the meanings of the labels of a column."""
    labels = role.labels or {}
    values = values.cast(pl.String) if isinstance(values.dtype, pl.Categorical | pl.Enum) else values
    old = pl.Series([*labels], dtype=values.dtype)
    return values.replace_strict(
        old, pl.Series([*labels.values()], dtype=pl.Boolean), default=None, return_dtype=pl.Boolean
    )


def _outcomes(sides: pl.Series) -> pl.Series:
    words = pl.when(pl.col("side")).then(pl.lit(SUCCESS)).when(pl.col("side").not_()).then(pl.lit(FAILURE))
    return pl.DataFrame({"side": sides}).select(words.cast(OUTCOMES).alias("outcome")).to_series()


def _filled(frame: pl.DataFrame, name: str, values: pl.Series) -> pl.DataFrame:
    """Return the frame with values where the column of TURNS is null."""
    if name not in frame.columns:
        return frame.with_columns(values.alias(name))
    stated = frame[name].cast(TURNS.dtypes[name])
    if name == "attempt":  # one that is always 1 says nothing
        return frame.with_columns(values.zip_with(values.is_not_null(), stated).alias(name))
    return frame.with_columns(stated.zip_with(stated.is_not_null(), values).alias(name))


def in_words(role: Role, frame: pl.DataFrame) -> str:
    """Return the words of the notice on a column that was read as one of TURNS."""
    labels = {normal(label): str(label).strip('"') for label in (role.labels or {})}
    if role.labels is not None and values_named(frame, role.column).dtype == pl.Boolean:
        labels = {normal(label): str(label) for label in role.labels}
    labels_in_words = ", ".join(labels[label] for label in sorted(labels) if label not in BLANK)
    return f"`{name_in_file(role.column)}`{f' ({labels_in_words})' if labels_in_words else ''} as `{role.name}`"


def is_told(role: Role) -> bool:
    """Return whether a column goes by another name than the one it is read as."""
    return name_in_file(role.column) != role.name and role.column != role.name
