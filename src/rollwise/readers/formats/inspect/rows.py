"""Facts and scores of the samples of an Inspect AI log, by column."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar

from rollwise.readers.columns import Columns
from rollwise.readers.common import zero_or_one
from rollwise.readers.formats.inspect.logs import (
    TARGET,
    BareScore,
    Epoch,
    Header,
    Limit,
    Score,
    Spec,
    Summary,
    Usage,
)
from rollwise.readers.records import json_text, parse, total, worded
from rollwise.readers.sources.documents import Document
from rollwise.schema import BUDGET, ERROR, FINISHED, NO_ATTACK

SCORE_FIELDS = ("answer", "explanation", "reason", "metadata", "history")  # fields of a score other than its value
NESTED = ("metadata", "history")  # the same, written as JSON text
PETRI = "petri"  # the attack of every audit, as in the transcripts of Petri 1
WORDS = {"C": True, "I": False, "yes": True, "no": False, "true": True, "false": False, "1": True, "0": False}

Number = TypeVar("Number", int, float)


def run_of(spec: Spec, document: Document) -> str:
    """Return the name of the run in a log."""
    return spec.eval_id or "-".join(filter(None, (spec.run_id, spec.task_id))) or f"inspect-{document.digest}"


def names_of(spec: Spec, samples: Sequence[Epoch | Summary]) -> list[list[str | None]]:
    """Return the names that samples keep in the logs of retries, by kind: the `uuid` of a copy, the place in the task of any."""
    task = f"{spec.task_id}/{spec.target}"
    places = [f"{task}/{sample.id}/{sample.epoch}" if spec.task_id else None for sample in samples]
    return [[sample.uuid for sample in samples], places]


def facts_of(log: Header, run: str, samples: Sequence[Epoch | Summary]) -> dict[str, list[Any]]:
    """Return the facts of samples and all other fields that the log has of them, by column."""
    spec, count = log.eval, len(samples)
    usage = [_usage(sample, spec) for sample in samples]
    scores = [_scores_of(sample) for sample in samples]
    # The first scorer of the run decides; a sample that it did not score has no verdict.
    first, *later = [scorer.name for scorer in spec.scorers or []] or [""]
    other_scorers = {*later} - {first}
    return {
        "run": [run] * count,
        "target": [spec.target] * count,
        "attack": [PETRI if spec.is_audit else NO_ATTACK] * count,
        "task": [f"{spec.task}/{sample.id}" for sample in samples],
        "attempt": [sample.epoch for sample in samples],
        "expected": [worded(sample.target) for sample in samples],
        "ending": [_ending(sample) for sample in samples],
        "solved": [_solved(sample_scores, other_scorers) for sample_scores in scores],
        "total_tokens": [total((model.total_tokens for model in models), "model_usage") for models in usage],
        "total_seconds": [sample.total_time for sample in samples],
        "total_cost_usd": [_sum(model.total_cost for model in models) for models in usage],
        "task_name": [spec.task] * count,
        "sample_id": [str(sample.id) for sample in samples],
        "status": [log.status] * count,
        "created": [spec.created] * count,
        "solver": [spec.solver] * count,
        "run_id": [spec.run_id] * count,
        "task_id": [spec.task_id] * count,
        "uuid": [sample.uuid for sample in samples],
        "started_at": [sample.started_at for sample in samples],
        "completed_at": [sample.completed_at for sample in samples],
        "working_time": [sample.working_time for sample in samples],
        "stop_reason": [_stop_reason(sample) for sample in samples],
        "limit": [sample.limit.type if isinstance(sample.limit, Limit) else sample.limit for sample in samples],
        "error_retries": [sample.retries for sample in samples],
        "model_roles": [json_text(_models(spec.model_roles) or None)] * count,
        "task_args": [json_text(spec.task_args or None)] * count,
        "tags": [json_text(spec.tags or None)] * count,
        "eval_metadata": [json_text(spec.metadata or None)] * count,
        # Empty objects and lists mean the same as null.
        "metadata": [json_text(sample.metadata or None) for sample in samples],
        "choices": [json_text(sample.choices or None) for sample in samples],
        "model_usage": [json_text(sample.model_usage or None) for sample in samples],
        "invalidation": [json_text(sample.invalidation or None) for sample in samples],
        **_scored(scores),
    }


def _models(roles: Any) -> Any:
    """Return the model of each role, without its settings."""
    if not isinstance(roles, dict):
        return roles
    return {
        role: model["model"] if isinstance(model, dict) and "model" in model else model for role, model in roles.items()
    }


def fault_of(sample: Epoch) -> str | None:
    """Return the error that halted a sample or its last model call."""
    if sample.error is None:
        return None if sample.output is None else sample.output.error
    return sample.error if isinstance(sample.error, str) else sample.error.message


def _ending(sample: Epoch | Summary) -> str:
    if sample.error is not None:
        return ERROR
    return FINISHED if sample.limit is None else BUDGET


def _stop_reason(sample: Epoch | Summary) -> str | None:
    return sample.output.choices[0].stop_reason if sample.output is not None and sample.output.choices else None


def _scores_of(sample: Epoch | Summary) -> Mapping[str, Score | BareScore]:
    # The oldest logs have one score instead of scores by name.
    old = {} if sample.score is None else {"score": sample.score}
    return old if sample.scores is None else sample.scores


def _solved(scores: Mapping[str, Score | BareScore], other_scorers: AbstractSet[str]) -> bool | None:
    """Return the verdict of the run's first scorer; null where a sample has only scores of others."""
    name = next(iter(scores), None)
    if name is None or name in other_scorers:
        return None
    value = scores[name].value
    if isinstance(value, str):
        return WORDS.get(value, WORDS.get(value.lower()))
    return zero_or_one(value)


def _usage(sample: Epoch | Summary, spec: Spec) -> list[Usage]:
    """Return the usage of the target; where the log has none of it, that of each model."""
    # One model may have several roles.
    if isinstance(sample.role_usage, dict) and TARGET in sample.role_usage:
        return [parse(sample.role_usage[TARGET], Usage, "role_usage")]
    if spec.is_audit:  # the usage of the other models is none of the target's
        return []
    records = sample.model_usage if isinstance(sample.model_usage, dict) else parse(sample.model_usage or {}, dict)
    by_model = {name: parse(value, Usage, "[...]") for name, value in records.items()}
    return [by_model[spec.target]] if spec.target in by_model else list(by_model.values())


def _sum(values: Iterable[Number | None]) -> Number | None:
    counts = [value for value in values if value is not None]
    return sum(counts[1:], counts[0]) if counts else None


def _scored(scores: Iterable[Mapping[str, Score | BareScore]]) -> dict[str, list[Any]]:
    columns = Columns()
    for sample_scores in scores:
        columns.append(_columns_of(sample_scores))
    return columns.padded()


def _columns_of(scores: Mapping[str, Score | BareScore]) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for name, score in scores.items():
        # A scorer with several values makes a column for each.
        if isinstance(score.value, dict):
            columns |= {f"score_{name}_{key}": value for key, value in score.value.items()}
        else:
            columns[f"score_{name}"] = score.value
        for kind in SCORE_FIELDS:
            value = getattr(score, kind)
            content = json_text(value or None) if kind in NESTED else value
            if content is not None:
                columns[f"{kind}_{name}"] = content
    return columns
