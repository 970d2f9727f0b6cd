"""The page `docs/pages/evidence.md`, written from the stored results."""

from pathlib import Path

import polars as pl

from . import audit
from .coverage import compared
from .notes import note_of

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[2] / "docs" / "pages" / "evidence.md"
LEAST, MOST = 0.94, 1.1
"""Coverage that an interval at a nominal .95 needs, and the ratio to the narrowest competitor that it may have without a reason."""

_HEAD = """\
# Evidence

What was measured, so that you need not take our word for it. One script makes all of it, by hand for each release, and stores its
results, from which this page is written: `cd tests && python -m evidence`.

Everywhere, the nominal coverage is 95 %. *Coverage* is the share of simulated evaluations whose interval contains the truth; with
{repetitions:,} repetitions its Monte Carlo error is about .007.
"""
_COVERAGE = """\
## Coverage and width

{count} settings, and {methods} methods in all. Beside ours is the narrowest interval of others that also covers in at least .94,
out of t over goals, bootstraps over goals, Wald, the logit and the Korn-Graubard intervals of R's survey package, and Greenwood's
as in lifelines. *What it costs* is how much wider ours is than theirs. "20 × 3" is 20 goals with three attempts each; icc is the
correlation of attempts at a goal. Where ours covers less than .94, is refused, or is more than 10 % wider than theirs, a note below
the table says why. The families from "unequal numbers of attempts" on are those in which usual intervals break; what is assumed,
what breaks it and what is printed then is in [what is assumed](assumptions.md).
"""
_NAMES = {
    "rate": "Rates",
    "mean": "Means",
    "quantile": "Quantiles",
    "difference": "Differences",
    "curve": "Curves",
    "ASR@k": "ASR@k",
    "agreement": "Agreement of judges",
} | audit.NAMES
_LOWEST = """\
### The lowest coverage

The lowest coverage of each method over the settings of a family, and in how many of them it is below .94:
"""
_CERTIFIED = """\
## Certified values

NIST's Statistical Reference Datasets: correct digits (of 15) of the mean and of the standard deviation. The values of NumAcc3 and
NumAcc4 begin with seven and eight digits that do not vary. A number of double precision holds about sixteen in all, so a program
that reads them as such cannot reach more.
"""
_REFERENCES = """\
## The same numbers elsewhere

R's survey, survival and boot printed their figures on one table of ours, 30 goals with one to nine rollouts each
(`tests/evidence/r/table.csv`, by `figures.R` beside it), and survival those on its own data set `aml`. The others are computed by
the named package on the same table. The two intervals of `svyciprop` are those of the competitors in the table above. Figures
agree to all digits that are shown of theirs; two draws of bootstrap replicates agree to two.
"""
_REAL = """\
## Real logs

Goals are drawn with replacement from the real logs of other tools, with all of their rollouts. The value over all goals is then the
truth, and the interval of each sample is asked for it.
"""


_STATED = """\
## Stated figures

Figures that logs of other tools state about themselves, or that are published of them, beside what their rollouts say
([Is this figure right?](how-to/is-this-figure-right.md)). {equal} of {count} figures with a counterpart are equal. No other one is
explained by a way of counting: {incomplete} are of rollouts that the logs lack, and {rest} are of files that a producer made up for
its own tests.
"""


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "**no**"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)


def _table(frame: pl.DataFrame) -> str:
    lines = ["| " + " | ".join(frame.columns) + " |", "|" + "---|" * frame.width]
    lines += ["| " + " | ".join(_cell(value) for value in row) + " |" for row in frame.iter_rows()]
    return "\n".join(lines) + "\n"


def stored(name: str) -> pl.DataFrame:
    """Return a stored table: coverage, certified, references, real_data or stated."""
    return pl.read_csv(RESULTS / f"{name}.csv", infer_schema_length=None)


def coverage_table() -> pl.DataFrame:
    """Return ours beside the best of others in each setting, with the note on it; empty where none is needed."""
    table = compared(stored("coverage"), LEAST)
    return table.with_columns(note=pl.Series([note_of(row, LEAST, MOST) for row in table.iter_rows(named=True)]))


def _lowest(rows: pl.DataFrame) -> pl.DataFrame:
    low = (pl.col("coverage") < LEAST).sum()
    families = rows.drop_nulls("coverage").group_by("family", "method", maintain_order=True)
    return families.agg(settings=pl.len(), lowest=pl.col("coverage").min(), below=low).rename({"below": "below .94"})


def _cost(ratio: float | None) -> str:
    """Return how much wider ours is than the narrowest other one that covers."""
    if ratio is None:
        return "no other covers"
    return "the same" if ratio == 1 else f"{abs(100 * (ratio - 1)):.0f} % {'wider' if ratio > 1 else 'narrower'}"


def _families(table: pl.DataFrame) -> str:
    """Return a section for each family of intervals: its table, and the notes that the last column refers to by number."""
    parts = []
    for family in table["family"].unique(maintain_order=True):
        rows = table.filter(family=family)
        notes = [note for note in rows["note"].unique(maintain_order=True) if note]
        shown = rows.select(
            "setting",
            "coverage",
            "width",
            pl.col("best").alias("narrowest other that covers"),
            pl.col("best_coverage").alias("its coverage"),
            pl.Series("what it costs", [_cost(ratio) for ratio in rows["ratio"]], dtype=pl.String),
            pl.Series("note", [notes.index(note) + 1 if note else None for note in rows["note"]], dtype=pl.Int64),
        )
        parts += [f"### {_NAMES[family]}\n", _table(shown)]
        parts += [f"{number}. {note[:1].upper()}{note[1:]}." for number, note in enumerate(notes, start=1)]
        parts += [""] if notes else []
    return "\n".join(parts)


def _stated() -> list[str]:
    """Return the section on stated figures: how many have which answer in each data set, and every figure with a counterpart."""
    rows = stored("stated")
    alone = pl.col("answer") == "no counterpart"
    compared = rows.filter(~alone)
    numbers = rows.pivot("answer", index="data", values="figures", aggregate_function="sum", maintain_order=True)
    counts = dict(compared["answer"].value_counts().rows())
    words = _STATED.format(
        count=compared.height,
        equal=counts.pop("equal"),
        incomplete=counts.pop("incomplete"),
        rest=sum(counts.values()),
    )
    return [words, _table(numbers), _table(compared.drop("figures"))]


def page() -> str:
    """Return the text of the page."""
    rows, table = stored("coverage"), coverage_table()
    parts = [
        _HEAD.format(repetitions=rows["repetitions"].min()),
        _COVERAGE.format(count=table.height, methods=rows["method"].n_unique()),
        _families(table),
        _LOWEST,
        _table(_lowest(rows)),
        _REAL,
        _table(stored("real_data")),
        *_stated(),
        _CERTIFIED,
        _table(stored("certified")),
        _REFERENCES,
        _table(stored("references")),
    ]
    return "\n".join(parts)
