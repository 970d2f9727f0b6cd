"""Comparisons: which is better? The best rows, the front, what attacks reach together, and curves side by side.

`best` and `pareto` select rows of any result frame. `profile`, `portfolio` and `tradeoff` compare the rollouts of groups in
frames of their own, and `curve_difference` and `curve_test` compare two curves. The difference of two groups in one metric is
`rw.contrast`.
"""

from rollwise.comparisons.curve_difference import curve_difference, curve_test
from rollwise.comparisons.portfolio import portfolio
from rollwise.comparisons.profile import profile
from rollwise.comparisons.selection import best, pareto
from rollwise.comparisons.tradeoff import tradeoff

__all__ = ["best", "curve_difference", "curve_test", "pareto", "portfolio", "profile", "tradeoff"]


def __dir__() -> list[str]:
    return __all__
