"""The questions that a command leaves open, and the one line to type next: the user's own command, with options that answer."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rollwise.cli.options import in_options, name_in_options
from rollwise.errors import RollwiseError

if TYPE_CHECKING:
    from rollwise.errors import ReadError
    from rollwise.readers.roles.questions import Question

NAMING = ("--column", "--value", "--of")
WRITING = ("report", "read")  # commands that write even without --out
_OUT = re.compile(r"--out(=|$)|-o")  # also as in -oFILE


def ask(words: Sequence[str], questions: "Sequence[Question]", *, has_written: bool) -> None:
    """Print each question on a line, and then the command that answers them."""
    from rollwise.schema.labels import write_line

    for line in lines(words, questions, has_written=has_written):
        write_line(line)


def show_columns(error: "ReadError") -> None:
    """Print the columns of the files that could not be read, with what each is taken for: the answer is among them."""
    from rollwise.readers.proposing import propose
    from rollwise.schema.labels import write_line

    if error.call is None:
        return
    with suppress(RollwiseError, OSError):
        for line in propose(error.call.first, names=error.call.options.get("names")).table().splitlines():
            write_line(line)


def lines(words: Sequence[str], questions: "Sequence[Question]", *, has_written: bool = False) -> Iterator[str]:
    """Iterate over a line for each question, and the line `try: ...`."""
    from rollwise.readers.asking import answers, in_words
    from rollwise.schema.labels import plain

    names = answers(questions)
    if words[:1] == ["contrast"] and names.pop("of", None) is not None:  # its --of names a column to compare
        for question in questions:
            if "of" in question.names:
                names.setdefault("succeeded", question.column)
                questions = [*(further for further in questions if further is not question), _of_contrast(question)]
    yield from dict.fromkeys(in_options(in_words(question)) for question in questions)
    words = _without(words, names)
    written = {_key(option, value) for option, value in _options(words)}
    added = [(option, value) for option, value in name_in_options(names) if _key(option, value) not in written]
    # A command with a character that no terminal shows could not be copied.
    if added and all(plain(value) == value.strip() and value for _, value in added):
        yield f"try: {shlex.join(['rollwise', *_with(words, added, has_written=has_written)])}"


def _of_contrast(question: "Question") -> Any:
    advice = f"write --column solved={shlex.quote(question.column)} if it is of the task"
    return question._replace(sentence=f"{question.sentence.rstrip()} {advice}", options=())


def _options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Iterate over the options that name columns, with their values."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        option, equals, value = word.partition("=")
        if option in NAMING:
            yield option, value if equals else following


def _without(words: Sequence[str], names: Mapping[str, Any]) -> list[str]:
    """Return the words without options for columns that the answers name for something else."""
    from rollwise.readers.asking import without

    remaining: list[str] = []
    words_left = iter(words)
    for word in words_left:
        option, equals, value = word.partition("=")
        pair = [word] if equals or option != "--column" else [word, next(words_left, "")]
        name, _, column = (value if equals else pair[-1]).partition("=")
        remaining += pair if option != "--column" or without({name: column}, names) else []
    return remaining


def _key(option: str, value: str) -> tuple[str, str]:
    """Return what may be said only once: the name of a column, or a label of it."""
    return (
        option,
        "" if option == "--of" else value.rpartition("=")[0] if option == "--value" else value.partition("=")[0],
    )


def _with(words: Sequence[str], added: Sequence[tuple[str, str]], *, has_written: bool) -> list[str]:
    """Return the user's words with further options, before a `--` if there is one."""
    end = words.index("--") if "--" in words else len(words)
    extra = [word for pair in added for word in pair]
    writes = has_written and (words[0] in WRITING or any(_OUT.match(word) for word in words))
    overwrite = ["--overwrite"] if writes and "--overwrite" not in words else []
    return [*words[:end], *extra, *overwrite, *words[end:]]
