"""`doctor`: every call that it calls valid runs and finds something, and what it blocks is blocked for a reason."""

import numpy as np
import polars as pl
import pytest

import rollwise as rw
from rollwise import metrics as m
from rollwise import schema
from rollwise.errors import SchemaError


def simulated(**options) -> pl.DataFrame:
    turns, _ = rw.simulate(goals=12, attempts=4, turns=5, seed=1, **options)
    return turns


def stopped() -> pl.DataFrame:
    """Attempts that stop at the first success, in one turn each."""
    rng = np.random.default_rng(0)
    rows = []
    for goal in range(40):
        for attempt in range(1, 7):
            won = bool(rng.random() < 0.4)
            rows.append((f"{goal}-{attempt}", f"g{goal}", attempt, "success" if won else "failure", won))
            if won:
                break
    names = ["rollout_id", "goal", "attempt", "outcome", "succeeded"]
    made = pl.DataFrame(rows, schema=names, orient="row").with_columns(turn=pl.lit(1, dtype=pl.Int32))
    return made.cast({"outcome": schema.OUTCOMES, "attempt": pl.Int32})


def trained() -> pl.DataFrame:
    return pl.concat(
        [
            simulated().with_columns(
                pl.concat_str("rollout_id", pl.lit(f"@{step}")).alias("rollout_id"), train_step=pl.lit(step)
            )
            for step in (0, 50)
        ]
    )


def branching() -> pl.DataFrame:
    rows = [
        {"rollout_id": tree, "node_id": f"{tree}{name}", "parent_id": parent and f"{tree}{parent}", "turn": depth, "goal": tree,
         "response": "no", "succeeded": name == "d" and tree != "z"}
        for tree in "xyz"
        for name, parent, depth in (("a", None, 1), ("b", "a", 2), ("c", "a", 2), ("d", "c", 3))
    ]  # fmt: skip
    return pl.DataFrame(rows).cast({"turn": pl.Int32})


TABLES = {
    "simulated": simulated,
    "two targets": lambda: simulated(targets={"base": 0.1, "it's": 0.02}),
    "partially judged": lambda: simulated().with_columns(
        succeeded=pl.when(pl.int_range(pl.len()) % 7 > 0).then("succeeded"), outcome=pl.lit(None, dtype=schema.OUTCOMES)
    ),
    "stopped": stopped,
    "training": trained,
    "tree": branching,
    "calls": lambda: simulated().with_columns(
        target_call=pl.col("turn") * 2, cost_usd=pl.lit(0.01), seconds=pl.lit(1.5)
    ),
    "refusals": lambda: simulated().with_columns(refused=~pl.col("succeeded")),
}


def run(call: str, turns: pl.DataFrame) -> pl.DataFrame:
    frame = eval(call, {"rw": rw, "m": m, "turns": turns})
    assert isinstance(frame, pl.DataFrame)
    return frame


def finds_something(turns: pl.DataFrame) -> pl.DataFrame:
    """Run every valid call; each has at least one number."""
    found = schema.check(rw.doctor(turns), schema.DOCTOR)
    for row in found.rows(named=True):
        assert row["valid"] or (row["reason"] and row["call"] is None)
        if row["valid"]:
            frame = run(row["call"], turns)
            numbers = [name for name in ("estimate", "low", "difference", "goals", "passed") if name in frame.columns]
            assert any(frame[name].null_count() < frame.height for name in numbers), row["call"]
    return found


@pytest.mark.integration
@pytest.mark.parametrize("name", TABLES)
def test_every_valid_call_runs(name: str) -> None:
    """Whatever the table, the calls that are offered run as they stand and find a number."""
    assert finds_something(TABLES[name]())["valid"].any()


@pytest.mark.integration
@pytest.mark.parametrize(
    ("path", "valid", "blocked"),
    [
        ("tau_bench/gpt-4o-airline.json", "success in all of k attempts", "attack success rate"),
        ("jailbreakbench", "attack success rate", "hazard by turn"),
        ("agentdojo_drift", "task success rate", "attack success by turn"),
        ("inspect/log-sets", "success at least once in k attempts", "attack success rate"),
        ("garak", "attack success rate", "refusal rate"),
    ],
)
def test_real_logs(shared, path: str, valid: str, blocked: str) -> None:
    """On logs of other tools too; each has what it is known to have, and lacks what it lacks."""
    turns, _ = rw.read(shared / path, errors="collect")
    found = finds_something(turns)
    assert found.filter(analysis=valid)["valid"].item()
    assert not found.filter(analysis=blocked)["valid"].item()


def reason(turns: pl.DataFrame, analysis: str) -> str:
    return rw.doctor(turns).filter(analysis=analysis)["reason"].item() or ""


