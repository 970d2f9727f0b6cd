"""The lines of a JSON-lines file, some at a time: enough to work on at once, few enough for the processor's cache."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

BOM = b"\xef\xbb\xbf"
OPENING, CLOSING = b"{}"  # of an object


@dataclass(frozen=True, slots=True)
class Lines:
    r"""Some whole lines of a file.

    Parameters
    ----------
    first
        Number of the first line, from 1.
    text
        The lines as they stand.
    ends
        Where in the text each line ends; of the last one of a file, whatever ends it.

    Examples
    --------
    >>> lines = next(lines_of([b"{}\n \n", b"{}\n"]))
    >>> lines.apart(), lines.objects
    (([1], [b'{}']), False)
    """

    first: int
    text: bytes
    ends: Sequence[int]

    @property
    def numbers(self) -> range:
        """The numbers of the lines."""
        return range(self.first, self.first + len(self.ends))

    @property
    def objects(self) -> bool:
        """Return whether each line begins and ends as an object does.

        Then each begins a value: what stands before a line's end is ``}``, what follows is ``{``, and inside of a value
        something stands between the two. So if there are as many values as lines, there is one on each.
        """
        text, ends = self.text, self.ends
        if not text.startswith(b"{") or not text.endswith(b"}", 0, ends[-1]):
            return False
        return not [end for end in ends[:-1] if text[end - 1] != CLOSING or text[end + 1] != OPENING]

    def apart(self) -> tuple[Sequence[int], list[bytes]]:
        """Each line that is not blank, and before them their numbers."""
        lines = self.text.split(b"\n")[: len(self.ends)]
        said = [place for place, line in enumerate(lines, self.first) if line and not line.isspace()]
        return said, lines if len(said) == len(lines) else [lines[place - self.first] for place in said]


def lines_of(blocks: Iterable[bytes]) -> Iterator[Lines]:
    r"""The lines of a file that comes in blocks, without the mark of its encoding at the start.

    Examples
    --------
    >>> [(lines.first, lines.text) for lines in lines_of([b"1\n2", b"2\n3", b"3"])]
    [(1, b'1\n'), (2, b'22\n'), (3, b'33')]
    """
    first, parts = 1, list[bytes | memoryview]()  # the parts of a line that no block has ended yet
    for block in blocks:
        end = block.rfind(b"\n") + 1
        parts.append(memoryview(block)[:end])
        if end:
            lines = whole_lines(first, b"".join(parts))
            yield lines
            first += len(lines.ends)
            parts = [block[end:]]
        else:
            parts[-1] = block
    if rest := b"".join(parts):
        yield whole_lines(first, rest)


def whole_lines(first: int, text: bytes) -> Lines:
    r"""A text that is lines, of which the first has that number in its file.

    Examples
    --------
    >>> whole_lines(7, b"{}\n{}\n").numbers
    range(7, 9)
    """
    known = text.removeprefix(BOM) if first == 1 else text
    ends, start = list[int](), 0
    while (start := known.find(b"\n", start) + 1) > 0:
        ends.append(start - 1)
    return Lines(first, known, ends if known.endswith(b"\n") else [*ends, len(known)])
