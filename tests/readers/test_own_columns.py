"""Columns of people: read where their meaning is beyond doubt, pointed out where it is likely, and never mistaken for prompts."""

import json
import random
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rollwise as rw
from rollwise import schema
from rollwise.cli import run
from rollwise.errors import ReadError, SchemaError

CHAT = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    """A stranger's turns: own names, verdicts in words, some turns and some conversations without a verdict."""
    chance = random.Random(30)
    turns: list[dict[str, Any]] = []
    places = [
        (model, attack, goal) for model in ("m-1", "m-2") for attack in ("tap", "pair", "gcg") for goal in range(4)
    ]
    for number, (model, attack, goal) in enumerate(places):
        unjudged = number % 9 == 0
        for turn in range(chance.choice([2, 3, 4])):
            word = "JAILBREAK" if chance.random() < 0.2 else "REFUSED"
            turns.append({
                "conv": f"conv-{number:03d}", "model_under_test": model, "technique": attack, "behavior": f"goal {goal}",
                "trial": number % 2 + 1, "user_msg": f"try {turn}", "bot_msg": "Sure" if word == "JAILBREAK" else "No",
                "verdict": None if unjudged or chance.random() < 0.1 else word,
            })  # fmt: skip
    return turns


@pytest.fixture
def files(rows: list[dict[str, Any]], tmp_path: Path) -> dict[str, Path]:
    """The same turns as a table in three kinds of files, and as chats."""
    frame = pl.DataFrame(rows, infer_schema_length=None)
    frame.write_csv(tmp_path / "turns.csv")
    frame.write_parquet(tmp_path / "turns.parquet")
    frame.write_ndjson(tmp_path / "turns.jsonl")
    records = []
    for group in frame.partition_by("conv", maintain_order=True):
        first = group.row(0, named=True)
        dialogue = [
            message
            for row in group.rows(named=True)
            for message in (
                {"speaker": "attacker", "text": row["user_msg"]},
                {"speaker": "assistant", "text": row["bot_msg"], "verdict": row["verdict"]},
            )
        ]
        facts = {name: first[name] for name in ("model_under_test", "technique", "behavior", "trial")}
        records.append({"id": first["conv"], **facts, "dialogue": dialogue})
    (tmp_path / "chats.jsonl").write_text("\n".join(map(json.dumps, records)))
    return {path.name: path for path in sorted(tmp_path.iterdir())}


NAMES = {"rollout_id": "conv", "prompt": "user_msg", "response": "bot_msg", "goal": "behavior", "attempt": "trial"}


