"""A drawn figure -> SVG text, or a file; the same bytes in every run."""

import html
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnwise.errors import ArgumentError
from turnwise.files.atomic import whole
from turnwise.plots import lettering, theme
from turnwise.schema import labels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DPI = 150
_FORMATS = (".svg", ".pdf", ".png")


def figure_svg(drawn: Any, *, alt: str | None = None, inline: bool = False) -> str:
    """The figure as SVG text, without date and with settled ids, so that equal figures give equal bytes.

    Letters are drawn as shapes, so that every viewer shows the same; where no installed font has a letter (Chinese,
    emoji) they stay text instead, which a browser shows in a font of its own.

    Parameters
    ----------
    drawn
        What a plot function gave: Axes, an array of them, or their Figure.
    alt
        What the figure shows, for those who cannot see it: `labels.alt_text(frame)`.
    inline
        Only the `<svg>` element, to stand in an HTML page, with `alt` as its label.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> figure = Figure(figsize=(2, 1))
    >>> svg = figure_svg(figure, alt="nothing")
    >>> svg.startswith("<?xml"), "<dc:description>nothing" in svg, svg == figure_svg(figure, alt="nothing")
    (True, True, True)
    >>> figure_svg(figure, alt="nothing", inline=True)[:40]
    '<svg role="img" aria-label="nothing" xml'
    """
    svg = _bytes(figure_of(drawn), ".svg", alt).decode()
    if not inline:
        return svg
    named = f' aria-label="{html.escape(alt, quote=True)}"' if alt else ""
    return svg[svg.index("<svg ") :].replace("<svg ", f'<svg role="img"{named} ', 1)


def save(drawn: Any, path: str | Path, *, alt: str | None = None, overwrite: bool = False, close: bool = True) -> Path:
    """Write the figure to an SVG, PDF or PNG file, whole or not at all, and let pyplot forget it.

    A figure without a layout engine is written larger where something stands off its canvas. Letters that no installed font
    has (Chinese, emoji) are boxes in PDF and PNG, which a line on stderr says; in SVG they stay text.

    Parameters
    ----------
    drawn
        What a plot function gave: Axes, an array of them, or their Figure.
    path
        Where; its suffix says which format.
    alt
        What the figure shows, kept in the file's description.
    overwrite
        Replace a file that stands there.
    close
        Drop the figure from pyplot's list of open figures.

    Raises
    ------
    ArgumentError
        Where the suffix names no known format.
    WriteError
        Where the file cannot be written, or stands there already.

    Examples
    --------
    >>> import tempfile
    >>> from matplotlib.figure import Figure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(Figure(), Path(folder) / "nothing.pdf").stat().st_size > 500
    True
    """
    target = Path(path)
    if target.suffix.lower() not in _FORMATS:
        raise ArgumentError(f"save: {target.name!r} is none of {', '.join(_FORMATS)}; end the name in one of them")
    figure = figure_of(drawn)
    content = _bytes(figure, target.suffix.lower(), alt)
    with whole(target, overwrite=overwrite) as draft:
        draft.write_bytes(content)
    if target.suffix.lower() != ".svg" and lettering.lacks_letters(figure):
        labels.say(
            f"{target.name}: no installed font has all of its letters, and boxes stand for the others; "
            "install one that has them, such as Noto Sans CJK, or save an .svg, for which browsers have fonts of their own"
        )
    if close:
        forget(figure)
    return target


def forget(drawn: Any) -> None:
    """Drop the figure from pyplot's list, so that many figures do not pile up."""
    from matplotlib import pyplot as plt

    plt.close(figure_of(drawn))


def figure_of(drawn: Any) -> "Figure":
    """The Figure of what a plot function gave.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> figure = Figure()
    >>> figure_of(figure.add_subplot()) is figure
    True
    """
    from matplotlib.artist import Artist
    from matplotlib.figure import FigureBase

    first = drawn if isinstance(drawn, Artist) else next(iter(getattr(drawn, "flat", ())), None)
    figure: Any = first.get_figure(root=True) if isinstance(first, Artist) else None
    if not isinstance(figure, FigureBase):
        raise ArgumentError(f"a {type(drawn).__name__} is no figure; pass the Axes that a plot function gave")
    return figure  # type: ignore[return-value]


def _bytes(figure: "Figure", suffix: str, alt: str | None) -> bytes:
    from matplotlib import rc_context

    metadata: dict[str, dict[str, str | None]] = {
        ".svg": {"Date": None, "Description": alt} if alt else {"Date": None},
        ".pdf": {"CreationDate": None, "Subject": alt} if alt else {"CreationDate": None},
        ".png": {"Software": None, "Description": alt} if alt else {"Software": None},
    }
    content = io.BytesIO()
    letters = "none" if suffix == ".svg" and lettering.lacks_letters(figure) else "path"
    with rc_context({"svg.hashsalt": "turnwise", "svg.fonttype": letters}), theme.quiet():
        figure.savefig(content, format=suffix[1:], dpi=_DPI, metadata=metadata[suffix], bbox_inches=_beyond(figure))
    return content.getvalue()


def _beyond(figure: "Figure") -> Any:
    """The canvas and all that stands off it, where no layout engine keeps it on; None where nothing does."""
    from matplotlib.transforms import Bbox

    if figure.get_layout_engine() is not None or not figure.axes:
        return None
    canvas = figure.bbox_inches
    whole = Bbox.union([canvas, figure.get_tightbbox().padded(0.05)])
    return None if whole == canvas else whole
