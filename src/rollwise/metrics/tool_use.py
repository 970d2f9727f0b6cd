"""Agreement of the target's tool calls with the expected ones.

Calls are lists of `name` and `arguments` (JSON text), as in the column `tool_calls`; the expected calls are in a column of
the same kind, `expected_calls` by default. With two columns, each function compares them row by row. Without, it is a
metric of the rollout: the calls of all its turns, in order, against its first `expected_calls`. If some turns have a list
of calls, null counts as an empty list; if no turn has one, or the expected calls are null, the value is null. Repeated
calls count each time.

Calls are compared by name; with ``arguments=True`` also by arguments, as JSON, so that blanks, the order of keys, and 1 or
1.0 for a number make no difference. Missing arguments are ``{}``.
"""

import json
from collections.abc import Callable
from typing import Any, Literal

import polars as pl

from rollwise.metrics.answers import Text, pairwise, shared_items, shared_share, text_of
from rollwise.metrics.metric import SHARE, metric
from rollwise.schema.named import column_named
from rollwise.schema.option_types import check_option_types

Order = Literal["exact", "in_order", "any", "subset", "superset"]


def _compared(
    calls: Text | None,
    expected: Text | None,
    arguments: bool,  # noqa: FBT001  # passed through
    compare: Callable[[pl.DataFrame], pl.Series],
    name: str,
    dtype: type[pl.DataType] = pl.Float64,
) -> pl.Expr:
    wanted = text_of("expected_calls" if expected is None else expected)
    if calls is None:
        # A rollout: the calls of its turns in one list, null if no turn has a list.
        lists = pl.col("tool_calls").sort_by("turn")
        joined = lists.list.explode(keep_nulls=False, empty_as_null=False).implode()
        actual: pl.Expr = pl.when(pl.col("tool_calls").count() > 0).then(joined)
        wanted = wanted.first()
    else:
        actual = text_of(calls)

    def of(pairs: pl.DataFrame) -> pl.Series:
        return compare(pairs.select(pl.all().list.eval(_key(arguments=arguments))))

    return pairwise(actual, wanted, of, dtype).alias(f"{name}_with_arguments" if arguments else name)


def _key(*, arguments: bool) -> pl.Expr:
    """Return a text that identifies a call."""
    name = pl.element().struct.field("name").fill_null("")
    if not arguments:
        return name
    parsed = pl.element().struct.field("arguments").map_batches(_canonical, return_dtype=pl.String, is_elementwise=True)
    return pl.concat_str(name, parsed, separator="\x00")


def _canonical(texts: pl.Series) -> pl.Series:
    """Return JSON texts in a canonical form; a text that is not JSON is unchanged. Each distinct text is parsed once."""
    written = {text: _canonical_text(text) for text in texts.unique().to_list()}
    return pl.Series([written[text] for text in texts.to_list()], dtype=pl.String)


def _canonical_text(text: str | None) -> str:
    if text is None or not text.strip():
        return "{}"
    try:
        return json.dumps(json.loads(text, parse_float=_number), sort_keys=True)
    except (ValueError, RecursionError):
        return text.strip()


def _number(text: str) -> float | int:
    number = float(text)
    return int(number) if number.is_integer() else number


def _share_of(side: str) -> Callable[[pl.DataFrame], pl.Series]:
    """Return a function for the share of shared calls in one side; 1 if both sides are empty, null if only this one is."""

    def of(pairs: pl.DataFrame) -> pl.Series:
        lengths = pairs.select(length=column_named(side).list.len(), longest=pl.max_horizontal(pl.all().list.len()))
        shared = lengths.with_columns(shared=shared_items(pairs))
        share = pl.when(pl.col("length") > 0).then(pl.col("shared") / pl.col("length"))
        return shared.select(pl.when(pl.col("longest") == 0).then(1.0).otherwise(share)).to_series()

    return of


@metric(
    better="higher",
    concerns="task",
    values=SHARE,
    sets=("TOOL_USE",),
    names=("tool_call_precision", "tool_call_precision_..."),
)
def tool_call_precision(calls: Text | None = None, expected: Text | None = None, *, arguments: bool = False) -> pl.Expr:
    """Share of the actual calls that were expected (Float64 in [0, 1]).

    1 if no calls were made or expected; null if none was made though some were expected.

    Examples
    --------
    >>> made = [[{"name": "search", "arguments": "{}"}, {"name": "buy", "arguments": "{}"}]]
    >>> turns = pl.DataFrame({"tool_calls": made, "expected_calls": [made[0][:1]]})
    >>> turns.select(tool_call_precision("tool_calls")).item()
    0.5
    """
    check_option_types(tool_call_precision, locals())
    return _compared(calls, expected, arguments, _share_of("actual"), "tool_call_precision")


