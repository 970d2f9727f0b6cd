"""The family of errors.

```
RollwiseError (ValueError)
├── SchemaError      a frame is not the frame it should be: column, rollout, remedy
├── ReadError        a file cannot be read: file, record, field, remedy
├── MetricError      a metric cannot be measured: metric, column, remedy
├── ArgumentError    an option of a verb makes no sense: option, value, remedy
├── UnreachableError nothing answers at an address, so that no further calls are made
└── WriteError       a result cannot be written: file, remedy
    └── UnkeptError  an answer cannot be stored, so that no further calls are made
```

Every message is one sentence that says what is wrong, where, and what to do. The command line prints it and exits
with 2.
"""

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rollwise.notebook import error_lines

PAIR = " and returns a pair, `frame, problems`"  # what errors="collect" does, which the command line leaves out
_LONGEST_VALUE = 200  # characters of a value that a sentence shows
_LONGEST_NAME, _LONGEST_PATH = 255, 4096  # bytes of the name of a file, and of a path
_LONGEST_SENTENCE = 5_000
# Values in quotes, also short ones, so that no closing quote counts as an opening one; and words.
_VALUE = re.compile(r"(?<!\w)(?P<quote>['\"`])(?P<value>(?>(?:(?!(?P=quote))[^\\]|\\.)*))(?P=quote)(?!\w)", re.DOTALL)
_WORD = re.compile(r"\S{256,}")


class RollwiseError(ValueError):
    """The root: any error that rollwise raises on purpose; its message is always a single line."""

    def __init__(self, *messages: object) -> None:
        super().__init__(*(brief(" ".join(str(message).split("\n"))) for message in messages))

    def _render_traceback_(self) -> list[str]:
        """Return the lines that a cell of a notebook shows, for which IPython asks."""
        return error_lines(self)


class SchemaError(RollwiseError):
    """A frame that lacks a column, has a wrong dtype, or breaks a rule of its schema."""


class ReadError(RollwiseError):
    """A file or a record that cannot be read as rollouts; `questions` are those whose answers make it readable."""

    questions: tuple[Any, ...] = ()  # each a `readers.roles.questions.Question`
    call: Any = None  # the `readers.asking.Call` that asks them


class MetricError(RollwiseError):
    """A metric that cannot be measured on this table."""


class ArgumentError(RollwiseError):
    """An option whose value makes no sense here."""


class UnreachableError(RollwiseError):
    """An address where nothing answers, so that every further call would fail as well: the caller stops."""


class WriteError(RollwiseError):
    """A result that cannot be written where it was asked for."""


class UnkeptError(WriteError):
    """An answer that cannot be stored. Further answers would cost money and be lost, so the caller stops."""


def brief(sentence: str) -> str:
    """Return a sentence with long values in it cut: to 200 characters in quotes, and words that are too long for a path.

    Examples
    --------
    >>> len(brief(f"the column '{'x' * 1000}' is not there; name another one")), brief("it's 'a' or 'b'")
    (244, "it's 'a' or 'b'")
    """
    if len(sentence) <= _LONGEST_VALUE:
        return sentence
    sentence = _WORD.sub(lambda word: _cut(word[0]) if _is_no_path(word[0]) else word[0], _VALUE.sub(_quoted, sentence))
    if len(sentence) <= _LONGEST_SENTENCE:
        return sentence
    return (
        f"{sentence[: _LONGEST_SENTENCE // 2]} ... {sentence[-_LONGEST_SENTENCE // 3 :]}"  # the end says what to type
    )


def _quoted(value: re.Match[str]) -> str:
    is_path = re.search(r"[/\\]", value["value"]) and not _is_no_path(value["value"])
    return value[0] if is_path else f"{value['quote']}{_cut(value['value'])}{value['quote']}"


def _is_no_path(value: str) -> bool:
    """Return whether no file can be named so."""
    return len(value) > _LONGEST_PATH or max(map(len, re.split(r"[/\\]", value))) > _LONGEST_NAME


def _cut(value: str) -> str:
    return value if len(value) <= _LONGEST_VALUE else f"{value[: _LONGEST_VALUE - 3]}..."


def type_and_message(error: BaseException) -> str:
    """Return an error's type and message, as text that any file can hold.

    Examples
    --------
    >>> type_and_message(KeyError("goal")), type_and_message(TimeoutError())
    ("KeyError: 'goal'", 'TimeoutError')
    """
    message = message_of(error)
    return writable(f"{type(error).__name__}: {message}" if message else type(error).__name__)


def message_of(error: BaseException) -> str:
    """Return an error's message; that of a user's class which fails to give one is empty.

    Examples
    --------
    >>> message_of(ValueError("no goal"))
    'no goal'
    """
    try:
        return str(error)
    except Exception:  # noqa: BLE001  # a user's `__str__` may raise anything
        return ""


