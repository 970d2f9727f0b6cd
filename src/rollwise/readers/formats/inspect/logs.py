"""Structs of an Inspect AI log (header, samples, messages, events), and their decoders."""

from typing import Any, ClassVar

import msgspec

from rollwise.readers.chats.turns import Message
from rollwise.readers.records import Count, Key, Small, T

NULL = msgspec.Raw(b"null")
TARGET, AUDITOR = "target", "auditor"  # roles of models in an audit

# Start and end of messages in a pool: the end is not included.
Range = tuple[Small, Small]


class Scorer(msgspec.Struct):
    """A scorer of the run."""

    name: str


class Spec(msgspec.Struct):
    """The evaluation: its task, its model and its settings."""

    task: str
    model: str
    eval_id: str | None = None
    run_id: str | None = None
    task_id: str | None = None
    created: str | None = None
    solver: str | None = None
    model_roles: Any = None
    scorers: list[Scorer] | None = None
    task_args: Any = None
    tags: Any = None
    metadata: Any = None

    @property
    def target(self) -> str:
        """The model that is evaluated: the one in the role `target`, where there is one, as in audits."""
        return self.model_in(TARGET) or self.model

    @property
    def is_audit(self) -> bool:
        """True if a model in the role of an auditor leads the conversation with the target, as in Petri and Bloom."""
        return self.model_in(TARGET) is not None and self.model_in(AUDITOR) is not None

    def model_in(self, role: str) -> str | None:
        """Return the model in a role, which some versions write with its settings."""
        return model_in(self.model_roles, role)


def model_in(roles: Any, role: str) -> str | None:
    """Return the model in a role, or null."""
    model = roles.get(role) if isinstance(roles, dict) else None
    name = model.get("model") if isinstance(model, dict) else model
    return name if isinstance(name, str) else None


class Header(msgspec.Struct):
    """A log without its samples: `header.json` of an archive."""

    eval: Spec
    status: str | None = None


class Log(Header):
    """A `.json` log."""

    samples: list[msgspec.Raw] | None = None


class LoggedMessage(Message):
    """One message."""

    error: Any = None  # left out where a tool ran
    id: str | None = None
    reasoning: str | None = None  # in logs of early 2025; later a part of the content
    source: str | None = None


class Choice(msgspec.Struct):
    """One answer of a model."""

    message: LoggedMessage | None = None


class Output(msgspec.Struct):
    """Output of a model."""

    choices: list[Choice] = []


class Stop(msgspec.Struct, gc=False):
    """The reason why a model ended its answer; the answer itself is among the messages."""

    stop_reason: str | None = None


class Final(msgspec.Struct):
    """Last output of the model."""

    choices: list[Stop] = []
    error: str | None = None


class Score(msgspec.Struct):
    """Score of a sample."""

    value: Any = None
    answer: Any = None
    explanation: Any = None
    reason: Any = None
    metadata: Any = None
    history: Any = None


class Usage(msgspec.Struct):
    """Tokens of one model."""

    total_tokens: Count = None
    total_cost: float | None = None


class Limit(msgspec.Struct):
    """Limit that a sample reached."""

    type: str


class Fault(msgspec.Struct):
    """Error that halted a sample."""

    message: str | None = None


class Pools(msgspec.Struct):
    """Pools of what events share (in newer logs) or of long texts (in older ones)."""

    messages: msgspec.Raw = NULL
    events: msgspec.Raw = NULL
    content: msgspec.Raw = NULL


class Identity(msgspec.Struct):
    """The fields that a sample and its summary share."""

    id: Key
    epoch: Small
    model_usage: Any = None
    role_usage: Any = None
    total_time: float | None = None
    working_time: float | None = None
    started_at: str | None = None
    completed_at: str | None = None
    uuid: str | None = None


