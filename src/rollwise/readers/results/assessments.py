"""MLflow: the feedback on traces, as verdicts."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from rollwise.readers.formats.exchange.mlflow import Trace, assessments_of, rollout_id_of
from rollwise.readers.problems import Problems
from rollwise.readers.records import parse, worded
from rollwise.readers.sources.documents import Document

YES_OR_NO = {"yes": 1.0, "no": 0.0}  # the words of MLflow's own judges


def verdicts(document: Document, problems: Problems) -> Iterator[dict[str, Any]]:
    """Yield a verdict for each feedback on a trace or a span, under its name; feedback that was replaced is left out."""
    for number, value in document.records():
        with problems.record(document.name, number):
            trace = parse(value, Trace)
            samples: Counter[tuple[str, str | None]] = Counter()
            for assessment in assessments_of(trace.info):
                feedback, source = assessment.feedback, assessment.source
                if feedback is None or not assessment.is_verdict:
                    continue
                key = (assessment.assessment_name, assessment.span_id)
                samples[key] += 1
                answer, failure = feedback.value, feedback.error
                number_or_none = float(answer) if isinstance(answer, bool | int | float) else None
                yield {
                    "rollout_id": rollout_id_of(document, trace.info),
                    "judge": assessment.assessment_name,
                    "sample": samples[key],
                    "value": YES_OR_NO.get(answer.lower()) if isinstance(answer, str) else number_or_none,
                    "label": worded(answer),
                    "reasoning": assessment.rationale,
                    "error": None if failure is None else failure.error_message or failure.error_code,
                    "source_type": source.source_type,
                    "source_id": source.source_id,
                    "span_id": assessment.span_id,
                }