def in_one_line(error: BaseException) -> str:
    r"""Return an error's type and message for a sentence: other packages write theirs on several lines.

    Examples
    --------
    >>> in_one_line(ImportError("no module\n  named x"))
    'ImportError: no module named x'
    """
    return " ".join(type_and_message(error).split())


def is_interrupt(error: BaseException) -> bool:
    """Return whether an error is Ctrl-C: Polars makes a panic of one that comes while Rust calls Python.

    Examples
    --------
    >>> is_interrupt(KeyboardInterrupt()), is_interrupt(ValueError("KeyboardInterrupt"))
    (True, False)
    """
    is_panic = type(error).__name__ == "PanicException"  # by its name: this does not load Polars
    return isinstance(error, KeyboardInterrupt) or (is_panic and "KeyboardInterrupt" in str(error))


def writable(text: str) -> str:
    r"""Return the text with half of a surrogate pair spelled out, because no file can hold one.

    Examples
    --------
    >>> writable("½ \ud83d")
    '½ \\ud83d'
    """
    return text.encode(errors="backslashreplace").decode()


def listing(words: object, *, most: int = 8) -> str:
    """Return words in one line for a sentence, sorted and cut: ``'a, b, c and 4 more'``.

    Examples
    --------
    >>> listing(["b", "a"])
    'a, b'
    >>> listing([]), listing(["a", ""])
    ('none', "'', a")
    """
    ordered = sorted({str(word) or "''" for word in words})  # type: ignore[attr-defined]
    if not ordered:
        return "none"
    first = ", ".join(ordered[:most])
    return first if len(ordered) <= most else f"{first} and {len(ordered) - most} more"


def meant(word: object, available: object, *, most: int = 40, synonyms: Mapping[str, str] | None = None) -> str:
    """Return the likely meaning of an unknown word, else the available words, for the end of a sentence.

    The `synonyms` are other words for things, in lower case, with the available word or call for each.

    Examples
    --------
    >>> meant("similarty", ["similarity", "ragas"])
    'did you mean `similarity`?'
    >>> meant("zzz", ["similarity"])
    'available: similarity'
    >>> meant("ASR", ["attack_success", "average"], synonyms={"asr": "attack_success"})
    'did you mean `attack_success`?'
    """
    if synonyms and str(word).lower() in synonyms:
        return f"did you mean `{synonyms[str(word).lower()]}`?"
    words = sorted({str(entry) for entry in available})  # type: ignore[attr-defined]
    near = difflib.get_close_matches(str(word), words, n=1)
    return f"did you mean `{near[0]}`?" if near else f"available: {listing(words, most=most)}"


def either(words: Sequence[str]) -> str:
    """Return words in their order for a sentence: ``'a, b or c'``."""
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def counted(number: int | str, noun: str, nouns: str | None = None) -> str:
    """Return a number with its noun in singular or plural; `nouns` is the plural if it is not `plural(noun)`.

    A number that is already formatted is passed as text.

    Examples
    --------
    >>> counted(1, "rollout"), counted(1200, "rollout"), counted("2–3", "goal"), counted(1, "goal is", "goals are")
    ('1 rollout', '1,200 rollouts', '2–3 goals', '1 goal is')
    """
    digits = number if isinstance(number, str) else f"{number:,}"
    return f"{digits} {noun if digits == '1' else nouns or plural(noun)}"


def plural(noun: str) -> str:
    """Return the plural of a noun, or of each noun in a combination.

    Examples
    --------
    >>> plural("rollout"), plural("goal × category"), plural("success or branch"), plural("key")
    ('rollouts', 'goals × categories', 'successes or branches', 'keys')
    """
    end = "(?= × | or |$)"
    noun = re.sub(f"(?<=[^aeiou])y{end}", "ie", noun)
    return re.sub(end, "s", re.sub(f"(?<=s|x){end}|(?<=ch|sh){end}", "e", noun))


def to_install(extra: str) -> str:
    """Return the command that installs what an extra needs, by the names of its packages.

    Examples
    --------
    >>> to_install("excel")
    "pip install 'fastexcel>=0.14'"
    """
    from importlib.metadata import PackageNotFoundError, requires

    try:
        required = [line.partition(";") for line in requires("rollwise") or ()]
    except PackageNotFoundError:  # the source is on the path, and not installed
        return f"install the packages of the extra `{extra}` in pyproject.toml"
    names = [f"'{name.strip()}'" for name, _, condition in required if condition.strip() == f"extra == '{extra}'"]
    return f"pip install {' '.join(names)}"
