"""Commands that create rollouts or evaluations. Functions are imported inside: `--help` starts at once."""

from pathlib import Path
from typing import Annotated, Any

import typer

from rollwise.cli.answers import FileFormat, answer_of, document, tell_files
from rollwise.cli.app import FAILED, RUN, Command, app
from rollwise.cli.options import Overwrite, Seed, optional
from rollwise.cli.tables import numbers_of, pairs_of, ready, say, tell
from rollwise.errors import ArgumentError
from rollwise.files.object_stores import path_of
from rollwise.files.references import looking_in


@app.command(rich_help_panel=RUN)
def rollout(
    config_file: Annotated[Path, optional("YAML: sampler, seeds, metrics, store.", "--config_file")],
    out: Annotated[Path | None, optional("Output folder; overrides the file.", "--out", "-o")] = None,
    format: FileFormat = "text",  # noqa: A002  # the name of the option
    overwrite: Overwrite = False,
) -> None:
    """Roll out from a file: resumes where it was killed, stops when enough is known.

    Example: rollwise rollout --config_file rollout.yml

    A file to begin with; a sampler with `use: chat` asks models:

    \b
    sampler: {use: simulated, options: {hazard: 0.1, turns: 8}}
    seeds: 100
    metrics:
      - attack_success
      - time_to_success
    store: store
    out: results
    """  # noqa: D301  # a backspace keeps the lines
    from rollwise.rollout.config import evaluator_of, load, rule_of
    from rollwise.schema.labels import counted

    config = load(config_file)
    folder = (config.out if out is None else path_of(out)).absolute()  # a sampler may go elsewhere
    # Modules beside the file can be imported, wherever the command is run.
    with looking_in(config_file.absolute().parent):
        evaluator = evaluator_of(config)
        if folder.exists() and any(folder.iterdir()) and not overwrite:
            raise ArgumentError(
                f"{folder} exists and is not empty; choose another folder with --out, or allow it with --overwrite"
            )
        evaluator.evaluate(**config.run.model_dump(), store=config.store, until=rule_of(config.until))
    errors = evaluator.rollouts["error"].drop_nulls()
    counts = f"{counted(evaluator.rollouts.height, 'rollout')}, {counted(len(errors), 'error')}"
    say(counts)
    if evaluator.decision is not None:
        say(str(evaluator.decision))
    decision = "" if evaluator.decision is None else f" Decision: {evaluator.decision}."
    tell_files(f"Rolled out {counts}.{decision}", [evaluator.write(folder, overwrite=overwrite)], format)
    if len(errors):
        again = config.store is not None and config.run.on_error == "record"
        say(
            f"the first error: {errors[0]}; all are in {folder / 'rollouts.parquet'}, column `error`"
            f"{'; the same command tries them again (with on_error: keep it does not)' if again else ''}"
        )
    # All rollouts failed: an exit code that a script notices.
    if len(errors) == evaluator.rollouts.height:
        raise typer.Exit(1)


class _WithOverrides(Command):
    """Command with a repeatable two-word option --override, which typer does not support."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Join the two words into one argument."""
        words, joined = list(args), []
        while words:
            joined.append(words.pop(0))
            if joined[-1] == "--override" and len(words) > 1 and "=" not in words[0]:
                joined.append(f"{words.pop(0)}={words.pop(0)}")
        return super().parse_args(ctx, joined)


