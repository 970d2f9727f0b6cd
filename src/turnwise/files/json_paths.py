"""Values at ``$.choices[0].text``: paths within JSON, as a user writes them."""

import re
from collections.abc import Sequence
from typing import Any

from turnwise.errors import ArgumentError

_STEP = re.compile(r"""\.([^][.'"*?@()]+)|\[(-?\d+)]|\['([^']*)']|\["([^"]*)"]""")  # .name [0] ['name'] ["name"]


def steps_of(path: str, what: str = "result_json_path") -> list[str | int]:
    """The steps of a JSON path of names and numbers, those below 0 from the end.

    Examples
    --------
    >>> steps_of("$.choices[0]['text']")
    ['choices', 0, 'text']

    Raises
    ------
    ArgumentError
        Where it is more than that; `what` is what the sentence calls it.
    """
    if not path.startswith("$") or _STEP.sub("", path) != "$":
        raise ArgumentError(f"{what} {path!r} is not understood; write names and numbers, as in $.choices[0].text")
    found = _STEP.findall(path)
    return [
        int(number or name) if number or name.isdecimal() else name or "".join(quoted)
        for name, number, *quoted in found
    ]


def taken(value: Any, path: Sequence[str | int]) -> Any:
    """Return the value at a path.

    Raises
    ------
    LookupError
        Where there is nothing.

    Examples
    --------
    >>> taken({"choices": [{"text": "4"}]}, ["choices", 0, "text"])
    '4'
    """
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError) as error:
            raise LookupError(f"the answer has nothing at {part!r}; it is {value!r:.80}") from error
    return value
