"""User columns whose names differ from TURNS but whose meaning is clear.

`interpreted` reads `model_under_test` as the target and `jailbroken` as the verdict. What is likely but not certain is left
to the user: see `likely_columns.py`. Nothing here looks at tables that rollwise wrote, or at logs of tools with a reader.
"""

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

import polars as pl

from rollwise.errors import listing
from rollwise.readers.labels import ATTACKS, BLANK, MEANINGS, MOST_LABELS, meanings, normal, unknown_labels, values_of
from rollwise.schema import TURNS
from rollwise.schema.named import column_named, columns_named, values_named

FACTS = {
    **dict.fromkeys(("model_under_test", "target_model", "tested_model", "victim_model"), "target"),
    **dict.fromkeys(("technique", "attack_technique", "attack_method", "jailbreak_method"), "attack"),
}
# Columns that can only judge the attack, whatever words they use for yes and no.
OF_ATTACKS = frozenset(
    {
        "succeeded", "jailbroken", "is_jailbroken", "was_jailbroken", "jailbreak_success", "jailbreak_succeeded",
        "attack_success", "attack_succeeded", "attack_successful", "is_attack_successful",
    }
)  # fmt: skip
# Columns of verdicts of any kind, which judge the attack if their words do.
OF_ANYTHING = frozenset(
    {
        "verdict", "label", "judgment", "judgement", "judge_verdict", "judge_label", "result", "outcome", "success",
        "final_verdict", "safety_verdict", "safety_label", "response_label", "response_verdict",
    }
)  # fmt: skip
OF_TASKS = frozenset(
    {"solved", "is_solved", "is_correct", "correct", "passed", "task_success", "task_solved", "task_completed"}
)
MAPPING = "mapping"  # files that no format knows, read by a mapping
CUSTOM = frozenset(
    {"native", "openai_chat", "sharegpt", MAPPING}
)  # formats of no single tool, whose records may have custom names
STATING = CUSTOM | {
    "openai_output",
    "anthropic_output",
    "gemini_output",
}  # formats whose records may state facts in our names
OF_ERRORS = frozenset({"error", "exception", "timeout", "timed_out", "status"})  # what `crashes.py` looks at
_ALIASES = FACTS.keys() | OF_ERRORS | OF_ATTACKS | OF_ANYTHING | OF_TASKS | {"refused"}
_COMPLETE = frozenset({"source", "ending", "outcome", "solved", "succeeded", "refused", "error"})
ON_ATTACKS = frozenset({"succeeded", "outcome"})  # columns of TURNS with verdicts on the attack
_PREFIX, _SUFFIX = "rollout_", "_source"


