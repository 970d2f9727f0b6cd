"""Rules, endpoints and calibration that are given what they cannot be: one sentence of rollwise's own."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ArgumentError
from rollwise.judges import MCQACalibration
from rollwise.rollout import Above, Below, Precision

FRAME = pl.DataFrame({"a": [1]})
ODD: list[Any] = ["0.5", None, [0.5], np.array([0.1, 0.2]), FRAME, pl.lit(0.5), True, float("nan"), 1j, {}, "x" * 9000]
OPTIONAL = {"base_url", "api_key", "temperature", "max_tokens", "prices"}


def said(call: Any) -> str:
    """The sentence."""
    with pytest.raises(ArgumentError) as caught:
        call()
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert len(sentence) < 300
    return sentence


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
@pytest.mark.parametrize("rule", [Below, Above, Precision])
def test_a_rule_takes_numbers(rule: Any, odd: Any) -> None:
    """As threshold or half-width, and as level."""
    name = "half_width" if rule is Precision else "threshold"
    assert said(lambda: rule("attack_success", odd)).startswith(f"{rule.__name__}: {name}=")
    assert said(lambda: rule("attack_success", 0.1, level=odd)).startswith(f"{rule.__name__}: level=")


@pytest.mark.parametrize("odd", [None, 1, "", np.array(["a"]), pl.col("a")], ids=range(5))
def test_a_rule_takes_the_name_of_a_metric(odd: Any) -> None:
    """And nothing else."""
    assert said(lambda: Below(odd, 0.1)).startswith("Below: metric=")


def test_numbers_of_numpy_are_numbers() -> None:
    """As they were."""
    assert Below("attack_success", np.float64(0.01), level=np.float64(0.5)).threshold == 0.01


@pytest.mark.thinned(6)
@pytest.mark.parametrize("odd", [np.array(["a", "b"]), 5, None, pl.DataFrame(), ["m"], b"m"], ids=range(6))
@pytest.mark.parametrize(
    "name", ["model", "base_url", "api_key", "temperature", "max_tokens", "timeout", "prices", "options"]
)
def test_an_endpoint_takes_text_and_numbers(name: str, odd: Any) -> None:
    """Each of its arguments."""
    pytest.importorskip("openai", reason="openai is not installed (extra judge)")
    arguments = {"model": "m", "base_url": "http://127.0.0.1:1/v1", "api_key": "k", name: odd}
    is_number = isinstance(odd, int) and name in {"temperature", "max_tokens", "timeout"}
    if is_number or (odd is None and name in OPTIONAL):
        rw.judges.Endpoint(**arguments)
    else:
        assert said(lambda: rw.judges.Endpoint(**arguments)).startswith("Endpoint: ")


@pytest.mark.parametrize(
    "odd", [pl.DataFrame({"a": [1]}), "10", None, 2.5, [10], np.array([1, 2]), 10**30], ids=range(7)
)
def test_calibration_takes_a_whole_number_of_bins(odd: Any) -> None:
    """Of any kind of number."""
    assert said(lambda: MCQACalibration(n_bins=odd)).startswith("MCQACalibration: n_bins=")
