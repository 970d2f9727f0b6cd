"""Commands that turn one table into another. Verbs are imported inside, so that `--help` starts at once."""

from typing import Annotated, Any, Literal

import typer

from rollwise.choices import Axis, Band, CurveKind, DifferenceMethod, Method, Weighting
from rollwise.cli.app import ESTIMATE, METHOD, app
from rollwise.cli.inputs import MeasuredInput, TableInput, measured_logs, rollouts_of, runs_of
from rollwise.cli.options import By, ClusterBy, Level, Metrics, Seed, UnjudgedOption, choice, optional
from rollwise.cli.tables import Document, Output, SummaryDocument, cluster_of, crossed_of
from rollwise.cli.varying import telling
from rollwise.cli.where import conditions_of, selected
from rollwise.errors import ArgumentError, counted, either
from rollwise.stats.statistics import A_QUANTILE, COMPARED, SUMMARIZED


@app.command(rich_help_panel=ESTIMATE)
def measure(
    output: Output,
    logs: MeasuredInput,
    metric: Metrics = None,
    keep: Annotated[list[str] | None, optional("Extra column to carry along; repeat.", "--keep")] = None,
    engine: Annotated[
        Literal["polars", "ray"],
        typer.Option(
            "--engine",
            help="Run in this process, or with Ray on files written by `rollwise convert`.",
            rich_help_panel=METHOD,
        ),
    ] = "polars",
    address: Annotated[
        str | None, optional("Ray cluster, as in HOST:6379; default: one is started here.", "--address", panel=METHOD)
    ] = None,
) -> None:
    """Compute metrics: one row per rollout, one column per metric.

    Example: rollwise measure runs --metric attack_success --out rollouts.parquet
    """
    output.check()
    if engine == "polars":
        conditions = conditions_of(logs.where)
        frame = selected(measured_logs(logs, metric, keep, [condition.column for condition in conditions]), conditions)
    elif not logs.options:
        from rollwise import distributed
        from rollwise.metrics import catalog

        frame = distributed.measure(logs.paths, *map(catalog.expression, metric or ()), keep=keep, address=address)
    else:
        raise ArgumentError(
            "measure: --engine ray reads files that `rollwise convert` wrote; give it the options of the logs"
        )
    answer = f"Measured {counted(frame.height, 'rollout')}; `rollwise summarize` gives rates with intervals."
    output.emit(frame, answer=answer)


