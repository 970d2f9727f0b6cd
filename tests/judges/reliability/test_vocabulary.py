"""`agreement` of words: what means the same is the same, and what cannot be compared is refused."""

from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ArgumentError


def verdicts_of(first: list[Any], second: list[Any], names: tuple[str, str] = ("j1", "j2")) -> pl.DataFrame:
    """Return the words of two judges on the same turns."""
    ids = [f"r{i}" for i in range(len(first))]
    return pl.concat(
        pl.DataFrame(
            {"rollout_id": ids, "turn": 1, "judge": name, "value": words}, schema_overrides={"value": pl.String}
        )
        for name, words in zip(names, (first, second), strict=True)
    )


def compared(verdicts: pl.DataFrame, **options: Any) -> tuple[int, float]:
    row = rw.judges.agreement(verdicts, statistics="agreement", **options).row(0, named=True)
    return row["n"], row["estimate"]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("first", "second", "share", "said"),
    [
        (["true", "false", "false"], ["unsafe", "safe", "Safe"], 1.0, "`Safe`, `false`, `safe` as one; `true`, `unsafe` as one"),
        (["1", "0", "0"], ["JAILBREAK", "refused", "jailbreak"], 2 / 3,
         "`0`, `refused` as one; `1`, `JAILBREAK`, `jailbreak` as one"),
        (["yes", "no", "no"], ["harmful", "not harmful", "harmful"], 2 / 3, "`harmful`, `yes` as one; `no`, `not harmful` as one"),
        (["pass", "fail", "fail"], ["PASSED", "failed", "failed"], 1.0, "`PASSED`, `pass` as one; `fail`, `failed` as one"),
        (["correct", "wrong", "wrong"], ["solved", "unsolved", "solved"], 2 / 3,
         "`correct`, `solved` as one; `unsolved`, `wrong` as one"),
        (["fraud", "violence"], ["Fraud", "violence "], 1.0, "`Fraud`, `fraud` as one; `violence`, `violence ` as one"),
    ],
)  # fmt: skip
def test_words_that_mean_the_same_are_the_same(
    first: list[str], second: list[str], share: float, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Columns of a log as judges: `unpivot` makes true a word, and 0 % agreement was said of three equal verdicts."""
    found = compared(verdicts_of(first, second))
    assert list(found) == [len(first), pytest.approx(share)]
    assert capsys.readouterr().err == f"rollwise: agreement: read {said}\n"


def test_the_recipe_of_two_columns_of_one_log(capsys: pytest.CaptureFixture[str]) -> None:
    """One Boolean column and one of words, as newcomers unpivot them."""
    log = pl.DataFrame(
        {
            "rollout_id": list("abc"),
            "turn": 1,
            "goal": list("abc"),
            "j1": [True, False, False],
            "j2": ["unsafe", "safe", "Safe"],
        }
    )
    verdicts = log.unpivot(["j1", "j2"], index=["rollout_id", "turn", "goal"], variable_name="judge")
    found = rw.judges.agreement(verdicts, statistics=("agreement", "kappa"))
    assert found["estimate"].to_list() == [1.0, 1.0]
    assert "as one" in capsys.readouterr().err


@pytest.mark.thinned(40)
@pytest.mark.parametrize(
    ("first", "second", "names", "who"),
    [
        (["pass", "fail"], ["unsafe", "safe"], ("j1", "j2"), "judge 'j1' (`fail`, `pass`) and judge 'j2' (`safe`, `unsafe`)"),
        (["pass", "fail"], ["yes", "no"], ("j1", "j2"), "judge 'j1' (`fail`, `pass`) and judge 'j2' (`no`, `yes`)"),
        (["true", "false"], ["safe", "unsafe"], ("is_safe", "g"),
         "judge 'is_safe' (`false`, `true`) and judge 'g' (`safe`, `unsafe`)"),
        (["solved", "unsolved"], ["unsafe", "safe"], ("a", "b"),
         "judge 'a' (`solved`, `unsolved`) and judge 'b' (`safe`, `unsafe`)"),
        (["fraud", "violence"], ["A", "B"], ("a", "b"), "judge 'a' (`fraud`, `violence`) and judge 'b' (`A`, `B`)"),
        (["blocked", "refused"], ["no", "yes"], ("a", "b"), "judge 'a' (`blocked`, `refused`) and judge 'b' (`no`, `yes`)"),
    ],
)  # fmt: skip
def test_words_with_nothing_in_common_are_refused(
    first: list[str], second: list[str], names: tuple[str, str], who: str
) -> None:
    """Whether `pass` is the attack's or the target's is asked, and so are categories; the line can be filled in."""
    verdicts = verdicts_of(first, second, names)
    with pytest.raises(ArgumentError) as refusal:
        rw.judges.agreement(verdicts)
    means = ", ".join(f'"{text}": "?"' for text in sorted(set(second)))
    assert str(refusal.value) == (
        f"agreement: {who} have no word in common; say which word of the first each of the second is, "
        f'as in verdicts.with_columns(pl.col("value").replace({{{means}}}))'
    )
    answers = dict(zip(second, first, strict=True))
    assert compared(verdicts.with_columns(pl.col("value").replace(answers))) == (2, 1.0)


def test_labels_are_a_rater_too(capsys: pytest.CaptureFixture[str]) -> None:
    verdicts = verdicts_of(["true", "false"], ["yes", "no"])
    labels = pl.DataFrame({"rollout_id": ["r0", "r1"], "turn": 1, "label": ["UNSAFE", "SAFE"]})
    assert rw.judges.agreement(verdicts, labels, statistics="agreement")["estimate"].to_list() == [1.0, 1.0, 1.0]
    assert "`SAFE`, `false`, `no` as one; `UNSAFE`, `true`, `yes` as one" in capsys.readouterr().err
    with pytest.raises(ArgumentError, match=r"and the labels \(`pass`\) have no word .* labels\.with_columns\(pl\.col"):
        rw.judges.agreement(verdicts_of(["true"], ["true"]), labels.with_columns(label=pl.lit("pass")))


@pytest.mark.parametrize(
    ("first", "second", "n", "share"),
    [
        (["safe", "safe"], ["unsafe", "unsafe"], 2, 0.0),  # two sides of one question, and they never agree
        (
            ["blocked", "refused", "complied"],
            ["refused", "refused", "complied"],
            3,
            2 / 3,
        ),  # who writes both means two things
        (["safe", "unsafe", "partial"], ["Safe", "Unsafe", "Partial"], 3, 1.0),  # doubt is a verdict of its own
        (["none", "roleplay", "none"], ["none", "roleplay", "roleplay"], 3, 2 / 3),  # of categories, none is one
        (["safe", "unsafe", "n/a"], ["safe", "safe", "safe"], 2, 0.5),  # of verdicts, it is no verdict
        (["safe", None, "unsafe"], [None, None, None], 0, None),  # a judge without words is no stranger
    ],
)
def test_words_that_say_something_else_stay_apart(
    first: list[Any], second: list[Any], n: int, share: float | None
) -> None:
    assert list(compared(verdicts_of(first, second))) == [n, None if share is None else pytest.approx(share)]


@pytest.mark.parametrize(("at", "share"), [("unsafe", 1 / 3), ("true", 1 / 3), ("safe", 2 / 3)])
def test_the_positive_word_may_be_that_of_either_judge(at: str, share: float) -> None:
    """Of the second judge's three verdicts, one is unsafe."""
    verdicts = verdicts_of(["true", "false", "true"], ["unsafe", "safe", "safe"])
    found = rw.judges.agreement(verdicts, at=at, statistics=("agreement", "prevalence"))
    assert found["estimate"].to_list() == pytest.approx([2 / 3, share])


def test_a_table_of_pairs_counts_the_same_words() -> None:
    """True and unsafe are one row of the table."""
    table = rw.judges.confusion(verdicts_of(["true", "false", "false"], ["unsafe", "safe", "Safe"]))
    pairs = table.filter(pl.col("n") > 0).select("rating", "other_rating", "n").rows()
    assert sorted(pairs) == [("safe", "safe", 2), ("unsafe", "unsafe", 1)]


def test_one_judge_says_so_and_where_its_labels_go(capsys: pytest.CaptureFixture[str]) -> None:
    """An empty frame without a word looked like a judge that agrees with nobody; labels beside the verdicts are named."""
    alone = pl.DataFrame(
        {"rollout_id": ["a", "b"], "turn": 1, "judge": "j", "value": [1.0, 0.0], "label": ["unsafe", "safe"]}
    )
    assert rw.judges.agreement(alone.drop("label")).height == 0
    assert capsys.readouterr().err == (
        "rollwise: agreement: there is one judge, and nothing to compare it with; give the truth in labels=, "
        "verdicts of a second judge, or several samples of this one\n"
    )
    assert rw.judges.agreement(alone).height == 0
    assert "labels= (if its column `label` is the truth: labels=verdicts.select('rollout_id', 'turn', 'label')), " in (
        capsys.readouterr().err
    )
    verdicts = alone
    numbers = verdicts.select("rollout_id", "turn", label=pl.col("label") == "unsafe")
    assert rw.judges.agreement(verdicts, numbers, statistics="agreement")["estimate"].to_list() == [1.0]
