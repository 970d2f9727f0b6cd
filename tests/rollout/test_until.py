# mypy: allow-untyped-defs, no-check-untyped-defs, allow-untyped-calls
"""Rules that stop: when they do, that errors never help them, and that what they stop with covers."""

import asyncio
import heapq
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special
from simulations import repeated

from rollwise.errors import ArgumentError
from rollwise.rollout import Above, Below, Precision, run
from rollwise.rollout.stopping import Decision, Endless, Watch, family_means
from rollwise.stats.sequential import beta_binomial_sequence, empirical_bernstein_sequence

RULES = [Precision("x", 0.1), Below("x", 0.3), Above("x", 0.2), Precision("x", 0.2, level=0.8), Endless("x")]


def drawn(rate, n, seed=0):
    return (np.random.default_rng(seed).random(n) < rate).tolist()


# ── when they stop ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize("threshold", [0.01, 0.05])
def test_below_stops_at_the_first_moment(threshold):
    """Without a success it stops at the first n whose one-sided upper end lies below the threshold, and not before."""
    n = np.arange(1, 2001)
    first = n[beta_binomial_sequence(0 * n, n, side="high")[1] < threshold][0]
    decision = Below("attack_success", threshold).decide([False] * 2000)
    assert decision.stopped_at == decision.n == first
    assert decision.high < threshold
    assert (decision.low, decision.estimate, decision.n_unknown) == (0.0, 0.0, 0)
    assert decision.method == "one-sided beta-binomial confidence sequence"
    assert Above("robustness", 1 - threshold).decide([True] * 2000).stopped_at == first


def test_precision_stops_at_the_first_moment():
    """It stops at the first n at which all intervals so far have no more than twice the half-width in common."""
    values = drawn(0.2, 2000)
    n = np.arange(1, 2001)
    low, high = beta_binomial_sequence(np.cumsum(values), n)
    low, high = np.maximum.accumulate(low), np.minimum.accumulate(high)
    width, mean = high - low, np.cumsum(values) / n
    decision = Precision("attack_success", half_width=0.05).decide(values)
    assert decision.stopped_at == n[(width <= 0.1) & (low <= mean) & (mean <= high)][0]
    assert decision.high - decision.low <= 0.1
    assert decision.estimate == pytest.approx(np.mean(values[: decision.n]))


def test_scores_are_followed_as_scores():
    """Numbers take the empirical-Bernstein sequence, which knows a steady score sooner than a share."""
    values = (0.3 + 0.02 * np.random.default_rng(0).standard_normal(3000)).clip(0, 1).tolist()
    decision = Precision("harm", 0.05).decide(values)
    low, high = empirical_bernstein_sequence(values)
    width = np.minimum.accumulate(high) - np.maximum.accumulate(low)
    assert decision.stopped_at == 1 + int(np.flatnonzero(width <= 0.1)[0])
    assert decision.stopped_at < Precision("x", 0.05).decide(drawn(0.3, 3000)).stopped_at / 3
    assert decision.method == "empirical-Bernstein confidence sequence"
    assert Below("harm", 0.4).decide(values).method == "one-sided empirical-Bernstein confidence sequence"


def test_what_is_known_too_little_of_goes_on():
    """Without enough observations there is no decision, and the interval so far stands in it."""
    assert Below("x", 0.01).decide([]) == Decision(metric="x", level=0.95, method="none")
    decision = Below("x", 0.01).decide([False] * 100)
    assert decision.stopped_at is None
    assert (decision.n, decision.estimate) == (100, 0.0)
    assert 0.01 < decision.high < 0.06


@pytest.mark.integration
@given(st.lists(st.sampled_from([True, False, None]), max_size=150), st.sampled_from(RULES), st.data())
def test_portions_change_nothing(values, rule, data):
    """Observations one at a time, in any portions or all at once: the same decision, and it is the last word."""
    whole, watch, place = rule.decide(values), Watch(rule), 0
    decision = watch.add([])
    while place < len(values):
        size = data.draw(st.integers(1, 40))
        decision = watch.add(values[place : place + size])
        place += size
    assert decision == whole
    if decision.stopped_at is not None:
        assert watch.add([True, None, False] * 100) == decision
        assert rule.decide(values[: decision.stopped_at]) == decision


