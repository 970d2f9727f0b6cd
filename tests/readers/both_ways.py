"""The short way of reading must give what the long way gives, to the last cell, problem and sentence."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from turnwise.errors import TurnwiseError
from turnwise.readers.chats import plain
from turnwise.readers.native import flat
from turnwise.readers.read import read

Way = Callable[[pytest.MonkeyPatch], None]


def written(path: Path, records: list[Any]) -> Path:
    """A file of JSON lines."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def result(path: Path, **options: Any) -> tuple[pl.DataFrame, pl.DataFrame] | str:
    """What reading gives: the turns and the problems, or the sentence of the error."""
    try:
        found = read(path, **options)
    except TurnwiseError as refusal:
        return str(refusal)
    return found if isinstance(found, tuple) else (found, found.clear())


def agree(path: Path, block: int, ways: Sequence[Way], **options: Any) -> None:
    """Read the file in blocks of so many bytes, in each of two ways, and see that they give the same."""
    results = []
    for way in ways:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("turnwise.readers.sources.contents.BLOCK", block)
            way(patch)
            results.append(result(path, **options))
    ours, theirs = results
    if isinstance(ours, str) or isinstance(theirs, str):
        assert ours == theirs
    else:
        for one, other in zip(ours, theirs, strict=True):
            assert_frame_equal(one, other)


def native_both(path: Path, block: int = 400, **options: Any) -> int:
    """How many records of a native log went the short way; the long way alone must give the same."""
    short: list[object] = []

    def together(lines: Any, decoder: Any) -> Any:
        found = plain.fitting_lines(lines, decoder)
        short.extend(found or [])
        return found

    def alone(line: Any, decoder: Any) -> Any:
        found = plain.fitting(line, decoder)
        short.extend([] if found is None else [found])
        return found

    def by(lines: Any, line: Any) -> Way:
        def patched(patch: pytest.MonkeyPatch) -> None:
            patch.setattr(flat, "fitting_lines", lines)
            patch.setattr(flat, "fitting", line)

        return patched

    agree(path, block, [by(together, alone), by(lambda lines, decoder: None, lambda line, decoder: None)], **options)
    return len(short)
