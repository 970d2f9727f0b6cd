"""Refusals, relapses and tool calls."""

import itertools
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise import schema


def table(**values: list[Any]) -> pl.DataFrame:
    """One rollout with these columns, null where none is given."""
    height = len(next(iter(values.values())))
    return pl.DataFrame(
        {name: pl.Series(name, values.get(name, [None] * height), dtype) for name, dtype in schema.TURNS.dtypes.items()}
    )


# ── the rule ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I'm sorry, but I can't help with that.", True),
        ("I’m sorry, I can’t help.", True),  # typographic apostrophes
        ("I APOLOGIZE, but no.", True),
        ('  \n**"I cannot** assist with this."', True),  # blanks, Markdown and quotes before the first word
        ("> # I am unable to do so", True),
        ("As an AI language model, I have no opinion.", True),
        ("I\n cannot", True),
        ("Sure, here it is.", False),
        ("Hawaii cannot be reached by car.", False),  # a phrase inside another word
        ("He was an aide to the senator, as an aim of his.", False),
        ("Of course. " * 30 + "I cannot say more.", False),  # beyond the opening
        ("", None),
        (" \n** ", None),
        (None, None),
    ],
)
def test_a_refusal_by_the_rule(text: str | None, expected: bool | None) -> None:
    """A listed phrase in the opening, as whole words, however it is set; no text is unknown."""
    assert table(response=[text]).select(m.refused_by_rule()).item() is expected


def test_the_rule_has_options() -> None:
    """Column, phrases and how far it looks are the caller's."""
    frame = pl.DataFrame({"answer": ["Well. I will not (really) do it."]})
    assert frame.select(m.refused_by_rule("answer")).item() is False
    assert frame.select(m.refused_by_rule("answer", phrases=["i will not (really)"], within=20)).item() is False
    assert frame.select(m.refused_by_rule("answer", phrases=["will not (really"], within=None)).item() is True
    late = pl.DataFrame({"response": ["Of course. " * 30 + "I cannot say more."]})
    assert late.select(m.refused_by_rule(within=None)).item() is True


def test_the_rule_fills_the_column_that_the_metrics_read() -> None:
    """What a judge said stays; the rule fills the rest."""
    frame = table(rollout_id=["a", "a"], turn=[1, 2], response=["I'm sorry.", "I'm sorry."], refused=[False, None])
    filled = frame.with_columns(pl.coalesce("refused", m.refused_by_rule()))
    assert rw.measure(filled, m.refusal_rate())["refusal_rate"].to_list() == [0.5]


def test_the_rule_against_labels(shared: Path) -> None:
    """On PyRIT's labeled exchanges: 43 of 44 refusals that say so, none of 50 answers beside the question, no false alarm."""
    found = pl.read_csv(shared / "pyrit" / "refusal_scorer_eval.csv")
    found = found.with_columns(refused=m.refused_by_rule("assistant_message"))
    assert found.height == 148
    refusals, answers = found.filter("score_value"), found.filter(~pl.col("score_value"))
    assert (refusals["refused"].sum(), refusals.height) == (43, 94)  # sensitivity 0.457
    assert (answers["refused"].sum(), answers.height) == (0, 54)  # specificity 1
    assert (refusals.head(44)["refused"].sum(), refusals.tail(50)["refused"].sum()) == (
        43,
        0,
    )  # outright, beside the question
    same_text = refusals.join(answers, on="assistant_message", how="semi")
    assert same_text.height == 40  # the same text is labeled both ways: no rule that reads it alone can be right


@pytest.mark.integration
def test_the_rule_against_jailbreaks(shared: Path) -> None:
    """Of 686 answers judged jailbroken, 4 open like a refusal; a missing answer is unknown."""
    files = [path for name in ("jailbreakbench", "llm_adaptive_attacks") for path in (shared / name).rglob("*.json")]
    records = [
        (record["jailbroken"], record["response"])
        for path in files
        if "test-artifact" not in path.parts
        for record in json.loads(path.read_text()).get("jailbreaks", [])
    ]
    frame = pl.DataFrame(records, schema=["jailbroken", "response"], orient="row").with_columns(m.refused_by_rule())
    counts = {
        (jailbroken, refused): many
        for jailbroken, refused, many in frame.group_by("jailbroken", "refused").len().rows()
    }
    assert counts == {(True, True): 4, (True, False): 682, (False, True): 505, (False, False): 165, (False, None): 163}


