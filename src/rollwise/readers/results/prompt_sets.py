"""Sets of prompts: how their files are recognized, and the names of their columns."""

from collections.abc import Mapping
from typing import Any

from rollwise.readers.chat_names import RESPONSES
from rollwise.readers.json_texts import names_if_any, surface_if_any
from rollwise.readers.likely_columns import looks_like_turns
from rollwise.readers.sources.documents import Document

GOALS = ("goal", "behavior", "objective")
TEXTS = ("prompt", "forbidden_prompt", "text", "question", "input")
CATEGORIES = ("category", "semanticcategory", "semantic_category")
EXPECTED = ("target",)
IDS = ("id", "behaviorid", "behavior_id", "goal_id", "question_id", "index")
ANSWERS = frozenset({"response", *RESPONSES, "messages", "generation", "choices"})


def source_of(document: Document) -> str | None:
    """Return the kind of a file of prompts, or None for any other file; names are compared without case."""
    if {"finding_id", "prompts"} <= document.keys:
        return "findings"
    # A list without objects has no names.
    if document.kind == "json" and isinstance(document.top, list) and not document.keys:
        return "strings" if document.top and _texts(document.top) else None
    names = frozenset(map(str.lower, document.keys))
    if "rollout_id" in names or names & ANSWERS:
        return None
    has_texts = bool(names & {*TEXTS}) and document.kind in {"table", "parquet", "lines", "json"}
    checks = (
        ("questions", {"question_id", "turns"} <= names),
        ("goals", bool(names & {*GOALS})),
        ("prompts", has_texts),
        ("test_cases", _is_test_cases(document)),
    )
    return next((source for source, is_source in checks if is_source), None)


def is_set(document: Document) -> bool:
    """Return whether the file is certainly a set of prompts, and not just a table with a column of texts."""
    source = source_of(document)
    if source in {"goals", "prompts"} and looks_like_turns(document.keys):
        return False
    if source == "goals":
        # Goals are plain columns. Nested values mean that the file is a log with goals in it.
        values = (surface_if_any(value) for record in document.beginning[:1] for value in record.values())
        return not any(isinstance(value, dict) or (isinstance(value, list) and names_if_any(value)) for value in values)
    return source is not None and (source != "prompts" or "forbidden_prompt" in document.keys)


def named(row: Mapping[str, Any], words: tuple[str, ...]) -> str | None:
    """Return the column with one of these names in any case: the first name that occurs, preferably in lower case."""
    for word in words:
        matches = [name for name in row if name.lower() == word]
        if matches:
            return word if word in matches else matches[0]
    return None


def _is_test_cases(document: Document) -> bool:
    """Return whether the file is one object of lists of texts, as HarmBench has the test cases of each behavior."""
    if document.kind != "json" or not isinstance(document.top, dict):
        return False
    lists = [surface_if_any(value) for value in document.top.values()]
    return any(lists) and all(isinstance(texts, list) and _texts(texts) for texts in lists)


def _texts(values: list[Any]) -> bool:
    return all(isinstance(surface_if_any(value), str) for value in values)
