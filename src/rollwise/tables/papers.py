"""Grids as LaTeX for booktabs: a caption and a label, names once above their rows, notes once below."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rollwise.schema import labels
from rollwise.tables.documents import for_documents
from rollwise.tables.grid import Column, Grid
from rollwise.tables.layout import ColumnLayout, fitted, length, stacked, total_width
from rollwise.tables.narrow import headed, joined, keeps_words, sections

_GREEK = (
    "αalpha βbeta γgamma δdelta εvarepsilon ζzeta ηeta θtheta ιiota κkappa λlambda μmu νnu ξxi πpi ρrho σsigma τtau υupsilon "
    "φvarphi χchi ψpsi ωomega ΓGamma ΔDelta ΘTheta ΛLambda ΞXi ΠPi ΣSigma ΦPhi ΨPsi ΩOmega"
)
_SPECIAL = {sign: f"\\{sign}" for sign in "{}$&#_%"} | {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}
_SEPARATOR = "\ue000"  # a private mark between letters that LaTeX would join
_LETTERS = (  # that LaTeX's own fonts lack, or show as others
    _SPECIAL
    | {_SEPARATOR: "{}", "−": "$-$", "×": r"$\times$", "…": r"\ldots{}"}
    | {"≤": r"$\leq$", "≥": r"$\geq$", "≠": r"$\neq$", "≈": r"$\approx$", "→": r"$\to$", "∞": r"$\infty$"}
    | {raised: rf"\textsuperscript{{{digit}}}" for digit, raised in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
    | {word[0]: rf"$\{word[1:]}$" for word in _GREEK.split()}
)
_LATIN, _TYPOGRAPHY = 0x17F, "–—‘’“”„‚•†‡…€™‰‹›"  # letters up to which pdfLaTeX has all, and further ones it has
_LIGATURES = re.compile("-(?=-)|`(?=`)|'(?=')|,(?=,)|[?!](?=`)")  # pairs that LaTeX sets as one character
_COLUMN, _UPRIGHT, _ACROSS = 50, 75, 150  # letters in a column of two, on a page, and on a page in landscape
_LINES_COLUMN = 55  # in a column
_LINES, _LINES_ACROSS = 40, 24  # of a page upright and in landscape: 46 and 27 of article's fit, headings included


@dataclass(frozen=True, slots=True)
class _Page:
    """Columns that fit, notes about the others, and for each row what the line above it says."""

    layouts: list[ColumnLayout]
    notes: list[str]
    heads: Sequence[str]

    @property
    def width(self) -> int:
        """Letters that the table takes across."""
        return total_width(self.layouts) + 2 * bool(self.heads)


def latex_of(grid: Grid, width: str = "page") -> str:
    """Return the grid as LaTeX for the booktabs package, with intervals as text only.

    In a `column`, intervals go below estimates where they must, and what has no space is named below. A table that is wider
    than a page in landscape is narrowed as in a terminal. A table longer than a page is a `longtable`, which repeats its
    headings on each page.
    """
    columns, more_notes = for_documents(grid)
    page = _in_column(columns) if width == "column" else _on_page(columns)
    title = labels.sentence(grid.heading) if grid.heading else grid.title
    caption = " ".join(sentence for sentence in (title, grid.caption) if sentence)
    # What the caption says is not repeated as a note.
    notes = [note.removeprefix(grid.title).strip() for note in (*grid.notes, *more_notes, *page.notes, grid.best)]
    notes = [note for note in notes if note]
    lines = sum(_heights(page)) + len(set(page.heads)) + len(notes)
    long = width != "column" and lines > (_LINES if page.width <= _UPRIGHT else _LINES_ACROSS)
    size = r"\footnotesize" if width == "column" else r"\small"
    marks = "".join("l" if layout.column.words else "r" for layout in page.layouts)
    head = [*_spanner(grid, len(page.layouts)), _row([_heading(layout) for layout in page.layouts])]
    titles = rf"\caption{{{tex(caption)}}}", rf"\label{{{grid.label or _label(title)}}}"
    body = _body(page)
    below = ["{" + size + r"\raggedright", *(rf"{tex(note)}\par" for note in notes), "}"] if notes else []
    if long:
        table = [
            "{" + size,
            rf"\begin{{longtable}}{{@{{}}{marks}@{{}}}}",
            *(rf"{titles[0]}{titles[1]} \\", r"\toprule", *head, r"\midrule", r"\endhead"),
            *body,
            r"\bottomrule",
            r"\end{longtable}",
            "}",
            *below,
        ]
    else:
        table = [
            r"\begin{table}[!t]",
            r"\centering",
            r"\setlength{\belowcaptionskip}{4pt}",
            *titles,
            size,
            *([r"\setlength{\tabcolsep}{4pt}"] if width == "column" else []),
            rf"\begin{{tabular}}{{@{{}}{marks}@{{}}}}",
            *(r"\toprule", *head, r"\midrule"),
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            *([r"\par\vspace{3pt}"] if below else []),
            *below,
            r"\end{table}",
        ]
    written = "\n".join(table)
    needed = _preamble(written, page.width, long=long)
    if width == "column" and lines > _LINES_COLUMN:
        needed.append("longer than a column: choose some of its rows, as with metric=")
    return "".join(f"% {line}\n" for line in needed) + written


def _label(title: str) -> str:
    """Return a label made of the words of a title."""
    words = re.findall(r"[a-z0-9]+", re.sub(r" \([^)]*\)", "", title.partition(",")[0].lower()))
    return f"tab:{'-'.join(words) or 'table'}"


def tex(text: str) -> str:
    """Escape a text for LaTeX."""
    separated = _LIGATURES.sub(rf"\g<0>{_SEPARATOR}", text)
    return "".join(_LETTERS.get(letter, letter) for letter in separated)


def _on_page(columns: Sequence[Column]) -> _Page:
    """Return the table for a page: intervals below estimates where it so keeps upright."""
    heads, body = headed(columns, sections(columns))
    indent = 2 * bool(heads)
    page = _Page(*fitted(stacked(body, _UPRIGHT - indent), _ACROSS - indent), heads)
    if page.width > _UPRIGHT:
        one_line = _Page(*fitted(joined(body), _ACROSS - indent), heads)
        page = one_line if one_line.width <= _UPRIGHT else page
    return page


def _in_column(columns: Sequence[Column]) -> _Page:
    """Return the table for a column of two: the first arrangement that breaks no word, else the narrowest."""
    heads, body = headed(columns, sections(columns))
    room = _COLUMN - 2 * bool(heads)
    for arrangement in (body, joined(body)):
        page = _Page(*fitted(stacked(arrangement, room), room), heads)
        if keeps_words(page.layouts, room):
            break
    return page


def _body(page: _Page) -> list[str]:
    """Return the rows, below lines that name them."""
    lines: list[str] = []
    before: str | None = None
    cells = [_cells(layout, strong=True) for layout in page.layouts]
    heads = page.heads or [""] * len(page.layouts[0].column.cells if page.layouts else ())
    for place, height in enumerate(_heights(page)):
        if heads[place] != before and page.heads:
            space = [r"\addlinespace"] if before is not None else []
            lines += [*space, rf"\multicolumn{{{len(page.layouts)}}}{{@{{}}l}}{{\textit{{{tex(heads[place])}}}}} \\"]
        before = heads[place]
        first, *others = (column[place] for column in cells)
        lines.append(_row([rf"\quad {first}" if page.heads else first, *others]))
        lines += [r"\addlinespace[2pt]"] if height > 1 else []
    return lines


def _row(cells: Sequence[str]) -> str:
    # LaTeX takes a star or a bracket at the start of a row for an option of the row break before.
    start = "{}" if cells and cells[0][:1] in {"*", "["} else ""
    return rf"{start}{' & '.join(cells)} \\"


def _spanner(grid: Grid, number: int) -> list[str]:
    if not grid.spanner:
        return []
    return [rf" & \multicolumn{{{number - 1}}}{{c}}{{{tex(grid.spanner)}}} \\", rf"\cmidrule(lr){{2-{number}}}"]


def _heading(layout: ColumnLayout) -> str:
    return _lines(layout.heading.split("\n"), "l" if layout.column.words else "r", "b")


def _cells(layout: ColumnLayout, *, strong: bool) -> list[str]:
    """Return the cells of a column in LaTeX: those wider than it are broken into lines, and the best are bold."""
    result = []
    for place, cell in enumerate(map(str, layout.column.cells)):
        parts = cell.split("\n")
        if strong and place in layout.column.best:
            text = _lines(parts, "r", "t", r"\textbf")
        elif len(parts) > 1 or layout.wrap is None or length(cell) <= layout.wrap:
            text = _lines(parts, "r", "t")
        else:
            words = re.sub(r"\\_|[/:.]", r"\g<0>\\allowbreak{}", tex(cell))  # within names of models and files too
            text = rf"\parbox[t]{{{1.15 * layout.wrap:.1f}ex}}{{\raggedright\hspace{{0pt}}{words}\strut}}"
        result.append(text)
    return result


def _lines(parts: Sequence[str], side: str, where: str, style: str = "") -> str:
    """Return lines of a cell as a table of its own; {} keeps `[` from being an option of the row break."""
    written = [rf"{style}{{{tex(part)}}}" if style else tex(part) for part in parts]
    if len(written) == 1:
        return written[0]
    rows = r"\\{}".join(written)
    return rf"\begin{{tabular}}[{where}]{{@{{}}{side}@{{}}}}{rows}\end{{tabular}}"


def _heights(page: _Page) -> list[int]:
    """Count the lines of each row, with wrapped cells."""
    columns = [
        [
            max(1 + str(cell).count("\n"), 1 if layout.wrap is None else -(-length(str(cell)) // layout.wrap))
            for cell in layout.column.cells
        ]
        for layout in page.layouts
    ]
    return [max(row) for row in zip(*columns, strict=True)]


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
