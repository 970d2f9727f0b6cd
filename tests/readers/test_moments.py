"""Times of traces in the forms that databases, languages and data frames write."""

import json
from pathlib import Path
from typing import Any

import pytest

import rollwise as rw
from rollwise.errors import ReadError
from rollwise.readers import Message, split
from rollwise.readers.chronology import in_order

START = 1_767_261_600  # 2026-01-01 10:00:00 UTC


def trace(folder: Path, start: Any, end: Any) -> Path:
    call = {
        "id": "o",
        "traceId": "t",
        "type": "GENERATION",
        "startTime": start,
        "endTime": end,
        "input": "Hi",
        "output": "Ho",
    }
    path = folder / "trace.json"
    path.write_text(json.dumps({"id": "t", "timestamp": start, "observations": [call]}))
    return path


@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    "start",
    [
        "2026-01-01 10:00:00 UTC",  # ClickHouse, str() of pandas and Polars
        "2026-01-01 10:00:00.000000 UTC",
        "2026-01-01 10:00:00 +0000 UTC",  # Go
        "2026-01-01 11:00:00.000000001 +0100 CET m=+0.000012",
        "2026-01-01 15:30:00 +0530 +0530",
        "2026-01-01T10:00:00.000000000Z",
        "2026-01-01T10:00:00z",
        "2026-01-01T10:00:00+00:00",
        "2026-01-01 05:00:00 -05:00",
        "2026-01-01 10:00:00 GMT",
        "2026-01-01 10:00:00",  # without a zone: UTC, whatever the machine
        "2026-01-01T11:00:00+01:00[Europe/Paris]",  # Java
        "Thu, 01 Jan 2026 10:00:00 GMT",  # web servers
        START,
        START * 1.0,
        START * 10**3,
        START * 10**6,
        START * 10**9,
        str(START),
        str(START * 10**3),
    ],
)
def test_a_time_in_any_usual_form(tmp_path, start):
    (row,) = rw.read(trace(tmp_path, start, "2026-01-01T10:00:02Z")).select("seconds", "total_seconds").rows()
    assert row == pytest.approx((2.0, 2.0), abs=1e-5)


@pytest.mark.integration
@pytest.mark.parametrize(
    "start", ["2026-01-01 10:00:00 CET", "yesterday", "", "nan", "1e400", "2026-13-01 10:00:00 UTC", "1_0"]
)
def test_a_time_that_is_not_understood_costs_itself_alone(tmp_path, start):
    """An abbreviation without an offset names several zones: a guess would be hours wrong."""
    path = trace(tmp_path, start, "2026-01-01T10:00:02Z")
    with pytest.raises(ReadError, match=r"observations\[0\].startTime"):
        rw.read(path)
    frame, problems = rw.read(path, errors="collect")
    assert frame.select("prompt", "response", "seconds").rows() == [("Hi", "Ho", None)]
    assert problems["field"].to_list() == ["observations[0].startTime"]


def test_lines_are_ordered_outside_of_a_reading_too():
    """There is no record to note it of."""
    lines = [{"at": 2, "text": "b"}, {"at": 1, "text": "a"}]
    assert [line["text"] for line in in_order(lines, lambda line: line["at"], "at")] == ["a", "b"]


def test_a_speaker_that_is_not_known_asks():
    """Outside of a reading, too, where nothing can be noted."""
    turns = split([Message("stage directions", "Night falls."), Message("assistant", "No.")], "messages")
    assert [(turn.prompt, turn.response) for turn in turns] == [("Night falls.", "No.")]
