"""The figure that a plot function returns: shown in a notebook, opened in a window, saved, or turned into SVG text.

Equal frames give equal bytes in every run: no dates, and ids that depend on the content alone.
"""

import base64
import html
import io
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from rollwise.errors import ArgumentError, listing
from rollwise.files.atomic import whole
from rollwise.plots import inline as inline_svg
from rollwise.plots import lettering, tags, theme
from rollwise.plots.theme import Axes, Figure
from rollwise.schema import labels

_DPI = 150
_SCREEN_DPI = 100  # a notebook shows this many pixels per inch, and has more on a screen of high resolution
_FORMATS = (".svg", ".pdf", ".png")
# A browser shows nothing of a file with one of them.
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


P = ParamSpec("P")
R = TypeVar("R")


def drawing(draw: Callable[P, R]) -> Callable[P, R]:
    """Return a function that draws, with one sentence for an option that it does not have, or that is missing."""
    name, parameters = draw.__name__, signature(draw).parameters

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> R:
        if unknown := [option for option in kwargs if option not in parameters]:
            raise ArgumentError(
                f"{name}: there is no option {unknown[0]}; available: {listing([*parameters][1:], most=30)}; "
                'for what matplotlib itself can do, use the result: `plot.axes[0].set_xlabel("rate")`'
            )
        required = [option for option, about in parameters.items() if about.default is about.empty]
        if missing := [option for option in required[len(args) :] if option not in kwargs]:
            raise ArgumentError(f"{name}: {missing[0]} is missing; pass it, `{name}(..., {missing[0]}=...)`")
        return draw(*args, **kwargs)

    return drawn


