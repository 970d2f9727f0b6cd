"""From TURNS to ROLLOUTS: column expressions reduced rollout by rollout, in tables of any size.

Open `measure.py` (`tw.measure`) first. `batches.py` cuts a scan into batches of whole rollouts, `trees/` measures
conversations that branch, `step_activity.py` measures steps, and `conversion.py` writes Parquet files of whole
rollouts (`tw.convert`).
"""
