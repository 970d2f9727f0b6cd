"""A GATE for other programs: JUnit XML for any CI system, Markdown for a job summary, annotations for GitHub."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    import polars as pl

# XML 1.0 has no control characters except tab and line breaks, and no halves of surrogate pairs.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(gates: "pl.DataFrame", *, warn: bool) -> str:
    """Return JUnit XML: one test case per requirement and group.

    A failed one is a failure. An undecided one is an error, which stops CI systems as a failure does, because most let a
    pipeline with skipped tests pass; it is skipped if undecided answers shall only warn.
    """
    answers = gates["answer"].to_list()
    undecided = answers.count("undecided")
    counts = {
        "tests": len(answers),
        "failures": answers.count("failed"),
        "errors": 0 if warn else undecided,
        "skipped": undecided if warn else 0,
    }
    root = ET.Element("testsuites")
    suite = ET.SubElement(root, "testsuite", {"name": "rollwise gate"} | {name: str(n) for name, n in counts.items()})
    elements = {"failed": "failure", "undecided": "skipped" if warn else "error"}
    for row, name, sentence in _cases(gates):
        case = ET.SubElement(suite, "testcase", classname="rollwise.gate", name=_NOT_XML.sub("\ufffd", name))
        if row["answer"] in elements:
            message = _NOT_XML.sub("\ufffd", sentence)
            ET.SubElement(case, elements[row["answer"]], message=message)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}'


def markdown(gates: "pl.DataFrame", *, warn: bool) -> str:
    """Return a verdict and a table in Markdown."""
    from rollwise.estimation.gate_words import group_of_row, verdict

    lines = [
        f"**{overall(gates)}**: {_cell(verdict(gates))}",
        "",
        "| answer | requirement | group | estimate | interval | n | reason |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in gates.rows(named=True):
        interval = (
            "" if row["low"] is None or row["high"] is None else f"{_number(row, 'low')} to {_number(row, 'high')}"
        )
        answer = row["answer"] if row["answer"] == "passed" else f"**{row['answer']}**"
        cells = [row["requirement"], group_of_row(row), _number(row, "estimate"), interval, row["n"], row["reason"]]
        lines.append(f"| {answer} | {' | '.join(_cell('' if cell is None else cell) for cell in cells)} |")
    return "\n".join(lines)


def github(gates: "pl.DataFrame", *, warn: bool) -> str:
    """Return workflow commands of GitHub: an error for what stops the job, a warning or a notice for the rest."""
    levels = {"passed": "notice", "failed": "error", "undecided": "warning" if warn else "error"}
    lines = []
    for row, _, sentence in _cases(gates):
        text = sentence.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
        lines.append(f"::{levels[row['answer']]} title=gate {row['answer']}::{text}")
    return "\n".join(lines)


FORMATS: dict[str, Callable[..., str]] = {"junit": junit, "markdown": markdown, "github": github}
SUFFIXES = {".xml": "junit", ".md": "markdown"}


def overall(gates: "pl.DataFrame") -> str:
    """Return the answer of all rows: failed if one is, else undecided if one is, else passed."""
    answers = set(gates["answer"])
    return next((answer for answer in ("failed", "undecided") if answer in answers), "passed")


def _cases(gates: "pl.DataFrame") -> list[tuple[dict[str, Any], str, str]]:
    """Return each row with its name and the sentence about it."""
    from rollwise.estimation.gate_words import group_of_row, verdict

    cases = []
    for number, row in enumerate(gates.rows(named=True)):
        group = group_of_row(row)
        name = f"{row['requirement']} [{group}]" if group else row["requirement"]
        cases.append((row, name, verdict(gates[number])))
    return cases


def _number(row: dict[str, Any], name: str) -> str:
    from rollwise.schema import labels

    if row[name] is None:
        return ""
    return labels.number(row[name], row["low"], row["high"], rate=labels.is_rate(row["metric"] or ""))


def _cell(text: object) -> str:
    """Return text that Markdown and HTML show as it is, in one line."""
    plain = str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([|\\`*\[\]])", r"\\\1", " ".join(plain.split()))
