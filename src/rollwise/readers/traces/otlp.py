"""Spans of a record in OpenTelemetry's JSON."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from rollwise.readers.moments import Stamp, seconds_of
from rollwise.readers.problems import BrokenError, Problems, warn
from rollwise.readers.records import Integer, parse

EXPORTED = "resourceSpans"
FAILED = frozenset({"2", "STATUS_CODE_ERROR", "ERROR"})


class Status(msgspec.Struct):
    """Status of a span, as the protocol or the SDK writes it."""

    code: str | int | None = None
    message: str | None = None
    status_code: str | None = None
    description: str | None = None


class Exported(msgspec.Struct, rename="camel"):
    """A span of the protocol."""

    trace_id: str
    span_id: str
    parent_span_id: str | None = None
    name: str | None = None
    start_time_unix_nano: Stamp = None
    end_time_unix_nano: Stamp = None
    attributes: Any = None
    events: Any = None
    status: Status | None = None


class Context(msgspec.Struct):
    """Identity of a span."""

    trace_id: str
    span_id: str


class Printed(msgspec.Struct):
    """A span as the SDK prints it."""

    context: Context
    parent_id: str | None = None
    name: str | None = None
    start_time: Stamp = None
    end_time: Stamp = None
    attributes: Any = None
    events: Any = None
    status: Status | None = None
    resource: Any = None


class Scope(msgspec.Struct):
    """The spans of one instrument."""

    spans: list[Any] = []


class Resource(msgspec.Struct):
    """The spans of one service."""

    resource: Any = None
    scopes: list[Scope] = msgspec.field(name="scopeSpans", default_factory=list)


class Plain(NamedTuple):
    """A span whose attributes are nested objects: names with dots are split."""

    trace: str
    id: str
    parent: str | None
    name: str | None
    start: float | None  # seconds
    end: float | None
    error: str | None
    attributes: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]
    around: dict[str, Any]  # of the resource


def spans_in(record: Mapping[str, Any], file: str, number: object, problems: Problems) -> Iterator[Plain]:
    """Iterate over the spans of an export request, or return the span that a record is; broken spans are noted in `problems`."""
    # A span on a line of its own, as the console exporter of the SDK prints it.
    if EXPORTED not in record:
        printed = parse(record, Printed)
        times = seconds_of(printed.start_time, "start_time"), seconds_of(printed.end_time, "end_time")
        yield _plain(printed.context, printed.parent_id, printed, times, printed.resource)
        return
    for resource in parse(record[EXPORTED], list[Resource], EXPORTED):
        for fields in (fields for scope in resource.scopes for fields in scope.spans):
            with problems.record(file, number):
                span = parse(fields, Exported, f"{EXPORTED}.scopeSpans.spans")
                start, end = _nanoseconds(span.start_time_unix_nano), _nanoseconds(span.end_time_unix_nano)
                yield _plain(span, span.parent_span_id, span, (start, end), resource.resource)


def _plain(
    identity: Exported | Context,
    parent: str | None,
    span: Exported | Printed,
    times: tuple[float | None, float | None],
    resource: Any,
) -> Plain:
    status = span.status or Status()
    # The protocol writes a number or a name in `code`, the SDK a name in `status_code`.
    failed = str(status.code) in FAILED or status.status_code in FAILED
    events = span.events if isinstance(span.events, list) else []
    if any(not isinstance(event, dict) for event in events) or (span.events and not events):
        warn("events", "are not all objects: the others are passed over")
    return Plain(
        identity.trace_id,
        identity.span_id,
        parent or None,
        span.name,
        *times,
        (status.message or status.description or "the span failed") if failed else None,
        _nested(span.attributes),
        [(_word(event.get("name")), _nested(event.get("attributes"))) for event in events if isinstance(event, dict)],
        _nested(resource.get("attributes") if isinstance(resource, dict) else None),
    )


def _word(name: Any) -> str:
    """Return the name of an event, which is empty if it is not text."""
    return name if isinstance(name, str) else ""


def _nanoseconds(stamp: Stamp) -> float | None:
    """Convert a time in nanoseconds, given as a number or as text, to seconds."""
    if isinstance(stamp, str) and not (stamp.isdecimal() and len(stamp) < 20):
        raise BrokenError(f"is {stamp!r:.40}, not a number of nanoseconds", field="startTimeUnixNano, endTimeUnixNano")
    return None if stamp is None else float(stamp) / 1e9


def _nested(attributes: Any) -> dict[str, Any]:
    nested = undotted(_attributes(attributes))
    return nested if isinstance(nested, dict) else {}  # a list if all names are numbers


def _attributes(attributes: Any) -> dict[str, Any]:
    """Return attributes as an object; the protocol writes them as a list of keys and values."""
    if isinstance(attributes, list):
        pairs = [pair for pair in attributes if isinstance(pair, dict) and isinstance(pair.get("key"), str)]
        if len(pairs) < len(attributes):
            warn("attributes", "are not all keys with values: the others are passed over")
        return {pair["key"]: _value(pair.get("value")) for pair in pairs}
    if attributes is not None and not isinstance(attributes, dict):
        warn("attributes", f"expected a list or an object, got {type(attributes).__name__}")
    if isinstance(attributes, dict) and any(
        isinstance(value, dict) and "key" in value for value in attributes.values()
    ):
        warn("attributes", "is an object of keys and values, not a list of them: they are passed over")
    return attributes if isinstance(attributes, dict) else {}


def _value(typed_value: Any) -> Any:
    """Return the plain value of an object that names its type, such as ``{"intValue": "3"}``."""
    if not isinstance(typed_value, dict) or len(typed_value) != 1:
        return typed_value
    kind, value = next(iter(typed_value.items()))
    inner = value.get("values") if isinstance(value, dict) else None
    # JSON of the protocol writes 64-bit integers as text.
    if kind == "intValue" and isinstance(value, str):
        with suppress(msgspec.ValidationError):
            return msgspec.convert(value, Integer, strict=False)
    if kind == "arrayValue":
        return [_value(element) for element in inner] if isinstance(inner, list) else []
    return _attributes(inner) if kind == "kvlistValue" else value


def undotted(flat: Any) -> Any:
    """Nest a flat object: names with dots become objects, and objects with only numbers as names become lists."""
    if isinstance(flat, list):
        return [undotted(item) for item in flat]
    if not isinstance(flat, dict):
        return flat
    # A name may come twice, with dots and as an object ("llm.model" and "llm"): then both parts are merged.
    objects: dict[str, Any] = {}
    for name, value in flat.items():
        *outer, last = name.split(".")
        parent = objects
        for step in outer:
            if not isinstance(parent.get(step), dict):
                parent[step] = {}
            parent = parent[step]
        present = parent.get(last)
        if not isinstance(present, dict):
            parent[last] = value
        elif isinstance(value, dict):
            parent[last] = {**present, **value}
    nested = {name: undotted(value) for name, value in objects.items()}
    # Numbers as names are the positions of a list.
    if nested and all(name.isdecimal() for name in nested):
        return [nested[name] for name in sorted(nested, key=int)]
    return nested
