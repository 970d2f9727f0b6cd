"""STEPS -> one row per event, with the column names of the NeMo Agent Toolkit's profiler."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from rollwise.metrics.step_activity import steps_of
from rollwise.schema import STEPS, check
from rollwise.schema.named import column_named, columns_named

EVENTS: Mapping[str, Any] = {
    "event_type": pl.String,
    "event_timestamp": pl.Float64,
    "example_number": pl.Int64,
    "prompt_tokens": pl.Int64,
    "completion_tokens": pl.Int64,
    "total_tokens": pl.Int64,
    "llm_text_input": pl.String,
    "llm_text_output": pl.String,
    "llm_new_token": pl.String,
    "llm_name": pl.String,
    "tool_name": pl.String,
    "function_name": pl.String,
    "function_id": pl.String,
    "parent_function_name": pl.String,
    "parent_function_id": pl.String,
    "UUID": pl.String,
    "framework": pl.String,
}
_WORDS = {
    "model": "LLM",
    "tool": "TOOL",
    **{word: word.upper() for word in ("workflow", "task", "ttc", "function", "span")},
}
_FUNCTION = "function"
_SAME = ("example_number", "function_name")  # NOVA treats a function call as one event
_MS = 1000.0
Key = tuple[str, int]


def events(steps: object, *, nova: bool = False) -> pl.DataFrame:
    """List the events of steps, one per row, named as in `standardized_data_all.csv` of the NeMo Agent Toolkit's profiler.

    Each step gives a ``..._START`` and, if its end or its output is known, an ``..._END``, which contains the tokens.

    Parameters
    ----------
    steps
        STEPS, from `rw.readers.steps`.
    nova
        If True, add the columns ``NOVA-...`` with what is still to come after each event, times in ms. Requests are model calls
        by the same function of the same rollout, strictly later; the times to the next and the last of them are -1
        without any, and their number is -1 if the function never calls a model. All are null for an event without a time.

    Returns
    -------
    polars.DataFrame
        Events in the order of rollouts, and of time within each. `event_timestamp` is in seconds since the first event of its
        rollout, null if unknown. `example_number` counts rollouts from 0; `UUID` is ``rollout_id/step``, equal for start and
        end, and function ids are such UUIDs too. The function of an event is the innermost step of kind ``function`` around
        it, or the step itself; null outside of functions, and in logs without them, as the toolkit writes by default. Kinds
        unknown to the toolkit are ``CUSTOM``. Columns that STEPS cannot fill are null: `framework`, `llm_new_token`.

    Raises
    ------
    SchemaError
        If a column is missing or has another dtype than in STEPS, or a step occurs twice.

    Examples
    --------
    >>> steps = pl.DataFrame(
    ...     {
    ...         "rollout_id": ["a", "a"],
    ...         "step": [1, 2],
    ...         "parent": [None, 1],
    ...         "kind": ["function", "model"],
    ...         "name": ["answer", "m"],
    ...         "start": [0.0, 0.5],
    ...         "end": [2.0, 1.5],
    ...         "response_tokens": [None, 7],
    ...     }
    ... )
    >>> made = events(steps, nova=True)
    >>> made.select("event_type", "event_timestamp", "llm_name", "function_name", "NOVA-Time-To-Next-Event").rows()[:2]
    [('FUNCTION_START', 0.0, None, 'answer', 500.0), ('LLM_START', 0.5, 'm', 'answer', -1.0)]
    >>> made.filter(event_type="LLM_END").select("completion_tokens", "UUID").row(0)
    (7, 'a/2')
    """
    complete = check(steps_of(steps, "events", ("rollout_id", "step", "kind")).select(STEPS.names), STEPS)
    numbers = complete.select(pl.col("rollout_id").unique(maintain_order=True)).with_row_index("example_number")
    rows = _phases(_with_functions(complete.join(numbers, on="rollout_id", how="left", maintain_order="left")))
    return _with_nova(rows) if nova else rows.select(_columns())


def _with_functions(steps: pl.DataFrame) -> pl.DataFrame:
    """Add the names and UUIDs of each step's innermost function, and of the function around that one."""
    rows = steps.select("rollout_id", "step", "parent", "kind", "name").rows()
    steps_by_key: dict[Key, tuple[int | None, str | None, str | None]] = {
        (rollout, step): (parent, kind, name) for rollout, step, parent, kind, name in rows
    }

    # Results by step, so that each chain of parents is followed once.
    innermost_functions: dict[Key, int | None] = {}

    def innermost(rollout: str, step: int | None) -> int | None:
        path: list[Key] = []
        while step is not None and (rollout, step) in steps_by_key and (rollout, step) not in innermost_functions:
            parent, kind, _ = steps_by_key[rollout, step]
            # Stored before the parent is visited, so a cycle of parents ends here.
            innermost_functions[rollout, step] = step if kind == _FUNCTION else None
            path.append((rollout, step))
            step = step if kind == _FUNCTION else parent
        function = None if step is None else innermost_functions.get((rollout, step))
        innermost_functions.update(dict.fromkeys(path, function))
        return function

    functions: list[tuple[str | None, ...]] = []
    for rollout, step, *_ in rows:
        function_step = innermost(rollout, step)
        # The function around a function is looked up from the parent of its step.
        parent_function = None if function_step is None else innermost(rollout, steps_by_key[rollout, function_step][0])
        functions.append(
            tuple(
                cell
                for number in (function_step, parent_function)
                for cell in (
                    (None, None) if number is None else (steps_by_key[rollout, number][2], f"{rollout}/{number}")
                )
            )
        )
    names = [name for name in EVENTS if "function_" in name]
    return steps.hstack(pl.DataFrame(functions, schema=dict.fromkeys(names, pl.String), orient="row"))


