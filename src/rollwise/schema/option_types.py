"""Checks the arguments of a verb against its annotations.

Every public verb begins with ``check_option_types(verb, locals())``. The types are read from the annotations, so that only one
place compares them; the verb checks what a value means (a level between 0 and 1, a column that exists).
"""

import inspect
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from numbers import Integral, Rational, Real
from os import PathLike
from typing import Any, Literal, Union, get_args, get_origin

import polars as pl

from rollwise.errors import ArgumentError, either
from rollwise.schema.arguments import check_levels, is_text, names_of, shown

_FREE = (Any, object, inspect.Parameter.empty)
_WORDS = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "text",
    pl.Expr: "a Polars expression",
    PathLike: "a path",
    type(None): "None",
    Callable: "a function",
}
_LARGEST = 2**63 - 1
_SEVERAL = {str: "a list of texts", int: "a list of whole numbers", float: "a list of numbers"}
_EXAMPLES = {float: "0.5", str: "'text'"}


def check_option_types(
    verb: Callable[..., Any], arguments: Mapping[str, Any], name: str | None = None, *, own: Collection[str] = ()
) -> None:
    """Raise an error for the first argument whose type does not match the annotation of the verb."""
    label = name or verb.__name__
    for option, hint, default in _hints(verb):
        value = arguments[option]
        if value is default:
            continue
        _check_sizes(value, f"{label}: {option}")
        if option in own or _is_of(value, hint):
            continue
        # A wrong level and an expression get sentences of their own; the others name what the annotation says.
        if _has_choices(hint) and (isinstance(value, str) or _is_several(value)):
            raise ArgumentError(f"{label}: {option}={shown(value)} is unknown; it is {_in_words(hint)}")
        if option == "level":
            check_levels(value)  # says what a level is
        if str in _parts(hint) and any(
            isinstance(item, pl.Expr) for item in (_items(value) if _is_several(value) else [value])
        ):
            names_of(value)  # says what to do with an expression
        raise ArgumentError(f"{label}: {option}={shown(value)} is not {_in_words(hint)}")


def _check_sizes(value: Any, words: str) -> None:
    """Raise an error for a number that no column of a table can hold, in an argument or in a list or mapping of one."""
    items: Iterable[Any] = [value]
    if isinstance(value, Mapping):
        items = [*value, *value.values()]
    elif isinstance(value, range):
        items = [value.start, value.stop]
    elif _is_several(value):
        items = _items(value)
    for item in items:
        if isinstance(item, Rational) and abs(Fraction(item)) > _LARGEST:
            raise ArgumentError(f"{words}={shown(item)} is too large a number; the largest is 2**63 - 1")


@cache
def _hints(verb: Callable[..., Any]) -> tuple[tuple[str, Any, Any], ...]:
    """Return annotations to check, with defaults, by parameter; several values (`*metrics`) and named ones are the verb's."""
    several = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    return tuple(
        (parameter.name, parameter.annotation, parameter.default)
        for parameter in inspect.signature(verb).parameters.values()
        if parameter.kind not in several
        and not isinstance(parameter.annotation, str)
        and parameter.annotation not in _FREE
    )


def _parts(hint: Any) -> tuple[Any, ...]:
    """Return the members of a union, with the members of unions within it; else the hint itself."""
    if get_origin(hint) in {Union, types.UnionType}:
        return tuple(part for member in get_args(hint) for part in _parts(member))
    return (hint,)


def _has_choices(hint: Any) -> bool:
    # The first argument of a list is what is in it, that of a mapping its keys.
    return any(get_origin(inner) is Literal for part in _parts(hint) for inner in (part, *get_args(part)[:1]))


def _is_of(value: object, hint: Any) -> bool:
    """Return whether a value is of this kind; where one number or several may come, the verb says what is wrong with them."""
    # One number or several: `finite_numbers` and `whole_numbers` say which of them is wrong.
    if {float, int} & set(_parts(hint)) and {Sequence[float], Sequence[int]} & set(_parts(hint)):
        return True
    return any(_is_part(value, part) for part in _parts(hint))


def _is_part(value: object, part: Any) -> bool:
    members = get_args(part)
    kind = get_origin(part) or part
    if kind is Literal:
        # True == 1, so the types are compared too; an array would not say whether it equals a choice.
        return any(type(value) is type(choice) and value == choice for choice in members)
    if kind in _CHECKS:
        return bool(_CHECKS[kind](value))
    if not isinstance(kind, type):  # a type variable, or a name for type checkers
        return True
    if not members or not issubclass(kind, Iterable):
        return isinstance(value, kind)
    if issubclass(kind, Mapping):
        items = value.items() if isinstance(value, Mapping) else ()
        has_choices = get_origin(members[1]) is Literal  # what other values mean is checked by the verb
        return isinstance(value, Mapping) and all(
            _is_of(key, members[0]) and (not has_choices or _is_part(item, members[1])) for key, item in items
        )
    # Of a list all items have one kind; in a pair each item may have any of the two.
    wanted = [member for member in members if member is not ...] if kind is tuple else members[:1]
    # Columns and arrays compare item by item: a verb that takes a few names would not know what they are equal to.
    is_kind = isinstance(value, Sequence) if kind is tuple else True
    return (
        is_kind and _is_several(value) and all(any(_is_of(item, member) for member in wanted) for item in _items(value))
    )


_CHECKS: dict[Any, Callable[[Any], object]] = {
    Any: lambda _: True,
    object: lambda _: True,
    type(None): lambda value: value is None,
    bool: lambda value: type(value).__name__ in {"bool", "bool_"},
    int: lambda value: isinstance(value, Integral) and not isinstance(value, bool),
    # Only NaN differs from itself; `math.isnan` fails on whole numbers that are larger than any float.
    float: lambda value: isinstance(value, Real) and type(value).__name__ != "bool" and value == value,  # noqa: PLR0124
    str: is_text,
    Callable: callable,
    PathLike: lambda value: isinstance(value, PathLike),
}


def _is_several(value: object) -> bool:
    """Return whether a value holds several: a text, a mapping and a frame are one."""
    scalars = (str, bytes, Mapping, pl.DataFrame)
    return isinstance(value, Iterable) and not isinstance(value, scalars) and getattr(value, "ndim", 1) == 1


def _items(value: Any) -> Sequence[Any]:
    """Return the values of an argument; of an iterator none, because looking would use it up."""
    return value if isinstance(value, Sequence) else list(value) if hasattr(value, "__len__") else ()


def _in_words(hint: Any) -> str:
    """Return a kind in words, for the end of ``... is not``."""
    words = list(dict.fromkeys(word for part in _parts(hint) for word in _words(part)))
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _words(part: Any) -> list[str]:
    kind, members = get_origin(part) or part, get_args(part)
    if kind is Literal:
        return [repr(choice) for choice in members]
    if kind in _WORDS:
        return [_WORDS[kind]]
    if isinstance(kind, type) and members and issubclass(kind, Mapping):
        if get_origin(members[1]) is Literal:
            choices = _words(members[1])
            return [f"a mapping to {either(choices)}, such as {{'name': {choices[0]}}}"]
        return [f"a mapping such as {{'name': {_EXAMPLES.get(members[1], '...')}}}"]
    if isinstance(kind, type) and members and issubclass(kind, Iterable):
        return ["a list of these"] if get_origin(members[0]) is Literal else [_SEVERAL.get(members[0], "a list")]
    return [f"a {getattr(kind, '__name__', kind)}"]
