"""Frames -> how it was done: the methods in words, what each number is an estimate of, and the papers."""

from turnwise.reports.frames import Frames
from turnwise.reports.parts import Grid, Head, Link, Part, Section
from turnwise.reports.references import bibtex, references

UNIT = (
    "The unit that varies independently is the goal (or the task, or both where they are crossed), not the turn and "
    "not the repeated attempt: intervals would otherwise be too narrow. A share of none or of all still has an interval."
)


def methods(found: Frames) -> Section:
    """One paragraph for a paper, the estimands, and the references of the verbs used."""
    frames = {"": found.summary, "curve": found.curve, "contrast": found.contrasts, "profile": found.profiles}
    used = [frame for frame in frames.values() if frame.height]
    made = sorted({method for frame in used for method in frame["method"].drop_nulls()})
    estimands = [
        f"{name}: {line}" if name else line
        for name, frame in frames.items()
        if frame.height
        for line in frame["estimand"].drop_nulls().unique(maintain_order=True)
    ]
    papers = references(*found.verbs)
    parts = [
        Part("text", text=f"{UNIT} {_intervals(made)}"),
        Part(
            "folded",
            text="What each number is an estimate of",
            table=Grid([Head("estimand", word=True)], [[line] for line in estimands]),
        ),
        Part("list", lines=[Link(paper.text, paper.address) if paper.address else paper.text for paper in papers]),
        Part("copy", text="The references as BibTeX", lines=[bibtex(papers)]),
    ]
    return Section("methods", "How it was done", parts)


def _intervals(made: list[str]) -> str:
    return f"Intervals: {', '.join(made)}." if made else "No interval could be made."
