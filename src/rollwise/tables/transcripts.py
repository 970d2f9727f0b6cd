"""One rollout as text or as Markdown, turn by turn, without characters that a terminal takes for commands."""

import difflib
import json
import re
import textwrap

import polars as pl

from rollwise.errors import ArgumentError
from rollwise.schema import labels

_ABOUT = ("source", "run", "target", "attack", "goal", "task", "category", "attempt", "outcome", "ending", "solved")
_TEXTS = ("context", "prompt", "response", "observation", "error")
_JUDGED = ("score", "reward", "succeeded", "refused")


def transcript(turns: pl.DataFrame, rollout_id: str, *, width: int = 100) -> str:
    """Return the rollout as text: its facts, then the prompt, the answer, the tool calls and the verdict of each turn.

    Line breaks are kept. Every other control character is shown as its escape, so that no log can move the cursor, color the
    screen or hide text.
    """
    rows = rows_of(turns, rollout_id)
    pieces = [labels.plain(rollout_id), *(_line(name, value, width) for name, value in _facts(rows))]
    for row in rows.rows(named=True):
        pieces += ["", f"── turn {row['turn']} ──" if row["turn"] is not None else "── no prompt was sent ──"]
        pieces += [_line(name, row[name], width) for name in _TEXTS if row.get(name) is not None]
        pieces += [
            _line("called", f"{call['name']} {call['arguments'] or ''}", width) for call in row.get("tool_calls") or ()
        ]
        judged = [f"{name} {row[name]}" for name in _JUDGED if row.get(name) is not None]
        pieces += [_line("judged", ", ".join(judged), width)] if judged else []
    return "\n".join(pieces)


def transcript_markdown(turns: pl.DataFrame, rollout_id: str) -> str:
    """Return the rollout as Markdown: a list of its facts and scores, then a section for each turn.

    Every text of the log is in a block of code, or in code in a line, whose fence is longer than any in the text. So a log
    cannot add headings, links or HTML to the document. Control characters are escaped as by `transcript`.
    """
    rows = rows_of(turns, rollout_id)
    scores = [name for name in rows.columns if name.startswith("score_") and rows[name].n_unique() == 1]
    names = [name for name in (*_ABOUT, *scores) if name in rows.columns and rows[name][0] is not None]
    facts = [f"- {name if name in _ABOUT else _code(name)}: {_code(rows[name][0])}" for name in names]
    pieces = [f"# {_code(rollout_id)}", *(["\n".join(facts)] if facts else [])]
    for row in rows.rows(named=True):
        pieces.append("## No prompt was sent" if row["turn"] is None else f"## Turn {row['turn']}{_branch(row)}")
        for name in _TEXTS:
            if row.get(name) is not None:
                pieces += [f"**{name.capitalize()}**", _block(row[name], "text")]
        for call in row.get("tool_calls") or ():
            arguments = call["arguments"] or ""
            pieces += [f"**Called** {_code(call['name'])}", *([_block(*_indented(arguments))] if arguments else [])]
        judged = [f"- {name}: {_code(row[name])}" for name in _JUDGED if row.get(name) is not None]
        pieces += ["\n".join(judged)] if judged else []
    return "\n\n".join(pieces)


def in_one_sentence(turns: pl.DataFrame, rollout_id: str) -> str:
    """Return the number of turns of the rollout and its facts."""
    rows = rows_of(turns, rollout_id)
    facts = ", ".join(f"{labels.label(name)} {labels.value_name(value)}" for name, value in _facts(rows))
    count = labels.counted(rows["turn"].count(), "turn")
    return f"Rollout {labels.plain(rollout_id)} has {count}{'; ' if facts else ''}{facts}."


def _facts(rows: pl.DataFrame) -> list[tuple[str, object]]:
    """Return the facts of a rollout, which are equal in all of its turns."""
    return [(name, rows[name][0]) for name in _ABOUT if name in rows.columns and rows[name][0] is not None]


def rows_of(turns: pl.DataFrame, rollout_id: str) -> pl.DataFrame:
    """Return the turns of the rollout, in order."""
    rows = turns.filter(pl.col("rollout_id") == rollout_id).sort("turn", nulls_last=True, maintain_order=True)
    if rows.is_empty():
        near = difflib.get_close_matches(rollout_id, turns["rollout_id"].unique().to_list(), n=3, cutoff=0)
        hint = f"; the nearest are {', '.join(near)}" if near else ""
        raise ArgumentError(f"there is no rollout {rollout_id!r} in these logs{hint}")
    return rows


def _branch(row: dict[str, object]) -> str:
    """Return where the turn is in a tree: its node, and the node above."""
    if row.get("node_id") is None:
        return ""
    above = "" if row.get("parent_id") is None else f" after {_code(row['parent_id'])}"
    return f" (node {_code(row['node_id'])}{above}{', pruned' if row.get('pruned') else ''})"


def _code(value: object) -> str:
    """Return a value as code in a line; its fence is longer than any run of backticks in the value."""
    text = labels.plain(value)
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}"


def _block(text: str, language: str) -> str:
    """Return a text as a block of code; its fence is longer than any run of backticks in the text."""
    lines = labels.plain_lines(text)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", lines)), default=0))
    return f"{fence}{language}\n{lines}\n{fence}"


def _indented(arguments: str) -> tuple[str, str]:
    """Return arguments as indented JSON, or as the text that they are."""
    try:
        return json.dumps(json.loads(arguments), ensure_ascii=False, indent=2), "json"
    except (ValueError, RecursionError):
        return arguments, "text"


def _line(name: str, value: object, width: int) -> str:
    """Return a name with its text, wrapped, with a hanging indent."""
    margin = 10
    # An empty line stays, as it separates paragraphs.
    lines = [
        part
        for line in str(value).splitlines() or [""]
        for part in textwrap.wrap(labels.plain(line) if line.strip() else "", width - margin - 2) or [""]
    ]
    head, *body = lines
    return "\n".join([f"  {name:<{margin}}{head}".rstrip(), *(f"{'':<{margin + 2}}{line}".rstrip() for line in body)])
