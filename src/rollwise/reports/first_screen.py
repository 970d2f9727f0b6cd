"""Title and claims of a report: by the verdicts of the logs, or corrected by people's labels where there are some."""

from dataclasses import replace
from typing import Any

import polars as pl

from rollwise.reports import claims as by_verdicts
from rollwise.reports import title as in_words
from rollwise.reports.claims import Claim
from rollwise.reports.ends import apart, large_groups, names_of, tied
from rollwise.reports.frames import Frames
from rollwise.reports.grouping import naming
from rollwise.reports.labeled import Labeled, people_in_words
from rollwise.reports.parts import Link
from rollwise.schema import labels

_OF_GROUPS = ("worst", "difference", "best")  # claims whose numbers are of the judge's verdicts
_UNCORRECTED = "by the judge, not corrected by the labels"


def title(data: Frames, by_hand: Labeled | None = None) -> str:
    """Say in one sentence what was found; people's labels of the rate that it is about correct it."""
    if not _is_about(data, by_hand) or by_hand is None:
        return in_words.title(data)
    raw, fixed = by_hand.overall
    rate = labels.label(by_hand.metric)
    corrected = "by people's labels" if raw is None else "corrected by people's labels"
    rows = by_hand.corrected if by_hand.corrected.height > 1 else pl.DataFrame()
    if rows.height and (ends := _ends(data, rows)):
        text = f"{rate}, {corrected}: {ends}"
    elif fixed is None or fixed["estimate"] is None:
        return in_words.title(data)
    else:
        judge = "" if raw is None or raw["estimate"] is None else f", by the judge {_percent(raw)}"
        text = f"{rate} is {_percent(fixed)} {corrected}{judge}"
    return f"{text[:1].upper()}{text[1:]}"


def claims(data: Frames, by_hand: Labeled | None = None) -> list[Claim]:
    """Return the claims of the first screen: the corrected rate first, and of those by the judge alone that they are."""
    found = by_verdicts.claims(data)
    if by_hand is None:
        return found
    is_about = _is_about(data, by_hand)
    found = [
        replace(claim, detail="; ".join(part for part in (claim.detail, _UNCORRECTED) if part))
        if is_about and claim.kind in _OF_GROUPS
        else claim
        for claim in found
        if claim.kind != "ask"  # people gave what is asked for
    ]
    raw, fixed = by_hand.overall
    if fixed is None or fixed["estimate"] is None:
        return found
    text: list[str | Link] = [f"{labels.label(by_hand.metric)} by people's labels"]
    if raw is not None:
        text = [
            f"{labels.label(by_hand.metric)} corrected by people's labels; by the judge {labels.interval_text(raw, rate=True)}"
        ]
    number = labels.counted(by_hand.labels.drop_nulls("label").height, "rollout")
    detail = f"{number} labeled by {people_in_words(by_hand.people)}"
    return [Claim("corrected", labels.interval_text(fixed, rate=True), text, detail), *found]


def _is_about(data: Frames, by_hand: Labeled | None) -> bool:
    """Return whether labels are of the rate that the title is about."""
    return by_hand is not None and (
        data.headline is None or not data.is_rated or data.headline.metric == by_hand.metric
    )


def _ends(data: Frames, rows: pl.DataFrame) -> str:
    """Return the highest and the lowest corrected group; empty where their intervals do not tell them apart."""
    by = naming(rows, data.by)
    named, _, _ = large_groups(rows, "labeled")
    if not by or named.height < 2 or not apart(named):
        return ""
    ends = [tied(named, place) for place in (0, -1)]
    return ", ".join(f"{_percent(end.row(0, named=True))} for {names_of(end, by, in_words.MOST_TIED)}" for end in ends)


def _percent(row: dict[str, Any]) -> str:
    return f"{in_words.value_in_title(row['estimate'], rate=True)} %"
