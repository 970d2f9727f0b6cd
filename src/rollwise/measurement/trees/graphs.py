"""Graphs of Python objects -> TURNS: the content of their nodes, collected in columns."""

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from rollwise import schema
from rollwise.errors import ArgumentError, SchemaError, counted, listing
from rollwise.schema.named import column_named
from rollwise.schema.option_types import check_option_types

IntArray = npt.NDArray[np.int64]

PROMPTS = ("attack", "probe", "prompt", "audit", "utterance", "challenge")
_CHECKED_AFTER = 4096  # number of nodes after which a chain is checked for repeated nodes


def flatten(
    graphs: object,
    *,
    branches: Literal["first", "all"] = "first",
    ids: Sequence[str | int] | None = None,
    **facts: Any,
) -> pl.DataFrame:
    """Convert trees of objects, such as ASTRA-RL's `Graph` and `Node`, to TURNS.

    A graph has `children`, and so has each node, in addition to `response`, `reward`, `context` and the prompt under one of
    the names ``attack, probe, prompt, audit, utterance, challenge``. Dicts with these keys work as well. Other attributes are
    ignored. Missing attributes, None, and a reward of NaN are null; lists and dicts become JSON text. A first turn without a
    context has the context of its graph. A graph without children is one row without a turn.

    Parameters
    ----------
    graphs
        The roots, or a single one. A root is the start of an attack, not a turn.
    branches
        ``"first"`` follows the first child of each node, as ASTRA-RL's evaluator does, and ignores all others: one
        rollout per graph. ``"all"`` keeps every node once: `node_id` and `target_call` number the nodes of a graph from
        1 in breadth-first order, level by level with siblings in order; `turn` is the depth. `paths` makes rollouts of them.
    ids
        The `rollout_id` of each graph. By default its position, from 0; with the fact ``run``, preceded by it and a slash.
    **facts
        Facts of the rollouts (``target=, attack=, goal=, ...``): one value for all, or a list with one for each graph.

    Raises
    ------
    SchemaError
        If a node is reached twice (it is shared, or its own ancestor), a root is itself a turn, or a node has
        neither text nor reward, or one of an unsupported type.
    ArgumentError
        If `ids` or a fact does not fit the graphs.

    Examples
    --------
    >>> from types import SimpleNamespace as Node
    >>> leaf = Node(probe="Again", response="No", reward=0.5, children=[])
    >>> graph = Node(context="", children=[Node(probe="Hi", response="Hello", reward=None, children=[leaf])])
    >>> flatten([graph], target="gpt").select("rollout_id", "turn", "target", "prompt", "response", "reward").rows()
    [('0', 1, 'gpt', 'Hi', 'Hello', None), ('0', 2, 'gpt', 'Again', 'No', 0.5)]
    """
    check_option_types(flatten, locals())
    roots = _roots(graphs)
    facts_by_name = _facts(len(roots), ids, facts)
    names = facts_by_name["rollout_id"]
    content, sizes = _walk_graphs(_WALKS[branches], roots, names)
    rows = np.maximum(sizes, 1)
    graph = np.repeat(np.arange(len(roots)), rows)
    if content.height < len(graph):  # a graph without children is a row of nulls
        has_nodes = np.repeat(sizes > 0, rows)
        content = content.select(
            pl.all().gather(pl.Series(np.where(has_nodes, np.cumsum(has_nodes) - 1, -1)).replace(-1, None))
        )
    lacks_context = content["context"].is_null() & (content["turn"] == 1).fill_null(value=True)
    if lacks_context.any():
        # The state before the first turn is written at the root in some logs, at the first node in others.
        contexts = [reader(root)(root, "context", None) for root in roots]
        contexts_of_roots = _text(contexts, "context", lambda index: f"rollout {names[index]!r}")
        content = content.with_columns(
            context=contexts_of_roots.gather(graph).zip_with(lacks_context, content["context"])
        )
    facts_of_rows = {
        name: pl.lit(fact.item()) if len(fact) == 1 else fact.gather(graph) for name, fact in facts_by_name.items()
    }
    return content.select(
        column_named(name) if name in content.columns else facts_of_rows.get(name, pl.lit(None)).cast(dtype).alias(name)
        for name, dtype in schema.TURNS.dtypes.items()
        if name in content.columns or name not in schema.TREE_COLUMNS
    )


