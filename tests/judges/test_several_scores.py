"""A judge that gives several scores by name: a row and a column of each."""

import polars as pl
import pytest

import rollwise as rw

TURNS = pl.DataFrame({"rollout_id": ["a", "a", "b"], "turn": [1, 2, 1], "response": ["No.", "Sure.", "Broken"]})


def parts(response: str) -> dict[str, float | bool | None]:
    """Several scores of an answer; none where it is broken."""
    if response == "Broken":
        raise ValueError("broken")
    return {"length": len(response), "polite": response == "Sure."}


def test_each_score_is_a_verdict():
    verdicts = rw.judge(TURNS, parts, progress=False)
    names = verdicts["judge"].str.replace("@.*", "")
    rows = verdicts.select("rollout_id", "turn", names, "value", verdicts["error"].is_not_null().alias("failed")).rows()
    assert rows == [
        ("a", 1, "parts_length", 3.0, False),
        ("a", 1, "parts_polite", 0.0, False),
        ("a", 2, "parts_length", 5.0, False),
        ("a", 2, "parts_polite", 1.0, False),
        ("b", 1, "parts_length", None, True),
        ("b", 1, "parts_polite", None, True),
    ]
    rw.schema.check(verdicts, rw.schema.VERDICTS)


@pytest.mark.integration
def test_each_score_is_a_column():
    scored = rw.score(TURNS, parts, progress=False)
    assert scored["score_parts_length"].to_list() == [3.0, 5.0, None]
    assert scored["score_parts_polite"].to_list() == [0.0, 1.0, None]
    assert rw.score(TURNS, parts, into="mine", progress=False).columns[-2:] == ["mine_length", "mine_polite"]


def test_a_score_that_a_text_lacks_is_null_there():
    scored = rw.score(TURNS, lambda response: {"n": 1, response[:2].lower(): 2}, into="x", progress=False)
    assert scored.select("x_n", "x_su").rows() == [(1.0, None), (1.0, 2.0), (1.0, None)]


def test_scores_are_stored_and_reused(tmp_path):
    first = rw.judge(TURNS, parts, store=tmp_path, progress=False)
    second = rw.judge(TURNS, parts, store=tmp_path, progress=False)
    assert second.filter(pl.col("cached"))["value"].to_list() == [3.0, 0.0, 5.0, 1.0]
    assert (
        first.drop("cached")
        .filter(pl.col("value").is_not_null())
        .drop("seconds")
        .equals(second.drop("cached").filter(pl.col("value").is_not_null()).drop("seconds"))
    )


def test_a_dict_of_words_is_an_error_that_says_what_to_return():
    verdicts = rw.judge(TURNS, lambda response: {"mood": "grim"}, progress=False)
    assert verdicts["error"][0] == (
        "the judge returned a dict of mood; it needs `score`, `value`, `label` or `error`, or numbers by name"
    )


def test_reasons_stand_beside_the_scores():
    verdicts = rw.judge(TURNS[:1], lambda response: {"n": 1, "reasoning": "short"}, progress=False)
    assert verdicts.select("value", "reasoning").rows() == [(1.0, "short")]
