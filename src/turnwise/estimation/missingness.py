"""Every rollout is counted once for each metric: with a value, or under the first heading that says why it has none.

Of those that are half-judged it says what holds whatever they are.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from turnwise import schema
from turnwise.estimation.arrays import Sheet
from turnwise.metrics import catalog

OF_SUCCEEDED = {"attack_success", "success_within"}
FACTS = ("outcome", "ending", "attack", "goal", "task", "num_turns", "num_judged")
"""What is looked at to find the heading of a rollout."""
VALUE, INAPPLICABLE, ERROR, UNDETERMINED, HALF_JUDGED, MISSING = range(6)
Headings = NDArray[np.uint8]


def headings(sheet: Sheet, metric: str) -> Headings:
    """The heading of each rollout: uint8 (n,).

    The first that fits of `VALUE`, `INAPPLICABLE` (an attack metric without an attack, a task metric without a task),
    `ERROR`, `UNDETERMINED`, `HALF_JUDGED` (unjudged turns and no success, where one turn settles the metric) and `MISSING`.

    Examples
    --------
    >>> rows = pl.DataFrame({"rollout_id": ["a", "b"], "ending": ["error", "budget"], "attack_success": [None, None]})
    >>> counts(headings(Sheet(rows), "attack_success"))
    {'n_error': 1, 'n_undetermined': 0, 'n_missing': 1, 'n_inapplicable': 0}
    """
    known = sheet.known(metric)
    if known.all():
        return np.full(known.size, VALUE, dtype=np.uint8)
    about = catalog.about(metric)
    outcome, ending = (sheet.fact(name).cast(pl.String) for name in ("outcome", "ending"))
    turns, judged = sheet.fact("num_turns"), sheet.fact("num_judged")
    fits: list[tuple[int, pl.Series]] = [
        (UNDETERMINED, outcome == schema.UNDETERMINED),
        (ERROR, (outcome == schema.ERROR).fill_null(value=False) | (ending == schema.ERROR).fill_null(value=False)),
    ]
    if about is not None and about.any_of_turns:
        half = outcome.is_null() & (judged > 0) & (judged < turns)
        # Only `succeeded` is counted by turns; for other conditions, a null that nothing else explains is half-judged.
        everything = pl.Series([True]).new_from_index(0, len(half))
        fits.insert(0, (HALF_JUDGED, half if about.name in OF_SUCCEEDED else everything))
    if about is not None and about.concerns == "attack":
        fits.append((INAPPLICABLE, sheet.fact("attack") == schema.NO_ATTACK))
    if about is not None and about.concerns == "task":
        fits.append((INAPPLICABLE, sheet.fact("task").is_null() & sheet.fact("goal").is_not_null()))
    found = np.full(sheet.frame.height, MISSING, dtype=np.uint8)
    for heading, rows in fits:  # from the last that fits to the first, which stays
        found[rows.fill_null(value=False).to_numpy()] = heading
    found[known] = VALUE
    return found


def counts(found: Headings) -> dict[str, int]:
    """The counts of SUMMARY that stand beside `n`."""
    many = np.bincount(found, minlength=6)
    return {
        "n_error": int(many[ERROR]),
        "n_undetermined": int(many[UNDETERMINED] + many[HALF_JUDGED]),
        "n_missing": int(many[MISSING]),
        "n_inapplicable": int(many[INAPPLICABLE]),
    }


def at_the_bounds(said: str, ends: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """No point, and an interval that holds whatever half-judged rollouts are: from the least low to the largest high, or none.

    `said` tells how many are half-judged, `ends` are the estimates with all of them failures and all of them successes.

    Examples
    --------
    >>> none, some = (
    ...     {"low": low, "high": 0.4, "method": "t", "reason": why} for low, why in ((None, "flat"), (0.1, None))
    ... )
    >>> (
    ...     at_the_bounds("1 is half-judged", [some, some])["high"],
    ...     at_the_bounds("1 is half-judged", [none, some])["reason"],
    ... )
    (0.4, '1 is half-judged: no interval holds whether they are failures or successes: flat')
    """
    known = all(end[name] is not None for end in ends for name in ("low", "high"))
    ways = " and ".join(dict.fromkeys(end["method"] for end in ends if end["method"]))
    flaws = "; ".join(dict.fromkeys(end["reason"] for end in ends if end["reason"]))
    holds = f"{said}: {'the' if known else 'no'} interval holds whether they are failures or successes"
    return {
        "estimate": None,
        "std_error": None,
        "low": min(end["low"] for end in ends) if known else None,
        "high": max(end["high"] for end in ends) if known else None,
        "method": f"{ways} at the bounds" if known else None,
        "reason": f"{holds}{'; ' if known else ': '}{flaws}" if flaws else holds,
    }