@dataclass(slots=True)
class _Walk:
    """Content of the nodes of all graphs, in order: columns that grow node by node.

    `sizes` is the number of nodes of each graph, `turns` the depth of each node, and `parents` the position of its parent, -1
    without one.
    """

    context: list[Any] = field(default_factory=list)
    prompt: list[Any] = field(default_factory=list)
    response: list[Any] = field(default_factory=list)
    reward: list[Any] = field(default_factory=list)
    sizes: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    turns: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    parents: IntArray | None = None

    def adders(self) -> tuple[Callable[[Any], None], ...]:
        """Return the functions that append a node's context, prompt, response and reward."""
        return self.context.append, self.prompt.append, self.response.append, self.reward.append


_Fetch: TypeAlias = Callable[[Any], tuple[Any, ...]]  # a node's context, prompt, response, reward and children
_Walker: TypeAlias = Callable[[Iterable[Any], pl.Series, _Fetch], _Walk]
_OTHER_ATTRIBUTES = ("response", "reward", "children")


def reader(node: Any) -> Callable[[Any, str, None], Any]:
    """Return the function that reads an attribute by name from a node, which is a dict or an object."""
    return dict.get if isinstance(node, dict) else getattr


def _children(node: Any) -> Sequence[Any]:
    children = reader(node)(node, "children", None) or ()
    return children if isinstance(children, list | tuple) else tuple(children)


