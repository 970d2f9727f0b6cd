"""Outcomes of the rollouts of any mix of logs, without their messages."""

from collections.abc import Mapping
from typing import Any, Literal, overload

import polars as pl

from turnwise.errors import ArgumentError
from turnwise.readers.columns import reconcile
from turnwise.readers.naming import Naming, checked_names
from turnwise.readers.problems import Problems
from turnwise.readers.read import fact_literals, tables_of
from turnwise.readers.registry import format_named
from turnwise.readers.sources.paths import Paths, documents, listed
from turnwise.schema import ROLLOUTS


@overload
def read_rollouts(
    paths: Paths,
    *,
    format: str | None = None,
    errors: Literal["raise"] = "raise",
    names: Mapping[str, str] | None = None,
    **facts: Any,
) -> pl.DataFrame: ...
@overload
def read_rollouts(
    paths: Paths,
    *,
    format: str | None = None,
    errors: Literal["collect"],
    names: Mapping[str, str] | None = None,
    **facts: Any,
) -> tuple[pl.DataFrame, pl.DataFrame]: ...
def read_rollouts(
    paths: Paths,
    *,
    format: str | None = None,  # noqa: A002 - as in read
    errors: Literal["raise", "collect"] = "raise",
    names: Mapping[str, str] | None = None,
    **facts: Any,
) -> pl.DataFrame | tuple[pl.DataFrame, pl.DataFrame]:
    r"""ROLLOUTS as the logs account for them: a row for each rollout with its facts and the producer's own columns.

    What is said of a rollout is what `read` says of it. Logs that keep such an account beside their samples (archives of
    Inspect AI) are read by that alone, which costs a small part of reading them: nothing there looks into a sample.
    Hence texts that the account abridges are left out (`expected` is null), and a sample that is broken is here all
    the same. All other logs are read whole.

    Parameters
    ----------
    paths, format, errors, names, **facts
        As in `read`.

    Returns
    -------
    ROLLOUTS without `num_turns` and `num_judged`, which no turn was looked at for; extra columns follow. With
    ``errors="collect"``, ROLLOUTS and PROBLEMS.

    Raises
    ------
    ReadError
        Naming file, record, field and remedy. Also where nothing could be read at all.
    ArgumentError
        For an unknown format or fact, or a column of `names` that is in none of the files.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "mine.csv"
    >>> _ = path.write_text("rollout_id,solved,response\na,true,Hello\na,true,No\nb,false,Yes\n")
    >>> read_rollouts(path).select("rollout_id", "solved").rows()
    [('a', True), ('b', False)]
    """
    if errors not in {"raise", "collect"}:
        raise ArgumentError(f'read_rollouts: errors={errors!r} is neither "raise" nor "collect"')
    known = fact_literals(facts, "read_rollouts")
    problems = Problems(collect=errors == "collect")
    naming = Naming(checked_names(names, "read_rollouts"), problems, "read_rollouts")
    given = listed(paths, "read_rollouts")
    files = documents(given, problems, rollouts=True)
    tables = tables_of(files, given, format_named(format), problems, outcomes=True, naming=naming)
    problems.announce()
    found = reconcile([naming.of_tool(frame, table.source) for table in tables for frame in table.rollouts()])
    naming.finish()
    ours = ["rollout_id", *ROLLOUTS.facts]
    missing = [pl.lit(None, ROLLOUTS.dtypes[name]).alias(name) for name in ours if name not in found.columns]
    whole = found.with_columns(missing).with_columns(pl.col(name).fill_null(value) for name, value in known.items())
    rollouts = whole.select(*ours, *(name for name in found.columns if name not in ours))
    return (rollouts, problems.frame()) if problems.collect else rollouts
