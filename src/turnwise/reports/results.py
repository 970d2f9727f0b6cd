"""Sections with results: rates, curves, cells, comparisons, goals, effort."""

from typing import Any

import polars as pl

from turnwise.reports.accounts import bounds
from turnwise.reports.frames import SPENT, UNITS, Frames
from turnwise.reports.left_out import not_compared, without_profile
from turnwise.reports.parts import FigureImages, Grid, Head, Part, Section, group_cells, group_columns, to_transcripts
from turnwise.schema import labels

HEADINGS = {"attack_success": "Did the attacks succeed?", "task_success": "Was the user's task done?"}


def results(data: Frames, images: dict[str, FigureImages], level: float) -> list[Section]:
    """Return the results section by section; the page leaves out empty sections."""
    return [
        *(_rate(data, metric, images.get(metric), level) for metric in UNITS if _has(data, metric)),
        *([_training(data, images, level)] if data.trained.height else []),
        *([_curve(data, images["curve"])] if "curve" in images else []),
        *([_grid(data, images.get("heat_map"))] if data.grid.height else []),
        _contrasts(data, images, level),
        *([_profiles(data, images)] if data.profiles.height else []),
        _effort(data),
    ]


def _has(data: Frames, metric: str) -> bool:
    return bool((data.summary["metric"] == metric).any())


def _figure(images: FigureImages | None) -> list[Part]:
    if images is None:
        return []
    return [Part("figure", images=images), *([Part("note", text=images.note)] if images.note else [])]


def _rate(data: Frames, metric: str, figure: FigureImages | None, level: float) -> Section:
    rows = data.summary.filter(pl.col("metric") == metric)
    # Columns of unknown results are shown only if there are any.
    unknown = [name for name in ("n_error", "n_undetermined", "n_missing") if rows[name].sum()]
    columns = [
        *group_columns(data),
        Head(f"rate [{labels.level_text(level)}]"),
        Head("of rollouts"),
        *(Head(labels.label(name)) for name in unknown),
        *([Head("if unknown fail – succeed")] if unknown else []),
        Head("clusters"),
    ]
    cells = [
        [
            *group_cells(data, row),
            labels.interval_text(row, rate=True),
            to_transcripts(_of(row), data, row, **({metric: "yes"} if row["estimate"] else {})),
            *(labels.count(row[name]) for name in unknown),
            *([bounds(row)] if unknown else []),
            labels.count(row["n_clusters"]),
        ]
        for row in _in_order(data, rows).rows(named=True)
    ]
    parts = [Part("text", text=_headline(data, rows, metric)), *_figure(figure)]
    parts += [Part("note", text=note) for note in _reasons(rows)]
    parts += _mixed(data, rows)
    parts.append(
        Part(
            "table" if (unknown and rows.height <= 12) or not figure else "folded",
            text="The rates in numbers",
            table=Grid(columns, cells),
        )
    )
    return Section(metric.replace("_", "-"), HEADINGS[metric], parts)


def _in_order(data: Frames, rows: pl.DataFrame) -> pl.DataFrame:
    """Sort by descending rate, or by training steps and other numeric groups."""
    if any(rows.schema[name].is_numeric() for name in data.by):
        return rows.sort(data.by, nulls_last=True)
    return rows.sort("estimate", descending=True, nulls_last=True)


def _of(row: dict[str, Any]) -> str:
    if row["estimate"] is None:
        return f"– / {labels.count(row['n'])}"
    return f"{labels.count(row['estimate'] * row['n'])} / {labels.count(row['n'])}"


def _headline(data: Frames, rows: pl.DataFrame, metric: str) -> str:
    """Name the highest and the lowest group in one sentence."""
    estimated = rows.filter(pl.col("estimate").is_not_null()).sort("estimate", descending=True).rows(named=True)
    done = {"attack_success": "Attacks succeeded", "task_success": "Tasks were solved"}[metric]
    if not estimated:
        return f"No group has a known rate; the table says why. {_worse(metric)}"
    most, least = estimated[0], estimated[-1]
    if not data.by:
        return f"{done} in {labels.interval_text(most, rate=True)} of rollouts. {_worse(metric)}"
    ends = f"most often for {labels.group_name(most, data.by)}: {labels.interval_text(most, rate=True)}"
    if len(estimated) == 1:
        ends = f"in {labels.interval_text(most, rate=True)} of rollouts of {labels.group_name(most, data.by)}"
    else:
        ends += f"; least often for {labels.group_name(least, data.by)}: {labels.interval_text(least, rate=True)}"
    return f"{done} {ends}. {_worse(metric)}"


