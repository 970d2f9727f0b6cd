"""Rollouts and their metrics -> the columns of TURNS and ROLLOUTS."""

import hashlib
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, SchemaError
from rollwise.measurement.trees.graphs import PROMPTS, flatten
from rollwise.rollout.graph import (
    Graph,
    GraphMetrics,
    Node,
    Recording,
    Spoken,
    children_of,
    contexts,
    first_branch,
    further,
)
from rollwise.rollout.results import plain_object
from rollwise.rollout.store import Run

_NOTHING = Recording()
_AT_ONCE = 1 << 12  # texts that are joined and hashed at a time, to bound the copy
_PLAIN_TYPES = frozenset({str, int, float, bool, type(None)})
_TEXTS = ("context", "prompt", "response", "reward")
_OF_THE_TURN = {*schema.TURNS.names} - {*schema.TURNS.facts, *schema.TURNS.key, *schema.TREE_COLUMNS}


def turns_with(
    runs: Sequence[Run],
    dialogue: Spoken,
    facts: pl.DataFrame,
    *,
    sizes: Sequence[int] | None = None,
    only: Collection[str] | None = None,
) -> pl.DataFrame:
    """Return TURNS of the `dialogue` along the first branch of each graph, with the `facts` and errors of each rollout.

    Attributes of nodes that `Node` lacks become columns too. For graphs that do not consist of nodes with `children`,
    `sizes` gives the number of turns of each; without it, they are an error. With `only`, other columns of the schema are
    omitted, and unless `rollout_id` is among them, it is the position of the rollout; columns outside the schema are kept.
    """
    graphs = [_NOTHING if done.graph is None else done.graph for done in runs]
    turns = _dialogue_turns(graphs, dialogue, sizes, only)
    place = turns["rollout_id"] if turns["rollout_id"].dtype.is_integer() else turns["rollout_id"].cast(pl.Int64)
    columns = [column for column in facts if _wanted(column.name, only) or column.name not in schema.TURNS.names]
    node_columns = _of_nodes(graphs)
    # A node's attribute keeps its name; a fact of the same name gets a prefix.
    named = {f"rollout_{column.name}" if column.name in node_columns else column.name: column for column in columns}
    turns = turns.with_columns(**{name: column.gather(place) for name, column in named.items()} | node_columns)
    if not _wanted("error", only):
        return turns
    last = place.ne_missing(place.shift(-1))  # the error of a rollout belongs to its last turn
    failed = pl.Series([done.error for done in runs], dtype=pl.String).gather(place)
    existing = "error" if "error" in turns.columns else pl.lit(None, pl.String)
    return turns.with_columns(error=pl.coalesce(existing, pl.when(last).then(failed)))


def _wanted(name: str, only: Collection[str] | None) -> bool:
    return only is None or name in only


def _dialogue_turns(
    graphs: Sequence[Any], dialogue: Spoken, sizes: Sequence[int] | None, only: Collection[str] | None
) -> pl.DataFrame:
    """Return TURNS of the dialogue, with the positions of rollouts as their ids."""
    if dialogue.plain:
        try:
            return _as_said(graphs, dialogue, only)
        except (TypeError, UnicodeEncodeError):  # some values are not text; `flatten` writes them as JSON
            pass
    try:
        return flatten(graphs)
    except (ArgumentError, SchemaError):
        if sizes is None:
            raise
        return _silent(np.array(sizes, dtype=np.int64), None)


def _as_said(graphs: Sequence[Any], dialogue: Spoken, only: Collection[str] | None) -> pl.DataFrame:
    """Return the TURNS that `flatten` would return, for a dialogue of texts only; it needs no nodes of recordings."""
    silent = _silent(dialogue.sizes, only)
    # A rollout without turns has one row without a turn, for which the dialogue has no entry.
    has_turn = silent["turn"].is_not_null()
    row = None if has_turn.all() else (has_turn.cast(pl.Int64).cum_sum() - 1).set(~has_turn, None)

    def column(name: str, values: Sequence[Any], dtype: Any = pl.String) -> pl.Series:
        series = pl.Series(name, values, dtype=dtype, strict=True)
        return series if row is None else series.gather(row)

    texts = {"prompt": dialogue.prompts, "response": dialogue.responses}
    columns = [column(name, values) for name, values in texts.items() if _wanted(name, only)]
    if _wanted("reward", only):
        columns.append(column("reward", dialogue.rewards, pl.Float64).fill_nan(None))
    if _wanted("context", only):
        began = pl.Series([getattr(graph, "context", None) for graph in graphs], dtype=pl.String, strict=True)
        started = began.gather(silent["rollout_id"].cast(pl.Int64)).set(silent["turn"].fill_null(1) > 1, None)
        context = column("context", contexts(graphs))
        columns.append(context.zip_with(context.is_not_null(), started))
    return silent.with_columns(columns)


