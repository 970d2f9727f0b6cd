"""Commands speak of commands: a refusal names no function of Python as if it could be typed in a shell."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rollwise.cli.options import in_options
from tests.readers.any_file.stranger import typed

FILES: dict[str, Any] = {
    "prompts.json": [{"prompt": "Hi", "category": "a"}, {"prompt": "Ho", "category": "b"}],
    "goals.json": [{"goal": "Hi", "target": "Sure"}, {"goal": "Ho", "target": "Sure"}],
    "verdicts.json": [{"judge": "a", "value": 1, "rollout_id": "x"}],
    "summary.json": [{"metric": "attack_success", "estimate": 0.5}],
    "labels.json": [{"rollout_id": "a", "annotator": "x", "my_label": "y"}],
    "pairs.json": [{"prompt": "p", "responses": ["a", "b"]}],
    "tries.json": [{"prompt": f"p {n}", "try 1": True, "try 2": n > 1} for n in range(4)],
    "texts.json": [{"prompt": "p", "response": "r", "score": "high"}, {"prompt": "q", "response": "s", "score": "0.5"}],
}


@pytest.mark.thinned(4)
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("command", ["read", "report", "measure", "map"])
def test_functions_of_python_are_said_to_be_that(tmp_path: Path, name: str, command: str) -> None:
    path = tmp_path / name
    path.write_text(json.dumps(FILES[name]))
    out = {"read": ["--out", str(tmp_path / "t.parquet")], "report": ["--out", str(tmp_path / "r")]}.get(command, [])
    text = typed([command, str(path), *out]).text
    assert not re.search(r"`(?:rw|frame|pl)\.[^`]*`(?! in Python)", text), text
    assert 'errors="collect"' not in text


def test_prompts_lead_to_the_columns_that_would_make_them_rollouts(tmp_path: Path) -> None:
    path = tmp_path / "prompts.json"
    path.write_text(json.dumps(FILES["prompts.json"]))
    text = typed(["read", str(path), "--out", str(tmp_path / "t.parquet")]).text
    assert "name their column (--column response=NAME or --column succeeded=NAME)" in text


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("read it with `rw.read`", "read it with `rollwise read`"),
        ("ask `rw.gate`", "ask `rollwise gate`"),
        ("`rw.rollout.paths(turns)` makes them", "`rw.rollout.paths(turns)` in Python makes them"),
        ("open it with `rw.judges.read_verdicts`", "open it with `rw.judges.read_verdicts` in Python"),
        (
            'left out (errors="collect" tells why and returns a pair, `frame, problems`)',
            "left out (--errors collect tells why)",
        ),
    ],
)
def test_words(sentence: str, words: str) -> None:
    assert in_options(sentence) == words
