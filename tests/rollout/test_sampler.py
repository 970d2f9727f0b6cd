"""Samplers: what a seed is, and what is a sampler."""

import numpy as np
import pytest

import rollwise as rw
from rollwise.errors import ArgumentError
from rollwise.rollout import Graph, Node, Rollout, RolloutError, Sampler, Turn, flatten
from rollwise.rollout.sampler import outcome
from rollwise.rollout.seeds import goal_and_attempt


class Echo(Sampler[str, str]):
    """As on the seed pages: `rollout` alone."""

    def rollout(self, seed: int | None = None) -> Graph[str, str]:
        """The seed, said."""
        return Graph("", [Node("", "say it", repr(seed), 0.0, [])])


def said(graph):
    return graph.children[0].response


@pytest.mark.parametrize(("seed", "heard"), [(0, "0"), (7, "7"), (-3, "-3"), (None, "None"), (np.int64(0), "0")])
def test_numbers_and_none_go_to_rollout(seed: object, heard: str) -> None:
    """Without an eval_rollout of its own a sampler gets whole numbers and None as they are, 0 included."""
    assert said(Echo().eval_rollout(seed)) == heard


@pytest.mark.parametrize("seed", ["0", 0.0, True, ("a", 1)])
def test_other_seeds_are_refused_in_a_sentence(seed: object) -> None:
    """Any other seed names the class, the seed, and what to do."""
    with pytest.raises(ArgumentError, match=r"^Echo: the seed .* give it one that takes a \w+$"):
        Echo().eval_rollout(seed)


def test_system_is_kept() -> None:
    """The pages reach for sampler.system; a subclass with an __init__ of its own need not call ours."""
    system = object()
    assert Echo(system).system is system
    assert Echo().system is None


def test_rollout_is_abstract() -> None:
    """A sampler without rollout cannot be made."""
    with pytest.raises(TypeError, match="abstract"):
        Sampler()  # type: ignore[abstract]


def test_whatever_has_both_methods_is_a_sampler() -> None:
    """A class that inherits from nothing is a sampler if it has both methods, and a subclass of ours is not by that alone."""

    class Duck:
        def rollout(self, seed=None): ...

        def eval_rollout(self, seed=None): ...

    class Half:
        def rollout(self, seed=None): ...

    assert isinstance(Duck(), Sampler)
    assert not isinstance(Half(), Sampler)
    assert not isinstance(Duck(), Echo)


@pytest.mark.parametrize(
    ("seed", "named"),
    [
        (None, (None, None)),
        ("a", ("a", None)),
        (0, (0, None)),
        (np.uint8(3), (3, None)),
        (("a", 2), ("a", 2)),
        ([0, 1], (0, 1)),
        ("ab", ("ab", None)),
        ("", None),
        (-1, None),
        (True, None),
        (1.0, None),
        (("a", 0), None),
        (("a", "b"), None),
        ((None, 1), None),
        ((("a", 1), 2), None),
        (("a", 1, 2), None),
        ({"goal": "a"}, None),
    ],
)
def test_seeds_name_goals_and_attempts(seed: object, named: object) -> None:
    """A seed is a text, a number from 0, None, or a pair of a goal and an attempt from 1, as JSON gives it back too."""
    assert goal_and_attempt(seed) == named


def turns(*verdicts: bool | None) -> list[Turn]:
    return [Turn(None, "p", "r", None, [], succeeded=verdict) for verdict in verdicts]


@pytest.mark.parametrize(
    ("verdicts", "crashed", "settled"),
    [
        ((), False, "failure"),
        ((), True, "error"),
        ((False, False), False, "failure"),
        ((False,), True, "error"),
        ((False, True), False, "success"),
        ((True,), True, "success"),
        ((None, False), False, None),
        ((None,), True, "error"),
        ((None, True), False, None),
        ((None, True), True, None),
        ((True, None), False, "success"),
    ],
)
def test_the_outcome_says_no_more_than_the_verdicts(verdicts, crashed: bool, settled: str | None) -> None:
    """One True settles a rollout if nothing before it is unjudged; a crash is an error unless the success came first."""
    assert outcome(turns(*verdicts), crashed=crashed) == settled


def test_rollouts_flatten_like_any_graph() -> None:
    """Turns follow one another as first children, and `flatten` reads them."""
    rollout = Rollout("be kind", [], goal="g")
    rollout.follow(turns(False, None, True))
    assert [turn.succeeded for turn in rollout.turns] == [False, None, True]
    frame = flatten(rollout)
    assert frame["turn"].to_list() == [1, 2, 3]
    assert frame["context"].to_list() == ["be kind", None, None]
    rollout.follow([])
    assert rollout.turns == rollout.children == []


def test_an_error_keeps_the_turns_before_it() -> None:
    """A RolloutError is one of the family, and carries the graph as far as it went."""
    graph = Rollout("", [])
    error = RolloutError("it broke", graph)
    assert isinstance(error, rw.errors.RollwiseError)
    assert (str(error), error.graph) == ("it broke", graph)
    assert RolloutError("it broke").graph is None
