"""Finished frame -> matplotlib Axes; no statistics.

`forest` draws a SUMMARY, `success_curve` a CURVE. Each computes its marks first, as a small frame (`forest_marks`,
`curve_marks`), and then paints them. `figure_svg` and `save` turn what they return into the same bytes every time.
"""

from turnwise.plots.contrast_forest import contrast_forest, contrast_marks
from turnwise.plots.figures import figure_svg, forget, save
from turnwise.plots.forest import forest, forest_marks
from turnwise.plots.heat_map import heat_map, heat_marks
from turnwise.plots.success_curve import curve_marks, success_curve
from turnwise.plots.theme import looks

__all__ = [
    "contrast_forest",
    "contrast_marks",
    "curve_marks",
    "figure_svg",
    "forest",
    "forest_marks",
    "forget",
    "heat_map",
    "heat_marks",
    "looks",
    "save",
    "success_curve",
]
