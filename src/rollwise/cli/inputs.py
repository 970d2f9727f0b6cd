"""Input of commands: paths to logs and tables, read and measured."""

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rollwise.cli.options import (
    Columns,
    ErrorsOption,
    Facts,
    LogFormat,
    Logs,
    MappingFile,
    Of,
    Table,
    Values,
    Where,
    in_options,
)
from rollwise.cli.tables import pairs_of, say
from rollwise.cli.where import conditions_of, selected
from rollwise.errors import ArgumentError, ReadError, listing
from rollwise.files.atomic import MANIFEST
from rollwise.readers.roles.questions import OPEN, OPEN_NUMBER
from rollwise.readers.sources.panics import without_backtraces

if TYPE_CHECKING:
    import polars as pl

    from rollwise.readers.problems import Problems

MOST_LISTED = 5  # problems that are listed one by one


@dataclass(frozen=True)
class LogInput:
    """Paths of logs, and the options of reading them, as every command that reads has them."""

    paths: Logs
    log_format: LogFormat = None
    mapping: MappingFile = None
    errors: ErrorsOption = "raise"
    fact: Facts = None
    column: Columns = None
    value: Values = None
    of: Of = None

    @property
    def facts(self) -> dict[str, Any]:
        """Return the facts of `--fact`."""
        return pairs_of(self.fact, "--fact", "target=gpt-4o")

    @property
    def names(self) -> dict[str, Any]:
        """Return the names of `--column`, rollwise's name and the name in the files, with the labels of `--value`."""
        names: dict[str, Any] = pairs_of(self.column, "--column", "succeeded=jailbroken")
        labels = labels_of(self.value)
        thresholds = {name: value for name, value in labels.items() if not isinstance(value, dict)}
        if named := thresholds.keys() & names.keys():
            column, cut = names[min(named)], thresholds[min(named)]
            value = shlex.quote(f"{min(named)}:{cut if isinstance(cut, str) else f'{cut:g}'}")
            raise ArgumentError(
                f"--value {value} makes verdicts of `score`: write --column {shlex.quote(f'score={column}')}"
            )
        maps = {name: (names.get(name, name), values) for name, values in labels.items() if name not in thresholds}
        return names | maps | thresholds | ({} if self.of is None else {"of": self.of})

    @property
    def options(self) -> list[str]:
        """Return the reading options that were set."""
        is_set = {
            "--log-format": self.log_format is not None,
            "--mapping": self.mapping is not None,
            "--errors": self.errors != "raise",
            "--fact": bool(self.fact),
            "--column": bool(self.column),
            "--value": bool(self.value),
            "--of": self.of is not None,
        }
        return [name for name, value in is_set.items() if value]


@dataclass(frozen=True)
class MeasuredInput(LogInput):
    """Paths of logs to measure, and which of their rollouts to keep."""

    where: Where = None

    @property
    def options(self) -> list[str]:
        """Return the options of reading and keeping that were set."""
        return [*super().options, *(["--where"] if self.where else [])]


@dataclass(frozen=True)
class TableInput(MeasuredInput):
    """Paths of rollout tables, or of logs to read and measure first, and which of their rollouts to keep."""

    paths: Table


@dataclass(frozen=True)
class CollectedInput(LogInput):
    """Paths of logs whose unreadable records are left out and listed, if nothing else is said."""

    errors: ErrorsOption = "collect"


_CUT = re.compile(r"\s*[<>]=?\s*[-+]?\d[\d.]*\s*")  # such as <=2


