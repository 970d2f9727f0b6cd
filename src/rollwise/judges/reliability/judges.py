"""VERDICTS and labels -> AGREEMENT: how far a judge agrees with the truth, with other judges, and with itself."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, counted, listing
from rollwise.estimation.arrays import row_of, rows_of
from rollwise.estimation.clusters import Unit, unit_of
from rollwise.judges.reliability.ratings import Abstentions, At, Ratings, labels_beside, ratings_of, two_by_two
from rollwise.schema.arguments import By, Cluster, check_by, check_levels, check_resamples, frame_of, names_of
from rollwise.schema.coercion import cast_column
from rollwise.schema.labels import say
from rollwise.schema.option_types import check_option_types
from rollwise.stats.agreement import NO_PAIRS, Scale, Weights, ac1, agreeing_share, alpha, kappa
from rollwise.stats.estimate import BoolArray, Estimate, FloatArray, IntArray
from rollwise.stats.mean import mean
from rollwise.stats.proportion import proportion

Method = Literal["auto", "bootstrap"]
_NAMES = {
    "agreement": "raw agreement",
    "kappa": "Cohen's kappa",
    "kappa_linear": "linearly weighted kappa",
    "kappa_quadratic": "quadratically weighted kappa",
    "alpha": "Krippendorff's alpha, nominal",
    "alpha_ordinal": "Krippendorff's alpha, ordinal",
    "alpha_interval": "Krippendorff's alpha, interval",
    "ac1": "Gwet's AC1",
    "prevalence": "prevalence of positives",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
}
_NOTHING = {
    "prevalence": "the other judge gave no verdict that is positive or not",
    "sensitivity": "none is positive by the labels (or the other judge)",
    "specificity": "none is negative by the labels (or the other judge)",
}
_OF_PAIRS = ("kappa", "kappa_linear", "kappa_quadratic", "prevalence", "sensitivity", "specificity")
_OF_BINARY = ("prevalence", "sensitivity", "specificity")
_OF_A_SCALE = ("kappa_linear", "kappa_quadratic", "alpha_ordinal", "alpha_interval")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    cluster: Cluster
    method: Method
    abstentions: Abstentions
    resamples: int
    seed: int


def agreement(
    verdicts: object,
    labels: object | None = None,
    *,
    statistics: By | None = None,
    verdict: str = "value",
    truth: str = "label",
    at: At = None,
    by: By = (),
    abstentions: Abstentions = "missing",
    samples: Literal["each", "mean"] = "each",
    cluster: Cluster = "auto",
    method: Method = "auto",
    level: float | Sequence[float] = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> pl.DataFrame:
    """AGREEMENT: how far each judge agrees with the labels, with each other judge, and with itself, beyond chance.

    Parameters
    ----------
    verdicts
        VERDICTS: one row per judgment, with `rollout_id`, `judge` and, if there are several, `turn` (`node_id` in trees) and
        `sample`. Human raters are judges too.
    labels
        The truth of some of the same turns or rollouts: `rollout_id` (and `turn`), and the column `truth`. None compares the
        judges only with one another.
    statistics
        Of ``"agreement", "kappa", "kappa_linear", "kappa_quadratic", "alpha", "alpha_ordinal", "alpha_interval", "ac1",
        "prevalence", "sensitivity", "specificity"``; by default all that apply. For the last three, 1 is positive and the
        labels (or the other judge) are the truth.
    verdict, truth
        The column of the verdicts to compare, ``"value"`` or ``"label"``, and the column of the labels: both numbers (or
        Boolean), or both words. Words that mean the same, as `rw.read` reads them, count as one (``true`` and ``unsafe``), and
        words of two raters without any in common are refused.
    at
        The smallest number, or the word, that makes a rating positive. None compares ratings unchanged. Labels that are
        Boolean, or 0 and 1, need no threshold.
    by
        Columns to group by, of either table.
    abstentions
        A judgment without a verdict (null, NaN) is ``"missing"``, excluded and counted, or a ``"category"`` of its own, which
        is wrong for either truth, and not part of any scale. Judges seldom abstain at random.
    samples
        Whether several judgments of one turn by one judge count ``"each"``, or as their ``"mean"`` (before `at`). With
        ``"each"``, a judge with several samples is also compared with itself.
    cluster
        Unit of independence: ``"auto"`` is `goal` if either table has it, else the rollout; a column, a pair of crossed
        columns, or None for single verdicts. `rw.judge` returns no goals; ``verdicts.join(turns.select("rollout_id",
        "goal").unique(), on="rollout_id")`` adds them.
    method
        ``"auto"``: Wilson at the effective number of clusters for shares (agreement, prevalence, sensitivity, specificity);
        for coefficients the expanded BCa bootstrap over clusters, or t with fewer than ten clusters, with two crossed
        clusterings, or where BCa is undefined. ``"bootstrap"``: BCa also for shares, where it is defined.
    level
        Nominal coverage, or several.
    resamples, seed
        Of the bootstrap. The same clusters and seed give the same draws, also in a frame with more rows.

    Returns
    -------
    polars.DataFrame
        `by`, then the columns of `schema.AGREEMENT`: one row per group, comparison (``"labels"``: a judge with the labels;
        ``"judges"``: with another; ``"samples"``: with itself; ``"panel"``: three or more together), statistic and level.
        If all ratings fall into one category, agreement beyond chance is undefined: null, with the reason. Units with one
        rating are excluded and counted.

    Raises
    ------
    SchemaError, ArgumentError
        If a table or an option is invalid.

    References
    ----------
    Cohen (1960), doi:10.1177/001316446002000104. Krippendorff (2011), https://repository.upenn.edu/asc_papers/43. Gwet
    (2008), doi:10.1348/000711006X126600. Efron (1987), doi:10.1080/01621459.1987.10478410.

    Examples
    --------
    >>> verdicts = pl.DataFrame({"rollout_id": list("abcdef"), "judge": "rule", "value": [1, 1, 0, 0, 0, 1]})
    >>> labels = pl.DataFrame({"rollout_id": list("abcdef"), "label": [True, True, False, False, True, True]})
    >>> result = agreement(verdicts, labels, statistics=("kappa", "sensitivity", "specificity"))
    >>> result.select("statistic", pl.col("estimate", "low", "high").round(3), "n", "other_only")
    shape: (3, 6)
    ┌─────────────┬──────────┬────────┬───────┬─────┬────────────┐
    │ statistic   ┆ estimate ┆ low    ┆ high  ┆ n   ┆ other_only │
    │ ---         ┆ ---      ┆ ---    ┆ ---   ┆ --- ┆ ---        │
    │ str         ┆ f64      ┆ f64    ┆ f64   ┆ i64 ┆ i64        │
    ╞═════════════╪══════════╪════════╪═══════╪═════╪════════════╡
    │ kappa       ┆ 0.667    ┆ -0.235 ┆ 1.0   ┆ 6   ┆ 1          │
    │ sensitivity ┆ 0.75     ┆ 0.301  ┆ 0.954 ┆ 4   ┆ 1          │
    │ specificity ┆ 1.0      ┆ 0.342  ┆ 1.0   ┆ 2   ┆ 1          │
    └─────────────┴──────────┴────────┴───────┴─────┴────────────┘
    """
    check_option_types(agreement, locals())
    frame = frame_of(verdicts, "agreement")
    for key in schema.VERDICTS.columns:
        if key.name in schema.VERDICTS.key and key.name in frame.columns:
            cast_column(frame, key, "agreement")
    truths = None if labels is None else frame_of(labels, "agreement")
    by, levels = names_of(by), check_levels(level)
    requested = None if statistics is None else names_of(statistics)
    for name in requested or ():
        if name not in _NAMES:
            raise ArgumentError(f"agreement: statistic={name!r} is unknown; give one of {listing(_NAMES, most=12)}")
    check_resamples(resamples, "agreement")
    # Groups may be columns of either table; where both have one, the dtype of the verdicts counts.
    columns = {**({} if truths is None else truths.schema), **frame.schema}
    check_by(pl.DataFrame(schema=columns), by, schema.AGREEMENT, "agreement")
    options = _Options(
        cluster=_cluster(cluster, [frame] if truths is None else [frame, truths]),
        method=method,
        abstentions=abstentions,
        resamples=resamples,
        seed=seed,
    )
    # Everything below works on one array of ratings: units x judges x samples.
    ratings = ratings_of(
        frame,
        truths,
        verdict=verdict,
        truth=truth,
        at=at,
        abstentions=abstentions,
        averaged=samples == "mean",
        facts=tuple(dict.fromkeys((*by, *_named(options.cluster)))),
    )
    rows = [
        {**key, **row}
        for key, units in ratings.data.groups(by)
        for comparison in _comparisons(ratings, units)
        for row in _rows(comparison, ratings, requested, levels, options)
    ]
    if not rows and frame.height:
        say(
            "agreement: there is one judge, and nothing to compare it with; give the truth in labels="
            f"{labels_beside(frame, verdict, truth)}, verdicts of a second judge, or several samples of this one"
        )
    return rows_of(rows, ratings.data.frame, by, schema.AGREEMENT)


def _cluster(cluster: Cluster, frames: list[pl.DataFrame]) -> Cluster:
    if cluster != "auto":
        return cluster
    # A column without any goal does not count as one.
    goals = any("goal" in frame.columns and frame["goal"].null_count() < frame.height for frame in frames)
    return "goal" if goals else "rollout_id"


def _named(cluster: Cluster) -> tuple[str, ...]:
    return () if cluster is None else names_of(cluster)


@dataclass(frozen=True, slots=True)
class _Comparison:
    """Ratings to compare with one another: one row per unit (or sample of a unit), one column per rater."""

    kind: str
    judge: str | None
    other_judge: str | None
    ratings: FloatArray
    units: IntArray
    abstained: int
    unsigned: int

    @property
    def words(self) -> str:
        """Describe who is compared with whom, for the estimand."""
        match self.kind:
            case "labels":
                return f"judge {self.judge!r} with the labels"
            case "judges":
                return f"judge {self.judge!r} with judge {self.other_judge!r}"
            case "samples":
                return f"judge {self.judge!r} with itself, of up to {counted(self.ratings.shape[1], 'sample')}"
            case _:
                return counted(self.ratings.shape[1], "judge")


def _comparisons(ratings: Ratings, units: IntArray) -> Iterator[_Comparison]:
    """Yield every comparison among these units: with labels, pair by pair, of all judges together, of samples."""
    values, judged = ratings.values[units], ratings.judged[units]
    abstained = ratings.abstained[units].sum(axis=(0, 2)).tolist()
    unsigned = ratings.unsigned[units].sum(axis=0).tolist()
    num_samples = values.shape[2]

    def flat(columns: list[FloatArray], present: BoolArray) -> tuple[FloatArray, IntArray]:
        """Return one row for each unit and sample that is present, and the unit of each row."""
        rows = present.ravel()
        return np.column_stack([column.ravel()[rows] for column in columns]), np.repeat(units, num_samples)[rows]

    for place, judge in enumerate(ratings.judges):
        if ratings.labels is not None:
            truth = np.repeat(ratings.labels[units], num_samples).reshape(-1, num_samples)
            # A label without any verdict counts once, with the first sample, as a unit with a single rating.
            unjudged = ~judged[:, place].any(axis=1, keepdims=True) & (np.arange(num_samples) == 0)
            present = judged[:, place] | (unjudged & ~np.isnan(truth))
            rows = flat([values[:, place], truth], present)
            yield _Comparison("labels", judge, None, *rows, abstained[place], unsigned[place])
    for first, second in combinations(range(len(ratings.judges)), 2):
        present = judged[:, first] | judged[:, second]
        pair = (ratings.judges[first], ratings.judges[second])
        rows = flat([values[:, first], values[:, second]], present)
        counts = (of_judge[first] + of_judge[second] for of_judge in (abstained, unsigned))
        yield _Comparison("judges", *pair, *rows, *counts)
    if len(ratings.judges) > 2:
        rows = flat(list(np.moveaxis(values, 1, 0)), np.asarray(judged.any(axis=1)))
        yield _Comparison("panel", None, None, *rows, sum(abstained), sum(unsigned))
    # A judge's samples are interchangeable raters: here the columns are samples and the rows are units.
    for place, judge in enumerate(ratings.judges):
        if (judged[:, place].sum(axis=1) > 1).any():
            present = judged[:, place].any(axis=1)
            rows = values[present, place], units[present]
            yield _Comparison("samples", judge, None, *rows, abstained[place], unsigned[place])


def _rows(
    comparison: _Comparison,
    ratings: Ratings,
    requested: tuple[str, ...] | None,
    levels: tuple[float, ...],
    options: _Options,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of AGREEMENT for one comparison: every statistic at every level."""
    num_ratings = (~np.isnan(comparison.ratings)).sum(axis=1)
    paired = num_ratings > 1
    unit = unit_of(ratings.data, comparison.units[paired], "", options.cluster)
    common = {
        "comparison": comparison.kind,
        "judge": comparison.judge,
        "other": comparison.other_judge,
        "n_single": int((num_ratings == 1).sum()),
        "n_abstained": comparison.abstained,
        "n_unsigned": comparison.unsigned,
        **(
            two_by_two(comparison.ratings[paired]) if ratings.binary and comparison.kind in {"labels", "judges"} else {}
        ),
    }
    # Every statistic mentions the verdicts that were left out, or accepted without a check code.
    caveats = []
    if comparison.abstained and options.abstentions == "missing":
        abstentions = (
            "abstention left out, which is seldom at random",
            "abstentions left out, which are seldom at random",
        )
        caveats.append(counted(comparison.abstained, *abstentions))
    if comparison.unsigned:
        caveats.append(f"{counted(comparison.unsigned, 'verdict')} accepted without a check code")
    # Without a choice, every statistic that these ratings have; with one, also statistics that only have a reason.
    applicable = [name for name in _NAMES if _unfit(name, comparison, ratings) is None]
    for statistic in requested or applicable:
        for level in levels:
            estimate = _estimate(statistic, comparison, ratings, unit, level, options)
            if caveats:
                estimate = replace(estimate, reason="; ".join(part for part in (estimate.reason, *caveats) if part))
            whose = "every verdict" if comparison.kind != "samples" else "every turn"
            yield {
                **common,
                "statistic": statistic,
                "level": level,
                **{name: value for name, value in row_of(estimate).items() if name in schema.AGREEMENT.names},
                "estimand": f"{_NAMES[statistic]} of {comparison.words}, {whose} weighing the same; unit: {_words(unit)}",
                "seed": options.seed if estimate.resamples else None,
            }


