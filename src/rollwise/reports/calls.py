"""The Python call that makes a figure of a report: from `turns`, as the calls of `doctor`, or from a file of the report."""

from typing import Any

import polars as pl

from rollwise.plots import theme
from rollwise.plots.interval_rows import FEW
from rollwise.reports.comparisons import UNITS, assessed, judges_of
from rollwise.reports.frames import SPENT, Frames
from rollwise.reports.grouping import naming, visible
from rollwise.reports.rates import unordered
from rollwise.reports.rollouts import numeric_columns
from rollwise.reports.taxonomy import drawn_rates
from rollwise.schema import labels
from rollwise.schema.named import columns_named, values_named

_USUAL = {"cluster": "auto", "level": 0.95, "unjudged": "bounds", "seed": 0}


def call(name: str, data: Frames, frame: pl.DataFrame, **options: Any) -> str:
    """Return the call that draws the figure of this name: `turns` are the rollouts of the report, other files are in its folder."""
    kind, _, rest = name.partition("_")
    by = labels.grouping(frame)
    if name in UNITS or name == "effort":
        metric = frame["metric"][0]
        known = ".filter(pl.col('n') > 0)" if _groups(data, by) > frame.height and frame["n"].min() else ""
        how = _summarized(data, metric, by, options) + known
        which = f", metric={metric!r}, statistic='mean'" if name == "effort" else _unsorted(data, metric, by, frame)
        return f"rw.plots.forest({how}{which})"
    if name == "curve":
        how = _options({"cluster": "auto", "level": 0.95}, options)
        judged = ".drop_nulls('time_to_success')" if data.rollouts["time_to_success"].null_count() else ""
        return f"rw.plots.curve(rw.curve({_measured(data, by)}{judged}{_by(by)}{how}))"
    if kind == "contrast" and _whole(data, frame):
        of, metric, baselines = frame["of"][0], frame["metric"][0], frame["baseline"].unique()
        against = f", baseline={baselines[0]!r}" if len(baselines) == 1 else ""
        # The differences of a report are paired by the unit of its attempts.
        unit = {"cluster": options.get("cluster", "auto")}
        unit = unit if unit["cluster"] != "auto" else {"cluster": data.unit(metric)}
        few = (
            2 * frame["n_pairs"] < frame.select(pl.sum_horizontal("n_pairs", "only_group", "only_baseline")).to_series()
        )
        paired = ", paired=True" if few.any() else ""
        how = f"of={of!r}{against}{_by(by)}, metrics={metric!r}{paired}{_options(_USUAL, {**options, **unit})}"
        return f"rw.plots.contrast(rw.contrast({_measured(data, [of, *by])}, {how}))"
    return _of_a_file(kind, rest, data, frame)


def _whole(data: Frames, frame: pl.DataFrame) -> bool:
    """Return whether one comparison of all rollouts makes these rows: only some may share goals, judges, or have an attack."""
    rows, of = assessed(data.rollouts, frame["metric"][0]), frame["of"][0]
    values = values_named(rows, of).drop_nulls().cast(pl.String)
    if judges_of(rows, [of], [name for name in data.by if name != of]).height:
        return False
    return rows.height == data.rollouts.height and set(values) == {*frame["group"], *frame["baseline"]}


def _of_a_file(kind: str, rest: str, data: Frames, frame: pl.DataFrame) -> str:
    """Return the call that draws rows of a file of the report."""
    if kind == "heat":
        return "rw.plots.heat_map(pl.read_parquet('category_attack.parquet'), rows='category', columns='attack')"
    if kind == "taxonomy":
        taxonomy = [*drawn_rates(data.hazards)][int(rest) - 1]
        rows = f"pl.read_parquet('taxonomy.parquet').filter(pl.col('n') > 0, taxonomy={taxonomy!r})"
        return f"rw.plots.forest({rows}.drop('taxonomy'))"
    if kind == "spread":
        by = naming(visible(data.means(rest), data.by), data.by)
        groups = by if 1 < data.means(rest).height <= theme.MAX_COLORS else ()
        return f"rw.plots.distribution(pl.read_parquet('rollouts.parquet'), metric={rest!r}{_by([*groups])}, kind='histogram')"
    file, verb = {"mean": ("summary", "forest"), "changes": ("changes", "contrast")}.get(kind, (kind, kind))
    of = f", of={frame['of'][0]!r}" if kind == "contrast" else ""
    judged = "pl.col('n') > 0, " if kind == "mean" and frame["n"].min() else ""
    which = {"mean": f"{judged}statistic='mean', ", "attempts": "pl.col('kind') != 'pass^k', "}.get(kind, "")
    rows = f"pl.read_parquet('{file}.parquet').filter({which}metric={frame['metric'][0]!r}{of})"
    left_out = [name for name in data.by if name not in frame.columns]
    order = _unsorted(data, frame["metric"][0], labels.grouping(frame), frame) if kind == "mean" else ""
    return f"rw.plots.{verb}({rows}{f'.drop({left_out!r})' if left_out else ''}{order})"


def _unsorted(data: Frames, metric: str, by: list[str], rows: pl.DataFrame) -> str:
    """Return what puts rows of few rollouts last and keeps the others in the order of names, where values do not order them."""
    if not unordered(data, metric, by, rows):
        return ""
    few = f".sort(pl.col('n') < {FEW}, maintain_order=True)" if (rows["n"] < FEW).n_unique() > 1 else ""
    return f"{few}, sort=False"


def _measured(data: Frames, by: list[str]) -> str:
    turns = "rw.rollout.paths(turns)" if data.tree else "turns"
    kept = numeric_columns(data.turns, tuple(by))
    return f"rw.measure({turns}, keep={kept!r})" if kept else f"rw.measure({turns})"


def _summarized(data: Frames, metric: str, by: list[str], options: dict[str, Any]) -> str:
    measured = _measured(data, by)
    if metric in SPENT:
        measured = measured.removesuffix(")").replace("turns", "turns, rw.metrics.EFFORT", 1) + ")"
    return f"rw.summarize({measured}{_by(by)}, metrics={metric!r}{_options(_USUAL, options)})"


def _by(by: list[str]) -> str:
    return f", by={by!r}" if by else ""


def _options(usual: dict[str, Any], given: dict[str, Any]) -> str:
    """Return the options that are not the usual ones."""
    return "".join(f", {name}={given[name]!r}" for name, value in usual.items() if given.get(name, value) != value)


def _groups(data: Frames, by: list[str]) -> int:
    return data.rollouts.select(columns_named(by)).n_unique() if by else 1
