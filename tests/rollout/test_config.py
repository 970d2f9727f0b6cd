"""Rolling out from a file: what it says is what runs, and what is wrong in it is named."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rollwise import schema
from rollwise.cli import run as command
from rollwise.errors import ArgumentError, ReadError, RollwiseError
from rollwise.judges import AttackSuccess, Groundedness
from rollwise.rollout import Below, ChatSampler, Graph, Node, Precision, RolloutError
from rollwise.rollout.config import evaluator_of, load, rule_of

CONFIG = """
sampler:
  use: simulated
  options: {hazard: 0.1, turns: 4, goals: 20, error: 0.02}
seeds: 60
metrics: [attack_success, time_to_success, total_reward]
run: {max_concurrency: 4}
store: store
out: results
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "rollout.yaml"
    path.write_text(text)
    return path


def call(*words: object) -> int:
    """The exit code of the command."""
    with pytest.raises(SystemExit) as leaving:
        command([str(word) for word in words])
    return int(leaving.value.code or 0)


def greet(seed: Any) -> Graph[str, str]:
    """A sampler of one's own: one polite turn."""
    return Graph("", [Node("", f"Hello {seed}", "Hi", 0.5)])


@pytest.mark.integration
def test_the_command_rolls_out_and_writes_frames(tmp_path: Path, capsys) -> None:
    """Sampler, seeds, metrics and store come from the file; results are frames in the folder it names."""
    assert call("rollout", "--config_file", write(tmp_path, CONFIG)) == 0
    out = tmp_path / "results"
    assert capsys.readouterr().out == f"{out}\n"
    rollouts = schema.check(pl.read_parquet(out / "rollouts.parquet"), schema.ROLLOUTS)
    assert rollouts.height == 60
    assert {"attack_success", "time_to_success", "total_reward"} <= set(rollouts.columns)
    schema.check(pl.read_parquet(out / "turns.parquet"), schema.TURNS)
    assert sorted(path.name for path in out.iterdir()) == [
        "metrics.json", "per_turn.csv", "rollouts.parquet", "summary.parquet", "turns.parquet",
    ]  # fmt: skip


def test_a_second_call_resumes_and_gives_the_same(tmp_path: Path, capsys) -> None:
    """What is in the store is not rolled out again, which is said, and the results are the same bytes."""
    path = write(tmp_path, CONFIG.replace("max_concurrency: 4", "max_concurrency: 4, on_error: keep"))
    assert call("rollout", "--config_file", path) == 0
    assert "store" not in capsys.readouterr().err
    first = (tmp_path / "results" / "metrics.json").read_bytes()
    assert call("rollout", "--config_file", path) == 2  # the folder is there
    assert call("rollout", "--config_file", path, "--overwrite") == 0
    told = f"rollwise: all 60 rollouts were in the store {tmp_path / 'store'} already"
    assert told in (said := capsys.readouterr().err)
    assert "; nothing was run\n" in said
    assert (tmp_path / "results" / "metrics.json").read_bytes() == first


