"""Metrics: functions that return a column expression which reduces a rollout's turns to one value. Polars only.

The same expression works in `group_by("rollout_id").agg(...)`, `.over("rollout_id")` and `rw.measure`. Its kind is its
dtype: Boolean is a proportion, a number a mean, `Struct{duration, observed}` a time to an event. No metric turns null,
which means unknown, into False.

Sets are tuples of the metrics registered so far, yours included: `OUTCOME, TIMING, EFFORT, CONDUCT`, and `ALL` of these. Not
in `ALL`: `TEXT` and `ANSWERS`, which read every word; `AST` and `TOOL_USE`, which need columns of their own; `EVENTS`, which
read STEPS and go into `measure_steps`.
`refused_by_rule` is not a metric but fills the column `refused`, turn by turn. The metrics of `ANSWERS` and `TOOL_USE` and
`instruction_followed` also work turn by turn, if columns are given.

Each family of metrics is a module, `metric.py` has the decorator that registers them, and `catalog.py` finds them by name.
"""

from typing import TYPE_CHECKING, Any

from rollwise.errors import meant
from rollwise.metrics import catalog
from rollwise.metrics.adversarial import (
    adversarial_toxicity_rate,
    average_adversarial_toxicity,
    average_reward,
    average_target_toxicity,
    ever_adversarial_toxicity,
    ever_target_toxicity,
    first_adversarial_toxicity_turn,
    first_target_toxicity_turn,
    highest_adversarial_toxicity,
    highest_target_toxicity,
    lowest_adversarial_toxicity,
    lowest_target_toxicity,
    target_toxicity_rate,
    time_to_target_toxicity,
    total_reward,
)
from rollwise.metrics.answers import (
    choice_match,
    exact_match,
    jaccard_similarity,
    levenshtein_similarity,
    tfidf_cosine,
    token_f1,
)
from rollwise.metrics.calibration import confidence_bin, expected_calibration_error, majority, overconfidence
from rollwise.metrics.composite import composite
from rollwise.metrics.conduct import (
    ever_refused,
    num_tool_calls,
    refusal_rate,
    refused_by_rule,
    success_after_refusal,
    time_to_refusal,
)
from rollwise.metrics.effort import (
    average,
    dollars_used,
    final,
    highest,
    num_turns,
    seconds_used,
    tokens_used,
    total,
)
from rollwise.metrics.events import (
    calls_at_once,
    model_calls,
    model_cost_usd,
    model_seconds,
    model_tokens,
    run_seconds,
    tokens_per_call,
    tool_seconds,
    tool_steps,
)
from rollwise.metrics.instructions import INSTRUCTIONS, instruction_followed, sentence_count
from rollwise.metrics.metric import metric
from rollwise.metrics.outcome import attack_success, ever, task_success, win_rate
from rollwise.metrics.step_activity import measure_steps
from rollwise.metrics.text import distinct_n, response_length
from rollwise.metrics.timing import first_turn, spent_to_success, success_within, time_to, time_to_success
from rollwise.metrics.tool_use import (
    tool_call_f1,
    tool_call_precision,
    tool_call_recall,
    tool_calls_match,
)

__all__ = [
    "ALL",
    "ANSWERS",
    "AST",
    "CONDUCT",
    "EFFORT",
    "EVENTS",
    "INSTRUCTIONS",
    "OUTCOME",
    "TEXT",
    "TIMING",
    "TOOL_USE",
    "adversarial_toxicity_rate",
    "attack_success",
    "average",
    "average_adversarial_toxicity",
    "average_reward",
    "average_target_toxicity",
    "calls_at_once",
    "catalog",
    "choice_match",
    "composite",
    "confidence_bin",
    "distinct_n",
    "dollars_used",
    "ever",
    "ever_adversarial_toxicity",
    "ever_refused",
    "ever_target_toxicity",
    "exact_match",
    "expected_calibration_error",
    "final",
    "first_adversarial_toxicity_turn",
    "first_target_toxicity_turn",
    "first_turn",
    "highest",
    "highest_adversarial_toxicity",
    "highest_target_toxicity",
    "instruction_followed",
    "jaccard_similarity",
    "levenshtein_similarity",
    "lowest_adversarial_toxicity",
    "lowest_target_toxicity",
    "majority",
    "measure_steps",
    "metric",
    "model_calls",
    "model_cost_usd",
    "model_seconds",
    "model_tokens",
    "num_tool_calls",
    "num_turns",
    "overconfidence",
    "refusal_rate",
    "refused_by_rule",
    "response_length",
    "run_seconds",
    "seconds_used",
    "sentence_count",
    "spent_to_success",
    "success_after_refusal",
    "success_within",
    "target_toxicity_rate",
    "task_success",
    "tfidf_cosine",
    "time_to",
    "time_to_refusal",
    "time_to_success",
    "time_to_target_toxicity",
    "token_f1",
    "tokens_per_call",
    "tokens_used",
    "tool_call_f1",
    "tool_call_precision",
    "tool_call_recall",
    "tool_calls_match",
    "tool_seconds",
    "tool_steps",
    "total",
    "total_reward",
    "win_rate",
]


# Other words for metrics that take arguments, or that are not metrics.
_SYNONYMS = catalog.SYNONYMS | {
    "asr_at_k": "rw.attempts",
    "last": "final",
    "max": "highest",
    "mean": "average",
    "pass_at_k": "rw.attempts",
    "sum": "total",
}


if TYPE_CHECKING:
    ALL: catalog.Metrics
    ANSWERS: catalog.Metrics
    AST: catalog.Metrics
    CONDUCT: catalog.Metrics
    EFFORT: catalog.Metrics
    EVENTS: catalog.Metrics
    OUTCOME: catalog.Metrics
    TEXT: catalog.Metrics
    TIMING: catalog.Metrics
    TOOL_USE: catalog.Metrics


def __getattr__(name: str) -> Any:
    if name in catalog.SETS:  # a set grows when a metric is registered, so it is made when it is asked for
        return catalog.in_set(name)
    words = meant(name, __all__, most=len(__all__), synonyms=_SYNONYMS)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; {words}")


def __dir__() -> list[str]:
    return __all__
