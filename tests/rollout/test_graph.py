"""Graphs and nodes: one text under three names, lists that grow, and recordings."""

import copy
import pickle
from dataclasses import dataclass, fields, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from rollwise import metrics as m
from rollwise.errors import ArgumentError, SchemaError
from rollwise.rollout import FrameEvaluator, Graph, GraphMetrics, Node, Recording, Recordings, Run, flatten
from rollwise.rollout.frames import facts_of, turns_with
from rollwise.rollout.graph import contexts, first_branch, further, spoken

NAMES = ("prompt", "attack", "probe")


@dataclass
class Timed(Node[str, str]):
    """A node of a user's own."""

    seconds: float | None = None


@pytest.mark.parametrize("given", NAMES)
@pytest.mark.parametrize("read", NAMES)
def test_a_prompt_goes_by_three_names(given: str, read: str) -> None:
    """Whichever name it is given under, it is read and set under each."""
    told: dict[str, Any] = {given: "Hi"}
    node: Any = Node("", **told)
    assert getattr(node, read) == "Hi"
    setattr(node, read, "Hey")
    assert getattr(node, given) == "Hey"


def test_the_order_of_the_pages() -> None:
    """Context, what was said, response, reward, children: as the pages' nodes are made."""
    leaf = Node("c", "Hi", "No", 0.5, [])
    assert leaf == Node(context="c", probe="Hi", response="No", reward=0.5, children=[])
    assert [field.name for field in fields(Node)] == ["context", "prompt", "response", "reward", "children"]
    assert Graph("", [leaf]).children[0] is leaf
    assert repr(leaf) == "Node(context='c', prompt='Hi', response='No', reward=0.5, children=[])"


def test_two_texts_for_one_prompt_are_refused() -> None:
    """A prompt cannot be told to be two things; the same told twice is no matter."""
    with pytest.raises(ArgumentError, match="prompt, attack and probe are names of one text, but they differ"):
        Node("", attack="Hi", probe="Hey")
    assert Node("", "Hi", attack="Hi", probe="Hi").prompt == "Hi"


def test_children_are_lists_that_grow() -> None:
    """A tuple becomes a list; a list stays the very one, so that it may be filled later."""
    children: list[Any] = []
    node: Any = Node("", children=children)
    none: Any = ()
    graph: Any = Graph("", none)
    children.append(Node("", "Hi"))
    graph.children.append(node)
    assert len(node.children) == len(graph.children) == 1


def test_nodes_can_be_copied_pickled_replaced_and_extended() -> None:
    """They are plain dataclasses: also of subclasses, and with attributes of their own."""
    node = Timed("", probe="Hi", seconds=0.5)
    node.attack = "Hey"
    assert pickle.loads(pickle.dumps(node)) == copy.deepcopy(node) == node
    assert replace(node, response="No").response == "No"
    plain: Any = Node("", "Hi")
    plain.latency = 0.25
    assert copy.copy(plain).latency == 0.25
    assert Node[str, str]("", "Hi") == Node("", "Hi")
    assert GraphMetrics({}, []) == GraphMetrics(overall={}, per_turn=[])


def test_the_names_cost_no_more_than_a_slot() -> None:
    """`attack` and `probe` are the slot of `prompt` itself, not functions that look it up."""
    assert Node.__dict__["attack"] is Node.__dict__["probe"] is Node.__dict__["prompt"]


def test_what_was_said_is_read_as_flatten_reads_it() -> None:
    """The texts and rewards along first branches are those of TURNS, for our nodes, for others and for dicts."""
    own: Any = Graph("", [Node("", "a", "b", 1.0, [Node("", None, "c"), Node("", "other branch")])])
    foreign = SimpleNamespace(children=[SimpleNamespace(audit="d", response=None, reward=2, children=[])])
    records = {"children": [{"utterance": "e", "response": "f"}]}
    graphs = [own, Graph(""), foreign, records]
    told, turns = spoken(graphs), flatten(graphs)
    assert told.sizes.tolist() == [2, 0, 1, 1]
    assert told.prompts == ["a", None, "d", "e"]
    assert told.responses == ["b", "c", None, "f"]
    there = turns["turn"].is_not_null()
    assert turns.filter(there)["prompt"].to_list() == told.prompts
    assert turns.filter(there)["reward"].to_list() == told.rewards


def test_nothing_is_no_turn() -> None:
    """None among the graphs, and no graphs at all."""
    assert spoken([None]).sizes.tolist() == [0]
    assert spoken([]).prompts == []
    assert first_branch(None) == []


