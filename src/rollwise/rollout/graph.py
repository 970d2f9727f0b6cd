"""Graphs of rollouts with one node per turn, and the metrics of a graph."""

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field, fields
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, Self, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt

from rollwise.errors import ArgumentError
from rollwise.measurement.trees.graphs import PROMPTS, flatten, reader

StateT = TypeVar("StateT")
ActionT = TypeVar("ActionT")
IntArray: TypeAlias = npt.NDArray[np.int64]

_LONG = 100_000  # turns of a rollout after which it is checked for a cycle


def _growing(children: Any) -> list[Any]:
    return children if isinstance(children, list) else list(children)


class _Named:
    """Further names of a node's prompt; a base class without slots allows further attributes of nodes."""

    if TYPE_CHECKING:
        attack: Any
        probe: Any


@dataclass(slots=True)
class Node(_Named, Generic[StateT, ActionT]):
    """A node: one turn with its prompt and response, and the turns that may follow.

    The prompt can also be given, read and set as `attack` or `probe`. A subclass that is a dataclass may add fields: those
    named like columns of TURNS (`seconds`, `succeeded`, ...) fill these columns, others become new columns.

    Attributes
    ----------
    context
        State before the turn.
    prompt
        Text of the attack; None is unknown.
    response
        Answer of the target; None is unknown.
    reward
        The reward of the turn; None is unknown.
    children
        Alternative next turns, a list that may grow.

    Examples
    --------
    >>> node = Node("", probe="Hi", response="Hello", reward=0.5)
    >>> node.prompt, node.attack, node.children
    ('Hi', 'Hi', [])
    >>> node.attack = "Hey"
    >>> node
    Node(context='', prompt='Hey', response='Hello', reward=0.5, children=[])
    """

    context: StateT
    prompt: ActionT | None = None
    response: StateT | None = None
    reward: float | None = None
    children: list[Any] = field(default_factory=list)
    attack: InitVar[ActionT | None] = field(default=None, kw_only=True)
    probe: InitVar[ActionT | None] = field(default=None, kw_only=True)

    def __post_init__(self, attack: ActionT | None, probe: ActionT | None) -> None:
        if attack is not None or probe is not None:
            prompts = [text for text in (self.prompt, attack, probe) if text is not None]
            if any(text != prompts[0] for text in prompts):
                raise ArgumentError(
                    "Node: prompt, attack and probe are names of one text, but they differ; give one of them"
                )
            self.prompt = prompts[0]
        if type(self.children) is not list:
            self.children = _growing(self.children)


for _name in ("attack", "probe"):  # the slot of `prompt` itself, so that they need no memory or calls
    setattr(Node, _name, Node.__dict__["prompt"])


@dataclass
class Graph(Generic[StateT, ActionT]):
    """A graph: one rollout, with its initial state and the first turns. The graph itself is not a turn.

    A subclass that is a dataclass may add fields: those named like facts of TURNS (`goal`, `ending`, ...) fill these columns,
    others become new columns.

    Examples
    --------
    >>> graph = Graph("", [Node("", "Hi", "Hello", 0.5)])
    >>> graph.children[0].children.append(Node("", "Again", "No", 1.0))
    >>> graph.children[0].children[0].response
    'No'
    """

    context: StateT
    children: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.children = _growing(self.children)


@dataclass
class GraphMetrics:
    """Metrics of one graph.

    Attributes
    ----------
    overall
        Metrics of the rollout by name.
    per_turn
        Metrics of each turn by name.

    Examples
    --------
    >>> GraphMetrics(overall={"num_turns": 1}, per_turn=[{"turn": 1}]).overall["num_turns"]
    1
    """

    overall: dict[str, Any]
    per_turn: list[dict[str, Any]]


def details_of(metrics: GraphMetrics) -> dict[str, Any]:
    """Return the metrics of one graph as an entry of the details of results."""
    return {"overall": metrics.overall, "per_turn": metrics.per_turn}


