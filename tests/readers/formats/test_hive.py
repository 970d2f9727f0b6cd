"""Parquet that leaves columns to the names of its folders, as Arrow, Polars, Spark and DuckDB write it."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

import rollwise as rw
from rollwise.errors import ReadError
from rollwise.readers.sources import hive

TURNS, _ = rw.simulate(goals=6, attempts=2, turns=3, seed=4)
KEY = ["rollout_id", "turn"]
WORDS = ["gpt-4", "a/b", "two words", "007", "7", "ü %", "=x", "C:*?", "\\", "..", "", None]


def some(count: int, **columns: Any) -> pl.DataFrame:
    """So many rollouts of one turn."""
    ids = [f"r{number:02}" for number in range(count)]
    return pl.DataFrame(
        {"rollout_id": ids, "turn": [1] * count, "response": ["yes"] * count, **columns},
        schema_overrides={"turn": pl.Int32},
    )


def put(folder: Path, *frames: pl.DataFrame) -> Path:
    """Files in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, frame in enumerate(frames):
        frame.write_parquet(folder / f"part-{number}.parquet")
    return folder


def both(paths: Any) -> pl.DataFrame:
    """What `read` gives, which is what `scan` gives, to the last column."""
    found, lazy = rw.read(paths), rw.scan(paths)
    assert isinstance(lazy, pl.LazyFrame)
    assert_frame_equal(lazy.collect(), found)
    return found


def by_arrow(frame: pl.DataFrame, base: Path, by: list[str]) -> None:
    """A data set as pyarrow writes it."""
    pyarrow.dataset.write_dataset(frame.to_arrow(), base, format="parquet", partitioning=by, partitioning_flavor="hive")


def by_polars(frame: pl.DataFrame, base: Path, by: list[str]) -> None:
    """A data set as Polars writes it."""
    frame.lazy().sink_parquet(pl.PartitionBy(base, key=by, include_key=False), mkdir=True)


@pytest.mark.integration
@pytest.mark.parametrize("write", [by_arrow, by_polars])
def test_columns_in_folder_names_are_facts(tmp_path: Path, write: Any) -> None:
    """Any text, null among it: what was divided by its columns is read as it was, lazily or not."""
    frame = some(len(WORDS), target=WORDS, attempt=pl.Series([1, 2] * 6, dtype=pl.Int32), split=["test"] * len(WORDS))
    write(frame, tmp_path / "base", ["target", "attempt", "split"])
    file = next((tmp_path / "base").rglob("*.parquet"))
    assert {"target", "attempt", "split"}.isdisjoint(pl.read_parquet_schema(file))
    assert_frame_equal(both(tmp_path / "base").select(frame.columns).sort(KEY), frame)


@pytest.mark.integration
def test_a_data_set_of_turns_is_read_as_before_it_was_divided(tmp_path: Path) -> None:
    """All columns of TURNS, rollouts of several turns."""
    by_arrow(TURNS, tmp_path / "base", ["target", "category"])
    found = both(tmp_path / "base").sort(KEY)
    assert_frame_equal(found.select(TURNS.columns), TURNS.sort(KEY), check_column_order=False)


