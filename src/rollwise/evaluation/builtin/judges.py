"""Language models as evaluators: with built-in prompts, with your own prompt, for trajectories, and a tunable one."""

from collections.abc import AsyncIterator, Callable, Mapping
from math import inf, isfinite
from typing import Annotated, Any, Literal

import polars as pl
from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from rollwise.errors import ArgumentError
from rollwise.evaluation.builtin.columns import IS_CONTEXT, Evaluate, output
from rollwise.evaluation.frames import STORE, Tables, tables_of
from rollwise.evaluation.items import EvalInput, EvalOutput
from rollwise.evaluation.plugins import EvalBuilder, EvaluatorBaseConfig, EvaluatorInfo, register_evaluator
from rollwise.jobs.identity import reason, unidentified_part
from rollwise.judges import presets
from rollwise.judges.judgments import judged, unsigned_words
from rollwise.judges.llm_judge import LLMJudgeMetric
from rollwise.judges.replies import place_of_score
from rollwise.judges.texts import questions
from rollwise.metrics import composite
from rollwise.schema.labels import say
from rollwise.schema.named import column_named

TRAJECTORY = "trajectory"
CONTEXTS = "contexts"


class JudgeConfig(EvaluatorBaseConfig):
    """Options that every judge accepts."""

    llm_name: str = Field(description="a model under `llms`")
    samples: int = Field(1, ge=1, description="verdicts on each item, which are averaged")
    temperature: float | None = Field(None, ge=0, description="of the judge")
    max_retries: int = Field(5, ge=0, description="how often to ask again after an unreadable answer")
    system: str | None = Field(None, description="a system prompt")
    reasoning: bool = Field(True, description="ask for the reasons too")
    unsigned: Literal["null", "accept"] = Field(
        "null", description="accept verdicts without the check code, for models that cannot repeat a code"
    )

    def options(self) -> dict[str, Any]:
        """Return the options under the names of `LLMJudgeMetric`."""
        gen_kwargs: dict[str, Any] = {"num_return_sequences": self.samples} if self.samples > 1 else {}
        if self.temperature is not None:
            gen_kwargs["temperature"] = self.temperature
        names = ("system", "reasoning", "max_retries", "unsigned")
        return {"gen_kwargs": gen_kwargs, **{name: getattr(self, name) for name in names}}


def texts(tables: Tables) -> pl.DataFrame:
    """Return the texts of each item that a judge may read: every column of its turn, its steps as text, and its contexts.

    Contexts that the data set does not have are what tools and searches returned on the way to the answer, one after another.
    """
    steps = tables.steps
    line = pl.format(
        "{}. {} {}: {} -> {}",
        "step",
        "kind",
        *(column_named(name).fill_null("") for name in ("name", "input", "output")),
    )
    of_steps = (
        steps.sort("rollout_id", "step")
        .group_by("rollout_id")
        .agg(
            line.str.join("\n").alias(TRAJECTORY), pl.col("output").filter(IS_CONTEXT).str.join("\n\n").alias(CONTEXTS)
        )
    )
    by_item = tables.of_rollouts(of_steps)
    frame, returned = tables.turns, by_item[CONTEXTS].replace("", None)
    if returned.count() and frame.schema.get(CONTEXTS, pl.String) == pl.String:
        contexts = [pl.col(CONTEXTS)] if CONTEXTS in frame.columns else []
        frame = frame.with_columns(pl.coalesce(*contexts, returned).alias(CONTEXTS))
    return frame.hstack([by_item[TRAJECTORY]])


def ask_judge(
    judge: LLMJudgeMetric, frame: pl.DataFrame, max_concurrency: int, column: str = "response"
) -> pl.DataFrame:
    """Return for each row the mean `value` of the verdicts, the `reasoning`, and the `error` if there is no verdict."""
    # Verdicts of a judge without an identity are not stored: another judge could be given them.
    store, part = STORE.get(), unidentified_part(judge.configuration)
    if part is not None:
        say(f"{judge.name}: a later run cannot reuse its verdicts, as {reason(part)}")
        store = None
    missing = [name for name in judge.columns if name not in frame.columns]
    if missing:
        raise ArgumentError(f"the prompt has placeholders for {', '.join(missing)}, which the items lack")
    verdicts = judged(questions(frame, judge, column), judge, store=store, max_concurrency=max_concurrency)
    if num_unsigned := int((~verdicts["signed"] & verdicts["value"].is_not_null()).sum()):
        say(f"{judge.name}: {unsigned_words(num_unsigned, verdicts.height)}")
    by_row = verdicts.group_by("row").agg(
        pl.col("value").mean(), pl.col("reasoning").first(ignore_nulls=True), pl.col("error").first(ignore_nulls=True)
    )
    # Rows without a text were not judged and come back as null.
    rows = pl.DataFrame({"row": pl.Series(range(frame.height), dtype=pl.UInt32)})
    results = rows.join(by_row, on="row", how="left", maintain_order="left")
    return results.with_columns(error=pl.when(pl.col("value").is_null()).then("error"))


