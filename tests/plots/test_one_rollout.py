"""One rollout as a timeline and as a tree: what is drawn of its turns and of its steps."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from matplotlib.patches import Rectangle

import rollwise as rw
from rollwise import plots, schema
from rollwise.errors import ArgumentError
from rollwise.plots import timeline as draw
from rollwise.plots import trace_text
from rollwise.plots.one_rollout import STATES, state

CALL = [{"name": "search", "arguments": '{"q": "$x$"}'}]


def turns(*rows: dict[str, Any], **facts: Any) -> pl.DataFrame:
    """TURNS of rollout "a"."""
    filled = [{"rollout_id": "a", "turn": place} | facts | row for place, row in enumerate(rows, 1)]
    return pl.DataFrame(filled, schema=schema.TURNS.dtypes, orient="row")


def steps(*rows: dict[str, Any]) -> pl.DataFrame:
    """STEPS of rollout "a"."""
    filled = [{"rollout_id": "a", "step": place, "turn": 1, "kind": "tool"} | row for place, row in enumerate(rows, 1)]
    return pl.DataFrame(filled, schema=schema.STEPS.dtypes, orient="row")


FIVE = turns(
    {"succeeded": False, "refused": True, "score": 0.1, "tool_calls": CALL},
    {"succeeded": False, "score": 0.4, "response_tokens": 50},
    {"error": "timeout"},
    {},
    {"succeeded": True, "score": 0.9, "response": "yes\n\x1b[31m"},
    target="base",
    ending="success",
    outcome="success",
)


def test_a_turn_has_one_state():
    """Success before all else; an error is no failure; nothing known is unjudged."""
    assert [state(turn) for turn in FIVE.iter_rows(named=True)] == [
        "refused",
        "failed",
        "error",
        "unjudged",
        "success",
    ]
    assert state({"pruned": True}) == "pruned"
    assert (
        len({look.marker for look in STATES.values()}) == len({look.color for look in STATES.values()}) == len(STATES)
    )


@pytest.mark.integration
def test_the_timeline_of_turns_has_lanes():
    """Blocks by turn, then scores, tokens and tools, each at its turn."""
    marks = plots.marks.timeline(FIVE)
    assert marks.filter(mark="turn").select("at", "until", "state").rows()[0] == (0.5, 1.5, "refused")
    assert marks.unique("lane", keep="first").sort("lane")["lane_name"].to_list() == [
        "turns", "score", "response tokens", "search"
    ]  # fmt: skip
    assert marks.filter(mark="score").select("at", "value").rows() == [(1.0, 0.1), (2.0, 0.4), (5.0, 0.9)]
    assert marks.filter(mark="tool").select("at", "text").rows() == [(1.0, 'search {"q": "$x$"}')]
    assert marks.filter(mark="turn")["text"][-1] == "yes \\x1b[31m"
    said = plots.timeline(FIVE).figure.get_supxlabel().replace("\n", " ")
    assert said == "Target: base; outcome: success; ending: success. First success in turn 5."


@pytest.mark.integration
def test_seconds_are_used_where_all_are_known():
    """Turns follow one another in time; one unknown duration puts them back on turns, and asking for seconds is an error."""
    timed = turns({"seconds": 2.0}, {"seconds": 0.5})
    assert plots.marks.timeline(timed).select("at", "until").rows() == [(0.0, 2.0), (2.0, 2.5)]
    assert plots.timeline(timed).axes[0].get_xlabel() == "seconds"
    assert plots.marks.timeline(timed, axis="turn").select("at", "until").rows() == [(0.5, 1.5), (1.5, 2.5)]
    half = turns({"seconds": 2.0}, {})
    assert plots.timeline(half).axes[0].get_xlabel() == "turn"
    with pytest.raises(ArgumentError, match="not known for every turn"):
        plots.timeline(half, axis="seconds")


@pytest.mark.integration
def test_many_seconds_have_separators():
    """Hours of a rollout, of turns as of steps."""
    hours = turns({"seconds": 7000.0}, {"seconds": 5000.0})
    found = steps({"start": 0.0, "end": 7000.0}, {"start": 7000.0, "end": 12000.0})
    for plot in (plots.timeline(hours, axis="seconds"), plots.timeline(found)):
        (ax,) = plot.axes
        plot.figure.draw_without_rendering()
        assert {"0", "10,000", "12,000"} <= {text.get_text() for text in ax.get_xticklabels()}


def test_the_timeline_of_steps_has_bars_and_events():
    """A step with an end is a bar, one without an event; without times they stand in their order."""
    found = steps(
        {"kind": "model", "name": "m", "start": 0.0, "end": 1.5, "tokens": 7},
        {"name": "search", "start": 0.5, "parent": 1, "turn": 2},
    )
    marks = plots.marks.timeline(found)
    assert marks.select("lane_name", "mark", "at", "until", "state").rows() == [
        ("m", "step", 0.0, 1.5, "model"),
        ("search", "event", 0.5, None, "tool"),
    ]
    (ax,) = plots.timeline(found).axes
    assert ax.get_xlabel() == "seconds since the first step"
    assert {"turn 1", "2"} <= {text.get_text() for text in ax.texts}
    untimed = plots.marks.timeline(found.with_columns(start=None))
    assert untimed.select("mark", "at", "until").rows() == [("step", 0.5, 1.5), ("step", 1.5, 2.5)]


@pytest.mark.integration
def test_many_tools_share_a_lane():
    """The first nine have their own, the rest is one lane at the bottom, and the caption says so."""
    many = turns(*({"tool_calls": [{"name": f"tool {place:02}", "arguments": "{}"}]} for place in range(30)))
    marks = plots.marks.timeline(many)
    lanes = marks.unique("lane", keep="first").sort("lane")["lane_name"].to_list()
    assert lanes == ["turns", *(f"tool {place:02}" for place in range(9)), "others"]
    assert marks.filter(lane_name="others").height == 21
    assert "Others: tools" in plots.timeline(many).figure.get_supxlabel()


def test_a_tree_has_parents_before_children():
    """Nodes in any order, two children in theirs; a lost parent, a circle and its own parent are roots, and none is lost."""
    nodes = {"c": "a", "b": "a", "a": None, "lost": "nobody", "self": "self", "x": "y", "y": "x"}
    frame = turns(*({"node_id": node, "parent_id": parent, "turn": 1} for node, parent in nodes.items()))
    marks = plots.marks.trace_tree(frame)
    assert marks.select("node", "depth", "parent_row").rows() == [
        ("a", 0, None), ("c", 1, 0), ("b", 1, 0), ("lost", 0, None), ("self", 0, None), ("x", 0, None), ("y", 1, 5)
    ]  # fmt: skip
    assert plots.trace_tree(frame).figure is not None


@pytest.mark.integration
def test_a_simulated_tree_of_attacks_is_whole():
    """Every node of the tree stands once, below its parent, one step deeper."""
    tame: dict[str, Any] = {"give_up": 0.0, "target_ends": 0.0, "error": 0.0}
    found, _ = rw.simulate(goals=3, attempts=1, branches=3, turns=4, seed=2, **tame)
    tree = found.filter(pl.col("rollout_id") == found["rollout_id"][0])
    marks = plots.marks.trace_tree(tree)
    assert sorted(marks["node"]) == sorted(tree["node_id"])
    by_row = {mark["row"]: mark for mark in marks.iter_rows(named=True)}
    for mark in by_row.values():
        if mark["parent"] is not None:
            above = by_row[mark["parent_row"]]
            assert (above["node"], above["depth"] + 1) == (mark["parent"], mark["depth"])
            assert above["row"] < mark["row"]
    plots.trace_tree(tree).figure.draw_without_rendering()
    assert len(trace_text(tree, width=80).splitlines()) == marks.height + 1


def test_turns_without_nodes_have_the_tools_they_called():
    """Each turn is a root, its calls are below it; no control character reaches the terminal."""
    assert trace_text(FIVE, width=60).splitlines() == [
        "a",
        "├── turn 1, refused  score 0.1",
        '│   └── search: {"q": "$x$"}',
        "├── turn 2, failed  50 tokens, score 0.4",
        "├── turn 3, error",
        "├── turn 4, unjudged",
        "└── turn 5, success  score 0.9: yes \\x1b[31m",
    ]


@pytest.mark.integration
def test_long_trees_are_cut_and_counted():
    """The figure and the text say how much is left; a deep chain fits as well."""
    many = steps(*({"output": "x" * 500} for _ in range(200)))
    assert "140 of 200 rows are not shown." in plots.trace_tree(many).figure.get_supxlabel()
    assert trace_text(many, most=10, width=40).splitlines()[-1] == "└── … 190 more"
    assert max(map(len, trace_text(many, width=40).splitlines())) <= 40
    deep = steps(*({"parent": place or None} for place in range(60)))
    assert plots.marks.trace_tree(deep)["depth"].max() == 59
    figure = plots.trace_tree(deep).figure
    figure.draw_without_rendering()
    assert trace_text(deep, width=40).splitlines()[-1].endswith("tool")


@pytest.mark.integration
def test_hostile_words_are_shown_not_obeyed():
    """Dollars, brackets of rich, direction marks and newlines."""
    name = "[red]$a_b$\u202e\n\x1b[2J"
    found = steps({"name": name, "kind": name, "output": name}).with_columns(rollout_id=pl.lit(name))
    for text in (trace_text(found, width=200), plots.marks.trace_tree(found)["name"][0]):
        assert "[red]$a_b$\\u202e \\x1b[2J" in text
        assert "\x1b" not in text
    for ax in (plots.trace_tree(found), draw(found)):
        ax.figure.draw_without_rendering()


def test_one_rollout_must_be_named_of_several():
    """No such rollout, several, none, another frame: one sentence each."""
    two = pl.concat([FIVE, FIVE.with_columns(rollout_id=pl.lit("b"))])
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: plots.timeline(two), "there are 2 rollouts; name one of them, such as rollout_id='a'"),
        (lambda: plots.trace_tree(two, rollout_id="aa"), "no rollout 'aa'; the nearest are a"),
        (lambda: plots.timeline(FIVE.clear()), "there are 0 rollouts"),
        (lambda: trace_text(pl.DataFrame({"x": [1]})), "neither TURNS nor STEPS"),
        (lambda: plots.timeline(FIVE, axis="step"), "not one of seconds, turn"),
        (lambda: plots.timeline(3), "not a frame"),
    ]
    for call, words in calls:
        with pytest.raises(ArgumentError, match=words):
            call()
    chosen, alone = plots.marks.timeline(two, rollout_id="b"), plots.marks.timeline(FIVE)
    assert chosen.drop("key").equals(alone.drop("key"))  # which has the id of the rollout
    nothing = turns({"turn": None, "error": "crashed"})
    assert plots.marks.timeline(nothing)["state"].to_list() == ["error"]
    assert trace_text(nothing).endswith("no prompt, error")


def test_a_rollout_judged_as_a_whole_has_no_unjudged_turns():
    """Its turns are turns, and its outcome is beside them and in the text; without a verdict they are unjudged."""
    judged = turns({}, {"refused": True}, {}, target="base", outcome="failure")
    plot = plots.timeline(judged)
    assert plots.marks.timeline(judged)["state"].to_list() == ["turn", "refused", "turn"]
    assert plot.alt == "Timeline of 3 turns: 1 refused; outcome: failure."
    assert "failure" in {text.get_text() for text in plot.axes[0].texts}
    assert plots.timeline(turns({}, {}, outcome="success")).alt == "Timeline of 2 turns; outcome: success."
    assert plots.timeline(turns({}, {})).alt == "Timeline of 2 turns: 2 unjudged."
    assert "unjudged" not in trace_text(judged, width=60)


def test_steps_with_times_are_a_waterfall() -> None:
    """Bars from start to end above an axis of seconds: 4 s of 8 are half as long as the whole; without times there are none."""
    steps = pl.DataFrame(
        {"rollout_id": "a", "step": [1, 2, 3], "parent": [None, 1, 1], "kind": ["agent", "model", "tool"]}
        | {"start": [10.0, 10.0, 16.0], "end": [18.0, 14.0, float("inf")]}
    )
    marks = plots.marks.trace_tree(steps)
    assert marks.select("start", "end").rows() == [(0.0, 8.0), (0.0, 4.0), (None, None)]
    (ax,) = plots.trace_tree(steps).axes
    whole, half = (bar.get_width() for bar in ax.patches if isinstance(bar, Rectangle))
    assert whole == pytest.approx(2 * half)
    assert {"0 s", "8 s"} <= {text.get_text() for text in ax.texts}
    assert not plots.trace_tree(steps, size="column").axes[0].patches  # its width is for the texts
    assert not plots.trace_tree(steps.drop("end")).axes[0].patches
