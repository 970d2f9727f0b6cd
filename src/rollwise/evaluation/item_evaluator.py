"""The base class of evaluators that score one item at a time."""

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Any

from rollwise.errors import ArgumentError, UnkeptError, type_and_message, writable
from rollwise.evaluation.items import EvalInput, EvalInputItem, EvalOutput, EvalOutputItem
from rollwise.evaluation.results_log import ResultsLog
from rollwise.jobs.calls import contained
from rollwise.jobs.progress import progress_bar
from rollwise.jobs.workers import share

LOG: ContextVar[ResultsLog | None] = ContextVar("LOG", default=None)  # where the run keeps the scores of an evaluator
PROGRESS: ContextVar[bool] = ContextVar("PROGRESS", default=True)


class BaseEvaluator(ABC):
    """An evaluator that scores each item individually, many at the same time.

    A subclass scores an item in `evaluate_item`. If that raises, the item has no score and an `error` with the reason, and the
    other items continue. In a run, items that were scored before an interruption are not scored again.

    Parameters
    ----------
    max_concurrency
        Number of items evaluated at the same time.
    tqdm_desc
        Text of the progress bar.

    Examples
    --------
    >>> import asyncio
    >>> class Length(BaseEvaluator):
    ...     async def evaluate_item(self, item):
    ...         return EvalOutputItem(id=item.id, score=len(item.output_obj), reasoning="characters")
    >>> items = [EvalInputItem(id=1, output_obj="four"), EvalInputItem(id=2, output_obj="at")]
    >>> asyncio.run(Length().evaluate(EvalInput(eval_input_items=items))).average_score
    3.0
    """

    def __init__(self, max_concurrency: int = 4, tqdm_desc: str = "Evaluating") -> None:
        if max_concurrency < 1:
            raise ArgumentError(f"max_concurrency is {max_concurrency}; give 1 or more")
        self.max_concurrency = max_concurrency
        self.tqdm_desc = tqdm_desc

    @abstractmethod
    async def evaluate_item(self, item: EvalInputItem) -> EvalOutputItem:
        """Evaluate one item; the result has the item's id."""

    async def evaluate(self, eval_input: EvalInput) -> EvalOutput:
        """Evaluate every item, in order, and return the average."""
        return await outputs_of(eval_input.eval_input_items, self.evaluate_item, self.max_concurrency, self.tqdm_desc)


async def outputs_of(
    items: Sequence[Any], evaluate: Callable[[Any], Awaitable[EvalOutputItem]], max_concurrency: int, title: str
) -> EvalOutput:
    """Return the output of a function of one item for each of them, in order, and the average."""
    log = LOG.get()
    results: list[Any] = [None] * len(items)
    with progress_bar(len(items), title, "item", visible=PROGRESS.get()) as bar:

        async def score(row: tuple[int, Any]) -> None:
            position, item = row
            results[position] = await _evaluated(item, evaluate, log)
            bar.update()

        await share(enumerate(items), min(max_concurrency, len(items)), score)
    return EvalOutput.model_construct(average_score=average(results), eval_output_items=results)


async def _evaluated(
    item: Any, evaluate: Callable[[Any], Awaitable[EvalOutputItem]], log: ResultsLog | None
) -> EvalOutputItem:
    """Evaluate one item: from an earlier run, now, or with the reason why it failed."""
    key = "" if log is None else log.key(item)
    if log is not None and (entry := log.earlier(key)) is not None:
        log.reused += 1
        return EvalOutputItem(id=item.id, **entry)
    try:
        result = _checked(await contained(_awaitable(evaluate(item), evaluate)), item)
    except Exception as error:  # noqa: BLE001  # any exception is the reason why this item has no score
        return failed(item.id, type_and_message(error))
    if log is not None and result.error is None:
        try:
            log.keep({key: {"score": result.score, "reasoning": result.reasoning}})
        except UnkeptError:  # the log cannot be written, which stops the run
            raise
        except (TypeError, ValueError, RecursionError) as error:
            return failed(item.id, str(error))
    return result


def failed(item: Any, why: str) -> EvalOutputItem:
    """Return the entry of an item that has no score."""
    why = writable(why)
    return EvalOutputItem.trusted(id=item, score=None, reasoning={"error": f"Evaluator error: {why}"}, error=why)


def average(items: Sequence[EvalOutputItem]) -> float | None:
    """Return the mean of the known scores; None without any, or if one of them is not a number."""
    scores = [item.score for item in items if item.error is None and item.score is not None]
    numbers = [float(score) for score in scores if is_number(score)]
    return math.fsum(numbers) / len(numbers) if numbers and len(numbers) == len(scores) else None


def is_number(score: object) -> bool:
    """Return whether a score is a number, True or False, including NumPy's."""
    return isinstance(score, int | float) or (hasattr(score, "dtype") and getattr(score.dtype, "kind", "") in "biuf")


def _awaitable(result: Any, function: Callable[..., Any]) -> Awaitable[Any]:
    if not inspect.isawaitable(result):  # an author may have forgotten `async`
        name = function.__name__
        raise TypeError(f"{name} is not a coroutine function; write `async def {name}`")
    return result


def _checked(result: object, item: Any) -> EvalOutputItem:
    """Check the result of a function of one item: for this item, and with a finite number."""
    if not isinstance(result, EvalOutputItem):
        raise TypeError(f"the evaluator returned a {type(result).__name__}; return an EvalOutputItem")
    if result.id != item.id:
        raise ValueError(f"the evaluator returned the id {result.id!r}; return the id of the item")
    if is_number(result.score) and not math.isfinite(result.score):
        raise ValueError(f"the score is {result.score}, which is not a number")
    if type(result) is not EvalOutputItem:
        return result
    return EvalOutputItem.trusted(id=result.id, score=result.score, reasoning=result.reasoning, error=result.error)
