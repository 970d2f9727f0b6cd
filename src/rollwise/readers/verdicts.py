"""Verdicts without their rollouts: labels by people, scores by judges, choices between answers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, overload

import msgspec
import polars as pl

from rollwise.readers.casting import cast
from rollwise.readers.columns import Columns, column
from rollwise.readers.formats.exchange import every_eval_ever as records_of_samples
from rollwise.readers.formats.exchange import inspect_scout, mlflow, petri
from rollwise.readers.formats.nat import REPEAT
from rollwise.readers.gathering import arranged, gather
from rollwise.readers.native.files import plain_frame
from rollwise.readers.problems import BrokenError, Problems, Reading
from rollwise.readers.records import Key, inner, parse, worded
from rollwise.readers.results import assessments, audits, every_eval_ever, rubrics, scans
from rollwise.readers.results.lookalikes import WORDS, has
from rollwise.readers.results.measured import IN_A_TURN
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.paths import Paths
from rollwise.schema import VERDICTS
from rollwise.schema.option_types import check_option_types

PEOPLE = "human"
KNOWN_BY = f"a table of them has a column `rollout_id`, and one called {' or '.join(WORDS)}"
NAT_ERRORS = ("Evaluator error:", "Error in evaluator ")  # how NAT's evaluators begin the reason of a failure
TRUE, FALSE = frozenset({"true", "yes", "1"}), frozenset({"false", "no", "0"})

Verdict = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Judgment:
    """A kind of file with verdicts: how to recognize it, and how to read it."""

    source: str
    sniff: Callable[[Document], bool]
    verdicts: Callable[[Document, Problems], Iterator[Verdict]]


@overload
def read_verdicts(paths: Paths, *, errors: Literal["raise"] = "raise") -> pl.DataFrame: ...
@overload
def read_verdicts(paths: Paths, *, errors: Literal["collect"]) -> Reading: ...
def read_verdicts(paths: Paths, *, errors: Literal["raise", "collect"] = "raise") -> pl.DataFrame | Reading:
    r"""Read the verdicts in files without rollouts into one table of VERDICTS.

    =============== ==================================== ============================ ===============================
    source          file                                 `judge`                      `value`, `label`
    =============== ==================================== ============================ ===============================
    verdicts        VERDICTS, and tables of              `judge`; else the name of    unchanged
                    `rollout_id` (and `turn`) with a     the file
                    `label`, `value`, `verdict`
    nat_eval        ``<evaluator>_output.json``          the evaluator                `score`; null and an `error`
                                                                                      where the evaluator failed
    nat_red_team    evaluation_results.jsonl             the condition                `score`; `error_message` is
                                                                                      `error`
    grades          `score, grader, LLM` (HiBayES)       `grader`                     `score`
    choices         `LLM_1, LLM_2, grader,               `grader`                     1 where the first was chosen;
                    first_is_chosen` (HiBayES)                                        `label` is the chosen one
    refusals        `user_message, assistant_message,    ``human``                    1 where the label is TRUE
                    score_value` (PyRIT)
    every_eval_ever ``<uuid>_samples.jsonl``             the result                   `score`; `label` is correct or
                                                                                      incorrect
    inspect_scout   ``<scanner>.parquet`` of a scan      the scanner, with the label  true is 1, false 0; `label` is the
                                                         of each of several results   value as text; the reason is the
                                                                                      explanation, `references` the
                                                                                      messages that it cites
    petri           transcripts of Petri 1 and Bloom     the dimension                the score; the reason is the
                                                                                      justification, `quotes` the
                                                                                      highlights
    bloom           ``judgment.json``                    the dimension                the same, averaged over the samples
                                                                                      of the judge
    docent          results of judges, with              the rubric and the field     true and yes are 1, false and no
                    `agent_run_id` and `rubric_id`                                    0; `label` is the value as text;
                                                                                      the reason is the text with
                                                                                      citations, `quotes` what it cites
    mlflow          traces with assessments              the name of the feedback     true and yes are 1, false and
                                                                                      no 0; `source_id` is who
    =============== ==================================== ============================ ===============================

    Parameters
    ----------
    paths
        A file, a folder or several of them, as in `read`.
    errors
        ``"raise"`` or ``"collect"``, as in `read`.

    Returns
    -------
    VERDICTS, with every column of its schema. In a file without ids of rollouts, each row has an id of its own,
    ``<source>-<hash>/<row>``; other facts are in further columns (`target`, `task`, `attempt`, `prompt`, `response`, ...),
    by which `join_labels` finds the turns. With ``errors="collect"``, a named pair of VERDICTS and PROBLEMS.

    Raises
    ------
    ReadError
        Naming file, record, field and remedy. Also where there are no verdicts at all.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "ann.csv"
    >>> _ = path.write_text("rollout_id,turn,label\na,1,harmful\nb,1,harmless\n")
    >>> read_verdicts(path).select("rollout_id", "turn", "judge", "label").rows()
    [('a', 1, 'ann', 'harmful'), ('b', 1, 'ann', 'harmless')]
    """
    check_option_types(read_verdicts, locals())
    frame, problems = gather(paths, "read_verdicts", errors, "holds no verdicts", KNOWN_BY, _verdicts)
    verdicts = arranged(frame, VERDICTS)
    return problems.with_rows(verdicts)


def _verdicts(document: Document, problems: Problems) -> pl.DataFrame:
    kind = next((kind for kind in JUDGMENTS if kind.sniff(document)), None)
    if kind is None:
        return pl.DataFrame()
    # Collected row by row, since producers differ in their columns.
    columns = Columns()
    for verdict in kind.verdicts(document, problems):
        columns.append({"source": kind.source, **verdict})
    frame = pl.DataFrame({name: column(name, values, nested=False) for name, values in columns.padded().items()})
    if frame.is_empty():
        return frame
    ids = frame["rollout_id"].cast(pl.String)
    typed = [cast(frame[name], dtype, ids) for name, dtype in VERDICTS.dtypes.items() if name in frame.columns]
    return frame.with_columns(typed).with_columns(pl.col(pl.Float64).fill_nan(None))


# ── tables of rollouts ────────────────────────────────────────────────────────────────────────────────────────────────
def _is_table(document: Document) -> bool:
    names = document.keys
    return "rollout_id" in names and not names & {*(IN_A_TURN - {"turn"}), "num_turns"} and bool(names & set(WORDS))


def _of_table(document: Document, problems: Problems) -> Iterator[Verdict]:
    frame = plain_frame(document)
    # A column of another name holds the verdict where the table has neither of the columns of VERDICTS.
    has_verdict = "value" in frame.columns or "label" in frame.columns
    word = None if has_verdict else next(name for name in WORDS if name in frame.columns)
    for place, row in enumerate(frame.iter_rows(named=True)):
        with problems.record(document.name, place):
            if row["rollout_id"] is None:
                raise BrokenError("is missing", field="rollout_id")
            verdict = {"judge": document.path.name.split(".")[0], **row}
            if word is not None:
                verdict |= _value_and_label(verdict.pop(word))
            elif "value" not in verdict:
                verdict |= _value_and_label(verdict["label"])
            yield verdict


def _value_and_label(verdict: Any) -> Verdict:
    """Return a verdict as a number and as text: true and yes are 1, false and no are 0; other words have no number."""
    if verdict is None:
        return {"value": None, "label": None}
    if isinstance(verdict, bool | int | float):
        return {"value": float(verdict), "label": worded(verdict)}
    word = str(verdict).strip().lower()
    value = 1.0 if word in TRUE else 0.0 if word in FALSE else None
    return {"value": value, "label": str(verdict)}


# ── the NeMo Agent Toolkit ────────────────────────────────────────────────────────────────────────────────────────────
class Items(msgspec.Struct):
    """The output of one evaluator."""

    eval_output_items: list[Any]


class Item(msgspec.Struct):
    """Verdict on one item."""

    id: Key
    score: Any = None
    reasoning: Any = None
    error: str | None = None


class Condition(msgspec.Struct):
    """Verdict of the red team's judge on one item under one condition."""

    uid: str
    scenario_id: str
    item_id: Key
    score: float | None = None
    condition_name: str | None = None
    reasoning: Any = None
    error_message: str | None = None
    tags: Any = None
    scenario_group: str | None = None


