"""TURNS and metrics -> ROLLOUTS: one row per rollout, one column per metric."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias, overload

import polars as pl
import polars.selectors as cs

from rollwise import schema
from rollwise.errors import MetricError, SchemaError, listing, meant
from rollwise.measurement.batches import at_once, reduced
from rollwise.measurement.own_metrics import honest
from rollwise.measurement.repeats import check_repeats, contiguous
from rollwise.measurement.unused_verdicts import noted
from rollwise.metrics.catalog import in_set
from rollwise.metrics.effort import num_turns
from rollwise.metrics.metric import ABOUT
from rollwise.schema.arguments import frame_of, names_of, shown
from rollwise.schema.frame_checks import check_ids
from rollwise.schema.named import column_named, columns_named
from rollwise.schema.option_types import check_option_types

Metric: TypeAlias = pl.Expr | Callable[[], pl.Expr]

_COUNTS = {
    "num_turns": num_turns(),
    "num_judged": pl.col("succeeded").count().cast(pl.Int32),
}


@overload
def measure(
    turns: pl.LazyFrame, *metrics: Metric | Iterable[Metric], keep: str | Sequence[str] | None = None, **named: Metric
) -> pl.LazyFrame: ...
@overload
def measure(
    turns: Any, *metrics: Metric | Iterable[Metric], keep: str | Sequence[str] | None = None, **named: Metric
) -> pl.DataFrame: ...
def measure(
    turns: Any, *metrics: Metric | Iterable[Metric], keep: str | Sequence[str] | None = None, **named: Metric
) -> pl.DataFrame | pl.LazyFrame:
    """Measure rollouts: one row per rollout with its facts, `num_turns`, `num_judged` and one column per metric.

    Parameters
    ----------
    turns
        TURNS. A `LazyFrame` stays lazy. If its rollouts are sorted by id, as in files of ``rollwise convert``, they are
        measured in batches, so memory does not grow with the number of turns. Any other table is read into memory.
    *metrics
        Expressions that reduce a rollout's turns to one value, metric functions that need no argument, or tuples of
        them such as `metrics.OUTCOME`. The default is `metrics.OUTCOME` and `metrics.TIMING`. An expression of your own that
        reads `error`, `ending` or `outcome` is used unchanged. Any other is null, which means unknown, for a rollout that ended
        in an error, and for one without a value in a column of verdicts that it reads: `solved`, `succeeded`, `refused`,
        `reward`, `score`, or a column that is not in `schema.TURNS`. Of columns of costs, one with a value is enough. Where
        only some turns lack a verdict, it is up to the expression: `any(ignore_nulls=False)` is null there, `any()` is not.
    keep
        Numeric or Boolean extra columns to keep, each constant within its rollout. Facts of the rollout are always kept,
        and in an eager frame so is every other text, Enum or temporal column that is constant within rollouts.
    **named
        Further metrics by their names.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        Rows in the order of each rollout's first turn. Missing columns of the schema count as null. Where an eager frame has no
        verdict on a rollout and a column that looks like one, the column `unused_verdict` names it, and so does `reason` in
        `summarize`. In a lazy query over many rollouts, compute a median in a separate group-by and join it: with a median,
        Polars keeps all columns in memory.

    Raises
    ------
    MetricError
        If a metric needs a missing column, has no unique name, or does not reduce a rollout to one value.
    SchemaError
        If the table is not TURNS, a rollout has two rows of one turn, or a fact varies within a rollout.

    Examples
    --------
    >>> from rollwise import metrics as m
    >>> turns = pl.DataFrame({"rollout_id": ["a", "a", "b"], "turn": [1, 2, 1], "succeeded": [False, True, False]})
    >>> measure(turns, m.attack_success(), m.success_within(1)).select(pl.exclude(schema.ROLLOUTS.facts))
    shape: (2, 5)
    ┌────────────┬───────────┬────────────┬────────────────┬──────────────────┐
    │ rollout_id ┆ num_turns ┆ num_judged ┆ attack_success ┆ success_within_1 │
    │ ---        ┆ ---       ┆ ---        ┆ ---            ┆ ---              │
    │ str        ┆ i32       ┆ i32        ┆ bool           ┆ bool             │
    ╞════════════╪═══════════╪════════════╪════════════════╪══════════════════╡
    │ a          ┆ 2         ┆ 2          ┆ true           ┆ false            │
    │ b          ┆ 1         ┆ 1          ┆ false          ┆ false            │
    └────────────┴───────────┴────────────┴────────────────┴──────────────────┘
    """
    check_option_types(measure, locals())
    frame = turns if isinstance(turns, pl.LazyFrame) else frame_of(turns, "measure")
    require_turns(frame, "measure")
    are_contiguous = _require_rollouts(frame)
    columns = frame.collect_schema()
    expressions_by_name = expressions(metrics, named)
    _check_needs(expressions_by_name, _with_schema_columns(frame.lazy(), columns).collect_schema())
    kept_columns = names_of(keep or ())
    for name in kept_columns:
        if name not in columns:
            raise MetricError(
                f"measure: keep names {name!r}, which is not a column; available: {listing(columns, most=30)}"
            )
    constant_columns = (
        _constant(frame, columns, kept_columns, are_contiguous=are_contiguous)
        if isinstance(frame, pl.DataFrame)
        else ()
    )
    carried = list(dict.fromkeys([*schema.ROLLOUTS.facts, *constant_columns, *kept_columns]))
    # A metric must not replace a fact or another column of the result.
    _check_clashes(expressions_by_name, ["rollout_id", *carried, *_COUNTS])
    table = _with_schema_columns(frame.lazy(), columns)
    dtypes = table.collect_schema()
    measured = {name: honest(expression, dtypes) for name, expression in expressions_by_name.items()}
    # The counts come first; a metric called `num_turns` is replaced by the count.
    values = [expression.alias(name) for name, expression in {**_COUNTS, **measured, **_COUNTS}.items()]
    present = [name for name in carried if name in columns]
    absent = [pl.lit(None, schema.ROLLOUTS.dtypes[name]).alias(name) for name in carried if name not in columns]
    order = ["rollout_id", *carried, *dict.fromkeys([*_COUNTS, *expressions_by_name])]
    try:
        if isinstance(frame, pl.LazyFrame):
            error_of = partial(_error_of_metric, expressions_by_name=expressions_by_name, is_valid=True)
            # A lazy frame is not read here: the result is a query that reads batches when it is collected.
            query = reduced(table, present, values, error_of).with_columns(absent).select(columns_named(order))
            _check_values(query.collect_schema(), expressions_by_name)
            return query
        rollouts = (
            at_once(table, present, values, are_contiguous=are_contiguous)
            .with_columns(absent)
            .select(columns_named(order))
        )
    except pl.exceptions.PolarsError as error:
        raise _error_of_metric(error, table, expressions_by_name, is_valid=isinstance(frame, pl.DataFrame)) from error
    _check_values(rollouts.schema, expressions_by_name)
    return noted(rollouts, frame)


def require_turns(frame: pl.DataFrame | pl.LazyFrame, verb: str) -> None:
    """Raise an error if the table lacks a required column of TURNS."""
    columns = frame.collect_schema()
    for name in schema.TURNS.required:
        if name not in columns and {"rollout_id", "num_turns"} <= set(columns):
            raise SchemaError(
                f"{verb}: column `{name}` is missing; this looks like a table of rollouts, which `rw.measure` makes from turns; "
                "pass the turns"
            )
        if name not in columns:
            raise SchemaError(
                f"{verb}: column `{name}` is missing (available: {listing(columns)}); "
                f'`rw.turns(frame, names={{"{name}": "your column"}})` makes a table of turns'
            )


def _require_rollouts(frame: pl.DataFrame | pl.LazyFrame) -> bool:
    """Check that rows are turns of rollouts, each once; return whether the turns of each rollout are known to be contiguous."""
    columns = frame.collect_schema()
    if isinstance(frame, pl.DataFrame):
        check_ids(frame, "measure")
    if "node_id" in columns and frame.lazy().select(pl.col("node_id").is_not_null().any()).collect().item():
        raise SchemaError(
            "measure: column `node_id` says that this is a table of tree nodes, not of rollouts; "
            "`rw.measure(rw.rollout.paths(turns))` measures each path from a root to a leaf as a rollout"
        )
    if isinstance(frame, pl.LazyFrame):
        return False
    are_contiguous = contiguous(frame["rollout_id"])
    check_repeats(frame, "measure", are_contiguous=are_contiguous)
    return are_contiguous


def expressions(
    metrics: Sequence[Metric | Iterable[Metric]], named: Mapping[str, Metric] = MappingProxyType({})
) -> dict[str, pl.Expr]:
    """Return each metric's expression by its output name; two metrics of one name raise an error."""
    expressions_by_name: dict[str, pl.Expr] = {}
    pairs: list[tuple[str, pl.Expr]] = []
    for metric in _flat(metrics if metrics or named else (in_set("OUTCOME"), in_set("TIMING"))):
        expression = metric if isinstance(metric, pl.Expr) else _called(metric)
        if expression.meta.has_multiple_outputs():
            raise MetricError(f"measure: {shown(str(expression))} gives several columns; pass one metric for each")
        pairs.append((expression.meta.output_name(), expression))
    for name, metric in named.items():
        expression = metric if isinstance(metric, pl.Expr) else _called(metric, name)
        if expression.meta.has_multiple_outputs():  # also of one column: what a pattern reads is not known before
            raise MetricError(
                f"measure: {name}= chooses columns by a pattern or a selector; name each of them in `pl.col`"
            )
        pairs.append((name, expression.alias(name)))
    for name, expression in pairs:
        if name in expressions_by_name:
            raise MetricError(
                f"measure: two metrics are called {name!r}; leave one out, or name one of them: `.alias({name + '_2'!r})`"
            )
        expressions_by_name[name] = expression
    return expressions_by_name


