"""The base class of evaluators that look at one item at a time."""

import asyncio
import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from turnwise.errors import ArgumentError, UnkeptError, type_and_message, writable
from turnwise.evaluation.items import EvalInput, EvalInputItem, EvalOutput, EvalOutputItem
from turnwise.evaluation.results_log import ResultsLog
from turnwise.jobs.calls import contained

LOG: ContextVar[ResultsLog | None] = ContextVar("LOG", default=None)  # where the run keeps what an evaluator says
PROGRESS: ContextVar[bool] = ContextVar("PROGRESS", default=True)


class BaseEvaluator(ABC):
    """An evaluator that scores each item by itself, many at the same time.

    A subclass says in `evaluate_item` what an item is worth. An item at which it raises has no score, and the `error` that says
    why; the others go on. In a run, items that were scored before an interruption are not scored again.

    Parameters
    ----------
    max_concurrency
        How many items are under way at the same time.
    tqdm_desc
        What the progress bar says.

    Examples
    --------
    >>> class Length(BaseEvaluator):
    ...     async def evaluate_item(self, item):
    ...         return EvalOutputItem(id=item.id, score=len(item.output_obj), reasoning="characters")
    >>> items = [EvalInputItem(id=1, output_obj="four"), EvalInputItem(id=2, output_obj="at")]
    >>> asyncio.run(Length().evaluate(EvalInput(eval_input_items=items))).average_score
    3.0
    """

    def __init__(self, max_concurrency: int = 4, tqdm_desc: str = "Evaluating") -> None:
        if max_concurrency < 1:
            raise ArgumentError(f"max_concurrency is {max_concurrency}; at least one item must be under way at a time")
        self.max_concurrency = max_concurrency
        self.tqdm_desc = tqdm_desc

    @abstractmethod
    async def evaluate_item(self, item: EvalInputItem) -> EvalOutputItem:
        """Evaluate one item; the result has the item's id."""

    async def evaluate(self, eval_input: EvalInput) -> EvalOutput:
        """Evaluate every item, in order, and return the average."""
        from tqdm.auto import tqdm

        items, log = eval_input.eval_input_items, LOG.get()
        found: list[Any] = [None] * len(items)
        rows = enumerate(items)
        with tqdm(total=len(items), desc=self.tqdm_desc, unit="item", disable=None if PROGRESS.get() else True) as bar:

            async def work(rows: Iterator[tuple[int, EvalInputItem]]) -> None:
                for at, item in rows:
                    found[at] = await self._one(item, log)
                    bar.update()

            await asyncio.gather(*(work(rows) for _ in range(min(self.max_concurrency, len(items)))))
        return EvalOutput.model_construct(average_score=average(found), eval_output_items=found)

    async def _one(self, item: EvalInputItem, log: ResultsLog | None) -> EvalOutputItem:
        """Evaluate one item: from an earlier run, now, or with the reason why it failed."""
        key = None if log is None else log.key(item)
        if log is not None and key in log.kept:
            log.reused += 1
            return EvalOutputItem(id=item.id, **log.kept[key])
        try:
            said = _sound(await contained(_awaitable(self.evaluate_item(item))), item)
        except Exception as error:  # noqa: BLE001  # whatever an evaluator raises is why this item has no score
            return failed(item.id, type_and_message(error))
        if log is not None and key is not None and said.error is None:
            try:
                log.keep(key, {"score": said.score, "reasoning": said.reasoning})
            except UnkeptError:
                raise
            except (TypeError, ValueError, RecursionError) as error:
                return failed(item.id, str(error))
        return said


def failed(item: Any, why: str) -> EvalOutputItem:
    """The entry of an item that has no score."""
    why = writable(why)
    return EvalOutputItem.trusted(id=item, score=None, reasoning={"error": f"Evaluator error: {why}"}, error=why)


def average(items: Sequence[EvalOutputItem]) -> float | None:
    """The mean of the scores that are known; None where there is none, or where one of them is no number.

    Examples
    --------
    >>> average([EvalOutputItem(id=1, score=1), EvalOutputItem(id=2, score=True), EvalOutputItem(id=3, error="no")])
    1.0
    >>> average([EvalOutputItem(id=1, score=1), EvalOutputItem(id=2, score="good")]) is None
    True
    """
    known = [item.score for item in items if item.error is None and item.score is not None]
    numbers = [float(score) for score in known if is_number(score)]
    return math.fsum(numbers) / len(numbers) if numbers and len(numbers) == len(known) else None


def is_number(score: object) -> bool:
    """Return whether a score is a number, True or False, those of NumPy included.

    Examples
    --------
    >>> is_number(True), is_number(0.5), is_number("0.5")
    (True, True, False)
    """
    return isinstance(score, int | float) or (hasattr(score, "dtype") and getattr(score.dtype, "kind", "") in "biuf")


def _awaitable(asked: Awaitable[Any]) -> Awaitable[Any]:
    if not inspect.isawaitable(asked):  # whoever wrote the class may have forgotten a word
        raise TypeError("evaluate_item is no coroutine function; write `async def evaluate_item`")
    return asked


def _sound(said: object, item: EvalInputItem) -> EvalOutputItem:
    """Check the result of `evaluate_item`: for this item, and with a valid number."""
    if not isinstance(said, EvalOutputItem):
        raise TypeError(f"evaluate_item gave a {type(said).__name__}; it is to give an EvalOutputItem")
    if said.id != item.id:
        raise ValueError(f"evaluate_item gave the id {said.id!r}; it is to give that of the item")
    if is_number(said.score) and not math.isfinite(said.score):
        raise ValueError(f"the score is {said.score}, which is no number")
    if type(said) is not EvalOutputItem:
        return said
    return EvalOutputItem.trusted(id=said.id, score=said.score, reasoning=said.reasoning, error=said.error)
