"""Choice of the columns that are read as verdicts, and of the columns to ask about: two that differ, or a single doubtful one."""

import polars as pl

from rollwise.readers.roles.asked import of_conversations, question, rated, scored, unnamed, voted, which, with_rivals
from rollwise.readers.roles.columns import Table, is_constant, is_rate
from rollwise.readers.roles.names import OF_ATTACKS, is_negative, verdict_claim
from rollwise.readers.roles.questions import Question, Role
from rollwise.readers.roles.verdicts import DOUBT_OF_PROMPTS, SAYS_LITTLE, Verdict, is_open, settle, verdict_of
from rollwise.readers.roles.words import word


def verdicts(table: Table) -> tuple[list[Role], list[Question]]:
    """Return the columns that are certainly verdicts, and questions about the columns that may be."""
    candidates = [verdict for column in table.of_records if (verdict := verdict_of(column)) is not None]
    for verdict in candidates:
        settle(table, verdict)
    candidates = [verdict for verdict in candidates if is_open(table, verdict)]
    if len(candidates) == 1 and is_rate(candidates[0].column.own) and table.holds("response"):
        _take_rate_of_one(candidates[0])
    if any(map(_asks_for_success, candidates)):
        # A column that says whether the attack succeeded counts, not one that says whether it was blocked.
        candidates = [
            candidate
            for candidate in candidates
            if candidate.whose != "attack"
            or not is_negative(candidate.column.own)
            or not _overlap(candidate, candidates)
        ]
    choice = _Choice(table)
    for whose in ("attack", "task", "refusal"):
        choice.read([verdict for verdict in candidates if verdict.whose == whose])
    groups = {
        whose: [verdict for verdict in candidates if verdict.whose == whose] for whose in ("attack", "task", "either")
    }
    for whose in sorted(groups, key=lambda whose: min(map(_likelihood, groups[whose]), default=())):
        choice.ask(groups[whose], whose)
    if not choice.roles and not choice.questions:
        choice.questions += voted(table) or rated(table) or unnamed(table) or scored(table)
    return choice.roles, choice.questions


def _take_rate_of_one(verdict: Verdict) -> None:
    """Take a rate for a verdict where nothing else is one: beside an answer, 0 and 1 are of this attempt."""
    is_of_one = verdict.column.kind == "binary" and len(verdict.column.distinct) == 2
    if is_of_one and verdict.doubt == verdict.claim.doubt:
        verdict.doubt = None


def _overlap(verdict: Verdict, others: list[Verdict]) -> bool:
    """Return whether a column without negation has values in the same rows."""
    return any(
        (candidate.column.values.is_not_null() & verdict.column.values.is_not_null()).any()
        for candidate in filter(_asks_for_success, others)
    )


def _asks_for_success(verdict: Verdict) -> bool:
    """Return whether a column asks if the attack succeeded, rather than if the target held, and is no label of the prompt."""
    is_of_answers = verdict.whose in {"attack", "either"} and verdict.doubt != DOUBT_OF_PROMPTS
    return is_of_answers and verdict.sides and not is_negative(verdict.column.own)


