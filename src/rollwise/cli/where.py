"""The rollouts that `--where` keeps: conditions on columns, and a sentence on what was left out."""

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rollwise.cli.tables import say
from rollwise.errors import ArgumentError, counted, listing, meant
from rollwise.files.masking import for_message

if TYPE_CHECKING:
    import polars as pl

_FORM = re.compile(r"(?s)(.+?)(!=|<=|>=|=|<|>)(.*)")
_TRUTH = {"true": True, "yes": True, "false": False, "no": False}
_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_MOST = 12  # values of a column that are listed


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of `--where`, as it was typed and in parts."""

    text: str
    column: str
    sign: str
    value: str


def conditions_of(words: list[str] | None) -> list[Condition]:
    """Parse the conditions of `--where`."""
    conditions = []
    for word in words or ():
        match = _FORM.fullmatch(word)
        if match is None:
            raise ArgumentError(
                f"--where {for_message(word)!r} is no condition; write it as --where target=gpt-4o, or with != < <= > >="
            )
        column, sign, value = match[1].strip(), match[2], match[3].strip()
        if not value and sign not in {"=", "!="}:
            raise ArgumentError(f"--where {for_message(word)!r} needs a value after {sign}")
        conditions.append(Condition(word, column, sign, value))
    return conditions


def selected(rollouts: "pl.DataFrame", conditions: Sequence[Condition]) -> "pl.DataFrame":
    """Return the rollouts for which all conditions hold, and say on stderr how many those are.

    Several values of one column, each after `=`, are alternatives. A rollout without a value meets no condition but `COLUMN=`.
    """
    import polars as pl

    if not conditions:
        return rollouts
    all_hold, unknown, alternatives = pl.lit(value=True), [], dict[str, pl.Expr]()
    for condition in conditions:
        holds = _holds(rollouts, condition)
        if condition.sign == "=":
            # Several values of one column are alternatives, as one rollout cannot have two; all other conditions must hold
            # together.
            alternatives[condition.column] = (
                alternatives[condition.column] | holds if condition.column in alternatives else holds
            )
        else:
            all_hold &= holds
        missing = rollouts[condition.column].null_count()
        # A null meets no condition, which would pass unnoticed.
        if missing and condition.value:
            unknown.append(f"{counted(missing, 'rollout has', 'rollouts have')} no value of `{condition.column}`")
    for holds in alternatives.values():
        all_hold &= holds
    chosen = rollouts.filter(all_hold)
    words = listing([condition.text for condition in conditions], most=len(conditions))
    if chosen.is_empty():
        raise ArgumentError(
            f"--where {words}: none of {counted(rollouts.height, 'rollout')} meets this; leave a condition out"
        )
    notes = "".join(f"; {note}" for note in dict.fromkeys(unknown))
    say(f"--where {words}: {chosen.height:,} of {counted(rollouts.height, 'rollout')}{notes}")
    return chosen


def _holds(rollouts: "pl.DataFrame", condition: Condition) -> "pl.Expr":
    """Return the condition as an expression that is never null."""
    import polars as pl

    from rollwise.schema.named import column_named

    if condition.column not in rollouts.columns:
        raise ArgumentError(
            f"--where {condition.text}: there is no column {condition.column!r}; {meant(condition.column, rollouts.columns)}"
        )
    column = column_named(condition.column)
    if not condition.value:
        return column.is_null() if condition.sign == "=" else column.is_not_null()
    dtype = rollouts.schema[condition.column]
    if dtype.is_nested():
        raise ArgumentError(
            f"--where {condition.text}: `{condition.column}` holds {dtype}, not one value a rollout; choose another column"
        )
    value: Any = condition.value
    if dtype.is_numeric():
        value = _number(condition)
    elif dtype == pl.Boolean:
        value = _TRUTH.get(condition.value.lower(), condition.value)
    else:
        # Dates and categories are compared as they are printed.
        column = column.cast(pl.String)
    if condition.sign in {"=", "!="}:
        _check_value(rollouts[condition.column], value, condition)
    elif not dtype.is_numeric():
        raise ArgumentError(f"--where {condition.text}: `{condition.column}` is no number; compare it with = or !=")
    holds: pl.Expr = _SIGNS[condition.sign](column, value).fill_null(value=False)
    return holds


def _number(condition: Condition) -> float:
    try:
        return float(condition.value)
    except ValueError as error:
        raise ArgumentError(
            f"--where {condition.text}: `{condition.column}` holds numbers, and {condition.value!r} is none; write one"
        ) from error


def _check_value(values: "pl.Series", value: Any, condition: Condition) -> None:
    """Refuse a value that no rollout has: most often it is a slip, and would leave out all rollouts, or none."""
    import polars as pl

    distinct = values.drop_nulls().unique()
    choices = (
        distinct.to_list()
        if distinct.dtype.is_numeric() or distinct.dtype == pl.Boolean
        else distinct.cast(pl.String).to_list()
    )
    if value not in choices:
        texts = [str(choice).lower() if isinstance(choice, bool) else choice for choice in choices]
        raise ArgumentError(
            f"--where {condition.text}: no rollout has this value of `{condition.column}`; "
            f"{meant(condition.value, texts, most=_MOST)}"
        )
