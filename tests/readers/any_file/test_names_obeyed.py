"""A name is an order: whatever column is named for a column of TURNS is read as it, or the call is refused."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from rollwise.errors import RollwiseError
from rollwise.readers.names import NAMES
from rollwise.readers.registry import FORMATS
from rollwise.readers.roles.columns import CUSTOM
from rollwise.schema import TURNS

FIXTURES = Path(__file__).parents[1] / "fixtures"
PLAIN = [name for name in TURNS.names if not TURNS.dtypes[name].is_nested()]
TOOL = FIXTURES / "verl"
TOTALS = {"cost_usd": "total_cost_usd", "seconds": "total_seconds"}  # what a record states is of the rollout


def values_of(name: str) -> list[Any]:
    """Two values that the column of TURNS may have."""
    dtype = TURNS.dtypes[name]
    if isinstance(dtype, pl.Enum):
        return [dtype.categories[0], dtype.categories[-1]]
    if dtype == pl.Boolean:
        return [True, False]
    if dtype == pl.String:
        return [f"{name} of a", f"{name} of b"]
    return [1, 2] if dtype.is_integer() else [0.25, 0.5]


def records(name: str) -> Iterator[dict[str, Any]]:
    """Two rows of a turn each, with the values under a name of the user's."""
    for letter, value in zip("ab", values_of(name), strict=True):
        row = {"rollout_id": letter, "goal": f"goal {letter}", "prompt": f"ask {letter}", "response": f"say {letter}"}
        yield {column: cell for column, cell in row.items() if column != name} | {"mine": value}


def without_id(name: str) -> list[dict[str, Any]]:
    """The same, without the column of ids."""
    return [{column: cell for column, cell in row.items() if column != "rollout_id"} for row in records(name)]


def lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write JSON lines."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def with_id(name: str, folder: Path) -> Path:
    """CSV with a column of ids."""
    pl.DataFrame([*records(name)]).write_csv(folder / "id.csv")
    return folder / "id.csv"


def plain(name: str, folder: Path) -> Path:
    """CSV without one: each row is a rollout."""
    pl.DataFrame(without_id(name)).write_csv(folder / "plain.csv")
    return folder / "plain.csv"


def parquet(name: str, folder: Path) -> Path:
    """Parquet, which `scan` does not load."""
    pl.DataFrame([*records(name)]).write_parquet(folder / "id.parquet")
    return folder / "id.parquet"


def json_lines(name: str, folder: Path) -> Path:
    """A line for each turn."""
    return lines(folder / "id.jsonl", [*records(name)])


def chat(name: str, folder: Path) -> Path:
    """A line for each chat, with the value in the record."""
    rows = []
    for row in records(name):
        said = [{"role": "user", "content": "ask"}, {"role": "assistant", "content": "say"}]
        rows.append({"messages": said, "mine": row["mine"]})
    return lines(folder / "chat.jsonl", rows)


def nested(name: str, folder: Path) -> Path:
    """A line for each rollout, with the value in the record."""
    rows = [
        {"rollout_id": letter, "turns": [{"prompt": "ask", "response": "say"}], "mine": row["mine"]}
        for letter, row in zip("ab", records(name), strict=True)
    ]
    return lines(folder / "nested.jsonl", rows)


def in_turns(name: str, folder: Path) -> Path:
    """A line for each rollout, with the value in its turn."""
    rows = []
    for letter, row in zip("ab", records(name), strict=True):
        turn = {column: cell for column, cell in row.items() if column not in {"rollout_id", "goal"}}
        rows.append({"rollout_id": letter, "turns": [turn]})
    return lines(folder / "turns.jsonl", rows)


def wrapped(name: str, folder: Path) -> Path:
    """A list of records in an object, which a mapping reads."""
    rows = [{column: cell for column, cell in row.items() if column != "rollout_id"} for row in records(name)]
    (folder / "wrapped.json").write_text(json.dumps({"model": "parrot", "results": rows}))
    return folder / "wrapped.json"


def rounds(name: str, folder: Path) -> Path:
    """Records with several turns each, and the value in the record."""
    asked = [{"ask": f"please do it, {number}", "reply": f"no, not that one, {number}"} for number in range(2)]
    rows = [{"rounds": asked, "mine": row["mine"]} for row in records(name)]
    (folder / "rounds.json").write_text(json.dumps({"model": "parrot", "runs": rows}))
    return folder / "rounds.json"


