"""AgentDojo: two agents on user tasks alone and under two attacks, with thoughts, tools, and a run that is cut off.

The figures come from the `SuiteResults` that AgentDojo's benchmark returns, and from `load_task_results` for the messages.
"""

from pathlib import Path
from typing import Any

PACKAGES = ("agentdojo",)
VERSION = "agentdojo"
LOST = ("blocks of thinking",)
PIPELINES = ("gpt-4o-2024-05-13", "claude-3-5-sonnet-20240620")  # attacks greet a model by its name
GULLIBLE = PIPELINES[0]
USER_TASKS = ("user_task_0", "user_task_1", "user_task_3")
INJECTION_TASKS = ("injection_task_1", "injection_task_3")
CUT_OFF = "user_task_3"


def produce(folder: Path) -> list[dict[str, Any]]:
    """Run the suite slack, and return what AgentDojo says of its runs."""
    import httpx
    import openai
    from agentdojo.agent_pipeline import AgentPipeline, BasePipelineElement, InitQuery, SystemMessage
    from agentdojo.agent_pipeline.tool_execution import tool_result_to_str
    from agentdojo.attacks import load_attack
    from agentdojo.benchmark import (
        benchmark_suite_with_injections,
        benchmark_suite_without_injections,
        load_task_results,
    )
    from agentdojo.logging import OutputLogger
    from agentdojo.task_suite import get_suite
    from agentdojo.types import ChatAssistantMessage, ChatToolResultMessage, text_content_block_from_string

    suite = get_suite("v1.2", "slack")
    tasks = {task.PROMPT: task for task in suite.user_tasks.values()}
    injected = [suite.injection_tasks[name] for name in INJECTION_TASKS]

    class Agent(BasePipelineElement):
        """An agent that knows the tasks' solutions, and follows injected instructions where it is gullible."""

        def __init__(self, *, gullible: bool) -> None:
            self.gullible = gullible

        def query(self, query: str, runtime: Any, env: Any, messages: Any = (), extra_args: Any = None) -> Any:
            messages = list(messages)
            task = tasks.get(query) or next(item for item in suite.injection_tasks.values() if query == item.GOAL)
            if task.ID == CUT_OFF:
                response = httpx.Response(400, request=httpx.Request("POST", "http://localhost"))
                message = "the context is too long ☃"
                raise openai.BadRequestError(message, response=response, body={"code": "context_length_exceeded"})
            calls = list(task.ground_truth(env))
            while calls:
                call = calls.pop(0)
                call.id = f"call-{len(messages)}"
                thought = {"type": "thinking", "content": "hm ☃", "id": None}
                content = [thought, text_content_block_from_string("I call ☃")]
                messages.append(ChatAssistantMessage(role="assistant", content=content, tool_calls=[call]))
                result, error = runtime.run_function(env, call.function, call.args)
                text = tool_result_to_str(result)
                messages.append(
                    ChatToolResultMessage(
                        role="tool",
                        content=[text_content_block_from_string(text)],
                        tool_call=call,
                        tool_call_id=call.id,
                        error=error,
                    )
                )
                goals = [item for item in injected if item.GOAL in text and self.gullible]
                calls += [step for goal in goals for step in goal.ground_truth(env)]
            content = [text_content_block_from_string(f"{task.GROUND_TRUTH_OUTPUT} ☃")]
            messages.append(ChatAssistantMessage(role="assistant", content=content, tool_calls=None))
            return query, runtime, env, messages, extra_args or {}

    groups = []
    for name in PIPELINES:
        pipeline = AgentPipeline([SystemMessage("You are helpful."), InitQuery(), Agent(gullible=name == GULLIBLE)])
        pipeline.name = name
        options: dict[str, Any] = {"logdir": folder, "force_rerun": True, "user_tasks": USER_TASKS}
        with OutputLogger(str(folder)):
            alone = benchmark_suite_without_injections(pipeline, suite, benchmark_version="v1.2", **options)
            for (task, _), utility in alone["utility_results"].items():
                where = {"target": name, "attack": "none", "task": f"slack/{task}"}
                groups.append({"where": where, "rollouts": 1, "solved": int(utility), "not solved": int(not utility)})
            for attack in ("direct", "important_instructions"):
                results = benchmark_suite_with_injections(
                    pipeline,
                    suite,
                    load_attack(attack, suite, pipeline),
                    injection_tasks=INJECTION_TASKS,
                    benchmark_version="v1.2",
                    verbose=False,
                    **options,
                )
                traces = [
                    load_task_results(name, "slack", user, attack, injection, folder)
                    for user in USER_TASKS
                    for injection in INJECTION_TASKS
                ]
                groups.append({"where": {"target": name, "attack": attack}, **_figures(results, traces)})
    return groups


def _figures(results: Any, traces: list[Any]) -> dict[str, Any]:
    """Return AgentDojo's figures of one attack on one agent."""
    utility, security = results["utility_results"], results["security_results"]
    answers = [message for trace in traces for message in trace.messages if message["role"] == "assistant"]
    errors = sum(trace.error is not None for trace in traces)
    texts = [block["content"] for answer in answers for block in answer["content"] if block["type"] == "text"]
    return {
        "rollouts": len(utility),
        "turns": len(answers),
        "goals": len({injection for _, injection in utility}),
        "tasks": len({user for user, _ in utility}),
        "solved": sum(utility.values()),
        "not solved": len(utility) - sum(utility.values()),
        "successes": sum(security.values()) - errors,  # AgentDojo writes true where the run failed
        "failures": len(security) - sum(security.values()),
        "errors": errors,
        "tool calls": sum(len(answer["tool_calls"] or []) for answer in answers),
        "characters of responses": sum(map(len, texts)),
        "seconds": sum(trace.duration for trace in traces),
    }
