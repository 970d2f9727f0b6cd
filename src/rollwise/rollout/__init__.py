"""Rolling out: samplers make graphs, evaluators measure them. Begin with `sampler.py` and `evaluators/base.py`.

A **sampler** (`ChatSampler`, `SimulatedSampler`, or any object with ``eval_rollout(seed)``) makes a **graph** of **nodes**
from a seed, one node per turn. An **evaluator** rolls out all seeds, many at once, or until enough is known (`Precision`,
`Below`, `Above`), and measures each graph: by your own methods (`Evaluator`), by column expressions (`FrameEvaluator`), or
with the metrics of adaptive stress testing (`ASTEvaluator`). Its results are JSON, and TURNS, ROLLOUTS and SUMMARY, which
all other functions of rollwise take.
"""

from typing import TYPE_CHECKING

from rollwise.faces import lazy

if TYPE_CHECKING:
    from rollwise.measurement.trees import flatten as flatten
    from rollwise.measurement.trees import paths as paths
    from rollwise.readers.prompts import read_prompts as read_prompts
    from rollwise.rollout.campaign import CampaignError as CampaignError
    from rollwise.rollout.campaign import run as run
    from rollwise.rollout.chat import ChatSampler as ChatSampler
    from rollwise.rollout.configurations import sweep as sweep
    from rollwise.rollout.evaluators.astra import ASTEvaluator as ASTEvaluator
    from rollwise.rollout.evaluators.base import Evaluator as Evaluator
    from rollwise.rollout.evaluators.frames import FrameEvaluator as FrameEvaluator
    from rollwise.rollout.graph import Graph as Graph
    from rollwise.rollout.graph import GraphMetrics as GraphMetrics
    from rollwise.rollout.graph import Node as Node
    from rollwise.rollout.graph import Recording as Recording
    from rollwise.rollout.graph import Recordings as Recordings
    from rollwise.rollout.results import JSONLike as JSONLike
    from rollwise.rollout.sampler import Rollout as Rollout
    from rollwise.rollout.sampler import RolloutError as RolloutError
    from rollwise.rollout.sampler import Sampler as Sampler
    from rollwise.rollout.sampler import Turn as Turn
    from rollwise.rollout.simulated import SimulatedSampler as SimulatedSampler
    from rollwise.rollout.stopping import Above as Above
    from rollwise.rollout.stopping import Below as Below
    from rollwise.rollout.stopping import Precision as Precision
    from rollwise.rollout.store import Run as Run
    from rollwise.rollout.store import RunStore as RunStore
    from rollwise.rollout.store import stored_runs as stored_runs

__all__, __getattr__, __dir__ = lazy(__name__)
