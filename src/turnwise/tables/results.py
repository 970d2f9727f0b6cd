"""Frames with intervals -> columns in words: what each kind of frame shows, and in which order."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from turnwise import labels
from turnwise.tables.grid import Bar, Column

Row = Mapping[str, Any]
_UNKNOWN = ("n_error", "n_undetermined", "n_missing", "n_inapplicable")
_SPARE_METHOD, _SPARE_COUNT, _SPARE_UNIT = 3, 2, 1  # what a narrow terminal does without first


@dataclass(frozen=True, slots=True)
class Sheet:
    """A finished frame, the rows of it that are shown, and the footnotes of their reasons."""

    whole: pl.DataFrame
    rows: Sequence[Row]
    reasons: Sequence[str]

    def differs(self, name: str) -> bool:
        """Whether the column has more than one value."""
        return self.whole[name].n_unique() > 1

    def only(self, name: str) -> Any:
        """The one value of a column that does not differ."""
        return self.whole[name][0]


def columns_of(name: str, whole: pl.DataFrame, most: int, reasons: Sequence[str]) -> list[Column]:
    """The columns of a finished frame, by the name of its schema."""
    makers: dict[str, Callable[[Sheet], list[Column]]] = {
        "SUMMARY": _summary,
        "CONTRAST": _contrast,
        "CURVE": _curve,
        "AGREEMENT": _agreement,
        "PROFILE": _profile,
        "PORTFOLIO": _portfolio,
        "TRADEOFF": _tradeoff,
        "GATE": _gate,
        "FORECAST": _forecast,
        "TRAINING": _training,
    }
    return makers[name](Sheet(whole, whole.head(most).to_dicts(), reasons))


# ── each kind ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def _summary(sheet: Sheet) -> list[Column]:
    metrics, statistics = (sheet.whole[name].n_unique() for name in ("metric", "statistic"))
    what = labels.quantity(sheet.only("metric"), sheet.only("statistic")) if metrics == statistics == 1 else "estimate"
    return [
        *_groups(sheet),
        *_several(sheet, ("metric", "statistic")),
        *_levels(sheet),
        *_estimates(sheet, _metric_rates(sheet), what, ["metric", "statistic"]),
        _counts(sheet, "n", "n"),
        *_unknown(sheet),
        *_clusters(sheet),
        *_method(sheet),
    ]


def _curve(sheet: Sheet) -> list[Column]:
    axis = labels.label(sheet.only("axis")) if not sheet.differs("axis") else "at"
    kinds = sheet.whole.select("kind", "metric", "axis").n_unique()
    kind = sheet.only("kind")
    what = {"success": "share broken", "hazard": "hazard"}.get(kind, labels.label(kind))
    rates = [row["kind"] not in {"trajectory", "best@k"} for row in sheet.rows]
    return [
        *_groups(sheet),
        *_several(sheet, ("metric", "kind", "axis", "ending")),
        Column(axis, [position(row["at"]) for row in sheet.rows]),
        *_levels(sheet),
        *_estimates(sheet, rates, what if kinds == 1 else "share", ["metric", "kind", "axis"]),
        *(_counts(sheet, name, labels.label(name)) for name in ("at_risk", "events")),
        *(
            _counts(sheet, name, labels.label(name), spare=_SPARE_COUNT)
            for name in _there(sheet, ("censored", "competing"))
        ),
        *_clusters(sheet),
        *_method(sheet),
    ]


def _contrast(sheet: Sheet) -> list[Column]:
    scales = [labels.contrast_scale(row["metric"], row["statistic"]) for row in sheet.rows]
    estimates = _estimates(
        sheet, [scale != "number" for scale in scales], "difference", ["metric", "statistic"], value="difference"
    )
    shown = [
        str(cell).replace(" %", " points") if scale == "points" else str(cell)
        for cell, scale in zip(estimates[0].cells, scales, strict=True)
    ]
    tests = [name for name in ("p_value", "p_adjusted") if sheet.whole[name].null_count() < sheet.whole.height]
    arms = ("n_group", "n_baseline") if not sheet.whole["n_pairs"].sum() else ()
    return [
        *_groups(sheet),
        *_several(sheet, ("metric", "statistic", "of")),
        *(_words(name, (row[name] for row in sheet.rows)) for name in ("group", "baseline")),
        *_levels(sheet),
        Column(estimates[0].heading, shown),
        *estimates[1:],
        *(
            Column(
                labels.label(name),
                [labels.p_text(row[name]) for row in sheet.rows],
                spare=_SPARE_COUNT if name != tests[-1] else 0,
            )
            for name in tests
        ),
        _counts(sheet, "n_pairs", "pairs"),
        *(_counts(sheet, name, labels.label(name)) for name in _there(sheet, arms)),
        *_clusters(sheet),
        *_method(sheet),
    ]


def _agreement(sheet: Sheet) -> list[Column]:
    rates = [labels.is_share(row["statistic"]) for row in sheet.rows]
    one = not sheet.differs("statistic")
    told = [labels.coefficient(row["statistic"]) for row in sheet.rows]
    return [
        *_groups(sheet),
        Column("compared", [labels.compared(row) for row in sheet.rows], words=True),
        *([] if one else [Column("statistic", told, words=True)]),
        *_levels(sheet),
        *_estimates(sheet, rates, told[0] if one else "estimate", ["statistic"]),
        _counts(sheet, "n", "n"),
        *(
            _counts(sheet, name, heading, spare=_SPARE_COUNT)
            for name, heading in (("n_single", "single"), ("n_abstained", "abstained"))
            if sheet.whole[name].sum() > 0
        ),
        *_clusters(sheet),
        *_method(sheet),
    ]


def _profile(sheet: Sheet) -> list[Column]:
    rates = [labels.is_rate(row["metric"]) for row in sheet.rows]
    at = [
        labels.level_text(row["at"]) if rate and row["at"] is not None else position(row["at"])
        for row, rate in zip(sheet.rows, rates, strict=True)
    ]
    return [
        *_groups(sheet),
        *_several(sheet, ("metric",)),
        Column("above" if sheet.differs("metric") else f"{labels.label(sheet.only('metric'))} above", at),
        *_levels(sheet),
        *_estimates(sheet, [True] * len(sheet.rows), "share of goals", ["metric"]),
        _counts(sheet, "n", "goals"),
        *(_counts(sheet, name, labels.label(name), spare=_SPARE_COUNT) for name in _there(sheet, ("n_missing",))),
        *([Column("attempts per goal", [labels.number(row["attempts"]) for row in sheet.rows], spare=_SPARE_COUNT)]),
        *_method(sheet),
    ]


def _portfolio(sheet: Sheet) -> list[Column]:
    greedy = sheet.whole["rank"].null_count() < sheet.whole.height
    only = ("only_member", "only_other", "both", "neither")
    return [
        *_groups(sheet),
        *_several(sheet, ("metric", "kind", "of")),
        *([_counts(sheet, "rank", "rank")] if greedy else []),
        _words(labels.label(sheet.only("of")) if not sheet.differs("of") else "member", _each(sheet, "member")),
        *([_words("with", _each(sheet, "other"))] if sheet.whole["other"].count() else []),
        *_levels(sheet),
        *_estimates(sheet, [True] * len(sheet.rows), "goals reached", ["metric", "kind"]),
        *(_counts(sheet, name, labels.label(name), spare=_SPARE_COUNT) for name in only if sheet.whole[name].count()),
        _counts(sheet, "union", "either"),
        _counts(sheet, "n", "goals"),
        *(_counts(sheet, name, labels.label(name), spare=_SPARE_COUNT) for name in _there(sheet, ("n_missing",))),
        *_method(sheet),
    ]


def _tradeoff(sheet: Sheet) -> list[Column]:
    outcomes = ("attack_success", "task_success")
    return [
        *_groups(sheet),
        *(Column(labels.label(name), [yes_or_no(row[name]) for row in sheet.rows], words=True) for name in outcomes),
        *_levels(sheet),
        *_estimates(sheet, [True] * len(sheet.rows), "share", ["n"]),
        _counts(sheet, "count", "rollouts"),
        _counts(sheet, "n", "of"),
        *(_counts(sheet, name, labels.label(name), spare=_SPARE_COUNT) for name in _there(sheet, ("n_missing",))),
        *_clusters(sheet),
        *_method(sheet),
    ]


def _gate(sheet: Sheet) -> list[Column]:
    rates = [labels.is_rate(row["metric"] or "") for row in sheet.rows]
    bounds = [
        labels.number(row["bound"], row["low"], row["high"], rate=rate)
        for row, rate in zip(sheet.rows, rates, strict=True)
    ]
    several = sheet.differs("requirement")
    required = "" if several else labels.plain(sheet.only("requirement"))
    return [
        *_groups(sheet),
        *([_words("requirement", _each(sheet, "requirement"))] if several else []),
        Column(required, ["passed" if row["passed"] else "failed" for row in sheet.rows], words=True),
        *_levels(sheet),
        Column("bound", bounds),
        *_estimates(sheet, rates, "estimate", ["metric", "statistic"]),
        _counts(sheet, "n", "n"),
        *_unknown(sheet),
        *_clusters(sheet),
        *_method(sheet),
    ]


def _forecast(sheet: Sheet) -> list[Column]:
    errors = [
        f"{labels.number(row['holdout_error'], rate=True).replace(' %', ' points')} at {labels.count(row['holdout_at'])}"
        if row["holdout_error"] is not None
        else labels.NOTHING
        for row in sheet.rows
    ]
    tried = sheet.whole["holdout_error"].count() > 0
    return [
        *_groups(sheet),
        *_several(sheet, ("metric",)),
        Column("attempts", [labels.count(row["at"]) for row in sheet.rows]),
        *_levels(sheet),
        *_estimates(sheet, [True] * len(sheet.rows), "forecast", ["metric"]),
        _counts(sheet, "attempts", "tried"),
        *([Column("error when tried", errors, spare=_SPARE_COUNT)] if tried else []),
        *_clusters(sheet),
        *_method(sheet),
    ]


def _training(sheet: Sheet) -> list[Column]:
    rates = _metric_rates(sheet)
    changes = []
    for row, rate in zip(sheet.rows, rates, strict=True):
        change = {"difference": row["difference"], "low": row["difference_low"], "high": row["difference_high"]}
        changes.append(labels.difference_text(change, "points" if rate else "number"))
    alike = ("all_success", "all_fail") if sheet.whole["groups"].sum() else ()
    return [
        *_groups(sheet),
        *_several(sheet, ("metric",)),
        Column("step", [position(row["step"]) for row in sheet.rows]),
        *_levels(sheet),
        *_estimates(
            sheet, rates, "estimate" if sheet.differs("metric") else labels.label(sheet.only("metric")), ["metric"]
        ),
        Column("change since the step before", changes, spare=_SPARE_UNIT),
        *(
            Column(labels.label(name), [labels.number(row[name], rate=True) for row in sheet.rows], spare=_SPARE_COUNT)
            for name in alike
        ),
        _counts(sheet, "n", "n"),
        *_unknown(sheet),
        *_clusters(sheet),
        *_method(sheet),
    ]


# ── what they share ───────────────────────────────────────────────────────────────────────────────────────────────────
def yes_or_no(value: bool | None) -> str:  # noqa: FBT001  # a cell
    """A truth in a word.

    Examples
    --------
    >>> yes_or_no(True), yes_or_no(None)
    ('yes', '–')
    """
    return labels.NOTHING if value is None else "yes" if value else "no"


def position(value: float | None) -> str:
    """A place on an axis, as it is.

    Examples
    --------
    >>> position(3.0), position(12500.0), position(None)
    ('3', '12,500', '–')
    """
    return labels.NOTHING if value is None else f"{value:,.10g}"


def _metric_rates(sheet: Sheet) -> list[bool]:
    known = {name: labels.is_rate(name, sheet.whole) for name in sheet.whole["metric"].drop_nulls().unique()}
    return [known.get(row["metric"], False) for row in sheet.rows]


def _each(sheet: Sheet, name: str) -> Iterable[Any]:
    return (row[name] for row in sheet.rows)


def _words(heading: str, values: Iterable[Any]) -> Column:
    cells = [labels.NOTHING if value is None else labels.plain(value) for value in values]
    return Column(labels.plain(heading), cells, words=True)


def _groups(sheet: Sheet) -> list[Column]:
    return [
        Column(labels.label(name), [labels.group_name(row, [name]) for row in sheet.rows], words=True)
        for name in labels.grouping(sheet.whole)
    ]


def _several(sheet: Sheet, names: Sequence[str]) -> list[Column]:
    """A column of words for each of those that differ between rows; what is alike in all of them is said once, elsewhere."""
    return [
        Column(
            name, [labels.NOTHING if row[name] is None else labels.label(row[name]) for row in sheet.rows], words=True
        )
        for name in names
        if sheet.differs(name)
    ]


def _method(sheet: Sheet) -> list[Column]:
    """How each interval was made, where that differs; the caption says at least how many methods there are."""
    if not sheet.differs("method"):
        return []
    return [Column("method", list(_words("", _each(sheet, "method")).cells), words=True, spare=_SPARE_METHOD)]


def _levels(sheet: Sheet) -> list[Column]:
    if not sheet.differs("level"):
        return []
    levels = _each(sheet, "level")
    return [Column("level", [labels.NOTHING if level is None else labels.level_text(level) for level in levels])]


def _estimates(
    sheet: Sheet, rates: Sequence[bool], what: str, alike: Sequence[str], *, value: str = "estimate"
) -> list[Column]:
    """Estimate, interval, and the interval drawn on the scale of all rows that are alike."""
    level = sheet.rows[0]["level"]
    one = not sheet.differs("level") and level is not None
    scales = {tuple(part.select(alike).row(0)): _scale(part, value) for part in sheet.whole.partition_by(alike)}
    values, brackets, bars = [], [], []
    for row, rate in zip(sheet.rows, rates, strict=True):
        estimate, low, high = row[value], row["low"], row["high"]
        number = labels.number(estimate, low, high, rate=rate)
        mark = labels.superscript(1 + sheet.reasons.index(labels.plain(row["reason"]))) if row["reason"] else ""
        inside = labels.bracket(low, high, value=estimate, rate=rate) or labels.NOTHING
        values.append(f"{number} {mark}".rstrip())
        brackets.append(f"{inside} %" if rate and estimate is None and inside != labels.NOTHING else inside)
        words = labels.interval_text({**row, "estimate": estimate}, rate=rate)
        bars.append(Bar(estimate, low, high, scales[tuple(row[name] for name in alike)], words))
    heading = f"{labels.level_text(level)} interval" if one else "interval"
    return [Column(what, values), Column("", bars, drawn=True), Column(heading, brackets)]


def _scale(part: pl.DataFrame, value: str) -> tuple[float, float]:
    """From the least to the greatest end of an interval, 0 included where all are above it and it is not far."""
    ends = part.select(value, "low", "high").unpivot()["value"].drop_nulls()
    least, greatest = (float(end) for end in (ends.min() or 0.0, ends.max() or 0.0))  # type: ignore[arg-type]
    if value == "difference":
        return min(least, 0.0), max(greatest, 0.0)
    return (0.0 if 0 <= least <= greatest / 2 else least), greatest


def _counts(sheet: Sheet, name: str, heading: str, *, spare: int = 0) -> Column:
    return Column(heading, [labels.count(row[name]) for row in sheet.rows], spare=spare)


def _there(sheet: Sheet, names: Iterable[str]) -> list[str]:
    """The counts that are above 0 somewhere."""
    return [name for name in names if name in sheet.whole.columns and sheet.whole[name].sum() > 0]


def _unknown(sheet: Sheet) -> list[Column]:
    return [_counts(sheet, name, labels.label(name), spare=_SPARE_COUNT) for name in _there(sheet, _UNKNOWN)]


def _clusters(sheet: Sheet) -> list[Column]:
    if sheet.whole["n_clusters"].null_count() == sheet.whole.height:
        return []
    return [_counts(sheet, "n_clusters", labels.cluster_unit(sheet.whole), spare=_SPARE_UNIT)]
