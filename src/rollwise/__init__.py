"""Rollouts of red-team and evaluation runs: from any tool's logs to statistically sound results.

Rollouts are **read** (`read`, `turns`, `simulate`) or **rolled out** (`Evaluator`, `ChatSampler`) into one long table,
TURNS: one row for each answer of the target. Metrics are Polars expressions (`rollwise.metrics`) that **measure** each
rollout, which gives ROLLOUTS: one row per rollout. Estimators **summarize** groups of rollouts into SUMMARY, or
**curve** them into CURVE: a value with an interval, and every rollout counted. Everything shown (`plots`, `tables`),
written (`write`) or reported (`report`) is drawn from those last frames. Every frame is a plain `polars.DataFrame`:
`rollwise.schema` describes its columns. An unjudged rollout is never counted as safe, intervals treat goals (not turns)
as independent, and no interval has zero width (except that of a quantile of tied values).

>>> import rollwise as rw
>>> from rollwise import metrics as m
>>> turns, truth = rw.simulate(targets={"base": 0.10, "guarded": 0.02}, seed=1)
>>> rollouts = rw.measure(turns, m.attack_success(), m.time_to_success())
>>> summary = rw.summarize(rollouts, by="target", metrics="attack_success")
>>> summary["target"].to_list()
['base', 'guarded']
"""

from typing import TYPE_CHECKING, Any

from rollwise.faces import lazy
from rollwise.notebook import format_frames

if TYPE_CHECKING:
    from rollwise import comparisons as comparisons
    from rollwise import distributed as distributed
    from rollwise import errors as errors
    from rollwise import judges as judges
    from rollwise import metrics as metrics
    from rollwise import plots as plots
    from rollwise import readers as readers
    from rollwise import rollout as rollout
    from rollwise import schema as schema
    from rollwise import tables as tables
    from rollwise.audits.audit import audit as audit
    from rollwise.comparisons.ranking import rank as rank
    from rollwise.estimation.attempts import attempts as attempts
    from rollwise.estimation.changes import changes as changes
    from rollwise.estimation.contrast import contrast as contrast
    from rollwise.estimation.curve import curve as curve
    from rollwise.estimation.doctor import doctor as doctor
    from rollwise.estimation.forecast import forecast as forecast
    from rollwise.estimation.gate import gate as gate
    from rollwise.estimation.plan import plan as plan
    from rollwise.estimation.summary import summarize as summarize
    from rollwise.estimation.training import training as training
    from rollwise.estimation.trajectory import trajectory as trajectory
    from rollwise.evaluation import evaluate as evaluate
    from rollwise.files.writers import write as write
    from rollwise.judges import judge as judge
    from rollwise.judges import score as score
    from rollwise.measurement.conversion import convert as convert
    from rollwise.measurement.measure import measure as measure
    from rollwise.readers.proposing import propose as propose
    from rollwise.readers.read import read as read
    from rollwise.readers.scan import scan as scan
    from rollwise.readers.turns import turns as turns
    from rollwise.reports import report as report
    from rollwise.reports.showing import show as show
    from rollwise.rollout.simulation import simulate as simulate

if TYPE_CHECKING:  # code of other projects imports these from the top; `rollwise.compat` is where they are listed
    from rollwise.evaluation import BaseEvaluator as BaseEvaluator
    from rollwise.evaluation import EvalBuilder as EvalBuilder
    from rollwise.evaluation import EvalInput as EvalInput
    from rollwise.evaluation import EvalInputItem as EvalInputItem
    from rollwise.evaluation import EvalOutput as EvalOutput
    from rollwise.evaluation import EvalOutputItem as EvalOutputItem
    from rollwise.evaluation import EvaluatorBaseConfig as EvaluatorBaseConfig
    from rollwise.evaluation import EvaluatorInfo as EvaluatorInfo
    from rollwise.evaluation import IntermediateStep as IntermediateStep
    from rollwise.evaluation import WorkflowOutput as WorkflowOutput
    from rollwise.evaluation import register_evaluator as register_evaluator
    from rollwise.judges import DistinctN as DistinctN
    from rollwise.judges import Factuality as Factuality
    from rollwise.judges import LLMJudgeMetric as LLMJudgeMetric
    from rollwise.judges import Relevance as Relevance
    from rollwise.judges import ResponseMetric as ResponseMetric
    from rollwise.rollout import ASTEvaluator as ASTEvaluator
    from rollwise.rollout import Evaluator as Evaluator
    from rollwise.rollout import Graph as Graph
    from rollwise.rollout import GraphMetrics as GraphMetrics
    from rollwise.rollout import Node as Node

__version__ = "0.1.0"

__all__, __getattr__, __dir__ = lazy(
    __name__, namespaces=("comparisons", "judges", "rollout", "readers", "schema", "metrics")
)


def _html_of(frame: Any) -> str:
    """Return what a cell of a notebook shows of a frame."""
    from rollwise.tables.cells import html_of

    return html_of(frame)


format_frames(_html_of)
