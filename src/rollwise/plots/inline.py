"""SVG as one element of an HTML page: no styles, as a policy of the page may forbid them, and no id of another figure."""

import hashlib
import html
import re
from collections import Counter
from collections.abc import Iterator

_PIECE = re.compile(r"<(/?)([\w:]+)((?:\s[^<>]*?)?)(/?)>|<!--.*?-->|<[!?][^<>]*>|([^<]+)", re.DOTALL)
_ATTRIBUTE = re.compile(r"""([\w:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_ELEMENTS = {
    "svg", "g", "defs", "clipPath", "pattern", "path", "rect", "circle", "use", "text", "tspan", "title", "image",
    "linearGradient", "stop",
}  # fmt: skip
_STYLES = {
    "fill", "fill-opacity", "fill-rule", "stroke", "stroke-width", "stroke-opacity", "stroke-linecap", "stroke-linejoin",
    "stroke-miterlimit", "stroke-dasharray", "stroke-dashoffset", "opacity", "font-size", "font-family", "font-style",
    "font-weight", "font-variant", "font-stretch", "text-anchor", "clip-path",
}  # fmt: skip
_ATTRIBUTES = _STYLES | {
    "xmlns", "role", "aria-label", "class", "data-group", "data-key", "id", "viewBox", "width", "height", "x",
    "y", "d", "r", "cx", "cy", "transform", "href", "patternUnits", "clipPathUnits",
}  # fmt: skip
_DRAWN = {"d", "x", "y"}  # places, of which a hundredth of a point cannot be seen
_LONG = re.compile(r"-?\d+\.\d{3,}")
_MARK = re.compile(r'<g class="mark"[^>]*><title>[^<]*</title>')
_GROUP = re.compile(r"<(/?)g\b[^>]*?(/?)>")
_INSIDE = re.compile(r"#[\w:.-]+|data:image/png;base64,[\w+/= \n]+")
_ROUND = {"stroke-linejoin": "round", "stroke-linecap": "butt"}  # what matplotlib asks of the whole page


def inline(svg: str) -> str:
    """Return the ``<svg>`` element with attributes in place of styles, ids of its own, and nothing but what draws.

    A policy that forbids inline styles applies to ``style="..."`` and ``<style>``, and not to attributes such as ``fill``.
    """
    own = f"f{hashlib.blake2b(svg.encode(), digest_size=5).hexdigest()}-"
    pieces = list(_pieces(svg))
    fonts = Counter(attributes["font-family"] for _, _, attributes, _ in pieces if "font-family" in attributes)
    (usual, _), *_ = [*fonts.most_common(1), ("", 0)]
    made: list[str] = []
    shown: list[bool] = []  # of each element that is open, whether it is written
    for kind, name, attributes, text in pieces:
        if kind == "text":
            made.append(text)
        elif kind == "close":
            if shown.pop():
                made.append(f"</{name}>")
        else:
            if name == "svg":
                attributes.update(_ROUND, **({"font-family": usual} if usual else {}))
            elif attributes.get("font-family") == usual:
                del attributes["font-family"]
            # A group that says nothing of its content is left out.
            is_shown = name != "g" or bool(attributes) or kind == "empty"
            if kind == "open":
                shown.append(is_shown)
            if is_shown:
                words = "".join(f' {key}="{_owned(key, value, own)}"' for key, value in attributes.items())
                made.append(f"<{name}{words}{'/' if kind == 'empty' else ''}>")
    return _merged("".join(made).replace("<defs></defs>", ""))


def _merged(svg: str) -> str:
    """Make one element of marks that follow each other and are of one group, such as an interval and its ends."""
    made, last, start = [], "", 0
    for mark in _MARK.finditer(svg):
        before = svg[start : mark.start()]
        if mark[0] == last and _is_closed(before):
            made.append(before.removesuffix("</g>"))
        else:
            made += [before, mark[0]]
        last, start = mark[0], mark.end()
    return "".join([*made, svg[start:]])


def _is_closed(content: str) -> bool:
    """Return whether the group that holds this content ends with it, and not earlier."""
    depth, ends = 1, []
    for group in _GROUP.finditer(content):
        depth += 0 if group[2] else -1 if group[1] else 1
        ends += [group.end()] if depth == 0 else []
    return ends == [len(content)]


def _pieces(svg: str) -> Iterator[tuple[str, str, dict[str, str], str]]:
    """Return each tag that a figure may have, as kind, name and attributes, and each text between tags."""
    skipped = 0
    for piece in _PIECE.finditer(svg):
        closing, name, said, empty, text = piece.groups()
        if text is not None:
            if not skipped and text.strip():
                yield "text", "", {}, text
        elif name is None:
            continue
        elif skipped or name not in _ELEMENTS:
            skipped += 0 if empty else -1 if closing else 1
        elif closing:
            yield "close", name, {}, ""
        else:
            yield "empty" if empty else "open", name, _attributes(said), ""


def _attributes(said: str) -> dict[str, str]:
    """Return the attributes that a figure may have, those of its style among them."""
    found: dict[str, str] = {}
    for name, value, other in _ATTRIBUTE.findall(said):
        text = value or other.replace('"', "&quot;")
        if name == "style":
            pairs = (part.partition(":") for part in html.unescape(text).split(";"))
            styles = {
                key.strip(): html.escape(word.strip(), quote=False).replace('"', "&quot;") for key, _, word in pairs
            }
            found |= {key: word for key, word in styles.items() if key in _STYLES and word}
        else:
            found[name.removeprefix("xlink:")] = text
    if not _INSIDE.fullmatch(found.get("href", "#inside")):
        del found["href"]
    return {
        key: " ".join(value.split()) if key in {"d", "href"} else value
        for key, value in found.items()
        if key in _ATTRIBUTES
    }


def _owned(name: str, value: str, own: str) -> str:
    """Return the value of an attribute with ids of this figure alone, and places to a hundredth of a point."""
    if name == "id":
        return own + value
    if name == "href":
        return value.replace("#", f"#{own}", 1) if value.startswith("#") else value
    if name in {"clip-path", "fill", "stroke"}:
        return value.replace("url(#", f"url(#{own}")
    return _LONG.sub(lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), value) if name in _DRAWN else value
