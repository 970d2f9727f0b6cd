"""Frames -> how it was done: the methods in words, what each number is an estimate of, and the papers."""

import re

from turnwise import __version__
from turnwise.reports.frames import UNITS, Frames
from turnwise.reports.parts import Grid, Head, Link, Part, Section
from turnwise.reports.references import bibtex, references
from turnwise.schema import labels

UNIT = (
    "The unit that varies independently is the goal (or the task, or both where they are crossed), not the turn and "
    "not the repeated attempt: intervals would otherwise be too narrow. A share of none or of all still has an interval."
)
_OWN = (  # what is of one group only, in a sentence that holds for all
    (re.compile(r"; without a value: .*"), ""),
    (re.compile(r", .* minus .*, over the [\d,]+ (\w+) of both"), r", one group minus another, over the \1 of both"),
    (re.compile(r"exceeds [\d.]+"), "exceeds a threshold"),
    (re.compile(r" up to [\d.]+,"), " up to the last turn watched,"),
)
_OF_UNIT = re.compile(r"; unit: (.+?)( \([\d,]+ unknown, each its own\))?$")
_FRAMES = {"curve": "share by turn", "contrast": "comparison", "profile": "profile", "training": "rate by step"}
_MAIN = {*(labels.label(metric) for metric in UNITS), *_FRAMES.values()}


def methods(found: Frames, level: float) -> Section:
    """One paragraph for a paper, the estimands with their intervals, and the references of the verbs used."""
    rows = _estimands(found)
    said = [f"{what[0].upper()}{what[1:]}: {told}." for what, told, _, _ in rows if what in _MAIN]
    tested = sorted(set(found.contrasts["adjust"].drop_nulls()))
    words = [
        f"Rollouts were analyzed with turnwise {__version__}.", *said,
        f"Intervals are at {labels.level_text(level)}. {UNIT}",
        *([f"P-values are adjusted for several comparisons ({', '.join(map(labels.plain, tested))})."] if tested else []),
    ]  # fmt: skip
    columns = [Head(name, word=True) for name in ("number", "an estimate of", "intervals", "tests")]
    papers = references(*found.verbs)
    parts = [Part("text", text=" ".join(words))]
    if rows:
        heading = "Estimands and interval methods"
        parts.append(Part("folded", text=heading, table=Grid(columns, [list(row) for row in rows])))
    if papers:
        lines = [Link(paper.text, paper.address) if paper.address else paper.text for paper in papers]
        parts += [Part("list", lines=lines), Part("copy", text="The references as BibTeX", lines=[bibtex(papers)])]
    return Section("methods", "Methods", parts)


def _estimands(found: Frames) -> list[tuple[str, str, str, str]]:
    """Each kind of number: its name, its estimand, its intervals and its tests; what differs by the unit alone stands once."""
    frames = {
        "": found.summary, "curve": found.curve, "contrast": found.contrasts, "profile": found.profiles,
        "training": found.trained,
    }  # fmt: skip
    made: dict[tuple[str, str], tuple[dict[str, bool], set[str], set[str]]] = {}
    for kind, frame in frames.items():
        for metric, told, method in frame.select("metric", "estimand", "method").unique(maintain_order=True).rows():
            for pattern, general in _OWN:
                told = pattern.sub(general, told or "")  # noqa: PLW2901  # step by step
            interval, _, rest = (method or "").partition("; ")
            unit = _OF_UNIT.search(told)
            key = (_FRAMES.get(kind) or labels.label(metric), _OF_UNIT.sub("", told))
            units, intervals, tests = made.setdefault(key, ({}, set(), set()))
            if unit is not None:
                units[unit[1]] = units.get(unit[1], False) or unit[2] is not None
            intervals.update({interval} - {""})
            tests.update({rest.rpartition("; ")[2]} - {""} if kind == "contrast" else ())
    return [
        (what, labels.plain(told + _units_told(units)), "; ".join(sorted(intervals)), "; ".join(sorted(tests)))
        for (what, told), (units, intervals, tests) in made.items()
    ]


def _units_told(units: dict[str, bool]) -> str:
    """The units of all groups, and whether some of them are not known."""
    unknown = " (each unknown one is its own cluster)" if any(units.values()) else ""
    return f"; unit: {' or '.join(sorted(units))}{unknown}" if units else ""
