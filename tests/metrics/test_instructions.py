"""The 25 checks of IFEval, each with what follows and what does not, and plain Python as a second opinion."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rollwise as rw
from rollwise import metrics as m
from rollwise.errors import MetricError


def detect(text: str) -> str | None:
    """English has "the", German has "der"; of anything else nobody knows."""
    return "en" if "the" in text else "de" if "der" in text else None


def followed(instruction: str, texts: Sequence[str | None], **arguments: Any) -> list[bool | None]:
    frame = pl.DataFrame({"response": texts}, schema={"response": pl.String})
    return frame.select(m.instruction_followed(instruction, "response", **arguments)).to_series().to_list()


AT_LEAST, LESS = {"relation": "at least"}, {"relation": "less than"}
CASES: list[tuple[str, dict[str, Any], list[str], list[str]]] = [
    ("keywords:existence", {"keywords": ["cat", "c++"]}, ["C++ and Cats"], ["cats", "c and cat", " "]),
    ("keywords:frequency", {"keyword": " cat", "frequency": 2, **AT_LEAST}, ["Cat, cats"], ["cat"]),
    ("keywords:frequency", {"keyword": "cat", "frequency": 2, **LESS}, ["Cat", "dog"], ["cat concatenated", ""]),
    ("keywords:forbidden_words", {"forbidden_words": ["cat", "dog"]}, ["Cats hotdog"], ["a CAT.", "dog"]),
    ("keywords:letter_frequency", {"letter": "E", "let_frequency": 2, "let_relation": "at least"}, ["eE"], ["e"]),
    ("keywords:letter_frequency", {"letter": "!", "let_frequency": 2, "let_relation": "less than"}, ["ha!"], ["ha!!"]),
    ("language:response_language", {"language": "de", "detect": detect}, ["der Hund", "42"], ["the dog"]),
    ("length_constraints:number_sentences", {"num_sentences": 2, **AT_LEAST}, ["One. Two"], ["Dr. No", "3.14 of it"]),
    ("length_constraints:number_sentences", {"num_sentences": 2, **LESS}, ["Just one…"], ["One! Two?"]),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, ["a\n***\nb", "***a *** b***"], ["a", "a******b"]),
    ("length_constraints:number_words", {"num_words": 2, **AT_LEAST}, ["two words", "हिन्दी शब्द"], ["one", "हिन्दी"]),
    ("length_constraints:number_words", {"num_words": 2, **LESS}, ["one!"], ["two-words"]),
    (
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Then"},
        ["First.\n\n'\"Then, more.", "a\n\nthen"],
        ["a", "a\n\nthenceforth", "a\n\nthen\n\nb", "\n\nthen\n\nb\n\nc"],
    ),
    ("detectable_content:number_placeholders", {"num_placeholders": 2}, ["[a] and [b c]"], ["[a]", "[a\nb] [c]"]),
    ("detectable_content:postscript", {"postscript_marker": "P.S."}, ["Bye.\np. s. more", "P.S."], ["PS more"]),
    ("detectable_content:postscript", {"postscript_marker": "P.P.S"}, ["P. P. S more"], ["P.S. more"]),
    ("detectable_content:postscript", {"postscript_marker": "N.B."}, ["n.b. this"], ["nxbx this"]),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}, ["* a\n  - b", "- a\n- b"], ["* a", "**a**\n* b"]),
    ("detectable_format:constrained_response", {}, ["Well. My answer is no."], ["My answer is no", "my answer is no."]),
    (
        "detectable_format:number_highlighted_sections",
        {"num_highlights": 2},
        ["*a* b *c*", "**a** *b*"],
        ["**a**", "* *"],
    ),
    (
        "detectable_format:multiple_sections",
        {"section_spliter": "Section", "num_sections": 2},
        ["Section 1\nx\nSection 2"],
        ["Section 1", "SECTION 1 SECTION 2"],
    ),
    ("detectable_format:json_format", {}, ['{"a": [1]}', "```json\n[1]\n```", "3"], ["{'a': 1}", "[" * 100_000]),
    ("detectable_format:title", {}, ["<<A poem>>\nx"], ["<< >>", "<<A\npoem>>", "<A poem>"]),
    ("combination:two_responses", {}, ["a******b", "******a******b******"], ["a", "a******a ", "a****** ******b"]),
    ("combination:repeat_prompt", {"prompt_to_repeat": "Say it "}, [" say IT again"], ["He said: say it"]),
    ("startend:end_checker", {"end_phrase": "The end."}, ['so "THE END."', "The end. \n"], ["The end. Yes"]),
    ("startend:quotation", {}, [' "so\nit is" '], ['"', '"so', "«so»"]),
    (
        "change_case:capital_word_frequency",
        {"capital_frequency": 2, "capital_relation": "at least"},
        ["I AM"],
        ["I am"],
    ),
    (
        "change_case:capital_word_frequency",
        {"capital_frequency": 2, "capital_relation": "less than"},
        ["A 1"],
        ["A-B C"],
    ),
    ("change_case:english_capital", {"detect": detect}, ["THE END, É!", "OK"], ["The END", "DER HUND", "42"]),
    ("change_case:english_lowercase", {"detect": detect}, ["the end", "ok é"], ["The end", "der hund", "42"]),
    ("punctuation:no_comma", {}, ["a; b"], ["a, b", "  "]),
]


@pytest.mark.parametrize(("instruction", "arguments", "good", "bad"), CASES, ids=[case[0] for case in CASES])
def test_what_follows_an_instruction_and_what_does_not(
    instruction: str, arguments: dict[str, Any], good: list[str], bad: list[str]
) -> None:
    """Each check by hand; nothing follows from a blank, and of no response nothing is known."""
    assert followed(instruction, [*good, *bad, " \n", None], **arguments) == [True] * len(good) + [False] * (
        len(bad) + 1
    ) + [None]


def test_every_instruction_has_a_case() -> None:
    """All 25, and no other."""
    assert len(m.INSTRUCTIONS) == 25
    assert {instruction for instruction, *_ in CASES} == set(m.INSTRUCTIONS)


@pytest.mark.integration
@pytest.mark.parametrize(("instruction", "arguments", "good", "bad"), CASES, ids=[case[0] for case in CASES])
def test_what_follows_strictly_follows_loosely(
    instruction: str, arguments: dict[str, Any], good: list[str], bad: list[str]
) -> None:
    """The response itself is one of those that are tried."""
    assert followed(instruction, [*good, None], loose=True, **arguments) == [True] * len(good) + [None]
    assert len(bad) > 0


def test_loosely_the_first_line_the_last_and_asterisks_do_not_count() -> None:
    """Eight versions of a response are tried."""
    texts = ["Sure, here:\nno comma", "no comma\nRight, yes?", "A,\nno comma\nB,", "a, b", "A,\nb, c\nD", "one, line"]
    assert followed("punctuation:no_comma", texts, loose=True) == [True, True, True, False, False, False]
    assert followed("startend:quotation", ['**"so"**', 'Sure:\n*"so"*'], loose=True) == [True, True]
    assert followed("startend:quotation", ['**"so"**'], loose=False) == [False]


PIECES = [
    "The end. ",
    "A",
    "i",
    "\n",
    "\n\n",
    "***",
    "*x*",
    "**",
    "******",
    "- ",
    "* ",
    "<<t>>",
    "<<",
    "[p]",
    '"',
    "'",
    "É",
    ",",
    " ",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=10).map("".join)


def loosened(check: Callable[[str], bool]) -> Callable[[str], bool]:
    """IFEval's eight versions."""

    def loosely(text: str) -> bool:
        lines = text.split("\n")
        cut = [text, *("\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1]))]
        return any(
            version.strip() != "" and check(version) for part in cut for version in (part, part.replace("*", ""))
        )

    return loosely


def separated(parts: list[str]) -> list[str] | None:
    """The parts between separators, blank ones at the ends left out; None where one is blank inside."""
    if any(not part.strip() for part in parts[1:-1]):
        return None
    return [part.strip() for part in parts if part.strip()]


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def bullets(text: str) -> int:
    return len(re.findall(r"^\s*\*[^\*].*$", text, re.MULTILINE)) + len(re.findall(r"^\s*-.*$", text, re.MULTILINE))


def highlights(text: str) -> int:
    found = re.findall(r"\*[^\n*]*\*", text) + re.findall(r"\*\*[^\n*]*\*\*", text)
    return sum(bool(part.strip("*").strip()) for part in found)


def english(_: str) -> str:
    return "en"


OPINIONS: list[tuple[str, dict[str, Any], Callable[[str], bool]]] = [
    ("punctuation:no_comma", {}, lambda text: "," not in text),
    ("length_constraints:number_words", {"num_words": 3, **LESS}, lambda text: len(re.findall(r"\w+", text)) < 3),
    (
        "length_constraints:number_paragraphs",
        {"num_paragraphs": 2},
        lambda text: len(separated(re.split(r"\s?\*\*\*\s?", text)) or []) == 2,
    ),
    (
        "combination:two_responses",
        {},
        lambda text: len(found := separated(text.split("******")) or []) == 2 and found[0] != found[1],
    ),
    ("detectable_format:number_bullet_lists", {"num_bullets": 1}, lambda text: bullets(text) == 1),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 2}, lambda text: highlights(text) >= 2),
    (
        "detectable_format:title",
        {},
        lambda text: any(found.lstrip("<").rstrip(">").strip() for found in re.findall(r"<<[^\n]+>>", text)),
    ),
    ("detectable_content:number_placeholders", {"num_placeholders": 1}, lambda text: bool(re.search(r"\[.*?\]", text))),
    ("detectable_format:json_format", {}, lambda text: is_json(text.strip())),
    ("startend:quotation", {}, lambda text: len(text.strip()) > 1 and text.strip()[0] == text.strip()[-1] == '"'),
    ("change_case:english_capital", {"detect": english}, str.isupper),
    ("change_case:english_lowercase", {"detect": english}, str.islower),
]


