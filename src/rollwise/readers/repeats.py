"""Decide what two records with the same id mean, for every format.

- A copy with the same content is counted once.
- A later version replaces an earlier one. It is later if its file is, or if the other version has neither an answer nor a
  verdict (it crashed), or if the other one is only its beginning (the file was half written).
- Two verdicts on the same conversation that differ: the verdict is unknown (null), and a problem names both.
- Two different conversations are not one rollout, even under one id: the first is read, the other is a broken record. With
  ``errors="raise"``, the error asks for a `run`, or for ids that differ.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rollwise.errors import PAIR
from rollwise.readers.files_beside import OWN_IDS, some
from rollwise.readers.problems import LEAVE, BrokenError, Problems
from rollwise.readers.versions import Version, Versions
from rollwise.schema import ERROR, TURNS, UNDETERMINED

CONTENT = ("turn", "context", "prompt", "response", "observation", "tool_calls")  # the content of a conversation
ABOUT = (
    "run", "target", "attack", "goal", "task", "category", "attempt", "expected",
)  # fmt: skip  # facts that differ between different rollouts
OF_TASKS = tuple(name for name in ABOUT if name not in {"run", "attempt"})  # facts that do not depend on the file
VERDICTS = frozenset({"outcome", "solved", "succeeded", "score", "reward"})  # if two differ, neither is taken
UNJUDGED = frozenset({ERROR, UNDETERMINED})  # outcomes that are no verdict
OF_TURNS = frozenset(TURNS.names) - {*TURNS.facts}
OF_CONTENT = re.compile(r".*-[0-9a-f]{8}", re.DOTALL)  # a run named after a hash of its file
MOST_COLUMNS = 3  # columns named in one message
REPEATS, SUPERSEDED, ANOTHER = "repeats", "superseded", "another"

Row = Mapping[str, Any]


class Decision(NamedTuple):
    """Rule for which of two versions of a rollout counts, and why."""

    is_second: bool  # whether the second version counts rather than the first
    kind: str  # why the other one does not count: it `repeats`, is `superseded`, or is `another` conversation
    reason: str = ""  # why one of them is the later one
    unknown: Mapping[
        str, Sequence[int]
    ] = {}  # columns in which they contradict each other, with the places of the turns


def settle(
    later: Mapping[str, Sequence[Version]],
    parts: Sequence[Versions],
    files: dict[str, str],
    times: Mapping[str, float],  # in seconds, of files that say when they were written
    problems: Problems,
) -> None:
    """Keep one version of each rollout in its table, and report what became of the others."""
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
    counted: set[tuple[str, object]] = set()  # records already counted as passed over
    others: Counter[tuple[str, str]] = Counter()  # further conversations under one id, by file
    for name, versions in later.items():
        counting = first[name]
        for rival in versions:
            stamps = times.get(counting.file), times.get(rival.file)
            is_named = counting.rollout_id == rival.rollout_id
            decision = decide(rows[counting], rows[rival], *stamps, is_named=is_named)
            counting, lost = (rival, counting) if decision.is_second else (counting, rival)
            if decision.kind == ANOTHER:
                others[lost.file, lost.rollout_id] += 1
                _report_another(counting, lost, others[lost.file, lost.rollout_id], problems)
            else:
                _report(counting, lost, decision, rows, problems)
            num_records = by_table[id(lost.table)].drop(lost, len(rows[lost]))
            if decision.kind != ANOTHER and (lost.record is None or (lost.file, lost.record) not in counted):
                counted.add((lost.file, lost.record))
                problems.record_counts.pass_over(lost.file, num_records)
            for column, places in decision.unknown.items():
                by_table[id(counting.table)].forget(counting, column, places)
                for turn in (rows[counting][place] for place in places if place < len(rows[counting])):
                    turn[column] = None
        for version in (first[name], *versions):
            files.pop(version.rollout_id, None)
        files[counting.rollout_id] = counting.file
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
    """Return which of two versions of a rollout counts, given their turns and the times of their files.

    `is_named` says whether both have the same id. If not, they are known to be the same rollout, even if `run` and `attempt`
    differ.
    """
    num_turns = [sum(row.get("turn") is not None for row in rows) for rows in (first, second)]
    # A version without turns, such as a summary, has no conversation to compare.
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
    """Return whether the turns are the same; the last observation is not compared, as one of them may lack it."""
    for place, (left_row, right_row) in enumerate(zip(first, second, strict=True), start=1):
        names = [name for name in CONTENT if name != "observation" or place < len(first)]
        if any(left_row.get(name) != right_row.get(name) for name in names):
            return False
    return True


def _contradictions(first: Sequence[Row], second: Sequence[Row]) -> dict[str, list[int]]:
    """Return the columns whose values differ, with the places of the turns; null contradicts nothing."""
    is_same_length = len(first) == len(second)
    unknown: dict[str, list[int]] = {}
    for place, (left_row, right_row) in enumerate(zip(first, second, strict=False)):
        for name, value in left_row.items():
            is_compared = name not in {*CONTENT, *ABOUT, "rollout_id", "source"} and (
                is_same_length or is_verdict(name)
            )
            if is_compared and _differ(name, value, right_row.get(name)):
                unknown.setdefault(name, []).append(place)
    everywhere = list(range(max(len(first), len(second))))
    # What describes the rollout is the same in all of its turns.
    return {name: places if name in OF_TURNS else everywhere for name, places in unknown.items()}


def _differ(name: str, first: Any, second: Any) -> bool:
    """Return whether two known values differ; a run named after the content of its file is not a known value."""
    if first is None or second is None or first == second:
        return False
    if name == "outcome" and {first, second} & UNJUDGED:
        return False
    return name != "run" or not (OF_CONTENT.fullmatch(str(first)) or OF_CONTENT.fullmatch(str(second)))


def is_empty(rows: Sequence[Row]) -> bool:
    """Return whether a version has neither a last answer nor a verdict: it crashed, or could not be read."""
    return not (rows[-1].get("response") or rows[-1].get("tool_calls") or _num_verdicts(rows))


def _num_verdicts(rows: Sequence[Row]) -> int:
    """Return the number of verdicts in a version."""
    return sum(row.get(name) not in {None, *UNJUDGED} for row in rows for name in VERDICTS)


def _report_another(counting: Version, lost: Version, number: int, problems: Problems) -> None:
    """Report a broken record: another conversation has its id; `number` counts such records of the file."""
    name = lost.rollout_id
    problems.files_beside.counts[ANOTHER][lost.file, counting.file] += 1
    where = _where(counting, lost)
    remedy_of_ids = "" if counting.file == lost.file else f", {_distinct_ids(lost.file)}"
    remedy = f"{OWN_IDS}{remedy_of_ids}; else read only one of them, or keep the first: {LEAVE}"
    reason = f"rollout {name!r} appears {where}, with another conversation"
    record = name if number == 1 else f"{name} ({number})"
    problems.broken(lost.file, BrokenError(reason, record=record, remedy=remedy))


def _distinct_ids(file: str) -> str:
    """Return how rollouts of a file get ids that no other file has."""
    prefix = Path(file).name.partition(".")[0]
    ids = f'rollout_id="{prefix}/" + pl.col("rollout_id")'
    return f"as in `rw.read({file!r}).with_columns({ids})`, and join the tables by `pl.concat`"


def _where(counting: Version, lost: Version) -> str:
    return "twice in this file" if counting.file == lost.file else f"in {counting.file} as well"


def _report(
    counting: Version, lost: Version, decision: Decision, rows: Mapping[Version, Sequence[Row]], problems: Problems
) -> None:
    """Report why a version does not count, and which columns of the other one are unknown."""
    name, file, where = lost.rollout_id, lost.file, _where(counting, lost)
    problems.files_beside.counts[decision.kind][file, counting.file] += 1
    reported: list[tuple[str, str | None, str | None, str]] = []
    for column in filter(is_verdict, sorted(decision.unknown)):
        place = next(place for place in decision.unknown[column] if place < min(len(rows[counting]), len(rows[lost])))
        lost_value, kept_value = (rows[version][place].get(column) for version in (lost, counting))
        reason = f"is {lost_value!r:.40}, and {kept_value!r:.40} where rollout {name!r} appears {where}: it is unknown, and null"
        if not problems.collect:
            remedy = f'delete the wrong one, or leave it unknown: errors="collect" does{PAIR}'
            problems.broken(file, BrokenError(reason, record=name, field=column, remedy=remedy))
        reported.append((file, name, column, reason))
        problems.files_beside.num_unknown += 1
    others = [f"`{column}`" for column in sorted(decision.unknown) if not is_verdict(column)]
    nulled = f"; {some(others, MOST_COLUMNS)}, which differ, are null" if others else ""
    if decision.kind == REPEATS:
        reason = f"rollout {name!r} appears {where}, and counts once{nulled}"
    else:
        kept_in = "in this file" if counting.file == file else f"in {counting.file}"
        reason = f"rollout {name!r} is superseded by a version {decision.reason} {kept_in}{nulled}"
    reported.append((file, name, None, reason))
    problems.rows += reported
    problems.files_beside.told.update(dict.fromkeys(reported))