Written = Callable[[str, Path], Path]
SHAPES: tuple[Written, ...] = (with_id, plain, parquet, json_lines, chat, nested, in_turns, wrapped, rounds)
VERBS = (rw.read, lambda *paths, **options: rw.scan(*paths, **options).collect())


def is_obeyed(turns: pl.DataFrame, name: str) -> bool:
    """Whether the values of the user are where they were named for; a verdict of a record is its outcome."""
    wanted = [*map(str, values_of(name))]
    turns = turns.unique("rollout_id", maintain_order=True)
    found = [*map(str, turns[name].to_list())]
    if name == "succeeded" and turns[name].null_count() == turns.height:
        wanted, found = ["success", "failure"], turns["outcome"].to_list()
    if name in TOTALS and turns[name].null_count() == turns.height:
        found = [*map(str, turns[TOTALS[name]].to_list())]
    if name in {"rollout_id", "run"}:  # within its file
        found = [value.rpartition("/")[2] for value in found]
    return sorted(wanted) == sorted(found)


def tried(call: Callable[[], pl.DataFrame]) -> pl.DataFrame | str:
    """What a call returns, or the sentence that refuses it."""
    try:
        return call()
    except RollwiseError as error:
        return str(error)


def check(call: Callable[[], pl.DataFrame], name: str) -> None:
    """Check that the name was obeyed, or refused by a sentence with one of the two names."""
    turns = tried(call)
    if isinstance(turns, str):
        assert "mine" in turns or name in turns or "a tree needs" in turns
    else:
        assert is_obeyed(turns, name)


