"""In a table without goals or tasks, rollouts with the same prompt have it as their goal, so that they are no independent ones."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rollwise as rw
from tests.readers.any_file.stranger import typed

# Of eight prompts, four are easy, and two models fail at one of these each.
ROWS = [
    {
        "model": model,
        "prompt": f"How is thing {number} done?",
        "response": f"Answer of {model}.",
        "jailbroken": int(number < 4 and number != "abc".index(model)),
    }
    for number in range(8)
    for model in "abc"
]
SAID = "rollouts with the same prompt as one `goal` (8 goals in 24 rollouts)"


def written(folder: Path, rows: list[dict[str, Any]], name: str = "results.csv") -> Path:
    path = folder / name
    if path.suffix == ".csv":
        pl.DataFrame(rows).write_csv(path)
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def units(turns: pl.DataFrame) -> tuple[int, int]:
    """The numbers of different goals and tasks."""
    return turns["goal"].drop_nulls().n_unique(), turns["task"].drop_nulls().n_unique()


@pytest.mark.parametrize("name", ["results.csv", "results.jsonl"])
def test_equal_prompts_are_one_goal(tmp_path, capsys, name):
    """The numbers are those of the line that names the prompts as goals: 9 of 24 over 8 goals, wider than over 24 rollouts."""
    path = written(tmp_path, ROWS, name)
    turns = rw.read(path)
    assert SAID in capsys.readouterr().err
    assert units(turns) == (8, 0)
    named = rw.read(path, names={"goal": "prompt"})
    rates = [rw.summarize(rw.measure(frame), metrics="attack_success") for frame in (turns, named)]
    assert rates[0].select("n", "n_clusters", "estimate").row(0) == (24, 8, 9 / 24)
    assert rates[0].select("low", "high").equals(rates[1].select("low", "high"))
    alone = rw.summarize(rw.measure(turns), metrics="attack_success", cluster=None)
    assert rates[0]["high"][0] - rates[0]["low"][0] > 1.2 * (alone["high"][0] - alone["low"][0])
    assert rw.contrast(rw.measure(turns), of="target", metrics="attack_success")["n_pairs"].unique().to_list() == [8]


def test_a_file_for_each_model_has_the_prompts_of_all(tmp_path):
    for model in "abc":
        written(tmp_path, [row for row in ROWS if row["model"] == model], f"{model}.csv")
    assert units(rw.read(tmp_path)) == (8, 0)


def test_solved_tasks_have_tasks(tmp_path):
    rows = [{"correct" if name == "jailbroken" else name: value for name, value in row.items()} for row in ROWS]
    assert units(rw.read(written(tmp_path, rows))) == (0, 8)


@pytest.mark.parametrize(
    "rows",
    [
        ROWS[::3],  # each prompt once
        [*ROWS[::3], ROWS[1]],  # one of them twice
        [row | {"prompt": "Hello"} for row in ROWS],
        [row | {"prompt": "   "} for row in ROWS],
    ],
    ids=["different", "one repeats", "all the same", "blank"],
)
def test_prompts_that_say_nothing_of_units_give_none(tmp_path, rows):
    assert units(rw.read(written(tmp_path, rows, "results.jsonl"))) == (0, 0)


@pytest.mark.parametrize("blank", [None, "", " "])
def test_a_rollout_without_a_prompt_has_a_goal_of_its_own(tmp_path, blank):
    rows = [row | {"prompt": blank} if number == 5 else row for number, row in enumerate(ROWS)]
    turns = rw.read(written(tmp_path, rows, "results.jsonl"))
    assert units(turns) == (8, 0)
    assert turns["goal"].null_count() == 1
    assert rw.summarize(rw.measure(turns), metrics="attack_success")["n_clusters"].item() == 9


@pytest.mark.parametrize("unit", ["goal", "task", "prompt_id"])
def test_what_a_file_states_stays(tmp_path, unit):
    rows = [row | {unit: f"{unit} {number % 4}"} for number, row in enumerate(ROWS)]
    turns = rw.read(written(tmp_path, rows))
    assert sorted(units(turns)) == [0, 4]


def test_what_the_user_states_stays(tmp_path):
    path = written(tmp_path, ROWS)
    assert rw.read(path, goal="x")["goal"].unique().to_list() == ["x"]
    assert rw.read(path, task="x").select("goal", "task").unique().rows() == [(None, "x")]
    cache = tmp_path / "cache"
    stated: list[dict[str, Any]] = [{}, {"goal": "x"}, {}, {"task": "x"}]
    assert [units(rw.read(path, cache=cache, **facts)) for facts in stated] == [(8, 0), (1, 0), (8, 0), (0, 1)]


def test_every_way_to_read_gives_the_same(tmp_path):
    path = written(tmp_path, ROWS)
    turns = rw.read(path)
    assert rw.scan(path).collect()["goal"].equals(turns["goal"])
    assert rw.read(path, columns=["goal"])["goal"].equals(turns["goal"])
    assert rw.readers.read_rollouts(path)["goal"].equals(turns["goal"])
    assert rw.turns(pl.DataFrame(ROWS))["goal"].equals(turns["goal"])
    named = pl.DataFrame(ROWS).select(
        rollout_id=pl.int_range(pl.len()).cast(pl.String), turn=1, target="model", prompt="prompt",
        response="response", succeeded=pl.col("jailbroken") == 1,
    )  # fmt: skip
    table = tmp_path / "named.parquet"
    named.write_parquet(table)
    lazy = rw.scan(table).collect(), rw.turns(named.lazy()).collect(), rw.turns(named), rw.read(table)
    assert [frame["goal"].to_list() for frame in lazy] == [turns["goal"].to_list()] * 4


def test_what_rollwise_wrote_without_goals_has_none(tmp_path):
    """Someone took them out."""
    out = tmp_path / "turns.parquet"
    rw.read(written(tmp_path, ROWS)).with_columns(goal=pl.lit(None, pl.String)).write_parquet(out)
    assert units(rw.read(out)) == units(rw.scan(out).collect()) == (0, 0)


@pytest.mark.parametrize(("tasks", "expected"), [(6, (6, 0)), (3, (0, 0))])
def test_chats_that_begin_with_the_same_task_share_it(tmp_path, tasks, expected):
    """Few openings that repeat may be greetings."""
    chats = [
        {
            "model": model,
            "jailbroken": number % 2 == 0,
            "^m.*$": "a name that Polars takes for a pattern",
            "messages": [
                {"role": role, "content": f"{role} {number} {turn if turn or role == 'assistant' else ''} {model * turn}"}
                for turn in range(2)
                for role in ("user", "assistant")
            ],
        }
        for number in range(tasks)
        for model in "ab"
    ]  # fmt: skip
    turns = rw.read(written(tmp_path, chats, "chats.jsonl"), names={"outcome": "jailbroken"})
    assert turns.height == 4 * tasks
    assert units(turns) == expected
    assert "^m.*$" in turns.columns
    assert turns.group_by("rollout_id").agg(pl.col("goal").n_unique())["goal"].unique().to_list() == [1]


def test_the_table_of_columns_says_so_and_a_kept_mapping_reads_the_same(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path, ROWS)
    shown = typed(["map", path.name, "--write", "mine.yml"])
    assert shown.code == 0
    assert "prompt, goal" in shown.text
    assert rw.read(path, mapping="mine.yml")["goal"].equals(rw.read(path)["goal"])
