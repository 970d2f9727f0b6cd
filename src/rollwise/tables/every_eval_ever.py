"""Results and rollouts as records of Every Eval Ever, the schema in which evaluations are exchanged."""

import hashlib
import json
import re
import time
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import polars as pl

from rollwise import __version__
from rollwise.errors import ArgumentError, listing
from rollwise.files.atomic import whole_folder
from rollwise.readers.formats.exchange.every_eval_ever import METADATA_KEY, SAMPLES
from rollwise.schema import SUMMARY, labels
from rollwise.schema.arguments import frame_of
from rollwise.schema.named import column_named, columns_named
from rollwise.schema.option_types import check_option_types
from rollwise.tables.samples import VERSION, Record, by_rollout, content_of, number_of, verdict

VERB = "write_every_eval_ever"
Relationship = Literal["first_party", "third_party", "collaborative", "other"]
# Which way metrics of rollwise point, by the beginning of their names: attacks that succeed and costs are better low. Others,
# such as refusals, are good or bad according to what was asked.
LOWER = (
    *(
        "attack_success",
        "success_within",
        "success_after_refusal",
        "ever_adversarial",
        "ever_target",
        "adversarial_tox",
    ),
    *(
        "target_tox",
        "num_turns",
        "tokens_",
        "seconds_",
        "dollars_",
        "model_",
        "run_seconds",
        "tool_seconds",
        "tool_steps",
    ),
)
HIGHER = (
    "task_success",
    "exact_match",
    "choice_match",
    "instruction_followed",
    "tool_call_",
    "tool_calls_match",
    "token_f1",
)
# Columns of SUMMARY that the schema has fields for.
TYPED = ("estimate", "std_error", "low", "high", "level", "n", "resamples", "metric")


def write_every_eval_ever(
    summary: object,
    rollouts: object,
    turns: object,
    out: str | Path,
    *,
    organization: str,
    collection: str,
    relationship: Relationship = "third_party",
    lower_is_better: Collection[str] = (),
    higher_is_better: Collection[str] = (),
    retrieved: float | None = None,
    overwrite: bool = False,
) -> Path:
    r"""Write results with their intervals, and the rollouts behind them, as records of Every Eval Ever.

    For each target, ``data/<collection>/<developer>/<model>/<uuid>.json`` has a result for each row of SUMMARY, with its
    standard error, interval, level and method as `uncertainty`, and ``<uuid>_samples.jsonl`` has a record for each rollout
    and metric, with its verdict. An unknown verdict is the unknown level of the schema (-1), never 0. `rw.read` makes the same
    turns of the records again, with every verdict, and `rw.readers.read_summary` the same results.

    Parameters
    ----------
    summary
        SUMMARY by `target` (and more), at one level. A row without an estimate is left out, with a message on stderr.
    rollouts
        ROLLOUTS that it summarizes, from `rw.measure`. A metric that is neither yes or no nor a number has no records.
    turns
        TURNS, for the texts.
    out
        The folder; it must be new or empty unless `overwrite`.
    organization
        Who publishes the records.
    collection
        Name of the evaluation, and of the folder in `data`.
    relationship
        Of the evaluator to the developer of the target.
    lower_is_better, higher_is_better
        Metrics whose lower, or higher, values are better for the target, where rollwise does not know it.
    retrieved
        When the records were made, in seconds since 1970; by default now.
    overwrite
        Whether files of the same names may be replaced.

    Returns
    -------
    The folder.

    Raises
    ------
    ArgumentError
        If a target is null, the summary is not by target, has several levels or no estimate, or a metric may point either
        way.
    WriteError
        If the folder may not be written. It is written whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> import rollwise as rw
    >>> turns, _ = rw.simulate(targets={"acme/base": 0.1}, goals=5, seed=1)
    >>> rollouts = rw.measure(turns, rw.metrics.attack_success())
    >>> summary = rw.summarize(rollouts, by="target")
    >>> folder = Path(tempfile.mkdtemp()) / "records"
    >>> _ = rw.tables.write_every_eval_ever(
    ...     summary, rollouts, turns, folder, organization="Acme", collection="toy", relationship="first_party"
    ... )
    >>> again, _ = rw.read(folder, errors="collect")
    >>> again["succeeded"].equals(turns["succeeded"])
    True
    """
    check_option_types(write_every_eval_ever, locals())
    results, measured, texts = (frame_of(frame, VERB) for frame in (summary, rollouts, turns))
    by = _by(results, measured)
    results = _with_estimate(results.with_columns(target=_only_target(measured)) if "target" not in by else results)
    better = {name: _is_lower(name, lower_is_better, higher_is_better) for name in results["metric"].unique()}
    records = {rollout_id: content_of(rows) for rollout_id, rows in by_rollout(texts)}
    now = time.time() if retrieved is None else retrieved
    written: set[str] = set()
    with whole_folder(out, overwrite=overwrite) as draft:
        for (target,), rows in results.group_by("target", maintain_order=True):
            who = _Model(str(target))
            evaluation_id = f"{_portable(collection)}/{who.id.replace('/', '_')}/{int(now)}"
            mine = measured.filter(pl.col("target") == target)
            samples = list(_samples(rows, mine, by, records, better, evaluation_id, who.id))
            evaluation = {
                "schema_version": VERSION,
                "evaluation_id": evaluation_id,
                "retrieved_timestamp": str(int(now)),
                "source_metadata": {
                    "source_name": "rollwise",
                    "source_type": "evaluation_run",
                    "source_organization_name": organization,
                    "evaluator_relationship": relationship,
                },
                "eval_library": _library(texts),
                "model_info": who.info,
                "evaluation_results": [_result(row, by, better, mine, collection) for row in rows.rows(named=True)],
            }
            _write(draft, ("data", _portable(collection), *who.folders), evaluation, samples)
            written.update(sample["metadata"][METADATA_KEY] for sample in samples)
    # Nothing passes in silence: of these rollouts no metric has a value, or the summary has no row.
    if left_out := sum(record["metadata"][METADATA_KEY] not in written for record in records.values()):
        labels.say(
            f"{VERB}: {labels.counted(left_out, 'rollout')} without a value in any mean of the summary not written"
        )
    return Path(out)


