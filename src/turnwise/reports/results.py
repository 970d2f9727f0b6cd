"""Frames -> the sections that answer: rates, curves, cells, comparisons, goals, effort."""

from typing import Any

import polars as pl

from turnwise.reports.accounts import bounds
from turnwise.reports.frames import SPENT, UNITS, Frames
from turnwise.reports.left_out import apart, once
from turnwise.reports.parts import Drawn, Grid, Head, Part, Section, group_cells, group_columns, to_transcripts
from turnwise.schema import labels

HEADINGS = {"attack_success": "Did the attacks succeed?", "task_success": "Was the user's task done?"}


def results(found: Frames, drawn: dict[str, Drawn], level: float) -> list[Section]:
    """Return the results section by section; the page leaves out empty sections."""
    return [
        *(_rate(found, metric, drawn.get(metric), level) for metric in UNITS if _has(found, metric)),
        *([_training(found, drawn, level)] if found.trained.height else []),
        *([_curve(found, drawn["curve"])] if "curve" in drawn else []),
        *([_grid(found, drawn.get("heat_map"))] if found.grid.height else []),
        _contrasts(found, drawn, level),
        *([_profiles(found, drawn)] if found.profiles.height else []),
        _effort(found),
    ]


def _has(found: Frames, metric: str) -> bool:
    return bool((found.summary["metric"] == metric).any())


def _figure(drawn: Drawn | None) -> list[Part]:
    if drawn is None:
        return []
    return [Part("figure", drawn=drawn), *([Part("note", text=drawn.note)] if drawn.note else [])]


def _rate(found: Frames, metric: str, figure: Drawn | None, level: float) -> Section:
    rows = found.summary.filter(pl.col("metric") == metric)
    unknown = [name for name in ("n_error", "n_undetermined", "n_missing") if rows[name].sum()]
    columns = [
        *group_columns(found),
        Head(f"rate [{labels.level_text(level)}]"),
        Head("of rollouts"),
        *(Head(labels.label(name)) for name in unknown),
        *([Head("if unknown fail – succeed")] if unknown else []),
        Head("clusters"),
    ]
    cells = [
        [
            *group_cells(found, row),
            labels.interval_text(row, rate=True),
            to_transcripts(_of(row), found, row, **({metric: "yes"} if row["estimate"] else {})),
            *(labels.count(row[name]) for name in unknown),
            *([bounds(row)] if unknown else []),
            labels.count(row["n_clusters"]),
        ]
        for row in _in_order(found, rows).rows(named=True)
    ]
    parts = [Part("text", text=_headline(found, rows, metric)), *_figure(figure)]
    parts += [Part("note", text=note) for note in _reasons(rows)]
    parts += _mixed(found, rows)
    parts.append(
        Part(
            "table" if (unknown and rows.height <= 12) or not figure else "folded",
            text="The rates in numbers",
            table=Grid(columns, cells),
        )
    )
    return Section(metric.replace("_", "-"), HEADINGS[metric], parts)


def _in_order(found: Frames, rows: pl.DataFrame) -> pl.DataFrame:
    """The highest rate first; steps of training and other numbers in their own order."""
    if any(rows.schema[name].is_numeric() for name in found.by):
        return rows.sort(found.by, nulls_last=True)
    return rows.sort("estimate", descending=True, nulls_last=True)


def _of(row: dict[str, Any]) -> str:
    if row["estimate"] is None:
        return f"– / {labels.count(row['n'])}"
    return f"{labels.count(row['estimate'] * row['n'])} / {labels.count(row['n'])}"


