"""Subjects of an audit: each stated figure or bound, with the rollouts that it is of."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from rollwise import schema
from rollwise.audits.counting import Tally
from rollwise.audits.stated import Stated, stated_in_file
from rollwise.errors import ArgumentError, MetricError
from rollwise.estimation.arrays import Columns
from rollwise.estimation.requirements import Required, rows_in
from rollwise.measurement.measure import measure
from rollwise.measurement.trees import paths
from rollwise.metrics import catalog
from rollwise.schema.named import column_named, values_named

_ABOUT = ("run", "target", "attack", "task")
_OF_CONTENT = re.compile(r".*-[0-9a-f]{8}", re.DOTALL)  # a run that is named after the content of its file


@dataclass(frozen=True, slots=True)
class Subject:
    """A stated figure or bound: of which rollouts, its name, our metric, what is stated, and the rollouts."""

    key: Mapping[str, Any]
    name: str
    metric: str | None
    stated: Stated | Required
    rollouts: pl.DataFrame
    row: Mapping[str, Any] = field(default_factory=dict)  # of the table of figures


@dataclass(frozen=True, slots=True)
class Case:
    """A subject with what the log says of it."""

    subject: Subject
    counts: pl.DataFrame
    tally: Tally
    log: Mapping[str, Any]  # our row of SUMMARY
    share: bool

    @property
    def records(self) -> int:
        """Number of rollouts, with all further records of them."""
        return self.counts.height + sum(int(self.counts[name].sum()) for name in ("copies", "tries"))


def measured(frame: pl.DataFrame, claimed: Sequence[str], figures: pl.DataFrame | None) -> pl.DataFrame:
    """Return ROLLOUTS: TURNS are measured by the metrics of the claims, and of the figures whose columns they have."""
    if "turn" not in frame.columns or "num_turns" in frame.columns:
        return frame
    turns = paths(frame) if schema.is_tree(frame) else frame
    names = list(dict.fromkeys(claimed))
    column = None if figures is None else next((name for name in ("ours", "metric") if name in figures.columns), None)
    stated = [] if figures is None or column is None else values_named(figures, column).drop_nulls().unique().to_list()
    for name in stated:
        try:
            measure(turns.head(0), catalog.expression(name))
        except (ArgumentError, MetricError):
            continue
        names.append(name)
    # The turns of successes show what rollouts with unjudged turns are expected to hold.
    if "attack_success" in names:
        names.append("time_to_success")
    return measure(turns, *(catalog.expression(name) for name in dict.fromkeys(names)))


def named_columns(figures: pl.DataFrame | None, rollouts: pl.DataFrame) -> list[str]:
    """Return the columns that say of which rollouts figures are."""
    if figures is None:
        return []
    reserved = {*schema.SUMMARY.names, *schema.AUDIT.names, "ours", "file", "source"}
    names = [name for name in figures.columns if name not in reserved]
    filled = [name for name in names if figures[name].null_count() < figures.height]
    return [name for name in filled if name in _ABOUT or name in rollouts.columns]


def rollouts_of(rollouts: pl.DataFrame, key: Mapping[str, Any]) -> pl.DataFrame:
    """Return the rollouts that a figure is of. What is null on either side contradicts nothing.

    The task of a figure may be a category of rollouts, or a name of the whole benchmark that no rollout has. A run named after
    the content of a file of figures does not occur among the rollouts; then the task must.
    """
    is_elsewhere = found_task = False
    for name, value in key.items():
        places = [place for place in (("category", "task") if name == "task" else (name,)) if place in rollouts.columns]
        if value is None or not places:
            continue
        words = {place: column_named(place).cast(pl.String) for place in places}
        hits = [place for place in places if rollouts.select((words[place] == str(value)).any()).item()]
        if hits:
            found_task |= name == "task"
            match = words[hits[0]] == str(value)
            rollouts = rollouts.filter(match | words[hits[0]].is_null() if name != "task" else match)
        elif name == "run" and _OF_CONTENT.fullmatch(str(value)):
            is_elsewhere = True
        elif name != "task" and rollouts.select(column_named(places[0]).is_not_null().any()).item():
            return rollouts.clear()
    return rollouts.clear() if is_elsewhere and not found_task else rollouts


def of_claims(
    frame: pl.DataFrame, by: tuple[str, ...], claims: Iterable[tuple[str, str, Stated | Required]]
) -> Iterator[Subject]:
    """Yield each claim in each group."""
    for text, metric, stated in claims:
        data = Columns(rows_in(frame, stated.group, text), by)
        for key, rows in data.groups(by):
            yield Subject(key, text, metric, stated, data.frame[rows].sort("\0order").drop("\0order"))


def of_figures(frame: pl.DataFrame, figures: pl.DataFrame | None, about: Sequence[str]) -> Iterator[Subject]:
    """Yield each figure of a table, with the rollouts that it is of."""
    for row in () if figures is None else figures.rows(named=True):
        value, n, metric = row["estimate"], row.get("n"), row.get("ours" if "ours" in row else "metric")
        if value is None or not math.isfinite(value):
            continue
        key = {name: row[name] for name in about}
        stated = stated_in_file(float(value), None if n is None else int(n))
        yield Subject(key, str(row.get("metric") or metric), metric, stated, rollouts_of(frame, key), row)
