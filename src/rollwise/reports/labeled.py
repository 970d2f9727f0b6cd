"""Rollouts and people's labels of some of them -> rates corrected for the judge's errors, beside the judge's own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import polars as pl

from rollwise import schema
from rollwise.choices import Unjudged
from rollwise.errors import ArgumentError, listing
from rollwise.estimation.summary import summarize
from rollwise.judges.people import consensus
from rollwise.judges.reliability.judges import agreement
from rollwise.judges.reliability.rates import correct
from rollwise.reports.frames import Frames
from rollwise.reports.parts import Grid, Head, Link, Part, Section, group_cells, group_columns
from rollwise.schema import labels
from rollwise.schema.arguments import Cluster
from rollwise.schema.named import column_named, columns_named

MOST_LINKS = 20  # rollouts on which people disagree that are named
MOST_REASONS = 3
JUDGE = "the judge of the logs"


@dataclass(frozen=True, slots=True)
class Labeled:
    """Labels by people: one for each rollout, the corrected rates, and how far people and the judge agree.

    `rates` and `corrected` are SUMMARY of the judge's rates and of the corrected ones; where the logs have no verdicts, `rates` is
    None and `corrected` has the rates by people. `overall` has both for all rollouts.
    """

    metric: str
    people: list[str]
    labels: pl.DataFrame
    overall: tuple[dict[str, Any] | None, dict[str, Any] | None]
    rates: pl.DataFrame | None
    corrected: pl.DataFrame
    agreement: pl.DataFrame

    @property
    def files(self) -> tuple[tuple[str, pl.DataFrame], ...]:
        """Return the frames that are written to the folder, by name."""
        return ("labels", self.labels), ("corrected", self.corrected), ("agreement", self.agreement)


def labeled(
    data: Frames, verdicts: pl.DataFrame, *, cluster: Cluster, level: float, unjudged: Unjudged, seed: int
) -> Labeled:
    """Correct the rates of a report by VERDICTS of people."""
    if data.tree:
        raise ArgumentError(
            "report: labels are of rollouts, and these are trees; report their paths: rw.rollout.paths(turns)"
        )
    metric, rollouts = _metric_of(verdicts, data), data.rollouts
    known = verdicts.join(rollouts.select("rollout_id"), on="rollout_id", how="semi")
    if not known.height:
        raise ArgumentError(
            f"report: none of the labeled rollouts ({listing(verdicts['rollout_id'].unique().sort().to_list(), most=2)}) is among "
            "these; give the labels of a page that was made of these logs"
        )
    settled = consensus(known)
    judged = rollouts.select("rollout_id", column_named(metric).alias("judged"), *columns_named(data.by))
    raters = known.select("rollout_id", "judge", "value")
    common: dict[str, Any] = {"cluster": cluster, "level": level}
    is_judged = judged["judged"].count() > 0
    if is_judged:
        judge = judged.drop_nulls("judged").select(
            "rollout_id", judge=pl.lit(JUDGE), value=pl.col("judged").cast(pl.Float64)
        )
        raters = pl.concat([raters, judge])
    return Labeled(
        metric=metric,
        people=sorted(known["judge"].unique()),
        labels=settled.join(judged, on="rollout_id", how="left", maintain_order="left"),
        agreement=agreement(raters, statistics=("agreement", "kappa"), level=level, seed=seed)
        if raters["judge"].n_unique() > 1
        else schema.empty(schema.AGREEMENT),
        **(
            _corrected(rollouts, settled, metric, data.by, {**common, "unjudged": unjudged}, seed)
            if is_judged
            else _by_people(rollouts, settled, metric, data.by, common, seed)
        ),
    )


def _corrected(
    rollouts: pl.DataFrame, settled: pl.DataFrame, metric: str, by: tuple[str, ...], common: dict[str, Any], seed: int
) -> dict[str, Any]:
    """Return the judge's rates, and those corrected by the labels."""
    drawn = "probability" in settled.columns and not settled["probability"].null_count()
    by_labels: dict[str, Any] = {"metric": metric, "probability": "probability" if drawn else None, **common}
    everything = summarize(rollouts, metrics=metric, seed=seed, **common), correct(rollouts, settled, **by_labels)
    return {
        "overall": tuple(frame.row(0, named=True) for frame in everything),
        "rates": summarize(rollouts, metrics=metric, by=by, seed=seed, **common),
        "corrected": correct(rollouts, settled, by=by, **by_labels),
    }


