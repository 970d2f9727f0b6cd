"""What columns of people's own are: verdicts beyond doubt, what is asked, and facts; and never a guess about a verdict."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import ArgumentError

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
@pytest.mark.integration
@pytest.mark.parametrize("pair", PAIRS)
def test_words_of_judges_are_verdicts_of_attacks(pair: str) -> None:
    """A negated word is the opposite of its word, and never near it."""
    yes, no = pair.split()
    assert read(rows("verdict", [yes, no, no, None, "n/a"])) == {"succeeded": [True, False, False, None, None]}
    assert read(rows("grade", [yes, no, no])) == {"succeeded": [True, False, False]}


@pytest.mark.integration
@pytest.mark.parametrize("pair", OF_TASKS)
def test_words_of_tasks_are_verdicts_of_tasks(pair: str) -> None:
    """Whatever their column is called."""
    yes, no = pair.split()
    assert read(rows("verdict", [yes, no, no, None])) == {"solved": [True, False, False, None]}


@pytest.mark.integration
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


@pytest.mark.integration
@pytest.mark.parametrize("word", ["partial", "possible", "maybe", "Borderline", "mixed"])
def test_words_between_yes_and_no_are_asked(word: str) -> None:
    """They are neither a success nor a failure by themselves."""
    records = rows("verdict", ["jailbroken", word, "refused"])
    assert read(records) == {}
    labels = {"jailbroken": True, word: "?", "refused": False}
    assert asked(records) == {"verdict": {"succeeded": ("verdict", labels)}}


@pytest.mark.integration
@pytest.mark.parametrize("word", ["unknown", "error", "n/a", "skipped", "", None, "not judged"])
def test_words_for_nothing_are_null(word: str | None) -> None:
    """They never count as a failure."""
    assert read(rows("verdict", ["jailbroken", word, "refused"])) == {"succeeded": [True, None, False]}


def test_words_beside_answers_and_numbers_are_asked() -> None:
    """`partial` beside yes and no, a third number, and `none` beside full: they are no missing values."""
    assert asked(rows("jailbroken", ["yes", "no", "partial"])) == {
        "jailbroken": {"succeeded": ("jailbroken", {"no": False, "partial": "?", "yes": True})}
    }
    assert asked(rows("jailbroken", [0, 1, 2])) == {
        "jailbroken": {"succeeded": ("jailbroken", {"0": False, "1": True, "2": "?"})}
    }
    assert asked(rows("label", [-1, 0, 1])) == {"label": {"succeeded": ("label", {"-1": "?", "0": "?", "1": "?"})}}
    labels = {"full": "?", "none": "?", "partial": "?"}
    assert asked(rows("verdict", ["full", "none", "partial"])) == {"verdict": {"succeeded": ("verdict", labels)}}


@pytest.mark.integration
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


@pytest.mark.integration
@pytest.mark.parametrize("values", [[True, False, None], [1, 0, None], ["yes", "no", None], [1.0, 0.0, None]], ids=str)
@pytest.mark.parametrize(("names", "side"), [(TRUE, True), (FALSE, False)])
def test_names_say_what_true_means(names: list[str], side: bool, values: list[Any]) -> None:
    """`blocked` asks if the target held: what it says is turned around."""
    for name in names:
        assert read(rows(name, values)) == {"succeeded": [side, not side, None]}, name


@pytest.mark.integration
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


@pytest.mark.integration
@pytest.mark.parametrize(
    "name", ["harmful", "toxic", "unsafe", "is_safe", "benign", "ok", "won", "broken", "build_ok", "over_refusal"]
)
def test_names_that_are_said_of_other_things_are_asked(name: str) -> None:
    """Of the prompt, of the call, of code; asked with the line that makes it the verdict, and never used.

    Of what may be of the prompt nothing is filled in: the line as it is printed makes no verdict of it.
    """
    records = rows(name, [True, False, True], attack="dan")
    assert read(records) == {}
    assert asked(records)[name] == {"succeeded": (name, {"false": "?", "true": "?"})}
    answers = {"succeeded": (name, {"false": False, "true": True})}
    assert rw.turns(records, names=answers)["succeeded"].to_list() == [True, False, True]


@pytest.mark.integration
@pytest.mark.parametrize(
    "name", ["attacker_refusal", "success_rate", "prompt_label", "expected_label", "success_reason", "n_solved"]
)
def test_names_of_other_things_are_no_verdicts(name: str) -> None:
    """Nothing is asked about them either."""
    records = rows(name, [1, 0, 1], attack="dan")
    assert read(records) == {}
    assert name not in asked(records)


@pytest.mark.integration
def test_scores_are_never_verdicts() -> None:
    """Neither numbers, nor a score that is 0 or 1."""
    for name in ("score", "harm_score", "rating", "reward", "confidence", "asr_score"):
        for values in ([0, 1, 1], [0.2, 0.9, 1.0], [1, 7, 10]):
            assert read(rows(name, values, attack="dan")) == {}, name


# ── whose ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize(
    "values", [[True, False, True], ["success", "failure", "success"], ["Succeeded", "FAILED", "succeeded"]]
)
def test_whose_success_is_told_by_the_other_names(values: list[Any], tmp_path: Path) -> None:
    """Attacks, or tasks; where nothing tells, it is asked, and `of` is the answer."""
    name = "success" if values[0] is True else "outcome_label"
    sides = [True, False, True]
    for beside in ({"attack": "dan"}, {"jailbreak_method": "gcg"}, {"victim_model": "m"}, {"injection_id": 1}):
        assert read(rows(name, values, **beside)) == {"succeeded": sides}, beside
    for beside in ({"task_id": "t"}, {"exit_status": "submitted"}, {"instance_id": "i"}, {"difficulty": "easy"}):
        assert read(rows(name, values, **beside)) == {"solved": sides}, beside
    doubtful: tuple[dict[str, Any], ...] = (
        {},
        {"model": "m"},
        {"test_id": "t"},
        {"steps": 3},
        {"vulnerability": "xss"},
        {"goal": "g", "task_id": "t"},
    )
    for beside in doubtful:
        assert asked(rows(name, values, **beside))[name] == {"of": "?"}, beside
    (tmp_path / "test.jsonl").write_text("\n".join(json.dumps(row) for row in rows(name, values)))
    assert rw.read(tmp_path / "test.jsonl").select("succeeded", "solved").null_count().row(0) == (3, 3)
    file = tmp_path / "attack_results.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows(name, values)))
    assert rw.read(file)["succeeded"].to_list() == sides


@pytest.mark.integration
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


@pytest.mark.integration
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


@pytest.mark.integration
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


@pytest.mark.integration
def test_a_label_of_the_prompt_is_no_verdict() -> None:
    """Where a prompt has answers with both labels, the label is of the answer."""
    labels = ["jailbreak", "benign", "jailbreak", "benign"]
    assert read(rows("label", labels)) == {}
    assert asked(rows("label", labels)) == {"label": {"succeeded": ("label", {"benign": "?", "jailbreak": "?"})}}
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
    # What an object says of all its records is not said of each.
    results = [{"prompt": f"p{n}", "response": "r", "attack": "dan"} for n in range(3)]
    path.write_text(json.dumps({"jailbroken": True, "success": 1, "model": "m", "results": results}))
    assert rw.read(path).select("outcome", "succeeded", "solved").null_count().row(0) == (3, 3, 3)
    # Two files of one model with the same total are two objects.
    for name in ("a", "b"):
        results = [{"prompt": f"{name}{n}", "response": "r", "success": n == 0} for n in range(4)]
        (tmp_path / f"{name}.json").write_text(
            json.dumps({"model": "m", "n_successes": 1, "asr": 0.25, "results": results})
        )
    path.unlink()
    assert rw.read(tmp_path)["outcome"].to_list() == ["success", *["failure"] * 3] * 2


# ── the printed line ──────────────────────────────────────────────────────────────────────────────────────────────────
JUDGED = ["jailbreak", "benign", "benign"]
FIRST = ("succeeded", [True, False, False])
LINES: list[tuple[list[dict[str, Any]], dict[str, str], tuple[str, list[Any]]]] = [
    (rows("success", [True, False, True]), {'"of": "?"': '"of": "task"'}, ("solved", [True, False, True])),
    (rows("success", [1, 0, 0]), {'"of": "?"': '"of": "attack"'}, FIRST),
    (rows("result", ["FAIL", "PASS", "PASS"], attack="a"), {'L": "?"': 'L": True', 'S": "?"': 'S": False'}, FIRST),
    (rows("label", JUDGED), {'benign": "?"': 'benign": False', 'jailbreak": "?"': 'jailbreak": True'}, FIRST),
    (rows("verdict", ["complied", "refused", "partial"]), {'"partial": "?"': '"partial": False'}, FIRST),
    (rows("success", [True] * 4, attack="dan"), {'"true": "?"': '"true": True'}, ("succeeded", [True] * 4)),
    (rows("judge_b_jailbroken", [1, 0, 0], jailbroken=1), {'"?"': '"judge_b_jailbroken"'}, FIRST),
    (rows("harmful", ["yes", "no", "no"]), {'"no": "?"': '"no": False', '"yes": "?"': '"yes": True'}, FIRST),
]


@pytest.mark.integration
@pytest.mark.parametrize(("records", "answers", "wanted"), LINES)
def test_the_line_that_is_printed_reads_it(
    records: list[dict[str, Any]],
    answers: dict[str, str],
    wanted: tuple[str, list[Any]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Typed with what only the user knows, it asks nothing more; typed as it stands, it is refused."""
    path = tmp_path / "runs.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    turns = rw.read(path)
    assert turns.select("succeeded", "solved", "outcome").null_count().row(0) == (len(records),) * 3
    question, line = capsys.readouterr().err.strip().splitlines()[-2:]
    assert question.startswith("? `")
    assert line.startswith("try: rw.read(")
    with pytest.raises(ArgumentError, match=r"\?"):
        eval(line.removeprefix("try: "), {"rw": rw})
    for asked_for, answer in answers.items():
        assert asked_for in line
        line = line.replace(asked_for, answer)
    turns = eval(line.removeprefix("try: "), {"rw": rw})
    assert turns[wanted[0]].to_list() == wanted[1]
    assert "try: " not in capsys.readouterr().err


