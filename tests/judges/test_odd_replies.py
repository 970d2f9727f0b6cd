"""Replies of judges that look like verdicts and are none, that take long to read, or that were cut."""

import json
import time
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

pytest.importorskip("openai", reason="openai is not installed (extra judge)")

from odd_server import OddServer, completion, serving
from signing import signed

import rollwise as rw
from rollwise.judges.replies import UnreadableError, score_in

TURNS = pl.DataFrame({"rollout_id": ["a"], "turn": [1], "response": ["hello"], "prompt": ["p"]})


@pytest.fixture(scope="module")
def server() -> Iterator[OddServer]:
    """A server."""
    with serving() as told:
        yield told


def judged(answer: str, judge: Any = rw.judges.Harmfulness, **options: Any) -> dict[str, Any]:
    """The verdict of a judge that gives this answer, signed with its check code."""
    metric = judge(lambda messages: signed(answer, messages), max_retries=0, **options)
    return rw.judge(TURNS, metric, progress=False).row(0, named=True)


# ── what is no number ─────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.thinned(40)
@pytest.mark.parametrize(
    "score",
    [
        "true",
        "false",
        '"1_0"',
        '"١"',
        '"５"',
        '"²"',
        '"0x5"',
        '"4/5"',
        '"1e"',
        '"nan"',
        '"inf"',
        '""',
        '"٣.٥"',
        '"1 0"',
        '"--5"',
    ],
)
def test_what_is_no_number_on_a_scale_is_no_score(score: str) -> None:
    """On a scale from 1 to 5 true is a word, and so are digits that people write elsewhere, or that only Python reads."""
    verdict = judged(f'{{"score": {score}}}')
    assert verdict["value"] is None
    assert f"its score is {json.loads(score)!r:.40}, which" in verdict["error"].replace("true", "True").replace(
        "false", "False"
    )


@pytest.mark.parametrize(
    ("score", "value"), [('" 4 "', 4.0), ('"+4."', 4.0), ('".5e1"', 5.0), ("4", 4.0), ('"2E0"', 2.0)]
)
def test_a_number_in_quotes_is_a_score(score: str, value: float) -> None:
    """As it was."""
    assert judged(f'{{"score": {score}}}')["value"] == value


def test_true_is_one_where_the_scale_is_yes_or_no() -> None:
    """And false is zero; on any other scale, also from 0 to 2, nobody knows."""
    assert [judged(f'{{"score": {word}}}', rw.judges.Refusal)["value"] for word in ("true", "false")] == [1.0, 0.0]
    assert judged('{"score": true}', scale=(0, 2))["value"] is None


# ── a key twice ───────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.thinned(8)
@pytest.mark.parametrize(
    ("answer", "options"),
    [
        ('{"score": 1, "score": 5}', {}),
        ('{"score": 5, "score": 1, "score": 5}', {}),
        ('{"score": 1, "score": "5"}', {}),
        ('{"score": 5, "score": null}', {}),
        ('{"score": null, "score": 5}', {}),
        ('{"score": 1, "score": true}', {}),
        ('{"check": "deadbeef", "score": 5}', {}),
        ('{"score": 1, "\\u0073core": 5}', {}),
        ('{"result": {"score": 1}, "result": {"score": 5}}', {"score_field": "$.result.score"}),
        ('{"result": {"score": 5}, "result": "none"}', {"score_field": "$.result.score"}),
        ('{"result": {"score": 1, "score": 5}}', {"score_field": "$.result.score"}),
    ],
)
def test_a_key_twice_is_two_verdicts_that_differ(answer: str, options: dict[str, Any]) -> None:
    """Wherever it is on the way to the score, in whatever order, and also if it is the check code's."""
    verdict = judged(answer, **options)
    assert verdict["value"] is None
    assert "2 verdicts that differ" in verdict["error"]


@pytest.mark.integration
def test_a_key_twice_that_says_the_same_is_one_verdict() -> None:
    """And so is one that has nothing to do with the score."""
    assert judged('{"score": 5, "score": 5}')["value"] == 5.0
    assert judged('{"note": 1, "note": 2, "score": 5}')["value"] == 5.0
    assert judged('{"a": {"score": 1, "score": 2}, "score": 5}')["value"] == 5.0


