"""Questions about verdicts in doubt, each with the short form that answers it."""

from typing import Any

import polars as pl

from rollwise.readers.roles.columns import Column, Table
from rollwise.readers.roles.names import OF_ATTACKS, OF_TASKS, is_of_else, speaks_of_attacks_alone
from rollwise.readers.roles.questions import Question
from rollwise.readers.roles.ratings import is_score, may_rate, may_score, question_of, question_of_scores
from rollwise.readers.roles.verdicts import ASK, DOUBT_OF_CONSTANTS, DOUBT_OF_PROMPTS, MOST_LABELS, SAYS_LITTLE, Verdict
from rollwise.readers.roles.votes import RULE, votes_in
from rollwise.readers.roles.words import without_categories, word

_ANSWERS = ("true", "false", "null")
_MOST_COLUMNS = 20  # of yes and no, one of which may be the verdict


def question(verdict: Verdict) -> Question:
    """Return the question about a verdict in doubt."""
    column, labels = verdict.column.own, _meanings(verdict)
    name = "solved" if verdict.whose == "task" or _speaks_of_tasks(verdict) else "succeeded"
    subject = f"`{column}` ({', '.join([*labels][:MOST_LABELS])})"
    if verdict.is_unknown:
        if verdict.claim.doubt is not None:  # of a code of several numbers, 0 and 1 are not no and yes
            labels = {label: ASK if word(label).whose == "answer" else side for label, side in labels.items()}
        unknown = " or ".join([f"'{label}'" for label, side in labels.items() if side == ASK][:MOST_LABELS])
        names: dict[str, Any] = {name: (column, labels)}
        is_open = _has_tests(verdict) if name == "succeeded" else verdict.column.words & SAYS_LITTLE
        if verdict.whose == "either" and is_open:  # of an attack, or of a task
            sentence = f"{subject}: did it succeed where it is {unknown}, and whose success is it: attack or task?"
            return Question(column, sentence, {"succeeded": (column, labels), "of": ASK}, _ANSWERS)
        return Question(column, f"{subject}: {_outcome(name, side=True)} where it is {unknown}?", names, _ANSWERS)
    if verdict.whose == "either" and verdict.claim.when_true is not False and verdict.claim.doubt is None:
        sentence = f"{subject}: is it the success of the attack or of the task?"
        return Question(column, sentence, {"of": ASK}, ("attack", "task"))
    side = True in labels.values()
    if verdict.doubt in {DOUBT_OF_PROMPTS, DOUBT_OF_CONSTANTS}:  # it may be no verdict at all: nothing is filled in
        open_labels = dict.fromkeys(labels, ASK)
        where = " or ".join(labels)
        sentence = f"{subject}: {_outcome(name, side=True)} where it is {where}? {verdict.doubt}"
        return Question(column, sentence, {name: (column, open_labels)}, _ANSWERS)
    where = " or ".join(label for label, meaning in labels.items() if meaning is side)
    sentence = f"{subject}: {_outcome(name, side=side)} where it is {where}? {verdict.doubt or 'Its name says little'}"
    if verdict.is_contradicted and verdict.claim.doubt is None:  # a verdict it is
        return Question(column, sentence, {name: _named(verdict, labels)})
    return Question(column, sentence, {name: (column, dict.fromkeys(labels, ASK))}, _ANSWERS)


def unnamed(table: Table) -> list[Question]:
    """Return the question which column of yes and no is the verdict, as it may be called anything, where answers have none."""
    stated = {"succeeded", "outcome", "solved", "refused", "score", "reward"}
    if not table.holds("response") or stated & table.named or any(map(table.holds, stated)):
        return []
    candidates = [column for column in table.of_records if _may_be_any_verdict(column)]
    if not candidates or len(candidates) > _MOST_COLUMNS:
        return []
    of = {} if speaks_of_attacks_alone(table.words) else {"of": ASK}
    whose = (
        "whether the attack succeeded" if not of else "whether it succeeded, and whose success is it: attack or task"
    )
    names = tuple(column.own for column in candidates)
    if len(candidates) > 1:
        subject = ", ".join(f"`{name}`" for name in names)
        return [Question("", f"does one of {subject} say {whose}?", {"succeeded": ASK} | of, names)]
    labels = sorted(_label(value) for value in candidates[0].distinct if word(value).whose == "answer")
    sentence = f"does `{names[0]}` ({', '.join(labels)}) say {whose}?"
    return [Question(names[0], sentence, {"succeeded": (names[0], dict.fromkeys(labels, ASK))} | of, _ANSWERS)]


def voted(table: Table) -> list[Question]:
    """Return the question what the votes in the only column with lists of votes say, of which the majority counts."""
    columns = [column for column in table.of_records if column.has_votes]
    if {"succeeded", "outcome", "solved"} & table.named or len(columns) != 1:
        return []
    column = columns[0]
    votes = {vote for value in column.distinct for vote in votes_in(value) or () if word(vote).side is not None}
    labels = {label: word(label).side if word(label).whose == "attack" else ASK for label in sorted(map(_label, votes))}
    of = {} if speaks_of_attacks_alone(table.words) or ASK not in labels.values() else {"of": ASK}
    whose = "the attack succeeded" if not of else "it succeeded, and whose success is it: attack or task"
    sentence = f"`{column.own}` holds several votes ({', '.join(labels)}), {RULE}: do they say whether {whose}?"
    return [Question(column.own, sentence, {"succeeded": (column.own, labels)} | of, _ANSWERS)]


