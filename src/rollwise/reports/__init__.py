"""Report of TURNS: a folder with one HTML page, the frames it shows, and its figures.

`frames.py` and `headline.py` compute everything by the public verbs; `title.py` and `claims.py` say what was found,
`first_screen.py` corrects them by people's labels, and `header.py` says what is around them; `results.py`, `reading.py` and
`methods.py` make sections, and `findings.py` and `ends.py` their first sentences; `figures.py` draws; `viewer.py` packs the
transcripts; `page.py` renders the page.
"""

import json
import platform
from collections.abc import Iterator, Sequence
from importlib import metadata
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from rollwise import __version__, schema
from rollwise.choices import Unjudged
from rollwise.errors import listing
from rollwise.files.atomic import content_hash, is_draft, whole_folder
from rollwise.files.manifests import levels
from rollwise.files.object_stores import path_of
from rollwise.files.swaps import inside
from rollwise.files.writers import defused, flat, formulas_in_words, write
from rollwise.notebook import bars
from rollwise.readers.read import read
from rollwise.readers.turns import turns as as_turns
from rollwise.readers.verdicts import read_verdicts
from rollwise.reports.figures import figures as drawn
from rollwise.reports.first_screen import claims
from rollwise.reports.first_screen import title as said
from rollwise.reports.frames import Frames, frames
from rollwise.reports.header import configuration, today
from rollwise.reports.labeled import Labeled, labeled
from rollwise.reports.links import rates_of_groups
from rollwise.reports.page import page
from rollwise.reports.stated import stated
from rollwise.reports.viewer import transcripts
from rollwise.schema.arguments import By, Cluster, frame_of
from rollwise.schema.labels import counted, say, sentence
from rollwise.schema.option_types import check_option_types

RUN = "run.json"
STEPS = ("estimating rates", "drawing figures", "writing tables", "packing transcripts")


def report(
    turns: object,
    out: str | Path = "report",
    *,
    baseline: object = None,
    labels: object = None,
    by: By = "auto",
    cluster: Cluster = "auto",
    level: float = 0.95,
    unjudged: Unjudged = "bounds",
    seed: int = 0,
    title: str | None = None,
    problems: pl.DataFrame | None = None,
    accounting: pl.DataFrame | None = None,
    figures: pl.DataFrame | None = None,
    inputs: Sequence[str | Path] = (),
    overwrite: bool = False,
    progress: bool = True,
) -> Path:
    """Write a report and return the path of its `report.html`.

    The page begins with what was found: a title, the worst group, the largest difference that stands, and the best news as a
    bound. What the paired comparisons deny is not said, and more than a tenth without a verdict is.

    The folder has ``report.html`` (one file, usable without a network), ``turns.parquet``, ``rollouts.parquet``,
    ``summary.parquet``, ``.csv`` and ``.json``, ``curve.parquet``, ``doctor.parquet``, ``figures/*.svg`` and ``run.json``
    (title and claims of the page, date, versions, inputs and files with sizes and hashes, seed, counts); if they have rows, also
    ``headline`` and ``headline_contrast`` (the rates of the first grouping column over all others, and their differences),
    ``common_goals``, ``rank``, ``contrast``, ``changes``, ``attempts``, ``profile``, ``training``, ``training_ends``,
    ``category_attack``, ``taxonomy`` and ``costs.parquet``. It is written completely or not at all. In ``summary.csv``, text that a
    spreadsheet would run as a formula begins with an apostrophe.

    Parameters
    ----------
    turns
        TURNS, or a frame that `rw.turns` can convert.
    out
        The folder; it must be new or empty unless `overwrite`.
    baseline
        Earlier rollouts to compare with, paired by goal: the folder of an earlier report, log files or folders, or TURNS.
    labels
        People's labels of some of these rollouts, from a page of `rw.judges.label_page`: its files, or VERDICTS. The page then has
        the rates corrected for the judge's errors beside the judge's, and the folder ``labels``, ``corrected`` and
        ``agreement.parquet``.
    by
        Columns to group by. ``"auto"``: those that users of each tool know, as far as they vary: task name and target for
        Inspect; target, attack (the probe) and detector for garak; target, category (the plugin) and attack (the strategy)
        for promptfoo; suite, target and attack for AgentDojo; otherwise target and attack. The page names them.
    cluster, level, unjudged, seed
        As in `summarize`. `contrast` cannot censor: its intervals then hold for every value of the missing verdicts.
    title
        Heading of the page, above what was found; by default the heading is what was found.
    problems
        PROBLEMS found while reading, to be listed on the page.
    accounting
        ACCOUNTING of the same reading, to be listed on the page: see `rollwise.readers.accounting`.
    figures
        Figures that the logs state about themselves (`readers.read_summary`): a section says whether their rollouts agree.
    inputs
        The files or folders that were read, for ``run.json``.
    overwrite
        Whether an earlier report in the folder may be replaced, all of it in one step. Files that no report wrote are kept, unless
        they have the name of a file of the new report; a line on stderr says what was replaced and kept.
    progress
        Whether to show a progress bar on stderr, which says what is being done.

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
    >>> import tempfile, rollwise as rw
    >>> turns, _ = rw.simulate(goals=5, attempts=2, turns=3, seed=1)
    >>> path = report(turns, Path(tempfile.mkdtemp()) / "report")
    >>> path.name, (path.parent / "summary.csv").exists()
    ('report.html', True)
    """
    check_option_types(report, locals(), own=("title", "inputs"))
    out = path_of(out)
    options: dict[str, Any] = {"cluster": cluster, "level": level, "seed": seed, "unjudged": unjudged}
    steps = bars()(total=len(STEPS), disable=None if progress else True, leave=False)

    def begin(step: str) -> None:
        steps.n = STEPS.index(step)
        steps.set_description(f"report: {step}")

    # Everything is written to a draft folder, which replaces `out` only when it is complete.
    is_new, before = not out.is_dir() or not any(out.iterdir()), _record(out)
    with whole_folder(out, overwrite=overwrite, earlier=_files) as draft, steps:
        begin("estimating rates")
        earlier, lost = _earlier(baseline)
        data = frames(as_turns(frame_of(turns, "report")), by=by, earlier=earlier, **options)
        by_hand = _by_hand(data, labels, **options)
        problem_rows = schema.empty(schema.PROBLEMS) if problems is None else problems
        begin("drawing figures")
        images = drawn(data, draft / "figures", **options)
        begin("writing tables")
        for name, frame in (*data.files, *(() if by_hand is None else by_hand.files)):
            write(frame, draft / f"{name}.parquet")
        for suffix in (".parquet", ".json"):
            write(data.summary, draft / f"summary{suffix}")
        # A CSV file is opened in spreadsheets; the other two hold names as they are.
        safe, changed = defused(flat(data.summary))
        write(safe, draft / "summary.csv")
        if changed:
            say(f"{out}/summary.csv: {formulas_in_words(changed)}")
        begin("packing transcripts")
        html = page(
            data,
            images,
            transcripts(data, rates=rates_of_groups(data)),
            problem_rows,
            accounting,
            title=title,
            level=level,
            facts=configuration(
                data, inputs, _name_of(baseline), chosen=by != "auto", level=level, seed=seed, unjudged=unjudged
            ),
            lost=lost,
            by_hand=by_hand,
            last=[stated(data, figures, problem_rows, level, cluster, seed)],
        )
        (draft / "report.html").write_text(html, encoding="utf-8")
        run = _run(data, by_hand, problem_rows, inputs, by=by, baseline=_name_of(baseline), **options)
        # By this list the next report in the folder knows which files are of this one; `run.json` itself is always replaced.
        run["files"] = [_facts(file, draft) for file in sorted(draft.rglob("*")) if file.is_file()]
        (draft / RUN).write_text(json.dumps(run, indent=2) + "\n", encoding="utf-8")
    if not is_new:
        _report_replaced(out, before, _names(run))
    return out / "report.html"


