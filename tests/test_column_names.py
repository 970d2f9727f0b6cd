"""A column called `*` or `^...$` is a column, not a pattern of names: in the code of the package, in verbs and in logs.

The rule looks for calls of Polars that take names for patterns (found out by trying each) with a name that is not written out;
`rollwise.schema.named` takes columns literally.
"""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import odd_calls
import polars as pl
import pytest
from odd_frames import NAMES, frames
from readers.mutants import FIXTURES, LOGS, loaded, written  # type: ignore[import-not-found]  # needs the path of tests

import rollwise as rw
from rollwise import read
from rollwise.errors import ArgumentError, RollwiseError

SOURCE = Path(rw.__file__).parent
FUNCTIONS = frozenset({"col", "exclude", "sum", "mean", "max", "min", "first", "last", "count", "median", "n_unique"})
"""Functions of Polars whose names may be patterns."""
METHODS = frozenset(
    {
        *(
            "select",
            "group_by",
            "drop",
            "sort",
            "unique",
            "over",
            "sort_by",
            "exclude",
            "drop_nulls",
            "explode",
            "unpivot",
        ),
        *("unnest", "partition_by", "struct", "top_k", "bottom_k", "rows_by_key", "to_dummies"),
    }
)
"""Methods and functions whose names may be patterns; of `join`, the option `on` and its like."""
OPTIONS = frozenset({"on", "left_on", "right_on", "by", "subset", "index", "order_by"})


def names_in(node: ast.expr) -> Iterator[ast.expr]:
    """Iterate over what may be names in an argument: the items of lists and of comprehensions, and both ends of a choice."""
    match node:
        case ast.Starred():
            yield from names_in(node.value)
        case ast.List() | ast.Tuple():
            for item in node.elts:
                yield from names_in(item)
        case ast.IfExp():
            yield from names_in(node.body)
            yield from names_in(node.orelse)
        case ast.ListComp() | ast.GeneratorExp():
            yield node.elt
        case ast.Call() if ast.unparse(node.func) == "dict.fromkeys":
            yield from names_in(node.args[0])
        case _:
            yield node


def is_constant(node: ast.expr) -> bool:
    """Return whether a name is written out, or is a constant of a module or a schema."""
    match node:
        case ast.Constant():
            return True
        case ast.Name():
            return node.id.lstrip("_").isupper()
        case ast.Attribute():
            return is_constant(node.value) or node.attr.isupper() or ast.unparse(node).startswith(("schema.", "pl."))
        case _:
            return False


WORDS_FOR_NAMES = frozenset(
    {
        *(
            "by",
            "key",
            "keys",
            "name",
            "names",
            "facts",
            "cluster",
            "of",
            "metric",
            "metrics",
            "step",
            "members",
            "choice",
        ),
        *(
            "groups",
            "within",
            "shared",
            "common",
            "hidden",
            "extras",
            "scale_keys",
            "texts",
            "moved",
            "confirmed",
            "panels",
            "counted",
            "kept",
        ),
    }
)
"""What variables are called in this package that hold names; others hold expressions."""


def is_name(node: ast.expr) -> bool:
    """Return whether a variable holds a name, as far as its own name says, or these are the columns of a frame."""
    is_frame_columns = isinstance(node, ast.Attribute) and node.attr == "columns"
    return is_frame_columns or (isinstance(node, ast.Name) and node.id in WORDS_FOR_NAMES)


def patterns_in(source: str) -> list[int]:
    """Return the lines with a call that would take a name for a pattern."""
    found = []
    for call in ast.walk(ast.parse(source)):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        if isinstance(call.func.value, ast.Name) and call.func.value.id == "np":
            continue
        of_polars = isinstance(call.func.value, ast.Name) and call.func.value.id == "pl"
        options = [option.value for option in call.keywords if option.arg in OPTIONS]
        if of_polars and call.func.attr in FUNCTIONS:
            wrong = [name for item in call.args for name in names_in(item) if not is_constant(name)]
        elif call.func.attr in METHODS or (call.func.attr == "join" and options):
            items = [*(call.args if call.func.attr != "join" else ()), *options]
            wrong = [name for item in items for name in names_in(item) if is_name(name)]
        else:
            continue
        found += [call.lineno] if wrong else []
    return found


@pytest.mark.integration
@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_call_takes_a_name_for_a_pattern(path: Path) -> None:
    if path.name != "named.py":
        assert patterns_in(path.read_text()) == [], "take columns by `rollwise.schema.named`"


def test_the_rule_finds_each_kind_of_call() -> None:
    wrong = "f.select(*dict.fromkeys([*by]))\npl.col(x)\n"
    wrong += "frame.select(by)\nframe.select('a', *by)\nframe.drop(name for name in x)\nf.join(g, on=keys)\nx.over(by)"
    wrong += "\nf.select(g.columns)"
    assert patterns_in(wrong) == [1, 2, 3, 4, 5, 6, 7, 8]
    right = "pl.col('x')\npl.col(_ROW)\nframe.select(columns_named(by))\nf.join(g, on='a')\n', '.join(names)\npl.col(pl.String)"
    assert patterns_in(right) == []


