"""Files of people's own, given to the command line as a stranger would: how many are right at once, and none is wrong."""

from pathlib import Path

import pytest

from tests.readers.any_file.stranger import HERE, Result, first_go, summed_up, wanted

FILES = sorted(path.parent for path in (HERE / "files").glob("*/expected.json"))
TRAPS = sorted(path.parent for path in (HERE / "traps").glob("*/expected.json"))


def results(cases: list[Path], folder: Path, verb: str = "read") -> dict[str, Result]:
    """Type each case."""
    return {case.name: first_go(case, wanted(case), folder, verb) for case in cases}


def of_word(found: dict[str, Result], word: str) -> dict[str, str]:
    """Return the cases that came to a result, with what was said."""
    return {name: result.note for name, result in found.items() if result.word == word}


def test_cases_are_there() -> None:
    assert (len(FILES), len(TRAPS)) == (35, 28)


def test_none_of_some_is_read_wrong(tmp_path: Path) -> None:
    """Every third of all, which is quick."""
    found = results([*FILES, *TRAPS][::3], tmp_path)
    assert of_word(found, "wrong") == {}
    assert of_word(found, "partly") == {}
    assert summed_up(found.values())["right"] >= 18


@pytest.mark.integration
def test_no_file_is_read_wrong(tmp_path: Path) -> None:
    found = results(FILES, tmp_path)
    assert of_word(found, "wrong") == {}
    assert of_word(found, "refused") == {}
    assert of_word(found, "partly") == {}
    assert summed_up(found.values())["right"] >= 32


@pytest.mark.integration
def test_no_trap_is_read_wrong(tmp_path: Path) -> None:
    found = results(TRAPS, tmp_path)
    assert of_word(found, "wrong") == {}
    assert of_word(found, "partly") == {}
    assert of_word(found, "refused").keys() <= {"t07_share_of_trials", "t18_code_that_broke"}
    assert summed_up(found.values())["right"] >= 22


@pytest.mark.integration
def test_reports_say_the_same(tmp_path: Path) -> None:
    found = results([*FILES, *TRAPS], tmp_path, "report")
    assert of_word(found, "wrong") == {}
    assert of_word(found, "partly") == {}
    assert of_word(found, "refused").keys() <= {"t07_share_of_trials", "t18_code_that_broke"}
    assert summed_up(found.values())["right"] >= 54
