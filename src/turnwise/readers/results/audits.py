"""Petri and Bloom: the scores of the judge of an audit, as verdicts with quotes."""

from collections.abc import Iterator
from typing import Any

from turnwise.readers.formats.exchange.petri import Judged, Transcript, audits, quotes_in, rollout_id_of
from turnwise.readers.problems import Problems
from turnwise.readers.records import json_text, parse
from turnwise.readers.sources.documents import Document


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
