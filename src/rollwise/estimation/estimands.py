"""Sentences that say what each row of SUMMARY estimates."""

import numpy as np

from rollwise.estimation.clusters import unit_in_words
from rollwise.estimation.samples import Cells, Sample
from rollwise.estimation.statistics import POOLED
from rollwise.stats.estimate import IntArray, TextArray
from rollwise.stats.statistics import statistic_in_words


def estimands(cells: Cells, sample: Sample, statistic: str, missing: dict[str, IntArray]) -> TextArray:
    """Return the estimand of each group, in one sentence."""
    horizons = np.full(sample.groups.count, -1)
    if statistic == "restricted_mean" and cells.kind == "time":
        durations = cells.rows.data.times(cells.metric)[0][sample.rows.numbers]
        horizons = np.nan_to_num(sample.groups.largest(durations.astype(np.float64)), nan=-1).astype(np.int64)
    strata = f", drawn within {cells.options.strata}" if cells.options.strata and statistic == "mean" else ""
    texts = {
        "n_error": "in error",
        "n_undetermined": "undetermined",
        "n_missing": "missing",
        "n_inapplicable": "inapplicable",
    }
    start = f"{statistic_in_words(statistic)} of {cells.metric}"
    weighting = f", every {cells.options.weighting} weighing the same; unit: "
    if cells.options.method == POOLED and statistic == "mean" and cells.kind == "proportion":
        start, weighting = f"mean chance of {cells.metric}", ", every cluster weighing the same; unit: "
    sizes = np.where(sample.is_unnamed, sample.nulls, -1)
    columns = np.stack([horizons, sample.nulls, sizes, *(missing[name] for name in texts)], axis=1)
    # Few combinations of these numbers occur in many groups: each is put into words once.
    first, places = _combinations(columns)
    sentences = []
    for horizon, nulls, size, *numbers in columns[first].tolist():
        without = ", ".join(f"{number} {text}" for number, text in zip(numbers, texts.values(), strict=True) if number)
        sentences.append(
            start
            + (f" up to {horizon}" if horizon >= 0 else "")
            + weighting
            + unit_in_words(sample.names, nulls, size)
            + strata
            + (f"; without a value: {without}" if without else "")
        )
    return np.array(sentences, dtype=object)[places]


def _combinations(columns: IntArray) -> tuple[IntArray, IntArray]:
    """Return the first row of each distinct row of a table (T, K), and the number of the distinct row that each row equals."""
    codes = np.zeros(len(columns), dtype=np.int64)
    for column in columns.T:
        if (column != column[:1]).any():
            values = np.unique(column, return_inverse=True)[1]
            codes = np.unique(codes * len(columns) + values, return_inverse=True)[1]
    return np.unique(codes, return_index=True, return_inverse=True)[1:]
