"""Figures that producers report about their own runs, as SUMMARY, to compare with figures computed from the logs."""

from typing import Literal, overload

import polars as pl

from rollwise.readers.columns import Columns
from rollwise.readers.gathering import gather
from rollwise.readers.native.files import plain_frame
from rollwise.readers.problems import Problems, Reading, broken
from rollwise.readers.results.figures import REPORTS
from rollwise.readers.sources.documents import Document
from rollwise.readers.sources.frames import from_columns
from rollwise.readers.sources.paths import Paths
from rollwise.schema import SUMMARY
from rollwise.schema.named import column_named
from rollwise.schema.option_types import check_option_types

ABOUT = ("source", "run", "target", "attack", "task", "ours", "file")  # the columns before those of SUMMARY
KNOWN_BY = "figures are in logs of " + ", ".join(
    dict.fromkeys(report.source for report in REPORTS if report.source != "numbers")
)


@overload
def read_summary(paths: Paths, *, errors: Literal["raise"] = "raise") -> pl.DataFrame: ...
@overload
def read_summary(paths: Paths, *, errors: Literal["collect"]) -> Reading: ...
def read_summary(paths: Paths, *, errors: Literal["raise", "collect"] = "raise") -> pl.DataFrame | Reading:
    r"""Read the figures that logs report about themselves, and files of SUMMARY, into one SUMMARY.

    ====================== ====================================== ================ ==================================
    source                 figure                                 `ours`           where they differ
    ====================== ====================================== ================ ==================================
    inspect                ``<scorer>/<metric>``, with the        `task_success`   accuracy counts P as 1/2 and N as
                           standard error where it is stated      (first scorer's  0, where `solved` is null
                                                                  accuracy)
    jailbreakbench         attack_success_rate                    `attack_success` not at all, by `run`
    jailbreakbench         total_number_of_jailbreaks (a sum)     none             another judge
    garak                  the detector, of the probe `attack`:   `attack_success` hits over evaluated outputs, that
                           share of hits, with its interval       (first of a      is not passes
                                                                  probe)
    astra                  as in the file, slashes included       as in `AST`      a rollout without turns is 0 there
    nat_eval               average_score, of items with a number  none
    quesma                 vulnerable, of findings                none
    arena_hard             score, in per cent, with its interval  none
    nat_red_team           overall_score, and attack_success_rate     none             counts over scenarios and over
                           of all and of each scenario                              items; 0.0 where nothing was judged
    aisteer                ``<metric>/<key>``, every number of a  none
                           trial, with `pipeline`, `config_id`,
                           `trial_id` and `params`
    skyrl                  every ``eval/<name>``                  none             the name before the slash is `task`
    lm_eval                ``<metric>`` or ``<metric>/<filter>``, `task_success`   by `category`: a figure of a
                           with the standard error, of each task  (first filter's  sample that is neither 0 nor 1
                           and group; with `n_shot`               metric of        leaves `solved` null
                                                                  `solved`)
    lighteval              as in lm_eval                          none
    numbers                every number of a table of benchmark   none             the outer name is `task`, the inner
                           scores                                                  one `target`
    every_eval_ever        every score, with its standard error   none             `task` is the evaluation's name;
                           and interval; with `unit` and                           the scale is the file's own
                           `lower_is_better`
    summary                files of SUMMARY                       unchanged
    ====================== ====================================== ================ ==================================

    Parameters
    ----------
    paths
        A file, a folder or several of them, as in `read`.
    errors
        ``"raise"`` or ``"collect"``, as in `read`.

    Returns
    -------
    SUMMARY, after the columns `source`, `run` (as `read` names it), `target`, `attack`, `task`, `ours` (the metric of
    rollwise with the same definition, or null) and `file`. What a file does not state is null; `method` names the
    producer. With ``errors="collect"``, a named pair of SUMMARY and PROBLEMS.

    Raises
    ------
    ReadError
        Naming file, record, field and remedy. Also where nothing is reported at all.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "log.json"
    >>> spec = '"eval": {"task": "sums", "model": "parrot", "eval_id": "E1"}'
    >>> scores = '[{"name": "match", "metrics": {"accuracy": {"value": 0.75}, "stderr": {"value": 0.25}}}]'
    >>> _ = path.write_text(
    ...     f'{{"status": "success", {spec}, "results": {{"completed_samples": 4, "scores": {scores}}}}}'
    ... )
    >>> read_summary(path).select("run", "metric", "ours", "estimate", "std_error", "n").row(0)
    ('E1', 'match/accuracy', 'task_success', 0.75, 0.25, 4)
    """
    check_option_types(read_summary, locals())
    frame, problems = gather(paths, "read_summary", errors, "reports no figures", KNOWN_BY, _figures)
    summary = _arranged(frame)
    return problems.with_rows(summary)


def _figures(document: Document, problems: Problems) -> pl.DataFrame:
    """Return the figures of one file; an empty frame if it has none."""
    if {"metric", "estimate"} <= document.keys and not {"prompt", "response"} & document.keys:
        return _typed(plain_frame(document))
    # The first kind of file that recognizes the document, as with formats.
    report = next((report for report in REPORTS if report.sniff(document)), None)
    if report is None:
        return pl.DataFrame()
    columns = Columns()
    about = {"source": report.source, "file": document.name, "method": f"reported by {report.source}"}
    for figure in report.figures(document, problems):
        columns.append({"statistic": "mean", **about, **figure})
    return _typed(from_columns(columns, frozenset(ABOUT))) if columns.height else pl.DataFrame()


def _typed(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with the dtypes of SUMMARY; NaN becomes null."""
    dtypes = {name: dtype for name, dtype in SUMMARY.dtypes.items() if name in frame.columns}
    try:
        frame = frame.with_columns(column_named(name).cast(dtype, strict=True) for name, dtype in dtypes.items())
    except pl.exceptions.PolarsError as error:
        raise broken("is not a SUMMARY table", error) from error
    return frame.with_columns(pl.col(pl.Float64).fill_nan(None))


def _arranged(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the columns that identify a figure, then the columns of SUMMARY."""
    # Also columns that only some producers have, such as `params`, come before the figures.
    about = [name for name in (*ABOUT, *frame.columns) if name not in SUMMARY.names]
    return frame.select(
        column_named(name) if name in frame.columns else pl.lit(None, SUMMARY.dtypes.get(name, pl.String())).alias(name)
        for name in dict.fromkeys([*about, *SUMMARY.names])
    )
