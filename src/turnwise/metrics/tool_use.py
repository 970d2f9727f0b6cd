"""Did the target call the tools that were expected?

The calls are lists of `name` and `arguments` (JSON text), as in the column `tool_calls`; the expected ones stand in a
column of the same kind, `expected_calls` unless another is named. Given two columns, each function compares them row by
row. Given none, it is a metric of the rollout: the calls of all its turns, in order, against its first
`expected_calls`. A turn whose calls are null counts as none beside one that has a list; where no turn says what was
called, or nobody what was expected, the value is null. A call counts as often as it is made.

Calls are told apart by their names; with ``arguments=True`` also by their arguments, compared as JSON, so that neither
blanks nor the order of keys matter, nor whether a number is written 1 or 1.0. No arguments are ``{}``.
"""

import json
from collections.abc import Callable
from typing import Any, Literal

import polars as pl

from turnwise.errors import MetricError
from turnwise.metrics.answers import Text, pairwise, shared_items, shared_share, text_of
from turnwise.metrics.metric import metric

Order = Literal["exact", "in_order", "any", "subset", "superset"]
_ORDERS = ("exact", "in_order", "any", "subset", "superset")


def _compared(
    calls: Text | None,
    expected: Text | None,
    arguments: bool,  # noqa: FBT001  # handed on
    compare: Callable[[pl.DataFrame], pl.Series],
    name: str,
    dtype: type[pl.DataType] = pl.Float64,
) -> pl.Expr:
    theirs = text_of("expected_calls" if expected is None else expected)
    if calls is None:
        made = pl.col("tool_calls").sort_by("turn")
        flat = made.list.explode(keep_nulls=False, empty_as_null=False).implode()
        ours: pl.Expr = pl.when(pl.col("tool_calls").count() > 0).then(flat)
        theirs = theirs.first()
    else:
        ours = text_of(calls)

    def of(pairs: pl.DataFrame) -> pl.Series:
        return compare(pairs.select(pl.all().list.eval(_key(arguments=arguments))))

    return pairwise(ours, theirs, of, dtype).alias(f"{name}_with_arguments" if arguments else name)


def _key(*, arguments: bool) -> pl.Expr:
    """Return a text that identifies a call."""
    name = pl.element().struct.field("name").fill_null("")
    if not arguments:
        return name
    given = pl.element().struct.field("arguments").map_batches(_canonical, return_dtype=pl.String, is_elementwise=True)
    return pl.concat_str(name, given, separator="\x00")


def _canonical(texts: pl.Series) -> pl.Series:
    """JSON texts written in one way, each distinct one once; what is no JSON stays as it is."""
    written = {text: _written(text) for text in texts.unique().to_list()}
    return pl.Series([written[text] for text in texts.to_list()], dtype=pl.String)


def _written(text: str | None) -> str:
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
    """The calls that both sides share, over those of one side; 1 for nothing of nothing, null for nothing of something."""

    def of(pairs: pl.DataFrame) -> pl.Series:
        lengths = pairs.select(own=pl.col(side).list.len(), longest=pl.max_horizontal(pl.all().list.len()))
        shared = lengths.with_columns(shared=shared_items(pairs))
        share = pl.when(pl.col("own") > 0).then(pl.col("shared") / pl.col("own"))
        return shared.select(pl.when(pl.col("longest") == 0).then(1.0).otherwise(share)).to_series()

    return of


@metric(
    better="higher",
    concerns="task",
    share=True,
    sets=("TOOL_USE",),
    names=("tool_call_precision", "tool_call_precision_..."),
)
def tool_call_precision(calls: Text | None = None, expected: Text | None = None, *, arguments: bool = False) -> pl.Expr:
    """Share of the calls made that were expected (Float64 in [0, 1]).

    1 where none was made or expected; null where none was made though some were expected.

    Examples
    --------
    >>> made = [[{"name": "search", "arguments": "{}"}, {"name": "buy", "arguments": "{}"}]]
    >>> turns = pl.DataFrame({"tool_calls": made, "expected_calls": [made[0][:1]]})
    >>> turns.select(tool_call_precision("tool_calls")).item()
    0.5
    """
    return _compared(calls, expected, arguments, _share_of("ours"), "tool_call_precision")


