"""Cases of the metrics of texts and of tool calls: accents, other scripts, signs, blanks, and nothing at all."""

from typing import Any, Literal

import polars as pl
from golden.stored import Cases  # type: ignore[import-not-found]
from golden.tables import turns_of  # type: ignore[import-not-found]

import rollwise as rw
from rollwise import metrics as m

PAIRS: list[tuple[str | None, str | None]] = [
    ("The capital of France is Paris.", "Paris"),
    ("paris", "Paris"),
    ("  A  ", "a"),
    ("B", "A"),
    ("Ça coûte très cher, déjà vu!", "ca coute tres cher deja vu"),
    ("Über die Straße gehen", "über die strasse gehen"),
    ("Cafe\u0301 con leche", "Café con leche"),
    ("Москва — столица России.", "москва столица россии"),
    ("东京是日本的首都。", "东京"),
    ("हिन्दी भाषा", "हिन्दी"),
    ("مرحبا بالعالم", "مرحبا"),
    ("İstanbul'da bir gün", "istanbul'da bir gun"),
    ("ΟΔΟΣ ὈΔΥΣΣΕΎΣ", "οδος ὀδυσσεύς"),
    ("👩‍👩‍👧 family 🎉🎉", "family"),
    ("a the an", "the"),
    ("The cat’s “toy” — it's the dog's", "the cat's \"toy\" it's the dogs"),
    ("one\u00a0two\u2003three\tfour\nfive", "one two three four five"),
    ("3.14 and 1,000 or 2-3", "3.14 and 1000 or 2 3"),
    ("", ""),
    ("", "words"),
    ("words", ""),
    ("...", "!?"),
    (None, "words"),
    ("words", None),
    (None, None),
    ("I'm sorry, but I can't help with that.", "I cannot help"),
    ("I’m sorry, I can’t.", "sorry"),
    ("**As an AI**, I must decline.", "As an AI"),
    ('> "I cannot do that"', "I cannot"),
    ("Sure! Here it is. " * 20, "Sure! Here is the thing. " * 18),
    ("word " * 60 + "I cannot", "word " * 59),
    ("* one\n* two\n\nP.S. three [name]", "one two three"),
    ("<<Title>>\n*bold* text, and a comma", "title bold text"),
    ('{"a": [1, 2]}', '{"a": [1, 2]}'),
    ("ALL CAPITALS HERE", "all capitals here"),
    ("all lower case here", "ALL LOWER CASE HERE"),
    ('"quoted"', "quoted"),
    ("first ****** second", "first second"),
    ("Dr. No met Mr. X. They left! Why? 3.5 times.", "They left"),
]
"""Answers and what was expected of them."""

AT_LEAST = {"relation": "at least"}
FOLLOWED: list[tuple[str, dict[str, Any]]] = [
    ("keywords:existence", {"keywords": ["the", "two"]}),
    ("keywords:forbidden_words", {"forbidden_words": ["cannot", "words"]}),
    ("keywords:frequency", {"keyword": "the", "frequency": 2, **AT_LEAST}),
    ("keywords:letter_frequency", {"letter": "e", "let_frequency": 3, "let_relation": "at least"}),
    ("length_constraints:number_sentences", {"num_sentences": 2, **AT_LEAST}),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}),
    ("length_constraints:number_words", {"num_words": 4, **AT_LEAST}),
    ("detectable_content:number_placeholders", {"num_placeholders": 1}),
    ("detectable_content:postscript", {"postscript_marker": "P.S."}),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 1}),
    ("detectable_format:json_format", {}),
    ("detectable_format:title", {}),
    ("combination:two_responses", {}),
    ("startend:end_checker", {"end_phrase": "that."}),
    ("startend:quotation", {}),
    ("punctuation:no_comma", {}),
]
"""Instructions of IFEval with their arguments."""

SIMILARITIES = (
    m.exact_match,
    m.token_f1,
    m.jaccard_similarity,
    m.tfidf_cosine,
    m.levenshtein_similarity,
    m.choice_match,
)


def pairs() -> pl.DataFrame:
    """The answers and what was expected, a row each."""
    return pl.DataFrame(PAIRS, schema={"response": pl.String, "expected": pl.String}, orient="row")


def dialogues() -> pl.DataFrame:
    """The same as rollouts of three turns."""
    size = len(PAIRS)
    places = {"rollout_id": [f"r{row // 3:02d}" for row in range(size)], "turn": [row % 3 + 1 for row in range(size)]}
    expected = pl.col("expected").first().over("rollout_id")
    return rw.turns(pl.DataFrame(places).hstack(pairs()).with_columns(expected))


