"""Marks of a trade-off: positions of groups, trials and references in two metrics, and the Pareto front."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from rollwise import schema
from rollwise.comparisons.selection import Better, direction, pareto
from rollwise.errors import ArgumentError, listing
from rollwise.plots import drawn, theme
from rollwise.plots.interval_rows import shape_of
from rollwise.schema import labels
from rollwise.schema.arguments import frame_of
from rollwise.schema.named import column_named, columns_named
from rollwise.schema.option_types import check_option_types

MARKS = {
    "role": pl.String,  # group; trial (a single one of a group); reference (another system for comparison)
    "group": pl.String,
    "key": pl.String,  # JSON of the grouping columns and values
    "x_metric": pl.String,
    "x": pl.Float64,
    "x_low": pl.Float64,
    "x_high": pl.Float64,
    "y_metric": pl.String,
    "y": pl.Float64,
    "y_low": pl.Float64,
    "y_high": pl.Float64,
    "shape": pl.String,  # point; range (an interval without an estimate); missing (cannot be drawn)
    "pareto": pl.Boolean,  # no other group is as good in both and better in one; null without an estimate, and for other roles
    "text": pl.String,  # both estimates as text
    "color": pl.String,  # null for a gray reference
    "marker": pl.String,
}
GROUP = "\0group"  # name of a helper column that holds the name of the group


def pareto_marks(
    summary: object,
    *,
    x: str | None = None,
    y: str | None = None,
    statistic: str | None = None,
    level: float | None = None,
    better: Mapping[str, Better] | None = None,
    front: bool = True,
    trials: object = None,
    references: object = None,
    colors: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """Return the marks of `pareto`: one row per group, trial and reference, including rows that cannot be drawn.

    Examples
    --------
    >>> rows = {"target": ["a", "b"] * 2, "metric": ["attack_success"] * 2 + ["task_success"] * 2, "statistic": "mean"}
    >>> ends = {"estimate": [0.1, 0.4, 0.5, 0.4], "low": [0.0, 0.3, 0.4, 0.3], "high": [0.2, 0.5, 0.6, 0.5]}
    >>> marks = pareto_marks(pl.DataFrame(rows | {"level": 0.95, "n": 50} | ends))
    >>> marks.select("group", "x", "y", "pareto").rows()
    [('a', 0.1, 0.5, True), ('b', 0.4, 0.4, False)]
    """
    check_option_types(pareto_marks, locals(), "pareto")
    frame = chosen(summary, x, y, statistic, level)
    by = labels.grouping(frame)
    named = frame.with_columns(pl.Series(GROUP, labels.group_names(frame, by), dtype=pl.String))
    look = theme.looks(named[GROUP], colors)
    table = _rows(named, "group", by, look)
    if front:
        across, up = frame["metric"].unique(maintain_order=True)
        ways = directions({"x": across, "y": up}, better)
        table = pareto(table, {"x": ways[across], "y": ways[up]}).select(*MARKS)
    if trials is not None:
        table = pl.concat([table, _trials(trials, named, by, look)])
    if references is not None:
        table = pl.concat([table, _references(references, named, colors or {})])
    return table


def require_known(marks: pl.DataFrame, verb: str) -> None:
    """Raise an error if no group can be drawn."""
    if (marks.filter(role="group")["shape"] == "missing").all():
        raise ArgumentError(
            f"{verb}: no group has an estimate or an interval of both metrics; `rw.doctor(turns)` says why"
        )


def single_out(trials: object, frame: pl.DataFrame) -> list[str]:
    """Return the columns that distinguish the trials of one group."""
    by = labels.grouping(frame)
    return [name for name in labels.grouping(frame_of(trials, "pareto: trials=")) if name not in by]


# ── rows ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def chosen(
    summary: object, x: str | None, y: str | None, statistic: str | None, level: float | None, verb: str = "pareto"
) -> pl.DataFrame:
    """Return one row for each group and metric, the metric of the x axis first."""
    frame = labels.finished(summary, schema.SUMMARY, verb, statistic=statistic, level=level)
    metrics = frame["metric"].unique(maintain_order=True).to_list()
    for name in (x, y):
        if name is not None and name not in metrics:
            raise ArgumentError(f"{verb}: there is no metric {name!r}; available: {listing(metrics)}")
    # A metric that is not named is the only other one in the frame.
    others = [name for name in metrics if name not in {x, y}]
    number_chosen = (x is not None) + (y is not None)
    if (x is not None and x == y) or (number_chosen < 2 and len(others) != 2 - number_chosen):
        raise ArgumentError(
            f"{verb}: it needs two metrics, and the SUMMARY has {listing(metrics)}; "
            + ("name them with x= and y=" if len(metrics) > 2 else "summarize two: `metrics=[...]`")
        )
    across = x if x is not None else others.pop(0)
    up = y if y is not None else others.pop(0)
    frame = pl.concat([frame.filter(metric=across), frame.filter(metric=up)])
    if statistic is None and frame["statistic"].n_unique() > 1:
        # Several statistics: means, if both metrics have them.
        means = frame.filter(statistic="mean")
        if means["metric"].n_unique() < 2:
            raise ArgumentError(
                f"{verb}: there are several statistics ({listing(frame['statistic'])}); choose one with statistic="
            )
        frame = means
    frame = frame.filter(pl.col("level").eq_missing(pl.col("level").max()))
    if frame["metric"].n_unique() < 2:  # the other one has no row of that statistic and level
        raise ArgumentError(
            f"{verb}: the two metrics have no statistic and level in common; choose with statistic= and level="
        )
    by = labels.grouping(frame)
    drawn.check_once(frame, [*by, "metric"], verb, lambda row: f"group {labels.group_name(row, by)!r}")
    return frame


def directions(metrics: Mapping[str, str], better: Mapping[str, Better] | None) -> dict[str, Better]:
    """Return the direction in which each metric is better: as given, or as in the catalog of metrics."""
    chosen_directions: object = {} if better is None else better
    if not isinstance(chosen_directions, Mapping):
        example = {
            name: chosen_directions if chosen_directions in {"higher", "lower"} else "lower"
            for name in metrics.values()
        }
        raise ArgumentError(
            f"pareto: better={chosen_directions!r} does not name the metrics; name each, as in better={example}"
        )
    unknown = [name for name in chosen_directions if name not in metrics.values()]
    if unknown:
        raise ArgumentError(f"pareto: better= names {listing(unknown)}, but {listing(metrics.values())} are drawn")
    ways = {}
    for name in metrics.values():
        try:
            ways[name] = direction(name, chosen_directions.get(name), verb="pareto")
        except ArgumentError as error:
            raise ArgumentError(
                f"pareto: it is unknown which way {name!r} is better; pass better={{{name!r}: 'lower'}} or 'higher', "
                "or leave out the front with front=False"
            ) from error
    return ways


def _rows(frame: pl.DataFrame, role: str, by: Sequence[str], look: Mapping[str, theme.Look]) -> pl.DataFrame:
    """Return one mark for each combination of values in `by`, named by column `GROUP`."""
    across, up = frame["metric"].unique(maintain_order=True)
    rates = {name: labels.is_rate(name, frame) for name in (across, up)}
    marks = []
    for part in frame.partition_by(columns_named(by), maintain_order=True) if by else [frame]:
        row_of_metric: dict[str, Mapping[str, Any]] = {row["metric"]: row for row in part.iter_rows(named=True)}
        name = part[GROUP][0]
        ends = {
            f"{side}{end}": row_of_metric.get(metric, {}).get(column)
            for side, metric in (("x", across), ("y", up))
            for end, column in (("", "estimate"), ("_low", "low"), ("_high", "high"))
        }
        # A group is a point with both estimates, a range with both intervals, and otherwise not drawn.
        shapes = [shape_of(*(ends[f"{side}{end}"] for end in ("", "_low", "_high"))) for side in ("x", "y")]
        has_both = all(ends[side] is not None for side in ("x", "y"))
        texts = [
            f"{labels.label(metric)} {labels.interval_text(row_of_metric[metric], rate=rates[metric])}"
            for metric in (across, up)
            if metric in row_of_metric
        ]
        marks.append(
            {"role": role, "group": name, "key": labels.group_keys(part, by)[0], "text": ", ".join(texts)}
            | {"x_metric": across, "y_metric": up}
            | {"shape": "point" if has_both else "missing" if "empty" in shapes else "range"}
            | {"color": look[name].color, "marker": look[name].marker}
            | ends
        )
    return pl.DataFrame(marks, schema=MARKS, orient="row")


def _same_metrics(summary: object, frame: pl.DataFrame, argument: str) -> pl.DataFrame:
    """Return the rows of another SUMMARY that have the same metrics and statistic."""
    across, up = frame["metric"].unique(maintain_order=True)
    return chosen(summary, across, up, frame["statistic"][0], None, f"pareto: {argument}=")


def _trials(trials: object, frame: pl.DataFrame, by: Sequence[str], look: Mapping[str, theme.Look]) -> pl.DataFrame:
    trial_by = labels.grouping(frame_of(trials, "pareto: trials="))
    if missing := [name for name in by if name not in trial_by]:
        raise ArgumentError(f"pareto: trials= lacks {listing(missing)}, by which the summary is grouped")
    if len(trial_by) == len(by):
        grouped = f"is grouped by {listing(by)}, as the summary is" if by else "has no grouping column"
        more = [*by, "run"]
        raise ArgumentError(
            f"pareto: trials= {grouped}; single trials have those columns and one more, "
            f"such as `rw.summarize(rollouts, by={more!r})`"
        )
    rows = _same_metrics(trials, frame, "trials")
    words = [column_named(name).cast(pl.String) for name in by]
    groups = frame.select(*words, GROUP).unique()
    rows = rows.with_columns(words)  # so that a Categorical in one frame matches a String in the other
    # Rows of other groups are dropped.
    rows = (
        rows.join(groups, on=columns_named(by), nulls_equal=True, maintain_order="left")
        if by
        else rows.join(groups, how="cross")
    )
    if rows.is_empty():
        raise ArgumentError(f"pareto: no trial belongs to a group of the summary ({listing(groups[GROUP])})")
    bare = [pl.lit(None, pl.Float64).alias(end) for end in ("low", "high")]
    return _rows(rows.with_columns(bare), "trial", trial_by, look)


def _references(references: object, frame: pl.DataFrame, colors: Mapping[str, str]) -> pl.DataFrame:
    rows = _same_metrics(references, frame, "references")
    by = labels.grouping(rows)
    rows = rows.with_columns(pl.Series(GROUP, labels.group_names(rows, by), dtype=pl.String))
    if twice := sorted({*rows[GROUP]} & {*frame[GROUP]}):
        raise ArgumentError(
            f"pareto: references= has {twice[0]!r}, which is also a group of the summary; filter it out of one of them"
        )
    looks = theme.looks(rows[GROUP], colors)
    # References take markers from the other end of the list, and gray unless colors are given.
    last = theme.MARKERS[::-1]  # groups use the first markers
    swapped = {name: theme.Look(look.color, last[theme.MARKERS.index(look.marker)]) for name, look in looks.items()}
    gray = pl.when(pl.col("group").is_in(list(colors))).then("color").alias("color")
    return _rows(rows, "reference", by, swapped).with_columns(gray)
