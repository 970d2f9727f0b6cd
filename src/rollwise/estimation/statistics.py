"""The statistics that `summarize` has by name, and the options that each kind of them takes."""

import re
from collections.abc import Sequence

from rollwise.errors import ArgumentError, either
from rollwise.estimation.samples import Options
from rollwise.schema.arguments import check_resamples
from rollwise.stats.robust import Aggregate
from rollwise.stats.statistics import A_QUANTILE, OVER_GOALS, SUMMARIZED, quantile_of

_AGGREGATES: tuple[Aggregate, ...] = ("iqm", "optimality_gap", "mean", "median")
AGGREGATES = dict(zip(OVER_GOALS, _AGGREGATES, strict=True))
"""The aggregate of each statistic over goals."""
GAP = re.compile(r"optimality_gap_(-?\d+(?:\.\d+)?)")
"""The optimality gap below another number than 1."""
WITHIN_GOALS = "within-goals"
"""The method that draws rollouts within each goal."""
POOLED = "beta-binomial"
"""The method that draws the chances of all goals from one distribution, so that no goal dominates."""


def is_robust(statistic: str) -> bool:
    """Return whether this is the name of an aggregate over goals."""
    return statistic in AGGREGATES or GAP.fullmatch(statistic) is not None


def robust_of(names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the aggregates over goals among the names."""
    return tuple(name for name in names or () if is_robust(name))


def check_statistics(names: tuple[str, ...] | None, options: Options) -> None:
    """Raise an error for a statistic that is unknown, or that an option has no meaning for."""
    robust = robust_of(names)
    for name in names or ():
        if name not in {*SUMMARIZED, *robust} and quantile_of(name) is None:
            choices = either((*SUMMARIZED, A_QUANTILE, "a function of your own in {'name': function}"))
            raise ArgumentError(f"summarize: statistic {name!r} is unknown; it is {choices}")
    if robust:
        _check_options_of_robust(robust, options)
    if options.method == WITHIN_GOALS and (names is None or len(robust) < len(names)):
        raise ArgumentError(
            f"summarize: only {', '.join(AGGREGATES)} have method={WITHIN_GOALS!r}; name them in statistics=, without others"
        )
    if options.method == POOLED and names not in {None, ("mean",)}:
        raise ArgumentError(f"summarize: method={POOLED!r} is for the mean of a share; leave statistics= out")
    check_resamples(options.resamples, "summarize")


def _check_options_of_robust(names: Sequence[str], options: Options) -> None:
    for option, value, choices in (
        ("weighting", options.weighting, ("rollout", "goal")),
        ("method", options.method, ("auto", WITHIN_GOALS)),
        ("unjudged", options.unjudged, ("bounds", "drop", "sample")),
        ("strata", options.strata, (None,)),
    ):
        if value not in choices:
            listed = either([repr(choice) for choice in choices])
            raise ArgumentError(f"summarize: {', '.join(names)} cannot have {option}={value!r}; it is {listed}")


def check_options_of_functions(**options: object) -> None:
    """Raise an error for an option that functions of the user do not use."""
    defaults = {"weighting": "rollout", "unjudged": "bounds", "margins": False, "merge": False}
    for name, value in options.items():
        if value != defaults[name]:
            raise ArgumentError(
                f"summarize: {name}={value!r} has no meaning for functions of your own; leave it out, or name a statistic"
            )
