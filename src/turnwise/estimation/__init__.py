"""Estimators: ROLLOUTS in, rows with an estimate and its interval out.

One file a verb: `summary` (`tw.summarize`), `contrast`, `curve`, `attempts`, `forecast`, `plan`, `gate`, ... Open
`summary.py` first, then `estimates.py`, which estimates one metric in one group. `clusters.py` decides what counts as
independent, `missingness.py` which rollouts have no value and why, and `arrays.py` turns columns into arrays for
`turnwise.stats` and estimates back into rows.
"""
