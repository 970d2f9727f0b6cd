"""The Figure of a new plot: painted again whenever its size changes. It needs matplotlib, so it is imported late."""

from collections.abc import Callable
from typing import Any

from matplotlib import rc_context, rcParams
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

Repaint = Callable[["Canvas", float, float | None], list[Axes]]


class RoundedLayout(ConstrainedLayoutEngine):
    """Matplotlib's constrained layout, with places that are the same in every run.

    Its solver adds numbers in the order of their addresses in memory, so their last digits vary, and with them the bytes of files.
    """

    def execute(self, fig: Figure) -> None:
        """Give the Axes their places, to a millionth of the figure."""
        super().execute(fig)
        for ax in fig.axes:
            is_laid_out = ax.get_in_layout()
            left, bottom, width, height = (round(float(number), 6) for number in ax.get_position().bounds)
            ax.set_position((left, bottom, width, height))
            ax.set_in_layout(is_laid_out)  # placing an Axes takes it out of the layout


class Canvas(Figure):
    """A figure without pyplot, which would keep it open and have a notebook show it a second time."""

    def __init__(self, paint: Repaint, width: float, height: float | None) -> None:
        super().__init__(layout=RoundedLayout())
        FigureCanvasAgg(self)
        self._paint: Repaint | None = paint
        self._settings = {name: value for name, value in rcParams.items() if not name.startswith("backend")}
        self._busy = False
        self.asked = width, height  # the size that was asked for: without a height, as high as it needs to be
        self.panels: list[Axes] = []
        self.repaint(width, height)

    def repaint(self, width: float, height: float | None) -> None:
        """Draw everything at this size in inches; without a height, as high as it needs to be."""
        self.asked = width, height
        if self._paint is None:  # restored from a file
            super().set_size_inches(width, height or self.get_figheight())
            return
        self._busy = True
        try:
            self.clear()
            self.panels = self._paint(self, width, height)
        finally:
            self._busy = False

    def resized(self, width: float, height: float | None) -> None:
        """Draw everything at another size, in the settings in which it was drawn first."""
        with rc_context(self._settings):
            self.repaint(width, height)

    def set_size_inches(self, w: Any, h: float | None = None, forward: bool = True) -> None:  # noqa: FBT001, FBT002  # as matplotlib has it
        """Set the size as every figure does, and draw everything again for it."""
        before = tuple(self.get_size_inches()) if hasattr(self, "bbox_inches") else None
        super().set_size_inches(w, h, forward)
        size = tuple(self.get_size_inches())
        if not getattr(self, "_busy", True) and before != size:
            self.resized(*size)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a file keeps: the picture, which then has one size."""
        return {**super().__getstate__(), "_paint": None, "asked": tuple(self.get_size_inches())}  # type: ignore[dict-item]
