"""Results in YAML, as some scripts write them: read as the JSON that says the same.

Only a file that the user names is looked at, or a folder of nothing else: beside logs, files of YAML are settings.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from rollwise.readers.problems import LEAVE, BrokenError, broken
from rollwise.readers.records import json_text
from rollwise.readers.sources.documents import Document

SUFFIXES = (".yaml", ".yml")
MOST_BYTES = 1 << 21  # which takes about 20 seconds to parse
_MOST_VALUES = 1_000_000  # aliases of aliases can make a small file huge


def as_json(document: Document) -> Document:
    """Return a file of YAML as JSON; any other file as it is."""
    if document.suffix not in SUFFIXES or document.kind in {"json", "lines"}:
        return document
    if len(document.data) > MOST_BYTES:
        size = MOST_BYTES >> 20
        raise BrokenError(f"is YAML of more than {size} MiB, which takes long to read: save it as JSON", remedy=LEAVE)
    value = _value(document.data)
    if not isinstance(value, dict | list):
        return document
    converted = Document(document.path, str(json_text(value)).encode(), budget=document.budget)
    converted.digest, converted.file = document.digest, document.file
    return converted


def _value(text: bytes) -> Any:
    """Return what YAML says; several documents in one file are a list."""
    from ruamel.yaml import YAML  # loaded for such files alone
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        values = list(YAML(typ="safe", pure=True).load_all(text.decode("utf-8-sig")))
        count = sum(1 for _, _ in zip(_inside(values), range(_MOST_VALUES), strict=False))
    except MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f" in line {error.problem_mark.line + 1}"
        raise broken(f"is not valid YAML{line}", error) from error
    except (YAMLError, ValueError) as error:
        raise broken("is not valid YAML", error) from error
    except RecursionError as error:
        raise BrokenError("is nested too deeply, or an entry of it contains itself") from error
    if count == _MOST_VALUES:
        raise BrokenError("has too many entries with those that its aliases repeat: write it as JSON")
    return values[0] if len(values) == 1 else values


def _inside(values: Iterable[Any]) -> Iterator[Any]:
    """Iterate over values and all values within them."""
    for value in values:
        yield value
        if isinstance(value, dict | list):
            yield from _inside(value.values() if isinstance(value, dict) else value)
