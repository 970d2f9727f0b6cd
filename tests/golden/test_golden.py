"""No number changes unnoticed: every case gives what is stored in `results/`; `record.py` says how to accept a change."""

import pytest
from golden.cases import CASES, computed  # type: ignore[import-not-found]
from golden.stored import REAL_LOGS, SHARED, changes, group_of, load  # type: ignore[import-not-found]

pytestmark = pytest.mark.integration

STORED = load()


@pytest.mark.parametrize("name", sorted(STORED.keys() | CASES.keys()))
def test_the_result_is_the_stored_one(name: str) -> None:
    """The case computes the stored tables: the same columns, dtypes and rows, floats to nine digits."""
    if group_of(name) == REAL_LOGS and not SHARED.is_dir():
        pytest.skip("no folder of real logs; set ROLLWISE_SHARED_DATA to one")
    assert name in CASES, "is stored, and no case any more: python tests/golden/record.py --accept"
    assert name in STORED, "is not stored: python tests/golden/record.py --accept"
    if lines := changes(STORED[name], computed(name)):
        pytest.fail("\n".join([f"{name} changed:", *lines]), pytrace=False)
