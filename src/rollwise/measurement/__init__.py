"""From TURNS to ROLLOUTS: column expressions that reduce each rollout to a row, for tables of any size.

Open `measure.py` (`rw.measure`) first. `batches.py` divides a scan into batches of whole rollouts, `trees/` measures
conversations that branch, `step_activity.py` measures steps, and `conversion.py` writes Parquet files of whole
rollouts (`rw.convert`).
"""
