"""Verdicts in people's own columns: used where they are beyond doubt, asked about where they are not, and never guessed.

A verdict needs a name and values that are both known. It is in doubt if its name is said of other things as well, if it may be a
label of the prompt, if it is the same on all rows of a name that says little, if a word of it is not known, if another column
says otherwise, or if totals of the file contradict it; totals that it reproduces make it sure.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from rollwise.readers.roles.candidates import ASK, Verdict, of_conversations, question, which
from rollwise.readers.roles.columns import Column, Table, is_constant
from rollwise.readers.roles.names import (
    JUDGED,
    OF_ANSWERS,
    OF_ATTACKS,
    OF_PROMPTS,
    OF_TASKS,
    Claim,
    is_negative,
    is_strong,
    verdict_claim,
    words_of,
)
from rollwise.readers.roles.questions import Question, Role
from rollwise.readers.roles.totals import said_by_totals
from rollwise.readers.roles.values import MOST_WORDS
from rollwise.readers.roles.words import Word, word

ON_ATTACKS = frozenset({"succeeded", "outcome"})  # columns of TURNS with verdicts on the attack
_NO_VERDICTS = frozenset(
    {"id", "task", "target", "prompt", "response", "content", "error", "attempt", "turn", "moment", "reference", "other", "cost",
     "tokens", "seconds", "ending", "category", "goal"}
)  # fmt: skip
_FEW = 3  # rows that may all be alike by chance
_SAYS_LITTLE = frozenset({"label", "classification", "class", "type", "category"})  # names of labels of prompts as well
_OF_JUDGES = frozenset(
    {"verdict", "judgement", "judgment", "decision", "outcome", "label", "classification", "result", "grade"}
)
_SURELY_ATTACKS = frozenset(
    {"asr", "jailbreak", "jailbroken", "attack", "attacks", "adversarial", "victim", "injection", "redteam"}
)
_LOOSELY_TASKS = frozenset({"test", "tests", "task", "tasks", "tool", "tools", "expected"})
_MOST_LABELS = 8  # of a column that is asked about


def verdicts(table: Table) -> tuple[list[Role], list[Question]]:
    """Return the columns that are verdicts beyond doubt, and the questions about those that may be."""
    own = (
        column for column in table.columns if column.name not in table.enclosing
    )  # an object around records says of all
    found = [verdict for column in own if (verdict := _verdict(column)) is not None]
    for verdict in found:
        _settle(table, verdict)
    found = [verdict for verdict in found if _is_open(table, verdict)]
    if any(one.whose in {"attack", "either"} and one.sides and not is_negative(one.column.own) for one in found):
        # A column that says whether the attack succeeded counts, not one that says whether it was blocked.
        found = [
            one for one in found if one.whose != "attack" or not is_negative(one.column.own) or not _overlap(one, found)
        ]
    choice = _Choice(table)
    for whose in ("attack", "task", "refusal"):
        choice.read([verdict for verdict in found if verdict.whose == whose])
    for whose in ("attack", "task", "either"):
        choice.ask([verdict for verdict in found if verdict.whose == whose], whose)
    return choice.roles, choice.questions


def _overlap(verdict: Verdict, others: list[Verdict]) -> bool:
    """Return whether a column without negation has values in the same rows."""
    positive = (
        one for one in others if one.whose in {"attack", "either"} and one.sides and not is_negative(one.column.own)
    )
    return any((one.column.values.is_not_null() & verdict.column.values.is_not_null()).any() for one in positive)


class _Choice:
    """What is read and what is asked; `decided` are the rows for which that is so, by whose verdict it is."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.roles: list[Role] = []
        self.questions: list[Question] = []
        nothing = pl.repeat(value=False, n=table.frame.height, eager=True)
        self.decided = dict.fromkeys(("attack", "task", "refusal"), nothing)

    def read(self, group: list[Verdict]) -> None:
        """Read the columns beyond doubt that say the same, and ask about those that differ."""
        for is_whole in (True, False):
            level = [one for one in group if one.is_sure and (one.column.name in self.table.whole) == is_whole]
            own = [one for one in level if one.column.own in {"succeeded", "outcome", "solved", "refused"}] or level
            if not own:
                continue
            said = own[0].series()
            used: list[Verdict] = []
            rivals = [one for one in group if one.doubt is not None and _is_rival(own[0], one)]
            if rivals or any(_differ(said, one.series()) for one in own[1:]):
                self._asked(which([*own, *rivals]), own)
                continue
            for verdict in own:
                if not used or (said.is_null() & verdict.series().is_not_null()).any():
                    used.append(verdict)
                    said = said.zip_with(said.is_not_null(), verdict.series())
            for verdict in used:
                role = _read(self.table, verdict)
                if role is None:
                    self._asked(of_conversations(verdict), [verdict])
                else:
                    self.roles.append(role)
                    self.decided[verdict.whose] = self.decided[verdict.whose] | verdict.column.values.is_not_null()

    def ask(self, group: list[Verdict], whose: str) -> None:
        """Ask about the columns in doubt, one for the same rows."""
        for verdict in sorted(group, key=lambda one: (one.claim.doubt is not None, one.doubt is not None)):
            decided = self.decided["attack"] | self.decided["task"] if whose == "either" else self.decided[whose]
            if not verdict.is_sure and (verdict.column.values.is_not_null() & ~decided).any():
                self._asked(question(verdict), [verdict])

    def _asked(self, question: Question, group: list[Verdict]) -> None:
        self.questions.append(question)
        for verdict in group:
            for whose in ("attack", "task") if verdict.whose == "either" else (verdict.whose,):
                self.decided[whose] = self.decided[whose] | verdict.column.values.is_not_null()


