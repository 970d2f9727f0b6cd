"""The same numbers from other implementations: R's survey, survival and boot, lifelines, statsmodels, scikit-learn, SciPy, arch.

R itself is not needed: `r/figures.csv` keeps what `r/figures.R` printed, and `SURVFIT` what R's documentation prints. The others
are called on one table drawn here.
"""

import warnings
from pathlib import Path

import numpy as np
import polars as pl
from scipy import stats

from rollwise.stats.agreement import kappa
from rollwise.stats.clusters import variation
from rollwise.stats.incidence import influence, kaplan_meier
from rollwise.stats.intervals import wilson
from rollwise.stats.mean import mean
from rollwise.stats.pairs import mcnemar_mid_p, newcombe
from rollwise.stats.quantiles import median
from rollwise.stats.restricted import restricted_mean

from . import competitors

R = Path(__file__).parent / "r"

AML = {
    # Miller (1997), Survival Analysis; `aml` of R's survival: weeks, and whether a relapse was seen.
    "Maintained": ([9, 13, 13, 18, 23, 28, 31, 34, 45, 48, 161], [1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 0]),
}
# summary(survfit(Surv(time, status) ~ x, data = aml)), survival 3.x: time, survival, std.err
SURVFIT = [(9, 0.909, 0.0867), (13, 0.818, 0.1163), (18, 0.716, 0.1397), (23, 0.614, 0.1526), (31, 0.491, 0.1642)]


