"""Inspect AI logs, `.eval` archives and `.json`: each epoch of each sample is a rollout."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

import msgspec

from turnwise.readers.archives import Archive
from turnwise.readers.chat import ANSWERS, Message, joined, split_by_column
from turnwise.readers.documents import Document, surface
from turnwise.readers.plain import Text, fitting, turns_of
from turnwise.readers.problems import BrokenError
from turnwise.readers.records import Count, Key, Small, json_text, parse, total, worded
from turnwise.readers.table import Table
from turnwise.schema import BUDGET, ERROR, FINISHED, NO_ATTACK

HEADER, JOURNAL = "header.json", "_journal/start.json"  # an archive has the first once its run has ended
SAMPLES = "samples/"
MEMBER = re.compile(r"samples/(?P<id>.+)_epoch_(?P<epoch>\d{1,9})(/sample)?\.json", re.DOTALL)
GIVEN = "input"  # source of a message that the sample began with
SHELL = "/sample.json"  # of a sample that is a folder
REFERENCES = ("attachment://", "tc://")
NOTHING, NONE_OF_IT = msgspec.Raw(b"{}"), msgspec.Raw(b"[]")
WORDS = {"C": True, "I": False, "yes": True, "no": False, "true": True, "false": False, "1": True, "0": False}
RESULTS_ONLY = "holds results but no samples: open it with `tw.read_summary`"

MOST_MESSAGES = 1_000_000  # of one sample: what its references may amount to

Range = tuple[Small, Small]
Lookup = Callable[[str], str]
Number = TypeVar("Number", int, float)


class Spec(msgspec.Struct):
    """What was evaluated."""

    task: str
    model: str
    eval_id: str | None = None
    run_id: str | None = None
    task_id: str | None = None
    created: str | None = None
    solver: str | None = None
    task_args: Any = None
    tags: Any = None
    metadata: Any = None


class Header(msgspec.Struct):
    """A log but for its samples."""

    eval: Spec
    status: str | None = None


class Log(Header):
    """A `.json` log."""

    samples: list[msgspec.Raw] | None = None


class Said(Message):
    """One message."""

    reasoning: str | None = None  # in logs of early 2025; later a part of the content
    source: str | None = None


class Choice(msgspec.Struct):
    """One answer of a model."""

    message: Said | None = None
    stop_reason: str | None = None


class Output(msgspec.Struct):
    """What a model gave back."""

    choices: list[Choice] = []
    error: str | None = None


class Score(msgspec.Struct):
    """What a scorer makes of a sample."""

    value: Any = None
    answer: Any = None
    explanation: Any = None


class Usage(msgspec.Struct):
    """Tokens of one model."""

    total_tokens: Count = None
    total_cost: float | None = None


class Limit(msgspec.Struct):
    """What a sample ran into."""

    type: str


class Fault(msgspec.Struct):
    """What halted a sample."""

    message: str | None = None


class Pools(msgspec.Struct):
    """Where newer logs keep what several events share, and older ones what is long."""

    messages: msgspec.Raw = NONE_OF_IT
    events: msgspec.Raw = NONE_OF_IT
    content: msgspec.Raw = NOTHING


class Epoch(msgspec.Struct):
    """One epoch of one sample, but for its messages."""

    id: Key
    epoch: Small
    input: Any = None
    target: Any = None
    choices: Any = None
    message_refs: list[Range] | None = None
    message_pool: msgspec.Raw = NONE_OF_IT
    events_data: Pools | None = None
    transcript: Pools | None = None
    events: msgspec.Raw = NONE_OF_IT
    attachments: msgspec.Raw = NOTHING
    output: Output | None = None
    scores: dict[str, Score] | None = None
    score: Score | None = None
    metadata: Any = None
    model_usage: Any = None
    total_time: float | None = None
    working_time: float | None = None
    started_at: str | None = None
    completed_at: str | None = None
    uuid: str | None = None
    limit: Limit | None = None
    error: Fault | str | None = None
    error_retries: list[Fault] | None = None
    invalidation: Any = None


class Sample(Epoch):
    """One epoch of one sample."""

    messages: list[Said] | None = None


class PlainText(Text, gc=False):
    """One message that is a text."""

    reasoning: None = None
    source: str | None = None


class PlainSample(Epoch, gc=False):
    """One epoch of one sample whose messages are texts, as most are."""

    messages: list[PlainText] | None = None


class Happening(msgspec.Struct):
    """What happened in a sample."""

    event: str | None = None


class Event(Happening):
    """A call of a model."""

    input: list[Said] | None = None
    input_refs: list[Range] | None = None
    output: Output | None = None


_header = msgspec.json.Decoder(Header)
_log = msgspec.json.Decoder(Log)
_sample = msgspec.json.Decoder(Sample)
_plain = msgspec.json.Decoder(PlainSample)
_messages = msgspec.json.Decoder(list[Said] | None)
_events = msgspec.json.Decoder(list[msgspec.Raw] | None)
_happening = msgspec.json.Decoder(Happening)
_event = msgspec.json.Decoder(Event)
_attachments = msgspec.json.Decoder(dict[str, str] | None)
_texts = msgspec.json.Decoder(list[str] | None)
_anything = msgspec.json.Decoder(Any)


def sniff(document: Document) -> bool:
    """Whether the file is a log with samples: an archive of them, or one object."""
    return _holds_samples(document) is True


def sniff_results(document: Document) -> bool:
    """Whether the file is a log that holds its results and no samples."""
    return _holds_samples(document) is False


def read_inspect(document: Document, table: Table) -> None:
    """The samples of one log into rollouts; a turn is one assistant message.

    ============================ =========================================================================
    theirs                       ours
    ============================ =========================================================================
    `eval.eval_id`               `run`; in logs without it `run_id` and `task_id`: one `run_id` may span
                                 several models and tasks
    run, `id`, `epoch`           `rollout_id`; `epoch` is `attempt`
    `eval.model`                 `target`
    `eval.task` + `id`           `task`
    `target`, a list as JSON     `expected`
    `messages`                   turns; `attachment://` is resolved, reasoning is a column of its own
    first of `scores`            `solved`: C or 1 is true, I or 0 false, all else (P, N, 0.4, a list) null
    `scores`                     `score_<scorer>` as it stands (of a dict `score_<scorer>_<key>`), with
                                 `answer_<scorer>` and `explanation_<scorer>`
    `error`                      `error` of the last turn, `ending` error
    `limit`                      `ending` budget, whatever was used up; else finished
    `model_usage` of the target  `total_tokens`, `total_cost_usd`: those of `eval.model`, else of all models
    `total_time`                 `total_seconds`
    ============================ =========================================================================

    `attack` is `none`, so `goal` and `outcome` are null. Kept under their own names: `task_name`, `sample_id`,
    `status` (of the run), `created`, `solver`, `run_id`, `task_id`, `uuid`, `started_at`, `completed_at`,
    `working_time`, `stop_reason`, `limit`, `error_retries` (how many), and as JSON text `task_args`, `tags`,
    `eval_metadata`, `metadata` (of the sample), `choices`, `model_usage`, `invalidation`. Left where they are:
    events, store, files, plan and arguments of the model.

    The messages are the sample's own, repeated ones included. An assistant message that the sample began with (its
    `source` is input) is no answer of this target but part of the `prompt`. A sample stored without any gets those of its last
    call of a model (`input_refs` into `message_pool`), else its `input`. Samples come by epoch and id. One that a
    retry copied into another log has the same `uuid`, and is reported as found twice, as is one that stands in the
    `.eval` and the `.json` of one log. A run that is still going, or crashed, is read as far as its archive goes.

    The producer judges the `whole_rollout`, and the user's task. Its accuracy counts N (no answer) as 0 and P as 1/2,
    and a NaN, which is its word for unscored, not at all.

    Examples
    --------
    >>> from pathlib import Path
    >>> from turnwise.readers.problems import Problems
    >>> log = b'''{"version": 2, "status": "success", "eval": {"task": "sums", "model": "parrot", "eval_id": "E1"},
    ... "samples": [{"id": 7, "epoch": 1, "target": "4", "scores": {"match": {"value": "C"}}, "messages":
    ... [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4"}]}]}'''
    >>> table = Table("inspect", Problems(), {})
    >>> read_inspect(Document(Path("log.json"), log), table)
    >>> table.frame().select("rollout_id", "task", "response", "solved", "score_match").row(0)
    ('E1/7/1', 'sums/7', '4', True, 'C')
    """
    if document.kind == "zip":
        with Archive(document) as archive:
            _read_archive(document, archive, table)
        return
    log = document.typed(document.data.removeprefix(b"\xef\xbb\xbf"), _log)
    if not log.samples:
        raise BrokenError(RESULTS_ONLY)
    for position, text in enumerate(log.samples):
        with table.record(document.name, position):
            _add_whole(document, table, log, text)


def run_of(spec: Spec, document: Document) -> str:
    """The name of the run that a log holds."""
    return spec.eval_id or "-".join(filter(None, (spec.run_id, spec.task_id))) or f"inspect-{document.digest}"


def is_log(document: Document) -> bool:
    """Whether the file is a log, with samples or without."""
    return _holds_samples(document) is not None


def _holds_samples(document: Document) -> bool | None:
    """Whether a log holds samples; None where the file is no log. An archive that is broken passes by its name for one."""
    if document.kind == "json" and isinstance(document.top, dict) and {"eval", "status"} <= document.keys:
        samples = surface(document.top.get("samples"))
        return isinstance(samples, list) and bool(samples)
    if document.kind != "zip":
        return None
    try:
        with Archive(document) as archive:
            return bool(_members(archive)) if {HEADER, JOURNAL} & set(archive.names) else None
    except BrokenError:
        return True if document.suffix == ".eval" else None


def _members(archive: Archive) -> list[str]:
    """The members that are samples, by epoch and id; those that are parts of one are left out."""
    names = [name for name in archive.names if name.startswith(SAMPLES) and name.endswith(".json")]
    folders = {name.removesuffix(SHELL) for name in names if name.endswith(SHELL)}
    whole = [name for name in names if name.endswith(SHELL) or not any(f in folders for f in _folders(name))]
    return sorted(whole, key=_place)


def _folders(name: str) -> Iterator[str]:
    """The folders that a member is in, the innermost first."""
    while name := name.rpartition("/")[0]:
        yield name


def _place(name: str) -> tuple[int, str]:
    found = MEMBER.fullmatch(name)
    return (0, name) if found is None else (int(found["epoch"]), found["id"].zfill(20))


def _read_archive(document: Document, archive: Archive, table: Table) -> None:
    about = next((name for name in (HEADER, JOURNAL) if name in archive.names), None)
    members = _members(archive)
    if about is None:
        raise BrokenError(f"is no Inspect log: the archive has neither {HEADER} nor {JOURNAL}")
    if not members:
        raise BrokenError(RESULTS_ONLY)
    header = document.typed(archive.read(about), _header)
    for name in archive.outdated:
        table.problems.left_out(document.name, name, "stands twice in the archive; the later one is read")
    for name in members:
        with table.record(document.name, name):
            text = archive.read(name)
            if name.endswith(SHELL):
                sample = document.typed(text, _sample)
                lookup = _put_together(document, archive, sample, name.removesuffix(SHELL))
                _add(document, table, header, sample, *_turns(_chat(document, sample), lookup))
            else:
                _add_whole(document, table, header, text)


def _put_together(document: Document, archive: Archive, sample: Sample, folder: str) -> Lookup:
    """Fill in a sample that is a folder (version 3): its messages lie in one pool, its long texts in another."""

    def parts(pool: str, decoder: "msgspec.json.Decoder[list[Any] | None]") -> list[Any]:
        names = [name for name in archive.names if name.startswith(f"{folder}/{pool}/")]
        starts = {name: name.rpartition("/")[2].removesuffix(".json") for name in names}
        chunks = sorted((name for name in names if starts[name].isdecimal()), key=lambda name: (len(name), name))
        return [part for name in chunks for part in document.typed(archive.read(name), decoder) or []]

    sample.messages = _expanded(sample.message_refs, parts("messages", _messages))
    if f"{folder}/metadata.json" in archive.names:
        sample.metadata = document.typed(archive.read(f"{folder}/metadata.json"), _anything)
    return _lookup(lambda: {str(place): text for place, text in enumerate(parts("attachments", _texts))})


def _attached(document: Document, sample: Epoch) -> Lookup:
    def load() -> dict[str, str]:
        given = sample.attachments if sample.transcript is None else sample.transcript.content
        known = document.typed(given, _attachments)
        return {} if known is None else known

    return _lookup(load)


def _lookup(load: Callable[[], Mapping[str, str]]) -> Lookup:
    """What resolves a text that only refers to an attachment; the attachments are decoded once one does."""
    known = cache(load)
    return lambda text: known().get(text.partition("://")[2], text) if text.startswith(REFERENCES) else text


def _expanded(refs: Iterable[Range] | None, pool: Sequence[Said]) -> list[Said]:
    spans = [range(len(pool))[start:end] for start, end in refs or []]
    if sum(map(len, spans)) > MOST_MESSAGES:
        raise BrokenError(f"refers to more than {MOST_MESSAGES} messages", field="message_refs")
    return [pool[place] for span in spans for place in span]


def _add_whole(document: Document, table: Table, log: Header, text: bytes | msgspec.Raw) -> None:
    """Add a sample that is in one piece: the short way where its messages are texts and nothing else."""
    plain = fitting(text, _plain)
    if plain is not None and plain.messages and all(map(_is_said, plain.messages)):
        _, turns = turns_of([plain.messages])
        _add(document, table, log, plain, turns, [])
    else:
        sample = document.typed(text, _sample)
        _add(document, table, log, sample, *_turns(_chat(document, sample), _attached(document, sample)))


def _is_said(text: PlainText | Said) -> bool:
    """Whether a text is what its role says in this sample, and not a reference."""
    return not text.content.startswith(REFERENCES) and (text.source != GIVEN or text.role not in ANSWERS)


def _add(
    document: Document,
    table: Table,
    log: Header,
    sample: Epoch,
    turns: Mapping[str, Sequence[Any]],
    thoughts: Sequence[str | None],
) -> None:
    spec = log.eval
    run = run_of(spec, document)
    fault = _error(sample)
    if fault is not None:
        turns = {**turns, "error": [*[None] * (len(turns["turn"]) - 1), fault]}
    usage = _usage(sample.model_usage, spec.model)
    scores = sample.scores if sample.scores is not None or sample.score is None else {"score": sample.score}
    table.add(
        document.name,
        f"{run}/{sample.id}/{sample.epoch}",
        turns,
        {
            "run": run,
            "target": spec.model,
            "attack": NO_ATTACK,
            "task": f"{spec.task}/{sample.id}",
            "attempt": sample.epoch,
            "expected": worded(sample.target),
            "ending": ERROR if sample.error is not None else FINISHED if sample.limit is None else BUDGET,
            "solved": _solved(scores or {}),
            "total_tokens": total((used.total_tokens for used in usage), "model_usage"),
            "total_seconds": sample.total_time,
            "total_cost_usd": _sum(used.total_cost for used in usage),
        },
        {**_extras(log, sample), **_scores(scores or {})},
        {"reasoning": thoughts} if any(thoughts) else None,
        also=sample.uuid,
    )


def _chat(document: Document, sample: Sample) -> list[Said]:
    """The sample's own messages, else those of its last call of a model, else its input."""
    if sample.messages:
        return sample.messages
    old = sample.transcript.events if sample.transcript is not None else NONE_OF_IT
    events = document.typed(sample.events, _events) or document.typed(old, _events) or []
    text = next((event for event in reversed(events) if document.typed(event, _happening).event == "model"), None)
    if text is not None:
        last = document.typed(text, _event)
        pool = sample.events_data.messages if sample.events_data is not None else sample.message_pool
        said = last.input or _expanded(last.input_refs, document.typed(pool, _messages) or [])
        answer = next((choice.message for choice in (last.output or Output()).choices), None)
        return said if answer is None else [*said, answer]
    if isinstance(sample.input, list):
        return parse(sample.input, list[Said])
    return [] if sample.input is None else [Said("user", sample.input)]


