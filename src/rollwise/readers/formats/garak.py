"""garak: what each probe sent, every answer to it, and the scores of the detectors.

- File: `garak.<run>.report.jsonl`, one entry per line.
- Format: https://github.com/NVIDIA/garak, `Attempt.as_dict` in garak/attempt.py
- Checked on: a real report of many probes, and the reports among garak's own tests, before and after `conversations`.
- Lost: lines other than attempts and settings; results are read by `read_summary`.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from rollwise.errors import counted
from rollwise.readers.chats.speakers import ANSWERS
from rollwise.readers.chats.turns import Message, split_by_column
from rollwise.readers.common import is_verdict
from rollwise.readers.mapping.cells import Columns
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Around, Record, once
from rollwise.readers.mapping.types import checked, type_of
from rollwise.readers.problems import IS_NULL, BrokenError, Problems, nulled, warn
from rollwise.readers.records import Integer, json_text, kind_of, parse, worded
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnsBuilder
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


REPORT = Shapes({"entry_type"})  # with attempts or without
SHAPES = Shapes({"entry_type"}, check=lambda document: b'"attempt"' in document.data)
RESULTS = Shapes({"entry_type"}, check=lambda document: b'"attempt"' not in document.data)


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
                run = Run(parse(value.get("run"), str | None, "run") or run.name, run.setup)  # type: ignore[arg-type]
            elif kind == wanted:
                yield number, run, value


_STATUS = type_of({"status": Integer})


def _outputs(document: Document, builder: TurnsBuilder, around: Around) -> Iterator[Record]:
    """Yield each output of each attempt, from its line with the highest status."""
    # Two passes: the highest status of each attempt is known only after the last line.
    highest: dict[str, int] = {}
    attempts: list[tuple[int, Run, str, int, dict[str, Any]]] = []
    for number, run, record in lines(document, builder.problems, ATTEMPT):
        with builder.record(document.name, number):
            key, status = _key(record), checked(record, _STATUS, {})["status"]
            highest[f"{run.name}/{key}"] = max(status, highest.get(f"{run.name}/{key}", status))
            attempts.append((number, run, key, status, record))
    # All other lines that can be read are settings and results.
    num_broken = len(builder.problems.record_counts.of(document.name).broken)
    builder.passes_over(document.name, (document.num_records or 0) - len(attempts) - num_broken)
    for number, run, key, status, record in attempts:
        outputs = record.get("outputs", [])
        if status < highest[f"{run.name}/{key}"]:
            builder.passes_over(document.name)
        elif outputs == []:
            with builder.record(document.name, number):
                probe = parse(record.get("probe_classname"), str, "probe_classname")
                reason = f"{probe} holds no output: a verdict or a plan, not a rollout"
                builder.problems.dropped(document.name, reason, number)
        else:
            setup = run.setup
            threshold = THRESHOLD if setup.threshold is None else setup.threshold
            constants = {"run": run.name, "attempt": key, "target": setup.target, "type": setup.kind, "hit": threshold}
            of_attempt = Around(document, around.run, constants)
            for place in range(len(outputs) if isinstance(outputs, list) else 1):
                yield Record(record, number, of_attempt, key=place)


def _key(record: dict[str, Any]) -> str:
    """Return what the lines of one attempt of a run share; the rollout ids are made of it."""
    prompt = (json_text(record.get("prompt")) or "").encode()
    # Attempts of some probes share a `uuid`, and old reports have no `uuid` at all.
    name = worded(record.get("uuid")) or hashlib.blake2b(prompt, digest_size=4).hexdigest()
    seq = record.get("seq")
    return "/".join([name, *([] if seq is None else [str(seq)]), str(record.get("probe_classname"))])


def short(name: str) -> str:
    """Return a detector's name without its package."""
    return name.removeprefix(PACKAGE)


@once
def _scores(record: Record) -> dict[str, float | None]:
    """`detector_results`, the score of each detector."""
    # Some reports wrap each score in a list.
    scores: dict[str, float | None] = {}
    for name, values in (record["detector_results"] or {}).items():
        # garak writes one score per output, and some detectors a list around each.
        flat = [score for value in values or [] for score in (value if isinstance(value, list) else [value])]
        place, count = f"detector_results.{name}", len(record["outputs"])
        if len(flat) not in {0, count}:
            reason = f"has {counted(len(flat), 'score')} for {counted(count, 'output')}"
            if not nulled(place, f"{reason}: {IS_NULL}"):
                raise BrokenError(reason, field=place)
            flat = []
        score = parse(flat[record.key], float | bool | None, place) if flat else None  # type: ignore[arg-type]
        scores[short(name)] = None if score is None else float(score)
    return scores