def _differ(first: pl.Series, second: pl.Series) -> bool:
    """Return whether two verdicts say different things of a row."""
    return bool((first != second).fill_null(value=False).any())


def _is_rival(first: Verdict, other: Verdict) -> bool:
    """Return whether a verdict in doubt has the same word in its name as one beyond doubt, and says otherwise."""
    words = (first.column.words & other.column.words) - OF_ATTACKS
    same = {word for word in words if (claim := verdict_claim(word)) is not None and claim.when_true is not None}
    is_same = bool(same) or bool(first.column.words & other.column.words & {"jailbroken"})
    return is_same and first.column.kind in {"bool", "binary"} and _differ(first.series(), other.series())


def _is_open(table: Table, verdict: Verdict) -> bool:
    """Return whether TURNS has no verdict of that kind where the column has one, and the user named none."""
    names = {"attack": ON_ATTACKS, "task": {"solved"}, "refusal": {"refused"}}.get(
        verdict.whose, {*ON_ATTACKS, "solved"}
    )
    if names & table.named:
        return False
    held = verdict.column.values.is_not_null()
    return not any(table.holds(name) and (table.frame[name].is_not_null() & held).any() for name in names)


# ── what a column says ────────────────────────────────────────────────────────────────────────────────────────────────
def _verdict(column: Column) -> Verdict | None:
    """Return a column as a verdict, if its name and its values may be one."""
    if column.role in _NO_VERDICTS or not column.has_few or column.kind not in {"bool", "binary", "words", "strings"}:
        return None
    meanings = {value: word(value) for value in column.distinct}
    kinds = {one.whose for one in meanings.values()} - {"blank"}
    claim = column.claim or _claimed(column, meanings, kinds)
    if claim is None or not kinds or len(meanings) > 4 * MOST_WORDS:
        return None
    if kinds <= {"answer"}:
        return _answered(column, claim, meanings)
    if "status" in column.words and not kinds & {"attack", "task"} - (
        {"task"} if "completed" in column.distinct else set()
    ):
        return None  # of the run
    is_judged = bool(column.words & _OF_JUDGES) and claim.when_true is None and len(meanings) <= _MOST_LABELS
    return _worded(column, claim, meanings, kinds) if is_judged or kinds != {"?"} else None


def _claimed(column: Column, meanings: Mapping[Any, Word], kinds: set[str]) -> Claim | None:
    """Return what words of both sides claim, whatever their column is called."""
    sides = {one.side for one in meanings.values() if one.whose == "attack"}
    if (
        kinds == {"attack"}
        and column.role is None
        and sides == {True, False}
        and not column.words & {"question", "prompt", "goal"}
    ):
        return Claim("named", None, "Its name does not say so")
    return None


