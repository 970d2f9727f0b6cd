"""Metrics over responses: classes that give a dict of scores for a list of texts.

Each has its expression in `turnwise.metrics` where it can have one, and both say the same. What needs a model, such as
perplexity or a reward, is a function of one's own in a `ScorerMetric`.
"""

from turnwise.scoring.calibration import MCQACalibration
from turnwise.scoring.composite import Composite
from turnwise.scoring.diversity import DistinctN
from turnwise.scoring.instructions import StrictInstruction
from turnwise.scoring.languages import detect_language
from turnwise.scoring.multiple_choice import MCQAAccuracy, MCQAPositionalBias
from turnwise.scoring.response_metric import ResponseMetric
from turnwise.scoring.scorers import ScorerMetric
from turnwise.scoring.short_answers import ShortAnswerMatch
from turnwise.scoring.similarity import Similarity
from turnwise.scoring.tool_use import ToolUse

__all__ = [
    "Composite",
    "DistinctN",
    "MCQAAccuracy",
    "MCQACalibration",
    "MCQAPositionalBias",
    "ResponseMetric",
    "ScorerMetric",
    "ShortAnswerMatch",
    "Similarity",
    "StrictInstruction",
    "ToolUse",
    "detect_language",
]
