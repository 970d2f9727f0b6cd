"""Every Eval Ever (EvalEval Coalition): the samples of an evaluation, one record for each sample and result.

- File: `<uuid>_samples.jsonl`, beside `<uuid>.json` with the results of the whole evaluation.
- Format: https://github.com/evaleval/every_eval_ever, every_eval_ever/schemas/instance_level_eval.schema.json
- Checked on: what its converter 0.3.0 wrote of a log of Inspect; what rollwise writes passes its validator without a warning.
- Lost: which tool result answers which call; reasoning is the column `reasoning`, not part of the answer. Its converter of
  Inspect's logs keeps one score of a sample, reduced over all epochs, and calls every score above 0 correct.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from rollwise.readers.chats.turns import messages_of, split
from rollwise.readers.common import join_texts, outcome_of, zero_or_one
from rollwise.readers.problems import BrokenError, Problems
from rollwise.readers.records import Count, Finite, Key, json_text, parse, spare, total, whole_number
from rollwise.readers.sources.beside import bytes_beside
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnRow, TurnsBuilder
from rollwise.schema import ERROR, NO_ATTACK, TURNS

METADATA_KEY = (
    "rollwise"  # in `metadata`: where `rw.tables.write_every_eval_ever` keeps what the schema has no field for
)
SAMPLES = "_samples.jsonl"
UNKNOWN = -1  # the score of an unknown level
ATTACKS = frozenset(
    {"attack_success", "attack_success_rate", "asr"}
)  # metrics whose score 1 is a success of the attack


class Input(msgspec.Struct):
    """Question of a sample."""

    raw: str | None = None
    reference: list[str] | None = None
    formatted: str | None = None
    choices: list[str] | None = None


class Output(msgspec.Struct):
    """The answers to a sample of one turn."""

    raw: list[str] | None = None
    reasoning_trace: list[str] | None = None


class Evaluation(msgspec.Struct):
    """The verdict on a sample."""

    score: Finite | None = None
    is_correct: bool | None = None


class Usage(msgspec.Struct):
    """Tokens of the whole sample."""

    input_tokens: Count = None
    output_tokens: Count = None
    total_tokens: Count = None


class Instance(msgspec.Struct):
    """One sample under one result."""

    evaluation_id: str
    sample_id: Key
    evaluation_name: str
    input: Input
    evaluation: Evaluation
    model_id: str | None = None
    evaluation_result_id: str | None = None
    interaction_type: str | None = None
    output: Output | None = None
    messages: list[Any] | None = None
    answer_attribution: Any = None
    token_usage: Usage | None = None
    performance: dict[str, Any] | None = None
    error: str | None = None
    metadata: dict[str, Any] | None = None
    sample_hash: str | None = None
    schema_version: str | None = None

    @property
    def result(self) -> str:
        """The result that this record counts in."""
        return self.evaluation_result_id or self.evaluation_name


class Stored(msgspec.Struct):
    """Fields of a rollout that rollwise keeps in the metadata of its records."""

    rollout_id: str
    facts: dict[str, Any] = {}
    columns: dict[str, Any] = {}
    turns: list[dict[str, Any]] = []


class Sample(NamedTuple):
    """All records of one rollout, with its id, and the number of its first record."""

    number: int
    rollout_id: str
    attempt: int | None
    records: list[Instance]


SHAPES = Shapes({"evaluation_id", "sample_id", "evaluation", "answer_attribution", "input"})


def read_every_eval_ever(document: Document, table: TurnsBuilder) -> None:
    r"""Read each sample as a rollout, with the verdicts of all results that it counts in.

    =========================== ============================================================================
    in the file                 in the table
    =========================== ============================================================================
    `evaluation_id`             `run`
    run, `sample_id`, attempt   `rollout_id`
    `model_id`                  `target`
    `evaluation_name`           `category`, and, before `sample_id`, `task`
    `metadata.epoch`            `attempt`; else the k-th record of the sample under the same result
    `input.raw`, `output.raw`   `prompt`, `response` of a sample of one turn; several answers are joined
    `messages`                  the turns of any other sample
    `input.reference`           `expected`; several are JSON text
    `evaluation.score`          `score_<result>` for each result; null where it is -1 and the level is unknown
    `evaluation.is_correct`     `solved`, of the first result that is not about an attack
    a result named attack       `outcome`: success where the score is 1, failure where it is 0
    success (rate) or ASR
    `token_usage`               `total_tokens`; the turn's tokens where there is only one
    `error`                     `error` of the last turn; `ending` where no answer was given, and then no verdict
                                is kept, since the schema demands one also for a sample that crashed
    `metadata`, other fields    columns of their own
    =========================== ============================================================================

    A result's name is its `evaluation_result_id`, else its `evaluation_name`. The file beside it, ``<uuid>.json``, says which
    metric it is and whether a level may be unknown; its figures are read by `rw.readers.read_summary`, and the verdicts alone
    by `rw.judges.read_verdicts`. `attack` is `none` unless a result is about an attack. Records that
    `rw.tables.write_every_eval_ever` wrote give back every column of TURNS.

    The producer judges the `whole_rollout`.
    """
    metrics = metrics_of(document)
    for sample in samples(document, table.problems):
        with table.record(document.name, sample.number):
            _add(document, table, sample, metrics)


def samples(document: Document, problems: Problems) -> Iterator[Sample]:
    """Yield the rollouts of a file, each with all of its records, which may be far apart in the file."""
    by_id: dict[str, Sample] = {}
    repeats: Counter[tuple[str, Key, str]] = Counter()
    for number, value in document.records():
        with problems.record(document.name, number):
            record = parse(value, Instance)
            stored = stored_in(record)
            if stored is None:
                key = (record.evaluation_id, record.sample_id, record.result)
                repeats[key] += 1
                attempt: int | None = _epoch(record) or repeats[key]
                rollout_id = f"{record.evaluation_id}/{record.sample_id}/{attempt}"
            else:
                rollout_id, attempt = stored.rollout_id, None
            sample = by_id.setdefault(rollout_id, Sample(number, rollout_id, attempt, []))
            if any(earlier.result == record.result for earlier in sample.records):
                raise BrokenError(f"is a second verdict of {record.result!r} on {rollout_id!r}", field="evaluation")
            sample.records.append(record)
    yield from by_id.values()


def kept_text(about: Mapping[str, Any], field: str, mark: str) -> Any:
    """Return the JSON text that rollwise keeps under its own name; an object with `mark` under another is of an earlier version."""
    if METADATA_KEY in about:
        return about[METADATA_KEY]
    for name, text in about.items():
        if isinstance(text, str) and text.startswith("{") and f'"{mark}":' in text:
            reason = "is what an earlier version kept under another name, and would be lost; write the file again"
            raise BrokenError(reason, field=f"{field}.{name}")
    return None


def stored_in(record: Instance) -> Stored | None:
    """Return what rollwise kept of the rollout in a record that it wrote."""
    text = kept_text(record.metadata or {}, "metadata", "rollout_id")
    if text is None:
        return None
    try:
        return parse(json.loads(text), Stored, f"metadata.{METADATA_KEY}")
    except (TypeError, ValueError, RecursionError) as error:
        raise BrokenError("is not the JSON text that rollwise wrote", field=f"metadata.{METADATA_KEY}") from error


def _epoch(record: Instance) -> int | None:
    epoch = (record.metadata or {}).get("epoch")
    return int(epoch) if isinstance(epoch, str) and epoch.isdecimal() and 0 < int(epoch) < 2**31 else None


# ── the results beside the samples ────────────────────────────────────────────────────────────────────────────────────
def metrics_of(document: Document) -> dict[str, Mapping[str, Any]]:
    """Return the metric of each result, by the result's name, from the file beside the samples; none where it is missing."""
    path = document.path.absolute()
    if not path.name.endswith(SAMPLES):
        return {}
    summary = path.with_name(path.name.removesuffix(SAMPLES) + ".json")
    try:
        evaluation = json.loads(bytes_beside(summary, path.parent) or "null")
    except (ValueError, RecursionError):
        return {}
    results = evaluation.get("evaluation_results") if isinstance(evaluation, dict) else None
    listed = [result for result in results if isinstance(result, dict)] if isinstance(results, list) else []
    return {
        name: metric
        for result in listed
        if isinstance(name := result.get("evaluation_result_id") or result.get("evaluation_name"), str)
        and isinstance(metric := result.get("metric_config"), dict)
    }


