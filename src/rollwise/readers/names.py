"""The user's names of columns, checked: `names=` of Python, and `--column`, `--value` and `--of` of the command line."""

import re
from collections.abc import Callable, Mapping
from math import isfinite
from operator import ge, gt, le, lt
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, TypeVar

import polars as pl

from rollwise.errors import ArgumentError, counted, listing, meant
from rollwise.readers.asking import WHOSE, refuse_asked
from rollwise.readers.labels import Meanings, as_names, checked_values
from rollwise.readers.stated_facts import STEPS
from rollwise.schema import TURNS

T = TypeVar("T")

OF_CHATS = ("messages", "turns", "role", "content")  # names in records with messages
SPEAKERS = ("assistant", "user", "system", "tool")  # what a speaker with a name of its own may be
NAMES = (*TURNS.names, *OF_CHATS)
OF_FILES = ("of", "records", "targets")  # not columns of TURNS


class Cut(float):
    """A score on one side of which a turn succeeded, with the sign that says which: ``"<=2"`` for at most 2."""

    SIGNS: ClassVar[dict[str, Callable[[Any, Any], Any]]] = {"<=": le, ">=": ge, "<": lt, ">": gt}
    sign: str

    @classmethod
    def of(cls, text: str) -> "Cut | None":
        """Return the cut that a text says, such as ``"<= 2"``; None for any other text."""
        match = re.fullmatch(r"\s*([<>]=?)\s*([-+]?\d{1,15}(?:\.\d{1,15})?)\s*", text)
        if match is None:
            return None
        cut = cls(match[2])
        cut.sign = match[1]
        return cut

    def met_by(self, score: Any) -> Any:
        """Return whether a score, or each of a column, is on the side of success."""
        return self.SIGNS[self.sign](score, float(self))

    def __repr__(self) -> str:
        """Return the text, in the quotes that it has as an argument."""
        return f'"{self.sign}{float(self):g}"'


class Names(NamedTuple):
    """The user's names of columns, and their maps of labels if any, both by the name in TURNS.

    A turn with a score of at least `at` succeeded, unless it is None. `of` is whose success a column is that does not say so
    itself, attack or task, `records` the path of the records in their files, `targets` columns that are of one target each, with
    commas between, and `speakers` what speakers of chats are.
    """

    columns: dict[str, str]
    values: dict[str, Meanings]
    at: float | None = None
    of: str | None = None
    records: str | None = None
    targets: str | None = None
    speakers: Mapping[str, str] = MappingProxyType({})

    @property
    def structure(self) -> dict[str, str]:
        """Names of the structure of files: columns, the path of the records, and the columns of targets."""
        return self.columns | self.of_files

    @property
    def of_files(self) -> dict[str, str]:
        """The path of the records, and the columns of targets, where the user names them."""
        words = {"records": self.records, "targets": self.targets}
        return {name: word for name, word in words.items() if word is not None}


def checked_names(names: object, verb: str = "read") -> Names:
    """Check a mapping of names in TURNS to column names, each perhaps with a map of its labels."""
    if names is None:
        return Names({}, {})
    example = as_names({"succeeded": "jailbroken"})
    if not isinstance(names, Mapping) or not all(isinstance(name, str) for name in names):
        raise ArgumentError(f"{verb}: names={names!r} is not a mapping of names; write {example}")
    refuse_asked(names, verb)
    columns: dict[str, str] = {}
    labels: dict[str, object] = {}
    at: float | None = None
    words = {name: _checked_word(name, names[name], verb) for name in OF_FILES if name in names}
    for name, column in ((name, column) for name, column in names.items() if name not in words):
        if name == "succeeded" and (cut := _cut(column)) is not None:
            at = cut
        elif isinstance(column, tuple | list) and len(column) == 2 and isinstance(column[0], str):
            columns[name], labels[name] = column
        elif isinstance(column, str):
            columns[name] = column
        else:
            labeled = as_names({"succeeded": ("verdict", {"JAILBREAK": True, "REFUSED": False})})
            raise ArgumentError(f"{verb}: names={names!r} is not a mapping of names; write {example}, or {labeled}")
    for name, column in columns.items():
        if name not in NAMES:
            reversed_pair = f"the name of TURNS comes first: {as_names({column: name})}"
            remedy = f"a column of steps keeps its name: `rw.training(rollouts, ..., step={column!r})`"
            advice = remedy if name in STEPS else reversed_pair if column in NAMES else meant(name, [*NAMES, *OF_FILES])
            raise ArgumentError(f"{verb}: {as_names({name: column})}: {name!r} is not a column of TURNS; {advice}")
        # A column cannot be two columns of TURNS.
        targets = [target for target in columns if columns[target] == column]
        if len(targets) > 1:
            raise ArgumentError(
                f"{verb}: `{column}` is named for both `{targets[0]}` and `{targets[1]}`; name it for one of them"
            )
    columns, labels = _of(words.get("of"), columns), _of(words.get("of"), labels)
    speakers = _checked_speakers(labels.pop("role", {}), verb)
    meanings: dict[str, Meanings] = {name: checked_values(values, name, verb) for name, values in labels.items()}
    return Names(columns, meanings, at, **words, speakers=speakers)


