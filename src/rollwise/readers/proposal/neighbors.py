"""Records around others, and lists beside each other: which of them may be the rollouts."""

from collections.abc import Sequence

from rollwise.readers.proposal.fields import fields_of
from rollwise.readers.proposal.places import ALONE, Item, Places
from rollwise.readers.proposal.signs import ROUNDS, judges, merit, outside
from rollwise.readers.roles.names import words_of
from rollwise.readers.roles.words import word

LEAST = 2  # merit of a place that may hold the rollouts
_ALIKE = 0.7  # share of the fields that records of one kind have in common


def outer_of(path: str) -> str | None:
    """Return the path of the records around those of a path; null where these are in no other record."""
    head, dot, _ = path.rpartition(".")
    if dot and head.endswith(("[*]", "{*}")):
        return head
    return ALONE if path.count("[*]") == 1 and "{*}" not in path and path != ALONE and "." not in path else None


def has_one_verdict(places: Places, outer: str, path: str) -> bool:
    """Return whether not both of the outer and the inner records have a verdict of their own."""
    both = []
    for place in (outer, path):
        values = (item.value for item in places[place] if isinstance(item.value, dict))
        fields = outside(fields_of(values), place, places)
        both.append([field for field in fields.values() if field.is_usual and judges(field)])
    return not all(both)


def is_judged_whole(places: Places, path: str) -> bool:
    """Return whether the object around records has a verdict, and they have none: they may be the turns of one rollout."""
    items = places[path]
    if not path.endswith("[*]") or any(
        judges(field) for field in fields_of(item.value for item in items if isinstance(item.value, dict)).values()
    ):
        return False
    around = fields_of(item.outers[-1] for item in items if item.outers).values()
    verdicts = [field for field in around if field.kind != "binary" and judges(field)]  # a number may count them
    name = {*words_of(path.removesuffix("[*]").rpartition(".")[2])}
    return bool(verdicts and name & ROUNDS)


def twin_of(places: Places, path: str) -> str | None:
    """Return the path of further records of the same kind in the same object, which would be left out; null without some."""
    parent, names = path.rpartition(".")[0], _names_at(places, path)
    for other in places:
        if other in {path, ALONE} or other.rpartition(".")[0] != parent or not other.endswith("[*]"):
            continue
        own = _names_at(places, other)
        is_alike = len(names & own) >= _ALIKE * len(names | own) and len(own) > 1
        if is_alike and merit(other, places)[0] >= LEAST and not _are_known(places[other], places[path]):
            return other
    return None


def _are_known(items: Sequence[Item], others: Sequence[Item]) -> bool:
    """Return whether records are some of others once more."""
    known = {repr(item.value) for item in others}
    return all(repr(item.value) in known for item in items)


def lists_without_verdict(places: Places, path: str) -> list[str]:
    """Return the names of the lists in an object of lists, if their records have no verdict of their own."""
    items = places[path] if path.endswith("{*}[*]") else []
    fields = fields_of(item.value for item in items if isinstance(item.value, dict)).values()
    return [] if any(map(judges, fields)) else list(dict.fromkeys(str(item.key) for item in items))


def says_side(path: str) -> bool:
    """Return whether the name of a list says what came of the rollouts in it."""
    name = path.removesuffix("[*]").rpartition(".")[2]
    return any(word(one).side is not None for one in (name, name.removesuffix("s"), name.removesuffix("_attacks")))


def _names_at(places: Places, path: str) -> set[str]:
    """Return the names of all fields of the records of a place."""
    return {name for item in places[path] if isinstance(item.value, dict) for name in item.value}
