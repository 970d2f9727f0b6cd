"""Figures that logs report about themselves: one function per producer, which returns a mapping for each figure."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from rollwise.readers.formats import aisteer, astra, garak, jailbreakbench, skyrl
from rollwise.readers.formats.inspect import samples as inspect_ai
from rollwise.readers.formats.inspect.logs import Header
from rollwise.readers.formats.inspect.rows import run_of
from rollwise.readers.native.files import plain_frame
from rollwise.readers.problems import BrokenError, Problems
from rollwise.readers.records import Count, Integer, json_text, parse, whole_number
from rollwise.readers.results import every_eval_ever, harness
from rollwise.readers.results.lookalikes import has, numbers
from rollwise.readers.sources.archives import Archive
from rollwise.readers.sources.documents import Document

MEANS = ("accuracy", "mean")  # metrics of which Inspect states standard errors
ERRORS = ("stderr", "bootstrap_stderr")
ASTRA_METRICS = {  # rollwise's metric for a figure of ASTRA-RL
    "avg_reward": "average_reward",
    "avg_adversarial_toxicity": "average_adversarial_toxicity",
    "avg_target_toxicity": "average_target_toxicity",
    "pct_rollouts_with_adversarial_toxicity": "ever_adversarial_toxicity",
    "pct_rollouts_with_target_toxicity/attack_success_rate": "ever_target_toxicity",
    "pct_rollouts_with_target_toxicity/audit_success_rate": "ever_target_toxicity",
}

Figure = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Report:
    """A kind of file with figures: how to recognize it, and how to read it."""

    source: str
    sniff: Callable[[Document], bool]
    figures: Callable[[Document, Problems], Iterator[Figure]]


# ── Inspect ───────────────────────────────────────────────────────────────────────────────────────────────────────────
class MetricValue(msgspec.Struct):
    """One metric."""

    value: float | None = None


class Scored(msgspec.Struct):
    """One scorer."""

    name: str
    reducer: str | None = None
    scored_samples: Count = None
    unscored_samples: Count = None
    metrics: dict[str, MetricValue] = {}


class Results(msgspec.Struct):
    """Results of the whole run, by the producer."""

    completed_samples: Count = None
    scores: list[Scored] = []
    scorer: Scored | None = None  # in logs of early 2024
    metrics: dict[str, MetricValue] = {}


class Concluded(Header):
    """A log without its samples."""

    results: Results | None = None


_concluded = msgspec.json.Decoder(Concluded)


def _of_inspect(document: Document, problems: Problems) -> Iterator[Figure]:
    if document.kind == "zip":
        with Archive(document) as archive:
            text = archive.read(inspect_ai.HEADER) if inspect_ai.HEADER in archive.names else None
    else:
        text = document.text
    if text is None:  # the run did not finish
        return
    log = document.typed(text, _concluded)
    results = log.results or Results()
    # Logs of early 2024 have one scorer, whose metrics are beside it.
    old = [] if results.scorer is None else [msgspec.structs.replace(results.scorer, metrics=results.metrics)]
    for place, scored in enumerate(results.scores or old):
        metrics = {name: metric.value for name, metric in scored.metrics.items()}
        # A standard error is a metric of its own in Inspect. It belongs to the mean beside it.
        error = next((metrics.pop(name) for name in ERRORS if name in metrics and set(MEANS) & metrics.keys()), None)
        for name, value in metrics.items():
            yield {
                "run": run_of(log.eval, document),
                "target": log.eval.target,
                "task": log.eval.task,
                "metric": "/".join(filter(None, (scored.name, scored.reducer, name))),
                "ours": "task_success" if place == 0 and name == "accuracy" else None,
                "estimate": value,
                "std_error": error if name in MEANS else None,
                "n": None if scored.unscored_samples else whole_number(results.completed_samples, "completed_samples"),
                "n_clusters": whole_number(scored.scored_samples, "scored_samples"),
                "reason": None if log.status in {None, "success"} else f"the status of the run is {log.status}",
            }


# ── tools for attacks ─────────────────────────────────────────────────────────────────────────────────────────────────
class Rates(jailbreakbench.Parameters):
    """Success rates in the parameters of an artifact."""

    attack_success_rate: float | None = None
    total_number_of_jailbreaks: float | None = None


def _of_jailbreakbench(document: Document, problems: Problems) -> Iterator[Figure]:
    artifact = parse(document.value, jailbreakbench.Artifact)
    rates = parse(artifact.parameters, Rates)
    about = {
        "run": jailbreakbench.run_of(rates, document),
        "target": rates.model,
        "attack": rates.method,
        "n": len(artifact.jailbreaks),
    }
    if rates.attack_success_rate is not None:
        yield {
            **about,
            "metric": "attack_success_rate",
            "ours": "attack_success",
            "estimate": rates.attack_success_rate,
        }
    if rates.total_number_of_jailbreaks is not None:
        yield {
            **about,
            "metric": "total_number_of_jailbreaks",
            "statistic": "sum",
            "estimate": rates.total_number_of_jailbreaks,
            "reason": "by another judge than attack_success_rate",
        }


class Evaluated(msgspec.Struct):
    """Counts of one detector over the outputs of one probe."""

    probe: str
    detector: str
    passed: Integer
    total_evaluated: Integer | None = None
    total: Integer | None = None  # in older reports
    nones: Integer = 0
    confidence: float | str | None = None
    confidence_method: str | None = None
    confidence_lower: float | None = None
    confidence_upper: float | None = None


def _of_garak(document: Document, problems: Problems) -> Iterator[Figure]:
    probes: set[tuple[str, str]] = set()
    for number, run, record in garak.lines(document, problems, "eval"):
        with problems.record(document.name, number):
            evaluated = parse(record, Evaluated)
            n = evaluated.total if evaluated.total_evaluated is None else evaluated.total_evaluated
            low, high = evaluated.confidence_lower, evaluated.confidence_upper
            rate = (n - evaluated.passed) / n if n else None
            is_outside = rate is not None and ((low is not None and rate < low) or (high is not None and rate > high))
            yield {
                "run": run.name,
                "target": run.setup.target,
                "attack": evaluated.probe,
                "metric": garak.short(evaluated.detector),
                "ours": None if (run.name, evaluated.probe) in probes else "attack_success",  # of the first detector
                "level": _level(evaluated.confidence),
                "estimate": rate,
                "low": low,
                "high": high,
                "n": n,
                "n_undetermined": evaluated.nones,
                "method": " ".join(filter(None, ("reported by garak", evaluated.confidence_method))),
                "reason": "the interval does not contain the rate; it may be the interval of the passes"
                if is_outside
                else None,
            }
            probes.add((run.name, evaluated.probe))


def _level(confidence: float | str | None) -> float | None:
    try:
        return None if confidence is None else float(confidence)
    except ValueError as error:
        raise BrokenError(f"expected a number, got {confidence!r}", field="confidence") from error


class Summarized(msgspec.Struct):
    """Summary of an ASTRA-RL evaluator over its rollouts."""

    summary: dict[str, Any]


def _of_astra(document: Document, problems: Problems) -> Iterator[Figure]:
    summary = parse(document.value, Summarized).summary
    # The number of rollouts is one of the figures; all others are means over it.
    n = parse(summary, Counted).n_rollouts
    for name, value in summary.items():
        if name != "n_rollouts" and isinstance(value, int | float):
            yield {
                "run": f"astra-{document.digest}",
                "metric": name,
                "ours": ASTRA_METRICS.get(name),
                "estimate": value if n != 0 else None,
                "n": n,
                "reason": "ASTRA-RL writes 0 for a rate over nothing" if n == 0 else None,
            }


class Counted(msgspec.Struct):
    """Number of rollouts."""

    n_rollouts: Integer | None = None


# ── others ────────────────────────────────────────────────────────────────────────────────────────────────────────────
class Averaged(msgspec.Struct):
    """An evaluator's output of the NeMo Agent Toolkit."""

    average_score: float | None = None
    eval_output_items: list[dict[str, Any]] = []


