"""Depth of JSON texts: what is nested too deeply becomes null before anything decodes it.

Decoders, and everything that walks through their values, use the stack of the process for each level. So that no log can
exhaust it, whatever limit of recursion a user has set, the levels are counted here, in the text, and nowhere else.
"""

import re

DEEPEST = 100  # levels of one JSON text; the logs of no tool come near
MOST_NAMES = 4  # names of a place that are enough to find it
OPENING, CLOSING = (b"[", b"{"), (b"]", b"}")
_LISTS = bytes.maketrans(b"{}", b"[]")
_OTHERS = bytes({*range(256)} - {*b'[]{}"'})
_TOKEN = re.compile(rb'"(?P<text>[^"\\]*(?:\\.[^"\\]*)*)"(?P<is_name>\s*:)?|[\[{\]},]', re.DOTALL)

Place = tuple[str | int, ...]


def is_deep(text: bytes) -> bool:
    """Return whether a JSON text is nested deeper than `DEEPEST`, or its brackets do not match."""
    # Hardly any text has so few brackets, but most lines do.
    if text.count(b"[") + text.count(b"{") <= DEEPEST:
        return False
    # A quotation mark after a backslash does not end a string, except where the backslash itself is escaped.
    if b"\\" in text:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    brackets = b"".join(text.translate(_LISTS, _OTHERS).split(b'"')[::2])
    # Each pass removes the innermost level of every value.
    for _ in range(DEEPEST):
        brackets = brackets.replace(b"[]", b"")
        if not brackets:
            return False
    return True


def bounded(text: bytes) -> tuple[bytes, list[Place]]:
    """Return a JSON text in which every value below level `DEEPEST` is null, and the places of these values.

    A place is the names and positions that lead to the value, at most `MOST_NAMES`. A text that ends within such a value stays
    as broken as it is.
    """
    if not is_deep(text):
        return text, []
    pieces: list[bytes] = []
    places: list[Place] = []
    path: list[str | int] = []
    depth, start, end = 0, 0, 0  # start of the value that is too deep, end of the one before
    for token in _TOKEN.finditer(text):
        mark = token[0][:1]
        depth += (mark in OPENING) - (mark in CLOSING)
        if depth < 0:  # more ends than starts: the decoder reports it
            break
        if depth == DEEPEST + 1 and mark in OPENING:
            start = token.start()
        elif depth == DEEPEST and mark in CLOSING:
            pieces += [text[end:start], b"null"]
            places.append(_example(path))
            end = token.end()
        elif depth <= DEEPEST:
            _follow(path, token)
    if depth > DEEPEST:  # it ends within such a value
        return b"".join([*pieces, text[end:start]]), [*places, _example(path)]
    return b"".join([*pieces, text[end:]]), places


def _follow(path: list[str | int], token: re.Match[bytes]) -> None:
    """Change a path by the next token: it holds, for each open level, the last name of an object or the position in a list."""
    mark = token[0][:1]
    if mark in OPENING:
        path.append(0 if mark == b"[" else "")
    elif mark in CLOSING:
        path.pop()
    elif path and isinstance(path[-1], int):
        path[-1] += mark == b","
    elif path and token["is_name"]:
        path[-1] = token["text"].decode("utf-8", "replace")


def _example(path: list[str | int]) -> Place:
    """Return the beginning of a path, without the positions in nested lists at its end."""
    last_name = max((place for place, part in enumerate(path) if isinstance(part, str)), default=0)
    return tuple(path[: min(last_name + 1, MOST_NAMES)])
