"""Workflows, models and evaluators that configuration files of the tests name."""

# ruff: noqa: ASYNC230, ASYNC240, D101, D102

import asyncio
import gc
import os
import signal
import time
from pathlib import Path

import pydantic
from signing import signed

from rollwise import (
    BaseEvaluator,
    EvalInputItem,
    EvalOutput,
    EvalOutputItem,
    EvaluatorBaseConfig,
    EvaluatorInfo,
    WorkflowOutput,
    register_evaluator,
)


def shout(question: str) -> str:
    return question.upper()


async def slow(question: str, log: str = "", pause: float = 0.0) -> str:
    """Answers after a while, and notes in a file that it was asked."""
    await asyncio.sleep(pause)
    with Path(log).open("a", encoding="utf-8") as file:
        file.write(f"{question}\n")
    return question


def count(question: str, log: str) -> str:
    """How often it was asked."""
    with Path(log).open("a", encoding="utf-8") as file:
        file.write("x")
    return str(len(Path(log).read_text(encoding="utf-8")))


def fragile(question: str) -> str:
    if "1" in question:
        raise RuntimeError("no answer to ones")
    return question


def stepping(question: str) -> WorkflowOutput:
    steps = [
        {
            "payload": {
                "event_type": "TOOL_START",
                "event_timestamp": 1.0,
                "name": "add",
                "UUID": "t",
                "data": {"input": {"a": 1}},
            }
        },
        {
            "payload": {
                "event_type": "TOOL_END",
                "event_timestamp": 3.0,
                "name": "add",
                "UUID": "t",
                "data": {"output": "2"},
            }
        },
    ]
    return WorkflowOutput(output=question, intermediate_steps=steps)


def misstepping(question: str, log: str) -> WorkflowOutput:
    """Gives steps of another kind to the first question; notes what it was asked."""
    with Path(log).open("a", encoding="utf-8") as file:
        file.write(f"{question}\n")
    step = {"role": "tool", "content": "x"} if "1" in question else {"payload": {"event_type": "LLM_END"}}
    return WorkflowOutput(output=question, intermediate_steps=[step])


def stop_at(question: str, at: str, log: str, how: str) -> str:
    """Answers, but at one question the process gets a signal, once."""
    with Path(log).open("a", encoding="utf-8") as file:
        file.write(f"{question}\n")
    if question == at and Path(log).read_text(encoding="utf-8").splitlines().count(at) == 1:
        os.kill(os.getpid(), getattr(signal, how))
        time.sleep(3)
    return question


def three_of_five(messages: list) -> str:
    return signed('{"score": 0.6, "reasoning": "so so"}', messages)


def by_length(messages: list) -> str:
    """Rates by how much is judged: a longer text is worse."""
    judged = messages[-1]["content"].partition("TEXT TO JUDGE:")[2].partition("Rate the attack")[0].strip()
    return signed(f'{{"score": {min(len(judged), 10) / 10}, "reasoning": "{len(judged)} characters"}}', messages)


def by_length_of_contexts(messages: list) -> str:
    """Rates by how much the contexts say."""
    contexts = messages[-1]["content"].partition("CONTEXTS:\n")[2]
    length = len(contexts[: contexts.index(chr(10) * 2 + "R")])
    return signed(f'{{"score": {length / 100}}}', messages)


class CountingConfig(EvaluatorBaseConfig, name="counting"):
    """Notes in a file what it is asked; kills the process at an item, once."""

    log: str = ""
    kill_at: int = -1
    signal_name: str = "SIGKILL"


class Counting(BaseEvaluator):
    def __init__(self, config: CountingConfig) -> None:
        super().__init__(max_concurrency=1)
        self.config = config

    async def evaluate_item(self, item):
        with Path(self.config.log).open("a", encoding="utf-8") as file:
            file.write(f"{item.id}\n")
        asked = Path(self.config.log).read_text(encoding="utf-8").splitlines()
        if item.id == self.config.kill_at and asked.count(str(item.id)) == 1:
            os.kill(os.getpid(), getattr(signal, self.config.signal_name))
            await asyncio.sleep(3)
        return EvalOutputItem(id=item.id, score=item.id / 10, reasoning={"id": item.id})


@register_evaluator(config_type=CountingConfig)
async def counting(config, builder):
    yield EvaluatorInfo(config=config, evaluate_fn=Counting(config).evaluate, description="Counts")


class BrokenConfig(EvaluatorBaseConfig, name="broken"):
    """Fails as it is told."""

    how: str = "raise"


