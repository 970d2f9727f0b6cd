"""Commands that turn one table into another. Verbs are imported inside, so that `--help` starts at once."""

from typing import Annotated, Any, Literal

import typer

from rollwise.cli.app import app
from rollwise.cli.inputs import LogInput, measured_logs, rollouts_of, runs_of
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
    Table,
    Values,
)
from rollwise.cli.tables import cluster_of, crossed_of, emit, ready
from rollwise.errors import ArgumentError, counted

UnjudgedOption = Annotated[
    Literal["bounds", "censor", "drop"],
    typer.Option(
        "--unjudged",
        help="Rollouts with unjudged turns and no success. bounds: the interval covers both outcomes; censor: it assumes that "
        "turns are unjudged at random; drop: leave them out.",
    ),
]


@app.command()
def measure(
    paths: Logs,
    metric: Metrics = None,
    keep: Annotated[
        list[str] | None, typer.Option("--keep", help="Extra column to carry along; repeat.", show_default=False)
    ] = None,
    engine: Annotated[
        Literal["polars", "ray"],
        typer.Option("--engine", help="Run in this process, or with Ray on files written by `rollwise convert`."),
    ] = "polars",
    address: Annotated[
        str | None,
        typer.Option(
            "--address", help="Ray cluster, as in HOST:6379; default: one is started here.", show_default=False
        ),
    ] = None,
    out: Out = None,
    format: Format = "table",  # noqa: A002  # the name of the option
    log_format: LogFormat = None,
    mapping: MappingFile = None,
    errors: Errors = "raise",
    fact: Facts = None,
    column: Columns = None,
    value: Values = None,
    of: Of = None,
    overwrite: Overwrite = False,
    spreadsheet: Spreadsheet = False,
) -> None:
    """Compute metrics: one row per rollout, one column per metric.

    Example: rollwise measure runs --metric attack_success --out rollouts.parquet
    """
    ready(out, overwrite=overwrite, spreadsheet=spreadsheet, format=format)
    log_input = LogInput(paths, log_format, errors, fact, column, value, of, mapping)
    if engine == "polars":
        frame = measured_logs(log_input, metric, keep)
    elif not log_input.options:
        from rollwise import distributed
        from rollwise.metrics import catalog

        frame = distributed.measure(paths, *map(catalog.expression, metric or ()), keep=keep, address=address)
    else:
        raise ArgumentError(
            "measure: --engine ray reads files that `rollwise convert` wrote; give it the options of the logs"
        )
    answer = f"Measured {counted(frame.height, 'rollout')}; `rollwise summarize` gives rates with intervals."
    emit(frame, out, format, overwrite=overwrite, spreadsheet=spreadsheet, answer=answer)


@app.command()
def summarize(
    paths: Table,
    metric: Metrics = None,
    by: By = None,
    across: Annotated[
        str | None,
        typer.Option(
            "--across",
            help="Group by this column too, and print a table with a column for each of its values and a row for each of --by.",
            show_default=False,
        ),
    ] = None,
    statistic: Annotated[
        list[str] | None,
        typer.Option(
            "--statistic",
            help="mean, median, min, max, std, restricted_mean, q05, q90, iqm, optimality_gap, goal_mean, goal_median; repeat.",
            show_default=False,
        ),
    ] = None,
    cluster: ClusterBy = None,
    weighting: Annotated[
        Literal["rollout", "goal", "turn"], typer.Option("--weighting", help="Unit of equal weight.")
    ] = "rollout",
    method: Annotated[
        Literal[
            "auto",
            "wilson",
            "exact",
            "jeffreys",
            "agresti-coull",
            "t",
            "normal",
            "bootstrap",
            "bca",
            "percentile",
            "basic",
            "studentized",
            "within-goals",
        ],
        typer.Option(
            "--method",
            metavar="<name>",
            help="Interval of a mean: auto, wilson, exact, jeffreys, agresti-coull, t, normal, bootstrap, bca, "
            "percentile, basic or studentized.",
        ),
    ] = "auto",
    unjudged: UnjudgedOption = "bounds",
    level: Level = 0.95,
    seed: Seed = 0,
    margins: Annotated[bool, typer.Option("--margins", help="Also pool over each grouping column.")] = False,
    out: Out = None,
    format: Format = "table",  # noqa: A002  # the name of the option
    log_format: LogFormat = None,
    mapping: MappingFile = None,
    errors: Errors = "raise",
    fact: Facts = None,
    column: Columns = None,
    value: Values = None,
    of: Of = None,
    overwrite: Overwrite = False,
    spreadsheet: Spreadsheet = False,
) -> None:
    """Estimate metrics for groups of rollouts, with intervals.

    Example: rollwise summarize runs --by target --by attack --metric attack_success
    """
    ready(out, overwrite=overwrite, spreadsheet=spreadsheet, format=format)
    crossed = crossed_of(by, across, out, format)
    groups = crossed or by or ()
    from rollwise.estimation.summary import summarize as summarized

    frame = summarized(
        rollouts_of(
            LogInput(paths, log_format, errors, fact, column, value, of, mapping), metric, [*groups, *(cluster or ())]
        ),
        by=groups,
        metrics=metric,
        statistics=statistic,
        cluster=cluster_of(cluster),
        weighting=weighting,
        method=method,
        unjudged=unjudged,
        level=level,
        seed=seed,
        margins=margins,
    )
    emit(frame, out, format, overwrite=overwrite, spreadsheet=spreadsheet, crossed=crossed)


