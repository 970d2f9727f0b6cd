"""garak: what each probe sent, every answer to it, and the scores of the detectors.

- File: `garak.<run>.report.jsonl`, one entry per line.
- Format: https://github.com/NVIDIA/garak, `Attempt.as_dict` in garak/attempt.py
- Checked on: a real report of many probes, and the reports among garak's own tests, before and after `conversations`.
- Lost: lines other than attempts and settings; results are read by `read_summary`.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import msgspec

from rollwise.errors import counted
from rollwise.readers.chats.speakers import ANSWERS
from rollwise.readers.chats.turns import Message, split
from rollwise.readers.formats.common import has_fields, is_verdict, outcome_of, text_in
from rollwise.readers.problems import IS_NULL, BrokenError, Problems, nulled, warn
from rollwise.readers.records import Whole, json_text, kind_of, leftovers, parse, worded
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import Identity, TurnRow, TurnsBuilder
from rollwise.schema import UNDETERMINED

EVALUATED = 2  # status of an attempt that the detectors have judged
THRESHOLD = 0.5  # garak's default, where a report does not state another
PACKAGE = "garak.detectors."
SETUP, INIT, ATTEMPT = "start_run setup", "init", "attempt"
OTHERS = ("completion", "eval", "digest", "config", "probe_summary", "plugin_cache", "tree_data", "payload_init")
ENTRIES = frozenset({SETUP, INIT, ATTEMPT, *OTHERS})


class Line(msgspec.Struct):
    """The field that all lines of a report share."""

    entry_type: str


class Setup(msgspec.Struct):
    """Settings of the run."""

    target_type: str | None = msgspec.field(name="plugins.target_type", default=None)
    target_name: str | None = msgspec.field(name="plugins.target_name", default=None)
    model_type: str | None = msgspec.field(name="plugins.model_type", default=None)
    model_name: str | None = msgspec.field(name="plugins.model_name", default=None)
    threshold: float | None = msgspec.field(name="run.eval_threshold", default=None)
    run: str | None = msgspec.field(name="transient.run_id", default=None)

    @property
    def kind(self) -> str | None:
        """Type of the target."""
        return self.target_type or self.model_type

    @property
    def target(self) -> str | None:
        """Name of the target: its own name, else its kind."""
        return self.target_name or self.model_name or self.kind


class Start(msgspec.Struct):
    """Start of a run."""

    run: str | None = None


class Status(msgspec.Struct):
    """How far an attempt has come."""

    status: Whole


class Attempt(msgspec.Struct):
    """One prompt of a probe, with every answer to it."""

    entry_type: str
    probe_classname: str
    status: Whole
    uuid: str | None = None
    seq: Whole | None = None
    prompt: Any = None
    outputs: list[Any] = []
    conversations: list[Any] | None = None
    messages: list[Any] | None = None
    detector_results: dict[str, list[Any] | None] | None = None
    goal: str | None = None
    notes: Any = None
    reverse_translation_outputs: list[Any] | None = None


class PlainMessage(msgspec.Struct):
    """One message."""

    role: str
    content: Any = None


class Conversation(msgspec.Struct):
    """The messages, as newer reports wrap them."""

    turns: list[PlainMessage]


@dataclass
class Run:
    """State of the run after the lines so far."""

    name: str
    setup: Setup = field(default_factory=Setup)


Key: TypeAlias = tuple[str, ...]


def sniff(document: Document) -> bool:
    """Return whether the file is a report with attempts: lines with an `entry_type`."""
    return is_report(document) and b'"attempt"' in document.data


def sniff_results(document: Document) -> bool:
    """Return whether the file is a report that holds its results and no attempts."""
    return is_report(document) and not sniff(document)


def read_garak(document: Document, table: TurnsBuilder) -> None:
    r"""Read the attempts of one report: each output of each attempt is a rollout.

    ============================ ==========================================================================
    in the file                  in the table
    ============================ ==========================================================================
    `run` of the line `init`     `run`; otherwise a hash of the content
    run, `uuid`, `seq`, probe,   `rollout_id`: not `uuid` alone, which attempts may share; a hash of the
    place among the outputs      prompt if `uuid` is missing
    place among the outputs      `attempt`, from 1
    `plugins.target_name`        `target` (`model_name` in older reports; the type if the name is missing)
    `probe_classname`            `attack`
    `goal`                       `goal`
    `conversations`, else        turns
    `prompt` and `outputs`
    first of `detector_results`  `score` of the last turn, and its `succeeded`: 0.5 or more is a hit
                                 (or `run.eval_threshold` or more, where the report has it)
    the same, at status 2        `outcome`: success or failure **of the attack**; undetermined where the
                                 detector returned nothing, and at status 1: not judged
    every detector               `score_<detector>`; column `detector` names the first
    ============================ ==========================================================================

    An attempt is written when it is sent (status 1) and again when it is judged (2): of its lines, those with the highest
    status are read. An attempt without an output (a verdict of the EarlyStop harness on an intent) is not a rollout, and is
    reported as left out. `ending` and `solved` are null. Further columns: `status`, `target_type`, `uuid`, `seq`,
    `reverse_translation` where it differs from the output, and all other fields of an attempt (`notes`, `probe_params`,
    `targets`, `intent`), objects and lists as JSON text. `rw.readers.read_summary` reads the lines with results.

    The producer judges `every_turn` where the output is the only turn; of a longer conversation, it judges the last.
    Detectors may disagree, and a report may state results of attempts that it does not hold.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rollwise.readers.problems import Problems
    >>> log = b'''{"entry_type": "init", "run": "R1"}
    ... {"entry_type": "attempt", "uuid": "a", "seq": 0, "status": 2, "probe_classname": "test.Test", "prompt": "Say hi",
    ... "outputs": ["Hi", null], "goal": "a greeting", "detector_results": {"always.Fail": [1.0, null]}}'''
    >>> table = TurnsBuilder("garak", Problems(), {})
    >>> read_garak(Document(Path("report.jsonl"), log.replace(b",\n", b", ")), table)
    >>> table.frame().select("rollout_id", "prompt", "response", "succeeded", "outcome").rows()
    [('R1/a/0/test.Test/0', 'Say hi', 'Hi', True, 'success'), ('R1/a/0/test.Test/1', 'Say hi', None, None, 'undetermined')]
    """
    # Two passes: the highest status of each attempt is known only after the last line.
    highest: dict[Key, int] = {}
    attempts: list[tuple[int, Run, Key, int, dict[str, Any]]] = []
    for number, run, record in lines(document, table.problems, ATTEMPT):
        with table.record(document.name, number):
            key, status = _key(run, record), parse(record, Status).status
            highest[key] = max(status, highest.get(key, status))
            attempts.append((number, run, key, status, record))
    # All other lines that can be read are settings and results.
    num_broken = len(table.problems.accounts.of(document.name).broken)
    table.passes_over(document.name, (document.num_records or 0) - len(attempts) - num_broken)
    for number, run, key, status, record in attempts:
        if status < highest[key]:
            table.passes_over(document.name)
            continue
        with table.rollout(document.name, number, partial(_identities, run, key, record)):
            attempt = parse(record, Attempt)
            if attempt.outputs:
                _add(document, table, number, run, key, attempt, record)
            else:
                reason = f"{attempt.probe_classname} holds no output: a verdict or a plan, not a rollout"
                table.problems.dropped(document.name, reason, number)


def is_report(document: Document) -> bool:
    """Return whether the file is a report, with attempts or without."""
    return has_fields(document, "entry_type")


def lines(document: Document, problems: Problems, wanted: str) -> Iterator[tuple[int, Run, dict[str, Any]]]:
    """Yield the lines of the wanted `entry_type`, each with its number and its run."""
    run = Run(f"garak-{document.digest}")
    for number, value in document.records():
        with problems.record(document.name, number):
            if isinstance(value, BrokenError):
                raise value
            kind = kind_of(parse(value, Line).entry_type, ENTRIES, "entry_type")
            # Settings and the name of the run come before its attempts; joined reports may have several runs.
            if kind == SETUP:
                setup = parse(value, Setup)
                run = Run(setup.run or run.name, setup)
            elif kind == INIT:
                run = Run(parse(value, Start).run or run.name, run.setup)
            elif kind == wanted:
                yield number, run, value


def _key(run: Run, record: dict[str, Any]) -> Key:
    """Return what the lines of one attempt share; the rollout ids are made of it."""
    prompt = (json_text(record.get("prompt")) or "").encode()
    # Attempts of some probes share a `uuid`, and those of old reports lack it.
    name = worded(record.get("uuid")) or hashlib.blake2b(prompt, digest_size=4).hexdigest()
    seq = record.get("seq")
    return (run.name, name, *(() if seq is None else (str(seq),)), str(record.get("probe_classname")))


def _identities(run: Run, key: Key, record: dict[str, Any]) -> list[Identity]:
    """Return what can be read of the outputs of an attempt that is broken; of none where no detector judged them."""
    probe, outputs, results = (record.get(name) for name in ("probe_classname", "outputs", "detector_results"))
    first = next(iter(results.values()), None) if isinstance(results, dict) else None
    if not isinstance(probe, str) or not isinstance(outputs, list) or not isinstance(first, list):
        return []
    if not any(is_verdict(score) or isinstance(score, list) for score in first):
        return []
    goal = text_in(record, "goal")
    return [("/".join((*key, str(place))), _facts(run, probe, goal, place)) for place in range(len(outputs))]


def _facts(run: Run, probe: str, goal: str | None, place: int) -> dict[str, Any]:
    return {"run": run.name, "target": run.setup.target, "attack": probe, "goal": goal, "attempt": place + 1}


def _add(
    document: Document, table: TurnsBuilder, number: int, run: Run, key: Key, attempt: Attempt, record: dict[str, Any]
) -> None:
    count = len(attempt.outputs)
    results = attempt.detector_results or {}
    scores = {short(name): _scores_of(values or [], count, name) for name, values in results.items()}
    first = next(iter(scores), None)
    setup = run.setup
    threshold = THRESHOLD if setup.threshold is None else setup.threshold
    for place in range(count):
        # A conversation that is broken leaves those of the other outputs.
        with table.rollout(document.name, number, partial(_identity_at, place, run, key, record)):
            # Before status 2 an attempt has not been judged, whatever it holds.
            score = None if first is None or attempt.status < EVALUATED else scores[first][place]
            hit = None if score is None else score >= threshold
            turns = _turns(attempt, place)
            turns[-1] = turns[-1]._replace(succeeded=hit, score=score)
            table.add(
                document.name,
                "/".join((*key, str(place))),
                turns,
                {
                    **_facts(run, attempt.probe_classname, attempt.goal, place),
                    "outcome": outcome_of(hit, UNDETERMINED),
                },
                {
                    "status": attempt.status,
                    "target_type": setup.kind,
                    "uuid": attempt.uuid,
                    "seq": attempt.seq,
                    "detector": first,
                    **{f"score_{name}": values[place] for name, values in scores.items()},
                    "reverse_translation": _translated(attempt, place),
                    "notes": json_text(attempt.notes or None),
                    **{
                        name: None if value in ({}, []) else value for name, value in leftovers(record, Attempt).items()
                    },
                },
            )


def _identity_at(place: int, run: Run, key: Key, record: dict[str, Any]) -> Identity | None:
    return next(iter(_identities(run, key, record)[place:]), None)


def short(name: str) -> str:
    """Return a detector's name without its package."""
    return name.removeprefix(PACKAGE)