@metric(
    better="higher", concerns="task", share=True, sets=("TOOL_USE",), names=("tool_call_recall", "tool_call_recall_...")
)
def tool_call_recall(calls: Text | None = None, expected: Text | None = None, *, arguments: bool = False) -> pl.Expr:
    """Share of the expected calls that were made (Float64 in [0, 1]).

    1 where none was made or expected; null where none was expected though some were made.

    Examples
    --------
    >>> made = [[{"name": "search", "arguments": "{}"}, {"name": "buy", "arguments": "{}"}]]
    >>> turns = pl.DataFrame({"tool_calls": made, "expected_calls": [made[0][:1]]})
    >>> turns.select(tool_call_recall("tool_calls")).item()
    1.0
    """
    return _compared(calls, expected, arguments, _share_of("theirs"), "tool_call_recall")


@metric(better="higher", concerns="task", share=True, sets=("TOOL_USE",), names=("tool_call_f1", "tool_call_f1_..."))
def tool_call_f1(calls: Text | None = None, expected: Text | None = None, *, arguments: bool = False) -> pl.Expr:
    """Twice the calls that were made and expected, over all made and all expected (Float64 in [0, 1]).

    1 where none was made or expected.

    Examples
    --------
    >>> made = [[{"name": "search", "arguments": "{}"}, {"name": "buy", "arguments": "{}"}]]
    >>> turns = pl.DataFrame({"tool_calls": made, "expected_calls": [made[0][:1]]})
    >>> round(turns.select(tool_call_f1("tool_calls")).item(), 4)
    0.6667
    """
    return _compared(calls, expected, arguments, shared_share, "tool_call_f1")


@metric(better="higher", concerns="task", sets=("TOOL_USE",), names=("tool_calls_match", "tool_calls_match_..."))
def tool_calls_match(
    calls: Text | None = None, expected: Text | None = None, *, order: Order = "exact", arguments: bool = False
) -> pl.Expr:
    """Return whether the calls made are the expected ones (Boolean).

    Parameters
    ----------
    calls, expected
        Columns of calls; None for the rollout's.
    order
        ``"exact"``: the same calls in the same order, and no others. ``"in_order"``: the expected ones in their order,
        others between them. ``"any"``: the same calls in whatever order. ``"subset"``: no call that was not expected.
        ``"superset"``: no expected call missing.
    arguments
        Whether arguments are compared too.

    Examples
    --------
    >>> made = [[{"name": "search", "arguments": '{"q": 1}'}, {"name": "buy", "arguments": "{}"}]]
    >>> turns = pl.DataFrame({"tool_calls": made, "expected_calls": [made[0][::-1]]})
    >>> turns.select(tool_calls_match("tool_calls", order=order) for order in ("exact", "any")).row(0)
    (False, True)
    """
    if order not in _ORDERS:
        raise MetricError(f"tool_calls_match: there is no order {order!r}; it is one of {', '.join(_ORDERS)}")

    def of(pairs: pl.DataFrame) -> pl.Series:
        if order == "exact":
            return pairs["ours"] == pairs["theirs"]
        if order == "in_order":
            rows = zip(pairs["ours"].to_list(), pairs["theirs"].to_list(), strict=True)
            return pl.Series([_stand_in_order(made, wanted) for made, wanted in rows], dtype=pl.Boolean)
        shared = shared_items(pairs)
        within, complete = (shared == pairs[side].list.len() for side in ("ours", "theirs"))
        return {"any": within & complete, "subset": within, "superset": complete}[order]

    return _compared(calls, expected, arguments, of, f"tool_calls_match_{order}", pl.Boolean)


def _stand_in_order(made: list[Any], wanted: list[Any]) -> bool:
    """Return whether one list is a subsequence of the other: each is looked for behind the one before."""
    rest = iter(made)
    return all(call in rest for call in wanted)
