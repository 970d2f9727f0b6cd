"""Transcripts to read where one works: the viewer of a report, in the output of a notebook's cell or as a page of its own."""

import html
from dataclasses import dataclass
from pathlib import Path

from rollwise import __version__
from rollwise.files.atomic import whole
from rollwise.readers.turns import turns as as_turns
from rollwise.reports import viewer
from rollwise.reports.assets import asset, policy, rendered
from rollwise.reports.grouping import usual_groups, with_detectors
from rollwise.reports.rollouts import Rollouts, measured
from rollwise.reports.showing.selection import Selection, check_turns, chosen, selected_by
from rollwise.reports.viewer import Transcripts, transcripts
from rollwise.schema.arguments import frame_of
from rollwise.schema.labels import count, counted

_SCRIPTS = ("theme.js", *viewer.SCRIPTS)
_STYLES = ("page.css", viewer.STYLE, "showing/show.css")
_FRAME = (
    "position: relative; width: 100%; height: 600px; box-sizing: border-box; border: 1px solid #888; border-radius: 6px"
)


@dataclass(frozen=True, slots=True, repr=False)
class Viewer:
    """Transcripts of rollouts: a notebook shows them in the output of a cell, and `save` writes them as a page."""

    title: str
    page: str
    """The HTML page: one file with everything inside, which asks no network."""

    def __repr__(self) -> str:
        return f'<Viewer: {self.title}; `.save("transcripts.html")` writes the page>'

    def _repr_html_(self) -> str:
        # Scripts of the page run, but with no origin: they reach neither the notebook nor its cookies. Where frames are taken
        # out, as in a notebook that is not trusted and on GitHub, the line is seen that the frame covers otherwise.
        return (
            f'<p style="margin: 0 0 -1.5em; line-height: 1.5">{html.escape(self.title)}: run this cell, or trust the notebook, to '
            f'read them here.</p><iframe sandbox="allow-scripts" title="{html.escape(self.title)}" style="{_FRAME}" '
            f'srcdoc="{html.escape(self.page)}"></iframe>'
        )

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the page, completely or not at all, and return its path.

        Parameters
        ----------
        path
            The file, as in ``"transcripts.html"``.
        overwrite
            Whether to replace an existing file.

        Raises
        ------
        WriteError
            If the file exists or cannot be written.
        """
        with whole(path, overwrite=overwrite) as draft:
            draft.write_text(self.page, encoding="utf-8")
        return Path(path)


def show(turns: object, selection: object = None) -> Viewer:
    """Return transcripts to read: in a notebook the viewer of a report in the cell, elsewhere one line and `.save(path)`.

    The viewer has a list of the rollouts with filters and a search, and each rollout turn by turn. It is static: a saved notebook
    shows it without a kernel and without a network, and nothing in a transcript can run. If the rollouts do not all fit into a
    page, it has the first ones of each group and result, and says how many.

    Parameters
    ----------
    turns
        TURNS, or a frame that `rw.turns` can convert; all rows of a rollout, or its verdict would be of a part.
    selection
        Which rollouts to show; by default all. A frame with `rollout_id` selects these: rows of ROLLOUTS or of TURNS. Rows of a
        result, such as ``summary[:1]``, select the rollouts of their groups; those of CONTRAST, the rollouts of both sides. An id,
        or several, select these.

    Raises
    ------
    SchemaError
        If the table is not TURNS.
    ArgumentError
        If the selection has an id or a column that the rollouts lack.

    Examples
    --------
    >>> import rollwise as rw
    >>> turns, _ = rw.simulate(goals=5, attempts=2, turns=3, seed=1)
    >>> rw.show(turns)
    <Viewer: 20 rollouts; `.save("transcripts.html")` writes the page>
    >>> rollouts = rw.measure(turns)
    >>> rw.show(turns, rollouts.filter("attack_success"))
    <Viewer: 5 of 20 rollouts; `.save("transcripts.html")` writes the page>
    >>> summary = rw.summarize(rollouts, by="target", metrics="attack_success")
    >>> rw.show(turns, summary[:1])
    <Viewer: 10 of 20 rollouts: base; `.save("transcripts.html")` writes the page>
    """
    frame = frame_of(turns, "show")
    check_turns(frame)
    table = as_turns(frame)
    rollouts = with_detectors(measured(table, [], scored=True))
    data = Rollouts(usual_groups(rollouts, runs=True), table, rollouts)
    selected = None if selection is None else selected_by(data, selection)
    part = data if selected is None else chosen(data, selected.ids)
    packed = transcripts(part)
    title = _title(data, part, selected)
    style = "".join(map(asset, _STYLES))
    scripts = [asset(name) for name in _SCRIPTS]
    page = rendered(
        "showing/show.html.jinja",
        version=__version__,
        title=title,
        note=_note(packed),
        policy=policy(style, scripts),
        style=style,
        scripts=scripts,
        index=packed.index,
        chunks=packed.chunks,
    )
    return Viewer(title, page)


def _title(data: Rollouts, part: Rollouts, selected: Selection | None) -> str:
    """Return how many rollouts are shown, of how many, and of which groups."""
    every = counted(data.rollout_count, "rollout")
    many = every if part.rollout_count == data.rollout_count else f"{count(part.rollout_count)} of {every}"
    return f"{many}: {selected.groups}" if selected is not None and selected.groups else many


def _note(packed: Transcripts) -> str:
    """Say which transcripts the page lacks, or that there is none; empty if it has all."""
    if not packed.rollouts:
        return "No rollout was selected, so there is nothing to show."
    if packed.shown == packed.rollouts:
        return ""
    return (
        f"The page has {count(packed.shown)} of them, the first of each group and result, as not all fit; select fewer rollouts "
        "to see the others: rw.show(turns, selection)."
    )
