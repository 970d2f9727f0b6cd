"""Compliance of a response with an instruction that a rule can check: the 25 checks of IFEval.

Each check is an expression over texts, with IFEval's name of the instruction, such as ``punctuation:no_comma``, and
IFEval's names of its arguments. Two things differ from IFEval's script on purpose: keywords are literal (the script
reads them as patterns), and a missing argument is an error (the script draws it at random). Words are Unicode words, and
combining marks are part of their letters.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from rollwise.errors import MetricError, listing
from rollwise.metrics.answers import Text, text_of
from rollwise.metrics.metric import metric
from rollwise.schema.option_types import check_option_types

Detect = Callable[[str], str | None]

_RELATIONS = ("less than", "at least")
_MARK = "\x00"  # takes the place of the matches at which a text is cut
_ABBREVIATIONS = (
    r"\b(Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|Lt|Capt|Gen|Sen|Rep|Rev|Hon|vs|e\.g|i\.e|cf|Fig|No|[A-HJ-Z]|\p{L}\.\p{L})\."
)
_ENUMERATORS = r"(?m)^(\s*(?:\d+|\p{L}))\."
_SENTENCE_END = r"""[.!?…]+["'”’»)\]*_]*(?:\s+|$)|[。！？｡।॥؟]+["'”’»」』)\]]*\s*"""


def sentence_count(text: Text) -> pl.Expr:
    r"""Number of sentences of a text (UInt32); null for null, 0 for a text without letters and digits.

    A sentence ends with a full stop, question mark, exclamation mark or ellipsis before a blank, or with their Chinese,
    Japanese, Hindi or Arabic equivalents; not after common English abbreviations, initials, or the number of an item in a
    list, and not at a new line. IFEval uses NLTK's trained Punkt model instead: to count in the same way, pass
    ``count_sentences=lambda text: len(nltk.sent_tokenize(text))`` to `instruction_followed`.

    Examples
    --------
    >>> texts = ["Dr. Who paid $3.50. Really?", "1. Stir.\n2. Wait", "今日は。元気？", "...", None]
    >>> pl.DataFrame({"text": texts}).select(sentence_count("text")).to_series().to_list()
    [2, 2, 2, 0, None]
    """
    check_option_types(sentence_count, locals())
    # A full stop that ends no sentence is removed; then the text is cut at the ends of sentences, and parts without a
    # letter or digit do not count.
    plain = text_of(text).str.replace_all(_ABBREVIATIONS, "$1").str.replace_all(_ENUMERATORS, "$1")
    return _cut(plain, _SENTENCE_END).list.eval(pl.element().str.contains(r"[\p{L}\p{N}]")).list.sum()


def _cut(text: pl.Expr, pattern: str) -> pl.Expr:
    """Return the parts of a text between the matches of a pattern."""
    return text.str.replace_all(_MARK, ".", literal=True).str.replace_all(pattern, _MARK).str.split(_MARK)


def _blank(text: pl.Expr) -> pl.Expr:
    return text.str.contains(r"\S").not_()


def _related(count: pl.Expr, number: int, relation: str) -> pl.Expr:
    if relation not in _RELATIONS:
        raise MetricError(f"an instruction asks for {' or '.join(map(repr, _RELATIONS))}, not for {relation!r}")
    return count < number if relation == "less than" else count >= number


def _upper(text: pl.Expr) -> pl.Expr:
    """Return whether a text has a capital and no small letter, as `str.isupper`."""
    return text.str.contains(r"\p{Uppercase}") & text.str.contains(r"[\p{Lowercase}\p{Lt}]").not_()


def _lower(text: pl.Expr) -> pl.Expr:
    return text.str.contains(r"\p{Lowercase}") & text.str.contains(r"[\p{Uppercase}\p{Lt}]").not_()


def _true_elements(texts: pl.Expr, condition: pl.Expr) -> pl.Expr:
    return texts.list.eval(condition).list.sum()


# ── keywords ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def _literally(words: str | Sequence[str]) -> list[str]:
    """Return a pattern for each word that matches it literally."""
    listed = [words] if isinstance(words, str) else list(words)
    if not any(word.strip() for word in listed):
        raise MetricError("an instruction on keywords has none; give at least one")
    return [re.escape(word) for word in listed]


def _existence(text: pl.Expr, *, keywords: list[str]) -> pl.Expr:
    return pl.all_horizontal(text.str.contains(f"(?i){keyword}") for keyword in _literally(keywords))


def _frequency(text: pl.Expr, *, keyword: str, frequency: int, relation: str) -> pl.Expr:
    (pattern,) = _literally(keyword.strip())
    return _related(text.str.count_matches(f"(?i){pattern}"), frequency, relation)


def _forbidden_words(text: pl.Expr, *, forbidden_words: list[str]) -> pl.Expr:
    return text.str.contains(rf"(?i)\b(?:{'|'.join(_literally(forbidden_words))})\b").not_()


def _letter_frequency(text: pl.Expr, *, letter: str, let_frequency: int, let_relation: str) -> pl.Expr:
    counted = text.str.to_lowercase().str.count_matches(letter.strip().lower(), literal=True)
    return _related(counted, let_frequency, let_relation)


# ── language and case ─────────────────────────────────────────────────────────────────────────────────────────────────
def _language(text: pl.Expr, detect: Detect, language: str) -> pl.Expr:
    """Return whether the text is in a language; true also if the language cannot be detected, as in IFEval."""
    return (text.map_elements(detect, return_dtype=pl.String) == language).fill_null(value=True)


def _response_language(text: pl.Expr, *, detect: Detect, language: str) -> pl.Expr:
    return _language(text, detect, language)


def _english_capital(text: pl.Expr, *, detect: Detect) -> pl.Expr:
    return _upper(text) & _language(text.str.to_lowercase(), detect, "en")


def _english_lowercase(text: pl.Expr, *, detect: Detect) -> pl.Expr:
    return _lower(text) & _language(text, detect, "en")


def _capital_word_frequency(text: pl.Expr, *, capital_frequency: int, capital_relation: str) -> pl.Expr:
    words = text.str.extract_all(r"\w+(?:[-./]\w+)*")  # an apostrophe ends a word, as NLTK splits I'm into I and 'm
    return _related(_true_elements(words, _upper(pl.element())), capital_frequency, capital_relation)


# ── length ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _number_sentences(
    text: pl.Expr, *, num_sentences: int, relation: str, count_sentences: Callable[[str], int] | None = None
) -> pl.Expr:
    if count_sentences is None:
        return _related(sentence_count(text), num_sentences, relation)
    return _related(text.map_elements(count_sentences, return_dtype=pl.Int64), num_sentences, relation)