def by_judge(judge: LLMJudgeMetric, max_concurrency: int, column: str = "response") -> Evaluate:
    """Return an evaluator whose scores are the verdicts of a judge."""

    def evaluate(eval_input: EvalInput) -> EvalOutput:
        results = ask_judge(judge, texts(tables_of(eval_input)), max_concurrency, column)
        return output(
            eval_input, results["value"].to_list(), results["reasoning"].to_list(), results["error"].to_list()
        )

    return evaluate


PRESETS: Mapping[str, type[LLMJudgeMetric]] = {
    "factuality": presets.Factuality,
    "relevance": presets.Relevance,
    "truthfulness": presets.Truthfulness,
    "informativeness": presets.Informativeness,
    "harmfulness": presets.Harmfulness,
    "refusal": presets.Refusal,
    "attack_success_judge": presets.AttackSuccess,
    "groundedness": presets.Groundedness,
    "answer_accuracy": presets.AnswerAccuracy,
    "context_relevance": presets.ContextRelevance,
    "goal_completion": presets.GoalCompletion,
}
JUDGED: Mapping[str, str] = {"context_relevance": "contexts"}  # others judge the answer


def _register(name: str, preset: type[LLMJudgeMetric]) -> None:
    about = (preset.__doc__ or "").split("\n\n", maxsplit=1)[0]
    members = {"__doc__": about, "__module__": __name__}
    config_type = type(f"{preset.__name__}Config", (JudgeConfig,), members, name=name)
    column = JUDGED.get(name, "response")

    async def build(config: Any, builder: EvalBuilder) -> AsyncIterator[EvaluatorInfo]:
        judge_type: Callable[..., LLMJudgeMetric] = preset
        judge = judge_type(builder.llm(config.llm_name), **config.options())
        yield EvaluatorInfo(config, by_judge(judge, builder.get_max_concurrency(), column), about, judge.scale)

    build.__qualname__ = name
    register_evaluator(config_type=config_type)(build)


for _name, _preset in PRESETS.items():
    _register(_name, _preset)


def _checked_place(field: str) -> str:
    """Check the place of a score; a mistake is reported with file, line and key before any call."""
    try:
        place_of_score(field)
    except ArgumentError as error:
        raise ValueError(str(error)) from error
    return field


class LLMJudgeConfig(JudgeConfig, name="llm_judge"):
    """A judge with your own prompt; placeholders are {response}, {prompt}, {expected}, {trajectory} and columns of the data set."""

    prompt: str = Field(description="prompt of the judge, with {response}, {lower_bound} and {upper_bound}")
    scale: tuple[float, float] = Field((1, 5), description="lowest and highest score")
    out_of_range: Literal["clamp", "null", "error"] = Field(
        "clamp", description="how to treat a score outside the scale"
    )
    choices: list[float] | None = Field(None, description="the only allowed scores, such as [0, 0.5, 1]")
    score_field: Annotated[str, AfterValidator(_checked_place)] | None = Field(
        None,
        description="place of the score in the JSON that the prompt asks for: a key, or a path such as $.result.score",
    )

    @field_validator("scale")
    @classmethod
    def _is_range(cls, scale: tuple[float, float]) -> tuple[float, float]:
        if not (isfinite(scale[0]) and isfinite(scale[1]) and scale[0] < scale[1]):
            raise ValueError("it is not a range; give [lowest, highest], two numbers")
        return scale

    @field_validator("choices")
    @classmethod
    def _on_the_scale(cls, choices: list[float] | None, info: ValidationInfo) -> list[float] | None:
        low, high = info.data.get("scale", (-inf, inf))  # missing if the scale itself is invalid
        if choices is not None and not (choices and all(low <= choice <= high for choice in choices)):
            raise ValueError(f"it must hold numbers from {low:g} to {high:g}, the scale, and at least one")
        return choices


