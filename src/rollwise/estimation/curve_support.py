"""Support of each position of a curve: the rollouts at risk, and how much censored rollouts could change.

An estimate by turn takes the rollouts at risk as representative of the censored ones. Two things can go wrong. If few are at
risk, a few rollouts represent many, and the interval is too narrow: fewer than ten at risk are covered in .88 to .95 of simulations
at a nominal .95, ten and more in .94 to .96 (`tests/estimation/test_curve_support.py`). And if a rollout that crashes or runs out
of its budget was closer to a success than others, or farther away from it, the estimate is biased, which no number at risk shows.
The worst-case bounds assume nothing about censored rollouts.
"""

from collections.abc import Sequence
from typing import Any

from rollwise.estimation.arrays import join_reasons
from rollwise.schema.results import LEAST_AT_RISK, LEAST_CLUSTERS_AT_RISK

PAST_THE_DATA = (
    f"fewer than {LEAST_AT_RISK} rollouts or {LEAST_CLUSTERS_AT_RISK} clusters at risk represent all that were censored: "
    "the interval may be too narrow"
)
CENSORING_MATTERS = (
    "rollouts were censored before: if their chances differ from those of the others, "
    "the share is between bound_low and bound_high"
)


def with_support(
    rows: Sequence[dict[str, Any]], *, without_time: int = 0, survival: bool = False
) -> list[dict[str, Any]]:
    """Add worst-case bounds to the rows of one curve, and the caveats that the data behind them require to `reason`.

    At each position, `bound_low` is the share if no censored rollout had the event after its censoring, and `bound_high` the share
    if all of them had it at the next position (Manski's bounds). They say nothing about sampling error. A caveat
    is added where a bound is more than half as far from the estimate as the end of the interval (a bias of one standard error
    leaves about .83 of a nominal .95), and where fewer rollouts or clusters than `schema.results.LEAST_AT_RISK` and
    `LEAST_CLUSTERS_AT_RISK` are at risk after a censoring.

    References
    ----------
    Manski (1990), Nonparametric bounds on treatment effects. American Economic Review 80:319-323; Leung, Elashoff & Afifi (1997),
    Censoring issues in survival analysis, doi:10.1146/annurev.publhealth.18.1.83.
    """
    total = (rows[0]["at_risk"] if rows else 0) + without_time
    events, censored, result = 0, 0, []
    for row in rows:
        events += row["events"]
        # Rollouts without follow-up could have had the event at any position except 0, where nothing has happened yet.
        unknown = censored + (without_time if row.get("at", 1) else 0)
        bounds = (events / total, (events + unknown) / total) if total else (None, None)
        if survival and total:
            bounds = (1 - (events + unknown) / total, 1 - events / total)
        few = censored > 0 and _few(row)
        caveats = (PAST_THE_DATA if few else None, CENSORING_MATTERS if beyond(row, bounds) else None)
        ends = {"bound_low": bounds[0], "bound_high": bounds[1]}
        result.append({**row, **ends, "reason": join_reasons(row["reason"], *caveats)})
        censored += row["censored"]
    return result


def few_at_risk(rows: Sequence[dict[str, Any]]) -> list[bool]:
    """Return whether too few are at risk at each position, after rollouts were censored."""
    censored, result = 0, []
    for row in rows:
        result.append(censored > 0 and _few(row))
        censored += row["censored"]
    return result


def _few(row: dict[str, Any]) -> bool:
    """Return whether fewer rollouts or clusters are at risk than an interval needs."""
    clusters = row.get("n_clusters")
    return row["at_risk"] < LEAST_AT_RISK or (clusters is not None and clusters < LEAST_CLUSTERS_AT_RISK)


def beyond(row: dict[str, Any], bounds: tuple[float | None, float | None]) -> bool:
    """Return whether censoring could move the share by more than half of the interval's half-width."""
    ends: tuple[Any, ...] = (row.get("estimate"), row.get("low"), row.get("high"), *bounds)
    if any(end is None for end in ends):
        return False
    estimate, low, high, least, most = ends
    return bool(estimate - least > (estimate - low) / 2 + 1e-12 or most - estimate > (high - estimate) / 2 + 1e-12)
