"""Record counts of each file, and what became of the records: the accounting of one reading.

Formats with one record per line, row or item of a list need no counting of their own: they read each in a block of
`TurnsBuilder.record`. Other formats state the number of records by `TurnsBuilder.holds`, and by `TurnsBuilder.passes_over`
how many of them are neither rollouts nor problems.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from rollwise.errors import writable
from rollwise.schema import ACCOUNTING
from rollwise.schema.named import column_named

if TYPE_CHECKING:
    from rollwise.readers.origins import Origins

VERDICTS = ("outcome", "succeeded", "score", "solved")  # columns of TURNS that hold the verdict of a rollout


@dataclass(slots=True)
class FileCounts:
    """Counts of the records of one file."""

    format: str | None = None
    num_records: int | None = None  # None where they were not counted
    num_passed_over: int = 0  # records that are neither part of a rollout nor a problem, such as headers
    broken: set[str] = field(default_factory=set)  # names of the records that could not be read
    names: set[object] = field(default_factory=set)  # of records begun, in files that are not lines, rows or a list
    num_rows: int = 0  # rows or rollouts that were added all at once
    is_repeat: bool = False  # passed over since another file has its records: such a file alone is not a problem


class RecordCounts:
    """The record counts of all files of one reading, in the order of reading."""

    def __init__(self) -> None:
        self._accounts: dict[str, FileCounts] = {}
        self._totals: dict[str, tuple[int, int, int]] = {}  # rollouts, turns and verdicts of each file in TURNS

    def of(self, file: str) -> FileCounts:
        """Return the account of a file, which is opened if it has none."""
        account = self._accounts.get(file)
        if account is None:
            account = self._accounts[file] = FileCounts()
        return account

    def items(self) -> Iterable[tuple[str, FileCounts]]:
        """Return each file with its account."""
        return self._accounts.items()

    def close(self, file: str, format_name: str, num_records: int | None) -> None:
        """Close the account of a file that was read; `num_records` is what the file holds, unless its format states it."""
        account = self.of(file)
        account.format = format_name
        if account.num_records is None:
            account.num_records = num_records or len(account.names) + account.num_rows or None
        account.names.clear()  # of no use from here on

    def pass_over(self, file: str, count: int | None) -> None:
        """Count records of a file that was read as passed over; None is all that could be read."""
        account = self.of(file)
        intact = None if account.num_records is None else account.num_records - len(account.broken)
        total = intact if count is None else account.num_passed_over + count
        account.num_passed_over = (
            account.num_passed_over if total is None else min(total, total if intact is None else intact)
        )

    def count(self, turns: pl.DataFrame, origins: "Origins") -> None:
        """Count rollouts, turns and verdicts of each file, given the file of each rollout."""
        # The turns of a rollout are next to each other: numbers of runs take far less memory than ids.
        ids = turns["rollout_id"]
        verdicts = [column_named(name).is_not_null() for name in VERDICTS if name in turns.columns]
        rows = turns.select(
            rollout=pl.col("rollout_id").rle_id(),
            turn=pl.col("turn").is_not_null(),
            verdict=pl.any_horizontal(*verdicts) if verdicts else pl.lit(value=False),
        )
        totals = (
            rows.group_by("rollout", maintain_order=True)
            .agg(pl.col("turn").sum(), pl.col("verdict").any())
            .with_columns(origins.files_of(ids.rle().struct.field("value")).alias("file"))
            .group_by("file")
            .agg(pl.len(), pl.col("turn").sum(), pl.col("verdict").sum())
        )
        self._totals = {file: (rollouts, turns, verdicts) for file, rollouts, turns, verdicts in totals.iter_rows()}

    def frame(self, problems: Sequence[tuple[str, str | None, str | None, str]]) -> pl.DataFrame:
        """Return ACCOUNTING, given the rows of PROBLEMS."""
        num_problems = Counter(file for file, *_ in problems)
        rows = []
        for file in dict.fromkeys([*self._accounts, *self._totals, *num_problems]):
            account = self._accounts.get(file, FileCounts())
            rollouts, turns, verdicts = self._totals.get(file, (0, 0, 0))
            # A file that is one JSON object, or a database, and that was not counted is one record.
            records = account.num_records or max(len(account.broken), int(rollouts > 0)) + account.num_passed_over
            in_rollouts = records - account.num_passed_over - len(account.broken)
            rows.append(
                (
                    writable(file),
                    account.format,
                    records,
                    in_rollouts,
                    account.num_passed_over,
                    len(account.broken),
                    rollouts,
                    turns,
                    verdicts,
                    num_problems[file],
                )
            )
        return pl.DataFrame(rows, schema=ACCOUNTING.dtypes, orient="row")

    def memory(self) -> list[list[Any]]:
        """Return the counts as JSON values, for a cache."""
        return [
            [
                file,
                account.format,
                account.num_records,
                account.num_passed_over,
                sorted(account.broken),
                self._totals.get(file),
            ]
            for file, account in self._accounts.items()
        ]

    def recall(self, memory: Sequence[Sequence[Any]]) -> None:
        """Add the counts from a cache."""
        for file, format_name, num_records, num_passed_over, broken, totals in memory:
            self._accounts[file] = FileCounts(format_name, num_records, num_passed_over, set(broken))
            if totals is not None:
                self._totals[file] = (totals[0], totals[1], totals[2])
