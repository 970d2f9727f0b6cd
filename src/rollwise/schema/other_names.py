"""Common column names in users' files, for errors: the column of TURNS that each of them is read as."""

import polars as pl

from rollwise.errors import meant
from rollwise.schema.named import values_named

OTHERS = {
    "target": (
        "model", "model_name", "model_id", "target_model", "tested_model", "model_under_test", "victim", "victim_model", "llm",
        "engine", "deployment", "agent",
    ),
    "attack": (
        "attack_type", "attack_name", "attack_method", "attack_strategy", "attack_technique", "strategy", "technique", "method",
        "tactic", "jailbreak_method", "probe",
    ),
    "goal": ("behavior", "behaviour", "objective", "intent", "harmful_behavior", "attack_goal", "behavior_id", "goal_id"),
    "task": ("task_id", "instance_id", "problem_id", "question_id", "prompt_id"),
    "category": ("semantic_category", "harm_category", "risk_category", "topic"),
    "attempt": ("trial", "try", "repeat", "repetition", "epoch"),
}  # fmt: skip
"""Columns of TURNS, and common other names for them."""
_READ_AS = {other: name for name, others in OTHERS.items() for other in others}


def meant_column(name: str, frame: pl.DataFrame) -> str:
    """Return what an unknown name of a column probably means in a table, for the end of a sentence."""
    words = name.strip().lower().replace(" ", "_").replace("-", "_")
    column = _READ_AS.get(words, "")
    if column in frame.columns and values_named(frame, column).count():
        return f"`{name}` is read as `{column}`: use that"
    return meant(name, [heading for heading in frame.columns if "\0" not in heading])
