"""Files of an evaluation: configuration, results as JSON, and frames; all of them are replaced in one step."""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

import rollwise as rw
from rollwise import __version__, metrics, schema
from rollwise.errors import WriteError
from rollwise.evaluation.atif_conversion import sample_of
from rollwise.evaluation.config import EvalConfig
from rollwise.evaluation.frames import Scored, Tables, rollouts, summary, verdicts
from rollwise.evaluation.item_evaluator import is_number
from rollwise.evaluation.items import EvalOutputItem
from rollwise.evaluation.masking import as_yaml
from rollwise.evaluation.options import Options
from rollwise.evaluation.results_log import plain
from rollwise.files.atomic import check_folder, content_hash, whole, whole_folder
from rollwise.files.configuration import ConfigFile
from rollwise.files.masking import without_secrets
from rollwise.files.swaps import inside
from rollwise.files.writers import write
from rollwise.schema.labels import say
from rollwise.schema.named import column_named

METADATA = "config_metadata.json"
ORIGINAL, EFFECTIVE = "config_original.yml", "config_effective.yml"
ANSWERS, ATIF = "workflow_output.json", "workflow_output_atif.json"
FRAMES = ("items.parquet", "turns.parquet", "scores.parquet", "summary.parquet")
NO_SCORE = pl.col("value").is_null() & pl.col("label").is_null()  # in VERDICTS
RUNNING, COMPLETED, INTERRUPTED = "running", "completed", "interrupted"


@dataclass
class Evaluation:
    """Result of an evaluation.

    Attributes
    ----------
    config
        The configuration.
    turns
        TURNS of the items, each a rollout of one turn.
    steps
        STEPS of the items.
    items
        ROLLOUTS: one row per item and attempt.
    scores
        VERDICTS of each evaluator on each item.
    summary
        SUMMARY of the numeric scores.
    failures
        Reasons why whole evaluators failed, by keyword.
    folder
        The output folder.
    configuration_id
        A hash of all that the results depend on: the options of evaluators and workflow, the content of the data set, and the
        code (the version of rollwise, plug-ins, the workflow's function); not where files are, nor how fast the run is.
    """

    config: EvalConfig
    turns: pl.DataFrame
    steps: pl.DataFrame
    items: pl.DataFrame
    scores: pl.DataFrame
    summary: pl.DataFrame
    failures: dict[str, str]
    folder: Path
    configuration_id: str

    @property
    def failed(self) -> list[str]:
        """The keywords of the evaluators without any score, because they failed as a whole or on every item."""
        return _failed(self.scores)


def _failed(scores: pl.DataFrame) -> list[str]:
    by_judge = scores.group_by("judge", maintain_order=True).agg(pl.col("error").is_not_null().all())
    return by_judge.filter("error")["judge"].to_list()


