"""Judges and verdicts: models, functions and classes of the user behind one protocol."""

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

from turnwise.errors import ArgumentError, listing
from turnwise.jobs.calls import called, unwrapped
from turnwise.judges.clients import count_of
from turnwise.judges.identities import identity

TEXT = "response"  # by this name a judge knows the text that it judges, whatever its column


@dataclass(frozen=True, slots=True)
class Verdict:
    """One judgement of one text; None is unknown.

    Attributes
    ----------
    value
        The verdict as a number; None where judging failed, or where the judge could not say.
    label
        The verdict as a word.
    reasoning
        Why.
    error
        Why there is no verdict.
    seconds, prompt_tokens, response_tokens, cost_usd
        What it took, all calls together.
    """

    value: float | None
    label: str | None = None
    reasoning: str | None = None
    error: str | None = None
    seconds: float | None = None
    prompt_tokens: int | None = None
    response_tokens: int | None = None
    cost_usd: float | None = None


@runtime_checkable
class Judge(Protocol):
    """Whatever judges texts: `LLMJudgeMetric`, or a class of your own.

    Attributes
    ----------
    name
        What it is called in VERDICTS.
    configuration
        All that decides its verdicts, as JSON and without secrets. Judges that differ in it are never mixed.
    columns
        What it reads beside the text that it judges: names of columns of TURNS, or ``conversation``.
    samples
        How many verdicts it gives on each text.
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
        """The verdict on ``texts["response"]``; `texts` has the columns as well. What it raises is the verdict's error."""
        ...


AnyJudge: TypeAlias = Judge | Callable[..., Any]


def judge_of(given: AnyJudge) -> Judge:
    """Return the user's judge as a `Judge`.

    Examples
    --------
    >>> judge_of(lambda prompt, response: prompt in response).columns
    ('prompt',)
    """
    if not isinstance(given, type):
        if isinstance(given, Judge):
            return given
        if callable(given):
            return _Function(given)
    raise ArgumentError(
        f"judge: {given!r:.60} is no judge; give an LLMJudgeMetric such as Factuality(model), or a function of a text"
    )


def bounds_of(scale: Any, who: str) -> tuple[Any, Any]:
    """The lowest and the highest score of a scale.

    Raises
    ------
    ArgumentError
        Where it is none.

    Examples
    --------
    >>> bounds_of([1, 5], "judge")
    (1, 5)
    """
    if not (isinstance(scale, Sequence) and len(scale) == 2 and all(map(is_finite, scale)) and scale[0] < scale[1]):
        raise ArgumentError(f"{who}: the scale {scale!r} goes nowhere; give (lowest, highest), two numbers")
    return scale[0], scale[1]


def is_finite(bound: Any) -> bool:
    """Return whether it is a number, neither NaN nor infinite."""
    return isinstance(bound, Real) and math.isfinite(bound)


def version_of(judge: Judge) -> str:
    """A judge's name with a digest of its configuration: two versions of one judge never bear one name."""
    told = msgspec.json.encode([judge.name, judge.configuration], enc_hook=repr, order="deterministic")
    return f"{judge.name}@{blake2b(told, digest_size=4).hexdigest()}"


def verdict_of(given: Any) -> Verdict:
    """Return a function's result as a verdict: a number, True or False, a word, a dict of these, or None for no answer.

    Examples
    --------
    >>> verdict_of(True).value, verdict_of("unsafe").label, verdict_of({"score": 2, "reasoning": "rude"}).reasoning
    (1.0, 'unsafe', 'rude')
    >>> verdict_of(float("nan")).error
    'the judge gave nan, which is no number'
    """
    if isinstance(given, Verdict):
        return given
    if given is None or isinstance(given, str):
        return Verdict(None, label=given)
    if isinstance(given, Mapping):
        if given and not {"score", "value", "label", "error"} & given.keys():
            keys = listing(map(str, given), most=5)
            return Verdict(
                None, error=f"the judge gave a dict of {keys}; it is to have `score`, `value`, `label` or `error`"
            )
        found = verdict_of(given.get("score", given.get("value")))
        return replace(
            found,
            label=given.get("label", found.label),
            reasoning=given.get("reasoning", given.get("comment")),
            error=given.get("error") or found.error,
        )
    try:
        number = float(given)
    except (TypeError, ValueError, OverflowError):
        return Verdict(None, error=f"the judge gave a {type(given).__name__}; it is to give a number, a word or a dict")
    return (
        Verdict(number)
        if math.isfinite(number)
        else Verdict(None, error=f"the judge gave {number}, which is no number")
    )


