"""HTML page of a report: one file with everything inside."""

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from rollwise import __version__
from rollwise.reports.bottom_line import bottom_line
from rollwise.reports.frames import Frames
from rollwise.reports.header import omissions, tiles, today, usual_title
from rollwise.reports.methods import methods
from rollwise.reports.parts import FigureImages, Part, Section
from rollwise.reports.reading import origins
from rollwise.reports.results import results
from rollwise.reports.viewer import Transcripts
from rollwise.reports.worst import worst
from rollwise.schema import labels

MANY = 40  # a table of more rows is folded
SCRIPTS = ("theme.js", "text.js", "chunks.js", "rollout.js", "viewer.js")


def page(
    data: Frames,
    images: dict[str, FigureImages],
    transcripts: Transcripts,
    problems: pl.DataFrame,
    accounting: pl.DataFrame | None = None,
    *,
    title: str | None,
    level: float,
    facts: Sequence[tuple[str, str]] = (),
    lost: int = 0,
    last: Sequence[Section] = (),
) -> str:
    """Render the report as one HTML text.

    Its Content-Security-Policy allows only the scripts and styles whose hashes it names, and no network access.
    """
    import jinja2

    sections = [
        *results(data, images, level, lost),
        _transcripts(data, transcripts),
        origins(data, problems, accounting),
        methods(data, level),
        *last,
    ]
    # Autoescape is what keeps text of logs from becoming markup.
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("rollwise.reports", ""),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_visible,
    )
    style, scripts = _asset("page.css"), [_asset(name) for name in SCRIPTS]
    return templates.get_template("page.html.jinja").render(
        version=__version__,
        title=title or usual_title(data),
        date=today(),
        bottom_line=bottom_line(data),
        omissions=omissions(data, problems.height),
        facts=facts,
        tiles=tiles(data),
        sections=[section for section in sections if section.parts],
        policy=_policy(style, scripts),
        style=style,
        scripts=scripts,
        transcripts=transcripts,
        many=MANY,
    )


def _asset(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _policy(style: str, scripts: list[str]) -> str:
    """Return the content security policy of the page: its own style and scripts by hash, and embedded pictures."""
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


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _visible(value: Any) -> Any:
    """Escape invisible characters of any text on its way into the page."""
    if not isinstance(value, str) or hasattr(value, "__html__") or (value.isascii() and value.isprintable()):
        return value
    return labels.plain_lines(value)


def _transcripts(data: Frames, packed: Transcripts) -> Section:
    heading = "Which transcripts should you read first?"
    if not packed.rollouts:
        return Section("transcripts", heading, [])
    text = (
        f"All {labels.counted(packed.rollouts, 'transcript')}, turn by turn:"
        if packed.shown == packed.rollouts
        else f"This page has {labels.count(packed.shown)} of {labels.counted(packed.rollouts, 'transcript')}, the first of each "
        "group and result. All are in turns.parquet in the same folder; `rollwise show ID turns.parquet` prints one."
    )
    if not any(data.turns[name].count() for name in ("prompt", "response", "tool_calls", "observation")):
        text = f"The logs have no texts: a transcript is the result of its rollout alone. {text}"
        return Section("transcripts", "What became of each rollout?", [Part("text", text=text), Part("viewer")])
    return Section("transcripts", heading, [*worst(data, packed.ids), Part("text", text=text), Part("viewer")])
