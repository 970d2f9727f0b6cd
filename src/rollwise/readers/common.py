"""Shared steps of the readers: recognizing records, verdicts, chats, token counts, and the last turn."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from rollwise.readers.chats.speakers import ANSWERS
from rollwise.readers.chats.turns import Message, joined, messages_of
from rollwise.readers.problems import gave_way
from rollwise.readers.records import Count, inner, parse, total, whole_number
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import TurnRow
from rollwise.readers.traces.spans import Span
from rollwise.schema import FAILURE, SUCCESS

T = TypeVar("T")

TOLERANCE = 1e-6  # of tau-bench and tau2-bench: how near to 1 the reward of a solved task is


# ── recognizing ───────────────────────────────────────────────────────────────────────────────────────────────────────
def has_fields(document: Document, *fields: str) -> bool:
    """Return whether a file holds JSON, as one value or as lines, whose records have these fields."""
    return document.kind in {"json", "lines"} and document.keys.issuperset(fields)


def is_object(document: Document) -> bool:
    """Return whether a file is one JSON object, rather than a list or lines."""
    return document.kind == "json" and isinstance(document.top, dict)


def records_in_data(document: Document, field: str) -> Iterator[tuple[int, Any]]:
    """Yield the records of a file, also from answers of an API that wrap them in `data`; a record itself has `field`."""
    for number, value in document.records():
        if isinstance(value, dict) and isinstance(value.get("data"), list) and field not in value:
            yield from enumerate(value["data"])
        else:
            yield number, value


# ── values ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def first_of(*values: T | None) -> T | None:
    """Return the first value that is not null."""
    return next((value for value in values if value is not None), None)


def parse_all(values: Iterable[Any] | None, kind: type[T], field: str) -> list[T]:
    """Return the values of a list as structs; a value that does not fit is named by its place, as in ``steps[3]``."""
    return [parse(value, kind, f"{field}[{place}]") for place, value in enumerate(values or ())]


def without_nulls(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that have a value."""
    return {name: value for name, value in values.items() if value is not None}


def text_in(value: Any, *names: str) -> str | None:
    """Return the text under these nested names; null for anything else."""
    text = inner(value, *names)
    return text if isinstance(text, str) else None


def join_texts(texts: Iterable[str | None]) -> str | None:
    r"""Join the texts that are not null, with an empty line between them; null where all are."""
    return joined([text for text in texts if text is not None])


# ── verdicts ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def outcome_of(success: bool | None, unknown: str | None = None) -> str | None:  # noqa: FBT001 - a verdict, not an option
    """Return the outcome of an attack that succeeded or failed; `unknown` where no verdict was given."""
    if success is None:
        return unknown
    return SUCCESS if success else FAILURE


def zero_or_one(value: Any) -> bool | None:
    """Return a score of 0 or 1 as a Boolean; null for anything else, such as a partial score."""
    return bool(value) if isinstance(value, int | float) and value in {0, 1} else None


def solved_by(reward: float | None) -> bool | None:
    """Return whether a reward says that a task is solved, by the rule of tau-bench: it is 1, up to rounding."""
    return None if reward is None else abs(reward - 1) < TOLERANCE


def unless_crashed(value: T | None, *, crashed: bool) -> T | None:
    """Return what a log says of a whole rollout; null, and told, where it crashed and the value says no.

    Frameworks write 0 or false for a rollout that an error ended before anybody judged it: as a value it would be a failure.
    """
    if not crashed or value is None or value:
        return value
    gave_way()
    return None


def is_verdict(value: Any) -> bool:
    """Return whether a raw value of a log can be a verdict: a number or a Boolean."""
    return isinstance(value, bool | int | float)


# ── chats ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def as_prompt(message: Message) -> Message:
    """Return a message of a prompt: an assistant message in it is an example, not an answer of this target."""
    return Message("user", message.content) if message.role in ANSWERS else message


def exchange(prompt: Any, completion: Any) -> list[Message]:
    """Return one chat of a prompt and its completion, each a text or a list of messages."""
    messages = messages_of(prompt, "prompt")
    text = isinstance(completion, str)
    answers = [Message("assistant", completion)] if text else messages_of(completion, "completion")
    return [*map(as_prompt, messages), *answers]


def complete_last(turns: list[TurnRow], *, error: str | None, reward: float | None = None) -> None:
    """Put what a log says of a whole rollout into its last turn.

    A reward belongs to an answer: without an answer (the only turn has no number) it is not kept. An error is
    kept in any case, since it is often the reason why the answer is missing.
    """
    last = turns[-1]
    if last.turn is None:
        turns[-1] = last._replace(error=error)
    else:
        turns[-1] = last._replace(error=error, reward=first_of(reward, last.reward))


# ── traces ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def of_trace(spans: Sequence[Span]) -> tuple[dict[str, Any], list[Span]]:
    """Return the columns of a trace (from its outermost span), and its spans with only their names as columns."""
    root = next((span for span in spans if span.parent is None), spans[0])
    columns = {name: value for name, value in root.extras.items() if name != "span_name"}
    return columns, [span._replace(extras={"span_name": span.extras["span_name"]}) for span in spans]


# ── token counts ──────────────────────────────────────────────────────────────────────────────────────────────────────
class AnthropicUsage(msgspec.Struct):
    """Tokens of one call, under the names of Anthropic's API, which counts cached input apart."""

    input_tokens: Count = None
    output_tokens: Count = None
    cache_creation_input_tokens: Count = None
    cache_read_input_tokens: Count = None

    def sent(self) -> int | None:
        """Return the tokens of the prompt, cached ones included."""
        return total((self.input_tokens, self.cache_creation_input_tokens, self.cache_read_input_tokens), "usage")

    def received(self) -> int | None:
        """Return the tokens of the response."""
        return whole_number(self.output_tokens, "usage.output_tokens")
