"""Coverage and width: each setting is drawn many times, and every interval is asked for the truth."""

import zlib
from collections import defaultdict

import numpy as np
import polars as pl

from .settings import Setting

OURS = "rollwise"


def measured(setting: Setting, repetitions: int) -> list[dict]:
    """Return a row for each method: how often it holds the truth, its mean width, and how often it is refused.

    Refused tables count neither as covered nor as missed; a method is refused where it gives no interval.
    """
    rng = np.random.default_rng(zlib.crc32(f"{setting.family} {setting.words}".encode()))
    methods = {OURS: setting.ours, **setting.others}
    ends = defaultdict(list)
    for _ in range(repetitions):
        table = setting.draw(rng)
        for name, method in methods.items():
            ends[name].append(method(table, rng) or (np.nan, np.nan))
    rows = []
    for name, intervals in ends.items():
        low, high = np.array(intervals, dtype=float).T
        given = ~np.isnan(low)
        held = (low <= setting.truth + 1e-12) & (setting.truth - 1e-12 <= high)
        rows.append(
            {
                "family": setting.family,
                "setting": setting.words,
                "method": name,
                "coverage": round(float(held[given].mean()), 3) if given.any() else None,
                "width": round(float((high - low)[given].mean()), 4) if given.any() else None,
                "refused": round(float(1 - given.mean()), 3),
                "repetitions": repetitions,
            }
        )
    return rows


def compared(rows: pl.DataFrame, least: float = 0.94) -> pl.DataFrame:
    """Put our interval beside the narrowest one that covers: coverage and width of both, and the ratio of widths."""
    key = ["family", "setting"]
    ours = rows.filter(pl.col("method") == OURS).select(*key, "coverage", "width", "refused", "repetitions")
    best = (
        rows.filter((pl.col("method") != OURS) & (pl.col("coverage") >= least))
        .sort("width")
        .group_by(key, maintain_order=True)
        .first()
        .select(*key, best="method", best_coverage="coverage", best_width="width")
    )
    return ours.join(best, on=key, how="left", maintain_order="left").with_columns(
        ratio=(pl.col("width") / pl.col("best_width")).round(2)
    )
