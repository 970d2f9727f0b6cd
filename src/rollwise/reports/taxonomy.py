"""Rates by categories of published taxonomies, and by severity where logs state it."""

from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from rollwise import schema
from rollwise.estimation.summary import summarize
from rollwise.reports.grouping import attacked
from rollwise.schema.named import column_named, columns_named

SEVERITY = "severity"  # column of logs that state it
KEYS = ("taxonomy", "hazard")


@cache
def mapping() -> pl.DataFrame:
    """Return the table of names and their categories; `taxonomy.csv` names its sources."""
    return pl.read_csv(Path(__file__).with_name("taxonomy.csv"), comment_prefix="#")


def rates_by_taxonomy(rollouts: pl.DataFrame, **options: Any) -> pl.DataFrame:
    """Return SUMMARY of attack success by taxonomy and category (`hazard`); empty where no name is in the table.

    A rollout may have a category in several taxonomies, and at most one in each.
    """
    parts = [summarize(frame, by=KEYS, metrics="attack_success", **options) for frame in categorized(rollouts)]
    return pl.concat(parts) if parts else schema.empty(schema.SUMMARY)


def categorized(rollouts: pl.DataFrame) -> list[pl.DataFrame]:
    """Return the attacked rollouts with a category in each taxonomy that has verdicts."""
    rows = attacked(rollouts)
    frames = [
        frame
        for taxonomy in mapping()["taxonomy"].unique(maintain_order=True)
        if (frame := _categorized(rows, taxonomy)) is not None
    ]
    if SEVERITY in rows.columns and rows.schema[SEVERITY] == pl.String:
        frames.append(rows.with_columns(taxonomy=pl.lit(SEVERITY), hazard=pl.col(SEVERITY).str.to_lowercase()))
    frames = [frame.drop_nulls("hazard") for frame in frames]
    return [frame for frame in frames if frame["attack_success"].count()]


def drawn_rates(hazards: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return the rates of the categories of each taxonomy that a figure shows: of those with several judged categories."""
    judged = hazards.filter(pl.col("n") > 0)
    parts = judged.partition_by("taxonomy", maintain_order=True, as_dict=True) if judged.height else {}
    return {str(name): rows.drop("taxonomy") for (name,), rows in sorted(parts.items()) if rows.height > 1}


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
