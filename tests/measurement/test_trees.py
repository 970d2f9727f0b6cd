"""Trees of objects into turns, and turns of trees into paths."""

import math
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rollwise as rw
from rollwise import schema
from rollwise.errors import ArgumentError, SchemaError
from rollwise.rollout import flatten, paths


# ── flatten ────────────────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass
class Node:
    """A node as ASTRA-RL writes it, by the newer page."""

    context: Any
    probe: Any
    response: Any
    reward: Any
    children: Any = field(default_factory=list)


@dataclass
class Graph:
    """A root."""

    context: Any
    children: Any = field(default_factory=list)


def chain(length: int, children: Any = ()) -> Node:
    """A chain of so many nodes, the last of which has these children."""
    node = Node("", "last", "", 0.0, list(children))
    for number in range(length - 1):
        node = Node("", str(length - 1 - number), "", 0.0, [node])
    return node


def branching() -> Graph:
    """Two first turns; the first goes on in two ways, the second in one, whose end goes on once more."""
    a = Node("c", "a", "A", 1.0, [Node("ca", "aa", "AA", 2.0), Node("ca", "ab", "AB", None)])
    b = Node("c", "b", "B", float("nan"), [Node("cb", "ba", None, 0.5, [Node("cba", "baa", "", 1)])])
    return Graph("c", [a, b])


def test_the_first_child_is_followed() -> None:
    """By default the first child of each node makes the rollout, as in ASTRA-RL's evaluator."""
    found = flatten([branching(), Graph("d", [chain(2)])], target="gpt", goal=["g", "h"])
    expected = [("0", 1, "gpt", "g", "a", "A", 1.0), ("0", 2, "gpt", "g", "aa", "AA", 2.0)]
    expected += [("1", 1, "gpt", "h", "1", "", 0.0), ("1", 2, "gpt", "h", "last", "", 0.0)]
    assert found.select("rollout_id", "turn", "target", "goal", "prompt", "response", "reward").rows() == expected
    assert not schema.is_tree(rw.schema.check(found, schema.TURNS))


def test_every_child_stands_once_in_breadth_first_order() -> None:
    """All nodes, level by level; the turn is the depth, and the order of meeting names nodes and calls."""
    found = flatten(branching(), branches="all")
    expected = [
        (1, "a", "1", None, 1),
        (1, "b", "2", None, 2),
        (2, "aa", "3", "1", 3),
        (2, "ab", "4", "1", 4),
        (2, "ba", "5", "2", 5),
        (3, "baa", "6", "5", 6),
    ]
    assert found.select("turn", "prompt", "node_id", "parent_id", "target_call").rows() == expected
    assert found["reward"].to_list() == [1.0, None, 2.0, None, 0.5, 1.0]
    assert found["context"].to_list() == ["c", "c", "ca", "ca", "cb", "cba"]
    assert schema.is_tree(rw.schema.check(found, schema.TURNS))


@pytest.mark.integration
@pytest.mark.parametrize("branches", ["first", "all"])
@pytest.mark.parametrize("name", ["attack", "probe", "prompt", "audit", "utterance", "challenge"])
@pytest.mark.parametrize("make", [SimpleNamespace, dict], ids=["objects", "dicts"])
def test_what_was_asked_bears_any_name(branches: Any, name: str, make: Any) -> None:
    """Every spelling of ASTRA-RL's history is the prompt, in objects and in dicts, and may change on the way."""
    last = make(audit="bye", response="B", children=None)
    first = make(**{name: "hi"}, response="A", reward=1, children=(last,), extra=object())
    found = flatten([make(children=[first])], branches=branches)
    assert found.select("prompt", "response", "reward").rows() == [("hi", "A", 1.0), ("bye", "B", None)]


def test_a_name_without_text_yields_to_one_with_text() -> None:
    """Where a node has two of the names, the one that is not None counts."""
    nodes = [
        Node(
            "",
            "hi",
            "A",
            0.0,
            [SimpleNamespace(probe=None, attack="again", response="B", reward=0, context="", children=[])],
        )
    ]
    assert flatten([Graph("", nodes)])["prompt"].to_list() == ["hi", "again"]