def _of_nat(document: Document, problems: Problems) -> Iterator[Figure]:
    output = parse(document.value, Averaged)
    scored = [item for item in output.eval_output_items if isinstance(item.get("score"), int | float)]
    if output.average_score is not None:
        about = {"run": f"nat_eval-{document.digest}", "metric": "average_score"}
        yield {**about, "estimate": output.average_score, "n": len(scored)}


class Tally(msgspec.Struct):
    """Counts in an export."""

    vulnerable_count: Integer | None = None


class Export(msgspec.Struct):
    """Findings of the red team of Quesma."""

    export_id: str
    total_findings: Integer
    session_summary: Tally


class RedTeam(msgspec.Struct):
    """Summary of a run by the toolkit's red team."""

    overall_score: float | None = None
    attack_success_rate: float | None = None
    evaluation_successes: Integer | None = None
    per_scenario_summary: dict[str, Any] = {}


class Scenario(msgspec.Struct):
    """One of its scenarios."""

    mean_score: float | None = None
    attack_success_rate: float | None = None
    scores: list[Any] = []


def _of_red_team(document: Document, problems: Problems) -> Iterator[Figure]:
    summary = parse(document.value, RedTeam)
    run = f"nat-{document.digest}"
    n = summary.evaluation_successes
    reason = "the toolkit writes 0.0 where nothing was judged" if n == 0 else None
    for metric in ("overall_score", "attack_success_rate"):
        value = getattr(summary, metric)
        if value is not None:
            yield {"run": run, "metric": metric, "estimate": None if n == 0 else value, "n": n, "reason": reason}
    for name, value in summary.per_scenario_summary.items():
        with problems.record(document.name, name):
            scenario = parse(value, Scenario)
            about = {"run": run, "attack": name, "n": len(scenario.scores) or None}
            yield {**about, "metric": "mean_score", "estimate": scenario.mean_score}
            yield {**about, "metric": "attack_success_rate", "estimate": scenario.attack_success_rate}


