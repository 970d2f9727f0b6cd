"""Rows without ids: the id and the run that each is given, and notices on rows that are equal.

An id is made of the name of the file or frame and the number of the row. Nothing is merged: equal rows, copied files and
exports that contain an older one are all counted, and a notice says so.
"""

from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path

import polars as pl

from rollwise.errors import listing, writable
from rollwise.readers.labels import as_names
from rollwise.readers.likely_columns import LIKELY
from rollwise.readers.origins import Origins
from rollwise.readers.problems import Problems
from rollwise.readers.sources.documents import Document
from rollwise.readers.synonyms import plain_name
from rollwise.schema.named import column_named, columns_named

ROWS_ARE_ROLLOUTS = "each row as a rollout of one turn (if several rows are one conversation, name its column: {})"
"""The notice on rows without ids; the line that names a column is filled in."""

NATIVE = "native"  # the format of tables of turns
_CHECKSUM = r"-[0-9a-f]{8}$"  # how the run of a file that names none ends
_MOST_CANDIDATES = 3  # files that are searched for the rows of another one
_MOST_FILES = 3  # in one notice


def run_of(document: Document) -> str:
    r"""Return the run of a file that names none: its name without suffixes, and a checksum of its content.

    Examples
    --------
    >>> run_of(Document(Path("runs/gpt.csv"), b"goal,response\n"))
    'gpt-53ffd621'
    """
    stem = Path(document.path.stem).stem if document.packed else document.path.stem
    return f"{writable(stem)}-{document.digest}"


def frame_name(frame: pl.DataFrame) -> str:
    """Return a name for a frame, which changes with its rows and columns."""
    content = blake2b("\0".join(frame.columns).encode(), digest_size=4)
    content.update(frame.hash_rows().to_numpy().tobytes())
    return f"frame-{content.hexdigest()}"


def numbered(frame: pl.DataFrame, problems: Problems, holder: str, where: str) -> pl.DataFrame:
    """Return rows with an id each: `holder`, the name of their file or frame, and the number of the row from 1.

    Notices say so, and how many rows are equal; `where` is the name of the file.
    """
    problems.read_as([ROWS_ARE_ROLLOUTS.format(as_names({"rollout_id": "..."}))])
    count_repeats(frame, problems, where)
    numbers = pl.int_range(1, frame.height + 1, eager=True).cast(pl.String)
    return frame.with_columns(rollout_id=f"{holder}/" + numbers)


def count_repeats(frame: pl.DataFrame, problems: Problems, where: str) -> None:
    """Note how many rows equal another one in every column; none is left out."""
    repeats = frame.height - frame.hash_rows().n_unique() if frame.width else 0
    if repeats:
        problems.repeats[where] += repeats


def made_up() -> pl.Expr:
    """Return whether the run of a row was made up from its file, because nothing names it."""
    run, source = pl.col("run"), pl.col("source")
    name = run.str.replace(_CHECKSUM, "")
    is_of_rows = (source == NATIVE) & pl.col("rollout_id").str.starts_with(run + "/")
    is_of_tool = (name == source) | name.str.ends_with("/" + source)
    return (run.str.contains(_CHECKSUM) & (is_of_rows | is_of_tool)).fill_null(value=False)


def filled(turns: pl.LazyFrame, facts: Mapping[str, pl.Expr]) -> pl.LazyFrame:
    """Return TURNS with the user's facts where those of the files are null, and the user's run where it was made up.

    Examples
    --------
    >>> rows = {"source": ["native"], "rollout_id": ["gpt-1b0a2316/1"], "run": ["gpt-1b0a2316"]}
    >>> filled(pl.LazyFrame(rows), {"run": pl.lit("monday")}).collect()["run"].to_list()
    ['monday']
    """
    columns = {name: column_named(name).fill_null(value) for name, value in facts.items()}
    if "run" in facts:
        columns["run"] = pl.when(made_up()).then(facts["run"]).otherwise(columns["run"]).alias("run")
    return turns.with_columns(columns.values())


