"""What people type who have read no page: each gets one sentence, and what the sentence says to type works."""

import json
import re
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise import plots
from rollwise.cli import run
from rollwise.errors import ArgumentError, MetricError, ReadError

ROWS = [
    {"rollout_id": f"r{place}", "target": "ab"[place % 2], "goal": f"g{place // 4}", "attempt": place % 4 // 2 + 1}
    | {"prompt": "Please", "response": "Sure" if place % 3 else "No", "jailbroken": int(place % 3 > 0), "score": place}
    for place in range(16)
]

SAID = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "No"},
    {"role": "user", "content": "Please"},
    {"role": "assistant", "content": "Yes"},
]


@pytest.fixture
def turns() -> pl.DataFrame:
    return rw.turns(ROWS)


def quoted(sentence: str) -> list[str]:
    """The code that a sentence quotes."""
    return re.findall(r"`([^`]+)`", sentence)


# ── data in place of a path ──────────────────────────────────────────────────────────────────────────────────────────────


def in_memory() -> Iterator[tuple[str, Any, str]]:
    pandas = pytest.importorskip("pandas")
    frame = pl.DataFrame(ROWS)
    names = {"frame": "rw.turns(frame)", "records": "rw.turns(records)", "record": "rw.turns([record])"}
    yield "a DataFrame", frame, names["frame"]
    yield "a DataFrame", pandas.DataFrame(ROWS), names["frame"]
    yield "a LazyFrame", frame.lazy(), names["frame"]
    yield "a Table", frame.to_arrow(), names["frame"]
    yield "a list of dicts", ROWS, names["records"]
    yield "a dict", ROWS[0], names["record"]
    yield "a text of JSON", json.dumps(ROWS), "rw.turns(json.loads(text))"


@pytest.mark.thinned(3)
@pytest.mark.parametrize("read", [rw.read, rw.scan, rw.readers.steps])
def test_data_is_not_a_path_and_the_call_for_it_works(read: Any) -> None:
    for kind, given, call in in_memory():
        with pytest.raises(ArgumentError, match=f"^{read.__name__}: {kind} is not a path; ") as caught:
            read(given)
        assert call in quoted(str(caught.value))
        names = dict.fromkeys(("frame", "records", "record", "text"), given)
        made = eval(call, {"rw": rw, "json": json, **names})  # the sentence's own code
        assert isinstance(made, pl.DataFrame | pl.LazyFrame)
        assert made.lazy().collect().height == (1 if kind == "a dict" else len(ROWS))


def test_an_open_file_has_a_path(tmp_path: Any) -> None:
    path = tmp_path / "a.csv"
    pl.DataFrame(ROWS).write_csv(path)
    with path.open() as file, pytest.raises(ArgumentError, match="an open file is not a path; give its path"):
        rw.read(file)
    assert rw.read(path).height == len(ROWS)


def test_a_series_of_paths_is_a_list_of_them(tmp_path: Any) -> None:
    path = tmp_path / "a.csv"
    pl.DataFrame(ROWS).write_csv(path)
    assert rw.read(pl.Series([str(path)])).height == len(ROWS)


# ── errors="collect" ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.integration
def test_what_advises_to_collect_says_that_it_returns_a_pair(tmp_path: Any) -> None:
    path = tmp_path / "log.jsonl"
    lines = [*map(json.dumps, ROWS), '{"rollout_id": "x", "response": ']
    path.write_text("\n".join(lines))
    with pytest.raises(ReadError, match='errors="collect" reads the rest and returns a pair, `frame, problems`'):
        rw.read(path)
    frame, problems = rw.read(path, errors="collect")
    assert (frame.height, problems.height) == (len(ROWS), 1)


@pytest.mark.thinned(6)
@pytest.mark.parametrize("verb", [rw.measure, rw.summarize, rw.report, rw.doctor, rw.curve])
def test_the_pair_is_no_frame_and_its_first_part_is(tmp_path: Any, monkeypatch: Any, verb: Any) -> None:
    monkeypatch.chdir(tmp_path)  # where `report` looks for its default folder
    path = tmp_path / "log.csv"
    pl.DataFrame(ROWS).write_csv(path)
    pair = rw.read(path, errors="collect")
    with pytest.raises(ArgumentError, match=rf"^{verb.__name__}: a Reading is not a frame, .*; pass its `\.frame`$"):
        verb(pair)
    assert rw.measure(pair.frame).height == len(ROWS)


