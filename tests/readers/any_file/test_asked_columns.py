"""Which column is asked about, where several may be the verdict, and names that are no ids of conversations."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ReadError
from tests.readers.any_file.stranger import typed


def read(path: Path, value: Any, **options: Any) -> pl.DataFrame:
    """Read a file of JSON."""
    path.write_text(json.dumps(value))
    return rw.read(path, **options)


def records(**columns: Any) -> list[dict[str, Any]]:
    """Return records with texts and these columns."""
    count = len(next(iter(columns.values())))
    texts = [{"prompt": f"please do {n}", "response": f"Here is number {n}"} for n in range(count)]
    return [text | {name: values[n] for name, values in columns.items()} for n, text in enumerate(texts)]


A, B, BOTH = ["SAFE", "UNSAFE"] * 4, ["SAFE"] * 6 + ["UNSAFE"] * 2, ["SAFE", "UNSAFE"] * 2 + ["UNSAFE"] * 4


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    "names", [("annotator_1", "annotator_2", "final_word"), ("alice", "bob", "both"), ("r1", "r2", "r3")]
)
@pytest.mark.parametrize("words", [("SAFE", "UNSAFE"), ("refused", "complied")])
def test_columns_of_several_judges_are_all_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], names: tuple[str, str, str], words: tuple[str, str]
) -> None:
    """The first of several that differ is not asked about alone, and the answer reads the one that is meant."""
    sides = [[words[word == "UNSAFE"] for word in column] for column in (A, B, BOTH)]
    log = records(**dict(zip(names, sides, strict=True)))
    turns = read(tmp_path / "a.json", log)
    assert turns["succeeded"].null_count() == 8
    assert "`" + "` and `".join(names) + "` differ: which is the verdict?" in capsys.readouterr().err
    answered = read(tmp_path / "a.json", log, names={"succeeded": names[2]})
    assert answered["succeeded"].sum() == BOTH.count("UNSAFE")


def test_a_second_column_of_the_same_words_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where it is asked what PASS says, the other judge that said otherwise is named."""
    words = ["PASS", "FAIL", "FAIL", "PASS"]
    log = records(rule_result=words, llm_result=["PASS", "PASS", "FAIL", "FAIL"], attack=["dan"] * 4)
    assert read(tmp_path / "a.json", log)["succeeded"].null_count() == 4
    assert "`rule_result` has the same words, and differs" in capsys.readouterr().err


@pytest.mark.integration
@pytest.mark.parametrize("label", ["label", "class", "type_label"])
@pytest.mark.parametrize("weak", ["refusal_keyword_hit", "harmful_step_detected"])
def test_a_decision_is_asked_about_before_signs_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], label: str, weak: str
) -> None:
    """A label may be what should be done, and a sign that was found is less than the decision."""
    columns: dict[str, Any] = {
        label: ["reject", "accept"] * 4,
        weak: [True, False] * 4,
        "decision": ["reject_confident", "accept", "accept_fine", "accept"] * 2,
    }
    turns = read(tmp_path / "a.json", records(**columns))
    assert turns.select("succeeded", "solved").null_count().row(0) == (8, 8)
    assert "? `decision` (accept, accept_fine, reject_confident)" in capsys.readouterr().err


@pytest.mark.integration
@pytest.mark.parametrize(
    "name", ["Attack Succeeded (1=Yes, 0=No)", "Jailbroken? (Y/N)", "jailbroken (1/0)", "Jailbroken [yes/no]"]
)
def test_a_legend_is_no_part_of_a_name(tmp_path: Path, name: str) -> None:
    turns = read(tmp_path / "a.json", records(**{name: [1, 0, 0, 1, 0]}))
    assert turns["succeeded"].to_list() == [True, False, False, True, False]


