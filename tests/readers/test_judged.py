"""Verdicts and prompts in files of their own, and the turns that labels belong to."""

import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rollwise as rw
from rollwise import read, schema
from rollwise.errors import ArgumentError, ReadError, SchemaError

FIXTURES = Path(__file__).parent / "fixtures"


# ── verdicts ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize(
    ("folder", "source", "counts"),
    [
        ("pyrit", "refusals", {"human": 148}),
        ("nat_eval_docs", "nat_eval", {"evaluate_L1101": 3}),
        ("hibayes_judge_csv/q1.csv", "grades", None),
        ("hibayes_judge_csv/q2.csv", "grades", None),
        ("hibayes_judge_csv/q5.csv", "choices", None),
    ],
)
def test_real_files_of_verdicts(shared, folder, source, counts):
    verdicts = rw.judges.read_verdicts(shared / folder)
    schema.check(verdicts, schema.VERDICTS)
    assert tuple(verdicts.columns[: len(schema.VERDICTS.names)]) == schema.VERDICTS.names
    assert verdicts["source"].unique().to_list() == [source]
    rows = {"q1": 182, "q2": 530, "q5": 756}
    assert verdicts.height == rows.get(Path(folder).stem, verdicts.height)
    if counts is not None:
        assert dict(verdicts["judge"].value_counts().iter_rows()) == counts


def test_labels_of_the_refusal_scorer(shared):
    verdicts = rw.judges.read_verdicts(shared / "pyrit")
    assert verdicts["value"].value_counts().sort("value").rows() == [(0.0, 54), (1.0, 94)]
    assert verdicts["prompt"].null_count() == verdicts["response"].null_count() == 0


def test_the_average_of_nat_is_that_of_its_items(shared):
    average = rw.readers.read_summary(shared / "nat_eval_docs")["estimate"].item()
    assert (
        rw.judges.read_verdicts(shared / "nat_eval_docs")["value"].mean()
        == pytest.approx(average)
        == pytest.approx(2 / 3)
    )


def test_grades_and_choices_name_who_was_graded(shared):
    grades = rw.judges.read_verdicts(shared / "hibayes_judge_csv" / "q1.csv")
    table = pl.read_csv(shared / "hibayes_judge_csv" / "q1.csv")
    assert (
        grades.select("value", "judge", "target").rows()
        == table.select(pl.col("score").cast(pl.Float64), "grader", "LLM").rows()
    )
    choices = rw.judges.read_verdicts(shared / "hibayes_judge_csv" / "q5.csv")
    first = choices.filter(value=1)
    assert (first["label"] == first["first"]).all()
    assert (choices.filter(value=0)["label"] == choices.filter(value=0)["second"]).all()


def test_own_verdicts_come_back(tmp_path):
    verdicts = pl.DataFrame(
        {"rollout_id": ["a", "b"], "turn": [1, 2], "judge": ["j", "j"], "value": [0.5, None], "label": [None, "bad"]}
    )
    for name, writer in (("v.parquet", verdicts.write_parquet), ("v.csv", verdicts.write_csv)):
        writer(tmp_path / name)
        back = rw.judges.read_verdicts(tmp_path / name)
        assert back.select("rollout_id", "turn", "judge", "value", "label").rows() == verdicts.rows()


def test_the_red_team_of_nat(tmp_path):
    lines = (
        '{"uid": "s_1_last", "scenario_id": "s", "item_id": 1, "condition_name": "last", "score": 1.0, "tags": ["x"]}\n'
        '{"uid": "s_2_last", "scenario_id": "s", "item_id": 2, "condition_name": "last", "score": 0.0, '
        '"error_message": "timeout"}\n'
    )
    (tmp_path / "evaluation_results.jsonl").write_text(lines)
    verdicts = rw.judges.read_verdicts(tmp_path)
    assert verdicts.select("judge", "value", "error", "attack", "task").rows() == [
        ("last", 1.0, None, "s", "1"),
        ("last", None, "timeout", "s", "2"),
    ]


