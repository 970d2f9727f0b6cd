"""Records with lists of answers and of verdicts, such as several samples of a model for one task: each sample is a rollout."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rollwise.readers.proposal.fields import Field, flat
from rollwise.readers.proposal.places import Item
from rollwise.readers.proposal.signs import decoded, judges
from rollwise.readers.roles.names import role_of, verdict_claim, words_of
from rollwise.readers.roles.values import kind_of
from rollwise.readers.roles.words import word

if TYPE_CHECKING:
    from rollwise.readers.proposal.structure import Structure

_MOSTLY = 0.9  # share of records whose lists have equally many items; the others are broken
_FIRST = 200  # records that show what their lists hold
# Names of a list of samples, and words of one of turns.
_SAMPLED = frozenset(
    {
        "response", "responses", "answer", "answers", "output", "outputs", "completion", "completions", "code", "codes", "solution",
        "solutions", "sample", "samples", "candidate", "candidates", "prediction", "predictions", "pred", "preds", "reply",
        "replies", "generation", "generations", "texts", "programs",
    }
)  # fmt: skip
_OF_TURNS = frozenset(
    {"prompt", "prompts", "question", "questions", "queries", "turn", "turns", "round", "rounds", "messages"}
)
_OF_VERDICTS = frozenset(
    {"results", "result", "score", "scores", "correctness", "labels", "verdicts", "judgments", "judgements", "outcomes"}
)


def samples_of(items: list[Item], fields: Mapping[str, Field], draft: "Structure", names: Container[str]) -> list[Item]:
    """Return a record for each place in their lists of answers and verdicts, such as samples of a model for one task.

    Lists of prompts beside them are of turns. A verdict of the whole record says no more if it is that of any or of all samples;
    where it says something else, the records are left as they are, as they are where the user names their ids.
    """
    if "rollout_id" in names:
        return items
    lists = {name: field for name, field in fields.items() if field.is_usual and _are_lists(field)}
    verdict = next((name for name, field in lists.items() if _are_verdicts(name, field)), None)
    if verdict is None:
        return items
    sizes = [_size(value) for value in lists[verdict].values]
    lists = {name: field for name, field in lists.items() if _share(map(_size, field.values), sizes) >= _MOSTLY}
    answers = [name for name, field in lists.items() if {*words_of(name)[-1:]} & _SAMPLED and _are_texts(field)]
    is_asked = any(field.role in {"prompt", "task", "goal"} and field.kind != "list" for field in fields.values())
    if not answers or not is_asked or any({*words_of(name)} & _OF_TURNS for name in lists):
        return items
    redundant = _redundant(fields, lists, verdict)
    if redundant is None:
        return items
    answer = next((name for name in answers if role_of(name) == "response"), answers[0])
    short = {name: "response" if name == answer else words_of(name)[-1] if "." in name else name for name in lists}
    draft.data["samples"] = {short[name]: lists[name].path for name in lists}
    draft.why.append(f"`{'`, `'.join(lists)}` have an item for each sample")
    if redundant:
        draft.data["left_out"] = [field.path for field in redundant]
        draft.why.append(f"`{'`, `'.join(field.name for field in redundant)}` says the same of any or all samples")
    used = {*lists, *(field.name for field in redundant)}
    return [sample for item, size in zip(items, sizes, strict=True) for sample in _split(item, size, short, used)]


def _redundant(fields: Mapping[str, Field], lists: Mapping[str, Field], verdict: str) -> list[Field] | None:
    """Return the verdicts of whole records that hold for any or for all of their samples; None where one says something else."""
    sides = [[word(label).side for label in _listed(value) or ()] for value in lists[verdict].values]
    sums = [any(labels) for labels in sides], [all(labels) for labels in sides]
    verdicts = [field for name, field in fields.items() if name not in lists and judges(field)]
    of_records = ([None if value is None else word(value).side for value in field.values] for field in verdicts)
    return verdicts if all(sides_of_records in sums for sides_of_records in of_records) else None


def _split(item: Item, size: int, short: Mapping[str, str], used: Container[str]) -> Iterator[Item]:
    """Iterate over the samples of a record; none where its lists differ in length, which makes it a broken one."""
    fields = flat(item.value)
    others = {name: value for name, value in item.value.items() if name not in used}
    inner = {short[name]: _listed(fields[name][1]) or [] for name in short if name in fields}
    if {*map(len, inner.values())} == {size}:
        for place in range(size):
            yield item._replace(value=others | {name: values[place] for name, values in inner.items()})


def _listed(value: Any) -> list[Any] | None:
    """Return a list, which may be text in a cell; None for all else."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = decoded(value)
    return value if isinstance(value, list) else None


def _share(sizes: Iterable[int], of_verdicts: Sequence[int]) -> float:
    """Return for how many records two lists have equally many items."""
    count: int = sum(size == expected for size, expected in zip(sizes, of_verdicts, strict=True))
    return count / max(1, len(of_verdicts))


def _size(value: Any) -> int:
    return len(_listed(value) or ())


def _are_lists(field: Field) -> bool:
    """Return whether all values are lists of plain values, some with items."""
    lists = [_listed(value) for value in field.non_null[:_FIRST]]
    return any(lists) and all(
        values is not None and not any(isinstance(label, list | dict) for label in values) for values in lists
    )


def _are_verdicts(name: str, field: Field) -> bool:
    """Return whether lists hold yes and no under a name that may be one of verdicts."""
    items = [label for value in field.non_null[:_FIRST] for label in _listed(value) or ()]
    may_be = verdict_claim(name) is not None or bool({*words_of(name)} & _OF_VERDICTS)
    is_word = kind_of(items) == "words" and all(word(label).side is not None for label in {*items} - {None, ""})
    return may_be and (is_word or kind_of(items) in {"bool", "binary"})


def _are_texts(field: Field) -> bool:
    return all(isinstance(text, str) for value in field.non_null[:_FIRST] for text in _listed(value) or ())
