"""VERDICTS of several people -> one label for each rollout, or turn, and where they disagree."""

import polars as pl

from rollwise.errors import ArgumentError, SchemaError, counted, listing
from rollwise.schema import VERDICTS
from rollwise.schema.arguments import frame_of
from rollwise.schema.coercion import in_schema
from rollwise.schema.labels import say
from rollwise.schema.named import columns_named

_KEYS = ("rollout_id", "turn", "node_id")


def consensus(verdicts: object) -> pl.DataFrame:
    """One label for each rollout or turn: what most of the people say who labeled it.

    Parameters
    ----------
    verdicts
        VERDICTS of people: `rollout_id` (`turn`, `node_id`), `judge`, and `value`, 1 or 0, null for "unsure". The files that
        `rw.judges.label_page` saves are read by `rw.judges.read_verdicts`.

    Returns
    -------
    polars.DataFrame
        `rollout_id` (`turn`, `node_id`, where the labels have them), then `label` (Boolean; null where as many say yes as no, and
        where all are unsure), `yes`, `no` and `unsure` (Int64, how many people), `disagreement` (Boolean: both yes and no) and,
        where the verdicts have it, `probability`. It is what `rw.judges.correct` takes. One line on stderr says on how many
        rollouts people disagree, and on which.

    Raises
    ------
    SchemaError
        If a column is missing, or one person has two labels for one rollout.
    ArgumentError
        If a value is neither 0 nor 1.

    Examples
    --------
    >>> verdicts = pl.DataFrame(
    ...     {"rollout_id": ["a", "a", "b", "b"], "judge": ["ann", "bob"] * 2, "value": [1, 1, 0, None]}
    ... )
    >>> consensus(verdicts).rows()
    [('a', True, 2, 0, 0, False), ('b', False, 0, 1, 1, False)]
    """
    frame = in_schema(frame_of(verdicts, "consensus"), VERDICTS, "consensus")
    for name in ("rollout_id", "judge", "value"):
        if name not in frame.columns:
            raise SchemaError(
                f"consensus: the verdicts have no column `{name}` (available: {listing(frame.columns)}); read what the page "
                "saved with `rw.judges.read_verdicts`"
            )
    odd = frame.filter(~pl.col("value").is_in((0.0, 1.0)))  # a null stays out: a person may be unsure
    if odd.height:
        raise ArgumentError(
            f"consensus: {odd['judge'][0]} gave {odd['value'][0]:g} to rollout {odd['rollout_id'][0]!r}, not 0 or 1; say from "
            'which value on it is a success: `verdicts.with_columns(value=(pl.col("value") >= ?).cast(pl.Float64))`'
        )
    keys = [name for name in _KEYS if name in frame.columns and frame[name].count()] or ["rollout_id"]
    twice = frame.unique([*columns_named(keys), "judge", "value"]).filter(
        pl.struct(*columns_named(keys), "judge").is_duplicated()
    )
    if twice.height:
        first = twice.sort("judge", "rollout_id").row(0, named=True)
        raise SchemaError(
            f"consensus: {first['judge']} labeled rollout {first['rollout_id']!r} twice, and differently; keep one of the two"
        )
    is_yes = pl.col("value") == 1
    people = frame.unique([*columns_named(keys), "judge"], maintain_order=True)
    counts = people.group_by(columns_named(keys), maintain_order=True).agg(
        yes=is_yes.sum().cast(pl.Int64),
        no=(~is_yes).sum().cast(pl.Int64),
        unsure=pl.col("value").is_null().sum().cast(pl.Int64),
        **({"probability": pl.col("probability").first()} if "probability" in people.columns else {}),
    )
    yes, no = pl.col("yes"), pl.col("no")
    result = counts.select(
        *columns_named(keys),
        pl.when(yes != no).then(yes > no).alias("label"),
        "yes",
        "no",
        "unsure",
        ((yes > 0) & (no > 0)).alias("disagreement"),
        *columns_named(name for name in ("probability",) if name in counts.columns),
    )
    _tell(result)
    return result


def _tell(result: pl.DataFrame) -> None:
    """Say on stderr on what people disagree."""
    several = result.filter(pl.col("yes") + pl.col("no") > 1).height
    disagreeing = result.filter("disagreement")
    if disagreeing.height:
        tied = disagreeing["label"].null_count()
        without = f"; {counted(tied, 'tie')} {'has' if tied == 1 else 'have'} no label" if tied else ""
        say(
            f"consensus: people disagree on {disagreeing.height:,} of {counted(several, 'rollout')} that several labeled "
            f"({listing(disagreeing['rollout_id'].to_list(), most=3)}){without}"
        )
