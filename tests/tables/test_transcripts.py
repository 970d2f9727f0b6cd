"""One rollout as Markdown: nothing of a log leaves its block of code, and nothing of the rollout is missing."""

import re

import pytest

import rollwise as rw
from rollwise.errors import ArgumentError
from rollwise.tables.transcripts import transcript_markdown

HOSTILE = "# heading\n\n````\n<script>alert(1)</script>\n```\n[link](http://example.invalid)\n~~~\x1b[2J"


def outside_of_blocks(document: str) -> str:
    """Return a Markdown document without its blocks of code, by the rule of CommonMark."""
    kept: list[str] = []
    fence = ""
    for line in document.splitlines():
        run = line[: len(line) - len(line.lstrip("`"))]
        if fence:
            fence = "" if len(run) >= len(fence) and not line.strip("`") else fence
        elif len(run) >= 3 and "`" not in line[len(run) :]:
            fence = run
        else:
            kept.append(line)
    assert not fence, "a block is not closed"
    return "\n".join(kept)


def test_no_text_of_a_log_becomes_markdown():
    call = {"name": "a`b``c", "arguments": '{"x": "```"}'}
    row = {
        "rollout_id": "r`1\n# x",
        "turn": 1,
        "target": "a|b`",
        "prompt": HOSTILE,
        "response": HOSTILE,
        "error": HOSTILE,
    }
    turns = rw.turns([row | {"tool_calls": [call], "score_harm": 3, "succeeded": True}])
    document = transcript_markdown(turns, turns["rollout_id"][0])
    shown = outside_of_blocks(document)
    assert re.findall("^#+ .*", shown, re.MULTILINE) == ["# ``r`1 # x``", "## Turn 1"]
    assert not any(word in shown for word in ("script", "link", "heading", "\x1b"))
    assert "\x1b" not in document
    assert document.count("<script>alert(1)</script>") == 3
    assert "- target: `` a|b` ``" in shown
    assert "**Called** ```a`b``c```" in shown
    assert '{\n  "x": "```"\n}' in document


def test_facts_scores_and_verdicts_are_listed():
    rows = [
        {
            "rollout_id": "a",
            "turn": turn,
            "outcome": "success",
            "score_harm": 3,
            "refused": turn == 1,
            "succeeded": turn == 2,
        }
        for turn in (1, 2)
    ]
    lines = transcript_markdown(rw.turns(rows), "a").splitlines()
    assert "- outcome: `success`" in lines
    assert "- `score_harm`: `3`" in lines
    assert [line for line in lines if "refused" in line] == ["- refused: `True`", "- refused: `False`"]
    assert [line for line in lines if "succeeded" in line] == ["- succeeded: `False`", "- succeeded: `True`"]


def test_a_tree_and_a_rollout_without_turns():
    rows = [
        {"rollout_id": "t", "turn": 1, "node_id": "n1", "parent_id": None, "pruned": False, "response": "A"},
        {"rollout_id": "t", "turn": 2, "node_id": "n2", "parent_id": "n1", "pruned": True, "response": "B"},
        {"rollout_id": "t", "turn": 2, "node_id": "n3", "parent_id": "n1", "pruned": False, "response": "C"},
    ]
    document = transcript_markdown(rw.turns(rows), "t")
    assert re.findall("^## .*", document, re.MULTILINE) == [
        "## Turn 1 (node `n1`)",
        "## Turn 2 (node `n2` after `n1`, pruned)",
        "## Turn 2 (node `n3` after `n1`)",
    ]
    silent = rw.turns([{"rollout_id": "s", "turn": None, "ending": "error", "error": "boom"}])
    assert "## No prompt was sent\n\n**Error**\n\n```text\nboom\n```" in transcript_markdown(silent, "s")


def test_an_unknown_rollout_is_one_sentence():
    turns = rw.turns([{"rollout_id": "abc", "response": "Hi"}])
    with pytest.raises(ArgumentError, match="there is no rollout 'abd' in these logs; the nearest are abc"):
        transcript_markdown(turns, "abd")
