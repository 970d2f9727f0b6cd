"""Rates by categories of published taxonomies, and by severity where logs state it."""

from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from rollwise import schema
from rollwise.estimation.summary import summarize
from rollwise.reports.grouping import attacked
from rollwise.reports.parts import Grid, Head, Part, Section, unknown_cells, unknown_heads
from rollwise.schema import labels
from rollwise.schema.named import column_named, columns_named

SEVERITY = "severity"  # column of logs that state it
_KEYS = ("taxonomy", "hazard")


@cache
def mapping() -> pl.DataFrame:
    """Return the table of names and their categories; `taxonomy.csv` names its sources."""
    return pl.read_csv(Path(__file__).with_name("taxonomy.csv"), comment_prefix="#")


def rates_by_taxonomy(rollouts: pl.DataFrame, **options: Any) -> pl.DataFrame:
    """Return SUMMARY of attack success by taxonomy and category (`hazard`); empty where no name is in the table.

    A rollout may have a category in several taxonomies, and at most one in each.
    """
    rows = attacked(rollouts)
    frames = [
        frame
        for taxonomy in mapping()["taxonomy"].unique(maintain_order=True)
        if (frame := _categorized(rows, taxonomy)) is not None
    ]
    if SEVERITY in rows.columns and rows.schema[SEVERITY] == pl.String:
        frames.append(rows.with_columns(taxonomy=pl.lit(SEVERITY), hazard=pl.col(SEVERITY).str.to_lowercase()))
    parts = [
        summarize(frame, by=_KEYS, metrics="attack_success", **options)
        for frame in (frame.drop_nulls("hazard") for frame in frames)
        if frame["attack_success"].count()
    ]
    return pl.concat(parts) if parts else schema.empty(schema.SUMMARY)


def _categorized(rollouts: pl.DataFrame, taxonomy: str) -> pl.DataFrame | None:
    """Add the category of each rollout in one taxonomy, null where the table has none; None if it has none at all."""
    rules = []
    for category, source, column, name in (
        mapping().filter(taxonomy=taxonomy).select("category", "source", "column", "name").iter_rows()
    ):
        value = column_named(column).str.to_lowercase()
        named = value.str.starts_with(name[:-1].lower()) if name.endswith("*") else value == name.lower()
        rules.append(pl.when((pl.col("source") == source) & named).then(pl.lit(category)))
    # Names are few, however many the rollouts are.
    keys = ["source", *mapping().filter(taxonomy=taxonomy)["column"].unique(maintain_order=True)]
    names = (
        rollouts.select(columns_named(keys)).unique().with_columns(taxonomy=pl.lit(taxonomy), hazard=pl.coalesce(rules))
    )
    if not names["hazard"].count():
        return None
    return rollouts.join(names, on=columns_named(keys), how="left", nulls_equal=True, maintain_order="left")


def taxonomies(rates: pl.DataFrame, rollouts: pl.DataFrame, level: float) -> Section:
    """Return the section on categories of published taxonomies; without parts if no name has one."""
    heading = "Which known risks succeed?"
    if rates.is_empty():
        return Section("taxonomy", heading, [])
    unknown = unknown_heads(rates)
    columns = [
        Head("taxonomy", word=True), Head("category", word=True), Head(f"rate [{labels.level_text(level)}]"),
        Head("judged"), *map(Head, unknown), Head(labels.cluster_heading(rates)),
    ]  # fmt: skip
    order = rates.with_columns(place=pl.col("taxonomy").rank("dense")).sort(
        "place", "estimate", descending=[False, True], nulls_last=True
    )
    cells = [
        [
            labels.plain(row["taxonomy"]), labels.plain(row["hazard"]), labels.interval_text(row, rate=True),
            labels.count(row["n"]), *unknown_cells(row, unknown), labels.count(row["n_clusters"]),
        ]
        for row in order.rows(named=True)
    ]  # fmt: skip
    published = rates.filter(pl.col("taxonomy") != SEVERITY)
    sizes = published.group_by("taxonomy").agg(
        size=pl.sum_horizontal("n", "n_undetermined", "n_missing", "n_error").sum()
    )
    total = labels.counted(attacked(rollouts).height, "attacked rollout")
    covered = f"; they cover up to {labels.count(max(sizes['size']))} of {total}" if sizes.height else ""
    text = f"Attack success by risk, for the names whose category in a published taxonomy is beyond doubt{covered}."
    return Section("taxonomy", heading, [Part("text", text=text), Part("table", table=Grid(columns, cells))])
