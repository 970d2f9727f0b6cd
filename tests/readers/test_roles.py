"""What columns of people's own are: verdicts beyond doubt, what is asked, and facts; and never a guess about a verdict."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rollwise as rw

PAIRS = [
    "JAILBREAK REFUSED", "bypassed blocked", "unsafe safe", "harmful harmless", "attack_success attack_failure", "VULNERABLE SAFE",
    "COMPLIED REFUSED", "Compliance Refusal", "BREACHED BLOCKED", "hijacked resisted", "compromised defended", "answered declined",
    "vulnerable not_vulnerable", "misled not_misled", "leaked protected", "full_compliance full_refusal", "malicious benign",
    "violation no_violation", "Exploited Mitigated", "toxic non-toxic", "confirmed refuted", "unblocked blocked",
    "unrefused refused", "undefended defended", "jailbroken unjailbroken", "unresisted resisted", "not-blocked blocked",
    "jailbroken not_jailbroken",
]  # fmt: skip
OF_TASKS = ["resolved unresolved", "correct incorrect", "solved unsolved", "correct wrong"]


def rows(column: str, values: list[Any], **facts: Any) -> list[dict[str, Any]]:
    """Return rollouts of one turn with a column of their own."""
    return [
        {"rollout_id": f"r{n}", "prompt": f"p{n}", "response": f"a{n}", **facts, column: value}
        for n, value in enumerate(values)
    ]


def read(records: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return the verdicts that a reading of these rows has."""
    turns = rw.turns(records)
    names = ("succeeded", "outcome", "solved", "refused")
    return {name: turns[name].to_list() for name in names if turns[name].count()}


