"""The command that audits a stated figure: what the log says, and the ways of counting between the two."""

from dataclasses import dataclass
from typing import Annotated

import typer

from rollwise.cli.app import ESTIMATE, FAILED, UNDECIDED, app
from rollwise.cli.inputs import TableInput, rollouts_of, stated_figures
from rollwise.cli.options import By, ClusterBy, ErrorsOption, Level, Seed, optional
from rollwise.cli.tables import Output, cluster_of, say
from rollwise.errors import ArgumentError


@dataclass(frozen=True)
class AuditedInput(TableInput):
    """Paths of logs, whose unreadable records are left out and listed, if nothing else is said."""

    errors: ErrorsOption = "collect"


@app.command(rich_help_panel=ESTIMATE)
def audit(
    output: Output,
    logs: AuditedInput,
    claim: Annotated[
        list[str] | None,
        optional(
            "Claim, such as 'attack success < 2%', 'attack success = 34% of 100' or 'task success = 17/50'; repeat.",
            "--claim",
        ),
    ] = None,
    by: By = None,
    cluster: ClusterBy = None,
    level: Level = 0.95,
    seed: Seed = 0,
) -> None:
    """Put the figures that logs state, or that are claimed, beside what the logs say, with the ways of counting between them.

    With a claim, exit 0 if it holds, 1 if it does not, 3 if the data cannot tell.

    Example: rollwise audit runs --claim 'attack success < 2%'
    """
    output.check()
    from rollwise.audits.audit import audit as audited
    from rollwise.audits.stated import claimed
    from rollwise.audits.words import in_one_sentence
    from rollwise.cli.gate import unread_rollouts
    from rollwise.readers.problems import Problems

    claims = claim or []
    parsed = [claimed(text) for text in claims]
    # The logs' own figures are of all of their rollouts.
    figures = None if logs.where else stated_figures(logs)
    if not claims and logs.where:
        raise ArgumentError("audit: the figures of logs are of all of their rollouts; with --where, give a --claim")
    if not claims and figures is None:
        rollouts_of(logs, None)  # where there is no log to read, that is what is wrong
        raise ArgumentError("audit: the logs state no figure of their own; give one with --claim 'attack success < 2%'")
    metrics = [metric for metric, _ in parsed]
    metrics += [] if figures is None else figures["ours"].drop_nulls().unique(maintain_order=True).to_list()
    problems = Problems(collect=logs.errors == "collect")
    groups = [*(by or ()), *(cluster or ()), *(name for _, stated in parsed for name, _ in stated.group)]
    frame = audited(
        rollouts_of(logs, list(dict.fromkeys(metrics)) or None, groups, problems),
        claims,
        figures=figures,
        problems=problems.frame(),
        unread=unread_rollouts(problems),
        by=by or (),
        cluster=cluster_of(cluster),
        level=level,
        seed=seed,
    )
    answer = in_one_sentence(frame)
    output.emit(frame, answer=answer)
    say(answer)
    answers = frame.filter(frame["figure"].is_in(claims))["answer"].to_list()
    if {"does not hold", "explained", "ambiguous", "not explained"} & set(answers):
        raise typer.Exit(FAILED)
    if {"undecided", "incomplete", "no counterpart"} & set(answers):
        raise typer.Exit(UNDECIDED)