def _score(record: Record) -> float | None:
    """First score of `detector_results`, at `status` 2."""
    # Before status 2 an attempt has not been judged, whatever it holds.
    return next(iter(_scores(record).values()), None) if record["status"] >= EVALUATED else None


def _is_hit(record: Record) -> bool | None:
    """True if that score is at least `run.eval_threshold` (0.5 if missing)."""
    score = _score(record)
    return None if score is None else score >= record["@hit"]


def _sign(record: Record) -> float | None:
    """Return a score of the first detector for any output: with one, a broken attempt is a rollout all the same."""
    values = next(iter((record["detector_results"] or {}).values()), None) or []
    flat = [score for value in values for score in (value if isinstance(value, list) else [value])]
    return next(filter(is_verdict, flat), None)


def _turns(record: Record) -> Columns:
    """`conversations`, else `prompt` and `outputs`."""
    # The turns up to one output, from its conversation or else from the prompt alone.
    place, chats = record.key, record["conversations"] or record["messages"] or []
    if place < len(chats) and isinstance(chats[place], str):
        warn("conversations", "is a text, not messages: it is read as a prompt")
    has_chat = place < len(chats)
    chat = chat_of(chats[place], f"conversations[{place}]") if has_chat else chat_of(record["prompt"], "prompt")
    # Older reports hold the prompt alone: the output completes it.
    if not chat or chat[-1].role not in ANSWERS:
        chat.append(Message("assistant", text_of(record["outputs"][place], f"outputs[{place}]")))
    return split_by_column(chat, "turns")


def _translated(record: Record) -> str | None:
    """`reverse_translation_outputs`, where it differs from the output."""
    place, texts = record.key, record["reverse_translation_outputs"] or []
    if place >= len(texts):
        return None
    text = text_of(texts[place], f"reverse_translation_outputs[{place}]")
    return None if text == text_of(record["outputs"][place], f"outputs[{place}]") else text


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


GARAK = RecordMapping(
    module=__name__,
    doc="""Read the attempts of one report: each output of each attempt is a rollout.

{fields}

An attempt is written when it is sent (status 1) and again when it is judged (2): of its lines, those with the highest
status are read. An attempt without an output (a verdict of the EarlyStop harness on an intent) is not a rollout, and is
reported as left out. `rollout_id` is made of more than `uuid`, which attempts may share. `ending` and `solved` are null.
Further columns: all other fields of an attempt (`notes`, `probe_params`, `targets`, `intent`), objects and lists as JSON
text. `rw.readers.read_summary` reads the lines with results.

The producer judges `every_turn` where the output is the only turn; of a longer conversation, it judges the last.
Detectors may disagree, and a report may state results of attempts that it does not hold.""",
    records=_outputs,
    run={"from": "@run", "in_file": "`run` of the line `init`, else a hash of the content"},
    rollout=[
        {"from": "@attempt", "in_file": "`uuid` (else a hash of the prompt), `seq`, `probe_classname`"},
        {"from": "@key", "in_file": "place among the outputs"},
    ],
    facts={
        "target": {"from": "@target", "in_file": "`plugins.target_name` (older: `model_name`), else the type"},
        "attack": "probe_classname",
        "goal": "goal",
        "attempt": {"from": "@key", "add": 1, "in_file": "place among the outputs"},
    },
    turns=_turns,
    last={"score": _score},
    verdicts=[{"of": "attack", "by": _is_hit, "unknown": UNDETERMINED}],
    signs=[_sign],
    columns={
        "status": "status",
        "target_type": {"from": "@type", "in_file": "`plugins.target_type` (older: `model_type`)"},
        "uuid": "uuid",
        "seq": "seq",
        "detector": {"by": lambda record: next(iter(_scores(record)), None), "in_file": "name of the first detector"},
        "score_*": _scores,
        "reverse_translation": _translated,
        "notes": {"by": lambda record: json_text(record["notes"] or None), "in_file": "`notes`"},
    },
    fields={
        "entry_type": str,
        "probe_classname": str,
        "status": Integer,
        "uuid": str | None,
        "seq": Integer | None,
        "prompt": Any,
        "outputs": list[Any],
        "conversations": list[Any] | None,
        "messages": list[Any] | None,
        "detector_results": dict[str, list[Any] | None] | None,
        "notes": Any,
        "reverse_translation_outputs": list[Any] | None,
    },
    empty=({}, []),
)
