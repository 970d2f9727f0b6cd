"""Commands that open logs. Verbs are imported inside, so that `--help` starts at once."""

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rollwise.choices import Compression
from rollwise.cli.answers import FileFormat, document, tell_files
from rollwise.cli.app import LOOK, app
from rollwise.cli.inputs import CollectedInput, LogInput, naming, read_call, read_logs, scan_logs, stated_figures
from rollwise.cli.options import (
    By,
    ClusterBy,
    Level,
    Metrics,
    Overwrite,
    Seed,
    Spreadsheet,
    UnjudgedOption,
    choice,
    in_options,
    optional,
)
from rollwise.cli.tables import Output, cluster_of, painted, ready, say, tell
from rollwise.errors import ArgumentError, listing
from rollwise.files.atomic import check_folder

if TYPE_CHECKING:
    import polars as pl


@app.command(rich_help_panel=LOOK)
def report(
    logs: CollectedInput,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write.")] = Path("report"),
    by: By = None,
    cluster: ClusterBy = None,
    level: Level = 0.95,
    seed: Seed = 0,
    unjudged: UnjudgedOption = "bounds",
    baseline: Annotated[
        Path | None, optional("Earlier report (its folder) or logs, to compare with goal by goal.", "--baseline")
    ] = None,
    labels: Annotated[
        list[Path] | None, optional("People's labels, saved on a page of `rollwise label`; repeat.", "--labels")
    ] = None,
    title: Annotated[str | None, optional("Heading of the page.", "--title")] = None,
    format: FileFormat = "text",  # noqa: A002  # the name of the option
    overwrite: Overwrite = False,
) -> None:
    """Read logs and write an HTML report, tables and figures.

    Example: rollwise report runs --by target --by attack --out report
    """
    from rollwise.readers.problems import Problems, in_words_of
    from rollwise.reports import report as write_report

    check_folder(out, overwrite=overwrite)  # before the work, as by `ready`
    ledger = Problems(collect=logs.errors == "collect")
    turns, problems = read_logs(logs, ledger)
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
            labels=labels or None,
            problems=problems,
            accounting=ledger.accounting(),
            figures=stated_figures(logs, turns["source"].unique().to_list()),
            inputs=logs.paths,
            overwrite=overwrite,
            progress=True,
        )
    run = json.loads((page.parent / "run.json").read_text(encoding="utf-8"))
    sentences = [f"{run['title']}.", *run["claims"]]
    # The path alone is on stdout, for scripts that open it.
    for sentence in sentences if format == "text" else ():
        say(sentence)
    tell_files(" ".join(sentences), [page], format)


@app.command(rich_help_panel=LOOK)
def read(
    logs: LogInput,
    out: Annotated[Path, typer.Option("--out", "-o", help="Output file; the suffix selects the format.")] = Path(
        "turns.parquet"
    ),
    format: FileFormat = "text",  # noqa: A002  # the name of the option
    overwrite: Overwrite = False,
    spreadsheet: Spreadsheet = False,
) -> None:
    """Read logs in any supported format into one table of turns.

    Example: rollwise read runs --out turns.parquet
    """
    from rollwise.files.writers import write

    ready(out, overwrite=overwrite, spreadsheet=spreadsheet)
    turns, problems = read_logs(logs)
    file = write(turns, out, overwrite=overwrite, spreadsheet=spreadsheet)
    tell_files(f"Read {_counts(turns, problems.height)}.", [file], format)