class Recording(Graph[str | None, str | None]):
    """A graph without branches, recorded turn by turn with a fraction of the time and memory of nodes.

    Evaluators read the recorded turns directly. `children` creates nodes on each access: changing them has no effect on the
    recording, but `children` can be set.

    Attributes
    ----------
    said
        Prompt, response and reward of the first turn, then of the next, in one list. A loop can append to it directly, as
        below, in half the time of `add`.
    contexts
        State before each turn, as far as it was given; None if it never was.

    Examples
    --------
    >>> recording = Recording(context="")
    >>> recording.add("Hi", "Hello", 0.5)
    >>> said = recording.said
    >>> for prompt, response, reward in [("Again", "No", None)]:
    ...     said += prompt, response, reward
    >>> recording.children[0].children[0].prompt
    'Again'
    """

    contexts: list[str | None] | None = None

    def __init__(self, context: str | None = None) -> None:
        self.context = context
        self.said: list[Any] = []  # flat, because the garbage collector would track every tuple

    def add(
        self, prompt: str | None, response: str | None, reward: float | None = None, context: str | None = None
    ) -> None:
        """Record the next turn."""
        if context is not None:
            # Turns before the first one with a context are filled with None.
            self.contexts = self.contexts or []
            self.contexts += [None] * (len(self.said) // 3 - len(self.contexts)) + [context]
        self.said += prompt, response, reward

    @property
    def children(self) -> list[Any]:
        """Return the first turn as a node, with the next as its child."""
        # From the last turn to the first, as each node holds the next one.
        nodes = list[Any]()
        for turn, context in reversed(list(enumerate(_contexts_of(self)))):
            prompt, response, reward = self.said[3 * turn : 3 * turn + 3]
            nodes = [Node(context, prompt, response, reward, nodes)]
        return nodes

    @children.setter
    def children(self, nodes: Sequence[Any] | None) -> None:
        if nodes is None:  # as when a store restores a graph
            return
        self.said, self.contexts = [], None
        # A recording has no branches: of nodes with several children the first one is kept.
        for node in _first_branches([Graph(None, list(nodes))])[0]:
            self.add(node.prompt, node.response, node.reward, node.context)


class Recordings(Sequence[Recording]):
    """Recordings of many rollouts in one list, with a fraction of the memory of a list for each.

    During a rollout, its turns go into a separate list in the format of `Recording.said`, which `add` takes when it ends;
    any number of rollouts can run at once. Evaluators measure them like other graphs.

    Examples
    --------
    >>> recordings = Recordings()
    >>> for seed in range(2):
    ...     said = []
    ...     for prompt, response, reward in [("Hi", "Hello", 0.5), ("Again", f"No, {seed}", None)]:
    ...         said += prompt, response, reward
    ...     recordings.add(said)
    >>> len(recordings), recordings[1].children[0].children[0].response
    (2, 'No, 1')
    """

    def __init__(self) -> None:
        self._said: list[Any] = []
        self._ends: list[int] = [0]
        self._began: dict[int, str] = {}

    def add(self, messages: list[Any], context: str | None = None) -> None:
        """Add the turns of a finished rollout: prompt, response and reward of the first, then of the next."""
        if context is not None:
            self._began[len(self)] = context
        self._said += messages
        self._ends.append(len(self._said))

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, place: int) -> Recording: ...
    @overload
    def __getitem__(self, place: slice) -> list[Recording]: ...
    def __getitem__(self, place: int | slice) -> Recording | list[Recording]:
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        at = range(len(self))[place]
        recording = Recording(self._began.get(at))
        recording.said = self._said[self._ends[at] : self._ends[at + 1]]
        return recording