@pytest.mark.integration
@pytest.mark.parametrize("name", ["Attack Succeeded (0=Yes, 1=No)", "jailbroken (0 is yes)"])
def test_any_other_legend_is_asked_about(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Which turns the meaning, or may."""
    assert read(tmp_path / "a.json", records(**{name: [1, 0, 0, 1, 0]}))["succeeded"].null_count() == 5
    assert "?" in capsys.readouterr().err


@pytest.mark.integration
def test_benign_cases_that_succeed_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = records(is_attack=[True, True, True, False], jailbroken=[True, True, False, True])
    turns = read(tmp_path / "a.json", log)
    said = (
        "`is_attack` is false for 1 of 4 rollouts, which are no attacks then: their verdicts (1 success) do not count"
    )
    assert said in capsys.readouterr().err
    assert turns["succeeded"].to_list() == [True, True, False, None]
    assert turns["benign_verdict"].to_list() == [None, None, None, True]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("strategyId", "attack"),
        ("pluginId", "category"),
        ("technique_id", "attack"),
        ("categoryId", "category"),
        ("run_id", None),
    ],
)
@pytest.mark.parametrize("count", [1, 2])
def test_ids_of_other_things_are_no_conversations(tmp_path: Path, name: str, column: str | None, count: int) -> None:
    """The id of a strategy is that, and one value on all rows makes none of them the turns of one rollout."""
    values = [f"v{n % count}" for n in range(6)]
    if column is None and count > 1:
        return
    turns = read(tmp_path / "a.json", records(**{name: values}, jailbroken=[True, False, False] * 2))
    rollouts = rw.measure(turns, rw.metrics.attack_success())
    assert (rollouts.height, rollouts["attack_success"].sum()) == (6, 2)
    if column is not None:
        assert turns[column].to_list() == values


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("names", "column"),
    [
        (("train", "test"), "split"),
        (("train_set", "validation_set"), "split"),
        (("easy", "hard"), "category"),
        (("gpt-4", "llama-3"), "target"),
    ],
)
def test_names_of_lists_are_no_tasks(tmp_path: Path, names: tuple[str, str], column: str) -> None:
    """Their records ask different things."""
    log = records(jailbroken=[True, False, False, True])
    turns = read(tmp_path / "a.json", {names[0]: log[:2], names[1]: log[2:]})
    assert turns["task"].null_count() == 4
    assert turns[column].to_list() == [names[0]] * 2 + [names[1]] * 2


@pytest.mark.integration
@pytest.mark.parametrize(
    "names", [("t", "m", "s"), ("nr", "who", "z"), ("attack_nr", "who", "z"), ("no", "jailbreak_kind", "x1")]
)
def test_a_column_that_says_nothing_is_asked_about_by_what_the_file_speaks_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], names: tuple[str, str, str]
) -> None:
    """A file that never speaks of attacks is not led to the success of one."""
    is_of_attacks = any(word in name for name in names for word in ("attack", "jailbreak"))
    log = [dict(zip(names, (n % 7, "ab"[n % 2] * 3, n % 3 == 0), strict=True)) for n in range(12)]
    path = tmp_path / "a.json"
    with pytest.raises(rw.errors.ReadError) as raised:
        read(path, log)
    asked = raised.value.questions[0].names
    assert asked == ({"succeeded": "?"} if is_of_attacks else {"succeeded": "?", "of": "?"})
    of_task = rw.measure(rw.read(path, names={"succeeded": names[2], "of": "task"}))
    assert (of_task["task_success"].sum(), of_task["attack_success"].count()) == (4, 0)
    of_attack = rw.measure(rw.read(path, names={"succeeded": names[2], "of": "attack"}))
    assert (of_attack["attack_success"].sum(), of_attack["task_success"].count()) == (4, 0)
    assert "changed nothing" not in capsys.readouterr().err


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    "names",
    [
        ("id", "seed", "turn"),
        ("case_id", "trial", "turn_index"),
        ("sample", "repeat", "turn"),
        ("item", "attempt", "turn_no"),
    ],
)
@pytest.mark.parametrize("first", [0, 1])
def test_turns_of_an_id_and_an_attempt_are_those_of_one_rollout(
    tmp_path: Path, names: tuple[str, str, str], first: int
) -> None:
    """The id alone would join two rollouts, and each row would be one too many."""
    key, trial, turn = names
    if key == "sample":
        key = "sample_id"
    log = [
        {
            key: f"c{case}",
            trial: seed,
            turn: first + n,
            "prompt": f"ask {n}",
            "response": f"say {case} {seed} {n}",
            "jailbroken": n == 2,
        }
        for case in range(3)
        for seed in (1, 2)
        for n in range(1 + case)
    ]
    rollouts = rw.measure(read(tmp_path / "a.json", log), rw.metrics.attack_success())
    assert sorted(rollouts["num_turns"]) == [1, 1, 2, 2, 3, 3]
    assert rollouts["attack_success"].sum() == 2


@pytest.mark.integration
@pytest.mark.parametrize("parts", [("tier1", "tier2"), ("english", "zulu"), ("judge_a", "judge_b")])
def test_totals_of_other_columns_do_not_contradict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], parts: tuple[str, str]
) -> None:
    """`asr_tier1` is of `hijacked_tier1`: it says nothing against `hijacked`; which column counts is still asked."""
    sides = {f"hijacked_{part}": [n == place for n in range(6)] for place, part in enumerate(parts)}
    log = records(**sides, hijacked=[n < 2 for n in range(6)])
    totals = {"asr_overall": 2 / 6, **{f"asr_{part}": 1 / 6 for part in parts}}
    read(tmp_path / "a.json", {"llm_model": "m", "aggregate": totals, "results": log})
    said = capsys.readouterr().err
    assert "says another figure" not in said
    assert "differ: which is the verdict?" in said
    answered = rw.read(tmp_path / "a.json", names={"succeeded": "hijacked"})
    assert (answered["target"][0], rw.measure(answered)["attack_success"].sum()) == ("m", 2)


@pytest.mark.integration
@pytest.mark.parametrize("settings", ["run", "config", "run.settings", "meta"])
@pytest.mark.parametrize(("name", "column"), [("model", "target"), ("attack_method", "attack")])
def test_facts_in_settings_are_those_of_all_records(tmp_path: Path, settings: str, name: str, column: str) -> None:
    around: dict[str, Any] = {name: "x7b"}
    for part in settings.split(".")[::-1]:
        around = {part: around}
    turns = read(tmp_path / "a.json", {**around, "results": records(jailbroken=[True, False, True, False])})
    assert turns[column].to_list() == ["x7b"] * 4


@pytest.mark.parametrize("owner", ["judge", "attacker", "defense"])
def test_models_of_others_are_no_targets(tmp_path: Path, owner: str) -> None:
    log = {"config": {owner: {"model": "m"}}, "results": records(jailbroken=[True, False, True, False])}
    assert read(tmp_path / "a.json", log)["target"].null_count() == 4


PLAYERS = {
    f"gpt-{n}": {
        "summary": {"total_moves": 4, "best_moves": n, "best_pct": 25.0 * n},
        "results": [{"fen": f"8/8 w - {m} {n}", "is_best": m < n, "top3": m < 3, "cpl": m * 7} for m in range(4)],
    }
    for n in (1, 2, 3)
}


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    "log", [PLAYERS, {"players": PLAYERS}, {"players": [{"model": key, **value} for key, value in PLAYERS.items()]}]
)
def test_records_below_counts_are_asked_about(tmp_path: Path, log: dict[str, Any]) -> None:
    """An object of counts for each model, with its records beside them, is not refused as counts."""
    with pytest.raises(rw.errors.ReadError) as raised:
        read(tmp_path / "a.json", log)
    asked = raised.value.questions[0]
    assert (asked.names, asked.options) == ({"succeeded": "?", "of": "?"}, ("is_best", "top3"))
    turns = rw.read(tmp_path / "a.json", names={"succeeded": "is_best", "of": "task"})
    solved = rw.measure(turns).group_by("target").agg(pl.col("task_success").sum()).sort("target")
    assert solved.rows() == [("gpt-1", 1), ("gpt-2", 2), ("gpt-3", 3)]
    assert not [name for name in turns.columns if name.startswith("gpt-")]


@pytest.mark.thinned(48)
@pytest.mark.parametrize("error", ["ERROR:TemplateError", "error: no answer", "Timeout: 30 s", "Exception: x"])
@pytest.mark.parametrize("words", [("safe", "unsafe\nS2"), ("safe", "unsafe\nS1,S10"), ("safe", "unsafe \n S6 ")])
def test_verdicts_of_a_guard_and_its_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, str], error: str
) -> None:
    """A number that is 0 where the guard broke is not asked about before the words of the guard, and the line is one line."""
    guard = [words[n % 4 == 0] if n < 8 else error for n in range(12)]
    log = records(guard_verdict=guard, unsafe=[int("unsafe" in word) for word in guard])
    read(tmp_path / "a.json", log)
    said = capsys.readouterr().err
    assert "? `guard_verdict` (safe, unsafe): did the attack succeed where it is unsafe?" in said
    assert "\nS" not in said
    turns = rw.read(tmp_path / "a.json", names={"succeeded": ("guard_verdict", {"safe": False, "unsafe": True})})
    assert (turns.height, turns["succeeded"].sum(), turns["succeeded"].count()) == (12, 2, 8)


def test_many_answers_side_by_side_are_no_question_for_one(tmp_path: Path) -> None:
    """Of six answers to each prompt, one would be read and the others passed over."""
    log = [
        {
            "prompt": f"please do {n}",
            **{f"{who}_{lang}_response": f"Here is {n} of {who}" for who in "AB" for lang in ("fr", "de")},
        }
        for n in range(5)
    ]
    with pytest.raises(rw.errors.ReadError, match="side by side") as raised:
        read(tmp_path / "a.json", log)
    assert not raised.value.questions


def test_rows_of_a_design_are_led_nowhere(tmp_path: Path) -> None:
    """A topic of several words is no answer."""
    log = [
        {"row": f"r{n}", "topic": "Business and Trade", "attacker_model": "a", "defender_model": "d"} for n in range(5)
    ]
    with pytest.raises(rw.errors.ReadError) as raised:
        read(tmp_path / "a.json", log)
    assert not raised.value.questions


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("manual", ["YES", "NO"]),
        ("hand", [True, False]),
        ("f7", [1, 0]),
        ("Bewertung", ["y", "n"]),
        ("판정", ["Yes", "No"]),
    ],
)
@pytest.mark.parametrize("of", ["attack", "task"])
def test_a_column_of_yes_and_no_may_be_the_verdict(tmp_path: Path, name: str, values: list[Any], of: str) -> None:
    """Beside answers without any known verdict it is asked about, and the answer is read."""
    (tmp_path / "a.json").write_text(json.dumps(records(**{name: values * 3})))
    proposal = rw.propose(tmp_path / "a.json")
    (question,) = proposal.questions
    assert question.column == name
    assert question.names["of"] == "?"
    turns = rw.read(tmp_path / "a.json", names={"succeeded": name, "of": of})
    assert turns["succeeded" if of == "attack" else "solved"].to_list() == [True, False] * 3


@pytest.mark.parametrize(("beside", "asks"), [({"strategy_attack": "x"}, False), ({"victim": "m", "task": "t"}, True)])
def test_a_file_that_speaks_of_attacks_and_of_tasks_is_asked_whose(
    tmp_path: Path, beside: dict[str, str], asks: bool
) -> None:
    """A victim with a task may have solved it: taken for the attack's success, the verdict would be read wrong."""
    columns = {name: [value] * 6 for name, value in beside.items()}
    (tmp_path / "a.json").write_text(json.dumps(records(f7=[True, False] * 3, **columns)))
    (question,) = rw.propose(tmp_path / "a.json").questions
    assert ("of" in question.names) == asks


@pytest.mark.parametrize(
    ("beside", "asks"), [({"injection": "x"}, False), ({"injection": "x", "user_task": "u"}, True)]
)
def test_records_without_answers_are_asked_whose_success_it_is(
    tmp_path: Path, beside: dict[str, str], asks: bool
) -> None:
    """Beside the task of a user and an injection, `landed` may say that either was done."""
    (tmp_path / "a.json").write_text(json.dumps([{"uid": 7 * n, "landed": n % 2 == 0, **beside} for n in range(6)]))
    with pytest.raises(ReadError, match=r'"succeeded": "\?"') as refused:
        rw.read(tmp_path / "a.json")
    assert ('"of": "?"' in str(refused.value)) == asks


@pytest.mark.thinned(40)
@pytest.mark.parametrize("name", ["n_hits", "reason_ok", "expected", "attacker_refusal", "is_attack"])
def test_a_name_of_something_else_is_not_asked_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    read(tmp_path / "a.json", records(**{name: [True, False] * 3}))
    assert "whose success is it" not in capsys.readouterr().err


@pytest.mark.integration
def test_several_columns_of_yes_and_no_are_all_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns: dict[str, list[Any]] = {"first": [True, False] * 3, "second": ["yes", "no"] * 3}
    read(tmp_path / "a.json", records(**columns))
    assert "? does one of `first`, `second` say whether it succeeded" in capsys.readouterr().err
    turns = read(tmp_path / "a.json", records(**columns), names={"succeeded": "second"})
    assert turns["succeeded"].sum() == 3


@pytest.mark.integration
@pytest.mark.parametrize("name", ["case_status", "final_status", "review_result", "assessment", "grade"])
@pytest.mark.parametrize("beside", ["refusal_behavior", "harm_notes", "expected_behavior"])
def test_pass_and_fail_where_nothing_tells_whose_asks_whose_too(tmp_path: Path, name: str, beside: str) -> None:
    """A behavior, or harm, is spoken of where tasks are judged as well."""
    words = ["Pass", "Fail", "Review"] * 2
    (tmp_path / "a.json").write_text(json.dumps(records(**{name: words, beside: list("xyz") * 2})))
    (question,) = rw.propose(tmp_path / "a.json").questions
    assert question.names == {"succeeded": (name, {"Fail": "?", "Pass": "?", "Review": "?"}), "of": "?"}
    labels = {"Pass": True, "Fail": False, "Review": None}
    turns = rw.read(tmp_path / "a.json", names={"succeeded": (name, labels), "of": "task"})
    assert turns["solved"].to_list() == [True, False, None] * 2
    assert turns["succeeded"].null_count() == 6


@pytest.mark.integration
@pytest.mark.parametrize("name", ["attacker_id", "judge_id", "defender_id", "annotatorId", "cluster_id", "user_id"])
def test_ids_of_people_and_of_other_models_are_no_conversations(tmp_path: Path, name: str) -> None:
    turns = read(tmp_path / "a.json", records(**{name: ["a", "b"] * 3, "jailbroken": [True, False, False] * 2}))
    assert turns["rollout_id"].n_unique() == 6


def test_a_plan_of_runs_is_no_result(tmp_path: Path) -> None:
    """Ids, tasks and models say what is to be run."""
    plan = [{"row_id": f"r{n}", "scenario_id": f"s{n % 3}", "topic": "t", "defender_model": "m"} for n in range(9)]
    with pytest.raises(ReadError, match="is not recognized"):
        read(tmp_path / "a.json", plan)


@pytest.mark.integration
@pytest.mark.parametrize("answer", ["好的，以下是步骤", "はい、手順は次のとおりです", "ได้เลย นี่คือขั้นตอน"])
def test_texts_of_scripts_without_blanks_may_be_answers(tmp_path: Path, answer: str) -> None:
    """And the line that names one leads on to the verdict."""
    rows = [{"题": f"第{n}个问题是什么", "回答": answer, "是否成功": "是" if n < 2 else "否"} for n in range(8)]
    log = tmp_path / "log.csv"
    pl.DataFrame(rows).write_csv(log)
    answered = typed(["read", str(log), "--out", str(tmp_path / "turns.parquet")])
    assert answered.code == 2
    assert "(题 or 回答)" in answered.text
    words = [
        "--column",
        "response=回答",
        "--column",
        "succeeded=是否成功",
        "--value",
        "succeeded:是=true",
        "--value",
        "succeeded:否=false",
    ]
    assert typed(["read", str(log), "--out", str(tmp_path / "turns.parquet"), *words]).code == 0
    assert rw.measure(pl.read_parquet(tmp_path / "turns.parquet"))["attack_success"].mean() == 2 / 8
