"""Choices of options, listed once: the verbs' annotations, their checks and the command line take them from here.

Nothing else is imported, so that `rollwise --help` starts at once.
"""

from typing import Literal

Adjust = Literal["holm", "bh", "by", "max-t"]
Axis = Literal["turn", "target_call", "tokens", "cost_usd", "seconds"]
Best = Literal["lowest", "highest"]
Band = Literal["pointwise", "simultaneous"]
Compression = Literal["zstd", "snappy", "lz4", "gzip", "brotli", "none"]
CurveKind = Literal["success", "survival", "hazard", "incidence"]
DifferenceMethod = Literal[
    "auto", "newcombe", "bonett-price", "t", "bootstrap", "bca", "percentile", "basic", "studentized"
]
Errors = Literal["raise", "collect"]
Family = Literal["each", "all"]
Goals = Literal["same", "common", "all"]
Looks = Literal["one", "many"]
Method = Literal[
    "auto",
    "wilson",
    "exact",
    "jeffreys",
    "agresti-coull",
    "beta-binomial",
    "t",
    "normal",
    "bootstrap",
    "bca",
    "percentile",
    "basic",
    "studentized",
    "within-goals",
]
Stopped = Literal["detect", True, False]
Undecided = Literal["bounds", "drop", "sample"]
Unjudged = Literal["bounds", "censor", "drop", "sample"]
Weighting = Literal["rollout", "goal", "turn"]
OnError = Literal["raise", "record", "keep"]
"""What becomes of a rollout that ended in an error: the run stops, it is tried again by the next run, or it stays an error."""
