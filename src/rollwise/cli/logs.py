"""Commands that open logs. Verbs are imported inside, so that `--help` starts at once."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rollwise.cli.answers import FileFormat, document, tell_files
from rollwise.cli.app import app
from rollwise.cli.inputs import LogInput, naming, read_call, read_logs, scan_logs
from rollwise.cli.options import (
    By,
    ClusterBy,
    Columns,
    Errors,
    Facts,
    Format,
    Level,
    LogFormat,
    Logs,
    MappingFile,
    Metrics,
    Of,
    Out,
    Overwrite,
    Seed,
    Spreadsheet,
    Values,
    in_options,
)
from rollwise.cli.tables import cluster_of, emit, ready, say, tell
from rollwise.errors import ArgumentError, listing

if TYPE_CHECKING:
    import polars as pl


@app.command()
def report(
    paths: Logs,
    out: Annotated[Path, typer.Option("--out", help="Folder to write.")] = Path("report"),
    by: By = None,
    cluster: ClusterBy = None,
    level: Level = 0.95,
    seed: Seed = 0,
    unjudged: Annotated[
        Literal["bounds", "censor", "drop"],
        typer.Option(
            "--unjudged",
            help="Rollouts with unjudged turns and no success: bounds reports a range, censor uses the turns judged so far, "
            "drop leaves them out.",
        ),
    ] = "bounds",
    baseline: Annotated[
        Path | None,
        typer.Option(
            "--baseline", help="Earlier report (its folder) or logs, to compare with goal by goal.", show_default=False
        ),
    ] = None,
    title: Annotated[str | None, typer.Option("--title", help="Heading of the page.", show_default=False)] = None,
    log_format: LogFormat = None,
    mapping: MappingFile = None,
    errors: Errors = "collect",
    fact: Facts = None,
    column: Columns = None,
    value: Values = None,
    of: Of = None,
    format: FileFormat = "text",  # noqa: A002  # the name of the option
    overwrite: Overwrite = False,
) -> None:
    """Read logs and write an HTML report, tables and figures.

    Example: rollwise report runs --by target --by attack --out report
    """
    from rollwise.files.atomic import check_folder
    from rollwise.readers.problems import Problems, in_words_of
    from rollwise.reports import report as write_report

    check_folder(out, overwrite=overwrite)  # before the work, as by `ready`
    ledger = Problems(collect=errors == "collect")
    turns, problems = read_logs(LogInput(paths, log_format, errors, fact, column, value, of, mapping), ledger)
    with in_words_of(in_options):
        page = write_report(
            turns,
            out,
            by=by or "auto",
            cluster=cluster_of(cluster),
            level=level,
            seed=seed,
            unjudged=unjudged,
            title=title,
            baseline=baseline,
            problems=problems,
            accounting=ledger.accounting(),
            inputs=paths,
            overwrite=overwrite,
            progress=True,
        )
    tell_files(json.loads((page.parent / "run.json").read_text(encoding="utf-8"))["answer"], [page], format)


@app.command()
def read(
    paths: Logs,
    out: Annotated[Path, typer.Option("--out", help="Output file; the suffix selects the format.")] = Path(
        "turns.parquet"
    ),
    log_format: LogFormat = None,
    mapping: MappingFile = None,
    errors: Errors = "raise",
    fact: Facts = None,
    column: Columns = None,
    value: Values = None,
    of: Of = None,
    format: FileFormat = "text",  # noqa: A002  # the name of the option
    overwrite: Overwrite = False,
    spreadsheet: Spreadsheet = False,
) -> None:
    """Read logs in any supported format into one table of turns.

    Example: rollwise read runs --out turns.parquet
    """
    from rollwise.files.writers import write

    ready(out, overwrite=overwrite, spreadsheet=spreadsheet)
    turns, problems = read_logs(LogInput(paths, log_format, errors, fact, column, value, of, mapping))
    file = write(turns, out, overwrite=overwrite, spreadsheet=spreadsheet)
    tell_files(f"Read {_counts(turns, problems.height)}.", [file], format)


@app.command()
def convert(
    paths: Logs,
    out: Annotated[
        Path, typer.Option("--out", help="Folder to write, or an address such as s3://bucket/runs.", show_default=False)
    ],
    to: Annotated[
        Literal["parquet", "every-eval-ever"],
        typer.Option(
            "--to",
            metavar="<name>",
            help="parquet, or every-eval-ever: results with intervals and all rollouts in the schema of that name.",
        ),
    ] = "parquet",
    partition_by: Annotated[
        list[str] | None,
        typer.Option(
            "--partition-by", help="Column to partition folders by, such as target; repeat.", show_default=False
        ),
    ] = None,
    rollouts_per_file: Annotated[
        int, typer.Option("--rollouts-per-file", min=1, metavar="<int>", help="Rollouts in each file.")
    ] = 10_000,
    compression: Annotated[
        Literal["zstd", "snappy", "lz4", "gzip", "brotli", "none"],
        typer.Option(
            "--compression", metavar="<name>", help="Parquet compression: zstd, snappy, lz4, gzip, brotli or none."
        ),
    ] = "zstd",
    organization: Annotated[
        str | None,
        typer.Option("--organization", help="every-eval-ever: who publishes the records.", show_default=False),
    ] = None,
    collection: Annotated[
        str | None, typer.Option("--collection", help="every-eval-ever: name of the evaluation.", show_default=False)
    ] = None,
    metric: Metrics = None,
    by: By = None,
    lower_is_better: Annotated[
        list[str] | None,
        typer.Option(
            "--lower-is-better", help="every-eval-ever: metric whose low values are good.", show_default=False
        ),
    ] = None,
    higher_is_better: Annotated[
        list[str] | None,
        typer.Option(
            "--higher-is-better", help="every-eval-ever: metric whose high values are good.", show_default=False
        ),
    ] = None,
    log_format: LogFormat = None,
    mapping: MappingFile = None,
    errors: Errors = "raise",
    fact: Facts = None,
    column: Columns = None,
    value: Values = None,
    of: Of = None,
    format: FileFormat = "text",  # noqa: A002  # the name of the option
    overwrite: Overwrite = False,
) -> None:
    """Convert logs into Parquet files for large data sets, or into records of Every Eval Ever. Parquet input may exceed memory.

    Example: rollwise convert runs --out converted --partition-by target
    """
    from rollwise.cli.exchange import write_records
    from rollwise.files.atomic import check_folder
    from rollwise.files.manifests import manifest_of
    from rollwise.measurement.conversion import convert as converted
    from rollwise.schema.labels import counted

    check_folder(out, overwrite=overwrite)
    log_input = LogInput(paths, log_format, errors, fact, column, value, of, mapping)
    if to == "every-eval-ever":
        if partition_by:
            raise ArgumentError("--partition-by is for Parquet folders only; leave it out")
        records = write_records(
            log_input,
            out,
            organization=organization,
            collection=collection,
            metric=metric,
            by=by,
            lower_is_better=lower_is_better,
            higher_is_better=higher_is_better,
            overwrite=overwrite,
        )
        tell_files(f"Wrote the records of {counted(records, 'rollout')}.", [out], format)
        return
    of_records = {
        "--organization": organization,
        "--collection": collection,
        "--metric": metric,
        "--by": by,
        "--lower-is-better": lower_is_better,
        "--higher-is-better": higher_is_better,
    }
    if given := [name for name, setting in of_records.items() if setting is not None]:
        raise ArgumentError(f"{listing(given)}: for --to every-eval-ever only; add that, or leave it out")
    with naming(paths):
        folder = converted(
            scan_logs(log_input),
            out,
            partition_by=partition_by or (),
            rollouts_per_file=rollouts_per_file,
            compression=compression,
            overwrite=overwrite,
        )
    manifest = manifest_of(folder)
    assert manifest is not None
    sizes = ((manifest.rollouts, "rollout"), (manifest.rows, "turn"), (len(manifest.files), "file"))
    written = ", ".join(counted(*size) for size in sizes)
    say(f"wrote {written}")
    tell_files(f"Wrote {written}.", [folder], format)


@app.command()
def show(
    rollout_id: Annotated[str, typer.Argument(help="Rollout ID; `rollwise measure` lists them.", show_default=False)],
    paths: Logs,
    format: Annotated[  # noqa: A002  # the name of the option
        Literal["text", "md", "json"],
        typer.Option(
            "--format",
            help="text, md: Markdown that shows the log's texts as they are, or json: a sentence (answer), and the turns.",
        ),
    ] = "text",
    log_format: LogFormat = None,
    mapping: MappingFile = None,
    fact: Facts = None,
    column: Columns = None,
    value: Values = None,
    of: Of = None,
) -> None:
    """Print one rollout, turn by turn.

    Example: rollwise show ROLLOUT_ID runs
    """
    from rollwise.tables.transcripts import in_one_sentence, rows_of, transcript, transcript_markdown

    if Path(rollout_id).exists() and not paths[0].exists():
        raise ArgumentError(
            f"show: the rollout's id comes first; write rollwise show {shlex.join([str(paths[0]), rollout_id])}"
        )
    turns, _ = read_logs(LogInput(paths, log_format, "raise", fact, column, value, of, mapping))
    if format == "json":
        tell(document(in_one_sentence(turns, rollout_id), rows_of(turns, rollout_id)), data=True)
    else:
        tell(transcript(turns, rollout_id) if format == "text" else transcript_markdown(turns, rollout_id))


@app.command()
def doctor(
    paths: Logs,
    out: Out = None,
    format: Format = "table",  # noqa: A002  # the name of the option
    accounting: Annotated[
        bool, typer.Option("--accounting", help="List files instead: what became of the records of each.")
    ] = False,
    log_format: LogFormat = None,
    mapping: MappingFile = None,
    errors: Errors = "collect",
    fact: Facts = None,
    column: Columns = None,
    value: Values = None,
    of: Of = None,
    overwrite: Overwrite = False,
    spreadsheet: Spreadsheet = False,
) -> None:
    """List the analyses that these logs allow, why others are not possible, and the call for each.

    Example: rollwise doctor runs
    """
    from rollwise.estimation.doctor import doctor as diagnosed
    from rollwise.readers.problems import Problems

    ready(out, overwrite=overwrite, spreadsheet=spreadsheet, format=format)
    problems = Problems(collect=errors == "collect")
    turns, _ = read_logs(LogInput(paths, log_format, errors, fact, column, value, of, mapping), problems)
    frame = problems.accounting() if accounting else diagnosed(turns)
    counts = _counts(turns, len(problems.rows))
    if accounting or out is not None or format != "table" or spreadsheet:
        possible = "" if accounting else f" {frame['valid'].sum()} of {frame.height} analyses are possible with them."
        answer = f"Read {counts}.{possible}"
        emit(frame, out, format, overwrite=overwrite, spreadsheet=spreadsheet, answer=answer)
        return
    # For people: what was read, then each analysis with its call on lines of its own.
    tell(f"{counts}; --accounting counts them by file" if problems.rows else counts)
    before = (
        "import rollwise as rw",
        "from rollwise import metrics as m",
        read_call(LogInput(paths, log_format, errors, fact, column, value, of, mapping)),
    )
    tell("\n    ".join(["the calls are Python, after", *before]))
    for row in frame.rows(named=True):  # calls will be copied, so they must not be cut by a table
        lines = [line for line in (row["call"], row["reason"]) if line]
        tell("\n    ".join([f"{'yes' if row['valid'] else 'no ':<3} {row['analysis']}", *lines]))


def _counts(turns: "pl.DataFrame", problems: int) -> str:
    """Return the number of rollouts, turns and problems that were read."""
    from rollwise.schema.labels import counted

    read = f"{counted(turns['rollout_id'].n_unique(), 'rollout')}, {counted(turns['turn'].count(), 'turn')}"
    return f"{read}, {counted(problems, 'problem')}"