# ── checks ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _by(results: pl.DataFrame, measured: pl.DataFrame) -> list[str]:
    """Return the columns that the summary is grouped by."""
    for frame, name, verb in ((results, "metric", "rw.summarize"), (measured, "rollout_id", "rw.measure")):
        if name not in frame.columns:
            raise ArgumentError(f"{VERB}: a frame has no column `{name}`; give the result of `{verb}`")
    by = [name for name in results.columns if name not in SUMMARY.names]
    if absent := [name for name in (*by, "target") if name not in measured.columns]:
        raise ArgumentError(f"{VERB}: the rollouts have no column `{absent[0]}`; keep it: rw.measure(..., keep=[...])")
    if results.select(*columns_named(by), "metric", "statistic").is_duplicated().any():
        raise ArgumentError(f"{VERB}: a result of this schema has one interval; summarize at one level")
    return by


def _only_target(measured: pl.DataFrame) -> pl.Expr:
    targets = measured["target"].unique().to_list()
    if len(targets) > 1:
        raise ArgumentError(
            f'{VERB}: there are {len(targets)} targets, each with a file of its own; summarize by="target"'
        )
    return pl.lit(targets[0] if targets else None, pl.String)


def _with_estimate(results: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that have an estimate and a target, and say what is left out."""
    if (count := int(results["target"].is_null().sum())) == results.height:
        raise ArgumentError(f'{VERB}: no target has a name; give one: rw.read(..., target="gpt-4o")')
    if count:
        labels.say(f"{VERB}: {labels.counted(count, 'row')} without a target left out")
    results = results.filter(pl.col("target").is_not_null())
    for row in results.filter(pl.col("estimate").is_null() | ~pl.col("estimate").is_finite()).rows(named=True):
        labels.say(f"{VERB}: {row['metric']} ({row['statistic']}) of {row['target']} has no estimate and is left out")
    results = results.filter(pl.col("estimate").is_finite())
    if results.is_empty():
        raise ArgumentError(
            f"{VERB}: no result has an estimate; summarize a metric that these rollouts have a value of"
        )
    return results


def _is_lower(metric: str, lower: Collection[str], higher: Collection[str]) -> bool:
    """Return whether lower values of a metric are better for the target."""
    if metric in lower or metric in higher:
        return metric in lower
    if not metric.startswith((*LOWER, *HIGHER)):
        raise ArgumentError(
            f"{VERB}: records state the direction of a metric; name {metric!r} in lower_is_better= or higher_is_better="
        )
    return metric.startswith(LOWER)


# ── results ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _result(
    row: Mapping[str, Any], by: Sequence[str], better: Mapping[str, bool], measured: pl.DataFrame, collection: str
) -> Record:
    """Return one row of SUMMARY as a result."""
    metric, is_mean = row["metric"], row["statistic"] == "mean"
    groups = {name: str(row[name]) for name in by if name != "target" and row[name] is not None}
    boolean = measured.schema.get(metric) == pl.Boolean
    # Only a rate has known ends. A null among its values is the unknown level of the schema.
    levels: Record = {"score_type": "continuous", "min_score": "-Infinity", "max_score": "Infinity"}
    if boolean and is_mean:
        levels = {"score_type": "binary", "min_score": 0.0, "max_score": 1.0}
        if measured[metric].null_count():
            levels |= {"score_type": "levels", "level_names": ["no", "yes"], "has_unknown_level": True}
    interval = {
        "lower": row["low"],
        "upper": row["high"],
        "confidence_level": row["level"],
        "method": row.get("method"),
    }
    uncertainty = {
        "standard_error": None if row.get("std_error") is None else {"value": row["std_error"]},
        "confidence_interval": None if row["low"] is None or row["high"] is None else _without_nulls(interval),
        "num_samples": row["n"],
        "num_bootstrap_samples": row.get("resamples"),
    }
    stored = {name: value for name, value in row.items() if name not in (*TYPED, "target") and value is not None}
    return {
        "evaluation_result_id": _name(row, by),
        "evaluation_name": ".".join([_portable(collection), *groups.values()]),
        "source_data": {"dataset_name": collection, "source_type": "other"},
        "metric_config": {
            "metric_id": metric,
            "metric_name": metric.replace("_", " "),
            "metric_parameters": {"statistic": row["statistic"], **groups},
            "lower_is_better": better[metric],
            **levels,
        },
        "score_details": {
            "score": row["estimate"],
            "uncertainty": _without_nulls(uncertainty),
            "details": {
                **{name: str(value) for name, value in stored.items() if name in SUMMARY.names},
                METADATA_KEY: json.dumps(stored, ensure_ascii=False, default=str),
            },
        },
    }


def _name(row: Mapping[str, Any], by: Sequence[str]) -> str:
    """Return the name of a result, which its samples refer to."""
    groups = [f"{name}={row[name]}" for name in by if name != "target" and row[name] is not None]
    return "/".join([row["metric"], *([] if row["statistic"] == "mean" else [row["statistic"]]), *groups])


def _without_nulls(fields: Mapping[str, Any]) -> Record:
    return {name: value for name, value in fields.items() if value is not None}


# ── samples ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _samples(
    results: pl.DataFrame,
    measured: pl.DataFrame,
    by: Sequence[str],
    records: Mapping[str, Record],
    better: Mapping[str, bool],
    evaluation_id: str,
    model_id: str,
) -> Iterator[Record]:
    """Yield a record for each rollout and each mean that it counts in."""
    for row in results.filter(pl.col("statistic") == "mean").rows(named=True):
        metric = row["metric"]
        dtype = measured.schema.get(metric)
        # A pooled row has no value in a column that the summary is by; its rollouts have records under their own rows.
        if dtype is None or not (dtype == pl.Boolean or dtype.is_numeric()) or any(row[name] is None for name in by):
            continue
        group = measured.filter(column_named(name) == row[name] for name in by) if by else measured
        for rollout_id, value in group.select("rollout_id", *columns_named(metric)).rows():
            number = number_of(value)
            if number is None and dtype != pl.Boolean:  # the schema has no unknown number
                continue
            if rollout_id not in records:
                raise ArgumentError(
                    f"{VERB}: the turns have no rollout {rollout_id!r}; give the turns that were measured"
                )
            content = records[rollout_id]
            yield {
                **content,
                "evaluation_id": evaluation_id,
                "model_id": model_id,
                "evaluation_name": _name(row, by),
                "evaluation_result_id": _name(row, by),
                "evaluation": {
                    **verdict(number, lower_is_better=better[metric], is_boolean=dtype == pl.Boolean),
                    "num_turns": max(1, sum(message["role"] == "assistant" for message in content["messages"] or ())),
                },
            }


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
class _Model:
    """A target as the schema names models: ``developer/model``."""

    def __init__(self, target: str) -> None:
        developer, slash, model = target.rpartition("/")
        self.id = target if slash else f"unknown/{target}"
        self.folders = (_portable(developer or "unknown"), _portable(model))
        self.info = {
            "name": target,
            "id": self.id,
            "developer": developer or "unknown",
            "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
        }


def _library(turns: pl.DataFrame) -> Record:
    """Return the tool that the rollouts were logged by."""
    sources = turns["source"].drop_nulls().unique().sort().to_list() if "source" in turns.columns else []
    return {
        "name": listing(sources, most=len(sources)) if sources else "unknown",
        "version": "unknown",
        "additional_details": {"analyzed_by": f"rollwise {__version__}"},
    }


def _portable(name: str) -> str:
    """Return a name that is a folder's name on every system."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-") or "unnamed"


def _write(draft: Path, folders: Sequence[str], evaluation: Record, samples: Sequence[Record]) -> None:
    """Write the results of one target, and its samples beside them, under a name that depends on nothing but their content."""
    lines = "".join(f"{json.dumps(sample, ensure_ascii=False, allow_nan=False)}\n" for sample in samples).encode()
    content = json.dumps(evaluation, ensure_ascii=False, allow_nan=False).encode()
    # The schema asks for a UUID of version 4; this one is the hash of the content, so that the same call writes the same file.
    name = str(uuid.UUID(bytes=hashlib.blake2b(content + lines, digest_size=16).digest(), version=4))
    folder = draft.joinpath(*folders)
    folder.mkdir(parents=True, exist_ok=True)
    if samples:
        (folder / f"{name}{SAMPLES}").write_bytes(lines)
        evaluation["detailed_evaluation_results"] = {
            "format": "jsonl",
            "file_path": "/".join((*folders, f"{name}{SAMPLES}")),
            "hash_algorithm": "sha256",
            "checksum": hashlib.sha256(lines).hexdigest(),
            "total_rows": len(samples),
        }
    text = json.dumps(evaluation, ensure_ascii=False, indent=2, allow_nan=False)
    (folder / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")