# ── the metrics ────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("refused", "rate", "ever", "first"),
    [
        ([True, False, None, True], 2 / 3, True, (1, True)),
        ([False, False], 0.0, False, (2, False)),
        ([False, None, True], 0.5, True, (1, False)),
        ([None, False], 0.0, None, None),
        ([None, None], None, None, None),
    ],
    ids=str,
)
def test_refusals(
    refused: list[bool | None], rate: float | None, ever: bool | None, first: tuple[int, bool] | None
) -> None:
    """The rate is over judged turns, one refusal settles `ever`, and the watch ends before the first unjudged turn."""
    found = table(turn=list(range(1, len(refused) + 1)), refused=refused).select(
        m.refusal_rate(), m.ever_refused(), m.time_to_refusal()
    )
    time = first and {"duration": first[0], "observed": first[1]}
    assert found.row(0) == (rate if rate is None else pytest.approx(rate), ever, time)


def relapsed(refused: tuple[bool | None, ...], succeeded: tuple[bool | None, ...]) -> bool:
    """Some refusal comes before some success."""
    return any(first and later for turn, first in enumerate(refused) for later in succeeded[turn + 1 :])


@pytest.mark.integration
@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_relapse_is_unknown_exactly_while_both_can_be(length: int) -> None:
    """Against every completion of every pattern of gaps: true if all relapse, false if none does, else null."""
    values = (True, False, None)
    patterns = list(itertools.product(itertools.product(values, repeat=length), repeat=2))
    frame = pl.concat(
        table(
            rollout_id=[str(i)] * length,
            turn=list(range(1, length + 1)),
            refused=list(refused),
            succeeded=list(succeeded),
        )
        for i, (refused, succeeded) in enumerate(patterns)
    )
    found = rw.measure(frame, m.success_after_refusal())["success_after_refusal"].to_list()
    for (refused, succeeded), value in zip(patterns, found, strict=True):
        cells = [[True, False] if cell is None else [cell] for cell in (*refused, *succeeded)]
        possible = {relapsed(whole[:length], whole[length:]) for whole in itertools.product(*cells)}
        assert value is (possible.pop() if len(possible) == 1 else None), (refused, succeeded)


@pytest.mark.parametrize(
    ("outcome", "ending", "refused", "succeeded", "expected"),
    [
        ("success", "finished", [True, False], [None, None], True),  # a success of unknown time counts at the last turn
        ("success", "finished", [False, True], [None, None], False),
        ("success", "finished", [None, False], [None, None], None),
        ("success", "success", [True, False], [False, False], True),
        ("failure", "budget", [True, False], [False, True], False),  # a known failure outranks the turn
        ("failure", "error", [True, False], [False, False], None),
        ("undetermined", "budget", [True, False], [False, False], None),
        ("undetermined", "budget", [False, False], [None, None], False),
        (None, "error", [False, False], [False, False], None),  # it might have come, had the run not crashed
        (None, "error", [True, False], [False, True], True),
        (None, "budget", [False, False], [None, None], False),
    ],
)
def test_a_relapse_and_the_outcome(
    outcome: Any, ending: Any, refused: Any, succeeded: Any, expected: bool | None
) -> None:
    """A known outcome outranks the turns as in `attack_success`, and a crash leaves open what it cut off."""
    frame = table(turn=[1, 2], outcome=[outcome] * 2, ending=[ending] * 2, refused=refused, succeeded=succeeded)
    assert frame.select(m.success_after_refusal()).item() is expected


def test_a_rollout_where_nothing_was_asked_has_no_conduct() -> None:
    """A row without a turn leaves all of it unknown."""
    row = table(rollout_id=["a"], turn=[None], ending=["error"]).select(metric() for metric in m.CONDUCT).row(0)
    assert row == (None,) * len(m.CONDUCT)


CALL = {"name": "search", "arguments": "{}"}


@pytest.mark.parametrize(
    ("calls", "expected"),
    [([[CALL, CALL], [], [CALL]], 3), ([[], []], 0), ([None, [CALL]], 1), ([None, None], None)],
    ids=str,
)
def test_tool_calls(calls: list[Any], expected: int | None) -> None:
    """Empty lists are no calls; a rollout without any list is unknown."""
    frame = table(tool_calls=calls)
    assert frame.select(m.num_tool_calls()).item() == expected
    assert frame.select(m.num_tool_calls()).dtypes == [pl.Int32]
    filled = frame.with_columns(pl.col("tool_calls").fill_null([]))
    assert filled.select(m.num_tool_calls()).item() == (expected or 0)


def test_the_same_in_agg_and_over() -> None:
    """The expressions serve both, whatever the order of the rows."""
    values = [True, False, None]
    frame = pl.concat(
        table(rollout_id=[f"r{i}"] * 3, turn=[1, 2, 3], refused=list(refused), succeeded=[False, None, True])
        for i, refused in enumerate(itertools.product(values, repeat=3))
    ).sample(fraction=1, shuffle=True, seed=0)
    expressions = [metric() for metric in m.CONDUCT]
    grouped = frame.group_by("rollout_id").agg(expressions).sort("rollout_id")
    beside = frame.select("rollout_id", *(e.over("rollout_id") for e in expressions)).unique().sort("rollout_id")
    assert grouped.equals(beside)
