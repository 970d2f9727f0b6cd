"""Inspect AI: archives and JSON of two models, epochs, tools, several scorers, an error, and limits.

The figures come from Inspect's own API: `read_eval_log` for samples and usage, and `results` of the log for accuracies.
"""

from pathlib import Path
from typing import Any

PACKAGES = ("inspect-ai", "numpy")
FORMAT = "inspect"
VERSION = "inspect-ai"
LOST = ("events, store, files, plan and arguments of the model",)


def produce(folder: Path) -> list[dict[str, Any]]:
    """Evaluate three tasks with two mock models, and return what Inspect says of its logs."""
    from inspect_ai import Task, eval, task
    from inspect_ai.dataset import Sample
    from inspect_ai.log import list_eval_logs, read_eval_log
    from inspect_ai.model import ModelCost, ModelInfo, ModelOutput, ModelUsage, get_model, set_model_info
    from inspect_ai.scorer import Score, includes, match, mean, scorer, stderr
    from inspect_ai.solver import TaskState, generate, solver, use_tools
    from inspect_ai.tool import tool

    @tool
    def weather():
        async def execute(city: str) -> str:
            """Tell the weather of a city.

            Args:
                city: Name of the city.
            """
            return f"☃ in {city}"

        return execute

    @scorer(metrics=[mean(), stderr()])
    def brevity():
        async def score(state: TaskState, target: Any) -> Score:
            return Score(value=1 / len(state.output.completion or "?"), explanation="☃")

        return score

    @solver
    def fails_on(name: str):
        async def solve(state: TaskState, generate: Any) -> TaskState:
            if state.sample_id == name and state.epoch == 2:
                message = "the sandbox is gone"
                raise RuntimeError(message)
            return state

        return solve

    @task
    def sums() -> Task:
        samples = [Sample(id=f"s{i}", input=f"{i} + {i}? ☃", target=str(2 * i)) for i in range(1, 5)]
        solvers = [fails_on("s3"), generate()]
        return Task(dataset=samples, solver=solvers, scorer=[match(), includes(), brevity()], epochs=3)

    @task
    def tools() -> Task:
        samples = [Sample(id="hello/1", input="Weather in Köln?", target="snow", metadata={"city": "Köln"})]
        return Task(dataset=samples, solver=[use_tools(weather()), generate()], scorer=includes(), epochs=2)

    @task
    def limited() -> Task:
        samples = [Sample(input="Weather everywhere?", target="snow")]
        return Task(dataset=samples, solver=[use_tools(weather()), generate()], scorer=includes(), message_limit=5)

    def outputs(texts: list[str], model: str) -> Any:
        for text in texts * 20:
            name, _, argument = text.partition(":")
            output = (
                ModelOutput.for_tool_call(model, name, {"city": argument})
                if argument
                else ModelOutput.from_content(model, text)
            )
            output.usage = ModelUsage(input_tokens=11, output_tokens=len(text), total_tokens=11 + len(text))
            yield output

    answers = {"clever": ["2", "4", "6 ☃", "8"], "dull": ["2", "5"]}
    for name, texts in answers.items():
        price = ModelCost(input=1, output=2, input_cache_write=0, input_cache_read=0)
        set_model_info(f"mockllm/{name}", ModelInfo(cost=price))
        for form in ("eval", "json") if name == "dull" else ("eval",):
            options: dict[str, Any] = {
                "log_dir": str(folder / form),
                "log_format": form,
                "display": "none",
                "fail_on_error": False,
                "max_connections": 1,
                "max_samples": 1,
            }
            if form == "eval":
                first = get_model(f"mockllm/{name}", custom_outputs=outputs(texts, name), memoize=False)
                eval(sums(), model=first, **options)
            called = outputs(["weather:Köln", "snow ☃"], name)
            eval(tools(), model=get_model(f"mockllm/{name}", custom_outputs=called, memoize=False), **options)
            called = outputs(["weather:here"], name)
            eval(limited(), model=get_model(f"mockllm/{name}", custom_outputs=called, memoize=False), **options)

    logs = [read_eval_log(info) for info in list_eval_logs(str(folder))]
    groups = [_figures({"run": log.eval.eval_id}, [log], log.results) for log in logs]
    return [_figures({}, logs), *groups]


def _figures(where: dict[str, Any], logs: list[Any], results: Any = None) -> dict[str, Any]:
    """Return Inspect's figures of some logs."""
    samples = [sample for log in logs for sample in log.samples]
    answers = [message for sample in samples for message in sample.messages if message.role == "assistant"]
    usage = [usage for sample in samples for usage in sample.model_usage.values()]
    figures = {
        "where": where,
        "rollouts": len(samples),
        "turns": len(answers),
        "targets": len({log.eval.model for log in logs}),
        "tasks": len({(log.eval.task, sample.id) for log in logs for sample in log.samples}),
        "attempts": max(sample.epoch for sample in samples),
        "errors": sum(sample.error is not None for sample in samples),
        "limits": sum(sample.limit is not None for sample in samples),
        "tool calls": sum(len(answer.tool_calls or []) for answer in answers),
        "characters of responses": sum(len(answer.text) for answer in answers),
        "tokens": sum(item.total_tokens for item in usage),
        "cost": sum(item.total_cost for item in usage),
        "signs outside ASCII": sum(message.text.count("☃") for sample in samples for message in sample.messages),
    }
    for score in results.scores if results else []:
        scores = [sample.scores[score.name] for sample in samples if sample.scores and score.name in sample.scores]
        figures[f"count of score_{score.name}"] = len(scores)
        if all(isinstance(item.value, float) for item in scores):
            figures[f"sum of score_{score.name}"] = sum(item.value for item in scores)
    if results:
        first = results.scores[0]
        values = [sample.scores[first.name].value for sample in samples if sample.scores]
        figures |= {"solved": values.count("C"), "not solved": values.count("I")}
        figures["rate of tasks"] = first.metrics["accuracy"].value  # the mean over tasks, of each the mean over epochs
    return figures
