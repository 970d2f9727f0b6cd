"""TURNS -> transcripts in compressed chunks, and a small index by which the page's viewer finds them."""

import base64
import zlib
from dataclasses import dataclass
from typing import Any

import polars as pl
import polars.selectors as cs

from turnwise.reports.frames import UNITS, Frames
from turnwise.schema import labels

CHUNK = 1 << 18  # characters of text, about, that are unpacked to open one transcript
MOST_TEXT = 60_000_000  # characters in one page,
MOST_BYTES = 22_000_000  # and bytes once they are compressed: a browser has to load it whole
GIANT = 8  # a rollout of more than this part of a page that cannot hold all is left out
TITLE = 300  # characters of a goal or task in the index
MOST_WORDS = 400  # values of a column that can be chosen from a list
SAFE_INTEGER = 1 << 53  # beyond it JavaScript rounds
_FILTERS = ("attack_success", "task_success", "ending", "source", "run", "target", "attack", "category")
_TITLES = ("goal", "task")
_ANSWERS = {True: "yes", False: "no"}
UNKNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Transcripts:
    """Transcripts for the viewer: base64 text, in which no content of a log can be markup."""

    index: str
    chunks: list[str]
    shown: int
    rollouts: int


def transcripts(found: Frames, *, most: int = MOST_TEXT, most_bytes: int = MOST_BYTES) -> Transcripts:
    """The transcripts of a report, as many as a page can hold: of each group and result the first ones.

    A chunk is JSON as deflate-raw in base64: ``facts`` with a list for each column that is constant within rollouts, and ``turns``
    with a list for each other column; columns without values are left out. The index holds the number of rollouts of each
    chunk, the number of rows of each rollout, its id, the row of its first success, and columns to choose by, as words and codes.
    Where the chunks come to more than `most_bytes`, fewer transcripts are taken.
    """
    turns = found.turns if found.tree else found.turns.sort("turn", nulls_last=True, maintain_order=True)
    facts = [name for name in found.rollouts.columns if name in turns.columns]
    told = [name for name in turns.columns if name not in {"rollout_id", "turn"}]
    size = pl.sum_horizontal(pl.lit(40), cs.string().str.len_chars().fill_null(0).cast(pl.Int64))
    each = turns.group_by("rollout_id", maintain_order=True).agg(
        size=size.sum(),
        rows=pl.len(),
        **({"tree": pl.col("node_id").is_not_null().any()} if found.tree else {}),
        first=(pl.col("succeeded") if "succeeded" in turns.columns else pl.lit(None)).arg_true().first(),
        **{name: pl.col(name).first() for name in facts if name != "rollout_id"},
    )
    each = each.join(_results(found), on="rollout_id", how="left", maintain_order="left")
    kept = _fitting(each, found.by, most)
    if not kept.height:
        return Transcripts(_packed({}), [], 0, each.height)
    kept = kept.with_columns(chunk=(pl.col("size").cum_sum() - pl.col("size")) // CHUNK)
    rows = turns.join(kept.select("rollout_id", "chunk"), on="rollout_id", how="inner", maintain_order="right_left")
    rows = rows.with_columns(_exact(rows, told))
    parts = zip(
        kept.with_columns(_exact(kept, facts)).partition_by("chunk", maintain_order=True),
        rows.partition_by("chunk", maintain_order=True),
        strict=True,
    )
    inside = [name for name in facts if name != "rollout_id"]
    each_turn = ["turn", *(name for name in told if name not in facts)]
    chunks = [_packed({"facts": _columns(one, inside), "turns": _columns(many, each_turn)}) for one, many in parts]
    taken = sum(map(len, chunks))
    if taken > most_bytes:  # how well text compresses is known afterwards
        return transcripts(found, most=int(0.95 * most_bytes / taken * int(kept["size"].sum())), most_bytes=most_bytes)
    index = {
        "ids": kept["rollout_id"].to_list(),
        "rows": kept["rows"].to_list(),
        "first": kept["first"].to_list(),
        "chunks": kept.group_by("chunk", maintain_order=True).len()["len"].to_list(),
        "columns": [
            _coded(kept[name], whole=name in found.by)
            for name in dict.fromkeys((*found.by, *_FILTERS, *_TITLES))
            if name in kept.columns
        ],
        "labels": {name: labels.label(name) for name in told},
        "by": list(found.by),
        "trees": kept["tree"].to_list() if found.tree else [],
    }
    return Transcripts(_packed(index), chunks, kept.height, each.height)


def _results(found: Frames) -> pl.DataFrame:
    """Return the outcome of each rollout, in words; of a tree, whether any of its paths succeeded."""
    table = found.rollouts
    if found.tree:
        rates = [pl.col(name).any(ignore_nulls=False) for name in UNITS]
        table = table.group_by(rollout_id="tree", maintain_order=True).agg(rates)
    words = [
        pl.col(name).replace_strict(_ANSWERS, default=UNKNOWN, return_dtype=pl.String)
        for name in UNITS
        if table[name].null_count() < table.height
    ]
    return table.select("rollout_id", *words)


def _fitting(each: pl.DataFrame, by: tuple[str, ...], most: int) -> pl.DataFrame:
    """Rollouts in their order, as many as fit, drawn from every group and result in turn; giants are left out first."""
    if each["size"].sum() <= most:
        return each
    each = each.filter(pl.col("size") <= most // GIANT)
    groups = [name for name in (*by, *UNITS) if name in each.columns]
    turn = pl.int_range(pl.len()).over(groups) if groups else pl.int_range(pl.len())
    fair = each.with_row_index("place").with_columns(turn=turn).sort("turn", "place")
    return fair.filter(pl.col("size").cum_sum() <= most).sort("place").drop("place", "turn")


def _exact(frame: pl.DataFrame, names: list[str]) -> list[pl.Expr]:
    """Convert values that JavaScript would round or JSON would lose into text: large integers and infinity."""
    whole = cs.expand_selector(frame, cs.integer() & cs.by_name(names, require_all=False))
    broken = cs.expand_selector(frame, cs.float() & cs.by_name(names, require_all=False))
    rounded = frame.select((pl.col(name).cast(pl.Float64).abs() > SAFE_INTEGER).any() for name in whole)
    endless = frame.select(pl.col(name).is_infinite().any() for name in broken)
    told = [name for name, found in zip([*whole, *broken], [*_first(rounded), *_first(endless)], strict=True) if found]
    return [pl.col(name).cast(pl.String) for name in told]


def _first(frame: pl.DataFrame) -> tuple[Any, ...]:
    return frame.row(0) if frame.width else ()


def _columns(frame: pl.DataFrame, names: list[str]) -> dict[str, list[Any]]:
    return {
        name: frame[name].to_list()
        for name in names
        if name in frame.columns and frame[name].null_count() < frame.height
    }


def _coded(column: pl.Series, *, whole: bool) -> dict[str, Any]:
    """A column as its distinct words and a number for each row; long words are cut unless they are needed whole."""
    text = column.cast(pl.String) if whole else column.cast(pl.String).str.slice(0, TITLE)
    words = text.unique(maintain_order=True)
    place = pl.DataFrame({"word": words, "code": range(len(words))})
    codes = (
        text.rename("word")
        .to_frame()
        .join(place, on="word", how="left", nulls_equal=True, maintain_order="left")["code"]
    )
    chosen = 1 < len(words) <= MOST_WORDS and column.name not in _TITLES
    return {
        "name": column.name,
        "label": labels.label(column.name),
        "words": words.to_list(),
        "codes": codes.to_list(),
        "filter": chosen,
    }


def _packed(content: Any) -> str:
    import msgspec

    pressed = zlib.compressobj(6, zlib.DEFLATED, -15)
    return base64.b64encode(pressed.compress(msgspec.json.encode(content)) + pressed.flush()).decode()
