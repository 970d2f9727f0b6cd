"""Transcripts of the page: compressed chunks, and a small index for the viewer."""

import base64
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import polars as pl
import polars.selectors as cs

from rollwise.estimation.doctor_facts import step_in
from rollwise.measurement.batches import at_once
from rollwise.reports.comparisons import UNITS
from rollwise.reports.rollouts import Rollouts
from rollwise.schema import TURNS, labels
from rollwise.schema.named import column_named, columns_named, values_named

CHUNK = 1 << 18  # characters of text in a chunk, about; one chunk is unpacked to open a transcript
MOST_TEXT = 60_000_000  # most characters of a page that has all transcripts,
MOST_BYTES = 22_000_000  # and most compressed bytes: a browser has to load the whole page
MOST_SAMPLED = 15_000_000  # of a page that cannot have all: a larger sample is not read, and a small page opens at once
GIANT = 8  # if not all fit, rollouts larger than this fraction (1/8) of a page are left out
TITLE = 300  # most characters of a goal or task in the index
MOST_WORDS = 400  # most values of a column in a selection list
SAFE_INTEGER = 1 << 53  # JavaScript rounds larger integers
_FILTERS = ("attack_success", "task_success", "ending", "source", "run", "target", "attack", "category")
FURTHER_FACTS = ("goal_text",)  # columns of readers that describe a rollout, and head it
_TITLES = (*FURTHER_FACTS, "goal", "task")
_NUMBERS = {
    "score": "highest",
    "tokens": "tokens_used",
    "cost": "dollars_used",
    "attempt": "attempt",
    "attempts": "attempts",
}
SCRIPTS = (
    "text.js", "chunks.js", "viewing/markdown.js", "viewing/calls.js", "viewing/returns.js", "viewing/signs.js",
    "viewing/messages.js", "rollout.js", "viewing/strip.js", "viewing/head.js", "viewing/goals.js", "viewing/title.js",
    "viewing/list.js", "viewing/search.js", "viewing/compare.js", "viewing/viewer.js",
)  # fmt: skip
STYLE = "viewing/viewer.css"
_ANSWERS = {True: "yes", False: "no"}
UNKNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Transcripts:
    """Transcripts for the viewer, as base64 text, in which content of a log cannot be markup."""

    index: str
    chunks: list[str]
    ids: list[str]
    rollouts: int

    @property
    def shown(self) -> int:
        """Number of rollouts whose transcripts are in the page."""
        return len(self.ids)


