"""Questions that a reading leaves open, and one line that answers them: a call in Python, or what a command prints instead."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from rollwise.errors import ArgumentError, ReadError
from rollwise.readers.labels import as_names
from rollwise.readers.problems import WORDING, Problems
from rollwise.readers.roles.gathered import GATHERED
from rollwise.readers.roles.questions import OPEN, OPEN_NUMBER, Question
from rollwise.schema import TURNS
from rollwise.schema.labels import say, write_line

WHOSE = ("attack", "task")  # whose success a column is


class Call(NamedTuple):
    """A call of a function that reads, so that it can be printed with other names."""

    verb: str
    first: object  # paths, or what the argument is called
    options: Mapping[str, Any]

    def with_names(self, names: Mapping[str, Any]) -> str:
        """Return the call with these names besides its own."""
        options = {name: value for name, value in self.options.items() if value is not None and name != "names"}
        other_names = without(self.options.get("names") or {}, names)
        names_written = as_names(joined(other_names, names)).removeprefix("names=")
        if "storage_options" in options:
            options["storage_options"] = Name("storage_options")  # which may hold secrets
        words = [_written(self.first), *(f"{name}={_written(value)}" for name, value in options.items())]
        return f"rw.{self.verb}({', '.join([*words, f'names={names_written}'])})"


class Name(str):
    """The name of a variable, which is printed without quotes."""

    __slots__ = ()


@contextmanager
def asking(problems: Problems, call: Call) -> Iterator[None]:
    """Print the questions of a reading in this block at its end, with the call that answers them."""
    try:
        yield
    except ReadError as error:
        # What was asked of other columns before may still be open.
        questions = (
            *error.questions,
            *(question for question in problems.questions if question not in error.questions),
        )
        names = answers(questions) if error.questions else {}
        if not names:
            raise
        is_told = GATHERED.get() is not None or "; try: rw." in str(error)
        message = str(error) if is_told else f"{error}; try: {call.with_names(names)}"
        restated = type(error)(message)
        restated.questions, restated.call = questions, call
        raise restated from error.__cause__
    names = call.options.get("names") or {}
    of = None if {"succeeded", "solved"} & names.keys() else names.get("of")  # it is of the column that is named
    if of is not None and not problems.told_whose:
        say(WORDING.get()(f"{as_names({'of': of})} changed nothing: no column leaves open whose success it is"))
    if problems.questions:
        tell(problems.questions, call)


def tell(questions: Sequence[Question], call: Call) -> None:
    """Print questions, each on a line, and the call that answers them; within a command, leave that to its end."""
    gathered = GATHERED.get()
    if gathered is not None:
        gathered += [question for question in questions if question not in gathered]
        return
    for line in dict.fromkeys(map(in_words, questions)):
        write_line(line)
    names = answers(questions)
    if names:
        write_line(f"try: {call.with_names(names)}")


def in_words(question: Question) -> str:
    """Return the line that asks a question, with the answers that it may have."""
    sentence = question.sentence.removeprefix("? ")
    options = question.options
    # One option may be the beginning of another, as paths are.
    named = [re.search(rf"(?<![\w.]){re.escape(option)}(?![\w\[]|\.\w)", sentence) for option in options]
    if all(named):
        return f"? {sentence}"
    return f"? {sentence} ({' or '.join(filter(None, [', '.join(options[:-1]), options[-1]]))})"


def answers(questions: Iterable[Question]) -> dict[str, Any]:
    """Return the names that answer all questions together; of two that contradict each other, the first."""
    names: dict[str, Any] = {}
    for question in questions:
        if all(_agree(names, name, value) for name, value in question.names.items()):
            names = joined(names, question.names)
    return names


def joined(names: Mapping[str, Any], further: Mapping[str, Any]) -> dict[str, Any]:
    """Return names with further ones, and the meanings of further labels; what is named already stays."""
    result = dict(names)
    for name, value in further.items():
        if name not in result:
            result[name] = value
        elif _column(result[name]) == _column(value):
            meanings = _labels(result[name])
            labels = {**meanings, **{label: side for label, side in _labels(value).items() if label not in meanings}}
            result[name] = (_column(value), labels) if labels else _column(value)
    return result


def without(user_names: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the user's names, except where an answer uses the same column for something else."""
    columns = {_column(value): name for name, value in names.items() if name not in {"of", "records", "targets"}}
    return {name: value for name, value in user_names.items() if columns.get(_column(value), name) == name}


def _agree(names: Mapping[str, Any], name: str, value: object) -> bool:
    """Return whether a name may be added: no other column has it, and its column has no other name."""
    column = _column(value)
    if name in names:
        labels = _labels(names[name])
        same = all(labels.get(label, meaning) == meaning for label, meaning in _labels(value).items())
        return same and _column(names[name]) == column
    return column == OPEN or name in {"of", "records"} or column not in map(_column, names.values())


def _column(value: object) -> object:
    return value[0] if isinstance(value, tuple | list) and len(value) == 2 else value


def _labels(value: object) -> Mapping[str, Any]:
    labels = value[1] if isinstance(value, tuple | list) and len(value) == 2 else None
    return labels if isinstance(labels, Mapping) else {}


def refuse_asked(names: Mapping[str, Any], verb: str) -> None:
    """Refuse a `?` that was typed as it was printed."""
    for name, value in names.items():
        if _column(value) == OPEN or _column(value) == OPEN_NUMBER:
            if name == "of":
                choices = " or ".join(WHOSE)
            elif name == "records":
                choices = "the path of the records, such as results[*]"
            elif value == OPEN_NUMBER or (name == "succeeded" and "score" in names):
                choices = "the score from which on a turn succeeded, a number"
            else:
                choices = "the name of a column in your files"
            raise ArgumentError(f"{verb}: {as_names({name: _column(value)})}: replace `?`: write {choices}")
        for label, meaning in _labels(value).items():
            if label == OPEN and name == "role":
                example = as_names({name: (_column(value), {label: meaning})})
                raise ArgumentError(f"{verb}: {example}: replace `?`: write the name of the speaker who is the target")
            if meaning == OPEN:
                example = as_names({name: (_column(value), {label: OPEN})})
                sides = getattr(TURNS.dtypes.get(name), "categories", None)
                choices = "true, false or null" if sides is None else f"{', '.join(sides)} or null"
                raise ArgumentError(f"{verb}: {example}: replace `?`: write {choices} for {label!r}")


def _written(value: Any) -> str:
    """Return a value as it is typed in Python."""
    if isinstance(value, Name):
        return str(value)
    if isinstance(value, str | os.PathLike):
        return as_names({"": os.fspath(value)}).removeprefix('names={"": ').removesuffix("}")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_written, value))}]"
    return repr(value)
