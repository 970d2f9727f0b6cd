"""Functions that return column expressions, each of which reduces a rollout's turns to one value. Polars only.

The same expression serves `group_by("rollout_id").agg(...)`, `.over("rollout_id")` and `tw.measure`. Its kind is
its dtype: Boolean is a proportion, a number a mean, `Struct{duration, observed}` a time to an event. Unknown stays
unknown: no metric turns null into False.

Sets are tuples: `OUTCOME, TIMING, EFFORT, CONDUCT`, and `ALL` of these. `TEXT` reads every word and `AST` needs columns
of scores, so `ALL` holds neither. `refused_by_rule` is no metric: it fills the column `refused`, turn by turn.
"""

from turnwise.metrics import catalog
from turnwise.metrics.adversarial import (
    AST,
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
from turnwise.metrics.catalog import ALL
from turnwise.metrics.conduct import (
    CONDUCT,
    ever_refused,
    num_tool_calls,
    refusal_rate,
    refused_by_rule,
    success_after_refusal,
    time_to_refusal,
)
from turnwise.metrics.effort import (
    EFFORT,
    average,
    dollars_used,
    final,
    highest,
    num_turns,
    seconds_used,
    tokens_used,
    total,
)
from turnwise.metrics.metric import metric
from turnwise.metrics.outcome import OUTCOME, attack_success, ever, task_success
from turnwise.metrics.text import TEXT, distinct_n, response_length
from turnwise.metrics.timing import TIMING, first_turn, spent_to_success, success_within, time_to, time_to_success

__all__ = [
    "ALL",
    "AST",
    "CONDUCT",
    "EFFORT",
    "OUTCOME",
    "TEXT",
    "TIMING",
    "adversarial_toxicity_rate",
    "attack_success",
    "average",
    "average_adversarial_toxicity",
    "average_reward",
    "average_target_toxicity",
    "catalog",
    "distinct_n",
    "dollars_used",
    "ever",
    "ever_adversarial_toxicity",
    "ever_refused",
    "ever_target_toxicity",
    "final",
    "first_adversarial_toxicity_turn",
    "first_target_toxicity_turn",
    "first_turn",
    "highest",
    "highest_adversarial_toxicity",
    "highest_target_toxicity",
    "lowest_adversarial_toxicity",
    "lowest_target_toxicity",
    "metric",
    "num_tool_calls",
    "num_turns",
    "refusal_rate",
    "refused_by_rule",
    "response_length",
    "seconds_used",
    "spent_to_success",
    "success_after_refusal",
    "success_within",
    "target_toxicity_rate",
    "task_success",
    "time_to",
    "time_to_refusal",
    "time_to_success",
    "time_to_target_toxicity",
    "tokens_used",
    "total",
    "total_reward",
]