def _worse(metric: str) -> str:
    return "Lower is better for the defender." if metric == "attack_success" else "Higher is better."


def _reasons(rows: pl.DataFrame) -> list[str]:
    reasons = rows.group_by("reason", maintain_order=True).len().drop_nulls("reason").rows()
    return [f"{reason} ({labels.counted(several, 'group')})." for reason, several in reasons]


def _training(data: Frames, images: dict[str, FigureImages], level: float) -> Section:
    """Return the section on training: the rate at each step, and its change from the step before."""
    parts = [
        Part(
            "text",
            text="The rate (or the mean reward) at each training step, and its change from the step before over the goals "
            "(or tasks) of both. Training that compares attempts at the same goal learns nothing from goals whose attempts "
            "all have the same result.",
        )
    ]
    by = [name for name in data.by if name != data.step]
    for metric in data.trained["metric"].unique(maintain_order=True):
        rows = data.trained.filter(metric=metric)
        # Rates have changes in percentage points, rewards in their own unit.
        rate = labels.is_rate(metric, rows)
        share_columns = [name for name in ("all_success", "all_fail") if rows[name].count()]
        columns = [
            *(Head(labels.label(name), word=True) for name in by), Head(labels.label(data.step or "step")),
            Head(f"{'rate' if rate else 'mean'} [{labels.level_text(level)}]"),
            Head("change"), *(Head(labels.label(name)) for name in share_columns),
            Head("rollouts"),
        ]  # fmt: skip
        cells = [
            [
                *(labels.value_name(row[name]) for name in by), labels.value_name(row["step"]),
                labels.interval_text(row, rate=rate), labels.difference_text(change, "points" if rate else "number"),
                *(labels.number(row[name], rate=True) for name in share_columns), labels.count(row["n"]),
            ]
            for row in rows.rows(named=True)
            for change in [row | {"low": row["difference_low"], "high": row["difference_high"]}]
        ]  # fmt: skip
        figure = _figure(images.get(f"training_{metric}"))
        table = Grid(columns, cells, caption=f"{labels.label(metric)} by training step")
        parts += [*figure, Part("folded" if figure else "table", text="The steps in numbers", table=table)]
    return Section("training", "Did training change it?", parts)


def _curve(data: Frames, figure: FigureImages) -> Section:
    columns = [
        *group_columns(data),
        *(Head(name) for name in ("turn", "success by then", "at risk", "succeeded", "censored", "ended otherwise")),
    ]
    cells = [
        [
            *group_cells(data, row), labels.count(row["at"]), labels.interval_text(row, rate=True),
            *(labels.count(row[name]) for name in ("at_risk", "events", "censored", "competing")),
        ]
        for row in data.curve.rows(named=True)
    ]  # fmt: skip
    text = (
        "Attack success by turn. An attack that gave up or a conversation that the target "
        "ended can no longer succeed; rollouts that ran out of turns or crashed are censored."
    )
    notes = [
        Part("note", text=note)
        for note in data.curve["reason"].drop_nulls().unique(maintain_order=True)
        if "unknown time" in note
    ]
    folded = Part("folded", text="The curve in numbers", table=Grid(columns, cells))
    return Section(
        "success-by-turn",
        "At which turn did they succeed?",
        [Part("text", text=text), *_figure(figure), *notes[:3], folded],
    )


def _grid(data: Frames, figure: FigureImages | None) -> Section:
    """Return the section on category x attack: every cell with its interval."""
    rows = data.grid.filter(pl.col("n") + pl.col("n_error") + pl.col("n_undetermined") + pl.col("n_missing") > 0)
    columns = [Head("category", word=True), Head("attack", word=True), Head("rate"), Head("of rollouts")]
    cells = [
        [
            labels.value_name(row["category"]),
            labels.value_name(row["attack"]),
            labels.interval_text(row, rate=True),
            _of(row),
        ]
        for row in rows.rows(named=True)
    ]
    text = "Attack success by category of goals and by attack. A cell with few rollouts has a wide interval."
    if figure is None:
        text += " A figure would have too many cells; see the table."
    return Section(
        "categories",
        "Which attacks succeed in which categories?",
        [
            Part("text", text=text),
            *_figure(figure),
            Part("folded", text="The cells in numbers", table=Grid(columns, cells)),
        ],
    )