def _silent(sizes: npt.NDArray[np.int64], only: Collection[str] | None) -> pl.DataFrame:
    """Return TURNS without texts: ids and numbers of turns, and null."""
    rows = np.maximum(sizes, 1)
    place = pl.Series("rollout_id", np.repeat(np.arange(len(sizes), dtype=np.int32), rows)).set_sorted()
    turn = np.arange(1, len(place) + 1, dtype=np.int32) - np.repeat((np.cumsum(rows) - rows).astype(np.int32), rows)
    keys = {
        "rollout_id": place.cast(pl.String) if _wanted("rollout_id", only) else place,
        "turn": pl.Series(turn).set(pl.Series(np.repeat(sizes == 0, rows)), None),
    }
    names = [name for name in schema.TURNS.names if name not in schema.TREE_COLUMNS and _wanted(name, only)]
    nulls = (pl.lit(None, schema.TURNS.dtypes[name]).alias(name) for name in names if name not in keys)
    return pl.DataFrame(keys).with_columns(nulls)


def facts_of(runs: Sequence[Run], dialogue: Spoken, seed_columns: pl.DataFrame | None) -> pl.DataFrame:
    """Return one row of facts per rollout: its id, the facts of TURNS, attributes of its graph, and columns of its seed.

    Ids are made of the content of all rollouts and the position, so that the rollouts of two evaluations can share a table.
    """
    # A rollout without a graph counts as an empty one.
    graphs = [_NOTHING if done.graph is None else done.graph for done in runs]
    facts = pl.DataFrame(list(_facts(runs, graphs, seed_columns).values()))
    name = _digest(facts, dialogue)
    place = pl.int_range(len(runs), eager=True).cast(pl.String)
    return facts.with_columns(source=pl.lit("rollwise"), run=pl.lit(name), rollout_id=pl.lit(f"{name}/") + place)


def _facts(runs: Sequence[Run], graphs: Sequence[Any], seed_columns: pl.DataFrame | None) -> dict[str, pl.Series]:
    """Return the facts of each rollout: from its graph, else from the columns of its seed, else from how it ended."""
    facts = further(graphs, Graph)

    def fill(name: str, otherwise: Iterable[Any]) -> None:
        values = facts.get(name, [None] * len(runs))
        facts[name] = [default if value is None else value for value, default in zip(values, otherwise, strict=True)]

    for column in [] if seed_columns is None else seed_columns.get_columns():
        fill(column.name, column.head(len(runs)).to_list())
    fill("goal", (done.seed if isinstance(done.seed, str) else None for done in runs))
    fill("attempt", _attempts(facts["goal"]))
    fill("total_seconds", (None if math.isnan(done.seconds) else done.seconds for done in runs))
    fill("outcome", (None if done.error is None else schema.ERROR for done in runs))
    fill("ending", [None] * len(runs))
    # An error outranks what the graph says of its end.
    endings = zip(runs, facts["ending"], strict=True)
    facts["ending"] = [ending if done.error is None else schema.ERROR for done, ending in endings]
    facts["seed"] = [text_of(done.seed) for done in runs]
    reserved = {*schema.TURNS.names} - {*schema.TURNS.facts}
    # A fact named like another column of TURNS, such as `prompt`, gets a prefix.
    columns = {f"rollout_{name}" if name in reserved else name: values for name, values in facts.items()}
    return {name: column_of(name, values) for name, values in columns.items()}


