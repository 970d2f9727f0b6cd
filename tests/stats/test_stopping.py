# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""Whether attempts stopped at a success: by their order and by where they end, also in batches and with a retry."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulations import repeated

from rollwise.stats.stopping import stopping

attempts_in_loops = st.lists(st.lists(st.booleans(), min_size=1, max_size=9), max_size=9)


def rows(loops):
    """Succeeded, number and goal of each attempt, one loop after another."""
    found = [(won, number, goal) for goal, loop in enumerate(loops) for number, won in enumerate(loop, 1)]
    return [np.array(column) for column in zip(*found, strict=True)] if found else [np.array([])] * 3


def drawn(rng, goals, most, *, rate=0.05, icc=0.3, design="stop", batch=1, practice=0.0):
    """Attempts at goals: succeeded, number, goal. `practice` raises the chance of each further attempt."""
    precision = (1 - icc) / icc
    chance = rng.beta(rate * precision, (1 - rate) * precision, goals)[:, None]
    won = rng.random((goals, most)) < np.clip(chance * (1 + practice * np.arange(most)), 0, 1)
    first = np.where(won.any(axis=1), won.argmax(axis=1), most - 1)
    made = {
        "stop": np.minimum((first // batch + 1) * batch, most),
        "retry": np.minimum(first + 1 + (rng.random(goals) < 0.2), most),
        "fixed": np.full(goals, most),
        "lost": rng.binomial(most, 0.95, goals).clip(1),
        "random": rng.integers(1, most + 1, goals),
        "fewer at easy goals": np.where(chance[:, 0] > np.median(chance), 3, most),
    }[design]
    goal, number = np.nonzero(np.arange(most) < made[:, None])
    return won[goal, number], number + 1, goal


def test_by_hand() -> None:
    """Two goals of three attempts, both broken in the third: chance 1/9; one goal of one attempt proves nothing."""
    found = stopping([0, 0, 1, 0, 0, 1, 1], [1, 2, 3, 1, 2, 3, 1], [0, 0, 0, 1, 1, 1, 2])
    assert (found.design, found.successes, found.last, found.shorter) == ("undetermined", 3, 3, True)
    assert found.chance == pytest.approx(1 / 9)
    assert stopping([], [], []).design == "undetermined"
    assert stopping([0, 0], [1, 2], [0, 0]).design == "undetermined"


@pytest.mark.parametrize("loops", [["FFT", "FTF"], ["FTT", "FFFT"], ["TF", "FFT", "FTFT"], ["T", "FTFF", "TT", "FFT"]])
def test_the_chance_is_that_of_every_order(loops) -> None:
    """All orders of each goal's attempts, enumerated: the share whose first successes come as late as these, or later."""
    orders = []
    for loop in loops:
        places = [min(chosen, default=0) for chosen in combinations(range(len(loop)), loop.count("T"))]
        orders.append(places)
    observed = sum(loop.index("T") for loop in loops)
    sums = [sum(places) for places in product(*orders)]
    expected = np.mean([total >= observed for total in sums])
    found = stopping(*rows([[letter == "T" for letter in loop] for loop in loops]))
    assert found.chance == pytest.approx(expected)


def test_many_attempts_have_nearly_the_same_chance(monkeypatch) -> None:
    """The normal law of 200 goals agrees with the enumerated one."""
    attempts = drawn(np.random.default_rng(0), 200, 10, design="fixed", rate=0.3)
    exact = stopping(*attempts).chance
    monkeypatch.setattr("rollwise.stats.stopping._EXACT", 0)
    assert stopping(*attempts).chance == pytest.approx(exact, abs=0.003)


def test_an_unjudged_attempt_after_a_success_was_made() -> None:
    """An attempt that errored after the success shows that the loop went on."""
    assert stopping([1, 0], [1, 2], [0, 0]).design == "fixed"


@pytest.mark.integration
@given(attempts_in_loops, st.randoms())
def test_the_order_of_rows_changes_nothing(loops, random) -> None:
    """Shuffled attempts, and goals under other codes, are the same attempts."""
    won, number, goal = rows(loops)
    found = stopping(won, number, goal)
    order = list(range(won.size))
    random.shuffle(order)
    again = stopping(won[order], number[order], 40 - goal[order])
    assert (again.design, again.successes, again.last) == (found.design, found.successes, found.last)
    assert again.chance == pytest.approx(found.chance)
    assert 0 < found.chance <= 1
    assert 0 <= found.last <= found.successes


@pytest.mark.integration
@given(attempts_in_loops)
def test_loops_that_end_with_their_success(loops) -> None:
    """Loops with one success, the last of their attempts: the chance is the product of 1 / n."""
    ended = [[False] * len(loop) + [True] for loop in loops]
    found = stopping(*rows(ended))
    assert found.chance == pytest.approx(1 / np.prod([len(loop) for loop in ended]))
    assert found.design == ("stopped" if found.chance < 0.01 else "undetermined")


def test_one_attempt_after_a_success_does_not_hide_the_others() -> None:
    """40 loops end at the third attempt with their success, 40 others fail ten times; one has an attempt after its success."""
    loops = [[False, False, True]] * 40 + [[False] * 10] * 40
    assert stopping(*rows(loops)).design == "stopped"
    assert stopping(*rows([*loops[1:], [False, False, True, False]])).design == "stopped"
    assert stopping(*rows([*loops[1:], [False, False, True, True]])).design == "stopped"


@pytest.mark.integration
@pytest.mark.parametrize(
    "options",
    [{}, {"batch": 2}, {"batch": 3}, {"batch": 5}, {"design": "retry"}, {"rate": 0.3}, {"rate": 0.3, "batch": 3}],
)
def test_stopping_is_found(options) -> None:
    """Loops of up to 20 attempts at 100 goals that stop at once, after a batch, or with a retry: at least 18 of 20 are found."""
    rng = np.random.default_rng(3)
    assert sum(stopping(*drawn(rng, 100, 20, **options)).design == "stopped" for _ in range(20)) >= 18


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({"design": "fixed"}, 0.0),
        ({"design": "fixed", "practice": 0.3}, 0.0),
        ({"design": "lost"}, 0.01),
        ({"design": "random"}, 0.01),
        ({"design": "random", "practice": 0.3}, 0.02),
        ({"design": "fewer at easy goals"}, 0.05),
    ],
)
def test_false_alarms(options, most) -> None:
    """Attempts that did not stop are called stopped with at most these chances; never where all goals have as many.

    Lost attempts and random numbers: both tests must err. With practice, successes come late: only the ends protect. Fewer
    attempts at easy goals: only the order does.
    """
    rng, repetitions = np.random.default_rng(4), repeated(600)
    for rate in (0.1, 0.3):
        alarms = sum(
            stopping(*drawn(rng, 60, 10, rate=rate, **options)).design == "stopped" for _ in range(repetitions)
        )
        assert alarms / repetitions <= most + 2.5 * np.sqrt(most * (1 - most) / repetitions), rate
