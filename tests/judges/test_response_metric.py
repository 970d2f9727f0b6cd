# ruff: noqa: ARG002, D102  # a class of the page stands here as the page has it
"""Classes of AISteer360's page run unchanged; whatever is a metric is called alike."""

from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rollwise as rw
from rollwise import ResponseMetric as Metric
from rollwise.errors import MetricError
from rollwise.judges.response_metric import require_same_length


class PageDistinctN(Metric):
    """The page's example, word for word but for its import and its name."""

    def __init__(self, n: int = 2):
        super().__init__()
        self.n = n

    def _ngrams(self, tokens: list[str]):
        return zip(*(islice(tokens, i, None) for i in range(self.n)))  # noqa: B905

    def compute(
        self,
        responses: list[str],
        prompts: list[str] | None = None,
        **kwargs: Any,
    ) -> dict[str, float]:
        total_ngrams = 0
        unique_ngrams: set[tuple[str, ...]] = set()

        for response in responses:
            response = response.lower()  # noqa: PLW2901
            tokens = response.split()
            grams = list(self._ngrams(tokens))
            total_ngrams += len(grams)
            unique_ngrams.update(grams)

        score = len(unique_ngrams) / total_ngrams if total_ngrams else 0.0
        return {f"distinct_{self.n}": score}


RESPONSES = ["I love exploring new places.", "I love exploring new places.", "Traveling is my passion."]


@pytest.mark.parametrize(("n", "score"), [(1, 9 / 14), (2, 7 / 11), (3, 5 / 8), (5, 1 / 2), (6, 0.0)])
def test_the_pages_class_and_ours_give_the_pages_values(n: int, score: float) -> None:
    """The three responses of the page; no n-gram is 0.0, as the page says."""
    for metric in (PageDistinctN(n), rw.judges.DistinctN(n)):
        assert metric.compute(responses=RESPONSES) == {f"distinct_{n}": score} == metric(RESPONSES, None, other=1)


@pytest.mark.integration
@given(st.lists(st.text(alphabet="aAbB., \t\n\x1c\x85é", max_size=12), max_size=5), st.integers(1, 4))
def test_ours_is_the_pages_for_any_text(responses: list[str], n: int) -> None:
    """Empty lists, blanks and all."""
    assert rw.judges.DistinctN(n)(responses) == PageDistinctN(n)(responses)


def test_a_missing_response_repeats_nothing() -> None:
    """None has no words."""
    assert rw.judges.DistinctN(1)([None, *RESPONSES, None]) == rw.judges.DistinctN(1)(RESPONSES)
    assert rw.judges.DistinctN(1)([None]) == {"distinct_1": 0.0}


def test_a_metric_has_a_name_and_extras() -> None:
    """The name is that of the class and can be given; extras are what the constructor was given."""

    class Mine(Metric):
        def compute(self, responses, prompts=None, **kwargs):
            return {"n": len(responses), "prompts": prompts, **kwargs}

    metric = Mine(scale=3)
    assert (metric.name, metric.extras) == ("Mine", {"scale": 3})
    metric.name = "other"
    assert metric.name == "other"
    assert metric(["a"], prompts=["b"], ids=[1]) == {"n": 1, "prompts": ["b"], "ids": [1]}


def test_a_metric_without_compute_is_none() -> None:
    """The abstract method has to be there."""
    with pytest.raises(TypeError, match="compute"):
        Metric()  # type: ignore[abstract]


def never(texts: Any) -> Any:
    """A model that must not be asked."""
    raise AssertionError(texts)


@pytest.mark.parametrize(
    ("metric", "given"),
    [
        (rw.judges.DistinctN(1), {}),
        (rw.judges.ShortAnswerMatch(), {"references": ["x"] * 7}),
        (rw.judges.Similarity(), {"references": ["x"] * 7}),
        (rw.judges.ScorerMetric(never), {}),
        (rw.judges.MCQAAccuracy(), {"reference_answers": ["x"] * 7}),
        (rw.judges.MCQAPositionalBias(), {}),
        (rw.judges.MCQACalibration(), {"reference_answers": ["x"] * 7, "confidence_scores": [0.5] * 7}),
        (rw.judges.StrictInstruction(), {"instruction_id_list": [[]] * 7, "kwargs": [[]] * 7}),
        (rw.judges.ToolUse(), {"expected_calls": [[]] * 7}),
        (rw.judges.Composite({"it": (rw.judges.DistinctN(1), "distinct_1")}, {"it": 1}), {}),
        (rw.judges.Relevance(never), {"prompts": ["Capital?"] * 7}),
        (rw.judges.Refusal(never), {"prompts": "Capital?"}),
    ],
    ids=lambda given: getattr(given, "name", ""),
)
def test_one_text_is_no_list_of_responses(metric: Metric, given: dict[str, Any]) -> None:
    """Its letters are not measured, nor paid for, whichever way the metric is called."""
    said = r": `responses` is one text, 'Dublin.'; give a list, even of a single text"
    for call in (metric, metric.compute):
        with pytest.raises(MetricError, match=said):
            call("Dublin.", **given)
        with pytest.raises(MetricError, match=said):
            call(responses="Dublin.", **given)


@pytest.mark.parametrize(
    ("metric", "given"),
    [
        (rw.judges.DistinctN(1), {}),
        (rw.judges.ShortAnswerMatch(), {"references": ["x", "x"]}),
        (rw.judges.Similarity(), {"references": ["x", "x"]}),
        (rw.judges.MCQAAccuracy(), {"reference_answers": ["x", "x"]}),
        (rw.judges.MCQAPositionalBias(), {}),
        (rw.judges.StrictInstruction(), {"instruction_id_list": [["punctuation:no_comma"]] * 2, "kwargs": [[{}]] * 2}),
    ],
    ids=lambda given: getattr(given, "name", ""),
)
@pytest.mark.parametrize("other", [7, b"x", ["x"], float("nan")])
def test_what_is_no_text_is_no_response(metric: Metric, given: dict[str, Any], other: Any) -> None:
    """The response is named, and what it is."""
    with pytest.raises(
        MetricError, match=rf"{metric.name}: response 1 is .*, which is not text; give texts, and None for"
    ):
        metric(["x", other], **given)


def test_one_text_is_no_list_of_anything_else() -> None:
    """References, rendered prompts, and the responses of somebody's own metric."""
    with pytest.raises(MetricError, match="Similarity: `references` is one text, 'ab'; give a list"):
        rw.judges.Similarity()(["a", "b"], references="ab")
    with pytest.raises(MetricError, match="Relevance: `rendered_prompts` is one text"):
        rw.judges.Relevance(never).score_rendered("Rate this.")
    with pytest.raises(MetricError, match="PageDistinctN: `responses` is one text, b'a b'; give a list"):
        PageDistinctN(1)(b"a b")
    assert PageDistinctN(1)(["a a b"]) == PageDistinctN(1).compute(["a a b"]) == {"distinct_1": 2 / 3}


def test_lengths_have_to_agree() -> None:
    """The sentence says what there is too little of."""
    metric = rw.judges.DistinctN()
    require_same_length(metric, ["a"], ids=None, references=["b"])
    with pytest.raises(MetricError, match="DistinctN: 2 responses but 1 of `ids`"):
        require_same_length(metric, ["a", "b"], ids=[1])
