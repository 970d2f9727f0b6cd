"""Report of TURNS: a folder with one HTML page, the frames it shows, and its figures.

`frames.py` computes everything by the public verbs; `results.py`, `reading.py` and `methods.py` make sections of it; `header.py`
makes the top of the page; `figures.py` draws; `viewer.py` packs the transcripts; `page.py` renders the page.
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
from turnwise.readers.read import read
from turnwise.readers.turns import turns as as_turns
from turnwise.reports.figures import figures
from turnwise.reports.frames import Frames, Unjudged, frames
from turnwise.reports.header import configuration, today
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
    unjudged: Unjudged = "bounds",
    title: str | None = None,
    baseline: object = None,
    problems: pl.DataFrame | None = None,
    accounting: pl.DataFrame | None = None,
    inputs: Sequence[str | Path] = (),
    overwrite: bool = False,
    progress: bool = False,
) -> Path:
    """Write a report and return the path of its `report.html`.

    The folder has ``report.html`` (one file, usable without a network), ``turns.parquet``, ``rollouts.parquet``,
    ``summary.parquet``, ``.csv`` and ``.json``, ``curve.parquet``, ``doctor.parquet``, ``figures/*.svg`` and ``run.json``
    (date, versions, inputs with sizes and hashes, seed, counts); if they have rows, also ``contrast``, ``changes``,
    ``attempts``, ``profile``, ``training``, ``category_attack``, ``taxonomy`` and ``costs.parquet``. It is written completely
    or not at all.

    Parameters
    ----------
    turns
        TURNS, or a frame that `tw.turns` can convert.
    out
        The folder; it must be new or empty unless `overwrite`.
    by
        Columns to group by. By default those that users of each tool know, as far as they vary: task name and target for
        Inspect; target, attack (the probe) and detector for garak; target, category (the plugin) and attack (the strategy)
        for promptfoo; suite, target and attack for AgentDojo; otherwise target and attack. The page names them.
    cluster, level, seed, unjudged
        As in `summarize`. `contrast` cannot censor: its intervals then hold whatever the missing verdicts are.
    title
        Heading of the page; by default it names the targets.
    baseline
        Earlier rollouts to compare with, paired by goal: the folder of an earlier report, log files or folders, or TURNS.
    problems
        PROBLEMS found while reading, to be listed on the page.
    accounting
        ACCOUNTING of the same reading, to be listed on the page: see `turnwise.readers.accounting`.
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
    ReadError
        If `baseline` is not a report and holds no logs.
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
    options: dict[str, Any] = {"cluster": cluster, "level": level, "seed": seed, "unjudged": unjudged}
    steps = tqdm(total=4, desc="report", disable=None if progress else True, leave=False)
    # Everything is written to a draft folder, which replaces `out` only when it is complete.
    with whole_folder(out, overwrite=overwrite) as draft, steps:
        earlier, lost = _earlier(baseline)
        data = frames(as_turns(frame_of(turns, "report")), by=by, earlier=earlier, **options)
        steps.update()
        problem_rows = schema.empty(schema.PROBLEMS) if problems is None else problems
        images = figures(data, draft / "figures")
        steps.update()
        for name, frame in data.files:
            write(frame, draft / f"{name}.parquet")
        for suffix in (".parquet", ".csv", ".json"):
            write(data.summary, draft / f"summary{suffix}")
        steps.update()
        html = page(
            data,
            images,
            transcripts(data),
            problem_rows,
            accounting,
            title=title,
            level=level,
            facts=configuration(
                data, inputs, _name_of(baseline), chosen=by is not None, level=level, seed=seed, unjudged=unjudged
            ),
            lost=lost,
        )
        (draft / "report.html").write_text(html, encoding="utf-8")
        run = _run(data, problem_rows, inputs, by=by, baseline=_name_of(baseline), **options)
        (draft / "run.json").write_text(json.dumps(run, indent=2) + "\n", encoding="utf-8")
        steps.update()
    return out / "report.html"


def _earlier(baseline: object) -> tuple[pl.DataFrame | None, int]:
    """Return the earlier turns, and how many of their records could not be read."""
    if baseline is None:
        return None, 0
    if isinstance(baseline, str | Path):
        # The folder of a report holds its turns beside other tables, which are not logs.
        turns = Path(baseline) / "turns.parquet"
        frame, problems = read(turns if turns.is_file() else baseline, errors="collect")
        return frame, problems.height
    return as_turns(frame_of(baseline, "report: baseline")), 0


def _name_of(baseline: object) -> str | None:
    """Return how the earlier rollouts are named on the page and in ``run.json``."""
    if baseline is None:
        return None
    return str(baseline) if isinstance(baseline, str | Path) else "a table in memory"


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
        "date": today(),
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