def _flat(metrics: Iterable[Metric | Iterable[Metric]]) -> Iterable[Metric]:
    for metric in metrics:
        if isinstance(metric, tuple | list):
            yield from metric
        else:
            yield metric  # type: ignore[misc]  # a lone expression or function


def _called(metric: Any, name: str = "") -> pl.Expr:
    """Return the expression of a metric that is a function of no argument; `name` is what the user calls it."""
    what = f"{name}=" if name else ""
    if not callable(metric):
        example = f"m.{metric}()" if isinstance(metric, str) and metric.isidentifier() else "m.attack_success()"
        raise MetricError(
            f"measure: {what}{metric!r} is not a metric; a metric is an expression, such as `{example}` after "
            "`from rollwise import metrics as m`"
        )
    about = next((about for metric_known, about in ABOUT.items() if metric_known is metric), None)
    reason: TypeError | None = None
    try:
        expression = metric()
    except TypeError as error:
        expression, reason = None, error
    if isinstance(expression, pl.Expr):
        return expression
    if about is not None:
        problem = f"{what}{about.name} is not a metric by itself ({reason}); call it with its arguments"
    else:
        called = getattr(metric, "__name__", type(metric).__name__)
        problem = (
            f"{f'{what} is ' if what else ''}{'a lambda' if called == '<lambda>' else f'the function {called}'}, not a metric; "
            "a metric is an expression, such as `pl.col('score').max()`; a function of an answer is a judge, and makes a column "
            "of its own: `rw.score(turns, function, into='mine')`"
        )
    raise MetricError(f"measure: {problem}") from reason