@pytest.mark.integration
@given(st.lists(st.none() | st.floats(0, 1), max_size=80), st.sampled_from(RULES), st.integers(1, 20))
def test_portions_of_scores_change_nothing(values, rule, size):
    """So it is with scores."""
    watch = rule.watch()
    decision = watch.add([])
    for place in range(0, len(values), size):
        decision = watch.add(values[place : place + size])
    assert decision == rule.decide(values)


def test_a_stream_that_drifts_is_never_stopped():
    """All failures first and all successes last leave no rate in common: no precision is claimed, neither then nor on the way."""
    decision = Precision("x", 0.05).decide([False] * 40 + [True] * 400)
    assert decision.stopped_at is None
    assert decision.low > decision.high


# ── errors ────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@given(st.lists(st.booleans(), min_size=1, max_size=300), st.data())
def test_the_unknown_never_helps(values, data):
    """Whatever an unknown value may have been, no rule stops sooner with it than with either."""
    place = data.draw(st.integers(0, len(values) - 1))
    for rule in RULES[:4]:
        unknown, success, failure = (
            rule.decide([*values[:place], value, *values[place + 1 :]]) for value in (None, True, False)
        )
        for known in (success, failure):
            assert (unknown.stopped_at or np.inf) >= (known.stopped_at or np.inf)
            if not unknown.stopped_at and not known.stopped_at:
                assert unknown.low <= known.low
                assert unknown.high >= known.high


def test_the_unknown_counts_at_either_bound():
    """Three unknown of a hundred: the lower end is that of failures, the upper end that of successes."""
    values = [*drawn(0.3, 97), None, None, None]
    hits = sum(bool(value) for value in values)
    decision = Endless("x").decide(values)
    low, high = beta_binomial_sequence([hits, hits + 3], [100, 100])
    assert decision.low >= low[0]
    assert decision.high <= high[1]
    assert decision.n_unknown == 3
    assert decision.estimate == pytest.approx(hits / 97)
    assert Endless("x").decide([None] * 50) == Decision(metric="x", n=50, n_unknown=50, level=0.95, method="none")
    assert Endless("x").decide([float("nan"), 0.5]).n_unknown == 1


@pytest.mark.integration
def test_a_tenth_of_errors_leaves_no_precision():
    """With a tenth of the goals errored nothing is known to ±.03, however long it runs."""
    values = [None if at % 10 == 0 else value for at, value in enumerate(drawn(0.3, 20_000))]
    assert Precision("x", 0.03).decide(values).stopped_at is None
    assert Precision("x", 0.08).decide(values).stopped_at is not None


# ── options ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Precision("x", 0.0), "half_width=0.0"),
        (lambda: Precision("x", half_width=3), "half_width=3; give a number between 0 and 0.5"),
        (lambda: Below("x", 1.0), "Below: threshold=1.0"),
        (lambda: Above("x", -0.1), "Above: threshold=-0.1"),
        (lambda: Below("x", 0.01, level=95), "level=95; give a number between 0 and 1"),
        (lambda: Below("x", 0.01).decide([True, 0.5]), "now a Boolean and now a number"),
        (lambda: Below("x", 0.01).decide(["yes"]), "`x` is of type str; a rule needs a Boolean"),  # type: ignore[list-item]
        (lambda: Below("x", 0.01).decide([0.5, 3.0]), "`x` is 3; .* within 0 and 1, so rescale it"),
    ],
)
def test_what_makes_no_sense_is_refused(make, sentence):
    """A rule that cannot be met, and an observation that is no rate, are refused in a sentence."""
    with pytest.raises(ArgumentError, match=sentence):
        make()


def test_rules_are_values():
    """Rules compare, hash and print as what they are."""
    assert Precision("x", 0.03) == Precision("x", half_width=0.03)
    assert len({Below("x", 0.01), Below("x", 0.01), Above("x", 0.01)}) == 2
    assert repr(Below("x", 0.01)) == "Below(metric='x', level=0.95, threshold=0.01)"


# ── that what they stop with covers ───────────────────────────────────────────────────────────────────────────────────
def covers(hits, repetitions, least):
    """Whether so many hits are at least this coverage, give or take two Monte Carlo errors."""
    return hits / repetitions >= least - 2 * np.sqrt(least * (1 - least) / repetitions)


