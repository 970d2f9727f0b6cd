"""Best-of-N jailbreaking: the search over augmented prompts for one behavior.

- File: `<behavior>/<data>_search_steps.jsonl`, one line per step of the search; prompts and answers in a folder next to it.
- Format: https://github.com/jplhughes/bon-jailbreaking, `EndOfStepResult` in almj/attacks/run_text_bon.py
- Checked on: files built from that source. The audio and image searches have other augmentations.
- Lost: `best_asr` and `best_augmentation`, which repeat one of the candidates.
"""

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from rollwise.readers.common import has_fields, is_verdict, outcome_of
from rollwise.readers.json_texts import lenient
from rollwise.readers.problems import BrokenError
from rollwise.readers.records import Small, inner, leftovers, parse
from rollwise.readers.sources.beside import bytes_beside
from rollwise.readers.sources.documents import Document
from rollwise.readers.table import Identity, TurnRow, TurnsBuilder
from rollwise.schema import BUDGET, SUCCESS

NAME = re.compile(r"(?P<name>.*?)_?search_steps\.jsonl?(\.gz|\.zst|\.bz2|\.xz)?", re.DOTALL)
MOST_BYTES = 1 << 20  # of a file with a prompt or an answer
HIT = 1.0  # share of flagged samples at which the search calls a prompt successful


class Step(msgspec.Struct):
    """One line: a step of the search, which tries several augmentations at once."""

    n: Small
    search_steps: list[Any]
    best_k: Small | None = None
    best_prompt: str | None = None


class Candidate(msgspec.Struct):
    """One augmented prompt."""

    n: Small
    k: Small
    asr: float | None = None
    augmentation: Any = None


def sniff(document: Document) -> bool:
    """Return whether the file holds steps of a search: lines with `n`, `best_k`, `best_asr` and `search_steps`."""
    return has_fields(document, "n", "best_k", "best_asr", "search_steps")


def read_best_of_n(document: Document, table: TurnsBuilder) -> None:
    r"""Read each augmented prompt as a rollout of one turn: an attempt at the file's one behavior.

    ========================= =============================================================================
    in the file               in the table
    ========================= =============================================================================
    hash of the content       `run`: the file has no name of its own
    run, `n`, `k`             `rollout_id`
    ``best-of-n``             `attack`
    folder of the file        `goal`, after the name of the data: each behavior has its folder
    order of `n` and `k`      `attempt`, from 1
    ``prompts/<n>/<k>/``      next to the file: `prompt.txt` is the `prompt`, the first of `lm_responses_*.json`
                              the `response`; without them, `best_prompt` is the prompt of `best_k`, and the
                              other texts are null
    `asr`                     `score`: share of samples that were flagged; `outcome` is success of the attack
                              where it is 1, else failure; null where it is null
    `augmentation`            columns ``augmentation_<name>``
    ========================= =============================================================================

    `ending` is success, else budget; `solved` is null. The prompts of one step are tried at once, and the search ends with
    the first step that has a hit: `rw.attempts` recognizes that, and refuses estimates that it rules out. A prompt whose
    call failed has `asr` 0.0 in the file, like one that was refused; only the folder `errors/` next to it shows the failure.

    The producer judges `stops_on_success`: there are no attempts after the step with the hit.

    Examples
    --------
    >>> from rollwise.readers.problems import Problems
    >>> log = b'''{"n": 0, "best_k": 1, "best_asr": 1.0, "best_prompt": "hOw tO", "search_steps": [
    ... {"n": 0, "k": 0, "asr": 0.0}, {"n": 0, "k": 1, "asr": 1.0, "augmentation": {"seed": 1}}]}'''
    >>> table = TurnsBuilder("best_of_n", Problems(), {})
    >>> read_best_of_n(Document(Path("/logs/7/direct_search_steps.jsonl"), log.replace(b"\n", b" ")), table)
    >>> table.frame().select("goal", "attempt", "prompt", "outcome").rows()
    [('direct/7', 1, None, 'failure'), ('direct/7', 2, 'hOw tO', 'success')]
    """
    run = f"best_of_n-{document.digest}"
    path = document.path.absolute()
    match = NAME.fullmatch(path.name)
    goal = "/".join(filter(None, ("" if match is None else match["name"], path.parent.name)))
    attempt = 0
    for number, value in document.records():
        with table.record(document.name, number):
            step = parse(value, Step)
            if not step.search_steps:
                table.problems.dropped(document.name, "holds no search steps", number)
            step_extras = {
                name: item
                for name, item in leftovers(value, Step).items()
                if name not in {"best_asr", "best_augmentation"}
            }
            for place, record in enumerate(step.search_steps):
                # Steps and their candidates are numbered from 0, in the order in which they were tried.
                attempt += 1
                facts = {"run": run, "attack": "best-of-n", "goal": goal or run, "attempt": attempt}
                where = f"search_steps[{place}]"
                with table.rollout(document.name, f"{number}.{where}", partial(_identity, run, record, facts)):
                    candidate = parse(record, Candidate, where)
                    folder = path.parent / "prompts" / str(candidate.n) / str(candidate.k)
                    # Without the folder of prompts, the file holds the text of the best candidate alone.
                    best = step.best_prompt if candidate.k == step.best_k else None
                    hit = None if candidate.asr is None else candidate.asr >= HIT
                    # The score is the share of samples that were flagged.
                    turn = TurnRow(
                        turn=1,
                        prompt=_text(folder / "prompt.txt", path.parent) or best,
                        response=_answer(folder, path.parent),
                        score=candidate.asr,
                        succeeded=hit,
                    )
                    augmentation = (
                        candidate.augmentation
                        if isinstance(candidate.augmentation, dict)
                        else {"value": candidate.augmentation}
                    )
                    table.add(
                        document.name,
                        f"{run}/{candidate.n}/{candidate.k}",
                        [turn],
                        {
                            **facts,
                            "ending": SUCCESS if hit else BUDGET,
                            "outcome": outcome_of(hit),
                        },
                        {
                            "step": candidate.n,
                            "candidate": candidate.k,
                            **{f"augmentation_{name}": item for name, item in augmentation.items()},
                            **leftovers(record, Candidate),
                            **step_extras,
                        },
                    )


def _identity(run: str, record: Any, facts: Mapping[str, Any]) -> Identity | None:
    """Return what can be read of a candidate that is broken; None where it has no numbers or no verdict."""
    step, place = inner(record, "n"), inner(record, "k")
    if type(step) is not int or type(place) is not int or not is_verdict(inner(record, "asr")):
        return None
    return f"{run}/{step}/{place}", facts


def _text(path: Path, folder: Path) -> str | None:
    """Return the content of a small text file near the log; null if it is missing."""
    data = bytes_beside(path, folder, most=MOST_BYTES)
    return None if data is None else data.decode("utf-8", "replace").replace("\r\n", "\n")


def _answer(folder: Path, log_folder: Path) -> str | None:
    """Return the first stored answer to a prompt; null where none can be read."""
    try:
        files = sorted(folder.glob("lm_responses_*.json")) if folder.is_dir() else []
    except OSError:
        return None
    text = _text(files[0], log_folder) if files else None
    try:
        answers = None if text is None else lenient(text.encode())[0]
    except BrokenError:
        return None
    first = answers[0] if isinstance(answers, list) and answers else None
    answer = first.get("completion") if isinstance(first, dict) else None
    return answer if isinstance(answer, str) else None