def test_a_chain_that_comes_back_to_itself_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that is its own descendant is named, where the page's loop would never end; a long chain is none."""
    monkeypatch.setattr("rollwise.rollout.graph._LONG", 100)
    node = Node("", "Hi", "No", 0.0)
    node.children.append(node)
    with pytest.raises(SchemaError, match="reaches a node twice"):
        spoken([Graph("", [node])])
    chain: list[Any] = []
    for _ in range(1000):
        chain = [Node("", "Hi", "No", 0.0, chain)]
    assert spoken([Graph("", chain)]).sizes.tolist() == [1000]


def test_recordings_are_graphs() -> None:
    """A recording has the children that a graph of the same turns has, and can be given others."""
    recording = Recording("start")
    recording.add("a", "b", 0.5, "c")
    recording.add("d", None)
    assert recording.children == [Node("c", "a", "b", 0.5, [Node(None, "d", None, None)])]
    told = spoken([recording, Graph("", [Node("", "x")]), Recording()])
    assert (told.prompts, told.sizes.tolist()) == (["a", "d", "x"], [2, 1, 0])
    other = Recording()
    other.children = recording.children
    assert (other.said, other.contexts) == (recording.said, recording.contexts)
    assert flatten([recording])["context"].to_list() == ["c", None]


def test_a_loop_may_add_to_what_was_said_itself() -> None:
    """Turns added by the list alone stand among those that `add` recorded; contexts stay with their turns."""
    recording = Recording("start")
    recording.said += "a", "b", 0.5
    recording.add("c", "d", None, "before c")
    recording.said += "e", "f", 1.0
    assert contexts([recording]) == [None, "before c", None]
    assert [node.prompt for node in first_branch(recording)] == ["a", "c", "e"]
    for kept in (pickle.loads(pickle.dumps(recording)), copy.deepcopy(recording)):
        assert kept.children == recording.children
        assert kept.context == "start"


def test_recordings_of_many_rollouts_are_as_recordings_one_by_one() -> None:
    """Rollouts under way at once, with and without turns and contexts; a sequence of graphs like any other."""
    rollouts: list[tuple[list[tuple[Any, ...]], str | None]] = [
        ([("p", "r", 0.5), ("q", None, None)], "start"),
        ([], None),
        ([("x", "y", 1.0)], None),
    ]
    recordings, each = Recordings(), []
    under_way = [list[Any]() for _ in rollouts]
    for turn in range(2):  # interleaved
        for said, (turns, _) in zip(under_way, rollouts, strict=True):
            if turn < len(turns):
                said.extend(turns[turn])
    for said, (turns, context) in zip(under_way, rollouts, strict=True):
        recordings.add(said, context)
        recording = Recording(context)
        for told in turns:
            recording.add(*told)
        each.append(recording)
    assert len(recordings) == 3
    assert [(one.context, one.said, one.children) for one in recordings] == [
        (one.context, one.said, one.children) for one in each
    ]
    assert [one.said for one in recordings[::-1]] == [one.said for one in each[::-1]]
    assert recordings[-1].said == each[-1].said
    with pytest.raises(IndexError):
        recordings[3]
    ours, theirs = (FrameEvaluator(None, metrics=[m.average("reward")]) for _ in range(2))
    assert ours.measure(recordings) == theirs.measure(each)
    assert ours.turns.equals(theirs.turns)


def test_what_nodes_hold_beside_is_found() -> None:
    """Fields of subclasses and attributes that were set, None where a node has them not; nothing private."""
    plain: Any = Node("", "Hi")
    plain.latency, plain._secret = 0.25, 1
    assert further([Timed("", "Hi", seconds=1.0), plain, None, SimpleNamespace(other=1)], Node) == {
        "seconds": [1.0, None, None, None],
        "latency": [None, 0.25, None, None],
    }
    assert further([Recording("c")], Graph) == {}


texts = st.none() | st.text(max_size=4)
turns = st.tuples(texts, texts, st.none() | st.floats(-1, 1), texts)


@pytest.mark.integration
@given(st.lists(st.lists(turns, max_size=4), max_size=6))
def test_recordings_and_nodes_say_the_same(rollouts: list[list[tuple[Any, ...]]]) -> None:
    """Whatever is recorded, it is read as the nodes would be."""
    recordings = []
    for rows in rollouts:
        recordings.append(Recording(None))
        for row in rows:
            recordings[-1].add(*row)
    nodes: list[Any] = [Graph(None, recording.children) for recording in recordings]
    one, other = spoken(recordings), spoken(nodes)
    assert contexts(recordings) == contexts(nodes)
    told = [([Run(None, graph) for graph in graphs], said) for graphs, said in [(recordings, one), (nodes, other)]]
    assert_frame_equal(*(turns_with(runs, said, facts_of(runs, said, None)) for runs, said in told))
    assert (one.prompts, one.responses, one.rewards) == (other.prompts, other.responses, other.rewards)
    assert np.array_equal(one.sizes, other.sizes)
