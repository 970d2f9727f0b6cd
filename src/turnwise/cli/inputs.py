"""Input of commands: paths to logs and tables, read and measured."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnwise.cli.tables import pairs_of, say
from turnwise.errors import ArgumentError, ReadError, listing

if TYPE_CHECKING:
    import polars as pl

SHOWN = 5  # problems that are told one by one


@dataclass(frozen=True, slots=True)
class Given:
    """Input paths and reading options."""

    paths: list[Path]
    log_format: str | None = None
    errors: str = "raise"
    fact: list[str] | None = None
    column: list[str] | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """Return the facts given with `--fact`."""
        return pairs_of(self.fact, "--fact", "target=gpt-4o")

    @property
    def names(self) -> dict[str, str]:
        """Return the names given with `--column`: turnwise's name, and the name in the files."""
        return pairs_of(self.column, "--column", "succeeded=jailbroken")

    @property
    def options(self) -> list[str]:
        """Return the reading options that were set."""
        there = {
            "--log-format": self.log_format is not None,
            "--errors": self.errors != "raise",
            "--fact": bool(self.fact),
            "--column": bool(self.column),
        }
        return [name for name, given in there.items() if given]


def read_logs(given: Given) -> "tuple[pl.DataFrame, pl.DataFrame]":
    """Read turns and problems, and print the counts on stderr."""
    from turnwise.readers.problems import LACKING, NULLED, Problems
    from turnwise.readers.read import read_into
    from turnwise.schema.labels import counted

    ledger = Problems(collect=given.errors == "collect")
    turns = read_into(ledger, given.paths, given.log_format, names=given.names, **given.facts)
    problems = ledger.frame()
    for file, record, field, reason in problems.head(SHOWN).rows() if ledger.collect else ():
        where = "".join(f"{what} {name}: " for what, name in (("record", record), ("field", field)) if name is not None)
        say(f"{'' if reason.endswith((LACKING, NULLED)) else 'left out: '}{file}: {where}{reason}")
    if ledger.collect and problems.height > SHOWN:
        say(f"and {counted(problems.height - SHOWN, 'more problem')}")
    _say_read(turns["rollout_id"].n_unique(), turns["turn"].count(), problems.height)
    return turns, problems


def read_call(given: Given) -> str:
    """Return the equivalent call in Python."""
    collected = given.errors == "collect"
    options: dict[str, Any] = {} if given.log_format is None else {"format": given.log_format}
    options |= {"errors": given.errors} if collected else {}
    options |= {"names": given.names} if given.column else {}
    names = [str(path) for path in given.paths]
    told = repr(names[0] if len(names) == 1 else names)
    told += "".join(f", {name}={value!r}" for name, value in (options | given.facts).items())
    return f"turns, problems = tw.read({told})" if collected else f"turns = tw.read({told})"


def _say_read(rollouts: int, turns: int, problems: int) -> None:
    from turnwise.schema.labels import counted

    say(f"read {counted(rollouts, 'rollout')}, {counted(turns, 'turn')}, {counted(problems, 'problem')}")


def scan_logs(given: Given) -> "pl.LazyFrame":
    """Turns, of Parquet not loaded yet; what cannot be read is listed where that is asked for, and all is read then."""
    from turnwise.readers.read import scan

    if given.errors == "collect":
        return read_logs(given)[0].lazy()
    return scan(given.paths, format=given.log_format, names=given.names, **given.facts)


@contextmanager
def naming(paths: list[Path]) -> Iterator[None]:
    """Of files that are read a part at a time, the one that cannot be read is named, as where it is read whole.

    Raises
    ------
    ReadError
        Where the turns cannot be read.
    """
    from turnwise.measurement.batches import reading
    from turnwise.readers.problems import Problems
    from turnwise.readers.sources.binary import table_in
    from turnwise.readers.sources.paths import documents

    try:
        with reading():
            yield
    except ReadError:
        problems = Problems()
        for document, _ in documents([path for path in paths if path.exists()], problems):
            with problems.record(document.name):
                if document.kind == "parquet":
                    table_in(document.path, "parquet")
        raise


def measured_logs(
    given: Given, metric: list[str] | None, keep: list[str] | None = None, groups: Sequence[str | None] = ()
) -> "pl.DataFrame":
    """Measure logs: one row per rollout, with the columns to keep and to group by."""
    from turnwise.files.atomic import MANIFEST
    from turnwise.metrics import catalog

    expressions = [catalog.expression(name) for name in metric or ()]
    path = given.paths[0]
    parquet = (path.suffix == ".parquet" and path.is_file()) or (path / MANIFEST).is_file()
    if len(given.paths) == 1 and parquet and given.errors == "raise":
        with naming(given.paths):
            turns = scan_logs(given)
            if not turns.limit(1).collect().is_empty():  # what is empty is refused by who reads it
                return _measured_parquet(path, turns, expressions, _kept(turns, keep, groups))
    whole = read_logs(given)[0]
    return _measured(whole, expressions, _kept(whole, keep, groups))


