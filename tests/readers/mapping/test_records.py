"""Records of a mapping: which of them are rollouts, what is kept of those that are broken, and how they are named."""

import json
from pathlib import Path
from typing import Any, NotRequired, Required

import polars as pl
import pytest

from rollwise.readers import Document, Problems, RecordMapping, TurnsBuilder
from rollwise.readers.mapping.paths import Record
from rollwise.readers.records import Small


def mapping_with(**rules: Any) -> RecordMapping:
    """A mapping with an id, a reply that each record needs, and a verdict; and these rules."""
    usual: dict[str, Any] = {
        "doc": "Read each record as a rollout of one turn.",
        "rollout": ["id"],
        "turn": {"response": "reply"},
        "fields": {"id": str, "reply": str},
        "verdicts": [{"of": "attack", "from": "verdict", "true": ["broken"], "false": ["held"]}],
    }
    return RecordMapping(**usual | rules)


def read(mapping: RecordMapping, records: Any) -> tuple[pl.DataFrame, list[Any]]:
    """What a mapping reads of records: the frame, and the problems."""
    problems = Problems(collect=True)
    table = TurnsBuilder("toy", problems, {})
    mapping(Document(Path("log.json"), json.dumps(records).encode()), table)
    return table.frame(), problems.rows


@pytest.mark.parametrize(
    ("records", "value", "count"),
    [
        ("results[*]", {"results": [{"id": "a", "reply": "x"}, {"id": "b"}, 3]}, 3),
        ("results{*}", {"results": {"p": {"id": "a", "reply": "x"}, "q": 3}}, 2),
        ("{*}", {"p": {"id": "a", "reply": "x"}}, 1),
        (".", {"id": "a", "reply": "x"}, 1),
        (".", [{"id": "a", "reply": "x"}, {}], 2),
    ],
)
def test_what_a_file_holds_is_counted_record_by_record(records, value, count):
    problems = Problems(collect=True)
    document = Document(Path("log.json"), json.dumps(value).encode())
    mapping_with(records=records)(document, TurnsBuilder("toy", problems, {}))
    problems.record_counts.close(document.name, "toy", document.num_records)
    assert problems.accounting()["records"].to_list() == [count]


@pytest.mark.parametrize(
    ("records", "value"),
    [
        ("{*}", {"p": {"id": "a", "reply": "x"}, "q": {"id": "b", "reply": "y"}}),
        ("{*}", {"p": {"id": "a", "reply": "x", "response": "z"}, "q": {"id": "b", "reply": "y", "response": "z"}}),
        ("{*}", {"0": {"id": "a", "reply": "x", "verdict": "held"}, "1": {"id": "b", "reply": "y", "verdict": "held"}}),
        ("{*}.runs[*]", {"p": {"runs": [{"id": "a", "reply": "x"}]}, "q": {"runs": [{"id": "b", "reply": "y"}]}}),
        ("data[*]", {"schema": {}, "data": [{"id": "a", "reply": "x"}, {"id": "b", "reply": "y"}]}),
    ],
)
def test_a_path_is_of_a_file_as_it_is_written(records, value):
    frame, problems = read(mapping_with(records=records), value)
    assert problems == []
    assert frame.select(pl.col("rollout_id").str.split("/").list.last(), "response").rows() == [("a", "x"), ("b", "y")]


def test_a_required_field_may_be_null_and_an_optional_one_need_not():
    fields = {"id": str, "reply": Required[str | None], "trial": NotRequired[int]}
    mapping = mapping_with(fields=fields, columns={"trial": "trial"})
    rows = [{"id": "a", "reply": None}, {"id": "b"}, {"id": "c", "reply": "x", "trial": None}]
    frame, problems = read(mapping, rows)
    assert frame.height == 1
    assert [(row[1], row[2], row[3]) for row in problems] == [
        ("1", None, "object missing required field `reply`"),
        ("2", "trial", "expected `int`, got `null`"),
    ]


@pytest.mark.parametrize(
    ("signs", "score", "is_kept"),
    [
        (["score"], 0.5, True),
        (["score"], [0.5], True),
        (["score"], ["x", None, False], True),
        (["score"], ["x", [1]], False),
        (["score"], [], False),
        (["score"], None, False),
        (["score[1]"], [None, 1], True),
        ([], 0.5, False),
    ],
)
def test_a_broken_record_is_a_rollout_where_a_sign_or_an_item_of_one_is_a_number(signs, score, is_kept):
    mapping = mapping_with(verdicts=[], signs=signs)
    frame, problems = read(mapping, [{"id": "a", "reply": 3, "score": score}, {"id": "b", "reply": "x"}])
    assert frame.height == 1 + is_kept
    assert [row[2] for row in problems] == ["reply"]


@pytest.mark.parametrize(
    ("kind", "name", "is_kept"),
    [
        (str, "a", True),
        (str, 3, True),
        (str, None, False),
        (str, ["a"], False),
        (str, 2.5, False),
        (Small, "a", False),
        (Small, -1, True),
        (Small, 10**30, True),
    ],
)
def test_a_broken_record_keeps_the_id_that_is_a_name_or_a_number(kind, name, is_kept):
    mapping = mapping_with(fields={"id": kind, "reply": str}, facts={"attempt": "trial"})
    good = {"id": 7 if kind is Small else "g", "reply": "x"}
    frame, problems = read(mapping, [{"id": name, "reply": 3, "trial": -1, "verdict": "held"}, good])
    assert [one.partition("/")[2] for one in frame["rollout_id"]] == [*[str(name)] * is_kept, str(good["id"])]
    assert frame["attempt"].to_list() == [None] * (1 + is_kept), "an attempt is 1 or more"
    assert len(problems) == 1


def test_columns_may_show_an_object_as_it_is_in_the_file():
    columns = {"info_*": lambda record: record.raw["info"], "cost": lambda record: record["info"]["cost"]}
    mapping = mapping_with(facts={"total_cost_usd": "info.cost"}, columns=columns)
    rows = [{"id": "a", "reply": "x", "info": {"cost": cost}} for cost in (3, "3")]
    rows[1]["id"] = "b"
    frame, problems = read(mapping, rows)
    assert frame.select("total_cost_usd", "cost", "info_cost").rows() == [(3.0, 3.0, "3"), (None, None, '"3"')]
    assert [row[2] for row in problems] == ["info.cost"]


def test_the_fields_of_a_record_within_a_line_are_named_by_their_path():
    def items(document, _, around):
        for number, line in document.records():
            for place, item in enumerate(line["items"]):
                yield Record(item, f"{number}.{place}", around, within=f"items[{place}]")

    frame, problems = read(mapping_with(records=items), [{"items": [{"id": "a", "reply": "x"}, {"id": 3}]}])
    assert frame.height == 1
    assert [(row[1], row[2]) for row in problems] == [("0.1", "items[1].id")]


def test_a_line_without_records_is_told():
    frame, problems = read(
        mapping_with(records="results[*]"), [{"results": [{"id": "a", "reply": "x"}]}, {"results": []}]
    )
    assert frame["response"].to_list() == ["x"]
    assert problems == [("log.json", "1", None, "holds no records at `results[*]`")]
