"""What became of the records of each file: `records` = `read` + `passed_over` + `broken`, and the sums are those of TURNS."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise import schema
from rollwise.cli import run
from rollwise.readers import Problems
from rollwise.readers.read import read_into
from rollwise.reports.reading import _accounts

FIXTURES = Path(__file__).parent / "fixtures"
PRODUCED = Path(__file__).parent / "produced"
CHAT = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}


# Formats in which each record is a rollout.
ONE_BY_ONE = (
    *("agentdojo", "atif", "deepteam", "inspect", "intercode", "jailbreakbench"),
    *("mint", "openhands", "quesma", "sharegpt", "swe_agent", "tau2", "tau_bench"),
)


def chats(path: Path, *lines: object) -> Path:
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return path


RECORDS = {
    "promptfoo/results.json": 6,
    "inspect/log.json": 4,
    "pyrit/memory.csv": 2,
    "native/toy.csv": 3,
    "intercode/multiturn.json": 4,
    "jailbreakbench/toy.json": 3,
    "trl/completions_00005.parquet": 2,
}


def account(path: Path) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """TURNS, PROBLEMS and ACCOUNTING of one reading."""
    problems = Problems(collect=True)
    turns = read_into(problems, path)
    return turns, problems.frame(), problems.accounting()


def assert_adds_up(turns: pl.DataFrame, problems: pl.DataFrame, accounts: pl.DataFrame) -> None:
    schema.check(accounts, schema.ACCOUNTING)
    sums = accounts.select(pl.all().exclude("file", "format").sum()).row(0, named=True)
    assert sums["rollouts"] == turns["rollout_id"].n_unique()
    assert sums["turns"] == turns["turn"].count()
    assert sums["problems"] == problems.height
    parts = accounts.select("file", parts=pl.col("read") + pl.col("passed_over") + pl.col("broken"))
    assert parts["parts"].equals(accounts["records"])
    # Records are in rollouts where the file has rollouts, and no count is below zero.
    odd = accounts.filter(
        (pl.col("read") < 0)
        | ((pl.col("read") > 0) & (pl.col("rollouts") == 0))
        | ((pl.col("rollouts") > 0) & (pl.col("read") + pl.col("broken") == 0))
        | (pl.col("verdicts") > pl.col("rollouts"))
    )
    assert odd.rows(named=True) == []
    # A file without a rollout, a word about it, or a count of what was passed over would have passed in silence.
    assert accounts.filter(rollouts=0, problems=0, passed_over=0).rows() == []


def test_lines_that_cannot_be_read_and_files_of_no_format_have_their_place(tmp_path: Path) -> None:
    chats(tmp_path / "a.jsonl", CHAT, '{"messages": ', CHAT, {"messages": 3})
    (tmp_path / "notes.txt").write_text("none")
    accounts = rw.readers.accounting(tmp_path)
    counts = ("format", "records", "read", "passed_over", "broken", "rollouts", "turns", "verdicts", "problems")
    assert accounts.select(counts).rows() == [("openai_chat", 4, 2, 0, 2, 2, 2, 0, 2), (None, 0, 0, 0, 0, 0, 0, 0, 1)]
    assert_adds_up(*account(tmp_path))


@pytest.mark.integration
def test_a_repeated_rollout_is_passed_over_in_the_second_file(tmp_path: Path) -> None:
    rows = pl.DataFrame(
        {"rollout_id": ["a", "a", "b"], "turn": [1, 2, 1], "prompt": "Hi", "succeeded": [None, True, False]}
    )
    rows.write_parquet(tmp_path / "1.parquet")
    rows.filter(rollout_id="b").vstack(rows.filter(rollout_id="b").with_columns(rollout_id=pl.lit("c"))).write_csv(
        tmp_path / "2.csv"
    )
    accounts = rw.readers.accounting(tmp_path)
    assert accounts.select("records", "read", "broken", "rollouts", "turns", "verdicts").rows() == [
        (3, 3, 0, 2, 3, 2),
        (2, 1, 0, 1, 1, 1),
    ]
    assert_adds_up(*account(tmp_path))


@pytest.mark.integration
def test_small_parquet_files_that_are_read_as_one_are_counted_one_by_one(tmp_path: Path) -> None:
    for name in "ab":
        rw.turns([{"rollout_id": name, "prompt": "Hi", "response": "No"}]).write_parquet(tmp_path / f"{name}.parquet")
    assert rw.readers.accounting(tmp_path).select("format", "records", "rollouts").rows() == [("native", 1, 1)] * 2


def test_a_cached_reading_has_the_same_accounting(tmp_path: Path) -> None:
    chats(tmp_path / "logs.jsonl", CHAT, '{"messages": ')
    readings = []
    for _ in range(2):
        problems = Problems(collect=True)
        read_into(problems, tmp_path / "logs.jsonl", cache=tmp_path / "cache")
        readings.append(problems.accounting().rows())
    assert readings[0] == readings[1]
    assert readings[0][0][2:7] == (2, 1, 0, 1, 1)


def test_headers_and_superseded_lines_are_passed_over(tmp_path: Path) -> None:
    attempt = {
        "entry_type": "attempt",
        "uuid": "a",
        "seq": 0,
        "probe_classname": "p.P",
        "prompt": "Hi",
        "outputs": ["No", "Hm"],
    }
    verdicts = {"detector_results": {"always.Fail": [1.0, 0.0]}}
    chats(
        tmp_path / "report.jsonl",
        {"entry_type": "init", "run": "R"},
        {**attempt, "status": 1},
        {**attempt, "status": 2, **verdicts},
        {**attempt, "uuid": "b", "status": "two"},
        '{"entry_type": ',
        {"entry_type": "digest"},
    )
    counts = ("records", "read", "passed_over", "broken", "rollouts", "verdicts")
    assert rw.readers.accounting(tmp_path).select(counts).row(0) == (6, 1, 3, 2, 2, 2)


@pytest.mark.integration
def test_records_that_are_gone_through_twice_count_once() -> None:
    records = {path: rw.readers.accounting(FIXTURES / path)["records"].item() for path in RECORDS}
    assert records == RECORDS


@pytest.mark.integration
def test_the_fixtures_of_all_formats_add_up() -> None:
    for folder in sorted(path for path in FIXTURES.iterdir() if path.is_dir()):
        try:
            reading = account(folder)
        except rw.errors.ReadError:  # fixtures of results that hold no rollouts
            continue
        assert_adds_up(*reading)


@pytest.mark.integration
def test_every_real_log_adds_up(shared: Path) -> None:
    reading = account(shared)
    assert_adds_up(*reading)
    accounts = reading[2].filter(pl.col("records") > 0)
    assert accounts["rollouts"].sum() > 10_000
    # Where each record is a rollout, as many rollouts as records are read: none of them vanished on the way.
    single = accounts.filter(pl.col("format").is_in(ONE_BY_ONE))
    assert {*ONE_BY_ONE} - {*single["format"]} == {"openhands"}  # of which there are no real logs here
    assert single.filter(pl.col("read") != pl.col("rollouts")).rows(named=True) == []
    pairs = accounts.filter(format="hh_rlhf")
    assert pairs["rollouts"].to_list() == (pairs["read"] * 2).to_list()


# ── files beside logs ─────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_results_of_lm_eval_beside_their_samples_are_passed_over(capsys: pytest.CaptureFixture[str]) -> None:
    logs = PRODUCED / "lm_eval" / "logs"
    assert rw.read(logs).height > 0
    assert capsys.readouterr().err == ""
    turns, problems, accounts = account(logs)
    assert_adds_up(turns, problems, accounts)
    results = accounts.filter(pl.col("file").str.contains("results_"))
    assert (
        results.select("format", "records", "read", "passed_over", "problems").rows() == [("lm_eval", 1, 0, 1, 0)] * 2
    )


@pytest.mark.integration
def test_verdicts_of_nat_beside_its_workflow_are_named_once(capsys: pytest.CaptureFixture[str]) -> None:
    logs = PRODUCED / "nvidia_nat" / "logs"
    rw.read(logs)
    assert re.fullmatch(
        r"rollwise: 2 files of verdicts beside the logs not read: \S+exact_output\.json, \S+exact_output\.json; "
        r"`rw\.judges\.read_verdicts` reads them\n",
        capsys.readouterr().err,
    )
    turns, problems, accounts = account(logs)
    assert_adds_up(turns, problems, accounts)
    assert (problems.height, accounts["passed_over"].sum()) == (0, 2)


@pytest.mark.integration
def test_a_cached_reading_names_verdicts_as_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for _ in range(2):
        rw.read(PRODUCED / "nvidia_nat" / "logs", cache=tmp_path / "cache")
        said.append(capsys.readouterr().err)
    assert said[0] == said[1] != ""


def test_listings_of_inspect_are_passed_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = json.loads((FIXTURES / "inspect" / "log.json").read_text())
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "log.json").write_text(json.dumps(log))
    header = {name: log[name] for name in ("version", "status", "eval")}
    (tmp_path / "logs.json").write_text(json.dumps({"runs/log.json": header}))  # as `write_log_dir_manifest` writes it
    rw.read(tmp_path)
    assert capsys.readouterr().err == ""
    assert_adds_up(*account(tmp_path))
    with pytest.raises(rw.errors.ReadError, match="holds headers of Inspect logs, not rollouts"):
        rw.read(tmp_path / "logs.json")


@pytest.mark.integration
def test_hits_and_the_page_of_a_garak_report_are_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (PRODUCED / "garak" / "logs").glob("echo.*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "echo.report.html").write_text("<!DOCTYPE html><html><title>garak report</title></html>")
    rw.read(tmp_path)
    assert capsys.readouterr().err == ""
    turns, problems, accounts = account(tmp_path)
    assert_adds_up(turns, problems, accounts)
    assert problems.rows() == []
    counts = {Path(file).name: rest for file, *rest in accounts.select("file", "format", "read", "passed_over").rows()}
    assert counts["echo.hitlog.jsonl"] == ["garak_hitlog", 0, 17]
    assert counts["echo.report.html"] == ["garak", 0, 1]


def test_the_same_files_without_their_logs_are_still_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "elsewhere").mkdir()
    chats(tmp_path / "elsewhere" / "a.jsonl", CHAT)
    for path in (PRODUCED / "lm_eval" / "logs" / "org__plain").glob("results_*.json"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    rw.read(tmp_path)
    assert capsys.readouterr().err.startswith("rollwise: 1 file not recognized: ")
    _, problems, _ = account(tmp_path)
    assert problems["reason"].to_list() == ["holds results, not rollouts: open it with `rw.readers.read_summary`"]


# ── on the command line and in the report ─────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A log with a record that cannot be read."""
    folder = tmp_path / "logs"
    folder.mkdir()
    chats(folder / "a.jsonl", CHAT, '{"messages": ', {**CHAT, "succeeded": True})
    (folder / "notes.txt").write_text("none")
    return folder