def _kept(turns: "pl.DataFrame | pl.LazyFrame", keep: list[str] | None, groups: Sequence[str | None]) -> list[str]:
    """Return the columns to keep on request; facts are always kept."""
    from turnwise.schema import ROLLOUTS

    found = turns.collect_schema()
    asked = (name for name in groups if name in found and name not in ROLLOUTS.names)
    return list(dict.fromkeys([*(keep or ()), *(name for name in asked if name is not None)]))


def _measured(turns: "pl.DataFrame", expressions: "list[pl.Expr]", keep: list[str] | None) -> "pl.DataFrame":
    """Measure turns; of trees each path from a root to a leaf, as the report does."""
    from turnwise.measurement.measure import measure
    from turnwise.measurement.trees import paths
    from turnwise.schema import is_tree, labels

    if not is_tree(turns):
        return measure(turns, *expressions, keep=keep)
    found = measure(paths(turns), *expressions, keep=keep)
    say(labels.paths_told(turns, found))
    return found


def _measured_parquet(
    path: Path, turns: "pl.LazyFrame", expressions: "list[pl.Expr]", keep: list[str] | None
) -> "pl.DataFrame":
    """Measure a Parquet file, or a folder written by `turnwise convert`, without loading it into memory.

    Texts are read where a metric is made of them, and where rollouts stand in order of their ids, only some are read at a
    time. What is read is checked as ever.
    """
    import polars as pl

    from turnwise.measurement.batches import in_order, whole_rollouts
    from turnwise.readers.native.tables import conformed as checked
    from turnwise.readers.problems import Problems

    columns = turns.collect_schema()
    read = {root for expression in expressions for root in expression.meta.root_names()} | set(keep or ())
    texts = {"context", "prompt", "response", "observation", "tool_calls"} - read
    unread = [pl.lit(None, columns[name]).alias(name) for name in columns if name in texts]
    rows = turns.drop(texts)
    first = rows.select(pl.col("turn").min()).collect().item()
    in_parts = first != 0 and "node_id" not in columns and in_order(rows)  # numbers from 0 are raised in all or in none
    parts, ids, asked = [], 0, 0
    for batch in whole_rollouts(rows) if in_parts else [rows.collect()]:
        with Problems().record(str(path)):
            part = checked(batch.with_columns(unread).select(columns.names()))
        ids, asked = ids + part["rollout_id"].n_unique(), asked + part["turn"].count()
        parts.append(_measured(part, expressions, keep))
    along = [name for name in parts[0].columns if all(name in part.columns for part in parts)]
    found = pl.concat([part.select(along) for part in parts])
    _say_read(ids, asked, 0)
    return found


def rollouts_of(given: Given, metric: list[str] | None, groups: Sequence[str | None] = ()) -> "pl.DataFrame":
    """The table of rollouts that the path is (several are put below one another), or what its logs measure."""
    from turnwise.readers.results.measured import read_tables

    table = None
    if given.log_format is None and not given.column:
        with (
            suppress(ReadError) if given.errors == "collect" else nullcontext()
        ):  # what cannot be read is told with the rest
            table = read_tables(given.paths)
    if table is None:
        return measured_logs(given, metric, groups=groups)
    if given.fact:
        raise ArgumentError(
            f"--fact fills in what logs do not say, and {given.paths[0]} is a table of rollouts; leave it out"
        )
    return table


def runs_of(given: Given, metric: list[str] | None) -> "tuple[pl.DataFrame, list[str], str, str]":
    """The items of two evaluations in one table, their scores, and which of the two is the baseline: the first."""
    from turnwise.evaluation import comparison
    from turnwise.schema.labels import counted

    if len(given.paths) != 2 or not all(map(comparison.is_run, given.paths)):
        raise ArgumentError("contrast: name the column to compare with --of, or two output folders of `turnwise eval`")
    if given.options:
        raise ArgumentError(
            f"contrast: {listing(given.options)} is for reading logs, and these are two "
            "evaluations; leave it out, or name the column to compare with --of"
        )
    runs = [comparison.run_of(path) for path in given.paths]
    rollouts = comparison.paired_runs(*runs)
    first_has, second_has = (run.scores for run in runs)
    alone = set(first_has) ^ set(second_has)
    if alone:
        say(f"only one of the runs has {listing(alone)}; left out")
    scores = metric or [name for name in first_has if name in second_has]
    differing = comparison.changed(*runs)
    for task, attempt, name, first, second, _ in differing.head(comparison.MOST_SHOWN).iter_rows():
        before, after = ("none" if score is None else f"{score:.4g}" for score in (first, second))
        say(f"{name} of item {task}, attempt {attempt}: {before} -> {after}")
    say(f"{counted(differing.height, 'score differs', 'scores differ')}")
    return rollouts, scores, "run", rollouts["run"][0]
