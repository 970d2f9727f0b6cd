"""Runs that crashed: an error where an answer should be is an error, regardless of the verdict the tool recorded.

Many tools log a timeout as "not jailbroken". A rollout that ended without an answer and with an error has no verdict: it
counts as an error, neither as a success nor as a failure of the attack. A reward or score of 0 there is a placeholder, too.
"""

from collections.abc import Collection, Iterable

import polars as pl

from rollwise import schema
from rollwise.readers.casting import cast
from rollwise.readers.roles.columns import plain_name
from rollwise.readers.roles.names import role_of, verdict_claim, words_of
from rollwise.schema import ENDINGS, ERROR, FAILURE, OUTCOMES, TURNS
from rollwise.schema.named import column_named, columns_named, values_named

NOTHING = ("", "false", "none", "null", "nan", "no", "0", "{}", "[]", '""', "ok")  # texts that report no error
TIMEOUTS = ("true", "yes", "timeout", "timed out", "timed_out")
FAILED = ("error", "errored", "failed", "timeout", "timed_out", "timed out", "exception", "crashed")  # of `status`
_OF_CRASHES = {"error", "exception", "timeout", "timed_out", "status"}
# How the texts begin that programs write in place of an answer where a call failed, and what they speak of.
_BEGINNING = (
    r"(?i)^\W{0,3}(?:(?:api|http|request|model|generation|connection|llm|inference|server|client)[ _-]?){0,2}"
    r"(?:error|exception|timeout)\b(?: code)?\W{0,2}\d{0,3}\s*[:\]]"
)
_OF_CALLS = (
    r"(?i)\bapi\b|https?:|\bhttp\b|status code|quota|rate.?limit|timed? ?out|connection|\bserver\b|cuda|out of memory|"
    r"traceback|unauthorized|forbidden|unavailable|max retries|\b[45]\d\d\b|no longer supported"
)
_LONGEST = 600  # characters of such a text
_CAUSE, _CRASHED, _LAST = "__rollwise_cause", "__rollwise_crashed", "__rollwise_last"


def crashed(frame: pl.DataFrame, of_records: Collection[str] = ()) -> tuple[pl.DataFrame, int]:
    """Mark turns and rollouts that crashed, and count the rollouts whose verdict gave way.

    A turn crashed if it has no answer (no text, no tool call) and an error: in `error` or `exception`, as a `timeout` that is
    true, or as a `status` such as failed. The text of the error goes into `error`; a verdict that says no becomes null; and a
    rollout whose last turn crashed ends with an error, unless an ending is stated.
    """
    # Most tables report no error anywhere, and are not looked through.
    columns = [name for name in frame.columns if plain_name(name) in _OF_CRASHES]
    if frame.is_empty() or (columns == ["error"] and not frame["error"].count()):
        return frame, 0
    of_record = {*frame.columns} & {*of_records}
    frame = _of_turns(frame.with_columns(pl.col("rollout_id").is_last_distinct().alias(_LAST)), of_record)
    causes = [
        pl.when(pl.col(_LAST)).then(cause) if column in of_record else cause
        for column, dtype in frame.schema.items()
        if (cause := _cause(column, dtype)) is not None
    ]
    no_text = pl.col("response").is_null() | (pl.col("response").str.strip_chars() == "")
    is_empty = no_text & (pl.col("tool_calls").is_null() | (pl.col("tool_calls").list.len() == 0))
    frame = frame.with_columns(pl.coalesce(causes).alias(_CAUSE))
    frame = frame.with_columns((pl.col(_CAUSE).is_not_null() & is_empty).alias(_CRASHED))
    if not frame[_CRASHED].any():
        return frame.drop(_CAUSE, _CRASHED, _LAST), 0
    # In a tree, the last row says nothing about the whole.
    ends = pl.lit(value=False) if schema.is_tree(frame) else (pl.col(_CRASHED) & pl.col(_LAST)).any().over("rollout_id")
    failed_turn = pl.col(_CRASHED) & pl.col("succeeded").not_()
    failed_rollout = ends & (pl.col("outcome") == FAILURE)
    unsolved = ends & pl.col("solved").not_()
    zeros = {name: pl.col(_CRASHED) & (column_named(name) == 0) for name in ("reward", "score")}
    contradict = pl.any_horizontal(failed_turn, failed_rollout, unsolved, *zeros.values())
    contradictions = frame.filter(contradict.fill_null(value=False))["rollout_id"].n_unique()
    changes = {
        **{name: pl.when(zero.fill_null(value=False)).then(None).otherwise(name) for name, zero in zeros.items()},
        "solved": pl.when(unsolved.fill_null(value=False)).then(None).otherwise("solved"),
        "error": pl.when(_CRASHED).then(pl.coalesce("error", _CAUSE)).otherwise("error"),
        "succeeded": pl.when(failed_turn.fill_null(value=False)).then(None).otherwise("succeeded"),
        "refused": pl.when(pl.col(_CRASHED) & pl.col("refused").not_().fill_null(value=False))
        .then(None)
        .otherwise("refused"),
        "outcome": pl.when(failed_rollout.fill_null(value=False)).then(pl.lit(None, OUTCOMES)).otherwise("outcome"),
        "ending": pl.when(ends).then(pl.col("ending").fill_null(pl.lit(ERROR, ENDINGS))).otherwise("ending"),
    }
    frame = frame.with_columns(**changes)
    return frame.drop(_CAUSE, _CRASHED, _LAST), contradictions


