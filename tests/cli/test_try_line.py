"""The last line of a command that leaves something open: the same command with the options that answer, which is typed here."""

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.cli import run
from rollwise.cli.asking import lines
from rollwise.errors import ArgumentError, ReadError
from rollwise.readers import Problems
from rollwise.readers import read as reading
from rollwise.readers.naming import Naming
from rollwise.readers.roles.questions import Question

PARTIAL = Question(
    "kind",
    "`kind`: what does 'partial' count as?",
    {"succeeded": ("kind", {"refusal": False, "full": True, "partial": "?"})},
    ("true", "false", "null"),
)
WHOSE = Question("success", "`success` (true, false): whose success is it?", {"of": "?"}, ("attack", "task"))
RESPONSE = Question("a, b", "which column is the response?", {"response": "?"}, ("a", "b"))
RECORDS = Question("", "which list holds the records?", {"records": "?"}, ("attempts[*]", "rounds[*]"))
CONFIRM = Question("jailbroken", "`jailbroken` (true, false): is it the verdict?", {"succeeded": "jailbroken"})
SCORE = Question("harm", "from which `harm` on (seen: 1 to 10)?", {"score": "harm", "succeeded": "?"})
ROWS = [
    {"rollout_id": "a", "prompt": "p", "response": "r", "kind": "full"},
    {"rollout_id": "b", "prompt": "q", "response": "s", "kind": "partial"},
]

