"""Verdicts in people's own columns: used where they are beyond doubt, asked about where they are not, and never guessed.

A verdict needs a name and values that are both known. It is in doubt if its name is said of other things as well, if it may be a
label of the prompt, if it is the same on all rows of a name that says little, if a word of it is not known, if another column
says otherwise, or if totals of the file contradict it; totals that it reproduces make it sure.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from rollwise.readers.roles.columns import Column, Table
from rollwise.readers.roles.names import (
    JUDGED,
    OF_ATTACKS,
    OF_PROMPTS,
    OF_TASKS,
    Claim,
    is_negative,
    is_strong,
    may_be_of_prompts,
    says_refusal,
    words_of,
)
from rollwise.readers.roles.totals import statement_of_totals
from rollwise.readers.roles.values import MOST_WORDS, are_models
from rollwise.readers.roles.words import Word, normal, word

ASK = "?"
ON_ATTACKS = frozenset({"succeeded", "outcome"})  # columns of TURNS with verdicts on the attack
_NO_VERDICTS = frozenset(
    {"id", "task", "target", "prompt", "response", "content", "error", "attempt", "turn", "moment", "reference", "other", "cost",
     "tokens", "seconds", "ending", "category", "goal"}
)  # fmt: skip
_FEW = 3  # rows that may all be alike by chance
SAYS_LITTLE = frozenset({"label", "classification", "class", "type", "category"})  # names of labels of prompts as well
_OF_JUDGES = frozenset(
    {"verdict", "judgement", "judgment", "decision", "outcome", "label", "classification", "result", "grade"}
)
_SURELY_ATTACKS = frozenset(
    {"asr", "jailbreak", "jailbroken", "attack", "attacks", "adversarial", "victim", "injection", "redteam"}
)
# Words that say little of whose a success is: of security and code alike, or of any evaluation.
_LOOSELY_ATTACKS = frozenset({"vulnerability", "exploit", "technique"})
_OF_HARM = frozenset({"harm", "harmful", "behavior", "behaviour", "malicious", "probe", "probes"})  # or of its absence
_LOOSELY_TASKS = frozenset({"test", "tests", "tool", "tools", "expected", "reference", "steps"})
_BEFORE = frozenset({"initial", "before", "baseline", "original", "pre"})  # words of names of what was before an attack
_COUNTING = frozenset({"total", "n", "num", "count", "number"})
_COUNTED = frozenset(
    {
        "of", "test", "tests", "question", "questions", "sample", "samples", "trials", "runs", "items", "cases",
        "problems",
    }
)  # fmt: skip
MOST_LABELS = 8  # of a column that is asked about


@dataclass
class Verdict:
    """A column that may be a verdict."""

    column: Column
    claim: Claim
    whose: str  # "attack", "task", "either" or "refusal"
    labels: dict[Any, Any]  # what each label means: True, False, None, or "?"
    doubt: str | None = None
    sides: bool = True  # whether its labels say a side at all
    is_contradicted: bool = False  # whether totals in the file are others

    @property
    def is_unknown(self) -> bool:
        """True if the meaning of a label is asked."""
        return ASK in self.labels.values()

    @property
    def is_sure(self) -> bool:
        """True if it is beyond doubt."""
        return self.doubt is None and not self.is_unknown and self.whose != "either"

    @property
    def is_constant(self) -> bool:
        """True if all rows say the same; words that are asked about differ."""
        return len([label for label, side in self.labels.items() if side == ASK] or self._sides) == 1

    @property
    def _sides(self) -> set[Any]:
        return {side for side in self.labels.values() if side is not None}

    @cached_property
    def series(self) -> pl.Series:
        """The verdicts, null where a label is asked about."""
        sides = [None if side == ASK else side for side in self.labels.values()]
        old = pl.Series([*self.labels], dtype=self.column.values.dtype)
        return self.column.values.replace_strict(
            old, pl.Series(sides, dtype=pl.Boolean), default=None, return_dtype=pl.Boolean
        )


def is_open(table: Table, verdict: Verdict) -> bool:
    """Return whether TURNS has no verdict of that kind where the column has one, and the user named none."""
    names = {"attack": ON_ATTACKS, "task": {"solved"}, "refusal": {"refused"}}.get(
        verdict.whose, {*ON_ATTACKS, "solved"}
    )
    if names & table.named:
        return False
    has_label = verdict.column.values.is_not_null()
    return not any(table.holds(name) and (table.frame[name].is_not_null() & has_label).any() for name in names)


# ── what a column says ────────────────────────────────────────────────────────────────────────────────────────────────
def verdict_of(column: Column) -> Verdict | None:
    """Return a column as a verdict, if its name and its values may be one."""
    if not _may_hold_verdicts(column):
        return None
    meanings = {value: word(value) for value in column.distinct}
    kinds = {meaning.whose for meaning in meanings.values()} - {"blank"}
    claim = column.claim or _claimed(column, meanings, kinds)
    if claim is None or not kinds or len(meanings) > 4 * MOST_WORDS:
        return None
    if are_models(value for value, meaning in meanings.items() if meaning.whose == "?"):
        return None  # who judged, or which of two won
    if claim.doubt is not None and column.kind in {"bool", "binary"} and len(column.distinct) == 1:
        return None  # a name of something else beside the same value everywhere says nothing
    if kinds <= {"answer"}:
        return _answered(column, claim, meanings)
    of_run = {"task"} if "completed" in column.distinct else set()
    is_of_run = "status" in column.words and not kinds & ({"attack", "task", "test"} - of_run)
    is_judged = bool(column.words & _OF_JUDGES) if claim.when_true is None else claim.doubt is None
    is_judged &= len(meanings) <= MOST_LABELS and not column.words & OF_PROMPTS
    is_judged &= len(meanings) > 1 or not column.words & {*SAYS_LITTLE, "result"}
    return _worded(column, claim, meanings, kinds) if (is_judged or kinds != {"?"}) and not is_of_run else None


def _may_hold_verdicts(column: Column) -> bool:
    """Return whether the values of a column may be verdicts, and its name does not mean something else."""
    is_total = column.name in column.table.enclosing and column.dtype.is_numeric()
    if column.role in _NO_VERDICTS or not column.has_few or is_total or column.has_votes:
        return False
    if column.kind == "whole":
        return column.role != "score" and len(column.distinct) <= _FEW
    return column.kind in {"bool", "binary", "words", "strings"}


def _claimed(column: Column, meanings: Mapping[Any, Word], kinds: set[str]) -> Claim | None:
    """Return the claim of words of both sides, whatever their column is called."""
    sides = {meaning.side for meaning in meanings.values() if meaning.whose == "attack"}
    if (
        kinds - {"doubt"} == {"attack"}
        and column.role is None
        and sides == {True, False}
        and not column.words & {"question", "prompt", "goal"}
    ):
        return Claim("named", None, "Its name does not say so")
    return None


def _answered(column: Column, claim: Claim, meanings: Mapping[Any, Word]) -> Verdict:
    """Return a column of yes and no, 1 and 0, whose meaning is that of its name."""
    if says_refusal(column.own):
        return Verdict(column, claim, "refusal", {value: meaning.side for value, meaning in meanings.items()})
    labels: dict[Any, Any]
    if claim.when_true is None:
        labels = {value: None if meaning.side is None else ASK for value, meaning in meanings.items()}
        return Verdict(column, claim, "either", labels, claim.doubt, sides=False)
    labels = {
        value: None if meaning.side is None else meaning.side == claim.when_true for value, meaning in meanings.items()
    }
    return Verdict(column, claim, claim.whose, labels, claim.doubt)


def _worded(column: Column, claim: Claim, meanings: Mapping[Any, Word], kinds: set[str]) -> Verdict:
    """Return a column of words, which say themselves what they mean."""
    named = kinds & {"attack", "task"}
    if named == {"attack", "task"}:
        return Verdict(
            column, claim, "either", {value: _question(meaning) for value, meaning in meanings.items()}, claim.doubt
        )
    whose = next(iter(named), "")
    if says_refusal(column.own) and whose == "attack":
        return Verdict(column, claim, "refusal", {value: _turned(meaning) for value, meaning in meanings.items()})
    is_test = "test" in kinds
    if not whose:
        whose = "task" if is_test else claim.whose if claim.when_true is not None else "either"
    # "success" under `defense_result` or `blocked` may be of either side.
    asks_other_side = claim.when_true is False or bool(column.words & {"defense", "defence", "guardrail"})
    labels: dict[Any, Any] = {}
    for value, meaning in meanings.items():
        is_clear = meaning.whose in {"blank", "attack", "task"} or (meaning.whose == "either" and not asks_other_side)
        is_clear |= meaning.whose == "test" and whose == "task"
        labels[value] = meaning.side if is_clear else ASK
        if meaning.whose == "answer" and claim.when_true is not None:
            labels[value] = meaning.side == claim.when_true
        elif kinds & {"?", "doubt"} and normal(value) == "none":  # none at all, beside full and partial
            labels[value] = ASK
    return Verdict(column, claim, whose, labels, claim.doubt, sides=kinds != {"?"})


def _question(meaning: Word) -> bool | str | None:
    return meaning.side if meaning.whose in {"attack", "blank"} else ASK


def _turned(meaning: Word) -> bool | str | None:
    return ASK if meaning.whose in {"doubt", "?"} else None if meaning.side is None else not meaning.side


# ── whose it is, and what is in doubt ─────────────────────────────────────────────────────────────────────────────────
def settle(table: Table, verdict: Verdict) -> None:
    """Say whose a verdict is, by the other names of its file where its own does not, and what is in doubt about it."""
    if verdict.whose == "refusal":
        return
    attack, task = table.words & OF_ATTACKS, table.words & OF_TASKS
    tests = any(word(value).whose == "test" for value in verdict.labels)
    is_generic = verdict.whose == "either"
    total = (
        statement_of_totals(table, verdict.column, verdict.series) if verdict.sides and not verdict.is_unknown else None
    )
    if is_generic and table.of is not None:
        verdict.whose = table.of
        table.claimed.append(verdict.column.name)
        if verdict.claim.doubt is None and not tests:
            return
    elif is_generic and verdict.sides:
        verdict.whose = _explained(table, attack, task, total)
        if verdict.whose == "attack" and _says_what_a_test_says(table, verdict):
            verdict.doubt = DOUBT_OF_TESTS
            return
    speaks_of_attacks = bool(attack) or table.names_refusals
    if verdict.whose == "task" and speaks_of_attacks and verdict.column.words & {"passed", "pass", "ok", "test"}:
        verdict.labels = {value: None if side is None else ASK for value, side in verdict.labels.items()}
        verdict.whose = "attack"  # which got through, or was held off
        return
    if tests and (attack or not (task or verdict.claim.whose == "task")) and table.of != "task":
        labels = verdict.labels.items()  # the attack passed, or the target
        verdict.labels = {value: ASK if word(value).whose in {"test", "either"} else side for value, side in labels}
        verdict.whose = "attack" if table.of == "attack" or attack - _LOOSELY_ATTACKS - _OF_HARM else "either"
        return
    if total is not None:
        verdict.is_contradicted = not total.agrees
        verdict.doubt = None if total.agrees else f"`{total.name}` in the file says another figure"
        return
    if not (is_generic and table.of is not None):  # the user has said what it is
        verdict.doubt = verdict.doubt or next(_doubts(table, verdict, attack, is_generic=is_generic), None)


DOUBT_OF_TESTS = "A test in the file says the same, and the target may have passed it"
DOUBT_OF_PROMPTS = "It may be of the prompt"
DOUBT_OF_CONSTANTS = "It is the same on all rows"


def _says_what_a_test_says(table: Table, verdict: Verdict) -> bool:
    """Return whether another column, of a test that was passed or not, has the same values."""
    tests = (
        column for column in table.columns if column.words & {"pass", "passed"} and column.name != verdict.column.name
    )
    for test in tests:
        if test.dtype == pl.Boolean and verdict.series.dtype == pl.Boolean:
            agrees = test.values == verdict.series
            if agrees.count() and agrees.all():
                return True
    return False


def _explained(table: Table, attack: frozenset[str], task: frozenset[str], total: Any) -> str:
    """Return whose a verdict is by what else the file speaks of; "either" where nothing tells."""
    if total is not None and total.agrees and total.of_attacks:
        return "attack"
    sure, of_tasks = attack - _LOOSELY_ATTACKS, task - _LOOSELY_TASKS
    if sure and (not of_tasks or (attack & _SURELY_ATTACKS and not of_tasks - {"task", "tasks"})):
        return "attack"
    # A goal may be one of attackers.
    is_of_tasks = of_tasks and not attack and not table.holds("goal") and not table.names_refusals
    return "task" if is_of_tasks else "either"


def _doubts(table: Table, verdict: Verdict, attack: frozenset[str], *, is_generic: bool) -> Iterator[str]:
    """Iterate over what is in doubt about a verdict."""
    column, words = verdict.column, verdict.column.words
    if column.name in table.enclosing:
        yield "It is of the object around the records"
    if column.own in {*ON_ATTACKS, "solved"}:  # our own names
        return
    if column.dtype.is_numeric() and (total := _count_beside(table, column)) is not None:
        yield f"It may be a number of the `{total.own}`"
    opposite = next(
        (
            column_beside
            for column_beside in table.columns
            if column_beside is not column and column_beside.has_sides and _says_the_opposite(verdict, column_beside)
        ),
        None,
    )
    if opposite is not None:
        yield f"`{opposite.own}` says the opposite"
    if _may_be_of_prompts(table, verdict):
        yield DOUBT_OF_PROMPTS
    if verdict.whose != "refusal" and words & _BEFORE:
        yield "It may be of what was before the attack"
    if verdict.is_constant and _may_be_of_else(table, verdict, is_generic=is_generic):
        yield DOUBT_OF_CONSTANTS
    if verdict.whose != "attack" or table.texts or words & {"attack", "jailbroken", "jailbreak"}:
        return
    if not attack - words and not table.holds("attack") and not table.holds("goal"):
        yield "Nothing else in the file speaks of attacks"


def _count_beside(table: Table, column: Column) -> Column | None:
    """Return a column that counts what a number may be a part of, such as `total` beside `correct`."""
    for total in table.columns:
        is_count = bool(total.words & _COUNTING) and total.words <= _COUNTING | _COUNTED and total.dtype.is_integer()
        if not is_count or total.name in table.enclosing:
            continue
        if (total.values >= column.values).all() and (total.values > 1).any():
            return total
    return None


def _says_the_opposite(verdict: Verdict, column: Column) -> bool:
    """Return whether the words of another column are on the other side wherever both say something."""
    if verdict.whose != "attack" or verdict.is_unknown:
        return False
    sides = column.values.map_elements(lambda value: word(value).side, return_dtype=pl.Boolean)
    differ = (verdict.series != sides).drop_nulls()
    return len(differ) > _FEW and bool(differ.all())


def _may_be_of_prompts(table: Table, verdict: Verdict) -> bool:
    """Return whether a label may be one of the prompt: by its words, where the prompts do not show that it is not."""
    column = verdict.column
    if verdict.whose == "task":
        return False
    parts = {part for value, side in verdict.labels.items() if side is not None for part in words_of(str(value))}
    are_labels = parts <= OF_PROMPTS | {"not", "non", "no"}
    if verdict.claim.when_true is not None and column.kind in {"bool", "binary"}:
        may_be = may_be_of_prompts(column.own)
    elif not column.words & SAYS_LITTLE and verdict.claim.doubt is None:
        may_be = are_labels and table.holds("prompt") and not table.holds("response")  # an answer to judge is missing
    else:
        may_be = are_labels or _goes_with_prompts(table)
    return may_be and not table.varies_within(column, "prompt")


def _goes_with_prompts(table: Table) -> bool:
    """Return whether prompts repeat, so that a label that never varies within one is a label of it."""
    if not table.holds("prompt"):
        return False
    prompts = table.frame["prompt"].drop_nulls()
    return 3 * prompts.n_unique() < 2 * len(prompts)


def _num_judged(column: Column) -> int:
    """Return how many verdicts a column has: those that records state of their rollout are one for all of its turns."""
    table = column.table
    if column.name not in table.of_rollouts or table.is_single:
        return column.filled
    return table.frame["rollout_id"].filter(column.values.is_not_null()).n_unique()


def _may_be_of_else(table: Table, verdict: Verdict, *, is_generic: bool) -> bool:
    """Return whether a verdict that is the same wherever it is stated may be of something else, or of some rows alone."""
    column, when_true = verdict.column, verdict.claim.when_true
    is_partly = column.filled < table.frame.height and when_true is None
    if _num_judged(column) > _FEW and (is_partly or _needs_to_vary(verdict, is_generic=is_generic)):
        return True
    return column.filled > 1 and is_negative(column.own) and when_true is not None


def _needs_to_vary(verdict: Verdict, *, is_generic: bool) -> bool:
    """Return whether a verdict that is the same on all rows may be of something else."""
    words = verdict.column.words
    if is_generic or words & SAYS_LITTLE or words & {"result", "status"}:
        return True
    if verdict.claim.when_true is not None:
        return not is_strong(verdict.column.own)
    parts = {part for value in verdict.labels for part in words_of(str(value))}
    return bool(parts & OF_PROMPTS) or not words & JUDGED
