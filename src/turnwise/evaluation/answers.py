"""Items -> their answers: a workflow is asked what is not answered yet, and each answer kept at once."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from turnwise.evaluation.config import EvalConfig
from turnwise.evaluation.dataset import Item, fault_of
from turnwise.evaluation.items import EvalInputItem, WorkflowOutput
from turnwise.evaluation.options import Options
from turnwise.evaluation.results_log import ResultsLog, through_json
from turnwise.evaluation.workflow import Workflow
from turnwise.rollout.campaign import run
from turnwise.schema.labels import counted, say

STEPS = "intermediate_steps"


def answer(items: Sequence[Item], workflow: Workflow, config: EvalConfig, asked: Options, folder: Path) -> None:
    """Let the workflow answer what is not answered, and keep each answer at once."""
    general = config.eval.general
    with ResultsLog(folder, "workflow", workflow.configuration) as log:
        keys = [ResultsLog.key(_bare(item)) for item in items]
        waiting, missing = [], 0
        for place, item in enumerate(items):
            if asked.skip_completed_entries and not _blank(item.generated):
                continue
            item.generated, item.steps = None, []
            if item.question is None:
                item.error = "the question is missing"
                missing += 1
            elif (kept := log.kept.get(keys[place])) is not None and fault_of(kept[1], STEPS) is None:
                item.generated, item.steps = kept
            else:
                waiting.append(place)
        done_before = len(items) - len(waiting) - missing
        beside = [f", {done_before:,} done before"] if done_before else []
        beside += [f", {missing:,} without a question"] if missing else []
        if beside:
            say(f"workflow: {counted(len(waiting), 'item')} to answer{''.join(beside)}")

        async def one(place: int) -> bool:
            made = await workflow.answer(items[place].question)
            told = made if isinstance(made, WorkflowOutput) else WorkflowOutput(output=made)
            output, steps = through_json([told.output, list(told.intermediate_steps)])  # as after an interruption
            items[place].generated = output
            items[place].error = fault_of(steps, STEPS)
            if items[place].error is None:
                log.keep(keys[place], [output, steps])
                items[place].steps = steps
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
        items[ended.seed].error = ended.error or items[ended.seed].error
    errors = [error for ended in done if (error := items[ended.seed].error) is not None]
    if errors:
        say(f"workflow: {counted(len(errors), 'item')} without an answer, the first one: {errors[0]}")


def _bare(item: Item) -> EvalInputItem:
    """Return the part of an item that the workflow sees: its id, attempt and question."""
    return EvalInputItem.model_construct(id=f"{item.id}/{item.attempt}", input_obj=item.question)


def _blank(answer: Any) -> bool:
    return answer is None or (isinstance(answer, str) and not answer.strip())
