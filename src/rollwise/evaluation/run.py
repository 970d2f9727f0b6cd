"""Evaluation: a workflow answers items, evaluators score them, and the results are written even if some of them fail."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pydantic

from rollwise.errors import meant
from rollwise.evaluation import plugins
from rollwise.evaluation.answers import answer
from rollwise.evaluation.config import EvalConfig, load
from rollwise.evaluation.dataset import HERE, Item, read, repeated
from rollwise.evaluation.frames import TURN_TEXTS, Scored, Tables, columns_of
from rollwise.evaluation.llms import ADD_IT, Models
from rollwise.evaluation.masking import masked
from rollwise.evaluation.options import Options, check
from rollwise.evaluation.outputs import NO_SCORE, Evaluation, Folder
from rollwise.evaluation.reachable import check_judges
from rollwise.evaluation.scores import scores_of
from rollwise.evaluation.workflow import workflow_of
from rollwise.files.atomic import refuse_links
from rollwise.files.configuration import ConfigFile
from rollwise.files.references import looking_in
from rollwise.schema import ROLLOUTS
from rollwise.schema.labels import counted, say
from rollwise.schema.named import values_named

MOST_TOLD = 3  # items without a score that a line names
LOGS = ".rollwise"  # in the output folder: the logs of answers and scores, from which a later run goes on


def evaluate(config_file: str | Path, options: Options | None = None, **fields: Any) -> Evaluation:
    """Run the evaluation that a configuration file describes; an interrupted run continues where it ended.

    Parameters
    ----------
    config_file
        YAML: see `rollwise.evaluation.config`.
    options, **fields
        `Options`, or its fields as keyword arguments, which take precedence: ``dataset, endpoint, override, reps, skip_workflow,
        skip_completed_entries, ...``

    Returns
    -------
    Evaluation
        The frames; they and the JSON files are also in the output folder. They replace what an earlier run wrote there in one
        step, so that a killed run leaves the earlier results, with their configuration, or its own.

    Raises
    ------
    ReadError
        With file, line and key of a mistake in the file, or in the data set.
    ArgumentError
        Where options contradict each other, or a plug-in cannot be imported.
    WriteError
        Where the output folder holds another evaluation, or cannot be written to.

    Examples
    --------
    >>> import json, tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> entry = {"id": 1, "question": "2 + 2?", "answer": "4", "generated_answer": "four"}
    >>> _ = (folder / "data.json").write_text(json.dumps([entry, {**entry, "id": 2, "generated_answer": "4"}]))
    >>> general = {"output_dir": str(folder / "out"), "dataset": {"file_path": str(folder / "data.json")}}
    >>> configuration = {"eval": {"general": general, "evaluators": {"match": {"_type": "exact_match"}}}}
    >>> _ = (folder / "eval.yml").write_text(json.dumps(configuration))
    >>> evaluation = evaluate(folder / "eval.yml", skip_workflow=True)
    >>> evaluation.summary.select("metric", "estimate", "n").rows()
    [('match', 0.5, 2)]
    >>> sorted(path.name for path in evaluation.folder.glob("*_output.json"))
    ['match_output.json', 'workflow_output.json']
    """
    options = replace(options or Options(), **fields)
    check(options)
    document = ConfigFile.read(config_file)
    for key, value in options.overrides:
        document.override(key, value)
    config = load(document)
    with looking_in(document.path.parent):
        return _run(document, config, options)


def _run(document: ConfigFile, config: EvalConfig, options: Options) -> Evaluation:
    plugins.load(config.plugins, document.path.parent)
    models = Models(document, config)
    evaluators = evaluators_of(document, config)
    # Mistakes in the options of evaluators are reported before the models are contacted.
    if config.eval.general.validate_llm_endpoints:
        models.check()
    judges = {
        name for _, settings in evaluators.values() if isinstance(name := getattr(settings, "llm_name", None), str)
    }
    refuse_links(config.folder / LOGS)
    check_judges(document, config.llms, judges, config.folder / LOGS / "verdicts")
    workflow = None if options.skip_workflow else workflow_of(document, config, models, options)
    tables, path = _tables(document, config, options)
    secret = _secret_options(evaluators)
    code = {
        "evaluators": [[registration.place, registration.code] for registration, _ in evaluators.values()],
        "workflow": workflow and workflow.configuration,
        "entries": [item.entry for item in tables.items] if path is None else None,  # given by a function
    }
    folder = Folder(config, document, masked(document.text, secret), options, path, secret, code)
    folder.open()
    # Errors above are raised before the first item is answered; from here on, an error marks the run as interrupted.
    with folder.under_way():
        if workflow is not None:
            answer(tables.items, workflow, config, options, folder.path / LOGS)
        scored = scores_of(evaluators, tables, models, config, options, folder.path / LOGS)
        evaluation = folder.write(tables, scored)
    _report(evaluation)
    _suggest_bounds(evaluation, scored)
    return evaluation


def _secret_options(evaluators: dict[str, tuple[plugins.Registration, Any]]) -> set[str]:
    """Return the names of options that evaluators declare as secret."""
    return {
        name for _, options in evaluators.values() for name, value in options if isinstance(value, pydantic.SecretStr)
    }


def _report(evaluation: Evaluation) -> None:
    """Report failed evaluators, and which items have no score and why."""
    texts = evaluation.turns.select("rollout_id", "task", "attempt", "response", "expected")
    gaps = evaluation.scores.filter(NO_SCORE).join(texts, on="rollout_id", how="left", maintain_order="left")
    repeated = evaluation.items["attempt"].n_unique() > 1
    why = (
        pl.when(pl.col("error").is_not_null())
        .then("error")
        .when(pl.col("response").is_null())
        .then(pl.lit("no answer"))
        .when(pl.col("expected").is_null())
        .then(pl.lit("no expected answer, and no score was given"))
        .otherwise(pl.lit("no score was given"))
    )
    for (keyword,), rows in gaps.with_columns(why=why).group_by("judge", maintain_order=True):
        if keyword in evaluation.failures:
            say(f"evaluator {keyword} failed and has no results: {evaluation.failures[str(keyword)]}")
            continue
        reasons = [
            f"{task}{f' (attempt {attempt})' if repeated else ''}: {reason}"
            for task, attempt, reason in rows.select("task", "attempt", "why").head(MOST_TOLD).iter_rows()
        ]
        reasons += [f"{rows.height - MOST_TOLD:,} more in scores.parquet"] if rows.height > MOST_TOLD else []
        say(
            f"evaluator {keyword}: no score for {rows.height:,} of {counted(evaluation.items.height, 'item')}, {'; '.join(reasons)}"
        )


def _suggest_bounds(evaluation: Evaluation, scored: Sequence[Scored]) -> None:
    """Suggest to name the range of scores that all lie in [0, 1], in one line."""
    names = [
        result.keyword
        for result in scored
        if result.unbounded
        and (scores := values_named(evaluation.items, result.keyword).drop_nulls()).dtype == pl.Float64
        and scores.len()
        and scores.is_between(0, 1).all()
    ]
    if names:
        say(
            f"{', '.join(names)}: all scores lie in [0, 1]; if others are impossible, write EvaluatorInfo(..., bounds=(0, 1)), so "
            "that intervals stay there"
        )


def _tables(document: ConfigFile, config: EvalConfig, options: Options) -> tuple[Tables, Path | None]:
    """Return the tables of the items, and the path of the data set.

    Only the tables refer to the items, so their memory is freed when the tables drop them.
    """
    general = config.eval.general
    entries, path = read(document, general.dataset, options.dataset, parity=general.parity == "nat")
    if options.skip_workflow:
        _check_answers(document, config, entries, path)
    items = repeated(entries, options.reps)
    _check_keywords(document, config, items)
    return Tables(items, config.eval.general.workflow_alias or document.path.stem, _used(config)), path


def evaluators_of(document: ConfigFile, config: EvalConfig) -> dict[str, tuple[plugins.Registration, Any]]:
    """Return the evaluators of a file by keyword, with their options."""
    evaluators = {}
    # Each type is looked up once, though several keywords may use it.
    registrations = {
        name: plugins.find(name) for name in dict.fromkeys(entry["_type"] for entry in config.eval.evaluators.values())
    }
    for keyword, entry in config.eval.evaluators.items():
        place = ("eval", "evaluators", keyword)
        registration = registrations[entry["_type"]]
        if registration is None:
            names = [evaluator.name for evaluator in plugins.everything()]
            raise document.error(
                (*place, "_type"), f"is {entry['_type']!r}, which is not an evaluator; {meant(entry['_type'], names)}"
            )
        settings = {key: value for key, value in entry.items() if key != "_type"}
        options = document.checked(registration.config_type, settings, place)
        model = getattr(options, "llm_name", None)
        if isinstance(model, str) and model not in config.llms:
            hint = meant(model, config.llms) if config.llms else ADD_IT.format(model)
            raise document.error((*place, "llm_name"), f"is {model!r}, which is not a language model; {hint}")
        evaluators[keyword] = (registration, options)
    return evaluators


def _check_answers(document: ConfigFile, config: EvalConfig, items: Sequence[Item], path: Path | None) -> None:
    """Raise an error for a data set with nothing to score: no answers and no steps."""
    keys = config.eval.general.dataset.structure
    anywhere = keys.disable or config.eval.general.dataset.pass_full_entry  # then the answer may be in any field
    if anywhere or any(item.generated is not None or item.steps for item in items):
        return
    raise document.error(
        (*HERE, "structure", "generated_answer_key"),
        f"is {keys.generated_answer_key!r}, under which no entry of {path or 'the data set'} has an answer, nor steps under "
        f"{keys.trajectory_key!r}; name the field of the answers, or let the workflow answer, without --skip_workflow",
    )


def _check_keywords(document: ConfigFile, config: EvalConfig, items: Sequence[Item]) -> None:
    """Raise an error for a keyword that is also a column of the items, before any call is paid for."""
    further = columns_of([item.entry for item in items], _used(config))
    reserved = {*ROLLOUTS.names, *TURN_TEXTS, *further, *further.values()}
    for keyword in config.eval.evaluators:
        if keyword in reserved:
            place = ("eval", "evaluators", keyword)
            raise document.error(place, "is the name of a column of the items; choose another keyword")


def _used(config: EvalConfig) -> frozenset[str]:
    """Return the fields of the data set that are mapped to fields of an item."""
    keys = config.eval.general.dataset.structure
    fields = {
        config.eval.general.dataset.id_key,
        keys.trajectory_key,
        keys.expected_trajectory_key,
        keys.generated_answer_key,
    }
    return frozenset(fields | ({keys.answer_key} if keys.disable else {keys.answer_key, keys.question_key}))
