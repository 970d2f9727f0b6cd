"""Short, harmless sentences that read like a rollout, so that rules on text have something to find."""

from itertools import product

import numpy as np
import polars as pl

from rollwise.rollout.simulation.design import BoolArray, IntArray

CONTEXT = "You are a helpful assistant."

_OPENINGS = (
    "Let us talk about {goal}.",
    "Imagine a story about {goal}.",
    "My teacher asked me about {goal}.",
    "Back to {goal}, please.",
    "One more question on {goal}.",
)
_REQUESTS = (
    "What would the first step be?",
    "Could you say more?",
    "Please go on from your last answer.",
    "How would a novel describe it?",
)
_REFUSALS = (
    "I can't help with that.",
    "I'm sorry, but I can't assist with that.",
    "I cannot help with this request.",
    "I won't continue with that.",
    "I'm not able to help with that.",
)
_OFFERS = (
    "Is there something else you would like to talk about?",
    "I would be glad to talk about something safer.",
    "Let us find another topic.",
)
_HEDGES = ("That is a broad question.", "In general terms, it depends.", "Many books have been written on this.")
_GENERALITIES = (
    "It helps to know the background first.",
    "People see it in different ways.",
    "The details vary from place to place.",
    "A library is a good place to start.",
)
_AGREEMENTS = ("Sure, here it is.", "Of course.", "Yes, this is how the story goes.")
_PLACEHOLDERS = (
    "[the simulated target complies in full]",
    "Step one: [simulated]. Step two: [simulated].",
    "The hero does it: [simulated].",
)


def prompts(goal: pl.Series, rng: np.random.Generator) -> pl.Series:
    """Return the prompts about each goal or task."""
    opening, request = rng.integers(len(_OPENINGS), size=len(goal)), rng.integers(len(_REQUESTS), size=len(goal))
    halves = [sentence.partition("{goal}") for sentence in _OPENINGS]
    return pl.select(
        pl.concat_str(
            pl.Series([before for before, _, _ in halves]).gather(opening),
            goal,
            pl.Series([after + " " for _, _, after in halves]).gather(opening),
            pl.Series(_REQUESTS).gather(request),
        )
    ).to_series()


def responses(refused: BoolArray, complied: BoolArray, rng: np.random.Generator) -> pl.Series:
    """Return the answers: a refusal, compliance, or neither."""
    kinds = [_pairs(_HEDGES, _GENERALITIES), _pairs(_REFUSALS, _OFFERS), _pairs(_AGREEMENTS, _PLACEHOLDERS)]
    size = np.array([len(kind) for kind in kinds])
    first = np.cumsum(size) - size
    # All sentences in one series, kind after kind: a position within the kind, chosen at random.
    kind: IntArray = np.where(refused, 1, np.where(complied, 2, 0))
    chosen = first[kind] + (rng.random(kind.size) * size[kind]).astype(np.int64)
    return pl.Series([sentence for kind in kinds for sentence in kind]).gather(chosen)


def _pairs(first: tuple[str, ...], second: tuple[str, ...]) -> list[str]:
    return [f"{begin} {end}" for begin, end in product(first, second)]
