"""Course of simulated rollouts, drawn as whole arrays: one array per event, over all rollouts and turns."""

from dataclasses import dataclass

import numpy as np

from rollwise import schema
from rollwise.rollout.simulation.design import BoolArray, Design, FloatArray, Group, IntArray, beta_quantile, stream
from rollwise.schema import ENDINGS, OUTCOMES

ENDING = {word: code for code, word in enumerate(ENDINGS.categories)}
OUTCOME = {word: code for code, word in enumerate(OUTCOMES.categories)}
NOTHING = -1  # the code of null


@dataclass(frozen=True, slots=True)
class Course:
    """The rollouts of a group: arrays with one value per rollout (up to `length`), then arrays with one value per turn."""

    goal: IntArray
    task: IntArray
    attempt: IntArray
    ending: IntArray
    outcome: IntArray
    solved: IntArray
    length: IntArray
    crashed: BoolArray
    judged: BoolArray
    succeeded: BoolArray
    true_succeeded: BoolArray


def attacked(design: Design, group: Group) -> Course:
    """Return the attempts goal by goal, each up to the first event that ends it."""
    goal, task, attempt = planned(design, group)
    hazard = hazards(design, group, goal, task)
    shape = hazard.shape
    # Every event is drawn for every turn, also after the end, so that an option does not change the draws of another.
    true = design.draw(group, "success").random(shape) < hazard
    verdict = _verdicts(design, group, true)
    crash = _happens(design, group, "error", shape)
    unjudged = _happens(design, group, "unjudged", shape)
    heard = verdict & ~unjudged
    stop = heard if design.stop_on_success else np.zeros(shape, dtype=bool)
    give_up = _happens(design, group, "give_up", shape)
    target_ends = _happens(design, group, "target_ends", shape)

    length, (crashed, stopped, gave_up, shut) = _until(crash, stop, give_up, target_ends)
    # The order of the conditions is the order of the events within a turn.
    ending = np.select(
        [crashed, stopped, gave_up, shut],
        [ENDING[schema.ERROR], ENDING[schema.SUCCESS], ENDING[schema.GAVE_UP], ENDING[schema.TARGET_ENDED]],
        ENDING[schema.BUDGET],
    )
    reached = np.arange(design.turns) < length[:, None]
    won = np.any(reached & heard & ~crash, axis=1)
    gap = np.logical_or.accumulate(reached & unjudged & ~crash, axis=1)
    # A success after an unjudged turn may not have been the first one: with an outcome, its time would count as known,
    # which would bias the curve.
    won_at_known_turn = np.any(reached & heard & ~crash & ~gap, axis=1)
    outcome = np.select(
        [won_at_known_turn, won, crashed, gap[:, -1]],
        [OUTCOME[schema.SUCCESS], NOTHING, OUTCOME[schema.ERROR], NOTHING],
        OUTCOME[schema.FAILURE],
    )
    is_made = _until_won(won, attempt) if design.attempts_stop_on_success else np.ones(won.shape, dtype=bool)
    # The turns of the table: up to the end of each rollout, of rollouts that were made at all.
    flat = reached & is_made[:, None]
    return Course(
        goal=goal[is_made],
        task=task[is_made] if design.tasks else np.full(is_made.sum(), NOTHING),
        attempt=attempt[is_made],
        ending=ending[is_made],
        outcome=outcome[is_made],
        solved=_solved(design, group, task, crashed)[is_made] if design.tasks else np.full(is_made.sum(), NOTHING),
        length=length[is_made],
        crashed=crash[flat],
        judged=~(unjudged | crash)[flat],
        succeeded=verdict[flat],
        true_succeeded=true[flat],
    )


