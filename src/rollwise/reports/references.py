"""References of a report, read from the docstrings of its verbs, as text and as BibTeX."""

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

_NAME = r"[^\W\d_][\w'’-]+"
_AUTHORS = rf"{_NAME}(?: {_NAME})*(?:(?:, | & ){_NAME}(?: {_NAME})*)*(?: et al\.)?"
_START = re.compile(rf"(?:^|(?<=[.;] ))({_AUTHORS}) \((\d{{4}})\),? ?")
_DOI = re.compile(r"doi:(10\.\S+?)(?=[.;,]?(?:\s|$))")
_ARXIV = re.compile(r"arXiv:(\d{4}\.\d{4,5})")


class Reference(NamedTuple):
    """Bibliographic data of a paper."""

    authors: str
    year: str
    title: str
    where: str
    doi: str
    arxiv: str

    @property
    def text(self) -> str:
        """Return the reference in one line."""
        parts = [
            self.title,
            self.where,
            f"doi:{self.doi}" if self.doi else "",
            f"arXiv:{self.arxiv}" if self.arxiv else "",
        ]
        return f"{self.authors} ({self.year}), {'. '.join(part for part in parts if part)}"

    @property
    def address(self) -> str:
        """Return the address of the paper, if it is known."""
        if self.doi:
            return f"https://doi.org/{self.doi}"
        return f"https://arxiv.org/abs/{self.arxiv}" if self.arxiv else ""

    @property
    def key(self) -> str:
        """Return first author and year, the BibTeX key."""
        return re.sub(r"\W", "", re.split(r"[ ,]", self.authors)[0].lower()) + self.year


def references(*verbs: Callable[..., Any]) -> list[Reference]:
    """Return the papers under References in the docstrings of these verbs, each once, by author and year."""
    papers: dict[str, Reference] = {}
    for verb in verbs:
        for paper in _papers(_section(inspect.getdoc(verb) or "")):
            other = papers.get(paper.key)
            # The most complete reference of a paper wins.
            if other is None or len(paper.text) > len(other.text):
                papers[paper.key] = paper
    return sorted(papers.values(), key=lambda paper: (paper.authors, paper.year))


def bibtex(papers: Sequence[Reference]) -> str:
    """Format the papers as BibTeX entries."""
    return "\n\n".join(_entry(paper) for paper in papers)


def _entry(paper: Reference) -> str:
    authors = paper.authors.replace(" et al.", ", others").replace(" & ", ", ").replace(", ", " and ")
    fields = {
        "author": authors,
        "title": paper.title,
        "journal": paper.where or (f"arXiv:{paper.arxiv}" if paper.arxiv else ""),
        "year": paper.year,
        "doi": paper.doi,
        "eprint": paper.arxiv,
        "archiveprefix": "arXiv" if paper.arxiv else "",
    }
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
    kind = "article" if fields["journal"] else "misc"
    return f"@{kind}{{{paper.key},\n" + ",\n".join(lines) + "\n}"


def _section(docstring: str) -> str:
    """Return the text under References, on one line."""
    match = re.search(r"^References\n-+\n(.*?)(?=\n\n[A-Z]|\Z)", docstring, re.DOTALL | re.MULTILINE)
    return " ".join(match[1].split()) if match else ""


def _papers(text: str) -> list[Reference]:
    # A reference extends from its authors to the authors of the next one.
    starts = list(_START.finditer(text))
    ends = [*(start.start() for start in starts[1:]), len(text)][: len(starts)]
    return [_paper(start[1], start[2], text[start.end() : end]) for start, end in zip(starts, ends, strict=True)]


def _paper(authors: str, year: str, details: str) -> Reference:
    # Identifiers first: they contain periods, at which title and journal are separated.
    doi, arxiv = _DOI.search(details), _ARXIV.search(details)
    remainder = _ARXIV.sub("", _DOI.sub("", details)).strip(" .,;")
    title, _, where = remainder.partition(". ")
    return Reference(
        authors, year, title.strip(" .,;"), where.strip(" .,;"), doi[1] if doi else "", arxiv[1] if arxiv else ""
    )
