"""A column that may be a verdict, and the question about it."""

from dataclasses import dataclass
from typing import Any

import polars as pl

from rollwise.readers.roles.columns import Column
from rollwise.readers.roles.names import Claim
from rollwise.readers.roles.questions import Question
from rollwise.readers.roles.words import word

ASK = "?"
_MOST_LABELS = 8  # that a question lists


@dataclass
class Verdict:
    """A column that may be a verdict."""

    column: Column
    claim: Claim
    whose: str  # "attack", "task", "either" or "refusal"
    labels: dict[Any, Any]  # what each label means: True, False, None, or "?"
    doubt: str | None = None
    sides: bool = True  # whether its labels say a side at all

    @property
    def is_unknown(self) -> bool:
        """Whether the meaning of a label is asked."""
        return ASK in self.labels.values()

    @property
    def is_sure(self) -> bool:
        """Whether it is beyond doubt."""
        return self.doubt is None and not self.is_unknown and self.whose != "either"

    @property
    def is_constant(self) -> bool:
        """Whether all rows say the same."""
        return len({side for side in self.labels.values() if side is not None}) == 1

    def series(self) -> pl.Series:
        """Return the verdicts, null where a label is asked about."""
        sides = [None if side == ASK else side for side in self.labels.values()]
        old = pl.Series([*self.labels], dtype=self.column.values.dtype)
        return self.column.values.replace_strict(
            old, pl.Series(sides, dtype=pl.Boolean), default=None, return_dtype=pl.Boolean
        )


def _label(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text.removesuffix(".0") if isinstance(value, float) else text


def _meanings(verdict: Verdict) -> dict[str, Any]:
    """Return what each label means, as a user writes it, in order."""
    shown = {_label(value): side for value, side in verdict.labels.items() if word(value).whose != "blank"}
    return dict(sorted(shown.items()))


def _examples(verdict: Verdict) -> str:
    labels = sorted({_label(value) for value in verdict.labels if word(value).whose != "blank"})
    return ", ".join(labels[:_MOST_LABELS])


def question(verdict: Verdict) -> Question:
    """Return the question about a verdict in doubt."""
    own, shown = verdict.column.own, f"`{verdict.column.own}` ({_examples(verdict)})"
    name = "solved" if verdict.whose == "task" else "succeeded"
    labels = _meanings(verdict)
    if verdict.whose == "either" and not verdict.is_unknown and verdict.sides and verdict.claim.when_true is not False:
        return Question(
            own, f"{shown}: is it the success of the attack or of the task?", {"of": ASK}, ("attack", "task")
        )
    if verdict.is_unknown:
        unknown = [label for label, side in labels.items() if side == ASK]
        asked = "did the attack succeed" if name == "succeeded" else "was the task solved"
        where = " or ".join(f"'{label}'" for label in sorted(unknown)[:_MOST_LABELS])
        return Question(own, f"{shown}: {asked} where it is {where}?", {name: (own, labels)}, ("true", "false", "null"))
    is_task = name == "solved"
    meant = sorted(label for label, side in labels.items() if side is True)
    failed = sorted(label for label, side in labels.items() if side is False)
    outcome = (
        ("was the task solved" if meant else "was the task not solved")
        if is_task
        else "did the attack succeed"
        if meant
        else "did the attack fail"
    )
    sentence = (
        f"{shown}: {outcome} where it is {' or '.join(meant or failed)}? {verdict.doubt or 'Its name says little'}"
    )
    is_plain = verdict.claim.when_true is True and verdict.column.kind in {"bool", "binary"}
    return Question(own, sentence, {name: own if is_plain else (own, labels)})


def which(group: list[Verdict]) -> Question:
    """Return the question which of several verdicts that differ counts."""
    names = [verdict.column.own for verdict in group]
    shown = " and ".join(f"`{name}`" for name in names)
    name = {"task": "solved", "refusal": "refused"}.get(group[0].whose, "succeeded")
    return Question(names[0], f"{shown} both say whether, and differ: which counts?", {name: ASK}, tuple(names))


def of_conversations(verdict: Verdict) -> Question:
    """Return the question about verdicts that are the same on all turns of each rollout."""
    own = verdict.column.own
    if verdict.whose == "task":
        sentence = (
            f"`{own}` ({_examples(verdict)}) differs between the turns of a rollout: is it the verdict on its task?"
        )
        return Question(own, sentence, {"solved": own})
    sentence = f"`{own}` ({_examples(verdict)}) is the same on all turns of each rollout: does it judge the whole conversation?"
    labels = _meanings(verdict)
    is_plain = verdict.claim.when_true is True and verdict.column.kind in {"bool", "binary"}
    return Question(own, sentence, {"outcome": own if is_plain else (own, labels)})