def _of_nat(document: Document, problems: Problems) -> Iterator[Verdict]:
    judge = document.path.name.split(".")[0].removesuffix("_output")
    for place, value in enumerate(parse(document.value, Items).eval_output_items):
        with problems.record(document.name, place):
            item = parse(value, Item)
            # An item that was repeated has the number of the repetition in its id.
            repeat = REPEAT.fullmatch(str(item.id))
            error = nat_error(item.score, item.reasoning, item.error)
            number = item.score if isinstance(item.score, int | float) and error is None else None
            yield {
                "rollout_id": f"nat-{document.digest}/{item.id}",
                "judge": judge,
                "value": None if number is None else float(number),
                "label": None if isinstance(item.score, int | float) else worded(item.score),
                "reasoning": worded(item.reasoning),
                "error": error,
                "task": str(item.id) if repeat is None else repeat["item"],
                "attempt": 1 if repeat is None else int(repeat["number"]) + 1,
            }


def nat_error(score: Any, reasoning: Any, error: str | None = None) -> str | None:
    """Return the error of an item that an evaluator of the toolkit failed to judge; null for an item that it judged.

    The toolkit gives a failed item the score 0. Only the trajectory evaluator says so in `error`: version 1.9 writes what
    went wrong into `reasoning`, as ``{"error": "Evaluator error: ..."}``, and the RAG evaluator as a text.
    """
    if error:
        return error
    texts = [inner(reasoning, "error"), inner(reasoning, "reasoning"), reasoning]
    return next((text for text in texts if score == 0 and isinstance(text, str) and text.startswith(NAT_ERRORS)), None)