class Folder:
    """Output folder of an evaluation; it may hold an earlier, interrupted run of the same evaluation, and unrelated files."""

    def __init__(
        self,
        config: EvalConfig,
        document: ConfigFile,
        original: str,
        options: Options,
        dataset: Path | None,
        secret: Collection[str] = (),
        code: Any = None,
    ) -> None:
        self._config, self._document, self._original, self._options = config, document, original, options
        self._secret = secret  # option names that evaluators declare as secret, besides the well-known ones
        # Hashed now, as the file may change later.
        self._dataset = None if dataset is None else (str(dataset), content_hash(dataset))
        self.path = config.folder.absolute()  # absolute, as a workflow may change the working directory
        self._key = _digest(self._inputs())
        self._id = _digest([self._inputs(placed=False), __version__, code])

    def open(self) -> None:
        """Write the configuration and the status `running` before the run begins, unless there are results."""
        check_folder(self.path, overwrite=True)
        self._before = _metadata(self.path)
        if self._before and "rollwise" not in self._before:
            raise WriteError(
                f"{self.path} holds an evaluation that another program or an earlier version wrote ({METADATA} has no entry "
                "`rollwise`), and its answers are not read; choose another output_dir, or move the folder"
            )
        same_run = self._before.get("key") == self._key
        results = [name for name in self._names() if (self.path / name).exists()]
        # The same run may go on in its folder; results of any other one are replaced only on request.
        if results and not same_run and not self._options.overwrite:
            raise WriteError(
                f"{self.path} holds another evaluation ({results[0]}); choose another output_dir, or replace it with "
                "--overwrite, which keeps earlier answers"
            )
        # Until the new results replace them, earlier results stay, with their own configuration and status.
        self._is_announced = set(results) <= {METADATA, ORIGINAL, EFFECTIVE}
        if self._is_announced:
            with self._replacing() as draft:
                self._describe(draft, RUNNING)

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Mark a run that ends early as interrupted; only a killed run stays `running`."""
        try:
            yield
        except BaseException:
            if self._is_announced:
                # The disk may be full, which must not hide the original error.
                with suppress(WriteError), whole(self.path / METADATA, overwrite=True, follow=False) as draft:
                    _write(draft, _json(self._facts(INTERRUPTED, [ORIGINAL, EFFECTIVE])))
            raise

    def write(self, tables: Tables, scored: Sequence[Scored]) -> Evaluation:
        """Replace what earlier runs wrote by the configuration and results of this one, in one step."""
        with self._replacing() as draft:
            _write(draft / ANSWERS, _json_list(self._answers(tables)))
            if self._config.eval.general.output.write_atif_workflow_output:
                _write(draft / ATIF, _json_list(self._atif_samples(tables)))
            for result in scored:
                if result.failure is None:
                    _write(draft / f"{result.keyword}_output.json", self._output(result))
            items, scores = rollouts(tables, scored), verdicts(tables, scored)
            turns, steps = tables.turns, tables.steps
            failures = {result.keyword: result.failure for result in scored if result.failure is not None}
            # The frames now hold everything, so the items are freed before the largest allocations.
            tables.items = []
            for result in scored:
                result.items = []
            frames = {"items.parquet": items, "turns.parquet": turns, "scores.parquet": scores}
            if steps.height:
                frames["steps.parquet"] = steps
            if self._options.reps > 1:
                frames["attempts.parquet"] = _attempts(items, scores)
            for name, frame in frames.items():
                write(frame, draft / name)
            bounds = {result.keyword: result.bounds for result in scored if result.bounds is not None}
            level = self._config.eval.general.level
            unbounded = [result.keyword for result in scored if result.unbounded]
            # Last, as it needs the most memory.
            summary_table = summary(items, scores, failures, level, bounds, unbounded)
            write(summary_table, draft / "summary.parquet")
            self._describe(draft, COMPLETED, failed=_failed(scores))
        if self._before.get("key", self._key) != self._key:
            say(f"{self.path}: replaced the evaluation of {self._before.get('timestamp')!s:.19}")
        return Evaluation(self._config, turns, steps, items, scores, summary_table, failures, self.path, self._id)

    @contextmanager
    def _replacing(self) -> Iterator[Path]:
        """Return a folder to fill, which then replaces the files of earlier runs; all other files stay."""
        with whole_folder(self.path, overwrite=True, earlier=_files) as draft:
            yield draft

    def _describe(self, draft: Path, status: str, failed: Sequence[str] = ()) -> None:
        """Write the configuration, and the facts about the run."""
        _write(draft / ORIGINAL, self._original)
        _write(draft / EFFECTIVE, as_yaml(without_secrets(self._document.data, also=self._secret)))
        # By this list the next run in the folder knows which files are of this one.
        files = sorted(file.name for file in draft.iterdir())
        _write(draft / METADATA, _json(self._facts(status, files, failed)))

    # ── contents of the files ───────────────────────────────────────────────────────────────────────────────────────
    def _output(self, scored: Scored) -> Iterator[bytes]:
        """Yield the JSON of one evaluator's results.

        In parity mode an error scores 0.0, and the average is the mean of the numbers, rounded to two digits.
        """
        parity = self._config.eval.general.parity == "nat"
        average, items = scored.average, scored.items
        if parity:
            numbers = [
                float(item.score) if item.error is None else 0.0
                for item in items
                if item.error or is_number(item.score)
            ]
            average = round(math.fsum(numbers) / len(numbers), 2) if numbers else None
        yield b"{\n"
        if average is not None or parity:
            yield b'  "average_score": ' + msgspec.json.encode(average, enc_hook=plain) + b",\n"
        yield b'  "eval_output_items": '
        yield from _json_list((_entry(item, parity=parity) for item in items), indent=b"  ")
        yield b"}\n"

    def _answers(self, tables: Tables) -> Iterator[dict[str, Any]]:
        """Yield the items with their answers, under the field names of the data set."""
        keys = self._config.eval.general.dataset.structure
        wanted = self._config.eval.general.output.workflow_output_step_filter
        repeated = self._options.reps > 1
        for item in tables.items:
            id_field = {self._config.eval.general.dataset.id_key: item.name(rep=repeated)}
            fields = {} if keys.disable else {keys.question_key: item.question, keys.answer_key: item.answer}
            steps = item.steps if wanted is None else [step for step in item.steps if _type_of(step) in wanted]
            answer = {keys.generated_answer_key: item.generated, keys.trajectory_key: steps}
            error = {} if item.error is None else {"error": item.error}
            expected = {keys.expected_trajectory_key: item.expected_steps}
            yield {**item.entry, **id_field, **fields, **answer, **expected, **error}

    def _atif_samples(self, tables: Tables) -> Iterator[dict[str, Any]]:
        """Yield the items with their trajectories in ATIF; items whose steps cannot be converted are left out and named."""
        with_entry, repeated = self._config.eval.general.dataset.pass_full_entry, self._options.reps > 1
        for item in tables.items:
            try:
                yield sample_of(item.as_input(rep=repeated, with_entry=with_entry)).model_dump(mode="json")
            except ValueError as error:
                say(f"{ATIF}: item {item.id} is left out, as {error}")

    def _inputs(self, *, placed: bool = True) -> list[Any]:
        """Return configuration, hash of the data set, and options of a run; with `placed`, also where its files are."""
        options = self._options
        configuration = without_secrets(self._config.model_dump(mode="json", by_alias=True))
        # Where the output goes and how fast the run is do not affect results, so a changed run can still go on.
        for name in ("output_dir", "output", "max_concurrency", "timeout", "retries", "validate_llm_endpoints"):
            configuration["eval"]["general"].pop(name, None)
        if not placed:
            del configuration["plugins"], configuration["eval"]["general"]["dataset"]["file_path"]
        dataset = self._dataset and self._dataset[1]
        option_values = [
            options.endpoint,
            options.reps,
            options.skip_workflow,
            options.skip_completed_entries,
            options.result_json_path,
        ]
        return [configuration, dataset, option_values]

    def _names(self) -> list[str]:
        keywords = [f"{keyword}_output.json" for keyword in self._config.eval.evaluators]
        return [METADATA, ORIGINAL, EFFECTIVE, ANSWERS, ATIF, *FRAMES, *keywords]

    def _facts(self, status: str, files: Sequence[str], failed: Sequence[str] = ()) -> dict[str, Any]:
        """Return the facts about the run, with the names of its other files."""
        options = self._options
        facts = {
            "config_file": str(self._document.path),
            "config_file_type": "Path",
            "overrides": [
                {
                    "path": path,
                    # As the user typed it, unless it holds a secret.
                    "value": typed if (hidden := without_secrets(value, path, self._secret)) == value else hidden,
                }
                for (path, typed), (_, value) in zip(options.overrides, self._document.overrides, strict=True)
            ],
            "dataset": self._dataset and self._dataset[0],
            "dataset_blake2b": self._dataset and self._dataset[1],
            "result_json_path": options.result_json_path,
            "skip_workflow": options.skip_workflow,
            "skip_completed_entries": options.skip_completed_entries,
            "reps": options.reps,
            "endpoint": options.endpoint,
            "endpoint_timeout": options.endpoint_timeout,
            "timestamp": datetime.now(UTC).isoformat(),
            "rollwise": __version__,
            "key": self._key,
            "configuration_id": self._id,
            "status": status,
            "failed_evaluators": list(failed),
        }
        return {**without_secrets(facts), "files": list(files)}


def _digest(inputs: Any) -> str:
    try:
        return blake2b(msgspec.json.encode(inputs, enc_hook=plain), digest_size=8).hexdigest()
    except (TypeError, ValueError) as error:
        raise WriteError(f"an entry of the data set cannot be written with the results: {error}") from error


def _metadata(folder: Path) -> dict[str, Any]:
    """Return what the last run in a folder stated; empty without one."""
    try:
        metadata = msgspec.json.decode((folder / METADATA).read_bytes())
    except (OSError, msgspec.DecodeError, RecursionError):
        return {}
    return metadata if isinstance(metadata, dict) else {}


def _files(folder: Path) -> set[str]:
    """Return the files of the last run in a folder."""
    return inside(_metadata(folder).get("files"))


def _write(path: Path, content: bytes | str | Iterable[bytes]) -> None:
    parts = [content.encode()] if isinstance(content, str) else [content] if isinstance(content, bytes) else content
    with path.open("wb") as file:
        file.writelines(parts)


def _attempts(items: pl.DataFrame, scores: pl.DataFrame) -> pl.DataFrame:
    """CURVE over attempts of each evaluator whose scores are all 0 or 1: pass@k and pass^k."""
    curves = [schema.empty(schema.CURVE)]
    for keyword in scores["judge"].unique(maintain_order=True):
        score = items[keyword]
        if score.dtype == pl.String or not score.drop_nulls().cast(pl.Float64).is_in([0.0, 1.0]).all():
            continue
        # A correct answer is not a successful attack, so a score without a metric of its name is treated as `task_success`.
        name = "task_success" if metrics.catalog.about(keyword) is None else keyword
        labeled = items.with_columns(column_named(keyword).cast(pl.Boolean).alias(name))
        curves.append(rw.attempts(labeled, metric=name, stopped=False).with_columns(metric=pl.lit(keyword, pl.String)))
    return pl.concat(curves, how="diagonal_relaxed")


def account(evaluation: Evaluation) -> pl.DataFrame:
    """Return one row per evaluator: status, average with interval, numbers of scores, failures and other gaps, and output file."""
    rows, failed = [], evaluation.failed
    counts = evaluation.scores.group_by("judge", maintain_order=True).agg(
        n=pl.len(), errors=pl.col("error").count(), missing=(NO_SCORE & pl.col("error").is_null()).sum()
    )
    for keyword, n, errors, missing in counts.iter_rows():
        means = evaluation.summary.filter((pl.col("metric") == keyword) & (pl.col("statistic") == "mean"))
        row = means.row(0, named=True) if means.height else {}
        rows.append(
            {
                "evaluator": keyword,
                "status": "failed" if keyword in failed else "done",
                "average": row.get("estimate"),
                "low": row.get("low"),
                "high": row.get("high"),
                "n": row.get("n", n - errors - missing),
                "errors": errors,
                "missing": missing,
                "file": None if keyword in evaluation.failures else f"{keyword}_output.json",
            }
        )
    shape = {"evaluator": pl.String, "status": pl.String, "average": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    return pl.DataFrame(
        rows, schema={**shape, "n": pl.Int64, "errors": pl.Int64, "missing": pl.Int64, "file": pl.String}
    )


def _entry(item: EvalOutputItem, *, parity: bool) -> dict[str, Any]:
    score = item.score
    if item.error is not None:
        score = 0.0 if parity else None
    elif is_number(score) and not isinstance(score, bool):
        score = plain(score) if hasattr(score, "tolist") else score
    error = {} if item.error is None else {"error": item.error}
    return {"id": item.id, "score": score, "reasoning": item.reasoning, **error}


def _type_of(step: Any) -> Any:
    payload = step.get("payload") if isinstance(step, dict) else None
    return payload.get("event_type") if isinstance(payload, dict) else None


def _json(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value, enc_hook=plain), indent=2) + b"\n"


def _json_list(values: Iterable[Any], indent: bytes = b"") -> Iterator[bytes]:
    """Yield a list as JSON, value by value, so that it is never in memory as a whole."""
    # JSON strings hold no raw line breaks, so each b"\n" in a text is from formatting and can be indented.
    separator, line_start = b"[", b"\n" + indent + b"  "
    for value in values:
        text = msgspec.json.format(msgspec.json.encode(value, enc_hook=plain), indent=2)
        yield separator + line_start + text.replace(b"\n", line_start)
        separator = b","
    yield b"[]\n" if separator == b"[" else b"\n" + indent + b"]\n"
