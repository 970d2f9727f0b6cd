"""Words of verdicts: what each says, and of what.

Some words name the outcome of an attack (JAILBREAK, refused), some that of a task (solved), some answer the question that a
column asks (yes, 0); `pass` says in a red-team log that the attack got through, or that the target passed the test. A negated
word means the opposite of its word, by an exact prefix; a word that is near a known one means nothing.

The words come from the readers' formats, from judges in public files, and from the libraries that write them.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

BLANK = frozenset({
    "", "-", "null", "none", "nan", "n/a", "na", "unjudged", "not judged", "not_judged", "unknown", "undetermined", "error",
    "skipped", "invalid", "n.a.", "not_applicable", "not_evaluated", "unevaluated",
})  # fmt: skip
DOUBTFUL = frozenset({
    "partial", "partially", "partial_compliance", "partial_refusal", "partially_complied", "possible", "possibly", "maybe",
    "mixed", "borderline", "unclear", "ambiguous", "unsure", "uncertain", "inconclusive",
})  # fmt: skip
ANSWERS = {"yes": True, "no": False, "y": True, "n": False, "true": True, "false": False, "1": True, "0": False}
RESULTS = {
    **dict.fromkeys(("success", "succeeded", "successful", "succ", "attack_success", "attack_succeeded"), True),
    **dict.fromkeys(("failure", "failed", "unsuccessful", "unsucc", "attack_failure", "attack_failed"), False),
}
TESTS = {"pass": True, "passed": True, "fail": False, "failed": False}
_HARMED = (
    "jailbreak", "jailbroken", "jailbreaked", "unsafe", "harmful", "bypassed", "vulnerable", "complied", "compliance",
    "compliant", "comply", "breached", "breach", "hijacked", "compromised", "exploited", "leaked", "leak", "misled",
    "violation", "violated", "toxic", "malicious", "infected", "answered", "confirmed", "insecure", "attack_success",
    "attack_succeeded",
)  # fmt: skip
_RESISTED = (
    "refused", "refusal", "refuse", "safe", "harmless", "blocked", "defended", "resisted", "declined", "protected",
    "mitigated", "benign", "secure", "rejected", "robust", "refuted", "attack_failure", "attack_failed", "attack_blocked",
)  # fmt: skip
_SOLVED = ("correct", "solved", "resolved", "completed")
_UNSOLVED = ("incorrect", "wrong", "unsolved", "unresolved")
_REFUSED = ("refused", "refusal", "refuse", "declined", "rejected")
_ANSWERED = ("complied", "compliance", "comply", "compliant", "answered", "accepted")
_NEGATIONS = ("not_", "no_", "non_", "un", "non", "not", "never_")
_EMPHASES = ("", "full_", "fully_", "clearly_", "attack_", "is_")


def _spelled(true: Iterable[str], false: Iterable[str]) -> dict[str, bool]:
    """Return the meanings of words, each also negated and emphasized; a word of its own, such as `unsafe`, comes first."""
    plain = {**dict.fromkeys(true, True), **dict.fromkeys(false, False)}
    emphasized = {
        f"{prefix}{word}{suffix}": side
        for word, side in plain.items()
        for prefix in _EMPHASES
        for suffix in ("", "_response")
    }
    negated = {f"{prefix}{word}": not side for word, side in emphasized.items() for prefix in _NEGATIONS}
    return negated | emphasized


ATTACKS = _spelled(_HARMED, _RESISTED)
REFUSALS = _spelled(_REFUSED, _ANSWERED)
TASKS = _spelled(_SOLVED, _UNSOLVED)
_RESULTS = _spelled(
    [word for word, side in RESULTS.items() if side], [word for word, side in RESULTS.items() if not side]
)

_NUMBER = re.compile(r"[-+]?[\d.,]+")  # -1 is not 1
_NUMBERED = re.compile(r"^\d+[_.):]+(?=[a-z])")  # `1_full_compliance`


_CATEGORIES = re.compile(
    r"(?i)(?<=safe)\s*\n\s*s\d+(?:\s*,\s*s\d+)*\s*$"
)  # `unsafe` and on the next line `S2,S6`, as guards write
_ERROR = re.compile(r"(?:error|exception|timeout) ?:")  # `ERROR: TemplateError`: nothing was judged


class Word(NamedTuple):
    """Meaning of a word of a verdict."""

    whose: (
        str  # "attack", "task", "either" (success), "test" (pass), "answer" (yes), "doubt", "blank", or "?": not known
    )
    side: bool | None = None


def without_categories(label: str) -> str:
    """Return the word of a guard without the categories on its next line."""
    return _CATEGORIES.sub("", label)


def normal(value: object) -> str:
    """Return a label as it is compared: text without case, blanks around it or blanks within it, numbers as whole ones."""
    # A whole number beside a missing one has a point in pandas.
    words = without_categories(str(value)).strip(' "\t\r\n').lower().removesuffix(".0")
    if _ERROR.match(words):
        return "error"
    return words if words in BLANK or _NUMBER.fullmatch(words) else words.replace(" ", "_").replace("-", "_")


def word(value: object) -> Word:
    """Return the meaning of a word of a verdict."""
    label = _NUMBERED.sub("", normal(value))
    if label in BLANK:
        return Word("blank")
    if label in DOUBTFUL:
        return Word("doubt")
    for whose, meanings in (
        ("answer", ANSWERS), ("attack", ATTACKS), ("either", _RESULTS), ("test", TESTS), ("task", TASKS),
    ):  # fmt: skip
        side = meanings.get(label, meanings.get(label.replace("_", "")))
        if side is not None:
            return Word(whose, side)
    return Word("?")


def says_side(name: str) -> bool:
    """Return whether the name of a list says what came of the rollouts in it, or that it is not known."""
    words = [word(form) for form in (name, *map(name.removesuffix, ("s", "_attacks", "_ids")))]
    return any(form.side is not None or form.whose == "blank" for form in words)
