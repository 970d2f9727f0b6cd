"""Success in k attempts where goals have unequally many: nothing from nothing, sharp bounds, and where they matter."""

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulations import repeated

import rollwise as rw

T, F = True, False
CAVEAT = (
    "if the chances of goals with fewer attempts differ from those of the others, the share is between bound_low and "
    "bound_high"
)


def tried(goals: dict[str, list[Any]], **columns: Any) -> pl.DataFrame:
    """ROLLOUTS with the attempts at each goal in order."""
    rows = [(f"{goal}-{i:03}", goal, i + 1, value) for goal, values in goals.items() for i, value in enumerate(values)]
    schema = {"rollout_id": pl.String, "goal": pl.String, "attempt": pl.Int32, "attack_success": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(**columns)


def at(frame: pl.DataFrame, k: int, kind: str = "asr@k") -> dict[str, Any]:
    return frame.filter(kind=kind, at=float(k)).row(0, named=True)


def goals(*kinds: tuple[int, list[Any]]) -> dict[str, list[Any]]:
    """So many goals of each kind."""
    return {f"g{number}.{i:03}": values for number, (count, values) in enumerate(kinds) for i in range(count)}


@pytest.mark.integration
@pytest.mark.parametrize(
    ("kinds", "kind", "k", "bounds"),
    [
        ([(97, [F, F]), (3, [T, T, T])], "asr@k", 3, (0.03, 1)),
        ([(97, [T, T]), (3, [F, F, F])], "pass^k", 3, (0, 0.97)),
        ([(95, [F, F]), (5, [T, T, F])], "asr@k", 3, (0.05, 1)),
        ([(99, [F, F]), (1, [T] * 5)], "asr@k", 3, (0.01, 1)),
        ([(99, [F, F]), (1, [T] * 5)], "asr@k", 5, (0.01, 1)),
        ([(10, [F]), (10, [T] * 4)], "asr@k", 2, (0.5, 1)),
        ([(10, [T]), (10, [F] * 4), (20, [T, T])], "pass^k", 3, (0, 0.75)),
    ],
)
def test_beyond_what_was_tried_there_is_no_share(kinds: Any, kind: str, k: int, bounds: tuple[float, float]) -> None:
    """No goal that could still change has that attempt: neither 100 % nor 0 %, but between the bounds, and the reason."""
    row = at(rw.attempts(tried(goals(*kinds)), k=k, stopped=False), k, kind)
    assert (row["estimate"], row["low"], row["high"], row["method"]) == (None, None, None, None)
    assert (row["bound_low"], row["bound_high"]) == pytest.approx(bounds)
    so_far = "with nothing but successes" if kind == "pass^k" else "without a success"
    words = f"no goal {so_far} before has {k} attempts: the share is between bound_low and bound_high"
    assert words in row["reason"]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("kinds", "kind", "k", "estimate"),
    [
        ([(95, [F, F]), (5, [F, F, F])], "asr@k", 3, 0),
        ([(20, [T, T]), (5, [T, T, T])], "asr@k", 3, 1),
        ([(20, [F, F]), (5, [F, F, F])], "pass^k", 3, 0),
        ([(10, [F, F]), (10, [F, F, T])], "asr@k", 3, 1),
    ],
)
def test_what_was_tried_has_a_share(kinds: Any, kind: str, k: int, estimate: float) -> None:
    """Goals with the attempt speak for those without it; where all goals are settled, none is needed."""
    row = at(rw.attempts(tried(goals(*kinds)), k=k, stopped=False), k, kind)
    assert row["estimate"] == pytest.approx(estimate)
    assert row["bound_low"] <= row["estimate"] <= row["bound_high"]


def test_an_attempt_in_error_is_no_attempt_and_inside_the_bounds() -> None:
    """97 goals failed twice and crashed once: the third attempt of none is known."""
    frame = tried(goals((97, [F, F, None]), (3, [T, T, T])))
    frame = frame.with_columns(
        outcome=pl.when(pl.col("attack_success").is_null()).then(pl.lit("error")), num_turns=1, num_judged=1
    )
    row = at(rw.attempts(frame, k=3, stopped=False), 3)
    assert (row["estimate"], row["bound_low"], row["bound_high"]) == (None, pytest.approx(0.03), 1)
    assert row["reason"].startswith("97 attempts without a value left out")