def benign(design: Design, group: Group) -> Course:
    """Return benign rollouts of the tasks in turn, each with a random number of turns, unless it crashes."""
    number = np.arange(design.benign)
    tasks = design.tasks or design.benign
    # A user without an attack stops after a random number of turns; only an error ends earlier.
    planned = design.draw(group, "length").integers(design.turns, size=design.benign)
    done = np.arange(design.turns) == planned[:, None]
    crash = _happens(design, group, "error", done.shape)
    length, (crashed, _) = _until(crash, done)
    flat = np.arange(design.turns) < length[:, None]
    never = np.zeros(flat.sum(), dtype=bool)
    return Course(
        goal=np.full(design.benign, NOTHING),
        task=number % tasks,
        attempt=number // tasks + 1,
        ending=np.where(crashed, ENDING[schema.ERROR], ENDING[schema.FINISHED]),
        outcome=np.full(design.benign, NOTHING),
        solved=_solved(design, group, number % tasks, crashed),
        length=length,
        crashed=crash[flat],
        judged=never,
        succeeded=never,
        true_succeeded=never,
    )


def planned(design: Design, group: Group) -> tuple[IntArray, IntArray, IntArray]:
    """Return goal, task and number of each attempt."""
    low, high = design.attempts
    tasks = max(design.tasks, 1)
    num_attempts = design.draw(group, "attempts").integers(low, high + 1, size=design.goals_of(group) * tasks)
    pair = np.repeat(np.arange(num_attempts.size), num_attempts)
    attempt = np.arange(1, pair.size + 1) - (np.cumsum(num_attempts) - num_attempts)[pair]
    return pair // tasks, pair % tasks, attempt  # `pair` numbers the combinations of goal and task


def hazards(design: Design, group: Group, goal: IntArray, task: IntArray) -> FloatArray:
    """Return the hazard of each turn of each rollout."""
    mean = design.hazards(group)
    peak = float(mean.max())
    share, icc = design.mixture
    # The ranks belong to the goal and the task alone: a hard goal is hard for every target and attack.
    level = np.zeros(goal.shape)
    if share > 0:
        rank = stream(design.seed, "goals", group.category).random(design.goals_of(group))
        level += share * beta_quantile(rank, peak, icc)[goal]
    if share < 1:
        rank = stream(design.seed, "tasks").random(design.tasks)
        level += (1 - share) * beta_quantile(rank, peak, icc)[task]
    return np.asarray(np.multiply.outer(level, mean / peak if peak else mean))


def _happens(design: Design, group: Group, option: str, shape: tuple[int, ...]) -> BoolArray:
    """Draw whether an event happens in each turn, with the probability given by the option of this name."""
    probability = getattr(design, option)
    if probability == 0:
        return np.zeros(shape, dtype=bool)
    return np.asarray(design.draw(group, option).random(shape) < probability)


def _verdicts(design: Design, group: Group, true: BoolArray) -> BoolArray:
    if design.judge is None:
        return true
    sensitivity, specificity = design.judge
    uniform = design.draw(group, "judge").random(true.shape)
    return np.asarray(uniform < np.where(true, sensitivity, 1 - specificity))


def _until(*endings: BoolArray) -> tuple[IntArray, list[BoolArray]]:
    """Return the number of turns up to the first of the endings (rollout, turn), and the endings of that turn."""
    ends = np.logical_or.reduce(endings)
    last = np.where(ends.any(axis=1), ends.argmax(axis=1), ends.shape[1] - 1)
    return last + 1, [ending[np.arange(last.size), last] for ending in endings]


def _until_won(won: BoolArray, attempt: IntArray) -> BoolArray:
    """Mark the attempts up to and including the first success at their goal and task."""
    # Compare the successes so far with those before the first attempt at the same goal and task.
    before: IntArray = np.cumsum(won) - won
    first = np.flatnonzero(attempt == 1)
    return np.asarray(before == np.repeat(before[first], np.diff(first, append=won.size)))


def _solved(design: Design, group: Group, task: IntArray, crashed: BoolArray) -> IntArray:
    """Return whether each rollout completed the user's task; unknown if it crashed."""
    rank = stream(design.seed, "utility").random(design.tasks or design.benign)
    chance = beta_quantile(rank, design.utility, design.icc_task)[task]
    return np.where(crashed, NOTHING, design.draw(group, "solved").random(task.size) < chance)