def test_an_item_that_nat_failed_to_evaluate_has_an_error_and_no_value(tmp_path):
    failed = [
        {"id": 1, "score": 0.0, "error": None, "reasoning": {"error": "Evaluator error: no key"}},
        {"id": 2, "score": 0.0, "error": "no score found", "reasoning": {"error_type": "ValueError"}},
        {"id": 3, "score": 0.0, "reasoning": {"reasoning": "Error in evaluator from parsing judge LLM response."}},
    ]
    judged = [
        {"id": 4, "score": 0.0, "reasoning": {"error": "the answer names the wrong year"}},
        {"id": 5, "score": 0.5, "error": None, "reasoning": {"reasoning": "half of it"}},
        {"id": 6, "score": 0.8, "reasoning": {"error_type": "ValueError", "recovered_from_output_parser_error": True}},
    ]
    log = {"average_score": 1.3 / 6, "eval_output_items": failed + judged}
    (tmp_path / "accuracy_output.json").write_text(json.dumps(log))
    verdicts = rw.judges.read_verdicts(tmp_path)
    assert verdicts["value"].to_list() == [None, None, None, 0.0, 0.5, 0.8]
    assert verdicts["error"].to_list()[:3] == [
        "Evaluator error: no key",
        "no score found",
        "Error in evaluator from parsing judge LLM response.",
    ]
    assert verdicts["error"].null_count() == 3


def test_what_holds_no_verdicts(tmp_path, shared):
    with pytest.raises(ReadError, match=r"holds no verdicts; `rw.read` reads rollouts"):
        rw.judges.read_verdicts(FIXTURES / "native" / "toy.csv")
    with pytest.raises(ReadError, match="holds no verdicts"):
        rw.judges.read_verdicts(shared / "arena_hard")
    (tmp_path / "grades.csv").write_text("score,grader\n1,ann\ngood,bob\n")
    with pytest.raises(ReadError, match="record 1: field `score`: expected a number, got 'good'"):
        rw.judges.read_verdicts(tmp_path / "grades.csv")
    (tmp_path / "grades.csv").unlink()
    with pytest.raises(ArgumentError, match="errors='ignore' is unknown; it is"):
        rw.judges.read_verdicts(FIXTURES, errors="ignore")  # type: ignore[call-overload]
    (tmp_path / "a.csv").write_text("rollout_id,label\na,1\n,2\n")
    verdicts, problems = rw.judges.read_verdicts(tmp_path, errors="collect")
    assert (verdicts.height, problems["field"].to_list()) == (1, ["rollout_id"])


@pytest.mark.integration
def test_labels_of_rollouts_do_not_take_their_place(tmp_path):
    (tmp_path / "annotations.csv").write_text("rollout_id,turn,human_label,annotator\nr1,1,1,bob\nr1,2,0,bob\n")
    (tmp_path / "labels.csv").write_text("rollout_id,turn,label\nr1,1,bad\nr1,2,good\n")
    turns = [{"prompt": "a", "response": "b"}, {"prompt": "c", "response": "d"}]
    (tmp_path / "logs.jsonl").write_text(json.dumps({"rollout_id": "r1", "turns": turns}))
    frame, problems = rw.read(tmp_path, errors="collect")
    assert frame.select("turn", "prompt", "response").rows() == [(1, "a", "b"), (2, "c", "d")]
    assert {Path(file).name: reason for file, reason in problems.select("file", "reason").rows()} == {
        "annotations.csv": "holds labels, not rollouts: open it with Polars, and join them to the turns with "
        "`rw.judges.join_labels`",
        "labels.csv": "holds labels, not rollouts: open it with `rw.judges.read_verdicts`, and join them to the turns with "
        "`rw.judges.join_labels`",
    }
    assert rw.read(tmp_path).equals(frame)
    # what it says can be done
    for labels, name in [
        (pl.read_csv(tmp_path / "annotations.csv"), "human_label"),
        (rw.judges.read_verdicts(tmp_path / "labels.csv"), "label"),
    ]:
        labeled, _ = rw.judges.join_labels(frame, labels)
        assert labeled[name].to_list() in ([1, 0], ["bad", "good"])
    with pytest.raises(
        ReadError, match=r"holds no verdicts; a table of them has a column .* called label or value or verd"
    ):
        rw.judges.read_verdicts(tmp_path / "annotations.csv")