def transcripts(
    data: Rollouts, *, rates: Sequence[dict[str, Any]] = (), most: int = MOST_TEXT, most_bytes: int = MOST_BYTES
) -> Transcripts:
    """Pack the transcripts of a page; if not all fit into a page, the first ones of each group and result.

    A chunk is JSON as deflate-raw in base64: ``facts`` with a list for each column that is constant within rollouts, and ``turns``
    with a list for each other column; columns without values are left out. The index holds the number of rollouts of each
    chunk, the number of rows of each rollout, its id, the row of its first success, columns to filter by, as words and codes,
    and numbers to sort by.
    `rates` are those of `rates_of_groups`, which the viewer tells where their rollouts are chosen. If the chunks are larger than
    `most_bytes`, fewer transcripts are packed.
    """
    turns = data.turns
    facts = [name for name in data.rollouts.columns if name in turns.columns]
    steps = [name for name in (step_in(turns),) if name is not None]
    facts += [name for name in steps if name not in facts]
    facts += [name for name in FURTHER_FACTS if name not in facts and _is_fact(turns, name)]
    turn_columns = [name for name in turns.columns if name not in {"rollout_id", "turn"}]
    # Approximate size: all text, and 40 characters for the other columns.
    texts = [name for name, dtype in turns.schema.items() if dtype == pl.String and turns[name].count()]
    size = pl.sum_horizontal(
        pl.lit(40), *(column_named(name).str.len_chars().fill_null(0).cast(pl.Int64) for name in texts)
    )
    groups = [name for name in data.by if name in turns.columns and name != "rollout_id"]
    values = [pl.col("size").sum(), pl.len().alias("rows"), (pl.col("turn").count() > 0).alias("begun")]
    rollouts = at_once(turns.lazy().select("rollout_id", "turn", *columns_named(groups), size=size), groups, values)
    if not data.tree:  # rollouts without a turn come last
        rollouts = rollouts.sort("begun", descending=True, maintain_order=True)
    rollouts = rollouts.join(_results(data), on="rollout_id", how="left", maintain_order="left")
    selected = _fitting(rollouts, data.by, most)
    if not selected.height:
        return Transcripts(packed({}), [], [], rollouts.height)
    # Rollouts are put into chunks in order, until a chunk has about CHUNK characters. Only their turns are copied.
    chunk = (pl.col("size").cum_sum() - pl.col("size")) // CHUNK
    selected = selected.select(
        "rollout_id", "size", "rows", *columns_named(name for name in UNITS if name in rollouts.columns), chunk=chunk
    ).with_row_index("place")
    rows = turns.filter(pl.col("rollout_id").is_in(selected["rollout_id"].implode()))
    rows = rows.join(
        selected.select("rollout_id", "place", "chunk"), on="rollout_id", how="left", maintain_order="left"
    )
    rows = rows.sort("place", *([] if data.tree else ["turn"]), nulls_last=True, maintain_order=True).drop("place")
    scored = next((name for name in ("score", "reward") if name in turns.columns and turns[name].count()), None)
    of_rollouts = rows.group_by("rollout_id", maintain_order=True).agg(
        **({"tree": pl.col("node_id").is_not_null().any()} if data.tree else {}),
        first=(pl.col("succeeded") if "succeeded" in turns.columns else pl.lit(None)).arg_true().first(),
        **{name: column_named(name).first() for name in facts if name != "rollout_id"},
    )
    selected = selected.drop("place").join(of_rollouts, on="rollout_id", how="left", maintain_order="left")
    highest = rows.group_by("rollout_id").agg(highest=pl.lit(None) if scored is None else column_named(scored).max())
    numbers = selected.select("rollout_id").join(_amounts(data), on="rollout_id", how="left", maintain_order="left")
    numbers = numbers.join(highest, on="rollout_id", how="left", maintain_order="left")
    rows = rows.with_columns(_exact(rows, turn_columns))
    # Facts (constant within rollouts) and turns of each chunk.
    parts = zip(
        selected.with_columns(_exact(selected, facts)).partition_by("chunk", maintain_order=True),
        rows.partition_by("chunk", maintain_order=True),
        strict=True,
    )
    inside = [name for name in facts if name != "rollout_id"]
    turn_fields = ["turn", *(name for name in turn_columns if name not in facts)]
    chunks = [
        packed({"facts": _columns(fact_rows, inside), "turns": _columns(turn_rows, turn_fields)})
        for fact_rows, turn_rows in parts
    ]
    compressed_size = sum(map(len, chunks))
    if compressed_size > most_bytes:  # the compressed size is known only now
        return transcripts(
            data,
            rates=rates,
            most=int(0.95 * most_bytes / compressed_size * int(selected["size"].sum())),
            most_bytes=most_bytes,
        )
    # The index has what lists and filters need without unpacking a chunk.
    index: dict[str, Any] = {
        "ids": selected["rollout_id"].to_list(),
        "rows": selected["rows"].to_list(),
        "first": selected["first"].to_list(),
        "chunks": selected.group_by("chunk", maintain_order=True).len()["len"].to_list(),
        "columns": [
            _coded(name, values_named(selected, name), uncut=name in data.by)
            for name in dict.fromkeys((*data.by, *steps, *_FILTERS, *_TITLES))
            if name in selected.columns
        ],
        "numbers": {key: _finite(numbers[name]) for key, name in _NUMBERS.items() if numbers[name].count()},
        "scored": f"highest {scored}",
        "labels": {name: labels.label(name) for name in turn_columns},
        "own": [name for name in turn_columns if name not in TURNS.names],
        "by": list(dict.fromkeys((*data.by, *steps))),
        "rates": list(rates),
        "trees": selected["tree"].to_list() if data.tree else [],
    }
    return Transcripts(packed(index), chunks, index["ids"], rollouts.height)


def _is_fact(turns: pl.DataFrame, name: str) -> bool:
    """Return whether a column of text has one value in each rollout, if it is there."""
    if turns.schema.get(name) != pl.String or not turns[name].count():
        return False
    values = turns.lazy().group_by("rollout_id").agg(column_named(name).n_unique())
    return bool(values.select((column_named(name) == 1).all()).collect().item())


def _results(data: Rollouts) -> pl.DataFrame:
    """Return the result of each rollout in words; for a tree, whether any of its paths succeeded."""
    table = data.rollouts
    if data.tree:
        rates = [column_named(name).any(ignore_nulls=False) for name in UNITS]
        table = table.group_by(rollout_id="tree", maintain_order=True).agg(rates)
    words = [
        column_named(name).replace_strict(_ANSWERS, default=UNKNOWN, return_dtype=pl.String)
        for name in UNITS
        if table[name].null_count() < table.height
    ]
    return table.select("rollout_id", *words)


