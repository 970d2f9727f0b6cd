"""Results without ids that were copied and resumed: each rollout counts once, and what is not a copy counts by itself."""

from typing import Any

import pytest
from readers.repeats.versions import read, written  # type: ignore[import-not-found]  # needs the path of tests


def result(example: int, answer: str | None, **fields: Any) -> dict[str, Any]:
    """A line of results.jsonl."""
    said = [] if answer is None else [{"role": "assistant", "content": answer}]
    question = [{"role": "user", "content": f"{example} + 2?"}]
    return {
        "example_id": example,
        "task": "sums",
        "prompt": question,
        "completion": said,
        "reward": float(answer == "4"),
        **fields,
    }


def crashed(example: int) -> dict[str, Any]:
    """A line of results.jsonl of a rollout that failed."""
    return {**result(example, None), "reward": None, "error": "lost"}


FIRST, SECOND, THIRD = result(0, "4"), result(1, "4"), result(2, "5")


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("earlier", "whole", "count"),
    [
        ([FIRST], [FIRST, SECOND], 2),
        ([FIRST, SECOND], [FIRST, SECOND], 2),
        ([FIRST, crashed(1)], [FIRST, SECOND], 2),
        ([FIRST, crashed(1)], [SECOND, FIRST], 2),
        ([FIRST, crashed(1), SECOND], [FIRST, SECOND, SECOND], 3),
        ([FIRST, FIRST], [FIRST, FIRST, SECOND], 3),
        ([FIRST, crashed(1), THIRD], [FIRST, THIRD, SECOND], 3),
        # No copies: an answer of one is not in the other, or nothing is.
        ([FIRST, THIRD], [FIRST, SECOND], 4),
        ([FIRST, result(1, "5")], [FIRST, SECOND], 4),
        ([crashed(1)], [FIRST, SECOND], 3),
        ([FIRST, FIRST, FIRST], [FIRST, FIRST, SECOND], 6),
    ],
)
@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_results_and_their_resumed_copy(tmp_path, earlier, whole, count, names):
    for name, lines in zip(names, (earlier, whole), strict=True):
        written(tmp_path / f"{name}.jsonl", *lines)
    turns, problems, unread = read(tmp_path)
    assert turns["rollout_id"].n_unique() == count
    assert problems.height == len(earlier) + len(whole) - count
    assert unread == 0


def test_three_copies_of_results_are_those_of_the_last(tmp_path):
    written(tmp_path / "1.jsonl", FIRST)
    written(tmp_path / "2.jsonl", FIRST, crashed(1))
    written(tmp_path / "3.jsonl", FIRST, SECOND, THIRD)
    turns, problems, _ = read(tmp_path)
    assert turns["reward"].to_list() == [1.0, 1.0, 0.0]
    assert problems.height == 3
    assert set(turns["rollout_id"].str.head(18)) == {turns["rollout_id"][0][:18]}
