"""Columns that several results share."""

import polars as pl

from rollwise.schema.columns import Column

METRIC = Column("metric", pl.String, "which metric")
LEVEL = Column("level", pl.Float64, "nominal coverage of the interval")
ESTIMATE = Column("estimate", pl.Float64, "the value")
STD_ERROR = Column("std_error", pl.Float64, "its standard error")
LOW = Column("low", pl.Float64, "lower end of the interval")
HIGH = Column("high", pl.Float64, "upper end of the interval")
INTERVAL = (ESTIMATE, LOW, HIGH)
HOW = (
    Column("method", pl.String, "kind of interval, and of test"),
    Column("reason", pl.String, "why something is null or was replaced"),
    Column("estimand", pl.String, "what the value is an estimate of, in one sentence"),
)
N = Column("n", pl.Int64, "rollouts whose value is known")
N_ERROR = Column("n_error", pl.Int64, "rollouts that ended in an error")
N_UNDETERMINED = Column(
    "n_undetermined", pl.Int64, "rollouts with no or an undetermined verdict, or with unjudged turns and no success"
)
N_MISSING = Column("n_missing", pl.Int64, "other rollouts without a value")
COUNTS = (N, N_ERROR, N_UNDETERMINED, N_MISSING)
CLUSTERS = Column("n_clusters", pl.Int64, "independent units behind the interval")
DRAWS = (
    Column("resamples", pl.Int64, "bootstrap replicates"),
    Column("seed", pl.Int64, "seed of the draws"),
)
