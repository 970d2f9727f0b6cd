"""Verdicts of other types: decimals, as SQL exports them, and words are shares as Booleans are, or refused."""

from decimal import Decimal
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ArgumentError

N = 50
TRUE = pl.Series([i == 0 for i in range(N)])
TABLE = pl.DataFrame(
    {"rollout_id": [str(i) for i in range(N)], "goal": [str(i) for i in range(N)], "attack_success": TRUE}
)
WORDS = TRUE.replace_strict({True: "True", False: "false"}, return_dtype=pl.String)


def rate(values: pl.Series) -> dict[str, Any]:
    """The row of SUMMARY of these verdicts, without naming the metric."""
    found = rw.summarize(TABLE.with_columns(attack_success=values))
    return found.filter(metric="attack_success").row(0, named=True)


@pytest.mark.integration
@pytest.mark.parametrize(
    "values",
    [
        TRUE.cast(pl.Int8),
        TRUE.cast(pl.UInt64),
        TRUE.cast(pl.Float32),
        TRUE.cast(pl.Int64).cast(pl.Decimal(10, 2)),
        pl.Series([Decimal(int(x)) for x in TRUE]),
        WORDS,
        WORDS.str.to_uppercase(),
        " " + WORDS + " ",
        WORDS.cast(pl.Categorical),
        WORDS.cast(pl.Enum(["True", "false"])),
    ],
    ids=str,
)
def test_every_type_of_zero_and_one_is_a_share(values: pl.Series) -> None:
    """1 of 50: Wilson's interval [.0035, .1050], not the bootstrap of a number."""
    assert rate(values) == rate(TRUE)
    assert (rate(values)["method"], round(rate(values)["high"], 4)) == ("Wilson", 0.105)


@pytest.mark.integration
def test_unknown_verdicts_stay_unknown() -> None:
    """A null among words or decimals is no failure."""
    for values in (WORDS, TRUE.cast(pl.Int64).cast(pl.Decimal(10, 2))):
        row = rate(values.to_frame("v").select(pl.when(pl.int_range(N) != 3).then("v")).to_series())
        assert (row["n"], row["n_undetermined"] + row["n_missing"]) == (N - 1, 1)


@pytest.mark.parametrize("words", [("yes", "no"), ("true", "no"), ("jailbroken", "safe"), ("true", "unknown")])
def test_other_words_are_refused(words: tuple[str, str]) -> None:
    """No word is guessed to be the success, and none is left out in silence: it says what to write."""
    values = TRUE.replace_strict({True: words[0], False: words[1]}, return_dtype=pl.String)
    for verb in (rw.summarize, lambda table: rw.summarize(table, metrics="attack_success")):
        with pytest.raises(ArgumentError, match=r"`attack_success` is text .* make it one, as in"):
            verb(TABLE.with_columns(attack_success=values))


def test_amounts_stay_numbers() -> None:
    """Decimals other than 0 and 1, or under another name, are numbers."""
    amounts = TABLE.with_columns(cost=pl.Series([Decimal(i % 2) for i in range(N)]))
    assert rw.summarize(amounts, metrics="cost")["method"][0] == "expanded BCa bootstrap"
