"""VERDICTS of a judge on TURNS: each distinct text is judged once, many at the same time."""

import time
from collections.abc import Collection, Container, Mapping
from dataclasses import fields
from operator import attrgetter
from pathlib import Path
from typing import TypeAlias

import msgspec
import polars as pl

from rollwise.errors import ArgumentError, RollwiseError, SchemaError, listing, message_of, type_and_message
from rollwise.jobs.calls import contained
from rollwise.jobs.progress import progress_bar
from rollwise.jobs.workers import Outcome, WorkerPool
from rollwise.judges.replies import SECRET
from rollwise.judges.store import VerdictStore, key_of
from rollwise.judges.texts import questions
from rollwise.judges.verdicts import TEXT, AnyJudge, Judge, Verdict, judge_of, sound, version_of
from rollwise.schema import VERDICTS
from rollwise.schema.arguments import frame_of
from rollwise.schema.coercion import with_keys
from rollwise.schema.labels import counted, say
from rollwise.schema.named import column_named, columns_named
from rollwise.schema.option_types import check_option_types

OUTCOME = {field.name: VERDICTS.dtypes[field.name] for field in fields(Verdict) if field.name in VERDICTS.names}
SCORES = "scores"  # several numbers by name, as JSON text, of a judge that gives them instead of one
_fields = attrgetter(*OUTCOME)
LOOK_AGAIN = 0.2  # seconds between two looks at a store for verdicts that another process is asking for
# The texts that the judge reads, by name, and the number of the sample.
_Request: TypeAlias = tuple[tuple[str, ...], int]


def judge(
    turns: object,
    judge: AnyJudge,
    *,
    column: str = TEXT,
    store: str | Path | None = None,
    max_concurrency: int = 16,
    timeout: float | None = None,
    progress: bool = True,
) -> pl.DataFrame:
    """Judge each answer in TURNS and return VERDICTS, one row per turn and sample.

    Turns with the same texts share one verdict. A turn whose text is null is not judged and has no row. A judgment that fails
    is a row whose `value` is null and whose `error` has the reason; the others continue, and the next call tries it again.

    Parameters
    ----------
    turns
        TURNS, of rollouts or of trees.
    judge
        `LLMJudgeMetric` (`Factuality`, `Harmfulness`, `AttackSuccess`, ...), any object that is a `Judge`, or a function, sync
        or async: its parameter `response`, or else its first, is the text; the others are columns of TURNS by their names. As
        LangSmith has them, `outputs` is the text, `inputs` the column `prompt`, `reference_outputs` the column `expected`. It
        gives a number, True or False, a word, a dict with ``score``, ``label`` and ``reasoning``, or None where it cannot say.
        A dict of other names holds several scores, numbers by name: each is a row, of the judge ``<judge>_<name>``.
    column
        The text to judge; ``"conversation"`` is the whole conversation up to and including each answer.
    store
        A folder that keeps verdicts by content: the same text is never judged twice with the same judge, template, parameters
        and sample number, in this run or any other. A function is known by its source, its defaults and what it closes over; give
        it an attribute ``version`` if its results depend on anything else, and change that with them.
    max_concurrency
        The number of judgments that run at the same time.
    timeout
        Time limit of one judgment in seconds, including all its calls.
    progress
        Whether to show a progress bar on stderr, and report at the end what came from the store. What failed is always said.

    Returns
    -------
    polars.DataFrame
        VERDICTS, in the order of `turns`. `judge` is the judge's name with a digest of its configuration.

    Raises
    ------
    ArgumentError
        Where the judge reads a column that is missing or does not hold text, or `store` cannot know what its verdicts depend on.
    SchemaError
        Where `turns` lacks the key columns of TURNS, or two rows have the same key.
    ReadError, WriteError
        Where `store` cannot be read or written to; it holds all verdicts up to then.

    Examples
    --------
    >>> turns = pl.DataFrame({"rollout_id": ["a", "a"], "turn": [1, 2], "response": ["No.", "Sure: first, ..."]})
    >>> judge(turns, lambda response: not response.startswith("No"), progress=False).select("turn", "value").rows()
    [(1, 0.0), (2, 1.0)]
    """
    check_option_types(_judge, locals(), "judge", own=("judge",))
    frame, checked_judge = with_keys(frame_of(turns, "judge"), "judge"), judge_of(judge)
    keys = [name for name in ("rollout_id", "turn", "node_id") if name in frame.columns]
    if keys[:2] != ["rollout_id", "turn"]:
        raise SchemaError(
            f"judge: the columns `rollout_id` and `turn` must be there (available: {listing(frame.columns)}); "
            "make TURNS of your table with `rw.turns(frame)`"
        )
    _check_keys(frame.select(columns_named(keys)))
    texts = questions(frame, checked_judge, column)
    outcomes = judged(
        texts, checked_judge, store=store, max_concurrency=max_concurrency, timeout=timeout, progress=progress
    )
    _say_doubts(checked_judge, outcomes)
    # A turn may have no verdict (no text) or several (samples), so keys are gathered by row.
    verdicts = frame.select(columns_named(keys))[outcomes["row"]].hstack(outcomes.drop("row"))
    verdicts = _by_score(verdicts, version_of(checked_judge))
    missing = (
        pl.lit(None, dtype).alias(name) for name, dtype in VERDICTS.dtypes.items() if name not in verdicts.columns
    )
    return verdicts.with_columns(missing).select(
        column_named(name).cast(dtype) for name, dtype in VERDICTS.dtypes.items()
    )