# ── words of refusal beside other verdicts ────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
@pytest.mark.parametrize("name", ["actual", "observed", "behavior", "got"])
def test_words_of_refusal_say_that_a_test_is_one_of_attacks(name: str) -> None:
    """`passed` may then be said of the target that refused; what says the opposite on each row is asked about."""
    sides = [True, False, False, True, False]
    words = ["comply" if side else "refuse" for side in sides]
    passed = [
        {**row, name: word, "expected": "refuse"}
        for row, word in zip(rows("passed", [not side for side in sides]), words, strict=True)
    ]
    assert read(passed) == {}
    assert asked(passed)["passed"] == {"succeeded": ("passed", {"false": "?", "true": "?"})}
    other = [{**row, name: word} for row, word in zip(rows("attack_success", sides), words, strict=True)]
    assert read(other) == {"succeeded": sides}
    turned = [{**row, "attack_success": not row["attack_success"]} for row in other]
    assert read(turned) == {}
    assert "goal" not in {role for role in rw.turns(other).columns if rw.turns(other)[role].count()}


@pytest.mark.integration
@pytest.mark.parametrize(
    ("label", "side"),
    [
        ("1_full_compliance", True),
        ("2_full_refusal", False),
        ("0. refused", False),
        ("3) jailbroken", True),
        ("1:safe", False),
    ],
)
def test_numbers_before_a_word_are_no_part_of_it(label: str, side: bool) -> None:
    """As of the answers of XSTest; a number alone stays one."""
    other = "refused" if side else "complied"
    assert read(rows("verdict", [label, other, other])) == {"succeeded": [side, not side, not side]}
    assert read(rows("verdict", ["3_partial_refusal", other, other])) == {}


@pytest.mark.integration
@pytest.mark.parametrize("number", ["-1", "-1.0", "2", "+1", "1,0"])
def test_other_numbers_than_0_and_1_are_no_verdicts(number: str) -> None:
    """-1 is not 1."""
    for values in ([number, "0", "1", number], [number, "0", number]):
        assert read(rows("jailbroken", values)) == {}


@pytest.mark.integration
def test_a_verdict_with_a_word_that_is_not_known_is_a_rival_where_it_says_otherwise(tmp_path: Path) -> None:
    words = [("success", "yes"), ("refused", "uncertain"), ("refused", "yes"), ("success", "no")] * 3
    records = [
        {"prompt": f"p{n}", "response": f"r{n}", "final_status": status, "is_jailbreak": said}
        for n, (status, said) in enumerate(words)
    ]
    path = tmp_path / "log.json"
    path.write_text(json.dumps(records))
    asked = rw.propose(path).questions
    assert [question.options for question in asked] == [("final_status", "is_jailbreak")]
    alike = [
        record | {"is_jailbreak": "yes" if record["final_status"] == "success" else "uncertain"} for record in records
    ]
    path.write_text(json.dumps(alike))
    assert rw.propose(path).successes == 6
