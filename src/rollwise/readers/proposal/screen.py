"""A proposal as text of at most 80 columns, and as a table of a notebook."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from rollwise.errors import counted
from rollwise.readers.proposal.parts import ASKED, LIKELY, NAMED, STRUCTURE, ColumnRow, Part, figures
from rollwise.schema.labels import plain, shorten

WIDTH = 80
_COLUMN, _EXAMPLES, _TAKEN, _GAP = 24, 30, 20, 2
_HEAD = ("column", "examples", "taken for")


def text_of(parts: Sequence[Part]) -> str:
    """Return the lines on all files, without questions."""
    return "\n\n".join("\n".join(lines_of(part)) for part in parts)


def lines_of(part: Part, *, has_heading: bool = True) -> Iterator[str]:
    """Iterate over the lines on files that are alike."""
    if has_heading:
        yield from wrapped(heading(part))
    if part.format:
        return
    for sentence in part.verdicts:
        yield from wrapped(f"verdict: {sentence}", "  ")
    used = [entry for entry in part.columns if entry.taken_for]
    extras = [entry for entry in part.columns if not entry.taken_for]
    if part.refusal is not None and not used:  # what the columns are is the question
        used, extras = extras, []
    yield from _table(used)
    if extras:
        yield from wrapped(
            f"kept as they are: {', '.join(shorten(plain(entry.column), _EXAMPLES) for entry in extras)}", "  "
        )


def heading(part: Part) -> str:
    """Return the first line on files that are alike."""
    first, *others = part.files
    files = plain(first) + (f" and {counted(len(others), 'more file')}" if others else "")
    if part.refusal is not None:
        return f"{files}: not read: {part.refusal}"
    if part.format:
        return f"{files}: recognized as {part.format} ({part.about}); needs no mapping: {figures(part)}"
    return f"{files}: {figures(part)}" + (f" (`{part.records}`)" if part.records else "")


def wrapped(sentence: str, indent: str = "") -> Iterable[str]:
    """Return the lines of a sentence, no wider than the screen where its words are not."""
    return textwrap.wrap(
        sentence,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _table(columns: Sequence[ColumnRow]) -> Iterator[str]:
    """Iterate over the lines of the table of columns, each as wide as it needs to be, and together no wider than the screen."""
    if not columns:
        return
    head = _HEAD if any(entry.taken_for for entry in columns) else _HEAD[:2]
    cells = [
        head,
        *((shorten(plain(entry.column), _COLUMN), _examples(entry, _EXAMPLES), _taken_for(entry)) for entry in columns),
    ]
    widths = [max(len(row[place]) for row in cells) for place in (0, 1)]
    for column, examples, *meaning in cells:
        yield f"  {column:<{widths[0] + _GAP}}{examples:<{widths[1] + _GAP}}{''.join(meaning)}".rstrip()


def _taken_for(entry: ColumnRow) -> str:
    return f"{entry.taken_for} (likely)" if entry.sure == LIKELY else entry.taken_for


def _examples(entry: ColumnRow, most: int) -> str:
    """Return the examples of a column, entry so that each has a fair share of the width."""
    texts = [plain(example) for example in entry.examples]
    if sum(map(len, texts)) + 2 * (len(texts) - 1) <= most or not texts:
        return ", ".join(texts)
    most -= 2 * (len(texts) - 1)
    short = [len(text) for text in texts if len(text) <= most // len(texts)]
    room = (most - sum(short)) // max(len(texts) - len(short), 1)
    return ", ".join(shorten(text, room) for text in texts)


def html_of(parts: Sequence[Part], questions: Sequence[str], call: str) -> str:
    """Return the proposal as HTML of a notebook; each text of a file is escaped."""
    blocks = []
    for part in parts:
        blocks.append(f"<p><b>{_inline(heading(part))}</b></p>")
        if part.format:
            continue
        blocks += [f"<p>verdict: {_inline(sentence)}</p>" for sentence in part.verdicts]
        if part.columns:
            head = "".join(_cell(name, "th") for name in (*_HEAD, "rests on"))
            rows = "".join(_row(entry, is_read=part.refusal is None) for entry in part.columns)
            blocks.append(f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>")
    blocks += [f"<p>{_inline(line)}</p>" for line in questions]
    if call:
        blocks.append(f'<pre style="white-space:pre-wrap">{escape(call)}</pre>')
    return "<div>" + "".join(blocks) + "</div>"


def _inline(sentence: str) -> str:
    """Return a sentence as HTML, what is in backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(plain(sentence), quote=False))


def _cell(text: str, tag: str = "td") -> str:
    return f'<{tag} style="text-align:left;white-space:nowrap;padding-right:1.2em">{escape(text)}</{tag}>'


def _row(entry: ColumnRow, *, is_read: bool) -> str:
    """Return a row of the table of a notebook."""
    meaning = _taken_for(entry) if entry.taken_for or not is_read else "kept as it is"
    why = {NAMED: "name", STRUCTURE: "name, values"}.get(entry.why, entry.why)
    cells = (plain(entry.column), _examples(entry, 40), meaning, "" if entry.sure == ASKED or not why else plain(why))
    dim = "" if entry.taken_for or not is_read else ' style="opacity:0.6"'
    return f"<tr{dim}>{''.join(map(_cell, cells))}</tr>"
