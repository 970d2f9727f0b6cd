"""The files of an evaluation: the seed's JSON, what was asked, and the frames; each whole or not at all."""

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

from turnwise import __version__, metrics, schema
from turnwise.errors import WriteError
from turnwise.evaluation.config import EvalConfig
from turnwise.evaluation.frames import Scored, Tables, rollouts, summary, verdicts
from turnwise.evaluation.item_evaluator import is_number
from turnwise.evaluation.items import EvalOutputItem
from turnwise.evaluation.masking import as_yaml, without_secrets
from turnwise.evaluation.options import Options
from turnwise.evaluation.results_log import plain
from turnwise.files.atomic import content_hash, whole
from turnwise.files.configuration import Document

METADATA = "config_metadata.json"
FRAMES = ("items.parquet", "turns.parquet", "scores.parquet", "summary.parquet")
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
        VERDICTS: what each evaluator said of each item.
    summary
        SUMMARY of the scores that are numbers.
    failures
        Why evaluators failed as a whole, by their keywords.
    folder
        Where it was written.
    """

    config: EvalConfig
    turns: pl.DataFrame
    steps: pl.DataFrame
    items: pl.DataFrame
    scores: pl.DataFrame
    summary: pl.DataFrame
    failures: dict[str, str]
    folder: Path

    @property
    def failed(self) -> list[str]:
        """The keywords of the evaluators that have no score to show: that failed as a whole, or on each single item."""
        return _failed(self.scores)


def _failed(scores: pl.DataFrame) -> list[str]:
    by_judge = scores.group_by("judge", maintain_order=True).agg(pl.col("error").is_not_null().all())
    return by_judge.filter("error")["judge"].to_list()


class Folder:
    """The folder that an evaluation writes to: it may hold an earlier, interrupted run of the same, and anything of others."""

    def __init__(
        self,
        config: EvalConfig,
        document: Document,
        original: str,
        asked: Options,
        dataset: Path | None,
        secret: Collection[str] = (),
    ) -> None:
        self._config, self._document, self._original, self._asked = config, document, original, asked
        self._secret = secret  # names beside those that everybody knows
        self._dataset = None if dataset is None else (str(dataset), content_hash(dataset))  # as it was when it was read
        self.path = config.folder.absolute()  # whoever is called may go elsewhere
        self._key = self._key_of()

    def open(self) -> None:
        """Say what is asked, before it is done; nothing that stands there is touched.

        Raises
        ------
        WriteError
            Where results of another evaluation stand there, or the folder cannot be written to.
        """
        known = self._known()
        ours = known is not None and known.get("key") == self._key
        if not ours and not self._asked.overwrite:
            standing = [name for name in self._names() if (self.path / name).exists()]
            if standing:
                raise WriteError(
                    f"{self.path} holds another evaluation ({standing[0]}); choose another output_dir, or replace it with "
                    "--overwrite, which keeps what was answered before"
                )
        self._put("config_original.yml", self._original)
        self._put("config_effective.yml", as_yaml(without_secrets(self._document.data, also=self._secret)))
        self._say(RUNNING)

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Mark a run that ends early as interrupted; only a killed run stays `running`."""
        try:
            yield
        except BaseException:
            with suppress(WriteError):  # the reason may be that nothing can be written
                self._say(INTERRUPTED)
            raise

    def write(self, tables: Tables, scored: Sequence[Scored]) -> Evaluation:
        """Write the results, and say that they are whole.

        Raises
        ------
        WriteError
            Where one cannot be written.
        """
        from turnwise.files.writers import write

        self._put("workflow_output.json", _listed(self._answers(tables)))
        for each in scored:
            if each.failure is None:
                self._put(f"{each.keyword}_output.json", self._output(each))
        items, scores = rollouts(tables, scored), verdicts(tables, scored)
        turns, steps = tables.turns, tables.steps
        failures = {each.keyword: each.failure for each in scored if each.failure is not None}
        tables.items = []  # all that they hold stands in the frames, which need the room
        for each in scored:
            each.items = []
        frames = {"items.parquet": items, "turns.parquet": turns, "scores.parquet": scores}
        if steps.height:
            frames["steps.parquet"] = steps
        if self._asked.reps > 1:
            frames["attempts.parquet"] = _repeats(items, scores)
        for name, frame in frames.items():
            write(frame, self.path / name, overwrite=True)
        bounds = {each.keyword: each.bounds for each in scored if each.bounds is not None}
        level = self._config.eval.general.level
        told = summary(items, scores, failures, level, bounds)  # last, for it needs the most room
        write(told, self.path / "summary.parquet", overwrite=True)
        self._say(COMPLETED, failed=_failed(scores))
        return Evaluation(self._config, turns, steps, items, scores, told, failures, self.path)

    # ── what is in them ───────────────────────────────────────────────────────────────────────────────────────────────
    def _output(self, scored: Scored) -> Iterator[bytes]:
        """The seed's fields; in parity with it an error scores 0.0, and the average is that of the numbers to two digits."""
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
        yield from _listed((_entry(item, parity=parity) for item in items), indent=b"  ")
        yield b"}\n"

    def _answers(self, tables: Tables) -> Iterator[dict[str, Any]]:
        """The items with their answers, as the seed keeps them."""
        keys = self._config.eval.general.dataset.structure
        wanted = self._config.eval.general.output.workflow_output_step_filter
        several = self._asked.reps > 1
        for item in tables.items:
            named = {self._config.eval.general.dataset.id_key: item.name(rep=several)}
            own = {} if keys.disable else {keys.question_key: item.question, keys.answer_key: item.answer}
            steps = item.steps if wanted is None else [step for step in item.steps if _type_of(step) in wanted]
            answer = {keys.generated_answer_key: item.generated, keys.trajectory_key: steps}
            error = {} if item.error is None else {"error": item.error}
            expected = {keys.expected_trajectory_key: item.expected_steps}
            yield {**item.entry, **named, **own, **answer, **expected, **error}

    def _key_of(self) -> str:
        """Return the key of a run, by content: configuration (without output and speed), data set and options."""
        asked = self._asked
        about = without_secrets(self._config.model_dump(mode="json", by_alias=True))
        for name in ("output_dir", "output", "max_concurrency", "timeout", "retries", "validate_llm_endpoints"):
            about["eval"]["general"].pop(name, None)
        dataset = self._dataset and self._dataset[1]
        options = [
            asked.endpoint,
            asked.reps,
            asked.skip_workflow,
            asked.skip_completed_entries,
            asked.result_json_path,
        ]
        return blake2b(msgspec.json.encode([about, dataset, options], enc_hook=plain), digest_size=8).hexdigest()

    def _names(self) -> list[str]:
        keywords = [f"{keyword}_output.json" for keyword in self._config.eval.evaluators]
        return [METADATA, "config_original.yml", "config_effective.yml", "workflow_output.json", *FRAMES, *keywords]

    def _known(self) -> dict[str, Any] | None:
        try:
            found = msgspec.json.decode((self.path / METADATA).read_bytes())
        except (OSError, msgspec.DecodeError):
            return None
        return found if isinstance(found, dict) else None

    def _say(self, status: str, failed: Sequence[str] = ()) -> None:
        asked = self._asked
        told = {
            "config_file": str(self._document.path),
            "config_file_type": "Path",
            "overrides": [
                {
                    "path": path,
                    "value": given if (shown := without_secrets(value, path, self._secret)) == value else shown,
                }
                for (path, given), (_, value) in zip(asked.overrides, self._document.overrides, strict=True)
            ],
            "dataset": self._dataset and self._dataset[0],
            "dataset_blake2b": self._dataset and self._dataset[1],
            "result_json_path": asked.result_json_path,
            "skip_workflow": asked.skip_workflow,
            "skip_completed_entries": asked.skip_completed_entries,
            "reps": asked.reps,
            "endpoint": asked.endpoint,
            "endpoint_timeout": asked.endpoint_timeout,
            "timestamp": datetime.now(UTC).isoformat(),
            "turnwise": __version__,
            "key": self._key,
            "status": status,
            "failed_evaluators": list(failed),
        }
        self._put(METADATA, _json(without_secrets(told)))

    def _put(self, name: str, content: bytes | str | Iterable[bytes]) -> None:
        parts = [content.encode()] if isinstance(content, str) else [content] if isinstance(content, bytes) else content
        with whole(self.path / name, overwrite=True) as draft, draft.open("wb") as file:
            file.writelines(parts)


