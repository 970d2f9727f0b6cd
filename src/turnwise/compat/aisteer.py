"""Names of AISteer360's metric pages: metrics over responses, and metrics that ask a language model."""

from turnwise.judges.llm_judge import LLMJudgeMetric
from turnwise.judges.presets import Factuality, Relevance
from turnwise.judges.response_metric import DistinctN, ResponseMetric

Metric = ResponseMetric

__all__ = ["DistinctN", "Factuality", "LLMJudgeMetric", "Metric", "Relevance", "ResponseMetric"]
