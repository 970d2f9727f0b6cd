"""Answers of a workflow to the items without an answer, each logged as soon as it arrives."""

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


def answer(items: Sequence[Item], workflow: Workflow, config: EvalConfig, options: Options, folder: Path) -> None:
    """Let the workflow answer the items without an answer, and log each answer at once."""
    general = config.eval.general
    with ResultsLog(folder, "workflow", workflow.configuration) as log:
        keys = [ResultsLog.key(_bare(item)) for item in items]
        waiting, missing = [], 0
        for place, item in enumerate(items):
            if options.skip_completed_entries and not _blank(item.generated):
                continue
            # An answer from the data set must not be mistaken for one of the workflow.
            item.generated, item.steps = None, []
            if item.question is None:
                item.error = "the question is missing"
                missing += 1
            # An answer in the log of an earlier run is reused, unless its steps are invalid.
            elif (entry := log.earlier(keys[place])) is not None and fault_of(entry[1], STEPS) is None:
                item.generated, item.steps = entry
            else:
                waiting.append(place)
        done_before = len(items) - len(waiting) - missing
        details = [f", {done_before:,} done before"] if done_before else []
        details += [f", {missing:,} without a question"] if missing else []
        if details:
            say(f"workflow: {counted(len(waiting), 'item')} to answer{''.join(details)}")

        async def answer_item(place: int) -> bool:
            returned = await workflow.answer(items[place].question)
            output = returned if isinstance(returned, WorkflowOutput) else WorkflowOutput(output=returned)
            # Through JSON, so that the answer equals what a resumed run reads from the log.
            content, steps = through_json([output.output, list(output.intermediate_steps)])
            # An answer with invalid steps is shown but not logged, so the next run asks again.
            items[place].generated = content
            items[place].error = fault_of(steps, STEPS)
            if items[place].error is None:
                log.keep(keys[place], [content, steps])
                items[place].steps = steps
            return True

        runs = run(
            answer_item,
            waiting,
            max_concurrency=general.max_concurrency,
            timeout=general.timeout,
            retries=general.retries,
            on_error="record",
            progress=options.progress,
        )
    for run_result in runs:
        items[run_result.seed].error = run_result.error or items[run_result.seed].error
    errors = [error for run_result in runs if (error := items[run_result.seed].error) is not None]
    if errors:
        say(f"workflow: {counted(len(errors), 'item')} without an answer, the first one: {errors[0]}")


def _bare(item: Item) -> EvalInputItem:
    """Return the part of an item that the workflow sees: its id, attempt and question."""
    return EvalInputItem.model_construct(id=f"{item.id}/{item.attempt}", input_obj=item.question)


def _blank(answer: Any) -> bool:
    return answer is None or (isinstance(answer, str) and not answer.strip())