@app.command("eval", cls=_WithOverrides, rich_help_panel=RUN)
def evaluate(
    config_file: Annotated[Path, optional("YAML: data set, workflow, evaluators.", "--config_file")],
    dataset: Annotated[Path | None, optional("Data set; overrides the file.", "--dataset")] = None,
    override: Annotated[
        list[str] | None,
        optional(
            "Entry of the file to override, such as eval.general.output_dir ./again; repeat.",
            "--override",
            metavar="KEY VALUE",
        ),
    ] = None,
    reps: Annotated[
        int,
        typer.Option(
            "--reps", min=1, metavar="<number>", help="Number of answers per item.", rich_help_panel="Answers"
        ),
    ] = 1,
    skip_workflow: Annotated[
        bool,
        typer.Option("--skip_workflow", help="Score the answers already in the data set.", rich_help_panel="Answers"),
    ] = False,
    skip_completed_entries: Annotated[
        bool,
        typer.Option(
            "--skip_completed_entries",
            help="Answer only items without an answer in the data set.",
            rich_help_panel="Answers",
        ),
    ] = False,
    endpoint: Annotated[str | None, optional("HTTP endpoint of the workflow.", "--endpoint", panel="Answers")] = None,
    endpoint_timeout: Annotated[
        float | None, optional("Endpoint timeout in seconds; default 300.", "--endpoint_timeout", panel="Answers")
    ] = None,
    result_json_path: Annotated[
        str,
        typer.Option(
            "--result_json_path", help="JSON path of the answer in the workflow's output.", rich_help_panel="Answers"
        ),
    ] = "$",
    format: FileFormat = "text",  # noqa: A002  # the name of the option
    overwrite: Overwrite = False,
) -> None:
    """Answer, score and write what a configuration file describes; continues where it was killed.

    Example: rollwise eval --config_file eval.yml

    A file to begin with; --skip_workflow reads `generated_answer` as well:

    \b
    workflow: my_package.answer:respond
    eval:
      general:
        output_dir: ./results
        dataset: {_type: json, file_path: questions.json}  # id, question, answer
      evaluators:
        close: {_type: similarity, similarity_type: cosine}
    """  # noqa: D301  # a backspace keeps the lines
    from rollwise.evaluation import evaluate as evaluated
    from rollwise.evaluation.outputs import account

    result = evaluated(
        config_file,
        dataset=dataset,
        override=list(pairs_of(override, "--override", "eval.general.max_concurrency 4").items()),
        reps=reps,
        skip_workflow=skip_workflow,
        skip_completed_entries=skip_completed_entries,
        endpoint=endpoint,
        endpoint_timeout=endpoint_timeout,
        result_json_path=result_json_path,
        overwrite=overwrite,
    )
    if format == "json":
        tell(document(answer_of(result.summary.filter(statistic="mean")), account(result)), data=True)
    else:
        from rollwise import tables  # after the run, which so begins at once

        tell(tables.text(account(result)))
    if result.failed or result.items["error"].null_count() == 0:  # an evaluator has no score, or no item an answer
        raise typer.Exit(FAILED)


@app.command(rich_help_panel=RUN)
def simulate(
    out: Annotated[Path, optional("File of turns to write.", "--out", "-o")],
    truth: Annotated[Path | None, optional("File of true values to write.", "--truth")] = None,
    goals: Annotated[int, typer.Option("--goals", help="Goals of each attack.")] = 40,
    attempts: Annotated[int, typer.Option("--attempts", help="Rollouts of each goal.")] = 5,
    turns: Annotated[int, typer.Option("--turns", help="Maximum number of turns.")] = 10,
    icc: Annotated[float, typer.Option("--icc", help="Correlation within a goal.")] = 0.3,
    target: Annotated[
        list[str] | None, optional("Target and its hazard per turn, such as base=0.1; repeat.", "--target")
    ] = None,
    attack: Annotated[
        list[str] | None, optional("Attack and its effect on the log-odds, such as plead=0.5; repeat.", "--attack")
    ] = None,
    seed: Seed = 0,
    format: FileFormat = "text",  # noqa: A002  # the name of the option
    overwrite: Overwrite = False,
) -> None:
    """Simulate rollouts with known true values.

    Example: rollwise simulate --target base=0.1 --target guarded=0.03 --out turns.parquet
    """
    from rollwise.files.writers import write
    from rollwise.rollout.simulation import simulate as simulated
    from rollwise.schema.labels import counted

    effects: dict[str, Any] = {
        "targets": numbers_of(target, "--target", "base=0.1"),
        "attacks": numbers_of(attack, "--attack", "plead=0.5"),
    }
    chosen = {name: values for name, values in effects.items() if values}
    ready(out, truth, overwrite=overwrite)
    frame, true_values = simulated(goals=goals, attempts=attempts, turns=turns, icc=icc, seed=seed, **chosen)
    files = [write(frame, out, overwrite=overwrite)]
    if truth is not None:
        files.append(write(true_values, truth, overwrite=overwrite))
    tell_files(f"Simulated {counted(frame['rollout_id'].n_unique(), 'rollout')}.", files, format)