@pytest.mark.integration
def test_a_file_says_the_same_however_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By itself, by any of its folders, from within one of them, through ``..``."""
    base = tmp_path / "base"
    inner = put(base / "target=gpt-4" / "split=test", some(2))
    expected = both(base)
    assert expected.select("target", "split").unique().rows() == [("gpt-4", "test")]
    for path in (base / "target=gpt-4", inner, inner / "part-0.parquet", base / "target=gpt-4" / ".." / inner):
        assert_frame_equal(both(path), expected)
    monkeypatch.chdir(inner)
    for name in (".", "part-0.parquet", "../split=test"):
        assert_frame_equal(both(name), expected)


@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    ("values", "dtype", "read"),
    [
        (["1", "2"], pl.Int64, [1, 2]),
        (["0", "0.7"], pl.Float64, [0.0, 0.7]),
        (["true", "false"], pl.Boolean, [True, False]),
        (["1", "a"], pl.String, ["1", "a"]),
        (["007", "7"], pl.String, ["007", "7"]),
        (["2024-01-01", "2024-01-02"], pl.String, ["2024-01-01", "2024-01-02"]),
        (["1", hive.NULL], pl.Int64, [1, None]),
        ([hive.NULL, hive.NULL], pl.String, [None, None]),
        (["", "a"], pl.String, ["", "a"]),
    ],
    ids=str,
)
def test_values_that_look_like_numbers_are_numbers(tmp_path: Path, values: list[str], dtype: Any, read: Any) -> None:
    """As in Polars, where all of them are; what would not come back as it was spelled is text, and so are dates, as in Arrow."""
    for number, value in enumerate(values):
        put(tmp_path / "base" / f"k={value}" / f"n={number}", some(2)[number : number + 1])
    found = both(tmp_path / "base").sort("rollout_id")
    assert found.schema["k"] == dtype
    assert found["k"].to_list() == read


def test_columns_of_turns_have_its_dtypes(tmp_path: Path) -> None:
    """A target called 7 is text, as are ids; an attempt is a number, solved a Boolean, an ending an Enum."""
    put(
        tmp_path / "rollout_id=07" / "target=7" / "attempt=02" / "solved=true" / "ending=budget",
        some(1).drop("rollout_id"),
    )
    found = both(tmp_path)
    names = ["rollout_id", "target", "attempt", "solved", "ending"]
    assert found.select(names).row(0) == ("07", "7", 2, True, "budget")
    assert found.select(names).schema == {name: rw.schema.TURNS.dtypes[name] for name in names}


@pytest.mark.integration
@pytest.mark.parametrize("values", [["1.0"], ["1.0", "2"]])
def test_whole_numbers_may_be_spelled_with_a_point(tmp_path: Path, values: list[str]) -> None:
    """As pandas divides by a column of whole numbers in which one is missing."""
    for number, value in enumerate(values):
        put(tmp_path / f"attempt={value}", some(2)[number : number + 1])
    assert both(tmp_path).sort("rollout_id")["attempt"].to_list() == [1, 2][: len(values)]


def test_a_value_that_is_no_such_fact_is_told(tmp_path: Path) -> None:
    """In the sentence that a column of a file gets."""
    put(tmp_path / "attempt=first", some(1))
    for verb in (rw.read, rw.scan):
        with pytest.raises(ReadError, match="column `attempt` of rollout 'r00' is 'first', not a whole number"):
            verb(tmp_path)


@pytest.mark.integration
@pytest.mark.parametrize("name", ["a=b=c", "=x", "k = 5", "run (k=5) again", "a==b", "[k=1]"])
def test_folders_that_merely_have_an_equals_sign_are_folders(tmp_path: Path, name: str) -> None:
    """Their files are read as they are; columns of other folders still count."""
    put(tmp_path / name / "deep", some(2))
    assert both(tmp_path).columns == both(put(tmp_path / "plain", some(2))).columns
    (tmp_path / "plain" / "part-0.parquet").unlink()
    put(tmp_path / name / "split=test", some(4)[2:])
    assert both(tmp_path).sort("rollout_id")["split"].to_list() == [None, None, "test", "test"]


@pytest.mark.integration
def test_a_column_in_file_and_folder_is_that_of_the_file(tmp_path: Path) -> None:
    """Where they agree, in the file's dtype; where it is null, the folder knows; a folder of no value says nothing."""
    put(tmp_path / "a" / "k=1", some(1, k=pl.Series([1], dtype=pl.Int16)))
    assert both(tmp_path / "a").schema["k"] == pl.Int16
    put(tmp_path / "b" / "k=01", some(1, k=["01"]))
    assert both(tmp_path / "b")["k"].to_list() == ["01"]
    put(tmp_path / "c" / "target=x", some(3, target=pl.Series([None] * 3, dtype=pl.String)))
    put(tmp_path / "c" / "target=y", some(9, target=[None, "y", None] * 3)[3:])
    found = both(tmp_path / "c").sort("rollout_id")
    assert found["target"].to_list() == ["x"] * 3 + ["y"] * 6
    put(tmp_path / "d" / f"target={hive.NULL}", some(1, target=["x"]))
    assert both(tmp_path / "d")["target"].to_list() == ["x"]
    put(tmp_path / "e" / "flag=True" / "half=0.50", some(2, flag=[True, True], half=[0.5, 0.5]))
    assert both(tmp_path / "e").select("flag", "half").rows() == [(True, 0.5)] * 2


