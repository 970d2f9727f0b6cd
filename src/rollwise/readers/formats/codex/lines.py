"""The lines of a Codex session, followed one after the other: answers, their prompts, and what was taken back."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from rollwise.readers.chats.speakers import ANSWERS, SYSTEM, WORDS, speaker
from rollwise.readers.chats.tool_results import ToolResult, part_result
from rollwise.readers.chats.turns import joined, text_of
from rollwise.readers.common import first_of
from rollwise.readers.moments import seconds_of
from rollwise.readers.problems import BrokenError, warn
from rollwise.readers.records import Count, Small, json_text, kind_of, parse, worded

META, CONTEXT, ITEM, EVENT = "session_meta", "turn_context", "response_item", "event_msg"
LINE_KINDS = frozenset({META, CONTEXT, ITEM, EVENT, "compacted", "state"})
ITEMS = frozenset(
    {"message", "agent_message", "reasoning", "compaction", "compaction_summary", "ghost_snapshot", "other"}
)
EVENTS = frozenset({"user_message", "token_count", "error", "turn_aborted", "thread_rolled_back", "warning"})
# How the names of events begin that repeat an item, or describe how a command or a session goes on.
REPEATING = (
    *(
        "agent_",
        "apply_patch_",
        "background_",
        "collab_",
        "context_",
        "deprecation_",
        "elicitation_",
        "entered_",
        "exec_",
    ),
    *(
        "exited_",
        "get_",
        "image_",
        "item_",
        "list_",
        "mcp_",
        "model_",
        "patch_",
        "plan_",
        "raw_",
        "reasoning_",
        "request_",
    ),
    *(
        "session_",
        "shutdown_",
        "skills_",
        "stream_",
        "task_",
        "terminal_",
        "thread_name_",
        "turn_",
        "undo_",
        "view_",
        "web_",
    ),
)
CALL, OUTPUT = "_call", "_output"  # how the types of items end


class Git(msgspec.Struct):
    """Repository in which the session began."""

    branch: str | None = None
    commit_hash: str | None = None


class Session(msgspec.Struct):
    """Session data: its id, its version, and where it began."""

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
    """One item of the conversation: a message, reasoning, a tool call or its result."""

    type: str
    role: str | None = None
    content: Any = None
    name: str | None = None
    arguments: Any = None
    input: Any = None
    action: Any = None
    output: Any = None
    call_id: Any = None
    status: Any = None
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
    """An event that is not an item of the conversation: token counts, errors, rollbacks."""

    type: str
    info: Tokens | None = None
    message: Any = None
    reason: Any = None
    num_turns: Small | None = None


@dataclass(eq=False)
class Answer:
    """Answer of one model call, and the prompt before it."""

    prompts: list[str]
    above: "Answer | None"  # the answer before it in the conversation
    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    results: list[ToolResult] = field(default_factory=list)  # of tools, before the next answer
    usage: Usage | None = None
    error: str | None = None
    aborted: str | None = None
    pruned: bool = False
    depth: int = field(init=False)

    def __post_init__(self) -> None:
        """Set the depth: one more than that of the answer above."""
        self.depth = 1 if self.above is None else self.above.depth + 1


class SessionLog:
    """A session as far as its lines have been read.

    An answer stays open until the next input of the model: messages, reasoning and tool calls are added to it. A tool's
    result, a user message, a token count or an error closes it.
    """

    def __init__(self) -> None:
        self.session = Session()
        self.model: str | None = None
        self.context: list[str] = []
        self.answers: list[Answer] = []
        self.prompts: list[str] = []  # since the last answer
        self.times: list[str] = []  # the first and the last time stamp
        self.tokens: Usage | None = None
        self._above: Answer | None = None  # the last answer that was not taken back
        self._open: Answer | None = None  # the answer that may go on
        self._questions: list[Answer | None] = []  # for each user message, the answer above it
        self._has_meta = False

    @property
    def seconds(self) -> float | None:
        """Return the seconds from the first to the last recorded time; null if either is missing."""
        try:
            times = [time for stamp in self.times if (time := seconds_of(stamp, "timestamp")) is not None]
        except BrokenError:
            return None
        return times[1] - times[0] if len(times) == 2 else None

    def take(self, kind: str, content: dict[str, Any], stamp: Any) -> None:
        """Read one more line: its kind, its content and its time stamp."""
        if isinstance(stamp, str):
            self.times[1:] = [stamp]
        if kind == META and content and not self._has_meta:  # a forked session repeats the data of its origins
            self.session, self._has_meta = parse(content, Session, "payload"), True
            self.context[:0] = _texts(self.session.base_instructions, self.session.instructions)
        elif kind == CONTEXT and self.model is None:
            self.model = content.get("model") if isinstance(content.get("model"), str) else None
        elif kind == ITEM and "type" in content:
            self._item(parse(content, Item, "payload"))
        elif kind == EVENT:
            self._event(parse(content, Event, "payload"))
        elif kind == ITEM:
            warn("type", "is missing in an item: it is passed over")

    def _item(self, item: Item) -> None:
        if not item.type.endswith((CALL, OUTPUT)):
            item.type = kind_of(item.type, ITEMS, "payload.type") or ""
        item.role = None if item.role is None else speaker(item.role)
        if item.type == "message" and item.role not in WORDS:
            warn("role", f"{item.role!r} is not a known speaker: what it says is read as a prompt, not as an answer")
        if item.type == "message" and item.role in ANSWERS:
            self._answer().texts += _texts(item.content)
        elif item.type == "message" and item.role in SYSTEM and not self.answers:
            self.context += _texts(item.content)
        # Input of the model: user messages and results of tools.
        elif item.type in {"message", "agent_message"} or item.type.endswith(OUTPUT):
            self._open = None
            self.prompts += _texts(item.output if item.type.endswith(OUTPUT) else item.content)
            if item.type.endswith(OUTPUT) and self.answers:
                texts = _texts(item.output)
                self.answers[-1].results.append(part_result(msgspec.structs.asdict(item), joined([*texts])))
        elif item.type == "reasoning":
            self._answer().thoughts += [*_texts(item.summary), *_texts(item.content)]
        elif item.type.endswith(CALL):
            arguments = first_of(item.arguments, item.input, item.action)
            name = item.name or item.type.removesuffix(CALL)
            self._answer().calls.append({"name": name, "arguments": arguments, "call_id": item.call_id})

    def _answer(self) -> Answer:
        """Return the open answer, or open a new one."""
        if self._open is None:
            self._open = self._above = Answer(self.prompts, self._above)
            self.answers.append(self._open)
            self.prompts = []
        return self._open

    def _event(self, event: Event) -> None:
        if not event.type.startswith(REPEATING) or event.type in EVENTS:
            event.type = kind_of(event.type, EVENTS, "payload.type") or ""
        if event.type == "user_message":
            self._questions.append(self._above)
        elif event.type == "token_count" and event.info is not None:
            spent = event.info.all
            # The count comes after the call that it counts.
            if self.answers and spent != self.tokens:  # a repeated total is not a new call
                self.answers[-1].usage = self.answers[-1].usage or event.info.last
                self._open = None
            self.tokens = spent or self.tokens
        # An error is an answer without a text, between the answers around it.
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
        """Take back the last `count` user messages: prune the answers since then, and go on from the answer above."""
        if not count:
            return
        above, answer = self._questions[-count], self._above
        del self._questions[-count:]
        # Go up from the last answer: all since the user message are pruned, and the conversation continues above.
        while answer is not None and answer is not above:
            answer.pruned, answer = True, answer.above
        self._above, self._open, self.prompts = above, None, []


def _texts(*contents: Any) -> Iterator[str]:
    """Yield the texts of contents or outputs, each a text, a list of parts, or an object that holds either."""
    for content in contents:
        parts = content
        if isinstance(content, dict):
            parts = next(
                (content[name] for name in ("text", "content", "output") if name in content), json_text(content)
            )
        text = text_of(parts, "payload.content")
        if text is not None:
            yield text
