"""Rows with columns of one turn each: a row is a conversation."""

from typing import TYPE_CHECKING, Any

from rollwise.readers.proposal.fields import Field
from rollwise.readers.roles.numbered import rounds_by_name

if TYPE_CHECKING:
    from rollwise.readers.proposal.structure import Structure


def rounds_in_columns(fields: dict[str, Field], draft: "Structure") -> dict[str, Any]:
    """Return the turns of rows that have columns for each of them, and put their fields under one name.

    Where the prompts of a row are the same, its answers are samples: these are left alone.
    """
    rounds = rounds_by_name(fields)
    turns = {speaker: [fields[name] for name in names] for speaker, names in rounds.items()}
    columns_of_turns = [field for columns in turns.values() for field in columns]
    spoken = [field for speaker in ("prompt", "response") for field in turns.get(speaker, ())]
    if (
        not turns
        or _repeats(turns["prompt"])
        or not all(isinstance(text, str) for field in spoken for text in field.non_null)
    ):
        return {}
    first, last = rounds["prompt"][0], rounds["response"][-1]
    draft.why.append(f"columns of {len(rounds['prompt'])} turns each, `{first}` to `{last}`")
    for field in columns_of_turns:
        del fields[field.name]
    for speaker, columns in turns.items():
        fields[speaker] = Field(speaker, speaker, [text for field in columns for text in field.values])
    return {"rounds": {speaker: [field.path for field in columns] for speaker, columns in turns.items()}}


def _repeats(columns: list[Field]) -> bool:
    """Return whether most rows have one text in all columns: samples of one prompt, not turns."""
    rows = [{*filter(None, texts)} for texts in zip(*(field.values for field in columns), strict=True)]
    several = [texts for texts in rows if texts]
    return sum(len(texts) == 1 for texts in several) > len(several) / 2