@pytest.mark.parametrize("name", ["*", "^b.*$", "^$"])
def test_polars_takes_such_names_for_patterns(name: str) -> None:
    """Where Polars no longer does, the helpers are not needed."""
    frame = pl.DataFrame({name: [1], "b1": [2], "b2": [3]})
    assert frame.select(name).columns != [name]
    assert frame.select(pl.col(name)).columns != [name]


# ── verbs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize("name", NAMES, ids=lambda name: repr(name[:9]))
def test_groups_of_any_name_have_the_same_numbers(name: str) -> None:
    rollouts = frames()["rollouts"]
    renamed = rollouts.rename({"target": name})
    for verb in (rw.summarize, rw.curve, rw.attempts, rw.comparisons.profile, rw.training):
        options: dict[str, Any] = {"resamples": 100} if verb is rw.summarize else {}
        result = verb(renamed, by=name, **options)
        assert result.rename({name: "target"}).equals(verb(rollouts, by="target", **options))
    merged = rw.summarize(renamed, by=name, metrics="attack_success", merge=True)
    assert merged.rename({name: "target"}).equals(
        rw.summarize(rollouts, by="target", metrics="attack_success", merge=True)
    )


@pytest.mark.integration
@pytest.mark.parametrize("name", NAMES, ids=lambda name: repr(name[:9]))
def test_metrics_of_any_name_have_the_same_numbers(name: str) -> None:
    rollouts = frames()["rollouts"]
    renamed = rollouts.rename({"worst": name})
    result = rw.summarize(renamed, by="target", metrics=name, resamples=100)
    same = rw.summarize(rollouts, by="target", metrics="worst", resamples=100)
    assert result["estimate"].to_list() == same["estimate"].to_list()


@pytest.mark.integration
@pytest.mark.parametrize("name", NAMES, ids=lambda name: repr(name[:9]))
def test_a_column_of_any_name_is_converted(name: str, tmp_path: Path) -> None:
    turns = frames()["turns"].with_columns(pl.lit("x").alias(name))
    rw.convert(turns, out=tmp_path / "out")
    back = read(tmp_path / "out")
    assert back[name].to_list() == ["x"] * turns.height


@pytest.mark.integration
@pytest.mark.parametrize("cluster", ["group", "baseline", "difference", "change"])
def test_a_cluster_called_like_a_result_is_refused(cluster: str) -> None:
    rollouts = frames()["rollouts"].rename({"goal": cluster})
    with pytest.raises(
        ArgumentError, match=f"^changes: the cluster '{cluster}' has the name of a result column; rename it"
    ):
        rw.changes(rollouts, of="target", baseline="base", group="guarded", metric="attack_success", cluster=cluster)


@pytest.mark.integration
@pytest.mark.parametrize("first", range(0, 400, 100))
def test_calls_with_odd_names(first: int, tmp_path: Path) -> None:
    problems = odd_calls.problems(range(first, first + 100), tmp_path, names=True)
    assert not problems, "\n".join(problems)


# ── logs ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def objects_in(value: Any) -> Iterator[dict[str, Any]]:
    """Iterate over all objects in a log."""
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects_in(item)


def logs_with(log: Path, key: str, most: int) -> Iterator[str]:
    """Iterate over the log with this key added to one object after another."""
    value = loaded(log)
    objects = list(objects_in(value))
    for item in objects[:: max(1, len(objects) // most)]:
        if key not in item:
            item[key] = "x"
            yield written(log, value)
            del item[key]


@pytest.mark.integration
@pytest.mark.parametrize("key", NAMES, ids=lambda name: repr(name[:9]))
def test_logs_with_a_key_of_any_name(key: str, tmp_path: Path) -> None:
    """One such key in one record of a tool once stopped the reading of a folder, or its column was lost in silence."""
    for log in LOGS:
        path = tmp_path / log.relative_to(FIXTURES)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(log.read_text())
        try:
            turns = read(path, errors="collect").frame["turn"].count()
        except RollwiseError:
            continue
        for text in logs_with(log, key, 3):
            path.write_text(text)
            try:
                after = read(path, errors="collect")
            except RollwiseError:  # the only record is no longer one of its format
                continue
            assert after.frame["turn"].count() >= turns or after.problems.height, f"{log.name}: {text[:80]}"


def test_columns_called_like_patterns_are_kept(tmp_path: Path) -> None:
    record = {"rollout_id": "a", "turn": 1, "prompt": "p", "response": "q", "succeeded": True}
    keys = dict.fromkeys(NAMES, 1)
    (tmp_path / "log.jsonl").write_text(json.dumps({**record, **keys}) + "\n")
    turns = read(tmp_path / "log.jsonl")
    assert {name: turns[name].to_list() for name in NAMES} == {name: [1] for name in NAMES}