def test_fewer_attempts_at_hard_goals_are_said_to_matter() -> None:
    """Of 20 easy goals with 4 attempts all broke at the second; 20 hard ones have 2: between one half and all."""
    row = at(rw.attempts(tried(goals((20, [F, T, F, T]), (20, [F, F]))), k=4, stopped=False), 4)
    assert (row["bound_low"], row["bound_high"]) == (0.5, 1)
    assert row["estimate"] > 0.8
    assert CAVEAT in row["reason"]
    same = at(rw.attempts(tried(goals((20, [F, T, F, T]), (20, [F, F, F, F]))), k=4), 4)
    assert (same["bound_low"], same["bound_high"], same["estimate"]) == (0.5, 0.5, 0.5)
    assert "bound_low" not in (same["reason"] or "")


def test_loops_that_stopped_have_bounds_as_well() -> None:
    """10 of 30 loops stop at a success by the second attempt, 10 are cut off after one failure: 1/3 to 2/3 by attempt 2."""
    frame = tried(goals((5, [T]), (5, [F, T]), (10, [F]), (10, [F, F, F, F])))
    made = rw.attempts(frame, k=2, stopped=True)
    row = at(made, 2)
    assert (row["bound_low"], row["bound_high"]) == pytest.approx((1 / 3, 2 / 3))
    assert CAVEAT in row["reason"]
    assert at(made, 2, "pass^k")["bound_low"] is None


@pytest.mark.integration
@given(
    st.lists(st.lists(st.sampled_from([T, F, None]), min_size=1, max_size=3), min_size=1, max_size=4), st.integers(1, 3)
)
def test_the_bounds_are_sharp(drawn: list[list[bool | None]], k: int) -> None:
    """All worlds of the unknown and the lacking attempts up to k: the share is never outside, and each bound is reached."""
    frame = tried({f"g{i}": values for i, values in enumerate(drawn)})
    made = rw.attempts(frame, k=k, stopped=False)
    places = [(i, j) for i, values in enumerate(drawn) for j in range(max(k, len(values)))
              if j >= len(values) or values[j] is None]  # fmt: skip
    if len(places) > 8:
        return
    found: dict[str, list[float]] = {"asr@k": [], "pass^k": []}
    for world in product((T, F), repeat=len(places)):
        whole = [values + [None] * (k - len(values)) for values in drawn]
        for (i, j), value in zip(places, world, strict=True):
            whole[i][j] = value
        complete = rw.attempts(tried({f"g{i}": values for i, values in enumerate(whole)}), k=k, stopped=False)
        for kind, shares in found.items():
            shares.append(at(complete, k, kind)["estimate"])
    for kind, shares in found.items():
        row = at(made, k, kind)
        assert (row["bound_low"], row["bound_high"]) == (pytest.approx(min(shares)), pytest.approx(max(shares)))


@pytest.mark.slow
@pytest.mark.parametrize(("of_hard", "of_easy"), [(2, 8), (8, 2), (0, 0)], ids=["few at hard", "few at easy", "any"])
def test_the_share_is_covered_or_bounded_with_a_reason(of_hard: int, of_easy: int) -> None:
    """ASR@5 and ASR@8 of 40 goals with unequal attempts: inside the interval, or inside the bounds that the reason names."""
    rng, repetitions = np.random.default_rng(23), repeated(300)
    chances = rng.beta(0.3, 2.0, 200_000)
    truth = {k: float((1 - (1 - chances) ** k).mean()) for k in (5, 8)}
    held = dict.fromkeys(truth, 0)
    for _ in range(repetitions):
        drawn = rng.beta(0.3, 2.0, 40)
        sizes = np.where(drawn < 0.1, of_hard, of_easy) if of_hard else rng.integers(1, 9, 40)
        frame = tried(
            {f"g{i}": (rng.random(size) < q).tolist() for i, (q, size) in enumerate(zip(drawn, sizes, strict=True))}
        )
        made = rw.attempts(frame, k=(5, 8), stopped=False)
        for k, share in truth.items():
            row = at(made, k)
            inside = row["low"] is not None and row["low"] <= share <= row["high"]
            # The bounds are of these goals, without sampling error.
            of_these = float((1 - (1 - drawn) ** k).mean())
            slack = 2 * np.sqrt(of_these * (1 - of_these) / 40)
            bounded = (
                "bound_high" in (row["reason"] or "") and row["bound_low"] - slack <= share <= row["bound_high"] + slack
            )
            held[k] += bool(inside or bounded)
    for number in held.values():
        assert number / repetitions >= 0.94 - 2 * np.sqrt(0.95 * 0.05 / repetitions)