def _amounts(data: Rollouts) -> pl.DataFrame:
    """Return what each rollout cost, and the number of its attempt of how many; unknown where numbers are missing between."""
    # Amounts of a tree would be those of one of its paths.
    table = (
        data.rollouts.unique("tree", maintain_order=True).with_columns(rollout_id="tree")
        if data.tree
        else data.rollouts
    )
    known = [name for name in ("source", "run", "target", "attack", "goal", "task") if name in table.columns]
    attempt = pl.col("attempt") if "attempt" in table.columns else pl.lit(None, dtype=pl.Int32)
    last = attempt.max().over(known) if known else attempt.max()
    many = attempt.drop_nulls().n_unique()
    spent = [
        (column_named(name) if name in table.columns and not data.tree else pl.lit(None, dtype=pl.Float64)).alias(name)
        for name in ("tokens_used", "dollars_used")
    ]
    return table.select(
        "rollout_id",
        *spent,
        attempt=attempt,
        attempts=pl.when((many.over(known) if known else many) == last).then(last),
    )


def _finite(column: pl.Series) -> list[Any]:
    """Return numbers that JSON has, of six digits, which are enough to sort by; null for others."""
    if column.dtype.is_integer():
        return column.to_list()
    return [None if value is None or not math.isfinite(value) else float(f"{value:.6g}") for value in column.to_list()]


def _fitting(rollouts: pl.DataFrame, by: tuple[str, ...], most: int) -> pl.DataFrame:
    """Select all rollouts if they fit, else a sample, in turn from every group and result, without giants; keep their order."""
    if rollouts["size"].sum() <= most:
        return rollouts
    most = min(most, MOST_SAMPLED)
    rollouts = rollouts.filter(pl.col("size") <= most // GIANT)
    # Number the rollouts within each group and result: all first ones, then all second ones, ...
    groups = [name for name in (*by, *UNITS) if name in rollouts.columns]
    turn = pl.int_range(pl.len()).over(columns_named(groups)) if groups else pl.int_range(pl.len())
    fair = rollouts.with_row_index("place").with_columns(turn=turn).sort("turn", "place")
    return fair.filter(pl.col("size").cum_sum() <= most).sort("place").drop("place", "turn")


def _exact(frame: pl.DataFrame, names: list[str]) -> list[pl.Expr]:
    """Convert values that JavaScript would round or JSON would lose into text: large integers and infinity."""
    integers = cs.expand_selector(frame, cs.integer() & cs.by_name(names, require_all=False))
    broken = cs.expand_selector(frame, cs.float() & cs.by_name(names, require_all=False))
    # Only columns that need it are converted, as text is not a number for the viewer.
    rounded = frame.select((column_named(name).cast(pl.Float64).abs() > SAFE_INTEGER).any() for name in integers)
    endless = frame.select(column_named(name).is_infinite().any() for name in broken)
    converted = [
        name for name, data in zip([*integers, *broken], [*_first(rounded), *_first(endless)], strict=True) if data
    ]
    return [column_named(name).cast(pl.String) for name in converted]


def _first(frame: pl.DataFrame) -> tuple[Any, ...]:
    return frame.row(0) if frame.width else ()


def _columns(frame: pl.DataFrame, names: list[str]) -> dict[str, list[Any]]:
    return {
        name: frame[name].to_list()
        for name in names
        if name in frame.columns and frame[name].null_count() < frame.height
    }


def _coded(name: str, column: pl.Series, *, uncut: bool) -> dict[str, Any]:
    """Encode a column as distinct words and a number for each row; long words are cut unless `uncut`."""
    # Filter values must match exactly, so values of grouping columns are not cut.
    is_whole = column.dtype.is_float() and bool((column == column.round()).all())
    text = (column.cast(pl.Int64) if is_whole else column).cast(pl.String)
    text = text if uncut else text.str.slice(0, TITLE)
    words = text.unique(maintain_order=True)
    place = pl.DataFrame({"word": words, "code": range(len(words))})
    codes = (
        text.rename("word")
        .to_frame()
        .join(place, on="word", how="left", nulls_equal=True, maintain_order="left")["code"]
    )
    chosen = 1 < len(words) <= MOST_WORDS and name not in _TITLES
    return {
        "name": name,
        "label": labels.label(name),
        "words": words.to_list(),
        "codes": codes.to_list(),
        "filter": chosen,
        "number": column.dtype.is_numeric(),
    }


def packed(content: Any) -> str:
    """Compress a value for `chunks.js`."""
    # Raw deflate, as the browser's DecompressionStream expects.
    pressed = zlib.compressobj(6, zlib.DEFLATED, -15)
    return base64.b64encode(pressed.compress(msgspec.json.encode(content)) + pressed.flush()).decode()