@pytest.mark.integration
@pytest.mark.parametrize(("instruction", "arguments", "opinion"), OPINIONS, ids=[case[0] for case in OPINIONS])
@given(texts=st.lists(TEXTS, min_size=1, max_size=8))
def test_plain_python_is_of_the_same_opinion(
    instruction: str, arguments: dict[str, Any], opinion: Callable[[str], bool], texts: list[str]
) -> None:
    """Whatever is put together from markup, both criteria are those of a few lines of Python."""
    strict, loose = (followed(instruction, texts, loose=way, **arguments) for way in (False, True))
    assert strict == [bool(text and text.strip()) and opinion(text or "") for text in texts]
    assert loose == [loosened(opinion)(text or "") for text in texts]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Mr. and Mrs. Smith met Dr. J. R. Jones at 3.30 p.m. on Main St. today.", 1),
        ("He said “Stop!” She did.", 2),
        ("Wait... what?! No", 3),
        ("1. Stir.\n2. Wait.\n3. Eat.", 3),
        ("A title\n\nOne sentence.", 1),
        ("你好。你好吗？很好！", 3),
        ("यह है। वह था।", 2),
        ("Is it e.g. this, i.e. that? So am I. Yes.", 3),
        ("🎉 ! ... ?", 0),
        ("a\x00b. c", 2),
    ],
)
def test_sentences_are_counted_by_rule(text: str, sentences: int) -> None:
    """Abbreviations, decimals, lists and quotes end no sentence; the marks of other scripts do."""
    assert pl.DataFrame({"text": [text]}).select(m.sentence_count("text")).item() == sentences


