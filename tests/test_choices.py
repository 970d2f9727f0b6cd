"""A wrong choice names every choice, in every public function, whatever the option."""

import inspect
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, Union, get_args, get_origin

import odd_calls
import polars as pl
import pytest

from rollwise.errors import RollwiseError

_SAMPLES: dict[Any, Any] = {str: "a", int: 1, float: 0.5, bool: False, pl.Expr: pl.col("a")}


def literals(hint: Any) -> Iterator[Any]:
    """All choices of an annotation, of lists and mappings of them as well."""
    if get_origin(hint) is Literal:
        yield from get_args(hint)
    elif get_origin(hint) is not None:
        for part in get_args(hint):
            yield from literals(part)
    elif hint is bool:
        yield from (True, False)


def parts(hint: Any) -> tuple[Any, ...]:
    """The kinds that an option may have."""
    return get_args(hint) if get_origin(hint) in {Union, types.UnionType} else (hint,)


def options() -> Iterator[tuple[str, str]]:
    """Each public function, with each of its options that has choices and takes no other text."""
    for name, function in odd_calls.functions().items():
        for parameter in inspect.signature(function).parameters.values():
            hint = parameter.annotation
            words = any(isinstance(choice, str) for choice in literals(hint))
            if words and str not in parts(hint) and parameter.kind is not inspect.Parameter.VAR_POSITIONAL:
                yield name, parameter.name


def sample(parameter: inspect.Parameter) -> Any:
    """Something of the kind that a required option asks for."""
    hint = parts(parameter.annotation)[0]
    if get_origin(hint) is Callable:
        return len
    if get_origin(hint) is not None and isinstance(get_origin(hint), type):
        return {} if issubclass(get_origin(hint), Mapping) else []
    return _SAMPLES.get(hint, pl.DataFrame({"rollout_id": ["a"]}))


@pytest.mark.integration
@pytest.mark.parametrize(("name", "option"), list(options()))
@pytest.mark.parametrize("value", ["foo", "", "True"])
def test_a_wrong_choice_names_all_choices(name: str, option: str, value: str) -> None:
    """The error is of the option, and lists the choices as they are written, with True, False and None among them."""
    function = odd_calls.functions()[name]
    parameters = inspect.signature(function).parameters
    required = [
        parameter
        for parameter in parameters.values()
        if parameter.default is inspect.Parameter.empty
        and parameter.kind not in {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
        and parameter.name != option
    ]
    places = [sample(one) for one in required if one.kind is not inspect.Parameter.KEYWORD_ONLY]
    named = {one.name: sample(one) for one in required if one.kind is inspect.Parameter.KEYWORD_ONLY}
    with pytest.raises(RollwiseError) as error:
        function(*places, **named, **{option: value})
    hint = parameters[option].annotation
    wanted = [*literals(hint), *([None] if type(None) in parts(hint) else [])]
    sentence = str(error.value)
    assert option in sentence
    assert [choice for choice in wanted if repr(choice) not in sentence and not _in_words(choice, sentence)] == []


def _in_words(choice: object, sentence: str) -> bool:
    return choice in {True, False} and "True or False" in sentence
