"""The gallery: each plot with the lines that draw it. `generate.py` runs them and keeps the pictures."""

SETUP = """\
import polars as pl
import rollwise as rw
from rollwise import metrics as m

targets = {"base": 0.10, "guarded": 0.03}
turns, _ = rw.simulate(
    targets=targets,
    attacks={"roleplay": 1.5, "encoding": 1},
    goals=40,
    attempts=4,
    turns=8,
    seed=1,
)
rollouts = rw.measure(
    turns,
    m.attack_success(),
    m.time_to_success(),
    m.spent_to_success("tokens"),
    worst=m.highest("score"),
)
"""

PLOTS = {
    "Real jailbreak rates": (
        "rates",
        """\
published = rw.measure(rw.read("data/jailbreakbench"), m.attack_success())
rates = rw.summarize(published, by=["target", "attack"], metrics="attack_success")
plot = rw.plots.forest(rates)
""",
    ),
    "Attack success by turn": (
        "curve",
        """\
curve = rw.curve(rollouts, by=["target", "attack"])
plot = rw.plots.curve(curve)
""",
    ),
    "Attack success by tokens spent": (
        "curve_tokens",
        """\
spent = rw.curve(rollouts, by="target", axis="tokens")
plot = rw.plots.curve(spent)
""",
    ),
    "How rollouts end": (
        "incidence",
        """\
endings = rw.curve(rollouts, by="target", kind="incidence")
plot = rw.plots.incidence(endings)
""",
    ),
    "Rates with intervals": (
        "forest",
        """\
levels = rw.summarize(
    rollouts, by=["target", "attack"], metrics="attack_success", level=(0.5, 0.95)
)
plot = rw.plots.forest(levels)
""",
    ),
    "Rates of two factors": (
        "heat_map",
        """\
cells = rw.summarize(
    rollouts, by=["category", "attack"], metrics="attack_success", margins=True
)
plot = rw.plots.heat_map(cells, rows="category", columns="attack")
""",
    ),
    "Differences from a baseline": (
        "contrast",
        """\
difference = rw.contrast(
    rollouts, of="target", baseline="base", by="attack", metrics="attack_success"
)
plot = rw.plots.contrast(difference)
""",
    ),
    "Ranks, and what cannot be told apart": (
        "ranks",
        """\
published = rw.measure(rw.read("data/jailbreakbench"), m.attack_success())
ranks = rw.rank(published, of="target", metric="attack_success")
plot = rw.plots.ranks(ranks)
""",
    ),
    "Repeated attempts": (
        "attempts",
        """\
attempts = rw.attempts(rollouts, by="target").filter(kind="asr@k")
plot = rw.plots.attempts(attempts)
""",
    ),
    "A few goals always, or all goals now and then": (
        "profile",
        """\
profile = rw.comparisons.profile(rollouts, by="target")
plot = rw.plots.profile(profile)
""",
    ),
    "Distribution of a score": (
        "distribution",
        """\
plot = rw.plots.distribution(rollouts, metric="worst", by="target")
""",
    ),
    "The score around the first success": (
        "trajectory",
        """\
around = rw.trajectory(turns, by="target", before=4, after=0)
plot = rw.plots.trajectory(around)
""",
    ),
    "Agreement of judges": (
        "agreement",
        """\
real = rw.read("data/jailbreakbench").with_columns(verdict="jailbroken_llama_guard1")
verdicts = real.select(
    "rollout_id",
    "goal",
    "target",
    judge=pl.lit("Llama Guard"),
    value=pl.col("verdict").cast(float),
)
labels = real.select("rollout_id", label="succeeded")
agreement = rw.judges.agreement(verdicts, labels, by="target", statistics="agreement")
plot = rw.plots.agreement(agreement)
""",
    ),
    "Stated confidence against the truth": (
        "reliability",
        """\
stated = rollouts.with_columns(
    correct=pl.col("attack_success"), bin=m.confidence_bin("worst", bins=5)
)
binned = rw.summarize(stated, by="bin", metrics=["worst", "correct"], statistics="mean")
plot = rw.plots.reliability(binned, stated="worst")
""",
    ),
    "Safe and useful": (
        "pareto",
        """\
sides = {
    "a": (0.02, 0.5),
    "b": (0.06, 0.8),
    "c": (0.15, 0.7),
}  # chances of a success a turn, and of a solved task
useful = pl.concat(
    rw.simulate(targets={name: risk}, utility=help, tasks=10, seed=1)[0]
    for name, (risk, help) in sides.items()
)
both = rw.measure(useful, m.attack_success(), m.task_success())
plot = rw.plots.pareto(
    rw.summarize(
        both, by="target", metrics=["attack_success", "task_success"], statistics="mean"
    )
)
""",
    ),
    "A rate over a setting": (
        "sweep",
        """\
cuts = {
    cut: rw.measure(turns, broken=(pl.col("score") >= cut).any())
    for cut in (0.3, 0.4, 0.5, 0.6, 0.7)
}
rates = [
    rw.summarize(each, by="target", metrics="broken").with_columns(threshold=cut)
    for cut, each in cuts.items()
]
plot = rw.plots.sweep(pl.concat(rates), choice="threshold", chosen=0.5)
""",
    ),
    "A setting with two sides": (
        "sweep_pareto",
        """\
sides = {
    1: (0.15, 0.85),
    2: (0.06, 0.80),
    3: (0.02, 0.5),
}  # strength of a defense: risk a turn, and usefulness
each = {
    n: rw.simulate(targets={"model": risk}, utility=help, tasks=10, seed=n)[0]
    for n, (risk, help) in sides.items()
}
both = pl.concat(
    rw.measure(
        one.with_columns(strength=n), m.attack_success(), m.task_success(), keep="strength"
    )
    for n, one in each.items()
)
frame = rw.summarize(
    both, by="strength", metrics=["attack_success", "task_success"], statistics="mean"
)
plot = rw.plots.sweep_pareto(frame, choice="strength")
""",
    ),
    "Attack success during training": (
        "training",
        """\
risks = {0: 0.15, 100: 0.10, 200: 0.05, 300: 0.03}
steps = [
    rw.simulate(targets={"policy": risk}, seed=step)[0].with_columns(train_step=step)
    for step, risk in risks.items()
]
policy = rw.measure(pl.concat(steps), m.attack_success(), keep="train_step")
plot = rw.plots.training(rw.training(policy))
""",
    ),
    "One rollout": (
        "timeline",
        """\
plot = rw.plots.timeline(
    turns, rollout_id=turns.filter(pl.col("turn") == 6)["rollout_id"][0]
)
""",
    ),
    "Model calls and tools of one rollout": (
        "trace_tree",
        """\
rows = [
    (None, "agent", "assistant", 0.0, 4.0),
    (1, "model", "plan", 0.0, 1.5),
    (1, "tool", "search", 1.5, 2.5),
    (1, "model", "answer", 2.5, 4.0),
]
steps = pl.DataFrame(rows, schema=["parent", "kind", "name", "start", "end"], orient="row")
plot = rw.plots.trace_tree(
    steps.with_columns(rollout_id=pl.lit("a"), step=pl.int_range(1, 5))
)
""",
    ),
}