def wanted(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Return what every reading of the rows must be."""
    verdicts = [None if row["verdict"] is None else row["verdict"] == "JAILBREAK" for row in rows]
    columns = {"target": "model_under_test", "attack": "technique", "goal": "behavior", "response": "bot_msg"}
    frame = pl.DataFrame({name: [row[column] for row in rows] for name, column in columns.items()})
    return frame.with_columns(succeeded=pl.Series(verdicts, dtype=pl.Boolean))


@pytest.mark.integration
def test_a_strangers_turns_are_read_alike_from_everywhere(
    rows: list[dict[str, Any]], files: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Of files, lazily, and from frames, with and without a name for each column."""
    whole = NAMES | {"target": "model_under_test", "attack": "technique", "succeeded": "verdict"}
    tables = [path for name, path in files.items() if name.startswith("turns")]
    for names in (NAMES, whole):
        frame = pl.DataFrame(rows, infer_schema_length=None)
        readings = [
            *(rw.read(path, names=names) for path in tables),
            *(rw.scan(path, names=names).collect() for path in tables),
            *(rw.turns(data, names=names).lazy().collect() for data in (frame, frame.lazy(), frame.to_pandas(), rows)),
            rw.read(files["chats.jsonl"], names={"goal": "behavior"}),
        ]
        for turns in readings:
            assert_frame_equal(turns.select("target", "attack", "goal", "response", "succeeded"), wanted(rows))
    assert "read `model_under_test` as `target`, `technique` as `attack`" in capsys.readouterr().err


def test_one_line_says_what_was_understood_and_another_what_is_unused(
    files: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Once for all files; what a name says already is not repeated."""
    rw.read(files["chats.jsonl"])
    understood = capsys.readouterr().err.strip()
    for words in ("`verdict` (JAILBREAK, REFUSED) as `succeeded`", "`behavior` as `goal`", "`trial` as `attempt`"):
        assert words in understood
    assert "\n" not in understood
    rw.read(files["chats.jsonl"], names={"goal": "behavior", "attempt": "trial"})
    assert "behavior" not in capsys.readouterr().err
    rows = [{"rollout_id": name, "response": "x", "technique": "tap", "attack_method": name} for name in "ab"]
    rw.turns(rows)  # two names for one, which differ
    line = 'column `technique` (tap) may be the attack: map it with names={"attack": "technique"}'
    assert line in capsys.readouterr().err


@pytest.mark.integration
def test_the_line_is_said_by_every_reading(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Lazily, from a cache that knows the files already, and where problems are collected."""
    path, kept = files["chats.jsonl"], tmp_path / "kept"
    rw.read(path)
    line = capsys.readouterr().err
    for reading in (
        lambda: rw.scan(path),
        lambda: rw.read(path, cache=kept),
        lambda: rw.read(path, cache=kept),
        lambda: rw.scan(path, cache=kept),
        lambda: rw.read(path, errors="collect"),
    ):
        reading()
        assert capsys.readouterr().err == line


@pytest.mark.integration
def test_a_mapping_wins_over_a_guess(files: dict[str, Path]) -> None:
    """Another column may be the target, and the guess then says nothing."""
    turns = rw.read(files["turns.csv"], names=NAMES | {"target": "technique"})
    assert set(turns["target"]) == {"tap", "pair", "gcg"}
    assert set(turns["model_under_test"]) == {"m-1", "m-2"}
    mapped = rw.read(files["chats.jsonl"], names={"succeeded": ("verdict", {"JAILBREAK": False, "REFUSED": True})})
    guessed = rw.read(files["chats.jsonl"])
    assert mapped["succeeded"].equals(~guessed["succeeded"])


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", ["turns.csv", "turns.parquet", "turns.jsonl"])
def test_a_table_of_turns_is_not_called_prompts(
    files: dict[str, Path], capsys: pytest.CaptureFixture[str], name: str, tmp_path: Path
) -> None:
    """What a row is is asked, and the line to type works once that is answered, in Python and in a shell."""
    with pytest.raises(ReadError) as refused:
        rw.read(files[name])
    message = str(refused.value)
    assert "prompts" not in message
    assert "`conv` repeats with other texts" in message
    names = eval(message.partition("names=")[2].removesuffix(")"))
    assert names == {"rollout_id": "?"}
    assert rw.read(files[name], names={"rollout_id": "conv"})["attempt"].unique().sort().to_list() == [1, 2]
    with pytest.raises(SystemExit):
        run(["read", str(files[name]), "--out", str(tmp_path / "a.parquet")])
    words = shlex.split(capsys.readouterr().err.strip().rpartition("try: rollwise ")[2])
    with pytest.raises(SystemExit) as leaving:
        run([word.replace("=?", "=conv") for word in words])
    assert leaving.value.code == 0


@pytest.mark.integration
def test_messages_stay_one_line_however_wide_a_table_is() -> None:
    """Line breaks in names and values, and hundreds of columns."""
    row = {f"column\n{number}": "a\nb" * 50 for number in range(200)}
    with pytest.raises(SchemaError, match="and 181 more; name them") as refused:
        rw.turns([{"conv": 1, **row}])
    assert len(str(refused.value).splitlines()) == 1
    assert len(str(refused.value)) < 2000


def test_a_frame_of_turns_is_told_the_same(rows: list[dict[str, Any]]) -> None:
    """`rw.turns` lists the columns too."""
    with pytest.raises(SchemaError, match=r"no column `rollout_id`: its columns are `conv` \(conv-000, ") as refused:
        rw.turns(rows)
    names = eval(str(refused.value).partition("as in names=")[2])
    assert rw.turns(rows, names=names)["rollout_id"].n_unique() == 24


@pytest.mark.parametrize(
    ("record", "names"),
    [
        (
            {"conv": 1, "log": [{"who": "user", "words": "Hi"}, {"who": "assistant", "words": "Yo"}]},
            {"messages": "log", "role": "who", "content": "words"},
        ),
        ({"log": CHAT}, {"messages": "log"}),
    ],
)
def test_chats_under_other_names_are_read(tmp_path: Path, record: dict[str, Any], names: dict[str, str]) -> None:
    """As they are when their names are given."""
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(record))
    found, named = rw.read(path), rw.read(path, names=names)
    assert found.select("turn", "prompt", "response").rows() == named.select("turn", "prompt", "response").rows()
    assert found.height == 1


def test_messages_in_rows_are_conversations(tmp_path: Path) -> None:
    """A column called behavior beside them makes them no prompts."""
    rows = [{"conv": 1, "speaker": role, "text": "Hi", "behavior": "g"} for role in ("user", "assistant")]
    path = tmp_path / "a.csv"
    pl.DataFrame(rows).write_csv(path)
    assert rw.read(path).select("goal", "prompt", "response").rows() == [("g", "Hi", "Hi")]


@pytest.mark.integration
def test_turns_with_verdicts_are_not_called_labels(tmp_path: Path) -> None:
    """Neither messages in rows, nor prompts and answers under other names, beside an id with the right one."""
    path = tmp_path / "a.csv"
    messages = [
        ("user", "Hi", None),
        ("assistant", "No", "REFUSED"),
        ("user", "Hi", None),
        ("assistant", "Sure", "JAILBREAK"),
    ]
    rows = [{"rollout_id": "a", "role": role, "content": text, "verdict": word} for role, text, word in messages]
    pl.DataFrame(rows).write_csv(path)
    assert rw.read(path)["succeeded"].to_list() == [False, True]
    pl.DataFrame([{"rollout_id": "a", "user_msg": "Hi", "bot_msg": "No", "verdict": "REFUSED"}]).write_csv(path)
    assert rw.read(path).select("prompt", "response", "outcome").row(0) == ("Hi", "No", "failure")
    pl.DataFrame([{"rollout_id": "a", "turn": 1, "label": "unsafe"}]).write_csv(path)
    with pytest.raises(ReadError, match="holds labels, not rollouts"):
        rw.read(path)


def test_sets_of_prompts_stay_sets_of_prompts(tmp_path: Path) -> None:
    """Nothing was answered in them."""
    path = tmp_path / "a.csv"
    pl.DataFrame([{"id": 1, "behavior": "g", "target": "Sure", "category": "x"}]).write_csv(path)
    with pytest.raises(ReadError, match="holds prompts, not rollouts"):
        rw.read(path)
    assert rw.rollout.read_prompts(path)["goal"].to_list() == ["g"]


# ── what is not beyond doubt ──────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_a_verdict_repeated_on_every_turn_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """Each turn would be a success, the first included; it may be joined from rollouts."""
    rows = [{"rollout_id": name, "response": "x", "jailbroken": name == "a"} for name in "aabb"]
    assert rw.turns(rows)["succeeded"].null_count() == 4
    assert 'names={"outcome": "jailbroken"}' in capsys.readouterr().err
    rows[0]["jailbroken"] = False
    assert rw.turns(rows)["succeeded"].to_list() == [False, True, False, False]
    # The pieces of a rollout need not be neighbors.
    assert rw.turns([rows[0], rows[2], rows[1], rows[3]])["succeeded"].to_list() == [False, True, False, False]


@pytest.mark.integration
@pytest.mark.parametrize(
    "columns",
    [
        {"technique": ["a", "b"]},
        {"technique": [1, 1]},
        {"technique": ["a", "a"], "attack": ["b", "b"]},
        {"technique": ["a", "a"], "attack_method": ["b", "b"]},
        {"technique": [None, None]},
        {"jailbroken": ["yes", "perhaps"]},
        {"label": ["yes", "no"]},
        {"question_label": ["harmful", "harmless"]},
        {"jailbroken": ["yes", "no"], "succeeded": [False, True]},
    ],
    ids=str,
)
def test_what_is_in_doubt_stays_as_it_is(columns: dict[str, list[Any]]) -> None:
    """A fact that changes within a rollout, a number, two candidates, a label among others that is unknown, our own column."""
    rows = [
        {"rollout_id": "a", "response": "x", **{name: column[i] for name, column in columns.items()}} for i in (0, 1)
    ]
    turns = rw.turns(rows)
    for name, column in columns.items():
        assert turns[name].to_list() == column


@pytest.mark.integration
def test_two_columns_that_agree_are_one_verdict() -> None:
    """The first is read; the other stays."""
    rows = [{"rollout_id": name, "response": "x", "jailbroken": name == "a", "verdict": name == "a"} for name in "ab"]
    words = [row | {"verdict": "JAILBREAK" if row["verdict"] else "REFUSED"} for row in rows]
    assert rw.turns(words)["succeeded"].to_list() == [True, False]
    words[0]["verdict"] = "REFUSED"
    assert rw.turns(words)["succeeded"].null_count() == 2


@pytest.mark.integration
def test_tables_that_rollwise_wrote_are_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was read stays what it was, in every kind of file, however the extra columns are called."""
    turns = rw.turns([{"rollout_id": name, "response": "x"} for name in "ab"])
    turns = turns.with_columns(jailbroken=pl.lit(value=True), technique=pl.lit("tap"), status=pl.lit("failed"))
    turns = turns.with_columns(source=pl.lit("native"))
    capsys.readouterr()
    assert rw.turns(turns).equals(turns)
    for suffix in ("parquet", "jsonl", "csv"):
        path = rw.write(turns, tmp_path / f"turns.{suffix}")
        assert_frame_equal(rw.read(path), turns)
        assert_frame_equal(rw.scan(path).collect(), turns)
    assert "read `" not in capsys.readouterr().err
    assert "PARQUET SCAN" in rw.scan(tmp_path / "turns.parquet").explain().upper()


@pytest.mark.integration
def test_only_columns_that_are_wanted_decide_the_same(files: dict[str, Path]) -> None:
    """Fields that are left out for memory do not change what is read."""
    whole = rw.read(files["turns.jsonl"], names=NAMES)
    for columns in (["succeeded"], ["target", "attack"], ["succeeded", "ending", "error"]):
        part = rw.read(files["turns.jsonl"], names=NAMES, columns=columns)
        assert_frame_equal(part, whole.select("rollout_id", "turn", *columns))


# ── unused columns ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.integration
def test_unused_columns_are_a_frame() -> None:
    """Each with examples, what it probably is, and the names to type; checked against its schema."""
    rows = [
        {
            "rollout_id": name,
            "response": "x",
            "technique": f"m{name}",
            "attack_method": "g",
            "safe": safe,
            "note": name,
            "is_correct": "?",
        }
        for name, safe in zip("abc", (True, False, None), strict=True)
    ]
    unused = rw.readers.unused_columns(rw.turns(rows))
    assert schema.check(unused, schema.UNUSED).rows() == [
        ("technique", "ma, mb", "attack", 'names={"attack": "technique"}'),
        ("safe", "False, True", "succeeded", 'names={"succeeded": ("safe", {"false": "?", "true": "?"})}'),
        ("is_correct", "?", "solved", 'names={"solved": ("is_correct", {"?": "?"})}'),
    ]
    assert rw.turns(rows, names={"attack": "technique"})["attack"].to_list() == ["ma", "mb", "mc"]
    safe = {"succeeded": ("safe", {"false": True, "true": False})}
    assert rw.turns(rows, names=safe)["succeeded"].to_list() == [False, True, None]


def test_nothing_is_unused_where_all_is_said() -> None:
    """Nor in an empty table, nor beside logs of a tool, whose reader knows its columns."""
    row = {"rollout_id": "a", "response": "x", "technique": "tap", "attack_method": "pair", "verdict": "fail"}
    turns = rw.turns([row])
    assert rw.readers.unused_columns(turns)["column"].to_list() == ["technique", "verdict"]
    assert rw.readers.unused_columns(turns.with_columns(source=pl.lit("garak"))).is_empty()
    assert rw.readers.unused_columns(turns.with_columns(attack=pl.lit("t"), succeeded=pl.lit(value=True))).is_empty()
    assert schema.check(rw.readers.unused_columns(turns.clear()), schema.UNUSED).is_empty()


def test_a_verdict_that_was_named_is_the_only_one(tmp_path: Path) -> None:
    """Another column on the attack, which would outweigh it, is not read beside it; a fact that was named is not filled up."""
    path = tmp_path / "a.jsonl"
    said = [CHAT[0], CHAT[1] | {"grade": "yes"}]
    records = [
        {"messages": said, "jailbroken": False, "model_under_test": "m", "by": None},
        {"messages": said, "by": "x"},
    ]
    path.write_text("\n".join(map(json.dumps, records)))
    turns = rw.read(path, names={"succeeded": "grade", "target": "by"})
    assert turns.select("succeeded", "outcome", "target").rows() == [(True, None, None), (True, None, "x")]
    rows = [{"rollout_id": name, "response": "x", "grade": None, "jailbroken": True} for name in "ab"]
    assert rw.turns(rows, names={"succeeded": "grade"})["succeeded"].null_count() == 2


@pytest.mark.integration
def test_chats_of_sharegpt_may_be_attacks(tmp_path: Path) -> None:
    """Its reader calls them benign, as corpora are; what a column says of an attack counts."""
    path = tmp_path / "a.json"
    said = [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}]
    extras: list[dict[str, Any]] = [{"technique": "tap", "jailbroken": "no"}, {"jailbroken": "yes"}, {}]
    path.write_text(json.dumps([{"id": str(i), "conversations": said, **extra} for i, extra in enumerate(extras)]))
    turns = rw.read(path)
    assert turns.select("source", "attack", "outcome").rows() == [
        ("sharegpt", "tap", "failure"),
        ("sharegpt", None, "success"),
        ("sharegpt", "none", None),
    ]
    named = rw.read(path, names={"succeeded": "jailbroken", "attack": "technique"})
    assert named.select("attack", "outcome").rows() == turns.select("attack", "outcome").rows()


@pytest.mark.integration
@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_the_columns_of_a_frame_are_not_looked_through_for_each_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    """A record with an id as each key has thousands: what is asked of all columns at once is asked a few times, not for each."""
    rows = pl.DataFrame({"rollout_id": ["a"], "prompt": ["p"], "response": ["r"], **{f"k{n}": [n] for n in range(300)}})
    path = tmp_path / f"log.{suffix}"
    path.write_bytes(rows.write_csv().encode() if suffix == "csv" else rows.write_ndjson().encode())
    asked: Counter[str] = Counter()
    for name in ("schema", "columns"):
        original = getattr(pl.DataFrame, name).fget

        def counting(frame: pl.DataFrame, name: str = name, original: Any = original) -> Any:
            asked[name] += frame.width > 100
            return original(frame)

        monkeypatch.setattr(pl.DataFrame, name, property(counting))
    assert rw.read(path).width >= 300
    assert asked["schema"] < 60
    assert asked["columns"] < 60


@pytest.mark.integration
@pytest.mark.parametrize(
    ("successes", "attacks", "is_said"),
    [((0,), (0, 1, 2), "0 successes"), ((0, 4), (0, 1, 2), "1 success"), ((), (), ""), ((0,), (0, 1, 2, 3, 4), "")],
    ids=["some benign", "one of them succeeded", "all benign", "none benign"],
)
def test_cases_that_are_no_attacks_are_said(tmp_path, capsys, successes, attacks, is_said):
    """They are no attempts, whatever their verdicts say; where none or all are, the column says nothing."""
    rows = [
        {"rollout_id": f"r{k}", "response": "x", "jailbroken": k in successes, "is_attack": k in attacks}
        for k in range(5)
    ]
    path = tmp_path / "log.csv"
    pl.DataFrame(rows).write_csv(path)
    rw.read(path)
    sentence = (
        "rollwise: `is_attack` is false for 2 of 5 rollouts, which are no attacks then: "
        f"their verdicts ({is_said}) do not count, and are kept as `benign_verdict`\n"
    )
    assert (sentence in capsys.readouterr().err) == bool(is_said)