def labels_of(words: list[str] | None) -> dict[str, dict[str, bool | str | None] | float | str]:
    """Parse `--value` options: for each column of TURNS, what its labels mean, or from which score on a turn succeeded."""
    meanings: dict[str, bool | str | None] = {"true": True, "false": False, "null": None, "": None}
    labels: dict[str, dict[str, bool | str | None]] = {}
    thresholds: dict[str, float | str] = {}
    for word in words or ():
        name, colon, rule = word.partition(":")
        label, equals, value = rule.rpartition("=")
        if name == "succeeded" and rule in {OPEN, OPEN_NUMBER}:
            raise ArgumentError(
                f"--value 'succeeded:{rule}': replace `?` by the number from which on a score means success"
            )
        if name == "succeeded" and _CUT.fullmatch(rule):
            thresholds[name] = rule
            continue
        if name == "succeeded" and not equals:
            with suppress(ValueError):
                thresholds[name] = float(value)
                continue
        if not (name and colon and equals):
            raise ArgumentError(
                f"--value {word!r} is not of the form NAME:LABEL=VALUE; write it as --value succeeded:JAILBREAK=true, "
                "as --value succeeded:7 for a score from which on a turn succeeded, "
                "or as --value 'succeeded:<=2' for one up to which"
            )
        meaning = meanings.get(value.lower(), value)
        if labels.setdefault(name, {}).setdefault(label, meaning) != meaning:
            raise ArgumentError(f"--value says {name}:{label} twice, with different values; say it once")
    if both := labels.keys() & thresholds.keys():
        raise ArgumentError(f"--value gives {min(both)} both labels and a score; give one of them")
    return {**labels, **thresholds}


def read_logs(log_input: LogInput, ledger: "Problems | None" = None) -> "tuple[pl.DataFrame, pl.DataFrame]":
    """Read turns and problems, and print on stderr the counts, then the first problems.

    The caller's ledger records the problems, if there is one.
    """
    from rollwise.readers.problems import FILLED, NULLED, WITHOUT_NAME, Problems, in_words_of
    from rollwise.readers.read import read_into
    from rollwise.schema.labels import counted

    ledger = Problems(collect=log_input.errors == "collect") if ledger is None else ledger
    with in_words_of(in_options):
        turns = read_into(
            ledger,
            log_input.paths,
            log_input.log_format,
            names=log_input.names,
            mapping=log_input.mapping,
            **log_input.facts,
        )
    problems = ledger.frame()
    _say_read(turns["rollout_id"].n_unique(), turns["turn"].count(), problems.height)
    for file, record, field, reason in problems.head(MOST_LISTED).rows() if ledger.collect else ():
        where = "".join(f"{what} {name}: " for what, name in (("record", record), ("field", field)) if name is not None)
        say(
            f"{'' if reason.endswith((WITHOUT_NAME, NULLED, FILLED)) else 'left out: '}{file}: {where}{in_options(reason)}"
        )
    if ledger.collect and problems.height > MOST_LISTED:
        say(f"and {counted(problems.height - MOST_LISTED, 'more problem')}")
    return turns, problems


def read_call(log_input: LogInput) -> str:
    """Return the equivalent call in Python."""
    collected = log_input.errors == "collect"
    options: dict[str, Any] = {} if log_input.log_format is None else {"format": log_input.log_format}
    options |= {"errors": log_input.errors} if collected else {}
    options |= {"names": log_input.names} if log_input.names else {}
    options |= {} if log_input.mapping is None else {"mapping": str(log_input.mapping)}
    names = [str(path) for path in log_input.paths]
    arguments = repr(names[0] if len(names) == 1 else names)
    arguments += "".join(f", {name}={value!r}" for name, value in (options | log_input.facts).items())
    return f"turns, problems = rw.read({arguments})" if collected else f"turns = rw.read({arguments})"


def _say_read(rollouts: int, turns: int, problems: int) -> None:
    from rollwise.schema.labels import counted

    say(f"read {counted(rollouts, 'rollout')}, {counted(turns, 'turn')}, {counted(problems, 'problem')}")


def scan_logs(log_input: LogInput) -> "pl.LazyFrame":
    """Return the turns lazily; with `--errors collect`, read everything at once and list the problems."""
    from rollwise.readers.problems import in_words_of
    from rollwise.readers.scan import scan

    if log_input.errors == "collect":
        return read_logs(log_input)[0].lazy()
    with in_words_of(in_options):
        return scan(
            log_input.paths,
            format=log_input.log_format,
            names=log_input.names,
            mapping=log_input.mapping,
            **log_input.facts,
        )


def stated_figures(log_input: LogInput, sources: Sequence[str] | None = None) -> "pl.DataFrame | None":
    """Return the figures that logs state about themselves, if any of these formats does; None without any."""
    from rollwise.readers.summaries import read_summary
    from rollwise.reports.stated import SOURCES

    if sources is not None and SOURCES.isdisjoint(sources):
        return None
    try:
        return read_summary(log_input.paths, errors="collect").frame
    except ReadError:
        return None


