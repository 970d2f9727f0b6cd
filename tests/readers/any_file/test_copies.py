"""Copies of the cases under other names, in other wrappers and of other lengths: none is read wrong."""

from pathlib import Path

import pytest

from tests.readers.any_file.copies import KINDS, copies
from tests.readers.any_file.stranger import Result, first_go, summed_up, wanted

pytestmark = pytest.mark.integration

REACHED = {"right", "pasted", "asked"}
SEEDS = [1, 2, 3]
UNREADABLE = {"t07_share_of_trials", "t18_code_that_broke"}  # as they are


@pytest.mark.parametrize("seed", SEEDS)
def test_no_copy_is_read_wrong(tmp_path: Path, seed: int) -> None:
    found: dict[str, Result] = {}
    for case, want in copies(tmp_path / "cases", seed, each=6):
        if not case.name.startswith(tuple(UNREADABLE)):
            found[case.name] = first_go(case, want, tmp_path)
    counts = summed_up(found.values())
    assert {name: result.note for name, result in found.items() if result.word == "wrong"} == {}
    assert sum(counts[word] for word in REACHED) / len(found) >= 0.9, f"seed {seed}: {dict(counts)}"
    assert len(found) >= 200


def test_a_copy_that_changes_nothing_has_the_figures_of_its_case(tmp_path: Path) -> None:
    """The figures of copies are counted from records; those of the cases are stated."""
    for case, want in copies(tmp_path, seed=1, each=6):
        name = case.name.rpartition("_")[0]
        stated = wanted(next(path.parent for path in Path(__file__).parent.glob(f"*/{name}/expected.json")))
        if name in KINDS and want["rollouts"] == stated["rollouts"] and KINDS[name].is_fixed:
            assert want.get("success") == stated.get("success")