def sound(given: Any) -> Verdict:
    """Check a judge's verdict: words as text, finite numbers, no value together with an error.

    Examples
    --------
    >>> sound(Verdict(2, label=True, prompt_tokens=10**30))  # doctest: +ELLIPSIS
    Verdict(value=2.0, label='True', reasoning=None, error=None, seconds=None, prompt_tokens=None, ...)
    >>> sound(Verdict("x")).error
    "the judge gave 'x', which is no number"
    >>> sound({"score": 0, "error": "no JSON"}).value is None
    True
    """
    found = verdict_of(given)
    value, error = _amount(found.value), found.error
    if value is None and found.value is not None and error is None:
        error = f"the judge gave {found.value!r:.80}, which is no number"
    return Verdict(
        value if error is None else None,
        _words(found.label),
        _words(found.reasoning),
        _words(error),
        _amount(found.seconds),
        count_of(found.prompt_tokens),
        count_of(found.response_tokens),
        _amount(found.cost_usd),
    )


def _words(text: object) -> str | None:
    """Return text that can be written: half of a surrogate pair cannot."""
    return None if text is None else str(text).encode(errors="replace").decode()


def _amount(number: Any) -> float | None:
    try:
        amount = float(number)
    except (TypeError, ValueError, OverflowError):
        return None
    return amount if math.isfinite(amount) and not isinstance(number, str) else None


_OF_LANGSMITH = {"outputs": TEXT, "inputs": "prompt", "reference_outputs": "expected"}


class _Function:
    """A function as a judge. Its parameter `response`, or else its first, is the text; the others are columns.

    Of a function with a parameter `outputs`, that is the text, and the others go by LangSmith's names.
    """

    samples = 1
    columns: tuple[str, ...] = ()
    _named: str | None = None  # the parameter that is the text, where it is given by its name
    _places: Mapping[str, str] = {}  # which column the other parameters are

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        named = str(getattr(unwrapped(function), "__name__", type(function).__name__))
        self.name = "judge" if named == "<lambda>" else re.sub(r"\W", "_", named)
        self.configuration = identity(function)
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):  # written in C
            return
        given = [each for each in parameters if each.kind not in {each.VAR_POSITIONAL, each.VAR_KEYWORD}]
        foreign = "outputs" in (names := [each.name for each in given]) and TEXT not in names
        self._named = "outputs" if foreign else TEXT if TEXT in names else None
        places = (each for each in given if each.kind != each.KEYWORD_ONLY)
        first = given[names.index(self._named)] if self._named else next(places, None)
        others = [each.name for each in given if each is not first and each.default is each.empty]
        self._places = {name: _OF_LANGSMITH.get(name, name) if foreign else name for name in others}
        self.columns = tuple(self._places.values())

    async def verdict(self, texts: Mapping[str, str], *, sample: int = 1) -> Verdict:  # it takes none
        """Return the verdict of the function."""
        beside = {name: texts[column] for name, column in self._places.items()}
        started = perf_counter()
        if self._named:
            said = await called(self._function, **{self._named: texts[TEXT], **beside})
        else:
            said = await called(self._function, texts[TEXT], **beside)
        return said if isinstance(said, Verdict) else replace(verdict_of(said), seconds=perf_counter() - started)