def _turns(chat: Iterable[Said], lookup: Lookup) -> tuple[dict[str, Sequence[Any]], list[str | None]]:
    """The turns of a chat by column, and what the target thought in each."""
    messages: list[Message] = []
    thoughts: list[str | None] = []
    for said in chat:
        if _is_plain(said):
            messages.append(said)
            if said.role in ANSWERS:
                thoughts.append(None)
            continue
        content, thought = _content(said, lookup)
        if said.role not in ANSWERS or said.source == GIVEN:
            role = "user" if said.role in ANSWERS else said.role
            messages.append(Message(role, content, error=_fault(said.error)))
        else:
            messages.append(Message(said.role, content, [_call(call, lookup) for call in said.tool_calls or []]))
            thoughts.append(thought)
    return split_by_column(messages), thoughts or [None]


def _is_plain(said: Said) -> bool:
    """Whether a message is a text and nothing else, as most are: it may stay as it is."""
    return (
        type(said.content) is str
        and said.reasoning is None
        and not said.tool_calls
        and said.error is None
        and _is_said(said)
    )


def _content(said: Said, lookup: Lookup) -> tuple[Any, str | None]:
    """What a message says, and what the target thought before it did."""
    thoughts = [] if said.reasoning is None else [lookup(said.reasoning)]
    if isinstance(said.content, str):
        return lookup(said.content), joined(thoughts)
    if not isinstance(said.content, list):
        return said.content, joined(thoughts)
    parts = []
    for part in said.content:
        if isinstance(part, dict) and part.get("type") == "reasoning" and said.role in ANSWERS:
            given = (part.get(name) for name in (("summary",) if part.get("redacted") else ("reasoning", "summary")))
            thoughts.extend([lookup(text) for text in given if isinstance(text, str)][:1])
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            parts.append({**part, "text": lookup(part["text"])})
        else:
            parts.append(part)
    return parts, joined(thoughts)


