"""Outcomes of the rollouts in any mix of logs, without their messages."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal, overload

import polars as pl

from rollwise.errors import ArgumentError
from rollwise.readers.asking import Call, asking
from rollwise.readers.by_format import tables_of
from rollwise.readers.columns import arrange, fact_literals, reconcile, without_nulls
from rollwise.readers.mapping.given import MappingInput, checked_mapping
from rollwise.readers.names import checked_names
from rollwise.readers.naming import Naming
from rollwise.readers.native import tables as native
from rollwise.readers.native.own_columns import understood
from rollwise.readers.native.same_prompts import are_open, with_units
from rollwise.readers.native.total_rows import without_totals
from rollwise.readers.problems import Problems, Reading
from rollwise.readers.registry import forced_format
from rollwise.readers.roles.columns import CUSTOM
from rollwise.readers.sources.copies import copied
from rollwise.readers.sources.paths import Paths, documents, listed
from rollwise.readers.table import TurnsBuilder
from rollwise.schema import ROLLOUTS
from rollwise.schema.named import column_named, columns_named
from rollwise.schema.option_types import check_option_types


@overload
def read_rollouts(
    paths: Paths,
    *,
    format: str | None = None,
    errors: Literal["raise"] = "raise",
    names: Mapping[str, Any] | None = None,
    mapping: MappingInput | None = None,
    **facts: Any,
) -> pl.DataFrame: ...
@overload
def read_rollouts(
    paths: Paths,
    *,
    format: str | None = None,
    errors: Literal["collect"],
    names: Mapping[str, Any] | None = None,
    mapping: MappingInput | None = None,
    **facts: Any,
) -> Reading: ...
def read_rollouts(
    paths: Paths,
    *,
    format: str | None = None,  # noqa: A002 - as in read
    errors: Literal["raise", "collect"] = "raise",
    names: Mapping[str, Any] | None = None,
    mapping: MappingInput | None = None,
    **facts: Any,
) -> pl.DataFrame | Reading:
    r"""Read ROLLOUTS from logs: a row for each rollout with its facts and the producer's own columns.

    The facts are the same as from `read`. Of logs with summaries of their samples (archives of Inspect AI), only the
    summaries are read, which takes a small part of the time. Texts that a summary shortens are then left out (`expected`
    is null), and a sample that is broken still counts. All other logs are read entirely.

    Parameters
    ----------
    paths, format, errors, names, mapping, **facts
        As in `read`.

    Returns
    -------
    ROLLOUTS without `num_turns` and `num_judged`, since turns are not read; extra columns follow. With
    ``errors="collect"``, a named pair of ROLLOUTS and PROBLEMS.

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
    check_option_types(read_rollouts, locals(), own=("mapping",))
    if errors not in {"raise", "collect"}:
        raise ArgumentError(f'read_rollouts: errors={errors!r} is neither "raise" nor "collect"')
    values = fact_literals(facts, "read_rollouts")
    problems = Problems(collect=errors == "collect")
    naming = Naming(checked_names(names, "read_rollouts"), problems, "read_rollouts")
    if naming.given.at is not None:
        raise ArgumentError("read_rollouts: a score becomes a verdict turn by turn: use `rw.measure(rw.read(...))`")
    given_mapping = checked_mapping(mapping, format, names, "read_rollouts")
    places = listed(paths, "read_rollouts")
    # With `outcomes`, formats with a summary of their samples leave out the turns.
    call = Call("readers.read_rollouts", paths, {"format": format, **facts, "names": names})
    with (
        asking(problems, call),
        copied(places, problems, companions=() if given_mapping is None else given_mapping.beside) as here,
    ):
        files = documents(here, problems, rollouts=True)
        tables = tables_of(files, here, forced_format(format, given_mapping), problems, naming, outcomes=True)
        rows = _rollouts(tables, naming, problems, [*values])
        frame = reconcile([naming.of_tool(frame, source) for frame, source in rows])
        problems.announce()
        naming.finish()
    # Keys and facts first, then the producer's own columns.
    keys = ["rollout_id", *ROLLOUTS.facts]
    missing = [pl.lit(None, ROLLOUTS.dtypes[name]).alias(name) for name in keys if name not in frame.columns]
    extras = [name for name in frame.columns if name not in keys]
    frame = frame.with_columns(missing).with_columns(
        column_named(name).fill_null(value) for name, value in values.items()
    )
    rollouts = frame.select(*columns_named(keys), *columns_named(extras))
    return problems.with_rows(rollouts)


def _rollouts(
    tables: list[TurnsBuilder], naming: Naming, problems: Problems, stated: Collection[str]
) -> Iterator[tuple[pl.DataFrame, str]]:
    """Iterate over the facts of rollouts, a frame each with its source; in chats of your own they may follow from the turns."""
    parts = naming.of_parts(part for table in tables if table.source in CUSTOM for part in native.parts_of(table))
    names = {*ROLLOUTS.names}.union(*(part.of_records for part in parts))
    parts = without_totals(parts, tables[0].origins, problems)
    enclosing = {name for table in tables for name in table.enclosing}
    frames = understood(parts, problems, naming.names, naming.given.of, enclosing)
    if frames:
        turns = arrange(reconcile([without_nulls(frame) for frame in frames]))
        if are_open(parts) and all(table.source in CUSTOM for table in tables):
            turns = with_units(turns, {*naming.names, *stated}, problems)
        chosen = turns.select(columns_named(name for name in turns.columns if name in names))
        yield chosen.unique("rollout_id", keep="first", maintain_order=True), parts[0].source
    for table in tables:
        if table.source not in CUSTOM:
            yield from ((frame, table.source) for frame in table.rollouts())