def _answered(column: Column, claim: Claim, meanings: Mapping[Any, Word]) -> Verdict:
    """Return a column of yes and no, 1 and 0, whose meaning is that of its name."""
    if column.words & {"refused", "refusal", "refuses", "refuse"} and column.words <= _REFUSAL:
        return Verdict(column, claim, "refusal", {value: one.side for value, one in meanings.items()})
    labels: dict[Any, Any]
    if claim.when_true is None:
        labels = {value: None if one.side is None else ASK for value, one in meanings.items()}
        return Verdict(column, claim, "either", labels, claim.doubt, sides=False)
    labels = {value: None if one.side is None else one.side == claim.when_true for value, one in meanings.items()}
    return Verdict(column, claim, claim.whose, labels, claim.doubt)


_REFUSAL = frozenset(
    {
        "refused",
        "refusal",
        "refuses",
        "refuse",
        "is",
        "was",
        "has",
        "did",
        "the",
        "model",
        "target",
        "response",
        "answer",
        "llm",
    }
)


def _worded(column: Column, claim: Claim, meanings: Mapping[Any, Word], kinds: set[str]) -> Verdict:
    """Return a column of words, which say themselves what they mean."""
    named = kinds & {"attack", "task"}
    if named == {"attack", "task"}:
        labels = {value: _asked(one) for value, one in meanings.items()}
        return Verdict(column, claim, "either", labels, claim.doubt)
    whose = next(iter(named), "")
    if column.words & {"refusal", "refused"} and column.words <= _REFUSAL and whose == "attack":
        return Verdict(column, claim, "refusal", {value: _turned(one) for value, one in meanings.items()})
    is_test = "test" in kinds
    if not whose:
        whose = "task" if is_test else claim.whose if claim.when_true is not None else "either"
    # "success" under `defense_result` or `blocked` may be of either side.
    asks_other_side = claim.when_true is False or bool(column.words & {"defense", "defence", "guardrail"})
    labels = {}
    for value, one in meanings.items():
        is_clear = one.whose in {"blank", "attack", "task"} or (one.whose == "either" and not asks_other_side)
        is_clear |= one.whose == "test" and whose == "task"
        labels[value] = one.side if is_clear else ASK
    return Verdict(column, claim, whose, labels, claim.doubt, sides=kinds != {"?"})


def _asked(one: Word) -> bool | str | None:
    return one.side if one.whose in {"attack", "blank"} else ASK


def _turned(one: Word) -> bool | str | None:
    return ASK if one.whose in {"doubt", "?"} else None if one.side is None else not one.side


# ── whose it is, and what is in doubt ─────────────────────────────────────────────────────────────────────────────────
def _settle(table: Table, verdict: Verdict) -> None:
    """Say whose a verdict is, by the other names of its file where its own does not, and what is in doubt about it."""
    if verdict.whose == "refusal":
        return
    attack, task = table.words & OF_ATTACKS, table.words & OF_TASKS
    tests = any(word(value).whose == "test" for value in verdict.labels)
    is_generic = verdict.whose == "either"
    said = said_by_totals(table, verdict.series()) if verdict.sides and not verdict.is_unknown else None
    if is_generic and table.of is not None:
        verdict.whose = table.of
    elif is_generic and verdict.sides:
        verdict.whose = _told(attack, task, said)
    if tests and (attack or not (task or verdict.claim.whose == "task")) and table.of != "task":
        labels = verdict.labels.items()  # the attack passed, or the target
        verdict.labels = {value: ASK if word(value).whose in {"test", "either"} else side for value, side in labels}
        verdict.whose = "attack"
        return
    if said is not None:
        verdict.doubt = None if said.agrees else f"`{said.name}` in the file says another figure"
        return
    if not (is_generic and table.of is not None):  # the user has said what it is
        verdict.doubt = verdict.doubt or next(_doubts(table, verdict, attack, is_generic=is_generic), None)


