"""Columns of one turn each, such as `user_1, assistant_1, user_2, assistant_2`, by their names."""

import re
from collections.abc import Iterable

from rollwise.readers.roles.names import role_of, verdict_claim, words_of

_NUMBERED = re.compile(r"(\D*?)[_ .-]?(\d{1,2})(?:st|nd|rd|th)?[_ .-]?(\D*)")
_ASKING = {"user", "human", "attacker", "adversary", "attack", "red", "questioner"}
_ANSWERING = {"assistant", "bot", "model", "target", "ai", "gpt", "llm", "victim", "agent", "chatbot", "defender"}
_ATTACKING, _REPLYING = {"attacker", "adversary", "red"}, {"assistant", "bot", "chatbot", "ai", "victim", "defender"}
_OF_TURNS = {"turn", "round", "t", "step", "message", "msg"}  # words beside the number that say what it counts
_ROUNDS = {"turn", "round"}  # which are no attempts
_FEWEST = 2


def rounds_by_name(names: Iterable[str]) -> dict[str, list[str]]:
    """Return the columns of prompts and of responses in the order of their numbers; nothing without one series of each.

    Both have the same numbers, from 0 or 1. Where each number has a verdict, too, they may be attempts, and nothing is returned,
    unless they are called turns: then the verdicts come with the others.
    """
    groups: dict[str, dict[int, str]] = {}
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is not None:
            groups.setdefault(f"{match[1]} {match[3]}", {})[int(match[2])] = name
    series = {stem: columns for stem, columns in groups.items() if _counts(columns)}
    rounds = {}
    for speaker in ("prompt", "response"):
        stems = [stem for stem in series if speaker_of(stem) == speaker]
        if len(stems) != 1:
            return {}
        rounds[speaker] = series.pop(stems[0])
    numbers = sorted(rounds["prompt"])
    if sorted(rounds["response"]) != numbers:
        return {}
    judged = [
        stem for stem, columns in series.items() if sorted(columns) == numbers and verdict_claim(stem) is not None
    ]
    if judged and not all({*words_of(stem)} & _ROUNDS for stem in judged):
        return {}
    rounds |= {"_".join(word for word in words_of(stem) if word not in _ROUNDS): series[stem] for stem in judged}
    return {name: [columns[number] for number in numbers] for name, columns in rounds.items()}


def _counts(numbers: Iterable[int]) -> bool:
    """Return whether numbers count from 0 or 1 without gaps."""
    ordered = sorted(numbers)
    return len(ordered) >= _FEWEST and ordered in ([*range(len(ordered))], [*range(1, len(ordered) + 1)])


def speakers_by_name(names: Iterable[str]) -> dict[str, str]:
    """Return the columns that are called by who speaks, `prompt` and `response`; nothing without one of each.

    Beside a user, a `target` may be the right answer; beside an attacker it is who answers.
    """
    speakers: dict[str, list[str]] = {"prompt": [], "response": []}
    for name in names:
        speaker = speaker_of(name)
        if speaker is not None and "attack" not in words_of(name):
            speakers[speaker].append(name)
    if any(len(columns) != 1 for columns in speakers.values()):
        return {}
    prompt, response = speakers["prompt"][0], speakers["response"][0]
    is_clear = {*words_of(prompt)} & _ATTACKING or {*words_of(response)} & _REPLYING
    return {"prompt": prompt, "response": response} if is_clear else {}


def speaker_of(name: str) -> str | None:
    """Return whose texts a column without a number holds by its name: those of prompts or of responses."""
    words = [word for word in words_of(name) if word not in _OF_TURNS]
    role = role_of("_".join(words))
    if role in {"prompt", "response"}:
        return role
    asks, answers = bool({*words} & _ASKING), bool({*words} & _ANSWERING)
    return None if asks == answers or len(words) > 2 else "prompt" if asks else "response"
