"""Language models as evaluators: those with a question of their own, one with yours, one of the trajectory, a tunable one."""

from collections.abc import AsyncIterator, Callable, Mapping
from math import inf, isfinite
from typing import Annotated, Any, Literal

import polars as pl
from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from turnwise.errors import ArgumentError
from turnwise.evaluation.builtin.columns import Evaluate, output
from turnwise.evaluation.frames import STORE, Tables, tables_of
from turnwise.evaluation.items import EvalInput, EvalOutput
from turnwise.evaluation.plugins import EvalBuilder, EvaluatorBaseConfig, EvaluatorInfo, register_evaluator
from turnwise.judges import presets
from turnwise.judges.identities import untold
from turnwise.judges.judgments import judged
from turnwise.judges.llm_judge import LLMJudgeMetric
from turnwise.judges.replies import place_of_score
from turnwise.judges.texts import questions
from turnwise.metrics import composite

TRAJECTORY = "trajectory"


class JudgeConfig(EvaluatorBaseConfig):
    """Options that every judge accepts."""

    llm_name: str = Field(description="a model under `llms`")
    samples: int = Field(1, ge=1, description="verdicts on each item, which are averaged")
    temperature: float | None = Field(None, ge=0, description="of the judge")
    max_retries: int = Field(5, ge=0, description="asked again after an answer that cannot be read")
    system: str | None = Field(None, description="a system text")
    reasoning: bool = Field(True, description="ask for the reasons as well")

    def given(self) -> dict[str, Any]:
        """Return the options under the names of `LLMJudgeMetric`."""
        drawn: dict[str, Any] = {"num_return_sequences": self.samples} if self.samples > 1 else {}
        if self.temperature is not None:
            drawn["temperature"] = self.temperature
        more = {"system": self.system, "reasoning": self.reasoning, "max_retries": self.max_retries}
        return {"gen_kwargs": drawn, **more}


def texts(tables: Tables) -> pl.DataFrame:
    """Return the texts of each item that a judge may read: every column of its turn, and its steps as text."""
    steps = tables.steps
    shown = pl.format(
        "{}. {} {}: {} -> {}", "step", "kind", *(pl.col(name).fill_null("") for name in ("name", "input", "output"))
    )
    told = steps.sort("rollout_id", "step").group_by("rollout_id").agg(shown.str.join("\n").alias(TRAJECTORY))
    return tables.turns.hstack([tables.of_rollouts(told)[TRAJECTORY]])


def asked(judge: LLMJudgeMetric, frame: pl.DataFrame, max_concurrency: int, column: str = "response") -> pl.DataFrame:
    """For each row the mean `value` of the verdicts, the `reasoning`, and the `error` where there is no verdict."""
    store = STORE.get() if untold(judge.configuration) is None else None  # two of them could not be told apart
    lacking = [name for name in judge.columns if name not in frame.columns]
    if lacking:
        raise ArgumentError(f"the prompt has places for {', '.join(lacking)}, which the items lack")
    found = judged(questions(frame, judge, column), judge, store=store, max_concurrency=max_concurrency)
    by_row = found.group_by("row").agg(
        pl.col("value").mean(), pl.col("reasoning").first(ignore_nulls=True), pl.col("error").first(ignore_nulls=True)
    )
    rows = pl.DataFrame({"row": pl.Series(range(frame.height), dtype=pl.UInt32)})
    told = rows.join(by_row, on="row", how="left", maintain_order="left")
    return told.with_columns(error=pl.when(pl.col("value").is_null()).then("error"))


def by_judge(judge: LLMJudgeMetric, max_concurrency: int, column: str = "response") -> Evaluate:
    """An evaluator whose scores a judge gives."""

    def evaluate(given: EvalInput) -> EvalOutput:
        told = asked(judge, texts(tables_of(given)), max_concurrency, column)
        return output(given, told["value"].to_list(), told["reasoning"].to_list(), told["error"].to_list())

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
    made = type(f"{preset.__name__}Config", (JudgeConfig,), {"__doc__": about, "__module__": __name__}, name=name)

    column = JUDGED.get(name, "response")

    async def build(config: Any, builder: EvalBuilder) -> AsyncIterator[EvaluatorInfo]:
        made: Callable[..., LLMJudgeMetric] = preset
        judge = made(builder.llm(config.llm_name), **config.given())
        yield EvaluatorInfo(config, by_judge(judge, builder.get_max_concurrency(), column), about, judge.scale)

    build.__qualname__ = name
    register_evaluator(config_type=made)(build)


for _name, _preset in PRESETS.items():
    _register(_name, _preset)


def _a_place(field: str) -> str:
    """Check the place of a score; a mistake is reported with file, line and key before any call."""
    try:
        place_of_score(field)
    except ArgumentError as error:
        raise ValueError(str(error)) from error
    return field