def _headline(found: Frames, rows: pl.DataFrame, metric: str) -> str:
    """The highest and the lowest group in one sentence."""
    known = rows.filter(pl.col("estimate").is_not_null()).sort("estimate", descending=True).rows(named=True)
    done = {"attack_success": "Attacks succeeded", "task_success": "Tasks were solved"}[metric]
    if not known:
        return f"No group has a known rate; the table says why. {_worse(metric)}"
    most, least = known[0], known[-1]
    if not found.by:
        return f"{done} in {labels.interval_text(most, rate=True)} of rollouts. {_worse(metric)}"
    ends = f"most often for {labels.group_name(most, found.by)}: {labels.interval_text(most, rate=True)}"
    if len(known) == 1:
        ends = f"in {labels.interval_text(most, rate=True)} of rollouts of {labels.group_name(most, found.by)}"
    else:
        ends += f"; least often for {labels.group_name(least, found.by)}: {labels.interval_text(least, rate=True)}"
    return f"{done} {ends}. {_worse(metric)}"


def _worse(metric: str) -> str:
    return "Lower is better for the defender." if metric == "attack_success" else "Higher is better."


def _reasons(rows: pl.DataFrame) -> list[str]:
    reasons = rows.group_by("reason", maintain_order=True).len().drop_nulls("reason").rows()
    return [f"{reason} ({labels.counted(several, 'group')})." for reason, several in reasons]


def _training(found: Frames, drawn: dict[str, Drawn], level: float) -> Section:
    """Each step's rate, and what changed since the one before."""
    parts = [
        Part(
            "text",
            text="The rate (or the mean reward) at each step of training, and its change since the step before over the goals "
            "(or tasks) of both. Goals whose attempts all ended alike teach nothing where each is compared with the others of "
            "its goal.",
        )
    ]
    by = [name for name in found.by if name != found.step]
    for metric in found.trained["metric"].unique(maintain_order=True):
        rows = found.trained.filter(metric=metric)
        rate = labels.is_rate(metric, rows)
        alike = [name for name in ("all_success", "all_fail") if rows[name].count()]
        columns = [
            *(Head(labels.label(name), word=True) for name in by), Head(labels.label(found.step or "step")),
            Head(f"{'rate' if rate else 'mean'} [{labels.level_text(level)}]"),
            Head("change"), *(Head(labels.label(name)) for name in alike),
            Head("rollouts"),
        ]  # fmt: skip
        cells = [
            [
                *(labels.value_name(row[name]) for name in by), labels.value_name(row["step"]),
                labels.interval_text(row, rate=rate), labels.difference_text(change, "points" if rate else "number"),
                *(labels.number(row[name], rate=True) for name in alike), labels.count(row["n"]),
            ]
            for row in rows.rows(named=True)
            for change in [row | {"low": row["difference_low"], "high": row["difference_high"]}]
        ]  # fmt: skip
        figure = _figure(drawn.get(f"training_{metric}"))
        table = Grid(columns, cells, caption=f"{labels.label(metric)} by step of training")
        parts += [*figure, Part("folded" if figure else "table", text="The steps in numbers", table=table)]
    return Section("training", "How did training change it?", parts)


def _curve(found: Frames, figure: Drawn) -> Section:
    columns = [
        *group_columns(found),
        *(Head(name) for name in ("turn", "share by then", "at risk", "succeeded", "censored", "ended otherwise")),
    ]
    cells = [
        [
            *group_cells(found, row), labels.count(row["at"]), labels.interval_text(row, rate=True),
            *(labels.count(row[name]) for name in ("at_risk", "events", "censored", "competing")),
        ]
        for row in found.curve.rows(named=True)
    ]  # fmt: skip
    text = (
        "Attack success by turn. An attack that gave up or a conversation that the target "
        "ended can no longer succeed; rollouts that ran out of turns or crashed are censored."
    )
    notes = [
        Part("note", text=note)
        for note in found.curve["reason"].drop_nulls().unique(maintain_order=True)
        if "unknown time" in note
    ]
    folded = Part("folded", text="The curve in numbers", table=Grid(columns, cells))
    return Section(
        "success-by-turn",
        "At which turn did they succeed?",
        [Part("text", text=text), *_figure(figure), *notes[:3], folded],
    )