def _read_carefully(node: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Read a node whose attributes may be missing, and whose prompt may have any of the names."""
    read = reader(node)
    prompt = next((text for name in PROMPTS if (text := read(node, name, None)) is not None), None)
    context, response, reward = (read(node, name, None) for name in ("context", "response", "reward"))
    return context, prompt, response, reward, _children(node)


def _walk_graphs(walker: _Walker, roots: list[Any], names: pl.Series) -> tuple[pl.DataFrame, IntArray]:
    """Return one row per node, and the number of nodes of each graph.

    First by `attrgetter` with the attribute of the first prompt, which is fast; if any node lacks an attribute, node by node.
    """
    first = next((child for root in roots for child in _children(root)[:1]), None)
    if type(first) in set(map(type, roots)):
        _check_roots(roots, names)
    attribute = next((name for name in PROMPTS if getattr(first, name, None) is not None), None)
    # The fast path assumes that all nodes are like the first one; it is given up if a node is not, or has no prompt.
    if attribute is not None:
        try:
            walk = walker(
                map(attrgetter("children"), roots), names, attrgetter("context", attribute, *_OTHER_ATTRIBUTES)
            )
            content = _content_frame(walk, names)
        except (AttributeError, TypeError):
            pass
        else:
            if not content["prompt"].null_count():
                return content, walk.sizes
    not_a_graph = next((root for root in roots if not isinstance(root, dict) and not hasattr(root, "children")), None)
    if not_a_graph is not None:
        raise ArgumentError(
            f"flatten: there is a {type(not_a_graph).__name__} without `children` among the graphs; pass the roots of trees"
        )
    walk = walker(map(_children, roots), names, _read_carefully)
    return _content_frame(walk, names), walk.sizes


def _check_roots(roots: list[Any], names: pl.Series) -> None:
    for root, name in zip(roots, names, strict=True):
        if reader(root)(root, "response", None) is not None:
            raise SchemaError(
                f"flatten: the root of rollout {name!r} has a `response`, so it is a turn and would be lost; "
                "wrap it in a graph whose only child it is"
            )


def _first_children(tops: Iterable[Any], names: pl.Series, fetch: _Fetch) -> _Walk:
    walk = _Walk()
    add_context, add_prompt, add_response, add_reward = walk.adders()
    ends = [0]
    # Bound methods and one shared range save a lookup for every node of large graphs.
    steps = range(_CHECKED_AFTER)
    for top in tops:
        children = top
        while children:
            for _ in steps:
                context, prompt, response, reward, children = fetch(children[0])
                add_context(context)
                add_prompt(prompt)
                add_response(response)
                add_reward(reward)
                if not children:
                    break
            else:
                # Only a very long chain is checked, and again after as many nodes: a cycle would never end.
                _check_chain(top, len(walk.reward) - ends[-1], names[len(ends) - 1], fetch)
        ends.append(len(walk.reward))
    walk.sizes = np.array(ends[1:], dtype=np.int64) - np.array(ends[:-1], dtype=np.int64)
    walk.turns = np.arange(1, ends[-1] + 1) - np.repeat(ends[:-1], walk.sizes)
    return walk


def _every_child(tops: Iterable[Any], names: pl.Series, fetch: _Fetch) -> _Walk:
    walk = _Walk()
    add_context, add_prompt, add_response, add_reward = walk.adders()
    children_of: list[int] = []
    add_number = children_of.append
    sizes: list[int] = []
    firsts: list[int] = []
    for top in tops:
        nodes = list(top or ())
        firsts.append(len(nodes))
        limit = _CHECKED_AFTER
        for node in nodes:  # the list grows during the loop, so the order is breadth first
            context, prompt, response, reward, children = fetch(node)
            add_context(context)
            add_prompt(prompt)
            add_response(response)
            add_reward(reward)
            add_number(len(children))
            nodes += children
            if len(nodes) > limit:
                _check_met_once(nodes, names[len(sizes)])
                limit = 2 * len(nodes)
        _check_met_once(nodes, names[len(sizes)])
        sizes.append(len(nodes))
    walk.sizes = np.array(sizes, dtype=np.int64)
    position = np.arange(len(children_of)) - np.repeat(np.cumsum(walk.sizes) - walk.sizes, walk.sizes)
    walk.parents = np.full(len(children_of), -1, dtype=np.int64)
    # The first nodes of a graph are its roots' children and have no parent; all others follow in their parents' order.
    walk.parents[position >= np.repeat(firsts, walk.sizes)] = np.repeat(
        np.arange(len(children_of)), np.fromiter(children_of, np.int64, len(children_of))
    )
    walk.turns = _depths(walk.parents)
    return walk


def _depths(parents: IntArray) -> IntArray:
    """Return the depth of each node, 1 at a root, by jumps over 1, 2, 4, ... ancestors. The graph must not have cycles."""
    depths, ancestors = np.ones_like(parents), parents
    while (has_parent := ancestors >= 0).any():
        depths[has_parent] += depths[ancestors[has_parent]]
        ancestors = np.where(has_parent, ancestors[ancestors], -1)
    return depths


_WALKS = {"first": _first_children, "all": _every_child}


def _check_chain(children: Any, steps: int, name: str, fetch: _Fetch) -> None:
    """Raise an error if a chain reaches a node twice within this number of steps."""
    nodes = []
    for _ in range(steps):
        nodes.append(children[0])
        children = fetch(children[0])[-1]
    _check_met_once(nodes, name)


def _check_met_once(nodes: list[Any], name: str) -> None:
    if len(set(map(id, nodes))) < len(nodes):
        raise SchemaError(
            f"flatten: rollout {name!r} reaches a node twice; in a tree a node has one parent and is not its own "
            "ancestor: give each place its own copy"
        )


def _content_frame(walk: _Walk, names: pl.Series) -> pl.DataFrame:
    """Return one row per node with its content and its position in the tree."""
    graph = np.repeat(np.arange(len(walk.sizes)), walk.sizes)

    def location(node: int) -> str:
        return f"rollout {names[int(graph[node])]!r}, turn {walk.turns[node]}"

    content = pl.DataFrame(
        {
            "turn": pl.Series(walk.turns, dtype=pl.Int32),
            "context": _text(walk.context, "context", location),
            "prompt": _text(walk.prompt, "prompt", location),
            "response": _text(walk.response, "response", location),
            "reward": _numbers(walk.reward, location),
            **_tree_columns(walk),
        }
    )
    if content.height and all(
        content[name].null_count() == content.height for name in ("prompt", "response", "reward")
    ):
        raise SchemaError(
            f"flatten: no node has a prompt (as {listing(PROMPTS)}), a `response` or a `reward`; "
            "give the nodes' attributes, or the keys of their dicts, these names"
        )
    return content


def _tree_columns(walk: _Walk) -> dict[str, pl.Series]:
    if walk.parents is None:
        return {}
    number = np.arange(1, len(walk.turns) + 1) - np.repeat(np.cumsum(walk.sizes) - walk.sizes, walk.sizes)
    ids = pl.Series(number).cast(pl.String)
    return {
        "node_id": ids,
        "parent_id": ids.gather(pl.Series(walk.parents).replace(-1, None)),
        "pruned": pl.Series([None], dtype=pl.Boolean).new_from_index(0, len(number)),
        "target_call": pl.Series(number, dtype=pl.Int32),
    }


def _text(values: list[Any], name: str, location: Callable[[int], str]) -> pl.Series:
    """Return the values as text, lists and dicts as JSON."""
    if isinstance(next((value for value in values if value is not None), ""), str):
        with suppress(TypeError, UnicodeEncodeError, pl.exceptions.PanicException):
            return pl.Series(name, values, dtype=pl.String, strict=True)
    texts = [_text_of(value, name, location, index) for index, value in enumerate(values)]
    return pl.Series(name, texts, dtype=pl.String, strict=True)


def _text_of(value: Any, name: str, location: Callable[[int], str], index: int) -> str | None:
    if isinstance(value, dict | list | tuple):
        try:
            value = json.dumps(value, ensure_ascii=False)
        except (TypeError, ValueError) as error:
            raise SchemaError(
                f"flatten: the {name} of {location(index)} cannot be written as JSON text ({error}); make it text"
            ) from error
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode()  # half of a surrogate pair is not valid text
    raise SchemaError(f"flatten: the {name} of {location(index)} is a {type(value).__name__}; make it text")


def _numbers(values: list[Any], location: Callable[[int], str]) -> pl.Series:
    """Return the values as numbers, NaN as null."""
    if isinstance(next((value for value in values if value is not None), 0.0), int | float):
        with suppress(TypeError, OverflowError, pl.exceptions.PanicException):
            return pl.Series("reward", values, dtype=pl.Float64, strict=True).fill_nan(None)
    # Scalars of other types, such as tensors.
    numbers = [_number(value, location, index) for index, value in enumerate(values)]
    return pl.Series("reward", numbers, dtype=pl.Float64).fill_nan(None)


def _number(value: Any, location: Callable[[int], str], index: int) -> float | None:
    try:
        if not isinstance(value, str):
            return None if value is None else float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        pass
    raise SchemaError(
        f"flatten: the reward of {location(index)} is a {type(value).__name__}; make it a number, or None"
    )


def _roots(graphs: object) -> list[Any]:
    if isinstance(graphs, dict) or hasattr(graphs, "children"):
        return [graphs]
    if not isinstance(graphs, Iterable) or isinstance(graphs, str):
        raise ArgumentError(
            f"flatten: a {type(graphs).__name__} does not contain graphs; pass a list of objects with `children`"
        )
    return list(graphs)


def _facts(graphs: int, ids: Sequence[str | int] | None, facts: dict[str, Any]) -> dict[str, pl.Series]:
    """Return the id of each graph, and each fact as a series with one value, or one for each graph."""
    series: dict[str, pl.Series] = {}
    for name, argument in facts.items():
        if name not in schema.TURNS.facts:
            raise ArgumentError(
                f"flatten: {name!r} is not a fact of a rollout; available: {listing(schema.TURNS.facts, most=20)}"
            )
        values = list(argument) if isinstance(argument, Iterable) and not isinstance(argument, str) else [argument]
        if len(values) not in {1, graphs}:
            raise ArgumentError(
                f"flatten: {name} has {counted(len(values), 'value')} for {counted(graphs, 'graph')}; give one, or one for each"
            )
        try:
            series[name] = pl.Series(name, values, dtype=schema.TURNS.dtypes[name], strict=True)
        except (TypeError, OverflowError, pl.exceptions.PolarsError) as error:
            raise ArgumentError(f"flatten: {name}={argument!r} is not {schema.TURNS.dtypes[name]}") from error
    if ids is None:
        positions = pl.Series("rollout_id", range(graphs), dtype=pl.Int64).cast(pl.String)
        return {
            "rollout_id": positions if "run" not in series else (series["run"] + "/" + positions).fill_null(positions),
            **series,
        }
    names = pl.Series("rollout_id", [str(name) for name in ids], dtype=pl.String)
    # Ids must be unique, because they become `rollout_id`.
    if len(names) != graphs or names.n_unique() < graphs:
        raise ArgumentError(
            f"flatten: ids names {counted(names.n_unique(), 'rollout')} for {counted(graphs, 'graph')}; give each its own"
        )
    return {"rollout_id": names, **series}
