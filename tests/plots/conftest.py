"""Finished frames made by hand, as `summarize` and `curve` would give them."""

from collections.abc import Callable, Iterator, Sequence
from math import sqrt
from typing import Any

import matplotlib as mpl
import polars as pl
import pytest
from matplotlib import pyplot as plt

from rollwise import schema

mpl.use("Agg")

Z = {0.5: 0.674, 0.8: 1.282, 0.9: 1.645, 0.95: 1.96}


def wilson(k: float, n: int, level: float) -> tuple[float, float]:
    z = Z[level]
    share, spread = k / n, z * z / n
    middle = (share + spread / 2) / (1 + spread)
    half = z * sqrt(share * (1 - share) / n + spread / (4 * n)) / (1 + spread)
    return (0.0 if k == 0 else middle - half), (1.0 if k == n else middle + half)


def rate_row(k: int, n: int, *, level: float = 0.95, clusters: int = 20, **more: Any) -> dict[str, Any]:
    """A row of a Boolean metric, k of n."""
    low, high = wilson(k, n, level)
    return {
        "metric": "attack_success",
        "statistic": "mean",
        "level": level,
        "estimate": k / n,
        "std_error": sqrt(k / n * (1 - k / n) / n),
        "low": low,
        "high": high,
        "bound_low": k / n,
        "bound_high": k / n,
        "n": n,
        "n_error": 0,
        "n_undetermined": 0,
        "n_missing": 0,
        "n_inapplicable": 0,
        "n_clusters": clusters,
        "method": "clustered Wilson",
        "estimand": "mean of attack_success over rollouts; unit: goal",
    } | more


def number_row(
    estimate: float, half: float, *, metric: str = "num_turns", statistic: str = "mean", **more: Any
) -> dict[str, Any]:
    """A row of a numeric metric."""
    return {
        "metric": metric,
        "statistic": statistic,
        "level": 0.95,
        "estimate": estimate,
        "low": estimate - half,
        "high": estimate + half,
        "n": 100,
        "n_clusters": 20,
        "method": "cluster BCa",
        "estimand": "mean of num_turns over rollouts; unit: goal",
    } | more


def to_summary(rows: Sequence[dict[str, Any]], **dtypes: Any) -> pl.DataFrame:
    """Rows as SUMMARY, grouping columns first, in the schema's dtypes."""
    by = list(dict.fromkeys(name for row in rows for name in row if name not in schema.SUMMARY.names))
    return pl.DataFrame(
        list(rows), schema={**{name: dtypes.get(name, pl.String) for name in by}, **schema.SUMMARY.dtypes}, orient="row"
    )


def to_curve(
    groups: dict[str, tuple[int, float]],
    *,
    turns: int = 10,
    kind: str = "success",
    levels: Sequence[float] = (0.95,),
    by: str | None = "target",
    **more: Any,
) -> pl.DataFrame:
    """A CURVE: rollouts and hazard per turn for each group; a tenth of those left is lost at each turn."""
    rows = []
    for name, (rollouts, hazard) in groups.items():
        left, alive = rollouts, 1.0
        for turn in range(1, turns + 1):
            events = round(left * hazard)
            lost = round((left - events) * 0.08) if turn < turns else left - events
            alive *= 1 - events / left if left else 1.0
            value = {"survival": alive, "hazard": events / left if left else None}.get(kind, 1 - alive)
            for level in levels:
                low, high = wilson(value * left, left, level) if value is not None and left else (None, None)
                rows.append(
                    ({by: name} if by else {})
                    | {
                        "metric": "time_to_success",
                        "kind": kind,
                        "axis": "turn",
                        "ending": None,
                        "at": float(turn),
                        "level": level,
                        "estimate": value,
                        "std_error": None,
                        "low": low,
                        "high": high,
                        "at_risk": left,
                        "events": events,
                        "censored": lost,
                        "competing": 0,
                        "n_clusters": max(rollouts // 5, 1),
                        "method": "cluster-robust log-log",
                        "estimand": "share of rollouts broken; unit: goal",
                    }
                    | more
                )
            left -= events + lost
    return pl.DataFrame(rows, schema={**({by: pl.String} if by else {}), **schema.CURVE.dtypes}, orient="row")


@pytest.fixture(scope="session")
def summary_of() -> Callable[..., pl.DataFrame]:
    return to_summary


@pytest.fixture(scope="session")
def rate() -> Callable[..., dict[str, Any]]:
    return rate_row


@pytest.fixture(scope="session")
def mean_row() -> Callable[..., dict[str, Any]]:
    return number_row


@pytest.fixture(scope="session")
def curve_of() -> Callable[..., pl.DataFrame]:
    return to_curve


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """No figure outlives its test, nor does one that a test elsewhere left open stand in its way."""
    plt.close("all")
    yield
    plt.close("all")
