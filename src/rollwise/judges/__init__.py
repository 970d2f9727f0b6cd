"""Judging answers turn by turn: TURNS -> VERDICTS -> TURNS. Begin with `llm_judge.py`, then `joining.py`.

A **judge** is a language model with a question (`LLMJudgeMetric` and its presets), or any function of a text. `judge` asks it
about each distinct answer in a table, `join_verdicts` adds its verdicts to the table as a column, and `score` does both. A
**metric over responses** (`ResponseMetric`) takes lists instead of a table. `reliability` measures how far to trust a judge.
"""

from typing import TYPE_CHECKING

from rollwise.faces import lazy

if TYPE_CHECKING:
    from rollwise.judges.clients import ChatModel as ChatModel
    from rollwise.judges.clients import Reply as Reply
    from rollwise.judges.endpoint import Endpoint as Endpoint
    from rollwise.judges.instructions import StrictInstruction as StrictInstruction
    from rollwise.judges.instructions import detect_language as detect_language
    from rollwise.judges.joining import join_verdicts as join_verdicts
    from rollwise.judges.joining import score as score
    from rollwise.judges.judgments import judge as judge
    from rollwise.judges.llm_judge import LLMJudgeMetric as LLMJudgeMetric
    from rollwise.judges.local_model import LocalModel as LocalModel
    from rollwise.judges.multiple_choice import MCQAAccuracy as MCQAAccuracy
    from rollwise.judges.multiple_choice import MCQACalibration as MCQACalibration
    from rollwise.judges.multiple_choice import MCQAPositionalBias as MCQAPositionalBias
    from rollwise.judges.people import consensus as consensus
    from rollwise.judges.presets import AnswerAccuracy as AnswerAccuracy
    from rollwise.judges.presets import AttackSuccess as AttackSuccess
    from rollwise.judges.presets import ContextRelevance as ContextRelevance
    from rollwise.judges.presets import Factuality as Factuality
    from rollwise.judges.presets import GoalCompletion as GoalCompletion
    from rollwise.judges.presets import Groundedness as Groundedness
    from rollwise.judges.presets import Harmfulness as Harmfulness
    from rollwise.judges.presets import Informativeness as Informativeness
    from rollwise.judges.presets import Refusal as Refusal
    from rollwise.judges.presets import Relevance as Relevance
    from rollwise.judges.presets import Truthfulness as Truthfulness
    from rollwise.judges.references import ShortAnswerMatch as ShortAnswerMatch
    from rollwise.judges.references import Similarity as Similarity
    from rollwise.judges.reliability import agreement as agreement
    from rollwise.judges.reliability import confusion as confusion
    from rollwise.judges.reliability import correct as correct
    from rollwise.judges.reliability import correct_curve as correct_curve
    from rollwise.judges.reliability import plan_labels as plan_labels
    from rollwise.judges.response_metric import Composite as Composite
    from rollwise.judges.response_metric import DistinctN as DistinctN
    from rollwise.judges.response_metric import ResponseMetric as ResponseMetric
    from rollwise.judges.response_metric import ScorerMetric as ScorerMetric
    from rollwise.judges.tool_use import ToolUse as ToolUse
    from rollwise.judges.verdicts import Judge as Judge
    from rollwise.judges.verdicts import Verdict as Verdict
    from rollwise.readers.results.joining import join_labels as join_labels
    from rollwise.readers.verdicts import read_verdicts as read_verdicts
    from rollwise.reports.labeling import label_page as label_page

__all__, __getattr__, __dir__ = lazy(__name__)
