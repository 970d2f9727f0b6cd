"""No record of any format that stands twice, the second time with other verdicts, changes a verdict in silence."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from readers.mutants import FIXTURES, LOGS, loaded, written  # type: ignore[import-not-found]  # needs the path of tests

from rollwise import read
from rollwise.errors import RollwiseError

FORMATS = sorted({log.relative_to(FIXTURES).parts[0] for log in LOGS})
WORDS = {"score", "value", "reward", "success", "passed", "outcome", "solved", "correct", "label", "score_value", "avg"}
WORDS |= {"is_correct", "exact_match", "acc", "succeeded", "jailbroken", "is_jailbroken"}
OTHERS = {"True": "False", "False": "True", "C": "I", "I": "C", "success": "failure", "failure": "success"}
FIRST = 4  # records of each list


def flipped(value: Any, name: str = "") -> Any:
    """The value with all verdicts in it reversed."""
    if isinstance(value, dict):
        return {key: flipped(part, key) for key, part in value.items()}
    if isinstance(value, list):
        return [flipped(part, name) for part in value]
    if name.lower() not in WORDS:
        return value
    if isinstance(value, bool):
        return not value
    return 1 - value if value in (0, 1) else OTHERS.get(value, value) if isinstance(value, str) else value


def lists_in(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], list[Any]]]:
    """Iterate over the lists of objects in a log, with their places."""
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        yield place, value
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from lists_in(value[key], (*place, key))


@pytest.mark.integration
@pytest.mark.parametrize("name", FORMATS)
def test_a_record_twice_with_other_verdicts(tmp_path, name):
    silent = []
    for log in (log for log in LOGS if log.relative_to(FIXTURES).parts[0] == name):
        path = tmp_path / log.relative_to(FIXTURES)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(log.read_text())
        try:
            before, problems = read(path, errors="collect")
        except RollwiseError:
            continue  # which holds no rollouts
        value = loaded(log)
        for place, items in lists_in(value):
            for number, item in enumerate(items[:FIRST]):
                other = flipped(item)
                changed: Any = copy.deepcopy(value)
                records = changed
                for key in place:
                    records = records[key]
                records.append(other)
                path.write_text(written(log, changed))
                try:
                    after, told = read(path, errors="collect")
                except RollwiseError:
                    continue
                is_more = after.height > before.height or told.height > problems.height
                columns = {"outcome", "solved", "succeeded", "score", "reward"} & {*before.columns}
                columns |= {column for column in before.columns if column.startswith("score_")}
                if other != item and not is_more and not after.select(columns).equals(before.select(columns)):
                    silent.append((log.name, place, number))
    assert silent == []