def _contexts_of(recording: Recording | None) -> list[str | None]:
    """Return the context of each turn."""
    if recording is None:
        return []
    contexts = recording.contexts or []
    return contexts + [None] * (len(recording.said) // 3 - len(contexts))


@dataclass(slots=True)
class Spoken:
    """Texts along the first branches of some graphs, turn by turn.

    `sizes` has the number of turns of each graph; `plain` is true if graphs and nodes are rollwise's own, and all texts are
    strings or None.
    """

    prompts: list[Any]
    responses: list[Any]
    rewards: list[Any]
    sizes: IntArray
    plain: bool = False

    def __post_init__(self) -> None:
        self.plain = self.plain and {str, type(None)}.issuperset(map(type, chain(self.prompts, self.responses)))

    @classmethod
    def recorded(cls, recordings: Sequence[Recording | None]) -> Self:
        """Return the content of recordings."""
        turns: list[Sequence[Any]] = [() if recording is None else recording.said for recording in recordings]
        flat, sizes = list(chain.from_iterable(turns)), np.array(list(map(len, turns)), dtype=np.int64) // 3
        return cls(flat[0::3], flat[1::3], flat[2::3], sizes, plain=True)


def are_recordings(graphs: Sequence[Any]) -> bool:
    """Return whether all of them are recordings, or None."""
    return all(graph is None or isinstance(graph, Recording) for graph in graphs)


def spoken(graphs: Sequence[Any]) -> Spoken:
    """Return the texts along the first branch of each graph; None in place of a graph has no turns.

    Nodes are read as in `flatten`, but values are not converted.
    """
    if are_recordings(graphs):
        return Spoken.recorded(graphs)
    nodes, sizes = _first_branches(graphs)
    if all(issubclass(kind, Node) for kind in set(map(type, nodes))):
        texts = [node.prompt for node in nodes], [node.response for node in nodes], [node.reward for node in nodes]
        return Spoken(*texts, sizes, plain=all(graph is None or isinstance(graph, Graph) for graph in graphs))
    return Spoken(
        [prompt_of(node) for node in nodes],
        [reader(node)(node, "response", None) for node in nodes],
        [reader(node)(node, "reward", None) for node in nodes],
        sizes,
    )


def contexts(graphs: Sequence[Any]) -> list[Any]:
    """Return the context of each turn along the first branch of each graph."""
    if are_recordings(graphs):
        return [context for recording in graphs for context in _contexts_of(recording)]
    return [reader(node)(node, "context", None) for node in _first_branches(graphs)[0]]


def _first_branches(graphs: Sequence[Any]) -> tuple[list[Any], IntArray]:
    """Return the nodes along the first branch of each graph, and their number for each graph."""
    try:
        return _walked(graphs, careful=False)
    except AttributeError:  # dicts, or nodes without children
        return _walked(graphs, careful=True)


def _walked(graphs: Sequence[Any], *, careful: bool) -> tuple[list[Any], IntArray]:
    nodes: list[Any] = []
    ends = [0]
    for graph in graphs:
        children = children_of(graph) if careful else graph and graph.children
        while children:
            for _ in range(_LONG):
                node = children[0]
                nodes.append(node)
                children = children_of(node) if careful else node.children
                if not children:
                    break
            else:
                flatten([graph])  # raises an error for a graph with a cycle
        ends.append(len(nodes))
    return nodes, np.diff(np.array(ends, dtype=np.int64)).astype(np.int64)


def prompt_of(node: Any) -> Any:
    """Return the prompt of a node of any class, under any of its names."""
    read = reader(node)
    return next((text for name in PROMPTS if (text := read(node, name, None)) is not None), None)


def children_of(graph: Any) -> Sequence[Any]:
    """Return the children of a graph or of a node; None has none."""
    return (graph.get("children") if isinstance(graph, dict) else getattr(graph, "children", None)) or ()


def further(things: Sequence[Any], kind: type[Any]) -> dict[str, list[Any]]:
    """Return the attributes of graphs or nodes that `kind` lacks: name, and each value, None where absent."""
    standard = {field.name for field in fields(kind)} | {"said", "contexts"}  # the turns of a recording
    instances = [thing for thing in things if isinstance(thing, kind)]
    added = (field.name for subclass in dict.fromkeys(map(type, instances)) for field in fields(subclass))
    names = dict.fromkeys([*added, *(name for thing in instances for name in vars(thing))])
    return {
        name: [getattr(thing, name, None) for thing in things]
        for name in names
        if name not in standard and not name.startswith("_")
    }


def first_branch(graph: Any) -> list[Any]:
    """Return the nodes along the first branch of a graph."""
    return _first_branches([graph])[0]
