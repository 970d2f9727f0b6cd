"""An evaluation: items answered by a workflow, scored by evaluators, and written, whatever fails on the way."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pydantic

from turnwise.errors import meant
from turnwise.evaluation import plugins
from turnwise.evaluation.config import EvalConfig, load
from turnwise.evaluation.dataset import HERE, Item, read, repeated
from turnwise.evaluation.frames import SAID, Tables, columns_of
from turnwise.evaluation.llms import Models
from turnwise.evaluation.masking import masked
from turnwise.evaluation.options import Options, check
from turnwise.evaluation.outputs import Evaluation, Folder
from turnwise.evaluation.scores import scores_of
from turnwise.evaluation.workflow import workflow_of
from turnwise.files.configuration import Document
from turnwise.files.references import looking_in
from turnwise.schema import ROLLOUTS
from turnwise.schema.labels import counted, say

KEPT = ".turnwise"  # in the output folder: what was said of each item


def evaluate(config_file: str | Path, options: Options | None = None, **given: Any) -> Evaluation:
    """Answer, score and write what a configuration file describes; go on where an interrupted run of it ended.

    Parameters
    ----------
    config_file
        YAML: see `turnwise.evaluation.config`.
    options, **given
        `Options`, or its fields by keyword, which outrank those: ``dataset, endpoint, override, reps, skip_workflow,
        skip_completed_entries, ...``

    Returns
    -------
    Evaluation
        With the frames; they and the seed's files stand in the output folder.

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
    >>> asked = {"eval": {"general": general, "evaluators": {"match": {"_type": "exact_match"}}}}
    >>> _ = (folder / "eval.yml").write_text(json.dumps(asked))
    >>> made = evaluate(folder / "eval.yml", skip_workflow=True)
    >>> made.summary.select("metric", "estimate", "n").rows()
    [('match', 0.5, 2)]
    >>> sorted(path.name for path in made.folder.glob("*_output.json"))
    ['match_output.json', 'workflow_output.json']
    """
    asked = replace(options or Options(), **given)
    check(asked)
    document = Document.read(config_file)
    original = document.path.read_text(encoding="utf-8")
    for key, value in asked.overrides:
        document.override(key, value)
    config = load(document)
    with looking_in(document.path.parent):
        return _evaluated(document, original, config, asked)


def _evaluated(document: Document, original: str, config: EvalConfig, asked: Options) -> Evaluation:
    plugins.load(config.plugins, document.path.parent)
    models = Models(document, config)
    found = evaluators_of(document, config)
    if config.eval.general.validate_llm_endpoints:
        models.check()
    workflow = None if asked.skip_workflow else workflow_of(document, config, models, asked)
    tables, path = _tables(document, config, asked)
    folder = Folder(config, document, masked(original, _secret(found)), asked, path, _secret(found))
    folder.open()
    with folder.under_way():
        if workflow is not None:
            from turnwise.evaluation.answers import answer  # loads what rolls out, which scores do not need

            answer(tables.items, workflow, config, asked, folder.path / KEPT)
        scored = scores_of(found, tables, models, config, asked, folder.path / KEPT)
        made = folder.write(tables, scored)
    _tell(made)
    return made


def _secret(found: dict[str, tuple[plugins.Registration, Any]]) -> set[str]:
    """The options that evaluators themselves call secret."""
    return {name for _, options in found.values() for name, value in options if isinstance(value, pydantic.SecretStr)}


def _tell(made: Evaluation) -> None:
    """Say which evaluators have no results, and which items no score."""
    errors = made.scores.select("judge", "error").drop_nulls()
    told = errors.group_by("judge", maintain_order=True).agg(n=pl.len(), first=pl.col("error").first())
    for keyword, n, first in told.iter_rows():
        if keyword in made.failures:
            say(f"evaluator {keyword} failed and has no results: {made.failures[keyword]}")
        else:
            say(f"evaluator {keyword}: {counted(n, 'item')} without a score, the first one: {first}")


def _tables(document: Document, config: EvalConfig, asked: Options) -> tuple[Tables, Path | None]:
    """The items, held by nothing else, so that they are gone when their tables let them go; and their file."""
    entries, path = read(document, config.eval.general.dataset, asked.dataset)
    if asked.skip_workflow:
        _check_answers(document, config, entries, path)
    items = repeated(entries, asked.reps)
    _check_keywords(document, config, items)
    return Tables(items, config.eval.general.workflow_alias or document.path.stem, _used(config)), path


def evaluators_of(document: Document, config: EvalConfig) -> dict[str, tuple[plugins.Registration, Any]]:
    """The evaluators of a file by their keywords, with their options.

    Raises
    ------
    ReadError
        With file, line and key of a mistake: a `_type` or an option that is not known, or of the wrong kind.
    """
    found = {}
    known = {
        name: plugins.find(name) for name in dict.fromkeys(each["_type"] for each in config.eval.evaluators.values())
    }
    for keyword, entry in config.eval.evaluators.items():
        place = ("eval", "evaluators", keyword)
        registration = known[entry["_type"]]
        if registration is None:
            there = [each.name for each in plugins.everything()]
            raise document.error(
                (*place, "_type"), f"is {entry['_type']!r}, which is no evaluator; {meant(entry['_type'], there)}"
            )
        given = {key: value for key, value in entry.items() if key != "_type"}
        options = document.checked(registration.config_type, given, place)
        model = getattr(options, "llm_name", None)
        if isinstance(model, str) and model not in config.llms:
            known_models = meant(model, config.llms) if config.llms else "the file has no `llms:`, add it there"
            raise document.error((*place, "llm_name"), f"is {model!r}, which is no language model; {known_models}")
        found[keyword] = (registration, options)
    return found


def _check_answers(document: Document, config: EvalConfig, items: Sequence[Item], path: Path | None) -> None:
    """Refuse to score a data set that has nothing to score: no answer, and no steps."""
    keys = config.eval.general.dataset.structure
    whole = keys.disable or config.eval.general.dataset.pass_full_entry  # then the answer may stand anywhere
    if whole or any(item.generated is not None or item.steps for item in items):
        return
    raise document.error(
        (*HERE, "structure", "generated_answer_key"),
        f"is {keys.generated_answer_key!r}, under which no entry of {path or 'the data set'} has an answer, nor steps under "
        f"{keys.trajectory_key!r}; name the field of the answers, or let the workflow answer, without --skip_workflow",
    )


def _check_keywords(document: Document, config: EvalConfig, items: Sequence[Item]) -> None:
    """Refuse a keyword that is the name of a column of the items, before anything is paid for."""
    beside = columns_of([item.entry for item in items], _used(config))
    taken = {*ROLLOUTS.names, *SAID, *beside, *beside.values()}
    for keyword in config.eval.evaluators:
        if keyword in taken:
            place = ("eval", "evaluators", keyword)
            raise document.error(place, "is the name of a column of the items; choose another keyword")


def _used(config: EvalConfig) -> frozenset[str]:
    """The fields of the data set that have a place of their own."""
    keys = config.eval.general.dataset.structure
    named = {
        config.eval.general.dataset.id_key,
        keys.trajectory_key,
        keys.expected_trajectory_key,
        keys.generated_answer_key,
    }
    return frozenset(named | ({keys.answer_key} if keys.disable else {keys.answer_key, keys.question_key}))