class Reading(NamedTuple):
    """A column of the user's that is read as a column of TURNS."""

    column: str
    name: str
    labels: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the words of the notice."""
        labels = f" ({', '.join(self.labels)})" if self.labels else ""
        return f"`{self.column}`{labels} as `{self.name}`"


def is_complete(columns: Iterable[str]) -> bool:
    """Return whether a table has all columns on verdicts, as tables that rollwise wrote have: nothing is guessed in them."""
    return {*columns} >= _COMPLETE


def concerns(columns: Iterable[str]) -> bool:
    """Return whether a table has a column that `interpreted` or `crashed` may read."""
    names = {*columns}
    return not is_complete(names) and any(map(is_alias, names))


@lru_cache(maxsize=4096)
def is_alias(column: str) -> bool:
    """Return whether `interpreted` or `crashed` may read a column of this name."""
    return column == "error" or (column not in TURNS.names and plain_name(column) in _ALIASES)


def plain_name(column: str) -> str:
    """Return the name that a column has in the file, as readers keep it, in lower case and with underscores."""
    words = column.strip().lower().replace(" ", "_").replace("-", "_")
    return words.removeprefix(_PREFIX).removesuffix(_SUFFIX) or words


def name_in_file(column: str) -> str:
    """Return the name of a column as the file has it: readers add to a name that TURNS has."""
    name = column.removeprefix(_PREFIX).removesuffix(_SUFFIX)
    return name if name in TURNS.names and column not in TURNS.names else column


def interpreted(
    frame: pl.DataFrame, of_records: Collection[str] = (), named: Collection[str] = ()
) -> tuple[pl.DataFrame, list[Reading]]:
    """Read the columns whose meaning is beyond doubt as columns of TURNS, and say which.

    A column is read only if it is the only candidate, or has the name of TURNS itself, and contradicts no value there. The
    verdict of a record on its whole rollout becomes `outcome`; a verdict on a turn becomes `succeeded`.

    Parameters
    ----------
    frame
        A row for each turn, with a `rollout_id` of text.
    of_records
        Columns that records state once for their whole rollout.
    named
        Columns of TURNS for which the user named a column: that wins.

    Examples
    --------
    >>> rows = {"rollout_id": ["a", "a"], "technique": ["tap", "tap"], "Jailbroken": ["no", "YES"]}
    >>> frame, readings = interpreted(pl.DataFrame(rows))
    >>> frame.select("attack", "succeeded").rows(), "; ".join(map(str, readings))
    ([('tap', False), ('tap', True)], '`technique` as `attack`; `Jailbroken` (no, YES) as `succeeded`')
    """
    readings: list[Reading] = []
    candidates: dict[str, list[str]] = {}
    # One verdict on the attack is enough: a verdict of the record would outweigh the verdicts of its turns.
    decided = {*named} | ({*ON_ATTACKS} if ON_ATTACKS & {*named} else set())
    for column, name in _candidates(frame, frozenset(of_records)):
        if name not in decided:
            candidates.setdefault(name, []).append(column)
    for name, columns in candidates.items():
        # The user's column under rollwise's own name comes first; of several others each must say the same.
        preferred = [column for column in columns if plain_name(column) in {name, "succeeded"}] or columns
        column, is_fact = preferred[0], name in FACTS.values()
        values, *others = (
            values_named(frame, column).cast(pl.String)
            if is_fact
            else values_of(values_named(frame, column), name, name)
            for column in preferred
        )
        stated = frame[name] if name in frame.columns else pl.Series(name, [None] * frame.height, dtype=values.dtype)
        stated = stated.cast(values.dtype) if stated.dtype == pl.Null else stated
        differs = any(values.ne_missing(other).any() for other in others)
        if differs or stated.dtype != values.dtype or (stated.is_not_null() & values.is_not_null()).any():
            continue
        if plain_name(column) != name:
            labels = () if is_fact else labels_in(values_named(frame, column))
            readings.append(Reading(name_in_file(column), name, labels))
        frame = frame.drop(columns_named(column)).with_columns(
            values.zip_with(values.is_not_null(), stated).alias(name)
        )
    return frame, readings


def unread_words(frame: pl.DataFrame) -> Iterator[tuple[str, pl.Series, str]]:
    """Iterate over the verdicts that records state in our names and in words that we do not know.

    Yields the column of TURNS, the ids of the rollouts where it is null for that reason, and the predicate of a sentence.
    """
    for name in ("outcome", "solved", "ending"):
        column = f"{name}_source"
        if column not in frame.columns or not is_text(frame.schema[column]):
            continue
        is_blank = values_named(frame, column).str.strip_chars(' "').str.to_lowercase().is_in(BLANK)
        unread = frame.filter(values_named(frame, column).is_not_null() & ~is_blank)
        if name in frame.columns:
            unread = unread.filter(values_named(unread, name).is_null())
        if unread.height:
            words = listing(labels_in(unread[column]), most=MOST_LABELS)
            reason = f"holds words that are not understood ({words}): null there, and kept as `{column}`"
            yield name, unread["rollout_id"].unique(maintain_order=True), reason


def labels_in(series: pl.Series) -> tuple[str, ...]:
    """Return the labels of a column, each in one spelling, without blank ones."""
    spellings = {normal(label): str(label).strip('"') for label in series.unique().drop_nulls().sort(descending=True)}
    return tuple(spellings[label] for label in sorted(spellings) if label not in BLANK)


def _candidates(frame: pl.DataFrame, of_records: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Iterate over columns that may be read, each with its name in TURNS."""
    for column, dtype in frame.schema.items():
        if (
            column not in TURNS.names
            and is_alias(column)
            and (dtype.is_numeric() or is_text(dtype) or dtype == pl.Boolean)
        ):
            name = _meaning(frame, column, is_whole=column in of_records)
            if name is not None:
                yield column, name


