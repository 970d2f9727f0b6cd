"""Sets of prompts that are made to be sent: which files hold them, and what they call what."""

from collections.abc import Mapping
from typing import Any

from turnwise.readers.chats.layouts import RESPONSES
from turnwise.readers.sources.documents import Document
from turnwise.readers.sources.json_texts import names_if_any, surface_if_any

GOALS = ("goal", "behavior", "objective")
TEXTS = ("prompt", "forbidden_prompt", "text", "question", "input")
CATEGORIES = ("category", "semanticcategory", "semantic_category")
EXPECTED = ("target",)
IDS = ("id", "behaviorid", "behavior_id", "goal_id", "question_id", "index")
ANSWERS = frozenset({"response", *RESPONSES, "messages", "generation", "choices"})


def source_of(document: Document) -> str | None:
    r"""Return the kind of prompt file, or null if it is not one; names are compared without case.

    Examples
    --------
    >>> from pathlib import Path
    >>> (
    ...     source_of(Document(Path("a.csv"), b"Index,Goal,Target\n")),
    ...     source_of(Document(Path("a.csv"), b"goal,response\n")),
    ... )
    ('goals', None)
    """
    if {"finding_id", "prompts"} <= document.keys:
        return "findings"
    if document.kind == "json" and isinstance(document.top, list) and not document.keys:
        return "strings" if document.top and _texts(document.top) else None
    names = frozenset(map(str.lower, document.keys))
    if "rollout_id" in names or names & ANSWERS:
        return None
    tabular = document.kind in {"table", "parquet", "lines", "json"}
    known = {
        "questions": {"question_id", "turns"} <= names,
        "goals": bool(names & {*GOALS}),
        "prompts": bool(names & {*TEXTS}) and tabular,
    }
    return next((source for source, there in known.items() if there), "test_cases" if _test_cases(document) else None)


def is_set(document: Document) -> bool:
    """Return whether the file is a set of prompts that can be nothing else: not a mere table with a column of texts."""
    source = source_of(document)
    if source == "goals":
        values = (surface_if_any(value) for record in document.beginning[:1] for value in record.values())
        return not any(isinstance(value, dict) or (isinstance(value, list) and names_if_any(value)) for value in values)
    return source is not None and (source != "prompts" or "forbidden_prompt" in document.keys)


def named(row: Mapping[str, Any], words: tuple[str, ...]) -> str | None:
    """The column of a row that is called by one of these words, the first of them first; one in their own case before others.

    Examples
    --------
    >>> named({"Behavior": "spam", "Goal": "Write spam"}, GOALS)
    'Goal'
    """
    for word in words:
        found = [name for name in row if name.lower() == word]
        if found:
            return word if word in found else found[0]
    return None


def _test_cases(document: Document) -> bool:
    """Return whether the file is one object of lists of texts, as HarmBench has the test cases of each behavior."""
    if document.kind != "json" or not isinstance(document.top, dict):
        return False
    lists = [surface_if_any(value) for value in document.top.values()]
    return any(lists) and all(isinstance(texts, list) and _texts(texts) for texts in lists)


def _texts(values: list[Any]) -> bool:
    return all(isinstance(surface_if_any(value), str) for value in values)
