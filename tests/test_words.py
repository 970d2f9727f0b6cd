"""One word for one thing, in one order, with one default: over every public function."""

import inspect
import typing
from collections import defaultdict
from collections.abc import Iterator
from types import ModuleType, UnionType
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.plots import Plot

# Shared words come in this order, whatever a function has between them.
ORDER = (
    *(
        "of",
        "group",
        "baseline",
        "metric",
        "metrics",
        "statistic",
        "statistics",
        "by",
        "cluster",
        "weighting",
        "method",
    ),
    *("band", "level", "unjudged", "resamples", "seed", "ax", "colors", "title", "caption"),
    *("store", "storage_options", "overwrite", "progress"),
)

# The default of each, wherever it has one. A plot draws all rows of a frame unless told which.
DEFAULTS: dict[str, tuple[Any, ...]] = {
    "by": ((),),
    "cluster": ("auto",),
    "level": (0.95,),
    "unjudged": ("bounds",),
    "resamples": (10_000,),
    "seed": (0,),
    "ax": (None,),
    "colors": (None,),
    "title": (None,),
    "caption": (None,),
    "store": (None,),
    "storage_options": (None,),
    "overwrite": (False,),
    "progress": (True,),
    "errors": ("raise",),
    "metric": ("attack_success", "time_to_success"),
    "statistic": (None,),
}
OTHERWISE = {
    ("training", "metric"): None,  # what was measured
    ("judges.label_page", "metric"): None,  # what is judged: the attack, or the task
    ("report", "by"): "auto",  # the columns that users of each tool know
}
CHOOSE_ROWS = ("plots.", "tables.")  # functions that take finished frames, where None is "all"

# Words that were said for one of the above, and where they mean something else.
GONE = {"unknown", "unit", "pilot", "df", "judgement"}
ELSEWHERE = {
    ("rollout.ASTEvaluator", "unknown"),  # what an unknown score counts as, as in the evaluator of ASTRA-RL
    ("metrics.response_length", "unit"),  # words or characters
}
COMPARED = {
    "contrast",
    "changes",
    "rank",
    "comparisons.curve_difference",
    "comparisons.curve_test",
}  # of: the column whose values are compared
THREE_PANELS = "plots.sweep_pareto"  # one `ax` cannot hold them
KINDS = (
    "turns",
    "rollouts",
    "steps",
    "verdicts",
    "summary",
)  # frames with a name; `frame` is any other, or any of several


def namespaces(module: Any = rw, prefix: str = "") -> Iterator[tuple[str, ModuleType]]:
    """Every public namespace but those of other projects, whose words are theirs."""
    yield prefix, module
    for name in module.__all__:
        value = getattr(module, name)
        if isinstance(value, ModuleType) and name not in {"catalog", "errors"} and hasattr(value, "__all__"):
            yield from namespaces(value, f"{prefix}{name}.")


def callables() -> dict[str, Any]:
    """Public functions, and classes that are called, by name."""
    return {
        f"{prefix}{name}": getattr(module, name)
        for prefix, module in namespaces()
        for name in module.__all__
        if inspect.isfunction(getattr(module, name)) or inspect.isclass(getattr(module, name))
    }


EVERY = callables()
FUNCTIONS = {name: value for name, value in EVERY.items() if inspect.isfunction(value)}


def parameters(name: str) -> dict[str, inspect.Parameter]:
    """Those of a function or a class, which some have not."""
    try:
        return dict(inspect.signature(EVERY[name]).parameters)
    except (TypeError, ValueError):
        return {}


def test_all_namespaces_are_looked_at() -> None:
    """Or a new one would have words of its own."""
    found = {prefix.rstrip(".") for prefix, _ in namespaces()} - {""}
    assert {
        "comparisons",
        "judges",
        "metrics",
        "plots",
        "plots.marks",
        "readers",
        "rollout",
        "schema",
        "tables",
    } <= found
    assert len(FUNCTIONS) > 150


@pytest.mark.integration
@pytest.mark.parametrize("name", FUNCTIONS)
def test_shared_words_come_in_one_order(name: str) -> None:
    """So that whoever knows one verb reads the next one."""
    shared = [word for word in parameters(name) if word in ORDER]
    assert shared == sorted(shared, key=ORDER.index)