Result = tuple[int, list[str]]
Typed = Callable[..., Result]


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Typed:
    """Type a command in a folder with `my runs.jsonl`; return its code and the lines on stderr."""
    monkeypatch.chdir(tmp_path)
    Path("my runs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))

    def type_it(*words: str) -> Result:
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            run(list(words))
        assert isinstance(exit_.value.code, int)
        return exit_.value.code, capsys.readouterr().err.splitlines()

    return type_it


def asks(monkeypatch: pytest.MonkeyPatch, *questions: Question, refuses: bool = False) -> None:
    """Ask these questions in every reading that names nothing of them yet."""
    real = reading.turns_of

    def turns_of(files: Any, paths: Sequence[Path], forced: Any, problems: Problems, naming: Naming, *more: Any) -> Any:
        given = {**naming.given.columns, "of": naming.given.of, "records": naming.given.records}
        problems.questions += [one for one in questions if not any(given.get(name) for name in one.names)]
        if refuses and problems.questions:
            error = ReadError("runs.json: nothing says which text is the answer; name it")
            error.questions = tuple(problems.questions)
            raise error
        return real(files, paths, forced, problems, naming, *more)

    monkeypatch.setattr(reading, "turns_of", turns_of)


def answered(line: str, answers: Mapping[str, str]) -> list[str]:
    """The words of a printed line, without its first, with what only the user knows filled in."""
    assert line.startswith("try: rollwise ")
    words = shlex.split(line.removeprefix("try: "))[1:]
    return [answers.get(word, word) for word in words]


@pytest.mark.integration
def test_the_line_comes_last_and_is_the_users_own_command(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the options that answer at its end, quoted for a shell; typed with an answer, it reads the verdicts."""
    asks(monkeypatch, PARTIAL)
    code, said = typed("report", "my runs.jsonl", "--out", "out put")
    assert code == 0
    assert said[-2:] == [
        "? `kind`: what does 'partial' count as? (true, false or null)",
        "try: rollwise report 'my runs.jsonl' --out 'out put' --column succeeded=kind --value succeeded:refusal=false "  # noqa: ISC004
        "--value succeeded:full=true --value 'succeeded:partial=?' --overwrite",
    ]
    words = answered(said[-1], {"succeeded:partial=?": "succeeded:partial=null"})
    code, said = typed(*words)
    assert (code, [line for line in said if line.startswith(("?", "try:"))]) == (0, [])
    assert sorted(pl.read_parquet("out put/rollouts.parquet")["attack_success"].to_list(), key=str) == [None, True]


def test_all_answers_are_in_one_line(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several questions, each printed; none twice, and of two that contradict each other the first."""
    asks(monkeypatch, PARTIAL, WHOSE, RESPONSE, CONFIRM, PARTIAL)
    _, said = typed("measure", "my runs.jsonl")
    asked = [line for line in said if line.startswith("? ")]
    assert len(asked) == 4
    assert said[-1].endswith("--value 'succeeded:partial=?' --of '?' --column 'response=?'")
    assert sum(line.startswith("try: ") for line in said) == 1


@pytest.mark.integration
@pytest.mark.parametrize(
    ("question", "options"),
    [
        (WHOSE, "--of '?'"),
        (RESPONSE, "--column 'response=?'"),
        (RECORDS, "--column 'records=?'"),
        (CONFIRM, "--column succeeded=jailbroken"),
        (SCORE, "--column score=harm --value 'succeeded:?'"),
        (Question("a b", "which?", {"goal": "what's it"}), "--column 'goal=what'\"'\"'s it'"),
    ],
)
def test_each_kind_of_question_has_its_option(
    question: Question, options: str, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the file is refused: then the line comes after the sentence, with the code of bad input."""
    for refuses, code in ((False, 0), (True, 2)):
        with monkeypatch.context() as patch:
            asks(patch, question, refuses=refuses)
            assert typed("doctor", "my runs.jsonl")[1][-1] == f"try: rollwise doctor 'my runs.jsonl' {options}"
            assert typed("doctor", "my runs.jsonl")[0] == code


def test_what_the_user_gave_is_kept_and_not_doubled() -> None:
    """In either spelling of an option; and nothing is printed where nothing would be added."""
    words = ["report", "r.json", "--column=succeeded=kind", "--value", "succeeded:partial=true"]
    assert [*lines(words, [PARTIAL])][-1] == (
        "try: rollwise report r.json --column=succeeded=kind --value succeeded:partial=true "
        "--value succeeded:refusal=false --value succeeded:full=true"
    )
    assert [*lines(["report", "r.json", "--of", "task"], [WHOSE])] == [
        "? `success` (true, false): whose success is it? (attack or task)"
    ]


def test_words_after_two_dashes_stay_paths() -> None:
    """`--` ends the options."""
    assert [*lines(["measure", "--", "-odd.json"], [WHOSE])][-1] == "try: rollwise measure --of '?' -- -odd.json"


def test_contrast_has_another_of() -> None:
    """Its `--of` is the column that is compared: whose success it is, is said by naming the column."""
    said = [*lines(["contrast", "r.json", "--of", "target"], [WHOSE])]
    assert said == [
        "? `success` (true, false): whose success is it? write --column solved=success if it is of the task",
        "try: rollwise contrast r.json --of target --column succeeded=success",
    ]


def test_a_line_that_cannot_be_copied_is_not_printed() -> None:
    """A label with a control character would reach the shell as another one."""
    odd = Question("label", "`label`: what is it?", {"succeeded": ("label", {"a\x1b[31m": "?"})})
    assert len([*lines(["report", "r.json"], [odd])]) == 1


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--of", "?"], "--of '?': replace `?`: write attack or task"),
        (["--column", "response=?"], "write the name of a column in your files"),
        (["--column", "records=?"], "write the path of the records, such as results[*]"),
        (["--column", "succeeded=label", "--value", "succeeded:partial=?"], "write true, false or null for 'partial'"),
        (["--value", "succeeded:partial=?"], "write true, false or null for 'partial'"),
        (["--value", "ending:odd=?"], "or null for 'odd'"),
        (
            ["--column", "score=harm", "--value", "succeeded:?"],
            "replace `?` by the number from which on a score means success",
        ),
        (["--of", "attac"], "says whose success it is; write attack or task"),
    ],
)
@pytest.mark.parametrize("command", ["report", "measure", "doctor", "summarize"])
def test_a_question_mark_that_is_typed_is_refused(command: str, words: list[str], sentence: str, typed: Typed) -> None:
    """With one sentence that says what it may be."""
    code, said = typed(command, "my runs.jsonl", *words)
    assert (code, len(said)) == (2, 1)
    assert sentence in said[0]


@pytest.mark.integration
def test_python_says_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the arguments of the user; typed with an answer, it reads without a question."""
    monkeypatch.chdir(tmp_path)
    Path("runs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    asks(monkeypatch, PARTIAL)
    rw.read("runs.jsonl", target="parrot", names={"prompt": "prompt"})
    said = capsys.readouterr().err.splitlines()
    assert said[-2:] == [
        "? `kind`: what does 'partial' count as? (true, false or null)",
        'try: rw.read("runs.jsonl", target="parrot", names={"prompt": "prompt", "succeeded": ("kind", '  # noqa: ISC004
        '{"refusal": False, "full": True, "partial": "?"})})',
    ]
    call = said[-1].removeprefix("try: ")
    with pytest.raises(ArgumentError, match="write true, false or null for 'partial'"):
        eval(call, {"rw": rw})
    turns = eval(call.replace('"?"', "None"), {"rw": rw})
    assert turns["succeeded"].to_list() == [True, None]
    assert "try:" not in capsys.readouterr().err


def test_an_error_in_python_ends_with_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence, and then what to type."""
    monkeypatch.chdir(tmp_path)
    Path("runs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    asks(monkeypatch, RESPONSE, refuses=True)
    for verb in (rw.read, rw.scan):
        with pytest.raises(ReadError, match="name it; try: ") as error:
            verb("runs.jsonl")
        assert str(error.value).endswith(f'try: rw.{verb.__name__}("runs.jsonl", names={{"response": "?"}})')
        assert error.value.questions == (RESPONSE,)


@pytest.mark.parametrize("names", [{"of": "?"}, {"succeeded": ("v", {"a": "?"})}, {"goal": "?"}, {"records": "?"}])
def test_every_verb_of_python_refuses_a_question_mark(names: dict[str, Any]) -> None:
    """Before any file is opened."""
    for call in (
        lambda: rw.read("nowhere", names=names),
        lambda: rw.scan("nowhere", names=names),
        lambda: rw.turns([{"a": 1}], names=names),
        lambda: rw.readers.read_rollouts("nowhere", names=names),
    ):
        with pytest.raises(ArgumentError, match=re.escape("replace `?`: write ")):
            call()
