"""Petri and Bloom: the scores of the judge of an audit, as verdicts with quotes."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec

from rollwise.readers.common import is_object
from rollwise.readers.formats.exchange import petri
from rollwise.readers.formats.exchange.petri import (
    Highlight,
    Judged,
    Transcript,
    audits,
    quotes_in,
    rollout_id_of,
)
from rollwise.readers.problems import BrokenError, Problems, strictly
from rollwise.readers.records import Finite, Small, json_text, leftovers, parse
from rollwise.readers.sources.beside import is_beside
from rollwise.readers.sources.documents import Document

PRESENCE = "behavior_presence"  # the dimension of every judgment of Bloom
OF_JUDGMENT = frozenset({"behavior_name", "judgments", "summary_statistics"})
STAGES = (frozenset({"behavior_name", "understanding"}), frozenset({"behavior_name", "variations"}))
TRANSCRIPTS = ("transcript_v*r*.json", "transcripts/transcript_v*r*.json")


def verdicts(document: Document, problems: Problems) -> Iterator[dict[str, Any]]:
    """Yield a verdict for each dimension that the judge scored."""
    for place, value, (variation, repetition) in audits(document):
        with problems.record(document.name, place):
            transcript = parse(value, Transcript)
            judged = transcript.metadata.judge_output or Judged()
            for dimension, score in judged.scores.items():
                yield {
                    "rollout_id": rollout_id_of(transcript, document, place),
                    "judge": dimension,
                    "value": score,
                    "reasoning": judged.justification,
                    "target": transcript.metadata.target_model,
                    "category": None if variation is None else f"v{variation}",
                    "attempt": repetition or 1,
                    "quotes": json_text(quotes_in(judged) or None),
                }


# ── Bloom's file of all judgments ─────────────────────────────────────────────────────────────────────────────────────
class Judgment(msgspec.Struct):
    """Judgment of Bloom's judge on one audit; its other fields are further dimensions, if they are numbers."""

    variation_number: Small
    repetition_number: Small
    behavior_presence: Finite | None = None
    variation_description: str | None = None
    justification: str | None = None
    summary: str | None = None
    highlights: list[Highlight] | None = None
    full_judgment_response: str | None = None
    thinking: str | None = None
    num_samples: Small | None = None
    individual_samples: list[dict[str, Any]] = []
    error: str | None = None


class Judgments(msgspec.Struct):
    """All judgments of one behavior."""

    behavior_name: str
    judgments: list[Any]
    model: str | None = None
    failed_judgments: list[Any] = []


def is_judgment(document: Document) -> bool:
    """Return whether the file is Bloom's ``judgment.json``."""
    return is_object(document) and document.keys >= OF_JUDGMENT


def is_stage(document: Document) -> bool:
    """Return whether the file is what Bloom understood of a behavior, or its ideas of scenarios."""
    return is_object(document) and any(document.keys >= stage for stage in STAGES) and not is_judgment(document)


def judgments(document: Document, problems: Problems) -> Iterator[dict[str, Any]]:
    """Yield a verdict for each dimension of each judgment; of an audit that could not be judged, one with the error."""
    run = parse(document.value, Judgments)
    rollout_ids = _rollout_ids(document)
    listed = [(f"judgments[{place}]", value) for place, value in enumerate(run.judgments)]
    listed += [(f"failed_judgments[{place}]", value) for place, value in enumerate(run.failed_judgments)]
    for place, value in listed:
        with problems.record(document.name, place):
            judgment = parse(value, Judgment)
            numbers = (judgment.variation_number, judgment.repetition_number)
            others = {name: score for name, score in leftovers(value, Judgment).items() if _is_number(score)}
            quotes = quotes_in(Judged(highlights=judgment.highlights))
            for dimension, score in {PRESENCE: judgment.behavior_presence, **others}.items():
                samples = [sample.get(dimension) for sample in judgment.individual_samples]
                yield {
                    "rollout_id": rollout_ids.get(numbers, f"bloom-{document.digest}/v{numbers[0]}r{numbers[1]}"),
                    "judge": dimension,
                    "value": score,
                    "reasoning": judgment.justification,
                    "error": judgment.error,
                    "category": f"v{numbers[0]}",
                    "attempt": numbers[1],
                    "behavior": run.behavior_name,
                    "judge_model": run.model,
                    "judge_summary": judgment.summary,
                    "samples": json_text(samples or None),
                    "quotes": json_text(quotes or None),
                }


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _rollout_ids(document: Document) -> dict[tuple[int | None, int | None], str]:
    """Return the id of each audit beside the judgments, by variation and repetition."""
    folder = document.path.absolute().parent
    paths = [folder / "rollout.json", *(path for pattern in TRANSCRIPTS for path in sorted(folder.glob(pattern)))]
    ids: dict[tuple[int | None, int | None], str] = {}
    for path in (path for path in paths if is_beside(path, folder)):
        # The reader of that part reports what is broken there.
        with suppress(BrokenError, OSError), strictly():
            transcripts = Document(path)
            for place, value, numbers in audits(transcripts) if petri.SHAPES(transcripts) else ():
                ids[numbers] = rollout_id_of(parse(value, Transcript), transcripts, place)
    return ids
