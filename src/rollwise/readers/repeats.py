"""One place that decides what two records of one id mean, for every format.

- A copy that says the same counts once.
- A later version counts instead of an earlier one: the times of their files say so, or the other has neither an answer nor
  a verdict, or is the beginning of it, as in a file that was half written.
- Verdicts on one conversation that differ are unknown: null, and a problem.
- Two conversations are not one rollout, whatever their id: the first is read, and the other is a broken record, which is
  missing and not safe. Where problems are raised, the error asks for `run`, or for another id.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rollwise.readers.files_beside import OWN_IDS, some
from rollwise.readers.problems import LEAVE, BrokenError, Problems
from rollwise.readers.versions import Version, Versions
from rollwise.schema import ERROR, TURNS, UNDETERMINED

SAID = ("turn", "context", "prompt", "response", "observation", "tool_calls")  # what makes a conversation
ABOUT = ("run", "target", "attack", "goal", "task", "category", "attempt", "expected")  # what tells rollouts apart
OF_TASKS = tuple(name for name in ABOUT if name not in {"run", "attempt"})  # which do not follow from the file
VERDICTS = frozenset({"outcome", "solved", "succeeded", "score", "reward"})  # which are never either of two
UNJUDGED = frozenset({ERROR, UNDETERMINED})  # outcomes that are no verdict
OF_TURNS = frozenset(TURNS.names) - {*TURNS.facts}
OF_CONTENT = re.compile(r".*-[0-9a-f]{8}", re.DOTALL)  # a run that its file does not name
SHOWN = 3  # columns in a sentence
REPEATS, SUPERSEDED, ANOTHER = "repeats", "superseded", "another"

Row = Mapping[str, Any]


class Decision(NamedTuple):
    """What two versions of one rollout mean.

    Attributes
    ----------
    is_second
        Whether the second of them counts.
    kind
        Why the other does not: it `repeats`, is `superseded`, or is `another` conversation.
    reason
        What says which is the later.
    unknown
        Columns in which they contradict each other, each with the numbers of these turns.
    """

    is_second: bool
    kind: str
    reason: str = ""
    unknown: Mapping[str, Sequence[int]] = {}


def settle(
    later: Mapping[str, Sequence[Version]],
    parts: Sequence[Versions],
    files: dict[str, str],
    times: Mapping[str, float],
    problems: Problems,
) -> None:
    """Decide between all versions of each rollout: only one stays in its table, and what became of the others is told.

    Parameters
    ----------
    later
        The versions of each rollout besides its first one, in the order of reading.
    parts
        The versions in each table.
    files
        The file of each rollout, by its id.
    times
        When files were written, in seconds, where they say so.
    problems
        Where it is told.
    """
    further = [version for versions in later.values() for version in versions]
    first = {version.rollout_id: version for part in parts for version in part.first(later, further, files)}
    by_table = {id(part.table): part for part in parts}
    rows = {
        version: turns
        for key, part in by_table.items()
        for version, turns in part.rows_of(
            version for version in (*first.values(), *further) if id(version.table) == key
        )
    }
    counted: set[tuple[str, object]] = set()  # records that were passed over
    for name, versions in later.items():
        kept = first[name]
        for other in versions:
            stamps = times.get(kept.file), times.get(other.file)
            is_named = kept.rollout_id == other.rollout_id
            decision = decide(rows[kept], rows[other], *stamps, is_named=is_named)
            kept, lost = (other, kept) if decision.is_second else (kept, other)
            _tell(kept, lost, decision, rows, problems)
            num_records = by_table[id(lost.table)].drop(lost, len(rows[lost]))
            if decision.kind != ANOTHER and (lost.record is None or (lost.file, lost.record) not in counted):
                counted.add((lost.file, lost.record))
                problems.record_counts.pass_over(lost.file, num_records)
            for column, places in decision.unknown.items():
                by_table[id(kept.table)].forget(kept, column, places)
                for turn in (rows[kept][place] for place in places if place < len(rows[kept])):
                    turn[column] = None
        for version in (first[name], *versions):
            files.pop(version.rollout_id, None)
        files[kept.rollout_id] = kept.file
    for file in {version.file for version in (*first.values(), *further)} - {*files.values()}:
        problems.record_counts.pass_over(file, None)
    for part in parts:
        part.close()


def decide(
    first: Sequence[Row],
    second: Sequence[Row],
    first_time: float | None = None,
    second_time: float | None = None,
    *,
    is_named: bool = True,
) -> Decision:
    """Decide what two versions of one rollout mean, given their turns and the times of their files.

    `is_named` says whether both have the same id; else they are known to be one rollout, whatever their runs and attempts.
    """
    num_turns = [sum(row.get("turn") is not None for row in rows) for rows in (first, second)]
    # A version without turns, such as a summary, states no conversation.
    is_same = not all(num_turns) or (len(first) == len(second) and _says_the_same(first, second))
    unknown = _contradictions(first, second)
    if first_time is not None and second_time is not None and first_time != second_time:
        return Decision(second_time > first_time, SUPERSEDED, "of a later time")
    if any(_differ(name, first[0].get(name), second[0].get(name)) for name in (ABOUT if is_named else OF_TASKS)):
        return Decision(is_second=False, kind=ANOTHER)
    prompts = {rows[0]["prompt"] for rows in (first, second) if rows[0].get("prompt") is not None}
    if is_empty(first) != is_empty(second) and len(prompts) < 2:
        return Decision(is_empty(first), SUPERSEDED, "with an answer or a verdict")
    if is_same:
        ranks = [(turns > 0, _num_verdicts(rows)) for turns, rows in zip(num_turns, (first, second), strict=True)]
        return Decision(ranks[1] > ranks[0], REPEATS, unknown=unknown)
    short, long = sorted((first, second), key=len)
    if len(short) < len(long) and _says_the_same(short, long[: len(short)]):
        return Decision(long is second, SUPERSEDED, "with more turns", unknown)
    return Decision(is_second=False, kind=ANOTHER)


def is_verdict(column: str) -> bool:
    """Return whether a column is a verdict, or a score of its producer."""
    return column in VERDICTS or column.startswith("score_")


def _says_the_same(first: Sequence[Row], second: Sequence[Row]) -> bool:
    """Return whether the turns are the same; what follows the last answer may be missing in one of them."""
    for place, (one, other) in enumerate(zip(first, second, strict=True), start=1):
        names = [name for name in SAID if name != "observation" or place < len(first)]
        if any(one.get(name) != other.get(name) for name in names):
            return False
    return True


def _contradictions(first: Sequence[Row], second: Sequence[Row]) -> dict[str, list[int]]:
    """Return the columns with different values, each with these turns; a version without a value contradicts nobody."""
    is_same_length = len(first) == len(second)
    unknown: dict[str, list[int]] = {}
    for place, (one, other) in enumerate(zip(first, second, strict=False)):
        for name, value in one.items():
            is_compared = name not in {*SAID, *ABOUT, "rollout_id", "source"} and (is_same_length or is_verdict(name))
            if is_compared and _differ(name, value, other.get(name)):
                unknown.setdefault(name, []).append(place)
    everywhere = list(range(max(len(first), len(second))))
    # What describes the rollout is the same in all of its turns.
    return {name: places if name in OF_TURNS else everywhere for name, places in unknown.items()}


def _differ(name: str, first: Any, second: Any) -> bool:
    """Return whether two stated values differ; a run that is named after the content of its file is not stated."""
    if first is None or second is None or first == second:
        return False
    if name == "outcome" and {first, second} & UNJUDGED:
        return False
    return name != "run" or not (OF_CONTENT.fullmatch(str(first)) or OF_CONTENT.fullmatch(str(second)))


def is_empty(rows: Sequence[Row]) -> bool:
    """Return whether a version has neither a last answer nor a verdict: it crashed, or could not be read."""
    return not (rows[-1].get("response") or rows[-1].get("tool_calls") or _num_verdicts(rows))


def _num_verdicts(rows: Sequence[Row]) -> int:
    """Return how many verdicts a version states."""
    return sum(row.get(name) not in {None, *UNJUDGED} for row in rows for name in VERDICTS)


def _tell(
    kept: Version, lost: Version, decision: Decision, rows: Mapping[Version, Sequence[Row]], problems: Problems
) -> None:
    """Say what became of a version that does not count, and what is unknown of the one that does."""
    name, file = lost.rollout_id, lost.file
    where = "twice in this file" if kept.file == file else f"in {kept.file} as well"
    problems.files_beside.counts[decision.kind][file, kept.file] += 1
    if decision.kind == ANOTHER:
        remedy = f"{OWN_IDS}; else read only one of them, or keep the first: {LEAVE}"
        reason = f"rollout {name!r} appears {where}, with another conversation"
        problems.broken(file, BrokenError(reason, record=name, remedy=remedy))
        return
    rows_told: list[tuple[str, str | None, str | None, str]] = []
    for column in filter(is_verdict, sorted(decision.unknown)):
        place = next(place for place in decision.unknown[column] if place < min(len(rows[kept]), len(rows[lost])))
        ours, theirs = (rows[version][place].get(column) for version in (lost, kept))
        reason = f"is {ours!r:.40}, and {theirs!r:.40} where rollout {name!r} appears {where}: it is unknown, and null"
        if not problems.collect:
            remedy = 'delete the wrong one, or leave it unknown: errors="collect" does'
            problems.broken(file, BrokenError(reason, record=name, field=column, remedy=remedy))
        rows_told.append((file, name, column, reason))
        problems.files_beside.num_unknown += 1
    others = [f"`{column}`" for column in sorted(decision.unknown) if not is_verdict(column)]
    rest = f"; {some(others, SHOWN)}, which differ, are null" if others else ""
    if decision.kind == REPEATS:
        reason = f"rollout {name!r} appears {where}, and counts once{rest}"
    else:
        kept_in = "in this file" if kept.file == file else f"in {kept.file}"
        reason = f"rollout {name!r} is superseded by a version {decision.reason} {kept_in}{rest}"
    rows_told.append((file, name, None, reason))
    problems.rows += rows_told
    problems.files_beside.told.update(dict.fromkeys(rows_told))
