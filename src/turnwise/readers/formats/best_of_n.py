"""The search of best-of-N jailbreaking: `<name>_search_steps.jsonl`, one file per behavior."""

import re
from pathlib import Path
from typing import Any

import msgspec

from turnwise.readers.problems import BrokenError
from turnwise.readers.records import Small, leftovers, parse
from turnwise.readers.sources.documents import Document
from turnwise.readers.sources.json_texts import lenient
from turnwise.readers.table import Table, Turn
from turnwise.schema import BUDGET, FAILURE, SUCCESS

NAME = re.compile(r"(?P<name>.*?)_?search_steps\.jsonl?(\.gz|\.zst)?", re.DOTALL)
MOST_BYTES = 1 << 20  # of a prompt or an answer beside the log
HIT = 1.0


class End(msgspec.Struct):
    """One line: a step of the search, which tries several augmentations at once."""

    n: Small
    search_steps: list[Any]
    best_k: Small | None = None
    best_prompt: str | None = None


class Tried(msgspec.Struct):
    """One augmented prompt."""

    n: Small
    k: Small
    asr: float | None = None
    augmentation: Any = None


def sniff(document: Document) -> bool:
    """Return whether the file holds steps of a search: lines with `n`, `best_k`, `best_asr` and `search_steps`."""
    return document.kind in {"lines", "json"} and {"n", "best_k", "best_asr", "search_steps"} <= document.keys


def read_best_of_n(document: Document, table: Table) -> None:
    r"""Each augmented prompt into a rollout of one turn: an attempt at the file's one behavior.

    ========================= =============================================================================
    in the file               in the table
    ========================= =============================================================================
    hash of the content       `run`: the file has no name of its own
    run, `n`, `k`             `rollout_id`
    ``best-of-n``             `attack`
    folder of the file        `goal`, with the name of the data before it: each behavior has its folder
    order of `n` and `k`      `attempt`, from 1
    ``prompts/<n>/<k>/``      beside the file: `prompt.txt` is the `prompt`, the first of `lm_responses_*.json`
                              the `response`; without them `best_prompt` is the prompt of `best_k`, all else
                              null
    `asr`                     `score`, share of samples that were flagged; `outcome` is success of the attack
                              where it is 1, else failure; null where it is null
    `augmentation`            columns ``augmentation_<name>``
    ========================= =============================================================================

    `ending` is success, else budget; `solved` is null. The prompts of one step are tried at once, and the search ends
    with the step in which one hits: `tw.attempts` sees that, and refuses what does not hold then. A prompt whose call
    failed has `asr` 0.0 in the file like one that was refused; only the file `errors/` beside it tells. Built from
    the fields of `EndOfStepResult` (almj/attacks/run_text_bon.py); the audio and image searches have other augmentations.

    The producer judges `stops_on_success`: attempts after the step that hit do not exist.

    Examples
    --------
    >>> from turnwise.readers.problems import Problems
    >>> log = b'''{"n": 0, "best_k": 1, "best_asr": 1.0, "best_prompt": "hOw tO", "search_steps": [
    ... {"n": 0, "k": 0, "asr": 0.0}, {"n": 0, "k": 1, "asr": 1.0, "augmentation": {"seed": 1}}]}'''
    >>> table = Table("best_of_n", Problems(), {})
    >>> read_best_of_n(Document(Path("/logs/7/direct_search_steps.jsonl"), log.replace(b"\n", b" ")), table)
    >>> table.frame().select("goal", "attempt", "prompt", "outcome").rows()
    [('direct/7', 1, None, 'failure'), ('direct/7', 2, 'hOw tO', 'success')]
    """
    run = f"best_of_n-{document.digest}"
    path = document.path.absolute()
    named = NAME.fullmatch(path.name)
    goal = "/".join(filter(None, ("" if named is None else named["name"], path.parent.name)))
    attempt = 0
    for number, value in document.records():
        with table.record(document.name, number):
            end = parse(value, End)
            if not end.search_steps:
                table.problems.left_out(document.name, number, "holds no search steps")
            rest = {
                name: item
                for name, item in leftovers(value, End).items()
                if name not in {"best_asr", "best_augmentation"}
            }
            tries = [(one, parse(one, Tried, f"search_steps[{at}]")) for at, one in enumerate(end.search_steps)]
            for one, tried in tries:
                attempt += 1
                folder = path.parent / "prompts" / str(tried.n) / str(tried.k)
                best = end.best_prompt if tried.k == end.best_k else None
                hit = None if tried.asr is None else tried.asr >= HIT
                turn = Turn(
                    turn=1,
                    prompt=_text(folder / "prompt.txt") or best,
                    response=_answer(folder),
                    score=tried.asr,
                    succeeded=hit,
                )
                given = tried.augmentation if isinstance(tried.augmentation, dict) else {"value": tried.augmentation}
                table.add(
                    document.name,
                    f"{run}/{tried.n}/{tried.k}",
                    [turn],
                    {
                        "run": run,
                        "attack": "best-of-n",
                        "goal": goal or run,
                        "attempt": attempt,
                        "ending": SUCCESS if hit else BUDGET,
                        "outcome": None if hit is None else SUCCESS if hit else FAILURE,
                    },
                    {
                        "step": tried.n,
                        "candidate": tried.k,
                        **{f"augmentation_{name}": item for name, item in given.items()},
                        **leftovers(one, Tried),
                        **rest,
                    },
                )


def _text(path: Path) -> str | None:
    """Return the content of a small text file beside the log; null if there is none."""
    try:
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            return None
        return path.read_text("utf-8", "replace")
    except OSError:
        return None


def _answer(folder: Path) -> str | None:
    try:
        found = sorted(folder.glob("lm_responses_*.json")) if folder.is_dir() else []
    except OSError:
        return None
    text = _text(found[0]) if found else None
    try:
        answers = None if text is None else lenient(text.encode())[0]
    except BrokenError:
        return None
    first = answers[0] if isinstance(answers, list) and answers else None
    answer = first.get("completion") if isinstance(first, dict) else None
    return answer if isinstance(answer, str) else None
