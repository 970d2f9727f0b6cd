"""Copies of the cases under other names and in other wrappers, with figures that are counted from their own records."""

import csv
import io
import json
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.readers.any_file.spellings import SAME, renamed
from tests.readers.any_file.stranger import HERE, inputs_of, wanted

Row = dict[str, Any]
Meaning = Callable[[Any], bool | None]


def _is_true(value: Any) -> bool | None:
    return None if value is None else value in {True, "1", "true", "True"}


def _is_false(value: Any) -> bool | None:
    return None if value is None else not _is_true(value)


def _by_words(**meanings: bool | None) -> Meaning:
    return meanings.get


def _is_unheld(value: str) -> bool:
    return value.lower().replace("-", "_") in {"not_blocked", "unblocked", "non_refusal"}


class Kind(NamedTuple):
    """Where the records of a case are, and what its verdict means.

    Attributes
    ----------
    records
        Names of the lists in the file, from its beginning; none if it is a list.
    verdict
        Name of the field; empty where none is stated.
    means
        What a value of it says.
    is_fixed
        Whether no record may be left out: those of a rollout belong together, or the figures are no counts of them.
    is_asked
        Whether the verdict counts only once the user has said what it means.
    """

    records: tuple[str, ...] = ()
    verdict: str = ""
    means: Meaning = _is_true
    is_fixed: bool = False
    is_asked: bool = False


# Cases whose records are flat.
KINDS: dict[str, Kind] = {
    "01_wrapper_results": Kind(("results",), "jailbroken"),
    "02_wrapper_attacks": Kind(("attacks",), "succeeded"),
    "03_groups_with_details": Kind(("details",), "attack_successful", is_fixed=True),
    "04_wrapper_outcomes_only": Kind(("results",), "is_success"),
    "07_outcomes_with_id": Kind((), "success"),
    "08_outcomes_solved": Kind((), "solved"),
    "09_outcomes_passed": Kind((), "passed"),
    "10_victim_response": Kind((), "label", _by_words(refusal=False), is_asked=True, is_fixed=True),
    "11_rows_with_tool_calls": Kind((), "label", _by_words(misled=True, not_misled=False)),
    "12_task_clusters_without_goal": Kind((), "attack_success"),
    "13_score_only": Kind(),
    "21_mitigated": Kind((), "mitigated", _is_false),
    "25_ragas_rows": Kind(),
    "26_prompt_response_only": Kind(),
    "29_task_success_called_success": Kind((), "success"),
    "30_agent_steps_not_training": Kind((), "solved"),
    "31_models_pooled": Kind((), "correct"),
    "32_score_scale": Kind(),
    "33_null_placeholders": Kind((), "verdict", _by_words(VULNERABLE=True, SAFE=False)),
    "34_label_of_the_prompt": Kind(),
    "35_negated_words": Kind((), "verdict", _by_words(unblocked=True, blocked=False)),
    "t01_over_refusal": Kind(),
    "t02_pass_fail_of_a_defence": Kind((), "result", _by_words(FAIL=True, PASS=False)),
    "t03_harmful_prompt": Kind(),
    "t09_missing_verdicts": Kind((), "jailbroken"),
    "t17_label_jailbreak_benign": Kind(),
    "t21_words_in_german": Kind(),
    "t22_not_and_un": Kind((), "verdict", _is_unheld),
    "t23_defense_success": Kind((), "defense_success", _is_false),
    "t24_success_is_of_the_call": Kind(is_fixed=True),  # few rows that say the same are no sign of the call
    "t26_turn_rows": Kind((), "jailbroken", is_fixed=True),
    "t27_rating_of_the_prompt": Kind(),
}
_TOTALS: dict[str, Callable[[int, int], float]] = {
    **dict.fromkeys(("total", "total_attacks", "n_questions"), lambda count, _: count),
    **dict.fromkeys(("success", "successful_attacks", "n_successes"), lambda _, won: won),
    "failure": lambda count, won: count - won,
    **dict.fromkeys(("asr", "attack_success_rate"), lambda count, won: won / count),
}
_COLUMNS = {  # of TURNS, under the names of the cases
    "target": ("model", "target", "model_test"),
    "attack": ("attack_type", "strategy"),
    "task": ("task",),
    "total_cost_usd": ("costUsd", "cost"),
}
WRAPPERS = ("list", "results", "data", "lines", "folder", "csv", "semicolons")
Copy = tuple[Path, dict[str, Any]]