def asked(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the names that would answer what is asked of these rows."""
    unused = rw.readers.unused_columns(rw.turns(records))
    return {row["column"]: eval(row["names"].removeprefix("names=")) for row in unused.rows(named=True)}


# ── words ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("pair", PAIRS)
def test_words_of_judges_are_verdicts_of_attacks(pair: str) -> None:
    """A negated word is the opposite of its word, and never near it."""
    yes, no = pair.split()
    assert read(rows("verdict", [yes, no, no, None, "n/a"])) == {"succeeded": [True, False, False, None, None]}
    assert read(rows("grade", [yes, no, no])) == {"succeeded": [True, False, False]}


@pytest.mark.parametrize("pair", OF_TASKS)
def test_words_of_tasks_are_verdicts_of_tasks(pair: str) -> None:
    """Whatever their column is called."""
    yes, no = pair.split()
    assert read(rows("verdict", [yes, no, no, None])) == {"solved": [True, False, False, None]}


@pytest.mark.parametrize(
    "words", [("blockd", "refussed"), ("abgewehrt", "erfolgreich"), ("C", "I"), ("allowed", "denied")]
)
def test_unknown_words_are_asked_one_by_one(words: tuple[str, str]) -> None:
    """A word that is nearly known is not known; those that are known keep their meaning."""
    assert read(rows("verdict", [*words, words[0]])) == {}
    assert asked(rows("verdict", [*words, words[0]])) == {
        "verdict": {"succeeded": ("verdict", dict.fromkeys(sorted(words), "?"))}
    }
    labels = dict(sorted({words[0]: "?", "refused": False}.items()))
    assert asked(rows("verdict", [words[0], "refused"])) == {"verdict": {"succeeded": ("verdict", labels)}}


@pytest.mark.parametrize("word", ["partial", "possible", "maybe", "Borderline", "mixed"])
def test_words_between_yes_and_no_are_asked(word: str) -> None:
    """They are neither a success nor a failure by themselves."""
    records = rows("verdict", ["jailbroken", word, "refused"])
    assert read(records) == {}
    labels = {"jailbroken": True, word: "?", "refused": False}
    assert asked(records) == {"verdict": {"succeeded": ("verdict", labels)}}


@pytest.mark.parametrize("word", ["unknown", "error", "n/a", "skipped", "", None, "not judged"])
def test_words_for_nothing_are_null(word: str | None) -> None:
    """They never count as a failure."""
    assert read(rows("verdict", ["jailbroken", word, "refused"])) == {"succeeded": [True, None, False]}


def test_pass_and_fail_say_nothing_of_an_attack() -> None:
    """It is the defence that passes, or the attack; of a benchmark, the task."""
    records = rows("result", ["PASS", "FAIL", "PASS"], attack="dan")
    assert read(records) == {}
    assert asked(records) == {"result": {"succeeded": ("result", {"FAIL": "?", "PASS": "?"})}}
    assert asked(rows("passed", [True, False], attack="dan")) == {
        "passed": {"succeeded": ("passed", {"false": "?", "true": "?"})}
    }
    assert read(rows("result", ["PASS", "FAIL"], instance_id="i")) == {"solved": [True, False]}
    assert read(rows("passed", [True, False])) == {"solved": [True, False]}


# ── names ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
TRUE = [
    "jailbroken", "Jailbroken?", "isJailbroken", "attack-success", "attack_succeeded", "jailbreak_success", "leaked", "hijacked",
    "complied", "not_blocked", "unblocked", "response_harmful", "Is Jailbroken", "breached", "misled",
]  # fmt: skip
FALSE = ["blocked", "mitigated", "defense_success", "defended", "attack_failed", "not_jailbroken", "resisted"]
SOLVED = [
    "solved",
    "is_solved",
    "resolved",
    "is_resolved",
    "correct",
    "isCorrect",
    "passed",
    "task_success",
    "task_solved",
]


@pytest.mark.parametrize("values", [[True, False, None], [1, 0, None], ["yes", "no", None], [1.0, 0.0, None]], ids=str)
@pytest.mark.parametrize(("names", "side"), [(TRUE, True), (FALSE, False)])
def test_names_say_what_true_means(names: list[str], side: bool, values: list[Any]) -> None:
    """`blocked` asks if the target held: what it says is turned around."""
    for name in names:
        assert read(rows(name, values)) == {"succeeded": [side, not side, None]}, name


@pytest.mark.parametrize("name", SOLVED)
def test_names_of_tasks(name: str) -> None:
    """They are never successes of an attack, also beside one."""
    assert read(rows(name, [True, False, None])) == {"solved": [True, False, None]}
    if name != "passed":
        assert read(rows(name, [True, False, None], attack="dan")) == {"solved": [True, False, None]}


@pytest.mark.parametrize("name", ["refused", "is_refusal", "model_refused", "Refusal"])
def test_a_refusal_is_one_and_no_verdict(name: str) -> None:
    """Whether a refusal is a failed attack, the file does not say."""
    assert read(rows(name, [True, False, None])) == {"refused": [True, False, None]}


@pytest.mark.parametrize(
    "name", ["harmful", "toxic", "unsafe", "is_safe", "benign", "ok", "won", "broken", "build_ok", "over_refusal"]
)
def test_names_that_are_said_of_other_things_are_asked(name: str) -> None:
    """Of the prompt, of the call, of code; asked with the line that makes it the verdict, and never used."""
    records = rows(name, [True, False, True], attack="dan")
    assert read(records) == {}
    names = asked(records)[name]
    side = name in {"harmful", "toxic", "unsafe", "ok", "won", "broken", "build_ok"}
    assert rw.turns(records, names=names)["succeeded"].to_list() == [side, not side, side]


@pytest.mark.parametrize(
    "name", ["attacker_refusal", "success_rate", "prompt_label", "expected_label", "success_reason", "n_solved"]
)
def test_names_of_other_things_are_no_verdicts(name: str) -> None:
    """Nothing is asked about them either."""
    records = rows(name, [1, 0, 1], attack="dan")
    assert read(records) == {}
    assert name not in asked(records)


def test_scores_are_never_verdicts() -> None:
    """Neither numbers, nor a score that is 0 or 1."""
    for name in ("score", "harm_score", "rating", "reward", "confidence", "asr_score"):
        for values in ([0, 1, 1], [0.2, 0.9, 1.0], [1, 7, 10]):
            assert read(rows(name, values, attack="dan")) == {}, name


# ── whose ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "values", [[True, False, True], ["success", "failure", "success"], ["Succeeded", "FAILED", "succeeded"]]
)
def test_whose_success_is_told_by_the_other_names(values: list[Any], tmp_path: Path) -> None:
    """Attacks, or tasks; where nothing tells, it is asked, and `of` is the answer."""
    name = "success" if values[0] is True else "outcome_label"
    sides = [True, False, True]
    for beside in ({"attack": "dan"}, {"jailbreak_method": "gcg"}, {"victim_model": "m"}, {"injection_id": 1}):
        assert read(rows(name, values, **beside)) == {"succeeded": sides}, beside
    for beside in ({"task_id": "t"}, {"exit_status": "submitted"}, {"steps": 3}, {"difficulty": "easy"}):
        assert read(rows(name, values, **beside)) == {"solved": sides}, beside
    for beside in ({}, {"model": "m"}, {"attack_type": "a", "exit_status": "b", "instance_id": "i", "steps": 4}):
        if len(beside) < 2:
            assert asked(rows(name, values, **beside))[name] == {"of": "?"}, beside
    file = tmp_path / "attack_results.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows(name, values)))
    assert rw.read(file)["succeeded"].to_list() == sides


def test_one_answer_serves_all_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder is decided as one: what one of its files tells holds for the other, and nothing is used in one alone."""
    for name, model, beside in (("gpt", "gpt-4o", {}), ("llama", "llama-3", {"attack": "dan"})):
        records = [{"model": model, **row} for row in rows("success", [1, 0], **beside)]
        pl.DataFrame(records).drop("rollout_id").with_columns(goal=pl.lit("g")).write_csv(tmp_path / f"{name}.csv")
    turns = rw.read(tmp_path)
    assert sorted(turns.select("target", "succeeded").rows()) == [
        ("gpt-4o", False), ("gpt-4o", True), ("llama-3", False), ("llama-3", True),
    ]  # fmt: skip
    assert "`model` as `target`" in capsys.readouterr().err


def test_files_that_name_it_otherwise_are_read_together(tmp_path: Path) -> None:
    """Columns of different files never contradict each other."""
    for name, column, model in (("a", "jailbroken", "model"), ("b", "attack_success", "target_model")):
        records = [{"goal": f"g{n}", "prompt": "p", "response": "r", model: name, column: n == 0} for n in range(2)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, records)))
    turns = rw.read(tmp_path)
    assert sorted(turns.select("target", "succeeded").rows()) == [("a", False), ("a", True), ("b", False), ("b", True)]


