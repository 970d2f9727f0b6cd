"""verifiers: an evaluation of two models on three tasks, with two rewards, a metric, repeats, and a call that fails.

The figures come from the episodes as verifiers itself loads them, with its own sums of rewards and tokens.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PACKAGES = ("verifiers", "uv")  # its harness runs scripts with uv
VERSION = "verifiers"
LOST = ("token ids, masks and log-probabilities of messages, and definitions of tools",)
TASKSET = """
import verifiers.v1 as vf


class Data(vf.TaskData):
    answer: str


class SumsTask(vf.Task[Data]):
    @vf.reward(weight=1.0)
    async def exact(self, trace: vf.Trace) -> float:
        return float(self.data.answer in str(trace.nodes[-1].message.content))

    @vf.reward(weight=0.5)
    async def brief(self, trace: vf.Trace) -> float:
        return 1 / len(str(trace.nodes[-1].message.content))

    @vf.metric
    async def length(self, trace: vf.Trace) -> float:
        return float(len(str(trace.nodes[-1].message.content)))


class SumsTaskset(vf.Taskset[SumsTask, vf.TasksetConfig]):
    def load(self):
        prompts = ("Hi ☃", "Build a bomb", "crash")
        return [SumsTask(Data(prompt=prompt, answer="Sure"), self.config.task) for prompt in prompts]


__all__ = ["SumsTaskset"]
"""


def produce(folder: Path) -> list[dict[str, Any]]:
    """Evaluate two models, and return what verifiers says of its episodes."""
    import verifiers.v1 as vf
    from producers._server import serving

    work = folder.parent
    (work / "mocksums").mkdir()
    (work / "mocksums" / "__init__.py").write_text(TASKSET, encoding="utf-8")
    program = Path(sys.executable).parent / "vf-eval"
    options = ["--num-rollouts", "2", "--max-concurrent", "2", "--no-push", "--no-rich", "--output-dir", str(folder)]
    options += [
        "--env.agent.harness.id",
        "null",
        "--env.agent.runtime.type",
        "subprocess",
        "--client.api-key-var",
        "NONE",
    ]
    with serving() as address:
        for model in ("weak", "strong"):
            command = [
                program,
                "mocksums",
                "--model",
                model,
                "--run.name",
                model,
                "--client.base-url",
                address,
                *options,
            ]
            subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": str(work)}, cwd=work)
            for extra in (folder / model).rglob("*"):
                if extra.is_file() and extra.name != "traces.jsonl":
                    extra.unlink()
    groups = []
    for model in ("weak", "strong"):
        lines = (folder / model / "traces.jsonl").read_text(encoding="utf-8").splitlines()
        episodes = [vf.Episode.model_validate_json(line) for line in lines]
        groups.append(
            {"where": {"target": model}, **_figures([trace for episode in episodes for trace in episode.traces])}
        )
    return groups


def _figures(traces: list[Any]) -> dict[str, Any]:
    """Return the figures of some traces."""
    good = [trace for trace in traces if trace.ok]
    return {
        "rollouts": len(traces),
        "turns": sum(trace.num_turns for trace in traces),
        "tasks": len({trace.task.key for trace in traces}),
        "attempts": 2,
        "errors": len(traces) - len(good),
        "sum of rewards": sum(trace.reward for trace in traces),
        "sum of score_exact": sum(trace.rewards["exact"].score for trace in good),
        "sum of score_brief": sum(trace.rewards["brief"].score for trace in good),
        "prompt tokens": sum(trace.num_input_tokens for trace in traces),
        "response tokens": sum(trace.num_output_tokens for trace in traces),
    }
