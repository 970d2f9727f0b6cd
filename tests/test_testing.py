"""`rollwise.testing`: requirements on rates as assertions."""

import polars as pl
import pytest

from rollwise import schema
from rollwise.errors import ArgumentError
from rollwise.testing import assert_rate

ROLLOUTS = pl.DataFrame(
    {
        "rollout_id": [f"r{i}" for i in range(200)],
        "target": ["base", "new"] * 100,
        "goal": [f"g{i // 2}" for i in range(200)],
        "attack_success": [i % 2 == 1 and i < 20 for i in range(200)],
    }
)


@pytest.mark.integration
def test_what_passes_returns_its_gate() -> None:
    """With the options of `gate`, for each group."""
    gates = assert_rate(
        ROLLOUTS, ["attack_success < 20%", "attack_success <= baseline + 5%"], by="target", baseline=ROLLOUTS
    )
    schema.check(gates, schema.GATE)
    assert gates["answer"].to_list() == ["passed"] * 4


@pytest.mark.integration
@pytest.mark.parametrize("undecided", ["fail", "skip", "warn"])
def test_what_fails_fails_whatever_is_undecided(undecided) -> None:
    """The assertion is the verdict of the gate."""
    with pytest.raises(AssertionError, match=r"^'attack_success < 3%' is not met for target='new': the lower end is"):
        assert_rate(ROLLOUTS, "attack_success < 3%", by="target", undecided=undecided)


def test_what_cannot_be_told_fails_skips_or_warns() -> None:
    """It does not pass in silence."""
    with pytest.raises(AssertionError, match="'attack_success < 12%' is undecided for target='new': the interval from"):
        assert_rate(ROLLOUTS, "attack_success < 12%", by="target")
    with pytest.raises(pytest.skip.Exception, match="is undecided for target='new'"):
        assert_rate(ROLLOUTS, "attack_success < 12%", by="target", undecided="skip")
    with pytest.warns(UserWarning, match="is undecided for target='new'") as caught:
        gates = assert_rate(ROLLOUTS, "attack_success < 12%", by="target", undecided="warn")
    assert gates["answer"].to_list() == ["passed", "undecided"]
    assert caught[0].filename == __file__


def test_bad_arguments_are_no_assertion_errors() -> None:
    """A requirement that cannot be read is a mistake in the test."""
    with pytest.raises(ArgumentError, match="undecided='pass' is unknown; it is"):
        assert_rate(ROLLOUTS, "attack_success < 1%", undecided="pass")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="is not a requirement"):
        assert_rate(ROLLOUTS, "attack_success = 1%")