def _attempts(goals: Sequence[Any]) -> list[int | None]:
    """Number each rollout's attempt at its goal."""
    counts: Counter[Any] = Counter()
    attempts: list[int | None] = []
    for goal in goals:
        counts[goal] += 1
        attempts.append(None if goal is None else counts[goal])
    return attempts


def _of_nodes(graphs: Sequence[Any]) -> dict[str, pl.Series]:
    """Return the attributes of nodes beyond `Node`, in the rows of their turns."""
    # Nodes of rollwise have no further attributes: looking at the first node of each graph decides in most cases.
    linked = [graph for graph in graphs if not isinstance(graph, Recording)]
    if not further([child for graph in linked for child in children_of(graph)[:1]], Node):
        return {}
    nodes = [node for graph in graphs for node in (first_branch(graph) or [None])]
    reserved = {*schema.TURNS.names} - _OF_THE_TURN
    columns = {f"turn_{name}" if name in reserved else name: values for name, values in further(nodes, Node).items()}
    return {name: column_of(name, values) for name, values in columns.items()}


def _digest(facts: pl.DataFrame, dialogue: Spoken) -> str:
    """Return a name for these rollouts: a hash of their seeds, facts and texts."""
    digest = hashlib.sha256(dialogue.sizes.astype("<i8").tobytes())
    facts_as_text = [facts[name].to_list() for name in ("seed", "target", "attack", "goal") if name in facts.columns]
    for texts in (*facts_as_text, dialogue.prompts, dialogue.responses):
        for begin in range(0, len(texts), _AT_ONCE):
            for content in _bytes(texts[begin : begin + _AT_ONCE]):
                digest.update(content)
    return f"rollwise-{digest.hexdigest()[:12]}"


def _bytes(texts: Sequence[Any]) -> tuple[bytes, bytes]:
    """Return the lengths of some texts and the joined texts; None has the length -1, an empty text 0."""
    try:
        return np.fromiter(map(len, texts), "<i8", len(texts)).tobytes(), "".join(texts).encode()
    except (TypeError, UnicodeEncodeError):  # some are None, not text, or half of a surrogate pair
        written = [text_of(text) for text in texts]
        lengths = np.array([-1 if text is None else len(text) for text in written], dtype="<i8")
        return lengths.tobytes(), "".join(filter(None, written)).encode(errors="surrogatepass")


# ── metrics as columns ────────────────────────────────────────────────────────────────────────────────────────────────
def with_entries(turns: pl.DataFrame, measured: Sequence[GraphMetrics | None]) -> pl.DataFrame:
    """Return TURNS with the entries of `per_turn` as columns, for rollouts with one entry per turn.

    An entry named like an empty column of TURNS fills it. If the name is used already, the entry gets the prefix
    ``per_turn_``, unless it holds the same values. Texts come from the graphs, if they have any: the texts of an evaluator,
    shortened or completed, become separate columns.
    """
    place = turns.select(pl.col("rollout_id").rle_id()).to_series()
    counts = np.bincount(place.filter(turns["turn"].is_not_null()).to_numpy(), minlength=len(measured)).tolist()
    silent = all(turns[name].null_count() == turns.height for name in _TEXTS)
    names = dict.fromkeys(name for metrics in measured if metrics for entry in metrics.per_turn for name in entry)
    for name in names:
        column = "prompt" if name in PROMPTS else name
        if column == "turn":
            continue
        values: list[Any] = []
        for metrics, count in zip(measured, counts, strict=True):
            entries = [] if metrics is None or len(metrics.per_turn) != count else metrics.per_turn
            values += [entry.get(name) for entry in entries] or [None] * max(count, 1)
        turns = _with_entry(turns, column, values, may_fill=silent or column not in _TEXTS)
    return turns


def _with_entry(turns: pl.DataFrame, name: str, values: Sequence[Any], *, may_fill: bool) -> pl.DataFrame:
    if may_fill and name in _OF_THE_TURN and turns[name].null_count() == turns.height:
        try:
            return turns.with_columns(column_of(name, values))
        except SchemaError:
            pass
    if name not in turns.columns:
        return turns.with_columns(column_of(name, values))
    column = column_of(f"per_turn_{name}", values)
    rows = zip(turns[name].to_list(), column.to_list(), strict=True)
    pairs = [(value, entry) for value, entry in rows if entry is not None]
    if all(value == entry for value, entry in pairs):
        return turns
    # ASTRA-RL's pages shorten a context to its end.
    if name == "context" and column.dtype == pl.String and all((text or "").endswith(end) for text, end in pairs):
        return turns
    return turns.with_columns(column)


