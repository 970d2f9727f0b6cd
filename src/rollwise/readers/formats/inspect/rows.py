"""Facts and scores of the samples of an Inspect AI log."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

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


def names_of(spec: Spec, sample: Epoch | Summary) -> list[str | None]:
    """Return the names that a sample keeps in the logs of retries: the `uuid` of a copy, the place in the task of any."""
    return [sample.uuid, f"{spec.task_id}/{spec.target}/{sample.id}/{sample.epoch}" if spec.task_id else None]


def facts_of(log: Header, run: str, sample: Epoch | Summary) -> dict[str, Any]:
    """Return the facts of a sample and all other fields that the log has of it."""
    spec, is_audit, target = log.eval, log.eval.is_audit, log.eval.target
    usage = _usage(sample, target, is_audit=is_audit)
    # The oldest logs have one score instead of scores by name.
    old = {} if sample.score is None else {"score": sample.score}
    scores: Mapping[str, Score | BareScore] = old if sample.scores is None else sample.scores
    choices = None if sample.output is None else sample.output.choices
    return {
        "run": run,
        "target": target,
        "attack": PETRI if is_audit else NO_ATTACK,
        "task": f"{spec.task}/{sample.id}",
        "attempt": sample.epoch,
        "expected": worded(sample.target),
        "ending": ERROR if sample.error is not None else FINISHED if sample.limit is None else BUDGET,
        "solved": _solved(scores, spec),
        "total_tokens": total((model.total_tokens for model in usage), "model_usage"),
        "total_seconds": sample.total_time,
        "total_cost_usd": _sum(model.total_cost for model in usage),
        "task_name": spec.task,
        "sample_id": str(sample.id),
        "status": log.status,
        "created": spec.created,
        "solver": spec.solver,
        "run_id": spec.run_id,
        "task_id": spec.task_id,
        "uuid": sample.uuid,
        "started_at": sample.started_at,
        "completed_at": sample.completed_at,
        "working_time": sample.working_time,
        "stop_reason": choices[0].stop_reason if choices else None,
        "limit": sample.limit.type if isinstance(sample.limit, Limit) else sample.limit,
        "error_retries": sample.retries,
        "model_roles": json_text(_models(spec.model_roles) or None),
        "task_args": json_text(spec.task_args or None),
        "tags": json_text(spec.tags or None),
        "eval_metadata": json_text(spec.metadata or None),
        # Empty objects and lists mean the same as null.
        "metadata": json_text(sample.metadata or None),
        "choices": json_text(sample.choices or None),
        "model_usage": json_text(sample.model_usage or None),
        "invalidation": json_text(sample.invalidation or None),
        **_columns_of(scores),
        **_judge_reason(scores, spec),
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


def _solved(scores: Mapping[str, Score | BareScore], spec: Spec) -> bool | None:
    """Return the verdict of the run's first scorer, which decides; null where a sample has only scores of others."""
    score = _deciding(scores, spec)
    if score is None:
        return None
    value = score.value
    if isinstance(value, str):
        return WORDS.get(value, WORDS.get(value.lower()))
    return zero_or_one(value)


def _deciding(scores: Mapping[str, Score | BareScore], spec: Spec) -> Score | BareScore | None:
    """Return the score of the run's first scorer, or the only one of a log that does not list its scorers."""
    first, *later = [scorer.name for scorer in spec.scorers or []] or [""]
    name = next(iter(scores), None)
    return None if name is None or (name in later and name != first) else scores[name]


def _judge_reason(scores: Mapping[str, Score | BareScore], spec: Spec) -> dict[str, str]:
    """Return why the scorer that decides gave its score, where it says so."""
    score = _deciding(scores, spec)
    reason = None if score is None else score.explanation
    return {"judge_reason": reason} if isinstance(reason, str) and reason else {}


def _usage(sample: Epoch | Summary, target: str, *, is_audit: bool) -> list[Usage]:
    """Return the usage of the target; where the log has none of it, that of each model."""
    # One model may have several roles.
    if isinstance(sample.role_usage, dict) and TARGET in sample.role_usage:
        return [parse(sample.role_usage[TARGET], Usage, "role_usage")]
    if is_audit:  # other models use tokens of their own, not the target's
        return []
    records = sample.model_usage if isinstance(sample.model_usage, dict) else parse(sample.model_usage or {}, dict)
    by_model = {name: parse(value, Usage, "[...]") for name, value in records.items()}
    return [by_model[target]] if target in by_model else list(by_model.values())


def _sum(values: Iterable[Number | None]) -> Number | None:
    counts = [value for value in values if value is not None]
    return sum(counts[1:], counts[0]) if counts else None


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
