"""The command line: one thin command per verb. Verbs are imported inside their commands, so that `--help` starts at once."""

import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer

from turnwise import __version__
from turnwise.errors import ArgumentError, TurnwiseError

if TYPE_CHECKING:
    import polars as pl

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

app = typer.Typer(
    name="turnwise",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Logs = Annotated[
    list[Path], typer.Argument(help="Log files or folders of any known format, mixed as you like.", show_default=False)
]
Table = Annotated[
    list[Path],
    typer.Argument(
        help="A table of rollouts (.parquet, .csv, ...) or logs, which are read and measured first.", show_default=False
    ),
]
By = Annotated[
    list[str] | None, typer.Option("--by", help="Column to group by; repeat for several.", show_default=False)
]
Metrics = Annotated[
    list[str] | None,
    typer.Option("--metric", help="Metric by name, such as success_within_3; repeat for several.", show_default=False),
]
ClusterBy = Annotated[
    list[str] | None,
    typer.Option(
        "--cluster",
        help="What is independent: a column, two crossed ones, or none. Default: goal or task.",
        show_default=False,
    ),
]
Level = Annotated[float, typer.Option("--level", help="Nominal coverage of the intervals.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of the draws.")]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", help="File to write, its format named by the suffix; default: to the screen.", show_default=False
    ),
]
Format = Annotated[
    Literal["table", "csv", "json", "jsonl"], typer.Option("--format", help="How to print on the screen.")
]
LogFormat = Annotated[
    str | None,
    typer.Option("--log-format", help="Read the logs as this format instead of recognizing them.", show_default=False),
]
Errors = Annotated[
    Literal["raise", "collect"],
    typer.Option("--errors", help="What cannot be read: stop at it, or leave it out and list it."),
]
Facts = Annotated[
    list[str] | None,
    typer.Option("--fact", help="Fill in what the logs do not say, as in target=gpt-4o.", show_default=False),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace results that stand there already.")]


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"turnwise {__version__}")
        raise typer.Exit