@pytest.mark.integration
@pytest.mark.parametrize("header", ["rollout_id,turn,harm", "rollout_id,turn,score,label", "rollout_id,user,label"])
def test_labels_beside_what_happened_are_columns_of_a_log(tmp_path, header):
    (tmp_path / "a.csv").write_text(f"{header}\na,1,1{',x' if 'score' in header else ''}\n")
    assert rw.read(tmp_path)["source"].to_list() == ["native"]


@pytest.mark.integration
def test_what_opens_a_file_is_said_and_never_in_a_circle(tmp_path):
    (tmp_path / "a.csv").write_text("goal,target\nwrite,Here\n")
    with pytest.raises(
        ReadError, match=r"holds no verdicts; it holds prompts, not rollouts: open it with `rw.rollout.read_prompts`"
    ):
        rw.judges.read_verdicts(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text("behavior,generation\nwrite,Here\n")
    with pytest.raises(ReadError, match=r"holds no verdicts; `rw.read` reads rollouts"):
        rw.judges.read_verdicts(tmp_path / "b.csv")
    assert rw.read(tmp_path / "b.csv").select("goal", "response").rows() == [("write", "Here")]
    (tmp_path / "c.json").write_text('{"a": [{"case": "x", "size": 3}]}')
    with pytest.raises(ReadError, match="holds no prompts; a table of them has"):
        rw.rollout.read_prompts(tmp_path / "c.json")


# ── prompts ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_real_files_of_prompts(shared):
    seeds = rw.rollout.read_prompts(shared / "astra_rl_prompts")
    schema.check(seeds, schema.PROMPTS)
    assert dict(seeds["source"].value_counts().iter_rows()) == {"goals": 515, "strings": 235}
    assert seeds.filter(source="goals").select("goal", "expected").null_count().row(0) == (0, 0)
    findings, problems = rw.rollout.read_prompts(shared / "quesma_gpt_oss" / "findings", errors="collect")
    assert findings["source"].unique().to_list() == ["findings"]
    assert set(findings["category"]) == {"deception_samples", "chain_of_thought"}
    assert problems.height == 11


HARMBENCH = (
    "Behavior,FunctionalCategory,SemanticCategory,Tags,ContextString,BehaviorID\nMake x,standard,chemical,,,x_id\n"
)
TESTS = {"beh_a": ["do x", "do x, please"], "beh_b": ["do y"], "beh_c": []}
QUESTION = {"question_id": 81, "category": "writing", "turns": ["Write.", "Shorter."], "reference": ["a"]}


@pytest.mark.parametrize(
    ("name", "text", "source", "rows"),
    [
        ("jbb.csv", "Index,Goal,Behavior,Category,Target,Source\n7,Write x,Spam,Fraud,Here is,Original\n", "goals", [
            ("7", "Write x", "Fraud", None, "Here is")
        ]),
        ("harmbench.csv", HARMBENCH, "goals", [("x_id", "Make x", "chemical", None, None)]),
        ("advbench.csv", "goal,target\nWrite x,Sure\n", "goals", [("0", "Write x", None, None, "Sure")]),
        ("strongreject.csv", "category,source,forbidden_prompt\nHate,MW,do x\n", "prompts", [
            ("0", None, "Hate", "do x", None)
        ]),
        ("question.jsonl", json.dumps(QUESTION), "questions", [("81", None, "writing", "Write.", None)]),
        ("test_cases.json", json.dumps(TESTS), "test_cases", [
            ("beh_a/0", "beh_a", None, "do x", None),
            ("beh_a/1", "beh_a", None, "do x, please", None),
            ("beh_b/0", "beh_b", None, "do y", None),
        ]),
    ],
)  # fmt: skip
def test_standard_sets_are_prompts(tmp_path, name, text, source, rows):
    (tmp_path / name).write_text(text)
    prompts = rw.rollout.read_prompts(tmp_path)
    schema.check(prompts, schema.PROMPTS)
    known = prompts.with_columns(pl.col("prompt_id").str.split_exact("/", 1).struct.field("field_0").alias("set"))
    assert known["set"].str.starts_with(f"{source}-").all()
    columns = [pl.col("prompt_id").str.replace("^[^/]*/", ""), "goal", "category", "prompt", "expected"]
    assert prompts.select(columns).rows() == rows
    assert prompts["source"].unique().to_list() == [source]
    with pytest.raises(ReadError, match=r"holds prompts, not rollouts: open it with `rw.rollout.read_prompts`"):
        rw.read(tmp_path / name)


def test_what_a_set_says_beside_its_prompts_stays(tmp_path):
    (tmp_path / "a.csv").write_text("Index,Goal,Behavior,Source\n1,Write x,Spam,Original\n1,Write y,Spam,AdvBench\n")
    prompts = rw.rollout.read_prompts(tmp_path)
    assert prompts.select("Index", "Behavior", "Source").rows() == [(1, "Spam", "Original"), (1, "Spam", "AdvBench")]
    assert prompts["prompt_id"].str.slice(-2).to_list() == ["/0", "/1"]  # the same index twice names nothing
    (tmp_path / "a.csv").write_text("source,forbidden_prompt\nMW,do x\n")
    assert rw.rollout.read_prompts(tmp_path).select("source", "source_source").row(0) == ("prompts", "MW")


def test_prompts_come_back(tmp_path):
    (tmp_path / "a.csv").write_text("id,goal\nx,Write x\n")
    prompts = rw.rollout.read_prompts(tmp_path)
    (tmp_path / "b.csv").write_text(prompts.write_csv())
    back = rw.rollout.read_prompts(tmp_path / "b.csv")
    assert back.select(schema.PROMPTS.names).equals(prompts.select(schema.PROMPTS.names))


@pytest.mark.parametrize(
    "record", [{"goal": "x", "steps": [{"prompt": "a", "response": "b"}]}, {"behavior": "x", "generation": "b"}]
)
def test_goals_with_what_came_of_them_are_no_prompts(tmp_path, record):
    (tmp_path / "a.jsonl").write_text("\n".join([json.dumps(record)] * 2))
    assert rw.read(tmp_path / "a.jsonl").select("goal", "response").rows() == [("x", "b")] * 2


def test_tables_with_answers_hold_no_prompts():
    with pytest.raises(ReadError, match="holds no prompts"):
        rw.rollout.read_prompts(FIXTURES / "verl" / "10.jsonl")


# ── joining ───────────────────────────────────────────────────────────────────────────────────────────────────────────
TURNS = rw.turns(
    [
        {"rollout_id": "a", "turn": 1, "prompt": "Hi", "response": "Hello", "task": "t1"},
        {"rollout_id": "a", "turn": 2, "prompt": "Again", "response": "No", "task": "t1"},
        {"rollout_id": "b", "turn": 1, "prompt": "Hi", "response": "Hello", "task": "t2"},
        {"rollout_id": "c", "turn": 1, "prompt": "Bye", "response": "Bye", "task": "t2"},
    ]
)


def counts(joined: pl.DataFrame) -> dict[str, tuple[int, int]]:
    schema.check(joined, schema.JOINED)
    return {row["found"]: (row["labels"], row["turns"]) for row in joined.iter_rows(named=True)}


def test_labels_of_turns():
    labels = pl.DataFrame(
        {"rollout_id": ["a", "a", "b", "z", "c", "c"], "turn": [1, 2, 1, 1, 1, 1], "label": [0, 1, 0, 1, 0, 1]}
    )
    labeled, joined = rw.judges.join_labels(TURNS, labels)
    assert labeled.select(TURNS.columns).equals(TURNS)
    assert labeled["label"].to_list() == [0, 1, 0, None]
    assert counts(joined) == {
        "joined": (3, 3),
        "alike": (0, 0),
        "no such turn": (1, 0),
        "contradictory": (2, 1),
        "unlabeled": (0, 0),
    }
    assert joined.filter(found="contradictory")["example"].item() == "rollout_id 'c', turn '1'"


def test_labels_of_rollouts_are_of_all_their_turns():
    labeled, joined = rw.judges.join_labels(TURNS, {"rollout_id": ["a"], "harm": [0.5]})
    assert labeled["harm"].to_list() == [0.5, 0.5, None, None]
    assert counts(joined)["joined"] == (1, 2)


def test_labels_by_what_they_are_of():
    labels = [
        {"prompt": "Hi", "response": "Hello", "refused": False},
        {"prompt": "Bye", "response": "Bye", "refused": True},
    ]
    labeled, joined = rw.judges.join_labels(TURNS, labels)
    assert labeled["refused_label"].to_list() == [False, None, False, True]
    assert counts(joined) == {
        "joined": (1, 1),
        "alike": (1, 2),
        "no such turn": (0, 0),
        "contradictory": (0, 0),
        "unlabeled": (0, 1),
    }


@pytest.mark.integration
def test_verdicts_of_nat_find_their_items(tmp_path):
    turns = read(FIXTURES / "nat")
    (tmp_path / "accuracy_output.json").write_text(
        '{"average_score": 0.5, "eval_output_items": [{"id": "1_rep0", "score": 1.0, "reasoning": "yes"}, '
        '{"id": "1_rep1", "score": 0.0, "reasoning": "no"}, {"id": "9", "score": 0.5}]}'
    )
    labeled, joined = rw.judges.join_labels(turns, rw.judges.read_verdicts(tmp_path))
    assert labeled.select("task", "attempt", "value", "reasoning").rows() == [
        ("1", 1, 1.0, "yes"),
        ("1", 2, 0.0, "no"),
        ("2", 1, None, None),
    ]
    assert (counts(joined)["joined"], counts(joined)["no such turn"]) == ((2, 2), (1, 0))


def test_joins_that_make_no_sense():
    with pytest.raises(ArgumentError, match="several judges"):
        rw.judges.join_labels(TURNS, {"rollout_id": ["a", "a"], "judge": ["x", "y"], "value": [1, 0]})
    with pytest.raises(ArgumentError, match="nothing names the turns"):
        rw.judges.join_labels(TURNS, {"id": ["a"], "value": [1]})
    with pytest.raises(ArgumentError, match="hold only"):
        rw.judges.join_labels(TURNS, {"rollout_id": ["a"]})
    with pytest.raises(SchemaError, match="labels lack the column `task`"):
        rw.judges.join_labels(TURNS, {"rollout_id": ["a"], "value": [1]}, on="task")
    with pytest.raises(ArgumentError, match="names no column"):
        rw.judges.join_labels(TURNS, {"rollout_id": ["a"], "value": [1]}, on=[])
    labeled, _ = rw.judges.join_labels(TURNS, {"task": ["t2"], "value": [1]}, on=["task"])
    assert labeled["value"].to_list() == [None, None, 1, 1]


KEY = st.tuples(
    st.sampled_from(["a", "b", "c", "z", None]), st.sampled_from([1, 2, None]), st.sampled_from([0, 1, None])
)


@pytest.mark.integration
@given(st.lists(KEY, max_size=12))
def test_every_label_and_every_turn_is_counted_once(rows):
    labels = pl.DataFrame(rows, schema={"rollout_id": pl.String, "turn": pl.Int64, "label": pl.Int64}, orient="row")
    try:
        labeled, joined = rw.judges.join_labels(TURNS, labels, on=["rollout_id", "turn"])
    except ArgumentError:
        assert labels["label"].null_count() == labels.height
        return
    assert joined["labels"].sum() == labels.height
    assert joined["turns"].sum() == TURNS.height == labeled.height
    truth: dict[tuple[str | None, int | None], set[int | None]] = {}
    for rollout, turn, label in rows:
        truth.setdefault((rollout, turn), set()).add(label)
    for row in labeled.iter_rows(named=True):
        known = truth.get((row["rollout_id"], row["turn"]), set())
        assert row["label"] == (next(iter(known)) if len(known) == 1 else None)