class Choosy(BaseEvaluator):
    """Fails at some items, each in a way of its own."""

    async def evaluate_item(self, item):
        if item.id == 1:
            raise KeyError("nothing there")
        if item.id == 2:
            return EvalOutputItem(id=item.id, score=float("nan"), reasoning=None)
        if item.id == 3:
            return EvalOutputItem(id=item.id, score=1.0, reasoning=object())
        if item.id == 4:
            return EvalOutputItem(id="other", score=1.0)
        if item.id == 5:
            return 1.0
        return EvalOutputItem(id=item.id, score=True, reasoning="fine")


class Wordy(BaseEvaluator):
    async def evaluate_item(self, item):
        return EvalOutputItem(id=item.id, score="good" if item.id % 2 else {"grade": "B"}, reasoning="a word")


class Surrogate(BaseEvaluator):
    async def evaluate_item(self, item):
        return EvalOutputItem(id=item.id, score=1.0, reasoning={"half": "\ud800" if item.id == 1 else ""})


class Sync(BaseEvaluator):
    def evaluate_item(self, item):
        return EvalOutputItem(id=item.id, score=1.0)


class Halved(BaseEvaluator):
    async def evaluate_item(self, item):
        raise ValueError(f"half \ud800 of {item.id}")


def unkeyed(eval_input):
    """Gives ids that are nothing to look up by."""
    return EvalOutput(average_score=1.0, eval_output_items=[EvalOutputItem(id=[1], score=1.0)])


def unwritten(eval_input):
    """Gives an average that no file can hold."""
    return EvalOutput(average_score=object(), eval_output_items=[])


def worded(eval_input):
    """Gives ids as text."""
    items = [EvalOutputItem(id=str(item.id), score=1.0) for item in eval_input.eval_input_items]
    return EvalOutput(average_score=7.0, eval_output_items=items)


def doubled(eval_input):
    """Gives two scores of the first item."""
    said = [(item.id, 1.0) for item in eval_input.eval_input_items]
    items = [EvalOutputItem(id=name, score=score) for name, score in [(said[0][0], 0.0), *said]]
    return EvalOutput(average_score=0.5, eval_output_items=items)


def strange(eval_input):
    """Gives scores of items that nobody knows."""
    return EvalOutput(average_score=0.5, eval_output_items=[EvalOutputItem(id="zz", score=1.0)])


def halved(eval_input):
    """Gives errors that no file can hold."""
    items = [EvalOutputItem(id=item.id, error=f"half \ud800 of {item.id}") for item in eval_input.eval_input_items]
    return EvalOutput(average_score=None, eval_output_items=items)


@register_evaluator(config_type=BrokenConfig)
async def broken(config, builder):
    async def evaluate(eval_input):
        raise RuntimeError("it is broken")

    async def half(eval_input):
        raise ValueError("half \ud800")

    async def nothing(eval_input):
        return None

    async def half_made(eval_input):
        return {"eval_output_items": [{"score": 1.0}]}

    if config.how == "build":
        raise RuntimeError("it cannot be built")
    if config.how == "no yield":
        return
    if config.how in {"function", "not one"}:
        yield evaluate if config.how == "function" else EvaluatorInfo(config=config, evaluate_fn=None)
        return
    made = {
        "raise": evaluate,
        "items": Choosy().evaluate,
        "words": Wordy().evaluate,
        "surrogate": Surrogate().evaluate,
        "ids": unkeyed,
        "average": unwritten,
        "half": half,
        "half items": Halved().evaluate,
        "half errors": halved,
        "nothing": nothing,
        "half made": half_made,
        "sync": Sync().evaluate,
        "twice": worded,
        "worded": worded,
        "doubled": doubled,
        "strange": strange,
    }[config.how]
    yield EvaluatorInfo(config=config, evaluate_fn=made, description="Breaks")
    if config.how == "twice":
        yield EvaluatorInfo(config=config, evaluate_fn=made, description="Breaks")


class SeenConfig(EvaluatorBaseConfig, name="seen"):
    """Repeats what it sees of an item."""


class Seen(BaseEvaluator):
    async def evaluate_item(self, item):
        steps = [step.event_type for step in item.trajectory]
        shown = {"entry": item.full_dataset_entry, "input": item.input_obj, "steps": steps}
        return EvalOutputItem(id=item.id, score=len(steps), reasoning=shown)


@register_evaluator(config_type=SeenConfig)
async def seen(config, builder):
    yield EvaluatorInfo(config=config, evaluate_fn=Seen(builder.get_max_concurrency()).evaluate, description="Sees")