class LLMJudgeConfig(JudgeConfig, name="llm_judge"):
    """A judge with a prompt of your own; places are {response}, {prompt}, {expected}, {trajectory} and columns of the data set."""

    prompt: str = Field(description="what the judge is told, with {response}, {lower_bound} and {upper_bound}")
    scale: tuple[float, float] = Field((1, 5), description="lowest and highest score")
    out_of_range: Literal["clamp", "null", "error"] = Field(
        "clamp", description="what becomes of a score outside the scale"
    )
    choices: list[float] | None = Field(None, description="the only scores that there are, such as [0, 0.5, 1]")
    score_field: Annotated[str, AfterValidator(_a_place)] | None = Field(
        None,
        description="where the score stands in the JSON that the prompt asks for: a key, or a path as $.result.score",
    )

    @field_validator("scale")
    @classmethod
    def _goes_somewhere(cls, scale: tuple[float, float]) -> tuple[float, float]:
        if not (isfinite(scale[0]) and isfinite(scale[1]) and scale[0] < scale[1]):
            raise ValueError("it goes nowhere; give [lowest, highest], two numbers")
        return scale

    @field_validator("choices")
    @classmethod
    def _on_the_scale(cls, choices: list[float] | None, known: ValidationInfo) -> list[float] | None:
        low, high = known.data.get("scale", (-inf, inf))
        if choices is not None and not (choices and all(low <= each <= high for each in choices)):
            raise ValueError(f"they are numbers from {low:g} to {high:g}, the scale, and there is at least one")
        return choices


@register_evaluator(config_type=LLMJudgeConfig)
async def llm_judge(config: LLMJudgeConfig, builder: EvalBuilder) -> AsyncIterator[EvaluatorInfo]:
    """A judge with a prompt of your own."""
    model = builder.llm(config.llm_name)
    judge = LLMJudgeMetric(
        model,
        config.prompt,
        scale=config.scale,
        out_of_range=config.out_of_range,
        choices=config.choices,
        score_field=config.score_field,
        **config.given(),
    )
    yield EvaluatorInfo(config, by_judge(judge, builder.get_max_concurrency()), "Judge", judge.scale)


_OF_A_TRAJECTORY = """You judge how an assistant went about a task.

TASK:
{prompt}

REFERENCE ANSWER:
{expected}

STEPS:
{trajectory}

FINAL ANSWER:
{response}

Rate from {lower_bound} (wrong or needless steps, no result) to {upper_bound} (every step serves, and the result is right)."""


class TrajectoryConfig(JudgeConfig, name="trajectory"):
    """A judge of the steps that led to the answer, from 0 to 1."""

    prompt: str = Field(_OF_A_TRAJECTORY, description="what the judge is told")


@register_evaluator(config_type=TrajectoryConfig)
async def trajectory(config: TrajectoryConfig, builder: EvalBuilder) -> AsyncIterator[EvaluatorInfo]:
    """A judge of the steps that led to the answer."""
    judge = LLMJudgeMetric(builder.llm(config.llm_name), config.prompt, scale=(0, 1), **config.given())
    yield EvaluatorInfo(config, by_judge(judge, builder.get_max_concurrency()), "Trajectory", judge.scale)


_ASPECTS = {
    "coverage": "how much of what the reference says the answer covers as well",
    "correctness": "how much of what the answer says agrees with the reference",
    "relevance": "how much of the answer is to the point of the question",
}
_OF_AN_ASPECT = """You compare an answer with a reference.

QUESTION:
{{prompt}}

REFERENCE:
{{expected}}

ANSWER:
{{response}}

{instructions}Rate {aspect}, from {{lower_bound}} (nothing) to {{upper_bound}} (all)."""


class TunableConfig(JudgeConfig, name="tunable_rag_evaluator"):
    """A judge of coverage, correctness and relevance, from 0 to 1 each, and their weighted mean."""

    judge_llm_prompt: str = Field("", description="what the judge is told beside the question, for your field")
    default_score_weights: dict[Literal["coverage", "correctness", "relevance"], float] = Field(
        {"coverage": 0.5, "correctness": 0.3, "relevance": 0.2}, description="divided by their sum"
    )


@register_evaluator(config_type=TunableConfig)
async def tunable(config: TunableConfig, builder: EvalBuilder) -> AsyncIterator[EvaluatorInfo]:
    """Coverage, correctness and relevance, weighted."""
    weights = {str(aspect): weight for aspect, weight in config.default_score_weights.items()}
    mean = composite(weights)
    told = config.judge_llm_prompt.replace("{", "{{").replace("}", "}}")
    model, given = builder.llm(config.llm_name), config.given()
    judges = {
        aspect: LLMJudgeMetric(
            model,
            _OF_AN_ASPECT.format(instructions=f"{told}\n\n" if told else "", aspect=_ASPECTS[aspect]),
            scale=(0, 1),
            **given,
        )
        for aspect, weight in weights.items()
        if weight > 0
    }

    def evaluate(given: EvalInput) -> EvalOutput:
        frame = texts(tables_of(given))
        parts = {aspect: asked(judge, frame, builder.get_max_concurrency()) for aspect, judge in judges.items()}
        scores = pl.DataFrame({aspect: part["value"] for aspect, part in parts.items()})
        why = pl.DataFrame({f"{aspect}_reasoning": part["reasoning"] for aspect, part in parts.items()})
        errors = pl.DataFrame({aspect: part["error"] for aspect, part in parts.items()})
        first = errors.select(pl.coalesce(pl.all())).to_series().to_list()
        return output(given, scores.select(mean).to_series().to_list(), scores.hstack(why).to_dicts(), first)

    yield EvaluatorInfo(config, evaluate, "Coverage, correctness and relevance", (0, 1))
