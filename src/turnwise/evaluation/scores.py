"""Answered items -> what each evaluator says of them, whatever fails on the way."""

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

from turnwise.errors import ArgumentError, TurnwiseError, UnkeptError, type_and_message, writable
from turnwise.evaluation import plugins
from turnwise.evaluation.config import EvalConfig
from turnwise.evaluation.dataset import Item, Shown
from turnwise.evaluation.frames import STORE, TABLES, Scored, Tables
from turnwise.evaluation.item_evaluator import LOG, PROGRESS, BaseEvaluator, failed, is_number
from turnwise.evaluation.items import EvalInput, EvalOutput, EvalOutputItem
from turnwise.evaluation.llms import Models
from turnwise.evaluation.options import Options
from turnwise.evaluation.results_log import ResultsLog, plain
from turnwise.jobs.calls import complete
from turnwise.judges.identities import Teller, identity
from turnwise.schema.labels import counted, say


def scores_of(
    found: dict[str, tuple[plugins.Registration, Any]],
    tables: Tables,
    models: Models,
    config: EvalConfig,
    asked: Options,
    folder: Path,
) -> list[Scored]:
    """Run the evaluators one after the other; a failing one does not stop the others."""
    general = config.eval.general
    whole = general.dataset.pass_full_entry
    answered = [item for item in tables.items if item.error is None]
    shown = tables if len(answered) == len(tables.items) else Tables(answered, tables.run, tables.used)
    seen = Shown(answered, rep=asked.reps > 1, whole=whole)
    scored = []
    tokens = TABLES.set(shown), STORE.set(folder / "verdicts")
    try:
        for keyword, (registration, options) in found.items():
            started = time.perf_counter()
            builder = plugins.EvalBuilder(general.max_concurrency, models)
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
    seen: Shown,
    folder: Path,
    *,
    progress: bool,
) -> Scored:
    """Run one evaluator on the items that it sees."""
    try:
        box: list[Any] = []
        complete(_built(box, keyword, registration, options, builder, seen, folder, progress=progress))
        made = box[0]() if callable(box[0]) else box[0]  # columns are computed where no loop runs
        if inspect.isawaitable(made):  # of what does not look asynchronous, such as an object that is called
            made = complete(_awaited(made))
        output = _output(made)
        said = _by_id(output.eval_output_items)
        _written(output.average_score)
    except UnkeptError:
        raise
    except TurnwiseError as error:
        return Scored(keyword, registration.name, [], failure=writable(str(error)))
    except (Exception, SystemExit, asyncio.CancelledError) as error:  # noqa: BLE001  # it is why it has no results
        return Scored(keyword, registration.name, [], failure=type_and_message(error))
    items = [_of(name, said.get(str(name), [])) for name in seen.names]
    scored = sum(item.error is None for item in items)
    is_of_them = 0 < scored == sum(each.error is None for each in output.eval_output_items)
    average = output.average_score if is_of_them else None
    return Scored(keyword, registration.name, items, average=average, bounds=box[1])


def _output(made: Any) -> EvalOutput:
    """Check the type of the return value of `evaluate_fn`."""
    if isinstance(made, EvalOutput):
        return made
    try:
        return EvalOutput.model_validate(made)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        why = f" (`{place}`: {first['msg'][:1].lower()}{first['msg'][1:]})" if place else ""
        kind = "None" if made is None else f"a {type(made).__name__}"
        raise ArgumentError(f"evaluate_fn gave {kind}{why}; it is to give an EvalOutput") from error


def _by_id(given: Sequence[EvalOutputItem]) -> dict[str, list[EvalOutputItem]]:
    """Return the entries of items by id as text: "1" equals 1."""
    found: dict[str, list[EvalOutputItem]] = {}
    for each in given:
        hash(each.id)  # a list or a dict is no id
        found.setdefault(str(each.id), []).append(each)
    return found


def _of(name: Any, said: Sequence[EvalOutputItem]) -> EvalOutputItem:
    """Return the entry of an item, under the evaluator's name."""
    if not said:
        return failed(name, "the evaluator gave no score for this item")
    if len(said) > 1:
        return failed(name, f"the evaluator gave {len(said):,} scores for this item; it is to give one")
    (one,) = said
    return _sound(one if one.id == name else one.model_copy(update={"id": name}))


