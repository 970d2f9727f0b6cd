"""The command that gates a release: requirements from options or a file, and an exit code for each answer."""

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rollwise.choices import Family, Goals, Looks, Undecided
from rollwise.cli.app import ESTIMATE, FAILED, METHOD, OUTPUT, UNDECIDED, app
from rollwise.cli.inputs import TableInput, rollouts_of
from rollwise.cli.options import By, ClusterBy, Level, Out, Overwrite, Seed, Spreadsheet, optional
from rollwise.cli.tables import Output, cluster_of, ready, say, tell
from rollwise.errors import ArgumentError
from rollwise.files.atomic import check_file, whole

if TYPE_CHECKING:
    import polars as pl

    from rollwise.readers.problems import Problems

GateFormat = Literal["table", "csv", "json", "jsonl", "junit", "markdown", "github"]


@app.command(rich_help_panel=ESTIMATE)
def gate(
    ctx: typer.Context,
    logs: TableInput,
    require: Annotated[
        list[str] | None,
        optional(
            (
                "Requirement, such as 'attack_success < 1%', 'attack_success <= baseline + 2%' or "
                "'ever_refused < 5% for attack=none'; repeat for several."
            ),
            "--require",
        ),
    ] = None,
    file: Annotated[
        Path | None,
        optional(
            "Requirements and options from a YAML, JSON or TOML file; options given here replace its entries.", "--file"
        ),
    ] = None,
    by: By = None,
    expect: Annotated[
        list[str] | None,
        optional("Group that must be there, such as target=base: without rollouts it fails; repeat.", "--expect"),
    ] = None,
    baseline: Annotated[
        list[Path] | None,
        optional(
            "Earlier run that requirements compare with: a rollout table, or logs; nothing in it may be unreadable.",
            "--baseline",
        ),
    ] = None,
    goals: Annotated[
        Goals,
        typer.Option(
            "--goals",
            help="Runs that met other goals: same = undecided, common = compare the goals of both, all = compare all.",
            rich_help_panel=METHOD,
        ),
    ] = "same",
    cluster: ClusterBy = None,
    level: Level = 0.95,
    unjudged: Annotated[
        Undecided,
        typer.Option(
            "--unjudged",
            help="Rollouts without a verdict: bounds = the answer must hold for any verdict, drop = leave them out, "
            "sample = as bounds, but those without any verdict were not drawn for judging.",
            rich_help_panel=METHOD,
        ),
    ] = "bounds",
    undecided: Annotated[
        Literal["stop", "warn"],
        typer.Option("--undecided", help="An undecided requirement: stop = exit 3, warn = exit 0 with a warning."),
    ] = "stop",
    against_self: Annotated[
        int,
        typer.Option(
            "--against-self",
            metavar="<splits>",
            help="Also say in how many of so many random splits the halves of the attempts get different answers.",
            rich_help_panel=METHOD,
        ),
    ] = 0,
    looks: Annotated[
        Looks,
        typer.Option(
            "--looks",
            help="one = the number of goals was fixed before; many = ask again whenever goals were added (shares only).",
            rich_help_panel=METHOD,
        ),
    ] = "one",
    family: Annotated[
        Family,
        typer.Option(
            "--family",
            help="each = every answer may fail by chance in 2.5 % of runs; all = all of them together.",
            rich_help_panel=METHOD,
        ),
    ] = "each",
    seed: Seed = 0,
    out: Out = None,
    format: Annotated[  # noqa: A002  # the name of the option
        GateFormat,
        typer.Option(
            "--format",
            metavar="<name>",
            help="Printed output: table, csv, json, jsonl, junit, markdown or github (annotations). With --out, the last "
            "three are printed as well; an --out of .xml is JUnit, of .md Markdown.",
            rich_help_panel=OUTPUT,
        ),
    ] = "table",
    overwrite: Overwrite = False,
    spreadsheet: Spreadsheet = False,
) -> None:
    """Check requirements on intervals: exit 0 if all are met, 1 if one is not, 3 if the data cannot tell.

    Example: rollwise gate runs --by target --require 'attack_success < 1%'
    """
    options = {
        "require": require,
        "by": by,
        "expect": expect,
        "baseline": baseline,
        "goals": goals,
        "cluster": cluster,
        "level": level,
        "unjudged": unjudged,
        "undecided": undecided,
        "against_self": against_self,
        "looks": looks,
        "family": family,
        "seed": seed,
    }
    _check_output(out, format, overwrite=overwrite, spreadsheet=spreadsheet)
    if file is not None:
        from rollwise.estimation.gate_file import read_gate_file

        # Options that were typed win over the file.
        options |= {name: value for name, value in read_gate_file(file).items() if not _was_typed(ctx, name)}
    if not options["require"]:
        raise ArgumentError("gate: no requirement is given; write --require 'attack_success < 1%', or --file gate.yml")
    gates = _gates(logs, options)
    warn = options["undecided"] == "warn"
    _emit(gates, out, format, warn=warn, overwrite=overwrite, spreadsheet=spreadsheet)
    _leave(gates, warn=warn)