def is_attack(result: str, metric: Mapping[str, Any]) -> bool:
    """Return whether the result counts successes of an attack, by the names of its metric."""
    names = (result, *(metric.get(field) for field in ("metric_id", "metric_name", "metric_kind")))
    words = (name.lower().replace("-", "_").replace(" ", "_") for name in names if isinstance(name, str))
    return any(ATTACKS & {word, word.split("/")[0], word.rsplit("/", 1)[-1], word.rsplit(".", 1)[-1]} for word in words)


def score_of(record: Instance, metric: Mapping[str, Any]) -> float | None:
    """Return the score of a record; null where it means an unknown level."""
    score = record.evaluation.score
    return None if score == UNKNOWN and metric.get("has_unknown_level") is True else score


# ── one rollout ───────────────────────────────────────────────────────────────────────────────────────────────────────
def _add(document: Document, table: TurnsBuilder, sample: Sample, metrics: Mapping[str, Mapping[str, Any]]) -> None:
    first = sample.records[0]
    turns, reasoning = turns_of(first)
    stored = stored_in(first)
    if stored is not None:
        _add_stored(document, table, stored, turns)
        return
    crashed = first.error is not None and all(turn.response is None and not turn.tool_calls for turn in turns)
    outcome, solved, scores = None, None, {}
    for record in sample.records:
        metric = metrics.get(record.result, {})
        score = None if crashed else score_of(record, metric)
        scores[f"score_{record.result}"] = score
        if is_attack(record.result, metric):
            outcome = outcome or outcome_of(zero_or_one(score))
        elif solved is None and score is not None:
            solved = record.evaluation.is_correct
    attacked = any(is_attack(record.result, metrics.get(record.result, {})) for record in sample.records)
    turns[-1] = turns[-1]._replace(error=first.error)
    usage = first.token_usage or Usage()
    if len(turns) == 1 and turns[0].turn is not None:
        turns[0] = turns[0]._replace(
            prompt_tokens=whole_number(usage.input_tokens, "token_usage.input_tokens"),
            response_tokens=whole_number(usage.output_tokens, "token_usage.output_tokens"),
        )
    facts = {
        "run": first.evaluation_id,
        "target": first.model_id,
        "attack": None if attacked else NO_ATTACK,
        "task": f"{first.evaluation_name}/{first.sample_id}",
        "category": first.evaluation_name,
        "attempt": sample.attempt,
        "expected": _one_or_all(first.input.reference),
        "outcome": outcome,
        "solved": solved,
        "ending": ERROR if crashed else None,
        "total_tokens": total((usage.total_tokens,), "token_usage.total_tokens"),
    }
    extras = {
        **scores,
        "interaction_type": first.interaction_type,
        "formatted": first.input.formatted,
        "choices": json_text(first.input.choices),
        "reasoning": reasoning,
        "answer_attribution": json_text(first.answer_attribution or None),
        "sample_hash": first.sample_hash,
        **{spare(name): value for name, value in (first.performance or {}).items()},
        **{spare(name): value for name, value in (first.metadata or {}).items() if name != "epoch"},
    }
    table.add(document.name, sample.rollout_id, turns, facts, extras)


