"""Tables with a row for each prompt and a column of verdicts for each model: asked about, and read where they are named."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rollwise.readers.proposal.fields import Field
from rollwise.readers.proposal.signs import roles_of
from rollwise.readers.roles.names import verdict_claim
from rollwise.readers.roles.questions import OPEN, Question
from rollwise.readers.roles.values import MODELS
from rollwise.readers.roles.words import word

if TYPE_CHECKING:
    from rollwise.readers.proposal.structure import Structure

COMMA = ","
_WIDE = "holds a column for each of several models (`{}`), which may be the verdicts on them"
_MATRIX = "holds a value for each of several models and tasks (`{}`), which may be the verdicts of rollouts"
_NOWHERE = "has no column `{}`: its columns are `{}`"
_NUMBERS = {"unit", "number", "whole"}


def ask_targets(draft: "Structure", fields: Mapping[str, Field]) -> None:
    """Refuse a table whose columns may be verdicts on a model each, with the line that reads them so."""
    columns = _columns_of_models(fields)
    if not columns:
        return
    names = "`, `".join(field.name for field in columns)
    objects = {field.path.rpartition(".")[0] for field in columns}
    if 1 < len(objects) < len(columns) and len(columns[0].values) == 1:  # a file that is one object of objects
        others = [field.name for field in fields.values() if field.path.rpartition(".")[0] not in objects]
        draft.refusal, draft.offered = _MATRIX.format(names), ()
        if others:
            draft.refusal += f"; take `{'`, `'.join(others)}` out of the file: it is none"
        else:
            draft.offered = (Question("", f"is each of `{names}` a rollout?", {"records": "{*}{*}"}),)
        return
    draft.refusal = _WIDE.format(names)
    answer: dict[str, Any] = {"targets": COMMA.join(field.name for field in columns)}
    if _short_name(columns) != "success" or columns[0].kind in {"words", "strings"}:
        question = Question("", f"does each of `{names}` say what came of the attacks on a model?", answer)
    else:
        sentence = f"if each of `{names}` says whether it succeeded on a model, whose success is it: attack or task?"
        question = Question("", sentence, answer | {"of": OPEN}, ("attack", "task"))
    draft.offered = (question,)


def is_wide(fields: Mapping[str, Field]) -> bool:
    """Return whether columns may be verdicts on a model each."""
    return bool(_columns_of_models(fields))


def named_targets(draft: "Structure", fields: dict[str, Field], names: str) -> dict[str, Any]:
    """Return the targets whose columns the user names, each with its column; the fields become those of one target."""
    columns = [fields[name] for name in names.split(COMMA) if name in fields]
    missing = next((name for name in names.split(COMMA) if name not in fields), None)
    if missing is not None:
        draft.refusal = _NOWHERE.format(missing, "`, `".join(fields))
        return {}
    short, targets = _short_name(columns), _targets(columns)
    for field in columns:
        del fields[field.name]
    fields[short] = Field(short, short, [value for field in columns for value in field.values])
    draft.why.append(f"`{'`, `'.join(targets)}` have a column each")
    return {"targets": {target: {short: field.path} for target, field in zip(targets, columns, strict=True)}}


def _columns_of_models(fields: Mapping[str, Field]) -> list[Field]:
    """Return the columns that are called as models are, most of them, and hold verdicts of one kind; none beside answers."""
    # Beside an answer, columns called as models are judge it, a judge each.
    if "response" in roles_of(dict(fields)):
        return []
    groups: dict[str, list[Field]] = {}
    for field in fields.values():
        if COMMA not in field.name and field.is_usual and (kind := _kind(field)) is not None:
            groups.setdefault(kind, []).append(field)
    for columns in groups.values():
        models = [field for field in columns if MODELS.search(field.name)]
        if len(models) > 1 and 2 * len(models) > len(columns):
            return columns
    return []


def _kind(field: Field) -> str | None:
    """Return what kind of verdicts a column may hold, with the ending of its name if that says so; None for any other column."""
    # The model's name comes first: of `gpt4_jailbroken` the ending is the verdict, which all columns of one kind share.
    claim = verdict_claim(field.name)
    ending = "" if claim is None else re.split(r"[_ .-]", field.name)[-1]
    if field.role not in {None, "other"} or (claim is not None and not ending):
        return None
    if field.kind in {"bool", "binary"}:
        return f"sides {ending}"
    meanings = {word(value) for value in field.distinct} if field.kind in {"words", "strings"} else set()
    sides = {meaning.side for meaning in meanings if meaning.whose in {"attack", "either", "test", "task"}}
    return f"words {ending}" if sides - {None} and len(field.distinct) <= len(meanings) + 1 else None


def _targets(columns: Sequence[Field]) -> list[str]:
    """Return the names of columns without an ending that they share, such as `_jailbroken`."""
    names = [field.name for field in columns]
    ending = _ending(names)
    return [name.removesuffix(ending) for name in names]


def _short_name(columns: Sequence[Field]) -> str:
    """Return what the verdicts are called: the ending that all names share where it is one of verdicts."""
    ending = re.sub(r"^[_ .-]+", "", _ending(field.name for field in columns))
    if ending and verdict_claim(ending) is not None:
        return ending
    if any(word(value).whose == "attack" for field in columns for value in field.distinct):
        return "attack_verdict"
    return "score" if all(field.kind in _NUMBERS for field in columns) else "success"


def _ending(names: Iterable[str]) -> str:
    """Return the ending that names share, from a sign between words on; empty without one."""
    # An ending such as `-8b` is part of the model's name: only that of a verdict or a score is taken off.
    first, *others = names
    signs = [match.start() for match in re.finditer(r"[_ .-]", first)]
    ending = next((first[start:] for start in signs if all(name.endswith(first[start:]) for name in others)), "")
    return ending if verdict_claim(ending) is not None or ending.strip("_ .-") == "score" else ""