class Plot:
    r"""A drawn figure with its Axes and its alternative text.

    In a notebook it shows itself as the last expression of a cell. In a script, `save` writes it and `show` opens it in a
    window. The figure is not in pyplot's list of open figures, so many plots do not pile up and need not be closed; it changes
    no setting of matplotlib, and all of matplotlib works on `figure` and `axes`. Axes that were passed as `ax` get the marks,
    labels, a legend above, and the title; the caption is only in `caption`. Their figure gets a constrained layout if it has no
    layout engine, so that names and numbers have space.

    At another size (`resize`, `save(..., size=)`, matplotlib's `figure.set_size_inches`) a new figure is drawn again by the same
    rules, in fonts of the same size: names wrap, ticks and numbers thin out. Change its texts and lines after that, not before.

    Attributes
    ----------
    figure
        The matplotlib Figure.
    axes
        Its panels, row by row; the Axes that were passed as `ax`, if there were any.
    alt
        One sentence that describes the figure to readers who cannot see it.
    caption
        What stands below the figure, for ``\caption`` of a paper: a figure narrower than four inches leaves it out.

    Examples
    --------
    >>> import polars as pl
    >>> from rollwise import plots
    >>> row = {"metric": "attack_success", "statistic": "mean", "level": 0.95, "n": 20}
    >>> plot = plots.forest(pl.DataFrame(row | {"estimate": 0.4, "low": 0.22, "high": 0.61}))
    >>> plot
    <Plot: Attack success, 40 % [22, 61].>
    >>> len(plot.axes), plot.axes[0].get_xlabel()
    (1, 'attack success')
    """

    def __init__(self, axes: Sequence[Axes], alt: str, about: Mapping[str, str] | None = None) -> None:
        self._axes: tuple[Axes, ...] = tuple(axes)
        self.figure: Figure = self._axes[0].get_figure(root=True)  # type: ignore[assignment]
        self.alt = alt
        self._texts = about or {}

    @property
    def axes(self) -> tuple[Axes, ...]:
        """The panels of the figure as it is drawn now."""
        return tuple(getattr(self.figure, "panels", ())) or self._axes

    @property
    def caption(self) -> str:
        """Text below the figure, or that would be there if the figure were wide enough."""
        return self._texts.get("caption", "")

    def __repr__(self) -> str:
        return f"<Plot: {self.alt}>"

    def resize(self, width: float, height: float | None = None) -> "Plot":
        """Draw the figure at another size in inches, and return the plot; without a height it is as high as it needs to be.

        Raises
        ------
        ArgumentError
            If a side is not from 1 to 100 inches, or the figure is that of `ax`.
        """
        return self._resized(theme.inches((width, height), "resize"), "resize")

    def _resized(self, sides: tuple[float, float | None] | None, verb: str) -> "Plot":
        resized = getattr(self.figure, "resized", None)
        if resized is None:
            raise ArgumentError(
                f"{verb}: this plot is in the Axes that were passed as ax; set the size of their figure before you draw into it"
            )
        resized(*sides or ())
        return self

    def save(
        self,
        path: str | Path,
        *,
        size: theme.Size | None = None,
        alt: str | None = None,
        overwrite: bool = False,
        close: bool = True,
    ) -> Path:
        """Write the figure to an SVG, PDF or PNG file, and return the path.

        The file is written completely or not at all. PDF files have TrueType fonts, and in SVG text stays text. A figure
        without a layout engine is written larger if something lies outside its canvas. Characters that no installed font has
        (Chinese, emoji) are drawn as boxes in PDF and PNG, with a warning on stderr; in SVG the viewer's own font has them.

        Parameters
        ----------
        path
            The file; its suffix selects the format.
        size
            Size in this file, as of a new figure: ``"column"``, ``"page"``, ``"slide"`` or inches. The plot keeps its own, but
            is drawn again for it: a title or line that you set on its `axes` is lost, so pass titles as `title=`.
        alt
            The description to store in the file; by default `alt` of the plot.
        overwrite
            Whether to replace an existing file.
        close
            Whether to close a figure that pyplot has open, as that of `ax` usually is.

        Raises
        ------
        ArgumentError
            If the suffix is not that of a known format, or the size is none.
        WriteError
            If the file exists or cannot be written.
        """
        target = Path(path)
        suffix = target.suffix.lower()
        if suffix not in _FORMATS:
            raise ArgumentError(f"save: {target.name!r} must end in one of {', '.join(_FORMATS)}")
        # Render first: an error leaves no file behind.
        with self._of_size(theme.inches(size, "save")):
            content = self._content(suffix, self.alt if alt is None else alt)
        content = _file(content).encode() if suffix == ".svg" else content
        with whole(target, overwrite=overwrite) as draft:
            draft.write_bytes(content)
        if suffix != ".svg" and lettering.lacks_letters(self.figure):
            labels.say(
                f"{target.name}: no installed font has all of its letters, and boxes replace the missing ones; "
                "install a font that has them, such as Noto Sans CJK, or save as .svg: browsers have fonts of their own"
            )
        if close and self._is_open():
            from matplotlib import pyplot as plt

            plt.close(self.figure)
        return target

    def svg(self, *, alt: str | None = None, inline: bool = False) -> str:
        """Return the figure as SVG text.

        Letters stay text, which can be searched, selected and edited. A viewer without the font of the figure (by default
        DejaVu Sans) uses a similar one.

        Parameters
        ----------
        alt
            The description to store in it; by default `alt` of the plot.
        inline
            Return only the ``<svg>`` element, to be placed in an HTML page, with the description as its label. Points, curves and
            cells are then elements of class ``mark``: a tooltip, ``data-group`` (the name of the group) and ``data-key`` (JSON of
            its columns and values, by which its rollouts are found). It has no styles, only attributes, so that a content
            security policy may forbid inline styles; its ids are its own, so that a page can hold several figures.
        """
        description = self.alt if alt is None else alt
        drawn = self._content(".svg", description)
        return _element(drawn, description) if inline else _file(drawn)

    def show(self) -> None:
        """Show the figure: in the output of a notebook's cell, else in a window, which waits until it is closed.

        Where no window can be opened, a line on stderr says so.
        """
        if "ipykernel" in sys.modules:
            # Not imported, as it is not a dependency: the kernel of a notebook has loaded it.
            sys.modules["IPython.display"].display(self)
            return
        from matplotlib import pyplot as plt
        from matplotlib._pylab_helpers import Gcf
        from matplotlib.backends.registry import BackendFilter, backend_registry

        backend = plt.get_backend()
        if backend.lower() in backend_registry.list_builtin(BackendFilter.NON_INTERACTIVE):  # type: ignore[no-untyped-call]
            labels.say(f'no window can be opened here (matplotlib\'s backend is {backend}); use `.save("figure.svg")`')
            return
        if not self._is_open():
            # pyplot opens windows for its own figures only: make it the manager of this one.
            number = max(plt.get_fignums(), default=0) + 1
            manager = plt.new_figure_manager(number, FigureClass=lambda **_: self.figure)  # type: ignore[no-untyped-call]
            Gcf.set_active(manager)
        plt.show()

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
        """Return the picture that a notebook shows, with its size on the page and its alternative text."""
        if self._is_open():  # the notebook shows the open figures of pyplot itself: not twice
            return {}, {}
        width, height = (round(inches * _SCREEN_DPI) for inches in self.figure.get_size_inches())
        picture = base64.b64encode(self._content(".png", self.alt)).decode()
        return {"image/png": picture}, {"image/png": {"width": width, "height": height, "alt": self.alt}}

    @contextmanager
    def _of_size(self, sides: tuple[float, float | None] | None) -> Iterator[None]:
        """Draw the figure at another size within this context."""
        if sides is None:
            yield
            return
        figure: Any = self.figure
        asked = getattr(figure, "asked", ())  # those of a user refuse to be resized
        self._resized(sides, "save")
        try:
            yield
        finally:
            figure.resized(*asked)

    def _is_open(self) -> bool:
        """Return whether the figure is in pyplot's list of open figures."""
        pyplot = sys.modules.get("matplotlib._pylab_helpers")
        managers = pyplot.Gcf.get_all_fig_managers() if pyplot is not None else []
        return any(manager.canvas.figure is self.figure for manager in managers)

    def _content(self, suffix: str, alt: str) -> bytes:
        """Return the file; marks of an SVG still have their tags."""
        from matplotlib import rc_context

        words = {
            ".svg": ("Date", "Description"),
            ".pdf": ("CreationDate", "Subject"),
            ".png": ("Software", "Description"),
        }
        varying, about = words[suffix]
        present = {varying: None} | ({about: alt} if alt else {})
        content = io.BytesIO()
        # Text in SVG stays text. Type 42 is TrueType: publishers reject matplotlib's default in PDF, Type 3.
        settings: Any = {"svg.hashsalt": "rollwise", "svg.fonttype": "none", "pdf.fonttype": 42}
        box = _outside_canvas(self.figure)
        with rc_context(settings), theme.quiet(), _laid_out(self.figure):
            self.figure.savefig(content, format=suffix[1:], dpi=_DPI, metadata=present, bbox_inches=box)
        return content.getvalue()


