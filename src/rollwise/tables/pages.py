"""Grids as HTML, with an interval drawn in each row; great_tables makes it."""

import hashlib
import html as escaping
from typing import TYPE_CHECKING

import polars as pl

from rollwise.tables.grid import Bar, Grid
from rollwise.tables.narrow import headed, sections

if TYPE_CHECKING:
    from great_tables import GT

_BLUE, _GUIDE = "#0072B2", "#D0D0D0"


def gt_of(grid: Grid) -> "GT":
    """Return the grid as a great_tables object: names that repeat once above their rows, and intervals drawn."""
    from great_tables import GT, loc, style
    from great_tables import html as raw

    heads, columns = headed(grid.columns, [] if grid.spanner else sections(grid.columns))
    # Columns are numbered, as headings may be equal.
    names = [f"c{place}" for place, _ in enumerate(columns)]
    cells = {
        name: [_svg(cell) if isinstance(cell, Bar) else cell for cell in column.cells]
        for name, column in zip(names, columns, strict=True)
    }
    if heads:
        cells["head"] = list(heads)  # which great_tables escapes
    # The id of the table scopes its styles; it depends on the content, so that equal tables are equal bytes.
    digest = hashlib.blake2b(repr(grid).encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()
    frame = pl.DataFrame(cells, schema=dict.fromkeys(cells, pl.String))
    table = GT(frame, id=f"rw{digest}", groupname_col="head" if heads else None)
    table = table.cols_label(
        {name: raw(escaping.escape(column.heading)) for name, column in zip(names, columns, strict=True)}
    )
    for side, words in (("left", True), ("right", False)):
        chosen = [name for name, column in zip(names, columns, strict=True) if column.words is words]
        table = table.cols_align(align=side, columns=chosen) if chosen else table
    if grid.spanner:
        table = table.tab_spanner(label=raw(escaping.escape(grid.spanner)), columns=names[1:])
        table = table.tab_options(data_row_padding_horizontal="10px", column_labels_padding_horizontal="10px")
    # Cells are escaped, except for the drawn intervals, which are SVG.
    bars = [name for name, column in zip(names, columns, strict=True) if column.graphic]
    if bars:
        table = table.fmt_passthrough(columns=bars, escape=False)
    for name, column in zip(names, columns, strict=True):
        if column.best:
            table = table.tab_style(style.text(weight="bold"), loc.body(columns=[name], rows=sorted(column.best)))
    if grid.heading:
        table = table.tab_header(title=raw(escaping.escape(grid.heading)))
    for note in (*grid.notes, grid.best, grid.caption):
        table = table.tab_source_note(raw(escaping.escape(note))) if note else table
    return table.tab_options(
        row_group_font_weight="bold",
        row_group_padding="3px",
        table_font_size="13px",
        data_row_padding="3px",
        table_margin_left="0px",
        column_labels_font_weight="bold",
    ).opt_css("td, th { font-variant-numeric: tabular-nums; }")


def _svg(bar: Bar) -> str:
    """Draw the interval as a line with a dot, in SVG: an open ring without an interval, a dashed line without an estimate."""
    across, up, edge = 110.0, 14.0, 5.0
    low, high = bar.scale
    middle = up / 2

    def place(value: float) -> float:
        # Halves, as the difference of two large numbers may overflow.
        inside = (value / 2 - low / 2) / (high / 2 - low / 2) if high > low else 0.5
        return round(edge + min(max(inside, 0.0), 1.0) * (across - 2 * edge), 2)

    zero = f'x1="{place(0.0)}" y1="1" x2="{place(0.0)}" y2="{up - 1}"'
    parts = [f'<line {zero} stroke="{_GUIDE}"/>'] if low <= 0 <= high and low < high else []
    ends = [place(end) if end is not None else None for end in (bar.low, bar.high)]
    if ends != [None, None]:
        left, right = (edge if ends[0] is None else ends[0]), (across - edge if ends[1] is None else ends[1])
        dashes = ' stroke-dasharray="3 2"' if bar.estimate is None else ""
        parts.append(
            f'<line x1="{left}" y1="{middle}" x2="{right}" y2="{middle}" stroke="{_BLUE}" stroke-width="2"{dashes}/>'
        )
    if bar.estimate is not None:
        inside = _BLUE if ends != [None, None] else "none"
        parts.append(f'<circle cx="{place(bar.estimate)}" cy="{middle}" r="3.4" fill="{inside}" stroke="{_BLUE}"/>')
    words = escaping.escape(bar.words, quote=True)
    return f'<svg width="{across:g}" height="{up:g}" role="img" aria-label="{words}">{"".join(parts)}</svg>'