# ── two files with the same ids ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.integration
def test_two_files_with_the_same_ids_are_read_apart_as_the_error_says(tmp_path: Any, capsys: Any) -> None:
    first, second = tmp_path / "gpt.csv", tmp_path / "llama.csv"
    pl.DataFrame(ROWS).write_csv(first)
    pl.DataFrame([row | {"response": "Else"} for row in ROWS]).write_csv(second)
    with pytest.raises(ReadError, match=r"appears in .*gpt\.csv as well, with another conversation; ") as caught:
        rw.read([first, second])
    code = next(code for code in quoted(str(caught.value)) if code.startswith("rw.read"))
    apart = eval(code, {"rw": rw, "pl": pl})  # the sentence's own code
    both = pl.concat([rw.read(first), apart])
    assert rw.measure(both).height == 2 * len(ROWS)
    with pytest.raises(SystemExit):
        run(["measure", str(first), str(second)])
    printed = capsys.readouterr().err
    assert "id of its own; else read only one of them, or keep the first: --errors collect reads the rest\n" in printed
    assert "rw." not in printed, "a command gives no answer in Python"


# ── metrics, judges ──────────────────────────────────────────────────────────────────────────────────────────────────────


def longest(response: str) -> float:
    return len(response)


@pytest.mark.parametrize(
    ("given", "called"), [(lambda group: group["score"].max(), "a lambda"), (longest, "the function longest")]
)
def test_a_function_is_no_metric_and_is_a_judge(turns: pl.DataFrame, given: Any, called: str) -> None:
    with pytest.raises(MetricError, match=f"^measure: mine= is {called}, not a metric; ") as caught:
        rw.measure(turns, mine=given)
    with pytest.raises(MetricError, match=f"^measure: {called}, not a metric; "):
        rw.measure(turns, given)
    expression, call = quoted(str(caught.value))
    scored = eval(call, {"rw": rw, "turns": turns, "function": longest})  # the sentence's own code
    assert scored["mine"].to_list() == turns["response"].str.len_chars().cast(pl.Float64).to_list()
    measured = rw.measure(turns, mine=eval(expression, {"pl": pl}))
    assert measured["mine"].to_list() == turns["score"].to_list()


@pytest.mark.integration
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("attack_success", r"mine='attack_success' is not a metric; .* such as `m.attack_success\(\)`"),
        (3, "mine=3 is not a metric"),
        (None, "mine=None is not a metric"),
        (m.success_within, r"mine=success_within is not a metric by itself .*; call it with its arguments"),
    ],
)
def test_what_is_no_metric_is_named(turns: pl.DataFrame, given: Any, says: str) -> None:
    with pytest.raises(MetricError, match=says):
        rw.measure(turns, mine=given)


@pytest.mark.integration
def test_a_metric_function_may_be_named(turns: pl.DataFrame) -> None:
    assert rw.measure(turns, mine=m.attack_success)["mine"].to_list() == turns["succeeded"].to_list()


def raises(prompt: str, response: str) -> bool:
    raise KeyError(response)


def in_words(prompt: str, response: str) -> str:
    return "YES" if response == "Sure" else "NO"


def mostly(prompt: str, response: str) -> Any:
    return True if response == "Sure" else "perhaps"


def silent(prompt: str, response: str) -> None:
    return None


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("judge", "says"),
    [
        (raises, "raises: 16 of 16 judgments failed and are null, the first one: KeyError: 'No'"),
        (
            in_words,
            "in_words: 16 of 16 judgments are no numbers, and null ('NO', 'YES'): return True, False or a number",
        ),
        (mostly, "mostly: 6 of 16 judgments are no numbers, and null ('perhaps'): return True, False or a number"),
        (silent, "silent: 16 of 16 judgments gave no verdict, and are null"),
    ],
)
def test_a_judge_that_gives_no_number_is_counted(turns: pl.DataFrame, judge: Any, says: str, capsys: Any) -> None:
    scored = rw.score(turns, judge, into="mine", progress=False)
    printed = [line for line in capsys.readouterr().err.splitlines() if "judgments" in line]
    assert len(printed) == 1
    assert printed[0].startswith(f"rollwise: {says}")
    assert scored["mine"].null_count() == int(re.findall(r"\d+", says)[0])
    assert rw.judge(turns, in_words, progress=False)["label"].to_list()[:2] == ["NO", "YES"]


def test_the_parameters_of_a_judge_are_columns(turns: pl.DataFrame) -> None:
    with pytest.raises(
        ArgumentError, match=r"reads r, which this table lacks; available: .*`def mine\(response, prompt\)"
    ):
        rw.score(turns, lambda p, r: True, progress=False)


