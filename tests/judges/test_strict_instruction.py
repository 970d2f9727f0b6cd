"""IFEval's accuracies, and what they are of."""

import copy
from typing import Any

import pytest

from rollwise.errors import MetricError
from rollwise.judges import StrictInstruction, detect_language

RESPONSES: list[dict[str, Any]] = [
    {
        "prompt": "Twice, please.",
        "response": "Sure:\nhello there\nbye",
        "instruction_id_list": ["punctuation:no_comma", "change_case:english_lowercase"],
        "kwargs": [{}, {"num_words": None}],
    },
    {
        "response": "one two, three",
        "instruction_id_list": ["length_constraints:number_words", "punctuation:no_comma"],
        "kwargs": [{"num_words": 3, "relation": "at least", "letter": None}, None],
    },
    {"response": None, "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]},
    {"response": " ", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]},
]


def english(_: str) -> str:
    return "en"


def test_accuracies_by_prompt_by_instruction_and_by_kind() -> None:
    """By hand: of three prompts that were answered, and of their five instructions."""
    before = copy.deepcopy(RESPONSES)
    scores = StrictInstruction(english)(RESPONSES)
    assert scores == {
        "strict_prompt_accuracy": 0.0,
        "strict_instruction_accuracy": pytest.approx(2 / 5),
        "strict_category_accuracy": {
            "punctuation": pytest.approx(1 / 3),
            "change_case": 0.0,
            "length_constraints": 1.0,
        },
        "loose_prompt_accuracy": pytest.approx(1 / 3),
        "loose_instruction_accuracy": pytest.approx(3 / 5),
        "loose_category_accuracy": {"punctuation": pytest.approx(1 / 3), "change_case": 1.0, "length_constraints": 1.0},
        "follow_all_instructions": [False, False, None, False],
    }
    assert before == RESPONSES


@pytest.mark.integration
def test_lists_beside_plain_texts_say_the_same() -> None:
    """Texts with their instructions in two lists."""
    ids, kwargs = ([response[key] for response in RESPONSES] for key in ("instruction_id_list", "kwargs"))
    texts = [response["response"] for response in RESPONSES]
    metric = StrictInstruction(english)
    assert metric(texts, instruction_id_list=ids, kwargs=kwargs) == metric(RESPONSES)


def test_one_row_for_each_response_and_instruction() -> None:
    """The long table, in order."""
    table = StrictInstruction(english).by_instruction(RESPONSES)
    assert table.rows() == [
        (0, "punctuation:no_comma", "punctuation", True, True),
        (0, "change_case:english_lowercase", "change_case", False, True),
        (1, "length_constraints:number_words", "length_constraints", True, True),
        (1, "punctuation:no_comma", "punctuation", False, False),
        (2, "punctuation:no_comma", "punctuation", None, None),
        (3, "punctuation:no_comma", "punctuation", False, False),
    ]


def test_nothing_is_no_accuracy() -> None:
    """No response at all, and none that is known."""
    for responses in ([], RESPONSES[2:3]):
        scores = StrictInstruction(english)(responses)
        assert scores["strict_prompt_accuracy"] is None
        assert scores["loose_instruction_accuracy"] is None
        assert scores["strict_category_accuracy"] == {}
        assert scores["follow_all_instructions"] == [None] * len(responses)


def test_sentences_can_be_counted_otherwise() -> None:
    """A counter of one's own reaches the check."""
    asked = {
        "instruction_id_list": [["length_constraints:number_sentences"]],
        "kwargs": [[{"num_sentences": 9, "relation": "at least"}]],
    }
    assert StrictInstruction(count_sentences=len)(["nine chars"], **asked)["follow_all_instructions"] == [True]
    assert StrictInstruction()(["nine chars"], **asked)["follow_all_instructions"] == [False]


@pytest.mark.parametrize(
    ("responses", "options"),
    [
        (["a"], {}),
        (["a"], {"instruction_id_list": [["punctuation:no_comma"]]}),
        (["a"], {"instruction_id_list": [["punctuation:no_comma"]], "kwargs": [[{}, {}]]}),
        ([{"response": "a", "instruction_id_list": [], "kwargs": []}], {}),
        (["a"], {"instruction_id_list": [], "kwargs": []}),
    ],
)
def test_instructions_that_are_lacking_are_refused(responses: list[Any], options: dict[str, Any]) -> None:
    """The sentence names the response, or the list that is too short."""
    with pytest.raises(MetricError, match=r"response 0 needs|1 response but 0 of"):
        StrictInstruction()(responses, **options)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The cat sat on the mat and looked at the dog.", "en"),
        ("Der Hund läuft über die Straße und bellt.", "de"),
        ("今日はいい天気ですね", "ja"),
        ("मेरा नाम क्या है", "hi"),
        ("你好，世界", "zh"),
        ("1 + 1 = 2", None),
        ("", None),
    ],
)
def test_the_language_of_a_text(text: str, language: str | None) -> None:
    """Sentences in scripts of all kinds; nothing without a letter."""
    pytest.importorskip("py3langid", reason="py3langid (extra `language`) is not installed")
    assert detect_language(text) == language
    assert {detect_language(text) for _ in range(3)} == {language}


def test_without_a_detector_the_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named, and the way without it."""
    import sys

    from rollwise.judges import instructions

    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    instructions._identifier.cache_clear()
    with pytest.raises(MetricError, match=r"pip install 'py3langid>=0\.4'"):
        detect_language("word")
    instructions._identifier.cache_clear()
