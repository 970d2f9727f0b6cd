"""Helpers to read one file in two ways, which must agree to the last cell, problem and sentence."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from rollwise import read
from rollwise.errors import RollwiseError
from rollwise.readers.chats import reading
from rollwise.readers.formats import sharegpt

Way = Callable[[pytest.MonkeyPatch], None]


def written(path: Path, records: list[Any]) -> Path:
    """A file of JSON lines."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def result(path: Path, **options: Any) -> tuple[pl.DataFrame, pl.DataFrame] | str:
    """What reading gives: the turns and the problems, or the sentence of the error."""
    try:
        found = read(path, **options)
    except RollwiseError as refusal:
        return str(refusal)
    return found if isinstance(found, tuple) else (found, found.clear())


def agree(path: Path, block: int, ways: Sequence[Way], **options: Any) -> None:
    """Read the file in blocks of so many bytes, in each of two ways, and see that they give the same."""
    results = []
    for way in ways:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("rollwise.readers.sources.contents.BLOCK", block)
            way(patch)
            results.append(result(path, **options))
    ours, theirs = results
    if isinstance(ours, str) or isinstance(theirs, str):
        assert ours == theirs
    else:
        for one, other in zip(ours, theirs, strict=True):
            assert_frame_equal(one, other)


def one_by_one(patch: pytest.MonkeyPatch) -> None:
    """Read each record by itself."""
    for module in (reading, sharegpt):
        patch.setattr(module, "text_chats", lambda layout: lambda record: None)