def _checked_speakers(speakers: object, verb: str) -> dict[str, str]:
    """Return what speakers of chats are, by their names in the file."""
    words: dict[Any, Any] = {**speakers} if isinstance(speakers, Mapping) else {"": speakers}
    for name, word in words.items():
        if not isinstance(name, str) or word not in SPEAKERS:
            example = as_names({"role": ("speaker", {"Teacher": "assistant"})})
            raise ArgumentError(
                f"{verb}: `role` says what a speaker is, {listing(SPEAKERS)}, not {word!r}; write {example}"
            )
    return {name.strip(): word for name, word in words.items()}


def _of(whose: str | None, named: dict[str, T]) -> dict[str, T]:
    """Return names in which the success that is named is that of the task, if the user says so."""
    is_plain = whose != "task" or "solved" in named
    return named if is_plain else {"solved" if name == "succeeded" else name: named[name] for name in named}


def _checked_word(name: str, word: object, verb: str) -> str:
    """Return whose success is meant (`of`), where the records are (`records`), or the columns of a target each (`targets`)."""
    if name == "targets" and isinstance(word, list | tuple):
        word = ",".join(map(str, word))
    call = f"{verb}: {as_names({name: word})}"
    if name == "of" and word not in WHOSE:
        raise ArgumentError(f"{call}: says whose success it is; write {' or '.join(WHOSE)}")
    if name == "targets" and (not isinstance(word, str) or "," not in word):
        raise ArgumentError(f"{call}: names a column for each target; write them with commas, such as gpt-4,llama-3")
    if not isinstance(word, str) or not word:
        raise ArgumentError(f"{call}: says where the records are; write a path, such as results[*]")
    return word


def _cut(value: object) -> float | None:
    """Return the score that a number, or a text such as ``"<=2"``, says; None for anything else."""
    if isinstance(value, str):
        return Cut.of(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    return float(value) if is_number else None  # type: ignore[arg-type]


def told_apart(scores: pl.Series, verdicts: pl.Series, at: float) -> str | None:
    """Say that a limit tells none of several scores apart; None where it does, or where no score or only one is known."""
    values = verdicts.drop_nulls()
    if values.len() < 2 or values.n_unique() > 1:  # one score is always on one side
        return None
    ordered = scores.drop_nulls().cast(pl.Float64).sort()
    least, most = f"{ordered[0]:g}", f"{ordered[-1]:g}"
    examples = f"{values.len():,} scores ({least if least == most else f'{least} to {most}'})"
    limit = f"{at.sign} {float(at):g}" if isinstance(at, Cut) else f">= {at:g}"
    return (
        f"all {examples} are {limit}, so all succeeded"
        if values[0]
        else f"none of {examples} is {limit}, so none succeeded"
    )


def judged(turns: pl.DataFrame, at: float | None, verb: str) -> pl.DataFrame:
    """Return turns with the verdict that their score gives, true for at least `at` or on its side; unchanged without `at`."""
    if at is None or not turns.height:
        return turns
    threshold = as_names({"succeeded": at})
    if turns["score"].null_count() == turns.height:
        raise ArgumentError(
            f"{verb}: {threshold}: no turn has a `score`; name its column too, as in {as_names({'score': 'harm'})}"
        )
    verdicts = int(turns.select(pl.any_horizontal(pl.col("succeeded", "outcome").is_not_null()).sum()).item())
    if verdicts:
        raise ArgumentError(
            f"{verb}: {threshold}: {counted(verdicts, 'turn has', 'turns have')} a verdict already; leave it out"
        )
    return turns.with_columns(succeeded=at.met_by(pl.col("score")) if isinstance(at, Cut) else pl.col("score") >= at)