def _of_skyrl(document: Document, problems: Problems) -> Iterator[Figure]:
    for number, value in document.records():
        with problems.record(document.name, number):
            for name, figure in parse(value, dict[str, Any]).items():
                if isinstance(figure, int | float) and not isinstance(figure, bool):
                    task, _, metric = name.removeprefix("eval/").rpartition("/")
                    yield {
                        "run": f"skyrl-{document.digest}",
                        "task": task or None,
                        "metric": metric,
                        "estimate": figure,
                    }


def _of_aisteer(document: Document, problems: Problems) -> Iterator[Figure]:
    for pipeline, runs in parse(document.value, dict[str, list[Any]]).items():
        for number, value in enumerate(runs):
            with problems.record(document.name, f"{pipeline}[{number}]"):
                run = parse(value, aisteer.Run)
                about = {
                    "run": f"aisteer-{document.digest}",
                    "pipeline": pipeline,
                    "config_id": aisteer.config_id(run.params),
                    "trial_id": run.trial_id,
                    "params": json_text(run.params or None),
                    "n": len(run.generations) or None,
                }
                # A metric is a number, or an object with several.
                for metric, result in (run.evaluations or {}).items():
                    for key, figure in (result if isinstance(result, dict) else {"value": result}).items():
                        if figure is None or (isinstance(figure, int | float) and not isinstance(figure, bool)):
                            yield {**about, "metric": f"{metric}/{key}", "estimate": figure}


def _of_quesma(document: Document, problems: Problems) -> Iterator[Figure]:
    export = parse(document.value, Export)
    count, n = export.session_summary.vulnerable_count, export.total_findings
    if count is not None and n > 0:
        yield {"run": export.export_id, "metric": "vulnerable", "estimate": count / n, "n": n}


def _of_arena_hard(document: Document, problems: Problems) -> Iterator[Figure]:
    frame = plain_frame(document)
    names = {"lower": "low", "upper": "high", "rating_q025": "low", "rating_q975": "high"}
    frame = frame.rename({name: new_name for name, new_name in names.items() if name in frame.columns})
    for row in frame.select("model", "score", "low", "high").iter_rows(named=True):
        about = {"run": f"arena_hard-{document.digest}", "target": row["model"], "metric": "score", "level": 0.95}
        yield {**about, "estimate": row["score"], "low": row["low"], "high": row["high"]}


def _of_numbers(document: Document, problems: Problems) -> Iterator[Figure]:
    run = f"numbers-{document.digest}"
    for task, inner in document.value.items():
        if isinstance(inner, Mapping):
            for target, value in inner.items():
                yield {"run": run, "target": target, "task": task, "metric": "score", "estimate": value}
        else:
            for place, value in enumerate(inner):
                yield {"run": f"{run}/{place}", "task": task, "metric": "score", "estimate": value}


# The first that recognizes a file is taken: the table of numbers comes last, since it fits many files.
REPORTS = (
    Report("inspect", inspect_ai.LOGS, _of_inspect),
    Report("jailbreakbench", jailbreakbench.SHAPES, _of_jailbreakbench),
    Report("garak", garak.REPORT, _of_garak),
    Report("astra", astra.SHAPES, _of_astra),
    Report("nat_eval", has("average_score", "eval_output_items"), _of_nat),
    Report("nat_red_team", has("overall_score", "attack_success_rate", "per_scenario_summary"), _of_red_team),
    Report("aisteer", lambda document: aisteer.SHAPES(document) or aisteer.RESULTS(document), _of_aisteer),
    Report("skyrl", skyrl.sniff_results, _of_skyrl),
    Report("quesma", has("export_id", "total_findings", "session_summary"), _of_quesma),
    Report("arena_hard", has("model", "score", "lower", "upper"), _of_arena_hard),
    Report("arena_hard", has("model", "score", "rating_q025", "rating_q975"), _of_arena_hard),
    Report("lm_eval", harness.is_harness, partial(harness.figures, source="lm_eval")),
    Report("lighteval", harness.is_lighteval, partial(harness.figures, source="lighteval")),
    Report("every_eval_ever", every_eval_ever.is_evaluation, every_eval_ever.figures),
    Report("numbers", numbers, _of_numbers),
)