def _call(call: Any, lookup: Lookup) -> Any:
    return {**call, "arguments": _walked(call["arguments"], lookup)} if _has(call, "arguments") else call


def _walked(value: Any, lookup: Lookup) -> Any:
    if isinstance(value, str):
        return lookup(value)
    if isinstance(value, list):
        return [_walked(item, lookup) for item in value]
    return {name: _walked(item, lookup) for name, item in value.items()} if isinstance(value, dict) else value


def _fault(error: Any) -> Any:
    return error["message"] if _has(error, "message") else error


def _has(value: Any, name: str) -> bool:
    return isinstance(value, dict) and name in value


def _error(sample: Epoch) -> str | None:
    if sample.error is None:
        return None if sample.output is None else sample.output.error
    return sample.error if isinstance(sample.error, str) else sample.error.message


def _solved(scores: Mapping[str, Score]) -> bool | None:
    value = next((score.value for score in scores.values()), None)
    if isinstance(value, str):
        return WORDS.get(value, WORDS.get(value.lower()))
    return bool(value) if isinstance(value, int | float) and value in {0, 1} else None


def _usage(given: Any, target: str) -> list[Usage]:
    used = parse(given or {}, dict[str, Usage])
    return [used[target]] if target in used else list(used.values())


def _sum(values: Iterable[Number | None]) -> Number | None:
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if known else None


