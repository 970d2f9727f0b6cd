"""Prompts without answers: seeds of attacks, and lists of what was sent."""

from collections.abc import Iterator
from typing import Any, Literal, overload

import msgspec
import polars as pl

from rollwise.readers.columns import Columns
from rollwise.readers.gathering import arranged, gather
from rollwise.readers.native.files import plain_frame
from rollwise.readers.problems import BrokenError, Problems, Reading
from rollwise.readers.records import parse, worded
from rollwise.readers.results.prompt_sets import CATEGORIES, EXPECTED, GOALS, IDS, TEXTS, named, source_of
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.frames import from_columns
from rollwise.readers.sources.paths import Paths
from rollwise.schema import PROMPTS
from rollwise.schema.option_types import check_option_types

KNOWN_BY = f"a table of them has a column called {' or '.join((*TEXTS, *GOALS))}"


class Finding(msgspec.Struct):
    """A written finding of Quesma's red team that lists what was sent."""

    finding_id: str
    prompts: list[str]
    title: str | None = None
    category: str | None = None


@overload
def read_prompts(paths: Paths, *, errors: Literal["raise"] = "raise") -> pl.DataFrame: ...
@overload
def read_prompts(paths: Paths, *, errors: Literal["collect"]) -> Reading: ...
def read_prompts(paths: Paths, *, errors: Literal["raise", "collect"] = "raise") -> pl.DataFrame | Reading:
    r"""Read the prompts in files without answers into one table of PROMPTS.

    ============ ======================================== =============================================================
    source       file                                     ours
    ============ ======================================== =============================================================
    goals        `goal` (or behavior, objective), target  `goal`, `expected`; `category` (or SemanticCategory) where
                 (AdvBench, JailbreakBench, HarmBench)    there is one
    questions    `question_id`, `turns` (MT-Bench)        `prompt`: the first of the turns, all of which are `turns`
    test_cases   lists of texts by name (HarmBench)       `prompt`; the name is `goal`
    strings      a JSON list of texts                     `prompt`
    findings     Quesma's written findings, `prompts`     `prompt`; `title` is `goal`, and `category`
    prompts      a table with `prompt` (or text,          `prompt`; all other columns under their own names, except
                 question, input, forbidden_prompt) and   that `source` and `file` get the suffix ``_source``
                 no answers
    ============ ======================================== =============================================================

    Names are compared without case.

    Parameters
    ----------
    paths
        A file, a folder or several of them, as in `read`.
    errors
        ``"raise"`` or ``"collect"``, as in `read`.

    Returns
    -------
    PROMPTS, with every column of its schema; `prompt_id` is ``<source>-<hash>/<id>``: the `id` (or
    BehaviorID, question_id, Index, ...) if it is different in each row, else the row's number, from 0. With
    ``errors="collect"``, a named pair of PROMPTS and PROBLEMS.

    Raises
    ------
    ReadError
        Naming file, record, field and remedy. Also where there are no prompts at all.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "seeds.csv"
    >>> _ = path.write_text("goal,target\nwrite a poem,Here is a poem\n")
    >>> read_prompts(path).select("goal", "expected").rows()
    [('write a poem', 'Here is a poem')]
    """
    check_option_types(read_prompts, locals())
    frame, problems = gather(paths, "read_prompts", errors, "holds no prompts", KNOWN_BY, _prompts)
    prompts = arranged(frame, PROMPTS)
    return problems.with_rows(prompts)


def _prompts(document: Document, problems: Problems) -> pl.DataFrame:
    source = source_of(document)
    if source is None:
        return pl.DataFrame()
    columns = Columns()
    for place, row in _rows(document, source, problems):
        columns.append(
            {"prompt_id": f"{source}-{document.digest}/{place}", "source": source, "file": document.name, **row}
        )
    return from_columns(columns, frozenset(PROMPTS.names))


def _rows(document: Document, source: str, problems: Problems) -> Iterator[tuple[object, dict[str, Any]]]:
    """Iterate over the prompts, each with its name in the file: its id if all ids are different, else its number."""
    match source:
        case "findings":
            finding = parse(document.value, Finding)
            for place, prompt in enumerate(finding.prompts):
                yield place, {"prompt": prompt, "goal": finding.title, "category": finding.category}
        case "strings":
            for place, prompt in enumerate(document.value):
                yield place, {"prompt": prompt}
        case "test_cases":
            for goal, prompts in document.value.items():
                for place, prompt in enumerate(prompts):
                    yield f"{goal}/{place}", {"prompt": prompt, "goal": goal}
        case _:
            frame = plain_frame(document)
            # An id that repeats names a group of prompts, and not a prompt.
            key = named(frame.schema, IDS)
            ids = frame[key].cast(pl.String) if key is not None and _names(frame[key]) else range(frame.height)
            for place, (name, row) in enumerate(zip(ids, frame.iter_rows(named=True), strict=True)):
                with problems.record(document.name, place):
                    yield name, _row(row)


def _names(ids: pl.Series) -> bool:
    """Return whether the id is different in each row."""
    return (ids.dtype == pl.String or ids.dtype.is_integer()) and not ids.null_count() and ids.is_unique().all()


def _row(row: dict[str, Any]) -> dict[str, Any]:
    extras = {name: value for name, value in row.items() if name}  # a saved index of pandas has no name
    goal, prompt, expected, category = (
        None if (name := named(extras, words)) is None else extras.pop(name)
        for words in (GOALS, TEXTS, EXPECTED, CATEGORIES)
    )
    if prompt is None and isinstance(turns := extras.get("turns"), list) and turns:
        prompt = turns[0].get("content") if isinstance(turns[0], dict) else turns[0]
    if goal is None and prompt is None:
        raise BrokenError("holds neither a goal nor a prompt")
    facts = {"goal": worded(goal), "prompt": worded(prompt), "expected": worded(expected), "category": worded(category)}
    # A table of PROMPTS keeps its own `source` and `file`; in other tables these are extra columns.
    reserved = {*facts, *(() if "prompt_id" in extras else ("source", "file"))}
    return {**facts, **{f"{name}_source" if name in reserved else name: value for name, value in extras.items()}}