def _table(seed: int = 4):
    """30 goals with 1 to 9 attempts each: values (n,) and codes (n,)."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(30), rng.integers(1, 10, 30))
    return (rng.random(codes.size) < rng.beta(1, 2, 30)[codes]).astype(float), codes


def _survival():
    durations, observed = AML["Maintained"]
    curve = kaplan_meier(durations, observed, ())
    greenwood = np.sqrt(np.square(influence(durations, observed)).sum(axis=0))
    for time, share, error in SURVFIT:
        place = curve.place(time)
        yield f"Kaplan-Meier at {time} weeks, aml", "R survival", 1 - curve.estimate[place], share, 3
        yield f"its standard error (Greenwood) at {time} weeks", "R survival", greenwood[time - 1], error, 4


def _ours_of_r():
    """Return our value of each number that R printed on `r/table.csv`: by name."""
    table = pl.read_csv(R / "table.csv")
    codes = table["goal"].to_numpy()
    success, turns = (table[name].to_numpy().astype(float) for name in ("success", "turns"))
    duration, observed = table["turns"].to_numpy(), table["event"].to_numpy()
    share, length = variation(success, (codes,)), variation(turns, (codes,))
    hits, sizes = np.bincount(codes, weights=success), np.bincount(codes).astype(float)
    ours = {
        "share of successes over 30 goals": share.estimate,
        "its standard error (svymean)": share.variance**0.5,
        "mean of turns over 30 goals": length.estimate,
        "its standard error": length.variance**0.5,
    }
    for name, ends in (("logit", competitors.logit(hits, sizes)), ("beta", competitors.korn_graubard(hits, sizes))):
        ours |= {f"{side} end of svyciprop, {name}": end for side, end in zip(("lower", "upper"), ends, strict=True)}
    curve, parts = kaplan_meier(duration, observed, ()), influence(duration, observed)
    of_goals = np.stack([parts[codes == goal].sum(axis=0) for goal in range(30)])
    for turn in (2, 5, 8):
        ours |= {
            f"Kaplan-Meier at turn {turn}": 1 - curve.estimate[curve.place(turn)],
            f"its standard error (Greenwood) at turn {turn}": np.square(parts).sum(axis=0)[turn - 1] ** 0.5,
            # R has no factor G/(G-1), which ours adds to the variance over clusters.
            f"its standard error over goals at turn {turn}": np.square(of_goals).sum(axis=0)[turn - 1] ** 0.5,
        }
    ours["restricted mean to turn 8"] = restricted_mean(duration, observed == 1, (), horizon=8).estimate
    means = np.bincount(codes, weights=turns) / sizes
    for name, interval in (("percentile", "percentile"), ("BCa", "bca"), ("studentized", "studentized")):
        drawn = mean(means, (), interval=interval, rng=np.random.default_rng(0), resamples=100_000)
        for side, end in (("lower", drawn.low), ("upper", drawn.high)):
            ours[f"{side} end of {name} of the goals' mean turns"] = end
    return ours


def _r():
    """Yield the numbers that R printed: `r/figures.R` makes them on `r/table.csv`, and `r/figures.csv` keeps them."""
    ours = _ours_of_r()
    for row in pl.read_csv(R / "figures.csv").iter_rows(named=True):
        yield row["number"], row["source"], ours[row["number"]], row["value"], row["digits"]


def _lifelines():
    from lifelines import KaplanMeierFitter
    from lifelines.utils import restricted_mean_survival_time

    durations, observed = AML["Maintained"]
    fitter = KaplanMeierFitter().fit(durations, observed)
    curve = kaplan_meier(durations, observed, ())
    yield "Kaplan-Meier at 48 weeks", "lifelines", 1 - curve.estimate[curve.place(48)], float(fitter.predict(48)), 12
    area = restricted_mean(durations, np.array(observed) == 1, (), horizon=48).estimate
    # Ours sums S over 48 positions from 0, which is the area under the step function up to 48.
    yield "restricted mean to 48 weeks", "lifelines", area, float(restricted_mean_survival_time(fitter, t=48)), 9


def _statsmodels():
    import statsmodels.api as sm
    from statsmodels.stats.contingency_tables import mcnemar
    from statsmodels.stats.proportion import proportion_confint

    values, codes = _table()
    fit = sm.OLS(values, np.ones(values.size)).fit(cov_type="cluster", cov_kwds={"groups": codes})
    spread = variation(values, (codes,))
    yield "share over 30 goals of 1 to 9 attempts", "statsmodels OLS", spread.estimate, float(fit.params[0]), 12
    yield "its cluster-robust standard error", "statsmodels OLS", spread.variance**0.5, float(fit.bse[0]), 12
    ends = proportion_confint(7, 50, method="wilson")
    for name, ours, theirs in zip(("lower", "upper"), wilson(7, 50), ends, strict=True):
        yield f"Wilson's {name} end, 7 of 50", "statsmodels", ours, float(theirs), 12
    exact = mcnemar([[0, 9], [3, 0]], exact=True).pvalue
    mid = exact - stats.binom.pmf(3, 12, 0.5)
    yield "McNemar's mid-p, 9 against 3", "statsmodels", mcnemar_mid_p(9, 3), float(mid), 12


def _scikit_learn():
    from sklearn.metrics import cohen_kappa_score

    ratings = np.random.default_rng(1).integers(0, 3, (80, 2)).astype(float)
    ours = kappa(ratings, (), rng=np.random.default_rng(0), resamples=200).estimate
    yield "Cohen's kappa of 80 ratings", "scikit-learn", ours, float(cohen_kappa_score(*ratings.T)), 12


def _scipy():
    values = np.random.default_rng(2).lognormal(size=40)
    spread = mean(values, (), interval="t")
    ends = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    yield "t's lower end, 40 lognormal values", "SciPy", spread.low, float(ends.low), 12
    yield "t's upper end", "SciPy", spread.high, float(ends.high), 12
    ours = median(values, ())
    ends = stats.quantile_test(values, p=0.5).confidence_interval(0.95)
    yield "median's lower end, order statistics", "SciPy", ours.low, float(ends.low), 12
    yield "median's upper end", "SciPy", ours.high, float(ends.high), 12


def _arch():
    from arch.bootstrap import IIDBootstrap

    values = np.random.default_rng(3).gamma(2.0, size=60)
    ours = mean(values, (), interval="bca", rng=np.random.default_rng(0), resamples=50_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ends = IIDBootstrap(values, seed=np.random.default_rng(0)).conf_int(np.mean, 50_000, method="bca").ravel()
    # Two draws of replicates differ by their Monte Carlo error, so only two digits can agree.
    yield "BCa's lower end of a mean, 50,000 replicates", "arch", ours.low, float(ends[0]), 2
    yield "BCa's upper end", "arch", ours.high, float(ends[1]), 2


def _newcombe():
    # Newcombe (1998), Statistics in Medicine 17:2635-2650, Table II, method 10: 36, 12, 2, 0 of 50.
    for name, ours, theirs in zip(("lower", "upper"), newcombe(36, 12, 2, 0), (0.0569, 0.3404), strict=True):
        yield f"Newcombe's {name} end, 36, 12, 2 and 0 of 50", "Newcombe (1998)", ours, theirs, 4


def rows() -> list[dict]:
    """Return a row for each number: ours, theirs, and whether they agree to all digits that theirs has."""
    parts = (_survival, _r, _lifelines, _statsmodels, _scikit_learn, _scipy, _arch, _newcombe)
    return [
        {
            "number": number,
            "source": source,
            "ours": float(f"{ours:.6g}"),
            "theirs": float(f"{theirs:.6g}"),
            "agrees": bool(
                round(float(ours), places) == round(theirs, places) or abs(ours - theirs) <= 0.5 * 10.0**-places
            ),
        }
        for part in parts
        for number, source, ours, theirs, places in part()
    ]