def _scores(scores: Mapping[str, Score]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, score in scores.items():
        if isinstance(score.value, dict):
            found |= {f"score_{name}_{key}": value for key, value in score.value.items()}
        else:
            found[f"score_{name}"] = score.value
        beside = {f"answer_{name}": score.answer, f"explanation_{name}": score.explanation}
        found |= {key: value for key, value in beside.items() if value is not None}
    return found


def _extras(log: Header, sample: Epoch) -> dict[str, Any]:
    spec = log.eval
    choices = sample.output.choices if sample.output is not None else []
    return {
        "task_name": spec.task,
        "sample_id": str(sample.id),
        "status": log.status,
        "created": spec.created,
        "solver": spec.solver,
        "run_id": spec.run_id,
        "task_id": spec.task_id,
        "uuid": sample.uuid,
        "started_at": sample.started_at,
        "completed_at": sample.completed_at,
        "working_time": sample.working_time,
        "stop_reason": choices[0].stop_reason if choices else None,
        "limit": None if sample.limit is None else sample.limit.type,
        "error_retries": None if sample.error_retries is None else len(sample.error_retries),
        "task_args": json_text(spec.task_args or None),
        "tags": json_text(spec.tags or None),
        "eval_metadata": json_text(spec.metadata or None),
        "metadata": json_text(sample.metadata or None),
        "choices": json_text(sample.choices or None),
        "model_usage": json_text(sample.model_usage or None),
        "invalidation": json_text(sample.invalidation or None),
    }
