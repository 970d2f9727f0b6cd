"""Best-of-N jailbreaking: the search over augmented prompts for one behavior.

- File: `<behavior>/<data>_search_steps.jsonl`, one line per step of the search; prompts and answers in a folder next to it.
- Format: https://github.com/jplhughes/bon-jailbreaking, `EndOfStepResult` in almj/attacks/run_text_bon.py
- Checked on: files built from that source. The audio and image searches have other augmentations.
- Lost: `best_asr` and `best_augmentation`, which repeat one of the candidates.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from rollwise.readers.json_texts import lenient
from rollwise.readers.mapping.mapping import RecordMapping
from rollwise.readers.mapping.paths import Around, Record
from rollwise.readers.problems import BrokenError
from rollwise.readers.records import Small, leftovers, parse
from rollwise.readers.sources.beside import bytes_beside
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.shapes import Shapes
from rollwise.readers.table import TurnsBuilder
from rollwise.schema import BUDGET, SUCCESS

NAME = re.compile(r"(?P<name>.*?)_?search_steps\.jsonl?(\.gz|\.zst|\.bz2|\.xz)?", re.DOTALL)
MOST_BYTES = 1 << 20  # of a file with a prompt or an answer
HIT = 1.0  # share of flagged samples at which the search calls a prompt successful
SHAPES = Shapes({"n", "best_k", "best_asr", "search_steps"})


class Step(msgspec.Struct):
    """One line: a step of the search, which tries several augmentations at once."""

    n: Small
    search_steps: list[Any]
    best_k: Small | None = None
    best_prompt: str | None = None
    best_asr: Any = None
    best_augmentation: Any = None


def _candidates(document: Document, builder: TurnsBuilder, around: Around) -> Iterator[Record]:
    """Yield each candidate of each step, numbered in the order in which they were tried."""
    path = document.path.absolute()
    match = NAME.fullmatch(path.name)
    goal = "/".join(filter(None, ("" if match is None else match["name"], path.parent.name))) or around.run
    attempt = 0
    for number, value in document.records():
        candidates: list[Any] = []
        with builder.record(document.name, number):
            step = parse(value, Step)
            candidates, further = step.search_steps, leftovers(value, Step)
            if not candidates:
                builder.problems.dropped(document.name, "holds no search steps", number)
        for place, candidate in enumerate(candidates):
            attempt += 1
            constants = {
                "goal": goal,
                "attempt": attempt,
                "best_k": step.best_k,
                "best": step.best_prompt,
                "step": further,
            }
            where = f"search_steps[{place}]"
            yield Record(candidate, f"{number}.{where}", replace(around, found=constants), within=where)


def _prompt(record: Record) -> str | None:
    """`prompt.txt`, else the step's `best_prompt` for its `best_k`."""
    # Without the folder of prompts, the file holds the text of the best candidate alone.
    folder = _folder(record)
    return _text(folder / "prompt.txt", record) or (record["@best"] if record["k"] == record["@best_k"] else None)


def _answer(record: Record) -> str | None:
    """First of `lm_responses_*.json`."""
    folder = _folder(record)
    try:
        files = sorted(folder.glob("lm_responses_*.json")) if folder.is_dir() else []
    except OSError:
        return None
    text = _text(files[0], record) if files else None
    try:
        answers = None if text is None else lenient(text.encode())[0]
    except BrokenError:
        return None
    first = answers[0] if isinstance(answers, list) and answers else None
    answer = first.get("completion") if isinstance(first, dict) else None
    return answer if isinstance(answer, str) else None


def _folder(record: Record) -> Path:
    """Return the folder of a candidate, next to the log."""
    return record.around.document.path.absolute().parent / "prompts" / str(record["n"]) / str(record["k"])


def _text(path: Path, record: Record) -> str | None:
    """Return the content of a small text file near the log; null if it is missing."""
    data = bytes_beside(path, record.around.document.path.absolute().parent, most=MOST_BYTES)
    return None if data is None else data.decode("utf-8", "replace").replace("\r\n", "\n")


def _augmentation(record: Record) -> dict[str, Any]:
    """`augmentation`."""
    augmentation = record["augmentation"]
    return augmentation if isinstance(augmentation, dict) else {"value": augmentation}


BEST_OF_N = RecordMapping(
    module=__name__,
    doc="""Read each augmented prompt as a rollout of one turn: an attempt at the file's one behavior.

{fields}

The file has no name of its own. Each behavior has its folder: the `goal` is the name of the data and that of the folder.
Prompts and answers are in the folder ``prompts/<n>/<k>/`` next to the file; without it, the texts other than `best_prompt`
are null. The prompts of one step are tried at once, and the search ends with the first step that has a hit: `rw.attempts`
recognizes that, and refuses estimates that it rules out. A prompt whose call failed has `asr` 0.0 in the file, like one that
was refused; only the folder `errors/` next to it shows the failure. `solved` is null.

The producer judges `stops_on_success`: there are no attempts after the step with the hit.""",
    records=_candidates,
    rollout=["n", "k"],
    facts={
        "attack": {"value": "best-of-n"},
        "goal": {"from": "@goal", "in_file": "name of the data, folder of the file"},
        "attempt": {"from": "@attempt", "in_file": "order of `n` and `k`", "note": "from 1"},
        "ending": {
            "by": lambda record: SUCCESS if (record["asr"] or 0) >= HIT else BUDGET,
            "in_file": "`asr`",
            "note": "success where it is 1, else budget",
        },
    },
    turn={
        "prompt": _prompt,
        "response": _answer,
        "score": {"from": "asr", "note": "share of samples that were flagged"},
    },
    verdicts=[{"of": "attack", "from": "asr", "at_least": HIT}],
    columns={"step": "n", "candidate": "k", "augmentation_*": _augmentation, "*": {"from": "@step"}},
    fields={"n": Small, "k": Small, "augmentation": Any},
)
