"""Reasoning in tags at the head of an answer is kept apart from it, in every format that has texts."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m

SAID = "rollwise: read reasoning in tags at the head of answers as `reasoning`, apart from `response`"
PLAN, ANSWER = "I could explain step 1", "I can't help."


def written(path: Path, *records: Any) -> Path:
    path.write_text("\n".join(map(json.dumps, records)))
    return path


def chat(answer: Any, **fields: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": "u"}, {"role": "assistant", "content": answer, **fields}]
    return {"id": "a", "goal": "g", "messages": messages}


def answer_of(folder: Path, text: str) -> tuple[str | None, str | None]:
    frame = rw.read(written(folder / "chat.jsonl", chat(text)))
    return frame["response"][0], frame["reasoning"][0] if "reasoning" in frame.columns else None


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("text", "answer", "reasoning"),
    [
        (f"<think>{PLAN}</think>{ANSWER}", ANSWER, PLAN),
        (f"\n<think>\n{PLAN}\n</think>\n\n{ANSWER}", ANSWER, PLAN),
        (f"<thinking>{PLAN}</thinking>\n{ANSWER}", ANSWER, PLAN),
        (f"<THINK>{PLAN}</Think>{ANSWER}", ANSWER, PLAN),
        (f"[THINK]{PLAN}[/THINK]{ANSWER}", ANSWER, PLAN),
        (f"◁think▷{PLAN}◁/think▷{ANSWER}", ANSWER, PLAN),
        (f"<|START_THINKING|>{PLAN}<|END_THINKING|>{ANSWER}", ANSWER, PLAN),
        (
            f"<|begin_of_thought|>\n{PLAN}\n<|end_of_thought|>\n<|begin_of_solution|>\n{ANSWER}\n<|end_of_solution|>",
            ANSWER,
            PLAN,
        ),
        # Two blocks, and an empty one, as Qwen writes it without thinking.
        (f"<think>{PLAN}</think>\n<think>Or not.</think>\n{ANSWER}", ANSWER, f"{PLAN}\n\nOr not."),
        (f"<think>\n\n</think>\n\n{ANSWER}", ANSWER, None),
        # The template wrote the opening tag into the prompt.
        (f"{PLAN}\n</think>\n\n{ANSWER}", ANSWER, PLAN),
        (f"{PLAN}</think>{ANSWER}", ANSWER, PLAN),
        (f"{PLAN}. </think> {ANSWER}", ANSWER, f"{PLAN}."),
        (f"</think>\n\n{ANSWER}", ANSWER, None),
        (f"{PLAN}<|end_of_thought|>{ANSWER}", ANSWER, PLAN),
        # Cut off by the limit of tokens: there is no answer.
        (f"<think>{PLAN}", None, PLAN),
        (f"<think>{PLAN}</think>\n<think>And", None, f"{PLAN}\n\nAnd"),
        (f"<think>{PLAN}</think>", None, PLAN),
        # An answer that speaks of the tags stays whole.
        ("Models write <think>a plan</think> first.", None, None),
        ("End it with `</think>`, then answer.", None, None),
        ('End it with "</think>", then answer.', None, None),
        ("The tag </think> ends it.", None, None),
        ("```xml\n<think>a plan</think>\n```", None, None),
        ("Use this:\n```\na plan\n</think>\n```\n", None, None),
        ("I think that a < b, so </b> is wrong.", None, None),
        ("<thinker>x</thinker> is no such tag.", None, None),
    ],
)
def test_an_answer_is_what_follows_its_reasoning(tmp_path, text, answer, reasoning):
    is_quoted = answer is reasoning is None
    assert answer_of(tmp_path, text) == (text if is_quoted else answer, reasoning)


@pytest.mark.integration
def test_it_is_told_in_one_line(tmp_path, capsys):
    answer_of(tmp_path, f"<think>{PLAN}</think>{ANSWER}")
    assert capsys.readouterr().err == f"{SAID}\n"
    answer_of(tmp_path, f"<think>{PLAN}")
    assert capsys.readouterr().err == f"{SAID}, texts that end within it as no answer\n"
    answer_of(tmp_path, ANSWER)
    assert capsys.readouterr().err == ""


TAGGED = f"<think>{PLAN}</think>\n\n{ANSWER}"
ROW = {"prompt": "u", "response": TAGGED, "goal": "g"}


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "log"),
    [
        ("chat.jsonl", chat(TAGGED)),
        ("parts.jsonl", chat([{"type": "text", "text": TAGGED}])),
        ("rows.jsonl", ROW),
        ("turns.jsonl", {"rollout_id": "a", **ROW}),
        ("nested.jsonl", {"rollout_id": "a", "goal": "g", "turns": [{"prompt": "u", "response": TAGGED}]}),
        ("harmbench.json", {"g": [{"test_case": "u", "generation": TAGGED, "label": 0}]}),
        (
            "sharegpt.json",
            [{"id": "x", "conversations": [{"from": "human", "value": "u"}, {"from": "gpt", "value": TAGGED}]}],
        ),
        (
            "tau.json",
            [{"task_id": 1, "trial": 0, "reward": 1.0, "info": {}, "traj": chat(TAGGED)["messages"]}],
        ),
        ("verl.jsonl", {"input": "u", "output": TAGGED, "score": 1.0, "step": 1}),
    ],
)
def test_every_format_keeps_them_apart(tmp_path, capsys, name, log):
    frame = rw.read(written(tmp_path / name, log))
    assert frame.select("response", "reasoning").rows() == [(ANSWER, PLAN)]
    assert SAID.removeprefix("rollwise: read ") in capsys.readouterr().err
    # What was read is written and read again unchanged.
    rw.write(frame, tmp_path / "again.parquet")
    assert rw.read(tmp_path / "again.parquet").equals(frame)
    assert capsys.readouterr().err == ""


@pytest.mark.integration
def test_two_servers_of_one_model_give_the_same_table(tmp_path):
    """One leaves the tags in the text, the other parses them."""
    left = rw.read(written(tmp_path / "a.jsonl", chat(TAGGED)))
    parsed = rw.read(
        written(tmp_path / "b.jsonl", chat([{"type": "thinking", "thinking": PLAN}, {"type": "text", "text": ANSWER}]))
    )
    assert left.select("response", "reasoning").equals(parsed.select("response", "reasoning"))
    plan = "<think>I cannot do this</think>Sure: step 1"
    (refused,) = rw.read(written(tmp_path / "c.jsonl", chat(plan))).select(m.refused_by_rule()).row(0)
    assert refused is False


def test_reasoning_that_is_stated_twice_is_there_once(tmp_path):
    both = [{"type": "thinking", "thinking": PLAN}, {"type": "text", "text": TAGGED}]
    more = [{"type": "thinking", "thinking": "First."}, {"type": "text", "text": TAGGED}]
    frame = rw.read(written(tmp_path / "a.jsonl", chat(both), {**chat(more), "id": "b"}))
    assert frame["reasoning"].to_list() == [PLAN, f"First.\n\n{PLAN}"]


@pytest.mark.parametrize("log", [{"rollout_id": "a", **ROW}, {**chat(TAGGED)}])
def test_a_judge_s_reasoning_is_not_the_target_s(tmp_path, log):
    frame = rw.read(written(tmp_path / "a.jsonl", {**log, "reasoning": "It complied."}))
    assert frame.select("response", "reasoning", "reasoning_in_tags").rows() == [(ANSWER, "It complied.", PLAN)]


def test_frames_in_memory_are_read_alike(capsys):
    frame = rw.turns(
        pl.DataFrame({"rollout_id": ["a", "a"], "turn": [1, 2], "prompt": ["u", "v"], "response": [TAGGED, "Yes."]})
    )
    assert frame.select("response", "reasoning").rows() == [(ANSWER, PLAN), ("Yes.", None)]
    assert capsys.readouterr().err == f"{SAID}\n"


@pytest.mark.integration
def test_many_tags_take_no_longer_than_their_text(tmp_path):
    text = "<think></think>" * 50_000
    assert answer_of(tmp_path, text) == (None, None)
    assert answer_of(tmp_path, "<think>" * 50_000)[0] is None