@app.command()
def contrast(
    paths: Table,
    of: Annotated[
        str | None,
        typer.Option(
            "--of", help="Column whose values are compared; for two evaluations, the run.", show_default=False
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline", help="Value that all others are compared with; default: all pairs.", show_default=False
        ),
    ] = None,
    metric: Metrics = None,
    by: By = None,
    statistic: Annotated[
        list[str] | None,
        typer.Option(
            "--statistic", help="mean, median, q90, improvement, restricted_mean; repeat.", show_default=False
        ),
    ] = None,
    cluster: ClusterBy = None,
    paired: Annotated[
        Literal["auto", "yes", "no"], typer.Option("--paired", help="Pair by shared goals; auto: if there are any.")
    ] = "auto",
    method: Annotated[
        Literal[
            "auto",
            "newcombe",
            "bonett-price",
            "t",
            "bootstrap",
            "bca",
            "percentile",
            "basic",
            "studentized",
        ],
        typer.Option(
            "--method",
            metavar="<name>",
            help="Interval of a difference of means: auto, newcombe, bonett-price, t, bootstrap, bca, percentile, "
            "basic or studentized.",
        ),
    ] = "auto",
    adjust: Annotated[
        Literal["holm", "bh", "by", "max-t", "none"],
        typer.Option("--adjust", help="Correction of p-values for multiple comparisons."),
    ] = "holm",
    unjudged: UnjudgedOption = "bounds",
    force: Annotated[bool, typer.Option("--force", help="Allow comparing results of different judges.")] = False,
    level: Level = 0.95,
    seed: Seed = 0,
    out: Out = None,
    format: Format = "table",  # noqa: A002  # the name of the option
    log_format: LogFormat = None,
    mapping: MappingFile = None,
    errors: Errors = "raise",
    fact: Facts = None,
    column: Columns = None,
    value: Values = None,
    overwrite: Overwrite = False,
    spreadsheet: Spreadsheet = False,
) -> None:
    """Compare groups of rollouts, paired by goal, or two evaluations, paired by item.

    Example: rollwise contrast runs --of target --baseline base --metric attack_success
    """
    ready(out, overwrite=overwrite, spreadsheet=spreadsheet, format=format)
    from rollwise.estimation.contrast import contrast as contrasted

    pairing: dict[str, Any] = {"auto": "auto", "yes": True, "no": False}
    log_input = LogInput(paths, log_format, errors, fact, column, value, mapping=mapping)
    # Without a column to compare, the two paths are runs of `rollwise eval`.
    if of is None:
        rollouts, metric, of, first = runs_of(log_input, metric)
        baseline = baseline or first
    else:
        rollouts = rollouts_of(log_input, metric, [of, *(by or ()), *(cluster or ())])
    frame = contrasted(
        rollouts,
        of=of,
        baseline=baseline,
        by=by or (),
        metrics=metric,
        statistics=statistic,
        cluster=cluster_of(cluster),
        paired=pairing[paired],
        method=method,
        adjust=None if adjust == "none" else adjust,
        unjudged=unjudged,
        force=force,
        level=level,
        seed=seed,
    )
    emit(frame, out, format, overwrite=overwrite, spreadsheet=spreadsheet)