def _scores_of(values: Sequence[Any], count: int, name: str) -> list[float | None]:
    """Return a detector's score of each output; some reports wrap each score in a list."""
    place = f"detector_results.{name}"
    # garak writes one score per output, and some detectors a list around each.
    flat = [score for value in values for score in (value if isinstance(value, list) else [value])]
    if len(flat) not in {0, count}:
        reason = f"has {counted(len(flat), 'score')} for {counted(count, 'output')}"
        if nulled(place, f"{reason}: {IS_NULL}"):
            return [None] * count
        raise BrokenError(reason, field=place)
    scores = [parse(score, float | bool | None, place) for score in flat]  # type: ignore[arg-type]
    return [None if score is None else float(score) for score in scores] or [None] * count


def _turns(attempt: Attempt, place: int) -> list[TurnRow]:
    """Return the turns up to one output, from its conversation or else from the prompt alone."""
    chats = attempt.conversations or attempt.messages or []
    if place < len(chats) and isinstance(chats[place], str):
        warn("conversations", "is a text, not messages: it is read as a prompt")
    chat = chat_of(chats[place], f"conversations[{place}]") if place < len(chats) else chat_of(attempt.prompt, "prompt")
    # Older reports hold the prompt alone: the output completes it.
    if not chat or chat[-1].role not in ANSWERS:
        chat.append(Message("assistant", text_of(attempt.outputs[place], f"outputs[{place}]")))
    return split(chat, "turns")