def test_another_way_to_count_sentences() -> None:
    """A function of one's own takes the rule's place."""
    lines = {"count_sentences": lambda text: text.count("\n") + 1}
    assert followed("length_constraints:number_sentences", ["a\nb", "a"], num_sentences=2, **AT_LEAST, **lines) == [
        True,
        False,
    ]


def test_a_rollout_is_its_last_answer() -> None:
    """As a metric it reads the last turn, in every engine, and its name says what it is."""
    turns = pl.DataFrame({"rollout_id": ["a", "a", "b"], "turn": [2, 1, 1], "response": ["[1]", "no, no", None]})
    metrics = [
        m.instruction_followed("detectable_format:json_format"),
        m.instruction_followed("punctuation:no_comma", loose=True),
    ]
    measured = rw.measure(turns, *metrics)
    names = ["instruction_followed_detectable_format_json_format", "instruction_followed_punctuation_no_comma_loosely"]
    assert measured.select(names).rows() == [(True, True), (None, None)]
    assert rw.measure(turns.lazy(), *metrics).collect(engine="streaming").select(names).equals(measured.select(names))
    assert turns.with_columns(metrics[0].over("rollout_id"))[names[0]].to_list() == [True, True, None]
    known = m.catalog.about(names[0])
    assert known is not None
    assert known.name == "instruction_followed"


@pytest.mark.parametrize(
    ("instruction", "arguments", "words"),
    [
        ("punctuation:no_commas", {}, "punctuation:no_comma,|startend"),
        ("length_constraints:number_words", {"num_words": 3}, "'relation'"),
        (
            "length_constraints:number_words",
            {"num_words": 3, "relation": "exactly"},
            "'less than' or 'at least', not for 'exactly'",
        ),
        ("length_constraints:number_words", {"num_words": 3, **LESS, "letters": 2}, "'letters'"),
        ("language:response_language", {"language": "de"}, "detect_language"),
        ("keywords:existence", {"keywords": []}, "at least one"),
        ("keywords:forbidden_words", {"forbidden_words": " "}, "at least one"),
        ("keywords:frequency", {"keyword": "", "frequency": 1, **LESS}, "at least one"),
        (
            "length_constraints:nth_paragraph_first_word",
            {"num_paragraphs": 2, "nth_paragraph": 0, "first_word": "a"},
            "counted from 1, not from nth_paragraph=0",
        ),
    ],
)
def test_what_cannot_be_checked_is_refused(instruction: str, arguments: dict[str, Any], words: str) -> None:
    """An unknown name, an argument that is missing, unknown or senseless: one sentence, and nothing drawn at random."""
    with pytest.raises(MetricError, match=words):
        m.instruction_followed(instruction, "response", **arguments)


def test_arguments_that_are_none_are_not_given() -> None:
    """Tables of instructions have a column for every argument, mostly null."""
    assert followed("punctuation:no_comma", ["a"], num_words=None, keywords=None) == [True]