def file_and_element(plot: Plot) -> tuple[str, str]:
    """Return the SVG of a file and that of a page, drawn once."""
    drawn = plot._content(".svg", plot.alt)  # noqa: SLF001  # of the class above
    return _file(drawn), _element(drawn, plot.alt)


def _file(drawn: bytes) -> str:
    return _NOT_IN_XML.sub("\ufffd", tags.without(drawn.decode()))


def _element(drawn: bytes, description: str) -> str:
    text = _NOT_IN_XML.sub("\ufffd", tags.marked(drawn.decode()))
    label = f' aria-label="{html.escape(description)}"' if description else ""
    return inline_svg.inline(text[text.index("<svg ") :].replace("<svg ", f'<svg role="img"{label} ', 1))


@contextmanager
def _laid_out(figure: Figure) -> Iterator[None]:
    """Lay the figure out, and take its layout engine away meanwhile: Matplotlib draws a figure that has one twice."""
    from matplotlib import rc_context

    engine = figure.get_layout_engine()
    theme.settle(figure)
    # Under these settings, None means none; otherwise it is the engine that the settings name.
    with rc_context({"figure.autolayout": False, "figure.constrained_layout.use": False}):
        figure.set_layout_engine(None)
    try:
        yield
    finally:
        if engine is not None:
            figure.set_layout_engine(engine)


def _outside_canvas(figure: Figure) -> Any:
    """Return the canvas together with all that lies outside it; None if a layout engine keeps everything inside."""
    from matplotlib.transforms import Bbox

    if figure.get_layout_engine() is not None or not figure.axes:
        return None
    canvas = figure.bbox_inches
    everything = Bbox.union([canvas, figure.get_tightbbox().padded(0.05)])
    return None if everything == canvas else everything
