"""LM evaluation harness: generation with two filters and repeats, multiple choice, and log-likelihoods, of two models.

The figures come from the harness's own `results_<time>.json`: the mean of each metric, and the number of samples.
"""

import json
from pathlib import Path
from typing import Any

PACKAGES = ("lm-eval",)
VERSION = "lm-eval"
LOST = ("nothing; of several responses to a document only the first is a turn, all are in the column `resps`",)
QUESTIONS = [(f"{number} + {number}? ☃", str(2 * number)) for number in range(1, 6)]
GENERATION = {
    "output_type": "generate_until",
    "doc_to_text": "{{question}}",
    "doc_to_target": "{{answer}}",
    "generation_kwargs": {"until": ["\n"], "do_sample": True},
    "repeats": 2,
    "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
    "filter_list": [
        {"name": "strict", "filter": [{"function": "take_first"}]},
        {
            "name": "number",
            "filter": [{"function": "regex", "regex_pattern": r"(\d+)"}, {"function": "take_first"}],
        },
    ],
}
CHOICE = {
    "output_type": "multiple_choice",
    "doc_to_text": "{{question}}",
    "doc_to_choice": ["2", "4", "ten ☃"],
    "doc_to_target": "{{['2', '4', 'ten ☃'].index(answer) if answer in ['2', '4'] else 2}}",
    "metric_list": [{"metric": name} for name in ("acc", "acc_norm")],
}
ROLLING = {
    "output_type": "loglikelihood_rolling",
    "doc_to_text": "",
    "doc_to_target": "{{question}}",
    "metric_list": [{"metric": "byte_perplexity"}],
}


def produce(folder: Path) -> list[dict[str, Any]]:
    """Evaluate two mock models on three tasks, and return what the harness says of them."""
    from lm_eval import simple_evaluate
    from lm_eval.api.model import LM
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    class Mock(LM):
        """A model that answers every other sum, in words where it is wordy."""

        def __init__(self, *, wordy: bool) -> None:
            super().__init__()
            self.wordy = wordy

        def generate_until(self, requests: list[Any], **options: Any) -> list[str]:
            totals = [2 * int(request.args[0].split()[0]) for request in requests]
            return [f"It is {total} ☃" if self.wordy else str(total + total % 4 // 2) for total in totals]

        def loglikelihood(self, requests: list[Any], **options: Any) -> list[tuple[float, bool]]:
            return [
                (-float(len(request.args[1]) + (self.wordy and "4" in request.args[1])), False) for request in requests
            ]

        def loglikelihood_rolling(self, requests: list[Any], **options: Any) -> list[float]:
            return [-2.0 * len(request.args[0]) for request in requests]

    data = folder.parent / "questions.json"
    lines = [json.dumps({"question": question, "answer": answer}) for question, answer in QUESTIONS]
    data.write_text("\n".join(lines), encoding="utf-8")
    source = {"dataset_path": "json", "dataset_kwargs": {"data_files": {"test": str(data)}}, "test_split": "test"}
    names: dict[str, dict[str, Any]] = {"sums": GENERATION, "choice": CHOICE, "rolling": ROLLING}
    tasks: list[Any] = [{"task": name, **source, **options} for name, options in names.items()]
    groups, manager = [], TaskManager()
    for model, wordy in (("org/plain", False), ("org/wordy", True)):
        tracker = EvaluationTracker(output_path=str(folder))
        results = simple_evaluate(
            model=Mock(wordy=wordy),
            tasks=tasks,
            task_manager=manager,
            limit=4,
            log_samples=True,
            evaluation_tracker=tracker,
            bootstrap_iters=0,
        )
        samples = results.pop("samples")
        tracker.general_config_tracker.model_name = model
        tracker.general_config_tracker.model_name_sanitized = model.replace("/", "__")
        tracker.save_results_aggregated(results=results, samples=samples)
        for task in names:
            tracker.save_results_samples(task_name=task, samples=samples[task])
            groups.append(_figures(model, task, results))
    return groups


def _figures(model: str, task: str, results: dict[str, Any]) -> dict[str, Any]:
    """Return the harness's figures of one task of one model."""
    number = results["n-samples"][task]["effective"]
    figures: dict[str, Any] = {"where": {"target": model, "category": task}, "rollouts": number, "turns": number}
    means = results["results"][task]
    sums = {
        "score_exact_match": "exact_match,strict",
        "score_exact_match_number": "exact_match,number",
        "score_acc": "acc,none",
        "score_acc_norm": "acc_norm,none",
    }
    figures |= {f"sum of {ours}": means[name] * number for ours, name in sums.items() if name in means}
    first = means.get("exact_match,strict", means.get("acc,none"))
    return figures | ({} if first is None else {"solved": first * number, "not solved": number - first * number})
