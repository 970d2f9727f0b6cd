"""Reasoning in tags such as ``<think>`` at the beginning of an answer, which servers without a parser leave in the text.

It is moved out of `response`, where judges and text metrics would take a hidden plan for the answer. Tags that the answer
itself quotes, in its middle or in code, stay.
"""

import re
from collections.abc import Collection
from typing import NamedTuple

import polars as pl

from rollwise.schema.named import values_named

PAIRS = {
    "<think>": "</think>",  # DeepSeek, Qwen and most others
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<seed:think>": "</seed:think>",
    "[think]": "[/think]",  # Mistral, in capitals
    "◁think▷": "◁/think▷",  # Kimi
    "<|begin_of_thought|>": "<|end_of_thought|>",  # Sky-T1
    "<|start_thinking|>": "<|end_thinking|>",  # Cohere, in capitals
}
COLUMN, SPARE = (
    "reasoning",
    "reasoning_in_tags",
)  # the second if the table has a column `reasoning` already, perhaps of a judge
QUOTES = "`'\"“”‘’"
_OPENING = re.compile("|".join(map(re.escape, PAIRS)), re.IGNORECASE)
_AT_HEAD = re.compile(rf"\s*({_OPENING.pattern})", re.IGNORECASE)
_CLOSINGS = {opening: re.compile(re.escape(closing), re.IGNORECASE) for opening, closing in PAIRS.items()}
_CLOSING = re.compile("|".join(map(re.escape, PAIRS.values())), re.IGNORECASE)
_SOLUTION = re.compile(r"<\|begin_of_solution\|>\s*(.*?)\s*(?:<\|end_of_solution\|>)?\s*", re.DOTALL)


class Parted(NamedTuple):
    """An answer and the reasoning before it; no answer where the text ends within the reasoning."""

    reasoning: str | None
    answer: str | None


def parted(text: str) -> Parted | None:
    """Return the reasoning in tags at the beginning of a text, and the answer after it; None without such tags.

    The opening tag may be missing, since chat templates write it into the prompt.
    """
    thoughts, end = [], 0
    while (opening := _AT_HEAD.match(text, end)) is not None:
        closing = _CLOSINGS[opening[1].lower()].search(text, opening.end())
        thoughts.append(text[opening.end() : None if closing is None else closing.start()])
        end = len(text) if closing is None else closing.end()
    if not thoughts:
        closing = _CLOSING.search(text)
        if closing is None or _OPENING.search(text, 0, closing.start()) or _is_quoted(text, closing):
            return None
        thoughts, end = [text[: closing.start()]], closing.end()
    answer = text[end:].lstrip()
    solution = _SOLUTION.fullmatch(answer)
    reasoning = "\n\n".join(filter(None, map(str.strip, thoughts)))
    return Parted(reasoning or None, (answer if solution is None else solution[1]) or None)


def _is_quoted(text: str, tag: re.Match[str]) -> bool:
    """Return whether a closing tag without an opening one is only mentioned: in code, in quotes, or within a sentence."""
    before, after = text[: tag.start()], text[tag.end() : tag.end() + 1]
    if before.count("```") % 2 or (before[-1:] and before[-1:] in QUOTES and after and after in QUOTES):
        return True
    return before[-1:] == after == " " and before.rstrip()[-1:] not in ".!?:…"


def without_thoughts(frame: pl.DataFrame, taken: Collection[str]) -> tuple[pl.DataFrame, list[str]]:
    """Return the frame with reasoning in tags moved out of `response`, and notices; columns in `taken` are not overwritten."""
    if frame.schema.get("response") != pl.String:
        return frame, []
    texts = frame["response"]
    has_tags = texts.str.contains_any([*PAIRS, *PAIRS.values()], ascii_case_insensitive=True).fill_null(value=False)
    rows = [(row, parts) for row in has_tags.arg_true() if (parts := parted(texts[row])) is not None]
    if not rows:
        return frame, []
    name = SPARE if COLUMN in taken or frame.schema.get(COLUMN, pl.String) not in {pl.String, pl.Null} else COLUMN
    reasonings = values_named(frame, name).to_list() if name in frame.columns else [None] * frame.height
    answers = texts.to_list()
    for row, parts in rows:
        answers[row], reasonings[row] = parts.answer, _joined(reasonings[row], parts.reasoning)
    frame = frame.with_columns(pl.Series("response", answers, pl.String), pl.Series(name, reasonings, pl.String))
    readings = [f"reasoning in tags at the head of answers as `{name}`, apart from `response`"]
    if any(parts.answer is None for _, parts in rows):
        readings.append("texts that end within it as no answer")
    return frame, readings


def _joined(earlier: str | None, reasoning: str | None) -> str | None:
    """Return both texts; some servers state the same reasoning twice."""
    if earlier is None or reasoning is None or earlier.strip() == reasoning:
        return earlier if reasoning is None else earlier or reasoning
    return f"{earlier}\n\n{reasoning}"