@pytest.mark.parametrize("branches", ["first", "all"])
def test_an_empty_graph_is_a_row_without_a_turn(branches: Any) -> None:
    """It stays in every count: a row whose turn is null, with its facts and its context."""
    found = flatten([Graph("lonely"), branching(), Graph(None, None)], branches=branches, goal=["x", "y", "z"])
    empty = found.filter(pl.col("turn").is_null())
    assert empty.select("rollout_id", "goal", "context", "prompt").rows() == [
        ("0", "x", "lonely", None),
        ("2", "z", None, None),
    ]
    assert rw.schema.check(found, schema.TURNS)["rollout_id"].unique(maintain_order=True).to_list() == ["0", "1", "2"]


@pytest.mark.parametrize("branches", ["first", "all"])
def test_nothing_at_all_is_a_frame_of_turns(branches: Any) -> None:
    """No graphs, or only empty ones, still give TURNS."""
    assert rw.schema.check(flatten([], branches=branches), schema.TURNS).height == 0
    assert rw.schema.check(flatten([Graph("")], branches=branches), schema.TURNS)["turn"].to_list() == [None]


def test_the_context_of_the_graph_serves_its_first_turns() -> None:
    """A first turn without a context of its own has its graph's; later turns stay null."""
    graph = Graph("system", [Node(None, "hi", "A", 0.0, [Node(None, "again", "B", 0.0)])])
    assert flatten([graph])["context"].to_list() == ["system", None]


