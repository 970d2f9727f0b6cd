"""Memory that a Parquet or Arrow file takes when it is read, estimated from its metadata before any value is read.

A text of a gigabyte takes a few kilobytes in such a file, and so do a hundred million equal rows. What a file says of itself may
be wrong on purpose. Hence sizes of Parquet are added up from its pages, which are what is allocated, where a column takes
more than `FEW` bytes; and sizes of Arrow are read in front of its compressed buffers.
"""

import os
import struct
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from rollwise.readers.problems import BrokenError
from rollwise.readers.sources.compression import MOST_TIMES, SMALL, Budget

WIDE = 16  # bytes of a value of text in memory, beside the text itself: equal ones share it
WIDTHS = {0: 1, 1: 4, 2: 8, 3: 12, 4: 4, 5: 8}  # of Boolean, Int32, Int64, Int96, Float32, Float64 in Parquet
LONG = 1 << 20  # bytes of a value that is a long text
FEW = 1 << 11  # bytes of a column that cannot unpack to more than SMALL
_HEADER = 1 << 12  # bytes that hold the header of a page, with its statistics


class Sizes(NamedTuple):
    """Bytes of a file, of its data without compression, of its values in memory, and of a value of the widest column."""

    packed: int
    unpacked: int
    in_memory: int
    per_value: float


def check_sizes(source: Path | BytesIO, kind: str, budget: Budget) -> None:
    """Check that a Parquet or Arrow file unpacks to no more than other compressed files may."""
    sizes = sizes_of(source, kind)
    if sizes is None:
        return
    # Many texts that are alike compress better than any one does: they are bounded together, by what they take in memory.
    if sizes.per_value > LONG:
        limit = max(SMALL, MOST_TIMES * sizes.packed)
        if sizes.unpacked > limit:
            raise BrokenError(f"would unpack to more than {limit} bytes, which no log does: a bomb?")
        budget.spend(sizes.packed, sizes.unpacked)
    budget.tables.spend(sizes.packed, sizes.in_memory)


def sizes_of(source: Path | BytesIO, kind: str) -> Sizes | None:
    """Return the sizes of a file; None where it is not understood, which who reads it reports."""
    read = _parquet if kind == "parquet" else _arrow
    try:
        if isinstance(source, BytesIO):
            return read(source, source.getbuffer().nbytes)
        with source.open("rb", buffering=0) as file:
            return read(file, os.fstat(file.fileno()).st_size)
    except (OSError, ValueError, IndexError, KeyError, TypeError, AttributeError, struct.error, RecursionError):
        return None


def _parquet(file: BinaryIO, size: int) -> Sizes:
    tail = _bytes_at(file, max(0, size - 8), 8)
    length = int.from_bytes(tail[:4], "little")
    footer, _ = _thrift(_bytes_at(file, size - 8 - length, length), 0)
    unpacked = in_memory = 0
    largest = 0.0
    for group in footer.get(4, ()):
        for column in group[1]:
            facts = column[3]
            data = max(facts[6], 0) if facts[7] < FEW else max(facts[6], sum(_pages(file, facts)))
            unpacked += data
            largest = max(largest, data / max(facts[5], 1))
            in_memory += data + facts[5] * WIDTHS.get(facts[1], WIDE)
    return Sizes(size, unpacked, in_memory, largest)


def _pages(file: BinaryIO, facts: dict[int, Any]) -> Iterator[int]:
    """Yield the size of each page of a column without compression."""
    place = min(facts[9], facts.get(11) or facts[9])
    end = place + facts[7]
    while place < end:
        head = _bytes_at(file, place, _HEADER)
        header, length = _thrift(head, 0)
        if header[3] < 0:
            raise ValueError("a page of less than nothing")
        yield header[2]
        place += length + header[3]


def _arrow(file: BinaryIO, size: int) -> Sizes:
    """Add up the buffers of all messages: in a file where its footer says they are, in a stream one after another."""
    head = _bytes_at(file, 0, 8)
    messages = _in_file(file, size) if head.startswith(b"ARROW1") else _in_stream(file, size)
    unpacked = sum(_buffers(file, place) for place in messages)
    return Sizes(size, unpacked, unpacked, unpacked)  # of how many values is not asked


def _in_file(file: BinaryIO, size: int) -> Iterator[int]:
    length = int.from_bytes(_bytes_at(file, size - 10, 4), "little")
    footer = _bytes_at(file, size - 10 - length, length)
    table = _int(footer, 0, "<I")
    for number in (2, 3):  # dictionaries, and record batches
        blocks = _field(footer, table, number)
        if blocks is not None:
            first, count = _vector(footer, blocks)
            yield from (_int(footer, first + 24 * place, "<q") for place in range(count))


