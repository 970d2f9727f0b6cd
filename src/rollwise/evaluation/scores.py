"""Scores of answered items by each evaluator; a failure affects only its own evaluator or item."""

import asyncio
import inspect
import math
import time
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pydantic

from rollwise.errors import ArgumentError, RollwiseError, WriteError, type_and_message, writable
from rollwise.evaluation import plugins
from rollwise.evaluation.atif import AtifEvalSample
from rollwise.evaluation.atif_conversion import sample_of
from rollwise.evaluation.atif_evaluator import AtifBaseEvaluator
from rollwise.evaluation.config import EvalConfig
from rollwise.evaluation.dataset import InputItems, Item
from rollwise.evaluation.frames import STORE, TABLES, Scored, Tables
from rollwise.evaluation.item_evaluator import LOG, PROGRESS, BaseEvaluator, failed, is_number
from rollwise.evaluation.items import EvalInput, EvalOutput, EvalOutputItem
from rollwise.evaluation.llms import Models
from rollwise.evaluation.options import Options
from rollwise.evaluation.results_log import ResultsLog, plain
from rollwise.jobs.calls import complete
from rollwise.jobs.identity import identity
from rollwise.schema.labels import counted, say


def scores_of(
    evaluators: dict[str, tuple[plugins.Registration, Any]],
    tables: Tables,
    models: Models,
    config: EvalConfig,
    run_options: Options,
    folder: Path,
) -> list[Scored]:
    """Run the evaluators one after another; an evaluator that fails does not stop the rest."""
    general = config.eval.general
    full_entry = general.dataset.pass_full_entry
    answered = [item for item in tables.items if item.error is None]
    answered_tables = tables if len(answered) == len(tables.items) else Tables(answered, tables.run, tables.used)
    items = InputItems(answered, rep=run_options.reps > 1, with_entry=full_entry)
    results = []
    # Built-in evaluators also need the tables and the folder of verdicts, which are not part of the plug-in interface.
    tokens = TABLES.set(answered_tables), STORE.set(folder / "verdicts")
    try:
        for keyword, (registration, options) in evaluators.items():
            started = time.perf_counter()
            builder = plugins.EvalBuilder(general.max_concurrency, models)
            result = _scored(keyword, registration, options, builder, items, folder, progress=run_options.progress)
            results.append(_with_all_items(result, tables.items, run_options))
            results[-1].seconds = time.perf_counter() - started
    finally:
        TABLES.reset(tokens[0])
        STORE.reset(tokens[1])
    return results


def _scored(
    keyword: str,
    registration: plugins.Registration,
    options: Any,
    builder: plugins.EvalBuilder,
    items_shown: InputItems,
    folder: Path,
    *,
    progress: bool,
) -> Scored:
    """Run one evaluator on the answered items; its failure becomes part of the result."""
    try:
        box: list[Any] = []
        unconverted: dict[str, list[EvalOutputItem]] = {}
        complete(
            _built(box, unconverted, keyword, registration, options, builder, items_shown, folder, progress=progress)
        )
        returned = box[0]() if callable(box[0]) else box[0]  # outside the event loop, as it may run its own
        if inspect.isawaitable(returned):  # from an async callable that is not a coroutine function
            returned = complete(_awaited(returned))
        output = _output(returned)
        entries = {**_by_id(output.eval_output_items), **unconverted}
        _written(output.average_score)
    except WriteError:  # the disk is full, or another process is at work: further results could not be stored either
        raise
    except RollwiseError as error:
        return Scored(keyword, registration.name, [], failure=writable(str(error)))
    except (Exception, SystemExit, asyncio.CancelledError) as error:  # noqa: BLE001  # reported as the evaluator's failure
        return Scored(keyword, registration.name, [], failure=type_and_message(error))
    items = [_entry_of(item_id, entries.get(str(item_id), [])) for item_id in items_shown.names]
    num_scored = sum(item.error is None for item in items)
    # The evaluator's average is used only if it covers exactly the items with a valid score.
    is_average_of_items = 0 < num_scored == sum(entry.error is None for entry in output.eval_output_items)
    average = output.average_score if is_average_of_items else None
    in_the_box = registration.in_the_box
    return Scored(keyword, registration.name, items, average=average, bounds=box[1], in_the_box=in_the_box)


def _output(returned: Any) -> EvalOutput:
    """Check the type of the return value of `evaluate_fn`."""
    if isinstance(returned, EvalOutput):
        return returned
    try:
        return EvalOutput.model_validate(returned)
    except pydantic.ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join(map(str, problem["loc"]))
        reason = f" (`{place}`: {problem['msg'][:1].lower()}{problem['msg'][1:]})" if place else ""
        kind = "None" if returned is None else f"a {type(returned).__name__}"
        raise ArgumentError(f"evaluate_fn returned {kind}{reason}; it must return an EvalOutput") from error


def _by_id(entries: Sequence[EvalOutputItem]) -> dict[str, list[EvalOutputItem]]:
    """Return the entries of items by their ids as text, so that "1" equals 1."""
    by_id: dict[str, list[EvalOutputItem]] = {}
    for entry in entries:
        hash(entry.id)  # a TypeError for a list or a dict, which cannot be an id
        by_id.setdefault(str(entry.id), []).append(entry)
    return by_id


def _entry_of(item_id: Any, entries: Sequence[EvalOutputItem]) -> EvalOutputItem:
    """Return the entry of an item under the item's own id; a failed entry where there is not exactly one."""
    if not entries:
        return failed(item_id, "the evaluator gave no score for this item")
    if len(entries) > 1:
        return failed(item_id, f"the evaluator gave {len(entries):,} scores for this item; it must give one")
    (entry,) = entries
    return _sound(entry if entry.id == item_id else entry.model_copy(update={"id": item_id}))