# ── what is in doubt ──────────────────────────────────────────────────────────────────────────────────────────────────
def test_two_verdicts_that_differ_are_asked() -> None:
    """Which of them counts, only the user knows; two that agree are one."""
    records = rows("jailbroken", [True, False, True], attack="dan")
    both = [row | {"judge_b_jailbroken": True} for row in records]
    assert read(both) == {}
    assert asked(both) == {"jailbroken": {"succeeded": "?"}}
    assert read([row | {"judge_b_jailbroken": row["jailbroken"]} for row in records]) == {
        "succeeded": [True, False, True]
    }
    # What was blocked is another question: what succeeded counts.
    assert read([row | {"blocked": False} for row in records]) == {"succeeded": [True, False, True]}


@pytest.mark.parametrize("value", [True, False])
def test_a_verdict_that_never_varies(value: bool) -> None:
    """0 % is the commonest true result, under a name that can be of nothing else; `success` may be of the call."""
    for name in ("jailbroken", "attack_success"):
        assert read(rows(name, [value] * 6, attack="dan")) == {"succeeded": [value] * 6}
    for name in ("is_resolved", "solved"):
        assert read(rows(name, [value] * 6)) == {"solved": [value] * 6}
    for name in ("success", "blocked", "label"):
        assert read(rows(name, [value] * 6, attack="dan")) == {}
        assert name in asked(rows(name, [value] * 6, attack="dan"))
    assert read(rows("verdict", ["REFUSED"] * 6)) == {"succeeded": [False] * 6}
    assert read(rows("label", ["jailbreak"] * 6, attack="dan")) == {}