def _in_stream(file: BinaryIO, size: int) -> Iterator[int]:
    place = 0
    while place + 8 <= size:
        length = int.from_bytes(_bytes_at(file, place, 8)[4:], "little")
        if length == 0:
            return
        yield place
        message = _bytes_at(file, place + 8, length)
        body = _field(message, _int(message, 0, "<I"), 3)
        place += 8 + length + (0 if body is None else max(_int(message, body, "<q"), 0))


def _buffers(file: BinaryIO, place: int) -> int:
    """Return the bytes of the buffers of one message without compression; before each, its compressed form says how many."""
    head = _bytes_at(file, place, 8)
    start = 8 if head.startswith(b"\xff" * 4) else 4  # before version 0.15 of Arrow
    length = int.from_bytes(head[start - 4 : start], "little")
    message = _bytes_at(file, place + start, length)
    table = _int(message, 0, "<I")
    kind, batch = _field(message, table, 1), _field(message, table, 2)
    if kind is None or batch is None or message[kind] not in {2, 3}:  # a schema
        return 0
    batch += _int(message, batch, "<I")
    if message[kind] == 2 and (inner := _field(message, batch, 1)) is not None:  # a dictionary holds its batch
        batch = inner + _int(message, inner, "<I")
    buffers = _field(message, batch, 2)
    if buffers is None:
        return 0
    first, count = _vector(message, buffers)
    parts = [struct.unpack_from("<qq", message, first + 16 * number) for number in range(count)]
    if _field(message, batch, 3) is None:  # without compression
        return int(sum(max(size, 0) for _, size in parts))
    body = place + start + length
    sizes = (int.from_bytes(_bytes_at(file, body + at, 8), "little", signed=True) for at, size in parts if size >= 8)
    return int(sum(size for size in sizes if size > 0) + sum(max(size, 0) for _, size in parts))


def _field(data: bytes, table: int, number: int) -> int | None:
    """Return the place of a field of a table of FlatBuffers; None if it is left out."""
    entries = table - _int(data, table, "<i")
    if 4 + 2 * number >= _int(data, entries, "<H"):
        return None
    offset = _int(data, entries + 4 + 2 * number, "<H")
    return table + offset if offset else None


def _vector(data: bytes, place: int) -> tuple[int, int]:
    first = place + _int(data, place, "<I")
    return first + 4, _int(data, first, "<I")


def _int(data: bytes, place: int, kind: str) -> int:
    return int(struct.unpack_from(kind, data, place)[0])


def _bytes_at(file: BinaryIO, place: int, length: int) -> bytes:
    file.seek(place)
    return file.read(length)


def _thrift(data: bytes, at: int) -> tuple[dict[int, Any], int]:
    """Read a struct in Thrift's compact protocol: its fields by number, texts as None, and where it ends."""
    fields: dict[int, Any] = {}
    number = 0
    while head := data[at]:
        kind = head & 15
        if head > 15:
            number += head >> 4
            at += 1
        else:
            number, at = _varint(data, at + 1)
            number = (number >> 1) ^ -(number & 1)
        # The frequent ones here, since calls take most of the time.
        if kind <= 2:
            fields[number] = kind == 1
        elif kind <= 6 and data[at] < 128:
            fields[number] = (data[at] >> 1) ^ -(data[at] & 1)
            at += 1
        elif kind == 8 and data[at] < 128:
            at += 1 + data[at]
        elif kind == 12:
            fields[number], at = _thrift(data, at)
        else:
            fields[number], at = _value(data, at, kind)
    return fields, at + 1


def _value(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    """Read one value of a struct or a list, and where it ends."""
    if 4 <= kind <= 6:
        value, at = _varint(data, at)
        return (value >> 1) ^ -(value & 1), at
    if kind == 8:
        length, at = _varint(data, at)
        return None, at + length
    if kind == 12:
        return _thrift(data, at)
    if kind in {1, 2, 3, 7}:
        return None, at + (8 if kind == 7 else 1)
    return _items(data, at)


def _items(data: bytes, at: int) -> tuple[list[Any], int]:
    """Read a list, and where it ends; Parquet has no maps."""
    count, kind = data[at] >> 4, data[at] & 15
    at += 1
    if count == 15:
        count, at = _varint(data, at)
    items = []
    for _ in range(min(count, len(data))):
        item, at = _value(data, at, kind)
        items.append(item)
    return items, at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 70:
            raise ValueError("a number of too many bytes")
