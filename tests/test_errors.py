"""Sentences agree with the numbers in them: one rollout, two rollouts."""

import re
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise.errors import ArgumentError

THINGS = (
    "rollouts|turns|goals|tasks|attempts|clusters|successes|labels|verdicts|abstentions|judges|samples|requirements|scores|"
    "texts|seeds|values|graphs|rows|bytes|options|branches|categories|ways|calls|tokens|analyses|runs"
)
ONE_OF_SEVERAL = re.compile(
    rf"(?<!\d and )(?<![\d.,–])1 (?:[a-z-]+ )?(?:{THINGS})\b|"
    rf"(?<![\d.,–])1 of [\d,]+ [a-z]+ (?:are|have)\b|\bof 1 (?:{THINGS})\b"
)


def turns_of(succeeded: list[list[bool | None]], **more: Any) -> pl.DataFrame:
    """TURNS of a rollout for each list of verdicts, each at a goal of its own, of targets A and B by turns."""
    rows = [
        {"rollout_id": f"r{k}", "turn": turn, "target": "AB"[k % 2], "attack": "probe", "goal": f"g{k // 2}"}
        | {"response": "no", "score": turn / 4, "succeeded": verdict, **more}
        for k, verdicts in enumerate(succeeded)
        for turn, verdict in enumerate(verdicts, 1)
    ]
    return rw.turns(pl.DataFrame(rows, schema_overrides={"succeeded": pl.Boolean}))


def one(**more: Any) -> pl.DataFrame:
    """ROLLOUTS of one rollout."""
    return rw.measure(turns_of([[True]]), harm=pl.col("score").max()).with_columns(
        **{k: pl.lit(v) for k, v in more.items()}
    )


def said(turns: pl.DataFrame) -> list[str]:
    """Every sentence that the verbs have to say of these turns."""
    made = rw.measure(turns, m.attack_success(), m.time_to_success(), harm=pl.col("score").max())
    frames = [
        rw.summarize(made, statistics=("mean", "median")),
        rw.summarize(made, metrics=["attack_success"], unjudged="drop"),
        rw.summarize(made, metrics=["harm"], statistics=["mean", "q90"], method="bootstrap"),
        rw.curve(made),
        *(rw.attempts(made, k=(1, 2), stopped=stopped) for stopped in ("detect", False)),
        rw.forecast(made, k=[1, 4]),
        rw.comparisons.profile(made),
        rw.summarize(made, metrics="harm", statistics=("iqm", "optimality_gap")),
        rw.trajectory(turns),
        rw.doctor(turns),
        rw.gate(made, "attack_success < 0.5"),
    ]
    if "B" in made["target"]:
        frames += [
            rw.contrast(made, of="target", baseline="B", unjudged=unjudged, paired=paired)
            for unjudged in ("bounds", "drop")
            for paired in (True, False)
        ]
    return [
        text
        for frame in frames
        for name in frame.columns
        if frame[name].dtype == pl.String
        for text in frame[name].drop_nulls()
    ]


@pytest.mark.integration
@pytest.mark.parametrize(
    "succeeded",
    [
        [[True]],
        [[None]],
        [[False, None]],
        [[False, True], [False]],
        [[False, None], [True]],
        [[False], [False, None], [None], [True]],
        [[None, None], [False], [False], [False, True], [True], [True], [None, False]],
    ],
    ids=str,
)
def test_one_is_never_several_in_what_the_verbs_say(succeeded: list[list[bool | None]]) -> None:
    """No reason, method, estimand or note of a small table says '1 rollouts'."""
    told = said(turns_of(succeeded))
    assert len(told) > 20
    assert [text for text in told if ONE_OF_SEVERAL.search(text)] == []


@pytest.mark.integration
@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: rw.simulate(targets=["a"], turns=2, hazard=[0.1]), "has 1 value for 2 turns"),
        (lambda: rw.simulate(goals=1), "goals is 1 for 2 categories"),
        (lambda: rw.rollout.flatten([], target=["a", "b"]), "has 2 values for 0 graphs"),
        (
            lambda: rw.comparisons.best(
                rw.summarize(one(), metrics="harm", statistics="mean"), metric="harm", where=pl.col("estimate") > 1
            ),
            "none of the 1 row of",
        ),
        (lambda: rw.schema.check(one(harm=float("nan")), rw.schema.ROLLOUTS), r"holds NaN \(1 row, first"),
        (lambda: rw.judges.Relevance(lambda prompts: prompts)(["a"], ["b", "c"]), "1 response but 2 of `prompt`"),
    ],
    ids=["values", "categories", "graphs", "rows", "NaN", "responses"],
)
def test_one_is_never_several_in_what_is_refused(wrong: Callable[[], Any], sentence: str) -> None:
    """Nor does the sentence of an error."""
    with pytest.raises(rw.errors.RollwiseError, match=sentence):
        wrong()


@pytest.mark.parametrize(
    "value",
    [
        repr("x" * 100_000),
        f"`{'y' * 9_000}`",
        repr("it's " * 5_000),
        "9" * 5_000,
        repr(['"' * 500]),
        "a b " * 30_000,
        "'" * 50_000,
        "\\" * 50_000,
    ],
)
def test_a_long_value_is_cut_and_the_remedy_stays(value: str) -> None:
    """In quotes to 200 characters; as it is, where it is too long for a path; and any sentence at last."""
    sentence = str(ArgumentError(f"eval: `key` is {value}, which is unknown; correct it"))
    assert sentence.startswith("eval: `key` is ")
    assert sentence.endswith("; correct it")
    assert len(sentence) < 5_000
    assert str(ArgumentError(sentence)) == sentence
    if "b" not in value and len(set(value)) > 1:
        assert len(sentence) < 300


@pytest.mark.parametrize(
    "sentence",
    [
        f"/home/{'deep/' * 200}log.jsonl: is not there; check the path",
        f"the judge's answers, and the target's, {'are words ' * 30} 'short' and 'it' say; choose one's own",
        f"available: {', '.join(f'column_{n}' for n in range(100))}; choose one",
        f"'{'/home/me' * 100}': no such file",
    ],
)
def test_paths_and_words_are_not_cut(sentence: str) -> None:
    """However long the sentence is."""
    assert str(ArgumentError(sentence)) == sentence
