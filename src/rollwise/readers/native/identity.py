"""Rows without ids: the id and the run that each is given, and notices on rows that are equal.

An id is made of the name of the file or frame and the number of the row. Nothing is merged: equal rows, copied files and
exports that contain an older one are all counted, and a notice says so.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import count, permutations
from pathlib import Path
from typing import Any

import polars as pl

from rollwise.errors import listing, writable
from rollwise.readers.labels import as_names
from rollwise.readers.origins import Origins
from rollwise.readers.problems import Problems
from rollwise.readers.roles.columns import MAPPING, name_in_file
from rollwise.readers.roles.names import role_of
from rollwise.readers.sources.compression import SUFFIXES
from rollwise.readers.sources.documents import Document
from rollwise.schema.named import column_named

ROWS_ARE_ROLLOUTS = "each row as a rollout of one turn (if several rows are one conversation, name its column: {})"
"""The notice on rows without ids; the line that names a column is filled in."""

NATIVE = "native"  # the format of tables of turns
_CHECKSUM = r"-[0-9a-f]{8}$"  # how the run of a file that names none ends
_NEARLY_ALL = 0.9  # of the rows of a file: a copy may have been corrected
_MOST_CANDIDATES = 3  # files that are searched for the rows of another one
LEAST = 2  # rows that may be those of another file by chance
_MOST_FILES = 3  # in one notice


def run_of(document: Document, is_known: Callable[[str], bool]) -> str:
    """Return the run of a file that names none: its name without suffixes, and a checksum of its content.

    An equal file of the same name, in another folder, is another run, since nothing says that it is a copy.
    """
    name = document.path.stem if document.path.suffix.lower() in SUFFIXES else document.path.name
    stem = writable(Path(name).stem)
    names = (f"{stem} ({number})" if number > 1 else stem for number in count(1))
    runs = (f"{name}-{document.digest}" for name in names)
    return next(run for run in runs if not is_known(f"{run}/1"))


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


def numbered_by_file(
    frame: pl.DataFrame, problems: Problems, column: str, runs: Sequence[str], files: Sequence[str]
) -> pl.DataFrame:
    """Return the rows of several files with an id and a run each, as `numbered` gives them file by file.

    The `column` has the number of the file, which `runs` and `files` name.
    """
    problems.read_as([ROWS_ARE_ROLLOUTS.format(as_names({"rollout_id": "..."}))])
    hashes = frame.select(column, row=frame.hash_rows()).group_by(column).agg(pl.len() - pl.col("row").n_unique())
    problems.repeats.update({files[place]: repeats for place, repeats in hashes.iter_rows() if repeats})
    run = pl.Series("run", runs).gather(frame[column])
    numbers = pl.int_range(1, pl.len() + 1).over(column).cast(pl.String)
    frame = frame.with_columns(rollout_id=run + "/" + numbers)
    return frame if "run" in frame.columns else frame.with_columns(run)


def count_repeats(frame: pl.DataFrame, problems: Problems, where: str) -> None:
    """Note how many rows equal another one in every column; none is left out."""
    repeats = frame.height - frame.hash_rows().n_unique() if frame.width else 0
    if repeats:
        problems.repeats[where] += repeats


def made_up() -> pl.Expr:
    """Return whether the run of a row was made up from its file, because nothing names it."""
    run, source = pl.col("run"), pl.col("source")
    name = run.str.replace(_CHECKSUM, "")
    is_of_rows = source.is_in([NATIVE, MAPPING]) & pl.col("rollout_id").str.starts_with(run + "/")
    is_of_tool = (name == source) | name.str.ends_with("/" + source)
    return (run.str.contains(_CHECKSUM) & (is_of_rows | is_of_tool)).fill_null(value=False)


def filled(turns: pl.LazyFrame, facts: Mapping[str, pl.Expr]) -> pl.LazyFrame:
    """Return TURNS with the user's facts where the facts of the files are null, and the user's run where it was made up."""
    columns = {name: column_named(name).fill_null(value) for name, value in facts.items()}
    if "run" in facts:
        columns["run"] = pl.when(made_up()).then(facts["run"]).otherwise(columns["run"]).alias("run")
    return turns.with_columns(columns.values())


def _of_files(turns: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
    """Return the rows of tables whose run a reader made of the file."""
    # In two steps, as most turns are of no such table, or have no run at all, and need no look at their texts.
    of_files = pl.col("source").is_in([NATIVE, MAPPING]) & pl.col("run").is_not_null()
    named = turns.lazy().filter(of_files).collect()
    return named.filter(made_up()) if named.height else named


def once(turns: pl.DataFrame, origins: Origins, problems: Problems) -> pl.DataFrame:
    """Return turns without files that repeat another one in another form, as ``r.csv`` beside ``r.json`` with equal rows.

    Of files that name no run, a notice says where one contains all rows of another, or nearly all.
    """
    if turns["run"].n_unique() < 2:  # as in most tables, whose texts then need no look
        return turns
    is_made_up = turns.select(made_up()).to_series()
    if turns["run"].filter(is_made_up).n_unique() < 2:
        return turns
    rows = turns.filter(is_made_up)
    firsts = rows.unique("run", keep="first", maintain_order=True)
    file_of = dict(zip(firsts["run"], origins.files_of(firsts["rollout_id"]), strict=True))
    sizes = dict(rows["run"].value_counts().iter_rows())
    exports, pairs = {}, []
    contained = _contained(rows)
    collections = _collections(contained, sizes, file_of)
    for outer, num_files in collections.items():
        problems.record_counts.pass_over(file_of[outer], None)
        problems.record_counts.of(file_of[outer]).is_repeat = True
        problems.suggest(
            [f"{Path(file_of[outer]).name} has the rows of {num_files:,} files beside it once more: read once"]
        )
    for inner, outer, num_shared, size in contained:
        if outer in collections:
            continue
        files = file_of[inner], file_of[outer]
        if num_shared == size == sizes[outer] and _is_export(*files):
            exports[inner] = files
        else:
            pairs.append((*_separated(*files), num_shared, size))
    for inner, outer in exports.values():
        problems.record_counts.pass_over(inner, None)
        problems.record_counts.of(inner).is_repeat = True
        problems.suggest([f"{Path(inner).name} has the rows of {Path(outer).name} in another form: read once"])
    problems.suggest(_in_words(pairs))
    names = {name for inner, outer, *_ in pairs for name in (inner, outer)} | {
        Path(name).name for name in (*(inner for inner, _ in exports.values()), *map(file_of.__getitem__, collections))
    }
    problems.suggest(_judged_again(rows, file_of, names))
    repeated = [*exports, *collections]
    return turns.filter(~pl.col("run").is_in(repeated).fill_null(value=False)) if repeated else turns


def _collections(
    contained: Sequence[tuple[str, str, int, int]], sizes: Mapping[str, int], file_of: Mapping[str, str]
) -> dict[str, int]:
    """Return the files whose rows are exactly those of several others in their folder, each with the number of these."""
    inners: dict[str, list[tuple[str, int]]] = {}
    for inner, outer, num_shared, size in contained:
        if num_shared == size and Path(file_of[inner]).parent == Path(file_of[outer]).parent:
            inners.setdefault(outer, []).append((inner, size))
    wholes = {outer: parts for outer, parts in inners.items() if sum(size for _, size in parts) == sizes[outer]}
    return {outer: len(parts) for outer, parts in wholes.items() if len(parts) > 1 and sizes[outer] > LEAST}


def _judged_again(rows: pl.DataFrame, file_of: Mapping[str, str], names: Collection[str]) -> Iterator[str]:
    """Iterate over notices on files that judge the rollouts of another file beside them, by their texts or by their ids."""
    parts = {str(key[0]): part for key, part in rows.group_by("run", maintain_order=True)}
    texts = {run: _texts_of(part) for run, part in parts.items()}
    ids = {run: _ids_of(part, run) for run, part in parts.items()}
    for run, second_run in permutations(parts, 2):
        first, second = file_of[run], file_of[second_run]
        inner, outer = _separated(first, second)
        if Path(first).parent != Path(second).parent or {inner, outer} & {*names}:
            continue
        has_texts = (
            texts[run] and texts[run] <= texts[second_run] and (texts[run] != texts[second_run] or run < second_run)
        )
        has_ids = not parts[run]["response"].count() and texts[second_run] and ids[run] and ids[run] <= ids[second_run]
        if has_texts or has_ids:
            what = "texts" if has_texts else "ids"
            yield f"{inner} has {what} of {outer}, and both count: join them, or leave one out"
        elif _is_by_task(parts[run], parts[second_run]):
            yield f"{inner} has a row for each task of {outer}, and both count: leave it out if it is a summary of these"


def _texts_of(part: pl.DataFrame) -> frozenset[Any]:
    """Return the prompts with their answers, where these tell the rows of a file apart."""
    texts = frozenset(part.select("prompt", "response").drop_nulls().rows())
    return texts if len(texts) == part.height > LEAST else frozenset()


def _is_by_task(part: pl.DataFrame, rollouts: pl.DataFrame) -> bool:
    """Return whether a file without texts and models has one row for each task, and another one has several for these."""
    if "task" not in part.columns or any(part[name].count() for name in ("prompt", "response", "target")):
        return False
    tasks = frozenset(part["task"].drop_nulls())
    rows = rollouts.filter(pl.col("task").is_in([*tasks]))
    return len(tasks) == part.height > LEAST and rows["task"].n_unique() == len(tasks) < rows.height


def _ids_of(part: pl.DataFrame, run: str) -> frozenset[str]:
    """Return the ids that a file has of its own, one for each row; numbers may be row numbers."""
    ids = frozenset(part["rollout_id"].str.strip_prefix(f"{run}/"))
    return ids if len(ids) == part.height > LEAST and not all(map(str.isdigit, ids)) else frozenset()


def _is_export(inner: str, outer: str) -> bool:
    """Return whether two files beside each other have one name and two suffixes."""
    first, second = Path(inner), Path(outer)
    return first.parent == second.parent and first.stem == second.stem and first.suffix != second.suffix


def _in_words(pairs: Sequence[tuple[str, str, int, int]]) -> list[str]:
    """Return the notice on files of which one contains another."""
    if not pairs:
        return []
    if len(pairs) == 1:
        inner, outer, num_shared, size = pairs[0]
        share = "all" if num_shared == size else f"{num_shared:,} of {size:,}"
        return [
            f"{share} rows of {inner} are in {outer} as well, and count twice: leave one of them out if it is a copy"
        ]
    share = "all" if all(num_shared == size for *_, num_shared, size in pairs) else "nearly all"
    in_words = listing([f"{inner} in {outer}" for inner, outer, *_ in pairs], most=_MOST_FILES)
    return [f"{share} rows of {len(pairs)} files are in others as well, and count twice ({in_words}): leave copies out"]


def _separated(inner: str, outer: str) -> tuple[str, str]:
    """Return the names of two files, with their folders where the names are the same."""
    names = Path(inner).name, Path(outer).name
    return names if names[0] != names[1] else ("/".join(Path(inner).parts[-2:]), "/".join(Path(outer).parts[-2:]))


def notices_of_targets(turns: pl.DataFrame | pl.LazyFrame) -> list[str]:
    """Return the notice on several files without ids and without a target, which one rate would mix."""
    rows = _of_files(turns.lazy().select("source", "rollout_id", "run", "target"))
    several = rows.group_by("run", "source").agg(pl.col("rollout_id").n_unique().alias("rollouts"))
    # A file for each conversation is of no model of its own.
    runs = several.filter((pl.col("source") == NATIVE) | (pl.col("rollouts") > 1)).height
    if runs < 2 or rows["target"].count():
        return []
    names = [name_in_file(name) for name in turns.lazy().collect_schema() if name != "target"]
    if "target" in map(role_of, names):
        return []  # another notice proposes the column
    return [
        f"{runs} files name no target, and `run` tells them apart: read each with its own `target` to compare models"
    ]


def _contained(rows: pl.DataFrame) -> list[tuple[str, str, int, int]]:
    """Return pairs of runs of which the second has nearly all rows of the first, how many, and how many the first has.

    Of equal runs the later is the first of its pair. Files of tools that have one row say the same by chance.
    """
    content = rows.select(pl.exclude("rollout_id", "run")).hash_rows()
    counts = rows.select("run", row=content).group_by("run", "row", maintain_order=True).len()
    runs = rows.group_by("run", maintain_order=True).agg(pl.len().alias("size"), pl.col("source").first())
    runs = runs.with_row_index("order")
    counts = counts.join(runs, on="run", maintain_order="left").with_columns(num_runs=pl.len().over("row"))
    is_inner = pl.col("source").is_in(["native", MAPPING]) | (pl.col("size") > 1)
    is_shared = pl.col("num_runs") > 1
    shared = pl.col("len").filter(is_shared).sum().over("run")
    # A run that holds another has its rarest row; only the largest runs with that row are looked through.
    rarest = counts.filter(is_inner & (shared >= _NEARLY_ALL * pl.col("size"))).filter(is_shared)
    rarest = rarest.sort("num_runs", "order", maintain_order=True).unique("run", keep="first", maintain_order=True)
    largest = counts.sort("size", "order", descending=[True, False]).group_by("row", maintain_order=True)
    candidates = rarest.join(largest.head(_MOST_CANDIDATES + 1), on="row", suffix="_outer", maintain_order="left")
    is_larger = pl.col("size_outer") > pl.col("size")
    is_earlier = (pl.col("size_outer") == pl.col("size")) & (pl.col("order_outer") < pl.col("order"))
    candidates = candidates.filter(is_larger | is_earlier).select("run", "order", "size", "run_outer")
    of_inner = counts.select("run", "row", "len").join(candidates, on="run")
    of_outer = counts.select(run_outer="run", row="row", has="len")
    both = of_inner.join(of_outer, on=["run_outer", "row"], how="left")
    groups = both.group_by("run", "run_outer", "order", "size").agg(
        held=pl.min_horizontal("len", pl.col("has").fill_null(0)).sum()
    )
    pairs = groups.filter(pl.col("held") >= _NEARLY_ALL * pl.col("size")).sort(
        "order", "held", descending=[False, True]
    )
    return pairs.unique("run", keep="first", maintain_order=True).select("run", "run_outer", "held", "size").rows()