def copies(folder: Path, seed: int, each: int) -> Iterator[Copy]:
    """Iterate over copies of the cases, each in a folder, with its right figures."""
    chance = random.Random(seed)
    for path in sorted(HERE.glob("*/*/expected.json")):
        for number in range(each if path.parent.name in KINDS else (each + 1) // 2):
            made = folder / f"{path.parent.name}_{number}"
            made.mkdir(parents=True)
            copy = _flat_copy if path.parent.name in KINDS else _shuffled_copy
            yield made, copy(path.parent, made, chance)


def _rows_in(case: Path) -> tuple[Any, list[Row]]:
    """Return what is in the file of a case, and its records."""
    (file,) = inputs_of(case)
    text = Path(file).read_text(encoding="utf-8")
    if file.endswith(".csv"):
        rows: list[Row] = [*csv.DictReader(io.StringIO(text))]
        return rows, [{name: _typed(value) for name, value in row.items()} for row in rows]
    value = [*map(json.loads, text.splitlines())] if file.endswith(".jsonl") else json.loads(text)
    inner = value
    for name in KINDS[case.name].records:
        inner = [row for one in inner for row in one[name]] if isinstance(inner, list) else inner[name]
    return value, inner


def _typed(text: str) -> Any:
    """Return a cell as JSON has it."""
    if text in {"True", "False", "true", "false"}:
        return text.lower() == "true"
    return None if text == "" else int(text) if text.isdigit() else text


def _flat_copy(case: Path, made: Path, chance: random.Random) -> dict[str, Any]:
    """Write a copy of a case whose records are flat, and return its right figures."""
    kind, want = KINDS[case.name], wanted(case)
    whole, rows = _rows_in(case)
    if not kind.is_fixed and len(rows) > 3 and chance.random() < 0.6:
        rows = (
            [row for place, row in enumerate(rows) if place != chance.randrange(len(rows))]
            if chance.random() < 0.5
            else [*rows, _one_more(rows, chance)]
        )
    names = renamed([*dict.fromkeys(name for row in rows for name in row)], chance)
    if not kind.is_fixed:
        want |= _counted(kind, rows, want, turns=want.get("turns") is not None)
    _forget_renamed(want, names)
    want["answers"] = _answers(kind, names, rows, want)
    new = [_with_names(row, names, chance) for row in rows]
    if kind.records:
        _write_json(made / "runs.json", _around(whole, kind.records, new, rows, kind, chance))
        return want
    _write_rows(made, new, chance, are_apart=not kind.is_fixed)
    return want


def _forget_renamed(want: dict[str, Any], names: Mapping[str, tuple[str, str]]) -> None:
    """Take out of the figures what rests on a fact that has another name: it may be unknown, and no number is wrong by it."""
    for column, sources in {**_COLUMNS, "final_score": ("score",)}.items():
        ways = {names[source][1] for source in sources if source in names}
        if not ways - {SAME, "kept"}:
            continue
        for figures in ("facts", "sums", "means", "by"):
            want[figures] = {name: figure for name, figure in want.get(figures, {}).items() if name != column}
        want.pop({"task": "least_std_error", "target": "by_target"}.get(column, ""), None)


def _one_more(rows: list[Row], chance: random.Random) -> Row:
    """Return one more record: the copy of another, with its own ids and texts."""
    row = dict(chance.choice(rows))
    for name, value in row.items():
        values = [str(other[name]) for other in rows if name in other]
        if len({*values}) < len(rows) or isinstance(value, bool | float | list | dict):
            continue
        row[name] = max(int(one[name]) for one in rows) + 1 if isinstance(value, int) else f"{value} (more)"
    return row


def _counted(kind: Kind, rows: list[Row], want: Mapping[str, Any], *, turns: bool) -> dict[str, Any]:
    """Return the figures of records, one rollout each."""
    found: dict[str, Any] = {"rollouts": len(rows)} | ({"turns": len(rows)} if turns else {})
    sides = [kind.means(row.get(kind.verdict)) for row in rows] if kind.verdict else []
    if sides and not kind.is_asked:
        found |= {"success": sides.count(True), "judged": len(rows) - sides.count(None)}
    by = {"target": want["by_target"]} if "by_target" in want else want.get("by", {})
    if by:
        found["by"] = {
            column: {
                value: sum(side is True for side, row in zip(sides, rows, strict=True) if _of(row, column) == value)
                for value in dict.fromkeys(_of(row, column) for row in rows)
            }
            for column in by
        }
        found["by_target"] = found["by"].get("target")
        if found["by_target"] is None:
            del found["by_target"]
    if "sums" in want and "total_cost_usd" in want["sums"]:
        found["sums"] = {"total_cost_usd": sum(_of(row, "total_cost_usd") for row in rows)}
    if "means" in want:
        found["means"] = {"final_score": sum(float(row["score"]) for row in rows) / len(rows)}
    if "least_std_error" in want:
        found["least_std_error"] = 0.2
    facts = want.get("facts", {})
    own = {name for row in rows for name in row}
    found["facts"] = {
        column: [*dict.fromkeys(_of(row, column) for row in rows)] if own & {*_COLUMNS[column]} else values
        for column, values in facts.items()
    }
    return found


def _of(row: Row, column: str) -> Any:
    return next(row[name] for name in _COLUMNS[column] if name in row)


def _answers(
    kind: Kind, names: Mapping[str, tuple[str, str]], rows: list[Row], want: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the user would answer, under the names of the copy."""
    answers: dict[str, Any] = {"rollout_id": "@key"} if not kind.is_fixed else {}
    response = next((name for name in names if name.endswith(("response", "final_text", "_output", "preview"))), None)
    if response is not None:
        answers["response"] = names[response][0]
    if kind.verdict:
        of = "solved" if want.get("success_is") == "solved" else "succeeded"
        answers |= {"of": "task" if of == "solved" else "attack", "verdict": names[kind.verdict][0]}
        answers |= {name: names[kind.verdict][0] for name in ("succeeded", "solved") if name == of}
        for value in {row[kind.verdict] for row in rows if row.get(kind.verdict) is not None}:
            side = kind.means(value)
            label = str(value).lower() if isinstance(value, bool) else str(value)
            answers[label] = "null" if side is None else str(side).lower()
    return {**answers, "columns": [new for new, _ in names.values()]}


def _with_names(row: Row, names: Mapping[str, tuple[str, str]], chance: random.Random) -> Row:
    """Return a record under other names, in another order."""
    items = [(names[name][0], value) for name, value in row.items()]
    chance.shuffle(items)
    return dict(items)


def _around(
    whole: Any, records: tuple[str, ...], new: list[Row], rows: list[Row], kind: Kind, chance: random.Random
) -> Any:
    """Return the file of a case around other records, its totals counted again."""
    name = chance.choice([records[0], "items", "runs", "data", "trials_done"])
    if isinstance(whole, list):  # groups
        rest = iter(new)
        return [_shuffled({**one, records[0]: [next(rest) for _ in one[records[0]]]}, chance) for one in whole]
    won = sum(kind.means(row[kind.verdict]) is True for row in rows)
    around = {key: _TOTALS[key](len(rows), won) if key in _TOTALS else value for key, value in whole.items()}
    around.pop("total_iterations", None)
    del around[records[0]]
    if chance.random() < 0.3:
        around = {key: value for key, value in around.items() if key not in _TOTALS}
    return _order({**around, name: new}, chance)


def _write_rows(made: Path, rows: list[Row], chance: random.Random, *, are_apart: bool) -> None:
    """Write records in one of several ways; each in a file of its own only where none belongs to another."""
    is_flat = all(not isinstance(value, list | dict) for row in rows for value in row.values())
    left_out = {*(() if is_flat else ("csv", "semicolons")), *(() if are_apart else ("folder",))}
    way = chance.choice([way for way in WRAPPERS if way not in left_out])
    if way == "lines":
        text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
        (made / "runs.jsonl").write_text(text, encoding="utf-8")
    elif way in {"csv", "semicolons"}:
        with (made / "runs.csv").open("w", encoding="utf-8", newline="") as file:
            names = [*dict.fromkeys(name for row in rows for name in row)]
            writer = csv.DictWriter(file, names, delimiter="," if way == "csv" else ";")
            writer.writeheader()
            writer.writerows(rows)
    elif way == "folder":
        for place, row in enumerate(rows):
            _write_json(made / "runs" / f"{place:03}.json", row)
    else:
        wrapped: dict[str, Any] = {"list": rows, "results": {"results": rows}, "data": {"data": {"items": rows}}}
        _write_json(made / "runs.json", wrapped[way])


def _write_json(file: Path, value: Any) -> None:
    file.parent.mkdir(exist_ok=True, parents=True)
    file.write_text(json.dumps(value, indent=1, ensure_ascii=False), encoding="utf-8")


def _order(value: Mapping[str, Any], chance: random.Random) -> dict[str, Any]:
    items = [*value.items()]
    chance.shuffle(items)
    return dict(items)


def _shuffled(value: Any, chance: random.Random) -> Any:
    """Return a value with the keys of all objects in another order."""
    if isinstance(value, dict):
        return _order({key: _shuffled(inner, chance) for key, inner in value.items()}, chance)
    return [_shuffled(inner, chance) for inner in value] if isinstance(value, list) else value


def _shuffled_copy(case: Path, made: Path, chance: random.Random) -> dict[str, Any]:
    """Write a copy of a case with the keys of its objects in another order, and return its right figures."""
    files = [path for path in sorted(case.rglob("*")) if path.is_file() and path.name != "expected.json"]
    for file in files:
        text, new = file.read_text(encoding="utf-8"), made / file.relative_to(case)
        new.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".csv":
            new.write_text(text, encoding="utf-8")
            continue
        try:
            _write_json(new, _shuffled(json.loads(text), chance))
        except json.JSONDecodeError:  # lines
            lines = [_shuffled(json.loads(line), chance) for line in text.splitlines() if line]
            new.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return wanted(case)