# ── long answers ──────────────────────────────────────────────────────────────────────────────────────────────────────
LONG = {
    "open": '{"',
    "nested": '{"a":',
    "nested lists": '{"a":[',
    "open texts": '{"a":"',
    "open escapes": '{"a":"\\u00',
    "broken": '{"score":x',
    "numbers": '{"a":1',
    "half words": '{"a":tru',
    "keys twice": '{"a":1,"a":',
    "objects": '{"a":1}',
    "blanks": '{   "',
}


@pytest.mark.integration
@pytest.mark.parametrize("piece", LONG)
def test_a_long_reply_is_read_in_the_time_of_its_length(piece: str) -> None:
    """Twice as long takes no four times as long; the largest one that is read takes less than two seconds."""
    for size in (200_000, 400_000, 990_000):
        answer = LONG[piece] * (size // len(LONG[piece])) + '"score"'
        began = time.process_time()
        with pytest.raises(UnreadableError):
            score_in(answer, "shown", [], "c")
        assert time.process_time() - began < 2


@pytest.mark.integration
def test_many_verdicts_and_a_long_question_are_read_in_bounds() -> None:
    """Each verdict is looked for in the question."""
    answer = " ".join(f'{{"score": 1, "n": {number}}}' for number in range(900))
    began = time.process_time()
    assert score_in(answer, "shown " * 100_000, ["shown " * 100_000], None).score == 1
    with pytest.raises(UnreadableError, match="more than 1,000 verdicts"):
        score_in(answer + answer, "shown", [], None)
    assert time.process_time() - began < 5


def test_a_reply_of_many_megabytes_is_a_sentence() -> None:
    """For a parser too."""
    text = "x" * 1_000_001
    assert "it has 1,000,001 characters, and at most 1,000,000 are read" in judged(text)["error"]
    parsed = judged(text, structured_output=False, parser=len)
    assert "it has 1,000,001 characters, and at most 1,000,000 are read" in parsed["error"]


def test_an_object_longer_than_the_first_look_is_read() -> None:
    """Wherever a look at a part of it ends."""
    for size in range(300):
        answer = json.dumps({"why": 'a "\\é' + "x" * size, "n": [1.5e10, None, True], "score": 4, "check": "c"})
        assert score_in(f"So: {answer}.", "shown", [], "c").score == 4


# ── answers that were cut, and questions that were asked again ─────────────────────────────────────────────────────────
@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("text", "finish", "said"),
    [
        ('{"score": ', "content_filter", "a content filter cut its answer; it holds no JSON object with a score"),
        ("", "content_filter", "a content filter cut its answer"),
        (
            '{"score": ',
            "length",
            "it used up its tokens before its answer ended, so raise max_tokens; it holds no JSON",
        ),
        ('{"score": ', "stop", "m: it holds no JSON object with a score"),
    ],
)
def test_a_cut_answer_is_said_to_be_cut(text: str, finish: str, said: str, server: OddServer) -> None:
    """By a filter, or for want of tokens."""
    server.tell(completion(text, finish))
    model = rw.judges.Endpoint("m", base_url=server.url, api_key="k", temperature=0)
    verdict = rw.judge(TURNS, rw.judges.Harmfulness(model), progress=False).row(0, named=True)
    assert (verdict["value"], len(server.requests)) == (None, 1)
    assert said in verdict["error"]


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("of_model", "of_judge", "requests"),
    [
        ({"temperature": 0}, {}, 1),
        ({"temperature": 0.0}, {}, 1),
        ({"options": {"temperature": 0}}, {}, 1),
        ({"options": {"extra_body": {"temperature": 0}}}, {}, 1),
        ({}, {"temperature": 0}, 1),
        ({}, {"do_sample": False}, 1),
        ({}, {"extra_body": {"temperature": 0}}, 1),
        ({"temperature": 0}, {"temperature": 0.7}, 3),
        ({"options": {"temperature": 0.7}}, {}, 3),
        ({}, {}, 3),
    ],
)
def test_a_judge_at_temperature_0_is_asked_once(
    of_model: dict[str, Any], of_judge: dict[str, Any], requests: int, server: OddServer
) -> None:
    """Wherever the temperature is given: the same question would have the same unreadable answer."""
    server.tell(completion("I cannot say."))
    model = rw.judges.Endpoint("m", base_url=server.url, api_key="k", **of_model)
    judge = rw.judges.Harmfulness(model, gen_kwargs=of_judge, max_retries=2)
    verdict = rw.judge(TURNS, judge, progress=False).row(0, named=True)
    assert "it holds no JSON object with a score" in verdict["error"]
    assert len(server.requests) == requests