def _number_words(text: pl.Expr, *, num_words: int, relation: str) -> pl.Expr:
    return _related(text.str.count_matches(r"\w+"), num_words, relation)


def _number_paragraphs(text: pl.Expr, *, num_paragraphs: int) -> pl.Expr:
    parts = _cut(text, r"\s?\*\*\*\s?")
    count, empty_inside = _parts(parts)
    return (count == num_paragraphs) & empty_inside.not_()


def _parts(parts: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Return the number of parts that are not blank, and whether a blank one is between others."""
    blank = parts.list.eval(_blank(pl.element()))
    # Blank parts at the ends do not count; a text of one blank part has only one end.
    ends = (blank.list.first() + (blank.list.last() & (parts.list.len() > 1))).cast(pl.Int64)
    count = parts.list.len().cast(pl.Int64) - blank.list.sum().cast(pl.Int64)
    return count, blank.list.sum().cast(pl.Int64) > ends


def _nth_paragraph_first_word(text: pl.Expr, *, num_paragraphs: int, nth_paragraph: int, first_word: str) -> pl.Expr:
    if nth_paragraph < 1:
        raise MetricError(f"paragraphs are counted from 1, not from nth_paragraph={nth_paragraph}")
    # IFEval counts paragraphs that are not blank, but the n-th is counted among all of them.
    paragraphs = text.str.split("\n\n")
    count = _true_elements(paragraphs, _blank(pl.element()).not_())
    nth = paragraphs.list.get(int(nth_paragraph) - 1, null_on_oob=True)
    word = nth.str.extract(r"""^\s*'*"*([^\s.,?!'"]*)""").str.to_lowercase()
    follows = (count == num_paragraphs) & (nth_paragraph <= count) & _blank(nth).not_() & (word == first_word.lower())
    return pl.when(text.is_not_null()).then(follows.fill_null(value=False))