@pytest.mark.parametrize(
    "column",
    [["x", "x"], ["gpt-4", "x"], [None, "x"], [1, 1], [["gpt-4"]] * 2],
    ids=str,
)
def test_a_file_that_contradicts_its_folder_is_told(tmp_path: Path, column: list[Any]) -> None:
    """File, column, both values, and what to do; collecting keeps the rest."""
    put(tmp_path / "target=gpt-4", some(2, target=column))
    put(tmp_path / "target=b", some(4)[2:])
    for verb in (rw.read, rw.scan):
        with pytest.raises(
            ReadError,
            match=r"part-0.parquet: field `target`: says .*, and its folder 'gpt-4'; correct the file, or rename the folder",
        ):
            verb(tmp_path)
    found, problems = rw.read(tmp_path, errors="collect")
    assert found["target"].to_list() == ["b", "b"]
    assert problems[0, "field"] == "target"


def test_folders_that_contradict_each_other_are_told(tmp_path: Path) -> None:
    """Which run it is nobody knows; said twice alike it is said once."""
    put(tmp_path / "k=1" / "k=2", some(1))
    for verb in (rw.read, rw.scan):
        with pytest.raises(ReadError, match="field `k`: is in folders of which one says '1' and another '2'; rename"):
            verb(tmp_path)
    put(tmp_path / "k=1" / "deep" / "k=1", some(2)[1:])
    assert both(tmp_path / "k=1" / "deep")["k"].to_list() == [1]
    found, _ = rw.read(tmp_path, errors="collect")
    assert found["rollout_id"].to_list() == ["r01"]


@pytest.mark.integration
def test_partitioned_and_plain_files_mix(tmp_path: Path) -> None:
    """What no folder says is null, or what the file says itself; other depths and other columns are no matter."""
    put(tmp_path, some(2))
    put(tmp_path / "split=test", some(4)[2:])
    put(tmp_path / "split=test" / "k=1", some(5, note=["n"] * 5)[4:])
    put(tmp_path / "other", some(6, split=["train"] * 6)[5:])
    found = both(tmp_path).sort("rollout_id")
    assert found.select("split", "k", "note").rows() == [
        (None, None, None),
        (None, None, None),
        ("test", None, None),
        ("test", None, None),
        ("test", 1, "n"),
        ("train", None, None),
    ]


def test_a_scan_leaves_alone_what_a_filter_excludes(tmp_path: Path) -> None:
    """By the names of the folders alone; what is read of the rest is what it was."""
    by_polars(TURNS, tmp_path / "base", ["target"])
    lazy = rw.scan(tmp_path / "base").filter(pl.col("target") == "base")
    for path in (tmp_path / "base" / "target=guarded").iterdir():
        path.write_bytes(b"not to be read")
    assert lazy.select(KEY).collect().sort(KEY).equals(TURNS.filter(pl.col("target") == "base").select(KEY).sort(KEY))


def test_names_of_columns_may_be_escaped_too(tmp_path: Path) -> None:
    """As `convert` escapes them."""
    put(tmp_path / "my%20col=a%20b" / f"{quote('ü/x', safe='')}=1", some(1))
    assert both(tmp_path).select("my col", "ü/x").row(0) == ("a b", 1)


