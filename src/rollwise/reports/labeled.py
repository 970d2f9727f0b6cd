"""Rollouts and people's labels of some of them -> rates corrected for the judge's errors, beside the judge's own."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import polars as pl

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
    """What people's labels say: one label for each rollout, the corrected rates, and how far people and the judge agree.

    `rates` and `corrected` are SUMMARY of the judge's rates and of the corrected ones, row by row of the same groups.
    """

    metric: str
    people: list[str]
    labels: pl.DataFrame
    overall: tuple[dict[str, Any], dict[str, Any]]
    rates: pl.DataFrame
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
    drawn = "probability" in settled.columns and not settled["probability"].null_count()
    common: dict[str, Any] = {"cluster": cluster, "level": level, "unjudged": unjudged}
    by_labels: dict[str, Any] = {"metric": metric, "probability": "probability" if drawn else None, **common}
    overall = (
        summarize(rollouts, metrics=metric, seed=seed, **common).row(0, named=True),
        correct(rollouts, settled, **by_labels).row(0, named=True),
    )
    corrected = correct(rollouts, settled, by=data.by, **by_labels)
    judged = rollouts.select("rollout_id", column_named(metric).alias("judged"), *columns_named(data.by))
    judge = judged.select("rollout_id", judge=pl.lit(JUDGE), value=pl.col("judged").cast(pl.Float64))
    return Labeled(
        metric=metric,
        people=sorted(known["judge"].unique()),
        labels=settled.join(judged, on="rollout_id", how="left", maintain_order="left"),
        overall=overall,
        rates=summarize(rollouts, metrics=metric, by=data.by, seed=seed, **common),
        corrected=corrected,
        agreement=agreement(
            pl.concat([known.select("rollout_id", "judge", "value"), judge.drop_nulls("value")]),
            statistics=("agreement", "kappa"),
            level=level,
            seed=seed,
        ),
    )


def _metric_of(verdicts: pl.DataFrame, data: Frames) -> str:
    """Return the metric that people labeled: what the page asked about, otherwise the first rate of the report."""
    named = verdicts["metric"].drop_nulls().unique().to_list() if "metric" in verdicts.columns else []
    if len(named) > 1:
        raise ArgumentError(f"report: the labels are of {listing(named)}; give those of one metric")
    return str(named[0]) if named else next(iter(data.units), "attack_success")


def corrections(data: Frames, by_hand: Labeled) -> Section:
    """Return the section on people's labels: the corrected rate of each group beside the judge's."""
    usable = by_hand.labels.drop_nulls(["label", "judged"])
    usable = usable.with_columns(wrong=pl.col("label") != pl.col("judged"))
    columns = [*group_columns(data.by), Head("by the judge"), Head("corrected"), Head("labels"), Head("judge wrong on")]
    pairs = (
        [] if not data.by else [*zip(by_hand.rates.rows(named=True), by_hand.corrected.rows(named=True), strict=True)]
    )
    rows = [[*group_cells(data.by, raw), *_numbers(raw, fixed, _of(usable, raw, data.by))] for raw, fixed in pairs]
    everything = ["all", *[""] * (len(data.by) - 1)]
    rows.append([*everything, *_numbers(*by_hand.overall, usable)])
    agreements = [
        [
            row["judge"],
            row["other"],
            labels.interval_text(row, rate=True),
            labels.number(kappa["estimate"]),
            labels.count(row["n"]),
        ]
        for row, kappa in _pairs(by_hand.agreement)
    ]
    heads = [Head("who", word=True), Head("with whom", word=True), Head("same answer"), Head("kappa"), Head("rollouts")]
    caption = f"{labels.label(by_hand.metric)}: by the judge, and corrected by people's labels"
    return Section(
        "labels",
        "What do people say?",
        [
            Part("text", text=_finding(by_hand, usable)),
            Part("table", table=Grid(columns, rows, caption=caption)),
            *[Part("note", text=f"{labels.sentence(reason)}") for reason in _reasons(by_hand)],
            *_disagreement(by_hand),
            Part("folded", text="How far people and the judge agree", table=Grid(heads, agreements)),
            Part(
                "text",
                text="Each label speaks for the rollouts with the same verdict of the judge, so it does not matter that as many "
                "flagged rollouts were labeled as others. Rollouts without an agreed label are not used. All labels are in "
                "labels.parquet.",
            ),
        ],
    )


def _finding(by_hand: Labeled, usable: pl.DataFrame) -> str:
    """Say how often the judge was wrong, and what the rate of all rollouts is when corrected."""
    people = (
        " and ".join(map(labels.plain, by_hand.people)) if len(by_hand.people) < 3 else f"{len(by_hand.people)} people"
    )
    raw, fixed = (labels.interval_text(row, rate=True) for row in by_hand.overall)
    name, wrong = labels.label(by_hand.metric), labels.count(usable.filter("wrong").height)
    return (
        f"{people} labeled {labels.counted(usable.height, 'rollout')} that the judge judged; the judge was wrong on {wrong}. "
        f"{name[0].upper()}{name[1:]} is {raw} by the judge, and {fixed} when its errors are corrected."
    )


def _numbers(raw: dict[str, Any], fixed: dict[str, Any], usable: pl.DataFrame) -> list[str]:
    """Return the cells of a group: both rates, its labels, and those that contradict the judge."""
    return [
        labels.interval_text(raw, rate=True),
        labels.interval_text(fixed, rate=True),
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
    reasons = [by_hand.overall[1]["reason"], *by_hand.corrected["reason"].to_list()]
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
