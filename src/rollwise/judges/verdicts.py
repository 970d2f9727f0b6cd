"""Judges and verdicts: language models, functions and the user's classes behind one protocol."""

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from numbers import Real
from time import perf_counter
from typing import Any, Protocol, TypeAlias, runtime_checkable

import msgspec

from rollwise.errors import ArgumentError, listing
from rollwise.jobs.calls import called, unwrapped
from rollwise.jobs.identity import identity
from rollwise.judges.clients import count_of

TEXT = "response"  # the name of the judged text for a judge, in whichever column it is


@dataclass(frozen=True, slots=True)
class Verdict:
    """One judgment of one text; None is unknown.

    Attributes
    ----------
    value
        The verdict as a number; None if judging failed, or if the judge could not decide.
    label
        The verdict as a word.
    reasoning
        The judge's reasons.
    error
        Why the verdict is missing.
    seconds, prompt_tokens, response_tokens, cost_usd
        Time, tokens and cost of all calls together.
    signed
        Whether the judge signed the verdict with its check code; None where it was not asked to.
    scores
        Several numbers by name, where the judge gives them instead of one `value`.
    """

    value: float | None
    label: str | None = None
    reasoning: str | None = None
    error: str | None = None
    seconds: float | None = None
    prompt_tokens: int | None = None
    response_tokens: int | None = None
    cost_usd: float | None = None
    signed: bool | None = None
    scores: dict[str, float | None] | None = None


@runtime_checkable
class Judge(Protocol):
    """Anything that judges texts: `LLMJudgeMetric`, or your own class.

    Attributes
    ----------
    name
        Name of the judge in VERDICTS.
    configuration
        Everything that determines its verdicts, as JSON without secrets. Judges that differ in it are never mixed.
    columns
        Further texts that it reads, besides the judged one: names of columns of TURNS, or ``conversation``.
    samples
        Number of verdicts on each text.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def configuration(self) -> Any: ...  # noqa: D102
    @property
    def columns(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def samples(self) -> int: ...  # noqa: D102

    async def verdict(self, texts: Mapping[str, str], *, sample: int = 1) -> Verdict:
        """Return the verdict on ``texts["response"]``; `texts` holds the columns too. An exception becomes the verdict's error."""
        ...


AnyJudge: TypeAlias = Judge | Callable[..., Any]


def judge_of(judge: AnyJudge) -> Judge:
    """Return the user's judge as a `Judge`."""
    if not isinstance(judge, type):
        if isinstance(judge, Judge):
            return judge
        if callable(judge):
            return _Function(judge)
    raise ArgumentError(
        f"judge: {judge!r:.60} is not a judge; give an LLMJudgeMetric such as Factuality(model), or a function of a text"
    )


def bounds_of(scale: Any, who: str) -> tuple[Any, Any]:
    """Return the lowest and the highest score of a scale."""
    if not (isinstance(scale, Sequence) and len(scale) == 2 and all(map(is_finite, scale)) and scale[0] < scale[1]):
        raise ArgumentError(f"{who}: the scale {scale!r} is not a range; give (lowest, highest), two numbers")
    return scale[0], scale[1]


def is_finite(bound: Any) -> bool:
    """Return whether the value is a finite number."""
    return isinstance(bound, Real) and math.isfinite(bound)


def version_of(judge: Judge) -> str:
    """Return a judge's name with a digest of its configuration, so that two versions of one judge never share a name."""
    content = msgspec.json.encode([judge.name, judge.configuration], enc_hook=repr, order="deterministic")
    return f"{judge.name}@{blake2b(content, digest_size=4).hexdigest()}"


def verdict_of(result: Any) -> Verdict:
    """Return a function's result as a verdict: a number, True or False, a word, a dict of these, or None for no answer.

    A dict of other names is one of several scores: each value is a number, True or False, or None.
    """
    if isinstance(result, Verdict):
        return result
    if result is None or isinstance(result, str):
        return Verdict(None, label=result)
    if isinstance(result, Mapping):
        # An empty dict is not an answer; a dict of other keys is most likely a mistake, which must not pass as no answer.
        if result and not {"score", "value", "label", "error"} & result.keys():
            return _several(result)
        verdict = verdict_of(result.get("score", result.get("value")))
        return replace(
            verdict,
            label=result.get("label", verdict.label),
            reasoning=result.get("reasoning", result.get("comment")),
            error=result.get("error") or verdict.error,
        )
    try:
        number = float(result)
    except (TypeError, ValueError, OverflowError):
        return Verdict(None, error=f"the judge returned a {type(result).__name__}; return a number, a word or a dict")
    return (
        Verdict(number)
        if math.isfinite(number)
        else Verdict(None, error=f"the judge returned {number}, which is not a finite number")
    )


