"""The samples of an Inspect log as rollouts: what is known of each beside its turns, by column."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar

from turnwise.readers.columns import Columns
from turnwise.readers.formats.inspect.logs import Epoch, Header, Limit, Mark, Score, Spec, Summary, Usage
from turnwise.readers.records import json_text, parse, total, worded
from turnwise.readers.sources.documents import Document
from turnwise.schema import BUDGET, ERROR, FINISHED, NO_ATTACK

BESIDE = ("answer", "explanation", "reason", "metadata", "history")  # of a score, beside its value
NESTED = ("metadata", "history")
WORDS = {"C": True, "I": False, "yes": True, "no": False, "true": True, "false": False, "1": True, "0": False}

Number = TypeVar("Number", int, float)


def run_of(spec: Spec, document: Document) -> str:
    """The name of the run that a log holds."""
    return spec.eval_id or "-".join(filter(None, (spec.run_id, spec.task_id))) or f"inspect-{document.digest}"


def facts_of(log: Header, run: str, samples: Sequence[Epoch | Summary]) -> dict[str, list[Any]]:
    """The facts of some samples, and whatever else the log says of them, a column each.

    Raises
    ------
    BrokenError
        Where a count of one of them is none.
    """
    spec, count = log.eval, len(samples)
    usage = [_usage(sample.model_usage, spec.model) for sample in samples]
    scores = [_scores_of(sample) for sample in samples]
    first, *later = [scorer.name for scorer in spec.scorers or []] or [""]
    others = {*later} - {first}
    return {
        "run": [run] * count,
        "target": [spec.model] * count,
        "attack": [NO_ATTACK] * count,
        "task": [f"{spec.task}/{sample.id}" for sample in samples],
        "attempt": [sample.epoch for sample in samples],
        "expected": [worded(sample.target) for sample in samples],
        "ending": [_ending(sample) for sample in samples],
        "solved": [_solved(given, others) for given in scores],
        "total_tokens": [total((used.total_tokens for used in known), "model_usage") for known in usage],
        "total_seconds": [sample.total_time for sample in samples],
        "total_cost_usd": [_sum(used.total_cost for used in known) for known in usage],
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
        role: given["model"] if isinstance(given, dict) and "model" in given else given for role, given in roles.items()
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


def _scores_of(sample: Epoch | Summary) -> Mapping[str, Score | Mark]:
    old = {} if sample.score is None else {"score": sample.score}
    return old if sample.scores is None else sample.scores


def _solved(scores: Mapping[str, Score | Mark], others: AbstractSet[str]) -> bool | None:
    """Return whether the run's first scorer says so: where it gave none, the first score of a sample is one of the others'."""
    name = next(iter(scores), None)
    if name is None or name in others:
        return None
    value = scores[name].value
    if isinstance(value, str):
        return WORDS.get(value, WORDS.get(value.lower()))
    return bool(value) if isinstance(value, int | float) and value in {0, 1} else None


def _usage(given: Any, target: str) -> list[Usage]:
    known = parse(given or {}, dict) if not isinstance(given, dict) else given
    used = {
        name: parse(value, Usage, "[...]") for name, value in known.items()
    }  # one by one: twice as fast as all at once
    return [used[target]] if target in used else list(used.values())


def _sum(values: Iterable[Number | None]) -> Number | None:
    counts = [value for value in values if value is not None]
    return sum(counts[1:], counts[0]) if counts else None


def _scored(scores: Iterable[Mapping[str, Score | Mark]]) -> dict[str, list[Any]]:
    found = Columns()
    for given in scores:
        found.append(_columns_of(given))
    return found.padded()


def _columns_of(scores: Mapping[str, Score | Mark]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, score in scores.items():
        if isinstance(score.value, dict):
            found |= {f"score_{name}_{key}": value for key, value in score.value.items()}
        else:
            found[f"score_{name}"] = score.value
        for kind in BESIDE:
            value = getattr(score, kind)
            told = json_text(value or None) if kind in NESTED else value
            if told is not None:
                found[f"{kind}_{name}"] = told
    return found