def _words(unit: Unit) -> str:
    return unit.words if unit.names else "verdict (no clusters)"


def _unfit(statistic: str, comparison: _Comparison, ratings: Ratings) -> str | None:
    """Return the reason why a statistic does not apply to a comparison; None if it does."""
    if statistic in _OF_PAIRS and comparison.kind in {"panel", "samples"}:
        return "of two raters, and these are interchangeable or more; alpha and ac1 take any number"
    if statistic in _OF_BINARY and not ratings.binary:
        return "of verdicts that are positive or not: say at which value they are, `at=`"
    if statistic in _OF_A_SCALE and not ratings.scale:
        return "of a scale of three numbers or more, without abstentions as a category; ask for kappa, alpha or ac1"
    return None


def _estimate(
    statistic: str, comparison: _Comparison, ratings: Ratings, unit: Unit, level: float, options: _Options
) -> Estimate:
    # Units with a single rating agree with nothing: only AC1 uses them.
    values = comparison.ratings
    paired = (~np.isnan(values)).sum(axis=1) > 1
    if unfit := _unfit(statistic, comparison, ratings):
        return Estimate(n=int(paired.sum()), reason=f"{_NAMES[statistic]} is {unfit}")
    pairs = values[paired]
    if statistic in {"agreement", *_OF_BINARY}:
        outcomes, rows = _share(statistic, pairs)
        if not rows.any():
            return Estimate(reason=NO_PAIRS if not len(pairs) else _NOTHING[statistic])
        return _of_a_share(outcomes[rows], rows, unit, level, options)
    bootstrap: dict[str, Any] = {"level": level, "resamples": options.resamples, "rng": unit.generator(options.seed)}
    if statistic == "ac1":
        # Its chance agreement also uses the units with a single rating, which have clusters of their own.
        any_rating = ~np.isnan(values).all(axis=1)
        unit_of_all = unit_of(ratings.data, comparison.units[any_rating], "", options.cluster)
        return ac1(values[any_rating], unit_of_all.codes, **bootstrap)
    name, _, kind = statistic.partition("_")
    if name == "kappa":
        return kappa(pairs, unit.codes, weights=_WEIGHTS[kind], **bootstrap)
    return alpha(pairs, unit.codes, scale=_SCALES[kind], **bootstrap)