async def _built(
    box: list[Any],
    unconverted: dict[str, list[EvalOutputItem]],
    keyword: str,
    registration: plugins.Registration,
    options: Any,
    builder: plugins.EvalBuilder,
    items: InputItems,
    folder: Path,
    *,
    progress: bool,
) -> None:
    """Append an evaluator's output to the box, or the function to call outside the loop if it is a plain one; then its bounds.

    An evaluator of ATIF gets the items whose steps can be converted; the others become failed entries in `unconverted`.
    The result is not returned because asyncio formats the return value of a finished task, with all its items, when it checks
    its interrupt handler; that is slow for many items.
    """
    PROGRESS.set(progress)
    async with AsyncExitStack() as stack:
        info = await stack.enter_async_context(_info(registration, options, builder))
        function: Any = info.evaluate_fn if info.evaluate_atif_fn is None else info.evaluate_atif_fn
        owner = getattr(function, "__self__", None)
        if isinstance(owner, BaseEvaluator | AtifBaseEvaluator):
            log = stack.enter_context(ResultsLog(folder, keyword, _content_key(registration, options, builder)))
            LOG.set(log)
            stack.callback(_report_reused, keyword, log)
        # These two read each item once, so items can be made lazily; others get a list, where their changes to items persist.
        single_pass = registration.in_the_box or getattr(function, "__func__", None) is BaseEvaluator.evaluate
        argument: Any
        if info.evaluate_atif_fn is not None:
            argument = _samples(items, unconverted)
        else:
            argument = EvalInput.model_construct(eval_input_items=items if single_pass else list(items))
        if not inspect.iscoroutinefunction(function):
            box.append(partial(function, argument))
        else:
            box.append(await function(argument))
        box.append(info.bounds)


def _samples(items: InputItems, unconverted: dict[str, list[EvalOutputItem]]) -> list[AtifEvalSample]:
    """Return the items with their trajectories in ATIF; one whose steps cannot be converted becomes a failed entry."""
    samples = []
    for item in items:
        try:
            samples.append(sample_of(item))
        except ValueError as error:
            unconverted[str(item.id)] = [failed(item.id, str(error))]
    return samples


@asynccontextmanager
async def _info(
    registration: plugins.Registration, options: Any, builder: plugins.EvalBuilder
) -> AsyncIterator[plugins.EvaluatorInfo]:
    """Yield the single EvaluatorInfo of a plug-in; ArgumentError where it yields anything else."""
    try:
        async with registration.build(options, builder) as plugin:
            info: Any = plugin
            if not isinstance(info, plugins.EvaluatorInfo):
                raise ArgumentError(
                    f"{registration.place} yields a {type(info).__name__}; it must yield an EvaluatorInfo, whose `evaluate_fn` "
                    "is a function of the items"
                )
            name = "evaluate_fn" if info.evaluate_atif_fn is None else "evaluate_atif_fn"
            if not callable(getattr(info, name)):
                raise ArgumentError(
                    f"{registration.place} yields {name}={getattr(info, name)!r:.40}; it must yield an EvaluatorInfo, whose "
                    "`evaluate_fn` or `evaluate_atif_fn` is a function of the items"
                )
            yield info
    # contextlib reports a wrong number of yields only by these messages; any other RuntimeError is the plug-in's own.
    except RuntimeError as error:
        problems = {"generator didn't yield": "yields nothing", "generator didn't stop": "yields more than once"}
        if str(error) not in problems:
            raise
        raise ArgumentError(
            f"{registration.place} {problems[str(error)]}; it must yield one EvaluatorInfo, once"
        ) from error


def _content_key(registration: plugins.Registration, options: Any, builder: plugins.EvalBuilder) -> list[Any]:
    """Return everything that the scores depend on: the evaluator with its code and options, and the models that it calls."""
    models = {name: identity(model) for name, model in builder.given.items()}
    return [registration.place, registration.code, options.model_dump(mode="json"), models]


def _report_reused(keyword: str, log: ResultsLog) -> None:
    if log.reused:
        say(f"evaluator {keyword}: {counted(log.reused, 'score')} from an earlier run")


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _sound(item: EvalOutputItem) -> EvalOutputItem:
    """Return the entry of an item, or a failed one where it cannot be written as JSON."""
    if item.error is None and is_number(item.score) and not math.isfinite(item.score):
        return failed(item.id, f"the score is {item.score}, which is not a finite number")
    try:
        _written([item.score, item.reasoning, item.error])
    except (TypeError, ValueError, RecursionError) as error:
        return failed(item.id, item.error or str(error))
    return item


def _written(entry: Any) -> bytes:
    """Return the entry as JSON text; TypeError, ValueError or RecursionError where that fails."""
    return msgspec.json.encode(entry, enc_hook=plain)


def _with_all_items(result: Scored, items: Sequence[Item], options: Options) -> Scored:
    """Return an entry for every item, including unanswered items and all items of a failed evaluator."""
    entries = iter(result.items)
    completed = []
    for item in items:
        item_id = item.name(rep=options.reps > 1)
        if item.error is not None:
            completed.append(failed(item_id, f"the workflow failed: {item.error}"))
        elif result.failure is not None:
            completed.append(failed(item_id, f"the evaluator failed: {result.failure}"))
        else:
            # The evaluator saw only answered items, in this order, so the next entry belongs to this item.
            completed.append(next(entries))
    result.items = completed
    return result
