"""Questions that would make records readable that are not read: which field is the answer, or the verdict."""

from collections.abc import Mapping

from rollwise.readers.proposal import refusals
from rollwise.readers.proposal.fields import Field
from rollwise.readers.roles.names import speaks_of_attacks_alone, verdict_claim, words_of
from rollwise.readers.roles.questions import OPEN, Question
from rollwise.readers.roles.ratings import may_score, question_of_scores
from rollwise.readers.roles.values import are_models, num_words
from rollwise.readers.roles.words import word

# Words of names of texts that no model gave as its answer.
_NO_ANSWER = frozenset(
    {
        "note", "notes", "rationale", "reason", "reasons", "reasoning", "explanation", "instruction",
        "instructions", "context", "options", "choices", "category", "subcategory", "type", "name", "code", "axis", "title",
        "comment", "comments", "severity", "source", "mode",
    }
)  # fmt: skip
_VERDICTS = frozenset({"verdict", "verdicts", "outcome", "judgment", "judgement", "decision", "result", "assessment"})
_NUMBERS = frozenset({"whole", "unit", "number"})
_OF_ROLLOUTS = frozenset({"id", "task", "goal"})  # roles of what a score may belong to
_MOST_WORDS = 8  # of a verdict that is asked about


def offered(refusal: str | None, fields: Mapping[str, Field]) -> tuple[Question, ...]:
    """Return the question which field of records that are not read is the answer, or else the verdict; none without such fields."""
    if refusal not in {refusals.NOTHING, refusals.PROMPTS}:
        return ()
    ratings = [question for field in fields.values() if (question := refusals.rating_in(field)) is not None]
    if len(ratings) == 1:
        return (ratings[0],)
    open_fields = [field for field in fields.values() if field.role is None and verdict_claim(field.name) is None]
    texts = tuple(field.name for field in fields.values() if _may_answer(field))
    has_answer = any(field.role == "response" for field in fields.values())  # with too few values to count
    sides = tuple(field.name for field in open_fields if field.kind in {"bool", "binary"} and len(field.distinct) > 1)
    if texts and not has_answer and not (refusal == refusals.NOTHING and sides):
        sentence = "if each record is a rollout, which field is the answer of the model?"
        return (Question("", sentence, {"response": "?"}, texts),)
    if not sides:
        return tuple(_worded(fields, are_prompts=refusal == refusals.PROMPTS)[:1] or _scored(fields))
    sentence = "if each record is a rollout, which field says whether "
    if speaks_of_attacks_alone({part for name in fields for part in words_of(name)}):
        return (Question("", f"{sentence}the attack succeeded?", {"succeeded": "?"}, sides),)
    sentence += "it succeeded, and whose success is it: attack or task?"
    return (Question("", sentence, {"succeeded": "?", "of": "?"}, sides),)


def _worded(fields: Mapping[str, Field], *, are_prompts: bool) -> list[Question]:
    """Return the question about each field that is called a verdict and has a few words, none of them sure.

    Labels of prompts are sure of themselves: beside prompts alone, only words such as `uncertain` show that something was judged.
    """
    is_of_attacks = speaks_of_attacks_alone({part for name in fields for part in words_of(name)})
    questions = []
    for field in fields.values():
        labels = sorted(map(str, field.distinct))
        has_doubt = any(word(label).whose == "doubt" for label in labels)
        is_verdict = has_doubt or (not are_prompts and bool({*words_of(field.name)} & _VERDICTS))
        if (
            are_models(labels)
            or not is_verdict
            or verdict_claim(field.name) is None
            or not 1 < len(labels) <= _MOST_WORDS
        ):
            continue
        sentence = f"if each record is a rollout, does `{field.name}` ({', '.join(labels)}) say whether "
        sentence += (
            "the attack succeeded?" if is_of_attacks else "it succeeded, and whose success is it: attack or task?"
        )
        names = {"succeeded": (field.name, dict.fromkeys(labels, OPEN))} | ({} if is_of_attacks else {"of": OPEN})
        questions.append(Question(field.name, sentence, names, ("true", "false", "null")))
    return questions


def is_score(field: Field) -> bool:
    """Return whether a field holds numbers under a name of scores, or in an object of them."""
    return field.kind in _NUMBERS and may_score(field.name)


def _scored(fields: Mapping[str, Field]) -> list[Question]:
    """Return the question which field of numbers is the score, where something says of what it is."""
    numbers = {field.name: field for field in fields.values() if is_score(field)}
    if not {field.role for field in fields.values()} & _OF_ROLLOUTS:
        return []
    return question_of_scores({name: [*map(float, field.distinct)] for name, field in numbers.items()})


def _may_answer(field: Field) -> bool:
    """Return whether a field of no other role has texts, as an answer may be called anything."""
    is_free = (
        field.role in {None, "content"}
        and verdict_claim(field.name) is None
        and not _NO_ANSWER & {*words_of(field.name)}
    )
    return is_free and (field.kind == "text" or any(map(_is_said, field.distinct[:2])))


def _is_said(value: object) -> bool:
    """Return whether a value is a text of several words, as an answer may be."""
    return isinstance(value, str) and num_words(value) > 1
