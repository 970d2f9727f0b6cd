"""Which of several columns in doubt is asked about, and what is filled in of its answer: never what a code may mean."""

import json
from pathlib import Path
from typing import Any

import pytest

import rollwise as rw

Records = list[dict[str, Any]]


def records(**columns: list[Any]) -> Records:
    count = len(next(iter(columns.values())))
    texts = [{"prompt": f"please do {n}", "response": f"Here is {n}"} for n in range(count)]
    return [text | {name: values[n] for name, values in columns.items()} for n, text in enumerate(texts)]


def asked(folder: Path, log: Records) -> dict[str, Any]:
    """Return the names that answer the first question about a file."""
    path = folder / "log.json"
    path.write_text(json.dumps(log))
    (question, *_) = rw.propose(path).questions
    return dict(question.names)


@pytest.mark.integration
@pytest.mark.parametrize("codes", [[0, 1, 2], ["0", "1", "2"]])
def test_of_a_code_nothing_is_filled_in(tmp_path: Path, codes: list[Any]) -> None:
    """0 may be a refusal, and 2 an answer: no and yes are 0 and 1 where there is nothing else."""
    names = asked(tmp_path, records(refusal_clf_output=codes * 2))
    assert names == {"succeeded": ("refusal_clf_output", {"0": "?", "1": "?", "2": "?"})}


def test_of_words_beside_a_code_the_known_ones_are_filled_in(tmp_path: Path) -> None:
    names = asked(tmp_path, records(refusal_clf_label=["compliance", "refusal", "deflection"] * 2))
    labels = {"compliance": True, "deflection": "?", "refusal": False}
    assert names == {"succeeded": ("refusal_clf_label", labels)}


@pytest.mark.integration
def test_a_label_that_may_be_of_the_prompt_is_asked_about_last(tmp_path: Path) -> None:
    """Beside words on answers; and the words of answers come before their codes."""
    log = records(
        label=["safe", "unsafe"] * 3, clf_output=[2, 0, 1] * 2, clf_label=["compliance", "refusal", "deflection"] * 2
    )
    assert asked(tmp_path, log)["succeeded"][0] == "clf_label"
    assert asked(tmp_path, [{name: row[name] for name in ("prompt", "response", "label")} for row in log])[
        "succeeded"
    ] == ("label", {"safe": "?", "unsafe": "?"})


def test_a_refusal_beside_a_label_of_the_prompt_is_asked_about(tmp_path: Path) -> None:
    """Only a column that asks for the success of the attack comes before one that asks if the target held."""
    log = records(label=["safe", "unsafe"] * 2, blocked_by=["refusal", "compliance", "unsure", "refusal"])
    assert asked(tmp_path, log)["succeeded"][0] == "blocked_by"
