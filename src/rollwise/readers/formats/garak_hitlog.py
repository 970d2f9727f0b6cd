"""garak: hit logs, which hold only the outputs that a detector called a hit.

- File: `garak.<run>.hitlog.jsonl`, one hit of one detector per line.
- Format: https://github.com/NVIDIA/garak, garak/evaluators/base.py
- Checked on: files built from that source.
- Lost: nothing; the file itself lacks all outputs that were not hits.
"""

from typing import Any

import msgspec

from rollwise.readers.chats.speakers import ANSWERS
from rollwise.readers.chats.turns import Message, split
from rollwise.readers.chronology import latest
from rollwise.readers.common import has_fields
from rollwise.readers.formats import garak
from rollwise.readers.problems import warn
from rollwise.readers.records import Small, Whole, json_text, leftovers, parse
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import TurnsBuilder
from rollwise.schema import SUCCESS

NAMELESS = "None"  # as Python writes the name of a generator that has none


class Hit(msgspec.Struct):
    """One output, with the detector that flagged it."""

    attempt_id: str
    probe: str
    prompt: Any = None
    output: Any = None
    goal: str | None = None
    score: float | bool | None = None
    run_id: str | None = None
    attempt_seq: Whole | None = None
    attempt_idx: Small = 0
    generator: str | None = None
    detector: str | list[str] | None = None


def sniff(document: Document) -> bool:
    """Return whether the file is a hit log: lines with `attempt_id`, `probe` and `output`, without an `entry_type`."""
    hit = has_fields(document, "attempt_id", "attempt_idx", "output", "probe")
    return hit and "entry_type" not in document.keys


def read_garak_hitlog(document: Document, table: TurnsBuilder) -> None:
    r"""Read the hits of one log as rollouts, named as `read_garak` names them.

    ================================ ==================================================================
    in the file                      in the table
    ================================ ==================================================================
    `run_id`                         `run`; otherwise a hash of the content
    run, `attempt_id`,               `rollout_id`: the same as in the report of the run
    `attempt_seq`, probe,
    `attempt_idx`
    `attempt_idx`                    `attempt`, from 1
    `generator`                      `target`; the type before the name is `target_type`, and also the target
                                     if the name is missing, as in the report
    `probe`                          `attack`
    `goal`                           `goal`
    `prompt`, `output`               turns
    `score`                          `score` of the last turn, which `succeeded`; `score_<detector>` for each
                                     detector, of which several may flag one output
    ================================ ==================================================================

    **Every rollout is a success**: other outputs are not in the file, so a rate over it is 1 and means nothing. Read the
    report instead, where there is one. If the report of the same run is read too, its rollouts are kept, and these are passed
    over. `ending` and `solved` are null.

    The producer judges `every_turn` where the output is the only turn; of a longer conversation, it judges the last.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rollwise.readers.problems import Problems
    >>> log = b'''{"goal": "greet", "prompt": "Say hi", "output": {"text": "Hi"}, "score": 1.0, "run_id": "R1",
    ... "attempt_id": "a", "attempt_seq": 0, "attempt_idx": 0, "generator": "test parrot", "probe": "test.Test",
    ... "detector": "always.Fail"}'''
    >>> table = TurnsBuilder("garak_hitlog", Problems(), {})
    >>> read_garak_hitlog(Document(Path("a.hitlog.jsonl"), log.replace(b",\n", b", ")), table)
    >>> table.frame().select("rollout_id", "target", "response", "succeeded", "outcome").row(0)
    ('R1/a/0/test.Test/0', 'parrot', 'Hi', True, 'success')
    """
    # One output may have several lines, one for each detector: together they are one rollout.
    hits_of: dict[str, list[tuple[int, Hit, dict[str, Any]]]] = {}
    for number, value in document.records():
        with table.record(document.name, number):
            hit = parse(value, Hit)
            if "attempt_idx" not in value:
                warn("attempt_idx", "is missing: it is read as 0, the first output")
            run = hit.run_id or f"garak-{document.digest}"
            seq = () if hit.attempt_seq is None else (str(hit.attempt_seq),)
            name = "/".join((run, hit.attempt_id, *seq, hit.probe, str(hit.attempt_idx)))
            hits_of.setdefault(name, []).append((number, hit, value))
    for name, hits in hits_of.items():
        number, _, record = hits[0]
        with table.record(document.name, number):
            if table.knows(name):
                table.repeats(document.name)
                continue
            if any(hit.output != hits[0][1].output for _, hit, _ in hits):
                warn("attempt_idx", "several outputs have the same: only the first of them is read")
            _add(document, table, name, [hit for _, hit, _ in hits], leftovers(record, Hit))


def _add(document: Document, table: TurnsBuilder, name: str, hits: list[Hit], extras: dict[str, Any]) -> None:
    first = hits[0]
    chat = garak.chat_of(first.prompt, "prompt")
    if not chat or chat[-1].role not in ANSWERS:
        chat.append(Message("assistant", garak.text_of(first.output, "output")))
    turns = split(chat, "turns")
    # One line per detector: all scores of one output belong to one rollout.
    stated: dict[str, list[tuple[float | None, None]]] = {}
    for hit in hits:
        for detector in hit.detector if isinstance(hit.detector, list) else [hit.detector or "unknown"]:
            stated.setdefault(garak.short(detector), []).append((None if hit.score is None else float(hit.score), None))
    scores = {f"score_{name}": latest(values, "score") for name, values in stated.items()}
    turns[-1] = turns[-1]._replace(succeeded=True, score=next(iter(scores.values())))
    # The generator is `type name`; a generator without a name is `type None`.
    kind, _, target = (first.generator or "").rpartition(" ")
    target = kind if target == NAMELESS else target
    table.add(
        document.name,
        name,
        turns,
        {
            "run": name.split("/", 1)[0] if first.run_id is None else first.run_id,
            "target": target or None,
            "attack": first.probe,
            "goal": first.goal,
            "attempt": first.attempt_idx + 1,
            "outcome": SUCCESS,
        },
        {
            "target_type": kind or None,
            "uuid": first.attempt_id,
            "seq": first.attempt_seq,
            "detector": first.detector if isinstance(first.detector, str) else json_text(first.detector),
            **scores,
            **extras,
        },
    )