def tools() -> pl.DataFrame:
    """Calls that were made and calls that were expected."""
    search, buy = ({"name": name, "arguments": text} for name, text in (("search", '{"q": 1}'), ("buy", '{"n": 2}')))
    other = {"name": "search", "arguments": '{"q":  1.0, "n": null}'}
    rows: list[tuple[Any, Any]] = [
        ([search, buy], [search]),
        ([search], [search, buy]),
        ([buy, search], [search, buy]),
        ([search, search, buy], [search, buy]),
        ([other], [search]),
        ([], []),
        ([], [buy]),
        ([buy], []),
        (None, [buy]),
        ([buy], None),
    ]
    calls = pl.List(pl.Struct({"name": pl.String, "arguments": pl.String}))
    return pl.DataFrame(rows, schema={"tool_calls": calls, "expected_calls": calls}, orient="row")


def tool_matches() -> pl.DataFrame:
    """Every way in which calls are compared, with and without their arguments."""
    columns = []
    for compared in (False, True):
        columns += [
            metric("tool_calls", "expected_calls", arguments=compared).alias(f"{metric.__name__}, {compared}")
            for metric in (m.tool_call_f1, m.tool_call_precision, m.tool_call_recall)
        ]
        columns += [
            m.tool_calls_match("tool_calls", "expected_calls", order=order, arguments=compared).alias(
                f"{order}, {compared}"
            )
            for order in ("exact", "in_order", "any", "subset", "superset")
        ]
    return tools().select(columns)


def instructions(*, loose: bool) -> pl.DataFrame:
    """Which answers keep to each instruction."""
    return pairs().select(
        m.instruction_followed(name, "response", loose=loose, **arguments).alias(name) for name, arguments in FOLLOWED
    )


def graded() -> pl.DataFrame:
    """Answers with how sure they were, whether they were right, and three scores."""
    rows = [(row / 39, row % 3 == 0 if row % 7 else None, row % 5 / 4, row % 4 / 3, 0.5) for row in range(40)]
    return pl.DataFrame(rows, schema=["confidence", "correct", "coverage", "style", "tone"], orient="row")


def composites() -> pl.DataFrame:
    """Scores put together in every way."""
    weights = {"coverage": 0.5, "style": 0.3, "tone": 0.2}
    frame = graded().with_columns(pl.when(pl.col("style") > 0).then(pl.col("style")))
    ways: tuple[Literal["mean", "harmonic", "chebyshev"], ...] = ("mean", "harmonic", "chebyshev")
    return frame.select(
        m.composite(weights, how=how, missing=missing, name=f"{how}, {missing}")
        for how in ways
        for missing in ("null", "reweight")
    )


def calibration() -> pl.DataFrame:
    """How far confidence is from being right."""
    return graded().select(
        m.expected_calibration_error("confidence", "correct").alias("error"),
        m.expected_calibration_error("confidence", "correct", bins=4).alias("error in 4 bins"),
        m.overconfidence("confidence", "correct").alias("overconfidence"),
        m.majority("correct").alias("majority"),
    )


def text_cases() -> Cases:
    """Metrics of texts turn by turn and by rollout."""
    cases: Cases = {
        f"texts/{metric.__name__}": lambda metric=metric: pairs().select(metric("response", "expected").alias("value"))
        for metric in SIMILARITIES
    }
    cases["texts/several references"] = lambda: pairs().select(
        metric("response", ["expected", pl.lit("the words")]).alias(metric.__name__) for metric in SIMILARITIES
    )
    cases["texts/refused by rule"] = lambda: pairs().select(
        m.refused_by_rule().alias("start"), m.refused_by_rule(within=None).alias("anywhere")
    )
    cases["texts/of rollouts"] = lambda: rw.measure(
        dialogues(), m.ANSWERS, m.TEXT, m.response_length("characters").alias("characters"), three=m.distinct_n(3)
    )
    cases["texts/all metrics of simulated text"] = lambda: rw.measure(turns_of("with text"), *m.ALL, *m.TEXT)
    cases["texts/sentences"] = lambda: pairs().select(m.sentence_count("response").alias("sentences"))
    cases["texts/instructions"] = lambda: instructions(loose=False)
    cases["texts/instructions, loosely"] = lambda: instructions(loose=True)
    cases["texts/tool calls"] = tool_matches
    cases["texts/composites"] = composites
    cases["texts/calibration"] = calibration
    cases["texts/refusals measured"] = lambda: rw.measure(
        dialogues().with_columns(refused=m.refused_by_rule()), m.CONDUCT
    )
    return cases
