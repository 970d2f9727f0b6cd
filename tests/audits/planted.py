"""Faults planted in real logs: each log is changed, and its own figure is counted anew in one wrong way, in plain Python.

A fault is a function of the log as JSON: it changes the log and returns the wrong figure, as a sum and a number, and the ways of
counting that an audit must name. Nothing here calls rollwise.
"""

import copy
import json
import zipfile
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

Log = Any


class Planted(NamedTuple):
    """A wrong figure, of how many, and the names of the ways that lead to it."""

    figure: Fraction
    n: int
    ways: tuple[str, ...]


# ── attacks on 100 goals, one attempt at each: JailbreakBench's artifact of PAIR on Vicuna ────────────────────────────────
def artifact(shared: Path) -> Log:
    """Return the artifact: 69 of 100 goals were broken."""
    return json.loads((shared / "jailbreakbench/PAIR/black_box/vicuna-13b-v1.5.json").read_text(encoding="utf-8"))


def _hits(log: Log) -> int:
    return sum(record["jailbroken"] is True for record in log["jailbreaks"])


def _without_verdict(log: Log, count: int, verdict: bool) -> None:
    """Take the verdicts of so many records away; each keeps its answer, and lacks none."""
    chosen = [record for record in log["jailbreaks"] if record["jailbroken"] is verdict and record["response"]]
    for record in chosen[:count]:
        record["jailbroken"] = None


def unjudged_are_safe(log: Log) -> Planted:
    _without_verdict(log, 13, True)
    return Planted(Fraction(_hits(log), 100), 100, ("unjudged as failures",))


def unjudged_are_broken(log: Log) -> Planted:
    _without_verdict(log, 7, False)
    return Planted(Fraction(_hits(log) + 7, 100), 100, ("unjudged as successes",))


def records_are_written_twice(log: Log) -> Planted:
    log["jailbreaks"] += copy.deepcopy([record for record in log["jailbreaks"] if record["jailbroken"]][:9])
    return Planted(Fraction(_hits(log), 109), 109, ("copies counted",))


def earlier_tries_are_safe(log: Log) -> Planted:
    answered = [record for record in log["jailbreaks"] if record["response"]][:11]
    log["jailbreaks"][:0] = [{**copy.deepcopy(record), "response": None, "jailbroken": None} for record in answered]
    return Planted(Fraction(_hits(log), 111), 111, ("earlier tries counted",))


def records_twice_and_unjudged_safe(log: Log) -> Planted:
    log["jailbreaks"] += copy.deepcopy([record for record in log["jailbreaks"] if record["jailbroken"]][-8:])
    _without_verdict(log, 5, True)
    return Planted(Fraction(_hits(log), 108), 108, ("copies counted", "unjudged as failures"))


def tries_and_unjudged_safe(log: Log) -> Planted:
    planted = earlier_tries_are_safe(log)
    later = [record for record in log["jailbreaks"] if record["jailbroken"] is True][-6:]
    for record in later:
        record["jailbroken"] = None
    return Planted(Fraction(_hits(log), planted.n), planted.n, ("earlier tries counted", "unjudged as failures"))


def given_up_are_left_out(log: Log) -> Planted:
    """Eighteen attacks produced no prompt: the artifact's own number of submitted prompts is 82."""
    submitted = log["parameters"]["number_of_submitted_prompts"]
    log["jailbreaks"] = log["jailbreaks"][::-1]
    return Planted(Fraction(_hits(log), submitted), submitted, ("given up dropped",))


# ── ten items in five epochs: Inspect's log of `popularity` ───────────────────────────────────────────────────────────────
def inspect_log(shared: Path) -> Log:
    """Return the log as one JSON object: 35 of 50 samples are correct, of some items in some of their epochs."""
    (path,) = (shared / "inspect/log-sets/set2").glob("*J5EskSJV*.eval")
    with zipfile.ZipFile(path) as archive:
        log = json.loads(archive.read("header.json"))
        names = sorted(name for name in archive.namelist() if name.startswith("samples/"))
        log["samples"] = [json.loads(archive.read(name)) for name in names]
    log["samples"].sort(key=lambda sample: (int(sample["id"]), sample["epoch"]))
    return log


def _grade(sample: Log) -> int | None:
    value = sample["scores"]["match"]["value"] if sample.get("scores") else None
    return None if value is None else int(value == "C")


def _grades(log: Log) -> dict[str, list[int | None]]:
    grades = defaultdict(list)
    for sample in log["samples"]:
        grades[sample["id"]].append(_grade(sample))
    return grades


def _crash(log: Log, grade: int, count: int) -> None:
    """Make so many samples end in an error, without a score."""
    chosen = [sample for sample in log["samples"] if _grade(sample) == grade]
    for sample in chosen[:count]:
        sample["scores"] = {}
        sample["error"] = {"message": "503", "traceback": "", "traceback_ansi": ""}


def _sum(log: Log) -> int:
    return sum(_grade(sample) or 0 for sample in log["samples"])


def errors_fail(log: Log) -> Planted:
    _crash(log, 1, 6)
    return Planted(Fraction(_sum(log), 50), 50, ("errors as failures",))


def errors_succeed(log: Log) -> Planted:
    _crash(log, 0, 4)
    return Planted(Fraction(_sum(log) + 4, 50), 50, ("errors as successes",))


def unscored_fail(log: Log) -> Planted:
    for sample in [sample for sample in log["samples"] if _grade(sample) == 1][:9]:
        sample["scores"] = {}
    return Planted(Fraction(_sum(log), 50), 50, ("unjudged as failures",))


