"""A language model as a judge: a template says what it rates, and its answer is read as a number on a scale."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from numbers import Integral
from statistics import fmean
from time import perf_counter
from typing import Any, ClassVar, Literal

import polars as pl

from turnwise.errors import ArgumentError, counted
from turnwise.judges.clients import CallError, Reply, name_of
from turnwise.judges.endpoint import without_secrets
from turnwise.judges.identities import identity, of_own_class
from turnwise.judges.judge_models import is_settled, model_with, options_of
from turnwise.judges.judgments import judged
from turnwise.judges.replies import (
    UnreadableError,
    check_code,
    instructions,
    listed,
    place_of_score,
    score_in,
    unquoted,
)
from turnwise.judges.response_metric import ResponseMetric, require_list
from turnwise.judges.templates import Template
from turnwise.judges.verdicts import TEXT, Judge, Verdict, bounds_of, is_finite

BOUNDS = ("lower_bound", "upper_bound")
_OURS = frozenset({*("batch_size", "choices", "columns", "gen_kwargs", "max_retries", "model", "name", "num_return_sequences"),
                   *("out_of_range", "parser", "reasoning", "samples", "scale", "score_field", "store", "structured_output"),
                   *("system", "template")})  # fmt: skip


class LLMJudgeMetric(ResponseMetric):
    r"""A metric whose values a language model gives, each response rated on a scale.

    A subclass, or an instance, says what is rated by its template. As a metric it is called with lists; as a judge it goes to
    `tw.judge` and `tw.score`, which ask about a table of turns and keep verdicts.

    Parameters
    ----------
    model_or_id
        Who judges: the id or folder of a `transformers` model, such a model itself, an `Endpoint`, any `ChatModel`, or a
        function of the messages, sync or async, that gives text.
    prompt_template
        What the model is told, with the places ``{response}``, ``{lower_bound}`` and ``{upper_bound}``; further places are
        ``{prompt}``, ``{conversation}`` (all turns up to this one) and any column of TURNS. Braces are written twice.
    tokenizer, device
        Of a `transformers` model; without them, its own, and the first GPU, if there is one.
    scale
        The least and the highest score.
    batch_size
        How many judgements are under way at the same time when the metric is called with lists. A model on this machine
        answers them one by one.
    max_retries
        How often a model that draws its answers is asked again after one that could not be read.
    gen_kwargs
        How it answers: ``temperature`` (without it 0 for a `transformers` model, and what it is set to for others),
        ``max_new_tokens``, ``top_p``, ..., and ``num_return_sequences``: how many verdicts each response gets, which are
        averaged. A function of the messages sees nothing of these.
    structured_output
        Whether to ask for JSON and read that (`turnwise.judges.replies`); else `parser` reads the answer.
    parser
        A function of the answer that gives the score. It is given the answer without what that repeats of the question.
    out_of_range
        What becomes of a score outside `scale`: the nearest end (``"clamp"``), unknown (``"null"``), or, like an answer that
        cannot be read, a failed judgement (``"error"``).
    choices
        The only scores that there are, such as ``(0, 0.5, 1)``; another is a failed judgement. Without them, every number of the
        scale is one.
    reasoning
        Whether to ask for the reasons as well.
    system
        A system text for the model.
    store
        A folder that keeps verdicts when the metric is called with lists, as `tw.judge` has it.
    name
        What VERDICTS call the judge, before the digest of its configuration; without it, the name of the class.
    score_field
        Where the score stands in the judge's JSON, when the template asks for a form of its own: a key such as ``"rating"``, or
        a path such as ``"$.result.score"``. The judge is then told to answer in that form, with a check code beside it.

    Raises
    ------
    ArgumentError
        Where the template lacks a place, the scale is none, `max_retries` is negative, `score_field` is no place of a score, or
        several verdicts are asked of a model that always gives the same one.

    Examples
    --------
    >>> polite = LLMJudgeMetric(
    ...     lambda messages: '{"score": 4}',
    ...     "How polite is this, from {lower_bound} to {upper_bound}?\n\n{response}",
    ... )
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
        **extras: Any,
    ) -> None:
        super().__init__(name=name, **extras)
        low, high = bounds_of(scale, self.name)
        if structured_output == (parser is not None) or (parser is not None and not callable(parser)):
            raise ArgumentError(
                f"{self.name}: give a parser, a function of the answer that gives the score, where structured_output is False, "
                "and only there"
            )
        if out_of_range not in {"clamp", "null", "error"}:
            raise ArgumentError(f"{self.name}: out_of_range={out_of_range!r}; it is 'clamp', 'null' or 'error'")
        retries: object = max_retries
        if not isinstance(retries, Integral) or int(retries) < 0:
            raise ArgumentError(
                f"{self.name}: max_retries={retries!r}; it is 0 or more, a whole number, and 0 asks once"
            )
        template: object = prompt_template
        if not isinstance(template, str):
            raise ArgumentError(f"{self.name}: the template is {template!r:.60}; give a text with {{response}} in it")
        self.template = Template(template.strip())
        lacking = [f"{{{name}}}" for name in (TEXT, *BOUNDS) if name not in self.template.fields]
        if lacking:
            raise ArgumentError(f"{self.name}: the template lacks {', '.join(lacking)}; say there where it belongs")
        self.gen_kwargs, self.samples = options_of(self.name, gen_kwargs or {})
        self.num_return_sequences = self.samples
        self.model = model_with(self.name, model_or_id, self.gen_kwargs, tokenizer, device)
        self.scale, self.batch_size, self.max_retries = (low, high), batch_size, max_retries
        self.structured_output, self.parser, self.out_of_range = structured_output, parser, out_of_range
        self.choices = None if choices is None else _choices(choices, low, high, self.name)
        self.reasoning, self.system, self.store = reasoning, system, store
        self.score_field = None if score_field is None else self._place(score_field)
        self.columns = tuple(name for name in self.template.fields if name not in {TEXT, *BOUNDS})
        if self.samples > 1 and self._settled:
            raise ArgumentError(
                f"{self.name}: num_return_sequences={self.samples} at temperature 0 would be the same verdict "
                f"{self.samples} times; set a temperature"
            )

    @property
    def configuration(self) -> dict[str, Any]:
        """All that decides the verdicts, as JSON and without secrets."""
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
            **({} if self.choices is None else {"choices": list(self.choices)}),
            **({} if self.score_field is None else {"score_field": self.score_field}),
            **of_own_class(self, _OURS),
        }

    def compute(self, responses: Any, prompts: Sequence[str] | None = None, **kwargs: Any) -> dict[str, Any]:
        """The scores of the responses, and their mean.

        Parameters
        ----------
        responses
            The texts. One that is None is not judged.
        prompts
            As many, for ``{prompt}``.
        kwargs
            What else the template has places for: one value for all, or as many as there are responses.

        Returns
        -------
        dict
            ``mean_score``; ``scores``, the mean of each response; ``raw_scores``, a list of verdicts for each. A judgement
            that failed is None and in no mean; with failures there is ``errors``, a list of messages. A mean of nothing is
            None.

        Raises
        ------
        ArgumentError
            Where lists differ in length, or a place of the template is given nothing.
        MetricError
            Where `responses` is one text.
        """
        require_list(self, responses)
        texts = list(responses)
        given = {"prompt": prompts, **kwargs} if prompts is not None else kwargs
        columns = {TEXT: texts, **{name: _as_many(name, given, len(texts), self.name) for name in self.columns}}
        if prompts is not None:
            _as_many("prompt", given, len(texts), self.name)
        questions = pl.DataFrame(
            {name: [None if each is None else str(each) for each in values] for name, values in columns.items()},
            schema=dict.fromkeys(columns, pl.String),
        ).with_columns(pl.col(name).fill_null("") for name in self.columns)
        return self._result(questions, self, self.store)

    def score_rendered(self, rendered_prompts: Sequence[str]) -> dict[str, Any]:
        """The scores by prompts whose places are filled in already and which say how to answer."""
        require_list(self, rendered_prompts, "rendered_prompts")
        return self._result(
            pl.DataFrame({TEXT: list(rendered_prompts)}, schema={TEXT: pl.String}), _Rendered(self), None
        )

    async def verdict(self, texts: Mapping[str, str], *, sample: int = 1) -> Verdict:
        """The verdict on ``texts["response"]``."""
        filled = {**texts, "lower_bound": _shown(self.scale[0]), "upper_bound": _shown(self.scale[1])}
        return await self._asked(self.template.render(filled), list(texts.values()), sample)

    # ── how it goes ───────────────────────────────────────────────────────────────────────────────────────────────────
    @property
    def _settled(self) -> bool:
        return is_settled(self.model, self.gen_kwargs)

    def _place(self, field: object) -> str:
        """Return the place of the score after checking it."""
        if not isinstance(field, str):
            raise ArgumentError(f"{self.name}: score_field={field!r:.60}; give a key of the judge's JSON, or a path")
        if not self.structured_output:
            raise ArgumentError(f"{self.name}: a parser finds the score itself; leave score_field={field!r} out")
        try:
            place_of_score(field)
        except ArgumentError as error:
            raise ArgumentError(f"{self.name}: {error}") from error
        return field

    async def _asked(self, shown: str, told: Sequence[str], sample: int, *, bare: bool = False) -> Verdict:
        """Ask the model, again where that may help, until its answer can be read."""
        code = check_code(shown)
        if self.structured_output and not bare:
            shown = f"{shown}\n\n{self._instructions(code)}"
        messages = [{"role": "system", "content": self.system}] if self.system else []
        messages.append({"role": "user", "content": shown})
        started, replies, flaw = perf_counter(), list[Reply](), ""
        for retry in range(1 if self._settled else 1 + self.max_retries):
            try:
                replies.append(await self.model.complete(messages, seed=_seed(sample, retry)))
                value, reasoning = self._read(replies[-1].text, shown, told, code)
            except UnreadableError as error:
                flaw = str(error)
            except CallError as error:
                return _told(Verdict(None, error=str(error)), replies, started)
            else:
                label = None if value is None else self.labels.get(value)
                return _told(Verdict(value, label, reasoning), replies, started)
        asked = "" if len(replies) == 1 else f", asked {len(replies)} times"
        return _told(Verdict(None, error=f"{name_of(self.model)}{asked}: {flaw}"), replies, started)

    def _instructions(self, code: str) -> str:
        given: Any = {"reasoning": self.reasoning, "choices": self.choices, "field": self.score_field}
        return instructions(*self.scale, code, **given)

    def _read(self, answer: str, shown: str, told: Sequence[str], code: str) -> tuple[float | None, str | None]:
        """The score in an answer, one that there is, and the reasoning with it."""
        score, reasoning = self._on_the_scale(answer, shown, told, code)
        if self.choices is not None and score is not None and score not in self.choices:
            raise UnreadableError(f"its score {score:g} is none of {listed(self.choices)}")
        return score, reasoning

    def _on_the_scale(self, answer: str, shown: str, told: Sequence[str], code: str) -> tuple[float | None, str | None]:
        """The score in an answer, within the scale, and the reasoning with it."""
        low, high = self.scale
        reasoning: str | None
        if self.parser is None:
            score, reasoning = score_in(answer, shown, told, code, self.score_field)
        else:
            own = unquoted(answer, shown, told)
            try:
                score, reasoning = float(self.parser(own)), own.strip() or None
            except Exception as error:
                raise UnreadableError(f"{type(error).__name__}: {error}; it said {own.strip()[:120]!r}") from error
            if math.isnan(score):
                raise UnreadableError(f"the parser gives no number; it said {own.strip()[:120]!r}")
        if low <= score <= high or self.choices is not None:  # which nothing outside is among
            return score, reasoning
        if self.out_of_range == "error":
            raise UnreadableError(f"its score {score:g} is outside {low:g} to {high:g}")
        return (min(max(score, low), high) if self.out_of_range == "clamp" else None), reasoning

    def _result(self, questions: pl.DataFrame, judge: Judge, store: Any) -> dict[str, Any]:
        found = judged(questions, judge, store=store, max_concurrency=max(self.batch_size, 1))
        raw: list[list[float | None]] = [[] for _ in range(questions.height)]
        for row, value in found.select("row", "value").iter_rows():
            raw[row].append(value)
        scores, errors = [_mean(each) for each in raw], found["error"].drop_nulls().to_list()
        told: dict[str, Any] = {"mean_score": _mean(scores), "scores": scores, "raw_scores": raw}
        return {**told, "errors": errors} if errors else told


