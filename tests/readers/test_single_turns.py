# mypy: allow-untyped-defs
"""Results with one row for each attempt: rollouts of one turn without ids, and scores that become verdicts."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

import rollwise as rw
from rollwise.cli import run
from rollwise.errors import ArgumentError, ReadError, SchemaError

ROWS = [
    {"behavior": "b1", "method": "GCG", "response": "Sure", "harm_score": 0.75},
    {"behavior": "b1", "method": "PAIR", "response": "No", "harm_score": 0.0},
    {"behavior": "b2", "method": "GCG", "response": None, "harm_score": None},
    {"behavior": "b2", "method": "PAIR", "response": "Well", "harm_score": 0.5},
]
NAMES = {"goal": "behavior", "attack": "method", "score": "harm_score", "succeeded": 0.5}


@pytest.fixture
def said(capsys):
    """Run the command line, which ends with this code, and return what it printed: the result, or the error."""

    def call(code: int, *words: object) -> str:
        with pytest.raises(SystemExit) as leaving:
            run([str(word) for word in words])
        captured = capsys.readouterr()
        assert (leaving.value.code or 0) == code, captured.err
        return captured.out if code == 0 else captured.err

    return call


def written(frame: pl.DataFrame, folder: Path, suffix: str) -> Path:
    """Write a table in a format, and return its path."""
    path = folder / f"mine.{suffix}"
    match suffix:
        case "csv":
            frame.write_csv(path)
        case "jsonl":
            frame.write_ndjson(path)
        case "json":
            path.write_text(json.dumps(frame.to_dicts()))
        case _:
            frame.write_parquet(path)
    return path


@pytest.mark.integration
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "json", "parquet"])
def test_each_row_is_a_rollout(suffix, tmp_path, capsys):
    """Under names of the user, in every kind of file and in a scan; the file gives the ids, which a copy repeats."""
    path = written(pl.DataFrame(ROWS), tmp_path, suffix)
    turns = rw.read(path, names=NAMES)
    assert "read each row as a rollout of one turn (if several rows are one conversation" in capsys.readouterr().err
    run = turns["run"][0]
    assert turns["rollout_id"].to_list() == [f"{run}/{row}" for row in (1, 2, 3, 4)]
    assert turns["turn"].to_list() == [1] * 4
    assert turns.select("goal", "attack", "score", "succeeded").rows() == [
        ("b1", "GCG", 0.75, True), ("b1", "PAIR", 0.0, False), ("b2", "GCG", None, None), ("b2", "PAIR", 0.5, True),
    ]  # fmt: skip
    assert rw.scan(path, names=NAMES).collect().equals(turns)
    assert rw.read(path, names=NAMES, columns=["succeeded"])["succeeded"].to_list() == turns["succeeded"].to_list()
    assert rw.read(path, names=NAMES, cache=tmp_path / "cache").equals(turns)
    assert rw.read(path, names=NAMES, cache=tmp_path / "cache").equals(turns)
    other = written(pl.DataFrame(ROWS).with_columns(harm_score=0.9), tmp_path / "cache", suffix)
    both = rw.read([path, other], names=NAMES)
    assert both["rollout_id"].n_unique() == 8


@pytest.mark.parametrize(
    "make", [pl.DataFrame, pl.LazyFrame, lambda rows: rows, lambda rows: pl.DataFrame(rows).to_pandas()]
)
def test_a_frame_gives_names_and_numbers(make):
    """Rows in memory, which no file names, are numbered from 1, under a name that their content gives."""
    turns = rw.turns(make(ROWS), names=NAMES).lazy().collect()
    frame = turns["rollout_id"][0].partition("/")[0]
    assert re.fullmatch("frame-[0-9a-f]{8}", frame)
    assert turns["rollout_id"].to_list() == [f"{frame}/{row}" for row in (1, 2, 3, 4)]
    assert turns["succeeded"].to_list() == [True, False, None, True]


@pytest.mark.parametrize(
    "row",
    [
        {"question": "1 + 1?", "answer": "2"},  # data to learn from
        {"goal": "g", "success": 0.35},  # a share of several rollouts
        {"goal": "g", "success": 12},  # a count of them
        {"prompt": "How?", "label": "jailbreak"},  # data to learn from
        {"success": 1},  # of what?
    ],
)
def test_doubtful_rows_are_refused(row, tmp_path):
    """Where rows may be no rollouts at all, nothing is guessed."""
    path = written(pl.DataFrame([row, row]), tmp_path, "csv")
    with pytest.raises(ReadError):
        rw.read(path)
    with pytest.raises(SchemaError, match="there is no column `rollout_id`"):
        rw.turns(pl.DataFrame([row, row]))


@pytest.mark.integration
@pytest.mark.parametrize(
    "row",
    [
        {"turn": 1, "goal": "g", "response": "No"},
        {"id": 7, "goal": "g", "response": "No"},
        {"goal": "g", "score": 0.5},
        {"model": "m", "prompt": "How?", "verdict": "unsafe"},  # which may be on the prompt, and is asked about
    ],
)
def test_rows_without_a_verdict_beyond_doubt_are_rollouts(row, tmp_path):
    turns = rw.read(written(pl.DataFrame([row, row]), tmp_path, "csv"))
    assert turns["rollout_id"].n_unique() == turns.height == 2
    assert turns.select("succeeded", "outcome", "solved").null_count().row(0) == (2, 2, 2)


@pytest.mark.integration
@pytest.mark.parametrize(
    "row", [{"behavior": "g", "query": "How?", "success": 1}, {"behavior": "g", "generation": "No", "success": 1}]
)
def test_rows_of_results_under_other_names_are_rollouts(row, tmp_path):
    turns = rw.read(written(pl.DataFrame([row, row]), tmp_path, "csv"))
    assert turns.select("goal", "outcome").rows() == [("g", "success")] * 2


@pytest.mark.integration
@pytest.mark.parametrize("name", ["turn", "round"])
@pytest.mark.parametrize("key", ["chat", "conversation_id"])
def test_rows_that_may_be_turns_are_asked_about(name, key, tmp_path):
    """Numbers of turns without an id, and an id of conversations without numbers, leave open what a rollout is."""
    texts = [f"answer {place}" for place in range(4)]
    numbered = pl.DataFrame({name: [1, 2, 3, 4], "prompt": "How?", "response": texts})
    grouped = pl.DataFrame({key: [*"aabb"], "prompt": texts, "response": texts})
    for frame in (numbered, grouped):
        with pytest.raises(ReadError, match=r"is a row a rollout|is each a rollout") as refused:
            rw.read(written(frame, tmp_path, "csv"))
        (question,) = refused.value.questions
        assert list(question.names) == ["rollout_id"]


@pytest.mark.integration
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "json", "parquet"])
@pytest.mark.parametrize("values", [[1, 0, None], [True, False, None], ["yes", "no", None]])
def test_outcomes_without_texts(suffix, values, tmp_path, capsys):
    """A row for each attempt, with its result alone: the most compact log of all."""
    rows = [
        {"model": "m", "attack": "GCG", "behavior": f"b{place}", "success": value} for place, value in enumerate(values)
    ]
    path = written(pl.DataFrame(rows), tmp_path, suffix)
    assert rw.read(path)["rollout_id"].n_unique() == 3
    assert ") as `succeeded`" in capsys.readouterr().err  # beside attacks it is theirs
    names = {"target": "model", "goal": "behavior", "succeeded": "success"}
    for turns in (rw.read(path, names=names), rw.turns(pl.DataFrame(rows), names=names)):
        assert turns.select("target", "attack", "goal", "succeeded").rows() == [
            ("m", "GCG", "b0", True), ("m", "GCG", "b1", False), ("m", "GCG", "b2", None),
        ]  # fmt: skip


def test_outcomes_beside_logs_are_not_counted_twice(tmp_path):
    """A table of results in a folder of logs is probably of those; a folder of such tables alone is read."""
    rows = pl.DataFrame({"model": "m", "behavior": ["b1", "b2"], "jailbroken": [True, False]})
    folder = tmp_path / "run"
    folder.mkdir()
    results = written(rows, folder, "csv")
    written(rows, folder, "jsonl")
    assert rw.read(folder).height == 2  # the same rows in two forms
    (folder / "chat.jsonl").write_text('{"rollout_id": "a", "prompt": "Hi", "response": "No", "succeeded": false}\n')
    for names in (None, {"goal": "behavior"}):
        turns, problems = rw.read(folder, names=names, errors="collect")
        assert turns["rollout_id"].to_list() == ["a"]
        beside = problems.filter(
            pl.col("reason").str.starts_with("contains results but no responses, probably from the logs")
        )
        assert beside["file"].str.split("/").list.last().to_list() == ["mine.csv", "mine.jsonl"]
    assert rw.read([folder / "chat.jsonl", results]).height == 3


def test_a_prompt_with_a_verdict_on_the_attack(tmp_path):
    """A verdict that can only be on the attack says that the prompt was sent."""
    path = written(pl.DataFrame({"goal": ["g", "h"], "prompt": "How?", "jailbroken": [True, False]}), tmp_path, "csv")
    assert rw.read(path)["succeeded"].to_list() == [True, False]


@pytest.mark.thinned(2)
@pytest.mark.parametrize(("steps", "is_read"), [([0, 0, 0], True), ([50, 50, 100], True), ([1, 2, 3], False)])
def test_a_step_of_training_is_no_turn(steps, is_read, tmp_path):
    """Steps that do not count from 0 or 1 stay a column; those that do may be turns."""
    frame = pl.DataFrame({"step": steps, "prompt": "p", "response": "r", "reward": [0.0, 1.0, 1.0]})
    path = written(frame, tmp_path, "jsonl")
    if not is_read:
        with pytest.raises(ReadError, match="`step` numbers the rows"):
            rw.read(path)
        return
    turns = rw.read(path)
    assert turns["step"].to_list() == steps
    assert rw.turns(frame)["step"].to_list() == steps
    rates = rw.training(
        rw.measure(turns, rw.metrics.total("reward"), keep=["step"]), metric="total_reward", step="step"
    )
    assert rates["step"].unique().sort().to_list() == sorted(set(steps))


@pytest.mark.integration
def test_decimal_commas(tmp_path):
    """Spreadsheets of half of Europe write 0,5 between semicolons; a text with a comma stays as it is."""
    for name in ("a", "b"):  # two alike files are read as one
        rows = f"{name}1;g;No, sorry;0,5;1,25;1, 2\n{name}2;h;Sure;7;;3\n"
        (tmp_path / f"{name}.csv").write_text(f"rollout_id;goal;response;score;cost;note\n{rows}")
    turns = rw.read(tmp_path, names={"succeeded": 1})
    assert turns.select("response", "score", "total_cost_usd", "note", "succeeded").rows() == [
        ("No, sorry", 0.5, 1.25, "1, 2", False), ("Sure", 7.0, None, "3", True),
    ] * 2  # fmt: skip
    (tmp_path / "c.csv").write_text('rollout_id,response,score\na,No,"0,5"\n')
    with pytest.raises(ReadError, match="is '0,5', not a number"):
        rw.read(tmp_path / "c.csv")


def test_a_score_needs_values_and_no_verdicts(tmp_path):
    """The sentence says what to type; a verdict of the log is never replaced."""
    frame = pl.DataFrame([{"rollout_id": "a", "response": "No", "harm": 0.3, "jailbroken": True}])
    with pytest.raises(
        ArgumentError, match=r'no turn has a `score`; name its column too, as in names=\{"score": "harm"\}'
    ):
        rw.turns(frame.drop("jailbroken"), names={"succeeded": 0.5})
    with pytest.raises(ArgumentError, match="1 turn has a verdict already; leave it out"):
        rw.turns(frame, names={"score": "harm", "succeeded": 0.5})
    assert rw.turns(frame.drop("jailbroken"), names={"score": "harm", "succeeded": 0}).item(0, "succeeded")
    empty = rw.turns(frame.drop("jailbroken").clear(), names={"score": "harm", "succeeded": 0.5})
    assert empty.height == 0
    for odd in (True, float("nan")):
        with pytest.raises(ArgumentError, match="is not a mapping of names"):
            rw.turns(frame, names={"score": "harm", "succeeded": odd})
    # A threshold that a log of another tool's scores lacks is one for it as well.
    path = written(frame.select("rollout_id", "response", score="harm"), tmp_path, "jsonl")
    assert rw.read(path, names={"succeeded": 0.3})["succeeded"].to_list() == [True]


def test_the_command_line_says_what_to_type(tmp_path, said):
    """From a table that is not recognized to rates, by the lines that the messages give."""
    path = written(pl.DataFrame(ROWS).rename({"response": "generation"}), tmp_path, "csv")
    options = ["--column", "score=harm_score"]
    unjudged = said(0, "doctor", path)
    assert "`score` on (seen: 0 to 0.75) a turn succeeded: `rw.turns(turns, names={'succeeded': '?'})`" in unjudged
    rates = said(0, "summarize", path, *options, "--value", "succeeded:0.5", "--format", "json")
    (row,) = [row for row in json.loads(rates)["rows"] if row["metric"] == "attack_success"]
    assert (row["n"], row["estimate"]) == (3, pytest.approx(2 / 3))
    named = said(2, "summarize", path, "--column", "succeeded=harm_score")
    assert "(seen: 0 to 0.75) did the attack succeed? --column score=harm_score --value 'succeeded:?'" in named
    threshold = ("--value", "succeeded:0.5")
    named = said(2, "summarize", path, "--column", "succeeded=harm_score", *threshold)
    assert "write --column score=harm_score" in named
    both = said(2, "summarize", path, *threshold, "--value", "succeeded:x=true")
    assert "gives succeeded both labels and a score" in both


@pytest.mark.integration
@pytest.mark.parametrize(
    ("scores", "limit", "sentence"),
    [
        ([2, 9, 3, 1], 0.5, "all 4 scores (1 to 9) are >= 0.5, so all succeeded"),
        ([1, 1, 1, None], 0.5, "all 3 scores (1) are >= 0.5, so all succeeded"),
        ([2, 9, 3, 1], 10, "none of 4 scores (1 to 9) is >= 10, so none succeeded"),
        ([0.2, 0.9, 0.3, 0.1], "<=2", "all 4 scores (0.1 to 0.9) are <= 2, so all succeeded"),
        ([20, 90, 30, 10], "< 1", "none of 4 scores (10 to 90) is < 1, so none succeeded"),
        ([2, 9, 3, 1], 9, None),
        ([2, 9, 3, 1], "<2", None),
        ([9, None, None, None], 0.5, None),
    ],
)
def test_a_limit_that_tells_no_scores_apart_is_said(scores, limit, sentence, tmp_path, capsys):
    """0.5 on a scale from 1 to 10 makes every rollout a success: by `turns`, `read`, a cache, a scan and a command."""
    frame = pl.DataFrame({"goal": list("ghij"), "response": list("abcd"), "harm": scores}, strict=False)
    path, names = written(frame, tmp_path, "csv"), {"score": "harm", "succeeded": limit}

    def lines(told: str) -> list[str]:
        return [line.removeprefix("rollwise: ") for line in told.splitlines() if "scores (" in line]

    expected = [] if sentence is None else [sentence]
    rw.turns(frame, names=names)
    assert lines(capsys.readouterr().err) == expected
    rw.turns(frame.lazy(), names=names).collect()
    assert lines(capsys.readouterr().err) == expected
    for _ in range(2):
        rw.read(path, names=names, cache=tmp_path / "cache")
        assert lines(capsys.readouterr().err) == expected
    rw.scan(path, names=names).collect()
    assert lines(capsys.readouterr().err) == expected
    with pytest.raises(SystemExit):
        run(["summarize", str(path), "--column", "score=harm", "--value", f"succeeded:{limit}"])
    assert lines(capsys.readouterr().err) == expected


@pytest.mark.integration
@pytest.mark.parametrize("answer", ["completion", "output", "response"])
def test_texts_with_a_reward_are_of_no_tool(answer, tmp_path):
    """A verdict beside them counts: no reader of a trainer's dumps takes them for its own."""
    rows = [{"prompt": "Hi", answer: "No", "reward": 0.5, "jailbroken": place > 0} for place in range(2)]
    turns = rw.read(written(pl.DataFrame(rows), tmp_path, "jsonl"))
    assert turns.select("source", "succeeded").rows() == [("native", False), ("native", True)]