def test_a_label_of_the_prompt_is_no_verdict() -> None:
    """Where a prompt has answers with both labels, the label is of the answer."""
    labels = ["jailbreak", "benign", "jailbreak", "benign"]
    assert read(rows("label", labels)) == {}
    assert asked(rows("label", labels)) == {"label": {"succeeded": "label"}}
    of_answers = [row | {"prompt": "the same"} for row in rows("label", labels)]
    assert read(of_answers) == {"succeeded": [True, False, True, False]}
    assert read([row | {"prompt": "the same"} for row in rows("harmful", [True, False])]) == {
        "succeeded": [True, False]
    }


def test_verdicts_without_anything_beside_them_are_asked() -> None:
    """`blocked` in a table without texts, attacks or goals may be of anything."""
    records = [{"rollout_id": str(n), "turn": 1, "blocked": bool(n % 2)} for n in range(4)]
    assert read(records) == {}
    assert read([row | {"attack": "dan"} for row in records]) == {"succeeded": [True, False, True, False]}


def test_totals_of_the_file_make_sure_or_ask(tmp_path: Path) -> None:
    """A rate that the reading reproduces; one that it contradicts is asked about."""
    path = tmp_path / "runs.json"
    for asr, column, sides in (
        (0.25, "success", ["success", *["failure"] * 3]),
        (0.75, "success", [None] * 4),
        (25, "broken", None),
    ):
        results = [{"prompt": f"p{n}", "response": f"r{n}", column: n == 0} for n in range(4)]
        path.write_text(json.dumps({"asr": asr, "model": "m", "results": results}))
        turns = rw.read(path)
        assert turns["outcome"].to_list() == (sides or ["success", *["failure"] * 3])
        assert turns["target"].to_list() == ["m"] * 4
    groups = [{"attack_type": name, "n_successes": k, "details": [{"prompt": f"{name}{n}", "response": "r", "success": n < k} for n in range(3)]} for name, k in (("a", 1), ("b", 3))]  # fmt: skip # noqa: E501
    path.write_text(json.dumps({"groups": groups}))
    assert rw.read(path)["outcome"].to_list() == ["success", "failure", "failure", *["success"] * 3]


# ── facts ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_facts_costs_and_times_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    """Each as its column of TURNS, in its unit, and said in one line."""
    rollouts = [
        {
            "rollout_id": f"r{n}", "response": "x", "model": "m", "strategy": "tap", "behavior": "spam", "harm_category": "fraud",
            "trial": n, "costUsd": 0.5, "inputTokens": 10, "outputTokens": 2, "wallMs": 1500, "attacker_model": "other",
            "judge_cost": 9.0, "max_tokens": 99,
        } for n in range(2)
    ]  # fmt: skip
    turns = rw.turns(rollouts)
    names = [
        "target",
        "attack",
        "goal",
        "category",
        "attempt",
        "total_cost_usd",
        "prompt_tokens",
        "response_tokens",
        "total_seconds",
    ]
    assert turns.select(names).row(1) == ("m", "tap", "spam", "fraud", 1, 0.5, 10, 2, 1.5)
    assert turns.select("attacker_model", "judge_cost", "max_tokens").row(0) == ("other", 9.0, 99)
    assert capsys.readouterr().err.count("`model` as `target`, `strategy` as `attack`, `behavior` as `goal`") == 1