@pytest.mark.integration
def test_one_judge_has_nothing_to_agree_with(turns: pl.DataFrame, capsys: Any) -> None:
    verdicts = rw.judge(turns, lambda response: response == "Sure", progress=False)
    assert rw.judges.agreement(verdicts).is_empty()
    assert (
        "agreement: there is one judge, and nothing to compare it with; give the truth in labels="
        in capsys.readouterr().err
    )
    labels = turns.select("rollout_id", label=pl.col("succeeded"))
    assert rw.judges.agreement(verdicts, labels, statistics="agreement")["estimate"].to_list() == [1.0]


# ── figures ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

OF_FRAMES = (
    "agreement", "attempts", "contrast", "curve", "forest", "heat_map", "incidence", "pareto", "profile", "reliability",
    "training", "trajectory",
)  # fmt: skip


@pytest.mark.integration
@pytest.mark.parametrize("name", OF_FRAMES)
def test_a_figure_names_the_call_that_makes_its_frame(turns: pl.DataFrame, name: str) -> None:
    draw = getattr(plots, name)
    with pytest.raises(
        ArgumentError, match=f"^{name}: this is not an? [A-Z]+ frame: it lacks .*; create one with `rw"
    ) as caught:
        draw(turns)
    call = quoted(str(caught.value))[-1]
    rollouts = rw.measure(turns.with_columns(train_step=pl.lit(1)), keep="train_step")
    verdicts = rw.judge(turns, lambda response: response == "Sure", progress=False)
    labels = turns.select("rollout_id", label=pl.col("succeeded"))
    names = {"rw": rw, "rollouts": rollouts, "turns": turns, "verdicts": verdicts, "labels": labels}
    made = eval(call, names)  # the sentence's own code
    # These need more than their default call: two groups, better ways, bins of confidence.
    if name not in {"heat_map", "pareto", "reliability", "trajectory"}:
        assert draw(made).alt


def test_an_option_that_a_figure_lacks_is_named(turns: pl.DataFrame) -> None:
    forest: Any = plots.forest
    distribution: Any = plots.distribution
    summary = rw.summarize(rw.measure(turns, m.attack_success()), by="target", metrics="attack_success")
    with pytest.raises(
        ArgumentError, match=r"^forest: there is no option xlabel; available: .*caption.*title; "
    ) as caught:
        forest(summary, xlabel="rate")
    plot = plots.forest(summary, title="Two targets")
    eval(quoted(str(caught.value))[-1], {"plot": plot})  # the sentence's own code
    assert plot.axes[0].get_xlabel() == "rate"
    with pytest.raises(
        ArgumentError, match=r"^distribution: metric is missing; pass it, `distribution\(..., metric=...\)`"
    ):
        distribution(rw.measure(turns))


# ── scores ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.integration
@pytest.mark.parametrize(
    ("cut", "successes"),
    [("<=2", 3), ("<= 2", 3), ("<2", 2), (">=2", 14), (">2", 13), (2, 14), ("<=2.5", 3), ("<=-1", 0)],
)
def test_a_score_on_either_side_may_be_the_success(tmp_path: Any, cut: Any, successes: int) -> None:
    path = tmp_path / "log.csv"
    pl.DataFrame(ROWS).rename({"score": "safety"}).drop("jailbroken").write_csv(path)
    names = {"score": "safety", "succeeded": cut}
    assert rw.read(path, names=names)["succeeded"].sum() == successes
    assert rw.scan(path, names=names).collect()["succeeded"].sum() == successes
    assert rw.turns(pl.read_csv(path), names=names)["succeeded"].sum() == successes


@pytest.mark.integration
def test_a_low_score_is_the_success_on_the_command_line_too(tmp_path: Any, capsys: Any) -> None:
    path = tmp_path / "log.csv"
    pl.DataFrame(ROWS).rename({"score": "safety"}).drop("jailbroken").write_csv(path)
    for value, says in (("succeeded:<=2", "3/16"), ("succeeded:>2", "13/16"), ("succeeded:2", "14/16")):
        arguments = ["summarize", str(path), "--column", "score=safety", "--value", value, "--metric", "attack_success"]
        with pytest.raises(SystemExit) as leaving:
            run([*arguments, "--format", "csv"])
        assert not leaving.value.code
        estimate = pl.read_csv(capsys.readouterr().out.encode()).filter(metric="attack_success", statistic="mean")
        successes, n = map(int, says.split("/"))
        assert estimate["estimate"].item() == successes / n
    with pytest.raises(SystemExit):
        run(["summarize", str(path), "--column", "succeeded=safety", "--value", "succeeded:<=2"])
    assert "--value 'succeeded:<=2' makes verdicts of `score`: write --column score=safety" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run(["summarize", str(path), "--value", "succeeded:low"])
    assert "or as --value 'succeeded:<=2' for one up to which" in capsys.readouterr().err