@pytest.mark.integration
@pytest.mark.parametrize("verb", VERBS, ids=["read", "scan"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", PLAIN)
def test_a_name_is_obeyed_or_refused(
    name: str, shape: Written, verb: Callable[..., pl.DataFrame], tmp_path: Path
) -> None:
    """Never ignored: for every column of TURNS and every shape of the user's own files."""
    check(lambda: verb(shape(name, tmp_path), names={name: "mine"}), name)


@pytest.mark.integration
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", PLAIN)
def test_a_name_that_is_its_own_is_an_order_as_well(name: str, shape: Written, tmp_path: Path) -> None:
    """`names={"reward": "reward"}` on chats did nothing, and said nothing."""
    path = shape(name, tmp_path)
    text = path.read_bytes()
    if path.suffix == ".parquet":
        pl.read_parquet(path).rename({"mine": name}).write_parquet(path)
    else:
        path.write_bytes(text.replace(b"mine", name.encode()))
    check(lambda: rw.read(path, names={name: name}), name)


@pytest.mark.integration
@pytest.mark.parametrize("shape", SHAPES)
def test_a_column_that_is_nowhere_is_refused_under_its_own_name_too(shape: Written, tmp_path: Path) -> None:
    """As under any other."""
    with pytest.raises(RollwiseError, match="there is no column 'category'"):
        rw.read(shape("target", tmp_path), names={"category": "category"})


@pytest.mark.integration
@pytest.mark.parametrize("name", [name for name in PLAIN if name not in {"rollout_id", "turn"}])
def test_rows_in_memory_obey_as_well(name: str) -> None:
    """`rw.turns` of a list and of a frame."""
    for rows in ([*records(name)], pl.DataFrame([*records(name)])):
        read: Callable[[], pl.DataFrame] = partial(rw.turns, rows, names={name: "mine"})  # type: ignore[assignment]
        check(read, name)


@pytest.mark.integration
@pytest.mark.parametrize("name", PLAIN)
def test_a_log_of_a_tool_obeys_or_refuses(name: str, tmp_path: Path) -> None:
    """Its own facts win, and that is said."""
    path = next(iter(sorted(TOOL.rglob("*.jsonl"))))
    rows = [json.loads(line) | {"mine": values_of(name)[0]} for line in path.read_text().splitlines()]
    lines(tmp_path / path.name, rows)
    turns = tried(lambda: rw.read(tmp_path / path.name, names={name: "mine"}))
    if isinstance(turns, str):
        assert name in turns
    else:
        assert set(map(str, turns[name])) == {str(values_of(name)[0])}


@pytest.mark.integration
@pytest.mark.parametrize("shape", SHAPES)
def test_the_run_of_the_user_replaces_one_made_of_the_file(shape: Written, tmp_path: Path) -> None:
    """Or two months could not be compared."""
    assert set(rw.read(shape("target", tmp_path), run="last")["run"]) == {"last"}


REWARDED = [
    {
        "prompt_id": f"q{number % 2}",
        "prompt": "p",
        "completion": "c",
        "reward": number % 2,
        "correct": number % 2 == 1,
        "llm": "m",
    }
    for number in range(4)
]


@pytest.mark.integration
@pytest.mark.parametrize("names", [{"task": "prompt_id"}, {"task": "prompt_id", "solved": "correct", "target": "llm"}])
def test_a_name_does_not_make_a_file_a_log_of_a_tool(names: dict[str, str], tmp_path: Path) -> None:
    """Rows with `prompt`, `completion`, `reward` and a `task` are a log of verifiers, but not those of the user."""
    path = lines(tmp_path / "rewards.jsonl", REWARDED)
    turns = rw.read(path, names=names)
    assert set(turns["source"]) == {"native"}
    assert turns["task"].to_list() == ["q0", "q1", "q0", "q1"]
    assert turns["solved"].to_list() == [False, True, False, True]
    assert turns.drop("source", "run", "rollout_id").equals(
        rw.turns(REWARDED, names=names).drop("source", "run", "rollout_id")
    )


def tool_lines() -> Iterator[tuple[Path, str]]:
    """Fixtures of tools in JSON lines, each with a name of TURNS that its records have."""
    for form in FORMATS:
        for path in sorted((FIXTURES / form.name).rglob("*.jsonl")) if form.name not in CUSTOM else ():
            first = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
            for name in NAMES:
                if isinstance(first, dict) and name in first:
                    yield path, name


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("path", "name"), [*tool_lines()], ids=lambda value: value.name if isinstance(value, Path) else value
)
def test_no_file_of_another_shape_becomes_a_tools_by_a_name(path: Path, name: str, tmp_path: Path) -> None:
    """A log whose field has another name is recognized as the tool's without the user's names, or never."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    mine = [{("mine" if field == name else field): value for field, value in row.items()} for row in rows]
    file = lines(tmp_path / path.name, mine)
    turns = tried(lambda: rw.read(file, names={name: "mine"}))
    if not isinstance(turns, str) and not set(turns["source"]) <= CUSTOM:
        assert set(rw.read(file)["source"]) == set(turns["source"])


def test_whose_success_it_is_changes_what_is_open_and_else_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`of` answers where a column leaves it open; where none does, one line says that it changed nothing."""
    rows = [{"rollout_id": str(number), "model": "m", "success": number < 2} for number in range(6)]
    path = lines(tmp_path / "open.jsonl", rows)
    won = [True, True, *[False] * 4]
    for whose, metric in (("attack", rw.metrics.attack_success()), ("task", rw.metrics.task_success())):
        assert rw.measure(rw.read(path, names={"of": whose}), x=metric).sort("rollout_id")["x"].to_list() == won
        assert "changed nothing" not in capsys.readouterr().err
    plain_rows = lines(tmp_path / "said.jsonl", [row | {"jailbroken": True} for row in records("target")])
    rw.read(plain_rows, names={"of": "task"})
    assert 'names={"of": "task"} changed nothing: no column leaves open' in capsys.readouterr().err


def test_a_path_of_records_is_taken_or_refused(tmp_path: Path) -> None:
    """Where rows are the records, there is nothing to find."""
    assert rw.read(wrapped("target", tmp_path), names={"records": "results[*]"}).height == 2
    with pytest.raises(RollwiseError, match=r"lists of records are at `\.`, `results\[\*\]`"):
        rw.read(wrapped("target", tmp_path), names={"records": "nowhere[*]"})
    with pytest.raises(RollwiseError, match="read as native, which needs no path of records; leave it out"):
        rw.read(with_id("target", tmp_path), names={"records": "results[*]"})
