"""Records as structs whose fields are learned from the records met: decoded in one go, straight into columns.

A decoder that knows the names in a record makes no dict of it and looks no name up. What it does not know it refuses,
so that nothing is passed over: such a record is read the long way, and its names are learned.
"""

import re
from collections.abc import Callable, Collection, Sequence
from operator import attrgetter
from typing import Annotated, Any

import msgspec

_NO_FIELD = re.compile(r'[\x00-\x1f"\\\ud800-\udfff]')
NOTHING = Annotated[list[Any], msgspec.Meta(min_length=1, max_length=0)]  # what no value is
MOST_COLUMNS = 512  # of one file
MOST_TIMES = 64  # that names are learned: a file in which there are more has another in every record


def may_be_a_field(name: str) -> bool:
    r"""Return whether a struct can have a field of that name: a record with another name is read the long way.

    Examples
    --------
    >>> may_be_a_field("größe"), may_be_a_field('a "name"'), may_be_a_field("half of a pair: \ud83d")
    (True, False, False)
    """
    return not _NO_FIELD.search(name)


class Learned:
    """A struct, and the further fields that records turned out to have.

    Parameters
    ----------
    base
        The fields that are known from the start.
    kind_of
        What a further field of that name must be to be taken; None refuses the name.
    wanted
        Where it is given, a record with one of these names that is not known yet is refused, and what is under any other
        name is passed over; where not, every name that is not known is refused.

    Examples
    --------
    >>> class Chat(msgspec.Struct):
    ...     id: int
    >>> chats = Learned(Chat, lambda name: Any)
    >>> chats.learn(["id", "mood"])
    >>> records = msgspec.json.decode(b'[{"id": 1, "mood": "good"}, {"id": 2}]', type=list[chats.kind])
    >>> chats.columns(records)
    {'mood': ['good', None]}
    """

    def __init__(
        self, base: type[msgspec.Struct], kind_of: Callable[[str], Any], wanted: Collection[str] | None = None
    ) -> None:
        self._base = base
        self._kind_of = kind_of
        self._wanted = wanted
        self._names: list[str] = []
        self._times = 0
        self.kind = self._made()

    def learn(self, names: Collection[str], base: type[msgspec.Struct] | None = None) -> None:
        """Know these names as well from now on; `base` takes the place of the one there was."""
        base = base or self._base
        known = {*base.__struct_encode_fields__, *self._names}
        new = [name for name in names if name not in known and self._kind_of(name) is not None and may_be_a_field(name)]
        if len(self._names) + len(new) > MOST_COLUMNS or self._times == MOST_TIMES:
            new = []
        if new or base is not self._base:
            self._base, self._names = base, [*self._names, *new]
            self._times += bool(new)
            self.kind = self._made()

    def columns(self, records: Sequence[msgspec.Struct]) -> dict[str, list[Any]]:
        """The columns of the fields that were learned; null where a record has no such field."""
        return {name: list(map(attrgetter(f"column_{place}"), records)) for place, name in enumerate(self._names)}

    def _made(self) -> type[msgspec.Struct]:
        kinds = {name: self._kind_of(name) for name in self._names}
        missed = sorted({*(self._wanted or ())} - {*kinds, *self._base.__struct_encode_fields__})
        fields = [
            (f"column_{place}", kind, msgspec.field(name=name, default=None))
            for place, (name, kind) in enumerate({**kinds, **dict.fromkeys(missed, NOTHING)}.items())
        ]
        strict = self._wanted is None
        return msgspec.defstruct("Learned", fields, bases=(self._base,), gc=False, forbid_unknown_fields=strict)