def test_what_is_spelled_as_nobody_reads_it_is_read_alike(tmp_path: Path) -> None:
    """Bytes that are no text, a star, a percent sign: the folder decides the same for `scan` and `read`."""
    for number, value in enumerate(("%FF", "100%", "a*", "a+b")):
        put(tmp_path / f"target={value}", some(4)[number : number + 1])
    assert sorted(both(tmp_path)["target"]) == ["100%", "a*", "a+b", "\N{REPLACEMENT CHARACTER}"]


@pytest.mark.integration
def test_chats_have_the_columns_of_their_folders(tmp_path: Path) -> None:
    """Lists of messages, rows that are messages, lists of turns: facts and other columns, as if they stood in the file."""
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    put(tmp_path / "chats" / "model=gpt-4" / "attempt=2", pl.DataFrame({"messages": [messages]}))
    put(
        tmp_path / "rows" / "target=gpt-4",
        pl.DataFrame({"rollout_id": ["a"] * 2, "turn": [1, 2], **_columns(messages)}),
    )
    put(
        tmp_path / "turns" / "target=gpt-4",
        pl.DataFrame({"rollout_id": ["b"], "turns": [[{"prompt": "Hi", "response": "Hello"}]]}),
    )
    for name in ("chats", "rows", "turns"):
        assert both(tmp_path / name).select("target", "prompt", "response").rows() == [("gpt-4", "Hi", "Hello")]
    assert both(tmp_path / "chats").select("attempt").item() == 2


def _columns(records: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [record[name] for record in records] for name in records[0]}


@pytest.mark.integration
def test_only_parquet_leaves_columns_to_its_folders(tmp_path: Path) -> None:
    """JSON, CSV and the like say all themselves, wherever they lie."""
    (tmp_path / "target=x" / "target=y").mkdir(parents=True)
    some(1).write_csv(tmp_path / "target=x" / "target=y" / "a.csv")
    assert both(tmp_path)["target"].to_list() == [None]


@pytest.mark.integration
def test_a_data_set_is_kept_in_the_cache_with_its_columns(tmp_path: Path) -> None:
    """A folder that gets another name is another reading."""
    put(tmp_path / "base" / "target=a", some(1))
    for _ in range(2):
        assert rw.read(tmp_path / "base", cache=tmp_path / "cache")["target"].to_list() == ["a"]
    (tmp_path / "base" / "target=a").rename(tmp_path / "base" / "target=b")
    assert rw.read(tmp_path / "base", cache=tmp_path / "cache")["target"].to_list() == ["b"]


@pytest.mark.integration
def test_columns_narrow_what_is_read(tmp_path: Path) -> None:
    """Those of folders can be asked for, or left."""
    put(tmp_path / "target=a" / "k=1", some(1))
    assert rw.read(tmp_path, columns=["k", "target"]).rows() == [("r00", 1, 1, "a")]
    assert rw.read(tmp_path, columns=["response"]).columns == [*KEY, "response"]


