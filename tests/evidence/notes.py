"""Why an interval is refused, covers too little, or is wider than another one: one sentence for each such row of the table."""

from typing import Any

from . import audit

_RARE = "the narrower ones cover less than .94 in other settings here: about half of the time at 30 × 20, rate 0.01"
_GIANT = "the other one weighs every goal the same, which is another question (`weighting='goal'`)"
_MONTE_CARLO = "within two Monte Carlo errors of .94"
_FEW_DIFFER = "fewer than six goals differ, so no test of them can reject either; the score interval keeps to that"

NOTES: dict[tuple[str, str], str] = {
    **{
        ("rate", setting): _RARE
        for setting in (
            "8 × 10, rate 0.1, icc 0.2",
            "8 × 3, rate 0.3, icc 0.3",
            "12 × 5, rate 0.1, icc 0.3",
            "20 × 3, rate 0.05, icc 0.3",
            "20 × 5, rate 0.05, icc 0.3",
            "30 × 1, rate 0.1, icc 0.1",
            "30 × 3, rate 0.1, icc 0.3",
            "50 × 5, rate 0.05, icc 0.3",
            "100 × 10, rate 0.02, icc 0.3",
        )
    },
    ("rate", "20, sizes 3 to 40, rate 0.3, icc 0.3"): _GIANT,
    ("rate", "20, sizes 2 to 30, rate 0.3, icc 0.3"): _GIANT,
    ("rate", "30, sizes 1 to 30, rate 0.3, icc 0.3"): _GIANT,
    ("quantile", "q90, 12 × 3, normal"): "twelve goals are too few for a 90 % quantile",
    ("quantile", "q90, 12 × 3, lognormal"): "twelve goals are too few for a 90 % quantile",
    (
        "quantile",
        "q50, 50 × 1, normal",
    ): "exact for every distribution; ranks are whole numbers, so the level is above .95",
    (
        "quantile",
        "q50, 50 × 1, lognormal",
    ): "exact for every distribution; ranks are whole numbers, so the level is above .95",
    (
        "quantile",
        "q90, 100 × 1, normal",
    ): "exact for every distribution; ranks are whole numbers, so the level is above .95",
    (
        "quantile",
        "q90, 100 × 1, lognormal",
    ): "exact for every distribution; ranks are whole numbers, so the level is above .95",
    ("difference", "paired rates, 40 × 3, 0.02 and 0.02, icc 0.2"): _FEW_DIFFER,
    ("difference", "rates of different goals, 30 × 3, 0.1 and 0.05, icc 0.3"): _RARE,
    ("difference", "of q50, 8 × 3, lognormal"): "fewer than ten goals in an arm are too few for its bootstrap",
}
"""By family and setting."""


def note_of(row: dict[str, Any], least: float, most: float) -> str:
    """Return the note on a row of the coverage table: empty where coverage and width need none.

    Raises
    ------
    KeyError
        If the row needs a note and has none, so that no bad row is published in silence.
    """
    key = row["family"], row["setting"]
    if row["coverage"] is None:
        return f"refused: {_note(key)}"
    too_low, too_wide = row["coverage"] < least, row["ratio"] is not None and row["ratio"] > most
    if not too_low and not too_wide:
        return ""
    noise = 2 * (least * (1 - least) / row["repetitions"]) ** 0.5
    if not too_wide and key not in NOTES and row["coverage"] >= least - noise:
        return _MONTE_CARLO
    return _note(key)


def _note(key: tuple[str, str]) -> str:
    return NOTES.get(key) or audit.NOTES[key[0]]