def _grid(found: Frames, figure: Drawn | None) -> Section:
    """Category x attack: every cell with its interval."""
    rows = found.grid.filter(pl.col("n") + pl.col("n_error") + pl.col("n_undetermined") + pl.col("n_missing") > 0)
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
    text = (
        "Attack success in each category of goals, by each attack. Where a cell has few rollouts its interval is wide."
    )
    if figure is None:
        text += " There are too many cells for a figure; see the table."
    return Section(
        "categories",
        "Which attacks succeed in which categories?",
        [
            Part("text", text=text),
            *_figure(figure),
            Part("folded", text="The cells in numbers", table=Grid(columns, cells)),
        ],
    )


def _contrasts(found: Frames, drawn: dict[str, Drawn], level: float) -> Section:
    """One group against another, over the goals or tasks that both tried."""
    text = (
        "Each difference is over the goals (or tasks) that both groups tried, pair by pair, which is sharper than two "
        "overlapping intervals. P-values are adjusted for all comparisons in a table."
    )
    parts = [Part("text", text=text)] if found.contrasts.height else []
    for metric in UNITS:
        for name in found.by:
            rows = found.contrasts.filter(metric=metric, of=name)
            figure = _figure(drawn.get(f"contrast_{metric}_{name}"))
            if rows.height:
                told = f"differences in {labels.label(metric)}, {labels.label(name)} against {labels.label(name)}"
                table = _contrast_table(found, name, rows, level, caption="" if figure else told)
                parts += [*figure, Part("folded" if figure else "table", text=f"The {told}, in numbers", table=table)]
            left = " ".join(apart(found, metric, name, rows))
            parts += [Part("note", text=left)] if left else []
    return Section("contrasts", "What makes a difference?", parts)


def _contrast_table(found: Frames, of: str, rows: pl.DataFrame, level: float, *, caption: str) -> Grid:
    others = [name for name in found.by if name != of]
    columns = [
        Head(labels.label(of), word=True), Head("against", word=True), *(Head(labels.label(name), word=True) for name in others),
        Head(f"difference [{labels.level_text(level)}]"), Head("p, adjusted"), Head(f"{UNITS[rows['metric'][0]]}s in both"),
    ]  # fmt: skip
    cells = [
        [
            labels.plain(row["group"]), labels.plain(row["baseline"]), *(labels.value_name(row[name]) for name in others),
            labels.difference_text(row, "points"), labels.p_text(row["p_adjusted"]), labels.count(row["n_pairs"]),
        ]
        for row in rows.rows(named=True)
    ]  # fmt: skip
    return Grid(columns, cells, caption=caption)


def _profiles(found: Frames, drawn: dict[str, Drawn]) -> Section:
    """Return the section on how many goals succeed how often."""
    parts = [
        Part(
            "text",
            text="A rate of one half may be every goal half of the time, or half of the goals every time. This is the "
            "share of goals (or tasks) whose success rate exceeds a threshold.",
        )
    ]
    for metric in UNITS:
        rows = found.profiles.filter(pl.col("metric") == metric, pl.col("at").is_in(_THRESHOLDS))
        if not rows.height:
            continue
        columns = [
            *group_columns(found),
            *(Head(f"> {at:.0%}".replace("%", " %")) for at in _THRESHOLDS),
            Head(f"{UNITS[metric]}s"),
        ]
        cells = [
            [
                *group_cells(found, part.row(0, named=True)),
                *(labels.interval_text(row, rate=True) for row in part.sort("at").rows(named=True)),
                labels.count(part["n"][0]),
            ]
            for _, part in rows.group_by(found.by or "metric", maintain_order=True)
        ]
        figure = _figure(drawn.get(f"profile_{metric}"))
        parts += figure
        table = Grid(columns, cells, caption=f"{UNITS[metric]}s by their rate of {labels.label(metric)}")
        parts.append(Part("folded" if figure else "table", text="The shares in numbers", table=table))
        left = once(found, metric, rows)
        parts += [Part("note", text=left)] if left else []
    return Section("profile", "Is success concentrated in a few goals?", parts)


_THRESHOLDS = (0.0, 0.25, 0.5, 0.75)