class Scalar:
    """A number of its own kind, as a tensor is."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        return f"Scalar({self.value})"


@pytest.mark.parametrize(
    ("reward", "expected"),
    [
        (None, None),
        (math.nan, None),
        (np.float32(0.5), 0.5),
        (np.int64(2), 2.0),
        (np.array(0.25), 0.25),
        (Scalar(0.75), 0.75),
        (Scalar(math.nan), None),
        (np.bool_(True), 1.0),
        (True, 1.0),
        (math.inf, math.inf),
    ],
    ids=repr,
)
def test_a_reward_is_a_number_or_null(reward: Any, expected: float | None) -> None:
    """Scalars of NumPy and of tensor libraries are numbers; NaN is null."""
    assert flatten([Graph("", [Node("", "p", "r", reward, [Node("", "q", "s", None)])])])["reward"].to_list() == [
        expected,
        None,
    ]


def test_numbers_of_several_kinds_stand_together() -> None:
    """A column of rewards may mix them."""
    rewards = [1, 0.5, None, Scalar(0.25), np.float32(2)]
    assert flatten([Graph("", [Node("", "p", "r", reward)]) for reward in rewards])["reward"].to_list() == [
        1,
        0.5,
        None,
        0.25,
        2,
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ([{"role": "user", "content": "hé"}], '[{"role": "user", "content": "hé"}]'),
        ({"a": None}, '{"a": null}'),
        ("half \ud800 pair", "half \\ud800 pair"),
        ("", ""),
    ],
)
def test_text_that_is_no_text(text: Any, expected: str) -> None:
    """Messages become JSON text, and what UTF-8 cannot say a question mark."""
    assert flatten([Graph("", [Node(text, "p", text, 0.0)])]).select("context", "response").row(0) == (
        expected,
        expected,
    )


def shared_node() -> Graph:
    leaf = Node("", "leaf", "", 0.0)
    return Graph("", [Node("", "a", "", 0.0, [leaf]), Node("", "b", "", 0.0, [leaf])])


def cycle(length: int) -> Graph:
    last = Node("", "last", "", 0.0)
    first = chain(length, [last])
    last.children = [first]
    return Graph("", [first])


def doubling(depth: int) -> Graph:
    """Each node stands twice among the children above: 2^depth paths through few nodes."""
    node = Node("", "leaf", "", 0.0)
    for _ in range(depth):
        node = Node("", "p", "", 0.0, [node, node])
    return Graph("", [node])


@pytest.mark.parametrize(
    ("graph", "branches"),
    [
        (shared_node(), "all"),
        (cycle(1), "all"),
        (cycle(1), "first"),
        (cycle(9_000), "first"),
        (cycle(9_000), "all"),
        (doubling(60), "all"),
    ],
    ids=["shared", "cycle all", "cycle first", "long cycle first", "long cycle all", "doubling"],
)
def test_a_node_reached_twice_is_an_error_and_no_hang(graph: Graph, branches: Any) -> None:
    """A shared node or a cycle is named by its rollout."""
    with pytest.raises(SchemaError, match="rollout 'mine' reaches a node twice"):
        flatten([graph], branches=branches, ids=["mine"])


def test_two_graphs_may_share_a_node() -> None:
    """Only within one rollout must a node stand once."""
    leaf = Node("", "p", "r", 0.0)
    assert flatten([Graph("", [leaf]), Graph("", [leaf])], branches="all").height == 2


@pytest.mark.integration
@pytest.mark.parametrize("branches", ["first", "all"])
def test_a_tree_may_be_ten_thousand_deep(branches: Any) -> None:
    """Nothing recurses."""
    found = flatten([Graph("", [chain(10_000)])], branches=branches)
    assert found["turn"].to_list() == list(range(1, 10_001))
    assert found["prompt"].tail(1).item() == "last"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["0", "1"]),
        ({"run": "r7"}, ["r7/0", "r7/1"]),
        ({"run": ["a", None]}, ["a/0", "1"]),
        ({"run": "r7", "ids": ["x", 5]}, ["x", "5"]),
    ],
    ids=str,
)
def test_ids(options: Any, expected: list[str]) -> None:
    """Rollouts are named by their place, after their run, or as the caller says."""
    assert flatten([Graph("", [chain(1)]), Graph("", [chain(1)])], **options)["rollout_id"].to_list() == expected


@pytest.mark.parametrize(
    ("graphs", "options", "error", "words"),
    [
        ([Graph("")], {"ids": ["a", "b"]}, ArgumentError, "ids names 2 rollouts for 1 graph"),
        ([Graph(""), Graph("")], {"ids": ["a", "a"]}, ArgumentError, "ids names 1 rollout for 2 graphs"),
        ([Graph("")] * 3, {"goal": ["a", "b"]}, ArgumentError, "goal has 2 values for 3 graphs"),
        ([Graph("")], {"gaol": "a"}, ArgumentError, "'gaol' is not a fact of a rollout"),
        ([Graph("")], {"ending": "won"}, ArgumentError, "ending='won' is not Enum"),
        ([Graph("")], {"branches": "best"}, ArgumentError, "flatten: branches='best' is unknown; it is"),
        (7, {}, ArgumentError, "a int does not contain graphs"),
        ([7], {}, ArgumentError, "a int without `children`"),
        ([Node("", "p", "r", 0.0, [Node("", "q", "s", 0.0)])], {}, SchemaError, "root of rollout '0' has a `response`"),
        ([Graph("", [SimpleNamespace(question="?", children=[])])], {}, SchemaError, "no node has a prompt"),
        ([Graph("", [Node("", "p", b"r", 0.0)])], {}, SchemaError, "the response of rollout '0', turn 1 is a bytes"),
        ([Graph("", [Node("", "p", [object()], 0.0)])], {}, SchemaError, "the response of rollout '0', turn 1 cannot"),
        ([Graph("", [Node("", "p", "r", "0.5")])], {}, SchemaError, "the reward of rollout '0', turn 1 is a str"),
    ],
)
def test_what_does_not_fit_is_named(graphs: Any, options: Any, error: type[Exception], words: str) -> None:
    """Every error says which rollout, fact or option, and what to do."""
    with pytest.raises(error, match=words):
        flatten(graphs, **options)


# ── paths ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def nodes(parents: dict[str, str | None], **columns: list[Any]) -> pl.DataFrame:
    """One tree `t` of nodes and their parents."""
    base = {
        "rollout_id": ["t"] * len(parents),
        "turn": [0] * len(parents),
        "node_id": list(parents),
        "parent_id": list(parents.values()),
    }
    dtypes = {name: schema.TURNS.dtypes[name] for name in (*base, *columns) if name in schema.TURNS.dtypes}
    return pl.DataFrame({**base, **columns}, schema_overrides=dtypes)


FORK = {"a": None, "b": "a", "c": "a", "d": "c"}


def test_a_path_is_a_rollout() -> None:
    """Each leaf ends a path that begins at its root, with turns numbered anew and the tree to cluster by."""
    found = paths(nodes(FORK, prompt=["A", "B", "C", "D"], target_call=[1, 2, 3, 4]))
    expected = [("t/b", 1, "A", 1), ("t/b", 2, "B", 2), ("t/d", 1, "A", 1), ("t/d", 2, "C", 3), ("t/d", 3, "D", 4)]
    assert found.select("rollout_id", "turn", "prompt", "target_call").rows() == expected
    assert found["tree"].unique().to_list() == ["t"]
    assert not schema.is_tree(rw.schema.check(found, schema.TURNS))


@pytest.mark.integration
@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_rows_does_not_matter(seed: int) -> None:
    """Whatever the order of the nodes, the paths are the same."""
    frame = flatten([branching(), Graph("", [chain(3)]), branching()], branches="all")
    shuffled = frame.sample(fraction=1, shuffle=True, seed=seed)
    assert_frame_equal(paths(shuffled).sort("rollout_id", "turn"), paths(frame).sort("rollout_id", "turn"))


def test_several_roots_are_several_first_turns() -> None:
    """A tree may be a forest."""
    assert paths(nodes({"a": None, "b": None, "c": "b"})).select("rollout_id", "turn").rows() == [
        ("t/a", 1),
        ("t/c", 1),
        ("t/c", 2),
    ]


def test_a_pruned_branch_is_a_path_that_says_so() -> None:
    """True where some node is known to be pruned, null where that is not known, false otherwise."""
    found = paths(nodes({"a": None, "b": "a", "c": "a", "d": "a"}, pruned=[False, True, None, False]))
    assert found.select("rollout_id", "pruned").unique(maintain_order=True).rows() == [
        ("t/b", True),
        ("t/c", None),
        ("t/d", False),
    ]
    assert rw.measure(found, keep="pruned")["pruned"].to_list() == [True, None, False]


@pytest.mark.parametrize(
    ("parents", "outcome", "ending", "expected"),
    [
        ({"a": None, "b": "a"}, "success", "success", [("success", "success", 9)]),
        ({"a": None, "b": "a", "c": "a"}, "success", "success", [(None, "success", None), (None, None, None)]),
        ({"a": None, "b": "a", "c": "a"}, "failure", "budget", [("failure", "budget", None)] * 2),
        ({"a": None, "b": "a", "c": "a"}, "error", "error", [("error", "error", None)] * 2),
        ({"a": None, "b": "a", "c": "a"}, None, None, [(None, None, None)] * 2),
    ],
    ids=["one path", "success of several", "failure of several", "error", "nothing known"],
)
def test_what_is_true_of_a_tree_need_not_be_true_of_its_paths(
    parents: Any, outcome: Any, ending: Any, expected: Any
) -> None:
    """A tree's success is not every path's, and its totals are no path's."""
    count = len(parents)
    frame = nodes(
        parents,
        outcome=[outcome] * count,
        ending=[ending] * count,
        queries=[9] * count,
        succeeded=[False, True, False][:count],
    )
    found = paths(frame).group_by("rollout_id", maintain_order=True).first()
    assert found.select("outcome", "ending", "queries").rows() == expected