async def _built(
    box: list[Any],
    keyword: str,
    registration: plugins.Registration,
    options: Any,
    builder: plugins.EvalBuilder,
    seen: Shown,
    folder: Path,
    *,
    progress: bool,
) -> None:
    """Put into the box what an evaluator gives; where it is a plain function, that function, to be called outside.

    A box, as asyncio writes out what a finished task returns, all items of it, when it looks for its handler of interrupts.
    """
    PROGRESS.set(progress)
    async with AsyncExitStack() as stack:
        info = await stack.enter_async_context(_info(registration, options, builder))
        owner = getattr(info.evaluate_fn, "__self__", None)
        if isinstance(owner, BaseEvaluator):
            log = stack.enter_context(ResultsLog(folder, keyword, _about(registration, options, owner, builder)))
            LOG.set(log)
            stack.callback(_tell, keyword, log)
        # these two look at each item once; others may look again, and find what they changed
        once = registration.in_the_box or getattr(info.evaluate_fn, "__func__", None) is BaseEvaluator.evaluate
        given = EvalInput.model_construct(eval_input_items=seen if once else list(seen))
        if not inspect.iscoroutinefunction(info.evaluate_fn):
            box.append(partial(info.evaluate_fn, given))
        else:
            box.append(await info.evaluate_fn(given))
        box.append(info.bounds)


@asynccontextmanager
async def _info(
    registration: plugins.Registration, options: Any, builder: plugins.EvalBuilder
) -> AsyncIterator[plugins.EvaluatorInfo]:
    """Return the single value that a plug-in yields."""
    try:
        async with registration.build(options, builder) as made:
            info: Any = made
            if not isinstance(info, plugins.EvaluatorInfo) or not callable(info.evaluate_fn):
                what = (
                    f"evaluate_fn={info.evaluate_fn!r:.40}"
                    if hasattr(info, "evaluate_fn")
                    else f"a {type(info).__name__}"
                )
                raise ArgumentError(
                    f"{registration.place} yields {what}; it is to yield an EvaluatorInfo, whose `evaluate_fn` is a function "
                    "of the items"
                )
            yield info
    except RuntimeError as error:
        said = {"generator didn't yield": "yields nothing", "generator didn't stop": "yields more than once"}
        if str(error) not in said:
            raise
        raise ArgumentError(
            f"{registration.place} {said[str(error)]}; it is to yield one EvaluatorInfo, once"
        ) from error


def _about(
    registration: plugins.Registration, options: Any, owner: BaseEvaluator, builder: plugins.EvalBuilder
) -> list[Any]:
    """All that decides on the scores: the evaluator with its code and options, and the models that it asks."""
    own = {name: value for name, value in vars(owner).items() if name not in {"max_concurrency", "tqdm_desc"}}
    models = {name: identity(model) for name, model in builder.given.items()}
    given = Teller().told(own, type(owner).__qualname__, all_of_it=True)
    return [
        registration.place,
        registration.code,
        identity(type(owner)),
        given,
        options.model_dump(mode="json"),
        models,
    ]


def _tell(keyword: str, log: ResultsLog) -> None:
    if log.reused:
        say(f"evaluator {keyword}: {counted(log.reused, 'score')} from an earlier run")


async def _awaited(made: Awaitable[Any]) -> Any:
    return await made


def _sound(item: EvalOutputItem) -> EvalOutputItem:
    """Check the entry of an item; an error where it cannot be written."""
    if item.error is None and is_number(item.score) and not math.isfinite(item.score):
        return failed(item.id, f"the score is {item.score}, which is no number")
    try:
        _written([item.score, item.reasoning, item.error])
    except (TypeError, ValueError, RecursionError) as error:
        return failed(item.id, item.error or str(error))
    return item


def _written(said: Any) -> bytes:
    """Return the entry as JSON text; TypeError, ValueError or RecursionError where that fails."""
    return msgspec.json.encode(said, enc_hook=plain)


def _whole(made: Scored, items: Sequence[Item], asked: Options) -> Scored:
    """Return an entry for every item, also for unanswered items and where all failed."""
    said = iter(made.items)
    whole = []
    for item in items:
        name = item.name(rep=asked.reps > 1)
        if item.error is not None:
            whole.append(failed(name, f"the workflow failed: {item.error}"))
        elif made.failure is not None:
            whole.append(failed(name, f"the evaluator failed: {made.failure}"))
        else:
            whole.append(next(said))
    made.items = whole
    return made
