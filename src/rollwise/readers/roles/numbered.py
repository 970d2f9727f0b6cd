"""Columns of one turn each, such as `user_1, assistant_1, user_2, assistant_2`, by their names."""

import re
from collections.abc import Iterable

from rollwise.readers.roles.names import role_of, verdict_claim, words_of

_NUMBERED = re.compile(r"(\D*?)[_ .-]?(\d{1,2})(?:st|nd|rd|th)?[_ .-]?(\D*)")
_ASKING = {"user", "human", "attacker", "adversary", "attack", "red", "questioner"}
_ANSWERING = {"assistant", "bot", "model", "target", "ai", "gpt", "llm", "victim", "agent", "chatbot"}
_OF_TURNS = {"turn", "round", "t", "step", "message", "msg"}  # words beside the number that say what it counts
_FEWEST = 2


def rounds_by_name(names: Iterable[str]) -> dict[str, list[str]]:
    """Return the columns of prompts and of responses in the order of their numbers; nothing without one series of each.

    Both have the same numbers, from 0 or 1. Where each number has a verdict, too, they may be attempts, and nothing is returned.
    """
    groups: dict[str, dict[int, str]] = {}
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is not None:
            groups.setdefault(f"{match[1]} {match[3]}", {})[int(match[2])] = name
    series = {stem: columns for stem, columns in groups.items() if _counts(columns)}
    rounds = {}
    for speaker in ("prompt", "response"):
        stems = [stem for stem in series if _speaker(stem) == speaker]
        if len(stems) != 1:
            return {}
        rounds[speaker] = series.pop(stems[0])
    numbers = sorted(rounds["prompt"])
    if sorted(rounds["response"]) != numbers:
        return {}
    if any(sorted(columns) == numbers and verdict_claim(stem) is not None for stem, columns in series.items()):
        return {}
    return {speaker: [columns[number] for number in numbers] for speaker, columns in rounds.items()}


def _counts(numbers: Iterable[int]) -> bool:
    """Return whether numbers count from 0 or 1 without gaps."""
    ordered = sorted(numbers)
    return len(ordered) >= _FEWEST and ordered in ([*range(len(ordered))], [*range(1, len(ordered) + 1)])


def _speaker(stem: str) -> str | None:
    """Return whose texts columns hold by their name without its number: those of prompts or of responses."""
    words = [word for word in words_of(stem) if word not in _OF_TURNS]
    role = role_of("_".join(words))
    if role in {"prompt", "response"}:
        return role
    asks, answers = bool({*words} & _ASKING), bool({*words} & _ANSWERING)
    return None if asks == answers or len(words) > 2 else "prompt" if asks else "response"