_WEIGHTS: dict[str, Weights] = {"": None, "linear": "linear", "quadratic": "quadratic"}
_SCALES: dict[str, Scale] = {"": "nominal", "ordinal": "ordinal", "interval": "interval"}


def _share(statistic: str, pairs: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return the values whose mean is the share, and the rows that the share is of."""
    everyone = np.ones(len(pairs), dtype=np.bool_)
    if statistic == "agreement":
        return agreeing_share(pairs), everyone
    judge, truth = pairs.T
    match statistic:
        case "prevalence":
            return truth, np.isin(truth, (0.0, 1.0))
        case "sensitivity":
            return (judge == 1).astype(np.float64), truth == 1
        case _:
            return (judge == 0).astype(np.float64), truth == 0


def _of_a_share(values: FloatArray, rows: BoolArray, unit: Unit, level: float, options: _Options) -> Estimate:
    """Return a share with Wilson's interval, or BCa's where the options ask for it and it is defined."""
    # Wilson's interval first: it also shows whether a share has an interval at all.
    clusters = tuple(codes[rows] for codes in unit.codes)
    wilson = proportion(values, clusters, level=level)
    if options.method == "auto" or len(clusters) > 1 or wilson.low is None:
        return wilson
    rng = unit.generator(options.seed)
    bootstrapped = mean(values, clusters, level=level, rng=rng, resamples=options.resamples, interval="bca")
    if bootstrapped.low is None:
        return replace(wilson, reason=f"{bootstrapped.reason}; Wilson instead of the bootstrap")
    return bootstrapped
