"""Which model judges: a `transformers` model by its folder, or one that is loaded already, set as the page says."""

from pathlib import Path
from typing import Any

import pytest
from tiny_llama import save_tiny_llama  # type: ignore[import-not-found]

import rollwise as rw
from rollwise.errors import ArgumentError

TEMPLATE = "From {lower_bound} to {upper_bound}: {response}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Llama, whose answers are noise."""
    made: Path = save_tiny_llama(tmp_path_factory.mktemp("model") / "tiny-llama")
    return made


def test_a_text_is_a_transformers_model(folder: Path) -> None:
    """By its folder, as on the page: greedy answers repeat; what cannot be read is null and stops nothing."""
    lengths: dict[str, Any] = {
        "structured_output": False,
        "parser": lambda text: 1 + len(text) % 5,
        "gen_kwargs": {"max_new_tokens": 9},
    }
    metric = rw.judges.LLMJudgeMetric(str(folder), TEMPLATE, **lengths)
    found = metric(["the sea", "a hill", "the sea"])
    assert found["scores"] == metric(["the sea", "a hill", "the sea"])["scores"]
    assert all(1 <= score <= 5 for score in found["scores"])
    assert rw.judges.LLMJudgeMetric(str(folder), TEMPLATE)(["x"])["scores"] == [None]
    with pytest.raises(ArgumentError, match="set a temperature"):
        rw.judges.LLMJudgeMetric(str(folder), TEMPLATE, gen_kwargs={"num_return_sequences": 2})


def test_samples_of_a_transformers_model_are_drawn(folder: Path) -> None:
    """The page's options: three verdicts on each response, not all alike, the same the next time."""
    said: list[str] = []

    def parser(text: str) -> float:
        said.append(text)
        return 1 + len(said) % 5

    options: dict[str, Any] = {
        "temperature": 0.8,
        "num_return_sequences": 3,
        "do_sample": True,
        "max_new_tokens": 12,
        "top_p": 0.9,
    }
    for _ in range(2):
        metric = rw.judges.LLMJudgeMetric(
            str(folder), TEMPLATE, structured_output=False, parser=parser, gen_kwargs=options
        )
        (raw,) = metric(["the sea"])["raw_scores"]
        assert len(raw) == 3
    assert len(set(said[:3])) == 3
    assert said[:3] == said[3:]


def test_a_model_that_is_loaded_already(folder: Path) -> None:
    """With its tokenizer; a device beside it is ignored with a warning. One without a template is asked all the same."""
    transformers = pytest.importorskip("transformers")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    lengths: dict[str, Any] = {"structured_output": False, "parser": lambda text: 3.0}
    with pytest.warns(UserWarning, match="device='cpu' is ignored"):
        metric = rw.judges.LLMJudgeMetric(model, TEMPLATE, tokenizer, "cpu", **lengths)
    assert metric(["x"])["scores"] == [3.0]
    tokenizer.chat_template = None
    assert rw.judges.LLMJudgeMetric(model, TEMPLATE, tokenizer, **lengths)(["x"])["scores"] == [3.0]