@app.command(rich_help_panel=ESTIMATE)
def summarize(
    output: SummaryDocument,
    logs: TableInput,
    metric: Metrics = None,
    by: By = None,
    across: Annotated[
        str | None,
        optional(
            "Group by this column too, and print a table with a column for each of its values and a row for each of --by.",
            "--across",
        ),
    ] = None,
    statistic: Annotated[
        list[str] | None, optional(f"{either((*SUMMARIZED, A_QUANTILE))}; repeat.", "--statistic")
    ] = None,
    cluster: ClusterBy = None,
    weighting: Annotated[
        Weighting, typer.Option("--weighting", help="Unit of equal weight.", rich_help_panel=METHOD)
    ] = "rollout",
    method: Annotated[Method, choice("method", "Interval of a mean", Method)] = "auto",
    unjudged: UnjudgedOption = "bounds",
    level: Level = 0.95,
    seed: Seed = 0,
    margins: Annotated[bool, typer.Option("--margins", help="Also pool over each grouping column.")] = False,
) -> None:
    """Estimate metrics for groups of rollouts, with intervals.

    Example: rollwise summarize runs --by target --by attack --metric attack_success
    """
    output.check()
    crossed = crossed_of(by, across, output)
    groups = crossed or by or ()
    from rollwise.estimation.summary import summarize as summarized

    rollouts = rollouts_of(logs, metric, [*groups, *(cluster or ())])
    frame = summarized(
        rollouts,
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
    output.emit(telling(frame, rollouts, metric, output), crossed=crossed)


@app.command(rich_help_panel=ESTIMATE)
def contrast(
    output: Document,
    logs: TableInput,
    of: Annotated[
        str | None, optional("Column whose values are compared; for two evaluations, the run.", "--of")
    ] = None,
    baseline: Annotated[
        str | None, optional("Value that all others are compared with; default: all pairs.", "--baseline")
    ] = None,
    metric: Metrics = None,
    by: By = None,
    statistic: Annotated[
        list[str] | None, optional(f"{either((*COMPARED, A_QUANTILE))}; repeat.", "--statistic")
    ] = None,
    cluster: ClusterBy = None,
    paired: Annotated[
        Literal["auto", "yes", "no"],
        typer.Option("--paired", help="Pair by shared goals; auto: if there are any.", rich_help_panel=METHOD),
    ] = "auto",
    method: Annotated[
        DifferenceMethod, choice("method", "Interval of a difference of means", DifferenceMethod)
    ] = "auto",
    adjust: Annotated[
        Literal["holm", "bh", "by", "max-t", "none"],
        typer.Option("--adjust", help="Correction of p-values for multiple comparisons.", rich_help_panel=METHOD),
    ] = "holm",
    unjudged: UnjudgedOption = "bounds",
    force: Annotated[
        bool, typer.Option("--force", help="Allow comparing results of different judges.", rich_help_panel=METHOD)
    ] = False,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Compare groups of rollouts, paired by goal, or two evaluations, paired by item.

    Example: rollwise contrast runs --of target --baseline base --metric attack_success
    """
    output.check()
    from rollwise.estimation.contrast import contrast as contrasted

    pairing: dict[str, Any] = {"auto": "auto", "yes": True, "no": False}
    # Without a column to compare, the two paths are runs of `rollwise eval`.
    if of is None:
        rollouts, metric, of, first = runs_of(logs, metric)
        baseline = baseline or first
    else:
        rollouts = rollouts_of(logs, metric, [of, *(by or ()), *(cluster or ())])
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
    output.emit(telling(frame, rollouts, metric, output))


@app.command(rich_help_panel=ESTIMATE)
def rank(
    output: Document,
    logs: TableInput,
    of: Annotated[str, typer.Option("--of", help="Column whose values are ranked.")] = "target",
    metric: Annotated[str, typer.Option("--metric", help="Metric whose means are ranked.")] = "attack_success",
    by: By = None,
    better: Annotated[
        Literal["auto", "higher", "lower"],
        typer.Option(
            "--better", help="Which way is better; auto: as the catalog of metrics says.", rich_help_panel=METHOD
        ),
    ] = "auto",
    cluster: ClusterBy = None,
    unjudged: UnjudgedOption = "bounds",
    force: Annotated[
        bool, typer.Option("--force", help="Allow comparing results of different judges.", rich_help_panel=METHOD)
    ] = False,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Rank groups with an interval for each rank, and say which cannot be told apart.

    Example: rollwise rank runs --of target --metric attack_success
    """
    output.check()
    from rollwise.comparisons.ranking import rank as ranked

    frame = ranked(
        rollouts_of(logs, [metric], [of, *(by or ()), *(cluster or ())]),
        of=of,
        metric=metric,
        by=by or (),
        better=None if better == "auto" else better,
        cluster=cluster_of(cluster),
        unjudged=unjudged,
        force=force,
        level=level,
        seed=seed,
    )
    output.emit(frame)


@app.command(rich_help_panel=ESTIMATE)
def curve(
    output: Document,
    logs: TableInput,
    metric: Annotated[str, typer.Option("--metric", help="Time to an event.")] = "time_to_success",
    by: By = None,
    kind: Annotated[CurveKind, choice("kind", "Curve", CurveKind)] = "success",
    axis: Annotated[Axis, choice("axis", "Unit of the horizontal axis", Axis)] = "turn",
    band: Annotated[
        Band,
        typer.Option(
            "--band", help="Interval at each position, or a band for the whole curve.", rich_help_panel=METHOD
        ),
    ] = "pointwise",
    cluster: ClusterBy = None,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Estimate success by turn (or tokens, cost, ...), with intervals and numbers at risk.

    Example: rollwise curve runs --by target
    """
    output.check()
    from rollwise.estimation.curve import curve as curved

    needed = [metric] if axis == "turn" else [metric, f"spent_to_success_{axis}"]
    frame = curved(
        rollouts_of(
            logs,
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
    output.emit(frame)


@app.command(rich_help_panel=ESTIMATE)
def attempts(
    output: Document,
    logs: TableInput,
    metric: Annotated[
        str, typer.Option("--metric", help="Success metric of an attempt: Boolean or numeric.")
    ] = "attack_success",
    by: By = None,
    k: Annotated[list[int] | None, optional("Number of attempts; repeat for several.", "--k", "-k")] = None,
    stopped: Annotated[
        Literal["detect", "yes", "no"],
        typer.Option(
            "--stopped", help="Whether attempts at a goal stopped at the first success.", rich_help_panel=METHOD
        ),
    ] = "detect",
    unjudged: UnjudgedOption = "bounds",
    cluster: ClusterBy = None,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Estimate ASR@k and pass^k: goals that succeed at least once, or every time, in k attempts.

    Example: rollwise attempts runs --by target -k 1 -k 3
    """
    output.check()
    from rollwise.estimation.attempts import attempts as repeated

    frame = repeated(
        rollouts_of(
            logs,
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
    output.emit(frame)
