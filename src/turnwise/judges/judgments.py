"""VERDICTS of a judge on TURNS: each distinct text is judged once, many at the same time."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import reduce
from numbers import Integral, Real
from operator import xor
from pathlib import Path
from typing import Any

import polars as pl

from turnwise.errors import ArgumentError, SchemaError, TurnwiseError, listing
from turnwise.jobs.calls import complete
from turnwise.judges.store import OUTCOME, VerdictStore, place_of
from turnwise.judges.texts import questions
from turnwise.judges.verdicts import TEXT, AnyJudge, Judge, Verdict, judge_of, sound, version_of
from turnwise.schema import VERDICTS
from turnwise.schema.arguments import frame_of
from turnwise.schema.labels import counted, say

_KEY, _SUFFIX = "__key", "__known"
SYNC_EVERY = 0.25  # seconds between two syncs of the log to the disk


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

    Turns with the same texts share one verdict. A turn whose text is null is not judged and has no row. A judgement that fails
    is a row whose `value` is null and whose `error` has the reason; the others go on, and the next call tries it again.

    Parameters
    ----------
    turns
        TURNS, of rollouts or of trees.
    judge
        `LLMJudgeMetric` (`Factuality`, `Harmfulness`, `AttackSuccess`, ...), any object that is a `Judge`, or a function, sync
        or async: its parameter `response`, or else its first, is the text; the others are columns of TURNS by their names. As
        LangSmith has them, `outputs` is the text, `inputs` the column `prompt`, `reference_outputs` the column `expected`. It
        gives a number, True or False, a word, a dict with ``score``, ``label`` and ``reasoning``, or None where it cannot say.
    column
        The text to judge; ``"conversation"`` is the whole conversation up to and including each answer.
    store
        A folder that keeps verdicts by content: the same text is never judged twice with the same judge, template, parameters
        and sample number, in this run or any other.
    max_concurrency
        The number of judgements that run at the same time.
    timeout
        Time limit of one judgement in seconds, including all its calls.
    progress
        Whether to show a progress bar on stderr, and report at the end what came from the store and what failed.

    Returns
    -------
    polars.DataFrame
        VERDICTS, in the order of `turns`. `judge` is the judge's name with a digest of its configuration.

    Raises
    ------
    ArgumentError
        Where the judge reads a column that is missing or does not hold text.
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
    frame, checked_judge = frame_of(turns, "judge"), judge_of(judge)
    keys = [name for name in ("rollout_id", "turn", "node_id") if name in frame.columns]
    if keys[:2] != ["rollout_id", "turn"]:
        raise SchemaError(
            f"judge: the columns `rollout_id` and `turn` must be there (there is {listing(frame.columns)}); "
            "make TURNS of your table with `tw.turns(frame)`"
        )
    _check_keys(frame.select(keys))
    texts = questions(frame, checked_judge, column)
    outcomes = judged(
        texts, checked_judge, store=store, max_concurrency=max_concurrency, timeout=timeout, progress=progress
    )
    verdicts = frame.select(keys)[outcomes["row"]].hstack(outcomes.drop("row"))
    verdicts = verdicts.with_columns(pl.lit(version_of(checked_judge)).alias("judge"))
    missing = (
        pl.lit(None, dtype).alias(name) for name, dtype in VERDICTS.dtypes.items() if name not in verdicts.columns
    )
    return verdicts.with_columns(missing).select(pl.col(name).cast(dtype) for name, dtype in VERDICTS.dtypes.items())


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
    limit: object = max_concurrency
    if not isinstance(limit, Integral) or int(limit) < 1:
        raise ArgumentError(
            f"judge: max_concurrency={max_concurrency!r}; give a whole number: at least one judgement must run at once"
        )
    seconds: object = timeout
    if seconds is not None and not (isinstance(seconds, Real) and float(seconds) > 0):
        raise ArgumentError(f"judge: timeout={timeout!r}; give seconds, more than 0, or None for no time limit")
    texts = [place_of(name) for name in questions.columns]
    samples = pl.DataFrame({"sample": range(1, judge.samples + 1)}, schema={"sample": VERDICTS.dtypes["sample"]})
    rows = questions.rename(place_of).with_row_index("row").filter(pl.col(place_of(TEXT)).is_not_null())
    requests = rows.join(samples, how="cross", maintain_order="left_right")
    # First answer what the store knows; then judge each distinct remaining text once, and join again.
    with ExitStack() as stack:
        verdict_store = None if store is None else stack.enter_context(VerdictStore(store, judge))
        answers = _no_answers(texts) if verdict_store is None else verdict_store.verdicts().with_columns(cached=True)
        outcomes = _joined(requests, answers, texts)
        unanswered = outcomes.filter(pl.col("cached").is_null()).select(*texts, "sample").unique(maintain_order=True)
        if unanswered.height:
            if verdict_store is not None:
                verdict_store.ready()  # fails here, before any call is paid for, if the folder is not writable
            pending = _ask_all(
                judge, questions.columns, unanswered, verdict_store, max_concurrency, timeout, progress=progress
            )
            replies = complete(pending)
            verdicts = pl.DataFrame([_row(verdict) for verdict in replies], schema=OUTCOME, orient="row")
            answers = pl.concat([answers, unanswered.hstack(verdicts).with_columns(cached=False)], how="diagonal")
            outcomes = _joined(requests, answers, texts)
    if progress:
        _report(judge, outcomes, unanswered.height)
    return outcomes.drop(texts)


def _check_keys(keys: pl.DataFrame) -> None:
    """Raise SchemaError for two turns with one key, before any call is paid for: their verdicts would be ambiguous."""
    if keys.hash_rows().n_unique() == keys.height:  # takes a third of the time of the exact check
        return
    for row in keys.filter(keys.is_duplicated()).head(1).iter_rows(named=True):
        key = ", ".join(f"{name} {value!r}" for name, value in row.items())
        raise SchemaError(f"judge: two turns are {key}; drop one, or give their rollouts different ids")


def _no_answers(texts: list[str]) -> pl.DataFrame:
    """Return an empty frame of answers."""
    return pl.DataFrame(
        schema={**dict.fromkeys(texts, pl.String), "sample": VERDICTS.dtypes["sample"], **OUTCOME, "cached": pl.Boolean}
    )


def _joined(requests: pl.DataFrame, answers: pl.DataFrame, texts: list[str]) -> pl.DataFrame:
    """Join requests with answers by a hash of the texts, three times as fast as by the texts themselves."""
    by = [*texts, "sample"]
    key = reduce(xor, [pl.col(name).hash(seed) for seed, name in enumerate(by)]).alias(_KEY)
    joined = requests.with_columns(key).join(
        answers.with_columns(key), on=_KEY, how="left", maintain_order="left", suffix=_SUFFIX
    )
    # The texts are compared afterwards, so a hash collision cannot give a text the verdict of a different one.
    same = pl.all_horizontal(pl.col(name) == pl.col(f"{name}{_SUFFIX}") for name in by)
    if joined.height == requests.height and joined.select((same | pl.col("cached").is_null()).all()).item():
        return joined.drop(_KEY, *(f"{name}{_SUFFIX}" for name in by))
    return requests.join(answers, on=by, how="left", maintain_order="left")  # two texts have the same hash


async def _ask_all(
    judge: Judge,
    names: list[str],
    questions: pl.DataFrame,
    store: VerdictStore | None,
    max_concurrency: int,
    time_limit: float | None,
    *,
    progress: bool,
) -> list[Verdict]:
    """Return the verdicts on the questions, in their order."""
    verdicts: list[Verdict] = [Verdict(None)] * questions.height
    # All workers share this iterator. They run on one event loop and take a row without awaiting, so it needs no lock.
    rows = enumerate(questions.iter_rows())
    with _bar(judge.name, questions.height, progress=progress) as count:

        async def work(rows: Iterator[tuple[int, tuple[Any, ...]]]) -> None:
            for index, (*row_texts, sample) in rows:
                texts = dict(zip(names, row_texts, strict=True))
                verdicts[index] = await _verdict(judge, texts, sample, time_limit)
                # A failure is not stored, so the next run tries it again.
                if store is not None and verdicts[index].error is None:
                    store.keep(texts, sample, verdicts[index])
                count()

        # The log is synced in the background: workers do not wait for the disk after each verdict.
        syncing = asyncio.create_task(_sync_regularly(store))
        try:
            await asyncio.gather(*(work(rows) for _ in range(min(max_concurrency, questions.height))))
        finally:
            syncing.cancel()
            with suppress(asyncio.CancelledError):
                await syncing
    return verdicts


@contextmanager
def _bar(name: str, total: int, *, progress: bool) -> Iterator[Callable[[], object]]:
    """Yield a function to call after each verdict, which moves the progress bar."""
    if not progress:
        yield lambda: None
        return
    from tqdm.auto import tqdm

    with tqdm(total=total, desc=name, unit="verdict", disable=None) as bar:
        yield bar.update


async def _sync_regularly(store: VerdictStore | None) -> None:
    """Sync the log to the disk at intervals, in a thread, as a sync would block the event loop."""
    while store is not None:
        await asyncio.sleep(SYNC_EVERY)
        await asyncio.to_thread(store.sync)


async def _verdict(judge: Judge, texts: Mapping[str, str], sample: int, time_limit: float | None) -> Verdict:
    """Return one verdict; where the judge fails, a verdict with the error."""
    try:
        async with asyncio.timeout(time_limit) as limit:
            return sound(await judge.verdict(texts, sample=sample))
    except TimeoutError as error:
        # The judge's own client may raise TimeoutError too; `expired` tells them apart.
        reason = f"no verdict within {time_limit:g} s" if limit.expired() else f"TimeoutError: {error}"
    except TurnwiseError as error:
        reason = str(error)
    except Exception as error:  # noqa: BLE001  # any error of a judge is recorded as the error of the verdict
        reason = f"{type(error).__name__}: {error}"
    return sound(Verdict(None, error=reason))


def _row(verdict: Verdict) -> tuple[Any, ...]:
    return tuple(getattr(verdict, name) for name in OUTCOME)


def _report(judge: Judge, outcomes: pl.DataFrame, num_asked: int) -> None:
    """Report how many judgements were asked for, came from the store, and failed."""
    cached = int(outcomes["cached"].sum())
    if cached or not num_asked:
        say(f"{judge.name}: {counted(num_asked, 'judgement')} asked for, {counted(cached, 'verdict')} from the store")
    failed = outcomes.filter(pl.col("error").is_not_null())["error"]
    if len(failed):
        say(
            f"{judge.name}: {len(failed)} of {counted(outcomes.height, 'judgement')} failed and are null, the first one: "
            f"{failed[0]}"
        )
