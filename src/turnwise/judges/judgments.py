"""TURNS -> VERDICTS: a judge asked about every answer, each distinct text once, many at the same time."""

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

_KEY, _KNOWN = "__key", "__known"
SYNC_EVERY = 0.25  # seconds between two times that the log is forced to the disk


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
    """VERDICTS: what a judge says of each answer in TURNS, one row for each turn and sample.

    Turns with the same texts share one verdict. A turn whose text is null is not judged and has no row. A judgement that fails
    is a row whose `value` is null and whose `error` says why; it stops nothing, and is asked again the next time.

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
        What is judged; ``"conversation"`` is all that was said up to and with each answer.
    store
        A folder in which verdicts are kept by the content of what was judged: the same text, judge, template, parameters and
        sample are never asked twice, in this run or any other.
    max_concurrency
        How many judgements are under way at the same time.
    timeout
        Seconds that one judgement may take, all its calls together.
    progress
        Whether to show a progress bar on stderr, and to say at the end what came from the store and what failed.

    Returns
    -------
    polars.DataFrame
        VERDICTS, in the order of `turns`. `judge` is the judge's name with a digest of its configuration.

    Raises
    ------
    ArgumentError
        Where the judge reads a column that is not there, or is no text.
    SchemaError
        Where `turns` lacks the keys of TURNS, or two rows have the same.
    ReadError, WriteError
        Where `store` cannot be read or written to; what was said until then is in it.

    Examples
    --------
    >>> turns = pl.DataFrame({"rollout_id": ["a", "a"], "turn": [1, 2], "response": ["No.", "Sure: first, ..."]})
    >>> judge(turns, lambda response: not response.startswith("No"), progress=False).select("turn", "value").rows()
    [(1, 0.0), (2, 1.0)]
    """
    frame, who = frame_of(turns, "judge"), judge_of(judge)
    keys = [name for name in ("rollout_id", "turn", "node_id") if name in frame.columns]
    if keys[:2] != ["rollout_id", "turn"]:
        raise SchemaError(
            f"judge: the columns `rollout_id` and `turn` must be there (there is {listing(frame.columns)}); "
            "make TURNS of your table with `tw.turns(frame)`"
        )
    _refuse_twice(frame.select(keys))
    asked = questions(frame, who, column)
    found = judged(asked, who, store=store, max_concurrency=max_concurrency, timeout=timeout, progress=progress)
    told = frame.select(keys)[found["row"]].hstack(found.drop("row"))
    told = told.with_columns(pl.lit(version_of(who)).alias("judge"))
    missing = (pl.lit(None, dtype).alias(name) for name, dtype in VERDICTS.dtypes.items() if name not in told.columns)
    return told.with_columns(missing).select(pl.col(name).cast(dtype) for name, dtype in VERDICTS.dtypes.items())


def judged(
    questions: pl.DataFrame,
    judge: Judge,
    *,
    store: str | Path | None = None,
    max_concurrency: int = 16,
    timeout: float | None = None,
    progress: bool = False,
) -> pl.DataFrame:
    """The `row` of each question that has a text, for each sample, the fields of `Verdict`, and whether it came from the store.

    `questions` has the texts by the names that the judge knows, as `texts.questions` makes them.
    """
    at_once: object = max_concurrency
    if not isinstance(at_once, Integral) or int(at_once) < 1:
        raise ArgumentError(
            f"judge: max_concurrency={max_concurrency!r}; give a whole number: at least one judgement must run at once"
        )
    patience: object = timeout
    if patience is not None and not (isinstance(patience, Real) and float(patience) > 0):
        raise ArgumentError(f"judge: timeout={timeout!r}; give seconds, more than 0, or None for as long as it takes")
    texts = [place_of(name) for name in questions.columns]
    samples = pl.DataFrame({"sample": range(1, judge.samples + 1)}, schema={"sample": VERDICTS.dtypes["sample"]})
    there = questions.rename(place_of).with_row_index("row").filter(pl.col(place_of(TEXT)).is_not_null())
    asked = there.join(samples, how="cross", maintain_order="left_right")
    with ExitStack() as stack:
        kept = None if store is None else stack.enter_context(VerdictStore(store, judge))
        known = _none(texts) if kept is None else kept.kept().with_columns(cached=True)
        found = _joined(asked, known, texts)
        fresh = found.filter(pl.col("cached").is_null()).select(*texts, "sample").unique(maintain_order=True)
        if fresh.height:
            if kept is not None:
                kept.ready()
            work = _said(judge, questions.columns, fresh, kept, max_concurrency, timeout, progress=progress)
            said = complete(work)
            verdicts = pl.DataFrame([_row(each) for each in said], schema=OUTCOME, orient="row")
            known = pl.concat([known, fresh.hstack(verdicts).with_columns(cached=False)], how="diagonal")
            found = _joined(asked, known, texts)
    if progress:
        _tell(judge, found, fresh.height)
    return found.drop(texts)