_judge = judge  # `judge` has a parameter of its name


def _by_score(verdicts: pl.DataFrame, version: str) -> pl.DataFrame:
    """Return the verdicts with their judge: a row for each score, where the judge gives several of them by name.

    A verdict that failed failed for each of the names that the others have.
    """
    several = [None if text is None else msgspec.json.decode(text) for text in verdicts[SCORES]]
    names = list(dict.fromkeys(name for scores in several for name in scores or ()))
    verdicts = verdicts.drop(SCORES)
    if not names:
        return verdicts.with_columns(pl.lit(version).alias("judge"))
    judge, at, digest = version.rpartition("@")
    parts = [
        verdicts.with_columns(
            pl.lit(f"{judge}_{name}{at}{digest}").alias("judge"),
            pl.Series("value", [(scores or {}).get(name) for scores in several], dtype=pl.Float64),
        ).with_row_index("__place")
        for name in names
    ]
    return pl.concat(parts).sort("__place", maintain_order=True).drop("__place")


def judged(
    questions: pl.DataFrame,
    judge: Judge,
    *,
    store: str | Path | None = None,
    max_concurrency: int = 16,
    timeout: float | None = None,
    progress: bool = False,
) -> pl.DataFrame:
    """Judge questions: `row`, `sample`, the fields of `Verdict`, and whether it was `cached`, for each question that has a text.

    `questions` holds the texts under the names that the judge uses, as returned by `texts.questions`.
    """
    if max_concurrency < 1:
        raise ArgumentError(
            f"judge: max_concurrency={max_concurrency!r}; give a whole number: at least one judgment must run at once"
        )
    if timeout is not None and timeout <= 0:
        raise ArgumentError(f"judge: timeout={timeout!r}; give seconds, more than 0, or None for no time limit")
    rows: list[tuple[int, int, str]] = []
    requests: dict[str, _Request] = {}  # by key: the same texts share one verdict
    names = sorted(questions.columns)
    has_text = questions[TEXT].is_not_null().to_list()
    for row, texts in enumerate(questions.select(columns_named(names)).iter_rows()):
        for sample in range(1, judge.samples + 1) if has_text[row] else ():
            rows.append((row, sample, key := key_of(texts, sample)))
            requests.setdefault(key, (texts, sample))
    verdict_store = None if store is None else VerdictStore(store, judge)
    verdicts = {} if verdict_store is None else verdict_store.verdicts(requests)
    # What the store holds is not asked again.
    waiting = {key: request for key, request in requests.items() if key not in verdicts}
    questions_sent: Collection[str] = waiting
    if waiting and verdict_store is None:
        verdicts = _ask_all(judge, names, waiting, None, max_concurrency, timeout, progress=progress)
    elif waiting and verdict_store is not None:
        # Opened here, before any call is paid for, so that a folder that is not writable costs nothing.
        with verdict_store:
            answers, questions_sent = _ask_missing(
                judge, names, waiting, verdict_store, max_concurrency, timeout, progress=progress
            )
            verdicts |= answers
    outcomes = _frame(rows, verdicts, questions_sent)
    if progress:
        _report(judge, outcomes, len(questions_sent))
    return outcomes


def _ask_missing(
    judge: Judge,
    names: list[str],
    requests: Mapping[str, _Request],
    store: VerdictStore,
    max_concurrency: int,
    time_limit: float | None,
    *,
    progress: bool,
) -> tuple[dict[str, Verdict], set[str]]:
    """Return the verdicts by key, and the keys that were asked for here and not by another process that shares the store."""
    verdicts, sent, is_waiting = dict[str, Verdict](), set[str](), False
    while waiting := {key: request for key, request in requests.items() if key not in verdicts}:
        with store.claim(waiting) as free:
            claimed = {key: waiting[key] for key in free}
            if claimed:
                verdicts |= _ask_all(judge, names, claimed, store, max_concurrency, time_limit, progress=progress)
        sent.update(claimed)
        verdicts |= store.verdicts(waiting.keys() - claimed.keys())
        # Another process is asking for the rest. What it cannot answer is asked for here in the next round.
        if unanswered := waiting.keys() - verdicts.keys():
            if progress and not is_waiting:
                say(f"{judge.name}: waiting for {counted(len(unanswered), 'verdict')} of another process")
            is_waiting = True
            time.sleep(LOOK_AGAIN)
    return verdicts, sent


