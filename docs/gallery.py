"""The gallery: each plot with the lines that draw it. `generate.py` runs them and keeps the pictures."""

SETUP = """\
import polars as pl
import turnwise as tw
from turnwise import metrics as m

targets = {"base": 0.10, "guarded": 0.03}
turns, _ = tw.simulate(
    targets=targets,
    attacks={"roleplay": 1.5, "encoding": 1},
    goals=40,
    attempts=4,
    turns=8,
    seed=1,
)
rollouts = tw.measure(
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
published = tw.measure(tw.read("data/jailbreakbench"), m.attack_success())
rates = tw.summarize(published, by=["attack", "target"], metrics="attack_success")
plot = tw.plots.forest(rates)
""",
    ),
    "Attack success by turn": (
        "curve",
        """\
curve = tw.curve(rollouts, by=["target", "attack"])
plot = tw.plots.curve(curve)
""",
    ),
    "Attack success by tokens spent": (
        "curve_tokens",
        """\
spent = tw.curve(rollouts, by="target", axis="tokens")
plot = tw.plots.curve(spent)
""",
    ),
    "How rollouts end": (
        "incidence",
        """\
endings = tw.curve(rollouts, by="target", kind="incidence")
plot = tw.plots.incidence(endings)
""",
    ),
    "Rates with intervals": (
        "forest",
        """\
levels = tw.summarize(
    rollouts, by=["target", "attack"], metrics="attack_success", level=(0.5, 0.95)
)
plot = tw.plots.forest(levels)
""",
    ),
    "Rates of two factors": (
        "heat_map",
        """\
cells = tw.summarize(
    rollouts, by=["category", "attack"], metrics="attack_success", margins=True
)
plot = tw.plots.heat_map(cells, rows="category", columns="attack")
""",
    ),
    "Differences from a baseline": (
        "contrast",
        """\
difference = tw.contrast(
    rollouts, of="target", baseline="base", by="attack", metrics="attack_success"
)
plot = tw.plots.contrast(difference)
""",
    ),
    "Repeated attempts": (
        "attempts",
        """\
attempts = tw.attempts(rollouts, by="target").filter(kind="asr@k")
plot = tw.plots.attempts(attempts)
""",
    ),
    "A few goals always, or all goals now and then": (
        "profile",
        """\
profile = tw.profile(rollouts, by="target")
plot = tw.plots.profile(profile)
""",
    ),
    "Distribution of a score": (
        "distribution",
        """\
plot = tw.plots.distribution(rollouts, metric="worst", by="target")
""",
    ),
    "The score around the first success": (
        "trajectory",
        """\
around = tw.trajectory(turns, by="target", before=4, after=0)
plot = tw.plots.trajectory(around)
""",
    ),
    "Agreement of judges": (
        "agreement",
        """\
real = tw.read("data/jailbreakbench").with_columns(verdict="jailbroken_llama_guard1")
verdicts = real.select(
    "rollout_id",
    "goal",
    "target",
    judge=pl.lit("Llama Guard"),
    value=pl.col("verdict").cast(float),
)
labels = real.select("rollout_id", label="succeeded")
agreement = tw.judges.agreement(verdicts, labels, by="target", statistics="agreement")
plot = tw.plots.agreement(agreement)
""",
    ),
    "Stated confidence against the truth": (
        "reliability",
        """\
stated = rollouts.with_columns(
    correct=pl.col("attack_success"), bin=m.confidence_bin("worst", bins=5)
)
binned = tw.summarize(stated, by="bin", metrics=["worst", "correct"], statistics="mean")
plot = tw.plots.reliability(binned, stated="worst")
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
    tw.simulate(targets={name: risk}, utility=help, tasks=10, seed=1)[0]
    for name, (risk, help) in sides.items()
)
both = tw.measure(useful, m.attack_success(), m.task_success())
plot = tw.plots.pareto(
    tw.summarize(
        both, by="target", metrics=["attack_success", "task_success"], statistics="mean"
    )
)
""",
    ),
    "A rate over a setting": (
        "sweep",
        """\
cuts = {
    cut: tw.measure(turns, broken=(pl.col("score") >= cut).any())
    for cut in (0.3, 0.4, 0.5, 0.6, 0.7)
}
rates = [
    tw.summarize(each, by="target", metrics="broken").with_columns(threshold=cut)
    for cut, each in cuts.items()
]
plot = tw.plots.sweep(pl.concat(rates), of="threshold", chosen=0.5)
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
    n: tw.simulate(targets={"model": risk}, utility=help, tasks=10, seed=n)[0]
    for n, (risk, help) in sides.items()
}
both = pl.concat(
    tw.measure(
        one.with_columns(strength=n), m.attack_success(), m.task_success(), keep="strength"
    )
    for n, one in each.items()
)
frame = tw.summarize(
    both, by="strength", metrics=["attack_success", "task_success"], statistics="mean"
)
plot = tw.plots.sweep_pareto(frame, of="strength")
""",
    ),
    "Attack success during training": (
        "training",
        """\
risks = {0: 0.15, 100: 0.10, 200: 0.05, 300: 0.03}
steps = [
    tw.simulate(targets={"policy": risk}, seed=step)[0].with_columns(train_step=step)
    for step, risk in risks.items()
]
policy = tw.measure(pl.concat(steps), m.attack_success(), keep="train_step")
plot = tw.plots.training(tw.training(policy))
""",
    ),
    "One rollout": (
        "timeline",
        """\
plot = tw.plots.timeline(
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
plot = tw.plots.trace_tree(
    steps.with_columns(rollout_id=pl.lit("a"), step=pl.int_range(1, 5))
)
""",
    ),
}