def _with_schema_columns(frame: pl.LazyFrame, columns: pl.Schema) -> pl.LazyFrame:
    missing = {name: dtype for name, dtype in schema.TURNS.dtypes.items() if name not in columns}
    untyped = [name for name in schema.TURNS.names if name in columns and columns[name] == pl.Null]
    return frame.with_columns(
        *(pl.lit(None, dtype=dtype).alias(name) for name, dtype in missing.items()),
        *(column_named(name).cast(schema.TURNS.dtypes[name]) for name in untyped),
    )


def _check_needs(expressions: dict[str, pl.Expr], columns: pl.Schema) -> None:
    for name, expression in expressions.items():
        roots = filter(None, expression.meta.root_names())  # the element of a list is a root without a name
        missing = [root for root in roots if root not in columns]
        if missing:
            raise MetricError(
                f"measure: metric `{name}` needs the column {listing(missing)}, which this table lacks; "
                f"{meant(missing[0], columns)}"
            )


def _error_of_metric(
    error: pl.exceptions.PolarsError, turns: pl.LazyFrame, expressions_by_name: dict[str, pl.Expr], *, is_valid: bool
) -> MetricError:
    """Return an error that names the first metric that fails on this table, with the reason.

    If the turns can be read (`is_valid`), the metrics are computed one by one; otherwise only their dtypes are checked.
    """
    columns = turns.collect_schema()
    for name, expression in expressions_by_name.items():
        # The first metric that fails by itself explains the error.
        query = turns.group_by("rollout_id").agg(expression)
        try:
            query.collect(engine="streaming") if is_valid else query.collect_schema()
        except pl.exceptions.PolarsError as metric_error:
            dtypes = listing(f"{root} is {columns[root]}" for root in expression.meta.root_names() if root in columns)
            return MetricError(
                f"measure: metric `{name}` cannot be measured on this table, where {dtypes}: {_first_line(metric_error)}; "
                "name a column that it is for, or cast this one"
            )
    return MetricError(
        f"measure: a metric cannot be measured on this table: {_first_line(error)}; measure them one by one"
    )


