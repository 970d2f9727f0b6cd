"""BFCL, the Berkeley Function-Calling Leaderboard: the calls of a model, and which of them its checker found wrong.

- File: `result/<model>/.../BFCL_v4_<category>_result.json`, a line for each test; the verdicts are in the file of the same
  name under `score`.
- Format: https://github.com/ShishirPatil/gorilla, berkeley-function-call-leaderboard
- Checked on: results and scores of gpt-oss-120b in bbrowning/bfcl-vllm-results; the share of solved rollouts is `accuracy`.
- Lost: the questions of single turns, which are in BFCL itself, and the states in `inference_log`.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from rollwise.readers.common import join_texts, text_in
from rollwise.readers.mapping.cells import Turns
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Around, Record
from rollwise.readers.mapping.records import records_at
from rollwise.readers.problems import BrokenError
from rollwise.readers.records import total
from rollwise.readers.sources.beside import bytes_beside
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnRow, TurnsBuilder
from rollwise.readers.tool_calls import calls
from rollwise.schema import NO_ATTACK

NAME = re.compile(r"(?:BFCL_v\d+_)?(?P<category>.+)_result\.json")
SHAPES = Shapes({"id", "result"}, check=lambda document: NAME.fullmatch(document.path.name) is not None)
CRASHED = "Error during inference"  # how an answer begins that no model gave


SCORES = Shapes({"accuracy", "correct_count", "total_count"}, at="first")


def has_results(document: Document) -> bool:
    """Return whether a file has the scores of results that are in the folder `result`, or beside it."""
    name = document.path.name
    if not name.endswith("_score.json") or not SCORES(document):
        return False
    return any(path.is_file() for path in _counterparts(document.path, "score", "result"))


def _counterparts(path: Path, kind: str, other_kind: str) -> list[Path]:
    """Return where the file of another kind that goes with this one may be: in the folder of its kind, or beside."""
    name = f"{path.name.removesuffix(f'_{kind}.json')}_{other_kind}.json"
    parts = list(path.absolute().parts)
    places = [place for place, part in enumerate(parts[:-1]) if part == kind]
    if not places:
        return [path.with_name(name)]
    parts[places[-1]] = other_kind
    return [Path(*parts).with_name(name), path.with_name(name)]


def _results(document: Document, builder: TurnsBuilder, around: Around) -> Iterator[Record]:
    """Yield each result with its verdict: the file of scores lists the wrong ones, and says how many there are."""
    match = NAME.fullmatch(document.path.name)
    around.found |= {"target": _model(document.path), "category": match and match["category"]}
    records = list(records_at(".", document, builder, around))
    wrong = _wrong(document.path)
    if wrong is not None and wrong.pop("", None) != len(records):
        reason = "the file of scores counts another number of results: those that it does not list are unjudged"
        builder.problems.warned(document.name, None, "valid", reason)
        solved = None
    else:
        solved = None if wrong is None else True
    for record in records:
        name = record.value.get("id") if isinstance(record.value, dict) else None
        verdict = (wrong or {}).get(str(name))
        verdicts = {"solved": solved if verdict is None else False, "error_type": text_in(verdict, "error_type")}
        record.around = replace(around, found=around.found | verdicts)
        yield record


def _model(path: Path) -> str | None:
    """Return the model, whose folder is in the folder `result`."""
    parts = path.absolute().parts
    places = [place for place, part in enumerate(parts[:-2]) if part == "result"]
    return parts[places[-1] + 1] if places else None


def _wrong(path: Path) -> dict[str, Any] | None:
    """Return what the file of scores says of each wrong result, by its id, and under "" how many results there are."""
    for path_of_scores in _counterparts(path, "result", "score"):
        data = bytes_beside(path_of_scores, path_of_scores.absolute().parent)
        if data is None:
            continue
        try:
            header, *rows = map(json.loads, data.splitlines())
            return {"": header["total_count"], **{str(row["id"]): row for row in rows if row["valid"] is False}}
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
    return None


def _turns(record: Record) -> Turns:
    """`result`: a turn for each answer; of several user turns, the steps of each."""
    result = record["result"]
    queries = [_query(part) for part in record["inference_log"] or [] if isinstance(part, dict)]
    steps = [(0, result)]
    if isinstance(result, list) and len({isinstance(turn, list) for turn in result}) > 1:
        raise BrokenError("some turns are lists of steps, and some are not", field="result")
    if isinstance(result, list) and result and all(isinstance(turn, list) for turn in result):
        steps = [(place, step) for place, turn in enumerate(result) for step in turn]
    rows, before = [], None
    for number, (place, step) in enumerate(steps, start=1):
        prompt = queries[place] if place != before and place < len(queries) else None
        before = place
        is_crash = isinstance(step, str) and step.startswith(CRASHED)
        step_calls = _calls(step)
        text = step if isinstance(step, str) else None if step_calls or step in (None, []) else json.dumps(step)
        rows.append(
            TurnRow(
                turn=None if is_crash else number,
                prompt=prompt,
                response=None if is_crash else text,
                tool_calls=calls(step_calls) if step_calls else None,
                error=step if is_crash else None,
            )
        )
    return rows or [TurnRow(turn=None)]


def _calls(step: Any) -> list[dict[str, Any]]:
    """Return the calls of an answer, of which the file has the name as the key of the arguments."""
    listed = step if isinstance(step, list) else []
    return [
        {"name": name, "arguments": arguments}
        for call in listed
        if isinstance(call, dict)
        for name, arguments in call.items()
    ]


def _query(part: dict[str, Any]) -> str | None:
    """Return what the user says at the beginning of a turn."""
    messages = part.get("begin_of_turn_query")
    return join_texts(text_in(message, "content") for message in (messages if isinstance(messages, list) else []))


def _sum(value: Any) -> float | None:
    """Return the sum of counts that stand alone, in a list, or in lists of lists."""
    if isinstance(value, list):
        parts = [part for part in map(_sum, value) if part is not None]
        return sum(parts) if parts else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _tokens(record: Record) -> int | None:
    parts = [_sum(record[name]) for name in ("input_token_count", "output_token_count")]
    return None if None in parts else total(parts, "input_token_count")


BFCL = RecordMapping(
    module=__name__,
    doc="""Read each result as a rollout, with a turn for each answer of the model.

{fields}

The file of scores lists the wrong results alone: all others are solved, if it counts as many results as there are. Without it
`solved` is null. `goal` and `outcome` are null, and so is `ending`.

The producer judges the `whole_rollout`, by the calls that a test allows.""",
    records=_results,
    rollout=["@category", "id"],
    facts={
        "target": {"from": "@target", "in_file": "name of the folder in `result`"},
        "attack": {"value": NO_ATTACK},
        "task": "id",
        "category": {"from": "@category", "in_file": "name of the file"},
        "total_tokens": {"by": _tokens, "in_file": "`input_token_count`, `output_token_count`"},
        "total_seconds": {"by": lambda record: _sum(record["latency"]), "in_file": "`latency`"},
    },
    turns=_turns,
    verdicts=[{"of": "task", "from": "@solved", "in_file": "`valid` in the file of scores"}],
    columns={"error_type": {"from": "@error_type", "in_file": "`error_type` in the file of scores"}},
    fields={"id": str | int, "result": object, "inference_log": list[object] | None},
    used={"result", "inference_log", "input_token_count", "output_token_count", "latency"},
)