def _record(folder: Path) -> dict[str, Any]:
    """Return what ``run.json`` says of the report in a folder; empty where there is none."""
    try:
        record = json.loads((folder / RUN).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    # Other tools write a `run.json` too.
    return record if isinstance(record, dict) and "rollwise" in record else {}


def _names(record: dict[str, Any]) -> set[str]:
    """Return the files of a report, as its ``run.json`` lists them."""
    files = record.get("files")
    return inside([file.get("path") for file in files if isinstance(file, dict)] if isinstance(files, list) else [])


def _files(folder: Path) -> set[str]:
    return _names(_record(folder))


def _report_replaced(out: Path, before: dict[str, Any], names: set[str]) -> None:
    """Report which report was replaced, and which files were left because no report wrote them."""
    replaced = "files of the same names"
    if before:
        replaced = f"the report of {before.get('date')!s:.40} ({counted(len(_names(before)), 'file')})"
    # Another process may write to this folder now.
    files = (file.relative_to(out) for file in _below(out))
    others = {file.as_posix() for file in files if not is_draft(out / file.parts[0])} - names - {RUN}
    kept = f"; kept {counted(len(others), 'file')} that no report wrote ({listing(others, most=3)})" if others else ""
    say(f"{out}: replaced {replaced}{kept}")


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


def _by_hand(data: Frames, given: object, **options: Any) -> Labeled | None:
    """Return what people's labels say of the rollouts; None without labels."""
    if given is None:
        return None
    if isinstance(given, str | PathLike):
        return labeled(data, read_verdicts(given), **options)
    if isinstance(given, list | tuple) and all(isinstance(each, str | PathLike) for each in given):
        return labeled(data, read_verdicts([*given]), **options)
    return labeled(data, frame_of(given, "report: labels"), **options)


def _name_of(baseline: object) -> str | None:
    """Return how the earlier rollouts are named on the page and in ``run.json``."""
    if baseline is None:
        return None
    return str(baseline) if isinstance(baseline, str | Path) else "a table in memory"


def _below(folder: Path) -> Iterator[Path]:
    return (Path(where, name) for where, _, files in levels(folder) for name in files)


def _run(
    data: Frames, by_hand: Labeled | None, problems: pl.DataFrame, inputs: Sequence[str | Path], **options: Any
) -> dict[str, Any]:
    """Describe the run: inputs, versions and options, enough to reproduce the folder."""
    # Hash every input, so that a report can be traced to the exact files.
    files = sorted(
        {file for path in map(Path, inputs) for file in (_below(path) if path.is_dir() else [path]) if file.is_file()}
    )
    return {
        "title": said(data, by_hand),
        "claims": [sentence(str(claim)) for claim in claims(data, by_hand)],
        "date": today(),
        "rollwise": __version__,
        "python": platform.python_version(),
        "versions": {name: metadata.version(name) for name in ("polars", "numpy", "scipy", "matplotlib")},
        "options": {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()},
        "groups": list(data.by),
        "inputs": [_facts(file) for file in files],
        "counts": {
            "rollouts": data.rollout_count,
            "turns": data.turn_count,
            "problems": problems.height,
        },
    }


def _facts(file: Path, folder: Path | None = None) -> dict[str, Any]:
    """Return the path of a file (relative to a folder), its size and its hash."""
    path = str(file) if folder is None else file.relative_to(folder).as_posix()
    return {"path": path, "bytes": file.stat().st_size, "blake2b": content_hash(file)}
