"""Scoring: what was said, judged turn by turn. TURNS -> VERDICTS -> TURNS.

A **judge** is a language model with a question (`LLMJudgeMetric` and its presets), or any function of a text. `judge` asks it
about each distinct answer in a table, `join_verdicts` makes a column of what it said, and `score` does both. A **metric over
responses** (`ResponseMetric`) is given lists instead of a table.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnwise.scoring.clients import ChatModel, Reply
    from turnwise.scoring.endpoint import Endpoint
    from turnwise.scoring.joining import join_verdicts, score
    from turnwise.scoring.judging import judge
    from turnwise.scoring.llm_judge import LLMJudgeMetric
    from turnwise.scoring.local_model import LocalModel
    from turnwise.scoring.presets import (
        AttackSuccess,
        Factuality,
        Harmfulness,
        Informativeness,
        Refusal,
        Relevance,
        Truthfulness,
    )
    from turnwise.scoring.response_metric import ResponseMetric
    from turnwise.scoring.verdicts import Judge, Verdict

_ROOMS = {
    "AttackSuccess": "presets",
    "ChatModel": "clients",
    "Endpoint": "endpoint",
    "Factuality": "presets",
    "Harmfulness": "presets",
    "Informativeness": "presets",
    "Judge": "verdicts",
    "LLMJudgeMetric": "llm_judge",
    "LocalModel": "local_model",
    "Refusal": "presets",
    "Relevance": "presets",
    "Reply": "clients",
    "ResponseMetric": "response_metric",
    "Truthfulness": "presets",
    "Verdict": "verdicts",
    "join_verdicts": "joining",
    "judge": "judging",
    "score": "joining",
}

__all__ = [
    "AttackSuccess",
    "ChatModel",
    "Endpoint",
    "Factuality",
    "Harmfulness",
    "Informativeness",
    "Judge",
    "LLMJudgeMetric",
    "LocalModel",
    "Refusal",
    "Relevance",
    "Reply",
    "ResponseMetric",
    "Truthfulness",
    "Verdict",
    "join_verdicts",
    "judge",
    "score",
]


def __getattr__(name: str) -> Any:
    """Names are imported on first use: who computes a metric loads no client."""
    if name in _ROOMS:
        return getattr(importlib.import_module(f"{__name__}.{_ROOMS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return list(__all__)
