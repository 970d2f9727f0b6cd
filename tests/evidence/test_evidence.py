# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""The page of evidence: it shows what is stored, nothing bad without a reason, and the competitors are what they are called."""

import re
from functools import cache

import numpy as np
import polars as pl
import pytest
from lifelines import KaplanMeierFitter
from scipy import stats

from evidence import certified, competitors, notes, references, stated
from evidence.coverage import OURS, compared, measured
from evidence.page import LEAST, MOST, PAGE, coverage_table, page, stored
from evidence.settings import Setting
from evidence.times import every_setting


@cache
def settings() -> dict[tuple[str, str], Setting]:
    """All settings by family and words, made when they are asked for: the truth of some is found from many tables."""
    return {(setting.family, setting.words): setting for setting in every_setting()}


@pytest.mark.integration
def test_the_page_is_what_is_stored() -> None:
    """The page is written by the script: `cd tests && python -m evidence`."""
    assert PAGE.read_text() == page()


@pytest.mark.integration
def test_every_setting_is_measured_and_there_are_enough() -> None:
    """At least 60 settings, each with a thousand tables; no result of a setting that is no more."""
    rows = stored("coverage")
    assert len(settings()) == len(every_setting()) >= 60
    assert {*rows.select("family", "setting").iter_rows()} == settings().keys()
    assert rows["repetitions"].min() >= 1000


def test_what_covers_too_little_or_is_too_wide_has_a_reason() -> None:
    """Each such row has a note; a row that needs one and has none is an error."""
    table = coverage_table()
    bad = table.filter(
        pl.col("coverage").is_null() | (pl.col("coverage") < LEAST) | (pl.col("ratio") > MOST).fill_null(value=False)
    )
    assert bad["note"].str.len_chars().min() > 10
    row = {"family": "rate", "setting": "none such", "coverage": 0.8, "ratio": 1.0, "repetitions": 1000}
    with pytest.raises(KeyError):
        notes.note_of(row, LEAST, MOST)


def test_what_is_assumed_states_coverage_as_measured() -> None:
    """Each figure such as .76 on the page of assumptions is a coverage of the table, of ours or of another method."""
    said = set(re.findall(r"(?<![\d.])\.\d\d\b", (PAGE.parent / "assumptions.md").read_text()))
    measured_ = {f"{share:.2f}".removeprefix("0") for share in stored("coverage")["coverage"].drop_nulls()}
    assert len(said) >= 8
    assert said <= measured_


def test_real_logs_hold_their_truth() -> None:
    """At least three data sets, each interval in at least 94 % of 1,000 samples."""
    rows = stored("real_data")
    assert rows["data"].n_unique() >= 3
    assert rows["samples"].min() >= 1000
    assert rows["coverage"].min() >= LEAST


@pytest.mark.integration
def test_stated_figures_are_as_stored_and_nobody_is_accused(shared) -> None:
    """In eleven folders every figure is equal, of rollouts that the log lacks, or of a toy file: no way of counting is named."""
    rows = pl.DataFrame(stated.rows(), infer_schema_length=None)
    assert rows.rows() == stored("stated").with_columns(pl.col("why").fill_null("")).rows()
    assert set(rows["answer"]) == {"equal", "incomplete", "not explained", "no counterpart"}
    assert rows["data"].n_unique() >= 10
    assert rows.filter(answer="not explained").select("data", "stated", "of").unique().rows() == [
        ("jailbreakbench", 0.5, 1)
    ]


def test_digits_are_those_that_are_right() -> None:
    """A thousandth off has three, and the value itself has all fifteen."""
    assert (certified.digits(1.001, 1.0), certified.digits(2.0, 2.0)) == (3.0, 15.0)


@pytest.mark.parametrize("row", certified.rows(), ids=lambda row: row["set"])
def test_certified_values_are_reached(row) -> None:
    """As many digits as double precision allows: the inputs of NumAcc3 and NumAcc4 lose some before any arithmetic."""
    assert row["digits of mean"] >= 14
    assert row["digits of sd"] >= {"NumAcc3": 9, "NumAcc4": 8}.get(row["set"], 13)
    (same,) = stored("certified").filter(set=row["set"]).rows(named=True)
    assert same["n"] == row["n"]


@pytest.mark.integration
def test_other_implementations_agree() -> None:
    """All numbers agree to the digits that the other one has."""
    assert [row["number"] for row in references.rows() if not row["agrees"]] == []
    assert stored("references")["agrees"].all()


def test_competitors_are_what_they_are_called() -> None:
    """Wald, Korn-Graubard and Greenwood against statsmodels, SciPy and lifelines; t against SciPy."""
    import statsmodels.api as sm

    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 8, 25)
    hits = rng.binomial(sizes, rng.beta(1, 2, 25)).astype(float)
    values = np.concatenate([np.arange(size) < hit for size, hit in zip(sizes, hits, strict=True)]).astype(float)
    codes = np.repeat(np.arange(25), sizes)
    fit = sm.OLS(values, np.ones(values.size)).fit(cov_type="cluster", cov_kwds={"groups": codes})
    assert competitors.wald(hits, sizes) == pytest.approx(fit.conf_int()[0], rel=1e-9)
    single = np.ones(40)
    wins = (np.arange(40) < 9).astype(float)
    exact = stats.binomtest(9, 40).proportion_ci(method="exact")
    # With independent rollouts the effective size is n - 1, as the variance has n/(n-1).
    assert competitors.korn_graubard(wins, single) == pytest.approx((exact.low, exact.high), abs=0.01)
    means = rng.random(12)
    interval = stats.ttest_1samp(means, 0).confidence_interval(0.95)
    assert competitors.t_of_means(means) == pytest.approx((interval.low, interval.high))
    duration, cause = rng.integers(1, 9, 60), (rng.random(60) < 0.5).astype(int)
    fitter = KaplanMeierFitter().fit(duration, cause)
    last = fitter.confidence_interval_survival_function_.iloc[-1].to_numpy()
    tables = competitors.life_table(duration, cause, np.arange(60), 8)
    assert competitors.greenwood(tables) == pytest.approx((1 - last[1], 1 - last[0]), rel=1e-6)


def test_the_table_takes_the_narrowest_that_covers() -> None:
    """A narrower method that covers too little is not the best one."""
    rows = pl.DataFrame(
        {
            "family": ["rate"] * 4,
            "setting": ["s"] * 4,
            "method": [OURS, "narrow", "wide", "best"],
            "coverage": [0.95, 0.90, 0.97, 0.94],
            "width": [0.22, 0.1, 0.3, 0.2],
            "refused": [0.0] * 4,
            "repetitions": [1000] * 4,
        }
    )
    row = compared(rows).row(0, named=True)
    assert (row["best"], row["ratio"]) == ("best", 1.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "names", stored("coverage").filter(method=OURS).select("family", "setting").rows()[::6], ids=" ".join
)
def test_a_stored_figure_is_found_again(names) -> None:
    """A hundred new tables of every sixth setting: coverage and width are those stored, within their Monte Carlo error."""
    new = measured(settings()[names], 100)[0]
    (old,) = stored("coverage").filter(family=names[0], setting=names[1], method=OURS).rows(named=True)
    if old["coverage"] is None:
        assert new["coverage"] is None
        return
    assert new["coverage"] >= old["coverage"] - 4 * (old["coverage"] * (1 - old["coverage"]) / 100) ** 0.5 - 0.01
    assert new["width"] == pytest.approx(old["width"], rel=0.25)