def _refuse_twice(keys: pl.DataFrame) -> None:
    """Refuse two turns of one key before anything is paid for: their verdicts could not be told apart."""
    if keys.hash_rows().n_unique() == keys.height:  # a third of the time
        return
    for row in keys.filter(keys.is_duplicated()).head(1).iter_rows(named=True):
        named = ", ".join(f"{name} {value!r}" for name, value in row.items())
        raise SchemaError(f"judge: two turns are {named}; drop one, or give their rollouts different ids")


def _none(texts: list[str]) -> pl.DataFrame:
    """No verdict."""
    return pl.DataFrame(
        schema={**dict.fromkeys(texts, pl.String), "sample": VERDICTS.dtypes["sample"], **OUTCOME, "cached": pl.Boolean}
    )


def _joined(asked: pl.DataFrame, known: pl.DataFrame, texts: list[str]) -> pl.DataFrame:
    """Join questions with known answers: by a hash of the texts, three times as fast as by text, then compared."""
    by = [*texts, "sample"]
    key = reduce(xor, [pl.col(name).hash(seed) for seed, name in enumerate(by)]).alias(_KEY)
    found = asked.with_columns(key).join(
        known.with_columns(key), on=_KEY, how="left", maintain_order="left", suffix=_KNOWN
    )
    same = pl.all_horizontal(pl.col(name) == pl.col(f"{name}{_KNOWN}") for name in by)
    if found.height == asked.height and found.select((same | pl.col("cached").is_null()).all()).item():
        return found.drop(_KEY, *(f"{name}{_KNOWN}" for name in by))
    return asked.join(known, on=by, how="left", maintain_order="left")  # two texts of one hash


async def _said(
    judge: Judge,
    names: list[str],
    questions: pl.DataFrame,
    store: VerdictStore | None,
    max_concurrency: int,
    patience: float | None,
    *,
    progress: bool,
) -> list[Verdict]:
    """The verdicts on the questions, in their order."""
    said: list[Verdict] = [Verdict(None)] * questions.height
    rows = enumerate(questions.iter_rows())
    with _bar(judge.name, questions.height, progress=progress) as count:

        async def work(rows: Iterator[tuple[int, tuple[Any, ...]]]) -> None:
            for at, (*told, sample) in rows:
                texts = dict(zip(names, told, strict=True))
                said[at] = await _one(judge, texts, sample, patience)
                if store is not None and said[at].error is None:
                    store.keep(texts, sample, said[at])
                count()

        syncing = asyncio.create_task(_synced(store))
        try:
            await asyncio.gather(*(work(rows) for _ in range(min(max_concurrency, questions.height))))
        finally:
            syncing.cancel()
            with suppress(asyncio.CancelledError):
                await syncing
    return said


@contextmanager
def _bar(name: str, total: int, *, progress: bool) -> Iterator[Callable[[], object]]:
    """Return the callback for each verdict that moves a progress bar."""
    if not progress:
        yield lambda: None
        return
    from tqdm.auto import tqdm

    with tqdm(total=total, desc=name, unit="verdict", disable=None) as bar:
        yield bar.update


async def _synced(store: VerdictStore | None) -> None:
    """Force the log to the disk now and then, in a thread, as it takes a while."""
    while store is not None:
        await asyncio.sleep(SYNC_EVERY)
        await asyncio.to_thread(store.sync)


async def _one(judge: Judge, texts: Mapping[str, str], sample: int, patience: float | None) -> Verdict:
    """One verdict, or why there is none."""
    try:
        async with asyncio.timeout(patience) as limit:
            return sound(await judge.verdict(texts, sample=sample))
    except TimeoutError as error:
        why = f"no verdict within {patience:g} s" if limit.expired() else f"TimeoutError: {error}"
    except TurnwiseError as error:
        why = str(error)
    except Exception as error:  # noqa: BLE001  # whatever a judge raises is why there is no verdict
        why = f"{type(error).__name__}: {error}"
    return sound(Verdict(None, error=why))


def _row(verdict: Verdict) -> tuple[Any, ...]:
    return tuple(getattr(verdict, name) for name in OUTCOME)


def _tell(judge: Judge, found: pl.DataFrame, asked: int) -> None:
    """Say what was asked, what came from the store, and what failed."""
    cached = int(found["cached"].sum())
    if cached or not asked:
        say(f"{judge.name}: {counted(asked, 'judgement')} asked for, {counted(cached, 'verdict')} from the store")
    failed = found.filter(pl.col("error").is_not_null())["error"]
    if len(failed):
        say(
            f"{judge.name}: {len(failed)} of {counted(found.height, 'judgement')} failed and are null, the first one: "
            f"{failed[0]}"
        )
