"""HTML page of a report: one file with everything inside."""

from collections.abc import Sequence

import polars as pl

from rollwise import __version__
from rollwise.reports import viewer
from rollwise.reports.assets import asset, policy, rendered
from rollwise.reports.first_screen import claims
from rollwise.reports.first_screen import title as said
from rollwise.reports.frames import Frames
from rollwise.reports.header import omissions, size, today, usual_title
from rollwise.reports.labeled import Labeled, corrections
from rollwise.reports.methods import methods
from rollwise.reports.parts import FigureImages, Part, Section
from rollwise.reports.reading import origins
from rollwise.reports.results import results
from rollwise.reports.viewer import Transcripts
from rollwise.reports.worst import worst
from rollwise.schema import labels

MANY = 40  # a table of more rows is folded
SCRIPTS = ("theme.js", *viewer.SCRIPTS, "figures.js")


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
    by_hand: Labeled | None = None,
    last: Sequence[Section] = (),
) -> str:
    """Render the report as one HTML text.

    Its Content-Security-Policy allows only the scripts and styles whose hashes it names, and no network access.
    """
    sections = [
        *results(data, images, level, lost),
        *([] if by_hand is None else [corrections(data, by_hand)]),
        _transcripts(data, transcripts),
        origins(data, problems, accounting),
        methods(data, level),
        *last,
    ]
    style, scripts = asset("page.css") + asset(viewer.STYLE), [asset(name) for name in SCRIPTS]
    return rendered(
        "page.html.jinja",
        version=__version__,
        name=labels.plain(title) if title else usual_title(data),
        title=title or said(data, by_hand),
        found=labels.sentence(said(data, by_hand)) if title else "",
        date=today(),
        size=size(data),
        omissions=omissions(data, problems.height),
        facts=facts,
        claims=claims(data, by_hand),
        sections=[section for section in sections if section.parts],
        policy=policy(style, scripts),
        style=style,
        scripts=scripts,
        index=transcripts.index,
        chunks=transcripts.chunks,
        many=MANY,
    )


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
    first = worst(data, packed.ids)
    heading = heading if first else "What do the transcripts say?"
    return Section("transcripts", heading, [*first, Part("text", text=text), Part("viewer")])
