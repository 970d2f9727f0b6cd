"""Dialogues whose speakers have names of their own: who is the target is asked, and the typed line reads them."""

import csv
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import rollwise as rw
from rollwise.errors import ArgumentError, ReadError
from tests.readers.any_file.stranger import typed

SAID = ("May I ask?", "You may.", "What is two plus two?", "It is four.")


def dialogue(field: str, text: str, speakers: tuple[str, str] = ("Student", "Teacher")) -> list[dict[str, str]]:
    """Return two questions and their answers."""
    return [{field: speakers[place % 2], text: words} for place, words in enumerate(SAID)]


def saved(path: Path, records: list[Any]) -> Path:
    """Write JSON lines, or one JSON value."""
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def rows(path: Path) -> Path:
    """Write a table of messages."""
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["conversation_id", "speaker", "text"])
        table.writerows([f"c{n}", *message.values()] for n in range(3) for message in dialogue("speaker", "text"))
    return path


def in_cells(path: Path) -> Path:
    """Write a table with a dialogue as text in each cell."""
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "conversation"])
        table.writerows([f"c{n}", json.dumps(dialogue("role", "content"))] for n in range(3))
    return path


def lists(path: Path, chat: str, field: str, text: str) -> Path:
    """Write records that hold a dialogue each."""
    return saved(path, [{"id": f"c{n}", chat: dialogue(field, text)} for n in range(3)])


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    "shape",
    ["exchanges", "messages", "history", "table", "cells", "message lines", "nested", "wrapped", "one dialogue"],
)
def test_the_typed_line_reads_the_dialogues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: str) -> None:
    monkeypatch.chdir(tmp_path)
    path = {
        "exchanges": lambda: lists(Path("log.jsonl"), "exchanges", "speaker", "message"),
        "messages": lambda: lists(Path("log.jsonl"), "messages", "role", "content"),
        "history": lambda: lists(Path("log.jsonl"), "history", "name", "text"),
        "table": lambda: rows(Path("log.csv")),
        "cells": lambda: in_cells(Path("log.csv")),
        "message lines": lambda: saved(
            Path("log.jsonl"),
            [{"conversation_id": n, **message} for n in range(3) for message in dialogue("role", "content")],
        ),
        "nested": lambda: saved(
            Path("log.json"), [{"runs": [{"id": n, "dialogue": dialogue("agent", "utterance")} for n in range(3)]}]
        ),
        "wrapped": lambda: saved(
            Path("log.json"), [{"conversations": [{"id": n, "messages": dialogue("from", "value")} for n in range(3)]}]
        ),
        "one dialogue": lambda: saved(Path("log.json"), [dialogue("role", "content")]),
    }[shape]()
    asked = typed(["report", str(path), "--out", "page"])
    assert asked.code == 2
    assert "who is the target, Student or Teacher?" in asked.text
    line = asked.text.strip().splitlines()[-1]
    assert line.startswith("try: rollwise report ")
    assert typed(shlex.split(line)[2:]).code == 2  # a `?` is no name
    answer = typed(shlex.split(line.replace("role:?=", "role:Teacher="))[2:])
    count = 1 if shape == "one dialogue" else 3
    assert f"read {count} rollout{'s' * (count > 1)}, {2 * count} turns, 0 problems" in answer.text


def read(path: Path, speakers: Mapping[str, str], field: str = "role") -> list[tuple[Any, ...]]:
    """Read a log with these meanings of its speakers, and return its texts."""
    turns = rw.read(path, names={"role": (field, speakers)})
    return turns.select("context", "prompt", "response", "observation").rows()


def test_a_table_of_ids_and_chats_is_read(tmp_path: Path) -> None:
    with (tmp_path / "log.csv").open("w", newline="") as file:
        chat = json.dumps(dialogue("role", "content", ("user", "assistant")))
        csv.writer(file).writerows([["id", "conversation"], *([f"c{n}", chat] for n in range(3))])
    assert rw.read(tmp_path / "log.csv")["rollout_id"].n_unique() == 3


def test_whoever_is_no_target_asks(tmp_path: Path) -> None:
    speakers = ("Narrator", "Al", "Bo", "Cy", "Bo", "Al")
    chat = [{"role": name, "content": str(place)} for place, name in enumerate(speakers)]
    path = saved(tmp_path / "log.jsonl", [{"messages": chat}])
    assert read(path, {"Bo": "assistant"}) == [(None, "0\n\n1", "2", None), (None, "3", "4", "5")]
    assert read(path, {"Bo": "assistant", "Narrator": "system"}) == [("0", "1", "2", None), (None, "3", "4", "5")]


def test_a_lone_unknown_speaker_is_named_in_the_line(tmp_path: Path) -> None:
    path = saved(tmp_path / "log.jsonl", [{"messages": dialogue("role", "content", ("user", "gpt-4"))}])
    with pytest.raises(ReadError, match=r'names=\{"role": \("role", \{"gpt-4": "assistant"\}\)\}'):
        rw.read(path)
    assert read(path, {"gpt-4": "assistant"})[0][1:3] == SAID[:2]


def test_names_that_fit_nobody_are_refused(tmp_path: Path) -> None:
    path = saved(tmp_path / "log.jsonl", [{"messages": dialogue("role", "content")}])
    with pytest.raises(ArgumentError, match="nobody is called 'Techer' there; did you mean `Teacher`"):
        read(path, {"Techer": "assistant"})
    with pytest.raises(ArgumentError, match="`role` says what a speaker is"):
        read(path, {"Teacher": "target"})


def test_known_speakers_and_texts_that_are_no_dialogue_are_not_asked_about(tmp_path: Path) -> None:
    sources = [{"source": "a.pdf", "text": "A."}, {"source": "b.pdf", "text": "B."}]
    quotes = [{"author": "Ann", "text": "A."}, {"author": "Bob", "text": "B."}]
    records = [{"prompt": f"Who {n}?", "response": "Ann.", "docs": sources, "quotes": quotes} for n in range(3)]
    assert rw.read(saved(tmp_path / "a.jsonl", records)).height == 3
    chats = [{"messages": dialogue("role", "content", ("user", "assistant"))}] * 2
    assert rw.read(saved(tmp_path / "b.jsonl", chats)).height == 4


def test_conversations_in_one_object_are_a_rollout_each(tmp_path: Path) -> None:
    said = [{"prompt": f"Do {n}", "response": "Sure.", "jailbroken": n < 2} for n in range(6)]
    turns = rw.read(saved(tmp_path / "log.json", [{"conversations": said}]))
    assert turns["rollout_id"].n_unique() == 6
    turns = rw.read(
        saved(
            tmp_path / "log.json",
            [{"conversations": [{"messages": dialogue("role", "content", ("user", "assistant"))}] * 3}],
        )
    )
    assert turns["rollout_id"].n_unique() == 3
