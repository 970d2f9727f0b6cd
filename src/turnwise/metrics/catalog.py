"""Every metric by name: what it is, which way is good, what it concerns, and its expression from the name alone."""

import re
from collections.abc import Callable

import polars as pl

from turnwise.errors import MetricError, meant
from turnwise.metrics.adversarial import AST, WITH_THRESHOLD
from turnwise.metrics.answers import ANSWERS
from turnwise.metrics.conduct import CONDUCT
from turnwise.metrics.effort import EFFORT, average, final, highest, total
from turnwise.metrics.events import EVENTS
from turnwise.metrics.instructions import instruction_followed
from turnwise.metrics.metric import ABOUT, About
from turnwise.metrics.outcome import OUTCOME, ever
from turnwise.metrics.text import distinct_n, response_length
from turnwise.metrics.timing import TIMING, first_turn, spent_to_success, success_within, time_to
from turnwise.metrics.tool_use import TOOL_USE

ALL = (
    OUTCOME + TIMING + EFFORT + CONDUCT
)  # TEXT and ANSWERS read every word, AST and TOOL_USE need columns of their own

OF_A_COLUMN = (total, average, highest, final, spent_to_success)
OF_A_CONDITION = (ever, first_turn, time_to)
WITH_PARAMETERS: tuple[Callable[..., pl.Expr], ...] = (
    success_within,
    distinct_n,
    response_length,
    instruction_followed,
    *OF_A_COLUMN,
    *OF_A_CONDITION,
)
_BY_NAME = {
    ABOUT[function].name: function for function in (*ALL, *AST, *ANSWERS, *TOOL_USE, *EVENTS) if function in ABOUT
}
_AT = {ABOUT[function].name: function for function in WITH_THRESHOLD}
_THRESHOLD = re.compile(r"(.+)_at_(\d+(?:\.\d+)?(?:e[+-]\d+)?)")
_WITHIN, _DISTINCT = re.compile(r"success_within_([1-9]\d*)"), re.compile(r"distinct_([1-9]\d*)(?:_(.+))?")


def everything() -> list[About]:
    """All that the catalog knows, by name.

    Examples
    --------
    >>> [found.name for found in everything()][:2]
    ['adversarial_toxicity_rate', 'attack_success']
    """
    return sorted(ABOUT.values(), key=lambda found: found.name)


def about(name: str) -> About | None:
    """Return the catalog entry of the metric with this output name; None if there is none.

    Examples
    --------
    >>> about("success_within_3").better
    'lower'
    >>> about("my_own_metric") is None
    True
    """
    if name in _BY_NAME:
        return ABOUT[_BY_NAME[name]]
    if (at := _THRESHOLD.fullmatch(name)) and at[1] in _AT:
        return ABOUT[_AT[at[1]]]
    if _DISTINCT.fullmatch(name):
        return ABOUT[distinct_n]
    for function in (*WITH_PARAMETERS, *TOOL_USE):
        stem = ABOUT[function].name
        if name == stem or name.startswith(f"{stem}_"):
            return ABOUT[function]
    return None


def is_boolean(name: str) -> bool:
    """Return whether the metric of this output name is True or False: a success, or an event in any turn.

    Examples
    --------
    >>> is_boolean("success_within_3"), is_boolean("num_turns"), is_boolean("my_own_metric")
    (True, False, False)
    """
    found = about(name)
    return found is not None and (found.any_of_turns or found.name == "task_success")


def expression(name: str) -> pl.Expr:
    """The expression that a metric's output name stands for.

    Examples
    --------
    >>> str(expression("total_reward").meta.output_name())
    'total_reward'
    >>> str(expression("distinct_2").meta.output_name())
    'distinct_2'

    Raises
    ------
    MetricError
        Where no metric has that name.
    """
    if name in _BY_NAME:
        return _BY_NAME[name]()
    if within := _WITHIN.fullmatch(name):
        return success_within(int(within[1]))
    if distinct := _DISTINCT.fullmatch(name):
        return distinct_n(int(distinct[1]), distinct[2] or "response")
    if name in {"response_length_words", "response_length_characters"}:
        return response_length("words" if name.endswith("words") else "characters")
    if (at := _THRESHOLD.fullmatch(name)) and at[1] in _AT:
        return _AT[at[1]](float(at[2]))
    for of_column in OF_A_COLUMN:
        prefix = f"{ABOUT[of_column].name}_"
        if name.startswith(prefix) and len(name) > len(prefix):
            return of_column(name.removeprefix(prefix))
    patterns = ["success_within_<k>", "distinct_<n>", *(f"{ABOUT[f].name}_<column>" for f in OF_A_COLUMN)]
    known = [*_BY_NAME, "response_length_words", "response_length_characters", *patterns]
    raise MetricError(
        f"no metric is called {name!r}; {meant(name, known)} (`turnwise info components -t metric` lists all)"
    )
