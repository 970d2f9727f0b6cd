"""Section on methods: a paragraph for a paper, the estimand of each number, references, and other possible analyses."""

import re

from rollwise import __version__
from rollwise.reports.frames import Frames
from rollwise.reports.parts import Grid, Head, Link, Part, Section
from rollwise.reports.reading import diagnosis
from rollwise.reports.references import bibtex, references
from rollwise.schema import labels

UNIT = (
    "The unit that varies independently is the goal (or the task, or both where they are crossed), not the turn and "
    "not the repeated attempt: intervals would otherwise be too narrow. A share of none or of all still has an interval."
)
_GENERALIZED = (  # parts of an estimand that differ by group, and their general form
    (re.compile(r"; without a value: .*"), ""),
    (
        re.compile(r", .* minus .*, over the [\d,]+ (\w+?)s? of both"),
        r", one group minus another, over the \1s of both",
    ),
    (re.compile(r"exceeds [\d.]+"), "exceeds a threshold"),
    (re.compile(r" up to [\d.]+,"), " up to the last observed turn,"),
    (re.compile(r"\b[\d,]+ attempts?\b"), "k attempts"),
)
_OF_UNIT = re.compile(r"; unit: (.+?)( \([\d,]+ unknown, each its own\))?$")
_FRAMES = {
    "curve": "share by turn", "contrast": "comparison", "attempts": "attempts", "profile": "profile", "training": "rate by step",
}  # fmt: skip
_ASIDE = {"attempts", "profile"}


def methods(data: Frames, level: float) -> Section:
    """One paragraph for a paper, the estimands with their intervals, and the references of the verbs used."""
    rows = _estimands(data)
    main = {*map(labels.label, (*data.units, *data.scores)), *_FRAMES.values()} - _ASIDE
    # Mean, median and ends of one score are one sentence.
    merged: dict[tuple[str, str], list[str]] = {}
    for what, estimand, _, _ in rows:
        statistic, of, quantity = estimand.partition(" of ")
        merged.setdefault((what, of + quantity), []).extend([statistic] if what in main else [])
    sentences = [f"{what[0].upper()}{what[1:]}: {_and(names)}{of}." for (what, of), names in merged.items() if names]
    tested = sorted(set(data.contrasts["adjust"].drop_nulls()))
    # The paragraph has the main numbers; the table has all.
    words = [
        f"Rollouts were analyzed with rollwise {__version__}.", *sentences,
        f"Intervals are at {labels.level_text(level)}. {UNIT}",
        *([f"P-values are adjusted for several comparisons ({', '.join(map(labels.plain, tested))})."] if tested else []),
    ]  # fmt: skip
    columns = [Head(name, word=True) for name in ("number", "an estimate of", "intervals", "tests")]
    papers = references(*data.verbs)
    parts = [Part("text", text=" ".join(words))]
    if rows:
        heading = "Estimands and interval methods"
        parts.append(Part("folded", text=heading, table=Grid(columns, [list(row) for row in rows])))
    if papers:
        lines = [Link(paper.text, paper.address) if paper.address else paper.text for paper in papers]
        many = labels.counted(len(papers), "reference")
        parts += [
            Part("list", text=many, lines=lines),
            Part("copy", text="The references as BibTeX", lines=[bibtex(papers)]),
        ]
    return Section("methods", "How was it computed?", [*parts, *diagnosis(data)])


def _and(words: list[str]) -> str:
    """Return words in their order, with "and" before the last."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _estimands(data: Frames) -> list[tuple[str, str, str, str]]:
    """Return name, estimand, intervals and tests of each kind of number; estimands that differ only by unit are merged."""
    frames = {
        "": data.summary.filter(data.summary["n"] > 0), "curve": data.curve, "contrast": data.contrasts, "attempts": data.reach,
        "profile": data.profiles, "training": data.trained,
    }  # fmt: skip
    entries: dict[tuple[str, str], tuple[dict[str, bool], set[str], set[str]]] = {}
    for kind, frame in frames.items():
        for metric, estimand, method in frame.select("metric", "estimand", "method").unique(maintain_order=True).rows():
            # Generalize what differs by group, so that equal estimands of different groups are one row.
            for pattern, general in _GENERALIZED:
                estimand = pattern.sub(general, estimand or "")  # noqa: PLW2901  # step by step
            # A method names its interval first, then details; the test of a contrast is last.
            interval, _, details = (method or "").partition("; ")
            unit = _OF_UNIT.search(estimand)
            key = (_FRAMES.get(kind) or labels.label(metric), _OF_UNIT.sub("", estimand))
            units, intervals, tests = entries.setdefault(key, ({}, set(), set()))
            if unit is not None:
                units[unit[1]] = units.get(unit[1], False) or unit[2] is not None
            intervals.update({interval} - {""})
            tests.update({details.rpartition("; ")[2]} - {""} if kind == "contrast" else ())
    return [
        (what, labels.plain(estimand + _units_text(units)), "; ".join(sorted(intervals)), "; ".join(sorted(tests)))
        for (what, estimand), (units, intervals, tests) in entries.items()
    ]


def _units_text(units: dict[str, bool]) -> str:
    """Return the units of all groups, and whether some are unknown."""
    unknown = " (each unknown one is its own cluster)" if any(units.values()) else ""
    return f"; unit: {' or '.join(sorted(units))}{unknown}" if units else ""