@app.command()
def curve(
    paths: Table,
    metric: Annotated[str, typer.Option("--metric", help="Time to an event.")] = "time_to_success",
    by: By = None,
    kind: Annotated[
        Literal["success", "survival", "hazard", "incidence"],
        typer.Option("--kind", metavar="<name>", help="Curve: success, survival, hazard or incidence."),
    ] = "success",
    axis: Annotated[
        Literal["turn", "target_call", "tokens", "cost_usd", "seconds"],
        typer.Option(
            "--axis",
            metavar="<name>",
            help="Unit of the horizontal axis: turn, target_call, tokens, cost_usd or seconds.",
        ),
    ] = "turn",
    band: Annotated[
        Literal["pointwise", "simultaneous"],
        typer.Option("--band", help="Interval at each position, or a band for the whole curve."),
    ] = "pointwise",
    cluster: ClusterBy = None,
    level: Level = 0.95,
    seed: Seed = 0,
    out: Out = None,
    format: Format = "table",  # noqa: A002  # the name of the option
    log_format: LogFormat = None,
    mapping: MappingFile = None,
    errors: Errors = "raise",
    fact: Facts = None,
    column: Columns = None,
    value: Values = None,
    of: Of = None,
    overwrite: Overwrite = False,
    spreadsheet: Spreadsheet = False,
) -> None:
    """Estimate success by turn (or tokens, cost, ...), with intervals and numbers at risk.

    Example: rollwise curve runs --by target
    """
    ready(out, overwrite=overwrite, spreadsheet=spreadsheet, format=format)
    from rollwise.estimation.curve import curve as curved

    needed = [metric] if axis == "turn" else [metric, f"spent_to_success_{axis}"]
    frame = curved(
        rollouts_of(
            LogInput(paths, log_format, errors, fact, column, value, of, mapping),
            needed,
            [*(by or ()), *(cluster or ())],
        ),
        metric=metric,
        by=by or (),
        kind=kind,
        axis=axis,
        cluster=cluster_of(cluster),
        band=band,
        level=level,
        seed=seed,
    )
    emit(frame, out, format, overwrite=overwrite, spreadsheet=spreadsheet)


@app.command()
def attempts(
    paths: Table,
    metric: Annotated[
        str, typer.Option("--metric", help="Success metric of an attempt: Boolean or numeric.")
    ] = "attack_success",
    by: By = None,
    k: Annotated[
        list[int] | None, typer.Option("--k", "-k", help="Number of attempts; repeat for several.", show_default=False)
    ] = None,
    stopped: Annotated[
        Literal["detect", "yes", "no"],
        typer.Option("--stopped", help="Whether attempts at a goal stopped at the first success."),
    ] = "detect",
    unjudged: UnjudgedOption = "bounds",
    cluster: ClusterBy = None,
    level: Level = 0.95,
    seed: Seed = 0,
    out: Out = None,
    format: Format = "table",  # noqa: A002  # the name of the option
    log_format: LogFormat = None,
    mapping: MappingFile = None,
    errors: Errors = "raise",
    fact: Facts = None,
    column: Columns = None,
    value: Values = None,
    of: Of = None,
    overwrite: Overwrite = False,
    spreadsheet: Spreadsheet = False,
) -> None:
    """Estimate ASR@k and pass^k: goals that succeed at least once, or every time, in k attempts.

    Example: rollwise attempts runs --by target -k 1 -k 3
    """
    ready(out, overwrite=overwrite, spreadsheet=spreadsheet, format=format)
    from rollwise.estimation.attempts import attempts as repeated

    frame = repeated(
        rollouts_of(
            LogInput(paths, log_format, errors, fact, column, value, of, mapping),
            [metric],
            [*(by or ()), *(cluster or ())],
        ),
        metric=metric,
        by=by or (),
        k=k,
        cluster=cluster_of(cluster),
        stopped="detect" if stopped == "detect" else stopped == "yes",
        level=level,
        unjudged=unjudged,
        seed=seed,
    )
    emit(frame, out, format, overwrite=overwrite, spreadsheet=spreadsheet)
