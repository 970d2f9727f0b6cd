"""garak: hit logs, which hold only the outputs that a detector called a hit.

- File: `garak.<run>.hitlog.jsonl`, one hit of one detector per line.
- Format: https://github.com/NVIDIA/garak, garak/evaluators/base.py
- Checked on: files built from that source.
- Lost: nothing; the file itself lacks all outputs that were not hits.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec
from msgspec.structs import asdict

from rollwise.readers.chats.speakers import ANSWERS
from rollwise.readers.chats.turns import Message, split
from rollwise.readers.chronology import latest
from rollwise.readers.formats import garak
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Around, Record, once
from rollwise.readers.problems import warn
from rollwise.readers.records import Integer, Small, parse, worded
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnRow, TurnsBuilder

SHAPES = Shapes({"attempt_id", "attempt_idx", "output", "probe"}, without={"entry_type"})
NAMELESS = "None"  # as Python writes the name of a generator that has none


class Hit(msgspec.Struct):
    """One output, with the detector that flagged it."""

    attempt_id: str
    probe: str
    output: Any = None
    score: float | bool | None = None
    run_id: str | None = None
    attempt_seq: Integer | None = None
    attempt_idx: Small = 0
    generator: str | None = None
    detector: str | list[str] | None = None


def _outputs(document: Document, builder: TurnsBuilder, around: Around) -> Iterator[Record]:
    """Yield the first hit of each output, with all hits of it: one output may have a line for each detector."""
    hits_of: dict[str, list[tuple[int, Hit, dict[str, Any]]]] = {}
    for number, value in document.records():
        with builder.record(document.name, number):
            hit = parse(value, Hit)
            if "attempt_idx" not in value:
                warn("attempt_idx", "is missing: it is read as 0, the first output")
            seq = () if hit.attempt_seq is None else (str(hit.attempt_seq),)
            run = hit.run_id or f"garak-{document.digest}"
            name = "/".join((run, hit.attempt_id, *seq, hit.probe, str(hit.attempt_idx)))
            hits_of.setdefault(name, []).append((number, hit, value))
    for name, hits in hits_of.items():
        number, first, record = hits[0]
        if builder.has_log_of(name):
            builder.repeats(document.name)
            continue
        with builder.record(document.name, number):
            if any(hit.output != first.output for _, hit, _ in hits):
                warn("attempt_idx", "several outputs have the same: only the first of them is read")
        # The generator is `type name`; a generator without a name is `type None`.
        kind, _, target = (first.generator or "").rpartition(" ")
        constants = {
            "run": first.run_id or f"garak-{document.digest}",
            "type": kind or None,
            "target": (kind if target == NAMELESS else target) or None,
            "hits": [hit for _, hit, _ in hits],
        }
        yield Record(record | asdict(first), number, replace(around, found=constants), key=first.attempt_idx)


@once
def _scores(record: Record) -> dict[str, float | None]:
    """`score` of each `detector`, of which several may flag one output."""
    stated: dict[str, list[tuple[float | None, None]]] = {}
    for hit in record["@hits"]:
        for detector in hit.detector if isinstance(hit.detector, list) else [hit.detector or "unknown"]:
            stated.setdefault(garak.short(detector), []).append((None if hit.score is None else float(hit.score), None))
    return {name: latest(values, "score") for name, values in stated.items()}


def _score(record: Record) -> float | None:
    """`score`."""
    return next(iter(_scores(record).values()), None)


def _turns(record: Record) -> list[TurnRow]:
    """`prompt`, `output`."""
    chat = garak.chat_of(record["prompt"], "prompt")
    if not chat or chat[-1].role not in ANSWERS:
        chat.append(Message("assistant", garak.text_of(record["output"], "output")))
    return split(chat, "turns")


GARAK_HITLOG = RecordMapping(
    module=__name__,
    doc="""Read the hits of one log as rollouts, with the same names as in the report of the run.

{fields}

**Every rollout is a success**: other outputs are not in the file, so a rate over it is 1 and means nothing. Read the
report instead, where there is one. If the report of the same run is read too, its rollouts are kept, and these are passed
over. `ending` and `solved` are null.

The producer judges `every_turn` where the output is the only turn; of a longer conversation, it judges the last.""",
    records=_outputs,
    run={"from": "@run", "in_file": "`run_id`, else a hash of the content"},
    rollout=["attempt_id", "attempt_seq", "probe", {"from": "@key", "in_file": "`attempt_idx`"}],
    facts={
        "target": {
            "from": "@target",
            "in_file": "name in `generator`",
            "note": "the type before it, if it is missing, as in the report",
        },
        "attack": "probe",
        "goal": "goal",
        "attempt": {"from": "@key", "add": 1, "in_file": "`attempt_idx`"},
    },
    turns=_turns,
    last={"score": {"by": _score, "note": "of the first detector"}},
    verdicts=[{"of": "attack", "value": True}],
    columns={
        "target_type": {"from": "@type", "in_file": "type in `generator`"},
        "uuid": "attempt_id",
        "seq": "attempt_seq",
        "detector": {"by": lambda record: worded(record["detector"]), "in_file": "`detector`"},
        "score_*": _scores,
    },
    used={"prompt", "output", "score", "run_id", "attempt_idx", "generator"},
)
