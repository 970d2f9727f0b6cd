"""An evaluation: items answered by a workflow, scored by evaluators, and written, whatever fails on the way."""

import inspect
import math
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from turnwise.configuration import Document
from turnwise.errors import ArgumentError, TurnwiseError, meant
from turnwise.evaluation import plugins
from turnwise.evaluation.config import EvalConfig, load, masked
from turnwise.evaluation.dataset import Item, read, repeated
from turnwise.evaluation.frames import SAID, STORE, TABLES, Scored, Tables
from turnwise.evaluation.item_evaluator import LOG, PROGRESS, BaseEvaluator, failed, is_number
from turnwise.evaluation.items import EvalInput, EvalInputItem, EvalOutput, EvalOutputItem, WorkflowOutput
from turnwise.evaluation.llms import Models
from turnwise.evaluation.results_log import ResultsLog, plain
from turnwise.evaluation.workflow import Workflow, workflow_of
from turnwise.labels import counted, say
from turnwise.places import looking_in
from turnwise.schema import ROLLOUTS
from turnwise.scoring.callables import identity
from turnwise.scoring.loops import complete

KEPT = ".turnwise"  # in the output folder: what was said of each item


@dataclass(kw_only=True)
class Options:
    """How to run, beside the file.

    Attributes
    ----------
    dataset
        Another data set than the file's.
    endpoint
        Another workflow than the file's: an HTTP address.
    override
        Entries to replace, as (dotted key, text).
    reps
        How often each item is answered.
    skip_workflow
        Score the answers that the data set holds.
    skip_completed_entries
        Answer only the items that the data set holds no answer of.
    result_json_path
        Where in an endpoint's answer the answer stands.
    overwrite
        Whether results of another evaluation may be replaced.
    progress
        Whether to show how far it is.
    """

    dataset: Path | None = None
    endpoint: str | None = None
    override: Sequence[tuple[str, str]] = ()
    reps: int = 1
    skip_workflow: bool = False
    skip_completed_entries: bool = False
    result_json_path: str = "$"
    overwrite: bool = False
    progress: bool = True


@dataclass
class Evaluation:
    """What came of it.

    Attributes
    ----------
    config
        The configuration.
    turns
        TURNS of the items, each a rollout of one turn.
    steps
        STEPS of the items.
    items
        ROLLOUTS: one row per item and attempt.
    scores
        VERDICTS: what each evaluator said of each item.
    summary
        SUMMARY of the scores that are numbers.
    failures
        Why evaluators failed as a whole, by their keywords.
    folder
        Where it was written.
    """

    config: EvalConfig
    turns: pl.DataFrame
    steps: pl.DataFrame
    items: pl.DataFrame
    scores: pl.DataFrame
    summary: pl.DataFrame
    failures: dict[str, str]
    folder: Path