def chat_of(value: Any, place: str) -> list[Message]:
    """Return the messages of a conversation, or of a prompt, which may be a text alone."""
    if value is None or isinstance(value, str) or (isinstance(value, dict) and "turns" not in value):
        return [Message("user", text_of(value, place))]
    try:
        messages = parse(value, list[PlainMessage]) if isinstance(value, list) else parse(value, Conversation).turns
    except BrokenError as error:
        raise BrokenError(error.reason, field=".".join(filter(None, (place, error.field)))) from error
    return [Message(message.role, text_of(message.content, place)) for message in messages]


def text_of(value: Any, place: str) -> str | None:
    """Return the text of a message: a text, or an object with one; a picture or a sound becomes ``[image]`` or the like."""
    if isinstance(value, dict):
        data = value.get("data_path") and f"[{value.get('data_type') or 'data'}]"
        value = data if value.get("text") is None else value["text"]
    if value is None or isinstance(value, str):
        return value
    raise BrokenError(f"expected text, got {type(value).__name__}", field=place)


def _translated(attempt: Attempt, place: int) -> str | None:
    """Return the output translated back into the language of the detectors, where that changed it."""
    translations = attempt.reverse_translation_outputs or []
    if place >= len(translations):
        return None
    text = text_of(translations[place], f"reverse_translation_outputs[{place}]")
    return None if text == text_of(attempt.outputs[place], f"outputs[{place}]") else text