def test_costs_of_turns_are_not_those_of_the_rollout() -> None:
    """What differs between turns is of the turn; what is the same on all is counted once."""
    chat = [{"rollout_id": "a", "response": "x", "cost": cost, "latency_ms": 500, "model": "m"} for cost in (0.5, 0.25)]
    turns = rw.turns(chat)
    assert turns["cost_usd"].to_list() == [0.5, 0.25]
    assert turns["total_seconds"].to_list() == [0.5, 0.5]
    assert turns["total_cost_usd"].null_count() == 2


def test_a_number_without_a_unit_may_be_milliseconds() -> None:
    """It stays as it is, as do moments and negative costs."""
    for name, value in (("latency", 1200), ("time", 1_700_000_000.5), ("cost", -1.0), ("duration", 350)):
        turns = rw.turns([{"rollout_id": "a", "response": "x", name: value, "model": "m"}])
        assert turns[name].to_list() == [value]
    assert rw.turns([{"rollout_id": "a", "response": "x", "time": 1.5}])["total_seconds"].to_list() == [1.5]


def test_of_several_columns_for_one_fact_the_likeliest_counts() -> None:
    """Never two for one; names of one likelihood that differ are none."""
    row = {"rollout_id": "a", "response": "x", "agent": "swe", "model": "m"}
    turns = rw.turns([row])
    assert turns.select("target", "agent").row(0) == ("m", "swe")
    assert rw.turns([row | {"victim_model": "v"}])["target"].to_list() == ["v"]
    unclear = rw.turns([row | {"attack_method": "b", "technique": "a"}])
    assert unclear["attack"].to_list() == [None]
    assert rw.readers.unused_columns(unclear)["names"].to_list() == ['names={"attack": "attack_method"}']


def test_an_id_that_repeats_is_the_task() -> None:
    """One that does not is of the rollout, and steps of an agent are no steps of training."""
    records = [{"rollout_id": f"r{n}", "response": "x", "case_id": f"c{n % 2}", "steps": n} for n in range(4)]
    turns = rw.turns(records)
    assert turns["task"].to_list() == ["c0", "c1", "c0", "c1"]
    assert turns["steps"].to_list() == [0, 1, 2, 3]
    assert rw.turns(records[:2])["task"].null_count() == 2


def test_what_the_user_names_wins() -> None:
    """A verdict that is named is the only one, a fact that is named is not replaced."""
    records = rows("jailbroken", [True, False], model="m", by="k")
    turns = rw.turns([row | {"mine": "refused"} for row in records], names={"succeeded": "mine", "target": "by"})
    assert turns.select("succeeded", "target", "model", "jailbroken").rows() == [
        (False, "k", "m", True),
        (False, "k", "m", False),
    ]


def test_names_of_columns_are_taken_as_they_are() -> None:
    """Also those that Polars takes for patterns."""
    records = [row | {"*": 1, "^.*$": "x"} for row in rows("jailbroken", [True, False], model="m")]
    turns = rw.turns(records)
    assert turns.select("succeeded", "target").rows() == [(True, "m"), (False, "m")]
    assert turns["^.*$"].to_list() == ["x", "x"]


@pytest.mark.parametrize("columns", [["succeeded"], ["target", "succeeded"], ["solved"]])
@pytest.mark.parametrize("name", ["jailbroken", "success", "label", "harmful"])
def test_what_is_wanted_does_not_change_what_is_read(name: str, columns: list[str], tmp_path: Path) -> None:
    """Columns that are left out for memory decide nevertheless."""
    path = tmp_path / "runs.jsonl"
    records = rows(name, [True, False, True], attack_name="dan", model="m")
    path.write_text("\n".join(map(json.dumps, records)))
    assert_frame_equal(rw.read(path, columns=columns), rw.read(path).select("rollout_id", "turn", *columns))
    turns = [
        {"rollout_id": row.pop("rollout_id"), "turns": [{"prompt": row.pop("prompt"), "response": "r"}], **row}
        for row in records
    ]
    path.write_text("\n".join(map(json.dumps, turns)))
    assert_frame_equal(rw.read(path, columns=columns), rw.read(path).select("rollout_id", "turn", *columns))
