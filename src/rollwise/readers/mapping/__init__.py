"""Formats as data: which records of a file are rollouts, and which field of a record fills which column."""