class _Rendered:
    """A judge of prompts that are whole already."""

    columns: tuple[str, ...] = ()

    def __init__(self, metric: LLMJudgeMetric) -> None:
        self.name, self.samples, self.configuration = metric.name, metric.samples, [metric.configuration, "rendered"]
        self._metric = metric

    async def verdict(self, texts: Mapping[str, str], *, sample: int = 1) -> Verdict:
        return await self._metric._asked(texts[TEXT], [], sample, bare=True)  # noqa: SLF001  # one of its own


def _as_many(name: str, given: Mapping[str, Any], number: int, who: str) -> list[Any]:
    """The values for a place of the template, one for each response."""
    if name not in given:
        raise ArgumentError(f"{who}: the template has a place {{{name}}}; give {name}=, a value for each response")
    values = given[name]
    if values is None or isinstance(values, str | int | float):
        return [values] * number
    if len(values) != number:
        raise ArgumentError(f"{who}: {counted(number, 'response')} but {len(values)} of `{name}`; give one for each")
    return list(values)


def _choices(given: Any, low: float, high: float, who: str) -> tuple[float, ...]:
    """The scores that there are."""
    numbers = tuple(given) if hasattr(given, "__iter__") else ()
    if not (numbers and all(is_finite(each) and low <= each <= high for each in numbers)):
        raise ArgumentError(f"{who}: choices={given!r}; give numbers from {low:g} to {high:g}, the scale")
    return numbers


def _shown(bound: float) -> str:
    return f"{bound:g}"


def _seed(sample: int, retry: int) -> int:
    """A seed for each sample and each time that it is asked again, of 31 bits, which every server takes."""
    return int.from_bytes(blake2b(repr((sample, retry)).encode(), digest_size=4).digest(), "big") >> 1


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _told(verdict: Verdict, replies: Sequence[Reply], started: float) -> Verdict:
    """The verdict with what its calls took together."""

    def total(name: str) -> Any:
        spent = [getattr(reply, name) for reply in replies]
        return sum(spent) if spent and None not in spent else None

    return replace(
        verdict,
        seconds=perf_counter() - started,
        prompt_tokens=total("prompt_tokens"),
        response_tokens=total("response_tokens"),
        cost_usd=total("cost_usd"),
    )