@register_evaluator(config_type=LLMJudgeConfig)
async def llm_judge(config: LLMJudgeConfig, builder: EvalBuilder) -> AsyncIterator[EvaluatorInfo]:
    """A judge with your own prompt."""
    model = builder.llm(config.llm_name)
    judge = LLMJudgeMetric(
        model,
        config.prompt,
        scale=config.scale,
        out_of_range=config.out_of_range,
        choices=config.choices,
        score_field=config.score_field,
        **config.options(),
    )
    yield EvaluatorInfo(config, by_judge(judge, builder.get_max_concurrency()), "Judge", judge.scale)


_OF_A_TRAJECTORY = """You judge how an AI assistant carried out a task.

TASK:
{prompt}

REFERENCE ANSWER:
{expected}

STEPS:
{trajectory}

FINAL ANSWER:
{response}

Rate the steps from {lower_bound} (wrong or unnecessary steps, no result) to {upper_bound} (every step useful, result correct)."""


class TrajectoryConfig(JudgeConfig, name="trajectory"):
    """A judge of the steps that led to the answer, from 0 to 1."""

    prompt: str = Field(_OF_A_TRAJECTORY, description="prompt of the judge")


@register_evaluator(config_type=TrajectoryConfig)
async def trajectory(config: TrajectoryConfig, builder: EvalBuilder) -> AsyncIterator[EvaluatorInfo]:
    """A judge of the steps that led to the answer."""
    judge = LLMJudgeMetric(builder.llm(config.llm_name), config.prompt, scale=(0, 1), **config.options())
    yield EvaluatorInfo(config, by_judge(judge, builder.get_max_concurrency()), "Trajectory", judge.scale)


_ASPECTS = {
    "coverage": "how much of the reference the answer covers",
    "correctness": "how much of the answer agrees with the reference",
    "relevance": "how much of the answer is relevant to the question",
}
_OF_AN_ASPECT = """You compare an answer with a reference answer.

QUESTION:
{{prompt}}

REFERENCE:
{{expected}}

ANSWER:
{{response}}

{instructions}Rate {aspect}, from {{lower_bound}} (none) to {{upper_bound}} (all)."""


class TunableConfig(JudgeConfig, name="tunable_rag_evaluator"):
    """A judge of coverage, correctness and relevance, from 0 to 1 each, and their weighted mean."""

    judge_llm_prompt: str = Field("", description="further instructions for the judge, about your field")
    default_score_weights: dict[Literal["coverage", "correctness", "relevance"], float] = Field(
        {"coverage": 0.5, "correctness": 0.3, "relevance": 0.2}, description="divided by their sum"
    )


@register_evaluator(config_type=TunableConfig)
async def tunable(config: TunableConfig, builder: EvalBuilder) -> AsyncIterator[EvaluatorInfo]:
    """Coverage, correctness and relevance, weighted."""
    weights = {str(aspect): weight for aspect, weight in config.default_score_weights.items()}
    mean = composite(weights)
    instructions = config.judge_llm_prompt.replace("{", "{{").replace("}", "}}")
    # One judge per aspect: a single question about all of them would let one rating influence another.
    model, options = builder.llm(config.llm_name), config.options()
    judges = {
        aspect: LLMJudgeMetric(
            model,
            _OF_AN_ASPECT.format(instructions=f"{instructions}\n\n" if instructions else "", aspect=_ASPECTS[aspect]),
            scale=(0, 1),
            **options,
        )
        for aspect, weight in weights.items()
        if weight > 0
    }

    def evaluate(eval_input: EvalInput) -> EvalOutput:
        frame = texts(tables_of(eval_input))
        parts = {aspect: ask_judge(judge, frame, builder.get_max_concurrency()) for aspect, judge in judges.items()}
        scores = pl.DataFrame({aspect: part["value"] for aspect, part in parts.items()})
        reasoning = pl.DataFrame({f"{aspect}_reasoning": part["reasoning"] for aspect, part in parts.items()})
        errors = pl.DataFrame({aspect: part["error"] for aspect, part in parts.items()})
        first_errors = errors.select(pl.coalesce(pl.all())).to_series().to_list()
        means = scores.select(mean).to_series().to_list()
        return output(eval_input, means, scores.hstack(reasoning).to_dicts(), first_errors)

    yield EvaluatorInfo(config, evaluate, "Coverage, correctness and relevance", (0, 1))