def _contrasts(data: Frames, images: dict[str, FigureImages], level: float) -> Section:
    """Return the section on differences between groups, over the goals or tasks that both tried."""
    text = (
        "Each difference is paired by the goals (or tasks) that both groups tried, which is more precise than comparing two "
        "intervals. P-values are adjusted for all comparisons in a table."
    )
    parts = [Part("text", text=text)] if data.contrasts.height else []
    for metric in UNITS:
        for name in data.by:
            rows = data.contrasts.filter(metric=metric, of=name)
            figure = _figure(images.get(f"contrast_{metric}_{name}"))
            if rows.height:
                description = (
                    f"differences in {labels.label(metric)}, {labels.label(name)} against {labels.label(name)}"
                )
                table = _contrast_table(data, name, rows, level, caption="" if figure else description)
                parts += [
                    *figure,
                    Part("folded" if figure else "table", text=f"The {description}, in numbers", table=table),
                ]
            note_text = " ".join(not_compared(data, metric, name, rows))
            parts += [Part("note", text=note_text)] if note_text else []
    return Section("contrasts", "What makes a difference?", parts)


def _contrast_table(data: Frames, of: str, rows: pl.DataFrame, level: float, *, caption: str) -> Grid:
    by = [name for name in data.by if name != of]
    columns = [
        Head(labels.label(of), word=True), Head("against", word=True), *(Head(labels.label(name), word=True) for name in by),
        Head(f"difference [{labels.level_text(level)}]"), Head("p, adjusted"), Head(f"{UNITS[rows['metric'][0]]}s in both"),
    ]  # fmt: skip
    cells = [
        [
            labels.plain(row["group"]), labels.plain(row["baseline"]), *(labels.value_name(row[name]) for name in by),
            labels.difference_text(row, "points"), labels.p_text(row["p_adjusted"]), labels.count(row["n_pairs"]),
        ]
        for row in rows.rows(named=True)
    ]  # fmt: skip
    return Grid(columns, cells, caption=caption)


def _profiles(data: Frames, images: dict[str, FigureImages]) -> Section:
    """Return the section on how success is spread over goals."""
    parts = [
        Part(
            "text",
            text="A rate of one half can mean success at every goal half of the time, or at half of the goals every time. Shown is "
            "the share of goals (or tasks) whose success rate exceeds a threshold.",
        )
    ]
    for metric in UNITS:
        rows = data.profiles.filter(pl.col("metric") == metric, pl.col("at").is_in(_THRESHOLDS))
        if not rows.height:
            continue
        columns = [
            *group_columns(data),
            *(Head(f"> {at:.0%}".replace("%", " %")) for at in _THRESHOLDS),
            Head(f"{UNITS[metric]}s"),
        ]
        cells = [
            [
                *group_cells(data, part.row(0, named=True)),
                *(labels.interval_text(row, rate=True) for row in part.sort("at").rows(named=True)),
                labels.count(part["n"][0]),
            ]
            for _, part in rows.group_by(data.by or "metric", maintain_order=True)
        ]
        figure = _figure(images.get(f"profile_{metric}"))
        parts += figure
        table = Grid(columns, cells, caption=f"{UNITS[metric]}s by their rate of {labels.label(metric)}")
        parts.append(Part("folded" if figure else "table", text="The shares in numbers", table=table))
        note_text = without_profile(data, metric, rows)
        parts += [Part("note", text=note_text)] if note_text else []
    return Section("profile", "Is success concentrated in a few goals?", parts)


_THRESHOLDS = (0.0, 0.25, 0.5, 0.75)