def in_order_of_completion(rng, rate, goals, workers):
    """Successes as drawn, and the order in which so many workers complete them: a success takes a tenth of the time."""
    succeeded = rng.random(goals) < rate
    seconds = np.where(succeeded, 1.0, 10.0) * rng.uniform(0.5, 1.5, goals)
    busy = []
    order = []
    for goal in range(goals):
        if len(busy) == workers:
            now, done = heapq.heappop(busy)
            order.append(done)
        else:
            now = 0.0
        heapq.heappush(busy, (now + seconds[goal], goal))
    order += [goal for _, goal in sorted(busy)]
    return succeeded, np.array(order)


@pytest.mark.integration
def test_the_first_to_complete_are_those_that_succeed():
    """At a true rate of .10 most of the first ten of 64 at once to complete are successes: never their order."""
    rng, first = np.random.default_rng(1), []
    for _ in range(400):
        succeeded, order = in_order_of_completion(rng, 0.1, 300, 64)
        first.append(succeeded[order[:10]].mean())
    assert 0.5 < np.mean(first) < 0.8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "rate", "goals", "repetitions"),
    [(Precision("x", 0.06), 0.1, 1200, 600), (Precision("x", 0.1), 0.5, 1200, 600), (Above("x", 0.2), 0.1, 500, 300)],
)
def test_stopped_intervals_cover_in_drawn_order_only(rule, rate, goals, repetitions):
    """Stopped intervals cover .95 where goals are followed as drawn; followed as completed, a rate of .10 passes for above .20."""
    rng, repetitions = np.random.default_rng(2), repeated(repetitions)
    drawn_hits = completed_hits = stopped = 0
    for _ in range(repetitions):
        succeeded, order = in_order_of_completion(rng, rate, goals, 64)
        as_drawn, as_completed = (rule.decide(values.tolist()) for values in (succeeded, succeeded[order]))
        drawn_hits += as_drawn.low <= rate <= as_drawn.high
        completed_hits += as_completed.low <= rate <= as_completed.high
        stopped += as_drawn.stopped_at is not None
    print(  # noqa: T201
        f"{rule}: stopped {stopped / repetitions:.2f}, covers {drawn_hits / repetitions:.3f} as drawn, "
        f"{completed_hits / repetitions:.3f} as completed"
    )
    assert covers(drawn_hits, repetitions, 0.95)
    assert completed_hits <= 0.2 * repetitions


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.01, 0.02])
def test_below_is_wrong_as_seldom_as_it_says(rate):
    """Where the rate is not below .01 it stops in at most .05 of campaigns; where it is, it does stop."""
    rng, repetitions, rule = np.random.default_rng(3), repeated(300), Below("x", 0.01)
    wrong = sum(rule.decide((rng.random(1000) < rate).tolist()).stopped_at is not None for _ in range(repetitions))
    print(f"Below .01 at a rate of {rate}: stopped {wrong / repetitions:.3f}")  # noqa: T201
    assert covers(repetitions - wrong, repetitions, 0.95)
    right = sum(rule.decide((rng.random(2000) < 0.001).tolist()).stopped_at is not None for _ in range(50))
    assert right >= 48


@pytest.mark.slow
def test_a_fixed_interval_that_stops_does_not_cover():
    """Stopped by its own width, or as soon as it looks good, an interval of fixed n misses the truth far too often."""
    rng, repetitions, rate = np.random.default_rng(4), repeated(2000), 0.1
    n, z2 = np.arange(1, 1501), special.ndtri(0.975) ** 2
    hits = np.cumsum(rng.random((repetitions, n.size)) < rate, axis=1)
    upper = (hits + z2 / 2 + np.sqrt(z2 * (hits * (n - hits) / n + z2 / 4))) / (n + z2)
    wrong = np.mean((upper < rate).any(axis=1))
    rule = Below("x", rate)
    ours = np.mean([rule.decide(row.tolist()).stopped_at is not None for row in np.diff(hits[:300], prepend=0) > 0])
    print(f"a rate of .10 passes for below .10: Wilson {wrong:.3f}, Below {ours:.3f}")  # noqa: T201
    assert wrong > 0.15
    assert ours <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 300)