def rated(table: Table) -> list[Question]:
    """Return the question from which rating on an attack succeeded, where a judge wrote ratings and no score is there."""
    if {"succeeded", "outcome", "solved", "score"} & table.named or table.holds("score"):
        return []
    texts = [column for column in table.of_records if column.dtype == pl.String and may_rate(column.own)]
    asked = [question for column in texts if (question := question_of(column.own, column.values)) is not None]
    return asked if len(asked) == 1 else []


def scored(table: Table) -> list[Question]:
    """Return the question which number is the score of the attack, of those called scores or in an object of them."""
    if {"succeeded", "outcome", "solved", "score"} & table.named or table.holds("score") or not table.is_single:
        return []
    columns = [column for column in table.of_records if _may_be_score(column)]
    is_read = [column.role for column in columns].count("score") == 1 or any(is_score(column.own) for column in columns)
    return [] if is_read else question_of_scores({column.own: column.distinct for column in columns})


def _may_be_score(column: Column) -> bool:
    """Return whether a column holds numbers that are no answer of yes and no, under a name of scores."""
    return column.dtype.is_numeric() and column.kind not in {"bool", "binary", "empty"} and may_score(column.own)


def _may_be_any_verdict(column: Column) -> bool:
    """Return whether a column of no known name says yes and no."""
    is_of_judge = column.own.startswith("score_")  # of one judge of several
    is_known = column.role is not None or column.claim is not None or (is_of_else(column.own) and not is_of_judge)
    if is_known or column.kind not in {"bool", "binary", "words"}:
        return False
    meanings = [word(value) for value in column.distinct]
    return {meaning.side for meaning in meanings if meaning.whose == "answer"} == {True, False} and {
        meaning.whose for meaning in meanings
    } <= {
        "answer",
        "blank",
    }


def _has_tests(verdict: Verdict) -> bool:
    """Return whether the words of a verdict are of a test that was passed or not."""
    return any(word(label).whose == "test" for label in verdict.labels)


def _speaks_of_tasks(verdict: Verdict) -> bool:
    """Return whether the file of a verdict that may be any speaks of tasks, and not of attacks."""
    table = verdict.column.table
    is_of_tasks = (
        bool(table.words & OF_TASKS)
        or table.holds("task")
        or any(candidate.role == "task" for candidate in table.columns)
    )
    is_of_attacks = bool(table.words & OF_ATTACKS) or table.holds("attack") or table.holds("goal")
    return verdict.whose == "either" and is_of_tasks and not is_of_attacks


def which(group: list[Verdict]) -> Question:
    """Return the question which of several verdicts that differ counts."""
    names = [verdict.column.own for verdict in group]
    subject = " and ".join(f"`{name}`" for name in names)
    name = {"task": "solved", "refusal": "refused"}.get(group[0].whose, "succeeded")
    return Question(names[0], f"{subject} differ: which is the verdict?", {name: ASK}, tuple(names))


def with_rivals(question: Question, rivals: list[Verdict]) -> Question:
    """Return a question about a verdict that names the columns with the same words, one of which may be meant instead."""
    if not rivals:
        return question
    names = " and ".join(f"`{candidate.column.own}`" for candidate in rivals)
    differ = "has the same words, and differs" if len(rivals) == 1 else "have the same words, and differ"
    return question._replace(sentence=f"{question.sentence} {names} {differ}")


def of_conversations(verdict: Verdict) -> Question:
    """Return the question about verdicts that are the same on all turns of each rollout, or of a task, that are not."""
    values, labels = verdict.column.own, _meanings(verdict)
    subject = f"`{values}` ({', '.join([*labels][:MOST_LABELS])})"
    if verdict.whose == "task":
        sentence = f"{subject} differs between the turns of a rollout: is each row a rollout of its own?"
        return Question(values, sentence, {"rollout_id": ASK}, ("@key",))
    sentence = f"{subject} is the same on all turns of each rollout: does it judge the whole conversation?"
    return Question(values, sentence, {"outcome": _named(verdict, labels)})


def _outcome(name: str, *, side: bool) -> str:
    if name == "solved":
        return "was the task solved" if side else "was the task not solved"
    return "did the attack succeed" if side else "did the attack fail"


def _named(verdict: Verdict, labels: dict[str, Any]) -> Any:
    """Return the value for `names=`: the column, with a map of its labels where these mean something else by themselves."""
    is_plain = all(word(label).side is side for label, side in labels.items())
    return verdict.column.own if is_plain and verdict.claim.when_true is not False else (verdict.column.own, labels)


def _meanings(verdict: Verdict) -> dict[str, Any]:
    """Return the meaning of each label, as a user writes it, in order."""
    labels = {
        _label(value): side
        for value, side in verdict.labels.items()
        if side is not None or word(value).whose != "blank"
    }
    return dict(sorted(labels.items()))


def _label(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else without_categories(str(value))
    return text.removesuffix(".0") if isinstance(value, float) else text