def _was_typed(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def _gates(log_input: TableInput, options: dict[str, Any]) -> "pl.DataFrame":
    """Read the rollouts, and the baseline if there is one, and check the requirements."""
    from rollwise.estimation import gate as gating
    from rollwise.estimation import requirements
    from rollwise.readers.problems import Problems
    from rollwise.readers.results.measured import read_finished

    required = [requirements.parsed(words) for words in options["require"]]
    table = None
    if len(log_input.paths) == 1 and log_input.log_format is None and log_input.mapping is None:
        table = read_finished(log_input.paths[0])
    problems = Problems(collect=log_input.errors == "collect")
    metrics = requirements.metrics(options["require"])
    names = [name for requirement in required for name, _ in requirement.group]
    groups = [*(options["by"] or ()), *(options["cluster"] or ()), *names]
    if table is not None and log_input.where:
        raise ArgumentError(
            f"--where keeps some of the rollouts, and {log_input.paths[0]} is a finished SUMMARY; gate the rollouts or the logs"
        )
    if table is None:
        table = rollouts_of(log_input, metrics, groups, problems)
    earlier = None
    if options["baseline"]:
        # A baseline is read without leaving anything out: nothing would count what it lacks.
        paths = [Path(path) for path in options["baseline"]]
        earlier = rollouts_of(
            replace(log_input, paths=paths, errors="raise"),
            metrics,
            groups,
        )
    return gating.gate(
        table,
        options["require"],
        by=options["by"] or (),
        cluster=cluster_of(options["cluster"]),
        level=options["level"],
        seed=options["seed"],
        unjudged=options["unjudged"],
        unread=unread_rollouts(problems),
        expect=options["expect"] or (),
        baseline=earlier,
        goals=options["goals"],
        against_self=options["against_self"],
        looks=options["looks"],
        family=options["family"],
    )


def unread_rollouts(problems: "Problems") -> float:
    """Count the rollouts that could not be read: one for each broken record, and infinitely many for a broken file.

    Files of no known format, records that are not rollouts, and numbers that became null do not count.
    """
    from rollwise.readers.problems import NULLED, WITHOUT_NAME

    memory = problems.memory()
    not_rollouts: int = sum(count for _, count in memory["dropped_records"])
    reported = problems.files_beside.told
    rows = [row[:2] for row in problems.rows if row not in reported and not row[3].endswith((WITHOUT_NAME, NULLED))]
    whole_files = Counter(file for file, record in rows if record is None)
    whole_files.subtract(memory["dropped_files"])
    if any(number > 0 for number in whole_files.values()):
        return math.inf
    # Records that are intact but no rollouts are rows as well.
    return sum(record is not None for _, record in rows) - not_rollouts


def _check_output(out: Path | None, format: str, *, overwrite: bool, spreadsheet: bool) -> None:  # noqa: A002
    """Check that the output can be written, before the work starts."""
    from rollwise.cli.gate_formats import SUFFIXES

    if out is not None and out.suffix in SUFFIXES:
        if spreadsheet:
            raise ArgumentError("--spreadsheet is for CSV: add --format csv, or --out FILE.csv")
        check_file(out, overwrite=overwrite)
    else:
        ready(out, overwrite=overwrite, spreadsheet=spreadsheet, format=format)


def _emit(
    gates: "pl.DataFrame",
    out: Path | None,
    format: str,  # noqa: A002
    *,
    warn: bool,
    overwrite: bool,
    spreadsheet: bool,
) -> None:
    """Write the file that was named, and print what was asked for."""
    from rollwise.cli.gate_formats import FORMATS, SUFFIXES

    if out is not None and out.suffix in SUFFIXES:
        with whole(out, overwrite=overwrite) as draft:
            draft.write_text(f"{FORMATS[SUFFIXES[out.suffix]](gates, warn=warn)}\n", encoding="utf-8")
        (say if format in FORMATS else tell)(f"{out}")
    elif out is not None and format in FORMATS:
        from rollwise.files.writers import write

        say(f"{write(gates, out, overwrite=overwrite, spreadsheet=spreadsheet)}")
    elif format not in FORMATS:
        Output(out, format, overwrite, spreadsheet).emit(gates)  # type: ignore[arg-type]  # the formats that are not of gates alone
    if format in FORMATS:
        tell(FORMATS[format](gates, warn=warn), data=True)


def _leave(gates: "pl.DataFrame", *, warn: bool) -> None:
    """Say the verdict on stderr, and leave with the exit code of the answers."""
    from rollwise.cli.gate_formats import overall
    from rollwise.estimation.gate_words import against_itself, verdict

    if gates["n_splits"][0] is not None:
        say(against_itself(gates))
    answer = overall(gates)
    prefix = "warning: " if warn and answer == "undecided" else ""
    say(f"{prefix}{verdict(gates)}", answer)
    if answer == "failed":
        raise typer.Exit(FAILED)
    if answer == "undecided" and not warn:
        raise typer.Exit(UNDECIDED)
