"""Every metric by name: what it is, which direction is good, what it concerns, and its expression from the name alone.

All of it is what `@metric` has registered; the sets are collected here.
"""

from collections.abc import Callable
from typing import TypeAlias, get_args

import polars as pl

from rollwise.errors import MetricError, meant
from rollwise.metrics import (
    adversarial,
    answers,
    conduct,
    effort,
    events,
    instructions,
    outcome,
    text,
    timing,
    tool_use,
)
from rollwise.metrics.metric import ABOUT, FORMS, About, Form, Set

Metrics: TypeAlias = tuple[Callable[..., pl.Expr], ...]

# Importing a module registers its metrics.
FAMILIES = (outcome, timing, effort, conduct, text, answers, adversarial, tool_use, instructions, events)


# Of AST, two metrics of ASTRA-RL are the average and the total of a column here, and are registered so.
_FIRST_IN_SET: dict[str, Metrics] = {"AST": (effort.num_turns, adversarial.average_reward, adversarial.total_reward)}
# TEXT and ANSWERS read every word, AST, TOOL_USE and EVENTS need columns of their own.
_ALL: tuple[Set, ...] = ("OUTCOME", "TIMING", "EFFORT", "CONDUCT")
SETS = (*get_args(Set), "ALL")


def in_set(name: str) -> Metrics:
    """Return the metrics of a set as of now, in order of definition; "ALL" is several sets."""
    if name == "ALL":
        return tuple(function for part in _ALL for function in in_set(part))
    return (*_FIRST_IN_SET.get(name, ()), *(function for function, about in ABOUT.items() if name in about.sets))


WITH_THRESHOLD = tuple(form.function for form in FORMS if "at" in form.kinds)

# Other words for metrics, in lower case, with the name to use.
SYNONYMS = {
    "accuracy": "task_success",
    "asr": "attack_success",
    "attack_success_rate": "attack_success",
    "cost": "dollars_used",
    "cost_usd": "dollars_used",
    "duration": "seconds_used",
    "is_jailbroken": "attack_success",
    "jailbreak_rate": "attack_success",
    "jailbreak_success": "attack_success",
    "jailbroken": "attack_success",
    "latency": "seconds_used",
    "pass_rate": "task_success",
    "refusal": "ever_refused",
    "refused": "ever_refused",
    "solved": "task_success",
    "success": "attack_success",
    "success_rate": "attack_success",
    "time_to_attack_success": "time_to_success",
    "time_to_jailbreak": "time_to_success",
    "tokens": "tokens_used",
    "turns": "num_turns",
    "turns_to_jailbreak": "time_to_success",
    "turns_to_success": "time_to_success",
}


def everything() -> list[About]:
    """Return the descriptions of all metrics, by name."""
    return sorted(ABOUT.values(), key=lambda about: about.name)


def about(name: str) -> About | None:
    """Return the description of the metric with this output name, or with its beginning; None for an unknown name."""
    form = _form_of(name)
    if form is not None:
        return ABOUT[form.function]
    return next((description for description in ABOUT.values() if description.name == name), None)


def is_boolean(name: str) -> bool:
    """Return whether the metric of this output name is True or False: a success, or an event in any turn."""
    description = about(name)
    return description is not None and (description.any_of_turns or description.name == "task_success")


def expression(name: str) -> pl.Expr:
    """Return the expression of the metric with this output name."""
    form = _form_of(name)
    if form is not None and not form.is_open:
        return form.function(**form.arguments(name) or {})
    first = {form.function: form for form in reversed(FORMS)}.values()  # of each metric: the shortest, for a short list
    names = [spelling for form in first if not form.is_open for spelling in _spellings(form)]
    advice = meant(name, names, synonyms=SYNONYMS)
    if not advice.startswith("did") and name.isidentifier():
        advice = f"of a column there are `highest_{name}`, `average_{name}` and `final_{name}`; {advice}"
    raise MetricError(f"no metric is called {name!r}; {advice} (`rollwise info components -t metric` lists all)")


def _form_of(name: str) -> Form | None:
    """Return the form of an output name; a fixed name precedes one with parameters, and an open end comes last.

    So ``average_target_toxicity`` is a metric of its own and not the average of a column, and ``ever_refused`` is not any
    condition.
    """
    forms = [form for form in FORMS if form.pattern.fullmatch(name)]
    return min(forms, key=lambda form: (form.is_open, len(form.kinds)), default=None)


def _spellings(form: Form) -> list[str]:
    """Return the form as a user would type it, once for each value of a parameter with few values."""
    names = [form.text]
    for part, kind in form.kinds.items():
        values = get_args(kind) or (f"<{part}>",)
        names = [name.replace(f"<{part}>", value) for name in names for value in values]
    return names
