"""Sharp bounds of success within k attempts, for goals with fewer attempts and attempts without a verdict."""

from typing import Any

import numpy as np

from rollwise.errors import plural
from rollwise.estimation.curve_support import beyond
from rollwise.estimation.trials import Attempts
from rollwise.stats.estimate import BoolArray

_FEWER = (
    "if the chances of {goals} with fewer attempts differ from those of the others, the share is between bound_low and "
    "bound_high"
)
_Ends = tuple[float | None, float | None]


def bounds_of(
    repeats: Attempts, kind: str, k: int, unknown: BoolArray, row: dict[str, Any], *, stops: bool
) -> tuple[_Ends, str | None]:
    """Return the smallest and the largest share that is possible, and the caveat if goals with fewer attempts could move it.

    At the lower bound no unknown attempt succeeds, and none that a goal lacks; at the upper bound all do. A row without
    goals, or whose estimate is not a share, has no bounds.

    References
    ----------
    Manski (1990), Nonparametric bounds on treatment effects. American Economic Review 80:319-323.
    """
    if not repeats.share or (stops and kind == "pass^k"):
        return (None, None), None
    # Without unknown attempts, only the attempts that goals lack widen the bounds.
    of_fewer = _ends(repeats, kind, k, np.zeros_like(unknown), stops=stops)
    caveat = _FEWER.format(goals=plural(repeats.noun)) if beyond(row, of_fewer) else None
    return _ends(repeats, kind, k, unknown, stops=stops) if unknown.any() else of_fewer, caveat


def _ends(repeats: Attempts, kind: str, k: int, unknown: BoolArray, *, stops: bool) -> _Ends:
    ends = []
    for value in (0.0, 1.0):
        filled = repeats.with_values(np.where(unknown, value, repeats.values))
        ends.append(_of_loops(filled, k, value) if stops else _of_goals(filled, kind, k, value))
    return ends[0], ends[1]


def _of_goals(repeats: Attempts, kind: str, k: int, further: float) -> float | None:
    """Return the mean over goals, with this outcome of all attempts that a goal lacks."""
    successes, judged = repeats.counts
    settled = successes < judged if kind == "pass^k" else successes > 0
    # One failure settles pass^k, and one success the others, whatever the further attempts are.
    for_missing = np.where(settled, float(kind != "pass^k"), further)
    chances = repeats.chances(kind, k)
    shares = np.where(np.isnan(chances), for_missing, chances)[judged > 0]
    return float(shares.mean()) if shares.size else None


def _of_loops(repeats: Attempts, k: int, further: float) -> float | None:
    """Return the share of loops with a success by attempt k, with this outcome of all attempts that a loop lacks."""
    duration, succeeded, _ = repeats.follow_up()
    reached = (succeeded == 1) & (duration <= k)
    if further:
        reached |= (succeeded == 0) & (duration < k)
    return float(reached.mean()) if reached.size else None