def _of_files(turns: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
    """Return the rows of tables whose run a reader made of the file."""
    # In two steps, as most turns are of no such table, or have no run at all, and need no look at their texts.
    named = turns.lazy().filter((pl.col("source") == NATIVE) & pl.col("run").is_not_null()).collect()
    return named.filter(made_up()) if named.height else named


def notices_of_files(turns: pl.DataFrame, origins: Origins) -> list[str]:
    """Return the notice on files without ids of which one contains all rows of another."""
    rows = _of_files(turns)
    if rows["run"].n_unique() < 2:
        return []
    firsts = rows.unique("run", keep="first", maintain_order=True)
    file_of = dict(zip(firsts["run"], origins.files_of(firsts["rollout_id"]), strict=True))
    pairs = [(Path(file_of[inner]).name, Path(file_of[outer]).name) for inner, outer in _contained(rows)]
    if not pairs:
        return []
    if len(pairs) == 1:
        inner, outer = pairs[0]
        return [f"all rows of {inner} are in {outer} as well, and count twice: leave one of them out if it is a copy"]
    shown = listing([f"{inner} in {outer}" for inner, outer in pairs], most=_MOST_FILES)
    return [f"all rows of {len(pairs)} files are in others as well, and count twice ({shown}): leave copies out"]


def notices_of_targets(turns: pl.DataFrame | pl.LazyFrame) -> list[str]:
    """Return the notice on several files without ids and without a target, which one rate would mix."""
    rows = _of_files(turns.lazy().select("source", "rollout_id", "run", "target"))
    runs = rows["run"].n_unique()
    if runs < 2 or rows["target"].count():
        return []
    if {plain_name(name) for name in turns.lazy().collect_schema()} & {*LIKELY["target"]} - {"target"}:
        return []  # another notice proposes the column
    return [
        f"{runs} files name no target, and `run` tells them apart: read each with its own `target` to compare models"
    ]


def _contained(rows: pl.DataFrame) -> list[tuple[str, str]]:
    """Return pairs of runs of which the second has all rows of the first; of two equal runs, the later is the first."""
    content = rows.select(pl.exclude("rollout_id", "run")).hash_rows()
    counts = rows.select("run", row=content).group_by("run", "row", maintain_order=True).len()
    order = {run: place for place, run in enumerate(rows["run"].unique(maintain_order=True))}
    sizes = dict(rows.group_by("run").len().iter_rows())
    # A run that holds another has its rarest row.
    shared = counts.with_columns(runs=pl.len().over("row"))
    rarest = shared.sort("runs", maintain_order=True).unique("run", keep="first").filter(pl.col("runs") > 1)
    found = rarest.select("row", inner="run").join(counts.select("row", outer="run"), on="row")
    found = found.filter(
        (pl.col("inner") != pl.col("outer"))
        & (
            (_number("inner", sizes) < _number("outer", sizes))
            | (
                (_number("inner", sizes) == _number("outer", sizes))
                & (_number("inner", order) > _number("outer", order))
            )
        )
    )
    found = (
        found.group_by("inner", maintain_order=True).head(_MOST_CANDIDATES).select(columns_named(["inner", "outer"]))
    )
    of_inner = found.join(counts.rename({"run": "inner"}), on="inner")
    both = of_inner.join(counts.rename({"run": "outer", "len": "held"}), on=["outer", "row"], how="left")
    is_held = (pl.col("held").fill_null(0) >= pl.col("len")).all()
    whole = both.group_by("inner", "outer").agg(is_held=is_held).filter("is_held")
    pairs = whole.unique("inner", keep="first").select("inner", "outer").rows()
    return sorted(pairs, key=lambda pair: order[pair[0]])


def _number(name: str, numbers: Mapping[str, int]) -> pl.Expr:
    """Return the number of the run in this column."""
    return column_named(name).replace_strict(numbers, return_dtype=pl.Int64)