def test_a_rollout_without_nodes_is_a_path_already() -> None:
    """Its turns stay, its own id is its tree, and a rollout where nothing was asked stays without a turn."""
    line = pl.DataFrame({"rollout_id": ["l", "l", "e"], "turn": [2, 1, None]}, schema_overrides={"turn": pl.Int32})
    both = pl.concat([nodes(FORK), line], how="diagonal")
    found = paths(both).select("rollout_id", "turn", "tree").rows()
    assert found[-3:] == [("l", 1, "l"), ("l", 2, "l"), ("e", None, "e")]
    assert paths(line)["turn"].to_list() == [1, 2, None]


NO_NODE = pl.lit(None, pl.String)
ONE = nodes({"a": None})
FLAWS: list[tuple[pl.DataFrame, type[Exception], str]] = [
    (nodes({"a": None, "b": "z"}), SchemaError, "the parent 'z' of node 'b' is not a node of rollout 't'"),
    (nodes({"a": "b", "b": "a"}), SchemaError, "node '[ab]' of rollout 't' is its own ancestor"),
    (nodes({"r": None, "a": "c", "b": "a", "c": "b", "d": "c"}), SchemaError, "node '[abc]' of rollout 't' is its own"),
    (nodes({"a": "a"}), SchemaError, "node 'a' of rollout 't' is its own ancestor"),
    (pl.concat([ONE, ONE]), SchemaError, "node 'a' of rollout 't' occurs in two rows"),
    (ONE.drop("parent_id"), SchemaError, "column `parent_id` is missing"),
    (ONE.drop("turn"), SchemaError, "column `turn` is missing"),
    (ONE.with_columns(node_id=1), SchemaError, "column `node_id` is Int32, not String"),
    (ONE.with_columns(tree=1), ArgumentError, "a path has a column `tree`"),
    (pl.concat([ONE, ONE.with_columns(node_id=NO_NODE)]), SchemaError, "rollout 't' has rows with and without"),
    (
        pl.concat([nodes({"b/c": None}), nodes({"c": None}).with_columns(rollout_id=pl.lit("t/b"))]),
        SchemaError,
        "two paths would be called 't/b/c'",
    ),
]


