"""The texts of records and of what they hold: prompts, answers, lists of messages and turns, and facts under our names."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rollwise.readers.chat_names import LISTS
from rollwise.readers.proposal.fields import Field, fields_of, flat, quoted
from rollwise.readers.proposal.levels import FURTHER, facts_of_levels
from rollwise.readers.proposal.places import Item, Places
from rollwise.readers.proposal.rows import INTEGERS, speakers
from rollwise.readers.proposal.signs import (
    OF_TURNS,
    REPEATED,
    TOLD,
    are_all_judged,
    are_judgments,
    are_turns,
    below,
    holds_messages,
    is_chat,
    is_spoken,
    judges,
    noun_of,
    roles_of,
    speaking,
)
from rollwise.readers.records import spare
from rollwise.readers.roles.names import role_of, words_of
from rollwise.readers.roles.questions import Question
from rollwise.schema import TURNS

if TYPE_CHECKING:
    from rollwise.readers.proposal.structure import Structure

_MODEL_LISTS = frozenset({"models", "targets", "agents", "llms", "systems"})
_NAMES = frozenset({"name", "metric"})
_ATTACKING = frozenset({"attack", "attacked", "adversarial", "jailbreak", "modified", "mutated", "injected", "final"})
_NUMBERS = {"whole", "binary", "unit", "number"}
_PAIR = re.compile(r"(.*?)[ _-]?(?:\d|[abcdABCD])|(?:\d|[abcdABCD])[ _-](.+)|\('(.+)', '.+'\)")  # the last by pandas
_FACTS = {
    "target",
    "attack",
    "goal",
    "task",
    "category",
    "judge",
}  # columns of TURNS that a field of the same name fills
_OF_ALL = frozenset(TURNS.names) - {
    *_FACTS,
    "run",
    "attempt",
    "expected",
    "context",
}  # of all records that it surrounds
_OF_TURNS = {"succeeded", "refused", "score", "reward"}  # columns of TURNS on a turn, which a field of that name fills
SIDE_BY_SIDE = "holds several answers to each prompt side by side (`{}`): make each a row, with its verdict"
UNREAD = "may hold further records, in a form that is not read"
JUDGMENTS = (
    "holds several judgments of a record, which are not read: write the one that counts as a field of the record"
)
_NO_TEXTS = {"bool", "binary", "unit", "list", "empty"}


def lists_of(
    draft: "Structure", path: str, fields: dict[str, Field], places: Places, *, has_rows: bool, is_named: bool
) -> None:
    """Put the list of messages or turns of each record into a mapping, if they have one.

    Where the user named the records, a list of texts without verdicts in them is of turns, whatever its name.
    """
    if has_rows:
        return
    inner = below(path, places)
    for place, items in inner.items():
        if is_chat(place, items, fields):
            draft.data |= {
                "turns": place.removesuffix("[*]"),
                **speakers(speaking([item.value for item in items[:200]])),
            }
            draft.why.append(f"`{place.removesuffix('[*]')}` are the messages of each")
            return
    _scores(draft, inner)
    _note_judgments(draft, inner, fields)
    # Lists with a prompt and its answer come first: beside them, rounds of a plan are no turns.
    insides = {place: fields_of(item.value for item in items[:200]) for place, items in inner.items()}
    ordered = sorted(inner.items(), key=lambda entry: not {"prompt", "response"} <= roles_of(insides[entry[0]]))
    for place, items in ordered:
        inside = insides[place]
        name, roles = place.removesuffix("[*]"), roles_of(inside)
        noun, texts = noun_of(place), tuple(field.name for field in inside.values() if is_spoken(field))
        if noun in OF_TURNS and texts and not {"prompt", "response"} & roles:
            if name in LISTS:
                sentence = (
                    f"`{name}` are the turns of each, with texts under unknown names: which is the model's answer?"
                )
                draft.questions.append(Question(name, sentence, {"response": "?"}, texts))
            else:
                # Steps of an agent are no turns under any name that the user could give, and must not vanish unsaid.
                draft.unread += [(document, name, UNREAD) for document in draft.files]
            return
        # A record that the user names as the rollout is one: its answers without verdicts, or its rounds, are turns.
        are_judged = any(map(judges, inside.values())) and not (noun in REPEATED and are_all_judged(inside))
        are_rounds = is_named and "response" in roles and not are_judged
        is_told = noun in TOLD and {"prompt", "response"} <= roles
        if are_rounds or is_told or are_turns(place, inside, items):
            draft.data["turns"] = name
            draft.why.append(f"`{name}` are the turns of each")
            _texts_of_turns(draft, items)
            return
    for field in fields.values():
        if holds_messages(field):
            draft.data["turns"] = field.path
            draft.why.append(f"`{field.name}` holds the messages of each as text")
            return


def _note_judgments(draft: "Structure", inner: dict[str, list[Item]], fields: dict[str, Field]) -> None:
    """Note the lists of judgments in records without a verdict of their own."""
    for place, items in inner.items():
        inside = fields_of(item.value for item in items[:200])
        if are_judgments(place, inside) and not any(map(judges, fields.values())):
            draft.unread += [(document, place.removesuffix("[*]"), JUDGMENTS) for document in draft.files]


def _scores(draft: "Structure", inner: dict[str, list[Item]]) -> None:
    """Put a list of named scores in each record into a mapping."""
    for place, items in inner.items():
        fields = fields_of(item.value for item in items[:200])
        name = next(
            (field for field in fields.values() if words_of(field.name)[-1:] and words_of(field.name)[-1] in _NAMES),
            None,
        )
        score = next((field for field in fields.values() if field.role == "score" and field.kind in _NUMBERS), None)
        if name is not None and score is not None and len(fields_of([items[0].value])) > 1:
            draft.data["scores"] = {"each": place, "name": name.path, "from": score.path}
            draft.why.append(f"`{place}` are named scores")
            return


def _texts_of_turns(draft: "Structure", items: Sequence[Item]) -> None:
    """Put the texts of the turns of a list into a mapping, and a score of each."""
    inner = fields_of(item.value for item in items)
    texts_of(draft, inner)
    score = next((field for field in inner.values() if field.role == "score" and field.kind in _NUMBERS), None)
    if score is not None:
        draft.data["score"] = score.path


def texts_of(draft: "Structure", fields: dict[str, Field]) -> None:
    """Put the prompt and the response of records into a mapping; ask where two answers stand side by side."""
    turns = draft.data.get("turns")
    has_answer = any(field.role == "response" for field in fields.values())
    if turns is not None and ("response" in draft.data or not has_answer or speaking([dict.fromkeys(fields, "user")])):
        return
    prompts = [
        field
        for field in fields.values()
        if field.role == "prompt" and field.non_null and field.kind not in _NO_TEXTS and not field.is_number
    ]
    # Of `prompt` and `adversarial_prompt`, the target got the second one.
    prompts.sort(key=lambda field: not {*words_of(field.name)} & _ATTACKING)
    if prompts:
        draft.data["prompt"] = prompts[0].path
    if any("response" in question.names for question in draft.questions):
        return
    answers = [field for field in fields.values() if _answers(field) and (prompts or not field.is_number)]
    pair = [
        field for field in answers if any(_half(field) == _half(rival) != "" for rival in answers if rival is not field)
    ]
    # Two answers may be of a model and a baseline, which a question can settle; three are columns of a wide table.
    if len(pair) > 2:
        pair_names = "`, `".join(field.name for field in pair)
        draft.refusal = SIDE_BY_SIDE.format(pair_names)
        return
    if len(pair) == 2:
        draft.data["columns"] = {**draft.data.get("columns", {}), **{field.name: field.path for field in pair}}
        sentence = f"`{pair[0].name}` and `{pair[1].name}` answer the same prompt: which is of the model under test?"
        draft.questions.append(Question(pair[0].name, sentence, {"response": "?"}, tuple(field.name for field in pair)))
        return
    # A raw answer repeats the other one with the model's markup.
    answers.sort(key=lambda field: (field.kind != "text", "raw" in words_of(field.name)))
    if not answers and prompts and turns is None:
        answers = [field for field in fields.values() if field.role == "content" and field.kind == "text"]
    if answers:
        draft.data["response"] = answers[0].path


def _half(field: Field) -> str:
    """Return the name that two answers side by side share, as `output` of `output_1`; empty for a single answer."""
    match = _PAIR.fullmatch(field.name)
    return "" if match is None else next(filter(None, match.groups()), "")


def _answers(field: Field) -> bool:
    is_said = field.kind == "bool" and all(isinstance(value, str) for value in field.non_null)  # such as "No"
    # An `answer` of two numbers is a label; an answer "No" is one, too short to be told from a label by its values.
    is_word = (field.kind in _NO_TEXTS and not is_said) or (field.kind == "whole" and len(field.distinct) < 3)
    is_named = field.role == "response" or (_half(field) != "" and role_of(_half(field)) == "response")
    return is_named and bool(field.non_null) and not is_word


def stated(draft: "Structure", path: str, items: Sequence[Item], fields: dict[str, Field]) -> None:
    """Put into a mapping what surrounds the records, fields within objects, and facts under our own names."""
    columns: dict[str, Any] = dict(draft.data.get("columns", {}))
    facts: dict[str, Any] = dict(draft.data.get("facts", {}))
    used = {value for value in (*draft.data.values(), *draft.data.get("scores", {}).values()) if isinstance(value, str)}
    for field in fields.values():
        if field.path in used:
            continue
        if field.name in _OF_TURNS and "turns" not in draft.data and _fits(field):
            draft.data[field.name] = field.path
        elif (field.name in _FACTS and field.kind not in _NO_TEXTS) or (
            field.name == "attempt" and _counts_from_one(field)
        ):
            facts[field.name] = field.path
        # A nested field becomes a column under its short name; a field on top is one already.
        elif quoted(field.name) != field.path:
            columns[field.name] = field.path
    for name, rule in facts_of_levels(path, items, fields).items():
        (columns if name in FURTHER else facts).setdefault(name, rule)
    around = around_of(items[0])
    columns |= _model_of_list(path, items[0], {*fields, *around}) if "target" not in roles_of(fields) else {}
    columns |= {name: outer_path for name, outer_path in around.items() if name not in fields}
    draft.data |= {"columns": columns} if columns else {}
    draft.data |= {"facts": facts} if facts else {}


def _model_of_list(path: str, item: Item, names: set[str]) -> dict[str, str]:
    """Return the name of the model that a list called `models` around a record gives, as a column `model`."""
    steps = path.split(".")
    if "{*}" in path or len(steps) != len(item.outers) or any(role_of(name) == "target" for name in names):
        return {}
    for depth, step in enumerate(reversed(steps[:-1])):
        outer = item.outers[-1 - depth]
        name = next((name for name in ("name", "id") if isinstance(outer.get(name), str)), None)
        if step.removesuffix("[*]").lower() in _MODEL_LISTS and name is not None:
            return {"model": f"{'^' * (depth + 1)}{name}"}
    return {}


def around_of(item: Item) -> dict[str, str]:
    """Return the paths of the values in the objects around a record, the nearest first, by name."""
    values: dict[str, str] = {}
    for depth, outer in enumerate(reversed(item.outers)):
        # The list or object that the record itself is in does not count as a fact around it.
        scalars = {name: value for name, value in outer.items() if not _is_around(value, item)}
        # In an object of records, the others are not around this one.
        if any(isinstance(outer.get(key), dict | list) for key in item.keys):
            scalars = {name: value for name, value in scalars.items() if not isinstance(value, dict | list)}
        for name, (path, value) in flat(scalars).items():
            if not isinstance(value, list | dict) and value is not None:
                values.setdefault(spare(name) if name in _OF_ALL else name, f"{'^' * (depth + 1)}{path}")
    return values


def _is_around(value: Any, item: Item) -> bool:
    """Return whether a value is or holds the record, or an object around it, such as an object of records."""
    if any(value is inner for inner in (item.value, *item.outers) if isinstance(inner, dict)):
        return True
    return isinstance(value, dict) and any(_is_around(inner, item) for inner in value.values())


def _fits(field: Field) -> bool:
    """Return whether the values of a field are Booleans, or numbers, as the column of TURNS of its name has them."""
    kind = bool if field.name in {"succeeded", "refused"} else (int, float)
    return bool(field.non_null) and all(
        isinstance(value, kind) and (kind is bool or value is not True) for value in field.non_null
    )


def _counts_from_one(field: Field) -> bool:
    return field.kind in INTEGERS and all(isinstance(value, int) and value > 0 for value in field.non_null)