def entries_of(ids: Iterable[str], measured: Sequence[GraphMetrics | None]) -> pl.DataFrame:
    """Return one row per entry of `per_turn`."""
    rows = [
        {"rollout_id": name, **entry}
        for name, metrics in zip(ids, measured, strict=True)
        for entry in ([] if metrics is None else metrics.per_turn)
    ]
    names = dict.fromkeys(["rollout_id", *(name for row in rows for name in row)])
    return pl.DataFrame({name: _column(name, [row.get(name) for row in rows]) for name in names})


def with_overall(frame: pl.DataFrame, records: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return the frame with the records of its rows as columns; a name used already gets ``overall_``, if values differ."""
    for name in dict.fromkeys(name for record in records for name in record):
        values = [record.get(name) for record in records]
        if name not in frame.columns:
            frame = frame.with_columns(column_of(name, values))
        elif frame[name].to_list() != values:
            frame = frame.with_columns(column_of(f"overall_{name}", values))
    return frame


def with_facts(rollouts: pl.DataFrame, facts: pl.DataFrame) -> pl.DataFrame:
    """Return ROLLOUTS with facts outside its schema as columns; a name used already gets ``rollout_``, if values differ."""
    used = {*rollouts.columns, *schema.ROLLOUTS.names}
    extra = [fact for fact in facts if fact.name not in schema.ROLLOUTS.names]
    new = [fact for fact in extra if fact.name not in used]
    for fact in extra:
        aside = fact.alias(f"rollout_{fact.name}")
        if fact.name in used and aside.name not in used and not rollouts[fact.name].equals(fact, null_equal=True):
            new.append(aside)
    return rollouts.with_columns(new)


def column_of(name: str, values: Sequence[Any]) -> pl.Series:
    """Return the values as a column: with the dtype of TURNS for its name, else with that of the values, else as JSON text."""
    dtype = schema.TURNS.dtypes.get(name)
    if dtype is None:
        return _column(name, values)
    try:
        column = pl.Series(name, _plain(values), dtype=dtype, strict=True)
    except (TypeError, OverflowError, pl.exceptions.PolarsError) as error:
        raise SchemaError(f"TURNS: the {name} of a rollout or of a turn is not {dtype} ({error})") from error
    return column.fill_nan(None) if column.dtype.is_float() else column


def _column(name: str, values: Sequence[Any]) -> pl.Series:
    plain = _plain(values)
    dtype = _dtype_of(plain)
    if dtype is None:
        return pl.Series(name, [text_of(value) for value in plain], dtype=pl.String)
    column = pl.Series(name, plain, dtype=dtype, strict=False)
    return column.fill_nan(None) if column.dtype.is_float() else column


def _plain(values: Sequence[Any]) -> list[Any]:
    """Return the values with scalars of NumPy and PyTorch as Python numbers."""
    if _PLAIN_TYPES.issuperset(map(type, values)):
        return list(values)
    return [value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else value for value in values]


def _dtype_of(values: Sequence[Any]) -> pl.DataType | type[pl.DataType] | None:
    """Return the dtype of values of one kind; None if they are mixed."""
    present = [value for value in values if value is not None]
    kinds = set(map(type, present))
    # Columns without any value are Boolean, the smallest dtype, and cast to any other.
    if kinds <= {bool}:
        return pl.Boolean
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in present):
        return pl.Int64
    if kinds <= {int, float, bool}:
        return pl.Float64
    if kinds == {str}:
        return pl.String
    if kinds == {dict} and all(value.keys() == {"duration", "observed"} for value in present):
        return schema.TIME_TO_EVENT
    return None


def text_of(value: Any) -> str | None:
    """Return the value as text: as JSON, or as its `repr`; None stays None."""
    if value is None or isinstance(value, str):
        return value
    try:
        return msgspec.json.encode(value, enc_hook=plain_object).decode()
    except (TypeError, ValueError, RecursionError):
        return repr(value)
