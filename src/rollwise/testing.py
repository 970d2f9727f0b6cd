"""Requirements on rates as assertions of a test suite.

```python
from rollwise.testing import assert_rate


def test_the_release_resists_attacks(rollouts):
    assert_rate(rollouts, "attack_success < 1%", by="target")
```
"""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal
from unittest import SkipTest  # pytest skips a test that raises it, too

if TYPE_CHECKING:
    import polars as pl

Undecided = Literal["fail", "skip", "warn"]

__all__ = ["assert_rate"]


def assert_rate(
    rollouts: object, require: str | Sequence[str], *, undecided: Undecided = "fail", **options: Any
) -> "pl.DataFrame":
    """Assert that the interval of each group meets the requirements, as `rollwise.gate` decides; return its GATE.

    Parameters
    ----------
    rollouts
        ROLLOUTS or a SUMMARY.
    require
        One or several requirements, such as ``"attack_success < 1%"``.
    undecided
        What to do if the data cannot tell and nothing failed: ``"fail"`` raises AssertionError, ``"skip"`` skips the test
        (pytest and unittest), ``"warn"`` issues a UserWarning.
    options
        Options of `rollwise.gate`: `by`, `cluster`, `level`, `baseline`, and so on.

    Raises
    ------
    AssertionError
        With the verdict, if a requirement failed, or if it is undecided and ``undecided="fail"``.
    ArgumentError
        If a requirement or an option is invalid.

    Examples
    --------
    >>> import polars as pl
    >>> rollouts = pl.DataFrame({"rollout_id": list("abcdef"), "attack_success": [False] * 6})
    >>> assert_rate(rollouts, "attack_success < 50%")["answer"].to_list()
    ['passed']
    >>> assert_rate(rollouts, "attack_success > 50%")
    Traceback (most recent call last):
    AssertionError: 'attack_success > 50%' is not met: the upper end is 45.9 % (6 rollouts)
    """
    from rollwise.estimation.gate import gate
    from rollwise.estimation.gate_words import verdict
    from rollwise.schema.option_types import check_option_types

    __tracebackhide__ = True  # pytest shows the line of the test instead of this function
    check_option_types(assert_rate, locals())
    gates = gate(rollouts, require, **options)
    answers = set(gates["answer"])
    if "failed" in answers or ("undecided" in answers and undecided == "fail"):
        raise AssertionError(verdict(gates))
    if "undecided" in answers and undecided == "skip":
        raise SkipTest(verdict(gates))
    if "undecided" in answers:
        warnings.warn(verdict(gates), stacklevel=2)
    return gates