@contextmanager
def naming(paths: list[Path]) -> Iterator[None]:
    """Name the file that cannot be read, although files are read in batches in this block."""
    from rollwise.measurement.batches import reading
    from rollwise.readers.problems import Problems
    from rollwise.readers.sources.binary import table_in
    from rollwise.readers.sources.paths import documents

    try:
        with reading(), without_backtraces():
            yield
    except ReadError:
        problems = Problems()
        for document, _ in documents([path for path in paths if path.exists()], problems):
            with problems.record(document.name):
                if document.kind == "parquet":
                    table_in(document.source, "parquet")
        raise


def measured_logs(
    log_input: LogInput,
    metric: list[str] | None,
    keep: list[str] | None = None,
    groups: Sequence[str | None] = (),
    ledger: "Problems | None" = None,
) -> "pl.DataFrame":
    """Measure logs: one row per rollout, with the columns to keep and to group by."""
    from rollwise.metrics import catalog

    expressions = [catalog.expression(name) for name in metric or ()]
    path = log_input.paths[0]
    parquet = (path.suffix == ".parquet" and path.is_file()) or (path / MANIFEST).is_file()
    if len(log_input.paths) == 1 and parquet and log_input.errors == "raise":
        with naming(log_input.paths):
            turns = scan_logs(log_input)
            if not turns.limit(1).collect().is_empty():  # reading in full refuses empty logs with a reason
                return _measured_parquet(path, turns, expressions, _columns_to_keep(turns, keep, groups))
    frame, _ = read_logs(log_input, ledger)
    return _measured(frame, expressions, _columns_to_keep(frame, keep, groups))


def _columns_to_keep(
    turns: "pl.DataFrame | pl.LazyFrame", keep: list[str] | None, groups: Sequence[str | None]
) -> list[str]:
    """Return the columns to keep besides facts, which are always kept: those requested, and those to group by."""
    from rollwise.schema import ROLLOUTS

    columns = turns.collect_schema()
    extra = (name for name in groups if name in columns and name not in ROLLOUTS.names)
    return list(dict.fromkeys([*(keep or ()), *(name for name in extra if name is not None)]))


def _measured(turns: "pl.DataFrame", expressions: "list[pl.Expr]", keep: list[str] | None) -> "pl.DataFrame":
    """Measure turns; in trees, each path from a root to a leaf is a rollout, as in the report."""
    from rollwise.measurement.measure import measure
    from rollwise.measurement.trees import paths
    from rollwise.readers.problems import in_words_of
    from rollwise.schema import is_tree, labels

    with in_words_of(in_options):
        if not is_tree(turns):
            return measure(turns, *expressions, keep=keep)
        rollouts = measure(paths(turns), *expressions, keep=keep)
    say(labels.paths_in_words(turns, rollouts))
    return rollouts


def _measured_parquet(
    path: Path, turns: "pl.LazyFrame", expressions: "list[pl.Expr]", keep: list[str] | None
) -> "pl.DataFrame":
    """Measure a Parquet file, or a folder written by `rollwise convert`, without loading it into memory.

    Texts are read only if a metric uses them. If rollouts are sorted by id, they are read in batches. The rows are checked as
    usual.
    """
    import polars as pl

    from rollwise.measurement.batches import in_order, whole_rollouts
    from rollwise.readers.native.tables import conformed as checked
    from rollwise.readers.problems import Problems
    from rollwise.schema.named import columns_named

    columns = turns.collect_schema()
    read = {root for expression in expressions for root in expression.meta.root_names()} | set(keep or ())
    texts = {"context", "prompt", "response", "observation", "tool_calls"} - read
    # Text columns that no metric uses become columns of nulls, so that the checks see all columns.
    unread = [pl.lit(None, columns[name]).alias(name) for name in columns if name in texts]
    rows = turns.drop(columns_named(texts))
    first = rows.select(pl.col("turn").min()).collect().item()
    in_parts = first != 0 and "node_id" not in columns and in_order(rows)  # numbers from 0 are raised in all or in none
    parts, num_rollouts, num_turns = [], 0, 0
    for batch in whole_rollouts(rows) if in_parts else [rows.collect()]:
        with Problems().record(str(path)):
            part = checked(batch.with_columns(unread).select(columns_named(columns.names())))
        num_rollouts += part["rollout_id"].n_unique()
        num_turns += part["turn"].count()
        parts.append(_measured(part, expressions, keep))
    # A column that is constant within rollouts in one batch may vary in another: keep the columns of all batches.
    common = [name for name in parts[0].columns if all(name in part.columns for part in parts)]
    rollouts = pl.concat([part.select(columns_named(common)) for part in parts])
    _say_read(num_rollouts, num_turns, 0)
    return rollouts