def _check_keys(keys: pl.DataFrame) -> None:
    """Raise SchemaError for two turns with one key, before any call is paid for: their verdicts would be ambiguous."""
    if keys.hash_rows().n_unique() == keys.height:  # takes a third of the time of the exact check
        return
    for row in keys.filter(keys.is_duplicated()).head(1).iter_rows(named=True):
        key = ", ".join(f"{name} {value!r}" for name, value in row.items())
        raise SchemaError(f"judge: two turns are {key}; drop one, or give their rollouts different ids")


def _frame(rows: list[tuple[int, int, str]], verdicts: Mapping[str, Verdict], new: Container[str]) -> pl.DataFrame:
    """Return the outcome of each row, sample and key."""
    outcomes = pl.DataFrame([_fields(verdict) for verdict in verdicts.values()], schema=OUTCOME, orient="row")
    places = {key: place for place, key in enumerate(verdicts)}
    return pl.DataFrame(
        {"row": [row for row, _, _ in rows], "sample": [sample for _, sample, _ in rows]},
        schema={"row": pl.UInt32, "sample": VERDICTS.dtypes["sample"]},
    ).hstack(
        [
            *outcomes[[places[key] for _, _, key in rows]],
            pl.Series(SCORES, [_json(verdicts[key].scores) for _, _, key in rows], dtype=pl.String),
            pl.Series("cached", [key not in new for _, _, key in rows], dtype=pl.Boolean),
        ]
    )


def _json(scores: Mapping[str, float | None] | None) -> str | None:
    return None if scores is None else msgspec.json.encode(scores).decode()


def _ask_all(
    judge: Judge,
    names: list[str],
    requests: Mapping[str, _Request],
    store: VerdictStore | None,
    max_concurrency: int,
    time_limit: float | None,
    *,
    progress: bool,
) -> dict[str, Verdict]:
    """Return the verdicts by key."""
    keys, verdicts = list(requests), dict[str, Verdict]()
    secret = SECRET.get() if store is None else store.secret()

    async def ask(request: _Request) -> Verdict:
        texts, sample = request
        SECRET.set(secret)  # in the context of this task alone
        return sound(await contained(judge.verdict(dict(zip(names, texts, strict=True)), sample=sample)))

    with progress_bar(len(keys), judge.name, "verdict", visible=progress) as bar:

        def keep(outcomes: list[Outcome]) -> None:
            portion = {keys[outcome.position]: _verdict(outcome) for outcome in outcomes}
            verdicts.update(portion)
            # A failure is not stored, so the next run tries it again.
            if store is not None:
                store.keep({key: verdict for key, verdict in portion.items() if verdict.error is None})
            bar.update(len(outcomes))

        WorkerPool(ask, list(requests.values()), max_concurrency, timeout=time_limit).work(keep)
    return verdicts


def _verdict(outcome: Outcome) -> Verdict:
    """Return the verdict; where the judge failed, a verdict with the error."""
    if outcome.error is None:
        verdict: Verdict = outcome.result
        return verdict
    is_own = isinstance(outcome.error, RollwiseError)
    message = message_of(outcome.error) if is_own else ""
    return sound(Verdict(None, error=message or type_and_message(outcome.error)))


def _report(judge: Judge, outcomes: pl.DataFrame, num_asked: int) -> None:
    """Report how many judgments were asked for, and came from the store."""
    cached = int(outcomes["cached"].sum())
    if cached or not num_asked:
        say(f"{judge.name}: {counted(num_asked, 'judgment')} asked for, {counted(cached, 'verdict')} from the store")


def _say_doubts(judge: Judge, outcomes: pl.DataFrame) -> None:
    """Say how many verdicts have no check code, and how many judgments failed."""
    if num_unsigned := int((~outcomes["signed"]).sum()):
        say(f"{judge.name}: {unsigned_words(num_unsigned, outcomes.height)}")
    failed = outcomes.filter(pl.col("error").is_not_null())["error"]
    if len(failed):
        say(
            f"{judge.name}: {len(failed)} of {counted(outcomes.height, 'judgment')} failed and are null, the first one: "
            f"{failed[0]}"
        )


def unsigned_words(number: int, total: int) -> str:
    """Say that so many of all verdicts were accepted without a check code."""
    whose = "it is" if number == 1 else "they are"
    return f"{number:,} of {counted(total, 'verdict')} accepted without a check code, so nothing shows that {whose} the judge's own"