@pytest.mark.integration
def test_what_blocks_an_analysis() -> None:
    """The traps of the tables, each named."""
    turns = simulated()
    whole = turns.with_columns(succeeded=pl.lit(None, dtype=pl.Boolean))
    assert "verdicts describe whole rollouts" in reason(whole, "attack success by turn")
    unjudged = whole.with_columns(outcome=pl.lit(None, dtype=schema.OUTCOMES))
    assert "has a verdict; judge the turns with `rw.score" in reason(unjudged, "attack success rate")
    own = unjudged.drop("true_succeeded").with_columns(odd=pl.lit(None, dtype=pl.Boolean))
    labeled = own.with_columns(jailbroken=turns["succeeded"])
    why = reason(labeled, "attack success rate")
    assert why.endswith(
        'or, if `jailbroken` holds verdicts, say so: `rw.turns(turns, names={"succeeded": "jailbroken"})`'
    )
    assert rw.measure(rw.turns(labeled, names={"succeeded": "jailbroken"}))["attack_success"].any()
    assert "attempts stopped at the first success, so none could" in reason(stopped(), "success in all of k attempts")
    assert "Kaplan-Meier" in reason(stopped(), "success at least once in k attempts")
    once = turns.filter(pl.col("attempt") == 1)
    assert "no goal was attempted twice" in reason(once, "forecast at more attempts")
    few = turns.filter(pl.col("goal").is_in(turns["goal"].unique().sort()[:5]))
    assert "5 goals are too few" in reason(few, "forecast at more attempts")
    assert "have no verdict: the interval covers both outcomes of each" in reason(
        TABLES["partially judged"](), "attack success rate"
    )
    assert "rollouts without a verdict count neither for nor against" in reason(
        TABLES["partially judged"](), "release gate"
    )
    one = turns.filter(pl.col("goal") == turns["goal"][0])
    assert "all of one goal: a rate, but no interval" in reason(one, "attack success rate")
    prompts = one.with_columns(uuid=pl.col("rollout_id"))
    assert "no interval; its prompts differ, so cluster='uuid' has" in reason(prompts, "attack success rate")
    assert "no goal is named" in reason(turns.with_columns(goal=pl.lit(None, dtype=pl.String)), "attack success rate")


def test_an_empty_table_allows_nothing() -> None:
    """Without rollouts every analysis is blocked, in a sentence; a table of rollouts is refused."""
    found = rw.doctor(schema.empty(schema.TURNS))
    assert not found["valid"].any()
    assert found["reason"].null_count() == 0
    with pytest.raises(SchemaError, match="doctor: column `turn` is missing"):
        rw.doctor(rw.measure(simulated()))


@pytest.mark.integration
def test_the_order_of_rows_changes_nothing():
    """Only one target was judged, whatever stands first in the file; and a baseline is what most goals are shared with."""
    rows: list[dict[str, object]] = [
        {"rollout_id": f"{name}{i}", "target": target, "attack": "x", "goal": f"g{i}", "turn": turn, "response": "no"}
        | {"succeeded": False if target == "new" else None, "ending": "budget"}
        for i in range(8)
        for target, name in (("old", "z"), ("new", "a"))
        for turn in (1, 2)
    ]
    frame = pl.DataFrame(rows)
    assert rw.doctor(rw.turns(frame)).equals(rw.doctor(rw.turns(frame.sort("rollout_id", "turn"))))
    judged = frame.with_columns(succeeded=pl.lit(value=False))
    alone = judged.head(2).with_columns(rollout_id=pl.lit("b"), target=pl.lit("aaa"), goal=pl.lit("its own"))
    calls = rw.doctor(rw.turns(pl.concat([judged, alone])))["call"].drop_nulls().to_list()
    assert {call.split("baseline=")[1].split(",")[0].rstrip(")") for call in calls if "baseline=" in call} == {"'new'"}


def rewarded() -> pl.DataFrame:
    """What a trainer dumps: rewards by step, and no verdict."""
    rows = [
        (f"{step}-{task}-{n}", step, f"t{task}", float(task + step > 3 + n))
        for step in (1, 2)
        for task in range(6)
        for n in (0, 1)
    ]
    table = pl.DataFrame(rows, schema=["rollout_id", "step", "task", "reward"], orient="row")
    return rw.turns(table.with_columns(attack=pl.lit("none"), response=pl.lit("4")))


@pytest.mark.integration
def test_rewards_by_step_need_no_verdict() -> None:
    """Dumps of trainers hold rewards alone: the call that follows them over the steps is given, and runs."""
    turns = rewarded()
    row = rw.doctor(turns).row(by_predicate=pl.col("analysis") == "rates by step of training", named=True)
    assert (row["valid"], row["reason"]) == (True, "no rollout has a verdict: the rewards are followed")
    trained = eval(row["call"], {"rw": rw, "m": m, "turns": turns})
    assert trained.select("metric", "step").rows() == [("total_reward", 1.0), ("total_reward", 2.0)]
    named = turns.rename({"reward": "score_exact"})
    call = rw.doctor(named).filter(analysis="rates by step of training")["call"].item()
    assert eval(call, {"rw": rw, "m": m, "turns": named})["metric"].unique().to_list() == ["final_score_exact"]
    bare = turns.drop("reward")
    assert reason(bare, "rates by step of training") == "no rollout has a verdict, and no turn a reward or a score"