def _several(result: Mapping[Any, Any]) -> Verdict:
    """Return a dict without `score`, `value`, `label` and `error` as a verdict of several scores."""
    reasoning = result.get("reasoning", result.get("comment"))
    scores = {name: value for name, value in result.items() if name not in {"reasoning", "comment"}}
    amounts = {name: _amount(value) for name, value in scores.items() if isinstance(name, str)}
    if (
        not scores
        or len(amounts) < len(scores)
        or any(amounts[name] is None and scores[name] is not None for name in scores)
    ):
        keys = listing(map(str, result), most=5)
        error = (
            f"the judge returned a dict of {keys}; it needs `score`, `value`, `label` or `error`, or numbers by name"
        )
        return Verdict(None, error=error)
    return Verdict(None, reasoning=reasoning, scores=amounts)


def sound(result: Any) -> Verdict:
    """Check a judge's verdict: words as text, finite numbers, no value together with an error."""
    verdict = verdict_of(result)
    value, error = _amount(verdict.value), verdict.error
    if value is None and verdict.value is not None and error is None:
        error = f"the judge returned {verdict.value!r:.80}, which is not a finite number"
    # A value next to an error would be counted as a verdict, so the error wins.
    return Verdict(
        value if error is None else None,
        _words(verdict.label),
        _words(verdict.reasoning),
        _words(error),
        _amount(verdict.seconds),
        count_of(verdict.prompt_tokens),
        count_of(verdict.response_tokens),
        _amount(verdict.cost_usd),
        verdict.signed if isinstance(verdict.signed, bool) else None,
        verdict.scores if error is None else None,
    )


def _words(text: object) -> str | None:
    """Return text that can be encoded: half of a surrogate pair cannot."""
    return None if text is None else str(text).encode(errors="replace").decode()


def _amount(number: Any) -> float | None:
    try:
        amount = float(number)
    except (TypeError, ValueError, OverflowError):
        return None
    return amount if math.isfinite(amount) and not isinstance(number, str) else None


# Names of parameters in LangSmith's evaluators, and the columns that they mean.
_OF_LANGSMITH = {"outputs": TEXT, "inputs": "prompt", "reference_outputs": "expected"}


class _Function:
    """A function as a judge. Its parameter `response`, or else its first, is the text; its further parameters are columns.

    If it has a parameter `outputs`, that is the text, and the further parameters have LangSmith's names.
    """

    samples = 1
    columns: tuple[str, ...] = ()
    _text_parameter: str | None = None  # the parameter that takes the text by keyword; None: the first one, by position
    _columns: Mapping[str, str] = {}  # column of each further parameter

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        function_name = str(getattr(unwrapped(function), "__name__", type(function).__name__))
        self.name = "judge" if function_name == "<lambda>" else re.sub(r"\W", "_", function_name)
        self.configuration = identity(function)
        try:
            signature = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):  # written in C
            return
        parameters = [item for item in signature if item.kind not in {item.VAR_POSITIONAL, item.VAR_KEYWORD}]
        names = [parameter.name for parameter in parameters]
        of_langsmith = "outputs" in names and TEXT not in names
        self._text_parameter = "outputs" if of_langsmith else TEXT if TEXT in names else None
        positional = (parameter for parameter in parameters if parameter.kind != parameter.KEYWORD_ONLY)
        text = parameters[names.index(self._text_parameter)] if self._text_parameter else next(positional, None)
        # Parameters with a default are the function's own options, not columns.
        further = [item.name for item in parameters if item is not text and item.default is item.empty]
        self._columns = {name: _OF_LANGSMITH.get(name, name) if of_langsmith else name for name in further}
        self.columns = tuple(self._columns.values())

    async def verdict(self, texts: Mapping[str, str], *, sample: int = 1) -> Verdict:  # a function takes no sample
        """Return the verdict of the function."""
        arguments = {name: texts[column] for name, column in self._columns.items()}
        started = perf_counter()
        if self._text_parameter:
            result = await called(self._function, **{self._text_parameter: texts[TEXT], **arguments})
        else:
            result = await called(self._function, texts[TEXT], **arguments)
        if isinstance(result, Verdict):  # with the seconds that the function measured itself
            return result
        return replace(verdict_of(result), seconds=perf_counter() - started)