def turns_of(record: Instance) -> tuple[list[TurnRow], str | None]:
    """Return the turns of a sample, and the reasoning of the target."""
    if record.messages is not None:
        reasoning = join_texts(
            message.get("reasoning_trace") for message in record.messages if isinstance(message, dict)
        )
        return split(messages_of(record.messages, "messages")), reasoning
    output = record.output or Output()
    answer = join_texts(output.raw or ())
    # A sample that crashed has an empty list of answers; an empty answer is an answer.
    was_asked = bool(output.raw) or record.error is None
    turn = TurnRow(1 if was_asked else None, prompt=record.input.raw, response=answer)
    return [turn], join_texts(output.reasoning_trace or ())


def _one_or_all(references: list[str] | None) -> str | None:
    return references[0] if references and len(references) == 1 else json_text(references or None)


def _add_stored(document: Document, table: TurnsBuilder, stored: Stored, turns: list[TurnRow]) -> None:
    """Add a rollout that rollwise wrote: its texts from the messages, everything else from its metadata."""
    if len(turns) != len(stored.turns):
        reason = f"has {len(stored.turns)} turns, but the messages have {len(turns)}"
        raise BrokenError(reason, field=f"metadata.{METADATA_KEY}.turns")
    complete = [
        turn._replace(**{name: value for name, value in columns.items() if name in TurnRow._fields})
        for turn, columns in zip(turns, stored.turns, strict=True)
    ]
    extra_names = list(
        dict.fromkeys(name for columns in stored.turns for name in columns if name not in TurnRow._fields)
    )
    turn_extras = {name: [columns.get(name) for columns in stored.turns] for name in extra_names}
    facts = {name: value for name, value in stored.facts.items() if name in TURNS.names}
    table.add(document.name, stored.rollout_id, complete, facts, stored.columns, turn_extras)
