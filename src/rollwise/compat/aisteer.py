"""Names of AISteer360's metric pages: metrics over responses, metrics that ask a language model, and profiles as a frame."""

from rollwise.compat.profiles import flatten_profiles
from rollwise.judges.llm_judge import LLMJudgeMetric
from rollwise.judges.presets import Factuality, Relevance
from rollwise.judges.response_metric import DistinctN, ResponseMetric

Metric = ResponseMetric

__all__ = ["DistinctN", "Factuality", "LLMJudgeMetric", "Metric", "Relevance", "ResponseMetric", "flatten_profiles"]
