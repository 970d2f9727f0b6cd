"""What a record says of its whole rollout under a name that a column of turns has: its reward, cost, time and tokens.

A reward for the rollout is that of its last turn, as in the logs of trainers, and the others are null; cost, time and tokens
are the totals of the rollout. So none of them is multiplied by the number of turns. Where the turns have rewards, the record's
stays a column of its own: whether it is their sum or something else, only the user knows.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rollwise.readers.roles.names import role_of

TOTALS = {"cost_usd": "total_cost_usd", "seconds": "total_seconds"}  # a column of turns, and the fact that sums it
TOKENS = ("prompt_tokens", "response_tokens")  # whose sum is `total_tokens`
NAMES = frozenset({"reward", *TOTALS, *TOKENS})
SOURCES = {"total_tokens": TOKENS, **{total: (name,) for name, total in TOTALS.items()}}


def of_rollout(record: Mapping[str, Any], *, has_rewards: bool = False) -> tuple[Mapping[str, Any], float | None]:
    """Return a record with its totals under the names that rollouts have, and its reward apart, unless its turns have rewards.

    Examples
    --------
    >>> of_rollout({"goal": "g", "reward": 1, "cost_usd": 0.5})
    ({'goal': 'g', 'total_cost_usd': 0.5}, 1.0)
    >>> of_rollout({"reward": 1, "prompt_tokens": 3, "response_tokens": 4}, has_rewards=True)
    ({'reward': 1, 'prompt_tokens': 3, 'response_tokens': 4, 'total_tokens': 7}, None)
    """
    if NAMES.isdisjoint(record):
        return record, None
    said, reward = dict(record), None
    if not has_rewards and _is_number(said.get("reward")):
        reward = float(said.pop("reward"))
    for name, total in TOTALS.items():
        if said.get(total) is None and _is_number(said.get(name)):
            said[total] = said.pop(name)
    counts = [said.get(name) for name in TOKENS]
    if said.get("total_tokens") is None and all(type(count) is int for count in counts):
        said["total_tokens"] = sum(count for count in counts if count is not None)
    return said, reward


def of_request(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record that is several rollouts, with its reward and amounts under names that say that they are of all together.

    Examples
    --------
    >>> of_request({"goal": "g", "cost": 0.5, "latency_ms": 20})
    {'goal': 'g', 'request_cost': 0.5, 'latency_ms': 20}
    """
    shared = {name for name in record if name in {"reward", *TOKENS} or role_of(name) in {"cost", "tokens"}}
    return {f"request_{name}" if name in shared else name: value for name, value in record.items()}


def on_last_turns(rewards: Sequence[float | None], counts: Sequence[int]) -> list[float | None]:
    """Return a reward for each turn of several rollouts, whose numbers of rows are given: that of the rollout on its last one.

    Examples
    --------
    >>> on_last_turns([1.0, 0.5], [2, 1])
    [None, 1.0, 0.5]
    """
    return [
        reward if place == count else None
        for reward, count in zip(rewards, counts, strict=True)
        for place in range(1, count + 1)
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
