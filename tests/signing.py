"""Answers of honest judges: the verdict is signed with the check code that the question asks for."""

import re
from typing import Any

_CODE = re.compile(r'"check": "([0-9a-f]{16})"')


def code_in(messages: Any) -> str | None:
    """The check code that a judge is told to include; None where it is told none."""
    codes = _CODE.findall(messages[-1]["content"])
    return codes[-1] if codes else None


def signed(answer: str, messages: Any) -> str:
    """The answer, whose last JSON object ends with the check code; unchanged where there is no object, or no code."""
    code, (before, brace, after) = code_in(messages), answer.rpartition("}")
    return f'{before}, "check": "{code}"{brace}{after}' if brace and code else answer
