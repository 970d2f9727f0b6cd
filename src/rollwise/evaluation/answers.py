"""Answers of a workflow to the items without an answer, each logged as soon as it arrives."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rollwise.errors import type_and_message
from rollwise.evaluation.config import EvalConfig, General
from rollwise.evaluation.dataset import Item, fault_of
from rollwise.evaluation.items import EvalInputItem, WorkflowOutput
from rollwise.evaluation.options import Options
from rollwise.evaluation.results_log import ResultsLog, through_json
from rollwise.evaluation.workflow import Workflow
from rollwise.jobs.calls import contained
from rollwise.jobs.progress import progress_bar
from rollwise.jobs.workers import Outcome, WorkerPool
from rollwise.schema.labels import counted, say

STEPS = "intermediate_steps"


def answer(items: Sequence[Item], workflow: Workflow, config: EvalConfig, options: Options, folder: Path) -> None:
    """Let the workflow answer the items without an answer, and log each answer at once."""
    with ResultsLog(folder, "workflow", workflow.configuration) as log:
        waiting = {place: log.key(_bare(items[place])) for place in _unanswered(items, log, options)}
        _ask(items, waiting, log, workflow, config.eval.general, visible=options.progress)
    errors = [error for place in waiting if (error := items[place].error) is not None]
    if errors:
        say(f"workflow: {counted(len(errors), 'item')} without an answer, the first one: {errors[0]}")


def _unanswered(items: Sequence[Item], log: ResultsLog, options: Options) -> list[int]:
    """Return the places of the items that have no answer, after filling in answers of an earlier run."""
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
        elif (entry := log.earlier(log.key(_bare(item)))) is not None and fault_of(entry[1], STEPS) is None:
            item.generated, item.steps = entry
        else:
            waiting.append(place)
    done_before = len(items) - len(waiting) - missing
    details = [f", {done_before:,} done before"] if done_before else []
    details += [f", {missing:,} without a question"] if missing else []
    if details:
        say(f"workflow: {counted(len(waiting), 'item')} to answer{''.join(details)}")
    return waiting


def _ask(
    items: Sequence[Item],
    waiting: dict[int, str],
    log: ResultsLog,
    workflow: Workflow,
    general: General,
    *,
    visible: bool,
) -> None:
    """Fill in the answers of the workflow to the items at these places, which have these keys in the log."""
    places = list(waiting)

    async def answer_item(place: int) -> Any:
        returned = await contained(workflow.answer(items[place].question))
        output = returned if isinstance(returned, WorkflowOutput) else WorkflowOutput(output=returned)
        # Through JSON, so that the answer equals what a resumed run reads from the log.
        return through_json([output.output, list(output.intermediate_steps)])

    with progress_bar(len(places), "workflow", "item", visible=visible) as bar:

        def keep(outcomes: list[Outcome]) -> None:
            entries = {}
            for outcome in outcomes:
                item, (content, steps) = items[places[outcome.position]], outcome.result or (None, [])
                item.generated = content
                item.error = fault_of(steps, STEPS) if outcome.error is None else type_and_message(outcome.error)
                # An answer with invalid steps is shown but not logged, so the next run asks again.
                if item.error is None:
                    item.steps = steps
                    entries[waiting[places[outcome.position]]] = outcome.result
            log.keep(entries)
            bar.update(len(outcomes))

        pool = WorkerPool(
            answer_item, places, general.max_concurrency, timeout=general.timeout, retries=general.retries
        )
        pool.work(keep)


def _bare(item: Item) -> EvalInputItem:
    """Return the part of an item that the workflow sees: its id, attempt and question."""
    return EvalInputItem.model_construct(id=f"{item.id}/{item.attempt}", input_obj=item.question)


def _blank(answer: Any) -> bool:
    return answer is None or (isinstance(answer, str) and not answer.strip())
