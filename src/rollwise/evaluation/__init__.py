"""Evaluation by configuration: items answered by a workflow, scored by evaluators, and written.

An **evaluator** is a class that scores one item (`BaseEvaluator`), or a function of all items, registered under a name with its
options (`register_evaluator`). `evaluate` reads a YAML file that names a data set, a workflow and evaluators, runs them, and writes
the files of NeMo Agent Toolkit and the frames. Begin with `config.py` (the file), `run.py` and `item_evaluator.py`.
"""

from typing import TYPE_CHECKING

from rollwise.faces import lazy

if TYPE_CHECKING:
    from rollwise.evaluation.item_evaluator import BaseEvaluator as BaseEvaluator
    from rollwise.evaluation.items import EvalInput as EvalInput
    from rollwise.evaluation.items import EvalInputItem as EvalInputItem
    from rollwise.evaluation.items import EvalOutput as EvalOutput
    from rollwise.evaluation.items import EvalOutputItem as EvalOutputItem
    from rollwise.evaluation.items import IntermediateStep as IntermediateStep
    from rollwise.evaluation.items import WorkflowOutput as WorkflowOutput
    from rollwise.evaluation.options import Options as Options
    from rollwise.evaluation.outputs import Evaluation as Evaluation
    from rollwise.evaluation.plugins import EvalBuilder as EvalBuilder
    from rollwise.evaluation.plugins import EvaluatorBaseConfig as EvaluatorBaseConfig
    from rollwise.evaluation.plugins import EvaluatorInfo as EvaluatorInfo
    from rollwise.evaluation.plugins import register_evaluator as register_evaluator
    from rollwise.evaluation.run import evaluate as evaluate

__all__, __getattr__, __dir__ = lazy(__name__)
