"""Sections, figures and transcripts -> one HTML file that needs nothing beside it."""

import base64
import hashlib
from pathlib import Path
from typing import Any

import polars as pl

from turnwise import __version__, schema
from turnwise.reports.accounts import accounts, diagnosis, origins
from turnwise.reports.frames import Frames
from turnwise.reports.methods import methods
from turnwise.reports.parts import Drawn, Part, Section
from turnwise.reports.results import results
from turnwise.reports.viewer import Transcripts
from turnwise.schema import labels

MANY = 40  # rows of a table that a reader would scroll past
SCRIPTS = ("theme.js", "text.js", "chunks.js", "rollout.js", "viewer.js")


def page(
    found: Frames,
    drawn: dict[str, Drawn],
    transcripts: Transcripts,
    problems: pl.DataFrame,
    *,
    title: str,
    level: float,
) -> str:
    """The report as one HTML text.

    Its Content-Security-Policy lets no script and no style run but those whose hashes it names, and nothing be fetched.

    Parameters
    ----------
    found
        The report's frames.
    drawn
        Figures by name: ``attack_success``, ``curve``, ``heat_map``, ...
    transcripts
        What the viewer opens.
    problems
        PROBLEMS of the reading; may be empty.
    title, level
        Heading of the page, and the nominal coverage its intervals were made with.
    """
    import jinja2

    sections = [
        *results(found, drawn, level),
        accounts(found),
        _viewer(transcripts),
        origins(found, problems),
        diagnosis(found),
        methods(found, level),
    ]
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("turnwise.reports", ""),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
    )
    style, scripts = _beside("page.css"), [_beside(name) for name in SCRIPTS]
    return templates.get_template("page.html.jinja").render(
        version=__version__,
        title=title,
        lead=_lead(found),
        tiles=_tiles(found),
        sections=[section for section in sections if section.parts],
        policy=_policy(style, scripts),
        style=style,
        scripts=scripts,
        transcripts=transcripts,
        many=MANY,
    )


def _beside(name: str) -> str:
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


def _shown(value: Any) -> Any:
    """Whatever text the page is given, on its way into the page: what cannot be seen is shown as its escape."""
    if not isinstance(value, str) or hasattr(value, "__html__") or (value.isascii() and value.isprintable()):
        return value
    return labels.plain_lines(value)


def _viewer(transcripts: Transcripts) -> Section:
    if not transcripts.rollouts:
        return Section("transcripts", "Transcripts", [])
    shown, there = labels.count(transcripts.shown), labels.count(transcripts.rollouts)
    text = (
        f"Every rollout, turn by turn: {there} of them."
        if transcripts.shown == transcripts.rollouts
        else f"This page shows {shown} of "
        f"{labels.counted(transcripts.rollouts, 'rollout')}, the first of each group and result. "
        "All are in turns.parquet in the same folder; `turnwise show ID turns.parquet` prints one."
    )
    return Section("transcripts", "Transcripts", [Part("text", text=text), Part("viewer")])


def _lead(found: Frames) -> str:
    sources = [
        labels.plain(name) for name in found.rollouts["source"].unique().sort(nulls_last=True) if name is not None
    ]
    read_from = f", read from {', '.join(sources)}" if sources else ""
    grouped = f" Grouped by {', '.join(labels.label(name) for name in found.by)}." if found.by else ""
    rollouts, turns = (labels.counted(*pair) for pair in ((found.rollout_count, "rollout"), (found.turn_count, "turn")))
    trees = f" {labels.paths_told(found.turns, found.rollouts)}." if found.tree else ""
    return f"{rollouts} of {turns}{read_from}.{trees}{grouped}"


def _tiles(found: Frames) -> list[dict[str, str]]:
    counted = [(found.rollout_count, "rollout"), (found.turn_count, "turn")]
    for name in ("target", "attack", "goal", "task"):
        several = found.rollouts[name].drop_nulls().unique().len() - (found.rollouts[name] == schema.NO_ATTACK).any()
        counted += [(several, name)] if several else []
    ended = (found.rollouts["ending"] == schema.ERROR).fill_null(value=False) | (
        found.rollouts["outcome"] == schema.ERROR
    ).fill_null(value=False)
    tiles = [labels.counted(number, noun).split(" ") for number, noun in counted]
    tiles.append([labels.count(int(ended.sum())), "ended in error"])
    return [{"value": value, "label": label} for value, label in tiles]