@app.command(rich_help_panel=LOOK)
def convert(
    logs: LogInput,
    out: Annotated[Path, optional("Folder to write, or an address such as s3://bucket/runs.", "--out", "-o")],
    to: Annotated[
        Literal["parquet", "every-eval-ever"],
        typer.Option(
            "--to",
            metavar="<name>",
            help="parquet, or every-eval-ever: results with intervals and all rollouts in the schema of that name.",
        ),
    ] = "parquet",
    partition_by: Annotated[
        list[str] | None, optional("Column to partition folders by, such as target; repeat.", "--partition-by")
    ] = None,
    rollouts_per_file: Annotated[
        int, typer.Option("--rollouts-per-file", min=1, metavar="<number>", help="Rollouts in each file.")
    ] = 10_000,
    compression: Annotated[Compression, choice("compression", "Parquet compression", Compression)] = "zstd",
    organization: Annotated[
        str | None, optional("every-eval-ever: who publishes the records.", "--organization")
    ] = None,
    collection: Annotated[str | None, optional("every-eval-ever: name of the evaluation.", "--collection")] = None,
    metric: Metrics = None,
    by: By = None,
    lower_is_better: Annotated[
        list[str] | None, optional("every-eval-ever: metric whose low values are good.", "--lower-is-better")
    ] = None,
    higher_is_better: Annotated[
        list[str] | None, optional("every-eval-ever: metric whose high values are good.", "--higher-is-better")
    ] = None,
    format: FileFormat = "text",  # noqa: A002  # the name of the option
    overwrite: Overwrite = False,
) -> None:
    """Convert logs into Parquet files for large data sets, or into records of Every Eval Ever. Parquet input may exceed memory.

    Example: rollwise convert runs --out converted --partition-by target
    """
    from rollwise.cli.exchange import write_records
    from rollwise.files.manifests import manifest_of
    from rollwise.measurement.conversion import convert as converted
    from rollwise.schema.labels import counted

    check_folder(out, overwrite=overwrite)
    if to == "every-eval-ever":
        if partition_by:
            raise ArgumentError("--partition-by is for Parquet folders only; leave it out")
        records = write_records(
            logs,
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
    if misplaced := [name for name, setting in of_records.items() if setting is not None]:
        raise ArgumentError(f"{listing(misplaced)}: for --to every-eval-ever only; add that, or leave it out")
    with naming(logs.paths):
        folder = converted(
            scan_logs(logs),
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


@app.command(rich_help_panel=LOOK)
def show(
    rollout_id: Annotated[str, typer.Argument(help="Rollout ID; `rollwise measure` lists them.", show_default=False)],
    logs: LogInput,
    format: Annotated[  # noqa: A002  # the name of the option
        Literal["text", "md", "json"],
        typer.Option(
            "--format",
            help="text, md: Markdown that shows the log's texts as they are, or json: a sentence (answer), and the turns.",
        ),
    ] = "text",
) -> None:
    """Print one rollout, turn by turn.

    Example: rollwise show ROLLOUT_ID runs
    """
    from rollwise.tables.transcripts import in_one_sentence, rows_of, transcript, transcript_markdown

    if Path(rollout_id).exists() and not logs.paths[0].exists():
        raise ArgumentError(
            f"show: the rollout's id comes first; write rollwise show {shlex.join([str(logs.paths[0]), rollout_id])}"
        )
    turns, _ = read_logs(logs)
    if format == "json":
        tell(document(in_one_sentence(turns, rollout_id), rows_of(turns, rollout_id)), data=True)
    else:
        tell(transcript(turns, rollout_id) if format == "text" else transcript_markdown(turns, rollout_id))


@app.command(rich_help_panel=LOOK)
def doctor(
    output: Output,
    logs: CollectedInput,
    accounting: Annotated[
        bool, typer.Option("--accounting", help="List files instead: what became of the records of each.")
    ] = False,
) -> None:
    """List the analyses that these logs allow, why others are not possible, and the call for each.

    Example: rollwise doctor runs
    """
    from rollwise.estimation.doctor import doctor as diagnosed
    from rollwise.readers.problems import Problems

    output.check()
    problems = Problems(collect=logs.errors == "collect")
    turns, _ = read_logs(logs, problems)
    frame = problems.accounting() if accounting else diagnosed(turns)
    counts = _counts(turns, len(problems.rows))
    if accounting or output != Output(overwrite=output.overwrite):
        possible = "" if accounting else f" {frame['valid'].sum()} of {frame.height} analyses are possible with them."
        answer = f"Read {counts}.{possible}"
        output.emit(frame, answer=answer)
        return
    # For people: what was read, then each analysis with its call on lines of its own.
    tell(f"{counts}; --accounting counts them by file" if problems.rows else counts)
    before = (
        "import rollwise as rw",
        "from rollwise import metrics as m",
        read_call(logs),
    )
    tell("\n    ".join(["the calls are Python, after", *before]))
    for row in frame.rows(named=True):  # calls will be copied, so they must not be cut by a table
        lines = [line for line in (row["call"], row["reason"]) if line]
        answer = "yes" if row["valid"] else "no"
        tell(
            "\n    ".join([row["analysis"], *lines]),
            before=f"{painted(answer, answer, sys.stdout)}{' ' * (4 - len(answer))}",
        )


def _counts(turns: "pl.DataFrame", problems: int) -> str:
    """Return the number of rollouts, turns and problems that were read."""
    from rollwise.schema.labels import counted

    read = f"{counted(turns['rollout_id'].n_unique(), 'rollout')}, {counted(turns['turn'].count(), 'turn')}"
    return f"{read}, {counted(problems, 'problem')}"
