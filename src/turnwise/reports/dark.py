"""Figures on a dark page: drawn in its style, or light ones recolored where each color is known."""

import re
from functools import cache
from typing import Any

from turnwise.plots import theme

_INK, _PAGE = "#e6edf3", "#0d1117"  # of page.css where it is dark
STYLE: Any = dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), _INK) | (
    dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), _PAGE)
)
_TAG = re.compile(r"<(\w+)[^<>]*>")  # what a log says has no < in SVG
_COLOR = re.compile(r"(?<=: |=\")#[0-9a-f]{6}\b")
_OF_LETTERS = {"g", "text", "tspan"}  # Matplotlib gives these a style for nothing else


def recolored(svg: str) -> str | None:
    """The SVG of a light figure as it is drawn in `STYLE`; None where it holds a picture, or a color that may mean several.

    Examples
    --------
    >>> recolored('<svg width="9"><g style="fill: #0072b2"/><path style="stroke: #0072b2; fill: #ffffff"/></svg>')
    '<svg fill="#e6edf3" width="9"><g style="fill: #2486bd"/><path style="stroke: #0072b2; fill: #0d1117"/></svg>'
    >>> recolored('<svg><path style="fill: #fca88e"/></svg>')
    """
    if "<image" in svg or not _is_light():
        return None
    lines, letters = _colors()

    def tag(found: re.Match[str]) -> str:
        known = letters if found[1] in _OF_LETTERS else lines
        return _COLOR.sub(lambda color: known[color[0]], found[0])

    try:  # black is left out where it fills: it is what is given to the whole
        return _TAG.sub(tag, svg).replace("<svg ", f'<svg fill="{_INK}" ', 1)
    except KeyError:
        return None


def _is_light() -> bool:
    """Return whether figures are drawn black on white, as Matplotlib does if nobody has set another style."""
    from matplotlib import rcParams, rcParamsDefault

    return all(rcParams[name] == rcParamsDefault[name] for name in STYLE)


@cache
def _colors() -> tuple[dict[str, str], dict[str, str]]:
    """Return the dark color of each light color of lines and letters."""
    strengths = (0.0, theme.GUIDE, theme.GRAY, theme.MUTED, 1.0)
    grays = {theme.blend("black", "white", strength): theme.blend(_INK, _PAGE, strength) for strength in strengths}
    hues = [color.lower() for color in theme.PALETTE if color != "#000000"]
    lines = grays | {color: color for color in hues}
    return lines, lines | {theme.ink(color, "white"): theme.ink(color, _PAGE) for color in hues}
