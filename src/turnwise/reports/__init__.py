"""Report of TURNS: a folder with one HTML page, the frames it shows, and its figures.

`frames.py` computes everything by the public verbs; `results.py`, `accounts.py` and `methods.py` make sections of it;
`figures.py` draws; `viewer.py` packs the transcripts; `page.py` renders the page.
"""

import json
import platform
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import polars as pl

from turnwise import __version__, schema
from turnwise.files.atomic import content_hash, whole_folder
from turnwise.files.object_stores import path_of
from turnwise.files.writers import write
from turnwise.readers.turns import turns as as_turns
from turnwise.reports.figures import figures
from turnwise.reports.frames import Frames, frames
from turnwise.reports.page import page
from turnwise.reports.viewer import transcripts
from turnwise.schema.arguments import By, Cluster, frame_of


def report(
    turns: object,
    out: str | Path = "report",
    *,
    by: By | None = None,
    cluster: Cluster = "auto",
    level: float = 0.95,
    seed: int = 0,
    title: str | None = None,
    problems: pl.DataFrame | None = None,
    inputs: Sequence[str | Path] = (),
    overwrite: bool = False,
    progress: bool = False,
) -> Path:
    """Write a report and return the path of its `report.html`.

    The folder has ``report.html`` (one file, usable without a network), ``turns.parquet``, ``rollouts.parquet``,
    ``summary.parquet``, ``.csv`` and ``.json``, ``curve.parquet``, ``doctor.parquet``, ``figures/*.svg`` and ``run.json``
    (versions, inputs with sizes and hashes, seed, counts); if they have rows, also ``contrast.parquet``,
    ``profile.parquet``, ``training.parquet``, ``category_attack.parquet`` and ``costs.parquet``. It is written completely or
    not at all.

    Parameters
    ----------
    turns
        TURNS, or a frame that `tw.turns` can convert.
    out
        The folder; it must be new or empty unless `overwrite`.
    by
        Columns to group by; by default source, target and attack, as far as they vary.
    cluster, level, seed
        As in `summarize`.
    title
        Heading of the page.
    problems
        PROBLEMS found while reading, to be listed on the page.
    inputs
        The files or folders that were read, for ``run.json``.
    overwrite
        Whether files of the same names may be replaced. Other files in the folder are kept.
    progress
        Whether to show a progress bar on stderr.

    Raises
    ------
    WriteError
        If the folder is not empty or cannot be written.
    SchemaError, ArgumentError
        If the table is not TURNS, or an option names a missing column.

    Examples
    --------
    >>> import tempfile, turnwise as tw
    >>> turns, _ = tw.simulate(goals=5, attempts=2, turns=3, seed=1)
    >>> path = report(turns, Path(tempfile.mkdtemp()) / "report")
    >>> path.name, (path.parent / "summary.csv").exists()
    ('report.html', True)
    """
    from tqdm.auto import tqdm

    out = path_of(out)
    steps = tqdm(total=4, desc="report", disable=None if progress else True, leave=False)
    # Everything is written to a draft folder, which replaces `out` only when it is complete.
    with whole_folder(out, overwrite=overwrite) as draft, steps:
        data = frames(as_turns(frame_of(turns, "report")), by=by, cluster=cluster, level=level, seed=seed)
        steps.update()
        problem_rows = schema.empty(schema.PROBLEMS) if problems is None else problems
        images = figures(data, draft / "figures")
        steps.update()
        for name, frame in data.files:
            write(frame, draft / f"{name}.parquet")
        for suffix in (".parquet", ".csv", ".json"):
            write(data.summary, draft / f"summary{suffix}")
        steps.update()
        heading = title or "What the rollouts show"
        html = page(data, images, transcripts(data), problem_rows, title=heading, level=level)
        (draft / "report.html").write_text(html, encoding="utf-8")
        run = _run(data, problem_rows, inputs, by=by, cluster=cluster, level=level, seed=seed)
        (draft / "run.json").write_text(json.dumps(run, indent=2) + "\n", encoding="utf-8")
        steps.update()
    return out / "report.html"


def _run(data: Frames, problems: pl.DataFrame, inputs: Sequence[str | Path], **options: Any) -> dict[str, Any]:
    """Describe the run: inputs, versions and options, enough to reproduce the folder."""
    # Hash every input, so that a report can be traced to the exact files.
    files = sorted(
        {
            file
            for path in map(Path, inputs)
            for file in (path.rglob("*") if path.is_dir() else [path])
            if file.is_file()
        }
    )
    return {
        "turnwise": __version__,
        "python": platform.python_version(),
        "versions": {name: metadata.version(name) for name in ("polars", "numpy", "scipy", "matplotlib")},
        "options": {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()},
        "groups": list(data.by),
        "inputs": [{"path": str(file), "bytes": file.stat().st_size, "blake2b": content_hash(file)} for file in files],
        "counts": {
            "rollouts": data.rollout_count,
            "turns": data.turn_count,
            "problems": problems.height,
        },
    }