@pytest.mark.parametrize(("frame", "error", "words"), FLAWS, ids=[words for _, _, words in FLAWS])
def test_what_is_no_tree_is_named(frame: pl.DataFrame, error: type[Exception], words: str) -> None:
    """Every flaw is named with its rollout and its node."""
    with pytest.raises(error, match=words):
        paths(frame)


def test_no_rows_have_no_paths() -> None:
    """An empty table stays one."""
    empty = nodes(FORK).clear()
    assert paths(empty).columns == [*empty.columns, "tree"]
    assert rw.measure(paths(empty)).height == 0


@pytest.mark.integration
def test_a_deep_chain_is_one_path() -> None:
    """Ten thousand levels are no recursion."""
    frame = flatten([Graph("", [chain(10_000)])], branches="all")
    assert paths(frame)["turn"].max() == 10_000
    assert rw.measure(paths(frame))["num_turns"].to_list() == [10_000]


# ── metrics of paths ───────────────────────────────────────────────────────────────────────────────────────────────────
def test_metrics_of_paths() -> None:
    """Each path is a rollout: a success on one of them is none on the others."""
    frame = flatten([branching()], branches="all").with_columns(succeeded=pl.col("prompt") == "aa")
    assert rw.measure(paths(frame))["attack_success"].to_list() == [True, False, False]


def test_a_fact_that_varies_along_a_path_is_refused() -> None:
    """As `measure` refuses it; between the roots of a forest it may vary."""
    with pytest.raises(SchemaError, match="`goal` is a fact of the rollout but varies"):
        rw.measure(paths(nodes({"a": None, "b": "a"}, goal=["g", "h"])))
    assert rw.measure(paths(nodes({"a": None, "b": None}, goal=["g", "h"])))["goal"].to_list() == ["g", "h"]


def test_a_tree_that_stops_at_its_first_success_holds_it_on_one_path() -> None:
    """The others are failures where every turn was judged, though the tree as a whole succeeded."""
    frame = flatten([branching()], branches="all").with_columns(
        succeeded=pl.col("node_id") == "4",
        outcome=pl.lit("success", schema.OUTCOMES),
        ending=pl.lit("success", schema.ENDINGS),
    )
    assert rw.measure(paths(frame)).select("rollout_id", "attack_success").rows() == [
        ("0/3", False),
        ("0/4", True),
        ("0/6", False),
    ]
