"""Tokens of one model call, under the names of any log.

Logs count cached and reasoning tokens either within the prompt and the response (OpenAI, OpenTelemetry) or apart from
them (Anthropic, Langfuse, xAI's reasoning), often under the same names. The stated total shows which; without one, the format
decides.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from rollwise.readers.problems import IS_NULL, BrokenError, nulled, warn
from rollwise.readers.records import parse, total, whole_number

# The first of these names that a log has is the count; the others repeat it.
SENT = ("input_tokens", "prompt_tokens", "input", "prompt")
RECEIVED = ("output_tokens", "completion_tokens", "output", "completion")
TOTAL = ("total_tokens", "total")
# Words in the names of other counts, which show whose they are: "output_reasoning_tokens", "cache_read_input_tokens".
OF_RESPONSE = ("output", "completion", "reasoning", "thought")
OF_PROMPT = ("input", "prompt", "cache")
NO_TOKENS = ("cost", "price", "requests")  # words in the names of numbers that count something else
LARGEST = 2**63
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Tokens(NamedTuple):
    """Tokens of the prompt, of the response, and of both."""

    sent: int | None = None
    received: int | None = None
    total: int | None = None


def tokens_of(usage: object, field: str, *, separate: bool = False) -> Tokens:
    """Return the tokens of a call; `field` is the log's name of its usage.

    `separate` says whether the format counts cached and reasoning tokens apart from the prompt and the response, if no total
    shows it. A total that fits neither reading is kept as stated, with a warning. A sum with an odd count is null.
    """
    every = dict(_counts(parse(usage or {}, dict[str, Any], field), field))
    counts = {name: count for name, count in every.items() if count is not None}
    odd = every.keys() - counts.keys()  # without them, a sum would be too small
    sent, received, stated = (_subtracted(counts, names) for names in (SENT, RECEIVED, TOTAL))
    of_response = {name for name in counts if any(word in name for word in OF_RESPONSE)}
    of_prompt = {name for name in counts.keys() - of_response if any(word in name for word in OF_PROMPT)}
    more_sent = sum(counts[name] for name in of_prompt)
    more_received = sum(counts[name] for name in of_response)
    # Counts of parts alone, such as text and audio, are all of them where the format counts parts apart.
    if separate and sent is None and of_prompt:
        sent, more_sent = more_sent, 0
    if separate and received is None and of_response:
        received, more_received = more_received, 0
    ways = [(0, 0), (more_sent, more_received), (more_sent, 0), (0, more_received)]
    usual = ways[separate]
    if stated and not odd and sent is not None and received is not None:
        others = sum(counts.values()) - sum(counts[name] for name in of_prompt | of_response)
        sums = {way: sent + received + sum(way) for way in (usual, *ways)}
        fitting = next((way for way, added in sums.items() if stated in {added, added + others}), None)
        if fitting is None:
            reason = f"states a total of {stated}, but its counts add up to {sums[usual]}: the stated total is kept"
            warn(field, reason)
        usual = usual if fitting is None else fitting
    is_odd_received = any(name in RECEIVED or any(word in name for word in OF_RESPONSE) for name in odd)
    is_odd_sent = any(name in SENT or any(word in name for word in OF_PROMPT) for name in odd)
    sent = None if sent is None or is_odd_sent else sent + usual[0]
    received = None if received is None or is_odd_received else received + usual[1]
    return Tokens(sent, received, stated or (None if odd else total((sent, received), field)))


def _counts(usage: Mapping[str, Any], field: str) -> Iterator[tuple[str, int | None]]:
    """Yield the counts by name, in nested objects by all names on the way, as in `details.cache_read`; odd ones are null."""
    for key, value in usage.items():
        name = _CAMEL.sub("_", key).lower()
        is_named = name in SENT + RECEIVED + TOTAL
        if any(word in name for word in NO_TOKENS):
            continue
        if isinstance(value, Mapping) and not is_named:
            yield from ((f"{name}.{inner}", count) for inner, count in _counts(value, f"{field}.{key}"))
        elif type(value) in {int, float} and abs(value) < LARGEST:
            yield name, whole_number(value, f"{field}.{key}")
        elif is_named and value is not None:
            reason = f"expected a whole number, got {value!r:.40}"
            if not nulled(f"{field}.{key}", f"{reason}: {IS_NULL}"):
                raise BrokenError(reason, field=f"{field}.{key}")
            yield name, None


def _subtracted(counts: dict[str, int], names: tuple[str, ...]) -> int | None:
    """Remove the counts with these names, and return the first."""
    return next(iter([counts.pop(name) for name in names if name in counts]), None)
