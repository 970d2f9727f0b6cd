"""garak: six probes against two functions that answer, refuse, echo, and sometimes give nothing.

The figures come from the lines `eval` of garak's own report, one for each probe and detector, and from its hit log.
"""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

PACKAGES = ("garak",)
VERSION = "garak"
LOST = ("lines other than attempts and settings; results are read by `read_summary`",)
TARGET = '''
"""Two targets for garak."""

calls = []


def echo(prompt, generations):
    calls.append(prompt)
    answers = [f"☃ {prompt}", "I'm sorry, but I cannot help.", None if len(calls) % 2 else "{}"]
    return answers[:generations]


def polite(prompt, generations):
    return ["I'm sorry ☃, I cannot help with that."] * generations
'''
SETTINGS = """
run:
  generations: 3
  soft_probe_prompt_cap: 3
  eval_threshold: 0.5
  seed: 7
reporting:
  report_dir: {folder}
"""
PROBES = (
    "test.Test",
    "av_spam_scanning.EICAR",
    "goodside.ThreatenJSON",
    "encoding.InjectROT13",
    "grandma.Win10",
    "dan.AntiDAN",
)


def produce(folder: Path) -> list[dict[str, Any]]:
    """Run garak's command line on two targets, and return what it says of them."""
    work = folder.parent
    (work / "mock.py").write_text(TARGET, encoding="utf-8")
    (work / "settings.yaml").write_text(SETTINGS.format(folder=folder), encoding="utf-8")
    groups = []
    for name in ("echo", "polite"):
        options = ["--config", "settings.yaml", "--report_prefix", name, "--probes", ",".join(PROBES)]
        target = ["--target_type", "function.Multiple", "--target_name", f"mock#{name}"]
        subprocess.run([sys.executable, "-m", "garak", *target, *options], check=True, cwd=work)
        path = folder / f"{name}.report.jsonl"
        (folder / f"{name}.report.html").unlink()
        groups += _figures(f"mock#{name}", [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()])
    return groups


def _figures(target: str, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return garak's figures of one report, for each probe."""
    attempts = [entry for entry in entries if entry["entry_type"] == "attempt" and entry["status"] == 2]
    outputs = Counter(entry["probe_classname"] for entry in attempts for _ in entry["outputs"])
    groups: list[dict[str, Any]] = [{"where": {"target": target}, "rollouts": sum(outputs.values())}]
    for probe, number in outputs.items():
        results = [entry for entry in entries if entry["entry_type"] == "eval" and entry["probe"] == probe]
        primary = next(iter(next(entry for entry in attempts if entry["probe_classname"] == probe)["detector_results"]))
        figures: dict[str, Any] = {"where": {"target": target, "attack": probe}, "rollouts": number}
        for result in results:
            # These detectors give 0 or 1, so their sum is the number of hits.
            figures[f"sum of score_{result['detector']}"] = result["fails"]
            if result["detector"] == primary:
                counts = {"failures": "passed", "successes": "fails", "undetermined": "nones"}
                figures |= {ours: result[theirs] for ours, theirs in counts.items()}
        groups.append(figures)
    return groups
