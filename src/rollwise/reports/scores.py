"""Section on scores: their means by group with intervals, how they spread, and the threshold that would make a rate of them."""

import polars as pl

from rollwise.reports.ends import of_scores
from rollwise.reports.frames import Frames
from rollwise.reports.links import Groups
from rollwise.reports.parts import FigureImages, Grid, Head, Part, Section, group_cells, group_columns, shortened
from rollwise.reports.rates import figure_parts, in_order, unordered
from rollwise.reports.scored import is_varied, scale, score_name, threshold
from rollwise.schema import labels

HEADING = "Which scores were given?"


def scores(data: Frames, images: dict[str, FigureImages], level: float) -> Section:
    """Return the section on scores; without parts if the logs have none."""
    parts: list[Part] = []
    for metric in data.scores:
        by = [name for name in data.by if name in data.means(metric).columns]
        selected, note = shortened(data.means(metric), data.by, "summary.parquet")
        means, spread = (figure_parts(images.get(f"{kind}_{metric}")) for kind in ("mean", "spread"))
        parts += [
            Part("finding", text=of_scores(data, metric)), *means, *spread,
            Part("method", text=" ".join([_seen(data, metric), *unordered(data, metric, by, selected)])), *note,
            Part("table" if not means else "folded", text=labels.sentence(f"{labels.quantity(metric)} in numbers")[:-1],
                 table=_table(data, metric, selected, level)),
        ]  # fmt: skip
    question = "" if data.is_rated else threshold(data.turns, data.rollouts, data.scores)
    parts += [Part("note", text=question)] if question else []
    return Section("scores", HEADING, parts)


def _seen(data: Frames, metric: str) -> str:
    """Say what a score is of, and from where to where its values go."""
    values = data.rollouts[metric].drop_nulls()
    known = f"{labels.count(len(values))} of {labels.counted(data.rollouts.height, data.noun)}"
    known = f"All {labels.counted(len(values), data.noun)}" if len(values) == data.rollouts.height else known
    have = "has" if len(values) == 1 else "have"
    when = " in all turns together" if metric.startswith("total_") else " in the last turn"
    when = when if data.turn_count > data.rollout_count else ""
    name = score_name(metric)
    text = f"{known} {have} {'an' if name[0].lower() in 'aeiou' else 'a'} {name}{when}."
    if is_varied(data.rollouts, metric):
        return f"{text} Its values go from {scale(data.rollouts, [metric])}."
    return f"{text} It is the same in all." if len(values) > 1 else text


def _table(data: Frames, metric: str, means: pl.DataFrame, level: float) -> Grid:
    """Return the mean of each group with its interval, and the median and the ends of its values."""
    by = [name for name in data.by if name in means.columns]
    unknown = means.select(pl.sum_horizontal(*_UNKNOWN).sum()).item() > 0
    heads = [
        *group_columns(by), Head(f"mean [{labels.level_text(level)}]"), Head("median"), Head("min – max"), Head("scored"),
        *([Head("without")] if unknown else []), Head(labels.cluster_heading(means)),
    ]  # fmt: skip
    others = {
        (*(row[name] for name in by), row["statistic"]): labels.number(row["estimate"])
        for row in data.summary.filter(pl.col("n") > 0, metric=metric).rows(named=True)
    }
    cells = []
    ordered = in_order(data, metric, by, means)
    for row in ordered.rows(named=True):
        median, least, most = (others[*(row[name] for name in by), name] for name in ("median", "min", "max"))
        cells.append([
            *group_cells(by, row), labels.interval_text(row, rate=False), median,
            f"{least} – {most}", labels.count(row["n"]),
            *([labels.count(sum(row[name] for name in _UNKNOWN))] if unknown else []), labels.count(row["n_clusters"]),
        ])  # fmt: skip
    return Grid(heads, cells, groups=Groups(data).of_rows(ordered, by))


_UNKNOWN = ("n_error", "n_undetermined", "n_missing")
