"""Names of objects of records, within each other: `{"gpt-4": {"bomb": {...}}}` names a model and a task."""

import re
from collections.abc import Mapping, Sequence

from rollwise.readers.proposal.fields import Field
from rollwise.readers.proposal.places import DEEPEST, Item
from rollwise.readers.proposal.signs import roles_of
from rollwise.readers.roles.names import words_of
from rollwise.readers.roles.values import MODELS

_STEP = re.compile(r'"[^"]*"|[^.\[\]{}"]+|\[\*\]|\{\*\}')
_OF_TURNS = frozenset({"turn", "round", "step", "iteration", "exchange", "message"})
_SPLIT = "split"
_SPLITS = frozenset({"train", "training", "test", "dev", "val", "valid", "validation", "eval", "holdout"})
_VARIANTS = ("variant", *(f"variant_{number}" for number in range(2, DEEPEST + 2)))
FURTHER = frozenset({_SPLIT, *_VARIANTS})  # which are no facts of rollouts: columns of their own


def facts_of_levels(path: str, items: Sequence[Item], fields: dict[str, Field]) -> dict[str, str]:
    """Return the paths of the names around records, by the column that each level of them fills, the nearest first."""
    rules = _rules(path)[::-1][: len(items[0].keys)]
    levels = [[item.keys[-1 - level] for item in items] for level in range(len(rules))]
    columns: list[str | None] = [None] * len(rules)
    models = [level for level, names in enumerate(levels) if all(map(MODELS.search, names))]
    if models and "target" not in roles_of(fields):
        columns[models[0]] = "target"
    if columns and columns[0] is None and path.endswith("[*]"):
        columns[0] = _of_lists(levels[0], fields)
    unnamed = [level for level, column in enumerate(columns) if column is None]
    if "task" not in columns and unnamed:
        # The nearest of the levels with the most names: `clean` and `attacked` within each task are two ways of asking it.
        columns[max(unnamed, key=lambda level: (len({*levels[level]}), -level))] = "task"
    variants = iter(_VARIANTS)
    for level in unnamed:
        if columns[level] is None:
            is_category = "category" not in (*columns, *roles_of(fields)) and _holds(
                levels[level], levels[columns.index("task")]
            )
            columns[level] = "category" if is_category else next(variants)
    return {str(column): rule for column, rule in zip(columns, rules, strict=True)}


def are_numbered(path: str, items: Sequence[Item]) -> bool:
    """Return whether records by name, within records by name, may be the turns of these: their names say so, or are numbers."""
    if not path.endswith("{*}{*}"):
        return False
    names = {item.keys[-1] for item in items}
    if all({*words_of(re.sub(r"\d+", " ", name))} & _OF_TURNS for name in names):
        return True
    has_models = any(all(map(MODELS.search, level)) for level in zip(*(item.keys[:-1] for item in items), strict=False))
    return not has_models and all(name.isdigit() for name in names)


def numbered_turns(items: Sequence[Item]) -> list[Item]:
    """Return records by number with the names of turns: number 1 is `turn 1`."""
    return [
        item._replace(keys=(*item.keys[:-1], f"turn {item.key}")) if (item.key or "").isdigit() else item
        for item in items
    ]


def _holds(outer_names: Sequence[str], tasks: Sequence[str]) -> bool:
    """Return whether each task is below one name alone, as it is below its category."""
    return len({*zip(outer_names, tasks, strict=True)}) == len({*tasks})


def _rules(path: str) -> list[str]:
    """Return the paths from a record to each name around it, the outermost first."""
    steps = _STEP.findall(path)
    depths: list[int] = []  # number of objects around the names of each level, with the object that they name
    depth, is_around = 0, True  # an object is around the records where its fields, or its records by name, lead to them
    for place, step in enumerate(steps):
        is_last = place + 1 == len(steps)
        if step == "{*}":
            depth, is_around = depth + (not is_last), True
            depths.append(depth + is_last)
        elif step == "[*]":
            is_around = False
        else:
            depth, is_around = depth + (not is_around), False
    innermost = depth + 1
    return [f"{'^' * (innermost - level)}@key" for level in depths]


def _of_lists(names: Sequence[str], fields: Mapping[str, Field]) -> str | None:
    """Return the column that names of lists of records fill; None where they may be tasks."""
    distinct = {*names}
    if all({*words_of(name)} & _SPLITS for name in distinct):
        return _SPLIT
    # With more questions than lists, the name of a list is the category of its questions.
    questions = [field for field in fields.values() if field.role in {"prompt", "goal", "task"}]
    differ = any(len({*map(str, field.values)}) > len(distinct) for field in questions)
    return "category" if differ and all(field.role != "category" for field in fields.values()) else None