@metric(
    better="higher",
    concerns="task",
    values=SHARE,
    sets=("TOOL_USE",),
    names=("tool_call_recall", "tool_call_recall_..."),
)
def tool_call_recall(calls: Text | None = None, expected: Text | None = None, *, arguments: bool = False) -> pl.Expr:
    """Share of the expected calls that were made (Float64 in [0, 1]).

    1 if no calls were made or expected; null if none was expected though some were made.

    Examples
    --------
    >>> made = [[{"name": "search", "arguments": "{}"}, {"name": "buy", "arguments": "{}"}]]
    >>> turns = pl.DataFrame({"tool_calls": made, "expected_calls": [made[0][:1]]})
    >>> turns.select(tool_call_recall("tool_calls")).item()
    1.0
    """
    check_option_types(tool_call_recall, locals())
    return _compared(calls, expected, arguments, _share_of("expected"), "tool_call_recall")


@metric(better="higher", concerns="task", values=SHARE, sets=("TOOL_USE",), names=("tool_call_f1", "tool_call_f1_..."))
def tool_call_f1(calls: Text | None = None, expected: Text | None = None, *, arguments: bool = False) -> pl.Expr:
    """Twice the calls both made and expected, over the numbers of both (Float64 in [0, 1]): the F1 of precision and recall.

    1 if no calls were made or expected.

    Examples
    --------
    >>> made = [[{"name": "search", "arguments": "{}"}, {"name": "buy", "arguments": "{}"}]]
    >>> turns = pl.DataFrame({"tool_calls": made, "expected_calls": [made[0][:1]]})
    >>> round(turns.select(tool_call_f1("tool_calls")).item(), 4)
    0.6667
    """
    check_option_types(tool_call_f1, locals())
    return _compared(calls, expected, arguments, shared_share, "tool_call_f1")


@metric(better="higher", concerns="task", sets=("TOOL_USE",), names=("tool_calls_match", "tool_calls_match_..."))
def tool_calls_match(
    calls: Text | None = None, expected: Text | None = None, *, order: Order = "exact", arguments: bool = False
) -> pl.Expr:
    """Return whether the actual calls match the expected ones (Boolean).

    Parameters
    ----------
    calls, expected
        Columns of calls; None for the rollout's.
    order
        ``"exact"``: the same calls in the same order, and no others. ``"in_order"``: the expected calls in their order,
        with others between them. ``"any"``: the same calls in any order. ``"subset"``: only expected calls.
        ``"superset"``: all expected calls.
    arguments
        Whether arguments are compared too.

    Examples
    --------
    >>> made = [[{"name": "search", "arguments": '{"q": 1}'}, {"name": "buy", "arguments": "{}"}]]
    >>> turns = pl.DataFrame({"tool_calls": made, "expected_calls": [made[0][::-1]]})
    >>> turns.select(tool_calls_match("tool_calls", order=order) for order in ("exact", "any")).row(0)
    (False, True)
    """
    check_option_types(tool_calls_match, locals())

    def of(pairs: pl.DataFrame) -> pl.Series:
        # Equal lists have the same calls in the same order, repeated ones included.
        if order == "exact":
            return pairs["actual"] == pairs["expected"]
        if order == "in_order":
            rows = zip(pairs["actual"].to_list(), pairs["expected"].to_list(), strict=True)
            return pl.Series([_in_order(actual, wanted) for actual, wanted in rows], dtype=pl.Boolean)
        shared = shared_items(pairs)
        # All shared calls account for one side (no unexpected call), or for the other (none missing).
        within, complete = (shared == pairs[side].list.len() for side in ("actual", "expected"))
        return {"any": within & complete, "subset": within, "superset": complete}[order]

    return _compared(calls, expected, arguments, of, f"tool_calls_match_{order}", pl.Boolean)


def _in_order(actual: list[Any], expected: list[Any]) -> bool:
    """Return whether the expected calls are a subsequence of the actual ones."""
    remaining = iter(actual)  # `in` consumes it up to the match, so the next call is searched for behind it
    return all(call in remaining for call in expected)
