"""Certified values of NIST's Statistical Reference Datasets, and how many of their digits we reach.

The data and the certified values are in the public domain (https://www.itl.nist.gov/div898/strd/univ/homepage.html).
NumAcc1 to NumAcc4 were made by NIST to show the loss of digits in one-pass formulas of the variance.
"""

import math

import numpy as np

from rollwise.stats.extremes import standard_deviation
from rollwise.stats.mean import mean

MICHELSO = """
850 740 900 1070 930 850 950 980 980 880 1000 980 930 650 760 810 1000 1000 960 960 960 940 960 940 880 800 850 880 900 840
830 790 810 880 880 830 800 790 760 800 880 880 880 860 720 720 620 860 970 950 880 910 850 870 840 840 850 840 840 840
890 810 810 820 800 770 760 740 750 760 910 920 890 860 880 720 840 850 850 780 890 840 780 810 760 810 790 810 820 850
870 870 810 740 810 940 950 800 810 870
"""
MAVRO = """
180 170 180 190 180 170 150 140 150 150 170 180 180 190 190 210 200 160 140 130 130 150 150 160 150 140 130 140 150 140
150 160 150 160 190 200 200 210 220 230 240 250 270 260 260 260 270 260 250 240
"""
LEW = """
-213 -564 -35 -15 141 115 -420 -360 203 -338 -431 194 -220 -513 154 -125 -559 92 -21 -579 -52 99 -543 -175 162 -457 -346
204 -300 -474 164 -107 -572 -8 83 -541 -224 180 -420 -374 201 -236 -531 83 27 -564 -112 131 -507 -254 199 -311 -495 143
-46 -579 -90 136 -472 -338 202 -287 -477 169 -124 -568 17 48 -568 -135 162 -430 -422 172 -74 -577 -13 92 -534 -243 194
-355 -465 156 -81 -578 -64 139 -449 -384 193 -198 -538 110 -44 -577 -6 66 -552 -164 161 -460 -344 205 -281 -504 134 -28
-576 -118 156 -437 -381 200 -220 -540 83 11 -568 -160 172 -414 -408 188 -125 -572 -32 139 -492 -321 205 -262 -504 142 -83
-574 0 48 -571 -106 137 -501 -266 190 -391 -406 194 -186 -553 83 -13 -577 -49 103 -515 -280 201 300 -506 131 -45 -578 -80
138 -462 -361 201 -211 -554 32 74 -533 -235 187 -372 -442 182 -147 -566 25 68 -535 -244 194 -351 -463 174 -125 -570 15 72
-550 -190 172 -424 -385 198 -218 -536 96
"""


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split()]


def _alternating(middle: str, low: str, high: str) -> list[float]:
    return [float(middle), *([float(low), float(high)] * 500)]


SETS: dict[str, tuple[list[float], float, float]] = {
    "Lew": ([float(value) for value in _numbers(LEW)], -177.435000000000, 277.332168044316),
    "Mavro": ([float(f"2.0{value:04d}") for value in _numbers(MAVRO)], 2.00185600000000, 0.000429123454003053),
    "Michelso": ([float(f"{299000 + value}e-3") for value in _numbers(MICHELSO)], 299.852400000000, 0.0790105478190518),
    "NumAcc1": ([10000001.0, 10000003.0, 10000002.0], 10000002.0, 1.0),
    "NumAcc2": (_alternating("1.2", "1.1", "1.3"), 1.2, 0.1),
    "NumAcc3": (_alternating("1000000.2", "1000000.1", "1000000.3"), 1000000.2, 0.1),
    "NumAcc4": (_alternating("10000000.2", "10000000.1", "10000000.3"), 10000000.2, 0.1),
}
"""Values, certified mean, certified standard deviation, by the name of the set."""


def digits(value: float, certified: float) -> float:
    """Return the number of correct significant digits, -log10 of the relative error, at most 15 (NIST's LRE)."""
    error = abs(value - certified) / abs(certified)
    return 15.0 if error == 0 else round(min(15.0, -math.log10(error)), 1)


def rows() -> list[dict]:
    """Return a row for each set: n, and the digits of mean and standard deviation reached."""
    result = []
    for name, (values, average, spread) in SETS.items():
        data = np.array(values)
        ours = mean(data, (), interval="t").estimate, standard_deviation(data).estimate
        result.append(
            {
                "set": name,
                "n": data.size,
                "digits of mean": digits(ours[0], average),
                "digits of sd": digits(ours[1], spread),
            }
        )
    return result
