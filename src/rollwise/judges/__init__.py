"""Judging answers turn by turn: TURNS -> VERDICTS -> TURNS. Begin with `llm_judge.py`, then `joining.py`.

A **judge** is a language model with a question (`LLMJudgeMetric` and its presets), or any function of a text. `judge` asks it
about each distinct answer in a table, `join_verdicts` adds its verdicts to the table as a column, and `score` does both. A
**metric over responses** (`ResponseMetric`) takes lists instead of a table. `reliability` measures how far to trust a judge.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rollwise.judges.clients import ChatModel, Reply
    from rollwise.judges.endpoint import Endpoint
    from rollwise.judges.instructions import StrictInstruction, detect_language
    from rollwise.judges.joining import join_verdicts, score
    from rollwise.judges.judgments import judge
    from rollwise.judges.llm_judge import LLMJudgeMetric
    from rollwise.judges.local_model import LocalModel
    from rollwise.judges.multiple_choice import MCQAAccuracy, MCQACalibration, MCQAPositionalBias
    from rollwise.judges.presets import (
        AnswerAccuracy,
        AttackSuccess,
        ContextRelevance,
        Factuality,
        GoalCompletion,
        Groundedness,
        Harmfulness,
        Informativeness,
        Refusal,
        Relevance,
        Truthfulness,
    )
    from rollwise.judges.references import ShortAnswerMatch, Similarity
    from rollwise.judges.reliability import agreement, confusion, correct, correct_curve
    from rollwise.judges.response_metric import Composite, DistinctN, ResponseMetric, ScorerMetric
    from rollwise.judges.tool_use import ToolUse
    from rollwise.judges.verdicts import Judge, Verdict
    from rollwise.readers.results.joining import join_labels
    from rollwise.readers.verdicts import read_verdicts

__all__ = [
    "AnswerAccuracy",
    "AttackSuccess",
    "ChatModel",
    "Composite",
    "ContextRelevance",
    "DistinctN",
    "Endpoint",
    "Factuality",
    "GoalCompletion",
    "Groundedness",
    "Harmfulness",
    "Informativeness",
    "Judge",
    "LLMJudgeMetric",
    "LocalModel",
    "MCQAAccuracy",
    "MCQACalibration",
    "MCQAPositionalBias",
    "Refusal",
    "Relevance",
    "Reply",
    "ResponseMetric",
    "ScorerMetric",
    "ShortAnswerMatch",
    "Similarity",
    "StrictInstruction",
    "ToolUse",
    "Truthfulness",
    "Verdict",
    "agreement",
    "confusion",
    "correct",
    "correct_curve",
    "detect_language",
    "join_labels",
    "join_verdicts",
    "judge",
    "read_verdicts",
    "score",
]

_MODULES = {
    "agreement": ".reliability.judges",
    "confusion": ".reliability.category_pairs",
    "correct": ".reliability.rates",
    "correct_curve": ".reliability.hazards",
    "join_labels": "..readers.results.joining",
    "read_verdicts": "..readers.verdicts",
    "AnswerAccuracy": ".presets",
    "AttackSuccess": ".presets",
    "ChatModel": ".clients",
    "Composite": ".response_metric",
    "DistinctN": ".response_metric",
    "Endpoint": ".endpoint",
    "ContextRelevance": ".presets",
    "Factuality": ".presets",
    "GoalCompletion": ".presets",
    "Groundedness": ".presets",
    "Harmfulness": ".presets",
    "Informativeness": ".presets",
    "Judge": ".verdicts",
    "LLMJudgeMetric": ".llm_judge",
    "LocalModel": ".local_model",
    "MCQAAccuracy": ".multiple_choice",
    "MCQACalibration": ".multiple_choice",
    "MCQAPositionalBias": ".multiple_choice",
    "Refusal": ".presets",
    "Relevance": ".presets",
    "Reply": ".clients",
    "ResponseMetric": ".response_metric",
    "ScorerMetric": ".response_metric",
    "ShortAnswerMatch": ".references",
    "Similarity": ".references",
    "StrictInstruction": ".instructions",
    "ToolUse": ".tool_use",
    "Truthfulness": ".presets",
    "Verdict": ".verdicts",
    "detect_language": ".instructions",
    "join_verdicts": ".joining",
    "judge": ".judgments",
    "score": ".joining",
}


def __getattr__(name: str) -> Any:
    """Import a name on first use, so that computing a metric loads no client of language models."""
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return list(__all__)
