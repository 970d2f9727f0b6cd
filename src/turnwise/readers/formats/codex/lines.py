"""Lines of a Codex session, one after the other."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from turnwise.readers.chats.turns import ANSWERS, SYSTEM, text_of
from turnwise.readers.problems import BrokenError
from turnwise.readers.records import Count, Small, json_text, parse, worded
from turnwise.readers.traces.spans import seconds_of

META, CONTEXT, ITEM, EVENT = "session_meta", "turn_context", "response_item", "event_msg"
CALL, OUTPUT = "_call", "_output"  # how the types of items end


class Git(msgspec.Struct):
    """Repository in which the session began."""

    branch: str | None = None
    commit_hash: str | None = None


class Session(msgspec.Struct):
    """Names of a session."""

    id: str | None = None
    forked_from_id: str | None = None
    cwd: str | None = None
    originator: str | None = None
    version: str | None = msgspec.field(name="cli_version", default=None)
    agent_role: str | None = None
    base_instructions: Any = None
    instructions: Any = None
    git: Git | None = None


class Item(msgspec.Struct):
    """An item that was said, called or returned."""

    type: str
    role: str | None = None
    content: Any = None
    name: str | None = None
    arguments: Any = None
    input: Any = None
    action: Any = None
    output: Any = None
    summary: Any = None


class Usage(msgspec.Struct):
    """Tokens of one call of the model, or of all so far."""

    input_tokens: Count = None
    output_tokens: Count = None
    total_tokens: Count = None


class Tokens(msgspec.Struct):
    """Tokens of the last call, and of all calls together."""

    last: Usage | None = msgspec.field(name="last_token_usage", default=None)
    all: Usage | None = msgspec.field(name="total_token_usage", default=None)


class Event(msgspec.Struct):
    """Something that happened beside the conversation."""

    type: str
    info: Tokens | None = None
    message: Any = None
    reason: Any = None
    num_turns: Small | None = None


@dataclass(eq=False)
class Answer:
    """Answer of one model call, and the prompt before it."""

    asked: list[str]
    above: "Answer | None"
    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    called: list[dict[str, Any]] = field(default_factory=list)
    usage: Usage | None = None
    error: str | None = None
    aborted: str | None = None
    pruned: bool = False
    depth: int = field(init=False)

    def __post_init__(self) -> None:
        """It is one further than the answer above."""
        self.depth = 1 if self.above is None else self.above.depth + 1


class Told:
    """Content of the lines of a session, one after the other."""

    def __init__(self) -> None:
        self.session = Session()
        self.model: str | None = None
        self.context: list[str] = []
        self.answers: list[Answer] = []
        self.asked: list[str] = []  # since the last answer
        self.times: list[str] = []  # the first and the last
        self.tokens: Usage | None = None
        self._above: Answer | None = None  # the last answer that was not taken back
        self._open: Answer | None = None  # the answer that is not at its end
        self._questions: list[Answer | None] = []  # of each message of the user: the answer above
        self._known = False

    @property
    def seconds(self) -> float | None:
        """Return the seconds from the first to the last recorded time; null if either is missing."""
        try:
            known = [time for stamp in self.times if (time := seconds_of(stamp, "timestamp")) is not None]
        except BrokenError:
            return None
        return known[1] - known[0] if len(known) == 2 else None

    def take(self, kind: str, told: dict[str, Any], stamp: Any) -> None:
        """One more line."""
        if isinstance(stamp, str):
            self.times[1:] = [stamp]
        if kind == META and told and not self._known:  # a session that was forked repeats those it came from
            self.session, self._known = parse(told, Session, "payload"), True
            self.context[:0] = _texts(self.session.base_instructions, self.session.instructions)
        elif kind == CONTEXT and self.model is None:
            self.model = told.get("model") if isinstance(told.get("model"), str) else None
        elif kind == ITEM and "type" in told:
            self._item(parse(told, Item, "payload"))
        elif kind == EVENT:
            self._event(parse(told, Event, "payload"))

    def _item(self, item: Item) -> None:
        if item.type == "message" and item.role in ANSWERS:
            self._answer().texts += _texts(item.content)
        elif item.type == "message" and item.role in SYSTEM and not self.answers:
            self.context += _texts(item.content)
        elif item.type in {"message", "agent_message"} or item.type.endswith(OUTPUT):
            self._open = None
            self.asked += _texts(item.output if item.type.endswith(OUTPUT) else item.content)
        elif item.type == "reasoning":
            self._answer().thoughts += [*_texts(item.summary), *_texts(item.content)]
        elif item.type.endswith(CALL):
            given = next((part for part in (item.arguments, item.input, item.action) if part is not None), None)
            self._answer().called.append({"name": item.name or item.type.removesuffix(CALL), "arguments": given})

    def _answer(self) -> Answer:
        """The answer that goes on, or a new one."""
        if self._open is None:
            self._open = self._above = Answer(self.asked, self._above)
            self.answers.append(self._open)
            self.asked = []
        return self._open

    def _event(self, event: Event) -> None:
        if event.type == "user_message":
            self._questions.append(self._above)
        elif event.type == "token_count" and event.info is not None:
            spent = event.info.all
            if self.answers and spent != self.tokens:  # said again where nothing was spent
                self.answers[-1].usage = self.answers[-1].usage or event.info.last
                self._open = None
            self.tokens = spent or self.tokens
        elif event.type == "error":
            self._open = None
            self._answer().error = worded(event.message) or "[error]"
            self._open = None
        elif event.type == "turn_aborted" and self.answers:
            self.answers[-1].aborted = worded(event.reason) or "aborted"
            self._open = None
        elif event.type == "thread_rolled_back" and event.num_turns:
            self._roll_back(min(event.num_turns, len(self._questions)))

    def _roll_back(self, count: int) -> None:
        if not count:
            return
        above, now = self._questions[-count], self._above
        del self._questions[-count:]
        while now is not None and now is not above:
            now.pruned, now = True, now.above
        self._above, self._open, self.asked = above, None, []


def _texts(*contents: Any) -> Iterator[str]:
    """Return the texts of a content or output: a text, a list of parts, or an object with it."""
    for content in contents:
        inner = content
        if isinstance(content, dict):
            inner = next(
                (content[name] for name in ("text", "content", "output") if name in content), json_text(content)
            )
        text = text_of(inner, "payload.content")
        if text is not None:
            yield text
