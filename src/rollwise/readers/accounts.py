"""Counts of the records of each file: read, dropped, passed over."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from rollwise.readers.mapping.given import MappingInput
from rollwise.readers.problems import Problems
from rollwise.readers.read import read_into
from rollwise.readers.sources.paths import Paths
from rollwise.schema.option_types import check_option_types


def accounting(
    paths: Paths,
    *,
    format: str | None = None,  # noqa: A002  # as in `read`
    names: Mapping[str, Any] | None = None,
    mapping: MappingInput | None = None,
) -> pl.DataFrame:
    r"""Read logs as ``read(errors="collect")`` does, and count what became of the records of each file.

    Parameters
    ----------
    paths, format, names, mapping
        As in `read`.

    Returns
    -------
    ACCOUNTING: a row for each file, even if it cannot be read, with ``records = read + passed_over + broken``.
    Over all files, `rollouts` and `turns` add up to TURNS, and `problems` to the rows of PROBLEMS. A record is what the
    format repeats in a file: a line, a row, an item of a list, a sample. It may hold several rollouts, or be one turn.

    Raises
    ------
    ReadError
        Where nothing could be read at all.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.jsonl").write_text('{"messages": [{"role": "assistant", "content": "Hi"}]}\n{"messages": 3}\n')
    >>> accounting(folder).select("format", "records", "read", "broken", "rollouts", "turns").rows()
    [('openai_chat', 2, 1, 1, 1, 1)]
    """
    check_option_types(accounting, locals(), own=("paths", "names", "mapping"))
    problems = Problems(collect=True)
    read_into(problems, paths, format, names=names, mapping=mapping)
    return problems.accounting()