class _Choice:
    """Columns that are read and that are asked about; `decided` are the rows for which that is so, by whose verdict it is."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.roles: list[Role] = []
        self.questions: list[Question] = []
        nothing = pl.repeat(value=False, n=table.frame.height, eager=True)
        self.decided = dict.fromkeys(("attack", "task", "refusal"), nothing)

    def read(self, group: list[Verdict]) -> None:
        """Read the certain columns where they agree, and ask about them where they differ."""
        for is_whole in (True, False):
            level = [
                candidate
                for candidate in group
                if candidate.is_sure and (candidate.column.name in self.table.of_rollouts) == is_whole
            ]
            equals = [
                candidate
                for candidate in level
                if candidate.column.own in {"succeeded", "outcome", "solved", "refused"}
            ] or level
            if not equals:
                continue
            sides = equals[0].series
            used: list[Verdict] = []
            rivals = [
                candidate
                for candidate in group
                if (candidate.doubt is not None and _is_rival(equals[0], candidate))
                or _is_half_known(equals[0], candidate)
            ]
            if rivals or any(_differ(sides, candidate.series) for candidate in equals[1:]):
                self._ask_about(which([*equals, *rivals]), equals)
                continue
            for verdict in equals:
                if not used or (sides.is_null() & verdict.series.is_not_null()).any():
                    used.append(verdict)
                    sides = sides.zip_with(sides.is_not_null(), verdict.series)
            for verdict in used:
                role = _read(self.table, verdict)
                if role is None:
                    self._ask_about(of_conversations(verdict), [verdict])
                else:
                    self.roles.append(role)
                    self.decided[verdict.whose] = self.decided[verdict.whose] | verdict.column.values.is_not_null()

    def ask(self, group: list[Verdict], whose: str) -> None:
        """Ask about the columns in doubt, one for the same rows."""
        in_doubt = [candidate for candidate in group if not candidate.is_sure]
        for verdict in sorted(
            in_doubt, key=lambda candidate: (_says_no_of_errors(candidate, in_doubt), *_likelihood(candidate))
        ):
            decided = self.decided["attack"] | self.decided["task"] if whose == "either" else self.decided[whose]
            if not (verdict.column.values.is_not_null() & ~decided).any():
                continue
            rivals = [
                candidate for candidate in in_doubt if candidate is not verdict and _has_words_of(verdict, candidate)
            ]
            if rivals and not verdict.is_unknown:
                self._ask_about(which([verdict, *rivals]), [verdict, *rivals])
            else:
                self._ask_about(with_rivals(question(verdict), rivals), [verdict])

    def _ask_about(self, question: Question, group: list[Verdict]) -> None:
        self.questions.append(question)
        for verdict in group:
            for whose in ("attack", "task") if verdict.whose == "either" else (verdict.whose,):
                self.decided[whose] = self.decided[whose] | verdict.column.values.is_not_null()


def _likelihood(verdict: Verdict) -> tuple[bool, ...]:
    """Return a key by which the likeliest of several columns in doubt is asked about first."""
    speaks = any(word(label).whose in {"attack", "task", "test"} for label in verdict.labels)  # without its name, too
    is_of_prompts = verdict.doubt == DOUBT_OF_PROMPTS
    says_little = bool(verdict.column.words & SAYS_LITTLE)
    return is_of_prompts, verdict.claim.doubt is not None, verdict.doubt is not None, not speaks, says_little


def _says_no_of_errors(verdict: Verdict, others: list[Verdict]) -> bool:
    """Return whether a column says something of rows of which another one, that else agrees, says that judging them failed."""
    for judge in others:
        errors = judge.column.values.is_not_null() & judge.series.is_null()
        is_same = judge is verdict or judge.is_unknown or verdict.labels.keys() == judge.labels.keys()
        if not is_same and (errors & verdict.series.is_not_null()).any() and not _differ(verdict.series, judge.series):
            return True
    return False


def _has_words_of(first: Verdict, second: Verdict) -> bool:
    """Return whether two columns in doubt have the same words, and differ: of two judges, or of one and the truth."""
    are_words = first.column.kind == second.column.kind == "words" and first.labels == second.labels
    are_votes = first.column.kind == second.column.kind and bool(first.column.words & second.column.words & {"judge"})
    if not are_words and not are_votes:
        return False
    return bool((first.column.values != second.column.values).any())


def _differ(first: pl.Series, second: pl.Series) -> bool:
    """Return whether two verdicts say different things of a row."""
    return bool((first != second).fill_null(value=False).any())


def _is_half_known(first: Verdict, second: Verdict) -> bool:
    """Return whether a column that asks for the attack's success, with a word that is not known, says otherwise by the others."""
    asks = second.claim.whose == "attack" and second.claim.when_true is True
    return asks and second.is_unknown and _differ(first.series, second.series)


def _is_rival(first: Verdict, second: Verdict) -> bool:
    """Return whether a verdict in doubt has the words of one beyond doubt, in its name or its values, and says otherwise."""
    if first.column.kind == second.column.kind == "words" and {*first.column.distinct} == {*second.column.distinct}:
        return _differ(first.series, second.series)
    words = (first.column.words & second.column.words) - OF_ATTACKS
    same = {word for word in words if (claim := verdict_claim(word)) is not None and claim.when_true is not None}
    is_same = (
        bool(same) or is_rate(second.column.own) or bool(first.column.words & second.column.words & {"jailbroken"})
    )
    return is_same and first.column.kind in {"bool", "binary"} and _differ(first.series, second.series)


def _read(table: Table, verdict: Verdict) -> Role | None:
    """Return the role of a verdict beyond doubt; None where it may be on conversations and only repeated on each turn."""
    column, name = verdict.column, verdict.column.name
    if verdict.whose == "task":
        return Role(name, "solved", "named so", verdict.labels) if column.is_fact else None
    if verdict.whose == "refusal":
        return Role(name, "refused", "named so", verdict.labels)
    if name in table.of_rollouts:
        return Role(name, "outcome", "named so", verdict.labels)
    return (
        None
        if repeated(table.frame["rollout_id"], verdict.series)
        else Role(name, "succeeded", "named so", verdict.labels)
    )


def repeated(ids: pl.Series, sides: pl.Series) -> bool:
    """Return whether verdicts may be on whole rollouts and only repeated on each turn, as after a join.

    If each rollout has one verdict on all of its turns, and one with several turns succeeded, all of these turns would be
    successes, the first included. Turns that are judged one by one rarely look like this.
    """
    # In this order: whether neighbors differ is seen much sooner than which ids are there twice.
    return (
        bool(sides.any())
        and is_constant(ids, sides)
        and bool((sides.fill_null(value=False) & ids.is_duplicated()).any())
    )
