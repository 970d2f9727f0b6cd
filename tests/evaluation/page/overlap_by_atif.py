"""A plug-in whose evaluator reads trajectories in ATIF and has no `evaluate_fn`, as NeMo Agent Toolkit's second example."""

# ruff: noqa: D101, D102, FBT002

from rollwise.compat.nat import (
    AtifBaseEvaluator,
    AtifEvalSample,
    EvalBuilder,
    EvalOutputItem,
    EvaluatorBaseConfig,
    EvaluatorInfo,
    register_evaluator,
)


class OverlapConfig(EvaluatorBaseConfig, name="atif_overlap"):
    lower: bool = True


class Overlap(AtifBaseEvaluator):
    def __init__(self, lower: bool = True, max_concurrency: int = 4) -> None:
        super().__init__(max_concurrency=max_concurrency)
        self.lower = lower

    async def evaluate_atif_item(self, sample: AtifEvalSample) -> EvalOutputItem:
        texts = [str(text or "") for text in (sample.expected_output_obj, sample.output_obj)]
        expected, output = (set((text.lower() if self.lower else text).split()) for text in texts)
        calls = [call.function_name for step in sample.trajectory.steps for call in step.tool_calls or ()]
        if "explode" in output:
            raise RuntimeError("the answer exploded")
        score = len(expected & output) / max(len(expected | output), 1)
        return EvalOutputItem(id=sample.item_id, score=score, reasoning={"calls": calls})


@register_evaluator(config_type=OverlapConfig)
async def overlap(config: OverlapConfig, builder: EvalBuilder):
    evaluator = Overlap(config.lower, builder.get_max_concurrency())
    info = EvaluatorInfo(config=config, description="Overlap of words")
    info.evaluate_atif_fn = evaluator.evaluate_atif_fn
    yield info
