"""Inspect AI: logs as `.eval` archives or JSON; each epoch of each sample is a rollout."""
