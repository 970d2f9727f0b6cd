"""Readers: logs of any tool, or tables of the caller's own, into TURNS.

Open `read.py` (`tw.read`) first: it lists the files, asks `registry.py` for the format of each, and lets that format
fill a `table.py`. `formats/` has one file per producer, `native/` the package's own tables, `chats/` and `traces/`
what several formats share, `sources/` the containers (compression, archives, Parquet, SQLite), and `results/` files
that hold verdicts, summaries or prompts instead of rollouts.
"""
