"""Results of tools, attached to their calls where a log knows whose they are; nothing of a log is lost, and unknown stays null."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.schema import TOOL_RESULTS

ASKED, DONE = {"role": "user", "content": "go"}, {"role": "assistant", "content": "done"}
Result = tuple[str | None, str | None, str | None]  # id, result, status


def asks(*calls: tuple[Any, str], **fields: Any) -> dict[str, Any]:
    """An answer that calls tools, each with an id and a name."""
    made = [{"id": name, "function": {"name": tool, "arguments": "{}"}} for name, tool in calls]
    return {"role": "assistant", "content": None, "tool_calls": made, **fields}


def back(name: Any, text: str, **fields: Any) -> dict[str, Any]:
    """The message of a tool."""
    return {"role": "tool", "tool_call_id": name, "content": text, **fields}


def read(folder: Path, *messages: dict[str, Any]) -> pl.DataFrame:
    """A chat, read from a file."""
    path = folder / "chat.jsonl"
    path.write_text(json.dumps({"id": "r", "messages": [ASKED, *messages, DONE]}))
    return rw.read(path)


def results(frame: pl.DataFrame, turn: int = 1) -> list[Result] | None:
    """The results of a turn."""
    cell = frame.filter(pl.col("turn") == turn)["tool_results"].to_list()[0]
    return None if cell is None else [(one["id"], one["result"], one["status"]) for one in cell]


KNOWN: dict[str, tuple[list[dict[str, Any]], list[Result]]] = {
    "by id, in any order": (
        [asks(("a", "f"), ("b", "g")), back("b", "B"), back("a", "A")],
        [("a", "A", None), ("b", "B", None)],
    ),
    "by order, where no result has an id": (
        [asks((None, "f"), ("", "g")), back(None, "1"), {"role": "function", "name": "g", "content": "2"}],
        [(None, "1", None), (None, "2", None)],
    ),
    "an error that is null, and one that is not": (
        [asks(("a", "f"), ("b", "f")), back("a", "A", error=None), back("b", "", error="no such file")],
        [("a", "A", "ran"), ("b", "no such file", "failed")],
    ),
    "flags and words": (
        [asks(("a", "f"), ("b", "f"), ("c", "f")), back("a", "A", is_error=False), back("b", "B", status="error"),
         back("c", "C", status="denied")],
        [("a", "A", "ran"), ("b", "B", "failed"), ("c", "C", "refused")],
    ),
    "the message's own number is the call's id": (
        [asks(("a", "f")), {"role": "tool", "id": "a", "content": "A"}], [("a", "A", None)],
    ),
    "parts of Anthropic, beside a text": (
        [{"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
         {"role": "user", "content": [
             {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "R"}], "is_error": True},
             {"type": "text", "text": "go on"}]}],
        [("t", "R", "failed")],
    ),
    "parts of the AI SDK": (
        [{"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "t", "toolName": "f", "args": {}}]},
         {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "t", "toolName": "f", "result": {"a": 1}}]}],
        [("t", '{"a":1}', None)],
    ),
    "parts of the AI SDK with a type around the value": (
        [{"role": "assistant", "content": [
             {"type": "tool-call", "toolCallId": one, "toolName": "f", "input": {}} for one in "abcd"]},
         {"role": "tool", "content": [
             {"type": "tool-result", "toolCallId": one, "toolName": "f", "output": {"type": kind} | value}
             for one, kind, value in (
                 ("a", "json", {"value": {"a": 1}}), ("b", "text", {"value": "B"}), ("c", "error-text", {"value": "C"}),
                 ("d", "execution-denied", {"reason": "D"}),
             )]}],
        [("a", '{"a":1}', None), ("b", "B", None), ("c", "C", "failed"), ("d", "D", "refused")],
    ),
    "inside of the call": (
        [{"role": "assistant", "content": None, "tool_calls": [{"name": "f", "arguments": {}, "output": "42"}]}],
        [(None, "42", None)],
    ),
    "after a further answer": ([asks(("a", "f")), DONE, back("a", "late")], [("a", "late", None)]),
    "the same result twice": ([asks(("a", "f")), back("a", "A"), back("a", "A")], [("a", "A", None)]),
}  # fmt: skip
UNKNOWN: dict[str, tuple[list[dict[str, Any]], list[Result] | None]] = {
    "an id of no call": ([asks(("a", "f")), back("z", "B")], [("a", None, None)]),
    "two results with one id": ([asks(("a", "f")), back("a", "B"), back("a", "C")], [("a", None, None)]),
    "two calls with one id": (
        [asks(("a", "f"), ("a", "g")), back("a", "B"), back("a", "C")],
        [("a", None, None), ("a", None, None)],
    ),
    "fewer results than calls, without ids": ([asks((None, "f"), (None, "g")), back(None, "B")], None),
    "a result of another tool": ([asks((None, "f")), {"role": "function", "name": "g", "content": "B"}], None),
    "what the user says": ([asks((None, "f")), {"role": "user", "content": "B"}], None),
    "no call": ([back(None, "B")], None),
}


@pytest.mark.thinned(40)
@pytest.mark.parametrize("name", KNOWN)
def test_a_result_is_beside_its_call(name: str, tmp_path: Path) -> None:
    messages, expected = KNOWN[name]
    assert results(read(tmp_path, *messages)) == expected


@pytest.mark.thinned(40)
@pytest.mark.parametrize("name", UNKNOWN)
def test_whose_a_result_is_is_never_guessed_and_it_stays_in_the_prompt(name: str, tmp_path: Path) -> None:
    messages, expected = UNKNOWN[name]
    frame = read(tmp_path, *messages)
    assert results(frame) == expected
    assert all(str(message["content"]) in "\n".join(frame["prompt"].drop_nulls()) for message in messages[1:])


def test_prompt_and_observation_hold_what_they_held(tmp_path: Path) -> None:
    """Results are in both: a text metric of the prompt counts what it counted."""
    path = tmp_path / "chat.json"
    path.write_text(
        json.dumps([{"messages": [ASKED, asks(("a", "f")), back("a", "A"), asks(("b", "f")), back("b", "B")]}])
    )
    frame = rw.read(path)
    assert frame["prompt"].to_list() == ["go", "A"]
    assert frame["observation"].to_list() == [None, "B"]
    assert (results(frame, 1), results(frame, 2)) == ([("a", "A", None)], [("b", "B", None)])


@pytest.mark.integration
@pytest.mark.parametrize("ending", [".parquet", ".csv", ".json", ".jsonl", ".arrow"])
def test_results_survive_a_file(ending: str, tmp_path: Path) -> None:
    frame = read(tmp_path, asks(("a", "f"), ("b", "g")), back("b", "x,\n\"<'", error=None))
    rw.write(frame, tmp_path / f"turns{ending}")
    assert rw.read(tmp_path / f"turns{ending}")["tool_results"].to_list() == frame["tool_results"].to_list()


@pytest.mark.thinned(3)
@pytest.mark.parametrize("value", ["some text", ["a"], [{"tool_call_id": "a", "output": "R"}], {"a": 1}, 3])
def test_a_column_of_that_name_in_another_form_is_one_of_the_log(value: Any, tmp_path: Path) -> None:
    row = {"rollout_id": "r", "turn": 1, "prompt": "p", "response": "x", "succeeded": True, "tool_results": value}
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row))
    for frame in (rw.read(path), rw.turns(pl.DataFrame([row]))):
        assert frame["tool_results"].to_list() == [None]
        assert frame["tool_results_source"].null_count() == 0


def test_a_fork_after_a_result_has_it_once(tmp_path: Path) -> None:
    """Claude Code: two answers after one result, without an answer above that would count twice."""
    made = {"type": "tool_use", "id": "t", "name": "Read", "input": {}}
    said = {"type": "tool_result", "tool_use_id": "t", "content": "R", "is_error": False}
    lines = [
        ("1", None, "user", "go"),
        ("2", "1", "assistant", [made]),
        ("3", "2", "user", [said]),
        ("4", "3", "assistant", "one"),
        ("5", "3", "assistant", "other"),
    ]
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(
        json.dumps({"sessionId": "s", "uuid": uuid, "parentUuid": above, "type": role,
                    "message": {"role": role, "content": content}})
        for uuid, above, role, content in lines
    ))  # fmt: skip
    frame = rw.read(path)
    assert frame.height == 3
    assert frame["tool_results"].to_list() == [[{"id": "t", "result": "R", "status": "ran"}], None, None]


def raw_results(folder: Path) -> dict[str, int]:
    """Results in real files, counted without the readers: messages of tools whose id is that of a call before them."""
    count = {"calls": 0, "results": 0, "failed": 0}
    for path in folder.rglob("*.json"):
        value = json.loads(path.read_text())
        for record in value if isinstance(value, list) else [value]:
            chat = record.get("traj") or record.get("conversations") or []
            ids = [call.get("id") for message in chat for call in message.get("tool_calls") or ()]
            tools = [message for message in chat if message["role"] == "tool" and message.get("tool_call_id") in ids]
            count["calls"] += len(ids)
            count["results"] += len(tools)
            count["failed"] += sum(bool(message.get("error")) for message in tools)
    return count


@pytest.mark.integration
@pytest.mark.parametrize(("folder", "refused"), [("agentdojo_drift", 69), ("tau_bench", 0)])
def test_real_logs_have_the_results_that_a_second_count_finds(folder: str, refused: int, shared: Path) -> None:
    cells = (
        rw.read(shared / folder).select(pl.col("tool_results").explode()).unnest("tool_results").drop_nulls("result")
    )
    count = raw_results(shared / folder)
    assert cells.height == count["results"] + refused
    assert cells["status"].eq("failed").sum() == count["failed"]
    assert cells["status"].eq("refused").sum() == refused
    assert count["calls"] == count["results"] > 1000


def test_the_dtype_is_that_of_the_schema(tmp_path: Path) -> None:
    assert read(tmp_path).schema["tool_results"] == TOOL_RESULTS


def test_a_value_of_the_ai_sdk_is_the_text_of_its_message(tmp_path: Path) -> None:
    """The next prompt has what the tool returned, not the name of its part beside it."""
    messages, _ = KNOWN["parts of the AI SDK with a type around the value"]
    assert read(tmp_path, *messages)["prompt"].to_list() == ["go", '{"a":1}\nB\nC\nD']
