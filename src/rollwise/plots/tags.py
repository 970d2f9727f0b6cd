"""Marks that know their group: a page with the figure can answer a pointer over one of them, and filter rollouts by it."""

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rollwise.plots.theme import Axes
from rollwise.schema import labels

_TAG, _BETWEEN = "mark:", "\x1f"  # XML has no such letter: it is in no name of a group once labels have made it plain
_OPENED = re.compile(rf"""<g id=(["']){_TAG}(.*?)\1(/?)>""", re.DOTALL)
_LONGEST = 200  # characters of a name in a tooltip
_ANY = re.compile(r'<g id="[^"]*"')


def tag(artist: Any, key: str | None, group: str, words: str) -> None:
    """Let an artist carry the key of its group (JSON of columns and values), the name of the group, and what it shows."""
    if key is not None:
        artist.set_gid(f"{_TAG}{_BETWEEN.join([key, group, words])}")


@contextmanager
def tagged(ax: Axes, key: str | None, group: str, words: str) -> Iterator[None]:
    """Tag everything that is drawn within this context."""
    before = set(map(id, ax.get_children()))
    yield
    for artist in ax.get_children():
        if id(artist) not in before:
            tag(artist, key, group, words)


def without(svg: str) -> str:
    """Return the SVG of a file of its own: groups without tags."""
    return _OPENED.sub(r"<g\3>", svg)


def marked(svg: str) -> str:
    """Return the SVG of a page: marks are elements of class `mark` that say their group; no other group has an id."""
    return _ANY.sub("<g", _OPENED.sub(_marked, svg))


def _marked(opened: re.Match[str]) -> str:
    if opened[3]:  # nothing was drawn
        return "<g/>"
    key, group, words = (html.unescape(part) for part in opened[2].split(_BETWEEN))
    data = f'data-group="{html.escape(group)}" data-key="{html.escape(key)}"'
    name = labels.shorten(group, _LONGEST)
    return f'<g class="mark" {data}><title>{html.escape(f"{name}: {words}" if words else name)}</title>'