def _phases(steps: pl.DataFrame) -> pl.DataFrame:
    """Return a row for the start and a row for the end of each step, in order of time."""
    is_model = pl.col("kind") == "model"
    tokens = {"prompt_tokens": "prompt_tokens", "completion_tokens": "response_tokens", "total_tokens": "tokens"}
    has_end = pl.any_horizontal(column_named(name).is_not_null() for name in ("end", "output", *tokens.values()))
    event_word = pl.col("kind").replace_strict(_WORDS, default="CUSTOM", return_dtype=pl.String)
    common = {
        "example_number": pl.col("example_number"),
        "llm_name": pl.when(is_model).then("name"),
        "tool_name": pl.when(pl.col("kind") == "tool").then("name"),
        "UUID": pl.format("{}/{}", "rollout_id", "step"),
    }
    functions = [name for name in EVENTS if "function_" in name]
    # Events without a time are placed by the other end of their step.
    order = {"step": pl.col("step"), "at": pl.coalesce("start", "end")}
    takes_time = pl.col("start") < pl.col("end")
    # Of ends at the same time, inner steps come first.
    closing = pl.when(takes_time).then(-pl.col("step")).otherwise("step")
    start = steps.select(
        *columns_named(functions),
        **common,
        **order,
        event_type=pl.format("{}_START", event_word),
        event_timestamp="start",
        llm_text_input=pl.when(is_model).then("input"),
        to_come=pl.when(is_model).then("response_tokens"),
    )
    end = steps.filter(has_end).select(
        *columns_named(functions),
        **common,
        **(order | {"step": closing, "at": pl.coalesce("end", "start")}),
        event_type=pl.format("{}_END", event_word),
        event_timestamp="end",
        llm_text_output=pl.when(is_model).then("output"),
        **{name: column_named(column) for name, column in tokens.items()},
    )
    both = pl.concat([start.with_columns(phase=0), end.with_columns(phase=1)], how="diagonal")
    missing = (pl.lit(None, dtype).alias(name) for name, dtype in EVENTS.items() if name not in both.columns)
    return both.with_columns(missing).sort("example_number", "at", "step", "phase", nulls_last=True)


def _columns() -> list[pl.Expr]:
    return [column_named(name).cast(dtype) for name, dtype in EVENTS.items()]


def _with_nova(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the number of and the times to later requests, as the toolkit's documentation defines them; null without a time."""
    time = pl.col("event_timestamp")
    requests = time.filter(pl.col("event_type") == "LLM_START").drop_nulls().sort()
    # Requests up to and including this time; the next one is strictly later.
    index = requests.search_sorted(time, side="right")
    remaining = (requests.len().cast(pl.Int64) - index.cast(pl.Int64)).over(_SAME)
    upcoming = (requests.gather(index, null_on_oob=True) - time).over(_SAME)
    last = (requests.last() - time).over(_SAME)
    remainders = {
        "Requests-Remaining-In-Event": pl.when(requests.len().over(_SAME) > 0).then(remaining).otherwise(-1),
        "Time-To-Next-Event": (upcoming * _MS).fill_null(-1.0),
        "Time-To-Event-End": pl.when(last > 0).then(last * _MS).otherwise(-1.0),
        "Predicted-OSL": pl.col("to_come"),
        "Time-To-Session-End": (time.max().over("example_number") - time) * _MS,
    }
    columns = [pl.when(time.is_not_null()).then(value).alias(f"NOVA-{name}") for name, value in remainders.items()]
    return rows.select(*_columns(), pl.col("function_name").alias("NOVA-Event-ID"), *columns)