@pytest.mark.integration
def test_what_others_keep_beside_a_data_set_is_no_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The footers of all files in one, the columns in another, a mark that all is written."""
    footers: list[Any] = []
    table = some(3, split=["a", "b", None]).to_arrow()
    pq.write_to_dataset(table, tmp_path, partition_cols=["split"], metadata_collector=footers)
    pq.write_metadata(table.drop(["split"]).schema, tmp_path / "_common_metadata")
    pq.write_metadata(table.drop(["split"]).schema, tmp_path / "_metadata", footers)
    (tmp_path / "_SUCCESS").touch()
    assert both(tmp_path).sort("rollout_id")["split"].to_list() == ["a", "b", None]
    assert capsys.readouterr().err == ""


LEFT = [
    "_temporary/0/_temporary/attempt_1_m_0/part-0.parquet",  # of a job of Spark's that died
    "_temporary/0/_temporary/attempt_1_m_0/.part-0.parquet.crc",
    "_delta_log/00000000000000000000.json",
    "_committed_81",
    "_started_81",
    "_old/part-0.parquet",
    ".part-0.parquet.crc",
    ".hive-staging_1/part-0.parquet",
    "part-0.parquet._COPYING_",
    "part-0.parquet.crc",
]


@pytest.mark.integration
@pytest.mark.parametrize("deep", ["", "target=a/_split=test"])
def test_what_spark_and_hadoop_pass_over_is_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], deep: str
) -> None:
    """Names that begin with _ or ., but for those of columns: half-written copies of rollouts are no second ones."""
    folder = tmp_path / deep
    put(folder, some(2))
    for name in LEFT:
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".parquet"):
            some(2).write_parquet(place)
        else:
            place.write_text('{"commitInfo": {}}')
    found = both(tmp_path)
    assert found["rollout_id"].to_list() == ["r00", "r01"]
    assert found.columns[-1] == ("_split" if deep else found.columns[-1])
    assert capsys.readouterr().err == ""
    assert rw.read(folder / "_old" / "part-0.parquet").height == 2  # who names it wants it


def test_a_file_that_was_not_finished_is_named(tmp_path: Path) -> None:
    """A download that broke off stands beside what is whole: it is listed, and no reason to read nothing."""
    put(tmp_path, some(2))
    (tmp_path / "b.parquet.part").write_bytes(b"PAR1 half a file")
    found, problems = rw.read(tmp_path, errors="collect")
    assert found.height == 2
    assert problems.rows() == [(str(tmp_path / "b.parquet.part"), None, None, "was not finished by its writer")]
    assert rw.read(tmp_path).height == rw.scan(tmp_path).collect().height == 2


def test_a_folder_that_only_a_dead_job_wrote_to_holds_nothing(tmp_path: Path) -> None:
    """It is not empty, and nothing in it counts."""
    put(tmp_path / "_temporary" / "0", some(2))
    for reading in (rw.read, rw.scan):
        with pytest.raises(ReadError, match="holds only hidden or unfinished files"):
            reading(tmp_path)


def test_logs_that_are_no_parquet_may_be_called_anything(tmp_path: Path) -> None:
    """Where no Parquet stands beside, a name says nothing: somebody's logs are not passed over without a word."""
    (tmp_path / "_runs").mkdir()
    for name in ("_runs/_a.csv", "b.csv"):
        (tmp_path / name).write_text(f"rollout_id,prompt\n{name},Hi\n")
    assert rw.read(tmp_path)["rollout_id"].to_list() == ["b.csv", "_runs/_a.csv"]


@pytest.mark.integration
def test_what_converts_reads_and_measures_takes_them(tmp_path: Path) -> None:
    """A data set of another tool into one of ours, by its columns, and back."""
    by_arrow(TURNS, tmp_path / "base", ["target"])
    out = rw.convert(rw.scan(tmp_path / "base"), tmp_path / "out", partition_by="target")
    assert both(out).sort(KEY).select(TURNS.columns).equals(TURNS.sort(KEY))
    rollouts = rw.measure(rw.scan(tmp_path / "base"), rw.metrics.attack_success()).collect()
    assert sorted(rollouts["target"].unique()) == ["base", "guarded"]


def test_a_fact_that_no_column_of_a_file_has_is_added() -> None:
    """The column of a name that the file has too keeps its values; a null agrees with the folder."""
    facts, values = pl.DataFrame({"k": [1], "n": [2]}), pl.DataFrame({"k": ["1", None]})
    assert hive.remaining(facts, values, {"k": "1", "n": "2"}).rows() == [("1", 2)]


def test_a_link_to_nothing_below_a_fact_costs_itself(tmp_path: Path) -> None:
    """It is a problem, and the other files are read."""
    folder = tmp_path / "target=a"
    folder.mkdir()
    pl.DataFrame({"rollout_id": ["x"], "turn": [1], "response": ["No."]}).write_parquet(folder / "a.parquet")
    (folder / "b.parquet").symlink_to(tmp_path / "gone.parquet")
    turns, problems = rw.read(tmp_path, errors="collect")
    assert turns["target"].to_list() == ["a"]
    reason = f"is a link to {tmp_path / 'gone.parquet'}, which is not there: mount its disk, or remove the link"
    assert problems["reason"].to_list() == [reason]