@pytest.mark.integration
@pytest.mark.parametrize("name", FUNCTIONS)
def test_shared_words_have_one_default(name: str) -> None:
    """A plot and a table take None, for all rows of their frame."""
    for word, parameter in parameters(name).items():
        allowed = DEFAULTS.get(word)
        if allowed is None or parameter.default is inspect.Parameter.empty:
            continue
        if name.startswith(CHOOSE_ROWS) and word in {"metric", "statistic", "level"}:
            allowed = (None,)
        assert parameter.default in (OTHERWISE.get((name, word), allowed[0]), *allowed[1:]), word


@pytest.mark.integration
@pytest.mark.parametrize("name", EVERY)
def test_no_other_word_is_used_for_them(name: str) -> None:
    """`unjudged`, not `unknown`; `cluster`, not `unit`; `rollouts`, not `frame` or `pilot`."""
    words = parameters(name)
    assert {word for word in words if word in GONE and (name, word) not in ELSEWHERE} == set()
    if "of" in words:
        assert name in COMPARED, "`of` is the column whose values are compared"


def test_the_exceptions_are_there() -> None:
    """One that is gone is no exception any more."""
    for name, word in {*ELSEWHERE, *OTHERWISE}:
        assert word in parameters(name), (name, word)
    assert set(FUNCTIONS) >= {*COMPARED, THREE_PANELS}


def _text_of(name: str, parameter: str) -> str:
    """What a docstring says of a parameter."""
    lines = inspect.getdoc(EVERY[name] or "").splitlines()  # type: ignore[union-attr]
    starts = [number for number, line in enumerate(lines) if parameter in line.split(", ") and not line.startswith(" ")]
    return "" if not starts else lines[starts[0] + 1].strip()


@pytest.mark.integration
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if not name.startswith("metrics.")])
def test_a_frame_is_named_by_what_it_is(name: str) -> None:
    """A first argument that its page calls ROLLOUTS is `rollouts`, and so on; where it may be of two kinds, `frame`."""
    first = next(iter(parameters(name)), "")
    text = _text_of(name, first)
    said = [word.strip(".,;:()`") for word in text.split()]
    kinds = [word for word in said if word.isupper() and len(word) > 3]
    if said and kinds == said[:1] and said[0].lower() in KINDS:
        assert first == said[0].lower()
    if first in KINDS and said and said[0].isupper() and len(said[0]) > 1:
        assert first == said[0].lower()


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name.startswith("plots.marks.")])
def test_marks_take_the_frame_of_their_plot(name: str) -> None:
    """Under the same word."""
    plot = name.replace("plots.marks.", "plots.")
    assert next(iter(parameters(name))) == next(iter(parameters(plot)))


@pytest.mark.integration
@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_metric_is_a_name_and_several_are_metrics(name: str) -> None:
    """`metric` takes one; `metrics` takes one or several."""
    words = parameters(name)
    if "metric" in words:
        assert words["metric"].annotation in {str, str | None}
    if "metrics" in words:
        assert words["metrics"].annotation not in {str, str | None}


@pytest.mark.integration
@pytest.mark.parametrize("name", FUNCTIONS)
def test_two_results_are_a_named_pair(name: str) -> None:
    """A bare tuple of frames says nothing of what is in it."""
    result = inspect.signature(FUNCTIONS[name]).return_annotation
    for kind in typing.get_args(result) if isinstance(result, UnionType) else (result,):
        if typing.get_origin(kind) is tuple:
            assert pl.DataFrame not in typing.get_args(kind), "return a NamedTuple"


@pytest.mark.integration
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_figure_has_a_title_and_goes_into_an_ax(name: str) -> None:
    """And a caption that can be left out."""
    if inspect.signature(FUNCTIONS[name]).return_annotation is not Plot:
        return
    words = parameters(name)
    assert {"title", "caption"} <= set(words)
    assert ("ax" in words) == (name != THREE_PANELS)


def test_a_public_class_is_one_class() -> None:
    """`Table`, `Turn` and `Document` are one thing each, whichever namespace they are looked for in."""
    found = defaultdict(set)
    for name, value in EVERY.items():
        if inspect.isclass(value):
            found[name.rsplit(".", 1)[-1]].add(value)
    assert {name: classes for name, classes in found.items() if len(classes) > 1} == {}
    assert {"Table", "Turn", "Document", "TurnsBuilder", "TurnRow", "Reading"} <= set(found)
