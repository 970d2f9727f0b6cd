"""What a command is given becomes a table, and a table what is printed or written."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from turnwise.errors import ArgumentError, ReadError, listing

if TYPE_CHECKING:
    import polars as pl

SHOWN = 5  # problems that are told one by one


def read_logs(
    paths: list[Path], log_format: str | None, errors: str, fact: list[str] | None, column: list[str] | None = None
) -> "tuple[pl.DataFrame, pl.DataFrame]":
    """Turns and problems, with a line on stderr that says how much was read."""
    from turnwise.labels import counted
    from turnwise.readers.problems import LACKING, NULLED, Problems
    from turnwise.readers.reading import read_into

    facts: dict[str, Any] = pairs_of(fact, "--fact", "target=gpt-4o")
    ledger = Problems(collect=errors == "collect")
    turns = read_into(ledger, paths, log_format, names=named_columns(column), **facts)
    problems = ledger.frame()
    for file, record, field, reason in problems.head(SHOWN).rows() if ledger.collect else ():
        where = "".join(f"{what} {name}: " for what, name in (("record", record), ("field", field)) if name is not None)
        say(f"{'' if reason.endswith((LACKING, NULLED)) else 'left out: '}{file}: {where}{reason}")
    if ledger.collect and problems.height > SHOWN:
        say(f"and {counted(problems.height - SHOWN, 'more problem')}")
    _say_read(turns["rollout_id"].n_unique(), turns["turn"].count(), problems.height)
    return turns, problems


def read_call(
    paths: list[Path], log_format: str | None, errors: str, fact: list[str] | None, column: list[str] | None
) -> str:
    """The same in Python."""
    given: dict[str, Any] = {} if log_format is None else {"format": log_format}
    given |= {"errors": errors} if errors == "collect" else {}
    given |= {"names": named_columns(column)} if column else {}
    options = (f", {name}={value!r}" for name, value in (given | pairs_of(fact, "--fact", "target=gpt-4o")).items())
    names = [str(path) for path in paths]
    told = repr(names[0] if len(names) == 1 else names) + "".join(options)
    return f"turns, problems = tw.read({told})" if errors == "collect" else f"turns = tw.read({told})"


def _say_read(rollouts: int, turns: int, problems: int) -> None:
    from turnwise.labels import counted

    say(f"read {counted(rollouts, 'rollout')}, {counted(turns, 'turn')}, {counted(problems, 'problem')}")


def scan_logs(
    paths: list[Path], log_format: str | None, errors: str, fact: list[str] | None, column: list[str] | None
) -> "pl.LazyFrame":
    """Turns, of Parquet not loaded yet; what cannot be read is listed where that is asked for, and all is read then."""
    from turnwise.readers.reading import scan

    if errors == "collect":
        return read_logs(paths, log_format, errors, fact, column)[0].lazy()
    facts: dict[str, Any] = pairs_of(fact, "--fact", "target=gpt-4o")
    return scan(paths, format=log_format, names=named_columns(column), **facts)


@contextmanager
def naming(paths: list[Path]) -> Iterator[None]:
    """Of files that are read a part at a time, the one that cannot be read is named, as where it is read whole.

    Raises
    ------
    ReadError
        Where the turns cannot be read.
    """
    from turnwise.batches import reading
    from turnwise.readers.binary import table_in
    from turnwise.readers.finding import documents
    from turnwise.readers.problems import Problems

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
    paths: list[Path],
    metric: list[str] | None,
    log_format: str | None,
    errors: str,
    fact: list[str] | None,
    column: list[str] | None,
    keep: list[str] | None = None,
    groups: Sequence[str | None] = (),
) -> "pl.DataFrame":
    """What the logs measure, a row for each rollout, with the columns to keep and those to group by that there are."""
    from turnwise.files import MANIFEST
    from turnwise.metrics import catalog

    expressions = [catalog.expression(name) for name in metric or ()]
    path = paths[0]
    parquet = (path.suffix == ".parquet" and path.is_file()) or (path / MANIFEST).is_file()
    if len(paths) == 1 and parquet and errors == "raise":
        with naming(paths):
            turns = scan_logs(paths, log_format, errors, fact, column)
            if not turns.limit(1).collect().is_empty():  # what is empty is refused by who reads it
                return _measured_parquet(path, turns, expressions, _kept(turns, keep, groups))
    whole = read_logs(paths, log_format, errors, fact, column)[0]
    return _measured(whole, expressions, _kept(whole, keep, groups))


def _kept(turns: "pl.DataFrame | pl.LazyFrame", keep: list[str] | None, groups: Sequence[str | None]) -> list[str]:
    """The columns that are carried along because they are asked for; facts are anyway."""
    from turnwise.schema import ROLLOUTS

    found = turns.collect_schema()
    asked = (name for name in groups if name in found and name not in ROLLOUTS.names)
    return list(dict.fromkeys([*(keep or ()), *(name for name in asked if name is not None)]))


def _measured(turns: "pl.DataFrame", expressions: "list[pl.Expr]", keep: list[str] | None) -> "pl.DataFrame":
    """What the turns measure; of trees each path from a root to a leaf, as in the report."""
    from turnwise import labels
    from turnwise.rollouts import measure
    from turnwise.schema import is_tree
    from turnwise.trees import paths

    if not is_tree(turns):
        return measure(turns, *expressions, keep=keep)
    found = measure(paths(turns), *expressions, keep=keep)
    say(labels.paths_told(turns, found))
    return found


def _measured_parquet(
    path: Path, turns: "pl.LazyFrame", expressions: "list[pl.Expr]", keep: list[str] | None
) -> "pl.DataFrame":
    """The same of a file, or of a folder of `turnwise convert`, which memory need not hold.

    Texts are read where a metric is made of them, and where rollouts stand in order of their ids, only some are read at a
    time. What is read is checked as ever.
    """
    import polars as pl

    from turnwise.batches import in_order, whole_rollouts
    from turnwise.readers.native import turns as checked
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


def rollouts_of(
    paths: list[Path],
    metric: list[str] | None,
    log_format: str | None,
    errors: str,
    fact: list[str] | None,
    column: list[str] | None,
    groups: Sequence[str | None] = (),
) -> "pl.DataFrame":
    """The table of rollouts that the path is (several are put below one another), or what its logs measure."""
    from turnwise.readers.measured import read_tables

    table = None
    if log_format is None and not column:
        with suppress(ReadError) if errors == "collect" else nullcontext():  # what cannot be read is told with the rest
            table = read_tables(paths)
    if table is not None:
        if fact:
            raise ArgumentError(
                f"--fact fills in what logs do not say, and {paths[0]} is a table of rollouts; leave it out"
            )
        return table
    return measured_logs(paths, metric, log_format, errors, fact, column, groups=groups)


def runs_of(
    paths: list[Path],
    metric: list[str] | None,
    log_format: str | None,
    errors: str,
    fact: list[str] | None,
    column: list[str] | None,
) -> "tuple[pl.DataFrame, list[str], str, str]":
    """The items of two evaluations in one table, their scores, and which of the two is the baseline: the first."""
    from turnwise.evaluation import comparison
    from turnwise.labels import counted

    if len(paths) != 2 or not all(map(comparison.is_run, paths)):
        raise ArgumentError("contrast: name the column to compare with --of, or two output folders of `turnwise eval`")
    given = {
        "--log-format": log_format is not None,
        "--errors": errors != "raise",
        "--fact": bool(fact),
        "--column": bool(column),
    }
    if any(given.values()):
        raise ArgumentError(
            f"contrast: {listing(name for name, there in given.items() if there)} is for reading logs, and these are two "
            "evaluations; leave it out, or name the column to compare with --of"
        )
    runs = [comparison.run_of(path) for path in paths]
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


def emit(
    frame: "pl.DataFrame",
    out: Path | None,
    format: str,  # noqa: A002
    *,
    overwrite: bool,
    spreadsheet: bool,
) -> None:
    """Write the frame, or print it."""
    if spreadsheet and out is None and format != "csv":
        raise ArgumentError("--spreadsheet is for CSV: add --format csv, or --out FILE.csv")
    if out is not None:
        from turnwise.writers import write

        tell(write(frame, out, overwrite=overwrite, spreadsheet=spreadsheet), data=True)
    elif format == "table":
        from turnwise import tables

        tell(tables.text(frame))
    elif format == "csv":
        from turnwise.writers import defused, flat, formulas_told

        table = flat(frame)
        if spreadsheet:
            table, changed = defused(table)
            say(formulas_told(changed))
        tell(table.write_csv(), data=True, nl=False)
    else:
        tell(frame.write_json() if format == "json" else frame.write_ndjson(), data=True, nl=format == "json")


def cluster_of(names: list[str] | None) -> Any:
    """What `--cluster` says, as the verbs take it."""
    if not names:
        return "auto"
    if len(names) == 1:
        return None if names[0] == "none" else names[0]
    return tuple(names)


def pairs_of(words: list[str] | None, option: str, example: str) -> dict[str, str]:
    """What an option of the form NAME=VALUE says."""
    pairs: dict[str, str] = {}
    for word in words or ():
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            form = "NAME=VALUE" if "=" in example else "KEY VALUE"
            raise ArgumentError(f"{option} {word!r} is not of the form {form}; write it as {option} {example}")
        if name in pairs and "=" in example:
            raise ArgumentError(f"{option} says {name} twice ({pairs[name]}, {value}); say it once")
        pairs[name] = value
    return pairs


def named_columns(words: list[str] | None) -> dict[str, str]:
    """What `--column` says: our names, and those in the files."""
    return pairs_of(words, "--column", "succeeded=jailbroken")


def numbers_of(words: list[str] | None, option: str, example: str) -> dict[str, float]:
    """The same, where values are numbers."""
    pairs = pairs_of(words, option, example)
    numbers = {}
    for name, value in pairs.items():
        try:
            numbers[name] = float(value)
        except ValueError as error:
            raise ArgumentError(f"{option} {name}: {value!r} is no number; write it as {option} {example}") from error
    return numbers


def tell(text: object, *, data: bool = False, nl: bool = True) -> None:
    """Print on stdout. What a log holds cannot command a terminal; data that another program reads are as they are."""
    from turnwise import labels

    exact = data and not sys.stdout.isatty()
    typer.echo(str(text) if exact else labels.plain_lines(text), nl=nl)


def say(sentence: str) -> None:
    """Tell people, on stderr."""
    from turnwise import labels

    labels.say(sentence)
