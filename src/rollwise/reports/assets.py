"""Style, scripts and templates of pages: each page is one file with everything inside, and asks no network."""

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

from rollwise.schema import labels


def asset(name: str) -> str:
    """Return the text of a style sheet or a script of this package."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def policy(style: str, scripts: list[str]) -> str:
    """Return the content security policy of a page: its own style and scripts by hash, and embedded pictures."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(map(_hash, scripts))}",
            f"style-src {_hash(style)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def rendered(template: str, **values: Any) -> str:
    """Fill a template in; text of logs cannot become markup, and its invisible characters can be seen."""
    import jinja2

    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("rollwise.reports", ""),
        autoescape=True,  # what keeps text of logs from becoming markup
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_visible,
    )
    templates.filters["unbroken"] = unbroken
    return templates.get_template(template).render(**values)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def unbroken(text: str) -> str:
    """Keep together a number and its unit, the ends of an interval, a p-value and its name, a dot and the name before it.

    The text is escaped; an option in it is an element of its own, so that no line ends at its hyphens.
    """
    from jinja2.filters import do_forceescape, do_mark_safe

    joined = r"\d (?:to [\d.]+ )?(?:%|points?)(?!\w)|\d, [−\d.]+\]|\b(?:p [<=]|step) \d|US\$ \d| ·"
    text = re.sub(joined, lambda words: words[0].replace(" ", "\N{NO-BREAK SPACE}"), text)
    pieces = re.split(r"(--[a-z]+(?: '[^']*')?)", text)
    escaped = [
        str(do_forceescape(_visible(piece) if place % 2 else _visible_inside(piece)))
        for place, piece in enumerate(pieces)
    ]
    escaped[1::2] = [f'<span class="typed">{option}</span>' for option in escaped[1::2]]
    return do_mark_safe("".join(escaped))


def _visible_inside(text: str) -> str:
    """Escape invisible characters of a text that is beside others: spaces at its ends stay."""
    words = text.strip(" ")
    start = text.index(words)
    return f"{text[:start]}{_visible(words)}{text[start + len(words) :]}"


def _visible(value: Any) -> Any:
    """Escape invisible characters of any text on its way into the page."""
    if not isinstance(value, str) or hasattr(value, "__html__") or (value.isascii() and value.isprintable()):
        return value
    return labels.plain_lines(value)