def evaluate(config_file: str | Path, options: Options | None = None, **given: Any) -> Evaluation:
    """Answer, score and write what a configuration file describes; go on where an interrupted run of it ended.

    Parameters
    ----------
    config_file
        YAML: see `turnwise.evaluation.config`.
    options, **given
        `Options`, or its fields by keyword: ``dataset, endpoint, override, reps, skip_workflow, skip_completed_entries, ...``

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
    asked = options or Options(**given)
    _check(asked)
    document = Document.read(config_file)
    original = masked(document.path.read_text(encoding="utf-8"), document.data)
    for key, text in asked.override:
        document.override(key, text)
    config = load(document)
    with looking_in(document.path.parent):
        return _evaluated(document, original, config, asked)


def _evaluated(document: Document, original: str, config: EvalConfig, asked: Options) -> Evaluation:
    from turnwise.evaluation.outputs import Folder

    plugins.load(config.plugins, document.path.parent)
    models = Models(document, config)
    found = evaluators_of(document, config)
    workflow = (
        None if asked.skip_workflow else workflow_of(document, config, models, asked.endpoint, asked.result_json_path)
    )
    tables, path = _tables(document, config, asked)
    folder = Folder(config, document, original, asked, path)
    folder.open()
    if workflow is not None:
        _answer(tables.items, workflow, config, asked, config.folder / KEPT)
    scored = _scored(found, tables, models, config, asked, config.folder / KEPT)
    made = folder.write(tables, scored)
    errors = made.scores.select("judge", "error").drop_nulls()
    told = errors.group_by("judge", maintain_order=True).agg(n=pl.len(), first=pl.col("error").first())
    for keyword, n, first in told.iter_rows():
        if keyword in made.failures:
            say(f"evaluator {keyword} failed and has no results: {made.failures[keyword]}")
        else:
            say(f"evaluator {keyword}: {counted(n, 'item')} without a score, the first one: {first}")
    return made


def _tables(document: Document, config: EvalConfig, asked: Options) -> tuple[Tables, Path | None]:
    """The items, held by nothing else, so that they are gone when their tables let them go; and their file."""
    entries, path = read(document, config.eval.general.dataset, asked.dataset)
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


def _check_keywords(document: Document, config: EvalConfig, items: Sequence[Item]) -> None:
    """Refuse a keyword that is the name of a column of the items, before anything is paid for."""
    used = _used(config)
    taken = {*ROLLOUTS.names, *SAID, *(name for item in items for name in item.entry if name not in used)}
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


def _check(asked: Options) -> None:
    if asked.reps < 1:
        raise ArgumentError(f"--reps is {asked.reps}; every item is answered at least once")
    if asked.skip_workflow and asked.endpoint is not None:
        raise ArgumentError("--skip_workflow asks no workflow, --endpoint names one; give one of them")
    if asked.reps > 1 and (asked.skip_workflow or asked.skip_completed_entries):
        raise ArgumentError(
            "--reps asks the workflow anew, --skip_workflow and --skip_completed_entries do not; give one of them"
        )


# ── answers ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _answer(items: Sequence[Item], workflow: Workflow, config: EvalConfig, asked: Options, folder: Path) -> None:
    """Let the workflow answer what is not answered, and keep each answer at once."""
    from turnwise.evaluators.campaign import run

    general = config.eval.general
    with ResultsLog(folder, "workflow", workflow.configuration) as log:
        keys = [ResultsLog.key(_bare(item)) for item in items]
        waiting = []
        for place, item in enumerate(items):
            if asked.skip_completed_entries and not _blank(item.generated):
                continue
            item.generated, item.steps = None, []
            if item.question is None:
                item.error = "the question is missing"
            elif keys[place] in log.kept:
                item.generated, item.steps = log.kept[keys[place]]
            else:
                waiting.append(place)
        if len(waiting) < len(items):
            say(f"workflow: {counted(len(waiting), 'item')} to answer, {len(items) - len(waiting):,} done before")

        async def one(place: int) -> bool:
            made = await workflow.answer(items[place].question)
            told = made if isinstance(made, WorkflowOutput) else WorkflowOutput(output=made)
            output, steps = told.output, [_plain(step) for step in told.intermediate_steps]
            log.keep(keys[place], [output, steps])
            items[place].generated, items[place].steps = output, steps
            return True

        done = run(
            one,
            waiting,
            max_concurrency=general.max_concurrency,
            timeout=general.timeout,
            retries=general.retries,
            on_error="record",
            progress=asked.progress,
        )
    for ended in done:
        items[ended.seed].error = ended.error
    errors = sum(ended.error is not None for ended in done)
    if errors:
        first = next(ended.error for ended in done if ended.error is not None)
        say(f"workflow: {counted(errors, 'item')} without an answer, the first one: {first}")


def _bare(item: Item) -> EvalInputItem:
    """What the workflow sees of an item: its id, its attempt, its question."""
    return EvalInputItem.model_construct(id=f"{item.id}/{item.attempt}", input_obj=item.question)


def _blank(answer: Any) -> bool:
    return answer is None or (isinstance(answer, str) and not answer.strip())


def _plain(step: Any) -> Any:
    return step.model_dump() if hasattr(step, "model_dump") else step


# ── scores ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _scored(
    found: dict[str, tuple[plugins.Registration, Any]],
    tables: Tables,
    models: Models,
    config: EvalConfig,
    asked: Options,
    folder: Path,
) -> list[Scored]:
    """What each evaluator says, one after the other; one that fails does not keep the others from it."""
    general = config.eval.general
    whole = general.dataset.pass_full_entry
    answered = [item for item in tables.items if item.error is None]
    shown = tables if len(answered) == len(tables.items) else Tables(answered, tables.run, tables.used)
    seen = EvalInput.model_construct(eval_input_items=[item.seen(rep=asked.reps > 1, whole=whole) for item in answered])
    builder = plugins.EvalBuilder(general.max_concurrency, models)
    scored = []
    tokens = TABLES.set(shown), STORE.set(folder / "verdicts")
    try:
        for keyword, (registration, options) in found.items():
            started = time.perf_counter()
            made = _one(keyword, registration, options, builder, seen, folder, progress=asked.progress)
            scored.append(_whole(made, tables.items, asked))
            scored[-1].seconds = time.perf_counter() - started
    finally:
        TABLES.reset(tokens[0])
        STORE.reset(tokens[1])
    return scored


def _one(
    keyword: str,
    registration: plugins.Registration,
    options: Any,
    builder: plugins.EvalBuilder,
    seen: EvalInput,
    folder: Path,
    *,
    progress: bool,
) -> Scored:
    """What one evaluator says of the items that it sees."""
    try:
        box: list[Any] = []
        complete(_built(box, keyword, registration, options, builder, seen, folder, progress=progress))
        made = box[0](seen) if callable(box[0]) else box[0]  # columns are computed where no loop runs
        output = made if isinstance(made, EvalOutput) else EvalOutput.model_validate(made)
    except TurnwiseError as error:
        return Scored(keyword, registration.name, [], failure=str(error))
    except Exception as error:  # noqa: BLE001  # whatever an evaluator raises is why it has no results
        return Scored(keyword, registration.name, [], failure=f"{type(error).__name__}: {error}")
    by_id = {each.id: each for each in output.eval_output_items}
    nothing = "the evaluator gave no score for this item"
    items = [_sound(by_id.get(each.id)) or failed(each.id, nothing) for each in seen.eval_input_items]
    return Scored(keyword, registration.name, items, average=output.average_score)


async def _built(
    box: list[Any],
    keyword: str,
    registration: plugins.Registration,
    options: Any,
    builder: plugins.EvalBuilder,
    seen: EvalInput,
    folder: Path,
    *,
    progress: bool,
) -> None:
    """Put into the box what an evaluator gives; where it is a plain function, that function, to be called outside.

    A box, as asyncio writes out what a finished task returns, all items of it, when it looks for its handler of interrupts.
    """
    PROGRESS.set(progress)
    async with AsyncExitStack() as stack:
        info = await stack.enter_async_context(registration.build(options, builder))
        owner = getattr(info.evaluate_fn, "__self__", None)
        if isinstance(owner, BaseEvaluator):
            about = [registration.place, identity(type(owner)), options.model_dump(mode="json")]
            LOG.set(stack.enter_context(ResultsLog(folder, keyword, about)))
        if not inspect.iscoroutinefunction(info.evaluate_fn):
            box.append(info.evaluate_fn)
        else:
            box.append(await info.evaluate_fn(seen))


def _sound(item: EvalOutputItem | None) -> EvalOutputItem | None:
    """What an evaluator said of an item; an error where it is nothing that can be written."""
    if item is None or item.error is not None:
        return item
    if is_number(item.score) and not math.isfinite(item.score):
        return failed(item.id, f"the score is {item.score}, which is no number")
    try:
        msgspec.json.encode([item.score, item.reasoning], enc_hook=plain)
    except (TypeError, ValueError, RecursionError) as error:
        return failed(item.id, str(error))
    return item


def _whole(made: Scored, items: Sequence[Item], asked: Options) -> Scored:
    """What was said, with an entry for every item: also for those that were never answered, and where all failed."""
    said = iter(made.items)
    whole = []
    for item in items:
        name = f"{item.id}_rep{item.attempt - 1}" if asked.reps > 1 else item.id
        if item.error is not None:
            whole.append(failed(name, f"the workflow failed: {item.error}"))
        elif made.failure is not None:
            whole.append(failed(name, f"the evaluator failed: {made.failure}"))
        else:
            whole.append(next(said))
    made.items = whole
    return made
