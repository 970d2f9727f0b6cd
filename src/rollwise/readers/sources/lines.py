"""The lines of a JSON-lines file, with their numbers."""

from collections.abc import Iterable, Iterator

BOM = b"\xef\xbb\xbf"


def lines_of(blocks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    r"""The lines of a file that comes in blocks, each with its number from 1, without blank ones and the byte-order mark.

    Examples
    --------
    >>> list(lines_of([b"1\n2", b"2\n\n3", b"3"]))
    [(1, b'1'), (2, b'22'), (4, b'33')]
    """
    number = 0  # of the last line so far
    parts: list[bytes] = []  # of a line whose end is in a later block
    for block in blocks:
        end, *rest = block.split(b"\n")
        parts.append(end)
        if rest:
            yield from _numbered([b"".join(parts), *rest[:-1]], number + 1)
            number += len(rest)
            parts = rest[-1:]
    yield from _numbered([b"".join(parts)], number + 1)


def _numbered(lines: list[bytes], first: int) -> Iterator[tuple[int, bytes]]:
    if first == 1:
        lines[0] = lines[0].removeprefix(BOM)
    return ((number, line) for number, line in enumerate(lines, first) if line and not line.isspace())
