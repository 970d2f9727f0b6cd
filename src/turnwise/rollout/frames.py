"""Rollouts, and what was measured of them, into the columns of TURNS and ROLLOUTS."""

import hashlib
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from turnwise import schema
from turnwise.errors import ArgumentError, SchemaError
from turnwise.measurement.trees.graphs import PROMPTS, flatten
from turnwise.rollout.graph import (
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
from turnwise.rollout.results import plain_object
from turnwise.rollout.store import Run

_NOTHING = Recording()
_AT_ONCE = 1 << 12  # texts that are copied to be hashed
_OWN = frozenset({str, int, float, bool, type(None)})
_SAID = ("context", "prompt", "response", "reward")
_OF_THE_TURN = {*schema.TURNS.names} - {*schema.TURNS.facts, *schema.TURNS.key, *schema.TREE_COLUMNS}


def turns_with(
    runs: Sequence[Run],
    said: Spoken,
    facts: pl.DataFrame,
    *,
    sizes: Sequence[int] | None = None,
    only: Collection[str] | None = None,
) -> pl.DataFrame:
    """TURNS of what was `said` along the first branch of each graph, with the `facts` of each rollout, and what failed.

    What nodes hold beyond `Node` become columns as well. Where graphs are not of nodes with `children`, `sizes` says how many
    turns each has; without it, that is an error. With `only`, the schema's other columns are left out, and unless it is
    among them `rollout_id` is the rollout's place; columns that the schema does not know are always there.
    """
    graphs = [_NOTHING if done.graph is None else done.graph for done in runs]
    told = _told(graphs, said, sizes, only)
    place = told["rollout_id"] if told["rollout_id"].dtype.is_integer() else told["rollout_id"].cast(pl.Int64)
    known = [column for column in facts if _wanted(column.name, only) or column.name not in schema.TURNS.names]
    nodes = _of_nodes(graphs)
    named = {f"rollout_{column.name}" if column.name in nodes else column.name: column for column in known}
    told = told.with_columns(**{name: column.gather(place) for name, column in named.items()} | nodes)
    if not _wanted("error", only):
        return told
    last = place.ne_missing(place.shift(-1))
    failed = pl.Series([done.error for done in runs], dtype=pl.String).gather(place)
    theirs = "error" if "error" in told.columns else pl.lit(None, pl.String)
    return told.with_columns(error=pl.coalesce(theirs, pl.when(last).then(failed)))


def _wanted(name: str, only: Collection[str] | None) -> bool:
    return only is None or name in only


def _told(
    graphs: Sequence[Any], said: Spoken, sizes: Sequence[int] | None, only: Collection[str] | None
) -> pl.DataFrame:
    """TURNS of what was said, with the places of rollouts for their ids."""
    if said.plain:
        try:
            return _as_said(graphs, said, only)
        except (TypeError, UnicodeEncodeError):  # what is no text becomes JSON
            pass
    try:
        return flatten(graphs)
    except (ArgumentError, SchemaError):
        if sizes is None:
            raise
        return _silent(np.array(sizes, dtype=np.int64), None)


def _as_said(graphs: Sequence[Any], said: Spoken, only: Collection[str] | None) -> pl.DataFrame:
    """TURNS of what was said, all of it text, as `flatten` would have it; of recordings, without nodes."""
    silent = _silent(said.sizes, only)
    there = silent["turn"].is_not_null()
    row = None if there.all() else (there.cast(pl.Int64).cum_sum() - 1).set(~there, None)

    def column(name: str, values: Sequence[Any], dtype: Any = pl.String) -> pl.Series:
        found = pl.Series(name, values, dtype=dtype, strict=True)
        return found if row is None else found.gather(row)

    words = {"prompt": said.prompts, "response": said.responses}
    found = [column(name, values) for name, values in words.items() if _wanted(name, only)]
    if _wanted("reward", only):
        found.append(column("reward", said.rewards, pl.Float64).fill_nan(None))
    if _wanted("context", only):
        began = pl.Series([getattr(graph, "context", None) for graph in graphs], dtype=pl.String, strict=True)
        started = began.gather(silent["rollout_id"].cast(pl.Int64)).set(silent["turn"].fill_null(1) > 1, None)
        own = column("context", contexts(graphs))
        found.append(own.zip_with(own.is_not_null(), started))
    return silent.with_columns(found)


def _silent(sizes: npt.NDArray[np.int64], only: Collection[str] | None) -> pl.DataFrame:
    """TURNS without a word."""
    rows = np.maximum(sizes, 1)
    place = pl.Series("rollout_id", np.repeat(np.arange(len(sizes), dtype=np.int32), rows)).set_sorted()
    turn = np.arange(1, len(place) + 1, dtype=np.int32) - np.repeat((np.cumsum(rows) - rows).astype(np.int32), rows)
    known = {
        "rollout_id": place.cast(pl.String) if _wanted("rollout_id", only) else place,
        "turn": pl.Series(turn).set(pl.Series(np.repeat(sizes == 0, rows)), None),
    }
    names = [name for name in schema.TURNS.names if name not in schema.TREE_COLUMNS and _wanted(name, only)]
    nothing = (pl.lit(None, schema.TURNS.dtypes[name]).alias(name) for name in names if name not in known)
    return pl.DataFrame(known).with_columns(nothing)


def facts_of(runs: Sequence[Run], said: Spoken, beside: pl.DataFrame | None) -> pl.DataFrame:
    """Return the facts of each rollout, a row each: its name, the facts of TURNS, attributes of graphs, and facts beside seeds.

    Rollouts are named after their content and their place, so that those of two evaluations may stand in one table.
    """
    graphs = [_NOTHING if done.graph is None else done.graph for done in runs]
    facts = pl.DataFrame(list(_facts(runs, graphs, beside).values()))
    name = _digest(facts, said)
    place = pl.int_range(len(runs), eager=True).cast(pl.String)
    return facts.with_columns(source=pl.lit("turnwise"), run=pl.lit(name), rollout_id=pl.lit(f"{name}/") + place)


def _facts(runs: Sequence[Run], graphs: Sequence[Any], beside: pl.DataFrame | None) -> dict[str, pl.Series]:
    """Return the facts of each rollout: from its graph, its seed, and its ending."""
    found = further(graphs, Graph)

    def fill(name: str, otherwise: Iterable[Any]) -> None:
        given = found.get(name, [None] * len(runs))
        found[name] = [theirs if mine is None else mine for mine, theirs in zip(given, otherwise, strict=True)]

    for column in [] if beside is None else beside.get_columns():
        fill(column.name, column.head(len(runs)).to_list())
    fill("goal", (done.seed if isinstance(done.seed, str) else None for done in runs))
    fill("attempt", _attempts(found["goal"]))
    fill("total_seconds", (None if math.isnan(done.seconds) else done.seconds for done in runs))
    fill("outcome", (None if done.error is None else schema.ERROR for done in runs))
    fill("ending", [None] * len(runs))
    endings = zip(runs, found["ending"], strict=True)
    found["ending"] = [given if done.error is None else schema.ERROR for done, given in endings]
    found["seed"] = [text_of(done.seed) for done in runs]
    taken = {*schema.TURNS.names} - {*schema.TURNS.facts}
    named = {f"rollout_{name}" if name in taken else name: values for name, values in found.items()}
    return {name: column_of(name, values) for name, values in named.items()}


def _attempts(goals: Sequence[Any]) -> list[int | None]:
    """Number each rollout's attempt at its goal."""
    met: Counter[Any] = Counter()
    attempts: list[int | None] = []
    for goal in goals:
        met[goal] += 1
        attempts.append(None if goal is None else met[goal])
    return attempts


def _of_nodes(graphs: Sequence[Any]) -> dict[str, pl.Series]:
    """Return the attributes of nodes beyond `Node`, in the rows of their turns."""
    linked = [graph for graph in graphs if not isinstance(graph, Recording)]
    if not further([child for graph in linked for child in children_of(graph)[:1]], Node):
        return {}
    nodes = [node for graph in graphs for node in (first_branch(graph) or [None])]
    taken = {*schema.TURNS.names} - _OF_THE_TURN
    found = {f"turn_{name}" if name in taken else name: values for name, values in further(nodes, Node).items()}
    return {name: column_of(name, values) for name, values in found.items()}


def _digest(facts: pl.DataFrame, said: Spoken) -> str:
    """Return the name of these rollouts: a hash of their seeds, facts and words."""
    digest = hashlib.sha256(said.sizes.astype("<i8").tobytes())
    known = [facts[name].to_list() for name in ("seed", "target", "attack", "goal") if name in facts.columns]
    for texts in (*known, said.prompts, said.responses):
        for begin in range(0, len(texts), _AT_ONCE):
            for content in _bytes(texts[begin : begin + _AT_ONCE]):
                digest.update(content)
    return f"turnwise-{digest.hexdigest()[:12]}"


def _bytes(texts: Sequence[Any]) -> tuple[bytes, bytes]:
    """Some texts, and where each ends; what is none is told apart from an empty one."""
    try:
        return np.fromiter(map(len, texts), "<i8", len(texts)).tobytes(), "".join(texts).encode()
    except (TypeError, UnicodeEncodeError):  # some are None, or no text, or half of a surrogate pair
        known = [text_of(text) for text in texts]
        lengths = np.array([-1 if text is None else len(text) for text in known], dtype="<i8")
        return lengths.tobytes(), "".join(filter(None, known)).encode(errors="surrogatepass")


# ── what metrics say ──────────────────────────────────────────────────────────────────────────────────────────────────
def with_entries(turns: pl.DataFrame, measured: Sequence[GraphMetrics | None]) -> pl.DataFrame:
    """TURNS with what `per_turn` says of them, where it has an entry for each turn of a rollout.

    What TURNS has a place for goes there if it is free; a name that is taken gets ``per_turn_`` before it, or says the same.
    What was said in a turn is that of the graphs, where they say anything at all: what an evaluator tells of it, cut or
    filled in, stands beside it.
    """
    place = turns.select(pl.col("rollout_id").rle_id()).to_series()
    counts = np.bincount(place.filter(turns["turn"].is_not_null()).to_numpy(), minlength=len(measured)).tolist()
    silent = all(turns[name].null_count() == turns.height for name in _SAID)
    names = dict.fromkeys(name for found in measured if found for entry in found.per_turn for name in entry)
    for name in names:
        ours = "prompt" if name in PROMPTS else name
        if ours == "turn":
            continue
        values: list[Any] = []
        for found, count in zip(measured, counts, strict=True):
            entries = [] if found is None or len(found.per_turn) != count else found.per_turn
            values += [entry.get(name) for entry in entries] or [None] * max(count, 1)
        turns = _with_entry(turns, ours, values, free=silent or ours not in _SAID)
    return turns


def _with_entry(turns: pl.DataFrame, name: str, values: Sequence[Any], *, free: bool) -> pl.DataFrame:
    if free and name in _OF_THE_TURN and turns[name].null_count() == turns.height:
        try:
            return turns.with_columns(column_of(name, values))
        except SchemaError:
            pass
    if name not in turns.columns:
        return turns.with_columns(column_of(name, values))
    told = column_of(f"per_turn_{name}", values)
    pairs = zip(turns[name].to_list(), told.to_list(), strict=True)
    if all(theirs is None or mine == theirs or (name == "context" and _cut(mine, theirs)) for mine, theirs in pairs):
        return turns
    return turns.with_columns(told)


def _cut(whole: Any, shown: Any) -> bool:
    """Return whether a context is shown by its end, as ASTRA-RL's pages do."""
    return isinstance(shown, str) and (whole or "").endswith(shown)


def entries_of(ids: Iterable[str], measured: Sequence[GraphMetrics | None]) -> pl.DataFrame:
    """Return the entries of `per_turn`, a row each."""
    rows = [
        {"rollout_id": name, **entry}
        for name, found in zip(ids, measured, strict=True)
        for entry in ([] if found is None else found.per_turn)
    ]
    names = dict.fromkeys(["rollout_id", *(name for row in rows for name in row)])
    return pl.DataFrame([_own_column(name, [row.get(name) for row in rows]) for name in names])


def with_overall(frame: pl.DataFrame, records: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """The frame with what each record says of its row; a name that is taken gets ``overall_`` before it, or says the same.

    Examples
    --------
    >>> with_overall(pl.DataFrame({"num_turns": [1, 2]}), [{"num_turns": 1, "worst": 0.5}, {"num_turns": 2}]).rows()
    [(1, 0.5), (2, None)]
    """
    for name in dict.fromkeys(name for record in records for name in record):
        values = [record.get(name) for record in records]
        if name not in frame.columns:
            frame = frame.with_columns(column_of(name, values))
        elif frame[name].to_list() != values:
            frame = frame.with_columns(column_of(f"overall_{name}", values))
    return frame


def with_facts(rollouts: pl.DataFrame, facts: pl.DataFrame) -> pl.DataFrame:
    """ROLLOUTS with the facts that it has no place for; a name that is taken gets ``rollout_`` before it, or says the same.

    Examples
    --------
    >>> rollouts = pl.DataFrame({"rollout_id": ["a", "b"], "n": [1, 2], "seed": ["x", "y"]})
    >>> with_facts(rollouts, pl.DataFrame({"seed": ["x", "y"], "difficulty": [5, None], "n": [7, 8]})).columns
    ['rollout_id', 'n', 'seed', 'difficulty', 'rollout_n']
    """
    taken = {*rollouts.columns, *schema.ROLLOUTS.names}
    further = [fact for fact in facts if fact.name not in schema.ROLLOUTS.names]
    new = [fact for fact in further if fact.name not in taken]
    for fact in further:
        aside = fact.alias(f"rollout_{fact.name}")
        if fact.name in taken and aside.name not in taken and not rollouts[fact.name].equals(fact, null_equal=True):
            new.append(aside)
    return rollouts.with_columns(new)


def column_of(name: str, values: Sequence[Any]) -> pl.Series:
    """The values as a column: of the dtype that TURNS has for its name, else of their own kind, else as JSON text.

    Raises
    ------
    SchemaError
        Where TURNS has a dtype for the name, and the values are not of it.

    Examples
    --------
    >>> column_of("words", [1, 2.5, None]).to_list(), column_of("tags", [["a"], None]).to_list()
    ([1.0, 2.5, None], ['["a"]', None])
    """
    dtype = schema.TURNS.dtypes.get(name)
    if dtype is None:
        return _own_column(name, values)
    try:
        column = pl.Series(name, _plain(values), dtype=dtype, strict=True)
    except (TypeError, OverflowError, pl.exceptions.PolarsError) as error:
        raise SchemaError(f"TURNS: the {name} of a rollout or of a turn is not {dtype} ({error})") from error
    return column.fill_nan(None) if column.dtype.is_float() else column


def _own_column(name: str, values: Sequence[Any]) -> pl.Series:
    plain = _plain(values)
    dtype = _dtype_of(plain)
    if dtype is None:
        return pl.Series(name, [text_of(value) for value in plain], dtype=pl.String)
    column = pl.Series(name, plain, dtype=dtype, strict=False)
    return column.fill_nan(None) if column.dtype.is_float() else column


def _plain(values: Sequence[Any]) -> list[Any]:
    """The values, single numbers of NumPy and PyTorch as Python's own."""
    if _OWN.issuperset(map(type, values)):
        return list(values)
    return [value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else value for value in values]


def _dtype_of(values: Sequence[Any]) -> pl.DataType | type[pl.DataType] | None:
    """The dtype of values of one kind; None if there is none."""
    known = [value for value in values if value is not None]
    kinds = set(map(type, known))
    if kinds <= {bool}:
        return pl.Boolean
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in known):
        return pl.Int64
    if kinds <= {int, float, bool}:
        return pl.Float64
    if kinds == {str}:
        return pl.String
    if kinds == {dict} and all(value.keys() == {"duration", "observed"} for value in known):
        return schema.TIME_TO_EVENT
    return None


def text_of(value: Any) -> str | None:
    """The value as text: as JSON, or in the words of its `repr`; None is None.

    Examples
    --------
    >>> text_of("Hi"), text_of(0), text_of(("goal", 1))
    ('Hi', '0', '["goal",1]')
    """
    if value is None or isinstance(value, str):
        return value
    try:
        return msgspec.json.encode(value, enc_hook=plain_object).decode()
    except (TypeError, ValueError, RecursionError):
        return repr(value)
