"""Every Eval Ever: the results of an evaluation as figures, and the verdicts on its samples."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from rollwise.readers.common import is_object
from rollwise.readers.formats.exchange import every_eval_ever
from rollwise.readers.formats.exchange.every_eval_ever import METADATA_KEY, kept_text
from rollwise.readers.problems import BrokenError, Problems
from rollwise.readers.records import Finite, Integer, parse
from rollwise.readers.sources.documents import Document

FIELDS = frozenset({"evaluation_id", "source_metadata", "model_info", "evaluation_results"})


class Model(msgspec.Struct):
    """The model that was evaluated."""

    id: str
    name: str | None = None

    @property
    def target(self) -> str:
        """The id; the name, where the id only adds that the developer is unknown."""
        return self.name if self.name is not None and self.id == f"unknown/{self.name}" else self.id


class StandardError(msgspec.Struct):
    """The standard error of a score."""

    value: Finite
    method: str | None = None


class Interval(msgspec.Struct):
    """The confidence interval of a score."""

    lower: Finite
    upper: Finite
    confidence_level: float | None = None
    method: str | None = None


class Uncertainty(msgspec.Struct):
    """Uncertainty of a score."""

    standard_error: StandardError | None = None
    confidence_interval: Interval | None = None
    num_samples: Integer | None = None
    num_bootstrap_samples: Integer | None = None


class ScoreDetails(msgspec.Struct):
    """A score."""

    score: Finite
    uncertainty: Uncertainty | None = None
    details: dict[str, Any] | None = None


class Metric(msgspec.Struct):
    """The metric of a score."""

    lower_is_better: bool | None = None
    metric_id: str | None = None
    metric_name: str | None = None
    metric_unit: str | None = None


class Result(msgspec.Struct):
    """One result of an evaluation."""

    evaluation_name: str
    score_details: ScoreDetails
    metric_config: Metric
    evaluation_result_id: str | None = None


class Evaluation(msgspec.Struct):
    """All results of one evaluation of one model."""

    evaluation_id: str
    model_info: Model
    evaluation_results: list[Any]


def is_evaluation(document: Document) -> bool:
    """Return whether the file holds the results of an evaluation, without its samples."""
    return is_object(document) and document.keys >= FIELDS


def figures(document: Document, problems: Problems) -> Iterator[dict[str, Any]]:
    """Yield the figure of each result."""
    evaluation = parse(document.value, Evaluation)
    for place, value in enumerate(evaluation.evaluation_results):
        with problems.record(document.name, f"evaluation_results[{place}]"):
            result = parse(value, Result)
            metric, details = result.metric_config, result.score_details
            uncertainty = details.uncertainty or Uncertainty()
            interval, error = uncertainty.confidence_interval, uncertainty.standard_error
            yield {
                "run": evaluation.evaluation_id,
                "target": evaluation.model_info.target,
                "task": result.evaluation_name,
                "metric": metric.metric_id or metric.metric_name or result.evaluation_name,
                "result": result.evaluation_result_id,
                "unit": metric.metric_unit,
                "lower_is_better": metric.lower_is_better,
                "estimate": details.score,
                "std_error": None if error is None else error.value,
                "low": None if interval is None else interval.lower,
                "high": None if interval is None else interval.upper,
                "level": None if interval is None else interval.confidence_level,
                "n": uncertainty.num_samples,
                "resamples": uncertainty.num_bootstrap_samples,
                "method": (interval and interval.method) or (error and error.method) or "reported by every_eval_ever",
                **_stored(details.details or {}),
            }


def _stored(details: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of SUMMARY that rollwise kept beside its score."""
    text = kept_text(details, "score_details.details", "estimand")
    try:
        row = json.loads(text) if isinstance(text, str) else {}
    except ValueError as error:
        raise BrokenError(
            "is not the JSON text that rollwise wrote", field=f"score_details.details.{METADATA_KEY}"
        ) from error
    return row if isinstance(row, dict) else {}


def verdicts(document: Document, problems: Problems) -> Iterator[dict[str, Any]]:
    """Yield the verdict of each record, under the name of the result that it counts in."""
    metrics = every_eval_ever.metrics_of(document)
    for sample in every_eval_ever.samples(document, problems):
        for record in sample.records:
            score = every_eval_ever.score_of(record, metrics.get(record.result, {}))
            is_correct = record.evaluation.is_correct
            yield {
                "rollout_id": sample.rollout_id,
                "judge": record.result,
                "value": score,
                "label": None if score is None or is_correct is None else "correct" if is_correct else "incorrect",
                "error": record.error,
                "target": record.model_id,
                "task": f"{record.evaluation_name}/{record.sample_id}",
                "attempt": sample.attempt,
            }