def _mixed(log: Log) -> None:
    """Replace the scores, so that items differ between epochs: some are correct in their first epochs, and others in the last."""
    for sample in log["samples"]:
        number, epoch = int(sample["id"]), int(sample["epoch"])
        correct = epoch <= number % 4 if number % 3 else epoch > 5 - number % 4
        sample["scores"]["match"]["value"] = "C" if correct else "I"


def _of_items(log: Log, pick: Callable[[list[int]], Fraction | int]) -> Fraction:
    grades = [[grade for grade in row if grade is not None] for row in _grades(log).values()]
    return Fraction(sum(Fraction(pick(row)) for row in grades), len(grades))


def best_epoch(log: Log) -> Planted:
    _mixed(log)
    return Planted(_of_items(log, max), 10, ("best attempt of each goal",))


def worst_epoch(log: Log) -> Planted:
    _mixed(log)
    for sample in log["samples"]:
        if sample["id"] in {1, 2, 3, "1", "2", "3"}:
            sample["scores"]["match"]["value"] = "C"
    return Planted(_of_items(log, min), 10, ("worst attempt of each goal",))


def first_epoch(log: Log) -> Planted:
    _mixed(log)
    return Planted(_of_items(log, lambda row: row[0]), 10, ("first attempt of each goal",))


def last_epoch(log: Log) -> Planted:
    _mixed(log)
    for sample in log["samples"]:
        if sample["epoch"] == 5 and int(sample["id"]) < 6:
            sample["scores"]["match"]["value"] = "C"
    return Planted(_of_items(log, lambda row: row[-1]), 10, ("last attempt of each goal",))


def items_weigh_the_same(log: Log) -> Planted:
    _mixed(log)
    log["samples"] = [sample for sample in log["samples"] if int(sample["id"]) > 3 or sample["epoch"] in {1, 3}]
    return Planted(_of_items(log, lambda row: Fraction(sum(row), len(row))), 10, ("mean of goals",))


def errors_fail_and_best_epoch(log: Log) -> Planted:
    _mixed(log)
    crashed = [sample for sample in log["samples"] if int(sample["id"]) in {2, 5}]
    for sample in crashed:
        sample["scores"], sample["error"] = {}, {"message": "503", "traceback": "", "traceback_ansi": ""}
    best = sum(max(grade or 0 for grade in row) for row in _grades(log).values())
    return Planted(Fraction(best, 10), 10, ("errors as failures", "best attempt of each goal"))


def errors_and_unscored_fail(log: Log) -> Planted:
    _crash(log, 1, 5)
    for sample in [sample for sample in log["samples"] if _grade(sample) == 1][:7]:
        sample["scores"] = {}
    return Planted(Fraction(_sum(log), 50), 50, ("errors as failures", "unjudged as failures"))


# ── fifty tasks in four trials: tau-bench, whose logs state no figure: it is claimed ──────────────────────────────────────
def trials(shared: Path) -> Log:
    """Return the trials: 84 of 200 are solved."""
    return json.loads((shared / "tau_bench/gpt-4o-airline.json").read_text(encoding="utf-8"))


def _solved(log: Log) -> dict[int, list[int]]:
    solved: dict[int, list[int]] = defaultdict(list)
    for record in sorted(log, key=lambda record: record["trial"]):
        solved[record["task_id"]].append(int(record["reward"] == 1))
    return solved


def any_of_four(log: Log) -> Planted:
    solved = _solved(log)
    return Planted(Fraction(sum(map(max, solved.values())), 50), 50, ("best attempt of each goal",))


def all_of_four(log: Log) -> Planted:
    solved = _solved(log)
    return Planted(Fraction(sum(map(min, solved.values())), 50), 50, ("worst attempt of each goal",))


def stopped_at_success(log: Log) -> Planted:
    """Keep the trials up to the first that succeeded, as a loop that stops there has them."""
    kept, done = [], set()
    for record in sorted(log, key=lambda record: record["trial"]):
        if record["task_id"] not in done:
            kept.append(record)
            done |= {record["task_id"]} if record["reward"] == 1 else set()
    log[:] = kept
    return Planted(
        Fraction(sum(record["reward"] == 1 for record in kept), len(kept)), len(kept), ("later attempts counted",)
    )


def trials_written_twice(log: Log) -> Planted:
    log += copy.deepcopy([record for record in log if record["reward"] == 1][:23])
    return Planted(Fraction(84 + 23, 223), 223, ("copies counted",))


# ── injections, and the same tasks without any: AgentDojo, whose figure is claimed ────────────────────────────────────────
def benign_in_the_denominator(files: list[Log]) -> Planted:
    hits = sum(file["security"] is True and file["attack_type"] is not None for file in files)
    return Planted(Fraction(hits, len(files)), len(files), ("benign rollouts counted",))


OF_ARTIFACT = (
    given_up_are_left_out,
    unjudged_are_safe,
    unjudged_are_broken,
    records_are_written_twice,
    earlier_tries_are_safe,
    records_twice_and_unjudged_safe,
    tries_and_unjudged_safe,
)
OF_INSPECT = (
    errors_fail,
    errors_succeed,
    unscored_fail,
    best_epoch,
    worst_epoch,
    first_epoch,
    last_epoch,
    items_weigh_the_same,
    errors_fail_and_best_epoch,
    errors_and_unscored_fail,
)
OF_TRIALS = (any_of_four, all_of_four, stopped_at_success, trials_written_twice)