def _repeats(items: pl.DataFrame, scores: pl.DataFrame) -> pl.DataFrame:
    """CURVE over attempts of each evaluator whose scores are all 0 or 1: pass@k and pass^k."""
    import turnwise as tw

    found = [schema.empty(schema.CURVE)]
    for keyword in scores["judge"].unique(maintain_order=True):
        score = items[keyword]
        if score.dtype == pl.String or not score.drop_nulls().cast(pl.Float64).is_in([0.0, 1.0]).all():
            continue
        # a score of an answer is no success of an attack: it is told as what it is, a task that is solved
        name = "task_success" if metrics.catalog.about(keyword) is None else keyword
        held = items.with_columns(pl.col(keyword).cast(pl.Boolean).alias(name))
        found.append(tw.attempts(held, metric=name, stopped=False).with_columns(metric=pl.lit(keyword, pl.String)))
    return pl.concat(found, how="diagonal_relaxed")


def account(made: Evaluation) -> pl.DataFrame:
    """Describe each evaluator in one line: status, scores, and where they are."""
    rows, without = [], made.failed
    said = made.scores.group_by("judge", maintain_order=True).agg(n=pl.len(), errors=pl.col("error").count())
    for keyword, n, errors in said.iter_rows():
        known = made.summary.filter((pl.col("metric") == keyword) & (pl.col("statistic") == "mean"))
        row = known.row(0, named=True) if known.height else {}
        rows.append(
            {
                "evaluator": keyword,
                "status": "failed" if keyword in without else "done",
                "average": row.get("estimate"),
                "low": row.get("low"),
                "high": row.get("high"),
                "n": row.get("n", n - errors),
                "errors": errors,
                "file": None if keyword in made.failures else f"{keyword}_output.json",
            }
        )
    shape = {"evaluator": pl.String, "status": pl.String, "average": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    return pl.DataFrame(rows, schema={**shape, "n": pl.Int64, "errors": pl.Int64, "file": pl.String})


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


def _listed(values: Iterable[Any], indent: bytes = b"") -> Iterator[bytes]:
    """A list in JSON, value after value, so that it need not be there as a whole."""
    separator, within = b"[", b"\n" + indent + b"  "
    for value in values:
        text = msgspec.json.format(msgspec.json.encode(value, enc_hook=plain), indent=2)
        yield separator + within + text.replace(b"\n", within)
        separator = b","
    yield b"[]\n" if separator == b"[" else b"\n" + indent + b"]\n"