@pytest.mark.integration
def test_a_repaired_server_is_asked_again_by_the_same_command(tmp_path: Path, capsys, monkeypatch) -> None:
    """A 503 was the outcome of that rollout for ever, with exit code 0 and "nothing was run"."""
    (tmp_path / "server.py").write_text(
        "from pathlib import Path\n"
        "from rollwise.rollout import Graph, Node\n"
        "def answer(seed):\n"
        f"    if seed == 1 and Path({str(tmp_path / 'down')!r}).exists(): raise RuntimeError('503')\n"
        "    return Graph('', [Node('', 'Hi', 'Hello', 0.5)])\n"
        "answer.configuration = {'server': 1}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    path = write(tmp_path, "sampler: {use: 'server:answer'}\nseeds: 4\nstore: store\nout: results\n")
    (tmp_path / "down").touch()
    assert call("rollout", "--config_file", path) == 0
    said = capsys.readouterr().err
    assert "rollwise: 4 rollouts, 1 error\n" in said
    assert said.endswith("column `error`; the same command tries them again (with on_error: keep it does not)\n")
    (tmp_path / "down").unlink()
    assert call("rollout", "--config_file", path, "--overwrite") == 0
    assert capsys.readouterr().err == (
        f"rollwise: of 4 rollouts, 3 were in the store {tmp_path / 'store'} already; 1 was run again after an error\n"
        "rollwise: 4 rollouts, 0 errors\n"
    )


@pytest.mark.integration
@pytest.mark.parametrize(("error", "code", "says"), [(1.0, 1, "6 rollouts, 6 errors"), (0.3, 0, "60 rollouts")])
def test_errors_are_told_and_nothing_but_errors_is_a_failure(
    tmp_path: Path, capsys, error: float, code: int, says: str
) -> None:
    """The first message is named, and where the others are; without one rollout the exit code is 1, the files stand."""
    n = 6 if error == 1 else 60
    text = f"sampler: {{use: simulated, options: {{error: {error}}}}}\nseeds: {n}\nrun: {{on_error: record}}\nout: results\n"
    assert call("rollout", "--config_file", write(tmp_path, text)) == code
    captured = capsys.readouterr()
    kept = pl.read_parquet(tmp_path / "results" / "rollouts.parquet")["error"].drop_nulls()
    assert says in captured.err
    assert f"the first error: {kept[0]}; all are in {tmp_path / 'results' / 'rollouts.parquet'}" in captured.err
    assert captured.out == f"{tmp_path / 'results'}\n"


@pytest.mark.parametrize(
    ("given", "seeds"),
    [("3", [0, 1, 2]), ("[0, hello]", [0, "hello"]), ("goals.txt", ["one goal", "another"]), ("goals.json", [7, "x"])],
)
def test_seeds_are_a_number_a_list_or_a_file(tmp_path: Path, given: str, seeds: list) -> None:
    """Seed 0 is a seed; files are seen from the folder of the configuration."""
    (tmp_path / "goals.txt").write_text("one goal\n\nanother\n")
    (tmp_path / "goals.json").write_text('[7, "x"]')
    evaluator = evaluator_of(load(write(tmp_path, f"sampler: {{use: simulated}}\nseeds: {given}\n")))
    assert list(evaluator.seeds) == seeds


@pytest.mark.integration
def test_a_sampler_of_ones_own_is_found_by_its_place(tmp_path: Path, monkeypatch) -> None:
    """`package.module:name` may be a function, or a class with options."""
    (tmp_path / "mine.py").write_text(
        "from rollwise.rollout import Graph, Node\n"
        "class Polite:\n"
        "    def __init__(self, word): self.word = word\n"
        "    def eval_rollout(self, seed): return Graph('', [Node('', f'{self.word} {seed}', 'Hi', 0.5)])\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    text = "sampler: {use: 'mine:Polite', options: {word: Good day}}\nseeds: [a, b]\n"
    evaluator = evaluator_of(load(write(tmp_path, text)))
    evaluator.evaluate(progress=False)
    assert evaluator.turns["prompt"].to_list() == ["Good day a", "Good day b"]


def test_rules_are_built_from_the_file(tmp_path: Path) -> None:
    """Precision, below and above, each with its own entry."""
    head = "sampler: {use: simulated}\nseeds: 9\nuntil: "
    assert rule_of(load(write(tmp_path, head + "{rule: precision, half_width: 0.03}")).until) == Precision(
        "attack_success", 0.03
    )
    assert rule_of(load(write(tmp_path, head + "{rule: below, threshold: 1e-2}")).until) == Below(
        "attack_success", 0.01
    )
    assert rule_of(None) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("seeds: 3\n", "rollout.yaml lacks the key `sampler`; add it"),
        ("sampler: {use: simulated}\nseds: 3\n", "seeds"),
        (
            "sampler: {use: simulated}\nseeds: 3\nstroe: x\n",
            "rollout.yaml, line 3: `stroe` is unknown; did you mean `store`?",
        ),
        ("sampler: {use: simulated}\nseeds: 0\n", "line 2: `seeds` is 0"),
        ("sampler: {use: simulated}\nseeds: nowhere.txt\n", "nowhere.txt cannot be read"),
        ("sampler: {use: simulated}\nseeds: 3\nrun: {max_concurrency: 0}\n", "max_concurrency"),
        ("sampler: {use: simulated}\nseeds: 3\nrun: {timeout: soon}\n", "timeout"),
        ("sampler: {use: simulated, options: {hazzard: 1}}\nseeds: 3\n", "hazzard"),
        ("sampler: {use: simulated}\nseeds: 3\nmetrics: [attack_sucess]\n", "attack_sucess"),
        ("sampler: {use: simulated}\nseeds: 3\nuntil: {rule: below}\n", "threshold"),
        ("sampler: {use: nowhere}\nseeds: 3\n", "package.module:name"),
        ("sampler: {use: 'no.where:x'}\nseeds: 3\n", "cannot be imported"),
        (
            "sampler: {use: chat, options: {attacker: {model: a, base_url: 'http://localhost:1/v1'}}}\nseeds: 3\n",
            "`target`",
        ),
        ("sampler: [\n", "is not valid YAML"),
        ("", "holds no entries"),
        ("- a\n", "holds no entries"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, capsys, text: str, says: str) -> None:
    """One sentence with the entry, exit code 2, nothing written."""
    path = write(tmp_path, text)
    with pytest.raises(RollwiseError, match=says):
        _ = rule_of(load(path).until), evaluator_of(load(path))
    assert call("rollout", "--config_file", path) == 2
    captured = capsys.readouterr()
    assert says in captured.err
    assert "Traceback" not in captured.err
    assert [entry.name for entry in tmp_path.iterdir()] == ["rollout.yaml"]


def test_a_model_may_be_the_judge(tmp_path: Path) -> None:
    """Its options are those of attacker and target; it is asked with the prompt and the goal, and its error is the judge's."""
    text = """
sampler:
  use: chat
  options:
    attacker: {model: a, base_url: 'http://localhost:1/v1'}
    target: {model: t, base_url: 'http://localhost:1/v1'}
    judge: {model: j, base_url: 'http://localhost:1/v1', unsigned: accept}
    goals: [say yes]
seeds: 1
"""
    judge = evaluator_of(load(write(tmp_path, text))).sampler.configuration["judge"]
    assert (judge["model"]["model"], judge["unsigned"]) == ("j", "accept")
    heard: list[str] = []

    def model(messages: Any) -> str:
        heard.append(messages[-1]["content"])
        return '{"score": 1}' if "Yes" in heard[-1] else "no score"

    def sampler(answer: str, **options: Any) -> ChatSampler:
        judge = AttackSuccess(model, unsigned="accept", max_retries=0)
        return ChatSampler(lambda _: "Please", lambda _: answer, judge, turns=1, **options)

    rollout = sampler("Yes").rollout("say yes")
    assert (rollout.outcome, rollout.turns[0].reward) == ("success", 1.0)
    assert "say yes" in heard[0]
    assert "Please" in heard[0]
    with pytest.raises(RolloutError, match="the judge failed in turn 1"):
        sampler("Perhaps").rollout("say yes")
    with pytest.raises(ArgumentError, match="reads contexts, and a rollout has a prompt, a response and a goal"):
        ChatSampler(lambda _: "", lambda _: "", Groundedness(model))


def test_home_is_known_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No shell reads ~ there, and a folder of that name would be a trap; what no path can hold is a mistake with its line."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    file = tmp_path / "rollout.yaml"
    file.write_text("sampler: {use: simulated}\nseeds: 1\nstore: ~/store\nout: ~/out\n")
    config = load(file)
    assert (config.store, config.out) == (tmp_path / "home" / "store", tmp_path / "home" / "out")
    file.write_text('sampler: {use: simulated}\nseeds: 1\nout: "a\\0b"\n')
    with pytest.raises(ReadError, match=r"line 3: `out` is 'a\\x00b', but .* contains a null character"):
        load(file)
