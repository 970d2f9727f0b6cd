"""Scoring: what was said, judged turn by turn. TURNS -> VERDICTS -> TURNS.

A **judge** is a language model with a question (`LLMJudgeMetric` and its presets), or any function of a text. `judge` asks it
about each distinct answer in a table, `join_verdicts` makes a column of what it said, and `score` does both. A **metric over
responses** (`ResponseMetric`) is given lists instead of a table.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnwise.scoring.calibration import MCQACalibration
    from turnwise.scoring.clients import ChatModel, Reply
    from turnwise.scoring.composite import Composite
    from turnwise.scoring.diversity import DistinctN
    from turnwise.scoring.endpoint import Endpoint
    from turnwise.scoring.instructions import StrictInstruction
    from turnwise.scoring.joining import join_verdicts, score
    from turnwise.scoring.judging import judge
    from turnwise.scoring.languages import detect_language
    from turnwise.scoring.llm_judge import LLMJudgeMetric
    from turnwise.scoring.local_model import LocalModel
    from turnwise.scoring.multiple_choice import MCQAAccuracy, MCQAPositionalBias
    from turnwise.scoring.presets import (
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
    from turnwise.scoring.response_metric import ResponseMetric
    from turnwise.scoring.scorers import ScorerMetric
    from turnwise.scoring.short_answers import ShortAnswerMatch
    from turnwise.scoring.similarity import Similarity
    from turnwise.scoring.tool_use import ToolUse
    from turnwise.scoring.verdicts import Judge, Verdict

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
    "detect_language",
    "join_verdicts",
    "judge",
    "score",
]

_ROOMS = {
    "AnswerAccuracy": "presets",
    "AttackSuccess": "presets",
    "ChatModel": "clients",
    "Composite": "composite",
    "DistinctN": "diversity",
    "Endpoint": "endpoint",
    "ContextRelevance": "presets",
    "Factuality": "presets",
    "GoalCompletion": "presets",
    "Groundedness": "presets",
    "Harmfulness": "presets",
    "Informativeness": "presets",
    "Judge": "verdicts",
    "LLMJudgeMetric": "llm_judge",
    "LocalModel": "local_model",
    "MCQAAccuracy": "multiple_choice",
    "MCQACalibration": "calibration",
    "MCQAPositionalBias": "multiple_choice",
    "Refusal": "presets",
    "Relevance": "presets",
    "Reply": "clients",
    "ResponseMetric": "response_metric",
    "ScorerMetric": "scorers",
    "ShortAnswerMatch": "short_answers",
    "Similarity": "similarity",
    "StrictInstruction": "instructions",
    "ToolUse": "tool_use",
    "Truthfulness": "presets",
    "Verdict": "verdicts",
    "detect_language": "languages",
    "join_verdicts": "joining",
    "judge": "judging",
    "score": "joining",
}


def __getattr__(name: str) -> Any:
    """Names are imported on first use: who computes a metric loads no client."""
    if name in _ROOMS:
        return getattr(importlib.import_module(f"{__name__}.{_ROOMS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return list(__all__)
