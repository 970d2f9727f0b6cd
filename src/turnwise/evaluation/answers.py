"""Items -> their answers: a workflow is asked what is not answered yet, and each answer kept at once."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from turnwise.evaluation.config import EvalConfig
from turnwise.evaluation.dataset import Item
from turnwise.evaluation.items import EvalInputItem, WorkflowOutput
from turnwise.evaluation.options import Options
from turnwise.evaluation.results_log import ResultsLog
from turnwise.evaluation.workflow import Workflow
from turnwise.evaluators.campaign import run
from turnwise.labels import counted, say


def answer(items: Sequence[Item], workflow: Workflow, config: EvalConfig, asked: Options, folder: Path) -> None:
    """Let the workflow answer what is not answered, and keep each answer at once."""
    general = config.eval.general
    with ResultsLog(folder, "workflow", workflow.configuration) as log:
        keys = [ResultsLog.key(_bare(item)) for item in items]
        waiting = []
        for place, item in enumerate(items):
            if asked.skip_completed_entries and not _blank(item.generated):
                continue
            item.generated, item.steps = None, []
            if item.question is None:
                item.error = "the question is missing"
            elif keys[place] in log.kept:
                item.generated, item.steps = log.kept[keys[place]]
            else:
                waiting.append(place)
        if len(waiting) < len(items):
            say(f"workflow: {counted(len(waiting), 'item')} to answer, {len(items) - len(waiting):,} done before")

        async def one(place: int) -> bool:
            made = await workflow.answer(items[place].question)
            told = made if isinstance(made, WorkflowOutput) else WorkflowOutput(output=made)
            output, steps = told.output, [_plain(step) for step in told.intermediate_steps]
            log.keep(keys[place], [output, steps])
            items[place].generated, items[place].steps = output, steps
            return True

        done = run(
            one,
            waiting,
            max_concurrency=general.max_concurrency,
            timeout=general.timeout,
            retries=general.retries,
            on_error="record",
            progress=asked.progress,
        )
    for ended in done:
        items[ended.seed].error = ended.error
    errors = sum(ended.error is not None for ended in done)
    if errors:
        first = next(ended.error for ended in done if ended.error is not None)
        say(f"workflow: {counted(errors, 'item')} without an answer, the first one: {first}")


def _bare(item: Item) -> EvalInputItem:
    """What the workflow sees of an item: its id, its attempt, its question."""
    return EvalInputItem.model_construct(id=f"{item.id}/{item.attempt}", input_obj=item.question)


def _blank(answer: Any) -> bool:
    return answer is None or (isinstance(answer, str) and not answer.strip())


def _plain(step: Any) -> Any:
    return step.model_dump() if hasattr(step, "model_dump") else step
