"""The conversation up to each answer, as one text for whoever judges more than the answer alone."""

import polars as pl

from turnwise.errors import ArgumentError
from turnwise.schema import is_tree

CONVERSATION = "conversation"
_SPEAKERS = {"context": "System", "prompt": "User", "response": "Assistant"}


def conversations(turns: pl.DataFrame) -> pl.Series:
    """Return the conversation up to and including each answer: ``User: ...``, ``Assistant: ...``, turn after turn.

    Examples
    --------
    >>> turns = pl.DataFrame({"rollout_id": ["a", "a"], "turn": [2, 1], "prompt": ["B?", "A?"], "response": ["b", "a"]})
    >>> print(conversations(turns)[0])
    User: A?
    <BLANKLINE>
    Assistant: a
    <BLANKLINE>
    User: B?
    <BLANKLINE>
    Assistant: b
    """
    if is_tree(turns):
        raise ArgumentError(
            "judge: `conversation` is that of a rollout without branches; judge `tw.trees.paths(turns)` instead"
        )
    said = [
        pl.format(f"{speaker}: {{}}", pl.col(name).cast(pl.String))
        for name, speaker in _SPEAKERS.items()
        if name in turns.columns
    ]
    told = turns.select("rollout_id", "turn", said=pl.concat_str(*said, separator="\n\n", ignore_nulls=True))
    parts: dict[str, list[tuple[int, int, str]]] = {}
    for row, (rollout, turn, text) in enumerate(told.iter_rows()):
        parts.setdefault(rollout, []).append((turn or 0, row, text))
    so_far = [""] * turns.height
    for rollout in parts.values():
        before = ""
        for _, row, text in sorted(rollout):
            before = so_far[row] = f"{before}\n\n{text}" if before else text
    return pl.Series(CONVERSATION, so_far, dtype=pl.String)
