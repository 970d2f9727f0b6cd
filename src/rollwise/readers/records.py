"""Records of other tools as typed structs, and the fields that a struct does not have or that do not fit it."""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import inspect

from rollwise.errors import writable
from rollwise.readers.problems import IS_NULL, BrokenError, is_collecting, nulled, warn
from rollwise.schema import TURNS

T = TypeVar("T")

# Numbers that Int64, Int32 and Float64 can hold: msgspec reports others as errors that name the field.
Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Small = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 2)]
Link = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 2, extra={"is_link": True})]  # to another record: null means none
Count = Integer | float | None
Finite = Annotated[float, msgspec.Meta(ge=-1.7976931348623157e308, le=1.7976931348623157e308)]
Key = str | Integer

_TURNS_NAMES = frozenset(TURNS.names)
MOST = 50  # odd fields of one record: with more, it is hardly one of its format
IS_TEXT = "it is read as text"
_PLAIN = (
    inspect.IntType,
    inspect.FloatType,
    inspect.BoolType,
    inspect.StrType,
    inspect.NoneType,
    inspect.TypedDictType,  # of a mapping, which reads single values of an object
)
_OBJECTS = (inspect.StructType, inspect.TypedDictType)


def parse(value: object, kind: type[T], within: str = "") -> T:
    """Convert a value to a struct; a value that is an error, as `Document.records` returns for broken lines, is raised.

    `within` is the path of the value in the record, for errors. Where problems are collected, a field that the struct can do
    without never costs the record: see `without_odd_fields`.

    Raises
    ------
    BrokenError
        Naming the field.

    Examples
    --------
    >>> class Record(msgspec.Struct):
    ...     turns: int
    >>> parse({"turns": 3, "note": "not a field"}, Record)
    Record(turns=3)
    >>> try:
    ...     parse({"turns": "three"}, Record)
    ... except BrokenError as error:
    ...     print(error.field, "|", error.reason)
    turns | expected `int`, got `str`
    """
    if isinstance(value, BrokenError):
        raise value
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return without_odd_fields(
            value, inspect.type_info(kind), lambda left: msgspec.convert(left, kind), error, within
        )


def without_odd_fields(
    value: object, kind: inspect.Type, convert: Callable[[object], T], error: msgspec.ValidationError, within: str = ""
) -> T:
    """Convert a value to a struct of the kind as `parse` does, without the odd fields that it can do without.

    A bad optional field (text, a number or a truth value that may be null) becomes null, or JSON text where text is expected,
    and is a row of PROBLEMS; the record is kept, because malformed records are not missing at random. Other parts are not
    left out: without its messages a conversation would seem to have no turns, and without its link a node to be the first.
    """
    rows: list[tuple[str | None, str]] = []
    while is_collecting() and len(rows) < MOST:
        problem = field_error(error, within)
        spot = _spot(kind, str(error).partition(" - at `$")[2].removesuffix("`"))
        if spot is None:
            break
        path, is_text = spot
        rows.append((problem.field, f"{problem.reason}: {IS_TEXT if is_text else IS_NULL}"))
        value = _changed(value, path, is_text=is_text)
        try:
            result = convert(value)
        except msgspec.ValidationError as further:
            error = further
            continue
        # Only now: a record that cannot be read in the end has one problem, not all of them.
        for field, reason in rows:
            nulled(field, reason)
        return result
    raise field_error(error, within) from error


def _spot(kind: inspect.Type, place: str) -> tuple[list[str | int], bool] | None:
    """Return the path of a field that its struct can do without, and whether it holds text; None if it cannot.

    `place` is as msgspec writes it, as in ``.messages[2].score``.
    """
    path: list[str | int] = []
    is_field = not place  # a value that is converted alone
    while place:
        options = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
        if place.startswith("["):
            index, _, place = place[1:].partition("]")
            kinds = [option.item_type for option in options if isinstance(option, inspect.ListType)]
            if not index.isdigit() or not kinds:  # a value of a mapping, whose key is not known
                return None
            path.append(int(index))
            kind, is_field = kinds[0], False
            continue
        fields = [field for option in options if isinstance(option, _OBJECTS) for field in option.fields]
        # Names may have dots in them: the longest one that fits.
        fitting = [
            field for field in fields if f"{place[1:]}.".startswith((f"{field.encode_name}.", f"{field.encode_name}["))
        ]
        if not fitting:
            return None
        field = max(fitting, key=lambda field: len(field.encode_name))
        path.append(field.encode_name)
        place = place[1 + len(field.encode_name) :]
        kind, is_field = field.type, True
    return _plain(kind, path) if is_field else None


def _plain(kind: inspect.Type, path: list[str | int]) -> tuple[list[str | int], bool] | None:
    """Return the path of a field of plain values or null and whether it holds text; None for a link, or any other field."""
    if not isinstance(kind, inspect.UnionType) or not kind.includes_none:
        return None
    options = kind.types
    plain = [option.type if isinstance(option, inspect.Metadata) else option for option in options]
    is_link = any(isinstance(option, inspect.Metadata) and (option.extra or {}).get("is_link") for option in options)
    if is_link or not all(isinstance(option, _PLAIN) for option in plain):
        return None
    return path, any(isinstance(option, inspect.StrType) for option in plain)


