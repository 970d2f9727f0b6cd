"""HTML page of a report: one file with everything inside."""

import base64
import hashlib
from pathlib import Path
from typing import Any

import polars as pl

from turnwise import __version__, schema
from turnwise.reports.accounts import accounts, diagnosis, origins
from turnwise.reports.frames import Frames
from turnwise.reports.methods import methods
from turnwise.reports.parts import FigureImages, Part, Section
from turnwise.reports.results import results
from turnwise.reports.viewer import Transcripts
from turnwise.schema import labels

MANY = 40  # a table of more rows is folded
SCRIPTS = ("theme.js", "text.js", "chunks.js", "rollout.js", "viewer.js")


def page(
    data: Frames,
    images: dict[str, FigureImages],
    transcripts: Transcripts,
    problems: pl.DataFrame,
    *,
    title: str,
    level: float,
) -> str:
    """Render the report as one HTML text.

    Its Content-Security-Policy allows only the scripts and styles whose hashes it names, and no network access.

    Parameters
    ----------
    found
        The report's frames.
    images
        Figures by name: ``attack_success``, ``curve``, ``heat_map``, ...
    transcripts
        The transcripts of the viewer.
    problems
        PROBLEMS found while reading; may be empty.
    title, level
        Heading of the page, and the nominal coverage of its intervals.
    """
    import jinja2

    sections = [
        *results(data, images, level),
        accounts(data),
        _viewer(transcripts),
        origins(data, problems),
        diagnosis(data),
        methods(data, level),
    ]
    # Autoescape is what keeps text of logs from becoming markup.
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("turnwise.reports", ""),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_visible,
    )
    style, scripts = _asset("page.css"), [_asset(name) for name in SCRIPTS]
    return templates.get_template("page.html.jinja").render(
        version=__version__,
        title=title,
        lead=_lead(data),
        tiles=_tiles(data),
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


def _viewer(transcripts: Transcripts) -> Section:
    if not transcripts.rollouts:
        return Section("transcripts", "Transcripts", [])
    number_shown, total = labels.count(transcripts.shown), labels.count(transcripts.rollouts)
    text = (
        f"Every rollout, turn by turn: {total} of them."
        if transcripts.shown == transcripts.rollouts
        else f"This page shows {number_shown} of "
        f"{labels.counted(transcripts.rollouts, 'rollout')}, the first of each group and result. "
        "All are in turns.parquet in the same folder; `turnwise show ID turns.parquet` prints one."
    )
    return Section("transcripts", "Transcripts", [Part("text", text=text), Part("viewer")])


def _lead(data: Frames) -> str:
    sources = [
        labels.plain(name) for name in data.rollouts["source"].unique().sort(nulls_last=True) if name is not None
    ]
    read_from = f", read from {', '.join(sources)}" if sources else ""
    grouped = f" Grouped by {', '.join(labels.label(name) for name in data.by)}." if data.by else ""
    rollouts, turns = (labels.counted(*pair) for pair in ((data.rollout_count, "rollout"), (data.turn_count, "turn")))
    trees = f" {labels.paths_told(data.turns, data.rollouts)}." if data.tree else ""
    return f"{rollouts} of {turns}{read_from}.{trees}{grouped}"


def _tiles(data: Frames) -> list[dict[str, str]]:
    counted = [(data.rollout_count, "rollout"), (data.turn_count, "turn")]
    for name in ("target", "attack", "goal", "task"):
        # Rollouts without an attack are not an attack of their own.
        several = data.rollouts[name].drop_nulls().unique().len() - (data.rollouts[name] == schema.NO_ATTACK).any()
        counted += [(several, name)] if several else []
    ended = (data.rollouts["ending"] == schema.ERROR).fill_null(value=False) | (
        data.rollouts["outcome"] == schema.ERROR
    ).fill_null(value=False)
    tiles = [labels.counted(number, noun).split(" ") for number, noun in counted]
    tiles.append([labels.count(int(ended.sum())), "ended in error"])
    return [{"value": value, "label": label} for value, label in tiles]
