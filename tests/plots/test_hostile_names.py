"""Figures of names that no one expects: valid XML, and axes that are still there."""

import re
import warnings
from collections.abc import Callable
from xml.etree import ElementTree as ET

import polars as pl
import pytest

from rollwise import plots

NAMES = {
    "no character": "\ufffe",
    "null byte": "a\0b",
    "escape sequence": "\x1b[31mred",
    "markup": "<b>&amp;\"'</b>",
    "mathematics": "$\\frac{",
    "from right to left": "\u202egpj.exe",
    "new lines": "a\nb\r\n\tc",
    "blank": " ",
    "empty": "",
    "long": "x" * 3000,
    "long words": "word " * 600,
    "formula": "=cmd|' /C calc'!A0",
}


def summary(name: str) -> pl.DataFrame:
    """Two targets and two attacks, one of them with this name."""
    rows = [(target, attack) for target in ("base", name) for attack in ("ask", f"{name}!")]
    return pl.DataFrame(rows, schema=["target", "attack"], orient="row").with_columns(
        metric=pl.lit("attack_success"), statistic=pl.lit("mean"), level=0.95, n=20, estimate=0.2, low=0.1, high=0.4
    )


def curve(name: str) -> pl.DataFrame:
    """Two short curves."""
    at = pl.DataFrame(
        {"at": [0.0, 1.0, 2.0], "estimate": [0.0, 0.1, 0.3], "low": [None, 0.0, 0.1], "high": [None, 0.3, 0.5]}
    )
    facts = {"metric": "time_to_success", "kind": "success", "axis": "turn"}
    return pl.concat(
        at.with_columns(
            pl.lit(target).alias("target"), level=0.95, at_risk=20, **{k: pl.lit(v) for k, v in facts.items()}
        )
        for target in ("base", name)
    )


FIGURES: dict[str, Callable[[str], plots.Plot]] = {
    "forest": lambda name: plots.forest(summary(name)),
    "heat_map": lambda name: plots.heat_map(summary(name), rows="target", columns="attack"),
    "curve": lambda name: plots.curve(curve(name), title=name),
}


@pytest.mark.integration
@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("name", NAMES)
def test_a_figure_of_any_name_is_xml_with_axes(figure: str, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # Matplotlib warns where axes have no room
        plot = FIGURES[figure](NAMES[name])
        root = ET.fromstring(plot.svg())  # our own
    assert root.tag.endswith("svg")
    axes = plot.axes[0]
    figure_of_axes = axes.get_figure(root=True)
    assert figure_of_axes is not None
    width = axes.get_position().width * figure_of_axes.get_size_inches()[0]
    assert width > 1.0, f"the axes are {width:.2f} inches wide"
    assert "x" * 200 not in plot.svg()
    ET.fromstring(plot.svg(inline=True))
    assert not re.search("<title>[^<]{300}", plot.svg(inline=True))  # a tooltip is no page of one name
