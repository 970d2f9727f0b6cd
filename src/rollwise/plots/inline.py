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
    prefix = f"f{hashlib.blake2b(svg.encode(), digest_size=5).hexdigest()}-"
    pieces = list(_pieces(svg))
    fonts = Counter(attributes["font-family"] for _, _, attributes, _ in pieces if "font-family" in attributes)
    (usual, _), *_ = [*fonts.most_common(1), ("", 0)]
    written: list[str] = []
    are_written: list[bool] = []  # of each element that is open, whether it is written
    for kind, name, attributes, text in pieces:
        if kind == "text":
            written.append(text)
        elif kind == "close":
            if are_written.pop():
                written.append(f"</{name}>")
        else:
            if name == "svg":
                attributes.update(_ROUND, **({"font-family": usual} if usual else {}))
            elif attributes.get("font-family") == usual:
                del attributes["font-family"]
            # A group that says nothing of its content is left out.
            is_shown = name != "g" or bool(attributes) or kind == "empty"
            if kind == "open":
                are_written.append(is_shown)
            if is_shown:
                words = "".join(f' {key}="{_owned(key, value, prefix)}"' for key, value in attributes.items())
                written.append(f"<{name}{words}{'/' if kind == 'empty' else ''}>")
    return _merged("".join(written).replace("<defs></defs>", ""))


def _merged(svg: str) -> str:
    """Make one element of marks that follow each other and are of one group, such as an interval and its ends."""
    merged, last, start = [], "", 0
    for mark in _MARK.finditer(svg):
        before = svg[start : mark.start()]
        if mark[0] == last and _is_closed(before):
            merged.append(before.removesuffix("</g>"))
        else:
            merged += [before, mark[0]]
        last, start = mark[0], mark.end()
    return "".join([*merged, svg[start:]])


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
        closing, name, words, empty, text = piece.groups()
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
            yield "empty" if empty else "open", name, _attributes(words), ""


def _attributes(words: str) -> dict[str, str]:
    """Return the attributes that a figure may have, those of its style among them."""
    attributes: dict[str, str] = {}
    for name, value, single_quoted in _ATTRIBUTE.findall(words):
        text = value or single_quoted.replace('"', "&quot;")
        if name == "style":
            pairs = (part.partition(":") for part in html.unescape(text).split(";"))
            styles = {
                key.strip(): html.escape(word.strip(), quote=False).replace('"', "&quot;") for key, _, word in pairs
            }
            attributes |= {key: word for key, word in styles.items() if key in _STYLES and word}
        else:
            attributes[name.removeprefix("xlink:")] = text
    if not _INSIDE.fullmatch(attributes.get("href", "#inside")):
        del attributes["href"]
    return {
        key: " ".join(value.split()) if key in {"d", "href"} else value
        for key, value in attributes.items()
        if key in _ATTRIBUTES
    }


def _owned(name: str, value: str, prefix: str) -> str:
    """Return the value of an attribute with ids of this figure alone, and places to a hundredth of a point."""
    if name == "id":
        return prefix + value
    if name == "href":
        return value.replace("#", f"#{prefix}", 1) if value.startswith("#") else value
    if name in {"clip-path", "fill", "stroke"}:
        return value.replace("url(#", f"url(#{prefix}")
    return (
        _LONG.sub(lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), value) if name in _DRAWN else value
    )
