"""Notebooks: whether code runs in one, and what its cells show of errors and of progress."""

import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

_PACKAGE = str(Path(__file__).parent)
_FRAME = ("polars.dataframe.frame", "DataFrame")  # by name: Polars is loaded when it is needed
_FULL_MODES = {"Plain", "Verbose", "Docs"}  # modes of IPython's %xmode in which a user asks for all lines of code


def shell() -> Any:
    """Return IPython, where it runs this code; else None."""
    ipython = sys.modules.get("IPython")  # not imported, as it is not a dependency: a notebook has loaded it
    return None if ipython is None else ipython.get_ipython()


def in_notebook() -> bool:
    """Return whether code runs in the kernel of a notebook, which shows stderr as a red box, as if it were an error."""
    return hasattr(shell(), "kernel")


def format_frames(html: Callable[[Any], str]) -> None:
    """Let a notebook show frames of Polars by this function, unless the user has one; nothing elsewhere."""
    formatter = getattr(shell(), "display_formatter", None)
    of_html = formatter.formatters["text/html"] if formatter is not None and in_notebook() else None
    if of_html is not None and ".".join(_FRAME) not in of_html:
        of_html.for_type_by_name(*_FRAME, html)


def error_lines(error: Exception) -> list[str]:
    """Return what a cell shows of an error: its sentence, and the line of the cell that raised it; all after `%xmode Verbose`."""
    handler = getattr(shell(), "InteractiveTB", None)
    if getattr(handler, "mode", None) in _FULL_MODES:
        return list(handler.structured_traceback(type(error), error, error.__traceback__))  # type: ignore[union-attr]
    sentence = f"\x1b[31m{type(error).__name__}\x1b[0m: {_visible(str(error))}"
    place = _place(error)
    return [sentence, place] if place else [sentence]


def _place(error: Exception) -> str:
    """Return the line of code that called this package; empty where a cell has no other line."""
    frames = traceback.extract_tb(error.__traceback__)
    inner = [number for number, frame in enumerate(frames) if frame.filename.startswith(_PACKAGE)]
    caller = frames[inner[0] - 1] if inner and inner[0] else None
    if caller is None or not caller.line:
        return ""
    import linecache

    is_only_line = len([line for line in linecache.getlines(caller.filename) if line.strip()]) == 1
    return "" if is_only_line else f"line {caller.lineno}: {_visible(caller.line)}"


def _visible(text: str) -> str:
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape", "surrogatepass").decode() for letter in text
    )


def bars(*, visible: bool = True) -> Any:
    """Return tqdm as it can be shown here: a widget where a notebook has any, and no warning where it has none."""
    if not visible:
        from tqdm.std import tqdm as text  # without looking for a notebook, which takes time

        return text
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm
    return tqdm
