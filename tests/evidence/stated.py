"""Figures that producers state about their own logs, and published ones of logs that state none, beside what the logs say."""

from pathlib import Path

import polars as pl

import rollwise as rw
from rollwise.errors import ReadError

from .real_data import folder

MINT, SQL = "mint/gpt-3.5-turbo-0613/F=None/max5_p2+tool+cd", "intercode/sql"
PUBLISHED = [
    # logs, claim, where it is published
    ("tau_bench/gpt-4o-airline.json", "task success = 0.420", "README of tau-bench, pass^1"),
    (MINT, "task success = 36.2%", "arXiv 2309.10691, Table 2"),
    (f"{SQL}/gpt-4/ic_sql_multiturn_gpt-4_10_turns.json", "task success = 73.7%", "arXiv 2306.14898, Table 3"),
    (f"{SQL}/gpt-4/ic_sql_multiturn_gpt-4_1_turns.json", "task success = 9.1%", "arXiv 2306.14898, Table 3"),
    (f"{SQL}/gpt-3.5", "task success = 10.5%", "arXiv 2306.14898, Table 3"),
    ("intercode/bash/gpt-4", "task success = 48.5%", "arXiv 2306.14898, Table 3"),
    ("quesma_gpt_oss/findings/export_20250813_102234.json", "attack success = 25/36", "vulnerable_count in the file"),
]
ANSWERS = ("equal", "explained", "ambiguous", "incomplete", "not explained", "no counterpart")


def audited(root: Path, name: str) -> pl.DataFrame | None:
    """Return the audit of the figures that the logs of a folder state; None without any."""
    try:
        figures = rw.readers.read_summary(root / name, errors="collect").frame
    except ReadError:
        return None
    try:
        turns, problems = rw.read(root / name, errors="collect")
    except ReadError:  # figures without rollouts
        turns, problems = pl.DataFrame({"rollout_id": pl.Series([], dtype=pl.String)}), None
    return rw.audit(turns, figures=figures, problems=problems)


def rows() -> list[dict]:
    """Return a row for each figure that has a counterpart, and one row for all others of a folder."""
    root = folder()
    if root is None:
        return []
    result = []
    for name in sorted(path.name for path in root.iterdir() if path.is_dir()):
        audit = audited(root, name)
        if audit is None:
            continue
        alone = audit.filter(answer="no counterpart")
        result += [row for row in _figures(audit, name, "the logs") if row["answer"] != "no counterpart"]
        if alone.height:
            result.append(_row(name, "the logs", "all other figures", alone.row(0, named=True), None, alone.height))
    for path, claim, source in PUBLISHED:
        turns, problems = rw.read(root / path, errors="collect")
        result += _figures(rw.audit(turns, claim, problems=problems), path.split("/")[0], source)
    return result


def _figures(audit: pl.DataFrame, name: str, source: str) -> list[dict]:
    result = []
    rows = audit.rows(named=True)
    starts = [place for place, row in enumerate(rows) if row["part"] == "stated"]
    for start, end in zip(starts, [*starts[1:], len(rows)], strict=True):
        row, parts = rows[start], {row["part"]: row for row in rows[start + 1 : end]}
        about = [str(row[key]) for key in ("target", "attack", "task") if row.get(key)]
        row["reason"] = row["reason"] if row["answer"] != "not explained" else parts["unexplained"]["reason"]
        result.append(_row(name, source, " ".join([*about, row["figure"]]), row, parts.get("log"), 1))
    return result


def _row(name: str, source: str, figure: str, row: dict, log: dict | None, number: int) -> dict:
    single = number == 1
    return {
        "data": name,
        "stated in": source,
        "figure": figure,
        "figures": number,
        "stated": round(row["estimate"], 4) if single else None,
        "of": row["n"] if single else None,
        "from the log": None if log is None or log["estimate"] is None else round(log["estimate"], 4),
        "n": None if log is None else log["n"],
        "answer": row["answer"],
        "why": "" if row["answer"] == "equal" else row["reason"],
    }