# ── content and format ────────────────────────────────────────────────────────────────────────────────────────────────
def _number_placeholders(text: pl.Expr, *, num_placeholders: int) -> pl.Expr:
    return text.str.count_matches(r"\[.*?\]") >= num_placeholders


def _postscript(text: pl.Expr, *, postscript_marker: str) -> pl.Expr:
    marker = postscript_marker.strip()
    patterns = {"P.P.S": r"p\.\s?p\.\s?s", "P.S.": r"p\.\s?s\."}
    return text.str.to_lowercase().str.contains(patterns.get(marker, re.escape(marker.lower())))


def _number_bullet_lists(text: pl.Expr, *, num_bullets: int) -> pl.Expr:
    stars, dashes = (text.str.count_matches(rf"(?m)^\s*{mark}.*$") for mark in (r"\*[^*]", "-"))
    return stars + dashes == num_bullets


def _constrained_response(text: pl.Expr) -> pl.Expr:
    return text.str.contains(r"My answer is (?:yes|no|maybe)\.")


def _number_highlighted_sections(text: pl.Expr, *, num_highlights: int) -> pl.Expr:
    # The first pattern matches the asterisks of a bold text as pairs without text between them, which do not count.
    single = _true_elements(text.str.extract_all(r"\*[^\n*]*\*"), _blank(pl.element().str.strip_chars("*")).not_())
    double = _true_elements(text.str.extract_all(r"\*\*[^\n*]*\*\*"), _blank(pl.element().str.strip_chars("*")).not_())
    return single + double >= num_highlights


def _multiple_sections(text: pl.Expr, *, section_spliter: str, num_sections: int) -> pl.Expr:
    return text.str.count_matches(rf"\s?{re.escape(section_spliter.strip())}\s?\d+\s?") >= num_sections


def _json_format(text: pl.Expr) -> pl.Expr:
    # A code fence around the JSON is allowed.
    bare = text.str.strip_chars()
    for fence in ("```json", "```Json", "```JSON", "```"):
        bare = bare.str.strip_prefix(fence)
    return bare.str.strip_suffix("```").str.strip_chars().map_elements(_is_json, return_dtype=pl.Boolean)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _title(text: pl.Expr) -> pl.Expr:
    titles = text.str.extract_all(r"<<[^\n]+>>")
    return _true_elements(titles, _blank(pl.element().str.strip_chars_start("<").str.strip_chars_end(">")).not_()) > 0


# ── combination, start and end, punctuation ───────────────────────────────────────────────────────────────────────────
def _two_responses(text: pl.Expr) -> pl.Expr:
    parts = text.str.split("******")
    count, empty_inside = _parts(parts)
    distinct = parts.list.eval(pl.element().str.strip_chars().filter(_blank(pl.element()).not_())).list.n_unique()
    return (count == 2) & (distinct == 2) & empty_inside.not_()


def _repeat_prompt(text: pl.Expr, *, prompt_to_repeat: str) -> pl.Expr:
    return text.str.strip_chars().str.to_lowercase().str.starts_with(prompt_to_repeat.strip().lower())


def _end_checker(text: pl.Expr, *, end_phrase: str) -> pl.Expr:
    ending = text.str.strip_chars().str.strip_chars('"').str.to_lowercase()
    return ending.str.ends_with(end_phrase.strip().lower())


def _quotation(text: pl.Expr) -> pl.Expr:
    return text.str.contains(r'(?s)^\s*".*"\s*$')


def _no_comma(text: pl.Expr) -> pl.Expr:
    return text.str.contains(",", literal=True).not_()


