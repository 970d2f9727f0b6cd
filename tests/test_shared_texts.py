"""Texts of parameters that many functions share: each says the one text of the list, or names a function that does.

The texts stay in the docstrings, where editors and the reference page find them without running anything; this list keeps them
the same everywhere.
"""

import inspect
import re

import odd_calls
import pytest

DRAWN = "plots."
# The beginning of what a parameter is, in functions that compute and in those that draw.
TEXTS = {
    "by": "Columns to group by",
    "cluster": "The independent unit: a column, a pair of crossed columns, None for the rollouts themselves",
    "level": "Nominal coverage, or several.",
    "unjudged": "How to treat (rollouts|attempts) without a verdict, in whole or in part",
    "seed": "Number of (bootstrap replicates|replicates of [a-z ]+,?) and their seed.",
    "resamples": "Number of (bootstrap replicates|replicates of [a-z ]+,?) and their seed.",
}
TEXTS_OF_FIGURES = {
    "ax": "Where to draw",
    "caption": "Whether to describe (below the figure|the intervals below the figure)",
    "colors": "Colors by ",
    "level": "Which rows to draw; by default ",
    "metric": "Which rows to draw; by default ",
    "title": "Title above the figure",
}
# Parameters of the same name that mean something else, or less, in a few functions: they have words of their own.
OWN = {
    "by": {"comparisons.best", "comparisons.pareto", "report"},
    "cluster": {"changes", "comparisons.portfolio", "judges.agreement", "plan"},
    "level": {"comparisons.portfolio", "plan", "rank", "tables.pivot"},
    "unjudged": {"comparisons.tradeoff", "gate"},
    "seed": {
        "attempts",
        "curve",
        "judges.agreement",
        "judges.label_page",
        "judges.plan_labels",
        "rollout.sweep",
        "simulate",
    },
    "resamples": {"judges.agreement"},
    f"{DRAWN}colors": {"plots.palette"},
    f"{DRAWN}level": {"plots.reliability", "plots.sweep_pareto"},
    f"{DRAWN}metric": {"plots.distribution"},
}
FUNCTIONS = odd_calls.functions()


def entries(name: str) -> dict[str, str]:
    """The text of each parameter in the docstring of a public function."""
    doc = inspect.getdoc(FUNCTIONS[name]) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", doc, flags=re.DOTALL | re.MULTILINE)
    texts: dict[str, str] = {}
    names: tuple[str, ...] = ()
    for line in section[1].splitlines() if section else ():
        if line and not line.startswith(" "):
            names = tuple(word.strip(" *") for word in line.split(","))
        else:
            texts |= {one: f"{texts.get(one, '')} {line.strip()}".strip() for one in names}
    return texts


def shared() -> list[tuple[str, str]]:
    """Each function, with each of its parameters that is in the list."""
    return [
        (name, parameter)
        for name in FUNCTIONS
        for parameter in entries(name)
        if parameter in (TEXTS_OF_FIGURES if name.startswith(DRAWN) else TEXTS)
        and name not in OWN.get(f"{DRAWN}{parameter}" if name.startswith(DRAWN) else parameter, ())
    ]


def text_of(name: str, parameter: str, seen: tuple[str, ...] = ()) -> str:
    """The text of a parameter, of the function that the docstring names where it says `As in`."""
    text = entries(name).get(parameter, "")
    pointer = re.match(r"As (?:in|for) `(?:rw\.|rollwise\.)?([\w.]+)`", text)
    if pointer is None:
        return text
    space = name.rpartition(".")[0]
    target = next(one for one in (f"{space}.{pointer[1]}".strip("."), pointer[1]) if one in FUNCTIONS)
    assert target not in seen, f"{name} and {target} name each other for `{parameter}`"
    assert parameter in inspect.signature(FUNCTIONS[target]).parameters, (
        f"{target} has no `{parameter}`, which {name} names"
    )
    return text_of(target, parameter, (*seen, name))


@pytest.mark.integration
@pytest.mark.parametrize(("name", "parameter"), shared())
def test_a_shared_parameter_has_the_text_of_the_list(name: str, parameter: str) -> None:
    """What it is, word for word, before what is particular; or the name of a function that says it."""
    wanted = (TEXTS_OF_FIGURES if name.startswith(DRAWN) else TEXTS)[parameter]
    assert re.match(wanted, text_of(name, parameter)), text_of(name, parameter)


@pytest.mark.integration
def test_every_pointer_of_a_docstring_leads_to_a_text() -> None:
    """Of parameters that are not in the list as well: `As in` names a public function that describes the parameter itself."""
    for name in FUNCTIONS:
        for parameter in entries(name):
            assert text_of(name, parameter), (name, parameter)


def test_exceptions_are_there() -> None:
    """An exception whose function or parameter is gone is taken away."""
    for key, names in OWN.items():
        for name in names:
            assert key.removeprefix(DRAWN) in inspect.signature(FUNCTIONS[name]).parameters, (key, name)