def _effort(found: Frames) -> Section:
    """One small table for each quantity, so that groups stand under one another."""
    rows = found.summary.filter(pl.col("metric").is_in([*UNITS]).not_() & (pl.col("n") > 0))
    if found.turn_count <= found.rollout_count:  # one turn each: there is nothing to count
        rows = rows.filter(pl.col("metric").is_in(["num_turns", "time_to_success"]).not_())
    parts = [
        Part("table", table=_effort_table(found, metric, rows.filter(pl.col("metric") == metric)))
        for metric in rows["metric"].unique(maintain_order=True)
    ]
    return Section("effort", "What did it take?", parts)


def _effort_table(found: Frames, metric: str, rows: pl.DataFrame) -> Grid:
    """Estimates of each group; of what was spent also its sum, and that for each success."""
    statistics = rows["statistic"].unique(maintain_order=True).to_list()
    ends = {"min", "max"} <= set(statistics)
    shown = [name for name in statistics if not (ends and name in {"min", "max"})]
    spent = SPENT.get(metric) if found.costs.height else None
    each = spent and bool(found.costs["succeeded"].sum())
    heads = [Head(labels.label(name)) for name in shown] + ([Head("min – max")] if ends else [])
    heads += [Head("rollouts"), *([Head("in all")] if spent else []), *([Head("for each success")] if each else [])]
    cells = []
    for _, part in rows.group_by(found.by or "metric", maintain_order=True):
        by_statistic = part.rows_by_key("statistic", named=True, unique=True)
        first = part.row(0, named=True)
        told = [_withheld(by_statistic[name]) for name in shown]
        if ends:
            told.append(" – ".join(labels.number(by_statistic[name]["estimate"]) for name in ("min", "max")))
        told.append(labels.count(first["n"]))
        if spent:
            group = (pl.col(name).eq_missing(pl.lit(first[name])) for name in found.by)
            cost = found.costs.filter(pl.lit(value=True), *group).row(0, named=True)
            told += [_amount(cost[spent]), *([_amount(_each(cost, spent))] if each else [])]
        cells.append([*group_cells(found, first), *told])
    return Grid([*group_columns(found), *heads], cells, caption=labels.quantity(metric))


_NEVER_NEGATIVE = {*SPENT, "num_turns", "time_to_success"}


def _withheld(row: dict[str, Any]) -> str:
    """A quantity with its interval; of one that is not known, as a median that too few reached, that and what is."""
    low = row["low"]
    if low is not None and row["metric"] in _NEVER_NEGATIVE:
        low = max(low, 0.0)  # as an interval of t over few clusters does not know
    text = labels.interval_text(row | {"low": low}, rate=False)
    return f"{labels.NOTHING} {text}" if row["estimate"] is None and text != labels.NOTHING else text


def _amount(value: float | None) -> str:
    if value is None:
        return labels.NOTHING
    return labels.count(value) if value >= 100 or value == int(value) else f"{value:.3g}"


def _each(row: dict[str, Any], name: str) -> float | None:
    """Return the cost of a success; unknown where some rollouts have no cost."""
    whole = row[f"n_{name}"] == row["rollouts"]
    return row[name] / row["succeeded"] if whole and row["succeeded"] and row[name] is not None else None


def _mixed(found: Frames, rows: pl.DataFrame) -> list[Part]:
    """A group that mixes runs is said aloud: two artifacts of one attack are not one sample of it."""
    if not found.by or "run" in found.by:
        return []
    known = rows.filter(pl.col("n") > 0).select(found.by)
    runs = found.rollouts.join(known, on=found.by, how="semi", nulls_equal=True).group_by(found.by, maintain_order=True)
    several = runs.agg(pl.col("run").n_unique()).filter(pl.col("run") > 1).rows(named=True)
    if not several:
        return []
    told = [f"{labels.group_name(row, found.by)} ({row['run']} runs)" for row in several[:4]]
    more = f" and {labels.counted(len(several) - 4, 'other group')}" if len(several) > 4 else ""
    return [Part("note", text=f"Several runs are pooled in {', '.join(told)}{more}; group by run to see them apart.")]
