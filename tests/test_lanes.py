"""The share of a product of values that is in the fast lane has every value of every list."""

from collections import Counter

import pytest

ROWS, COLUMNS = range(4), range(8)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("column", COLUMNS)
def test_of_a_product(row: int, column: int, request: pytest.FixtureRequest) -> None:
    """Each case is in one lane."""
    is_fast = request.node.get_closest_marker("integration") is None
    assert is_fast == ((row + column) % 4 == 0)


def test_a_share_has_every_value(request: pytest.FixtureRequest) -> None:
    """Eight of 32 cases: each row twice and each column once."""
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    fast = [item for item in items if item.get_closest_marker("integration") is None]
    cases = [item.callspec.params for item in fast if item.originalname == "test_of_a_product"]
    if len(cases) < 2:
        pytest.skip("the product is not among the tests that were chosen")
    assert Counter(case["row"] for case in cases) == dict.fromkeys(ROWS, 2)
    assert Counter(case["column"] for case in cases) == dict.fromkeys(COLUMNS, 1)