INSTRUCTIONS: dict[str, Callable[..., pl.Expr]] = {
    "keywords:existence": _existence,
    "keywords:frequency": _frequency,
    "keywords:forbidden_words": _forbidden_words,
    "keywords:letter_frequency": _letter_frequency,
    "language:response_language": _response_language,
    "length_constraints:number_sentences": _number_sentences,
    "length_constraints:number_paragraphs": _number_paragraphs,
    "length_constraints:number_words": _number_words,
    "length_constraints:nth_paragraph_first_word": _nth_paragraph_first_word,
    "detectable_content:number_placeholders": _number_placeholders,
    "detectable_content:postscript": _postscript,
    "detectable_format:number_bullet_lists": _number_bullet_lists,
    "detectable_format:constrained_response": _constrained_response,
    "detectable_format:number_highlighted_sections": _number_highlighted_sections,
    "detectable_format:multiple_sections": _multiple_sections,
    "detectable_format:json_format": _json_format,
    "detectable_format:title": _title,
    "combination:two_responses": _two_responses,
    "combination:repeat_prompt": _repeat_prompt,
    "startend:end_checker": _end_checker,
    "startend:quotation": _quotation,
    "change_case:capital_word_frequency": _capital_word_frequency,
    "change_case:english_capital": _english_capital,
    "change_case:english_lowercase": _english_lowercase,
    "punctuation:no_comma": _no_comma,
}


def _variants(text: pl.Expr) -> list[pl.Expr]:
    """Return a response unchanged, without its first line, its last line, both, and each of these without asterisks."""
    lines = text.str.split("\n")
    cuts = (lines.list.slice(1), lines.list.head(pl.max_horizontal(lines.list.len().cast(pl.Int64) - 1, 0)))
    inner = lines.list.slice(1, pl.max_horizontal(lines.list.len().cast(pl.Int64) - 2, 0))
    shorter = [text, *(part.list.join("\n").str.strip_chars() for part in (*cuts, inner))]
    return [*shorter, *(part.str.replace_all("*", "", literal=True) for part in shorter)]


@metric(better="higher", concerns="task", names=("instruction_followed_...",))
def instruction_followed(
    instruction: str,
    response: Text | None = None,
    *,
    loose: bool = False,
    **arguments: Any,
) -> pl.Expr:
    """Return whether a response follows an instruction of IFEval (Boolean); null without a response.

    With a column it is an expression over turns; without, a metric of the rollout's last answer. A blank response follows
    no instruction.

    Parameters
    ----------
    instruction
        One of the 25 names in `INSTRUCTIONS`, such as ``"length_constraints:number_words"``.
    response
        The column or expression with the texts.
    loose
        Whether following is enough without the first line, the last line, or asterisks: IFEval's loose criterion.
    **arguments
        IFEval's arguments, such as ``num_words=100, relation="at least"``; None is ignored. The three instructions on
        languages need ``detect``, a function from a text to its ISO 639-1 code, or to None if it is not sure (which counts
        as followed), such as `rollwise.judges.detect_language`. ``number_sentences`` takes
        ``count_sentences``, a function that replaces `sentence_count`.

    References
    ----------
    Zhou, Lu, Mishra, Brahma, Basu, Luan, Zhou, Hou (2023), Instruction-following evaluation for large language models,
    https://doi.org/10.48550/arXiv.2311.07911

    Examples
    --------
    >>> turns = pl.DataFrame({"response": ["Yes, of course.", "Yes."]})
    >>> turns.select(instruction_followed("punctuation:no_comma", "response")).to_series().to_list()
    [False, True]
    """
    check_option_types(instruction_followed, locals())
    if instruction not in INSTRUCTIONS:
        raise MetricError(f"no instruction is called {instruction!r}; available: {listing(INSTRUCTIONS, most=25)}")
    check, text = INSTRUCTIONS[instruction], text_of(response)
    stated = {name: value for name, value in arguments.items() if value is not None}
    followed = []
    # Under the loose criterion it is enough that one variant follows.
    for variant in _variants(text) if loose else [text]:
        try:
            result = check(variant, **stated)
        except TypeError as error:
            problem = str(error).partition("() ")[2] or str(error)
            raise MetricError(
                f"the arguments of instruction {instruction!r} do not fit: {problem}; give IFEval's own, "
                "and `detect=rollwise.judges.detect_language` or your own function for a language"
            ) from error
        followed.append(_blank(variant).not_() & result)
    name = f"instruction_followed_{instruction.replace(':', '_')}"
    return pl.any_horizontal(followed).alias(f"{name}_loosely" if loose else name)