class Epoch(Identity):
    """One epoch of one sample, without its messages.

    Fields that few samples need stay raw JSON, and are decoded for the sample that needs them.
    """

    input: msgspec.Raw = NULL
    target: Any = None
    choices: Any = None
    message_refs: msgspec.Raw = NULL
    message_pool: msgspec.Raw = NULL
    events_data: msgspec.Raw = NULL
    transcript: msgspec.Raw = NULL
    events: msgspec.Raw = NULL
    timelines: msgspec.Raw = NULL
    attachments: msgspec.Raw = NULL
    output: Final | None = None
    scores: dict[str, Score] | None = None
    score: Score | None = None
    metadata: Any = None
    limit: Limit | None = None
    error: Fault | str | None = None
    error_retries: list[Fault] | None = None
    invalidation: Any = None

    @property
    def retries(self) -> int | None:
        """Number of failed attempts at the sample."""
        return None if self.error_retries is None else len(self.error_retries)


class Scored(msgspec.Struct):
    """Fields of a sample that are needed to count it as missing if the rest of it is broken."""

    id: Key
    epoch: Small
    scores: dict[str, Any] | None = None


class BareScore(msgspec.Struct):
    """Score of a sample, without its texts."""

    answer: ClassVar[None] = None
    explanation: ClassVar[None] = None
    reason: ClassVar[None] = None
    metadata: ClassVar[None] = None
    history: ClassVar[None] = None
    value: Any = None


class Summary(Identity, kw_only=True):
    """Summary of a sample, which a log stores in a file of its own and in which texts are shortened.

    The class variables replace fields of a sample that a summary lacks, so that both can be read by one function.
    """

    target: ClassVar[None] = None
    choices: ClassVar[None] = None
    metadata: ClassVar[None] = None
    output: ClassVar[None] = None
    score: ClassVar[None] = None
    invalidation: ClassVar[None] = None
    message_count: Small  # versions that write this field write all others too
    completed: bool
    scores: dict[str, BareScore] | None = None
    limit: str | None = None
    error: str | None = None
    retries: Small | None = None


class Sample(Epoch):
    """One epoch of one sample."""

    messages: list[LoggedMessage] | None = None


class Happening(msgspec.Struct):
    """Event of a sample."""

    event: str | None = None
    uuid: str | None = None
    role: str | None = None


class Event(Happening):
    """A call of a model."""

    input: list[LoggedMessage] | None = None
    input_refs: list[Range] | None = None
    output: Output | None = None
    error: str | None = None


class Item(msgspec.Struct):
    """Event in a span of a timeline, or a span in it, which has no event."""

    event: str | None = None


class Span(msgspec.Struct):
    """Part of a timeline, with the branches that leave it."""

    content: list[Item] = []
    branches: list["Span"] = []


class Timeline(msgspec.Struct):
    """One order in which the events of a sample belong together."""

    name: str
    root: Span


# One decoder for each kind of text: building one takes longer than decoding a small text.
HEADER = msgspec.json.Decoder(Header)
LOG = msgspec.json.Decoder(Log)
SAMPLE = msgspec.json.Decoder(Sample)
SCORED = msgspec.json.Decoder(Scored)
MESSAGES = msgspec.json.Decoder(list[LoggedMessage] | None)
RANGES = msgspec.json.Decoder(list[Range] | None)
POOLS = msgspec.json.Decoder(Pools | None)
EVENTS = msgspec.json.Decoder(list[msgspec.Raw] | None)
HAPPENING = msgspec.json.Decoder(Happening)
EVENT = msgspec.json.Decoder(Event)
TIMELINES = msgspec.json.Decoder(list[Timeline] | None)
ATTACHMENTS = msgspec.json.Decoder(dict[str, str] | None)
SUMMARIES = msgspec.json.Decoder(list[Summary])
TEXTS = msgspec.json.Decoder(list[str] | None)
ANYTHING: "msgspec.json.Decoder[Any]" = msgspec.json.Decoder(Any)


def fitting(text: bytes | msgspec.Raw, decoder: "msgspec.json.Decoder[T]") -> T | None:
    """Decode a JSON text as the decoder's struct; None if it does not fit."""
    try:
        return decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