def command(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as leaving:
        run([str(word) for word in words])
    captured = capsys.readouterr()
    return int(leaving.value.code or 0), captured.out, captured.err


def test_the_doctor_lists_the_files(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = command(capsys, "doctor", logs, "--accounting", "--format", "json")
    assert code == 0
    assert pl.DataFrame(json.loads(out)["rows"]).equals(rw.readers.accounting(logs))
    code, out, _ = command(capsys, "doctor", logs, "--accounting")
    assert "passed over" in out.splitlines()[0]
    assert re.search(r"openai_chat +3 +2 +0 +1 +2 +2 +1 +1\n", out)


@pytest.mark.integration
def test_the_doctor_reads_the_rest_and_counts_in_its_first_line(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = command(capsys, "doctor", logs)
    assert (code, out.splitlines()[0]) == (0, "2 rollouts, 2 turns, 2 problems; --accounting counts them by file")
    code, _, message = command(capsys, "doctor", logs, "--errors", "raise")
    assert (code, "a.jsonl: record 2: is not valid JSON" in message) == (2, True)


def test_read_and_gate_stop_at_what_cannot_be_read(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (("read", logs, "--out", logs.parent / "t.csv"), ("gate", logs, "--require", "attack_success < 1%")):
        code, _, message = command(capsys, *words)
        assert (code, "a.jsonl: record 2: is not valid JSON" in message) == (2, True)
    assert not (logs.parent / "t.csv").exists()


@pytest.mark.integration
def test_the_report_lists_the_files(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Report collects by default: the count is in its first line on stderr and on the page."""
    code, _, message = command(capsys, "report", logs, "--out", logs.parent / "report")
    assert (code, "rollwise: read 2 rollouts, 2 turns, 2 problems\n" in message) == (0, True)
    page = (logs.parent / "report" / "report.html").read_text()
    table = page.partition("The files, and what became of their records")[2].partition("</table>")[0]
    rows = [re.findall(r"<td[^>]*>([^<]*)", row) for row in table.split("<tr")]
    rows = [row for row in rows if row]
    assert rows == [
        ["a.jsonl", "openai_chat", "3", "2", "0", "1", "2", "2", "1", "1"],
        ["notes.txt", "(none)", "0", "0", "0", "0", "0", "0", "0", "1"],
        ["all", "", "3", "2", "0", "1", "2", "2", "1", "2"],
    ]
    # Many files are summed by format.
    accounts = pl.concat([rw.readers.accounting(logs)] * 101)
    grid = _accounts(accounts)
    assert [row[:3] for row in grid.rows] == [
        ["openai_chat", "101", "303"],
        ["(none)", "101", "0"],
        ["all", "202", "303"],
    ]


# ── one rollout in two files ──────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_two_logs_with_the_same_content_are_read_once_and_named_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("base", "tuned"):  # two targets that answered alike, in logs that name neither
        (tmp_path / name).mkdir()
        chats(tmp_path / name / "run.jsonl", CHAT, {**CHAT, "id": "x"})
    first, second = (tmp_path / name / "run.jsonl" for name in ("base", "tuned"))
    assert rw.read(tmp_path)["rollout_id"].n_unique() == 2
    for _ in range(2):  # a cached reading says so as well
        capsys.readouterr()
        turns, problems = rw.read(tmp_path, errors="collect", cache=tmp_path / "cache.d")
        assert capsys.readouterr().err == (
            f"rollwise: 2 rollouts are in a second file or record and read once: {second} repeats {first} (2); "
            "if these are separate runs, add a `run` or `target` field to each\n"
        )
        assert (turns["rollout_id"].n_unique(), problems.height) == (2, 2)
    assert_adds_up(*account(tmp_path))


def test_two_logs_that_differ_in_their_target_alone_are_two_runs(tmp_path: Path) -> None:
    for name in ("base", "tuned"):
        chats(tmp_path / f"{name}.jsonl", {**CHAT, "target": name}, {**CHAT, "target": name, "id": "x"})
    turns, problems = rw.read(tmp_path, errors="collect")
    assert problems.height == 0
    assert turns.group_by("target").agg(pl.col("rollout_id").n_unique()).sort("target").rows() == [
        ("base", 2),
        ("tuned", 2),
    ]


def test_frames_of_two_targets_with_the_same_ids_are_never_merged(tmp_path: Path) -> None:
    chats(tmp_path / "run.jsonl", CHAT)
    both = pl.concat([rw.read(tmp_path, target=name) for name in ("base", "tuned")])
    with pytest.raises(
        rw.errors.SchemaError, match=r"has turn 1 twice.*keep rollouts of two tables apart before `pl.concat`"
    ):
        rw.measure(both)