def rollouts_of(
    log_input: MeasuredInput,
    metric: list[str] | None,
    groups: Sequence[str | None] = (),
    ledger: "Problems | None" = None,
) -> "pl.DataFrame":
    """Return the saved tables of rollouts at the paths, or measure the logs there; a ledger records what cannot be read.

    Only the rollouts that `--where` keeps are returned.
    """
    conditions = conditions_of(log_input.where)
    if estimated := next((condition for condition in conditions if condition.column in (metric or ())), None):
        raise ArgumentError(
            f"--where {estimated.text} keeps rollouts by `{estimated.column}`, which is estimated; keep them by another column"
        )
    groups = [*groups, *(condition.column for condition in conditions)]
    return selected(_all_rollouts(log_input, metric, groups, ledger), conditions)


def _all_rollouts(
    log_input: MeasuredInput, metric: list[str] | None, groups: Sequence[str | None], ledger: "Problems | None"
) -> "pl.DataFrame":
    from rollwise.readers.results.measured import read_tables

    table = None
    if log_input.log_format is None and log_input.mapping is None and not log_input.names:
        # With `--errors collect`, a broken table is reported when the logs are read below.
        with suppress(ReadError) if log_input.errors == "collect" else nullcontext():
            table = read_tables(log_input.paths)
    if table is None:
        # The turns of successes show what rollouts with unjudged turns are expected to hold.
        if metric and any(name.startswith(("attack_success", "success_within")) for name in metric):
            metric = list(dict.fromkeys([*metric, "time_to_success"]))
        return measured_logs(log_input, metric, groups=groups, ledger=ledger)
    if log_input.fact:
        raise ArgumentError(
            f"--fact fills in what logs do not say, and {log_input.paths[0]} is a table of rollouts; leave it out"
        )
    return table


def runs_of(log_input: MeasuredInput, metric: list[str] | None) -> "tuple[pl.DataFrame, list[str], str, str]":
    """Return the items of two evaluations in one table, the scores of both, the column to compare, and the baseline (the first)."""
    from rollwise.evaluation import comparison
    from rollwise.schema.labels import counted

    if len(log_input.paths) != 2 or not all(map(comparison.is_run, log_input.paths)):
        raise ArgumentError("contrast: name the column to compare with --of, or two output folders of `rollwise eval`")
    if log_input.options:
        raise ArgumentError(
            f"contrast: {listing(log_input.options)} is for reading logs, and these are two "
            "evaluations; leave it out, or name the column to compare with --of"
        )
    runs = [comparison.run_of(path) for path in log_input.paths]
    rollouts = comparison.paired_runs(*runs)
    first_has, second_has = (run.scores for run in runs)
    # Scores of only one run cannot be compared; they are named, not dropped in silence.
    unpaired = set(first_has) ^ set(second_has)
    if unpaired:
        say(f"only one of the runs has {listing(unpaired)}; left out")
    scores = metric or [name for name in first_has if name in second_has]
    differing = comparison.changed(*runs)
    for task, attempt, name, first, second, _ in differing.head(comparison.MOST_SHOWN).iter_rows():
        before, after = ("none" if score is None else f"{score:.4g}" for score in (first, second))
        say(f"{name} of item {task}, attempt {attempt}: {before} -> {after}")
    say(f"{counted(differing.height, 'score differs', 'scores differ')}")
    return rollouts, scores, "run", rollouts["run"][0]
