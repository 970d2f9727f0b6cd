"""One rollout as text, turn by turn, without characters that a terminal takes for commands."""

import difflib
import textwrap

import polars as pl

from turnwise.errors import ArgumentError
from turnwise.schema import labels

_ABOUT = ("source", "run", "target", "attack", "goal", "task", "category", "attempt", "outcome", "ending", "solved")
_TEXTS = ("context", "prompt", "response", "observation", "error")
_JUDGED = ("score", "reward", "succeeded", "refused")


def transcript(turns: pl.DataFrame, rollout_id: str, *, width: int = 100) -> str:
    r"""Return the rollout as text: its facts, then the prompt, the answer, the tool calls and the verdict of each turn.

    Line breaks are kept. Every other control character is shown as its escape, so that no log can move the cursor, color the
    screen or hide text.

    Parameters
    ----------
    turns
        TURNS.
    rollout_id
        The rollout to show.
    width
        Characters in a line.

    Raises
    ------
    ArgumentError
        If no rollout has that id; the message lists the nearest ones.

    Examples
    --------
    >>> turns = pl.DataFrame(
    ...     {"rollout_id": ["a"], "turn": [1], "target": ["base"], "prompt": ["Hi"], "response": ["Hel\x1b[2Jlo"]}
    ... )
    >>> print(transcript(turns, "a"))
    a
      target    base
    <BLANKLINE>
    ── turn 1 ──
      prompt    Hi
      response  Hel\x1b[2Jlo
    """
    rows = turns.filter(pl.col("rollout_id") == rollout_id).sort("turn", nulls_last=True)
    if rows.is_empty():
        near = difflib.get_close_matches(rollout_id, turns["rollout_id"].unique().to_list(), n=3, cutoff=0)
        hint = f"; the nearest are {', '.join(near)}" if near else ""
        raise ArgumentError(f"there is no rollout {rollout_id!r} in these logs{hint}")
    # Facts of the rollout are equal in all of its turns.
    facts = [(name, rows[name][0]) for name in _ABOUT if name in rows.columns and rows[name][0] is not None]
    pieces = [labels.plain(rollout_id), *(_line(name, value, width) for name, value in facts)]
    for row in rows.rows(named=True):
        pieces += ["", f"── turn {row['turn']} ──" if row["turn"] is not None else "── no prompt was sent ──"]
        pieces += [_line(name, row[name], width) for name in _TEXTS if row.get(name) is not None]
        pieces += [
            _line("called", f"{call['name']} {call['arguments'] or ''}", width) for call in row.get("tool_calls") or ()
        ]
        judged = [f"{name} {row[name]}" for name in _JUDGED if row.get(name) is not None]
        pieces += [_line("judged", ", ".join(judged), width)] if judged else []
    return "\n".join(pieces)


def _line(name: str, value: object, width: int) -> str:
    """Return a name with its text, wrapped, with a hanging indent."""
    margin = 10
    # An empty line stays, as it separates paragraphs.
    lines = [
        part
        for line in str(value).splitlines() or [""]
        for part in textwrap.wrap(labels.plain(line) if line.strip() else "", width - margin - 2) or [""]
    ]
    head, *rest = lines
    return "\n".join([f"  {name:<{margin}}{head}".rstrip(), *(f"{'':<{margin + 2}}{line}".rstrip() for line in rest)])
