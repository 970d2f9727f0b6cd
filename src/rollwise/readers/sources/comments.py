"""Lines above the header of a table that begin with `#`, where experiments note their model and their date."""

import csv
import re
from collections.abc import Sequence

from rollwise.errors import listing
from rollwise.readers.roles.names import role_of

_MARK = b"#"
_BOM = b"\xef\xbb\xbf"
_SEPARATORS = (",", "\t", ";")
_FACT = re.compile(r"#+\s*([\w -]{1,40}?)\s*[:=]\s*(\S.{0,199}?)\s*")
_FACTS = {"target", "attack", "category"}  # what a comment may say of all rows of its file


def begins_with_comment(start: bytes) -> bool:
    """Return whether the first bytes of a file may be a comment."""
    return start.removeprefix(_BOM).lstrip().startswith(_MARK)


def without_comments(text: bytes) -> tuple[bytes, list[str]]:
    """Return a table without the comments above its header, and these; a header that begins with `#` is not a comment."""
    remainder, comments = text.removeprefix(_BOM), []
    while begins_with_comment(remainder):
        line, _, remainder = remainder.lstrip().partition(b"\n")
        comments.append(line)
    remainder = remainder.lstrip(b"\r\n")
    counts = _fields(remainder.partition(b"\n")[0])
    # Rows follow a header that begins with `#` with as many fields as it has.
    is_header = any(first == count > 1 for line in comments for first, count in zip(_fields(line), counts, strict=True))
    if max(counts) < 2 or is_header:
        return text, []
    return remainder, [line.decode("utf-8", "replace").strip() for line in comments]


def _fields(line: bytes) -> list[int]:
    """Return how many fields a line has by each separator."""
    text = line.decode("utf-8", "replace").rstrip("\r")
    try:
        return [len(next(csv.reader([text], delimiter=separator), [])) for separator in _SEPARATORS]
    except csv.Error:
        return [0] * len(_SEPARATORS)


def facts_in(comments: Sequence[str]) -> dict[str, str]:
    """Return what comments such as `# model: gpt` say of all rows of a file."""
    matches = (_FACT.fullmatch(comment) for comment in comments)
    return {match[1]: match[2] for match in matches if match is not None and role_of(match[1]) in _FACTS}


def unread_in(comments: Sequence[str]) -> str:
    """Return the comments that say something else than facts, in one line."""
    texts = [text for comment in comments if not facts_in([comment]) and (text := comment.lstrip("# "))]
    return listing(texts, most=3) if texts else ""
