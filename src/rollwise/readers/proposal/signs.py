"""Signs that records speak, judge, ask or answer, and the merit of a place that may be that of the rollouts."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from rollwise.readers.chat_names import ROLES, TEXTS
from rollwise.readers.chats.speakers import SPEAKERS, speaker
from rollwise.readers.json_texts import list_in_cell
from rollwise.readers.problems import BrokenError
from rollwise.readers.proposal.fields import Field, fields_of
from rollwise.readers.proposal.places import WHOLE_RECORD, Item, Places
from rollwise.readers.roles.names import COUNTS, role_of, verdict_claim, words_of
from rollwise.readers.roles.words import word

_OF_FACTS = 1.5  # most merit of records with facts alone: less than a place of rollouts needs
_FIRST = 20  # messages that show what their fields are called
LEAST = 2  # merit of a place that may hold the rollouts
ENOUGH = 300  # records that show what a place holds
SPOKEN = (*ROLES, "source")  # names of fields with the speaker
# Names of a list whose items are turns of one conversation.
OF_TURNS = frozenset(
    {
        "turns", "turn", "rounds", "exchanges", "history", "messages", "dialogue", "dialog", "conversation", "trajectory",
        "transcript", "chat", "steps",
    }
)  # fmt: skip
# Words that call numbered records turns: as the name of the object that holds them, or beside their numbers.
_NUMBERED = frozenset({"turn", "turns", "round", "rounds", "exchange", "exchanges", "messages", "message"})
_DIGITS = re.compile(r"\d+")
TOLD = OF_TURNS - {"history", "trajectory", "steps"}  # which are of the record around them, whatever judges them
CONVERSATIONS = frozenset(
    {
        "conversation", "conv", "rollout", "session", "thread", "dialog", "dialogue", "chat", "episode", "trajectory",
        "transcript",
    }
)  # fmt: skip
# Words of the names of lists that hold parts of a rollout: what checks it, and who judges it.
_PARTS = frozenset(
    {
        "test", "tests", "check", "checks", "checkpoint", "checkpoints", "criteria", "criterion", "rubric", "rubrics",
        "assertion", "assertions", "milestones", "subtasks", "subgoals", "judges", "judgements", "judgments", "votes", "voters",
        "ratings", "raters", "annotations", "annotators", "graders", "evaluators", "metrics", "scores",
    }
)  # fmt: skip
# Names of a list whose items may be rollouts, or the rounds of one.
ROUNDS = frozenset(
    {
        "iterations", "iteration", "attempts", "queries", "tries", "trials", "refinements", "history", "log", "logs", "prompts",
        "candidates", "steps", "probes", "interactions", "events",
    }
)  # fmt: skip
REPEATED = frozenset({"rounds", "iterations", "refinements"})  # names of lists of turns, or of tries that start anew
_ANSWERING = frozenset(
    {"assistant", "ai", "model", "gpt", "chatgpt", "bot", "agent", "target", "llm", "chatbot", "victim"}
)
_VERDICTS = {"bool", "binary", "words"}
_MOST_WORDS = 12
_WEIGHTS = (("response", 3, "an answer"), ("prompt", 2, "a prompt"), ("score", 2, "a score"))
_FACTS = {"id", "task", "target", "attack", "goal", "category", "attempt"}


def speaking(values: Sequence[Any]) -> tuple[str, str] | None:
    """Return the names of speaker and text where values are messages; None where they are something else."""
    if not values or not all(isinstance(value, dict) for value in values):
        return None
    names = {name for value in values[:_FIRST] for name in value}
    for role in (*SPOKEN, *(name for name in names if role_of(name) == "role" and name not in SPOKEN)):
        texts_of_role = [value[role] for value in values if isinstance(value.get(role), str)]
        speakers = [speaker(name).lower() for name in texts_of_role if name in SPEAKERS or name.lower() in SPEAKERS]
        if len(speakers) < 0.9 * len(values) or not {*speakers} & (_ANSWERING | {"user", "human"}):
            continue
        texts = (*TEXTS, *(name for name in names if role_of(name) == "content" and name not in TEXTS))
        text = next((name for name in texts if any(name in value for value in values)), None)
        if text is not None:
            return role, text
    return None


def judges(field: Field) -> bool:
    """Return whether a field looks like a verdict, by its name and its values."""
    claim = verdict_claim(field.name)
    if claim is None or field.kind not in _VERDICTS or not field.non_null:
        return False
    if field.kind != "words":  # a name of something else beside the same value everywhere says nothing
        return claim.whose != "named" and (claim.doubt is None or len(field.distinct) > 1)
    return len(field.distinct) <= _MOST_WORDS and any(word(value).side is not None for value in field.distinct)


def are_all_judged(fields: dict[str, Field]) -> bool:
    """Return whether most records have a verdict."""
    return any(judges(field) and 2 * len(field.non_null) > len(field.values) for field in fields.values())


def holds_messages(field: Field) -> bool:
    """Return whether a field holds lists of messages as text, as a table does."""
    texts = [value for value in field.non_null[:20] if isinstance(value, str) and value.lstrip().startswith("[")]
    if not texts or len(texts) < len(field.non_null[:20]):
        return False
    values = [value for text in texts if (value := decoded(text)) is not None]  # some may be cut
    return 2 * len(values) > len(texts) and all(isinstance(value, list) and speaking(value) for value in values)


def decoded(text: str) -> Any:
    """Return the list or object that the text of a cell is; None for a text that is neither, such as one that is cut."""
    try:
        return list_in_cell(text)
    except BrokenError:
        return None


def is_chat(name: str, items: Sequence[Item], fields: dict[str, Field]) -> bool:
    """Return whether a list in each record is its chat, and not the prompt of an answer in the field next to it."""
    has_answer = any(role_of(field_name.partition(".")[0]) == "response" for field_name in fields)
    is_prompt = has_answer and any(role_of(part) == "prompt" for part in name.removesuffix("[*]").split("."))
    return not is_prompt and speaking([item.value for item in items[:ENOUGH]]) is not None


def are_turns(path: str, fields: dict[str, Field], items: Sequence[Item]) -> bool:
    """Return whether a list holds the turns of the record around it, rather than records.

    Its name says so, or its numbers; where each has a verdict and is next to counts, or in no record, they are records.
    So they are where their numbers begin again: the list holds several conversations.
    """
    noun, roles = noun_of(path), roles_of(fields)
    has_texts = bool(roles & {"prompt", "response"} or (noun in TOLD and any(map(is_spoken, fields.values()))))
    if not path.endswith("[*]") or not has_texts:
        return has_texts and are_turns_by_name(path, items)
    number = next(
        (field for field in fields.values() if field.role == "turn" and field.kind in {"whole", "binary"}), None
    )
    if number is not None and _begins_again(number, items):
        return False
    are_judged = any(field.is_usual and judges(field) for field in fields.values())
    is_alone = len(items[0].outers) - _plain_steps(path) < 2
    are_several = len({id(item.outers[-1]) for item in items if item.outers}) > 1
    # Lists of this name in several records are turns whatever judges them; rounds without a number may be attempts.
    if are_several and noun in (TOLD if number is not None else TOLD - {"rounds"}):
        return True
    if noun in TOLD - {"rounds"} and items[0].outers and _is_judged_around(items[0]):
        return True  # of the conversation that the verdict around them is on
    return (noun in OF_TURNS or number is not None) and not (are_judged and (counted(items[0]) or is_alone))


def _is_judged_around(item: Item) -> bool:
    """Return whether the object around a record has a verdict, and no counts of records."""
    around = {name: value for name, value in item.outers[-1].items() if not isinstance(value, list | dict)}
    return not counted(item) and any(map(judges, fields_of([around]).values()))


def noun_of(path: str) -> str:
    """Return the last word of the name of a list or object, which says what its items are; empty for what is neither."""
    name = path.removesuffix("[*]").removesuffix("{*}").rpartition(".")[2]
    return next(reversed(words_of(name)), "") if name and path.endswith(("[*]", "{*}")) else ""


def are_turns_by_name(path: str, items: Sequence[Item]) -> bool:
    """Return whether the records of an object are called as turns are, such as `turn_1` or, in `turns`, `1`."""
    if not path.endswith("{*}") or not all(any(map(str.isdigit, item.key or "")) for item in items):
        return False
    return noun_of(path) in _NUMBERED or all(
        {*words_of(_DIGITS.sub(" ", item.key or ""))} & _NUMBERED for item in items
    )


def is_spoken(field: Field) -> bool:
    """Return whether a field has texts of several words under a name that says nothing else: an answer may be called anything."""
    return (
        field.kind == "text"
        and field.role in {None, "other", "target", "content"}
        and verdict_claim(field.name) is None
    )


def _begins_again(number: Field, items: Sequence[Item]) -> bool:
    """Return whether a number repeats within one list."""
    pairs: set[tuple[int, str]] = set()
    for value, item in zip(number.values, items, strict=False):
        key = (id(item.outers[-1]) if item.outers else item.file, str(value))
        if value is not None and key in pairs:
            return True
        pairs.add(key)
    return False


def _plain_steps(path: str) -> int:
    """Return the number of objects of a path that are neither records nor hold them."""
    steps = re.sub(r'"[^"]*"', "name", path).split(".")
    return sum("[*]" not in step and "{*}" not in step for step in steps)


def are_parts(path: str, places: Places) -> bool:
    """Return whether records without texts are called checks or judgments of the record around them, such as its tests."""
    name = words_of(path.removesuffix("[*]").removesuffix("{*}").rpartition(".")[2])
    return bool({*name} & _PARTS) and not speaks(path, places)


def are_judgments(path: str, fields: dict[str, Field]) -> bool:
    """Return whether a list in each record holds verdicts on it by several judges or checks, without texts of its own."""
    is_named = bool({*words_of(path.removesuffix("[*]").rpartition(".")[2])} & _PARTS)
    return is_named and any(map(judges, fields.values())) and "response" not in roles_of(fields)


def speaks(path: str, places: Places) -> bool:
    """Return whether the records of a place have answers, messages or turns."""
    fields = fields_of(item.value for item in places[path][:ENOUGH] if isinstance(item.value, dict))
    inner = below(path, places)
    return "response" in roles_of(fields) or bool([*_signs_of_lists(inner, fields)])


def counted(item: Item) -> list[str]:
    """Return the names of the numbers around a record that count records."""
    around = item.outers[-1] if item.outers else {}
    numbers = (name for name, value in around.items() if isinstance(value, int | float) and not isinstance(value, bool))
    return [
        name
        for name in numbers
        if {*words_of(name)} & COUNTS and not {*words_of(name)} & {"token", "tokens", "cost", "max"}
    ]


def roles_of(fields: dict[str, Field]) -> set[str]:
    """Return the roles of fields that enough records have; lists are neither prompts nor answers, and numbers no prompts."""
    usual = [field for field in fields.values() if field.role is not None and field.is_usual]
    prompts = [field for field in usual if field.role == "prompt" and field.kind != "list" and not field.is_number]
    # A number may answer a question; without one it is a price.
    others = [
        field
        for field in usual
        if field.role != "prompt"
        and (field.role != "response" or (field.kind != "list" and (prompts or not field.is_number)))
    ]
    return {str(field.role) for field in [*prompts, *others]}


def below(path: str, places: Places) -> dict[str, list[Item]]:
    """Return the lists in the records of a place, and objects of turns by name, by their path in the record."""
    start = "" if path == WHOLE_RECORD else f"{path}."
    inner = {place[len(start) :]: items for place, items in places.items() if place.startswith(start) and place != path}
    lists = {place: items for place, items in inner.items() if re.fullmatch(r"[^\[\]{}]+\[\*\]", place)}
    by_name = {place: items for place, items in inner.items() if re.fullmatch(r"[^\[\]{}]+\{\*\}", place)}
    if path != WHOLE_RECORD and f"{path}{{*}}" in places:
        by_name["{*}"] = places[f"{path}{{*}}"]
    return lists | {place: items for place, items in by_name.items() if are_turns_by_name(place, items)}


def merit(path: str, places: Places) -> tuple[float, list[str]]:
    """Return the merit of a place that may be that of the rollouts, and the signs that it rests on."""
    items = places[path]
    values = [item.value for item in items[:ENOUGH]]
    if _holds_rollouts(path, places):
        return 0, []
    if not all(isinstance(value, dict) for value in values):
        return _merit_of_values(path, items[:ENOUGH])
    fields = every = outside(fields_of(values), path, places)
    if (
        path == WHOLE_RECORD and len(items) == 1
    ):  # in an object that is a whole file, those of other objects may say anything
        fields = {name: field for name, field in every.items() if name in values[0]}
    if speaking(values):
        is_named = any(
            (field.role in {"id", "task"} or {*words_of(field.name)} <= CONVERSATIONS)
            and field.non_null
            and not field.is_unique
            for field in fields.values()
        )
        return (5, ["messages, and the id of their conversation"]) if is_named else (0, [])
    if are_turns(path, fields, items):
        return 0, []
    roles = roles_of(fields)
    signs = [*_signs_of_fields(fields, roles), *_signs_of_lists(below(path, places), every)]
    points = sum(weight for weight, _ in signs) + ("attack" in roles) + 0.5 * len(roles & _FACTS)
    if not signs:  # facts alone may be those of a plan of runs
        return min(points, _OF_FACTS), []
    counts = counted(items[0])
    if counts and points >= 2:
        signs.append((2, f"counts around them (`{'`, `'.join(counts[:3])}`)"))
        points += 2
    return points - (path == WHOLE_RECORD and len(items) == 1), [reason for _, reason in signs]


def _holds_rollouts(path: str, places: Places) -> bool:
    """Return whether the records by name of a place are objects of records by name, which may be rollouts."""
    inner = f"{path}{{*}}"
    is_object = path.endswith("{*}") and inner in places
    return is_object and (merit(inner, places)[0] >= LEAST or _holds_rollouts(inner, places))


def outside(fields: dict[str, Field], path: str, places: Places) -> dict[str, Field]:
    """Return the fields of records, except the fields of the records by name inside them."""
    start = "" if path == WHOLE_RECORD else f"{path}."
    inner = [place[len(start) :].partition("{*}")[0] for place in places if place.startswith(start) and place != path]
    inner = [name for name in inner if name and "[" not in name and f"{start}{name}{{*}}" in places]
    return {
        name: field
        for name, field in fields.items()
        if not any(field.path.startswith(f"{object_name}.") for object_name in inner)
    }


def without_turns(fields: dict[str, Field], path: str, places: Places) -> dict[str, Field]:
    """Return the fields of records, except those of their turns by name."""
    names = [place.removesuffix("{*}") for place in below(path, places) if place.endswith("{*}")]
    return {
        name: field
        for name, field in fields.items()
        if not any(field.path.startswith(f"{turns}.") or not turns for turns in names)
    }


def _merit_of_values(path: str, items: Sequence[Item]) -> tuple[float, list[str]]:
    """Return the merit of records that are no objects."""
    values = [item.value for item in items]
    if all(isinstance(value, list) for value in values):
        are_chats = all(speaking(value) for value in values[:50])
        return (6, ["a list of messages"]) if are_chats else (0, [])
    if all(isinstance(value, str) for value in values) and path.endswith("[*]"):
        return (0, []) if any(map(_has_parallel_lists, items)) else (7, ["several answers to each prompt"])
    are_verdicts = path.endswith("{*}") and not any(isinstance(value, dict | list) for value in values)
    return (4, ["a verdict"]) if are_verdicts else (0, [])


def _has_parallel_lists(answer: Item) -> bool:
    """Return whether the record of several answers has another list of as many items, such as their verdicts."""
    lists = [value for value in answer.outers[-1].values() if isinstance(value, list)]
    size = next(len(values) for values in lists if answer.value in values)
    return sum(len(values) == size for values in lists) > 1


def _signs_of_fields(fields: dict[str, Field], roles: set[str]) -> Iterator[tuple[float, str]]:
    """Iterate over what fields of records say of them, each with its weight."""
    verdict = next((field for field in fields.values() if field.is_usual and judges(field)), None)
    if verdict is not None:
        yield 4, f"a verdict (`{verdict.name}`)"
    yield from ((weight, words) for role, weight, words in _WEIGHTS if role in roles)
    if roles & {"id", "task"} and roles & {"tokens", "seconds", "cost"}:
        yield 1.5, "an id and its costs"


def _signs_of_lists(inner: dict[str, list[Item]], fields: dict[str, Field]) -> Iterator[tuple[float, str]]:
    """Iterate over what the lists in records say of them, each with its weight."""
    chat = next((name for name, items in inner.items() if is_chat(name, items, fields)), None)
    chat = chat or next((field.name for field in fields.values() if holds_messages(field)), None)
    if chat is not None:
        yield 4, f"messages (`{chat.removesuffix('[*]')}`)"
        return
    for name, items in inner.items():
        if are_turns(name, fields_of(item.value for item in items[:ENOUGH]), items):
            yield 5, f"turns (`{name.removesuffix('[*]')}`)"
            return