def _effort(data: Frames) -> Section:
    """Return the section on effort: a small table for each quantity, with one row per group."""
    rows = data.summary.filter(pl.col("metric").is_in([*UNITS]).not_() & (pl.col("n") > 0))
    if data.turn_count <= data.rollout_count:  # all rollouts have one turn
        rows = rows.filter(pl.col("metric").is_in(["num_turns", "time_to_success"]).not_())
    parts = [
        Part("table", table=_effort_table(data, metric, rows.filter(pl.col("metric") == metric)))
        for metric in rows["metric"].unique(maintain_order=True)
    ]
    return Section("effort", "What did it take?", parts)


def _effort_table(data: Frames, metric: str, rows: pl.DataFrame) -> Grid:
    """Return the estimates of each group; of costs also the total, and the cost per success."""
    statistics = rows["statistic"].unique(maintain_order=True).to_list()
    # Minimum and maximum share a column.
    ends = {"min", "max"} <= set(statistics)
    statistics_shown = [name for name in statistics if not (ends and name in {"min", "max"})]
    spent = SPENT.get(metric) if data.costs.height else None
    per_success = spent and bool(data.costs["succeeded"].sum())
    heads = [Head(labels.label(name)) for name in statistics_shown] + ([Head("min – max")] if ends else [])
    heads += [
        Head("rollouts"),
        *([Head("total")] if spent else []),
        *([Head("per success")] if per_success else []),
    ]
    cells = []
    for _, part in rows.group_by(data.by or "metric", maintain_order=True):
        # The statistics of a group are rows of SUMMARY and become cells of one row.
        by_statistic = part.rows_by_key("statistic", named=True, unique=True)
        first = part.row(0, named=True)
        values = [_withheld(by_statistic[name]) for name in statistics_shown]
        if ends:
            values.append(" – ".join(labels.number(by_statistic[name]["estimate"]) for name in ("min", "max")))
        values.append(labels.count(first["n"]))
        if spent:
            group = (pl.col(name).eq_missing(pl.lit(first[name])) for name in data.by)
            cost = data.costs.filter(pl.lit(value=True), *group).row(0, named=True)
            values += [_amount(cost[spent]), *([_amount(_per_success(cost, spent))] if per_success else [])]
        cells.append([*group_cells(data, first), *values])
    return Grid([*group_columns(data), *heads], cells, caption=labels.quantity(metric))


_NEVER_NEGATIVE = {*SPENT, "num_turns", "time_to_success"}


def _withheld(row: dict[str, Any]) -> str:
    """Return an estimate with its interval; if only the interval is known, as of a median that few reached, a dash and it."""
    low = row["low"]
    if low is not None and row["metric"] in _NEVER_NEGATIVE:
        low = max(low, 0.0)  # a t interval over few clusters may go below zero
    text = labels.interval_text(row | {"low": low}, rate=False)
    return f"{labels.NOTHING} {text}" if row["estimate"] is None and text != labels.NOTHING else text


def _amount(value: float | None) -> str:
    if value is None:
        return labels.NOTHING
    return labels.count(value) if value >= 100 or value == int(value) else f"{value:.3g}"


def _per_success(row: dict[str, Any], name: str) -> float | None:
    """Return the cost per success; None if the cost of some rollouts is unknown."""
    # A total without the costs of some rollouts would be too low.
    complete = row[f"n_{name}"] == row["rollouts"]
    return row[name] / row["succeeded"] if complete and row["succeeded"] and row[name] is not None else None


def _mixed(data: Frames, rows: pl.DataFrame) -> list[Part]:
    """Note groups that pool several runs: two runs of one attack are not one sample."""
    if not data.by or "run" in data.by:
        return []
    # Only groups with a known rate are affected.
    groups = rows.filter(pl.col("n") > 0).select(data.by)
    runs = data.rollouts.join(groups, on=data.by, how="semi", nulls_equal=True).group_by(data.by, maintain_order=True)
    several = runs.agg(pl.col("run").n_unique()).filter(pl.col("run") > 1).rows(named=True)
    if not several:
        return []
    names = [f"{labels.group_name(row, data.by)} ({row['run']} runs)" for row in several[:4]]
    more = f" and {labels.counted(len(several) - 4, 'other group')}" if len(several) > 4 else ""
    return [Part("note", text=f"Several runs are pooled in {', '.join(names)}{more}; group by run to see them apart.")]
