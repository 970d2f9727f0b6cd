"""Two public leaderboards, typed from their pages: what their order says, and what cannot be told apart."""

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise.schema.labels.ranking import ranking

# JailbreakBench (Chao et al. 2024, arXiv:2404.01318, table 2; jailbreakbench.github.io): successes of 100 behaviors.
JAILBREAKBENCH = {
    "vicuna-13b-v1.5": {"JailbreakChat": 90, "GCG": 80, "PAIR": 69},
    "llama-2-7b-chat-hf": {"GCG": 3, "PAIR": 0, "JailbreakChat": 0},
    "gpt-3.5-turbo-1106": {"PAIR": 71, "GCG": 47, "JailbreakChat": 0},
    "gpt-4-0125-preview": {"PAIR": 34, "GCG": 4, "JailbreakChat": 0},
}
# AgentHarm at hal.cs.princeton.edu/agentharm: refusals of harmful tasks in percent, in the order of the page (by harm score).
AGENTHARM = {
    "Llama-3.1-405B": 80.11,
    "claude-3-5-sonnet": 88.07,
    "o1": 75.57,
    "o1-mini": 72.16,
    "gpt-4o": 47.16,
}
TASKS = 176  # 80.11 % are 141 of 176, 88.07 % 155, 75.57 % 133, 72.16 % 127 and 47.16 % 83


def ends(ranks: pl.DataFrame) -> dict[str, tuple[int, int]]:
    return {group: (low, high) for group, low, high in ranks.select("group", "rank_low", "rank_high").rows()}


@pytest.mark.integration
def test_jailbreakbench_says_which_attack_is_best_on_which_model() -> None:
    """The rates of the page are those of the published rollouts; on three of four models some attacks cannot be told apart.

    By hand, GCG and PAIR on Vicuna: 23 behaviors fall to the first alone and 12 to the second alone, so the standard error of
    their difference .11 is √(35 - 11²/100)/100 = .058, and .11 is 1.9 of these, too few even for one comparison.
    """
    published = rw.measure(rw.read("data/jailbreakbench"), m.attack_success())
    ranks = rw.rank(published, of="attack", metric="attack_success", by="target", better="higher")
    for target, typed in JAILBREAKBENCH.items():
        shown = ranks.filter(pl.col("target") == target)
        assert dict(shown.select("group", (pl.col("estimate") * 100).round(9)).rows()) == typed
    assert {target: ends(ranks.filter(pl.col("target") == target)) for target in JAILBREAKBENCH} == {
        "vicuna-13b-v1.5": {"JailbreakChat": (1, 1), "GCG": (2, 3), "PAIR": (2, 3)},
        "llama-2-7b-chat-hf": {"GCG": (1, 3), "JailbreakChat": (1, 3), "PAIR": (1, 3)},
        "gpt-3.5-turbo-1106": {"PAIR": (1, 1), "GCG": (2, 2), "JailbreakChat": (3, 3)},
        "gpt-4-0125-preview": {"PAIR": (1, 1), "GCG": (2, 3), "JailbreakChat": (2, 3)},
    }
    assert ranking(ranks.filter(pl.col("target") == "vicuna-13b-v1.5")) == (
        "vicuna-13b-v1.5: JailbreakChat is best; GCG and PAIR cannot be told apart."
    )


@pytest.mark.integration
def test_agentharm_tells_fewer_models_apart_than_it_ranks() -> None:
    """From the totals of a page no pairs are known, so the models count as having met different tasks: that is the wider way.

    By hand, 133 and 127 of 176: √(.7557·.2443/176 + .7216·.2784/176) = .0469, so .0341 is less than one standard error.
    """
    rows = [
        {"rollout_id": f"{model}/{task}", "target": model, "refused": task < round(share / 100 * TASKS)}
        for model, share in AGENTHARM.items()
        for task in range(TASKS)
    ]
    ranks = rw.rank(pl.DataFrame(rows), of="target", metric="refused", better="higher")
    assert dict(ranks.select("group", (pl.col("estimate") * 100).round(2)).rows()) == pytest.approx(
        AGENTHARM, abs=0.005
    )
    assert dict(ranks.select("group", "rank").rows()) == {
        "claude-3-5-sonnet": 1, "Llama-3.1-405B": 2, "o1": 3, "o1-mini": 4, "gpt-4o": 5,
    }  # fmt: skip
    assert ends(ranks) == {
        "claude-3-5-sonnet": (1, 2),
        "Llama-3.1-405B": (1, 4),
        "o1": (2, 4),
        "o1-mini": (2, 4),
        "gpt-4o": (5, 5),
    }
    assert (
        ranking(ranks)
        == "claude-3-5-sonnet and Llama-3.1-405B cannot be told apart; o1 and o1-mini cannot be told apart."
    )
