"""A stranger at the command line: the case is typed, then the one line that is printed, and the figures are compared."""

import io
import json
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

import rollwise as rw
from rollwise import metrics as m
from rollwise.cli import run

HERE = Path(__file__).parent
# `succeeded=?`, `succeeded:WORD=?`, `?`; never the end of a name such as `Jailbroken?`.
ASKED = re.compile(r"(?<=[=:])\?(?==|$)|^\?$")


class Answer(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    text: str


class Result(NamedTuple):
    """How far a stranger gets with a case.

    Attributes
    ----------
    word
        ``right`` (at first go), ``pasted`` (after the printed line), ``asked`` (after one answer), ``partly`` (the rollouts are
        right and the verdict is not there), ``refused``, or ``wrong``: figures that differ.
    note
        What differs, or what was typed.
    """

    word: str
    note: str = ""


@dataclass
class Figures:
    """The rollouts that were read, and the means of their metrics."""

    rollouts: pl.DataFrame
    summary: pl.DataFrame
    folder: Path
    num_problems: int = 0  # that the command spoke of


def typed(words: Sequence[str]) -> Answer:
    """Type a command in this process."""
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        try:
            run([*words])
        except SystemExit as leaving:
            return Answer(int(leaving.code or 0), out.getvalue())
    raise AssertionError("a command ends with its exit code")


def inputs_of(case: Path) -> list[str]:
    """Return the paths that are typed for a case."""
    return [str(path) for path in sorted(case.iterdir()) if path.name != "expected.json"]


def wanted(case: Path) -> dict[str, Any]:
    """Return the right figures of a case."""
    return dict(json.loads((case / "expected.json").read_text(encoding="utf-8")))


def first_go(case: Path, want: Mapping[str, Any], folder: Path, verb: str = "read") -> Result:  # noqa: PLR0911
    """Type a command on a case, and once the line that it prints, with what only the user knows filled in."""
    out = folder / case.name if verb == "report" else folder / f"{case.name}.parquet"
    first = typed([verb, *inputs_of(case), "--out", str(out), "--overwrite"])
    verdict = _judged(first, out, want)
    command = command_in(first.text)
    if want.get("or_refuse") and first.code == 2 and command is None:
        return Result("right", "refused, as it should be")
    if verdict.word == "wrong" or command is None:
        return verdict._replace(note=verdict.note or first.text.strip()[-300:])
    is_asked = any(map(ASKED.search, command))
    if _is_of_another(command, want.get("answers", {})):
        return verdict._replace(note=f"asks about what is no verdict: {shlex.join(command)[-150:]}")
    if is_asked:
        command = filled(command, want.get("answers", {}))
        if any(map(ASKED.search, command)):
            return verdict._replace(note=f"asks what nobody answers: {shlex.join(command)[-150:]}")
        want = {**want, **want.get("answered", {})}
    _remove(out)  # never the result of the first go
    second = typed(command if "--overwrite" in command else [*command, "--overwrite"])
    after, said = _judged(second, out, want), shlex.join(command)
    if want.get("or_refuse") and second.code == 2:
        return Result("right", "refused, as it should be")
    if verdict.word == "right" and after.word == "refused":
        return Result("wrong", f"right, but the printed line is refused: {said}: {second.text}")
    if after.word == "right":
        return Result("right" if verdict.word == "right" else "asked" if is_asked else "pasted", said)
    if after.word == "wrong":
        return after._replace(note=f"{after.note}, by {said}")
    return verdict._replace(note=f"{verdict.note}; typed, and {after}: {said}: {second.text[-300:]}")


def command_in(text: str) -> list[str] | None:
    """Return the words of the last line `try: rollwise ...`, without the name of the program."""
    found = re.findall(r"^\s*try: (.+)$", text, re.MULTILINE)
    return shlex.split(found[-1])[1:] if found else None


def _is_of_another(command: Sequence[str], answers: Mapping[str, Any]) -> bool:
    """Return whether a line takes a column for the verdict that is none, as the user would see."""
    taken = {word.partition("=")[2] for word in command if word.startswith(("succeeded=", "solved="))}
    return bool({*answers.get("columns", ())} & taken - {answers.get("verdict")})


def filled(command: Sequence[str], answers: Mapping[str, Any]) -> list[str]:
    """Return a command whose questions are answered: `succeeded:WORD=?` by the answer for WORD, `--of ?` by that for `of`."""
    words = []
    for before, word in zip(["", *command], command, strict=False):
        asked = re.search(r"(?:^|:)([^:=]*)=\?$", word)
        name = (asked[1] if asked else before).lstrip("-")
        words.append(ASKED.sub(answers.get(name, "?"), word))
    return words


def summed_up(results: Iterable[Result]) -> Counter[str]:
    """Return how many cases come to each result."""
    return Counter(result.word for result in results)


def _remove(out: Path) -> None:
    shutil.rmtree(out) if out.is_dir() else out.unlink(missing_ok=True)


def _figures(out: Path) -> Figures:
    """Return the figures of a report's folder, or of a table of turns."""
    if out.is_dir():
        return Figures(pl.read_parquet(out / "rollouts.parquet"), pl.read_parquet(out / "summary.parquet"), out)
    turns = pl.read_parquet(out)
    rollouts = rw.measure(turns, m.attack_success(), m.task_success(), final_score=m.final("score"))
    return Figures(rollouts, rw.summarize(rollouts, resamples=100), out)


def _judged(answer: Answer, out: Path, want: Mapping[str, Any]) -> Result:
    """Return how the figures of a command agree with what is right."""
    if "Traceback" in answer.text or answer.code not in {0, 2}:
        return Result("wrong", f"exit code {answer.code}: {answer.text}")
    pages = "".join(page.read_text(encoding="utf-8") for page in out.glob("report.html"))
    if "not_said" in want and re.search(want["not_said"], answer.text + pages):
        return Result("wrong", f"says {want['not_said']}")
    if answer.code == 2:
        return Result("refused")
    figures = _figures(out)
    said = re.search(r"(\d+) problem", answer.text)
    figures.num_problems = int(said[1]) if said else 0
    for compare in (_absent, _by_column, _error, _counts, _verdicts, _facts):
        fault = compare(figures, want)
        if fault is not None:
            return fault
    return Result("right")


def _metric(want: Mapping[str, Any]) -> tuple[str, str]:
    """Return the metric that is meant, and the one that is not."""
    names = ("attack_success", "task_success")
    return names if want.get("success_is") != "solved" else names[::-1]


def _values(figures: Figures, metric: str) -> pl.Series:
    there = metric in figures.rollouts.columns
    return figures.rollouts[metric] if there else pl.Series([None] * figures.rollouts.height, dtype=pl.Boolean)


def _absent(figures: Figures, want: Mapping[str, Any]) -> Result | None:
    there = [name for name in want.get("absent", []) if (figures.folder / name).exists()]
    return Result("wrong", f"{there} is there") if there else None


def _by_column(figures: Figures, want: Mapping[str, Any]) -> Result | None:
    """Compare the successes by target and the like: an inverted verdict has the right number where half succeed."""
    metric, _ = _metric(want)
    if not _values(figures, metric).drop_nulls().len():
        return None
    expected = {"target": want["by_target"]} if "by_target" in want else want.get("by", {})
    for column, successes in expected.items():
        if column not in figures.rollouts.columns or not figures.rollouts[column].count():
            return Result("partly", f"no {column}")
        groups = figures.rollouts.group_by(column)
        ours = {str(key[0]): int(part[metric].sum() or 0) for key, part in groups}
        if ours != successes:
            return Result("wrong", f"by {column} {ours}")
    return None


def _error(figures: Figures, want: Mapping[str, Any]) -> Result | None:
    metric, least = _metric(want)[0], want.get("least_std_error", 0)
    means = figures.summary.filter(pl.col("metric") == metric, pl.col("statistic") == "mean")
    error: Any = means["std_error"].max() or 0
    is_known = _values(figures, metric).drop_nulls().len()
    return Result("wrong", f"standard error {error}") if is_known and error < least else None


def _counts(figures: Figures, want: Mapping[str, Any]) -> Result | None:
    turns = figures.rollouts["num_turns"].sum()
    if figures.rollouts.height == want["rollouts"] and want.get("turns") in {None, turns}:
        return None
    note = f"{figures.rollouts.height} rollouts, {turns} turns for {want['rollouts']}, {want.get('turns')}"
    is_said = figures.num_problems == want["rollouts"] - figures.rollouts.height
    return Result("partly" if is_said else "wrong", note)


def _verdicts(figures: Figures, want: Mapping[str, Any]) -> Result | None:
    metric, other = _metric(want)
    values, others = (_values(figures, name).drop_nulls() for name in (metric, other))
    if want.get("success") is None:
        return Result("wrong", f"{values.sum()} successes where none is stated") if len(values) else None
    if len(others) and not want.get("both"):
        return Result("wrong", f"{other} has values, {metric} is meant")
    if not len(values):
        return Result("partly", "no verdict")
    known = want.get("judged", want["rollouts"])  # a lost "safe" is a wrong rate, too
    if values.sum() != want["success"] or len(values) != known:
        return Result("wrong", f"{values.sum()} of {len(values)} judged for {want['success']} of {known}")
    return None


def _facts(figures: Figures, want: Mapping[str, Any]) -> Result | None:
    """Compare values of columns, sums and means."""
    rollouts = figures.rollouts
    for column, expected in want.get("facts", {}).items():
        ours = sorted(map(str, rollouts[column].drop_nulls().unique())) if column in rollouts.columns else []
        if ours != sorted(map(str, expected)):
            return Result("partly", f"{column} {ours} for {expected}")
    for column, expected in want.get("sums", {}).items():
        is_full = column in rollouts.columns and rollouts[column].null_count() == 0
        total = rollouts[column].sum() if is_full else None
        if total is None or abs(total - expected) > 1e-6:
            return Result("partly", f"sum of {column} {total} for {expected}")
    for metric, expected in want.get("means", {}).items():
        rows = figures.summary.filter(pl.col("metric") == metric, pl.col("statistic") == "mean")
        means = rows["estimate"].to_list()
        if len(means) != 1 or means[0] is None or abs(means[0] - expected) > 1e-6:
            return Result("partly", f"mean of {metric} {means} for {expected}")
    return None