@app.callback()
def turnwise(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Rollouts of red-team and evaluation runs: read any log, measure, summarize with intervals that cover, report."""


@app.command()
def report(
    paths: Logs,
    out: Annotated[Path, typer.Option("--out", help="Folder to write.")] = Path("report"),
    by: By = None,
    cluster: ClusterBy = None,
    level: Level = 0.95,
    seed: Seed = 0,
    title: Annotated[str | None, typer.Option("--title", help="Heading of the page.", show_default=False)] = None,
    log_format: LogFormat = None,
    errors: Errors = "raise",
    fact: Facts = None,
    overwrite: Overwrite = False,
) -> None:
    """Logs in; report.html, Parquet, CSV, JSON and SVG figures out."""
    from turnwise.reports import report as write_report

    turns, problems = _read(paths, log_format, errors, fact)
    page = write_report(
        turns,
        out,
        by=by,
        cluster=_cluster(cluster),
        level=level,
        seed=seed,
        title=title,
        problems=problems,
        inputs=paths,
        overwrite=overwrite,
        progress=True,
    )
    typer.echo(page)


@app.command()
def read(
    paths: Logs,
    out: Annotated[Path, typer.Option("--out", help="File to write, its format named by the suffix.")] = Path(
        "turns.parquet"
    ),
    log_format: LogFormat = None,
    errors: Errors = "raise",
    fact: Facts = None,
    overwrite: Overwrite = False,
) -> None:
    """Any known log into one table of turns."""
    from turnwise.writers import write

    turns, _ = _read(paths, log_format, errors, fact)
    typer.echo(write(turns, out, overwrite=overwrite))


@app.command()
def convert(
    paths: Logs,
    out: Annotated[Path, typer.Option("--out", help="Folder to write.", show_default=False)],
    rollouts_per_file: Annotated[
        int, typer.Option("--rollouts-per-file", min=1, help="Rollouts in each file.")
    ] = 50_000,
    log_format: LogFormat = None,
    errors: Errors = "raise",
    fact: Facts = None,
    overwrite: Overwrite = False,
) -> None:
    """Any known log into Parquet files of whole rollouts, for large work."""
    from turnwise.writers import convert as converted

    turns, _ = _read(paths, log_format, errors, fact)
    typer.echo(converted(turns, out, rollouts_per_file=rollouts_per_file, overwrite=overwrite))


@app.command()
def show(
    rollout_id: Annotated[str, typer.Argument(help="Which rollout.", show_default=False)],
    paths: Logs,
    log_format: LogFormat = None,
    fact: Facts = None,
) -> None:
    """One rollout, turn by turn."""
    from turnwise.transcripts import transcript

    turns, _ = _read(paths, log_format, "raise", fact)
    typer.echo(transcript(turns, rollout_id))


@app.command()
def doctor(
    paths: Logs,
    out: Out = None,
    format: Format = "table",  # noqa: A002  # the name of the option
    log_format: LogFormat = None,
    errors: Errors = "raise",
    fact: Facts = None,
    overwrite: Overwrite = False,
) -> None:
    """Which analyses these logs allow, which they do not and why, and the call for each."""
    from turnwise.diagnosis import doctor as diagnosed

    turns, _ = _read(paths, log_format, errors, fact)
    found = diagnosed(turns)
    if out is not None or format != "table":
        _emit(found, out, format, overwrite=overwrite)
        return
    for row in found.rows(named=True):  # calls are to be copied, so no table may cut them
        lines = [line for line in (row["call"], row["reason"]) if line]
        typer.echo("\n    ".join([f"{'yes' if row['valid'] else 'no ':<3} {row['analysis']}", *lines]))


@app.command()
def measure(
    paths: Logs,
    metric: Metrics = None,
    keep: Annotated[
        list[str] | None, typer.Option("--keep", help="Extra column to carry along; repeat.", show_default=False)
    ] = None,
    out: Out = None,
    format: Format = "table",  # noqa: A002  # the name of the option
    log_format: LogFormat = None,
    errors: Errors = "raise",
    fact: Facts = None,
    overwrite: Overwrite = False,
) -> None:
    """One row per rollout, one column per metric."""
    _emit(_measured(paths, metric, log_format, errors, fact, keep), out, format, overwrite=overwrite)


@app.command()
def summarize(
    paths: Table,
    metric: Metrics = None,
    by: By = None,
    statistic: Annotated[
        list[str] | None,
        typer.Option("--statistic", help="mean, median, min, max, restricted_mean, q90; repeat.", show_default=False),
    ] = None,
    cluster: ClusterBy = None,
    weighting: Annotated[
        Literal["rollout", "goal", "turn"], typer.Option("--weighting", help="What weighs the same.")
    ] = "rollout",
    method: Annotated[
        Literal["auto", "wilson", "exact", "jeffreys", "agresti-coull", "t", "bootstrap", "bca", "percentile", "basic"],
        typer.Option("--method", help="Interval of a mean."),
    ] = "auto",
    undecided: Annotated[
        Literal["bounds", "drop", "censor"], typer.Option("--undecided", help="What to do with half-judged rollouts.")
    ] = "bounds",
    level: Level = 0.95,
    seed: Seed = 0,
    margins: Annotated[bool, typer.Option("--margins", help="Also pool over each grouping column.")] = False,
    out: Out = None,
    format: Format = "table",  # noqa: A002  # the name of the option
    log_format: LogFormat = None,
    errors: Errors = "raise",
    fact: Facts = None,
    overwrite: Overwrite = False,
) -> None:
    """Groups of rollouts into estimates with intervals."""
    from turnwise.summary import summarize as summarized

    frame = summarized(
        _rollouts(paths, metric, log_format, errors, fact),
        by=by or (),
        metrics=metric,
        statistics=statistic,
        cluster=_cluster(cluster),
        weighting=weighting,
        method=method,
        undecided=undecided,
        level=level,
        seed=seed,
        margins=margins,
    )
    _emit(frame, out, format, overwrite=overwrite)


@app.command()
def curve(
    paths: Table,
    metric: Annotated[str, typer.Option("--metric", help="Time to an event.")] = "time_to_success",
    by: By = None,
    kind: Annotated[
        Literal["success", "survival", "hazard", "incidence"], typer.Option("--kind", help="Which curve.")
    ] = "success",
    axis: Annotated[
        Literal["turn", "target_call", "tokens", "cost_usd", "seconds"],
        typer.Option("--axis", help="What the way to success is counted in."),
    ] = "turn",
    band: Annotated[
        Literal["pointwise", "simultaneous"], typer.Option("--band", help="Intervals for each position, or for all.")
    ] = "pointwise",
    cluster: ClusterBy = None,
    level: Level = 0.95,
    seed: Seed = 0,
    out: Out = None,
    format: Format = "table",  # noqa: A002  # the name of the option
    log_format: LogFormat = None,
    errors: Errors = "raise",
    fact: Facts = None,
    overwrite: Overwrite = False,
) -> None:
    """Share of rollouts by turn (or by tokens, dollars, ...), with intervals and the rollouts at risk."""
    from turnwise.curves import curve as curved

    needed = [metric] if axis == "turn" else [metric, f"spent_to_success_{axis}"]
    frame = curved(
        _rollouts(paths, needed, log_format, errors, fact),
        metric=metric,
        by=by or (),
        kind=kind,
        axis=axis,
        cluster=_cluster(cluster),
        band=band,
        level=level,
        seed=seed,
    )
    _emit(frame, out, format, overwrite=overwrite)


@app.command()
def attempts(
    paths: Table,
    metric: Annotated[
        str, typer.Option("--metric", help="What an attempt achieves: a Boolean, or a number.")
    ] = "attack_success",
    by: By = None,
    k: Annotated[
        list[int] | None, typer.Option("--k", "-k", help="How many attempts; repeat for several.", show_default=False)
    ] = None,
    stopped: Annotated[
        Literal["detect", "yes", "no"],
        typer.Option("--stopped", help="Whether attempts at a goal stopped at the first success."),
    ] = "detect",
    cluster: ClusterBy = None,
    level: Level = 0.95,
    seed: Seed = 0,
    out: Out = None,
    format: Format = "table",  # noqa: A002  # the name of the option
    log_format: LogFormat = None,
    errors: Errors = "raise",
    fact: Facts = None,
    overwrite: Overwrite = False,
) -> None:
    """Share of goals reached at least once, and every time, in k attempts."""
    from turnwise.repeats import attempts as repeated

    frame = repeated(
        _rollouts(paths, [metric], log_format, errors, fact),
        metric=metric,
        by=by or (),
        k=k,
        cluster=_cluster(cluster),
        stopped="detect" if stopped == "detect" else stopped == "yes",
        level=level,
        seed=seed,
    )
    _emit(frame, out, format, overwrite=overwrite)


@app.command()
def gate(
    paths: Table,
    require: Annotated[
        list[str],
        typer.Option(
            "--require", help="What must hold, as in 'attack_success < 0.01'; repeat for several.", show_default=False
        ),
    ],
    by: By = None,
    cluster: ClusterBy = None,
    level: Level = 0.95,
    seed: Seed = 0,
    out: Out = None,
    format: Format = "table",  # noqa: A002  # the name of the option
    log_format: LogFormat = None,
    errors: Errors = "raise",
    fact: Facts = None,
    overwrite: Overwrite = False,
) -> None:
    """Pass only if the interval's bound meets every requirement in every group; exit 1 if not."""
    from turnwise import gating
    from turnwise.readers.measured import read_finished

    table = read_finished(paths[0]) if len(paths) == 1 and log_format is None else None
    if table is None:
        table = _rollouts(paths, gating.metrics(require), log_format, errors, fact)
    gates = gating.gate(table, require, by=by or (), cluster=_cluster(cluster), level=level, seed=seed)
    _emit(gates, out, format, overwrite=overwrite)
    _say(gating.verdict(gates))
    if not gates["passed"].all():
        raise typer.Exit(FAILED)


@app.command()
def rollout(
    config_file: Annotated[
        Path, typer.Option("--config_file", help="YAML: sampler, seeds, metrics, store.", show_default=False)
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder to write, instead of the file's.", show_default=False)
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Roll out from a file: resumes where it was killed, stops when enough is known."""
    from turnwise.evaluators.config import evaluator_of, load, rule_of

    config = load(config_file)
    evaluator = evaluator_of(config)
    folder = config.out if out is None else out
    if folder.exists() and any(folder.iterdir()) and not overwrite:
        raise ArgumentError(
            f"{folder} exists and is not empty; choose another folder with --out, or allow it with --overwrite"
        )
    evaluator.evaluate(**config.run.model_dump(), store=config.store, until=rule_of(config.until))
    errors = evaluator.rollouts["error"].drop_nulls()
    _say(f"{evaluator.rollouts.height:,} rollouts, {len(errors):,} errors")
    if evaluator.decision is not None:
        _say(str(evaluator.decision))
    typer.echo(evaluator.write(folder, overwrite=overwrite))
    if len(errors):
        _say(f"the first error: {errors[0]}; all are in {folder / 'rollouts.parquet'}, column `error`")
    if len(errors) == evaluator.rollouts.height:
        raise typer.Exit(1)


@app.command()
def simulate(
    out: Annotated[Path, typer.Option("--out", help="File of turns to write.", show_default=False)],
    truth: Annotated[
        Path | None, typer.Option("--truth", help="File of true values to write.", show_default=False)
    ] = None,
    goals: Annotated[int, typer.Option("--goals", help="Goals of each attack.")] = 40,
    attempts: Annotated[int, typer.Option("--attempts", help="Rollouts of each goal.")] = 5,
    turns: Annotated[int, typer.Option("--turns", help="Turns at most.")] = 10,
    icc: Annotated[float, typer.Option("--icc", help="Correlation within a goal.")] = 0.3,
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target", help="Target and its hazard in each turn, as in base=0.1; repeat.", show_default=False
        ),
    ] = None,
    attack: Annotated[
        list[str] | None,
        typer.Option(
            "--attack", help="Attack and what it does to the odds, as in plead=0.5; repeat.", show_default=False
        ),
    ] = None,
    seed: Seed = 0,
    overwrite: Overwrite = False,
) -> None:
    """Rollouts whose truth is known."""
    from turnwise.simulation import simulate as simulated
    from turnwise.writers import write

    given: dict[str, Any] = {
        "targets": _numbers(target, "--target", "base=0.1"),
        "attacks": _numbers(attack, "--attack", "plead=0.5"),
    }
    chosen = {name: values for name, values in given.items() if values}
    made, known = simulated(goals=goals, attempts=attempts, turns=turns, icc=icc, seed=seed, **chosen)
    typer.echo(write(made, out, overwrite=overwrite))
    if truth is not None:
        typer.echo(write(known, truth, overwrite=overwrite))


info = typer.Typer(help="What there is: readers, metrics.", no_args_is_help=True)
app.add_typer(info, name="info")


@info.callback()
def about() -> None:
    """What there is: readers, metrics."""


@info.command()
def components(
    kind: Annotated[
        Literal["reader", "metric"], typer.Option("--type", "-t", help="Of which kind.", show_default=False)
    ],
    name: Annotated[
        str | None, typer.Option("--name", help="One of them, with all that it says.", show_default=False)
    ] = None,
) -> None:
    """List what is there, in one line each, or explain one of them."""
    found = _readers() if kind == "reader" else _metrics()
    if name is None:
        width = max(map(len, found))
        for known, doc in sorted(found.items()):
            typer.echo(f"{known:<{width}}  {doc.splitlines()[0]}")
    elif name in found:
        typer.echo(f"{name}: {found[name]}")
    else:
        raise ArgumentError(f"there is no {kind} {name!r}; there is {', '.join(sorted(found))}")


def _readers() -> dict[str, str]:
    from turnwise.readers.formats import FORMATS

    return {form.name: f"{form.about}\n\n{inspect.cleandoc(form.read.__doc__ or '')}" for form in FORMATS}


def _metrics() -> dict[str, str]:
    from turnwise.metrics import catalog

    return {about.name: inspect.cleandoc(about.doc) for about in catalog.everything()}


def _read(
    paths: list[Path], log_format: str | None, errors: str, fact: list[str] | None
) -> "tuple[pl.DataFrame, pl.DataFrame]":
    """Turns and problems, with a line on stderr that says how much was read."""
    from turnwise import schema
    from turnwise.readers.formats import read as read_logs

    facts: dict[str, Any] = _pairs(fact, "--fact", "target=gpt-4o")
    if errors == "collect":
        turns, problems = read_logs(paths, format=log_format, errors="collect", **facts)
        for file, reason in problems.select("file", "reason").head(5).rows():
            _say(f"left out: {file}: {reason}")
        if problems.height > 5:
            _say(f"left out: {problems.height - 5:,} more")
    else:
        turns = read_logs(paths, format=log_format, **facts)
        problems = schema.empty(schema.PROBLEMS)
    _say(
        f"read {turns['rollout_id'].n_unique():,} rollouts, {turns['turn'].count():,} turns, {problems.height:,} problems"
    )
    return turns, problems


def _measured(
    paths: list[Path],
    metric: list[str] | None,
    log_format: str | None,
    errors: str,
    fact: list[str] | None,
    keep: list[str] | None = None,
) -> "pl.DataFrame":
    from turnwise.metrics import catalog
    from turnwise.rollouts import measure as measured

    expressions = [catalog.expression(name) for name in metric or ()]
    turns, _ = _read(paths, log_format, errors, fact)
    return measured(turns, *expressions, keep=keep)


def _rollouts(
    paths: list[Path], metric: list[str] | None, log_format: str | None, errors: str, fact: list[str] | None
) -> "pl.DataFrame":
    """The table of rollouts that the path is, or what its logs measure."""
    from turnwise.readers.measured import read_rollouts

    if len(paths) == 1 and log_format is None and (table := read_rollouts(paths[0])) is not None:
        return table
    return _measured(paths, metric, log_format, errors, fact)


def _emit(frame: "pl.DataFrame", out: Path | None, format: str, *, overwrite: bool) -> None:  # noqa: A002
    if out is not None:
        from turnwise.writers import write

        typer.echo(write(frame, out, overwrite=overwrite))
    elif format == "table":
        from turnwise import tables

        typer.echo(tables.text(frame))
    elif format == "csv":
        from turnwise.writers import flat

        typer.echo(flat(frame).write_csv(), nl=False)
    else:
        typer.echo(frame.write_json() if format == "json" else frame.write_ndjson(), nl=format == "json")


def _cluster(names: list[str] | None) -> Any:
    if not names:
        return "auto"
    if len(names) == 1:
        return None if names[0] == "none" else names[0]
    return tuple(names)


def _pairs(words: list[str] | None, option: str, example: str) -> dict[str, str]:
    pairs = {}
    for word in words or ():
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise ArgumentError(f"{option} {word!r} is not of the form NAME=VALUE; write it as {option} {example}")
        pairs[name] = value
    return pairs


def _numbers(words: list[str] | None, option: str, example: str) -> dict[str, float]:
    pairs = _pairs(words, option, example)
    try:
        return {name: float(value) for name, value in pairs.items()}
    except ValueError as error:
        raise ArgumentError(f"{option}: {error}; write it as {option} {example}") from error


def _say(sentence: str) -> None:
    typer.echo(f"turnwise: {sentence}", err=True)


def run(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code: 0 done, 1 a gate failed or all came to errors, 2 bad usage or input."""
    try:
        code = app(args=arguments, standalone_mode=False, prog_name="turnwise")
    except typer.exceptions.TyperException as error:
        command = getattr(getattr(error, "ctx", None), "command_path", "turnwise")
        _say(f"{error.format_message().rstrip('.')}; see `{command} --help`")
        code = BAD_INPUT
    except (TurnwiseError, MemoryError) as error:
        _say(str(error) or "not enough memory for this; read fewer logs at once")
        code = BAD_INPUT
    except BrokenPipeError:  # the reader of a pipe, such as `head`, has seen enough
        sys.stderr.close()
        code = DONE
    except OSError as error:
        _say(f"{error.filename}: {error.strerror}; check the path and its permissions")
        code = BAD_INPUT
    except (KeyboardInterrupt, typer.Abort):
        _say("interrupted; nothing half-written is left behind")
        code = INTERRUPTED
    sys.exit(code)