class AliveConfig(EvaluatorBaseConfig, name="alive"):
    """The most items that are there at the same time."""


class Alive(BaseEvaluator):
    async def evaluate_item(self, item):
        there = sum(type(each) is EvalInputItem for each in gc.get_objects())
        return EvalOutputItem(id=item.id, score=there, reasoning=type(item.trajectory).__name__)


@register_evaluator(config_type=AliveConfig)
async def alive(config, builder):
    yield EvaluatorInfo(config=config, evaluate_fn=Alive(max_concurrency=2).evaluate, description="Alive")


class TwiceConfig(EvaluatorBaseConfig, name="twice"):
    """A function that notes something in the items, drops the last, and looks again."""


@register_evaluator(config_type=TwiceConfig)
async def twice(config, builder):
    async def evaluate(given):
        listed = given.eval_input_items
        for item in listed:
            item.output_obj = f"{item.id} seen"
        listed.pop()
        said = [EvalOutputItem(id=item.id, score=len(listed), reasoning=item.output_obj) for item in listed]
        return EvalOutput(average_score=None, eval_output_items=said)

    yield EvaluatorInfo(config=config, evaluate_fn=evaluate, description="Twice")


class CalledConfig(EvaluatorBaseConfig, name="called"):
    """An object that is called, and answers later."""


class Called:
    async def __call__(self, given):
        await asyncio.sleep(0)
        said = [EvalOutputItem(id=item.id, score=0.25) for item in given.eval_input_items]
        return EvalOutput(average_score=0.25, eval_output_items=said)


@register_evaluator(config_type=CalledConfig)
async def called(config, builder):
    yield EvaluatorInfo(config=config, evaluate_fn=Called(), description="Called")


def unruly(question: str, how: str, folder: str = ".") -> object:
    """At the first question, does what a workflow should not."""
    if "1" in question:
        match how:
            case "exit":
                raise SystemExit(0)
            case "elsewhere":
                os.chdir(folder)
            case "object":
                return object()
            case "surrogate":
                return "half \ud800"
            case "hang":
                time.sleep(600)
    return question


async def unruly_later(question: str, how: str) -> object:
    if "1" in question and how == "cancel":
        raise asyncio.CancelledError
    return unruly(question, how)


class UnrulyConfig(EvaluatorBaseConfig, name="unruly"):
    """At the first item, does what an evaluator should not."""

    how: str = "exit"


class Unruly(BaseEvaluator):
    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how

    async def evaluate_item(self, item):
        if item.id == 1:
            raise SystemExit(0) if self.how == "exit" else asyncio.CancelledError
        return EvalOutputItem(id=item.id, score=1.0)


@register_evaluator(config_type=UnrulyConfig)
async def an_unruly_one(config, builder):
    async def whole(given):
        raise SystemExit(0) if config.how == "exit at once" else asyncio.CancelledError

    made = whole if config.how.endswith("at once") else Unruly(config.how).evaluate
    yield EvaluatorInfo(config=config, evaluate_fn=made, description="Unruly")


class RemovingConfig(EvaluatorBaseConfig, name="removing"):
    """Removes a file."""

    path: str


@register_evaluator(config_type=RemovingConfig)
async def removing(config, builder):
    def evaluate(given):
        Path(config.path).unlink()
        said = [EvalOutputItem(id=item.id, score=1.0) for item in given.eval_input_items]
        return EvalOutput(average_score=1.0, eval_output_items=said)

    yield EvaluatorInfo(config=config, evaluate_fn=evaluate, description="Removes")


class DiscreetConfig(EvaluatorBaseConfig, name="discreet"):
    """Knows a word that nobody else is to know."""

    word: pydantic.SecretStr


@register_evaluator(config_type=DiscreetConfig)
async def discreet(config, builder):
    async def evaluate(given):
        known = config.word.get_secret_value() == "hunter2-hunter2"
        said = [EvalOutputItem(id=item.id, score=known) for item in given.eval_input_items]
        return EvalOutput(average_score=float(known), eval_output_items=said)

    yield EvaluatorInfo(config=config, evaluate_fn=evaluate, description="Discreet")


class AsSaidConfig(EvaluatorBaseConfig, name="as_said"):
    """The answer is the score."""

    bounds: tuple[float, float] | None = None


@register_evaluator(config_type=AsSaidConfig)
async def as_said(config, builder):
    class AsSaid(BaseEvaluator):
        async def evaluate_item(self, item):
            return EvalOutputItem(id=item.id, score=float(item.output_obj), reasoning=None)

    yield EvaluatorInfo(config, AsSaid().evaluate, "As said", config.bounds)
