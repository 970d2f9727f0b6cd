"""Several answers of one gate: how many of them fail by chance, and answers that are held together."""

import polars as pl

from rollwise.estimation.arrays import join_reasons


def together_level(gates: pl.DataFrame, level: float) -> float:
    """Return the level of each answer at which all that have data fail wrongly no more often than one does at this level.

    References
    ----------
    Dunn (1961), Multiple comparisons among means, doi:10.1080/01621459.1961.10482090 (Bonferroni's inequality).
    """
    return 1 - (1 - level) / max(1, num_answers(gates))


def num_answers(gates: pl.DataFrame) -> int:
    """Count the answers that rest on data: an expected group without rollouts does not fail by chance."""
    return gates.filter(pl.col("n") > 0).height


def with_family_answers(gates: pl.DataFrame, strict: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return gates that fail only where they do at the stricter level; without that, failed ones say how many fail by chance.

    A gate passes only if all of its requirements do, so their passing needs no adjustment: if any value is at its threshold,
    that one passes no more often than said (intersection-union test).

    References
    ----------
    Berger (1982), doi:10.1080/00401706.1982.10487790.
    """
    number = num_answers(gates)
    if number < 2:
        return gates
    rows = []
    others = gates if strict is None else strict
    for row, row_of_family in zip(gates.iter_rows(named=True), others.iter_rows(named=True), strict=True):
        changed = dict(row)
        if strict is not None and row["n"] and row["fail_bound"] is not None:
            changed["fail_bound"] = row_of_family["fail_bound"]
            if row["answer"] == "failed" and row_of_family["answer"] != "failed":
                changed |= {
                    "answer": "undecided",
                    "reason": join_reasons(
                        f"fails for itself, and not among {number} answers held together at level {row['level']:g}",
                        row["reason"],
                    ),
                }
        elif strict is None and row["answer"] == "failed" and row["n"]:
            expected = number * (1 - row["level"]) / 2
            changed["reason"] = join_reasons(
                row["reason"],
                f"of {number} answers up to {expected:.2g} fail by chance if each value is at its threshold: family holds them "
                "together",
            )
        rows.append(changed)
    return pl.DataFrame(rows, schema=gates.schema, orient="row")
