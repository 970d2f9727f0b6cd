"""Evaluators of trajectories in ATIF: the base class, and a harness that runs several of them on ready samples."""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from rollwise.errors import ArgumentError
from rollwise.evaluation.atif import AtifEvalSample
from rollwise.evaluation.item_evaluator import outputs_of
from rollwise.evaluation.items import EvalOutput, EvalOutputItem

logger = logging.getLogger(__name__)


@runtime_checkable
class AtifEvaluator(Protocol):
    """Anything with a coroutine function of samples that returns an `EvalOutput`."""

    async def evaluate_atif_fn(self, atif_samples: Sequence[AtifEvalSample]) -> EvalOutput:
        """Evaluate all samples."""
        ...


class AtifBaseEvaluator(ABC):
    """An evaluator that scores each item by its trajectory in ATIF, many at the same time.

    A subclass scores a sample in `evaluate_atif_item`. If that raises, the item has no score and an `error` with the reason,
    and the other items continue. In a run, items that were scored before an interruption are not scored again.

    Parameters
    ----------
    max_concurrency
        Number of samples evaluated at the same time.

    Examples
    --------
    >>> from rollwise.evaluation.atif import ATIFAgentConfig, ATIFTrajectory
    >>> class Steps(AtifBaseEvaluator):
    ...     async def evaluate_atif_item(self, sample):
    ...         return EvalOutputItem(id=sample.item_id, score=len(sample.trajectory.steps), reasoning="steps")
    >>> trajectory = ATIFTrajectory(
    ...     agent=ATIFAgentConfig(name="calculator", version="1.0"), steps=[{"step_id": 1, "source": "agent"}]
    ... )
    >>> asyncio.run(Steps().evaluate_atif_fn([AtifEvalSample(item_id=1, trajectory=trajectory)])).average_score
    1.0
    """

    def __init__(self, max_concurrency: int = 4) -> None:
        if max_concurrency < 1:
            raise ArgumentError(f"max_concurrency is {max_concurrency}; give 1 or more")
        self.max_concurrency = max_concurrency

    @abstractmethod
    async def evaluate_atif_item(self, sample: AtifEvalSample) -> EvalOutputItem:
        """Evaluate one sample; the result has the sample's `item_id`."""

    async def evaluate_atif_fn(self, atif_samples: Sequence[AtifEvalSample]) -> EvalOutput:
        """Evaluate every sample, in order, and return the average."""
        return await outputs_of(atif_samples, self.evaluate_atif_item, self.max_concurrency, "Evaluating")


class EvaluationHarness:
    """Runs several evaluators on the same samples at the same time, without a configuration file.

    Parameters
    ----------
    logger_instance
        Where failures are logged; by default the logger of this module.

    Examples
    --------
    >>> class Sure:
    ...     async def evaluate_atif_fn(self, samples):
    ...         return EvalOutput(average_score=1.0, eval_output_items=[EvalOutputItem(id=1, score=1.0)])
    >>> asyncio.run(EvaluationHarness().evaluate({"sure": Sure()}, []))["sure"].average_score
    1.0
    """

    def __init__(self, logger_instance: logging.Logger | None = None) -> None:
        self._logger = logger_instance or logger

    async def evaluate(
        self, evaluators: Mapping[str, Any], atif_samples: Sequence[AtifEvalSample]
    ) -> dict[str, EvalOutput]:
        """Return the output of each evaluator by its name; one that fails is logged and left out, and None is passed over."""
        named = {name: evaluator for name, evaluator in evaluators.items() if evaluator}
        outputs = await asyncio.gather(*(self._output(name, named[name], atif_samples) for name in named))
        return {name: output for name, output in zip(named, outputs, strict=True) if output is not None}

    async def _output(self, name: str, evaluator: Any, samples: Sequence[AtifEvalSample]) -> EvalOutput | None:
        evaluate = getattr(evaluator, "evaluate_atif_fn", None)
        if not callable(evaluate):
            self._logger.warning("evaluator %s is left out: it has no function `evaluate_atif_fn`", name)
            return None
        try:
            output: EvalOutput = await evaluate(samples)
        except Exception:
            self._logger.exception("evaluator %s failed and is left out", name)
            return None
        return output
