"""The gallery: each plot with the lines that draw it. `generate.py` runs them and keeps the pictures."""

SETUP = """\
import polars as pl
import turnwise as tw
from turnwise import metrics as m

targets = {"base": 0.10, "guarded": 0.03}
turns, _ = tw.simulate(targets=targets, attacks={"roleplay": 1.5, "encoding": 1}, goals=40, attempts=4, turns=8, seed=1)
rollouts = tw.measure(turns, m.attack_success(), m.time_to_success(), m.spent_to_success("tokens"), worst=m.highest("score"))
"""

PLOTS = {
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
levels = tw.summarize(rollouts, by=["target", "attack"], metrics="attack_success", level=(0.5, 0.95))
plot = tw.plots.forest(levels)
""",
    ),
    "Rates of two factors": (
        "heat_map",
        """\
cells = tw.summarize(rollouts, by=["category", "attack"], metrics="attack_success", margins=True)
plot = tw.plots.heat_map(cells, rows="category", columns="attack")
""",
    ),
    "Differences from a baseline": (
        "contrast",
        """\
difference = tw.contrast(rollouts, of="target", baseline="base", by="attack", metrics="attack_success")
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
}
