"""Estimators: from ROLLOUTS to rows with an estimate and its interval.

One file per verb: `summary` (`rw.summarize`), `contrast`, `curve`, `attempts`, `forecast`, `plan`, `gate`, ... Open
`summary.py` first, then `estimates.py`, which estimates one metric in one group. `clusters.py` decides which rollouts are
independent, `missingness.py` explains missing values, and `arrays.py` converts columns to arrays for `rollwise.stats` and
estimates to rows.
"""