@pytest.mark.integration
@pytest.mark.parametrize("column", ["jailbroken", "succeeded", "verdict"])
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_a_verdict_on_the_conversation_is_asked_for_and_the_line_works(column, suffix, tmp_path, said, capsys):
    """The same on all turns of each rollout: as a verdict on turns, the first turn of each success would be one."""
    words = {"jailbroken": [1, 1, 1, 0, 0], "succeeded": [True] * 3 + [False] * 2}.get(
        column, ["unsafe"] * 3 + ["safe"] * 2
    )
    frame = pl.DataFrame(
        {"rollout_id": list("aaabb"), "turn": [1, 2, 3, 1, 2], "response": list("qwert"), column: words}
    )
    path = written(frame, tmp_path, suffix)
    for call in (lambda **names: rw.turns(frame, **names), lambda **names: rw.read(path, **names)):
        call()
        err = capsys.readouterr().err
        assert "the same on all turns of each rollout" in err
        line = re.search(r'names=(\{"outcome": .*?\})', err)
        assert line is not None
        turns = call(names=json.loads(line[1]))
        assert "same on all turns" not in capsys.readouterr().err
        times = rw.measure(turns, rw.metrics.time_to_success())["time_to_success"].to_list()
        assert times == [{"duration": 3, "observed": True}, {"duration": 2, "observed": False}]
    with pytest.raises(SystemExit):
        run(["summarize", str(path)])
    option = re.search(r"--column outcome=\w+", capsys.readouterr().err)
    assert option is not None
    rates = json.loads(
        said(0, "summarize", path, *option[0].split(), "--metric", "time_to_success", "--format", "json")
    )
    assert {row["estimate"] for row in rates["rows"] if row["statistic"] == "median"} == {3.0}


@pytest.mark.integration
def test_verdicts_that_differ_within_one_rollout_are_on_its_turns(capsys):
    frame = pl.DataFrame({"rollout_id": list("aabb"), "turn": [1, 2, 1, 2], "response": "x"})
    for verdicts in ([False, True, True, True], [False] * 4, [None, True, None, None]):
        rw.turns(frame.with_columns(succeeded=pl.Series(verdicts)))
    rw.turns(frame[[0, 2]].with_columns(succeeded=True))
    assert "same on all turns" not in capsys.readouterr().err
