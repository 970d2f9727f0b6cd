"""Grids as HTML, with an interval drawn in each row, or as LaTeX; great_tables makes both."""

import hashlib
import html as escaping
import re
from typing import TYPE_CHECKING

import polars as pl

from rollwise.tables.grid import Bar, Grid
from rollwise.tables.layout import ColumnLayout, fitted, length, stacked, total_width

if TYPE_CHECKING:
    from great_tables import GT

_BLUE, _GUIDE = "#0072B2", "#D0D0D0"
_GREEK = (
    "αalpha βbeta γgamma δdelta εvarepsilon ζzeta ηeta θtheta ιiota κkappa λlambda μmu νnu ξxi πpi ρrho σsigma τtau υupsilon "
    "φvarphi χchi ψpsi ωomega ΓGamma ΔDelta ΘTheta ΛLambda ΞXi ΠPi ΣSigma ΦPhi ΨPsi ΩOmega"
)
_LETTERS = (  # that LaTeX's own fonts lack, or show as others
    {"−": "$-$", "×": r"$\times$", "…": r"\ldots{}", "|": r"\textbar{}"}
    | {"≤": r"$\leq$", "≥": r"$\geq$", "≠": r"$\neq$", "≈": r"$\approx$", "→": r"$\to$", "∞": r"$\infty$"}
    | {raised: rf"\textsuperscript{{{digit}}}" for digit, raised in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
    | {word[0]: rf"$\{word[1:]}$" for word in _GREEK.split()}
)
_LATIN, _TYPOGRAPHY = 0x17F, "–—‘’“”„‚•†‡…€™‰‹›"  # letters up to which pdfLaTeX has all, and further ones it has
_ACROSS, _UPRIGHT = 150, 75  # letters on a page in landscape, and upright
_LINES, _LINES_ACROSS = 40, 24  # of a page upright and in landscape: 46 and 27 of article's fit, headings included
_HEADED = "\\midrule\\addlinespace[2.5pt]\n"  # what great_tables puts under the headings
_BOX, _END, _WIDTHS = "\ue000", "\ue001", 0xE100  # private marks around a cell that is broken into lines
_FOLD = re.compile(f"{_BOX}(.)(.*?){_END}", re.DOTALL)
_STACK = re.compile("\ue002(.*?)\ue003(.*?)\ue004")  # private marks around an estimate above its interval
_LIGATURES = re.compile("-(?=-)|`(?=`)|'(?=')|,(?=,)|[?!](?=`)")  # pairs that LaTeX sets as one character
# At the start of a row: LaTeX takes it for an option of the row break before.
_OPTION = re.compile(r"^(?=[*\[])", re.MULTILINE)


def gt_of(grid: Grid) -> "GT":
    """Return the grid as a great_tables object, with drawn intervals."""
    from great_tables import GT
    from great_tables import html as raw

    # Columns are numbered, as headings may be equal.
    names = [f"c{place}" for place, _ in enumerate(grid.columns)]
    cells = {
        name: [_svg(cell) if isinstance(cell, Bar) else cell for cell in column.cells]
        for name, column in zip(names, grid.columns, strict=True)
    }
    # The id of the table scopes its styles; it depends on the content, so that equal tables are equal bytes.
    digest = hashlib.blake2b(repr(grid).encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()
    table = GT(pl.DataFrame(cells, schema=dict.fromkeys(names, pl.String)), id=f"rw{digest}")
    table = table.cols_label(
        {name: raw(escaping.escape(column.heading)) for name, column in zip(names, grid.columns, strict=True)}
    )
    for side, words in (("left", True), ("right", False)):
        chosen = [name for name, column in zip(names, grid.columns, strict=True) if column.words is words]
        table = table.cols_align(align=side, columns=chosen) if chosen else table
    if grid.spanner:
        table = table.tab_spanner(label=raw(escaping.escape(grid.spanner)), columns=names[1:])
        table = table.tab_options(data_row_padding_horizontal="10px", column_labels_padding_horizontal="10px")
    # Cells are escaped, except for the drawn intervals, which are SVG.
    bars = [name for name, column in zip(names, grid.columns, strict=True) if column.graphic]
    if bars:
        table = table.fmt_passthrough(columns=bars, escape=False)
    for note in (*grid.notes, grid.caption):
        table = table.tab_source_note(raw(escaping.escape(note))) if note else table
    return table.tab_options(
        table_font_size="13px", data_row_padding="3px", table_margin_left="0px", column_labels_font_weight="bold"
    ).opt_css("td, th { font-variant-numeric: tabular-nums; }")


def latex_of(grid: Grid) -> str:
    """Return the grid as LaTeX for the booktabs package, with intervals as text only.

    A table that is wider than a page in landscape is narrowed as in a terminal: text wraps, then columns are omitted and named
    below. A table longer than a page is a `longtable`, which repeats its headings on each page.
    """
    from great_tables import GT

    layouts, more_notes = fitted(stacked([column for column in grid.columns if not column.graphic], _UPRIGHT), _ACROSS)
    columns = {f"c{place}": layout for place, layout in enumerate(layouts)}
    cells = {name: _boxed(layout) for name, layout in columns.items()}
    table = GT(pl.DataFrame(cells, schema=dict.fromkeys(columns, pl.String)))
    table = table.cols_label({name: layout.column.heading for name, layout in columns.items()})
    for side, words in (("left", True), ("right", False)):
        names = [name for name, layout in columns.items() if layout.column.words is words]
        table = table.cols_align(align=side, columns=names) if names else table
    table = table.tab_spanner(label=grid.spanner, columns=list(columns)[1:]) if grid.spanner else table
    notes = [note for note in (*grid.notes, *more_notes, grid.caption) if note]
    for note in notes:
        table = table.tab_source_note(note)
    width = total_width(layouts)
    long = _lines_of(layouts) + len(notes) > (_LINES if width <= _UPRIGHT else _LINES_ACROSS)
    latex = str(table.tab_options(table_font_size="12px").as_latex(use_longtable=long))  # 12 px are 9 points
    if long:
        latex = latex.replace(_HEADED, f"{_HEADED}\\endhead\n", 1)
    # LaTeX would join letters such as `--` into one, and take `[` at the start of a row for an option of the row break before.
    latex = _OPTION.sub("{}", _LIGATURES.sub(r"\g<0>{}", latex))
    latex = "".join(_LETTERS.get(letter, letter) for letter in latex)
    # The private marks have passed great_tables' escaping; now LaTeX takes their place.
    latex = _FOLD.sub(_box, latex)
    # Two lines in a cell are a table of their own; {} keeps `[` from being an option of the row break.
    latex = _STACK.sub(r"\\begin{tabular}[t]{@{}r@{}}\1\\\\{}\2\\end{tabular}", latex)
    # great_tables leaves blank lines and spaces at the ends of lines.
    preamble = "".join(f"% {line}\n" for line in _preamble(latex, width, long=long))
    return preamble + re.sub(r"[ \n]+\n", "\n", latex)


def _lines_of(layouts: list[ColumnLayout]) -> int:
    """Count the lines of the rows, with wrapped cells."""
    lines = [
        [
            1 + str(cell).count("\n") if layout.wrap is None else -(-length(str(cell)) // layout.wrap)
            for cell in layout.column.cells
        ]
        for layout in layouts
    ]
    rows = len(layouts[0].column.cells) if layouts else 0
    return sum(max((1, *(column[row] for column in lines))) for row in range(rows))


def _preamble(latex: str, width: int, *, long: bool) -> list[str]:
    """Return the preamble that this table needs, as comments above it."""
    needed = ["needs \\usepackage{booktabs}"]
    if long:
        needed.append("longer than a page: needs \\usepackage{longtable} and a document in one column")
    if width > _UPRIGHT:
        needed.append(f"{width} letters wide: set it in landscape, as with \\usepackage{{pdflscape}}")
    if foreign := sorted({letter for letter in latex if ord(letter) > _LATIN and letter not in _TYPOGRAPHY}):
        needed.append(
            f"has letters that pdfLaTeX stops at ({' '.join(foreign[:5])}{' ...' if len(foreign) > 5 else ''}): "
            "compile with XeLaTeX or LuaLaTeX and \\setmainfont{a font that has them}"
        )
    return needed


def _boxed(layout: ColumnLayout) -> list[str]:
    """Return the cells of a column; those wider than it are marked, and `_box` later breaks them into lines."""
    cells = [str(cell) for cell in layout.column.cells]
    if layout.column.stacked:
        pairs = [cell.split("\n", 1) for cell in cells]
        return [f"\ue002{pair[0]}\ue003{pair[1]}\ue004" if len(pair) > 1 else pair[0] for pair in pairs]
    if layout.wrap is None:
        return cells
    mark = f"{_BOX}{chr(_WIDTHS + layout.wrap)}"
    return [f"{mark}{cell}{_END}" if length(cell) > layout.wrap else cell for cell in cells]


def _box(match: re.Match[str]) -> str:
    """Break a marked cell into lines, within names of models and files too."""
    words = re.sub(r"\\_|[/:.]", r"\g<0>\\allowbreak{}", match[2])
    return rf"\parbox[t]{{{1.15 * (ord(match[1]) - _WIDTHS):.1f}ex}}{{\raggedright\hspace{{0pt}}{words}\strut}}"


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
