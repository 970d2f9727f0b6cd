"""Inspect AI: logs as `.eval` archives or JSON; each epoch of each sample is a rollout.

- `samples.py`: recognizes a log and reads its samples. Begin here.
- `summaries.py`: reads outcomes from the summaries alone, without the samples.
- `logs.py`: the structs of a log and their decoders.
- `rows.py`: facts and scores of samples, by column.
- `chats.py`: the messages of a sample, wherever the log stores them.
"""