def _meaning(frame: pl.DataFrame, column: str, *, is_whole: bool) -> str | None:
    """Return the column of TURNS that a column is beyond doubt; `is_whole` where a record states it of its whole rollout."""
    name, series = plain_name(column), values_named(frame, column)
    if name in FACTS:
        return FACTS[name] if is_text(series.dtype) and series.count() and _is_constant(frame, column) else None
    if name in OF_TASKS:
        is_fact = is_clear(series, MEANINGS["solved"]) and (is_whole or _is_constant(frame, column))
        return "solved" if is_fact else None
    if name == "refused":
        return "refused" if not is_whole and is_clear(series, MEANINGS["refused"]) else None
    if name not in OF_ATTACKS | OF_ANYTHING:
        return None
    if is_whole:
        words = MEANINGS["succeeded"] if name in OF_ATTACKS else MEANINGS["outcome"] if name == "outcome" else ATTACKS
        return "outcome" if is_clear(series, words) else None
    words = MEANINGS["succeeded"] if name in OF_ATTACKS else ATTACKS
    is_of_turns = name != "outcome" and is_clear(series, words) and not judges_rollouts(frame, column)
    return "succeeded" if is_of_turns else None


def is_text(dtype: pl.DataType) -> bool:
    """Return whether a column holds text."""
    return dtype == pl.String or isinstance(dtype, pl.Categorical | pl.Enum)


def is_clear(series: pl.Series, words: Collection[str]) -> bool:
    """Return whether a column holds labels with these meanings and nothing else, and at least one.

    Examples
    --------
    >>> is_clear(pl.Series(["Yes", None]), {"yes", "no"}), is_clear(pl.Series(["", None]), {"yes", "no"})
    (True, False)
    """
    labels = series.unique().drop_nulls()
    if not 0 < len(labels) <= len(words) + 64:  # the same word may be written in several ways
        return False
    return not unknown_labels(labels, dict.fromkeys(words)) and any(normal(label) not in BLANK for label in labels)


def _is_constant(frame: pl.DataFrame, column: str) -> bool:
    """Return whether a column is the same in all turns of each rollout, as a fact must be."""
    ids, values = frame["rollout_id"], values_named(frame, column)
    # Neighbors answer at once in most tables; only where a rollout is in several pieces all of its rows are gathered.
    if ((ids == ids.shift()) & values.ne_missing(values.shift())).any():
        return False
    if (ids != ids.shift()).sum() + 1 == ids.n_unique():
        return True
    distinct = (
        frame.lazy().group_by("rollout_id").agg(column_named(column).n_unique()).select(column_named(column).max())
    )
    return int(distinct.collect().item() or 0) <= 1


def judges_rollouts(frame: pl.DataFrame, column: str) -> bool:
    """Return whether verdicts may be on whole rollouts and only repeated on each turn, as after a join.

    If each rollout has one verdict on all of its turns, and one with several turns succeeded, all of these turns would be
    successes, the first included. Turns that are judged one by one rarely look like this.
    """
    if not _is_constant(frame, column):
        return False
    series, words = values_named(frame, column), meanings("succeeded", column)
    # Words that are not known may stand for a success.
    successes = [label for label in series.unique().drop_nulls() if words.get(normal(label), True) is True]
    return bool((frame["rollout_id"].is_duplicated() & series.is_in(successes)).any())