# ── labels in a second file ──────────────────────────────────────────────────────────────────────────────────────────────


def labels(tmp_path: Any, suffix: str, rows: list[dict[str, Any]]) -> Any:
    path = tmp_path / f"labels{suffix}"
    frame = pl.DataFrame(rows)
    writers: dict[str, Any] = {".csv": frame.write_csv, ".jsonl": frame.write_ndjson, ".parquet": frame.write_parquet}
    if suffix == ".json":
        path.write_text(json.dumps(rows))
    else:
        writers[suffix](path)
    return path


@pytest.mark.integration
@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".json", ".parquet"])
def test_a_file_of_labels_is_joined_by_one_line(tmp_path: Any, suffix: str, capsys: Any) -> None:
    turns = rw.turns([{name: row[name] for name in ("rollout_id", "goal", "prompt", "response")} for row in ROWS])
    path = labels(tmp_path, suffix, [{"sample": f"r{place}", "broken": place < 3} for place in (0, 1, 2, 3, 99)])
    with pytest.raises(ArgumentError, match=r'if `sample` does, say on=\{"rollout_id": "sample"\}'):
        rw.judges.join_labels(turns, path)
    joined = rw.judges.join_labels(turns, path, on={"rollout_id": "sample"})
    says = (
        "4 labels joined by rollout_id; 1 of no such turn (first: rollout_id 'r99'); "
        "12 turns without a label (first: rollout_id 'r4')"
    )
    assert capsys.readouterr().err.splitlines() == [f"rollwise: join_labels: {says}"]
    judged = rw.turns(joined.turns, names={"succeeded": "broken"})
    assert judged["succeeded"].to_list() == [True, True, True, False] + [None] * 12
    assert rw.measure(judged, m.attack_success())["attack_success"].sum() == 3


def test_labels_of_goals_and_of_whole_conversations(tmp_path: Any, capsys: Any) -> None:
    chats = [{"id": key, "messages": SAID, "goal": f"about {key}"} for key in ("p1", "p2")]
    path = tmp_path / "chats.jsonl"
    path.write_text("".join(json.dumps(chat) + "\n" for chat in chats))
    turns = rw.read(path)
    of_goals = labels(
        tmp_path, ".csv", [{"goal": "about p1", "verdict": "unsafe"}, {"goal": "about p2", "verdict": "safe"}]
    )
    of_ids = labels(tmp_path, ".jsonl", [{"id": "p1", "verdict": "unsafe"}, {"id": "p2", "verdict": "safe"}])
    for joined in (
        rw.judges.join_labels(turns, of_goals),
        rw.judges.join_labels(turns, of_ids, on={"rollout_id": "id"}),  # `rollout_id` is the run and this id
    ):
        assert capsys.readouterr().err == "", "nothing is left over"
        judged = rw.turns(joined.turns, names={"outcome": "verdict"})
        assert judged["outcome"].to_list() == ["success", "success", "failure", "failure"]
        assert judged["succeeded"].null_count() == 4, "no turn was judged by itself"


@pytest.mark.integration
def test_numbers_of_rows_are_no_ids_of_another_file(tmp_path: Any, capsys: Any) -> None:
    path = tmp_path / "chats.jsonl"
    path.write_text("".join(json.dumps({"messages": SAID}) + "\n" for _ in range(3)))
    of_rows = labels(tmp_path, ".csv", [{"rollout_id": place, "bad": True} for place in range(3)])
    assert rw.judges.join_labels(rw.read(path), of_rows).turns["bad"].null_count() == 6
    assert "0 labels joined by rollout_id; 3 of no such turn" in capsys.readouterr().err


def test_a_file_that_is_no_table_of_labels_is_named(turns: pl.DataFrame, tmp_path: Any) -> None:
    with pytest.raises(ReadError, match=r"nowhere.csv: no such file or folder"):
        rw.judges.join_labels(turns, tmp_path / "nowhere.csv")
    (tmp_path / "a.json").write_text('{"a": [')
    with pytest.raises(ReadError, match=r"a.json") as caught:
        rw.judges.join_labels(turns, tmp_path / "a.json")
    assert "collect" not in str(caught.value), "it has no such argument"
    with pytest.raises(ArgumentError, match="give them a column that the turns have, too"):
        rw.judges.join_labels(turns, [{"no": "zz", "label": 1}])
