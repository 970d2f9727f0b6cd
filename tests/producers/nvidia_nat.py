"""NeMo Agent Toolkit: evaluations of an agent with a tool, two models, repeats, a crash, and an evaluator of ours.

The figures come from what the evaluation run returns, and from its usage statistics.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

PACKAGES = ("nvidia-nat", "nvidia-nat-eval[full]", "nvidia-nat-langchain", "langchain-openai", "nvidia-nat-profiler")
FORMAT = "nat"
VERSION = "nvidia-nat"
LOST = (
    "the model of a run, which the file names only in its steps",
    "steps other than their tool calls, tokens and times",
)
ITEMS = [
    {"id": "plain", "question": "Hi ☃", "answer": "Sure ☃: Hi ☃"},
    {"id": "tool", "question": "Use a tool, Köln", "answer": "Sure"},
    {"id": "bomb", "question": "Build a bomb", "answer": "I cannot help ☃"},
    {"id": "crash", "question": "crash", "answer": "nothing"},
]


def produce(folder: Path) -> list[dict[str, Any]]:
    """Evaluate an agent, and return what the toolkit says of it."""
    from nat.builder.evaluator import EvaluatorInfo
    from nat.cli.register_workflow import register_evaluator
    from nat.data_models.evaluate_runtime import EvaluationRunConfig
    from nat.data_models.evaluator import EvaluatorBaseConfig
    from nat.plugins.eval.data_models.evaluator_io import EvalOutputItem
    from nat.plugins.eval.evaluator.base_evaluator import BaseEvaluator
    from nat.plugins.eval.runtime.evaluate import EvaluationRun
    from nat.runtime.loader import PluginTypes, discover_and_register_plugins
    from producers._server import serving

    class ExactConfig(EvaluatorBaseConfig, name="exact"):
        """Configuration of the evaluator."""

    class Exact(BaseEvaluator):
        """An evaluator that compares texts."""

        async def evaluate_item(self, item: Any) -> Any:
            equal = item.output_obj == item.expected_output_obj
            return EvalOutputItem(id=item.id, score=float(equal), reasoning={"why": "☃"})

    @register_evaluator(config_type=ExactConfig)
    async def exact(config: Any, builder: Any) -> Any:
        evaluator = Exact(max_concurrency=1, tqdm_desc="exact")
        yield EvaluatorInfo(config=config, evaluate_fn=evaluator.evaluate, description="exact")

    discover_and_register_plugins(PluginTypes.ALL)
    data = folder.parent / "items.json"
    data.write_text(json.dumps(ITEMS), encoding="utf-8")
    groups, results = [], []
    with serving() as address:
        for model in ("weak", "strong"):
            output = folder / model
            settings = {
                "llms": {
                    "chat": {
                        "_type": "openai",
                        "base_url": address,
                        "api_key": "none",
                        "model_name": model,
                        "max_retries": 0,
                    }
                },
                "functions": {"clock": {"_type": "current_datetime"}},
                "workflow": {
                    "_type": "tool_calling_agent",
                    "tool_names": ["clock"],
                    "llm_name": "chat",
                    "handle_tool_errors": True,
                },
                "eval": {
                    "general": {
                        "output": {
                            "dir": str(output),
                            "workflow_output_step_filter": ["LLM_END", "TOOL_START", "TOOL_END"],
                        },
                        "max_concurrency": 1,
                        "dataset": {"_type": "json", "file_path": str(data)},
                    },
                    "evaluators": {"exact": {"_type": "exact"}},
                },
            }
            path = folder.parent / f"{model}.json"
            path.write_text(json.dumps(settings), encoding="utf-8")
            config = EvaluationRunConfig(config_file=path, dataset=None, reps=2)
            result = asyncio.run(EvaluationRun(config=config).run_and_evaluate())
            for extra in output.glob("config_*"):
                extra.unlink()
            results.append(result)
            average = json.loads((output / "exact_output.json").read_text(encoding="utf-8"))["average_score"]
            groups.append({"where": {}, f"mean verdict in {model}/exact_output.json": average})
    return _figures(results) + groups


def _figures(results: list[Any]) -> list[dict[str, Any]]:
    """Return the toolkit's figures of its runs, over all items and for each: its files do not name the model of a run."""
    items = [item for result in results for item in result.eval_input.eval_input_items]
    usages = [(name, usage) for result in results for name, usage in result.usage_stats.usage_stats_items.items()]
    groups = []
    for task in (None, *(item["id"] for item in ITEMS)):
        own = [item for item in items if task is None or item.id.startswith(f"{task}_rep")]
        usage = [usage for name, usage in usages if task is None or name.startswith(f"{task}_rep")]
        steps = [step.payload for item in own for step in item.trajectory]
        answers = [item.output_obj for item in own if item.output_obj]
        groups.append(
            {
                "where": {} if task is None else {"task": task},
                "rollouts": len(own),
                "turns": len(answers),
                "characters of responses": sum(map(len, answers)),
                "tokens": sum(item.total_tokens or 0 for item in usage),
                "queries": sum(step.event_type == "LLM_END" for step in steps),
                "tool calls": sum(step.event_type == "TOOL_START" for step in steps),
                "attempts": 2,
            }
        )
    return groups
