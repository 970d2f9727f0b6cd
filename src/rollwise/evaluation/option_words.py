"""An option of an evaluator in words: its type as a user would write it, its default, and what it is."""

from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

MOST_SHOWN = 80  # characters of a default value in a description


def option_words(field: Any) -> str:
    """Return the type, the default and the description of an option."""
    kind = type_words(field.annotation)
    about = f": {field.description}" if field.description else ""
    if field.is_required():
        return f"{kind}, required{about}"
    default = repr(field.get_default(call_default_factory=True))
    return f"{kind} = {default if len(default) <= MOST_SHOWN else default[: MOST_SHOWN - 3] + '...'}{about}"


def type_words(hint: Any) -> str:
    """Return a type as a user would write it, without what checks its values."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return type_words(inner[0])
    if origin in {Union, UnionType}:
        return " | ".join(map(type_words, inner))
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, inner))}]"
    if hint is NoneType:
        return "None"
    if isinstance(hint, list):  # the arguments of a function
        return f"[{', '.join(map(type_words, hint))}]"
    name = getattr(origin or hint, "__name__", str(hint))
    return f"{name}[{', '.join('...' if part is ... else type_words(part) for part in inner)}]" if inner else name
