"""How often a simulation is repeated: in full in the slow lane, a tenth as often in the reduced one that CI runs.

A slow test asks `repeated(3000)` instead of writing 3000, and derives its tolerance from the number that it gets. So the
reduced lane runs every line of every simulation, with the same assertions and a wider Monte Carlo error.
"""

import os

REDUCED = os.environ.get("ROLLWISE_SIMULATIONS") == "reduced"
FEWEST = 100  # below this, the Monte Carlo error is as large as what the tests look for


def repeated(full: int, *, reduced: int | None = None) -> int:
    """Return `full`, or in the reduced lane `reduced` (by default a tenth of `full`, and at least 100)."""
    if not REDUCED:
        return full
    return min(full, reduced or max(FEWEST, full // 10))