def _changed(value: Any, path: list[str | int], *, is_text: bool) -> Any:
    """Return a copy of the value with null at this place, or with JSON text where it holds text."""
    if not path:
        return json_text(value) if is_text else None
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _changed(copy[path[0]], path[1:], is_text=is_text)
    return copy


def field_error(error: msgspec.ValidationError, within: str = "") -> BrokenError:
    """Describe the value that does not fit a struct, with the name of its field."""
    # msgspec writes "Expected `int`, got `str` - at `$.turns`".
    reason, _, place = str(error).partition(" - at `$")
    field = (within + place.removesuffix("`")).removeprefix(".") or None
    return BrokenError(reason[:1].lower() + reason[1:], field=field)


def leftovers(record: Mapping[str, Any], struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the fields of a record that its struct does not have; a name that TURNS has gets the suffix ``_source``.

    Examples
    --------
    >>> class Record(msgspec.Struct):
    ...     index: int
    >>> leftovers({"index": 3, "behavior": "spam", "score": 2}, Record)
    {'behavior': 'spam', 'score_source': 2}
    """
    fields = struct.__struct_encode_fields__
    return {spare(name): value for name, value in record.items() if name not in fields}


def spare(name: str) -> str:
    """Return the name of a producer's column, which must not be one of TURNS."""
    return f"{name}_source" if name in _TURNS_NAMES else name


def renamed(kind: type[msgspec.Struct], **names: str) -> type[msgspec.Struct]:
    """Return the struct with other names for these fields."""
    # Only fields with a new name: msgspec takes the others from the base class.
    fields = [
        (field.name, field.type, msgspec.field(name=names[field.name], default=field.default))
        for field in msgspec.structs.fields(kind)
        if names.get(field.name, field.encode_name) != field.encode_name
    ]
    return msgspec.defstruct(kind.__name__, fields, bases=(kind,)) if fields else kind


def whole_number(value: Count, field: str) -> int | None:
    """Return a count as an integer; some tools write ``60.0``.

    One with a fraction breaks the record; where problems are collected, it is a row of them, and null.
    """
    if value is None or isinstance(value, int):
        return value
    # A float below 2**63 is an exact integer, even where it cannot have fractions any more.
    if not value.is_integer() or abs(value) >= 2**63:
        reason = f"expected a whole number, got {value!r}"
        if nulled(field, f"{reason}: {IS_NULL}"):
            return None
        raise BrokenError(reason, field=field)
    return int(value)


def kind_of(value: Any, kinds: Collection[str], field: str = "type") -> str | None:
    """Return the word for a kind of entry as its format writes it, whatever its letters and blanks.

    A kind that is not known is a warning about the record (see `rollwise.readers.problems.warn`), and returned
    unchanged; one that is not text is null.
    """
    if isinstance(value, str) and value in kinds:
        return value
    word = value.strip().lower() if isinstance(value, str) else None
    kind = next((kind for kind in kinds if kind.lower() == word), None)
    if kind is None:
        warn(field, f"{value!r:.60} is not a known kind of entry: it is passed over")
    return kind or (value if isinstance(value, str) else None)


def inner(value: Any, *names: str) -> Any:
    """Return the value at these nested names, or None."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def total(counts: Iterable[Count], field: str) -> int | None:
    """Return the sum of the counts that are not null, as an integer; None if all are null, or if one is not a whole number."""
    parts = [whole_number(count, field) for count in counts if count is not None]
    numbers = [number for number in parts if number is not None]
    if len(numbers) < len(parts):  # the sum of the others would be too small
        return None
    if abs(sum(numbers)) >= 2**63:
        if nulled(field, f"is more than can be counted: {IS_NULL}"):
            return None
        raise BrokenError("is more than can be counted", field=field)
    return sum(numbers) if numbers else None


def worded(value: object) -> str | None:
    """Return a text unchanged, anything else as JSON text; null stays null."""
    return value if isinstance(value, str) else json_text(value)


def prompt_id(text: str) -> str:
    """Return a short name for a prompt without one: the same text always has the same name."""
    return f"prompt-{hashlib.blake2b(text.encode('utf-8', 'backslashreplace'), digest_size=6).hexdigest()}"


def json_text(value: object) -> str | None:
    """Return a nested value as JSON text; null stays null."""
    if value is None:
        return None
    try:
        return msgspec.json.encode(value, enc_hook=str).decode()
    except (TypeError, ValueError, RecursionError):
        pass  # surrogates and large integers, which Python's own writer accepts
    try:
        return json.dumps(value, default=str, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return repr(value).encode("utf-8", "backslashreplace").decode()


def spelled_out(value: Any) -> Any:
    """Return a JSON value with half of a surrogate pair spelled out in every text: texts that differ stay different."""
    if isinstance(value, str):
        return writable(value)
    if isinstance(value, list | tuple):
        return [spelled_out(item) for item in value]
    return {spelled_out(name): spelled_out(item) for name, item in value.items()} if isinstance(value, dict) else value