def _by_people(
    rollouts: pl.DataFrame, settled: pl.DataFrame, metric: str, by: tuple[str, ...], common: dict[str, Any], seed: int
) -> dict[str, Any]:
    """Return the rates of the labels themselves, which were drawn at random in each group."""
    said = settled.select("rollout_id", pl.col("label").alias(metric))
    labeled_rollouts = rollouts.drop(columns_named([metric])).join(
        said, on="rollout_id", how="left", maintain_order="left"
    )
    options: dict[str, Any] = {"metrics": metric, "unjudged": "sample", "seed": seed, **common}
    # Groups that were drawn from at different rates have no rate in common without weights.
    is_alike = "probability" not in settled.columns or settled["probability"].n_unique() <= 1
    return {
        "overall": (None, summarize(labeled_rollouts, **options).row(0, named=True) if is_alike else None),
        "rates": None,
        "corrected": summarize(labeled_rollouts, by=by, **options),
    }


def _metric_of(verdicts: pl.DataFrame, data: Frames) -> str:
    """Return the metric that people labeled: what the page asked about, otherwise the first rate of the report."""
    named = verdicts["metric"].drop_nulls().unique().to_list() if "metric" in verdicts.columns else []
    if len(named) > 1:
        raise ArgumentError(f"report: the labels are of {listing(named)}; give those of one metric")
    return str(named[0]) if named else next(iter(data.units), "attack_success")


def corrections(data: Frames, by_hand: Labeled) -> Section:
    """Return the section on people's labels: the corrected rate of each group beside the judge's."""
    usable = by_hand.labels.drop_nulls("label")
    if by_hand.rates is not None:
        usable = usable.drop_nulls("judged").with_columns(wrong=pl.col("label") != pl.col("judged"))
    name = labels.label(by_hand.metric)
    parts = [
        Part("finding", text=_finding(by_hand, usable)),
        Part("table", table=_table(data, by_hand, usable, f"{name} by people's labels")),
        *[Part("note", text=f"{labels.sentence(reason)}") for reason in _reasons(by_hand)],
        *_disagreement(by_hand),
    ]
    if by_hand.agreement.height:
        heads = [
            Head("who", word=True),
            Head("with whom", word=True),
            Head("same answer"),
            Head("kappa"),
            Head("rollouts"),
        ]
        cells = [
            [
                row["judge"], row["other"], labels.interval_text(row, rate=True), labels.number(kappa["estimate"]),
                labels.count(row["n"]),
            ]
            for row, kappa in _pairs(by_hand.agreement)
        ]  # fmt: skip
        parts.append(Part("folded", text="How far people and the judge agree", table=Grid(heads, cells)))
    text = "Rollouts without an agreed label are not used. All labels are in labels.parquet."
    if by_hand.rates is not None:
        text = (
            "Each label speaks for the rollouts with the same verdict of the judge, so it does not matter that as many "
            f"flagged rollouts were labeled as others. {text}"
        )
    return Section("labels", "What do people say?", [*parts, Part("method", text=text)])


