"""Records of other tools as typed structs, and the fields that a struct does not have."""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Any, TypeVar

import msgspec

from rollwise.readers.problems import IS_NULL, BrokenError, doubt, odd
from rollwise.schema import TURNS

T = TypeVar("T")

# Numbers that Int64, Int32 and Float64 can hold: msgspec reports others as errors that name the field.
Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Small = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 2)]
Link = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 2, extra={"is_link": True})]  # to another record: null means none
Count = Whole | float | None
Finite = Annotated[float, msgspec.Meta(ge=-1.7976931348623157e308, le=1.7976931348623157e308)]
Key = str | Whole

_TURNS_NAMES = frozenset(TURNS.names)


def parse(value: object, kind: type[T], within: str = "") -> T:
    """Convert a value to a struct; a value that is an error, as `Document.records` returns for broken lines, is raised.

    `within` is the path of the value in the record, for errors. Where problems are collected, a field that the struct can do
    without never costs the record: see `rollwise.readers.odd_fields`.

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
        from rollwise.readers.odd_fields import without_odd_fields  # which imports this module, and is rarely needed

        return without_odd_fields(value, kind, error, within)


def misfit(error: msgspec.ValidationError, within: str = "") -> BrokenError:
    """Describe the value that does not fit a struct, with the name of its field.

    Examples
    --------
    >>> misfit(msgspec.ValidationError("Expected `int`, got `str` - at `$.turns`")).field
    'turns'
    """
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
    """Return the name of a producer's column, which must not be one of TURNS.

    Examples
    --------
    >>> spare("behavior"), spare("outcome")
    ('behavior', 'outcome_source')
    """
    return f"{name}_source" if name in _TURNS_NAMES else name


def renamed(kind: type[msgspec.Struct], **names: str) -> type[msgspec.Struct]:
    """Return the struct with other names for these fields.

    Examples
    --------
    >>> class Record(msgspec.Struct):
    ...     messages: list[str]
    >>> parse({"chat": ["Hi"]}, renamed(Record, messages="chat"))
    Record(messages=['Hi'])
    """
    # Only fields with a new name: msgspec takes the others from the base class.
    fields = [
        (field.name, field.type, msgspec.field(name=names[field.name], default=field.default))
        for field in msgspec.structs.fields(kind)
        if names.get(field.name, field.encode_name) != field.encode_name
    ]
    return msgspec.defstruct(kind.__name__, fields, bases=(kind,)) if fields else kind


def whole(value: Count, field: str) -> int | None:
    """Return a count as an integer; some tools write ``60.0``.

    One with a fraction breaks the record; where problems are collected, it is a row of them, and null.

    Examples
    --------
    >>> whole(60.0, "queries")
    60
    """
    if value is None or isinstance(value, int):
        return value
    # A float below 2**63 is an exact integer, even where it cannot have fractions any more.
    if not value.is_integer() or abs(value) >= 2**63:
        reason = f"expected a whole number, got {value!r}"
        if odd(field, f"{reason}: {IS_NULL}"):
            return None
        raise BrokenError(reason, field=field)
    return int(value)


def kind_of(value: Any, known: Collection[str], field: str = "type") -> str | None:
    """Return the word for a kind of entry as its format writes it, whatever its letters and blanks.

    A kind that is not known is noted as a doubt about the record (see `rollwise.readers.problems.doubt`), and returned
    unchanged; one that is not text is null.

    Examples
    --------
    >>> kind_of("Attempt ", {"attempt", "eval"}, "entry_type"), kind_of("attempt2", {"attempt", "eval"}, "entry_type")
    ('attempt', 'attempt2')
    """
    if isinstance(value, str) and value in known:
        return value
    word = value.strip().lower() if isinstance(value, str) else None
    kind = next((kind for kind in known if kind.lower() == word), None)
    if kind is None:
        doubt(field, f"{value!r:.60} is not a known kind of entry: it is passed over")
    return kind or (value if isinstance(value, str) else None)


def inner(value: Any, *names: str) -> Any:
    """Return the value at these nested names, or None.

    Examples
    --------
    >>> inner({"a": {"b": 1}}, "a", "b"), inner({"a": 1}, "a", "b")
    (1, None)
    """
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def total(counts: Iterable[Count], field: str) -> int | None:
    """Return the sum of the counts that are not null, as an integer; None if all are null.

    Examples
    --------
    >>> total([3, None, 4.0], "tokens"), total([None], "tokens")
    (7, None)
    """
    numbers = [number for count in counts if (number := whole(count, field)) is not None]
    if abs(sum(numbers)) >= 2**63:
        if odd(field, f"is more than can be counted: {IS_NULL}"):
            return None
        raise BrokenError("is more than can be counted", field=field)
    return sum(numbers) if numbers else None


def worded(value: object) -> str | None:
    """Return a text unchanged, anything else as JSON text; null stays null.

    Examples
    --------
    >>> worded("no"), worded({"code": 429}), worded(None)
    ('no', '{"code":429}', None)
    """
    return value if isinstance(value, str) else json_text(value)


def prompt_id(text: str) -> str:
    """Return a short name for a prompt without one: the same text always has the same name.

    Examples
    --------
    >>> prompt_id("2 + 2?") == prompt_id("2 + 2?") != prompt_id("2 + 3?")
    True
    """
    return f"prompt-{hashlib.blake2b(text.encode('utf-8', 'backslashreplace'), digest_size=6).hexdigest()}"


def json_text(value: object) -> str | None:
    """Return a nested value as JSON text; null stays null.

    Examples
    --------
    >>> json_text({"k": [1, "a"]}), json_text(None)
    ('{"k":[1,"a"]}', None)
    """
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
