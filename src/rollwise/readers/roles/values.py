"""Kinds of the values of a column, under any name."""

import math
import re
from collections.abc import Iterable
from typing import Any

MOST_WORDS = 12  # distinct words of a column of verdicts
_LONG = 40  # characters of a text, on average
_SPOKEN = 4  # words of a text
# Thai and Lao, Burmese, Khmer, Japanese and Chinese.
_WITHOUT_BLANKS = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d")
# Families of models, and what else names of models have, as columns, objects and judges are called by.
_FAMILIES = (
    r"gpt|llama|claude|mi[sx]tral|gemini|qwen|deepseek|vicuna|grok|gemma|\d+b(?![a-z0-9])|(?<![a-z])(?:kimi|glm|o[134]\b|yi\b|baichuan"
    r"|internlm|ernie|palm|bard|bloom|falcon|mpt|alpaca|koala|guanaco|dolly|wizard|zephyr|tulu|olmo|granite|jamba|sonnet|opus"
    r"|haiku|davinci|nova|dbrx|nemotron)"
)
MODELS = re.compile(rf"{_FAMILIES}|phi|model|command", re.IGNORECASE)
_MODEL = re.compile(_FAMILIES, re.IGNORECASE)
_ANSWERS = frozenset({"true", "false", "yes", "no", "y", "n"})


def kind_of(values: Iterable[Any]) -> str:
    """Return the kind of values: bool, binary, unit, whole, number, words, strings, text, moment, list or empty.

    `binary` are 0 and 1, `unit` numbers from 0 to 1, `words` a few short texts that repeat. Null and blank are no values.
    """
    valued = [value for value in values if value is not None and value != ""]
    if not valued:
        return "empty"
    if any(isinstance(value, list | dict | tuple) for value in valued):
        return "list"
    is_text = all(isinstance(value, str) for value in valued)
    if all(isinstance(value, bool) for value in valued) or (
        is_text and {text.strip().lower() for text in valued} <= _ANSWERS
    ):
        return "bool"
    numbers = _numbers(valued)
    return _kind_of_texts([str(value) for value in valued]) if numbers is None else _kind_of_numbers(numbers)


def are_models(values: Iterable[Any]) -> bool:
    """Return whether all values name models, such as the judges of a log, or the one of two that won."""
    texts = [*values]
    return bool(texts) and all(isinstance(text, str) and _MODEL.search(text) is not None for text in texts)


def num_words(text: str) -> int:
    """Return about how many words a text has; in scripts without blanks two letters are one."""
    return len(text.split()) + len(_WITHOUT_BLANKS.findall(text)) // 2


def _kind_of_texts(texts: list[str]) -> str:
    if all(map(_MOMENT.match, texts)):
        return "moment"
    # Long texts are not split into words, as their length alone decides.
    if sum(map(len, texts)) > _LONG * len(texts) or 2 * sum(num_words(text) >= _SPOKEN for text in texts) > len(texts):
        return "text"
    return "words" if len({*texts}) <= max(2, min(MOST_WORDS, len(texts) / 2 + 1)) else "strings"


def _numbers(values: Iterable[Any]) -> list[float] | None:
    try:
        return [float(value) for value in values if not isinstance(value, bool)]
    except (TypeError, ValueError, OverflowError):
        return None


def _kind_of_numbers(numbers: list[float]) -> str:
    if not all(map(math.isfinite, numbers)):
        return "number"
    is_whole = all(number.is_integer() for number in numbers)
    if is_whole and {*numbers} <= {0, 1}:
        return "binary"
    if min(numbers) >= 0 and max(numbers) <= 1:
        return "unit"
    return "whole" if is_whole else "number"
