"""Results in YAML: read as the JSON that says the same, where the user names the file; settings and mappings are no results."""

import json
from pathlib import Path
from typing import Any

import pytest

import rollwise as rw
from rollwise.errors import ReadError
from rollwise.readers.sources import yaml_files

RECORDS = """\
- prompt: |
    please do 1
    now
  response: Here is 1
  jailbroken: true
- {prompt: please do 2, response: "No: I can't", jailbroken: false}
- {prompt: please do 3, response: Here is 3, jailbroken: yes, when: 2026-01-02}
"""


def written(folder: Path, text: str, name: str = "runs.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.thinned(4)
@pytest.mark.parametrize("name", ["runs.yaml", "runs.yml", "RUNS.YAML"])
@pytest.mark.parametrize(
    "text",
    [
        RECORDS,
        f"model: gpt-x\nresults:\n{RECORDS}",
        "---\nprompt: |\n  please do 1\n  now\nresponse: Here\n---\nprompt: a b\nresponse: c\n---\n{prompt: e f, response: g}\n",
    ],
    ids=["list", "object", "documents"],
)
def test_records_are_read(tmp_path: Path, name: str, text: str) -> None:
    turns = rw.read(written(tmp_path, text, name))
    assert turns.height == 3
    assert turns["prompt"].to_list()[0] == "please do 1\nnow\n"


def test_figures_are_those_of_the_same_in_json(tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [
        {"behavior": f"b{n}", "prompt": f"please do {n}", "response": f"Here is {n}", "jailbroken": n < 2}
        for n in range(5)
    ]
    turns = rw.read(written(tmp_path, json.dumps(records, indent=1)))  # JSON is YAML
    lines = "".join(f"- {json.dumps(record)}\n" for record in records)
    again = rw.read(written(tmp_path, lines, "again.yml"))
    assert turns["succeeded"].sum() == again["succeeded"].sum() == 2
    assert again["goal"].to_list() == [f"b{n}" for n in range(5)]


def test_one_record_in_a_file_is_read(tmp_path: Path) -> None:
    turns = rw.read(written(tmp_path, "model: m\nprompt: please do it\nresponse: Here it is\njailbroken: true\n"))
    assert (turns.height, turns["succeeded"].to_list(), turns["target"].to_list()) == (1, [True], ["m"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [1,\nb: {", "is not valid YAML in line"),
        ("a: &a [*a, {b: 1}]", "is nested too deeply, or an entry of it contains itself"),
        ("model: m\nseeds: [1, 2]\nmetrics: {a: 1}\n", "is not recognized"),
        ("just a text", "is not recognized"),
        ("!!python/object/apply:os.system ['true']", "is not valid YAML"),
    ],
)
def test_other_files_are_one_sentence(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ReadError, match=says):
        rw.read(written(tmp_path, text))


@pytest.mark.parametrize("name", ["my_runs.yml", "my_runs.json"])
@pytest.mark.parametrize("records", [{}, {"records": "results[*]"}])
def test_a_mapping_is_no_rollout(tmp_path: Path, name: str, records: dict[str, str]) -> None:
    mapping = {"prompt": "attack_prompt", "response": "reply", **records}
    rules = (
        {"verdicts": [{"of": "attack", "from": "judgment", "true": ["YES"], "false": ["NO"]}]} if not records else {}
    )
    with pytest.raises(ReadError, match="is a mapping, which says how other files are read"):
        rw.read(written(tmp_path, json.dumps(mapping | rules), name))


def test_time_and_memory_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    levels = [f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]" for before, name in zip("abcde", "bcdef")]  # noqa: B905
    bomb = "\n".join(["a: &a [x, x, x, x, x, x, x, x, x]", *levels])
    monkeypatch.setattr(yaml_files, "_MOST_VALUES", 10_000)
    with pytest.raises(ReadError, match="too many entries with those that its aliases repeat"):
        rw.read(written(tmp_path, bomb))
    monkeypatch.setattr(yaml_files, "MOST_BYTES", 100)
    with pytest.raises(ReadError, match="takes long to read: save it as JSON"):
        rw.read(written(tmp_path, RECORDS))


def test_in_a_folder_yaml_is_settings(tmp_path: Path) -> None:
    written(tmp_path, RECORDS, "settings.yaml")
    written(tmp_path, json.dumps([{"prompt": "do it", "response": "Here", "jailbroken": True}]), "runs.json")
    turns, problems = rw.read(tmp_path, errors="collect")
    assert turns.height == 1
    assert problems["reason"].to_list() == ["is not recognized"]


@pytest.mark.integration
@pytest.mark.parametrize("beside", [{}, {"README.md": "# runs", "notes.txt": "x"}])
def test_a_folder_of_yaml_alone_holds_results(tmp_path: Path, beside: dict[str, str]) -> None:
    for name in ("a", "b"):
        written(tmp_path, f"model: {name}\nresults:\n{RECORDS}", f"{name}.yaml")
    for name, text in beside.items():
        written(tmp_path, text, name)
    assert rw.read(tmp_path, errors="collect").frame.height == 6


def test_yaml_beside_logs_is_of_settings(tmp_path: Path) -> None:
    written(tmp_path, f"results:\n{RECORDS}", "a.yaml")
    written(tmp_path, '[{"prompt": "p", "response": "r", "jailbroken": true}]', "b.json")
    assert rw.read(tmp_path, errors="collect").frame.height == 1