def _told(attack: frozenset[str], task: frozenset[str], said: Any) -> str:
    """Return whose a verdict is by what else the file speaks of; "either" where nothing tells."""
    if said is not None and said.agrees and said.of_attacks:
        return "attack"
    if attack and (not task or (attack & _SURELY_ATTACKS and not task - _LOOSELY_TASKS)):
        return "attack"
    return "task" if task - {"expected"} and not attack else "either"


def _doubts(table: Table, verdict: Verdict, attack: frozenset[str], *, is_generic: bool) -> Iterator[str]:
    """Iterate over what is in doubt about a verdict."""
    column, words = verdict.column, verdict.column.words
    if _may_be_of_prompts(table, verdict):
        yield "It may be of the prompt"
    if verdict.whose == "task" and attack and words & {"passed", "pass", "ok"}:
        yield "It may be the defence that passed"
    if verdict.is_constant and column.filled > _FEW and _needs_to_vary(verdict, is_generic=is_generic):
        yield "It is the same on all rows"
    if verdict.is_constant and column.filled > 1 and is_negative(column.own) and verdict.claim.when_true is not None:
        yield "It is the same on all rows"
    if verdict.whose != "attack" or table.texts or words & {"attack", "jailbroken", "jailbreak"}:
        return
    if not attack - words and not table.holds("attack") and not table.holds("goal"):
        yield "Nothing else in the file speaks of attacks"


def _may_be_of_prompts(table: Table, verdict: Verdict) -> bool:
    """Return whether a label may be one of the prompt: by its words, where the prompts do not show that it is not."""
    column = verdict.column
    if verdict.whose == "task" or table.varies_within(column, "prompt"):
        return False
    if verdict.claim.when_true is not None and column.kind in {"bool", "binary"}:
        return bool(column.words & OF_PROMPTS) and not column.words & OF_ANSWERS
    if not column.words & _SAYS_LITTLE and verdict.claim.doubt is None:
        return False
    said = {part for value, side in verdict.labels.items() if side is not None for part in words_of(str(value))}
    return said <= OF_PROMPTS | {"not", "non", "no"} or _goes_with_prompts(table)


def _goes_with_prompts(table: Table) -> bool:
    """Return whether prompts repeat, so that a label that never varies within one is a label of it."""
    if not table.holds("prompt"):
        return False
    prompts = table.frame["prompt"].drop_nulls()
    return 3 * prompts.n_unique() < 2 * len(prompts)


def _needs_to_vary(verdict: Verdict, *, is_generic: bool) -> bool:
    """Return whether a verdict that is the same on all rows may be of something else."""
    words = verdict.column.words
    if is_generic or words & _SAYS_LITTLE or words & {"result", "status"}:
        return True
    if verdict.claim.when_true is not None:
        return not is_strong(verdict.column.own)
    said = {part for value in verdict.labels for part in words_of(str(value))}
    return bool(said & OF_PROMPTS) or not words & JUDGED


# ── what is read, and what is asked ───────────────────────────────────────────────────────────────────────────────────
def _read(table: Table, verdict: Verdict) -> Role | None:
    """Return the role of a verdict beyond doubt; None where it may be on conversations and only repeated on each turn."""
    column, name = verdict.column, verdict.column.name
    if verdict.whose == "task":
        return Role(name, "solved", "named so", verdict.labels) if column.is_fact else None
    if verdict.whose == "refusal":
        return Role(name, "refused", "named so", verdict.labels)
    if name in table.whole:
        return Role(name, "outcome", "named so", verdict.labels)
    return (
        None
        if repeated(table.frame["rollout_id"], verdict.series())
        else Role(name, "succeeded", "named so", verdict.labels)
    )


def repeated(ids: pl.Series, sides: pl.Series) -> bool:
    """Return whether verdicts may be on whole rollouts and only repeated on each turn, as after a join.

    If each rollout has one verdict on all of its turns, and one with several turns succeeded, all of these turns would be
    successes, the first included. Turns that are judged one by one rarely look like this.
    """
    return is_constant(ids, sides) and bool((ids.is_duplicated() & sides.fill_null(value=False)).any())