def are_failed_calls(frame: pl.DataFrame) -> pl.Series | None:
    """Return the rows whose answer is the text of an error of the call, such as `ERROR: 503 ...`; None without any."""
    if "response" not in frame.columns or frame.schema["response"] != pl.String:
        return None
    answers = frame["response"]
    rows = answers.str.contains(_BEGINNING) & (answers.str.len_chars() <= _LONGEST) & answers.str.contains(_OF_CALLS)
    rows = rows.fill_null(value=False)
    return rows if rows.any() else None


def without_failed_calls(frame: pl.DataFrame, rows: pl.Series) -> pl.DataFrame:
    """Return turns whose answer is the text of an error without that answer, which becomes the error, and without its verdicts.

    The outcome of a rollout all of whose turns are such errors is unknown, as are verdicts and scores in columns of one's own.
    """
    ids = frame["rollout_id"]
    is_lost = ~ids.is_in(ids.filter(~rows).unique().implode())
    unknown = [name for name in ("succeeded", "refused", "score", "reward", "tool_calls") if name in frame.columns]
    lost = [
        name for name in frame.columns if name in {"outcome", "solved"} or (name not in TURNS.names and _judges(name))
    ]
    return frame.with_columns(
        frame["error"].zip_with(~rows | frame["error"].is_not_null(), frame["response"]).alias("error"),
        frame["response"].set(rows, None),
        *(
            frame[name].zip_with(~rows, pl.repeat(None, frame.height, dtype=frame.schema[name], eager=True))
            for name in unknown
        ),
        *(
            frame[name].zip_with(~is_lost, pl.repeat(None, frame.height, dtype=frame.schema[name], eager=True))
            for name in lost
        ),
    )


def _judges(name: str) -> bool:
    """Return whether a column of one's own is called as a verdict or a score is."""
    return bool({"score", "scores"} & {*words_of(name)}) or role_of(name) == "score" or verdict_claim(name) is not None


def may_report_crashes(columns: Iterable[str]) -> bool:
    """Return whether a table has a column that may report errors."""
    return any(plain_name(name) in _OF_CRASHES for name in columns)


def _of_turns(frame: pl.DataFrame, of_records: Collection[str]) -> pl.DataFrame:
    """Move the error that a record states into `error` of its last turn, where that is null."""
    column = next((name for name in of_records if plain_name(name) == "error" and name != "error"), None)
    is_text = column is not None and (frame.schema[column] == pl.String or frame.schema[column].is_nested())
    if column is None or not is_text or frame["error"].filter(frame[_LAST]).count():
        return frame
    text = cast(values_named(frame, column).alias("error"), pl.String, frame["rollout_id"])
    is_stated = text.is_not_null() & ~text.str.strip_chars().str.to_lowercase().is_in(NOTHING)
    text = text.zip_with(is_stated & frame[_LAST], frame["error"])
    return frame.drop(columns_named(column)).with_columns(text.alias("error"))


def _cause(column: str, dtype: pl.DataType) -> pl.Expr | None:
    """Return the error that a column reports, as text, null where it reports none; None if it is a column of something else."""
    name = plain_name(column)
    if name not in _OF_CRASHES:  # before anything else, as there may be thousands of columns
        return None
    values = column_named(column)
    words = values.str.strip_chars().str.to_lowercase()
    if name in {"error", "exception"}:
        return _error(name, values, words, dtype)
    if name in {"timeout", "timed_out"} and dtype in {pl.Boolean, pl.String}:  # a number is a limit
        return pl.when(values if dtype == pl.Boolean else words.is_in(TIMEOUTS)).then(pl.lit("timeout"))
    if name == "status" and dtype == pl.String:
        return pl.when(words.is_in(FAILED)).then(pl.format("status: {}", values))
    return None


def _error(name: str, values: pl.Expr, words: pl.Expr, dtype: pl.DataType) -> pl.Expr | None:
    if dtype == pl.String:
        return pl.when(~words.is_in(NOTHING)).then(values)
    if dtype == pl.Boolean:
        return pl.when(values).then(pl.lit(name))
    if isinstance(dtype, pl.Struct):
        return pl.when(values.is_not_null()).then(values.struct.json_encode())
    return pl.when(values != 0).then(pl.format("{} {}", pl.lit(name), values)) if dtype.is_integer() else None