def _of_red_team(document: Document, problems: Problems) -> Iterator[Verdict]:
    for number, value in document.records():
        with problems.record(document.name, number):
            condition = parse(value, Condition)
            yield {
                "rollout_id": f"nat-{document.digest}/{condition.scenario_id}/{condition.item_id}",
                "judge": condition.condition_name or "red_teaming_evaluator",
                "value": None if condition.error_message else condition.score,
                "reasoning": worded(condition.reasoning),
                "error": condition.error_message or None,
                "attack": condition.scenario_id,
                "task": str(condition.item_id),
                "scenario_group": condition.scenario_group,
                "tags": condition.tags,
            }


# ── tables of people and judges ───────────────────────────────────────────────────────────────────────────────────────
class Grade(msgspec.Struct):
    """One row of grades."""

    grader: str
    score: float | str | None = None
    model: str | None = msgspec.field(name="LLM", default=None)


class Choice(msgspec.Struct):
    """One row of choices."""

    grader: str
    first: str = msgspec.field(name="LLM_1")
    second: str = msgspec.field(name="LLM_2")
    chosen: int | bool | None = msgspec.field(name="first_is_chosen", default=None)
    longer: float | None = msgspec.field(name="length_diff", default=None)


class Refusal(msgspec.Struct):
    """One labeled exchange."""

    user_message: str | None
    assistant_message: str | None
    score_value: str | bool | int | float | None = None


def _of_grades(document: Document, problems: Problems) -> Iterator[Verdict]:
    for place, row in enumerate(plain_frame(document).iter_rows(named=True)):
        with problems.record(document.name, place):
            grade = parse(row, Grade)
            yield {
                "rollout_id": f"grades-{document.digest}/{place}",
                "judge": grade.grader,
                "value": _number(grade.score),
                "target": grade.model,
            }


def _of_choices(document: Document, problems: Problems) -> Iterator[Verdict]:
    for place, row in enumerate(plain_frame(document).iter_rows(named=True)):
        with problems.record(document.name, place):
            choice = parse(row, Choice)
            first = None if choice.chosen is None else bool(choice.chosen)
            yield {
                "rollout_id": f"choices-{document.digest}/{place}",
                "judge": choice.grader,
                "value": None if first is None else float(first),
                "label": None if first is None else choice.first if first else choice.second,
                "first": choice.first,
                "second": choice.second,
                "length_diff": choice.longer,
            }


def _of_refusals(document: Document, problems: Problems) -> Iterator[Verdict]:
    for place, row in enumerate(plain_frame(document).iter_rows(named=True)):
        with problems.record(document.name, place):
            refusal = parse(row, Refusal)
            yield {
                "rollout_id": f"refusals-{document.digest}/{place}",
                "judge": PEOPLE,
                **_value_and_label(refusal.score_value),
                "prompt": refusal.user_message,
                "response": refusal.assistant_message,
            }


def _number(score: float | str | None) -> float | None:
    try:
        return None if score is None else float(score)
    except ValueError as error:
        raise BrokenError(f"expected a number, got {score!r}", field="score") from error


# The first that recognizes a file is taken.
JUDGMENTS = (
    Judgment("verdicts", _is_table, _of_table),
    Judgment("nat_eval", has("eval_output_items"), _of_nat),
    Judgment("nat_red_team", has("uid", "scenario_id", "item_id", "score"), _of_red_team),
    Judgment("choices", has("grader", "LLM_1", "LLM_2"), _of_choices),
    Judgment("grades", has("grader", "score"), _of_grades),
    Judgment("every_eval_ever", records_of_samples.SHAPES, every_eval_ever.verdicts),
    Judgment("inspect_scout", inspect_scout.SCANS, scans.verdicts),
    Judgment("petri", petri.SHAPES, audits.verdicts),
    Judgment("bloom", audits.is_judgment, audits.judgments),
    Judgment("docent", rubrics.sniff, rubrics.verdicts),
    Judgment("mlflow", mlflow.SHAPES, assessments.verdicts),
    Judgment("refusals", has("user_message", "assistant_message", "score_value"), _of_refusals),
)