@pytest.mark.slow
def test_real_campaigns_cover():
    """Real campaigns at 32 at once, whose successes finish sooner and some of whose goals err, stop with covering intervals."""
    rule, repetitions, rate, hits, sizes = Precision("x", 0.12), repeated(120), 0.3, 0, []
    outcomes = np.random.default_rng(6)

    for _ in range(repetitions):
        succeeds, errs = outcomes.random(600) < rate, outcomes.random(600) < 0.02

        async def rollout(goal, succeeds=succeeds, errs=errs):
            await asyncio.sleep(0.0005 if succeeds[goal] else 0.003)
            if errs[goal]:
                raise ConnectionError
            return bool(succeeds[goal])

        def observe(found):
            return found.graph

        runs = run(
            rollout,
            range(600),
            max_concurrency=32,
            on_error="record",
            until=rule,
            observe=observe,
            progress=False,
        )
        decision = rule.decide([None if each.error else each.graph for each in runs])
        assert decision.stopped_at == len(runs) < 600
        hits += decision.low <= rate <= decision.high
        sizes.append(len(runs))
    print(f"real campaigns: cover {hits / repetitions:.3f}, {np.mean(sizes):.0f} goals on average")  # noqa: T201
    assert covers(hits, repetitions, 0.95)


@pytest.mark.integration
def test_order_of_completion_never_matters():
    """However long each goal takes, the same goals stop the campaign."""
    values = drawn(0.3, 400)
    rule, found = Precision("x", 0.15), set()
    for slow, workers in itertools.product([True, False], [1, 20]):

        async def rollout(goal, slow=slow):
            await asyncio.sleep(0.002 if values[goal] == slow else 0)
            return values[goal]

        runs = run(
            rollout, range(400), max_concurrency=workers, until=rule, observe=lambda each: each.graph, progress=False
        )
        found.add(len(runs))
    assert found == {rule.decide(values).stopped_at}


@pytest.mark.integration
def test_a_rule_measures_one_metric_of_each_rollout_once(monkeypatch) -> None:
    """The others are measured when all is done, of all rollouts at once; what the rule says is what they give."""
    from rollwise import measure
    from rollwise import metrics as m
    from rollwise.rollout import FrameEvaluator, SimulatedSampler

    measured = []

    def counting(turns, *metrics):
        measured.append(len(metrics))
        return measure(turns, *metrics)

    monkeypatch.setattr("rollwise.rollout.evaluators.frames.measure", counting)
    evaluator = FrameEvaluator(
        SimulatedSampler(hazard=0.2, turns=3), range(30), metrics=[m.attack_success, m.refusal_rate]
    )
    rule = Precision("attack_success", half_width=0.01)
    evaluator.evaluate(progress=False, until=rule)
    assert measured == [1] * 30 + [2]
    assert evaluator.decision == rule.decide(evaluator.rollouts["attack_success"].to_list())


def test_families_are_one_observation_each():
    """Means in the order of first appearance; one unknown goal makes its family unknown; lengths must agree."""
    assert family_means([True, 0.25, False, True, None], [1, 2, 1, 3, 3]) == [0.5, 0.25, None]
    assert Below("attack_success", 0.5).decide(family_means([False] * 50, range(50))).stopped_at
    with pytest.raises(ArgumentError, match="2 observations but 1 family; give one family for each observation"):
        family_means([True, False], ["a"])


@pytest.mark.slow
def test_ten_thousand_looks_at_related_goals():
    """10,000 goals, families of five, intraclass correlation .5: one by one half of the streams exclude the truth, families few."""
    rng, streams, rate = np.random.default_rng(0), repeated(400), 0.2
    held = alone = 0
    for _ in range(streams):
        chances = rng.beta(rate, 1 - rate, 2000)  # a precision of 1 is a correlation of .5
        goals = rng.random((2000, 5)) < chances[:, None]
        low, high = beta_binomial_sequence(np.cumsum(goals.ravel()), np.arange(1, 10_001))
        alone += bool(np.all((low <= rate) & (rate <= high)))
        families = family_means(goals.ravel().tolist(), np.repeat(np.arange(2000), 5).tolist())
        low, high = empirical_bernstein_sequence(families)
        held += bool(np.all((low <= rate) & (rate <= high)))
    assert alone / streams < 0.7
    assert held / streams >= 0.95 - 2 * (0.95 * 0.05 / streams) ** 0.5
