"""A language model as a judge: a template asks it for a rating, and its answer is read as a number on a scale."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from statistics import fmean
from time import perf_counter
from typing import Any, ClassVar, Literal

import polars as pl

from rollwise.errors import ArgumentError, counted, type_and_message
from rollwise.jobs.identity import additions, identity
from rollwise.judges.clients import CallError, Reply, name_of
from rollwise.judges.endpoint import without_secrets
from rollwise.judges.judge_models import is_settled, model_with, options_of
from rollwise.judges.judgments import judged
from rollwise.judges.replies import (
    Reading,
    UnreadableError,
    Unsigned,
    check_code,
    check_length,
    instructions,
    listed,
    place_of_score,
    score_in,
    unquoted,
)
from rollwise.judges.response_metric import ResponseMetric, require_list
from rollwise.judges.texts import Template
from rollwise.judges.verdicts import TEXT, Judge, Verdict, bounds_of, is_finite
from rollwise.schema.named import column_named
from rollwise.schema.option_types import check_option_types

BOUNDS = ("lower_bound", "upper_bound")
# Why an answer ended, where a verdict that it lacks may have been cut off.
_ENDED = {
    "content_filter": "a content filter cut its answer",
    "length": "it used up its tokens before its answer ended, so raise max_tokens",
}
# Attributes of the class itself; a subclass may add others, on which its verdicts depend too.
_OF_CLASS = frozenset({*("batch_size", "choices", "columns", "gen_kwargs", "max_retries", "model", "name", "num_return_sequences"),
                       *("out_of_range", "parser", "reasoning", "samples", "scale", "score_field", "store", "structured_output"),
                       *("system", "template", "unsigned")})  # fmt: skip


class LLMJudgeMetric(ResponseMetric):
    r"""A metric that asks a language model to rate each response on a scale.

    The template says what is rated. As a metric, the object is called with lists; as a judge, it is passed to `rw.judge` and
    `rw.score`, which judge a table of turns and keep the verdicts.

    Parameters
    ----------
    model_or_id
        The model that judges: the id or folder of a `transformers` model, such a model itself, an `Endpoint`, any `ChatModel`,
        or a function of the messages, sync or async, that returns text.
    prompt_template
        The prompt, with the placeholders ``{response}``, ``{lower_bound}`` and ``{upper_bound}``; further placeholders are
        ``{prompt}``, ``{conversation}`` (all turns up to this one) and any column of TURNS. Double literal braces.
    tokenizer, device
        Of a `transformers` model; by default, its own tokenizer, and the first GPU, if there is one.
    scale
        The lowest and the highest score.
    batch_size
        Number of judgments at the same time when the metric is called with lists. A local model answers them one by one.
    max_retries
        How often a model that samples its answers is asked again after an unreadable answer.
    gen_kwargs
        Options of generation: ``temperature`` (by default 0 for a `transformers` model, and the model's own setting for
        others), ``max_new_tokens``, ``top_p``, ..., and ``num_return_sequences``: the number of verdicts on each response,
        which are averaged. A function of the messages does not receive them.
    structured_output
        Whether to ask for JSON and read it (`rollwise.judges.replies`); otherwise `parser` reads the answer.
    parser
        A function from the answer to the score. Parts of the answer that repeat the question are removed first.
    out_of_range
        How to treat a score outside `scale`: as the nearest end (``"clamp"``), as unknown (``"null"``), or, like an unreadable
        answer, as a failed judgment (``"error"``).
    choices
        The only allowed scores, such as ``(0, 0.5, 1)``; any other is a failed judgment. By default every number on the scale
        is allowed.
    reasoning
        Whether to ask for the reasons too.
    system
        A system prompt for the model.
    store
        A folder that keeps verdicts when the metric is called with lists, as in `rw.judge`.
    name
        Name of the judge in VERDICTS, before the digest of its configuration; by default the name of the class.
    score_field
        Place of the score in the judge's JSON, if the template asks for its own format: a key such as ``"rating"``, or a path
        such as ``"$.result.score"``. The judge is then asked to answer in that format and to add a check code.
    unsigned
        How to treat a verdict without the check code that shows that it is the judge's own: as an unreadable answer
        (``"null"``), or as a verdict unless it appears in the judged texts (``"accept"``), for models that cannot repeat a
        code. `rw.judge` says how many there were, and VERDICTS marks them in `signed`. A `parser` reads no code.

    Raises
    ------
    ArgumentError
        If the template lacks a placeholder, the scale is not a range, `max_retries` is negative, `score_field` cannot hold a
        score, or several verdicts are requested from a model that always gives the same one.

    Examples
    --------
    >>> template = "How polite is this, from {lower_bound} to {upper_bound}?\n\n{response}"
    >>> polite = LLMJudgeMetric(lambda messages: '{"score": 4}', template, unsigned="accept")
    >>> polite(["Thank you.", "Please."])
    {'mean_score': 4.0, 'scores': [4.0, 4.0], 'raw_scores': [[4.0], [4.0]]}
    """

    labels: ClassVar[Mapping[float, str]] = {}  # words for some scores

    def __init__(
        self,
        model_or_id: Any,
        prompt_template: str,
        tokenizer: Any = None,
        device: str | None = None,
        scale: tuple[float, float] = (1, 5),
        batch_size: int = 8,
        max_retries: int = 5,
        gen_kwargs: Mapping[str, Any] | None = None,
        structured_output: bool = True,  # noqa: FBT001, FBT002  # as in the seed page
        parser: Callable[[str], Any] | None = None,
        *,
        out_of_range: Literal["clamp", "null", "error"] = "clamp",
        choices: Sequence[float] | None = None,
        reasoning: bool = False,
        system: str | None = None,
        store: Any = None,
        name: str | None = None,
        score_field: str | None = None,
        unsigned: Unsigned = "null",
        **extras: Any,
    ) -> None:
        super().__init__(name=name, **extras)
        # Check everything that can be checked without the model, so that a mistake costs no call.
        check_option_types(LLMJudgeMetric.__init__, locals(), self.name, own=("scale", "choices", "device"))
        low, high = bounds_of(scale, self.name)
        if structured_output == (parser is not None):
            raise ArgumentError(
                f"{self.name}: give a parser, a function from the answer to the score, if structured_output is False, "
                "and only then"
            )
        if max_retries < 0:
            raise ArgumentError(f"{self.name}: max_retries={max_retries}; give a whole number, 0 or more (0 asks once)")
        self.template = Template(prompt_template.strip())
        missing = [f"{{{name}}}" for name in (TEXT, *BOUNDS) if name not in self.template.fields]
        if missing:
            raise ArgumentError(f"{self.name}: the template lacks {', '.join(missing)}; insert it where it belongs")
        self.gen_kwargs, self.samples = options_of(self.name, gen_kwargs or {})
        self.num_return_sequences = self.samples
        self.model = model_with(self.name, model_or_id, self.gen_kwargs, tokenizer, device)
        self.scale, self.batch_size, self.max_retries = (low, high), batch_size, max_retries
        self.structured_output, self.parser, self.out_of_range = structured_output, parser, out_of_range
        self.choices = None if choices is None else _choices(choices, low, high, self.name)
        self.reasoning, self.system, self.store = reasoning, system, store
        self.score_field = None if score_field is None else self._place(score_field)
        self.unsigned = unsigned
        self.columns = tuple(name for name in self.template.fields if name not in {TEXT, *BOUNDS})
        if self.samples > 1 and self._is_deterministic:
            raise ArgumentError(
                f"{self.name}: num_return_sequences={self.samples} at temperature 0 would be the same verdict "
                f"{self.samples} times; set a temperature"
            )

    @property
    def configuration(self) -> dict[str, Any]:
        """Return everything that determines the verdicts, as JSON without secrets."""
        settings = {name: value for name, value in vars(self).items() if name not in {*_OF_CLASS, "extras"}}
        return {
            "model": identity(self.model),
            "options": without_secrets(self.gen_kwargs),
            "template": self.template.text,
            "system": self.system,
            "scale": self.scale,
            "structured_output": self.structured_output,
            "parser": identity(self.parser),
            "out_of_range": self.out_of_range,
            "reasoning": self.reasoning,
            "labels": sorted(self.labels.items()),
            "unsigned": self.unsigned,
            # Later options appear only if they are set, so that older judges keep their digest and their kept verdicts.
            **({} if self.choices is None else {"choices": list(self.choices)}),
            **({} if self.score_field is None else {"score_field": self.score_field}),
            **additions(self, settings | self.extras),
        }

    def compute(self, responses: Any, prompts: Sequence[str] | None = None, **kwargs: Any) -> dict[str, Any]:
        """Return the scores of the responses, and their mean.

        Parameters
        ----------
        responses
            The texts. A missing response (None) is not judged.
        prompts
            One prompt for each response, for ``{prompt}``.
        kwargs
            Values for the other placeholders of the template: one value for all responses, or one for each.

        Returns
        -------
        dict
            ``mean_score``; ``scores``, the mean of each response; ``raw_scores``, a list of verdicts for each response. A
            judgment that failed is missing (None) and excluded from the means, and ``errors`` lists the messages. Without any
            score, the means are missing, too.

        Raises
        ------
        ArgumentError
            If lists differ in length, or a placeholder of the template has no value.
        MetricError
            If `responses` is a single text.
        """
        require_list(self, responses)
        texts = list(responses)
        inputs = {"prompt": prompts, **kwargs} if prompts is not None else kwargs
        columns = {TEXT: texts, **{name: _repeated(name, inputs, len(texts), self.name) for name in self.columns}}
        if prompts is not None:  # a wrong number of prompts is an error even if the template does not use them
            _repeated("prompt", inputs, len(texts), self.name)
        questions = pl.DataFrame(
            {name: [None if value is None else str(value) for value in values] for name, values in columns.items()},
            schema=dict.fromkeys(columns, pl.String),
        ).with_columns(column_named(name).fill_null("") for name in self.columns)
        return self._result(questions, self, self.store)

    def score_rendered(self, rendered_prompts: Sequence[str]) -> dict[str, Any]:
        """Return the scores for complete prompts, which already contain the responses and the answer format.

        No check code is asked for, so nothing shows that a verdict is the judge's own.
        """
        require_list(self, rendered_prompts, "rendered_prompts")
        return self._result(
            pl.DataFrame({TEXT: list(rendered_prompts)}, schema={TEXT: pl.String}), _Rendered(self), None
        )

    async def verdict(self, texts: Mapping[str, str], *, sample: int = 1) -> Verdict:
        """Return the verdict on ``texts["response"]``."""
        filled = {**texts, "lower_bound": f"{self.scale[0]:g}", "upper_bound": f"{self.scale[1]:g}"}
        return await self._ask(self.template.render(filled), list(texts.values()), sample)

    # ── asking and reading ────────────────────────────────────────────────────────────────────────────────────────────
    @property
    def _is_deterministic(self) -> bool:
        return is_settled(self.model, self.gen_kwargs)

    def _place(self, field: str) -> str:
        """Return the place of the score after checking it."""
        if not self.structured_output:
            raise ArgumentError(f"{self.name}: a parser finds the score itself; omit score_field={field!r}")
        try:
            place_of_score(field)
        except ArgumentError as error:
            raise ArgumentError(f"{self.name}: {error}") from error
        return field

    async def _ask(self, question: str, texts: Sequence[str], sample: int, *, is_complete: bool = False) -> Verdict:
        """Ask the model until its answer can be read, up to `max_retries` times more.

        `texts` are the parts of the question that come from others. A question that `is_complete` contains the answer format.
        """
        code = None
        if self.structured_output and not is_complete:
            code = check_code(question)  # of the question without the instructions, which contain the code
            form = instructions(
                *self.scale, code, reasoning=self.reasoning, choices=self.choices, field=self.score_field
            )
            question = f"{question}\n\n{form}"
        messages = [{"role": "system", "content": self.system}] if self.system else []
        messages.append({"role": "user", "content": question})
        started, replies, flaw = perf_counter(), list[Reply](), ""
        hide: Callable[[str], str] = getattr(self.model, "hide", str)  # a server may repeat its key in an answer
        # A deterministic model would repeat its unreadable answer. A failed call has been retried by the model already.
        for retry in range(1 if self._is_deterministic else 1 + self.max_retries):
            try:
                replies.append(await self.model.complete(messages, seed=_seed(sample, retry)))
                reading = self._read(replies[-1].text, question, texts, code)
            except UnreadableError as error:
                flaw = _flaw(replies[-1], error)
            except CallError as error:
                return _with_costs(Verdict(None, error=str(error)), replies, started)
            else:
                value = self._on_scale(reading.score)
                label = None if value is None else self.labels.get(value)
                reasoning = None if reading.reasoning is None else hide(reading.reasoning)
                return _with_costs(Verdict(value, label, reasoning, signed=reading.signed), replies, started)
        attempts = "" if len(replies) == 1 else f", asked {len(replies)} times"
        return _with_costs(Verdict(None, error=f"{name_of(self.model)}{attempts}: {hide(flaw)}"), replies, started)

    def _read(self, answer: str, question: str, texts: Sequence[str], code: str | None) -> Reading:
        """Return the score in an answer, which may be used, and the reasoning with it."""
        # A parser of the user sees the answer without what it quotes of the question: a forged score there is not read.
        if self.parser is None:
            # On a scale from 0 to 1 a judge may say true for 1; on any other it said no number.
            truths = tuple(self.scale) == (0, 1)
            reading = score_in(answer, question, texts, code, self.score_field, self.unsigned, truths=truths)
        else:
            check_length(answer)
            text = unquoted(answer, question, texts)
            try:
                reading = Reading(float(self.parser(text)), text.strip() or None, None)
            except Exception as error:
                raise UnreadableError(f"{type_and_message(error)}; it said {text.strip()[:120]!r}") from error
            if math.isnan(reading.score):
                raise UnreadableError(f"the parser gives no number; it said {text.strip()[:120]!r}")
        low, high = self.scale
        if self.choices is not None and reading.score not in self.choices:  # all of them are on the scale
            raise UnreadableError(f"its score {reading.score:g} is not one of {listed(self.choices)}")
        if self.out_of_range == "error" and not low <= reading.score <= high:
            raise UnreadableError(f"its score {reading.score:g} is outside {low:g} to {high:g}")
        return reading

    def _on_scale(self, score: float) -> float | None:
        """Return a score on the scale; one outside it becomes the nearest end, or unknown."""
        low, high = self.scale
        is_outside = not low <= score <= high
        return None if is_outside and self.out_of_range == "null" else min(max(score, low), high)

    def _result(self, questions: pl.DataFrame, judge: Judge, store: Any) -> dict[str, Any]:
        verdicts = judged(questions, judge, store=store, max_concurrency=max(self.batch_size, 1))
        raw: list[list[float | None]] = [[] for _ in range(questions.height)]
        for row, value in verdicts.select("row", "value").iter_rows():
            raw[row].append(value)
        scores, errors = [_mean(samples) for samples in raw], verdicts["error"].drop_nulls().to_list()
        result: dict[str, Any] = {"mean_score": _mean(scores), "scores": scores, "raw_scores": raw}
        return {**result, "errors": errors} if errors else result


class _Rendered:
    """A judge of prompts that are complete already."""

    columns: tuple[str, ...] = ()

    def __init__(self, metric: LLMJudgeMetric) -> None:
        self.name, self.samples, self.configuration = metric.name, metric.samples, [metric.configuration, "rendered"]
        self._metric = metric

    async def verdict(self, texts: Mapping[str, str], *, sample: int = 1) -> Verdict:
        return await self._metric._ask(texts[TEXT], [], sample, is_complete=True)  # noqa: SLF001  # a part of the metric


def _repeated(name: str, inputs: Mapping[str, Any], number: int, who: str) -> list[Any]:
    """Return the values for a placeholder of the template, one for each response."""
    if name not in inputs:
        raise ArgumentError(
            f"{who}: the template has a placeholder {{{name}}}; give {name}=, a value for each response"
        )
    values = inputs[name]
    if values is None or isinstance(values, str | int | float):
        return [values] * number
    if len(values) != number:
        raise ArgumentError(f"{who}: {counted(number, 'response')} but {len(values)} of `{name}`; give one for each")
    return list(values)


def _choices(choices: Any, low: float, high: float, who: str) -> tuple[float, ...]:
    """Return the allowed scores after checking them."""
    numbers = tuple(choices) if hasattr(choices, "__iter__") else ()
    if not (numbers and all(is_finite(number) and low <= number <= high for number in numbers)):
        raise ArgumentError(f"{who}: choices={choices!r}; give numbers from {low:g} to {high:g}, the scale")
    return numbers


def _flaw(reply: Reply, error: UnreadableError) -> str:
    """Say why an answer cannot be read, and first of all whether it was cut."""
    if reply.finish_reason not in _ENDED:
        return str(error)
    return f"{_ENDED[reply.finish_reason]}; {error}" if reply.text.strip() else _ENDED[reply.finish_reason]


def _seed(sample: int, retry: int) -> int:
    """Return a seed for each sample and retry: 31 bits, which every server accepts."""
    return int.from_bytes(blake2b(repr((sample, retry)).encode(), digest_size=4).digest(), "big") >> 1


def _mean(values: Sequence[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return fmean(numbers) if numbers else None


def _with_costs(verdict: Verdict, replies: Sequence[Reply], started: float) -> Verdict:
    """Return the verdict with the time, tokens and cost of all its calls together."""

    def total(name: str) -> Any:
        amounts = [getattr(reply, name) for reply in replies]
        return sum(amounts) if amounts and None not in amounts else None  # one unknown amount leaves the sum unknown

    return replace(
        verdict,
        seconds=perf_counter() - started,
        prompt_tokens=total("prompt_tokens"),
        response_tokens=total("response_tokens"),
        cost_usd=total("cost_usd"),
    )
