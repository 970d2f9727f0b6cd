"""Selection of one rollout from TURNS or STEPS, and the state of its turns as a word, a color and a marker."""

import difflib
from collections.abc import Mapping
from typing import Any

import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError
from rollwise.plots import legends
from rollwise.plots.layout import Sheet
from rollwise.plots.theme import Look
from rollwise.schema import labels
from rollwise.schema.arguments import frame_of
from rollwise.schema.coercion import in_schema

STATES = {
    "success": Look("#D55E00", "*"),
    "refused": Look("#0072B2", "X"),
    "failed": Look("#56B4E9", "o"),
    "error": Look("#000000", "s"),
    "pruned": Look("#CC79A7", "v"),
    "turn": Look("#BBBBBB", "h"),  # of a rollout that was judged as a whole
    "unjudged": Look("#999999", "."),
}
PLAIN = {"turn", "unjudged"}  # states without a marker
ABOUT = ("target", "attack", "goal", "outcome", "ending")  # facts in the caption of a figure
_MOST_LETTERS = 90


def chosen(frame: object, rollout_id: str | None, verb: str) -> tuple[pl.DataFrame, bool]:
    """Return the rows of one rollout, and whether they are STEPS."""
    table = frame_of(frame, verb)
    steps = "step" in table.columns
    if "rollout_id" not in table.columns or not (steps or "turn" in table.columns):
        raise ArgumentError(
            f"{verb}: this is neither TURNS nor STEPS; create one with `rw.read(paths)` or `rw.readers.steps(paths)`"
        )
    table = in_schema(table, schema.STEPS if steps else schema.TURNS, verb)
    rollout_ids = table["rollout_id"].drop_nulls().unique(maintain_order=True).to_list()
    if rollout_id is None:
        if len(rollout_ids) != 1:
            first = f", such as rollout_id={rollout_ids[0]!r}" if rollout_ids else ""
            raise ArgumentError(
                f"{verb}: there are {labels.counted(len(rollout_ids), 'rollout')}; name one of them{first}"
            )
        rollout_id = rollout_ids[0]
    rows = table.filter(pl.col("rollout_id") == rollout_id)
    if rows.is_empty():
        # Any id is close enough for a hint, as ids are often long.
        near = difflib.get_close_matches(str(rollout_id), list(map(str, rollout_ids)), n=3, cutoff=0)
        hint = f"; the nearest are {', '.join(map(labels.plain, near))}" if near else ""
        raise ArgumentError(f"{verb}: there is no rollout {rollout_id!r}{hint}")
    return rows.sort("step" if steps else "turn", nulls_last=True, maintain_order=True), steps


def outcome(rows: pl.DataFrame) -> str | None:
    """Return the verdict on a rollout that was judged as a whole, and in none of its turns."""
    if "outcome" not in rows.columns or ("succeeded" in rows.columns and rows["succeeded"].count()):
        return None
    known = [str(value) for value in rows["outcome"].drop_nulls()]
    return known[0] if known and known[0] in {"success", "failure"} else None


def state(turn: Mapping[str, Any], *, judged: bool = False) -> str:
    """Return the state of a turn in one word, the worst that applies; a rollout may be `judged` as a whole."""
    if turn.get("succeeded"):
        return "success"
    if turn.get("error"):
        return "error"
    if turn.get("refused"):
        return "refused"
    if turn.get("pruned"):
        return "pruned"
    return ("turn" if judged else "unjudged") if turn.get("succeeded") is None else "failed"


def facts(rows: pl.DataFrame) -> str:
    """Describe the rollout in one line: target, attack, goal, outcome, ending."""
    values = {name: rows[name][0] for name in ABOUT if name in rows.columns and rows[name][0] is not None}
    return "; ".join(
        f"{labels.label(name)}: {labels.shorten(labels.plain(value), _MOST_LETTERS)}" for name, value in values.items()
    )


def calls(turn: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return name and arguments of each tool call in the answer."""
    return [(str(call["name"]), str(call["arguments"] or "")) for call in turn.get("tool_calls") or () if call]


def key(sheet: Sheet, states: pl.DataFrame) -> None:
    """Draw the key of colors and markers."""
    order = list(STATES)
    rows = sorted(
        states.iter_rows(named=True), key=lambda row: order.index(row["state"]) if row["state"] in order else 99
    )
    markers = ["s" if row["state"] in PLAIN else row["marker"] for row in rows]
    sheet.entries = [
        legends.entry(row["state"], linestyle="none", markersize=8, marker=marker, color=row["color"])
        for row, marker in zip(rows, markers, strict=True)
    ]


def snippet(text: object, most: int = 72) -> str:
    """Return the beginning of a text on one line."""
    plain = labels.plain(str(text)[: 4 * most])
    return plain if len(plain) <= most else f"{plain[: most - 1].rstrip()}…"