def _first_line(error: pl.exceptions.PolarsError) -> str:
    return str(error).partition("\n")[0]


def _check_clashes(expressions: dict[str, pl.Expr], names: list[str]) -> None:
    for name in expressions:
        if name in names and name != "num_turns":
            raise MetricError(
                f"measure: metric `{name}` has the name of a column that is kept; give it another name: `my_{name}=...`"
            )


def _check_values(columns: pl.Schema, expressions: dict[str, pl.Expr]) -> None:
    for name, expression in expressions.items():
        if isinstance(columns[name], pl.List) and expression.meta.root_names():
            raise MetricError(
                f"measure: metric `{name}` gives a list per rollout, not one value; "
                "reduce it, as in `.max()` or `.any(ignore_nulls=False)`"
            )


def _constant(
    frame: pl.DataFrame, columns: pl.Schema, kept_columns: tuple[str, ...], *, are_contiguous: bool
) -> tuple[str, ...]:
    """Return the extra text, Enum and temporal columns that are constant within rollouts; check that facts and kept ones are."""
    facts = [name for name in schema.ROLLOUTS.facts if name in columns]
    text_columns = cs.expand_selector(frame, cs.string() | cs.categorical() | cs.enum() | cs.temporal())
    extras = [name for name in text_columns if name not in schema.TURNS.names]
    filled = [
        name for name in dict.fromkeys([*facts, *extras, *kept_columns]) if frame[name].null_count() < frame.height
    ]
    if not filled:
        return tuple(extras)
    is_same = pl.col("rollout_id").eq_missing(pl.col("rollout_id").shift())
    ordered = frame if are_contiguous else frame.sort("rollout_id", maintain_order=True)
    # A column is constant if it never changes between consecutive rows of one rollout.
    changes = ordered.select(
        (column_named(name).ne_missing(column_named(name).shift()) & is_same).any().alias(name) for name in filled
    ).row(0, named=True)
    for name in (*facts, *kept_columns):
        if changes.get(name):
            rollout_id = ordered.filter(column_named(name).ne_missing(column_named(name).shift()) & is_same)[
                "rollout_id"
            ][0]
            raise SchemaError(
                f"measure: `{name}` is a fact of the rollout but varies in rollout {rollout_id!r}; "
                "give it one value per rollout, or rename the column to keep it as a fact of the turn"
            )
    return tuple(name for name in extras if not changes.get(name))
