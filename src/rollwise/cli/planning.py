"""The command that plans an evaluation. The verb is imported inside, so that `--help` starts at once."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rollwise.cli.app import ESTIMATE, METHOD, app
from rollwise.cli.inputs import MeasuredInput, rollouts_of
from rollwise.cli.options import ClusterBy, Level, optional
from rollwise.cli.tables import Output, cluster_of
from rollwise.errors import ArgumentError, counted, listing

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class PilotInput(MeasuredInput):
    """Paths of a pilot, if there is one: rollout tables, or logs to read and measure first."""

    paths: Annotated[
        list[Path],
        typer.Argument(
            help="Pilot with one target and attack, to estimate --rate and --icc: rollout tables, or logs. Default: none.",
            show_default=False,
            default_factory=list,
        ),
    ]


@app.command(rich_help_panel=ESTIMATE)
def plan(
    output: Output,
    logs: PilotInput,
    rate: Annotated[float | None, optional("Expected share of successes, such as 0.1.", "--rate")] = None,
    icc: Annotated[
        float | None, optional("Correlation of attempts at one goal: 0 independent, 1 copies.", "--icc")
    ] = None,
    goals: Annotated[
        list[int] | None, optional("Number of goals: which difference does it detect? Repeat for several.", "--goals")
    ] = None,
    difference: Annotated[
        float | None, optional("Difference of two rates, such as 0.05: how many goals does it need?", "--difference")
    ] = None,
    below: Annotated[
        float | None, optional("Rate to show without any success, such as 0.01: how many goals?", "--below")
    ] = None,
    attempts: Annotated[
        list[int] | None, optional("Attempts at each goal; repeat for several. Default: 1.", "--attempts")
    ] = None,
    metric: Annotated[str, typer.Option("--metric", help="Metric of the pilot.")] = "attack_success",
    correlation: Annotated[
        float,
        typer.Option(
            "--correlation",
            help="Of the goals' chances between two arms; 0 if the arms have different goals.",
            rich_help_panel=METHOD,
        ),
    ] = 0.5,
    power: Annotated[
        float, typer.Option("--power", help="Chance to find the difference.", rich_help_panel=METHOD)
    ] = 0.8,
    cluster: ClusterBy = None,
    level: Level = 0.95,
) -> None:
    """Say how many goals and attempts a question needs, before an evaluation.

    Example: rollwise plan --rate 0.1 --icc 0.3 --difference 0.05 --attempts 1 --attempts 5
    """
    output.check()
    from rollwise.estimation.plan import plan as planned

    if logs.options and not logs.paths:
        raise ArgumentError(f"plan: {listing(logs.options)} is for a pilot; name its logs, or leave it out")
    frame = planned(
        rollouts_of(logs, [metric], cluster or ()) if logs.paths else None,
        rate=rate,
        icc=icc,
        goals=goals or None,
        attempts=attempts or 1,
        difference=difference,
        below=below,
        correlation=correlation,
        metric=metric,
        cluster=cluster_of(cluster),
        power=power,
        level=level,
    )
    output.emit(frame, answer=_answer(frame))


def _answer(frame: "pl.DataFrame") -> str:
    """Return the answer to each question, and what it assumes."""
    from rollwise.schema import labels

    first = frame.row(0, named=True)
    parts = []
    for row in frame.iter_rows(named=True):
        size = "no number of goals"
        if row["goals"] is not None:
            size = f"{counted(row['goals'], 'goal')} with {counted(row['attempts'], 'attempt')} each"
        effect = "" if row["question"] != "detectable difference" else f" find {_points(row['difference'])}"
        parts.append(f"{row['question']}: {size}{effect}")
    rate = "" if first["rate"] is None else f"rate {100 * first['rate']:.3g} %, "
    icc = "" if first["icc"] is None else f"icc {first['icc']:.2g}, "
    odds = f"{rate}{icc}power {100 * first['power']:.3g} %, level {100 * first['level']:.3g} %"
    return labels.sentence(f"{'; '.join(parts)} ({odds})")


def _points(difference: float | None) -> str:
    return "no difference" if difference is None else f"a difference of {100 * difference:.2g} points"
