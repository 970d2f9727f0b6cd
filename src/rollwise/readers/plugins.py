"""A format of logs, and the formats that other installed packages add.

A package adds a format by an entry point of the group ``rollwise.readers`` whose value names a `Format`. In its
``pyproject.toml``::

    [project.entry-points."rollwise.readers"]
    toy = "toy_logs:FORMAT"
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, wraps
from importlib.metadata import EntryPoint, entry_points

from rollwise.errors import RollwiseError, in_one_line
from rollwise.readers.mapping.given import GivenMapping
from rollwise.readers.problems import BrokenError
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import TurnsBuilder
from rollwise.schema.labels import say

GROUP = "rollwise.readers"


@dataclass(frozen=True, slots=True)
class Format:
    r"""A format of logs: how to recognize a file of it, and how to read one.

    Attributes
    ----------
    name
        Name of the format: the value of ``format=`` and of the column `source`.
    about
        One line for the list of formats.
    suffixes
        Suffixes of its files, in lower case; a suffix of compressed files may follow.
    sniff
        Return whether a file has this format. It is asked of many files, so it should look at `Document.kind` and
        `Document.keys` and no further than needed.
    read
        A `RecordMapping`, or a function that adds the rollouts of a file to a table. Its docstring is what
        ``rollwise info components -t reader --name`` shows.
    copies
        Whether its files repeat rollouts of another format. They are read last, and rollouts that are known are left out.
    outcomes
        Reads only the outcomes of rollouts, for `read_rollouts`, where the format has a cheaper way to do so.
    loosely
        Recognizes a file by weaker evidence; asked only where no format recognizes the file by `sniff`.
    given
        The mappings of the user that read it, where it is no format of a tool: they read every file that they fit.

    Examples
    --------
    A complete reader:

    >>> from pathlib import Path
    >>> from rollwise.readers import Document, Format, RecordMapping, Problems, Shapes, TurnsBuilder
    >>> lines = RecordMapping(
    ...     doc="Each line is a rollout of one turn.",
    ...     rollout=["@key"],
    ...     facts={"target": "model"},
    ...     turn={"prompt": "ask", "response": "reply"},
    ...     fields={"ask": str, "reply": str},
    ... )
    >>> toy = Format("toy", "logs of the toy harness", (".jsonl",), Shapes({"ask", "reply"}), lines)

    It is tried on a file, or on bytes, without being installed:

    >>> log = Document(Path("log.jsonl"), b'{"ask": "Hi", "reply": "Hello", "mood": "good"}\n{"ask": "Hi", "reply": 3}')
    >>> problems = Problems(collect=True)
    >>> table = TurnsBuilder(toy.name, problems, {})
    >>> toy.sniff(log), toy.read(log, table)
    (True, None)
    >>> table.frame().select("source", "turn", "prompt", "response", "mood").rows()
    [('toy', 1, 'Hi', 'Hello', 'good')]
    >>> problems.frame().rows()
    [('log.jsonl', '2', 'reply', 'expected `str`, got `int`')]
    """

    name: str
    about: str
    suffixes: tuple[str, ...]
    sniff: Callable[[Document], bool]
    read: Callable[[Document, TurnsBuilder], None]
    copies: bool | Callable[[Document], bool] = False
    outcomes: Callable[[Document, TurnsBuilder], None] | None = None
    loosely: Callable[[Document], bool] | None = None
    given: GivenMapping | None = None


@cache
def _points() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=GROUP))


def versions() -> list[tuple[str, str]]:
    """Return name and version of each package that adds a format."""
    packages = [point.dist for point in _points() if point.dist is not None]
    return sorted((package.name, package.version) for package in packages)


@cache
def installed(names: frozenset[str]) -> tuple[Format, ...]:
    """Return the formats of installed packages; `names` of built-in formats are not available to them.

    One that cannot be used is left out, which is said on stderr: it must not keep rollwise from reading other formats.
    """
    # By name, which must be unique among all formats.
    formats: dict[str, Format] = {}
    for point in _points():
        who = f"the reader `{point.name}` of the package {point.dist.name if point.dist else point.value}"
        try:
            form = point.load()
        except (Exception, SystemExit) as error:  # noqa: BLE001  # another package may raise anything when imported
            say(f"{who} is left out: {point.value} cannot be imported ({in_one_line(error)})")
            continue
        if not isinstance(form, Format):
            say(f"{who} is left out: {point.value} is a {type(form).__name__}, not a rollwise.readers.Format")
        elif form.name in names or form.name in formats:
            owner = "a built-in format" if form.name in names else "the format of another package"
            say(f"{who} is left out: its format {form.name!r} has the name of {owner}; rename it there")
        else:
            formats[form.name] = _guarded(form, who)
    return tuple(formats.values())


def _guarded(form: Format, who: str) -> Format:
    """Return the format with functions that fail as rollwise's own do: a problem of one file, never a traceback."""
    sniff, read = form.sniff, form.read
    # Not to repeat the message for each file.
    failures: list[Exception] = []

    @wraps(sniff)
    def recognizes(document: Document) -> bool:
        try:
            return bool(sniff(document))
        except (BrokenError, RollwiseError):
            # Errors of these types say what is wrong with the file, as in built-in formats.
            raise
        except Exception as error:  # noqa: BLE001  # as above
            if not failures:  # once, not for each file of a folder
                say(f"{who} fails to check whether {document.name} has its format ({in_one_line(error)})")
            failures.append(error)
            return False

    @wraps(read)
    def reads(document: Document, table: TurnsBuilder) -> None:
        try:
            read(document, table)
        except (BrokenError, RollwiseError, RecursionError):
            raise
        except Exception as error:
            raise BrokenError(f"{who} fails ({in_one_line(error)})", remedy="report it to that package") from error

    return replace(form, sniff=recognizes, read=reads)