def _table(data: Frames, by_hand: Labeled, usable: pl.DataFrame, caption: str) -> Grid:
    """Return both rates of each group and of all rollouts, the labels, and those that contradict the judge."""
    everything = ["all", *[""] * (len(data.by) - 1)]
    if by_hand.rates is None:
        rows = [
            [*group_cells(data.by, row), labels.interval_text(row, rate=True), labels.count(row["n"])]
            for row in (by_hand.corrected if data.by else by_hand.corrected.clear()).rows(named=True)
        ]
        if (row := by_hand.overall[1]) is not None:
            rows.append([*everything, labels.interval_text(row, rate=True), labels.count(row["n"])])
        return Grid([*group_columns(data.by), Head("by people"), Head("labels")], rows, caption=caption)
    pairs = zip(by_hand.rates.rows(named=True), by_hand.corrected.rows(named=True), strict=True) if data.by else ()
    rows = [[*group_cells(data.by, raw), *_numbers(raw, fixed, _of(usable, raw, data.by))] for raw, fixed in pairs]
    rows.append([*everything, *_numbers(*by_hand.overall, usable)])
    heads = [*group_columns(data.by), Head("by the judge"), Head("corrected"), Head("labels"), Head("judge wrong on")]
    return Grid(heads, rows, caption=caption)


def _finding(by_hand: Labeled, usable: pl.DataFrame) -> str:
    """Say how often the judge was wrong, and what the rate of all rollouts is when corrected."""
    people = people_in_words(by_hand.people)
    raw, fixed = (None if row is None else labels.interval_text(row, rate=True) for row in by_hand.overall)
    name = labels.label(by_hand.metric)
    name = f"{name[0].upper()}{name[1:]}"
    if raw is None:
        rate = "" if fixed is None else f" {name} is {fixed} by their labels, over those drawn for labeling."
        return f"The logs have no verdicts; {people} labeled {labels.counted(usable.height, 'rollout')}.{rate}"
    wrong = labels.count(usable.filter("wrong").height)
    return (
        f"{people} labeled {labels.counted(usable.height, 'rollout')} that the judge judged; the judge was wrong on {wrong}. "
        f"{name} is {raw} by the judge, and {fixed} when its errors are corrected."
    )


def people_in_words(names: Sequence[str]) -> str:
    """Name up to two people, and count more."""
    return " and ".join(map(labels.plain, names)) if len(names) < 3 else f"{len(names)} people"


def _numbers(raw: dict[str, Any] | None, fixed: dict[str, Any] | None, usable: pl.DataFrame) -> list[str]:
    """Return the cells of a group: both rates, its labels, and those that contradict the judge."""
    return [
        *(labels.NOTHING if row is None else labels.interval_text(row, rate=True) for row in (raw, fixed)),
        labels.count(usable.height),
        labels.count(usable.filter("wrong").height),
    ]


def _of(rows: pl.DataFrame, group: dict[str, Any], by: tuple[str, ...]) -> pl.DataFrame:
    """Return the rows of a group."""
    for name in by:
        rows = rows.filter(column_named(name).eq_missing(pl.lit(group[name], rows.schema[name])))
    return rows


def _pairs(agreements: pl.DataFrame) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return agreement and kappa of each two raters, people first."""
    rows = agreements.filter(comparison="judges").sort(pl.col("other") == JUDGE, "judge", maintain_order=True)
    return [*zip(*(rows.filter(statistic=name).rows(named=True) for name in ("agreement", "kappa")), strict=True)]


def _reasons(by_hand: Labeled) -> list[str]:
    """Return what is said of the corrected rates, once."""
    reasons = [
        *([] if by_hand.overall[1] is None else [by_hand.overall[1]["reason"]]),
        *by_hand.corrected["reason"].to_list(),
    ]
    return list(dict.fromkeys(reason for reason in reasons if reason))[:MOST_REASONS]


def _disagreement(by_hand: Labeled) -> list[Part]:
    """Name the rollouts on which people disagree, with links to their transcripts."""
    apart = by_hand.labels.filter("disagreement")
    if not apart.height:
        return []
    several = by_hand.labels.filter(pl.col("yes") + pl.col("no") > 1).height
    links = [
        Link(f"{labels.plain(one)}", f"#rollout={quote(one, safe='')}") for one in apart["rollout_id"][:MOST_LINKS]
    ]
    more = ", the first ones" if apart.height > MOST_LINKS else ""
    text = f"People disagree on {labels.count(apart.height)} of {labels.counted(several, 'rollout')} that several labeled{more}:"
    return [Part("note", text=text, lines=links)]
